/* ptxexec.h: run PTX text on CPU threads, and find its faults.
 *
 * A strict functional model, not a timing simulator: see docs/executor.md. Nothing here aborts,
 * prints, reads the environment or keeps static state. Objects are independent; one object serves
 * one thread at a time (a launch may use several host threads inside).
 *
 * Life of a run:
 *     ptxexec_module_load -> ptxexec_device_create -> ptxexec_device_alloc/write -> ptxexec_launch
 *     -> ptxexec_report_* -> ptxexec_device_read -> *_destroy
 *
 * Wrong arguments are PTXEXEC_E_MISUSE, and an object that is NULL has nothing to tell: counts are
 * 0, texts are "". An index past the end gives an empty row.
 *
 * Structs that cross this interface either begin with `struct_size` (the caller sets it to sizeof
 * as compiled; fields are only ever appended) or are plain results that the library fills. */
#ifndef PTXEXEC_H
#define PTXEXEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PTXEXEC_API     __attribute__((visibility("default")))
#define PTXEXEC_CHECKED __attribute__((warn_unused_result))
#else
#define PTXEXEC_API
#define PTXEXEC_CHECKED
#endif

typedef struct ptxexec_module ptxexec_module; /* opaque: a PTX module, decoded */
typedef struct ptxexec_device ptxexec_device; /* opaque: device memory */
typedef struct ptxexec_report ptxexec_report; /* opaque: what one launch did */

typedef enum ptxexec_status { /* numbers are fixed for ever; new ones are appended */
                              PTXEXEC_OK = 0,
                              PTXEXEC_E_NOMEM = 1,
                              PTXEXEC_E_PARSE = 2,       /* the text is not PTX */
                              PTXEXEC_E_INVALID = 3,     /* PTX that breaks a rule, or a launch that
                                                            does not fit the kernel */
                              PTXEXEC_E_UNSUPPORTED = 4, /* right PTX, or a wish, that this executor
                                                            does not have yet */
                              PTXEXEC_E_RESOURCE =
                                  5, /* shared memory, threads per CTA, address space */
                              PTXEXEC_E_MISUSE = 6,   /* bad argument to this interface */
                              PTXEXEC_E_INTERNAL = 7, /* a defect of the executor; please report */
                              PTXEXEC_E_FAULT =
                                  8 /* the kernel ran and did something wrong: see the report */
} ptxexec_status;

/* One entry point; new_size 0 frees; NULL when memory runs out. Must be callable from several
 * threads at a time when a launch asks for several host threads. */
typedef struct ptxexec_allocator {
    void *user;
    void *(*resize)(void *user, void *block, size_t old_size, size_t new_size);
} ptxexec_allocator;

PTXEXEC_API uint32_t ptxexec_version(void); /* 100 = 0.1.0 */
/* "out of memory"; static, never NULL. */
PTXEXEC_API const char *ptxexec_status_text(ptxexec_status status);

/* ---- modules ------------------------------------------------------------------------------- */

/* Errors refuse a module or a launch, warnings do not, notes say more of the message before. */
typedef enum ptxexec_severity {
    PTXEXEC_NOTE = 0,
    PTXEXEC_WARNING = 1,
    PTXEXEC_ERROR = 2
} ptxexec_severity;

typedef struct ptxexec_diag {
    uint32_t number; /* 5001 prints as PG5001 */
    ptxexec_severity severity;
    uint32_t line, column; /* 1-based, in the PTX text; 0 when there is no place */
    const char *message;   /* owned by the object that was asked */
    const char *help;      /* one sentence, may be "" */
} ptxexec_diag;

