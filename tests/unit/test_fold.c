/* The one arithmetic against independent computing: small integers by exhaustion in wide integers,
 * every f16 pattern, floats against long double, and the corners by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "ir/elem.h"
#include "ir/interp.h"
#include "tests/draw.h"

static const pg_attrs no_attrs;

static pg_attr nw_attr = {.id = PG_A_NW, .val = {.kind = PG_AV_FLAG}};
static pg_attrs nw(void)
{
    return (pg_attrs){.at = &nw_attr, .n = 1};
}

typedef struct answer {
    uint64_t bits;
    bool is_done, is_poison;
} answer;

static answer fold(pg_op op, const pg_attrs *attrs, pg_elem elem, pg_elem res, const uint64_t *in)
{
    answer a = {0};
    a.is_done = pg_fold_elem(op, attrs, elem, res, in, &a.bits, &a.is_poison);
    return a;
}

static uint64_t fold2(pg_op op, pg_elem e, uint64_t a, uint64_t b)
{
    uint64_t in[2] = {a, b};
    answer r = fold(op, &no_attrs, e, e, in);
    cr_assert(r.is_done && !r.is_poison, "%s", pg_op_infos[op].text);
    return r.bits;
}

static uint64_t fold1(pg_op op, pg_elem e, pg_elem res, uint64_t a)
{
    answer r = fold(op, &no_attrs, e, res, &a);
    cr_assert(r.is_done && !r.is_poison, "%s", pg_op_infos[op].text);
    return r.bits;
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Range of a type and the value of b-bit patterns, by plain arithmetic. */
static int64_t as_signed(uint32_t bits, int64_t x)
{
    int64_t n = INT64_C(1) << bits;
    x = ((x % n) + n) % n;
    return bits > 1 && x >= n / 2 ? x - n : x;
}

static int64_t as_unsigned(uint32_t bits, int64_t x)
{
    int64_t n = INT64_C(1) << bits;
    return ((x % n) + n) % n;
}

/* What an operation gives, and whether it is poison. */
static int64_t want_int(pg_op op, uint32_t bits, int64_t a, int64_t b, bool *poison)
{
    int64_t ua = as_unsigned(bits, a), ub = as_unsigned(bits, b);
    *poison = false;
    switch ((int)op) {
    case PG_OP_IADD: return a + b;
    case PG_OP_ISUB: return a - b;
    case PG_OP_IMUL: return a * b;
    case PG_OP_IDIV: *poison = b == 0; return b == 0 ? 0 : a / b;
    case PG_OP_UDIV: *poison = b == 0; return b == 0 ? 0 : ua / ub;
    case PG_OP_IREM: *poison = b == 0; return b == 0 ? 0 : a % b;
    case PG_OP_UREM: *poison = b == 0; return b == 0 ? 0 : ua % ub;
    case PG_OP_ICDIV: *poison = b <= 0 || a < 0; return *poison ? 0 : (a + b - 1) / b;
    case PG_OP_IMIN: return a < b ? a : b;
    case PG_OP_IMAX: return a > b ? a : b;
    case PG_OP_UMIN: return ua < ub ? ua : ub;
    case PG_OP_UMAX: return ua > ub ? ua : ub;
    case PG_OP_AND: return ua & ub;
    case PG_OP_OR: return ua | ub;
    case PG_OP_XOR: return ua ^ ub;
    case PG_OP_SHL: return ub >= bits ? 0 : ua * (INT64_C(1) << ub);
    case PG_OP_USHR: return ub >= bits ? 0 : ua / (INT64_C(1) << ub);
    case PG_OP_ISHR:
        return ub >= bits ? (a < 0 ? -1 : 0)
                          : (int64_t)floor((double)a / (double)(INT64_C(1) << ub));
    default: cr_assert_fail("no rule"); return 0;
    }
}

