/* The algebra of layouts against brute force over every index. */
#include "ir/layout_access.h"

#include "layout_world.h"

enum { DIMS = PG_LIN_DIM_COUNT };

/* Calls see for every index of a layout. */
typedef void (*see_fn)(void *user, const pg_layout *l, const uint32_t *index);
static void each(const pg_layout *l, see_fn see, void *user)
{
    uint32_t size[DIMS], index[DIMS] = {0};
    for (uint32_t d = 0; d < DIMS; d++) {
        size[d] = pg_layout_size(l, (pg_lin_dim)d);
    }
    for (;;) {
        see(user, l, index);
        uint32_t d = 0;
        while (d < DIMS && ++index[d] == size[d]) {
            index[d++] = 0;
        }
        if (d == DIMS) {
            return;
        }
    }
}

/* A layout of any kind: some digits over registers, lanes and warps. Extents up to 3 x 2^n. */
static bool random_digits(world *w, uint32_t max_digits, pg_layout *out)
{
    struct {
        pg_lin_dim in;
        uint32_t extent, dim, stride;
    } made[8];
    static const pg_lin_dim ins[] = {PG_LIN_REG, PG_LIN_LANE, PG_LIN_WARP, PG_LIN_OFFSET};
    uint32_t dims[2] = {1, 1}, n = world_random(w, max_digits + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = world_random(w, 2), extent = 1 + world_random(w, 4);
        made[i].in = ins[world_random(w, 3)];
        made[i].extent = extent;
        made[i].dim = d;
        made[i].stride = world_random(w, 5) == 0 ? 0 : dims[d];
        dims[d] *= made[i].stride == 0 ? 1 : extent;
    }
    pg_layout_error e = pg_layout_begin(out, 2, dims);
    for (uint32_t i = 0; i < n && e == PG_LAYOUT_OK; i++) {
        e = pg_layout_add_digit(out, made[i].in, made[i].extent, made[i].dim, made[i].stride);
    }
    if (e == PG_LAYOUT_OK && out->n_outer == 0) { /* some XOR */
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t a = world_random(w, 3), b = world_random(w, 3);
            if (out->n_bits[a] > 1 && out->n_bits[b] > 1) {
                out->basis[a][0] ^= a == b ? out->basis[b][1] : out->basis[b][0];
            }
        }
    }
    return e == PG_LAYOUT_OK && pg_layout_end(out) == PG_LAYOUT_OK;
}

/* ---- product and division ---- */

typedef struct pair {
    const pg_layout *tile, *grid;
} pair;

static void see_product(void *user, const pg_layout *l, const uint32_t *index)
{
    const pair *p = user;
    uint32_t a[DIMS], b[DIMS], x[PG_MAX_RANK] = {0}, y[PG_MAX_RANK] = {0}, got[PG_MAX_RANK] = {0};
    for (uint32_t d = 0; d < DIMS; d++) {
        uint32_t size = pg_layout_size(p->tile, (pg_lin_dim)d);
        a[d] = index[d] % size;
        b[d] = index[d] / size;
    }
    pg_layout_at(p->tile, a, x);
    pg_layout_at(p->grid, b, y);
    pg_layout_at(l, index, got);
    for (uint32_t d = 0; d < l->rank; d++) {
        cr_assert_eq(got[d], x[d] + p->tile->dims[d] * y[d]);
    }
}

Test(algebra, product_and_division)
{
    world w;
    world_init(&w);
    uint32_t n_products = 0, n_outer = 0, n_refused = 0;
    for (uint32_t round = 0; round < 6000; round++) {
        pg_layout tile, grid, product, quotient;
        if (!random_digits(&w, 4, &tile) || !random_digits(&w, 3, &grid)) {
            continue;
        }
        pg_layout_error e = pg_layout_product(&tile, &grid, &product);
        if (e != PG_LAYOUT_OK) {
            cr_assert(e == PG_LAYOUT_NOT_LINEAR || e == PG_LAYOUT_TOO_BIG, "%s",
                      pg_layout_error_text(e));
            n_refused++;
            continue;
        }
        pair p = {&tile, &grid};
        each(&product, see_product, &p);
        n_products++;
        n_outer += product.n_outer != 0;
        cr_assert_eq(pg_layout_divide(&product, &tile, &quotient), PG_LAYOUT_OK);
        p.grid = &quotient;
        each(&product, see_product, &p);
    }
    cr_assert_gt(n_products, 2000);
    cr_assert_gt(n_outer, 200);
    cr_assert_lt(n_refused, n_products / 3);
    world_fini(&w);
}

