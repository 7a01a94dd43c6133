/* trace.c: the clock of traces and its events.
 *
 * Costs are rounded figures of one SM of an H100 (132 SMs at 1.755 GHz):
 *   a warp instruction 4 cycles, the distance of dependent ones; loads and atomics add what they
 *   take to give their value: shared 25, global and generic 500; mma.sync 16, special functions 16
 *   a copy to or from global memory: 600 cycles until the first bytes, then 32 bytes a cycle (L2)
 *   wgmma: N / 2 cycles for m64nN and 32 bytes of K: 2048 f16 multiply-adds a cycle, 989 TFLOP/s
 *   over all SMs; other types keep the bytes of K */
#include "tools/exec/trace.h"

enum {
    STEP = 4,
    SHARED = 25,
    GLOBAL = 500,
    HEAVY = 16,
    COPY_LATENCY = 600,
    COPY_BYTES = 32,
    MOST_EVENTS = 1 << 20
};

bool pe_trace_begin(pe_cta *cta)
{
    cta->trace = PG_NEW(&cta->worker->arena, pe_trace);
    return cta->trace != NULL;
}

static void add(pe_cta *cta, ptxexec_trace_event e)
{
    e.cta = cta->linear;
    if (cta->trace->events.n < MOST_EVENTS &&
        !pg_vec_push(&cta->worker->arena, &cta->trace->events, e)) {
        cta->worker->is_oom = true;
    }
}

static bool is_load(const pe_warp *w, const pe_inst *i)
{
    pg_str text = pe_opcode(w->cta, i);
    return pg_str_starts(text, PG_STR("ld.")) || pg_str_starts(text, PG_STR("atom.")) ||
           pg_str_starts(text, PG_STR("ldmatrix"));
}

static uint32_t cost(const pe_warp *w, const pe_inst *i)
{
    static const char *const heavy[] = {"mma.", "ex2.",  "lg2.",   "sin.", "cos.",
                                        "rcp.", "sqrt.", "rsqrt.", "div.", "tanh."};
    if (i->n != 0 && i->size != 0 && is_load(w, i)) {
        return STEP + (i->space == PG_PTX_SP_SHARED                                 ? SHARED
                       : i->space == PG_PTX_SP_GLOBAL || i->space == PG_PTX_SP_NONE ? GLOBAL
                                                                                    : 0);
    }
    for (size_t k = 0; k < PG_COUNT_OF(heavy); k++) {
        if (pg_str_starts(pe_opcode(w->cta, i), pg_str_of(heavy[k]))) {
            return HEAVY;
        }
    }
    return STEP;
}

static uint32_t line_of(const pe_warp *w, const pe_inst *i)
{
    return w->cta->launch->m->srcs.at[i->src].loc.line;
}

void pe_trace_step(pe_warp *w, const pe_inst *i)
{
    pe_trace *t = w->cta->trace;
    if (t->line[w->index] == 0) {
        t->line[w->index] = line_of(w, i);
    }
    t->clock[w->index] += cost(w, i);
}

static void end_run(pe_warp *w)
{
    pe_trace *t = w->cta->trace;
    uint32_t k = w->index;
    if (t->clock[k] > t->since[k]) {
        add(w->cta, (ptxexec_trace_event){.kind = PTXEXEC_TRACE_RUN,
                                          .track = k,
                                          .start = t->since[k],
                                          .end = t->clock[k],
                                          .name = "run",
                                          .line = t->line[k]});
    }
    t->line[k] = 0;
}

void pe_trace_exit(pe_warp *w)
{
    end_run(w);
    w->cta->trace->since[w->index] = w->cta->trace->clock[w->index];
}

pe_moment pe_trace_now(const pe_warp *w, const pe_inst *i)
{
    return (pe_moment){
        .at = w->cta->trace->clock[w->index], .track = w->index, .line = line_of(w, i)};
}

void pe_trace_reach(pe_warp *w, const pe_inst *i, const pe_moment *m)
{
    pe_trace *t = w->cta->trace;
    uint64_t now = t->clock[w->index];
    if (m->at <= now) {
        return;
    }
    end_run(w);
    pg_str text = pe_opcode(w->cta, i);
    add(w->cta, (ptxexec_trace_event){.kind = PTXEXEC_TRACE_WAIT,
                                      .track = w->index,
                                      .start = now,
                                      .end = m->at,
                                      .name = text.ptr, /* of the module: report.c copies it */
                                      .line = line_of(w, i)});
    if (m->track != PE_NO_TRACK) {
        add(w->cta, (ptxexec_trace_event){.kind = PTXEXEC_TRACE_ARROW,
                                          .track = w->index,
                                          .from = m->track,
                                          .start = m->at,
                                          .end = m->at,
                                          .name = "",
                                          .line = m->line});
    }
    t->clock[w->index] = m->at;
    t->since[w->index] = m->at;
}

static pe_moment engine(pe_cta *cta, uint64_t *free, const pe_moment *from, uint64_t busy,
                        ptxexec_trace_event e)
{
    e.start = from->at > *free ? from->at : *free;
    e.end = e.start + busy;
    e.line = from->line;
    *free = e.end;
    add(cta, e);
    add(cta, (ptxexec_trace_event){.kind = PTXEXEC_TRACE_ARROW,
                                   .track = e.track,
                                   .from = from->track,
                                   .start = from->at,
                                   .end = e.start,
                                   .name = "",
                                   .line = from->line});
    return (pe_moment){.at = e.end, .track = e.track, .line = e.line};
}

/* Latencies of copies overlap: the engine is free when the bytes are through. */
pe_moment pe_trace_copy(pe_cta *cta, const pe_moment *from, uint64_t bytes, const char *name,
                        pe_moment *out_read)
{
    pe_moment end =
        engine(cta, &cta->trace->copies_free, from, (bytes + COPY_BYTES - 1) / COPY_BYTES,
               (ptxexec_trace_event){.kind = PTXEXEC_TRACE_COPY,
                                     .track = PTXEXEC_TRACK_COPIES,
                                     .name = name,
                                     .bytes = bytes});
    if (out_read != NULL) {
        *out_read = end;
    }
    end.at += COPY_LATENCY;
    return end;
}

pe_moment pe_trace_product(pe_cta *cta, const pe_moment *from, uint32_t n)
{
    return engine(cta, &cta->trace->tensor_free, from, n / 2,
                  (ptxexec_trace_event){.kind = PTXEXEC_TRACE_PRODUCT,
                                        .track = PTXEXEC_TRACK_TENSOR,
                                        .name = "wgmma"});
}
