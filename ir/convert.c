/* convert.c: the plan of a conversion between register layouts. */
#include "ir/convert.h"

#include <string.h>

#include "ir/layout_algebra.h"

enum { LANE_BITS = 5 };
#define SYNC_COST    20u
#define BARRIER_COST 10u

/* ---- within a thread, and transposed matrices ------------------------------------------------ */

/* The bits of one index of `to` leave an index of `from` as it is: or do not matter to it. */
static bool keeps(const pg_layout *map, const pg_layout *from, pg_lin_dim d)
{
    for (uint32_t b = 0; b < map->n_bits[d]; b++) {
        bool is_free = map->basis[d][b] == 0 && b < from->n_bits[d] && from->basis[d][b] == 0;
        if (!is_free && map->basis[d][b] != 1u << b << map->shift[d]) {
            return false;
        }
    }
    return true;
}

/* All outer digits move an index of the same kind by as much. */
static bool keeps_digits(const pg_layout *map)
{
    for (uint32_t i = 0; i < map->n_outer; i++) {
        const pg_outer_digit *o = &map->outer[i];
        bool is_same =
            o->out_dim == o->in_dim && (o->in_dim == PG_LIN_REG || o->stride == o->in_stride);
        if (!is_same) {
            return false;
        }
    }
    return true;
}

static uint32_t field(const pg_layout *map, uint32_t d)
{
    return (map->dims[d] <= 1 ? 0 : (2u << pg_log2(map->dims[d] - 1)) - 1u) << map->shift[d];
}

static bool is_registers(const pg_layout *map, const pg_layout *from)
{
    for (uint32_t b = 0; b < map->n_bits[PG_LIN_REG]; b++) {
        if ((map->basis[PG_LIN_REG][b] & ~field(map, PG_LIN_REG)) != 0) {
            return false;
        }
    }
    return keeps(map, from, PG_LIN_LANE) && keeps(map, from, PG_LIN_WARP) && keeps_digits(map);
}

/* movmatrix: lane bits 0, 1 come from 3, 4, bits 3, 4 from 0, 1; bit 2 changes places with a
 * register bit. */
static bool is_movmatrix(const pg_layout *map, const pg_layout *from)
{
    if (map->n_outer != 0 || from->n_outer != 0 || map->n_bits[PG_LIN_LANE] != LANE_BITS ||
        !keeps(map, from, PG_LIN_WARP)) {
        return false;
    }
    const uint32_t *lane = map->basis[PG_LIN_LANE], *reg = map->basis[PG_LIN_REG];
    uint32_t at = map->shift[PG_LIN_LANE];
    uint32_t in_reg = lane[2], n_turned = 0;
    bool is_good = lane[0] == 8u << at && lane[1] == 16u << at && lane[3] == 1u << at &&
                   lane[4] == 2u << at && pg_popcount(in_reg) == 1 &&
                   (in_reg & ~field(map, PG_LIN_REG)) == 0;
    for (uint32_t b = 0; b < map->n_bits[PG_LIN_REG]; b++) {
        bool is_turned = reg[b] == 4u << at;
        n_turned += is_turned;
        is_good = is_good && (is_turned ||
                              ((reg[b] & ~field(map, PG_LIN_REG)) == 0 && (reg[b] & in_reg) == 0));
    }
    return is_good && n_turned == 1;
}

uint32_t pg_convert_source_reg(const pg_convert_plan *plan, uint32_t reg)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0}, out[PG_MAX_RANK] = {0};
    index[PG_LIN_REG] = reg;
    pg_layout_at(&plan->map, index, out);
    return out[PG_LIN_REG];
}

/* ---- memory layouts to choose from ----------------------------------------------------------- */

static uint32_t log2_of(uint32_t x)
{
    return x <= 1 ? 0 : pg_log2(x);
}

typedef struct search {
    const pg_layout *side[2]; /* from: stores; to: loads */
    const pg_layout *regs[2]; /* the same, with the registers that an access may join */
    bool may_use_matrix[2];
    uint32_t flags, elem_bits;
    bool has_plan;
    uint32_t n_passed_over; /* since a cheaper one was found */
    pg_convert_plan *plan;
} search;

