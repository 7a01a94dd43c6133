/* ops_int.c: integer arithmetic. Division by zero gives what the machine's division gives: all ones
 * as quotient, the dividend as remainder. */
#include "tools/exec/ops.h"

void pe_end1(pe_dec *d, pg_ptx_type t, pe_fn fn)
{
    uint32_t bits = pe_type_bits(t);
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in_type(d, 1, t);
    pe_emit(d, fn);
}

void pe_end2(pe_dec *d, pg_ptx_type t, pe_fn fn)
{
    uint32_t bits = pe_type_bits(t);
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in_type(d, 1, t);
    d->i.b = pe_in_type(d, 2, t);
    pe_emit(d, fn);
}

void pe_end3(pe_dec *d, pg_ptx_type t, pe_fn fn)
{
    uint32_t bits = pe_type_bits(t);
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in_type(d, 1, t);
    d->i.b = pe_in_type(d, 2, t);
    d->i.c = pe_in_type(d, 3, t);
    pe_emit(d, fn);
}

bool pe_is_float(pg_ptx_type t)
{
    return t == PG_PTX_F32 || t == PG_PTX_F64;
}

bool pe_is_half(pg_ptx_type t)
{
    return t == PG_PTX_F16 || t == PG_PTX_BF16 || t == PG_PTX_F16X2 || t == PG_PTX_BF16X2;
}

/* Row of a table by type: 0..5 for u16 u32 u64 s16 s32 s64 (b as u), 6 for s8x4-like and others. */
static uint32_t int_index(pg_ptx_type t)
{
    switch ((int)t) {
    case PG_PTX_U16:
    case PG_PTX_B16: return 0;
    case PG_PTX_U32:
    case PG_PTX_B32: return 1;
    case PG_PTX_U64:
    case PG_PTX_B64: return 2;
    case PG_PTX_S16: return 3;
    case PG_PTX_S32: return 4;
    case PG_PTX_S64: return 5;
    default: return 6;
    }
}

#define S16(v) ((int16_t)(uint16_t)(v))
#define S32(v) ((int32_t)(v))
#define S64(v) ((int64_t)(v))
#define U16(v) ((uint16_t)(v))

/* ---- add, sub
 * ------------------------------------------------------------------------------------ */

static uint32_t sat_s32(int64_t x)
{
    return (uint32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x);
}

PE_OP2(add_16, 32, U16(x + y))
PE_OP2(add_32, 32, x + y)
PE_OP2_UP(add_64, x + y)
PE_OP2(sub_16, 32, U16(x - y))
PE_OP2(sub_32, 32, x - y)
PE_OP2_UP(sub_64, x - y)
PE_OP2(add_sat, 32, sat_s32((int64_t)S32(x) + S32(y)))
PE_OP2(sub_sat, 32, sat_s32((int64_t)S32(x) - S32(y)))
PE_OP2(add_16x2, 32, U16(x + y) | ((x >> 16) + (y >> 16)) << 16)

static const pe_fn add_fns[7] = {add_16, add_32, add_64, add_16, add_32, add_64, NULL};
static const pe_fn sub_fns[7] = {sub_16, sub_32, sub_64, sub_16, sub_32, sub_64, NULL};

/* add.cc and friends: the carry is a register of the frame, one predicate row. */
static void carry_32(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pa = pe_src32(w, i->a);
    const uint32_t *pb = pe_src32(w, i->b);
    uint32_t in = (i->op & 1) != 0 ? pe_srcp(w, i->d2) : 0;
    uint32_t t[PE_LANES];
    uint32_t out = 0;
    bool is_sub = (i->op & 4) != 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint64_t c = in >> l & 1u;
        uint64_t r = is_sub ? (uint64_t)pa[l] - pb[l] - c : (uint64_t)pa[l] + pb[l] + c;
        t[l] = (uint32_t)r;
        out |= (uint32_t)(r >> 32 & 1u) << l;
    }
    uint32_t poison = pe_poison32(w, i->a) | pe_poison32(w, i->b);
    poison |= (i->op & 1) != 0 ? pe_poisonp(w, i->d2) : 0;
    pe_put32(w, i->d, t, mask, poison);
    if ((i->op & 2) != 0) {
        pe_putp(w, i->d2, out, mask, poison);
    }
}

