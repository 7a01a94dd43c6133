/* ops_half.c: small floating formats, and arithmetic on f16, bf16 and their pairs: computed as if
 * exactly, rounded once. A double holds every f16 and bf16 and every product of two; sums are
 * rounded to odd first, after which one more rounding (to 11 bits or less) is a single rounding of
 * the exact value. */
#include <math.h>

#include "tools/exec/ops.h"

typedef struct format {
    uint32_t e_bits, m_bits;
    bool has_inf;
    uint32_t nan;
} format;

static const format formats[] = {
    [PE_FMT_F16] = {5, 10, true, 0x7FFF},   [PE_FMT_BF16] = {8, 7, true, 0x7FFF},
    [PE_FMT_TF32] = {8, 10, true, 0x3FFFF}, [PE_FMT_F32] = {8, 23, true, 0x7FFFFFFF},
    [PE_FMT_E4M3] = {4, 3, false, 0x7F},    [PE_FMT_E5M2] = {5, 2, true, 0x7F}};

double pe_small_to_f64(uint32_t bits, pe_fmt fmt)
{
    const format *f = &formats[fmt];
    uint32_t m = bits & ((1u << f->m_bits) - 1u);
    uint32_t e_max = (1u << f->e_bits) - 1u;
    uint32_t e = bits >> f->m_bits & e_max;
    bool is_negative = (bits >> (f->m_bits + f->e_bits) & 1u) != 0;
    int bias = (1 << (f->e_bits - 1)) - 1;
    double v;
    if (e != 0 && e != e_max) { /* most values: a double has room for all of it */
        int exponent = (int)e - bias + 1023;
        return pe_f64((uint64_t)is_negative << 63 | (uint64_t)exponent << 52 |
                      (uint64_t)m << (52 - f->m_bits));
    }
    if (f->has_inf ? e == e_max : (e == e_max && m == (1u << f->m_bits) - 1u)) {
        v = m != 0 ? (double)NAN : (double)INFINITY;
    } else {
        v = ldexp((double)(e != 0 ? m | 1u << f->m_bits : m),
                  (int)(e != 0 ? e : 1) - bias - (int)f->m_bits);
    }
    return is_negative ? -v : v;
}

/* Whether a magnitude whose kept part is `is_odd` and whose rest compares with one half as `rest`
 * goes up. */
static bool rounds_up(uint32_t mode, bool is_negative, bool is_odd, int rest)
{
    switch (mode) {
    case PE_RZ: return false;
    case PE_RM: return is_negative;
    case PE_RP: return !is_negative;
    case PE_RNA: return rest >= 0;
    default: return rest > 0 || (rest == 0 && is_odd);
    }
}

uint32_t pe_f64_to_small(double x, pe_fmt fmt, uint32_t mode)
{
    const format *f = &formats[fmt];
    uint64_t b = pe_b64(x);
    bool is_negative = b >> 63 != 0;
    uint32_t sign = (is_negative ? 1u : 0u) << (f->m_bits + f->e_bits);
    uint32_t top = ((1u << f->e_bits) - 1u) << f->m_bits; /* infinity, or e4m3's last binade */
    if (x != x) {
        return f->nan;
    }
    uint32_t largest = f->has_inf ? top - 1 : f->nan - 1;
    if (isinf(x)) {
        return sign | (f->has_inf ? top : f->nan);
    }
    if (x == 0) {
        return sign;
    }
    int exponent = (int)(b >> 52 & 0x7FFu) - 1022; /* |x| = frac * 2^exponent, frac in [0.5, 1) */
    uint64_t m = (b & 0xFFFFFFFFFFFFFu) | UINT64_C(1) << 52; /* frac * 2^53 */
    if (exponent == -1022) {                                 /* no normal double */
        m = (uint64_t)ldexp(frexp(fabs(x), &exponent), 53);
    }
    int bias = (1 << (f->e_bits - 1)) - 1;
    int e = exponent - 1 + bias; /* biased; 1 is the least normal */
    int drop = 52 - (int)f->m_bits + (e < 1 ? 1 - e : 0);
    uint64_t kept = 0;
    int rest = -1; /* less than one half, not zero */
    bool is_exact = false;
    if (drop <= 54) {
        uint64_t low = m & ((UINT64_C(1) << drop) - 1);
        uint64_t half = UINT64_C(1) << (drop - 1);
        kept = drop < 54 ? m >> drop : 0;
        rest = low > half ? 1 : low == half ? 0 : -1;
        is_exact = low == 0;
    }
    uint32_t r = (uint32_t)kept;
    if (e >= 1) {
        /* r carries the hidden bit: adding it to the exponent field wants one less */
        r += (uint32_t)(e - 1) << f->m_bits;
    }
    if (!is_exact && rounds_up(mode, is_negative, (kept & 1) != 0, rest)) {
        r++;
    }
    if (e > 2 * bias + 2 || r > largest) {
        bool is_up = rounds_up(mode, is_negative, true, 1);
        r = is_up ? (f->has_inf ? top : f->nan) : largest;
    }
    return sign | r;
}

