/* elem.h: values of element types as bit patterns (pg_value.bits) and as numbers. */
#ifndef PG_IR_ELEM_H
#define PG_IR_ELEM_H

#include "ir/type.h"

/* Pattern of x rounded once (to nearest, ties to even; TF32: ties away) to a float type. E4M3 has
 * no infinity: what is too large becomes NaN, as the type has it. 0 for integer types. */
uint64_t pg_elem_of_f64(pg_elem e, double x);
/* Exact value of a pattern of a float type; 0 for integer types. */
double pg_elem_to_f64(pg_elem e, uint64_t bits);
/* Sign-extends the low bits of an integer type (i1: 0 and 1). */
uint64_t pg_elem_wrap(pg_elem e, uint64_t x);
/* Whether an integer can be written as this type: the signed and the unsigned range together. */
bool pg_elem_fits(pg_elem e, int64_t x);

#endif
