/* Parsing of what ptxas writes; running it where it is. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tools/asm/ptxasm.h"

TestSuite(ptxasm, .timeout = 60);

Test(ptxasm, parses_figures_and_infos)
{
    ptxasm_result r = {0};
    cr_assert(
        ptxasm_parse("ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored.\n"
                     "ptxas info    : 0 bytes gmem\n"
                     "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
                     "ptxas info    : Function properties for k\n"
                     "    16 bytes stack frame, 244 bytes spill stores, 248 bytes spill loads\n"
                     "ptxas info    : Used 168 registers, used 2 barriers, 16 bytes cumulative "
                     "stack size, 1024 bytes smem\n"
                     "ptxas info    : Compile time = 12.784 ms\n"
                     "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
                     "ptxas info    : Function properties for other\n"
                     "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                     "ptxas info    : Used 8 registers, used 0 barriers\n",
                     &r));
    cr_assert_eq(r.n_messages, 1);
    cr_assert_str_eq(r.messages[0].code, "C7508");
    cr_assert_str_eq(r.messages[0].text, "Potential Performance Loss: 'setmaxnreg' ignored.");
    cr_assert_eq(r.n_entries, 2);
    const ptxasm_entry *e = &r.entries[0];
    cr_assert_str_eq(e->name, "k");
    cr_assert(e->is_entry);
    cr_assert_eq(e->registers, 168);
    cr_assert_eq(e->barriers, 2);
    cr_assert_eq(e->stack, 16);
    cr_assert_eq(e->spill_stores, 244);
    cr_assert_eq(e->spill_loads, 248);
    cr_assert_eq(e->smem, 1024);
    cr_assert(e->compile_ms > 12.7 && e->compile_ms < 12.8);
    cr_assert_eq(r.entries[1].registers, 8);
    ptxasm_result_free(&r);
}

Test(ptxasm, parses_errors_with_lines)
{
    ptxasm_result r = {0};
    cr_assert(ptxasm_parse(
        "ptxas a, line 3; b.ptx, line 15; error   : Argument 1: value '264' out of range\n"
        "ptxas x.ptx, line 9; fatal   : Parsing error near 'tok': syntax error\r\n"
        "ptxas x.ptx, line 4; warning : something, line 8; warning\n"
        "ptxas error   : no line\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
        "something else\nptxas",
        &r));
    cr_assert_eq(r.n_messages, 4);
    cr_assert_eq(r.messages[0].line, 15);
    cr_assert_eq(r.messages[0].severity, PTXASM_ERROR);
    cr_assert_eq(r.messages[1].severity, PTXASM_FATAL);
    cr_assert_str_eq(r.messages[1].text, "Parsing error near 'tok': syntax error");
    cr_assert_eq(r.messages[2].line, 4);
    cr_assert_eq(r.messages[3].line, 0);
    ptxasm_result_free(&r);
}

Test(ptxasm, garbage_is_harmless)
{
    ptxasm_result r = {0};
    cr_assert(ptxasm_parse("", &r) &&
              ptxasm_parse("\n\n ptxas \nptxas , line ; error\nptxas info :\n", &r));
    cr_assert(ptxasm_parse("    1 bytes stack frame\nptxas info    : Used 4 registers\n", &r));
    cr_assert_eq(r.n_entries, 0);
    ptxasm_result_free(&r);
    ptxasm_result_free(NULL);
}

Test(ptxasm, lines_map_back)
{
    const uint32_t map[] = {0, 0, 5, 0, 7};
    cr_assert_eq(ptxasm_source_line(map, 5, 3), 5);
    cr_assert_eq(ptxasm_source_line(map, 5, 4), 5);
    cr_assert_eq(ptxasm_source_line(map, 5, 99), 7);
    cr_assert_eq(ptxasm_source_line(map, 5, 2), 0);
    cr_assert_eq(ptxasm_source_line(map, 5, 0), 0);
}

Test(ptxasm, missing_tool_is_a_status)
{
    ptxasm_options opt = ptxasm_options_default("sm_90a");
    ptxasm_result r;
    opt.path = "/nowhere/ptxas";
    cr_assert_eq(ptxasm_run(&opt, "", 0, &r), PTXASM_NO_TOOL);
    ptxasm_result_free(&r);
    cr_assert_null(ptxasm_find("/nowhere/ptxas"));
    opt.path = "/bin/false"; /* fails without a word */
    cr_assert_eq(ptxasm_run(&opt, "", 0, &r), PTXASM_CRASHED);
    ptxasm_result_free(&r);
}

Test(ptxasm, slow_tool_is_ended)
{
    const char *const extra[] = {"-c"};
    ptxasm_options opt = ptxasm_options_default("sm_90a");
    ptxasm_result r;
    opt.path = "/usr/bin/yes"; /* writes for ever */
    opt.extra = extra;
    opt.timeout_ms = 20;
    ptxasm_status s = ptxasm_run(&opt, "", 0, &r);
    cr_assert(s == PTXASM_TIMEOUT || s == PTXASM_CRASHED || s == PTXASM_NO_TOOL, "%s",
              ptxasm_status_text(s));
    ptxasm_result_free(&r);
}

Test(ptxasm, assembles)
{
    static const char good[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
    static const char bad[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\nfrob;\nret;\n}\n";
    char *tool = ptxasm_find(getenv("PTXGEN_PTXAS"));
    if (tool == NULL) {
        cr_skip_test("no ptxas");
    }
    ptxasm_options opt = ptxasm_options_default("sm_90a");
    ptxasm_result r;
    opt.path = tool;
    opt.want_cubin = true;
    opt.opt_level = 3;
    cr_assert_eq(ptxasm_run(&opt, good, sizeof good - 1, &r), PTXASM_OK);
    cr_assert(r.cubin_size > 100 && memcmp(r.cubin, "\177ELF", 4) == 0);
    cr_assert_eq(r.n_entries, 1);
    ptxasm_result_free(&r);
    cr_assert_eq(ptxasm_run(&opt, bad, sizeof bad - 1, &r), PTXASM_REJECTED);
    cr_assert_eq(r.messages[0].line, 6);
    ptxasm_result_free(&r);
    char *version = ptxasm_version(tool);
    cr_assert_not_null(version);
    free(version);
    free(tool);
}
