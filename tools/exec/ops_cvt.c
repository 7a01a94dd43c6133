/* ops_cvt.c: conversions. A value goes through the widest form of its kind: 64-bit integer with
 * sign, or double, which holds every f16, bf16, f32 and 8-bit float. Each result is rounded once.
 */
#include <fenv.h>
#include <math.h>

#include "tools/exec/ops.h"

enum { V_FTZ = 1, V_SAT = 2, V_RELU = 4, V_FINITE = 8, V_TO_INTEGER = 16 };

typedef struct cvt_plan {
    pg_ptx_type from, to;
    uint32_t mode; /* pe_round */
    uint32_t flags;
    pe_fmt fmt; /* of the small float in a packed form */
} cvt_plan;

/* ---- integers
 * ---------------------------------------------------------------------------------------- */

static uint64_t extend(uint64_t x, pg_ptx_type t)
{
    uint32_t bits = pe_type_bits(t);
    if (bits == 64) {
        return x;
    }
    uint64_t keep = (UINT64_C(1) << bits) - 1;
    x &= keep;
    return pe_type_is_signed(t) && (x >> (bits - 1)) != 0 ? x | ~keep : x;
}

/* Largest and least value of an integer type, as doubles that bound from inside and as bits. */
static uint64_t int_max(pg_ptx_type t)
{
    uint32_t bits = pe_type_bits(t) - (pe_type_is_signed(t) ? 1 : 0);
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static uint64_t int_min(pg_ptx_type t)
{
    return pe_type_is_signed(t) ? ~int_max(t) : 0;
}

static uint64_t int_to_int(uint64_t x, const cvt_plan *p)
{
    x = extend(x, p->from);
    if ((p->flags & V_SAT) != 0) {
        bool is_negative = pe_type_is_signed(p->from) && (int64_t)x < 0;
        if (is_negative) {
            bool is_low = !pe_type_is_signed(p->to) || (int64_t)x < (int64_t)int_min(p->to);
            x = is_low ? int_min(p->to) : x;
        } else {
            x = x > int_max(p->to) ? int_max(p->to) : x;
        }
    }
    return extend(x, p->to);
}

/* A 64-bit magnitude as a double rounded to odd. */
static double magnitude_odd(uint64_t x)
{
    if (x >> 53 != 0) {
        uint64_t low = x & 0x7FFu;
        x = (x & ~UINT64_C(0x7FF)) | (low != 0 ? 0x800u : 0);
    }
    return (double)x;
}

static uint64_t f64_to_float(double v, const cvt_plan *p);

static uint64_t int_to_float(uint64_t x, const cvt_plan *p)
{
    x = extend(x, p->from);
    bool is_negative = pe_type_is_signed(p->from) && (int64_t)x < 0;
    if (p->to == PG_PTX_F64) {
        return pe_b64(is_negative ? (double)(int64_t)x : (double)x);
    }
    double v = magnitude_odd(is_negative ? 0 - x : x);
    return f64_to_float(is_negative ? -v : v, p);
}

/* ---- floats
 * ------------------------------------------------------------------------------------------- */

static pe_fmt fmt_of(pg_ptx_type t)
{
    return t == PG_PTX_F16    ? PE_FMT_F16
           : t == PG_PTX_BF16 ? PE_FMT_BF16
           : t == PG_PTX_TF32 ? PE_FMT_TF32
                              : PE_FMT_F32;
}

static double float_to_f64(uint64_t x, const cvt_plan *p)
{
    switch ((int)p->from) {
    case PG_PTX_F64: return pe_f64(x);
    case PG_PTX_F32:
        return (double)pe_f32((p->flags & V_FTZ) != 0 ? pe_flush((uint32_t)x) : (uint32_t)x);
    default: return pe_small_to_f64((uint32_t)x & 0xFFFFu, fmt_of(p->from));
    }
}

static double to_integer(double v, uint32_t mode)
{
    switch (mode) {
    case PE_RZ: return trunc(v);
    case PE_RM: return floor(v);
    case PE_RP: return ceil(v);
    default: {
        double f = floor(v);
        double rest = v - f;
        bool is_up = rest > 0.5 || (rest == 0.5 && fmod(f, 2.0) != 0);
        return copysign(is_up ? f + 1.0 : f, v);
    }
    }
}

static uint64_t f64_to_int(double v, const cvt_plan *p)
{
    if (v != v) {
        return 0;
    }
    v = to_integer(v, p->mode);
    double limit = ldexp(1.0, (int)pe_type_bits(p->to) - (pe_type_is_signed(p->to) ? 1 : 0));
    if (v >= limit) {
        return int_max(p->to);
    }
    if (v < (pe_type_is_signed(p->to) ? -limit : 0.0)) {
        return int_min(p->to);
    }
    return v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
}

static uint32_t finite(uint32_t bits, pe_fmt fmt)
{
    double v = pe_small_to_f64(bits, fmt);
    if (v != v || isfinite(v)) {
        return bits;
    }
    return fmt == PE_FMT_E5M2   ? (bits & 0x80u) | 0x7Bu
           : fmt == PE_FMT_F16  ? (bits & 0x8000u) | 0x7BFFu
           : fmt == PE_FMT_BF16 ? (bits & 0x8000u) | 0x7F7Fu
                                : bits;
}

static uint64_t f64_to_float(double v, const cvt_plan *p)
{
    if ((p->flags & V_TO_INTEGER) != 0) {
        v = to_integer(v, p->mode);
    }
    if ((p->flags & V_SAT) != 0) {
        v = v > 1 ? 1 : v > 0 ? v : 0;
    }
    if ((p->flags & V_RELU) != 0 && v < 0) {
        v = 0;
    }
    if (p->to == PG_PTX_F64) {
        return pe_r64(v);
    }
    pe_fmt fmt = fmt_of(p->to);
    uint32_t r = pe_f64_to_small(v, fmt, p->mode);
    if (p->to == PG_PTX_F32) {
        return (p->flags & V_FTZ) != 0 ? pe_flush(r) : r;
    }
    r = (p->flags & V_FINITE) != 0 ? finite(r, fmt) : r;
    return p->to == PG_PTX_TF32 ? (uint64_t)r << 13 : r;
}

/* ---- handlers
 * --------------------------------------------------------------------------------------------- */

static bool is_floating(pg_ptx_type t)
{
    return pe_type_class(t) == 'F';
}

static uint64_t convert(uint64_t x, const cvt_plan *p)
{
    if (!is_floating(p->from)) {
        return is_floating(p->to) ? int_to_float(x, p) : int_to_int(x, p);
    }
    double v = float_to_f64(x, p);
    return is_floating(p->to) ? f64_to_float(v, p) : extend(f64_to_int(v, p), p->to);
}

static void do_cvt(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const cvt_plan *p = i->ext;
    bool is_wide_in = i->size == 8;
    bool is_wide_out = i->n == 8;
    uint32_t poison = is_wide_in ? pe_poison64(w, i->a) : pe_poison32(w, i->a);
    uint64_t t[PE_LANES];
    int saved = fegetround();
    bool is_directed = p->to == PG_PTX_F64 && p->mode != PE_RN && !is_floating(p->from);
    if (is_directed) {
        (void)fesetround(pe_host_round(p->mode));
    }
    if (is_wide_in) {
        const uint64_t *pa = pe_src64(w, i->a);
        for (uint32_t l = 0; l < PE_LANES; l++) {
            t[l] = convert(pa[l], p);
        }
    } else {
        const uint32_t *pa = pe_src32(w, i->a);
        for (uint32_t l = 0; l < PE_LANES; l++) {
            t[l] = convert(pa[l], p);
        }
    }
    if (is_wide_out) {
        pe_put64(w, i->d, t, mask, poison);
    } else {
        uint32_t narrow[PE_LANES];
        for (uint32_t l = 0; l < PE_LANES; l++) {
            /* A 16-bit register keeps 16 bits. */
            narrow[l] = (uint32_t)t[l] & (i->n == 2 ? 0xFFFFu : UINT32_MAX);
        }
        pe_put32(w, i->d, narrow, mask, poison);
    }
    if (is_directed) {
        (void)fesetround(saved);
    }
}

PE_OP1(s32_to_f32, 32, pe_b32((float)(int32_t)x))
PE_OP1(u32_to_f32, 32, pe_b32((float)x))

static void u32_to_64(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pa = pe_src32(w, i->a);
    uint64_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = pa[l];
    }
    pe_put64(w, i->d, t, mask, pe_poison32(w, i->a));
}

