/* random.h: what programs of generate.py are made of, for nvcc and for the host's C compiler: the
 * same source is a kernel here, and there a function that runs each step for one thread after the
 * other.
 *
 *   KERNEL(name, threads, state, shared) ... END      s: the thread's struct, sh: the block's
 *   EACH(statement)                                   for each thread
 *   BARRIER, SHFL, VOTE, MATCH, REDUCE                steps of a whole block; the last four of all
 *                                                     lanes of a mask
 *
 * Expressions of one type give the same bits on both sides: integers wrap, divisions and
 * conversions are total, floats are rounded once, and NaNs have one pattern where bits are looked
 * at. */
#ifndef PEER_RANDOM_H
#define PEER_RANDOM_H

typedef signed char s8;
typedef unsigned char u8;
typedef short s16;
typedef unsigned short u16;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

enum { N_IN = 256, N_TOTALS = 12 }; /* words of in[]; totals of all blocks, in front of out[] */

#ifdef __CUDACC__

#define FN    static __device__ __forceinline__
#define CALL  static __device__ __noinline__
#define TABLE static __constant__
#define KERNEL(name, threads, state, shared)                 \
    extern "C" __global__ void name(const u32 *in, u64 *out) \
    {                                                        \
        __shared__ struct shared block;                      \
        struct state mine;                                   \
        struct state *const s = &mine;                       \
        struct shared *const sh = &block;                    \
        const u32 t = threadIdx.x;                           \
        const u32 b = blockIdx.x;
#define END           }
#define EACH(...)     __VA_ARGS__
#define BARRIER       __syncthreads();
#define IN_MASK(mask) ((mask) == 0xFFFFFFFFu || ((mask) >> (t % 32) & 1u))
#define STEP(mask, to, ...)  \
    if (IN_MASK(mask)) {     \
        s->to = __VA_ARGS__; \
    }
#define SHFL(mask, way, to, from, arg, width) \
    STEP(mask, to, __shfl##way##_sync(mask, s->from, arg, width))
#define VOTE(mask, way, to, ...)     STEP(mask, to, (u32)__##way##_sync(mask, __VA_ARGS__))
#define MATCH(mask, to, from)        STEP(mask, to, __match_any_sync(mask, s->from))
#define REDUCE(mask, way, to, from)  STEP(mask, to, __reduce_##way##_sync(mask, s->from))
#define ATOMIC(way, T, place, value) (void)atomic##way(place, value)
FN u32 bits_f32(f32 f)
{
    return f != f ? 0x7FFFFFFFu : __float_as_uint(f);
}
FN u64 bits_f64(f64 f)
{
    return f != f ? 0x7FF8000000000000ull : (u64)__double_as_longlong(f);
}
FN f32 as_f32(u32 x)
{
    return __uint_as_float(x);
}
FN f64 as_f64(u64 x)
{
    return __longlong_as_double((s64)x);
}
FN u32 popc(u32 x)
{
    return (u32)__popc((s32)x);
}
FN u32 popc64(u64 x)
{
    return (u32)__popcll((s64)x);
}
FN u32 clz(u32 x)
{
    return (u32)__clz((s32)x);
}
FN u32 clz64(u64 x)
{
    return (u32)__clzll((s64)x);
}
FN u32 ffs(u32 x)
{
    return (u32)__ffs((s32)x);
}
FN u32 brev(u32 x)
{
    return __brev(x);
}
FN u64 brev64(u64 x)
{
    return __brevll(x);
}
FN u32 permute(u32 a, u32 b, u32 c)
{
    return __byte_perm(a, b, c);
}
FN u32 funnel_l(u32 a, u32 b, u32 c)
{
    return __funnelshift_l(a, b, c);
}
FN u32 funnel_r(u32 a, u32 b, u32 c)
{
    return __funnelshift_rc(a, b, c);
}
FN u32 mulhi_u32(u32 a, u32 b)
{
    return __umulhi(a, b);
}
FN s32 mulhi_s32(s32 a, s32 b)
{
    return __mulhi(a, b);
}
FN u64 mulhi_u64(u64 a, u64 b)
{
    return __umul64hi(a, b);
}
FN s64 mulhi_s64(s64 a, s64 b)
{
    return __mul64hi(a, b);
}
FN u32 sad(s32 a, s32 b, u32 c)
{
    return __sad(a, b, c);
}
FN s32 dp4a(u32 a, u32 b, s32 c)
{
    return __dp4a((s32)a, (s32)b, c);
}
FN u32 vadd4(u32 a, u32 b)
{
    return __vadd4(a, b);
}
FN u32 vmax2(u32 a, u32 b)
{
    return __vmaxs2(a, b);
}
#define HALF_OP(name, op)                                  \
    FN u16 name(u16 a, u16 b)                              \
    {                                                      \
        u16 r;                                             \
        asm(op " %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b)); \
        return (r & 0x7FFF) > 0x7C00 ? 0x7FFF : r;         \
    }
#define HALF_MASK(name, op)                                                 \
    FN u32 name(u32 a, u32 b)                                               \
    {                                                                       \
        u32 r;                                                              \
        asm("set." op ".u32.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); \
        return r;                                                           \
    }
HALF_MASK(half_less_mask, "lt")
HALF_MASK(half_equal_mask, "equ")
HALF_OP(half_add, "add.rn.f16")
HALF_OP(half_sub, "sub.rn.f16")
HALF_OP(half_mul, "mul.rn.f16")
FN f32 half_to_f32(u16 x)
{
    f32 r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
    return r;
}
FN u16 f32_to_half(f32 x)
{
    u16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return (r & 0x7FFF) > 0x7C00 ? 0x7FFF : r;
}

#else

#include <math.h>
#include <string.h>

#define FN    static inline
#define CALL  static
#define TABLE static const
#define KERNEL(name, threads, state, shared)          \
    void name(const u32 *in, u64 *out, u32 n_blocks); \
    void name(const u32 *in, u64 *out, u32 n_blocks)  \
    {                                                 \
        enum { N_THREADS = threads };                 \
        typedef struct state thread_state;            \
        struct shared block;                          \
        thread_state all[N_THREADS];                  \
        struct shared *const sh = &block;             \
        for (u32 b = 0; b < n_blocks; b++) {
#define END \
    }       \
    }
#define EACH(...)                         \
    for (u32 t = 0; t < N_THREADS; t++) { \
        thread_state *const s = &all[t];  \
        (void)s;                          \
        __VA_ARGS__                       \
    }
#define BARRIER
#define state_of(lane) all[warp_ * 32 + (lane)]
/* For each warp: `value` of each lane of the mask, made while nothing is written; then it is. */
#define STEP(mask_, to, value)                             \
    for (u32 warp_ = 0; warp_ < N_THREADS / 32; warp_++) { \
        thread_state old_[32];                             \
        memcpy(old_, &all[warp_ * 32], sizeof old_);       \
        for (u32 lane = 0; lane < 32; lane++) {            \
            const u32 mask = mask_;                        \
            const u32 t = warp_ * 32 + lane;               \
            thread_state *s = &old_[lane];                 \
            (void)t;                                       \
            (void)s;                                       \
            if (mask >> lane & 1u) {                       \
                value;                                     \
                all[warp_ * 32 + lane].to = result_;       \
            }                                              \
        }                                                  \
    }
#define SHFL(mask, way, to, from, arg, width) \
    STEP(mask, to, __typeof__(s->from) result_ = old_[shfl##way##_lane(lane, arg, width)].from)
#define VOTE(mask, way, to, ...)                                                \
    STEP(                                                                       \
        mask, to, u32 result_ = 0; for (u32 other = 0; other < 32; other++) {   \
            thread_state *s = &old_[other];                                     \
            const u32 t = warp_ * 32 + other;                                   \
            (void)t;                                                            \
            (void)s;                                                            \
            result_ |= (mask >> other & 1u) && (__VA_ARGS__) ? 1u << other : 0; \
        } result_ = vote_##way(result_, mask))
#define MATCH(mask, to, from)                                                                 \
    STEP(                                                                                     \
        mask, to, u32 result_ = 0; for (u32 other = 0; other < 32; other++) {                 \
            result_ |= (mask >> other & 1u) && old_[other].from == s->from ? 1u << other : 0; \
        })
#define REDUCE(mask, way, to, from)                                \
    STEP(                                                          \
        mask, to, __typeof__(s->from) result_ = s->from;           \
        for (u32 other = 0; other < 32; other++) {                 \
            if ((mask >> other & 1u) && other != lane) {           \
                result_ = reduce_##way(result_, old_[other].from); \
            }                                                      \
        })
#define ATOMIC(way, T, place, value) host_##way##_##T(place, value)
FN u32 shfl_lane(u32 lane, u32 arg, u32 width)
{
    return (lane & ~(width - 1)) | (arg & (width - 1));
}
FN u32 shfl_up_lane(u32 lane, u32 arg, u32 width)
{
    return lane % width < (arg & 31) ? lane : lane - (arg & 31);
}
FN u32 shfl_down_lane(u32 lane, u32 arg, u32 width)
{
    return lane % width + (arg & 31) >= width ? lane : lane + (arg & 31);
}
FN u32 shfl_xor_lane(u32 lane, u32 arg, u32 width)
{
    u32 j = lane ^ (arg & 31);
    return j > (lane | (width - 1)) ? lane : j;
}
FN u32 vote_ballot(u32 x, u32 mask)
{
    return x & mask;
}
FN u32 vote_any(u32 x, u32 mask)
{
    return (x & mask) != 0;
}
FN u32 vote_all(u32 x, u32 mask)
{
    return (x & mask) == mask;
}
#define reduce_add(a, b)             ((__typeof__(a))((u32)(a) + (u32)(b)))
#define reduce_min(a, b)             ((a) < (b) ? (a) : (b))
#define reduce_max(a, b)             ((a) > (b) ? (a) : (b))
#define reduce_and(a, b)             ((a) & (b))
#define reduce_or(a, b)              ((a) | (b))
#define reduce_xor(a, b)             ((a) ^ (b))
#define HOST_ATOMIC(way, T, expr)       \
    FN void host_##way##_##T(T *p, T v) \
    {                                   \
        *p = (T)(expr);                 \
    }
#define HOST_ATOMICS(T, U)               \
    HOST_ATOMIC(Add, T, (U)*p + (U)v)    \
    HOST_ATOMIC(Min, T, *p < v ? *p : v) \
    HOST_ATOMIC(Max, T, *p > v ? *p : v) \
    HOST_ATOMIC(And, T, *p &v)           \
    HOST_ATOMIC(Or, T, *p | v)           \
    HOST_ATOMIC(Xor, T, *p ^ v)
HOST_ATOMICS(u32, u32)
HOST_ATOMICS(s32, u32)
HOST_ATOMICS(u64, u64)
FN u32 bits_f32(f32 f)
{
    u32 x;
    memcpy(&x, &f, 4);
    return f != f ? 0x7FFFFFFFu : x;
}
FN u64 bits_f64(f64 f)
{
    u64 x;
    memcpy(&x, &f, 8);
    return f != f ? 0x7FF8000000000000ull : x;
}
FN f32 as_f32(u32 x)
{
    f32 f;
    memcpy(&f, &x, 4);
    return f;
}
FN f64 as_f64(u64 x)
{
    f64 f;
    memcpy(&f, &x, 8);
    return f;
}
FN u32 popc(u32 x)
{
    return (u32)__builtin_popcount(x);
}
FN u32 popc64(u64 x)
{
    return (u32)__builtin_popcountll(x);
}
FN u32 clz(u32 x)
{
    return x == 0 ? 32 : (u32)__builtin_clz(x);
}
FN u32 clz64(u64 x)
{
    return x == 0 ? 64 : (u32)__builtin_clzll(x);
}
#define ffs(x) ((u32)__builtin_ffs((s32)(x)))
FN u32 brev(u32 x)
{
    u32 r = 0;
    for (u32 i = 0; i < 32; i++) {
        r |= (x >> i & 1) << (31 - i);
    }
    return r;
}
FN u64 brev64(u64 x)
{
    return (u64)brev((u32)x) << 32 | brev((u32)(x >> 32));
}
FN u32 permute(u32 a, u32 b, u32 c)
{
    u64 all = (u64)b << 32 | a;
    u32 r = 0;
    for (u32 i = 0; i < 4; i++) {
        r |= (u32)(all >> (c >> (4 * i) & 7) * 8 & 0xFF) << (8 * i);
    }
    return r;
}
FN u32 funnel_l(u32 a, u32 b, u32 c)
{
    return (u32)(((u64)b << 32 | a) << (c & 31) >> 32);
}
FN u32 funnel_r(u32 a, u32 b, u32 c)
{
    return (u32)(((u64)b << 32 | a) >> (c < 32 ? c : 32));
}
FN u32 mulhi_u32(u32 a, u32 b)
{
    return (u32)((u64)a * b >> 32);
}
FN s32 mulhi_s32(s32 a, s32 b)
{
    return (s32)((s64)a * b >> 32);
}
FN u64 mulhi_u64(u64 a, u64 b)
{
    return (u64)((unsigned __int128)a * b >> 64);
}
FN s64 mulhi_s64(s64 a, s64 b)
{
    return (s64)((__int128)a * b >> 64);
}
FN u32 sad(s32 a, s32 b, u32 c)
{
    return c + (a < b ? (u32)b - (u32)a : (u32)a - (u32)b);
}
FN s32 dp4a(u32 a, u32 b, s32 c)
{
    for (u32 i = 0; i < 32; i += 8) {
        c = (s32)((u32)c + (u32)((s8)(a >> i) * (s8)(b >> i)));
    }
    return c;
}
FN u32 vadd4(u32 a, u32 b)
{
    u32 r = 0;
    for (u32 i = 0; i < 32; i += 8) {
        r |= ((a >> i) + (b >> i) & 0xFF) << i;
    }
    return r;
}
FN u32 vmax2(u32 a, u32 b)
{
    u32 low = (s16)a > (s16)b ? a & 0xFFFF : b & 0xFFFF;
    return low | ((s16)(a >> 16) > (s16)(b >> 16) ? a : b) >> 16 << 16;
}
FN f32 half_to_f32(u16 x)
{
    f64 m = x & 0x3FF;
    u32 e = x >> 10 & 31;
    f64 v = e == 31  ? (m == 0 ? INFINITY : NAN)
            : e == 0 ? ldexp(m, -24)
                     : ldexp(m + 1024, (s32)e - 25);
    return (f32)(x >> 15 ? -v : v);
}
FN u16 f32_to_half(f32 x)
{
    if (x != x) {
        return 0x7FFF;
    }
    u16 sign = (u16)(bits_f32(x) >> 31 << 15);
    f64 v = fabs((f64)x);
    if (v >= 65520) {
        return sign | 0x7C00;
    }
    s32 e = -24; /* of the last bit */
    while (e < 5 && v >= ldexp(2048, e)) {
        e++;
    }
    u32 m = (u32)rint(ldexp(v, -e)); /* up to 2048 */
    return (u16)(sign |
                 (e == -24 ? m : ((u32)(e + 24) << 10) + m)); /* a carry goes into the exponent */
}
#define HALF_MASK(name, is_so)                  \
    FN u32 name(u32 a, u32 b)                   \
    {                                           \
        u32 r = 0;                              \
        for (u32 i = 0; i < 32; i += 16) {      \
            f32 x = half_to_f32((u16)(a >> i)); \
            f32 y = half_to_f32((u16)(b >> i)); \
            r |= is_so ? 0xFFFFu << i : 0;      \
        }                                       \
        return r;                               \
    }
HALF_MASK(half_less_mask, x < y)
HALF_MASK(half_equal_mask, !(x < y || x > y))
FN u16 half_add(u16 a, u16 b)
{
    return f32_to_half(half_to_f32(a) + half_to_f32(b));
}
FN u16 half_sub(u16 a, u16 b)
{
    return f32_to_half(half_to_f32(a) - half_to_f32(b));
}
FN u16 half_mul(u16 a, u16 b)
{
    return f32_to_half(half_to_f32(a) * half_to_f32(b));
}

#endif

/* ---- total operations ----------------------------------------------------------------------- */

#define DIVISIONS(T, U)                                                                \
    FN T div_##T(T a, T b)                                                             \
    {                                                                                  \
        return b == 0 ? a : (T)(b == (T)-1 && (T)-1 < 0 ? (T)(0 - (U)a) : (T)(a / b)); \
    }                                                                                  \
    FN T rem_##T(T a, T b)                                                             \
    {                                                                                  \
        return b == 0 ? a : (T)(b == (T)-1 && (T)-1 < 0 ? 0 : (T)(a % b));             \
    }
DIVISIONS(s8, u32)
DIVISIONS(u8, u32)
DIVISIONS(s16, u32)
DIVISIONS(u16, u32)
DIVISIONS(s32, u32)
DIVISIONS(u32, u32)
DIVISIONS(s64, u64)
DIVISIONS(u64, u64)
/* Powers of two as bounds: exact in both floats. */
#define FROM_FLOAT(F, T, low, high)                    \
    FN T F##_to_##T(F x)                               \
    {                                                  \
        return x > (low) && x < (high) ? (T)x : (T)77; \
    }
FROM_FLOAT(f32, s32, -0x1p31f, 0x1p31f)
FROM_FLOAT(f32, u32, -1.0f, 0x1p32f)
FROM_FLOAT(f32, s64, -0x1p63f, 0x1p63f)
FROM_FLOAT(f32, u64, -1.0f, 0x1p64f)
FROM_FLOAT(f64, s32, -0x1p31, 0x1p31)
FROM_FLOAT(f64, u32, -1.0, 0x1p32)
FROM_FLOAT(f64, s64, -0x1p63, 0x1p63)
FROM_FLOAT(f64, u64, -1.0, 0x1p64)
#define FLOAT_MIN_MAX(F)      \
    FN F min_##F(F a, F b)    \
    {                         \
        return a < b ? a : b; \
    }                         \
    FN F max_##F(F a, F b)    \
    {                         \
        return a > b ? a : b; \
    }
FLOAT_MIN_MAX(f32)
FLOAT_MIN_MAX(f64)

#endif
