/* generate.h: modules of any size, as IR text, for measuring what a compile costs. */
#ifndef PG_BENCH_GENERATE_H
#define PG_BENCH_GENERATE_H

#include "base/strbuf.h"

typedef enum bench_shape {
    BENCH_STRAIGHT, /* one kernel: arithmetic, each result used soon and by the last store */
    BENCH_LOOPS, /* one kernel: loops that exchange carried values, branches with results, tiles */
    BENCH_KERNELS, /* many small kernels */
    BENCH_SHAPE_COUNT
} bench_shape;

extern const char *const bench_shape_names[BENCH_SHAPE_COUNT];

/* A module of about n operations for sm_80, valid, none of them needless. */
void bench_generate(pg_strbuf *out, bench_shape shape, uint32_t n);

#endif
