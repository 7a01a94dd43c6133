/* ops_cmp.c: comparisons and selections. */
#include <math.h>

#include "tools/exec/ops.h"

/* How two values relate, as a bit number; a comparison is the set of bits that it accepts. */
enum { R_LESS, R_EQUAL, R_GREATER, R_UNORDERED };
enum { LT = 1 << R_LESS, EQ = 1 << R_EQUAL, GT = 1 << R_GREATER, UN = 1 << R_UNORDERED };

typedef struct comparison {
    const char *word;
    uint8_t set;
    char kind; /* 'i' integers, 'f' floats, 'b' both, 'u' unsigned integers */
} comparison;

static const comparison comparisons[] = {{"eq", EQ, 'b'},
                                         {"ne", LT | GT, 'b'},
                                         {"lt", LT, 'b'},
                                         {"le", LT | EQ, 'b'},
                                         {"gt", GT, 'b'},
                                         {"ge", GT | EQ, 'b'},
                                         {"lo", LT, 'u'},
                                         {"ls", LT | EQ, 'u'},
                                         {"hi", GT, 'u'},
                                         {"hs", GT | EQ, 'u'},
                                         {"equ", EQ | UN, 'f'},
                                         {"neu", LT | GT | UN, 'f'},
                                         {"ltu", LT | UN, 'f'},
                                         {"leu", LT | EQ | UN, 'f'},
                                         {"gtu", GT | UN, 'f'},
                                         {"geu", GT | EQ | UN, 'f'},
                                         {"num", LT | EQ | GT, 'f'},
                                         {"nan", UN, 'f'}};

/* By lane its bit: without a shift by the lane, loops over them vectorise. */
#define EIGHT(x) (x), (x) << 1, (x) << 2, (x) << 3, (x) << 4, (x) << 5, (x) << 6, (x) << 7
static const uint32_t lane_bits[PE_LANES] = {EIGHT(1u), EIGHT(1u << 8), EIGHT(1u << 16),
                                             EIGHT(1u << 24)};
#undef EIGHT
/* All ones if the comparison holds of values that relate so. */
#define ALL_IF(i, how) (0u - ((uint32_t)(i)->op >> (how)&1u))

#define RELATE(name, B, T, value)                                                                 \
    static uint32_t name(const pe_warp *w, const pe_inst *i)                                      \
    {                                                                                             \
        const pe_u##B *pa = pe_src##B(w, i->a);                                                   \
        const pe_u##B *pb = pe_src##B(w, i->b);                                                   \
        const uint32_t less = ALL_IF(i, R_LESS);                                                  \
        const uint32_t equal = ALL_IF(i, R_EQUAL);                                                \
        const uint32_t greater = ALL_IF(i, R_GREATER);                                            \
        const uint32_t unordered = ALL_IF(i, R_UNORDERED);                                        \
        uint32_t r = 0;                                                                           \
        for (uint32_t l = 0; l < PE_LANES; l++) {                                                 \
            pe_u##B v = pa[l];                                                                    \
            T x = (T)(value);                                                                     \
            v = pb[l];                                                                            \
            T y = (T)(value);                                                                     \
            uint32_t is_less = 0u - (uint32_t)(x < y);                                            \
            uint32_t is_equal = 0u - (uint32_t)(x == y);                                          \
            uint32_t is_greater = 0u - (uint32_t)(x > y);                                         \
            uint32_t is_none = ~(is_less | is_equal | is_greater);                                \
            r |= lane_bits[l] & ((is_less & less) | (is_equal & equal) | (is_greater & greater) | \
                                 (is_none & unordered));                                          \
        }                                                                                         \
        return r;                                                                                 \
    }

enum { C_FTZ = 16, C_HIGH = 32 };

RELATE(relate_u16, 32, uint16_t, v)
RELATE(relate_s16, 32, int16_t, (uint16_t)v)
RELATE(relate_u32, 32, uint32_t, v)
RELATE(relate_s32, 32, int32_t, v)
RELATE(relate_u64, 64, uint64_t, v)
RELATE(relate_s64, 64, int64_t, v)
RELATE(relate_f32, 32, float, pe_f32((i->op & C_FTZ) != 0 ? pe_flush(v) : v))
RELATE(relate_f64, 64, double, pe_f64(v))
static double half_of(const pe_inst *i, uint32_t v, pe_fmt fmt)
{
    v = ((i->op & C_HIGH) != 0 ? v >> 16 : v) & 0xFFFFu;
    bool is_subnormal = fmt == PE_FMT_F16 && (v & 0x7C00u) == 0;
    return pe_small_to_f64((i->op & C_FTZ) != 0 && is_subnormal ? v & 0x8000u : v, fmt);
}

