/* fold.h: the one arithmetic of the folder and the interpreter, on arrays of element patterns (as
 * pg_value.bits).
 *
 * Integers are computed modulo 2^bits. f16, bf16 (and tf32, e4m3, e5m2) are computed in f32 and
 * rounded once to the type; f32 and f64 are IEEE, to nearest even, subnormals kept. Every NaN that
 * an operation makes is the type's canonical one: f16 and bf16 0x7FFF, f32 0x7FFFFFFF (as PTX has
 * it), f64 0x7FF8000000000000, others as elem.h; select moves patterns. */
#ifndef PG_IR_FOLD_H
#define PG_IR_FOLD_H

#include "ir/ir.h"

typedef struct pg_fold {
    pg_op op; /* any with F_ELEM */
    const pg_attrs *attrs;
    pg_elem elem,
        res; /* element types of the operands (select: of the last two) and of the result */
    const uint64_t *in[3];
    uint32_t n;
    uint64_t *out; /* n patterns; may be one of in[] */
    uint8_t
        *new_poison; /* n bytes, zeroed by the caller; set to 1 where the operation makes poison */
} pg_fold;

/* False: not an elementwise operation or not on these types. */
bool pg_fold_run(const pg_fold *f);
/* Whether the operation can make poison of good operands (nw, division). */
bool pg_fold_may_poison(pg_op op, const pg_attrs *attrs);

/* Parts of it, by the class of the element; cast has its own file. */
bool pg_fold_int(const pg_fold *f);
bool pg_fold_float(const pg_fold *f);
bool pg_fold_cast(const pg_fold *f);
/* Rounds once; canonical NaN. */
uint64_t pg_fold_round_f32(pg_elem e, float x);
uint64_t pg_fold_round_f64(pg_elem e, double x);

#endif
