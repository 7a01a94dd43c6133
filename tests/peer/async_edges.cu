#include "peer.h"
/* Rows of 37 words copied as 40 by cp.async with zero fill: 16, 8 and 4 bytes, the last ones cut. */
PEER(2, 32, 296, 320, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ __align__(16) u32 tile[40];
    u32 t = threadIdx.x;
    for (u32 row = blockIdx.x; row < n_in / 37; row += 2) {
        for (u32 c = t; c < 40; c += 32) {
            u32 n = c < 37 ? 4 : 0;
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((u32)__cvta_generic_to_shared(&tile[c])),
                         "l"(in + row * 37 + (c < 37 ? c : 0)), "r"(n)
                         : "memory");
        }
        asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (u32 c = t; c < 40; c += 32) {
            out[row * 40 + c] = tile[39 - c] + 1;
        }
        __syncthreads();
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out; i++) {
        u32 c = 39 - i % 40;
        out[i] = (c < 37 ? in[i / 40 * 37 + c] : 0) + 1;
    }
}
#endif
