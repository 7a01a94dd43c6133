/* test_races.c: pairs of programs, with and without a race, over seeds; copies that nobody waited
 * for without the detector; misuse of barriers; bank conflicts of known patterns. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_run.h"

enum { N_SEEDS = 20, N_IN = 4096 };

/* %r3 = sm, %r4 = own word of it, %r6 = the word of thread ^ 32, %r8 = of thread ^ 1; %rd3, %rd4:
 * own word of in and out, %rd7: the same word of out for all CTAs. %r7 goes to out at the end. */
#define HEAD                                                                                   \
    "mov.u32 %r3, sm; mad.lo.u32 %r4, %r1, 4, %r3; xor.b32 %r5, %r1, 32; "                     \
    "mad.lo.u32 %r6, %r5, 4, %r3; xor.b32 %r8, %r1, 1; mad.lo.u32 %r8, %r8, 4, %r3; "          \
    "st.shared.b32 [%r4+8192], 0; st.shared.b32 [%r4], 0; bar.sync 0; "                        \
    "mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd7, %r1, 4, %rd2; mov.u32 %r9, %ntid.x; " \
    "mad.lo.u32 %r9, %r9, %r2, %r1; mad.wide.u32 %rd4, %r9, 4, %rd2;\n"
#define TAIL "st.global.b32 [%rd4], %r7;"

typedef struct race_pair {
    const char *name;
    uint32_t grid, block;
    const char *bad, *good;
} race_pair;

static const race_pair pairs[] = {
#define RACE(name, grid, block, bad, good) {name, grid, block, HEAD bad TAIL, HEAD good TAIL},
#include "races.inc"
};

static ptx_result r;
static uint32_t in[N_IN];

static void run(const race_pair *p, const char *body, uint64_t seed, ptxexec_races races)
{
    ptx_case c = {.body = body,
                  .grid = p->grid,
                  .block = p->block,
                  .in = in,
                  .in_size = sizeof in,
                  .out_size = 4 * N_IN,
                  .seed = seed,
                  .races = races};
    ptx_run(&c, &r);
}

/* Line of a marker in the text; that of the other one if both are one line. */
static uint32_t line_of(const char *body, const char *marker)
{
    const char *at = strstr(body, marker);
    if (at == body || (at != NULL && at[-1] == '\n')) {
        return line_of(body, "//A"); /* both sides are one instruction */
    }
    uint32_t line = PTX_LINE_1;
    for (const char *p = body; at != NULL && p < at; p++) {
        line += *p == '\n' ? 1 : 0;
    }
    return line;
}

static bool try_bad(const race_pair *p, uint64_t seed, ptxexec_races races)
{
    uint32_t a = line_of(p->bad, "//A");
    uint32_t b = line_of(p->bad, "//B");
    run(p, p->bad, seed, races);
    bool is_seen =
        r.status == PTXEXEC_E_FAULT && r.fault.kind == PTXEXEC_F_RACE && r.fault.has_other != 0;
    uint32_t x = r.fault.at.line;
    uint32_t y = r.fault.other.line;
    if (is_seen && ((x == a && y == b) || (x == b && y == a))) {
        return true;
    }
    printf("%s (bad), seed %llu: status %d, kind %d, lines %u and %u, expected %u and %u: %s\n",
           p->name, (unsigned long long)seed, (int)r.status, (int)r.fault.kind, x, y, a, b,
           r.message);
    return false;
}

static bool try_good(const race_pair *p, uint64_t seed, ptxexec_races races)
{
    run(p, p->good, seed, races);
    if (r.status == PTXEXEC_OK) {
        return true;
    }
    printf("%s (good), seed %llu: line %u: %s\n", p->name, (unsigned long long)seed,
           r.fault.at.line, r.message);
    return false;
}

static bool try_pair(const race_pair *p)
{
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        ptxexec_races races = seed % 4 == 3 ? PTXEXEC_RACES_ISA : PTXEXEC_RACES_PRACTICE;
        if (!try_bad(p, seed, races) || !try_good(p, seed, races)) {
            return false;
        }
    }
    return true;
}

