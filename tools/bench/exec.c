/* exec.c: what it costs to run PTX on the executor: library kernels, races off and on, on one host
 * thread and more.
 *
 *   bench_exec [--runs=N] [--long]     one line of JSON for each; --long: 1024^3 too
 */
#include <ptxgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "tools/run/job.h"

enum { MOST_RUNS = 99, MOST_PAIRS = 4 };

typedef struct bench {
    const char *name, *kernel;
    run_pair args[MOST_PAIRS];
    size_t n_args;
    bool is_long;
} bench;

static const bench benches[] = {
    {"gemm 256^3 f16", "gemm", {{"m", "256"}, {"n", "256"}, {"k", "256"}}, 3, false},
    {"gemm 1024^3 f16", "gemm", {{"m", "1024"}, {"n", "1024"}, {"k", "1024"}}, 3, true},
    {"softmax 1000 x 1000 f16", "softmax", {{"rows", "1000"}, {"cols", "1000"}}, 2, false},
    {"transpose 1000 x 1000 f16", "transpose", {{"m", "1000"}, {"n", "1000"}}, 2, false},
    {"add 1000000 f16", "add", {{"n", "1000000"}}, 1, false},
};

typedef struct prepared {
    const run_msgs *msgs;
    pg_arena *arena;
    const bench *b;
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

static run_exit compile(prepared *p)
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
        status = run_manifest_read(p->msgs, p->arena, p->b->kernel, (pg_str){json.ptr, json.len},
                                   &p->launches[i]);
    }
    return status != RUN_OK || p->launches == NULL
               ? RUN_TOOL
               : run_manifest_join(p->msgs, p->arena, p->b->kernel, p->launches, (uint32_t)n,
                                   &p->manifest);
}

static run_exit make_inputs(prepared *p)
{
    const ptxgen_kernel_info *info = ptxgen_kernel_find(text_of(p->b->kernel));
    run_pair *defaults = PG_NEWS(p->arena, run_pair, info->n_scalars);
    if (defaults == NULL) {
        return RUN_TOOL;
    }
    for (size_t i = 0; i < info->n_scalars; i++) {
        defaults[i] = (run_pair){info->scalars[i].name, info->scalars[i].value};
    }
    const run_request request = {.file = p->b->kernel,
                                 .args = {p->b->args, p->b->n_args},
                                 .defaults = {defaults, info->n_scalars},
                                 .low = info->input_low,
                                 .high = info->input_high};
    return run_inputs_make(p->msgs, p->arena, &request, &p->manifest, &p->inputs);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of several runs. */
static run_exit measure(prepared *p, run_races races, uint32_t threads, size_t n)
{
    double seconds[MOST_RUNS] = {0};
    run_cost cost = {.seconds = 0};
    const run_how how = {.file = p->b->kernel,
                         .compiled = p->r,
                         .launches = p->launches,
                         .n_launches = (uint32_t)ptxgen_result_entry_count(p->r),
                         .device = RUN_ON_CPU,
                         .races = races,
                         .host_threads = threads};
    for (size_t i = 0; i < n; i++) {
        pg_arena_mark mark = pg_arena_mark_get(p->arena);
        run_exit status = run_job(p->msgs, p->arena, &how, &p->inputs, &cost);
        pg_arena_release(p->arena, mark);
        if (status != RUN_OK) {
            return status;
        }
        seconds[i] = cost.seconds;
    }
    qsort(seconds, n, sizeof *seconds, compare);
    double median = seconds[n / 2];
    printf("{\"what\": \"%s\", \"races\": \"%s\", \"threads\": %u, \"ms\": %.2f, "
           "\"lane_instructions\": %llu, \"lane_instructions_per_second\": %.3g}\n",
           p->b->name, races == RUN_RACES_OFF ? "off" : "practice", (unsigned)threads, median * 1e3,
           (unsigned long long)cost.n_lane_instructions,
           (double)cost.n_lane_instructions / (median > 0 ? median : 1e-9));
    (void)fflush(stdout);
    return RUN_OK;
}

static run_exit run_bench(const bench *b, size_t n_runs, uint32_t most_threads)
{
    const run_msgs msgs = {.to = stderr};
    pg_arena arena;
    prepared p = {.msgs = &msgs, .arena = &arena, .b = b};
    pg_arena_init(&arena, pg_alloc_default());
    run_exit status = compile(&p);
    if (status == RUN_OK) {
        status = read_manifests(&p);
    }
    if (status == RUN_OK) {
        status = make_inputs(&p);
    }
    for (uint32_t t = 1; t <= most_threads && status == RUN_OK; t *= 2) {
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

int main(int argc, char **argv)
{
    size_t n_runs = 5;
    bool is_long = false;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--runs=", 7) == 0) {
            n_runs = strtoul(argv[i] + 7, NULL, 10);
        } else if (strcmp(argv[i], "--long") == 0) {
            is_long = true;
        } else {
            (void)fprintf(stderr, "usage: bench_exec [--runs=N] [--long]\n");
            return RUN_USAGE;
        }
    }
    if (n_runs < 1 || n_runs > MOST_RUNS) {
        (void)fprintf(stderr, "bench_exec: 1 to %d runs\n", (int)MOST_RUNS);
        return RUN_USAGE;
    }
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    run_exit status = RUN_OK;
    for (size_t i = 0; i < PG_COUNT_OF(benches) && status == RUN_OK; i++) {
        if (!benches[i].is_long || is_long) {
            status = run_bench(&benches[i], benches[i].is_long ? 1 : n_runs,
                               processors < 2 ? 1 : (uint32_t)processors);
        }
    }
    return (int)status;
}
