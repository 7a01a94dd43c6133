/* ops_mma_bits.c: mma.sync of elements of 4 bits and of 1 bit.
 *
 * A register of A or B holds 32 bits of one row or column along K. With lanes 4 g + q and halves h
 * of K (128 bits each): A's row g + 8 r is in register r + h * (rows / 8) of the lanes 4 g + q, B's
 * column g in register h of these lanes; both have the bits from 128 h + 32 q on. So an element of
 * the result is a sum over h and q of products of two registers. Accumulators lie as in ops_mma.c.
 */
#include "tools/exec/ops.h"

enum { QUADS = 4, NIBBLES = 8, N_ACCS = 4 };

typedef uint32_t (*dot_fn)(uint32_t a, uint32_t b); /* as two's complement */

typedef struct mma_bits {
    uint32_t m, n_halves;
    uint32_t n_acc;
    bool is_saturating;
    dot_fn dot;
    pe_opnd d[N_ACCS], a[4], b[2], c[N_ACCS];
} mma_bits;

/* ---- products of two registers ----------------------------------------------------------------
 */

static inline int32_t nibble(uint32_t x, uint32_t k, bool is_signed)
{
    int32_t v = (int32_t)(x >> (4 * k) & 15u);
    return is_signed && v > 7 ? v - 16 : v;
}

static inline uint32_t dot_nibbles(uint32_t a, uint32_t b, bool is_a_signed, bool is_b_signed)
{
    int32_t sum = 0;
    for (uint32_t k = 0; k < NIBBLES; k++) {
        sum += nibble(a, k, is_a_signed) * nibble(b, k, is_b_signed);
    }
    return (uint32_t)sum;
}

static uint32_t dot_s4_s4(uint32_t a, uint32_t b)
{
    return dot_nibbles(a, b, true, true);
}
static uint32_t dot_s4_u4(uint32_t a, uint32_t b)
{
    return dot_nibbles(a, b, true, false);
}
static uint32_t dot_u4_s4(uint32_t a, uint32_t b)
{
    return dot_nibbles(a, b, false, true);
}
static uint32_t dot_u4_u4(uint32_t a, uint32_t b)
{
    return dot_nibbles(a, b, false, false);
}
static uint32_t dot_xor(uint32_t a, uint32_t b)
{
    return pe_count(a ^ b);
}
static uint32_t dot_and(uint32_t a, uint32_t b)
{
    return pe_count(a & b);
}

/* ---- running ----------------------------------------------------------------------------------
 */

