/* test_wgmma_values.c: what wgmma rounds, and what elements of 8 bits are worth at their ends.
 *
 *   sums    a product adds all its terms to the accumulator and rounds once; the next one begins
 *           with what was rounded, also where both are waited for together
 *   codes   the largest and the least numbers of e4m3 and e5m2, infinities and NaN
 *
 * A is one number everywhere, B is ones: an element of the result is the accumulator and K times
 * that number. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ptx_run.h"

#define ENTRY                                                                                     \
    "mov.u32 %r3, sm;\nmad.lo.u32 %r3, %r1, 16, %r3;\nld.global.b32 %r4, [%rd1];\n"               \
    "ld.global.b32 %r5, [%rd1+4];\nld.global.b32 %r6, [%rd1+8];\n"                                \
    "st.shared.v4.b32 [%r3], {%r4,%r4,%r4,%r4};\nst.shared.v4.b32 [%r3+2048], {%r5,%r5,%r5,%r5};" \
    "\nmov.u64 %rd10, 0x0000001000080040;\nmov.u64 %rd11, 0x00000010000800C0;\n"                  \
    "mov.b32 %f0, %r6;\nmov.b32 %f1, %r6;\nmov.b32 %f2, %r6;\nmov.b32 %f3, %r6;\n"                \
    "mov.b32 %r20, %r6;\nmov.b32 %r21, %r6;\nmad.wide.u32 %rd5, %r1, 4, %rd2;\n"                  \
    "fence.proxy.async;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n"
#define END "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
#define MMA "wgmma.mma_async.sync.aligned.m64n8"

typedef struct value_case {
    const char *name;
    uint32_t n_products;
    bool is_half;
    const char *product;
    uint32_t a, b, c; /* words of A and B, the accumulator's register */
    uint32_t want;    /* of each register of the result */
} value_case;

#define F32(types) MMA types " {%f0,%f1,%f2,%f3}, %rd10, %rd11, 1, 1, 1"
#define F16(types) MMA types " {%r20,%r21}, %rd10, %rd11, 1, 1, 1"

enum {
    E4M3_ONE = 0x38383838,
    E5M2_ONE = 0x3C3C3C3C,
    HALF_ONE = 0x3C003C00,
    NOT_A_NUMBER = 0x7FFFFFFF
};

static const value_case cases[] = {
    /* 16 is half a unit of the last place from 2^28 on: ties go to the even neighbour. */
    {"f32: half a unit, even", 1, false, F32("k16.f32.f16.f16") ", 0, 0;\n", HALF_ONE, HALF_ONE,
     0x4D800000, 0x4D800000},
    {"f32: half a unit, odd", 1, false, F32("k16.f32.f16.f16") ", 0, 0;\n", HALF_ONE, HALF_ONE,
     0x4D800001, 0x4D800002},
    {"f32: half a unit twice", 2, false, F32("k16.f32.f16.f16") ", 0, 0;\n", HALF_ONE, HALF_ONE,
     0x4D800000, 0x4D800000},
    /* The same from 32768 on. */
    {"f16: half a unit, odd", 1, true, F16("k16.f16.f16.f16") ", 0, 0;\n", HALF_ONE, HALF_ONE,
     0x78017801, 0x78027802},
    {"f16: half a unit twice", 2, true, F16("k16.f16.f16.f16") ", 0, 0;\n", HALF_ONE, HALF_ONE,
     0x78007800, 0x78007800},
    {"f16: beyond the largest", 1, true, F16("k16.f16.f16.f16") ", 0, 0;\n", HALF_ONE, HALF_ONE,
     0x7BFF7BFF, 0x7C007C00},
    {"tf32: what is dropped is not rounded", 1, false, F32("k8.f32.tf32.tf32") ";\n", 0x3F801FFF,
     0x3F800000, 0, 0x41000000},
    {"e4m3: NaN", 1, false, F32("k32.f32.e4m3.e4m3") ";\n", 0x7F7F7F7F, E4M3_ONE, 0, NOT_A_NUMBER},
    {"e4m3: NaN with a sign", 1, false, F32("k32.f32.e4m3.e4m3") ";\n", 0xFFFFFFFF, E4M3_ONE, 0,
     NOT_A_NUMBER},
    {"e4m3: 448", 1, false, F32("k32.f32.e4m3.e4m3") ";\n", 0x7E7E7E7E, E4M3_ONE, 0, 0x46600000},
    {"e4m3: 2^-9", 1, false, F32("k32.f32.e4m3.e4m3") ";\n", 0x01010101, E4M3_ONE, 0, 0x3D800000},
    {"e4m3: -7 * 2^-9", 1, false, F32("k32.f32.e4m3.e4m3") ";\n", 0x87878787, E4M3_ONE, 0,
     0xBEE00000},
    {"e5m2: infinity", 1, false, F32("k32.f32.e5m2.e5m2") ";\n", 0x7C7C7C7C, E5M2_ONE, 0,
     0x7F800000},
    {"e5m2: minus infinity", 1, false, F32("k32.f32.e5m2.e5m2") ";\n", 0xFCFCFCFC, E5M2_ONE, 0,
     0xFF800000},
    {"e5m2: NaN", 1, false, F32("k32.f32.e5m2.e5m2") ";\n", 0x7D7D7D7D, E5M2_ONE, 0, NOT_A_NUMBER},
    {"e5m2: 57344", 1, false, F32("k32.f32.e5m2.e5m2") ";\n", 0x7B7B7B7B, E5M2_ONE, 0, 0x49E00000},
    {"e5m2: 2^-16", 1, false, F32("k32.f32.e5m2.e5m2") ";\n", 0x01010101, E5M2_ONE, 0, 0x3A000000},
};

static uint32_t try_case(const value_case *v)
{
    static ptx_result r;
    char body[4096];
    (void)snprintf(body, sizeof body,
                   "%s%s%s%sst.global.b32 [%%rd5], %s;\nst.global.b32 [%%rd5+512], %s;\n", ENTRY,
                   v->product, v->n_products > 1 ? v->product : "", END,
                   v->is_half ? "%r20" : "%f0", v->is_half ? "%r21" : "%f3");
    const uint32_t in[] = {v->a, v->b, v->c};
    ptx_case c = {.body = body, .block = 128, .in = in, .in_size = sizeof in, .out_size = 1024};
    ptx_run(&c, &r);
    for (uint32_t k = 0; k < 256 && r.status == PTXEXEC_OK; k++) {
        uint32_t x = 0;
        memcpy(&x, r.out + (size_t)4 * k, sizeof x);
        if (x != v->want) {
            printf("%s: thread %u: 0x%08x, expected 0x%08x\n", v->name, k % 128, x, v->want);
            return 1;
        }
    }
    if (r.status != PTXEXEC_OK) {
        printf("%s: %s\n", v->name, r.message);
    }
    return r.status == PTXEXEC_OK ? 0 : 1;
}

int main(void)
{
    uint32_t n_bad = 0;
    for (uint32_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        n_bad += try_case(&cases[k]);
    }
    printf("%u failed\n", n_bad);
    return n_bad == 0 ? 0 : 1;
}
