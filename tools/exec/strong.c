/* strong.c: fences, and the strong accesses (atomic, volatile, relaxed, acquire, release) that
 * order threads by them.
 *
 * A release at an address leaves there what its thread has seen, or, if the access is relaxed, what
 * it had seen at its last fence. An acquire takes it; a relaxed read takes it at the thread's next
 * fence (in practice at once). Scopes: what reaches no further than the CTA or the cluster orders
 * nothing towards other clusters. */
#include "tools/exec/clock.h"

static void take(pe_warp *w, uint32_t tid, const pe_clock *c)
{
    pe_races *r = w->cta->races;
    if (pe_clock_covers(r, r->seen[tid], c)) {
        return;
    }
    pe_clock *n = pe_clock_new(w->cta);
    if (n == NULL) {
        return;
    }
    pe_clock_join(r, n, r->seen[tid]);
    pe_clock_join(r, n, c);
    pe_clock_seal(r, n);
    pe_clock_see(r, tid, n);
    pe_clock_drop(r, n);
}

void pe_race_take_later(pe_warp *w, uint32_t mask, pe_clock *c)
{
    pe_races *r = w->cta->races;
    pg_foreach_lane(l, mask)
    {
        pe_clock **later = &r->acquired[w->race_index * PE_LANES + l];
        if (*later == NULL) {
            pe_clock_keep(r, later, c);
        } else if (!pe_clock_covers(r, *later, c)) {
            pe_clock *n = pe_clock_new(w->cta);
            if (n == NULL) {
                return;
            }
            pe_clock_join(r, n, *later);
            pe_clock_join(r, n, c);
            pe_clock_keep(r, later, n);
            pe_clock_drop(r, n);
        }
    }
}

/* A fence that reaches no other cluster leaves what those released for a later one. */
static void take_acquired(pe_warp *w, uint32_t tid, bool is_wide)
{
    pe_races *r = w->cta->races;
    if (is_wide || r->acquired[tid]->known_time == 0) {
        take(w, tid, r->acquired[tid]);
        pe_clock_drop(r, r->acquired[tid]);
        r->acquired[tid] = NULL;
        return;
    }
    pe_clock *near = pe_clock_new(w->cta);
    if (near == NULL) {
        return;
    }
    pe_clock_join(r, near, r->acquired[tid]);
    near->known_time = 0;
    near->visible_time = 0;
    take(w, tid, near);
    pe_clock_drop(r, near);
}

/* What CTAs did before their last fence.sc is seen by who executes one now. */
static void fence_sc(pe_warp *w, uint32_t tid, uint32_t now)
{
    pe_races *r = w->cta->races;
    uint32_t visible = pe_gshadow_fence_sc(w->cta->launch, now);
    if (visible <= r->seen[tid]->visible_time) {
        return;
    }
    pe_clock *n = pe_clock_new(w->cta);
    if (n == NULL) {
        return;
    }
    pe_clock_join(r, n, r->seen[tid]);
    pe_clock_seal(r, n);
    n->visible_time = visible;
    n->fence_time = r->seen[tid]->fence_time;
    pe_clock_see(r, tid, n);
    pe_clock_drop(r, n);
}

void pe_race_fence(pe_warp *w, uint32_t mask, const pe_fence *f)
{
    pe_races *r = w->cta->races;
    uint32_t now = pe_gshadow_now(w->cta->launch);
    pg_foreach_lane(l, mask)
    {
        uint32_t tid = w->race_index * PE_LANES + l;
        if (f->is_acquire && r->acquired[tid] != NULL) {
            take_acquired(w, tid, f->scope == PE_SCOPE_WIDE);
        }
        if (f->is_sc && f->scope == PE_SCOPE_WIDE) {
            fence_sc(w, tid, now);
        }
        if (f->is_release) {
            r->fenced[tid] = r->own[tid]++;
            r->fence_time[tid] = f->scope == PE_SCOPE_WIDE ? now : r->fence_time[tid];
            pe_clock_keep(r, &r->fenced_seen[tid], r->seen[tid]);
        }
    }
}

