/* lower_int.c: integers and predicates: what is known about them decides what is emitted. */
#include "emit/lower_int.h"

static bool is_wide(pg_elem e)
{
    return e == PG_I64;
}

static bool is_small(pg_elem e)
{
    return e == PG_I8 || e == PG_I16;
}

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static pg_el imm_of(pg_elem e, uint64_t x)
{
    return pg_el_imm((int64_t)pg_elem_wrap(e, x));
}

static bool is_in_range(pg_elem e, int64_t lo, int64_t hi)
{
    int64_t min, max;
    pg_elem_range(e, &min, &max);
    return is_wide(e) ? lo > min && hi < max : lo >= min && hi <= max; /* wide: see sat_add */
}

static int64_t sat_add(int64_t a, int64_t b)
{
    int64_t x;
    if (__builtin_add_overflow(a, b, &x)) {
        return a < 0 ? INT64_MIN : INT64_MAX;
    }
    return x;
}

static int64_t sat_mul(int64_t a, int64_t b)
{
    int64_t x;
    if (__builtin_mul_overflow(a, b, &x)) {
        return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
    }
    return x;
}

pg_el pg_lw_wrap(pg_lw *c, pg_elem e, uint32_t reg)
{
    uint32_t r =
        pg_lw_pure1(c, e == PG_I8 ? "cvt.s32.s8" : "cvt.s32.s16", PG_PTX_B32, pg_lw_reg(reg));
    return pg_el_reg(r);
}

/* A fresh register of arithmetic whose true result lies in [lo, hi]: wrapped where it must be. */
static pg_el result(pg_lw *c, pg_elem e, uint32_t reg, const pg_fact *f)
{
    if (is_in_range(e, f->lo, f->hi)) {
        pg_lw_set_fact(c, reg, f->lo, f->hi, f->align);
        return pg_el_reg(reg);
    }
    if (is_small(e)) {
        return pg_lw_wrap(c, e, reg);
    }
    int64_t lo, hi;
    pg_elem_range(e, &lo, &hi);
    pg_lw_set_fact(c, reg, lo, hi, f->align);
    return pg_el_reg(reg);
}

/* What is known by a promise of the operation (nw, icdiv) is known of the value that promises it. A
 * register that was there before, `n_made` being how many there were, may be another value that
 * promises nothing, and keeps what was known of it. */
static pg_fact shared_fact(const pg_lw *c, pg_elem e, uint32_t reg, uint32_t n_made,
                           const pg_fact *promised)
{
    pg_fact f = *promised;
    if (reg < n_made) {
        const pg_fact before = pg_lw_reg_fact(c, e, reg + 1);
        f.lo = f.lo < before.lo ? f.lo : before.lo;
        f.hi = f.hi > before.hi ? f.hi : before.hi;
    }
    return f;
}

static uint32_t op2(pg_lw *c, const char *narrow, const char *wide, pg_elem e, pg_el a, pg_el b)
{
    pg_ptx_opnd x = pg_lw_use(c, e, a);
    return pg_lw_pure2(c, is_wide(e) ? wide : narrow, pg_lw_reg_type(e), x, pg_lw_use(c, e, b));
}

/* ---- add, multiply: the two that keep immediates apart -------------------------------------- */

static pg_el add_imm(pg_lw *c, pg_elem e, pg_el a, int64_t imm, bool is_nw)
{
    pg_el out = a;
    out.imm = (int64_t)pg_elem_wrap(e, (uint64_t)a.imm + (uint64_t)imm);
    out.is_nw = out.imm == 0 || (is_nw && a.is_nw);
    if (!out.is_nw) {
        const pg_fact f = pg_lw_reg_fact(c, e, a.reg);
        out.is_nw = is_in_range(e, sat_add(f.lo, out.imm), sat_add(f.hi, out.imm));
    }
    return out;
}

/* Where a sum stands or would stand. */
static pg_lw_sum *sum_of(pg_lw *c, uint32_t a, uint32_t b, int64_t k)
{
    const uint32_t hash = (a * 3 + b * 7 + (uint32_t)k) * UINT32_C(2654435761);
    return &c->sums[hash >> 16 & (PG_LW_SUMS - 1)];
}

static bool is_sum(const pg_lw_sum *s, pg_elem e, uint32_t a, uint32_t b, int64_t k)
{
    return s->a == a && s->b == b && s->k == k && s->e == e;
}

/* Whether ra + rb cannot wrap although it may go by the ranges: the whole sum does not, by promise.
 */
static bool is_promised(const pg_fact *a, const pg_fact *b, int64_t imm)
{
    if (imm == 0) {
        return true;
    }
    return imm > 0 ? a->lo >= 0 || b->lo >= 0 : a->hi <= 0 || b->hi <= 0;
}

/* The true result's range as that of the type: what wraps may be anything. */
static void clip(pg_elem e, bool is_nw, pg_fact *f)
{
    int64_t lo, hi;
    pg_elem_range(e, &lo, &hi);
    f->lo = !is_nw || f->lo < lo ? lo : f->lo;
    f->hi = !is_nw || f->hi > hi ? hi : f->hi;
}

