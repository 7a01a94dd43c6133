/* sync.h: what the parts of the pass `sync` share. The invariants are in sync.c. */
#ifndef PG_SCHED_SYNC_H
#define PG_SCHED_SYNC_H

#include "ir/layout.h"
#include "sched/pass.h"

typedef struct pg_sync {
    pg_pass_env *env;
    pg_kernel *k;
    pg_types *types;
    uint32_t used_ids; /* bit n: barrier n of a partition is used by some partition */
    bool has_parts;    /* the kernel has partitions */
    bool changed;
} pg_sync;

/* New operation before `at`, at the source location of `from`; NULL out of memory. A type of id 0:
 * no result. */
pg_inst *pg_sync_emit(pg_sync *s, pg_inst *at, const pg_inst *from, pg_op op, uint32_t n_in,
                      const pg_val *in, pg_type type);
pg_val pg_sync_value(pg_sync *s, pg_inst *at, const pg_inst *from, pg_op op, uint32_t n_in,
                     const pg_val *in, pg_type type);
/* Buffer at the head of the kernel for a tile like this; enc id 0: plain rows. */
pg_val pg_sync_buffer(pg_sync *s, const pg_inst *from, pg_type tile, pg_enc enc);
/* A barrier of all threads that run `from`: of the CTA, of the partition, or of its only warp.
 * Fails with a diagnostic where no barrier is left. */
pg_status pg_sync_barrier(pg_sync *s, pg_inst *at, const pg_inst *from);
/* Is this operation such a barrier, for those that run the region it stands in? */
bool pg_sync_is_barrier(const pg_sync *s, const pg_inst *i);
bool pg_sync_in_loop(const pg_inst *i);

/* sync_copies.c */
pg_status pg_sync_copies(pg_sync *s);
/* sync_reduce.c */
pg_status pg_sync_reduces(pg_sync *s);

#endif
