/* cluster.c: CTAs that run together: their turns, and what happens when none of them can go on. */
#include "tools/exec/cluster.h"

#include "tools/exec/async.h"
#include "tools/exec/mbar.h"
#include "tools/exec/race.h"

enum {
    TURNS = 4,      /* of a CTA, before the next one of its cluster */
    TIME_OUTS = 200 /* in a row, with nothing in between: a deadlock */
};

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

static size_t size_of(uint32_t n)
{
    return sizeof(pe_cluster) + n * sizeof(pe_cta);
}

void pe_cluster_place(const pe_launch *l, uint64_t number, uint32_t rank, uint32_t out[3])
{
    uint64_t at = number;
    uint32_t r = rank;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t n = l->o.grid[k] / l->cluster[k];
        out[k] = (uint32_t)(at % n) * l->cluster[k] + r % l->cluster[k];
        at /= n;
        r /= l->cluster[k];
    }
}

pe_cluster *pe_cluster_new(pe_launch *l, pe_worker *worker, uint64_t number)
{
    uint32_t n = l->n_ranks;
    pe_cluster *c = resize(worker->alloc, NULL, 0, size_of(n));
    if (c == NULL) {
        worker->is_oom = true;
        return NULL;
    }
    memset(c, 0, size_of(n));
    c->launch = l;
    c->worker = worker;
    c->number = number;
    c->rng = (l->o.seed * UINT64_C(0x9E3779B97F4A7C15) + number) | 1;
    for (; c->n < n; c->n++) {
        if (!pe_cta_init(&c->ctas[c->n], c, c->n)) {
            pe_cluster_free(c);
            return NULL;
        }
    }
    if (l->o.races != PTXEXEC_RACES_OFF && pe_races_new(c) == NULL) {
        worker->is_oom = true;
        pe_cluster_free(c);
        return NULL;
    }
    return c;
}

void pe_cluster_free(pe_cluster *c)
{
    pg_alloc alloc = c->worker->alloc;
    for (uint32_t k = 0; k < c->n; k++) {
        pe_cta_fini(&c->ctas[k]);
    }
    pe_races_fini(c);
    resize(alloc, c, size_of(c->launch->n_ranks), 0);
}

bool pe_cluster_failed(const pe_cluster *c)
{
    for (uint32_t k = 0; k < c->n; k++) {
        if (c->ctas[k].is_failed) {
            return true;
        }
    }
    return false;
}

/* Nobody can go on by himself: something that is under way happens, or else waits in vain end.
 * False: a deadlock. */
static bool unstick(pe_cluster *c)
{
    uint32_t first = c->n > 1 ? (uint32_t)(pe_random(&c->rng) >> 33) % c->n : 0;
    uint64_t n_events = 0;
    for (uint32_t k = 0; k < c->n && c->n > 1; k++) {
        if (pe_cta_can_run(&c->ctas[k])) { /* woken by one that ran after it */
            return true;
        }
    }
    for (uint32_t k = 0; k < c->n; k++) {
        if (pe_async_force(&c->ctas[(first + k) % c->n])) {
            return true;
        }
        n_events += c->ctas[k].n_events;
    }
    c->n_time_outs = n_events != c->stuck_events ? 0 : c->n_time_outs + 1;
    c->stuck_events = n_events;
    bool has_any = false;
    for (uint32_t k = 0; k < c->n && c->n_time_outs <= TIME_OUTS; k++) {
        has_any = pe_mbar_time_out(&c->ctas[k]) || has_any;
    }
    return has_any;
}

bool pe_cluster_run(pe_cluster *c, uint32_t turns)
{
    for (uint32_t round = 0; turns == 0 || round < turns; round++) {
        bool is_stuck = true;
        bool is_over = true;
        for (uint32_t k = 0; k < c->n; k++) {
            pe_cta_state state = pe_cta_run(&c->ctas[k], c->n > 1 || turns != 0 ? TURNS : 0);
            if (c->worker->is_oom || c->ctas[k].is_failed) {
                return true;
            }
            is_over = is_over && state == PE_CTA_OVER;
            is_stuck = is_stuck && state != PE_CTA_RUNS;
        }
        if (is_over) {
            return true;
        }
        if (is_stuck && !unstick(c)) {
            for (uint32_t k = 0; k < c->n && !pe_cluster_failed(c); k++) {
                pe_cta_report_waiters(&c->ctas[k]);
            }
            return true;
        }
    }
    return false;
}

pe_cta *pe_cta_at(const pe_cta *cta, uint64_t shared)
{
    uint64_t rank = shared >> PE_RANK_SHIFT;
    return rank < cta->cluster->n ? &cta->cluster->ctas[rank] : NULL;
}

/* ---- barrier.cluster --------------------------------------------------------------------------
 */

static uint32_t n_live(const pe_cluster *c)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        n += c->ctas[k].n_live;
    }
    return n;
}

void pe_cluster_recheck(pe_cluster *c)
{
    if (c->n_arrived == 0 || c->n_arrived < n_live(c)) {
        return;
    }
    c->n_arrived = 0;
    c->n_phases++;
    if (c->races != NULL) {
        pe_race_cluster_over(c);
    }
    for (uint32_t k = 0; k < c->n; k++) {
        pe_cta *cta = &c->ctas[k];
        cta->n_events++;
        for (uint32_t j = 0; j < cta->n_warps; j++) {
            pe_warp *w = &cta->warps[j];
            uint32_t set = 0;
            pg_foreach_lane(l, w->live)
            {
                set |= w->wait[l] == PE_W_CLUSTER ? 1u << l : 0;
            }
            if (set != 0) {
                pe_lanes_wake(w, set, false);
            }
        }
    }
}

void pe_cluster_leave(const pe_warp *w, uint32_t mask)
{
    pe_cluster *c = w->cta->cluster;
    pg_foreach_lane(l, mask & w->cluster_arrived)
    {
        c->n_arrived -= w->cluster_phase[l] == c->n_phases ? 1 : 0;
    }
    pe_cluster_recheck(c);
}
