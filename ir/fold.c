/* fold.c: elementwise operations on integers, comparisons, selection; floats are in fold_float.c.
 */
#include "ir/fold.h"

#include <string.h>

#include "ir/elem.h"
#include "ir/interp.h"

/* Sign extension of the low 64 - `up` bits, as pg_elem_wrap; i1 keeps its bit. */
static inline uint64_t wrap(pg_elem e, uint32_t up, uint64_t x)
{
    if (e == PG_I1) {
        return x & 1;
    }
    uint64_t high = x << up;
    uint64_t sign = (int64_t)high < 0 ? ~(UINT64_MAX >> up) : 0;
    return high >> up | sign;
}

/* One loop over the elements: a and b are the operands' patterns, the body gives `to`. */
#define EACH(body)                                        \
    for (uint32_t i = 0; i < f->n; i++) {                 \
        uint64_t a = x[i], b = y[i], to = 0;              \
        (void)a, (void)b;                                 \
        body;                                             \
        out[i] = wrap(e, 64 - pg_elem_infos[e].bits, to); \
    }                                                     \
    return true

/* The exact signed result fits no element of the type: it is poison. */
static bool add_wraps(pg_elem e, int64_t a, int64_t b, int64_t *sum)
{
    *sum = (int64_t)((uint64_t)a + (uint64_t)b);
    bool is_over = (a < 0) == (b < 0) && (*sum < 0) != (a < 0);
    return is_over || (int64_t)pg_elem_wrap(e, (uint64_t)*sum) != *sum;
}

static bool sub_wraps(pg_elem e, int64_t a, int64_t b, int64_t *diff)
{
    *diff = (int64_t)((uint64_t)a - (uint64_t)b);
    bool is_over = (a < 0) != (b < 0) && (*diff < 0) != (a < 0);
    return is_over || (int64_t)pg_elem_wrap(e, (uint64_t)*diff) != *diff;
}

static bool mul_wraps(pg_elem e, int64_t a, int64_t b, int64_t *prod)
{
    *prod = (int64_t)((uint64_t)a * (uint64_t)b);
    bool is_over = false;
    if (a != 0 && b != 0) {
        is_over = (a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN) ||
                  (b != -1 && *prod / b != a);
    }
    return is_over || (int64_t)pg_elem_wrap(e, (uint64_t)*prod) != *prod;
}

static bool no_wrap(const pg_fold *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        int64_t a = (int64_t)f->in[0][i], b = (int64_t)f->in[1][i], r = 0;
        bool wraps = f->op == PG_OP_IADD   ? add_wraps(f->elem, a, b, &r)
                     : f->op == PG_OP_ISUB ? sub_wraps(f->elem, a, b, &r)
                                           : mul_wraps(f->elem, a, b, &r);
        f->out[i] = pg_elem_wrap(f->elem, (uint64_t)r);
        f->new_poison[i] |= wraps;
    }
    return true;
}

static uint64_t unsign(pg_elem e, uint64_t x)
{
    uint32_t bits = pg_elem_infos[e].bits;
    return bits >= 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

/* Signed division wraps where the quotient is out of range: the least number by -1 is itself,
 * remainder 0. */
static uint64_t divide(pg_op op, pg_elem e, uint64_t a, uint64_t b, uint8_t *poison)
{
    bool is_bad = b == 0 || (op == PG_OP_ICDIV && ((int64_t)a < 0 || (int64_t)b < 0));
    if (is_bad) {
        *poison = 1;
        return 0;
    }
    uint64_t ua = unsign(e, a), ub = unsign(e, b);
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch ((int)op) {
    case PG_OP_UDIV: return ua / ub;
    case PG_OP_UREM: return ua % ub;
    case PG_OP_ICDIV: return (uint64_t)(sa / sb + (sa % sb != 0));
    case PG_OP_IDIV: return sb == -1 ? 0 - a : (uint64_t)(sa / sb);
    default: return sb == -1 ? 0 : (uint64_t)(sa % sb);
    }
}

static bool divisions(const pg_fold *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        f->out[i] = pg_elem_wrap(
            f->elem, divide(f->op, f->elem, f->in[0][i], f->in[1][i], &f->new_poison[i]));
    }
    return true;
}

static bool shifts(const pg_fold *f)
{
    uint32_t bits = pg_elem_infos[f->elem].bits;
    for (uint32_t i = 0; i < f->n; i++) {
        uint64_t a = f->in[0][i], to = 0, count = unsign(f->elem, f->in[1][i]);
        bool is_long = count >= bits;
        if (f->op == PG_OP_SHL) {
            to = is_long ? 0 : a << count;
        } else if (f->op == PG_OP_USHR) {
            to = is_long ? 0 : unsign(f->elem, a) >> count;
        } else {
            uint64_t sign = (int64_t)a < 0 ? UINT64_MAX : 0; /* i1 is 0 or 1: no sign */
            uint64_t by = is_long ? 63 : count;
            to = is_long ? sign : ((a ^ sign) >> by) ^ sign;
        }
        f->out[i] = pg_elem_wrap(f->elem, to);
    }
    return true;
}

