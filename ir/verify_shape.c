/* verify_shape.c: what the table cannot say of tile operations: shapes that belong together,
 * bounds, literals. */
#include "ir/convert.h"
#include "ir/layout_back.h"
#include "ir/reduce.h"
#include "ir/verify.h"

enum { PIPELINED = 2, SYNCED = 4 }; /* PG_PROP_* of sched/pass.h */

typedef struct shapes { /* of the first operand and the first result */
    const pg_inst *i;
    pg_type in_type, out_type;
    const pg_type_info *in, *out;
} shapes;

static void bad_shape(pg_verifier *v, const shapes *s, const char *rule)
{
    pg_verify_error(v, PG_D_SHAPE, s->i->loc, pg_verify_op_text(s->i),
                    pg_verify_type_text(v, s->in_type), pg_verify_type_text(v, s->out_type), rule);
}

static bool same_elem(const shapes *s)
{
    return s->in->elem == s->out->elem && s->in->is_ptr == s->out->is_ptr;
}

static void check_broadcast(pg_verifier *v, const shapes *s)
{
    bool is_good = same_elem(s) && s->in->rank == s->out->rank;
    for (uint32_t d = 0; is_good && d < s->in->rank; d++) {
        is_good = s->in->dims[d] == s->out->dims[d] || s->in->dims[d] == 1;
    }
    if (!is_good) {
        bad_shape(v, s, "same element and rank, and extents that are equal or 1 before");
    }
}

static void check_expand(pg_verifier *v, const shapes *s)
{
    int64_t at = pg_attr_int(&s->i->attrs, PG_A_DIM, 0);
    bool is_good = same_elem(s) && s->in->rank + 1u == s->out->rank && at >= 0 &&
                   at < s->out->rank && s->out->dims[at < PG_MAX_RANK ? at : 0] == 1;
    for (uint32_t d = 0; is_good && d < s->in->rank; d++) {
        is_good = s->in->dims[d] == s->out->dims[d < at ? d : d + 1];
    }
    if (!is_good) {
        bad_shape(v, s, "the same tile with an extent of 1 more, at `dim`");
    }
}

static void check_reshape(pg_verifier *v, const shapes *s)
{
    if (!same_elem(s) ||
        pg_type_n_elems(v->types, s->in_type) != pg_type_n_elems(v->types, s->out_type)) {
        bad_shape(v, s, "same element, and as many of them");
    }
}

static void check_transpose(pg_verifier *v, const shapes *s)
{
    const pg_aval *perm = pg_attr_get(&s->i->attrs, PG_A_PERM);
    uint32_t seen = 0;
    bool is_good = same_elem(s) && s->in->rank == s->out->rank && perm != NULL &&
                   perm->kind == PG_AV_LIST && perm->n == s->in->rank;
    for (uint32_t d = 0; is_good && d < s->in->rank; d++) {
        int64_t from = perm->items[d].num;
        is_good = perm->items[d].kind == PG_AV_INT && from >= 0 && from < s->in->rank &&
                  s->out->dims[d] == s->in->dims[from];
        seen |= is_good ? 1u << from : 0;
    }
    if (!is_good || seen != (1u << s->in->rank) - 1) {
        bad_shape(v, s, "`perm` names each dimension once, and extent i is extent perm[i] before");
    }
}

static bool can_reduce(const pg_type_info *t)
{
    bool is_int = pg_elem_infos[t->elem].cls == 'I' && t->elem != PG_I1;
    return t->is_ptr == 0 && (is_int || t->elem == PG_F16 || t->elem == PG_BF16 ||
                              t->elem == PG_F32 || t->elem == PG_F64);
}

