/* kernel.h: what the kernels of the library share; private to kernels/. */
#ifndef PG_KERNELS_KERNEL_H
#define PG_KERNELS_KERNEL_H

#include "kernels/kernels.h"

struct pointwise;

/* Settings of one build, defaults filled in, values checked against `allowed`. */
typedef struct kernel_settings {
    const ptxgen_kernel_info *info;
    const struct pointwise *flat; /* of the kernel's row */
    const ptxgen_setting *given;
    size_t n_given;
    const char **why; /* of a refusal */
} kernel_settings;

/* Refuses a combination of settings, each of which is allowed alone: MISUSE. `why` is static text.
 */
ptxgen_status kernel_refuse(const kernel_settings *s, const char *why);

/* Value of a number setting. */
int64_t kernel_setting_int(const kernel_settings *s, const char *name);
/* Element type of a setting such as dtype=f16. */
ptxgen_elem kernel_setting_elem(const kernel_settings *s, const char *name);
/* Whether a setting has this word. */
int kernel_setting_is(const kernel_settings *s, const char *name, const char *word);

/* Whether the settings `dtype` and `div` let one mask serve an access of 16 bytes. */
int kernel_has_wide_masks(const kernel_settings *s);

const ptxgen_kernel_array *kernel_array(const ptxgen_kernel_run *run,
                                        const char *name); /* NULL if missing */
/* Scalar of a run, or `fallback` if it is missing. */
int64_t kernel_scalar(const ptxgen_kernel_run *run, const char *name, int64_t fallback);

/* One row of the library. */
typedef struct kernel_row {
    const ptxgen_kernel_info *info;
    /* Builds into the module; the first error is sticky in the builder. */
    ptxgen_status (*build)(ptxgen_module *m, const kernel_settings *s);
    ptxgen_status (*reference)(const ptxgen_kernel_run *run, const kernel_settings *s);
    const struct pointwise *flat; /* what pointwise_build and pointwise_reference take; else NULL */
} kernel_row;

extern const kernel_row kernel_add;
extern const kernel_row kernel_gelu;
extern const kernel_row kernel_gemm;
extern const kernel_row kernel_layernorm;
extern const kernel_row kernel_reduce;
extern const kernel_row kernel_rmsnorm;
extern const kernel_row kernel_silu_mul;
extern const kernel_row kernel_softmax;
extern const kernel_row kernel_transpose;

/* ---- flat pointwise kernels (pointwise.c) ---------------------------------------------------- */

#define POINTWISE_MAX_IN 3

/* What all of them take. */
enum { POINTWISE_N_SETTINGS = 4, POINTWISE_N_SCALARS = 1 };
extern const ptxgen_kernel_setting pointwise_settings[POINTWISE_N_SETTINGS];
extern const ptxgen_kernel_scalar pointwise_scalars[POINTWISE_N_SCALARS];

/* What a flat kernel computes. */
typedef struct pointwise {
    const char *name;
    uint32_t n_in;
    const char *in_names[POINTWISE_MAX_IN];
    const char *out_name;
    /* f32 tiles in, f32 tile out, which is then rounded to `to`. */
    ptxgen_value (*compute)(ptxgen_builder *b, const ptxgen_value *in, ptxgen_elem to);
    /* Reference of one element, and the most that computing in f32 may be off, in units of f32's
     * roundoff. */
    void (*element)(const double *in, double *ref, double *error);
} pointwise;

/* y[i] = f(x0[i], ...) for n elements: one block of `block` elements per program. Parameters: the
 * inputs, the output, n (i64). */
ptxgen_status pointwise_build(ptxgen_module *m, const kernel_settings *s);
/* Bound: the rounding of the result to its type, plus the error of the computation. */
ptxgen_status pointwise_reference(const ptxgen_kernel_run *run, const kernel_settings *s);
/* Pieces that other kernels use. A program's block of a run of n elements: */
typedef struct flat_run {
    ptxgen_builder *b;
    int32_t block, threads, div;
    int has_wide_masks; /* an element of an access exists where the first one does */
    ptxgen_value n;     /* i64 */
    ptxgen_value start; /* i64: index of the block's first element */
} flat_run;
typedef struct flat_block { /* elements that are looked at together */
    ptxgen_value index;     /* tile of i64: their numbers */
    ptxgen_value mask;      /* id 0: all elements exist */
} flat_block;
typedef void flat_step(ptxgen_builder *b, const flat_block *f, const void *env);

/* Takes `dtype`, `block`, `warps` and `div` from the settings. */
void flat_begin(flat_run *r, ptxgen_builder *b, const kernel_settings *s, ptxgen_value n);
ptxgen_value flat_is_whole(const flat_run *r); /* i1: all elements of the block exist */
/* The step on the whole block: masked where masks are wide, else the block must be whole. */
void flat_at_once(const flat_run *r, flat_step *step, const void *env);
/* The step in a loop with `each` elements of each thread at a time, on any block: little code for
 * what runs seldom. */
void flat_in_pieces(const flat_run *r, int32_t each, flat_step *step, const void *env);
ptxgen_value flat_load(ptxgen_builder *b, ptxgen_value pointer, const flat_block *f,
                       ptxgen_value other);
void flat_store(ptxgen_builder *b, ptxgen_value pointer, ptxgen_value value, const flat_block *f);
/* Ends the launch region of a flat kernel: max(1, ceildiv(n, block)) programs. */
void flat_launch_end(ptxgen_builder *b, ptxgen_value n, int32_t block);

/* What rounding of subnormal numbers on the way may add to the error, in the units of `element`'s
 * *error: a few least numbers of f32, times what they are multiplied with later. */
#define SUBNORMAL_ERROR 0x1p-123
/* exp of f32 tiles for what is rounded to type `to`: off by 6 units of f32's roundoff, and by |x|
 * more where that is a type of 16 bits. */
ptxgen_value build_exp(ptxgen_builder *b, ptxgen_value x, ptxgen_elem to);
/* x / y, f32, off by 4 units. */
ptxgen_value build_quotient(ptxgen_builder *b, ptxgen_value x, ptxgen_value y);
/* x / (1 + exp(-t)) on f32 tiles: right for every t. */
ptxgen_value build_times_sigmoid(ptxgen_builder *b, ptxgen_value x, ptxgen_value t, ptxgen_elem to);
/* x times the sigmoid of the tanh form (gelu.c), and its reference: value, and error in units of
 * f32's roundoff. */
ptxgen_value build_gelu(ptxgen_builder *b, ptxgen_value x, ptxgen_elem to);
void gelu_element(const double *in, double *ref, double *error);
ptxgen_value build_const_like(ptxgen_builder *b, ptxgen_value like, double x);

#endif
