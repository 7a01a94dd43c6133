#include "tools/run/dtype.h"

#include <math.h>
#include <string.h>

/* clang-format off */
const run_dtype_info run_dtypes[RUN_D_COUNT] = {
    [RUN_D_NONE] = {"",     "",     "",    0, 0,   0},
    [RUN_D_F16]  = {"f16",  "f16",  "<f2", 2, 'f', 0x1p-11},
    [RUN_D_BF16] = {"bf16", "bf16", "<u2", 2, 'f', 0x1p-8},
    [RUN_D_F32]  = {"f32",  "f32",  "<f4", 4, 'f', 0x1p-24},
    [RUN_D_TF32] = {"tf32", "tf32", "<f4", 4, 'f', 0x1p-10},
    [RUN_D_F64]  = {"f64",  "f64",  "<f8", 8, 'f', 0x1p-53},
    [RUN_D_E4M3] = {"e4m3", "e4m3", "|u1", 1, 'f', 0x1p-4},
    [RUN_D_E5M2] = {"e5m2", "e5m2", "|u1", 1, 'f', 0x1p-3},
    [RUN_D_S8]   = {"s8",   "i8",   "|i1", 1, 's', 0},
    [RUN_D_S16]  = {"s16",  "i16",  "<i2", 2, 's', 0},
    [RUN_D_S32]  = {"s32",  "i32",  "<i4", 4, 's', 0},
    [RUN_D_S64]  = {"s64",  "i64",  "<i8", 8, 's', 0},
    [RUN_D_U8]   = {"u8",   "",     "|u1", 1, 'u', 0},
    [RUN_D_U16]  = {"u16",  "",     "<u2", 2, 'u', 0},
    [RUN_D_U32]  = {"u32",  "",     "<u4", 4, 'u', 0},
    [RUN_D_U64]  = {"u64",  "",     "<u8", 8, 'u', 0},
    [RUN_D_BOOL] = {"bool", "i1",   "|b1", 1, 'u', 0},
};
/* clang-format on */

run_dtype run_dtype_find(pg_str name)
{
    for (int i = 1; name.len != 0 && i < RUN_D_COUNT; i++) {
        if (pg_str_is(name, run_dtypes[i].name) || pg_str_is(name, run_dtypes[i].ir_name)) {
            return (run_dtype)i;
        }
    }
    return RUN_D_NONE;
}

run_dtype run_dtype_of_npy(pg_str descr)
{
    static const run_dtype own[] = {RUN_D_F16, RUN_D_F32, RUN_D_F64, RUN_D_S8,
                                    RUN_D_S16, RUN_D_S32, RUN_D_S64, RUN_D_U8,
                                    RUN_D_U16, RUN_D_U32, RUN_D_U64, RUN_D_BOOL};
    for (size_t i = 0; i < PG_COUNT_OF(own); i++) {
        if (descr.len == 3 && pg_str_is(pg_str_sub(descr, 1, 3), run_dtypes[own[i]].npy + 1)) {
            return own[i];
        }
    }
    return RUN_D_NONE;
}

/* An 8-bit float: sign, exponent, mantissa. e5m2 is the top half of an f16; e4m3 has no infinity
 * and one NaN. */
static double decode_8bit(run_dtype type, uint8_t bits)
{
    if (type == RUN_D_E5M2) {
        return (double)pg_f16_to_f32((uint16_t)(bits << 8));
    }
    int exponent = bits >> 3 & 15;
    int mantissa = bits & 7;
    double x = exponent == 0 ? ldexp(mantissa, -9) : ldexp(8 + mantissa, exponent - 10);
    if ((bits & 0x7F) == 0x7F) {
        x = (double)NAN;
    }
    return (bits & 0x80) != 0 ? -x : x;
}

/* Nearest, ties to the even pattern; beyond the largest finite value: NaN (e4m3), infinity (e5m2).
 */
