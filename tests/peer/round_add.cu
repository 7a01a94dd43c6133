#include "peer.h"
#ifndef __CUDACC__
FN float __fadd_rn(float a, float b) { return a + b; }
FN float __fadd_rz(float a, float b) { return round_zero((double)a + b); }
FN float __fadd_ru(float a, float b) { return round_up((double)a + b); }
FN float __fadd_rd(float a, float b) { return round_down((double)a + b); }
FN float __fsub_rz(float a, float b) { return round_zero((double)a - b); }
FN float __fmul_rz(float a, float b) { return round_zero((double)a * b); }
FN float __fmul_ru(float a, float b) { return round_up((double)a * b); }
FN float __fmul_rd(float a, float b) { return round_down((double)a * b); }
#endif
FN u32 body(u32 x, u32 i)
{
    float a = as_float(x);
    float b = as_float(0x3F800000u | (i * 2654435761u >> 9)) * 0.37f;
    u32 r = float_bits(__fadd_rn(a, b));
    r = r * 31 + float_bits(__fadd_rz(a, b));
    r = r * 31 + float_bits(__fadd_ru(a, b));
    r = r * 31 + float_bits(__fadd_rd(a, b));
    r = r * 31 + float_bits(__fsub_rz(a, b));
    r = r * 31 + float_bits(__fmul_rz(a, b));
    r = r * 31 + float_bits(__fmul_ru(a, b));
    return r * 31 + float_bits(__fmul_rd(a, b));
}
PEER(4, 128, 500, 500, PEER_FLOATS)
PEER_EACH(body)
