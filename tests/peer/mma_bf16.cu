#include "peer.h"
/* bf16, 16x8x16, two chained products; fragments are loaded word by word. */
PEER(2, 64, 768, 512, PEER_BITS)
FN s32 bf_int(u32 x) { return (s32)(x % 32) - 16; }
#ifdef __CUDACC__
FN u32 bf_pair(u32 x) { return float_bits((float)bf_int(x)) >> 16 | (float_bits((float)bf_int(x >> 16)) & 0xFFFF0000u); }
PEER_KERNEL
{
    (void)n_in;
    u32 tile = blockIdx.x * 2 + threadIdx.x / 32;
    const u32 *a = in + tile * 192; /* 16 rows of 8 pairs */
    const u32 *b = a + 128;         /* 8 columns of 8 pairs */
    u32 g = threadIdx.x / 4 % 8;
    u32 q = threadIdx.x % 4;
    float d[4] = {0, 0, 0, 0};
    for (u32 twice = 0; twice < 2; twice++) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(bf_pair(a[g * 8 + q])), "r"(bf_pair(a[(g + 8) * 8 + q])), "r"(bf_pair(a[g * 8 + q + 4])),
                       "r"(bf_pair(a[(g + 8) * 8 + q + 4])), "r"(bf_pair(b[g * 8 + q])), "r"(bf_pair(b[g * 8 + q + 4])));
    }
    for (u32 i = 0; i < 4; i++) {
        out[tile * 128 + (g + i / 2 * 8) * 8 + 2 * q + i % 2] = float_bits(d[i]);
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out; i++) {
        const u32 *a = in + i / 128 * 192 + i % 128 / 8 * 8;
        const u32 *b = in + i / 128 * 192 + 128 + i % 8 * 8;
        s32 sum = 0;
        for (u32 k = 0; k < 16; k++) {
            sum += 2 * bf_int(a[k / 2] >> (k % 2 * 16)) * bf_int(b[k / 2] >> (k % 2 * 16));
        }
        out[i] = float_bits((float)sum);
    }
}
#endif
