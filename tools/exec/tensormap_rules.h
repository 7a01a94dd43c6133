/* tensormap_rules.h: facts on the element types of tensor maps, and the rules of
 * cuTensorMapEncodeTiled and ...Im2col (tensormap_rules.def, ptxexec_tensormap_check). Indifferent
 * to how the arguments came: from a launch, or read out of the 128 bytes of a map. */
#ifndef PTXEXEC_TENSORMAP_RULES_H
#define PTXEXEC_TENSORMAP_RULES_H

#include "base/diag.h"
#include "tools/exec/ptxexec.h"

enum { PE_TM_TYPES = 16, PE_TM_DIMS = 5 };
/* Where a map of pixels has what tiles have not, in numbers of 16 bits: 1, channels, pixels, then
 * the lower and the upper corner of each dimension of space. */
enum { PE_TM_PIXELS = 0x40 };

typedef struct pe_tm_type {
    const char *name; /* as cuda.h has it, behind CU_TENSOR_MAP_DATA_TYPE_ */
    uint8_t bits;     /* of one element in global memory; 0: no type */
    bool is_float;
    bool is_packed;    /* 16 elements make a unit; sm_100 and later */
    uint8_t dim_step;  /* the innermost extent is a multiple of it */
    uint8_t box;       /* innermost extent of the box; 0: any */
    uint8_t align;     /* of address and strides, bytes */
    uint8_t swizzles;  /* bit n: swizzle n is allowed */
    uint8_t elem_code; /* what the map's 128 bytes and tensormap.replace call it */
} pe_tm_type;

/* Facts on a type of the driver's numbering; a row with bits 0 for what is none. */
const pe_tm_type *pe_tm_type_of(uint32_t type);
/* Bytes in which a swizzle moves data: 32, 64, 128; 0 without one, or for an unknown one. */
uint32_t pe_tm_span(uint32_t swizzle);

typedef struct pe_tm_rule {
    pg_diag_id diag;
    const char *argument;
} pe_tm_rule;
/* For tests: all rules, in the order in which they are looked at. */
extern const pe_tm_rule pe_tm_rules[];
extern const size_t pe_tm_n_rules;

#endif