static void carry_64(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint64_t *pa = pe_src64(w, i->a);
    const uint64_t *pb = pe_src64(w, i->b);
    uint32_t in = (i->op & 1) != 0 ? pe_srcp(w, i->d2) : 0;
    uint64_t t[PE_LANES];
    uint32_t out = 0;
    bool is_sub = (i->op & 4) != 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint64_t c = in >> l & 1u;
        uint64_t b = pb[l] + c;
        bool is_wrap = c != 0 && b == 0;
        t[l] = is_sub ? pa[l] - b : pa[l] + b;
        bool is_out = is_wrap || (is_sub ? pa[l] < b : t[l] < b);
        out |= (is_out ? 1u : 0u) << l;
    }
    uint32_t poison = pe_poison64(w, i->a) | pe_poison64(w, i->b);
    poison |= (i->op & 1) != 0 ? pe_poisonp(w, i->d2) : 0;
    pe_put64(w, i->d, t, mask, poison);
    if ((i->op & 2) != 0) {
        pe_putp(w, i->d2, out, mask, poison);
    }
}

static pe_opnd carry_row(pe_dec *d)
{
    if (d->carry == PE_NONE) {
        d->carry = pe_temp(d, 1);
    }
    return d->carry;
}

static void decode_carry(pe_dec *d, bool is_sub, bool has_in)
{
    bool has_out = pe_take(d, "cc");
    pg_ptx_type t = pe_take_type(d);
    d->i.op = (uint16_t)((has_in ? 1 : 0) | (has_out ? 2 : 0) | (is_sub ? 4 : 0));
    d->i.d2 = carry_row(d);
    pe_end2(d, t, pe_type_bits(t) == 64 ? carry_64 : pe_type_bits(t) == 32 ? carry_32 : NULL);
}

void pe_dec_addc(pe_dec *d)
{
    decode_carry(d, pg_str_is(d->op, "subc"), true);
}

static bool has_word(const pe_dec *d, const char *word)
{
    for (uint32_t k = 0; k < d->n_mods; k++) {
        if (pg_str_is(d->mod[k], word)) {
            return true;
        }
    }
    return false;
}

static void decode_add_sub(pe_dec *d, bool is_sub)
{
    if (has_word(d, "cc")) {
        decode_carry(d, is_sub, false);
        return;
    }
    pg_ptx_type t = pe_take_type(d);
    if (pe_is_float(t)) {
        pe_float_arith(d, t, is_sub ? '-' : '+');
    } else if (pe_is_half(t)) {
        pe_half_arith(d, t, is_sub ? '-' : '+');
    } else if (t == PG_PTX_S32 && pe_take(d, "sat")) {
        pe_end2(d, t, is_sub ? sub_sat : add_sat);
    } else if ((t == PG_PTX_U16X2 || t == PG_PTX_S16X2) && !is_sub) {
        pe_end2(d, t, add_16x2);
    } else {
        pe_end2(d, t, (is_sub ? sub_fns : add_fns)[int_index(t)]);
    }
}

void pe_dec_add(pe_dec *d)
{
    decode_add_sub(d, false);
}
void pe_dec_sub(pe_dec *d)
{
    decode_add_sub(d, true);
}

/* ---- mul, mad
 * -------------------------------------------------------------------------------------- */

static uint64_t mulhi_u64(uint64_t a, uint64_t b)
{
    uint64_t al = (uint32_t)a;
    uint64_t ah = a >> 32;
    uint64_t bl = (uint32_t)b;
    uint64_t bh = b >> 32;
    uint64_t mid = ah * bl + (al * bl >> 32);
    uint64_t mid2 = al * bh + (uint32_t)mid;
    return ah * bh + (mid >> 32) + (mid2 >> 32);
}

static uint64_t mulhi_s64(uint64_t a, uint64_t b)
{
    uint64_t h = mulhi_u64(a, b);
    h -= S64(a) < 0 ? b : 0;
    h -= S64(b) < 0 ? a : 0;
    return h;
}