static void check_reduce(pg_verifier *v, const shapes *s)
{
    pg_reduce r = pg_reduce_of(s->i);
    bool is_kept = pg_attr_has(&s->i->attrs, PG_A_PARTS);
    uint32_t rank = s->in->rank;
    if (!can_reduce(s->in)) {
        pg_verify_error(v, PG_D_OPERAND_CLASS, s->i->loc, 1, pg_verify_op_text(s->i),
                        pg_verify_type_text(v, s->in_type),
                        "a tile of i8 to i64, f16, bf16, f32 or f64");
        return;
    }
    if (r.dim >= rank) {
        pg_verify_error(v, PG_D_NO_DIM, s->i->loc, (long long)r.dim,
                        pg_verify_type_text(v, s->in_type));
        return;
    }
    uint32_t extent = (uint32_t)s->in->dims[r.dim];
    bool is_good =
        same_elem(s) && (is_kept     ? s->out->kind == PG_TY_TILE && s->out->rank == rank
                         : rank == 1 ? s->out->kind == PG_TY_SCALAR
                                     : s->out->kind == PG_TY_TILE && s->out->rank + 1u == rank);
    is_good = is_good && (!is_kept || (pg_is_pow2(r.parts) && pg_is_pow2(r.span) &&
                                       (uint64_t)r.parts * r.span <= extent));
    for (uint32_t d = 0; is_good && d < s->out->rank; d++) {
        int32_t want = is_kept && d == r.dim ? (int32_t)r.parts
                                             : s->in->dims[is_kept || d < r.dim ? d : d + 1];
        is_good = s->out->dims[d] == want;
    }
    if (!is_good) {
        bad_shape(v, s,
                  is_kept ? "the same tile with extent `parts` at `dim`; powers of two, and "
                            "parts * span no more than the extent before"
                          : "the same tile without dimension `dim`; a scalar of rank 1");
    }
}

static void check_atomic(pg_verifier *v, const shapes *s)
{
    bool is_int = s->in->elem == PG_I32 || s->in->elem == PG_I64;
    bool is_float = s->in->elem == PG_F32 || s->in->elem == PG_F64;
    bool is_add = s->i->op == PG_OP_ATOMIC_ADD;
    if (!is_int && !(is_add && is_float)) {
        pg_verify_error(v, PG_D_OPERAND_CLASS, s->i->loc, 1, pg_verify_op_text(s->i),
                        pg_verify_type_text(v, s->in_type),
                        is_add ? "a pointer to i32, i64, f32 or f64" : "a pointer to i32 or i64");
    }
}

static void check_iota(pg_verifier *v, const shapes *s)
{
    const long long dim = pg_attr_int(&s->i->attrs, PG_A_DIM, 0);
    if (dim >= s->out->rank) {
        pg_verify_error(v, PG_D_NO_DIM, s->i->loc, dim, pg_verify_type_text(v, s->out_type));
    }
}

static void check_const(pg_verifier *v, const shapes *s)
{
    if (!pg_val_is_const(v->k, s->i->in[0])) {
        pg_verify_error(v, PG_D_NOT_LITERAL, s->i->loc, pg_verify_op_text(s->i));
    }
}

/* copy: anything but the encoding stays. */
static void check_copy(pg_verifier *v, const shapes *s)
{
    bool is_good = same_elem(s) && s->in->rank == s->out->rank;
    for (uint32_t d = 0; is_good && d < s->in->rank; d++) {
        is_good = s->in->dims[d] == s->out->dims[d];
    }
    if (!is_good) {
        bad_shape(v, s, "the same element and extents; only the encoding may differ");
    }
}

static bool is_castable(const pg_type_info *t)
{
    return t->elem != PG_E4M3 && t->elem != PG_E5M2;
}

static void check_cast(pg_verifier *v, const shapes *s)
{
    if (!is_castable(s->in) || !is_castable(s->out)) {
        const pg_type_info *t = is_castable(s->in) ? s->out : s->in;
        pg_verify_error(v, PG_D_CAST_ELEM, s->i->loc, pg_elem_infos[t->elem].text);
    } else if (s->in->elem == s->out->elem) {
        pg_verify_error(v, PG_D_CAST_SAME, s->i->loc, pg_elem_infos[s->in->elem].text);
    }
}

