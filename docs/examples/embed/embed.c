/* embed.c: ptxgen inside another compiler.
 *
 *     embed N        N times y = max(0, a * x + b) for sm_80 and sm_90a, in two threads
 *
 * It shows what a compiler that links libptxgen does: an allocator of its own, a kernel built
 * without text, PTX, launch facts, diagnostics, and a context for each thread. Output: the PTX on
 * stdout, everything else on stderr. */
#include <pthread.h>
#include <ptxgen.h>
#include <ptxgen_build.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an allocator that counts --------------------------------------------------------------- */
/* One for each context, so it needs no lock. The library says the old size: nothing to remember. */

typedef struct counter {
    size_t live, peak, calls;
} counter;

static void *count_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    counter *c = user;
    void *p = NULL;
    if (new_size == 0) {
        free(block);
    } else {
        p = realloc(block, new_size);
        c->calls++;
        if (p == NULL) {
            return NULL; /* the old block stays valid */
        }
    }
    c->live = c->live - old_size + new_size;
    c->peak = c->live > c->peak ? c->live : c->peak;
    return p;
}

/* ---- a kernel, built ------------------------------------------------------------------------- */

enum { BLOCK = 1024 };

static ptxgen_str text_of(const char *s)
{
    return (ptxgen_str){s, strlen(s)};
}

static ptxgen_value array(ptxgen_builder *b, const char *name, const char *role, ptxgen_type type)
{
    ptxgen_value p = ptxgen_param(b, name, type);
    ptxgen_param_attr(b, p, role, 1);
    return p;
}

/* No call is checked: the builder keeps the first error, and ptxgen_kernel_end returns it. */
static ptxgen_status build_scale(ptxgen_module *m, const char *op)
{
    const int32_t block = BLOCK;
    const ptxgen_encoding any = {0};
    const ptxgen_value none = {0};
    ptxgen_type f32 = ptxgen_type_scalar(m, PTXGEN_F32), i32 = ptxgen_type_scalar(m, PTXGEN_I32);
    ptxgen_type ptr = ptxgen_type_ptr(m, PTXGEN_F32);
    ptxgen_type tile = ptxgen_type_tile(m, PTXGEN_F32, 1, &block, any);
    ptxgen_type index = ptxgen_type_tile(m, PTXGEN_I32, 1, &block, any);
    ptxgen_builder *b = NULL;
    ptxgen_status status = ptxgen_kernel_begin(m, "scale", &b);
    if (status != PTXGEN_OK) {
        return status;
    }
    ptxgen_kernel_attr(b, "warps", 4);
    ptxgen_value x = array(b, "x", "in", ptr), y = array(b, "y", "out", ptr);
    ptxgen_value scale = ptxgen_param(b, "a", f32), shift = ptxgen_param(b, "b", f32);
    ptxgen_value n = ptxgen_param(b, "n", i32);
    ptxgen_param_dims(b, x, "shape", 1, &n);
    ptxgen_param_dims(b, y, "shape", 1, &n);

    ptxgen_launch_begin(b);
    ptxgen_value programs = ptxgen_build_binary(b, "icdiv", n, ptxgen_const_int(b, i32, BLOCK));
    ptxgen_launch_end(b, programs, none, none);

    /* Calls that build stand in statements of their own: C orders statements, not arguments. */
    ptxgen_value first = ptxgen_build_program_id(b, 0);
    first = ptxgen_build_binary(b, "imul", first, ptxgen_const_int(b, i32, BLOCK));
    ptxgen_value i = ptxgen_build_splat(b, first, index);
    i = ptxgen_build_binary(b, "iadd", i, ptxgen_build_iota(b, index, 0));
    ptxgen_value mask = ptxgen_build_compare(b, "icmp", "lt", i, ptxgen_build_splat(b, n, index));
    ptxgen_value v = ptxgen_build_load(b, ptxgen_build_addptr(b, x, i), mask, none);
    ptxgen_value factor = ptxgen_build_splat(b, scale, tile);
    ptxgen_value r = ptxgen_build_fma(b, v, factor, ptxgen_build_splat(b, shift, tile));
    r = ptxgen_build_binary(b, op, r, ptxgen_const_float(b, tile, 0.0));
    ptxgen_build_store(b, ptxgen_build_addptr(b, y, i), r, mask);
    return ptxgen_kernel_end(b);
}

/* ---- compiling ------------------------------------------------------------------------------- */

