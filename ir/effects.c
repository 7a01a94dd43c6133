/* effects.c: what an instruction does to memory and barriers, and which neighbours may change
 * places.
 *
 * Every effect falls on a resource: one buffer (through its views), one ring or barrier array, or
 * global memory. Buffers and barriers are reached through SSA values only, so two of them never
 * alias; global pointers alias unless they come from different arguments of which one is `noalias`
 * or has the role `in` or `out`.
 */
#include "ir/ir.h"

enum { EFFECTS = PG_E_READ | PG_E_WRITE | PG_E_ARRIVE | PG_E_WAIT | PG_E_INIT | PG_E_ASYNC };
enum { SYNCHRONISES = PG_E_ARRIVE | PG_E_WAIT | PG_E_INIT | PG_E_ASYNC };

static uint16_t effects_of(const pg_inst *i, uint32_t index)
{
    return (uint16_t)(pg_op_in((pg_op)i->op, index, i->n_in) & EFFECTS);
}

static bool is_pure_alone(const pg_inst *i)
{
    uint16_t flags = pg_op_infos[i->op].flags;
    return (flags & (PG_F_PURE | PG_F_REGION)) != 0 && (flags & PG_F_SYMBOL) == 0 &&
           i->op != PG_OP_ELECT;
}

bool pg_inst_is_pure(const pg_inst *i)
{
    if (!is_pure_alone(i)) {
        return false;
    }
    for (uint32_t r = 0; r < i->n_regions; r++) {
        const pg_region *root = i->regions[r];
        for (const pg_inst *at = root == NULL ? NULL : root->first; at != NULL;
             at = pg_inst_walk(at, root)) {
            if (!is_pure_alone(at) && at->op != PG_OP_YIELD) {
                return false;
            }
        }
    }
    return true;
}

static bool is_view(const pg_inst *def)
{
    return def != NULL && def->n_in > 0 &&
           (def->op == PG_OP_BUF_VIEW || def->op == PG_OP_ADDPTR || def->op == PG_OP_SPLAT ||
            (pg_op_infos[def->op].flags & PG_F_SHAPE) != 0);
}

/* What a view of a view of ... stands on, within one turn of a loop. */
static pg_val base_of(const pg_kernel *k, pg_val v)
{
    for (uint32_t step = 0; step < k->values.n && is_view(pg_val_def(k, v)); step++) {
        v = pg_val_def(k, v)->in[0];
    }
    return v;
}

/* What a value that a loop carries started from, if each turn hands on a view of what it got; the
 * value itself otherwise, and for all others. */
static pg_val start_of(const pg_kernel *k, pg_val v)
{
    const pg_value *value = pg_value_of(k, v);
    const pg_inst *loop = value->kind == PG_V_ARG ? value->region->owner : pg_val_def(k, v);
    if (loop == NULL || !pg_is_loop(loop)) {
        return v;
    }
    const uint32_t first = pg_loop_arg(loop);
    const uint32_t carried = value->kind == PG_V_ARG ? value->index - first : value->index;
    if (carried >= loop->n_out) {
        return v; /* the induction variable of a loop is no pointer */
    }
    const pg_region *body = pg_loop_body(loop);
    bool is_handed_on = body->last != NULL && body->last->op == PG_OP_YIELD &&
                        carried < body->last->n_in && carried + first < body->n_args &&
                        pg_val_eq(base_of(k, body->last->in[carried]), body->args[carried + first]);
    return is_handed_on ? loop->in[pg_loop_in(loop) + carried] : v;
}

/* What a buffer view, an advanced pointer or a shaped pointer tile stands on. */
static pg_val root_of(const pg_kernel *k, pg_val v)
{
    for (uint32_t step = 0; step < k->values.n; step++) {
        pg_val next = start_of(k, base_of(k, v));
        if (pg_val_eq(next, v)) {
            break;
        }
        v = next;
    }
    return v;
}

/* The pointer argument behind a descriptor, else the value itself. */
static pg_val array_of(const pg_kernel *k, pg_val v)
{
    const pg_value *value = pg_value_of(k, v);
    if (value->kind == PG_V_PARAM && value->index < k->n_params) {
        const pg_aval *of = pg_attr_get(&k->params[value->index].attrs, PG_A_OF);
        return of != NULL && of->kind == PG_AV_VAL ? of->val : v;
    }
    return v;
}

