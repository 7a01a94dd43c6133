/* clock.c: what orders the threads of a CTA: barriers, warp-level meetings, fences with atomics. */
#include "tools/exec/clock.h"

#include "tools/exec/cluster.h"
#include "tools/exec/mbar.h"

void pe_clock_drop(pe_races *r, pe_clock *c)
{
    if (c != NULL && --c->n_refs == 0) {
        c->next = r->spare;
        r->spare = c;
    }
}

/* Zeroed, one reference. */
pe_clock *pe_clock_new(pe_cta *cta)
{
    pe_races *r = cta->races;
    size_t n = ((size_t)r->n_threads + r->n_warps + r->agents_cap) * (r->has_proxy ? 2 : 1);
    pe_clock *c = r->spare;
    while (c != NULL && c->n_agents != r->agents_cap) {
        c = c->next; /* of a time with fewer agents: stays in the arena */
    }
    r->spare = c;
    if (c != NULL) {
        r->spare = c->next;
        memset(c->at, 0, n * sizeof c->at[0]);
    } else {
        c = pg_arena_get(&r->arena, sizeof *c + n * sizeof c->at[0], 1);
    }
    if (c == NULL) {
        cta->worker->is_oom = true;
        return NULL;
    }
    c->n_refs = 1;
    c->n_agents = r->agents_cap;
    c->id = ++r->last_id;
    c->fence_time = 0;
    c->known_time = 0;
    c->visible_time = 0;
    c->next = NULL;
    return c;
}

/* The second half, of what lies behind a proxy fence. */
uint32_t *pe_clock_proxied(const pe_races *r, pe_clock *c)
{
    return c->at + r->n_threads + r->n_warps + c->n_agents;
}
static const uint32_t *proxied_of(const pe_races *r, const pe_clock *c)
{
    return c->at + r->n_threads + r->n_warps + c->n_agents;
}

static void join_half(const pe_races *r, uint32_t *into, const uint32_t *c, uint32_t n_agents)
{
    for (uint32_t k = 0; k < r->n_threads; k++) {
        into[k] = c[k] > into[k] ? c[k] : into[k];
    }
    uint32_t first = r->n_threads + r->n_warps;
    for (uint32_t k = first; k < first + n_agents; k++) {
        into[k] = c[k] > into[k] ? c[k] : into[k];
    }
}

void pe_clock_join(const pe_races *r, pe_clock *into, const pe_clock *c)
{
    uint32_t n_agents = c->n_agents < into->n_agents ? c->n_agents : into->n_agents;
    into->known_time = c->known_time > into->known_time ? c->known_time : into->known_time;
    into->visible_time =
        c->visible_time > into->visible_time ? c->visible_time : into->visible_time;
    join_half(r, into->at, c->at, n_agents);
    if (r->has_proxy) {
        join_half(r, pe_clock_proxied(r, into), proxied_of(r, c), n_agents);
    }
}

/* The least clock of each warp: one comparison instead of 32 where all its threads met. */
void pe_clock_seal(const pe_races *r, pe_clock *c)
{
    for (uint32_t k = 0; k < r->n_warps; k++) {
        uint32_t least = UINT32_MAX;
        for (uint32_t t = k * PE_LANES; t < (k + 1) * PE_LANES && t < r->n_threads; t++) {
            least = c->at[t] < least ? c->at[t] : least;
        }
        c->at[r->n_threads + k] = least;
    }
}

/* What the lane has seen of its own warp by whole meetings. */
void pe_clock_join_own_warp(const pe_races *r, pe_clock *into, uint32_t warp)
{
    uint32_t known = r->known[warp];
    for (uint32_t t = warp * PE_LANES; t < (warp + 1) * PE_LANES && t < r->n_threads; t++) {
        into->at[t] = known > into->at[t] ? known : into->at[t];
    }
}

/* `into` with room for the agents that there are now. */
static pe_clock *with_agents(pe_cta *cta, pe_clock *into)
{
    pe_races *r = cta->races;
    if (into != NULL && into->n_agents == r->agents_cap) {
        return into;
    }
    pe_clock *c = pe_clock_new(cta);
    if (c != NULL && into != NULL) {
        pe_clock_join(r, c, into);
        c->fence_time = into->fence_time;
        pe_clock_drop(r, into);
    }
    return c;
}

