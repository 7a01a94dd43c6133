/* lower_f64.c: functions of f64, which PTX does not have: range reduction and a polynomial, in fma
 * arithmetic, without branches.
 *
 * Errors, measured over 4 million arguments each against 64-bit mantissas (test_double.c): exp and
 * exp2 1 ulp, rsqrt 1.5, erf 1.5, log2 2.5, tanh 3. Infinities, NaNs, zeros with their sign and
 * denormal arguments and results are as in C.
 *
 * I1  A NaN argument runs through: bounds are put on arguments by selections that a NaN fails, not
 *     by min and max, which give the number.
 * I2  Powers of two of results are multiplied in two halves, so that what is denormal is rounded
 *     once and what is too large becomes infinite.
 * I3  No call has two arguments that emit: C leaves their order open, and the text would depend on
 *     the compiler.
 *
 * The coefficients are minimax polynomials of our own (tools/fit/fit_f64.py derives and prints
 * them, highest power first). */
#include "emit/lower_int.h"

static const uint64_t expm1_tail[] = {/* expm1(r) = r + r^2 q(r), |r| <= ln 2 / 2 */
                                      0x3E21F9D9AEA07024, 0x3E5AF6C673521609, 0x3E927E4BF79D97A8,
                                      0x3EC71DDEFE0FA354, 0x3EFA01A01B425899, 0x3F2A01A01B392192,
                                      0x3F56C16C16C13673, 0x3F8111111110EC42, 0x3FA555555555555D,
                                      0x3FC555555555555B, 0x3FE0000000000000};
static const uint64_t exp2_tail[] = {/* 2^r = 1 + r q(r), |r| <= 1/2 */
                                     0x3DBC4DB4ACFD0F77, 0x3DFEA04A02367EF4, 0x3E3E4CEE7C054BC0,
                                     0x3E7B524DB0678A7F, 0x3EB62C0224DC6BDF, 0x3EEFFCBFC7604CA0,
                                     0x3F2430912F868CD4, 0x3F55D87FE78A2273, 0x3F83B2AB6FBA4E82,
                                     0x3FAC6B08D704A0D1, 0x3FCEBFBDFF82C58F, 0x3FE62E42FEFA39EF};
static const uint64_t log2_tail[] = {/* log2(m) = s (2 / ln 2 + z q(z)), z = s^2 */
                                     0x3FCB511940407890, 0x3FCC47C5A6C60DB8, 0x3FD0CA10FDCDDA39,
                                     0x3FD484AFD4741362, 0x3FDA61762D118CE3, 0x3FE2776C50EE7D69,
                                     0x3FEEC709DC3A0450};
static const uint64_t erf_tail[] = {/* erf(x) = x + x q(x^2), |x| <= 1 */
                                    0x3DD062758312654B, 0xBE138AC20A216464, 0x3E4F7B99C5ECBDE2,
                                    0xBE85F1F40D332D54, 0x3EBB9DF30563BFCA, 0xBEEF4D1E43413B90,
                                    0x3F1F9A321E4AD323, 0xBF4C02DB3DB48FCE, 0x3F7565BCD0DBD8ED,
                                    0xBF9B82CE31284F36, 0x3FBCE2F21A042B34, 0xBFD812746B0379E6,
                                    0x3FC06EBA8214DB69};
static const uint64_t erfc_log[] = {/* erfc(1 + t) = 2^q(t), 0 <= t <= 5 */
                                    0xBD9F45BE1F7C419D, 0x3DE7EF49BA68BDB6, 0xBE2083C2891032E5,
                                    0x3E4AA2A570322438, 0xBE6A1891BF4C1D10, 0x3E76C77965064087,
                                    0x3E93AD93BE64C260, 0xBEC9C6411310A031, 0x3EED411AAF463EA6,
                                    0xBF04925823ACB942, 0x3F03E3B67B2A31CD, 0x3F36701CB9983BB7,
                                    0xBF67603DA9EDB820, 0x3F8DA57641885A2F, 0xBFAEB3136862095C,
                                    0xBFF37627E9B5D726, 0xC00E75328FE78C30, 0xC00558EADA6637F3};

static const uint64_t log2_e = 0x3FF71547652B82FE;
static const uint64_t ln2_hi = 0x3FE62E42FEFA3800, ln2_lo = 0x3D2EF35793C76730; /* hi: 42 bits */
static const uint64_t two_log2_e_hi = 0x40071547652B82FE, two_log2_e_lo = 0x3C8777D0FFDA0D24;
static const uint64_t infinity = 0x7FF0000000000000, not_a_number = 0x7FF8000000000000;
static const uint64_t sqrt_half = 0x3FE6A09E667F3BCD;

/* ---- small parts ----------------------------------------------------------------------------- */

static pg_ptx_opnd num(double x)
{
    return pg_ptx_f64(pg_f64_bits(x));
}

static pg_ptx_opnd minus(uint64_t bits)
{
    return pg_ptx_f64(bits ^ UINT64_C(1) << 63);
}