/* What the access reads was released by other clusters until some time. */
static void acquire_far(pe_warp *w, uint32_t tid, uint64_t address, bool is_now)
{
    pe_races *r = w->cta->races;
    uint32_t time = pe_gshadow_acquire(w, address);
    const pe_clock *later = r->acquired[tid];
    if (time <= r->seen[tid]->known_time ||
        (!is_now && later != NULL && time <= later->known_time)) {
        return;
    }
    pe_clock *n = pe_clock_new(w->cta);
    if (n == NULL) {
        return;
    }
    n->known_time = time;
    if (is_now) {
        take(w, tid, n);
    } else {
        pe_race_take_later(w, 1u << tid % PE_LANES, n);
    }
    pe_clock_drop(r, n);
}

static void acquire(pe_warp *w, const pe_inst *i, uint32_t tid, uint64_t address)
{
    pe_races *r = w->cta->races;
    const uint32_t *known = pg_map_get(&r->edge_of, address);
    bool is_now = !r->is_isa || (i->flags & PE_I_ACQUIRE) != 0;
    if (address >= PE_GLOBAL_START && i->target == PE_SCOPE_WIDE) {
        acquire_far(w, tid, address, is_now);
    }
    if (known != NULL && is_now) {
        take(w, tid, r->edges.at[*known].seen);
    } else if (known != NULL) {
        pe_race_take_later(w, 1u << tid % PE_LANES, r->edges.at[*known].seen);
    }
}

static void release(pe_warp *w, const pe_inst *i, uint32_t tid, uint64_t address)
{
    pe_races *r = w->cta->races;
    bool is_release = (i->flags & PE_I_RELEASE) != 0;
    const pe_clock *seen = is_release ? r->seen[tid] : r->fenced_seen[tid];
    uint32_t stamp = is_release ? r->own[tid] : r->fenced[tid];
    if (seen == NULL && r->init_agent[tid] == 0) {
        return; /* relaxed, and no fence before it: orders nothing */
    }
    if (seen != NULL && address >= PE_GLOBAL_START && i->target == PE_SCOPE_WIDE) {
        uint32_t now = is_release ? pe_gshadow_now(w->cta->launch) : r->fence_time[tid];
        pe_gshadow_release(w, address, now);
    }
    r->own[tid] += is_release ? 1 : 0;
    uint32_t *known = pg_map_get(&r->edge_of, address);
    pe_clock *c = pe_clock_new(w->cta);
    if (c == NULL) {
        return;
    }
    pe_clock_join_inits(r, c, tid);
    if (seen != NULL) {
        pe_clock_join(r, c, seen);
        pe_clock_join_own_warp(r, c, w->race_index);
        c->at[tid] = stamp > c->at[tid] ? stamp : c->at[tid];
    }
    if (seen != NULL && r->has_proxy) {
        uint32_t *half = pe_clock_proxied(r, c);
        half[tid] = r->proxied[tid] > half[tid] ? r->proxied[tid] : half[tid];
    }
    if (known != NULL) {
        pe_edge *e = &r->edges.at[*known];
        pe_clock_join(r, c, e->seen);
        pe_clock_drop(r, e->seen);
        e->seen = c;
        return;
    }
    pe_edge e = {c};
    if (!pg_vec_push(&r->arena, &r->edges, e) ||
        !pg_map_put(&r->edge_of, address, r->edges.n - 1)) {
        w->cta->worker->is_oom = true;
    }
}

void pe_race_strong(pe_warp *w, const pe_inst *i, uint32_t mask, const uint64_t *generic,
                    uint8_t kind)
{
    pg_foreach_lane(l, mask)
    {
        uint32_t tid = w->race_index * PE_LANES + l;
        if ((kind & PE_T_READ) != 0) {
            acquire(w, i, tid, generic[l]);
        }
        if ((kind & PE_T_WRITE) != 0) {
            release(w, i, tid, generic[l]);
        }
    }
}
