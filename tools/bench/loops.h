/* loops.h: small loops in PTX, each of one kind of instruction, and the same in C. */
#ifndef PG_BENCH_LOOPS_H
#define PG_BENCH_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/exec/ptxexec.h"

typedef struct loop_cost {
    const char *name;
    double seconds;   /* on the executor, by the clock */
    double cpu;       /* the same, of processors */
    double c_seconds; /* the same values by C code of this program; 0: there is none */
    uint64_t n_lane_instructions;
    uint64_t n_multiply_adds; /* of matrix instructions */
} loop_cost;

size_t loops_count(void);
/* Runs loop `index`, `trips` times in each thread; false, with a word on stderr, if it cannot be
 * run or gives other values than the C code. */
bool loops_run(size_t index, uint32_t trips, ptxexec_races races, uint32_t host_threads,
               loop_cost *out);

#endif
