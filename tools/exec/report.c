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

static bool take_counts(ptxexec_report *r, const pe_launch *l, const pe_worker *worker)
{
    const ptxexec_module *m = l->m;
    if (worker->stats.by_src == NULL) {
        return true;
    }
    if (r->counts == NULL) {
        r->counts = PG_NEWS(&r->arena, uint64_t, (size_t)m->opcodes.n * 2 + 1);
    }
    if (r->counts == NULL) {
        return false;
    }
    for (uint32_t k = 0; k < m->code.n; k++) {
        uint32_t op = m->srcs.at[m->code.at[k].src].opcode;
        r->counts[2 * (size_t)op] += worker->stats.by_src[2 * (size_t)k];
        r->counts[2 * (size_t)op + 1] += worker->stats.by_src[2 * (size_t)k + 1];
    }
    return true;
}

bool pe_report_take(ptxexec_report *r, const pe_launch *l, const pe_worker *worker)
{
    r->stats.n_steps += worker->stats.n_steps;
    r->stats.n_lane_instructions += worker->stats.n_lanes;
    r->stats.n_global_accesses += worker->stats.n_global;
    r->stats.n_global_sectors += worker->stats.n_sectors;
    r->stats.n_shared_accesses += worker->stats.n_shared;
    r->stats.n_shared_wavefronts += worker->stats.n_wavefronts;
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
    return take_counts(r, l, worker);
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

bool pe_report_finish(ptxexec_report *r, const pe_launch *l)
{
    keep_first_cta(r);
    for (uint32_t k = 0; r->counts != NULL && k < l->m->opcodes.n; k++) {
        ptxexec_opcode_count c = {.n_steps = r->counts[2 * (size_t)k],
                                  .n_lane_instructions = r->counts[2 * (size_t)k + 1]};
        if (c.n_steps == 0) {
            continue;
        }
        c.opcode = pg_arena_str(&r->arena, l->m->opcodes.at[k]).ptr;
        if (c.opcode == NULL || !pg_vec_push(&r->arena, &r->opcodes, c)) {
            return false;
        }
    }
    if (r->opcodes.n > 0) {
        qsort(r->opcodes.at, r->opcodes.n, sizeof *r->opcodes.at, by_lanes);
    }
    return join_output(r);
}

ptxexec_status ptxexec_report_status(const ptxexec_report *r)
{
    return r->status;
}

size_t ptxexec_report_diag_count(const ptxexec_report *r)
{
    return r->diags.n;
}

ptxexec_diag ptxexec_report_diag(const ptxexec_report *r, size_t index)
{
    return pe_diag_out(&r->diags, index);
}

size_t ptxexec_report_fault_count(const ptxexec_report *r)
{
    return r->faults.n;
}

ptxexec_fault ptxexec_report_fault(const ptxexec_report *r, size_t index)
{
    return index < r->faults.n ? r->faults.at[index].f
                               : (ptxexec_fault){.kind = PTXEXEC_F_NONE, .message = ""};
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
                                        "shuffle from a lane that is not there"};
    return (size_t)kind < PG_COUNT_OF(texts) ? texts[kind] : "unknown fault";
}

ptxexec_stats ptxexec_report_stats(const ptxexec_report *r)
{
    return r->stats;
}

size_t ptxexec_report_opcode_count(const ptxexec_report *r)
{
    return r->opcodes.n;
}

ptxexec_opcode_count ptxexec_report_opcode(const ptxexec_report *r, size_t index)
{
    return index < r->opcodes.n ? r->opcodes.at[index] : (ptxexec_opcode_count){.opcode = ""};
}

const char *ptxexec_report_output(const ptxexec_report *r)
{
    return r->output;
}
