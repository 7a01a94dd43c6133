#include "peer.h"
PEER(2, 96, 192, 192, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = in[i];
    s32 is_all = 0;
    u32 r = __match_any_sync(~0u, x & 7);
    r ^= __match_any_sync(~0u, (u64)(x & 3) << 40);
    r += __match_all_sync(~0u, i / 64, &is_all);
    out[i] = r + (u32)is_all;
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i++) {
        u32 a = 0;
        u32 b = 0;
        u32 first = i / 32 * 32;
        for (u32 l = 0; l < 32; l++) {
            a |= (in[first + l] & 7) == (in[i] & 7) ? 1u << l : 0;
            b |= (in[first + l] & 3) == (in[i] & 3) ? 1u << l : 0;
        }
        out[i] = (a ^ b) + ~0u + 1;
    }
}
#endif
