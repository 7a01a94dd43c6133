#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
#include "hopper/epilogue.cuh"
/* A persistent product of halves: one warp group loads, two multiply, 128 x 128 of C at a time; registers move from the
 * loader to the others; results go through stmatrix, shared memory and a tensor store. */
#define G_M 200
#define G_N 264
#define G_K 333
#define G_KP 336
#define G_S 3
#define G_BOX(n) .box = {64, n}, .swizzle = 3
PEER_MAPS({.type = 6, .rank = 2, .dims = {G_K, G_M}, .strides = {G_KP * 2}, G_BOX(128)},
          {.offset = G_M * G_KP * 2, .type = 6, .rank = 2, .dims = {G_K, G_N}, .strides = {G_KP * 2}, G_BOX(128)},
          {.is_out = 1, .type = 6, .rank = 2, .dims = {G_N, G_M}, .strides = {G_N * 2}, G_BOX(64)})
PEER_SM90A_MAPS(2, 384, (G_M + G_N) * G_KP / 2, G_M * G_N / 2, PEER_SMALL_HALVES, G_S * 32768 + 32768)
#ifdef __CUDACC__
enum { STAGE = 32768, N_BLOCKS = (G_K + 63) / 64, TILES_M = (G_M + 127) / 128, N_TILES = TILES_M * ((G_N + 127) / 128) };

PEER_MAPS_KERNEL(384)
{
    extern __shared__ __align__(1024) unsigned char sm[];
    __shared__ __align__(8) u64 full[G_S];
    __shared__ __align__(8) u64 empty[G_S];
    u32 t = threadIdx.x;
    u32 group = t / 128;
    if (t == 0) {
        for (u32 s = 0; s < G_S; s++) {
            mbar_init(&full[s], 1);
            mbar_init(&empty[s], 2);
        }
        mbar_init_done();
    }
    __syncthreads();
    u32 n = 0; /* k-blocks so far */
    if (group == 2) {
        registers_down<40>();
        if (t / 32 == 8 && elect_one()) {
            for (u32 tile = blockIdx.x; tile < N_TILES; tile += gridDim.x) {
                for (u32 k = 0; k < N_BLOCKS; k++, n++) {
                    u32 s = n % G_S;
                    mbar_wait(&empty[s], (n / G_S & 1) ^ 1);
                    mbar_expect(&full[s], STAGE);
                    tma_load2(sm + s * STAGE, &maps.at[0], &full[s], (s32)(k * 64), (s32)(tile % TILES_M * 128));
                    tma_load2(sm + s * STAGE + 16384, &maps.at[1], &full[s], (s32)(k * 64), (s32)(tile / TILES_M * 128));
                }
            }
        }
        return;
    }
    registers_up<232>();
    unsigned char *buffer = sm + G_S * STAGE + group * 16384;
    for (u32 tile = blockIdx.x; tile < N_TILES; tile += gridDim.x) {
        float c[64];
        for (u32 k = 0; k < N_BLOCKS; k++, n++) {
            u32 s = n % G_S;
            mbar_wait(&full[s], n / G_S & 1);
            wg_hold(c);
            wg_fence();
            for (u32 j = 0; j < 4; j++) {
                u32 at = address(sm + s * STAGE) + j * 32;
                wg_f16_n128::from_shared<1, 1, 0, 0>(c, wg_desc(at + group * 8192, 16, 1024, 1), wg_desc(at + 16384, 16, 1024, 1),
                                        k + j != 0);
            }
            wg_commit();
            wg_wait<0>();
            wg_hold(c);
            if (t % 128 == 0) {
                mbar_arrive(&empty[s]);
            }
        }
        if (t % 128 == 0) {
            bulk_wait_read<0>();
        }
        bar_sync(1 + group, 128);
        store_tile(buffer, c, t % 128);
        async_fence();
        bar_sync(1 + group, 128);
        if (t % 128 == 0) {
            s32 m = (s32)(tile % TILES_M * 128 + group * 64);
            s32 x = (s32)(tile / TILES_M * 128);
            tma_store2(&maps.at[2], buffer, x, m);
            tma_store2(&maps.at[2], buffer + 8192, x + 64, m);
            bulk_commit();
        }
    }
    if (t % 128 == 0) {
        bulk_wait<0>();
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    half_product_to_half(in, out, G_M, G_N, G_K, G_KP);
}
#endif
