#include "peer.h"
PEER(4, 96, 384, 16, PEER_BITS)
#ifdef __CUDACC__
PEER_KERNEL
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = in[i];
    atomicAdd(&out[0], x);
    atomicSub(&out[1], x);
    atomicMax(&out[2], x);
    atomicMax((s32 *)&out[3], (s32)x);
    atomicMin((s32 *)&out[4], (s32)x);
    atomicOr(&out[5], 1u << (x & 31));
    atomicXor(&out[6], x);
    atomicAdd((u64 *)&out[8], (u64)x * x);
    atomicMax((u64 *)&out[10], (u64)x << 13);
    atomicInc(&out[12], 99u);
    atomicAdd((float *)&out[13], (float)(x & 255));
    u64 seen = *(volatile u64 *)&out[14];
    u64 expected;
    do {
        expected = seen;
        double d = __longlong_as_double((s64)expected) + (double)(x & 1023);
        seen = atomicCAS((u64 *)&out[14], expected, (u64)__double_as_longlong(d));
    } while (seen != expected);
}
#else
PEER_REFERENCE
{
    (void)n_out;
    u64 sum = 0;
    u64 most = 0;
    float f = 0;
    double d = 0;
    for (u32 i = 0; i < n_in; i++) {
        u32 x = in[i];
        out[0] += x;
        out[1] -= x;
        out[2] = x > out[2] ? x : out[2];
        out[3] = (s32)x > (s32)out[3] ? x : out[3];
        out[4] = (s32)x < (s32)out[4] ? x : out[4];
        out[5] |= 1u << (x & 31);
        out[6] ^= x;
        sum += (u64)x * x;
        most = (u64)x << 13 > most ? (u64)x << 13 : most;
        out[12] = out[12] >= 99 ? 0 : out[12] + 1;
        f += (float)(x & 255);
        d += (double)(x & 1023);
    }
    memcpy(&out[8], &sum, 8);
    memcpy(&out[10], &most, 8);
    out[13] = float_bits(f);
    memcpy(&out[14], &d, 8);
}
#endif
