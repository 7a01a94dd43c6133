/* race_global.c: who touched which bytes of global memory during a launch.
 *
 * A cell for every 4 bytes (2 or 1 in pages where smaller accesses were seen) keeps the last write
 * and the reads of two CTAs. Within a CTA the clocks of its threads say what is ordered. Between
 * CTAs there is one time for the launch: who acquires what was released at a time is taken to have
 * seen all that came before it. That asks less than happens-before does, so a report is never
 * wrong; without fences and atomics it is exact. */
#include "tools/exec/cluster.h"
#include "tools/exec/race.h"

enum { PAGE_BITS = 12, PAGE = 1 << PAGE_BITS, N_NEAR = 64 };

typedef struct mark {
    uint32_t cluster; /* + 1; 0: none */
    uint32_t time, clock, pc;
    uint16_t tid;
    bool is_strong;
    bool is_pending; /* a copy that its thread did not wait for */
    bool is_write;
} mark;

typedef struct gcell {
    mark write;
    mark read[2]; /* of two CTAs */
} gcell;

typedef struct gpage {
    uint32_t shift;
    gcell *cells;
} gpage;

typedef struct gedge { /* releases at an address: the last CTA's, and the last of another CTA */
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
    uint32_t now;
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

static bool is_ordered(const pe_warp *w, uint32_t lane, const mark *m)
{
    if (m->cluster - 1 == w->cta->cluster->number) {
        return pe_race_knows(w, lane, m->tid, m->clock);
    }
    return m->time <= w->cta->races->known_time;
}

static bool conflicts(const pe_warp *w, uint32_t lane, const mark *mine, const mark *m)
{
    if (m->cluster == 0 || (mine->is_strong && m->is_strong) ||
        (m->cluster == mine->cluster && m->time == mine->time)) {
        return false;
    }
    return m->is_pending || !is_ordered(w, lane, m);
}

/* Threads that all store the same to one place by one statement do so on purpose (practice). */
static bool stores_the_same(pe_warp *w, const pe_inst *i, uint32_t lane, const mark *mine,
                            const mark *m)
{
    return !w->cta->races->is_isa && mine->is_write && m->is_write && mine->pc == m->pc &&
           !mine->is_strong && !mine->is_pending && !m->is_strong && !m->is_pending &&
           pe_st_is_same(w, i, lane);
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

/* NULL, or what the access races with. */
static const mark *touch_cell(pe_warp *w, const pe_inst *i, uint32_t lane, gcell *c,
                              const mark *mine)
{
    bool is_again = false;
    if (conflicts(w, lane, mine, &c->write)) {
        is_again = stores_the_same(w, i, lane, mine, &c->write);
        if (!is_again) {
            return &c->write;
        }
    }
    if (!mine->is_write) {
        remember(c, mine);
        return NULL;
    }
    for (uint32_t k = 0; k < 2; k++) {
        if (conflicts(w, lane, mine, &c->read[k])) {
            if (!stores_the_same(w, i, lane, mine, &c->read[k])) {
                return &c->read[k];
            }
            is_again = true;
        }
    }
    if (is_again) {
        remember(c, &c->write);
        c->write = *mine;
        return NULL;
    }
    *c = (gcell){.write = *mine};
    return NULL;
}

/* Size of the cells that an access wants: 1, 2 or 4 bytes. */
static uint32_t unit_of(uint64_t address, uint32_t size)
{
    uint64_t both = address | size;
    return (both & 3u) == 0 ? 4 : (both & 1u) == 0 ? 2 : 1;
}

void pe_gshadow_range(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address, uint32_t size,
                      uint8_t kind)
{
    pe_launch *l = w->cta->launch;
    pe_gshadow *g = l->gshadow;
    uint32_t tid = w->race_index * PE_LANES + lane;
    uint32_t unit = unit_of(address, size);
    mark mine = {.cluster = (uint32_t)w->cta->cluster->number + 1,
                 .time = g->now,
                 .clock = w->cta->races->own[tid],
                 .pc = (uint32_t)(i - l->m->code.at),
                 .tid = (uint16_t)tid,
                 .is_strong = (i->flags & PE_I_STRONG) != 0,
                 .is_pending = (kind & PE_T_COPY) != 0,
                 .is_write = (kind & PE_T_WRITE) != 0};
    for (uint64_t at = address, end = at + size; at < end;) {
        gpage *p = page_at(g, at, unit);
        if (p == NULL) {
            w->cta->worker->is_oom = true;
            return;
        }
        gcell *c = &p->cells[(at & (PAGE - 1)) >> p->shift];
        const mark *bad = touch_cell(w, i, lane, c, &mine);
        if (bad != NULL) {
            pe_mark m = {.cluster = bad->cluster - 1,
                         .tid = bad->tid,
                         .pc = bad->pc,
                         .kind = bad->is_pending  ? PE_MK_BULK
                                 : bad->is_strong ? PE_MK_STRONG
                                                  : PE_MK_PLAIN,
                         .is_grouped = bad->is_pending,
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
    uint8_t kind = t->kind & (PE_T_READ | PE_T_WRITE);
    pe_gshadow_range(w, i, lane, address, t->size, kind);
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
    if (e->cta != cta) {
        e->other_time = e->time > e->other_time ? e->time : e->other_time;
        e->cta = cta;
        e->time = 0;
    }
    e->time = time > e->time ? time : e->time;
}

void pe_gshadow_acquire(pe_warp *w, uint64_t address)
{
    const pe_gshadow *g = w->cta->launch->gshadow;
    const uint32_t *known = pg_map_get(&g->edge_of, address);
    if (known == NULL) {
        return;
    }
    const gedge *e = &g->edges.at[*known];
    uint32_t time = e->cta != (uint32_t)w->cta->cluster->number ? e->time : e->other_time;
    if (time > w->cta->races->known_time) {
        w->cta->races->known_time = time;
    }
}
