/* trace.c: one process a CTA, one thread a track; a cycle is written as a microsecond. */
#include "tools/run/trace.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "tools/run/file.h"

/* Names of opcodes and of engines: nothing in them needs an escape. */
static void put_event(pg_strbuf *out, const ptxexec_trace_event *e, size_t id)
{
    unsigned long long start = e->start;
    unsigned long long cta = e->cta;
    if (e->kind == PTXEXEC_TRACE_ARROW) {
        pg_putf(
            out,
            ",\n{\"ph\":\"s\",\"cat\":\"order\",\"name\":\"lets go on\",\"id\":%zu,\"pid\":%llu,"
            "\"tid\":%u,\"ts\":%llu}",
            id, cta, e->from, start);
        pg_putf(
            out,
            ",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"order\",\"name\":\"lets go on\",\"id\":%zu,"
            "\"pid\":%llu,\"tid\":%u,\"ts\":%llu}",
            id, cta, e->track, (unsigned long long)e->end);
        return;
    }
    pg_putf(out,
            ",\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%llu,\"tid\":%u,\"ts\":%llu,"
            "\"dur\":%llu,\"args\":{\"line\":%u",
            e->name, e->kind == PTXEXEC_TRACE_WAIT ? "wait" : "work", cta, e->track, start,
            (unsigned long long)(e->end - e->start), (unsigned)e->line);
    if (e->kind == PTXEXEC_TRACE_COPY) {
        pg_putf(out, ",\"bytes\":%llu", (unsigned long long)e->bytes);
    }
    pg_put(out, "}}");
}

static void put_name(pg_strbuf *out, uint64_t cta, uint32_t track)
{
    pg_putf(
        out,
        ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%llu,\"tid\":%u,\"args\":{\"name\":\"",
        (unsigned long long)cta, track);
    if (track == PTXEXEC_TRACK_COPIES) {
        pg_put(out, "copies");
    } else if (track == PTXEXEC_TRACK_TENSOR) {
        pg_put(out, "tensor core");
    } else {
        pg_putf(out, "warp %u (warp group %u)", track, track / 4);
    }
    pg_put(out, "\"}}");
}

enum { MAX_WARPS = 32 };

/* Names of the tracks that a CTA has; its events begin at `first`. */
static void put_tracks(pg_strbuf *out, const ptxexec_report *r, size_t first)
{
    uint64_t cta = ptxexec_report_trace(r, first).cta;
    bool is_named[MAX_WARPS + 2] = {false};
    pg_putf(
        out,
        ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%llu,\"args\":{\"name\":\"CTA %llu\"}}",
        (unsigned long long)cta, (unsigned long long)cta);
    for (size_t k = first; k < ptxexec_report_trace_count(r); k++) {
        ptxexec_trace_event e = ptxexec_report_trace(r, k);
        uint32_t slot = e.track == PTXEXEC_TRACK_COPIES   ? MAX_WARPS
                        : e.track == PTXEXEC_TRACK_TENSOR ? MAX_WARPS + 1
                                                          : e.track % MAX_WARPS;
        if (e.cta != cta) {
            return;
        }
        if (!is_named[slot]) {
            is_named[slot] = true;
            put_name(out, cta, e.track);
        }
    }
}

run_exit run_trace_write(const run_msgs *m, const char *path, const ptxexec_report *r)
{
    pg_strbuf out;
    pg_strbuf_init(&out, pg_alloc_default());
    pg_put(&out,
           "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
           "{\"ph\":\"M\",\"name\":\"trace_config\",\"pid\":0,\"args\":{\"unit\":\"cycles\"}}");
    size_t n = ptxexec_report_trace_count(r);
    for (size_t k = 0; k < n; k++) {
        ptxexec_trace_event e = ptxexec_report_trace(r, k);
        if (k == 0 || ptxexec_report_trace(r, k - 1).cta != e.cta) {
            put_tracks(&out, r, k);
        }
        put_event(&out, &e, k);
    }
    pg_put(&out, "\n]}\n");
    run_exit status = out.is_oom ? run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL)
                                 : run_write_file(m, path, pg_strbuf_str(&out), (pg_str){NULL, 0});
    pg_strbuf_fini(&out);
    return status;
}
