/* lower_dot.c: matrix operations on tiles in registers: mma.sync where the layouts are its
 * fragments, fma where each thread holds whole rows of A and columns of B for its part of C.
 *
 * The layouts are asked, not the kinds of encodings. mma.sync m16n8kK multiplies 16 x K by K x 8
 * elements; K is 8 words of 32 bits. With lane = 4 * g + t: a word of A has row g (and 8 more) and
 * words t (and 4 more) along k; a word of B column g and the same; C row g (and 8 more) and columns
 * 2 * t, + 1. All warps have the same registers for their part of M and N.
 *
 * I1  An accumulator is written in place if the operation is the only use of C, C's registers are
 *     its own (an earlier mma's, or a loop's) and C is of the same region: nobody else sees them,
 *     no number of a pure instruction stands for them. So a loop carries it without moves.
 * I2  k ascends in the outermost loop: the order of the sums is that of the text. */
#include "emit/lower_int.h"

typedef struct side { /* A or B; row stands for m or n */
    const pg_lw_layout *l;
    const pg_lv *lv; /* as it is: perhaps words */
    const pg_el *el; /* NULL: words */
    pg_elem elem;
    uint32_t per;        /* elements of a word */
    uint32_t row, k;     /* dimensions of the tile */
    uint32_t n_row, n_k; /* extents */
    uint32_t *place[2];  /* by row, by k: number + 1 among those that lane 0, warp 0 has */
    uint32_t n_place;    /* along k */
    uint32_t *reg;       /* [number of row * n_place + number of k]: register + 1 there */
} side;

typedef struct dot {
    const pg_inst *inst;
    side a, b, c; /* c: rows m, "k" n */
    pg_elem elem; /* of C */
    pg_el *d;     /* elements of the result; f16: see word */
    uint32_t *word;
} dot;

/* Numbers the coordinates along d that registers have; how many there are. */
static uint32_t number_places(const side *s, uint32_t d, uint32_t *place)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < s->l->n_regs; r++) {
        uint32_t *at = &place[pg_lw_coord(s->l, r)[d]];
        *at = *at == 0 ? ++n : *at;
    }
    return n;
}

static bool index_regs(pg_lw *c, side *s)
{
    s->n_row = s->l->l.dims[s->row];
    s->n_k = s->l->l.dims[s->k];
    s->place[0] = PG_NEWS(&c->scratch, uint32_t, s->n_row);
    s->place[1] = PG_NEWS(&c->scratch, uint32_t, s->n_k);
    if (s->place[0] == NULL || s->place[1] == NULL) {
        return false;
    }
    const uint32_t n_rows = number_places(s, s->row, s->place[0]);
    s->n_place = number_places(s, s->k, s->place[1]);
    s->reg = PG_NEWS(&c->scratch, uint32_t, (size_t)n_rows * s->n_place);
    for (uint32_t r = 0; s->reg != NULL && r < s->l->n_regs; r++) {
        const uint32_t *at = pg_lw_coord(s->l, r);
        const uint32_t row = s->place[0][at[s->row]] - 1, k = s->place[1][at[s->k]] - 1;
        uint32_t *to = &s->reg[(size_t)row * s->n_place + k];
        *to = *to == 0 ? r + 1 : *to;
    }
    return s->reg != NULL;
}

/* Register + 1 of an element at lane 0, warp 0; 0: not there. */
static uint32_t reg_at(const side *s, uint32_t row, uint32_t k)
{
    const uint32_t m = row < s->n_row ? s->place[0][row] : 0;
    const uint32_t n = k < s->n_k ? s->place[1][k] : 0;
    return m != 0 && n != 0 ? s->reg[(size_t)(m - 1) * s->n_place + n - 1] : 0;
}

static bool open_side(pg_lw *c, const pg_inst *i, uint32_t index, bool is_k_first, side *s)
{
    pg_val v = i->in[index];
    const pg_type_info *t = pg_val_info(c->k, v);
    pg_type type = pg_val_type(c->k, v);
    if (index == 2) { /* a literal has the result's type */
        type = pg_val_type(c->k, i->out[0]);
        t = pg_type_get(c->types, type);
    }
    *s = (side){.l = pg_lw_layout_of(c, i, type),
                .elem = (pg_elem)t->elem,
                .per = 32u / pg_elem_infos[t->elem].bits,
                .row = is_k_first ? 1 : 0,
                .k = is_k_first ? 0 : 1};
    if (s->l == NULL || s->l->l.rank != 2 || s->l->l.n_outer != 0) {
        return false;
    }
    const pg_lv *kept = &c->vals[v.id < c->k->values.n ? v.id : 0];
    bool has_words = index < 2 && kept->word != NULL && kept->per == s->per;
    s->lv = has_words ? kept : pg_lw_in(c, i, index);
    s->el = has_words ? NULL : s->lv->el;
    return s->lv->n == s->l->n_regs && index_regs(c, s);
}

