#include "ptx_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = ".version 8.4\n"
                           ".target sm_90a\n"
                           ".address_size 64\n"
                           ".shared .align 1024 .b8 sm[%u];\n"
                           ".visible .entry k(.param .u64 in, .param .u64 out)";
static const char regs[] = "\n{\n"
                           ".reg .pred %p<16>;\n"
                           ".reg .b16 %h<16>;\n"
                           ".reg .b32 %r<320>;\n"
                           ".reg .f32 %f<32>;\n"
                           ".reg .b64 %rd<32>;\n"
                           ".reg .f64 %d<32>;\n"
                           "ld.param.u64 %rd1, [in];\n"
                           "ld.param.u64 %rd2, [out];\n"
                           "cvta.to.global.u64 %rd1, %rd1;\n"
                           "cvta.to.global.u64 %rd2, %rd2;\n"
                           "mov.u32 %r1, %tid.x;\n"
                           "mov.u32 %r2, %ctaid.x;\n"
                           "\n"
                           "\n";

static void launch(const ptx_case *c, ptxexec_module *m, ptx_result *out)
{
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    uint64_t at[2] = {0, 0};
    if (ptxexec_device_create(NULL, &d) != PTXEXEC_OK ||
        ptxexec_device_alloc(d, c->in_size, PTXEXEC_FILL_POISON, "in", &at[0]) != PTXEXEC_OK ||
        ptxexec_device_alloc(d, c->out_size, PTXEXEC_FILL_POISON, "out", &at[1]) != PTXEXEC_OK ||
        (c->in_size != 0 && ptxexec_device_write(d, at[0], c->in, c->in_size) != PTXEXEC_OK)) {
        out->status = PTXEXEC_E_NOMEM;
        ptxexec_device_destroy(d);
        return;
    }
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {c->grid != 0 ? c->grid : 1, 1, 1},
                                .block = {c->block != 0 ? c->block : 32, 1, 1},
                                .params = at,
                                .params_size = sizeof at,
                                .seed = c->seed,
                                .max_steps = 1000000,
                                .races = c->races,
                                .collect_stats = c->has_stats,
                                .collect_trace = c->has_trace};
    out->status = ptxexec_launch(d, m, &o, &r);
    if (ptxexec_report_fault_count(r) > 0) {
        out->fault = ptxexec_report_fault(r, 0);
        (void)snprintf(out->message, sizeof out->message, "%s", out->fault.message);
    } else if (ptxexec_report_diag_count(r) > 0) {
        (void)snprintf(out->message, sizeof out->message, "%s", ptxexec_report_diag(r, 0).message);
    }
    out->stats = ptxexec_report_stats(r);
    for (size_t k = 0; k < ptxexec_report_line_count(r) && k < 64; k++) {
        out->lines[out->n_lines] = ptxexec_report_line(r, k);
        out->lines[out->n_lines++].opcode = "";
    }
    for (size_t k = 0; k < ptxexec_report_trace_count(r) && k < 1024; k++) {
        out->events[out->n_events] = ptxexec_report_trace(r, k);
        out->events[out->n_events++].name = "";
    }
    if (ptxexec_device_read(d, at[1], out->out, c->out_size, &out->n_poison, NULL) != PTXEXEC_OK) {
        out->status = PTXEXEC_E_INTERNAL;
    }
    for (size_t k = 0; c->has_poison != 0 && k < c->out_size / 4; k++) {
        uint64_t n = 0;
        uint32_t word;
        if (ptxexec_device_read(d, at[1] + 4 * k, &word, 4, &n, NULL) != PTXEXEC_OK) {
            out->status = PTXEXEC_E_INTERNAL;
        }
        out->is_poison[k] = n != 0;
    }
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
}

void ptx_run(const ptx_case *c, ptx_result *out)
{
    memset(out, 0, sizeof *out);
    size_t n = strlen(c->body);
    const char *directives = c->directives != NULL ? c->directives : "";
    char *text = malloc(sizeof head + sizeof regs + strlen(directives) + n + 32);
    if (text == NULL || c->out_size > sizeof out->out) {
        out->status = PTXEXEC_E_NOMEM;
        free(text);
        return;
    }
    int size = sprintf(text, head, c->shared != 0 ? c->shared : 65536);
    size += sprintf(text + size, "%s%s%s\nret;\n}\n", directives, regs, c->body);
    ptxexec_module *m = NULL;
    out->status = ptxexec_module_load(NULL, text, (size_t)size, &m);
    if (out->status == PTXEXEC_OK) {
        launch(c, m, out);
    } else if (m != NULL && ptxexec_module_diag_count(m) > 0) {
        ptxexec_diag d = ptxexec_module_diag(m, 0);
        (void)snprintf(out->message, sizeof out->message, "line %u: %s", d.line, d.message);
    }
    ptxexec_module_destroy(m);
    free(text);
}
