#include "peer.h"
/* Nibbles, 16x8x64, signed by unsigned, and bits, 16x8x256, both of one tile of 32 bytes a row: a warp makes both
 * products, one on top of the other's accumulators. */
PEER(4, 32, 1280, 512, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    (void)n_in;
    const u32 *a = in + blockIdx.x * 320;       /* 16 rows of 8 words */
    const u32 *b = in + blockIdx.x * 320 + 128; /* 8 columns of 8 words */
    const u32 *c = in + blockIdx.x * 320 + 192;
    u32 g = threadIdx.x / 4;
    u32 q = threadIdx.x % 4;
    s32 d[4] = {(s32)c[g * 8 + 2 * q], (s32)c[g * 8 + 2 * q + 1], (s32)c[(g + 8) * 8 + 2 * q],
                (s32)c[(g + 8) * 8 + 2 * q + 1]};
#define OPERANDS                                                                                          \
    "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                               \
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                  \
        : "r"(a[g * 8 + q]), "r"(a[(g + 8) * 8 + q]), "r"(a[g * 8 + 4 + q]), "r"(a[(g + 8) * 8 + 4 + q]), \
          "r"(b[g * 8 + q]), "r"(b[g * 8 + 4 + q])
    asm volatile("mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.u4.s32 " OPERANDS);
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc " OPERANDS);
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc " OPERANDS);
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
        const u32 *a = tile + i % 128 / 8 * 8;
        const u32 *b = tile + 128 + i % 8 * 8;
        s64 sum = (s32)tile[192 + i % 128];
        u32 bits = 0;
        for (u32 k = 0; k < 64; k++) {
            s32 x = (s32)(a[k / 8] >> (k % 8 * 4) & 15);
            s32 y = (s32)(b[k / 8] >> (k % 8 * 4) & 15);
            sum += (x ^ 8) * y - 8 * y;
        }
        for (u32 k = 0; k < 8; k++) {
            bits += (u32)__builtin_popcount(a[k] ^ b[k]) + (u32)__builtin_popcount(a[k] & b[k]);
        }
        sum = sum > 2147483647 ? 2147483647 : sum < -2147483647 - 1 ? -2147483647 - 1 : sum;
        out[i] = (u32)(s32)sum + bits;
    }
}
#endif
