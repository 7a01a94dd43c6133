/* layouts_reduce.c: layouts around reductions. An operand's layout fixes its result's: the indices
 * along the dimension become replicas. */
#include <string.h>

#include "ir/reduce.h"
#include "sched/layouts.h"

static uint32_t common(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool is_same_shape(const pg_type_info *a, const pg_type_info *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

pg_enc pg_layouts_for_reduce(pg_layouts *l, const pg_type_info *t, uint32_t n_warps, pg_enc e)
{
    const pg_inst *reduce = NULL;
    for (uint32_t i = 0; i < l->reduces.n && !reduce; i++) {
        const pg_inst *r = l->reduces.at[i];
        if (is_same_shape(pg_val_info(l->k, r->in[0]), t) && pg_inst_warps(r) == n_warps) {
            reduce = r;
        }
    }
    if (!reduce || e.id == 0 || pg_enc_get(l->types, e)->kind != PG_ENC_BLOCKED) {
        return e;
    }
    const uint32_t dim = pg_reduce_of(reduce).dim;
    pg_enc_info info = *pg_enc_get(l->types, e);
    uint32_t left = n_warps;
    for (uint32_t pass = 0; pass < 2; pass++) { /* other dimensions first */
        for (uint32_t d = t->rank; d-- > 0;) {
            if ((d == dim) == (pass == 0)) {
                continue;
            }
            const uint32_t held = (uint32_t)info.regs[d] * info.lanes[d];
            const uint32_t rows = (uint32_t)t->dims[d] / (held == 0 ? 1 : held);
            const uint32_t share = common(left, rows == 0 ? 1 : rows);
            info.warps[d] = (uint16_t)share;
            left /= share;
        }
    }
    info.warps[0] = (uint16_t)(info.warps[0] * left);
    return pg_enc_intern(l->types, &info);
}

static bool layout_of(pg_layouts *l, const pg_inst *at, pg_val v, pg_enc e, pg_layout *out)
{
    const pg_type type = pg_type_with_enc(l->types, pg_val_type(l->k, v), e);
    return pg_layout_of_tile(l->types, type, pg_inst_warps(at), out) == PG_LAYOUT_OK;
}

pg_enc pg_layouts_push(pg_layouts *l, const pg_inst *reduce, pg_enc enc)
{
    pg_layout in, res;
    pg_enc e = {0};
    const pg_reduce r = pg_reduce_of(reduce);
    if (enc.id == 0 || !layout_of(l, reduce, reduce->in[0], enc, &in) ||
        pg_reduce_result(&r, &in, &res) != PG_LAYOUT_OK ||
        pg_layouts_enc_for(l, pg_val_type(l->k, reduce->out[0]), pg_inst_warps(reduce), &res, &e) !=
            PG_LAYOUT_OK) {
        return (pg_enc){0};
    }
    return e;
}

bool pg_layouts_reduces_to(pg_layouts *l, const pg_inst *reduce, pg_enc enc, pg_enc res)
{
    pg_layout in, out;
    pg_reduce_plan plan;
    const pg_reduce r = pg_reduce_of(reduce);
    if (enc.id == 0 || !layout_of(l, reduce, reduce->in[0], enc, &in) ||
        (res.id != 0 && !layout_of(l, reduce, reduce->out[0], res, &out))) {
        return false;
    }
    return pg_reduce_plan_make(&r, &in, res.id != 0 ? &out : NULL, &plan) == PG_LAYOUT_OK;
}

/* ---- an operand's layout from the result's --------------------------------------------------- */

enum { MANY_REGS = 8 }; /* along the dimension: beyond them warps take a share too */

/* The result's bits with the dimension back at 0. */
static void take_bits(const pg_layout *res, uint32_t dim, pg_layout *out)
{
    memcpy(out->n_bits, res->n_bits, sizeof out->n_bits);
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < res->n_bits[d]; b++) {
            uint32_t index[PG_LIN_DIM_COUNT] = {0}, at[PG_MAX_RANK] = {0}, to[PG_MAX_RANK] = {0};
            index[d] = 1u << b;
            pg_layout_at(res, index, at);
            for (uint32_t k = 0; k < out->rank; k++) {
                to[k] = k < dim ? at[k] : k == dim ? 0 : at[k - 1];
            }
            out->basis[d][b] = pg_layout_pack(out, to);
        }
    }
}

/* Bits of an index that are replicas take the next steps along the dimension. */
static void fill_free(pg_layout *out, pg_lin_dim d, uint32_t dim, uint32_t *step)
{
    for (uint32_t b = 0; b < out->n_bits[d] && *step < out->dims[dim]; b++) {
        if (out->basis[d][b] == 0) {
            out->basis[d][b] = *step << out->shift[dim];
            *step *= 2;
        }
    }
}

/* `n` more register bits, below (is_first) or above those there are. */
static bool add_regs(pg_layout *out, uint32_t dim, uint32_t n, bool is_first, uint32_t *step)
{
    uint32_t *basis = out->basis[PG_LIN_REG];
    uint32_t have = out->n_bits[PG_LIN_REG];
    if (have + n > 16) {
        return false;
    }
    if (is_first) {
        memmove(basis + n, basis, have * sizeof *basis);
    }
    for (uint32_t b = 0; b < n; b++, *step *= 2) {
        basis[(is_first ? 0 : have) + b] = *step << out->shift[dim];
    }
    out->n_bits[PG_LIN_REG] = (uint8_t)(have + n);
    return true;
}

pg_enc pg_layouts_spread(pg_layouts *l, const pg_inst *reduce, pg_enc res)
{
    pg_layout from, to;
    pg_enc e = {0};
    const pg_reduce r = pg_reduce_of(reduce);
    const pg_type_info *t = pg_val_info(l->k, reduce->in[0]);
    uint32_t dims[PG_MAX_RANK] = {0}, step = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        dims[d] = (uint32_t)t->dims[d];
    }
    if (r.parts != 0 || !layout_of(l, reduce, reduce->out[0], res, &from) || from.n_outer != 0 ||
        pg_layout_begin(&to, t->rank, dims) != PG_LAYOUT_OK) {
        return e;
    }
    take_bits(&from, r.dim, &to);
    const uint32_t extent = dims[r.dim], vec = l->vec < extent ? l->vec : extent;
    const bool is_row = r.dim + 1 == t->rank;
    if (is_row && !add_regs(&to, r.dim, pg_log2(vec), true, &step)) {
        return e;
    }
    fill_free(&to, PG_LIN_LANE, r.dim, &step);
    if (extent / step > MANY_REGS) {
        fill_free(&to, PG_LIN_WARP, r.dim, &step);
    }
    if (step < extent && !add_regs(&to, r.dim, pg_log2(extent / step), false, &step)) {
        return e;
    }
    if (pg_layout_end(&to) != PG_LAYOUT_OK ||
        pg_layouts_enc_for(l, pg_val_type(l->k, reduce->in[0]), pg_inst_warps(reduce), &to, &e) !=
            PG_LAYOUT_OK) {
        return (pg_enc){0};
    }
    return e;
}
