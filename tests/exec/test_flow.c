/* test_flow.c: control flow, calls, warps and barriers, and that results depend on the seed only.
 */
#include <criterion/criterion.h>

#include "tests/exec/harness.h"

static void run_ok(exec_job *job)
{
    exec_job_run(job);
    const char *text =
        job->status == PTXEXEC_E_FAULT ? ptxexec_report_fault(job->report, 0).message : "";
    cr_assert_eq(job->status, PTXEXEC_OK, "%s", text);
    exec_job_end(job);
}

static uint32_t word(const exec_job *job, uint32_t k)
{
    uint32_t x;
    memcpy(&x, job->out + 4 * (size_t)k, 4);
    return x;
}

#define STORE_LANE(reg) "mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], " reg ";\n"

/* Runs a warp and compares lane by lane. */
static void expect_lanes(const char *ptx, uint32_t (*expected)(uint32_t lane))
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        exec_job job = {.ptx = ptx, .seed = seed, .out_size = 128};
        run_ok(&job);
        for (uint32_t l = 0; l < 32; l++) {
            cr_expect_eq(word(&job, l), expected(l), "lane %u: %u, expected %u", l, word(&job, l),
                         expected(l));
        }
    }
}

static uint32_t triangle(uint32_t l)
{
    return l * (l + 1) / 2;
}

Test(exec_flow, loops_of_different_length)
{
    expect_lanes(
        EXEC_KERNEL(
            "mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nL:\nsetp.ge.u32 %p1, %r3, %r1;\n@%p1 bra D;\n"
            "add.u32 %r3, %r3, 1;\nadd.u32 %r2, %r2, %r3;\nbra L;\nD:\n" STORE_LANE("%r2")),
        triangle);
}

static uint32_t by_switch(uint32_t l)
{
    return l % 3 == 0 ? 10 : l % 3 == 1 ? 20 + l : 30;
}

Test(exec_flow, indexed_branch)
{
    expect_lanes(EXEC_KERNEL("rem.u32 %r2, %r1, 3;\nT: .branchtargets A, B, C;\nbrx.idx %r2, T;\n"
                             "A: mov.u32 %r3, 10; bra E;\nB: add.u32 %r3, %r1, 20; bra E;\nC: "
                             "mov.u32 %r3, 30;\nE:\n" STORE_LANE("%r3")),
                 by_switch);
}

static uint32_t from_next(uint32_t l)
{
    return (l + 1) % 32 * 3;
}
static uint32_t half_sums(uint32_t l)
{
    return l < 16 ? 120 : 376;
}
static uint32_t leads(uint32_t l) /* one of those that are there */
{
    return l < 3 ? 0 : 1;
}

Test(exec_flow, lanes_meet_from_two_sides)
{
    /* The two halves arrive at different instructions of the same spelling. */
    expect_lanes(
        EXEC_KERNEL("mul.lo.u32 %r2, %r1, 3;\nadd.u32 %r3, %r1, 1;\nsetp.lt.u32 %p1, %r1, "
                    "16;\n@%p1 bra A;\n"
                    "shfl.sync.idx.b32 %r4, %r2, %r3, 31, 0xFFFFFFFF;\nbra E;\nA:\n"
                    "shfl.sync.idx.b32 %r4, %r2, %r3, 31, 0xFFFFFFFF;\nE:\n" STORE_LANE("%r4")),
        from_next);
    /* Halves that do not wait for each other. */
    expect_lanes(EXEC_KERNEL("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nredux.sync.add.u32 %r4, %r1, "
                             "0xFFFF0000;\nbra E;\nA:\n"
                             "redux.sync.add.u32 %r4, %r1, 0x0000FFFF;\nE:\n" STORE_LANE("%r4")),
                 half_sums);
    expect_lanes(
        EXEC_KERNEL(
            "setp.lt.u32 %p1, %r1, 3;\nmov.u32 %r4, 0;\n@%p1 bra E;\nelect.sync "
            "%r5|%p2, 0xFFFFFFF8;\n"
            "vote.sync.ballot.b32 %r4, %p2, 0xFFFFFFF8;\npopc.b32 %r4, %r4;\nE:\n" STORE_LANE(
                "%r4")),
        leads);
}

