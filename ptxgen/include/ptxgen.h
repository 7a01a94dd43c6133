/* ptxgen.h: compile tile-level kernels to PTX text, in process.
 *
 * Nothing here aborts, prints, reads the environment, starts a process or keeps static state.
 * A context serves one thread at a time; different contexts are independent. Every text that goes
 * in is borrowed for the call only; every text that comes out is owned by the object it came from.
 *
 * Life of a compile:
 *     ptxgen_ctx_create -> ptxgen_compile -> ptxgen_result_* -> ptxgen_result_destroy
 *     -> ptxgen_ctx_destroy
 *
 * Structs that callers fill begin with `struct_size`: set it to sizeof, zero the rest, then set
 * what you need; zero is the default of every field. Fields are only ever appended. Structs that
 * the library returns by value never change; new facts get new functions. */
#ifndef PTXGEN_H
#define PTXGEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PTXGEN_API     __attribute__((visibility("default")))
#define PTXGEN_CHECKED __attribute__((warn_unused_result))
#else
#define PTXGEN_API
#define PTXGEN_CHECKED
#endif

typedef struct ptxgen_ctx ptxgen_ctx;       /* opaque: allocator, interned types and names */
typedef struct ptxgen_result ptxgen_result; /* opaque: texts, facts and diagnostics of one call */

/* Numbers are fixed for ever; new ones are appended. */
typedef enum ptxgen_status {
    PTXGEN_OK = 0,
    PTXGEN_E_NOMEM = 1,
    PTXGEN_E_PARSE = 2,       /* the text is not tile IR, or not PTX */
    PTXGEN_E_INVALID = 3,     /* the IR breaks a rule of the verifier, or a run went wrong */
    PTXGEN_E_UNSUPPORTED = 4, /* valid, but not on this target or not in this version */
    PTXGEN_E_RESOURCE = 5,    /* shared memory, barriers or registers run out */
    PTXGEN_E_MISUSE = 6,      /* bad argument to this interface */
    PTXGEN_E_INTERNAL = 7     /* a defect of ptxgen; please report */
} ptxgen_status;

/* A run of bytes. Given to the library: need not end in NUL, {NULL, 0} is empty. Returned by it:
 * ends in NUL at ptr[len], ptr is never NULL. */
typedef struct ptxgen_str {
    const char *ptr;
    size_t len;
} ptxgen_str;

/* One entry point: resize(user, NULL, 0, n) allocates, new_size 0 frees and returns NULL; NULL when
 * memory runs out, and then the old block stays valid. Blocks are aligned for any type. */
typedef struct ptxgen_allocator {
    void *user;
    void *(*resize)(void *user, void *block, size_t old_size, size_t new_size);
} ptxgen_allocator;

/* Where text goes that is not a result: explanations, IR printed between passes. */
typedef struct ptxgen_sink {
    void *user;
    void (*write)(void *user, const char *bytes, size_t size); /* NULL: nowhere */
} ptxgen_sink;

/* ---- library and context ------------------------------------------------------------------- */

/* 10000 * major + 100 * minor + patch; 100 is 0.1.0. */
PTXGEN_API uint32_t ptxgen_version(void);
PTXGEN_API const char *ptxgen_version_text(void);
/* "PTXGEN_E_PARSE"; never NULL. */
PTXGEN_API const char *ptxgen_status_name(ptxgen_status status);
/* Names of the targets ("sm_90a") and passes, in the order of their tables; NULL past the end. */
PTXGEN_API const char *ptxgen_target_name(size_t index);
PTXGEN_API const char *ptxgen_pass_name(size_t index);
/* One sentence on what a pass does; NULL past the end. */
PTXGEN_API const char *ptxgen_pass_doc(size_t index);
/* The passes that run for a target where ptxgen_options.passes is empty, in its form: a list to
 * take some out of or to add to. NULL for a target that is not known. */
PTXGEN_API const char *ptxgen_default_passes(ptxgen_str target);

/* A context with the given allocator (copied), or malloc. Errors: NOMEM, MISUSE. A context may be
 * used again after any error, running out of memory included. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_ctx_create(const ptxgen_allocator *alloc_or_null,
                                                          ptxgen_ctx **out);
/* Results outlive their context's other objects, but not the allocator. NULL is a no-op. */
PTXGEN_API void ptxgen_ctx_destroy(ptxgen_ctx *ctx_or_null);

/* ---- compiling ------------------------------------------------------------------------------ */

/* A compile-time constant: NAME=VALUE. */
typedef struct ptxgen_setting {
    ptxgen_str name, value;
} ptxgen_setting;

typedef enum ptxgen_emit {
    PTXGEN_EMIT_PTX = 0, /* PTX text and manifests; the IR only with PTXGEN_KEEP_IR */
    PTXGEN_EMIT_IR = 1,  /* only the IR after the last pass; stops before emission */
    PTXGEN_EMIT_NONE = 2 /* parse and verify; no pass runs, no text is made */
} ptxgen_emit;

typedef enum ptxgen_verify {
    PTXGEN_VERIFY_END = 0, /* the input, and the IR after the last pass */
    PTXGEN_VERIFY_EACH = 1 /* also after every pass */
} ptxgen_verify;

