/* ops_wmma.c: wmma.load, wmma.mma, wmma.store. Which lane holds which element is left open by the
 * ISA; here lane l holds the elements l * n .. l * n + n - 1 of the matrix counted row by row (n
 * elements a lane), and where registers are left over (halves), the matrix starts again. */
#include <math.h>

#include "tools/exec/ops.h"

enum { N_ELEMENTS = 512, MAX_REGS = 8 };

/* How elements lie in registers. */
typedef struct element {
    pg_ptx_type type;
    uint8_t size; /* bytes in memory */
    uint8_t per;  /* elements of a register */
} element;

static const element elements[] = {
    {PG_PTX_F16, 2, 2}, {PG_PTX_BF16, 2, 2}, {PG_PTX_TF32, 4, 1}, {PG_PTX_F32, 4, 1},
    {PG_PTX_F64, 8, 1}, {PG_PTX_S8, 1, 4},   {PG_PTX_U8, 1, 4},   {PG_PTX_S32, 4, 1},
};

typedef struct fragment {
    const element *of;
    uint32_t rows, cols, n_regs;
    pe_opnd reg[MAX_REGS];
} fragment;

typedef struct wmma {
    uint32_t m, n, k;
    bool is_col; /* of the matrix in memory */
    bool is_saturating;
    fragment d, a, b, c; /* of an access to memory: d alone */
    pe_opnd stride;      /* PE_NONE: as many as a row or column is long */
} wmma;

static bool is_wide(const fragment *f)
{
    return f->of->type == PG_PTX_F64;
}