/* Two registers; the sum with imm does not wrap if is_nw says so. */
static pg_lw_sum add_regs(pg_lw *c, pg_elem e, uint32_t a, uint32_t b, int64_t imm, bool is_nw)
{
    const pg_fact fa = pg_lw_reg_fact(c, e, a), fb = pg_lw_reg_fact(c, e, b);
    pg_fact f = {sat_add(fa.lo, fb.lo), sat_add(fa.hi, fb.hi), least(fa.align, fb.align)};
    const bool is_part_nw = is_in_range(e, f.lo, f.hi) || (is_nw && is_promised(&fa, &fb, imm));
    const uint32_t n_made = is_part_nw && !is_in_range(e, f.lo, f.hi) ? c->b.f->regs.n : 0;
    clip(e, is_part_nw, &f);
    const uint32_t r =
        is_wide(e) ? pg_lw_add64(c, a - 1, b - 1)
                   : pg_lw_pure2(c, "add.s32", PG_PTX_B32, pg_lw_reg(a - 1), pg_lw_reg(b - 1));
    const pg_fact of_reg = shared_fact(c, e, r, n_made, &f);
    pg_lw_set_fact(c, r, of_reg.lo, of_reg.hi, of_reg.align);
    return (pg_lw_sum){.reg = r + 1, .e = e, .a = a, .b = b, .f = f, .is_part_nw = is_part_nw};
}

pg_el pg_lw_iadd(pg_lw *c, pg_elem e, pg_el a, pg_el b, bool is_nw)
{
    if (a.reg == 0 && b.reg == 0) {
        return imm_of(e, (uint64_t)a.imm + (uint64_t)b.imm);
    }
    if ((a.reg == 0 && a.imm == 0) || (b.reg == 0 && b.imm == 0)) {
        return a.reg == 0 ? b : a;
    }
    if (is_small(e)) {
        pg_fact fa = pg_lw_fact(c, e, a), fb = pg_lw_fact(c, e, b);
        pg_fact f = {fa.lo + fb.lo, fa.hi + fb.hi, least(fa.align, fb.align)};
        return result(c, e, op2(c, "add.s32", "add.s64", e, a, b), &f);
    }
    if (a.reg == 0 || b.reg == 0) {
        return a.reg == 0 ? add_imm(c, e, b, a.imm, is_nw) : add_imm(c, e, a, b.imm, is_nw);
    }
    const bool is_all_nw = is_nw && a.is_nw && b.is_nw;
    const int64_t imm = (int64_t)pg_elem_wrap(e, (uint64_t)a.imm + (uint64_t)b.imm);
    pg_lw_sum *known = sum_of(c, a.reg, b.reg, 0);
    pg_lw_sum s = *known;
    if (is_all_nw || !is_sum(&s, e, a.reg, b.reg, 0)) {
        s = add_regs(c, e, a.reg, b.reg, imm, is_all_nw);
        *known = is_all_nw ? *known : s;
    }
    pg_el out = {.reg = s.reg, .imm = imm};
    out.is_nw = imm == 0 || (s.is_part_nw && is_all_nw) ||
                is_in_range(e, sat_add(s.f.lo, imm), sat_add(s.f.hi, imm));
    return out;
}

/* Narrows what is known of a result by the promise that it does not wrap; how many registers there
 * are where that says more, else 0. */
static uint32_t promise(const pg_lw *c, pg_elem e, bool is_nw, pg_fact *f)
{
    const bool says_more = is_nw && !is_in_range(e, f->lo, f->hi);
    if (says_more) {
        clip(e, true, f);
    }
    return says_more ? c->b.f->regs.n : 0;
}

static pg_el negate_imm(pg_elem e, pg_el b)
{
    return imm_of(e, 0 - (uint64_t)b.imm);
}

static pg_el isub(pg_lw *c, pg_elem e, pg_el a, pg_el b, bool is_nw)
{
    if (b.reg == 0 && b.imm != INT64_MIN) {
        return pg_lw_iadd(c, e, a, negate_imm(e, b), is_nw && is_in_range(e, -b.imm, -b.imm));
    }
    if (a.reg == b.reg && !is_small(e)) {
        return imm_of(e, (uint64_t)a.imm - (uint64_t)b.imm);
    }
    pg_fact fa = pg_lw_fact(c, e, a), fb = pg_lw_fact(c, e, b);
    pg_fact f = {sat_add(fa.lo, fb.hi == INT64_MIN ? INT64_MAX : -fb.hi),
                 sat_add(fa.hi, fb.lo == INT64_MIN ? INT64_MAX : -fb.lo),
                 least(fa.align, fb.align)};
    const uint32_t n_made = promise(c, e, is_nw, &f);
    const uint32_t r = op2(c, "sub.s32", "sub.s64", e, a, b);
    f = shared_fact(c, e, r, n_made, &f);
    return result(c, e, r, &f);
}

