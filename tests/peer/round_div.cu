#include "peer.h"
#ifndef __CUDACC__
/* f is the nearest to a/b or sqrt(a); the sign of the exact rest says where the truth lies. */
FN float step(float f, double rest, int up)
{
    return up ? (rest > 0 ? nextafterf(f, INFINITY) : f) : (rest < 0 ? nextafterf(f, -INFINITY) : f);
}
FN float div_to(float a, float b, int up)
{
    float f = (float)((double)a / b);
    double rest = fma(-(double)f, (double)b, (double)a);
    return step(f, b < 0 ? -rest : rest, up);
}
FN float __fdiv_rn(float a, float b) { return a / b; }
FN float __fdiv_ru(float a, float b) { return div_to(a, b, 1); }
FN float __fdiv_rd(float a, float b) { return div_to(a, b, 0); }
FN float __fsqrt_rn(float a) { return sqrtf(a); }
FN float __fsqrt_ru(float a) { return step(sqrtf(a), fma(-(double)sqrtf(a), (double)sqrtf(a), (double)a), 1); }
FN float __fsqrt_rd(float a) { return step(sqrtf(a), fma(-(double)sqrtf(a), (double)sqrtf(a), (double)a), 0); }
FN float __frcp_ru(float a) { return div_to(1.0f, a, 1); }
#endif
FN u32 body(u32 x, u32 i)
{
    float a = as_float(x);
    float b = (float)(i * 3 + 7) * 0.171f;
    float c = a < 0 ? -a : a;
    u32 r = float_bits(__fdiv_rn(a, b));
    r = r * 31 + float_bits(__fdiv_ru(a, b));
    r = r * 31 + float_bits(__fdiv_rd(a, b));
    r = r * 31 + float_bits(__fsqrt_rn(c));
    r = r * 31 + float_bits(__fsqrt_ru(c));
    r = r * 31 + float_bits(__fsqrt_rd(c));
    return r * 31 + float_bits(__frcp_ru(b));
}
PEER(4, 128, 500, 500, PEER_FLOATS)
PEER_EACH(body)