/* A quotient is right whenever there is one, for pairs that do not divide by construction. */
Test(algebra, division_is_right_or_refused)
{
    world w;
    world_init(&w);
    uint32_t n_divided = 0, n_refused = 0;
    for (uint32_t round = 0; round < 30000; round++) {
        pg_layout l, tile, quotient;
        if (!random_digits(&w, 5, &l) || !random_digits(&w, 2, &tile)) {
            continue;
        }
        pg_layout_error e = pg_layout_divide(&l, &tile, &quotient);
        if (e != PG_LAYOUT_OK) {
            n_refused++;
            continue;
        }
        pair p = {&tile, &quotient};
        each(&l, see_product, &p);
        n_divided++;
    }
    cr_assert_gt(n_divided, 500);
    cr_assert_gt(n_refused, 500);
    world_fini(&w);
}

Test(algebra, a_tile_is_found_in_any_registers)
{
    world w;
    world_init(&w);
    layout_set s;
    register_layouts(&w, 16, &s);
    /* The 8x8 matrix of ldmatrix: pairs along a row, four lanes along it, eight rows. */
    pg_layout tile;
    const uint32_t dims[2] = {8, 8};
    cr_assert_eq(pg_layout_begin(&tile, 2, dims), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_add_digit(&tile, PG_LIN_REG, 2, 1, 1), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_add_digit(&tile, PG_LIN_LANE, 4, 1, 2), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_add_digit(&tile, PG_LIN_LANE, 8, 0, 1), PG_LAYOUT_OK);
    uint8_t bits[16];
    for (uint32_t i = 0; i < s.n; i++) {
        bool is_fragment = i == 4 || i == 5 || i == 6 || i == 7 || i == 9 || i == 10;
        pg_layout_error e = pg_layout_find_tile(&s.l[i], &tile, bits);
        cr_assert_eq(e == PG_LAYOUT_OK, is_fragment, "%s", s.name[i]);
    }
    pg_layout turned = s.l[5];
    uint32_t first = turned.basis[PG_LIN_REG][0];
    turned.basis[PG_LIN_REG][0] = turned.basis[PG_LIN_REG][3];
    turned.basis[PG_LIN_REG][3] = first;
    cr_assert_eq(pg_layout_find_tile(&turned, &tile, bits), PG_LAYOUT_OK);
    cr_assert_eq(bits[0], 3);
    world_fini(&w);
}

/* ---- inverses ---- */

static void see_inverse(void *user, const pg_layout *l, const uint32_t *index)
{
    const pg_layout *inverse = user;
    uint32_t coord[PG_MAX_RANK] = {0}, again[PG_MAX_RANK] = {0}, back[PG_MAX_RANK] = {0};
    pg_layout_at(l, index, coord);
    uint32_t in[DIMS] = {0};
    in[PG_LIN_OFFSET] = pg_layout_pack(l, coord);
    pg_layout_at(inverse, in, back);
    pg_layout_at(l, back, again);
    cr_assert_arr_eq(coord, again, l->rank * sizeof *coord);
}

static void see_left(void *user, const pg_layout *l, const uint32_t *index)
{
    const pg_layout *inverse = user;
    uint32_t coord[PG_MAX_RANK] = {0}, back[PG_MAX_RANK] = {0}, in[DIMS] = {0};
    pg_layout_at(l, index, coord);
    in[PG_LIN_OFFSET] = pg_layout_pack(l, coord);
    pg_layout_at(inverse, in, back);
    cr_assert_arr_eq(index, back, sizeof back);
}

Test(algebra, inverses)
{
    world w;
    world_init(&w);
    uint32_t n = 0, n_outer = 0, n_left = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        pg_layout l, inverse;
        if (!random_digits(&w, 5, &l)) {
            continue;
        }
        if (pg_layout_invert(&l, &inverse) == PG_LAYOUT_OK) {
            each(&l, see_inverse, &inverse);
            n++;
            n_outer += l.n_outer != 0;
        } else {
            cr_assert_neq(l.n_outer, 0);
        }
        pg_layout_error e = pg_layout_invert_left(&l, &inverse);
        if (e == PG_LAYOUT_OK) {
            each(&l, see_left, &inverse);
            n_left++;
        }
    }
    cr_assert_gt(n, 1000);
    cr_assert_gt(n_outer, 100);
    cr_assert_gt(n_left, 300);
    layout_set s;
    pg_layout inverse;
    register_layouts(&w, 16, &s);
    cr_assert_eq(pg_layout_invert_left(&s.l[7], &inverse), PG_LAYOUT_NOT_ONE_TO_ONE);
    cr_assert_eq(pg_layout_invert_left(&s.l[5], &inverse), PG_LAYOUT_OK);
    each(&s.l[5], see_left, &inverse);
    world_fini(&w);
}