#define FIB                                                                             \
    EXEC_HEAD("sm_90")                                                                  \
    ".func (.param .b32 r) fib(.param .b32 n)\n{\n.reg .pred %p<2>; .reg .b32 %r<8>;\n" \
    "ld.param.u32 %r1, [n];\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra S;\n"                   \
    "sub.u32 %r2, %r1, 1;\n{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2;\n"    \
    "call.uni (b), fib, (a);\nld.param.b32 %r3, [b]; }\n"                               \
    "sub.u32 %r2, %r1, 2;\n{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2;\n"    \
    "call.uni (b), fib, (a);\nld.param.b32 %r4, [b]; }\n"                               \
    "add.u32 %r1, %r3, %r4;\nS: st.param.b32 [r], %r1;\nret;\n}\n"

static uint32_t fib_of(uint32_t l)
{
    uint32_t a = 0;
    uint32_t b = 1;
    for (uint32_t k = 0; k < l % 9; k++) {
        uint32_t t = a + b;
        a = b;
        b = t;
    }
    return a;
}

Test(exec_flow, recursion)
{
    expect_lanes(FIB ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
                     "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 9;\n"
                     "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, "
                     "(a); ld.param.b32 %r3, [b]; }\n" STORE_LANE("%r3") "ret;\n}\n",
                 fib_of);
    exec_job job = {
        .ptx = EXEC_HEAD("sm_90") ".func f()\n{\ncall f;\nret;\n}\n"
                                  ".visible .entry k(.param .u64 out)\n{\ncall f;\nret;\n}\n"};
    exec_job_run(&job);
    cr_expect_eq(exec_job_fault(&job).kind, PTXEXEC_F_STACK);
    exec_job_end(&job);
}

static uint32_t twice_or_square(uint32_t l)
{
    return (l & 1) != 0 ? l * l : 2 * l;
}

Test(exec_flow, indirect_calls)
{
    expect_lanes(
        EXEC_HEAD(
            "sm_90") ".func (.param .b32 r) twice(.param .b32 n)\n{ .reg .b32 x; ld.param.u32 x, "
                     "[n]; add.u32 x, x, x; st.param.b32 [r], x; ret; }\n"
                     ".func (.param .b32 r) square(.param .b32 n)\n{ .reg .b32 x; ld.param.u32 x, "
                     "[n]; mul.lo.u32 x, x, x; st.param.b32 [r], x; ret; }\n"
                     ".global .u64 table[2] = {twice, square};\n"
                     ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
                     "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1;\n"
                     "mov.u64 %rd3, table; mad.wide.u32 %rd3, %r2, 8, %rd3; ld.global.u64 %rd4, "
                     "[%rd3];\n"
                     "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
                     "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                     "call (b), %rd4, (a), P; ld.param.b32 %r3, [b]; }\n" STORE_LANE(
                         "%r3") "ret;\n}\n",
        twice_or_square);
}

/* Lanes take a lock from each other: the loser spins at a lower pc than the winner. */
Test(exec_flow, spin_lock_between_lanes)
{
    static const char init[] = EXEC_HEAD(
        "sm_90") ".global .u32 lock[2];\n.visible .entry k(.param .u64 out)\n{\n"
                 ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\nmov.u64 %rd1, lock;\n"
                 "L:\natom.global.cas.b32 %r2, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra "
                 "L;\n"
                 "ld.volatile.global.u32 %r3, [%rd1+4];\nadd.u32 %r3, %r3, 1;\n"
                 "st.volatile.global.u32 [%rd1+4], %r3;\natom.global.exch.b32 %r2, [%rd1], 0;\n"
                 "ld.param.u64 %rd2, [out]; ld.volatile.global.u32 %r3, [%rd1+4];\n"
                 "red.global.max.u32 [%rd2], %r3; ret;\n}\n";
    for (uint64_t seed = 0; seed < 5; seed++) {
        exec_job job = {
            .ptx = init, .grid = 3, .block = 64, .seed = seed, .out_size = 4, .max_steps = 5000000};
        exec_job_run(&job);
        cr_expect_eq(job.status, PTXEXEC_OK, "seed %u", (unsigned)seed);
        exec_job_end(&job);
    }
}

/* Warps hand a token on through named barriers, in order. */
Test(exec_flow, named_barriers_pass_a_token)
{
    static const char text[] = EXEC_KERNEL(
        ".shared .b32 box;\nshr.u32 %r2, %r1, 5;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra C;\n"
        "st.shared.u32 [box], 77;\nbar.arrive 3, 64;\nbra E;\nC:\nbar.sync 3, 64;\nld.shared.u32 "
        "%r3, [box];\n"
        "st.global.u32 [%rd1], %r3;\nE:\n");
    for (uint64_t seed = 0; seed < 20; seed++) {
        exec_job job = {.ptx = text, .block = 64, .seed = seed, .out_size = 4};
        run_ok(&job);
        cr_expect_eq(word(&job, 0), 77);
        cr_expect_eq(job.n_poison, 0);
    }
}

