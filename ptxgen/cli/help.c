/* `ptxgen help`, from the same table that drives the parser. */
#include <string.h>

#include "cli.h"

enum {
#define CMD(id, ...) C_##id = 1 << CLI_##id,
#include "commands.def"
    C_MAKES = C_COMPILE | C_KERNEL | C_OPT
};

static const struct {
    const char *text, *kind, *takes;
    unsigned commands;
    const char *doc;
} options[CLI_OPTION_COUNT] = {
#define CMD(...)
#define OPT(id, text, kind, takes, commands, doc) {text, #kind, takes, commands, doc},
#include "commands.def"
};

static const struct {
    const char *name, *operands, *doc;
} commands[CLI_COMMAND_COUNT] = {
#define CMD(id, name, operands, least, most, doc) {name, operands, doc},
#include "commands.def"
};

static const char exec_forms[] =
    "\nForms of --arg, one for each kernel parameter in order:\n"
    "  u32:7 s32:-1 u64:9 s64:-9 u16: s16: u8: s8: f16:1.5 f32:1.5 f64:2.0 null   value\n"
    "  bytes:FILE                      by-value struct, raw bytes\n"
    "  in:FILE.npy[:DTYPE]             pointer to a copy of the array\n"
    "  out:FILE.npy:DTYPE:DIMxDIM      pointer to a poisoned array, written after the run\n"
    "  inout:IN.npy:OUT.npy[:DTYPE]    both\n"
    "  zero:BYTES                      pointer to zeroed memory\n"
    "  @N[+BYTES]                      pointer into the array of argument N (from 0)\n"
    "DTYPE: f16 bf16 f32 f64 e4m3 e5m2 s8 s16 s32 s64 u8 u16 u32 u64\n";

static const char exit_statuses[] =
    "\nExit status: 0 done; 1 the input is wrong or missing; 2 wrong usage; 3 a tool or device is\n"
    "missing or failed; 4 a check failed; 5 a defect of ptxgen.\n";

void cli_usage(FILE *to)
{
    (void)fputs("ptxgen turns tile-level kernels into PTX text, and runs PTX on the CPU.\n\n", to);
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        (void)fprintf(to, "  ptxgen %-8s %-22s %s\n", commands[i].name, commands[i].operands,
                      commands[i].doc);
    }
    (void)fputs("  ptxgen --version\n\n`ptxgen help COMMAND` lists a command's options.\n", to);
    (void)fputs(exit_statuses, to);
}

static void print_option(int i)
{
    char form[64];
    const char *takes = options[i].takes;
    bool is_long = options[i].text[1] == '-';
    bool is_maybe = strcmp(options[i].kind, "MAYBE") == 0;
    if (takes[0] == '\0') {
        (void)snprintf(form, sizeof form, "%s", options[i].text);
    } else if (is_maybe) {
        (void)snprintf(form, sizeof form, "%s[=%s]", options[i].text, takes);
    } else {
        (void)snprintf(form, sizeof form, "%s%s%s", options[i].text, is_long ? "=" : " ", takes);
    }
    if (strlen(form) > 28) {
        (void)printf("  %s\n  %-28s  %s\n", form, "", options[i].doc);
    } else {
        (void)printf("  %-28s  %s\n", form, options[i].doc);
    }
}

run_exit cli_help(cli *c)
{
    if (c->operand == NULL) {
        cli_usage(stdout);
        return RUN_OK;
    }
    int command = 0;
    while (command < CLI_COMMAND_COUNT && strcmp(c->operand, commands[command].name) != 0) {
        command++;
    }
    if (command == CLI_COMMAND_COUNT) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_COMMAND, NULL, c->operand);
    }
    (void)printf("ptxgen %s %s [OPTION]...\n\n%s\n\n", commands[command].name,
                 commands[command].operands, commands[command].doc);
    for (int i = 0; i < CLI_OPTION_COUNT; i++) {
        if ((options[i].commands & 1u << command) != 0) {
            print_option(i);
        }
    }
    if (command == CLI_EXEC) {
        (void)fputs(exec_forms, stdout);
    }
    (void)fputs(exit_statuses, stdout);
    return RUN_OK;
}