/* What a bit of the lane or warp adds along (row, k). */
static void step_of(const side *s, pg_lin_dim d, uint32_t bit, uint32_t out[2])
{
    out[0] = out[1] = 0;
    if (bit < s->l->l.n_bits[d]) {
        uint32_t at[PG_MAX_RANK];
        pg_lw_bit_coord(&s->l->l, d, bit, at);
        out[0] = at[s->row];
        out[1] = at[s->k];
    }
}

/* A has C's rows and all of k, B C's columns and all of k, whatever the bits of `d`. */
static bool agree(const dot *p, pg_lin_dim d)
{
    for (uint32_t bit = 0; bit < 5 + (d == PG_LIN_WARP); bit++) {
        uint32_t a[2], b[2], c[2];
        step_of(&p->a, d, bit, a);
        step_of(&p->b, d, bit, b);
        step_of(&p->c, d, bit, c);
        if (a[0] != c[0] || b[0] != c[1] || a[1] != 0 || b[1] != 0) {
            return false;
        }
    }
    return true;
}

/* Lanes as in the fragments: t over `width` elements of k, g over rows. */
static bool is_fragment(const side *s, uint32_t width)
{
    for (uint32_t bit = 0; bit < 5; bit++) {
        uint32_t at[2];
        step_of(s, PG_LIN_LANE, bit, at);
        uint32_t row = bit < 2 ? 0 : 1u << (bit - 2), k = bit < 2 ? width << bit : 0;
        if (at[0] != row || at[1] != k) {
            return false;
        }
    }
    return true;
}

/* ---- the accumulator ------------------------------------------------------------------------- */

static bool is_own(const pg_lw *c, const pg_inst *i)
{
    pg_val v = i->in[2];
    const pg_value *value = pg_value_of(c->k, v);
    if (c->n_uses[v.id] != 1) {
        return false;
    }
    if (value->kind == PG_V_ARG) {
        return value->region == i->parent && i->parent->owner != NULL &&
               pg_is_loop(i->parent->owner) && !pg_region_is_test(i->parent);
    }
    const pg_inst *def = pg_val_def(c->k, v);
    return def != NULL && def->parent == i->parent &&
           (def->op == PG_OP_MMA || def->op == PG_OP_UMMA);
}

/* Registers of C's elements are registers, all different, and only C's. */
static bool can_overwrite(pg_lw *c, const dot *p)
{
    uint32_t n_regs = c->b.f->regs.n;
    bool *seen = is_own(c, p->inst) ? PG_NEWS(&c->scratch, bool, n_regs + 1) : NULL;
    for (uint32_t r = 0; seen != NULL && r < p->c.lv->n; r++) {
        pg_el x = p->c.el[r];
        if (x.reg == 0 || x.imm != 0 || x.reg > n_regs || seen[x.reg]) {
            return false;
        }
        seen[x.reg] = true;
    }
    return seen != NULL;
}

/* Registers of the result; *is_same: they are C's. */
static bool open_result(pg_lw *c, dot *p, bool *is_same)
{
    uint32_t n = p->c.l->n_regs;
    p->d = PG_NEWS(&c->scratch, pg_el, n + 1);
    if (p->d == NULL) {
        return false;
    }
    *is_same = can_overwrite(c, p);
    for (uint32_t r = 0; r < n; r++) {
        p->d[r] = *is_same ? p->c.el[r] : pg_el_reg(pg_lw_new_reg(c, pg_lw_reg_type(p->elem)));
    }
    c->vals[p->inst->out[0].id] = (pg_lv){.kind = PG_LV_TILE, .n = n, .el = p->d};
    return true;
}

/* ---- mma.sync -------------------------------------------------------------------------------- */

static const char *opcode_of(const dot *p)
{
    bool is_f16 = p->elem == PG_F16;
    switch (p->a.elem) {
    case PG_F16:
        return is_f16 ? "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
                      : "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    case PG_BF16: return "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
    case PG_TF32: return "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
    case PG_I8:
        return p->inst->op == PG_OP_UMMA ? "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32"
                                         : "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
    default: return NULL;
    }
}

static bool are_fragments(const dot *p)
{
    if (opcode_of(p) == NULL || p->a.n_k % (8 * p->a.per) != 0 || p->c.l->free_reg != 0) {
        return false;
    }
    for (uint32_t bit = 0; bit < 6; bit++) {
        uint32_t a[2], b[2], c[2];
        step_of(&p->a, PG_LIN_WARP, bit, a);
        step_of(&p->b, PG_LIN_WARP, bit, b);
        step_of(&p->c, PG_LIN_WARP, bit, c);
        if (a[0] != c[0] || b[0] != c[1] || a[1] != 0 || b[1] != 0) {
            return false;
        }
    }
    return is_fragment(&p->a, p->a.per) && is_fragment(&p->b, p->b.per) && is_fragment(&p->c, 2);
}

