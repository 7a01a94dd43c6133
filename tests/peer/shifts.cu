#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    u64 w = (u64)x << 17 | x >> 3;
    u32 n = i & 31;
    u32 n64 = i & 63;
    s64 s = (s64)(w << 23);
    u32 r = x << n ^ x >> n ^ (u32)((s32)x >> n);
    u64 q = w << n64 ^ w >> n64 ^ (u64)(s >> n64);
    return r + (u32)(q ^ q >> 32);
}
PEER(2, 128, 256, 256, PEER_BITS)
PEER_EACH(body)
