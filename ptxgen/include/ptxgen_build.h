/* ptxgen_build.h: build tile IR from C, without text. Experimental until 1.0.
 *
 * A module belongs to a context and must be destroyed before it. A builder is a cursor in one
 * kernel. It is sticky: after the first error every call does nothing and gives value 0, and
 * ptxgen_kernel_end returns that error; so kernels read straight:
 *
 *     ptxgen_value y = ptxgen_build_binary(b, "fadd", x, bias);
 *     ptxgen_build_store(b, p, y);
 *     return ptxgen_kernel_end(b);
 *
 * Operations are named as in the text form (docs/ops.md). The builder checks what it needs to go on
 * (operand counts, open regions); every other rule is the verifier's, which runs when the module is
 * printed or compiled and reports all errors. Strings are copied. Values, types and encodings of
 * one module must not be used in another. */
#ifndef PTXGEN_BUILD_H
#define PTXGEN_BUILD_H

#include <ptxgen.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ptxgen_module ptxgen_module;   /* opaque */
typedef struct ptxgen_builder ptxgen_builder; /* opaque; freed by ptxgen_kernel_end */
typedef struct ptxgen_value {
    uint32_t id; /* 0: none */
} ptxgen_value;
typedef struct ptxgen_type {
    uint32_t id; /* 0: none */
} ptxgen_type;
typedef struct ptxgen_encoding {
    uint32_t id; /* 0: none: the layouts pass chooses */
} ptxgen_encoding;

/* Numbers are fixed for ever; new ones are appended. */
typedef enum ptxgen_elem {
    PTXGEN_ELEM_NONE = 0,
    PTXGEN_I1 = 1,
    PTXGEN_I8 = 2,
    PTXGEN_I16 = 3,
    PTXGEN_I32 = 4,
    PTXGEN_I64 = 5,
    PTXGEN_F16 = 6,
    PTXGEN_BF16 = 7,
    PTXGEN_F32 = 8,
    PTXGEN_F64 = 9,
    PTXGEN_TF32 = 10, /* words of f32, of which matrix operations read the upper 19 bits */
    PTXGEN_E4M3 = 11,
    PTXGEN_E5M2 = 12
} ptxgen_elem;

/* ---- modules -------------------------------------------------------------------------------- */

/* An empty module for a target, "sm_80". Errors: UNSUPPORTED (unknown target), NOMEM, MISUSE. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_module_create(ptxgen_ctx *ctx, ptxgen_str target,
                                                             ptxgen_module **out);
PTXGEN_API void ptxgen_module_destroy(ptxgen_module *m_or_null);
/* The module as canonical text: ptxgen_result_ir. Errors that the builder met are among the
 * result's diagnostics; the text is not verified. *out as in ptxgen_compile. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_module_print(ptxgen_module *m, ptxgen_result **out);
/* Compiles the module, which stays as it was. Diagnostics stand at the places that ptxgen_build_at
 * gave; where it was never called for the module, at those of ptxgen_module_print's text. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_module_compile(ptxgen_module *m,
                                                              const ptxgen_options *options_or_null,
                                                              ptxgen_result **out);

/* ---- types and encodings --------------------------------------------------------------------- */
/* All give id 0 on bad arguments or out of memory; a later operation then reports it. */

/* One number; a pointer into global memory. */
PTXGEN_API ptxgen_type ptxgen_type_scalar(ptxgen_module *m, ptxgen_elem elem);
PTXGEN_API ptxgen_type ptxgen_type_ptr(ptxgen_module *m, ptxgen_elem elem);
/* Register tile; extents are powers of two, rank 1 to 5. */
PTXGEN_API ptxgen_type ptxgen_type_tile(ptxgen_module *m, ptxgen_elem elem, uint32_t rank,
                                        const int32_t *dims, ptxgen_encoding enc);
/* Tile of pointers. */
PTXGEN_API ptxgen_type ptxgen_type_ptr_tile(ptxgen_module *m, ptxgen_elem elem, uint32_t rank,
                                            const int32_t *dims, ptxgen_encoding enc);
