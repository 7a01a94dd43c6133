#include "peer.h"
/* Cooperative groups: tiles that reduce and scan, groups of lanes by label and by vote, copies of a block with a wait. */
#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#endif
PEER(3, 96, 288, 288, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    namespace cg = cooperative_groups;
    __shared__ __align__(16) u32 copy[96];
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<8>(warp);
    (void)n_in;
    (void)n_out;
    cg::memcpy_async(block, copy, in + block.group_index().x * 96, sizeof copy);
    cg::wait(block);
    u32 x = copy[95 - block.thread_rank()];
    u32 r = cg::reduce(tile, x, cg::plus<u32>()) * 3;
    r ^= cg::inclusive_scan(warp, x);
    r += cg::exclusive_scan(tile, x >> 3, cg::greater<u32>());
    r += cg::reduce(warp, (s32)x, cg::less<s32>());
    auto label = cg::labeled_partition(warp, x % 3);
    r += label.size() * 1000 + label.thread_rank();
    auto half = cg::binary_partition(tile, (x & 4) != 0);
    r += half.shfl(x, 0) + half.size();
    if (x & 1) {
        cg::coalesced_group odd = cg::coalesced_threads();
        r += odd.shfl(x, odd.size() - 1) ^ odd.thread_rank();
        if (odd.any(x > 0xC0000000u)) {
            r += 77;
        }
    }
    block.sync();
    r += warp.shfl_xor(x, 5) + tile.ballot(x & 2) + tile.all(x != 3);
    out[block.group_index().x * 96 + block.thread_rank()] = r;
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    for (u32 b = 0; b < 3; b++) {
        for (u32 t = 0; t < 96; t++) {
            u32 w = t / 32 * 32;
            u32 g = t / 8 * 8;
            u32 x[96];
            u32 r = 0;
            for (u32 i = 0; i < 96; i++) {
                x[i] = in[b * 96 + 95 - i];
            }
            for (u32 i = g; i < g + 8; i++) {
                r += x[i] * 3;
            }
            u32 scan = 0;
            s32 least = (s32)x[w];
            u32 most = 0;
            for (u32 i = w; i < w + 32; i++) {
                scan += i <= t ? x[i] : 0;
                least = (s32)x[i] < least ? (s32)x[i] : least;
            }
            for (u32 i = g; i < t; i++) {
                most = most > x[i] >> 3 ? most : x[i] >> 3;
            }
            r = (r ^ scan) + most + (u32)least;
            u32 n = 0;
            u32 rank = 0;
            for (u32 i = w; i < w + 32; i++) {
                n += x[i] % 3 == x[t] % 3;
                rank += i < t && x[i] % 3 == x[t] % 3;
            }
            r += n * 1000 + rank;
            u32 first = g;
            n = 0;
            for (u32 i = g + 8; i-- > g;) {
                if ((x[i] & 4) == (x[t] & 4)) {
                    first = i;
                    n++;
                }
            }
            r += x[first] + n;
            if (x[t] & 1) {
                u32 last = t;
                u32 is_any = 0;
                rank = 0;
                for (u32 i = w; i < w + 32; i++) {
                    if (x[i] & 1) {
                        last = i;
                        rank += i < t;
                        is_any |= x[i] > 0xC0000000u;
                    }
                }
                r += (x[last] ^ rank) + (is_any ? 77 : 0);
            }
            u32 votes = 0;
            u32 is_all = 1;
            for (u32 i = g; i < g + 8; i++) {
                votes |= (x[i] & 2) != 0 ? 1u << (i - g) : 0;
                is_all &= x[i] != 3;
            }
            out[b * 96 + t] = r + x[t ^ 5] + votes + is_all;
        }
    }
}
#endif
