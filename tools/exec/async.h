/* async.h: cp.async between its issue and the wait that the program does for it. */
#ifndef PTXEXEC_ASYNC_H
#define PTXEXEC_ASYNC_H

#include "tools/exec/trace.h"

enum { PE_COPY_MAX = 16 };

/* Some lanes of one cp.async. All of them read together, and write together. */
struct pe_copy {
    const pe_inst *i;
    uint32_t lanes; /* that did not wait for it yet */
    uint32_t done;  /* of these: read and written ahead of the others, for an mbarrier */
    uint32_t order; /* n_issued of the warp at issue */
    uint32_t group; /* of these lanes: number of commits before it */
    uint32_t size;
    uint32_t serial; /* of its access, for the race detector */
    bool is_read, is_written;
    uint64_t read_at, write_at; /* steps of the CTA; UINT64_MAX: when it is waited for */
    pe_moment end;              /* traces only */
    /* Of lanes that are done: the barrier that they signalled first, and in which phase. */
    uint16_t done_agent[PE_LANES];
    uint32_t done_phase[PE_LANES];
    uint32_t offset[PE_LANES];  /* shared address */
    uint8_t n_source[PE_LANES]; /* bytes from global memory; zeros behind */
    uint8_t *to[PE_LANES], *to_poison[PE_LANES];
    const uint8_t *from[PE_LANES], *from_poison[PE_LANES];
    uint8_t data[PE_LANES][PE_COPY_MAX], poison[PE_LANES][PE_COPY_MAX];
};

/* A new copy at the end of the warp's list; NULL when out of memory. */
pe_copy *pe_copy_new(pe_warp *w);
/* Draws when it reads and writes, does what is due at once, and marks its destination as poison. */
void pe_copy_issue(pe_warp *w, pe_copy *c);
/* The lanes `mask` waited: their copies in groups before `first_open[lane]` are complete. */
void pe_copy_wait(pe_warp *w, uint32_t mask, const uint32_t first_open[PE_LANES]);
/* The lane's copies issued before `order` are complete and signal at the barrier. */
void pe_copy_arrive(pe_warp *w, uint32_t lane, uint32_t order, pe_mbar *b);
/* They will; `is_postponed`: a phase is over in which they should have. */
void pe_copy_claim(pe_warp *w, uint32_t lane, uint32_t order, pe_mbar *b, bool is_postponed);
void pe_copy_fini(pe_warp *w);

/* Something that an instruction set going and that happens at a step that the seed draws: at once,
 * later, or when nothing else can. */
struct pe_task {
    void (*run)(pe_task *t);
    pe_warp *w; /* who set it going, and where */
    const pe_inst *i;
    uint32_t lane;
    uint32_t order;
    void *data;
    uint64_t at; /* shared address */
    uint64_t due;
    /* st.async: what goes where, and the barrier there */
    pe_cta *home;
    uint32_t mbar, n;
    uint8_t bytes[32];
};

void pe_task_add(pe_cta *cta, const pe_task *t); /* copies it */
void pe_task_at(pe_cta *cta, const pe_task *t, uint64_t due);
void pe_tasks_drop(pe_cta *cta, const void *data); /* those with this data */
void pe_tasks_fini(pe_cta *cta);
/* Copies and tasks that are due at the CTA's step. */
void pe_async_advance(pe_cta *cta);
/* Nothing else can go on: one task runs. False if there is none. */
bool pe_async_force(pe_cta *cta);

#endif