/* Reads and decodes the whole text. Every instruction that the executor lacks is an error with its
 * line and column here, before anything runs. *out is NULL only on misuse, or if memory ran out
 * before it existed: on other failures it carries the diagnostics and nothing else, and must still
 * be destroyed. `text` is not kept. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_module_load(
    const ptxexec_allocator *alloc_or_null, const char *text, size_t size, ptxexec_module **out);
/* NULL is a no-op. */
PTXEXEC_API void ptxexec_module_destroy(ptxexec_module *m_or_null);
/* What reading the text said, by line; `index` below the count. */
PTXEXEC_API size_t ptxexec_module_diag_count(const ptxexec_module *m);
PTXEXEC_API ptxexec_diag ptxexec_module_diag(const ptxexec_module *m, size_t index);
PTXEXEC_API const char *ptxexec_module_target(const ptxexec_module *m); /* "sm_90a" */

typedef struct ptxexec_entry {
    const char *name; /* owned by the module */
    uint32_t n_params;
    uint32_t param_size; /* bytes of the parameter block */
    uint32_t reqntid[3]; /* 0,0,0 without the directive */
    uint32_t maxntid[3];
    uint32_t reqnctapercluster[3];
    uint32_t static_shared; /* bytes */
    uint32_t local_size;    /* bytes of local memory of the entry itself, per thread */
    uint32_t line;          /* of the entry in the PTX text */
} ptxexec_entry;

typedef struct ptxexec_param {
    const char *name; /* owned by the module */
    const char *type; /* "u64", "b8", ... as written: the element's type for arrays */
    uint32_t offset;  /* in the parameter block */
    uint32_t size;    /* bytes */
    uint32_t align;
    uint32_t is_array;
} ptxexec_param;

/* Kernels of the module, in the order of the text. */
PTXEXEC_API size_t ptxexec_module_entry_count(const ptxexec_module *m);
/* PTXEXEC_E_MISUSE past the end. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_module_entry(const ptxexec_module *m,
                                                                size_t index, ptxexec_entry *out);
/* Index of the entry of that name; PTXEXEC_E_MISUSE if there is none. A NULL name means the only
 * entry. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_module_find(const ptxexec_module *m,
                                                               const char *name_or_null,
                                                               size_t *out);
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_module_param(const ptxexec_module *m,
                                                                size_t entry, size_t index,
                                                                ptxexec_param *out);

/* Where a line of the PTX text comes from, as its `.file` and `.loc` lines say (nvcc -lineinfo,
 * Triton, ptxgen --line-info): of code that was inlined, its own place, not the caller's. */
typedef struct ptxexec_source {
    const char *file; /* as the text spells it; owned by the module */
    uint32_t line, column;
} ptxexec_source;
/* 1, or 0 and *out with file "" where the text says nothing about that line. */
PTXEXEC_API int ptxexec_module_source(const ptxexec_module *m, uint32_t line, ptxexec_source *out);

/* ---- tensor maps -------------------------------------------------------------------------------
 * What cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col take, checked without a driver or a GPU
 * (docs/executor.md). */

/* Types, interleaves, swizzles, promotions and fills are numbered as in the driver's cuda.h. */
typedef enum ptxexec_tm_type {
    PTXEXEC_TM_U8 = 0,
    PTXEXEC_TM_U16 = 1,
    PTXEXEC_TM_U32 = 2,
    PTXEXEC_TM_S32 = 3,
    PTXEXEC_TM_U64 = 4,
    PTXEXEC_TM_S64 = 5,
    PTXEXEC_TM_F16 = 6,
    PTXEXEC_TM_F32 = 7,
    PTXEXEC_TM_F64 = 8,
    PTXEXEC_TM_BF16 = 9,
    PTXEXEC_TM_F32_FTZ = 10,
    PTXEXEC_TM_TF32 = 11,
    PTXEXEC_TM_TF32_FTZ = 12,
    PTXEXEC_TM_U4X16_A8 = 13,
    PTXEXEC_TM_U4X16_A16 = 14,
    PTXEXEC_TM_U6X16_A16 = 15
} ptxexec_tm_type;

