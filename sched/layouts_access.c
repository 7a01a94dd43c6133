/* layouts_access.c: what an access to global memory costs in a layout, and what going over to
 * another layout costs. Estimates only: they choose between layouts that are all right.
 *
 * An access counts, for one warp, its instructions, the 128-byte lines that each touches, and half
 * of the 32-byte sectors that go to or from the next cache: of loads each sector once, of stores
 * for each instruction. A conversion counts what ir/convert.h says. The unit is about an issue
 * slot. */
#include <string.h>

#include "ir/convert.h"
#include "sched/layouts.h"

enum { MAX_DEPTH = 24, MAX_NODES = 512, LANES = 32, SECTOR = 32, LINE = 128, FAR_COST = 8 };
enum { MARGIN = 32 }; /* what a copy must save, and an eighth: it takes registers and memory */
#define FAR INT64_MIN /* a step that is no constant */

/* ---- steps of addresses ---------------------------------------------------------------------- */

typedef struct steps {
    int64_t at[PG_MAX_RANK]; /* what the next element along each dimension adds; FAR */
} steps;

typedef struct finder {
    const pg_layouts *l;
    uint32_t n_nodes;
} finder;

static steps find(finder *f, pg_val v, uint32_t depth);

static steps far_away(const pg_type_info *t)
{
    steps s = {{0}};
    for (uint32_t d = 0; d < t->rank; d++) {
        s.at[d] = t->dims[d] > 1 ? FAR : 0;
    }
    return s;
}

static steps sum(steps a, steps b, int64_t sign)
{
    for (uint32_t d = 0; d < PG_MAX_RANK; d++) {
        a.at[d] = a.at[d] == FAR || b.at[d] == FAR ? FAR : a.at[d] + sign * b.at[d];
    }
    return a;
}

/* Value of an integer literal, or of a tile filled with it. */
static bool is_constant(const pg_layouts *l, pg_val v, int64_t *out)
{
    const pg_inst *def = pg_val_def(l->k, v);
    if (def != NULL && (def->op == PG_OP_SPLAT || def->op == PG_OP_CONST)) {
        v = def->in[0];
    }
    const pg_value *value = pg_value_of(l->k, v);
    *out = value->kind == PG_V_CONST ? (int64_t)value->bits : 0;
    return value->kind == PG_V_CONST && *out < 1 << 30 && *out > -(1 << 30);
}

static steps product(finder *f, const pg_inst *i, uint32_t depth)
{
    int64_t x = 0;
    const uint32_t other = is_constant(f->l, i->in[0], &x) ? 1 : 0;
    const bool has_factor = other == 1 || is_constant(f->l, i->in[1], &x);
    steps s = find(f, i->in[other], depth);
    const steps t = has_factor ? (steps){{0}} : find(f, i->in[1], depth);
    for (uint32_t d = 0; d < PG_MAX_RANK; d++) {
        const bool is_even = s.at[d] == 0 && t.at[d] == 0;
        s.at[d] = is_even ? 0 : !has_factor || s.at[d] == FAR ? FAR : s.at[d] * x;
    }
    return s;
}

static steps reshaped(const pg_type_info *from, const pg_type_info *to, steps s)
{
    steps out = far_away(to);
    uint32_t a = 0, b = 0;
    for (;; a++, b++) {
        while (a < from->rank && from->dims[a] == 1) {
            a++;
        }
        while (b < to->rank && to->dims[b] == 1) {
            b++;
        }
        if (a == from->rank || b == to->rank || from->dims[a] != to->dims[b]) {
            return out;
        }
        out.at[b] = s.at[a];
    }
}

static steps of_shape_op(finder *f, const pg_inst *i, uint32_t depth)
{
    const pg_type_info *from = pg_val_info(f->l->k, i->in[0]),
                       *to = pg_val_info(f->l->k, i->out[0]);
    const steps s = find(f, i->in[0], depth);
    const pg_aval *p = pg_attr_get(&i->attrs, PG_A_PERM);
    steps out = {{0}};
    const uint32_t dim = (uint32_t)pg_attr_int(&i->attrs, PG_A_DIM, 0);
    for (uint32_t d = 0; d < to->rank; d++) {
        switch (i->op) {
        case PG_OP_BROADCAST: out.at[d] = from->dims[d] == 1 ? 0 : s.at[d]; break;
        case PG_OP_EXPAND: out.at[d] = d == dim ? 0 : s.at[d - (d > dim)]; break;
        case PG_OP_TRANSPOSE:
            out.at[d] = p != NULL && d < p->n ? s.at[p->items[d].num % PG_MAX_RANK] : FAR;
            break;
        default: return reshaped(from, to, s);
        }
    }
    return out;
}

