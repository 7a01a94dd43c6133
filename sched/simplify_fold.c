/* simplify_fold.c: what one pure operation is equal to.
 *
 * R1  All operands constant: the interpreter's own arithmetic (pg_fold_elem), tiles included, since
 *     the elements of a tile constant are equal.
 * R2  Integer identities with a constant or with equal operands: the table identities.
 * R3  Integer division by a power of two: shifts and masks; signed ones only where the dividend is
 *     known not to be negative. Not in launch regions: the manifest prints what stands there.
 * R4  Shape operations of uniform tiles, of each other, and those that change nothing.
 * R5  Casts that widen before another cast; selects; double negation of integers.
 *
 * Float identities are left out: x + 0.0 changes -0.0, x * 1.0 and --x may change a NaN. */
#include "ir/interp.h"
#include "sched/simplify.h"

typedef pg_val (*fold_rule)(pg_simplify *s, pg_inst *i);

static const pg_val nothing = {0};

static const pg_type_info *type_of(const pg_simplify *s, pg_val v)
{
    return pg_val_info(s->k, v);
}

static uint32_t width(const pg_simplify *s, pg_val v)
{
    return pg_elem_infos[type_of(s, v)->elem].bits;
}

static bool same_type(const pg_simplify *s, pg_val a, pg_val b)
{
    return pg_type_eq(pg_val_type(s->k, a), pg_val_type(s->k, b));
}

static pg_val constant(pg_simplify *s, pg_inst *i, uint64_t bits)
{
    return pg_simplify_emit_const(s, i, pg_val_type(s->k, i->out[0]), bits);
}

/* A literal operand as a value of its own: it may not stand wherever the result did. */
static pg_val operand_value(pg_simplify *s, pg_inst *i, pg_val v)
{
    if (!pg_val_is_const(s->k, v)) {
        return v;
    }
    return pg_simplify_emit(s, i, PG_OP_CONST, 1, &v, pg_val_type(s->k, v));
}

/* ---- R1 -------------------------------------------------------------------------------------- */

static pg_val fold_constants(pg_simplify *s, pg_inst *i)
{
    uint64_t in[PG_MAX_IN], out = 0;
    bool is_poison = false;
    if (!(pg_op_infos[i->op].flags & PG_F_ELEM) || i->op == PG_OP_SELECT || i->n_in == 0 ||
        i->n_in > PG_MAX_IN) {
        return nothing;
    }
    for (uint32_t j = 0; j < i->n_in; j++) {
        int64_t x;
        if (type_of(s, i->in[j])->is_ptr || !pg_simplify_const(s, i->in[j], &in[j])) {
            return nothing;
        }
        if (pg_simplify_int(s, i->in[j], &x)) {
            in[j] = (uint64_t)x; /* as pg_value.bits has it */
        }
    }
    if (!pg_fold_elem((pg_op)i->op, &i->attrs, (pg_elem)type_of(s, i->in[0])->elem,
                      (pg_elem)type_of(s, i->out[0])->elem, in, &out, &is_poison) ||
        is_poison) {
        return nothing;
    }
    return constant(s, i, out);
}

/* ---- R2 -------------------------------------------------------------------------------------- */

typedef enum pattern {
    ANY_ZERO, /* x op 0 */
    ANY_ONE,  /* x op 1 */
    ANY_ONES, /* x op -1 */
    ANY_WIDE, /* x op n, n at least the width */
    ZERO_ANY, /* 0 op x */
    ANY_SAME  /* x op x */
} pattern;
typedef enum outcome { GIVES_LEFT, GIVES_ZERO, GIVES_ONES } outcome;

typedef struct identity {
    uint8_t n;
    struct {
        uint8_t pattern, outcome;
    } at[3];
} identity;

