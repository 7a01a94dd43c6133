/* Numbers: every conversion against libc, or against all bit patterns. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/strbuf.h"
#include "tests/draw.h"

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    return draw(&random_state);
}

/* Doubles of all sizes: any bits, subnormals, few mantissa bits, powers of two, plain decimals. */
static double random_double(int kind)
{
    uint64_t bits = next_random();
    switch (kind % 5) {
    case 0: return pg_f64_of_bits(bits & UINT64_C(0x800FFFFFFFFFFFFF));
    case 1: return pg_f64_of_bits(bits & ~UINT64_C(0xFFFFFFFFFFF));
    case 2: return pg_f64_of_bits(bits & UINT64_C(0xFFF0000000000000));
    case 3: return (double)(int64_t)(bits % 4000000000u) / 1000 - 2000000;
    default: return pg_f64_of_bits(bits);
    }
}

static float nearest_f16(double x)
{
    /* The definition: among all finite halves and the next power of two, the nearest; tie: even. */
    uint16_t best = 0;
    double best_gap = INFINITY;
    for (uint32_t b = 0; b <= 0x7C00; b++) {
        double y = b == 0x7C00 ? 65536.0 : (double)pg_f16_to_f32((uint16_t)b);
        double gap = fabs(fabs(x) - y);
        if (gap < best_gap || (gap == best_gap && (b & 1) == 0)) {
            best = (uint16_t)b;
            best_gap = gap;
        }
    }
    return copysignf(pg_f16_to_f32(best), (float)x);
}

Test(base_num, every_f16_survives_f32_and_back)
{
    for (uint32_t b = 0; b < 0x10000; b++) {
        float x = pg_f16_to_f32((uint16_t)b);
        uint16_t back = pg_f32_to_f16(x);
        if (isnan(x)) {
            cr_assert((b & 0x7C00) == 0x7C00 && (b & 0x3FF) != 0);
            cr_assert_eq(back, b | 0x200, "%04x", b);
        } else {
            cr_assert_eq(back, b, "%04x", b);
        }
    }
    cr_assert_eq(pg_f16_to_f32(0x3C00), 1.0f);
    cr_assert_eq(pg_f16_to_f32(0x7BFF), 65504.0f);
    cr_assert_eq(pg_f16_to_f32(0x0001), 0x1p-24f);
    cr_assert_eq(pg_f16_to_f32(0xFC00), -INFINITY);
}

Test(base_num, every_bf16_survives_f32_and_back)
{
    for (uint32_t b = 0; b < 0x10000; b++) {
        float x = pg_bf16_to_f32((uint16_t)b);
        uint16_t back = pg_f32_to_bf16(x);
        cr_assert_eq(back, isnan(x) ? b | 0x40 : b, "%04x", b);
    }
}

Test(base_num, f16_is_the_nearest_half)
{
    const double edges[] = {0,       0x1p-25,          0x1.000002p-25, 0x1.fffffep-26, 65519.99,
                            65520.0, 65504.0,          1e300,          -1e300,         -0.0,
                            0x1p-14, 0x1.ffcp-15,      0x1.ffep-15,    0x1.ffdp-15,    2049,
                            2051,    0x1.002000001p+0, 0x1.002p+0,     0x1.006p+0,     5e-324};
    for (size_t i = 0; i < PG_COUNT_OF(edges); i++) {
        float want = nearest_f16(edges[i]);
        uint16_t got = pg_f64_to_f16(edges[i]);
        cr_assert_eq(pg_f32_bits(pg_f16_to_f32(got)), pg_f32_bits(want), "%a", edges[i]);
    }
    for (int i = 0; i < 500; i++) {
        const double part = pg_f64_of_bits((next_random() >> 12) | UINT64_C(0x3FF) << 52);
        const double x = ldexp(part, (int)(next_random() % 48) - 28);
        uint16_t got = pg_f64_to_f16(x);
        cr_assert_eq(pg_f16_to_f32(got), nearest_f16(x), "%a", x);
    }
    cr_assert_eq(pg_f64_to_f16((double)NAN) & 0x7E00, 0x7E00);
}

