/* live_int.h: what the files of the live ranges share. */
#ifndef PG_EMIT_LIVE_INT_H
#define PG_EMIT_LIVE_INT_H

#include "emit/live.h"

enum { PG_LIVE_READ = 1, PG_LIVE_WRITE = 2, PG_LIVE_PARTLY = 4 /* written if a guard holds */ };

typedef struct pg_live_ref { /* a register named by a statement */
    uint32_t at;             /* statement; after pg_live_reorder: position */
    uint32_t reg;
    uint8_t how; /* PG_LIVE_* */
} pg_live_ref;

typedef struct pg_live_block {
    uint32_t first, end; /* statements */
    uint32_t loop;       /* header of the innermost loop around it, + 1; 0: none */
    uint32_t outer;      /* of the loop around that one */
    bool is_reached;
} pg_live_block;

/* References in order, and for each register those that name it. */
typedef struct pg_live_index {
    pg_live_ref *refs;
    uint32_t n;
    uint32_t *stmt_at; /* refs at s: [stmt_at[s], stmt_at[s + 1]) */
    uint32_t *reg_at;  /* of register r: by_reg[reg_at[r] .. reg_at[r + 1]) */
    uint32_t *by_reg;
} pg_live_index;

/* What a statement is to the order of a block. */
enum {
    PG_LIVE_FENCE = 1, /* orders memory or control */
    PG_LIVE_LOAD = 2,
    PG_LIVE_CHEAP = 4, /* moves, conversions, addresses: little to do later */
    PG_LIVE_SPLIT = 8, /* ptxas makes a slow path of it: a branch, and a function with registers */
    PG_LIVE_FREE = 16  /* its result is made anew where it is needed: constants, parameters */
};

typedef enum pg_live_mode {
    PG_LIVE_EARLY, /* loads first; what is the same for all threads is in registers of its own */
    PG_LIVE_LATE,  /* everything where it is first needed */
    PG_LIVE_TEXT,  /* arithmetic as written, loads and conversions where they are needed */
    PG_LIVE_MODE_COUNT
} pg_live_mode;

typedef struct pg_live {
    const pg_ptx_func *f;
    pg_arena *arena;              /* scratch */
    PG_VEC(pg_live_block) blocks; /* in order of the text */
    uint32_t *block_of;           /* by statement */
    uint32_t *succ_at, *succ, *pred_at, *pred;
    uint8_t *what;         /* by statement: PG_LIVE_FENCE ... */
    pg_live_index text;    /* by statement */
    pg_live_index ordered; /* by position in `order` */
    uint32_t *order;       /* by position: statement */
    bool *is_uniform;      /* by register: the same for all threads */
    uint8_t *quarters;     /* by register: what it costs while it is live, in quarters of one */
} pg_live;

pg_status pg_live_flow(pg_live *l);                     /* blocks, loops and edges */
pg_status pg_live_refs(pg_live *l);                     /* text */
pg_status pg_live_reorder(pg_live *l);                  /* ordered, from text and order */
pg_status pg_live_classify(pg_live *l);                 /* what */
pg_status pg_live_uniform(pg_live *l);                  /* is_uniform */
pg_status pg_live_costs(pg_live *l, pg_live_mode mode); /* quarters */
pg_status pg_live_order(pg_live *l, pg_live_mode mode); /* order, ordered */

#endif