typedef struct ptxexec_tensormap {
    size_t struct_size;       /* sizeof(ptxexec_tensormap) as the caller compiled it */
    uint32_t target;          /* 90 for sm_90; 0: any that has tensor maps */
    uint32_t type;            /* ptxexec_tm_type */
    uint32_t rank;            /* 1 to 5 */
    uint32_t interleave;      /* 0 none, 1 16B, 2 32B */
    uint32_t swizzle;         /* 0 none, 1 32B, 2 64B, 3 128B, 4 to 6 with larger atoms */
    uint32_t l2_promotion;    /* 0 none, 1 64B, 2 128B, 3 256B */
    uint32_t oob_fill;        /* 0 zeros, 1 NaN */
    uint32_t box[5];          /* elements; all lists innermost first, as the driver takes them */
    uint32_t elem_strides[5]; /* 1: every element */
    uint64_t address;         /* of the array's first element */
    uint64_t dims[5];         /* elements */
    uint64_t strides[4];      /* bytes, of dimensions 1 to rank-1 */
    uint64_t place;           /* where the 128 bytes of the map are to lie; 0: not known yet */
    uint32_t is_im2col;       /* 1: cuTensorMapEncodeIm2col; `box` is not looked at, but: */
    uint32_t channels;        /* channelsPerPixel */
    uint32_t pixels;          /* pixelsPerColumn */
    int32_t lower[3];         /* pixelBoxLowerCorner, W first as `dims` */
    int32_t upper[3];         /* pixelBoxUpperCorner */
} ptxexec_tensormap;

typedef struct ptxexec_tensormap_fault { /* a rule that is broken */
    uint32_t number;                     /* 5109 prints as PG5109: docs/diagnostics.md */
    ptxexec_severity severity;
    uint32_t index;       /* of the list that `argument` names; 0 for what is no list */
    const char *argument; /* as the driver names it: "boxDim"; static */
    const char *help;     /* static */
    char message[256];
} ptxexec_tensormap_fault;

/* Counts the rules of cuTensorMapEncodeTiled that the arguments break, and tells the first `max`
 * of them, each by its own number. *n_errors (may be NULL) leaves the warnings out: with 0 the
 * driver takes the arguments.
 */
PTXEXEC_API size_t ptxexec_tensormap_check(const ptxexec_tensormap *map,
                                           ptxexec_tensormap_fault *out, size_t max,
                                           size_t *n_errors);
/* The 128 bytes that stand for a map in the executor's parameters, at a multiple of 64. A GPU wants
 * those of its own driver. PTXEXEC_E_INVALID, and zeros, where the check has an error. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_tensormap_encode(const ptxexec_tensormap *map,
                                                                    unsigned char out[128]);

/* ---- device memory --------------------------------------------------------------------------- */

/* An empty device. Addresses are the same in every run of the same sequence of calls. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status
ptxexec_device_create(const ptxexec_allocator *alloc_or_null, ptxexec_device **out);
PTXEXEC_API void ptxexec_device_destroy(ptxexec_device *d_or_null);

typedef enum ptxexec_fill {
    PTXEXEC_FILL_POISON =
        0, /* uninitialised: reading it is harmless, using what was read is a fault */
    PTXEXEC_FILL_ZERO = 1
} ptxexec_fill;

/* A new array of `size` bytes (0 is allowed) at a multiple of 65536, with guard zones of at least
 * 4096 bytes on both sides: touching those is reported against this array. `label` is copied and
 * names the array in faults. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_device_alloc(ptxexec_device *d, uint64_t size,
                                                                ptxexec_fill fill,
                                                                const char *label_or_null,
                                                                uint64_t *out_address);
/* Later accesses are faults; the address is not used again. PTXEXEC_E_MISUSE if no array starts
 * there. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_device_free(ptxexec_device *d, uint64_t address);
/* Copies in: the bytes written are initialised. The range must lie in one live array. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_device_write(ptxexec_device *d, uint64_t address,
                                                                const void *bytes, uint64_t size);
/* Copies out. Bytes that are still poison read as their raw value; *out_n_poison (may be NULL)
 * counts them and *out_first_poison (may be NULL) is the offset of the first, or `size`. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_device_read(const ptxexec_device *d,
                                                               uint64_t address, void *bytes,
                                                               uint64_t size,
                                                               uint64_t *out_n_poison,
                                                               uint64_t *out_first_poison);
/* Address and size of a module's .global variable on this device (it is instantiated by the first
 * call that needs it, and then keeps its contents between launches). PTXEXEC_E_MISUSE if there is
 * none of the name. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_device_symbol(ptxexec_device *d,
                                                                 const ptxexec_module *m,
                                                                 const char *name,
                                                                 uint64_t *out_address,
                                                                 uint64_t *out_size);

/* ---- launching ---------------------------------------------------------------------------------
 */