/* ---- parts ---- */

typedef struct part {
    const pg_layout *whole;
    const uint32_t *kept;
    uint32_t dim, extent, at;
} part;

static void see_part(void *user, const pg_layout *l, const uint32_t *index)
{
    const part *p = user;
    uint32_t first[DIMS], coord[PG_MAX_RANK] = {0}, got[PG_MAX_RANK] = {0}, in[DIMS];
    pg_layout_at(l, index, coord);
    cr_assert_lt(coord[p->dim], p->extent);
    if (p->whole->n_outer != 0) {
        return; /* registers of outer digits are not in kept */
    }
    uint32_t start[PG_MAX_RANK] = {0};
    start[p->dim] = p->at * p->extent;
    cr_assert(pg_layout_find(p->whole, start, first));
    cr_assert_eq(first[PG_LIN_LANE], 0);
    memcpy(in, index, sizeof in);
    in[PG_LIN_REG] = first[PG_LIN_REG];
    for (uint32_t b = 0; b < 16; b++) {
        in[PG_LIN_REG] ^= (index[PG_LIN_REG] >> b & 1) != 0 ? p->kept[b] : 0;
    }
    pg_layout_at(p->whole, in, got);
    coord[p->dim] += start[p->dim];
    cr_assert_arr_eq(coord, got, l->rank * sizeof *coord);
}

Test(algebra, parts)
{
    world w;
    world_init(&w);
    uint32_t n = 0, n_split = 0;
    for (uint32_t round = 0; round < 4000; round++) {
        pg_layout l, out;
        uint32_t kept[16], dim = world_random(&w, 2), extent = 1u << world_random(&w, 3);
        if (!random_digits(&w, 5, &l) || l.dims[dim] % extent != 0) {
            continue;
        }
        pg_layout_error e = pg_layout_restrict(&l, dim, extent, &out, kept);
        if (e != PG_LAYOUT_OK) {
            cr_assert(e == PG_LAYOUT_SPLIT || e == PG_LAYOUT_TOO_BIG || e == PG_LAYOUT_NOT_LINEAR ||
                          e == PG_LAYOUT_NOT_ONTO || e == PG_LAYOUT_CARRY,
                      "%s", pg_layout_error_text(e));
            n_split++;
            continue;
        }
        n++;
        for (uint32_t at = 0; at < l.dims[dim] / extent; at++) {
            part p = {&l, kept, dim, extent, at};
            each(&out, see_part, &p);
        }
    }
    cr_assert_gt(n, 500);
    cr_assert_gt(n_split, 100);
    /* One step of k of an operand: its registers, in all threads. */
    layout_set s;
    pg_layout out;
    uint32_t kept[16];
    register_layouts(&w, 16, &s);
    cr_assert_eq(pg_layout_restrict(&s.l[7], 1, 16, &out, kept), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_size(&out, PG_LIN_REG), 16);
    cr_assert_eq(pg_layout_restrict(&s.l[7], 1, 4, &out, kept), PG_LAYOUT_SPLIT);
    world_fini(&w);
}

/* ---- fragments against their closed forms (facts 5) ---- */

static void expect(const pg_layout *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t row,
                   uint32_t column)
{
    const uint32_t index[DIMS] = {reg, lane, warp, 0, 0};
    uint32_t got[PG_MAX_RANK] = {0};
    pg_layout_at(l, index, got);
    cr_assert_eq(got[0], row, "reg %u lane %u warp %u", reg, lane, warp);
    cr_assert_eq(got[1], column, "reg %u lane %u warp %u", reg, lane, warp);
}

