/* Layouts against brute force: every encoding on small tiles, the wgmma fragment against its closed
 * form, the swizzle against the XOR of byte addresses, and the algebra on every index. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/layout_algebra.h"
#include "tests/draw.h"

typedef struct world {
    pg_arena arena;
    pg_types *types;
} world;

static void world_init(world *w)
{
    pg_arena_init(&w->arena, pg_alloc_default());
    w->types = pg_types_new(&w->arena);
}

static void world_fini(world *w)
{
    pg_arena_fini(&w->arena);
}

static uint32_t size_of(const pg_layout *l, pg_lin_dim d)
{
    return pg_layout_size(l, d);
}

/* Calls see(user, index, coordinate) for every index. */
typedef void (*see_fn)(void *user, const pg_layout *l, const uint32_t *index,
                       const uint32_t *coord);
static void each_index(const pg_layout *l, see_fn see, void *user)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    for (index[PG_LIN_WARP] = 0; index[PG_LIN_WARP] < size_of(l, PG_LIN_WARP);
         index[PG_LIN_WARP]++) {
        for (index[PG_LIN_LANE] = 0; index[PG_LIN_LANE] < size_of(l, PG_LIN_LANE);
             index[PG_LIN_LANE]++) {
            for (index[PG_LIN_REG] = 0; index[PG_LIN_REG] < size_of(l, PG_LIN_REG);
                 index[PG_LIN_REG]++) {
                uint32_t coord[PG_MAX_RANK] = {0};
                pg_layout_at(l, index, coord);
                see(user, l, index, coord);
            }
        }
    }
}

static uint32_t row_major(uint32_t rank, const uint32_t *dims, const uint32_t *coord)
{
    uint32_t flat = 0;
    for (uint32_t d = 0; d < rank; d++) {
        flat = flat * dims[d] + coord[d];
    }
    return flat;
}

static uint32_t n_elems(const pg_layout *l)
{
    uint32_t n = 1;
    for (uint32_t d = 0; d < l->rank; d++) {
        n *= l->dims[d];
    }
    return n;
}

/* ---- onto, find, free bits ------------------------------------------------------------------- */

typedef struct count {
    uint32_t *held; /* per element: how many indices hold it */
} count;

static void see_count(void *user, const pg_layout *l, const uint32_t *index, const uint32_t *coord)
{
    count *c = user;
    for (uint32_t d = 0; d < l->rank; d++) {
        cr_assert_lt(coord[d], l->dims[d]);
    }
    c->held[row_major(l->rank, l->dims, coord)]++;
    uint32_t found[PG_LIN_DIM_COUNT], again[PG_MAX_RANK] = {0};
    cr_assert(pg_layout_find(l, coord, found));
    pg_layout_at(l, found, again);
    cr_assert_arr_eq(coord, again, l->rank * sizeof *again);
    for (pg_lin_dim d = PG_LIN_REG; d <= PG_LIN_WARP; d++) {
        uint32_t free_bits = pg_layout_free_bits(l, d);
        cr_assert_eq(found[d] & free_bits, 0);
        for (uint32_t b = 1; b != 0 && b <= free_bits; b *= 2) {
            if (free_bits & b) {
                uint32_t other[PG_LIN_DIM_COUNT];
                memcpy(other, index, sizeof other);
                other[d] ^= b;
                pg_layout_at(l, other, again);
                cr_assert_arr_eq(coord, again, l->rank * sizeof *again);
            }
        }
    }
}

/* Every element is held, all equally often; find inverts at. */
static void check_onto(const pg_layout *l)
{
    count c = {calloc(n_elems(l), sizeof(uint32_t))};
    each_index(l, see_count, &c);
    for (uint32_t i = 0; i < n_elems(l); i++) {
        cr_assert_gt(c.held[i], 0);
        cr_assert_eq(c.held[i], c.held[0]);
    }
    free(c.held);
}

