#include "tests/exec/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static ptxexec_module *load(const char *text)
{
    ptxexec_module *m = NULL;
    ptxexec_status status = ptxexec_module_load(NULL, text, strlen(text), &m);
    if (status != PTXEXEC_OK) {
        ptxexec_diag d = ptxexec_module_diag(m, 0);
        cr_assert(0, "%u:%u: PG%u %s in\n%s", d.line, d.column, d.number, d.message, text);
    }
    return m;
}

static const char *store_of(char kind)
{
    switch (kind) {
    case 'r': return "cvt.u64.u32 %rd9, %r3;";
    case 'd': return "mov.b64 %rd9, %rd3;";
    case 'f': return "mov.b32 %r3, %f3; cvt.u64.u32 %rd9, %r3;";
    case 'e': return "mov.b64 %rd9, %fd3;";
    case 'h': return "cvt.u64.u16 %rd9, %h3;";
    default: return "selp.b64 %rd9, 1, 0, %p3;";
    }
}

static void build(char *text, size_t size, const char *snippet, char kind)
{
    (void)snprintf(
        text, size,
        EXEC_HEAD(
            "sm_90") ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
                     ".reg .pred %%p<8>; .reg .b16 %%h<8>; .reg .b32 %%r<12>; .reg .b64 %%rd<12>; "
                     ".reg .f32 %%f<8>; .reg .f64 %%fd<8>;\n"
                     "ld.param.u64 %%rd5, [in]; ld.param.u64 %%rd6, [out]; ld.param.u32 %%r5, "
                     "[n];\n"
                     "mov.u32 %%r6, %%ctaid.x; mov.u32 %%r7, %%ntid.x; mov.u32 %%r8, %%tid.x; "
                     "mad.lo.u32 %%r9, %%r6, %%r7, %%r8;\n"
                     "setp.ge.u32 %%p5, %%r9, %%r5;\n@%%p5 bra DONE;\n"
                     "mad.wide.u32 %%rd5, %%r9, 24, %%rd5; mad.wide.u32 %%rd6, %%r9, 8, %%rd6;\n"
                     "ld.global.u64 %%rd0, [%%rd5]; ld.global.u64 %%rd1, [%%rd5+8]; ld.global.u64 "
                     "%%rd2, [%%rd5+16];\n"
                     "cvt.u32.u64 %%r0, %%rd0; cvt.u32.u64 %%r1, %%rd1; cvt.u32.u64 %%r2, %%rd2;\n"
                     "mov.b32 %%f0, %%r0; mov.b32 %%f1, %%r1; mov.b32 %%f2, %%r2;\n"
                     "mov.b64 %%fd0, %%rd0; mov.b64 %%fd1, %%rd1; mov.b64 %%fd2, %%rd2;\n"
                     "cvt.u16.u64 %%h0, %%rd0; cvt.u16.u64 %%h1, %%rd1; cvt.u16.u64 %%h2, %%rd2;\n"
                     "and.b32 %%r10, %%r0, 1; setp.ne.u32 %%p0, %%r10, 0; and.b32 %%r10, %%r1, 1; "
                     "setp.ne.u32 %%p1, %%r10, 0;\n"
                     "and.b32 %%r10, %%r2, 1; setp.ne.u32 %%p2, %%r10, 0;\n"
                     "%s\n%s\nst.global.u64 [%%rd6], %%rd9;\nDONE: ret;\n}\n",
        snippet, store_of(kind));
}

static void check_report(ptxexec_report *r, ptxexec_status status, const char *snippet)
{
    if (status != PTXEXEC_OK && r != NULL && ptxexec_report_fault_count(r) > 0) {
        ptxexec_fault f = ptxexec_report_fault(r, 0);
        cr_assert(0, "%s: line %u: %s: %s", snippet, f.at.line, ptxexec_fault_kind_text(f.kind),
                  f.message);
    }
    cr_assert_eq(status, PTXEXEC_OK, "%s: status %d", snippet, (int)status);
}

