#include "peer.h"
/* 32x32 floats by tiles of 16x16. */
PEER(4, 256, 2048, 1024, PEER_FLOATS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ float a[16][16];
    __shared__ float b[16][16];
    u32 x = threadIdx.x % 16;
    u32 y = threadIdx.x / 16;
    u32 row = blockIdx.x / 2 * 16 + y;
    u32 col = blockIdx.x % 2 * 16 + x;
    float sum = 0;
    for (u32 k = 0; k < 32; k += 16) {
        a[y][x] = as_float(in[row * 32 + k + x]);
        b[y][x] = as_float(in[1024 + (k + y) * 32 + col]);
        __syncthreads();
        for (u32 j = 0; j < 16; j++) {
            sum += a[y][j] * b[j][x];
        }
        __syncthreads();
    }
    out[row * 32 + col] = float_bits(sum);
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out; i++) {
        float sum = 0;
        for (u32 k = 0; k < 32; k++) {
            sum += as_float(in[i / 32 * 32 + k]) * as_float(in[1024 + k * 32 + i % 32]);
        }
        out[i] = float_bits(sum);
    }
}
#endif
