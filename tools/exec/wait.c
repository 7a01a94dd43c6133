/* wait.c: what lanes wait for: the rest of an .aligned warp, the lanes of a member mask, a barrier
 * of the CTA. Who is woken is decided here; what the lanes get is computed by the instruction's
 * family. */
#include "tools/exec/race.h"
#include "tools/exec/trace.h"

/* ---- .aligned -----------------------------------------------------------------------------------
 */

static uint32_t lanes_that_wait(const pe_warp *w, pe_wait why)
{
    uint32_t lanes = 0;
    pg_foreach_lane(l, w->live)
    {
        lanes |= w->wait[l] == (uint8_t)why ? 1u << l : 0;
    }
    return lanes;
}

static const pe_inst *inst_of(const pe_warp *w, uint32_t lane)
{
    return &w->cta->launch->m->code.at[w->lane[lane].pc];
}

static void recheck_aligned(pe_warp *w)
{
    uint32_t lanes = lanes_that_wait(w, PE_W_ALIGN);
    if (lanes == 0 || lanes != w->live) {
        return;
    }
    uint32_t group = pe_group_of(w, pe_first(lanes), lanes);
    if (group == w->live) {
        pe_lanes_wake(w, lanes, false);
        return;
    }
    while (lanes != 0) {
        group = pe_group_of(w, pe_first(lanes), lanes);
        pe_fault_at(w, inst_of(w, pe_first(group)), PTXEXEC_F_DIVERGED, (pe_place){.lanes = group},
                    "lanes %08x of the warp are here alone; live lanes are %08x", group, w->live);
        lanes &= ~group;
    }
}

/* ---- member masks
 * --------------------------------------------------------------------------------- */

/* The lanes may have come by different ways. */
void pe_lanes_give(pe_warp *w, uint32_t set, const pe_met *met)
{
    pg_foreach_lane(l, set)
    {
        const pe_inst *i = inst_of(w, l);
        const pe_lane *a = &w->lane[l];
        uint32_t bit = 1u << l;
        if (i->d != PE_NONE) {
            w->r32[(size_t)(a->base32 + i->d) * PE_LANES + l] = met->val[l];
            uint32_t *q = &w->q32[a->base32 + i->d];
            *q = (*q & ~bit) | (met->poison & bit);
        }
        if (i->d2 != PE_NONE) {
            uint32_t *p = &w->rp[a->basep + i->d2];
            uint32_t *q = &w->qp[a->basep + i->d2];
            *p = (*p & ~bit) | (met->pred & bit);
            *q = (*q & ~bit) | (met->poison_pred & bit);
        }
    }
}

/* Waiting lanes that met: same instruction spelling, same member mask, nobody missing but the
 * exited. */
static void meet(pe_warp *w, uint32_t lane)
{
    uint32_t members = w->wait_mask[lane];
    uint32_t set = 0;
    pg_foreach_lane(l, w->live)
    {
        if (w->wait[l] == PE_W_SYNC && w->wait_key[l] == w->wait_key[lane] &&
            w->wait_mask[l] == members) {
            set |= 1u << l;
        }
    }
    if ((members & w->live & ~set) != 0) {
        return;
    }
    pe_met met;
    pe_sync_results(w, inst_of(w, lane), set, &met);
    pe_lanes_give(w, set, &met);
    pe_lanes_wake(w, set, true);
}

static void recheck_sync(pe_warp *w)
{
    for (uint32_t l = 0; l < PE_LANES && !w->cta->is_failed; l++) {
        if ((w->live >> l & 1u) != 0 && w->wait[l] == PE_W_SYNC) {
            meet(w, l);
        }
    }
}

void pe_sync_arrive(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t members = w->wait_mask[pe_first(mask)];
    bool is_uniform = true;
    pg_foreach_lane(l, mask)
    {
        if ((w->wait_mask[l] >> l & 1u) == 0) {
            pe_fault_at(w, i, PTXEXEC_F_MEMBER_MASK, (pe_place){.lanes = 1u << l},
                        "lane %u executes this with the member mask 0x%08x, which does not name it",
                        l, w->wait_mask[l]);
            return;
        }
        is_uniform = is_uniform && w->wait_mask[l] == members;
    }
    if (is_uniform && (members & w->live & ~mask) == 0) {
        pe_met met;
        pe_sync_results(w, i, mask, &met);
        if (i->d != PE_NONE) {
            pe_put32(w, i->d, met.val, mask, met.poison);
        }
        if (i->d2 != PE_NONE) {
            pe_putp(w, i->d2, met.pred, mask, met.poison_pred);
        }
        return;
    }
    uint32_t key = w->cta->launch->m->srcs.at[i->src].opcode;
    pg_foreach_lane(l, mask)
    {
        w->wait_key[l] = key;
    }
    pe_lanes_wait(w, i, mask, PE_W_SYNC);
    recheck_sync(w);
}