static pg_fact product_fact(const pg_fact *a, const pg_fact *b)
{
    int64_t p[4] = {sat_mul(a->lo, b->lo), sat_mul(a->lo, b->hi), sat_mul(a->hi, b->lo),
                    sat_mul(a->hi, b->hi)};
    pg_fact f = {p[0], p[0], (uint8_t)(a->align + b->align > 62 ? 62 : a->align + b->align)};
    for (uint32_t i = 1; i < 4; i++) {
        f.lo = p[i] < f.lo ? p[i] : f.lo;
        f.hi = p[i] > f.hi ? p[i] : f.hi;
    }
    return f;
}

/* reg * k, which does not wrap if is_nw says so */
static pg_lw_sum mul_reg(pg_lw *c, pg_elem e, uint32_t a, int64_t k, bool is_nw)
{
    const pg_fact fa = pg_lw_reg_fact(c, e, a);
    const pg_fact fk = {k, k, (uint8_t)pg_ctz((uint64_t)k)};
    pg_fact f = product_fact(&fa, &fk);
    const bool is_shift = k > 0 && pg_is_pow2((uint64_t)k);
    const pg_ptx_opnd reg = pg_lw_reg(a - 1);
    const uint32_t by = pg_log2((uint64_t)k);
    const uint32_t n_made = is_nw ? c->b.f->regs.n : 0;
    const uint32_t r = is_shift && is_wide(e) ? pg_lw_shl64(c, reg.id, by)
                       : is_shift ? pg_lw_pure2(c, "shl.b32", PG_PTX_B32, reg, pg_ptx_int(by))
                                  : pg_lw_pure2(c, is_wide(e) ? "mul.lo.s64" : "mul.lo.s32",
                                                pg_lw_reg_type(e), reg, pg_ptx_int(k));
    const bool is_safe = is_in_range(e, f.lo, f.hi);
    const bool is_part_nw = is_safe || is_nw;
    clip(e, is_part_nw, &f);
    const pg_fact of_reg = shared_fact(c, e, r, is_safe ? 0 : n_made, &f);
    pg_lw_set_fact(c, r, of_reg.lo, of_reg.hi, of_reg.align);
    return (pg_lw_sum){.reg = r + 1, .e = e, .a = a, .k = k, .f = f, .is_part_nw = is_part_nw};
}

/* reg * k + imm * k. Of a product that is promised not to wrap, reg * k does not either where imm
 * leads away from 0. */
static pg_el mul_imm(pg_lw *c, pg_elem e, pg_el a, int64_t k, bool is_nw)
{
    const pg_fact fa = pg_lw_reg_fact(c, e, a.reg);
    const bool is_outward = a.imm == 0 || (a.imm > 0 ? fa.lo >= 0 : fa.hi <= 0);
    const bool is_reg_nw = is_nw && a.is_nw && is_outward;
    pg_lw_sum *known = sum_of(c, a.reg, 0, k);
    pg_lw_sum s = *known;
    if (is_reg_nw || !is_sum(&s, e, a.reg, 0, k)) {
        s = mul_reg(c, e, a.reg, k, is_reg_nw);
        *known = is_reg_nw ? *known : s;
    }
    pg_el out = {.reg = s.reg};
    out.imm = (int64_t)pg_elem_wrap(e, (uint64_t)a.imm * (uint64_t)k);
    bool is_exact = out.imm == sat_mul(a.imm, k);
    bool fits = is_in_range(e, sat_add(s.f.lo, out.imm), sat_add(s.f.hi, out.imm));
    out.is_nw = out.imm == 0 || (is_exact && s.is_part_nw && (fits || (is_nw && a.is_nw)));
    return out;
}

/* (a + imm) * b as the sums below make it, register + 1, or 0 where it is not there yet. */
static uint32_t known_product(pg_lw *c, pg_elem e, pg_ptx_opnd a, uint64_t imm, pg_ptx_opnd b)
{
    if (imm == 0) {
        return pg_lw_known(c, is_wide(e) ? "mul.lo.s64" : "mul.lo.s32", a, b);
    }
    const uint32_t low = pg_ctz(imm);
    const uint32_t rest = known_product(c, e, a, imm & (imm - 1), b);
    const uint32_t by =
        rest == 0  ? 0
        : low == 0 ? b.id + 1
                   : pg_lw_known(c, is_wide(e) ? "shl.b64" : "shl.b32", b, pg_ptx_int(low));
    return by == 0 ? 0
                   : pg_lw_known(c, is_wide(e) ? "add.s64" : "add.s32", pg_lw_reg(rest - 1),
                                 pg_lw_reg(by - 1));
}

/* (reg + imm) * b, where the same without the lowest bit of imm is there already, as one sum: rows
 * of a tile that lie some rows apart cost an addition each, not a product, and what is added are
 * few numbers. */
