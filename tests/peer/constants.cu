#include "peer.h"
__constant__ u32 primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
__constant__ float weights[4] = {0.25f, -1.5f, 3.0f, 0.125f};
FN u32 body(u32 x, u32 i)
{
    u32 r = 0;
    for (u32 k = 0; k < 8; k++) {
        r = r * primes[(x >> (4 * k)) & 15] + i;
    }
    return r ^ float_bits(weights[i & 3] * (float)(x & 1023));
}
PEER(2, 64, 128, 128, PEER_BITS)
PEER_EACH(body)
