/* test_wgmma.c: wgmma of every shape, type, order of elements and swizzle against sums over logical
 * matrices. Where a matrix lies is said here by the rows of the ISA's figures (which 16-byte piece
 * of a row stands where), not by addresses; values are whole numbers, so that results are exact.
 *
 * The last cases have base offsets, starts within a row of the swizzle, and strides that leave gaps
 * or exchange the two directions. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/elem.h"
#include "tests/draw.h"

#include "ptx_run.h"

enum { M = 64, N_MAX = 256, K_MAX = 256, IMAGE_MAX = 60 * 1024, WARP_GROUP = 128 };

typedef struct type_row {
    const char *d, *a, *b;
    uint32_t bits;
    bool has_trans, has_scales;
    const char *suffix;
} type_row;

static const type_row types[] = {
    {"f32", "f16", "f16", 16, true, true, ""},
    {"f16", "f16", "f16", 16, true, true, ""},
    {"f32", "bf16", "bf16", 16, true, true, ""},
    {"f32", "tf32", "tf32", 32, false, true, ""},
    {"f32", "e4m3", "e4m3", 8, false, true, ""},
    {"f32", "e4m3", "e5m2", 8, false, true, ""},
    {"f32", "e5m2", "e4m3", 8, false, true, ""},
    {"f32", "e5m2", "e5m2", 8, false, true, ""},
    {"f16", "e4m3", "e4m3", 8, false, true, ""},
    {"f16", "e5m2", "e4m3", 8, false, true, ""},
    {"s32", "s8", "s8", 8, false, false, ""},
    {"s32", "u8", "u8", 8, false, false, ".satfinite"},
    {"s32", "s8", "u8", 8, false, false, ".satfinite"},
    {"s32", "u8", "s8", 8, false, false, ""},
    {"s32", "b1", "b1", 1, false, false, ".and.popc"},
};
enum { N_TYPES = sizeof types / sizeof types[0] };

/* How one matrix lies in shared memory. */
typedef struct place {
    uint32_t width; /* of the swizzle in bytes; 16: none */
    bool is_k_major;
    bool is_exchanged; /* strides: the other direction is the inner one */
    uint32_t gap;      /* more bytes between the groups */
    uint32_t skip;     /* pieces of 16 bytes within a row before the matrix, along K */
    uint32_t base;     /* base offset */
} place;

typedef struct trial {
    const type_row *t;
    uint32_t n, k;
    bool is_a_reg, is_adding;
    int scale_a, scale_b;
    place a, b;
    uint64_t seed;
} trial;

static struct {
    int32_t a[M][K_MAX], b[N_MAX][K_MAX], c[M][N_MAX]; /* logical */
    uint8_t image[IMAGE_MAX];
    uint8_t in[IMAGE_MAX + 4 * WARP_GROUP * 4 + 128 * WARP_GROUP * 4];
    char body[32768];
    ptx_result got;
} z;

/* ---- elements -------------------------------------------------------------------------------- */

static int32_t random_value(const char *type, uint64_t *seed)
{
    uint32_t x = (uint32_t)draw(seed);
    return strcmp(type, "s8") == 0   ? (int32_t)(int8_t)(uint8_t)x
           : strcmp(type, "u8") == 0 ? (int32_t)(uint8_t)x
           : strcmp(type, "b1") == 0 ? (int32_t)(x & 1)
                                     : (int32_t)(x % 7) - 3;
}

static int32_t random_sum(const char *type, uint64_t *seed)
{
    uint32_t x = (uint32_t)draw(seed);
    if (strcmp(type, "s32") == 0) { /* near the ends: wrapping and saturation show */
        return (x & 3) == 0   ? INT32_MAX - (int32_t)(x >> 16)
               : (x & 3) == 1 ? INT32_MIN + (int32_t)(x >> 16)
                              : (int32_t)(x >> 8);
    }
    return (int32_t)(x % 201) - 100;
}