static bool mul_by_parts(pg_lw *c, pg_elem e, pg_el a, pg_el b, uint32_t *out)
{
    if (a.imm <= 0 || a.reg == 0 || b.reg == 0 || b.imm != 0 || is_small(e)) {
        return false;
    }
    const uint64_t imm = (uint64_t)a.imm;
    const uint32_t rest =
        known_product(c, e, pg_lw_reg(a.reg - 1), imm & (imm - 1), pg_lw_reg(b.reg - 1));
    if (rest == 0) {
        return false;
    }
    pg_el by = b;
    if ((imm & 1) == 0) {
        by = mul_imm(c, e, b, (int64_t)(imm & (~imm + 1)), false);
    }
    *out = is_wide(e) ? pg_lw_plain_add64(c, rest - 1, pg_lw_use(c, e, by).id)
                      : op2(c, "add.s32", "add.s64", e, pg_el_reg(rest - 1), by);
    return true;
}

pg_el pg_lw_imul(pg_lw *c, pg_elem e, pg_el a, pg_el b, bool is_nw)
{
    if (a.reg == 0) {
        pg_el t = a;
        a = b;
        b = t;
    }
    if (a.reg == 0) {
        return imm_of(e, (uint64_t)a.imm * (uint64_t)b.imm);
    }
    if (b.reg == 0 && (b.imm == 0 || b.imm == 1)) {
        return b.imm == 0 ? b : a;
    }
    if (b.reg == 0 && !is_small(e)) {
        return mul_imm(c, e, a, b.imm, is_nw);
    }
    pg_fact fa = pg_lw_fact(c, e, a), fb = pg_lw_fact(c, e, b);
    pg_fact f = product_fact(&fa, &fb);
    const uint32_t n_made = promise(c, e, is_nw, &f);
    uint32_t r;
    if (!mul_by_parts(c, e, a, b, &r) && !mul_by_parts(c, e, b, a, &r)) {
        r = op2(c, "mul.lo.s32", "mul.lo.s64", e, a, b);
    }
    f = shared_fact(c, e, r, n_made, &f);
    return result(c, e, r, &f);
}

/* pointer + index * size, both registers. */
static pg_lw_sum address_of_regs(pg_lw *c, uint32_t pointer, uint32_t index, int64_t size)
{
    const pg_fact fp = pg_lw_reg_fact(c, PG_I64, pointer), size_fact = {size, size, 0};
    const pg_fact fx = pg_lw_reg_fact(c, PG_I64, index);
    const uint32_t by = pg_log2((uint64_t)size);
    pg_fact f = product_fact(&fx, &size_fact);
    const bool fits_scaled = is_in_range(PG_I64, f.lo, f.hi);
    f.lo = fits_scaled ? sat_add(f.lo, fp.lo) : INT64_MIN;
    f.hi = fits_scaled ? sat_add(f.hi, fp.hi) : INT64_MAX;
    if (!is_in_range(PG_I64, f.lo, f.hi)) {
        f.lo = INT64_MIN;
        f.hi = INT64_MAX;
    }
    f.align = least(fp.align, (uint8_t)(fx.align + by > 62 ? 62 : fx.align + by));
    const uint32_t r = by == 0 ? pg_lw_add64(c, pointer - 1, index - 1)
                               : pg_lw_add_shl64(c, pointer - 1, index - 1, by);
    pg_lw_set_fact(c, r, f.lo, f.hi, f.align);
    return (pg_lw_sum){.reg = r + 1, .e = PG_I64, .a = pointer, .b = index, .k = size, .f = f};
}

pg_el pg_lw_address(pg_lw *c, pg_el pointer, pg_el index, int64_t size)
{
    if (pointer.reg == 0 || index.reg == 0) {
        pg_el by = pg_lw_imul(c, PG_I64, index, pg_el_imm(size), false);
        return pg_lw_iadd(c, PG_I64, pointer, by, false);
    }
    pg_lw_sum *s = sum_of(c, pointer.reg, index.reg, size);
    if (!is_sum(s, PG_I64, pointer.reg, index.reg, size)) {
        *s = address_of_regs(c, pointer.reg, index.reg, size);
    }
    pg_el out = {.reg = s->reg};
    out.imm = (int64_t)((uint64_t)pointer.imm + (uint64_t)index.imm * (uint64_t)size);
    out.is_nw =
        out.imm == 0 || is_in_range(PG_I64, sat_add(s->f.lo, out.imm), sat_add(s->f.hi, out.imm));
    return out;
}

/* ---- division ------------------------------------------------------------------------------- */

/* The low bits only: for unsigned forms of small types. */
static pg_ptx_opnd zero_extended(pg_lw *c, pg_elem e, pg_el a)
{
    if (a.reg == 0 && is_small(e)) {
        return pg_ptx_int(a.imm & (e == PG_I8 ? 0xFF : 0xFFFF));
    }
    pg_ptx_opnd x = pg_lw_use(c, e, a);
    if (!is_small(e) || pg_lw_fact(c, e, a).lo >= 0) {
        return x;
    }
    return pg_lw_opnd2(c, "and.b32", PG_PTX_B32, x, pg_ptx_int(e == PG_I8 ? 0xFF : 0xFFFF));
}

