#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    u32 r = x;
    for (u32 k = 0; k < 8; k++) {
        switch ((r + i) % 13) {
        case 0: r = r * 3 + 1; break;
        case 1: r ^= r >> 5; break;
        case 2: r += i * k; break;
        case 3: r = r << 3 | r >> 29; break;
        case 4: r -= 0x12345; break;
        case 5: r = r / 7 + 2; break;
        case 6: r = ~r; break;
        case 7: r = r * r + k; break;
        case 8: r %= 100003; break;
        case 9: r = (r & 0xFF00FF) * 9; break;
        case 10: r ^= 0xDEADBEEF; break;
        case 11: r += r >> 16; break;
        default: r = r * 69069 + 5; break;
        }
    }
    return r;
}
PEER(4, 128, 500, 500, PEER_BITS)
PEER_EACH(body)
