#include "peer.h"
PEER(4, 128, 512, 16, PEER_FLOATS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = as_float(in[i]);
    for (u32 n = 16; n > 0; n /= 2) {
        x += __shfl_down_sync(~0u, x, n);
    }
    if (i % 32 == 0 && i / 32 < n_out) {
        out[i / 32] = float_bits(x);
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 k = 0; k < n_out; k++) {
        float x[32];
        for (u32 l = 0; l < 32; l++) {
            x[l] = as_float(in[k * 32 + l]);
        }
        for (u32 n = 16; n > 0; n /= 2) {
            for (u32 l = 0; l + n < 32; l++) {
                x[l] += x[l + n];
            }
        }
        out[k] = float_bits(x[0]);
    }
}
#endif
