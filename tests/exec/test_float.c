/* test_float.c: floating point. Expected values are computed another way than the executor computes
 * them: in 113-bit arithmetic, or by searching the neighbours among all values of a small format.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/draw.h"
#include "tests/exec/harness.h"

#define CHECK(rows) exec_check_rows(rows, sizeof(rows) / sizeof(rows)[0])

__extension__ typedef __float128 quad;

enum { N = 2000 };
typedef enum mode { RN, RZ, RM, RP } mode;
static const char *const mode_names[] = {"rn", "rz", "rm", "rp"};

static float f32_of(uint64_t x)
{
    uint32_t b = (uint32_t)x;
    float f;
    memcpy(&f, &b, 4);
    return f;
}
static uint64_t bits_of(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}
static double f64_of(uint64_t x)
{
    double f;
    memcpy(&f, &x, 8);
    return f;
}
static uint64_t bits64_of(double f)
{
    uint64_t b;
    memcpy(&b, &f, 8);
    return b;
}

/* The mode's neighbour of q. */
static float to_f32(quad q, mode m)
{
    float f = (float)q;
    bool is_below = (quad)f < q;
    bool is_above = (quad)f > q;
    if (is_below && (m == RP || (m == RZ && q < 0))) {
        return nextafterf(f, INFINITY);
    }
    if (is_above && (m == RM || (m == RZ && q > 0))) {
        return nextafterf(f, -INFINITY);
    }
    return f;
}
static double to_f64(quad q, mode m)
{
    double f = (double)q;
    bool is_below = (quad)f < q;
    bool is_above = (quad)f > q;
    if (is_below && (m == RP || (m == RZ && q < 0))) {
        return nextafter(f, (double)INFINITY);
    }
    if (is_above && (m == RM || (m == RZ && q > 0))) {
        return nextafter(f, -(double)INFINITY);
    }
    return f;
}

/* Exponents within +-20 of 1, so that 113 bits hold every sum. */
static uint64_t random_f32(uint64_t *s)
{
    uint64_t x = draw(s);
    return (x & 0x807FFFFFu) | (uint64_t)(107 + (x >> 33) % 40) << 23;
}
static uint64_t random_f64(uint64_t *s)
{
    uint64_t x = draw(s);
    return (x & 0x800FFFFFFFFFFFFFu) | (1008 + draw(s) % 30) << 52;
}

static quad apply(char op, quad a, quad b, quad c)
{
    return op == '+'   ? a + b
           : op == '-' ? a - b
           : op == '*' ? a * b
           : op == '/' ? a / b
                       : a * b + c;
}

static void check_f32(char op, const char *name)
{
    static uint64_t a[N], b[N], c[N], out[N];
    const uint64_t *abc[3] = {a, b, c};
    uint64_t s = 12345;
    for (uint32_t k = 0; k < N; k++) {
        a[k] = random_f32(&s);
        b[k] = random_f32(&s);
        c[k] = random_f32(&s);
    }
    for (mode m = RN; m <= RP; m++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s.%s.f32 %%f3, %%f0, %%f1%s;", name, mode_names[m],
                       op == 'f' ? ", %f2" : "");
        exec_eval_all(text, 'f', N, abc, out);
        for (uint32_t k = 0; k < N; k++) {
            float want =
                to_f32(apply(op, (quad)f32_of(a[k]), (quad)f32_of(b[k]), (quad)f32_of(c[k])), m);
            cr_assert_eq(out[k], bits_of(want), "%s: %a %a %a: %a, expected %a", text,
                         (double)f32_of(a[k]), (double)f32_of(b[k]), (double)f32_of(c[k]),
                         (double)f32_of(out[k]), (double)want);
        }
    }
}

