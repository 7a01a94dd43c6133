/* test_memory.c: loads, stores and atomics of every width, in every space. */
#include <criterion/criterion.h>

#include "tests/exec/harness.h"

#define CHECK(rows) exec_check_rows(rows, sizeof(rows) / sizeof(rows)[0])
#define SHARED      "{ .shared .align 16 .b8 s[64]; "
#define LOCAL       "{ .local .align 16 .b8 s[64]; "

Test(exec_memory, widths_and_signs)
{
    static const exec_row rows[] = {
        {'r', SHARED "st.shared.b32 [s+4], %r0; ld.shared.u8 %r3, [s+4]; }", 0x80FF, 0, 0, 0xFF},
        {'r', SHARED "st.shared.b32 [s+4], %r0; ld.shared.s8 %r3, [s+4]; }", 0x80FF, 0, 0,
         0xFFFFFFFF},
        {'r', SHARED "st.shared.b32 [s+4], %r0; ld.shared.s16 %r3, [s+4]; }", 0x80FF, 0, 0,
         0xFFFF80FF},
        {'h', SHARED "st.shared.b32 [s+4], %r0; ld.shared.s8 %h3, [s+4]; }", 0x80FF, 0, 0, 0xFFFF},
        {'d', SHARED "st.shared.b32 [s+4], %r0; ld.shared.s32 %rd3, [s+4]; }", 0x80000000, 0, 0,
         0xFFFFFFFF80000000u},
        {'r', SHARED "st.shared.b64 [s], %rd0; st.shared.u8 [s+1], %r1; ld.shared.u32 %r3, [s]; }",
         0x44332211, 0xAAEE, 0, 0x4433EE11},
        {'d', LOCAL "st.local.v2.b32 [s+8], {%r0, %r1}; ld.local.b64 %rd3, [s+8]; }", 5, 6, 0,
         0x600000005u},
        {'r',
         LOCAL "st.local.v4.b32 [s], {%r0, %r1, %r2, 9}; ld.local.v4.u32 {%r3, %r4, %r5, %r6}, "
               "[s]; add.u32 %r3, %r3, %r6; }",
         5, 6, 7, 14},
        {'r',
         LOCAL "mov.u64 %rd4, s; cvta.local.u64 %rd4, %rd4; st.u32 [%rd4+4], %r0; ld.local.u32 "
               "%r3, [s+4]; }",
         42, 0, 0, 42},
        {'r',
         SHARED
         "mov.u32 %r4, s; st.shared.u32 [%r4+8], %r0; ld.volatile.shared.u32 %r3, [%r4+8]; }",
         42, 0, 0, 42},
        {'h', SHARED "st.shared.b16 [s+2], %h0; ld.shared.u16 %h3, [s+2]; }", 0x1BEEF, 0, 0,
         0xBEEF},
    };
    CHECK(rows);
}

