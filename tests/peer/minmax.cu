#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    float a = as_float(x);
    float b = (i & 3) == 0 ? NAN : (float)i - 100.0f;
    float c = fminf(a, b) + fmaxf(a, -3.0f) + copysignf(2.5f, a) + fabsf(b - a);
    u32 r = float_bits(c) + (isnan(b) ? 1 : 0) + (isinf(a) ? 2 : 0) + (a < b ? 4 : 0) + (a != b ? 8 : 0);
    s32 m = (s32)x < (s32)i ? (s32)x : (s32)i;
    u32 u = x > i * 977 ? x : i * 977;
    return r * 31 + (u32)m + u + (u32)((s32)x < 0 ? -(s32)(x | 1) : (s32)x);
}
PEER(4, 128, 500, 500, PEER_FLOATS)
PEER_EACH(body)