static const identity identities[PG_OP_COUNT] = {
    /* clang-format off */
    [PG_OP_IADD]  = {1, {{ANY_ZERO, GIVES_LEFT}}},
    [PG_OP_ISUB]  = {2, {{ANY_ZERO, GIVES_LEFT}, {ANY_SAME, GIVES_ZERO}}},
    [PG_OP_IMUL]  = {2, {{ANY_ONE,  GIVES_LEFT}, {ANY_ZERO, GIVES_ZERO}}},
    [PG_OP_IDIV]  = {2, {{ANY_ONE,  GIVES_LEFT}, {ZERO_ANY, GIVES_ZERO}}},
    [PG_OP_UDIV]  = {2, {{ANY_ONE,  GIVES_LEFT}, {ZERO_ANY, GIVES_ZERO}}},
    [PG_OP_ICDIV] = {2, {{ANY_ONE,  GIVES_LEFT}, {ZERO_ANY, GIVES_ZERO}}},
    [PG_OP_IREM]  = {2, {{ANY_ONE,  GIVES_ZERO}, {ZERO_ANY, GIVES_ZERO}}},
    [PG_OP_UREM]  = {2, {{ANY_ONE,  GIVES_ZERO}, {ZERO_ANY, GIVES_ZERO}}},
    [PG_OP_IMIN]  = {1, {{ANY_SAME, GIVES_LEFT}}},
    [PG_OP_IMAX]  = {1, {{ANY_SAME, GIVES_LEFT}}},
    [PG_OP_UMIN]  = {3, {{ANY_SAME, GIVES_LEFT}, {ANY_ZERO, GIVES_ZERO}, {ANY_ONES, GIVES_LEFT}}},
    [PG_OP_UMAX]  = {3, {{ANY_SAME, GIVES_LEFT}, {ANY_ZERO, GIVES_LEFT}, {ANY_ONES, GIVES_ONES}}},
    [PG_OP_AND]   = {3, {{ANY_ZERO, GIVES_ZERO}, {ANY_ONES, GIVES_LEFT}, {ANY_SAME, GIVES_LEFT}}},
    [PG_OP_OR]    = {3, {{ANY_ZERO, GIVES_LEFT}, {ANY_ONES, GIVES_ONES}, {ANY_SAME, GIVES_LEFT}}},
    [PG_OP_XOR]   = {2, {{ANY_ZERO, GIVES_LEFT}, {ANY_SAME, GIVES_ZERO}}},
    [PG_OP_SHL]   = {3, {{ANY_ZERO, GIVES_LEFT}, {ANY_WIDE, GIVES_ZERO}, {ZERO_ANY, GIVES_ZERO}}},
    [PG_OP_USHR]  = {3, {{ANY_ZERO, GIVES_LEFT}, {ANY_WIDE, GIVES_ZERO}, {ZERO_ANY, GIVES_ZERO}}},
    [PG_OP_ISHR]  = {2, {{ANY_ZERO, GIVES_LEFT}, {ZERO_ANY, GIVES_ZERO}}},
    /* clang-format on */
};