RELATE(relate_f16, 32, double, half_of(i, v, PE_FMT_F16))
RELATE(relate_bf16, 32, double, half_of(i, v, PE_FMT_BF16))

typedef uint32_t (*relate_fn)(const pe_warp *w, const pe_inst *i);

static uint32_t relate(const pe_warp *w, const pe_inst *i)
{
    static const relate_fn fns[PG_PTX_T_COUNT] = {
        [PG_PTX_B16] = relate_u16,   [PG_PTX_U16] = relate_u16,   [PG_PTX_S16] = relate_s16,
        [PG_PTX_B32] = relate_u32,   [PG_PTX_U32] = relate_u32,   [PG_PTX_S32] = relate_s32,
        [PG_PTX_B64] = relate_u64,   [PG_PTX_U64] = relate_u64,   [PG_PTX_S64] = relate_s64,
        [PG_PTX_F32] = relate_f32,   [PG_PTX_F64] = relate_f64,   [PG_PTX_F16] = relate_f16,
        [PG_PTX_BF16] = relate_bf16, [PG_PTX_F16X2] = relate_f16, [PG_PTX_BF16X2] = relate_bf16};
    return fns[i->type](w, i);
}

static uint32_t operands_poison(const pe_warp *w, const pe_inst *i)
{
    return pe_type_bits((pg_ptx_type)i->type) == 64 ? pe_poison64(w, i->a) | pe_poison64(w, i->b)
                                                    : pe_poison32(w, i->a) | pe_poison32(w, i->b);
}

static uint32_t combine(const pe_warp *w, const pe_inst *i, uint32_t r)
{
    switch (i->n) {
    case 1: return r & pe_srcp(w, i->c);
    case 2: return r | pe_srcp(w, i->c);
    case 3: return r ^ pe_srcp(w, i->c);
    default: return r;
    }
}

static void setp(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t r = relate(w, i);
    uint32_t poison = operands_poison(w, i) | (i->n != 0 ? pe_poisonp(w, i->c) : 0);
    uint32_t p = combine(w, i, r);
    uint32_t q = combine(w, i, ~r);
    pe_putp(w, i->d, p, mask, poison);
    if (i->d2 != PE_NONE) {
        pe_putp(w, i->d2, q, mask, poison);
    }
}

/* f16x2: p for the low half, q for the high one. */
static void setp_pair(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t low = combine(w, i, relate(w, i));
    pe_inst high = *i;
    high.op |= C_HIGH;
    uint32_t r = combine(w, i, relate(w, &high));
    uint32_t poison = operands_poison(w, i) | (i->n != 0 ? pe_poisonp(w, i->c) : 0);
    pe_putp(w, i->d, low, mask, poison);
    pe_putp(w, i->d2, r, mask, poison);
}

static void set(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t p = combine(w, i, relate(w, i));
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = (p >> l & 1u) != 0 ? (uint32_t)i->imm : 0;
    }
    pe_put32(w, i->d, t, mask, operands_poison(w, i) | (i->n != 0 ? pe_poisonp(w, i->c) : 0));
}

/* Pairs: each half of the result for one half of the operands. */
static void set_pair(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    pe_inst second = *i;
    second.op |= C_HIGH;
    uint32_t low = combine(w, i, relate(w, i));
    uint32_t high = combine(w, i, relate(w, &second));
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = ((low >> l & 1u) != 0 ? (uint32_t)i->imm & 0xFFFFu : 0) |
               ((high >> l & 1u) != 0 ? (uint32_t)i->imm & 0xFFFF0000u : 0);
    }
    pe_put32(w, i->d, t, mask, operands_poison(w, i) | (i->n != 0 ? pe_poisonp(w, i->c) : 0));
}