static void s32_to_64(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pa = pe_src32(w, i->a);
    uint64_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = (uint64_t)(int64_t)(int32_t)pa[l];
    }
    pe_put64(w, i->d, t, mask, pe_poison32(w, i->a));
}

/* Exact, so that no rounding is looked at. */
static void half_to_f32(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const cvt_plan *p = i->ext;
    const uint32_t *pa = pe_src32(w, i->a);
    pe_fmt fmt = fmt_of(p->from);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = fmt == PE_FMT_F16 ? pe_r32(pe_f16_value(pa[l])) : pe_r32(pe_f32(pa[l] << 16));
    }
    pe_put32(w, i->d, t, mask, pe_poison32(w, i->a));
}

static void f32_to_half(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const cvt_plan *p = i->ext;
    const uint32_t *pa = pe_src32(w, i->a);
    pe_fmt fmt = fmt_of(p->to);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES && fmt == PE_FMT_F16; l++) {
        t[l] = pe_f16_bits(pe_f32(pa[l]));
    }
    for (uint32_t l = 0; l < PE_LANES && fmt != PE_FMT_F16; l++) {
        t[l] = pe_f64_to_small((double)pe_f32(pa[l]), fmt, PE_RN);
    }
    pe_put32(w, i->d, t, mask, pe_poison32(w, i->a));
}