/* The word that begins at (row, k). */
static bool word_at(pg_lw *c, const side *s, uint32_t row, uint32_t k, pg_ptx_opnd *out)
{
    pg_el el[4] = {{0}};
    uint32_t first = reg_at(s, row, k);
    bool is_word = first != 0 && (first - 1) % s->per == 0;
    for (uint32_t e = 0; e < s->per; e++) {
        uint32_t r = reg_at(s, row, k + e);
        if (r == 0) {
            return false;
        }
        is_word = is_word && r == first + e;
        el[e] = s->el != NULL ? s->el[r - 1] : (pg_el){0};
    }
    if (s->el == NULL && !is_word) {
        return false;
    }
    *out =
        pg_lw_reg(s->el == NULL ? s->lv->word[(first - 1) / s->per] : pg_lw_pack(c, s->elem, el));
    return true;
}

/* Words of a fragment: n_rows (1, 2) times two along k. */
static bool fragment_at(pg_lw *c, const side *s, uint32_t row, uint32_t k, uint32_t n_rows,
                        pg_ptx_opnd *out)
{
    pg_ptx_opnd w[4];
    for (uint32_t n = 0; n < 2 * n_rows; n++) {
        uint32_t skip_row = 8 * (n % n_rows), skip_k = 4 * s->per * (n / n_rows);
        if (!word_at(c, s, row + skip_row, k + skip_k, &w[n])) {
            return false;
        }
    }
    *out = pg_ptx_vec(&c->b, w, 2 * n_rows);
    return true;
}

/* Registers of the block of C at (m, n), in the order of the fragment. */
static bool block_at(const dot *p, uint32_t m, uint32_t n, uint32_t out[4])
{
    for (uint32_t e = 0; e < 4; e++) {
        uint32_t r = reg_at(&p->c, m + 8 * (e / 2), n + e % 2);
        if (r == 0) {
            return false;
        }
        out[e] = r - 1;
    }
    return true;
}

typedef struct blocks { /* of the lane 0, warp 0 */
    uint32_t n_m, n_n;
    uint32_t *m, *n; /* where they begin */
} blocks;

static bool find_blocks(pg_lw *c, const dot *p, blocks *out)
{
    *out = (blocks){.m = PG_NEWS(&c->scratch, uint32_t, p->c.n_row),
                    .n = PG_NEWS(&c->scratch, uint32_t, p->c.n_k)};
    if (out->m == NULL || out->n == NULL) {
        return false;
    }
    for (uint32_t m = 0; m < p->c.n_row; m += 16) {
        if (reg_at(&p->c, m, 0) != 0) {
            out->m[out->n_m++] = m;
        }
    }
    for (uint32_t n = 0; n < p->c.n_k; n += 8) {
        if (reg_at(&p->c, 0, n) != 0) {
            out->n[out->n_n++] = n;
        }
    }
    return out->n_m * out->n_n * 4 == p->c.l->n_regs;
}

/* f16 accumulators travel in words of two. */
static bool open_words(pg_lw *c, dot *p)
{
    p->word = PG_NEWS(&c->scratch, uint32_t, p->c.l->n_regs / 2 + 1);
    for (uint32_t w = 0; p->word != NULL && w < p->c.l->n_regs / 2; w++) {
        p->word[w] = pg_lw_pack(c, PG_F16, &p->c.el[(size_t)2 * w]);
    }
    return p->word != NULL;
}

static bool emit_one(pg_lw *c, dot *p, const uint32_t at[4], const pg_ptx_opnd ab[2], bool from_c)
{
    pg_ptx_opnd d[4], x[4];
    uint32_t n = p->word != NULL ? 2 : 4;
    for (uint32_t e = 0; e < n; e++) {
        if (p->word == NULL) {
            d[e] = pg_lw_reg(p->d[at[e]].reg - 1);
            x[e] = from_c ? pg_lw_in_reg(c, p->elem, p->c.el[at[e]]) : d[e];
            continue;
        }
        const uint32_t *pair = at + (size_t)2 * e;
        uint32_t *w = &p->word[pair[0] / 2];
        if (pair[0] % 2 != 0 || pair[1] != pair[0] + 1) {
            return false;
        }
        x[e] = pg_lw_reg(*w);
        *w = from_c ? pg_lw_new_reg(c, PG_PTX_B32) : *w;
        d[e] = pg_lw_reg(*w);
    }
    pg_ptx_opnd ops[4] = {pg_ptx_vec(&c->b, d, n), ab[0], ab[1], pg_ptx_vec(&c->b, x, n)};
    pg_lw_emit(c, opcode_of(p), 4, ops);
    return true;
}

