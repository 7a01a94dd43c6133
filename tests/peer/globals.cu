#include "peer.h"
__device__ u32 seeds[4] = {11, 22, 33, 44};
#ifdef __CUDACC__
__device__ u32 counter;
__device__ u32 *where = &seeds[2];
#else
static u32 *where = &seeds[2];
#endif
PEER(2, 64, 128, 129, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * seeds[i & 3] + *where;
    u32 n = atomicAdd(&counter, 1u);
    if (n == 127) {
        out[n_in] = counter + 1;
    }
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        out[i] = in[i] * seeds[i & 3] + *where;
    }
    out[n_in] = 129;
}
#endif
