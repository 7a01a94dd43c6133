/* ops_bits.c: logic, shifts, bit fields, permutation. Predicates are whole rows of 32 lanes. */
#include "tools/exec/ops.h"

/* ---- logic
 * ---------------------------------------------------------------------------------------- */

PE_OP2(and_32, 32, x &y)
PE_OP2(or_32, 32, x | y)
PE_OP2(xor_32, 32, x ^ y)
/* A known zero hides poison: of an `and` whose operands are poison in the upper half alone, that
 * half is clean where the other operand's is zero. */
static uint64_t hide(const pe_warp *w, const pe_inst *i, uint64_t poison)
{
    const uint64_t *pa = pe_src64(w, i->a);
    const uint64_t *pb = pe_src64(w, i->b);
    uint32_t bad_a = pe_poison64(w, i->a);
    uint32_t bad_b = pe_poison64(w, i->b);
    uint32_t hidden = 0;
    pg_foreach_lane(l, (uint32_t)poison & ~(uint32_t)(poison >> 32))
    {
        bool is_hidden = ((bad_a >> l & 1u) == 0 && pa[l] >> 32 == 0) ||
                         ((bad_b >> l & 1u) == 0 && pb[l] >> 32 == 0);
        hidden |= (is_hidden ? 1u : 0u) << l;
    }
    return poison & ~(uint64_t)hidden;
}

static void and_64(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint64_t *pa = pe_src64(w, i->a);
    const uint64_t *pb = pe_src64(w, i->b);
    uint64_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = pa[l] & pb[l];
    }
    uint64_t poison = pe_halves64(w, i->a) | pe_halves64(w, i->b);
    pe_put64_halves(w, i->d, t, mask, poison != 0 ? hide(w, i, poison) : 0);
}

PE_OP2_UP(or_64, x | y)
PE_OP2_UP(xor_64, x ^ y)
PE_OP1(not_16, 32, (uint16_t)~x)
PE_OP1(not_32, 32, ~x)
PE_OP1_UP(not_64, ~x)
PE_OP1(cnot_16, 32, (x & 0xFFFFu) == 0)
PE_OP1(cnot_32, 32, x == 0)
PE_OP1(cnot_64, 64, x == 0)

static void logic_pred(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t a = pe_srcp(w, i->a);
    uint32_t b = pe_srcp(w, i->b);
    uint32_t qa = pe_poisonp(w, i->a);
    uint32_t qb = pe_poisonp(w, i->b);
    /* A known false decides `and`, a known true decides `or`. */
    uint32_t decided = i->op == 0   ? (~a & ~qa) | (~b & ~qb)
                       : i->op == 1 ? (a & ~qa) | (b & ~qb)
                                    : 0;
    uint32_t r = i->op == 0 ? a & b : i->op == 1 ? a | b : a ^ b;
    r = i->op == 0 ? r & ~decided : i->op == 1 ? r | decided : r;
    pe_putp(w, i->d, r, mask, (qa | qb) & ~decided);
}

static void not_pred(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    pe_putp(w, i->d, ~pe_srcp(w, i->a), mask, pe_poisonp(w, i->a));
}

void pe_dec_logic(pe_dec *d)
{
    static const pe_fn fns[3][2] = {{and_32, and_64}, {or_32, or_64}, {xor_32, xor_64}};
    uint32_t op = pg_str_is(d->op, "and") ? 0 : pg_str_is(d->op, "or") ? 1 : 2;
    pg_ptx_type t = pe_take_type(d);
    if (t == PG_PTX_PRED) {
        d->i.op = (uint16_t)op;
        pe_end2(d, t, logic_pred);
        return;
    }
    pe_end2(d, t, pe_type_class(t) == 'B' ? fns[op][pe_type_bits(t) == 64] : NULL);
}

void pe_dec_not(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    if (t == PG_PTX_PRED) {
        pe_end1(d, t, not_pred);
        return;
    }
    uint32_t bits = pe_type_bits(t);
    pe_end1(d, t, bits == 64 ? not_64 : bits == 32 ? not_32 : bits == 16 ? not_16 : NULL);
}

void pe_dec_cnot(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    pe_end1(d, t, bits == 64 ? cnot_64 : bits == 32 ? cnot_32 : bits == 16 ? cnot_16 : NULL);
}

static uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t r = 0;
    r |= (table & 0x01) != 0 ? ~a & ~b & ~c : 0;
    r |= (table & 0x02) != 0 ? ~a & ~b & c : 0;
    r |= (table & 0x04) != 0 ? ~a & b & ~c : 0;
    r |= (table & 0x08) != 0 ? ~a & b & c : 0;
    r |= (table & 0x10) != 0 ? a & ~b & ~c : 0;
    r |= (table & 0x20) != 0 ? a & ~b & c : 0;
    r |= (table & 0x40) != 0 ? a & b & ~c : 0;
    r |= (table & 0x80) != 0 ? a & b & c : 0;
    return r;
}

PE_OP3(do_lop3, 32, lop3(x, y, z, (uint32_t)i->imm))

/* And a predicate: whether the result is nonzero, op 1 or, 2 and the predicate whose row is
 * `target`. */
static void do_lop3_bool(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pa = pe_src32(w, i->a);
    const uint32_t *pb = pe_src32(w, i->b);
    const uint32_t *pc = pe_src32(w, i->c);
    uint32_t bad = pe_poison32(w, i->a) | pe_poison32(w, i->b) | pe_poison32(w, i->c);
    uint32_t t[PE_LANES];
    uint32_t p = 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = lop3(pa[l], pb[l], pc[l], (uint32_t)i->imm);
        p |= t[l] != 0 ? 1u << l : 0;
    }
    uint32_t q = pe_srcp(w, i->target);
    uint32_t bad_q = pe_poisonp(w, i->target);
    /* As with predicates: a known true decides `or`, a known false `and`. */
    uint32_t decided = i->op == 1 ? (p & ~bad) | (q & ~bad_q) : (~p & ~bad) | (~q & ~bad_q);
    uint32_t r = i->op == 1 ? p | q : p & q;
    pe_put32(w, i->d, t, mask, bad);
    pe_putp(w, i->d2, r, mask, (bad | bad_q) & ~decided);
}

static void decode_lop3_bool(pe_dec *d, uint32_t op)
{
    const pg_ptx_opnd *o = pe_arg(d, 0);
    if (o->kind != PG_PTX_O_PAIR) {
        pe_invalid(d, "the results are a register and a predicate");
        return;
    }
    d->i.op = (uint16_t)op;
    d->i.d = pe_out_opnd(d, &d->pf->pool.at[o->id], 32);
    d->i.d2 = pe_out_opnd(d, &d->pf->pool.at[o->id + 1], 1);
    d->i.a = pe_in(d, 1, 32);
    d->i.b = pe_in(d, 2, 32);
    d->i.c = pe_in(d, 3, 32);
    d->i.target = pe_in(d, 5, 1);
    pe_emit(d, do_lop3_bool);
}

void pe_dec_lop3(pe_dec *d)
{
    uint32_t op = pe_take_one(d, "or and");
    pg_ptx_type t = pe_take_type(d);
    const pg_ptx_opnd *table = pe_arg(d, 4);
    if (t != PG_PTX_B32 || table->kind != PG_PTX_O_INT || table->imm < 0 || table->imm > 255) {
        pe_unsupported(d, "this form");
        return;
    }
    d->i.imm = table->imm;
    if (op != 0) {
        decode_lop3_bool(d, op);
        return;
    }
    pe_end3(d, t, do_lop3);
}

/* ---- shifts: amounts beyond the width are clamped to it
 * ---------------------------------------------- */

static void shift(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pb = pe_src32(w, i->b);
    uint32_t bits = i->size * 8u;
    uint32_t poison = pe_poison32(w, i->b);
    bool is_signed = i->op == 2;
    if (bits == 64) {
        const uint64_t *pa = pe_src64(w, i->a);
        uint64_t t[PE_LANES];
        for (uint32_t l = 0; l < PE_LANES; l++) {
            uint64_t x = pa[l];
            uint64_t fill = is_signed && x >> 63 != 0 ? UINT64_MAX : 0;
            uint32_t n = pb[l];
            if (i->op == 0) {
                t[l] = n < 64 ? x << n : 0;
            } else {
                t[l] = n == 0 ? x : n < 64 ? x >> n | fill << (64 - n) : fill;
            }
        }
        uint64_t q = pe_halves64(w, i->a); /* to the left halves stay apart */
        q = i->op == 0 ? q : pe_whole64((uint32_t)q);
        pe_put64_halves(w, i->d, t, mask, q | pe_whole64(poison));
        return;
    }
    const uint32_t *pa = pe_src32(w, i->a);
    uint32_t t[PE_LANES];
    uint32_t ones = bits == 16 ? 0xFFFFu : UINT32_MAX;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint64_t x = pa[l] & ones;
        uint64_t wide = is_signed && x >> (bits - 1) != 0 ? x | ~(uint64_t)ones : x;
        uint32_t n = pb[l] < bits ? pb[l] : bits;
        t[l] = (uint32_t)(i->op == 0 ? x << n : wide >> n) & ones;
    }
    pe_put32(w, i->d, t, mask, poison | pe_poison32(w, i->a));
}

