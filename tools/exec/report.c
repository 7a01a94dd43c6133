#include "tools/exec/report.h"

#include <stdlib.h>

ptxexec_report *pe_report_new(pg_alloc alloc)
{
    ptxexec_report *r = alloc.resize(alloc.user, NULL, 0, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    *r = (ptxexec_report){.alloc = alloc, .output = ""};
    pg_arena_init(&r->arena, alloc);
    pg_diags_init(&r->diags, &r->arena, alloc);
    return r;
}

void ptxexec_report_destroy(ptxexec_report *r_or_null)
{
    if (r_or_null == NULL) {
        return;
    }
    pg_alloc alloc = r_or_null->alloc;
    pg_arena_fini(&r_or_null->arena);
    alloc.resize(alloc.user, r_or_null, sizeof *r_or_null, 0);
}

/* Instructions of one line and opcode; lines come in order of the text. */
static bool take_lines(ptxexec_report *r, const pe_launch *l, const pe_worker *worker)
{
    const ptxexec_module *m = l->m;
    if (worker->stats.lines == NULL) {
        return true;
    }
    if (r->by_pc == NULL) {
        r->by_pc = PG_NEWS(&r->arena, pe_line, m->code.n);
    }
    if (r->by_pc == NULL) {
        return false;
    }
    for (uint32_t k = 0; k < m->code.n; k++) {
        const pe_line *x = &worker->stats.lines[k];
        pe_line *y = &r->by_pc[k];
        y->n_steps += x->n_steps;
        y->n_lanes += x->n_lanes;
        y->n_shared += x->n_shared;
        y->n_wavefronts += x->n_wavefronts;
        y->n_least += x->n_least;
        y->n_global += x->n_global;
        y->n_sectors += x->n_sectors;
    }
    return true;
}

static bool take_trace(ptxexec_report *r, const pe_worker *worker)
{
    for (const pe_traced *t = worker->traced; t != NULL; t = t->next) {
        ptxexec_trace_event *events = PG_NEWS(&r->arena, ptxexec_trace_event, (size_t)t->n + 1);
        pe_traced copy = {.cta = t->cta, .events = events, .n = t->n};
        if (events == NULL || !pg_vec_push(&r->arena, &r->traced, copy)) {
            return false;
        }
        for (uint32_t k = 0; k < t->n; k++) {
            events[k] = t->events[k];
            events[k].name = pg_arena_str(&r->arena, pg_str_of(events[k].name)).ptr;
            if (events[k].name == NULL) {
                return false;
            }
        }
    }
    return true;
}

bool pe_report_take(ptxexec_report *r, const pe_launch *l, const pe_worker *worker)
{
    r->stats.n_steps += worker->stats.n_steps;
    r->stats.n_lane_instructions += worker->stats.n_lanes;
    for (const pe_fault *f = worker->faults; f != NULL; f = f->next) {
        pe_fault copy = *f;
        copy.next = NULL;
        copy.f.message = pg_arena_str(&r->arena, pg_str_of(f->f.message)).ptr;
        if (copy.f.message == NULL || !pg_vec_push(&r->arena, &r->faults, copy)) {
            return false;
        }
    }
    for (const pe_chunk *c = worker->output; c != NULL; c = c->next) {
        pe_chunk copy = {.cta = c->cta, .text = pg_arena_str(&r->arena, c->text)};
        if (copy.text.ptr == NULL || !pg_vec_push(&r->arena, &r->chunks, copy)) {
            return false;
        }
    }
    return take_trace(r, worker) && take_lines(r, l, worker);
}

static int by_lanes(const void *a, const void *b)
{
    const ptxexec_opcode_count *x = a;
    const ptxexec_opcode_count *y = b;
    if (x->n_lane_instructions != y->n_lane_instructions) {
        return x->n_lane_instructions < y->n_lane_instructions ? 1 : -1;
    }
    return strcmp(x->opcode, y->opcode);
}

static int by_cta(const void *a, const void *b)
{
    const pe_chunk *x = a;
    const pe_chunk *y = b;
    return x->cta < y->cta ? -1 : x->cta > y->cta ? 1 : 0;
}

/* Faults of other CTAs than the first would depend on which of them had started. */
static void keep_first_cta(ptxexec_report *r)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t k = 0; k < r->faults.n; k++) {
        first = r->faults.at[k].cta < first ? r->faults.at[k].cta : first;
    }
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->faults.n; k++) {
        if (r->faults.at[k].cta == first) {
            r->faults.at[n++] = r->faults.at[k];
        }
    }
    r->faults.n = n;
}

