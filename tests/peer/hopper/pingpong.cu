#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
#include "hopper/epilogue.cuh"
/* Two warp groups take turns in the products: named barriers 2 and 3 pass the turn, as ping-pong kernels do. Each computes
 * every other block of 64 rows of C[256][64] = A[256][64] B[64][64]^T; its results go through stmatrix. */
PEER_SM90A(1, 256, (256 + 64) * 32, 256 * 32, PEER_SMALL_HALVES, 8192 + 2 * 16384)
#ifdef __CUDACC__
FN void put_rows(unsigned char *to, const u32 *from, u32 t, u32 n)
{
    for (u32 i = t; i < 64 * 8; i += n) {
        u32 row = i / 8;
        *(uint4 *)(to + row * 128 + ((i % 8) ^ (row % 8)) * 16) = *(const uint4 *)(from + row * 32 + i % 8 * 4);
    }
}
PEER_KERNEL
{
    extern __shared__ __align__(1024) unsigned char sm[];
    u32 t = threadIdx.x % 128;
    u32 group = threadIdx.x / 128;
    unsigned char *a = sm + 8192 + group * 16384;
    unsigned char *tile = a + 8192;
    (void)n_in;
    (void)n_out;
    put_rows(sm, in + 256 * 32, threadIdx.x, 256);
    async_fence();
    if (group == 1) {
        bar_arrive(2, 256); /* the first turn is of group 0; B is there when it comes */
    }
    for (u32 block = group; block < 4; block += 2) {
        put_rows(a, in + block * 64 * 32, t, 128);
        async_fence();
        bar_sync(2 + group, 256);
        float c[32];
        wg_fence();
        for (u32 j = 0; j < 4; j++) {
            wg_f16::from_shared<1, 1, 0, 0>(c, wg_desc(address(a) + j * 32, 16, 1024, 1), wg_desc(address(sm) + j * 32, 16, 1024, 1), j != 0);
        }
        wg_commit();
        if (block < 3) { /* the last turn is nobody's */
            bar_arrive(2 + (group ^ 1), 256);
        }
        wg_wait<0>();
        wg_hold(c);
        store_tile(tile, c, t);
        bar_sync(4 + group, 128);
        for (u32 i = t; i < 64 * 8; i += 128) {
            u32 row = i / 8;
            *(uint4 *)(out + (block * 64 + row) * 32 + i % 8 * 4) = *(uint4 *)(tile + row * 128 + ((i % 8) ^ (row % 8)) * 16);
        }
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    half_product_to_half(in, out, 256, 64, 64, 64);
}
#endif
