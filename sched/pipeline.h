/* pipeline.h: what the parts of the pass `pipeline` share. The invariants are in pipeline.c. */
#ifndef PG_SCHED_PIPELINE_H
#define PG_SCHED_PIPELINE_H

#include "ir/layout.h"
#include "ir/uses.h"
#include "sched/pass.h"
#include "sched/stages.h"

typedef struct pg_pipe {
    pg_pass_env *env;
    pg_kernel *k;
    pg_types *types;
    pg_status status; /* first failure that is not a diagnostic */
    bool changed;
} pg_pipe;

enum { PG_PIPE_ALIGN = 1024 }; /* of its buffers: the swizzle's pattern, and more */

/* New operation before `at`, at the source location of `from`; its first result, or id 0. */
pg_inst *pg_pipe_emit(pg_pipe *p, pg_inst *at, const pg_inst *from, pg_op op, uint32_t n_in,
                      const pg_val *in, pg_type type);
/* The first result of that operation. */
pg_val pg_pipe_value(pg_pipe *p, pg_inst *at, const pg_inst *from, pg_op op, uint32_t n_in,
                     const pg_val *in, pg_type type);
/* The operation once more before `at`, on other operands; NULL: out of memory. */
pg_inst *pg_pipe_clone(pg_pipe *p, pg_inst *at, const pg_inst *i, const pg_val *in);
/* Type of a buffer for `slots` tiles like this one (0: one, without a dimension of slots). Its rows
 * have a swizzle, or padding where they are wider than a swizzle's span: eight rows at one column
 * lie in different banks. And such a buffer, at the head of the kernel. */
pg_type pg_pipe_buffer_type(pg_pipe *p, const pg_inst *from, pg_type tile, uint32_t slots);
pg_val pg_pipe_buffer(pg_pipe *p, const pg_inst *from, pg_type type);
bool pg_pipe_in_loop(const pg_inst *i);

/* pipeline_room.c. Bytes that a buffer of this type takes. */
uint64_t pg_pipe_bytes(const pg_pipe *p, pg_type buf);
/* Shared memory that is left for copies of these loads while the loop runs; some of it only if a
 * barrier stands before the loop. */
uint64_t pg_pipe_room(pg_pipe *p, const pg_uses *uses, const pg_inst *loop, pg_inst *const *loads,
                      uint32_t n_loads, bool *needs_barrier);

/* pipeline_mask.c: what is true where `mask` and the scalar `exists` are; values from id
 * `first_new` on were made for this iteration. */
pg_val pg_pipe_mask(pg_pipe *p, pg_inst *at, const pg_inst *from, pg_val mask, pg_val exists,
                    uint32_t first_new);

/* pipeline_async.c: preset P-C for one loop; false, and the reason explained, if it can't be. */
bool pg_pipe_async(pg_pipe *p, pg_inst *loop, uint32_t n_stages);

#endif
