#include "layout_world.h"

#include "ir/gf2.h"
#include "tests/draw.h"

void world_init(world *w)
{
    pg_arena_init(&w->arena, pg_alloc_default());
    w->types = pg_types_new(&w->arena);
    w->state = 1;
}

void world_fini(world *w)
{
    pg_arena_fini(&w->arena);
}

uint32_t world_random(world *w, uint32_t below)
{
    return draw_below(&w->state, below);
}

pg_layout layout_of(world *w, pg_elem elem, const int32_t *dims, uint32_t n_warps, pg_enc_info e)
{
    pg_layout l;
    pg_type t = pg_type_tile(w->types, elem, e.rank, dims, pg_enc_intern(w->types, &e));
    pg_layout_error error = pg_layout_of_tile(w->types, t, n_warps, &l);
    cr_assert_eq(error, PG_LAYOUT_OK, "kind %u: %s", e.kind, pg_layout_error_text(error));
    return l;
}

/* 64x32: eleven bits. Replicas are lanes. */
pg_layout random_layout(world *w, uint32_t n_reg, uint32_t n_warp, uint32_t n_replica)
{
    pg_layout l;
    const uint32_t dims[2] = {64, 32};
    const uint32_t n_bits[3] = {n_reg, 5, n_warp};
    cr_assert_eq(pg_layout_begin(&l, 2, dims), PG_LAYOUT_OK);
    cr_assert_eq(n_reg + 5 + n_warp, 11 + n_replica);
    pg_gf2 space = {0};
    for (uint32_t d = 0; d < 3; d++) {
        for (uint32_t b = 0; b < n_bits[d]; b++) {
            uint32_t v = 0;
            bool is_replica = d == PG_LIN_LANE && b < n_replica;
            while (!is_replica && !pg_gf2_add(&space, v)) {
                v = world_random(w, 1u << 11);
            }
            l.basis[d][l.n_bits[d]++] = v;
        }
    }
    cr_assert_eq(pg_layout_end(&l), PG_LAYOUT_OK);
    return l;
}

static void add(layout_set *s, const char *name, pg_layout l)
{
    s->name[s->n] = name;
    s->l[s->n++] = l;
}

/* An encoding of kind blocked and rank 2. */
typedef struct blocked_row {
    const char *name;
    uint8_t order[2], regs[2], lanes[2], warps[2];
} blocked_row;

static void add_blocked(world *w, layout_set *s, pg_elem elem, const int32_t *dims,
                        const blocked_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const blocked_row *row = &rows[i];
        pg_enc_info e = {.kind = PG_ENC_BLOCKED, .rank = 2};
        for (uint32_t d = 0; d < 2; d++) {
            e.order[d] = row->order[d];
            e.regs[d] = row->regs[d];
            e.lanes[d] = row->lanes[d];
            e.warps[d] = row->warps[d];
        }
        add(s, row->name, layout_of(w, elem, dims, 4, e));
    }
}

void register_layouts(world *w, uint32_t bits, layout_set *out)
{
    const int32_t dims[2] = {64, 32};
    const pg_elem elem = bits == 8 ? PG_E4M3 : bits == 16 ? PG_F16 : PG_F32;
    const uint16_t k = (uint16_t)(256 / bits);
    static const blocked_row rows[] = {
        {"wide", {1, 0}, {1, 8}, {8, 4}, {4, 1}},
        {"columns", {0, 1}, {8, 1}, {8, 4}, {1, 4}},
        {"thin", {1, 0}, {1, 1}, {1, 32}, {4, 1}},
        {"shared", {1, 0}, {1, 4}, {4, 8}, {1, 4}},
    };
    pg_enc_info wgmma = {.kind = PG_ENC_WGMMA, .rank = 2, .shape = {64, 16, k}, .warps = {4, 1}};
    pg_enc_info mma = {.kind = PG_ENC_MMA, .rank = 2, .shape = {16, 8, k}, .warps = {2, 2}};
    pg_enc_info tall = {.kind = PG_ENC_MMA, .rank = 2, .shape = {16, 8, k}, .warps = {4, 1}};
    pg_enc_info a = {
        .kind = PG_ENC_DOT, .rank = 2, .operand = 0, .of = pg_enc_intern(w->types, &mma)};
    pg_enc_info b = a, aw = a, at = a;
    b.operand = 1;
    aw.of = pg_enc_intern(w->types, &wgmma);
    at.of = pg_enc_intern(w->types, &tall);
    pg_enc_info cube = {.kind = PG_ENC_BLOCKED,
                        .rank = 3,
                        .order = {2, 1, 0},
                        .regs = {1, 2, 4},
                        .lanes = {8, 2, 2},
                        .warps = {2, 2, 1}};
    pg_enc_info slice = {
        .kind = PG_ENC_SLICE, .rank = 2, .dim = 1, .of = pg_enc_intern(w->types, &cube)};
    out->n = 0;
    add_blocked(w, out, elem, dims, rows, PG_COUNT_OF(rows));
    add(out, "wgmma", layout_of(w, elem, dims, 4, wgmma));
    add(out, "mma", layout_of(w, elem, dims, 4, mma));
    add(out, "tall", layout_of(w, elem, dims, 4, tall));
    add(out, "dot a", layout_of(w, elem, dims, 4, a));
    add(out, "dot b", layout_of(w, elem, dims, 4, b));
    add(out, "dot a of tall", layout_of(w, elem, dims, 4, at));
    add(out, "dot a of wgmma", layout_of(w, elem, dims, 4, aw));
    add(out, "slice", layout_of(w, elem, dims, 4, slice));
    add(out, "random", random_layout(w, 4, 2, 0));
    add(out, "random too", random_layout(w, 4, 2, 0));
    add(out, "replicas", random_layout(w, 6, 2, 2));
}

void odd_layouts(world *w, layout_set *out)
{
    const int32_t dims[2] = {64, 96};
    static const blocked_row rows[] = {
        {"wide", {1, 0}, {1, 8}, {8, 4}, {4, 1}},
        {"columns", {0, 1}, {2, 1}, {32, 1}, {1, 4}},
    };
    pg_enc_info wgmma = {.kind = PG_ENC_WGMMA, .rank = 2, .shape = {64, 96, 16}, .warps = {4, 1}};
    pg_enc_info narrow = {.kind = PG_ENC_WGMMA, .rank = 2, .shape = {64, 48, 16}, .warps = {4, 1}};
    pg_enc_info mma = {.kind = PG_ENC_MMA, .rank = 2, .shape = {16, 8, 16}, .warps = {2, 2}};
    pg_enc_info a = {
        .kind = PG_ENC_DOT, .rank = 2, .operand = 0, .of = pg_enc_intern(w->types, &mma)};
    out->n = 0;
    add_blocked(w, out, PG_F16, dims, rows, PG_COUNT_OF(rows));
    add(out, "wgmma 96", layout_of(w, PG_F16, dims, 4, wgmma));
    add(out, "wgmma 48", layout_of(w, PG_F16, dims, 4, narrow));
    add(out, "mma", layout_of(w, PG_F16, dims, 4, mma));
    add(out, "dot a", layout_of(w, PG_F16, dims, 4, a));
}
