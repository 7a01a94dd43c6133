/* gen.h: random well-typed tile programs, the same for the same seed, from the table of operations.
 *
 * Every program runs without a fault and has one result: loads stay in bounds, nothing poisoned is
 * used, loops end, each store has addresses of its own, atomic operations of one kind meet at cells
 * that are written before, sums of floats are of small integers. The kernel is
 *     @p(%x_f32: ptr<f32> [in, noalias], ..., %y_f32: ptr<f32> [inout, noalias], ..., %s: i32)
 * with one input and one output array for each type of PG_GEN_ELEMS. */
#ifndef PG_TESTS_PROPERTY_GEN_H
#define PG_TESTS_PROPERTY_GEN_H

#include "base/strbuf.h"
#include "ir/op.h"

#define PG_GEN_N_ELEMS 7
extern const pg_elem pg_gen_elems[PG_GEN_N_ELEMS];
#define PG_GEN_IN_N  256   /* elements of an input array */
#define PG_GEN_OUT_N 16384 /* elements of an output array */

typedef struct pg_gen_options {
    uint64_t seed;
    uint32_t n_ops; /* about so many operations */
    bool is_exact;  /* none of the operations that are F_INEXACT */
} pg_gen_options;

/* Appends the text of a program. */
void pg_gen_program(pg_strbuf *out, const pg_gen_options *options);

#endif