static bool arithmetic(const pg_fold *f)
{
    const pg_elem e = f->elem;
    const uint64_t *x = f->in[0];
    const uint64_t *y = f->in[1] != NULL ? f->in[1] : x;
    uint64_t *out = f->out;
    switch ((int)f->op) {
    case PG_OP_IADD: EACH(to = a + b);
    case PG_OP_ISUB: EACH(to = a - b);
    case PG_OP_IMUL: EACH(to = a * b);
    case PG_OP_INEG: EACH(to = 0 - a);
    case PG_OP_IABS: EACH(to = (int64_t)a < 0 ? 0 - a : a);
    default: return false;
    }
}

static bool choices_and_bits(const pg_fold *f)
{
    const pg_elem e = f->elem;
    const uint64_t *x = f->in[0];
    const uint64_t *y = f->in[1];
    uint64_t *out = f->out;
    switch ((int)f->op) {
    case PG_OP_IMIN: EACH(to = (int64_t)a < (int64_t)b ? a : b);
    case PG_OP_IMAX: EACH(to = (int64_t)a > (int64_t)b ? a : b);
    case PG_OP_UMIN: EACH(to = a < b ? a : b); /* sign extension keeps the unsigned order */
    case PG_OP_UMAX: EACH(to = a > b ? a : b);
    case PG_OP_AND: EACH(to = a & b);
    case PG_OP_OR: EACH(to = a | b);
    case PG_OP_XOR: EACH(to = a ^ b);
    default: return false;
    }
}

bool pg_fold_int(const pg_fold *f)
{
    switch ((int)f->op) {
    case PG_OP_IADD:
    case PG_OP_ISUB:
    case PG_OP_IMUL: return pg_attr_has(f->attrs, PG_A_NW) ? no_wrap(f) : arithmetic(f);
    case PG_OP_INEG:
    case PG_OP_IABS: return arithmetic(f);
    case PG_OP_IDIV:
    case PG_OP_UDIV:
    case PG_OP_IREM:
    case PG_OP_UREM:
    case PG_OP_ICDIV: return divisions(f);
    case PG_OP_SHL:
    case PG_OP_ISHR:
    case PG_OP_USHR: return shifts(f);
    default: return choices_and_bits(f);
    }
}

static bool relation(int64_t is, bool is_less, bool is_equal)
{
    switch (is) {
    case PG_IS_EQ: return is_equal;
    case PG_IS_NE: return !is_equal;
    case PG_IS_LT: return is_less;
    case PG_IS_LE: return is_less || is_equal;
    case PG_IS_GT: return !is_less && !is_equal;
    default: return !is_less;
    }
}

static bool compare(const pg_fold *f)
{
    int64_t is = pg_attr_int(f->attrs, PG_A_IS, PG_IS_EQ);
    bool is_signed = f->op == PG_OP_ICMP;
    for (uint32_t i = 0; i < f->n; i++) {
        uint64_t a = f->in[0][i], b = f->in[1][i];
        f->out[i] = relation(is, is_signed ? (int64_t)a < (int64_t)b : a < b, a == b);
    }
    return true;
}

static bool compare_floats(const pg_fold *f)
{
    int64_t is = pg_attr_int(f->attrs, PG_A_IS, PG_IS_EQ);
    for (uint32_t i = 0; i < f->n; i++) {
        double a = pg_elem_to_f64(f->elem, f->in[0][i]), b = pg_elem_to_f64(f->elem, f->in[1][i]);
        bool is_nan = a != a || b != b;
        f->out[i] = is_nan ? is == PG_IS_NE : relation(is, a < b, a == b);
    }
    return true;
}

static bool select_elems(const pg_fold *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        f->out[i] = f->in[0][i] != 0 ? f->in[1][i] : f->in[2][i];
    }
    return true;
}

bool pg_fold_run(const pg_fold *f)
{
    if ((pg_op_infos[f->op].flags & PG_F_ELEM) == 0) {
        return false;
    }
    bool is_float = pg_elem_infos[f->elem].cls == 'F';
    switch ((int)f->op) {
    case PG_OP_ICMP:
    case PG_OP_UCMP: return !is_float && compare(f);
    case PG_OP_FCMP: return is_float && compare_floats(f);
    case PG_OP_SELECT: return select_elems(f);
    case PG_OP_CAST:
    case PG_OP_UCAST: return pg_fold_cast(f);
    default: return is_float ? pg_fold_float(f) : pg_fold_int(f);
    }
}

bool pg_fold_may_poison(pg_op op, const pg_attrs *attrs)
{
    switch ((int)op) {
    case PG_OP_IDIV:
    case PG_OP_UDIV:
    case PG_OP_IREM:
    case PG_OP_UREM:
    case PG_OP_ICDIV: return true;
    default: return pg_attr_has(attrs, PG_A_NW);
    }
}

/* The interface of interp.h: one value each, as the folder has them. */
bool pg_fold_elem(pg_op op, const pg_attrs *attrs, pg_elem elem, pg_elem res, const uint64_t *in,
                  uint64_t *out, bool *is_poison)
{
    const int8_t n_in = pg_op_infos[op].n_in; /* -1: any number */
    uint8_t new_poison = 0;
    *out = 0;
    *is_poison = false;
    if (n_in < 1 || n_in > 3) {
        return false;
    }
    pg_fold f = {
        op, attrs, elem,       res, {in, n_in > 1 ? in + 1 : NULL, n_in > 2 ? in + 2 : NULL},
        1,  out,   &new_poison};
    bool is_done = pg_fold_run(&f);
    *is_poison = is_done && new_poison != 0;
    return is_done && new_poison == 0;
}