/* Takes the memory layout if it is cheaper than what was found. */
static void consider(search *s, const pg_layout *mem)
{
    pg_bank_move moves[2];
    for (uint32_t i = 0; i < 2; i++) {
        if (pg_bank_move_choose(s->side[i], mem, s->elem_bits, i == 0, s->flags, &moves[i]) !=
            PG_LAYOUT_OK) {
            return;
        }
    }
    uint32_t cost = pg_bank_move_cost(&moves[0]) + pg_bank_move_cost(&moves[1]);
    const bool is_better = !s->has_plan || cost < s->plan->cost;
    const bool is_equal = !is_better && cost == s->plan->cost;
    if (is_better || (is_equal && s->n_passed_over < s->flags / PG_CONVERT_TIE)) {
        s->n_passed_over = is_better ? 0 : s->n_passed_over + 1;
        s->has_plan = true;
        s->plan->mem = *mem;
        s->plan->store = moves[0];
        s->plan->load = moves[1];
        s->plan->cost = cost;
        s->plan->n_bytes = pg_layout_size(mem, PG_LIN_OFFSET) * (s->elem_bits / 8);
    }
}

/* The rows of a phase of one side, if memory begins with the vectors given. */
static pg_phase_rows rows_for(const search *s, uint32_t side, const uint32_t *vec, uint32_t n)
{
    const pg_layout *l = s->side[side];
    pg_phase_rows rows = {0};
    for (pg_move_kind k = PG_MOVE_MATRIX; s->may_use_matrix[side] && k <= PG_MOVE_MATRIX_TRANS;
         k++) {
        uint32_t want[4] = {0};
        pg_bank_access access;
        uint32_t n_want = pg_matrix_vecs(l, k, s->elem_bits, want);
        if (n_want != 0 && n_want == n && memcmp(want, vec, n * sizeof *vec) == 0 &&
            pg_matrix_access(l, k, s->elem_bits, vec, &access) &&
            pg_matrix_rows(l, k, &access, &rows)) {
            return rows;
        }
    }
    uint32_t width = 0;
    for (bool goes_on = true; width < n && goes_on; width += goes_on) {
        goes_on = false;
        for (uint32_t b = 0; b < s->regs[side]->n_bits[PG_LIN_REG]; b++) {
            goes_on = goes_on || s->regs[side]->basis[PG_LIN_REG][b] == vec[width];
        }
    }
    rows.n = log2_of(pg_phase_lanes((s->elem_bits << width) / 8));
    memcpy(rows.vec, l->basis[PG_LIN_LANE], rows.n * sizeof rows.vec[0]);
    return rows;
}

/* Takes vectors into the lowest offset bits, each once, up to `most`. */
static void take(uint32_t *vec, uint32_t *n, uint32_t most, const pg_layout *l, pg_lin_dim d,
                 const pg_layout *in_regs_of)
{
    for (uint32_t b = 0; b < l->n_bits[d] && *n < most; b++) {
        uint32_t v = l->basis[d][b];
        bool is_wanted = v != 0 && in_regs_of == NULL;
        for (uint32_t i = 0; in_regs_of != NULL && i < in_regs_of->n_bits[PG_LIN_REG]; i++) {
            is_wanted = is_wanted || (v != 0 && in_regs_of->basis[PG_LIN_REG][i] == v);
        }
        for (uint32_t i = 0; i < *n; i++) {
            is_wanted = is_wanted && vec[i] != v;
        }
        if (is_wanted) {
            vec[(*n)++] = v;
        }
    }
}

static void consider_vecs(search *s, const uint32_t *given, uint32_t n_given)
{
    uint32_t vec[16] = {0}, n = n_given;
    pg_layout mem;
    memcpy(vec, given, n * sizeof *vec);
    uint32_t word = log2_of(32 / (s->elem_bits > 32 ? 32 : s->elem_bits));
    take(vec, &n, word, s->side[0], PG_LIN_LANE, NULL); /* a word has no part in conflicts */
    const pg_phase_rows rows[2] = {rows_for(s, 0, vec, n), rows_for(s, 1, vec, n)};
    if (pg_layout_swizzle(s->side[0], s->side[1], vec, n, rows, s->elem_bits, &mem) ==
        PG_LAYOUT_OK) {
        consider(s, &mem);
    }
}

