#include "peer.h"
/* Two producer warps and two consumer warps hand two buffers back and forth by bar.arrive and bar.sync. */
PEER(2, 128, 2048, 128, PEER_BITS)
#ifdef __CUDACC__
FN void arrive(u32 id) { asm volatile("bar.arrive %0, 128;" ::"r"(id) : "memory"); }
FN void meet(u32 id) { asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory"); }
PEER_KERNEL
{
    __shared__ u32 box[2][64];
    u32 t = threadIdx.x % 64;
    u32 n = n_in / gridDim.x / 64;
    const u32 *from = in + blockIdx.x * n * 64;
    if (threadIdx.x < 64) {
        for (u32 i = 0; i < n; i++) {
            if (i >= 2) {
                meet(3 + i % 2); /* empty */
            }
            box[i % 2][t] = from[i * 64 + t] ^ i;
            arrive(1 + i % 2); /* full */
        }
    } else {
        u32 sum = 0;
        for (u32 i = 0; i < n; i++) {
            meet(1 + i % 2);
            sum = sum * 3 + box[i % 2][t ^ 33];
            if (i + 2 < n) {
                arrive(3 + i % 2);
            }
        }
        out[blockIdx.x * 64 + t] = sum;
    }
}
#else
PEER_REFERENCE
{
    u32 n = n_in / 128;
    for (u32 i = 0; i < n_out; i++) {
        u32 sum = 0;
        for (u32 k = 0; k < n; k++) {
            sum = sum * 3 + (in[(i / 64 * n + k) * 64 + (i % 64 ^ 33)] ^ k);
        }
        out[i] = sum;
    }
}
#endif
