/* `ptxgen check`: is this text right? Silent if it is. */
#include <string.h>

#include "cli.h"

bool cli_is_ptx(const char *path, pg_str text)
{
    size_t len = strlen(path);
    if (len > 4 && strcmp(path + len - 4, ".ptx") == 0) {
        return true;
    }
    if (len > 5 && strcmp(path + len - 5, ".ptir") == 0) {
        return false;
    }
    const char *at = text.ptr;
    while (*at != '\0') {
        at += strspn(at, " \t\r\n");
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end == NULL ? at + strlen(at) : end + 2;
        } else {
            break;
        }
    }
    return strncmp(at, ".version", strlen(".version")) == 0;
}

run_exit cli_check(cli *c)
{
    ptxgen_options options;
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    pg_str text;
    run_exit status = cli_options(c, &options);
    if (status == RUN_OK) {
        status = run_read_file(&c->msgs, &c->arena, c->operand, &text);
    }
    if (status == RUN_OK && ptxgen_ctx_create(NULL, &ctx) != PTXGEN_OK) {
        status = run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    if (status == RUN_OK) {
        const ptxgen_str input = {text.ptr, text.len};
        options.emit = PTXGEN_EMIT_NONE;
        status =
            cli_exit_of(cli_is_ptx(c->operand, text) ? ptxgen_check_ptx(ctx, input, &r)
                                                     : ptxgen_compile(ctx, input, &options, &r));
        cli_print_diags(c, strcmp(c->operand, "-") == 0 ? "<stdin>" : c->operand, text.ptr, r);
    }
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
    return status;
}