static pg_el udivide(pg_lw *c, pg_elem e, pg_el a, pg_el b, bool is_rem)
{
    pg_fact fa = pg_lw_fact(c, e, a), fb = pg_lw_fact(c, e, b);
    bool is_pow2 = b.reg == 0 && b.imm > 0 && pg_is_pow2((uint64_t)b.imm);
    pg_ptx_type type = pg_lw_reg_type(e);
    pg_ptx_opnd x = zero_extended(c, e, a);
    uint32_t r;
    if (is_pow2 && is_rem) {
        r = pg_lw_pure2(c, is_wide(e) ? "and.b64" : "and.b32", type, x, pg_ptx_int(b.imm - 1));
    } else if (is_pow2) {
        r = pg_lw_pure2(c, is_wide(e) ? "shr.u64" : "shr.u32", type, x,
                        pg_ptx_int(pg_log2((uint64_t)b.imm)));
    } else {
        const char *op =
            is_rem ? (is_wide(e) ? "rem.u64" : "rem.u32") : (is_wide(e) ? "div.u64" : "div.u32");
        r = pg_lw_pure2(c, op, type, x, zero_extended(c, e, b));
    }
    pg_fact f;
    pg_elem_range(e, &f.lo, &f.hi);
    f.align = 0;
    if (fa.lo >= 0 && fb.lo >= 0) {
        int64_t most = is_rem ? (fb.hi > 0 ? fb.hi - 1 : 0) : fa.hi / (fb.lo > 0 ? fb.lo : 1);
        f.lo = 0;
        f.hi = is_rem && fa.hi < most ? fa.hi : most;
    } else if (is_small(e)) {
        f.hi = 0xFFFF;
    }
    return result(c, e, r, &f);
}

static pg_el sdivide(pg_lw *c, pg_elem e, pg_el a, pg_el b, bool is_rem)
{
    pg_fact fa = pg_lw_fact(c, e, a), fb = pg_lw_fact(c, e, b);
    if (b.reg == 0 && b.imm == 1) {
        return is_rem ? pg_el_imm(0) : a;
    }
    if (fa.lo >= 0 && fb.lo >= 0) {
        return udivide(c, e, a, b, is_rem);
    }
    const char *narrow = is_rem ? "rem.s32" : "div.s32";
    pg_fact f = {INT64_MIN, INT64_MAX, 0};
    if (is_rem) {
        pg_elem_range(e, &f.lo, &f.hi);
        f.lo = fa.lo >= 0 ? 0 : f.lo;
    } else if (b.reg == 0 && b.imm > 0) {
        f.lo = fa.lo / b.imm;
        f.hi = fa.hi / b.imm;
    }
    return result(c, e, op2(c, narrow, is_rem ? "rem.s64" : "div.s64", e, a, b), &f);
}

/* (a + (b - 1)) / b: below 2^bits for what icdiv allows, so unsigned. */
static pg_el ceil_divide(pg_lw *c, pg_elem e, pg_el a, pg_el b)
{
    if (b.reg == 0 && b.imm == 1) {
        return a;
    }
    pg_ptx_type type = pg_lw_reg_type(e);
    const pg_fact fa = pg_lw_fact(c, e, a), fb = pg_lw_fact(c, e, b);
    pg_el less = pg_lw_iadd(c, is_wide(e) ? PG_I64 : PG_I32, b, pg_el_imm(-1), false);
    pg_el sum = pg_lw_iadd(c, is_wide(e) ? PG_I64 : PG_I32, a, less, false);
    pg_ptx_opnd x = pg_lw_use(c, is_wide(e) ? PG_I64 : PG_I32, sum);
    const uint32_t n_made = fa.lo >= 0 && fb.lo > 0 ? 0 : c->b.f->regs.n; /* else by promise */
    uint32_t r;
    if (b.reg == 0 && b.imm > 0 && pg_is_pow2((uint64_t)b.imm)) {
        r = pg_lw_pure2(c, is_wide(e) ? "shr.u64" : "shr.u32", type, x,
                        pg_ptx_int(pg_log2((uint64_t)b.imm)));
    } else {
        r = pg_lw_pure2(c, is_wide(e) ? "div.u64" : "div.u32", type, x, pg_lw_use(c, e, b));
    }
    int64_t most = fa.hi < 0 ? 0 : fa.hi;
    int64_t by = b.reg == 0 && b.imm > 0 ? b.imm : 1;
    pg_fact f = {0, most / by + (most % by != 0), 0};
    f = shared_fact(c, e, r, n_made, &f);
    return result(c, e, r, &f);
}

/* ---- bits ----------------------------------------------------------------------------------- */

