/* simplify_dce.c: dead code, carried values and results that nobody needs.
 *
 * I1  An operation is live if it has an effect, holds one in its regions, or a live value is its
 *     result. Reads that complete at once are no effect.
 * I2  A carried value is live as a whole: arguments, initial value, yielded value, result. A
 *     `while` that is kept keeps its condition. Without effects it goes, whether or not it ends.
 * I3  Partitions stay, however empty: they say how many warps the kernel has.
 * I4  One walk from the end to the start meets each use before what it uses, so that a mark says
 *     enough, and a kernel without loops is looked at once, in order. Only a loop can make
 *     something live that the walk has passed: what it hands to its next trip, the condition of a
 *     `while`. That goes by a list of values (`work`), which is empty again before the walk leaves
 *     the loop.
 * I5  Outside of loops an operation that the walk passes without a mark is dead for good, and goes
 *     at once; inside it goes once the outermost loop is passed. */
#include "sched/simplify.h"

typedef struct liveness {
    pg_kernel *k;
    pg_arena *scratch;
    uint8_t *vals;   /* by value id */
    uint8_t *insts;  /* by instruction id */
    pg_vec_u32 work; /* values whose making is to be looked at, wherever it stands */
    bool is_late;    /* what is needed now may have been passed (I4) */
    bool is_oom;
    bool changed;
    bool may_take; /* an operation with fewer results may take a literal now */
} liveness;

static bool is_removable(const pg_inst *i)
{
    const uint16_t flags = pg_op_infos[i->op].flags;
    if (flags & PG_F_PURE) {
        return true;
    }
    if (i->n_out == 0 ||
        (flags & (PG_F_REGION | PG_F_TERM | PG_F_SYMBOL | PG_F_ALLOC | PG_F_SYNC))) {
        return false;
    }
    uint32_t effects = 0;
    for (uint32_t j = 0; j < i->n_in; j++) {
        effects |= pg_op_in((pg_op)i->op, j, i->n_in) & ~(uint32_t)PG_C_MASK;
    }
    return effects == PG_E_READ;
}

static void look_at(liveness *l, pg_val v)
{
    if (!pg_vec_push(l->scratch, &l->work, v.id)) {
        l->is_oom = true;
    }
}

static void need(liveness *l, pg_val v)
{
    if (v.id < l->k->values.n && !l->vals[v.id]) {
        l->vals[v.id] = 1;
        if (l->is_late) {
            look_at(l, v);
        }
    }
}

static void need_yielded(liveness *l, const pg_region *r, uint32_t index)
{
    if (r->last && r->last->op == PG_OP_YIELD && index < r->last->n_in) {
        need(l, r->last->in[index]);
    }
}

static void keep(liveness *l, const pg_inst *i)
{
    if (l->insts[i->id]) {
        return;
    }
    l->insts[i->id] = 1;
    /* Carried values are asked for one by one. */
    const uint32_t n = pg_is_loop(i) ? pg_loop_in(i) : i->n_in;
    if (i->op == PG_OP_WHILE) {
        need_yielded(l, i->regions[0], 0);
    }
    for (uint32_t j = 0; j < n && j < i->n_in; j++) {
        need(l, i->in[j]);
    }
}

/* Result j of an operation with regions is live. */
static void need_parts(liveness *l, const pg_inst *i, uint32_t j)
{
    if (pg_is_loop(i)) {
        need(l, i->in[pg_loop_in(i) + j]);
    }
    for (uint32_t r = 0; r < i->n_regions; r++) {
        if (pg_is_loop(i)) {
            need(l, i->regions[r]->args[pg_loop_arg(i) + j]);
        }
        if (!pg_region_is_test(i->regions[r])) {
            need_yielded(l, i->regions[r], j);
        }
    }
}

static void spread(liveness *l, pg_val v)
{
    const pg_value *value = pg_value_of(l->k, v);
    const uint32_t index = value->index;
    if (value->kind == PG_V_ARG && value->region->owner) {
        const pg_inst *owner = value->region->owner;
        keep(l, owner);
        const uint32_t first = pg_loop_arg(owner);
        if (index >= first && index - first < owner->n_out) {
            need(l, owner->out[index - first]);
        }
    } else if (value->kind == PG_V_RESULT) {
        keep(l, value->def);
        need_parts(l, value->def, index);
    }
}

/* Drops item `at` of an array of n values and tells the later ones their new place. */
static void drop_value(liveness *l, pg_val *at, uint32_t n, uint32_t index, bool is_numbered)
{
    for (uint32_t j = index; j + 1 < n; j++) {
        at[j] = at[j + 1];
        if (is_numbered) {
            l->k->values.at[at[j].id].index = (uint16_t)j;
        }
    }
}

static void drop_yielded(liveness *l, pg_region *r, uint32_t index)
{
    pg_inst *yield = r->last;
    if (yield && yield->op == PG_OP_YIELD && index < yield->n_in) {
        drop_value(l, yield->in, yield->n_in, index, false);
        yield->n_in--;
    }
}

