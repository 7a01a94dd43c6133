/* test_groups.c: setmaxnreg and its pool, elect.sync, griddepcontrol, cache policies: what is right
 * is silent and gives the numbers, what is wrong is reported, over many seeds. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ptx_run.h"

#define GOOD     PTXEXEC_F_NONE
#define BOUND(n) ".maxntid " #n ", 1, 1 .minnctapersm 1"
#define ROLE     "shr.u32 %r3, %r1, 7;\nsetp.eq.u32 %p1, %r3, 0;\n"
#define DEC(n)   "setmaxnreg.dec.sync.aligned.u32 " #n ";\n"
#define INC(n)   "setmaxnreg.inc.sync.aligned.u32 " #n ";\n"
#define OUT(x)   "mad.wide.u32 %rd5, %r1, 4, %rd2;\nst.global.u32 [%rd5], " x ";\n"

typedef struct row {
    const char *name;
    const char *directives;
    uint32_t block;
    ptxexec_fault_kind kind;
    const char *says;
    const char *body;
} row;

static const row rows[] = {
    /* 384 threads: 168 registers each at entry; 168 + 168 + 168 = 24 + 240 + 240 */
    {"pool", BOUND(384), 384, GOOD, "",
     ROLE "@%p1 bra $P;\n" INC(240) "bra $E;\n$P:\n" DEC(24) "$E:\n" OUT("1")},
    {"pool of .maxnreg", ".maxnreg 168", 384, GOOD, "",
     ROLE "@%p1 bra $P;\n" INC(240) "bra $E;\n$P:\n" DEC(24) "$E:\n" OUT("1")},
    {"pool of .reqntid", ".reqntid 384, 1, 1 .minnctapersm 1", 384, GOOD, "",
     ROLE "@%p1 bra $P;\n" INC(232) "bra $E;\n$P:\n" DEC(40) "$E:\n" OUT("1")},
    {"beyond the pool", BOUND(384), 384, PTXEXEC_F_POOL, "nobody frees any",
     ROLE "@%p1 bra $P;\n" INC(248) "bra $E;\n$P:\n" DEC(24) "$E:\n" OUT("1")},
    {"nobody gives", BOUND(256), 256, PTXEXEC_F_POOL, "but the warp has 256",
     ROLE "@%p1 " INC(248) OUT("1")},
    {"nobody gives, of .maxnreg", ".maxnreg 128", 256, PTXEXEC_F_POOL, "the pool has 0",
     ROLE "@%p1 " INC(136) OUT("1")},
    {"a count that is not known is ignored", ".maxntid 384, 1, 1", 384, GOOD, "",
     ROLE "@%p1 " INC(248) OUT("1")},
    {"up, down and up again", BOUND(256), 256, GOOD, "",
     DEC(128) "bar.sync 0;\n" INC(256) OUT("1")},
    {"no meeting between two", BOUND(256), 256, PTXEXEC_F_WARP_GROUP, "has not executed",
     ROLE "@%p1 " DEC(128) "shr.u32 %r4, %r1, 5;\nsetp.eq.u32 %p2, %r4, 1;\n@%p2 bra $E;\n"
                           "@%p1 " DEC(120) "$E:\nbar.sync 0;\n" OUT("1")},
    {"no meeting, but nothing to do", BOUND(256), 256, GOOD, "",
     DEC(128) "bar.sync 0;\nshr.u32 %r4, %r1, 5;\nsetp.eq.u32 %p2, %r4, 1;\n@!%p2 " DEC(
         128) "@!%p2 " DEC(128) "bar.sync 0;\n" OUT("1")},
    {".dec upwards", BOUND(512), 512, PTXEXEC_F_POOL, "the warp has 128", DEC(136)},
    {".inc downwards", BOUND(512), 512, PTXEXEC_F_POOL, "the warp has 128", INC(120)},
    {"three warps", BOUND(128), 128, PTXEXEC_F_WARP_GROUP, "warp 2 exited without it",
     "shr.u32 %r4, %r1, 5;\nsetp.eq.u32 %p2, %r4, 2;\n@!%p2 " DEC(128)},
    {"a part of a warp", BOUND(128), 128, PTXEXEC_F_DIVERGED, "",
     "setp.eq.u32 %p2, %r1, 5;\n@!%p2 " DEC(128)},
    {"two counts in a group", BOUND(128), 128, PTXEXEC_F_WARP_GROUP, "instead",
     "setp.lt.u32 %p2, %r1, 32;\n@%p2 bra $A;\n" DEC(128) "bra $E;\n$A:\n" DEC(120) "$E:\n"},
    {"a CTA of three warps", ".maxnreg 64", 96, PTXEXEC_F_WARP_GROUP, "no warp 3", DEC(24)},
    /* elect.sync: one lane of those that are there; with seed 0 the first */
    {"elect", "", 64, GOOD, "",
     "elect.sync %r3|%p1, 0xFFFFFFFF;\nand.b32 %r5, %r1, 31;\nsetp.eq.u32 %p2, %r5, %r3;\n"
     "xor.pred %p2, %p2, %p1;\nvote.sync.ballot.b32 %r6, %p1, 0xFFFFFFFF;\npopc.b32 %r6, %r6;\n"
     "selp.u32 %r4, 0, %r6, %p2;\n" OUT("%r4")},
    {"elect among the lanes that are there", "", 32, GOOD, "",
     "setp.lt.u32 %p1, %r1, 5;\nmov.u32 %r4, 1;\n@%p1 bra $E;\n"
     "elect.sync %r3|%p2, 0xFFFFFFE0;\nsetp.ge.u32 %p2, %r3, 5;\nselp.u32 %r4, 1, 0, %p2;\n"
     "$E:\n" OUT("%r4")},
    {"elect after lanes exited", "", 32, GOOD, "",
     OUT("1") "setp.lt.u32 %p1, %r1, 5;\n@%p1 exit;\nelect.sync %r3|%p2, 0xFFFFFFFF;\n"
              "setp.ge.u32 %p2, %r3, 5;\nselp.u32 %r4, 1, 0, %p2;\n" OUT("%r4")},
    {"elect in divergent code", "", 32, PTXEXEC_F_DEADLOCK, "wait for the lanes",
     "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra $E;\nelect.sync %r3|%p2, 0xFFFFFFFF;\n$E:\n"
     "bar.warp.sync -1;\n"},
    {"elect by who is not named", "", 32, PTXEXEC_F_MEMBER_MASK, "does not name it",
     "elect.sync %r3|%p2, 0x0000FFFF;\n"},
    {"elect without a mask", "", 32, PTXEXEC_F_POISON_SYNC, "member mask",
     "elect.sync %r3|%p2, %r90;\n"},
    /* no effect on results */
    {"grids and caches", "", 32, GOOD, "",
     "griddepcontrol.wait;\ncreatepolicy.fractional.L2::evict_last.b64 %rd6, 1.0;\n"
     "createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %rd7, 0.5;\n"
     "createpolicy.range.global.L2::evict_last.b64 %rd8, [%rd2], 64, 128;\n"
     "applypriority.global.L2::evict_normal [%rd2], 128;\n"
     "mov.u32 %r3, 1;\nmad.wide.u32 %rd5, %r1, 4, %rd2;\n"
     "st.global.L2::cache_hint.u32 [%rd5], %r3, %rd6;\n"
     "ld.global.L2::cache_hint.u32 %r4, [%rd5], %rd7;\n" OUT(
         "%r4") "griddepcontrol.launch_dependents;\n"},
};

