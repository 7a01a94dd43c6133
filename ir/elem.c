#include "ir/elem.h"

#include <math.h>

/* The 8-bit floats: mantissa bits, exponent bias, largest finite pattern, what lies above it. */
typedef struct small_float {
    uint32_t n_mant;
    int32_t bias;
    uint8_t top, over, nan;
} small_float;
static const small_float e4m3 = {3, 7, 0x7E, 0x7F, 0x7F};
static const small_float e5m2 = {2, 15, 0x7B, 0x7C, 0x7E};

static double small_to_f64(const small_float *f, uint32_t pattern)
{
    int32_t exp = (int32_t)(pattern >> f->n_mant);
    double mant = (double)(pattern & ((1u << f->n_mant) - 1));
    double one = (double)(1u << f->n_mant);
    return exp == 0 ? ldexp(mant / one, 1 - f->bias) : ldexp(1 + mant / one, exp - f->bias);
}

/* Patterns of one sign are ordered like their values, so the nearest is found by bisection. */
static uint8_t small_of_f64(const small_float *f, double x)
{
    uint8_t sign = signbit(x) ? 0x80 : 0;
    double size = fabs(x);
    if (isnan(x)) {
        return f->nan;
    }
    uint32_t low = 0;
    uint32_t high = f->top;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (small_to_f64(f, middle) <= size) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    double below = small_to_f64(f, low);
    double above = small_to_f64(f, low + 1); /* past the top: where the next binade step would be */
    bool is_up = size - below > above - size || (size - below == above - size && (low & 1) != 0);
    low += is_up ? 1 : 0;
    return (uint8_t)(sign | (low > f->top ? f->over : low));
}

static double small_value(const small_float *f, uint64_t bits)
{
    uint32_t pattern = (uint32_t)(bits & 0x7F);
    double sign = (bits & 0x80) != 0 ? -1.0 : 1.0;
    if (pattern > f->top) {
        return pattern == f->over && f->over != f->nan ? sign * (double)INFINITY : (double)NAN;
    }
    return sign * small_to_f64(f, pattern);
}

/* An f32 whose last 13 mantissa bits are 0: rounded once, ties away from zero, as `cvt.rna`. */
static uint64_t tf32_of_f64(double x)
{
    const double least = 0x1p-126, step = 0x1p-136; /* normal number, distance of smaller ones */
    double size = fabs(x);
    if (isnan(x)) {
        return 0x7FC00000u;
    }
    if (size < least) {
        const double below = floor(size / step);
        size = (size / step - below >= 0.5 ? below + 1 : below) * step;
    } else {
        const uint64_t half = UINT64_C(1) << 41;
        size = pg_f64_of_bits((pg_f64_bits(size) + half) & ~(2 * half - 1));
    }
    return pg_f32_bits((float)copysign(size, x));
}

uint64_t pg_elem_of_f64(pg_elem e, double x)
{
    if (e == PG_F16) {
        return pg_f64_to_f16(x);
    }
    if (e == PG_BF16) {
        return pg_f64_to_bf16(x);
    }
    if (e == PG_F32) {
        return pg_f32_bits((float)x);
    }
    if (e == PG_F64) {
        return pg_f64_bits(x);
    }
    if (e == PG_TF32) {
        return tf32_of_f64(x);
    }
    if (e == PG_E4M3) {
        return small_of_f64(&e4m3, x);
    }
    return e == PG_E5M2 ? small_of_f64(&e5m2, x) : 0;
}

double pg_elem_to_f64(pg_elem e, uint64_t bits)
{
    if (e == PG_F16) {
        return (double)pg_f16_to_f32((uint16_t)bits);
    }
    if (e == PG_BF16) {
        return (double)pg_bf16_to_f32((uint16_t)bits);
    }
    if (e == PG_F32 || e == PG_TF32) {
        return (double)pg_f32_of_bits((uint32_t)bits);
    }
    if (e == PG_F64) {
        return pg_f64_of_bits(bits);
    }
    if (e == PG_E4M3) {
        return small_value(&e4m3, bits);
    }
    return e == PG_E5M2 ? small_value(&e5m2, bits) : 0;
}

uint64_t pg_elem_wrap(pg_elem e, uint64_t x)
{
    uint32_t bits = pg_elem_infos[e].bits;
    if (bits == 1) {
        return x & 1;
    }
    if (bits == 0 || bits >= 64) {
        return x;
    }
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return ((x & mask) ^ sign) - sign;
}

bool pg_elem_fits(pg_elem e, int64_t x)
{
    uint32_t bits = pg_elem_infos[e].bits;
    if (bits >= 64) {
        return true;
    }
    int64_t least = bits == 1 ? 0 : -(INT64_C(1) << (bits - 1));
    return x >= least && x < INT64_C(1) << bits;
}
