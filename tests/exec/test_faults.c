/* test_faults.c: each kind of fault as a bad program, and a good one beside it that stays silent.
 */
#include <criterion/criterion.h>

#include "tests/exec/harness.h"

static void expect_fault(const char *ptx, uint32_t block, ptxexec_fault_kind kind, uint32_t line)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        exec_job job = {
            .ptx = ptx, .block = block, .seed = seed, .max_steps = 20000, .out_size = 256};
        exec_job_run(&job);
        ptxexec_fault f = exec_job_fault(&job);
        cr_expect_eq(f.kind, kind, "%s: %s", ptxexec_fault_kind_text(f.kind), f.message);
        cr_expect(line == 0 || f.at.line == line, "line %u, expected %u: %s", f.at.line, line,
                  f.message);
        exec_job_end(&job);
    }
}

static void expect_clean(const char *ptx, uint32_t block)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        exec_job job = {
            .ptx = ptx, .block = block, .seed = seed, .max_steps = 20000, .out_size = 256};
        exec_job_run(&job);
        const char *text = ptxexec_report_fault_count(job.report) > 0
                               ? ptxexec_report_fault(job.report, 0).message
                               : "";
        cr_expect_eq(job.status, PTXEXEC_OK, "%s", text);
        exec_job_end(&job);
    }
}

/* The body begins on line 13. */
enum { BODY = 13 };

Test(exec_faults, bounds)
{
    expect_clean(EXEC_KERNEL("st.global.u32 [%rd1+252], %r1;\n"), 1);
    expect_fault(EXEC_KERNEL("st.global.u32 [%rd1+256], %r1;\n"), 1, PTXEXEC_F_OUT_OF_BOUNDS, BODY);
    expect_fault(EXEC_KERNEL("\nld.global.u32 %r2, [%rd1+-4];\n"), 1, PTXEXEC_F_OUT_OF_BOUNDS,
                 BODY + 1);
    expect_fault(EXEC_KERNEL("mov.u64 %rd2, 0;\nld.global.u32 %r2, [%rd2];\n"), 1,
                 PTXEXEC_F_OUT_OF_BOUNDS, BODY + 1);
    expect_fault(EXEC_KERNEL("ld.u32 %r2, [%rd1+100000];\n"), 1, PTXEXEC_F_OUT_OF_BOUNDS, BODY);
    expect_fault(EXEC_KERNEL(".shared .b8 s[64];\nst.shared.u32 [s+64], %r1;\n"), 1,
                 PTXEXEC_F_OUT_OF_BOUNDS, BODY + 1);
    expect_clean(EXEC_KERNEL(".shared .b8 s[64];\nst.shared.u32 [s+60], %r1;\n"), 1);
    expect_fault(EXEC_KERNEL(".local .b8 s[64];\nst.local.u32 [s+64], %r1;\n"), 1,
                 PTXEXEC_F_OUT_OF_BOUNDS, BODY + 1);
    expect_fault(EXEC_KERNEL("ld.param.u64 %rd2, [out+8];\n"), 1, PTXEXEC_F_OUT_OF_BOUNDS, BODY);
    expect_fault(EXEC_KERNEL("atom.global.add.u32 %r2, [%rd1+256], 1;\n"), 1,
                 PTXEXEC_F_OUT_OF_BOUNDS, BODY);
}

Test(exec_faults, names_the_array_and_the_thread)
{
    exec_job job = {
        .ptx = EXEC_KERNEL("mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r1;\n"),
        .block = 96,
        .out_size = 256};
    exec_job_run(&job);
    ptxexec_fault f = exec_job_fault(&job);
    cr_expect_eq(f.kind, PTXEXEC_F_OUT_OF_BOUNDS);
    cr_expect_eq(f.at.thread[0], 64);
    cr_expect_eq(f.at.warp, 2);
    cr_expect_eq(f.at.column, 1);
    cr_expect_eq(f.size, 4);
    cr_expect(strstr(f.message, "'out' of 256 bytes") != NULL, "%s", f.message);
    exec_job_end(&job);
}

