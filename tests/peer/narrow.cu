#include "peer.h"
FN u32 body(u32 x, u32 i)
{
    signed char c = (signed char)x;
    unsigned char uc = (unsigned char)(x >> 8);
    short s = (short)(x >> 3);
    unsigned short us = (unsigned short)(x >> 11);
    s = (short)(s * c + uc);
    us = (unsigned short)(us / (uc + 1) + i);
    c = (signed char)(c >> 2 ^ s);
    uc = (unsigned char)(uc * us);
    return (u32)(s32)s * 3 + us * 5u + (u32)(s32)c * 7 + uc * 11u + (s < (short)us ? 1u : 0u);
}
PEER(4, 128, 512, 512, PEER_BITS)
PEER_EACH(body)