static uint32_t mulhi_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
static uint32_t mulhi_s32(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)((int64_t)S32(a) * S32(b)) >> 32);
}
static uint32_t mulhi_s16(uint32_t a, uint32_t b)
{
    return (uint32_t)(S16(a) * S16(b)) >> 16;
}
static uint32_t mulhi_u16(uint32_t a, uint32_t b)
{
    return U16(a) * (uint32_t)U16(b) >> 16;
}

PE_OP2(mul_lo_16, 32, U16(x *y))
PE_OP2(mul_lo_32, 32, x *y)
PE_OP2_UP(mul_lo_64, x *y)
PE_OP2(mul_hi_u16, 32, mulhi_u16(x, y))
PE_OP2(mul_hi_u32, 32, mulhi_u32(x, y))
PE_OP2(mul_hi_u64, 64, mulhi_u64(x, y))
PE_OP2(mul_hi_s16, 32, mulhi_s16(x, y))
PE_OP2(mul_hi_s32, 32, mulhi_s32(x, y))
PE_OP2(mul_hi_s64, 64, mulhi_s64(x, y))
PE_OP2(mul_wide_u16, 32, (uint32_t)U16(x) * U16(y))
PE_OP2(mul_wide_s16, 32, S16(x) * S16(y))
PE_OP3(mad_lo_16, 32, U16(x *y + z))
PE_OP3(mad_lo_32, 32, x *y + z)
PE_OP3_UP(mad_lo_64, x *y + z)
PE_OP3(mad_hi_u16, 32, U16(mulhi_u16(x, y) + z))
PE_OP3(mad_hi_u32, 32, mulhi_u32(x, y) + z)
PE_OP3(mad_hi_u64, 64, mulhi_u64(x, y) + z)
PE_OP3(mad_hi_s16, 32, U16(mulhi_s16(x, y) + z))
PE_OP3(mad_hi_s32, 32, mulhi_s32(x, y) + z)
PE_OP3(mad_hi_s64, 64, mulhi_s64(x, y) + z)
PE_OP3(mad_hi_sat, 32, sat_s32((int64_t)S32(mulhi_s32(x, y)) + S32(z)))
PE_OP3(mad_wide_u16, 32, (uint32_t)U16(x) * U16(y) + z)
PE_OP3(mad_wide_s16, 32, (uint32_t)(S16(x) * S16(y)) + z)

static void wide_32(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pa = pe_src32(w, i->a);
    const uint32_t *pb = pe_src32(w, i->b);
    const uint64_t *pc = i->c != PE_NONE ? pe_src64(w, i->c) : NULL;
    uint64_t t[PE_LANES];
    bool is_signed = i->op != 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = is_signed ? (uint64_t)((int64_t)S32(pa[l]) * S32(pb[l])) : (uint64_t)pa[l] * pb[l];
        t[l] += pc != NULL ? pc[l] : 0;
    }
    uint32_t poison = pe_poison32(w, i->a) | pe_poison32(w, i->b);
    pe_put64(w, i->d, t, mask, poison | (i->c != PE_NONE ? pe_poison64(w, i->c) : 0));
}

static const pe_fn mul_lo[7] = {mul_lo_16, mul_lo_32, mul_lo_64, mul_lo_16,
                                mul_lo_32, mul_lo_64, NULL};
static const pe_fn mul_hi[7] = {mul_hi_u16, mul_hi_u32, mul_hi_u64, mul_hi_s16,
                                mul_hi_s32, mul_hi_s64, NULL};
static const pe_fn mad_lo[7] = {mad_lo_16, mad_lo_32, mad_lo_64, mad_lo_16,
                                mad_lo_32, mad_lo_64, NULL};
static const pe_fn mad_hi[7] = {mad_hi_u16, mad_hi_u32, mad_hi_u64, mad_hi_s16,
                                mad_hi_s32, mad_hi_s64, NULL};