static bool has_whole_warp(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (mask == PE_ALL) {
        return true;
    }
    pe_fault_at(w, i, PTXEXEC_F_DIVERGED, (pe_place){.lanes = mask},
                "this takes all 32 lanes of a warp; the lanes here are %08x", mask);
    return false;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Addresses of each lane's k-th element. */
static void offsets(const pe_warp *w, const pe_inst *i, uint32_t k, uint64_t at[PE_LANES])
{
    const wmma *x = i->ext;
    const fragment *f = &x->d;
    uint32_t per = f->n_regs * f->of->per;
    const uint64_t *base = pe_src64(w, i->a);
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint32_t e = (l * per + k) % (f->rows * f->cols);
        uint32_t row = e / f->cols;
        uint32_t col = e % f->cols;
        uint64_t stride = x->stride != PE_NONE ? pe_src32(w, x->stride)[l]
                          : x->is_col          ? f->rows
                                               : f->cols;
        uint64_t place = x->is_col ? col * stride + row : row * stride + col;
        at[l] = base[l] + place * i->size;
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

static void put(pe_warp *w, const fragment *f, uint64_t value[MAX_REGS][PE_LANES],
                const uint32_t poison[MAX_REGS])
{
    for (uint32_t j = 0; j < f->n_regs; j++) {
        if (is_wide(f)) {
            pe_put64(w, f->reg[j], value[j], PE_ALL, poison[j]);
            continue;
        }
        uint32_t t[PE_LANES];
        for (uint32_t l = 0; l < PE_LANES; l++) {
            t[l] = (uint32_t)value[j][l];
        }
        pe_put32(w, f->reg[j], t, PE_ALL, poison[j]);
    }
}

/* Bits of the k-th element of a lane. */
static uint64_t element_of(const pe_warp *w, const fragment *f, uint32_t lane, uint32_t k,
                           bool *out_poison)
{
    pe_opnd r = f->reg[k / f->of->per];
    uint32_t q = is_wide(f) ? pe_poison64(w, r) : pe_poison32(w, r);
    *out_poison = (q >> lane & 1u) != 0;
    if (is_wide(f)) {
        return pe_src64(w, r)[lane];
    }
    uint32_t bits = 32u / f->of->per;
    uint32_t v = pe_src32(w, r)[lane] >> (bits * (k % f->of->per));
    return bits == 32 ? v : v & ((1u << bits) - 1u);
}

static void wmma_load(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const fragment *f = &((const wmma *)i->ext)->d;
    uint32_t per = f->of->per;
    uint64_t value[MAX_REGS][PE_LANES] = {{0}};
    uint32_t poison[MAX_REGS] = {0};
    if (!begin(w, i, mask)) {
        return;
    }
    for (uint32_t k = 0; k < f->n_regs * per; k++) {
        uint64_t at[PE_LANES];
        offsets(w, i, k, at);
        note(w, i, at, PE_T_READ);
        for (uint32_t l = 0; l < PE_LANES && !w->cta->is_failed; l++) {
            uint8_t *stain = NULL;
            const uint8_t *p = pe_resolve(w, i, l, at[l] + (uint64_t)i->imm, false, &stain);
            if (p == NULL) {
                return;
            }
            uint64_t v = 0;
            memcpy(&v, p, i->size);
            value[k / per][l] |= v << (32u / per * (k % per));
            poison[k / per] |= memchr(stain, 1, i->size) != NULL ? 1u << l : 0;
        }
    }
    if (!w->cta->is_failed) {
        put(w, f, value, poison);
    }
}

static void wmma_store(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const fragment *f = &((const wmma *)i->ext)->d;
    if (!begin(w, i, mask)) {
        return;
    }
    for (uint32_t k = 0; k < f->n_regs * f->of->per; k++) {
        uint64_t at[PE_LANES];
        offsets(w, i, k, at);
        note(w, i, at, PE_T_WRITE);
        for (uint32_t l = 0; l < PE_LANES && !w->cta->is_failed; l++) {
            uint8_t *stain = NULL;
            uint8_t *p = pe_resolve(w, i, l, at[l] + (uint64_t)i->imm, true, &stain);
            if (p == NULL) {
                return;
            }
            bool is_bad = false;
            uint64_t v = element_of(w, f, l, k, &is_bad);
            memcpy(p, &v, i->size);
            memset(stain, is_bad ? 1 : 0, i->size);
        }
    }
}

/* ---- the product ------------------------------------------------------------------------------
 */

typedef struct matrix {
    double at[N_ELEMENTS];
    bool poison[N_ELEMENTS];
} matrix;

/* A double holds every value of these types. */
static double value_of(pg_ptx_type t, uint64_t bits)
{
    switch ((int)t) {
    case PG_PTX_F16: return pe_small_to_f64((uint32_t)bits, PE_FMT_F16);
    case PG_PTX_BF16: return pe_small_to_f64((uint32_t)bits, PE_FMT_BF16);
    case PG_PTX_TF32: return (double)pe_f32((uint32_t)bits & ~0x1FFFu);
    case PG_PTX_F32: return (double)pe_f32((uint32_t)bits);
    case PG_PTX_F64: return pe_f64(bits);
    case PG_PTX_S8: return (double)(int8_t)(uint8_t)bits;
    case PG_PTX_U8: return (double)(uint8_t)bits;
    default: return (double)(int32_t)(uint32_t)bits;
    }
}

/* Integers come here exactly: 32 bits and 16 products of 16 bits. */
static uint64_t bits_of(pg_ptx_type t, double v, bool is_saturating)
{
    switch ((int)t) {
    case PG_PTX_F16: return pe_f64_to_small(v, PE_FMT_F16, PE_RN);
    case PG_PTX_F32: return pe_r32((float)v);
    case PG_PTX_F64: return pe_r64(v);
    default: {
        int64_t whole = (int64_t)v;
        if (is_saturating) {
            whole = whole > INT32_MAX ? INT32_MAX : whole < INT32_MIN ? INT32_MIN : whole;
        }
        return (uint32_t)whole;
    }
    }
}

static void gather(const pe_warp *w, const fragment *f, matrix *out)
{
    uint32_t per = f->n_regs * f->of->per;
    for (uint32_t e = 0; e < f->rows * f->cols; e++) {
        uint64_t bits = element_of(w, f, e / per, e % per, &out->poison[e]);
        out->at[e] = value_of(f->of->type, bits);
    }
}

static void wmma_mma(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const wmma *x = i->ext;
    matrix a = {0};
    matrix b = {0};
    matrix c = {0};
    uint64_t r[MAX_REGS][PE_LANES] = {{0}};
    uint32_t poison[MAX_REGS] = {0};
    if (!has_whole_warp(w, i, mask)) {
        return;
    }
    gather(w, &x->a, &a);
    gather(w, &x->b, &b);
    gather(w, &x->c, &c);
    uint32_t per = x->d.of->per;
    uint32_t n_lane = x->d.n_regs * per;
    for (uint32_t e = 0; e < x->m * x->n; e++) {
        uint32_t row = e / x->n;
        uint32_t col = e % x->n;
        double sum = c.at[e];
        bool is_bad = c.poison[e];
        for (uint32_t k = 0; k < x->k; k++) {
            double p = a.at[row * x->k + k];
            double q = b.at[k * x->n + col];
            sum = is_wide(&x->d) ? fma(p, q, sum) : sum + p * q;
            is_bad = is_bad || a.poison[row * x->k + k] || b.poison[k * x->n + col];
        }
        uint32_t reg = e % n_lane / per;
        uint64_t bits = bits_of(x->d.of->type, sum, x->is_saturating);
        r[reg][e / n_lane] |= bits << (32u / per * (e % per));
        poison[reg] |= (is_bad ? 1u : 0u) << e / n_lane;
    }
    put(w, &x->d, r, poison);
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

/* The next type among the modifiers; false if it is none of these matrices. */
static bool take_element(pe_dec *d, const element **out)
{
    pg_ptx_type t = pe_take_type(d);
    *out = NULL;
    for (size_t k = 0; k < PG_COUNT_OF(elements); k++) {
        if (elements[k].type == t) {
            *out = &elements[k];
        }
    }
    if (*out == NULL) {
        pe_unsupported(d, "this type");
    }
    return !d->is_failed;
}

/* which: 1 a, 2 b, 3 c, 4 d */
static bool take_fragment(pe_dec *d, const wmma *x, uint32_t which, uint32_t arg, bool is_out,
                          fragment *f)
{
    f->rows = which == 2 ? x->k : x->m;
    f->cols = which == 1 ? x->k : x->n;
    bool is_factor = which < 3;
    f->n_regs = is_factor && f->of->type == PG_PTX_F16 ? MAX_REGS
                                                       : f->rows * f->cols / PE_LANES / f->of->per;
    const pg_ptx_opnd *o = pe_arg(d, arg);
    if (o->kind != PG_PTX_O_VEC || o->n != f->n_regs) {
        pe_invalid(d, "a fragment has another number of registers");
        return false;
    }
    uint32_t bits = is_wide(f) ? 64 : 32;
    for (uint32_t j = 0; j < f->n_regs; j++) {
        const pg_ptx_opnd *r = &d->pf->pool.at[o->id + j];
        f->reg[j] = is_out ? pe_out_opnd(d, r, bits) : pe_in_opnd(d, r, bits);
    }
    return !d->is_failed;
}

static void decode_memory(pe_dec *d, wmma *x, uint32_t which)
{
    bool is_store = which == 4;
    x->is_col = pe_take_one(d, "row col") == 2;
    d->i.space = pe_take_space(d);
    if (!take_element(d, &x->d.of)) {
        return;
    }
    x->stride = pe_n_args(d) > 2 ? pe_in(d, 2, 32) : PE_NONE;
    if (!take_fragment(d, x, which, is_store ? 1 : 0, !is_store, &x->d)) {
        return;
    }
    pe_in_address(d, is_store ? 0 : 1);
    d->i.size = x->d.of->size;
    d->i.n = 1;
    pe_emit(d, is_store ? wmma_store : wmma_load);
}

/* Of halves the types of D and C are named alone; else D, A, B, C. */
static void decode_product(pe_dec *d, wmma *x)
{
    bool has_rows = pe_take_one(d, "row col") != 0; /* of A; the fragments are the same */
    has_rows = has_rows && pe_take_one(d, "row col") != 0;
    (void)pe_take(d, "rn");
    x->is_saturating = pe_take(d, "satfinite");
    if (!has_rows || !take_element(d, &x->d.of) || !take_element(d, &x->a.of)) {
        pe_unsupported(d, "this form");
        return;
    }
    pg_ptx_type t = x->a.of->type;
    if (t == PG_PTX_F16 || t == PG_PTX_F32) {
        x->c.of = x->a.of;
        x->a.of = x->b.of = &elements[0];
    } else if (!take_element(d, &x->b.of) || !take_element(d, &x->c.of)) {
        return;
    }
    if (take_fragment(d, x, 4, 0, true, &x->d) && take_fragment(d, x, 1, 1, false, &x->a) &&
        take_fragment(d, x, 2, 2, false, &x->b) && take_fragment(d, x, 3, 3, false, &x->c)) {
        pe_emit(d, wmma_mma);
    }
}

void pe_dec_wmma(pe_dec *d)
{
    static const uint8_t shapes[][3] = {{0},         {16, 16, 16}, {8, 32, 16},
                                        {32, 8, 16}, {16, 16, 8},  {8, 8, 4}};
    wmma *x = pe_new(d, sizeof *x, 1);
    if (x == NULL) {
        return;
    }
    uint32_t what = pe_take_one(d, "load mma store");
    uint32_t which = what == 1 ? pe_take_one(d, "a b c") : what == 3 && pe_take(d, "d") ? 4 : 0;
    uint32_t shape = pe_take_one(d, "m16n16k16 m8n32k16 m32n8k16 m16n16k8 m8n8k4");
    if (!pe_take(d, "sync") || !pe_take(d, "aligned") || shape == 0 || what == 0 ||
        (what != 2 && which == 0)) {
        pe_unsupported(d, "this form");
        return;
    }
    x->m = shapes[shape][0];
    x->n = shapes[shape][1];
    x->k = shapes[shape][2];
    d->i.ext = x;
    d->i.flags |= PE_I_ALIGNED;
    if (what == 2) {
        decode_product(d, x);
    } else {
        decode_memory(d, x, which);
    }
}
