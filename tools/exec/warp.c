/* warp.c: 32 lanes with their own program counters.
 *
 * One group runs at a time: lanes with equal pc, depth and frame. Order: deepest call first, then
 * least pc, so that lanes that took the longer way catch up and merge where the others stand. To
 * let every lane advance in the end (a lane may spin until another one lets go of a lock), a group
 * that ran PE_TOGETHER instructions while others could run gives one turn of PE_FAIR_TURN
 * instructions to another group, round robin over lanes. Where convergence matters to the program
 * (.aligned, .sync) it does not depend on this order: lanes wait. */
#include "tools/exec/cluster.h"
#include "tools/exec/race.h"
#include "tools/exec/trace.h"
#include "tools/exec/wgmma.h"

enum { PE_TOGETHER = 2000, PE_FAIR_TURN = 200 };

void pe_lanes_save(pe_warp *w)
{
    pe_lane now = {w->pc, w->depth, w->base32, w->base64, w->basep};
    pg_foreach_lane(l, w->active)
    {
        w->lane[l] = now;
    }
}

static bool is_same_frame(const pe_lane *a, const pe_lane *b)
{
    return a->depth == b->depth && a->base32 == b->base32 && a->base64 == b->base64 &&
           a->basep == b->basep;
}

uint32_t pe_group_of(const pe_warp *w, uint32_t lane, uint32_t among)
{
    uint32_t group = 0;
    const pe_lane *a = &w->lane[lane];
    pg_foreach_lane(l, among)
    {
        if (w->lane[l].pc == a->pc && is_same_frame(&w->lane[l], a)) {
            group |= 1u << l;
        }
    }
    return group;
}

void pe_lanes_exit(pe_warp *w, uint32_t mask)
{
    w->live &= ~mask;
    w->runnable &= ~mask;
    w->active &= ~mask;
    w->cta->n_live -= pe_count(mask);
    w->cta->n_events++;
    if (w->cta->races != NULL) {
        pe_race_exit(w, mask);
    }
    w->is_stopped = w->is_stopped || w->active == 0;
    pe_bar_recheck(w->cta);
    pe_cluster_leave(w, mask);
    if (w->live == 0 && w->cta->trace != NULL) {
        pe_trace_exit(w);
    }
    if (w->cta->n_live == 0 && w->cta->wg != NULL) {
        pe_wg_end(w->cta);
    }
    if (w->cta->n_live == 0 && w->cta->pool != NULL) {
        pe_pool_end(w->cta);
    }
}

void pe_lanes_wait(pe_warp *w, const pe_inst *i, uint32_t mask, pe_wait why)
{
    uint32_t pc = (uint32_t)(i - w->cta->launch->m->code.at);
    pe_lane here = {pc, w->depth, w->base32, w->base64, w->basep};
    pg_foreach_lane(l, mask)
    {
        w->lane[l] = here;
        w->wait[l] = (uint8_t)why;
    }
    w->runnable &= ~mask;
    w->active &= ~mask;
    w->is_stopped = w->is_stopped || w->active == 0;
}

void pe_lanes_wake(pe_warp *w, uint32_t mask, bool is_done)
{
    pg_foreach_lane(l, mask)
    {
        w->wait[l] = PE_W_NONE;
        w->lane[l].pc += is_done ? 1 : 0;
    }
    w->runnable |= mask;
    /* The running group may have merged with them: look again. */
    w->is_stopped = true;
}

static uint32_t first_lane(const pe_warp *w, uint32_t among)
{
    uint32_t best = pe_first(among);
    pg_foreach_lane(l, among)
    {
        const pe_lane *a = &w->lane[l];
        const pe_lane *b = &w->lane[best];
        if (a->depth > b->depth || (a->depth == b->depth && a->pc < b->pc)) {
            best = l;
        }
    }
    return best;
}

static uint32_t next_other_lane(pe_warp *w, uint32_t others)
{
    uint32_t above = w->fair_lane < 31 ? others & ~((2u << w->fair_lane) - 1u) : 0;
    w->fair_lane = pe_first(above != 0 ? above : others);
    return w->fair_lane;
}

