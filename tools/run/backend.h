/* backend.h: where PTX runs: the executor on the CPU (device_cpu.c), or a GPU through the CUDA
 * driver (device_cuda.c). device.c drives either through this struct of functions; each of them has
 * said what is wrong when it returns anything but RUN_OK. */
#ifndef PG_RUN_BACKEND_H
#define PG_RUN_BACKEND_H

#include "tools/exec/ptxexec.h"
#include "tools/run/device.h"

/* What the functions share; a backend's own struct begins with it. */
typedef struct run_backend run_backend;
typedef struct run_target {
    const run_backend *backend;
    const run_msgs *msgs;
    pg_arena *arena;
    run_launch *launch;
} run_target;

typedef struct run_param_info {
    const char *name; /* "" where it is not known */
    uint64_t size;    /* or RUN_PARAM_UNKNOWN */
} run_param_info;
#define RUN_PARAM_UNKNOWN UINT32_MAX

typedef struct run_bytes {
    const void *at;
    uint64_t n;
} run_bytes;

struct run_backend {
    /* Opens the device and loads the PTX, for any number of seeds. RUN_OK and *out NULL: there is
     * no such device, for the reason that *absent then says. */
    run_exit (*open)(const run_msgs *m, pg_arena *a, run_launch *l, run_target **out,
                     const char **absent);
    /* Begins a seed: memory as new. */
    run_exit (*begin)(run_target *t);
    /* An array, with what it begins with. */
    run_exit (*alloc)(run_target *t, uint32_t buffer, uint64_t *address);
    /* The bytes of a tensor map that passed the check. */
    run_exit (*encode)(run_target *t, const ptxexec_tensormap *map, unsigned char out[128]);
    /* Parameters of a step's kernel: how many, and the kernel's name; and each. RUN_PARAM_UNKNOWN
     * where that is not known. */
    run_exit (*params)(run_target *t, uint32_t step, uint32_t *n, const char **entry);
    run_exit (*param)(run_target *t, uint32_t step, uint32_t index, run_param_info *out);
    /* Runs a step to its end. */
    run_exit (*launch_step)(run_target *t, uint32_t step, const run_bytes *params, uint64_t seed,
                            bool is_first);
    /* Brings an array back, and says what of it was never written, where that is known. */
    run_exit (*read)(run_target *t, uint32_t buffer, void *bytes, uint64_t *n_poison,
                     uint64_t *first_poison);
    /* Ends a seed: frees its memory. Silent about what an earlier message already said. */
    run_exit (*end)(run_target *t);
    run_exit (*close)(run_target *t);
};

extern const run_backend run_backend_cpu;
extern const run_backend run_backend_cuda;

/* ---- faults.c: what happened at a line of the PTX -------------------------------------------- */

/* A message at a line of the PTX; file, severity and source are filled in here. In PTX that we
 * compiled it stands at the author's line where there is one, and below it at the PTX line, which
 * says more but was written by nobody. Without a number it is a note. */
void run_print_at(const run_msgs *m, const run_launch *l, const run_note *what);
void run_print_exec_diag(const run_msgs *m, const run_launch *l, const ptxexec_diag *d);
void run_print_faults(const run_msgs *m, const run_launch *l, const ptxexec_report *r,
                      uint64_t seed);
void run_print_exec_stats(const run_msgs *m, const ptxexec_report *r);

/* ---- compare.c: the results of two seeds ----------------------------------------------------- */

/* Atomics on floats add up in any order, and so may round differently. */
bool run_has_float_atomics(pg_str ptx);
/* First element in which `other` differs from the buffer's result; the number of elements if none
 * does. `is_loose` allows for other orders of summation. */
uint64_t run_first_difference(const run_buffer *b, const unsigned char *other, bool is_loose);

#endif
