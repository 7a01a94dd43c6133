/* Where results go: not over what is read, and not between other output. */
#include <string.h>

#include "tools/run/file.h"

#include "cli.h"

static bool is_stream(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static run_exit not_together(const cli *c, const char *a, const char *b)
{
    return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_TOGETHER, NULL, a, b);
}

run_exit cli_check_array_output(const cli *c, const char *option, const char *path)
{
    if (!is_stream(path)) {
        const bool is_name = c->command == CLI_RUN && cli_is_kernel(c->operand);
        return !is_name && run_is_same_file(path, c->operand)
                   ? run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_OVERWRITES, NULL, option, path)
                   : RUN_OK;
    }
    /* What is printed would stand behind the array. */
    return c->values[CLI_OPT_JSON] != NULL
               ? not_together(c, "an array on standard output", "--json")
           : c->values[CLI_OPT_COMPARE] != NULL
               ? not_together(c, "an array on standard output", "--verify")
               : RUN_OK;
}

/* IR may take the place of the IR that it was made of. */
static bool makes_ir(const cli *c)
{
    const char *emit = c->values[CLI_OPT_EMIT];
    return c->command == CLI_OPT || (emit != NULL && strcmp(emit, "ir") == 0) ||
           c->values[CLI_OPT_STOP_AFTER] != NULL;
}

run_exit cli_check_outputs(const cli *c)
{
    const char *output = c->values[CLI_OPT_OUTPUT], *trace = c->values[CLI_OPT_TRACE];
    const bool has_source = c->command == CLI_COMPILE || c->command == CLI_OPT;
    if (has_source && output != NULL && !makes_ir(c) && run_is_same_file(output, c->operand)) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_OVERWRITES, NULL, "-o", output);
    }
    if (c->command == CLI_EXEC && trace != NULL && run_is_same_file(trace, c->operand)) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_OVERWRITES, NULL, "--trace", trace);
    }
    bool is_stdin_read = is_stream(c->operand);
    run_exit status = RUN_OK;
    for (size_t i = 0; i < c->n_given && status == RUN_OK; i++) {
        const cli_given *g = &c->given[i];
        if (g->option == CLI_OPT_OUT) {
            status = cli_check_array_output(c, "--out", g->pair.value);
        } else if (g->option == CLI_OPT_IN && is_stream(g->pair.value)) {
            if (is_stdin_read) {
                status =
                    run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_REPEATED, NULL, "the command", "-");
            }
            is_stdin_read = true;
        }
    }
    return status;
}
