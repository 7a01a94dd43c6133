#include "peer.h"
/* Words of 128 bits through registers, shared memory and atomics; and scalar forms that nvcc makes from no C. */
PEER_SM90A(3, 64, 192, 192, PEER_BITS, 0)
#ifdef __CUDACC__
FN u32 pack(s32 a, s32 b, u32 c)
{
    u32 x, y;
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return x ^ y;
}
FN u32 any_bit(u32 a, u32 b, u32 c)
{
    u32 x, both;
    asm("{\n.reg .pred p, q;\nsetp.lt.u32 p, %2, %3;\nlop3.or.b32 %0|q, %2, %3, %4, 0x80, p;\nselp.u32 %1, 1, 0, q;\n}"
        : "=r"(x), "=r"(both)
        : "r"(a), "r"(b), "r"(c));
    return x + both;
}
PEER_KERNEL
{
    __shared__ __align__(16) u64 pair[64][2];
    __shared__ __align__(16) u64 last[2];
    u32 t = threadIdx.x;
    u32 i = blockIdx.x * blockDim.x + t;
    u32 x = in[i];
    u64 low = (u64)x * 3, high = (u64)x << 32 | i;
    u32 at = (u32)__cvta_generic_to_shared(&pair[t]);
    u32 at_last = (u32)__cvta_generic_to_shared(&last);
    asm volatile("{\n.reg .b128 q;\nmov.b128 q, {%1, %2};\nst.shared.b128 [%0], q;\n}" ::"r"(at), "l"(low), "l"(high)
                 : "memory");
    if (t == 0) {
        last[0] = last[1] = 0;
    }
    __syncthreads();
    u32 other = (u32)__cvta_generic_to_shared(&pair[63 - t]);
    asm volatile("{\n.reg .b128 q;\nld.shared.b128 q, [%2];\nmov.b128 {%0, %1}, q;\n}"
                 : "=l"(low), "=l"(high)
                 : "r"(other)
                 : "memory");
    /* Add (1, x) to the last word, by compare and swap. */
    u64 old[2] = {0, 0}, seen[2];
    for (;;) {
        asm volatile("{\n.reg .b128 a, b, c;\nmov.b128 a, {%3, %4};\nmov.b128 b, {%5, %6};\n"
                     "atom.shared.cas.b128 c, [%2], a, b;\nmov.b128 {%0, %1}, c;\n}"
                     : "=l"(seen[0]), "=l"(seen[1])
                     : "r"(at_last), "l"(old[0]), "l"(old[1]), "l"(old[0] + 1), "l"(old[1] + x)
                     : "memory");
        if (seen[0] == old[0] && seen[1] == old[1]) {
            break;
        }
        old[0] = seen[0];
        old[1] = seen[1];
    }
    __syncthreads();
    u32 sum = (u32)(last[0] * 1000 + last[1]);
    __syncthreads();
    asm volatile("{\n.reg .b128 a, c;\nmov.b128 a, {%3, %3};\natom.shared.exch.b128 c, [%2], a;\nmov.b128 {%0, %1}, c;\n}"
                 : "=l"(seen[0]), "=l"(seen[1])
                 : "r"(at), "l"((u64)i)
                 : "memory");
    out[i] = (u32)(low + high + (high >> 32)) + sum * 7 + (u32)(seen[0] ^ seen[1]) +
             pack((s32)x >> (i % 32), (s32)(x * 77) >> (i % 24), x) + any_bit(x, x * 5, x >> (i % 32));
}
#else
FN s32 clamp(s32 x, s32 least, s32 most) { return x < least ? least : x > most ? most : x; }
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out; i++) {
        u32 x = in[i];
        u32 sum = 64000;
        u32 j = i / 64 * 64 + (63 - i % 64);
        for (u32 k = 0; k < 64; k++) {
            sum += in[i / 64 * 64 + k];
        }
        u64 low = (u64)in[j] * 3, high = (u64)in[j] << 32 | j;
        s32 a = (s32)x >> (i % 32), b = (s32)(x * 77) >> (i % 24);
        u32 words = (u32)clamp(a, -32768, 32767) << 16 | ((u32)clamp(b, -32768, 32767) & 0xFFFF);
        u32 bytes = x << 16 | (u32)clamp(a, 0, 255) << 8 | (u32)clamp(b, 0, 255);
        u32 all = x & (x * 5) & (x >> (i % 32));
        out[i] = (u32)(low + high + (high >> 32)) + sum * 7 + (u32)((u64)x * 3 ^ ((u64)x << 32 | i)) + (words ^ bytes) +
                 all + (all != 0 || x < x * 5 ? 1 : 0);
    }
}
#endif
