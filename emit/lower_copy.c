/* lower_copy.c: a tile in another encoding, where no other warp is asked: a choice of registers,
 * rounds of a shuffle, or matrices turned over, as the plan says (ir/convert.h). What goes through
 * shared memory was made explicit by the pass `sync`. */
#include "emit/lower_int.h"

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

static void choose(pg_lw *c, const pg_inst *i, const pg_convert_plan *plan, uint32_t n_regs)
{
    uint32_t *pick = PG_NEWS(&c->scratch, uint32_t, n_regs + 1);
    for (uint32_t r = 0; pick != NULL && r < n_regs; r++) {
        pick[r] = pg_convert_source_reg(plan, r);
    }
    if (pick == NULL) {
        return;
    }
    const pg_lv *kept = &c->vals[i->in[0].id < c->k->values.n ? i->in[0].id : 0];
    uint32_t *word = choose_words(c, kept, pick, n_regs);
    if (word != NULL) {
        c->vals[i->out[0].id] =
            (pg_lv){.kind = PG_LV_TILE, .n = n_regs, .word = word, .per = kept->per};
        return;
    }
    const pg_lv *lv = pg_lw_in(c, i, 0);
    pg_el *el = pg_lw_result(c, i, 0, n_regs);
    for (uint32_t r = 0; el != NULL && r < n_regs; r++) {
        el[r] = pick[r] < lv->n ? lv->el[pick[r]] : pg_el_imm(0);
    }
}

LOWER(COPY)
{
    pg_convert_plan plan;
    const pg_type to = pg_val_type(c->k, i->out[0]);
    const pg_lw_layout *l = pg_lw_layout_of(c, i, to);
    pg_layout_error error =
        l == NULL ? PG_LAYOUT_NO_ENC
                  : pg_convert_of_types(c->types, pg_val_type(c->k, i->in[0]), to, c->n_warps,
                                        pg_convert_flags(c->target->sm), &plan);
    if (error != PG_LAYOUT_OK || plan.kind == PG_CONVERT_SHARED) {
        if (!pg_lw_failed(c)) {
            pg_diag_add(c->diags, PG_D_LOWER_COPY, i->loc);
            pg_lw_result(c, i, 0, pg_lw_count(c, NULL, to));
        }
        return;
    }
    switch (plan.kind) {
    case PG_CONVERT_SHUFFLE: pg_lw_shuffle(c, i, &plan.shuffle); break;
    case PG_CONVERT_MOVMATRIX: pg_lw_movmatrix(c, i, &plan); break;
    default: choose(c, i, &plan, l->n_regs); break;
    }
}