static void check_addptr(pg_verifier *v, const shapes *s)
{
    pg_types *types = v->m->ctx->types;
    pg_type offset = pg_val_type(v->k, s->i->in[1]);
    const pg_type_info *o = pg_type_get(types, offset);
    bool is_tile = s->in->kind == PG_TY_TILE || o->kind == PG_TY_TILE;
    bool is_good = same_elem(s) && (s->out->kind == PG_TY_TILE) == is_tile;
    if (is_good && s->in->kind == PG_TY_TILE) {
        is_good = pg_verify_agree(v, s->in_type, s->out_type);
    }
    if (is_good && o->kind == PG_TY_TILE) {
        pg_type want = pg_type_with_elem(types, s->out_type, (pg_elem)o->elem, false);
        is_good = pg_verify_agree(v, offset, want);
    }
    if (!is_good) {
        bad_shape(v, s, "the pointer's element, and the shape of pointer and offset");
    }
}

static void check_compare(pg_verifier *v, const shapes *s)
{
    bool is_float = pg_type_is_float(v->types, s->in_type);
    bool is_int = pg_type_is_int(v->types, s->in_type);
    bool wants_float = s->i->op == PG_OP_FCMP;
    if (wants_float ? !is_float || !is_castable(s->in) : !is_int) {
        pg_verify_error(v, PG_D_OPERAND_CLASS, s->i->loc, 1, pg_verify_op_text(s->i),
                        pg_verify_type_text(v, s->in_type),
                        wants_float ? "floats; icmp and ucmp compare integers"
                                    : "integers; fcmp compares floats");
    }
}

/* Starts, arguments and results of a loop's carried values. */
static void check_carried(pg_verifier *v, const shapes *s)
{
    const pg_inst *i = s->i;
    const uint32_t first = pg_loop_in(i), first_arg = pg_loop_arg(i);
    const uint32_t n_carried = i->n_in - first;
    bool is_complete = n_carried == i->n_out;
    for (uint32_t r = 0; r < i->n_regions; r++) {
        const pg_region *region = i->regions[r];
        is_complete = is_complete && (region == NULL || region->n_args == n_carried + first_arg);
    }
    if (!is_complete) {
        pg_verify_error(v, PG_D_CARRY_COUNT, i->loc, n_carried, i->n_out);
        return;
    }
    for (uint32_t c = 0; c < n_carried; c++) {
        pg_type init = pg_val_type(v->k, i->in[c + first]);
        pg_type result = pg_val_type(v->k, i->out[c]);
        if (!pg_verify_agree(v, init, result)) {
            pg_verify_error(v, PG_D_CARRY_TYPE, i->loc, c + 1, pg_verify_type_text(v, init),
                            pg_verify_type_text(v, result));
        }
        for (uint32_t r = 0; r < i->n_regions; r++) {
            if (i->regions[r] == NULL) {
                continue;
            }
            pg_type inside = pg_val_type(v->k, i->regions[r]->args[c + first_arg]);
            if (!pg_verify_agree(v, inside, result)) {
                pg_verify_error(v, PG_D_CARRY_TYPE, i->loc, c + 1, pg_verify_type_text(v, inside),
                                pg_verify_type_text(v, result));
            }
        }
    }
}

/* What is computed at launch may be nothing for sizes of 0; a number is so for all. */
static void check_grid(pg_verifier *v, const shapes *s)
{
    for (uint32_t axis = 0; axis < s->i->n_in; axis++) {
        int64_t extent;
        if (pg_val_int(v->k, s->i->in[axis], &extent) && extent < 1) {
            pg_verify_error(v, PG_D_GRID_EXTENT, s->i->loc, axis + 1, (long long)extent);
        }
    }
}

static void check_for(pg_verifier *v, const shapes *s)
{
    const pg_inst *i = s->i;
    int64_t step;
    for (uint32_t b = 1; b < 3; b++) {
        if (!pg_type_eq(pg_val_type(v->k, i->in[b]), s->in_type)) {
            pg_verify_error(v, PG_D_LOOP_BOUND, i->loc, pg_verify_type_text(v, s->in_type),
                            pg_verify_type_text(v, pg_val_type(v->k, i->in[b])));
        }
    }
    if (pg_val_int(v->k, i->in[2], &step) && step <= 0) {
        pg_verify_error(v, PG_D_LOOP_STEP, i->loc, (long long)step);
    }
    check_carried(v, s);
}

