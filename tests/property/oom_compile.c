/* Memory that runs out: for k = 1, 2, ..., the k-th allocation of a compile (and every later one)
 * fails. Then: the status is NOMEM, nothing leaks, and the same context compiles the same text once
 * memory is there again. Ends with the first k at which nothing failed. Under AddressSanitizer,
 * where each block of an arena is a request of its own, k grows by a fiftieth: all would take an
 * hour.
 *
 * Prints "N passed, N failed". Arguments: .ptir files; kernels of the library are compiled too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "kernels/kernels.h"
#include "tests/failing.h"

typedef struct subject {
    const char *name;
    ptxgen_str text;    /* IR, or */
    const char *kernel; /* a kernel of the library */
} subject;

/* One compile in a context; every object but the context is freed. */
static ptxgen_status compile(ptxgen_ctx *ctx, const subject *s, ptxgen_str *first_error)
{
    static char message[256];
    ptxgen_result *r = NULL;
    ptxgen_status st;
    ptxgen_options opt = {.struct_size = sizeof opt, .verify = PTXGEN_VERIFY_EACH};
    if (s->kernel) {
        ptxgen_module *m = NULL;
        const ptxgen_str name = {s->kernel, strlen(s->kernel)}, target = {"sm_80", 5};
        st = ptxgen_kernel_build(ctx, name, target, NULL, 0, &m, NULL);
        if (st == PTXGEN_OK) {
            st = ptxgen_module_compile(m, &opt, &r);
        }
        ptxgen_module_destroy(m);
    } else {
        st = ptxgen_compile(ctx, s->text, &opt, &r);
    }
    message[0] = 0;
    if (r && ptxgen_result_diag_count(r) > 0) {
        (void)snprintf(message, sizeof message, "PG%04u %s", ptxgen_result_diag(r, 0).number,
                       ptxgen_result_diag(r, 0).message.ptr);
    }
    *first_error = (ptxgen_str){message, strlen(message)};
    ptxgen_result_destroy(r);
    return st;
}

static int report(const subject *s, uint64_t k, const char *what, ptxgen_status st)
{
    (void)fprintf(stderr, "%s: allocation %llu: %s (%s)\n", s->name, (unsigned long long)k, what,
                  ptxgen_status_name(st));
    return 1;
}

/* 0: passed; 1: failed. *is_done: no allocation failed any more. */
static int check_at(const subject *s, uint64_t k, int *is_done)
{
    failing c = {.fail_at = k, .fails_on = 1};
    const ptxgen_allocator alloc = {&c, resize_failing};
    ptxgen_ctx *ctx = NULL;
    ptxgen_str error;
    int failed = 0;
    ptxgen_status st = ptxgen_ctx_create(&alloc, &ctx);
    if (st == PTXGEN_OK) {
        st = compile(ctx, s, &error);
        *is_done = c.n < k;
        if (*is_done ? st != PTXGEN_OK : st != PTXGEN_E_NOMEM && st != PTXGEN_OK) {
            failed = report(s, k, *is_done ? error.ptr : "wrong status", st);
        }
        c.fail_at = 0;
        st = compile(ctx, s, &error);
        if (st != PTXGEN_OK && !failed) {
            failed = report(s, k, error.ptr[0] ? error.ptr : "the context is not usable again", st);
        }
    } else if (st != PTXGEN_E_NOMEM) {
        failed = report(s, k, "wrong status of ptxgen_ctx_create", st);
    }
    ptxgen_ctx_destroy(ctx);
    if ((c.live_blocks != 0 || c.live_bytes != 0) && !failed) {
        (void)fprintf(stderr, "%lld blocks, %lld bytes: ", (long long)c.live_blocks,
                      (long long)c.live_bytes);
        failed = report(s, k, "leak", st);
    }
    return failed;
}

static void check_subject(const subject *s, uint32_t tally[2])
{
    int is_done = 0;
    uint64_t k = 1;
    for (; !is_done && k < 1000000; k += 1 + (PG_ARENA_HUNTS ? k / 50 : 0)) {
        tally[check_at(s, k, &is_done)]++;
        if (tally[1] > 20) {
            return;
        }
    }
    (void)fprintf(stderr, "%s: refused up to request %llu\n", s->name, (unsigned long long)k);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!f || !text) {
        (void)fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    *size = fread(text, 1, (1 << 20) - 1, f);
    (void)fclose(f);
    return text;
}

int main(int argc, char **argv)
{
    static const char *const library_kernels[] = {"add",      "gelu",    "gemm",     "reduce",
                                                  "silu_mul", "softmax", "transpose"};
    uint32_t tally[2] = {0};
    for (int i = 1; i < argc; i++) {
        subject s = {.name = argv[i]};
        size_t size;
        char *text = read_file(argv[i], &size);
        s.text = (ptxgen_str){text, size};
        check_subject(&s, tally);
        free(text);
    }
    for (size_t i = 0; i < sizeof library_kernels / sizeof library_kernels[0]; i++) {
        check_subject(&(subject){.name = library_kernels[i], .kernel = library_kernels[i]}, tally);
    }
    (void)printf("%u passed, %u failed\n", tally[0], tally[1]);
    return tally[1] ? 1 : 0;
}