Test(algebra, mma_fragments)
{
    world w;
    world_init(&w);
    static const struct {
        pg_elem elem;
        uint16_t bits, k;
    } cases[] = {{PG_F16, 16, 16}, {PG_BF16, 16, 8}, {PG_TF32, 32, 8},
                 {PG_F32, 32, 4},  {PG_I8, 8, 32},   {PG_E4M3, 8, 16}};
    for (uint32_t c = 0; c < PG_COUNT_OF(cases); c++) {
        uint32_t k = cases[c].k;
        pg_enc_info mma = {
            .kind = PG_ENC_MMA, .rank = 2, .shape = {16, 8, (uint16_t)k}, .warps = {2, 4}};
        pg_enc_info a = {.kind = PG_ENC_DOT, .rank = 2, .of = pg_enc_intern(w.types, &mma)};
        pg_enc_info b = a;
        b.operand = 1;
        const int32_t c_dims[2] = {64, 64}, a_dims[2] = {64, (int32_t)(2 * k)};
        const int32_t b_dims[2] = {(int32_t)(2 * k), 64};
        pg_layout lc = layout_of(&w, PG_F32, c_dims, 8, mma);
        pg_layout la = layout_of(&w, cases[c].elem, a_dims, 8, a);
        pg_layout lb = layout_of(&w, cases[c].elem, b_dims, 8, b);
        uint32_t n_a = 16 * k / 32, n_b = 8 * k / 32;
        for (uint32_t t = 0; t < 256; t++) {
            uint32_t lane = t % 32, warp = t / 32, g = lane / 4, q = lane % 4;
            uint32_t row = 16 * (warp / 4), column = 8 * (warp % 4);
            for (uint32_t i = 0; i < 16;
                 i++) { /* repeats: two along columns, then two along rows */
                expect(&lc, i, lane, warp, row + g + 8 * ((i / 2) % 2) + 32 * (i / 8),
                       column + 2 * q + i % 2 + 32 * (i / 4 % 2));
            }
            for (uint32_t r = 0; r < 4 * n_a; r++) {
                uint32_t i = r % n_a, at = 0, in_k = 0;
                switch (cases[c].bits) {
                case 16:
                    at = 8 * ((i >> 1) & 1);
                    in_k = 2 * q + (i & 1) + 8 * (i >> 2);
                    break;
                case 32:
                    at = 8 * (i & 1);
                    in_k = q + 4 * (i >> 1);
                    break;
                default:
                    at = 8 * ((i >> 2) & 1);
                    in_k = 4 * q + (i & 3) + 16 * (i >> 3);
                    break;
                }
                expect(&la, r, lane, warp, row + g + at + 32 * (r / n_a / 2),
                       in_k + k * (r / n_a % 2));
            }
            for (uint32_t r = 0; r < 4 * n_b; r++) {
                uint32_t i = r % n_b;
                uint32_t in_k = cases[c].bits == 16   ? 2 * q + (i & 1) + 8 * (i >> 1)
                                : cases[c].bits == 32 ? q + 4 * i
                                                      : 4 * q + (i & 3) + 16 * (i >> 2);
                expect(&lb, r, lane, warp, in_k + k * (r / n_b % 2),
                       column + g + 32 * (r / n_b / 2));
            }
        }
    }
    world_fini(&w);
}

/* A of wgmma in registers: the mma fragment of each warp's 16 rows (facts 1.2). */
Test(algebra, wgmma_operand_in_registers)
{
    world w;
    world_init(&w);
    pg_enc_info acc = {.kind = PG_ENC_WGMMA, .rank = 2, .shape = {64, 64, 16}, .warps = {4, 2}};
    pg_enc_info a = {.kind = PG_ENC_DOT, .rank = 2, .of = pg_enc_intern(w.types, &acc)};
    const int32_t dims[2] = {64, 64};
    pg_layout l = layout_of(&w, PG_F16, dims, 8, a);
    for (uint32_t t = 0; t < 256; t++) {
        uint32_t lane = t % 32, warp = t / 32;
        for (uint32_t r = 0; r < 32; r++) {
            uint32_t e = r % 8;
            expect(&l, r, lane, warp, 16 * (warp % 4) + lane / 4 + 8 * ((e / 2) % 2),
                   2 * (lane % 4) + e % 2 + 8 * (e / 4) + 16 * (r / 8));
        }
    }
    world_fini(&w);
}

