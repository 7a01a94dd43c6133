/* lower.h: hw IR to the PTX object model, and the launch manifest. */
#ifndef PG_EMIT_LOWER_H
#define PG_EMIT_LOWER_H

#include "emit/ptx.h"
#include "ir/ir.h"

typedef struct pg_lower_options {
    bool annotate; /* comments with IR lines */
} pg_lower_options;

/* Lowers every kernel of a module that has PG_PROP_LAID_OUT. The result lives in `arena`. Inserts
 * no synchronisation: each barrier, fence and wait in the PTX stands in the IR. */
pg_status pg_lower(pg_module *m, const pg_lower_options *opt, pg_arena *arena, pg_diags *diags,
                   pg_ptx_module **out);
/* Launch manifest of one kernel as JSON (docs/manifest.md), one line without trailing newline. */
pg_status pg_manifest(pg_strbuf *out, pg_module *m, const pg_kernel *k, pg_diags *diags);

/* First warp of a partition. */
uint32_t pg_partition_first_warp(const pg_inst *part);
bool pg_partition_is_default(const pg_inst *part);
uint32_t pg_partition_warps(const pg_inst *part);

/* Registers that a kernel's threads can have. */
typedef struct pg_reg_limits {
    uint32_t n_warps; /* of a CTA, all partitions */
    uint32_t pool;    /* registers for one CTA */
    uint32_t share;   /* of each thread, all alike: a multiple of 8, or 255 */
} pg_reg_limits;
pg_reg_limits pg_reg_limits_of(const pg_kernel *k);

#endif
