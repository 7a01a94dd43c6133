/* report_notes.c: messages and compared arrays as JSON, and the whole of it. Apart from launches,
 * so that what prints messages needs neither the executor nor the compiler. */
#include <math.h>

#include "tools/run/file.h"
#include "tools/run/report_json.h"

void run_json_init(run_json *j)
{
    *j = (run_json){.is_job = false};
    pg_strbuf_init(&j->outputs, pg_alloc_default());
    pg_strbuf_init(&j->messages, pg_alloc_default());
    pg_strbuf_init(&j->launches, pg_alloc_default());
}

void run_json_fini(run_json *j)
{
    pg_strbuf_fini(&j->messages);
    pg_strbuf_fini(&j->launches);
    pg_strbuf_fini(&j->outputs);
}

void run_json_text(pg_strbuf *out, const char *key, const char *text)
{
    pg_putf(out, "\"%s\": ", key);
    pg_put_json(out, pg_str_of(text));
}

void run_json_number(pg_strbuf *out, const char *key, uint64_t x)
{
    pg_putf(out, "\"%s\": %llu", key, (unsigned long long)x);
}

void run_json_note(run_json *j, const run_note *note)
{
    pg_strbuf *out = &j->messages;
    pg_put(out, out->len == 0 ? "\n  {" : ",\n  {");
    run_json_text(out, "file", note->file == NULL ? "" : note->file);
    pg_putf(out, ", \"number\": %u, ", note->number);
    run_json_text(out, "severity", note->severity);
    pg_putf(out, ", \"line\": %u, \"column\": %u, ", (unsigned)note->line, (unsigned)note->column);
    run_json_text(out, "message", note->message);
    pg_put(out, ", ");
    run_json_text(out, "help", note->help == NULL ? "" : note->help);
    pg_put(out, "}");
}

/* JSON has no infinity and no NaN. */
static void put_real(pg_strbuf *out, const char *key, double x)
{
    char text[32] = "null";
    if (isfinite(x)) {
        (void)snprintf(text, sizeof text, "%.9g", x);
    }
    pg_putf(out, ", \"%s\": %s", key, text);
}

void run_json_output(run_json *j, const run_verdict *v)
{
    pg_strbuf *out = &j->outputs;
    pg_put(out, out->len == 0 ? "\n  {" : ",\n  {");
    run_json_text(out, "name", v->name);
    pg_put(out, ", ");
    run_json_text(out, "type", v->type);
    pg_put(out, ", ");
    run_json_number(out, "elements", v->n);
    pg_put(out, ", ");
    run_json_number(out, "wrong", v->n_wrong);
    pg_put(out, ", ");
    run_json_number(out, "at", v->at);
    put_real(out, "value", v->value);
    put_real(out, "expected", v->expected);
    put_real(out, "error", v->error);
    put_real(out, "bound", v->bound);
    pg_put(out, "}");
}

run_exit run_json_write(const run_msgs *m, const run_json *j, const char *file, run_exit exit)
{
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_put(&text, "{\"schema\": 1, ");
    run_json_text(&text, "file", file);
    pg_putf(&text, ", \"exit\": %d", (int)exit);
    if (j->is_job) {
        pg_put(&text, ", \"device\": ");
        j->device == NULL ? pg_put(&text, "null") : pg_put_json(&text, pg_str_of(j->device));
    }
    pg_put(&text, ",\n \"messages\": [");
    pg_put_str(&text, pg_strbuf_str(&j->messages));
    pg_put(&text, "],\n \"launches\": [");
    pg_put_str(&text, pg_strbuf_str(&j->launches));
    if (j->is_job) {
        pg_put(&text, "],\n \"outputs\": [");
        pg_put_str(&text, pg_strbuf_str(&j->outputs));
    }
    pg_put(&text, "]}\n");
    bool is_oom = text.is_oom || j->messages.is_oom || j->launches.is_oom || j->outputs.is_oom;
    run_exit status = is_oom ? run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, file)
                             : run_write_file(m, "-", pg_strbuf_str(&text), PG_STR(""));
    pg_strbuf_fini(&text);
    return exit != RUN_OK ? exit : status;
}
