/* Random programs (gen.c) without inexact operations: PTX on the executor gives the bytes that the
 * interpreter gives, NaNs apart: which NaN an operation gives is the target's business.
 *
 *   prop_exec [FIRST_SEED N_SEEDS]     prints "N passed, N failed, N skipped" */
#include <math.h>
#include <ptxgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/data.h"
#include "tools/exec/ptxexec.h"

static pg_verdict fail(uint64_t seed, const char *what, const char *why)
{
    (void)fprintf(stderr, "seed %llu: %s: %s\n", (unsigned long long)seed, what, why);
    return PG_FAILED;
}

static ptxgen_status interpret(ptxgen_ctx *ctx, ptxgen_str ir, pg_data *want)
{
    ptxgen_arg args[PG_DATA_N + 1] = {{0}};
    ptxgen_result *r = NULL;
    for (size_t i = 0; i < PG_DATA_N; i++) {
        args[i] = (ptxgen_arg){want->data[i], want->size[i], want->poison[i], 0};
    }
    args[PG_DATA_N].bits = want->args[PG_DATA_N].bits;
    const ptxgen_interpretation run = {
        .struct_size = sizeof run, .args = args, .n_args = PG_DATA_N + 1};
    const ptxgen_status st = ptxgen_interpret(ctx, ir, &run, &r);
    ptxgen_result_destroy(r);
    return st;
}

/* Copies arrays in, runs, copies them out. NULL, or what went wrong. */
static const char *launch(ptxexec_module *m, ptxexec_device *d, pg_data *got, uint64_t seed)
{
    static char message[256];
    uint64_t address[PG_DATA_N];
    unsigned char params[512] = {0};
    ptxexec_entry entry;
    ptxexec_report *report = NULL;
    if (ptxexec_module_entry(m, 0, &entry) != PTXEXEC_OK || entry.param_size > sizeof params) {
        return "the entry has no such parameters";
    }
    for (size_t i = 0; i <= PG_DATA_N; i++) {
        ptxexec_param p;
        if (ptxexec_module_param(m, 0, i, &p) != PTXEXEC_OK) {
            return "a parameter is missing";
        }
        if (i == PG_DATA_N) {
            memcpy(params + p.offset, &got->args[i].bits, 4);
            continue;
        }
        if (ptxexec_device_alloc(d, got->size[i], PTXEXEC_FILL_POISON, p.name, &address[i]) !=
                PTXEXEC_OK ||
            (i % 2 == 0 &&
             ptxexec_device_write(d, address[i], got->data[i], got->size[i]) != PTXEXEC_OK)) {
            return "no device memory";
        }
        memcpy(params + p.offset, &address[i], 8);
    }
    const ptxexec_launch_options opt = {
        .struct_size = sizeof opt,
        .grid = {1, 1, 1},
        .dynamic_shared = 96 * 1024, /* more than any program asks for */
        .block = {entry.reqntid[0], entry.reqntid[1], entry.reqntid[2]},
        .params = params,
        .params_size = entry.param_size,
        .seed = seed};
    const ptxexec_status st = ptxexec_launch(d, m, &opt, &report);
    message[0] = 0;
    if (st != PTXEXEC_OK) {
        (void)snprintf(
            message, sizeof message, "%s: line %u: %s", ptxexec_status_text(st),
            report && ptxexec_report_fault_count(report) ? ptxexec_report_fault(report, 0).at.line
                                                         : 0,
            report && ptxexec_report_fault_count(report) ? ptxexec_report_fault(report, 0).message
                                                         : "");
    }
    ptxexec_report_destroy(report);
    for (size_t i = 1; message[0] == 0 && i < PG_DATA_N; i += 2) {
        if (ptxexec_device_read(d, address[i], got->data[i], got->size[i], NULL, NULL) !=
            PTXEXEC_OK) {
            return "cannot read back";
        }
    }
    return message[0] ? message : NULL;
}

static bool is_nan(pg_elem e, const unsigned char *at)
{
    uint32_t single = 0;
    uint16_t half = 0;
    switch (e) {
    case PG_F32: memcpy(&single, at, 4); return isnan(pg_f32_of_bits(single));
    case PG_F16: memcpy(&half, at, 2); return isnan(pg_f16_to_f32(half));
    case PG_BF16: memcpy(&half, at, 2); return isnan(pg_bf16_to_f32(half));
    default: return false;
    }
}

