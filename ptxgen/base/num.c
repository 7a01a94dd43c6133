#include "base/num.h"

#include <string.h>

/* ---- whole numbers of up to 4352 bits ------------------------------------------------------ */

/* Room for 10^1124 shifted by a word: the largest power that a 801-digit subnormal needs. */
enum { BIG_LIMBS = 136, MAX_DIGITS = 800 };

typedef struct big {
    uint32_t n; /* limbs in use, the top one not 0; 0 for zero */
    uint32_t limb[BIG_LIMBS];
} big;

static void big_set(big *a, uint64_t x)
{
    a->limb[0] = (uint32_t)x;
    a->limb[1] = (uint32_t)(x >> 32);
    a->n = a->limb[1] != 0 ? 2 : a->limb[0] != 0 ? 1 : 0;
}

/* a = a * x + carry */
static void big_mul(big *a, uint32_t x, uint32_t carry)
{
    uint64_t acc = carry;
    for (uint32_t i = 0; i < a->n; i++) {
        acc += (uint64_t)a->limb[i] * x;
        a->limb[i] = (uint32_t)acc;
        acc >>= 32;
    }
    if (acc != 0 && a->n < BIG_LIMBS) {
        a->limb[a->n++] = (uint32_t)acc;
    }
}

static void big_mul_pow10(big *a, uint32_t exp10)
{
    for (; exp10 >= 9; exp10 -= 9) {
        big_mul(a, 1000000000u, 0);
    }
    for (; exp10 > 0; exp10--) {
        big_mul(a, 10, 0);
    }
}

static void big_shl(big *a, uint32_t bits)
{
    uint32_t words = bits / 32;
    uint32_t rest = bits % 32;
    if (a->n == 0 || a->n + words >= BIG_LIMBS) {
        return;
    }
    memmove(a->limb + words, a->limb, sizeof a->limb[0] * a->n);
    memset(a->limb, 0, sizeof a->limb[0] * words);
    a->n += words;
    if (rest != 0) {
        big_mul(a, UINT32_C(1) << rest, 0);
    }
}

static int big_cmp(const big *a, const big *b)
{
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    for (uint32_t i = a->n; i-- > 0;) {
        if (a->limb[i] != b->limb[i]) {
            return a->limb[i] < b->limb[i] ? -1 : 1;
        }
    }
    return 0;
}

/* a -= b; a >= b */
static void big_sub(big *a, const big *b)
{
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t take = borrow + (i < b->n ? b->limb[i] : 0);
        borrow = a->limb[i] < take;
        a->limb[i] = (uint32_t)(a->limb[i] - take);
    }
    while (a->n > 0 && a->limb[a->n - 1] == 0) {
        a->n--;
    }
}

static void big_add(big *out, const big *a, const big *b)
{
    uint32_t n = a->n > b->n ? a->n : b->n;
    uint64_t acc = 0;
    for (uint32_t i = 0; i < n; i++) {
        acc += (uint64_t)(i < a->n ? a->limb[i] : 0) + (i < b->n ? b->limb[i] : 0);
        out->limb[i] = (uint32_t)acc;
        acc >>= 32;
    }
    out->n = n;
    if (acc != 0 && n < BIG_LIMBS) {
        out->limb[out->n++] = (uint32_t)acc;
    }
}

static int32_t big_bits(const big *a)
{
    return a->n == 0 ? 0 : (int32_t)(32 * a->n - (pg_clz(a->limb[a->n - 1]) - 32));
}

/* ---- text to double ------------------------------------------------------------------------ */

/* The digits of a decimal as written: value = digits * 10^exp10. */
typedef struct scanned {
    char digits[MAX_DIGITS + 1];
    uint32_t n;
    int64_t exp10;
} scanned;

/* 2^exp2 * top / 2^63 rounded to nearest even; `top` has its highest bit set, `is_more` tells of
 * bits below it. */
static uint64_t round_bits(uint64_t top, bool is_more, int32_t exp2)
{
    const uint64_t inf = UINT64_C(0x7FF) << 52;
    if (exp2 > 1023) {
        return inf;
    }
    int32_t drop = exp2 >= -1022 ? 11 : 11 - 1022 - exp2;
    if (drop > 64) {
        return 0;
    }
    uint64_t kept = drop == 64 ? 0 : top >> drop;
    uint64_t half = UINT64_C(1) << (drop - 1);
    uint64_t rest = drop == 64 ? top : top & ((UINT64_C(1) << drop) - 1);
    bool is_up = rest > half || (rest == half && (is_more || (kept & 1) != 0));
    kept += is_up;
    /* The implicit bit of a normal number adds the last 1 to the exponent field; so does a carry.
     */
    uint64_t field = exp2 >= -1022 ? (uint64_t)(exp2 + 1022) : 0;
    return (field << 52) + kept;
}

