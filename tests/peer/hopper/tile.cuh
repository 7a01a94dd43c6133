/* tile.cuh: C[T_M][T_N] = A[T_M][T_K] B[T_N][T_K]^T by wgmma, a CTA of one warp group for 64 x T_TN of C. The sizes are
 * odd: what lies outside is zero. Before it is included:
 *   T_M T_N T_K   sizes            T_TN    columns of a CTA        T_STEPS  products of one k-block
 *   T_BITS        of an element    T_CODE  small integer -> bits   T_OP(c, a, b, is_adding)  the product
 *   T_SWA T_SWB   bytes of the swizzle, 0 none      T_TA T_TB   1: M or N runs along memory
 *   T_A_REGS      A comes from registers            T_ACC, T_N_ACC, T_OUT(x)  an accumulator's type, how many, its bits
 *   T_WANT(sum)   bits of the expected result */
#ifndef T_M
#error "set the macros first"
#endif

FN s32 value_a(const u32 *in, u32 n_in, u32 m, u32 k) { return (s32)(in[(m * T_K + k) % n_in] % 8) - 3; }
FN s32 value_b(const u32 *in, u32 n_in, u32 n, u32 k) { return (s32)(in[(n * T_K + k * 5 + 77) % n_in] >> 8 & 7) - 3; }

#ifdef __CUDACC__
enum { K_ELEMS = T_STEPS * 256 / T_BITS, ROW_BYTES = T_STEPS * 32 };

/* Where element (mn, k) of a matrix of `rows` lies. */
template <int SW, int TRANS> FN u32 place(u32 rows, u32 mn, u32 k)
{
    if (TRANS) { /* lines of k, 8 elements of M or N a piece */
        u32 piece = mn / 8;
        if (SW == 0) {
            return (piece * (K_ELEMS / 8) + k / 8) * 128 + k % 8 * 16 + mn % 8 * 2;
        }
        constexpr u32 per = SW ? SW / 16 : 1;
        u32 flip = SW == 128 ? k % 8 : SW == 64 ? k % 8 / 2 : k % 8 / 4;
        return piece / per * (K_ELEMS * SW) + k * SW + (piece % per ^ flip) * 16 + mn % 8 * 2;
    }
    u32 byte = k * T_BITS / 8;
    if (SW == 0) {
        return byte / 16 * (rows * 16) + mn * 16 + byte % 16;
    }
    u32 width = SW ? SW : 1;
    u32 flip = SW == 128 ? mn % 8 : SW == 64 ? mn % 8 / 2 : mn % 8 / 4;
    return byte / width * (rows * SW) + mn * SW + (byte % width / 16 ^ flip) * 16 + byte % 16;
}

/* The descriptor for product `step` of the k-block at `at`. */
template <int SW, int TRANS> FN u64 describe(u32 at, u32 rows, u32 step)
{
    constexpr u32 mode = SW == 128 ? 1 : SW == 64 ? 2 : SW == 32 ? 3 : 0;
    if (TRANS) {
        return SW == 0 ? wg_desc(at + step * 256, 128, K_ELEMS / 8 * 128, 0)
                       : wg_desc(at + step * 16 * SW, K_ELEMS * SW, 8 * SW, mode);
    }
    constexpr u32 width = SW ? SW : 1;
    u32 byte = step * 32;
    return SW == 0 ? wg_desc(at + step * 2 * rows * 16, rows * 16, 128, 0)
                   : wg_desc(at + byte / width * (rows * SW) + byte % width, 16, 8 * SW, mode);
}

FN void put(unsigned char *at, u32 bits)
{
#if T_BITS == 8
    *at = (unsigned char)bits;
#elif T_BITS == 16
    *(unsigned short *)at = (unsigned short)bits;
#else
    *(u32 *)at = bits;
#endif
}

PEER_KERNEL
{
    extern __shared__ __align__(1024) unsigned char sm[];
    unsigned char *sa = sm;
    unsigned char *sb = sm + 64 * ROW_BYTES;
    u32 m0 = blockIdx.x % ((T_M + 63) / 64) * 64;
    u32 n0 = blockIdx.x / ((T_M + 63) / 64) * T_TN;
    u32 t = threadIdx.x;
    u32 row = t / 32 * 16 + t % 32 / 4;
    T_ACC c[T_N_ACC] = {};
    for (u32 k0 = 0; k0 < T_K; k0 += K_ELEMS) {
#ifndef T_A_REGS
        for (u32 i = t; i < 64 * K_ELEMS; i += 128) {
            u32 m = i / K_ELEMS;
            u32 k = i % K_ELEMS;
            s32 v = m0 + m < T_M && k0 + k < T_K ? value_a(in, n_in, m0 + m, k0 + k) : 0;
            put(sa + place<T_SWA, T_TA>(64, m, k), T_CODE(v));
        }
#endif
        for (u32 i = t; i < T_TN * K_ELEMS; i += 128) {
            u32 n = i / K_ELEMS;
            u32 k = i % K_ELEMS;
            s32 v = n0 + n < T_N && k0 + k < T_K ? value_b(in, n_in, n0 + n, k0 + k) : 0;
            put(sb + place<T_SWB, T_TB>(T_TN, n, k), T_CODE(v));
        }
        async_fence();
        __syncthreads();
#ifdef T_A_REGS
        u32 fragment[T_STEPS][4];
        for (u32 s = 0; s < T_STEPS; s++) {
            for (u32 j = 0; j < 4; j++) {
                constexpr u32 per = 32 / T_BITS;
                fragment[s][j] = 0;
                for (u32 e = 0; e < per; e++) {
                    u32 m = m0 + row + j % 2 * 8;
                    u32 k = k0 + s * (K_ELEMS / T_STEPS) + per * (t % 4) + e + j / 2 * 4 * per;
                    s32 v = m < T_M && k < T_K ? value_a(in, n_in, m, k) : 0;
                    fragment[s][j] |= (u32)T_CODE(v) << (T_BITS * e % 32);
                }
            }
        }
        for (u32 s = 0; s < T_STEPS; s++) {
            wg_hold(fragment[s]);
        }
#endif
        wg_hold(c);
        wg_fence();
        for (u32 s = 0; s < T_STEPS; s++) {
            u64 b = describe<T_SWB, T_TB>(address(sb), T_TN, s);
#ifdef T_A_REGS
            T_OP(c, fragment[s], b, 1);
#else
            T_OP(c, (describe<T_SWA, T_TA>(address(sa), 64, s)), b, 1);
#endif
        }
        wg_commit();
        wg_wait<0>();
        wg_hold(c);
        __syncthreads();
    }
    for (u32 i = 0; i < T_TN / 2; i++) {
        u32 m = m0 + row + i / 2 % 2 * 8;
        u32 n = n0 + i / 4 * 8 + t % 4 * 2 + i % 2;
        if (m < T_M && n < T_N) {
            out[m * T_N + n] = T_OUT(c, i);
        }
    }
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 m = 0; m < T_M; m++) {
        for (u32 n = 0; n < T_N; n++) {
            s32 sum = 0;
            for (u32 k = 0; k < T_K; k++) {
                sum += value_a(in, n_in, m, k) * value_b(in, n_in, n, k);
            }
            out[m * T_N + n] = T_WANT(sum);
        }
    }
}
#endif
