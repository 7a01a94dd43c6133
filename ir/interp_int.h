/* interp_int.h: the interpreter's machine, shared by its parts only (docs/interpreter.md has the
 * model).
 *
 * Values: one slot per SSA value; a region's code is run by one coroutine at a time, so partitions
 * need no value tables of their own. A scalar is an array of one. Pointers are (argument + 1) << 48
 * | byte offset, the offset signed.
 *
 * Knowledge: every completed access to shared memory gets the next number of a sequence; coroutines
 * and barriers carry the highest number they know of, and hand it on where the program
 * synchronises. An access to rows whose last access has a higher number was not waited for. This
 * misses some races (a number stands for all below it) and invents none. */
#ifndef PG_IR_INTERP_INT_H
#define PG_IR_INTERP_INT_H

#include "base/vec.h"
#include "ir/barrier.h"
#include "ir/interp.h"

typedef struct pg_slot {
    uint64_t *at;
    uint8_t *poison; /* valid where has_poison */
    uint64_t *spare; /* where a new value waits while others of the same yield are read */
    uint8_t *spare_poison;
    uint64_t one[2]; /* storage of scalars */
    uint8_t one_poison[2];
    uint32_t n; /* elements */
    bool has_poison, spare_has_poison;
    uint32_t obj, spare_obj; /* buffer, ring or barriers, accumulator, parameter of a descriptor */
    uint64_t offset, spare_offset; /* buffer: first element; token: generation of the accumulator */
} pg_slot;

/* The threads of a coroutine between two of their barriers: an epoch. In one epoch a row may be
 * accessed in one layout only, or some thread sees what another one has not finished. */
typedef struct pg_rt_touch {
    uint64_t epoch; /* of the last access; 0: none */
    uint32_t enc;   /* its tile's encoding; 0: unknown; UINT32_MAX: several */
} pg_rt_touch;

typedef struct pg_rt_buf {
    uint64_t *at; /* element patterns in row-major order */
    uint8_t *poison;
    uint32_t n, cap;
    uint32_t row;                /* elements of the last dimension: the grain of what follows */
    uint64_t *wrote, *read;      /* per row: number of the last write, of the last read */
    pg_rt_touch *writes, *reads; /* per row */
    uint32_t *dirty; /* per row: coroutines whose ordinary writes no fence has handed to the async
                        proxy */
} pg_rt_buf;

typedef struct pg_rt_bar {
    pg_barrier b;
    uint64_t gathers, known; /* knowledge of this phase's arrivals; of completed phases */
} pg_rt_bar;

enum { PG_RT_INITED = 1, PG_RT_FENCED = 2, PG_RT_SHARED = 4 };
typedef struct pg_rt_bars { /* a ring: full then empty; or an array */
    pg_rt_bar *at;
    uint32_t n_slots, cap;
    bool is_ring;
    uint8_t state; /* PG_RT_* */
    uint32_t counts[2];
    pg_val val;
} pg_rt_bars;

typedef struct pg_rt_acc {
    float *at;
    uint8_t *poison;
    uint32_t n, cap;
    uint64_t generation;
    pg_elem elem;
} pg_rt_acc;

typedef struct pg_region_ref { /* a box of a buffer */
    uint32_t buf, n;
    uint64_t offset;
} pg_region_ref;

typedef enum pg_event_kind { PG_EV_GET, PG_EV_PUT, PG_EV_MMA, PG_EV_COPY } pg_event_kind;
typedef struct pg_event {
    uint8_t kind;           /* pg_event_kind */
    bool has_read, is_done; /* put: it has read its buffer; all: it has happened */
    bool is_retired;        /* mma, put: the program waited for its reads */
    bool is_dead;
    uint32_t co, group; /* put, copy: number of its group; UINT32_MAX: not committed */
    uint64_t due;       /* step at which it happens by itself */
    const pg_inst *inst;
    pg_region_ref box, other; /* mma: A and B */
    uint32_t desc;            /* get, put: parameter */
    int64_t coord[PG_MAX_RANK];
    pg_rt_bar *bar; /* get */
    uint32_t bar_obj;
    uint32_t acc;
    uint64_t *staged;       /* put: what it read; copy: pointers */
    uint8_t *staged_poison; /* copy: 1 where the mask is true */
} pg_event;