static void choose_group(pe_warp *w)
{
    uint32_t lane = first_lane(w, w->runnable);
    uint32_t group = pe_group_of(w, lane, w->runnable);
    if (w->is_fair_turn && group != w->runnable) {
        lane = next_other_lane(w, w->runnable & ~group);
        group = pe_group_of(w, lane, w->runnable);
    }
    const pe_lane *a = &w->lane[lane];
    w->pc = a->pc;
    w->depth = a->depth;
    w->base32 = a->base32;
    w->base64 = a->base64;
    w->basep = a->basep;
    w->active = group;
    w->merge_pc = UINT32_MAX;
    pg_foreach_lane(l, w->runnable & ~group)
    {
        if (is_same_frame(&w->lane[l], a) && w->lane[l].pc > a->pc && w->lane[l].pc < w->merge_pc) {
            w->merge_pc = w->lane[l].pc;
        }
    }
}

/* Runs the group until it stops, splits, may merge or used its budget. Returns instructions. */
static uint32_t run_group(pe_warp *w, uint32_t budget)
{
    const pe_inst *code = w->cta->launch->m->code.at;
    pe_stats *stats = &w->cta->worker->stats;
    uint64_t n_lanes = 0;
    uint32_t n = 0;
    w->is_stopped = false;
    do {
        const pe_inst *i = &code[w->pc++];
        uint32_t mask = w->active;
        n += (i->flags & PE_I_MICRO) == 0;
        w->n_steps += (i->flags & PE_I_MICRO) == 0; /* the warp's clock */
        if (i->guard != PE_NONE) {
            if ((w->qp[w->basep + i->guard] & mask) != 0) {
                (void)pe_is_poison(w, i, w->qp[w->basep + i->guard] & mask, PTXEXEC_F_POISON_BRANCH,
                                   "the guard predicate");
                break;
            }
            uint32_t g = w->rp[w->basep + i->guard];
            mask &= (i->flags & PE_I_GUARD_NEG) != 0 ? ~g : g;
            if (mask == 0) {
                continue;
            }
        }
        if ((i->flags & PE_I_ALIGNED) != 0 && mask != w->live) {
            pe_lanes_wait(w, i, mask, PE_W_ALIGN);
            continue;
        }
        if ((i->flags & PE_I_MICRO) == 0) {
            n_lanes += pe_count(mask);
            if (stats->lines != NULL) {
                stats->lines[i - code].n_steps++;
                stats->lines[i - code].n_lanes += pe_count(mask);
            }
            if (w->cta->trace != NULL) {
                pe_trace_step(w, i);
            }
        }
        if ((i->flags & PE_I_TRACKED) != 0 && !pe_wg_touch(w, i)) {
            break;
        }
        i->fn(w, i, mask);
    } while (!w->is_stopped && n < budget && w->pc < w->merge_pc);
    pe_lanes_save(w);
    stats->n_steps += n;
    stats->n_lanes += n_lanes;
    return n;
}

void pe_warp_run(pe_warp *w, uint32_t budget)
{
    pe_cta *cta = w->cta;
    uint32_t used = 0;
    while (used < budget && !cta->is_failed && !cta->worker->is_oom) {
        if (w->runnable == 0) {
            pe_warp_recheck(w);
            if (w->runnable == 0) {
                return;
            }
        }
        choose_group(w);
        bool has_others = w->active != w->runnable;
        const uint64_t most = cta->launch->o.max_steps;
        if (cta->n_steps >= most) {
            uint32_t lanes = w->active != 0 ? w->active : w->live;
            const pe_inst *at = &cta->launch->m->code.at[w->lane[pe_first(lanes)].pc];
            pe_fault_at(w, at, PTXEXEC_F_STEP_LIMIT, (pe_place){.lanes = lanes},
                        "the CTA ran %llu warp instructions, the limit; this warp stands here",
                        (unsigned long long)most);
            return;
        }
        uint32_t limit = budget - used;
        limit = most - cta->n_steps < limit ? (uint32_t)(most - cta->n_steps) : limit;
        uint32_t turn = w->is_fair_turn ? PE_FAIR_TURN : PE_TOGETHER;
        if (has_others && limit > turn - w->n_together) {
            limit = turn - w->n_together;
        }
        uint32_t n = run_group(w, limit);
        used += n;
        cta->n_steps += n;
        w->n_together = has_others ? w->n_together + n : 0;
        if (w->n_together >= turn) {
            w->is_fair_turn = !w->is_fair_turn;
            w->n_together = 0;
        }
    }
}
