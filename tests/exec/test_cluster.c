/* test_cluster.c: clusters of several shapes: distributed shared memory, remote atomics, multicast,
 * bulk copies between CTAs, st.async and red.async, special registers and address instructions,
 * against sums written here; several seeds, in both modes of the race detector. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/exec/ptxexec.h"

enum { N_THREADS = 96, WORDS = 128, MAX_CTAS = 24, N_SEEDS = 3 };

typedef struct shape {
    uint32_t grid[3], cluster[3];
} shape;

static const shape shapes[] = {{{2, 1, 1}, {2, 1, 1}}, {{3, 1, 1}, {3, 1, 1}},
                               {{8, 1, 1}, {4, 1, 1}}, {{2, 6, 1}, {1, 3, 1}},
                               {{4, 2, 3}, {2, 2, 1}}, {{2, 2, 4}, {2, 2, 2}},
                               {{5, 1, 1}, {1, 1, 1}}, {{16, 1, 1}, {16, 1, 1}}};

/* Of each CTA: WORDS words of out. %r1 = tid, %r2 = rank, %r3 = CTAs of the cluster, %r4 = sm, %rd2
 * = the CTA's words. */
static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".shared .align 1024 .b8 sm[16384];\n.shared .align 8 .b64 bar;\n"
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .pred %p<8>;\n.reg .b16 %h<4>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<16>;\n"
    "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n"
    "mov.u32 %r2, %cluster_ctarank;\nmov.u32 %r3, %cluster_nctarank;\nmov.u32 %r4, sm;\n"
    "mov.u32 %r5, %ctaid.z;\nmov.u32 %r6, %nctaid.y;\nmov.u32 %r7, %ctaid.y;\n"
    "mad.lo.u32 %r5, %r5, %r6, %r7;\nmov.u32 %r6, %nctaid.x;\nmov.u32 %r7, %ctaid.x;\n"
    "mad.lo.u32 %r5, %r5, %r6, %r7;\nmul.wide.u32 %rd3, %r5, 512;\nadd.u64 %rd2, %rd2, %rd3;\n"
    "mul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd4, %rd2, %rd3;\nsetp.eq.u32 %p1, %r1, 0;\n"
    "mad.lo.u32 %r8, %r1, 4, %r4;\n" /* own word */
    "add.u32 %r9, %r2, 1;\nrem.u32 %r9, %r9, %r3;\n" /* next rank */;

#define CLUSTER_SYNC \
    "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
#define INIT(n)                               \
    "@%p1 mbarrier.init.shared.b64 [bar], " n \
    ";\n@%p1 fence.mbarrier_init.release.cluster;\n" CLUSTER_SYNC "mov.u32 %r10, bar;\n"
#define WAIT                                                                                   \
    "$W:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra " \
    "$W;\n"

typedef uint32_t (*expectation)(uint32_t rank, uint32_t n, uint32_t tid);

/* The next CTA's words, by address of its space and by a generic one. */
static const char read_next[] =
    "mad.lo.u32 %r11, %r2, 1000, %r1;\nst.shared.b32 [%r8], %r11;\n" CLUSTER_SYNC
    "mapa.shared::cluster.u32 %r12, %r8, %r9;\nld.shared::cluster.b32 %r13, [%r12];\n"
    "cvt.u64.u32 %rd5, %r8;\ncvta.shared.u64 %rd5, %rd5;\nmapa.u64 %rd6, %rd5, %r9;\n"
    "ld.b32 %r14, [%rd6];\nadd.u32 %r13, %r13, %r14;\n"
    "getctarank.shared::cluster.u32 %r15, %r12;\nsetp.ne.u32 %p3, %r15, %r9;\n@%p3 trap;\n"
    "getctarank.u64 %r15, %rd6;\nsetp.ne.u32 %p3, %r15, %r9;\n@%p3 trap;\n"
    "isspacep.shared::cluster %p3, %rd6;\n@!%p3 trap;\nisspacep.shared %p3, %rd5;\n@!%p3 trap;\n"
    "isspacep.shared::cta %p3, %rd6;\nsetp.eq.u32 %p4, %r2, %r9;\n@!%p4 bra $O;\nnot.pred %p3, "
    "%p3;\n"
    "$O:\n@%p3 trap;\n" CLUSTER_SYNC "st.global.b32 [%rd4], %r13;\n";
static uint32_t want_next(uint32_t rank, uint32_t n, uint32_t tid)
{
    return 2 * ((rank + 1) % n * 1000 + tid);
}