/* 128 bits: the lower half first, in registers and in memory. */
#define WIDE    "{ .reg .b128 %q<4>; .shared .align 16 .b8 s[64]; "
#define PACK(q) "mov.b128 " q ", {%rd0, %rd1}; "
Test(exec_memory, words_of_16_bytes)
{
    static const exec_row rows[] = {
        {'d', WIDE PACK("%q0") "mov.b128 {%rd3, %rd4}, %q0; }", 7, 9, 0, 7},
        {'d', WIDE PACK("%q0") "mov.b128 %q1, %q0; mov.b128 {%rd4, %rd3}, %q1; }", 7, 9, 0, 9},
        {'d', WIDE PACK("%q0") "st.shared.b128 [s+16], %q0; ld.shared.b64 %rd3, [s+24]; }", 7, 9, 0,
         9},
        {'d',
         WIDE "st.shared.v2.b64 [s], {%rd0, %rd1}; ld.shared.b128 %q2, [s]; mov.b128 {%rd3, %rd4}, "
              "%q2; sub.u64 %rd3, %rd3, %rd4; }",
         7, 9, 0, UINT64_MAX - 1},
        {'d',
         LOCAL "{ .reg .b128 %q; " PACK("%q") "mov.u64 %rd4, s; cvta.local.u64 %rd4, %rd4; st.b128 "
                                              "[%rd4], %q; ld.local.b64 %rd3, [s]; } }",
         7, 9, 0, 7},
        {'d', /* what was there, and what is there */
         WIDE "st.shared.v2.b64 [s], {%rd2, %rd0}; " PACK(
             "%q0") "atom.shared.exch.b128 %q1, [s], %q0; mov.b128 {%rd4, %rd5}, %q1; "
                    "ld.shared.v2.b64 {%rd3, %rd2}, [s]; mad.lo.u64 %rd3, %rd3, 10, %rd2; "
                    "mad.lo.u64 "
                    "%rd3, %rd3, 10, %rd4; mad.lo.u64 %rd3, %rd3, 10, %rd5; }",
         3, 4, 5, 3453},
        {'d', /* equal: exchanged */
         WIDE "st.shared.v2.b64 [s], {%rd0, %rd1}; " PACK(
             "%q0") "mov.b128 %q1, {%rd2, %rd2}; atom.shared.cas.b128 %q2, [s], %q0, %q1; "
                    "mov.b128 {%rd4, %rd5}, %q2; ld.shared.v2.b64 {%rd3, %rd2}, [s]; mad.lo.u64 "
                    "%rd3, %rd3, 10, %rd2; mad.lo.u64 %rd3, %rd3, 10, %rd4; mad.lo.u64 %rd3, %rd3, "
                    "10, %rd5; }",
         3, 4, 5, 5534},
        {'d', /* the upper halves differ: not exchanged */
         WIDE "st.shared.v2.b64 [s], {%rd0, %rd2}; " PACK(
             "%q0") "mov.b128 %q1, {%rd2, %rd2}; atom.shared.cas.b128 %q2, [s], %q0, %q1; "
                    "mov.b128 {%rd4, %rd5}, %q2; ld.shared.v2.b64 {%rd3, %rd2}, [s]; mad.lo.u64 "
                    "%rd3, %rd3, 10, %rd2; mad.lo.u64 %rd3, %rd3, 10, %rd4; mad.lo.u64 %rd3, %rd3, "
                    "10, %rd5; }",
         3, 4, 5, 3535},
    };
    CHECK(rows);
}

/* Every thread adds {1, 2, 3, 4} to four floats, and looks at what was there: the old values tell
 * the threads apart. Halves next to each other do not touch one another. */
