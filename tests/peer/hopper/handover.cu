#include "peer.h"
/* Named barriers with counts: two warps produce, three consume, through two buffers: barriers 1 and 2 say full, 3 and 4 free;
 * one side arrives, the other waits. A last barrier of the consumers alone joins their sums. */
enum { CHUNK = 96, N_CHUNKS = 7 };
PEER_SM90A(2, 160, 2 * CHUNK * N_CHUNKS, 2 * 97, PEER_BITS, 0)
#ifdef __CUDACC__
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
PEER_KERNEL
{
    __shared__ u32 buffer[2][CHUNK];
    __shared__ u32 sums[3];
    u32 t = threadIdx.x;
    (void)n_in;
    (void)n_out;
    if (t < 64) {
        for (u32 c = 0; c < N_CHUNKS; c++) {
            if (c >= 2) {
                bar_sync(3 + c % 2, 160);
            }
            for (u32 i = t; i < CHUNK; i += 64) {
                buffer[c % 2][i] = in[(blockIdx.x * N_CHUNKS + c) * CHUNK + i] ^ c;
            }
            bar_arrive(1 + c % 2, 160);
        }
        return;
    }
    t -= 64;
    u32 r = 0;
    for (u32 c = 0; c < N_CHUNKS; c++) {
        bar_sync(1 + c % 2, 160);
        r = r * 31 + buffer[c % 2][CHUNK - 1 - t];
        if (c + 2 < N_CHUNKS) {
            bar_arrive(3 + c % 2, 160);
        }
    }
    out[blockIdx.x * 97 + t] = r;
    r = __reduce_xor_sync(0xFFFFFFFFu, r);
    sums[t / 32] = r;
    bar_sync(5, 96);
    if (t == 0) {
        out[blockIdx.x * 97 + 96] = sums[0] ^ sums[1] ^ sums[2];
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    (void)n_out;
    for (u32 b = 0; b < 2; b++, out += 97) {
        for (u32 t = 0; t < 96; t++) {
            for (u32 c = 0; c < N_CHUNKS; c++) {
                out[t] = out[t] * 31 + (in[(b * N_CHUNKS + c) * CHUNK + CHUNK - 1 - t] ^ c);
            }
            out[96] ^= out[t];
        }
    }
}
#endif
