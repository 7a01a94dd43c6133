/* PTX to machine code by ptxas. What it says becomes our messages, on the lines of the IR. */
#include "tools/asm/ptxasm.h"

#include "cli.h"

/* Long enough for any kernel of ours; ptxas on a large one takes seconds. */
#define TIMEOUT_MS 300000u

static void print_message(const cli *c, const char *file, const ptxgen_result *r,
                          const ptxasm_message *said)
{
    static const struct {
        const char *severity;
        unsigned number;
        const char *help;
    } kinds[] = {
        [PTXASM_INFO] = {"warning", RUN_MSG_PTXAS_INFO, ""},
        [PTXASM_WARNING] = {"warning", RUN_MSG_PTXAS_WARNING, ""},
        [PTXASM_ERROR] = {"error", RUN_MSG_PTXAS_ERROR,
                          "please report this with the input that caused it"},
        [PTXASM_FATAL] = {"error", RUN_MSG_PTXAS_ERROR,
                          "please report this with the input that caused it"},
    };
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_putf(&text, "ptxas: %s%s%s", said->code, said->code[0] == '\0' ? "" : ": ", said->text);
    uint32_t line = ptxgen_result_source_line(r, said->line);
    const run_note note = {
        .file = file,
        .line = line,
        .column = line == 0 ? 0 : 1,
        .severity = kinds[said->severity].severity,
        .number = kinds[said->severity].number,
        .message = text.is_oom ? said->text : text.ptr,
        .help = kinds[said->severity].help,
    };
    run_print(&c->msgs, &note);
    pg_strbuf_fini(&text);
}

static void print_facts(const cli *c, const char *file, const ptxasm_result *done)
{
    for (size_t i = 0; i < done->n_entries; i++) {
        const ptxasm_entry *e = &done->entries[i];
        const pg_str name = pg_str_of(e->name);
        if (e->spill_stores + e->spill_loads != 0) {
            (void)run_fail(&c->msgs, RUN_OK, RUN_MSG_PTXAS_SPILL, file, PG_STR_ARG(name),
                           (unsigned)e->spill_stores, (unsigned)e->spill_loads);
        }
        if (c->values[CLI_OPT_TIME] != NULL && e->is_entry) {
            (void)fprintf(stderr, "%s: %s: %u registers, %u bytes spilled, %u bytes of stack\n",
                          file, e->name, (unsigned)e->registers,
                          (unsigned)(e->spill_stores + e->spill_loads), (unsigned)e->stack);
        }
    }
    if (c->values[CLI_OPT_TIME] != NULL) {
        (void)fprintf(stderr, "  %-12s %9.3f ms\n", "ptxas", done->wall_ms);
    }
}

static run_exit finish(const cli *c, const char *file, const ptxgen_result *r,
                       const ptxasm_result *done)
{
    for (size_t i = 0; i < done->n_messages; i++) {
        print_message(c, file, r, &done->messages[i]);
    }
    switch (done->status) {
    case PTXASM_OK:
        print_facts(c, file, done);
        return run_write_file(&c->msgs, c->values[CLI_OPT_OUTPUT],
                              (pg_str){(const char *)done->cubin, done->cubin_size}, PG_STR(""));
    case PTXASM_REJECTED: return RUN_DEFECT;
    case PTXASM_NO_TOOL:
        return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_PTXAS, NULL,
                        ptxasm_status_text(done->status));
    case PTXASM_TIMEOUT:
    case PTXASM_CRASHED:
    case PTXASM_IO:
    case PTXASM_NO_MEMORY:
    default:
        return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_PTXAS_FAILED, NULL,
                        ptxasm_status_text(done->status));
    }
}

run_exit cli_assemble(cli *c, const char *file, const ptxgen_result *r)
{
    static const char *const line_info[] = {"-lineinfo"};
    const ptxgen_str ptx = ptxgen_result_ptx(r);
    ptxasm_options options = ptxasm_options_default(ptxgen_result_target(r).ptr);
    ptxasm_result done;
    options.path = c->values[CLI_OPT_PTXAS];
    options.want_cubin = true;
    options.timeout_ms = TIMEOUT_MS;
    options.extra = line_info;
    options.n_extra = c->values[CLI_OPT_LINE_INFO] != NULL ? 1 : 0;
    (void)ptxasm_run(&options, ptx.ptr, ptx.len, &done);
    run_exit status = finish(c, file, r, &done);
    ptxasm_result_free(&done);
    return status;
}
