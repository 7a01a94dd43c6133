/* table.h: the rows of commands.def as data: for the parser, for `ptxgen help`, and for
 * tools/share, which makes manual pages and completions of them. */
#ifndef PG_CLI_TABLE_H
#define PG_CLI_TABLE_H

#include <stdbool.h>

typedef enum cli_command {
#define CMD(id, ...) CLI_##id,
#include "commands.def"
    CLI_COMMAND_COUNT
} cli_command;

typedef enum cli_option {
#define CMD(...)
#define OPT(id, ...) CLI_OPT_##id,
#include "commands.def"
    CLI_OPTION_COUNT
} cli_option;

typedef enum cli_kind { /* what an option takes; commands.def explains them */
                        CLI_FLAG,
                        CLI_TEXT,
                        CLI_FILE,
                        CLI_TARGET,
                        CLI_PASS,
                        CLI_ONE,
                        CLI_SOME,
                        CLI_NUMBER,
                        CLI_DIMS,
                        CLI_PAIR,
                        CLI_MANY,
                        CLI_MAYBE
} cli_kind;

typedef struct cli_command_row {
    const char *name, *operands;
    int least, most; /* operands */
    const char *doc;
} cli_command_row;

typedef struct cli_option_row {
    const char *text;
    const char *takes;
    cli_kind kind;
    unsigned commands; /* bits 1 << CLI_COMPILE, ... */
    const char *doc;
} cli_option_row;

extern const cli_command_row cli_commands[CLI_COMMAND_COUNT];
extern const cli_option_row cli_options_table[CLI_OPTION_COUNT];
/* True if an option of the command takes a value of this kind. */
bool cli_takes(int command, cli_kind kind);

/* Texts that belong to the table: forms of exec's --arg, and what exit statuses mean. Lines. */
extern const char cli_exec_forms[];
extern const char cli_exit_statuses[];

#endif
