/* test_trace.c: times of traces follow from what depends on what: nobody leaves a barrier before
 * the last one came, products follow each other, a track does one thing at a time; and the same
 * seed gives the same trace. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ptx_run.h"

static uint32_t fail(const char *what)
{
    printf("%s\n", what);
    return 1;
}

/* Things of one track do not overlap, and begin where the one before ended or later. */
static bool has_apart(const ptx_result *x)
{
    uint64_t end[PTXEXEC_TRACK_TENSOR + 1] = {0};
    for (size_t k = 0; k < x->n_events; k++) {
        const ptxexec_trace_event *e = &x->events[k];
        if (e->kind == PTXEXEC_TRACE_ARROW) {
            continue;
        }
        if (e->track > PTXEXEC_TRACK_TENSOR || e->start < end[e->track] || e->end <= e->start) {
            return false;
        }
        end[e->track] = e->end;
    }
    return true;
}

static size_t count(const ptx_result *x, ptxexec_trace_kind kind)
{
    size_t n = 0;
    for (size_t k = 0; k < x->n_events; k++) {
        n += x->events[k].kind == kind ? 1 : 0;
    }
    return n;
}

/* Warp 2 comes last to the barrier: the three others wait for it. */
static uint32_t try_barrier(uint64_t seed)
{
    static ptx_result r;
    static ptx_result again;
    ptx_case c = {.body = "shr.u32 %r3, %r1, 5;\nsetp.ne.u32 %p1, %r3, 2;\nmov.u32 %r4, 0;\n"
                          "@%p1 bra $B;\n$L:\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 50;\n"
                          "@%p2 bra $L;\n$B:\nbar.sync 0;\nadd.u32 %r4, %r4, 1;",
                  .block = 128,
                  .seed = seed,
                  .has_trace = 1};
    ptx_run(&c, &r);
    ptx_run(&c, &again);
    if (r.status != PTXEXEC_OK || !has_apart(&r) || count(&r, PTXEXEC_TRACE_WAIT) != 3 ||
        count(&r, PTXEXEC_TRACE_ARROW) != 3) {
        return fail("a barrier: three warps wait once each");
    }
    uint64_t at = 0;
    for (size_t k = 0; k < r.n_events; k++) {
        const ptxexec_trace_event *e = &r.events[k];
        bool is_bad = e->kind == PTXEXEC_TRACE_ARROW && (e->from != 2 || e->track == 2);
        is_bad = is_bad || (e->kind == PTXEXEC_TRACE_WAIT &&
                            ((at != 0 && e->end != at) || e->line != PTX_LINE_1 + 9));
        at = e->kind == PTXEXEC_TRACE_WAIT ? e->end : at;
        if (is_bad) {
            return fail("a barrier: all leave when warp 2 comes");
        }
    }
    if (r.n_events != again.n_events ||
        memcmp(r.events, again.events, r.n_events * sizeof r.events[0]) != 0) {
        return fail("one seed gave two traces");
    }
    return 0;
}

/* Two products of one group: they follow each other on the tensor core, 4 cycles each for n = 8,
 * and every warp waits for the second. */
static uint32_t try_products(uint64_t seed)
{
    static ptx_result r;
    ptx_case c = {
        .body =
            "mov.u32 %r3, sm;\nmad.lo.u32 %r3, %r1, 32, %r3;\nmov.b32 %r4, 0;\n"
            "st.shared.v4.b32 [%r3], {%r4,%r4,%r4,%r4};\n"
            "st.shared.v4.b32 [%r3+16], {%r4,%r4,%r4,%r4};\nfence.proxy.async;\nbar.sync 0;\n"
            "mov.u64 %rd10, 0x0000001000080040;\nmov.u64 %rd11, 0x00000010000800C0;\n"
            "wgmma.fence.sync.aligned;\n"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, "
            "0, 1, 1, 0, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, "
            "1, 1, 1, 0, 0;\n"
            "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;",
        .block = 128,
        .seed = seed,
        .has_trace = 1};
    ptx_run(&c, &r);
    if (r.status != PTXEXEC_OK || !has_apart(&r) || count(&r, PTXEXEC_TRACE_PRODUCT) != 2) {
        return fail("products: two, one after the other");
    }
    uint64_t end = 0;
    for (size_t k = 0; k < r.n_events; k++) {
        const ptxexec_trace_event *e = &r.events[k];
        if (e->kind == PTXEXEC_TRACE_PRODUCT) {
            if (e->end - e->start != 4 || e->track != PTXEXEC_TRACK_TENSOR) {
                return fail("products: 4 cycles each");
            }
            end = e->end;
        }
        if (e->kind == PTXEXEC_TRACE_WAIT && e->line == PTX_LINE_1 + 13 && e->end != end) {
            return fail("products: warps wait for the last one");
        }
    }
    return 0;
}

