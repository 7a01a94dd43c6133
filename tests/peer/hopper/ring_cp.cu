#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
/* A ring of three stages that a warp group fills with cp.async and another empties with wgmma; mbarriers both ways, the
 * copies signal their own. C[60][56] = A[60][328] B[56][328]^T, halves; rows beyond the end are zeros by source size 0. */
#define C_M 60
#define C_N 56
#define C_K 328
#define C_S 3
PEER_SM90A(1, 256, (C_M + C_N) * C_K / 2, C_M * C_N, PEER_SMALL_HALVES, C_S * 16384)
#ifdef __CUDACC__
FN void copy_rows(unsigned char *to, const u32 *from, u32 rows, u32 k0, u32 t)
{
    for (u32 i = t; i < 64 * 8; i += 128) { /* 16 bytes: 8 halves */
        u32 row = i / 8;
        u32 k = k0 + i % 8 * 8;
        bool is_in = row < rows && k < C_K;
        const u32 *at = from + (is_in ? (row * C_K + k) / 2 : 0);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to) + row * 128 + ((i % 8) ^ (row % 8)) * 16),
                     "l"(at), "r"(is_in ? 16 : 0)
                     : "memory");
    }
}
PEER_KERNEL
{
    extern __shared__ __align__(1024) unsigned char sm[];
    __shared__ __align__(8) u64 full[C_S];
    __shared__ __align__(8) u64 empty[C_S];
    u32 t = threadIdx.x % 128;
    (void)n_in;
    if (threadIdx.x == 0) {
        for (u32 s = 0; s < C_S; s++) {
            mbar_init(&full[s], 128);
            mbar_init(&empty[s], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        for (u32 k = 0; k < (C_K + 63) / 64; k++) {
            u32 s = k % C_S;
            mbar_wait(&empty[s], (k / C_S & 1) ^ 1);
            copy_rows(sm + s * 16384, in, C_M, k * 64, t);
            copy_rows(sm + s * 16384 + 8192, in + C_M * C_K / 2, C_N, k * 64, t);
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&full[s])) : "memory");
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        return;
    }
    float c[32] = {};
    for (u32 k = 0; k < (C_K + 63) / 64; k++) {
        u32 s = k % C_S;
        mbar_wait(&full[s], k / C_S & 1);
        async_fence(); /* cp.async writes through the generic proxy */
        wg_hold(c);
        wg_fence();
        for (u32 j = 0; j < 4; j++) {
            u32 at = address(sm + s * 16384) + j * 32;
            wg_f16::from_shared<1, 1, 0, 0>(c, wg_desc(at, 16, 1024, 1), wg_desc(at + 8192, 16, 1024, 1), 1);
        }
        wg_commit();
        wg_wait<0>();
        wg_hold(c);
        if (t == 0) {
            mbar_arrive(&empty[s]);
        }
    }
    for (u32 i = 0; i < 32; i++) {
        u32 m = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
        u32 n = i / 4 * 8 + t % 4 * 2 + i % 2;
        if (m < C_M && n < C_N) {
            out[m * C_N + n] = float_bits(c[i]);
        }
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    half_product(in, out, C_M, C_N, C_K, C_K);
}
#endif
