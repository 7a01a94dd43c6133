/* rows.h: kernels on the rows of an array of rows x cols, one program for each row: what they
 * share. Rows have any length: whole blocks run without masks, then one masked block. */
#ifndef PG_KERNELS_ROWS_H
#define PG_KERNELS_ROWS_H

#include "kernels/kernel.h"

/* Settings and scalars of every kernel on rows. */
#define ROWS_SETTINGS                                                                      \
    {"dtype", "f16", "f16 bf16 f32", "dtype is f16, bf16 or f32: the type of all arrays"}, \
        {"block", "1024", "2^5..2^14",                                                     \
         "block is a power of two from 32 to 16384: elements of a row at a time"},         \
        {"warps", "4", "2^0..2^4", "warps is 1, 2, 4, 8 or 16: warps per row"},            \
    {                                                                                      \
        "div", "1", "2^0..2^4", "div is 1, 2, 4, 8 or 16: cols is a multiple of it"        \
    }
#define ROWS_SCALARS                      \
    {"rows", NULL, "number of rows"},     \
    {                                     \
        "cols", NULL, "elements of a row" \
    }

/* The same as tables, for kernels that take no more. */
enum { ROWS_MAX_IN = 3, ROWS_N_SETTINGS = 4, ROWS_N_SCALARS = 2 };
extern const ptxgen_kernel_setting rows_settings[ROWS_N_SETTINGS];
extern const ptxgen_kernel_scalar rows_scalars[ROWS_N_SCALARS];

/* A kernel under construction. */
typedef struct rows_kernel {
    ptxgen_builder *b;
    ptxgen_elem elem;
    int32_t block;
    ptxgen_type i64, index_type, f32_tile;
    ptxgen_value in[ROWS_MAX_IN]; /* pointers; in[0] has rows, the others have cols elements */
    ptxgen_value out;
    ptxgen_value rows, cols;
    ptxgen_value row;   /* i64 */
    ptxgen_value start; /* i64: the row's first element */
    ptxgen_value index; /* tile of i32: 0 .. block-1 */
    ptxgen_value whole; /* i64: cols rounded down to whole blocks */
} rows_kernel;

typedef struct rows_block { /* of a row */
    ptxgen_value at;        /* i64: first element in the row */
    ptxgen_value mask;      /* id 0: all elements exist */
} rows_block;

typedef enum rows_form {
    ROWS_SAME,     /* y has the shape of the first input */
    ROWS_ONE_EACH, /* y has an element for each row */
    ROWS_ALL       /* y has one element: all rows are taken as one */
} rows_form;

/* Begins a kernel with inputs in_names (NULL ends them; the first of rows x cols, others of cols),
 * output "y" and parameters rows, cols; opens the condition that the row exists. */
ptxgen_status rows_begin(ptxgen_module *m, const kernel_settings *s, const char *const *in_names,
                         rows_form form, rows_kernel *out);
ptxgen_status rows_end(rows_kernel *k);

/* Elements of input i as an f32 tile; `other` where none exists. Weights (i > 0) have no rows. A
 * store takes an f32 tile. */
ptxgen_value rows_load(rows_kernel *k, uint32_t i, const rows_block *at, double other);
void rows_store(rows_kernel *k, const rows_block *at, ptxgen_value x);

/* What a pass over a row does with a block; env is the pass's own. Returns the new accumulator
 * (ignored where there is none: acc id 0). */
typedef ptxgen_value rows_step(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                               ptxgen_value acc);
/* Runs `step` over the row's blocks with a tile of accumulators that begin as `first`; gives them
 * combined by op ("sum" "max"): an f32 scalar. */
ptxgen_value rows_fold(rows_kernel *k, rows_step *step, const ptxgen_value *env, double first,
                       const char *op);
void rows_for_each(rows_kernel *k, rows_step *step, const ptxgen_value *env);
/* Sum over cols as a mean. */
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
