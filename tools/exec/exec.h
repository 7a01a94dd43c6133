/* exec.h: the executor's own structures. ptxexec.h is the public face, docs/executor.md the model.
 *
 *   module   PTX decoded once into pe_inst arrays, one array for all functions (a pc is an index
 * into it) device   arrays in device memory, and one instance of the .global variables of each
 * module used launch   one grid: workers take CTAs; a CTA owns shared memory, barriers and its
 * warps warp     32 lanes; registers lane-major: row r of the 32-bit bank is uint32_t[32]
 *
 * Invariants
 * I1  Lanes of a warp run together only when pc, depth and frame bases are equal (a "group").
 * I2  A lane's frame is a column range: frames of lanes at different depths never overlap in memory
 * because a row belongs to one bank and a lane touches its own column only. I3  Every row has a
 * poison mask, one bit per lane; constants are never poison. I4  A handler sees only lanes whose
 * guard holds, and never an empty mask. I5  Nothing a CTA does depends on host time, on addresses
 * of host memory or on the worker that runs it. */
#ifndef PTXEXEC_EXEC_H
#define PTXEXEC_EXEC_H

#include <string.h>

#include "base/pool.h"
#include "emit/ptx.h"
#include "tools/exec/ptxexec.h"

enum {
    PE_LANES = 32,
    PE_MAX_WARPS = 32,
    PE_N_BARRIERS = 16,
    PE_MAX_DEPTH = 512,        /* calls */
    PE_LOCAL_START = 256,      /* first local address: null is never valid */
    PE_LOCAL_MAX = 512 * 1024, /* bytes per thread */
    PE_SHARED_START = 0x400,   /* as on sm_90 */
    PE_SHARED_MAX = 227 * 1024,
    PE_GUARD = 4096,
    PE_REGION_ALIGN = 65536, /* of arrays: as much as a kernel can promise of a pointer */
    PE_CONST_START = 256
};

#define PE_ALL ((uint32_t)0xFFFFFFFFu)

/* A shared address has the CTA's rank in its cluster in the bits from PE_RANK_SHIFT. */
enum { PE_RANK_SHIFT = 24, PE_MAX_RANKS = 16, PE_RANK_MASK = (1 << PE_RANK_SHIFT) - 1 };
/* pe_inst.space of accesses that may go to other CTAs of the cluster (.shared::cluster). */
enum { PE_SP_CLUSTER = 0x40 };

/* Windows of the generic address space; everything else is global. */
#define PE_SHARED_WINDOW UINT64_C(0x500000000000)
#define PE_LOCAL_WINDOW  UINT64_C(0x510000000000)
#define PE_CONST_WINDOW  UINT64_C(0x520000000000)
#define PE_PARAM_WINDOW  UINT64_C(0x530000000000)
#define PE_FUNC_WINDOW   UINT64_C(0x540000000000) /* function addresses: + 16 * index */
#define PE_WINDOW_SIZE   UINT64_C(0x100000000)
#define PE_GLOBAL_START  UINT64_C(0x700000000000)

/* ---- code ------------------------------------------------------------------------------------ */

typedef struct pe_warp pe_warp;
typedef struct pe_cta pe_cta;
typedef struct pe_cluster pe_cluster; /* cluster.h */
typedef struct pe_launch pe_launch;
typedef struct pe_inst pe_inst;
typedef struct pe_races pe_races;     /* race.c: one CTA's threads, and its shared memory */
typedef struct pe_gshadow pe_gshadow; /* race_global.c: who touched global memory */
typedef struct pe_copy pe_copy;       /* async.c: a cp.async on its way */
typedef struct pe_task pe_task;       /* async.c: something that happens later */
typedef struct pe_mbar pe_mbar;       /* mbar.c: an mbarrier object */
typedef struct pe_bulk pe_bulk;       /* bulk.c: a bulk or tensor copy on its way */
typedef struct pe_clock pe_clock;     /* race.h */
typedef struct pe_pool pe_pool;       /* ops_group.c: registers that setmaxnreg gives back */
typedef struct pe_trace pe_trace;     /* trace.c */
typedef struct pe_wg pe_wg;           /* wgmma.c: one CTA's products on their way */
typedef void (*pe_fn)(pe_warp *w, const pe_inst *i, uint32_t mask);