static bool emit_blocks(pg_lw *c, dot *p, const blocks *b, bool is_same)
{
    for (uint32_t k = 0; k < p->a.n_k; k += 8 * p->a.per) {
        for (uint32_t m = 0; m < b->n_m; m++) {
            pg_ptx_opnd ab[2];
            if (!fragment_at(c, &p->a, b->m[m], k, 2, &ab[0])) {
                return false;
            }
            for (uint32_t n = 0; n < b->n_n; n++) {
                uint32_t at[4];
                if (!block_at(p, b->m[m], b->n[n], at) ||
                    !fragment_at(c, &p->b, b->n[n], k, 1, &ab[1]) ||
                    !emit_one(c, p, at, ab, k == 0 && !is_same)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool emit_mma(pg_lw *c, dot *p)
{
    blocks b;
    bool is_same = false;
    if (!find_blocks(c, p, &b)) {
        return false;
    }
    bool is_half = p->elem == PG_F16;
    if (is_half ? !open_words(c, p) : !open_result(c, p, &is_same)) {
        return false;
    }
    if (!emit_blocks(c, p, &b, is_same)) {
        return false;
    }
    if (is_half) {
        c->vals[p->inst->out[0].id] =
            (pg_lv){.kind = PG_LV_TILE, .n = p->c.l->n_regs, .word = p->word, .per = 2};
    }
    return true;
}

/* ---- fma ------------------------------------------------------------------------------------- */

static bool emit_fma(pg_lw *c, dot *p)
{
    bool is_same = false;
    if (p->a.el == NULL || p->b.el == NULL || !open_result(c, p, &is_same)) {
        return false;
    }
    for (uint32_t k = 0; k < p->a.n_k; k++) {
        for (uint32_t r = 0; r < p->c.l->n_regs && !pg_lw_failed(c); r++) {
            const uint32_t *at = pg_lw_coord(p->c.l, r);
            uint32_t a = reg_at(&p->a, at[0], k), b = reg_at(&p->b, at[1], k);
            if (a == 0 || b == 0) {
                return false;
            }
            pg_ptx_opnd d = pg_lw_reg(p->d[r].reg - 1);
            const pg_el from[3] = {p->a.el[a - 1], p->b.el[b - 1], p->c.el[r]};
            pg_ptx_opnd ops[4] = {d, d, d, d};
            pg_lw_in_regs(c, PG_F32, k == 0 && !is_same ? 3 : 2, from, ops + 1);
            pg_lw_emit(c, "fma.rn.f32", 4, ops);
        }
    }
    return true;
}

/* Operands that are converted element by element on the way stand in registers twice, for a while:
 * do they and C fill those of a thread, beside some for the rest? */
static bool fills_registers(const pg_lw *c, const dot *p)
{
    enum { REST = 32 };
    if (p->a.elem == PG_F32 || p->a.el == NULL || p->b.el == NULL) {
        return false;
    }
    const uint32_t share = 65536 / (32 * c->plan.n_warps), most = share > 255 ? 255 : share;
    return p->a.l->n_regs / p->a.per + p->b.l->n_regs / p->b.per + p->c.l->n_regs / p->c.per +
               REST >
           most;
}

/* Where the first instruction of the product stands: the end of what only fetches operands. */
static uint32_t first_product(const pg_lw *c, uint32_t from)
{
    const pg_ptx_func *f = c->b.f;
    while (from < f->body.n && !pg_str_starts(f->body.at[from].text, PG_STR("mma."))) {
        from++;
    }
    return from;
}

LOWER(MMA)
{
    dot p = {.inst = i, .elem = (pg_elem)pg_val_info(c->k, i->out[0])->elem};
    bool is_ok = open_side(c, i, 0, pg_attr_has(&i->attrs, PG_A_TRANSA), &p.a) &&
                 open_side(c, i, 1, !pg_attr_has(&i->attrs, PG_A_TRANSB), &p.b) &&
                 open_side(c, i, 2, false, &p.c);
    const uint32_t from = c->b.f->body.n;
    if (is_ok && p.a.elem == PG_F32) {
        is_ok = agree(&p, PG_LIN_LANE) && agree(&p, PG_LIN_WARP) && emit_fma(c, &p);
    } else if (is_ok) {
        is_ok = are_fragments(&p) && emit_mma(c, &p);
    }
    if (is_ok && fills_registers(c, &p)) {
        pg_lw_late(c, first_product(c, from));
    }
    if (!is_ok && !pg_lw_failed(c)) {
        pg_diag_add(c->diags, PG_D_LOWER_MMA, i->loc, pg_op_infos[i->op].text);
        pg_lw_result(c, i, 0, pg_lw_count(c, NULL, pg_val_type(c->k, i->out[0])));
    }
}

LOWER(UMMA)
{
    pg_lower_MMA(c, i);
}
