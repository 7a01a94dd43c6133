#include "peer.h"
/* The block that finishes last adds up what the others left. */
PEER(6, 64, 384, 8, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ bool is_last;
    atomicAdd(&out[1 + blockIdx.x], in[blockIdx.x * 64 + threadIdx.x]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(&out[7], 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        u32 sum = 0;
        for (u32 k = 0; k < gridDim.x; k++) {
            sum += *(volatile u32 *)&out[1 + k];
        }
        out[0] = sum;
    }
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        out[1 + i / 64] += in[i];
        out[0] += in[i];
    }
    out[7] = 6;
}
#endif
