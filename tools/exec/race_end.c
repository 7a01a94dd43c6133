/* race_end.c: how an initialisation of an mbarrier becomes known to others, and what must be
 * ordered before the end of a CTA. */
#include "tools/exec/clock.h"
#include "tools/exec/cluster.h"
#include "tools/exec/mbar.h"
#include "tools/exec/race_cells.h"

/* ---- mbarrier.init ----------------------------------------------------------------------------
 */

/* What the thread wrote last in the object's cells, if that is its initialisation, and nothing was
 * fenced for yet, is known to who has seen the agent's time. */
static bool stamp_init(pe_cta *cta, const pe_mbar *b, uint32_t agent, uint32_t time)
{
    page *p = pe_page_of(cta, b->at, 4);
    bool is_any = false;
    if (p != NULL) {
        pe_page_expand(p);
    }
    for (uint32_t k = 0; p != NULL && k < PE_MBAR_SIZE; k += 1u << p->shift) {
        cell *c = &p->cells[(b->at % PAGE + k) >> p->shift];
        if (c->is_object && c->w_kind == PE_MK_PLAIN && c->w_pc == b->init_pc && c->w_phase == 0 &&
            c->w_tid == b->init_tid) {
            c->w_agent = (uint16_t)agent;
            c->w_phase = time;
            is_any = true;
        }
    }
    return is_any;
}

void pe_race_inits_fenced(pe_warp *w, uint32_t mask)
{
    pe_races *r = w->cta->races;
    pg_foreach_lane(l, mask)
    {
        uint32_t tid = w->race_index * PE_LANES + l;
        bool is_any = false;
        for (uint32_t k = 0; k < w->cta->n_mbars; k++) {
            const pe_mbar *b = &w->cta->mbars[k];
            if (b->init_tid == tid && b->is_valid) {
                if (r->init_agent[tid] == 0) {
                    r->init_agent[tid] = pe_race_new_agent(w->cta) + 1;
                }
                is_any =
                    stamp_init(w->cta, b, r->init_agent[tid] - 1, r->init_time[tid] + 1) || is_any;
            }
        }
        r->init_time[tid] += is_any ? 1 : 0;
    }
}

/* ---- the end of a CTA -------------------------------------------------------------------------
 */

/* An access of another CTA that no thread of this one, which has ended, has seen. */
static bool is_ordered_before_end(const pe_cta *cta, const pe_clock *end, uint32_t tid,
                                  uint32_t clock)
{
    return tid / PE_LANES / cta->races->warps_of_cta == cta->rank || end->at[tid] >= clock;
}

static bool check_end(pe_cta *cta, const pe_clock *end, const cell *c, const read_mark *marks,
                      pe_mark *out)
{
    const pe_races *r = cta->races;
    bool is_known = c->w_kind == PE_MK_NONE || c->w_kind == PE_MK_PENDING ||
                    c->w_kind == PE_MK_BULK || /* those: pe_bulk_exit */
                    (c->w_phase != 0 && pe_race_knows_agent(r, end, c->w_agent, c->w_phase)) ||
                    is_ordered_before_end(cta, end, c->w_tid, c->w_clock);
    *out = (pe_mark){.tid = c->w_tid, .pc = c->w_pc, .is_write = true};
    for (uint32_t warp = 0; is_known && c->readers != 0 && warp < r->n_warps; warp++) {
        bool has_mark = (c->readers >> (warp >> r->reader_shift) & 1u) != 0;
        pg_foreach_lane(l, has_mark && (marks[warp].pc & READ_ASYNC) == 0 ? marks[warp].lanes : 0)
        {
            uint32_t tid = warp * PE_LANES + l;
            if (!is_ordered_before_end(cta, end, tid, marks[warp].clock)) {
                *out = (pe_mark){.tid = tid, .pc = marks[warp].pc & ~READ_FLAGS};
                is_known = false;
            }
        }
    }
    return is_known;
}

static void report_end(const pe_cta *cta, uint64_t address, const pe_mark *m)
{
    pe_cluster *cluster = cta->cluster;
    uint32_t warp = m->tid / PE_LANES;
    uint32_t per = cta->races->warps_of_cta;
    pe_fault_at(
        &cluster->ctas[warp / per].warps[warp % per], &cta->launch->m->code.at[m->pc],
        PTXEXEC_F_RACE,
        (pe_place){
            .lanes = 1u << m->tid % PE_LANES, .address = PE_SHARED_WINDOW + address, .size = 4},
        "this %s the shared memory of the CTA of rank %u in the cluster, and nothing orders "
        "it before the end of that CTA: barrier.cluster with .release and .acquire would",
        m->is_write ? "writes to" : "reads", cta->rank);
}

void pe_race_cta_end(pe_cta *cta)
{
    pe_races *r = cta->races;
    pe_clock *end = NULL;
    uint32_t first = cta->rank * r->pages_of_cta;
    for (uint32_t n = 0; r->pages != NULL && n < r->pages_of_cta && !cta->worker->is_oom; n++) {
        const page *p = &r->pages[first + n];
        if (!p->is_remote || p->is_whole) {
            continue; /* whole: written by a copy, which is waited for */
        }
        end = end != NULL ? end : pe_clock_of_cta(cta);
        for (uint32_t k = 0; end != NULL && k < (uint32_t)PAGE >> p->shift; k++) {
            pe_mark m;
            if (!check_end(cta, end, &p->cells[k], p->reads + (size_t)k * r->n_warps, &m)) {
                report_end(cta,
                           ((uint64_t)cta->rank << PE_RANK_SHIFT) + (uint64_t)n * PAGE +
                               ((uint64_t)k << p->shift),
                           &m);
                pe_clock_drop(r, end);
                return;
            }
        }
    }
    pe_clock_drop(r, end);
}
