#include "tools/run/report_json.h"

#include <string.h>

static void put_three(pg_strbuf *out, const char *key, const uint32_t x[3])
{
    pg_putf(out, "\"%s\": [%u, %u, %u]", key, (unsigned)x[0], (unsigned)x[1], (unsigned)x[2]);
}

static void put_diag(pg_strbuf *out, const ptxexec_diag *d)
{
    static const char *const names[] = {"note", "warning", "error"};
    pg_put(out, "{");
    run_json_number(out, "number", d->number);
    pg_put(out, ", ");
    run_json_text(out, "severity",
                  names[d->severity <= PTXEXEC_ERROR ? d->severity : PTXEXEC_ERROR]);
    pg_putf(out, ", \"line\": %u, \"column\": %u, ", (unsigned)d->line, (unsigned)d->column);
    run_json_text(out, "message", d->message);
    pg_put(out, ", ");
    run_json_text(out, "help", d->help);
    pg_put(out, "}");
}

void run_json_message(run_json *j, const ptxexec_diag *d)
{
    pg_put(&j->messages, j->messages.len == 0 ? "" : ", ");
    put_diag(&j->messages, d);
}

/* The line's text without the blanks around it. */
static pg_str line_of(pg_str text, uint32_t number)
{
    size_t at = 0;
    for (uint32_t i = 1; i < number; i++) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        if (end == NULL) {
            return (pg_str){"", 0};
        }
        at = (size_t)(end - text.ptr) + 1;
    }
    size_t end = at;
    while (end < text.len && text.ptr[end] != '\n' && text.ptr[end] != '\r') {
        end++;
    }
    while (at < end && (text.ptr[at] == ' ' || text.ptr[at] == '\t')) {
        at++;
    }
    return pg_str_sub(text, at, end);
}

static void put_access(pg_strbuf *out, const run_launch *l, const char *key,
                       const ptxexec_access *a)
{
    pg_putf(out, "\"%s\": {\"line\": %u, \"column\": %u, \"text\": ", key, (unsigned)a->line,
            (unsigned)a->column);
    pg_put_json(out, a->line == 0 ? PG_STR("") : line_of(l->ptx, a->line));
    if (l->ir != NULL) {
        pg_putf(out, ", \"source_line\": %u",
                (unsigned)ptxgen_result_source_line(l->compiled, a->line));
    }
    ptxexec_source from;
    if (l->compiled == NULL && ptxexec_module_source(l->module, a->line, &from) != 0) {
        pg_put(out, ", \"source\": {");
        run_json_text(out, "file", from.file);
        pg_putf(out, ", \"line\": %u, \"column\": %u}", (unsigned)from.line, (unsigned)from.column);
    }
    pg_put(out, ", ");
    put_three(out, "cta", a->cta);
    pg_put(out, ", ");
    put_three(out, "thread", a->thread);
    pg_putf(out, ", \"warp\": %u, \"lane\": %u, \"lanes\": %u}", (unsigned)a->warp,
            (unsigned)a->lane, (unsigned)a->lanes);
}

static void put_fault(pg_strbuf *out, const run_launch *l, const ptxexec_fault *f)
{
    pg_put(out, "{");
    run_json_text(out, "kind", ptxexec_fault_kind_text(f->kind));
    pg_put(out, ", ");
    run_json_text(out, "message", f->message);
    if (f->missing[0] != '\0') {
        pg_put(out, ", ");
        run_json_text(out, "missing", f->missing);
    }
    if (f->address != 0) {
        pg_putf(out, ", \"address\": \"0x%llx\", \"size\": %u", (unsigned long long)f->address,
                (unsigned)f->size);
    }
    pg_put(out, ",\n      ");
    put_access(out, l, "at", &f->at);
    if (f->has_other != 0) {
        pg_put(out, ",\n      ");
        put_access(out, l, "other", &f->other);
    }
    pg_put(out, "}");
}

