/* race_global.c: who touched which bytes of global memory during a launch.
 *
 * A cell for every 4 bytes (2 or 1 in pages where smaller accesses were seen) keeps the last write
 * and the reads of two CTAs. Within a cluster the clocks of its threads say what is ordered.
 * Between clusters there is one time for the launch: who acquires what was released at a time is
 * taken to have seen all that came before it. That asks less than happens-before does, so a report
 * is never wrong; without fences and atomics it is exact. The same with fences between the proxies:
 * any of the cluster, behind the write, is taken to be the one that is needed.
 *
 * Strong accesses race with nobody, but only fences say when others see them. So a strong load may
 * get the value before the last strong write of another cluster, for a while that the seed draws,
 * unless that write happened before it, or a fence.sc of both lies between (pe_gshadow_stale).
 * Whether a write is hidden depends on write and reading cluster alone, and what is shown then
 * stays shown: each address keeps its order of values. */
#include "tools/exec/cluster.h"
#include "tools/exec/race.h"

enum { PAGE_BITS = 12, PAGE = 1 << PAGE_BITS, N_NEAR = 64, MAP_SIZE = 128 };

typedef struct mark {
    uint32_t cluster; /* + 1; 0: none */
    uint32_t time, clock, pc;
    uint16_t tid;
    uint8_t strength; /* STRONG_*; how far it is strong */
    bool is_pending;  /* a copy that its thread did not wait for */
    bool is_async;    /* through the async proxy */
    bool is_write;
} mark;

enum { STRONG_NOT, STRONG_CTA, STRONG_CLUSTER, STRONG_WIDE };

typedef struct gcell {
    mark write;
    mark read[2]; /* of two CTAs */
    uint32_t old; /* what the last write, a strong one, replaced */
} gcell;

typedef struct gpage {
    uint32_t shift;
    gcell *cells;
} gpage;

typedef struct gedge { /* releases at an address: the latest time, whose, and the latest of others.
                        * A fence's time: not the order in which they came. */
    uint32_t cta, time, other_time;
} gedge;

struct pe_gshadow {
    pg_arena arena;
    pg_map page_of; /* address >> PAGE_BITS -> pages */
    PG_VEC(gpage *) pages;
    struct {
        uint64_t key;
        gpage *page;
    } near[N_NEAR];
    pg_map edge_of;
    PG_VEC(gedge) edges;
    uint32_t now, sc_time, proxy_time;
    uint32_t maps_sent; /* of the last fence that lets tensor maps go */
};

bool pe_gshadow_init(pe_launch *l)
{
    pe_gshadow *g = l->alloc.resize(l->alloc.user, NULL, 0, sizeof *g);
    if (g == NULL) {
        return false;
    }
    *g = (pe_gshadow){.now = 1};
    pg_arena_init(&g->arena, l->alloc);
    pg_map_init(&g->page_of, &g->arena);
    pg_map_init(&g->edge_of, &g->arena);
    l->gshadow = g;
    return true;
}

void pe_gshadow_fini(pe_launch *l)
{
    if (l->gshadow != NULL) {
        pg_arena_fini(&l->gshadow->arena);
        l->alloc.resize(l->alloc.user, l->gshadow, sizeof *l->gshadow, 0);
        l->gshadow = NULL;
    }
}

uint32_t pe_gshadow_now(pe_launch *l)
{
    return ++l->gshadow->now;
}

/* ---- pages ------------------------------------------------------------------------------------
 */

static gpage *find_page(pe_gshadow *g, uint64_t key)
{
    uint32_t *known = pg_map_get(&g->page_of, key);
    if (known != NULL) {
        return g->pages.at[*known];
    }
    gpage *p = PG_NEW(&g->arena, gpage);
    if (p == NULL || !pg_vec_push(&g->arena, &g->pages, p) ||
        !pg_map_put(&g->page_of, key, g->pages.n - 1)) {
        return NULL;
    }
    return p;
}