static void decode_wide(pe_dec *d, pg_ptx_type t, bool is_mad)
{
    uint32_t bits = pe_type_bits(t);
    if (bits != 16 && bits != 32) {
        pe_invalid(d, ".wide wants 16 or 32 bits");
        return;
    }
    d->i.op = pe_type_is_signed(t) ? 1 : 0;
    d->i.d = pe_out(d, 0, 2 * bits);
    d->i.a = pe_in(d, 1, bits);
    d->i.b = pe_in(d, 2, bits);
    if (is_mad) {
        d->i.c = pe_in(d, 3, 2 * bits);
    }
    if (bits == 32) {
        pe_emit(d, wide_32);
    } else if (is_mad) {
        pe_emit(d, d->i.op != 0 ? mad_wide_s16 : mad_wide_u16);
    } else {
        pe_emit(d, d->i.op != 0 ? mul_wide_s16 : mul_wide_u16);
    }
}

void pe_dec_mul(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    if (pe_is_float(t)) {
        pe_float_arith(d, t, '*');
    } else if (pe_is_half(t)) {
        pe_half_arith(d, t, '*');
    } else if (pe_take(d, "wide")) {
        decode_wide(d, t, false);
    } else if (pe_take(d, "hi")) {
        pe_end2(d, t, mul_hi[int_index(t)]);
    } else {
        (void)pe_take(d, "lo");
        pe_end2(d, t, mul_lo[int_index(t)]);
    }
}

/* mad.cc and madc: the product first, then an addition with carry. */
static void decode_mad_carry(pe_dec *d, pg_ptx_type t)
{
    bool is_hi = pe_take(d, "hi");
    uint32_t bits = pe_type_bits(t);
    (void)pe_take(d, "lo");
    pe_fn mul = (is_hi ? mul_hi : mul_lo)[int_index(t)];
    if (mul == NULL || (bits != 32 && bits != 64)) {
        pe_unsupported(d, "this type");
        return;
    }
    pe_inst p = {.fn = mul,
                 .guard = PE_NONE,
                 .src = d->i.src,
                 .flags = PE_I_MICRO,
                 .c = PE_NONE,
                 .d2 = PE_NONE};
    p.a = pe_in(d, 1, bits);
    p.b = pe_in(d, 2, bits);
    d->i.b = pe_in(d, 3, bits);
    d->i.d = pe_out(d, 0, bits);
    p.d = pe_temp(d, bits);
    d->i.a = p.d;
    d->i.op = (uint16_t)((pg_str_is(d->op, "madc") ? 1 : 0) | (pe_take(d, "cc") ? 2 : 0));
    d->i.d2 = carry_row(d);
    if (!d->is_failed) {
        pe_emit_micro(d, p);
    }
    pe_emit(d, bits == 64 ? carry_64 : carry_32);
}

void pe_dec_mad(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    if (pg_str_is(d->op, "madc") || has_word(d, "cc")) {
        decode_mad_carry(d, t);
    } else if (pe_is_float(t)) {
        pe_float_arith(d, t, 'f');
    } else if (pe_take(d, "wide")) {
        decode_wide(d, t, true);
    } else if (pe_take(d, "hi")) {
        pe_end3(d, t,
                pe_take(d, "sat") ? (t == PG_PTX_S32 ? mad_hi_sat : NULL) : mad_hi[int_index(t)]);
    } else {
        (void)pe_take(d, "lo");
        pe_end3(d, t, mad_lo[int_index(t)]);
    }
}

void pe_dec_fma(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    if (pe_is_half(t)) {
        pe_half_arith(d, t, 'f');
    } else {
        pe_float_arith(d, t, 'f');
    }
}

/* ---- mul24, mad24
 * ------------------------------------------------------------------------------------ */

static uint32_t mul24(uint32_t a, uint32_t b, uint32_t op)
{
    bool is_signed = (op & 1) != 0;
    uint32_t shift = (op & 2) != 0 ? 16 : 0; /* .hi: bits 47..16 of the product */
    if (is_signed) {
        int64_t p = (int64_t)(S32(a << 8) >> 8) * (S32(b << 8) >> 8);
        return (uint32_t)((uint64_t)p >> shift);
    }
    return (uint32_t)((uint64_t)(a & 0xFFFFFFu) * (b & 0xFFFFFFu) >> shift);
}

