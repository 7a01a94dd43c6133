#include "peer.h"
/* Threads that have nothing to do leave before the barriers. */
PEER(2, 96, 130, 130, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ u32 box[96];
    u32 i = blockIdx.x * 96 + threadIdx.x;
    if (i >= n_in) {
        return;
    }
    box[threadIdx.x] = in[i];
    __syncthreads();
    u32 j = threadIdx.x ^ 1;
    out[i] = (blockIdx.x * 96 + j < n_in ? box[j] : 0) + i;
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        u32 j = i / 96 * 96 + (i % 96 ^ 1);
        out[i] = (j < n_in ? in[j] : 0) + i;
    }
}
#endif
