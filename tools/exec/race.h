/* race.h: happens-before between the threads of a cluster, and who touched what.
 *
 * Each thread has a clock of its own, which ticks when it publishes (barrier, fence, exit), and a
 * shared, immutable vector of the clocks of others that it has seen: pe_clock. Vectors are shared
 * by all threads that left a barrier together. An access is stamped with its thread's clock; it
 * happened before what a thread does now if that thread has seen the clock. */
#ifndef PTXEXEC_RACE_H
#define PTXEXEC_RACE_H

#include "tools/exec/exec.h"

struct pe_clock {
    uint32_t n_refs;
    uint32_t id;         /* never used twice in a CTA */
    uint32_t fence_time; /* latest fence of those who published (practice) */
    /* What other clusters did until then: happened before; is seen by strong loads. */
    uint32_t known_time, visible_time;
    struct pe_clock *next;
    uint32_t n_agents;
    bool is_fenced; /* all of at[] lies behind a proxy fence: both halves are equal */
    /* By thread; behind them by warp: the least of its threads; then by agent. With an async proxy
     * the same again: how much of it lies behind a proxy fence (without the warps). */
    uint32_t at[];
};

typedef struct pe_edge { /* a place in memory by which threads order themselves */
    pe_clock *seen;
} pe_edge;

typedef struct pe_meeting { /* where a warp last passed a barrier of the CTA */
    uint32_t id, line;
    bool is_set;
} pe_meeting;

typedef struct pe_flight { /* a read by the async proxy that nobody waited for */
    pe_warp *w;
    const pe_inst *i;
    const void *owner;
    uint32_t lane, lo, hi; /* shared addresses; of a product: not all between them */
    uint32_t serial;
} pe_flight;

typedef struct pe_map_fence { /* the last one between proxies for the tensor map at an address */
    uint64_t at;
    uint32_t time;
} pe_map_fence;

/* The last write that a product found in order, with a fence: the next bytes mostly have the same
 * one. Holds for one thread and instruction. */
typedef struct pe_write_seen {
    uint32_t by_tid, by_serial;
    uint32_t clock, serial, phase;
    uint16_t tid, agent;
    uint8_t kind;
} pe_write_seen;

struct pe_races {
    pg_arena arena;
    bool is_isa, has_proxy;
    uint32_t n_threads, n_warps; /* of the cluster */
    uint32_t warps_of_cta, pages_of_cta;
    uint32_t reader_shift;         /* log2 of the warps that share a bit of a cell's readers */
    uint32_t n_agents, agents_cap; /* see pe_race_new_agent */
    uint32_t serial;               /* of the warp instruction that touches memory */
    uint32_t last_id;              /* of clocks */
    uint32_t *own;                 /* by thread: its clock; starts at 1 */
    uint32_t *fenced;              /* by thread: clock that its last fence published, 0 */
    uint32_t *fence_time;          /* of the launch: of a fence that reaches other clusters */
    pe_clock **fenced_seen;        /* by thread: what it had seen at its last fence, NULL: none */
    /* By thread: an agent that stands for its mbarrier.init alone, + 1, and how many times they
     * were fenced for. */
    uint32_t *init_agent, *init_time;
    uint32_t *proxied;   /* by thread: its clock at its last proxy fence; has_proxy only */
    pe_clock **seen;     /* by thread */
    pe_clock **acquired; /* by thread: seen by relaxed reads, to be taken at a fence */
    uint32_t *known;     /* by warp: all its lanes have seen their warp up to here */
    bool *is_proxy_news; /* a lane fenced since all lanes met */
    pe_clock **bar;      /* by CTA and barrier: what those who arrived published */
    uint32_t *bar_joined;
    pe_clock *cluster_open, *cluster_done; /* barrier.cluster: this phase, the last one */
    pe_clock *exited;                      /* what threads that exited published */
    pe_clock *spare;
    pg_map edge_of; /* generic address -> edges */
    PG_VEC(pe_edge) edges;
    pe_meeting *meeting; /* by warp */
    PG_VEC(pe_flight) flights;
    struct pe_page *pages; /* of shared memory */
    uint32_t n_pages;
    pe_write_seen seen_ok;
    uint32_t proxy_time; /* of the launch: the last fence between proxies for global memory */
    PG_VEC(pe_map_fence) map_fences;
};

