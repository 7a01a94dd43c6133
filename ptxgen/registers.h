/* registers.h: how many registers the emitted kernels need, and giving them to partitions. */
#ifndef PG_REGISTERS_H
#define PG_REGISTERS_H

#include "emit/live.h"
#include "emit/lower.h"

#include "api.h"

typedef struct pg_reg_region { /* a kernel outside its partitions, or one of those */
    const pg_kernel *kernel;
    pg_inst *part; /* NULL: the kernel */
    pg_str name;   /* "@gemm", "@math" */
    const pg_ptx_func *func;
    uint32_t limit; /* registers that a thread has there */
    pg_live_peak peak;
} pg_reg_region;

typedef PG_VEC(pg_reg_region) pg_reg_regions;

/* Regions of all kernels in order: the kernel, then its partitions. Lives in `arena`. */
pg_status pg_regs_measure(pg_module *m, const pg_ptx_module *ptx, bool wants_values,
                          pg_arena *arena, pg_reg_regions *out);
/* Where a kernel needs more than a thread has, ptxas is told that one CTA on a multiprocessor will
 * do: without that it may take a quarter of the registers there are, and keep the rest in memory.
 */
pg_status pg_regs_ask_for_all(const pg_reg_regions *regions, pg_ptx_module *ptx);
/* Whether the report will have an error or a warning; it names tiles then, and needs the values. */
bool pg_regs_is_trouble(const pg_reg_regions *regions);
/* Errors for what cannot fit, warnings for what hardly can; a table if `sink` is not NULL. */
pg_status pg_regs_report(const pg_reg_regions *regions, const pg_sink *sink_or_null,
                         ptxgen_result *r);

/* registers_round.c: writes [regs=...] where a kernel's partitions ask for none and some of them
 * need more than an equal share. *out_changed: then the module is to be emitted again. One line per
 * kernel with partitions to `sink`, if it is not NULL. */
pg_status pg_regs_choose(pg_module *m, const pg_reg_regions *regions, const pg_sink *sink_or_null,
                         ptxgen_result *r, bool *out_changed);

#endif
