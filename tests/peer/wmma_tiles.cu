#include "peer.h"
/* 32x32x32 halves by nvcuda::wmma: one warp a tile, operands row and column major, through shared and global memory. */
#ifdef __CUDACC__
#include <mma.h>
#endif
PEER(1, 128, 1024, 1024, PEER_BITS)
FN s32 tile_int(u32 x) { return (s32)(x % 8) - 3; }
#ifdef __CUDACC__
PEER_KERNEL
{
    using namespace nvcuda::wmma;
    __shared__ __align__(32) __half a[32 * 40];
    __shared__ __align__(32) __half b[32 * 32];
    (void)n_out;
    for (u32 i = threadIdx.x; i < n_in; i += 128) {
        a[i / 32 * 40 + i % 32] = __int2half_rn(tile_int(in[i]));
        b[i] = __int2half_rn(tile_int(in[i] >> 8)); /* column by column */
    }
    __syncthreads();
    u32 row = threadIdx.x / 64 * 16;
    u32 col = threadIdx.x / 32 % 2 * 16;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 1.0f);
    for (u32 k = 0; k < 32; k += 16) {
        load_matrix_sync(fa, a + row * 40 + k, 40);
        load_matrix_sync(fb, b + col * 32 + k, 32);
        mma_sync(sum, fa, fb, sum);
    }
    for (int i = 0; i < sum.num_elements; i++) {
        sum.x[i] *= 2.0f;
    }
    store_matrix_sync((float *)out + row * 32 + col, sum, 32, mem_row_major);
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out; i++) {
        s32 sum = 1;
        for (u32 k = 0; k < 32; k++) {
            sum += tile_int(in[i / 32 * 32 + k]) * tile_int(in[i % 32 * 32 + k] >> 8);
        }
        out[i] = float_bits((float)(2 * sum));
    }
}
#endif
