#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    u32 acc = i;
    for (u32 k = 0; k < 20; k++) {
        if ((x >> k & 1) != 0) {
            if (acc % 3 == 0) {
                acc = acc * 5 + k;
                continue;
            }
            for (u32 j = 0; j < (x & 7); j++) {
                acc ^= (j * k + acc) << 1;
                if (acc % 11 == 0) {
                    break;
                }
            }
        } else if (acc > 1000000) {
            break;
        } else {
            acc += 17 * k;
        }
    }
    return acc;
}
PEER(4, 128, 500, 500, PEER_BITS)
PEER_EACH(body)
