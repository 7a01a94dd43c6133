/* reduce.c: layouts of the operand and result of `reduce`. A bit of an index moves either along the
 * elements that are combined, or among results, never both. */
#include "ir/reduce.h"

#include <string.h>

pg_reduce pg_reduce_of(const pg_inst *i)
{
    pg_reduce r = {.op = pg_attr_int(&i->attrs, PG_A_OP, PG_REDUCE_SUM), .span = 1};
    int64_t dim = pg_attr_int(&i->attrs, PG_A_DIM, 0);
    int64_t parts = pg_attr_int(&i->attrs, PG_A_PARTS, 0);
    int64_t span = pg_attr_int(&i->attrs, PG_A_SPAN, 1);
    r.dim = dim < 0 || dim >= PG_MAX_RANK ? PG_MAX_RANK : (uint32_t)dim;
    r.parts = parts < 0 || parts > INT32_MAX ? UINT32_MAX : (uint32_t)parts;
    r.span = span < 1 || span > INT32_MAX ? UINT32_MAX : (uint32_t)span;
    return r;
}

void pg_reduce_project(const pg_reduce *r, uint32_t rank, const uint32_t *at, uint32_t *to)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < rank; d++) {
        if (d != r->dim) {
            to[n++] = at[d];
        } else if (r->parts != 0) {
            to[n++] = at[d] / r->span % r->parts;
        }
    }
}

/* ---- vectors over GF(2) --------------------------------------------------------------------- */

typedef struct span_set {
    uint32_t n, at[32]; /* reduced: each has a highest bit of its own */
} span_set;

static uint32_t rest_of(const span_set *s, uint32_t x)
{
    for (uint32_t i = 0; i < s->n; i++) {
        x = (x ^ s->at[i]) < x ? x ^ s->at[i] : x;
    }
    return x;
}

static void span_add(span_set *s, uint32_t x)
{
    x = rest_of(s, x);
    if (x != 0 && s->n < 32) {
        s->at[s->n++] = x;
    }
}

/* ---- the plan ------------------------------------------------------------------------------- */

typedef struct walker {
    const pg_reduce *r;
    const pg_layout *in, *res;
    span_set along; /* positions along the dimension that one thread has */
    span_set kept;  /* packed coordinates of results that one thread has */
    uint32_t n_shared;
} walker;

static bool is_linear(const pg_layout *l)
{
    for (uint32_t i = 0; i < l->n_outer; i++) {
        if (l->outer[i].stride != 0) {
            return false;
        }
    }
    return true;
}

static void coord_of_bit(const pg_layout *l, uint32_t dim, uint32_t bit, uint32_t *at)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    memset(at, 0, PG_MAX_RANK * sizeof *at);
    if (bit < l->n_bits[dim]) {
        index[dim] = 1u << bit;
        pg_layout_at(l, index, at);
    }
}

static uint32_t pack_result(const walker *w, const uint32_t *at)
{
    return w->res != NULL ? pg_layout_pack(w->res, at) : 0;
}

/* One bit of an index of the operand. */
static pg_layout_error visit_bit(walker *w, uint32_t dim, uint32_t bit, bool *is_along)
{
    uint32_t at[PG_MAX_RANK], to[PG_MAX_RANK] = {0}, have[PG_MAX_RANK];
    uint32_t all = 0;
    coord_of_bit(w->in, dim, bit, at);
    pg_reduce_project(w->r, w->in->rank, at, to);
    for (uint32_t d = 0; d < PG_MAX_RANK; d++) {
        all |= to[d];
    }
    uint32_t own = at[w->r->dim];
    uint32_t outside =
        w->r->parts == 0 ? own : own & ~((w->r->parts - 1) * w->r->span); /* both powers of two */
    *is_along = all == 0 && outside != 0;
    if (all != 0 && outside != 0) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    if (dim == PG_LIN_REG) {
        if (*is_along) {
            span_add(&w->along, outside);
        } else {
            span_add(&w->kept, pack_result(w, to));
        }
        return PG_LAYOUT_OK;
    }
    w->n_shared += *is_along ? 1 : 0;
    if (w->res != NULL) {
        coord_of_bit(w->res, dim, bit, have);
        if (pack_result(w, have) != pack_result(w, to)) {
            return PG_LAYOUT_SHAPE;
        }
    }
    return PG_LAYOUT_OK;
}