/* Lowest offset bits: what both sides have in registers, alone or followed by what one has; or the
 * rows of a matrix instruction of one side. */
static void consider_linear(search *s)
{
    uint32_t most = log2_of(128 / s->elem_bits);
    uint32_t common[16] = {0}, n_common = 0;
    take(common, &n_common, most, s->regs[1], PG_LIN_REG, s->regs[0]);
    for (uint32_t n = n_common + 1; n-- > 0;) {
        consider_vecs(s, common, n);
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t vec[16], n = n_common;
        memcpy(vec, common, sizeof vec);
        take(vec, &n, most, s->regs[i], PG_LIN_REG, NULL);
        consider_vecs(s, vec, n);
        for (pg_move_kind k = PG_MOVE_MATRIX; s->may_use_matrix[i] && k <= PG_MOVE_MATRIX_TRANS;
             k++) {
            uint32_t row[4] = {0};
            uint32_t n_row = pg_matrix_vecs(s->side[i], k, s->elem_bits, row);
            if (n_row != 0) {
                consider_vecs(s, row, n_row);
            }
        }
    }
}

/* Tiles of 3 x 2^n: the linear search on the part below the outer digits, where those are registers
 * on both sides; the parts lie one after the other. */
static void consider_parts(search *s)
{
    pg_layout part[2] = {*s->side[0], *s->side[1]}, grid, mem;
    uint32_t dims[PG_MAX_RANK] = {0}, kept[16];
    pg_convert_plan plan = {.cost = 0};
    for (uint32_t d = 0; d < s->side[0]->rank; d++) {
        uint32_t extent = s->side[0]->dims[d] & (~s->side[0]->dims[d] + 1u);
        dims[d] = s->side[0]->dims[d] / extent;
        for (uint32_t i = 0; i < 2; i++) {
            const pg_layout whole = part[i];
            if (pg_layout_restrict(&whole, d, extent, &part[i], kept) != PG_LAYOUT_OK) {
                return;
            }
        }
    }
    /* What is a digit of the whole may be a bit of the part, but no access joins it. */
    pg_layout joined[2] = {part[0], part[1]};
    for (uint32_t i = 0; i < 2; i++) {
        uint8_t n = s->side[i]->n_bits[PG_LIN_REG], n_part = part[i].n_bits[PG_LIN_REG];
        joined[i].n_bits[PG_LIN_REG] = n < n_part ? n : n_part;
    }
    if (part[0].n_outer != 0 || part[1].n_outer != 0 ||
        pg_layout_begin(&grid, part[0].rank, dims) != PG_LAYOUT_OK) {
        return;
    }
    for (uint32_t d = 0; d < part[0].rank; d++) {
        if (pg_layout_add_digit(&grid, PG_LIN_OFFSET, dims[d], d, 1) != PG_LAYOUT_OK) {
            return;
        }
    }
    search inner = {.side = {&part[0], &part[1]},
                    .regs = {&joined[0], &joined[1]},
                    .flags = s->flags,
                    .elem_bits = s->elem_bits,
                    .plan = &plan};
    consider_linear(&inner);
    if (inner.has_plan && pg_layout_product(&plan.mem, &grid, &mem) == PG_LAYOUT_OK) {
        consider(s, &mem);
    }
}

/* Plain rows, padded by what one access of a lane has. */
static void consider_rows(search *s)
{
    const pg_layout *l = s->side[0];
    for (uint32_t first = 0; first < l->rank; first++) {
        uint8_t order[PG_MAX_RANK] = {0};
        uint32_t n = 0;
        order[n++] = (uint8_t)(l->rank - 1 - first);
        for (uint32_t d = l->rank; d-- > 0;) {
            if (d != order[0]) {
                order[n++] = (uint8_t)d;
            }
        }
        for (uint32_t pad_bytes = 0; pad_bytes <= 16; pad_bytes += 4) {
            pg_layout mem;
            bool is_good =
                pg_layout_begin(&mem, l->rank, l->dims) == PG_LAYOUT_OK &&
                pad_bytes * 8 % s->elem_bits == 0 &&
                pg_layout_add_rows(&mem, order, pad_bytes * 8 / s->elem_bits) == PG_LAYOUT_OK &&
                pg_layout_end(&mem) == PG_LAYOUT_OK;
            if (is_good) {
                consider(s, &mem);
            }
        }
    }
}

