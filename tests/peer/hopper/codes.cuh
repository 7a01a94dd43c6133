/* codes.cuh: the bits of -3 .. 4 in the types of wgmma. */
#ifndef PEER_CODES_H
#define PEER_CODES_H
FN u32 code_pick(s32 v, u32 one, u32 two, u32 three, u32 four, u32 sign)
{
    u32 m = v < 0 ? (u32)-v : (u32)v;
    u32 bits = m == 0 ? 0 : m == 1 ? one : m == 2 ? two : m == 3 ? three : four;
    return bits | (v < 0 ? sign : 0);
}
FN u32 code_f16(s32 v) { return code_pick(v, 0x3C00, 0x4000, 0x4200, 0x4400, 0x8000); }
FN u32 code_bf16(s32 v) { return code_pick(v, 0x3F80, 0x4000, 0x4040, 0x4080, 0x8000); }
/* the low 13 bits do not count */
FN u32 code_tf32(s32 v) { return code_pick(v, 0x3F800000, 0x40000000, 0x40400000, 0x40800000, 0x80000000) | 0x1ABC; }
FN u32 code_e4m3(s32 v) { return code_pick(v, 0x38, 0x40, 0x44, 0x48, 0x80); }
FN u32 code_e5m2(s32 v) { return code_pick(v, 0x3C, 0x40, 0x42, 0x44, 0x80); }
FN u32 code_s8(s32 v) { return (u32)v & 0xFF; }
FN u32 want_float(s32 v) { return float_bits((float)v); }
FN u32 want_minus(s32 v) { return float_bits(v == 0 ? 0.0f : -(float)v); }
FN u32 want_int(s32 v) { return (u32)v; }
/* Half number i of an array of PEER_SMALL_HALVES, as an integer. */
FN s32 small_half(const u32 *in, u32 i)
{
    u32 h = in[i / 2] >> (i % 2 * 16) & 0xFFFF;
    u32 m = h & 0x7FFF;
    s32 v = m == 0 ? 0 : m == 0x3C00 ? 1 : m == 0x4000 ? 2 : m == 0x4200 ? 3 : 4;
    return h >> 15 != 0 ? -v : v;
}
/* A whole number below 2048 as a half. */
FN u32 half_of(s32 v)
{
    u32 m = v < 0 ? (u32)-v : (u32)v;
    u32 e = 25;
    if (m == 0) {
        return 0;
    }
    while (m < 1024) {
        m *= 2;
        e--;
    }
    return (v < 0 ? 0x8000u : 0) | e << 10 | (m & 1023);
}
#ifndef __CUDACC__
/* Row a of `in` times row b, both of halves, `pitch` apart. */
FN s32 half_dot(const u32 *in, u32 a, u32 b, u32 n, u32 pitch)
{
    s32 sum = 0;
    for (u32 k = 0; k < n; k++) {
        sum += small_half(in, a * pitch + k) * small_half(in, b * pitch + k);
    }
    return sum;
}
/* out[m][n] = A[m][k] B[n][k]^T: in `in` lie the rows of A, then those of B. */
FN void half_product(const u32 *in, u32 *out, u32 m, u32 n, u32 k, u32 pitch)
{
    for (u32 i = 0; i < m * n; i++) {
        out[i] = float_bits((float)half_dot(in, i / n, m + i % n, k, pitch));
    }
}
/* The same; the result is halves too. */
FN void half_product_to_half(const u32 *in, u32 *out, u32 m, u32 n, u32 k, u32 pitch)
{
    for (u32 i = 0; i < m * n; i++) {
        out[i / 2] |= half_of(half_dot(in, i / n, m + i % n, k, pitch)) << (i % 2 * 16);
    }
}
#endif
#endif
