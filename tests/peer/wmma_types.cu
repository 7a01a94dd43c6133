#include "peer.h"
/* One tile of each further type by nvcuda::wmma, a warp for each: bfloats, tf32, doubles, signed and unsigned bytes in flat and
 * tall tiles. Operands are whole numbers; in[] starts each of them anew. */
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <mma.h>
#endif
enum { TILES = 8, TILE = 256, STRIDE = 48 };
PEER(1, 32 * TILES, 1024, TILES * TILE, PEER_BITS)
FN s32 tile_a(const u32 *in, u32 i) { return (s32)(in[i % 1024] % 8) - 3; }
FN s32 tile_b(const u32 *in, u32 i) { return (s32)(in[(i * 3 + 7) % 1024] >> 8 & 7) - 3; }
/*        type         in memory       sums   M   N   K   plus: what is added to make it a number of the type */
#define ALL_TILES(T)                                                   \
    T(0, __nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, 0)           \
    T(1, __nv_bfloat16, __nv_bfloat16, float, 8, 32, 16, 0)            \
    T(2, __nv_bfloat16, __nv_bfloat16, float, 32, 8, 16, 0)            \
    T(3, nvcuda::wmma::precision::tf32, float, float, 16, 16, 8, 0)    \
    T(4, double, double, double, 8, 8, 4, 0)                           \
    T(5, signed char, signed char, int, 16, 16, 16, 0)                 \
    T(6, unsigned char, unsigned char, int, 8, 32, 16, 251)            \
    T(7, signed char, signed char, int, 32, 8, 16, 0)
#ifdef __CUDACC__
template <class P, class E, class S, int M, int N, int K> FN void tile(const u32 *in, u32 *out, int plus)
{
    using namespace nvcuda::wmma;
    __shared__ __align__(32) E a[M * STRIDE];
    __shared__ __align__(32) E b[N * STRIDE];
    __shared__ __align__(32) S c[M * N];
    for (u32 i = threadIdx.x % 32; i < M * K; i += 32) {
        a[i / K * STRIDE + i % K] = (E)(float)(tile_a(in, i) + plus);
    }
    for (u32 i = threadIdx.x % 32; i < K * N; i += 32) {
        b[i / K * STRIDE + i % K] = (E)(float)(tile_b(in, i) + plus); /* column by column */
    }
    __syncwarp();
    fragment<matrix_a, M, N, K, P, row_major> fa;
    fragment<matrix_b, M, N, K, P, col_major> fb;
    fragment<accumulator, M, N, K, S> sum;
    fill_fragment(sum, (S)1);
    load_matrix_sync(fa, a, STRIDE);
    load_matrix_sync(fb, b, STRIDE);
    mma_sync(sum, fa, fb, sum);
    store_matrix_sync(c, sum, M, mem_col_major);
    __syncwarp();
    load_matrix_sync(sum, c, M, mem_col_major);
    mma_sync(sum, fa, fb, sum);
    __syncwarp();
    store_matrix_sync(c, sum, N, mem_row_major);
    __syncwarp();
    for (u32 i = threadIdx.x % 32; i < M * N; i += 32) {
        out[i] = (u32)(s32)c[i];
    }
}
PEER_KERNEL
{
    (void)n_in;
    (void)n_out;
    switch (threadIdx.x / 32) {
#define T(k, p, e, s, m, n, kk, plus) \
    case k: tile<p, e, s, m, n, kk>(in, out + k * TILE, plus); break;
        ALL_TILES(T)
#undef T
    }
}
#else
FN void tile(const u32 *in, u32 *out, u32 m, u32 n, u32 n_k, s32 plus)
{
    for (u32 i = 0; i < m * n; i++) {
        s32 sum = 1;
        for (u32 k = 0; k < n_k * 2; k++) {
            sum += (tile_a(in, i / n * n_k + k % n_k) + plus) * (tile_b(in, i % n * n_k + k % n_k) + plus);
        }
        out[i] = (u32)sum;
    }
}
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
#define T(k, p, e, s, m, n, kk, plus) tile(in, out + k * TILE, m, n, kk, plus);
    ALL_TILES(T)
#undef T
}
#endif