static void check_f64(char op, const char *name)
{
    static uint64_t a[N], b[N], c[N], out[N];
    const uint64_t *abc[3] = {a, b, c};
    uint64_t s = 999;
    for (uint32_t k = 0; k < N; k++) {
        a[k] = random_f64(&s);
        b[k] = random_f64(&s);
        c[k] = random_f64(&s);
        if (op == 'f') { /* products of 30 bits and sums that 113 bits hold */
            a[k] &= ~0x3FFFFFFFFFull;
            b[k] &= ~0x3FFFFFFFFFull;
        }
    }
    for (mode m = RN; m <= RP; m++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s.%s.f64 %%fd3, %%fd0, %%fd1%s;", name, mode_names[m],
                       op == 'f' ? ", %fd2" : "");
        exec_eval_all(text, 'e', N, abc, out);
        for (uint32_t k = 0; k < N; k++) {
            double want =
                to_f64(apply(op, (quad)f64_of(a[k]), (quad)f64_of(b[k]), (quad)f64_of(c[k])), m);
            cr_assert_eq(out[k], bits64_of(want), "%s: %a %a: %a, expected %a", text, f64_of(a[k]),
                         f64_of(b[k]), f64_of(out[k]), want);
        }
    }
}

Test(exec_float, rounding_f32)
{
    check_f32('+', "add");
    check_f32('-', "sub");
    check_f32('*', "mul");
    check_f32('/', "div");
    check_f32('f', "fma");
}

Test(exec_float, rounding_f64)
{
    check_f64('+', "add");
    check_f64('-', "sub");
    check_f64('*', "mul");
    check_f64('/', "div");
    check_f64('f', "fma");
}

/* sqrt and rcp: the truth is found by squaring or multiplying back, exactly. */
Test(exec_float, rounding_roots)
{
    static uint64_t a[N], out[N];
    const uint64_t *abc[3] = {a, NULL, NULL};
    uint64_t s = 4242;
    for (uint32_t k = 0; k < N; k++) {
        a[k] = random_f32(&s) & 0x7FFFFFFF;
    }
    for (mode m = RN; m <= RP; m++) {
        char text[64];
        (void)snprintf(text, sizeof text, "sqrt.%s.f32 %%f3, %%f0;", mode_names[m]);
        exec_eval_all(text, 'f', N, abc, out);
        for (uint32_t k = 0; k < N; k++) {
            quad x = (quad)f32_of(a[k]);
            quad r = (quad)f32_of(out[k]);
            quad up = (quad)nextafterf(f32_of(out[k]), INFINITY);
            quad down = (quad)nextafterf(f32_of(out[k]), 0);
            quad mid_up = (r + up) / 2;
            quad mid_down = (r + down) / 2;
            bool is_right = m == RN   ? mid_down * mid_down <= x && x <= mid_up * mid_up
                            : m == RP ? down * down < x && x <= r * r
                                      : r * r <= x && x < up * up;
            cr_assert(is_right, "%s of %a: %a", text, (double)f32_of(a[k]), (double)f32_of(out[k]));
        }
        (void)snprintf(text, sizeof text, "rcp.%s.f32 %%f3, %%f0;", mode_names[m]);
        exec_eval_all(text, 'f', N, abc, out);
        for (uint32_t k = 0; k < N; k++) {
            cr_assert_eq(out[k], bits_of(to_f32(1 / (quad)f32_of(a[k]), m)), "%s", text);
        }
    }
}

