#include "peer.h"
PEER(5, 128, 2000, 64, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ u32 bins[64];
    if (threadIdx.x < 64) {
        bins[threadIdx.x] = 0;
    }
    __syncthreads();
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n_in; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[in[i] >> 26], 1u);
    }
    __syncthreads();
    if (threadIdx.x < n_out) {
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
    }
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        out[in[i] >> 26]++;
    }
}
#endif