/* What a reduction over a dimension leaves: each thread's rows, once. */
Test(algebra, slices)
{
    world w;
    world_init(&w);
    pg_enc_info acc = {.kind = PG_ENC_WGMMA, .rank = 2, .shape = {64, 64, 16}, .warps = {4, 1}};
    pg_enc_info rows = {
        .kind = PG_ENC_SLICE, .rank = 1, .dim = 1, .of = pg_enc_intern(w.types, &acc)};
    pg_enc_info columns = rows;
    columns.dim = 0;
    const int32_t n_rows[1] = {128}, n_columns[1] = {128};
    pg_layout l = layout_of(&w, PG_F32, n_rows, 4, rows);
    cr_assert_eq(pg_layout_size(&l, PG_LIN_REG), 4);
    for (uint32_t t = 0; t < 128; t++) {
        for (uint32_t r = 0; r < 4; r++) {
            const uint32_t index[DIMS] = {r, t % 32, t / 32, 0, 0};
            uint32_t got[PG_MAX_RANK] = {0};
            pg_layout_at(&l, index, got);
            cr_assert_eq(got[0], 16 * (t / 32) + t % 32 / 4 + 8 * (r % 2) + 64 * (r / 2));
        }
    }
    l = layout_of(&w, PG_F32, n_columns, 4, columns);
    cr_assert_eq(pg_layout_size(&l, PG_LIN_REG), 32);
    cr_assert_eq(pg_layout_free_bits(&l, PG_LIN_LANE), 28);
    world_fini(&w);
}

/* ---- accesses and banks ---- */

static pg_layout smem(world *w, const int32_t *dims, pg_elem elem, pg_enc_info e)
{
    pg_layout l;
    pg_type_info t = {.kind = PG_TY_BUF,
                      .space = PG_SPACE_SMEM,
                      .elem = (uint8_t)elem,
                      .rank = 2,
                      .dims = {dims[0], dims[1]},
                      .enc = pg_enc_intern(w->types, &e)};
    cr_assert_eq(pg_layout_of_buf(w->types, pg_type_intern(w->types, &t), &l), PG_LAYOUT_OK);
    return l;
}

static uint32_t offset_at(const pg_layout *regs, const pg_layout *mem, const uint32_t *index)
{
    uint32_t coord[PG_MAX_RANK] = {0}, found[DIMS];
    pg_layout_at(regs, index, coord);
    cr_assert(pg_layout_find(mem, coord, found));
    return found[PG_LIN_OFFSET];
}

typedef struct access_case {
    const pg_layout *mem;
    const pg_bank_access *access;
} access_case;

static void see_access(void *user, const pg_layout *l, const uint32_t *index)
{
    const access_case *c = user;
    uint32_t n = c->access->n_log2, in[DIMS], mask = 0, i = 0;
    for (uint32_t b = 0; b < n; b++) {
        mask |= 1u << c->access->reg_bits[b];
        i |= (index[PG_LIN_REG] >> c->access->reg_bits[b] & 1) << b;
    }
    memcpy(in, index, sizeof in);
    in[PG_LIN_REG] &= ~mask;
    uint32_t first = offset_at(l, c->mem, in);
    cr_assert_eq(first % (1u << n), 0);
    cr_assert_eq(offset_at(l, c->mem, index), first + i);
}

/* Wavefronts from the definition: bytes of each lane, words, banks. */
static uint32_t brute_wavefronts(const pg_layout *l, const pg_layout *mem, uint32_t bits,
                                 const pg_bank_access *a, uint32_t reg)
{
    uint32_t bytes = (bits << a->n_log2) / 8, lanes = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
    uint32_t total = 0;
    for (uint32_t first = 0; first < 32; first += lanes) {
        uint32_t most = 1;
        for (uint32_t bank = 0; bank < 32; bank++) {
            bool seen[1 << 14] = {false};
            uint32_t n = 0;
            for (uint32_t lane = first; lane < first + lanes; lane++) {
                const uint32_t index[DIMS] = {reg, lane, 0, 0, 0};
                uint32_t at = offset_at(l, mem, index) * (bits / 8);
                for (uint32_t b = at; b < at + bytes; b++) {
                    bool is_here = b / 4 % 32 == bank && !seen[b / 4];
                    seen[b / 4] = seen[b / 4] || is_here;
                    n += is_here;
                }
            }
            most = n > most ? n : most;
        }
        total += most;
    }
    return total;
}

