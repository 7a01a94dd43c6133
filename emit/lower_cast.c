/* lower_cast.c: conversions. Integers wrap or extend; floats round once; floats to integers go
 * toward zero, saturate, and take NaN to 0. */
#include "emit/lower_int.h"

static bool is_float(pg_elem e)
{
    return pg_elem_infos[e].cls == 'F';
}

/* ---- integers to integers -------------------------------------------------------------------- */

static pg_el from_i1(pg_lw *c, pg_elem to, pg_el a)
{
    bool is_wide = to == PG_I64;
    uint32_t r = pg_lw_pure3(c, is_wide ? "selp.b64" : "selp.b32", pg_lw_reg_type(to),
                             pg_ptx_int(1), pg_ptx_int(0), pg_lw_reg(a.reg - 1));
    pg_lw_set_fact(c, r, 0, 1, 0);
    return pg_el_reg(r);
}

static pg_el int_to_i1(pg_lw *c, pg_elem from, pg_el a)
{
    bool is_wide = from == PG_I64;
    pg_ptx_opnd low = pg_lw_opnd2(c, is_wide ? "and.b64" : "and.b32", pg_lw_reg_type(from),
                                  pg_lw_use(c, from, a), pg_ptx_int(1));
    return pg_el_reg(
        pg_lw_pure2(c, is_wide ? "setp.ne.s64" : "setp.ne.s32", PG_PTX_PRED, low, pg_ptx_int(0)));
}

/* Zeroes above the bits of `from`, in 32 bits. */
static pg_el zero_extend(pg_lw *c, pg_elem from, pg_el a)
{
    pg_fact f = pg_lw_fact(c, from, a);
    if (from == PG_I32 || f.lo >= 0) {
        return a;
    }
    int64_t mask = from == PG_I8 ? 0xFF : 0xFFFF;
    uint32_t r = pg_lw_pure2(c, "and.b32", PG_PTX_B32, pg_lw_use(c, from, a), pg_ptx_int(mask));
    pg_lw_set_fact(c, r, 0, mask, f.align);
    return pg_el_reg(r);
}

static pg_el zext64(pg_lw *c, pg_elem from, pg_el a)
{
    pg_fact f = pg_lw_fact(c, from, a);
    if (f.lo >= 0) {
        return pg_lw_sext64(c, from, a);
    }
    a = zero_extend(c, from, a);
    uint32_t r = pg_lw_pure1(c, "cvt.u64.u32", PG_PTX_B64, pg_lw_use(c, PG_I32, a));
    pg_lw_set_fact(c, r, 0, UINT32_MAX, f.align);
    return pg_el_reg(r);
}

static pg_el narrow(pg_lw *c, pg_elem from, pg_elem to, pg_el a)
{
    if (a.reg == 0) {
        return pg_el_imm((int64_t)pg_elem_wrap(to, (uint64_t)a.imm));
    }
    pg_fact f = pg_lw_fact(c, from, a);
    int64_t lo, hi;
    pg_elem_range(to, &lo, &hi);
    bool fits = f.lo >= lo && f.hi <= hi;
    if (from == PG_I64) {
        uint32_t r = pg_lw_pure1(c, "cvt.u32.u64", PG_PTX_B32, pg_lw_reg(a.reg - 1));
        int64_t imm = (int64_t)pg_elem_wrap(PG_I32, (uint64_t)a.imm);
        pg_fact fr = pg_lw_reg_fact(c, PG_I64, a.reg);
        bool is_in = fr.lo >= INT32_MIN && fr.hi <= INT32_MAX;
        pg_lw_set_fact(c, r, is_in ? fr.lo : INT32_MIN, is_in ? fr.hi : INT32_MAX, fr.align);
        pg_el low = {
            .reg = r + 1, .is_nw = imm == 0 || (is_in && fits && imm == a.imm), .imm = imm};
        if (to == PG_I32) {
            return low;
        }
        a = low;
    }
    if (fits) {
        return a.imm == 0 ? a : pg_el_reg(pg_lw_use(c, PG_I32, a).id);
    }
    return pg_lw_wrap(c, to, pg_lw_in_reg(c, PG_I32, a).id);
}

static pg_el int_to_int(pg_lw *c, pg_elem from, pg_elem to, bool is_signed, pg_el a)
{
    uint32_t n = pg_elem_infos[from].bits;
    uint32_t m = pg_elem_infos[to].bits;
    if (from == PG_I1 && to != PG_I1) {
        return from_i1(c, to, a);
    }
    if (n == m) {
        return a;
    }
    if (to == PG_I1) {
        return int_to_i1(c, from, a);
    }
    if (m < n) {
        return narrow(c, from, to, a);
    }
    if (to == PG_I64) {
        return is_signed ? pg_lw_sext64(c, from, a) : zext64(c, from, a);
    }
    return is_signed ? a : zero_extend(c, from, a);
}

