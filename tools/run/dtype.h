/* dtype.h: element types of arrays: names, sizes, how .npy files name them, values as doubles. */
#ifndef PG_RUN_DTYPE_H
#define PG_RUN_DTYPE_H

#include "base/base.h"

typedef enum run_dtype {
    RUN_D_NONE,
    RUN_D_F16,
    RUN_D_BF16,
    RUN_D_F32,
    RUN_D_TF32, /* words of f32, of which matrix operations read the upper 19 bits */
    RUN_D_F64,
    RUN_D_E4M3,
    RUN_D_E5M2,
    RUN_D_S8,
    RUN_D_S16,
    RUN_D_S32,
    RUN_D_S64,
    RUN_D_U8,
    RUN_D_U16,
    RUN_D_U32,
    RUN_D_U64,
    RUN_D_BOOL,
    RUN_D_COUNT
} run_dtype;

typedef struct run_dtype_info {
    const char *name;    /* "bf16" */
    const char *ir_name; /* as IR and manifests write it: "i32" */
    const char *npy;     /* "<u2" */
    uint8_t size;        /* bytes */
    char kind;           /* 'f' 's' 'u' */
    double unit;         /* floats: unit roundoff, half the distance from 1 to the next value */
} run_dtype_info;

extern const run_dtype_info run_dtypes[RUN_D_COUNT];

/* By either name; RUN_D_NONE if there is none. */
run_dtype run_dtype_find(pg_str name);
/* The type that a .npy file's descr stands for ("<f4", byte order aside); NONE if unknown. */
run_dtype run_dtype_of_npy(pg_str descr);
/* The value at `at`, which needs no alignment. 64-bit integers round. */
double run_elem_get(run_dtype type, const void *at);
/* Rounds to nearest even and stores; integers saturate, NaN gives 0 there. */
void run_elem_set(run_dtype type, void *at, double x);
/* Reads a scalar as text: integers exactly, floats rounded once. `out`: low bytes of the pattern,
 * integers sign-extended. False if the text is no such value or does not fit. */
bool run_elem_parse(run_dtype type, pg_str text, uint64_t *out);

#endif
