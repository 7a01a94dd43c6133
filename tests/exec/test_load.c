/* test_load.c: loading, refusing, asking; memory that runs out. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/exec/harness.h"

static ptxexec_diag first_diag(const char *text, ptxexec_status expected)
{
    static char message[512];
    ptxexec_module *m = NULL;
    ptxexec_status status = ptxexec_module_load(NULL, text, strlen(text), &m);
    cr_assert_eq(status, expected, "status %d", (int)status);
    cr_assert(ptxexec_module_diag_count(m) > 0);
    ptxexec_diag d = ptxexec_module_diag(m, 0);
    (void)strncpy(message, d.message, sizeof message - 1);
    d.message = message;
    d.help = "";
    cr_expect_eq(ptxexec_module_entry_count(m), 0, "nothing can run");
    ptxexec_module_destroy(m);
    return d;
}

/* An instruction or a form that the executor lacks is named with its place before anything runs. */
Test(exec_load, unsupported_is_named)
{
    ptxexec_diag d = first_diag(EXEC_KERNEL("add.u32 %r2, %r1, 1;\n  tex.2d.v4.f32.s32 {%f1, %f2, "
                                            "%f3, %f4}, [%rd1, {%r1, %r2}];\n"),
                                PTXEXEC_E_UNSUPPORTED);
    cr_expect_eq(d.line, 14);
    cr_expect_eq(d.column, 3);
    cr_expect(strstr(d.message, "tex.2d") != NULL, "%s", d.message);
    d = first_diag(EXEC_KERNEL("shfl.up.b32 %r2, %r1, 1, 0;\n"), PTXEXEC_E_UNSUPPORTED);
    cr_expect_eq(d.line, 13);
    d = first_diag(EXEC_KERNEL("add.weird.u32 %r2, %r1, 1;\n"), PTXEXEC_E_UNSUPPORTED);
    cr_expect(strstr(d.message, ".weird") != NULL, "%s", d.message);
    d = first_diag(EXEC_KERNEL("frobnicate.u32 %r2, %r1;\n"), PTXEXEC_E_UNSUPPORTED);
    cr_expect_eq(d.line, 13);
}

Test(exec_load, errors_have_a_place)
{
    ptxexec_diag d = first_diag(EXEC_KERNEL("add.u32 %r2, %r1 1;\n"), PTXEXEC_E_PARSE);
    cr_expect_eq(d.line, 13);
    d = first_diag("garbage\n", PTXEXEC_E_PARSE);
    cr_expect_eq(d.line, 1);
    d = first_diag(EXEC_KERNEL("add.u32 %r2, %rd1, 1;\n"), PTXEXEC_E_INVALID);
    cr_expect_eq(d.line, 13);
    d = first_diag(EXEC_KERNEL("cvt.s64.s32 %r2, %r1;\n"), PTXEXEC_E_INVALID);
    cr_expect(strstr(d.message, "narrower") != NULL, "%s", d.message);
    d = first_diag(EXEC_KERNEL("cvt.u32.u64 %r2, %r1;\n"), PTXEXEC_E_INVALID);
    cr_expect(strstr(d.message, "narrower") != NULL, "%s", d.message);
    d = first_diag(EXEC_KERNEL("mov.pred %p1, out;\n"), PTXEXEC_E_INVALID);
    cr_expect(strstr(d.message, "predicate") != NULL, "%s", d.message);
    d = first_diag(EXEC_KERNEL("cvt.u32.u32 %r2, %p1;\n"), PTXEXEC_E_INVALID);
    cr_expect(strstr(d.message, "narrower") != NULL, "%s", d.message);
}

static const char two_entries[] =
    EXEC_HEAD("sm_90a") ".shared .align 8 .b8 big[100];\n.extern .shared .align 1024 .b8 dyn[];\n"
                        ".visible .entry a(.param .u8 x, .param .u64 y, .param .align 64 .b8 "
                        "z[128], .param .f32 w)\n"
                        ".reqntid 64, 2, 1\n{\n.local .b8 l[24];\n.reg .b32 %r<2>;\nld.shared.u32 "
                        "%r1, [big];\nret;\n}\n"
                        ".visible .entry b()\n.maxntid 128\n{\nret;\n}\n";