/* A register row of the frame, or a row of the constant pool (PE_CONST set). */
typedef uint32_t pe_opnd;
#define PE_CONST ((pe_opnd)0x80000000u)
#define PE_NONE  ((pe_opnd)0xFFFFFFFFu)

enum {                 /* pe_inst.flags */
       PE_I_MICRO = 1, /* made by decoding: not counted */
       PE_I_GUARD_NEG = 2,
       PE_I_ALIGNED = 4,   /* wants all live lanes of the warp */
       PE_I_OWN_GUARD = 8, /* the handler looks at the guard itself (it sees all active lanes) */
       PE_I_STRONG = 16,   /* atomic, volatile, relaxed ...: does not race with its like */
       PE_I_RELEASE = 32,
       PE_I_ACQUIRE = 64,
       PE_I_TRACKED = 128 /* touches registers that some wgmma of its function names */
};

/* pe_inst.target of ld, st, atom, red and fences: how far it reaches. */
enum { PE_SCOPE_WIDE, PE_SCOPE_CTA, PE_SCOPE_CLUSTER };

struct pe_inst {
    pe_fn fn;
    pe_opnd guard; /* predicate row, PE_NONE without */
    pe_opnd d, d2; /* results */
    pe_opnd a, b, c;
    uint32_t target; /* branch: pc; else the family's */
    uint32_t src;    /* index into pe_module.srcs */
    uint8_t flags;
    uint8_t space; /* pg_ptx_space of a memory access; NONE: generic */
    uint8_t size;  /* bytes of one element of a memory access */
    uint8_t n;     /* elements */
    uint16_t op;   /* family's selector */
    uint16_t type; /* pg_ptx_type */
    int64_t imm;
    const void *ext; /* family's data, in the module's arena */
};

typedef struct pe_src { /* where an instruction stands in the text */
    pg_loc loc;
    uint32_t opcode;       /* interned spelling: index into pe_module.opcodes */
    uint32_t refs, n_refs; /* TRACKED: in pe_module.refs */
} pe_src;

enum { PE_REF_WRITE = 1 }; /* a ref is 2 * row of the 32-bit bank, + this */

/* A value that a call moves between frames: a register row or bytes of local memory. */
typedef struct pe_slot {
    uint32_t is_reg;
    uint32_t bits; /* of the register's row: 1, 32 or 64 */
    pe_opnd row;
    uint32_t offset, size; /* in the frame's local memory */
} pe_slot;

typedef struct pe_func {
    pg_str name;
    uint32_t index;        /* in pe_module.funcs */
    uint32_t entry_pc;     /* UINT32_MAX without a body */
    uint32_t n32, n64, np; /* rows of a frame */
    uint32_t local_size, local_align;
    uint32_t n_params, n_returns;
    pe_slot *params, *returns;
    bool is_entry;
    uint32_t builtin; /* pe_builtin */
    pg_vec_u32 uses;  /* module symbols that the body names (variables and functions) */
    bool has_indirect;
    /* entries */
    const char *c_name;
    const char **param_names;
    uint32_t *param_offsets;
    uint32_t param_size;
    uint32_t reqntid[3], maxntid[3], reqcluster[3];
    uint32_t maxnreg, minnctapersm; /* 0 without */
    uint32_t shared_size;           /* static, from PE_SHARED_START */
    uint32_t dynamic_align;
    const pg_ptx_func *ptx;
    uint32_t *shared_at; /* entries: by module symbol, shared offset or UINT32_MAX */
} pe_func;

