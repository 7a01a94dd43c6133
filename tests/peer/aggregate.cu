#include "peer.h"
/* Warp-aggregated counting in a divergent branch. */
PEER(3, 128, 384, 2, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] % 3 == 0) {
        u32 mask = __activemask();
        u32 leader = __ffs((s32)mask) - 1;
        u32 base = 0;
        if (threadIdx.x % 32 == leader) {
            base = atomicAdd(&out[0], (u32)__popc(mask));
        }
        base = __shfl_sync(mask, base, (s32)leader);
        atomicAdd(&out[1], base + (u32)__popc(mask & ((1u << threadIdx.x % 32) - 1)));
    }
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        if (in[i] % 3 == 0) {
            out[1] += out[0]++;
        }
    }
}
#endif
