/* ops_wmma.c: wmma.load, wmma.mma, wmma.store of halves. Which lane holds which element is left
 * open by the ISA; here lane l holds the elements l * n .. l * n + n - 1 of the matrix counted row
 * by row (n elements a lane), and where registers are left over, the matrix starts again. */
#include "tools/exec/ops.h"

enum { N_ELEMENTS = 512, WMMA_K = 16 };

typedef struct wmma {
    uint32_t m, n;
    bool is_col;  /* of the matrix in memory */
    bool is_half; /* elements of 16 bits; of D */
    bool is_c_half;
    uint32_t rows, cols, n_regs;
    pe_opnd d[8], a[8], b[8], c[8];
    pe_opnd stride; /* PE_NONE: as many as a row or column is long */
} wmma;

static bool has_whole_warp(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (mask == PE_ALL) {
        return true;
    }
    pe_fault_at(w, i, PTXEXEC_F_DIVERGED, (pe_place){.lanes = mask},
                "this takes all 32 lanes of a warp; the lanes here are %08x", mask);
    return false;
}

typedef struct matrix {
    uint32_t n;
    double at[N_ELEMENTS];
    uint8_t poison[N_ELEMENTS];
} matrix;

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Byte offsets of each lane's k-th element. */
static void offsets(const pe_warp *w, const pe_inst *i, uint32_t k, uint64_t at[PE_LANES])
{
    const wmma *x = i->ext;
    uint32_t per = x->n_regs * (x->is_half ? 2 : 1);
    const uint64_t *base = pe_src64(w, i->a);
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint32_t e = (l * per + k) % (x->rows * x->cols);
        uint32_t row = e / x->cols;
        uint32_t col = e % x->cols;
        uint64_t stride = x->stride != PE_NONE ? pe_src32(w, x->stride)[l]
                          : x->is_col          ? x->rows
                                               : x->cols;
        uint64_t element = x->is_col ? col * stride + row : row * stride + col;
        at[l] = base[l] + element * i->size;
    }
}

static bool begin(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const wmma *x = i->ext;
    uint32_t q = pe_poison64(w, i->a) | (x->stride != PE_NONE ? pe_poison32(w, x->stride) : 0);
    return has_whole_warp(w, i, mask) &&
           !pe_is_poison(w, i, q, PTXEXEC_F_POISON_ADDRESS, "the address or the stride");
}

static void note(pe_warp *w, const pe_inst *i, const uint64_t at[PE_LANES], uint8_t kind)
{
    const pe_touch t = {.at = at, .imm = i->imm, .size = i->size, .space = i->space, .kind = kind};
    pe_note(w, i, PE_ALL, &t);
}

static void wmma_load(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const wmma *x = i->ext;
    uint32_t per = x->is_half ? 2 : 1;
    uint32_t value[8][PE_LANES] = {{0}};
    uint32_t poison[8] = {0};
    if (!begin(w, i, mask)) {
        return;
    }
    for (uint32_t k = 0; k < x->n_regs * per; k++) {
        uint64_t at[PE_LANES];
        offsets(w, i, k, at);
        note(w, i, at, PE_T_READ);
        for (uint32_t l = 0; l < PE_LANES && !w->cta->is_failed; l++) {
            uint8_t *stain = NULL;
            const uint8_t *p = pe_resolve(w, i, l, at[l] + (uint64_t)i->imm, false, &stain);
            if (p == NULL) {
                return;
            }
            uint32_t v = 0;
            memcpy(&v, p, i->size);
            value[k / per][l] |= v << (16 * (k % per));
            poison[k / per] |= memchr(stain, 1, i->size) != NULL ? 1u << l : 0;
        }
    }
    for (uint32_t j = 0; j < x->n_regs && !w->cta->is_failed; j++) {
        pe_put32(w, x->d[j], value[j], PE_ALL, poison[j]);
    }
}

static void wmma_store(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const wmma *x = i->ext;
    uint32_t per = x->is_half ? 2 : 1;
    if (!begin(w, i, mask)) {
        return;
    }
    for (uint32_t k = 0; k < x->n_regs * per; k++) {
        uint64_t at[PE_LANES];
        const uint32_t *r = pe_src32(w, x->c[k / per]);
        uint32_t q = pe_poison32(w, x->c[k / per]);
        offsets(w, i, k, at);
        note(w, i, at, PE_T_WRITE);
        for (uint32_t l = 0; l < PE_LANES && !w->cta->is_failed; l++) {
            uint8_t *stain = NULL;
            uint8_t *p = pe_resolve(w, i, l, at[l] + (uint64_t)i->imm, true, &stain);
            if (p == NULL) {
                return;
            }
            uint32_t v = r[l] >> (16 * (k % per));
            memcpy(p, &v, i->size);
            memset(stain, (int)(q >> l & 1u), i->size);
        }
    }
}

/* ---- the product ------------------------------------------------------------------------------
 */

/* The first n elements of the matrix that the registers hold, row by row; per: elements a lane. */
static void gather(const pe_warp *w, const pe_opnd *regs, uint32_t per, bool is_half, matrix *out)
{
    for (uint32_t e = 0; e < out->n; e++) {
        uint32_t lane = e / per;
        uint32_t k = e % per;
        pe_opnd o = regs[is_half ? k / 2 : k];
        uint32_t v = pe_src32(w, o)[lane];
        out->at[e] = is_half ? pe_small_to_f64(v >> (16 * (k % 2)) & 0xFFFFu, PE_FMT_F16)
                             : (double)pe_f32(v);
        out->poison[e] = pe_poison32(w, o) >> lane & 1u;
    }
}