Test(base_num, bf16_rounds_once)
{
    for (int i = 0; i < 2000000; i++) {
        uint32_t bits = (uint32_t)next_random();
        float x = pg_f32_of_bits(bits);
        if (isnan(x)) {
            continue;
        }
        uint16_t want = (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
        cr_assert_eq(pg_f32_to_bf16(x), want, "%a", (double)x);
    }
    /* Through a float the first would land on the tie and go down. */
    cr_assert_eq(pg_f64_to_bf16(0x1.0100000001p+0), 0x3F81);
    cr_assert_eq(pg_f64_to_bf16(0x1.01p+0), 0x3F80);
}

static void check_reads_like_strtod(const char *text)
{
    double got = -1;
    cr_assert(pg_parse_f64(pg_str_of(text), &got), "%s", text);
    cr_assert_eq(pg_f64_bits(got), pg_f64_bits(strtod(text, NULL)), "%s gives %a", text, got);
}

Test(base_num, decimals_read_like_strtod)
{
    const char *const cases[] = {"0",
                                 "-0.0",
                                 "1",
                                 "1e22",
                                 "1e23",
                                 "9007199254740993",
                                 "9007199254740992.9999999999999999",
                                 "9007199254740993.00000000000000000000000000000000000001",
                                 "5e-324",
                                 "4.9e-324",
                                 "2.5e-324",
                                 "2.4703282292062327e-324",
                                 "2.4703282292062328e-324",
                                 "1.7976931348623157e308",
                                 "1.7976931348623158e308",
                                 "1.7976931348623159e308",
                                 "1e309",
                                 "1e-400",
                                 "1e400",
                                 "2.2250738585072011e-308",
                                 "2.2250738585072014e-308",
                                 ".5",
                                 "5.",
                                 "-1.5E+3",
                                 "1e-05",
                                 "0e999999999999999999999",
                                 "1e999999999999999999999",
                                 "1e-999999999999999999999",
                                 "000000000000000000000000000000000000000000000001.25"};
    for (size_t i = 0; i < PG_COUNT_OF(cases); i++) {
        check_reads_like_strtod(cases[i]);
    }
    for (int i = 0; i < 50000; i++) {
        char text[1300];
        size_t n = 1 + next_random() % (i % 200 == 0 ? 1000 : 25);
        size_t point = next_random() % 25;
        size_t at = 0;
        for (size_t j = 0; j < n; j++) {
            text[at++] = (char)('0' + next_random() % 10);
            if (j == point) {
                text[at++] = '.';
            }
        }
        (void)snprintf(text + at, sizeof text - at, "e%d", (int)(next_random() % 700) - 360);
        check_reads_like_strtod(text);
    }
}

Test(base_num, halfway_between_doubles_reads_as_even)
{
    for (int i = 0; i < 3000; i++) { /* all digits of the exact middle, then one unit more */
        double x = fabs(random_double(i));
        if (!(x < 1e300) || x == 0) {
            continue;
        }
        long double middle = ((long double)x + (long double)nextafter(x, INFINITY)) / 2;
        char text[1600];
        (void)snprintf(text, sizeof text, "%.1100Lf", middle);
        check_reads_like_strtod(text);
        text[strlen(text) - 1] = '1';
        check_reads_like_strtod(text);
    }
}

Test(base_num, not_numbers)
{
    const char *const cases[] = {"",           "-",  ".",    "e5",  "1e",  "1e+",  "1.2.3",
                                 "0x10",       "1 ", " 1",   "--1", "1f",  "infx", "+",
                                 "0f3F80000G", "0f", "1e5.", "NaN", "+-1", "1_0",  "0f3f80000"};
    double x;
    for (size_t i = 0; i < PG_COUNT_OF(cases); i++) {
        cr_assert_not(pg_parse_f64(pg_str_of(cases[i]), &x), "%s", cases[i]);
    }
    cr_assert(pg_parse_f64(PG_STR("0f3F800000"), &x) && x == 1.0);
    cr_assert(pg_parse_f64(PG_STR("0dC000000000000000"), &x) && x == -2.0);
    cr_assert(pg_parse_f64(PG_STR("-inf"), &x) && x == -INFINITY);
    cr_assert(pg_parse_f64(PG_STR("nan"), &x) && isnan(x));
}

/* Digits without point, exponent, or zeros at either end. */
static void bare_digits(const char *text, char out[64])
{
    size_t n = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0') && n < 63) {
            out[n++] = *text;
        }
    }
    while (n > 0 && out[n - 1] == '0') {
        n--;
    }
    out[n] = '\0';
}

Test(base_num, doubles_print_shortest)
{
    pg_strbuf b;
    pg_strbuf_init(&b, pg_alloc_default());
    for (int i = 0; i < 50000; i++) {
        double x = random_double(i);
        if (isnan(x) || isinf(x)) {
            continue;
        }
        pg_strbuf_clear(&b);
        pg_put_f64(&b, x);
        double back = 0;
        cr_assert(pg_parse_f64(pg_strbuf_str(&b), &back));
        cr_assert_eq(pg_f64_bits(back), pg_f64_bits(x), "%a as %s", x, b.ptr);
        cr_assert_eq(strtod(b.ptr, NULL), x, "%a as %s", x, b.ptr);
        char reference[64];
        char want[64];
        char got[64];
        int digits = 1;
        do {
            (void)snprintf(reference, sizeof reference, "%.*e", digits++ - 1, x);
        } while (strtod(reference, NULL) != x);
        bare_digits(reference, want);
        bare_digits(b.ptr, got);
        /* At a power of two the nearest text of n digits may lie outside while another is inside.
         */
        cr_assert(strlen(got) < strlen(want) || strcmp(got, want) == 0 || i % 5 == 2,
                  "%a as %s, not %s", x, b.ptr, reference);
        cr_assert_leq(strlen(got), strlen(want));
    }
    pg_strbuf_fini(&b);
}