typedef struct pg_frame {
    const pg_region *region;
    const pg_inst *next;
    const pg_inst *owner; /* for, while, if, elect, partition; NULL: body or launch */
    int64_t i, to, step;  /* for */
} pg_frame;

typedef enum pg_co_state { PG_CO_READY, PG_CO_BLOCKED, PG_CO_JOIN, PG_CO_DONE } pg_co_state;
typedef struct pg_co {
    PG_VEC(pg_frame) frames;
    uint8_t state; /* pg_co_state */
    bool wants_mma_fence;
    const pg_inst *part; /* NULL: the kernel's own code */
    const pg_inst *blocked_at;
    uint64_t blocked_version;
    uint64_t sync_target;
    uint64_t known;
    uint32_t n_groups;      /* groups of tensor stores committed */
    uint32_t n_copy_groups; /* groups of async.get committed */
    uint64_t epoch;         /* number of the last barrier of its threads; see pg_rt_touch */
} pg_co;

enum { PG_MAX_COS = 17 };
typedef struct pg_machine {
    pg_kernel *k;
    const pg_interp_arg *args;
    uint32_t n_args;
    pg_diags *diags;
    pg_arena arena;
    pg_slot *slots;
    uint32_t grid[3], pid[3];
    uint64_t rng, steps, max_steps;
    uint64_t version;  /* grows with every change that may wake somebody */
    uint64_t sequence; /* of accesses to shared memory */
    uint64_t n_epochs;
    uint64_t sync_generation;
    uint32_t n_synced;
    bool wants_switch;
    pg_co cos[PG_MAX_COS];
    uint32_t n_cos;
    PG_VEC(pg_rt_buf) bufs;
    PG_VEC(pg_rt_bars) bars;
    PG_VEC(pg_rt_acc) accs;
    uint32_t n_bufs, n_bars; /* in use by this CTA; storage is kept for the next */
    uint32_t n_accs;         /* one per mma.begin, for the whole run */
    PG_VEC(pg_event) events;
    uint64_t next_due;
} pg_machine;

typedef enum pg_run { PG_RUN_NEXT, PG_RUN_BLOCK, PG_RUN_FAULT } pg_run;
typedef pg_run (*pg_run_fn)(pg_machine *m, pg_co *co, const pg_inst *i);

/* One function per operation. */
#define OP(id, ...) pg_run pg_run_##id(pg_machine *m, pg_co *co, const pg_inst *i);
#include "ir/ops.def"
#define RUN(id) pg_run pg_run_##id(pg_machine *m, pg_co *co, const pg_inst *i)

/* interp.c */
/* Records what is wrong at `i`, as pg_diag_add; gives PG_RUN_FAULT. */
#define pg_rt_fault(m, id, ...) \
    (PG_CHECK_TEXT(pg_rt_fault_text, id, __VA_ARGS__), pg_rt_fault_row((m), (id), __VA_ARGS__))
int pg_rt_fault_text(const char *text, const pg_inst *i, ...) PG_PRINTF(1, 3);
pg_run pg_rt_fault_row(pg_machine *m, pg_diag_id id, const pg_inst *i, ...);
pg_run pg_rt_oom(pg_machine *m);
const char *pg_rt_name(pg_machine *m, pg_val v); /* without %; lives in the machine's arena */
const char *pg_rt_co_name(pg_machine *m, const pg_co *co);
uint64_t pg_rt_random(pg_machine *m, uint64_t below);
bool pg_rt_push(pg_machine *m, pg_co *co, const pg_region *region, const pg_inst *owner);

/* interp_value.c */
pg_status pg_rt_slots_init(pg_machine *m);
static inline pg_slot *pg_rt_slot(pg_machine *m, pg_val v)
{
    return &m->slots[v.id];
}
pg_slot *pg_rt_out(pg_machine *m, const pg_inst *i,
                   uint32_t index);     /* with room, without poison; NULL: out of memory */