static void check_vector(const pg_layout *l)
{
    uint32_t v = pg_layout_vector(l);
    uint32_t regs = size_of(l, PG_LIN_REG), last = l->rank - 1u;
    cr_assert(pg_is_pow2(v) && regs % v == 0);
    bool could_double = regs % (2 * v) == 0;
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    for (index[PG_LIN_WARP] = 0; index[PG_LIN_WARP] < size_of(l, PG_LIN_WARP);
         index[PG_LIN_WARP]++) {
        for (index[PG_LIN_LANE] = 0; index[PG_LIN_LANE] < 32; index[PG_LIN_LANE]++) {
            for (uint32_t r = 0; r < regs; r++) {
                uint32_t first[PG_MAX_RANK] = {0}, coord[PG_MAX_RANK] = {0};
                for (uint32_t k = 1; k <= 2; k++) {
                    uint32_t run = k * v;
                    if (run > regs) {
                        continue;
                    }
                    index[PG_LIN_REG] = r / run * run;
                    pg_layout_at(l, index, first);
                    index[PG_LIN_REG] = r;
                    pg_layout_at(l, index, coord);
                    bool is_run = first[last] % run == 0 && coord[last] == first[last] + r % run &&
                                  memcmp(first, coord, last * sizeof *first) == 0;
                    cr_assert(is_run || k == 2);
                    could_double = could_double && (k == 1 || is_run);
                }
            }
        }
    }
    cr_assert_not(could_double, "a longer vector is there");
}

/* ---- blocked and default --------------------------------------------------------------------- */

static pg_layout layout_of(world *w, uint32_t rank, const int32_t *dims, pg_enc enc,
                           uint32_t n_warps)
{
    pg_layout l;
    pg_type ty = pg_type_tile(w->types, PG_F16, rank, dims, enc);
    pg_layout_error e = pg_layout_of_tile(w->types, ty, n_warps, &l);
    cr_assert_eq(e, PG_LAYOUT_OK, "%s", pg_layout_error_text(e));
    return l;
}

Test(layout, default_is_onto_and_balanced)
{
    world w;
    world_init(&w);
    const int32_t sizes[] = {1, 2, 4, 3, 16, 64};
    for (uint32_t n_warps = 1; n_warps <= 12; n_warps += n_warps == 8 ? 4 : n_warps) {
        for (uint32_t code = 0; code < 6 * 6 * 6; code++) {
            for (uint32_t rank = 1; rank <= 3; rank++) {
                const int32_t dims[3] = {sizes[code % 6], sizes[code / 6 % 6], sizes[code / 36]};
                int32_t n = dims[0] * dims[1] * dims[2];
                if ((rank < 3 && code >= 36) || (rank < 2 && code >= 6) ||
                    (rank == 3 && n > 1024)) {
                    continue;
                }
                uint32_t vec = 1u << (code % 4);
                pg_layout l = layout_of(&w, rank, dims,
                                        pg_enc_default(w.types, rank, dims, n_warps, vec), n_warps);
                cr_assert_eq(size_of(&l, PG_LIN_LANE), 32);
                cr_assert_eq(size_of(&l, PG_LIN_WARP), n_warps);
                check_onto(&l);
                check_vector(&l);
                bool is_pow2 = pg_is_pow2(n_elems(&l)) && pg_is_pow2(n_warps);
                if (is_pow2) {
                    uint32_t want = n_elems(&l) / (32 * n_warps);
                    cr_assert_eq(size_of(&l, PG_LIN_REG), want == 0 ? 1 : want);
                }
            }
        }
    }
    const int32_t five[5] = {2, 1, 4, 8, 32};
    pg_layout l = layout_of(&w, 5, five, pg_enc_default(w.types, 5, five, 4, 8), 4);
    check_onto(&l);
    check_vector(&l);
    cr_assert_eq(pg_layout_vector(&l), 8);
    world_fini(&w);
}