PE_OP2(shl_32, 32, y < 32 ? x << (y & 31) : 0)
PE_OP2(shr_u32, 32, y < 32 ? x >> (y & 31) : 0)
PE_OP2(shr_s32, 32, (int32_t)x >> (y < 31 ? y : 31))

void pe_dec_shift(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    bool is_left = pg_str_is(d->op, "shl");
    if ((bits != 16 && bits != 32 && bits != 64) || pe_type_class(t) == 'F') {
        pe_unsupported(d, "this type");
        return;
    }
    d->i.op = is_left ? 0 : pe_type_is_signed(t) ? 2 : 1;
    d->i.size = (uint8_t)(bits / 8);
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in(d, 1, bits);
    d->i.b = pe_in(d, 2, 32);
    static const pe_fn fast[] = {shl_32, shr_u32, shr_s32};
    pe_emit(d, bits == 32 ? fast[d->i.op] : shift);
}

/* shf: op 1 right, 2 .wrap */
static uint32_t funnel(uint32_t lo, uint32_t hi, uint32_t n, uint32_t op)
{
    n = (op & 2) != 0 ? n & 31u : (n < 32 ? n : 32);
    uint64_t both = (uint64_t)hi << 32 | lo;
    if ((op & 1) != 0) {
        return (uint32_t)(both >> n);
    }
    return (uint32_t)(both << n >> 32);
}

PE_OP3(do_shf, 32, funnel(x, y, z, i->op))

void pe_dec_shf(pe_dec *d)
{
    uint32_t dir = pe_take_one(d, "l r");
    uint32_t mode = pe_take_one(d, "clamp wrap");
    pg_ptx_type t = pe_take_type(d);
    d->i.op = (uint16_t)((dir == 2 ? 1 : 0) | (mode == 2 ? 2 : 0));
    pe_end3(d, t, dir != 0 && mode != 0 && t == PG_PTX_B32 ? do_shf : NULL);
}

/* ---- fields
 * ------------------------------------------------------------------------------------------- */

static uint64_t extract(uint64_t a, uint32_t pos, uint32_t len, const pe_inst *i)
{
    uint32_t bits = i->size * 8u;
    pos &= 0xFFu;
    len &= 0xFFu;
    bool is_signed = i->op != 0;
    uint64_t sign = 0;
    if (is_signed && len != 0) {
        uint32_t at = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
        sign = a >> at & 1u;
    }
    uint64_t r = pos < bits ? a >> pos : 0;
    uint32_t have = pos < bits ? (len < bits - pos ? len : bits - pos) : 0;
    uint64_t keep = have < 64 ? (UINT64_C(1) << have) - 1 : UINT64_MAX;
    return (r & keep) | (sign != 0 ? ~keep : 0);
}

static void do_bfe(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pb = pe_src32(w, i->b);
    const uint32_t *pc = pe_src32(w, i->c);
    uint32_t poison = pe_poison32(w, i->b) | pe_poison32(w, i->c);
    if (i->size == 8) {
        const uint64_t *pa = pe_src64(w, i->a);
        uint64_t t[PE_LANES];
        for (uint32_t l = 0; l < PE_LANES; l++) {
            t[l] = extract(pa[l], pb[l], pc[l], i);
        }
        pe_put64(w, i->d, t, mask, poison | pe_poison64(w, i->a));
        return;
    }
    const uint32_t *pa = pe_src32(w, i->a);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = (uint32_t)extract(pa[l], pb[l], pc[l], i);
    }
    pe_put32(w, i->d, t, mask, poison | pe_poison32(w, i->a));
}

void pe_dec_bfe(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    d->i.op = pe_type_is_signed(t) ? 1 : 0;
    d->i.size = (uint8_t)(bits / 8);
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in(d, 1, bits);
    d->i.b = pe_in(d, 2, 32);
    d->i.c = pe_in(d, 3, 32);
    pe_emit(d, bits >= 32 ? do_bfe : NULL);
}