double pe_add_odd(double a, double b)
{
    double s = a + b;
    if (isinf(s) || s != s) {
        return s;
    }
    double bb = s - a;
    double err = (a - (s - bb)) + (b - bb);
    uint64_t bits = pe_b64(s);
    if (err != 0 && (bits & 1) == 0) {
        /* Exact value lies between s and its neighbour towards err, whose last bit is odd. */
        bool is_up = (err > 0) == (s > 0);
        bits = is_up ? bits + 1 : bits - 1;
    }
    return pe_f64(bits);
}

static bool is_pair(uint32_t type)
{
    return type == PG_PTX_F16X2 || type == PG_PTX_BF16X2;
}

static pe_fmt fmt_of(uint32_t type)
{
    return type == PG_PTX_BF16 || type == PG_PTX_BF16X2 ? PE_FMT_BF16 : PE_FMT_F16;
}

enum { H_FTZ = 8, H_SAT = 16, H_RELU = 32, H_MAX = 64, H_NAN = 128, H_XORSIGN = 256, H_OOB = 512 };

static uint32_t flush_half(uint32_t x, const pe_inst *i)
{
    return (i->op & H_FTZ) != 0 && (x & 0x7C00u) == 0 ? x & 0x8000u : x;
}

static double value_of(uint32_t bits, pe_fmt fmt)
{
    return fmt == PE_FMT_F16 ? (double)pe_f16_value(bits) : (double)pe_f32(bits << 16);
}

/* .oob: what a tensor copy fills in for elements outside of the tensor (pe_tmap_fill). */
static bool is_outside(uint32_t x, pe_fmt fmt)
{
    return (x & 0xFFFFu) == (fmt == PE_FMT_F16 ? 0x7E00u : 0x7FC0u);
}

static uint32_t arith_one(const pe_inst *i, uint32_t x, uint32_t y, uint32_t z)
{
    pe_fmt fmt = fmt_of(i->type);
    if ((i->op & H_OOB) != 0 && (is_outside(x, fmt) || is_outside(y, fmt) || is_outside(z, fmt))) {
        return 0;
    }
    double a = value_of(flush_half(x & 0xFFFFu, i), fmt);
    double b = value_of(flush_half(y & 0xFFFFu, i), fmt);
    double c = value_of(flush_half(z & 0xFFFFu, i), fmt);
    double v = i->n == '+'   ? pe_add_odd(a, b)
               : i->n == '-' ? pe_add_odd(a, -b)
               : i->n == '*' ? a * b
                             : pe_add_odd(a * b, c);
    uint32_t r = flush_half(pe_f64_to_small(v, fmt, i->op & 7u), i);
    if ((i->op & H_RELU) != 0 && (r & 0x8000u) != 0) {
        r = 0;
    }
    if ((i->op & H_SAT) != 0) {
        r = v != v || v <= 0 ? 0 : v >= 1 ? pe_f64_to_small(1.0, fmt, PE_RN) : r;
    }
    return r;
}

static uint32_t arith(const pe_inst *i, uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t r = arith_one(i, x, y, z);
    return is_pair(i->type) ? r | arith_one(i, x >> 16, y >> 16, z >> 16) << 16 : r;
}