Test(exec_faults, misaligned_and_spaces)
{
    expect_fault(EXEC_KERNEL("ld.global.u32 %r2, [%rd1+2];\n"), 1, PTXEXEC_F_MISALIGNED, BODY);
    expect_fault(EXEC_KERNEL("ld.global.v2.u32 {%r2, %r3}, [%rd1+4];\n"), 1, PTXEXEC_F_MISALIGNED,
                 BODY);
    expect_clean(EXEC_KERNEL("ld.global.v2.u32 {%r2, %r3}, [%rd1+8];\n"), 1);
    expect_fault(EXEC_KERNEL(".shared .b32 s;\ncvta.shared.u64 %rd2, %rd1;\nmov.u64 %rd2, s;\n"
                             "cvta.shared.u64 %rd2, %rd2;\nst.global.u32 [%rd2], %r1;\n"),
                 1, PTXEXEC_F_WRONG_SPACE, BODY + 4);
    expect_clean(EXEC_KERNEL(".shared .b32 s;\nmov.u64 %rd2, s;\ncvta.shared.u64 %rd2, "
                             "%rd2;\nst.u32 [%rd2], %r1;\n"),
                 1);
    expect_fault(EXEC_KERNEL("st.shared.u32 [%rd1], %r1;\n"), 1, PTXEXEC_F_WRONG_SPACE, BODY);
    static const char text[] = EXEC_HEAD(
        "sm_90") ".const .u32 c = 7;\n.visible .entry k(.param .u64 out)\n{\n"
                 ".reg .b32 %r<4>; .reg .b64 %rd<4>;\nmov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1;\n"
                 "ld.u32 %r1, [%rd1];\nst.u32 [%rd1], %r1;\nret;\n}\n";
    expect_fault(text, 1, PTXEXEC_F_READ_ONLY, 10);
}

Test(exec_faults, poison)
{
    expect_fault(EXEC_KERNEL("setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nL:\n"), 1,
                 PTXEXEC_F_POISON_BRANCH, BODY + 1);
    expect_fault(EXEC_KERNEL("add.s64 %rd2, %rd3, 4;\nst.global.u32 [%rd2], %r1;\n"), 1,
                 PTXEXEC_F_POISON_ADDRESS, BODY + 1);
    expect_fault(EXEC_KERNEL("ld.global.u32 %r2, [%rd1];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 "
                             "st.global.u32 [%rd1], 1;\n"),
                 1, PTXEXEC_F_POISON_BRANCH, BODY + 2);
    expect_fault(
        EXEC_KERNEL(".shared .b32 s[2];\nst.shared.u32 [s], %r1;\nld.shared.u32 %r2, [s+4];\n"
                    "bar.sync %r2;\n"),
        32, PTXEXEC_F_POISON_SYNC, BODY + 3);
    expect_clean(
        EXEC_KERNEL(
            "setp.eq.u32 %p1, %r1, 9;\nselp.u32 %r3, %r2, 7, %p1;\nst.global.u32 [%rd1], %r3;\n"
            "ld.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra L;\nL:\n"),
        1);
    exec_job job = {.ptx =
                        EXEC_KERNEL("st.global.u32 [%rd1], %r2;\nst.global.u32 [%rd1+4], %r1;\n"),
                    .block = 1,
                    .out_size = 12};
    exec_job_run(&job);
    cr_expect_eq(job.status, PTXEXEC_OK);
    cr_expect_eq(job.n_poison, 8);
    exec_job_end(&job);
}

/* A known operand decides whether a word or a predicate is nonzero; what is never written goes
 * where it goes alone. */