static uint32_t bits_of(const char *type, int32_t v)
{
    pg_elem e = strcmp(type, "f16") == 0    ? PG_F16
                : strcmp(type, "bf16") == 0 ? PG_BF16
                : strcmp(type, "e4m3") == 0 ? PG_E4M3
                : strcmp(type, "e5m2") == 0 ? PG_E5M2
                                            : PG_F32;
    if (strcmp(type, "tf32") == 0) { /* the low 13 bits must not count */
        return (uint32_t)pg_elem_of_f64(PG_F32, v) | ((uint32_t)v * 2654435761u >> 19);
    }
    return type[0] == 's' || type[0] == 'u' || strcmp(type, "b1") == 0
               ? (uint32_t)v
               : (uint32_t)pg_elem_of_f64(e, v);
}

static void put_element(uint8_t *p, uint32_t bits, uint32_t index, uint32_t value)
{
    if (bits == 1) {
        p[index / 8] = (uint8_t)((p[index / 8] & ~(1u << index % 8)) | value << index % 8);
    } else {
        memcpy(p + (size_t)index * (bits / 8), &value, bits / 8);
    }
}

/* ---- where things lie ------------------------------------------------------------------------ */

typedef struct spot {
    uint32_t lbo, sbo, size, start;
} spot;

/* The strides of a matrix of n rows and 32 bytes of K each. */
static spot strides_of(const place *p, uint32_t n)
{
    spot s = {.lbo = 16};
    uint32_t group = 8 * p->width + p->gap; /* 8 lines */
    uint32_t n_groups = p->is_k_major ? n / 8 : 2;
    uint32_t n_blocks = p->is_k_major ? 2 : (n / 8 * 16 + p->width - 1) / p->width;
    if (p->is_k_major && p->width > 16) { /* a row holds all of K */
        s.sbo = group;
        s.size = n_groups * group;
    } else if (p->is_exchanged) {
        s.sbo = group;
        s.lbo = n_groups * group;
        s.size = n_blocks * s.lbo;
    } else {
        s.lbo = group;
        s.sbo = n_blocks * group;
        s.size = n_groups * s.sbo;
    }
    if (!p->is_k_major && p->width == 16) { /* the two change their meaning */
        uint32_t x = s.lbo;
        s.lbo = s.sbo;
        s.sbo = x;
    }
    s.start = p->base * 128;
    s.size += s.start;
    return s;
}

/* Byte in the image of element `e` within the piece `piece` of a line: the ISA's figures. */
static uint32_t piece_at(const place *p, const spot *s, uint32_t line, uint32_t piece)
{
    uint32_t group_step = p->is_k_major || p->width > 16 ? s->sbo : s->lbo;
    uint32_t block_step = p->is_k_major || p->width > 16 ? s->lbo : s->sbo;
    uint32_t r = line % 8;
    uint32_t at = s->start + line / 8 * group_step;
    if (p->width == 16) { /* a core matrix: 8 lines of 16 bytes */
        return at + piece * block_step + r * 16;
    }
    uint32_t per_row = p->width / 16;
    uint32_t c = piece + (p->is_k_major ? p->skip : 0);
    at += c / per_row * block_step + r * p->width;
    c %= per_row;
    switch (p->width) {
    case 128: return at + (c ^ r) * 16;
    case 64: return at + (c ^ (r / 2)) * 16;
    default: return at + (c ^ (r / 4)) * 16;
    }
}

/* Writes a matrix of n rows by k elements to the image from `from` on; its descriptor. */
static uint64_t place_matrix(const place *p, uint32_t from, uint32_t n, uint32_t k, uint32_t bits,
                             const char *type, int32_t (*x)[K_MAX], uint32_t *out_size)
{
    static const uint64_t modes[] = {0, 3, 2, 0, 1}; /* by width / 32 */
    spot s = strides_of(p, n);
    for (uint32_t row = 0; row < n; row++) {
        for (uint32_t e = 0; e < k; e++) {
            uint32_t per_piece = 128 / bits;
            uint32_t at = p->is_k_major ? piece_at(p, &s, row, e / per_piece)
                                        : piece_at(p, &s, e, row / per_piece);
            uint32_t index = (p->is_k_major ? e : row) % per_piece;
            put_element(z.image + from + at, bits, index, bits_of(type, x[row][e]));
        }
    }
    *out_size = s.size;
    uint64_t start = 0x400 + from + s.start + p->skip * 16;
    return start / 16 | (uint64_t)(s.lbo / 16) << 16 | (uint64_t)(s.sbo / 16) << 32 |
           (uint64_t)p->base << 49 | modes[p->width / 32] << 62;
}

