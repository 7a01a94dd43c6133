#include "peer.h"
#ifndef __CUDACC__
FN s32 __float2int_rn(float a) { return (s32)rintf(a); }
FN s32 __float2int_rz(float a) { return (s32)truncf(a); }
FN s32 __float2int_ru(float a) { return (s32)ceilf(a); }
FN s32 __float2int_rd(float a) { return (s32)floorf(a); }
FN float __int2float_rz(s32 a) { return round_zero((double)a); }
FN float __int2float_ru(s32 a) { return round_up((double)a); }
FN float __uint2float_rd(u32 a) { return round_down((double)a); }
FN float __double2float_rz(double a) { return round_zero(a); }
FN s64 __double2ll_rn(double a) { return (s64)rint(a); }
#endif
FN u32 body(u32 x, u32 i)
{
    float a = (float)(s32)x * 0.001f + (float)i * 0.5f;
    u32 r = (u32)__float2int_rn(a);
    r = r * 31 + (u32)__float2int_rz(a);
    r = r * 31 + (u32)__float2int_ru(a);
    r = r * 31 + (u32)__float2int_rd(a);
    r = r * 31 + float_bits(__int2float_rz((s32)x));
    r = r * 31 + float_bits(__int2float_ru((s32)x));
    r = r * 31 + float_bits(__uint2float_rd(x));
    r = r * 31 + float_bits(__double2float_rz((double)x * 1.1));
    r = r * 31 + (u32)__double2ll_rn((double)(s32)x * 12345.6789);
    r = r * 31 + float_bits((float)(u64)((u64)x * x));
    r = r * 31 + float_bits((float)((s64)(s32)x * 999999937));
    return r * 31 + (u32)(u64)(double)((u64)x << 20);
}
PEER(4, 128, 500, 500, PEER_BITS)
PEER_EACH(body)
