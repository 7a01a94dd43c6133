#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
#include "hopper/cluster.cuh"
/* The products of multicast.def: 64 x 64 of C (floats) a CTA, rings whose stages are filled by all CTAs that share a tile. A
 * stage may be filled when all who get something from this CTA have freed theirs: they arrive at its barrier from where they
 * are. The sizes are odd; tiles of the last clusters lie outside altogether. */
#define TILES(n) (((n) + 63) / 64)
#define ROUND_UP(n, d) (((n) + (d) - 1) / (d) * (d))
#ifdef __CUDACC__
enum { STAGE = 16384 };
template <u32 X, u32 Y, u32 STAGES, u32 M, u32 N, u32 K> FN void multiply(const peer_maps &maps, u32 *out)
{
    extern __shared__ __align__(1024) unsigned char sm[];
    __shared__ __align__(8) u64 full[STAGES];
    __shared__ __align__(8) u64 empty[STAGES];
    constexpr u32 row_mask = (1u << X) - 1; /* of row 0 of the cluster */
    constexpr u32 column_mask = Y == 1 ? 1 : Y == 2 ? 1 | 1 << X : 1 | 1 << X | 1 << 2 * X | 1 << 3 * X;
    u32 t = threadIdx.x;
    u32 rank = cluster_rank();
    u32 x = rank % X;
    u32 y = rank / X;
    u32 cluster = blockIdx.x / (X * Y);
    constexpr u32 wide = ROUND_UP(TILES(N), X) / X; /* clusters along N */
    u32 m0 = (cluster / wide * Y + y) * 64;
    u32 n0 = (cluster % wide * X + x) * 64;
    if (t == 0) {
        for (u32 s = 0; s < STAGES; s++) {
            mbar_init(&full[s], 1);
            mbar_init(&empty[s], X + Y - 1);
        }
        mbar_init_done();
        asm volatile("prefetch.tensormap [%0];" ::"l"(&maps.at[0]) : "memory");
    }
    cluster_sync();
    asm volatile("griddepcontrol.wait;" ::: "memory");
    float c[32] = {};
    if (t >= 128) {
        if (elect_one()) {
            for (u32 k = 0; k < TILES(K); k++) {
                u32 s = k % STAGES;
                mbar_wait_cluster(&empty[s], (k / STAGES & 1) ^ 1);
                mbar_expect(&full[s], STAGE);
                tma_multicast2(sm + s * STAGE + x * (8192 / X), &maps.at[0], &full[s], row_mask << y * X, (s32)(k * 64),
                               (s32)(m0 + x * (64 / X)));
                tma_multicast2(sm + s * STAGE + 8192 + y * (8192 / Y), &maps.at[1], &full[s], column_mask << x, (s32)(k * 64),
                               (s32)(n0 + y * (64 / Y)));
            }
            asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
        }
    } else {
        for (u32 k = 0; k < TILES(K); k++) {
            u32 s = k % STAGES;
            mbar_wait(&full[s], k / STAGES & 1);
            wg_hold(c);
            wg_fence();
            for (u32 j = 0; j < 4; j++) {
                u32 at = address(sm + s * STAGE) + j * 32;
                wg_f16::from_shared<1, 1, 0, 0>(c, wg_desc(at, 16, 1024, 1), wg_desc(at + 8192, 16, 1024, 1), 1);
            }
            wg_commit();
            wg_wait<0>();
            wg_hold(c);
            if (t < X) { /* who gave me rows of A */
                mbar_arrive_in(&empty[s], y * X + t);
            } else if (t < X + Y && t - X != y) { /* who gave me rows of B: myself is done */
                mbar_arrive_in(&empty[s], (t - X) * X + x);
            }
        }
        for (u32 i = 0; i < 32; i++) {
            u32 m = m0 + t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
            u32 n = n0 + i / 4 * 8 + t % 4 * 2 + i % 2;
            if (m < M && n < N) {
                out[m * N + n] = float_bits(c[i]);
            }
        }
    }
    __syncwarp();
    cluster_sync(); /* nobody leaves while others still signal it */
}
#define MULTICAST(name, x, y, stages, m, n, k, pitch)                                       \
    extern "C" __global__ void __cluster_dims__((x) * (y), 1, 1) __launch_bounds__(160, 1)  \
        peer_##name(const u32 *__restrict__ in, u32 *out, u32 n_in, u32 n_out, const __grid_constant__ peer_maps maps) \
    {                                                                                       \
        multiply<x, y, stages, m, n, k>(maps, out);                                         \
    }
#include "hopper/multicast.def"
#else
#define BOX(rows) .box = {64, rows}, .swizzle = 3
#define MULTICAST(name, x, y, stages, m, n, k, pitch)                                                                  \
    PEER_VARIANT_MAPS(name, {.type = 6, .rank = 2, .dims = {k, m}, .strides = {pitch * 2}, BOX(64 / x)},               \
                      {.offset = m * pitch * 2, .type = 6, .rank = 2, .dims = {k, n}, .strides = {pitch * 2}, BOX(64 / y)}) \
    PEER_VARIANT_SM90A_MAPS(name, ROUND_UP(TILES(m), y) * ROUND_UP(TILES(n), x), 160, (m + n) * pitch / 2, m * n,      \
                            PEER_SMALL_HALVES, stages * 16384)                                                         \
    PEER_VARIANT_REFERENCE(name)                                                                                       \
    {                                                                                                                  \
        (void)n_in;                                                                                                    \
        (void)n_out;                                                                                                   \
        half_product(in, out, m, n, k, pitch);                                                                         \
    }
#include "hopper/multicast.def"
#endif
