/* mbar.h: mbarrier objects. An object is 8 bytes of shared memory; what the hardware keeps there
 * stands in a table beside it, and the bytes hold a pattern of it, so that an ordinary write shows.
 *
 * I1  A phase is complete when no arrival and no byte is missing; only pe_mbar_* change that.
 * I2  The table has each address once, also after mbarrier.inval. */
#ifndef PTXEXEC_MBAR_H
#define PTXEXEC_MBAR_H

#include "tools/exec/trace.h"

enum { PE_MBAR_SIZE = 8, PE_MBAR_MOST = (1 << 20) - 1 };

struct pe_mbar {
    uint32_t at; /* shared address */
    bool is_valid;
    uint32_t expected, pending; /* arrivals: of a phase, of this one still to come */
    int32_t tx;                 /* bytes of this phase still to come */
    uint32_t phase;             /* phases that are over, since the initialisation */
    uint32_t init_pc, last_pc;  /* mbarrier.init or .inval; the last arrival */
    /* order (races only): what arrivals of this phase, and of all phases before it, published */
    pe_clock *open, *done;
    uint32_t joined;
    uint32_t agent;             /* stands in clocks for what copies wrote that signal here */
    uint32_t n_over;            /* phases that are over at this address, ever */
    pe_moment open_at, done_at; /* traces only: the last arrival of this phase, of the one before */
    uint32_t init_tid;
    bool is_ready; /* a fence made the initialisation known to other proxies */
    /* The last copy that signalled, in which phase (n_over); the last phase that somebody saw end.
     */
    const pe_inst *load;
    pe_warp *load_w;
    uint32_t load_lane, load_over, seen_over;
};

/* One lane does something to a barrier. */
typedef struct pe_mbar_use {
    pe_warp *w;
    const pe_inst *i;
    uint32_t lane;
    pe_cta *home; /* whose shared memory holds it */
    pe_mbar *b;
} pe_mbar_use;

enum { PE_MBAR_DROP = 1, PE_MBAR_NO_COMPLETE = 2, PE_MBAR_RELEASE = 4, PE_MBAR_RELAXED = 8 };

/* Finds the object at a shared address. False after a fault: misaligned, outside, not initialised,
 * invalidated, overwritten. */
bool pe_mbar_find(pe_mbar_use *u, uint64_t at);
void pe_mbar_init(pe_mbar_use *u, uint64_t at, uint32_t count);
void pe_mbar_inval(pe_mbar_use *u);
/* Returns the state before it. */
uint64_t pe_mbar_arrive(pe_mbar_use *u, uint32_t n, uint32_t how);
void pe_mbar_expect(pe_mbar_use *u, uint32_t bytes);
void pe_mbar_complete(pe_mbar_use *u, uint32_t bytes);
/* cp.async.mbarrier.arrive without .noinc: one arrival more, which comes later. */
void pe_mbar_more(pe_mbar_use *u);
/* A phase is over: arrivals of copies that are still to come, and what the copies wrote, belong to
 * the next. */
void pe_mbar_postpone(pe_cta *home, pe_mbar *b);
uint64_t pe_mbar_state(const pe_mbar *b);
static inline uint32_t pe_mbar_state_pending(uint64_t state)
{
    return (0u - (uint32_t)(state >> 43)) & (uint32_t)PE_MBAR_MOST;
}
/* Phase of a state, modulo 2^21. */
static inline uint32_t pe_mbar_state_phase(uint64_t state)
{
    return (uint32_t)(state >> 21) & 0x1FFFFFu;
}
/* isa: false after a report that no fence follows the initialisation. */
bool pe_race_mbar_ready(const pe_mbar_use *u);
void pe_mbar_fini(pe_cta *cta);

/* Lanes that wait in test_wait or try_wait get false. False if there are none. */
bool pe_mbar_time_out(pe_cta *cta);
void pe_mbar_report(pe_warp *w, uint32_t lanes);

#endif