Test(exec_float, edges)
{
    static const exec_row rows[] = {
        {'f', "add.f32 %f3, %f0, %f1;", 0x7F800000, 0xFF800000, 0, 0x7FFFFFFF},
        {'f', "add.rm.f32 %f3, %f0, %f1;", 0x3F800000, 0xBF800000, 0, 0x80000000},
        {'f', "add.rn.f32 %f3, %f0, %f1;", 0x3F800000, 0xBF800000, 0, 0},
        {'f', "mul.rz.f32 %f3, %f0, %f1;", 0x7F7FFFFF, 0x7F7FFFFF, 0, 0x7F7FFFFF},
        {'f', "mul.rp.f32 %f3, %f0, %f1;", 0x7F7FFFFF, 0x7F7FFFFF, 0, 0x7F800000},
        {'f', "mul.rp.f32 %f3, %f0, %f1;", 1, 0x00800000, 0, 1},
        {'f', "mul.f32 %f3, %f0, %f1;", 1, 0x3F800000, 0, 1},
        {'f', "mul.ftz.f32 %f3, %f0, %f1;", 1, 0x3F800000, 0, 0},
        {'f', "mul.ftz.f32 %f3, %f0, %f1;", 0x80000001, 0x3F800000, 0, 0x80000000},
        {'f', "mul.ftz.f32 %f3, %f0, %f1;", 0x00800000, 0x3F000000, 0, 0},
        {'f', "add.sat.f32 %f3, %f0, %f1;", 0x3F800000, 0x3F800000, 0, 0x3F800000},
        {'f', "add.sat.f32 %f3, %f0, %f1;", 0xBF800000, 0, 0, 0},
        {'f', "add.sat.f32 %f3, %f0, %f1;", 0x7FC00000, 0, 0, 0},
        {'f', "fma.rn.ftz.sat.f32 %f3, %f0, %f1, %f2;", 0x3F000000, 0x3F000000, 0x3F000000,
         0x3F400000},
        {'f', "fma.rn.f32 %f3, %f0, %f1, %f2;", 0x3F800001, 0x3F800001, 0xBF800002, 0x28800000},
        {'f', "min.f32 %f3, %f0, %f1;", 0x7FC00000, 0x3F800000, 0, 0x3F800000},
        {'f', "min.NaN.f32 %f3, %f0, %f1;", 0x7FC00000, 0x3F800000, 0, 0x7FFFFFFF},
        {'f', "min.f32 %f3, %f0, %f1;", 0, 0x80000000, 0, 0x80000000},
        {'f', "max.f32 %f3, %f0, %f1;", 0x80000000, 0, 0, 0},
        {'f', "max.f32 %f3, %f0, %f1;", 0xFFC00000, 0x7FC00000, 0, 0x7FFFFFFF},
        {'f', "min.xorsign.abs.f32 %f3, %f0, %f1;", 0xC0000000, 0x40400000, 0, 0xC0000000},
        {'f', "abs.f32 %f3, %f0;", 0x80000001, 0, 0, 1},
        {'f', "neg.ftz.f32 %f3, %f0;", 1, 0, 0, 0x80000000},
        {'e', "add.rm.f64 %fd3, %fd0, %fd1;", 0x3FF0000000000000u, 0xBFF0000000000000u, 0,
         1ull << 63},
        {'e', "max.f64 %fd3, %fd0, %fd1;", 0x7FF8000000000000u, 0x3FF0000000000000u, 0,
         0x3FF0000000000000u},
        {'e', "abs.f64 %fd3, %fd0;", 0xBFF0000000000000u, 0, 0, 0x3FF0000000000000u},
        {'e', "sqrt.rn.f64 %fd3, %fd0;", 0x4010000000000000u, 0, 0, 0x4000000000000000u},
        {'f', "div.full.f32 %f3, %f0, %f1;", 0x40C00000, 0x40000000, 0, 0x40400000},
        {'f', "div.rn.f32 %f3, %f0, %f1;", 0x3F800000, 0, 0, 0x7F800000},
        {'f', "sqrt.approx.f32 %f3, %f0;", 0xBF800000, 0, 0, 0x7FFFFFFF},
        {'f', "add.f32 %f3, %f0, 0f3F800000;", 0x3F800000, 0, 0, 0x40000000},
        {'f', "mul.f32 %f3, %f0, 0.5;", 0x3F800000, 0, 0, 0x3F000000},
    };
    CHECK(rows);
}

/* ---- small formats: all values in order, and a search for the neighbours --------------------- */

typedef struct small {
    const char *name;
    uint32_t e_bits, m_bits;
    double values[1 << 15]; /* positive, ascending; infinity last */
    uint32_t n;
} small;

static void small_init(small *f, const char *name, uint32_t e_bits, uint32_t m_bits)
{
    f->name = name;
    f->e_bits = e_bits;
    f->m_bits = m_bits;
    f->n = ((1u << e_bits) - 1u) << m_bits;
    int bias = (1 << (e_bits - 1)) - 1;
    for (uint32_t k = 0; k < f->n; k++) {
        int e = (int)(k >> m_bits);
        double m = (double)(k & ((1u << m_bits) - 1u)) / (double)(1u << m_bits);
        f->values[k] = e == 0 ? ldexp(m, 1 - bias) : ldexp(1.0 + m, e - bias);
    }
    f->values[f->n] = (double)INFINITY;
}

