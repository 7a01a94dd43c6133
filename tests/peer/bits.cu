#include "peer.h"
#ifndef __CUDACC__
FN u32 __brev(u32 x)
{
    u32 r = 0;
    for (u32 k = 0; k < 32; k++) {
        r |= (x >> k & 1u) << (31 - k);
    }
    return r;
}
FN s32 __popc(u32 x) { return __builtin_popcount(x); }
FN s32 __clz(s32 x) { return x == 0 ? 32 : __builtin_clz((u32)x); }
FN s32 __ffs(s32 x) { return __builtin_ffs(x); }
FN s32 __popcll(u64 x) { return __builtin_popcountll(x); }
FN s32 __clzll(s64 x) { return x == 0 ? 64 : __builtin_clzll((u64)x); }
FN u64 __brevll(u64 x) { return (u64)__brev((u32)x) << 32 | __brev((u32)(x >> 32)); }
#endif
FN u32 body(u32 x, u32 i)
{
    u32 y = x >> (i & 31);
    u64 w = (u64)x * y + i;
    return __brev(y) + (u32)__popc(x) * 3 + (u32)__clz((s32)y) * 5 + (u32)__ffs((s32)y) * 7 + (u32)__popcll(w) * 11 +
           (u32)__clzll((s64)(w >> (i & 63))) * 13 + (u32)(__brevll(w) >> 17);
}
PEER(3, 96, 280, 280, PEER_BITS)
PEER_EACH(body)
