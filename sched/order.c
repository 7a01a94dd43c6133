/* order.c: the pass `order`: barriers where threads of a program meet in global memory.
 *
 * At tile level a kernel means what its operations mean one after the other. On the machine each
 * thread runs its own share, so a load may come too late for a store that follows it, or too early
 * for one before it, if another thread does that store. Where this can happen the pass puts a
 * `cta.sync` before the later access; emission adds none.
 *
 * I1  Between two accesses that may touch the same bytes by different threads, at least one of them
 *     a store, stands a cta.sync on every path.
 * I2  No barrier stands between accesses of which each thread meets only its own elements: the same
 *     offsets in the same layout, in which every element has one holder.
 * I3  Two pointer arguments are the same array or do not overlap; with `noalias` on one, or the
 *     role `in` or `out` on one, they do not overlap.
 * I4  A kernel with partitions or `elect` regions is left as it is: its threads are apart, and its
 *     author says where they meet.
 * I5  Control is the same for all threads of a program, so a barrier may stand anywhere.
 * I6  Atomic additions and maxima meet each other without a barrier, loads and stores with one. */
#include "ir/layout.h"
#include "sched/pass.h"

typedef struct access {
    const pg_inst *inst;
    bool is_write, is_atomic;
    bool is_earlier_turn; /* of a loop that is being walked: equal values need not be equal
                             addresses */
} access;

typedef PG_VEC(access) access_list;

typedef struct order_state {
    pg_pass_env *env;
    pg_kernel *k;
    access_list open; /* since the last barrier on some path */
    pg_status status;
    bool changed;
} order_state;

static pg_status walk(order_state *s, pg_region *r);

/* ---- when two accesses need a barrier -------------------------------------------------------- */

/* Whether the addresses are equal element by element, as far as the text tells, or are so but for
 * the argument that they start from. */
static bool has_same_offsets(const pg_kernel *k, pg_val a, pg_val b)
{
    for (uint32_t step = 0; step < 64; step++) {
        const pg_inst *da = pg_val_def(k, a), *db = pg_val_def(k, b);
        bool are_params =
            pg_value_of(k, a)->kind == PG_V_PARAM && pg_value_of(k, b)->kind == PG_V_PARAM;
        if (pg_val_eq(a, b) || are_params) {
            return true;
        }
        if (da == NULL || db == NULL || da->op != PG_OP_ADDPTR || db->op != PG_OP_ADDPTR ||
            !pg_val_eq(da->in[1], db->in[1])) {
            return false;
        }
        a = da->in[0];
        b = db->in[0];
    }
    return false;
}

/* Whether each element of the tile has one holder among the threads. */
static bool has_one_holder(const order_state *s, const pg_inst *i)
{
    const pg_types *types = s->k->module->ctx->types;
    pg_type t = pg_val_type(s->k, i->in[0]);
    pg_layout l;
    uint32_t n_warps = pg_inst_warps(i);
    if (pg_type_get(types, t)->kind != PG_TY_TILE ||
        pg_layout_of_tile(types, t, n_warps, &l) != PG_LAYOUT_OK) {
        return false;
    }
    uint64_t held = (uint64_t)pg_layout_size(&l, PG_LIN_REG) * 32 * n_warps;
    return held == (uint64_t)pg_type_n_elems(types, t);
}

static bool is_own(const order_state *s, const access *a, const access *b)
{
    const pg_types *types = s->k->module->ctx->types;
    pg_val pa = a->inst->in[0], pb = b->inst->in[0];
    const pg_type_info *ta = pg_type_get(types, pg_val_type(s->k, pa));
    const pg_type_info *tb = pg_type_get(types, pg_val_type(s->k, pb));
    return !a->is_earlier_turn && !a->is_atomic && !b->is_atomic && ta->elem == tb->elem &&
           pg_enc_eq(ta->enc, tb->enc) &&
           pg_type_same_shape(types, pg_val_type(s->k, pa), pg_val_type(s->k, pb)) &&
           has_same_offsets(s->k, pa, pb) && has_one_holder(s, a->inst);
}

