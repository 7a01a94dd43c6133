#include "peer.h"
/* 64x64 halves transposed through shared memory, element by element: neighbours share words. */
PEER(1, 256, 2048, 2048, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ unsigned short tile[64][65];
    const unsigned short *from = (const unsigned short *)in;
    unsigned short *to = (unsigned short *)out;
    (void)n_out;
    for (u32 i = threadIdx.x; i < n_in * 2; i += 256) {
        tile[i % 64][i / 64] = from[i];
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < n_in * 2; i += 256) {
        to[i] = tile[i / 64][i % 64];
    }
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in * 2; i++) {
        u32 from = i % 64 * 64 + i / 64;
        out[i / 2] |= (in[from / 2] >> (from % 2 * 16) & 0xFFFF) << (i % 2 * 16);
    }
}
#endif
