/* test_wgmma_faults.c: what a warp group may not do, each beside a neighbour that is right, over
 * many seeds; shapes and types that do not go together; every reserved bit of a descriptor; and
 * that a product reads shared memory between its issue and its wait. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ptx_run.h"

/* 128 threads or more. A: 64 x 16 halves of 1.0 at sm, B: 8 x 16 at sm + 2048, K-major without
 * swizzle; %rd10, %rd11 their descriptors; accumulators %f0 .. %f3, others from %f4 on; registers
 * of A: %r10 .. %r13, all 1.0. */
#define BEGIN                                                                                     \
    "mov.u32 %r3, sm;\nmad.lo.u32 %r3, %r1, 32, %r3;\nmov.b32 %r4, 0x3C003C00;\n"                 \
    "st.shared.v4.b32 [%r3], {%r4,%r4,%r4,%r4};\nst.shared.v4.b32 [%r3+16], {%r4,%r4,%r4,%r4};\n" \
    "mov.u64 %rd10, 0x0000001000080040;\nmov.u64 %rd11, 0x00000010000800C0;\n"                    \
    "mov.b32 %r10, %r4;\nmov.b32 %r11, %r4;\nmov.b32 %r12, %r4;\nmov.b32 %r13, %r4;\n"            \
    "mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n"         \
    "mov.f32 %f4, %f0;\nmov.f32 %f5, %f0;\nmov.f32 %f6, %f0;\nmov.f32 %f7, %f0;\n"                \
    "shr.u32 %r5, %r1, 5;\nmad.wide.u32 %rd5, %r1, 4, %rd2;\n"                                    \
    "fence.proxy.async;\nbar.sync 0;\n"
#define FENCE    "wgmma.fence.sync.aligned;\n"
#define COMMIT   "wgmma.commit_group.sync.aligned;\n"
#define WAIT(n)  "wgmma.wait_group.sync.aligned " #n ";\n"
#define OP       "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
#define MMA      OP "{%f0,%f1,%f2,%f3}, %rd10, %rd11, 1, 1, 1, 0, 0;\n"
#define MMA_NEXT OP "{%f4,%f5,%f6,%f7}, %rd10, %rd11, 1, 1, 1, 0, 0;\n"
#define MMA_REGS OP "{%f0,%f1,%f2,%f3}, {%r10,%r11,%r12,%r13}, %rd11, 1, 1, 1, 0;\n"
#define MMA_TF32                                                                                 \
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0,%f1,%f2,%f3}, %rd10, %rd11, 1, 1, " \
    "1;\n"
/* 32 columns, in groups of 8 that lie the stride of the descriptor apart. */
#define MMA_WIDE                                                                              \
    "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%f10,%f11,%f12,%f13,%f14,%f15,%f16," \
    "%f17,%f18,%f19,%f20,%f21,%f22,%f23,%f24,%f25}, %rd10, %rd11, 0, 1, 1, 0, 0;\n"
#define STORE      "st.global.f32 [%rd5], %f0;\n"
#define STORE_NEXT "st.global.f32 [%rd5], %f4;\n"

#define GOOD PTXEXEC_F_NONE

typedef struct pair {
    const char *name;
    ptxexec_fault_kind kind;
    const char *body;
    const char *says; /* part of the message */
    uint32_t block;
} pair;

