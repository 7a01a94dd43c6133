#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
#include "hopper/epilogue.cuh"
/* Persistent ping-pong: a loader and two multipliers, each with tiles of its own, 64 x 128 of C. Named barriers pass the turn
 * in the products, so that one multiplies while the other stores; the ring's stages are theirs in turn. Halves. */
#define P_M 197
#define P_N 200
#define P_K 301
#define P_KP 304
#define P_S 4
#define P_BOX(n) .box = {64, n}, .swizzle = 3
PEER_MAPS({.type = 6, .rank = 2, .dims = {P_K, P_M}, .strides = {P_KP * 2}, P_BOX(64)},
          {.offset = P_M * P_KP * 2, .type = 6, .rank = 2, .dims = {P_K, P_N}, .strides = {P_KP * 2}, P_BOX(128)},
          {.is_out = 1, .type = 6, .rank = 2, .dims = {P_N, P_M}, .strides = {P_N * 2}, P_BOX(64)})
PEER_SM90A_MAPS(2, 384, (P_M + P_N) * P_KP / 2, P_M * P_N / 2, PEER_SMALL_HALVES, P_S * 24576 + 32768)
#ifdef __CUDACC__
enum { STAGE = 24576, N_BLOCKS = (P_K + 63) / 64, TILES_M = (P_M + 63) / 64, N_TILES = TILES_M * ((P_N + 127) / 128) };
PEER_MAPS_KERNEL(384)
{
    extern __shared__ __align__(1024) unsigned char sm[];
    __shared__ __align__(8) u64 full[P_S];
    __shared__ __align__(8) u64 empty[P_S];
    u32 t = threadIdx.x;
    u32 group = t / 128;
    if (t == 0) {
        for (u32 s = 0; s < P_S; s++) {
            mbar_init(&full[s], 1);
            mbar_init(&empty[s], 1);
        }
        mbar_init_done();
    }
    __syncthreads();
    if (group == 2) {
        registers_down<40>();
        if (t / 32 == 8 && elect_one()) {
            u32 n = 0;
            for (u32 tile = blockIdx.x; tile < N_TILES; tile += gridDim.x) {
                for (u32 k = 0; k < N_BLOCKS; k++, n++) {
                    u32 s = n % P_S;
                    mbar_wait(&empty[s], (n / P_S & 1) ^ 1);
                    mbar_expect(&full[s], STAGE);
                    tma_load2(sm + s * STAGE, &maps.at[0], &full[s], (s32)(k * 64), (s32)(tile % TILES_M * 64));
                    tma_load2(sm + s * STAGE + 8192, &maps.at[1], &full[s], (s32)(k * 64), (s32)(tile / TILES_M * 128));
                }
            }
        }
        return;
    }
    registers_up<232>();
    t %= 128;
    unsigned char *buffer = sm + P_S * STAGE + group * 16384;
    if (group == 1) {
        bar_arrive(2, 256); /* the first turn is of group 0 */
    }
    u32 turn = group; /* tiles of this CTA */
    u32 tile = blockIdx.x + group * gridDim.x;
    for (; tile < N_TILES; tile += 2 * gridDim.x, turn += 2) {
        float c[64];
        bar_sync(2 + group, 256);
        for (u32 k = 0; k < N_BLOCKS; k++) {
            u32 n = turn * N_BLOCKS + k;
            u32 s = n % P_S;
            mbar_wait(&full[s], n / P_S & 1);
            wg_hold(c);
            wg_fence();
            for (u32 j = 0; j < 4; j++) {
                u32 at = address(sm + s * STAGE) + j * 32;
                wg_f16_n128::from_shared<1, 1, 0, 0>(c, wg_desc(at, 16, 1024, 1), wg_desc(at + 8192, 16, 1024, 1), k + j != 0);
            }
            wg_commit();
            if (k == N_BLOCKS - 1 && tile + gridDim.x < N_TILES) { /* the last turn is nobody's */
                bar_arrive(2 + (group ^ 1), 256);
            }
            wg_wait<0>();
            wg_hold(c);
            if (t == 0) {
                mbar_arrive(&empty[s]);
            }
        }
        if (t == 0) {
            bulk_wait_read<0>();
        }
        bar_sync(5 + group, 128);
        store_tile(buffer, c, t);
        async_fence();
        bar_sync(5 + group, 128);
        if (t == 0) {
            for (u32 i = 0; i < 2; i++) {
                tma_store2(&maps.at[2], buffer + i * 8192, (s32)(tile / TILES_M * 128 + i * 64), (s32)(tile % TILES_M * 64));
            }
            bulk_commit();
        }
    }
    if (t == 0) {
        bulk_wait<0>();
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    half_product_to_half(in, out, P_M, P_N, P_K, P_KP);
}
#endif
