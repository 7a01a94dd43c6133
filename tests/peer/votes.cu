#include "peer.h"
PEER(3, 64, 192, 192, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = in[i];
    u32 b = __ballot_sync(~0u, (x & 3) == 0);
    u32 r = b * 3 + (__any_sync(~0u, (x & 63) == 5) ? 1 : 0) + (__all_sync(~0u, (x & 255) != 7) ? 2 : 0);
    if ((x & 1) != 0) {
        u32 m = __ballot_sync(__activemask(), 1);
        r ^= m;
    }
    out[i] = r;
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 w = 0; w < n_in; w += 32) {
        u32 b = 0;
        u32 odd = 0;
        u32 is_any = 0;
        u32 is_all = 2;
        for (u32 l = 0; l < 32; l++) {
            u32 x = in[w + l];
            b |= (x & 3) == 0 ? 1u << l : 0;
            odd |= (x & 1) << l;
            is_any |= (x & 63) == 5 ? 1 : 0;
            is_all = (x & 255) == 7 ? 0 : is_all;
        }
        for (u32 l = 0; l < 32; l++) {
            u32 r = b * 3 + is_any + is_all;
            out[w + l] = (in[w + l] & 1) != 0 ? r ^ odd : r;
        }
    }
}
#endif