static const pair pairs[] = {
    {"plain", GOOD, BEGIN FENCE MMA COMMIT WAIT(0) STORE, "", 0},
    {"no fence", PTXEXEC_F_WGMMA_FENCE, BEGIN MMA COMMIT WAIT(0) STORE, "no wgmma.fence", 0},
    {"write after the fence", PTXEXEC_F_WGMMA_FENCE,
     BEGIN FENCE "mov.f32 %f2, 0f00000000;\n" MMA COMMIT WAIT(0) STORE, "product was written", 0},
    {"write of another register after the fence", GOOD,
     BEGIN FENCE "mov.f32 %f6, 0f00000000;\n" MMA COMMIT WAIT(0) STORE, "", 0},
    {"no fence after a read", PTXEXEC_F_WGMMA_FENCE,
     BEGIN FENCE MMA COMMIT WAIT(0) STORE MMA COMMIT WAIT(0), "product was read", 0},
    {"fence after a read", GOOD,
     BEGIN FENCE MMA COMMIT WAIT(0) STORE FENCE MMA COMMIT WAIT(0) STORE, "", 0},
    {"chain", GOOD, BEGIN FENCE MMA MMA COMMIT MMA COMMIT WAIT(0) STORE, "", 0},
    {"chain after a wait", GOOD, BEGIN FENCE MMA COMMIT WAIT(0) MMA COMMIT WAIT(0) STORE, "", 0},
    {"chain of two shapes", PTXEXEC_F_IN_FLIGHT, BEGIN FENCE MMA MMA_TF32 COMMIT WAIT(0) STORE,
     "is in flight", 0},
    {"two shapes without a fence", PTXEXEC_F_WGMMA_FENCE,
     BEGIN FENCE MMA COMMIT WAIT(0) MMA_TF32 COMMIT WAIT(0) STORE, "another shape", 0},
    {"two shapes with a fence", GOOD,
     BEGIN FENCE MMA COMMIT WAIT(0) FENCE MMA_TF32 COMMIT WAIT(0) STORE, "", 0},
    {"no wait", PTXEXEC_F_IN_FLIGHT, BEGIN FENCE MMA COMMIT STORE WAIT(0), "no wgmma.wait_group",
     0},
    {"no commit", PTXEXEC_F_IN_FLIGHT, BEGIN FENCE MMA WAIT(0) STORE, "no wgmma.commit_group", 0},
    {"write in flight", PTXEXEC_F_IN_FLIGHT,
     BEGIN FENCE MMA COMMIT "mov.f32 %f3, 0f00000000;\n" WAIT(0), "writes an accumulator", 0},
    {"part of a vector in flight", PTXEXEC_F_IN_FLIGHT,
     BEGIN FENCE MMA COMMIT "st.global.v2.f32 [%rd2], {%f7,%f1};\n" WAIT(0), "reads an accumulator",
     0},
    {"one group may be open: the older", GOOD,
     BEGIN FENCE MMA COMMIT MMA_NEXT COMMIT WAIT(1) STORE WAIT(0), "", 0},
    {"one group may be open: the newer", PTXEXEC_F_IN_FLIGHT,
     BEGIN FENCE MMA COMMIT MMA_NEXT COMMIT WAIT(1) STORE_NEXT WAIT(0), "no wgmma.wait_group", 0},
    {"A written in flight", PTXEXEC_F_IN_FLIGHT,
     BEGIN FENCE MMA_REGS COMMIT "mov.b32 %r12, 0;\n" WAIT(0), "writes a register of A", 0},
    {"A read in flight", GOOD, BEGIN FENCE MMA_REGS COMMIT "add.u32 %r20, %r12, 1;\n" WAIT(0), "",
     0},
    {"A in two products", GOOD, BEGIN FENCE MMA_REGS MMA_REGS COMMIT WAIT(0) STORE, "", 0},
    {"A written after the wait", GOOD,
     BEGIN FENCE MMA_REGS COMMIT WAIT(0) "mov.b32 %r12, 0;\n" FENCE MMA_REGS COMMIT WAIT(0) STORE,
     "", 0},
    {"A written without a fence", PTXEXEC_F_WGMMA_FENCE,
     BEGIN FENCE MMA_REGS COMMIT WAIT(0) "mov.b32 %r12, 0;\n" MMA_REGS COMMIT WAIT(0) STORE,
     "register of A of this product was written", 0},
    {"accumulator as A", PTXEXEC_F_IN_FLIGHT,
     BEGIN FENCE MMA OP "{%f4,%f5,%f6,%f7}, {%f0,%f1,%f2,%f3}, %rd11, 1, 1, 1, 0;\n" COMMIT WAIT(0),
     "reads an accumulator", 0},
    {"A as accumulator", PTXEXEC_F_IN_FLIGHT,
     BEGIN FENCE MMA_REGS OP "{%r10,%r11,%r12,%r13}, %rd10, %rd11, 1, 1, 1, 0, 0;\n" COMMIT WAIT(0),
     "writes a register of A", 0},
    {"three warps, wait", PTXEXEC_F_WARP_GROUP,
     BEGIN "setp.eq.u32 %p1, %r5, 2;\n" FENCE "@!%p1 " MMA COMMIT WAIT(0), "the warps 2 of", 0},
    {"three warps, no wait", PTXEXEC_F_WARP_GROUP,
     BEGIN "setp.eq.u32 %p1, %r5, 2;\n@%p1 exit;\n" FENCE MMA COMMIT, "the warps 2 of", 0},
    {"a warp behind", PTXEXEC_F_WARP_GROUP,
     BEGIN "setp.eq.u32 %p1, %r5, 1;\n" FENCE MMA COMMIT "@!%p1 " MMA COMMIT WAIT(0),
     "the warps 1 of", 0},
    {"other products", PTXEXEC_F_WARP_GROUP,
     BEGIN "setp.eq.u32 %p1, %r5, 1;\n" FENCE "@%p1 bra $L;\n" MMA "bra $E;\n$L:\n" MMA_NEXT
           "$E:\n" COMMIT WAIT(0),
     "executed line", 0},
    {"other groups", PTXEXEC_F_WARP_GROUP,
     BEGIN "setp.eq.u32 %p1, %r5, 3;\n" FENCE MMA "@!%p1 " COMMIT MMA COMMIT WAIT(0),
     "number of groups", 0},
    {"other descriptors", PTXEXEC_F_WARP_GROUP,
     BEGIN "cvt.u64.u32 %rd12, %r5;\nadd.u64 %rd11, %rd11, %rd12;\n" FENCE MMA COMMIT WAIT(0),
     "descriptor of B is not", 0},
    {"other scale-d", PTXEXEC_F_WARP_GROUP,
     BEGIN "setp.eq.u32 %p1, %r5, 3;\n" FENCE OP
           "{%f0,%f1,%f2,%f3}, %rd10, %rd11, %p1, 1, 1, 0, 0;\n" COMMIT WAIT(0),
     "scale-d is not", 0},
    {"a part of a warp", PTXEXEC_F_DIVERGED,
     BEGIN "setp.eq.u32 %p1, %r1, 3;\n" FENCE "@!%p1 " MMA COMMIT WAIT(0), "", 0},
    {"a lane has exited", PTXEXEC_F_DIVERGED,
     BEGIN "setp.eq.u32 %p1, %r1, 3;\n@%p1 exit;\n" FENCE MMA COMMIT WAIT(0), "all 32 lanes", 0},
    {"three warps in the CTA", PTXEXEC_F_WARP_GROUP, BEGIN FENCE MMA COMMIT WAIT(0), "no warp 3",
     96},
    {"two warp groups", GOOD,
     BEGIN "setp.lt.u32 %p1, %r5, 4;\n" FENCE MMA COMMIT "@%p1 bra $E;\n" MMA COMMIT MMA_NEXT COMMIT
           "$E:\n" WAIT(0) STORE,
     "", 256},
    {"lanes disagree about a descriptor", PTXEXEC_F_DESCRIPTOR,
     BEGIN "cvt.u64.u32 %rd12, %r1;\nadd.u64 %rd10, %rd10, %rd12;\n" FENCE MMA COMMIT WAIT(0),
     "lane 1", 0},
    {"reserved bits", PTXEXEC_F_DESCRIPTOR,
     BEGIN "mov.u64 %rd10, 0x0000401000080040;\n" FENCE MMA COMMIT WAIT(0), "reserved", 0},
    {"lanes disagree about scale-d", PTXEXEC_F_WARP_GROUP,
     BEGIN "setp.eq.u32 %p1, %r1, 3;\n" FENCE OP
           "{%f0,%f1,%f2,%f3}, %rd10, %rd11, %p1, 1, 1, 0, 0;\n" COMMIT WAIT(0),
     "scale-d is true in", 0},
    {"behind shared memory", PTXEXEC_F_OUT_OF_BOUNDS,
     BEGIN "mov.u64 %rd11, 0x0000001000081040;\n" FENCE MMA COMMIT WAIT(0), "matrix B", 0},
    {"the last row of A behind shared memory", PTXEXEC_F_OUT_OF_BOUNDS,
     BEGIN "mov.u64 %rd10, 0x0000024700080040;\n" FENCE MMA COMMIT WAIT(0), "matrix A", 0},
    {"the last row of A within it", GOOD,
     BEGIN "mov.u64 %rd10, 0x0000024600080040;\n" FENCE MMA COMMIT WAIT(0), "", 0},
    {"the last column of B behind shared memory", PTXEXEC_F_OUT_OF_BOUNDS,
     BEGIN "mov.u64 %rd11, 0x0000055100080040;\n" FENCE MMA_WIDE COMMIT WAIT(0), "matrix B", 0},
    {"the last column of B within it", GOOD,
     BEGIN "mov.u64 %rd11, 0x0000055000080040;\n" FENCE MMA_WIDE COMMIT WAIT(0), "", 0},
    {"before shared memory", PTXEXEC_F_OUT_OF_BOUNDS,
     BEGIN "mov.u64 %rd10, 0x000000100008003F;\n" FENCE MMA COMMIT WAIT(0), "matrix A", 0},
    {"poison of B reaches its columns", PTXEXEC_F_POISON_BRANCH,
     BEGIN "mov.u64 %rd11, 0x0000001000080200;\n" FENCE MMA COMMIT WAIT(
         0) "setp.eq.f32 %p1, %f0, 0f00000000;\n@%p1 exit;\n",
     "", 0},
    {"scale-d false wants no accumulator", GOOD,
     BEGIN FENCE OP "{%f10,%f11,%f12,%f13}, %rd10, %rd11, 0, 1, 1, 0, 0;\n" COMMIT WAIT(
         0) "setp.eq.f32 %p1, %f10, 0f00000000;\n@%p1 exit;\n",
     "", 0},
    {"scale-d true wants one", PTXEXEC_F_POISON_BRANCH,
     BEGIN FENCE OP "{%f10,%f11,%f12,%f13}, %rd10, %rd11, 1, 1, 1, 0, 0;\n" COMMIT WAIT(
         0) "setp.eq.f32 %p1, %f10, 0f00000000;\n@%p1 exit;\n",
     "", 0},
};

