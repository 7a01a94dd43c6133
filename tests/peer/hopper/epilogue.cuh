/* epilogue.cuh: accumulators as halves, by stmatrix, into tiles of 64 columns in rows of 128 bytes with swizzle. */
#ifndef PEER_EPILOGUE_H
#define PEER_EPILOGUE_H
#ifdef __CUDACC__

FN u32 two_halves(float low, float high)
{
    u32 both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
FN void stmatrix4(u32 to, u32 a, u32 b, u32 c, u32 d)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}
/* The 64 rows of a warp group, 8 columns for each 4 of N; tiles of 64 columns lie 8 KiB apart. */
template <int N> FN void store_tile(unsigned char *at, float (&c)[N], u32 t)
{
    u32 row = t / 32 * 16 + t % 16;
    for (u32 g = 0; g < N / 4; g += 2) { /* two groups of 8 columns */
        u32 group = g + t % 32 / 16;
        u32 to = address(at) + group / 8 * 8192 + row * 128 + ((group % 8) ^ (row % 8)) * 16;
        stmatrix4(to, two_halves(c[4 * g], c[4 * g + 1]), two_halves(c[4 * g + 2], c[4 * g + 3]),
                  two_halves(c[4 * g + 4], c[4 * g + 5]), two_halves(c[4 * g + 6], c[4 * g + 7]));
    }
}
#endif
#endif