typedef enum pe_builtin {
    PE_BUILTIN_NONE,
    PE_BUILTIN_VPRINTF,
    PE_BUILTIN_ASSERTFAIL,
    PE_BUILTIN_MALLOC,
    PE_BUILTIN_FREE
} pe_builtin;

typedef struct pe_call {
    const pe_func *callee; /* NULL: indirect, address in inst->a */
    uint32_t n_args, n_rets;
    pe_slot *args, *rets; /* in the caller's frame */
} pe_call;

/* source.c */
typedef struct pe_source_file {
    uint32_t number; /* of .file */
    const char *name;
} pe_source_file;
typedef struct pe_source_line { /* from this line of the text on; line 0: nothing is known */
    uint32_t ptx_line, file, line, column;
} pe_source_line;

struct ptxexec_module {
    pg_alloc alloc;
    bool has_failed_alloc; /* some request was refused while loading */
    pg_arena arena;
    pg_diags diags;
    pg_ptx_module *ptx;
    PG_VEC(pe_inst) code;
    PG_VEC(pe_src) srcs;
    pg_vec_u32 refs; /* track.c */
    pg_vec_str opcodes;
    pg_map opcode_ids;
    PG_VEC(pe_func *) funcs; /* index = pg_ptx_module.funcs */
    pg_vec_u32 entries;      /* indices of funcs */
    /* constant pool: 32 equal lanes a row */
    pg_vec_u32 c32;
    pg_vec_u64 c64;
    pg_map c32_ids, c64_ids;
    uint32_t *pool32;
    uint64_t *pool64;
    /* images of variables */
    uint64_t *sym_at; /* .global: offset in the image; .const: address in the space */
    uint32_t image_size, const_size;
    uint8_t *image, *consts;
    bool has_async_proxy; /* something that accesses memory through it */
    bool has_global_sync; /* atomics, volatile, acquire/release on memory that other CTAs see */
    PG_VEC(pe_source_file) files;
    PG_VEC(pe_source_line) source_lines; /* by line of the text */
    const char *target;
    uint64_t id; /* hash of the text: tells modules apart on a device */
};

pg_alloc pe_alloc_of(const ptxexec_allocator *alloc_or_null);
bool pe_alloc_is_good(const ptxexec_allocator *alloc_or_null); /* it has a function */
ptxexec_diag pe_diag_out(const pg_diags *diags, size_t index);

/* ---- memory ------------------------------------------------------------------------------------
 */

typedef struct pe_region {
    uint64_t base, size;
    uint64_t open; /* bytes that may be touched: size, or 0 once it is freed */
    uint8_t *data;
    uint8_t *poison; /* one byte for each byte: 0 initialised, 1 poison */
    const char *label;
    char *label_owned;
    bool is_freed, is_read_only;
    bool is_heap; /* of the kernel's own malloc */
} pe_region;

struct ptxexec_device {
    pg_alloc alloc;
    pe_region **regions; /* by address */
    uint32_t n, cap;
    uint64_t next; /* address of the next array */
    uint64_t heap_used;
    struct pe_instance {
        const ptxexec_module *m;
        uint64_t id;
        uint64_t *sym_at; /* by symbol: address of the .global variable, 0 */
        uint32_t n_syms;
    } * instances;
    uint32_t n_instances, cap_instances;
};

/* The region whose array or guard zone holds the address, or NULL. */
pe_region *pe_device_find(const ptxexec_device *d, uint64_t address);
/* malloc and free of kernels. 0: the heap has no room (8 MB, as CUDA's has unless it is told).
 * Arrays never share or reuse addresses, and bytes that are freed stay in place until
 * pe_heap_sweep, at the end of the launch: copies may be under way. False: no block of the heap
 * begins there, or it is freed already (*out_region, else NULL). */