static uint32_t try_pair(const pair *p)
{
    static ptx_result r;
    for (uint64_t seed = 0; seed < 40; seed++) {
        ptx_case c = {.body = p->body,
                      .block = p->block != 0 ? p->block : 128,
                      .out_size = 1024,
                      .seed = seed};
        ptx_run(&c, &r);
        bool is_ok = p->kind == GOOD
                         ? r.status == PTXEXEC_OK
                         : r.status == PTXEXEC_E_FAULT && r.fault.kind == p->kind &&
                               strstr(r.message, p->says) != NULL && r.fault.at.line >= PTX_LINE_1;
        if (p->kind == PTXEXEC_F_IN_FLIGHT) {
            is_ok = is_ok && r.fault.has_other != 0 && r.fault.other.line < r.fault.at.line &&
                    r.fault.other.line > PTX_LINE_1;
        }
        if (!is_ok) {
            printf("%s, seed %llu: status %d, kind %d, line %u: %s\n", p->name,
                   (unsigned long long)seed, (int)r.status, (int)r.fault.kind, r.fault.at.line,
                   r.message);
            return 1;
        }
    }
    return 0;
}

/* Shape and types of products, and the immediates behind scale-d: which there are. */
static const struct {
    const char *form;
    uint32_t n_acc;
    const char *rest;
    bool is_known;
} forms[] = {
    {"m64n40k16.f32.f16.f16", 20, "1, 1, 0, 0", true},
    {"m64n36k16.f32.f16.f16", 18, "1, 1, 0, 0", false},
    {"m64n8k8.f32.f16.f16", 4, "1, 1, 0, 0", false},
    {"m64n8k32.f32.f16.f16", 4, "1, 1, 0, 0", false},
    {"m64n8k16.f32.f16.bf16", 4, "1, 1, 0, 0", false},
    {"m64n8k16.f16.bf16.bf16", 2, "1, 1, 0, 0", false},
    {"m64n8k16.f32.f16.f16", 4, "1, 1, 0", false},
    {"m64n8k16.f32.f16.f16", 4, "1, 2, 0, 0", false},
    {"m64n8k16.f32.f16.f16", 4, "1, 1, 0, -1", false},
    {"m64n8k16.f32.f16.f16", 3, "1, 1, 0, 0", false},
    {"m64n8k8.f32.tf32.tf32", 4, "1, 1", true},
    {"m64n8k8.f32.tf32.tf32", 4, "1, 1, 0, 0", false},
    {"m64n8k32.f32.e4m3.e5m2", 4, "1, 1", true},
    {"m64n8k16.f32.e4m3.e4m3", 4, "1, 1", false},
    {"m64n24k32.s32.s8.u8", 12, "", true},
    {"m64n32k32.s32.s8.u8", 16, "", true},
    {"m64n40k32.s32.s8.u8", 20, "", false},
    {"m64n8k32.s32.s8.s8.satfinite", 4, "", true},
    {"m64n8k16.f32.f16.f16.satfinite", 4, "1, 1, 0, 0", false},
    {"m64n8k256.s32.b1.b1.and.popc", 4, "", true},
    {"m64n8k256.s32.b1.b1.xor.popc", 4, "", false},
    {"m64n8k128.s32.b1.b1.and.popc", 4, "", false},
};

