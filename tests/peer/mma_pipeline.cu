#include "peer.h"
/* 64x64x128 halves by cp.async in a ring of three stages, ldmatrix with a swizzle, and mma.sync: every product and
 * sum is a small integer, so all orders agree. in: A as words of two halves, rows of 128; B the same, rows of k. */
PEER(1, 128, 8192, 4096, PEER_BITS)
#define M_K 128
FN u32 small_half(u32 x) /* -3 .. 4 as the bits of a half */
{
    u32 v = x % 8;
    u32 m = v < 3 ? 3 - v : v - 3;
    u32 bits = m == 0 ? 0 : m == 1 ? 0x3C00 : m == 2 ? 0x4000 : m == 3 ? 0x4200 : 0x4400;
    return bits | (v < 3 && m != 0 ? 0x8000u : 0);
}
FN s32 small_int(u32 x) { return (s32)(x % 8) - 3; }
#ifdef __CUDACC__
static __device__ u32 packed[8192];
FN u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
FN void copy16(u32 to, const u32 *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
/* 64 rows of 32 halves (64 bytes), chunks of 16 bytes xored with the row pair */
FN u32 place(u32 row, u32 chunk) { return row * 64 + ((chunk ^ (row >> 1 & 3)) * 16); }
FN void load_stage(u32 base, const u32 *a, const u32 *b, u32 k)
{
    for (u32 c = threadIdx.x; c < 256; c += 128) {
        u32 row = c / 4;
        copy16(base + place(row, c % 4), a + row * (M_K / 2) + k / 2 + c % 4 * 4);
        copy16(base + 4096 + place(row, c % 4), b + row * (M_K / 2) + k / 2 + c % 4 * 4);
    }
}
FN void load4(u32 r[4], u32 at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}
PEER_KERNEL
{
    __shared__ __align__(128) unsigned char ring[3][8192];
    for (u32 i = threadIdx.x; i < n_in; i += 128) {
        packed[i] = small_half(in[i]) | small_half(in[i] >> 8) << 16;
    }
    __syncthreads();
    const u32 *a = packed;
    const u32 *b = packed + 4096;
    u32 lane = threadIdx.x % 32;
    u32 warp = threadIdx.x / 32;
    float sum[8][4] = {};
    for (u32 s = 0; s < 2; s++) {
        load_stage(address(ring[s]), a, b, s * 32);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (u32 k = 0; k < M_K / 32; k++) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        if (k + 2 < M_K / 32) {
            load_stage(address(ring[(k + 2) % 3]), a, b, (k + 2) * 32);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        u32 base = address(ring[k % 3]);
        for (u32 kk = 0; kk < 2; kk++) {
            u32 fa[4];
            u32 fb[4];
            load4(fa, base + place(warp * 16 + lane % 16, kk * 2 + lane / 16));
            for (u32 n = 0; n < 4; n++) {
                load4(fb, base + 4096 + place(n * 16 + lane % 8 + lane / 16 * 8, kk * 2 + lane / 8 % 2));
                for (u32 h = 0; h < 2; h++) {
                    float *c = sum[n * 2 + h];
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                                 : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[h * 2]), "r"(fb[h * 2 + 1]));
                }
            }
        }
    }
    for (u32 n = 0; n < 8; n++) {
        for (u32 i = 0; i < 4; i++) {
            u32 row = warp * 16 + lane / 4 + i / 2 * 8;
            out[row * 64 + n * 8 + lane % 4 * 2 + i % 2] = float_bits(sum[n][i]);
        }
    }
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out; i++) {
        s32 sum = 0;
        for (u32 k = 0; k < M_K; k++) {
            u32 a = in[i / 64 * (M_K / 2) + k / 2] >> (k % 2 * 8);
            u32 b = in[4096 + i % 64 * (M_K / 2) + k / 2] >> (k % 2 * 8);
            sum += small_int(a) * small_int(b);
        }
        out[i] = float_bits((float)sum);
    }
}
#endif