static bool has_ones(const row *x, const ptx_result *r)
{
    for (uint32_t t = 0; t < x->block; t++) {
        uint32_t v = 0;
        memcpy(&v, r->out + (size_t)t * 4, 4);
        if (v != 1) {
            printf("  thread %u wrote %u\n", t, v);
            return false;
        }
    }
    return true;
}

static uint32_t try_row(const row *x)
{
    static ptx_result r;
    for (uint64_t seed = 0; seed < 40; seed++) {
        ptx_case c = {.body = x->body,
                      .directives = x->directives,
                      .block = x->block,
                      .out_size = 4096,
                      .seed = seed};
        ptx_run(&c, &r);
        bool is_ok = x->kind == GOOD ? r.status == PTXEXEC_OK && has_ones(x, &r)
                                     : r.status == PTXEXEC_E_FAULT && r.fault.kind == x->kind &&
                                           strstr(r.message, x->says) != NULL;
        if (!is_ok) {
            printf("%s, seed %llu: status %d, kind %d, line %u: %s\n", x->name,
                   (unsigned long long)seed, (int)r.status, (int)r.fault.kind, r.fault.at.line,
                   r.message);
            return 1;
        }
    }
    return 0;
}

/* Refused when the module is read. */
static uint32_t try_refused(void)
{
    static ptx_result r;
    static const char *const bodies[] = {INC(250), DEC(16), INC(264),
                                         "setmaxnreg.inc.sync.aligned.u32 %r1;\n"};
    uint32_t n_bad = 0;
    for (uint32_t k = 0; k < sizeof bodies / sizeof bodies[0]; k++) {
        ptx_case c = {.body = bodies[k], .block = 128};
        ptx_run(&c, &r);
        if (r.status != PTXEXEC_E_INVALID) {
            printf("%s: status %d %s\n", bodies[k], (int)r.status, r.message);
            n_bad++;
        }
    }
    return n_bad;
}

int main(void)
{
    uint32_t n_bad = try_refused();
    for (uint32_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        n_bad += try_row(&rows[k]);
    }
    printf("%u failed\n", n_bad);
    return n_bad == 0 ? 0 : 1;
}