PE_OP2(half_2, 32, arith(i, x, y, 0))
PE_OP3(half_3, 32, arith(i, x, y, z))

/* f16 to nearest, the usual case, in f32: products are exact there, and a sum rounded to 24 bits
 * first rounds to 11 as the exact one does (24 >= 2 * 11 + 2; subnormal sums are exact). */
#define HALF(name, op)                                                                  \
    static inline uint32_t name##_pair(uint32_t x, uint32_t y)                          \
    {                                                                                   \
        uint32_t low = pe_f16_bits(pe_f16_value(x) op pe_f16_value(y));                 \
        return low | pe_f16_bits(pe_f16_value(x >> 16) op pe_f16_value(y >> 16)) << 16; \
    }                                                                                   \
    PE_OP2(name##_f16, 32, pe_f16_bits(pe_f16_value(x) op pe_f16_value(y)))             \
    PE_OP2(name##_f16x2, 32, name##_pair(x, y))
HALF(plus, +)
HALF(minus, -)
HALF(times, *)

static pe_fn usual_f16(const pe_inst *i)
{
    bool is_usual = i->op == PE_RN && fmt_of(i->type) == PE_FMT_F16;
    bool is_two = is_pair(i->type);
    return !is_usual     ? half_2
           : i->n == '+' ? (is_two ? plus_f16x2 : plus_f16)
           : i->n == '-' ? (is_two ? minus_f16x2 : minus_f16)
                         : (is_two ? times_f16x2 : times_f16);
}

void pe_half_arith(pe_dec *d, pg_ptx_type t, char op)
{
    (void)pe_take(d, "rnd");
    uint32_t mode = pe_take_round(d);
    d->i.op = (uint16_t)mode;
    d->i.op |= pe_take(d, "ftz") ? H_FTZ : 0;
    d->i.op |= pe_take(d, "sat") ? H_SAT : 0;
    d->i.op |= op == 'f' && pe_take(d, "relu") ? H_RELU : 0;
    d->i.op |= op == 'f' && pe_take(d, "oob") ? H_OOB : 0;
    d->i.n = (uint8_t)op;
    d->i.type = (uint16_t)t;
    if (op == 'f') {
        pe_end3(d, t, half_3);
    } else {
        pe_end2(d, t, usual_f16(&d->i));
    }
}

static uint32_t minmax_one(const pe_inst *i, uint32_t x, uint32_t y)
{
    x = flush_half(x & 0xFFFFu, i);
    y = flush_half(y & 0xFFFFu, i);
    uint32_t sign = (i->op & H_XORSIGN) != 0 ? (x ^ y) & 0x8000u : 0;
    x &= (i->op & H_XORSIGN) != 0 ? 0x7FFFu : 0xFFFFu;
    y &= (i->op & H_XORSIGN) != 0 ? 0x7FFFu : 0xFFFFu;
    double a = pe_small_to_f64(x, fmt_of(i->type));
    double b = pe_small_to_f64(y, fmt_of(i->type));
    if (a != a || b != b) {
        bool is_nan = (i->op & H_NAN) != 0 || (a != a && b != b);
        return is_nan ? 0x7FFFu : (a != a ? y : x) | sign;
    }
    bool is_less = a < b || (a == b && x >> 15 > y >> 15);
    return (is_less == ((i->op & H_MAX) != 0) ? y : x) | sign;
}

PE_OP2(half_minmax, 32,
       minmax_one(i, x, y) | (is_pair(i->type) ? minmax_one(i, x >> 16, y >> 16) << 16 : 0))

void pe_half_minmax(pe_dec *d, pg_ptx_type t, bool is_max)
{
    d->i.op = is_max ? H_MAX : 0;
    d->i.op |= pe_take(d, "ftz") ? H_FTZ : 0;
    d->i.op |= pe_take(d, "NaN") ? H_NAN : 0;
    d->i.op |= pe_take(d, "xorsign") && pe_take(d, "abs") ? H_XORSIGN : 0;
    d->i.type = (uint16_t)t;
    pe_end2(d, t, half_minmax);
}
