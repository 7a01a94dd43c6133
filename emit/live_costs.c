/* live_costs.c: what a register of the text costs in registers of the machine.
 *
 * I1  Constants, parameters and the size of the grid stand in constant memory or in instructions:
 *     they cost nothing. Predicates have registers of their own.
 * I2  Halves that come from or go into a 32-bit register are used in place: half a register each.
 *     What is loaded as a half fills a register until it is packed.
 * I3  Integers that are the same for all threads cost a quarter: ptxas keeps most of them in
 * uniform registers. */
#include "emit/live_int.h"

/* From what differs between threads to all that depends on it. */
pg_status pg_live_uniform(pg_live *l)
{
    const pg_ptx_func *f = l->f;
    const pg_live_index *x = &l->text;
    uint8_t *n_writes = PG_NEWS(l->arena, uint8_t, f->regs.n + 1);
    bool *differs = PG_NEWS(l->arena, bool, f->regs.n + 1);
    uint32_t *stack = PG_NEWS(l->arena, uint32_t, f->regs.n + 1);
    uint32_t n_stack = 0;
    l->is_uniform = PG_NEWS(l->arena, bool, f->regs.n + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t i = 0; i < x->n; i++) {
        const pg_live_ref *r = &x->refs[i];
        if ((r->how & PG_LIVE_WRITE) == 0) {
            continue;
        }
        n_writes[r->reg] = n_writes[r->reg] < 2 ? n_writes[r->reg] + 1 : 2;
        if (!differs[r->reg] && (l->what[r->at] & PG_LIVE_UNIT) == 0) {
            differs[r->reg] = true;
            stack[n_stack++] = r->reg;
        }
    }
    while (n_stack != 0) {
        uint32_t reg = stack[--n_stack];
        for (uint32_t k = x->reg_at[reg]; k < x->reg_at[reg + 1]; k++) {
            const pg_live_ref *r = &x->refs[x->by_reg[k]];
            bool is_read = (r->how & PG_LIVE_READ) != 0;
            for (uint32_t j = x->stmt_at[r->at]; is_read && j < x->stmt_at[r->at + 1]; j++) {
                uint32_t to = x->refs[j].reg;
                if ((x->refs[j].how & PG_LIVE_WRITE) != 0 && !differs[to]) {
                    differs[to] = true;
                    stack[n_stack++] = to;
                }
            }
        }
    }
    for (uint32_t r = 0; r < f->regs.n; r++) {
        bool is_float = pg_ptx_type_infos[f->regs.at[r].type].cls == 'F';
        l->is_uniform[r] = !differs[r] && !is_float && n_writes[r] >= 1;
    }
    return PG_OK;
}

/* I2 */
static void cost_halves(pg_live *l, const bool *is_loaded)
{
    const pg_ptx_func *f = l->f;
    for (uint32_t s = 0; s < f->body.n; s++) {
        const pg_ptx_stmt *t = &f->body.at[s];
        const bool is_word = (l->what[s] & PG_LIVE_WORD) != 0 && t->n_ops == 2;
        for (uint32_t k = 0; k < t->n_ops && is_word; k++) {
            const pg_ptx_opnd *o = &f->pool.at[t->ops + k];
            for (uint32_t j = 0; o->kind == PG_PTX_O_VEC && o->n == 2 && j < 2; j++) {
                const pg_ptx_opnd *half = &f->pool.at[o->id + j];
                if (half->kind == PG_PTX_O_REG && l->quarters[half->id] == 4 &&
                    !is_loaded[half->id]) {
                    l->quarters[half->id] = 2;
                }
            }
        }
    }
}

pg_status pg_live_costs(pg_live *l)
{
    const pg_ptx_func *f = l->f;
    const pg_live_index *x = &l->text;
    l->quarters = PG_NEWS(l->arena, uint8_t, f->regs.n + 1);
    bool *is_made = PG_NEWS(l->arena, bool, f->regs.n + 1); /* by something that costs, or twice */
    bool *is_loaded = PG_NEWS(l->arena, bool, f->regs.n + 1);
    bool *is_known = PG_NEWS(l->arena, bool, f->regs.n + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t i = 0; i < x->n; i++) {
        const pg_live_ref *r = &x->refs[i];
        if ((r->how & PG_LIVE_WRITE) != 0) {
            is_made[r->reg] =
                is_made[r->reg] || is_known[r->reg] || (l->what[r->at] & PG_LIVE_FREE) == 0;
            is_known[r->reg] = true;
            is_loaded[r->reg] = is_loaded[r->reg] || (l->what[r->at] & PG_LIVE_LOAD) != 0;
        }
    }
    for (uint32_t r = 0; r < f->regs.n; r++) {
        uint32_t bits = pg_ptx_type_infos[f->regs.at[r].type].bits;
        bool is_nothing = !is_made[r] || bits == 1;
        l->quarters[r] = (uint8_t)(is_nothing ? 0 : bits <= 32 ? 4 : bits / 8);
    }
    cost_halves(l, is_loaded);
    return PG_OK;
}
