/* pass.h: passes as rows of a table, and the manager that runs them. */
#ifndef PG_SCHED_PASS_H
#define PG_SCHED_PASS_H

#include "ir/ir.h"

typedef enum pg_change { PG_UNCHANGED, PG_CHANGED } pg_change;

enum {                        /* properties of a module, proved by the verifier */
       PG_PROP_LAID_OUT = 1,  /* every register tile has an encoding, operands and results agree */
       PG_PROP_PIPELINED = 2, /* no loop asks for stages any more */
       PG_PROP_SYNCED = 4,    /* values go from warp to warp through buffers and barriers only */
       PG_PROP_ALL = 7
};

typedef struct pg_sink { /* where explain and print-after text goes; write may be NULL */
    void *user;
    void (*write)(void *user, const char *bytes, size_t n);
} pg_sink;

typedef enum pg_verify_mode { PG_VERIFY_END, PG_VERIFY_EACH } pg_verify_mode;
enum { PG_CHECK_ROUNDTRIP = 1, PG_CHECK_CLONE = 2, PG_CHECK_TWICE = 4 };

typedef struct pg_pass_options {
    pg_str passes;      /* "a,b[option=1],c"; empty: the default pipeline of the target */
    pg_str stop_after;  /* empty: none */
    pg_str print_after; /* pass name, "all", "changed", or empty */
    pg_str explain;
    pg_verify_mode verify;
    uint32_t checks;     /* PG_CHECK_* */
    uint64_t shuffle;    /* seed of tie-breaks; 0: none */
    uint32_t pass_limit; /* at most so many passes run; UINT32_MAX: no limit */
    bool drops_ir;       /* the caller does not print the module afterwards */
    pg_sink sink;
    uint64_t (*clock_ns)(void *user); /* NULL: no times; the library has no clock of its own */
    void *clock_user;
} pg_pass_options;

typedef struct pg_pass_stat { /* one per pass that ran */
    const char *name;
    bool changed;
    uint64_t ns;
    uint32_t n_insts_before, n_insts_after;
} pg_pass_stat;

typedef struct pg_pass_env {
    pg_module *module;
    pg_arena *scratch; /* released after the pass */
    pg_diags *diags;
    const pg_pass_options *options;
    pg_str args;   /* "option=1,other=2": what stood in [...] after the pass's name */
    uint64_t ties; /* state of pg_tie */
} pg_pass_env;

typedef struct pg_pass {
    const char *name;
    pg_status (*run)(pg_pass_env *env, pg_kernel *k, pg_change *change);
    uint32_t needs, gives, breaks; /* PG_PROP_* */
    uint32_t keeps;                /* analyses still right after a change */
    const char *doc;
} pg_pass;

extern const pg_pass pg_passes[]; /* rows of passes.def */
extern const uint32_t pg_n_passes;
const pg_pass *pg_pass_find(pg_str name);

/* ---- for passes ------------------------------------------------------------------------------ */

/* Value of an option of the running pass, an integer; `if_absent` without it. */
int64_t pg_pass_arg(const pg_pass_env *env, const char *name, int64_t if_absent);
/* Which of n >= 1 equals a pass takes: the first, or with --shuffle one drawn by its seed. Every
 * choice that is free goes through it, so that tests can try what no order of the text leads to. */
uint32_t pg_tie(pg_pass_env *env, uint32_t n);
/* True if --explain asks for this topic ("layouts") or for all, and somebody listens. */
bool pg_pass_explains(const pg_pass_env *env, const char *topic);
/* explain.c: then a line for the topic `pass`, "pass: @kernel: line 7: load: " and what is said of
 * the operation `at`. */
void pg_pass_explain(const pg_pass_env *env, const char *pass, const pg_kernel *k,
                     const pg_inst *at, const char *format, ...) PG_PRINTF(5, 6);
/* Hands text to the sink; nothing without one. */
void pg_sink_put(const pg_sink *sink, pg_str text);

/* ---- pipelines.c ----------------------------------------------------------------------------- */

/* The default passes of a target, as pg_pass_options.passes has them. */
const char *pg_pipeline_of(uint32_t sm);

/* ---- the manager ----------------------------------------------------------------------------- */

/* Runs passes on every kernel of m, which has been verified. Verifies the module after the last
 * pass (PG_VERIFY_EACH: after every pass), with the properties that were promised. On PG_OK and on
 * failure *out_module is m, or its replacement where a check re-parsed or cloned it (m is destroyed
 * then); locations are those of the printed text after a round trip. stats: array in `arena`, may
 * be NULL. *stopped tells that stop_after or pass_limit ended it early; may be NULL. */
pg_status pg_passes_run(pg_module *m, const pg_pass_options *opt, pg_arena *arena,
                        pg_module **out_module, pg_pass_stat **stats, uint32_t *n_stats,
                        bool *stopped);

#endif
