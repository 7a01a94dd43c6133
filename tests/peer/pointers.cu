#include "peer.h"
typedef u32 (*op)(u32, u32);
CALL u32 op_add(u32 a, u32 b) { return a + b; }
CALL u32 op_mul(u32 a, u32 b) { return a * b + 1; }
CALL u32 op_mix(u32 a, u32 b) { return (a ^ b) * 0x9E3779B9u; }
CALL u32 op_sub(u32 a, u32 b) { return a - 3 * b; }
#ifdef __CUDACC__
__device__ op table[4] = {op_add, op_mul, op_mix, op_sub};
#else
static const op table[4] = {op_add, op_mul, op_mix, op_sub};
#endif
FN u32 body(u32 x, u32 i)
{
    u32 r = i;
    for (u32 k = 0; k < 6; k++) {
        r = table[(x >> (2 * k)) & 3](r, x);
    }
    return r;
}
PEER(2, 64, 120, 120, PEER_BITS)
PEER_EACH(body)