/* TMA descriptor with its box. */
PTXGEN_API ptxgen_type ptxgen_type_desc(ptxgen_module *m, ptxgen_elem elem, uint32_t rank,
                                        const int32_t *box, ptxgen_encoding enc);
/* Shared memory buffer; a leading extent may count slots. */
PTXGEN_API ptxgen_type ptxgen_type_buf(ptxgen_module *m, ptxgen_elem elem, uint32_t rank,
                                       const int32_t *dims, ptxgen_encoding enc);
/* Slots with a full and an empty barrier each; single barriers; an accumulator in the matrix
 * unit. */
PTXGEN_API ptxgen_type ptxgen_type_ring(ptxgen_module *m, uint32_t n_slots);
PTXGEN_API ptxgen_type ptxgen_type_bar(ptxgen_module *m, uint32_t n_barriers);
PTXGEN_API ptxgen_type ptxgen_type_token(ptxgen_module *m);
/* The same shape and encoding with another element type. */
PTXGEN_API ptxgen_type ptxgen_type_with_elem(ptxgen_module *m, ptxgen_type t, ptxgen_elem elem);

/* Named encodings (docs/ptir.md). Swizzle in bytes: 0, 32, 64 or 128. `order`: dimensions, fastest
 * first. */
PTXGEN_API ptxgen_encoding ptxgen_encoding_smem(ptxgen_module *m, const char *name, uint32_t rank,
                                                const uint32_t *order, uint32_t swizzle);
PTXGEN_API ptxgen_encoding ptxgen_encoding_wgmma(ptxgen_module *m, const char *name, uint32_t n,
                                                 uint32_t k, uint32_t warps_m);
PTXGEN_API ptxgen_encoding ptxgen_encoding_blocked(ptxgen_module *m, const char *name,
                                                   uint32_t rank, const uint32_t *regs,
                                                   const uint32_t *lanes, const uint32_t *warps);

/* ---- kernels --------------------------------------------------------------------------------- */

/* Starts a kernel; one builder at a time per module. Errors: MISUSE, NOMEM. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_kernel_begin(ptxgen_module *m, const char *name,
                                                            ptxgen_builder **out);
/* Ends the kernel with a `return` and frees the builder. Gives the first error of all calls. NULL:
 * MISUSE. */
PTXGEN_API PTXGEN_CHECKED ptxgen_status ptxgen_kernel_end(ptxgen_builder *b);
/* Kernel attributes: "warps", "min_ctas". */
PTXGEN_API void ptxgen_kernel_attr(ptxgen_builder *b, const char *name, int64_t value);
/* CTAs of a cluster along x, y and z, at most 16 in all; more than one needs sm_90, and a grid of
 * multiples of them. */
PTXGEN_API void ptxgen_kernel_cluster(ptxgen_builder *b, uint32_t x, uint32_t y, uint32_t z);
/* Parameters, in order, before any operation. */
PTXGEN_API ptxgen_value ptxgen_param(ptxgen_builder *b, const char *name, ptxgen_type type);
/* Roles and facts of a parameter: flags "in" "out" "inout" "noalias" (value 1) and numbers "align"
 * "div". */
PTXGEN_API void ptxgen_param_attr(ptxgen_builder *b, ptxgen_value param, const char *name,
                                  int64_t value);
/* Extents ("shape") or element strides ("strides") of a pointer parameter, outermost first:
 * parameters, or integer constants. */
PTXGEN_API void ptxgen_param_dims(ptxgen_builder *b, ptxgen_value param, const char *name,
                                  uint32_t n, const ptxgen_value *dims);
/* The pointer that a descriptor parameter describes. */
PTXGEN_API void ptxgen_param_of(ptxgen_builder *b, ptxgen_value desc, ptxgen_value pointer);
/* Launch region: operations between begin and end compute on parameters; grid extents of 0 ids are
 * left out. */