/* ---- the plan -------------------------------------------------------------------------------- */

static uint32_t shuffle_cost(const pg_shuffle *s, uint32_t elem_bits)
{
    uint32_t offers = 0, takes = 0;
    for (uint32_t b = 0; b < LANE_BITS; b++) {
        offers |= s->offer_of_lane[b];
        takes |= s->take_of_lane[b];
    }
    uint32_t per_round = 1 + pg_popcount(offers) + pg_popcount(takes); /* with selections */
    return (per_round << s->n_round_bits) * (elem_bits == 64 ? 2 : 1);
}

static bool same_warps(const pg_layout *from, const pg_layout *to)
{
    uint32_t n = from->n_bits[PG_LIN_WARP];
    return from->n_outer == 0 && to->n_outer == 0 && n == to->n_bits[PG_LIN_WARP] &&
           memcmp(from->basis[PG_LIN_WARP], to->basis[PG_LIN_WARP], n * sizeof(uint32_t)) == 0;
}

pg_layout_error pg_convert_plan_make(const pg_layout *from, const pg_layout *to, uint32_t elem_bits,
                                     uint32_t flags, pg_convert_plan *out)
{
    memset(out, 0, sizeof *out);
    out->elem_bits = elem_bits;
    bool is_size = elem_bits == 8 || elem_bits == 16 || elem_bits == 32 || elem_bits == 64;
    if (!is_size || from->rank != to->rank ||
        memcmp(from->dims, to->dims, from->rank * sizeof from->dims[0]) != 0) {
        return PG_LAYOUT_SHAPE;
    }
    bool has_map = pg_layout_compose(from, to, &out->map) == PG_LAYOUT_OK;
    if (has_map && is_registers(&out->map, from)) {
        out->kind = PG_CONVERT_REGISTERS;
        out->is_in_warp = true;
        return PG_LAYOUT_OK;
    }
    if (has_map && elem_bits == 16 && (flags & PG_CONVERT_HAS_MOVMATRIX) != 0 &&
        is_movmatrix(&out->map, from)) {
        out->kind = PG_CONVERT_MOVMATRIX;
        out->is_in_warp = true;
        out->cost = 1u << (out->map.n_bits[PG_LIN_REG] - 1u);
        return PG_LAYOUT_OK;
    }
    search s = {
        .side = {from, to},
        .regs = {from, to},
        .may_use_matrix = {(flags & PG_CONVERT_STMATRIX) != 0, (flags & PG_CONVERT_LDMATRIX) != 0},
        .flags = flags,
        .elem_bits = elem_bits,
        .plan = out};
    if (from->n_outer == 0 && to->n_outer == 0) {
        consider_linear(&s);
    } else {
        consider_parts(&s);
    }
    if (!s.has_plan || from->n_outer != 0 || to->n_outer != 0) {
        consider_rows(&s);
    }
    out->kind = PG_CONVERT_SHARED;
    out->is_in_warp = same_warps(from, to);
    out->cost += SYNC_COST + (out->is_in_warp ? 0u : BARRIER_COST);
    if ((flags & PG_CONVERT_NO_SHUFFLE) == 0 &&
        pg_shuffle_find(from, to, elem_bits, &out->shuffle)) {
        uint32_t cost = shuffle_cost(&out->shuffle, elem_bits);
        if (!s.has_plan || cost < out->cost) {
            out->kind = PG_CONVERT_SHUFFLE;
            out->cost = cost;
            out->n_bytes = 0;
            return PG_LAYOUT_OK;
        }
    }
    return s.has_plan ? PG_LAYOUT_OK : PG_LAYOUT_TOO_BIG;
}