/* num / den, rounded once. Both are overwritten. */
static uint64_t divide(big *num, big *den)
{
    int32_t exp2 = big_bits(num) - big_bits(den);
    if (exp2 > 0) {
        big_shl(den, (uint32_t)exp2);
    } else {
        big_shl(num, (uint32_t)-exp2);
    }
    if (big_cmp(num, den) < 0) {
        big_shl(num, 1);
        exp2--;
    }
    uint64_t quotient = 0;
    for (int i = 0; i < 64; i++) {
        quotient <<= 1;
        if (big_cmp(num, den) >= 0) {
            big_sub(num, den);
            quotient |= 1;
        }
        big_shl(num, 1);
    }
    return round_bits(quotient, num->n != 0, exp2);
}

/* 10^0 to 10^22: all that a double holds exactly. */
static const double exact_pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static uint64_t bits_of_decimal(const scanned *d)
{
    int64_t magnitude = d->exp10 + d->n; /* 10^(magnitude-1) <= value < 10^magnitude */
    if (d->n == 0 || magnitude <= -324) {
        return 0;
    }
    if (magnitude > 310) {
        return UINT64_C(0x7FF) << 52;
    }
    if (d->n <= 15 && d->exp10 >= -22 && d->exp10 <= 22) {
        /* Both operands are exact, so the one operation rounds once. */
        uint64_t whole = 0;
        for (uint32_t i = 0; i < d->n; i++) {
            whole = whole * 10 + (uint64_t)(d->digits[i] - '0');
        }
        double x = (double)whole;
        x = d->exp10 < 0 ? x / exact_pow10[-d->exp10] : x * exact_pow10[d->exp10];
        return pg_f64_bits(x);
    }
    big num;
    big den;
    big_set(&num, 0);
    big_set(&den, 1);
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t digit = (uint32_t)(d->digits[i] - '0');
        if (num.n == 0) {
            big_set(&num, digit);
        } else {
            big_mul(&num, 10, digit);
        }
    }
    big_mul_pow10(d->exp10 < 0 ? &den : &num, (uint32_t)(d->exp10 < 0 ? -d->exp10 : d->exp10));
    return divide(&num, &den);
}

/* Appends a digit. Leading zeros vanish; of the digits beyond MAX_DIGITS only whether one is not 0
 * matters, which a final 1 tells. */
static void scan_digit(scanned *d, char c, bool is_fraction, bool *has_tail)
{
    d->exp10 -= is_fraction;
    if (d->n == 0 && c == '0') {
        return;
    }
    if (d->n < MAX_DIGITS) {
        d->digits[d->n++] = c;
        return;
    }
    d->exp10++;
    *has_tail = *has_tail || c != '0';
}

static bool scan_exponent(pg_str s, int64_t *out)
{
    bool is_negative = s.len > 0 && s.ptr[0] == '-';
    size_t i = s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+') ? 1 : 0;
    int64_t x = 0;
    if (i >= s.len) {
        return false;
    }
    for (; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') {
            return false;
        }
        if (x < INT64_C(1) << 56) {
            x = x * 10 + (s.ptr[i] - '0');
        }
    }
    *out = is_negative ? -x : x;
    return true;
}

static bool scan_decimal(pg_str s, scanned *d)
{
    bool has_point = false;
    bool has_tail = false;
    size_t n_digits = 0;
    size_t i = 0;
    for (; i < s.len; i++) {
        char c = s.ptr[i];
        if (c >= '0' && c <= '9') {
            scan_digit(d, c, has_point, &has_tail);
            n_digits++;
        } else if (c == '.' && !has_point) {
            has_point = true;
        } else {
            break;
        }
    }
    if (n_digits == 0) {
        return false;
    }
    if (has_tail) {
        d->digits[d->n++] = '1';
        d->exp10--;
    }
    if (i == s.len) {
        return true;
    }
    int64_t exponent;
    if ((s.ptr[i] != 'e' && s.ptr[i] != 'E') ||
        !scan_exponent(pg_str_sub(s, i + 1, s.len), &exponent)) {
        return false;
    }
    d->exp10 += exponent;
    return true;
}

/* 0f and 8, or 0d and 16 hexadecimal digits: a bit pattern, as PTX writes floats. */
static bool parse_pattern(pg_str s, double *out)
{
    bool is_f32 = s.len == 10 && (s.ptr[1] == 'f' || s.ptr[1] == 'F');
    bool is_f64 = s.len == 18 && (s.ptr[1] == 'd' || s.ptr[1] == 'D');
    if (s.ptr[0] != '0' || (!is_f32 && !is_f64)) {
        return false;
    }
    char hex[18];
    uint64_t bits;
    memcpy(hex, s.ptr, s.len);
    hex[1] = 'x';
    if (!pg_parse_u64((pg_str){hex, s.len}, &bits)) {
        return false;
    }
    *out = is_f32 ? (double)pg_f32_of_bits((uint32_t)bits) : pg_f64_of_bits(bits);
    return true;
}

