/* layout_back.h: what a shape operation needs of its operand, remembered by its types. */
#ifndef PG_IR_LAYOUT_BACK_H
#define PG_IR_LAYOUT_BACK_H

#include "ir/ir.h"
#include "ir/layout.h"

typedef struct pg_layout_back {
    pg_layout_error res_error; /* of the result's own layout; the rest says nothing then */
    pg_layout_error error;
    pg_layout layout;
} pg_layout_back;

/* The layout that operand 0 of `i` (broadcast, expand, reshape, transpose) must have so that no
 * data moves where the result has the type `res`, which has an encoding. The operand's encoding
 * does not matter. */
pg_layout_back pg_layout_back_of(const pg_types *t, const pg_kernel *k, const pg_inst *i,
                                 pg_type res, uint32_t n_warps);

#endif