/* Without the detector: what a missing wait leaves behind is poison or old data in some seed. */
static bool try_unwaited(void)
{
    bool is_ok = true;
    for (uint32_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        const race_pair *p = &pairs[k];
        bool is_read = strstr(p->bad, "ld.shared.b32 %r7") != NULL;
        if (strncmp(p->name, "cp.async", 8) != 0 || !is_read || strstr(p->name, "read") != NULL) {
            continue;
        }
        uint32_t n_seen = 0;
        for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
            run(p, p->bad, seed, PTXEXEC_RACES_OFF);
            n_seen += r.n_poison > 4 * N_IN - 4 * p->block ? 1 : 0;
            run(p, p->good, seed, PTXEXEC_RACES_OFF);
            is_ok = is_ok && r.status == PTXEXEC_OK && r.n_poison == 4 * N_IN - 4 * p->block;
        }
        if (n_seen == 0 && strstr(p->name, "barrier") == NULL) {
            printf("%s: not seen in %d seeds without the detector\n", p->name, N_SEEDS);
            is_ok = false;
        }
    }
    return is_ok;
}

/* ---- practice and the ISA -------------------------------------------------------------------- */

/* Silent in practice, for what known-good kernels do; by the ISA a fault at line B. */
static const struct {
    race_pair p;
    ptxexec_fault_kind kind;
} practice[] = {
    {{.name = "a shuffle orders lanes",
      .block = 32,
      .good = HEAD "st.shared.b32 [%r4], %r1; //A\n"
                   "shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;\n"
                   "ld.shared.b32 %r7, [%r8]; //B\n" TAIL},
     PTXEXEC_F_RACE},
    {{.name = "all threads store the same",
      .block = 128,
      .good = HEAD "bar.sync 0;\nst.shared.v2.b32 [%r3], {5, 6}; //A\n//B\n"
                   "bar.sync 0;\nld.shared.b32 %r7, [%r3+4];\n"
                   "bar.sync 0;\nst.shared.b32 [%r4], %r1;\n" TAIL},
     PTXEXEC_F_RACE},
    {{.name = "all CTAs store the same",
      .grid = 5,
      .block = 64,
      .good = HEAD "mov.u32 %r7, 1;\nst.global.b32 [%rd2+8192], 7; //A\n//B\n" TAIL},
     PTXEXEC_F_RACE},
    {{.name = "a parity has one bit",
      .block = 32,
      .good = HEAD "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [%r3+4096], 1;\n"
                   "bar.warp.sync -1;\nmov.u32 %r10, -1;\nmov.u32 %r7, 0;\n"
                   "mbarrier.try_wait.parity.shared.b64 %p1, [%r3+4096], %r10; //B\n"
                   "@!%p1 trap;\n" TAIL},
     PTXEXEC_F_MBARRIER},
};

