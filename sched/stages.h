/* stages.h: the stage scheduler: what runs in which step of a pipelined loop, how many copies each
 * resource needs, and where barriers and waits stand. It sees numbers only, no IR.
 *
 * The body of a loop is cut into stages in program order. Stage s of iteration i runs in step
 * i + delay[s] of the new loop. A step runs its stages in the order that the plan gives:
 *
 *     three stages, delays 0 2 2          step 0   1   2      3      4     ...
 *     (asynchronous load, read, mma)      L0  L1  R0 M0 L2  R1 M1 L3  R2 M2 L4
 *
 * Within a slot of the step later stages of earlier iterations come first: a reader runs before the
 * writer of a younger iteration, so that a register needs no second copy. */
#ifndef PG_SCHED_STAGES_H
#define PG_SCHED_STAGES_H

#include "base/base.h"

#define PG_STAGES_MAX     8
#define PG_STAGES_MAX_RES 8
#define PG_STAGES_LIMIT   8 /* slots that a loop may ask for */

typedef struct pg_stage {
    uint32_t delay;         /* steps after the one in which its iteration starts */
    uint32_t slot;          /* place within a step; stages of one slot are free to be reordered */
    uint32_t reads, writes; /* bit r: resource r */
    bool is_async; /* its writes land later; one group per step is committed after the last one */
} pg_stage;

typedef struct pg_stage_res {
    bool is_shared; /* other threads read what a thread writes: barriers order them */
    uint32_t slots; /* copies; 0: the least that are right */
} pg_stage_res;

typedef struct pg_stages {
    uint32_t n, n_res;
    pg_stage at[PG_STAGES_MAX]; /* in program order */
    pg_stage_res res[PG_STAGES_MAX_RES];
    uint32_t
        tie; /* so many of the equally good sets of barriers are passed over, as far as there are */
} pg_stages;

typedef enum pg_stages_error {
    PG_STAGES_OK,
    PG_STAGES_MANY,   /* more stages or resources than the limits above */
    PG_STAGES_ORDER,  /* delays or slots let a stage run before one that it depends on */
    PG_STAGES_ASYNC,  /* asynchronous stages with different delays would need groups of their own */
    PG_STAGES_SLOTS,  /* fewer copies of a resource are asked for than are alive at one time */
    PG_STAGES_CARRIED /* a value carried to the next iteration is not ready there */
} pg_stages_error;
const char *pg_stages_error_text(pg_stages_error e);

typedef struct pg_stages_plan {
    uint32_t n;                    /* stages of a step */
    uint32_t order[PG_STAGES_MAX]; /* stage at each position of a step */
    uint32_t depth;                /* longest delay: steps of the prologue, and of the epilogue */
    uint32_t slots[PG_STAGES_MAX_RES]; /* copies of each resource; iteration i uses i mod slots */
    bool barrier[PG_STAGES_MAX];       /* a barrier of all threads before this position */
    bool wait[PG_STAGES_MAX];          /* before that barrier: wait for asynchronous groups ... */
    uint32_t in_flight[PG_STAGES_MAX]; /* ... until at most so many run */
    uint32_t commit;                   /* a group is committed after this position; n: none */
    uint32_t n_barriers;
} pg_stages_plan;

/* Delays and slots of n stages that start a new iteration every `interval` slots (0 is taken as 1).
 * A short loop (trip >= 0; -1: not known) gets a longer interval, so that the prologue is not
 * longer than the loop. Returns the interval. */
uint32_t pg_stages_interval(pg_stages *s, uint32_t interval, int64_t trip);

/* The fewest barriers; among equals those with most asynchronous groups in flight, then those
 * closest before what waits for them. Cost: 2^n times the number of dependences. */
pg_stages_error pg_stages_plan_make(const pg_stages *s, pg_stages_plan *out);

#endif
