#include "peer.h"
/* tf32, 16x8x8: small integers, and the low bits of the words do not count. */
PEER(3, 32, 576, 384, PEER_BITS)
FN s32 tf_int(u32 x) { return (s32)(x % 64) - 32; }
#ifdef __CUDACC__
FN u32 tf_bits(u32 x) { return float_bits((float)tf_int(x)) | (x >> 20); }
PEER_KERNEL
{
    (void)n_in;
    const u32 *a = in + blockIdx.x * 192; /* 16 rows of 8 */
    const u32 *b = a + 128;               /* 8 columns of 8 */
    u32 g = threadIdx.x / 4;
    u32 q = threadIdx.x % 4;
    float d[4] = {1, 2, 3, 4};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(tf_bits(a[g * 8 + q])), "r"(tf_bits(a[(g + 8) * 8 + q])), "r"(tf_bits(a[g * 8 + q + 4])),
                   "r"(tf_bits(a[(g + 8) * 8 + q + 4])), "r"(tf_bits(b[g * 8 + q])), "r"(tf_bits(b[g * 8 + q + 4])));
    for (u32 i = 0; i < 4; i++) {
        out[blockIdx.x * 128 + (g + i / 2 * 8) * 8 + 2 * q + i % 2] = float_bits(d[i]);
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out; i++) {
        const u32 *a = in + i / 128 * 192 + i % 128 / 8 * 8;
        const u32 *b = in + i / 128 * 192 + 128 + i % 8 * 8;
        s32 sum = 1 + (s32)(i % 2) + (i % 128 / 8 >= 8 ? 2 : 0);
        for (u32 k = 0; k < 8; k++) {
            sum += tf_int(a[k]) * tf_int(b[k]);
        }
        out[i] = float_bits((float)sum);
    }
}
#endif