/* All add into rank 0 and into the next one. */
static const char add_remote[] = "st.shared.b32 [%r8], 7;\n" CLUSTER_SYNC
                                 "mov.u32 %r11, 0;\nmapa.shared::cluster.u32 %r12, %r8, %r11;\n"
                                 "red.relaxed.cluster.shared::cluster.add.u32 [%r12], %r2;\n"
                                 "mapa.shared::cluster.u32 %r12, %r8, %r9;\n"
                                 "atom.shared::cluster.add.u32 %r13, [%r12], 100;\n" CLUSTER_SYNC
                                 "ld.shared.b32 %r14, [%r8];\nst.global.b32 [%rd4], %r14;\n";
static uint32_t want_add(uint32_t rank, uint32_t n, uint32_t tid)
{
    (void)tid;
    return 107 + (rank == 0 ? n * (n - 1) / 2 : 0);
}

/* Every CTA loads 512 bytes of `in` and gives them to all; each adds up what it got. */
static const char multicast[] = INIT(
    "1") "shl.b32 %r11, %r3, 9;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r11;\n"
         "shl.b32 %r12, %r2, 9;\nadd.u32 %r13, %r4, %r12;\ncvt.u64.u32 %rd5, %r12;\n"
         "add.u64 %rd5, %rd5, %rd1;\nmov.u32 %r14, 1;\nshl.b32 %r14, %r14, %r3;\nsub.u32 %r14, "
         "%r14, 1;\n"
         "cvt.u16.u32 %h1, %r14;\n"
         "@%p1 "
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
         "[%r13], [%rd5], 512, [bar], %h1;\n" WAIT
         "mov.u32 %r15, 0;\nmov.u32 %r16, 0;\n$L:\nshl.b32 %r17, %r16, 9;\nadd.u32 %r17, %r17, "
         "%r8;\n"
         "ld.shared.b32 %r18, [%r17];\nadd.u32 %r15, %r15, %r18;\nadd.u32 %r16, %r16, 1;\n"
         "setp.lt.u32 %p3, %r16, %r3;\n@%p3 bra $L;\nst.global.b32 [%rd4], %r15;\n" CLUSTER_SYNC;
static uint32_t in_word(uint32_t k)
{
    return k * 2654435761u;
}
static uint32_t want_multicast(uint32_t rank, uint32_t n, uint32_t tid)
{
    uint32_t sum = 0;
    (void)rank;
    for (uint32_t k = 0; k < n; k++) {
        sum += in_word(k * 128 + tid);
    }
    return sum;
}

/* A bulk copy of 384 bytes to the next CTA (with a cluster of one, to itself). */
static const char send_next[] =
    INIT("1") "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 384;\n"
              "mad.lo.u32 %r11, %r2, 77, %r1;\nst.shared.b32 [%r8], "
              "%r11;\nfence.proxy.async;\nbar.sync 0;\n"
              "add.u32 %r12, %r4, 4096;\nmapa.shared::cluster.u32 %r12, %r12, %r9;\n"
              "mapa.shared::cluster.u32 %r13, %r10, %r9;\n"
              "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], "
              "[%r4], 384, "
              "[%r13];\n" WAIT
              "ld.shared.b32 %r14, [%r8+4096];\nst.global.b32 [%rd4], %r14;\n" CLUSTER_SYNC;
static uint32_t want_send(uint32_t rank, uint32_t n, uint32_t tid)
{
    return (rank + n - 1) % n * 77 + tid;
}

/* Two words from each thread to the next CTA, and one added to a word there. */
static const char store_async[] = "st.shared.b32 [%r8+8192], 5;\n" INIT(
    "1") "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1152;\n"
         "mapa.shared::cluster.u32 %r13, %r10, %r9;\nmad.lo.u32 %r11, %r1, 8, %r4;\n"
         "mapa.shared::cluster.u32 %r12, %r11, %r9;\nadd.u32 %r14, %r1, 3;\n"
         "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r12], {%r14, %r2}, "
         "[%r13];\n"
         "mapa.shared::cluster.u32 %r15, %r8, %r9;\n"
         "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
         "[%r15+8192], "
         "%r14, [%r13];\n" WAIT
         "ld.shared.v2.b32 {%r16, %r17}, [%r11];\nld.shared.b32 %r18, [%r8+8192];\n"
         "mad.lo.u32 %r16, %r17, 1000, %r16;\nadd.u32 %r16, %r16, %r18;\nst.global.b32 [%rd4], "
         "%r16;\n" CLUSTER_SYNC;