Test(fold, all_pairs_of_small_integers)
{
    const pg_op ops[] = {PG_OP_IADD, PG_OP_ISUB,  PG_OP_IMUL, PG_OP_IDIV, PG_OP_UDIV, PG_OP_IREM,
                         PG_OP_UREM, PG_OP_ICDIV, PG_OP_IMIN, PG_OP_IMAX, PG_OP_UMIN, PG_OP_UMAX,
                         PG_OP_AND,  PG_OP_OR,    PG_OP_XOR,  PG_OP_SHL,  PG_OP_USHR, PG_OP_ISHR};
    const pg_elem elems[] = {PG_I1, PG_I8};
    for (uint32_t k = 0; k < 2; k++) {
        pg_elem e = elems[k];
        uint32_t bits = pg_elem_infos[e].bits;
        for (uint32_t o = 0; o < PG_COUNT_OF(ops); o++) {
            for (int64_t x = 0; x < 1 << bits; x++) {
                for (int64_t y = 0; y < 1 << bits; y++) {
                    int64_t a = as_signed(bits, x), b = as_signed(bits, y);
                    bool poison = false;
                    int64_t want = want_int(ops[o], bits, a, b, &poison);
                    uint64_t in[2] = {(uint64_t)a, (uint64_t)b};
                    answer got = fold(ops[o], &no_attrs, e, e, in);
                    cr_assert_eq(got.is_poison, poison);
                    cr_assert_eq(got.is_done, !poison);
                    cr_assert(poison || got.bits == (uint64_t)as_signed(bits, want), "%s %lld %lld",
                              pg_op_infos[ops[o]].text, (long long)a, (long long)b);
                    if (o < 3) {
                        pg_attrs promised = nw();
                        got = fold(ops[o], &promised, e, e, in);
                        cr_assert_eq(got.is_poison, as_signed(bits, want) != want);
                    }
                }
            }
        }
        for (int64_t x = 0; x < 1 << bits; x++) {
            int64_t a = as_signed(bits, x);
            cr_assert_eq(fold1(PG_OP_INEG, e, e, (uint64_t)a), (uint64_t)as_signed(bits, -a));
            cr_assert_eq(fold1(PG_OP_IABS, e, e, (uint64_t)a),
                         (uint64_t)as_signed(bits, a < 0 ? -a : a));
        }
    }
}

/* A number of any number of bits. */
static uint64_t any_length(uint64_t *s)
{
    uint64_t x = draw(s);
    return x >> (draw(s) % 64);
}

Test(fold, wide_integers)
{
    uint64_t seed = 88172645463325252u;
    const uint64_t corners[] = {0,
                                1,
                                2,
                                63,
                                64,
                                UINT64_MAX,
                                (uint64_t)INT64_MAX,
                                (uint64_t)INT64_MIN,
                                (uint64_t)INT64_MIN + 1,
                                UINT64_C(1) << 32};
    pg_attrs promised = nw();
    for (uint32_t k = 0; k < 100000; k++) {
        uint64_t a = k % 4 == 0 ? corners[draw(&seed) % 10] : any_length(&seed);
        uint64_t b = k % 3 == 0 ? corners[draw(&seed) % 10] : any_length(&seed);
        __extension__ typedef __int128 wide;
        wide sa = (int64_t)a, sb = (int64_t)b;
        wide exact[3] = {sa + sb, sa - sb, sa * sb};
        const pg_op ops[3] = {PG_OP_IADD, PG_OP_ISUB, PG_OP_IMUL};
        for (uint32_t o = 0; o < 3; o++) {
            uint64_t in[2] = {a, b};
            answer got = fold(ops[o], &promised, PG_I64, PG_I64, in);
            cr_assert_eq(got.is_poison, exact[o] != (wide)(int64_t)(uint64_t)exact[o]);
            cr_assert_eq(fold2(ops[o], PG_I64, a, b), (uint64_t)exact[o]);
        }
        cr_assert_eq(fold2(PG_OP_UMIN, PG_I64, a, b), a < b ? a : b);
        cr_assert_eq(fold2(PG_OP_SHL, PG_I64, a, b), b >= 64 ? 0 : a << b);
        if (b != 0) {
            cr_assert_eq(fold2(PG_OP_UDIV, PG_I64, a, b), a / b);
            cr_assert_eq(fold2(PG_OP_IDIV, PG_I64, a, b), (uint64_t)(sa / sb));
            cr_assert_eq(fold2(PG_OP_IREM, PG_I64, a, b), (uint64_t)(sa % sb));
        }
    }
    uint64_t least32 = (uint64_t)(int64_t)INT32_MIN;
    cr_assert_eq(fold2(PG_OP_IDIV, PG_I32, least32, UINT64_MAX), least32);
    cr_assert_eq(fold2(PG_OP_IREM, PG_I32, least32, UINT64_MAX), 0);
    cr_assert_eq(fold2(PG_OP_IADD, PG_I32, INT32_MAX, 1), least32);
    cr_assert_eq(fold1(PG_OP_IABS, PG_I32, PG_I32, least32), least32);
    cr_assert_eq(fold2(PG_OP_USHR, PG_I32, UINT64_MAX, 4), 0x0FFFFFFF);
    cr_assert_eq(fold2(PG_OP_ISHR, PG_I32, least32, 40), UINT64_MAX);
    cr_assert_eq(fold2(PG_OP_SHL, PG_I32, 1, UINT64_MAX), 0);
}

