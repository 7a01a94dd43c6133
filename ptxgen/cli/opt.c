/* `ptxgen opt`: IR in, IR out. */
#include "cli.h"

run_exit cli_opt(cli *c)
{
    ptxgen_options options;
    if (c->values[CLI_OPT_PASSES] == NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_NEEDS, NULL, "`ptxgen opt`",
                        "--passes=PASS,PASS...");
    }
    run_exit status = cli_options(c, &options);
    options.emit = PTXGEN_EMIT_IR;
    return status == RUN_OK ? cli_make(c, &options, false) : status;
}