/* What a comparison that holds gives: 1.0, or all ones. */
static const uint32_t truths[PG_PTX_T_COUNT] = {
    [PG_PTX_F16] = 0x3C00,        [PG_PTX_BF16] = 0x3F80,    [PG_PTX_F16X2] = 0x3C003C00,
    [PG_PTX_BF16X2] = 0x3F803F80, [PG_PTX_F32] = 0x3F800000, [PG_PTX_U16] = 0xFFFF,
    [PG_PTX_S16] = 0xFFFF,        [PG_PTX_U32] = UINT32_MAX, [PG_PTX_S32] = UINT32_MAX};

static bool take_comparison(pe_dec *d, uint8_t *out_set, char *out_kind)
{
    for (size_t k = 0; k < PG_COUNT_OF(comparisons); k++) {
        if (pe_take(d, comparisons[k].word)) {
            *out_set = comparisons[k].set;
            *out_kind = comparisons[k].kind;
            return true;
        }
    }
    return false;
}

static bool can_compare(pg_ptx_type t)
{
    return pe_is_float(t) || pe_is_half(t) ||
           ((pe_type_bits(t) == 16 || pe_type_bits(t) == 32 || pe_type_bits(t) == 64) &&
            strchr("USB", pe_type_class(t)) != NULL);
}

void pe_dec_setp(pe_dec *d)
{
    bool is_set = pg_str_is(d->op, "set");
    uint8_t accepts = 0;
    char kind = 'b';
    if (!take_comparison(d, &accepts, &kind)) {
        pe_unsupported(d, "this comparison");
        return;
    }
    d->i.n = (uint8_t)pe_take_one(d, "and or xor");
    d->i.op = (uint16_t)(accepts | (pe_take(d, "ftz") ? C_FTZ : 0));
    pg_ptx_type result = is_set ? pe_take_type(d) : PG_PTX_PRED;
    pg_ptx_type t = pe_take_type(d);
    d->i.type = (uint16_t)t;
    bool is_floating = pe_is_float(t) || pe_is_half(t);
    bool is_pair = t == PG_PTX_F16X2 || t == PG_PTX_BF16X2;
    if (!can_compare(t) || (kind == 'f') > is_floating ||
        (kind == 'u' && pe_type_class(t) != 'U')) {
        pe_unsupported(d, "this type");
        return;
    }
    d->i.a = pe_in_type(d, 1, t);
    d->i.b = pe_in_type(d, 2, t);
    if (d->i.n != 0) {
        d->i.c = pe_in(d, 3, 1);
    }
    if (is_set) {
        d->i.imm = truths[result];
        d->i.d = pe_out(d, 0, 32);
        pe_emit(d, d->i.imm == 0 ? NULL : is_pair ? set_pair : set);
        return;
    }
    const pg_ptx_opnd *o = pe_arg(d, 0);
    if (o->kind == PG_PTX_O_PAIR) {
        d->i.d = pe_out_opnd(d, &d->pf->pool.at[o->id], 1);
        d->i.d2 = pe_out_opnd(d, &d->pf->pool.at[o->id + 1], 1);
    } else {
        d->i.d = pe_out_opnd(d, o, 1);
    }
    pe_emit(d, !is_pair ? setp : d->i.d2 != PE_NONE ? setp_pair : NULL);
}

/* ---- selp, slct
 * ---------------------------------------------------------------------------------------- */

static void selp_32(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pa = pe_src32(w, i->a);
    const uint32_t *pb = pe_src32(w, i->b);
    uint32_t p = pe_srcp(w, i->c);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = (p >> l & 1u) != 0 ? pa[l] : pb[l];
    }
    uint32_t poison =
        (pe_poison32(w, i->a) & p) | (pe_poison32(w, i->b) & ~p) | pe_poisonp(w, i->c);
    pe_put32(w, i->d, t, mask, poison);
}

static void selp_64(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint64_t *pa = pe_src64(w, i->a);
    const uint64_t *pb = pe_src64(w, i->b);
    uint32_t p = pe_srcp(w, i->c);
    uint64_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = (p >> l & 1u) != 0 ? pa[l] : pb[l];
    }
    uint32_t poison =
        (pe_poison64(w, i->a) & p) | (pe_poison64(w, i->b) & ~p) | pe_poisonp(w, i->c);
    pe_put64(w, i->d, t, mask, poison);
}

