/* threads.c: contexts are independent: threads that compile at one time, each in its own context,
 * give the bytes that one thread alone gives. Under ThreadSanitizer (tools/test --all) also: no
 * data race.
 *
 *   threads FILE.ptir...      16 threads, 24 compiles each; 500 with PTXGEN_TEST_LONG=1 */
#include <pthread.h>
#include <ptxgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

enum { N_THREADS = 16, MAX_TEXTS = 32, TEXT_SIZE = 1 << 16, SHORT_ROUND = 24, LONG_ROUND = 500 };

typedef struct job {
    char *text;
    size_t n;
    char *want; /* the PTX of the first compile, by the main thread */
} job;

typedef struct worker {
    const job *jobs;
    uint32_t n_jobs, first, n_compiles;
    uint32_t n_bad;
} worker;

/* The PTX, to be freed; NULL where the compile fails. */
static char *compile(ptxgen_ctx *ctx, const job *j)
{
    ptxgen_result *r = NULL;
    char *out = NULL;
    if (ptxgen_compile(ctx, (ptxgen_str){j->text, j->n}, NULL, &r) == PTXGEN_OK) {
        const ptxgen_str ptx = ptxgen_result_ptx(r);
        out = malloc(ptx.len + 1);
        if (out != NULL) {
            memcpy(out, ptx.ptr, ptx.len + 1);
        }
    }
    ptxgen_result_destroy(r);
    return out;
}

static void *work(void *user)
{
    worker *w = user;
    ptxgen_ctx *ctx = NULL;
    if (ptxgen_ctx_create(NULL, &ctx) != PTXGEN_OK) {
        w->n_bad = w->n_compiles;
        return NULL;
    }
    for (uint32_t i = 0; i < w->n_compiles; i++) {
        const job *j = &w->jobs[(w->first + i) % w->n_jobs];
        char *got = compile(ctx, j);
        w->n_bad += got == NULL || strcmp(got, j->want) != 0;
        free(got);
    }
    ptxgen_ctx_destroy(ctx);
    return NULL;
}

static int read_file(const char *path, job *out)
{
    FILE *f = fopen(path, "rb");
    out->text = malloc(TEXT_SIZE);
    if (f == NULL || out->text == NULL) {
        return 0;
    }
    out->n = fread(out->text, 1, TEXT_SIZE, f);
    return fclose(f) == 0;
}

/* IR text of a kernel of the library. */
static int build_kernel(ptxgen_ctx *ctx, const char *name, job *out)
{
    ptxgen_module *m = NULL;
    ptxgen_result *r = NULL;
    if (ptxgen_kernel_build(ctx, (ptxgen_str){name, strlen(name)}, (ptxgen_str){"sm_80", 5}, NULL,
                            0, &m, NULL) != PTXGEN_OK) {
        return 0;
    }
    const ptxgen_status status = ptxgen_module_print(m, &r);
    const ptxgen_str text = ptxgen_result_ir(r);
    out->text = malloc(text.len + 1);
    if (out->text != NULL) {
        memcpy(out->text, text.ptr, text.len + 1);
        out->n = text.len;
    }
    ptxgen_result_destroy(r);
    ptxgen_module_destroy(m);
    return status == PTXGEN_OK && out->text != NULL;
}

static uint32_t gather(ptxgen_ctx *ctx, int argc, char **argv, job *jobs)
{
    uint32_t n = 0;
    for (int i = 1; i < argc && n < MAX_TEXTS; i++) {
        n += (uint32_t)read_file(argv[i], &jobs[n]);
    }
    for (size_t k = 0; ptxgen_kernel_at(k) != NULL && n < MAX_TEXTS; k++) {
        n += (uint32_t)build_kernel(ctx, ptxgen_kernel_at(k)->name, &jobs[n]);
    }
    for (uint32_t i = 0; i < n; i++) {
        jobs[i].want = compile(ctx, &jobs[i]);
        if (jobs[i].want == NULL) {
            (void)printf("FAIL: a compile without threads\n");
            return 0;
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    static job jobs[MAX_TEXTS];
    static worker workers[N_THREADS];
    pthread_t threads[N_THREADS];
    const char *is_long = getenv("PTXGEN_TEST_LONG");
    const uint32_t n_compiles =
        is_long != NULL && is_long[0] != '\0' && is_long[0] != '0' ? LONG_ROUND : SHORT_ROUND;
    ptxgen_ctx *ctx = NULL;
    uint32_t n_good = 0, n_bad = 0, n_jobs = 0;
    if (ptxgen_ctx_create(NULL, &ctx) != PTXGEN_OK ||
        (n_jobs = gather(ctx, argc, argv, jobs)) < 9) {
        (void)printf("0 passed, 1 failed\n");
        return 1;
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){jobs, n_jobs, i, n_compiles, 0};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
            (void)printf("0 passed, 1 failed: no thread\n");
            return 1;
        }
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        n_bad += workers[i].n_bad;
        n_good += n_compiles - workers[i].n_bad;
    }
    ptxgen_ctx_destroy(ctx);
    for (uint32_t i = 0; i < n_jobs; i++) {
        free(jobs[i].text);
        free(jobs[i].want);
    }
    (void)printf("%u passed, %u failed\n", (unsigned)n_good, (unsigned)n_bad);
    return n_bad != 0;
}