static uint64_t insert(uint64_t a, uint64_t b, uint32_t pos, uint32_t len)
{
    pos &= 0xFFu;
    len &= 0xFFu;
    if (pos >= 64) {
        return b;
    }
    uint64_t keep = (len < 64 ? (UINT64_C(1) << len) - 1 : UINT64_MAX) << pos;
    return (b & ~keep) | (a << pos & keep);
}

/* d, a, b in the type's width; c: position; ext row d2: length */
static void do_bfi(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *pc = pe_src32(w, i->c);
    const uint32_t *pn = pe_src32(w, i->d2);
    uint32_t poison = pe_poison32(w, i->c) | pe_poison32(w, i->d2);
    if (i->size == 8) {
        const uint64_t *pa = pe_src64(w, i->a);
        const uint64_t *pb = pe_src64(w, i->b);
        uint64_t t[PE_LANES];
        for (uint32_t l = 0; l < PE_LANES; l++) {
            t[l] = insert(pa[l], pb[l], pc[l], pn[l]);
        }
        pe_put64(w, i->d, t, mask, poison | pe_poison64(w, i->a) | pe_poison64(w, i->b));
        return;
    }
    const uint32_t *pa = pe_src32(w, i->a);
    const uint32_t *pb = pe_src32(w, i->b);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = (uint32_t)insert(pa[l], pb[l], pc[l], pn[l]);
    }
    pe_put32(w, i->d, t, mask, poison | pe_poison32(w, i->a) | pe_poison32(w, i->b));
}

void pe_dec_bfi(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    d->i.size = (uint8_t)(bits / 8);
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in(d, 1, bits);
    d->i.b = pe_in(d, 2, bits);
    d->i.c = pe_in(d, 3, 32);
    d->i.d2 = pe_in(d, 4, 32);
    pe_emit(d, bits >= 32 ? do_bfi : NULL);
}

/* Results of 32 bits from 32 or 64: popc, clz, bfind. */
static uint32_t find_top(uint64_t x, const pe_inst *i)
{
    uint32_t bits = i->size * 8u;
    bool is_signed = (i->op & 1) != 0;
    if (is_signed && (x >> (bits - 1) & 1u) != 0) {
        x = ~x & (bits == 64 ? UINT64_MAX : UINT32_MAX);
    }
    if (x == 0) {
        return UINT32_MAX;
    }
    uint32_t top = 63 - pg_clz(x);
    return (i->op & 2) != 0 ? bits - 1 - top : top;
}

static void count_64(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint64_t *pa = pe_src64(w, i->a);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = i->n == 'p' ? pg_popcount(pa[l]) : i->n == 'c' ? pg_clz(pa[l]) : find_top(pa[l], i);
    }
    pe_put32(w, i->d, t, mask, pe_poison64(w, i->a));
}

PE_OP1(popc_32, 32, pe_count(x))
PE_OP1(clz_32, 32, pg_clz(x) - 32)
PE_OP1(find_32, 32, find_top(x, i))

static uint64_t reverse(uint64_t x, uint32_t bits)
{
    uint64_t r = 0;
    for (uint32_t k = 0; k < bits; k++) {
        r |= (x >> k & 1u) << (bits - 1 - k);
    }
    return r;
}

PE_OP1(brev_32, 32, reverse(x, 32))
PE_OP1(brev_64, 64, reverse(x, 64))

void pe_dec_bit1(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    if (t != PG_PTX_B32 && t != PG_PTX_B64) {
        pe_unsupported(d, "this type");
        return;
    }
    if (pg_str_is(d->op, "brev")) {
        pe_end1(d, t, bits == 64 ? brev_64 : brev_32);
        return;
    }
    d->i.n = (uint8_t)d->op.ptr[0];
    d->i.d = pe_out(d, 0, 32);
    d->i.a = pe_in(d, 1, bits);
    pe_emit(d, bits == 64 ? count_64 : d->i.n == 'p' ? popc_32 : clz_32);
}

void pe_dec_bfind(pe_dec *d)
{
    bool is_shift = pe_take(d, "shiftamt");
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    d->i.op = (uint16_t)((pe_type_is_signed(t) ? 1 : 0) | (is_shift ? 2 : 0));
    d->i.size = (uint8_t)(bits / 8);
    d->i.n = 'f';
    d->i.d = pe_out(d, 0, 32);
    d->i.a = pe_in(d, 1, bits);
    pe_emit(d, bits == 64 ? count_64 : bits == 32 ? find_32 : NULL);
}