static steps of_operation(finder *f, const pg_inst *i, uint32_t depth)
{
    const pg_type_info *t = pg_val_info(f->l->k, i->out[0]);
    steps s = {{0}};
    switch (i->op) {
    case PG_OP_SPLAT:
    case PG_OP_CONST: return s;
    case PG_OP_IOTA: s.at[pg_attr_int(&i->attrs, PG_A_DIM, 0) % PG_MAX_RANK] = 1; return s;
    case PG_OP_IADD:
    case PG_OP_ADDPTR:
    case PG_OP_ISUB:
        s = find(f, i->in[0], depth);
        return sum(s, find(f, i->in[1], depth), i->op == PG_OP_ISUB ? -1 : 1);
    case PG_OP_IMUL: return product(f, i, depth);
    case PG_OP_CAST:
    case PG_OP_UCAST:
    case PG_OP_COPY: return find(f, i->in[0], depth);
    default: break;
    }
    if ((pg_op_infos[i->op].flags & PG_F_SHAPE) != 0) {
        return of_shape_op(f, i, depth);
    }
    if ((pg_op_infos[i->op].flags & PG_F_ELEM) == 0) {
        return far_away(t);
    }
    for (uint32_t j = 0; j < i->n_in; j++) { /* even operands give an even result */
        const steps in = find(f, i->in[j], depth);
        for (uint32_t d = 0; d < t->rank; d++) {
            s.at[d] = in.at[d] != 0 ? FAR : s.at[d];
        }
    }
    return s;
}

static steps find(finder *f, pg_val v, uint32_t depth)
{
    const pg_type_info *t = pg_val_info(f->l->k, v);
    const pg_value *value = pg_value_of(f->l->k, v);
    if (t->kind != PG_TY_TILE || value->kind == PG_V_CONST) {
        return (steps){{0}};
    }
    if (depth == 0 || f->n_nodes++ > MAX_NODES) {
        return far_away(t);
    }
    if (value->kind == PG_V_RESULT && value->def->n_out == 1 && value->def->n_regions == 0) {
        return of_operation(f, value->def, depth - 1);
    }
    if (value->kind == PG_V_ARG && value->region->owner != NULL &&
        value->region->owner->op == PG_OP_FOR && value->index > 0) {
        return find(f, value->region->owner->in[2 + value->index], depth - 1); /* as it began */
    }
    return far_away(t);
}

/* ---- what divides them ----------------------------------------------------------------------- */

enum { ALL = 16 }; /* log2 of what is enough */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t divisor_of_param(const pg_layouts *l, pg_val v)
{
    for (uint32_t p = 0; p < l->k->n_params; p++) {
        const pg_attrs *attrs = &l->k->params[p].attrs;
        const pg_type_info *t = pg_val_info(l->k, v);
        if (l->k->params[p].val.id == v.id) {
            const uint64_t bytes = (uint64_t)pg_elem_infos[t->elem].bits / 8;
            const uint64_t n =
                t->is_ptr ? (uint64_t)pg_attr_int(attrs, PG_A_ALIGN, 1) / (bytes == 0 ? 1 : bytes)
                          : (uint64_t)pg_attr_int(attrs, PG_A_DIV, 1);
            return n == 0 ? 0 : pg_ctz(n);
        }
    }
    return 0;
}

/* log2 of a power of two that divides v (a pointer: in elements) where the index along `dim` is 0.
 */