static pg_ptx_opnd op1(pg_lw *c, const char *op, pg_ptx_opnd a)
{
    return pg_lw_opnd1(c, op, PG_PTX_F64, a);
}

static pg_ptx_opnd op2(pg_lw *c, const char *op, pg_ptx_opnd a, pg_ptx_opnd b)
{
    return pg_lw_opnd2(c, op, PG_PTX_F64, a, b);
}

static pg_ptx_opnd mul(pg_lw *c, pg_ptx_opnd a, pg_ptx_opnd b)
{
    return op2(c, "mul.rn.f64", a, b);
}

static pg_ptx_opnd add(pg_lw *c, pg_ptx_opnd a, pg_ptx_opnd b)
{
    return op2(c, "add.rn.f64", a, b);
}

static pg_ptx_opnd fma64(pg_lw *c, pg_ptx_opnd a, pg_ptx_opnd b, pg_ptx_opnd d)
{
    return pg_lw_opnd3(c, "fma.rn.f64", PG_PTX_F64, a, b, d);
}

/* a if `x is y`, else b. */
static pg_ptx_opnd if_is(pg_lw *c, const char *is, pg_ptx_opnd x, pg_ptx_opnd y, pg_ptx_opnd a,
                         pg_ptx_opnd b)
{
    return pg_lw_opnd3(c, "selp.f64", PG_PTX_F64, a, b, pg_lw_opnd2(c, is, PG_PTX_PRED, x, y));
}

static pg_ptx_opnd at_most(pg_lw *c, pg_ptx_opnd x, double most) /* I1 */
{
    return if_is(c, "setp.gt.f64", x, num(most), num(most), x);
}

static pg_ptx_opnd at_least(pg_lw *c, pg_ptx_opnd x, double least)
{
    return if_is(c, "setp.lt.f64", x, num(least), num(least), x);
}

static pg_ptx_opnd horner(pg_lw *c, pg_ptx_opnd x, const uint64_t *poly, uint32_t n)
{
    pg_ptx_opnd sum = pg_ptx_f64(poly[0]);
    for (uint32_t i = 1; i < n; i++) {
        sum = fma64(c, sum, x, pg_ptx_f64(poly[i]));
    }
    return sum;
}
#define HORNER(c, x, poly) horner(c, x, poly, PG_COUNT_OF(poly))

/* 2^k of a normal number; k is an i32. */
static pg_ptx_opnd power_of_two(pg_lw *c, pg_ptx_opnd k)
{
    pg_ptx_opnd biased = pg_lw_opnd2(c, "add.s32", PG_PTX_B32, k, pg_ptx_int(1023));
    biased = pg_lw_opnd1(c, "cvt.s64.s32", PG_PTX_B64, biased);
    return op1(c, "mov.b64", pg_lw_opnd2(c, "shl.b64", PG_PTX_B64, biased, pg_ptx_int(52)));
}

/* y * 2^k (I2). */
static pg_ptx_opnd scaled(pg_lw *c, pg_ptx_opnd y, pg_ptx_opnd k)
{
    pg_ptx_opnd half = pg_lw_opnd2(c, "shr.s32", PG_PTX_B32, k, pg_ptx_int(1));
    pg_ptx_opnd rest = pg_lw_opnd2(c, "sub.s32", PG_PTX_B32, k, half);
    y = mul(c, y, power_of_two(c, half));
    return mul(c, y, power_of_two(c, rest));
}

/* ---- the functions --------------------------------------------------------------------------- */

/* expm1(r) where x = k ln 2 + r; *k as an i32. */
static pg_ptx_opnd expm1_reduced(pg_lw *c, pg_ptx_opnd x, pg_ptx_opnd *k)
{
    pg_ptx_opnd turns = op1(c, "cvt.rni.f64.f64", mul(c, x, pg_ptx_f64(log2_e)));
    pg_ptx_opnd r = fma64(c, turns, minus(ln2_hi), x); /* exact: k has at most 11 bits */
    r = fma64(c, turns, minus(ln2_lo), r);
    *k = pg_lw_opnd1(c, "cvt.rni.s32.f64", PG_PTX_B32, turns);
    pg_ptx_opnd tail = HORNER(c, r, expm1_tail);
    return fma64(c, mul(c, r, r), tail, r);
}

static pg_ptx_opnd exp_f64(pg_lw *c, pg_ptx_opnd x)
{
    pg_ptx_opnd k;
    x = at_least(c, at_most(c, x, 710.0), -746.0);
    pg_ptx_opnd part = expm1_reduced(c, x, &k);
    return scaled(c, add(c, part, num(1.0)), k);
}

/* 2^r where x = k + r. */
static pg_ptx_opnd exp2_reduced(pg_lw *c, pg_ptx_opnd x, pg_ptx_opnd *k)
{
    pg_ptx_opnd whole = op1(c, "cvt.rni.f64.f64", x);
    pg_ptx_opnd r = op2(c, "sub.rn.f64", x, whole);
    *k = pg_lw_opnd1(c, "cvt.rni.s32.f64", PG_PTX_B32, whole);
    return fma64(c, r, HORNER(c, r, exp2_tail), num(1.0));
}