/* ptxgen_options.checks: extra work between passes that must change nothing. */
enum {
    PTXGEN_CHECK_ROUNDTRIP = 1, /* print and parse again */
    PTXGEN_CHECK_CLONE = 2,     /* replace the module by its copy */
    PTXGEN_CHECK_TWICE = 4      /* run each pass a second time: it must report no change */
};

/* ptxgen_options.flags */
enum {
    PTXGEN_LIMIT_PASSES = 1, /* pass_limit holds */
    PTXGEN_ANNOTATE = 2,     /* comments in the PTX that name IR lines */
    PTXGEN_KEEP_IR = 4       /* beside PTX also the IR after the last pass, as text */
};

typedef struct ptxgen_options {
    size_t struct_size;     /* sizeof(ptxgen_options) as the caller compiled it */
    ptxgen_str target;      /* "sm_90a"; empty: the module's own */
    ptxgen_str passes;      /* "simplify,layouts"; "none"; empty: ptxgen_default_passes */
    ptxgen_str stop_after;  /* name of a pass; the result then has IR only, as it is first left */
    ptxgen_str print_after; /* name of a pass, "all" or "changed": IR text to the sink */
    ptxgen_str explain;     /* "layouts,registers" or "all": reasons to the sink */
    ptxgen_emit emit;
    ptxgen_verify verify;
    uint32_t checks; /* PTXGEN_CHECK_* */
    uint32_t flags;
    uint32_t pass_limit; /* with PTXGEN_LIMIT_PASSES: at most so many passes run */
    uint64_t shuffle;    /* seed that breaks ties of the scheduler at random; 0: by id */
    const ptxgen_setting *settings;
    size_t n_settings;
    ptxgen_sink sink;
    uint64_t (*clock_ns)(void *user); /* a running clock, in nanoseconds; NULL: no times */
    void *clock_user;
    /* Name of the source; not empty: the PTX says by `.file` and `.loc` which line and column of it
     * each instruction comes from, for profilers and debuggers (ptxas -lineinfo). The places are
     * those of the IR text, or what ptxgen_build_at said. Quotes, control characters and what is
     * not ASCII become '_'. */
    ptxgen_str line_info;
} ptxgen_options;

/* Compiles IR text. `options` may be NULL. On success and on failure alike *out carries diagnostics
 * and is to be destroyed; it is NULL only if memory ran out before it existed, or out arguments are
 * missing. Cost: linear in the size of the text. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_compile(ptxgen_ctx *ctx, ptxgen_str ir,
                                                       const ptxgen_options *options_or_null,
                                                       ptxgen_result **out);
/* Reads PTX text of any origin and compares it with the instruction table: opcodes, modifiers,
 * operands, versions, targets. *out as in ptxgen_compile. Errors: PARSE, INVALID, UNSUPPORTED. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_check_ptx(ptxgen_ctx *ctx, ptxgen_str ptx,
                                                         ptxgen_result **out);

/* ---- interpreting --------------------------------------------------------------------------- */

/* One kernel argument. Pointers: host memory that the program may read and write, `n_bytes` long;
 * `poison` has one byte for each byte of it, non-zero where nothing was written yet, or is NULL.
 * Scalars: `bits`, integers sign-extended to 64 bits, floats as the bit pattern of their type.
 * Descriptor parameters take an entry that is ignored: they follow from their pointer. */
typedef struct ptxgen_arg {
    void *data;
    uint64_t n_bytes;
    uint8_t *poison;
    uint64_t bits;
} ptxgen_arg;

typedef struct ptxgen_interpretation {
    size_t struct_size; /* sizeof(ptxgen_interpretation) as the caller compiled it */
    ptxgen_str target;  /* as in ptxgen_options */
    ptxgen_str entry;   /* name of the kernel; empty: the only one */
    const ptxgen_arg *args;
    size_t n_args;
    uint32_t grid[3];   /* 0, 0, 0: as the launch region says, 1, 1, 1 without one */
    uint64_t seed;      /* draws the order of what the program leaves open */
    uint64_t max_steps; /* operations; 0: 10^10 */
} ptxgen_interpretation;

/* Runs a kernel of IR text as the language defines it, with no passes and no PTX. Slow; the
 * reference that compiled kernels are compared with. INVALID with diagnostics at the operation when
 * the run goes wrong (out of bounds, uninitialised, deadlock). *out as in ptxgen_compile. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_interpret(ptxgen_ctx *ctx, ptxgen_str ir,
                                                         const ptxgen_interpretation *run,
                                                         ptxgen_result **out);

/* ---- layouts -------------------------------------------------------------------------------- */

/* What an encoding is looked at for; zero is the default of every field. */
typedef struct ptxgen_layout_query {
    size_t struct_size; /* sizeof(ptxgen_layout_query) as the caller compiled it */
    ptxgen_str elem;    /* "f16"; empty: f16 */
    int32_t shape[5];   /* `rank` extents */
    uint32_t rank;      /* 0: the extents of one step of the encoding */
    uint32_t n_warps;   /* 0: as many as the encoding says */
} ptxgen_layout_query;