PE_OP2(do_mul24, 32, mul24(x, y, i->op))
PE_OP3(do_mad24, 32, mul24(x, y, i->op) + z)
PE_OP3(do_mad24_sat, 32, sat_s32((int64_t)S32(mul24(x, y, i->op)) + S32(z)))

void pe_dec_mul24(pe_dec *d)
{
    bool is_hi = pe_take(d, "hi");
    (void)(!is_hi && pe_take(d, "lo"));
    bool is_sat = pe_take(d, "sat");
    pg_ptx_type t = pe_take_type(d);
    d->i.op = (uint16_t)((t == PG_PTX_S32 ? 1 : 0) | (is_hi ? 2 : 0));
    if (pe_type_bits(t) != 32) {
        pe_unsupported(d, "this type");
    } else if (pg_str_is(d->op, "mul24")) {
        pe_end2(d, t, is_sat ? NULL : do_mul24);
    } else {
        pe_end3(d, t, is_sat ? do_mad24_sat : do_mad24);
    }
}

/* ---- div, rem
 * -------------------------------------------------------------------------------------------- */

static int64_t div_s64(int64_t a, int64_t b)
{
    return b == 0 ? -1 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static int64_t rem_s64(int64_t a, int64_t b)
{
    return b == 0 ? a : b == -1 ? 0 : a % b;
}

PE_OP2(div_u16, 32, U16(y) != 0 ? U16(x) / U16(y) : 0xFFFF)
PE_OP2(div_u32, 32, y != 0 ? x / y : UINT32_MAX)
PE_OP2(div_u64, 64, y != 0 ? x / y : UINT64_MAX)
PE_OP2(div_s16, 32, U16(div_s64(S16(x), S16(y))))
PE_OP2(div_s32, 32, (uint64_t)div_s64(S32(x), S32(y)))
PE_OP2(div_s64_, 64, div_s64(S64(x), S64(y)))
PE_OP2(rem_u16, 32, U16(y) != 0 ? U16(x) % U16(y) : U16(x))
PE_OP2(rem_u32, 32, y != 0 ? x % y : x)
PE_OP2(rem_u64, 64, y != 0 ? x % y : x)
PE_OP2(rem_s16, 32, U16(rem_s64(S16(x), S16(y))))
PE_OP2(rem_s32, 32, (uint64_t)rem_s64(S32(x), S32(y)))
PE_OP2(rem_s64_, 64, rem_s64(S64(x), S64(y)))

void pe_dec_div(pe_dec *d)
{
    static const pe_fn fns[7] = {div_u16, div_u32, div_u64, div_s16, div_s32, div_s64_, NULL};
    pg_ptx_type t = pe_take_type(d);
    if (pe_is_float(t)) {
        pe_float_div(d, t);
    } else {
        pe_end2(d, t, fns[int_index(t)]);
    }
}

void pe_dec_rem(pe_dec *d)
{
    static const pe_fn fns[7] = {rem_u16, rem_u32, rem_u64, rem_s16, rem_s32, rem_s64_, NULL};
    pg_ptx_type t = pe_take_type(d);
    pe_end2(d, t, fns[int_index(t)]);
}

/* ---- abs, neg, min, max, sad
 * --------------------------------------------------------------------------------- */

PE_OP1(abs_16, 32, U16(S16(x) < 0 ? 0u - x : x))
PE_OP1(abs_32, 32, S32(x) < 0 ? 0u - x : x)
PE_OP1(abs_64, 64, S64(x) < 0 ? 0u - x : x)
PE_OP1(neg_16, 32, U16(0u - x))
PE_OP1(neg_32, 32, 0u - x)
PE_OP1_UP(neg_64, UINT64_C(0) - x)

void pe_dec_abs(pe_dec *d)
{
    static const pe_fn fns[7] = {NULL, NULL, NULL, abs_16, abs_32, abs_64, NULL};
    pg_ptx_type t = pe_take_type(d);
    if (pe_is_float(t) || pe_is_half(t)) {
        pe_float_sign(d, t, true);
    } else {
        pe_end1(d, t, fns[int_index(t)]);
    }
}

void pe_dec_neg(pe_dec *d)
{
    static const pe_fn fns[7] = {NULL, NULL, NULL, neg_16, neg_32, neg_64, NULL};
    pg_ptx_type t = pe_take_type(d);
    if (pe_is_float(t) || pe_is_half(t)) {
        pe_float_sign(d, t, false);
    } else {
        pe_end1(d, t, fns[int_index(t)]);
    }
}

PE_OP2(min_u16, 32, U16(x) < U16(y) ? U16(x) : U16(y))
PE_OP2(min_u32, 32, x < y ? x : y)
PE_OP2(min_u64, 64, x < y ? x : y)
PE_OP2(min_s16, 32, S16(x) < S16(y) ? U16(x) : U16(y))
PE_OP2(min_s32, 32, S32(x) < S32(y) ? x : y)
PE_OP2(min_s64, 64, S64(x) < S64(y) ? x : y)
PE_OP2(max_u16, 32, U16(x) > U16(y) ? U16(x) : U16(y))
PE_OP2(max_u32, 32, x > y ? x : y)
PE_OP2(max_u64, 64, x > y ? x : y)
PE_OP2(max_s16, 32, S16(x) > S16(y) ? U16(x) : U16(y))
PE_OP2(max_s32, 32, S32(x) > S32(y) ? x : y)
PE_OP2(max_s64, 64, S64(x) > S64(y) ? x : y)
PE_OP2(min_relu, 32, S32(x) < S32(y) ? (S32(x) < 0 ? 0 : x) : (S32(y) < 0 ? 0 : y))
PE_OP2(max_relu, 32, S32(x) > S32(y) ? (S32(x) < 0 ? 0 : x) : (S32(y) < 0 ? 0 : y))

/* Pairs: each half as the function of 16 bits has it. */
#define X2(op, of) \
    ((uint32_t)U16(op(of(x), of(y))) | (uint32_t)U16(op(of(x >> 16), of(y >> 16))) << 16)
#define LEAST(a, b)      ((a) < (b) ? (a) : (b))
#define MOST(a, b)       ((a) > (b) ? (a) : (b))
#define LEAST_RELU(a, b) MOST(LEAST(a, b), 0)
#define MOST_RELU(a, b)  MOST(MOST(a, b), 0)
PE_OP2(min_u16x2, 32, X2(LEAST, U16))
PE_OP2(max_u16x2, 32, X2(MOST, U16))
PE_OP2(min_s16x2, 32, X2(LEAST, S16))
PE_OP2(max_s16x2, 32, X2(MOST, S16))
PE_OP2(min_relu_s16x2, 32, X2(LEAST_RELU, S16))
PE_OP2(max_relu_s16x2, 32, X2(MOST_RELU, S16))

static void minmax_of_pairs(pe_dec *d, pg_ptx_type t, bool is_max)
{
    bool is_relu = t == PG_PTX_S16X2 && pe_take(d, "relu");
    pe_fn fn = is_relu             ? (is_max ? max_relu_s16x2 : min_relu_s16x2)
               : t == PG_PTX_U16X2 ? (is_max ? max_u16x2 : min_u16x2)
                                   : (is_max ? max_s16x2 : min_s16x2);
    pe_end2(d, t, fn);
}

void pe_dec_minmax(pe_dec *d)
{
    static const pe_fn mins[7] = {min_u16, min_u32, min_u64, min_s16, min_s32, min_s64, NULL};
    static const pe_fn maxs[7] = {max_u16, max_u32, max_u64, max_s16, max_s32, max_s64, NULL};
    bool is_max = pg_str_is(d->op, "max");
    pg_ptx_type t = pe_take_type(d);
    if (pe_is_float(t)) {
        pe_float_minmax(d, t, is_max);
    } else if (pe_is_half(t)) {
        pe_half_minmax(d, t, is_max);
    } else if (t == PG_PTX_S32 && pe_take(d, "relu")) {
        pe_end2(d, t, is_max ? max_relu : min_relu);
    } else if (t == PG_PTX_U16X2 || t == PG_PTX_S16X2) {
        minmax_of_pairs(d, t, is_max);
    } else {
        pe_end2(d, t, (is_max ? maxs : mins)[int_index(t)]);
    }
}

PE_OP3(sad_u16, 32, U16(z + (U16(x) < U16(y) ? y - x : x - y)))
PE_OP3(sad_u32, 32, z + (x < y ? y - x : x - y))
PE_OP3(sad_u64, 64, z + (x < y ? y - x : x - y))
PE_OP3(sad_s16, 32, U16(z + (S16(x) < S16(y) ? y - x : x - y)))
PE_OP3(sad_s32, 32, z + (S32(x) < S32(y) ? y - x : x - y))
PE_OP3(sad_s64, 64, z + (S64(x) < S64(y) ? y - x : x - y))

void pe_dec_sad(pe_dec *d)
{
    static const pe_fn fns[7] = {sad_u16, sad_u32, sad_u64, sad_s16, sad_s32, sad_s64, NULL};
    pg_ptx_type t = pe_take_type(d);
    pe_end3(d, t, fns[int_index(t)]);
}

/* ---- dp4a, dp2a
 * ------------------------------------------------------------------------------------------------
 */

static int32_t part(uint32_t x, uint32_t index, uint32_t bits, bool is_signed)
{
    uint32_t v = x >> (index * bits) & ((1u << bits) - 1u);
    uint32_t sign = 1u << (bits - 1);
    return is_signed ? (int32_t)(v ^ sign) - (int32_t)sign : (int32_t)v;
}

/* op: 1 a signed, 2 b signed, 4 dp2a, 8 dp2a.hi */
static uint32_t dot(uint32_t a, uint32_t b, uint32_t c, uint32_t op)
{
    bool is_dp2 = (op & 4) != 0;
    for (uint32_t k = 0; k < (is_dp2 ? 2u : 4u); k++) {
        int32_t x = part(a, k, is_dp2 ? 16 : 8, (op & 1) != 0);
        int32_t y = part(b, k + ((op & 8) != 0 ? 2u : 0u), 8, (op & 2) != 0);
        c += (uint32_t)x * (uint32_t)y;
    }
    return c;
}

PE_OP3(do_dot, 32, dot(x, y, z, i->op))

void pe_dec_dp(pe_dec *d)
{
    bool is_dp2 = pg_str_is(d->op, "dp2a");
    bool is_hi = is_dp2 && pe_take(d, "hi");
    (void)(is_dp2 && !is_hi && pe_take(d, "lo"));
    pg_ptx_type ta = pe_take_type(d);
    pg_ptx_type tb = pe_take_type(d);
    if (pe_type_bits(ta) != 32 || pe_type_bits(tb) != 32) {
        pe_unsupported(d, "these types");
        return;
    }
    d->i.op = (uint16_t)((pe_type_is_signed(ta) ? 1 : 0) | (pe_type_is_signed(tb) ? 2 : 0) |
                         (is_dp2 ? 4 : 0) | (is_hi ? 8 : 0));
    pe_end3(d, PG_PTX_B32, do_dot);
}

/* Distances of four pairs of bytes: each to its place, or all of them added to c. op: as of dot; 4
 * add */
static uint32_t distances(uint32_t a, uint32_t b, uint32_t c, uint32_t op)
{
    uint32_t bytes = 0;
    for (uint32_t k = 0; k < 4; k++) {
        int32_t x = part(a, k, 8, (op & 1) != 0);
        int32_t y = part(b, k, 8, (op & 2) != 0);
        uint32_t n = (uint32_t)(x < y ? y - x : x - y);
        bytes |= (n & 0xFFu) << (8 * k);
        c += n;
    }
    return (op & 4) != 0 ? c : bytes;
}

PE_OP3(do_distances, 32, distances(x, y, z, i->op))

void pe_dec_vabsdiff4(pe_dec *d)
{
    (void)pe_take_type(d); /* of the result: its sign matters to saturation alone */
    bool is_a_signed = pe_type_is_signed(pe_take_type(d));
    bool is_b_signed = pe_type_is_signed(pe_take_type(d));
    d->i.op =
        (uint16_t)((is_a_signed ? 1 : 0) | (is_b_signed ? 2 : 0) | (pe_take(d, "add") ? 4 : 0));
    pe_end3(d, PG_PTX_B32, do_distances);
}