void pg_rt_set(pg_slot *s, uint64_t x); /* scalar */
bool pg_rt_assign(pg_machine *m, uint32_t n, const pg_val *to,
                  const pg_val *from); /* all at once; false: out of memory */
/* A scalar integer operand that must be known; `what` goes into the message. */
pg_run pg_rt_int(pg_machine *m, const pg_inst *i, uint32_t index, const char *what, int64_t *out);
static inline bool pg_rt_is_poison(const pg_slot *s, uint32_t i)
{
    return s->has_poison && s->poison[i] != 0;
}

/* interp_run.c */
pg_run pg_rt_program(pg_machine *m, const pg_region *body); /* one CTA, or the launch region */

/* interp_flow.c */
pg_run pg_rt_region_end(pg_machine *m, pg_co *co); /* a region's text ends without a terminator */

/* interp_mem.c */
uint32_t pg_rt_elem_bytes(pg_elem e);
uint64_t pg_rt_read(const uint8_t *p, pg_elem e);
void pg_rt_write(uint8_t *p, pg_elem e, uint64_t x);
typedef struct pg_rt_access {
    const pg_slot *ptr, *mask; /* mask NULL: all */
    pg_elem elem;
    uint32_t size;
} pg_rt_access;
/* Where element e lies: its array (NULL: masked off) and offset. Faults on a poisoned mask or
 * address and outside of the array. */
pg_run pg_rt_address(pg_machine *m, const pg_inst *i, const pg_rt_access *a, uint32_t e,
                     const pg_interp_array **array, uint64_t *at);

/* interp_sync.c */
pg_region_ref pg_rt_box(pg_machine *m, pg_val buf);
/* A new access by `co`: the accesses before it must be known to co and none may be pending. */
pg_run pg_rt_check(pg_machine *m, const pg_co *co, const pg_inst *i, pg_region_ref box,
                   bool is_write);
void pg_rt_stamp(pg_machine *m, pg_region_ref box, bool is_write, uint64_t number);
/* The same within one coroutine: whose threads have a barrier between accesses in two layouts. */
pg_run pg_rt_check_epoch(pg_machine *m, const pg_co *co, const pg_inst *i, pg_region_ref box,
                         pg_val tile, bool is_write);
void pg_rt_note_epoch(pg_machine *m, const pg_co *co, pg_region_ref box, pg_val tile,
                      bool is_write);
void pg_rt_next_epoch(pg_machine *m, pg_co *co);
void pg_rt_mark_dirty(pg_machine *m, const pg_co *co, pg_region_ref box);
pg_run pg_rt_check_proxy(pg_machine *m, const pg_inst *i, pg_region_ref box);
/* The barrier that operands (bar, slot) of `i` name. */
pg_run pg_rt_bar_of(pg_machine *m, const pg_inst *i, uint32_t first, uint32_t *obj,
                    pg_rt_bar **out);
pg_run pg_rt_bar_fault(pg_machine *m, const pg_inst *i, uint32_t obj, pg_rt_bar *bar,
                       pg_bar_error e);
void pg_rt_bar_changed(pg_machine *m, pg_rt_bar *bar, uint64_t old_phase);
const char *pg_rt_bar_name(pg_machine *m, uint32_t obj, const pg_rt_bar *bar);

/* interp_async.c */
pg_run pg_rt_due(pg_machine *m);                   /* events whose time has come */
pg_run pg_rt_force_get(pg_machine *m, bool *done); /* lets one pending copy arrive */
pg_run pg_rt_finish(pg_machine *m);                /* end of a CTA */
pg_event *pg_rt_event_new(pg_machine *m, pg_event_kind kind, const pg_co *co, const pg_inst *i);
void pg_rt_events_compact(pg_machine *m);
/* interp_get.c */
pg_run pg_rt_copy_happens(pg_machine *m, pg_event *e);
/* interp_tma.c, interp_mma.c */
pg_run pg_rt_get_happens(pg_machine *m, pg_event *e);
pg_run pg_rt_put_reads(pg_machine *m, pg_event *e);
pg_run pg_rt_put_writes(pg_machine *m, pg_event *e);
pg_run pg_rt_mma_happens(pg_machine *m, pg_event *e);

#endif
