/* lower_matrix.c: ldmatrix and stmatrix, where the layouts of the tile and of the buffer allow.
 *
 * One instruction moves 1, 2 or 4 matrices of 8 rows of 16 bytes. Lane l gives the address of row
 * l % 8 of matrix l / 8 and gets (or gives) the 32-bit word l % 4 of row l / 4 of each; with .trans
 * (16-bit elements only) column l / 4 and rows 2 * (l % 4), + 1. So it fits a tile whose words go
 * over lanes this way, if rows lie in the buffer as 16 consecutive aligned bytes; the swizzle keeps
 * these together. */
#include "emit/lower_int.h"

typedef struct plan {
    const pg_lw_layout *l;
    pg_smem_map m;     /* of the addresses that the lanes give */
    uint32_t per;      /* elements of a word */
    uint32_t fast;     /* dimension along a word */
    bool is_trans;     /* rows in the buffer lie along the other one */
    uint32_t n_matrix; /* of one instruction */
} plan;

static void coord_of(const pg_lw_layout *l, pg_lin_dim d, uint32_t bit, uint32_t *at)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    index[d] = 1u << bit;
    pg_layout_at(&l->l, index, at);
}

static bool is_unit(const pg_lw_layout *l, pg_lin_dim d, uint32_t bit, uint32_t dim, uint32_t step)
{
    uint32_t at[PG_MAX_RANK];
    coord_of(l, d, bit, at);
    return at[dim] == step && at[1 - dim] == 0;
}

/* Words go over lanes as in a fragment. */
static bool is_fragment(plan *p)
{
    const pg_lw_layout *l = p->l;
    uint32_t n_per = pg_log2(p->per);
    if (l->l.rank != 2 || l->l.n_outer != 0 || l->l.n_bits[PG_LIN_LANE] != 5 || l->free_reg != 0 ||
        l->l.n_bits[PG_LIN_REG] < n_per) {
        return false;
    }
    uint32_t at[PG_MAX_RANK];
    coord_of(l, PG_LIN_LANE, 0, at);
    p->fast = at[0] != 0 ? 0 : 1;
    bool is_good = true;
    for (uint32_t b = 0; b < n_per; b++) {
        is_good = is_good && is_unit(l, PG_LIN_REG, b, p->fast, 1u << b);
    }
    for (uint32_t b = 0; b < 5; b++) {
        uint32_t step = b < 2 ? p->per << b : 1u << (b - 2);
        is_good = is_good && is_unit(l, PG_LIN_LANE, b, b < 2 ? p->fast : 1 - p->fast, step);
    }
    return is_good;
}

/* 16 bytes along `dim` lie together, and everything else is a multiple of them away. */
static bool has_rows(const plan *p, uint32_t dim)
{
    uint32_t n = 16 / p->m.size;
    for (uint32_t d = 0; d < 2; d++) {
        for (uint32_t step = 1; step < p->l->l.dims[d]; step *= 2) {
            uint32_t at[PG_MAX_RANK] = {0};
            at[d] = step;
            uint32_t offset = pg_lw_smem_offset(&p->m, at);
            if (d == dim && step < n ? offset != step * p->m.size : offset % 16 != 0) {
                return false;
            }
        }
    }
    return p->l->l.dims[dim] >= n;
}

/* What each bit of the thread's number adds to the address that it gives. */
static void aim(plan *p)
{
    uint32_t row = p->is_trans ? p->fast : 1 - p->fast;
    uint32_t n_per = pg_log2(p->per);
    for (uint32_t b = 0; b < 5; b++) {
        uint32_t at[PG_MAX_RANK] = {0};
        if (b < 3) {
            at[row] = 1u << b;
        } else if (p->n_matrix >> (b - 2) != 0) {
            coord_of(p->l, PG_LIN_REG, n_per + b - 3, at);
        }
        p->m.v[b] = pg_lw_smem_offset(&p->m, at);
    }
}

