/* ring.cuh: C[R_M][R_N] (floats) = A[R_M][R_K] B[R_N][R_K]^T, halves in rows of R_KP, by a producer warp that fills a ring
 * of R_S stages with tensor copies, and a warp group that empties it. The sizes are odd: copies bring zeros from outside.
 *   R_EMPTY   arrivals that free a stage: 1, 4 or 128     R_LAG   1: a stage is freed when the next one's products run */
#ifdef __CUDACC__
enum { STAGE = 16384 };
PEER_MAPS_KERNEL(160)
{
    extern __shared__ __align__(1024) unsigned char sm[];
    __shared__ __align__(8) u64 full[R_S];
    __shared__ __align__(8) u64 empty[R_S];
    u32 t = threadIdx.x;
    u32 m0 = blockIdx.x % ((R_M + 63) / 64) * 64;
    u32 n0 = blockIdx.x / ((R_M + 63) / 64) * 64;
    u32 n_blocks = (R_K + 63) / 64;
    if (t == 0) {
        for (u32 s = 0; s < R_S; s++) {
            mbar_init(&full[s], 1);
            mbar_init(&empty[s], R_EMPTY);
        }
        mbar_init_done();
    }
    __syncthreads();
    if (t >= 128) {
        if (elect_one()) {
            for (u32 k = 0; k < n_blocks; k++) {
                u32 s = k % R_S;
                mbar_wait(&empty[s], (k / R_S & 1) ^ 1);
                mbar_expect(&full[s], STAGE);
                tma_load2(sm + s * STAGE, &maps.at[0], &full[s], (s32)(k * 64), (s32)m0);
                tma_load2(sm + s * STAGE + 8192, &maps.at[1], &full[s], (s32)(k * 64), (s32)n0);
            }
        }
        return;
    }
    float c[32] = {};
    for (u32 k = 0; k < n_blocks; k++) {
        u32 s = k % R_S;
        mbar_wait(&full[s], k / R_S & 1);
        wg_hold(c);
        wg_fence();
        for (u32 j = 0; j < 4; j++) {
            u32 at = address(sm + s * STAGE) + j * 32;
            wg_f16<1, 1, 0, 0>(c, wg_desc(at, 16, 1024, 1), wg_desc(at + 8192, 16, 1024, 1), 1);
        }
        wg_commit();
        wg_wait<R_LAG>();
        if (k >= R_LAG && (R_EMPTY == 128 || t % (128 / R_EMPTY) == 0)) {
            mbar_arrive(&empty[(k - R_LAG) % R_S]);
        }
    }
    wg_wait<0>();
    wg_hold(c);
    for (u32 i = 0; i < 32; i++) {
        u32 m = m0 + t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
        u32 n = n0 + i / 4 * 8 + t % 4 * 2 + i % 2;
        if (m < R_M && n < R_N) {
            out[m * R_N + n] = float_bits(c[i]);
        }
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    for (u32 m = 0; m < R_M; m++) {
        for (u32 n = 0; n < R_N; n++) {
            s32 sum = 0;
            for (u32 k = 0; k < R_K; k++) {
                sum += small_half(in, m * R_KP + k) * small_half(in, (R_M + n) * R_KP + k);
            }
            out[m * R_N + n] = float_bits((float)sum);
        }
    }
}
#endif