/* All that the lanes have seen and done goes into the clock, which has room for all agents; they
 * begin a new interval. `joined` (may be NULL) remembers the last vector joined, which lanes mostly
 * share. */
static void publish(pe_warp *w, pe_clock *into, uint32_t mask, uint32_t *joined)
{
    pe_races *r = w->cta->races;
    uint32_t last = joined != NULL ? *joined : 0;
    pg_foreach_lane(l, mask)
    {
        uint32_t tid = w->race_index * PE_LANES + l;
        if (r->seen[tid]->id != last) {
            pe_clock_join(r, into, r->seen[tid]);
            last = r->seen[tid]->id;
        }
        into->at[tid] = r->own[tid] > into->at[tid] ? r->own[tid] : into->at[tid];
        if (r->has_proxy) {
            uint32_t *half = pe_clock_proxied(r, into);
            half[tid] = r->proxied[tid] > half[tid] ? r->proxied[tid] : half[tid];
        }
        r->own[tid]++;
        into->fence_time =
            r->fence_time[tid] > into->fence_time ? r->fence_time[tid] : into->fence_time;
    }
    pe_clock_join_own_warp(r, into, w->race_index);
    if (joined != NULL) {
        *joined = last;
    }
}

void pe_clock_join_inits(const pe_races *r, pe_clock *into, uint32_t tid)
{
    uint32_t agent = r->init_agent[tid];
    if (agent != 0 && agent - 1 < into->n_agents) {
        uint32_t *at = &into->at[r->n_threads + r->n_warps + agent - 1];
        *at = r->init_time[tid] > *at ? r->init_time[tid] : *at;
    }
}

pe_clock *pe_clock_of_cta(pe_cta *cta)
{
    pe_races *r = cta->races;
    pe_clock *c = pe_clock_new(cta);
    uint32_t first = cta->rank * r->warps_of_cta * PE_LANES;
    uint32_t last = 0;
    for (uint32_t k = 0; c != NULL && k < r->warps_of_cta * PE_LANES && first + k < r->n_threads;
         k++) {
        if (r->seen[first + k]->id != last) {
            last = r->seen[first + k]->id;
            pe_clock_join(r, c, r->seen[first + k]);
        }
    }
    return c;
}

/* A relaxed arrival publishes what lies before the thread's last fence. */
static void publish_fenced(pe_warp *w, pe_clock *into, uint32_t mask)
{
    pe_races *r = w->cta->races;
    pg_foreach_lane(l, mask)
    {
        uint32_t tid = w->race_index * PE_LANES + l;
        if (r->fenced_seen[tid] != NULL) {
            pe_clock_join(r, into, r->fenced_seen[tid]);
            into->at[tid] = r->fenced[tid] > into->at[tid] ? r->fenced[tid] : into->at[tid];
        }
        pe_clock_join_inits(r, into, tid);
    }
}

void pe_clock_keep(pe_races *r, pe_clock **at, pe_clock *c)
{
    if (*at != c) {
        c->n_refs++;
        pe_clock_drop(r, *at);
        *at = c;
    }
}

/* In practice a fence covers what a barrier carries on: all fence, a barrier, one thread signals.
 */
void pe_clock_see(pe_races *r, uint32_t tid, pe_clock *c)
{
    if (!r->is_isa && c->fence_time > r->fence_time[tid]) {
        r->fence_time[tid] = c->fence_time;
        pe_clock_keep(r, &r->fenced_seen[tid], c);
    }
    pe_clock_keep(r, &r->seen[tid], c);
}

/* ---- barriers ---------------------------------------------------------------------------------
 */

void pe_race_bar_arrive(pe_warp *w, const pe_inst *i, uint32_t id, uint32_t mask)
{
    pe_races *r = w->cta->races;
    uint32_t slot = w->cta->rank * PE_N_BARRIERS + id;
    r->bar_joined[slot] = r->bar[slot] != NULL ? r->bar_joined[slot] : 0;
    r->bar[slot] = with_agents(w->cta, r->bar[slot]);
    if (r->bar[slot] == NULL) {
        return;
    }
    publish(w, r->bar[slot], mask, &r->bar_joined[slot]);
    r->meeting[w->race_index] =
        (pe_meeting){.id = id, .line = w->cta->launch->m->srcs.at[i->src].loc.line, .is_set = true};
}