Test(exec_load, entries_and_parameters)
{
    ptxexec_module *m = NULL;
    size_t index = 9;
    cr_assert_eq(ptxexec_module_load(NULL, two_entries, strlen(two_entries), &m), PTXEXEC_OK);
    cr_expect_str_eq(ptxexec_module_target(m), "sm_90a");
    cr_assert_eq(ptxexec_module_entry_count(m), 2);
    cr_expect_eq(ptxexec_module_find(m, NULL, &index), PTXEXEC_E_MISUSE);
    cr_expect_eq(ptxexec_module_find(m, "b", &index), PTXEXEC_OK);
    cr_expect_eq(index, 1);
    ptxexec_entry e;
    cr_assert_eq(ptxexec_module_entry(m, 0, &e), PTXEXEC_OK);
    cr_expect_str_eq(e.name, "a");
    cr_expect_eq(e.n_params, 4);
    cr_expect_eq(e.param_size, 196);
    cr_expect_eq(e.reqntid[0], 64);
    cr_expect_eq(e.reqntid[1], 2);
    cr_expect_eq(e.static_shared, 100);
    cr_expect_eq(e.local_size, 24);
    ptxexec_param p;
    cr_assert_eq(ptxexec_module_param(m, 0, 2, &p), PTXEXEC_OK);
    cr_expect_str_eq(p.name, "z");
    cr_expect_eq(p.offset, 64);
    cr_expect_eq(p.size, 128);
    cr_expect_eq(ptxexec_module_param(m, 0, 4, &p), PTXEXEC_E_MISUSE);
    cr_expect_eq(ptxexec_module_entry(m, 2, &e), PTXEXEC_E_MISUSE);
    cr_assert_eq(ptxexec_module_entry(m, 1, &e), PTXEXEC_OK);
    cr_expect_eq(e.static_shared, 0, "b does not name it");
    cr_expect_eq(e.maxntid[0], 128);
    ptxexec_module_destroy(m);
}

/* The place that `.loc` names holds until the next one of the function. */
Test(exec_load, source_lines)
{
    static const char text[] =
        EXEC_HEAD("sm_80") ".func later(.param .b32 x);\n"              /* 4 */
                           ".visible .entry a()\n{\n.reg .b32 %r<2>;\n" /* 7 */
                           "mov.u32 %r0, 1;\n.loc 1 10 3\n"             /* 9 */
                           "mov.u32 %r1, 2;\nmov.u32 %r1, 3;\n"         /* 11 */
                           ".loc\t2 20 0, function_name $n, inlined_at 1 11 5\n"
                           "mov.u32 %r1, 4;\n.loc 3 7 1\nret;\n}\n" /* 16 */
                           ".func later(.param .b32 x)\n{\nret;\n}\n"
                           ".visible .entry b()\n{\n.loc 1 99999999999 1\n.loc 1\nret;\n}\n"
                           ".file 1 \"a.cu\"\n.file 2 \"inc/b.cuh\", 1700000000, 35\n";
    static const struct {
        uint32_t at, line, column;
        const char *file;
    } want[] = {{1, 0, 0, ""},
                {7, 0, 0, ""},
                {8, 0, 0, ""},
                {9, 10, 3, "a.cu"},
                {11, 10, 3, "a.cu"},
                {12, 20, 0, "inc/b.cuh"},
                {13, 20, 0, "inc/b.cuh"},
                {15, 0, 0, ""},
                {19, 0, 0, ""},
                {25, 0, 0, ""},
                {UINT32_MAX, 0, 0, ""}};
    ptxexec_module *m = NULL;
    cr_assert_eq(ptxexec_module_load(NULL, text, strlen(text), &m), PTXEXEC_OK);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        ptxexec_source from = {.file = "?", .line = 9, .column = 9};
        const int is_known = ptxexec_module_source(m, want[i].at, &from);
        cr_expect_eq(is_known, want[i].line != 0, "line %u", want[i].at);
        cr_expect_str_eq(from.file, want[i].file, "line %u", want[i].at);
        cr_expect_eq(from.line, want[i].line, "line %u: %u", want[i].at, from.line);
        cr_expect_eq(from.column, want[i].column, "line %u: %u", want[i].at, from.column);
    }
    cr_expect_eq(ptxexec_module_source(m, 9, NULL), 0);
    cr_expect_eq(ptxexec_module_source(NULL, 9, &(ptxexec_source){0}), 0);
    ptxexec_module_destroy(m);
}

Test(exec_load, launches_that_do_not_fit)
{
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    uint8_t params[196] = {0};
    cr_assert_eq(ptxexec_module_load(NULL, two_entries, strlen(two_entries), &m), PTXEXEC_OK);
    cr_assert_eq(ptxexec_device_create(NULL, &d), PTXEXEC_OK);
    ptxexec_launch_options good = {.struct_size = sizeof good,
                                   .grid = {1, 1, 1},
                                   .block = {64, 2, 1},
                                   .params = params,
                                   .params_size = 196};
    ptxexec_launch_options bad[6];
    for (size_t k = 0; k < 6; k++) {
        bad[k] = good;
    }
    bad[0].block[0] = 32;
    bad[1].grid[1] = 0;
    bad[2].params_size = 195;
    bad[3].dynamic_shared = 228 * 1024;
    bad[4].cluster[0] = 2;
    bad[4].cluster[1] = bad[4].cluster[2] = 1;
    bad[5].block[1] = 64;
    for (size_t k = 0; k < 6; k++) {
        ptxexec_report *r = NULL;
        ptxexec_status status = ptxexec_launch(d, m, &bad[k], &r);
        cr_expect_eq(status, PTXEXEC_E_INVALID, "%zu", k);
        cr_expect_eq(ptxexec_report_diag_count(r), 1);
        ptxexec_report_destroy(r);
    }
    ptxexec_report *r = NULL;
    good.races = (ptxexec_races)3;
    cr_expect_eq(ptxexec_launch(d, m, &good, &r), PTXEXEC_E_MISUSE);
    cr_expect_null(r);
    good.races = PTXEXEC_RACES_ISA;
    cr_expect_eq(ptxexec_launch(d, m, &good, &r), PTXEXEC_OK);
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    ptxexec_module_destroy(NULL);
    ptxexec_device_destroy(NULL);
    ptxexec_report_destroy(NULL);
}

