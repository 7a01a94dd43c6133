#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
/* The rings of ring.def: C[M][N] (floats) = A[M][K] B[N][K]^T, halves, by a producer warp that fills the stages with tensor
 * copies, and a warp group that empties them. The sizes are odd: copies bring zeros from outside. */
#ifdef __CUDACC__
enum { STAGE = 16384 };
template <int STAGES, int EMPTY, int LAG, int M, int N, int K>
FN void multiply(const peer_maps &maps, u32 *out)
{
    extern __shared__ __align__(1024) unsigned char sm[];
    __shared__ __align__(8) u64 full[STAGES];
    __shared__ __align__(8) u64 empty[STAGES];
    u32 t = threadIdx.x;
    u32 m0 = blockIdx.x % ((M + 63) / 64) * 64;
    u32 n0 = blockIdx.x / ((M + 63) / 64) * 64;
    u32 n_blocks = (K + 63) / 64;
    if (t == 0) {
        for (u32 s = 0; s < STAGES; s++) {
            mbar_init(&full[s], 1);
            mbar_init(&empty[s], EMPTY);
        }
        mbar_init_done();
    }
    __syncthreads();
    if (t >= 128) {
        if (elect_one()) {
            for (u32 k = 0; k < n_blocks; k++) {
                u32 s = k % STAGES;
                mbar_wait(&empty[s], (k / STAGES & 1) ^ 1);
                mbar_expect(&full[s], STAGE);
                tma_load2(sm + s * STAGE, &maps.at[0], &full[s], (s32)(k * 64), (s32)m0);
                tma_load2(sm + s * STAGE + 8192, &maps.at[1], &full[s], (s32)(k * 64), (s32)n0);
            }
        }
        return;
    }
    float c[32] = {};
    for (u32 k = 0; k < n_blocks; k++) {
        u32 s = k % STAGES;
        mbar_wait(&full[s], k / STAGES & 1);
        wg_hold(c);
        wg_fence();
        for (u32 j = 0; j < 4; j++) {
            u32 at = address(sm + s * STAGE) + j * 32;
            wg_f16::from_shared<1, 1, 0, 0>(c, wg_desc(at, 16, 1024, 1), wg_desc(at + 8192, 16, 1024, 1), 1);
        }
        wg_commit();
        wg_wait<LAG>();
        if (k >= LAG && (EMPTY == 128 || t % (128 / EMPTY) == 0)) {
            mbar_arrive(&empty[(k - LAG) % STAGES]);
        }
    }
    wg_wait<0>();
    wg_hold(c);
    for (u32 i = 0; i < 32; i++) {
        u32 m = m0 + t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
        u32 n = n0 + i / 4 * 8 + t % 4 * 2 + i % 2;
        if (m < M && n < N) {
            out[m * N + n] = float_bits(c[i]);
        }
    }
}
#define RING(name, stages, empty, lag, m, n, k, pitch) \
    PEER_VARIANT_MAPS_KERNEL(name, 160) { multiply<stages, empty, lag, m, n, k>(maps, out); }
#include "hopper/ring.def"
#else
#define RING(name, stages, empty, lag, m, n, k, pitch)                                                                      \
    PEER_VARIANT_MAPS(                                                                                                      \
        name, {.type = 6, .rank = 2, .dims = {k, m}, .strides = {pitch * 2}, .box = {64, 64}, .swizzle = 3},                \
        {.offset = m * pitch * 2, .type = 6, .rank = 2, .dims = {k, n}, .strides = {pitch * 2}, .box = {64, 64}, .swizzle = 3}) \
    PEER_VARIANT_SM90A_MAPS(name, ((m + 63) / 64) * ((n + 63) / 64), 160, (m + n) * pitch / 2, m * n, PEER_SMALL_HALVES,    \
                            stages * 16384)                                                                                 \
    PEER_VARIANT_REFERENCE(name)                                                                                            \
    {                                                                                                                       \
        (void)n_in;                                                                                                         \
        (void)n_out;                                                                                                        \
        half_product(in, out, m, n, k, pitch);                                                                              \
    }
#include "hopper/ring.def"
#endif