typedef enum ptxexec_races {
    PTXEXEC_RACES_OFF = 0,
    PTXEXEC_RACES_PRACTICE = 1, /* accepts what known-good kernels leave out (docs/executor.md) */
    PTXEXEC_RACES_ISA = 2       /* asks for every fence that the ISA asks for */
} ptxexec_races;

typedef struct ptxexec_launch_options {
    size_t struct_size;      /* sizeof(ptxexec_launch_options) as the caller compiled it */
    size_t entry;            /* index */
    uint32_t grid[3];        /* CTAs; every component at least 1 */
    uint32_t block[3];       /* threads; at most 1024 in all */
    uint32_t cluster[3];     /* 0,0,0: the entry's .reqnctapercluster, else 1,1,1 */
    uint32_t dynamic_shared; /* bytes */
    const void *params;      /* the parameter block, laid out as ptxexec_module_param says */
    size_t params_size;      /* must equal the entry's param_size */
    uint64_t seed;           /* draws the interleaving of warps */
    uint64_t max_steps;      /* warp instructions of one CTA; 0: 2^32 */
    uint32_t host_threads;   /* 0: 1. Results do not depend on it */
    ptxexec_races races;
    uint32_t max_faults;    /* faults to keep; 0: 32 */
    uint32_t collect_stats; /* nonzero: count opcodes and memory transactions (slower) */
    uint32_t collect_trace; /* nonzero: keep what happened when, see ptxexec_trace_event */
} ptxexec_launch_options;

/* Runs one grid to its end. PTXEXEC_OK: it ran and nothing was wrong. PTXEXEC_E_FAULT: the report
 * says what was; device memory holds what had been written until then. Other statuses: nothing ran
 * (report's diagnostics say why). *out is NULL only if memory ran out before it existed; must be
 * destroyed. It borrows nothing from the module or the device. */
PTXEXEC_API PTXEXEC_CHECKED ptxexec_status ptxexec_launch(ptxexec_device *d, ptxexec_module *m,
                                                          const ptxexec_launch_options *options,
                                                          ptxexec_report **out);

/* ---- reports
 * -------------------------------------------------------------------------------------- */