void exec_eval_all(const char *snippet, char kind, uint32_t n, const uint64_t *abc[3],
                   uint64_t *out)
{
    char text[8192];
    build(text, sizeof text, snippet, kind);
    ptxexec_module *m = load(text);
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    struct {
        uint64_t in, out;
        uint32_t n;
    } params = {.n = n};
    uint64_t *in = calloc((size_t)n * 3, sizeof *in);
    cr_assert(in != NULL && ptxexec_device_create(NULL, &d) == PTXEXEC_OK);
    for (uint32_t k = 0; k < n * 3; k++) {
        in[k] = abc[k % 3] != NULL ? abc[k % 3][k / 3] : 0;
    }
    cr_assert_eq(ptxexec_device_alloc(d, (uint64_t)n * 24, PTXEXEC_FILL_ZERO, "in", &params.in),
                 PTXEXEC_OK);
    cr_assert_eq(ptxexec_device_alloc(d, (uint64_t)n * 8, PTXEXEC_FILL_POISON, "out", &params.out),
                 PTXEXEC_OK);
    cr_assert_eq(ptxexec_device_write(d, params.in, in, (uint64_t)n * 24), PTXEXEC_OK);
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {(n + 127) / 128, 1, 1},
                                .block = {n < 128 ? n : 128, 1, 1},
                                .params = &params,
                                .params_size = 20};
    ptxexec_status status = ptxexec_launch(d, m, &o, &r);
    check_report(r, status, snippet);
    uint64_t n_poison = 0;
    cr_assert_eq(ptxexec_device_read(d, params.out, out, (uint64_t)n * 8, &n_poison, NULL),
                 PTXEXEC_OK);
    cr_assert_eq(n_poison, 0, "%s", snippet);
    free(in);
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
}

uint64_t exec_eval(const char *snippet, char kind, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t *abc[3] = {&a, &b, &c};
    uint64_t out = 0;
    exec_eval_all(snippet, kind, 1, abc, &out);
    return out;
}

void exec_check_rows(const exec_row *rows, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const exec_row *r = &rows[k];
        uint64_t got = exec_eval(r->snippet, r->kind, r->a, r->b, r->c);
        cr_expect_eq(got, r->expected, "%s (0x%llx, 0x%llx, 0x%llx): 0x%llx, expected 0x%llx",
                     r->snippet, (unsigned long long)r->a, (unsigned long long)r->b,
                     (unsigned long long)r->c, (unsigned long long)got,
                     (unsigned long long)r->expected);
    }
}

void exec_job_run(exec_job *job)
{
    ptxexec_module *m = load(job->ptx);
    ptxexec_device *d = NULL;
    uint64_t out = 0;
    uint32_t size = job->out_size == 0 ? 1024 : job->out_size;
    cr_assert(size <= sizeof job->out);
    cr_assert_eq(ptxexec_device_create(NULL, &d), PTXEXEC_OK);
    cr_assert_eq(ptxexec_device_alloc(d, size, PTXEXEC_FILL_POISON, "out", &out), PTXEXEC_OK);
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {job->grid == 0 ? 1 : job->grid, 1, 1},
                                .block = {job->block == 0 ? 32 : job->block, 1, 1},
                                .dynamic_shared = job->dynamic_shared,
                                .params = &out,
                                .params_size = 8,
                                .seed = job->seed,
                                .max_steps = job->max_steps,
                                .host_threads = job->host_threads,
                                .collect_stats = 1};
    job->status = ptxexec_launch(d, m, &o, &job->report);
    cr_assert_eq(ptxexec_device_read(d, out, job->out, size, &job->n_poison, NULL), PTXEXEC_OK);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
}

void exec_job_end(exec_job *job)
{
    ptxexec_report_destroy(job->report);
    job->report = NULL;
}

ptxexec_fault exec_job_fault(const exec_job *job)
{
    cr_assert_eq(job->status, PTXEXEC_E_FAULT, "status %d", (int)job->status);
    cr_assert(ptxexec_report_fault_count(job->report) > 0);
    return ptxexec_report_fault(job->report, 0);
}
