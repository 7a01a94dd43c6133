/* peer.h: one file, two compilers. A peer program is a .cu file that nvcc compiles to PTX, which
 * the executor runs, and that the host's C compiler compiles too: the same function bodies give the
 * expected results.
 *
 *   PEER(grid, block, n_in, n_out, input)   how it is run; `input` says what in[] holds
 *   PEER_SM90A(... , dynamic_shared)       the same, for sm_90a only
 *   PEER_SM90A_MAPS(...)                   the same, with the tensor maps of PEER_MAPS(...)
 *   PEER_EACH(body)                         kernel and reference: out[i] = body(in[i], i) for all i
 *                                           < n_in
 *   PEER_KERNEL { ... }  PEER_REFERENCE { ... }   the two written apart, where threads work
 * together
 *
 *   PEER_VARIANT...(name, ...)              the same for the kernel peer_NAME, of several in a file
 *
 * Both see: in, out, n_in, n_out. out[] starts as zeros. */
#ifndef PEER_H
#define PEER_H

typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

/* Halves, single floats: whole numbers from -3 to 4. */
typedef enum peer_input {
    PEER_BITS,
    PEER_SMALL,
    PEER_FLOATS,
    PEER_SMALL_HALVES,
    PEER_SMALL_FLOATS
} peer_input;
enum { PEER_MAX_MAPS = 8 };

#ifdef __CUDACC__

#define FN   static __device__ __forceinline__
#define CALL static __device__ __noinline__
#define PEER(...)
#define PEER_SM90A(...)
#define PEER_SM90A_MAPS(...)
#define PEER_VARIANT_SM90A(...)
#define PEER_VARIANT_SM90A_MAPS(...)
#define PEER_ENTRY(name) \
    extern "C" __global__ void name(const u32 *__restrict__ in, u32 *out, u32 n_in, u32 n_out)
#define PEER_KERNEL               PEER_ENTRY(peer)
#define PEER_VARIANT_KERNEL(name) PEER_ENTRY(peer_##name)
/* Tensor maps: the last parameter, of kernels with PEER_MAPS. */
struct alignas(64) peer_map {
    u64 opaque[16];
};
struct peer_maps {
    peer_map at[PEER_MAX_MAPS];
};
#define PEER_MAPS(...)
#define PEER_VARIANT_MAPS(...)
#define PEER_MAPS_ENTRY(name, threads)                                  \
    extern "C" __global__ void __launch_bounds__(threads, 1)            \
        name(const u32 *__restrict__ in, u32 *out, u32 n_in, u32 n_out, \
             const __grid_constant__ peer_maps maps)
#define PEER_MAPS_KERNEL(threads)               PEER_MAPS_ENTRY(peer, threads)
#define PEER_VARIANT_MAPS_KERNEL(name, threads) PEER_MAPS_ENTRY(peer_##name, threads)
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
#include <stddef.h>
#include <string.h>

#define FN   static inline __attribute__((unused))
#define CALL static __attribute__((unused))
#define __device__
#define __constant__                 static const
#define PEER_CAT_(a, b)              a##b
#define PEER_CAT(a, b)               PEER_CAT_(a, b)
#define PEER_REFERENCE               PEER_HOST(PEER_CAT(peer_host_, PEER_NAME))
#define PEER_VARIANT_REFERENCE(name) PEER_HOST(peer_host_##name)
#define PEER_HOST(name)                                      \
    void name(const u32 *in, u32 *out, u32 n_in, u32 n_out); \
    void name(const u32 *in, u32 *out, u32 n_in, u32 n_out)
#define PEER(...)       PEER_CONFIG(PEER_CAT(peer_config_, PEER_NAME), __VA_ARGS__, 512, 0, NULL, 0)
#define PEER_SM90A(...) PEER_CONFIG(PEER_CAT(peer_config_, PEER_NAME), __VA_ARGS__, 1, NULL, 0)
#define PEER_SM90A_MAPS(...) \
    PEER_CONFIG(PEER_CAT(peer_config_, PEER_NAME), __VA_ARGS__, 1, PEER_LIST(peer_map_rows))
#define PEER_VARIANT_SM90A(name, ...) PEER_CONFIG(peer_config_##name, __VA_ARGS__, 1, NULL, 0)
#define PEER_VARIANT_SM90A_MAPS(name, ...) \
    PEER_CONFIG(peer_config_##name, __VA_ARGS__, 1, PEER_LIST(peer_map_rows_##name))
#define PEER_CONFIG(name, ...)     \
    extern const peer_config name; \
    const peer_config name = {__VA_ARGS__};
#define PEER_LIST(list)              list, sizeof list / sizeof list[0]
/* Tensor maps over in[] and out[]: rows of peer_map; PEER_SM90A_MAPS names them. */
typedef struct peer_map {
    u32 is_out, offset, type, rank; /* offset: bytes; type: ptxexec_tm_type */
    u64 dims[5], strides[4];
    u32 box[5], swizzle, fill;
} peer_map;
#define PEER_MAPS(...)               static const peer_map peer_map_rows[] = {__VA_ARGS__};
#define PEER_VARIANT_MAPS(name, ...) static const peer_map peer_map_rows_##name[] = {__VA_ARGS__};
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
    u32 dynamic_shared;
    u32 is_sm90a; /* else it runs as sm_80 and, one in three, as sm_90 */
    const struct peer_map *maps;
    u32 n_maps;
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
