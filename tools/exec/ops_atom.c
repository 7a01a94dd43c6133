/* ops_atom.c: atom and red. Lanes take their turns in order; nothing else runs meanwhile. */
#include "tools/exec/bulk.h"
#include "tools/exec/ops.h"

typedef enum atom_op {
    A_NONE,
    A_AND,
    A_OR,
    A_XOR,
    A_CAS,
    A_EXCH,
    A_ADD,
    A_INC,
    A_DEC,
    A_MIN,
    A_MAX
} atom_op;

static uint64_t fold_int(uint32_t op, pg_ptx_type t, uint64_t old, uint64_t b)
{
    bool is_64 = pe_type_bits(t) == 64;
    bool is_signed = pe_type_is_signed(t);
    int64_t so = is_64 ? (int64_t)old : (int32_t)(uint32_t)old;
    int64_t sb = is_64 ? (int64_t)b : (int32_t)(uint32_t)b;
    bool is_less = is_signed ? so < sb : old < b;
    switch (op) {
    case A_AND: return old & b;
    case A_OR: return old | b;
    case A_XOR: return old ^ b;
    case A_EXCH: return b;
    case A_ADD: return old + b;
    case A_INC: return old >= b ? 0 : old + 1;
    case A_DEC: return old == 0 || old > b ? b : old - 1;
    case A_MIN: return is_less ? old : b;
    default: return is_less ? b : old;
    }
}

static uint32_t fold_half(uint32_t op, pe_fmt fmt, uint32_t old, uint32_t b)
{
    double x = pe_small_to_f64(old & 0xFFFFu, fmt);
    double y = pe_small_to_f64(b & 0xFFFFu, fmt);
    double r = op == A_ADD   ? pe_add_odd(x, y)
               : op == A_MIN ? (y < x || x != x ? y : x)
                             : (y > x || x != x ? y : x);
    return pe_f64_to_small(r, fmt, PE_RN);
}

static uint64_t fold_float(uint32_t op, pg_ptx_type t, uint64_t old, uint64_t b)
{
    switch ((int)t) {
    case PG_PTX_F32: return pe_r32(pe_f32((uint32_t)old) + pe_f32((uint32_t)b));
    case PG_PTX_F64: return pe_r64(pe_f64(old) + pe_f64(b));
    default: {
        pe_fmt fmt = t == PG_PTX_BF16 || t == PG_PTX_BF16X2 ? PE_FMT_BF16 : PE_FMT_F16;
        uint32_t r = fold_half(op, fmt, (uint32_t)old, (uint32_t)b);
        bool is_pair = t == PG_PTX_F16X2 || t == PG_PTX_BF16X2;
        return is_pair ? r | fold_half(op, fmt, (uint32_t)old >> 16, (uint32_t)b >> 16) << 16 : r;
    }
    }
}

uint64_t pe_atom_fold(uint32_t op, pg_ptx_type t, uint64_t old, uint64_t b)
{
    return pe_type_class(t) == 'F' ? fold_float(op, t, old, b) : fold_int(op, t, old, b);
}

uint32_t pe_atom_take(pe_dec *d)
{
    return pe_take_one(d, "and or xor cas exch add inc dec min max");
}

/* b: operand; c: new value of cas */
static void atom(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    bool is_64 = i->size == 8;
    uint64_t a[PE_LANES];
    uint64_t t64[PE_LANES] = {0};
    uint32_t t32[PE_LANES] = {0};
    pg_ptx_type t = (pg_ptx_type)i->type;
    uint32_t q_b = is_64 ? pe_poison64(w, i->b) : pe_poison32(w, i->b);
    uint32_t q_c = i->c == PE_NONE ? 0 : is_64 ? pe_poison64(w, i->c) : pe_poison32(w, i->c);
    uint32_t q_d = 0;
    w->cta->n_events++; /* see ld_strong */
    if (pe_is_poison(w, i, pe_poison64(w, i->a) & mask, PTXEXEC_F_POISON_ADDRESS, "the address")) {
        return;
    }
    memcpy(a, pe_src64(w, i->a), sizeof a);
    const pe_touch touch = {
        .at = a, .imm = i->imm, .size = i->size, .space = i->space, .kind = PE_T_READ | PE_T_WRITE};
    pe_note(w, i, mask, &touch);
    if (w->cta->is_failed) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        uint8_t *poison = NULL;
        uint8_t *p = pe_resolve(w, i, l, a[l] + (uint64_t)i->imm, true, &poison);
        if (p == NULL) {
            return;
        }
        uint64_t old = 0;
        memcpy(&old, p, i->size);
        uint64_t b = is_64 ? pe_src64(w, i->b)[l] : pe_src32(w, i->b)[l];
        b = i->size == 2 ? b & 0xFFFFu : b;
        uint64_t c = i->c == PE_NONE ? 0 : is_64 ? pe_src64(w, i->c)[l] : pe_src32(w, i->c)[l];
        bool is_old_bad = memchr(poison, 1, i->size) != NULL;
        bool is_new_bad = ((i->op == A_CAS ? q_c | q_b : q_b) >> l & 1u) != 0;
        uint64_t x = i->op == A_CAS ? (old == b ? c : old) : pe_atom_fold(i->op, t, old, b);
        memcpy(p, &x, i->size);
        memset(poison, is_new_bad || (is_old_bad && i->op != A_EXCH) ? 1 : 0, i->size);
        t64[l] = old;
        t32[l] = (uint32_t)old;
        q_d |= (is_old_bad ? 1u : 0u) << l;
    }
    if (i->d == PE_NONE) {
        return;
    }
    if (is_64) {
        pe_put64(w, i->d, t64, mask, q_d);
    } else {
        pe_put32(w, i->d, t32, mask, q_d);
    }
}

