#include "peer.h"
PEER(2, 64, 512, 512, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 v = ((const uint4 *)in)[i];
    uint4 r = make_uint4(v.w + v.x, v.z * 3, v.y ^ i, v.x - v.z);
    ((uint4 *)out)[i] = r;
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 i = 0; i < n_in; i += 4) {
        out[i] = in[i + 3] + in[i];
        out[i + 1] = in[i + 2] * 3;
        out[i + 2] = in[i + 1] ^ i / 4;
        out[i + 3] = in[i] - in[i + 2];
    }
}
#endif
