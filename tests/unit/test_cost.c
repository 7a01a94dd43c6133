/* What a compile costs: memory grows with the module, at most a kilobyte for each operation.
 * (Time is tools/bench's business: a test that measures it fails by accident.) */
#include <criterion/criterion.h>
#include <ptxgen.h>

#include "base/arena.h"
#include "tests/failing.h"
#include "tools/bench/generate.h"

enum { FEW = 10000, MANY = 80000, BYTES_PER_OP = PG_ARENA_HUNTS ? 2048 : 1024 };

typedef struct cost {
    uint64_t n_ops, bytes;
} cost;

typedef struct peak {
    failing memory;
    int64_t most;
} peak;

static void *resize_noting_peak(void *user, void *block, size_t old_size, size_t new_size)
{
    peak *p = user;
    void *moved = resize_failing(&p->memory, block, old_size, new_size);
    p->most = p->memory.live_bytes > p->most ? p->memory.live_bytes : p->most;
    return moved;
}

static cost cost_of(bench_shape shape, uint32_t n)
{
    peak p = {.most = 0};
    const ptxgen_allocator alloc = {&p, resize_noting_peak};
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    ptxgen_stats stats = {.struct_size = sizeof stats};
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    bench_generate(&text, shape, n);
    cr_assert_eq(ptxgen_ctx_create(&alloc, &ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_compile(ctx, (ptxgen_str){text.ptr, text.len}, NULL, &r), PTXGEN_OK, "%s",
                 ptxgen_result_diag(r, 0).message.ptr);
    cr_assert_eq(ptxgen_result_stats(r, &stats), PTXGEN_OK);
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
    pg_strbuf_fini(&text);
    cr_assert_eq(p.memory.live_bytes, 0);
    return (cost){stats.n_ops, (uint64_t)p.most};
}

/* Handing values over at the end of a loop once took memory for each register of the kernel. */
Test(cost, memory_is_linear_in_the_operations)
{
    for (int s = 0; s < BENCH_SHAPE_COUNT; s++) {
        const cost few = cost_of((bench_shape)s, FEW), many = cost_of((bench_shape)s, MANY);
        const char *name = bench_shape_names[s];
        cr_assert_geq(few.n_ops, FEW);
        cr_assert_geq(many.n_ops, MANY);
        cr_assert_leq(few.bytes, BYTES_PER_OP * few.n_ops, "%s: %g bytes for each operation", name,
                      (double)few.bytes / (double)few.n_ops);
        cr_assert_leq(many.bytes, BYTES_PER_OP * many.n_ops, "%s: %g bytes for each operation",
                      name, (double)many.bytes / (double)many.n_ops);
    }
}

/* The generated modules are what their names say: nothing of them may be simplified away. */
Test(cost, generated_modules_stay_as_large_as_they_are)
{
    for (int s = 0; s < BENCH_SHAPE_COUNT; s++) {
        ptxgen_ctx *ctx = NULL;
        ptxgen_result *r = NULL;
        pg_strbuf text;
        pg_strbuf_init(&text, pg_alloc_default());
        bench_generate(&text, (bench_shape)s, 2000);
        cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
        cr_assert_eq(ptxgen_compile(ctx, (ptxgen_str){text.ptr, text.len}, NULL, &r), PTXGEN_OK);
        const ptxgen_pass_stat first = ptxgen_result_pass(r, 0);
        cr_assert_geq(first.n_ops_before, 2000);
        cr_assert_geq(first.n_ops_after, first.n_ops_before - first.n_ops_before / 20,
                      "%s: %u of %u", bench_shape_names[s], (unsigned)first.n_ops_after,
                      (unsigned)first.n_ops_before);
        ptxgen_result_destroy(r);
        ptxgen_ctx_destroy(ctx);
        pg_strbuf_fini(&text);
    }
}