static uint32_t divisor(finder *f, pg_val v, uint32_t dim, uint32_t depth)
{
    const pg_value *value = pg_value_of(f->l->k, v);
    if (value->kind == PG_V_CONST) {
        return value->bits == 0 ? ALL : least(pg_ctz(value->bits), ALL);
    }
    if (value->kind == PG_V_PARAM) {
        return divisor_of_param(f->l, v);
    }
    if (value->kind == PG_V_ARG && value->region->owner != NULL &&
        value->region->owner->op == PG_OP_FOR && depth > 0 && f->n_nodes++ < MAX_NODES) {
        const pg_inst *loop = value->region->owner; /* a carried value: as it began */
        const uint32_t first =
            divisor(f, loop->in[value->index == 0 ? 0 : 2 + value->index], dim, depth - 1);
        return value->index == 0 ? least(first, divisor(f, loop->in[2], dim, depth - 1)) : first;
    }
    if (value->kind != PG_V_RESULT || depth == 0 || f->n_nodes++ > MAX_NODES) {
        return 0;
    }
    const pg_inst *i = value->def;
    uint32_t first = 0;
    switch (i->op) {
    case PG_OP_IOTA: return pg_attr_int(&i->attrs, PG_A_DIM, 0) == dim ? ALL : 0;
    case PG_OP_IADD:
    case PG_OP_ISUB:
    case PG_OP_ADDPTR:
        first = divisor(f, i->in[0], dim, depth - 1);
        return least(first, divisor(f, i->in[1], dim, depth - 1));
    case PG_OP_IMUL:
        first = divisor(f, i->in[0], dim, depth - 1);
        return least(first + divisor(f, i->in[1], dim, depth - 1), ALL);
    case PG_OP_SPLAT:
    case PG_OP_CONST:
    case PG_OP_CAST:
    case PG_OP_UCAST:
    case PG_OP_COPY:
    case PG_OP_BROADCAST: return divisor(f, i->in[0], dim, depth - 1);
    case PG_OP_EXPAND: {
        const uint32_t new_dim = (uint32_t)pg_attr_int(&i->attrs, PG_A_DIM, 0);
        return divisor(f, i->in[0],
                       dim > new_dim    ? dim - 1
                       : dim == new_dim ? PG_MAX_RANK
                                        : dim,
                       depth - 1);
    }
    case PG_OP_TRANSPOSE: {
        const pg_aval *p = pg_attr_get(&i->attrs, PG_A_PERM);
        return p != NULL && dim < p->n
                   ? divisor(f, i->in[0], (uint32_t)p->items[dim].num, depth - 1)
                   : 0;
    }
    default: return 0;
    }
}

/* ---- cost of an access ----------------------------------------------------------------------- */

/* log2 of the consecutive registers whose elements lie side by side along `dim`. */
static uint32_t vector_log2(const pg_layout *l, uint32_t dim, uint32_t most)
{
    uint32_t n = 0;
    while (n < most && n < l->n_bits[PG_LIN_REG] &&
           l->basis[PG_LIN_REG][n] == 1u << n << l->shift[dim]) {
        n++;
    }
    return n;
}

enum { MAX_PIECES = 256 }; /* of `size` bytes that an estimate tells apart */

typedef struct pieces {
    uint32_t n, size;
    int64_t at[MAX_PIECES];
} pieces;

static void touch(pieces *p, int64_t from, int64_t to)
{
    for (int64_t at = from / p->size; at <= to / p->size; at++) {
        bool is_known = false;
        for (uint32_t i = p->n; i > 0 && !is_known; i--) {
            is_known = p->at[i - 1] == at;
        }
        if (!is_known && p->n < MAX_PIECES) {
            p->at[p->n++] = at;
        }
    }
}

/* What warp 0 touches by the instruction that begins at a register. */
static void touch_all(const pg_layout *l, const steps *s, uint32_t reg, uint32_t bytes,
                      uint32_t size, pieces *out)
{
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint32_t index[PG_LIN_DIM_COUNT] = {0}, coord[PG_MAX_RANK] = {0};
        int64_t at = 0;
        index[PG_LIN_REG] = reg;
        index[PG_LIN_LANE] = lane;
        pg_layout_at(l, index, coord);
        for (uint32_t d = 0; d < l->rank; d++) {
            const int64_t step = s->at[d] == FAR ? INT64_C(16384) << d : s->at[d];
            at += step * (s->at[d] == FAR ? 1 : bytes) * coord[d];
        }
        touch(out, at, at + size - 1);
    }
}

/* Addresses of a thread that no constant leads to from another one: each is computed, or held in
 * two registers. */
static uint32_t far_places(const pg_layout *l, const steps *s)
{
    uint32_t n_bits = 0;
    for (uint32_t b = 0; b < l->n_bits[PG_LIN_REG]; b++) {
        uint32_t index[PG_LIN_DIM_COUNT] = {0}, coord[PG_MAX_RANK] = {0};
        bool is_far = false;
        index[PG_LIN_REG] = 1u << b;
        pg_layout_at(l, index, coord);
        for (uint32_t d = 0; d < l->rank; d++) {
            is_far = is_far || (s->at[d] == FAR && coord[d] != 0);
        }
        n_bits += is_far;
    }
    return 1u << n_bits;
}

