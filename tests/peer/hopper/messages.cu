#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* A chain of CTAs: each multiplies its part of K, adds what the CTA before left in out[], and says so by a flag: release and
 * acquire at the scope of the GPU. Only then does the next one read. */
#define Q_K 320
PEER_SM90A(5, 128, 128 * Q_K / 2, 64 * 64, PEER_SMALL_HALVES, 16384)
#ifdef __CUDACC__
static __device__ u32 flags[6];
PEER_KERNEL
{
    extern __shared__ __align__(1024) unsigned char sm[];
    u32 t = threadIdx.x;
    u32 part = blockIdx.x;
    (void)n_in;
    (void)n_out;
    for (u32 i = t; i < 128 * 8; i += 128) { /* rows of A, then of B */
        u32 row = i / 8;
        *(uint4 *)(sm + row * 128 + ((i % 8) ^ (row % 8)) * 16) = *(const uint4 *)(in + row * (Q_K / 2) + part * 32 + i % 8 * 4);
    }
    async_fence();
    __syncthreads();
    float c[32] = {};
    if (part > 0) {
        if (t == 0) {
            u32 seen;
            do {
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(&flags[part]) : "memory");
            } while (seen == 0);
        }
        __syncthreads();
        for (u32 i = 0; i < 32; i++) {
            c[i] = as_float(out[(t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + t % 4 * 2 + i % 2]);
        }
    }
    wg_hold(c);
    wg_fence();
    for (u32 j = 0; j < 4; j++) {
        u32 at = address(sm) + j * 32;
        wg_f16::from_shared<1, 1, 0, 0>(c, wg_desc(at, 16, 1024, 1), wg_desc(at + 8192, 16, 1024, 1), 1);
    }
    wg_commit();
    wg_wait<0>();
    wg_hold(c);
    for (u32 i = 0; i < 32; i++) {
        out[(t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + t % 4 * 2 + i % 2] = float_bits(c[i]);
    }
    __syncthreads();
    if (t == 0) {
        asm volatile("fence.acq_rel.gpu;\nst.release.gpu.global.u32 [%0], 1;" ::"l"(&flags[part + 1]) : "memory");
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    half_product(in, out, 64, 64, Q_K, Q_K);
}
#endif