/* fns: position of the n-th set bit from `base`, upwards for n > 0, downwards for n < 0. */
static uint32_t find_nth(uint32_t x, uint32_t base, int32_t n)
{
    if (n == 0) {
        return base < 32 && (x >> base & 1u) != 0 ? base : UINT32_MAX;
    }
    for (int32_t at = (int32_t)base; at >= 0 && at<32; at += n> 0 ? 1 : -1) {
        if ((x >> at & 1u) == 0) {
            continue;
        }
        n += n > 0 ? -1 : 1;
        if (n == 0) {
            return (uint32_t)at;
        }
    }
    return UINT32_MAX;
}

PE_OP3(do_fns, 32, y < 32 ? find_nth(x, y, (int32_t)z) : UINT32_MAX)

void pe_dec_fns(pe_dec *d)
{
    pe_end3(d, pe_take_type(d), do_fns);
}

/* bmsk and szext: op 1 .wrap, 2 signed */
static uint32_t make_mask(uint32_t pos, uint32_t len, uint32_t op)
{
    if ((op & 1) != 0) {
        pos &= 31u;
        len &= 31u;
    }
    uint64_t ones = len < 32 ? (UINT64_C(1) << len) - 1 : UINT32_MAX;
    return pos < 32 ? (uint32_t)(ones << pos) : 0;
}

static uint32_t extend(uint32_t x, uint32_t n, uint32_t op)
{
    if ((op & 1) != 0) {
        n &= 31u;
    }
    if (n == 0) {
        return 0;
    }
    if (n >= 32) {
        return x;
    }
    uint32_t keep = (1u << n) - 1u;
    return (op & 2) != 0 && (x >> (n - 1) & 1u) != 0 ? x | ~keep : x & keep;
}

PE_OP2(do_bmsk, 32, make_mask(x, y, i->op))
PE_OP2(do_szext, 32, extend(x, y, i->op))

void pe_dec_bmsk(pe_dec *d)
{
    uint32_t mode = pe_take_one(d, "clamp wrap");
    d->i.op = mode == 2 ? 1 : 0;
    pe_end2(d, pe_take_type(d), mode != 0 ? do_bmsk : NULL);
}

void pe_dec_szext(pe_dec *d)
{
    uint32_t mode = pe_take_one(d, "clamp wrap");
    pg_ptx_type t = pe_take_type(d);
    d->i.op = (uint16_t)((mode == 2 ? 1 : 0) | (pe_type_is_signed(t) ? 2 : 0));
    pe_end2(d, t, mode != 0 && pe_type_bits(t) == 32 ? do_szext : NULL);
}

/* ---- prmt
 * ------------------------------------------------------------------------------------------------
 */

static uint32_t selector(uint32_t mode, uint32_t c)
{
    static const uint32_t f4e[] = {0x3210, 0x4321, 0x5432, 0x6543};
    static const uint32_t b4e[] = {0x5670, 0x6701, 0x7012, 0x0123};
    static const uint32_t rc8[] = {0x0000, 0x1111, 0x2222, 0x3333};
    static const uint32_t ecl[] = {0x3210, 0x3211, 0x3222, 0x3333};
    static const uint32_t ecr[] = {0x0000, 0x1110, 0x2210, 0x3210};
    static const uint32_t rc16[] = {0x1010, 0x3232, 0x1010, 0x3232};
    static const uint32_t *const tables[] = {f4e, b4e, rc8, ecl, ecr, rc16};
    return mode == 0 ? c : tables[mode - 1][c & 3];
}

static uint32_t permute(uint32_t a, uint32_t b, uint32_t c, uint32_t mode)
{
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t sel = selector(mode, c);
    uint32_t r = 0;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t n = sel >> (4 * k) & 0xFu;
        uint32_t byte = (uint32_t)(both >> (8 * (n & 7u))) & 0xFFu;
        if ((n & 8u) != 0) {
            byte = (byte & 0x80u) != 0 ? 0xFFu : 0;
        }
        r |= byte << (8 * k);
    }
    return r;
}

PE_OP3(do_prmt, 32, permute(x, y, z, i->op))

void pe_dec_prmt(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    d->i.op = (uint16_t)pe_take_one(d, "f4e b4e rc8 ecl ecr rc16");
    pe_end3(d, t, t == PG_PTX_B32 ? do_prmt : NULL);
}
