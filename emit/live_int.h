/* live_int.h: what the files of the live ranges share. */
#ifndef PG_EMIT_LIVE_INT_H
#define PG_EMIT_LIVE_INT_H

#include "emit/live.h"

enum { PG_LIVE_READ = 1, PG_LIVE_WRITE = 2, PG_LIVE_PARTLY = 4 /* written if a guard holds */ };

enum { PG_LIVE_FLAGS = 7 };      /* predicates that have a register of their own kind */
enum { PG_LIVE_SLOW_PATH = 10 }; /* registers of the function that a slow path calls */

typedef struct pg_live_ref { /* a register named by a statement */
    uint32_t at;             /* statement; after pg_live_reorder: position */
    uint32_t reg;
    uint8_t how; /* PG_LIVE_* */
} pg_live_ref;

/* What the text says of a register. */
typedef struct pg_live_range {
    uint32_t first, end; /* from its first reference to behind its last; end 0: none */
    uint8_t how;         /* of the first */
    bool is_made;        /* by something that costs */
} pg_live_range;

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

/* What a statement is (live_class.c). */
enum {
    PG_LIVE_FENCE = 1, /* orders memory or control */
    PG_LIVE_LOAD = 2,
    PG_LIVE_CHEAP = 4,   /* moves, conversions, addresses: little to do later */
    PG_LIVE_SPLIT = 8,   /* ptxas makes a slow path of it: a branch, a function with registers */
    PG_LIVE_FREE = 16,   /* its result is made anew where it is needed: constants, parameters */
    PG_LIVE_ADDS = 32,   /* reads its first operand as well */
    PG_LIVE_JUMP = 64,   /* to labels that it names */
    PG_LIVE_TABLE = 128, /* to one of a list of labels */
    PG_LIVE_STOP = 256,  /* ends the thread or the function */
    PG_LIVE_PARAM = 512, /* reads a parameter */
    PG_LIVE_COPY = 1024, /* mov */
    PG_LIVE_UNIT = 2048, /* the same for all threads if its operands are */
    PG_LIVE_WORD = 4096, /* makes or takes apart 32 bits */
    PG_LIVE_SAME = 8192, /* of a parameter: in constant memory as that is */
    PG_LIVE_FMA = 16384  /* fused product of floats */
};

typedef enum pg_live_mode {
    PG_LIVE_LATE,  /* everything where it is first needed */
    PG_LIVE_DEEP,  /* so, but what stores of later epochs need as soon as all of it is loaded */
    PG_LIVE_TEXT,  /* arithmetic as written, loads and conversions where they are needed */
    PG_LIVE_GIVEN, /* all as written */
    PG_LIVE_WIDE,  /* all chains side by side */
    PG_LIVE_MODE_COUNT
} pg_live_mode;

typedef struct pg_live {
    const pg_ptx_func *f;
    pg_arena *arena;              /* scratch */
    PG_VEC(pg_live_block) blocks; /* in order of the text */
    uint32_t *block_of;           /* by statement */
    uint32_t *succ_at, *succ, *pred_at, *pred;
    uint16_t *what;        /* by statement: PG_LIVE_FENCE ... */
    pg_live_index text;    /* by statement */
    pg_live_range *ranges; /* by register, in statements */
    pg_live_index ordered; /* by position in `order` */
    uint32_t *order;       /* by position: statement */
    bool *is_uniform;      /* by register: the same for all threads */
    uint8_t *quarters;     /* by register: what it costs while it is live, in quarters of one */
} pg_live;

/* What is live at the worst point of a block, by order. */
typedef struct pg_live_figures {
    uint32_t some[PG_LIVE_MODE_COUNT]; /* with uniform values in uniform registers */
    uint32_t all[PG_LIVE_MODE_COUNT];
    bool is_loop, is_products;
} pg_live_figures;

pg_status pg_live_classify(pg_live *l); /* what */
/* Blocks, loops and edges. A block ends where a span begins or ends, too. */
pg_status pg_live_flow(pg_live *l, const pg_live_span *spans, uint32_t n_spans);
pg_status pg_live_refs(pg_live *l);       /* text, without by_reg, and ranges */
pg_status pg_live_index_text(pg_live *l); /* its by_reg */
pg_status pg_live_uniform(pg_live *l);    /* is_uniform */
pg_status pg_live_costs(pg_live *l);      /* quarters */
/* The function with what is computed early put where it is needed: `out` shares all but the body
 * and where labels stand; from: by place, the statement of l->f. Spans follow. */
pg_status pg_live_sink(pg_live *l, pg_live_span *spans, uint32_t n_spans, pg_ptx_func *out,
                       uint32_t *from);
/* order: of the blocks that are wanted, all if it is NULL; the others are as written. */
pg_status pg_live_order(pg_live *l, pg_live_mode mode, const bool *is_wanted);
pg_status pg_live_reorder(pg_live *l); /* ordered, from text and order */
void pg_live_find_ranges(const pg_live *l, const uint32_t *order_or_null, pg_live_range *out);
uint32_t pg_live_estimate(const pg_live_figures *blocks, uint32_t n, const pg_live_span *span);
/* Whether at most so much as is `enough` is live in every span, by a bound from one pass over the
 * text; if so, with peaks in out[0 .. n_spans). */
pg_status pg_live_quick(const pg_ptx_func *f, pg_arena *arena, const pg_live_span *spans,
                        uint32_t n_spans, pg_live_peak *out, bool *out_is_enough);
/* The same from what all registers cost and, where that is too much, another order of a block. */
pg_status pg_live_bound(pg_live *l, const pg_live_span *spans, uint32_t n_spans, pg_live_peak *out,
                        bool *out_is_enough);

#endif
