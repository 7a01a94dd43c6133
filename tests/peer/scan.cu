#include "peer.h"
PEER(3, 192, 576, 576, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    extern __shared__ u32 buffer[];
    __shared__ u32 a[2][192];
    u32 t = threadIdx.x;
    u32 from = 0;
    (void)buffer;
    a[0][t] = in[blockIdx.x * 192 + t];
    __syncthreads();
    for (u32 n = 1; n < 192; n *= 2) {
        a[1 - from][t] = t >= n ? a[from][t] + a[from][t - n] : a[from][t];
        from = 1 - from;
        __syncthreads();
    }
    out[blockIdx.x * 192 + t] = a[from][t];
}
#else
PEER_REFERENCE
{
    (void)n_out;
    u32 sum = 0;
    for (u32 i = 0; i < n_in; i++) {
        sum = i % 192 == 0 ? in[i] : sum + in[i];
        out[i] = sum;
    }
}
#endif