Test(exec_faults, poison_of_predicates_and_of_16_bytes)
{
#define LOP3(op, value, q) \
    EXEC_KERNEL("lop3." op ".b32 _|%p1, " value ", -1, -1, 0x80, " q ";\n@%p1 bra L;\nL:\n")
#define ONE "setp.ge.u32 %p2, %r1, 0;\n"
#define LOP3_SET(op, value, q) \
    EXEC_KERNEL(ONE "lop3." op ".b32 _|%p1, " value ", -1, -1, 0x80, " q ";\n@%p1 bra L;\nL:\n")
    expect_clean(LOP3_SET("or", "%r2", "%p2"), 1);
    expect_fault(LOP3_SET("or", "%r2", "!%p2"), 1, PTXEXEC_F_POISON_BRANCH, BODY + 2);
    expect_clean(LOP3_SET("and", "%r2", "!%p2"), 1);
    expect_fault(LOP3_SET("and", "%r2", "%p2"), 1, PTXEXEC_F_POISON_BRANCH, BODY + 2);
    expect_clean(LOP3("or", "1", "%p3"), 1);
    expect_fault(LOP3("or", "0", "%p3"), 1, PTXEXEC_F_POISON_BRANCH, BODY + 1);
    expect_clean(LOP3("and", "0", "%p3"), 1);
    expect_fault(LOP3("and", "1", "%p3"), 1, PTXEXEC_F_POISON_BRANCH, BODY + 1);
#define WIDE(x) \
    EXEC_KERNEL(".reg .b128 %q;\nmov.b128 %q, {%rd1, %rd2};\n" x "ld.global.u32 %r2, [%rd3];\n")
    expect_clean(WIDE("mov.b128 {%rd3, %rd4}, %q;\n"), 1);
    expect_fault(WIDE("mov.b128 {%rd4, %rd3}, %q;\n"), 1, PTXEXEC_F_POISON_ADDRESS, BODY + 3);
    expect_fault(WIDE("st.global.b128 [%rd1+8], %q;\n"), 1, PTXEXEC_F_MISALIGNED, BODY + 2);
    expect_fault(WIDE("atom.global.exch.b128 %q, [%rd1+8], %q;\n"), 1, PTXEXEC_F_MISALIGNED,
                 BODY + 2);
    expect_clean(WIDE("st.global.b128 [%rd1+16], %q;\nld.global.b64 %rd3, [%rd1+16];\n"), 1);
    expect_fault(WIDE("st.global.b128 [%rd1+16], %q;\nld.global.b64 %rd3, [%rd1+24];\n"), 1,
                 PTXEXEC_F_POISON_ADDRESS, BODY + 4);
}

/* Memory of alloca is there until stackrestore or the end of its function, aligned as asked for,
 * and uninitialised. */
Test(exec_faults, memory_on_the_stack)
{
#define STACK(x)                                                                              \
    EXEC_KERNEL(".local .align 4 .b8 own[12];\nstacksave.u64 %rd2;\nmad.wide.u32 %rd3, %r1, " \
                "8, 16;\nalloca.u64 %rd4, %rd3, 64;\nadd.u64 %rd5, %rd4, %rd3;\n" x)
#define USE(address) "ld.local.u32 %r2, [" address "];\nsetp.eq.u32 %p1, %r2, 77;\n@%p1 trap;\n"
    expect_clean(STACK("and.b64 %rd6, %rd4, 63;\nsetp.ne.u64 %p1, %rd6, 0;\n@%p1 trap;\n"
                       "st.local.u32 [%rd4], %r1;\nst.local.u32 [%rd5+-4], %r1;\n" USE("%rd5+-4")),
                 40);
    expect_fault(STACK("st.local.u32 [%rd5], %r1;\n"), 40, PTXEXEC_F_OUT_OF_BOUNDS, BODY + 5);
    expect_fault(STACK(USE("%rd4")), 40, PTXEXEC_F_POISON_BRANCH, BODY + 7);
    expect_fault(STACK("stackrestore.u64 %rd2;\nst.local.u32 [%rd4], %r1;\n"), 40,
                 PTXEXEC_F_OUT_OF_BOUNDS, BODY + 6);
    expect_fault(STACK("st.local.u32 [%rd4], %r1;\nstackrestore.u64 %rd2;\n"
                       "alloca.u64 %rd4, %rd3, 64;\n" USE("%rd4")),
                 40, PTXEXEC_F_POISON_BRANCH, BODY + 10);
    expect_clean(STACK("st.local.u32 [own+8], %r1;\nstackrestore.u64 %rd2;\n" USE("own+8")), 40);
    expect_fault(STACK("stackrestore.u64 %rd5;\nalloca.u64 %rd6, 8;\nstackrestore.u64 %rd6;\n"
                       "alloca.u64 %rd6, 8;\nadd.u64 %rd6, %rd6, 16;\nstackrestore.u64 %rd6;\n"),
                 40, PTXEXEC_F_STACK, BODY + 10);
    expect_fault(STACK("mov.u64 %rd6, own;\nstackrestore.u64 %rd6;\n"), 40, PTXEXEC_F_STACK,
                 BODY + 6);
    expect_fault(STACK("stackrestore.u64 %rd7;\n"), 40, PTXEXEC_F_POISON_ADDRESS, BODY + 5);
    expect_fault(STACK("alloca.u64 %rd6, 600000;\n"), 40, PTXEXEC_F_STACK, BODY + 5);
    expect_fault(STACK("alloca.u64 %rd6, -1;\n"), 40, PTXEXEC_F_STACK, BODY + 5);
    expect_fault(STACK("alloca.u64 %rd6, %rd7;\n"), 40, PTXEXEC_F_POISON_ADDRESS, BODY + 5);
}

