#include "peer.h"
PEER(4, 256, 4096, 4096, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ u32 tile[32][33];
    u32 x = threadIdx.x % 32;
    u32 y = threadIdx.x / 32;
    const u32 *from = in + blockIdx.x * 1024;
    for (u32 k = 0; k < 32; k += 8) {
        tile[y + k][x] = from[(y + k) * 32 + x];
    }
    __syncthreads();
    for (u32 k = 0; k < 32; k += 8) {
        out[blockIdx.x * 1024 + (y + k) * 32 + x] = tile[x][y + k];
    }
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        u32 b = i / 1024 * 1024;
        u32 y = i % 1024 / 32;
        u32 x = i % 32;
        out[i] = in[b + x * 32 + y];
    }
}
#endif
