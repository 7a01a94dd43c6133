#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    float a = as_float(x);
    float y = 0.25f;
    for (u32 k = 0; k < 12; k++) {
        y = y * a * 0.01f + 1.0f / (float)(k + 1 + i);
    }
    return float_bits(sqrtf(y * y + 1.0f) / (a * a + 0.5f));
}
PEER(4, 128, 512, 512, PEER_FLOATS)
PEER_EACH(body)
