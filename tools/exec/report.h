/* report.h: what a launch leaves behind. It owns copies of all texts. */
#ifndef PTXEXEC_REPORT_H
#define PTXEXEC_REPORT_H

#include "tools/exec/exec.h"

struct ptxexec_report {
    pg_alloc alloc;
    pg_arena arena;
    pg_diags diags;
    ptxexec_status status;
    ptxexec_stats stats;
    PG_VEC(pe_fault) faults;
    pe_line *by_pc; /* NULL without statistics */
    PG_VEC(ptxexec_line_stats) lines;
    PG_VEC(ptxexec_opcode_count) opcodes;
    PG_VEC(pe_chunk) chunks;
    PG_VEC(pe_traced) traced; /* by CTA, names copied */
    PG_VEC(ptxexec_trace_event) trace;
    const char *output;
};

ptxexec_report *pe_report_new(pg_alloc alloc); /* NULL when out of memory */
/* Adds what one worker found; false when out of memory. */
bool pe_report_take(ptxexec_report *r, const pe_launch *l, const pe_worker *worker);
/* After the last worker: order, least failing CTA, output. */
bool pe_report_finish(ptxexec_report *r, const pe_launch *l);

#endif