/* ---- 16 bytes ---------------------------------------------------------------------------------
 */

/* The rows named are the lower halves; d: PE_NONE where nobody wants the old value. */
static void atom_128(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    enum { SIZE = 16 };
    uint64_t a[PE_LANES];
    uint64_t old[2][PE_LANES] = {{0}};
    uint32_t bad = 0;
    const pe_opnd fresh = i->op == A_CAS ? i->c : i->b;
    w->cta->n_events++; /* see ld_strong */
    if (pe_is_poison(w, i, pe_poison64(w, i->a) & mask, PTXEXEC_F_POISON_ADDRESS, "the address")) {
        return;
    }
    memcpy(a, pe_src64(w, i->a), sizeof a);
    const pe_touch touch = {
        .at = a, .imm = i->imm, .size = SIZE, .space = i->space, .kind = PE_T_READ | PE_T_WRITE};
    pe_note(w, i, mask, &touch);
    if (w->cta->is_failed) {
        return;
    }
    uint32_t q_fresh = pe_poison64(w, fresh) | pe_poison64(w, fresh + 1);
    uint32_t q_b = pe_poison64(w, i->b) | pe_poison64(w, i->b + 1);
    pg_foreach_lane(l, mask)
    {
        uint8_t *poison = NULL;
        uint8_t *p = pe_resolve(w, i, l, a[l] + (uint64_t)i->imm, true, &poison);
        if (p == NULL) {
            return;
        }
        const uint64_t b[2] = {pe_src64(w, i->b)[l], pe_src64(w, i->b + 1)[l]};
        const uint64_t x[2] = {pe_src64(w, fresh)[l], pe_src64(w, fresh + 1)[l]};
        bool is_old_bad = memchr(poison, 1, SIZE) != NULL;
        bool is_taken = i->op == A_EXCH || memcmp(p, b, SIZE) == 0;
        bool is_bad = ((q_fresh | q_b) >> l & 1u) != 0 || (is_old_bad && i->op == A_CAS);
        memcpy(&old[0][l], p, 8);
        memcpy(&old[1][l], p + 8, 8);
        if (is_taken) {
            memcpy(p, x, SIZE);
        }
        memset(poison, is_bad ? 1 : 0, SIZE);
        bad |= (is_old_bad ? 1u : 0u) << l;
    }
    if (i->d != PE_NONE) {
        pe_put64(w, i->d, old[0], mask, bad);
        pe_put64(w, i->d + 1, old[1], mask, bad);
    }
}

/* ---- vectors: each element by itself, the address aligned for all of them ----------------------
 */

typedef struct vector {
    pe_opnd d[8], b[8]; /* d: PE_NONE where nobody wants the old value */
} vector;