void pe_race_bar_release(pe_cta *cta, uint32_t id, bool is_whole)
{
    pe_races *r = cta->races;
    uint32_t slot = cta->rank * PE_N_BARRIERS + id;
    pe_clock *c = r->bar[slot] != NULL ? with_agents(cta, r->bar[slot]) : NULL;
    if (c == NULL) {
        return;
    }
    if (is_whole) {
        pe_clock_join(r, c, r->exited);
    }
    pe_clock_seal(r, c);
    for (uint32_t k = 0; k < cta->n_warps; k++) {
        pe_warp *w = &cta->warps[k];
        uint32_t set = 0;
        pg_foreach_lane(l, w->live)
        {
            if (w->wait[l] == PE_W_BARRIER && w->wait_key[l] == id) {
                set |= 1u << l;
                pe_clock_see(r, w->race_index * PE_LANES + l, c);
            }
        }
        uint32_t least = c->at[r->n_threads + w->race_index];
        if (set == w->live && set != 0 && least > r->known[w->race_index]) {
            r->known[w->race_index] = least;
        }
    }
    pe_clock_drop(r, c);
    r->bar[slot] = NULL;
}

/* ---- warps ------------------------------------------------------------------------------------
 */

/* Without a vector of its own where all lanes of the warp meet and saw the same of others. */
static bool meet_whole(pe_warp *w, uint32_t set)
{
    pe_races *r = w->cta->races;
    uint32_t base = w->race_index * PE_LANES;
    const pe_clock *seen = r->seen[base + pe_first(set)];
    if (r->is_proxy_news[w->race_index]) {
        return false;
    }
    uint32_t most = 0;
    uint32_t fence = 0;
    pg_foreach_lane(l, set)
    {
        if (r->seen[base + l] != seen) {
            return false;
        }
        most = r->own[base + l] > most ? r->own[base + l] : most;
        fence = r->fence_time[base + l] > fence ? r->fence_time[base + l] : fence;
    }
    r->known[w->race_index] = most;
    pg_foreach_lane(l, set)
    {
        r->own[base + l] = most + 1;
        if (!r->is_isa && fence > r->fence_time[base + l]) {
            r->fence_time[base + l] = fence;
            pe_clock_keep(r, &r->fenced_seen[base + l], r->seen[base + l]);
        }
    }
    return true;
}

void pe_race_meet(pe_warp *w, uint32_t set, bool is_barrier)
{
    pe_races *r = w->cta->races;
    if (r->is_isa && !is_barrier) {
        return;
    }
    if (set == w->live && meet_whole(w, set)) {
        return;
    }
    pe_clock *c = pe_clock_new(w->cta);
    if (c == NULL) {
        return;
    }
    publish(w, c, set, NULL);
    pe_clock_seal(r, c);
    pg_foreach_lane(l, set)
    {
        pe_clock_see(r, w->race_index * PE_LANES + l, c);
    }
    pe_clock_drop(r, c);
    r->is_proxy_news[w->race_index] = r->is_proxy_news[w->race_index] && set != w->live;
}

void pe_race_exit(pe_warp *w, uint32_t mask)
{
    pe_races *r = w->cta->races;
    pe_clock *c = with_agents(w->cta, r->exited);
    if (c != NULL) {
        r->exited = c;
        publish(w, c, mask, NULL);
    }
}

/* ---- mbarriers --------------------------------------------------------------------------------
 */

uint32_t pe_race_new_agent(pe_cta *cta)
{
    pe_races *r = cta->races;
    if (r->n_agents == r->agents_cap) {
        r->agents_cap = r->agents_cap == 0 ? 16 : r->agents_cap * 2;
    }
    return r->n_agents++;
}

/* What is published in a phase comes on top of all phases before: arrivals are a chain of
 * read-modify-writes of one object. */
static bool open_phase(pe_cta *cta, pe_mbar *b)
{
    b->open = with_agents(cta, b->open);
    return b->open != NULL;
}

void pe_race_mbar_arrive(pe_warp *w, pe_mbar *b, uint32_t mask, bool is_relaxed)
{
    if (!open_phase(w->cta, b)) {
        return;
    }
    if (is_relaxed) {
        publish_fenced(w, b->open, mask);
    } else {
        publish(w, b->open, mask, &b->joined);
    }
}