static bool split(pe_gshadow *g, gpage *p, uint32_t shift)
{
    uint32_t n = (uint32_t)PAGE >> shift;
    gcell *cells = PG_NEWS(&g->arena, gcell, n);
    for (uint32_t k = 0; cells != NULL && p->cells != NULL && k < n; k++) {
        cells[k] = p->cells[k >> (p->shift - shift)];
    }
    p->cells = cells;
    p->shift = shift;
    return cells != NULL;
}

static gpage *page_at(pe_gshadow *g, uint64_t address, uint32_t size)
{
    uint64_t key = address >> PAGE_BITS;
    uint32_t shift = size >= 4 ? 2 : size == 2 ? 1 : 0;
    gpage *p = g->near[key % N_NEAR].page;
    if (p == NULL || g->near[key % N_NEAR].key != key) {
        p = find_page(g, key);
        g->near[key % N_NEAR].key = key;
        g->near[key % N_NEAR].page = p;
    }
    if (p == NULL || ((p->cells == NULL || p->shift > shift) && !split(g, p, shift))) {
        return NULL;
    }
    return p;
}

/* ---- cells ------------------------------------------------------------------------------------
 */

static const pe_clock *seen_by(const pe_warp *w, uint32_t lane)
{
    return w->cta->races->seen[w->race_index * PE_LANES + lane];
}

static bool is_ordered(const pe_warp *w, uint32_t lane, const mark *m)
{
    if (m->cluster - 1 == w->cta->cluster->number) {
        return pe_race_knows(w, lane, m->tid, m->clock);
    }
    return m->time <= seen_by(w, lane)->known_time;
}

/* Both strong, as far as they are apart. */
static bool are_strong(const pe_warp *w, const mark *mine, const mark *m)
{
    uint32_t both = mine->strength < m->strength ? mine->strength : m->strength;
    uint32_t threads = w->cta->races->warps_of_cta * PE_LANES;
    return both >= (mine->cluster != m->cluster               ? STRONG_WIDE
                    : mine->tid / threads != m->tid / threads ? STRONG_CLUSTER
                                                              : STRONG_CTA);
}

static bool conflicts(const pe_warp *w, uint32_t lane, const mark *mine, const mark *m)
{
    if (m->cluster == 0 || are_strong(w, mine, m) ||
        (m->cluster == mine->cluster && m->time == mine->time)) {
        return false;
    }
    return m->is_pending || !is_ordered(w, lane, m);
}

/* Ordered, but not between the proxies: what the async proxy does comes after a generic write, or
 * (isa) its write after a generic read. */
static bool is_unfenced(const pe_warp *w, const mark *mine, const mark *m)
{
    return mine->is_async && m->cluster != 0 && !m->is_async &&
           m->time >= (m->cluster == mine->cluster ? w->cta->races->proxy_time
                                                   : w->cta->launch->gshadow->proxy_time);
}

/* Threads that all store the same to one place by one statement do so on purpose (practice). */
static bool stores_the_same(pe_warp *w, const pe_inst *i, uint32_t lane, const mark *mine,
                            const mark *m)
{
    return !w->cta->races->is_isa && mine->is_write && m->is_write && mine->pc == m->pc &&
           mine->strength == STRONG_NOT && !mine->is_pending && m->strength == STRONG_NOT &&
           !m->is_pending && pe_st_is_same(w, i, lane);
}

/* A read, or a store that another one of the same bytes took the place of. */
static void remember(gcell *c, const mark *m)
{
    mark *r = c->read;
    uint32_t k = r[0].cluster == m->cluster || r[0].cluster == 0   ? 0
                 : r[1].cluster == m->cluster || r[1].cluster == 0 ? 1
                 : r[0].time < r[1].time                           ? 0
                                                                   : 1;
    r[k] = *m;
}

typedef struct found { /* what an access conflicts with */
    const mark *m;
    bool is_unfenced;
} found;

