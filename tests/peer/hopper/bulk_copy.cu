#include "peer.h"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
/* Bulk copies without a map in two buffers: a chunk comes, is changed, and goes back, while the next one comes. The last
 * pass adds all chunks to one by bulk reductions. */
#define CHUNK 512
PEER_SM90A(1, 128, CHUNK * 9, CHUNK * 10, PEER_SMALL, CHUNK * 4 * 4)
#ifdef __CUDACC__
FN void bulk_load(void *to, const void *from, u64 *b, u32 bytes)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(to)),
                 "l"(from), "r"(bytes), "r"(address(b))
                 : "memory");
}
FN void bulk_store(void *to, const void *from, u32 bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(address(from)), "r"(bytes)
                 : "memory");
}
FN void bulk_add(void *to, const void *from, u32 bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to), "r"(address(from)),
                 "r"(bytes)
                 : "memory");
}
PEER_KERNEL
{
    extern __shared__ __align__(1024) u32 buffer[];
    __shared__ __align__(8) u64 full[2];
    u32 t = threadIdx.x;
    u32 n = n_in / CHUNK;
    (void)n_out;
    if (t == 0) {
        mbar_init(&full[0], 1);
        mbar_init(&full[1], 1);
        mbar_init_done();
        mbar_expect(&full[0], CHUNK * 4);
        bulk_load(buffer, in, &full[0], CHUNK * 4);
    }
    __syncthreads();
    for (u32 c = 0; c < n; c++) {
        u32 s = c % 2;
        if (t == 0 && c + 1 < n) {
            mbar_expect(&full[s ^ 1], CHUNK * 4);
            bulk_load(buffer + (s ^ 1) * 2 * CHUNK, in + (c + 1) * CHUNK, &full[s ^ 1], CHUNK * 4);
        }
        mbar_wait(&full[s], c / 2 & 1);
        u32 *at = buffer + s * 2 * CHUNK;
        if (t == 0) {
            bulk_wait_read<1>(); /* what left from this buffer */
        }
        __syncthreads();
        for (u32 i = t; i < CHUNK; i += 128) {
            at[CHUNK + i] = at[i] * 3 + c;
        }
        async_fence();
        __syncthreads();
        if (t == 0) {
            bulk_store(out + c * CHUNK, at + CHUNK, CHUNK * 4);
            bulk_add(out + n * CHUNK, at + CHUNK, CHUNK * 4);
            bulk_commit();
        }
    }
    if (t == 0) {
        bulk_wait<0>();
    }
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        u32 v = in[i] * 3 + i / CHUNK;
        out[i] = v;
        out[n_in + i % CHUNK] += v;
    }
}
#endif
