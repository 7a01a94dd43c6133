/* gen_share NAME: prints one of the files that are installed beside the programs.
 * gen_share: their names. */
#include <ptxgen.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"

#include "share.h"

void for_each_word(const char *list, const char *separators, each_word *each, void *user)
{
    while (*list != '\0') {
        int n = (int)strcspn(list, separators);
        if (n != 0) {
            each(user, list, n);
        }
        list += n + (list[n] != '\0');
    }
}

void for_each_value(const cli_option_row *row, each_word *each, void *user)
{
    const char *name;
    if (row->kind == CLI_TARGET) {
        for (size_t i = 0; (name = ptxgen_target_name(i)) != NULL; i++) {
            each(user, name, (int)strlen(name));
        }
    } else if (row->kind == CLI_PASS) {
        for (size_t i = 0; (name = ptxgen_pass_name(i)) != NULL; i++) {
            each(user, name, (int)strlen(name));
        }
        const char *words = strchr(row->takes, '|');
        if (words != NULL) {
            for_each_word(words, "|", each, user);
        }
    } else if (row->kind == CLI_ONE || row->kind == CLI_SOME || row->kind == CLI_MAYBE) {
        for_each_word(row->takes, "|", each, user);
    }
}

void for_each_kernel(each_word *each, void *user)
{
    const ptxgen_kernel_info *k;
    for (size_t i = 0; (k = ptxgen_kernel_at(i)) != NULL; i++) {
        each(user, k->name, (int)strlen(k->name));
    }
}

int option_is_long(const cli_option_row *row)
{
    return row->text[1] == '-';
}

int option_takes_value(const cli_option_row *row)
{
    return row->kind != CLI_FLAG && row->kind != CLI_MAYBE;
}

int command_takes_kernel(int command)
{
    return strstr(cli_commands[command].operands, "NAME") != NULL;
}

int command_takes_file(int command)
{
    return strstr(cli_commands[command].operands, "FILE") != NULL;
}

static const struct file {
    const char *name;
    void (*print)(void);
} files[] = {
    {"ptxgen.1", print_man},
    {"ptxgen", print_bash},
    {"_ptxgen", print_zsh},
    {"ptxgen.fish", print_fish},
    {"ptir.vim", print_vim},
    {"ptir-detect.vim", print_vim_detect},
    {"package.json", print_vscode_package},
    {"language-configuration.json", print_vscode_settings},
    {"ptir.tmLanguage.json", print_textmate},
};

/* The command of a page `ptxgen-compile.1`; CLI_COMMAND_COUNT if it is none. */
static int page_command(const char *name)
{
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        char page[64];
        (void)snprintf(page, sizeof page, "ptxgen-%s.1", cli_commands[i].name);
        if (strcmp(page, name) == 0) {
            return i;
        }
    }
    return CLI_COMMAND_COUNT;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        if (argc < 2) {
            puts(files[i].name);
        } else if (strcmp(argv[1], files[i].name) == 0) {
            files[i].print();
            return ferror(stdout) != 0;
        }
    }
    if (argc < 2) {
        for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
            printf("ptxgen-%s.1\n", cli_commands[i].name);
        }
        return 0;
    }
    int command = page_command(argv[1]);
    if (command == CLI_COMMAND_COUNT) {
        return 2;
    }
    print_man_command(command);
    return ferror(stdout) != 0;
}