/* ---- integers to floats ---------------------------------------------------------------------- */

/* bf16 before sm_90, and tf32, have no conversion of their own: to f32 by truncation, with the last
 * bit set where that was not exact, so that the second rounding is the only one. */
static pg_el via_odd(pg_lw *c, const char *to_rz, const char *back, const char *is_ne,
                     pg_ptx_opnd x, pg_ptx_type type, pg_elem to)
{
    pg_ptx_opnd f = pg_lw_opnd1(c, to_rz, PG_PTX_F32, x);
    pg_ptx_opnd again = pg_lw_opnd1(c, back, type, f);
    pg_ptx_opnd is_off = pg_lw_opnd2(c, is_ne, PG_PTX_PRED, again, x);
    pg_ptx_opnd bits = pg_lw_opnd1(c, "mov.b32", PG_PTX_B32, f);
    pg_ptx_opnd odd = pg_lw_opnd2(c, "or.b32", PG_PTX_B32, bits, pg_ptx_int(1));
    bits = pg_lw_opnd3(c, "selp.b32", PG_PTX_B32, odd, bits, is_off);
    f = pg_lw_opnd1(c, "mov.b32", PG_PTX_F32, bits);
    return pg_lw_from_f32(c, to, f);
}

static pg_el int_to_float(pg_lw *c, pg_elem from, pg_elem to, bool is_signed, pg_el a)
{
    bool is_wide = from == PG_I64;
    if (from == PG_I1) {
        a = from_i1(c, PG_I32, a);
    } else if (!is_signed && !is_wide) {
        a = zero_extend(c, from, a);
    }
    pg_ptx_opnd x = pg_lw_use(c, is_wide ? PG_I64 : PG_I32, a);
    uint32_t form = (is_signed ? 0u : 1u) + (is_wide ? 2u : 0u);
    static const char *const f16[] = {"cvt.rn.f16.s32", "cvt.rn.f16.u32", "cvt.rn.f16.s64",
                                      "cvt.rn.f16.u64"};
    static const char *const f32[] = {"cvt.rn.f32.s32", "cvt.rn.f32.u32", "cvt.rn.f32.s64",
                                      "cvt.rn.f32.u64"};
    static const char *const f64[] = {"cvt.rn.f64.s32", "cvt.rn.f64.u32", "cvt.rn.f64.s64",
                                      "cvt.rn.f64.u64"};
    static const char *const rz[] = {"cvt.rz.f32.s32", "cvt.rz.f32.u32", "cvt.rz.f32.s64",
                                     "cvt.rz.f32.u64"};
    static const char *const back[] = {"cvt.rzi.s32.f32", "cvt.rzi.u32.f32", "cvt.rzi.s64.f32",
                                       "cvt.rzi.u64.f32"};
    if (to == PG_BF16 || to == PG_TF32) {
        pg_fact f = pg_lw_fact(c, is_wide ? PG_I64 : PG_I32, a);
        if (f.lo >= -(1 << 24) && f.hi <= 1 << 24) {
            return pg_lw_from_f32(c, to, pg_lw_opnd1(c, f32[form], PG_PTX_F32, x));
        }
        return via_odd(c, rz[form], back[form], is_wide ? "setp.ne.s64" : "setp.ne.s32", x,
                       is_wide ? PG_PTX_B64 : PG_PTX_B32, to);
    }
    const char *op = to == PG_F16 ? f16[form] : to == PG_F64 ? f64[form] : f32[form];
    return pg_el_reg(pg_lw_pure1(c, op, pg_lw_reg_type(to), x));
}

/* ---- floats to integers ---------------------------------------------------------------------- */

/* Machines give 2^63 or 2^31 for NaN where 64 bits take part. */
static pg_el nan_to_0(pg_lw *c, pg_elem to, uint32_t r, pg_ptx_opnd x, bool is_f64)
{
    pg_ptx_opnd is_nan =
        pg_lw_opnd2(c, is_f64 ? "setp.nan.f64" : "setp.nan.f32", PG_PTX_PRED, x, x);
    bool is_wide = to == PG_I64;
    return pg_el_reg(pg_lw_pure3(c, is_wide ? "selp.b64" : "selp.b32",
                                 is_wide ? PG_PTX_B64 : PG_PTX_B32, pg_ptx_int(0), pg_lw_reg(r),
                                 is_nan));
}

