/* PTX to machine code by ptxas. */
#include "cli.h"

run_exit cli_assemble(cli *c, const char *file, const ptxgen_result *r)
{
    (void)file;
    (void)r;
    return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_PTXAS, NULL, "not there yet");
}
