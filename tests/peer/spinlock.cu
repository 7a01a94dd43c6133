#include "peer.h"
/* Every lane takes the same lock, also against lanes of its own warp. */
PEER(3, 64, 192, 4, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    while (atomicCAS(&out[0], 0u, 1u) != 0) {
    }
    __threadfence();
    volatile u32 *v = out;
    v[1] = v[1] + in[i];
    v[2] = v[2] ^ in[i] * 3;
    v[3] = v[3] + 1;
    __threadfence();
    atomicExch(&out[0], 0u);
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        out[1] += in[i];
        out[2] ^= in[i] * 3;
        out[3]++;
    }
}
#endif