PTXGEN_API void ptxgen_launch_begin(ptxgen_builder *b);
PTXGEN_API void ptxgen_launch_end(ptxgen_builder *b, ptxgen_value grid_x, ptxgen_value grid_y,
                                  ptxgen_value grid_z);
/* The builder's module. */
PTXGEN_API ptxgen_module *ptxgen_builder_module(const ptxgen_builder *b);
/* Where in the caller's source stands what is built from here on, both from 1, until the next call;
 * the first call of a kernel places the kernel too. For diagnostics, ptxgen_result_source_line and
 * ptxgen_options.line_info. Line 0: nowhere. */
PTXGEN_API void ptxgen_build_at(ptxgen_builder *b, uint32_t line, uint32_t column);
/* Records an error of the caller's own ("dtype must be f16"): sticky like any other. */
PTXGEN_API void ptxgen_build_error(ptxgen_builder *b, const char *message);

/* ---- operations ------------------------------------------------------------------------------ */

/* Literals; for tile types every element has the value. Integers lie in the signed or the unsigned
 * range of the element type; floats are rounded once to it. */
PTXGEN_API ptxgen_value ptxgen_const_int(ptxgen_builder *b, ptxgen_type type, int64_t value);
PTXGEN_API ptxgen_value ptxgen_const_float(ptxgen_builder *b, ptxgen_type type, double value);
/* Type of a value. */
PTXGEN_API ptxgen_type ptxgen_value_type(const ptxgen_builder *b, ptxgen_value v);
/* Name in the printed text; the default is a number. */
PTXGEN_API void ptxgen_value_name(ptxgen_builder *b, ptxgen_value v, const char *name);

/* Any operation without regions, by its name. `out` gets n_out results and may be NULL with n_out
 * 0; here and below, an array of values that is written may be one that the call also reads. */
PTXGEN_API void ptxgen_build_op(ptxgen_builder *b, const char *op, uint32_t n_in,
                                const ptxgen_value *in, uint32_t n_out,
                                const ptxgen_type *out_types, ptxgen_value *out);
/* Attributes of the last operation: numbers and flags (value 1), or words such as "is" "lt". */
PTXGEN_API void ptxgen_op_attr(ptxgen_builder *b, const char *name, int64_t value);
PTXGEN_API void ptxgen_op_word(ptxgen_builder *b, const char *name, const char *word);

/* Elementwise; the result has x's type. */
PTXGEN_API ptxgen_value ptxgen_build_unary(ptxgen_builder *b, const char *op, ptxgen_value x);
PTXGEN_API ptxgen_value ptxgen_build_binary(ptxgen_builder *b, const char *op, ptxgen_value x,
                                            ptxgen_value y);
PTXGEN_API ptxgen_value ptxgen_build_fma(ptxgen_builder *b, ptxgen_value x, ptxgen_value y,
                                         ptxgen_value z);
/* op: "icmp" "ucmp" "fcmp"; is: "eq" "ne" "lt" "le" "gt" "ge". */
PTXGEN_API ptxgen_value ptxgen_build_compare(ptxgen_builder *b, const char *op, const char *is,
                                             ptxgen_value x, ptxgen_value y);
PTXGEN_API ptxgen_value ptxgen_build_select(ptxgen_builder *b, ptxgen_value condition,
                                            ptxgen_value x, ptxgen_value y);
/* Signed conversion to another element type. */
PTXGEN_API ptxgen_value ptxgen_build_cast(ptxgen_builder *b, ptxgen_value x, ptxgen_elem elem);
/* Combines a tile's elements along a dimension, which goes away; of rank 1 a scalar. op: "sum"
 * "max" "min". */
PTXGEN_API ptxgen_value ptxgen_build_reduce(ptxgen_builder *b, const char *op, ptxgen_value x,
                                            uint32_t dim);
/* The opposite: a tile repeated along a new dimension (expand, then broadcast). */
PTXGEN_API ptxgen_value ptxgen_build_stretch(ptxgen_builder *b, ptxgen_value x, uint32_t dim,
                                             int32_t extent);
