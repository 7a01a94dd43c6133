/* target.h: facts of each target, one const table (target.c), each number with its source. */
#ifndef PG_IR_TARGET_H
#define PG_IR_TARGET_H

#include "base/base.h"

typedef struct pg_target {
    const char *name;      /* "sm_90a" */
    uint16_t sm;           /* 90 */
    bool is_arch;          /* the a form */
    uint16_t min_ptx;      /* least .version that knows the target, 80 = 8.0 */
    uint32_t smem_per_cta; /* bytes, dynamic limit */
    uint32_t smem_per_sm;
    uint32_t regs_per_sm, max_regs_per_thread, max_warps_per_cta;
} pg_target;

extern const pg_target pg_targets[];
extern const uint32_t pg_n_targets;
const pg_target *pg_target_find(pg_str name); /* NULL if unknown */

#endif