static void put_opcodes(pg_strbuf *out, const ptxexec_report *r)
{
    pg_put(out, ",\n    \"opcodes\": [");
    for (size_t i = 0; i < ptxexec_report_opcode_count(r); i++) {
        const ptxexec_opcode_count c = ptxexec_report_opcode(r, i);
        pg_put(out, i == 0 ? "\n     {" : ",\n     {");
        run_json_text(out, "opcode", c.opcode);
        pg_put(out, ", ");
        run_json_number(out, "warp_instructions", c.n_steps);
        pg_put(out, ", ");
        run_json_number(out, "lane_instructions", c.n_lane_instructions);
        pg_put(out, "}");
    }
    pg_put(out, "],\n    \"lines\": [");
    for (size_t i = 0; i < ptxexec_report_line_count(r); i++) {
        const ptxexec_line_stats x = ptxexec_report_line(r, i);
        pg_putf(out, "%s\n     {\"line\": %u, \"column\": %u, ", i == 0 ? "" : ",",
                (unsigned)x.line, (unsigned)x.column);
        run_json_text(out, "opcode", x.opcode);
        pg_putf(out,
                ", \"shared\": {\"accesses\": %llu, \"wavefronts\": %llu, \"conflicts\": %llu}, "
                "\"global\": {\"accesses\": %llu, \"sectors\": %llu}}",
                (unsigned long long)x.n_shared_accesses, (unsigned long long)x.n_shared_wavefronts,
                (unsigned long long)x.n_shared_extra, (unsigned long long)x.n_global_accesses,
                (unsigned long long)x.n_global_sectors);
    }
    pg_put(out, "]");
}

static void put_stats(pg_strbuf *out, const run_launch *l, const ptxexec_report *r)
{
    const ptxexec_stats s = ptxexec_report_stats(r);
    pg_put(out, "\"stats\": {");
    run_json_number(out, "ctas", s.n_ctas);
    pg_put(out, ", ");
    run_json_number(out, "warps", s.n_warps);
    pg_put(out, ", ");
    run_json_number(out, "warp_instructions", s.n_steps);
    pg_put(out, ", ");
    run_json_number(out, "lane_instructions", s.n_lane_instructions);
    if (l->has_stats) {
        pg_putf(out,
                ",\n    \"shared\": {\"accesses\": %llu, \"wavefronts\": %llu, \"conflicts\": "
                "%llu}, \"global\": {\"accesses\": %llu, \"sectors\": %llu}",
                (unsigned long long)s.n_shared_accesses, (unsigned long long)s.n_shared_wavefronts,
                (unsigned long long)s.n_shared_extra, (unsigned long long)s.n_global_accesses,
                (unsigned long long)s.n_global_sectors);
        put_opcodes(out, r);
    }
    pg_put(out, "}");
}

static const char *word_of(ptxexec_status status)
{
    return status == PTXEXEC_OK ? "ok" : status == PTXEXEC_E_FAULT ? "fault" : "refused";
}

void run_json_launch(run_json *j, const run_launch *l, const char *entry, uint64_t seed,
                     const ptxexec_report *r)
{
    pg_strbuf *out = &j->launches;
    pg_put(out, out->len == 0 ? "\n  {" : ",\n  {");
    run_json_text(out, "entry", entry);
    pg_put(out, ", ");
    run_json_number(out, "seed", seed);
    pg_put(out, ", ");
    run_json_text(out, "status", word_of(ptxexec_report_status(r)));
    pg_put(out, ",\n   \"messages\": [");
    for (size_t i = 0; i < ptxexec_report_diag_count(r); i++) {
        const ptxexec_diag d = ptxexec_report_diag(r, i);
        pg_put(out, i == 0 ? "" : ", ");
        put_diag(out, &d);
    }
    pg_put(out, "],\n   \"faults\": [");
    for (size_t i = 0; i < ptxexec_report_fault_count(r); i++) {
        const ptxexec_fault f = ptxexec_report_fault(r, i);
        pg_put(out, i == 0 ? "\n     " : ",\n     ");
        put_fault(out, l, &f);
    }
    pg_put(out, "],\n   ");
    run_json_text(out, "output", ptxexec_report_output(r));
    pg_put(out, ",\n   ");
    put_stats(out, l, r);
    pg_put(out, "}");
}
