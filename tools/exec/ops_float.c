/* ops_float.c: f32 and f64 arithmetic.
 *
 * Round to nearest is the host's own. Directed rounding sets the host's mode around a loop that
 * reads its inputs from memory after the change and writes its results before the change back, so
 * that no compiler may move the arithmetic out. Approximate functions are computed in double and
 * rounded to float once: as exact as any hardware is allowed to be. NaN results are canonical
 * (0x7FFFFFFF). */
#include <fenv.h>
#include <math.h>

#include "tools/exec/ops.h"

enum { F_ROUND = 7, F_FTZ = 8, F_SAT = 16 }; /* pe_inst.op */

pe_round pe_take_round(pe_dec *d)
{
    static const pe_round modes[] = {PE_RN, PE_RN, PE_RZ, PE_RM, PE_RP};
    return modes[pe_take_one(d, "rn rz rm rp")];
}

int pe_host_round(uint32_t mode)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
    return modes[mode];
}

/* ---- fast paths
 * -------------------------------------------------------------------------------------- */

PE_OP2(add_f32, 32, pe_r32(pe_f32(x) + pe_f32(y)))
PE_OP2(sub_f32, 32, pe_r32(pe_f32(x) - pe_f32(y)))
PE_OP2(mul_f32, 32, pe_r32(pe_f32(x) * pe_f32(y)))
PE_OP2(add_f32_ftz, 32, pe_flush(pe_r32(pe_f32(pe_flush(x)) + pe_f32(pe_flush(y)))))
PE_OP2(sub_f32_ftz, 32, pe_flush(pe_r32(pe_f32(pe_flush(x)) - pe_f32(pe_flush(y)))))
PE_OP2(mul_f32_ftz, 32, pe_flush(pe_r32(pe_f32(pe_flush(x)) * pe_f32(pe_flush(y)))))
PE_OP2(add_f64, 64, pe_r64(pe_f64(x) + pe_f64(y)))
PE_OP2(sub_f64, 64, pe_r64(pe_f64(x) - pe_f64(y)))
PE_OP2(mul_f64, 64, pe_r64(pe_f64(x) * pe_f64(y)))
PE_OP2(div_f32, 32, pe_r32(pe_f32(x) / pe_f32(y)))
PE_OP2(div_f64, 64, pe_r64(pe_f64(x) / pe_f64(y)))
PE_OP3(fma_f32, 32, pe_r32(fmaf(pe_f32(x), pe_f32(y), pe_f32(z))))
PE_OP3(fma_f32_ftz, 32,
       pe_flush(pe_r32(fmaf(pe_f32(pe_flush(x)), pe_f32(pe_flush(y)), pe_f32(pe_flush(z))))))
PE_OP3(fma_f64, 64, pe_r64(fma(pe_f64(x), pe_f64(y), pe_f64(z))))

/* The host's fused multiply-add, where it has one: the same results, many times faster. */
#if defined(__x86_64__) && defined(__GNUC__)
#define HOST_FMA __attribute__((target("avx2,fma")))
HOST_FMA static void fma_f32_host(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pa = pe_src32(w, i->a);
    const uint32_t *pb = pe_src32(w, i->b);
    const uint32_t *pc = pe_src32(w, i->c);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = pe_r32(__builtin_fmaf(pe_f32(pa[l]), pe_f32(pb[l]), pe_f32(pc[l])));
    }
    pe_put32(w, i->d, t, mask, pe_poison32(w, i->a) | pe_poison32(w, i->b) | pe_poison32(w, i->c));
}
HOST_FMA static void fma_f64_host(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint64_t *pa = pe_src64(w, i->a);
    const uint64_t *pb = pe_src64(w, i->b);
    const uint64_t *pc = pe_src64(w, i->c);
    uint64_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = pe_r64(__builtin_fma(pe_f64(pa[l]), pe_f64(pb[l]), pe_f64(pc[l])));
    }
    pe_put64(w, i->d, t, mask, pe_poison64(w, i->a) | pe_poison64(w, i->b) | pe_poison64(w, i->c));
}
static bool has_host_fma(void)
{
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
}
#else
#define fma_f32_host fma_f32
#define fma_f64_host fma_f64
static bool has_host_fma(void)
{
    return false;
}
#endif

