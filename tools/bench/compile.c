/* compile.c: what it costs to compile IR text to PTX, in process.
 *
 *   bench_compile [--ms=N] [--new-context] FILE.ptir...
 *   bench_compile [--ms=N] [--new-context] --generated=SHAPE:OPS...
 *   bench_compile --print=SHAPE:OPS
 *
 * The median over N ms of compiles of each file or generated module, in one context or each in a
 * context of its own, as a line of JSON; tools/bench/run makes tables of them. --print: the
 * generated module's text. */
#include <ptxgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "generate.h"

enum { LEAST_RUNS = 5, MOST_RUNS = 20000, MOST_PASSES = 32 };

/* ---- memory, counted ------------------------------------------------------------------------- */

typedef struct counter {
    uint64_t live, peak, n;
} counter;

static void *resize_counting(void *user, void *block, size_t old_size, size_t new_size)
{
    counter *c = user;
    if (new_size == 0) {
        free(block);
        c->live -= old_size;
        return NULL;
    }
    void *moved = realloc(block, new_size);
    if (moved != NULL) {
        c->live += new_size - old_size;
        c->n++;
        c->peak = c->live > c->peak ? c->live : c->peak;
    }
    return moved;
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t now_ns(void *user)
{
    struct timespec t;
    (void)user;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t quantile(uint64_t *at, size_t n, size_t part, size_t of)
{
    qsort(at, n, sizeof *at, compare);
    return n == 0 ? 0 : at[(n - 1) * part / of];
}

typedef struct sample { /* sums over all runs */
    uint64_t parse, verify, passes, emit, pass[MOST_PASSES];
    char pass_names[MOST_PASSES][32];
    size_t n_passes;
    uint64_t n_ops, ptx_bytes;
} sample;

static void add_stats(sample *s, const ptxgen_result *r)
{
    ptxgen_stats st = {.struct_size = sizeof st};
    if (ptxgen_result_stats(r, &st) != PTXGEN_OK) {
        return;
    }
    s->parse += st.parse_ns;
    s->verify += st.verify_ns;
    s->passes += st.passes_ns;
    s->emit += st.emit_ns;
    s->n_ops = st.n_ops;
    s->ptx_bytes = st.ptx_bytes;
    s->n_passes = ptxgen_result_pass_count(r);
    for (size_t i = 0; i < s->n_passes && i < MOST_PASSES; i++) {
        const ptxgen_pass_stat p = ptxgen_result_pass(r, i);
        s->pass[i] += p.ns;
        (void)snprintf(s->pass_names[i], sizeof s->pass_names[i], "%s", p.name.ptr);
    }
}

static int fail(const char *what, const ptxgen_result *r)
{
    const ptxgen_diag d = ptxgen_result_diag(r, 0);
    (void)fprintf(stderr, "bench_compile: %s:%u:%u: error: PG%04u %s\n", what, (unsigned)d.line,
                  (unsigned)d.column, (unsigned)d.number, d.message.ptr);
    return 1;
}

/* Memory and phases by compiles of their own: counting and clocks cost a little. */
static int measure_parts(const char *what, ptxgen_str text, size_t n_runs, sample *out,
                         counter *memory)
{
    const ptxgen_allocator alloc = {memory, resize_counting};
    ptxgen_options options = {.struct_size = sizeof options, .clock_ns = now_ns};
    ptxgen_ctx *ctx = NULL;
    int status = 0;
    if (ptxgen_ctx_create(&alloc, &ctx) != PTXGEN_OK) {
        return 1;
    }
    for (size_t i = 0; i < n_runs && status == 0; i++) {
        ptxgen_result *r = NULL;
        if (ptxgen_compile(ctx, text, &options, &r) != PTXGEN_OK) {
            status = fail(what, r);
        }
        add_stats(out, r);
        ptxgen_result_destroy(r);
    }
    ptxgen_ctx_destroy(ctx);
    return status;
}

static double per(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : (double)a / (double)b;
}

static void print_line(const char *what, uint64_t *ns, size_t n, const sample *s,
                       const counter *memory)
{
    const uint64_t median = quantile(ns, n, 1, 2);
    const uint64_t total = s->parse + s->verify + s->passes + s->emit;
    (void)printf(
        "{\"name\": \"%s\", \"runs\": %zu, \"median_ns\": %llu, \"p10_ns\": %llu, \"p90_ns\": "
        "%llu, "
        "\"n_ops\": %llu, \"ops_per_s\": %.0f, \"ptx_bytes\": %llu, \"peak_bytes\": %llu, "
        "\"bytes_per_op\": %.0f, \"allocations\": %.0f, \"shares\": {\"parse\": %.3f, \"verify\": "
        "%.3f, \"passes\": %.3f, \"emit\": %.3f}, \"passes\": {",
        what, n, (unsigned long long)median, (unsigned long long)quantile(ns, n, 1, 10),
        (unsigned long long)quantile(ns, n, 9, 10), (unsigned long long)s->n_ops,
        1e9 * per(s->n_ops, median), (unsigned long long)s->ptx_bytes,
        (unsigned long long)memory->peak, per(memory->peak, s->n_ops), (double)memory->n,
        per(s->parse, total), per(s->verify, total), per(s->passes, total), per(s->emit, total));
    for (size_t i = 0; i < s->n_passes && i < MOST_PASSES; i++) {
        uint64_t sum = 0; /* of a pass that runs more than once */
        size_t first = MOST_PASSES;
        for (size_t j = 0; j < s->n_passes && j < MOST_PASSES; j++) {
            const int is_same = strcmp(s->pass_names[i], s->pass_names[j]) == 0;
            sum += is_same ? s->pass[j] : 0;
            first = is_same && first == MOST_PASSES ? j : first;
        }
        if (first == i) {
            (void)printf("%s\"%s\": %.3f", i == 0 ? "" : ", ", s->pass_names[i], per(sum, total));
        }
    }
    (void)printf("}}\n");
    (void)fflush(stdout);
}

typedef struct how {
    uint64_t ms;
    int is_new; /* a context for each compile */
} how;

/* One compile; *ns: the time of all but freeing the result. */
static int compile_once(const char *what, ptxgen_str text, ptxgen_ctx **ctx, int is_new,
                        uint64_t *ns)
{
    ptxgen_result *r = NULL;
    const uint64_t from = now_ns(NULL);
    if (*ctx == NULL && ptxgen_ctx_create(NULL, ctx) != PTXGEN_OK) {
        return 1;
    }
    int status = ptxgen_compile(*ctx, text, NULL, &r) == PTXGEN_OK ? 0 : fail(what, r);
    if (is_new) {
        ptxgen_ctx_destroy(*ctx);
        *ctx = NULL;
    }
    *ns = now_ns(NULL) - from;
    ptxgen_result_destroy(r);
    return status;
}

/* Compiles until `ms` have gone, but at least LEAST_RUNS times. */
static int measure(const char *what, ptxgen_str text, how h)
{
    static uint64_t ns[MOST_RUNS];
    size_t n = 0;
    ptxgen_ctx *ctx = NULL;
    int status = compile_once(what, text, &ctx, h.is_new, &ns[0]); /* warm */
    const uint64_t end = now_ns(NULL) + h.ms * 1000000u;
    while (status == 0 && n < MOST_RUNS && (n < LEAST_RUNS || now_ns(NULL) < end)) {
        status = compile_once(what, text, &ctx, h.is_new, &ns[n++]);
    }
    ptxgen_ctx_destroy(ctx);
    sample s = {0};
    counter memory = {0};
    if (status == 0 && measure_parts(what, text, n < 20 ? 1 : n / 10, &s, &memory) == 0) {
        print_line(what, ns, n, &s, &memory);
    }
    return status;
}

static int measure_file(const char *path, how h)
{
    FILE *f = fopen(path, "rb");
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    char part[4096];
    size_t n;
    if (f == NULL) {
        (void)fprintf(stderr, "bench_compile: cannot open %s\n", path);
        return 1;
    }
    while ((n = fread(part, 1, sizeof part, f)) > 0) {
        pg_put_str(&text, (pg_str){part, n});
    }
    (void)fclose(f);
    const char *name = strrchr(path, '/');
    int status = measure(name == NULL ? path : name + 1, (ptxgen_str){text.ptr, text.len}, h);
    pg_strbuf_fini(&text);
    return status;
}

/* "loops:10000" */
static int generate(const char *spec, pg_strbuf *out)
{
    for (int s = 0; s < BENCH_SHAPE_COUNT; s++) {
        const size_t n = strlen(bench_shape_names[s]);
        if (strncmp(spec, bench_shape_names[s], n) == 0 && spec[n] == ':') {
            bench_generate(out, (bench_shape)s, (uint32_t)strtoul(spec + n + 1, NULL, 10));
            return 0;
        }
    }
    (void)fprintf(stderr, "bench_compile: %s is no SHAPE:OPS, such as loops:10000\n", spec);
    return 2;
}

static int measure_generated(const char *spec, how h, int is_print)
{
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    int status = generate(spec, &text);
    if (status == 0 && is_print) {
        (void)fwrite(text.ptr, 1, text.len, stdout);
    } else if (status == 0) {
        status = measure(spec, (ptxgen_str){text.ptr, text.len}, h);
    }
    pg_strbuf_fini(&text);
    return status;
}

int main(int argc, char **argv)
{
    how h = {.ms = 300};
    int status = 0;
    for (int i = 1; i < argc && status == 0; i++) {
        if (strncmp(argv[i], "--ms=", 5) == 0) {
            h.ms = strtoul(argv[i] + 5, NULL, 10);
        } else if (strcmp(argv[i], "--new-context") == 0) {
            h.is_new = 1;
        } else if (strncmp(argv[i], "--generated=", 12) == 0) {
            status = measure_generated(argv[i] + 12, h, 0);
        } else if (strncmp(argv[i], "--print=", 8) == 0) {
            status = measure_generated(argv[i] + 8, h, 1);
        } else {
            status = measure_file(argv[i], h);
        }
    }
    return status;
}