/* What a thread has of the result it must have of the operand; other bits stay within it. */
static bool result_is_there(const walker *w)
{
    for (uint32_t dim = PG_LIN_REG; w->res != NULL && dim <= PG_LIN_WARP; dim++) {
        uint32_t first = dim == PG_LIN_REG ? 0 : w->in->n_bits[dim];
        for (uint32_t b = first; b < w->res->n_bits[dim]; b++) {
            uint32_t at[PG_MAX_RANK];
            coord_of_bit(w->res, dim, b, at);
            uint32_t packed = pack_result(w, at);
            if (dim == PG_LIN_REG ? rest_of(&w->kept, packed) != 0 : packed != 0) {
                return false;
            }
        }
    }
    return true;
}

pg_layout_error pg_reduce_plan_make(const pg_reduce *r, const pg_layout *in, const pg_layout *res,
                                    pg_reduce_plan *out)
{
    walker w = {.r = r, .in = in, .res = res};
    *out = (pg_reduce_plan){0};
    if (r->dim >= in->rank || (r->parts != 0 && !pg_is_pow2(r->parts)) || !pg_is_pow2(r->span) ||
        !pg_is_pow2(in->dims[r->dim])) {
        return PG_LAYOUT_SHAPE;
    }
    if (!is_linear(in) || (res != NULL && !is_linear(res))) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    for (uint32_t dim = PG_LIN_REG; dim <= PG_LIN_WARP; dim++) {
        for (uint32_t b = 0; b < in->n_bits[dim]; b++) {
            bool is_along = false;
            pg_layout_error error = visit_bit(&w, dim, b, &is_along);
            if (error != PG_LAYOUT_OK) {
                return error;
            }
            out->lanes |= is_along && dim == PG_LIN_LANE ? 1u << b : 0;
            out->warps |= is_along && dim == PG_LIN_WARP ? 1u << b : 0;
        }
    }
    uint32_t want = pg_log2(in->dims[r->dim]) - (r->parts != 0 ? pg_log2(r->parts) : 0);
    if (w.along.n + w.n_shared != want) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    return result_is_there(&w) ? PG_LAYOUT_OK : PG_LAYOUT_SHAPE;
}

pg_layout_error pg_reduce_result(const pg_reduce *r, const pg_layout *in, pg_layout *out)
{
    uint32_t dims[PG_MAX_RANK] = {0};
    uint32_t extents[PG_MAX_RANK];
    memcpy(extents, in->dims, sizeof extents);
    if (r->dim >= in->rank || (r->parts == 0 && in->rank < 2)) {
        return PG_LAYOUT_SHAPE;
    }
    if (r->parts != 0) {
        extents[r->dim] = r->parts;
        memcpy(dims, extents, sizeof dims);
    } else {
        pg_reduce_project(r, in->rank, extents, dims);
    }
    pg_layout_error error = pg_layout_begin(out, in->rank - (r->parts == 0 ? 1u : 0u), dims);
    if (error != PG_LAYOUT_OK) {
        return error;
    }
    if (!is_linear(in)) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    memcpy(out->n_bits, in->n_bits, sizeof out->n_bits);
    out->n_outer = in->n_outer; /* replicas */
    memcpy(out->outer, in->outer, sizeof out->outer);
    for (uint32_t i = 0; i < out->n_outer; i++) {
        out->outer[i].out_dim = 0;
    }
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < in->n_bits[d]; b++) {
            uint32_t at[PG_MAX_RANK], to[PG_MAX_RANK] = {0};
            coord_of_bit(in, d, b, at);
            pg_reduce_project(r, in->rank, at, to);
            out->basis[d][b] = pg_layout_pack(out, to);
        }
    }
    return pg_layout_end(out);
}