void pe_race_mbar_knows(pe_cta *cta, pe_mbar *b, uint32_t agent, uint32_t phase)
{
    if (agent != b->agent && open_phase(cta, b)) {
        uint32_t *at = &b->open->at[cta->races->n_threads + cta->races->n_warps + agent];
        *at = phase > *at ? phase : *at;
    }
}

void pe_race_mbar_over(pe_cta *cta, pe_mbar *b)
{
    pe_races *r = cta->races;
    if (!open_phase(cta, b)) {
        return;
    }
    b->open->at[r->n_threads + r->n_warps + b->agent] = b->n_over;
    pe_clock_seal(r, b->open);
    pe_clock *next = pe_clock_new(cta);
    if (next == NULL) {
        return;
    }
    pe_clock_join(r, next, b->open);
    next->fence_time = b->open->fence_time;
    pe_clock_drop(r, b->done);
    b->done = b->open;
    b->open = next;
    b->joined = 0;
}

/* c has seen all that `seen` has. */
bool pe_clock_covers(const pe_races *r, const pe_clock *c, const pe_clock *seen)
{
    uint32_t least = seen->n_agents < c->n_agents ? seen->n_agents : c->n_agents;
    uint32_t n = r->n_threads + r->n_warps + least;
    const uint32_t *mine = r->has_proxy ? proxied_of(r, c) : c->at;
    const uint32_t *other = r->has_proxy ? proxied_of(r, seen) : seen->at;
    for (uint32_t k = 0; k < n; k++) {
        if (c->at[k] < seen->at[k] || mine[k] < other[k]) {
            return false;
        }
    }
    return seen->n_agents <= c->n_agents && seen->known_time <= c->known_time &&
           seen->visible_time <= c->visible_time;
}

/* Lanes that saw the same before see the same afterwards: one new vector for them, or none. */
static void take_all(pe_warp *w, uint32_t mask, pe_clock *c)
{
    pe_races *r = w->cta->races;
    uint32_t base = w->race_index * PE_LANES;
    while (mask != 0) {
        pe_clock *seen = r->seen[base + pe_first(mask)];
        uint32_t same = 0;
        pg_foreach_lane(l, mask)
        {
            same |= r->seen[base + l] == seen ? 1u << l : 0;
        }
        mask &= ~same;
        if (pe_clock_covers(r, seen, c)) {
            continue;
        }
        bool is_new = !pe_clock_covers(r, c, seen);
        pe_clock *n = is_new ? pe_clock_new(w->cta) : c;
        if (n == NULL) {
            return;
        }
        if (is_new) {
            pe_clock_join(r, n, seen);
            pe_clock_join(r, n, c);
            pe_clock_seal(r, n);
            n->fence_time = c->fence_time;
        }
        pg_foreach_lane(l, same)
        {
            pe_clock_see(r, base + l, n);
        }
        if (is_new) {
            pe_clock_drop(r, n);
        }
    }
}

void pe_race_mbar_waited(pe_warp *w, uint32_t mask, bool is_relaxed)
{
    while (mask != 0) {
        uint32_t at = w->wait_key[pe_first(mask)];
        uint32_t same = 0;
        pg_foreach_lane(l, mask)
        {
            same |= w->wait_key[l] == at ? 1u << l : 0;
        }
        mask &= ~same;
        for (uint32_t k = 0; k < w->cta->n_mbars; k++) {
            const pe_mbar *b = &w->cta->mbars[k];
            if (b->at == at && b->done != NULL && is_relaxed) {
                pe_race_take_later(w, same, b->done);
            } else if (b->at == at && b->done != NULL) {
                take_all(w, same, b->done);
            }
        }
    }
}

/* ---- barrier.cluster --------------------------------------------------------------------------
 */

void pe_race_cluster_arrive(pe_warp *w, uint32_t mask, bool is_relaxed)
{
    pe_races *r = w->cta->races;
    r->cluster_open = with_agents(w->cta, r->cluster_open);
    if (r->cluster_open == NULL) {
        return;
    }
    if (is_relaxed) {
        publish_fenced(w, r->cluster_open, mask);
    } else {
        publish(w, r->cluster_open, mask, NULL);
    }
}