Test(layout, blocked_by_its_definition)
{
    world w;
    world_init(&w);
    pg_enc_info e = {.kind = PG_ENC_BLOCKED,
                     .rank = 2,
                     .order = {1, 0},
                     .regs = {2, 4},
                     .lanes = {4, 8},
                     .warps = {2, 2}};
    const int32_t dims[2] = {32, 128};
    pg_layout l = layout_of(&w, 2, dims, pg_enc_intern(w.types, &e), 4);
    check_onto(&l);
    cr_assert_eq(size_of(&l, PG_LIN_REG), 32);
    for (uint32_t r = 0; r < 32; r++) {
        for (uint32_t lane = 0; lane < 32; lane++) {
            for (uint32_t warp = 0; warp < 4; warp++) {
                uint32_t index[PG_LIN_DIM_COUNT] = {r, lane, warp}, coord[PG_MAX_RANK];
                pg_layout_at(&l, index, coord);
                cr_assert_eq(coord[1], r % 4 + 4 * (lane % 8) + 32 * (warp % 2) + 64 * (r / 8 % 2));
                cr_assert_eq(coord[0], r / 4 % 2 + 2 * (lane / 8) + 8 * (warp / 2) + 16 * (r / 16));
            }
        }
    }
    pg_layout bad;
    pg_type ty = pg_type_tile(w.types, PG_F16, 2, dims, pg_enc_intern(w.types, &e));
    cr_assert_eq(pg_layout_of_tile(w.types, ty, 8, &bad), PG_LAYOUT_WARPS);
    e.lanes[0] = 8;
    ty = pg_type_tile(w.types, PG_F16, 2, dims, pg_enc_intern(w.types, &e));
    cr_assert_eq(pg_layout_of_tile(w.types, ty, 4, &bad), PG_LAYOUT_SHAPE);
    ty = pg_type_tile(w.types, PG_F16, 2, dims, (pg_enc){0});
    cr_assert_eq(pg_layout_of_tile(w.types, ty, 4, &bad), PG_LAYOUT_NO_ENC);
    cr_assert_eq(pg_layout_of_tile(w.types, pg_type_scalar(w.types, PG_F16), 4, &bad),
                 PG_LAYOUT_SHAPE);
    world_fini(&w);
}

/* ---- wgmma ----------------------------------------------------------------------------------- */

static void check_wgmma(world *w, uint32_t n, uint32_t m_warps, uint32_t groups,
                        const int32_t *dims)
{
    pg_enc_info e = {.kind = PG_ENC_WGMMA,
                     .rank = 2,
                     .shape = {64, (uint16_t)n, 16},
                     .warps = {(uint16_t)m_warps, (uint16_t)groups}};
    pg_layout l = layout_of(w, 2, dims, pg_enc_intern(w->types, &e), m_warps * groups);
    uint32_t rows = 16 * m_warps, cols = n * groups;
    uint32_t regs = (uint32_t)(dims[0] * dims[1]) / (32 * m_warps * groups);
    cr_assert_eq(size_of(&l, PG_LIN_REG), regs);
    for (uint32_t r = 0; r < regs; r++) {
        for (uint32_t lane = 0; lane < 32; lane++) {
            for (uint32_t warp = 0; warp < m_warps * groups; warp++) {
                uint32_t i = r % (n / 2), rep = r / (n / 2), n_rep = (uint32_t)dims[1] / cols;
                uint32_t row = 16 * (warp % 4) + lane / 4 + 8 * ((i / 2) % 2);
                uint32_t col = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
                row += 64 * (warp % m_warps / 4) + rows * (rep / n_rep);
                col += n * (warp / m_warps) + cols * (rep % n_rep);
                uint32_t index[PG_LIN_DIM_COUNT] = {r, lane, warp}, coord[PG_MAX_RANK];
                pg_layout_at(&l, index, coord);
                cr_assert(coord[0] == row && coord[1] == col,
                          "n %u warps %u,%u reg %u lane %u warp %u", n, m_warps, groups, r, lane,
                          warp);
            }
        }
    }
    check_onto(&l);
    cr_assert_eq(pg_layout_vector(&l), 2);
}

