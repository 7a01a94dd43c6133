#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    u64 v = x % 100000 + 1 + i;
    u32 n = 0;
    while (v != 1) {
        v = (v & 1) != 0 ? 3 * v + 1 : v / 2;
        n++;
    }
    return n;
}
PEER(3, 64, 190, 190, PEER_BITS)
PEER_EACH(body)