void pe_race_cluster_over(pe_cluster *c)
{
    pe_races *r = c->races;
    r->cluster_open = with_agents(&c->ctas[0], r->cluster_open);
    if (r->cluster_open != NULL) {
        pe_clock_join(r, r->cluster_open, r->exited);
        pe_clock_seal(r, r->cluster_open);
        pe_clock_drop(r, r->cluster_done);
        r->cluster_done = r->cluster_open;
        r->cluster_open = NULL;
    }
}

void pe_race_cluster_waited(pe_warp *w, uint32_t mask)
{
    if (w->cta->races->cluster_done != NULL) {
        take_all(w, mask, w->cta->races->cluster_done);
    }
}

void pe_race_agent_seen(pe_warp *w, uint32_t mask, uint32_t agent, uint32_t time)
{
    pe_races *r = w->cta->races;
    uint32_t base = w->race_index * PE_LANES;
    while (mask != 0) {
        const pe_clock *seen = r->seen[base + pe_first(mask)];
        uint32_t same = 0;
        pg_foreach_lane(l, mask)
        {
            same |= r->seen[base + l] == seen ? 1u << l : 0;
        }
        mask &= ~same;
        if (pe_race_knows_agent(r, seen, agent, time)) {
            continue;
        }
        pe_clock *n = pe_clock_new(w->cta);
        if (n == NULL) {
            return;
        }
        pe_clock_join(r, n, seen);
        pe_clock_seal(r, n);
        n->fence_time = seen->fence_time;
        n->at[r->n_threads + r->n_warps + agent] = time;
        pg_foreach_lane(l, same)
        {
            pe_clock_see(r, base + l, n);
        }
        pe_clock_drop(r, n);
    }
}

/* ---- proxies ----------------------------------------------------------------------------------
 */

/* All that the lanes have seen lies behind the fence now. */
static void fence_all(pe_warp *w, uint32_t lanes, const pe_clock *seen)
{
    pe_races *r = w->cta->races;
    uint32_t base = w->race_index * PE_LANES;
    pe_clock *n = pe_clock_new(w->cta);
    if (n == NULL) {
        return;
    }
    pe_clock_join(r, n, seen);
    pe_clock_join_own_warp(r, n, w->race_index);
    pe_clock_seal(r, n);
    n->fence_time = seen->fence_time;
    join_half(r, pe_clock_proxied(r, n), n->at, n->n_agents);
    pg_foreach_lane(l, lanes)
    {
        pe_clock_see(r, base + l, n);
    }
    pe_clock_drop(r, n);
}

void pe_race_proxy_fence(pe_warp *w, uint32_t mask)
{
    pe_races *r = w->cta->races;
    uint32_t base = w->race_index * PE_LANES;
    pg_foreach_lane(l, mask)
    {
        r->proxied[base + l] = r->own[base + l]++;
    }
    r->is_proxy_news[w->race_index] = true;
    while (mask != 0) {
        const pe_clock *seen = r->seen[base + pe_first(mask)];
        uint32_t same = 0;
        pg_foreach_lane(l, mask)
        {
            same |= r->seen[base + l] == seen ? 1u << l : 0;
        }
        fence_all(w, same, seen);
        mask &= ~same;
    }
}

bool pe_race_is_proxied(const pe_races *r, uint32_t me, uint32_t tid, uint32_t clock)
{
    return tid == me ? clock <= r->proxied[me] : proxied_of(r, r->seen[me])[tid] >= clock;
}

bool pe_race_is_proxied_agent(const pe_races *r, uint32_t me, uint32_t agent, uint32_t phase)
{
    const pe_clock *c = r->seen[me];
    return agent < c->n_agents && proxied_of(r, c)[r->n_threads + r->n_warps + agent] >= phase;
}

void pe_race_barriers_ready(pe_warp *w, uint32_t mask)
{
    for (uint32_t k = 0; k < w->cta->n_mbars; k++) {
        pe_mbar *b = &w->cta->mbars[k];
        bool is_ours =
            b->init_tid / PE_LANES == w->race_index && (mask >> b->init_tid % PE_LANES & 1u) != 0;
        b->is_ready = b->is_ready || is_ours;
    }
}

