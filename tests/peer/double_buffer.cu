#include "peer.h"
/* 64x64 floats by tiles of 16, two buffers, one barrier a trip; register prefetch. */
PEER(16, 256, 8192, 4096, PEER_FLOATS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ float a[2][16][17];
    __shared__ float b[2][16][17];
    (void)n_out;
    u32 x = threadIdx.x % 16;
    u32 y = threadIdx.x / 16;
    u32 row = blockIdx.x / 4 * 16 + y;
    u32 col = blockIdx.x % 4 * 16 + x;
    const u32 *second = in + n_in / 2;
    float sum = 0;
    a[0][y][x] = as_float(in[row * 64 + x]);
    b[0][y][x] = as_float(second[y * 64 + col]);
    __syncthreads();
    for (u32 k = 0; k < 64; k += 16) {
        u32 now = k / 16 & 1;
        float next_a = 0;
        float next_b = 0;
        if (k + 16 < 64) {
            next_a = as_float(in[row * 64 + k + 16 + x]);
            next_b = as_float(second[(k + 16 + y) * 64 + col]);
        }
        for (u32 j = 0; j < 16; j++) {
            sum += a[now][y][j] * b[now][j][x];
        }
        a[now ^ 1][y][x] = next_a;
        b[now ^ 1][y][x] = next_b;
        __syncthreads();
    }
    out[row * 64 + col] = float_bits(sum);
}
#else
PEER_REFERENCE
{
    for (u32 i = 0; i < n_out; i++) {
        float sum = 0;
        for (u32 k = 0; k < 64; k++) {
            sum += as_float(in[i / 64 * 64 + k]) * as_float(in[n_in / 2 + k * 64 + i % 64]);
        }
        out[i] = float_bits(sum);
    }
}
#endif