PTXGEN_API ptxgen_value ptxgen_build_splat(ptxgen_builder *b, ptxgen_value scalar,
                                           ptxgen_type tile);
/* Index along a dimension of an integer tile. */
PTXGEN_API ptxgen_value ptxgen_build_iota(ptxgen_builder *b, ptxgen_type tile, uint32_t dim);
/* Pointer plus elements; a scalar pointer or offset stretches to the other's shape. */
PTXGEN_API ptxgen_value ptxgen_build_addptr(ptxgen_builder *b, ptxgen_value pointer,
                                            ptxgen_value offset);
/* mask may have id 0: all elements are read; other too: what is not read is poison. */
PTXGEN_API ptxgen_value ptxgen_build_load(ptxgen_builder *b, ptxgen_value pointer,
                                          ptxgen_value mask, ptxgen_value other);
PTXGEN_API void ptxgen_build_store(ptxgen_builder *b, ptxgen_value pointer, ptxgen_value value,
                                   ptxgen_value mask);
/* axis 0, 1, 2. */
PTXGEN_API ptxgen_value ptxgen_build_program_id(ptxgen_builder *b, uint32_t axis);
PTXGEN_API ptxgen_value ptxgen_build_num_programs(ptxgen_builder *b, uint32_t axis);

/* ---- regions --------------------------------------------------------------------------------- */

/* for i in lo to hi step s, carrying n values: `args` gets the induction variable, then n carried
 * values. */
PTXGEN_API void ptxgen_for_begin(ptxgen_builder *b, ptxgen_value lo, ptxgen_value hi,
                                 ptxgen_value step, uint32_t n, const ptxgen_value *init,
                                 ptxgen_value *args);
/* Yields n values and closes the loop; `results` gets n values (NULL with n 0). */
PTXGEN_API void ptxgen_for_end(ptxgen_builder *b, uint32_t n, const ptxgen_value *yields,
                               ptxgen_value *results);
/* while with n carried values: opens its test, whose arguments are `args` (NULL with n 0). */
PTXGEN_API void ptxgen_while_begin(ptxgen_builder *b, uint32_t n, const ptxgen_value *init,
                                   ptxgen_value *args);
/* Ends the test with its condition, an i1 scalar, and opens the body. The carried values have other
 * names there: `args` gets n of them. Nothing else of the test is visible in the body. */
PTXGEN_API void ptxgen_while_do(ptxgen_builder *b, ptxgen_value condition, uint32_t n,
                                ptxgen_value *args);
/* Yields n values to the next test and closes the loop; `results` gets n values (NULL with n 0). */
PTXGEN_API void ptxgen_while_end(ptxgen_builder *b, uint32_t n, const ptxgen_value *yields,
                                 ptxgen_value *results);
/* if with n results of the given types; ptxgen_else ends the first branch, ptxgen_if_end the last.
 */
PTXGEN_API void ptxgen_if_begin(ptxgen_builder *b, ptxgen_value condition, uint32_t n,
                                const ptxgen_type *types);
PTXGEN_API void ptxgen_else(ptxgen_builder *b, uint32_t n, const ptxgen_value *yields);
PTXGEN_API void ptxgen_if_end(ptxgen_builder *b, uint32_t n, const ptxgen_value *yields,
                              ptxgen_value *results);
/* partition @name [warps, regs]; regs 0: none asked; is_default 1: run by the kernel's own warps.
 */
PTXGEN_API void ptxgen_partition_begin(ptxgen_builder *b, const char *name, uint32_t warps,
                                       uint32_t regs, uint32_t is_default);
PTXGEN_API void ptxgen_elect_begin(ptxgen_builder *b, uint32_t warp);
/* Closes the innermost partition or elect. */
PTXGEN_API void ptxgen_region_end(ptxgen_builder *b);

#ifdef __cplusplus
}
#endif

#endif