static found touch_cell(pe_warp *w, const pe_inst *i, uint32_t lane, gcell *c, const mark *mine,
                        bool is_look)
{
    bool is_again = false;
    if (conflicts(w, lane, mine, &c->write)) {
        is_again = stores_the_same(w, i, lane, mine, &c->write);
        if (!is_again) {
            return (found){.m = &c->write};
        }
    }
    if (is_unfenced(w, mine, &c->write)) {
        return (found){&c->write, true};
    }
    if (!mine->is_write) {
        remember(c, mine);
        return (found){.m = NULL};
    }
    for (uint32_t k = 0; k < 2; k++) {
        if (conflicts(w, lane, mine, &c->read[k])) {
            if (!stores_the_same(w, i, lane, mine, &c->read[k])) {
                return (found){.m = &c->read[k]};
            }
            is_again = true;
        }
        if (w->cta->races->is_isa && is_unfenced(w, mine, &c->read[k])) {
            return (found){&c->read[k], true};
        }
    }
    if (is_look) {
        return (found){.m = NULL};
    }
    if (is_again) {
        remember(c, &c->write);
        c->write = *mine;
        return (found){.m = NULL};
    }
    *c = (gcell){.write = *mine, .old = c->old};
    return (found){.m = NULL};
}

/* What a strong write is about to replace. */
static void keep_old(pe_warp *w, uint32_t lane, const gpage *p, gcell *c, uint64_t at)
{
    uint64_t left = 0;
    uint64_t first = at & ~((UINT64_C(1) << p->shift) - 1);
    const uint8_t *bytes = pe_peek(w, lane, first, &left);
    c->old = 0;
    memcpy(&c->old, bytes != NULL ? bytes : (const uint8_t *)&c->old,
           bytes != NULL && left >= 1u << p->shift ? (size_t)1 << p->shift : 0);
}

/* Size of the cells that an access wants: 1, 2 or 4 bytes. */
static uint32_t unit_of(uint64_t address, uint32_t size)
{
    uint64_t both = address | size;
    return (both & 3u) == 0 ? 4 : (both & 1u) == 0 ? 2 : 1;
}

static uint8_t strength_of(const pe_inst *i)
{
    static const uint8_t of[] = {[PE_SCOPE_WIDE] = STRONG_WIDE,
                                 [PE_SCOPE_CTA] = STRONG_CTA,
                                 [PE_SCOPE_CLUSTER] = STRONG_CLUSTER};
    return of[i->target];
}

void pe_gshadow_range(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address, uint32_t size,
                      uint8_t kind)
{
    pe_launch *l = w->cta->launch;
    pe_gshadow *g = l->gshadow;
    uint32_t tid = w->race_index * PE_LANES + lane;
    uint32_t unit = unit_of(address, size);
    bool is_strong = (i->flags & PE_I_STRONG) != 0;
    bool is_look = (kind & PE_T_LOOK) != 0;
    mark mine = {.cluster = (uint32_t)w->cta->cluster->number + 1,
                 .time = g->now,
                 .clock = w->cta->races->own[tid],
                 .pc = (uint32_t)(i - l->m->code.at),
                 .tid = (uint16_t)tid,
                 .strength = is_strong ? strength_of(i) : STRONG_NOT,
                 .is_pending = (kind & PE_T_COPY) != 0,
                 .is_async = (kind & PE_T_ASYNC) != 0,
                 .is_write = (kind & PE_T_WRITE) != 0};
    for (uint64_t at = address, end = at + size; at < end;) {
        gpage *p = page_at(g, at, unit);
        if (p == NULL) {
            w->cta->worker->is_oom = true;
            return;
        }
        gcell *c = &p->cells[(at & (PAGE - 1)) >> p->shift];
        if (is_strong && mine.is_write && !is_look) {
            keep_old(w, lane, p, c, at);
        }
        found f = touch_cell(w, i, lane, c, &mine, is_look);
        const mark *bad = f.m;
        if (bad != NULL) {
            pe_mark m = {.cluster = bad->cluster - 1,
                         .tid = bad->tid,
                         .pc = bad->pc,
                         .kind = bad->is_pending               ? PE_MK_BULK
                                 : bad->strength != STRONG_NOT ? PE_MK_STRONG
                                                               : PE_MK_PLAIN,
                         .is_grouped = bad->is_pending,
                         .is_unfenced = f.is_unfenced,
                         .is_write = bad->is_write};
            pe_race_report(w, i, lane, address, size, mine.is_write, &m);
            return;
        }
        at = (at | ((UINT64_C(1) << p->shift) - 1)) + 1;
    }
}