static uint32_t small_round(const small *f, quad q, mode m)
{
    bool is_negative = q < 0;
    quad x = is_negative ? -q : q;
    uint32_t lo = 0;
    uint32_t hi = f->n; /* values[lo] <= x < values[hi], or hi = n */
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if ((quad)f->values[mid] <= x) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    quad gap = (quad)f->values[lo] - (quad)(lo > 0 ? f->values[lo - 1] : 0);
    quad top = hi == f->n ? (quad)f->values[lo] + gap : (quad)f->values[hi];
    quad middle = ((quad)f->values[lo] + top) / 2;
    uint32_t r = lo;
    if (x != (quad)f->values[lo]) {
        bool is_up = m == RN ? x > middle || (x == middle && (lo & 1) != 0)
                             : (m == RP && !is_negative) || (m == RM && is_negative);
        r = is_up ? hi : lo;
    }
    return r | (is_negative ? 1u << (f->e_bits + f->m_bits) : 0);
}

static void check_narrowing(small *f, const char *type)
{
    static uint64_t a[N], out[N];
    const uint64_t *abc[3] = {a, NULL, NULL};
    uint64_t s = 77;
    for (uint32_t k = 0; k < N; k++) {
        uint64_t x = draw(&s);
        uint64_t e = f->e_bits == 5 ? 127 - 28 + (x >> 40) % 48 : (x >> 40) % 254;
        a[k] = (x & 0x807FFFFFu) | e << 23;
        a[k] = k % 5 == 0 ? a[k] & ~0xFFFull : a[k];
    }
    for (mode m = RN; m <= (strcmp(type, "bf16") == 0 ? RZ : RP); m++) {
        char text[64];
        (void)snprintf(text, sizeof text, "cvt.%s.%s.f32 %%h3, %%f0;", mode_names[m], type);
        exec_eval_all(text, 'h', N, abc, out);
        for (uint32_t k = 0; k < N; k++) {
            uint32_t want = small_round(f, (quad)f32_of(a[k]), m);
            cr_assert_eq(out[k], want, "%s of %a: 0x%llx, expected 0x%x", text,
                         (double)f32_of(a[k]), (unsigned long long)out[k], want);
        }
    }
}

static double small_value(const small *f, uint64_t bits)
{
    uint32_t sign = 1u << (f->e_bits + f->m_bits);
    double v = f->values[bits & (sign - 1)];
    return (bits & sign) != 0 ? -v : v;
}

static void check_small_arith(small *f, const char *type)
{
    static const char *const ops[] = {"add", "sub", "mul", "fma"};
    static uint64_t a[N], b[N], c[N], out[N];
    const uint64_t *abc[3] = {a, b, c};
    uint64_t s = 31;
    for (uint32_t k = 0; k < N; k++) {
        uint64_t x = draw(&s);
        uint32_t middle = ((1u << (f->e_bits - 1)) - 1u) << f->m_bits;
        uint32_t span = 16u << f->m_bits;
        a[k] = (middle - span / 2 + (x & 0xFFFF) % span) | (x >> 60 & 1) << 15;
        b[k] = (middle - span / 2 + (x >> 16 & 0xFFFF) % span) | (x >> 61 & 1) << 15;
        c[k] = (middle - span / 2 + (x >> 32 & 0xFFFF) % span) | (x >> 62 & 1) << 15;
    }
    for (uint32_t op = 0; op < 4; op++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s.rn.%s %%h3, %%h0, %%h1%s;", ops[op], type,
                       op == 3 ? ", %h2" : "");
        exec_eval_all(text, 'h', N, abc, out);
        for (uint32_t k = 0; k < N; k++) {
            quad q = apply("+-*f"[op], (quad)small_value(f, a[k]), (quad)small_value(f, b[k]),
                           (quad)small_value(f, c[k]));
            uint32_t want = small_round(f, q, RN);
            cr_assert_eq(out[k], want, "%s: 0x%llx 0x%llx 0x%llx: 0x%llx, expected 0x%x", text,
                         (unsigned long long)a[k], (unsigned long long)b[k],
                         (unsigned long long)c[k], (unsigned long long)out[k], want);
        }
    }
}

static small format;