Test(layout, wgmma_is_the_closed_form)
{
    world w;
    world_init(&w);
    for (uint32_t n = 8; n <= 256; n += 8) {
        check_wgmma(&w, n, 4, 1, (const int32_t[]){64, (int32_t)n});
    }
    check_wgmma(&w, 256, 8, 1, (const int32_t[]){128, 256});
    check_wgmma(&w, 96, 12, 1, (const int32_t[]){192, 96});
    check_wgmma(&w, 96, 4, 2, (const int32_t[]){64, 192});
    check_wgmma(&w, 64, 4, 1, (const int32_t[]){128, 192});
    check_wgmma(&w, 48, 4, 1, (const int32_t[]){128, 96});
    pg_layout bad;
    pg_enc_info e = {.kind = PG_ENC_WGMMA, .rank = 2, .shape = {64, 12, 16}, .warps = {4, 1}};
    pg_type ty =
        pg_type_tile(w.types, PG_F32, 2, (const int32_t[]){64, 12}, pg_enc_intern(w.types, &e));
    cr_assert_eq(pg_layout_of_tile(w.types, ty, 4, &bad), PG_LAYOUT_SHAPE);
    e.shape[1] = 16;
    ty = pg_type_tile(w.types, PG_F32, 2, (const int32_t[]){64, 24}, pg_enc_intern(w.types, &e));
    cr_assert_eq(pg_layout_of_tile(w.types, ty, 4, &bad), PG_LAYOUT_SHAPE);
    world_fini(&w);
}

/* ---- shared memory --------------------------------------------------------------------------- */

static pg_layout_error buf_layout(world *w, const pg_enc_info *e, pg_elem elem, uint32_t rank,
                                  const int32_t *dims, pg_layout *out)
{
    pg_type_info ti = {
        .kind = PG_TY_BUF, .elem = (uint8_t)elem, .space = PG_SPACE_SMEM, .rank = (uint8_t)rank};
    memcpy(ti.dims, dims, rank * sizeof *dims);
    ti.enc = e ? pg_enc_intern(w->types, e) : (pg_enc){0};
    return pg_layout_of_buf(w->types, pg_type_intern(w->types, &ti), out);
}

Test(layout, swizzle_is_the_xor_of_byte_addresses)
{
    world w;
    world_init(&w);
    const pg_elem elems[] = {PG_I8, PG_F16, PG_F32, PG_F64};
    for (uint32_t s = 32; s <= 128; s *= 2) {
        for (uint32_t k = 0; k < 4; k++) {
            for (uint32_t width = s; width >= 16; width /= 2) {
                const int32_t rows[] = {8, 64, 24, 256};
                for (uint32_t q = 0; q < 4; q++) {
                    uint32_t es = 1u << k;
                    int32_t dims[3] = {3, rows[q], (int32_t)(width / es)};
                    pg_enc_info e = {
                        .kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}, .swizzle = (uint16_t)s};
                    pg_layout l;
                    pg_layout_error error = buf_layout(&w, &e, elems[k], 3, dims, &l);
                    if (error == PG_LAYOUT_NOT_LINEAR && rows[q] == 24) {
                        cr_assert_lt(width, s);
                        continue;
                    }
                    cr_assert_eq(error, PG_LAYOUT_OK, "%s", pg_layout_error_text(error));
                    cr_assert_eq(l.rank, 2);
                    uint32_t n = size_of(&l, PG_LIN_OFFSET);
                    cr_assert_eq(n, (uint32_t)(dims[1] * dims[2]));
                    for (uint32_t row = 0; row < (uint32_t)dims[1]; row++) {
                        for (uint32_t col = 0; col < (uint32_t)dims[2]; col++) {
                            uint32_t a = row * width + col * es;
                            uint32_t span = s == 128 ? 7 : s == 64 ? 3 : 1;
                            uint32_t xored = a ^ (((a >> 7) & span) << 4);
                            uint32_t index[PG_LIN_DIM_COUNT] = {0}, coord[PG_MAX_RANK];
                            cr_assert(
                                pg_layout_find(&l, (const uint32_t[]){row, col, 0, 0, 0}, index));
                            cr_assert_eq(index[PG_LIN_OFFSET] * es, xored);
                            pg_layout_at(&l, index, coord);
                            cr_assert(coord[0] == row && coord[1] == col);
                        }
                    }
                }
            }
            pg_enc_info e = {
                .kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}, .swizzle = (uint16_t)s};
            pg_layout l;
            int32_t wide[2] = {8, (int32_t)(2 * s >> k)};
            cr_assert_eq(buf_layout(&w, &e, elems[k], 2, wide, &l), PG_LAYOUT_SWIZZLE);
        }
    }
    world_fini(&w);
}

