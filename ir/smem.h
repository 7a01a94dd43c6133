/* smem.h: which buffers of a kernel need shared memory at the same time.
 *
 * Buffers that are used in different branches of an `if` may share their place, unless a loop or a
 * partition is around it: a program runs one of the branches, once. */
#ifndef PG_IR_SMEM_H
#define PG_IR_SMEM_H

#include "ir/ir.h"

/* For each value that is a buffer: its home, the inner-most region that has all its uses and runs
 * at most once (the kernel's body if nothing uses it); NULL for others. By value id; NULL when out
 * of memory. */
const pg_region **pg_buffer_homes(const pg_kernel *k, pg_arena *arena);
/* Is any buffer's home below the kernel's body? */
bool pg_homes_differ(const pg_kernel *k, const pg_region *const *homes);
/* Bytes of all buffers and barriers that a program needs at once, without gaps between them. */
uint64_t pg_smem_bytes(const pg_kernel *k, const pg_region *const *homes);

#endif