static uint32_t want_store(uint32_t rank, uint32_t n, uint32_t tid)
{
    return (rank + n - 1) % n * 1000 + 2 * (tid + 3) + 5;
}

static const struct {
    const char *name, *body;
    expectation want;
} kernels[] = {{"read of the next CTA", read_next, want_next},
               {"atomics in other CTAs", add_remote, want_add},
               {"multicast", multicast, want_multicast},
               {"bulk copy to the next CTA", send_next, want_send},
               {"st.async and red.async", store_async, want_store}};

static bool check(const char *name, const shape *s, expectation want, const uint32_t *out)
{
    uint32_t n = s->cluster[0] * s->cluster[1] * s->cluster[2];
    for (uint32_t z = 0; z < s->grid[2]; z++) {
        for (uint32_t y = 0; y < s->grid[1]; y++) {
            for (uint32_t x = 0; x < s->grid[0]; x++) {
                uint32_t rank =
                    x % s->cluster[0] +
                    s->cluster[0] * (y % s->cluster[1] + s->cluster[1] * (z % s->cluster[2]));
                uint32_t cta = x + s->grid[0] * (y + s->grid[1] * z);
                for (uint32_t t = 0; t < N_THREADS; t++) {
                    uint32_t got = out[cta * WORDS + t];
                    if (got != want(rank, n, t)) {
                        printf("%s: CTA %u,%u,%u, thread %u: %u, expected %u\n", name, x, y, z, t,
                               got, want(rank, n, t));
                        return false;
                    }
                }
            }
        }
    }
    return true;
}

static bool try_one(uint32_t kernel, const shape *s, uint64_t seed, ptxexec_races races)
{
    static uint32_t out[MAX_CTAS * WORDS];
    static uint32_t in[16 * 128];
    static char text[8192];
    uint64_t at[2] = {0, 0};
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    for (uint32_t k = 0; k < sizeof in / 4; k++) {
        in[k] = in_word(k);
    }
    (void)snprintf(text, sizeof text, "%s%sret;\n}\n", head, kernels[kernel].body);
    if (ptxexec_module_load(NULL, text, strlen(text), &m) != PTXEXEC_OK) {
        printf("%s: %s\n", kernels[kernel].name, ptxexec_module_diag(m, 0).message);
        ptxexec_module_destroy(m);
        return false;
    }
    bool is_ok =
        ptxexec_device_create(NULL, &d) == PTXEXEC_OK &&
        ptxexec_device_alloc(d, sizeof in, PTXEXEC_FILL_ZERO, "in", &at[0]) == PTXEXEC_OK &&
        ptxexec_device_write(d, at[0], in, sizeof in) == PTXEXEC_OK &&
        ptxexec_device_alloc(d, sizeof out, PTXEXEC_FILL_ZERO, "out", &at[1]) == PTXEXEC_OK;
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .block = {N_THREADS, 1, 1},
                                .params = at,
                                .params_size = sizeof at,
                                .seed = seed,
                                .races = races};
    memcpy(o.grid, s->grid, sizeof o.grid);
    memcpy(o.cluster, s->cluster, sizeof o.cluster);
    is_ok = is_ok && ptxexec_launch(d, m, &o, &r) == PTXEXEC_OK;
    if (!is_ok && r != NULL && ptxexec_report_fault_count(r) > 0) {
        ptxexec_fault f = ptxexec_report_fault(r, 0);
        printf("%s, cluster %ux%ux%u, seed %llu, races %d: line %u (other %u): %s: %s\n",
               kernels[kernel].name, s->cluster[0], s->cluster[1], s->cluster[2],
               (unsigned long long)seed, (int)races, f.at.line, f.other.line,
               ptxexec_fault_kind_text(f.kind), f.message);
    }
    is_ok = is_ok && ptxexec_device_read(d, at[1], out, sizeof out, NULL, NULL) == PTXEXEC_OK &&
            check(kernels[kernel].name, s, kernels[kernel].want, out);
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    return is_ok;
}

int main(void)
{
    uint32_t n_fail = 0;
    for (uint32_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        for (uint32_t j = 0; j < sizeof shapes / sizeof shapes[0]; j++) {
            for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
                n_fail += try_one(k, &shapes[j], seed, (ptxexec_races)(seed % 3)) ? 0 : 1;
            }
        }
    }
    printf("%u failed\n", n_fail);
    return n_fail == 0 ? 0 : 1;
}
