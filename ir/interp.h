/* interp.h: the reference interpreter: what a program means, on host arrays, at tile and hw level.
 *
 * Tile values are arrays in row-major order; layouts play no part. A program (CTA) at a time in
 * grid order. On hw level partitions are coroutines: one runs until it waits; asynchronous copies
 * and matrix operations happen at a time drawn by `seed` between their start and the last moment
 * that the program allows. A barrier that never completes is a deadlock, reported with every
 * waiter. Poison (masked loads without `other`, nw overflow, x/0) is tracked per element and
 * reported where it reaches a condition, an address, a bound or a store. */
#ifndef PG_IR_INTERP_H
#define PG_IR_INTERP_H

#include "ir/ir.h"

/* A host array that a pointer argument points to. Bounds are checked against it. */
typedef struct pg_interp_array {
    void *data;
    uint64_t n_bytes;
    uint8_t *poison; /* one byte per byte of data, non-zero: not written yet; may be NULL */
} pg_interp_array;

/* One per kernel parameter, in order. Descriptors need none: they follow from [of=%ptr] and its
 * shape and strides. */
typedef struct pg_interp_arg {
    pg_interp_array array; /* pointers */
    uint64_t bits;         /* scalars: like constants in ir.h */
} pg_interp_arg;

typedef struct pg_interp_options {
    uint32_t grid[3]; /* 0: evaluate the launch region; 1, 1, 1 without one */
    uint64_t seed;
    uint64_t max_steps; /* instructions; 0: 10^10 */
} pg_interp_options;

/* Runs kernel k of a module that pg_verify accepts; any layouts or none. Faults (out of bounds,
 * poison, deadlock, over-arrival, ...) go to diags at the operation's line. */
pg_status pg_interp_run(pg_kernel *k, const pg_interp_arg *args, uint32_t n_args,
                        const pg_interp_options *opt, pg_diags *diags);
/* Evaluates the launch region only: grid sizes. */
pg_status pg_interp_launch(pg_kernel *k, const pg_interp_arg *args, uint32_t n_args,
                           uint32_t grid[3], pg_diags *diags);

/* One elementwise operation on constants by the same arithmetic: what the folder uses. `in` holds
 * as many as the operation takes; it and `out` are patterns as in pg_value.bits; elem is the
 * operands' element type, res the result's. False if the operation cannot be folded (poison
 * result: *is_poison). */
bool pg_fold_elem(pg_op op, const pg_attrs *attrs, pg_elem elem, pg_elem res, const uint64_t *in,
                  uint64_t *out, bool *is_poison);

#endif
