/* verify_op.c: the columns of ops.def, for one operation: how many operands, of which classes, what
 * results, which attributes, on which targets. */
#include <string.h>

#include "base/suggest.h"
#include "ir/verify.h"

/* ---- counts -------------------------------------------------------------------------------- */

/* How many operands and results an operation has. Fewest operands of variadic rows stand here. */
typedef struct counts {
    uint16_t least_in, most_in, least_out, most_out;
} counts;

enum { V = -1 };
#define LEAST_IN(op, n)                   \
    ((n) >= 0                       ? (n) \
     : (op) == (int)PG_OP_FOR       ? 3   \
     : (op) == (int)PG_OP_TMA_LOAD  ? 5   \
     : (op) == (int)PG_OP_TMA_STORE ? 3   \
                                    : 0)
#define MOST_IN(n, opt) ((n) < 0 ? UINT16_MAX : (n) + (opt))
#define LEAST_OUT(res)                                                        \
    ((res) == PG_R_NONE || (res) == PG_R_MMA_WAIT || (res) == PG_R_REGION ? 0 \
     : (res) == PG_R_I32X2                                                ? 2 \
                                                                          : 1)
#define MOST_OUT(res) \
    ((res) == PG_R_NONE ? 0 : (res) == PG_R_REGION ? UINT16_MAX : (res) == PG_R_I32X2 ? 2 : 1)