pe_races *pe_races_new(pe_cluster *cluster); /* NULL when out of memory */
void pe_races_fini(pe_cluster *cluster);

/* ---- order (clock.c) ---- */

void pe_race_bar_arrive(pe_warp *w, const pe_inst *i, uint32_t id, uint32_t mask);
/* The threads that wait at the barrier go on; before they are woken. */
void pe_race_bar_release(pe_cta *cta, uint32_t id, bool is_whole);
void pe_race_meet(pe_warp *w, uint32_t set, bool is_barrier);
typedef struct pe_fence {
    bool is_acquire, is_release, is_sc;
    uint32_t scope; /* PE_SCOPE_* */
} pe_fence;
void pe_race_fence(pe_warp *w, uint32_t mask, const pe_fence *f);
/* The lanes take c at their next fence. */
void pe_race_take_later(pe_warp *w, uint32_t mask, pe_clock *c);
void pe_race_exit(pe_warp *w, uint32_t mask);
void pe_race_cluster_arrive(pe_warp *w, uint32_t mask, bool is_relaxed);
void pe_race_cluster_over(pe_cluster *c); /* before waiters are woken */
void pe_race_cluster_waited(pe_warp *w, uint32_t mask);
void pe_race_proxy_fence(pe_warp *w, uint32_t mask);
void pe_race_global_proxy_fence(pe_warp *w);
void pe_race_map_fence(pe_warp *w, uint64_t at);
/* What was written of tensor maps until now may be fenced for; tensormap.cp_fenceproxy does so
 * itself. */
void pe_race_map_sent(pe_warp *w);
bool pe_is_map_publish(const pe_inst *i); /* ops_tensormap.c */
/* A copy goes by the tensor map at `at` in global memory: ordered behind who wrote it, and behind a
 * fence of its proxy. */
void pe_race_map_used(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t at);
/* Barriers that these lanes initialised may be signalled by copies. */
void pe_race_barriers_ready(pe_warp *w, uint32_t mask);
/* fence.mbarrier_init: of all that the lanes did, what they initialised. */
void pe_race_inits_fenced(pe_warp *w, uint32_t mask);
/* Strong accesses by the lanes `mask` to `generic` addresses order what comes before and after. */
void pe_race_strong(pe_warp *w, const pe_inst *i, uint32_t mask, const uint64_t *generic,
                    uint8_t kind);

/* The lanes have seen what an agent did until `time`. */
void pe_race_agent_seen(pe_warp *w, uint32_t mask, uint32_t agent, uint32_t time);
/* What copies write that signal at an mbarrier is stamped with an agent of the barrier, and the
 * phase in which it arrived: who waited for that phase has seen it. */
uint32_t pe_race_new_agent(pe_cta *cta);
void pe_race_mbar_arrive(pe_warp *w, pe_mbar *b, uint32_t mask, bool is_relaxed);
/* Arrivals at b come after what `agent` did until `phase`. */
void pe_race_mbar_knows(pe_cta *cta, pe_mbar *b, uint32_t agent, uint32_t phase);
void pe_race_mbar_over(pe_cta *cta, pe_mbar *b); /* a phase is over; before its waiters are woken */
/* The lanes saw the end of the phase of the barrier wait_key; relaxed, it orders from their next
 * fence on. */
void pe_race_mbar_waited(pe_warp *w, uint32_t mask, bool is_relaxed);
static inline bool pe_race_knows_agent(const pe_races *r, const pe_clock *seen, uint32_t agent,
                                       uint32_t phase)
{
    return agent < seen->n_agents && seen->at[r->n_threads + r->n_warps + agent] >= phase;
}

/* What the thread has seen through a proxy fence: only that is ordered before what it issues to the
 * async proxy. */
bool pe_race_is_proxied(const pe_races *r, uint32_t me, uint32_t tid, uint32_t clock);
bool pe_race_is_proxied_agent(const pe_races *r, uint32_t me, uint32_t agent, uint32_t phase);

/* ---- accesses (race.c, race_global.c) ---- */