/* Warp 1 waits for a bulk copy of 1024 bytes that warp 0 issues: 32 cycles in the engine and 600
 * until the last byte came. Then warp 1 lets warp 0 go on, which stores 1024 bytes and waits for
 * that. */
static uint32_t try_copies(uint64_t seed)
{
    static ptx_result r;
    static const uint8_t in[1024];
    ptx_case c = {
        .body = "setp.eq.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r1, 32;\nsetp.lt.u32 %p4, %r1, 32;\n"
                "@%p1 mbarrier.init.shared.b64 [sm], 1;\n@%p1 mbarrier.init.shared.b64 [sm+8], 1;\n"
                "@%p1 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n@!%p4 bra $W;\n"
                "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [sm], 1024;\n"
                "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm+1024], "
                "[%rd1], 1024, [sm];\n"
                "$B:\nmbarrier.try_wait.parity.shared.b64 %p3, [sm+8], 0;\n@!%p3 bra $B;\n"
                "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [sm+1024], 1024;\n"
                "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;\nbra $E;\n"
                "$W:\nmbarrier.try_wait.parity.shared.b64 %p3, [sm], 0;\n@!%p3 bra $W;\n"
                "@%p2 mbarrier.arrive.shared.b64 _, [sm+8];\n$E:\n",
        .block = 64,
        .in = in,
        .in_size = sizeof in,
        .out_size = 1024,
        .seed = seed,
        .has_trace = 1};
    ptx_run(&c, &r);
    if (r.status != PTXEXEC_OK || !has_apart(&r) || count(&r, PTXEXEC_TRACE_COPY) != 2) {
        printf("%s\n", r.message);
        return fail("copies: two, one after the other");
    }
    uint64_t came[2] = {0, 0}; /* the copies' ends */
    uint64_t freed = 0;        /* when warp 1 went on */
    uint32_t n = 0;
    for (size_t k = 0; k < r.n_events; k++) {
        const ptxexec_trace_event *e = &r.events[k];
        if (e->kind == PTXEXEC_TRACE_COPY) {
            if (e->end - e->start != 32 || e->bytes != 1024) {
                return fail("copies: 32 cycles for 1024 bytes");
            }
            came[n++] = e->end + 600;
        }
        bool is_first = e->kind == PTXEXEC_TRACE_WAIT && e->track == 1 && n == 1;
        freed = is_first ? e->end : freed;
        bool is_last = e->kind == PTXEXEC_TRACE_WAIT && e->track == 0 && n == 2;
        if ((is_first && e->end != came[0]) || (is_last && e->end != came[1])) {
            return fail("copies: waits end when the bytes came");
        }
    }
    return freed == came[0] && came[1] > freed ? 0 : fail("copies: the store comes after the load");
}

int main(void)
{
    uint32_t n_bad = 0;
    for (uint64_t seed = 0; seed < 20 && n_bad == 0; seed++) {
        n_bad += try_barrier(seed);
        n_bad += try_products(seed);
        n_bad += try_copies(seed);
    }
    printf("%u failed\n", n_bad);
    return n_bad == 0 ? 0 : 1;
}
