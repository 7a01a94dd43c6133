/* `ptxgen help`, from the same table that drives the parser. */
#include <string.h>

#include "cli.h"

enum { HELP_COLUMN = 32 };

static void put_exit_statuses(FILE *to)
{
    (void)fprintf(to, "\nExit status: %s", cli_exit_statuses);
}

void cli_usage(FILE *to)
{
    (void)fputs("ptxgen turns tile-level kernels into PTX text, and runs PTX on the CPU.\n\n", to);
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        (void)fprintf(to, "  ptxgen %-8s %-22s %s\n", cli_commands[i].name,
                      cli_commands[i].operands, cli_commands[i].doc);
    }
    (void)fputs("  ptxgen --version\n\n`ptxgen help COMMAND` lists a command's options.\n", to);
    put_exit_statuses(to);
}

static void print_option(const cli_option_row *row)
{
    const char *before = "";
    const char *after = "";
    if (row->kind == CLI_MAYBE) {
        before = "[=";
        after = "]";
    } else if (row->takes[0] != '\0') {
        before = row->text[1] == '-' ? "=" : " ";
    }
    int width = printf("  %s%s%s%s", row->text, before, row->takes, after);
    if (width > HELP_COLUMN - 2) { /* the value lists words: what it means has a line of its own */
        putchar('\n');
        width = 0;
    }
    (void)printf("%*s%s\n", HELP_COLUMN - width, "", row->doc);
}

static void print_passes(void)
{
    const char *name;
    (void)fputs("\nPasses:\n", stdout);
    for (size_t i = 0; (name = ptxgen_pass_name(i)) != NULL; i++) {
        (void)printf("  %-*s%s\n", HELP_COLUMN - 2, name, ptxgen_pass_doc(i));
    }
    const char *before = "";
    for (size_t i = 0; (name = ptxgen_target_name(i)) != NULL; i++) {
        const char *passes = ptxgen_default_passes((ptxgen_str){name, strlen(name)});
        if (strcmp(passes, before) != 0) {
            (void)printf("Without --passes, from %s on: %s\n", name, passes);
        }
        before = passes;
    }
}

static void print_targets(void)
{
    const char *name;
    (void)fputs("\nTargets:", stdout);
    for (size_t i = 0; (name = ptxgen_target_name(i)) != NULL; i++) {
        (void)printf(" %s", name);
    }
    putchar('\n');
}

run_exit cli_help(cli *c)
{
    if (c->operand == NULL) {
        cli_usage(stdout);
        return RUN_OK;
    }
    int command = 0;
    while (command < CLI_COMMAND_COUNT && strcmp(c->operand, cli_commands[command].name) != 0) {
        command++;
    }
    if (command == CLI_COMMAND_COUNT) {
        return cli_no_command(c, c->operand);
    }
    (void)printf("ptxgen %s %s [OPTION]...\n\n%s\n\n", cli_commands[command].name,
                 cli_commands[command].operands, cli_commands[command].doc);
    for (int i = 0; i < CLI_OPTION_COUNT; i++) {
        if ((cli_options_table[i].commands & 1u << command) != 0) {
            print_option(&cli_options_table[i]);
        }
    }
    if (cli_takes(command, CLI_TARGET)) {
        print_targets();
    }
    if (cli_takes(command, CLI_PASS)) {
        print_passes();
    }
    if (command == CLI_EXEC) {
        (void)printf("\nForms of --arg, %s", cli_exec_forms);
    }
    put_exit_statuses(stdout);
    return RUN_OK;
}
