#include "peer.h"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
#include "hopper/cluster.cuh"
/* A cluster for each row of words: its CTAs add up their parts of the row and tell one another through distributed shared
 * memory, in the ways of dsm.def; then out = 3 in + the sum of the row. */
enum { ROWS = 3 };
#ifdef __CUDACC__
#include <cooperative_groups.h>
/* Which thread of the CTA adds in which order does not matter: words wrap. */
FN u32 add_up(u32 part)
{
    __shared__ u32 warps[2];
    part = __reduce_add_sync(0xFFFFFFFFu, part);
    if (threadIdx.x % 32 == 0) {
        warps[threadIdx.x / 32] = part;
    }
    __syncthreads();
    return warps[0] + warps[1];
}

/* Each of these returns the sum of `part` over the cluster of N, to all threads. */
template <u32 N> FN u32 read_all(u32 part)
{
    __shared__ u32 mine;
    if (threadIdx.x == 0) {
        mine = part;
    }
    cluster_sync();
    u32 sum = 0;
    for (u32 r = 0; r < N; r++) {
        sum += load_from(address_in(&mine, r));
    }
    cluster_sync();
    return sum;
}
template <u32 N> FN u32 dsm_read(u32 part) { return read_all<N>(part); }
template <u32 N> FN u32 dsm_read8(u32 part) { return read_all<N>(part); }

template <u32 N> FN u32 dsm_atomic(u32 part) /* through generic addresses */
{
    __shared__ u32 total[2];
    if (threadIdx.x < 2) {
        total[threadIdx.x] = 0;
    }
    cluster_sync();
    if (threadIdx.x < N) {
        u32 *there = (u32 *)__cluster_map_shared_rank(total, threadIdx.x);
        atomicAdd(there, part);
        atomicXor(there + 1, 1u << cluster_rank());
    }
    cluster_sync();
    return total[0] + (total[1] == (1u << N) - 1 ? 0 : 99);
}

template <u32 N> FN u32 dsm_red(u32 part)
{
    __shared__ u32 total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    cluster_sync();
    if (threadIdx.x < N) {
        asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(address_in(&total, threadIdx.x)), "r"(part)
                     : "memory");
    }
    cluster_sync();
    return total;
}

template <u32 N> FN u32 dsm_store(u32 part)
{
    __shared__ u32 box[N];
    cluster_arrive(); /* all have begun: only then may others write here */
    cluster_wait();
    if (threadIdx.x < N) {
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address_in(&box[cluster_rank()], threadIdx.x)), "r"(part)
                     : "memory");
    }
    cluster_sync();
    u32 sum = 0;
    for (u32 r = 0; r < N; r++) {
        sum += box[r];
    }
    return sum;
}

/* An mbarrier that waits for `bytes`, before anybody sends any. */
FN void expect_from_cluster(u64 *full, u32 bytes)
{
    if (threadIdx.x == 0) {
        mbar_init(full, 1);
        mbar_init_done();
        mbar_expect(full, bytes);
    }
    cluster_sync();
}

template <u32 N> FN u32 dsm_red_async(u32 part)
{
    __shared__ __align__(8) u64 full;
    __shared__ u32 total;
    if (threadIdx.x == 32) { /* not the thread that fences for the mbarrier */
        total = 0;
    }
    expect_from_cluster(&full, N * 4);
    if (threadIdx.x < N) {
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
                         address_in(&total, threadIdx.x)),
                     "r"(part), "r"(address_in(&full, threadIdx.x))
                     : "memory");
    }
    mbar_wait_cluster(&full, 0); /* all have sent me theirs: nobody touches my memory any more, and I may leave */
    return total;
}

template <u32 N> FN u32 dsm_st_async(u32 part)
{
    __shared__ __align__(8) u64 full;
    __shared__ __align__(16) u32 box[N][4];
    expect_from_cluster(&full, N * 16);
    if (threadIdx.x < N) {
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                         address_in(box[cluster_rank()], threadIdx.x)),
                     "r"(part), "r"(part ^ 1), "r"(~part), "r"(part + 2), "r"(address_in(&full, threadIdx.x))
                     : "memory");
    }
    mbar_wait_cluster(&full, 0);
    u32 sum = 0;
    for (u32 r = 0; r < N; r++) {
        u32 is_right = (box[r][1] ^ 1) == box[r][0] && ~box[r][2] == box[r][0] && box[r][3] == box[r][0] + 2;
        sum += box[r][0] + 1 - is_right;
    }
    return sum;
}

template <u32 N> FN u32 dsm_bulk(u32 part) /* 64 bytes to each */
{
    __shared__ __align__(8) u64 full;
    __shared__ __align__(16) u32 mine[16];
    __shared__ __align__(16) u32 box[N][16];
    if (threadIdx.x < 16) {
        mine[threadIdx.x] = threadIdx.x == 0 ? part - 120 : threadIdx.x;
    }
    async_fence();
    expect_from_cluster(&full, N * 64);
    if (threadIdx.x < N) {
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 64, [%2];" ::"r"(
                         address_in(box[cluster_rank()], threadIdx.x)),
                     "r"(address(mine)), "r"(address_in(&full, threadIdx.x))
                     : "memory");
    }
    mbar_wait_cluster(&full, 0);
    u32 sum = 0;
    for (u32 i = 0; i < N * 16; i++) {
        sum += box[i / 16][i % 16]; /* 1 + ... + 15 = 120 */
    }
    cluster_sync();
    return sum;
}

template <u32 N> FN u32 dsm_groups(u32 part)
{
    namespace cg = cooperative_groups;
    __shared__ u32 mine;
    cg::cluster_group cluster = cg::this_cluster();
    if (cg::this_thread_block().thread_rank() == 0) {
        mine = part;
    }
    cluster.sync();
    u32 sum = 0;
    for (u32 r = 0; r < cluster.num_blocks(); r++) {
        sum += *cluster.map_shared_rank(&mine, (cluster.block_rank() + r) % N);
    }
    cluster.sync();
    return sum;
}

#define DSM(name, ctas, width)                                                                         \
    extern "C" __global__ void __cluster_dims__(ctas, 1, 1) __launch_bounds__(64, 1)                   \
        peer_##name(const u32 *__restrict__ in, u32 *out, u32 n_in, u32 n_out)                         \
    {                                                                                                  \
        u32 row = blockIdx.x / ctas * width;                                                           \
        u32 from = blockIdx.x % ctas * 64 + threadIdx.x;                                               \
        u32 part = 0;                                                                                  \
        for (u32 i = from; i < width; i += ctas * 64) {                                                \
            part += in[row + i];                                                                       \
        }                                                                                              \
        u32 sum = name<ctas>(add_up(part));                                                            \
        for (u32 i = from; i < width; i += ctas * 64) {                                                \
            out[row + i] = in[row + i] * 3 + sum;                                                      \
        }                                                                                              \
    }
#include "hopper/dsm.def"
#else
#define DSM(name, ctas, width)                                              \
    PEER_VARIANT_SM90A(name, ROWS *ctas, 64, ROWS *width, ROWS *width, PEER_BITS, 0) \
    PEER_VARIANT_REFERENCE(name)                                            \
    {                                                                       \
        (void)n_out;                                                        \
        for (u32 i = 0; i < n_in; i++) {                                    \
            u32 sum = 0;                                                    \
            for (u32 k = 0; k < width; k++) {                               \
                sum += in[i / width * width + k];                           \
            }                                                               \
            out[i] = in[i] * 3 + sum;                                       \
        }                                                                   \
    }
#include "hopper/dsm.def"
#endif