bool pg_parse_f64(pg_str s, double *out)
{
    if ((s.len == 10 || s.len == 18) && parse_pattern(s, out)) {
        return true;
    }
    bool is_negative = s.len > 0 && s.ptr[0] == '-';
    bool has_sign = is_negative || (s.len > 0 && s.ptr[0] == '+');
    pg_str rest = pg_str_sub(s, has_sign ? 1 : 0, s.len);
    uint64_t bits = 0;
    if (pg_str_is(rest, "inf")) {
        bits = UINT64_C(0x7FF) << 52;
    } else if (pg_str_is(rest, "nan")) {
        bits = UINT64_C(0xFFF) << 51;
    } else {
        scanned d;
        d.n = 0;
        d.exp10 = 0;
        if (!scan_decimal(rest, &d)) {
            return false;
        }
        bits = bits_of_decimal(&d);
    }
    *out = pg_f64_of_bits(bits | (uint64_t)is_negative << 63);
    return true;
}

/* ---- double to digits ---------------------------------------------------------------------- */

/* The state of Steele and White's free-format algorithm: the rest of the value is r / s, half the
 * gaps to its neighbours are up / s and down / s. */
typedef struct free_format {
    big r, s, up, down;
    bool is_even; /* then the middle between neighbours still reads as this number */
} free_format;

static bool is_below_low(const free_format *f)
{
    int order = big_cmp(&f->r, &f->down);
    return order < 0 || (order == 0 && f->is_even);
}

static bool is_above_high(const free_format *f)
{
    big sum;
    big_add(&sum, &f->r, &f->up);
    int order = big_cmp(&sum, &f->s);
    return order > 0 || (order == 0 && f->is_even);
}

/* floor(log10(2^exp2)) for |exp2| < 1650 */
static int32_t log10_of_pow2(int32_t exp2)
{
    int64_t scaled = (int64_t)exp2 * 78913;
    int64_t floor = scaled >= 0 ? scaled / 262144 : -((-scaled + 262143) / 262144);
    return (int32_t)floor;
}

/* Makes the value 0.d1d2... * 10^point by scaling; returns point. */
static int32_t scale(free_format *f, int32_t log2)
{
    int32_t point = log10_of_pow2(log2) + 1;
    if (point >= 0) {
        big_mul_pow10(&f->s, (uint32_t)point);
    } else {
        big_mul_pow10(&f->r, (uint32_t)-point);
        big_mul_pow10(&f->up, (uint32_t)-point);
        big_mul_pow10(&f->down, (uint32_t)-point);
    }
    if (is_above_high(f)) {
        big_mul(&f->s, 10, 0);
        point++;
    }
    return point;
}

pg_decimal pg_shortest(uint64_t mant, int32_t exp2, bool is_lower_near)
{
    free_format f;
    uint32_t near = is_lower_near ? 1 : 0;
    uint32_t up_shift = exp2 > 0 ? (uint32_t)exp2 : 0;
    f.is_even = (mant & 1) == 0;
    big_set(&f.r, mant);
    big_set(&f.s, 1);
    big_set(&f.up, 1);
    big_set(&f.down, 1);
    big_shl(&f.r, up_shift + 1 + near);
    big_shl(&f.s, (exp2 < 0 ? (uint32_t)-exp2 : 0) + 1 + near);
    big_shl(&f.up, up_shift + near);
    big_shl(&f.down, up_shift);

    pg_decimal out = {.n = 0};
    out.point = scale(&f, (int32_t)pg_log2(mant) + exp2);
    for (;;) {
        uint32_t digit = 0;
        big_mul(&f.r, 10, 0);
        big_mul(&f.up, 10, 0);
        big_mul(&f.down, 10, 0);
        while (big_cmp(&f.r, &f.s) >= 0) {
            big_sub(&f.r, &f.s);
            digit++;
        }
        bool is_low = is_below_low(&f);
        bool is_high = is_above_high(&f);
        if (is_low || is_high || out.n + 1 == sizeof out.digits) {
            big_mul(&f.r, 2, 0);
            int order = big_cmp(&f.r, &f.s);
            bool is_up = is_high && (!is_low || order > 0 || (order == 0 && (digit & 1) != 0));
            out.digits[out.n++] = (char)('0' + digit + is_up);
            return out;
        }
        out.digits[out.n++] = (char)('0' + digit);
    }
}