static bool join_output(ptxexec_report *r)
{
    if (r->chunks.n == 0) {
        return true;
    }
    qsort(r->chunks.at, r->chunks.n, sizeof *r->chunks.at, by_cta);
    size_t size = 1;
    for (uint32_t k = 0; k < r->chunks.n; k++) {
        size += r->chunks.at[k].text.len;
    }
    char *text = PG_NEWS(&r->arena, char, size);
    if (text == NULL) {
        return false;
    }
    size_t at = 0;
    for (uint32_t k = 0; k < r->chunks.n; k++) {
        memcpy(text + at, r->chunks.at[k].text.ptr, r->chunks.at[k].text.len);
        at += r->chunks.at[k].text.len;
    }
    r->output = text;
    return true;
}

static bool add_line(ptxexec_report *r, const pe_launch *l, uint32_t pc)
{
    const ptxexec_module *m = l->m;
    const pe_line *x = &r->by_pc[pc];
    const pe_src *src = &m->srcs.at[m->code.at[pc].src];
    r->stats.n_global_accesses += x->n_global;
    r->stats.n_global_sectors += x->n_sectors;
    r->stats.n_shared_accesses += x->n_shared;
    r->stats.n_shared_wavefronts += x->n_wavefronts;
    r->stats.n_shared_extra += x->n_wavefronts - x->n_least;
    if (x->n_shared + x->n_global == 0) {
        return true;
    }
    ptxexec_line_stats line = {.line = src->loc.line,
                               .column = src->loc.column,
                               .opcode = pg_arena_str(&r->arena, m->opcodes.at[src->opcode]).ptr,
                               .n_shared_accesses = x->n_shared,
                               .n_shared_wavefronts = x->n_wavefronts,
                               .n_shared_extra = x->n_wavefronts - x->n_least,
                               .n_global_accesses = x->n_global,
                               .n_global_sectors = x->n_sectors};
    return line.opcode != NULL && pg_vec_push(&r->arena, &r->lines, line);
}

static bool sum_lines(ptxexec_report *r, const pe_launch *l)
{
    const ptxexec_module *m = l->m;
    pe_line *sums = PG_NEWS(&r->arena, pe_line, (size_t)m->opcodes.n + 1);
    for (uint32_t k = 0; sums != NULL && k < m->code.n; k++) {
        pe_line *s = &sums[m->srcs.at[m->code.at[k].src].opcode];
        s->n_steps += r->by_pc[k].n_steps;
        s->n_lanes += r->by_pc[k].n_lanes;
        if (!add_line(r, l, k)) {
            return false;
        }
    }
    for (uint32_t k = 0; sums != NULL && k < m->opcodes.n; k++) {
        ptxexec_opcode_count c = {.n_steps = sums[k].n_steps,
                                  .n_lane_instructions = sums[k].n_lanes};
        if (c.n_steps == 0) {
            continue;
        }
        c.opcode = pg_arena_str(&r->arena, m->opcodes.at[k]).ptr;
        if (c.opcode == NULL || !pg_vec_push(&r->arena, &r->opcodes, c)) {
            return false;
        }
    }
    return sums != NULL;
}

static int by_traced_cta(const void *a, const void *b)
{
    const pe_traced *x = a;
    const pe_traced *y = b;
    return x->cta < y->cta ? -1 : x->cta > y->cta ? 1 : 0;
}

static bool join_trace(ptxexec_report *r)
{
    if (r->traced.n > 0) {
        qsort(r->traced.at, r->traced.n, sizeof *r->traced.at, by_traced_cta);
    }
    for (uint32_t k = 0; k < r->traced.n; k++) {
        for (uint32_t j = 0; j < r->traced.at[k].n; j++) {
            if (!pg_vec_push(&r->arena, &r->trace, r->traced.at[k].events[j])) {
                return false;
            }
        }
    }
    return true;
}