/* The device's own malloc: memory is uninitialised, has room around it, and ends with free. */
Test(exec_faults, memory_of_the_heap)
{
#define HEAP(x)                                                                                  \
    EXEC_HEAD("sm_90")                                                                           \
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n" \
    ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n"              \
    ".reg .b64 %rd<16>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n" x "ret;\n}\n"
#define MALLOC(d, n)                                                                   \
    "{ .param .b64 a; .param .b64 b; st.param.b64 [a], " n "; call (b), malloc, (a); " \
    "ld.param.b64 " d ", [b]; }\n"
#define FREE(p) "{ .param .b64 a; st.param.b64 [a], " p "; call free, (a); }\n"
#define NONE(p) "setp.ne.u64 %p1, " p ", 0;\n@%p1 trap;\n"
    enum { FIRST = 13 };
    expect_clean(HEAP(MALLOC("%rd2", "40") "st.u32 [%rd2+36], %r1;\nld.global.u32 %r2, [%rd2+36];\n"
                                           "setp.ne.u32 %p1, %r1, %r2;\n@%p1 trap;\n" FREE("%rd2")
                                               FREE("0")),
                 40);
    expect_fault(HEAP(MALLOC("%rd2", "40") "st.u32 [%rd2+40], %r1;\n"), 40, PTXEXEC_F_OUT_OF_BOUNDS,
                 FIRST + 1);
    expect_fault(HEAP(MALLOC("%rd2", "40") "ld.u32 %r2, [%rd2];\nsetp.eq.u32 %p1, %r2, 7;\n"
                                           "@%p1 trap;\n"),
                 40, PTXEXEC_F_POISON_BRANCH, FIRST + 3);
    expect_fault(
        HEAP(MALLOC("%rd2", "40") "st.u32 [%rd2], %r1;\n" FREE("%rd2") "ld.u32 %r2, [%rd2];\n"), 40,
        PTXEXEC_F_USE_AFTER_FREE, FIRST + 3);
    expect_fault(HEAP(MALLOC("%rd2", "40") FREE("%rd2") FREE("%rd2")), 40, PTXEXEC_F_USE_AFTER_FREE,
                 FIRST + 2);
    expect_fault(HEAP(MALLOC("%rd2", "40") "add.u64 %rd2, %rd2, 8;\n" FREE("%rd2")), 40,
                 PTXEXEC_F_BAD_CALL, FIRST + 2);
    expect_fault(HEAP(FREE("%rd1")), 40, PTXEXEC_F_BAD_CALL, FIRST);
    expect_fault(HEAP(FREE("%rd2")), 40, PTXEXEC_F_POISON_ADDRESS, FIRST);
    expect_fault(HEAP(MALLOC("%rd2", "%rd3")), 40, PTXEXEC_F_POISON_ADDRESS, FIRST);
    /* 8 MB in all: a second block of 5 has room only behind the end of the first. */
    expect_clean(HEAP(MALLOC("%rd2", "5000000") MALLOC("%rd3", "5000000") NONE("%rd3") FREE("%rd2")
                          MALLOC("%rd3", "5000000") "st.u32 [%rd3], %r1;\n" MALLOC("%rd4", "-1")
                              NONE("%rd4")),
                 1);
}