void pe_gshadow_touch(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address,
                      const pe_touch *t)
{
    pe_gshadow_range(w, i, lane, address, t->size, t->kind & (PE_T_READ | PE_T_WRITE | PE_T_LOOK));
}

void pe_gshadow_settle(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address, uint32_t size)
{
    pe_gshadow *g = w->cta->launch->gshadow;
    uint32_t tid = w->race_index * PE_LANES + lane;
    uint32_t pc = (uint32_t)(i - w->cta->launch->m->code.at);
    uint32_t unit = unit_of(address, size);
    for (uint64_t at = address, end = at + size; at < end;) {
        gpage *p = page_at(g, at, unit);
        if (p == NULL) {
            w->cta->worker->is_oom = true;
            return;
        }
        mark *m = &p->cells[(at & (PAGE - 1)) >> p->shift].write;
        if (m->is_pending && m->cluster == (uint32_t)w->cta->cluster->number + 1 && m->tid == tid &&
            m->pc == pc) {
            m->is_pending = false;
            m->clock = w->cta->races->own[tid];
            m->time = g->now;
        }
        at = (at | ((UINT64_C(1) << p->shift) - 1)) + 1;
    }
}

/* ---- order between CTAs -----------------------------------------------------------------------
 */

void pe_gshadow_release(pe_warp *w, uint64_t address, uint32_t time)
{
    pe_gshadow *g = w->cta->launch->gshadow;
    uint32_t cta = (uint32_t)w->cta->cluster->number;
    uint32_t *known = pg_map_get(&g->edge_of, address);
    if (known == NULL) {
        gedge e = {.cta = cta, .time = time};
        if (!pg_vec_push(&g->arena, &g->edges, e) ||
            !pg_map_put(&g->edge_of, address, g->edges.n - 1)) {
            w->cta->worker->is_oom = true;
        }
        return;
    }
    gedge *e = &g->edges.at[*known];
    if (e->cta == cta) {
        e->time = time > e->time ? time : e->time;
    } else if (time > e->time) {
        *e = (gedge){.cta = cta, .time = time, .other_time = e->time};
    } else {
        e->other_time = time > e->other_time ? time : e->other_time;
    }
}

uint32_t pe_gshadow_acquire(pe_warp *w, uint64_t address)
{
    const pe_gshadow *g = w->cta->launch->gshadow;
    const uint32_t *known = pg_map_get(&g->edge_of, address);
    if (known == NULL) {
        return 0;
    }
    const gedge *e = &g->edges.at[*known];
    return e->cta != (uint32_t)w->cta->cluster->number ? e->time : e->other_time;
}

uint32_t pe_gshadow_fence_sc(pe_launch *l, uint32_t now)
{
    uint32_t before = l->gshadow->sc_time;
    l->gshadow->sc_time = now;
    return before;
}

void pe_race_global_proxy_fence(pe_warp *w)
{
    uint32_t now = pe_gshadow_now(w->cta->launch);
    w->cta->races->proxy_time = now;
    w->cta->launch->gshadow->proxy_time = now;
}

void pe_race_map_fence(pe_warp *w, uint64_t at)
{
    pe_races *r = w->cta->races;
    uint32_t k = 0;
    while (k < r->map_fences.n && r->map_fences.at[k].at != at) {
        k++;
    }
    pe_map_fence f = {.at = at, .time = pe_gshadow_now(w->cta->launch)};
    if (k < r->map_fences.n) {
        r->map_fences.at[k] = f;
    } else if (!pg_vec_push(&r->arena, &r->map_fences, f)) {
        w->cta->worker->is_oom = true;
    }
}

