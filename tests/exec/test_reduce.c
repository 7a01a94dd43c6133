/* test_reduce.c: reductions of every type along every dimension of tiles of many shapes, by one to
 * eight warps, in the interpreter and, lowered, in the executor: bit for bit, but sums of floats
 * within a bound, since machines add in another order. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/elem.h"
#include "tests/draw.h"

#include "both.h"

enum { MAX_N = 8192 };

typedef struct reduce_case {
    uint32_t rank, dims[4], dim, warps;
    pg_elem elem;
    const char *op;
    bool in_loop; /* three times, each on what the last one gave */
    bool in_part; /* of a partition, beside one with barriers of its own */
} reduce_case;

static uint32_t n_pass, n_fail;

static uint64_t value_of(pg_elem e, uint32_t i, uint64_t *seed, bool is_sum)
{
    uint64_t r = draw(seed);
    if (pg_elem_infos[e].cls == 'I') {
        return pg_elem_wrap(e, r);
    }
    if (!is_sum && i % 7 == 3) {
        return pg_elem_of_f64(e, i % 2 != 0 ? 0.0 : -0.0);
    }
    if (!is_sum && (i % 5 == 1 || i < 70)) {
        return pg_elem_of_f64(e, NAN);
    }
    return pg_elem_of_f64(e, (double)(int64_t)r / 9.3e18);
}

static void put_tile(pg_strbuf *t, const char *elem, uint32_t rank, const uint32_t *dims)
{
    pg_put(t, rank == 0 ? "" : "tile<");
    for (uint32_t d = 0; d < rank; d++) {
        pg_putf(t, "%ux", dims[d]);
    }
    pg_putf(t, "%s%s", elem, rank == 0 ? "" : ">");
}

/* Row-major offsets of a tile as the value %<name>. */
static void put_offsets(pg_strbuf *t, const char *name, uint32_t rank, const uint32_t *dims)
{
    uint32_t stride = 1;
    for (uint32_t d = rank; d-- > 0;) {
        pg_putf(t, "  %%%si%u = iota [dim=%u] : ", name, d, d);
        put_tile(t, "i32", rank, dims);
        pg_putf(t, "\n  %%%sm%u = imul %%%si%u, %u : ", name, d, name, d, stride);
        put_tile(t, "i32", rank, dims);
        if (d + 1 == rank) {
            pg_putf(t, "\n  %%%ss%u = iadd %%%sm%u, 0 : ", name, d, name, d);
        } else {
            pg_putf(t, "\n  %%%ss%u = iadd %%%sm%u, %%%ss%u : ", name, d, name, d, name, d + 1);
        }
        put_tile(t, "i32", rank, dims);
        pg_put(t, "\n");
        stride *= dims[d];
    }
}

static void put_access(pg_strbuf *t, const char *name, const char *elem, uint32_t rank,
                       const uint32_t *dims)
{
    char pointer[16];
    (void)snprintf(pointer, sizeof pointer, "ptr<%s>", elem);
    put_offsets(t, name, rank, dims);
    pg_putf(t, "  %%%sp = addptr %%%s, %%%ss0 : ", name, name, name);
    put_tile(t, pointer, rank, dims);
    pg_put(t, "\n");
}

static void put_end(pg_strbuf *t, const reduce_case *c)
{
    pg_put(t, c->in_part ? "  }\n  partition @other [warps=4] {\n    part.sync [id=1]\n  }\n" : "");
    pg_put(t, "  return\n}\n");
}

static void put_program(pg_strbuf *t, const reduce_case *c, uint32_t out_rank, const uint32_t *out)
{
    const char *e = pg_elem_infos[c->elem].text;
    pg_putf(t,
            "ptir 1\nmodule sm_80\nkernel @t(%%a: ptr<%s> [in], %%o: ptr<%s> [out]) [warps=%u] {\n",
            e, e, c->warps);
    if (c->in_part) {
        pg_putf(t, "  partition @main [warps=%u, default] {\n", c->warps);
    }
    put_access(t, "a", e, c->rank, c->dims);
    pg_put(t, "  %x = load %ap : ");
    put_tile(t, e, c->rank, c->dims);
    pg_put(t, "\n");
    if (c->in_loop) {
        pg_put(t, "  %z = const 0 : ");
        put_tile(t, e, out_rank, out);
        pg_put(t, "\n  %y = for %i in 0 to 3 step 1 carry (%acc = %z) : ");
        put_tile(t, e, out_rank, out);
        pg_putf(t, " {\n    %%n = %s %%i%s : %s\n    %%ns = splat %%n : ",
                c->elem == PG_I32 ? "iadd" : "cast", c->elem == PG_I32 ? ", 0" : "", e);
        put_tile(t, e, c->rank, c->dims);
        pg_put(t, "\n    %xs = iadd %x, %ns : ");
        put_tile(t, e, c->rank, c->dims);
        pg_putf(t, "\n    %%r = reduce %%xs [dim=%u, op=%s] : ", c->dim, c->op);
        put_tile(t, e, out_rank, out);
        pg_put(t, "\n    %next = imax %acc, %r : ");
        put_tile(t, e, out_rank, out);
        pg_put(t, "\n    yield %next\n  }\n");
    } else {
        pg_putf(t, "  %%y = reduce %%x [dim=%u, op=%s] : ", c->dim, c->op);
        put_tile(t, e, out_rank, out);
        pg_put(t, "\n");
    }
    if (out_rank == 0) {
        pg_put(t, "  store %o, %y\n");
        put_end(t, c);
        return;
    }
    put_access(t, "o", e, out_rank, out);
    pg_put(t, "  store %op, %y\n");
    put_end(t, c);
}