static uint64_t fold_is(pg_op op, int64_t is, pg_elem e, uint64_t a, uint64_t b)
{
    pg_attr attr = {.id = PG_A_IS, .val = {.kind = PG_AV_WORD, .num = is}};
    pg_attrs attrs = {.at = &attr, .n = 1};
    uint64_t in[2] = {a, b};
    answer r = fold(op, &attrs, e, PG_I1, in);
    cr_assert(r.is_done);
    return r.bits;
}

Test(fold, comparisons_and_select)
{
    for (int64_t a = -128; a < 128; a += 3) {
        for (int64_t b = -128; b < 128; b += 5) {
            const bool want[6] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
            uint8_t ua = (uint8_t)a, ub = (uint8_t)b;
            const bool uwant[6] = {ua == ub, ua != ub, ua<ub, ua <= ub, ua> ub, ua >= ub};
            float fa = (float)a, fb = (float)b;
            for (int is = PG_IS_EQ; is <= PG_IS_GE; is++) {
                cr_assert_eq(fold_is(PG_OP_ICMP, is, PG_I8, (uint64_t)a, (uint64_t)b), want[is]);
                cr_assert_eq(fold_is(PG_OP_UCMP, is, PG_I8, (uint64_t)a, (uint64_t)b), uwant[is]);
                cr_assert_eq(fold_is(PG_OP_FCMP, is, PG_F32, pg_f32_bits(fa), pg_f32_bits(fb)),
                             want[is]);
            }
        }
    }
    for (int is = PG_IS_EQ; is <= PG_IS_GE; is++) {
        cr_assert_eq(fold_is(PG_OP_FCMP, is, PG_F32, 0x7FC00000, pg_f32_bits(1)), is == PG_IS_NE);
    }
    cr_assert_eq(fold_is(PG_OP_FCMP, PG_IS_EQ, PG_F16, 0x8000, 0), 1);
    const uint64_t yes[3] = {1, 0x7FC12345, 7}, no[3] = {0, 9, 0x7FC12345};
    cr_assert_eq(fold(PG_OP_SELECT, &no_attrs, PG_F32, PG_F32, yes).bits, 0x7FC12345,
                 "a pattern is moved as it is");
    cr_assert_eq(fold(PG_OP_SELECT, &no_attrs, PG_F32, PG_F32, no).bits, 0x7FC12345);
    cr_assert_not(fold(PG_OP_SPLAT, &no_attrs, PG_F32, PG_F32, yes).is_done);
    cr_assert_not(fold(PG_OP_FADD, &no_attrs, PG_I32, PG_I32, no).is_done);
    cr_assert_not(fold(PG_OP_IADD, &no_attrs, PG_F32, PG_F32, no).is_done);
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* Nearest value of a small type by search among all patterns: nothing shared with the code under
 * test but decoding. */
static uint64_t nearest(pg_elem e, long double x)
{
    uint32_t inf = e == PG_F16 ? 0x7C00 : 0x7F80;
    bool is_neg = signbit(x);
    long double size = fabsl(x);
    uint32_t low = 0, high = inf;
    if (isnan(x)) {
        return 0x7FFF;
    }
    while (high - low > 1) { /* low <= size < high */
        uint32_t middle = (low + high) / 2;
        if ((long double)pg_elem_to_f64(e, middle) <= size) {
            low = middle;
        } else {
            high = middle;
        }
    }
    uint32_t pattern = size >= (long double)INFINITY ? inf : low;
    if (pattern != inf) {
        long double below = (long double)pg_elem_to_f64(e, low);
        long double top = e == PG_F16 ? 65536.0L : ldexpl(1, 128);
        long double above = high == inf ? top : (long double)pg_elem_to_f64(e, high);
        long double to_low = size - below, to_high = above - size;
        pattern = to_low < to_high || (to_low == to_high && low % 2 == 0) ? low : high;
    }
    return pattern | (is_neg ? 0x8000u : 0u);
}

Test(fold, every_f16_and_bf16_unary, .timeout = 60)
{
    const pg_elem elems[2] = {PG_F16, PG_BF16};
    for (uint32_t k = 0; k < 2; k++) {
        pg_elem e = elems[k];
        for (uint32_t p = 0; p < 1 << 16; p++) {
            long double x = (long double)pg_elem_to_f64(e, p);
            cr_assert_eq(fold1(PG_OP_FNEG, e, e, p), isnan(x) ? 0x7FFF : p ^ 0x8000);
            cr_assert_eq(fold1(PG_OP_FABS, e, e, p), isnan(x) ? 0x7FFF : p & 0x7FFF);
            cr_assert_eq(fold1(PG_OP_SQRT, e, e, p),
                         nearest(e, x < 0 ? (long double)NAN : sqrtl(x)), "%x", p);
            cr_assert_eq(fold1(PG_OP_CAST, e, PG_F32, p),
                         isnan(x) ? 0x7FFFFFFF : pg_f32_bits((float)x));
            cr_assert_eq(fold1(PG_OP_CAST, e, PG_F64, p),
                         isnan(x) ? UINT64_C(0x7FF8000000000000) : pg_f64_bits((double)x));
            if (p % 7 == 0) {
                cr_assert_eq(fold1(PG_OP_EXP, e, e, p), nearest(e, expl(x)));
                cr_assert_eq(fold1(PG_OP_EXP2, e, e, p), nearest(e, exp2l(x)));
                cr_assert_eq(fold1(PG_OP_LOG2, e, e, p),
                             nearest(e, x < 0 ? (long double)NAN : log2l(x)));
                cr_assert_eq(fold1(PG_OP_RSQRT, e, e, p),
                             nearest(e, x < 0 ? (long double)NAN : 1 / sqrtl(x)));
                cr_assert_eq(fold1(PG_OP_TANH, e, e, p), nearest(e, tanhl(x)));
            }
        }
    }
}

Test(fold, small_float_pairs)
{
    uint64_t seed = 12345;
    const pg_elem elems[2] = {PG_F16, PG_BF16};
    for (uint32_t k = 0; k < 200000; k++) {
        pg_elem e = elems[k % 2];
        uint64_t a = draw(&seed) & 0xFFFF, b = draw(&seed) & 0xFFFF;
        if (k % 8 < 4) {
            b = (a & 0xFF80) ^ (b & 0x83FF); /* exponents near each other */
        }
        long double x = (long double)pg_elem_to_f64(e, a), y = (long double)pg_elem_to_f64(e, b);
        /* One rounding to f32 before the one to the type is harmless: 24 bits are more than twice
         * 11, and 2. */
        cr_assert_eq(fold2(PG_OP_FADD, e, a, b), nearest(e, (long double)(float)(x + y)));
        cr_assert_eq(fold2(PG_OP_FSUB, e, a, b), nearest(e, (long double)(float)(x - y)));
        cr_assert_eq(fold2(PG_OP_FMUL, e, a, b), nearest(e, (long double)(float)(x * y)));
        cr_assert_eq(fold2(PG_OP_FDIV, e, a, b), nearest(e, (long double)(float)(x / y)),
                     "%llx %llx", (unsigned long long)a, (unsigned long long)b);
    }
}

Test(fold, f32_and_f64)
{
    uint64_t seed = 999;
    for (uint32_t k = 0; k < 200000; k++) {
        float a = pg_f32_of_bits((uint32_t)draw(&seed)), b = pg_f32_of_bits((uint32_t)draw(&seed));
        if (k % 2 == 0) {
            b = pg_f32_of_bits((pg_f32_bits(a) & 0x7F800000) ^ (pg_f32_bits(b) & 0x807FFFFF));
        }
        uint64_t x = pg_f32_bits(a), y = pg_f32_bits(b);
        /* Double has more than twice the bits of float, and two: rounding twice is rounding once.
         */
        const double want[4] = {(double)a + b, (double)a - b, (double)a * b, (double)a / b};
        const pg_op ops[4] = {PG_OP_FADD, PG_OP_FSUB, PG_OP_FMUL, PG_OP_FDIV};
        for (uint32_t o = 0; o < 4; o++) {
            float f = (float)want[o];
            cr_assert_eq(fold2(ops[o], PG_F32, x, y), isnan(f) ? 0x7FFFFFFF : pg_f32_bits(f));
        }
        float root = (float)sqrt((double)a);
        cr_assert_eq(fold1(PG_OP_SQRT, PG_F32, PG_F32, x),
                     isnan(root) ? 0x7FFFFFFF : pg_f32_bits(root));
        double da = pg_f64_of_bits(draw(&seed)), db = pg_f64_of_bits(draw(&seed));
        double sum = da + db;
        cr_assert_eq(fold2(PG_OP_FADD, PG_F64, pg_f64_bits(da), pg_f64_bits(db)),
                     isnan(sum) ? UINT64_C(0x7FF8000000000000) : pg_f64_bits(sum));
        float narrow = (float)da;
        cr_assert_eq(fold1(PG_OP_CAST, PG_F64, PG_F32, pg_f64_bits(da)),
                     isnan(narrow) ? 0x7FFFFFFF : pg_f32_bits(narrow));
        cr_assert_eq(fold1(PG_OP_CAST, PG_F64, PG_F16, pg_f64_bits(da)),
                     nearest(PG_F16, (long double)da));
        cr_assert_eq(fold1(PG_OP_CAST, PG_F32, PG_BF16, x), nearest(PG_BF16, (long double)a));
    }
}

Test(fold, fma_rounds_once)
{
    uint64_t seed = 4242;
    for (uint32_t k = 0; k < 100000; k++) {
        float a = 1 + (float)(draw(&seed) % 8388608) / 8388608.0f,
              b = 1 + (float)(draw(&seed) % 8388608) / 8388608.0f;
        const float far = (float)(int64_t)(draw(&seed) % 1000) - 500.0f;
        const float c = k % 2 == 0 ? -(a * b) : ldexpf(far, -(int)(draw(&seed) % 30));
        const uint64_t in[3] = {pg_f32_bits(a), pg_f32_bits(b), pg_f32_bits(c)};
        /* 48 bits of product and 24 of the addend within 2^64: exact in 128 bits. */
        __extension__ typedef __int128 wide;
        wide exact = (wide)llrintf(ldexpf(a, 23)) * llrintf(ldexpf(b, 23)) * ((wide)1 << 20) +
                     (wide)ldexpl((long double)c, 66);
        long double high = (long double)(int64_t)(exact >> 40),
                    low = (long double)(int64_t)(exact & (((wide)1 << 40) - 1));
        if (k % 2 == 0) {
            float want = (float)ldexpl(high * ldexpl(1, 40) + low, -66);
            cr_assert_eq(fold(PG_OP_FMA, &no_attrs, PG_F32, PG_F32, in).bits, pg_f32_bits(want));
        }
        cr_assert_eq(fold(PG_OP_FMA, &no_attrs, PG_F32, PG_F32, in).bits,
                     pg_f32_bits(fmaf(a, b, c)));
    }
    /* The product alone would round to 1 + 2^-22; with -1 - 2^-22 the rest is left. */
    float e = ldexpf(1, -23);
    const uint64_t in[3] = {pg_f32_bits(1 + e), pg_f32_bits(1 + e), pg_f32_bits(-1 - 2 * e)};
    cr_assert_eq(fold(PG_OP_FMA, &no_attrs, PG_F32, PG_F32, in).bits, pg_f32_bits(ldexpf(1, -46)));
    /* f16: the product stays in f32. */
    const uint64_t half[3] = {0x3C01, 0x3C01, 0xBC02};
    cr_assert_eq(fold(PG_OP_FMA, &no_attrs, PG_F16, PG_F16, half).bits,
                 nearest(PG_F16, ldexpl(1, -20)));
}

Test(fold, minimum_maximum_remainder)
{
    const uint64_t nan = 0x7FC00001, one = 0x3F800000, pz = 0, nz = 0x80000000;
    cr_assert_eq(fold2(PG_OP_FMIN, PG_F32, nan, one), one);
    cr_assert_eq(fold2(PG_OP_FMAX, PG_F32, one, nan), one);
    cr_assert_eq(fold2(PG_OP_FMIN, PG_F32, nan, nan), 0x7FFFFFFF);
    cr_assert_eq(fold2(PG_OP_FMIN, PG_F32, pz, nz), nz);
    cr_assert_eq(fold2(PG_OP_FMIN, PG_F32, nz, pz), nz);
    cr_assert_eq(fold2(PG_OP_FMAX, PG_F32, pz, nz), pz);
    cr_assert_eq(fold2(PG_OP_FMAX, PG_F32, nz, pz), pz);
    cr_assert_eq(fold2(PG_OP_FMAX, PG_F64, pg_f64_bits(-2), pg_f64_bits(3)), pg_f64_bits(3));
    cr_assert_eq(fold2(PG_OP_FREM, PG_F32, pg_f32_bits(7.5f), pg_f32_bits(-2)), pg_f32_bits(1.5f));
    cr_assert_eq(fold2(PG_OP_FREM, PG_F32, pg_f32_bits(-7.5f), pg_f32_bits(2)), pg_f32_bits(-1.5f));
    cr_assert_eq(fold2(PG_OP_FREM, PG_F16, 0x4700, 0x4000), nearest(PG_F16, 1));
    cr_assert_eq(fold2(PG_OP_FREM, PG_F32, one, pz), 0x7FFFFFFF);
    /* Subnormals are kept. */
    cr_assert_eq(fold2(PG_OP_FADD, PG_F32, 1, 1), 2);
    cr_assert_eq(fold2(PG_OP_FMUL, PG_F32, 0x00800000, pg_f32_bits(0.5f)), 0x00400000);
    cr_assert_eq(fold2(PG_OP_FADD, PG_F16, 1, 1), 2);
}

/* ---- casts ----------------------------------------------------------------------------------- */

Test(fold, casts_to_integers_saturate)
{
    const pg_elem ints[] = {PG_I1, PG_I8, PG_I16, PG_I32, PG_I64};
    const double xs[] = {0,
                         -0.5,
                         0.99,
                         1,
                         1.5,
                         -1,
                         -1.5,
                         127.9,
                         128,
                         -128.9,
                         -129,
                         255.5,
                         256,
                         32767.5,
                         -32769,
                         65535.9,
                         65536,
                         2147483647.5,
                         2147483648.0,
                         -2147483648.5,
                         -2147483649.0,
                         4294967295.5,
                         4294967296.0,
                         9.3e18,
                         -9.3e18,
                         1.9e19,
                         1e300,
                         -1e300};
    for (uint32_t k = 0; k < PG_COUNT_OF(ints); k++) {
        uint32_t bits = pg_elem_infos[ints[k]].bits;
        for (uint32_t i = 0; i < PG_COUNT_OF(xs); i++) {
            long double least = bits == 1 ? 0 : -ldexpl(1, (int)bits - 1),
                        most = bits == 1 ? 1 : ldexpl(1, (int)bits - 1) - 1;
            long double whole = truncl((long double)xs[i]), umost = ldexpl(1, (int)bits) - 1;
            long double s = whole < least ? least : whole > most ? most : whole;
            long double u = whole < 0 ? 0 : whole > umost ? umost : whole;
            cr_assert_eq(fold1(PG_OP_CAST, PG_F64, ints[k], pg_f64_bits(xs[i])),
                         pg_elem_wrap(ints[k], (uint64_t)(int64_t)s));
            cr_assert_eq(fold1(PG_OP_UCAST, PG_F64, ints[k], pg_f64_bits(xs[i])),
                         pg_elem_wrap(ints[k], (uint64_t)u), "%g", xs[i]);
        }
        cr_assert_eq(fold1(PG_OP_CAST, PG_F64, ints[k], UINT64_C(0x7FF8000000000000)), 0);
        cr_assert_eq(fold1(PG_OP_UCAST, PG_F32, ints[k], 0x7FC00000), 0);
    }
}

/* To 11 bits, or to the step of the smallest; ties away from 0. */
static uint64_t nearest_tf32(long double x)
{
    int exponent = 0;
    (void)frexpl(x, &exponent);
    const long double step = ldexpl(1, exponent - 11 < -136 ? -136 : exponent - 11);
    const long double size = isinf(x) ? fabsl(x) : roundl(fabsl(x) / step) * step;
    return pg_f32_bits(signbit(x) ? -(float)size : (float)size);
}

Test(fold, casts_to_tf32_round_once_with_ties_away)
{
    uint64_t seed = 4711;
    for (uint32_t k = 0; k < 200000; k++) {
        const uint32_t f = (uint32_t)draw(&seed) & (k % 3 == 0 ? 0xFFFFF000u : 0xFFFFFFFFu);
        const uint64_t got = fold1(PG_OP_CAST, PG_F32, PG_TF32, f);
        if ((f & 0x7FFFFFFFu) > 0x7F800000u) {
            cr_assert_eq(got, 0x7FC00000);
        } else { /* as hardware does it, on the pattern */
            cr_assert_eq(got, (f + 0x1000u) & 0xFFFFE000u, "%x", f);
        }
        double d = pg_f64_of_bits(draw(&seed) & UINT64_C(0xFFFFFFFFFFFF0000));
        const int small = (int)(draw(&seed) % 210);
        d = k % 2 == 0 ? d : ldexp((double)(int64_t)draw(&seed), -small);
        if (!isnan(d)) {
            cr_assert_eq(fold1(PG_OP_CAST, PG_F64, PG_TF32, pg_f64_bits(d)), nearest_tf32(d), "%a",
                         d);
        }
        const uint64_t i = any_length(&seed);
        cr_assert_eq(fold1(PG_OP_UCAST, PG_I64, PG_TF32, i), nearest_tf32((long double)i));
        cr_assert_eq(fold1(PG_OP_CAST, PG_I64, PG_TF32, i), nearest_tf32((long double)(int64_t)i));
    }
    cr_assert_eq(fold1(PG_OP_CAST, PG_F64, PG_TF32, pg_f64_bits(1.0 + 0x1p-11 - 0x1p-50)),
                 0x3F800000);
    cr_assert_eq(fold1(PG_OP_CAST, PG_F64, PG_TF32, pg_f64_bits(-1.0 - 0x1p-11)), 0xBF802000);
    cr_assert_eq(fold1(PG_OP_CAST, PG_TF32, PG_F16, 0x3F802000), 0x3C01);
    cr_assert_eq(fold1(PG_OP_CAST, PG_TF32, PG_F32, 0x3F802000), 0x3F802000);
}

Test(fold, casts_from_integers_round_once)
{
    uint64_t seed = 77;
    const pg_elem floats[] = {PG_F16, PG_BF16, PG_F32, PG_F64};
    for (uint32_t k = 0; k < 50000; k++) {
        uint64_t x = any_length(&seed);
        if (k % 4 == 0) { /* just beside a tie of bf16 or f32 */
            uint32_t p = k % 8 == 0 ? 8 : 24;
            x = (x | UINT64_C(1) << 63) >> (64 - p) << (64 - p);
            x = (x | UINT64_C(1) << (63 - p)) + (k % 3) - 1;
        }
        for (uint32_t f = 0; f < 4; f++) {
            long double values[2] = {(long double)(int64_t)x,
                                     (long double)x}; /* 64 bits of mantissa: exact */
            for (uint32_t u = 0; u < 2; u++) {
                uint64_t got = fold1(u ? PG_OP_UCAST : PG_OP_CAST, PG_I64, floats[f], x), want = 0;
                if (f < 2) {
                    want = nearest(floats[f], values[u]);
                } else {
                    want = f == 2 ? pg_f32_bits((float)values[u]) : pg_f64_bits((double)values[u]);
                }
                cr_assert_eq(got, want, "%llx", (unsigned long long)x);
            }
        }
    }
    cr_assert_eq(fold1(PG_OP_CAST, PG_I8, PG_F32, UINT64_MAX), pg_f32_bits(-1));
    cr_assert_eq(fold1(PG_OP_UCAST, PG_I8, PG_F32, UINT64_MAX), pg_f32_bits(255));
    cr_assert_eq(fold1(PG_OP_CAST, PG_I1, PG_F32, 1), pg_f32_bits(1));
    cr_assert_eq(fold1(PG_OP_CAST, PG_I1, PG_I32, 1), 1);
    cr_assert_eq(fold1(PG_OP_CAST, PG_I8, PG_I32, UINT64_MAX), UINT64_MAX);
    cr_assert_eq(fold1(PG_OP_UCAST, PG_I8, PG_I32, UINT64_MAX), 255);
    cr_assert_eq(fold1(PG_OP_CAST, PG_I32, PG_I8, 0x1FF), UINT64_MAX);
    cr_assert_eq(fold1(PG_OP_CAST, PG_I32, PG_I1, 6), 0, "the low bit");
    cr_assert_eq(fold1(PG_OP_CAST, PG_I32, PG_F16, 70000), 0x7C00);
}