static void wmma_mma(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const wmma *x = i->ext;
    matrix a = {.n = x->m * WMMA_K};
    matrix b = {.n = x->n * WMMA_K};
    matrix c = {.n = x->m * x->n};
    uint32_t r[8][PE_LANES] = {{0}};
    uint32_t poison[8] = {0};
    if (!has_whole_warp(w, i, mask)) {
        return;
    }
    gather(w, x->a, 16, true, &a);
    gather(w, x->b, 16, true, &b);
    gather(w, x->c, 8, x->is_c_half, &c);
    for (uint32_t e = 0; e < c.n; e++) {
        uint32_t row = e / x->n;
        uint32_t col = e % x->n;
        double sum = c.at[e];
        uint32_t q = c.poison[e];
        for (uint32_t k = 0; k < WMMA_K; k++) {
            sum += a.at[row * WMMA_K + k] * b.at[k * x->n + col];
            q |= a.poison[row * WMMA_K + k] | b.poison[k * x->n + col];
        }
        uint32_t lane = e / 8;
        uint32_t reg = x->is_half ? e % 8 / 2 : e % 8;
        r[reg][lane] |= x->is_half ? pe_f64_to_small(sum, PE_FMT_F16, PE_RN) << (16 * (e % 2))
                                   : pe_r32((float)sum);
        poison[reg] |= q << lane;
    }
    for (uint32_t j = 0; j < (x->is_half ? 4u : 8u); j++) {
        pe_put32(w, x->d[j], r[j], PE_ALL, poison[j]);
    }
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

static bool take_regs(pe_dec *d, uint32_t arg, uint32_t n, bool is_out, pe_opnd *regs)
{
    const pg_ptx_opnd *o = pe_arg(d, arg);
    if (o->kind != PG_PTX_O_VEC || o->n != n) {
        pe_invalid(d, "a fragment has another number of registers");
        return false;
    }
    for (uint32_t j = 0; j < n; j++) {
        const pg_ptx_opnd *r = &d->pf->pool.at[o->id + j];
        regs[j] = is_out ? pe_out_opnd(d, r, 32) : pe_in_opnd(d, r, 32);
    }
    return !d->is_failed;
}

/* .f16 or .f32; false if there is neither */
static bool take_is_half(pe_dec *d, bool *out)
{
    pg_ptx_type t = pe_take_type(d);
    *out = t == PG_PTX_F16;
    if (t != PG_PTX_F16 && t != PG_PTX_F32) {
        pe_unsupported(d, "this type");
    }
    return !d->is_failed;
}

/* which: 1 a, 2 b, 3 c, 4 d */
static void decode_memory(pe_dec *d, wmma *x, uint32_t which)
{
    bool is_store = which == 4;
    x->is_col = pe_take_one(d, "row col") == 2;
    d->i.space = pe_take_space(d);
    if (!take_is_half(d, &x->is_half) || which == 0 || (which < 3 && !x->is_half)) {
        pe_unsupported(d, "this form");
        return;
    }
    x->rows = which == 2 ? (uint32_t)WMMA_K : x->m;
    x->cols = which == 1 ? (uint32_t)WMMA_K : x->n;
    x->n_regs = which >= 3 && x->is_half ? 4 : 8;
    x->stride = pe_n_args(d) > 2 ? pe_in(d, 2, 32) : PE_NONE;
    if (!take_regs(d, is_store ? 1 : 0, x->n_regs, !is_store, is_store ? x->c : x->d)) {
        return;
    }
    pe_in_address(d, is_store ? 0 : 1);
    d->i.size = x->is_half ? 2 : 4;
    d->i.n = 1;
    pe_emit(d, is_store ? wmma_store : wmma_load);
}

static void decode_product(pe_dec *d, wmma *x)
{
    bool is_ok = pe_take_one(d, "row col") != 0; /* of A; the fragments are the same */
    is_ok = is_ok && pe_take_one(d, "row col") != 0;
    is_ok = is_ok && take_is_half(d, &x->is_half) && take_is_half(d, &x->is_c_half) &&
            take_regs(d, 0, x->is_half ? 4 : 8, true, x->d) && take_regs(d, 1, 8, false, x->a) &&
            take_regs(d, 2, 8, false, x->b) && take_regs(d, 3, x->is_c_half ? 4 : 8, false, x->c);
    if (!is_ok) {
        pe_unsupported(d, "this form");
        return;
    }
    pe_emit(d, wmma_mma);
}

void pe_dec_wmma(pe_dec *d)
{
    static const uint32_t m[] = {0, 16, 8, 32};
    wmma *x = pe_new(d, sizeof *x, 1);
    if (x == NULL) {
        return;
    }
    uint32_t what = pe_take_one(d, "load mma store");
    uint32_t which = what == 1 ? pe_take_one(d, "a b c") : what == 3 && pe_take(d, "d") ? 4 : 0;
    uint32_t shape = pe_take_one(d, "m16n16k16 m8n32k16 m32n8k16");
    if (!pe_take(d, "sync") || !pe_take(d, "aligned") || shape == 0 || what == 0) {
        pe_unsupported(d, "this form");
        return;
    }
    x->m = m[shape];
    x->n = 256 / x->m;
    d->i.ext = x;
    d->i.flags |= PE_I_ALIGNED;
    if (what == 2) {
        decode_product(d, x);
    } else {
        decode_memory(d, x, which);
    }
}
