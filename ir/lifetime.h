/* lifetime.h: which buffers are never alive at one time, so that they may lie in the same memory.
 *
 *   %a = buf.new          buf.store %a ... buf.load %a       apart: all uses of %a come before the
 *   %b = buf.new          cta.sync                           barrier, all of %b behind it
 *                         buf.store %b ... buf.load %b */
#ifndef PG_IR_LIFETIME_H
#define PG_IR_LIFETIME_H

#include "ir/ir.h"

typedef struct pg_lifetimes pg_lifetimes;

/* Reads the whole kernel once; lives in the arena. */
pg_status pg_lifetimes_make(const pg_kernel *k, pg_arena *arena, pg_lifetimes **out);
/* Results of two different buf.new. Cost: their uses, and the operations of one region. */
bool pg_lifetimes_apart(const pg_lifetimes *l, pg_val a, pg_val b);

#endif