static uint64_t ones(uint32_t bits)
{
    return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

/* The operands of an operation that has identities. */
typedef struct pair {
    bool is_same, has_left, has_right; /* has: it is known */
    uint64_t left, right;
    uint32_t bits;
} pair;

static bool matches(const pair *p, pattern which)
{
    switch (which) {
    case ANY_SAME: return p->is_same;
    case ZERO_ANY: return p->has_left && p->left == 0;
    case ANY_ZERO: return p->has_right && p->right == 0;
    case ANY_ONE: return p->has_right && p->right == 1;
    case ANY_ONES: return p->has_right && p->right == ones(p->bits);
    case ANY_WIDE: return p->has_right && p->right >= p->bits;
    default: return false;
    }
}

static pg_val fold_identity(pg_simplify *s, pg_inst *i)
{
    const identity *id = &identities[i->op];
    if (id->n == 0) {
        return nothing;
    }
    pair p = {.is_same = pg_val_eq(i->in[0], i->in[1]), .bits = width(s, i->out[0])};
    p.has_left = pg_simplify_const(s, i->in[0], &p.left);
    p.has_right = pg_simplify_const(s, i->in[1], &p.right);
    for (uint32_t r = 0; r < id->n; r++) {
        if (!matches(&p, (pattern)id->at[r].pattern)) {
            continue;
        }
        switch ((outcome)id->at[r].outcome) {
        case GIVES_LEFT: return operand_value(s, i, i->in[0]);
        case GIVES_ZERO: return constant(s, i, 0);
        case GIVES_ONES: return constant(s, i, ones(width(s, i->out[0])));
        default: return nothing;
        }
    }
    return nothing;
}

/* Commutative integer operations have their constant on the right, where the rules look. */
static void put_constant_right(pg_simplify *s, pg_inst *i)
{
    uint64_t x;
    if ((pg_op_infos[i->op].flags & PG_F_COMM) && i->n_in == 2 &&
        pg_type_is_int(s->k->module->ctx->types, pg_val_type(s->k, i->out[0])) &&
        pg_simplify_const(s, i->in[0], &x) && !pg_simplify_const(s, i->in[1], &x)) {
        const pg_val left = i->in[0];
        pg_inst_set_in(i, 0, i->in[1]);
        pg_inst_set_in(i, 1, left);
        s->changed = true;
        pg_simplify_take(s, i, 0);
        pg_simplify_take(s, i, 1); /* a literal may fit there */
    }
}

/* x is y: which relations hold for equal operands. */
static pg_val fold_compare(pg_simplify *s, pg_inst *i)
{
    if (!pg_val_eq(i->in[0], i->in[1])) {
        return nothing;
    }
    const int64_t is = pg_attr_int(&i->attrs, PG_A_IS, PG_IS_EQ);
    return constant(s, i, is == PG_IS_EQ || is == PG_IS_LE || is == PG_IS_GE ? 1 : 0);
}

/* ---- R3 -------------------------------------------------------------------------------------- */

/* True only if the signed value is known to be at least 0. Looks `fuel` definitions deep. */
static bool is_non_negative(pg_simplify *s, pg_val v, uint32_t fuel)
{
    int64_t x;
    v = pg_simplify_find(s, v);
    if (pg_simplify_int(s, v, &x)) {
        return x >= 0;
    }
    const pg_value *value = pg_value_of(s->k, v);
    if (fuel == 0 || width(s, v) < 8) {
        return false;
    }
    if (value->kind == PG_V_ARG && value->index == 0 && value->region->owner) {
        const pg_inst *loop = value->region->owner; /* lo <= i < hi when the step goes up */
        return loop->op == PG_OP_FOR && pg_simplify_int(s, loop->in[2], &x) && x > 0 &&
               is_non_negative(s, loop->in[0], fuel - 1);
    }
    if (value->kind != PG_V_RESULT) {
        return false;
    }
    const pg_inst *d = value->def;
    switch (d->op) {
    case PG_OP_PROGRAM_ID:
    case PG_OP_NUM_PROGRAMS:
    case PG_OP_IOTA: return true;
    case PG_OP_SPLAT:
    case PG_OP_BROADCAST:
    case PG_OP_EXPAND:
    case PG_OP_RESHAPE:
    case PG_OP_TRANSPOSE:
    case PG_OP_ISHR:
    case PG_OP_IREM: return is_non_negative(s, d->in[0], fuel - 1);
    case PG_OP_USHR: return pg_simplify_int(s, d->in[1], &x) && x > 0;
    case PG_OP_CAST: /* widening keeps the sign, narrowing may lose it */
        return pg_type_is_int(s->k->module->ctx->types, pg_val_type(s->k, d->in[0])) &&
               width(s, d->in[0]) <= width(s, v) && is_non_negative(s, d->in[0], fuel - 1);
    case PG_OP_IADD:
    case PG_OP_IMUL:
        return pg_attr_has(&d->attrs, PG_A_NW) && is_non_negative(s, d->in[0], fuel - 1) &&
               is_non_negative(s, d->in[1], fuel - 1);
    case PG_OP_IDIV:
    case PG_OP_IMIN:
        return is_non_negative(s, d->in[0], fuel - 1) && is_non_negative(s, d->in[1], fuel - 1);
    case PG_OP_AND:
    case PG_OP_IMAX:
        return is_non_negative(s, d->in[0], fuel - 1) || is_non_negative(s, d->in[1], fuel - 1);
    default: return false;
    }
}

static pg_val shift_right(pg_simplify *s, pg_inst *i, pg_val x, uint32_t by)
{
    const pg_type t = pg_val_type(s->k, i->out[0]);
    const pg_val in[2] = {x, pg_const_int(s->k, t, by)};
    return pg_simplify_emit(s, i, PG_OP_USHR, 2, in, t);
}

static pg_val fold_division(pg_simplify *s, pg_inst *i)
{
    uint64_t d;
    const uint32_t bits = width(s, i->out[0]);
    const bool is_signed = i->op != PG_OP_UDIV && i->op != PG_OP_UREM;
    if (s->is_launch || bits < 8 || !pg_simplify_const(s, i->in[1], &d) || !pg_is_pow2(d) ||
        pg_val_is_const(s->k, i->in[0])) {
        return nothing;
    }
    if (is_signed && (d > ones(bits) >> 1 || !is_non_negative(s, i->in[0], 8))) {
        return nothing;
    }
    const pg_type t = pg_val_type(s->k, i->out[0]);
    const pg_val rest = pg_const_int(s->k, t, (int64_t)(d - 1));
    if (i->op == PG_OP_IREM || i->op == PG_OP_UREM) {
        const pg_val in[2] = {i->in[0], rest};
        return pg_simplify_emit(s, i, PG_OP_AND, 2, in, t);
    }
    if (i->op == PG_OP_ICDIV) { /* x < 2^(bits-1) and d <= 2^(bits-2) + ..: no unsigned overflow */
        const pg_val in[2] = {i->in[0], rest};
        const pg_val sum = pg_simplify_emit(s, i, PG_OP_IADD, 2, in, t);
        return shift_right(s, i, sum, pg_log2(d));
    }
    return shift_right(s, i, i->in[0], pg_log2(d));
}

/* ---- R4 -------------------------------------------------------------------------------------- */

static pg_inst *def_if(const pg_simplify *s, pg_val v, pg_op op)
{
    pg_inst *d = pg_value_of(s->k, v)->kind == PG_V_RESULT ? pg_val_def(s->k, v) : NULL;
    return d && d->op == op ? d : NULL;
}

static pg_val fold_splat(pg_simplify *s, pg_inst *i)
{
    uint64_t bits;
    return pg_simplify_const(s, i->in[0], &bits) ? constant(s, i, bits) : nothing;
}

static pg_val fold_iota(pg_simplify *s, pg_inst *i)
{
    const int64_t dim = pg_attr_int(&i->attrs, PG_A_DIM, 0);
    const pg_type_info *t = type_of(s, i->out[0]);
    return dim >= 0 && dim < t->rank && t->dims[dim] == 1 ? constant(s, i, 0) : nothing;
}

/* Shape operations of a tile whose elements are all equal. */
static pg_val fold_uniform(pg_simplify *s, pg_inst *i)
{
    uint64_t bits;
    if (pg_simplify_const(s, i->in[0], &bits)) {
        return constant(s, i, bits);
    }
    const pg_inst *splat = def_if(s, i->in[0], PG_OP_SPLAT);
    if (splat) {
        return pg_simplify_emit(s, i, PG_OP_SPLAT, 1, splat->in, pg_val_type(s->k, i->out[0]));
    }
    return nothing;
}

static pg_val fold_shape(pg_simplify *s, pg_inst *i)
{
    const pg_val uniform = fold_uniform(s, i);
    if (uniform.id != 0) {
        return uniform;
    }
    if (i->op == PG_OP_EXPAND) {
        return nothing;
    }
    if (same_type(s, i->in[0], i->out[0])) {
        return i->in[0]; /* the same shape: nothing repeats or moves */
    }
    const pg_inst *inner = def_if(s, i->in[0], (pg_op)i->op);
    if (inner) {
        return pg_simplify_emit(s, i, (pg_op)i->op, 1, inner->in, pg_val_type(s->k, i->out[0]));
    }
    return nothing;
}

/* perm[d] of a transpose; false if the attribute is not a full list. */
static bool read_perm(const pg_inst *i, uint32_t rank, int64_t perm[PG_MAX_RANK])
{
    const pg_aval *p = pg_attr_get(&i->attrs, PG_A_PERM);
    if (!p || p->kind != PG_AV_LIST || p->n != rank || rank > PG_MAX_RANK) {
        return false;
    }
    for (uint32_t d = 0; d < rank; d++) {
        perm[d] = p->items[d].num;
        if (perm[d] < 0 || perm[d] >= rank) {
            return false;
        }
    }
    return true;
}

static pg_val transposed(pg_simplify *s, pg_inst *i, pg_val x, const int64_t *perm, uint32_t rank)
{
    pg_aval *items = PG_NEWS(&s->k->module->arena, pg_aval, rank);
    const pg_val out = pg_simplify_emit(s, i, PG_OP_TRANSPOSE, 1, &x, pg_val_type(s->k, i->out[0]));
    if (!items || out.id == 0) {
        s->is_oom = true;
        return nothing;
    }
    for (uint32_t d = 0; d < rank; d++) {
        items[d] = (pg_aval){.kind = PG_AV_INT, .num = perm[d]};
    }
    pg_attr_set(s->k, &pg_val_def(s->k, out)->attrs, PG_A_PERM,
                (pg_aval){.kind = PG_AV_LIST, .n = rank, .items = items});
    return out;
}

static pg_val fold_transpose(pg_simplify *s, pg_inst *i)
{
    const uint32_t rank = type_of(s, i->out[0])->rank;
    int64_t outer[PG_MAX_RANK], inner[PG_MAX_RANK];
    const pg_val uniform = fold_uniform(s, i);
    if (uniform.id != 0) {
        return uniform;
    }
    if (!read_perm(i, rank, outer)) {
        return nothing;
    }
    bool is_identity = same_type(s, i->in[0], i->out[0]);
    for (uint32_t d = 0; d < rank; d++) {
        is_identity = is_identity && outer[d] == d;
    }
    if (is_identity) {
        return i->in[0];
    }
    const pg_inst *first = def_if(s, i->in[0], PG_OP_TRANSPOSE);
    if (!first || !read_perm(first, rank, inner)) {
        return nothing;
    }
    for (uint32_t d = 0; d < rank; d++) {
        outer[d] = inner[outer[d]];
    }
    return transposed(s, i, first->in[0], outer, rank);
}

/* ---- R5 -------------------------------------------------------------------------------------- */

static pg_val fold_select(pg_simplify *s, pg_inst *i)
{
    uint64_t c, x, y;
    if (pg_val_eq(i->in[1], i->in[2])) {
        return operand_value(s, i, i->in[1]);
    }
    if (pg_simplify_const(s, i->in[0], &c)) {
        return operand_value(s, i, i->in[c != 0 ? 1 : 2]);
    }
    if (same_type(s, i->in[0], i->out[0]) && pg_simplify_const(s, i->in[1], &x) &&
        pg_simplify_const(s, i->in[2], &y) && x == 1 && y == 0) {
        return i->in[0];
    }
    return nothing;
}

/* cast(cast(x)): the inner one, if it widens integers with the same sign, hides nothing. */
static pg_val fold_cast(pg_simplify *s, pg_inst *i)
{
    const pg_types *types = s->k->module->ctx->types;
    const pg_type to = pg_val_type(s->k, i->out[0]);
    if (same_type(s, i->in[0], i->out[0])) {
        return i->in[0];
    }
    const pg_inst *inner = def_if(s, i->in[0], (pg_op)i->op);
    if (!inner || !pg_type_is_int(types, pg_val_type(s->k, inner->in[0])) ||
        !pg_type_is_int(types, pg_val_type(s->k, i->in[0])) ||
        width(s, inner->in[0]) > width(s, i->in[0]) || width(s, i->in[0]) == 1 ||
        width(s, i->out[0]) == 1 || pg_val_is_const(s->k, inner->in[0])) {
        return nothing;
    }
    if (pg_type_eq(pg_val_type(s->k, inner->in[0]), to)) {
        return inner->in[0];
    }
    return pg_simplify_emit(s, i, (pg_op)i->op, 1, inner->in, to);
}

static pg_val fold_negation(pg_simplify *s, pg_inst *i)
{
    const pg_inst *inner = def_if(s, i->in[0], PG_OP_INEG);
    return inner && !pg_val_is_const(s->k, inner->in[0]) ? inner->in[0] : nothing;
}

static pg_val fold_abs(pg_simplify *s, pg_inst *i)
{
    return is_non_negative(s, i->in[0], 8) ? operand_value(s, i, i->in[0]) : nothing;
}

static pg_val fold_addptr(pg_simplify *s, pg_inst *i)
{
    uint64_t x;
    return same_type(s, i->in[0], i->out[0]) && pg_simplify_const(s, i->in[1], &x) && x == 0
               ? i->in[0]
               : nothing;
}

static const fold_rule rules[PG_OP_COUNT] = {
    [PG_OP_SPLAT] = fold_splat,   [PG_OP_IOTA] = fold_iota,      [PG_OP_BROADCAST] = fold_shape,
    [PG_OP_EXPAND] = fold_shape,  [PG_OP_RESHAPE] = fold_shape,  [PG_OP_TRANSPOSE] = fold_transpose,
    [PG_OP_IDIV] = fold_division, [PG_OP_UDIV] = fold_division,  [PG_OP_IREM] = fold_division,
    [PG_OP_UREM] = fold_division, [PG_OP_ICDIV] = fold_division, [PG_OP_INEG] = fold_negation,
    [PG_OP_IABS] = fold_abs,      [PG_OP_ICMP] = fold_compare,   [PG_OP_UCMP] = fold_compare,
    [PG_OP_SELECT] = fold_select, [PG_OP_CAST] = fold_cast,      [PG_OP_UCAST] = fold_cast,
    [PG_OP_ADDPTR] = fold_addptr,
};

pg_val pg_simplify_fold(pg_simplify *s, pg_inst *i)
{
    if (i->n_out != 1 || i->op == PG_OP_CONST) {
        return nothing;
    }
    pg_val v = nothing;
    bool may_fold = i->n_in == 2 && pg_val_eq(i->in[0], i->in[1]); /* R1, R2 */
    for (uint32_t j = 0; j < i->n_in && !may_fold; j++) {
        may_fold = pg_simplify_literal(s, i->in[j]).id != 0;
    }
    if (may_fold) {
        v = fold_constants(s, i);
    }
    if (may_fold && v.id == 0) {
        put_constant_right(s, i);
        v = fold_identity(s, i);
    }
    return v.id == 0 && rules[i->op] != NULL ? rules[i->op](s, i) : v;
}