static pg_el bitwise(pg_lw *c, pg_op op, pg_elem e, pg_el a, pg_el b)
{
    if (a.reg == 0) {
        pg_el t = a;
        a = b;
        b = t;
    }
    pg_fact fa = pg_lw_fact(c, e, a), fb = pg_lw_fact(c, e, b);
    bool is_and = op == PG_OP_AND;
    bool is_mask =
        is_and && b.reg == 0 && b.imm >= 0 && ((uint64_t)b.imm & ((uint64_t)b.imm + 1)) == 0;
    if (is_mask && fa.lo >= 0 && fa.hi <= b.imm) {
        return a;
    }
    const char *narrow = is_and ? "and.b32" : op == PG_OP_OR ? "or.b32" : "xor.b32";
    const char *wide = is_and ? "and.b64" : op == PG_OP_OR ? "or.b64" : "xor.b64";
    pg_fact f;
    pg_elem_range(e, &f.lo, &f.hi);
    f.align = is_and ? (fa.align > fb.align ? fa.align : fb.align) : least(fa.align, fb.align);
    if (is_and && (fa.lo >= 0 || fb.lo >= 0)) {
        f.lo = 0;
        f.hi = fa.lo < 0 ? fb.hi : fb.lo < 0 ? fa.hi : fa.hi < fb.hi ? fa.hi : fb.hi;
    } else if (fa.lo >= 0 && fb.lo >= 0) {
        uint64_t bits = (uint64_t)fa.hi | (uint64_t)fb.hi;
        f.lo = 0;
        f.hi = bits == 0 ? 0 : (int64_t)((UINT64_C(2) << pg_log2(bits)) - 1);
    }
    return result(c, e, op2(c, narrow, wide, e, a, b), &f);
}

/* PTX clamps counts, but takes 32 bits of them. */
static pg_ptx_opnd shift_count(pg_lw *c, pg_elem e, pg_el b)
{
    if (!is_wide(e)) {
        return pg_lw_use(c, e, b);
    }
    if (b.reg == 0) {
        return pg_ptx_int((uint64_t)b.imm > 64 ? 64 : b.imm);
    }
    pg_ptx_opnd most = pg_lw_opnd2(c, "min.u64", PG_PTX_B64, pg_lw_use(c, e, b), pg_ptx_int(64));
    return pg_lw_opnd1(c, "cvt.u32.u64", PG_PTX_B32, most);
}

static pg_el shift(pg_lw *c, pg_op op, pg_elem e, pg_el a, pg_el b)
{
    uint32_t bits = pg_elem_infos[e].bits;
    bool is_const = b.reg == 0 && (uint64_t)b.imm < bits;
    if (b.reg == 0 && (b.imm == 0 || (!is_const && op != PG_OP_ISHR))) {
        return b.imm == 0 ? a : pg_el_imm(0);
    }
    if (op == PG_OP_SHL && is_const && !is_small(e) && b.imm < 62) {
        return pg_lw_imul(c, e, a, imm_of(e, UINT64_C(1) << b.imm), false);
    }
    pg_fact fa = pg_lw_fact(c, e, a);
    pg_fact f;
    pg_elem_range(e, &f.lo, &f.hi);
    f.align = 0;
    pg_ptx_opnd count = shift_count(c, e, b);
    pg_ptx_opnd x = op == PG_OP_USHR ? zero_extended(c, e, a) : pg_lw_use(c, e, a);
    const char *narrow = op == PG_OP_SHL ? "shl.b32" : op == PG_OP_ISHR ? "shr.s32" : "shr.u32";
    const char *wide = op == PG_OP_SHL ? "shl.b64" : op == PG_OP_ISHR ? "shr.s64" : "shr.u64";
    uint32_t r = pg_lw_pure2(c, is_wide(e) ? wide : narrow, pg_lw_reg_type(e), x, count);
    if (op == PG_OP_SHL) {
        f.lo = INT64_MIN;
    } else if (op == PG_OP_ISHR || fa.lo >= 0) {
        uint32_t by = is_const ? (uint32_t)b.imm : 0;
        f.lo = (fa.lo >= 0 ? 0 : fa.lo) >> by;
        f.hi = (fa.hi < 0 ? -1 : fa.hi) >> by;
        f.align = is_const && fa.align > by ? (uint8_t)(fa.align - by) : 0;
    } else if (is_const) {
        f.lo = 0; /* at least one bit is shifted in */
    } else if (is_small(e)) {
        f.hi = 0xFFFF;
    }
    return result(c, e, r, &f);
}

/* ---- minimum, negation ----------------------------------------------------------------------- */

static pg_el min_max(pg_lw *c, pg_op op, pg_elem e, pg_el a, pg_el b)
{
    pg_fact fa = pg_lw_fact(c, e, a), fb = pg_lw_fact(c, e, b);
    bool is_min = op == PG_OP_IMIN || op == PG_OP_UMIN;
    bool is_signed = op == PG_OP_IMIN || op == PG_OP_IMAX;
    static const char *const ops[2][2][2] = {{{"max.u32", "max.u64"}, {"max.s32", "max.s64"}},
                                             {{"min.u32", "min.u64"}, {"min.s32", "min.s64"}}};
    pg_fact f;
    pg_elem_range(e, &f.lo, &f.hi);
    f.align = least(fa.align, fb.align);
    if (is_signed || (fa.lo >= 0 && fb.lo >= 0)) {
        bool is_a_lo = is_min ? fa.lo < fb.lo : fa.lo > fb.lo;
        bool is_a_hi = is_min ? fa.hi < fb.hi : fa.hi > fb.hi;
        f.lo = is_a_lo ? fa.lo : fb.lo;
        f.hi = is_a_hi ? fa.hi : fb.hi;
    }
    const char *const *names = ops[is_min][is_signed];
    uint32_t r = op2(c, names[0], names[1], e, a, b);
    return result(c, e, r, &f);
}