ptxexec_status pe_heap_alloc(ptxexec_device *d, uint64_t size, const char *label, uint64_t *out);
bool pe_heap_free(ptxexec_device *d, uint64_t address, const pe_region **out_region);
void pe_heap_sweep(ptxexec_device *d);
void pe_region_drop(ptxexec_device *d, pe_region *r); /* gives its bytes back */
/* Addresses of the module's .global variables, by symbol; makes and initialises them the first
 * time. */
ptxexec_status pe_device_instance(ptxexec_device *d, const ptxexec_module *m, const uint64_t **out);
/* Generic address that an initialiser's symbol stands for. */
uint64_t pe_symbol_address(const ptxexec_module *m, const uint64_t *global_at, uint32_t sym);

/* ---- running ------------------------------------------------------------------------------------
 */

typedef enum pe_wait {
    PE_W_NONE,
    PE_W_ALIGN, /* for the rest of the warp at an .aligned instruction */
    PE_W_SYNC,  /* for the lanes of a member mask */
    PE_W_BARRIER,
    PE_W_CLUSTER, /* at barrier.cluster.wait */
    PE_W_MBAR,    /* in test_wait or try_wait: wait_key is the address, wait_val[0] the phase */
    PE_W_WGMMA,   /* for the other warps of the warp group, at wgmma.wait_group */
    PE_W_POOL     /* for registers, at setmaxnreg */
} pe_wait;

typedef struct pe_lane { /* a lane that is not running now */
    uint32_t pc, depth;
    uint32_t base32, base64, basep;
} pe_lane;

typedef struct pe_return {
    uint32_t pc;
    uint32_t base32, base64, basep, local_base, local_top;
    const pe_call *call;
    const pe_func *func; /* the caller */
} pe_return;

struct pe_warp {
    /* the running group */
    uint32_t pc, active, depth;
    uint32_t base32, base64, basep;
    uint32_t merge_pc; /* leave the loop when the pc reaches it: other lanes stand there */
    bool is_stopped;   /* leave the loop after this instruction */
    const uint32_t *c32;
    const uint64_t *c64;
    uint32_t *r32, *q32;
    uint64_t *r64;
    uint64_t *q64; /* low word: lanes with poison anywhere; high word: in the lower half */
    uint32_t *rp, *qp;
    uint32_t n32, n64, np; /* rows allocated */
    /* the warp */
    pe_cta *cta;
    uint32_t index;
    uint32_t race_index; /* in the cluster */
    uint32_t live;       /* lanes that have not exited */
    uint32_t runnable;   /* live and not waiting */
    uint32_t n_together; /* instructions since the last change of group while others could run */
    uint32_t fair_lane;
    bool is_fair_turn;
    pe_lane lane[PE_LANES];
    const pe_func *func[PE_LANES];
    uint32_t local_base[PE_LANES], local_top[PE_LANES];
    uint8_t *local, *local_poison; /* [lane][local_cap] */
    uint32_t local_cap;
    pe_return *returns; /* [depth][lane] */
    uint32_t returns_cap;
    uint32_t tid[3][PE_LANES];
    uint64_t n_steps;
    /* lanes that wait */
    uint8_t wait[PE_LANES];
    uint32_t wait_mask[PE_LANES];   /* SYNC: member mask */
    uint32_t wait_key[PE_LANES];    /* SYNC: rendezvous; BARRIER: number */
    uint32_t wait_val[PE_LANES][3]; /* operands at arrival */
    uint64_t wait_big[PE_LANES];    /* 64-bit operand at arrival */
    uint32_t wait_poison[PE_LANES];
    pe_region *hit; /* last global region */
    /* cp.async: in the order of issue; those behind n_copies are spare */
    pe_copy **copies;
    uint32_t n_copies, n_copies_made, copies_cap;
    uint32_t n_commits[PE_LANES], n_bulk_commits[PE_LANES];
    uint32_t cluster_arrived; /* lanes at barrier.cluster, and in which of its phases */
    uint32_t cluster_phase[PE_LANES];
    uint32_t n_issued;          /* cp.async instructions */
    uint32_t n_polls;           /* test_waits in vain while nothing happened */
    uint64_t poll_events;       /* n_events of the CTA at the last one */
    struct pe_wg_regs *wg_regs; /* NULL before the first wgmma */
};