/* ---- every mode
 * ----------------------------------------------------------------------------------------- */

static float apply_f32(uint8_t op, float x, float y, float z)
{
    switch (op) {
    case '+': return x + y;
    case '-': return x - y;
    case '*': return x * y;
    case '/': return x / y;
    case 'r': return 1.0f / x;
    case 's': return sqrtf(x);
    default: return fmaf(x, y, z);
    }
}

static double apply_f64(uint8_t op, double x, double y, double z)
{
    switch (op) {
    case '+': return x + y;
    case '-': return x - y;
    case '*': return x * y;
    case '/': return x / y;
    case 'r': return 1.0 / x;
    case 's': return sqrt(x);
    default: return fma(x, y, z);
    }
}

/* Operands that an operation lacks are read from its first. */
static void any_f32(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pa = pe_src32(w, i->a);
    const uint32_t *pb = pe_src32(w, i->b != PE_NONE ? i->b : i->a);
    const uint32_t *pc = pe_src32(w, i->c != PE_NONE ? i->c : i->a);
    bool is_ftz = (i->op & F_FTZ) != 0;
    uint32_t t[PE_LANES];
    int saved = fegetround();
    (void)fesetround(pe_host_round(i->op & F_ROUND));
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint32_t x = is_ftz ? pe_flush(pa[l]) : pa[l];
        uint32_t y = is_ftz ? pe_flush(pb[l]) : pb[l];
        uint32_t z = is_ftz ? pe_flush(pc[l]) : pc[l];
        t[l] = pe_r32(apply_f32(i->n, pe_f32(x), pe_f32(y), pe_f32(z)));
        t[l] = is_ftz ? pe_flush(t[l]) : t[l];
        t[l] = (i->op & F_SAT) != 0 ? pe_saturate(t[l]) : t[l];
    }
    uint32_t poison = pe_poison32(w, i->a) | (i->b != PE_NONE ? pe_poison32(w, i->b) : 0) |
                      (i->c != PE_NONE ? pe_poison32(w, i->c) : 0);
    pe_put32(w, i->d, t, mask, poison);
    (void)fesetround(saved);
}

static void any_f64(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint64_t *pa = pe_src64(w, i->a);
    const uint64_t *pb = pe_src64(w, i->b != PE_NONE ? i->b : i->a);
    const uint64_t *pc = pe_src64(w, i->c != PE_NONE ? i->c : i->a);
    uint64_t t[PE_LANES];
    int saved = fegetround();
    (void)fesetround(pe_host_round(i->op & F_ROUND));
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = pe_r64(apply_f64(i->n, pe_f64(pa[l]), pe_f64(pb[l]), pe_f64(pc[l])));
    }
    uint32_t poison = pe_poison64(w, i->a) | (i->b != PE_NONE ? pe_poison64(w, i->b) : 0) |
                      (i->c != PE_NONE ? pe_poison64(w, i->c) : 0);
    pe_put64(w, i->d, t, mask, poison);
    (void)fesetround(saved);
}

static pe_fn fast_f32(char op, bool is_ftz)
{
    switch (op) {
    case '+': return is_ftz ? add_f32_ftz : add_f32;
    case '-': return is_ftz ? sub_f32_ftz : sub_f32;
    case '*': return is_ftz ? mul_f32_ftz : mul_f32;
    default: return is_ftz ? fma_f32_ftz : has_host_fma() ? fma_f32_host : fma_f32;
    }
}