static pg_el unary(pg_lw *c, const char *narrow, const char *wide, pg_elem e, pg_el a)
{
    pg_fact fa = pg_lw_fact(c, e, a);
    uint32_t r = pg_lw_pure1(c, is_wide(e) ? wide : narrow, pg_lw_reg_type(e), pg_lw_use(c, e, a));
    pg_fact f = {INT64_MIN, INT64_MAX, fa.align}; /* of the least number, itself */
    return result(c, e, r, &f);
}

pg_el pg_lw_int_op(pg_lw *c, const pg_inst *i, pg_elem e, const pg_el *in)
{
    bool is_nw = pg_attr_has(&i->attrs, PG_A_NW);
    switch ((pg_op)i->op) {
    case PG_OP_IADD: return pg_lw_iadd(c, e, in[0], in[1], is_nw);
    case PG_OP_ISUB: return isub(c, e, in[0], in[1], is_nw);
    case PG_OP_IMUL: return pg_lw_imul(c, e, in[0], in[1], is_nw);
    case PG_OP_IDIV: return sdivide(c, e, in[0], in[1], false);
    case PG_OP_IREM: return sdivide(c, e, in[0], in[1], true);
    case PG_OP_UDIV: return udivide(c, e, in[0], in[1], false);
    case PG_OP_UREM: return udivide(c, e, in[0], in[1], true);
    case PG_OP_ICDIV: return ceil_divide(c, e, in[0], in[1]);
    case PG_OP_IMIN:
    case PG_OP_IMAX:
    case PG_OP_UMIN:
    case PG_OP_UMAX: return min_max(c, (pg_op)i->op, e, in[0], in[1]);
    case PG_OP_AND:
    case PG_OP_OR:
    case PG_OP_XOR: return bitwise(c, (pg_op)i->op, e, in[0], in[1]);
    case PG_OP_SHL:
    case PG_OP_ISHR:
    case PG_OP_USHR: return shift(c, (pg_op)i->op, e, in[0], in[1]);
    case PG_OP_INEG: return unary(c, "neg.s32", "neg.s64", e, in[0]);
    default: return unary(c, "abs.s32", "abs.s64", e, in[0]);
    }
}

/* ---- predicates ----------------------------------------------------------------------------- */

pg_el pg_el_not(pg_lw *c, pg_el p)
{
    return p.reg == 0 ? pg_el_imm(1 - (p.imm & 1))
                      : pg_el_reg(pg_lw_pure1(c, "not.pred", PG_PTX_PRED, pg_lw_reg(p.reg - 1)));
}

static pg_el pred2(pg_lw *c, const char *op, pg_el p, pg_el q)
{
    return pg_el_reg(pg_lw_pure2(c, op, PG_PTX_PRED, pg_lw_reg(p.reg - 1), pg_lw_reg(q.reg - 1)));
}

pg_el pg_el_and(pg_lw *c, pg_el p, pg_el q)
{
    if (p.reg == 0 || q.reg == 0) {
        pg_el known = p.reg == 0 ? p : q;
        return known.imm == 0 ? pg_el_imm(0) : p.reg == 0 ? q : p;
    }
    return pg_el_same(p, q) ? p : pred2(c, "and.pred", p, q);
}

static pg_el pred_or(pg_lw *c, pg_el p, pg_el q)
{
    if (p.reg == 0 || q.reg == 0) {
        pg_el known = p.reg == 0 ? p : q;
        return known.imm != 0 ? pg_el_imm(1) : p.reg == 0 ? q : p;
    }
    return pg_el_same(p, q) ? p : pred2(c, "or.pred", p, q);
}

static pg_el pred_xor(pg_lw *c, pg_el p, pg_el q)
{
    if (p.reg == 0 || q.reg == 0) {
        pg_el known = p.reg == 0 ? p : q;
        pg_el other = p.reg == 0 ? q : p;
        return known.imm == 0 ? other : pg_el_not(c, other);
    }
    return pg_el_same(p, q) ? pg_el_imm(0) : pred2(c, "xor.pred", p, q);
}