static void mma_sub(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const mma_bits *x = i->ext;
    uint32_t r[N_ACCS][PE_LANES];
    uint32_t bad[N_ACCS] = {0};
    if (mask != PE_ALL) {
        pe_fault_at(w, i, PTXEXEC_F_DIVERGED, (pe_place){.lanes = mask},
                    "this takes all 32 lanes of a warp; the lanes here are %08x", mask);
        return;
    }
    for (uint32_t j = 0; j < x->n_acc; j++) {
        bad[j] = pe_poison32(w, x->c[j]);
        for (uint32_t l = 0; l < PE_LANES; l++) {
            uint32_t row = l / QUADS * QUADS;               /* first lane with the row of A */
            uint32_t col = (l % QUADS * 2 + j % 2) * QUADS; /* and with the column of B */
            uint32_t lanes_a = 15u << row, lanes_b = 15u << col;
            int64_t sum = (int32_t)pe_src32(w, x->c[j])[l];
            for (uint32_t h = 0; h < x->n_halves; h++) {
                pe_opnd a = x->a[j / 2 + h * (x->m / 8)];
                for (uint32_t q = 0; q < QUADS; q++) {
                    sum += (int32_t)x->dot(pe_src32(w, a)[row + q], pe_src32(w, x->b[h])[col + q]);
                }
                bool is_bad =
                    (pe_poison32(w, a) & lanes_a) != 0 || (pe_poison32(w, x->b[h]) & lanes_b) != 0;
                bad[j] |= is_bad ? 1u << l : 0;
            }
            if (x->is_saturating) {
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            }
            r[j][l] = (uint32_t)(uint64_t)sum;
        }
    }
    for (uint32_t j = 0; j < x->n_acc; j++) {
        pe_put32(w, x->d[j], r[j], PE_ALL, bad[j]);
    }
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

static bool take_registers(pe_dec *d, uint32_t arg, uint32_t n, pe_opnd *rows)
{
    const pg_ptx_opnd *o = pe_arg(d, arg);
    if ((o->kind == PG_PTX_O_VEC ? o->n : 1u) != n) {
        pe_invalid(d, "a fragment has another number of registers");
        return false;
    }
    for (uint32_t j = 0; j < n; j++) {
        const pg_ptx_opnd *x = o->kind == PG_PTX_O_VEC ? &d->pf->pool.at[o->id + j] : o;
        rows[j] = arg == 0 ? pe_out_opnd(d, x, 32) : pe_in_opnd(d, x, 32);
    }
    return !d->is_failed;
}

/* Takes the types and what is done with bits. */
static bool take_dot(pe_dec *d, mma_bits *x, bool *out_is_bit)
{
    static const dot_fn nibbles[2][2] = {{dot_s4_s4, dot_s4_u4}, {dot_u4_s4, dot_u4_u4}};
    bool is_d_known = pe_take_type(d) == PG_PTX_S32;
    uint32_t a = pe_take_one(d, "s4 u4 b1");
    uint32_t b = pe_take_one(d, "s4 u4 b1");
    bool is_c_known = pe_take_type(d) == PG_PTX_S32;
    *out_is_bit = a == 3;
    if (!is_d_known || !is_c_known || a == 0 || b == 0 || (a == 3) != (b == 3)) {
        return false;
    }
    if (a != 3) {
        x->dot = nibbles[a - 1][b - 1];
        return true;
    }
    uint32_t op = pe_take_one(d, "xor and");
    x->dot = op == 1 ? dot_xor : dot_and;
    return op != 0 && pe_take(d, "popc") && !x->is_saturating;
}

bool pe_dec_mma_bits(pe_dec *d)
{
    static const struct {
        uint32_t m, n_halves;
        bool is_bit;
    } shapes[] = {{0, 0, false}, {8, 1, false}, {16, 1, false}, {16, 2, false},
                  {8, 1, true},  {16, 1, true}, {16, 2, true}};
    bool is_small = false;
    for (uint32_t k = 0; k < d->n_mods; k++) {
        is_small = is_small || pg_str_is(d->mod[k], "s4") || pg_str_is(d->mod[k], "u4") ||
                   pg_str_is(d->mod[k], "b1");
    }
    mma_bits *x = is_small ? pe_new(d, sizeof *x, 1) : NULL;
    if (x == NULL) {
        return false;
    }
    uint32_t shape = pe_take_one(d, "m8n8k32 m16n8k32 m16n8k64 m8n8k128 m16n8k128 m16n8k256");
    bool is_bit = false;
    x->is_saturating = pe_take(d, "satfinite");
    if (shape == 0 || !pe_take(d, "sync") || !pe_take(d, "aligned") || !pe_take(d, "row") ||
        !pe_take(d, "col") || !take_dot(d, x, &is_bit) || is_bit != shapes[shape].is_bit) {
        pe_unsupported(d, "this combination of shape and types");
        return true;
    }
    x->m = shapes[shape].m;
    x->n_halves = shapes[shape].n_halves;
    x->n_acc = x->m / 4;
    if (take_registers(d, 1, x->m / 8 * x->n_halves, x->a) &&
        take_registers(d, 2, x->n_halves, x->b) && take_registers(d, 3, x->n_acc, x->c) &&
        take_registers(d, 0, x->n_acc, x->d)) {
        d->i.ext = x;
        d->i.flags |= PE_I_ALIGNED;
        pe_emit(d, mma_sub);
    }
    return true;
}