static bool make_plan(pg_lw *c, const pg_inst *i, plan *p)
{
    bool is_store = i->op == PG_OP_BUF_STORE;
    pg_type type = pg_val_type(c->k, is_store ? i->in[1] : i->out[0]);
    const pg_type_info *t = pg_type_get(c->types, type);
    uint32_t bits = pg_elem_infos[t->elem].bits;
    bool is_half = t->elem == PG_F16 || t->elem == PG_BF16;
    bool is_other = t->elem == PG_I8 || t->elem == PG_TF32 || t->elem == PG_F32;
    if (!is_half && !(is_other && !is_store)) {
        return false;
    }
    *p = (plan){.l = pg_lw_layout_of(c, i, type), .per = 32 / bits};
    if (p->l == NULL || !is_fragment(p) || !pg_lw_smem_map(c, i->in[0], p->l, &p->m) ||
        (is_store && (c->target->sm < 90 || p->l->free_thread != 0))) {
        return false;
    }
    p->is_trans = !has_rows(p, p->fast);
    if (p->is_trans && !(is_half && has_rows(p, 1 - p->fast))) {
        return false;
    }
    uint32_t n_words = p->l->n_regs / p->per;
    p->n_matrix = n_words >= 4 ? 4 : n_words;
    aim(p);
    return true;
}

static const char *opcode_of(const plan *p, bool is_store)
{
    static const char *const names[2][2][3] = {
        {{"ldmatrix.sync.aligned.m8n8.x1.shared.b16", "ldmatrix.sync.aligned.m8n8.x2.shared.b16",
          "ldmatrix.sync.aligned.m8n8.x4.shared.b16"},
         {"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
          "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
          "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}},
        {{"stmatrix.sync.aligned.m8n8.x1.shared.b16", "stmatrix.sync.aligned.m8n8.x2.shared.b16",
          "stmatrix.sync.aligned.m8n8.x4.shared.b16"},
         {"stmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
          "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
          "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}}};
    return names[is_store][p->is_trans][pg_log2(p->n_matrix)];
}

/* Ids of the tile's words; NULL: out of memory. */
static uint32_t *words_of(pg_lw *c, const pg_inst *i, const plan *p)
{
    uint32_t n = p->l->n_regs / p->per;
    const pg_lv *kept = i->op == PG_OP_BUF_STORE ? &c->vals[i->in[1].id] : NULL;
    if (kept != NULL && kept->word != NULL && kept->per == p->per) {
        return kept->word;
    }
    uint32_t *word = PG_NEWS(&c->scratch, uint32_t, n);
    const pg_lv *lv = kept != NULL ? pg_lw_in(c, i, 1) : NULL;
    for (uint32_t w = 0; word != NULL && w < n; w++) {
        if (lv == NULL) {
            word[w] = pg_lw_new_reg(c, PG_PTX_B32);
        } else if (lv->n == p->l->n_regs) {
            word[w] =
                pg_lw_pack(c, pg_lw_elem(pg_val_info(c->k, i->in[1])), &lv->el[(size_t)w * p->per]);
        }
    }
    return word;
}

bool pg_lw_matrix(pg_lw *c, const pg_inst *i, bool is_dry)
{
    plan p;
    bool is_store = i->op == PG_OP_BUF_STORE;
    const pg_lv *buf = is_dry ? NULL : pg_lw_in(c, i, 0);
    if (!make_plan(c, i, &p) || (buf != NULL && buf->obj == NULL)) {
        return false;
    }
    uint32_t *word = is_dry ? NULL : words_of(c, i, &p);
    for (uint32_t r = 0; r < p.l->n_regs && !pg_lw_failed(c); r += p.n_matrix * p.per) {
        uint32_t own = pg_lw_smem_offset(&p.m, pg_lw_coord(p.l, r));
        pg_el at = pg_lw_smem_at(c, &p.m, buf, own);
        if (word == NULL) {
            continue;
        }
        pg_ptx_opnd w[4];
        for (uint32_t n = 0; n < p.n_matrix; n++) {
            w[n] = pg_lw_reg(word[r / p.per + n]);
        }
        pg_ptx_opnd mem = pg_ptx_addr(&c->b, pg_lw_reg(at.reg - 1), at.imm);
        pg_ptx_opnd vec = pg_ptx_vec(&c->b, w, p.n_matrix); /* {w}, also for one */
        pg_ptx_opnd ops[2] = {is_store ? mem : vec, is_store ? vec : mem};
        pg_lw_emit(c, opcode_of(&p, is_store), 2, ops);
    }
    if (!is_store && word != NULL) {
        c->vals[i->out[0].id] =
            (pg_lv){.kind = PG_LV_TILE, .n = p.l->n_regs, .word = word, .per = p.per};
    }
    return true;
}