static void any64_to_32(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint64_t *pa = pe_src64(w, i->a);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = (uint32_t)pa[l];
    }
    pe_put32(w, i->d, t, mask, (uint32_t)(pe_halves64(w, i->a) >> 32));
}

static pe_fn fast_cvt(const cvt_plan *p, uint32_t in_bits, uint32_t out_bits)
{
    if (p->flags != 0 || p->mode != PE_RN) {
        return do_cvt;
    }
    uint32_t from = pe_type_bits(p->from);
    uint32_t to = pe_type_bits(p->to);
    if (p->to == PG_PTX_F32 && in_bits == 32 && out_bits == 32 && from == 32 &&
        !is_floating(p->from)) {
        return pe_type_is_signed(p->from) ? s32_to_f32 : u32_to_f32;
    }
    bool is_from_half = p->from == PG_PTX_F16 || p->from == PG_PTX_BF16;
    bool is_to_half = p->to == PG_PTX_F16 || p->to == PG_PTX_BF16;
    if (in_bits <= 32 && out_bits <= 32 && is_from_half && p->to == PG_PTX_F32) {
        return half_to_f32;
    }
    if (in_bits == 32 && out_bits <= 32 && p->from == PG_PTX_F32 && is_to_half) {
        return f32_to_half;
    }
    if (is_floating(p->from) || is_floating(p->to)) {
        return do_cvt;
    }
    if (from == 32 && to == 64 && in_bits == 32) {
        return pe_type_is_signed(p->from) ? s32_to_64 : u32_to_64;
    }
    return from == 64 && to == 32 && in_bits == 64 && out_bits == 32 ? any64_to_32 : do_cvt;
}

/* ---- packed forms
 * --------------------------------------------------------------------------------------------- */

static uint32_t to_packed(double v, const cvt_plan *p)
{
    if ((p->flags & V_RELU) != 0 && v < 0) {
        v = 0;
    }
    uint32_t r = pe_f64_to_small(v, p->fmt, p->mode);
    if (p->fmt == PE_FMT_E4M3 && v == v && (r & 0x7Fu) == 0x7Fu) {
        return (r & 0x80u) | 0x7Eu;
    }
    return (p->flags & V_FINITE) != 0 ? finite(r, p->fmt) : r;
}

/* d = {a in the upper half, b in the lower} */
static void pack_f32(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const cvt_plan *p = i->ext;
    const uint32_t *pa = pe_src32(w, i->a);
    const uint32_t *pb = pe_src32(w, i->b);
    uint32_t width = p->fmt == PE_FMT_E4M3 || p->fmt == PE_FMT_E5M2 ? 8 : 16;
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = to_packed((double)pe_f32(pa[l]), p) << width | to_packed((double)pe_f32(pb[l]), p);
    }
    pe_put32(w, i->d, t, mask, pe_poison32(w, i->a) | pe_poison32(w, i->b));
}

