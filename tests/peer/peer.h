/* peer.h: one file, two compilers. A peer program is a .cu file that nvcc compiles to PTX, which
 * the executor runs, and that the host's C compiler compiles too: the same function bodies give the
 * expected results.
 *
 *   PEER(grid, block, n_in, n_out, input)   how it is run; `input` says what in[] holds
 *   PEER_EACH(body)                         kernel and reference: out[i] = body(in[i], i) for all i
 * < n_in PEER_KERNEL { ... }  PEER_REFERENCE { ... }   the two written apart, where threads work
 * together
 *
 * Both see: in, out, n_in, n_out. out[] starts as zeros. */
#ifndef PEER_H
#define PEER_H

typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

typedef enum peer_input { PEER_BITS, PEER_SMALL, PEER_FLOATS } peer_input;

#ifdef __CUDACC__

#define FN   static __device__ __forceinline__
#define CALL static __device__ __noinline__
#define PEER(grid, block, n_in, n_out, input)
#define PEER_KERNEL \
    extern "C" __global__ void peer(const u32 *__restrict__ in, u32 *out, u32 n_in, u32 n_out)
#define PEER_EACH(body)                                \
    PEER_KERNEL                                        \
    {                                                  \
        u32 i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n_in) {                                \
            out[i] = body(in[i], i);                   \
        }                                              \
    }

FN float as_float(u32 x)
{
    return __uint_as_float(x);
}
FN u32 float_bits(float f)
{
    return f != f ? 0x7FFFFFFFu : __float_as_uint(f);
}
FN double as_double(u64 x)
{
    return __longlong_as_double((s64)x);
}
FN u64 double_bits(double f)
{
    return f != f ? 0x7FF8000000000000ull : (u64)__double_as_longlong(f);
}

#else

#include <math.h>
#include <string.h>

#define FN   static inline __attribute__((unused))
#define CALL static __attribute__((unused))
#define __device__
#define __constant__    static const
#define PEER_CAT_(a, b) a##b
#define PEER_CAT(a, b)  PEER_CAT_(a, b)
#define PEER_REFERENCE                                                                  \
    void PEER_CAT(peer_host_, PEER_NAME)(const u32 *in, u32 *out, u32 n_in, u32 n_out); \
    void PEER_CAT(peer_host_, PEER_NAME)(const u32 *in, u32 *out, u32 n_in, u32 n_out)
#define PEER(grid_, block_, n_in_, n_out_, input_)              \
    extern const peer_config PEER_CAT(peer_config_, PEER_NAME); \
    const peer_config PEER_CAT(peer_config_, PEER_NAME) = {grid_, block_, n_in_, n_out_, input_};
#define PEER_EACH(body)                  \
    PEER_REFERENCE                       \
    {                                    \
        (void)n_out;                     \
        for (u32 i = 0; i < n_in; i++) { \
            out[i] = body(in[i], i);     \
        }                                \
    }

typedef struct peer_config {
    u32 grid, block, n_in, n_out;
    peer_input input;
} peer_config;

FN float as_float(u32 x)
{
    float f;
    memcpy(&f, &x, 4);
    return f;
}
FN u32 float_bits(float f)
{
    u32 x;
    memcpy(&x, &f, 4);
    return f != f ? 0x7FFFFFFFu : x;
}
FN double as_double(u64 x)
{
    double f;
    memcpy(&f, &x, 8);
    return f;
}
FN u64 double_bits(double f)
{
    u64 x;
    memcpy(&x, &f, 8);
    return f != f ? 0x7FF8000000000000ull : x;
}

/* Directed roundings of a value that a double holds exactly: another way than the executor's. */
FN float round_down(double x)
{
    float f = (float)x;
    return (double)f > x ? nextafterf(f, -INFINITY) : f;
}
FN float round_up(double x)
{
    float f = (float)x;
    return (double)f < x ? nextafterf(f, INFINITY) : f;
}
FN float round_zero(double x)
{
    return x < 0 ? round_up(x) : round_down(x);
}

#endif
#endif
