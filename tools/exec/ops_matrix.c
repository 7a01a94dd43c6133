/* ops_matrix.c: ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements. Lane 8 j + r names
 * the row r of matrix j, 16 bytes; lane l holds the elements (l / 4, 2 * (l % 4)) and the next one
 * of its row, transposed: of its column. */
#include "tools/exec/ops.h"

enum { ROW_SIZE = 16, ROWS = 8 };

typedef struct matrices {
    pe_opnd at[4];
    bool is_trans;
} matrices;

typedef struct rows {
    uint8_t *data[PE_LANES], *poison[PE_LANES];
} rows;

static bool has_whole_warp(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (mask == PE_ALL) {
        return true;
    }
    pe_fault_at(w, i, PTXEXEC_F_DIVERGED, (pe_place){.lanes = mask},
                "this takes all 32 lanes of a warp; the lanes here are %08x", mask);
    return false;
}

/* Host bytes of the rows that lanes 0 .. 8 n - 1 name. */
static bool find_rows(pe_warp *w, const pe_inst *i, bool is_write, rows *out)
{
    uint32_t lanes = i->n == 4 ? PE_ALL : (1u << (i->n * ROWS)) - 1u;
    uint64_t at[PE_LANES] = {0};
    if (pe_is_poison(w, i, pe_poison64(w, i->a) & lanes, PTXEXEC_F_POISON_ADDRESS, "the address")) {
        return false;
    }
    memcpy(at, pe_src64(w, i->a), sizeof at);
    const pe_touch t = {.at = at,
                        .imm = i->imm,
                        .size = ROW_SIZE,
                        .space = i->space,
                        .kind = is_write ? PE_T_WRITE : PE_T_READ};
    pe_note(w, i, lanes, &t);
    pe_inst row = *i; /* an access to one row */
    row.n = 1;
    for (uint32_t l = 0; l < i->n * (uint32_t)ROWS && !w->cta->is_failed; l++) {
        uint64_t address = at[l] + (uint64_t)i->imm;
        uint64_t within = 0;
        if (i->space == PG_PTX_SP_NONE && pe_window_of(address, &within) != PG_PTX_SP_SHARED) {
            pe_fault_at(w, i, PTXEXEC_F_WRONG_SPACE,
                        (pe_place){.lanes = 1u << l, .address = address, .size = ROW_SIZE},
                        "the row at 0x%llx is not in shared memory", (unsigned long long)address);
            return false;
        }
        out->data[l] = pe_resolve(w, &row, l, address, is_write, &out->poison[l]);
    }
    return !w->cta->is_failed;
}

/* The two elements of lane l in matrix j: row and byte within the row. */
static void place(uint32_t l, bool is_trans, uint32_t part, uint32_t *row, uint32_t *byte)
{
    uint32_t along = 2 * (l % 4) + part;
    *row = is_trans ? along : l / 4;
    *byte = 2 * (is_trans ? l / 4 : along);
}

static void ldmatrix(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const matrices *m = i->ext;
    rows r = {.data = {NULL}};
    if (!has_whole_warp(w, i, mask) || !find_rows(w, i, false, &r)) {
        return;
    }
    for (uint32_t j = 0; j < i->n; j++) {
        uint32_t t[PE_LANES];
        uint32_t bad = 0;
        for (uint32_t l = 0; l < PE_LANES; l++) {
            uint16_t half[2];
            uint16_t stain[2];
            for (uint32_t part = 0; part < 2; part++) {
                uint32_t row = 0;
                uint32_t byte = 0;
                place(l, m->is_trans, part, &row, &byte);
                memcpy(&half[part], r.data[j * ROWS + row] + byte, 2);
                memcpy(&stain[part], r.poison[j * ROWS + row] + byte, 2);
            }
            t[l] = half[0] | (uint32_t)half[1] << 16;
            bad |= (stain[0] | stain[1]) != 0 ? 1u << l : 0;
        }
        pe_put32(w, m->at[j], t, PE_ALL, bad);
    }
}

