#include "peer.h"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
/* The reductions of tma_reduce.def, by tensor maps and, for whole rows, without: each of five CTAs reduces a box of in[] that
 * overlaps its neighbours' into out[], which starts as zeros; a CTA of row 0 stores something there first, and tells. */
enum { WIDTH = 11, HEIGHT = 9, BOX = 4, CTAS = 6, PITCH = 12, BULK = 2 }; /* elements; BULK rows behind the tensor */
#ifdef __CUDACC__
static __device__ u32 flag;
FN void wait_for_flag(void)
{
    u32 seen;
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(&flag) : "memory");
    } while (seen == 0);
    asm volatile("fence.proxy.async;" ::: "memory");
}
#define TMA_REDUCE(name, op, number, of, T, body)                                                                          \
    PEER_VARIANT_MAPS_KERNEL(name, 32)                                                                                        \
    {                                                                                                                         \
        extern __shared__ __align__(1024) unsigned char sm[];                                                                 \
        T *box = (T *)sm;                                                                                               \
        T *row = (T *)(sm + 256);                                                                                       \
        const T *from = (const T *)in + blockIdx.x * PITCH * 3;                                                         \
        for (u32 i = threadIdx.x; i < BOX * BOX; i += 32) {                                                                   \
            box[i] = from[i];                                                                                                 \
            row[i % PITCH] = from[PITCH * 2 + i % PITCH];                                                                         \
        }                                                                                                                     \
        asm volatile("fence.proxy.async;" ::: "memory");                                                                      \
        __syncthreads();                                                                                                      \
        if (threadIdx.x != 0) {                                                                                               \
            return;                                                                                                           \
        }                                                                                                                     \
        s32 x = (s32)(blockIdx.x * 2) - 1;                                                                                    \
        s32 y = (s32)(blockIdx.x * 2) - 2;                                                                                    \
        T *to = (T *)out + HEIGHT * PITCH;                                                                              \
        if (blockIdx.x == 0) { /* the first is a store, in the middle of it all */                                            \
            tma_store2(&maps.at[0], box, 3, 3);                                                                               \
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(address(row)),          \
                         "n"(PITCH * sizeof(T))                                                                            \
                         : "memory");                                                                                         \
        } else {                                                                                                              \
            wait_for_flag();                                                                                                  \
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." #op ".bulk_group [%0, {%1, %2}], [%3];" ::      \
                             "l"(&maps.at[0]),                                                                                \
                         "r"(x), "r"(y), "r"(address(box))                                                                    \
                         : "memory");                                                                                         \
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." #op #of " [%0], [%1], %2;" ::"l"(to),          \
                         "r"(address(row)), "n"(PITCH * sizeof(T))                                                         \
                         : "memory");                                                                                         \
        }                                                                                                                     \
        bulk_commit();                                                                                                        \
        bulk_wait<0>();                                                                                                       \
        if (blockIdx.x == 0) {                                                                                                \
            asm volatile("fence.proxy.async;\nfence.acq_rel.gpu;\nst.release.gpu.global.u32 [%0], 1;" ::"l"(&flag) : "memory"); \
        }                                                                                                                     \
    }
#include "hopper/tma_reduce.def"
#else
#define TMA_REDUCE(name, op, number, of, T, body)                                                                   \
    PEER_VARIANT_MAPS(name, {.is_out = 1, .type = number, .rank = 2, .dims = {WIDTH, HEIGHT}, .strides = {PITCH * sizeof(T)}, \
                             .box = {BOX, BOX}})                                                                       \
    PEER_VARIANT_SM90A_MAPS(name, CTAS, 32, CTAS *PITCH * 3 * sizeof(T) / 4, (HEIGHT + 1) * PITCH * sizeof(T) / 4, \
                            PEER_BITS, 512)                                                                            \
    PEER_VARIANT_REFERENCE(name)                                                                                       \
    {                                                                                                                  \
        T result[(HEIGHT + 1) * PITCH] = {0};                                                                       \
        const T *from = (const T *)in;                                                                           \
        (void)n_in;                                                                                                    \
        for (u32 cta = 0; cta < CTAS; cta++, from += PITCH * 3) {                                                      \
            for (u32 i = 0; i < BOX * BOX; i++) {                                                                      \
                u32 x = cta == 0 ? 3 + i % BOX : cta * 2 - 1 + i % BOX;                                                \
                u32 y = cta == 0 ? 3 + i / BOX : cta * 2 - 2 + i / BOX;                                                \
                T a = from[i];                                                                                      \
                if (x < WIDTH && y < HEIGHT) {                                                                         \
                    T b = result[y * PITCH + x];                                                                    \
                    if (cta == 0) {                                                                                    \
                        b = a;                                                                                         \
                    } else {                                                                                           \
                        body;                                                                                          \
                    }                                                                                                  \
                    result[y * PITCH + x] = b;                                                                         \
                }                                                                                                      \
            }                                                                                                          \
            for (u32 i = 0; i < PITCH; i++) {                                                                          \
                T a = from[PITCH * 2 + i];                                                                              \
                T b = result[HEIGHT * PITCH + i];                                                                   \
                if (cta == 0) {                                                                                        \
                    b = a;                                                                                             \
                } else {                                                                                               \
                    body;                                                                                              \
                }                                                                                                      \
                result[HEIGHT * PITCH + i] = b;                                                                        \
            }                                                                                                          \
        }                                                                                                              \
        memcpy(out, result, n_out * 4);                                                                                \
    }
#include "hopper/tma_reduce.def"
#endif
