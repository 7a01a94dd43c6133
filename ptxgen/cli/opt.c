/* `ptxgen opt`: IR in, IR out. */
#include "cli.h"

run_exit cli_opt(cli *c)
{
    ptxgen_options options;
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    pg_str text;
    if (c->values[CLI_OPT_PASSES] == NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_NEEDS, NULL, "`ptxgen opt`",
                        "--passes=a,b,c");
    }
    run_exit status = cli_options(c, &options);
    options.emit = PTXGEN_EMIT_IR;
    if (status == RUN_OK && ptxgen_ctx_create(NULL, &ctx) != PTXGEN_OK) {
        status = run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    if (status == RUN_OK) {
        status = cli_compile_file(c, ctx, &options, &text, &r);
    }
    if (status == RUN_OK) {
        status = cli_emit(c, c->operand, r);
    }
    if (status == RUN_OK) {
        cli_print_stats(c, c->operand, r);
    }
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
    return status;
}
