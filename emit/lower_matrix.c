/* lower_matrix.c: ldmatrix and stmatrix, where the move found for the layouts says so.
 *
 * One instruction moves 1, 2 or 4 matrices of 8 rows of 16 bytes. Lane l gives the address of row
 * l % 8 of matrix l / 8 and gets (or gives) the 32-bit word l % 4 of row l / 4 of each; with .trans
 * (16-bit elements only) column l / 4 and rows 2 * (l % 4), + 1. Which registers are a word, and
 * which number the matrices, is in the move (ir/convert.h). */
#include "emit/lower_int.h"

typedef struct plan {
    const pg_lw_layout *l;
    const pg_bank_move *move;
    uint32_t per, n_bits; /* elements of a word; register bits */
    uint32_t n_matrix;    /* of one instruction */
    bool is_plain;        /* a word is `per` registers that follow each other */
} plan;

/* What each bit of the thread's number adds to the address that it gives: rows, then matrices. */
void pg_lw_matrix_map(pg_smem_way *way)
{
    const pg_bank_move *move = &way->move;
    const bool is_trans = move->kind == PG_MOVE_MATRIX_TRANS;
    for (uint32_t b = 0; b < 5; b++) {
        uint32_t at[PG_MAX_RANK] = {0};
        if (b < 3 && !is_trans) {
            pg_lw_bit_coord(&way->l->l, PG_LIN_LANE, b + 2, at);
        } else if (b < 3 && b > 0) {
            pg_lw_bit_coord(&way->l->l, PG_LIN_LANE, b - 1, at);
        } else if (b == 0) {
            pg_lw_bit_coord(&way->l->l, PG_LIN_REG, move->access.reg_bits[0], at);
        } else if (b - 3 < move->n_matrices_log2) {
            pg_lw_bit_coord(&way->l->l, PG_LIN_REG, move->matrix_bits[b - 3], at);
        }
        way->m.v[b] = pg_lw_smem_offset(&way->m, at);
    }
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
    return names[is_store][p->move->kind == PG_MOVE_MATRIX_TRANS][p->move->n_matrices_log2];
}

/* Register j of word w. */
static uint32_t reg_of(const plan *p, uint32_t w, uint32_t j)
{
    return pg_lw_access_reg(&p->move->access, p->n_bits, w * p->per + j);
}

/* Number of the word that begins at this register. */
static uint32_t word_at(const plan *p, uint32_t reg)
{
    uint32_t w = 0, n = 0;
    for (uint32_t b = 0; b < p->n_bits; b++) {
        bool is_part = false;
        for (uint32_t i = 0; i < p->move->access.n_log2; i++) {
            is_part = is_part || p->move->access.reg_bits[i] == b;
        }
        w |= is_part ? 0 : (reg >> b & 1) << n;
        n += !is_part;
    }
    return w;
}

/* Ids of the tile's words; NULL: out of memory. */
static uint32_t *words_of(pg_lw *c, const pg_inst *i, const plan *p)
{
    uint32_t n = p->l->n_regs / p->per;
    const pg_lv *kept = i->op == PG_OP_BUF_STORE ? &c->vals[i->in[1].id] : NULL;
    if (kept != NULL && kept->word != NULL && kept->per == p->per && p->is_plain) {
        return kept->word;
    }
    uint32_t *word = PG_NEWS(&c->scratch, uint32_t, n);
    const pg_lv *lv = kept != NULL ? pg_lw_in(c, i, 1) : NULL;
    for (uint32_t w = 0; word != NULL && w < n; w++) {
        if ((reg_of(p, w, 0) & p->l->free_reg) != 0) {
            word[w] = word[word_at(p, reg_of(p, w, 0) & ~p->l->free_reg)];
        } else if (lv == NULL) {
            word[w] = pg_lw_new_reg(c, PG_PTX_B32);
        } else if (lv->n == p->l->n_regs) {
            pg_el el[4];
            for (uint32_t j = 0; j < p->per; j++) {
                el[j] = lv->el[reg_of(p, w, j)];
            }
            word[w] = pg_lw_pack(c, pg_lw_elem(pg_val_info(c->k, i->in[1])), el);
        }
    }
    return word;
}