static bool needs_barrier(const order_state *s, const access *a, const access *b)
{
    return (a->is_write || b->is_write) && !(a->is_atomic && b->is_atomic) &&
           pg_may_alias(s->k, a->inst->in[0], b->inst->in[0]) && !is_own(s, a, b);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void put_barrier(order_state *s, pg_inst *before)
{
    pg_inst *barrier = pg_inst_new(s->k, PG_OP_CTA_SYNC, 0, NULL, 0, NULL, 0);
    if (barrier == NULL) {
        s->status = PG_E_NOMEM;
        return;
    }
    barrier->loc = before->loc;
    pg_inst_insert_before(before, barrier);
    s->open.n = 0;
    s->changed = true;
}

static bool is_atomic(const pg_inst *i)
{
    return i->op == PG_OP_ATOMIC_ADD || i->op == PG_OP_ATOMIC_MAX || i->op == PG_OP_ATOMIC_UMAX;
}

static void meet(order_state *s, pg_inst *i)
{
    const access now = {.inst = i, .is_write = i->op != PG_OP_LOAD, .is_atomic = is_atomic(i)};
    for (uint32_t j = 0; j < s->open.n; j++) {
        if (needs_barrier(s, &s->open.at[j], &now)) {
            put_barrier(s, i);
            break;
        }
    }
    if (!pg_vec_push(s->env->scratch, &s->open, now)) {
        s->status = PG_E_NOMEM;
    }
}

static access_list copy_of(order_state *s, const access_list *from)
{
    access_list copy = {0};
    for (uint32_t j = 0; j < from->n; j++) {
        if (!pg_vec_push(s->env->scratch, &copy, from->at[j])) {
            s->status = PG_E_NOMEM;
            break;
        }
    }
    return copy;
}

/* Adds what is open on another path. */
static void join(order_state *s, const access_list *other)
{
    for (uint32_t j = 0; j < other->n; j++) {
        bool is_there = false;
        for (uint32_t i = 0; i < s->open.n && !is_there; i++) {
            is_there = s->open.at[i].inst == other->at[j].inst &&
                       s->open.at[i].is_earlier_turn == other->at[j].is_earlier_turn;
        }
        if (!is_there && !pg_vec_push(s->env->scratch, &s->open, other->at[j])) {
            s->status = PG_E_NOMEM;
        }
    }
}

/* The body is walked twice: the second time with what a turn before it leaves open. */
static pg_status walk_loop(order_state *s, pg_inst *loop)
{
    access_list before = copy_of(s, &s->open);
    PG_TRY(walk(s, loop->regions[0]));
    for (uint32_t j = 0; j < s->open.n; j++) {
        s->open.at[j].is_earlier_turn = true;
    }
    PG_TRY(walk(s, loop->regions[0]));
    join(s, &before); /* no turn at all */
    return s->status;
}

/* A test, then turns of body and test; the loop is left behind a test only. */
static pg_status walk_while(order_state *s, pg_inst *loop)
{
    PG_TRY(walk(s, loop->regions[0]));
    access_list before = copy_of(s, &s->open);
    for (uint32_t turn = 0; turn < 2; turn++) { /* the second with what the first leaves open */
        PG_TRY(walk(s, loop->regions[1]));
        for (uint32_t j = 0; j < s->open.n; j++) {
            s->open.at[j].is_earlier_turn = true;
        }
        PG_TRY(walk(s, loop->regions[0]));
    }
    join(s, &before); /* no turn at all */
    return s->status;
}

static pg_status walk_if(order_state *s, pg_inst *branch)
{
    access_list before = copy_of(s, &s->open);
    PG_TRY(walk(s, branch->regions[0]));
    access_list then = s->open;
    s->open = before;
    PG_TRY(walk(s, branch->regions[1]));
    join(s, &then);
    return s->status;
}

static pg_status walk(order_state *s, pg_region *r)
{
    for (pg_inst *i = r == NULL ? NULL : r->first; i != NULL && s->status == PG_OK; i = i->next) {
        if (i->op == PG_OP_LOAD || i->op == PG_OP_STORE || is_atomic(i)) {
            meet(s, i);
        } else if (i->op == PG_OP_CTA_SYNC) {
            s->open.n = 0;
        } else if (i->op == PG_OP_FOR) {
            PG_TRY(walk_loop(s, i));
        } else if (i->op == PG_OP_WHILE) {
            PG_TRY(walk_while(s, i));
        } else if (i->op == PG_OP_IF) {
            PG_TRY(walk_if(s, i));
        }
    }
    return s->status;
}

static bool has_own_order(const pg_kernel *k)
{
    if (!pg_kernel_has(k, PG_OP_PARTITION) && !pg_kernel_has(k, PG_OP_ELECT)) {
        return false;
    }
    for (const pg_inst *i = k->body->first; i != NULL; i = pg_inst_walk(i, k->body)) {
        if (i->op == PG_OP_PARTITION || i->op == PG_OP_ELECT) {
            return true;
        }
    }
    return false;
}

pg_status pg_pass_order(pg_pass_env *env, pg_kernel *k, pg_change *change);
pg_status pg_pass_order(pg_pass_env *env, pg_kernel *k, pg_change *change)
{
    order_state s = {.env = env, .k = k, .status = PG_OK};
    if (has_own_order(k)) {
        return PG_OK;
    }
    pg_status status = walk(&s, k->body);
    if (s.changed) {
        *change = PG_CHANGED;
    }
    return status;
}
