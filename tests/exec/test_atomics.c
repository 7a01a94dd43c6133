/* test_atomics.c: atomic operations on every type that they take, in the interpreter and, lowered,
 * in the executor: one cell for all, a few, one for each; some and all elements masked; one program
 * and several; tiles that the warps of a program hold more than once, and scalars. Additions of
 * floats are of small integers, so that the sum is the same in any order. */
#include <stdio.h>
#include <string.h>

#include "ir/elem.h"
#include "ir/op.h"

#include "both.h"

enum { N = 4096, CELLS = 1024 };

typedef struct atomic_case {
    pg_op op;
    pg_elem elem;
    uint32_t n_elems; /* of the tile; 0: a scalar */
    uint32_t n_cells, warps, grid;
    const char *mask; /* a comparison of the element's number with 100; "": none */
} atomic_case;

static uint32_t n_pass, n_fail;

static void fill(pg_elem e, void *data, uint32_t n, uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint64_t x = pg_elem_infos[e].cls == 'F' ? pg_elem_of_f64(e, (double)(seed % 64) - 32)
                                                 : pg_elem_wrap(e, seed >> (seed & 31));
        memcpy((char *)data + (size_t)i * both_size(e), &x, both_size(e));
    }
}

static void put_program(pg_strbuf *t, const atomic_case *c)
{
    const char *e = pg_elem_infos[c->elem].text, *op = pg_op_infos[c->op].text;
    uint32_t n = c->n_elems;
    pg_putf(t,
            "ptir 1\nmodule sm_80\nkernel @t(%%a: ptr<%s> [in], %%o: ptr<%s> [inout]) [warps=%u] "
            "{\n  %%id = program_id [axis=x] : i32\n",
            e, e, c->warps);
    if (n == 0) {
        pg_putf(t,
                "  %%pa = addptr %%a, %%id : ptr<%s>\n  %%v = load %%pa : %s\n"
                "  %%at = urem %%id, %u : i32\n  %%po = addptr %%o, %%at : ptr<%s>\n",
                e, e, c->n_cells, e);
    } else {
        pg_putf(t,
                "  %%i = iota : tile<%uxi32>\n  %%b = imul %%id, %u : i32\n"
                "  %%bs = splat %%b : tile<%uxi32>\n  %%j = iadd %%i, %%bs : tile<%uxi32>\n"
                "  %%pa = addptr %%a, %%j : tile<%uxptr<%s>>\n  %%v = load %%pa : tile<%ux%s>\n"
                "  %%h = imul %%j, 77 : tile<%uxi32>\n  %%at = urem %%h, %u : tile<%uxi32>\n"
                "  %%po = addptr %%o, %%at : tile<%uxptr<%s>>\n",
                n, n, n, n, n, e, n, e, n, c->n_cells, n, n, e);
    }
    if (c->mask[0] == '\0') {
        pg_putf(t, "  %s %%po, %%v\n  return\n}\n", op);
    } else if (n == 0) {
        pg_putf(t, "  %%m = icmp %%id, 2 [is=%s] : i1\n  %s %%po, %%v, %%m\n  return\n}\n", c->mask,
                op);
    } else {
        pg_putf(t,
                "  %%m = icmp %%j, 100 [is=%s] : tile<%uxi1>\n  %s %%po, %%v, %%m\n  return\n}\n",
                c->mask, n, op);
    }
}

static void try_case(const atomic_case *c)
{
    static uint64_t in[N], out[CELLS];
    fill(c->elem, in, N, 88172645463325252u);
    fill(c->elem, out, CELLS, 1234567u);
    both_arg args[2] = {{.elem = c->elem, .data = in, .n = N},
                        {.elem = c->elem, .data = out, .n = CELLS, .is_out = true}};
    pg_strbuf text, why;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_strbuf_init(&why, pg_alloc_default());
    put_program(&text, c);
    both_case b = {.text = text.ptr,
                   .passes = "layouts,order,pipeline,sync",
                   .args = args,
                   .n_args = 2,
                   .grid = {c->grid, 1, 1}};
    if (both_run(&b, &why) == BOTH_AGREE) {
        n_pass++;
    } else {
        n_fail++;
        printf("%s %s, %u elements to %u cells, %u warps, %u programs, mask %s:\n%s\n",
               pg_op_infos[c->op].text, pg_elem_infos[c->elem].text, c->n_elems, c->n_cells,
               c->warps, c->grid, c->mask, why.ptr != NULL ? why.ptr : "");
    }
    pg_strbuf_fini(&text);
    pg_strbuf_fini(&why);
}

int main(void)
{
    static const struct {
        pg_op op;
        pg_elem elem;
    } kinds[] = {{PG_OP_ATOMIC_ADD, PG_I32},  {PG_OP_ATOMIC_ADD, PG_I64},
                 {PG_OP_ATOMIC_ADD, PG_F32},  {PG_OP_ATOMIC_ADD, PG_F64},
                 {PG_OP_ATOMIC_MAX, PG_I32},  {PG_OP_ATOMIC_MAX, PG_I64},
                 {PG_OP_ATOMIC_UMAX, PG_I32}, {PG_OP_ATOMIC_UMAX, PG_I64}};
    static const uint32_t tiles[] = {0, 8, 64, 512}, cells[] = {1, 5, 64, CELLS};
    static const uint32_t warps[] = {1, 4, 8}, grids[] = {1, 5};
    static const char *const masks[] = {"", "lt", "ge"};
    for (uint32_t k = 0; k < PG_COUNT_OF(kinds); k++) {
        for (uint32_t n = 0; n < PG_COUNT_OF(tiles) * PG_COUNT_OF(cells) * PG_COUNT_OF(grids);
             n++) {
            for (uint32_t m = 0; m < PG_COUNT_OF(masks); m++) {
                atomic_case c = {.op = kinds[k].op,
                                 .elem = kinds[k].elem,
                                 .n_elems = tiles[n % 4],
                                 .n_cells = cells[n / 4 % 4],
                                 .grid = grids[n / 16],
                                 .warps = warps[(n + m) % 3],
                                 .mask = masks[m]};
                try_case(&c);
            }
        }
    }
    printf("%u passed, %u failed\n", n_pass, n_fail);
    return n_fail == 0 ? 0 : 1;
}