static pe_fn fast_f64(char op)
{
    switch (op) {
    case '+': return add_f64;
    case '-': return sub_f64;
    case '*': return mul_f64;
    default: return has_host_fma() ? fma_f64_host : fma_f64;
    }
}

void pe_float_arith(pe_dec *d, pg_ptx_type t, char op)
{
    uint32_t mode = pe_take_round(d);
    bool is_ftz = t == PG_PTX_F32 && pe_take(d, "ftz");
    bool is_sat = t == PG_PTX_F32 && pe_take(d, "sat");
    pe_fn fn = NULL;
    if (t == PG_PTX_F32) {
        fn = mode == PE_RN && !is_sat ? fast_f32(op, is_ftz) : any_f32;
    } else if (t == PG_PTX_F64) {
        fn = mode == PE_RN ? fast_f64(op) : any_f64;
    }
    d->i.op = (uint16_t)(mode | (is_ftz ? F_FTZ : 0) | (is_sat ? F_SAT : 0));
    d->i.n = (uint8_t)op;
    if (op == 'f') {
        pe_end3(d, t, fn);
    } else {
        pe_end2(d, t, fn);
    }
}

void pe_float_div(pe_dec *d, pg_ptx_type t)
{
    /* .approx and .full allow 2 ulp: the exact quotient is one of the answers. */
    if (pe_take_one(d, "approx full") != 0) {
        d->i.op = PE_RN;
    } else {
        d->i.op = (uint16_t)pe_take_round(d);
    }
    bool is_plain = d->i.op == PE_RN;
    if (t == PG_PTX_F32 && pe_take(d, "ftz")) {
        d->i.op |= F_FTZ;
        is_plain = false;
    }
    d->i.n = '/';
    pe_end2(d, t,
            t == PG_PTX_F32 ? (is_plain ? div_f32 : any_f32) : (is_plain ? div_f64 : any_f64));
}

static void decode_unary(pe_dec *d, char op)
{
    bool is_approx = pe_take(d, "approx");
    d->i.op = (uint16_t)(is_approx ? PE_RN : pe_take_round(d));
    bool is_ftz = pe_take(d, "ftz");
    pg_ptx_type t = pe_take_type(d);
    d->i.op |= is_ftz ? F_FTZ : 0;
    d->i.n = (uint8_t)op;
    if (!pe_is_float(t)) {
        pe_unsupported(d, "this type");
        return;
    }
    pe_end1(d, t, t == PG_PTX_F32 ? any_f32 : any_f64);
}

/* rcp.approx.ftz.f64 has 20 bits: the exact value, cut to the upper word. */
PE_OP1(rcp_gross, 64, pe_r64(1.0 / pe_f64(x)) & UINT64_C(0xFFFFFFFF00000000))

void pe_dec_rcp(pe_dec *d)
{
    bool is_gross = d->n_mods == 3 && pg_str_is(d->mod[0], "approx") && pg_str_is(d->mod[2], "f64");
    if (is_gross && pe_take(d, "approx") && pe_take(d, "ftz") && pe_take(d, "f64")) {
        pe_end1(d, PG_PTX_F64, rcp_gross);
        return;
    }
    decode_unary(d, 'r');
}

void pe_dec_sqrt(pe_dec *d)
{
    decode_unary(d, 's');
}

/* ---- approximate functions
 * ------------------------------------------------------------------------------- */

