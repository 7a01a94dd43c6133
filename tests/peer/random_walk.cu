#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    u64 s = (u64)x << 32 | (i + 1);
    s32 at = 0;
    for (u32 k = 0; k < 300; k++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        at += (s & 1) != 0 ? 1 : -1;
        if (at > 20 || at < -20) {
            at = 0;
        }
    }
    return (u32)at + (u32)s;
}
PEER(2, 128, 250, 250, PEER_BITS)
PEER_EACH(body)