static pg_el clamp_small(pg_lw *c, pg_elem to, bool is_signed, pg_el a)
{
    int64_t most = to == PG_I8 ? 127 : 32767;
    pg_ptx_opnd x = pg_lw_use(c, PG_I32, a);
    if (!is_signed) {
        x = pg_lw_opnd2(c, "min.u32", PG_PTX_B32, x, pg_ptx_int(2 * most + 1));
        return pg_lw_wrap(c, to, x.id);
    }
    x = pg_lw_opnd2(c, "min.s32", PG_PTX_B32, x, pg_ptx_int(most));
    x = pg_lw_opnd2(c, "max.s32", PG_PTX_B32, x, pg_ptx_int(-most - 1));
    pg_lw_set_fact(c, x.id, -most - 1, most, 0);
    return pg_el_reg(x.id);
}

static pg_el float_to_int(pg_lw *c, pg_elem from, pg_elem to, bool is_signed, pg_el a)
{
    bool is_f64 = from == PG_F64;
    pg_ptx_opnd x = is_f64 ? pg_lw_use(c, from, a) : pg_lw_to_f32(c, from, a);
    if (to == PG_I1) { /* 0 or 1, saturated */
        pg_ptx_opnd one = is_f64 ? pg_ptx_f64(pg_f64_bits(1.0)) : pg_ptx_f32(pg_f32_bits(1.0F));
        return pg_el_reg(
            pg_lw_pure2(c, is_f64 ? "setp.ge.f64" : "setp.ge.f32", PG_PTX_PRED, x, one));
    }
    static const char *const ops[2][4] = {
        {"cvt.rzi.u32.f32", "cvt.rzi.u32.f64", "cvt.rzi.u64.f32", "cvt.rzi.u64.f64"},
        {"cvt.rzi.s32.f32", "cvt.rzi.s32.f64", "cvt.rzi.s64.f32", "cvt.rzi.s64.f64"}};
    bool is_wide = to == PG_I64;
    uint32_t r = pg_lw_pure1(c, ops[is_signed][(is_f64 ? 1 : 0) + (is_wide ? 2 : 0)],
                             is_wide ? PG_PTX_B64 : PG_PTX_B32, x);
    pg_el v = is_wide || is_f64 ? nan_to_0(c, to, r, x, is_f64) : pg_el_reg(r);
    return to == PG_I8 || to == PG_I16 ? clamp_small(c, to, is_signed, v) : v;
}

/* ---- floats to floats ------------------------------------------------------------------------ */

/* To bf16 or tf32. */
static pg_el f64_via_odd(pg_lw *c, pg_elem to, pg_el a)
{
    pg_ptx_opnd x = pg_lw_use(c, PG_F64, a);
    if (c->m->sm >= 90 && to == PG_BF16) {
        return pg_el_reg(pg_lw_pure1(c, "cvt.rn.bf16.f64", PG_PTX_BF16, x));
    }
    /* Exactness is seen by going back; NaN is unequal to itself, and stays NaN with its last bit.
     */
    return via_odd(c, "cvt.rz.f32.f64", "cvt.f64.f32", "setp.ne.f64", x, PG_PTX_F64, to);
}

static pg_el float_to_float(pg_lw *c, pg_elem from, pg_elem to, pg_el a)
{
    if (from == to) {
        return a;
    }
    if (from == PG_F64) {
        if (to == PG_BF16 || to == PG_TF32) {
            return f64_via_odd(c, to, a);
        }
        return pg_el_reg(pg_lw_pure1(c, to == PG_F16 ? "cvt.rn.f16.f64" : "cvt.rn.f32.f64",
                                     pg_lw_reg_type(to), pg_lw_use(c, from, a)));
    }
    pg_ptx_opnd x = pg_lw_to_f32(c, from, a);
    if (to == PG_F64) {
        return pg_el_reg(pg_lw_pure1(c, "cvt.f64.f32", PG_PTX_F64, x));
    }
    return pg_lw_from_f32(c, to, x);
}

pg_el pg_lw_cast(pg_lw *c, pg_elem from, pg_elem to, bool is_signed, pg_el a)
{
    if (is_float(from)) {
        return is_float(to) ? float_to_float(c, from, to, a)
                            : float_to_int(c, from, to, is_signed, a);
    }
    return is_float(to) ? int_to_float(c, from, to, is_signed, a)
                        : int_to_int(c, from, to, is_signed, a);
}
