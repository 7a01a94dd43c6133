#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    u32 a = x;
    u32 b = i * 7919 + 12;
    while (b != 0) {
        u32 t = a % b;
        a = b;
        b = t;
    }
    return a;
}
PEER(2, 160, 320, 320, PEER_SMALL)
PEER_EACH(body)