bool pe_report_finish(ptxexec_report *r, const pe_launch *l)
{
    keep_first_cta(r);
    if (r->by_pc != NULL && !sum_lines(r, l)) {
        return false;
    }
    if (r->opcodes.n > 0) {
        qsort(r->opcodes.at, r->opcodes.n, sizeof *r->opcodes.at, by_lanes);
    }
    return join_trace(r) && join_output(r);
}

ptxexec_status ptxexec_report_status(const ptxexec_report *r)
{
    return r == NULL ? PTXEXEC_E_MISUSE : r->status;
}

size_t ptxexec_report_diag_count(const ptxexec_report *r)
{
    return r == NULL ? 0 : r->diags.n;
}

ptxexec_diag ptxexec_report_diag(const ptxexec_report *r, size_t index)
{
    return pe_diag_out(r == NULL ? NULL : &r->diags, index);
}

size_t ptxexec_report_fault_count(const ptxexec_report *r)
{
    return r == NULL ? 0 : r->faults.n;
}

ptxexec_fault ptxexec_report_fault(const ptxexec_report *r, size_t index)
{
    if (r == NULL || index >= r->faults.n) {
        return (ptxexec_fault){.kind = PTXEXEC_F_NONE, .message = "", .missing = ""};
    }
    const pe_fault *f = &r->faults.at[index];
    ptxexec_fault out = f->f;
    out.missing = f->missing_at == 0 ? "" : out.message + f->missing_at;
    return out;
}

const char *ptxexec_fault_kind_text(ptxexec_fault_kind kind)
{
    static const char *const texts[] = {"no fault",
                                        "out of bounds",
                                        "use after free",
                                        "misaligned access",
                                        "write to read-only memory",
                                        "address of another state space",
                                        "uninitialised value decides a branch",
                                        "uninitialised address",
                                        "uninitialised synchronisation operand",
                                        "diverged warp at an .aligned instruction",
                                        "lane outside its member mask",
                                        "barrier misuse",
                                        "deadlock",
                                        "step limit",
                                        "trap",
                                        "assertion failed",
                                        "bad call target",
                                        "stack overflow",
                                        "shuffle from a lane that is not there",
                                        "race",
                                        "mbarrier misuse",
                                        "warp group",
                                        "registers in flight",
                                        "missing wgmma.fence",
                                        "matrix descriptor",
                                        "register pool",
                                        "missing proxy fence",
                                        "tensor map misuse",
                                        "copy that outlives its CTA"};
    return (size_t)kind < PG_COUNT_OF(texts) ? texts[kind] : "unknown fault";
}

ptxexec_stats ptxexec_report_stats(const ptxexec_report *r)
{
    return r == NULL ? (ptxexec_stats){.n_ctas = 0} : r->stats;
}

size_t ptxexec_report_trace_count(const ptxexec_report *r)
{
    return r == NULL ? 0 : r->trace.n;
}

ptxexec_trace_event ptxexec_report_trace(const ptxexec_report *r, size_t index)
{
    return r != NULL && index < r->trace.n ? r->trace.at[index] : (ptxexec_trace_event){.name = ""};
}

size_t ptxexec_report_opcode_count(const ptxexec_report *r)
{
    return r == NULL ? 0 : r->opcodes.n;
}

ptxexec_opcode_count ptxexec_report_opcode(const ptxexec_report *r, size_t index)
{
    return r != NULL && index < r->opcodes.n ? r->opcodes.at[index]
                                             : (ptxexec_opcode_count){.opcode = ""};
}

size_t ptxexec_report_line_count(const ptxexec_report *r)
{
    return r == NULL ? 0 : r->lines.n;
}

ptxexec_line_stats ptxexec_report_line(const ptxexec_report *r, size_t index)
{
    return r != NULL && index < r->lines.n ? r->lines.at[index]
                                           : (ptxexec_line_stats){.opcode = ""};
}

const char *ptxexec_report_output(const ptxexec_report *r)
{
    return r == NULL ? "" : r->output;
}