/* [part=...] of a loop or condition: one for all, or a list with an item for each result. */
static void check_part(pg_verifier *v, const shapes *s)
{
    const pg_inst *i = s->i;
    const pg_aval *part = pg_attr_get(&i->attrs, PG_A_PART);
    if (part != NULL && part->kind == PG_AV_LIST && part->n != i->n_out) {
        pg_verify_error(v, PG_D_PART_COUNT, i->loc, part->n, i->n_out);
    }
}

/* With layouts on both sides: the same register of the same lane and warp holds the same element.
 */
static bool same_places(const pg_layout *a, const pg_layout *b)
{
    uint32_t warps = pg_layout_size(a, PG_LIN_WARP);
    if (pg_layout_is_same(a, b)) {
        return true;
    }
    if (pg_layout_size(a, PG_LIN_REG) != pg_layout_size(b, PG_LIN_REG) ||
        pg_layout_size(b, PG_LIN_WARP) != warps) {
        return false;
    }
    for (uint32_t d = PG_LIN_REG; d <= PG_LIN_WARP; d++) {
        uint32_t size = pg_layout_size(a, (pg_lin_dim)d);
        for (uint32_t x = 0; x < size; x = x == 0 ? 1 : x * 2) {
            uint32_t index[PG_LIN_DIM_COUNT] = {0};
            uint32_t at_a[PG_MAX_RANK] = {0};
            uint32_t at_b[PG_MAX_RANK] = {0};
            index[d] = x;
            pg_layout_at(a, index, at_a);
            pg_layout_at(b, index, at_b);
            if (pg_layout_pack(a, at_a) != pg_layout_pack(b, at_b)) {
                return false;
            }
        }
    }
    return true;
}

static void check_moves(pg_verifier *v, const shapes *s)
{
    pg_layout have;
    uint32_t warps = v->n_warps;
    if (v->props == 0 || s->in->enc.id == 0 || s->out->enc.id == 0 ||
        pg_layout_of_tile(v->types, s->in_type, warps, &have) != PG_LAYOUT_OK) {
        return;
    }
    const pg_layout_back want = pg_layout_back_of(v->types, v->k, s->i, s->out_type, warps);
    if (want.res_error == PG_LAYOUT_OK &&
        (want.error != PG_LAYOUT_OK || !same_places(&have, &want.layout))) {
        pg_verify_error(v, PG_D_MOVES_DATA, s->i->loc, pg_verify_op_text(s->i),
                        pg_verify_type_text(v, s->in_type), pg_verify_type_text(v, s->out_type));
    }
}

/* The threads that hold the elements of a result hold the result. Warps may differ: the pass `sync`
 * makes what they hand over visible, and PG_PROP_SYNCED says that it has. */
static void check_reduce_places(pg_verifier *v, const shapes *s)
{
    pg_layout in, res;
    pg_reduce_plan plan;
    pg_reduce r = pg_reduce_of(s->i);
    uint32_t warps = v->n_warps;
    bool is_tile = s->out->kind == PG_TY_TILE;
    if (v->props == 0 || s->in->enc.id == 0 || (is_tile && s->out->enc.id == 0) ||
        pg_layout_of_tile(v->types, s->in_type, warps, &in) != PG_LAYOUT_OK ||
        (is_tile && pg_layout_of_tile(v->types, s->out_type, warps, &res) != PG_LAYOUT_OK)) {
        return;
    }
    if (pg_reduce_plan_make(&r, &in, is_tile ? &res : NULL, &plan) != PG_LAYOUT_OK) {
        pg_verify_error(v, PG_D_MOVES_DATA, s->i->loc, pg_verify_op_text(s->i),
                        pg_verify_type_text(v, s->in_type), pg_verify_type_text(v, s->out_type));
    } else if ((v->props & SYNCED) != 0 && plan.warps != 0) {
        pg_verify_error(v, PG_D_NOT_SYNCED, s->i->loc, pg_verify_op_text(s->i));
    }
}