typedef enum ptxexec_fault_kind { /* numbers are fixed; new ones are appended */
                                  PTXEXEC_F_NONE = 0,
                                  PTXEXEC_F_OUT_OF_BOUNDS = 1, /* guard zone, never allocated, null,
                                                                  past shared or local memory */
                                  PTXEXEC_F_USE_AFTER_FREE = 2,
                                  PTXEXEC_F_MISALIGNED = 3,
                                  PTXEXEC_F_READ_ONLY =
                                      4, /* store or atomic to .const or to kernel parameters */
                                  PTXEXEC_F_WRONG_SPACE = 5, /* an address of another state space */
                                  PTXEXEC_F_POISON_BRANCH =
                                      6, /* an uninitialised value decides a branch or a guard */
                                  PTXEXEC_F_POISON_ADDRESS = 7,
                                  PTXEXEC_F_POISON_SYNC = 8, /* ... is a member mask, a barrier's
                                                                number or count, a shuffle's lane */
                                  PTXEXEC_F_DIVERGED = 9, /* an .aligned instruction, reached by a
                                                             part of the warp only */
                                  PTXEXEC_F_MEMBER_MASK = 10, /* .sync executed by a lane that its
                                                                 member mask does not name */
                                  PTXEXEC_F_BARRIER = 11,     /* barrier misuse: number, count,
                                                                 disagreement, too many arrivals */
                                  PTXEXEC_F_DEADLOCK = 12, /* one fault for each group of waiters */
                                  PTXEXEC_F_STEP_LIMIT = 13,
                                  PTXEXEC_F_TRAP = 14,
                                  PTXEXEC_F_ASSERT = 15, /* __assertfail */
                                  PTXEXEC_F_BAD_CALL =
                                      16,               /* indirect call or brx.idx to no target */
                                  PTXEXEC_F_STACK = 17, /* call depth or local memory used up */
                                  PTXEXEC_F_SHUFFLE = 18, /* read from a lane that is not there */
                                  PTXEXEC_F_RACE = 19, /* two accesses that nothing orders, one of
                                                          them a write; `other` is the earlier one
                                                        */
                                  PTXEXEC_F_MBARRIER = 20,    /* mbarrier misuse: not initialised or
                                                                twice, too many arrivals or bytes,
                                                                overwritten */
                                  PTXEXEC_F_WARP_GROUP = 21,  /* an instruction of a warp group, not
                                                                 executed alike by its four warps */
                                  PTXEXEC_F_IN_FLIGHT = 22,   /* registers of a wgmma that nobody
                                                                 waited for; `other` is the wgmma */
                                  PTXEXEC_F_WGMMA_FENCE = 23, /* no wgmma.fence between an access to
                                                                 a register and the wgmma */
                                  PTXEXEC_F_DESCRIPTOR = 24,  /* a matrix descriptor with reserved
                                                                bits, or not equal in all lanes */
                                  PTXEXEC_F_POOL = 25,  /* setmaxnreg in the wrong direction, or for
                                                          more registers than there are */
                                  PTXEXEC_F_PROXY = 26, /* ordered, but by no fence between the
                                                           generic and the async proxy */
                                  PTXEXEC_F_TENSOR_MAP = 27, /* a map that breaks a rule, or does
                                                                not fit its use */
                                  PTXEXEC_F_ASYNC = 28 /* a copy that nobody waited for when its
                                                          CTA ended */
} ptxexec_fault_kind;

typedef struct ptxexec_access { /* one thread at one instruction */
    uint32_t line, column;      /* PTX; 0: none */
    uint32_t cta[3], thread[3]; /* %ctaid, %tid of the (first) lane */
    uint32_t warp, lane;        /* in the CTA */
    uint32_t lanes;             /* all lanes of the warp that the fault concerns */
} ptxexec_access;

typedef struct ptxexec_fault {
    ptxexec_fault_kind kind;
    const char *message; /* one line, owned by the report */
    ptxexec_access at;
    uint64_t address; /* memory faults: generic address of the first byte; else 0 */
    uint32_t size;    /* bytes of the access, else 0 */
    uint32_t has_other;
    ptxexec_access other; /* the other access of a race, where has_other */
    const char *missing;  /* races: what would order the two, the end of `message`; else "" */
} ptxexec_fault;

typedef struct ptxexec_stats {
    uint64_t n_ctas, n_warps;
    uint64_t n_steps;             /* warp instructions */
    uint64_t n_lane_instructions; /* active lanes summed over them */
    /* With collect_stats only: */
    uint64_t n_global_accesses;   /* warp instructions that touch global memory */
    uint64_t n_global_sectors;    /* 32-byte sectors that they touch */
    uint64_t n_shared_accesses;   /* the same for shared memory */
    uint64_t n_shared_wavefronts; /* passes that 32 banks of 4 bytes need */
    double seconds;               /* host time of the launch */
    uint64_t n_shared_extra;      /* passes that bank conflicts add (collect_stats) */
} ptxexec_stats;

/* Memory accesses of one instruction of the text. Lanes are served in phases (32 of up to 4 bytes,
 * 16 of 8, 8 of 16, each matrix of ldmatrix and stmatrix); a phase without conflict is one pass. */