Test(algebra, accesses_and_banks)
{
    world w;
    world_init(&w);
    const int32_t dims[2] = {64, 32};
    static const pg_elem elems[] = {PG_I8, PG_F16, PG_F32};
    uint32_t n_widths[5] = {0}, n_conflicts = 0;
    for (uint32_t e = 0; e < 3; e++) {
        uint32_t bits = 8u << e;
        layout_set s;
        register_layouts(&w, bits, &s);
        pg_enc_info encs[8] = {
            {.kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}},
            {.kind = PG_ENC_SMEM, .rank = 2, .order = {0, 1}},
            {.kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}, .swizzle = bits == 8 ? 32 : 64},
            {.kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}, .swizzle = 128},
            {.kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}, .pad = 1},
            {.kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}, .pad = 4},
            {.kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}, .pad = 8},
            {.kind = PG_ENC_SMEM, .rank = 2, .order = {0, 1}, .pad = 2}};
        encs[2].swizzle = bits == 32 ? 128 : encs[2].swizzle;
        for (uint32_t m = 0; m < 8; m++) {
            pg_layout mem = smem(&w, dims, elems[e], encs[m]);
            for (uint32_t i = 0; i < s.n; i++) {
                pg_bank_access a;
                pg_bank_use banks, counted;
                cr_assert_eq(pg_layout_common_access(&s.l[i], &mem, bits, 16, &a), PG_LAYOUT_OK);
                access_case c = {&mem, &a};
                if ((i + m) % 3 == 0) { /* a third of all, each layout and each memory */
                    each(&s.l[i], see_access, &c);
                }
                n_widths[a.n_log2]++;
                for (;;) {
                    cr_assert_eq(pg_layout_banks(&s.l[i], &mem, bits, &a, &banks), PG_LAYOUT_OK);
                    cr_assert_eq(pg_layout_count_banks(&s.l[i], &mem, bits, &a, &counted),
                                 PG_LAYOUT_OK);
                    cr_assert_eq(banks.n_wavefronts, counted.n_wavefronts, "%s, memory %u",
                                 s.name[i], m);
                    cr_assert_eq(banks.n_phases, counted.n_phases);
                    n_conflicts += banks.n_wavefronts > banks.n_phases;
                    if (mem.n_outer == 0) { /* all accesses are alike */
                        cr_assert_eq(brute_wavefronts(&s.l[i], &mem, bits, &a, 0) *
                                         banks.n_accesses,
                                     banks.n_wavefronts, "%s, memory %u", s.name[i], m);
                    }
                    if (a.n_log2 == 0) {
                        break;
                    }
                    a.n_log2--;
                }
            }
        }
    }
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_gt(n_widths[i], 0);
    }
    cr_assert_gt(n_conflicts, 100);
    world_fini(&w);
}

/* The widest: where twice as many registers would do, the access is as wide. */
Test(algebra, accesses_are_the_widest)
{
    world w;
    world_init(&w);
    const int32_t dims[2] = {64, 32};
    layout_set s;
    register_layouts(&w, 16, &s);
    pg_layout rows =
        smem(&w, dims, PG_F16, (pg_enc_info){.kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}});
    pg_layout padded = smem(
        &w, dims, PG_F16, (pg_enc_info){.kind = PG_ENC_SMEM, .rank = 2, .order = {1, 0}, .pad = 4});
    static const uint8_t want[12] = {3, 0, 0, 2, 1, 1, 1, 1, 0, 1, 1, 2};
    for (uint32_t i = 0; i < 12; i++) {
        pg_bank_access a;
        cr_assert_eq(pg_layout_common_access(&s.l[i], &rows, 16, 16, &a), PG_LAYOUT_OK);
        cr_assert_eq(a.n_log2, want[i], "%s", s.name[i]);
        cr_assert_eq(pg_layout_common_access(&s.l[i], &padded, 16, 16, &a), PG_LAYOUT_OK);
        cr_assert_eq(a.n_log2, want[i] < 2 ? want[i] : 2, "%s", s.name[i]);
        cr_assert_eq(pg_layout_common_access(&s.l[i], &rows, 16, 4, &a), PG_LAYOUT_OK);
        cr_assert_eq(a.n_log2, want[i] < 1 ? want[i] : 1, "%s", s.name[i]);
    }
    world_fini(&w);
}

/* Outer digits of the registers over padded and plain memory. */
Test(algebra, accesses_of_outer_digits)
{
    world w;
    world_init(&w);
    const int32_t dims[2] = {64, 96};
    layout_set s;
    odd_layouts(&w, &s);
    for (uint16_t pad = 0; pad <= 8; pad++) {
        for (uint8_t first = 0; first < 2; first++) {
            pg_layout mem = smem(&w, dims, PG_F16,
                                 (pg_enc_info){.kind = PG_ENC_SMEM,
                                               .rank = 2,
                                               .order = {first, (uint8_t)(1 - first)},
                                               .pad = pad});
            for (uint32_t i = 0; i < s.n; i++) {
                pg_bank_access a;
                cr_assert_eq(pg_layout_common_access(&s.l[i], &mem, 16, 16, &a), PG_LAYOUT_OK);
                access_case c = {&mem, &a};
                each(&s.l[i], see_access, &c);
            }
        }
    }
    world_fini(&w);
}
