#include "table.h"

enum {
#define CMD(id, ...) C_##id = 1 << CLI_##id,
#include "commands.def"
    C_MAKES = C_COMPILE | C_KERNEL | C_OPT
};

const cli_command_row cli_commands[CLI_COMMAND_COUNT] = {
#define CMD(id, name, operands, least, most, doc) {name, operands, least, most, doc},
#include "commands.def"
};

const cli_option_row cli_options_table[CLI_OPTION_COUNT] = {
#define CMD(...)
#define OPT(id, text, kind, takes, commands, doc) {text, takes, CLI_##kind, commands, doc},
#include "commands.def"
};

bool cli_takes(int command, cli_kind kind)
{
    for (int i = 0; i < CLI_OPTION_COUNT; i++) {
        if (cli_options_table[i].kind == kind &&
            (cli_options_table[i].commands & 1u << command) != 0) {
            return true;
        }
    }
    return false;
}

const char cli_exec_forms[] =
    "one for each kernel parameter in order:\n"
    "  u32:7 s32:-1 u64:9 s64:-9 u16: s16: u8: s8: f16:1.5 f32:1.5 f64:2.0 null   value\n"
    "  bytes:FILE                      by-value struct, raw bytes\n"
    "  in:FILE.npy[:DTYPE]             pointer to a copy of the array\n"
    "  out:FILE.npy:DTYPE:DIMxDIM      pointer to a poisoned array, written after the run\n"
    "  inout:IN.npy:OUT.npy[:DTYPE]    both\n"
    "  zero:BYTES                      pointer to zeroed memory\n"
    "  @N[+BYTES]                      pointer into the array of argument N (from 0)\n"
    "  "
    "tmap:ARRAY:box=AxB[:swizzle=none|32|64|128][:dtype=T][:oob=zero|nan][:interleave=none|16|32]\n"
    "       [:estride=AxB][:dims=AxB][:strides=S]   tensor map of an array: @N[+BYTES], or as "
    "in:,\n"
    "                                  out:, inout: (outermost first; strides in bytes, without "
    "the last)\n"
    "  tmap:ARRAY:im2col=PIXELSxCHANNELS[:lower=DxHxW][:upper=DxHxW]   the same of pixels; options "
    "as above\n"
    "DTYPE: f16 bf16 f32 f64 e4m3 e5m2 s8 s16 s32 s64 u8 u16 u32 u64\n";

const char cli_exit_statuses[] =
    "0 done; 1 the input is wrong or missing; 2 wrong usage; 3 a tool or device is\n"
    "missing or failed; 4 a check failed; 5 a defect of ptxgen.\n";
