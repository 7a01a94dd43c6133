#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    double a = (double)(s32)x * 1.25e-3 + i;
    double b = a * a - 3.0 * a / (i + 1.5);
    double c = fma(a, b, -1.0 / (b * b + 1.0));
    double d = sqrt(c < 0 ? -c : c) + floor(a) - ceil(b * 0.5) + fabs(a);
    u64 r = double_bits(d) ^ double_bits(c) * 3;
    return (u32)(r ^ r >> 32);
}
PEER(3, 96, 288, 288, PEER_BITS)
PEER_EACH(body)