static const char vectors[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
    ".reg .pred %p<2>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .f32 "
    "%f<16>;\n"
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
    "mov.f32 %f0, 0f00000000;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra $GO;\n"
    "st.global.v4.f32 [%rd1], {%f0, %f0, %f0, %f0};\nst.global.v4.f32 [%rd1+16], {%f0, %f0, %f0, "
    "%f0};\n"
    "$GO:\nbar.sync 0;\n"
    "atom.global.add.v4.f32 {%f4, %f5, %f6, %f7}, [%rd1], {0f3F800000, 0f40000000, 0f40400000, "
    "0f40800000};\n"
    "mov.b16 %h0, 0x3C00;\nmov.b16 %h1, 0xBC00;\n"
    "red.global.add.noftz.v2.f16 [%rd1+16], {%h0, %h1};\n"
    "mov.b32 %r2, 0x40003C00;\nred.global.max.noftz.v2.f16x2 [%rd1+24], {%r2, %r2};\n"
    "cvt.rzi.u32.f32 %r3, %f4;\ncvt.rzi.u32.f32 %r4, %f7;\nmad.lo.u32 %r3, %r4, 1000, %r3;\n"
    "cvt.rzi.u32.f32 %r5, %f4;\nmul.wide.u32 %rd2, %r5, 4;\nadd.u64 %rd2, %rd2, %rd1;\n"
    "st.mmio.relaxed.sys.global.u32 [%rd2+32], %r3;\nld.mmio.relaxed.sys.global.u32 %r6, "
    "[%rd2+32];\nret;\n}\n";

Test(exec_memory, vector_atomics)
{
    enum { THREADS = 64 };
    exec_job job = {.ptx = vectors, .block = THREADS, .out_size = 32 + THREADS * 4};
    exec_job_run(&job);
    cr_assert_eq(job.status, PTXEXEC_OK);
    float sums[4];
    uint32_t halves[4];
    memcpy(sums, job.out, sizeof sums);
    memcpy(halves, job.out + 16, sizeof halves);
    for (uint32_t k = 0; k < 4; k++) {
        cr_expect_eq(sums[k], (float)(THREADS * (k + 1)));
    }
    cr_expect_eq(halves[0], 0xD4005400); /* 64 and -64 */
    cr_expect_eq(halves[1], 0);
    cr_expect_eq(halves[2], 0x40003C00);
    cr_expect_eq(halves[3], 0x40003C00);
    for (uint32_t k = 0; k < THREADS; k++) { /* who found k in the first found 4 k in the last */
        uint32_t seen;
        memcpy(&seen, job.out + 32 + k * 4, 4);
        cr_expect_eq(seen, 4 * k * 1000 + k);
    }
    exec_job_end(&job);
}

#define ATOM(op, type, extra)                                                        \
    SHARED "st.shared.b32 [s], %r0; atom.shared." op "." type " %r4, [s], %r1" extra \
           "; ld.shared.b32 %r3, [s]; }"
#define ATOM_OLD(op, type) \
    SHARED "st.shared.b32 [s], %r0; atom.shared." op "." type " %r3, [s], %r1; }"
#define ATOM64(op, type)                                       \
    SHARED "st.shared.b64 [s], %rd0; atom.shared." op "." type \
           " %rd4, [s], %rd1; ld.shared.b64 %rd3, [s]; }"

Test(exec_memory, atomics)
{
    static const exec_row rows[] = {
        {'r', ATOM("add", "u32", ""), 0xFFFFFFFF, 2, 0, 1},
        {'r', ATOM_OLD("add", "u32"), 7, 2, 0, 7},
        {'r', ATOM("and", "b32", ""), 0xFF, 0x0F, 0, 0x0F},
        {'r', ATOM("or", "b32", ""), 0xF0, 0x0F, 0, 0xFF},
        {'r', ATOM("xor", "b32", ""), 0xFF, 0x0F, 0, 0xF0},
        {'r', ATOM("exch", "b32", ""), 1, 2, 0, 2},
        {'r', ATOM("inc", "u32", ""), 5, 5, 0, 0},
        {'r', ATOM("inc", "u32", ""), 4, 5, 0, 5},
        {'r', ATOM("dec", "u32", ""), 0, 5, 0, 5},
        {'r', ATOM("dec", "u32", ""), 9, 5, 0, 5},
        {'r', ATOM("dec", "u32", ""), 3, 5, 0, 2},
        {'r', ATOM("min", "s32", ""), 0xFFFFFFFF, 1, 0, 0xFFFFFFFF},
        {'r', ATOM("min", "u32", ""), 0xFFFFFFFF, 1, 0, 1},
        {'r', ATOM("max", "s32", ""), 0xFFFFFFFF, 1, 0, 1},
        {'r', ATOM("cas", "b32", ", %r2"), 5, 5, 9, 9},
        {'r', ATOM("cas", "b32", ", %r2"), 5, 6, 9, 5},
        {'f',
         SHARED
         "st.shared.b32 [s], %r0; atom.shared.add.f32 %f4, [s], %f1; ld.shared.f32 %f3, [s]; }",
         0x3F800000, 0x40000000, 0, 0x40400000},
        {'d', ATOM64("add", "u64"), UINT64_MAX, 2, 0, 1},
        {'d', ATOM64("max", "s64"), UINT64_MAX, 1, 0, 1},
        {'d', ATOM64("exch", "b64"), 1, 2, 0, 2},
        {'e',
         SHARED "st.shared.b64 [s], %rd0; red.shared.add.f64 [s], %fd1; ld.shared.f64 %fd3, [s]; }",
         0x3FF0000000000000u, 0x3FF0000000000000u, 0, 0x4000000000000000u},
        {'r',
         SHARED
         "st.shared.b32 [s], %r0; red.shared.add.noftz.f16x2 [s], %r1; ld.shared.b32 %r3, [s]; }",
         0x3C003C00, 0x3C000000, 0, 0x40003C00},
        {'h',
         SHARED "st.shared.b16 [s], %h0; atom.shared.cas.b16 %h4, [s], %h1, %h2; ld.shared.b16 "
                "%h3, [s]; }",
         5, 5, 6, 6},
    };
    CHECK(rows);
}

Test(exec_memory, variables_keep_their_values_between_launches)
{
    static const char text[] =
        EXEC_HEAD("sm_90") ".visible .global .u32 n = 5;\n.const .u32 table[3] = {10, 20, 30};\n"
                           ".visible .entry k()\n{\n.reg .b32 %r<4>;\nld.global.u32 %r1, "
                           "[n];\nld.const.u32 %r2, [table+8];\n"
                           "add.u32 %r1, %r1, %r2;\nst.global.u32 [n], %r1;\nret;\n}\n";
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    uint64_t address = 0;
    uint64_t size = 0;
    uint32_t value = 0;
    cr_assert_eq(ptxexec_module_load(NULL, text, strlen(text), &m), PTXEXEC_OK);
    cr_assert_eq(ptxexec_device_create(NULL, &d), PTXEXEC_OK);
    for (uint32_t k = 0; k < 2; k++) {
        ptxexec_report *r = NULL;
        ptxexec_launch_options o = {.struct_size = sizeof o, .grid = {1, 1, 1}, .block = {1, 1, 1}};
        cr_assert_eq(ptxexec_launch(d, m, &o, &r), PTXEXEC_OK);
        ptxexec_report_destroy(r);
    }
    cr_assert_eq(ptxexec_device_symbol(d, m, "n", &address, &size), PTXEXEC_OK);
    cr_expect_eq(size, 4);
    cr_assert_eq(ptxexec_device_read(d, address, &value, 4, NULL, NULL), PTXEXEC_OK);
    cr_expect_eq(value, 65);
    cr_expect_eq(ptxexec_device_symbol(d, m, "table", &address, &size), PTXEXEC_E_MISUSE);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
}

Test(exec_memory, device_ranges)
{
    ptxexec_device *d = NULL;
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t n = 0;
    uint64_t first = 0;
    uint8_t bytes[100] = {1, 2, 3};
    cr_assert_eq(ptxexec_device_create(NULL, &d), PTXEXEC_OK);
    cr_assert_eq(ptxexec_device_alloc(d, 100, PTXEXEC_FILL_POISON, "a", &a), PTXEXEC_OK);
    cr_assert_eq(ptxexec_device_alloc(d, 0, PTXEXEC_FILL_ZERO, NULL, &b), PTXEXEC_OK);
    cr_expect_eq(a % 256, 0);
    cr_expect_eq(b % 256, 0);
    cr_expect_geq(b - a, 100 + 4096);
    cr_expect_eq(ptxexec_device_write(d, a + 10, bytes, 91), PTXEXEC_E_MISUSE);
    cr_expect_eq(ptxexec_device_write(d, a, bytes, 30), PTXEXEC_OK);
    cr_expect_eq(ptxexec_device_read(d, a, bytes, 100, &n, &first), PTXEXEC_OK);
    cr_expect_eq(n, 70);
    cr_expect_eq(first, 30);
    cr_expect_eq(ptxexec_device_read(d, b, bytes, 0, &n, &first), PTXEXEC_OK);
    cr_expect_eq(ptxexec_device_read(d, 12345, bytes, 1, NULL, NULL), PTXEXEC_E_MISUSE);
    ptxexec_device_destroy(d);
}