Test(exec_float, f16)
{
    small_init(&format, "f16", 5, 10);
    check_narrowing(&format, "f16");
    check_small_arith(&format, "f16");
}

Test(exec_float, bf16)
{
    small_init(&format, "bf16", 8, 7);
    check_narrowing(&format, "bf16");
    check_small_arith(&format, "bf16");
}

/* Every f16 and bf16 widened. */
Test(exec_float, widening)
{
    enum { ALL = 65536 };
    static uint64_t a[ALL], out[ALL];
    const uint64_t *abc[3] = {a, NULL, NULL};
    for (uint32_t k = 0; k < ALL; k++) {
        a[k] = k;
    }
    exec_eval_all("cvt.f32.bf16 %f3, %h0;", 'f', ALL, abc, out);
    for (uint32_t k = 0; k < ALL; k++) {
        bool is_nan = (k & 0x7FFF) > 0x7F80;
        cr_assert_eq(out[k], is_nan ? 0x7FFFFFFFu : (uint64_t)k << 16);
    }
    small_init(&format, "f16", 5, 10);
    exec_eval_all("cvt.f32.f16 %f3, %h0;", 'f', ALL, abc, out);
    for (uint32_t k = 0; k < ALL; k++) {
        bool is_nan = (k & 0x7FFF) > 0x7C00;
        cr_assert_eq(out[k], is_nan ? 0x7FFFFFFFu : bits_of((float)small_value(&format, k)), "0x%x",
                     k);
    }
}

