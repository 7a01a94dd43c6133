#include "peer.h"
FN u32 rotate(u32 x, u32 r) { return x << r | x >> (32 - r); }
FN u32 body(u32 x, u32 i)
{
    u32 h = i;
    for (u32 k = 0; k < 5; k++) {
        u32 v = (x + k) * 0xCC9E2D51u;
        h = rotate(h ^ rotate(v, 15) * 0x1B873593u, 13) * 5 + 0xE6546B64u;
    }
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}
PEER(4, 128, 500, 500, PEER_BITS)
PEER_EACH(body)
