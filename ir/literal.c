#include "ir/literal.h"

#include <math.h>

#include "ir/elem.h"

/* ---- types --------------------------------------------------------------------------------- */

static pg_type i1_like(const pg_kernel *k, pg_type shape)
{
    pg_types *types = k->module->ctx->types;
    uint8_t kind = pg_type_get(types, shape)->kind;
    return kind == PG_TY_SCALAR || kind == PG_TY_TILE
               ? pg_type_with_elem(types, shape, PG_I1, false)
               : (pg_type){0};
}

static pg_type first_typed(const pg_operands *o, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to && i < o->n_in; i++) {
        if (o->in[i].id != 0) {
            return o->in[i];
        }
    }
    return (pg_type){0};
}

/* Carried values, and what a region yields. */
static pg_type any_type(const pg_kernel *k, const pg_operands *o, uint32_t index)
{
    const pg_type none = {0};
    if (o->op == PG_OP_FOR) {
        return index >= 3 && index - 3 < o->n_out ? o->out[index - 3] : none;
    }
    if (o->op == PG_OP_WHILE) {
        return index < o->n_out ? o->out[index] : none;
    }
    return o->op == PG_OP_YIELD && o->region != NULL ? pg_region_yield_type(k, o->region, index)
                                                     : none;
}

pg_type pg_literal_type(const pg_kernel *k, const pg_operands *o, uint32_t index)
{
    pg_types *types = k->module->ctx->types;
    pg_type result = o->n_out > 0 ? o->out[0] : (pg_type){0};
    pg_type i32 = pg_type_scalar(types, PG_I32);
    pg_type first = {0};
    switch (pg_op_in(o->op, index, o->n_in) & PG_C_MASK) {
    case PG_C_T: return result;
    case PG_C_E: return pg_type_elem_scalar(types, result);
    case PG_C_X:
        first = first_typed(o, 0, o->n_in);
        if (first.id != 0) {
            return first;
        }
        return o->op == PG_OP_FCMP ? pg_type_scalar(types, PG_F32) : i32;
    case PG_C_V:
        first = o->in[0];
        return pg_type_is_ptr(types, first)
                   ? pg_type_with_elem(types, first, (pg_elem)pg_type_get(types, first)->elem,
                                       false)
                   : (pg_type){0};
    case PG_C_M:
        if (o->op == PG_OP_IF) {
            return pg_type_scalar(types, PG_I1);
        }
        return i1_like(k, o->n_out > 0 ? result : o->in[0]);
    case PG_C_INT:
        if (o->op == PG_OP_FOR) {
            first = first_typed(o, 0, 3);
        }
        return first.id != 0 ? first : i32;
    case PG_C_I32:
    case PG_C_NUM: return i32;
    case PG_C_DATA:
    case PG_C_ANY: return any_type(k, o, index);
    default: return (pg_type){0};
    }
}

/* ---- text ---------------------------------------------------------------------------------- */

static bool read_integer(pg_str text, uint64_t *out)
{
    int64_t x;
    if (pg_parse_i64(text, &x)) {
        *out = (uint64_t)x;
        return true;
    }
    return pg_parse_u64(text, out);
}

/* Digits of a bit pattern, by the letter after 0; 0 if it is none. */
static size_t pattern_digits(char letter)
{
    switch (letter) {
    case 'q': return 2;
    case 'h': return 4;
    case 'f': return 8;
    case 'd': return 16;
    default: return 0;
    }
}

static bool read_hex(pg_str digits, uint64_t *out)
{
    uint64_t x = 0;
    for (size_t i = 0; i < digits.len; i++) {
        char c = digits.ptr[i];
        uint32_t d = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                                            : 16;
        if (d == 16) {
            return false;
        }
        x = x << 4 | d;
    }
    *out = x;
    return true;
}