Test(exec_float, conversions)
{
    static const exec_row rows[] = {
        {'r', "cvt.rzi.s32.f32 %r3, %f0;", 0x4F800000, 0, 0, 0x7FFFFFFF},
        {'r', "cvt.rzi.s32.f32 %r3, %f0;", 0xFF800000, 0, 0, 0x80000000},
        {'r', "cvt.rzi.u32.f32 %r3, %f0;", 0xBF800000, 0, 0, 0},
        {'r', "cvt.rni.s32.f32 %r3, %f0;", 0x7FC00000, 0, 0, 0},
        {'r', "cvt.rni.s32.f32 %r3, %f0;", 0x40200000, 0, 0, 2},
        {'r', "cvt.rni.s32.f32 %r3, %f0;", 0x40600000, 0, 0, 4},
        {'r', "cvt.rpi.s32.f32 %r3, %f0;", 0xC0200000, 0, 0, 0xFFFFFFFE},
        {'r', "cvt.rmi.s32.f32 %r3, %f0;", 0xC0200000, 0, 0, 0xFFFFFFFD},
        {'r', "cvt.rzi.s8.f32 %r3, %f0;", 0x43960000, 0, 0, 127},
        {'f', "cvt.rni.f32.f32 %f3, %f0;", 0xBE800000, 0, 0, 0x80000000},
        {'f', "cvt.rn.f32.s32 %f3, %r0;", 0x7FFFFFFF, 0, 0, 0x4F000000},
        {'f', "cvt.rz.f32.s32 %f3, %r0;", 0x7FFFFFFF, 0, 0, 0x4EFFFFFF},
        {'f', "cvt.rp.f32.u64 %f3, %rd0;", 0x8000000000000001u, 0, 0, 0x5F000001},
        {'f', "cvt.rn.f32.u64 %f3, %rd0;", UINT64_MAX, 0, 0, 0x5F800000},
        {'f', "cvt.rn.f32.u64 %f3, %rd0;", 0x8000008000000001u, 0, 0, 0x5F000001},
        {'e', "cvt.rz.f64.u64 %fd3, %rd0;", UINT64_MAX, 0, 0, 0x43EFFFFFFFFFFFFFu},
        {'e', "cvt.rn.f64.s64 %fd3, %rd0;", UINT64_MAX, 0, 0, 0xBFF0000000000000u},
        {'d', "cvt.rzi.s64.f64 %rd3, %fd0;", 0xC3E0000000000000u, 0, 0, 1ull << 63},
        {'d', "cvt.rzi.u64.f64 %rd3, %fd0;", 0x43EFFFFFFFFFFFFFu, 0, 0, 0xFFFFFFFFFFFFF800u},
        {'f', "cvt.rn.f32.f64 %f3, %fd0;", 0x3FF0000010000000u, 0, 0, 0x3F800000},
        {'f', "cvt.rp.f32.f64 %f3, %fd0;", 0x3FF0000010000000u, 0, 0, 0x3F800001},
        {'f', "cvt.rn.f32.f64 %f3, %fd0;", 0x36A0000000000000u, 0, 0, 1},
        {'f', "cvt.rn.ftz.f32.f64 %f3, %fd0;", 0x36A0000000000000u, 0, 0, 0},
        {'f', "cvt.sat.f32.f32 %f3, %f0;", 0x40000000, 0, 0, 0x3F800000},
        {'r', "cvt.s32.s8 %r3, %r0;", 0x80, 0, 0, 0xFFFFFF80},
        {'r', "cvt.u32.u16 %r3, %h0;", 0xFFFF, 0, 0, 0xFFFF},
        {'r', "cvt.s32.s16 %r3, %h0;", 0xFFFF, 0, 0, 0xFFFFFFFF},
        {'d', "cvt.s64.s32 %rd3, %r0;", 0x80000000, 0, 0, 0xFFFFFFFF80000000u},
        {'r', "cvt.sat.s8.s32 %r3, %r0;", 200, 0, 0, 127},
        {'r', "cvt.sat.u8.s32 %r3, %r0;", 0xFFFFFFFF, 0, 0, 0},
        {'r', "cvt.sat.s32.u32 %r3, %r0;", 0xFFFFFFFF, 0, 0, 0x7FFFFFFF},
        {'r', "cvt.sat.s32.s64 %r3, %rd0;", 0xFFFFFF0000000000u, 0, 0, 0x80000000},
        {'r', "cvt.rn.f16x2.f32 %r3, %f0, %f1;", 0x3F800000, 0x40000000, 0, 0x3C004000},
        {'r', "cvt.rn.bf16x2.f32 %r3, %f0, %f1;", 0x3F800000, 0xC0000000, 0, 0x3F80C000},
        {'r', "cvt.rn.relu.bf16x2.f32 %r3, %f0, %f1;", 0x3F800000, 0xC0000000, 0, 0x3F800000},
        {'h', "cvt.rn.satfinite.e4m3x2.f32 %h3, %f0, %f1;", 0x3F800000, 0x7F800000, 0, 0x387E},
        {'h', "cvt.rn.satfinite.e5m2x2.f32 %h3, %f0, %f1;", 0x3F800000, 0xFF800000, 0, 0x3CFB},
        {'r', "cvt.rn.f16x2.e4m3x2 %r3, %h0;", 0x3880, 0, 0, 0x3C008000},
        {'r', "cvt.rn.f16x2.e5m2x2 %r3, %h0;", 0x3C7C, 0, 0, 0x3C007C00},
        {'r', "cvt.rna.tf32.f32 %r3, %f0;", 0x3F801000, 0, 0, 0x3F802000},
        {'h', "cvt.rn.f16.s32 %h3, %r0;", 2049, 0, 0, 0x6800},
        {'h', "cvt.rn.f16.s32 %h3, %r0;", 100000, 0, 0, 0x7C00},
        {'r', "cvt.rzi.s32.f16 %r3, %h0;", 0xC500, 0, 0, 0xFFFFFFFB},
        {'r', "fma.rn.f16x2 %r3, %r0, %r1, %r2;", 0x3C004000, 0x40003C00, 0x3C003C00, 0x42004200},
        {'r', "fma.rn.relu.f16x2 %r3, %r0, %r1, %r2;", 0xBC00BC00, 0x40003C00, 0x3C003C00, 0},
        /* .oob: a fill of a tensor copy (0x7E00, 0x7FC0) gives 0 wherever it stands, other NaNs
           stay */
        {'r', "fma.rn.oob.f16x2 %r3, %r0, %r1, %r2;", 0x7E003C00, 0x40004000, 0x3C003C00,
         0x00004200},
        {'r', "fma.rn.oob.f16x2 %r3, %r0, %r1, %r2;", 0x3C003C00, 0x7E007E01, 0x3C003C00,
         0x00007FFF},
        {'r', "fma.rn.oob.relu.f16x2 %r3, %r0, %r1, %r2;", 0x3C00BC00, 0x3C004000, 0x7E003C00, 0},
        {'r', "fma.rn.oob.bf16x2 %r3, %r0, %r1, %r2;", 0x7FC03F80, 0x3F803F80, 0x3F803F80, 0x4000},
        {'r', "fma.rn.oob.bf16x2 %r3, %r0, %r1, %r2;", 0x3F807FC1, 0x3F803F80, 0x7FC03F80, 0x7FFF},
        {'r', "fma.rn.f16x2 %r3, %r0, %r1, %r2;", 0x7E003C00, 0x40004000, 0x3C003C00, 0x7FFF4200},
        {'h', "fma.rn.oob.f16 %h3, %h0, %h1, %h2;", 0x7E00, 0x3C00, 0x3C00, 0},
        {'h', "fma.rn.oob.bf16 %h3, %h0, %h1, %h2;", 0x3F80, 0x3F80, 0x3F80, 0x4000},
        {'r', "max.bf16x2 %r3, %r0, %r1;", 0x3F80C000, 0x7FC00000, 0, 0x3F800000},
        {'r', "add.rn.bf16x2 %r3, %r0, %r1;", 0x3F803F80, 0x3F80BF80, 0, 0x40000000},
        {'h', "add.sat.f16 %h3, %h0, %h1;", 0x3C00, 0x3C00, 0, 0x3C00},
        {'r', "neg.f16x2 %r3, %r0;", 0x00003C00, 0, 0, 0x8000BC00},
        {'r', "neg.ftz.f16x2 %r3, %r0;", 0x03FF0400, 0, 0, 0x80008400},
        {'r', "abs.ftz.f16x2 %r3, %r0;", 0x84008001, 0, 0, 0x04000000},
        {'h', "neg.ftz.f16 %h3, %h0;", 0x8001, 0, 0, 0},
        {'h', "abs.ftz.f16 %h3, %h0;", 0x83FF, 0, 0, 0},
    };
    CHECK(rows);
}

