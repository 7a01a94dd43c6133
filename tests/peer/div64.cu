#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    u64 a = (u64)x * 0x9E3779B97F4A7C15ull + i;
    u64 b = ((u64)i << (i & 31)) + 3;
    s64 sa = (s64)a;
    s64 sb = (i & 1) != 0 ? -(s64)(b >> 20) - 1 : (s64)(b >> 20) + 1;
    u64 r = a / b + a % b * 3 + (u64)(sa / sb) * 5 + (u64)(sa % sb) * 7;
    return (u32)(r ^ r >> 32);
}
PEER(2, 128, 256, 256, PEER_BITS)
PEER_EACH(body)