/* The dimension along which elements lie side by side; the last one if there is none. */
static uint32_t fast_dim(const pg_type_info *t, const steps *s)
{
    for (uint32_t d = t->rank; d-- > 0;) {
        if (s->at[d] == 1 && t->dims[d] > 1) {
            return d;
        }
    }
    return t->rank - 1u;
}

/* An access: where elements lie, along which dimension, and how many at most go together. */
typedef struct access {
    steps s;
    uint32_t dim, bytes, vec_log2;
} access;

static access access_of(const pg_layouts *l, const pg_inst *i)
{
    finder f = {.l = l}, g = {.l = l};
    const pg_type_info *t = pg_val_info(l->k, i->op == PG_OP_LOAD ? i->out[0] : i->in[1]);
    const uint32_t bits = t->is_ptr ? 64 : pg_elem_infos[t->elem].bits;
    access a = {.s = find(&f, i->in[0], MAX_DEPTH), .bytes = bits < 8 ? 1 : bits / 8};
    a.dim = fast_dim(t, &a.s);
    if (a.s.at[a.dim] == 1) {
        a.vec_log2 = least(pg_log2(16 / a.bytes), divisor(&g, i->in[0], a.dim, MAX_DEPTH));
    }
    return a;
}

static uint32_t cost_of(const access *a, const pg_layout *l, bool is_load)
{
    const steps *s = &a->s;
    const uint32_t dim = a->dim, bytes = a->bytes, most = a->vec_log2;
    const uint32_t n_vec = vector_log2(l, dim, most);
    const uint32_t n_free = pg_popcount(pg_layout_free_bits(l, PG_LIN_REG));
    const uint32_t n = pg_layout_size(l, PG_LIN_REG) >> n_free >> n_vec;
    const uint32_t size = bytes << n_vec, n_inst = n == 0 ? 1 : n;
    pieces lines = {.size = LINE}, sectors = {.size = SECTOR};
    touch_all(l, s, 0, bytes, size, &lines);
    touch_all(l, s, 0, bytes, size, &sectors);
    /* Loads of the next registers find in the cache what this one brought. */
    uint32_t n_sectors = sectors.n * n_inst;
    if (is_load) {
        pieces all = {.size = SECTOR};
        for (uint32_t b = 0; b < n_inst && all.n < MAX_PIECES; b++) {
            touch_all(l, s, b << n_vec, bytes, size, &all);
        }
        n_sectors = all.n < MAX_PIECES && all.n < n_sectors ? all.n : n_sectors;
    }
    return n_inst * (1 + lines.n) + n_sectors / 2 + far_places(l, s) * FAR_COST;
}

typedef struct known_cost {
    access of;
    uint32_t cost;
} known_cost;

static bool is_same_access(const access *a, const access *b)
{
    bool is_same = a->dim == b->dim && a->bytes == b->bytes && a->vec_log2 == b->vec_log2;
    for (uint32_t d = 0; d < PG_MAX_RANK && is_same; d++) {
        is_same = a->s.at[d] == b->s.at[d];
    }
    return is_same;
}

static bool access_cost(pg_layouts *l, const pg_inst *i, const access *a, pg_enc e, uint32_t *out)
{
    pg_layout layout;
    const bool is_load = i->op == PG_OP_LOAD;
    const uint32_t n_warps = pg_inst_warps(i);
    const pg_type type =
        pg_type_with_enc(l->types, pg_val_type(l->k, is_load ? i->out[0] : i->in[1]), e);
    if (e.id == 0 || pg_layout_of_tile(l->types, type, n_warps, &layout) != PG_LAYOUT_OK) {
        return false;
    }
    uint64_t hash = a->dim;
    for (uint32_t d = 0; d < PG_MAX_RANK; d++) {
        hash = pg_hash_mix(hash, (uint64_t)a->s.at[d]);
    }
    const pg_memo_key key = {
        PG_MEMO_ACCESS,
        {type.id, n_warps << 1 | is_load, a->bytes << 8 | a->vec_log2, (uint32_t)hash}};
    const known_cost *known = pg_memo_get(l->types, &key);
    if (known != NULL && is_same_access(&known->of, a)) {
        *out = known->cost;
        return true;
    }
    *out = cost_of(a, &layout, is_load);
    if (known == NULL) {
        const known_cost made = {*a, *out};
        pg_memo_put(l->types, &key, &made, sizeof made);
    }
    return true;
}

