#include "peer.h"
#ifndef __CUDACC__
FN u64 __umul64hi(u64 a, u64 b) { return (u64)(__extension__((unsigned __int128)a * b) >> 64); }
FN s64 __mul64hi(s64 a, s64 b) { return (s64)(__extension__((__int128)a * b) >> 64); }
FN u32 __umulhi(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
FN s32 __mulhi(s32 a, s32 b) { return (s32)((s64)a * b >> 32); }
#endif
FN u32 body(u32 x, u32 i)
{
    u64 a = (u64)x * 0xD1342543DE82EF95ull;
    u64 b = a * (i + 1) ^ x;
    u64 r = __umul64hi(a, b) + (u64)__mul64hi((s64)a, (s64)b) * 3 + a * b;
    return (u32)(r ^ r >> 32) + __umulhi(x, i * 77777u) + (u32)__mulhi((s32)x, -(s32)i);
}
PEER(2, 128, 250, 250, PEER_BITS)
PEER_EACH(body)