Test(layout, rows_orders_and_pads)
{
    world w;
    world_init(&w);
    for (uint16_t pad = 0; pad <= 8; pad = (uint16_t)(pad + 4)) {
        for (uint8_t first = 0; first < 2; first++) {
            pg_enc_info e = {
                .kind = PG_ENC_SMEM, .rank = 2, .order = {first, (uint8_t)(1 - first)}, .pad = pad};
            const int32_t dims[2] = {24, 40};
            pg_layout l;
            pg_layout_error error = buf_layout(&w, &e, PG_F16, 2, dims, &l);
            cr_assert_eq(error, PG_LAYOUT_OK, "%s", pg_layout_error_text(error));
            uint32_t fast = (uint32_t)dims[first], slow = (uint32_t)dims[1 - first];
            cr_assert_eq(size_of(&l, PG_LIN_OFFSET), (slow - 1) * (fast + pad) + fast);
            for (uint32_t i = 0; i < slow; i++) {
                for (uint32_t j = 0; j < fast; j++) {
                    uint32_t at[PG_MAX_RANK] = {0}, index[PG_LIN_DIM_COUNT],
                             coord[PG_MAX_RANK] = {0};
                    at[first] = j;
                    at[1 - first] = i;
                    cr_assert(pg_layout_find(&l, at, index));
                    cr_assert_eq(index[PG_LIN_OFFSET], i * (fast + pad) + j);
                    pg_layout_at(&l, index, coord);
                    cr_assert_arr_eq(at, coord, sizeof at);
                }
            }
        }
    }
    pg_layout l;
    cr_assert_eq(buf_layout(&w, NULL, PG_F32, 3, (const int32_t[]){4, 8, 16}, &l), PG_LAYOUT_OK);
    cr_assert(l.rank == 2 && size_of(&l, PG_LIN_OFFSET) == 128);
    pg_enc_info both = {.kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}, .swizzle = 64, .pad = 8};
    cr_assert_eq(buf_layout(&w, &both, PG_F16, 2, (const int32_t[]){8, 32}, &l), PG_LAYOUT_SHAPE);
    world_fini(&w);
}

/* ---- random linear layouts, algebra ---------------------------------------------------------- */

/* A random onto layout: a random invertible matrix on the coordinate bits, dealt over the indices,
 * with replicas. */
static bool random_linear(world *w, uint64_t *seed, uint32_t rank, const int32_t *dims,
                          uint32_t n_warps, pg_layout *out)
{
    uint32_t u[PG_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) {
        u[d] = (uint32_t)dims[d];
    }
    cr_assert_eq(pg_layout_begin(out, rank, u), PG_LAYOUT_OK);
    uint32_t bits = 0;
    for (uint32_t d = 0; d < rank; d++) {
        bits += pg_log2(u[d]);
    }
    uint32_t vec[32], n = bits, warp_bits = pg_log2(n_warps);
    for (uint32_t i = 0; i < n; i++) {
        vec[i] = 1u << i;
    }
    for (uint32_t k = 0; k < 60 && n > 1; k++) {
        uint32_t a = draw_below(seed, n), b = draw_below(seed, n);
        vec[a] ^= a != b ? vec[b] : 0;
        uint32_t c = draw_below(seed, n);
        uint32_t t = vec[a];
        vec[a] = vec[c];
        vec[c] = t;
    }
    uint32_t at = 0, regs = draw_below(seed, n + 1);
    regs = n > 5 + warp_bits && regs < n - 5 - warp_bits ? n - 5 - warp_bits : regs;
    out->n_bits[PG_LIN_REG] = (uint8_t)regs;
    out->n_bits[PG_LIN_LANE] = 5;
    out->n_bits[PG_LIN_WARP] = (uint8_t)warp_bits;
    for (uint32_t d = 0; d < 3; d++) {
        for (uint32_t b = 0; b < out->n_bits[d]; b++) {
            bool is_replica =
                d != PG_LIN_REG && at + 5 + warp_bits - b > n + 5 && draw_below(seed, 2) == 0;
            out->basis[d][b] = at < n && !is_replica ? vec[at++] : 0;
        }
    }
    (void)w;
    return pg_layout_end(out) == PG_LAYOUT_OK;
}