/* -0 and 0 are equal; 0x0001 is subnormal; 0x7E00 and 0x7FC0 are NaN, unordered with all. */
Test(exec_float, comparisons_of_halves)
{
    static const exec_row rows[] = {
        {'h', "set.lt.f16.f16 %h3, %h0, %h1;", 0xBC00, 0x3C00, 0, 0x3C00},
        {'h', "set.lt.f16.f16 %h3, %h0, %h1;", 0x3C00, 0xBC00, 0, 0},
        {'h', "set.eq.f16.f16 %h3, %h0, %h1;", 0x8000, 0, 0, 0x3C00},
        {'h', "set.nan.f16.f16 %h3, %h0, %h1;", 0x7E00, 0, 0, 0x3C00},
        {'h', "set.ne.f16.f16 %h3, %h0, %h1;", 0x7E00, 0, 0, 0},
        {'h', "set.neu.f16.f16 %h3, %h0, %h1;", 0x7E00, 0, 0, 0x3C00},
        {'h', "set.eq.f16.f16 %h3, %h0, %h1;", 0x0001, 0, 0, 0},
        {'h', "set.eq.ftz.f16.f16 %h3, %h0, %h1;", 0x0001, 0, 0, 0x3C00},
        {'h', "set.eq.ftz.f16.f16 %h3, %h0, %h1;", 0x0400, 0, 0, 0},
        {'h', "set.gt.u16.f16 %h3, %h0, %h1;", 0x4000, 0x3C00, 0, 0xFFFF},
        {'r', "set.gt.s32.f16 %r3, %h0, %h1;", 0x4000, 0x3C00, 0, 0xFFFFFFFF},
        {'h', "set.gt.f16.u32 %h3, %r0, %r1;", 0x80000000, 1, 0, 0x3C00},
        {'h', "set.gt.f16.s32 %h3, %r0, %r1;", 0x80000000, 1, 0, 0},
        {'h', "set.le.bf16.bf16 %h3, %h0, %h1;", 0x3F80, 0x3F80, 0, 0x3F80},
        {'h', "set.equ.bf16.bf16 %h3, %h0, %h1;", 0x3F80, 0x7FC0, 0, 0x3F80},
        {'r', "set.lt.f16x2.f16x2 %r3, %r0, %r1;", 0x3C00BC00, 0xBC003C00, 0, 0x00003C00},
        {'r', "set.ge.f16x2.f16x2 %r3, %r0, %r1;", 0x3C00BC00, 0xBC003C00, 0, 0x3C000000},
        {'r', "set.lt.u32.f16x2 %r3, %r0, %r1;", 0x3C00BC00, 0xBC003C00, 0, 0x0000FFFF},
        {'r', "set.geu.u32.f16x2 %r3, %r0, %r1;", 0x7E00BC00, 0xBC003C00, 0, 0xFFFF0000},
        {'r', "set.ne.bf16x2.bf16x2 %r3, %r0, %r1;", 0x3F803F80, 0x3F800000, 0, 0x00003F80},
        {'r', "set.num.u32.bf16x2 %r3, %r0, %r1;", 0x7FC03F80, 0x3F800000, 0, 0x0000FFFF},
        {'r', "setp.eq.ftz.f16 %p2, %h0, %h1;\nselp.u32 %r3, 5, 6, %p2;", 0x0001, 0x8000, 0, 5},
        {'r', "setp.eq.f16 %p2, %h0, %h1;\nselp.u32 %r3, 5, 6, %p2;", 0x0001, 0x8000, 0, 6},
    };
    CHECK(rows);
}