static void stmatrix(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const matrices *m = i->ext;
    rows r = {.data = {NULL}};
    if (!has_whole_warp(w, i, mask) || !find_rows(w, i, true, &r)) {
        return;
    }
    for (uint32_t j = 0; j < i->n; j++) {
        const uint32_t *x = pe_src32(w, m->at[j]);
        uint32_t bad = pe_poison32(w, m->at[j]);
        for (uint32_t l = 0; l < PE_LANES; l++) {
            for (uint32_t part = 0; part < 2; part++) {
                uint32_t row = 0;
                uint32_t byte = 0;
                uint16_t half = (uint16_t)(x[l] >> (16 * part));
                place(l, m->is_trans, part, &row, &byte);
                memcpy(r.data[j * ROWS + row] + byte, &half, 2);
                memset(r.poison[j * ROWS + row] + byte, (int)(bad >> l & 1u), 2);
            }
        }
    }
}

static void movmatrix(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (!has_whole_warp(w, i, mask)) {
        return;
    }
    const uint32_t *x = pe_src32(w, i->a);
    uint32_t bad = pe_poison32(w, i->a);
    uint32_t t[PE_LANES];
    uint32_t q = 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = 0;
        for (uint32_t part = 0; part < 2; part++) {
            uint32_t row = 2 * (l % 4) + part; /* of the source; its column is l / 4 */
            uint32_t from = 4 * row + l / 8;
            t[l] |= (x[from] >> (16 * (l / 4 % 2)) & 0xFFFFu) << (16 * part);
            q |= (bad >> from & 1u) << l;
        }
    }
    pe_put32(w, i->d, t, PE_ALL, q);
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

static bool take_matrices(pe_dec *d, uint32_t arg, bool is_load)
{
    static const uint32_t counts[] = {0, 1, 2, 4};
    matrices *m = pe_new(d, sizeof *m, 1);
    if (m == NULL) {
        return false;
    }
    if (!pe_take(d, "sync") || !pe_take(d, "aligned") || !pe_take(d, "m8n8")) {
        pe_unsupported(d, "this form");
        return false;
    }
    uint32_t n = counts[pe_take_one(d, "x1 x2 x4")];
    m->is_trans = pe_take(d, "trans");
    d->i.space = pe_take_one(d, "shared shared::cta") != 0 ? PG_PTX_SP_SHARED : PG_PTX_SP_NONE;
    if (n == 0 || !pe_take(d, "b16")) {
        pe_unsupported(d, "this form");
        return false;
    }
    const pg_ptx_opnd *o = pe_arg(d, arg);
    if ((o->kind == PG_PTX_O_VEC ? o->n : 1u) != n) {
        pe_invalid(d, "the vector has another number of registers");
        return false;
    }
    for (uint32_t j = 0; j < n; j++) {
        const pg_ptx_opnd *x = o->kind == PG_PTX_O_VEC ? &d->pf->pool.at[o->id + j] : o;
        m->at[j] = is_load ? pe_out_opnd(d, x, 32) : pe_in_opnd(d, x, 32);
    }
    d->i.ext = m;
    d->i.n = (uint8_t)n;
    d->i.size = ROW_SIZE;
    d->i.flags |= PE_I_ALIGNED;
    return !d->is_failed;
}

void pe_dec_ldmatrix(pe_dec *d)
{
    if (take_matrices(d, 0, true)) {
        pe_in_address(d, 1);
        pe_emit(d, ldmatrix);
    }
}

void pe_dec_stmatrix(pe_dec *d)
{
    if (take_matrices(d, 1, false)) {
        pe_in_address(d, 0);
        pe_emit(d, stmatrix);
    }
}

void pe_dec_movmatrix(pe_dec *d)
{
    if (!pe_take(d, "sync") || !pe_take(d, "aligned") || !pe_take(d, "m8n8") ||
        !pe_take(d, "trans") || !pe_take(d, "b16")) {
        pe_unsupported(d, "this form");
        return;
    }
    d->i.d = pe_out(d, 0, 32);
    d->i.a = pe_in(d, 1, 32);
    d->i.flags |= PE_I_ALIGNED;
    pe_emit(d, movmatrix);
}
