#include "peer.h"
/* Memory on the stack whose size is known at run time: in a kernel, in a loop, in functions that call each other. */
#ifndef __CUDACC__
#include <alloca.h>
#endif
CALL u32 mix(u32 x, u32 n)
{
    u32 *p = (u32 *)alloca(n * sizeof(u32));
    for (u32 k = 0; k < n; k++) {
        p[k] = x * (k + 3) + (x >> (k & 31));
    }
    u32 sum = n > 2 ? mix(p[n / 2], n / 2) : x;
    for (u32 k = 0; k < n; k++) {
        sum = sum * 31 + p[k * 7 % n];
    }
    return sum;
}
FN u32 body(u32 x, u32 i)
{
    u32 sum = mix(x, 1 + i % 13);
    for (u32 r = 1; r < 4; r++) {
        unsigned char *bytes = (unsigned char *)alloca(r * (1 + x % 5));
        for (u32 k = 0; k < r * (1 + x % 5); k++) {
            bytes[k] = (unsigned char)(sum >> k);
        }
        u64 *words = (u64 *)alloca(r * sizeof(u64));
        for (u32 k = 0; k < r; k++) {
            words[k] = (u64)sum * bytes[k] + k;
        }
        sum += (u32)(words[r - 1] >> 3) + bytes[r / 2];
    }
    return sum;
}
PEER(3, 96, 280, 280, PEER_BITS)
PEER_EACH(body)