static uint8_t encode_8bit(run_dtype type, double x)
{
    uint8_t sign = signbit(x) != 0 ? 0x80 : 0;
    if (isnan(x)) {
        return sign | 0x7F;
    }
    uint8_t overflow = type == RUN_D_E5M2 ? 0x7C : 0x7F;
    if (isinf(x)) {
        return sign | overflow;
    }
    double size = fabs(x);
    uint8_t best = overflow;
    double best_gap = type == RUN_D_E5M2 ? fabs(size - 65536) : fabs(size - 480);
    for (uint8_t i = 0; i < overflow; i++) {
        double gap = fabs(size - decode_8bit(type, i));
        if (gap < best_gap || (gap == best_gap && (i & 1) == 0)) {
            best = i;
            best_gap = gap;
        }
    }
    return sign | best;
}

static uint64_t load(const void *at, size_t size)
{
    unsigned char bytes[8] = {0};
    memcpy(bytes, at, size);
    uint64_t x = 0;
    for (size_t i = size; i-- > 0;) {
        x = x << 8 | bytes[i];
    }
    return x;
}

static void store(void *at, size_t size, uint64_t x)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(x >> (8 * i));
    }
    memcpy(at, bytes, size);
}

static int64_t sign_extend(uint64_t x, size_t size)
{
    uint64_t top = UINT64_C(1) << (8 * size - 1);
    return (int64_t)((x ^ top) - top);
}

double run_elem_get(run_dtype type, const void *at)
{
    const run_dtype_info *info = &run_dtypes[type];
    uint64_t x = load(at, info->size);
    if (info->kind == 's') {
        return (double)sign_extend(x, info->size);
    }
    if (info->kind == 'u') {
        return (double)x;
    }
    switch (info->size) {
    case 1: return decode_8bit(type, (uint8_t)x);
    case 2:
        return type == RUN_D_F16 ? (double)pg_f16_to_f32((uint16_t)x)
                                 : (double)pg_bf16_to_f32((uint16_t)x);
    case 4: return (double)pg_f32_of_bits((uint32_t)x);
    default: return pg_f64_of_bits(x);
    }
}

static uint64_t float_bits(run_dtype type, double x)
{
    switch (type) {
    case RUN_D_F16: return pg_f64_to_f16(x);
    case RUN_D_BF16: return pg_f64_to_bf16(x);
    case RUN_D_F32:
    case RUN_D_TF32: return pg_f32_bits((float)x);
    case RUN_D_F64: return pg_f64_bits(x);
    default: return encode_8bit(type, x);
    }
}

static uint64_t integer_bits(const run_dtype_info *info, double x)
{
    int bits = 8 * info->size - (info->kind == 's');
    double limit = ldexp(1, bits); /* the first value too large */
    uint64_t largest = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    x = nearbyint(x);
    if (isnan(x) || (x < 0 && info->kind == 'u')) {
        return 0;
    }
    if (x >= limit) {
        return largest;
    }
    if (x < -limit) {
        return ~largest;
    }
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

void run_elem_set(run_dtype type, void *at, double x)
{
    const run_dtype_info *info = &run_dtypes[type];
    store(at, info->size, info->kind == 'f' ? float_bits(type, x) : integer_bits(info, x));
}

bool run_elem_parse(run_dtype type, pg_str text, uint64_t *out)
{
    const run_dtype_info *info = &run_dtypes[type];
    if (info->kind == 'f') {
        double x;
        if (!pg_parse_f64(text, &x)) {
            return false;
        }
        *out = float_bits(type, x);
        return true;
    }
    unsigned bits = 8u * info->size;
    int64_t s;
    if (pg_parse_i64(text, &s)) {
        /* Both readings of a pattern are welcome: s8 takes 255, u8 takes -1. */
        if (bits < 64 && (s < -(INT64_C(1) << (bits - 1)) || s >= INT64_C(1) << bits)) {
            return false;
        }
        uint64_t pattern = (uint64_t)s & (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
        *out = info->kind == 's' ? (uint64_t)sign_extend(pattern, info->size) : pattern;
        return true;
    }
    return bits == 64 && pg_parse_u64(text, out);
}