typedef enum ptxgen_layout_form {
    PTXGEN_LAYOUT_TABLE = 0, /* text: which thread and register, or which offset, holds what */
    PTXGEN_LAYOUT_SVG = 1,   /* a picture */
    PTXGEN_LAYOUT_JSON = 2,  /* one object; docs/layouts.md */
    PTXGEN_LAYOUT_FORM_COUNT = 3
} ptxgen_layout_form;

/* Describes the layout that an encoding means: text as in a module, "mma [shape=(16, 8, 16),
 * warps=(2, 2)]", after definitions "enc #name = ..." where it names others; without an encoding
 * after them the last definition is meant. `query` may be NULL. *out as in ptxgen_compile. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status
ptxgen_describe_layout(ptxgen_ctx *ctx, ptxgen_str text, const ptxgen_layout_query *query_or_null,
                       ptxgen_result **out);

/* ---- results -------------------------------------------------------------------------------- */
/* Texts live until ptxgen_result_destroy. Functions accept NULL and give nothing then. */

/* Only errors make a call fail. */
typedef enum ptxgen_severity {
    PTXGEN_NOTE = 0,
    PTXGEN_WARNING = 1,
    PTXGEN_ERROR = 2
} ptxgen_severity;

typedef struct ptxgen_diag {
    uint32_t number; /* 1203 is PG1203; fixed for ever, documented in docs/diagnostics.md */
    ptxgen_severity severity;
    ptxgen_status status;  /* what an error of this kind leads to */
    uint32_t line, column; /* 1-based, bytes; 0 when no source text is involved */
    ptxgen_str message;    /* one line: what is wrong */
    ptxgen_str help;       /* one sentence: what to do; may be empty */
} ptxgen_diag;

typedef struct ptxgen_pass_stat {
    ptxgen_str name;
    uint32_t has_changed; /* 0 or 1 */
    uint32_t n_ops_before, n_ops_after;
    uint64_t ns; /* 0 without a clock */
} ptxgen_pass_stat;

typedef struct ptxgen_stats {
    size_t struct_size; /* sizeof(ptxgen_stats) as the caller compiled it */
    uint64_t parse_ns, verify_ns, passes_ns, emit_ns, total_ns; /* 0 without a clock */
    uint64_t n_ops;                                             /* operations of the input */
    uint64_t ptx_bytes;                                         /* of the PTX text */
    uint64_t arena_bytes; /* most memory of module and result at a time */
} ptxgen_stats;

/* Frees the result and every text of it. NULL is a no-op. */
PTXGEN_API void ptxgen_result_destroy(ptxgen_result *r_or_null);
/* What the call that made it returned; MISUSE of NULL. */
PTXGEN_API ptxgen_status ptxgen_result_status(const ptxgen_result *r);
/* Empty where the options or an error stopped before it. */
PTXGEN_API ptxgen_str ptxgen_result_ptx(const ptxgen_result *r);
/* The IR after the last pass that ran. Beside PTX only where PTXGEN_KEEP_IR asked for it. */
PTXGEN_API ptxgen_str ptxgen_result_ir(const ptxgen_result *r);
/* Line of the IR that a line of the PTX text came from, both from 1; 0 where there is none. For
 * messages about the PTX text, such as those of an assembler. */
PTXGEN_API uint32_t ptxgen_result_source_line(const ptxgen_result *r, uint32_t ptx_line);
/* Of ptxgen_describe_layout; else empty. */
PTXGEN_API ptxgen_str ptxgen_result_layout(const ptxgen_result *r, ptxgen_layout_form form);
/* The module's target, "sm_90a"; empty if it could not be read. */
PTXGEN_API ptxgen_str ptxgen_result_target(const ptxgen_result *r);

/* Kernels of the module, in order. */
PTXGEN_API size_t ptxgen_result_entry_count(const ptxgen_result *r);
PTXGEN_API ptxgen_str ptxgen_result_entry_name(const ptxgen_result *r, size_t index);
/* Launch manifest as one line of JSON (docs/manifest.md); empty before emission. */
PTXGEN_API ptxgen_str ptxgen_result_manifest(const ptxgen_result *r, size_t index);

/* Diagnostics by line and column; those without a place first. At most 64 errors and 64 others are
 * kept; the rest is only counted. */
PTXGEN_API size_t ptxgen_result_diag_count(const ptxgen_result *r);
PTXGEN_API size_t ptxgen_result_diag_dropped(const ptxgen_result *r);
PTXGEN_API ptxgen_diag ptxgen_result_diag(const ptxgen_result *r, size_t index);

/* The passes that ran, in order; past the end a stat without a name. */
PTXGEN_API size_t ptxgen_result_pass_count(const ptxgen_result *r);
PTXGEN_API ptxgen_pass_stat ptxgen_result_pass(const ptxgen_result *r, size_t index);
/* Fills what the caller's struct_size has room for. Errors: MISUSE. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_result_stats(const ptxgen_result *r,
                                                            ptxgen_stats *out);

#ifdef __cplusplus
}
#endif

#endif
