#include "peer.h"
FN u32 body(u32 x, u32 i) { return x * 2654435761u + (x >> 7) * i - i; }
PEER(5, 96, 450, 450, PEER_BITS)
PEER_EACH(body)
