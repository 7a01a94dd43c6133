#include "peer.h"
#ifdef __CUDACC__
#include <stdio.h>
#endif
PEER(2, 32, 64, 64, PEER_SMALL)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        printf("block %u: %5d|%-5d|%05u|%x %s %.3f\n", blockIdx.x, (s32)in[i] - 7, 42, in[i], in[i], "text", 1.5);
    }
    out[i] = in[i] + 1;
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        out[i] = in[i] + 1;
    }
}
#endif