static pg_literal_error read_float(pg_str text, pg_elem e, uint64_t *bits)
{
    if (text.len > 2 && text.ptr[0] == '0') {
        size_t n = pattern_digits(text.ptr[1]);
        pg_str digits = pg_str_sub(text, 2, text.len);
        if (n != 0 && digits.len == n && read_hex(digits, bits)) {
            return n * 4 == pg_elem_infos[e].bits ? PG_LIT_OK : PG_LIT_WIDTH;
        }
    }
    double x;
    uint64_t whole;
    if (text.len > 2 && text.ptr[1] == 'x') {
        return PG_LIT_FORM; /* hexadecimal integers are no floats */
    }
    if (!pg_parse_f64(text, &x)) {
        return PG_LIT_FORM;
    }
    if (isfinite(x) == 0 && read_integer(text, &whole)) {
        return PG_LIT_RANGE;
    }
    *bits = pg_elem_of_f64(e, x);
    bool is_digits = text.ptr[text.len - 1] >= '0' && text.ptr[text.len - 1] <= '9';
    if ((is_digits || text.ptr[text.len - 1] == '.') && isfinite(pg_elem_to_f64(e, *bits)) == 0) {
        return PG_LIT_RANGE;
    }
    return PG_LIT_OK;
}

pg_literal_error pg_literal_read(pg_str text, pg_elem e, bool is_ptr, uint64_t *bits,
                                 bool *is_poison)
{
    *bits = 0;
    *is_poison = pg_str_is(text, "poison");
    if (*is_poison) {
        return PG_LIT_OK;
    }
    if (is_ptr || e == PG_ELEM_NONE) {
        return PG_LIT_FORM;
    }
    if (pg_elem_infos[e].cls == 'F') {
        return read_float(text, e, bits);
    }
    if (pg_str_is(text, "true") || pg_str_is(text, "false")) {
        *bits = text.ptr[0] == 't';
        return e == PG_I1 ? PG_LIT_OK : PG_LIT_FORM;
    }
    uint64_t x;
    if (!read_integer(text, &x)) {
        return PG_LIT_FORM;
    }
    bool is_large = x > (uint64_t)INT64_MAX && text.ptr[0] != '-';
    if ((is_large && pg_elem_infos[e].bits < 64) || !pg_elem_fits(e, (int64_t)x)) {
        return PG_LIT_RANGE;
    }
    *bits = pg_elem_wrap(e, x);
    return PG_LIT_OK;
}

static void put_pattern(pg_strbuf *out, uint32_t width, uint64_t bits)
{
    pg_put(out, width == 64 ? "0d" : width == 32 ? "0f" : width == 16 ? "0h" : "0q");
    pg_put_hex(out, bits, width / 4);
}

void pg_literal_put(pg_strbuf *out, pg_elem e, uint64_t bits, bool is_poison)
{
    if (is_poison) {
        pg_put(out, "poison");
        return;
    }
    if (pg_elem_infos[e].cls != 'F') {
        if (e == PG_I1) {
            pg_put(out, (bits & 1) != 0 ? "true" : "false");
        } else {
            pg_put_i64(out, (int64_t)bits);
        }
        return;
    }
    double x = pg_elem_to_f64(e, bits);
    if (pg_elem_of_f64(e, x) != bits || (isnan(x) != 0 && pg_elem_of_f64(e, (double)NAN) != bits)) {
        put_pattern(out, pg_elem_infos[e].bits, bits); /* a NaN with a payload, stray tf32 bits */
    } else if (e == PG_F64) {
        pg_put_f64(out, x);
    } else {
        pg_put_f32(out, (float)x);
    }
}

/* ---- attributes ---------------------------------------------------------------------------- */

bool pg_attr_is_default(pg_attr_id id, const pg_aval *v)
{
    static const struct {
        uint8_t id;
        int8_t num;
    } defaults[] = {
        {PG_A_DIM, 0}, {PG_A_ARRIVALS, 1}, {PG_A_PER, PG_PER_THREAD},
        {PG_A_LAG, 0}, {PG_A_WARP, 0},     {PG_A_IN_FLIGHT, 0},
    };
    for (uint32_t i = 0; i < PG_COUNT_OF(defaults); i++) {
        if (defaults[i].id == id) {
            return (v->kind == PG_AV_INT || v->kind == PG_AV_WORD) && v->num == defaults[i].num;
        }
    }
    return false;
}