Test(base_num, floats_print_shortest)
{
    pg_strbuf b;
    pg_strbuf_init(&b, pg_alloc_default());
    for (int i = 0; i < 50000; i++) {
        uint32_t bits = (uint32_t)next_random();
        float x = pg_f32_of_bits(i % 3 == 0 ? bits & 0x807FFFFFu : bits);
        if (isnan(x) || isinf(x)) {
            continue;
        }
        pg_strbuf_clear(&b);
        pg_put_f32(&b, x);
        double back = 0;
        cr_assert(pg_parse_f64(pg_strbuf_str(&b), &back));
        cr_assert_eq(pg_f32_bits((float)back), pg_f32_bits(x), "%a as %s", (double)x, b.ptr);
        char digits[64];
        bare_digits(b.ptr, digits);
        cr_assert_leq(strlen(digits), 9);
    }
    pg_strbuf_fini(&b);
}

Test(base_num, forms_of_floats)
{
    const struct {
        double x;
        const char *text;
    } cases[] = {{1, "1.0"},
                 {0.5, "0.5"},
                 {1e30, "1e+30"},
                 {0, "0.0"},
                 {-0.0, "-0.0"},
                 {1e15, "1000000000000000.0"},
                 {1e16, "1e+16"},
                 {0.0001, "0.0001"},
                 {0.00001, "1e-05"},
                 {-1.25e-7, "-1.25e-07"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {NAN, "nan"},
                 {5e-324, "5e-324"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {9007199254740993.0, "9007199254740992.0"},
                 {0.1, "0.1"},
                 {123456.789, "123456.789"}};
    pg_strbuf b;
    pg_strbuf_init(&b, pg_alloc_default());
    for (size_t i = 0; i < PG_COUNT_OF(cases); i++) {
        pg_strbuf_clear(&b);
        pg_put_f64(&b, cases[i].x);
        cr_assert_str_eq(b.ptr, cases[i].text);
    }
    pg_strbuf_clear(&b);
    pg_put_f32(&b, 0.1f);
    pg_put(&b, " ");
    pg_put_f32(&b, 16777216.0f);
    pg_put(&b, " ");
    pg_put_f32(&b, 3.4028235e38f);
    cr_assert_str_eq(b.ptr, "0.1 16777216.0 3.4028235e+38");
    pg_strbuf_fini(&b);
}

Test(base_num, integers_from_text)
{
    uint64_t u = 0;
    int64_t s = 0;
    cr_assert(pg_parse_u64(PG_STR("18446744073709551615"), &u) && u == UINT64_MAX);
    cr_assert(pg_parse_u64(PG_STR("0xfFfFfFfFfFfFfFfF"), &u) && u == UINT64_MAX);
    cr_assert_not(pg_parse_u64(PG_STR("18446744073709551616"), &u));
    cr_assert_not(pg_parse_u64(PG_STR("0x10000000000000000"), &u));
    cr_assert_not(pg_parse_u64(PG_STR("0x"), &u));
    cr_assert_not(pg_parse_u64(PG_STR(""), &u));
    cr_assert_not(pg_parse_u64(PG_STR("-1"), &u));
    cr_assert_not(pg_parse_u64(PG_STR("12a"), &u));
    cr_assert(pg_parse_i64(PG_STR("-9223372036854775808"), &s) && s == INT64_MIN);
    cr_assert(pg_parse_i64(PG_STR("+9223372036854775807"), &s) && s == INT64_MAX);
    cr_assert_not(pg_parse_i64(PG_STR("9223372036854775808"), &s));
    cr_assert_not(pg_parse_i64(PG_STR("-9223372036854775809"), &s));
    cr_assert_not(pg_parse_i64(PG_STR("-"), &s));
}

Test(base_num, bits)
{
    cr_assert_eq(pg_ctz(0), 64);
    cr_assert_eq(pg_clz(0), 64);
    cr_assert_eq(pg_log2(0), 0);
    cr_assert_not(pg_is_pow2(0));
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t one = UINT64_C(1) << i;
        cr_assert_eq(pg_ctz(one), i);
        cr_assert_eq(pg_clz(one), 63 - i);
        cr_assert_eq(pg_log2(one | 1), i);
        cr_assert(pg_is_pow2(one));
        cr_assert_eq(pg_popcount(one - 1), i);
    }
    size_t out = 7;
    cr_assert_not(pg_size_mul(SIZE_MAX, 2, &out));
    cr_assert_not(pg_size_add(SIZE_MAX, 1, &out));
    cr_assert_eq(out, 7);
    cr_assert(pg_size_mul(SIZE_MAX, 0, &out) && out == 0);
}
