#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* Two accumulators, a group of products each: wait_group 1 frees the older one, which is stored while the other runs. */
PEER_SM90A(1, 128, (64 + 128) * 32, 64 * 128, PEER_SMALL_HALVES, 24576)
#ifdef __CUDACC__
FN void store_half(u32 *out, float (&c)[32], u32 t, u32 n0)
{
    for (u32 i = 0; i < 32; i++) {
        out[(t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8) * 128 + n0 + i / 4 * 8 + t % 4 * 2 + i % 2] = float_bits(c[i]);
    }
}
PEER_KERNEL
{
    extern __shared__ __align__(1024) unsigned char sm[];
    u32 t = threadIdx.x;
    (void)n_in;
    (void)n_out;
    for (u32 i = t; i < 192 * 8; i += 128) {
        u32 row = i / 8;
        *(uint4 *)(sm + row * 128 + ((i % 8) ^ (row % 8)) * 16) = *(const uint4 *)(in + row * 32 + i % 8 * 4);
    }
    async_fence();
    __syncthreads();
    float c[32];
    float d[32];
    wg_fence();
    for (u32 j = 0; j < 4; j++) {
        wg_f16::from_shared<1, 1, 0, 0>(c, wg_desc(address(sm) + j * 32, 16, 1024, 1), wg_desc(address(sm) + 8192 + j * 32, 16, 1024, 1), j != 0);
    }
    wg_commit();
    for (u32 j = 0; j < 4; j++) {
        wg_f16::from_shared<1, 1, 0, 0>(d, wg_desc(address(sm) + j * 32, 16, 1024, 1), wg_desc(address(sm) + 16384 + j * 32, 16, 1024, 1), j != 0);
    }
    wg_commit();
    wg_wait<1>();
    wg_hold(c);
    store_half(out, c, t, 0);
    wg_wait<0>();
    wg_hold(d);
    store_half(out, d, t, 64);
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    half_product(in, out, 64, 128, 64, 64);
}
#endif
