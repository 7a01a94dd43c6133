#include "peer.h"
/* The other form: done inside the loop. */
PEER(2, 96, 192, 3, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    bool is_done = false;
    while (!is_done) {
        if (atomicExch(&out[0], 1u) == 0) {
            out[1] = *(volatile u32 *)&out[1] + in[i] % 1000;
            out[2] = *(volatile u32 *)&out[2] + 1;
            __threadfence();
            atomicExch(&out[0], 0u);
            is_done = true;
        }
    }
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        out[1] += in[i] % 1000;
        out[2]++;
    }
}
#endif
