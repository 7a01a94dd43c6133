/* sync_copies.c: copies between warps become explicit, and those within a warp that cost less that
 * way (ir/convert.h decides, and says how the buffer is laid out).
 *
 *   %b = copy %a              cta.sync                (only in a loop: the last reads are over)
 *                             buf.store %m, %a
 *                             cta.sync
 *                             %b = buf.load %m
 *
 * I1  Copies that stand together, and of which none takes what another gives, share both barriers.
 * I2  Each copy has a buffer of its own, so that outside of loops nothing has to be waited for
 *     before it is written; but where a larger one follows others, the first barrier lets them lie
 *     in the same memory. In a loop the first barrier is left out where another one stands in
 *     the same region: it lies between one turn's loads and the next one's stores. */
#include "ir/convert.h"
#include "sched/sync.h"

/* `tie`: of the layouts of memory that cost the same. */
static bool plan_of(const pg_sync *s, const pg_inst *i, uint32_t tie, pg_convert_plan *plan)
{
    const pg_type from = pg_val_type(s->k, i->in[0]), to = pg_val_type(s->k, i->out[0]);
    const uint32_t flags = pg_convert_flags(s->k->module->sm) | tie * PG_CONVERT_TIE;
    return pg_convert_of_types(s->types, from, to, pg_inst_warps(i), flags, plan) == PG_LAYOUT_OK &&
           plan->kind == PG_CONVERT_SHARED;
}

static bool needs_memory(const pg_sync *s, const pg_inst *i, pg_convert_plan *plan)
{
    return i != NULL && i->op == PG_OP_COPY && plan_of(s, i, 0, plan);
}

static bool takes(const pg_inst *i, pg_val v)
{
    for (uint32_t j = 0; j < i->n_in; j++) {
        if (pg_val_eq(i->in[j], v)) {
            return true;
        }
    }
    return false;
}

/* The operation behind the copy that is, or holds, the first use of what it gives. Looked up each
 * time: copies move and are replaced on the way. */
static pg_inst *first_user(const pg_inst *copy)
{
    const pg_val v = copy->out[0];
    for (pg_inst *i = copy->next; i != NULL; i = i->next) {
        if (takes(i, v)) {
            return i;
        }
        for (uint32_t r = 0; r < i->n_regions; r++) {
            const pg_region *body = i->regions[r];
            for (const pg_inst *in = body->first; in != NULL; in = pg_inst_walk(in, body)) {
                if (takes(in, v)) {
                    return i;
                }
            }
        }
    }
    return NULL;
}

static pg_status refuse(pg_sync *s, const pg_inst *i, pg_layout_error why)
{
    return pg_diag_add(s->env->diags, PG_D_LOWER_LAYOUT, i->loc, pg_layout_error_text(why));
}

/* I2 */
static bool needs_turn(const pg_sync *s, const pg_inst *first, uint32_t n_groups)
{
    bool has_other = n_groups > 1;
    pg_foreach_inst (i, first->parent) {
        has_other = has_other || pg_sync_is_barrier(s, i);
    }
    return pg_sync_in_loop(first) && !has_other;
}

static bool touches_buffers(const pg_inst *i)
{
    bool is_found = i->op == PG_OP_BUF_LOAD || i->op == PG_OP_BUF_STORE || i->op == PG_OP_ASYNC_GET;
    for (uint32_t r = 0; r < i->n_regions; r++) {
        const pg_region *body = i->regions[r];
        for (const pg_inst *j = body->first; j != NULL && !is_found; j = pg_inst_walk(j, body)) {
            is_found =
                j->op == PG_OP_BUF_LOAD || j->op == PG_OP_BUF_STORE || j->op == PG_OP_ASYNC_GET;
        }
    }
    return is_found;
}

/* Outside of loops: is a barrier before the store worth its while? Buffers used before may then lie
 * in the same memory (ir/lifetime.h). */
static bool saves_memory(const pg_sync *s, const pg_inst *first, const pg_inst *last)
{
    enum { SMALL = 4096 };
    uint64_t bytes = 0;
    for (const pg_inst *i = first; i != NULL; i = i == last ? NULL : i->next) {
        const pg_type type = pg_val_type(s->k, i->in[0]);
        const pg_type_info *t = pg_type_get(s->types, type);
        bytes += (uint64_t)pg_type_n_elems(s->types, type) *
                 (t->is_ptr ? 8 : (pg_elem_infos[t->elem].bits + 7u) / 8);
    }
    if (bytes < SMALL || pg_sync_in_loop(first)) {
        return false;
    }
    /* behind the last barrier, or in what runs before it, a buffer is used */
    for (const pg_inst *i = first; i != NULL;) {
        if (i->prev == NULL) { /* on to what stands before the condition */
            const pg_inst *owner = i->parent->owner;
            i = owner != NULL && owner->op == PG_OP_IF ? owner : NULL;
            continue;
        }
        i = i->prev;
        if (pg_sync_is_barrier(s, i)) {
            return false;
        }
        if (touches_buffers(i)) {
            return true;
        }
    }
    return false;
}

typedef struct memory_of_copy {
    pg_enc enc;
    pg_layout_error error;
} memory_of_copy;

