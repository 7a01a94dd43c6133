#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* The products of wgmma.def, a CTA of one warp group for a tile of C. The sizes are odd: what lies outside is zero. */
FN s32 value_a(const u32 *in, u32 n_in, u32 at, s32 plus) { return (s32)(in[at % n_in] % 8) - 3 + plus; }
FN s32 value_b(const u32 *in, u32 n_in, u32 at, s32 plus) { return (s32)(in[(at + 77) % n_in] >> 8 & 7) - 3 + plus; }
enum { B_STEP = 5 }; /* B takes every fifth word */

#ifdef __CUDACC__
/* Where element (mn, k) of a k-block lies, and the descriptor of a product's part: SW bytes of swizzle; TRANS: M or N runs
 * along memory; K elements. */
template <int SW, int TRANS, int BITS, int K> struct operand {
    static constexpr u32 width = SW ? SW : 1;
    static __device__ u32 flip(u32 line) { return SW == 128 ? line % 8 : SW == 64 ? line % 8 / 2 : line % 8 / 4; }
    static __device__ u32 place(u32 rows, u32 mn, u32 k)
    {
        if (TRANS) { /* lines of k, 8 elements of M or N a piece */
            constexpr u32 per = SW ? SW / 16 : 1;
            u32 piece = mn / 8;
            return SW == 0 ? (piece * (K / 8) + k / 8) * 128 + k % 8 * 16 + mn % 8 * 2
                           : piece / per * (K * SW) + k * SW + (piece % per ^ flip(k)) * 16 + mn % 8 * 2;
        }
        u32 byte = k * BITS / 8;
        return SW == 0 ? byte / 16 * (rows * 16) + mn * 16 + byte % 16
                       : byte / width * (rows * SW) + mn * SW + (byte % width / 16 ^ flip(mn)) * 16 + byte % 16;
    }
    static __device__ u64 describe(u32 at, u32 rows, u32 step)
    {
        constexpr u32 mode = SW == 128 ? 1 : SW == 64 ? 2 : SW == 32 ? 3 : 0;
        u32 byte = step * 32;
        if (TRANS) {
            return SW == 0 ? wg_desc(at + step * 256, 128, K / 8 * 128, 0)
                           : wg_desc(at + step * 16 * SW, K * SW, 8 * SW, mode);
        }
        return SW == 0 ? wg_desc(at + step * 2 * rows * 16, rows * 16, 128, 0)
                       : wg_desc(at + byte / width * (rows * SW) + byte % width, 16, 8 * SW, mode);
    }
};

FN void put(unsigned char *at, u32 bits, u32 n_bits)
{
    if (n_bits == 8) {
        *at = (unsigned char)bits;
    } else if (n_bits == 16) {
        *(unsigned short *)at = (unsigned short)bits;
    } else {
        *(u32 *)at = bits;
    }
}

/* Accumulator i, as bits of a float or an integer. */
FN u32 result(const float *c, u32 n_acc, u32 i) { return float_bits(c[i]); }
FN u32 result(const u32 *c, u32 n_acc, u32 i)
{
    float half;
    asm("cvt.f32.f16 %0, %1;" : "=f"(half) : "h"((unsigned short)(c[i / 2] >> (16 * (i % 2)))));
    return n_acc == 16 ? float_bits(half) : c[i];
}