static bool try_practice(void)
{
    bool is_ok = true;
    for (uint32_t k = 0; k < sizeof practice / sizeof practice[0]; k++) {
        race_pair p = practice[k].p;
        p.grid = p.grid != 0 ? p.grid : 1;
        for (uint64_t seed = 0; seed < N_SEEDS && is_ok; seed++) {
            is_ok = try_good(&p, seed, PTXEXEC_RACES_PRACTICE);
            run(&p, p.good, seed, PTXEXEC_RACES_ISA);
            if (r.status != PTXEXEC_E_FAULT || r.fault.kind != practice[k].kind ||
                r.fault.at.line != line_of(p.good, "//B")) {
                printf("%s, isa: status %d, line %u %s\n", p.name, (int)r.status, r.fault.at.line,
                       r.message);
                is_ok = false;
            }
        }
    }
    /* The store that another one took the place of is not forgotten. */
    const race_pair other = {
        .name = "stores of the same, and another one that is ordered behind some of them",
        .grid = 1,
        .block = 96,
        .bad = HEAD "mov.u32 %r7, 0;\nbar.sync 0;\nsetp.lt.u32 %p1, %r1, 64;\n@!%p1 bra $E;\n"
                    "st.shared.b32 [%r3], 7; //A\n"
                    "$E:\nsetp.lt.u32 %p2, %r1, 32;\n@%p2 bra $F;\nbar.sync 1, 64;\n@%p1 bra $F;\n"
                    "st.shared.b32 [%r3], 9; //B\n"
                    "$F:\n" TAIL};
    for (uint64_t seed = 0; seed < N_SEEDS && is_ok; seed++) {
        is_ok = try_bad(&other, seed, PTXEXEC_RACES_PRACTICE);
    }
    return is_ok;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Sizes, zero fill and ignore-src. */
static bool try_sizes(void)
{
    static const char body[] =
        HEAD "mad.lo.u32 %r10, %r1, 16, %r3;\nmad.wide.u32 %rd5, %r1, 16, %rd1;\n"
             "mad.wide.u32 %rd6, %r1, 16, %rd2;\nand.b32 %r11, %r1, 15;\n"
             "setp.eq.u32 %p1, %r11, 3;\n"
             "cp.async.cg.shared.global [%r10], [%rd5], 16, %r11;\n"
             "cp.async.ca.shared.global [%r10+2048], [%rd5], 8;\n"
             "cp.async.ca.shared.global [%r10+2056], [%rd5+8], 4, %p1;\n"
             "cp.async.ca.shared.global.L2::128B [%r10+2060], [%rd5+12], 4, 0;\n"
             "cp.async.wait_all;\n"
             "ld.shared.v4.b32 {%r20,%r21,%r22,%r23}, [%r10];\n"
             "st.global.v4.b32 [%rd6], {%r20,%r21,%r22,%r23};\n"
             "ld.shared.v4.b32 {%r20,%r21,%r22,%r23}, [%r10+2048];\n"
             "st.global.v4.b32 [%rd6+512], {%r20,%r21,%r22,%r23};\n";
    bool is_ok = true;
    for (uint64_t seed = 0; seed < 8 && is_ok; seed++) {
        ptx_case c = {.body = body,
                      .in = in,
                      .in_size = sizeof in,
                      .out_size = 1024,
                      .seed = seed,
                      .races = PTXEXEC_RACES_PRACTICE};
        ptx_run(&c, &r);
        is_ok = r.status == PTXEXEC_OK && r.n_poison == 0;
        for (uint32_t l = 0; l < 32 && is_ok; l++) {
            uint8_t want[32] = {0};
            memcpy(want, (const uint8_t *)in + l * 16, l % 16);
            memcpy(want + 16, (const uint8_t *)in + l * 16, l % 16 == 3 ? 8 : 12);
            is_ok = memcmp(r.out + l * 16, want, 16) == 0 &&
                    memcmp(r.out + 512 + l * 16, want + 16, 16) == 0;
        }
    }
    if (!is_ok) {
        printf("sizes: status %d %s\n", (int)r.status, r.message);
    }
    return is_ok;
}

/* ---- barriers -------------------------------------------------------------------------------- */

static bool try_barriers(void)
{
    static const struct {
        const char *body;
        ptxexec_fault_kind kind;
    } cases[] = {
        {"bar.sync 1, 100;", PTXEXEC_F_BARRIER},
        {"mov.u32 %r3, 16;\nbarrier.sync %r3;", PTXEXEC_F_BARRIER},
        {"bar.sync 1, 128;", PTXEXEC_F_DEADLOCK},
        {"bar.arrive 1, 128;\nbar.arrive 1, 128;", PTXEXEC_F_BARRIER},
        {"bar.arrive 1, 128;\nbar.sync 1, 128;", PTXEXEC_F_BARRIER},
        {"setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.arrive 1, 96;\n@!%p1 bar.sync 1, 64;",
         PTXEXEC_F_BARRIER},
        {"setp.lt.u32 %p1, %r1, 40;\n@%p1 bar.sync 0;\nbar.sync 1;", PTXEXEC_F_DIVERGED},
        {"setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1;\n@!%p1 bar.sync 2;", PTXEXEC_F_DEADLOCK},
        {"setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 4, 32;\n@!%p1 bar.sync 2, 32;\nbar.sync 1, 64;\n"
         "@%p1 bar.arrive 3, 64;\n@!%p1 bar.sync 3, 64;\n@!%p1 bar.arrive 5, 64;\n"
         "@%p1 bar.sync 5, 64;\nbar.sync 15;",
         PTXEXEC_F_NONE},
    };
    bool is_ok = true;
    for (uint32_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        for (uint64_t seed = 0; seed < 8; seed++) {
            ptx_case c = {.body = cases[k].body, .block = 64, .seed = seed};
            ptx_run(&c, &r);
            bool is_right = cases[k].kind == PTXEXEC_F_NONE
                                ? r.status == PTXEXEC_OK
                                : r.status == PTXEXEC_E_FAULT && r.fault.kind == cases[k].kind;
            if (!is_right) {
                printf("barriers %u: status %d, kind %d, %s\n", k, (int)r.status, (int)r.fault.kind,
                       r.message);
                is_ok = false;
                break;
            }
        }
    }
    return is_ok;
}

/* ---- banks ----------------------------------------------------------------------------------- */

/* %r4 = sm + f(lane); the access is the only one to shared memory. */
static bool try_banks(const char *what, const char *body, uint64_t passes, uint64_t extra)
{
    ptx_case c = {.body = body, .in = in, .in_size = sizeof in, .out_size = 64, .has_stats = 1};
    ptx_run(&c, &r);
    const ptxexec_line_stats *line = NULL;
    for (size_t k = 0; k < r.n_lines; k++) {
        line = r.lines[k].n_shared_accesses != 0 ? &r.lines[k] : line;
    }
    if (r.status == PTXEXEC_OK && line != NULL && line->n_shared_accesses == 1 &&
        line->n_shared_wavefronts == passes && line->n_shared_extra == extra &&
        r.stats.n_shared_extra == extra) {
        return true;
    }
    printf("banks, %s: status %d %s, %llu passes, %llu extra, expected %llu and %llu\n", what,
           (int)r.status, r.message,
           (unsigned long long)(line != NULL ? line->n_shared_wavefronts : 0),
           (unsigned long long)(line != NULL ? line->n_shared_extra : 0),
           (unsigned long long)passes, (unsigned long long)extra);
    return false;
}

#define AT(expression) "mov.u32 %r3, sm;\n" expression "add.u32 %r4, %r4, %r3;\n"
#define LOAD           "ld.shared.b32 %r7, [%r4];"
#define MATRIX         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20,%r21,%r22,%r23}, [%r4];"

static bool try_patterns(void)
{
    bool is_ok = true;
    is_ok &= try_banks("stride 1", AT("mul.lo.u32 %r4, %r1, 4;\n") LOAD, 1, 0);
    is_ok &= try_banks("stride 2", AT("mul.lo.u32 %r4, %r1, 8;\n") LOAD, 2, 1);
    is_ok &= try_banks("stride 32", AT("mul.lo.u32 %r4, %r1, 128;\n") LOAD, 32, 31);
    is_ok &= try_banks("padded", AT("mul.lo.u32 %r4, %r1, 132;\n") LOAD, 1, 0);
    is_ok &= try_banks("one word", AT("mov.u32 %r4, 0;\n") LOAD, 1, 0);
    is_ok &= try_banks("halves", AT("mul.lo.u32 %r4, %r1, 2;\n") "ld.shared.b16 %h1, [%r4];", 1, 0);
    is_ok &=
        try_banks("v2", AT("mul.lo.u32 %r4, %r1, 8;\n") "ld.shared.v2.b32 {%r7,%r8}, [%r4];", 2, 0);
    is_ok &= try_banks(
        "v4", AT("mul.lo.u32 %r4, %r1, 16;\n") "st.shared.v4.b32 [%r4], {%r1,%r1,%r1,%r1};", 4, 0);
    is_ok &= try_banks("v4, stride 32 words",
                       AT("mul.lo.u32 %r4, %r1, 128;\n") "st.shared.v4.b32 [%r4], "
                                                         "{%r1,%r1,%r1,%r1};",
                       32, 28);
    is_ok &= try_banks("ldmatrix, packed rows", AT("mul.lo.u32 %r4, %r1, 16;\n") MATRIX, 4, 0);
    is_ok &=
        try_banks("ldmatrix, rows of 128 bytes", AT("mul.lo.u32 %r4, %r1, 128;\n") MATRIX, 32, 28);
    is_ok &= try_banks("ldmatrix, swizzled",
                       AT("and.b32 %r5, %r1, 7;\nshl.b32 %r5, %r5, 4;\nmul.lo.u32 %r4, %r1, 128;\n"
                          "xor.b32 %r4, %r4, %r5;\n") MATRIX,
                       4, 0);
    is_ok &= try_banks("ldmatrix, padded rows", AT("mul.lo.u32 %r4, %r1, 144;\n") MATRIX, 4, 0);
    return is_ok;
}

int main(int argc, char **argv)
{
    uint32_t n_bad = 0;
    for (uint32_t k = 0; k < N_IN; k++) {
        in[k] = k * 40503u + 7;
    }
    for (uint32_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        if (argc <= 1 || strcmp(argv[1], pairs[k].name) == 0) {
            n_bad += try_pair(&pairs[k]) ? 0 : 1;
        }
    }
    n_bad += try_unwaited() ? 0 : 1;
    n_bad += try_practice() ? 0 : 1;
    n_bad += try_sizes() ? 0 : 1;
    n_bad += try_barriers() ? 0 : 1;
    n_bad += try_patterns() ? 0 : 1;
    printf("%u failed\n", n_bad);
    return n_bad == 0 ? 0 : 1;
}