static pg_verdict compare(uint64_t seed, const pg_data *want, const pg_data *got)
{
    char why[128];
    for (size_t i = 1; i < PG_DATA_N; i += 2) {
        const pg_elem e = pg_gen_elems[i / 2];
        const size_t size = pg_elem_infos[e].bits / 8;
        for (size_t at = 0; at < want->size[i]; at += size) {
            const unsigned char *x = want->data[i] + at, *y = got->data[i] + at;
            if (want->poison[i][at] == 0 && memcmp(x, y, size) != 0 &&
                !(is_nan(e, x) && is_nan(e, y))) {
                uint64_t a = 0, b = 0;
                memcpy(&a, x, size);
                memcpy(&b, y, size);
                (void)snprintf(why, sizeof why, "y_%s[%zu]: interpreter 0x%llx, executor 0x%llx",
                               pg_elem_infos[e].text, at / size, (unsigned long long)a,
                               (unsigned long long)b);
                return fail(seed, "results differ", why);
            }
        }
    }
    return PG_PASSED;
}

static pg_verdict check_ptx(uint64_t seed, ptxgen_str ptx, const pg_data *want, pg_data *got)
{
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    pg_verdict v = PG_PASSED;
    const char *why = NULL;
    if (ptxexec_module_load(NULL, ptx.ptr, ptx.len, &m) != PTXEXEC_OK) {
        v = fail(seed, "the executor refuses the PTX",
                 ptxexec_module_diag_count(m) ? ptxexec_module_diag(m, 0).message : "");
    } else if (ptxexec_device_create(NULL, &d) != PTXEXEC_OK) {
        v = fail(seed, "no device", "");
    } else if ((why = launch(m, d, got, seed)) != NULL) {
        v = fail(seed, "the launch went wrong", why);
    } else {
        v = compare(seed, want, got);
    }
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    return v;
}

/* `shuffle`: seed of ties; 0: as they come. */
static pg_verdict check_seed(uint64_t seed, ptxgen_str ir, uint64_t shuffle, pg_data *want,
                             pg_data *got)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    pg_verdict v;
    if (ptxgen_ctx_create(NULL, &ctx) != PTXGEN_OK) {
        return fail(seed, "no context", "");
    }
    pg_data_fill(want, seed);
    pg_data_fill(got, seed);
    const ptxgen_options options = {.struct_size = sizeof options, .shuffle = shuffle};
    const ptxgen_status st = ptxgen_compile(ctx, ir, &options, &r);
    const ptxgen_diag d = ptxgen_result_diag(r, 0);
    if (st == PTXGEN_E_UNSUPPORTED && (d.number == 2020 || d.number == 2021)) {
        v = PG_SKIPPED;
    } else if (st != PTXGEN_OK) {
        v = fail(seed, "does not compile", d.message.ptr ? d.message.ptr : "");
    } else if (interpret(ctx, ir, want) != PTXGEN_OK) {
        v = fail(seed, "the interpreter finds a fault", "");
    } else {
        v = check_ptx(seed, ptxgen_result_ptx(r), want, got);
    }
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
    return v;
}

int main(int argc, char **argv)
{
    const uint64_t first = argc == 3 ? strtoull(argv[1], NULL, 10) : 1;
    const uint64_t n = argc == 3 ? strtoull(argv[2], NULL, 10) : 100;
    pg_data want = {0}, got = {0};
    uint32_t tally[3] = {0};
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    for (uint64_t seed = first; seed < first + n; seed++) {
        pg_strbuf_clear(&text);
        pg_gen_program(&text, &(pg_gen_options){seed, 20 + (uint32_t)(seed % 60), true});
        tally[check_seed(seed, (ptxgen_str){text.ptr, text.len}, 0, &want, &got)]++;
        tally[check_seed(seed, (ptxgen_str){text.ptr, text.len}, seed, &want, &got)]++;
    }
    pg_strbuf_fini(&text);
    pg_data_free(&want);
    pg_data_free(&got);
    return pg_verdicts_print(tally);
}
