/* cli.h: the command line: parsed arguments, and what the commands share. */
#ifndef PG_CLI_H
#define PG_CLI_H

#include <ptxgen.h>

#include "tools/run/job.h"

#include "table.h"

typedef struct cli_given { /* a repeated option */
    cli_option option;
    run_pair pair; /* MANY: all of it is the value */
} cli_given;

enum { CLI_MAX_OPERANDS = 4 };

typedef struct cli {
    run_msgs msgs;
    pg_arena arena;
    cli_command command;
    const char *operand; /* the last one; NULL: none */
    const char *operands[CLI_MAX_OPERANDS];
    int n_operands;
    const char *values[CLI_OPTION_COUNT]; /* NULL: not given; "" for flags */
    uint64_t numbers[CLI_OPTION_COUNT];   /* NUMBER */
    uint32_t dims[CLI_OPTION_COUNT][3];   /* DIMS */
    cli_given *given;                     /* repeated options, in order */
    size_t n_given;
} cli;

/* args.c: fills everything but msgs and arena; reports wrong usage. */
run_exit cli_parse(cli *c, int argc, char **argv);
/* Reports a command that there is not. */
run_exit cli_no_command(cli *c, const char *name);
/* Repeated NAME=VALUE options of one kind, in order. */
run_pairs cli_pairs(cli *c, cli_option option);
/* outputs.c: reports results that would go over an input, or between other output. */
run_exit cli_check_outputs(const cli *c);
run_exit cli_check_array_output(const cli *c, const char *option, const char *path);
/* help.c */
void cli_usage(FILE *to);
run_exit cli_help(cli *c);

/* compile.c: options of the library from those of the command. */
run_exit cli_options(cli *c, ptxgen_options *out);
/* Prints a result's diagnostics; `source` may be NULL. */
void cli_print_diags(const cli *c, const char *file, const char *source, const ptxgen_result *r);
run_exit cli_exit_of(ptxgen_status status);
/* Times and sizes, where they were asked for. */
void cli_print_stats(const cli *c, const char *what, const ptxgen_result *r);
/* Writes what --emit asks for. */
run_exit cli_emit(cli *c, const char *file, const ptxgen_result *r);
/* True if the operand is a library kernel and no file. */
bool cli_is_kernel(const char *operand);
/* Builds and compiles a library kernel; *out may be NULL on failure. */
run_exit cli_compile_kernel(cli *c, ptxgen_ctx *ctx, const ptxgen_options *options,
                            ptxgen_result **out);
run_exit cli_compile_file(cli *c, ptxgen_ctx *ctx, const ptxgen_options *options, pg_str *text,
                          ptxgen_result **out);
/* Compiles a file or a library kernel, and writes what --emit asks for. */
run_exit cli_make(cli *c, const ptxgen_options *options, bool is_kernel);
/* --emit=cubin needs -o. */
run_exit cli_check_emit(const cli *c);
/* check.c: the line with which the text begins as PTX, `.version`; 0: it does not. */
uint32_t cli_ptx_line(pg_str text);
/* The same of tile IR, `ptir`. */
uint32_t cli_ptir_line(pg_str text);
/* assemble.c: PTX to machine code by ptxas. */
run_exit cli_assemble(cli *c, const char *file, const ptxgen_result *r);

run_exit cli_compile(cli *c);
run_exit cli_kernel(cli *c);
run_exit cli_opt(cli *c);
run_exit cli_check(cli *c);
run_exit cli_run(cli *c);
run_exit cli_exec(cli *c);
run_exit cli_layout(cli *c);
run_exit cli_sass(cli *c);

#endif