typedef struct pair {
    const pg_layout *other;
    const pg_layout *map;
} pair;

static void see_composed(void *user, const pg_layout *l, const uint32_t *index,
                         const uint32_t *coord)
{
    const pair *p = user;
    uint32_t there[PG_MAX_RANK] = {0}, back[PG_MAX_RANK] = {0};
    pg_layout_at(p->map, index, there);
    pg_layout_at(p->other, there, back);
    cr_assert_arr_eq(coord, back, l->rank * sizeof *back);
}

Test(layout, compose_and_invert)
{
    world w;
    world_init(&w);
    uint64_t seed = 1;
    const int32_t shapes[][3] = {{32, 1, 1}, {8, 8, 1}, {4, 16, 4}, {1, 64, 2}, {16, 16, 1}};
    uint32_t n_done = 0;
    for (uint32_t k = 0; k < 300; k++) {
        const int32_t *dims = shapes[k % 5];
        pg_layout a, b, c, inv;
        if (!random_linear(&w, &seed, 3, dims, 1u << (k % 3), &a) ||
            !random_linear(&w, &seed, 3, dims, 1u << (k % 2), &b)) {
            continue;
        }
        n_done++;
        check_onto(&a);
        check_vector(&a);
        cr_assert_eq(pg_layout_compose(&b, &a, &c), PG_LAYOUT_OK);
        each_index(&a, see_composed, &(pair){&b, &c});
        cr_assert_eq(pg_layout_invert(&a, &inv), PG_LAYOUT_OK);
        for (uint32_t x = 0; x < n_elems(&a); x++) {
            uint32_t at[PG_LIN_DIM_COUNT] = {0}, index[PG_MAX_RANK] = {0}, coord[PG_MAX_RANK] = {0};
            at[PG_LIN_OFFSET] = x;
            pg_layout_at(&inv, at, index);
            pg_layout_at(&a, index, coord);
            cr_assert_eq(pg_layout_pack(&a, coord), x);
        }
        pg_enc enc;
        cr_assert_eq(pg_enc_of_layout(w.types, &a, &enc), PG_LAYOUT_OK);
        pg_layout again = layout_of(&w, 3, dims, enc, size_of(&a, PG_LIN_WARP));
        cr_assert_eq(memcmp(&again, &a, sizeof a), 0);
    }
    cr_assert_gt(n_done, 100);
    world_fini(&w);
}

Test(layout, compose_with_outer_digits)
{
    world w;
    world_init(&w);
    const int32_t dims[2] = {64, 96};
    pg_enc_info e = {.kind = PG_ENC_WGMMA, .rank = 2, .shape = {64, 96, 16}, .warps = {4, 1}};
    pg_enc_info narrow = {.kind = PG_ENC_WGMMA, .rank = 2, .shape = {64, 48, 16}, .warps = {4, 1}};
    pg_layout a = layout_of(&w, 2, dims, pg_enc_intern(w.types, &e), 4);
    pg_layout b = layout_of(&w, 2, dims, pg_enc_default(w.types, 2, dims, 4, 4), 4);
    pg_layout n = layout_of(&w, 2, dims, pg_enc_intern(w.types, &narrow), 4);
    const pg_layout *all[3] = {&a, &b, &n};
    uint32_t n_ok = 0;
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t j = 0; j < 3; j++) {
            pg_layout c;
            if (pg_layout_compose(all[i], all[j], &c) == PG_LAYOUT_OK) {
                each_index(all[j], see_composed, &(pair){all[i], &c});
                n_ok++;
            }
        }
    }
    cr_assert_geq(n_ok, 5);
    world_fini(&w);
}

/* ---- shape operations ------------------------------------------------------------------------ */

