#include "peer.h"
/* 32x32 halves transposed by ldmatrix.trans, and once more by movmatrix. */
PEER(1, 32, 512, 1024, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ __align__(16) u32 tile[32][20]; /* rows of 16 words, padded */
    (void)n_in;
    u32 lane = threadIdx.x;
    for (u32 w = 0; w < 16; w++) {
        tile[lane][w] = in[lane * 16 + w];
    }
    __syncwarp();
    for (u32 i = 0; i < 4; i++) { /* 8 rows of the source, all 32 columns */
        u32 r[4];
        u32 at = (u32)__cvta_generic_to_shared(&tile[i * 8 + lane % 8][lane / 8 * 4]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
        for (u32 j = 0; j < 4; j++) { /* row j * 8 + lane / 4 of the result, words of column i * 8 */
            u32 word = (j * 8 + lane / 4) * 16 + i * 4 + lane % 4;
            out[word] = r[j];
            u32 back;
            asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(back) : "r"(r[j]));
            out[512 + (i * 8 + lane / 4) * 16 + j * 4 + lane % 4] = back;
        }
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    for (u32 row = 0; row < 32; row++) {
        for (u32 col = 0; col < 32; col++) {
            u32 x = in[row * 16 + col / 2] >> (col % 2 * 16) & 0xFFFF;
            out[col * 16 + row / 2] |= x << (row % 2 * 16);
            out[512 + row * 16 + col / 2] |= x << (col % 2 * 16);
        }
    }
}
#endif