static uint32_t reduced(uint32_t l)
{
    return 32 + (l & 1);
}

Test(exec_flow, barrier_reductions)
{
    static const char text[] = EXEC_KERNEL(
        "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\nbar.red.popc.u32 %r3, 0, %p1;\n"
        "bar.red.and.pred %p2, 0, %p1;\nbar.red.or.pred %p3, 0, %p1;\n"
        "selp.u32 %r4, 1000, 0, %p2;\nselp.u32 %r5, 0, 2000, %p3;\nadd.u32 %r3, %r3, %r4;\n"
        "add.u32 %r3, %r3, %r5;\nadd.u32 %r3, %r3, %r2;\n" STORE_LANE("%r3"));
    exec_job job = {.ptx = text, .block = 64, .out_size = 256};
    run_ok(&job);
    for (uint32_t l = 0; l < 64; l++) {
        cr_expect_eq(word(&job, l), reduced(l));
    }
}

/* Without synchronisation the winner of a shared cell depends on the interleaving, thus on the seed
 * only. */
#define RACY                                                                                      \
    EXEC_KERNEL(".shared .b32 s;\nshr.u32 %r2, %r1, 5;\nmov.u32 %r3, 0;\nL:\nst.shared.u32 [s], " \
                "%r2;\nadd.u32 %r3, %r3, 1;\n"                                                    \
                "setp.lt.u32 %p1, %r3, 40;\n@%p1 bra L;\nbar.sync 0;\nld.shared.u32 %r4, "        \
                "[s];\nmov.u32 %r5, %ctaid.x;\n"                                                  \
                "mad.wide.u32 %rd2, %r5, 4, %rd1;\nst.global.u32 [%rd2], %r4;\n")

Test(exec_flow, results_depend_on_the_seed_only)
{
    exec_job first[4];
    bool has_difference = false;
    for (uint64_t seed = 0; seed < 4; seed++) {
        first[seed] = (exec_job){.ptx = RACY,
                                 .grid = 64,
                                 .block = 256,
                                 .seed = seed,
                                 .host_threads = 1,
                                 .out_size = 256};
        run_ok(&first[seed]);
        for (uint32_t threads = 2; threads <= 5; threads++) {
            exec_job other = {.ptx = RACY,
                              .grid = 64,
                              .block = 256,
                              .seed = seed,
                              .host_threads = threads,
                              .out_size = 256};
            run_ok(&other);
            cr_expect_eq(memcmp(first[seed].out, other.out, 256), 0, "seed %u, %u threads",
                         (unsigned)seed, threads);
        }
        has_difference = has_difference || memcmp(first[0].out, first[seed].out, 256) != 0;
    }
    cr_expect(has_difference, "seeds change the interleaving");
}

/* The first failing CTA is reported, whoever ran first. */
Test(exec_flow, faults_do_not_depend_on_threads)
{
    static const char text[] =
        EXEC_KERNEL("mov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p1, %r2, 37;\n@%p1 exit;\nsetp.eq.u32 "
                    "%p1, %r2, 38;\n@%p1 exit;\ntrap;\n");
    for (uint32_t threads = 1; threads <= 4; threads++) {
        exec_job job = {.ptx = text, .grid = 100, .block = 64, .host_threads = threads};
        exec_job_run(&job);
        cr_expect_eq(exec_job_fault(&job).at.cta[0], 37);
        exec_job_end(&job);
    }
}

Test(exec_flow, statistics)
{
    exec_job job = {
        .ptx = EXEC_KERNEL("mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r1;\n"),
        .out_size = 128};
    exec_job_run(&job);
    cr_assert_eq(job.status, PTXEXEC_OK);
    ptxexec_stats s = ptxexec_report_stats(job.report);
    cr_expect_eq(s.n_steps, 5);
    cr_expect_eq(s.n_lane_instructions, 160);
    cr_expect_eq(s.n_global_accesses, 1);
    cr_expect_eq(s.n_global_sectors, 4);
    cr_expect_eq(ptxexec_report_opcode_count(job.report), 5);
    cr_expect_eq(ptxexec_report_opcode(job.report, 0).n_lane_instructions, 32);
    exec_job_end(&job);
}
