#include "peer.h"
PEER(3, 96, 288, 288, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = in[i];
    u32 r = __shfl_up_sync(~0u, x, 3);
    r = r * 31 + __shfl_down_sync(~0u, x, 5);
    r = r * 31 + __shfl_xor_sync(~0u, x, 9);
    r = r * 31 + __shfl_sync(~0u, x, (i * 7) & 31);
    r = r * 31 + __shfl_sync(~0u, x, i & 7, 8);
    r = r * 31 + __shfl_up_sync(~0u, x, 1, 4);
    r = r * 31 + __shfl_down_sync(~0u, x, 2, 16);
    u64 w = __shfl_xor_sync(~0u, (u64)x * x, 1);
    out[i] = r ^ (u32)(w >> 16);
}
#else
FN u32 at(const u32 *in, u32 i, u32 lane) { return in[i / 32 * 32 + lane]; }
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        u32 l = i % 32;
        u32 r = at(in, i, l >= 3 ? l - 3 : l);
        r = r * 31 + at(in, i, l + 5 < 32 ? l + 5 : l);
        r = r * 31 + at(in, i, l ^ 9);
        r = r * 31 + at(in, i, (i * 7) & 31);
        r = r * 31 + at(in, i, l / 8 * 8 + (i & 7));
        r = r * 31 + at(in, i, l % 4 >= 1 ? l - 1 : l);
        r = r * 31 + at(in, i, l % 16 + 2 < 16 ? l + 2 : l);
        u64 x = at(in, i, l ^ 1);
        out[i] = r ^ (u32)(x * x >> 16);
    }
}
#endif
