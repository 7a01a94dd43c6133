/* exec.c: what it costs to run PTX on the executor: loops of one kind of instruction, and kernels,
 * races off on one host thread and more, and on. A line of JSON for each.
 *
 *   bench_exec [--runs=N] [--trips=N] [--long] [--ir=FILE] [--only=WORD]
 *
 * --long: products of 1024^3 too. FILE: text of a product with specialised warps (gemm_ws.ptir).
 */
#include <ptxgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "tools/bench/loops.h"
#include "tools/run/file.h"
#include "tools/run/job.h"

enum { MOST_RUNS = 99, MOST_PAIRS = 4, MOST_LONG_RUNS = 3 };

typedef struct bench {
    const char *name, *kernel; /* NULL: the text of --ir */
    run_pair args[MOST_PAIRS];
    size_t n_args;
    bool is_long;
    uint64_t n_multiply_adds;
} bench;

#define CUBE(n)    {{"m", n}, {"n", n}, {"k", n}}, 3
#define CUBE_WS(n) {{"m", n}, {"n", n}, {"k", n}, {"ctas", "132"}}, 4

static const bench benches[] = {
    {"gemm 256^3 f16", "gemm", CUBE("256"), false, 1u << 24},
    {"gemm 1024^3 f16", "gemm", CUBE("1024"), true, 1u << 30},
    {"gemm_ws 256^3 f16", NULL, CUBE_WS("256"), false, 1u << 24},
    {"gemm_ws 1024^3 f16", NULL, CUBE_WS("1024"), true, 1u << 30},
    {"softmax 1000 x 1000 f16", "softmax", {{"rows", "1000"}, {"cols", "1000"}}, 2, false, 0},
    {"transpose 1000 x 1000 f16", "transpose", {{"m", "1000"}, {"n", "1000"}}, 2, false, 0},
    {"add 1000000 f16", "add", {{"n", "1000000"}}, 1, false, 0},
};

typedef struct bench_request {
    size_t n_runs;
    uint32_t n_trips, most_threads;
    bool is_long;
    const char *ir, *only;
} bench_request;

typedef struct prepared {
    const run_msgs *msgs;
    pg_arena *arena;
    const bench *b;
    const char *name;
    ptxgen_ctx *ctx;
    ptxgen_result *r;
    run_manifest *launches;
    run_manifest manifest;
    run_inputs inputs;
} prepared;

static ptxgen_str text_of(const char *s)
{
    return (ptxgen_str){s, strlen(s)};
}

static run_exit compile_text(prepared *p, const char *path)
{
    pg_str text;
    run_exit status = run_read_file(p->msgs, p->arena, path, &text);
    if (status != RUN_OK) {
        return status;
    }
    return ptxgen_ctx_create(NULL, &p->ctx) == PTXGEN_OK &&
                   ptxgen_compile(p->ctx, (ptxgen_str){text.ptr, text.len}, NULL, &p->r) ==
                       PTXGEN_OK
               ? RUN_OK
               : RUN_DEFECT;
}

static run_exit compile_kernel(prepared *p)
{
    ptxgen_module *module = NULL;
    const ptxgen_options options = {.struct_size = sizeof options};
    ptxgen_status status = ptxgen_ctx_create(NULL, &p->ctx);
    if (status == PTXGEN_OK) {
        status = ptxgen_kernel_build(p->ctx, text_of(p->b->kernel), text_of("sm_80"), NULL, 0,
                                     &module, NULL);
    }
    if (status == PTXGEN_OK) {
        status = ptxgen_module_compile(module, &options, &p->r);
    }
    ptxgen_module_destroy(module);
    return status == PTXGEN_OK ? RUN_OK : RUN_DEFECT;
}

static run_exit read_manifests(prepared *p)
{
    size_t n = ptxgen_result_entry_count(p->r);
    run_exit status = RUN_OK;
    p->launches = PG_NEWS(p->arena, run_manifest, n);
    for (size_t i = 0; i < n && status == RUN_OK && p->launches != NULL; i++) {
        const ptxgen_str json = ptxgen_result_manifest(p->r, i);
        status = run_manifest_read(p->msgs, p->arena, p->name, (pg_str){json.ptr, json.len},
                                   &p->launches[i]);
    }
    return status != RUN_OK || p->launches == NULL
               ? RUN_TOOL
               : run_manifest_join(p->msgs, p->arena, p->name, p->launches, (uint32_t)n,
                                   &p->manifest);
}