/* ---- one case -------------------------------------------------------------------------------- */

static void draw_values(const trial *c, uint64_t *seed)
{
    for (uint32_t k = 0; k < c->k; k++) {
        for (uint32_t r = 0; r < M; r++) {
            z.a[r][k] = random_value(c->t->a, seed);
        }
        for (uint32_t n = 0; n < c->n; n++) {
            z.b[n][k] = random_value(c->t->b, seed);
        }
    }
    for (uint32_t r = 0; r < M; r++) {
        for (uint32_t n = 0; n < c->n; n++) {
            z.c[r][n] = random_sum(c->t->d, seed);
        }
    }
}

static int64_t expected(const trial *c, uint32_t row, uint32_t col)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < c->k; k++) {
        sum += (int64_t)z.a[row][k] * z.b[col][k];
    }
    sum = sum * c->scale_a * c->scale_b + (c->is_adding ? z.c[row][col] : 0);
    if (strcmp(c->t->suffix, ".satfinite") == 0) {
        return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    }
    return strcmp(c->t->d, "s32") == 0 ? (int32_t)(uint32_t)(uint64_t)sum : sum;
}

/* The tables of the ISA, by thread of the warp group. */
static uint32_t acc_row(uint32_t t, uint32_t i)
{
    return t / 32 * 16 + t % 32 / 4 + ((i & 2) != 0 ? 8 : 0);
}
static uint32_t acc_col(uint32_t t, uint32_t i)
{
    return i / 4 * 8 + t % 4 * 2 + (i & 1);
}

static void place_registers(const trial *c, uint8_t *at)
{
    uint32_t bits = c->t->bits;
    uint32_t per = 32 / bits; /* elements of a register */
    for (uint32_t t = 0; t < WARP_GROUP; t++) {
        for (uint32_t j = 0; j < 4; j++) {
            uint8_t *reg = at + (size_t)(j * WARP_GROUP + t) * 4;
            for (uint32_t e = 0; e < per; e++) {
                uint32_t row = t / 32 * 16 + t % 32 / 4 + (j == 1 || j == 3 ? 8 : 0);
                uint32_t k = per * (t % 4) + e + (j >= 2 ? 4 * per : 0);
                put_element(reg, bits, e, bits_of(c->t->a, z.a[row][k]));
            }
        }
    }
}

static void place_sums(const trial *c, uint8_t *at, uint32_t d_bits)
{
    for (uint32_t t = 0; t < WARP_GROUP; t++) {
        for (uint32_t i = 0; i < c->n / 2; i++) {
            uint32_t per = 32 / d_bits;
            uint8_t *reg = at + (size_t)(i / per * WARP_GROUP + t) * 4;
            put_element(reg, d_bits, i % per, bits_of(c->t->d, z.c[acc_row(t, i)][acc_col(t, i)]));
        }
    }
}

static char *put_list(char *p, uint32_t first, uint32_t n)
{
    p += sprintf(p, "{");
    for (uint32_t j = 0; j < n; j++) {
        p += sprintf(p, "%s%%r%u", j > 0 ? "," : "", first + j);
    }
    return p + sprintf(p, "}, ");
}