typedef struct pe_barrier {
    uint32_t arrived;           /* threads */
    uint32_t expected;          /* threads; 0: all live threads of the CTA */
    bool is_open;               /* somebody arrived */
    uint32_t count, n_true;     /* for .red */
    uint32_t kind;              /* of the instruction: plain, popc, and, or */
    uint32_t who[PE_MAX_WARPS]; /* lanes that arrived */
} pe_barrier;

typedef struct pe_line { /* what one instruction did */
    uint64_t n_steps, n_lanes;
    uint64_t n_shared, n_wavefronts,
        n_least; /* accesses; passes over the banks; without conflict */
    uint64_t n_global, n_sectors;
} pe_line;

typedef struct pe_stats {
    uint64_t n_steps, n_lanes;
    pe_line *lines; /* by pc, or NULL */
} pe_stats;

typedef struct pe_fault {
    ptxexec_fault f;
    uint64_t cta;
    size_t missing_at; /* where f.missing begins in f.message; 0: there is none */
    struct pe_fault *next;
} pe_fault;

typedef struct pe_worker {
    pe_launch *launch;
    pg_alloc alloc; /* for what lives as long as a CTA: from the pool */
    pg_pool pool;   /* one CTA's memory serves the next, which asks for the same */
    pg_arena arena; /* faults and their texts, output */
    pe_stats stats;
    pe_fault *faults, *last_fault;
    uint32_t n_faults;
    struct pe_chunk *output;  /* what CTAs printed, last first */
    struct pe_traced *traced; /* events of CTAs, last first */
    bool is_oom;
} pe_worker;

typedef struct pe_chunk {
    uint64_t cta;
    pg_str text;
    struct pe_chunk *next;
} pe_chunk;

typedef struct pe_traced {
    uint64_t cta;
    const ptxexec_trace_event *events;
    uint32_t n;
    struct pe_traced *next;
} pe_traced;

struct pe_cta {
    pe_launch *launch;
    pe_worker *worker;
    pe_cluster *cluster;
    uint32_t rank; /* in the cluster */
    bool is_over;  /* all threads left, and what they did not wait for was looked at */
    uint64_t linear;
    uint32_t id[3];
    uint32_t n_warps, n_threads;
    uint32_t n_live; /* threads */
    pe_warp *warps;
    pe_region shared;
    pe_barrier barrier[PE_N_BARRIERS];
    uint64_t rng;
    uint32_t held, n_held; /* a warp that does not run for the next so many visits */
    uint64_t n_steps;
    pg_strbuf output;
    bool is_failed;
    uint32_t n_faults;
    uint64_t next_due; /* step at which a copy or a task is due, UINT64_MAX: none */
    pe_races *races;   /* NULL: not looked for */
    pe_task *tasks;
    uint32_t n_tasks, tasks_cap;
    pe_bulk **bulks; /* in the order of issue */
    uint32_t n_bulks, bulks_cap;
    pe_mbar *mbars;
    uint32_t n_mbars, mbars_cap;
    /* What could let somebody go on who waits for a barrier: arrivals, strong accesses ... */
    uint64_t n_events;
    pe_wg *wg;       /* NULL before the first wgmma */
    pe_pool *pool;   /* NULL before the first setmaxnreg */
    pe_trace *trace; /* NULL: not kept */
};

struct pe_launch {
    ptxexec_module *m;
    ptxexec_device *d;
    pg_alloc alloc;
    const pe_func *entry;
    ptxexec_launch_options o;
    uint32_t cluster[3], n_ranks; /* CTAs of a cluster */
    uint64_t n_ctas, n_clusters;
    uint32_t shared_size; /* static and dynamic */
    uint64_t *sym_at;     /* by module symbol: address in its space */
    pe_region params, consts;
    pe_gshadow *gshadow; /* NULL: races are not looked for */
};