typedef struct ptxexec_line_stats {
    uint32_t line, column;
    const char *opcode;           /* owned by the report */
    uint64_t n_shared_accesses;   /* warp instructions */
    uint64_t n_shared_wavefronts; /* passes over the banks */
    uint64_t n_shared_extra;      /* of these, by conflicts */
    uint64_t n_global_accesses;
    uint64_t n_global_sectors; /* of 32 bytes */
} ptxexec_line_stats;

typedef struct ptxexec_opcode_count {
    const char *opcode; /* "fma.rn.f32"; owned by the report */
    uint64_t n_steps, n_lane_instructions;
} ptxexec_opcode_count;

/* What happened when, on the clock of docs/executor.md ("Traces"): cycles, which say how things
 * depend on each other and no more. */
typedef enum ptxexec_trace_kind { /* numbers are fixed; new ones are appended */
                                  PTXEXEC_TRACE_RUN = 0,     /* a warp executes */
                                  PTXEXEC_TRACE_WAIT = 1,    /* a warp waits at the line */
                                  PTXEXEC_TRACE_COPY = 2,    /* bytes go through the copy engine */
                                  PTXEXEC_TRACE_PRODUCT = 3, /* the tensor core works */
                                  PTXEXEC_TRACE_ARROW = 4    /* `from` at `start` let `track` go on
                                                                at `end` */
} ptxexec_trace_kind;
enum { PTXEXEC_TRACK_COPIES = 1000, PTXEXEC_TRACK_TENSOR = 1001 }; /* below: warps of the CTA */

typedef struct ptxexec_trace_event {
    ptxexec_trace_kind kind;
    uint32_t track, from;
    uint32_t line;       /* PTX */
    uint64_t cta;        /* its number in the grid */
    uint64_t start, end; /* cycles */
    uint64_t bytes;      /* of a copy */
    const char *name;    /* owned by the report */
} ptxexec_trace_event;

/* NULL is a no-op. */
PTXEXEC_API void ptxexec_report_destroy(ptxexec_report *r_or_null);
/* What the launch returned. */
PTXEXEC_API ptxexec_status ptxexec_report_status(const ptxexec_report *r);
/* Why a launch was refused, and its warnings; `index` below the count. */
PTXEXEC_API size_t ptxexec_report_diag_count(const ptxexec_report *r);
PTXEXEC_API ptxexec_diag ptxexec_report_diag(const ptxexec_report *r, size_t index);
/* Faults, in the order in which they happened, of the CTA with the least number that had any. */
PTXEXEC_API size_t ptxexec_report_fault_count(const ptxexec_report *r);
PTXEXEC_API ptxexec_fault ptxexec_report_fault(const ptxexec_report *r, size_t index);
PTXEXEC_API const char *ptxexec_fault_kind_text(ptxexec_fault_kind kind); /* "out of bounds" */
PTXEXEC_API ptxexec_stats ptxexec_report_stats(const ptxexec_report *r);
/* Opcodes that were executed, most lane instructions first; empty without collect_stats. */
PTXEXEC_API size_t ptxexec_report_opcode_count(const ptxexec_report *r);
PTXEXEC_API ptxexec_opcode_count ptxexec_report_opcode(const ptxexec_report *r, size_t index);
/* Instructions that touched memory, in the order of the text; empty without collect_stats. */
PTXEXEC_API size_t ptxexec_report_line_count(const ptxexec_report *r);
PTXEXEC_API ptxexec_line_stats ptxexec_report_line(const ptxexec_report *r, size_t index);
/* Events of all CTAs, CTA by CTA; empty without collect_trace. */
PTXEXEC_API size_t ptxexec_report_trace_count(const ptxexec_report *r);
PTXEXEC_API ptxexec_trace_event ptxexec_report_trace(const ptxexec_report *r, size_t index);
/* What the kernel printed with vprintf, CTA by CTA; NUL-terminated, "" without. */
PTXEXEC_API const char *ptxexec_report_output(const ptxexec_report *r);

#ifdef __cplusplus
}
#endif

#endif
