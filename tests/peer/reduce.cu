#include "peer.h"
PEER(4, 256, 1024, 4, PEER_FLOATS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ float part[256];
    u32 t = threadIdx.x;
    part[t] = as_float(in[blockIdx.x * 256 + t]);
    for (u32 n = 128; n > 0; n /= 2) {
        __syncthreads();
        if (t < n) {
            part[t] += part[t + n];
        }
    }
    if (t == 0) {
        out[blockIdx.x] = float_bits(part[0]);
    }
}
#else
PEER_REFERENCE
{
    for (u32 b = 0; b < n_out; b++) {
        float part[256];
        for (u32 t = 0; t < 256; t++) {
            part[t] = as_float(in[b * (n_in / n_out) + t]);
        }
        for (u32 n = 128; n > 0; n /= 2) {
            for (u32 t = 0; t < n; t++) {
                part[t] += part[t + n];
            }
        }
        out[b] = float_bits(part[0]);
    }
}
#endif