/* ---- for handlers
 * --------------------------------------------------------------------------------- */

/* xorshift64*; never 0. */
static inline uint64_t pe_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

static inline const uint32_t *pe_src32(const pe_warp *w, pe_opnd o)
{
    return (o & PE_CONST) != 0 ? w->c32 + (size_t)(o & ~PE_CONST) * PE_LANES
                               : w->r32 + (size_t)(w->base32 + o) * PE_LANES;
}
static inline const uint64_t *pe_src64(const pe_warp *w, pe_opnd o)
{
    return (o & PE_CONST) != 0 ? w->c64 + (size_t)(o & ~PE_CONST) * PE_LANES
                               : w->r64 + (size_t)(w->base64 + o) * PE_LANES;
}
/* Predicates: PE_CONST | 1 is true, PE_CONST is false. */
static inline uint32_t pe_srcp(const pe_warp *w, pe_opnd o)
{
    return (o & PE_CONST) != 0 ? ((o & 1) != 0 ? PE_ALL : 0) : w->rp[w->basep + o];
}
static inline uint32_t pe_poison32(const pe_warp *w, pe_opnd o)
{
    return (o & PE_CONST) != 0 ? 0 : w->q32[w->base32 + o];
}
/* Both masks of a row of q64. */
static inline uint64_t pe_halves64(const pe_warp *w, pe_opnd o)
{
    return (o & PE_CONST) != 0 ? 0 : w->q64[w->base64 + o];
}
static inline uint32_t pe_poison64(const pe_warp *w, pe_opnd o)
{
    return (uint32_t)pe_halves64(w, o);
}
/* Poison in both halves. */
static inline uint64_t pe_whole64(uint32_t lanes)
{
    return (uint64_t)lanes << 32 | lanes;
}
static inline uint32_t pe_poisonp(const pe_warp *w, pe_opnd o)
{
    return (o & PE_CONST) != 0 ? 0 : w->qp[w->basep + o];
}

/* Writes the lanes of `m`; the others keep their value. */
static inline void pe_put32(pe_warp *w, pe_opnd d, const uint32_t *t, uint32_t m, uint32_t poison)
{
    uint32_t *p = w->r32 + (size_t)(w->base32 + d) * PE_LANES;
    uint32_t *q = &w->q32[w->base32 + d];
    if (m == PE_ALL) {
        memcpy(p, t, PE_LANES * sizeof *p);
        *q = poison;
        return;
    }
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint32_t keep = ((m >> l) & 1u) - 1u; /* all ones where the lane is off */
        p[l] = (p[l] & keep) | (t[l] & ~keep);
    }
    *q = (*q & ~m) | (poison & m);
}
static inline void pe_put64_halves(pe_warp *w, pe_opnd d, const uint64_t *t, uint32_t m,
                                   uint64_t poison)
{
    uint64_t *p = w->r64 + (size_t)(w->base64 + d) * PE_LANES;
    uint64_t *q = &w->q64[w->base64 + d];
    if (m == PE_ALL) {
        memcpy(p, t, PE_LANES * sizeof *p);
        *q = poison;
        return;
    }
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint64_t keep = (uint64_t)((m >> l) & 1u) - 1u;
        p[l] = (p[l] & keep) | (t[l] & ~keep);
    }
    *q = (*q & ~pe_whole64(m)) | (poison & pe_whole64(m));
}
static inline void pe_put64(pe_warp *w, pe_opnd d, const uint64_t *t, uint32_t m, uint32_t poison)
{
    pe_put64_halves(w, d, t, m, pe_whole64(poison));
}
static inline void pe_putp(pe_warp *w, pe_opnd d, uint32_t t, uint32_t m, uint32_t poison)
{
    uint32_t *p = &w->rp[w->basep + d];
    uint32_t *q = &w->qp[w->basep + d];
    *p = (*p & ~m) | (t & m);
    *q = (*q & ~m) | (poison & m);
}

