/* job.h: one run of a compiled kernel on host arrays, and its verification. */
#ifndef PG_RUN_JOB_H
#define PG_RUN_JOB_H

#include <ptxgen.h>

#include "tools/run/device.h"
#include "tools/run/inputs.h"

/* Where and how; the arrays are those of `inputs`. */
typedef struct run_how {
    const char *file;
    const ptxgen_result *compiled; /* the kernel, with its PTX */
    const char *ir;                /* text that it came from; NULL: a library kernel */
    const run_manifest *launches;  /* one after the other; `inputs` has the arguments of all */
    uint32_t n_launches;
    run_on device;
    uint64_t first_seed, n_seeds;
    run_races races;
    bool has_stats;
    uint64_t max_steps;
    uint32_t host_threads; /* as in run_launch */
} run_how;

typedef struct run_cost {
    double seconds;
    uint64_t n_lane_instructions; /* executor only */
} run_cost;

/* Launches, keeps the results in the values, writes the --out files. */
run_exit run_job(const run_msgs *m, pg_arena *a, const run_how *how, run_inputs *inputs,
                 run_cost *cost);

/* Compares every output with the library kernel's reference, or with the interpreter on IR text,
 * and prints a line for each to stdout: the largest error beside the error allowed there (into the
 * JSON of the messages, where they have one). What one launch writes for the next is no output. */
run_exit run_verify_kernel(const run_msgs *m, pg_arena *a, const char *kernel,
                           const ptxgen_setting *settings, size_t n_settings,
                           const run_inputs *inputs);
run_exit run_verify_text(const run_msgs *m, pg_arena *a, const char *file, ptxgen_str ir,
                         ptxgen_str target, const run_inputs *inputs);

#endif