static run_exit make_inputs(prepared *p)
{
    const bench *b = p->b;
    const ptxgen_kernel_info *info =
        b->kernel != NULL ? ptxgen_kernel_find(text_of(b->kernel)) : NULL;
    size_t n = info != NULL ? info->n_scalars : 0;
    run_pair *defaults = PG_NEWS(p->arena, run_pair, n + 1);
    if (defaults == NULL) {
        return RUN_TOOL;
    }
    for (size_t i = 0; i < n; i++) {
        defaults[i] = (run_pair){info->scalars[i].name, info->scalars[i].value};
    }
    const run_request request = {.file = p->name,
                                 .args = {b->args, b->n_args},
                                 .defaults = {defaults, n},
                                 .low = info != NULL ? info->input_low : -1,
                                 .high = info != NULL ? info->input_high : 1};
    return run_inputs_make(p->msgs, p->arena, &request, &p->manifest, &p->inputs);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct row {
    const char *prefix, *what;
    bool has_races;
    uint32_t threads;
    double ms, cpu_ms, c_ms;
    uint64_t n_lane_instructions, n_multiply_adds;
} row;

/* Rates are of processor time on one thread, of the clock on more. */
static void show(const row *r)
{
    double seconds = (r->threads == 1 ? r->cpu_ms : r->ms) * 1e-3;
    seconds = seconds > 0 ? seconds : 1e-9;
    printf(
        "{\"what\": \"%s%s\", \"races\": \"%s\", \"threads\": %u, \"ms\": %.2f, \"cpu_ms\": %.2f, "
        "\"lane_instructions\": %llu, \"lane_instructions_per_second\": %.3g, "
        "\"multiply_adds_per_second\": %.3g, \"c_ms\": %.3f}\n",
        r->prefix, r->what, r->has_races ? "practice" : "off", (unsigned)r->threads, r->ms,
        r->cpu_ms, (unsigned long long)r->n_lane_instructions,
        (double)r->n_lane_instructions / seconds, (double)r->n_multiply_adds / seconds, r->c_ms);
    (void)fflush(stdout);
}

/* Several runs: the median of the processor's times, the least of the clock's, where other work
 * only adds. */
static run_exit measure(prepared *p, run_races races, uint32_t threads, size_t n)
{
    double seconds[MOST_RUNS] = {0};
    double cpu[MOST_RUNS] = {0};
    run_cost cost = {.seconds = 0};
    const run_how how = {.file = p->name,
                         .compiled = p->r,
                         .launches = p->launches,
                         .n_launches = (uint32_t)ptxgen_result_entry_count(p->r),
                         .device = RUN_ON_CPU,
                         .races = races,
                         .host_threads = threads};
    for (size_t i = 0; i < n; i++) {
        pg_arena_mark mark = pg_arena_mark_get(p->arena);
        clock_t start = clock();
        run_exit status = run_job(p->msgs, p->arena, &how, &p->inputs, &cost);
        cpu[i] = (double)(clock() - start) / CLOCKS_PER_SEC;
        pg_arena_release(p->arena, mark);
        if (status != RUN_OK) {
            return status;
        }
        seconds[i] = cost.seconds;
    }
    qsort(seconds, n, sizeof *seconds, compare);
    qsort(cpu, n, sizeof *cpu, compare);
    show(&(row){.prefix = "",
                .what = p->b->name,
                .has_races = races != RUN_RACES_OFF,
                .threads = threads,
                .ms = seconds[0] * 1e3,
                .cpu_ms = cpu[n / 2] * 1e3,
                .n_lane_instructions = cost.n_lane_instructions,
                .n_multiply_adds = p->b->n_multiply_adds});
    return RUN_OK;
}

static run_exit run_bench(const bench_request *q, const bench *b)
{
    const run_msgs msgs = {.to = stderr};
    size_t n_runs = b->is_long && q->n_runs > MOST_LONG_RUNS ? MOST_LONG_RUNS : q->n_runs;
    pg_arena arena;
    prepared p = {
        .msgs = &msgs, .arena = &arena, .b = b, .name = b->kernel != NULL ? b->kernel : q->ir};
    pg_arena_init(&arena, pg_alloc_default());
    run_exit status = b->kernel != NULL ? compile_kernel(&p) : compile_text(&p, q->ir);
    if (status == RUN_OK) {
        status = read_manifests(&p);
    }
    if (status == RUN_OK) {
        status = make_inputs(&p);
    }
    for (uint32_t t = 1; t <= q->most_threads && status == RUN_OK; t *= 2) {
        status = measure(&p, RUN_RACES_OFF, t, n_runs);
    }
    if (status == RUN_OK) {
        status = measure(&p, RUN_RACES_PRACTICE, 1, n_runs);
    }
    ptxgen_result_destroy(p.r);
    ptxgen_ctx_destroy(p.ctx);
    pg_arena_fini(&arena);
    return status;
}

/* The fastest of several runs: they are short. */
static run_exit run_loop(const bench_request *q, size_t index, ptxexec_races races,
                         uint32_t threads)
{
    loop_cost best = {.seconds = 0};
    for (size_t k = 0; k < q->n_runs; k++) {
        loop_cost one;
        if (!loops_run(index, q->n_trips, races, threads, &one)) {
            return RUN_DEFECT;
        }
        double c_seconds =
            k == 0 || one.c_seconds < best.c_seconds ? one.c_seconds : best.c_seconds;
        bool is_better = k == 0 || (threads == 1 ? one.cpu < best.cpu : one.seconds < best.seconds);
        best = is_better ? one : best;
        best.c_seconds = c_seconds;
    }
    show(&(row){.prefix = "loop of ",
                .what = best.name,
                .has_races = races != PTXEXEC_RACES_OFF,
                .threads = threads,
                .ms = best.seconds * 1e3,
                .cpu_ms = best.cpu * 1e3,
                .c_ms = best.c_seconds * 1e3,
                .n_lane_instructions = best.n_lane_instructions,
                .n_multiply_adds = best.n_multiply_adds});
    return RUN_OK;
}

static bool is_wanted(const bench_request *q, const char *name)
{
    return q->only == NULL || strstr(name, q->only) != NULL;
}

static run_exit run_all(const bench_request *q)
{
    run_exit status = RUN_OK;
    for (size_t i = 0; i < loops_count() && is_wanted(q, "loop") && status == RUN_OK; i++) {
        for (uint32_t t = 1; t <= q->most_threads && status == RUN_OK; t *= 2) {
            status = run_loop(q, i, PTXEXEC_RACES_OFF, t);
        }
        if (status == RUN_OK) {
            status = run_loop(q, i, PTXEXEC_RACES_PRACTICE, 1);
        }
    }
    for (size_t i = 0; i < PG_COUNT_OF(benches) && status == RUN_OK; i++) {
        const bench *b = &benches[i];
        bool has_text = b->kernel != NULL || q->ir != NULL;
        if (is_wanted(q, b->name) && has_text && (!b->is_long || q->is_long)) {
            status = run_bench(q, b);
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    bench_request q = {
        .n_runs = 5, .n_trips = 2000, .most_threads = processors < 2 ? 1 : (uint32_t)processors};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strncmp(a, "--runs=", 7) == 0) {
            q.n_runs = strtoul(a + 7, NULL, 10);
        } else if (strncmp(a, "--trips=", 8) == 0) {
            q.n_trips = (uint32_t)strtoul(a + 8, NULL, 10);
        } else if (strncmp(a, "--ir=", 5) == 0) {
            q.ir = a + 5;
        } else if (strncmp(a, "--only=", 7) == 0) {
            q.only = a + 7;
        } else if (strcmp(a, "--long") == 0) {
            q.is_long = true;
        } else {
            (void)fprintf(stderr, "usage: bench_exec [--runs=N] [--trips=N] [--long] [--ir=FILE] "
                                  "[--only=WORD]\n");
            return RUN_USAGE;
        }
    }
    if (q.n_runs < 1 || q.n_runs > MOST_RUNS || q.n_trips < 1 || q.n_trips > 100000) {
        (void)fprintf(stderr, "bench_exec: 1 to %d runs, 1 to 100000 trips\n", (int)MOST_RUNS);
        return RUN_USAGE;
    }
    return (int)run_all(&q);
}