/* Lowest lane of a mask; 31 for the empty one. */
static inline uint32_t pe_first(uint32_t mask)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctz(mask | 0x80000000u);
#else
    return pg_ctz(mask | 0x80000000u);
#endif
}
static inline uint32_t pe_count(uint32_t mask)
{
#if defined(__GNUC__)
    return mask == PE_ALL ? 32u : (uint32_t)__builtin_popcount(mask); /* else a call */
#else
    return pg_popcount(mask);
#endif
}

#define pg_foreach_lane(l, mask)                                   \
    for (uint32_t rest_ = (mask), l = pe_first(rest_); rest_ != 0; \
         rest_ &= rest_ - 1, l = pe_first(rest_))

typedef struct pe_place { /* what a fault concerns */
    uint32_t lanes;
    uint32_t size;    /* memory: bytes of the access */
    uint64_t address; /* memory: generic address */
} pe_place;
/* Records a fault at instruction `i`, stops the warp and its CTA. */
void pe_fault_at(pe_warp *w, const pe_inst *i, ptxexec_fault_kind kind, pe_place place,
                 const char *format, ...) PG_PRINTF(5, 6);
/* Reports poison among the lanes `mask` and returns true. */
static inline bool pe_is_poison(pe_warp *w, const pe_inst *i, uint32_t poison,
                                ptxexec_fault_kind kind, const char *what)
{
    if (poison == 0) {
        return false;
    }
    pe_fault_at(w, i, kind, (pe_place){.lanes = poison}, "%s is uninitialised", what);
    return true;
}
static inline pg_str pe_opcode(const pe_cta *cta, const pe_inst *i)
{
    const ptxexec_module *m = cta->launch->m;
    return m->opcodes.at[m->srcs.at[i->src].opcode];
}

/* Bytes of one lane's access (i->size * i->n of them), checked. NULL after reporting a fault.
 * *poison: the bytes' poison flags. */
uint8_t *pe_resolve(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address, bool is_write,
                    uint8_t **poison);
/* The same for any space, without reporting: used to read strings. NULL if not mapped. */
const uint8_t *pe_peek(pe_warp *w, uint32_t lane, uint64_t generic, uint64_t *out_left);

/* State space of a generic address, and the address within it. */
uint32_t pe_window_of(uint64_t generic, uint64_t *out_offset);

/* One warp instruction's access, told to whoever counts (stats.c) or looks for races (race.c). */
enum {
    PE_T_READ = 1,
    PE_T_WRITE = 2,
    PE_T_COPY = 4,   /* the write is a cp.async under way */
    PE_T_OBJECT = 8, /* an mbarrier object: strong ones order nothing by themselves */
    PE_T_END = 16,   /* mbarrier.inval */
    PE_T_ASYNC = 32, /* through the async proxy */
    PE_T_LOOK = 64   /* is held against what was before, and leaves no mark */
};
typedef struct pe_touch {
    const uint64_t *at; /* by lane; + imm */
    int64_t imm;
    uint32_t size; /* bytes a lane */
    uint8_t space; /* pg_ptx_space; NONE: generic */
    uint8_t kind;
} pe_touch;
void pe_count_touch(pe_warp *w, const pe_inst *i, uint32_t mask, const pe_touch *t);
void pe_race_touch(pe_warp *w, const pe_inst *i, uint32_t mask, const pe_touch *t);
static inline void pe_note(pe_warp *w, const pe_inst *i, uint32_t mask, const pe_touch *t)
{
    if (w->cta->worker->stats.lines != NULL) {
        pe_count_touch(w, i, mask, t);
    }
    if (w->cta->races != NULL) {
        pe_race_touch(w, i, mask, t);
    }
}