/* The result of a load: words as they are, or taken apart. */
static void keep_words(pg_lw *c, const pg_inst *i, const plan *p, uint32_t *word)
{
    if (p->is_plain) {
        c->vals[i->out[0].id] =
            (pg_lv){.kind = PG_LV_TILE, .n = p->l->n_regs, .word = word, .per = p->per};
        return;
    }
    pg_el *out = pg_lw_result(c, i, 0, p->l->n_regs);
    for (uint32_t w = 0; out != NULL && w < p->l->n_regs / p->per; w++) {
        pg_el el[4];
        pg_lw_unpack(c, pg_lw_elem(pg_val_info(c->k, i->out[0])), word[w], el);
        for (uint32_t j = 0; j < p->per; j++) {
            out[reg_of(p, w, j)] = el[j];
        }
    }
}

/* Register bits that do not number instructions: of words, of matrices, of replicas. */
static uint32_t inner_bits(const plan *p)
{
    uint32_t bits = p->l->free_reg;
    for (uint32_t b = 0; b < p->move->access.n_log2; b++) {
        bits |= 1u << p->move->access.reg_bits[b];
    }
    for (uint32_t b = 0; b < p->move->n_matrices_log2; b++) {
        bits |= 1u << p->move->matrix_bits[b];
    }
    return bits;
}

static void emit_one(pg_lw *c, const plan *p, bool is_store, uint32_t reg, pg_el at,
                     const uint32_t *word)
{
    pg_ptx_opnd w[4];
    for (uint32_t n = 0; n < p->n_matrix; n++) {
        uint32_t r = reg;
        for (uint32_t b = 0; b < p->move->n_matrices_log2; b++) {
            r |= (n >> b & 1) << p->move->matrix_bits[b];
        }
        w[n] = pg_lw_reg(word[word_at(p, r)]);
    }
    pg_ptx_opnd mem = pg_ptx_addr(&c->b, pg_lw_reg(at.reg - 1), at.imm);
    pg_ptx_opnd vec = pg_ptx_vec(&c->b, w, p->n_matrix); /* {w}, also for one */
    pg_ptx_opnd ops[2] = {is_store ? mem : vec, is_store ? vec : mem};
    pg_lw_emit(c, opcode_of(p, is_store), 2, ops);
}

void pg_lw_matrix(pg_lw *c, const pg_inst *i, const pg_smem_way *way, bool is_dry)
{
    const pg_lw_layout *l = way->l;
    const pg_bank_move *move = &way->move;
    const bool is_store = i->op == PG_OP_BUF_STORE;
    const pg_lv *buf = is_dry ? NULL : pg_lw_in(c, i, 0);
    plan p = {.l = l,
              .move = move,
              .per = 1u << move->access.n_log2,
              .n_bits = pg_log2(l->n_regs),
              .n_matrix = 1u << move->n_matrices_log2,
              .is_plain = true};
    for (uint32_t b = 0; b < move->access.n_log2; b++) {
        p.is_plain = p.is_plain && move->access.reg_bits[b] == b;
    }
    if (buf != NULL && buf->obj == NULL) {
        return;
    }
    pg_smem_aim aim = {.m = &way->m, .buf = buf};
    uint32_t *word = is_dry ? NULL : words_of(c, i, &p);
    const uint32_t inner = inner_bits(&p);
    for (uint32_t r = 0; r < l->n_regs && !pg_lw_failed(c); r++) {
        if ((r & inner) != 0) {
            continue;
        }
        pg_el at = pg_lw_smem_at(c, &aim, way->m.own[r]);
        if (word != NULL) {
            emit_one(c, &p, is_store, r, at, word);
        }
    }
    if (!is_store && word != NULL) {
        keep_words(c, i, &p, word);
    }
}
