#include "peer.h"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
/* A tensor of 32-bit words, 70 x 29, through boxes with every swizzle; the reader undoes them by row and piece, and a store
 * with the same swizzle brings the box back into out[]. */
#define MAP(o, is_o, sw, bx) \
    {.is_out = is_o, .offset = o, .type = 2, .rank = 2, .dims = {70, 29}, .strides = {288}, .box = {bx, 16}, .swizzle = sw}
PEER_MAPS(MAP(0, 0, 0, 32), MAP(0, 0, 1, 8), MAP(0, 0, 2, 16), MAP(0, 0, 3, 32), MAP(0, 1, 0, 32), MAP(0, 1, 1, 8),
          MAP(0, 1, 2, 16), MAP(0, 1, 3, 32))
PEER_SM90A_MAPS(4, 64, 72 * 29, 72 * 29 + 4 * 512, PEER_BITS, 2048)
#ifdef __CUDACC__
PEER_MAPS_KERNEL(64)
{
    extern __shared__ __align__(1024) unsigned char sm[];
    __shared__ __align__(8) u64 full;
    u32 mode = blockIdx.x;
    u32 width = mode == 1 ? 32 : mode == 2 ? 64 : 128;
    u32 words = width / 4;
    s32 x = (s32)(mode * 9) - 1;
    s32 y = (s32)(mode * 5);
    (void)n_in;
    (void)n_out;
    if (threadIdx.x == 0) {
        mbar_init(&full, 1);
        mbar_init_done();
        mbar_expect(&full, width * 16);
        tma_load2(sm, &maps.at[mode], &full, x, y);
    }
    __syncthreads();
    mbar_wait(&full, 0);
    for (u32 i = threadIdx.x; i < words * 16; i += 64) {
        u32 row = i / words;
        u32 piece = i % words / 4;
        u32 flip = mode == 3 ? row % 8 : mode == 2 ? row / 2 % 4 : mode == 1 ? row / 4 % 2 : 0;
        u32 *at = (u32 *)(sm + row * width + ((piece ^ flip) * 16) + i % 4 * 4);
        out[72 * 29 + mode * 512 + i] = *at;
        *at += 1;
    }
    async_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        /* apart from the boxes of the others: columns and rows of its own */
        tma_store2(&maps.at[4 + mode], sm, (s32)(mode == 0 ? 0 : mode == 1 ? 34 : mode == 2 ? 44 : 0), mode == 3 ? 18 : 0);
        bulk_commit();
        bulk_wait<0>();
    }
}
#else
PEER_REFERENCE
{
    static const u32 words[] = {32, 8, 16, 32};
    static const u32 to_x[] = {0, 34, 44, 0};
    static const u32 to_y[] = {0, 0, 0, 18};
    (void)n_in;
    (void)n_out;
    for (u32 mode = 0; mode < 4; mode++) {
        for (u32 i = 0; i < words[mode] * 16; i++) {
            s32 x = (s32)(mode * 9) - 1 + (s32)(i % words[mode]);
            u32 y = mode * 5 + i / words[mode];
            u32 v = x >= 0 && x < 70 && y < 29 ? in[y * 72 + (u32)x] : 0;
            u32 tx = to_x[mode] + i % words[mode];
            u32 ty = to_y[mode] + i / words[mode];
            out[72 * 29 + mode * 512 + i] = v;
            if (tx < 70 && ty < 29) {
                out[ty * 72 + tx] = v + 1;
            }
        }
    }
}
#endif
