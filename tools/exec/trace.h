/* trace.h: when things happen on a simple clock, for looking at pipelines. The clock is no part of
 * the model: nothing that a program can see depends on it.
 *
 * Each warp has a clock of its own that instructions move on by their costs. Who waits for
 * something moves to the time at which that happened: an arrival, the end of a copy, of a product.
 * Engines (copies, tensor cores) work one thing after the other. Times follow dependences alone,
 * not the order in which the executor happened to run warps. */
#ifndef PTXEXEC_TRACE_H
#define PTXEXEC_TRACE_H

#include "tools/exec/exec.h"

/* Where and when something came from: the arrow's beginning. Track PE_NO_TRACK: another CTA's. */
#define PE_NO_TRACK UINT32_MAX
typedef struct pe_moment {
    uint64_t at;
    uint32_t track; /* of ptxexec_trace_track; a warp's number */
    uint32_t line;
} pe_moment;

struct pe_trace {
    PG_VEC(ptxexec_trace_event) events;                /* in the worker's arena */
    uint64_t clock[PE_MAX_WARPS], since[PE_MAX_WARPS]; /* since: the warp runs without waiting */
    uint32_t line[PE_MAX_WARPS];
    uint64_t copies_free, tensor_free; /* when the engine can begin the next */
    pe_moment bar[PE_N_BARRIERS];      /* last arrivals */
};

bool pe_trace_begin(pe_cta *cta); /* false when out of memory */
/* One instruction of the warp. */
void pe_trace_step(pe_warp *w, const pe_inst *i);
void pe_trace_exit(pe_warp *w);
/* Now, at instruction `i` of the warp. */
pe_moment pe_trace_now(const pe_warp *w, const pe_inst *i);
/* The warp goes on behind `i` not before m. */
void pe_trace_reach(pe_warp *w, const pe_inst *i, const pe_moment *m);
static inline void pe_trace_latest(pe_moment *into, pe_moment m)
{
    *into = m.at >= into->at ? m : *into;
}
/* An engine does something that may begin at `from`; its end. A copy has read its source by
 * *out_read (may be NULL). */
pe_moment pe_trace_copy(pe_cta *cta, const pe_moment *from, uint64_t bytes, const char *name,
                        pe_moment *out_read);
pe_moment pe_trace_product(pe_cta *cta, const pe_moment *from, uint32_t n);

#endif