bool pe_race_mbar_ready(const pe_mbar_use *u)
{
    if (!u->home->races->is_isa || u->b->is_ready) {
        return true;
    }
    const ptxexec_module *m = u->w->cta->launch->m;
    pe_fault_at(u->w, u->i, PTXEXEC_F_PROXY,
                (pe_place){.lanes = 1u << u->lane,
                           .address = PE_SHARED_WINDOW + u->b->at,
                           .size = PE_MBAR_SIZE},
                "the copy signals at the mbarrier at shared address 0x%x, and the thread that "
                "initialised it in line %u executed no fence.mbarrier_init or fence.proxy.async",
                u->b->at, m->srcs.at[m->code.at[u->b->init_pc].src].loc.line);
    return false;
}

bool pe_race_knows(const pe_warp *w, uint32_t lane, uint32_t tid, uint32_t clock)
{
    const pe_races *r = w->cta->races;
    uint32_t me = w->race_index * PE_LANES + lane;
    return tid == me || (tid / PE_LANES == w->race_index && clock <= r->known[w->race_index]) ||
           r->seen[me]->at[tid] >= clock;
}

/* ---- life -------------------------------------------------------------------------------------
 */

static bool init(pe_cluster *cluster)
{
    pe_races *r = cluster->races;
    pe_cta *cta = &cluster->ctas[0];
    /* Threads are numbered warp by warp; without a cluster there are no gaps. */
    uint32_t n = cluster->n > 1 ? cluster->n * cta->n_warps * PE_LANES : cta->n_threads;
    r->n_threads = n;
    r->n_warps = cluster->n * cta->n_warps;
    r->warps_of_cta = cta->n_warps;
    r->is_isa = cta->launch->o.races == PTXEXEC_RACES_ISA;
    r->has_proxy = cta->launch->m->has_async_proxy;
    while (r->n_warps >> r->reader_shift > PE_MAX_WARPS) {
        r->reader_shift++;
    }
    pg_map_init(&r->edge_of, &r->arena);
    r->own = PG_NEWS(&r->arena, uint32_t, n);
    r->fenced = PG_NEWS(&r->arena, uint32_t, n);
    r->fence_time = PG_NEWS(&r->arena, uint32_t, n);
    r->fenced_seen = PG_NEWS(&r->arena, pe_clock *, n);
    r->init_agent = PG_NEWS(&r->arena, uint32_t, n);
    r->init_time = PG_NEWS(&r->arena, uint32_t, n);
    r->proxied = PG_NEWS(&r->arena, uint32_t, n);
    r->seen = PG_NEWS(&r->arena, pe_clock *, n);
    r->acquired = PG_NEWS(&r->arena, pe_clock *, n);
    r->known = PG_NEWS(&r->arena, uint32_t, r->n_warps);
    r->is_proxy_news = PG_NEWS(&r->arena, bool, r->n_warps);
    r->meeting = PG_NEWS(&r->arena, pe_meeting, r->n_warps);
    r->bar = PG_NEWS(&r->arena, pe_clock *, (size_t)cluster->n * PE_N_BARRIERS);
    r->bar_joined = PG_NEWS(&r->arena, uint32_t, (size_t)cluster->n * PE_N_BARRIERS);
    r->pages_of_cta = (PE_SHARED_START + cta->launch->shared_size + 255) / 256;
    r->n_pages = cluster->n * r->pages_of_cta;
    if (r->arena.is_oom) {
        return false;
    }
    pe_clock *start = pe_clock_new(cta);
    r->exited = pe_clock_new(cta);
    if (start == NULL || r->exited == NULL || r->arena.is_oom) {
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        r->own[k] = 1;
        r->seen[k] = start;
    }
    start->n_refs = n + 1;
    return true;
}

pe_races *pe_races_new(pe_cluster *cluster)
{
    pg_alloc alloc = cluster->worker->alloc;
    pe_races *r = alloc.resize(alloc.user, NULL, 0, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    *r = (pe_races){.serial = 0};
    pg_arena_init(&r->arena, alloc);
    cluster->races = r;
    for (uint32_t k = 0; k < cluster->n; k++) {
        cluster->ctas[k].races = r;
    }
    if (!init(cluster)) {
        pe_races_fini(cluster);
        return NULL;
    }
    return r;
}

void pe_races_fini(pe_cluster *cluster)
{
    pe_races *r = cluster->races;
    if (r != NULL) {
        pg_alloc alloc = cluster->worker->alloc;
        pg_arena_fini(&r->arena);
        alloc.resize(alloc.user, r, sizeof *r, 0);
        cluster->races = NULL;
    }
}