static void drop_result(liveness *l, pg_inst *i, uint32_t index)
{
    for (uint32_t r = 0; r < i->n_regions; r++) {
        pg_region *region = i->regions[r];
        if (!pg_region_is_test(region)) {
            drop_yielded(l, region, index);
        }
        if (pg_is_loop(i)) {
            drop_value(l, region->args, region->n_args, pg_loop_arg(i) + index, true);
            region->n_args--;
        }
    }
    if (pg_is_loop(i)) {
        drop_value(l, i->in, i->n_in, pg_loop_in(i) + index, false);
        i->n_in--;
    }
    drop_value(l, i->out, i->n_out, index, true);
    i->n_out--;
    l->k->stamp++;
    l->changed = true;
}

/* Literals stand only where an operation has one result at most (I4 of simplify.c). */
static bool may_take_literal(const liveness *l, const pg_inst *i)
{
    bool may = false;
    for (uint32_t j = 0; i->n_out <= 1 && j < i->n_in && !may; j++) {
        const pg_value *v = pg_value_of(l->k, i->in[j]);
        may = v->kind == PG_V_RESULT && v->def->op == PG_OP_CONST;
    }
    return may;
}

/* I5: what is live of an operation is known. */
static void settle(liveness *l, pg_inst *i)
{
    if (!l->insts[i->id]) {
        pg_inst_remove(i);
        l->changed = true;
    } else if (pg_is_loop(i) || i->op == PG_OP_IF) {
        const uint32_t n_out = i->n_out;
        for (uint32_t j = n_out; j-- > 0;) {
            if (!l->vals[i->out[j].id]) {
                drop_result(l, i, j);
            }
        }
        l->may_take = l->may_take || (i->n_out != n_out && may_take_literal(l, i));
    }
}

static void settle_inside(liveness *l, const pg_inst *i)
{
    for (uint32_t r = 0; r < i->n_regions && l->insts[i->id]; r++) {
        pg_foreach_inst_safe (inner, i->regions[r]) {
            if (inner->op != PG_OP_YIELD) {
                settle(l, inner);
                settle_inside(l, inner);
            }
        }
    }
}

static bool is_any_needed(const liveness *l, const pg_inst *i)
{
    bool is = false;
    for (uint32_t j = 0; j < i->n_out && !is; j++) {
        is = l->vals[i->out[j].id] != 0;
    }
    return is;
}

/* A loop's regions have been walked: what they use of the values of this trip, the trip before
 * hands over (I2). */
static void close_loop(liveness *l, const pg_inst *loop, bool is_kept)
{
    const uint32_t first = pg_loop_arg(loop);
    l->is_late = true;
    if (is_kept) {
        keep(l, loop);
    }
    for (uint32_t r = 0; r < loop->n_regions; r++) {
        const pg_region *region = loop->regions[r];
        for (uint32_t j = 0; j < loop->n_out; j++) {
            const pg_val arg = region->args[first + j];
            if (l->vals[arg.id] && !l->vals[loop->out[j].id]) {
                look_at(l, arg);
            }
        }
    }
    while (l->work.n > 0 && !l->is_oom) {
        spread(l, (pg_val){l->work.at[--l->work.n]});
    }
    l->is_late = false;
}

static bool walk(liveness *l, const pg_region *r, bool is_in_loop);

/* True if it has an effect. */
static bool pass(liveness *l, pg_inst *i, bool is_in_loop)
{
    const bool is_loop = pg_is_loop(i);
    bool has = i->op == PG_OP_PARTITION || i->op == PG_OP_RETURN || i->op == PG_OP_GRID ||
               (i->n_regions == 0 && !is_removable(i));
    bool is_needed = is_any_needed(l, i);
    if (i->n_regions != 0) {
        if (is_needed) {
            keep(l, i);
        }
        for (uint32_t j = 0; j < i->n_out; j++) {
            if (l->vals[i->out[j].id]) {
                need_parts(l, i, j);
            }
        }
        for (uint32_t r = i->n_regions; r-- > 0;) {
            has = walk(l, i->regions[r], is_in_loop || is_loop) || has;
        }
    }
    if (is_loop) {
        close_loop(l, i, has);
    } else if (has || is_needed) {
        keep(l, i);
    }
    if (!is_in_loop) {
        settle(l, i);
        if (is_loop) {
            settle_inside(l, i);
        }
    }
    return has && i->op != PG_OP_RETURN;
}

static bool walk(liveness *l, const pg_region *r, bool is_in_loop)
{
    bool any = false;
    for (pg_inst *i = r->last, *before; i != NULL && !l->is_oom; i = before) {
        before = i->prev;
        if (i->op != PG_OP_YIELD) { /* whose values are asked for one by one */
            any = pass(l, i, is_in_loop) || any;
        }
    }
    return any;
}

pg_status pg_simplify_dce(pg_kernel *k, pg_arena *scratch, bool *changed, bool *again)
{
    liveness l = {.k = k, .scratch = scratch};
    l.vals = PG_NEWS(scratch, uint8_t, (size_t)k->values.n + 1);
    l.insts = PG_NEWS(scratch, uint8_t, (size_t)k->n_insts + 1);
    if (!l.vals || !l.insts) {
        return PG_E_NOMEM;
    }
    (void)walk(&l, k->body, false);
    if (k->launch) {
        (void)walk(&l, k->launch, false);
    }
    if (l.is_oom) {
        return PG_E_NOMEM;
    }
    *changed = *changed || l.changed;
    *again = *again || l.may_take;
    return PG_OK;
}