static const counts op_counts[PG_OP_COUNT] = {
#define OP(id, text, n_in, n_opt, ins, res, ...)                                               \
    [PG_OP_##id] = {(uint16_t)LEAST_IN((int)PG_OP_##id, n_in), (uint16_t)MOST_IN(n_in, n_opt), \
                    (uint16_t)LEAST_OUT(PG_##res), (uint16_t)MOST_OUT(PG_##res)},
#include "ir/ops.def"
};

static bool check_counts(pg_verifier *v, const pg_inst *i)
{
    const counts *c = &op_counts[i->op];
    const char *text = pg_op_infos[i->op].text;
    if (i->n_in < c->least_in || i->n_in > c->most_in) {
        const bool is_less = i->n_in < c->least_in;
        pg_verify_error(v, PG_D_OPERAND_COUNT, i->loc, text, i->n_in,
                        is_less ? "at least" : "at most", is_less ? c->least_in : c->most_in);
        return false;
    }
    if (i->n_out < c->least_out || i->n_out > c->most_out) {
        pg_verify_error(v, PG_D_OP_RESULT_COUNT, i->loc, text, i->n_out, c->least_out);
        return false;
    }
    return true;
}

/* ---- operand classes ----------------------------------------------------------------------- */

static bool is_scalar_of(const pg_type_info *t, pg_elem e)
{
    return t->kind == PG_TY_SCALAR && t->is_ptr == 0 && t->elem == e;
}

static bool is_data(const pg_type_info *t)
{
    return (t->classes & PG_TYPE_DATA) != 0;
}

/* A mask: i1 in the shape of what it masks; a condition is a scalar, and may select whole tiles. */
static bool is_mask(const pg_verifier *v, const pg_inst *i, const pg_type_info *mask, pg_type t)
{
    if (mask->elem != PG_I1 || mask->is_ptr != 0 || !is_data(mask)) {
        return false;
    }
    if (i->op == PG_OP_IF || (i->op == PG_OP_SELECT && mask->kind == PG_TY_SCALAR)) {
        return mask->kind == PG_TY_SCALAR;
    }
    pg_type of = pg_val_type(v->k, i->n_out > 0 ? i->out[0] : i->in[0]);
    if (!is_data(pg_type_get(v->types, of))) {
        return true; /* that is the error */
    }
    return pg_verify_agree(v, t, pg_type_with_elem(v->m->ctx->types, of, PG_I1, false));
}

/* Plain classes: a question about the operand's own type. */
static bool is_plain_class(const pg_inst *i, uint16_t class, const pg_type_info *t)
{
    switch (class) {
    case PG_C_NUM: return is_data(t) && t->is_ptr == 0;
    case PG_C_TILE: return t->kind == PG_TY_TILE;
    case PG_C_I32: return is_scalar_of(t, PG_I32);
    case PG_C_INT:
        if (i->op == PG_OP_FOR) {
            return is_scalar_of(t, PG_I32) || is_scalar_of(t, PG_I64);
        }
        return is_data(t) && t->is_ptr == 0 && (t->elem == PG_I32 || t->elem == PG_I64);
    case PG_C_PTR: return is_data(t) && t->is_ptr != 0;
    case PG_C_DESC: return t->kind == PG_TY_DESC;
    case PG_C_BUF: return t->kind == PG_TY_BUF;
    case PG_C_RING: return t->kind == PG_TY_RING;
    case PG_C_BAR: return t->kind == PG_TY_BAR || t->kind == PG_TY_RING;
    case PG_C_TOKEN: return t->kind == PG_TY_TOKEN;
    case PG_C_DATA: return is_data(t);
    default: return t->kind != PG_TY_NONE;
    }
}

static const char *const class_texts[] = {
    [PG_C_NONE] = "a value",
    [PG_C_T] = "the result's type",
    [PG_C_E] = "the element of the result",
    [PG_C_X] = "the type of the first operand",
    [PG_C_V] = "what the pointer points to, in its shape",
    [PG_C_M] = "i1, in the shape of what it masks",
    [PG_C_NUM] = "a number or a tile of numbers",
    [PG_C_TILE] = "a tile",
    [PG_C_I32] = "i32",
    [PG_C_INT] = "i32 or i64",
    [PG_C_PTR] = "a pointer or a tile of pointers",
    [PG_C_DESC] = "a descriptor",
    [PG_C_BUF] = "a buffer",
    [PG_C_RING] = "a ring",
    [PG_C_BAR] = "a ring or barriers",
    [PG_C_TOKEN] = "a token",
    [PG_C_DATA] = "a scalar or a tile",
    [PG_C_ANY] = "a value",
};

/* The type that an operand of a related class must have; id 0: any. */
static pg_type related_type(const pg_verifier *v, const pg_inst *i, uint16_t class)
{
    pg_types *types = v->m->ctx->types;
    pg_type result = i->n_out > 0 ? pg_val_type(v->k, i->out[0]) : (pg_type){0};
    pg_type first = i->n_in > 0 ? pg_val_type(v->k, i->in[0]) : (pg_type){0};
    switch (class) {
    case PG_C_T: return result;
    case PG_C_E: return pg_type_elem_scalar(types, result);
    case PG_C_X: return first;
    case PG_C_V:
        return pg_type_is_ptr(types, first)
                   ? pg_type_with_elem(types, first, (pg_elem)pg_type_get(types, first)->elem,
                                       false)
                   : (pg_type){0};
    default: return (pg_type){0};
    }
}

static pg_type without_enc(const pg_verifier *v, pg_type type)
{
    pg_type_info info = *pg_type_get(v->types, type);
    info.enc = (pg_enc){0};
    return pg_type_intern(v->m->ctx->types, &info);
}

static bool check_classes(pg_verifier *v, const pg_inst *i)
{
    bool is_good = true;
    pg_val wrong = {0};
    const pg_type result = i->n_out > 0 ? pg_val_type(v->k, i->out[0]) : (pg_type){0};
    for (uint32_t j = 0; j < i->n_in; j++) {
        const pg_type type = pg_val_type(v->k, i->in[j]);
        const uint16_t class = pg_op_in((pg_op)i->op, j, i->n_in) & PG_C_MASK;
        if (class == PG_C_T && type.id != 0 && pg_type_eq(type, result)) {
            continue; /* what most are */
        }
        const pg_type_info *t = pg_type_get(v->types, type);
        pg_type want = related_type(v, i, class);
        const char *text = class_texts[class < PG_COUNT_OF(class_texts) ? class : PG_C_ANY];
        text = class == PG_C_M && i->op == PG_OP_IF ? "one i1" : text;
        bool is_right = class == PG_C_M ? is_mask(v, i, t, type) : is_plain_class(i, class, t);
        if (is_right && want.id != 0 && !pg_verify_agree(v, type, want)) {
            is_right = false;
            text = pg_verify_type_text(v, want);
        }
        if (!is_right && i->in[j].id == wrong.id) {
            is_good = false; /* said of the same value, as an earlier operand */
        } else if (!is_right) {
            wrong = i->in[j];
            const char *op = pg_verify_op_text(i), *is = pg_verify_type_text(v, type);
            if (want.id != 0 && pg_verify_agree(v, without_enc(v, type), want)) {
                pg_verify_error(v, PG_D_OPERAND_ENC, i->loc, j + 1, op, is, text);
            } else {
                pg_verify_error(v, PG_D_OPERAND_CLASS, i->loc, j + 1, op, is, text);
            }
            is_good = false;
        }
    }
    return is_good;
}

/* ---- results ------------------------------------------------------------------------------- */

/* Floats that the machine computes with; the others are for storage and matrix operations. */
static bool is_arithmetic(pg_elem e)
{
    return e == PG_F16 || e == PG_BF16 || e == PG_F32 || e == PG_F64;
}

/* `want`: the type that follows from the operands, id 0 where none does. */
static bool is_result(const pg_verifier *v, const pg_inst *i, pg_type type, pg_type *want)
{
    const pg_type_info *t = pg_type_get(v->types, type);
    pg_type first = i->n_in > 0 ? pg_val_type(v->k, i->in[0]) : (pg_type){0};
    switch (pg_op_infos[i->op].res) {
    case PG_R_TYPED: return is_data(t);
    case PG_R_INT: return pg_type_is_int(v->types, type);
    case PG_R_FLOAT: return pg_type_is_float(v->types, type) && is_arithmetic((pg_elem)t->elem);
    case PG_R_TILE: return t->kind == PG_TY_TILE;
    case PG_R_TILE_INT: return t->kind == PG_TY_TILE && pg_type_is_int(v->types, type);
    case PG_R_CMP:
        if (!is_data(pg_type_get(v->types, first))) {
            return true; /* reported as the operand's error */
        }
        *want = pg_type_with_elem(v->m->ctx->types, first, PG_I1, false);
        return pg_verify_agree(v, type, *want);
    case PG_R_CAST:
        if (!is_data(pg_type_get(v->types, first))) {
            return is_data(t);
        }
        *want = pg_type_with_elem(v->m->ctx->types, first, (pg_elem)t->elem, false);
        return is_data(t) && t->is_ptr == 0 && pg_verify_agree(v, type, *want);
    case PG_R_PTR: return is_data(t) && t->is_ptr != 0;
    case PG_R_LOAD:
        if (!pg_type_is_ptr(v->types, first)) {
            return true;
        }
        *want = pg_type_with_elem(v->m->ctx->types, first,
                                  (pg_elem)pg_type_get(v->types, first)->elem, false);
        return pg_verify_agree(v, type, *want);
    case PG_R_I32:
    case PG_R_I32X2: return is_scalar_of(t, PG_I32);
    case PG_R_BUF: return t->kind == PG_TY_BUF;
    case PG_R_RING: return t->kind == PG_TY_RING;
    case PG_R_BAR: return t->kind == PG_TY_BAR;
    case PG_R_TOKEN: return t->kind == PG_TY_TOKEN;
    case PG_R_MMA_WAIT: return t->kind == PG_TY_TILE;
    default: return t->kind != PG_TY_NONE;
    }
}

static const char *const result_texts[] = {
    [PG_R_NONE] = "nothing",
    [PG_R_TYPED] = "a scalar or a tile",
    [PG_R_INT] = "an integer or a tile of integers",
    [PG_R_FLOAT] = "f16, bf16, f32, f64, or a tile of them",
    [PG_R_TILE] = "a tile",
    [PG_R_TILE_INT] = "a tile of integers",
    [PG_R_CMP] = "i1 in the shape of the operands",
    [PG_R_CAST] = "the operand's shape with another element",
    [PG_R_PTR] = "a pointer or a tile of pointers",
    [PG_R_LOAD] = "what the pointer points to, in its shape",
    [PG_R_I32] = "i32",
    [PG_R_I32X2] = "i32",
    [PG_R_BUF] = "a buffer",
    [PG_R_RING] = "a ring",
    [PG_R_BAR] = "barriers",
    [PG_R_TOKEN] = "a token",
    [PG_R_MMA_WAIT] = "the accumulator's tile",
    [PG_R_REGION] = "a value",
};

/* The operation of the same name for the other kind of numbers, where that is what the result
 * wants. */
static const char *sibling_text(pg_verifier *v, const pg_inst *i, pg_type type)
{
    pg_nearest near = {.word = {"", 0}};
    for (const char *letter = "fi"; *letter != '\0'; letter++) {
        pg_inst as = *i;
        pg_type want = {0};
        const pg_op op = pg_op_sibling(&v->m->ctx->words, (pg_op)i->op, *letter);
        as.op = (uint16_t)op;
        const bool is_typed = pg_op_infos[op].res == PG_R_INT || pg_op_infos[op].res == PG_R_FLOAT;
        if (is_typed && is_result(v, &as, type, &want)) {
            near.word = pg_str_of(pg_op_infos[op].text);
        }
    }
    return pg_nearest_text(&near, &v->scratch, v->m->ctx->alloc);
}

static bool check_results(pg_verifier *v, const pg_inst *i)
{
    bool is_good = true;
    for (uint32_t r = 0; r < i->n_out; r++) {
        pg_type type = pg_val_type(v->k, i->out[r]);
        pg_verify_type(v, type, i->loc);
        pg_type want = {0};
        if (!is_result(v, i, type, &want)) {
            const char *text = want.id != 0 ? pg_verify_type_text(v, want) : NULL;
            const char *more = sibling_text(v, i, type);
            pg_verify_error(v, PG_D_RESULT_CLASS, i->loc, r + 1, pg_verify_op_text(i),
                            pg_verify_type_text(v, type),
                            text == NULL ? result_texts[pg_op_infos[i->op].res] : text, more);
            is_good = false;
        }
        const pg_type_info *t = pg_type_get(v->types, type);
        if (v->is_launch && t->kind != PG_TY_SCALAR && t->kind != PG_TY_NONE) {
            pg_verify_error(v, PG_D_LEVEL, i->loc, pg_verify_type_text(v, type),
                            "in a launch region, where only scalars are");
        }
        if (t->kind == PG_TY_TILE && !v->is_launch && !v->has_partial_warps) {
            pg_verify_fit(v, type, i->loc);
        }
    }
    return is_good;
}

/* ---- attributes ---------------------------------------------------------------------------- */

#define BIT(id) (UINT64_C(1) << PG_A_##id)

static const uint64_t needed_attrs[PG_OP_COUNT] = {
    [PG_OP_TRANSPOSE] = BIT(PERM),    [PG_OP_REDUCE] = BIT(OP),
    [PG_OP_ICMP] = BIT(IS),           [PG_OP_UCMP] = BIT(IS),
    [PG_OP_FCMP] = BIT(IS),           [PG_OP_PROGRAM_ID] = BIT(AXIS),
    [PG_OP_NUM_PROGRAMS] = BIT(AXIS), [PG_OP_RING_NEW] = BIT(SLOTS) | BIT(FULL) | BIT(EMPTY),
    [PG_OP_BAR_EXPECT] = BIT(BYTES),  [PG_OP_FENCE] = BIT(KIND),
    [PG_OP_PART_SYNC] = BIT(ID),      [PG_OP_PARTITION] = BIT(WARPS),
};

/* Ranges of integer attributes; `most` 0: any. */
static const struct {
    int32_t least, most;
} ranges[PG_A_COUNT] = {
    [PG_A_DIM] = {0, PG_MAX_RANK - 1},
    [PG_A_PARTS] = {1, 1 << 20},
    [PG_A_SPAN] = {1, 1 << 20},
    [PG_A_SLOTS] = {1, 64},
    [PG_A_FULL] = {1, (1 << 20) - 1},
    [PG_A_EMPTY] = {1, (1 << 20) - 1},
    [PG_A_ARRIVALS] = {1, (1 << 20) - 1},
    [PG_A_LAG] = {0, 63},
    [PG_A_BYTES] = {1, (1 << 20) - 1},
    [PG_A_IN_FLIGHT] = {0, 63},
    [PG_A_ID] = {1, 15},
    [PG_A_WARP] = {0, 31},
    [PG_A_WARPS] = {1, 32},
    [PG_A_REGS] = {24, 256},
    [PG_A_STAGE] = {0, 255},
    [PG_A_STAGES] = {1, 64},
    [PG_A_UNROLL] = {1, 64},
    [PG_A_ALIGN] = {1, 65536},
    [PG_A_DIV] = {1, 1 << 30},
    [PG_A_MIN_CTAS] = {1, 32},
};

void pg_verify_attr_values(pg_verifier *v, const pg_attrs *attrs, pg_loc loc)
{
    for (uint32_t a = 0; a < attrs->n; a++) {
        const pg_attr *attr = &attrs->at[a];
        if (attr->id >= PG_A_COUNT) {
            continue;
        }
        const int32_t least = ranges[attr->id].least, most = ranges[attr->id].most;
        if (most != 0 && attr->val.kind == PG_AV_INT &&
            (attr->val.num < least || attr->val.num > most)) {
            pg_verify_error(v, PG_D_ATTR_RANGE, loc, pg_attr_infos[attr->id].text,
                            (long long)attr->val.num, least, most);
        }
        bool is_power = attr->id == PG_A_ALIGN || attr->id == PG_A_DIV;
        if (is_power && attr->val.num > 0 && !pg_is_pow2((uint64_t)attr->val.num)) {
            pg_verify_error(v, PG_D_ATTR_POW2, loc, pg_attr_infos[attr->id].text,
                            (long long)attr->val.num);
        }
    }
}

void pg_verify_attr_set(pg_verifier *v, const pg_attrs *attrs, uint64_t accepted, const char *of,
                        pg_loc loc)
{
    const uint64_t later =
        BIT(PART) | BIT(STAGE) | BIT(ON); /* of any operation, once passes set them */
    for (uint32_t a = 0; a < attrs->n; a++) {
        uint8_t id = attrs->at[a].id;
        if (id >= PG_A_COUNT || (accepted >> id & 1) != 0) {
            continue;
        }
        const char *text = pg_attr_infos[id].text;
        if ((later >> id & 1) != 0) {
            pg_verify_error(v, PG_D_NOT_YET, loc, (int)strlen(text), text, "");
        } else {
            pg_verify_error(v, PG_D_ATTR_NOT_TAKEN, loc, of, text);
        }
    }
}

static bool check_attrs(pg_verifier *v, const pg_inst *i)
{
    const pg_op_info *info = &pg_op_infos[i->op];
    uint64_t present = 0;
    if (i->attrs.n == 0 && needed_attrs[i->op] == 0) {
        return !i->attrs.is_partial;
    }
    for (uint32_t a = 0; a < i->attrs.n; a++) {
        present |= UINT64_C(1) << i->attrs.at[a].id;
    }
    pg_verify_attr_set(v, &i->attrs, info->attrs, info->text, i->loc);
    pg_verify_attr_values(v, &i->attrs, i->loc);
    uint64_t missing = needed_attrs[i->op] & ~present;
    for (uint32_t id = 1; missing != 0 && id < PG_A_COUNT && !i->attrs.is_partial; id++) {
        if ((missing >> id & 1) != 0) {
            pg_verify_error(v, PG_D_ATTR_NEEDED, i->loc, info->text, pg_attr_infos[id].text);
        }
    }
    return missing == 0 && !i->attrs.is_partial;
}

/* Operations that need a target with architecture-specific features: always, or a partition for its
 * registers. */
static const bool needs_arch[PG_OP_COUNT] = {[PG_OP_MMA_BEGIN] = true,
                                             [PG_OP_MMA_FENCE] = true,
                                             [PG_OP_MMA_ASYNC] = true,
                                             [PG_OP_MMA_WAIT] = true,
                                             [PG_OP_PARTITION] = true};

static void check_target(pg_verifier *v, const pg_inst *i)
{
    const pg_op_info *info = &pg_op_infos[i->op];
    if (info->sm <= v->m->sm && !needs_arch[i->op]) {
        return;
    }
    const char *target = pg_sym_text(&v->m->ctx->syms, v->m->target).ptr;
    if (info->sm > v->m->sm) {
        pg_verify_error(v, PG_D_NEEDS_SM, i->loc, info->text, info->sm, target);
        return;
    }
    bool is_partition = i->op == PG_OP_PARTITION;
    bool has_regs = is_partition && pg_attr_has(&i->attrs, PG_A_REGS);
    if (!is_partition && !(v->m->sm == 90 && v->m->sm_arch)) {
        pg_verify_error(v, PG_D_NEEDS_ARCH, i->loc, info->text, "sm_90a", target);
    } else if (has_regs && !(v->m->sm >= 90 && v->m->sm_arch)) {
        pg_verify_error(v, PG_D_NEEDS_ARCH, i->loc, "regs", "sm_90a or a later `a` target", target);
    }
}

bool pg_verify_op(pg_verifier *v, const pg_inst *i)
{
    check_target(v, i);
    bool is_good = check_counts(v, i);
    is_good = check_attrs(v, i) && is_good;
    if (!is_good) {
        return false;
    }
    is_good = check_results(v, i);
    return check_classes(v, i) && is_good;
}
