/* `ptxgen check`: is this text right? Silent if it is. */
#include <string.h>

#include "cli.h"

/* The line of the first word behind space and comments; 0: it is another word. */
static uint32_t line_of_first(pg_str text, const char *word)
{
    uint32_t line = 1;
    const char *at = text.ptr;
    for (const char *end; *at != '\0'; at = end) {
        if (strchr(" \t\r\n", *at) != NULL) {
            line += *at == '\n';
            end = at + 1;
        } else if (at[0] == '/' && at[1] == '/') {
            end = at + strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*' && (end = strstr(at + 2, "*/")) != NULL) {
            for (; at < end; at++) {
                line += *at == '\n';
            }
            end += 2;
        } else {
            break;
        }
    }
    return strncmp(at, word, strlen(word)) == 0 ? line : 0;
}

uint32_t cli_ptx_line(pg_str text)
{
    return line_of_first(text, ".version");
}

uint32_t cli_ptir_line(pg_str text)
{
    return line_of_first(text, "ptir ");
}

/* What has another name than .ptx or .ptir is looked at. */
static bool is_ptx(const char *path, pg_str text)
{
    size_t len = strlen(path);
    if (len > 4 && strcmp(path + len - 4, ".ptx") == 0) {
        return true;
    }
    bool is_ptir = len > 5 && strcmp(path + len - 5, ".ptir") == 0;
    return !is_ptir && cli_ptx_line(text) != 0;
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
        status = cli_exit_of(is_ptx(c->operand, text) ? ptxgen_check_ptx(ctx, input, &r)
                                                      : ptxgen_compile(ctx, input, &options, &r));
        cli_print_diags(c, strcmp(c->operand, "-") == 0 ? "<stdin>" : c->operand, text.ptr, r);
    }
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
    return status;
}
