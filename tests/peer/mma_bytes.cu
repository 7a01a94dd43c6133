#include "peer.h"
/* Signed by unsigned bytes, 16x8x32, one warp a tile; accumulators near the ends saturate. */
PEER(4, 32, 1280, 512, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    (void)n_in;
    const u32 *a = in + blockIdx.x * 320;      /* 16 rows of 32 bytes */
    const u32 *b = in + blockIdx.x * 320 + 128; /* 8 columns of 32 bytes */
    const u32 *c = in + blockIdx.x * 320 + 192;
    u32 g = threadIdx.x / 4;
    u32 q = threadIdx.x % 4;
    s32 d[4];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%10,%11,%12,%13};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a[g * 8 + q]), "r"(a[(g + 8) * 8 + q]), "r"(a[g * 8 + 4 + q]), "r"(a[(g + 8) * 8 + 4 + q]),
                   "r"(b[g * 8 + q]), "r"(b[g * 8 + 4 + q]), "r"(c[g * 8 + 2 * q]), "r"(c[g * 8 + 2 * q + 1]),
                   "r"(c[(g + 8) * 8 + 2 * q]), "r"(c[(g + 8) * 8 + 2 * q + 1]));
    for (u32 i = 0; i < 4; i++) {
        out[blockIdx.x * 128 + (g + i / 2 * 8) * 8 + 2 * q + i % 2] = (u32)d[i];
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out; i++) {
        const u32 *tile = in + i / 128 * 320;
        u32 row = i % 128 / 8;
        u32 col = i % 8;
        s64 sum = (s32)tile[192 + row * 8 + col];
        for (u32 k = 0; k < 32; k++) {
            signed char x = (signed char)(tile[row * 8 + k / 4] >> (k % 4 * 8));
            unsigned char y = (unsigned char)(tile[128 + col * 8 + k / 4] >> (k % 4 * 8));
            sum += x * y;
        }
        out[i] = (u32)(s32)(sum > 2147483647 ? 2147483647 : sum < -2147483647 - 1 ? -2147483647 - 1 : sum);
    }
}
#endif
