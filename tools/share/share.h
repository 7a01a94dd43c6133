/* share.h: what an installation has beside programs and libraries: manual pages, completions,
 * editor files. Each is printed to stdout, made from the tables that the programs use. */
#ifndef PG_TOOLS_SHARE_H
#define PG_TOOLS_SHARE_H

#include "ptxgen/cli/table.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* One item of a list: a value of an option, an operation's name. Length with pointer, since many
 * are parts of a string. */
typedef void each_word(void *user, const char *word, int length);
/* Words of a list; `separators` as in strcspn. */
void for_each_word(const char *list, const char *separators, each_word *each, void *user);
/* The values that an option may have, where they can be listed: words, targets, passes. */
void for_each_value(const cli_option_row *row, each_word *each, void *user);
/* Names of the library's kernels. */
void for_each_kernel(each_word *each, void *user);

int option_is_long(const cli_option_row *row);
int option_takes_value(const cli_option_row *row); /* one that must be there */
int command_takes_kernel(int command);
int command_takes_file(int command);

void print_man(void);
void print_man_command(int command);
void print_bash(void);
void print_zsh(void);
void print_fish(void);
void print_vim(void);
void print_vim_detect(void);
void print_vscode_package(void);
void print_vscode_settings(void);
void print_textmate(void);

#endif