static uint32_t try_forms(void)
{
    static ptx_result r;
    uint32_t n_bad = 0;
    for (uint32_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
        char body[4096];
        size_t n = (size_t)snprintf(body, sizeof body, "%swgmma.mma_async.sync.aligned.%s {%%r20",
                                    BEGIN FENCE, forms[k].form);
        for (uint32_t j = 1; j < forms[k].n_acc; j++) {
            n += (size_t)snprintf(body + n, sizeof body - n, ", %%r%u", 20 + j);
        }
        (void)snprintf(body + n, sizeof body - n, "}, %%rd10, %%rd11, 0%s%s;\n%s",
                       forms[k].rest[0] != 0 ? ", " : "", forms[k].rest, COMMIT WAIT(0));
        ptx_case c = {.body = body, .block = 128, .out_size = 1024};
        ptx_run(&c, &r);
        bool is_refused = r.status != PTXEXEC_OK && r.status != PTXEXEC_E_FAULT;
        if (is_refused == forms[k].is_known) {
            printf("%s, %s: status %d: %s\n", forms[k].form, forms[k].rest, (int)r.status,
                   r.message);
            n_bad++;
        }
    }
    return n_bad;
}

/* Bits of a descriptor that are fields; all others are reserved. */
static bool is_field(uint32_t bit)
{
    return bit <= 13 || (bit >= 16 && bit <= 29) || (bit >= 32 && bit <= 45) ||
           (bit >= 49 && bit <= 51) || bit >= 62;
}