static void check_approx(const char *text, double (*f)(double), double from, double to)
{
    static uint64_t a[N], out[N];
    const uint64_t *abc[3] = {a, NULL, NULL};
    for (uint32_t k = 0; k < N; k++) {
        a[k] = bits_of((float)(from + (to - from) * k / N));
    }
    exec_eval_all(text, 'f', N, abc, out);
    for (uint32_t k = 0; k < N; k++) {
        float want = (float)f((double)f32_of(a[k]));
        cr_assert(fabs((double)f32_of(out[k]) - (double)want) <= ldexp(fabs((double)want), -23),
                  "%s of %a", text, (double)f32_of(a[k]));
    }
}

static double inverse_root(double x)
{
    return pow(x, -0.5);
}
static double two_to(double x)
{
    return pow(2.0, x);
}
static double log_two(double x)
{
    return log(x) / log(2.0);
}

Test(exec_float, approximations)
{
    check_approx("ex2.approx.f32 %f3, %f0;", two_to, -120, 120);
    check_approx("ex2.approx.ftz.f32 %f3, %f0;", two_to, -120, 120);
    check_approx("lg2.approx.f32 %f3, %f0;", log_two, 1.5, 1e6);
    check_approx("sin.approx.f32 %f3, %f0;", sin, -3, 3);
    check_approx("cos.approx.f32 %f3, %f0;", cos, -3, 3);
    check_approx("tanh.approx.f32 %f3, %f0;", tanh, -5, 5);
    check_approx("rsqrt.approx.f32 %f3, %f0;", inverse_root, 0.1, 1e6);
    static const exec_row rows[] = {
        {'f', "ex2.approx.f32 %f3, %f0;", 0xFF800000, 0, 0, 0},
        {'f', "ex2.approx.ftz.f32 %f3, %f0;", 0xC3020000, 0, 0, 0},
        {'f', "lg2.approx.f32 %f3, %f0;", 0, 0, 0, 0xFF800000},
        {'f', "rcp.approx.ftz.f32 %f3, %f0;", 0x80000001, 0, 0, 0xFF800000},
        {'f', "rsqrt.approx.f32 %f3, %f0;", 0x80000000, 0, 0, 0xFF800000},
        {'f', "tanh.approx.f32 %f3, %f0;", 0x7F800000, 0, 0, 0x3F800000},
        {'h', "ex2.approx.ftz.bf16 %h3, %h0;", 0x4000, 0, 0, 0x4080},
        {'h', "tanh.approx.f16 %h3, %h0;", 0x7C00, 0, 0, 0x3C00},
        {'e', "rcp.approx.ftz.f64 %fd3, %fd0;", 0x4000000000000000u, 0, 0, 0x3FE0000000000000u},
    };
    CHECK(rows);
}
