/* Completions for bash, zsh and fish. Where an option takes words that can be listed, they are
 * offered; where it takes a file, files are. */
#include <stdio.h>
#include <string.h>

#include "share.h"

static const char made[] = "# Completion of ptxgen for %s, made from its table of options.\n";

static void put_word(void *user, const char *word, int length)
{
    int *n = user;
    printf("%s%.*s", (*n)++ == 0 ? "" : " ", length, word);
}

static int is_of(const cli_option_row *row, int command)
{
    return (row->commands & 1u << command) != 0;
}

/* For text between single quotes: zsh and bash write a quote as '\''. `special` get a backslash. */
static void put_quoted(const char *s, const char *special)
{
    for (; *s != '\0'; s++) {
        if (*s == '\'') {
            (void)fputs("'\\''", stdout);
        } else {
            if (strchr(special, *s) != NULL) {
                putchar('\\');
            }
            putchar(*s);
        }
    }
}

static void put_commands(void)
{
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        printf("%s%s", i == 0 ? "" : " ", cli_commands[i].name);
    }
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_options(int command)
{
    printf("    %s)\n        options='", cli_commands[command].name);
    for (int i = 0; i < CLI_OPTION_COUNT; i++) {
        const cli_option_row *row = &cli_options_table[i];
        if (is_of(row, command)) {
            printf("%s%s ", row->text, option_is_long(row) && option_takes_value(row) ? "=" : "");
        }
    }
    printf("--help'\n        valued=' ");
    for (int i = 0; i < CLI_OPTION_COUNT; i++) {
        if (is_of(&cli_options_table[i], command) && option_takes_value(&cli_options_table[i])) {
            printf("%s ", cli_options_table[i].text);
        }
    }
    printf("'\n        operands='");
    int n = 0;
    if (command == CLI_HELP) {
        put_commands();
    } else if (command_takes_kernel(command)) {
        for_each_kernel(put_word, &n);
    }
    printf("'\n        ;;\n");
}

static void bash_values(const cli_option_row *row)
{
    int n = 0;
    printf("    ");
    for (int c = 0; c < CLI_COMMAND_COUNT; c++) {
        if (is_of(row, c)) {
            printf("%s'%s %s'", n++ == 0 ? "" : " | ", cli_commands[c].name, row->text);
        }
    }
    n = 0;
    printf(") words='");
    for_each_value(row, put_word, &n);
    printf("' ;;\n");
}