static void atom_vector(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const vector *v = i->ext;
    uint64_t a[PE_LANES];
    uint32_t old[8][PE_LANES] = {{0}};
    uint32_t q_old[8] = {0};
    w->cta->n_events++; /* see ld_strong */
    if (pe_is_poison(w, i, pe_poison64(w, i->a) & mask, PTXEXEC_F_POISON_ADDRESS, "the address")) {
        return;
    }
    memcpy(a, pe_src64(w, i->a), sizeof a);
    const pe_touch touch = {.at = a,
                            .imm = i->imm,
                            .size = (uint8_t)(i->size * i->n),
                            .space = i->space,
                            .kind = PE_T_READ | PE_T_WRITE};
    pe_note(w, i, mask, &touch);
    if (w->cta->is_failed) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        uint8_t *poison = NULL;
        uint8_t *p = pe_resolve(w, i, l, a[l] + (uint64_t)i->imm, true, &poison);
        if (p == NULL) {
            return;
        }
        for (uint32_t j = 0; j < i->n; j++, p += i->size, poison += i->size) {
            memcpy(&old[j][l], p, i->size);
            uint64_t x =
                pe_atom_fold(i->op, (pg_ptx_type)i->type, old[j][l], pe_src32(w, v->b[j])[l]);
            memcpy(p, &x, i->size);
            bool is_bad = memchr(poison, 1, i->size) != NULL;
            q_old[j] |= (is_bad ? 1u : 0u) << l;
            is_bad = is_bad || (pe_poison32(w, v->b[j]) >> l & 1u) != 0;
            memset(poison, is_bad ? 1 : 0, i->size);
        }
    }
    for (uint32_t j = 0; j < i->n; j++) {
        if (v->d[j] != PE_NONE) {
            pe_put32(w, v->d[j], old[j], mask, q_old[j]);
        }
    }
}

static void decode_vector(pe_dec *d, uint32_t n, bool is_red)
{
    vector *v = pe_new(d, sizeof *v, 1);
    if (v == NULL) {
        return;
    }
    const pg_ptx_opnd *to = is_red ? NULL : pe_arg(d, 0);
    const pg_ptx_opnd *from = pe_arg(d, is_red ? 1 : 2);
    bool has_list = to != NULL && to->kind == PG_PTX_O_VEC;
    if (from->kind != PG_PTX_O_VEC || from->n != n || (has_list && to->n != n)) {
        pe_invalid(d, "the vector has another number of elements");
        return;
    }
    for (uint32_t j = 0; j < n; j++) {
        v->d[j] = has_list ? pe_out_opnd(d, &d->pf->pool.at[to->id + j],
                                         pe_type_bits((pg_ptx_type)d->i.type))
                           : PE_NONE;
        v->b[j] =
            pe_in_opnd(d, &d->pf->pool.at[from->id + j], pe_type_bits((pg_ptx_type)d->i.type));
    }
    d->i.ext = v;
    d->i.n = (uint8_t)n;
    pe_in_address(d, is_red ? 0 : 1);
    pe_emit(d, atom_vector);
}

static bool is_allowed(uint32_t op, pg_ptx_type t)
{
    char cls = pe_type_class(t);
    uint32_t bits = pe_type_bits(t);
    if (cls == 'F') {
        return op == A_ADD ? t != PG_PTX_TF32 && t != PG_PTX_F32X2
                           : (op == A_MIN || op == A_MAX) && pe_is_half(t);
    }
    if (bits != 32 && bits != 64) {
        return (bits == 16 && op == A_CAS) || (bits == 128 && (op == A_CAS || op == A_EXCH));
    }
    return op != A_NONE && (op != A_INC && op != A_DEC ? true : bits == 32);
}

void pe_dec_atom(pe_dec *d)
{
    bool is_red = pg_str_is(d->op, "red");
    if (is_red && pe_take(d, "async")) {
        pe_dec_send(d, true);
        return;
    }
    d->i.space = pe_take_space(d);
    pe_take_order(d, d->i.space);
    d->i.flags |= PE_I_STRONG;
    if (d->i.space == PG_PTX_SP_GLOBAL || d->i.space == PG_PTX_SP_NONE) {
        d->m->has_global_sync = true;
    }
    d->i.op = (uint16_t)pe_atom_take(d);
    (void)pe_take(d, "noftz");
    (void)pe_take(d, "L2::cache_hint");
    static const uint32_t counts[] = {1, 2, 4, 8};
    uint32_t n = counts[pe_take_one(d, "v2 v4 v8")];
    pg_ptx_type t = pe_take_type(d);
    d->i.type = (uint16_t)t;
    bool is_128 = t == PG_PTX_B128;
    d->i.size = is_128 ? 8 : (uint8_t)(pe_type_bits(t) / 8);
    d->i.n = is_128 ? 2 : 1;
    if (!is_allowed(d->i.op, t)) {
        pe_unsupported(d, "this operation on this type");
        return;
    }
    if (n > 1) {
        decode_vector(d, n, is_red);
        return;
    }
    uint32_t k = is_red ? 0 : 1;
    if (!is_red) {
        d->i.d = pe_out(d, 0, pe_type_bits(t));
    }
    pe_in_address(d, k);
    d->i.b = pe_in_type(d, k + 1, t);
    if (d->i.op == A_CAS) {
        d->i.c = pe_in_type(d, k + 2, t);
    }
    pe_emit(d, is_128 ? atom_128 : atom);
}
