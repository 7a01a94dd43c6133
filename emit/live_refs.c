/* live_refs.c: which registers a statement reads and writes.
 *
 * I1  The first operand is written where the table says so; a matrix product in flight (wgmma)
 *     reads it as well. All other registers, those of addresses included, are read.
 * I2  Within a statement the reads come before the writes.
 * I3  What a guard may prevent is written partly: the old value lives on. */
#include "emit/live_int.h"

typedef struct refs {
    pg_live *l;
    PG_VEC(pg_live_ref) all;
    uint32_t stmt;
    bool is_failed;
} refs;

static inline void add_ref(refs *r, uint32_t reg, uint8_t how)
{
    pg_live_ref one = {r->stmt, reg, how};
    if (reg < r->l->f->regs.n && !pg_vec_push(r->l->arena, &r->all, one)) {
        r->is_failed = true;
    }
}

static void add_parts(refs *r, const pg_ptx_opnd *o, uint8_t how, uint32_t depth);

/* NOLINTNEXTLINE(misc-no-recursion): PG_PTX_MAX_NEST */
static inline void add_operand(refs *r, const pg_ptx_opnd *o, uint8_t how, uint32_t depth)
{
    if (o->kind == PG_PTX_O_REG) {
        add_ref(r, o->id, how);
    } else if (o->kind >= PG_PTX_O_ADDR) {
        add_parts(r, o, how, depth);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): PG_PTX_MAX_NEST */
static void add_parts(refs *r, const pg_ptx_opnd *o, uint8_t how, uint32_t depth)
{
    const pg_ptx_func *f = r->l->f;
    bool is_address = o->kind == PG_PTX_O_ADDR || o->kind == PG_PTX_O_TADDR;
    bool has_parts = is_address || o->kind == PG_PTX_O_VEC || o->kind == PG_PTX_O_LIST ||
                     o->kind == PG_PTX_O_PAIR;
    uint32_t n = o->kind == PG_PTX_O_ADDR ? 1 : o->n;
    for (uint32_t i = 0; has_parts && depth < PG_PTX_MAX_NEST && i < n; i++) {
        add_operand(r, &f->pool.at[o->id + i], is_address ? PG_LIVE_READ : how, depth + 1);
    }
}

static uint8_t first_role(const pg_ptx_stmt *s, uint16_t what)
{
    char role = pg_isa_rows[s->row].operands[0];
    bool is_written = s->row == PG_ISA_NONE || role == 'd' || role == '?';
    if (!is_written) {
        return PG_LIVE_READ;
    }
    uint8_t how = PG_LIVE_WRITE;
    if (s->guard.kind == PG_PTX_O_REG) {
        how |= PG_LIVE_PARTLY;
    }
    if ((what & PG_LIVE_ADDS) != 0) {
        how |= PG_LIVE_READ;
    }
    return how;
}

static pg_status index_by_register(const pg_live *l, pg_live_index *x)
{
    uint32_t n_regs = l->f->regs.n;
    x->reg_at = PG_NEWS(l->arena, uint32_t, n_regs + 2);
    x->by_reg = PG_NEWS(l->arena, uint32_t, x->n + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t i = 0; i < x->n; i++) {
        x->reg_at[x->refs[i].reg + 2]++;
    }
    for (uint32_t i = 0; i < n_regs; i++) {
        x->reg_at[i + 2] += x->reg_at[i + 1];
    }
    for (uint32_t i = 0; i < x->n; i++) {
        x->by_reg[x->reg_at[x->refs[i].reg + 1]++] = i;
    }
    return PG_OK;
}

pg_status pg_live_reorder(pg_live *l)
{
    const pg_ptx_func *f = l->f;
    const pg_live_index *from = &l->text;
    pg_live_index *to = &l->ordered;
    to->refs = PG_NEWS(l->arena, pg_live_ref, from->n + 1);
    to->stmt_at = PG_NEWS(l->arena, uint32_t, f->body.n + 1);
    to->n = 0;
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t p = 0; p < f->body.n; p++) {
        uint32_t s = l->order[p];
        to->stmt_at[p] = to->n;
        for (uint32_t k = from->stmt_at[s]; k < from->stmt_at[s + 1]; k++) {
            to->refs[to->n] = from->refs[k];
            to->refs[to->n++].at = p;
        }
    }
    to->stmt_at[f->body.n] = to->n;
    return index_by_register(l, to);
}

pg_status pg_live_refs(pg_live *l)
{
    const pg_ptx_func *f = l->f;
    refs r = {.l = l};
    l->text.stmt_at = PG_NEWS(l->arena, uint32_t, f->body.n + 1);
    if (l->text.stmt_at == NULL || !pg_vec_reserve(l->arena, &r.all, f->pool.n)) {
        return PG_E_NOMEM;
    }
    for (uint32_t i = 0; i < f->body.n && !r.is_failed; i++) {
        const pg_ptx_stmt *s = &f->body.at[i];
        l->text.stmt_at[i] = r.all.n;
        if (s->kind != PG_PTX_S_INST || !l->blocks.at[l->block_of[i]].is_reached) {
            continue;
        }
        r.stmt = i;
        add_operand(&r, &s->guard, PG_LIVE_READ, 0);
        for (uint32_t k = 1; k < s->n_ops; k++) {
            add_operand(&r, &f->pool.at[s->ops + k], PG_LIVE_READ, 0);
        }
        if (s->n_ops != 0) {
            add_operand(&r, &f->pool.at[s->ops], first_role(s, l->what[i]), 0);
        }
    }
    l->text.stmt_at[f->body.n] = r.all.n;
    l->text.refs = r.all.at;
    l->text.n = r.all.n;
    l->ranges = PG_NEWS(l->arena, pg_live_range, f->regs.n + 1);
    if (r.is_failed || l->ranges == NULL) {
        return PG_E_NOMEM;
    }
    pg_live_find_ranges(l, NULL, l->ranges);
    return PG_OK;
}

/* out[register] is zero; with an order, places in it take the place of statements. */
void pg_live_find_ranges(const pg_live *l, const uint32_t *order, pg_live_range *out)
{
    const pg_live_index *x = &l->text;
    for (uint32_t p = 0; p < l->f->body.n; p++) {
        const uint32_t s = order == NULL ? p : order[p];
        const bool is_free = (l->what[s] & PG_LIVE_FREE) != 0;
        for (uint32_t k = x->stmt_at[s]; k < x->stmt_at[s + 1]; k++) {
            const uint8_t how = x->refs[k].how;
            pg_live_range *to = &out[x->refs[k].reg];
            const bool is_first = to->end == 0;
            if (is_first) {
                to->first = p;
                to->how = how;
            }
            to->end = p + 1;
            to->is_made |= (how & PG_LIVE_WRITE) != 0 && !(is_first && is_free);
        }
    }
}

pg_status pg_live_index_text(pg_live *l)
{
    return index_by_register(l, &l->text);
}
