/* lower_copy.c: a tile in another encoding. Within a thread it is a choice of registers. */
#include "emit/lower_int.h"

static bool same_steps(const pg_layout *a, const pg_layout *b, pg_lin_dim d)
{
    uint32_t n = a->n_bits[d] > b->n_bits[d] ? a->n_bits[d] : b->n_bits[d];
    for (uint32_t bit = 0; bit < n; bit++) {
        uint32_t x = bit < a->n_bits[d] ? a->basis[d][bit] : 0;
        uint32_t y = bit < b->n_bits[d] ? b->basis[d][bit] : 0;
        if (x != y) {
            return false;
        }
    }
    return true;
}

/* Source register of each register of the result, where every element is in the same thread. */
static uint32_t *choose(pg_lw *c, const pg_lw_layout *from, const pg_lw_layout *to)
{
    if (from->l.n_outer != 0 || to->l.n_outer != 0 || !same_steps(&from->l, &to->l, PG_LIN_LANE) ||
        !same_steps(&from->l, &to->l, PG_LIN_WARP)) {
        return NULL;
    }
    pg_map at;
    pg_map_init(&at, &c->scratch);
    for (uint32_t r = from->n_regs; r-- > 0;) {
        if (!pg_map_put(&at, pg_layout_pack(&from->l, pg_lw_coord(from, r)), r)) {
            return NULL;
        }
    }
    uint32_t *pick = PG_NEWS(&c->scratch, uint32_t, to->n_regs + 1);
    for (uint32_t r = 0; pick != NULL && r < to->n_regs; r++) {
        const uint32_t *known = pg_map_get(&at, pg_layout_pack(&to->l, pg_lw_coord(to, r)));
        if (known == NULL) {
            return NULL;
        }
        pick[r] = *known;
    }
    return pick;
}

/* Words of the result, where it takes whole words of the operand. */
static uint32_t *choose_words(pg_lw *c, const pg_lv *from, const uint32_t *pick, uint32_t n)
{
    bool is_whole = from->word != NULL && n % from->per == 0;
    for (uint32_t r = 0; is_whole && r < n; r++) {
        is_whole = pick[r] % from->per == r % from->per &&
                   pick[r] == pick[r - r % from->per] + r % from->per;
    }
    uint32_t *word = is_whole ? PG_NEWS(&c->scratch, uint32_t, n / from->per + 1) : NULL;
    for (uint32_t w = 0; word != NULL && w < n / from->per; w++) {
        word[w] = from->word[pick[(size_t)w * from->per] / from->per];
    }
    return word;
}

LOWER(COPY)
{
    const pg_lw_layout *from = pg_lw_layout_of(c, i, pg_val_type(c->k, i->in[0]));
    const pg_lw_layout *to = pg_lw_layout_of(c, i, pg_val_type(c->k, i->out[0]));
    const uint32_t *pick = from != NULL && to != NULL ? choose(c, from, to) : NULL;
    if (pick == NULL) {
        if (!pg_lw_failed(c)) {
            pg_diag_add(c->diags, PG_D_LOWER_COPY, i->loc);
            pg_lw_result(c, i, 0, pg_lw_count(c, NULL, pg_val_type(c->k, i->out[0])));
        }
        return;
    }
    const pg_lv *kept = &c->vals[i->in[0].id < c->k->values.n ? i->in[0].id : 0];
    uint32_t *word = choose_words(c, kept, pick, to->n_regs);
    if (word != NULL) {
        c->vals[i->out[0].id] =
            (pg_lv){.kind = PG_LV_TILE, .n = to->n_regs, .word = word, .per = kept->per};
        return;
    }
    const pg_lv *lv = pg_lw_in(c, i, 0);
    pg_el *el = pg_lw_result(c, i, 0, to->n_regs);
    for (uint32_t r = 0; el != NULL && r < to->n_regs && lv->n == from->n_regs; r++) {
        el[r] = lv->el[pick[r]];
    }
}
