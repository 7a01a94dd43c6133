#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
/* C[59][50] = A[59][60] B[50][60]^T, halves, stored twice by tensor copies: as it is by stmatrix .x2, and transposed by
 * stmatrix .x4.trans and .x1.trans. */
#define E_M 59
#define E_N 50
#define E_K 60
#define E_KP 64
#define E_NP 56 /* halves from row to row of the result */
#define E_MP 64 /* of the transposed one */
#define E_BOX .box = {64, 64}, .swizzle = 3
PEER_MAPS({.type = 6, .rank = 2, .dims = {E_K, E_M}, .strides = {E_KP * 2}, E_BOX},
          {.offset = E_M * E_KP * 2, .type = 6, .rank = 2, .dims = {E_K, E_N}, .strides = {E_KP * 2}, E_BOX},
          {.is_out = 1, .type = 6, .rank = 2, .dims = {E_N, E_M}, .strides = {E_NP * 2}, E_BOX},
          {.is_out = 1, .offset = E_M * E_NP * 2, .type = 6, .rank = 2, .dims = {E_M, E_N}, .strides = {E_MP * 2}, E_BOX})
PEER_SM90A_MAPS(1, 128, (E_M + E_N) * E_KP / 2, (E_M * E_NP + E_N * E_MP) / 2, PEER_SMALL_HALVES, 4 * 8192)
#ifdef __CUDACC__
#include "hopper/epilogue.cuh"
/* Where 8 halves of row `row` lie. */
FN u32 piece_at(unsigned char *tile, u32 row, u32 piece) { return address(tile) + row * 128 + (piece ^ (row % 8)) * 16; }
PEER_MAPS_KERNEL(128)
{
    extern __shared__ __align__(1024) unsigned char sm[];
    __shared__ __align__(8) u64 full;
    u32 t = threadIdx.x;
    u32 lane = t % 32;
    u32 warp = t / 32;
    if (t == 0) {
        mbar_init(&full, 1);
        mbar_init_done();
        mbar_expect(&full, 16384);
        tma_load2(sm, &maps.at[0], &full, 0, 0);
        tma_load2(sm + 8192, &maps.at[1], &full, 0, 0);
    }
    __syncthreads();
    mbar_wait(&full, 0);
    float c[32];
    wg_fence();
    for (u32 j = 0; j < 4; j++) {
        u32 at = address(sm) + j * 32;
        wg_f16::from_shared<1, 1, 0, 0>(c, wg_desc(at, 16, 1024, 1), wg_desc(at + 8192, 16, 1024, 1), j != 0);
    }
    wg_commit();
    wg_wait<0>();
    wg_hold(c);
    u32 h[16]; /* h[2 g] rows 0 to 7 of the warp's 16, columns 8 g on; h[2 g + 1] the other rows */
    for (u32 i = 0; i < 16; i++) {
        h[i] = two_halves(c[2 * i], c[2 * i + 1]);
    }
    unsigned char *plain = sm + 16384;
    unsigned char *turned = sm + 24576;
    for (u32 g = 0; g < 8; g++) {
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(piece_at(plain, warp * 16 + lane % 16, g)),
                     "r"(h[2 * g]), "r"(h[2 * g + 1])
                     : "memory");
    }
    for (u32 g = 0; g < 6; g += 2) { /* lines are columns: 8 of group g, the same of the lower rows, then those of group g + 1 */
        u32 line = (g + lane / 16) * 8 + lane % 8;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         piece_at(turned, line, warp * 2 + lane / 8 % 2)),
                     "r"(h[2 * g]), "r"(h[2 * g + 1]), "r"(h[2 * g + 2]), "r"(h[2 * g + 3])
                     : "memory");
    }
    for (u32 i = 12; i < 16; i++) {
        asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(
                         piece_at(turned, i / 2 * 8 + lane % 8, warp * 2 + i % 2)),
                     "r"(h[i])
                     : "memory");
    }
    async_fence();
    __syncthreads();
    if (t == 0) {
        tma_store2(&maps.at[2], plain, 0, 0);
        tma_store2(&maps.at[3], turned, 0, 0);
        bulk_commit();
        bulk_wait<0>();
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    for (u32 i = 0; i < E_M * E_N; i++) {
        u32 m = i / E_N;
        u32 n = i % E_N;
        u32 h = half_of(half_dot(in, m, E_M + n, E_K, E_KP));
        out[(m * E_NP + n) / 2] |= h << (n % 2 * 16);
        out[(E_M * E_NP + n * E_MP + m) / 2] |= h << (m % 2 * 16);
    }
}
#endif