void pe_warp_recheck(pe_warp *w)
{
    recheck_sync(w);
    if (w->runnable == 0 && !w->cta->is_failed) {
        recheck_aligned(w);
    }
}

/* ---- barriers of the CTA
 * ------------------------------------------------------------------------- */

static void release(pe_cta *cta, uint32_t id)
{
    pe_barrier *b = &cta->barrier[id];
    cta->n_events++;
    if (cta->races != NULL) {
        pe_race_bar_release(cta, id, b->expected == 0);
    }
    for (uint32_t k = 0; k < cta->n_warps; k++) {
        pe_warp *w = &cta->warps[k];
        uint32_t set = 0;
        pg_foreach_lane(l, w->live)
        {
            set |= w->wait[l] == PE_W_BARRIER && w->wait_key[l] == id ? 1u << l : 0;
        }
        if (set == 0) {
            continue;
        }
        pe_met met = {.pred = 0};
        bool is_true = b->kind == PE_BAR_AND ? b->n_true == b->count : b->n_true > 0;
        met.pred = is_true ? PE_ALL : 0;
        for (uint32_t l = 0; l < PE_LANES; l++) {
            met.val[l] = b->n_true;
        }
        pe_lanes_give(w, set, &met);
        if (cta->trace != NULL) {
            pe_trace_reach(w, inst_of(w, pe_first(set)), &cta->trace->bar[id]);
        }
        pe_lanes_wake(w, set, true);
    }
    if (cta->trace != NULL) {
        cta->trace->bar[id] = (pe_moment){.at = 0};
    }
    *b = (pe_barrier){.is_open = false};
}

void pe_bar_recheck(pe_cta *cta)
{
    for (uint32_t id = 0; id < PE_N_BARRIERS; id++) {
        const pe_barrier *b = &cta->barrier[id];
        if (b->is_open && b->expected == 0 && b->arrived == cta->n_live) {
            release(cta, id);
        }
    }
}

void pe_bar_arrive(pe_warp *w, const pe_inst *i, uint32_t mask, const pe_bar_arrival *a)
{
    pe_cta *cta = w->cta;
    if (a->id >= PE_N_BARRIERS) {
        pe_fault_at(w, i, PTXEXEC_F_BARRIER, (pe_place){.lanes = mask},
                    "barrier %u: a CTA has barriers 0 to 15", a->id);
        return;
    }
    pe_barrier *b = &cta->barrier[a->id];
    if (b->is_open && (b->expected != a->expected || b->kind != a->kind)) {
        pe_fault_at(w, i, PTXEXEC_F_BARRIER, (pe_place){.lanes = mask},
                    "barrier %u is used here for %u threads%s, by threads before for %u (0: all)",
                    a->id, a->expected, b->kind != a->kind ? " and another operation" : "",
                    b->expected);
        return;
    }
    if ((b->who[w->index] & mask) != 0) {
        pe_fault_at(w, i, PTXEXEC_F_BARRIER, (pe_place){.lanes = b->who[w->index] & mask},
                    "barrier %u: these lanes arrived already, and the barrier is not complete: "
                    "%u of %u threads are there",
                    a->id, b->arrived, b->expected != 0 ? b->expected : cta->n_live);
        return;
    }
    if (cta->races != NULL) {
        pe_race_bar_arrive(w, i, a->id, mask);
    }
    if (cta->trace != NULL) {
        pe_trace_latest(&cta->trace->bar[a->id], pe_trace_now(w, i));
    }
    /* An aligned arrival counts the warp as a whole; without a count live threads are counted. */
    uint32_t n = a->expected != 0 && (i->flags & PE_I_ALIGNED) != 0 ? PE_LANES : pe_count(mask);
    b->arrived += n;
    b->expected = a->expected;
    b->is_open = true;
    b->count += pe_count(mask);
    b->n_true += pe_count(a->pred & mask);
    b->kind = a->kind;
    b->who[w->index] |= mask;
    if (b->expected != 0 && b->arrived > b->expected) {
        pe_fault_at(w, i, PTXEXEC_F_BARRIER, (pe_place){.lanes = mask},
                    "barrier %u: %u threads arrived, %u were expected", a->id, b->arrived,
                    b->expected);
        return;
    }
    if (a->is_waiting) {
        pg_foreach_lane(l, mask)
        {
            w->wait_key[l] = a->id;
        }
        pe_lanes_wait(w, i, mask, PE_W_BARRIER);
    }
    if (b->expected != 0 ? b->arrived == b->expected : b->arrived == cta->n_live) {
        release(cta, a->id);
    }
}