/* Whether the argument says that its array is reached through no other: `noalias`, or a role by
 * which the kernel only reads or only writes it. */
static bool is_noalias(const pg_kernel *k, pg_val v)
{
    const pg_value *value = pg_value_of(k, v);
    if (value->kind != PG_V_PARAM || value->index >= k->n_params) {
        return false;
    }
    const pg_attrs *attrs = &k->params[value->index].attrs;
    return pg_attr_has(attrs, PG_A_NOALIAS) || pg_attr_has(attrs, PG_A_IN) ||
           pg_attr_has(attrs, PG_A_OUT);
}

static bool is_global(const pg_kernel *k, pg_val v)
{
    const pg_type_info *info = pg_val_info(k, v);
    return info->is_ptr != 0 || info->kind == PG_TY_DESC;
}

bool pg_may_alias(const pg_kernel *k, pg_val a, pg_val b)
{
    a = root_of(k, a);
    b = root_of(k, b);
    if (is_global(k, a) != is_global(k, b)) {
        return false;
    }
    if (!is_global(k, a)) {
        /* A buffer or barrier that is no allocation here (an argument of a region) may be any. */
        bool is_known = pg_val_def(k, a) != NULL && pg_val_def(k, b) != NULL;
        return pg_val_eq(a, b) || (!is_known && pg_val_info(k, a)->kind == pg_val_info(k, b)->kind);
    }
    a = array_of(k, a);
    b = array_of(k, b);
    bool are_params =
        pg_value_of(k, a)->kind == PG_V_PARAM && pg_value_of(k, b)->kind == PG_V_PARAM;
    return pg_val_eq(a, b) || !are_params || !(is_noalias(k, a) || is_noalias(k, b));
}

static bool has_effect(const pg_inst *i)
{
    return !is_pure_alone(i);
}

/* Orders others around itself: fences, waits, arrivals, asynchronous operations, regions,
 * terminators. */
static bool is_fixed(const pg_inst *i)
{
    uint16_t flags = pg_op_infos[i->op].flags;
    if ((flags & (PG_F_SYNC | PG_F_TERM | PG_F_ALLOC)) != 0 || i->n_regions != 0 ||
        i->op == PG_OP_MMA_BEGIN) {
        return true;
    }
    for (uint32_t j = 0; j < i->n_in; j++) {
        if ((effects_of(i, j) & SYNCHRONISES) != 0) {
            return true;
        }
    }
    return false;
}

static bool uses_result_of(const pg_inst *user, const pg_inst *def)
{
    for (uint32_t r = 0; r < def->n_out; r++) {
        for (const pg_inst *at = user; at != NULL;) {
            for (uint32_t j = 0; j < at->n_in; j++) {
                if (pg_val_eq(at->in[j], def->out[r])) {
                    return true;
                }
            }
            const pg_inst *next = user->n_regions == 0 ? NULL : pg_inst_walk(at, NULL);
            /* Stay inside the user's regions. */
            const pg_inst *up = next;
            while (up != NULL && up != user) {
                up = up->parent == NULL ? NULL : up->parent->owner;
            }
            at = up == user && next != user ? next : NULL;
        }
    }
    return false;
}

static bool conflicts(const pg_kernel *k, const pg_inst *a, const pg_inst *b)
{
    for (uint32_t i = 0; i < a->n_in; i++) {
        uint16_t on_a = effects_of(a, i);
        for (uint32_t j = 0; on_a != 0 && j < b->n_in; j++) {
            uint16_t on_b = effects_of(b, j);
            bool is_change = ((on_a | on_b) & PG_E_WRITE) != 0;
            if (on_b != 0 && is_change && pg_may_alias(k, a->in[i], b->in[j])) {
                return true;
            }
        }
    }
    return false;
}

bool pg_may_reorder(const pg_kernel *k, const pg_inst *a, const pg_inst *b)
{
    if (((pg_op_infos[a->op].flags | pg_op_infos[b->op].flags) & PG_F_TERM) != 0 ||
        uses_result_of(b, a) || uses_result_of(a, b)) {
        return false;
    }
    if (pg_inst_is_pure(a) || pg_inst_is_pure(b)) {
        return true;
    }
    if ((is_fixed(a) && has_effect(b)) || (is_fixed(b) && has_effect(a))) {
        return false;
    }
    return !is_fixed(a) && !is_fixed(b) && !conflicts(k, a, b);
}
