#include "peer.h"
/* CUDA's C++ library: a block sorts, scans and reduces by CUB; rows come by a pipeline of two stages and a barrier of
 * cuda::, both fed by copies that do not block; sums go out by cuda::atomic_ref. */
#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#endif
enum { ROWS = 5, WIDTH = 64, N_PIPED = ROWS * WIDTH };
PEER(2, 64, 2 * N_PIPED + 512, 2 * 64 * 4 + 2 * 64 + 2, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    namespace cg = cooperative_groups;
    typedef cub::BlockRadixSort<u32, 64, 4> sorter;
    typedef cub::BlockScan<u32, 64> scanner;
    typedef cub::BlockReduce<u32, 64> reducer;
    __shared__ union {
        typename sorter::TempStorage sort;
        typename scanner::TempStorage scan;
        typename reducer::TempStorage reduce;
    } room;
    __shared__ __align__(16) u32 stage[2][WIDTH];
    __shared__ __align__(16) u32 tail[WIDTH];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> shared_state;
    __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
    cg::thread_block block = cg::this_thread_block();
    u32 t = threadIdx.x;
    u32 b = blockIdx.x;
    (void)n_in;
    if (t == 0) {
        init(&arrived, 64);
    }
    block.sync();
    auto pipe = cuda::make_pipeline(block, &shared_state);
    u32 hash = 0;
    for (u32 row = 0; row < ROWS + 1; row++) {
        if (row < ROWS) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[row % 2], in + b * N_PIPED + row * WIDTH, sizeof stage[0], pipe);
            pipe.producer_commit();
        }
        if (row > 0) {
            pipe.consumer_wait();
            hash = hash * 31 + stage[(row - 1) % 2][WIDTH - 1 - t];
            pipe.consumer_release();
        }
    }
    cuda::memcpy_async(block, tail, in + 2 * N_PIPED + b * 256, cuda::aligned_size_t<16>(sizeof tail), arrived);
    u32 keys[4];
    for (u32 i = 0; i < 4; i++) {
        keys[i] = in[2 * N_PIPED + b * 256 + t * 4 + i];
    }
    sorter(room.sort).Sort(keys);
    block.sync();
    u32 before;
    scanner(room.scan).ExclusiveSum(keys[0], before);
    block.sync();
    u32 sum = reducer(room.reduce).Sum(keys[1] ^ before);
    for (u32 i = 0; i < 4; i++) {
        out[(b * 64 + t) * 4 + i] = keys[i];
    }
    arrived.arrive_and_wait();
    out[512 + b * 64 + t] = hash + before + tail[t ^ 1];
    if (t == 0) {
        cuda::atomic_ref<u32, cuda::thread_scope_device> total(out[n_out - 2]);
        total.fetch_add(sum, cuda::memory_order_relaxed);
        cuda::atomic_ref<u32, cuda::thread_scope_device> most(out[n_out - 1]);
        u32 seen = most.load(cuda::memory_order_relaxed);
        while (seen < sum && !most.compare_exchange_weak(seen, sum, cuda::memory_order_relaxed)) {
        }
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 b = 0; b < 2; b++) {
        const u32 *from = in + 2 * N_PIPED + b * 256;
        u32 *keys = out + b * 256;
        u32 before = 0;
        u32 sum = 0;
        for (u32 i = 0; i < 256; i++) { /* by insertion */
            u32 at = i;
            for (; at > 0 && keys[at - 1] > from[i]; at--) {
                keys[at] = keys[at - 1];
            }
            keys[at] = from[i];
        }
        for (u32 t = 0; t < 64; t++) {
            u32 hash = 0;
            for (u32 row = 0; row < ROWS; row++) {
                hash = hash * 31 + in[b * N_PIPED + row * WIDTH + WIDTH - 1 - t];
            }
            out[512 + b * 64 + t] = hash + before + from[t ^ 1];
            sum += keys[t * 4 + 1] ^ before;
            before += keys[t * 4];
        }
        out[n_out - 2] += sum;
        out[n_out - 1] = out[n_out - 1] > sum ? out[n_out - 1] : sum;
    }
}
#endif