/* How the memory of a copy's plan is called. It follows from types, as the plan does. */
static memory_of_copy memory_of(const pg_sync *s, const pg_inst *i, uint32_t tie,
                                const pg_convert_plan *plan)
{
    const pg_type from = pg_val_type(s->k, i->in[0]), to = pg_val_type(s->k, i->out[0]);
    const uint32_t flags = pg_convert_flags(s->k->module->sm) | tie * PG_CONVERT_TIE;
    const pg_memo_key key = {PG_MEMO_COPY, {from.id, to.id, pg_inst_warps(i), flags}};
    const memory_of_copy *known = pg_memo_get(s->types, &key);
    if (known != NULL) {
        return *known;
    }
    memory_of_copy made = {.error = PG_LAYOUT_OK};
    made.error = pg_enc_of_memory(s->types, &plan->mem, plan->elem_bits, &made.enc);
    pg_memo_put(s->types, &key, &made, sizeof made);
    return made;
}

/* Stores of one copy; its load comes behind the barrier, before `end`. */
static pg_status expand(pg_sync *s, pg_inst *copy, pg_inst *end)
{
    pg_convert_plan plan;
    const uint32_t tie = pg_tie(s->env, 4);
    const pg_type none = {0}, type = pg_val_type(s->k, copy->in[0]);
    if (!plan_of(s, copy, tie, &plan)) {
        return PG_OK;
    }
    const memory_of_copy mem = memory_of(s, copy, tie, &plan);
    if (mem.error != PG_LAYOUT_OK) {
        return refuse(s, copy, mem.error);
    }
    const pg_val in[2] = {pg_sync_buffer(s, copy, type, mem.enc), copy->in[0]};
    (void)pg_sync_emit(s, copy, copy, PG_OP_BUF_STORE, 2, in, none);
    const pg_val x =
        pg_sync_value(s, end, copy, PG_OP_BUF_LOAD, 1, in, pg_val_type(s->k, copy->out[0]));
    pg_replace_uses(s->k, copy->out[0], x);
    pg_pass_explain(s->env, "sync", s->k, copy,
                    "through %u bytes of shared memory; wavefronts of a warp %u + %u, "
                    "of these by conflicts %u",
                    plan.n_bytes, plan.store.banks.n_wavefronts, plan.load.banks.n_wavefronts,
                    plan.store.banks.n_wavefronts - plan.store.banks.n_phases +
                        plan.load.banks.n_wavefronts - plan.load.banks.n_phases);
    pg_inst_remove(copy);
    return pg_arena_status(&s->k->module->arena);
}

/* Copies first .. last, which stand next to each other. */
static pg_status expand_group(pg_sync *s, pg_inst *first, pg_inst *last, uint32_t n_groups)
{
    pg_inst *end = last->next; /* gather has removed copies that nothing follows */
    if (needs_turn(s, first, n_groups) || saves_memory(s, first, last)) {
        PG_TRY(pg_sync_barrier(s, first, first));
    }
    PG_TRY(pg_sync_barrier(s, end, first));
    for (pg_inst *i = first, *next;; i = next) {
        next = i->next;
        const bool is_last = i == last;
        PG_TRY(expand(s, i, end));
        if (is_last) {
            return PG_OK;
        }
    }
}

/* Does the copy take what one of first .. last gives? */
static bool follows(const pg_inst *copy, const pg_inst *first, const pg_inst *last)
{
    for (const pg_inst *i = first;; i = i->next) {
        if (pg_val_eq(copy->in[0], i->out[0])) {
            return true;
        }
        if (i == last) {
            return false;
        }
    }
}

/* The last of the copies from i on that stand together and do not depend on each other. */
static pg_inst *end_of_group(const pg_sync *s, pg_inst *i)
{
    pg_convert_plan plan;
    const pg_inst *first = i;
    while (needs_memory(s, i->next, &plan) && !follows(i->next, first, i)) {
        i = i->next;
    }
    return i;
}

/* Copies for one user move together, and what nobody can use goes; the number of groups. */
static uint32_t gather(pg_sync *s, pg_region *r)
{
    pg_convert_plan plan;
    uint32_t n = 0;
    while (needs_memory(s, r->last, &plan)) {
        pg_inst_remove(r->last);
        s->changed = true;
    }
    for (pg_inst *i = r->last, *prev; i != NULL; i = prev) {
        prev = i->prev;
        if (needs_memory(s, i, &plan)) {
            pg_inst *user = first_user(i);
            if (user != NULL && user != i->next) {
                pg_inst_move_before(i, user);
                s->changed = true;
            }
        }
    }
    for (pg_inst *i = r->first; i != NULL; i = i->next) {
        if (needs_memory(s, i, &plan)) {
            i = end_of_group(s, i);
            n++;
        }
    }
    return n;
}

static pg_status visit(pg_sync *s, pg_region *r)
{
    pg_convert_plan plan;
    pg_foreach_inst (i, r) {
        for (uint32_t j = 0; j < i->n_regions; j++) {
            PG_TRY(visit(s, i->regions[j]));
        }
    }
    const uint32_t n_groups = gather(s, r);
    for (pg_inst *i = r->first, *next; i != NULL && n_groups > 0; i = next) {
        next = i->next;
        if (needs_memory(s, i, &plan)) {
            pg_inst *last = end_of_group(s, i);
            next = last->next;
            PG_TRY(expand_group(s, i, last, n_groups));
        }
    }
    return PG_OK;
}

pg_status pg_sync_copies(pg_sync *s)
{
    return pg_kernel_has(s->k, PG_OP_COPY) ? visit(s, s->k->body) : PG_OK;
}