#define PADDED(pragma, rest)                                                                     \
    EXEC_KERNEL(".local .align 8 .b8 s[8];\nmov.u16 %h1, 5;\nst.local.v2.u16 [s], {%h1, %h1};\n" \
                "st.local.u8 [s+4], %h1;\n" pragma                                               \
                "ld.local.v4.u16 {%h2, %h3, %h4, %h5}, [s];\n" rest)
#define BRANCH(reg) \
    "and.b16 " reg ", " reg ", 255;\nsetp.eq.u16 %p1, " reg ", 0;\n@%p1 bra L;\nL:\n"

/* Bytes that the compiler says are not used do no harm beside one that is; elements of which none
 * is used, and loads after the next one, are as without. */
Test(exec_faults, unused_bytes_of_a_load)
{
    expect_clean(PADDED(".pragma \"used_bytes_mask 31\";\n", BRANCH("%h4")), 2);
    expect_clean(PADDED(".pragma \"used_bytes_mask 0x1f\";\n", BRANCH("%h4")), 2);
    expect_fault(PADDED("", BRANCH("%h4")), 1, PTXEXEC_F_POISON_BRANCH, BODY + 7);
    expect_fault(PADDED(".pragma \"nounroll\";\n", BRANCH("%h4")), 1, PTXEXEC_F_POISON_BRANCH,
                 BODY + 8);
    expect_fault(PADDED(".pragma \"used_bytes_mask 63\";\n", BRANCH("%h4")), 1,
                 PTXEXEC_F_POISON_BRANCH, BODY + 8);
    expect_fault(PADDED(".pragma \"used_bytes_mask 31\";\n", BRANCH("%h5")), 1,
                 PTXEXEC_F_POISON_BRANCH, BODY + 8);
    expect_fault(PADDED(".pragma \"used_bytes_mask 31\";\n",
                        "ld.local.v4.u16 {%h2, %h3, %h4, %h5}, [s];\n" BRANCH("%h4")),
                 1, PTXEXEC_F_POISON_BRANCH, BODY + 9);
    /* One element, and what it reads. */
    static const char word[] =
        EXEC_KERNEL("st.global.u8 [%rd1], 7;\n.pragma \"used_bytes_mask 1\";\n"
                    "ld.global.u32 %r2, [%rd1];\nand.b32 %r2, %r2, 255;\n"
                    "setp.eq.u32 %p1, %r2, 7;\n@%p1 bra L;\ntrap;\nL:\n");
    expect_clean(word, 1);
}

#define PACKED(rest) EXEC_KERNEL("mov.b64 %rd2, {%r1, %r9};\n" rest)
#define USE32        "setp.eq.u32 %p1, %r2, 77;\n@%p1 trap;\n"
#define USE64        "setp.eq.u64 %p1, %rd2, 77;\n@%p1 trap;\n"