template <class S> FN void multiply(const u32 *in, u32 *out, u32 n_in)
{
    extern __shared__ __align__(1024) unsigned char sm[];
    unsigned char *sa = sm;
    unsigned char *sb = sm + 64 * S::STEPS * 32;
    u32 m0 = blockIdx.x % ((S::M + 63) / 64) * 64;
    u32 n0 = blockIdx.x / ((S::M + 63) / 64) * S::TN;
    u32 t = threadIdx.x;
    u32 row = t / 32 * 16 + t % 32 / 4;
    typename S::product::acc c[S::product::N_ACC] = {};
    for (u32 k0 = 0; k0 < S::K; k0 += S::BLOCK) {
        if (S::IS_A_SHARED) {
            for (u32 i = t; i < 64 * S::BLOCK; i += 128) {
                u32 m = i / S::BLOCK;
                u32 k = i % S::BLOCK;
                s32 v = m0 + m < S::M && k0 + k < S::K ? value_a(in, n_in, (m0 + m) * S::K + k0 + k, S::PLUS_A) : 0;
                put(sa + S::a::place(64, m, k), S::code_of_a(v), S::BITS);
            }
        }
        for (u32 i = t; i < S::TN * S::BLOCK; i += 128) {
            u32 n = i / S::BLOCK;
            u32 k = i % S::BLOCK;
            s32 v = n0 + n < S::N && k0 + k < S::K ? value_b(in, n_in, (n0 + n) * S::K + (k0 + k) * B_STEP, S::PLUS_B) : 0;
            put(sb + S::b::place(S::TN, n, k), S::code_of_b(v), S::BITS);
        }
        async_fence();
        __syncthreads();
        u32 fragment[S::STEPS][4];
        if (!S::IS_A_SHARED) {
            constexpr u32 per = 32 / S::BITS;
            for (u32 i = 0; i < S::STEPS * 4 * per; i++) {
                u32 s = i / per / 4;
                u32 j = i / per % 4;
                u32 e = i % per;
                u32 m = m0 + row + j % 2 * 8;
                u32 k = k0 + s * (S::BLOCK / S::STEPS) + per * (t % 4) + e + j / 2 * 4 * per;
                s32 v = m < S::M && k < S::K ? value_a(in, n_in, m * S::K + k, S::PLUS_A) : 0;
                fragment[s][j] = (e == 0 ? 0 : fragment[s][j]) | (u32)S::code_of_a(v) << (S::BITS * e % 32);
            }
            for (u32 s = 0; s < S::STEPS; s++) {
                wg_hold(fragment[s]);
            }
        }
        wg_hold(c);
        wg_fence();
        for (u32 s = 0; s < S::STEPS; s++) {
            u64 b = S::b::describe(address(sb), S::TN, s);
            if constexpr (S::IS_A_SHARED) {
                S::product::template from_shared<1, S::SB, S::TA, S::TB>(c, S::a::describe(address(sa), 64, s), b, 1);
            } else {
                S::product::template from_registers<1, S::SB, S::TA, S::TB>(c, fragment[s], b, 1);
            }
        }
        wg_commit();
        wg_wait<0>();
        wg_hold(c);
        __syncthreads();
    }
    for (u32 i = 0; i < S::TN / 2; i++) {
        u32 m = m0 + row + i / 2 % 2 * 8;
        u32 n = n0 + i / 4 * 8 + t % 4 * 2 + i % 2;
        if (m < S::M && n < S::N) {
            out[m * S::N + n] = result(c, S::product::N_ACC, i);
        }
    }
}

enum { FROM_registers, FROM_shared };
#define WGMMA(name, op, bits, code_a, code_b, from, plus_a, plus_b, sb, tn, steps, m, n, k, swa, swb, ta, tb, want) \
    struct shape_##name {                                                                                         \
        typedef wg_##op product;                                                                                  \
        enum : u32 { BITS = bits, TN = tn, STEPS = steps, M = m, N = n, K = k, BLOCK = steps * 256 / bits };       \
        enum : s32 { IS_A_SHARED = FROM_##from, PLUS_A = plus_a, PLUS_B = plus_b, SB = sb, TA = ta, TB = tb };     \
        typedef operand<swa, ta, bits, BLOCK> a;                                                                  \
        typedef operand<swb, tb, bits, BLOCK> b;                                                                  \
        static __device__ u32 code_of_a(s32 v) { return code_##code_a(v); }                                       \
        static __device__ u32 code_of_b(s32 v) { return code_##code_b(v); }                                       \
    };                                                                                                            \
    PEER_VARIANT_KERNEL(name) { multiply<shape_##name>(in, out, n_in); }
#include "hopper/wgmma.def"
#else
FN void multiply(const u32 *in, u32 *out, u32 n_in, u32 n_m, u32 n_n, u32 n_k, s32 plus_a, s32 plus_b, u32 (*want)(s32))
{
    for (u32 m = 0; m < n_m; m++) {
        for (u32 n = 0; n < n_n; n++) {
            s32 sum = 0;
            for (u32 k = 0; k < n_k; k++) {
                sum += value_a(in, n_in, m * n_k + k, plus_a) * value_b(in, n_in, n * n_k + k * B_STEP, plus_b);
            }
            out[m * n_n + n] = want(sum);
        }
    }
}
#define WGMMA(name, op, bits, code_a, code_b, from, plus_a, plus_b, sb, tn, steps, m, n, k, swa, swb, ta, tb, want)     \
    PEER_VARIANT_SM90A(name, ((m + 63) / 64) * ((n + tn - 1) / tn), 128, 4096, m * n, PEER_BITS, (64 + tn) * steps * 32) \
    PEER_VARIANT_REFERENCE(name)                                                                                       \
    {                                                                                                                  \
        (void)n_out;                                                                                                   \
        multiply(in, out, n_in, m, n, k, plus_a, plus_b, want);                                                        \
    }
#include "hopper/wgmma.def"
#endif