void print_bash(void)
{
    printf(made, "bash");
    printf(
        "_ptxgen()\n{\n"
        "    local command=${COMP_WORDS[1]} cur=${COMP_WORDS[COMP_CWORD]} option= before= words=\n"
        "    local prev=${COMP_WORDS[COMP_CWORD - 1]} options= valued=' ' operands=\n"
        "    COMPREPLY=()\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        COMPREPLY=($(compgen -W '");
    put_commands();
    printf(" --version --help' -- \"$cur\"))\n        return\n    fi\n    case $command in\n");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        bash_options(i);
    }
    printf(
        "    *) return ;;\n    esac\n"
        "    # bash hands over `--emit=ptx` as three words, unless `=` does not break words.\n"
        "    case $cur in\n"
        "    =) option=$prev cur= ;;\n"
        "    --*=*) option=${cur%%%%=*} before=$option= cur=${cur#*=} ;;\n"
        "    *)\n        if [ \"$prev\" = = ]; then\n"
        "            option=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "        elif [[ $valued == *\" $prev \"* ]]; then\n            option=$prev\n        fi\n"
        "        ;;\n    esac\n"
        "    case \"$command $option\" in\n");
    for (int i = 0; i < CLI_OPTION_COUNT; i++) {
        const cli_option_row *row = &cli_options_table[i];
        if (row->kind == CLI_TARGET || row->kind == CLI_PASS || row->kind == CLI_ONE ||
            row->kind == CLI_SOME || row->kind == CLI_MAYBE) {
            bash_values(row);
        }
    }
    printf("    esac\n"
           "    if [ -n \"$option\" ]; then\n"
           "        case $cur in\n        *,*) before=$before${cur%%,*}, cur=${cur##*,} ;;\n"
           "        esac\n"
           "        [ -z \"$words\" ] || COMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- "
           "\"$cur\"))\n"
           "    elif [[ $cur == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
           "        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n"
           "    else\n"
           "        COMPREPLY=($(compgen -W \"$operands\" -- \"$cur\"))\n"
           "    fi\n"
           "} 2>/dev/null\n"
           "# Where nothing is offered, bash offers files.\n"
           "complete -o default -F _ptxgen ptxgen\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void zsh_option(const cli_option_row *row)
{
    int n = 0;
    int may_repeat = row->kind == CLI_PAIR || row->kind == CLI_MANY;
    printf("            '%s%s%s[", may_repeat ? "*" : "", row->text,
           row->kind == CLI_FLAG    ? ""
           : row->kind == CLI_MAYBE ? "=-"
           : option_is_long(row)    ? "="
                                    : "+");
    put_quoted(row->doc, "[]\\");
    printf("]");
    if (row->kind != CLI_FLAG) {
        printf("%s", row->kind == CLI_MAYBE ? "::" : ":");
        put_quoted(row->takes, ":[]\\");
        printf(":%s",
               row->kind == CLI_FILE || row->kind == CLI_PAIR || row->kind == CLI_MANY ? "_files"
               : row->kind == CLI_TEXT || row->kind == CLI_NUMBER || row->kind == CLI_DIMS ? " "
                                                                                           : "");
        if (row->kind == CLI_SOME) {
            printf("{_values -s , what ");
            for_each_value(row, put_word, &n);
            printf("}");
        } else if (row->kind == CLI_TARGET || row->kind == CLI_PASS || row->kind == CLI_ONE ||
                   row->kind == CLI_MAYBE) {
            printf("(");
            for_each_value(row, put_word, &n);
            printf(")");
        }
    }
    printf("' \\\n");
}

void print_zsh(void)
{
    printf("#compdef ptxgen\n");
    printf(made, "zsh");
    printf("_ptxgen() {\n    local -a commands\n    commands=(\n");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        printf("        '%s:", cli_commands[i].name);
        put_quoted(cli_commands[i].doc, ":\\");
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "        _arguments '--version[the version]' '--help[the commands]'\n"
           "        return\n    fi\n    local command=$words[2]\n"
           "    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (int c = 0; c < CLI_COMMAND_COUNT; c++) {
        int n = 0;
        printf("    %s)\n        _arguments \\\n", cli_commands[c].name);
        for (int i = 0; i < CLI_OPTION_COUNT; i++) {
            if (is_of(&cli_options_table[i], c)) {
                zsh_option(&cli_options_table[i]);
            }
        }
        printf("            '1:");
        put_quoted(cli_commands[c].operands, ":\\");
        printf(":");
        if (c == CLI_HELP) {
            printf("(");
            put_commands();
            printf(")'\n");
        } else if (command_takes_kernel(c)) {
            printf("{_alternative \"kernels:kernel:(");
            for_each_kernel(put_word, &n);
            printf(")\"%s}'\n", command_takes_file(c) ? " \"files:file:_files\"" : "");
        } else {
            printf("%s'\n", command_takes_file(c) ? "_files" : " ");
        }
        printf("        ;;\n");
    }
    printf("    esac\n}\n_ptxgen \"$@\"\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_quoted(const char *s)
{
    putchar('\'');
    for (; *s != '\0'; s++) {
        if (*s == '\'' || *s == '\\') {
            putchar('\\');
        }
        putchar(*s);
    }
    putchar('\'');
}

static void fish_option(const cli_option_row *row)
{
    int n = 0;
    printf("complete -c ptxgen -n '__fish_seen_subcommand_from");
    for (int c = 0; c < CLI_COMMAND_COUNT; c++) {
        if (is_of(row, c)) {
            printf(" %s", cli_commands[c].name);
        }
    }
    printf("' %s %s", option_is_long(row) ? "-l" : "-s", row->text + (option_is_long(row) ? 2 : 1));
    if (option_takes_value(row)) {
        printf(row->kind == CLI_FILE || row->kind == CLI_PAIR || row->kind == CLI_MANY ? " -rF"
                                                                                       : " -x");
    }
    if (row->kind == CLI_TARGET || row->kind == CLI_PASS || row->kind == CLI_ONE ||
        row->kind == CLI_SOME || row->kind == CLI_MAYBE) {
        printf(" -a '");
        for_each_value(row, put_word, &n);
        printf("'");
    }
    printf(" -d ");
    fish_quoted(row->doc);
    printf("\n");
}

void print_fish(void)
{
    int n = 0;
    printf(made, "fish");
    printf("complete -c ptxgen -f\n"
           "complete -c ptxgen -n __fish_use_subcommand -l version -d 'the version'\n"
           "complete -c ptxgen -l help -d 'what there is'\n");
    for (int c = 0; c < CLI_COMMAND_COUNT; c++) {
        printf("complete -c ptxgen -n __fish_use_subcommand -a %s -d ", cli_commands[c].name);
        fish_quoted(cli_commands[c].doc);
        printf("\n");
    }
    for (int c = 0; c < CLI_COMMAND_COUNT; c++) {
        if (command_takes_file(c)) {
            printf("complete -c ptxgen -n '__fish_seen_subcommand_from %s' -F\n",
                   cli_commands[c].name);
        }
        if (command_takes_kernel(c)) {
            printf("complete -c ptxgen -n '__fish_seen_subcommand_from %s' -a '",
                   cli_commands[c].name);
            n = 0;
            for_each_kernel(put_word, &n);
            printf("' -d kernel\n");
        }
    }
    printf("complete -c ptxgen -n '__fish_seen_subcommand_from help' -a '");
    put_commands();
    printf("'\n");
    for (int i = 0; i < CLI_OPTION_COUNT; i++) {
        fish_option(&cli_options_table[i]);
    }
}