static pg_ptx_opnd exp2_f64(pg_lw *c, pg_ptx_opnd x)
{
    pg_ptx_opnd k;
    pg_ptx_opnd part = exp2_reduced(c, at_least(c, at_most(c, x, 1025.0), -1076.0), &k);
    return scaled(c, part, k);
}

/* x = 2^e m, m from sqrt(1/2) to sqrt(2), by the bits; log2(m) from s = (m - 1) / (m + 1). */
static pg_ptx_opnd log2_f64(pg_lw *c, pg_ptx_opnd x)
{
    pg_ptx_opnd least = num(0x1p-1022);
    pg_ptx_opnd y = if_is(c, "setp.lt.f64", x, least, mul(c, x, num(0x1p54)), x);
    pg_ptx_opnd denormal = if_is(c, "setp.lt.f64", x, least, num(-54.0), num(0.0));
    pg_ptx_opnd bits = pg_lw_opnd1(c, "mov.b64", PG_PTX_B64, y);
    pg_ptx_opnd e = pg_lw_opnd2(c, "sub.s64", PG_PTX_B64, bits, pg_ptx_int((int64_t)sqrt_half));
    e = pg_lw_opnd2(c, "shr.s64", PG_PTX_B64, e, pg_ptx_int(52));
    pg_ptx_opnd high = pg_lw_opnd2(c, "shl.b64", PG_PTX_B64, e, pg_ptx_int(52));
    pg_ptx_opnd m = op1(c, "mov.b64", pg_lw_opnd2(c, "sub.s64", PG_PTX_B64, bits, high));
    pg_ptx_opnd below = add(c, m, num(-1.0)), above = add(c, m, num(1.0));
    pg_ptx_opnd s = op2(c, "div.rn.f64", below, above);
    pg_ptx_opnd z = mul(c, s, s);
    pg_ptx_opnd tail = mul(c, s, pg_ptx_f64(two_log2_e_lo));
    pg_ptx_opnd sum = HORNER(c, z, log2_tail);
    tail = fma64(c, mul(c, s, z), sum, tail);
    pg_ptx_opnd part = fma64(c, s, pg_ptx_f64(two_log2_e_hi), tail);
    pg_ptx_opnd out = add(c, add(c, op1(c, "cvt.rn.f64.s64", e), denormal), part);
    out = if_is(c, "setp.eq.f64", x, pg_ptx_f64(infinity), x, out);
    out = if_is(c, "setp.eq.f64", x, num(0.0), minus(infinity), out);
    return if_is(c, "setp.ge.f64", x, num(0.0), out, pg_ptx_f64(not_a_number));
}

/* expm1(2 |x|) / (expm1(2 |x|) + 2), which is 1 from 20 on; exact where x is tiny. */
static pg_ptx_opnd tanh_f64(pg_lw *c, pg_ptx_opnd x)
{
    pg_ptx_opnd k;
    pg_ptx_opnd size = op1(c, "abs.f64", x);
    pg_ptx_opnd part = expm1_reduced(c, at_most(c, add(c, size, size), 44.0), &k);
    pg_ptx_opnd power = power_of_two(c, k);
    pg_ptx_opnd m = fma64(c, part, power, add(c, power, num(-1.0)));
    pg_ptx_opnd out = op2(c, "div.rn.f64", m, add(c, m, num(2.0)));
    return op2(c, "copysign.f64", x, out); /* sign of the first */
}

/* An odd polynomial up to 1, above 1 - 2^q(|x| - 1), which is 1 from 6 on. */
static pg_ptx_opnd erf_f64(pg_lw *c, pg_ptx_opnd x)
{
    pg_ptx_opnd k;
    pg_ptx_opnd size = op1(c, "abs.f64", x);
    pg_ptx_opnd small = fma64(c, HORNER(c, mul(c, x, x), erf_tail), x, x);
    pg_ptx_opnd t = add(c, at_most(c, size, 6.0), num(-1.0));
    pg_ptx_opnd rest = exp2_reduced(c, HORNER(c, t, erfc_log), &k);
    pg_ptx_opnd power = power_of_two(c, k);
    pg_ptx_opnd large = fma64(c, op1(c, "neg.f64", rest), power, num(1.0));
    large = op2(c, "copysign.f64", x, large);
    return if_is(c, "setp.gt.f64", size, num(1.0), large, small);
}

pg_ptx_opnd pg_lw_function_f64(pg_lw *c, pg_op op, pg_ptx_opnd x)
{
    switch (op) {
    case PG_OP_EXP: return exp_f64(c, x);
    case PG_OP_EXP2: return exp2_f64(c, x);
    case PG_OP_LOG2: return log2_f64(c, x);
    case PG_OP_TANH: return tanh_f64(c, x);
    case PG_OP_ERF: return erf_f64(c, x);
    default: /* rsqrt: two roundings */ return op1(c, "rcp.rn.f64", op1(c, "sqrt.rn.f64", x));
    }
}