void pe_dec_selp(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in_type(d, 1, t);
    d->i.b = pe_in_type(d, 2, t);
    d->i.c = pe_in(d, 3, 1);
    pe_emit(d, bits == 64 ? selp_64 : bits == 32 || bits == 16 ? selp_32 : NULL);
}

/* The sign of c becomes a predicate, then it is selp. */
static void sign_pred(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pa = pe_src32(w, i->a);
    uint32_t r = 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint32_t x = (i->op & C_FTZ) != 0 ? pe_flush(pa[l]) : pa[l];
        bool is_yes = i->n != 0 ? pe_f32(x) >= 0.0f : (x >> 31) == 0;
        r |= (is_yes ? 1u : 0u) << l;
    }
    pe_putp(w, i->d, r, mask, pe_poison32(w, i->a));
}

void pe_dec_slct(pe_dec *d)
{
    bool is_ftz = pe_take(d, "ftz");
    pg_ptx_type t = pe_take_type(d);
    pg_ptx_type tc = pe_take_type(d);
    if (tc != PG_PTX_S32 && tc != PG_PTX_F32) {
        pe_unsupported(d, "this type");
        return;
    }
    pe_inst p = {.fn = sign_pred, .guard = PE_NONE, .src = d->i.src, .flags = PE_I_MICRO};
    p.op = is_ftz ? C_FTZ : 0;
    p.n = tc == PG_PTX_F32 ? 1 : 0;
    p.a = pe_in_type(d, 3, tc);
    p.d = pe_temp(d, 1);
    uint32_t bits = pe_type_bits(t);
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in_type(d, 1, t);
    d->i.b = pe_in_type(d, 2, t);
    d->i.c = p.d;
    if (!d->is_failed) {
        pe_emit_micro(d, p);
    }
    pe_emit(d, bits == 64 ? selp_64 : bits == 32 || bits == 16 ? selp_32 : NULL);
}

/* ---- testp, copysign
 * ----------------------------------------------------------------------------------------- */

enum { T_FINITE = 1, T_INFINITE, T_NUMBER, T_NOTANUMBER, T_NORMAL, T_SUBNORMAL };

static bool test_class(double v, bool is_subnormal, uint32_t what)
{
    switch (what) {
    case T_FINITE: return isfinite(v);
    case T_INFINITE: return isinf(v);
    case T_NUMBER: return v == v;
    case T_NOTANUMBER: return v != v;
    case T_NORMAL: return isfinite(v) && v != 0 && !is_subnormal;
    default: return is_subnormal;
    }
}

static void testp(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t r = 0;
    if (i->size == 8) {
        const uint64_t *pa = pe_src64(w, i->a);
        for (uint32_t l = 0; l < PE_LANES; l++) {
            uint64_t mag = pa[l] & ~(UINT64_C(1) << 63);
            bool is_sub = mag != 0 && mag < UINT64_C(1) << 52;
            r |= (test_class(pe_f64(pa[l]), is_sub, i->op) ? 1u : 0u) << l;
        }
        pe_putp(w, i->d, r, mask, pe_poison64(w, i->a));
        return;
    }
    const uint32_t *pa = pe_src32(w, i->a);
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint32_t mag = pa[l] & 0x7FFFFFFFu;
        bool is_sub = mag != 0 && mag < 0x00800000u;
        r |= (test_class((double)pe_f32(pa[l]), is_sub, i->op) ? 1u : 0u) << l;
    }
    pe_putp(w, i->d, r, mask, pe_poison32(w, i->a));
}

void pe_dec_testp(pe_dec *d)
{
    d->i.op = (uint16_t)pe_take_one(d, "finite infinite number notanumber normal subnormal");
    pg_ptx_type t = pe_take_type(d);
    d->i.size = (uint8_t)(pe_type_bits(t) / 8);
    d->i.d = pe_out(d, 0, 1);
    d->i.a = pe_in_type(d, 1, t);
    pe_emit(d, pe_is_float(t) && d->i.op != 0 ? testp : NULL);
}

PE_OP2(copysign_32, 32, (y & 0x7FFFFFFFu) | (x & 0x80000000u))
PE_OP2(copysign_64, 64, (y & ~(UINT64_C(1) << 63)) | (x & UINT64_C(1) << 63))

void pe_dec_copysign(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    pe_end2(d, t, t == PG_PTX_F32 ? copysign_32 : t == PG_PTX_F64 ? copysign_64 : NULL);
}