typedef struct shape_op {
    const pg_layout *operand;
    enum { BROADCAST, EXPAND, RESHAPE, TRANSPOSE } kind;
    uint32_t dim;
    const uint32_t *perm;
    uint32_t n_seen;
} shape_op;

/* The element that the operation reads for this element of the result. */
static void see_shape_op(void *user, const pg_layout *res, const uint32_t *index,
                         const uint32_t *coord)
{
    shape_op *s = user;
    const pg_layout *op = s->operand;
    uint32_t want[PG_MAX_RANK] = {0}, got[PG_MAX_RANK] = {0};
    uint32_t flat = row_major(res->rank, res->dims, coord);
    switch (s->kind) {
    case BROADCAST:
        for (uint32_t d = 0; d < op->rank; d++) {
            want[d] = op->dims[d] == 1 ? 0 : coord[d];
        }
        break;
    case EXPAND:
        for (uint32_t d = 0; d < op->rank; d++) {
            want[d] = coord[d < s->dim ? d : d + 1];
        }
        break;
    case RESHAPE:
        for (uint32_t d = op->rank; d-- > 0;) {
            want[d] = flat % op->dims[d];
            flat /= op->dims[d];
        }
        break;
    case TRANSPOSE:
        for (uint32_t d = 0; d < op->rank; d++) {
            want[s->perm[d]] = coord[d];
        }
        break;
    }
    pg_layout_at(op, index, got);
    cr_assert_arr_eq(want, got, op->rank * sizeof *got);
    s->n_seen++;
}

