/* reduce.h: what the operation `reduce` says, and who must exchange what for it. */
#ifndef PG_IR_REDUCE_H
#define PG_IR_REDUCE_H

#include "ir/ir.h"
#include "ir/layout.h"

typedef struct pg_reduce {
    uint32_t dim;
    int64_t op;           /* PG_REDUCE_* */
    uint32_t parts, span; /* parts 0: the dimension goes away */
} pg_reduce;

/* Attributes out of range give parts or spans that pg_reduce_plan_make refuses. */
pg_reduce pg_reduce_of(const pg_inst *i);
/* Coordinate of the result for one of the operand, which has `rank` dimensions. */
void pg_reduce_project(const pg_reduce *r, uint32_t rank, const uint32_t *at, uint32_t *to);

typedef struct pg_reduce_plan {
    uint32_t lanes; /* bits of the lane's number along which elements are combined */
    uint32_t warps; /* the same of the warp's number */
} pg_reduce_plan;

/* Whether each thread that has elements of a result (res; NULL: a scalar, which all threads have)
 * has it after combining its own and those of the lanes and warps of the plan. NOT_LINEAR: bits of
 * `in` move several dimensions at once or hold elements twice; SHAPE: res is another layout. */
pg_layout_error pg_reduce_plan_make(const pg_reduce *r, const pg_layout *in, const pg_layout *res,
                                    pg_reduce_plan *out);
/* The layout of the result so that nothing moves: the operand's without the dimension (its indices
 * become replicas); with `parts`, with the coordinate of the part. */
pg_layout_error pg_reduce_result(const pg_reduce *r, const pg_layout *in, pg_layout *out);

#endif