void pe_race_map_sent(pe_warp *w)
{
    w->cta->launch->gshadow->maps_sent = pe_gshadow_now(w->cta->launch);
}

/* When the cluster last fenced for the map; 0: never. */
static uint32_t fenced_at(const pe_races *r, uint64_t map)
{
    for (uint32_t k = 0; k < r->map_fences.n; k++) {
        if (r->map_fences.at[k].at == map) {
            return r->map_fences.at[k].time;
        }
    }
    return 0;
}

void pe_race_map_used(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t at)
{
    const ptxexec_module *m = w->cta->launch->m;
    uint32_t fenced = fenced_at(w->cta->races, at);
    pe_gshadow_range(w, i, lane, at, MAP_SIZE, PE_T_READ);
    for (uint32_t k = 0; k < MAP_SIZE && !w->cta->is_failed; k += 4) {
        const gpage *p = page_at(w->cta->launch->gshadow, at + k, 4);
        if (p == NULL) {
            w->cta->worker->is_oom = true;
            return;
        }
        const mark *written = &p->cells[((at + k) & (PAGE - 1)) >> p->shift].write;
        bool is_sent = pe_is_map_publish(&m->code.at[written->pc]) ||
                       written->time < w->cta->launch->gshadow->maps_sent;
        if (written->cluster != 0 && (!is_sent || written->time >= fenced)) {
            pe_fault_at(w, i, PTXEXEC_F_PROXY,
                        (pe_place){.lanes = 1u << lane, .address = at, .size = MAP_SIZE},
                        "the copy goes by the tensor map at 0x%llx, which line %u wrote, and no "
                        "fence.proxy.tensormap::generic.%s lies between",
                        (unsigned long long)at, m->srcs.at[m->code.at[written->pc].src].loc.line,
                        is_sent ? "acquire of its address" : "release");
        }
    }
}

/* ---- strong loads -----------------------------------------------------------------------------
 */

/* How many accesses later the cluster sees a write: at once, soon, or late. */
static uint32_t delay_of(const pe_warp *w, uint32_t time)
{
    uint64_t x = w->cta->launch->o.seed * 0x9E3779B97F4A7C15ull + w->cta->cluster->number;
    x = (x ^ time) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 29) * 0x94D049BB133111EBull;
    x ^= x >> 32;
    static const uint32_t most[] = {1, 1, 64, 4096};
    return (uint32_t)(x >> 2) % most[x & 3u];
}

static bool is_hidden(const pe_warp *w, uint32_t lane, const mark *m)
{
    const pe_clock *seen = seen_by(w, lane);
    return m->strength != STRONG_NOT && m->cluster != (uint32_t)w->cta->cluster->number + 1 &&
           m->time > seen->known_time && m->time > seen->visible_time &&
           w->cta->launch->gshadow->now - m->time < delay_of(w, m->time);
}

uint64_t pe_gshadow_stale(pe_warp *w, uint32_t lane, uint64_t address, uint32_t size, uint64_t now)
{
    pe_gshadow *g = w->cta->launch->gshadow;
    uint64_t x = now;
    for (uint64_t at = address, end = at + size; at < end;) {
        const gpage *p = page_at(g, at, unit_of(address, size));
        if (p == NULL) {
            return now; /* the access itself ran out of memory */
        }
        uint32_t n = 1u << p->shift;
        const gcell *c = &p->cells[(at & (PAGE - 1)) >> p->shift];
        uint32_t skipped = (uint32_t)(at & (n - 1));
        if (is_hidden(w, lane, &c->write) && skipped == 0 && at + n <= end) {
            memcpy((uint8_t *)&x + (at - address), &c->old, n);
        }
        at += n - skipped;
    }
    return x;
}
