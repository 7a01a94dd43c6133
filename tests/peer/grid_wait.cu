#include "peer.h"
/* A barrier over the grid, made of an atomic and a spin. */
PEER(5, 64, 320, 330, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * 64 + threadIdx.x;
    out[i] = in[i] * 3;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&out[n_in], 1u);
        while (*(volatile u32 *)&out[n_in] < gridDim.x) {
        }
    }
    __syncthreads();
    u32 other = *(volatile u32 *)&out[n_in - 1 - i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&out[n_in + 1], 1u);
        while (*(volatile u32 *)&out[n_in + 1] < gridDim.x) {
        }
    }
    __syncthreads();
    out[i] = other + i;
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        out[i] = in[n_in - 1 - i] * 3 + i;
    }
    out[n_in] = 5;
    out[n_in + 1] = 5;
}
#endif
