#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static bool wants_color(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) != 0 && (no_color == NULL || no_color[0] == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

static run_exit dispatch(cli *c)
{
    switch (c->command) {
    case CLI_COMPILE: return cli_compile(c);
    case CLI_KERNEL: return cli_kernel(c);
    case CLI_OPT: return cli_opt(c);
    case CLI_CHECK: return cli_check(c);
    case CLI_RUN: return cli_run(c);
    case CLI_EXEC: return cli_exec(c);
    case CLI_LAYOUT: return cli_layout(c);
    case CLI_SASS: return cli_sass(c);
    case CLI_HELP: return cli_help(c);
    case CLI_COMMAND_COUNT:
    default: return RUN_DEFECT;
    }
}

/* Files that are opened later must not get the numbers of streams that the caller has closed: then
 * messages would go into them. What stands there instead fails as the closed stream would. */
static void keep_streams_apart(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

int main(int argc, char **argv)
{
    keep_streams_apart();
    cli c = {.msgs = {.to = stderr, .has_color = wants_color()}};
    if (argc < 2) {
        cli_usage(stderr);
        return RUN_USAGE;
    }
    pg_arena_init(&c.arena, pg_alloc_default());
    run_exit status = RUN_OK;
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("ptxgen %s\n", ptxgen_version_text());
    } else if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_usage(stdout);
    } else {
        status = cli_parse(&c, argc, argv);
        status = status == RUN_OK ? cli_check_outputs(&c) : status;
        status = status == RUN_OK ? dispatch(&c) : status;
    }
    if (fflush(stdout) != 0 && status == RUN_OK) {
        status = run_fail(&c.msgs, RUN_TOOL, RUN_MSG_CANNOT_WRITE, "<stdout>", "it is closed");
    }
    pg_arena_fini(&c.arena);
    return (int)status;
}