/* The default of the tile with the contiguous dimension last, turned back; id 0: none is. */
static pg_enc own_layout(pg_layouts *l, const pg_inst *i, const access *a)
{
    const pg_type type = pg_val_type(l->k, i->op == PG_OP_LOAD ? i->out[0] : i->in[1]);
    const pg_type_info *t = pg_type_get(l->types, type);
    const uint32_t n_warps = pg_inst_warps(i);
    int32_t dims[PG_MAX_RANK] = {0};
    uint8_t place[PG_MAX_RANK] = {0}; /* of the turned tile's dimensions in the tile */
    uint32_t n = 0;
    if (a->s.at[a->dim] != 1) {
        return (pg_enc){0};
    }
    for (uint32_t d = 0; d < t->rank; d++) {
        if (d != a->dim) {
            place[n++] = (uint8_t)d;
        }
    }
    place[n++] = (uint8_t)a->dim;
    for (uint32_t d = 0; d < n; d++) {
        dims[d] = t->dims[place[d]];
    }
    const pg_enc plain = pg_enc_default(l->types, n, dims, n_warps, 1u << a->vec_log2);
    const pg_enc_info *turned = pg_enc_get(l->types, plain);
    pg_enc_info e = *turned;
    for (uint32_t d = 0; d < n; d++) {
        e.order[d] = place[turned->order[d]];
        e.regs[place[d]] = turned->regs[d];
        e.lanes[place[d]] = turned->lanes[d];
        e.warps[place[d]] = turned->warps[d];
    }
    pg_layout layout;
    const pg_enc blocked = pg_enc_intern(l->types, &e);
    pg_enc out = blocked;
    if (blocked.id == 0 || pg_layout_of_tile(l->types, pg_type_with_enc(l->types, type, blocked),
                                             n_warps, &layout) != PG_LAYOUT_OK) {
        return (pg_enc){0};
    }
    return pg_layouts_enc_for(l, type, n_warps, &layout, &out) == PG_LAYOUT_OK ? out : blocked;
}

static bool copy_cost(pg_layouts *l, const pg_inst *at, pg_type tile, pg_enc from, pg_enc to,
                      uint32_t *out)
{
    pg_convert_plan plan;
    const pg_type before = pg_type_with_enc(l->types, tile, from);
    const pg_type after = pg_type_with_enc(l->types, tile, to);
    if (pg_convert_of_types(l->types, before, after, pg_inst_warps(at),
                            pg_convert_flags(l->k->module->sm), &plan) != PG_LAYOUT_OK) {
        return false;
    }
    *out = plan.cost;
    return true;
}

pg_enc pg_layouts_pays(pg_layouts *l, const pg_inst *i, pg_enc e)
{
    uint32_t as_is = 0, better = 0, copy = 0;
    const bool is_load = i->op == PG_OP_LOAD;
    const pg_type type = pg_val_type(l->k, is_load ? i->out[0] : i->in[1]);
    const access a = access_of(l, i);
    const pg_enc own = own_layout(l, i, &a);
    if (own.id == 0 || pg_enc_eq(own, e) || !access_cost(l, i, &a, e, &as_is) ||
        !access_cost(l, i, &a, own, &better) || better >= as_is ||
        !copy_cost(l, i, type, is_load ? own : e, is_load ? e : own, &copy) ||
        better + copy + MARGIN + as_is / 8 > as_is) {
        return (pg_enc){0};
    }
    pg_pass_explain(l->env, "layouts", l->k, i,
                    "%u slots of a warp in #%s; %u in #%s, and %u for a copy", as_is,
                    pg_layouts_enc_text(l, e).ptr, better, pg_layouts_enc_text(l, own).ptr, copy);
    return own;
}

pg_enc pg_layouts_better(pg_layouts *l, const pg_inst *store)
{
    uint32_t cost[2] = {0, 0};
    if (l->reduces.n != 0 || pg_val_info(l->k, store->in[1])->rank < 2) {
        return (pg_enc){0}; /* the default heeds reductions; rows of one dimension are its case */
    }
    const access a = access_of(l, store);
    const pg_enc own = own_layout(l, store, &a);
    const pg_enc plain = pg_layouts_peek_default(l, store, pg_val_type(l->k, store->in[1]));
    if (own.id == 0 || pg_enc_eq(own, plain) || !access_cost(l, store, &a, own, &cost[0]) ||
        !access_cost(l, store, &a, plain, &cost[1]) || cost[0] + cost[0] / 8 >= cost[1]) {
        return (pg_enc){0};
    }
    pg_pass_explain(l->env, "layouts", l->k, store, "%u slots of a warp by default; %u in #%s",
                    cost[1], cost[0], pg_layouts_enc_text(l, own).ptr);
    return own;
}
