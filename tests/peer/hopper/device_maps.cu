#include "peer.h"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
/* A grouped operation, a CTA for each of five matrices of sizes of its own: it makes its map from one of the launch that fits
 * none of them (address, extents, stride, type, swizzle, box, fill replaced), and copies its matrix, transposed, by boxes
 * through it, after the map was published and acquired. */
enum { GROUPS = 5, BOX = 8 };
FN u32 height_of(u32 g) { return 5 + g * 7; }
FN u32 width_of(u32 g) { return 33 - g * 6; }
FN u32 pitch_of(u32 g) { return (width_of(g) + 3) / 4 * 4 + g % 2 * 4; }
FN u32 start_of(u32 g) { return g == 0 ? 0 : start_of(g - 1) + height_of(g - 1) * pitch_of(g - 1); }
FN u32 out_of(u32 g) { return g == 0 ? 0 : out_of(g - 1) + height_of(g - 1) * width_of(g - 1); }
PEER_VARIANT_MAPS(maps, {.type = 1, .rank = 2, .dims = {64, 3}, .strides = {1024}, .box = {64, 2}, .swizzle = 3})
#ifdef __CUDACC__
static __device__ peer_map made[GROUPS];
#define REPLACE(field, space, value, kind) \
    asm volatile("tensormap.replace.tile." field "." space " [%0], " value ";" ::at(map), kind : "memory")
#define CHANGE_ALL(space, rows)                                                          \
    REPLACE("global_address", space ".b1024.b64", "%1", "l"(in + start_of(g)));    \
    REPLACE("rank", space ".b1024.b32", "%1", "r"(1));                             \
    REPLACE("box_dim", space ".b1024.b32", "0, %1", "r"((u32)BOX));                \
    REPLACE("box_dim", space ".b1024.b32", "1, %1", "r"(rows));                \
    REPLACE("global_dim", space ".b1024.b32", "0, %1", "r"(width_of(g)));          \
    REPLACE("global_dim", space ".b1024.b32", "1, %1", "r"(height_of(g)));         \
    REPLACE("global_stride", space ".b1024.b64", "0, %1", "l"((u64)pitch_of(g) * 4)); \
    REPLACE("element_stride", space ".b1024.b32", "1, %1", "r"(1));                \
    REPLACE("elemtype", space ".b1024.b32", "%1", "n"(2));                         \
    REPLACE("interleave_layout", space ".b1024.b32", "%1", "n"(0));                \
    REPLACE("swizzle_mode", space ".b1024.b32", "%1", "n"(1));                     \
    REPLACE("fill_mode", space ".b1024.b32", "%1", "n"(0))

FN void maps_in_shared(const u32 *in, const peer_map &given, u32 g, u32 rows)
{
    __shared__ peer_map map[1];
    u32 lane = threadIdx.x;
    if (lane < 16) {
        map->opaque[lane] = given.opaque[lane];
    }
    __syncwarp();
#define at(p) "r"(address(p))
    if (lane == 0) {
        CHANGE_ALL("shared::cta", rows);
    }
#undef at
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
                     &made[g]),
                 "r"(address(map))
                 : "memory");
}
FN void maps_in_global(const u32 *in, const peer_map &given, u32 g, u32 rows)
{
    peer_map *map = &made[g];
    u32 lane = threadIdx.x;
    if (lane < 16) {
        map->opaque[lane] = given.opaque[lane];
    }
    __syncwarp();
#define at(p) "l"(p)
    if (lane == 0) {
        CHANGE_ALL("global", rows);
        asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    }
#undef at
    __syncwarp();
}

#define DEVICE_MAPS(name, rows)                                                                                               \
    PEER_VARIANT_MAPS_KERNEL(name, 32)                                                                                  \
    {                                                                                                                   \
        __shared__ __align__(128) u32 box[BOX * rows];                                                                   \
        __shared__ __align__(8) u64 full;                                                                               \
        u32 g = blockIdx.x;                                                                                             \
        if (threadIdx.x == 0) {                                                                                         \
            mbar_init(&full, 1);                                                                                        \
            mbar_init_done();                                                                                           \
        }                                                                                                               \
        name(in, maps.at[0], g, rows);                                                                                        \
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&made[g]) : "memory");               \
        u32 parity = 0;                                                                                                 \
        for (u32 y = 0; y < height_of(g); y += rows) {                                                                   \
            for (u32 x = 0; x < width_of(g); x += BOX, parity ^= 1) {                                                   \
                if (threadIdx.x == 0) {                                                                                 \
                    mbar_expect(&full, BOX * rows * 4);                                                                  \
                    tma_load2(box, &made[g], &full, (s32)x, (s32)y);                                                    \
                }                                                                                                       \
                mbar_wait(&full, parity);                                                                               \
                for (u32 i = threadIdx.x; i < BOX * rows; i += 32) {                                                     \
                    u32 piece = (i % BOX / 4) ^ (i / BOX / 4 % 2); /* rows of 32 bytes, swizzled */                     \
                    u32 v = box[i / BOX * BOX + piece * 4 + i % 4];                                                     \
                    if (x + i % BOX < width_of(g) && y + i / BOX < height_of(g)) {                                      \
                        out[out_of(g) + (x + i % BOX) * height_of(g) + y + i / BOX] = v;                                \
                    }                                                                                                   \
                }                                                                                                       \
                __syncwarp();                                                                                           \
            }                                                                                                           \
        }                                                                                                               \
    }
#include "hopper/device_maps.def"
#else
FN void transpose_all(const u32 *in, u32 *out)
{
    for (u32 g = 0; g < GROUPS; g++) {
        for (u32 i = 0; i < height_of(g) * width_of(g); i++) {
            out[out_of(g) + i] = in[start_of(g) + i % height_of(g) * pitch_of(g) + i / height_of(g)];
        }
    }
}
/* The sizes by hand: a constant is asked for. */
#define DEVICE_MAPS(name, rows)                                                                                        \
    PEER_CONFIG(peer_config_##name, GROUPS, 32, 5 * 36 + 12 * 32 + 19 * 24 + 26 * 20 + 33 * 12, 5 * 33 + 12 * 27 + 19 * 21 + 26 * 15 + 33 * 9, \
                PEER_BITS, 0, 1, PEER_LIST(peer_map_rows_maps))                                                  \
    PEER_VARIANT_REFERENCE(name)                                                                                 \
    {                                                                                                            \
        (void)n_in;                                                                                              \
        (void)n_out;                                                                                             \
        transpose_all(in, out);                                                                                  \
    }
#include "hopper/device_maps.def"
#endif
