/* kernels.h: the kernel library. Each kernel is a function of settings (compile time) to a module,
 * and has a reference in plain C in double precision with an error bound for each element.
 *
 * Everything about a kernel is data, so that a command line or another program can list kernels,
 * build them, make their inputs and check their results without knowing any of them. Kernels are
 * written on the public builder only. */
#ifndef PG_KERNELS_KERNELS_H
#define PG_KERNELS_KERNELS_H

#include <ptxgen.h>
#include <ptxgen_build.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compile-time constant of a kernel. */
typedef struct ptxgen_kernel_setting {
    const char *name;
    const char *value;   /* default */
    const char *allowed; /* separated by blanks: words, "1..64" for numbers, "2^5..2^12" for powers
                            of two */
    const char *doc;
} ptxgen_kernel_setting;

/* A run-time argument that is no array. Arrays and their shapes stand in the manifest. */
typedef struct ptxgen_kernel_scalar {
    const char *name;
    const char *value; /* default: a number or the name of another scalar; NULL: must be given */
    const char *doc;
} ptxgen_kernel_scalar;

/* An array of a finished run, for the reference: inputs have `in`, outputs `ref` and `bound`, n
 * elements each, dense and row-major in the manifest's shape. Input values are exact (every element
 * type converts to double exactly). */
typedef struct ptxgen_kernel_array {
    const char *name;
    uint64_t n;
    const double *in;
    double *ref;   /* the right result, before rounding to the element type */
    double *bound; /* an element x is right if |x - ref| <= error_factor * u * bound + s, where u is
                    * the unit roundoff of the output's type (f16 2^-11, bf16 2^-8, f32 2^-24, f64
                    * 2^-53) and s its least positive number */
} ptxgen_kernel_array;

typedef struct ptxgen_kernel_run {
    size_t struct_size; /* sizeof(ptxgen_kernel_run) as the caller compiled it */
    const ptxgen_setting *settings;
    size_t n_settings;
    const char *const *scalar_names;
    const int64_t *scalars;
    size_t n_scalars;
    const ptxgen_kernel_array *arrays;
    size_t n_arrays;
} ptxgen_kernel_run;

typedef struct ptxgen_kernel_info {
    const char *name, *doc;
    const ptxgen_kernel_setting *settings;
    size_t n_settings;
    const ptxgen_kernel_scalar *scalars; /* all that any settings take; the manifest says which */
    size_t n_scalars;
    double error_factor;          /* c of the rule above */
    double input_low, input_high; /* range of random inputs that exercises the kernel */
    uint32_t least_sm;
} ptxgen_kernel_info;

/* Kernels by index, in alphabetical order; NULL past the end. */
PTXGEN_API const ptxgen_kernel_info *ptxgen_kernel_at(size_t index);
/* By name; NULL if there is none. */
PTXGEN_API const ptxgen_kernel_info *ptxgen_kernel_find(ptxgen_str name);
/* Builds kernel `name` for a target ("sm_80"). Settings left out take their defaults. On failure
 * *out is NULL and *message (if not NULL) is a sentence that names the setting and what is allowed;
 * it is static text or owned by `ctx`'s next call. Errors: MISUSE (no such kernel or setting, value
 * not allowed), UNSUPPORTED (target), NOMEM. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_kernel_build(ptxgen_ctx *ctx, ptxgen_str name,
                                                            ptxgen_str target,
                                                            const ptxgen_setting *settings,
                                                            size_t n_settings, ptxgen_module **out,
                                                            const char **message);
/* Computes reference and bound of every output. Errors: MISUSE (an array or scalar is missing or
 * too small). */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_kernel_reference(ptxgen_str name,
                                                                const ptxgen_kernel_run *run);

#ifdef __cplusplus
}
#endif

#endif