typedef enum pe_mark_kind {
    PE_MK_NONE,
    PE_MK_PLAIN,
    PE_MK_STRONG,
    PE_MK_PENDING, /* a cp.async that nobody waited for */
    PE_MK_COPIED,  /* a cp.async that its thread waited for */
    PE_MK_BULK,    /* a bulk copy, until somebody waited for it */
    PE_MK_WGMMA    /* what a product reads */
} pe_mark_kind;

/* One side of a race, as it was remembered. */
typedef struct pe_mark {
    uint64_t cluster;
    uint32_t tid, pc; /* the thread's number in the cluster */
    pe_mark_kind kind;
    bool is_write;
    bool is_unfenced; /* ordered, but not between the proxies */
    bool is_grouped;  /* BULK: it belongs to a bulk group */
} pe_mark;

/* ops_mem.c: whether a plain store is about to write what is there already. */
bool pe_st_is_same(pe_warp *w, const pe_inst *i, uint32_t lane);
uint32_t pe_race_serial(const pe_cta *cta);
/* Lanes of a copy are complete: their thread waited, or (b) they signalled at a barrier. */
void pe_race_settle(pe_warp *w, const pe_copy *c, pe_mbar *b_or_null, bool is_postponed);
bool pe_race_knows(const pe_warp *w, uint32_t lane, uint32_t tid, uint32_t clock);
/* A race of the lane's access with what the mark says. */
void pe_race_report(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t generic, uint32_t size,
                    bool is_write, const pe_mark *other);

typedef struct pe_bytes { /* of shared memory */
    uint32_t at, size;
} pe_bytes;

/* One lane's access, and its mark (a read with is_look leaves none). False after a report. */
bool pe_race_cells(pe_warp *w, const pe_inst *i, uint32_t lane, pe_bytes bytes, uint8_t kind,
                   bool is_look);
/* What the access `serial` wrote there signals at a barrier, in its present phase. */
void pe_race_signalled(pe_cta *cta, pe_bytes bytes, uint32_t serial, const pe_mbar *m);
/* The CTA has ended: other CTAs' accesses to its shared memory must be ordered before that. */
void pe_race_cta_end(pe_cta *cta);
void pe_race_count_flights(pe_cta *cta, uint32_t lo, uint32_t hi, uint32_t by);
/* A write of bytes that something may still read: false after a report. */
bool pe_race_check_flights(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t lo, uint64_t hi);
/* Products: what one reads is stamped with an agent of its warp group, and its number: who waited
 * has seen it, and so has everybody who comes after one who waited. */
typedef struct pe_wg_mark {
    uint32_t agent, time; /* time 0: none */
    uint32_t slot;        /* below the warps of the CTA: one for each agent */
    uint32_t tid, pc;
} pe_wg_mark;
struct pe_wg_op;
/* A warp executes a product; false after a report. A warp waited for all up to `time`. */
bool pe_race_wgmma_join(pe_warp *w, const pe_inst *i, const struct pe_wg_op *op);
void pe_race_wgmma_waited(pe_warp *w, uint32_t time);
/* 16 bytes of shared memory at a multiple of 16. */
void pe_race_mark_product(pe_warp *w, uint32_t at, const pe_wg_mark *m);

bool pe_gshadow_init(pe_launch *l);
void pe_gshadow_fini(pe_launch *l);
void pe_gshadow_touch(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address,
                      const pe_touch *t);
/* Some bytes at once; a write that goes on until pe_gshadow_settle has PE_T_COPY. */
void pe_gshadow_range(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address, uint32_t size,
                      uint8_t kind);
void pe_gshadow_settle(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address,
                       uint32_t size);
uint32_t pe_gshadow_now(pe_launch *l); /* a new time */
/* A release at the address of what came before `time`. What was released there by other clusters,
 * until when. */
void pe_gshadow_release(pe_warp *w, uint64_t address, uint32_t time);
uint32_t pe_gshadow_acquire(pe_warp *w, uint64_t address);
/* A fence.sc now; returns the time of the one before. */
uint32_t pe_gshadow_fence_sc(pe_launch *l, uint32_t now);
/* What a strong load of `size` bytes may still find there, instead of `now`: the value before a
 * write that nothing orders before it. */
uint64_t pe_gshadow_stale(pe_warp *w, uint32_t lane, uint64_t address, uint32_t size, uint64_t now);

#endif