static void fp8_to_f16x2(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const cvt_plan *p = i->ext;
    const uint32_t *pa = pe_src32(w, i->a);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint32_t lo = pe_f64_to_small(pe_small_to_f64(pa[l] & 0xFFu, p->fmt), PE_FMT_F16, PE_RN);
        uint32_t hi =
            pe_f64_to_small(pe_small_to_f64(pa[l] >> 8 & 0xFFu, p->fmt), PE_FMT_F16, PE_RN);
        t[l] = (p->flags & V_RELU) != 0
                   ? ((hi & 0x8000u) != 0 ? 0 : hi) << 16 | ((lo & 0x8000u) != 0 ? 0 : lo)
                   : hi << 16 | lo;
    }
    pe_put32(w, i->d, t, mask, pe_poison32(w, i->a));
}

static void f16x2_to_fp8(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const cvt_plan *p = i->ext;
    const uint32_t *pa = pe_src32(w, i->a);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint32_t lo = to_packed(pe_small_to_f64(pa[l] & 0xFFFFu, PE_FMT_F16), p);
        uint32_t hi = to_packed(pe_small_to_f64(pa[l] >> 16, PE_FMT_F16), p);
        t[l] = hi << 8 | lo;
    }
    pe_put32(w, i->d, t, mask, pe_poison32(w, i->a));
}

static void decode_packed(pe_dec *d, cvt_plan *p, uint32_t small, bool is_small_first)
{
    p->fmt = small == 1 ? PE_FMT_E4M3 : PE_FMT_E5M2;
    d->i.ext = p;
    if (is_small_first) { /* cvt.rn.satfinite.e4m3x2.f32 d, a, b or .f16x2 */
        pg_ptx_type from = pe_take_type(d);
        d->i.d = pe_out(d, 0, 16);
        d->i.a = pe_in_type(d, 1, from);
        if (from == PG_PTX_F32) {
            d->i.b = pe_in_type(d, 2, from);
        }
        pe_emit(d, from == PG_PTX_F32 ? pack_f32 : from == PG_PTX_F16X2 ? f16x2_to_fp8 : NULL);
        return;
    }
    pg_ptx_type to = pe_take_type(d);
    d->i.d = pe_out(d, 0, 32);
    d->i.a = pe_in(d, 1, 16);
    pe_emit(d, to == PG_PTX_F16X2 ? fp8_to_f16x2 : NULL);
}

/* cvt.pack: a and b, clamped to `size` bits, above each other at the bottom of d, c above them. */
typedef struct pack_plan {
    uint32_t size;
    int32_t least, most;
} pack_plan;

static void pack_ints(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const pack_plan *p = i->ext;
    const uint32_t *pa = pe_src32(w, i->a);
    const uint32_t *pb = pe_src32(w, i->b);
    const uint32_t *pc = pe_src32(w, i->c);
    uint32_t keep = (1u << p->size) - 1u;
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        int32_t a = (int32_t)pa[l];
        int32_t b = (int32_t)pb[l];
        a = a < p->least ? p->least : a > p->most ? p->most : a;
        b = b < p->least ? p->least : b > p->most ? p->most : b;
        t[l] = ((uint32_t)a & keep) << p->size | ((uint32_t)b & keep);
        t[l] |= p->size < 16 ? pc[l] << (2 * p->size) : 0;
    }
    pe_put32(w, i->d, t, mask, pe_poison32(w, i->a) | pe_poison32(w, i->b) | pe_poison32(w, i->c));
}

static void decode_pack(pe_dec *d)
{
    static const pack_plan plans[] = {{0, 0, 0},   {16, 0, UINT16_MAX}, {16, INT16_MIN, INT16_MAX},
                                      {8, 0, 255}, {8, -128, 127},      {4, 0, 15},
                                      {4, -8, 7},  {2, 0, 3},           {2, -2, 1}};
    uint32_t which = pe_take_one(d, "u16 s16 u8 s8 u4 s4 u2 s2");
    bool is_known =
        which != 0 && pe_take(d, "sat") && pe_take(d, "s32") && (which <= 2 || pe_take(d, "b32"));
    if (!is_known) {
        pe_unsupported(d, "this form");
        return;
    }
    d->i.ext = &plans[which];
    d->i.d = pe_out(d, 0, 32);
    d->i.a = pe_in(d, 1, 32);
    d->i.b = pe_in(d, 2, 32);
    d->i.c = which <= 2 ? pe_const32(d, 0) : pe_in(d, 3, 32);
    pe_emit(d, pack_ints);
}

