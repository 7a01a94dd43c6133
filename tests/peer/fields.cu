#include "peer.h"
#ifndef __CUDACC__
FN u32 __byte_perm(u32 a, u32 b, u32 s)
{
    u64 both = (u64)b << 32 | a;
    u32 r = 0;
    for (u32 k = 0; k < 4; k++) {
        r |= (u32)(both >> (8 * (s >> (4 * k) & 7)) & 0xFF) << (8 * k);
    }
    return r;
}
FN u32 __funnelshift_l(u32 lo, u32 hi, u32 n) { return (u32)(((u64)hi << 32 | lo) << (n & 31) >> 32); }
FN u32 __funnelshift_r(u32 lo, u32 hi, u32 n) { return (u32)(((u64)hi << 32 | lo) >> (n & 31)); }
FN u32 __usad(u32 a, u32 b, u32 c) { return c + (a > b ? a - b : b - a); }
FN s32 __mul24(s32 a, s32 b) { return (s32)((u32)((s32)((u32)a << 8) >> 8) * (u32)((s32)((u32)b << 8) >> 8)); }
FN s32 __dp4a(s32 a, s32 b, s32 c)
{
    for (u32 k = 0; k < 4; k++) {
        c += (s32)(signed char)((u32)a >> (8 * k)) * (s32)(signed char)((u32)b >> (8 * k));
    }
    return c;
}
#endif
FN u32 body(u32 x, u32 i)
{
    u32 y = x * 0x9E3779B9u + i;
    u32 r = __byte_perm(x, y, 0x5140u + (i & 7));
    r = r * 31 + __funnelshift_l(x, y, i);
    r = r * 31 + __funnelshift_r(x, y, i);
    r = r * 31 + (x >> 5 & 0x7FF) + ((s32)(y << 7) >> 20);
    r = r * 31 + ((x & 0xFF00FFFFu) | (y & 0xFF) << 16);
    r = r * 31 + ((x & y) ^ (~x | i));
    r = r * 31 + __usad(x, y, i);
    r = r * 31 + (u32)__mul24((s32)x, (s32)y);
    return r * 31 + (u32)__dp4a((s32)x, (s32)y, (s32)i);
}
PEER(4, 128, 500, 500, PEER_BITS)
PEER_EACH(body)