/* Local memory of a warp grows to `size` bytes per lane; false when out of memory. */
bool pe_local_reserve(pe_warp *w, uint32_t size);
bool pe_rows_reserve(pe_warp *w, uint32_t n32, uint32_t n64, uint32_t np);
void pe_warp_memory_free(pe_warp *w);

/* ---- groups of lanes (warp.c) and waiting (wait.c)
 * ------------------------------------------------ */

void pe_lanes_save(pe_warp *w); /* running group -> lane[], at w->pc */
void pe_lanes_exit(pe_warp *w, uint32_t mask);
/* Lanes of the running group that stop at instruction `i`. */
void pe_lanes_wait(pe_warp *w, const pe_inst *i, uint32_t mask, pe_wait why);
void pe_lanes_wake(pe_warp *w, uint32_t mask,
                   bool is_done); /* is_done: go on behind the instruction */
uint32_t pe_group_of(const pe_warp *w, uint32_t lane, uint32_t among);
void pe_bar_recheck(pe_cta *cta); /* after lanes exited */
void pe_warp_recheck(pe_warp *w); /* .aligned and member masks, when no lane of the warp can run */

enum { PE_BAR_PLAIN, PE_BAR_POPC, PE_BAR_AND, PE_BAR_OR };
typedef struct pe_bar_arrival {
    uint32_t id, expected; /* threads; 0: all */
    uint32_t kind;
    uint32_t pred;
    bool is_waiting;
} pe_bar_arrival;
void pe_bar_arrive(pe_warp *w, const pe_inst *i, uint32_t mask, const pe_bar_arrival *a);

/* Results of a .sync instruction for the lanes that met. */
typedef struct pe_met {
    uint32_t val[PE_LANES];
    uint32_t pred;
    uint32_t poison, poison_pred;
} pe_met;
/* Results for waiting lanes, each in its own frame. */
void pe_lanes_give(pe_warp *w, uint32_t set, const pe_met *met);
/* The running lanes `mask` arrive at `i`; wait_mask, wait_val, wait_big, wait_poison are set for
 * them. Those whose member mask is complete get their results (pe_sync_results); the others wait.
 */
void pe_sync_arrive(pe_warp *w, const pe_inst *i, uint32_t mask);
/* ops_sync.c: computes for the lanes `set`. */
void pe_sync_results(pe_warp *w, const pe_inst *i, uint32_t set, pe_met *out);

/* Whether the whole warp is here, and is one of four: else a fault (ops_wgmma.c). */
bool pe_has_warp_group(pe_warp *w, const pe_inst *i, uint32_t mask);
void pe_pool_fini(pe_cta *cta);
/* The lanes wait for registers for ever; all threads exited (ops_group.c). */
void pe_pool_report_wait(pe_warp *w, const pe_inst *i, uint32_t lanes);
void pe_pool_end(pe_cta *cta);
/* A TRACKED instruction is about to run: false after a fault (wgmma_regs.c). */
bool pe_wg_touch(pe_warp *w, const pe_inst *i);

/* Runs up to `budget` instructions of the warp. */
void pe_warp_run(pe_warp *w, uint32_t budget);
bool pe_cta_init(pe_cta *cta, pe_cluster *cluster, uint32_t rank);
void pe_cta_fini(pe_cta *cta);
typedef enum pe_cta_state { PE_CTA_RUNS, PE_CTA_STUCK, PE_CTA_OVER } pe_cta_state;
/* Runs for `turns` scheduling turns (0: no limit), or until it is over (also: failed), or no warp
 * can go on by itself. */
pe_cta_state pe_cta_run(pe_cta *cta, uint32_t turns);
bool pe_cta_can_run(pe_cta *cta);
void pe_cta_report_waiters(pe_cta *cta);
/* The CTA that a shared address is of; NULL if the cluster has none of that rank. */
pe_cta *pe_cta_at(const pe_cta *cta, uint64_t shared);
void pe_builtin_call(pe_warp *w, const pe_inst *i, const pe_call *call, uint32_t builtin,
                     uint32_t mask);

#endif
