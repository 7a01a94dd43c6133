#include "peer.h"
/* Doubles, 8x8x4, over 16 of k: integers in doubles. */
PEER(2, 32, 512, 256, PEER_BITS)
FN s32 d_int(u32 x) { return (s32)(x % 20011) - 10000; }
#ifdef __CUDACC__
PEER_KERNEL
{
    (void)n_in;
    const u32 *a = in + blockIdx.x * 256; /* 8 rows of 16 */
    const u32 *b = a + 128;               /* 8 columns of 16 */
    u32 g = threadIdx.x / 4;
    u32 q = threadIdx.x % 4;
    double d0 = 0.5;
    double d1 = -0.5;
    for (u32 k = 0; k < 16; k += 4) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(d0), "+d"(d1)
                     : "d"((double)d_int(a[g * 16 + k + q])), "d"((double)d_int(b[g * 16 + k + q])));
    }
    u64 *to = (u64 *)(out + blockIdx.x * 128);
    to[g * 8 + 2 * q] = double_bits(d0);
    to[g * 8 + 2 * q + 1] = double_bits(d1);
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out / 2; i++) {
        const u32 *a = in + i / 64 * 256 + i % 64 / 8 * 16;
        const u32 *b = in + i / 64 * 256 + 128 + i % 8 * 16;
        double sum = i % 2 == 0 ? 0.5 : -0.5;
        for (u32 k = 0; k < 16; k++) {
            sum += (double)d_int(a[k]) * (double)d_int(b[k]);
        }
        u64 bits = double_bits(sum);
        memcpy(out + 2 * i, &bits, 8);
    }
}
#endif
