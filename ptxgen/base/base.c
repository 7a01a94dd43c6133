#include "base/base.h"

/* ---- strings ------------------------------------------------------------------------------- */

pg_str pg_str_of(const char *nul_terminated)
{
    if (nul_terminated == NULL) {
        return PG_STR("");
    }
    return (pg_str){nul_terminated, strlen(nul_terminated)};
}

int pg_str_cmp(pg_str a, pg_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);
    if (order != 0) {
        return order;
    }
    return (a.len > b.len) - (a.len < b.len);
}

bool pg_str_starts(pg_str s, pg_str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

pg_str pg_str_sub(pg_str s, size_t from, size_t to)
{
    to = to > s.len ? s.len : to;
    from = from > to ? to : from;
    if (from == to) {
        return PG_STR("");
    }
    return (pg_str){s.ptr + from, to - from};
}

/* ---- bits and hashes ------------------------------------------------------------------------ */

uint32_t pg_popcount(uint64_t x)
{
    x = x - ((x >> 1) & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (uint32_t)((x * 0x0101010101010101u) >> 56);
}

static uint64_t bytes_8(const unsigned char *at)
{
    uint64_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

static uint64_t bytes_4(const unsigned char *at)
{
    uint32_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

uint64_t pg_hash(const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint64_t h = pg_hash_mix(0, n), rest = 0;
    for (; n > 8; n -= 8, at += 8) {
        h = pg_hash_mix(h, bytes_8(at));
    }
    if (n >= 4) { /* two words that may overlap */
        rest = bytes_4(at) << 32 | bytes_4(at + n - 4);
    } else if (n != 0) {
        rest = (uint64_t)at[0] << 16 | (uint64_t)at[n / 2] << 8 | at[n - 1];
    }
    return pg_hash_mix(h, rest);
}

/* ---- bit patterns and small floats --------------------------------------------------------- */

uint32_t pg_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

float pg_f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

uint64_t pg_f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

double pg_f64_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A double as a 16-bit float with `n_mant` mantissa bits and 15 - n_mant exponent bits: one
 * rounding, to nearest even. A NaN keeps its sign and the top of its payload, and becomes quiet. */
static uint16_t small_of_f64(double x, uint32_t n_mant)
{
    uint64_t bits = pg_f64_bits(x);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000u);
    int32_t max_exp = (1 << (15 - n_mant)) - 1; /* the exponent field of infinity */
    int32_t bias = max_exp >> 1;
    int32_t exp = (int32_t)(bits >> 52 & 0x7FF);
    uint64_t mant = bits & ((UINT64_C(1) << 52) - 1);
    uint16_t inf = (uint16_t)((uint32_t)max_exp << n_mant);
    if (exp == 0x7FF) {
        uint64_t nan = mant >> (52 - n_mant) | UINT64_C(1) << (n_mant - 1);
        return (uint16_t)(sign | inf | (mant == 0 ? 0 : nan));
    }
    if (exp == 0) {
        return sign; /* a subnormal double is far below half of any small subnormal */
    }
    exp = exp - 1023 + bias; /* the new exponent field, if in range */
    mant |= UINT64_C(1) << 52;
    if (exp >= max_exp) {
        return (uint16_t)(sign | inf);
    }
    int32_t drop = 52 - (int32_t)n_mant + (exp < 1 ? 1 - exp : 0);
    if (drop > 54) {
        return sign;
    }
    uint64_t kept = mant >> drop;
    uint64_t rest = mant & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1) != 0);
    /* The implicit bit of a normal number adds the last 1 to the exponent field; so does a carry.
     */
    uint64_t field = exp < 1 ? 0 : (uint64_t)(exp - 1);
    return (uint16_t)(sign | ((field << n_mant) + kept));
}

uint16_t pg_f64_to_f16(double x)
{
    return small_of_f64(x, 10);
}

uint16_t pg_f32_to_f16(float x)
{
    return small_of_f64((double)x, 10);
}

uint16_t pg_f64_to_bf16(double x)
{
    return small_of_f64(x, 7);
}

uint16_t pg_f32_to_bf16(float x)
{
    return small_of_f64((double)x, 7);
}

float pg_f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exp = bits >> 10 & 0x1F;
    uint32_t mant = bits & 0x3FF;
    if (exp == 0x1F) {
        return pg_f32_of_bits(sign | 0x7F800000u | mant << 13 | (mant != 0 ? 0x400000u : 0));
    }
    if (exp == 0) {
        float magnitude = (float)mant * 0x1p-24f; /* exact: at most 10 bits */
        return pg_f32_of_bits(sign | pg_f32_bits(magnitude));
    }
    return pg_f32_of_bits(sign | (exp + 112) << 23 | mant << 13);
}

float pg_bf16_to_f32(uint16_t bits)
{
    bool is_nan = (bits & 0x7FFF) > 0x7F80;
    return pg_f32_of_bits((uint32_t)bits << 16 | (is_nan ? 0x400000u : 0));
}

/* ---- integers from text -------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return 99;
}

bool pg_parse_u64(pg_str s, uint64_t *out)
{
    uint64_t base = 10;
    size_t i = 0;
    if (s.len > 2 && s.ptr[0] == '0' && (s.ptr[1] == 'x' || s.ptr[1] == 'X')) {
        base = 16;
        i = 2;
    }
    if (i >= s.len) {
        return false;
    }
    uint64_t x = 0;
    for (; i < s.len; i++) {
        int d = digit_of(s.ptr[i]);
        if (d >= (int)base || x > (UINT64_MAX - (uint64_t)d) / base) {
            return false;
        }
        x = x * base + (uint64_t)d;
    }
    *out = x;
    return true;
}

bool pg_parse_i64(pg_str s, int64_t *out)
{
    bool is_negative = s.len > 0 && s.ptr[0] == '-';
    bool has_sign = is_negative || (s.len > 0 && s.ptr[0] == '+');
    uint64_t x;
    if (!pg_parse_u64(pg_str_sub(s, has_sign ? 1 : 0, s.len), &x)) {
        return false;
    }
    if (is_negative) {
        if (x > UINT64_C(1) << 63) {
            return false;
        }
        *out = x == UINT64_C(1) << 63 ? INT64_MIN : -(int64_t)x;
        return true;
    }
    if (x > (uint64_t)INT64_MAX) {
        return false;
    }
    *out = (int64_t)x;
    return true;
}