/* i1 is the number 0 or 1. */
pg_el pg_lw_i1_op(pg_lw *c, const pg_inst *i, const pg_el *in)
{
    switch ((pg_op)i->op) {
    case PG_OP_IADD:
    case PG_OP_ISUB:
    case PG_OP_XOR: return pred_xor(c, in[0], in[1]);
    case PG_OP_IMUL:
    case PG_OP_AND:
    case PG_OP_UMIN:
    case PG_OP_IMIN: return pg_el_and(c, in[0], in[1]);
    case PG_OP_OR:
    case PG_OP_UMAX:
    case PG_OP_IMAX: return pred_or(c, in[0], in[1]);
    case PG_OP_IREM:
    case PG_OP_UREM: return pg_el_imm(0);
    case PG_OP_SHL:
    case PG_OP_ISHR:
    case PG_OP_USHR: return pg_el_and(c, in[0], pg_el_not(c, in[1]));
    default: return in[0]; /* division by 1, ineg, iabs */
    }
}

static pg_el i1_cmp(pg_lw *c, int64_t is, pg_el a, pg_el b)
{
    if (is == PG_IS_EQ || is == PG_IS_NE) {
        pg_el x = pred_xor(c, a, b);
        return is == PG_IS_NE ? x : pg_el_not(c, x);
    }
    bool is_less = is == PG_IS_LT || is == PG_IS_LE;
    pg_el low = is_less ? a : b;
    pg_el high = is_less ? b : a;
    bool is_strict = is == PG_IS_LT || is == PG_IS_GT;
    pg_el not_low = pg_el_not(c, low);
    return is_strict ? pg_el_and(c, high, not_low) : pred_or(c, high, not_low);
}

/* x + j < n with x and n multiples of v, 0 <= j < v, is x < n: the same for all j. */
static pg_el drop_low(const pg_lw *c, pg_elem e, pg_el x, pg_el n)
{
    if (x.reg == 0 || x.imm == 0) {
        return x;
    }
    uint8_t align = least(pg_lw_reg_fact(c, e, x.reg).align, pg_lw_fact(c, e, n).align);
    align = align > 20 ? 20 : align;
    int64_t v = INT64_C(1) << align;
    x.imm -= ((x.imm % v) + v) % v;
    return x;
}

pg_el pg_lw_icmp(pg_lw *c, pg_elem e, int64_t is, bool is_signed, pg_el a, pg_el b)
{
    if (e == PG_I1) {
        return i1_cmp(c, is, a, b);
    }
    static const char *const words[6] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const ops[6][4] = {
        {"setp.eq.u32", "setp.eq.u64", "setp.eq.s32", "setp.eq.s64"},
        {"setp.ne.u32", "setp.ne.u64", "setp.ne.s32", "setp.ne.s64"},
        {"setp.lt.u32", "setp.lt.u64", "setp.lt.s32", "setp.lt.s64"},
        {"setp.le.u32", "setp.le.u64", "setp.le.s32", "setp.le.s64"},
        {"setp.gt.u32", "setp.gt.u64", "setp.gt.s32", "setp.gt.s64"},
        {"setp.ge.u32", "setp.ge.u64", "setp.ge.s32", "setp.ge.s64"}};
    if (is < 0 || is >= (int64_t)PG_COUNT_OF(words)) {
        return pg_el_imm(0);
    }
    if (!is_small(e) && (is == PG_IS_LT || is == PG_IS_GE)) {
        a = drop_low(c, e, a, b);
    }
    if (!is_small(e) && (is == PG_IS_GT || is == PG_IS_LE)) {
        b = drop_low(c, e, b, a);
    }
    pg_fact fa = pg_lw_fact(c, e, a), fb = pg_lw_fact(c, e, b);
    bool is_plain = is_signed || (fa.lo >= 0 && fb.lo >= 0);
    bool is_less = is_plain && fa.hi < fb.lo;
    bool is_more = is_plain && fa.lo > fb.hi;
    if (is_less || is_more) {
        bool holds = is == PG_IS_NE || (is_less && (is == PG_IS_LT || is == PG_IS_LE)) ||
                     (is_more && (is == PG_IS_GT || is == PG_IS_GE));
        return pg_el_imm(holds ? 1 : 0);
    }
    const char *op = ops[is][(is_signed ? 2 : 0) + (is_wide(e) ? 1 : 0)];
    pg_ptx_opnd x = pg_lw_use(c, e, a);
    return pg_el_reg(pg_lw_pure2(c, op, PG_PTX_PRED, x, pg_lw_use(c, e, b)));
}

pg_el pg_lw_sext64(pg_lw *c, pg_elem from, pg_el a)
{
    if (a.reg == 0 || from == PG_I64) {
        return a;
    }
    if (from == PG_I1) {
        return pg_el_reg(pg_lw_pure3(c, "selp.b64", PG_PTX_B64, pg_ptx_int(1), pg_ptx_int(0),
                                     pg_lw_reg(a.reg - 1)));
    }
    if (!a.is_nw && a.imm != 0) {
        a = pg_el_reg(pg_lw_use(c, from, a).id);
    }
    pg_fact f = pg_lw_reg_fact(c, from, a.reg);
    uint32_t r = pg_lw_pure1(c, "cvt.s64.s32", PG_PTX_B64, pg_lw_reg(a.reg - 1));
    pg_lw_set_fact(c, r, f.lo, f.hi, f.align);
    return (pg_el){.reg = r + 1, .is_nw = true, .imm = a.imm};
}
