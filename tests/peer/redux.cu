#include "peer.h"
PEER(2, 64, 128, 128, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = in[i];
    u32 r = __reduce_add_sync(~0u, x);
    r = r * 31 + __reduce_min_sync(~0u, x);
    r = r * 31 + __reduce_max_sync(~0u, x);
    r = r * 31 + (u32)__reduce_min_sync(~0u, (s32)x);
    r = r * 31 + (u32)__reduce_max_sync(~0u, (s32)x);
    r = r * 31 + __reduce_and_sync(~0u, x | 0x10101);
    r = r * 31 + __reduce_or_sync(~0u, x & 0x3FF);
    out[i] = r * 31 + __reduce_xor_sync(~0u, x);
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 w = 0; w < n_in; w += 32) {
        u32 sum = 0, least = ~0u, most = 0, a = ~0u, o = 0, x = 0;
        s32 sleast = 0x7FFFFFFF, smost = -0x7FFFFFFF - 1;
        for (u32 l = 0; l < 32; l++) {
            u32 v = in[w + l];
            sum += v;
            least = v < least ? v : least;
            most = v > most ? v : most;
            sleast = (s32)v < sleast ? (s32)v : sleast;
            smost = (s32)v > smost ? (s32)v : smost;
            a &= v | 0x10101;
            o |= v & 0x3FF;
            x ^= v;
        }
        u32 r = sum;
        r = r * 31 + least;
        r = r * 31 + most;
        r = r * 31 + (u32)sleast;
        r = r * 31 + (u32)smost;
        r = r * 31 + a;
        r = r * 31 + o;
        r = r * 31 + x;
        for (u32 l = 0; l < 32; l++) {
            out[w + l] = r;
        }
    }
}
#endif
