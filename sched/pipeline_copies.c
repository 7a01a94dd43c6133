/* pipeline_copies.c: conversions between warps become explicit.
 *
 *   %b = copy %a              cta.sync                (only in a loop: the last reads are over)
 *                             buf.store %m, %a
 *                             cta.sync
 *                             %b = buf.load %m
 *
 * I1  Copies that stand together share both barriers.
 * I2  Each copy has a buffer of its own, so that outside of loops nothing has to be waited for
 *     before it is written. */
#include "sched/pipeline.h"

/* Does every element stay in its warp? A warp's part of the tile is one set in both layouts then;
 * what is left are moves between registers and lanes, which emission finds itself. */
static bool stays_in_warp(const pg_pipe *p, const pg_inst *copy)
{
    pg_layout from, to, plan;
    const uint32_t n_warps = pg_inst_warps(copy);
    if (pg_layout_of_tile(p->types, pg_val_type(p->k, copy->in[0]), n_warps, &from) != 0 ||
        pg_layout_of_tile(p->types, pg_val_type(p->k, copy->out[0]), n_warps, &to) != 0) {
        return false;
    }
    if (pg_layout_compose(&from, &to, &plan) != PG_LAYOUT_OK || plan.n_outer != 0) {
        return false;
    }
    /* "dimension" d of the plan is index d of `from`: lanes and warps must map to themselves */
    const uint32_t warp_shift = plan.shift[PG_LIN_WARP], lane_shift = plan.shift[PG_LIN_LANE];
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < plan.n_bits[d]; b++) {
            const uint32_t warp = (plan.basis[d][b] >> warp_shift) & (plan.dims[PG_LIN_WARP] - 1);
            const uint32_t lane = (plan.basis[d][b] >> lane_shift) & (plan.dims[PG_LIN_LANE] - 1);
            if (warp != (d == PG_LIN_WARP ? 1u << b : 0) ||
                lane != (d == PG_LIN_LANE ? 1u << b : 0)) {
                return false;
            }
        }
    }
    return true;
}

/* The operation of region r that is, or holds, the first use of v; NULL if there is none. */
static pg_inst *first_user(const pg_uses *uses, pg_val v, const pg_region *r)
{
    pg_inst *first = NULL;
    pg_foreach_use (use, uses, v) {
        pg_inst *i = use->inst;
        while (i != NULL && i->parent != r) {
            i = i->parent->owner;
        }
        if (i != NULL && first == NULL) {
            first = i; /* uses come in text order */
        }
    }
    return first;
}

static bool needs_memory(const pg_pipe *p, const pg_inst *i)
{
    return i->op == PG_OP_COPY && !stays_in_warp(p, i);
}

static void bad_place(pg_pipe *p, const pg_inst *i)
{
    (void)pg_diag_add(p->env->diags, PG_D_PIPE_PARTITION, i->loc);
    p->n_errors++;
}

/* Copies first .. last, which stand next to each other. */
static void expand(pg_pipe *p, pg_inst *first, pg_inst *last)
{
    const pg_type none = {0};
    pg_inst *end = last->next; /* a copy is never the last operation of its region */
    if (pg_inst_find_parent(first, PG_OP_PARTITION) != NULL) {
        bad_place(p, first);
        return;
    }
    if (pg_pipe_in_loop(first)) {
        (void)pg_pipe_emit(p, first, first, PG_OP_CTA_SYNC, 0, NULL, none);
    }
    pg_inst *sync = pg_pipe_emit(p, end, first, PG_OP_CTA_SYNC, 0, NULL, none);
    for (pg_inst *i = first, *next; i != sync && p->status == PG_OK; i = next) {
        next = i->next;
        const pg_val in[2] = {pg_pipe_buffer(p, i, pg_val_type(p->k, i->in[0]), 0), i->in[0]};
        (void)pg_pipe_emit(p, i, i, PG_OP_BUF_STORE, 2, in, none);
        const pg_val x =
            pg_pipe_value(p, end, i, PG_OP_BUF_LOAD, 1, in, pg_val_type(p->k, i->out[0]));
        pg_replace_uses(p->k, i->out[0], x);
        pg_inst_remove(i);
    }
    pg_pipe_explain(p, first, "copy: through shared memory");
}

static void visit(pg_pipe *p, pg_uses *uses, pg_region *r)
{
    for (pg_inst *i = r->last, *prev; i != NULL && p->status == PG_OK; i = prev) {
        prev = i->prev;
        for (uint32_t j = 0; j < i->n_regions; j++) {
            visit(p, uses, i->regions[j]);
        }
        if (needs_memory(p, i)) { /* sink, so that copies for one user stand together */
            pg_inst *user = first_user(uses, i->out[0], r);
            if (user != NULL && user != i->next) {
                pg_inst_move_before(i, user);
            }
        }
    }
    for (pg_inst *i = r->first; i != NULL && p->status == PG_OK;) {
        pg_inst *last = i;
        if (!needs_memory(p, i)) {
            i = i->next;
            continue;
        }
        while (needs_memory(p, last->next)) {
            last = last->next;
        }
        pg_inst *next = last->next;
        expand(p, i, last);
        i = next;
    }
}

void pg_pipe_copies(pg_pipe *p)
{
    pg_uses uses = {0};
    p->status = pg_uses_get(&uses, p->k, p->env->scratch);
    if (p->status == PG_OK) {
        visit(p, &uses, p->k->body);
    }
}