/* nvcc packs a value with a register that was never written, and drops that half later. */
Test(exec_faults, halves_of_a_pair)
{
    expect_clean(PACKED("cvt.u32.u64 %r2, %rd2;\n" USE32), 2);
    expect_clean(PACKED("mov.b64 {%r2, %r3}, %rd2;\n" USE32), 2);
    expect_clean(PACKED("shl.b64 %rd2, %rd2, 2;\nand.b64 %rd2, %rd2, 252;\nadd.s64 %rd2, %rd1, "
                        "%rd2;\nst.global.u32 [%rd2], %r1;\n"),
                 32);
    expect_clean(PACKED("mov.u64 %rd3, 5;\nmov.b64 %rd2, %rd2;\nadd.s64 %rd2, %rd2, %rd3;\n"
                        "sub.s64 %rd2, %rd2, %rd3;\nmul.lo.s64 %rd2, %rd2, 3;\n"
                        "mad.lo.s64 %rd2, %rd2, %rd3, %rd3;\nneg.s64 %rd2, %rd2;\n"
                        "not.b64 %rd2, %rd2;\nor.b64 %rd2, %rd2, 1;\nxor.b64 %rd2, %rd3, %rd2;\n"
                        "cvt.u32.u64 %r2, %rd2;\n" USE32),
                 2);
    expect_clean(PACKED("setp.eq.u32 %p2, %r1, 0;\n@%p2 mov.u64 %rd2, 9;\n"
                        "cvt.u32.u64 %r2, %rd2;\n" USE32),
                 2);
    expect_fault(PACKED(USE64), 2, PTXEXEC_F_POISON_BRANCH, BODY + 2);
    expect_fault(PACKED("mov.b64 {%r3, %r2}, %rd2;\n" USE32), 2, PTXEXEC_F_POISON_BRANCH, BODY + 3);
    expect_fault(PACKED("shr.u64 %rd2, %rd2, 1;\ncvt.u32.u64 %r2, %rd2;\n" USE32), 2,
                 PTXEXEC_F_POISON_BRANCH, BODY + 4);
    expect_fault(PACKED("and.b64 %rd2, %rd2, 0x1000000FF;\n" USE64), 2, PTXEXEC_F_POISON_BRANCH,
                 BODY + 3);
    expect_fault(
        PACKED("mov.u32 %r3, 8;\nmov.b64 %rd3, {%r3, %r9};\nand.b64 %rd2, %rd2, %rd3;\n" USE64), 2,
        PTXEXEC_F_POISON_BRANCH, BODY + 5);
    expect_fault(PACKED("mul.hi.u64 %rd2, %rd2, 3;\ncvt.u32.u64 %r2, %rd2;\n" USE32), 2,
                 PTXEXEC_F_POISON_BRANCH, BODY + 4);
    expect_fault(PACKED("shl.b64 %rd2, %rd2, %r9;\ncvt.u32.u64 %r2, %rd2;\n" USE32), 2,
                 PTXEXEC_F_POISON_BRANCH, BODY + 4);
    /* The lower half, a register never written at all, and a lane that lost its clean half. */
    expect_fault(EXEC_KERNEL("mov.b64 %rd2, {%r9, %r1};\ncvt.u32.u64 %r2, %rd2;\n" USE32), 2,
                 PTXEXEC_F_POISON_BRANCH, BODY + 3);
    expect_fault(EXEC_KERNEL("cvt.u32.u64 %r2, %rd9;\n" USE32), 2, PTXEXEC_F_POISON_BRANCH,
                 BODY + 2);
    expect_fault(PACKED("setp.eq.u32 %p2, %r1, 0;\n@%p2 mov.u64 %rd2, %rd9;\n"
                        "cvt.u32.u64 %r2, %rd2;\n" USE32),
                 2, PTXEXEC_F_POISON_BRANCH, BODY + 5);
}

Test(exec_faults, divergence)
{
    expect_fault(
        EXEC_KERNEL(
            "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nbar.sync 0;\nbra B;\nA:\nbar.sync 0;\nB:\n"),
        32, PTXEXEC_F_DIVERGED, 0);
    expect_clean(
        EXEC_KERNEL("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nmov.u32 %r2, 1;\nA:\nbar.sync 0;\n"),
        64);
    expect_clean(EXEC_KERNEL("setp.lt.u32 %p1, %r1, 16;\n@%p1 exit;\nbar.sync 0;\n"), 64);
    expect_clean(EXEC_KERNEL("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nbarrier.sync 0;\nbra "
                             "B;\nA:\nbarrier.sync 0;\nB:\n"),
                 32);
    expect_fault(EXEC_KERNEL("shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xFFFF;\n"), 32,
                 PTXEXEC_F_MEMBER_MASK, BODY);
    expect_clean(
        EXEC_KERNEL("setp.lt.u32 %p1, %r1, 16;\n@%p1 shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xFFFF;\n"),
        32);
}