static uint32_t try_reserved(void)
{
    static ptx_result r;
    char body[4096];
    uint32_t n_bad = 0;
    for (uint32_t k = 0; k < 2 * 64; k++) {
        uint32_t bit = k / 2;
        if (is_field(bit)) {
            continue;
        }
        (void)snprintf(body, sizeof body, "%sxor.b64 %%rd1%u, %%rd1%u, 0x%llx;\n%s", BEGIN, k % 2,
                       k % 2, 1ull << bit, FENCE MMA COMMIT WAIT(0));
        ptx_case c = {.body = body, .block = 128, .out_size = 1024};
        ptx_run(&c, &r);
        if (r.status != PTXEXEC_E_FAULT || r.fault.kind != PTXEXEC_F_DESCRIPTOR) {
            printf("bit %u of the descriptor of %s: status %d: %s\n", bit, k % 2 == 0 ? "A" : "B",
                   (int)r.status, r.message);
            n_bad++;
        }
    }
    return n_bad;
}

/* B, or A, is overwritten by twos between the product and its wait: with some seeds the product is
 * of what was there, with others of what came. */
static uint32_t try_times(const char *name, uint32_t at, bool has_wait)
{
    static ptx_result r;
    char body[4096];
    static const char between[] =
        "bar.sync 0;\nmov.u32 %r20, 0;\nmov.b32 %r21, 0x40004000;\n"
        "mov.u32 %r3, sm;\nmad.lo.u32 %r3, %r1, 16, %r3;\n"
        "$L:\nadd.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, 100;\n@%p1 bra $L;\n";
    static const char behind[] =
        "$M:\nadd.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, 200;\n@%p1 bra $M;\n"
        "bar.sync 0;\n" WAIT(0) STORE;
    (void)snprintf(body, sizeof body,
                   "%s%s%sst.shared.v4.b32 [%%r3+%u], {%%r21,%%r21,%%r21,%%r21};\n%s",
                   BEGIN FENCE MMA COMMIT, has_wait ? WAIT(0) : "", between, at, behind);
    uint32_t n_old = 0;
    uint32_t n_new = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        ptx_case c = {.body = body, .block = 128, .out_size = 512, .seed = seed};
        ptx_run(&c, &r);
        float x = 0;
        memcpy(&x, r.out, sizeof x);
        n_old += r.status == PTXEXEC_OK && x == 16.0f ? 1 : 0;
        n_new += r.status == PTXEXEC_OK && x == 32.0f ? 1 : 0;
    }
    bool is_ok = has_wait ? n_old == 40 : n_old >= 5 && n_new >= 5;
    if (!is_ok) {
        printf("%s: %u times the old, %u times the new\n", name, n_old, n_new);
    }
    return is_ok ? 0 : 1;
}

int main(void)
{
    uint32_t n_bad = 0;
    for (uint32_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        n_bad += try_pair(&pairs[k]);
    }
    n_bad += try_forms();
    n_bad += try_reserved();
    n_bad += try_times("A before the wait", 0, false);
    n_bad += try_times("B before the wait", 2048, false);
    n_bad += try_times("A behind the wait", 0, true);
    n_bad += try_times("B behind the wait", 2048, true);
    printf("%u failed\n", n_bad);
    return n_bad == 0 ? 0 : 1;
}
