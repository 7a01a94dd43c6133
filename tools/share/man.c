/* Manual pages, in the man macros of groff and mandoc. No date: the same sources give the same
 * bytes. */
#include <ctype.h>
#include <ptxgen.h>
#include <stdio.h>
#include <string.h>

#include "share.h"

/* Text that roff takes for what it is. Minus signs of options must stay minus signs. */
static void put_char(char c)
{
    switch (c) {
    case '\\': (void)fputs("\\e", stdout); break;
    case '-': (void)fputs("\\-", stdout); break;
    case '`':
    case '\'': (void)fputs(c == '`' ? "\\(ga" : "\\(aq", stdout); break;
    case '"': (void)fputs("\\(dq", stdout); break;
    default: putchar(c);
    }
}

static void put(const char *s)
{
    for (int i = 0; s[i] != '\0'; i++) {
        if (i == 0 && s[i] == '.') {
            (void)fputs("\\&", stdout); /* a dot at the start of a line would be a request */
        }
        put_char(s[i]);
    }
}

static void put_in(const char *font, const char *s)
{
    printf("\\f%s", font);
    put(s);
    (void)fputs("\\fR", stdout);
}

static void head(const char *name, const char *doc)
{
    (void)fputs(".TH ", stdout);
    for (const char *s = name; *s != '\0'; s++) {
        put_char((char)toupper((unsigned char)*s));
    }
    printf(" 1 \"\" \"ptxgen %s\" \"\"\n.nh\n.SH NAME\n", ptxgen_version_text());
    put(name);
    (void)fputs(" \\- ", stdout);
    put(doc);
    (void)fputs("\n.SH SYNOPSIS\n", stdout);
}

/* Lines as they stand; the first line is left out where it is a title of its own. */
static void put_lines(const char *text)
{
    (void)fputs(".nf\n", stdout);
    while (*text != '\0') {
        int n = (int)strcspn(text, "\n");
        for (int i = 0; i < n; i++) {
            put_char(text[i]);
        }
        putchar('\n');
        text += n + (text[n] == '\n');
    }
    (void)fputs(".fi\n", stdout);
}

static void put_statuses(void)
{
    (void)fputs(".SH EXIT STATUS\n", stdout);
    put_lines(cli_exit_statuses);
}

static void put_option(const cli_option_row *row)
{
    (void)fputs(".TP\n", stdout);
    put_in("B", row->text);
    if (row->kind == CLI_MAYBE) {
        putchar('[');
    }
    if (row->takes[0] != '\0') {
        (void)fputs(option_is_long(row) ? "=" : " ", stdout);
        put_in("I", row->takes);
    }
    (void)fputs(row->kind == CLI_MAYBE ? "]\n" : "\n", stdout);
    put(row->doc);
    putchar('\n');
}

static void put_passes(void)
{
    const char *name;
    (void)fputs(".SH PASSES\n", stdout);
    for (size_t i = 0; (name = ptxgen_pass_name(i)) != NULL; i++) {
        (void)fputs(".TP\n", stdout);
        put_in("B", name);
        putchar('\n');
        put(ptxgen_pass_doc(i));
        putchar('\n');
    }
    const char *before = "";
    for (size_t i = 0; (name = ptxgen_target_name(i)) != NULL; i++) {
        const char *passes = ptxgen_default_passes((ptxgen_str){name, strlen(name)});
        if (strcmp(passes, before) != 0) {
            (void)fputs(".PP\nWithout ", stdout);
            put_in("B", "--passes");
            printf(", from %s on: %s.\n", name, passes);
        }
        before = passes;
    }
}

static void put_targets(void)
{
    const char *name;
    (void)fputs(".SH TARGETS\n", stdout);
    for (size_t i = 0; (name = ptxgen_target_name(i)) != NULL; i++) {
        put(name);
        putchar('\n');
    }
}

void print_man_command(int command)
{
    const cli_command_row *c = &cli_commands[command];
    char name[64];
    (void)snprintf(name, sizeof name, "ptxgen-%s", c->name);
    head(name, c->doc);
    (void)fputs(".B ptxgen ", stdout);
    put(c->name);
    printf("\n.RI ");
    put(c->operands);
    printf("\n[\\fIOPTION\\fR]...\n.SH DESCRIPTION\n");
    put(c->doc);
    (void)fputs("\n.SH OPTIONS\n", stdout);
    for (int i = 0; i < CLI_OPTION_COUNT; i++) {
        if ((cli_options_table[i].commands & 1u << command) != 0) {
            put_option(&cli_options_table[i]);
        }
    }
    (void)fputs(".TP\n\\fB\\-\\-help\\fR\nDescribe the command.\n", stdout);
    if (cli_takes(command, CLI_TARGET)) {
        put_targets();
    }
    if (cli_takes(command, CLI_PASS)) {
        put_passes();
    }
    if (command == CLI_EXEC) {
        (void)fputs(".SH PARAMETERS\nForms of \\fB\\-\\-arg\\fR,\n", stdout);
        put_lines(cli_exec_forms);
    }
    put_statuses();
    (void)fputs(".SH SEE ALSO\n.BR ptxgen (1)\n", stdout);
}

void print_man(void)
{
    head("ptxgen", "tile-level GPU kernels to PTX text, and PTX on the CPU");
    (void)fputs(
        ".B ptxgen\n.I COMMAND\n[\\fIOPERAND\\fR] [\\fIOPTION\\fR]...\n.br\n"
        ".B ptxgen \\-\\-version\n.SH DESCRIPTION\n"
        "ptxgen compiles kernels written on tiles to PTX, without nvcc or LLVM, and runs PTX on\n"
        "the CPU, where it finds races, deadlocks, reads outside of arrays and of values never\n"
        "written.\n.PP\nAn operand with a slash or a dot in it is a file, a minus sign is "
        "standard input,\nanything else a kernel of the library. Without \\fB\\-o\\fR, results go "
        "to standard\noutput; explanations, times and messages go to standard error.\n"
        ".SH COMMANDS\n",
        stdout);
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        (void)fputs(".TP\n", stdout);
        put_in("B", cli_commands[i].name);
        putchar(' ');
        put_in("I", cli_commands[i].operands);
        putchar('\n');
        put(cli_commands[i].doc);
        putchar('\n');
    }
    put_statuses();
    (void)fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nNo colour on a terminal, if it is not empty.\n"
                ".TP\n.B TERM\nNo colour, if it is dumb.\n.TP\n.B PATH\nWhere ptxas is looked for, "
                "unless \\fB\\-\\-ptxas\\fR names it.\n.SH SEE ALSO\n",
                stdout);
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        printf(".BR ptxgen\\-%s (1)%s\n", cli_commands[i].name,
               i + 1 < CLI_COMMAND_COUNT ? "," : "");
    }
}
