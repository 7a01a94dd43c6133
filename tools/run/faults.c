/* faults.c: what an executor or a driver says of a line of the PTX, at the line of the author. */
#include <string.h>

#include "tools/run/backend.h"

enum {
    MAX_SHOWN_OPCODES = 20,
    AROUND = 2 /* lines of PTX on both sides of the accesses of a race */
};

void run_print_exec_diag(const run_msgs *m, const run_launch *l, const ptxexec_diag *d)
{
    static const char *const names[] = {"note", "warning", "error"};
    const run_note note = {
        .file = l->file,
        .line = d->line,
        .column = d->column,
        .severity = names[d->severity <= PTXEXEC_ERROR ? d->severity : PTXEXEC_ERROR],
        .number = d->number,
        .message = d->message,
        .help = d->help,
        .source = l->ptx.ptr,
    };
    run_print(m, &note);
}

void run_print_at(const run_msgs *m, const run_launch *l, const run_note *what)
{
    uint32_t ir_line = l->ir == NULL ? 0 : ptxgen_result_source_line(l->compiled, what->line);
    pg_strbuf place;
    pg_strbuf_init(&place, pg_alloc_default());
    pg_putf(&place, l->compiled == NULL ? "%s" : "PTX of %s", l->file);
    run_note note = *what;
    note.file = place.is_oom ? l->file : place.ptr;
    note.severity = what->number != 0 ? "error" : "note";
    note.source = l->ptx.ptr;
    if (ir_line != 0) {
        run_note at_ir = note;
        at_ir.file = l->file;
        at_ir.line = ir_line;
        at_ir.column = run_first_column(l->ir, ir_line);
        at_ir.source = l->ir;
        at_ir.around = 0;
        run_print(m, &at_ir);
        note.severity = "note";
        note.number = 0;
        note.message = "the instruction that it became";
        note.help = "";
    }
    run_print(m, &note);
    ptxexec_source from;
    if (l->compiled == NULL && ptxexec_module_source(l->module, what->line, &from) != 0) {
        const run_note at_source = {.file = from.file,
                                    .line = from.line,
                                    .column = from.column,
                                    .severity = "note",
                                    .message = "what the instruction was compiled from"};
        run_print(m, &at_source);
    }
    pg_strbuf_fini(&place);
}

/* The other side of a race. */
static void print_other(const run_msgs *m, const run_launch *l, const ptxexec_access *at)
{
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_putf(&text, "the other access: CTA %u,%u,%u, thread %u,%u,%u (warp %u, lane %u)", at->cta[0],
            at->cta[1], at->cta[2], at->thread[0], at->thread[1], at->thread[2], at->warp,
            at->lane);
    const run_note note = {.line = at->line,
                           .column = at->column,
                           .message = text.is_oom ? "the other access" : text.ptr,
                           .around = AROUND};
    run_print_at(m, l, &note);
    pg_strbuf_fini(&text);
}

/* Who runs PTX without its manifest forgets this first. */
static const char *help_of(const run_launch *l, const ptxexec_fault *f)
{
    const bool lacks_shared = f->kind == PTXEXEC_F_OUT_OF_BOUNDS && l->n_steps == 1 &&
                              l->steps[0].smem == 0 && l->compiled == NULL &&
                              strstr(f->message, ".shared memory") != NULL &&
                              strstr(l->ptx.ptr, ".extern .shared") != NULL;
    return lacks_shared ? "the PTX has dynamic shared memory: give its size with --smem=BYTES, "
                          "`smem` in a manifest"
                        : "docs/executor.md explains each kind of fault";
}

void run_print_faults(const run_msgs *m, const run_launch *l, const ptxexec_report *r,
                      uint64_t seed)
{
    size_t n = ptxexec_report_fault_count(r);
    run_msgs to_terminal = *m; /* a report has faults beside the messages */
    to_terminal.json = NULL;
    m = &to_terminal;
    for (size_t i = 0; i < n; i++) {
        const ptxexec_fault f = ptxexec_report_fault(r, i);
        pg_strbuf text;
        pg_strbuf_init(&text, pg_alloc_default());
        pg_putf(&text, "%s: %s", ptxexec_fault_kind_text(f.kind), f.message);
        pg_putf(&text, " [CTA %u,%u,%u, thread %u,%u,%u", f.at.cta[0], f.at.cta[1], f.at.cta[2],
                f.at.thread[0], f.at.thread[1], f.at.thread[2]);
        if (l->n_seeds > 1) {
            pg_putf(&text, ", seed %llu", (unsigned long long)seed);
        }
        pg_put(&text, "]");
        const run_note note = {
            .line = f.at.line,
            .column = f.at.column,
            .number = RUN_MSG_FAULT,
            .message = text.is_oom ? f.message : text.ptr,
            .help = i + 1 == n ? help_of(l, &f) : "",
            .around = f.has_other != 0 ? AROUND : 0,
        };
        run_print_at(m, l, &note);
        pg_strbuf_fini(&text);
        if (f.has_other != 0) {
            print_other(m, l, &f.other);
        }
    }
}

/* Instructions that touch memory: passes over the banks and what conflicts add; sectors. */
static void print_lines(const run_msgs *m, const ptxexec_report *r)
{
    FILE *to = m->to;
    size_t n = ptxexec_report_line_count(r);
    if (n > 0) {
        (void)fprintf(to, "%6s %12s %12s %10s %12s %12s\n", "line", "shared", "wavefronts", "extra",
                      "global", "sectors");
    }
    for (size_t i = 0; i < n; i++) {
        const ptxexec_line_stats x = ptxexec_report_line(r, i);
        (void)fprintf(to, "%6u %12llu %12llu %10llu %12llu %12llu  %s\n", (unsigned)x.line,
                      (unsigned long long)x.n_shared_accesses,
                      (unsigned long long)x.n_shared_wavefronts,
                      (unsigned long long)x.n_shared_extra, (unsigned long long)x.n_global_accesses,
                      (unsigned long long)x.n_global_sectors, x.opcode);
    }
}

void run_print_exec_stats(const run_msgs *m, const ptxexec_report *r)
{
    const ptxexec_stats st = ptxexec_report_stats(r);
    FILE *to = m->to;
    (void)fprintf(to,
                  "CTAs %llu, warps %llu, warp instructions %llu, lane instructions %llu\n"
                  "global: %llu accesses, %llu sectors of 32 bytes; shared: %llu accesses, %llu "
                  "wavefronts, %llu by bank conflicts; %.3f s\n",
                  (unsigned long long)st.n_ctas, (unsigned long long)st.n_warps,
                  (unsigned long long)st.n_steps, (unsigned long long)st.n_lane_instructions,
                  (unsigned long long)st.n_global_accesses, (unsigned long long)st.n_global_sectors,
                  (unsigned long long)st.n_shared_accesses,
                  (unsigned long long)st.n_shared_wavefronts, (unsigned long long)st.n_shared_extra,
                  st.seconds);
    size_t n = ptxexec_report_opcode_count(r);
    for (size_t i = 0; i < n && i < MAX_SHOWN_OPCODES; i++) {
        const ptxexec_opcode_count c = ptxexec_report_opcode(r, i);
        (void)fprintf(to, "%12llu %14llu  %s\n", (unsigned long long)c.n_steps,
                      (unsigned long long)c.n_lane_instructions, c.opcode);
    }
    print_lines(m, r);
}