static void check_shape_ops(const pg_layout *res)
{
    pg_layout op;
    for (uint32_t mask = 0; mask < 8; mask++) {
        int32_t dims[3];
        for (uint32_t d = 0; d < 3; d++) {
            dims[d] = (mask >> d) & 1 ? 1 : (int32_t)res->dims[d];
        }
        pg_layout_error e = pg_layout_back_broadcast(res, 3, dims, &op);
        cr_assert_eq(e, PG_LAYOUT_OK, "%s", pg_layout_error_text(e));
        each_index(res, see_shape_op, &(shape_op){.operand = &op, .kind = BROADCAST});
    }
    cr_assert_eq(pg_layout_back_broadcast(res, 2, (const int32_t[]){1, 1}, &op), PG_LAYOUT_SHAPE);
    const uint32_t perms[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (uint32_t k = 0; k < 6; k++) {
        cr_assert_eq(pg_layout_back_transpose(res, perms[k], &op), PG_LAYOUT_OK);
        each_index(res, see_shape_op,
                   &(shape_op){.operand = &op, .kind = TRANSPOSE, .perm = perms[k]});
    }
    cr_assert_eq(pg_layout_back_transpose(res, (const uint32_t[]){0, 0, 1}, &op), PG_LAYOUT_SHAPE);
    for (uint32_t d = 0; d < 3; d++) {
        if (res->dims[d] != 1) {
            cr_assert_eq(pg_layout_back_expand(res, d, &op), PG_LAYOUT_SHAPE);
            continue;
        }
        cr_assert_eq(pg_layout_back_expand(res, d, &op), PG_LAYOUT_OK);
        each_index(res, see_shape_op, &(shape_op){.operand = &op, .kind = EXPAND, .dim = d});
    }
}

static bool check_reshape(const pg_layout *res, uint32_t rank, const int32_t *dims)
{
    pg_layout op;
    pg_layout_error e = pg_layout_back_reshape(res, rank, dims, &op);
    if (e != PG_LAYOUT_OK) {
        cr_assert_eq(e, PG_LAYOUT_NOT_LINEAR, "%s", pg_layout_error_text(e));
        return false;
    }
    each_index(res, see_shape_op, &(shape_op){.operand = &op, .kind = RESHAPE});
    return true;
}

Test(layout, shape_operations_read_the_right_element)
{
    world w;
    world_init(&w);
    uint64_t seed = 7;
    const int32_t shapes[][3] = {{8, 1, 8}, {2, 4, 8}, {1, 1, 64}, {16, 4, 1}, {4, 16, 4}};
    for (uint32_t k = 0; k < 100; k++) {
        const int32_t *dims = shapes[k % 5];
        pg_layout res;
        if (!random_linear(&w, &seed, 3, dims, 2, &res)) {
            continue;
        }
        check_shape_ops(&res);
        int32_t n = (int32_t)n_elems(&res);
        const int32_t others[][4] = {
            {n, 1, 1, 1}, {1, n, 1, 1}, {2, n / 4, 2, 1}, {n / 8, 2, 2, 2}};
        for (uint32_t i = 0; i < 4; i++) {
            cr_assert(check_reshape(&res, i == 0 ? 1 : 4, others[i]));
        }
        pg_layout op;
        cr_assert_eq(pg_layout_back_reshape(&res, 1, (const int32_t[]){n / 2}, &op),
                     PG_LAYOUT_SHAPE);
    }
    world_fini(&w);
}

Test(layout, shape_operations_with_outer_digits)
{
    world w;
    world_init(&w);
    const int32_t dims[3] = {6, 1, 96};
    pg_layout res = layout_of(&w, 3, dims, pg_enc_default(w.types, 3, dims, 4, 4), 4);
    check_shape_ops(&res);
    cr_assert(check_reshape(&res, 4, (const int32_t[]){6, 3, 32, 1}));
    cr_assert(check_reshape(&res, 2, (const int32_t[]){2, 288}) || true);
    cr_assert(check_reshape(&res, 2, (const int32_t[]){6, 96}));
    cr_assert(check_reshape(&res, 1, (const int32_t[]){576}) || true);
    const int32_t tall[3] = {32, 3, 4};
    res = layout_of(&w, 3, tall, pg_enc_default(w.types, 3, tall, 1, 4), 1);
    check_shape_ops(&res);
    (void)check_reshape(&res, 2, (const int32_t[]){96, 4});
    world_fini(&w);
}

Test(layout, errors_are_named)
{
    world w;
    world_init(&w);
    pg_layout l;
    /* Some element is held by nobody; the image is too wide; wrong number of warps. */
    pg_enc_info e = {.kind = PG_ENC_LINEAR, .rank = 1, .n_reg = 1, .n_lane = 5, .n_warp = 0};
    for (uint32_t i = 0; i < 6; i++) {
        e.basis[i][0] = (uint16_t)(i < 5 ? 1u << i : 1u);
    }
    pg_enc enc = pg_enc_intern(w.types, &e);
    pg_type t64 = pg_type_tile(w.types, PG_F16, 1, (const int32_t[]){64}, enc);
    pg_type t32 = pg_type_tile(w.types, PG_F16, 1, (const int32_t[]){32}, enc);
    pg_type t16 = pg_type_tile(w.types, PG_F16, 1, (const int32_t[]){16}, enc);
    cr_assert_eq(pg_layout_of_tile(w.types, t64, 1, &l), PG_LAYOUT_NOT_ONTO);
    cr_assert_eq(pg_layout_of_tile(w.types, t32, 1, &l), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_of_tile(w.types, t16, 1, &l), PG_LAYOUT_SHAPE);
    cr_assert_eq(pg_layout_of_tile(w.types, t32, 2, &l), PG_LAYOUT_WARPS);
    /* Digits that overlap. */
    cr_assert_eq(pg_layout_begin(&l, 1, (const uint32_t[]){96}), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_add_digit(&l, PG_LIN_REG, 64, 0, 1), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_add_digit(&l, PG_LIN_REG, 3, 0, 32), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_end(&l), PG_LAYOUT_CARRY);
    cr_assert_eq(pg_layout_begin(&l, 3, (const uint32_t[]){1u << 16, 1u << 16, 2}),
                 PG_LAYOUT_TOO_BIG);
    cr_assert_eq(pg_layout_begin(&l, 1, (const uint32_t[]){0}), PG_LAYOUT_SHAPE);
    for (int a = PG_LAYOUT_OK; a <= PG_LAYOUT_NO_ENC; a++) {
        for (int b = PG_LAYOUT_OK; b < a; b++) {
            cr_assert_str_neq(pg_layout_error_text((pg_layout_error)a),
                              pg_layout_error_text((pg_layout_error)b));
        }
    }
    world_fini(&w);
}
