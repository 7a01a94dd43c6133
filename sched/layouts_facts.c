/* layouts_facts.c: what the pass `layouts` must know before it walks backward. */
#include "sched/layouts.h"

static void set_hint(pg_layouts *l, pg_val v, pg_enc e)
{
    while (l->hints.n <= v.id) {
        if (!pg_vec_push(l->env->scratch, &l->hints, (pg_enc){0})) {
            l->status = PG_E_NOMEM;
            return;
        }
    }
    l->hints.at[v.id] = e;
}

static pg_enc hint_of(const pg_layouts *l, pg_val v)
{
    const pg_enc own = pg_layouts_enc_of(l, v);
    return own.id != 0 || v.id >= l->hints.n ? own : l->hints.at[v.id];
}

static bool writes(const pg_inst *i, uint32_t index)
{
    return (pg_op_in((pg_op)i->op, index, i->n_in) & PG_E_WRITE) != 0;
}

bool pg_layouts_can_repeat(pg_layouts *l, const pg_inst *i)
{
    if (pg_op_infos[i->op].flags & PG_F_PURE) {
        return i->n_out == 1;
    }
    if (i->op != PG_OP_LOAD) {
        return false;
    }
    /* Also a store that comes later counts: another thread may be there already. */
    for (uint32_t w = 0; w < l->writers.n; w++) {
        const pg_inst *writer = l->writers.at[w];
        for (uint32_t j = 0; j < writer->n_in; j++) {
            if (writes(writer, j) && pg_may_alias(l->k, i->in[0], writer->in[j])) {
                return false;
            }
        }
    }
    return true;
}

/* What is reduced has its own layout; the result has what that leaves. */
static void learn_reduce(pg_layouts *l, const pg_inst *i)
{
    pg_enc e = hint_of(l, i->in[0]);
    if (!pg_layouts_is_tile(l, i->out[0])) {
        return;
    }
    if (e.id == 0) {
        e = pg_layouts_peek_default(l, i, pg_val_type(l->k, i->in[0]));
    }
    set_hint(l, i->out[0], pg_layouts_push(l, i, e));
}

static void learn_memory(pg_layouts *l, const pg_inst *i)
{
    bool is_writer = false;
    for (uint32_t j = 0; j < i->n_in; j++) {
        is_writer = is_writer || writes(i, j);
    }
    if (is_writer && !pg_vec_push(l->env->scratch, &l->writers, i)) {
        l->status = PG_E_NOMEM;
    }
    if (i->op == PG_OP_STORE || i->op == PG_OP_LOAD) {
        const uint32_t bits = pg_elem_infos[pg_val_info(l->k, i->in[0])->elem].bits;
        const uint32_t vec = 128 / (bits < 8 ? 8 : bits);
        l->vec = vec > l->vec ? vec : l->vec;
    }
}

static void set_carried_hint(pg_layouts *l, const pg_inst *loop, uint32_t j, pg_enc e)
{
    set_hint(l, loop->out[j], e);
    for (uint32_t r = 0; r < loop->n_regions; r++) {
        set_hint(l, loop->regions[r]->args[pg_loop_arg(loop) + j], e);
    }
}

bool pg_layouts_is_chosen(const pg_layouts *l, pg_enc e)
{
    for (uint32_t i = 0; i < l->chosen.n; i++) {
        if (pg_enc_eq(l->chosen.at[i], e)) {
            return true;
        }
    }
    return false;
}

/* Elementwise results, and those of regions, take over what reaches their first operand. */
static void learn_hint(pg_layouts *l, const pg_inst *i)
{
    const uint16_t flags = pg_op_infos[i->op].flags;
    if (pg_is_loop(i)) {
        for (uint32_t j = 0; j < i->n_out; j++) {
            set_carried_hint(l, i, j, hint_of(l, i->in[pg_loop_in(i) + j]));
        }
        return;
    }
    if (i->op == PG_OP_REDUCE) {
        learn_reduce(l, i);
        return;
    }
    if (i->op == PG_OP_MMA || i->op == PG_OP_UMMA) {
        const pg_enc own = pg_layouts_enc_of(l, i->out[0]);
        const pg_enc e = own.id != 0 ? own : pg_layouts_accumulator(l, i);
        set_hint(l, i->out[0], e);
        if (own.id == 0 && !pg_layouts_is_chosen(l, e) &&
            !pg_vec_push(l->env->scratch, &l->chosen, e)) {
            l->status = PG_E_NOMEM;
        }
        return;
    }
    if (i->n_out == 0 || !(flags & PG_F_ELEM || i->op == PG_OP_LOAD || i->op == PG_OP_ADDPTR)) {
        return;
    }
    const uint32_t shift = pg_tie(l->env, i->n_in == 0 ? 1 : i->n_in);
    for (uint32_t j = 0; j < i->n_in; j++) {
        const pg_val x = i->in[(j + shift) % i->n_in];
        const pg_enc e = hint_of(l, x);
        if (e.id != 0 && pg_layouts_is_tile(l, x)) {
            set_hint(l, i->out[0], e);
            return;
        }
    }
}

/* What reaches a yield reaches the result; of a loop, also its carried value. */
static void learn_yield(pg_layouts *l, const pg_inst *yield)
{
    const pg_inst *owner = yield->parent->owner;
    if (pg_region_is_test(yield->parent)) {
        return; /* a condition is a scalar */
    }
    for (uint32_t j = 0; owner != NULL && j < yield->n_in && j < owner->n_out; j++) {
        const pg_enc e = hint_of(l, yield->in[j]);
        if (e.id != 0 && owner->op == PG_OP_IF) {
            set_hint(l, owner->out[j], e);
        } else if (e.id != 0 && pg_is_loop(owner) && hint_of(l, owner->out[j]).id == 0) {
            set_carried_hint(l, owner, j, e);
        }
    }
}

void pg_layouts_learn(pg_layouts *l)
{
    for (const pg_inst *i = l->k->body->first; i; i = pg_inst_walk(i, l->k->body)) {
        learn_memory(l, i);
        if (i->op == PG_OP_REDUCE && !pg_vec_push(l->env->scratch, &l->reduces, i)) {
            l->status = PG_E_NOMEM;
        }
    }
    if (l->vec == 0) {
        l->vec = 4;
    }
    for (const pg_inst *i = l->k->body->first; i; i = pg_inst_walk(i, l->k->body)) {
        learn_hint(l, i);
        if (i->op == PG_OP_YIELD) {
            learn_yield(l, i);
        }
    }
}
