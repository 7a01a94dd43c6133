#include "peer.h"
PEER(6, 128, 768, 768, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ u32 tile[128];
    u32 t = threadIdx.x;
    tile[t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    out[blockIdx.x * 128 + t] = tile[127 - t] + t;
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        out[i] = in[i / 128 * 128 + 127 - i % 128] + i % 128;
    }
}
#endif
