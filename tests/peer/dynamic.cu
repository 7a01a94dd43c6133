#include "peer.h"
/* Dynamic shared memory behind a static array. */
PEER(3, 64, 192, 192, PEER_BITS)
#ifdef __CUDACC__
extern __shared__ u32 dynamic[];
PEER_KERNEL
{
    __shared__ u32 fixed[64];
    u32 t = threadIdx.x;
    fixed[t] = in[blockIdx.x * 64 + t];
    dynamic[t] = fixed[t] * 5;
    dynamic[64 + t] = t;
    __syncthreads();
    out[blockIdx.x * 64 + t] = dynamic[63 - t] + dynamic[64 + (t ^ 1)] + fixed[t ^ 5];
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        u32 b = i / 64 * 64;
        u32 t = i % 64;
        out[i] = in[b + 63 - t] * 5 + (t ^ 1) + in[b + (t ^ 5)];
    }
}
#endif