#define APPROX(name, expr)                                              \
    static uint32_t name##_one(uint32_t b, uint32_t op)                 \
    {                                                                   \
        double v = (double)pe_f32((op & F_FTZ) != 0 ? pe_flush(b) : b); \
        uint32_t r = pe_r32((float)(expr));                             \
        return (op & F_FTZ) != 0 ? pe_flush(r) : r;                     \
    }                                                                   \
    PE_OP1(name, 32, name##_one(x, i->op))

APPROX(ex2_f32, exp2(v))
APPROX(lg2_f32, log2(v))
APPROX(sin_f32, sin(v))
APPROX(cos_f32, cos(v))
APPROX(tanh_f32, tanh(v))
APPROX(rsqrt_f32, 1.0 / sqrt(v))
PE_OP1(rsqrt_f64, 64, pe_r64(1.0 / sqrt(pe_f64(x))))
PE_OP1(rsqrt_gross, 64, pe_r64(1.0 / sqrt(pe_f64(x))) & UINT64_C(0xFFFFFFFF00000000))

static double half_value(uint32_t bits, bool is_bf16)
{
    return pe_small_to_f64(bits & 0xFFFFu, is_bf16 ? PE_FMT_BF16 : PE_FMT_F16);
}

static uint32_t half_approx(uint32_t x, uint32_t type, bool is_tanh)
{
    bool is_bf16 = type == PG_PTX_BF16 || type == PG_PTX_BF16X2;
    bool is_pair = type == PG_PTX_F16X2 || type == PG_PTX_BF16X2;
    uint32_t r = 0;
    for (uint32_t k = 0; k < (is_pair ? 2u : 1u); k++) {
        double v = half_value(x >> (16 * k), is_bf16);
        double y = is_tanh ? tanh(v) : exp2(v);
        r |= pe_f64_to_small(y, is_bf16 ? PE_FMT_BF16 : PE_FMT_F16, PE_RN) << (16 * k);
    }
    return r;
}

PE_OP1(ex2_half, 32, half_approx(x, i->type, false))
PE_OP1(tanh_half, 32, half_approx(x, i->type, true))

void pe_dec_approx(pe_dec *d)
{
    static const struct {
        const char *opcode;
        pe_fn f32, half, f64;
    } rows[] = {{"cos", cos_f32, NULL, NULL}, {"ex2", ex2_f32, ex2_half, NULL},
                {"lg2", lg2_f32, NULL, NULL}, {"rsqrt", rsqrt_f32, NULL, rsqrt_f64},
                {"sin", sin_f32, NULL, NULL}, {"tanh", tanh_f32, tanh_half, NULL}};
    (void)pe_take(d, "approx");
    bool is_ftz = pe_take(d, "ftz");
    pg_ptx_type t = pe_take_type(d);
    d->i.op = is_ftz ? F_FTZ : 0;
    d->i.type = (uint16_t)t;
    for (size_t k = 0; k < PG_COUNT_OF(rows); k++) {
        if (!pg_str_is(d->op, rows[k].opcode)) {
            continue;
        }
        pe_fn f64 = is_ftz && rows[k].f64 != NULL ? rsqrt_gross : rows[k].f64;
        pe_end1(d, t,
                t == PG_PTX_F32   ? rows[k].f32
                : t == PG_PTX_F64 ? f64
                : pe_is_half(t)   ? rows[k].half
                                  : NULL);
        return;
    }
}

/* ---- min, max, sign
 * ------------------------------------------------------------------------------------------ */

/* op: 1 max, 2 .NaN, 4 .xorsign.abs, F_FTZ. -0 is less than +0. */
static uint32_t minmax_f32(uint32_t x, uint32_t y, uint32_t op)
{
    x = (op & F_FTZ) != 0 ? pe_flush(x) : x;
    y = (op & F_FTZ) != 0 ? pe_flush(y) : y;
    uint32_t sign = (op & 4) != 0 ? (x ^ y) & 0x80000000u : 0;
    x &= (op & 4) != 0 ? 0x7FFFFFFFu : UINT32_MAX;
    y &= (op & 4) != 0 ? 0x7FFFFFFFu : UINT32_MAX;
    bool is_nan_x = (x & 0x7FFFFFFFu) > 0x7F800000u;
    bool is_nan_y = (y & 0x7FFFFFFFu) > 0x7F800000u;
    if (is_nan_x || is_nan_y) {
        return (is_nan_x && is_nan_y) || (op & 2) != 0 ? 0x7FFFFFFFu : (is_nan_x ? y : x) | sign;
    }
    float a = pe_f32(x);
    float b = pe_f32(y);
    bool is_less = a < b || (a == b && x >> 31 > y >> 31);
    return (is_less == ((op & 1) != 0) ? y : x) | sign;
}

static uint64_t minmax_f64(uint64_t x, uint64_t y, uint32_t op)
{
    double a = pe_f64(x);
    double b = pe_f64(y);
    if (a != a || b != b) {
        return a != a && b != b ? UINT64_C(0x7FF8000000000000) : a != a ? y : x;
    }
    bool is_less = a < b || (a == b && x >> 63 > y >> 63);
    return is_less == ((op & 1) != 0) ? y : x;
}

PE_OP2(do_minmax_f32, 32, minmax_f32(x, y, i->op))
PE_OP2(do_minmax_f64, 64, minmax_f64(x, y, i->op))

void pe_float_minmax(pe_dec *d, pg_ptx_type t, bool is_max)
{
    d->i.op = is_max ? 1 : 0;
    if (t == PG_PTX_F32) {
        d->i.op |= pe_take(d, "ftz") ? F_FTZ : 0;
        d->i.op |= pe_take(d, "NaN") ? 2 : 0;
        d->i.op |= pe_take(d, "xorsign") && pe_take(d, "abs") ? 4 : 0;
    }
    pe_end2(d, t, t == PG_PTX_F32 ? do_minmax_f32 : do_minmax_f64);
}

PE_OP1(abs_f32, 32, x & 0x7FFFFFFFu)
PE_OP1(neg_f32, 32, x ^ 0x80000000u)
PE_OP1(abs_f32_ftz, 32, pe_flush(x) & 0x7FFFFFFFu)
PE_OP1(neg_f32_ftz, 32, pe_flush(x) ^ 0x80000000u)
PE_OP1(abs_f64, 64, x & ~(UINT64_C(1) << 63))
PE_OP1(neg_f64, 64, x ^ UINT64_C(1) << 63)
/* Without the mantissa bits of subnormal halves. */
static uint32_t flush_halves(uint32_t x)
{
    x = (x & 0x7C00u) == 0 ? x & 0xFFFF8000u : x;
    return (x & 0x7C000000u) == 0 ? x & 0x8000FFFFu : x;
}
PE_OP1(abs_h, 32, x & 0x7FFFu)
PE_OP1(neg_h, 32, x ^ 0x8000u)
PE_OP1(abs_h2, 32, x & 0x7FFF7FFFu)
PE_OP1(neg_h2, 32, x ^ 0x80008000u)
PE_OP1(abs_h_ftz, 32, flush_halves(x) & 0x7FFFu)
PE_OP1(neg_h_ftz, 32, (flush_halves(x) ^ 0x8000u) & 0xFFFFu)
PE_OP1(abs_h2_ftz, 32, flush_halves(x) & 0x7FFF7FFFu)
PE_OP1(neg_h2_ftz, 32, flush_halves(x) ^ 0x80008000u)

void pe_float_sign(pe_dec *d, pg_ptx_type t, bool is_abs)
{
    bool is_ftz = pe_take(d, "ftz");
    if (t == PG_PTX_F32) {
        pe_end1(d, t, is_ftz ? (is_abs ? abs_f32_ftz : neg_f32_ftz) : (is_abs ? abs_f32 : neg_f32));
    } else if (t == PG_PTX_F64) {
        pe_end1(d, t, is_abs ? abs_f64 : neg_f64);
    } else if (pe_type_bits(t) == 32) {
        pe_end1(d, t, is_ftz ? (is_abs ? abs_h2_ftz : neg_h2_ftz) : (is_abs ? abs_h2 : neg_h2));
    } else {
        pe_end1(d, t, is_ftz ? (is_abs ? abs_h_ftz : neg_h_ftz) : (is_abs ? abs_h : neg_h));
    }
}