/* What a copy takes from other warps comes through buffers once the pass `sync` has run. */
static void check_copy_places(pg_verifier *v, const shapes *s)
{
    pg_convert_plan plan;
    if ((v->props & SYNCED) != 0 && s->in->enc.id != 0 && s->out->enc.id != 0 &&
        pg_convert_of_types(v->types, s->in_type, s->out_type, v->n_warps,
                            pg_convert_flags(v->m->sm), &plan) == PG_LAYOUT_OK &&
        plan.kind == PG_CONVERT_SHARED) {
        pg_verify_error(v, PG_D_NOT_SYNCED, s->i->loc, pg_verify_op_text(s->i));
    }
}

static void check_loop(pg_verifier *v, const shapes *s)
{
    check_for(v, s);
    check_part(v, s);
    if ((v->props & PIPELINED) != 0 && pg_attr_has(&s->i->attrs, PG_A_STAGES)) {
        pg_verify_error(v, PG_D_NOT_PIPELINED, s->i->loc,
                        (long long)pg_attr_int(&s->i->attrs, PG_A_STAGES, 0));
    }
}

static void check_mma(pg_verifier *v, const shapes *s)
{
    pg_verify_mma(v, s->i);
}

typedef void shape_rule(pg_verifier *v, const shapes *s);
static shape_rule *const rules[PG_OP_COUNT] = {
    [PG_OP_BROADCAST] = check_broadcast,
    [PG_OP_EXPAND] = check_expand,
    [PG_OP_RESHAPE] = check_reshape,
    [PG_OP_TRANSPOSE] = check_transpose,
    [PG_OP_REDUCE] = check_reduce,
    [PG_OP_COPY] = check_copy,
    [PG_OP_ATOMIC_ADD] = check_atomic,
    [PG_OP_ATOMIC_MAX] = check_atomic,
    [PG_OP_ATOMIC_UMAX] = check_atomic,
    [PG_OP_IOTA] = check_iota,
    [PG_OP_CONST] = check_const,
    [PG_OP_CAST] = check_cast,
    [PG_OP_UCAST] = check_cast,
    [PG_OP_ADDPTR] = check_addptr,
    [PG_OP_ICMP] = check_compare,
    [PG_OP_UCMP] = check_compare,
    [PG_OP_FCMP] = check_compare,
    [PG_OP_GRID] = check_grid,
    [PG_OP_FOR] = check_loop,
    [PG_OP_WHILE] = check_carried,
    [PG_OP_IF] = check_part,
    [PG_OP_MMA] = check_mma,
    [PG_OP_UMMA] = check_mma,
};

/* Once the shapes are right: where the elements are, with layouts on both sides. */
static shape_rule *const place_rules[PG_OP_COUNT] = {
    [PG_OP_BROADCAST] = check_moves,      [PG_OP_EXPAND] = check_moves,
    [PG_OP_RESHAPE] = check_moves,        [PG_OP_TRANSPOSE] = check_moves,
    [PG_OP_REDUCE] = check_reduce_places, [PG_OP_COPY] = check_copy_places,
};

void pg_verify_special(pg_verifier *v, const pg_inst *i)
{
    if (rules[i->op] == NULL) {
        return;
    }
    shapes s = {.i = i};
    s.in_type = i->n_in > 0 ? pg_val_type(v->k, i->in[0]) : (pg_type){0};
    s.out_type = i->n_out > 0 ? pg_val_type(v->k, i->out[0]) : (pg_type){0};
    s.in = pg_type_get(v->types, s.in_type);
    s.out = pg_type_get(v->types, s.out_type);
    const uint32_t n_errors = v->diags->n_errors;
    rules[i->op](v, &s);
    if (place_rules[i->op] != NULL && v->diags->n_errors == n_errors) {
        place_rules[i->op](v, &s);
    }
}