/* ---- decoding
 * ---------------------------------------------------------------------------------------------------
 */

static void take_flags(pe_dec *d, cvt_plan *p)
{
    static const pe_round modes[] = {PE_RN, PE_RN, PE_RZ, PE_RM, PE_RP, PE_RNA};
    uint32_t to_int = pe_take_one(d, "rni rzi rmi rpi");
    p->mode = to_int != 0 ? modes[to_int] : modes[pe_take_one(d, "rn rz rm rp rna")];
    p->flags = to_int != 0 ? V_TO_INTEGER : 0;
    p->flags |= pe_take(d, "ftz") ? V_FTZ : 0;
    p->flags |= pe_take(d, "satfinite") ? V_FINITE : 0;
    p->flags |= pe_take(d, "sat") ? V_SAT : 0;
    p->flags |= pe_take(d, "relu") ? V_RELU : 0;
}

static bool can_convert(pg_ptx_type t)
{
    return t != PG_PTX_T_NONE && t != PG_PTX_PRED && t != PG_PTX_F32X2 && t != PG_PTX_B128 &&
           pe_type_class(t) != 'B';
}

void pe_dec_cvt(pe_dec *d)
{
    if (pe_take(d, "pack")) {
        decode_pack(d);
        return;
    }
    cvt_plan *p = pe_new(d, sizeof *p, 1);
    if (p == NULL) {
        return;
    }
    take_flags(d, p);
    uint32_t first = d->n_mods >= 2 ? d->n_mods - 2 : 0;
    bool is_small_first = d->n_mods >= 2 && (pg_str_is(d->mod[first], "e4m3x2") ||
                                             pg_str_is(d->mod[first], "e5m2x2"));
    uint32_t small = pe_take_one(d, "e4m3x2 e5m2x2");
    if (small != 0) {
        decode_packed(d, p, small, is_small_first);
        return;
    }
    p->to = pe_take_type(d);
    p->from = pe_take_type(d);
    d->i.ext = p;
    if ((p->to == PG_PTX_F16X2 || p->to == PG_PTX_BF16X2) && p->from == PG_PTX_F32) {
        p->fmt = p->to == PG_PTX_F16X2 ? PE_FMT_F16 : PE_FMT_BF16;
        d->i.d = pe_out(d, 0, 32);
        d->i.a = pe_in_type(d, 1, p->from);
        d->i.b = pe_in_type(d, 2, p->from);
        pe_emit(d, pack_f32);
        return;
    }
    if (!can_convert(p->to) || !can_convert(p->from) ||
        pe_is_half(p->to) + pe_is_half(p->from) > 2) {
        pe_unsupported(d, "these types");
        return;
    }
    /* Registers may be wider than the types. */
    const pg_ptx_opnd *src = pe_arg(d, 1);
    uint32_t in_bits = src->kind == PG_PTX_O_REG ? pe_reg_bits(d, src) : pe_type_bits(p->from);
    uint32_t out_bits = pe_reg_bits(d, pe_arg(d, 0));
    out_bits = out_bits == 0 ? pe_type_bits(p->to) : out_bits;
    if (in_bits < pe_type_bits(p->from) || out_bits < pe_type_bits(p->to)) {
        pe_invalid(d, "a register is narrower than its type");
        return;
    }
    d->i.size = in_bits == 64 ? 8 : 4;
    d->i.n = out_bits == 64 ? 8 : out_bits == 16 ? 2 : 4;
    d->i.d = pe_out(d, 0, out_bits);
    d->i.a = src->kind == PG_PTX_O_REG ? pe_in(d, 1, in_bits) : pe_in_type(d, 1, p->from);
    pe_emit(d, fast_cvt(p, in_bits, out_bits));
}
