#include "peer.h"
#ifdef __CUDACC__
FN u32 to_half(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
FN float from_half(u32 h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((unsigned short)h));
    return f;
}
FN u32 add(u32 a, u32 b)
{
    u32 r;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
FN u32 fma2(u32 a, u32 b, u32 c)
{
    u32 r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
#else
/* Rounds by steps of the target's own grid: multiply so that the grid is the integers, and rint. */
FN u32 half_of(double v)
{
    u32 sign = v < 0 ? 0x8000u : 0;
    v = fabs(v);
    int e = 0;
    (void)frexp(v, &e);
    e = v == 0 || e < -13 ? -13 : e;
    double n = rint(ldexp(v, 11 - e));
    return sign | (n >= 2048 * 2 || e > 16 || (e == 16 && n >= 2048) ? 0x7C00u
                                                                      : (u32)n + ((u32)(e + 13) << 10));
}
FN double half_value(u32 h)
{
    u32 e = h >> 10 & 31;
    double m = e != 0 ? 1024 + (h & 1023) : (h & 1023);
    return ((h & 0x8000u) != 0 ? -1 : 1) * ldexp(m, (int)(e != 0 ? e : 1) - 25);
}
FN u32 to_half(float f) { return half_of((double)f); }
FN float from_half(u32 h) { return (float)half_value(h); }
FN u32 add(u32 a, u32 b)
{
    return half_of(half_value(a & 0xFFFF) + half_value(b & 0xFFFF)) |
           half_of(half_value(a >> 16) + half_value(b >> 16)) << 16;
}
FN u32 fma2(u32 a, u32 b, u32 c)
{
    return half_of(half_value(a & 0xFFFF) * half_value(b & 0xFFFF) + half_value(c & 0xFFFF)) |
           half_of(half_value(a >> 16) * half_value(b >> 16) + half_value(c >> 16)) << 16;
}
#endif
FN u32 body(u32 x, u32 i)
{
    float f = (float)((s32)(x & 0xFFFF) - 32768) * 0.013f;
    u32 h = to_half(f);
    u32 a = h | to_half((float)i * 0.37f) << 16;
    u32 b = to_half((float)(x >> 20) * 0.001f) | to_half(f * 0.5f) << 16;
    u32 r = add(a, b) * 31 + fma2(a, b, b);
    return r * 31 + float_bits(from_half(h) * 3.0f);
}
PEER(4, 128, 512, 512, PEER_BITS)
PEER_EACH(body)
