#include "peer.h"
/* Two pairs of warps meet at barriers of their own; then votes of the whole block. */
PEER(2, 128, 256, 256, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    __shared__ u32 box[128];
    u32 t = threadIdx.x;
    u32 pair = t / 64 % 2;
    box[t] = in[blockIdx.x * 128 + t];
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    u32 r = box[t ^ 32] * 3;
    r += (u32)__syncthreads_count((r & 1) != 0);
    r += __syncthreads_or(r == 12345) ? 1 : 0;
    r += __syncthreads_and(t < 1000) ? 2 : 0;
    out[blockIdx.x * 128 + t] = r;
}
#else
PEER_REFERENCE
{
    (void)n_out;
    for (u32 b = 0; b < n_in; b += 128) {
        u32 n = 0;
        u32 is_any = 0;
        for (u32 t = 0; t < 128; t++) {
            n += in[b + (t ^ 32)] * 3 & 1;
        }
        for (u32 t = 0; t < 128; t++) {
            is_any |= in[b + (t ^ 32)] * 3 + n == 12345 ? 1 : 0;
        }
        for (u32 t = 0; t < 128; t++) {
            out[b + t] = in[b + (t ^ 32)] * 3 + n + is_any + 2;
        }
    }
}
#endif