Test(exec_faults, deadlock)
{
    expect_fault(EXEC_KERNEL("bar.sync 1, 128;\n"), 64, PTXEXEC_F_DEADLOCK, BODY);
    expect_clean(EXEC_KERNEL("bar.sync 1, 64;\n"), 64);
    expect_fault(EXEC_KERNEL("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nmov.u32 %r2, 0;\nexit;\nA:\n"
                             "shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xFFFF;\nbar.sync 2, 64;\n"),
                 32, PTXEXEC_F_DEADLOCK, 0);
    expect_fault(EXEC_KERNEL("setp.lt.u32 %p1, %r1, 8;\n@%p1 bra A;\nvote.sync.any.pred %p2, %p1, "
                             "0xFFFFFFFF;\nbra B;\nA:\n"
                             "bar.warp.sync 0xFF;\nbarrier.sync 0;\nB:\n"),
                 32, PTXEXEC_F_DEADLOCK, 0);
    exec_job job = {.ptx = EXEC_KERNEL("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 1, "
                                       "64;\nbra B;\nA:\nbar.sync 2, 64;\nB:\n"),
                    .block = 64};
    exec_job_run(&job);
    cr_expect_eq(exec_job_fault(&job).kind, PTXEXEC_F_DEADLOCK);
    cr_expect_eq(ptxexec_report_fault_count(job.report), 2, "every waiter is named");
    exec_job_end(&job);
}

Test(exec_faults, barriers)
{
    expect_fault(EXEC_KERNEL("mov.u32 %r2, 16;\nbarrier.sync %r2;\n"), 32, PTXEXEC_F_BARRIER,
                 BODY + 1);
    expect_fault(EXEC_KERNEL("mov.u32 %r2, 33;\nbarrier.sync 1, %r2;\n"), 32, PTXEXEC_F_BARRIER,
                 BODY + 1);
    expect_fault(EXEC_KERNEL("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 1, 64;\nA:\n@!%p1 "
                             "exit;\nbar.sync 1, 96;\n"),
                 64, PTXEXEC_F_BARRIER, 0);
    expect_clean(EXEC_KERNEL("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 1, 64;\nbra "
                             "B;\nA:\nbar.arrive 1, 64;\nB:\n"),
                 64);
}

Test(exec_faults, ends)
{
    expect_fault(EXEC_KERNEL("L:\nbra L;\n"), 32, PTXEXEC_F_STEP_LIMIT, 0);
    expect_fault(EXEC_KERNEL("trap;\n"), 32, PTXEXEC_F_TRAP, BODY);
    expect_fault(EXEC_KERNEL("mov.u64 %rd2, 1234;\n{ .reg .b32 t; call (t), %rd2, (%r1), P; }\nP: "
                             ".callprototype (.param .b32 _) _ (.param .b32 _);\n"),
                 1, PTXEXEC_F_BAD_CALL, 0);
}

Test(exec_faults, use_after_free)
{
    static const char text[] = EXEC_HEAD(
        "sm_90") ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
                 "ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\nret;\n}\n";
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    uint64_t a = 0;
    cr_assert_eq(ptxexec_module_load(NULL, text, strlen(text), &m), PTXEXEC_OK);
    cr_assert_eq(ptxexec_device_create(NULL, &d), PTXEXEC_OK);
    cr_assert_eq(ptxexec_device_alloc(d, 64, PTXEXEC_FILL_ZERO, "gone", &a), PTXEXEC_OK);
    cr_expect_eq(a % 256, 0);
    cr_assert_eq(ptxexec_device_free(d, a), PTXEXEC_OK);
    cr_expect_eq(ptxexec_device_free(d, a), PTXEXEC_E_MISUSE);
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {1, 1, 1},
                                .block = {1, 1, 1},
                                .params = &a,
                                .params_size = 8};
    cr_assert_eq(ptxexec_launch(d, m, &o, &r), PTXEXEC_E_FAULT);
    cr_expect_eq(ptxexec_report_fault(r, 0).kind, PTXEXEC_F_USE_AFTER_FREE);
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
}