static void print_diags(const ptxgen_result *r)
{
    for (size_t i = 0; i < ptxgen_result_diag_count(r); i++) {
        const ptxgen_diag d = ptxgen_result_diag(r, i);
        fprintf(stderr, "PG%04u at line %u: %s\n", d.number, d.line, d.message.ptr);
        if (d.help.len != 0) {
            fprintf(stderr, "  %s\n", d.help.ptr);
        }
    }
}

/* Builds and compiles; the result is the caller's to destroy, also after a failure. */
static ptxgen_status compile(ptxgen_ctx *ctx, const char *target, const char *op,
                             ptxgen_result **out)
{
    const ptxgen_options options = {.struct_size = sizeof options, .verify = PTXGEN_VERIFY_EACH};
    ptxgen_module *m = NULL;
    ptxgen_status status = ptxgen_module_create(ctx, text_of(target), &m);
    *out = NULL;
    if (status == PTXGEN_OK) {
        status = build_scale(m, op);
    }
    if (m != NULL) { /* also where building failed: the result then says why */
        ptxgen_status compiled = ptxgen_module_compile(m, &options, out);
        status = status == PTXGEN_OK ? compiled : status;
    }
    ptxgen_module_destroy(m);
    return status;
}

/* ---- a thread -------------------------------------------------------------------------------- */

typedef struct worker {
    const char *target;
    long n;
    counter memory;
    ptxgen_status status;
    char *ptx, *manifest; /* of the first compile; the others gave the same bytes */
} worker;

static char *copy(ptxgen_str s)
{
    char *p = malloc(s.len + 1);
    return p == NULL ? NULL : memcpy(p, s.ptr, s.len + 1); /* texts end in NUL */
}

static ptxgen_status compile_all(worker *w, ptxgen_ctx *ctx)
{
    ptxgen_status status = PTXGEN_OK;
    for (long i = 0; i < w->n && status == PTXGEN_OK; i++) {
        ptxgen_result *r = NULL;
        status = compile(ctx, w->target, "fmax", &r);
        print_diags(r);
        if (status == PTXGEN_OK && w->ptx == NULL) {
            w->ptx = copy(ptxgen_result_ptx(r));
            w->manifest = copy(ptxgen_result_manifest(r, 0));
            status = w->ptx == NULL || w->manifest == NULL ? PTXGEN_E_NOMEM : PTXGEN_OK;
        } else if (status == PTXGEN_OK && strcmp(w->ptx, ptxgen_result_ptx(r).ptr) != 0) {
            fprintf(stderr, "%s: two compiles gave different text\n", w->target);
            status = PTXGEN_E_INTERNAL;
        }
        ptxgen_result_destroy(r);
    }
    return status;
}

static void *work(void *argument)
{
    worker *w = argument;
    const ptxgen_allocator allocator = {&w->memory, count_resize};
    ptxgen_ctx *ctx = NULL;
    w->status = ptxgen_ctx_create(&allocator, &ctx);
    if (w->status == PTXGEN_OK) {
        w->status = compile_all(w, ctx);
    }
    ptxgen_ctx_destroy(ctx);
    return NULL;
}

/* An operation that does not exist: the builder goes on, the result says what was wrong. */
static int show_an_error(void)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    if (ptxgen_ctx_create(NULL, &ctx) != PTXGEN_OK) {
        return 1;
    }
    ptxgen_status status = compile(ctx, "sm_80", "fmaxx", &r);
    fprintf(stderr, "a wrong operation: %s\n", ptxgen_status_name(status));
    print_diags(r);
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
    return status == PTXGEN_OK;
}

int main(int argc, char **argv)
{
    worker workers[2] = {{.target = "sm_80"}, {.target = "sm_90a"}};
    pthread_t threads[2];
    int has_failed = 0;
    for (int i = 0; i < 2; i++) {
        workers[i].n = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < 2; i++) {
        worker *w = &workers[i];
        pthread_join(threads[i], NULL);
        fprintf(stderr, "%s: %s; %lu calls of the allocator, at most %lu bytes, %lu left\n",
                w->target, ptxgen_status_name(w->status), (unsigned long)w->memory.calls,
                (unsigned long)w->memory.peak, (unsigned long)w->memory.live);
        has_failed |= w->status != PTXGEN_OK || w->memory.live != 0;
        if (w->status == PTXGEN_OK && w->ptx != NULL) {
            fprintf(stderr, "%s\n", w->manifest);
            fputs(w->ptx, stdout);
        }
        free(w->ptx);
        free(w->manifest);
    }
    return show_an_error() | has_failed;
}
