/* device.h: launches PTX text on the executor or on a GPU, with several seeds, and brings arrays
 * back. Launches of several entries run one after the other on the same arrays. */
#ifndef PG_RUN_DEVICE_H
#define PG_RUN_DEVICE_H

#include <ptxgen.h>

#include "tools/exec/ptxexec.h"
#include "tools/run/npy.h"

typedef struct run_buffer {
    const char *label;
    const void *init; /* NULL: none */
    uint64_t n_bytes;
    bool is_zero;   /* zeroed instead of poisoned, where init is NULL */
    bool is_output; /* compared between seeds, result kept */
    run_dtype type; /* for comparing; NONE: bytes */
    uint32_t align; /* that its address is to have; 0: any */
    /* Set by the launch: contents after the first seed, and what was never written. */
    unsigned char *result;
    uint64_t n_poison, first_poison;
} run_buffer;

/* A kernel parameter: bytes, the address of a buffer plus an offset, or a tensor map of what lies
 * there. */
typedef struct run_param {
    const char *spec; /* as written, for messages */
    int32_t buffer;   /* index; -1: bytes */
    uint64_t offset;
    uint32_t align; /* that the kernel was promised of an address; 0: none */
    const void *bytes;
    uint64_t n_bytes;
    const ptxexec_tensormap *map; /* NULL: none. Its address is filled in by the launch */
} run_param;

/* ANY and AUTO: a GPU where there is one, unless the run wants what only the executor has. AUTO
 * says so where there is none. */
typedef enum run_on { RUN_ON_ANY, RUN_ON_AUTO, RUN_ON_CPU, RUN_ON_CUDA } run_on;

typedef enum run_races { RUN_RACES_OFF, RUN_RACES_PRACTICE, RUN_RACES_ISA } run_races;

/* One entry of the module with its arguments. */
typedef struct run_step {
    const char *entry;                      /* NULL: the only one */
    uint32_t grid[3], block[3], cluster[3]; /* cluster 0: as the kernel says */
    uint32_t smem;
    const run_param *params;
    uint32_t n_params;
} run_step;

typedef struct run_json run_json; /* report_json.h */

typedef struct run_launch {
    const char *file; /* name of the PTX text in messages */
    pg_str ptx;
    bool is_ours; /* our own PTX: what the executor cannot read is our defect */
    /* What the PTX was compiled from, so that faults stand at lines of the author's; or NULL. */
    const ptxgen_result *compiled;
    const char *ir; /* the text that went in; NULL: none (a library kernel) */
    /* Set while the executor has the PTX loaded: what its .loc lines say. */
    const ptxexec_module *module;
    run_on device;
    const run_step *steps;
    uint32_t n_steps; /* in this order */
    run_buffer *buffers;
    uint32_t n_buffers;
    uint64_t first_seed, n_seeds; /* n_seeds 0: one */
    run_races races;
    bool has_stats;
    const char *trace;     /* file for the first seed's trace, or NULL */
    uint64_t max_steps;    /* 0: the executor's */
    run_json *json;        /* what the executor reports goes there too; NULL: nowhere */
    uint32_t host_threads; /* of the executor; 0: as many as there are processors, 16 at most */
    /* Set by the launch, of the first seed: host time of the kernels, and what the executor ran. */
    double seconds;
    uint64_t n_lane_instructions;
} run_launch;

/* True if it runs on the executor and not on a GPU: it must, it wants what only the executor has,
 * or there is no driver of a GPU here. False where only the driver can tell. */
bool run_is_on_cpu(run_on where, bool wants_executor);
/* RUN_CHECK when the kernel did something wrong, or a seed gives another result. */
run_exit run_launch_all(const run_msgs *m, pg_arena *a, run_launch *launch);

#endif
