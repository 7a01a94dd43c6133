#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    u32 a[24];
    for (u32 k = 0; k < 24; k++) {
        x = x * 1664525u + 1013904223u;
        a[k] = x >> 8;
    }
    for (u32 k = 1; k < 24; k++) {
        u32 v = a[k];
        u32 j = k;
        for (; j > 0 && a[j - 1] > v; j--) {
            a[j] = a[j - 1];
        }
        a[j] = v;
    }
    return a[i % 24] * 3 + a[(i * 7) % 24];
}
PEER(2, 64, 128, 128, PEER_BITS)
PEER_EACH(body)
