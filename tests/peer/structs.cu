#include "peer.h"
typedef struct vec {
    float x, y, z;
    u32 tag;
} vec;
CALL vec cross(vec a, vec b)
{
    vec r = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x, a.tag + b.tag};
    return r;
}
FN u32 body(u32 x, u32 i)
{
    vec a = {as_float(x), (float)i, 1.5f, x};
    vec b = {(float)(x & 255), -2.0f, (float)(i & 7), i};
    vec c = cross(a, b);
    vec e = cross(c, a);
    return float_bits(e.x) ^ float_bits(e.y) * 3 ^ float_bits(e.z) * 5 ^ e.tag;
}
PEER(2, 64, 128, 128, PEER_FLOATS)
PEER_EACH(body)