static void write_program(const trial *c, const uint64_t desc[2], uint32_t image, uint32_t n_d)
{
    char *p = z.body;
    p += sprintf(p, "mad.wide.u32 %%rd3, %%r1, 16, %%rd1;\nmov.u32 %%r3, sm;\n"
                    "mad.lo.u32 %%r3, %%r1, 16, %%r3;\n"
                    "mad.wide.u32 %%rd4, %%r1, 4, %%rd1;\nmad.wide.u32 %%rd5, %%r1, 4, %%rd2;\n");
    for (uint32_t at = 0; at < image; at += 2048) {
        p += sprintf(p,
                     "ld.global.v4.b32 {%%r4,%%r5,%%r6,%%r7}, [%%rd3+%u];\n"
                     "st.shared.v4.b32 [%%r3+%u], {%%r4,%%r5,%%r6,%%r7};\n",
                     at, at);
    }
    for (uint32_t j = 0; j < 4; j++) {
        p += sprintf(p, "ld.global.b32 %%r%u, [%%rd4+%u];\n", 90 + j, image + j * 512);
    }
    for (uint32_t j = 0; c->is_adding && j < n_d; j++) {
        p += sprintf(p, "ld.global.b32 %%r%u, [%%rd4+%u];\n", 100 + j, image + 2048 + j * 512);
    }
    p += sprintf(p, "mov.u64 %%rd6, 0x%llx;\nmov.u64 %%rd7, 0x%llx;\n", (unsigned long long)desc[0],
                 (unsigned long long)desc[1]);
    p += sprintf(p,
                 "fence.proxy.async;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n%uk%u.%s.%s.%s%s ",
                 c->n, c->k, c->t->d, c->t->a, c->t->b, c->t->suffix);
    p = put_list(p, 100, n_d);
    p = c->is_a_reg ? put_list(p, 90, 4) : p + sprintf(p, "%%rd6, ");
    p += sprintf(p, "%%rd7, %d", c->is_adding);
    if (c->t->has_scales) {
        p += sprintf(p, ", %d, %d", c->scale_a, c->scale_b);
    }
    if (c->t->has_trans) {
        p += c->is_a_reg ? sprintf(p, ", %d", !c->b.is_k_major)
                         : sprintf(p, ", %d, %d", !c->a.is_k_major, !c->b.is_k_major);
    }
    p += sprintf(p, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (uint32_t j = 0; j < n_d; j++) {
        p += sprintf(p, "st.global.b32 [%%rd5+%u], %%r%u;\n", j * 512, 100 + j);
    }
}

static bool is_right(const trial *c, uint32_t d_bits)
{
    for (uint32_t t = 0; t < WARP_GROUP; t++) {
        for (uint32_t i = 0; i < c->n / 2; i++) {
            uint32_t per = 32 / d_bits;
            uint32_t x = 0;
            memcpy(&x, z.got.out + (size_t)(i / per * WARP_GROUP + t) * 4 + i % per * 2,
                   d_bits / 8);
            uint32_t want = bits_of(c->t->d, (int32_t)expected(c, acc_row(t, i), acc_col(t, i)));
            if (x != want) {
                printf("  row %u column %u: 0x%x, expected 0x%x\n", acc_row(t, i), acc_col(t, i), x,
                       want);
                return false;
            }
        }
    }
    return true;
}

static bool try_case(const trial *c)
{
    uint64_t seed = 88172645463325252ull + c->seed * 977;
    uint32_t d_bits = strcmp(c->t->d, "f16") == 0 ? 16 : 32;
    uint32_t n_d = c->n / (d_bits == 16 ? 4 : 2);
    uint64_t desc[2] = {0, 0};
    uint32_t size[2] = {0, 0};
    draw_values(c, &seed);
    memset(z.image, 0xFF, sizeof z.image); /* a wrong place gives NaN, -1 or all bits */
    if (!c->is_a_reg) {
        desc[0] = place_matrix(&c->a, 0, M, c->k, c->t->bits, c->t->a, z.a, &size[0]);
    }
    uint32_t from = (size[0] + 1023) / 1024 * 1024;
    desc[1] = place_matrix(&c->b, from, c->n, c->k, c->t->bits, c->t->b, z.b, &size[1]);
    uint32_t image = (from + size[1] + 2047) / 2048 * 2048;
    if (image > IMAGE_MAX) {
        printf("the case is too large: %u\n", image);
        return false;
    }
    memcpy(z.in, z.image, image);
    place_registers(c, z.in + image);
    place_sums(c, z.in + image + 2048, d_bits);
    write_program(c, desc, image, n_d);
    ptx_case job = {.body = z.body,
                    .block = WARP_GROUP,
                    .in = z.in,
                    .in_size = image + 2048 + n_d * 512,
                    .out_size = n_d * 512,
                    .seed = c->seed};
    ptx_run(&job, &z.got);
    bool is_ok = z.got.status == PTXEXEC_OK && z.got.n_poison == 0 && is_right(c, d_bits);
    if (!is_ok) {
        printf("m64n%uk%u.%s.%s.%s%s A %s %u%s skip %u base %u, B %u%s skip %u base %u, seed %llu: "
               "status %d %s\n",
               c->n, c->k, c->t->d, c->t->a, c->t->b, c->t->suffix,
               c->is_a_reg ? "registers" : "swizzle", c->a.width, c->a.is_k_major ? "" : " trans",
               c->a.skip, c->a.base, c->b.width, c->b.is_k_major ? "" : " trans", c->b.skip,
               c->b.base, (unsigned long long)c->seed, (int)z.got.status, z.got.message);
    }
    return is_ok;
}

/* ---- all cases ------------------------------------------------------------------------------- */

static bool has_n(const type_row *t, uint32_t n)
{
    return strcmp(t->d, "s32") != 0 || n % 16 == 0 || n == 8 || n == 24;
}

static place place_of(uint32_t which) /* 0 .. 7 */
{
    static const uint32_t widths[] = {16, 32, 64, 128};
    return (place){.width = widths[which % 4], .is_k_major = which < 4};
}

/* Variants that the number draws: order of the strides, gaps, starts within a row, base offsets. */
static void vary(place *p, uint32_t x)
{
    p->is_exchanged = (x & 1) != 0;
    p->gap = (x & 6) == 6 ? (p->width == 16 ? 128 : 8 * p->width) : 0;
    uint32_t n_steps = p->width / 32;
    p->skip = p->is_k_major && n_steps > 1 ? 2 * (x / 8 % n_steps) : 0;
    p->base = (x & 0x60) == 0x60 && p->width == 128 ? x / 128 % 8 : 0;
}

static uint32_t try_type(const type_row *t, uint32_t *count)
{
    uint32_t n_bad = 0;
    uint64_t seed = 4242;
    uint32_t n_places = t->has_trans ? 8 : 4;
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t n = 8;
        for (uint32_t a = 0; a <= n_places; a++) {
            for (uint32_t b = 0; b < n_places && n_bad < 3; b++) {
                n = n >= 256 ? 8 : n + 8;
                n = has_n(t, n) ? n : n + 8;
                uint32_t x = round == 0 ? 0 : (uint32_t)draw(&seed);
                trial c = {.t = t,
                           .n = n,
                           .k = 256 / t->bits,
                           .is_a_reg = a == n_places,
                           .is_adding = (x & 0x100) == 0,
                           .scale_a = t->has_scales && (x & 0x200) != 0 ? -1 : 1,
                           .scale_b = t->has_scales && (x & 0x400) != 0 ? -1 : 1,
                           .a = place_of(a % n_places),
                           .b = place_of(b),
                           .seed = *count};
                if (round > 0) {
                    vary(&c.a, x >> 12);
                    vary(&c.b, (uint32_t)draw(&seed));
                    c.b.gap = n > 128 ? 0 : c.b.gap;
                }
                n_bad += try_case(&c) ? 0 : 1;
                ++*count;
            }
        }
    }
    for (uint32_t n = 8; n <= 256 && n_bad < 3; n += 8) {
        trial c = {.t = t, .n = n, .k = 256 / t->bits, .is_adding = true, .scale_a = 1};
        c.scale_b = 1;
        c.a = place_of(n / 8 % n_places);
        c.b = place_of(n / 16 % n_places);
        c.seed = *count;
        if (has_n(t, n)) {
            n_bad += try_case(&c) ? 0 : 1;
            ++*count;
        }
    }
    return n_bad;
}

int main(void)
{
    uint32_t n_bad = 0;
    uint32_t count = 0;
    for (uint32_t k = 0; k < N_TYPES; k++) {
        n_bad += try_type(&types[k], &count);
    }
    printf("%u cases, %u failed\n", count, n_bad);
    return n_bad == 0 ? 0 : 1;
}