static void try_case(const reduce_case *c)
{
    static uint64_t data[MAX_N];
    uint32_t out[4] = {0}, n = 1, out_rank = 0;
    uint64_t seed = 88172645463325252u + c->dim;
    bool is_float = pg_elem_infos[c->elem].cls == 'F', is_sum = strcmp(c->op, "sum") == 0;
    for (uint32_t d = 0; d < c->rank; d++) {
        n *= c->dims[d];
        if (d != c->dim) {
            out[out_rank++] = c->dims[d];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t x = value_of(c->elem, i, &seed, is_sum);
        memcpy((char *)data + (size_t)i * both_size(c->elem), &x, both_size(c->elem));
    }
    uint32_t extent = c->dims[c->dim];
    double unit = c->elem == PG_F16    ? 0x1p-11
                  : c->elem == PG_BF16 ? 0x1p-8
                  : c->elem == PG_F32  ? 0x1p-24
                                       : 0x1p-53;
    both_arg args[2] = {{.elem = c->elem, .data = data, .n = n},
                        {.elem = c->elem, .n = n / extent, .is_out = true}};
    pg_strbuf text, why;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_strbuf_init(&why, pg_alloc_default());
    put_program(&text, c, out_rank, out);
    both_case b = {.text = text.ptr,
                   .passes = "layouts,sync",
                   .args = args,
                   .n_args = 2,
                   .grid = {1, 1, 1},
                   .races = true};
    if (is_float && is_sum) { /* rounding, and that of at most log2(extent) + extent/32 additions */
        b.ulps = 1;
        b.absolute = (double)extent * (c->elem == PG_F64 ? 0x1p-53 : 0x1p-24) * 16 + unit;
    }
    if (both_run(&b, &why) == BOTH_AGREE) {
        n_pass++;
    } else {
        n_fail++;
        printf("reduce %s %s [%u %u %u %u] dim %u, %u warps%s:\n%s\n%s\n", c->op,
               pg_elem_infos[c->elem].text, c->dims[0], c->dims[1], c->dims[2], c->dims[3], c->dim,
               c->warps, c->in_loop ? " in a loop" : "", why.ptr != NULL ? why.ptr : "",
               n_fail < 3 ? text.ptr : "");
    }
    pg_strbuf_fini(&text);
    pg_strbuf_fini(&why);
}

int main(void)
{
    static const uint32_t shapes[][5] = {
        /* rank, extents */
        {1, 1},        {1, 2},        {1, 32},       {1, 256},         {1, 4096},
        {2, 1, 1024},  {2, 4, 256},   {2, 64, 32},   {2, 128, 4},      {2, 2, 2},
        {3, 4, 8, 16}, {3, 2, 64, 8}, {3, 64, 1, 8}, {4, 2, 4, 8, 16}, {4, 1, 16, 2, 32}};
    static const pg_elem elems[] = {PG_I8, PG_I16, PG_I32, PG_I64, PG_F16, PG_BF16, PG_F32, PG_F64};
    static const char *const ops[] = {"sum", "max", "min"};
    static const uint32_t warps[] = {1, 4, 8};
    uint32_t turn = 0;
    for (uint32_t s = 0; s < PG_COUNT_OF(shapes); s++) {
        for (uint32_t d = 0; d < shapes[s][0]; d++) {
            for (uint32_t e = 0; e < PG_COUNT_OF(elems); e++) {
                reduce_case c = {.rank = shapes[s][0], .dim = d, .elem = elems[e]};
                memcpy(c.dims, &shapes[s][1], sizeof c.dims);
                for (uint32_t o = 0; o < 3; o++) {
                    c.op = ops[o];
                    c.warps = warps[turn++ % 3];
                    try_case(&c);
                }
                c.in_loop = true;
                c.op = "max";
                c.warps = 4;
                if (pg_elem_infos[c.elem].cls == 'I' && e >= 2) {
                    try_case(&c);
                    c.in_part = true;
                    try_case(&c);
                    c.in_loop = false;
                    try_case(&c);
                }
            }
        }
    }
    printf("%u passed, %u failed\n", n_pass, n_fail);
    return n_fail == 0 ? 0 : 1;
}