/* ---- memory runs out at the k-th request, for all k ------------------------------------------ */

typedef struct meter {
    uint64_t n, fail_at;
    int64_t bytes;
} meter;

static void *metered(void *user, void *block, size_t old_size, size_t new_size)
{
    meter *m = user;
    if (new_size == 0) {
        m->bytes -= block != NULL ? (int64_t)old_size : 0;
        free(block);
        return NULL;
    }
    if (++m->n == m->fail_at) {
        return NULL;
    }
    void *p = realloc(block, new_size);
    if (p != NULL) {
        m->bytes += (int64_t)new_size - (block != NULL ? (int64_t)old_size : 0);
    }
    return p;
}

static ptxexec_status whole_run(const ptxexec_allocator *alloc, ptxexec_races races)
{
    static const char text[] =
        EXEC_HEAD("sm_90") ".global .u32 g[4] = {1, 2, 3, 4};\n"
                           ".func (.param .b32 r) f(.param .b32 n)\n{ .reg .b32 x; .local .b8 "
                           "l[200]; ld.param.u32 x, [n]; st.param.b32 [r], x; ret; }\n"
                           ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<8>; .reg .b64 "
                           "%rd<8>;\n.shared .b32 s[64];\n"
                           "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
                           "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), "
                           "f, (a); ld.param.b32 %r3, [b]; }\n"
                           "mov.u32 %r4, s; mad.lo.u32 %r5, %r1, 4, %r4; mov.u64 %rd3, g;\n"
                           "cp.async.ca.shared.global [%r5], [%rd3], 4; cp.async.commit_group;\n"
                           "cp.async.wait_group 0; bar.sync 0; st.shared.b8 [%r5], %r1;\n"
                           "bar.warp.sync -1; membar.gl; red.global.add.u32 [%rd3+4], 1;\n"
                           "ld.acquire.gpu.global.u32 %r6, [%rd3+4]; mov.u32 %r7, %ctaid.x;\n"
                           "mad.lo.u32 %r7, %r7, 64, %r1;\n"
                           "mad.wide.u32 %rd2, %r7, 4, %rd1; st.global.u32 [%rd2], %r3; ret;\n}\n";
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    uint64_t out = 0;
    ptxexec_status status = ptxexec_module_load(alloc, text, strlen(text), &m);
    status = status != PTXEXEC_OK ? status : ptxexec_device_create(alloc, &d);
    status = status != PTXEXEC_OK ? status
                                  : ptxexec_device_alloc(d, 512, PTXEXEC_FILL_POISON, "out", &out);
    if (status == PTXEXEC_OK) {
        ptxexec_launch_options o = {.struct_size = sizeof o,
                                    .grid = {2, 1, 1},
                                    .block = {64, 1, 1},
                                    .params = &out,
                                    .params_size = 8,
                                    .races = races,
                                    .collect_stats = 1};
        status = ptxexec_launch(d, m, &o, &r);
    }
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    return status;
}

static void run_out(ptxexec_races races)
{
    meter counter = {.fail_at = 0};
    ptxexec_allocator alloc = {&counter, metered};
    cr_assert_eq(whole_run(&alloc, races), PTXEXEC_OK);
    cr_expect_eq(counter.bytes, 0);
    uint64_t n = counter.n;
    for (uint64_t k = 1; k <= n; k++) {
        counter = (meter){.fail_at = k};
        ptxexec_status status = whole_run(&alloc, races);
        cr_assert_eq(status, PTXEXEC_E_NOMEM, "request %u of %u: status %d", (unsigned)k,
                     (unsigned)n, (int)status);
        cr_assert_eq(counter.bytes, 0, "request %u: %d bytes left", (unsigned)k,
                     (int)counter.bytes);
    }
}

Test(exec_load, out_of_memory)
{
    run_out(PTXEXEC_RACES_OFF);
    run_out(PTXEXEC_RACES_PRACTICE);
    run_out(PTXEXEC_RACES_ISA);
}
