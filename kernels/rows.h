/* rows.h: kernels on the rows of an array of rows x cols, one program for each row: what they
 * share.
 *
 * A row of a block at most is read once and stays in registers. A longer one is read in each pass
 * over it: block by block where masks serve whole accesses, else whole blocks without masks and
 * then a masked one. */
#ifndef PG_KERNELS_ROWS_H
#define PG_KERNELS_ROWS_H

#include "kernels/kernel.h"

/* Settings and scalars of every kernel on rows. */
#define ROWS_SETTINGS                                                                      \
    {"dtype", "f16", "f16 bf16 f32", "dtype is f16, bf16 or f32: the type of all arrays"}, \
        {"block", "1024", "2^5..2^14",                                                     \
         "block is a power of two from 32 to 16384: elements of a row at a time"},         \
        {"warps", "4", "2^0..2^4", "warps is 1, 2, 4, 8 or 16: warps per row"},            \
        {"div", "1", "2^0..2^4", "div is 1, 2, 4, 8 or 16: cols is a multiple of it"},     \
    {                                                                                      \
        "length", "any", "any block long",                                                 \
            "length is any, block (no row is longer than a block) or long (no code for "   \
            "rows that are not)"                                                           \
    }
#define ROWS_SCALARS                      \
    {"rows", NULL, "number of rows"},     \
    {                                     \
        "cols", NULL, "elements of a row" \
    }

/* The same as tables, for kernels that take no more. */
enum { ROWS_MAX_IN = 3, ROWS_N_SETTINGS = 5, ROWS_N_SCALARS = 2 };
extern const ptxgen_kernel_setting rows_settings[ROWS_N_SETTINGS];
extern const ptxgen_kernel_scalar rows_scalars[ROWS_N_SCALARS];

typedef struct rows_block { /* elements of a row that are looked at together */
    ptxgen_value index;     /* tile of i32 or i64: their numbers in the row */
    ptxgen_value mask;      /* id 0: all elements exist */
} rows_block;

/* A kernel under construction. */
typedef struct rows_kernel {
    ptxgen_builder *b;
    ptxgen_elem elem;
    int32_t block, piece; /* a piece: as many elements as threads have neighbours together */
    int has_wide_masks;   /* an element of an access exists where the first one does */
    ptxgen_type i64, f32_tile;
    ptxgen_value in[ROWS_MAX_IN]; /* pointers; in[0] to the row, the others have cols elements */
    uint32_t n_in;
    double other;     /* elements of in[0] where none exist */
    ptxgen_value out; /* to the row, or to all results */
    ptxgen_value rows, cols;
    ptxgen_value row; /* i64 */
    int is_held;      /* the row is one block: */
    rows_block only;
    ptxgen_value held[ROWS_MAX_IN]; /* tiles of it */
} rows_kernel;

typedef enum rows_form {
    ROWS_SAME,     /* y has the shape of the first input */
    ROWS_ONE_EACH, /* y has an element for each row */
    ROWS_ALL       /* y has one element: all rows are taken as one */
} rows_form;

/* What is done with a row: passes over it. */
typedef void rows_body(rows_kernel *k);

typedef struct rows_shape {
    const char *const *in_names; /* NULL ends them; the first of rows x cols, others of cols */
    rows_form form;
    double other; /* the first input's elements where none exist */
} rows_shape;

/* Builds a kernel with output "y" and parameters rows, cols. */
ptxgen_status rows_build(ptxgen_module *m, const kernel_settings *s, const rows_shape *shape,
                         rows_body *body);

/* Elements of input i as an f32 tile. A store takes an f32 tile. */
ptxgen_value rows_load(rows_kernel *k, uint32_t i, const rows_block *at);
void rows_store(rows_kernel *k, const rows_block *at, ptxgen_value x);

/* What a pass over a row does with a block; env is the pass's own. Returns the new accumulator, of
 * this block alone where acc has id 0 (ignored in rows_for_each). */
typedef ptxgen_value rows_step(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                               ptxgen_value acc);
/* A scalar for each element of the block. */
ptxgen_value rows_splat(rows_kernel *k, const rows_block *at, ptxgen_value x);
/* x combined with the accumulator, if there is one. */
ptxgen_value rows_combine(rows_kernel *k, const char *op, ptxgen_value acc, ptxgen_value x);
ptxgen_value rows_add_square(rows_kernel *k, ptxgen_value acc, ptxgen_value x);
/* Runs `step` over the row's blocks; gives the elements of all combined by op ("sum" "max"), an f32
 * scalar. */
ptxgen_value rows_fold(rows_kernel *k, rows_step *step, const ptxgen_value *env, const char *op);
void rows_for_each(rows_kernel *k, rows_step *step, const ptxgen_value *env);
/* Sum over cols as a mean: off by 3 units of f32's roundoff. */
ptxgen_value rows_mean(rows_kernel *k, ptxgen_value sum);

/* Additions that an element of a sum over n elements goes through, at most, in f32. */
double rows_depth(const kernel_settings *s, int64_t n);
/* Roundoff of f32 in units of the output's. */
double rows_f32_share(ptxgen_elem elem);

/* Shapes of a finished run; MISUSE where arrays are missing or short. */
typedef struct rows_run {
    int64_t rows, cols;
    const double *in[ROWS_MAX_IN];
    double *ref, *bound;
} rows_run;
ptxgen_status rows_run_of(const ptxgen_kernel_run *run, const char *const *in_names, rows_run *out);

#endif
