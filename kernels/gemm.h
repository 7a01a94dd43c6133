/* gemm.h: the settings of gemm, for its kernels (gemm.c) and its reference (gemm_info.c). */
#ifndef PG_KERNELS_GEMM_H
#define PG_KERNELS_GEMM_H

#include "kernels/kernel.h"

/* What goes with a dtype. */
typedef struct gemm_type {
    const char *name;
    ptxgen_elem in, unit;        /* of a and b in memory, and as they are multiplied */
    ptxgen_elem sum, out;        /* of sums, of c, c0 and bias */
    int32_t in_bytes, out_bytes; /* of an element */
    int is_unsigned;
    int32_t tile[3]; /* m, n, k, where the settings say auto */
    int32_t least_k; /* depth of one matrix instruction */
    int64_t warps;   /* where the settings say auto */
    double cut;      /* what an operand loses on the way to `unit`, relative */
} gemm_type;

typedef struct gemm_settings {
    const gemm_type *type;
    int32_t tile[3]; /* m, n, k */
    int64_t warps, stages, split;
    uint32_t align; /* contiguous extents are multiples of so many elements; 0: seen at run time */
    int has_fours;  /* and then there is a way for rows that are multiples of 4 bytes only */
    int is_a_col, is_b_col, has_bias;
    enum { GEMM_NONE, GEMM_RELU, GEMM_GELU } act;
    double alpha, beta;
} gemm_settings;

/* MISUSE with the reason in s->why: settings that do not go together. */
ptxgen_status gemm_settings_of(const kernel_settings *s, gemm_settings *out);
/* Builds the kernels; `m` is empty. */
ptxgen_status gemm_build(ptxgen_module *m, const kernel_settings *s);

#endif
