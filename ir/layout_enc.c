/* layout_enc.c: from encodings to layouts and back.
 *
 *   blocked   register   [regs | repeats]   of each dimension, order[0] fastest; odd factors above
 * the powers of two lane       [lanes | replicas] warp       [warps | replicas] wgmma     one
 * instruction's D fragment per 64 rows and n columns (facts: row = 16w + l/4 + 8*((i/2)%2), col =
 * 8*(i/4) + 2*(l%4) + i%2), then repeats along N, then along M smem      offset     rows of
 * order[0], then order[1], ...; pad elements after each row; the swizzle XORs byte-address bits 7..
 * into bits 4.. */
#include <string.h>

#include "ir/layout.h"

/* Common shape of the digit builders: the first failure stays. */
typedef struct builder {
    pg_layout *l;
    pg_layout_error error;
} builder;

static void digit(builder *b, pg_lin_dim d, uint32_t extent, uint32_t out_dim, uint32_t stride)
{
    if (b->error == PG_LAYOUT_OK) {
        b->error = pg_layout_add_digit(b->l, d, extent, out_dim, stride);
    }
}

/* An index bit whose vector is a sum. */
static void bit(builder *b, pg_lin_dim d, uint32_t packed)
{
    if (b->error == PG_LAYOUT_OK && b->l->n_bits[d] == 16) {
        b->error = PG_LAYOUT_TOO_BIG;
    }
    if (b->error == PG_LAYOUT_OK) {
        b->l->basis[d][b->l->n_bits[d]++] = packed;
    }
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static bool is_order(const uint8_t *order, uint32_t rank)
{
    uint32_t seen = 0;
    for (uint32_t d = 0; d < rank; d++) {
        seen |= order[d] < rank ? 1u << order[d] : 0;
    }
    return seen == (1u << rank) - 1u;
}

/* ---- blocked --------------------------------------------------------------------------------- */

/* The power-of-two part of a digit, or the odd part above it. */
static void part(builder *b, pg_lin_dim d, uint32_t extent, uint32_t odd, uint32_t out_dim,
                 uint32_t stride)
{
    uint32_t even = extent & (~extent + 1u);
    if (odd) {
        digit(b, d, extent / even, out_dim, stride * even);
    } else {
        digit(b, d, even, out_dim, stride);
    }
}

static pg_layout_error blocked(const pg_enc_info *e, uint32_t n_warps, pg_layout *l)
{
    uint32_t n_lane = 1, n_warp = 1;
    for (uint32_t d = 0; d < l->rank; d++) {
        n_lane *= e->lanes[d];
        n_warp *= e->warps[d];
    }
    for (uint32_t d = 0; d < l->rank; d++) {
        if (e->regs[d] == 0 || n_warp == 0) {
            return PG_LAYOUT_SHAPE;
        }
    }
    if (n_lane != 32 || !is_order(e->order, l->rank)) {
        return PG_LAYOUT_SHAPE;
    }
    if (n_warp != n_warps) {
        return PG_LAYOUT_WARPS;
    }
    uint32_t regs[PG_MAX_RANK], lanes[PG_MAX_RANK], warps[PG_MAX_RANK], stride[PG_MAX_RANK];
    for (uint32_t d = 0; d < l->rank; d++) {
        regs[d] = gcd(e->regs[d], l->dims[d]);
        lanes[d] = gcd(e->lanes[d], l->dims[d] / regs[d]);
        warps[d] = gcd(e->warps[d], l->dims[d] / regs[d] / lanes[d]);
        stride[d] = regs[d] * lanes[d] * warps[d];
    }
    builder b = {l, PG_LAYOUT_OK};
    /* Powers of two first, so that the linear part stays below every outer digit. */
    for (uint32_t odd = 0; odd < 2; odd++) {
        for (uint32_t i = 0; i < l->rank; i++) {
            uint32_t d = e->order[i];
            part(&b, PG_LIN_REG, regs[d], odd, d, 1);
            part(&b, PG_LIN_LANE, lanes[d], odd, d, regs[d]);
            part(&b, PG_LIN_LANE, e->lanes[d] / lanes[d], odd, d, 0);
            part(&b, PG_LIN_WARP, warps[d], odd, d, regs[d] * lanes[d]);
            part(&b, PG_LIN_WARP, e->warps[d] / warps[d], odd, d, 0);
        }
    }
    for (uint32_t i = 0; i < l->rank; i++) {
        uint32_t d = e->order[i];
        digit(&b, PG_LIN_REG, l->dims[d] / stride[d], d, stride[d]);
    }
    return b.error;
}

/* ---- wgmma ----------------------------------------------------------------------------------- */

static pg_layout_error wgmma(const pg_enc_info *e, uint32_t n_warps, pg_layout *l)
{
    uint32_t n = e->shape[1], m_warps = e->warps[0], n_groups = e->warps[1];
    if (l->rank != 2 || e->shape[0] != 64 || n == 0 || n % 8 != 0 || m_warps % 4 != 0) {
        return PG_LAYOUT_SHAPE;
    }
    if (m_warps * n_groups != n_warps || n_warps == 0) {
        return PG_LAYOUT_WARPS;
    }
    uint32_t rows = 16 * m_warps, cols = n * n_groups;
    if (l->dims[0] % rows != 0 || l->dims[1] % cols != 0) {
        return PG_LAYOUT_SHAPE;
    }
    builder b = {l, PG_LAYOUT_OK};
    digit(&b, PG_LIN_REG, 2, 1, 1);
    digit(&b, PG_LIN_REG, 2, 0, 8);
    digit(&b, PG_LIN_REG, n / 8, 1, 8);
    digit(&b, PG_LIN_REG, l->dims[1] / cols, 1, cols);
    digit(&b, PG_LIN_REG, l->dims[0] / rows, 0, rows);
    digit(&b, PG_LIN_LANE, 4, 1, 2);
    digit(&b, PG_LIN_LANE, 8, 0, 1);
    digit(&b, PG_LIN_WARP, m_warps, 0, 16);
    digit(&b, PG_LIN_WARP, n_groups, 1, n);
    return b.error;
}

/* ---- mma.sync and the operands of matrix operations ------------------------------------------ */

/* Rows and columns of the accumulator of one step of all warps. */
static void step_of(const pg_enc_info *e, uint32_t step[2])
{
    step[0] = 16u * e->warps[0];
    step[1] = (e->kind == PG_ENC_WGMMA ? e->shape[1] : 8u) * e->warps[1];
}

static bool is_mma(const pg_enc_info *e)
{
    return e->shape[0] == 16 && e->shape[1] == 8 && e->warps[0] != 0 && e->warps[1] != 0;
}

/* C and D of m16n8kK (facts 5): c0, c1 in row g, c2, c3 in row g + 8, columns 2q + (i & 1); warps
 * row-major over the tile, repeats along columns, then rows. */
static pg_layout_error mma(const pg_enc_info *e, uint32_t n_warps, pg_layout *l)
{
    uint32_t step[2];
    if (l->rank != 2 || !is_mma(e)) {
        return PG_LAYOUT_SHAPE;
    }
    if ((uint32_t)e->warps[0] * e->warps[1] != n_warps) {
        return PG_LAYOUT_WARPS;
    }
    step_of(e, step);
    if (l->dims[0] % step[0] != 0 || l->dims[1] % step[1] != 0) {
        return PG_LAYOUT_SHAPE;
    }
    builder b = {l, PG_LAYOUT_OK};
    digit(&b, PG_LIN_REG, 2, 1, 1);
    digit(&b, PG_LIN_REG, 2, 0, 8);
    digit(&b, PG_LIN_REG, l->dims[1] / step[1], 1, step[1]);
    digit(&b, PG_LIN_REG, l->dims[0] / step[0], 0, step[0]);
    digit(&b, PG_LIN_LANE, 4, 1, 2);
    digit(&b, PG_LIN_LANE, 8, 0, 1);
    digit(&b, PG_LIN_WARP, e->warps[1], 1, 8);
    digit(&b, PG_LIN_WARP, e->warps[0], 0, 16);
    return b.error;
}

/* Fragment of A (rows, k) or B (k, columns): a register of 32 bits has `per` elements along k; lane
 * q = l % 4 begins at k = per * q, and where k is twice that, further registers are 4 * per on. */
static pg_layout_error dot(const pg_enc_info *e, const pg_enc_info *of, uint32_t bits,
                           uint32_t n_warps, pg_layout *l)
{
    uint32_t k = of->shape[2], step[2];
    bool is_wgmma = of->kind == PG_ENC_WGMMA;
    if (l->rank != 2 || (of->kind != PG_ENC_MMA && !is_wgmma) || (is_wgmma && e->operand != 0) ||
        (!is_wgmma && !is_mma(of)) || (bits != 8 && bits != 16 && bits != 32)) {
        return PG_LAYOUT_SHAPE;
    }
    if ((uint32_t)of->warps[0] * of->warps[1] != n_warps) {
        return PG_LAYOUT_WARPS;
    }
    uint32_t per = 32 / bits, is_a = e->operand == 0;
    uint32_t k_dim = is_a ? 1 : 0, other = is_a ? 0 : 1;
    step_of(of, step);
    if ((k != 4 * per && k != 8 * per) || l->dims[k_dim] % k != 0 ||
        l->dims[other] % step[other] != 0) {
        return PG_LAYOUT_SHAPE;
    }
    builder b = {l, PG_LAYOUT_OK};
    digit(&b, PG_LIN_REG, per, k_dim, 1);
    if (is_a) {
        digit(&b, PG_LIN_REG, 2, 0, 8);
    }
    digit(&b, PG_LIN_REG, k / (4 * per), k_dim, 4 * per);
    digit(&b, PG_LIN_REG, l->dims[k_dim] / k, k_dim, k);
    digit(&b, PG_LIN_REG, l->dims[other] / step[other], other, step[other]);
    digit(&b, PG_LIN_LANE, 4, k_dim, per);
    digit(&b, PG_LIN_LANE, 8, other, 1);
    if (is_wgmma) {
        digit(&b, PG_LIN_WARP, of->warps[0], 0, 16);
        digit(&b, PG_LIN_WARP, of->warps[1], 0, 0);
    } else {
        digit(&b, PG_LIN_WARP, of->warps[1], other, is_a ? 0 : 8);
        digit(&b, PG_LIN_WARP, of->warps[0], other, is_a ? 16 : 0);
    }
    return b.error;
}

/* ---- linear ---------------------------------------------------------------------------------- */

static pg_layout_error add_vectors(const pg_enc_info *e, const uint8_t *n_bits,
                                   const pg_lin_dim *in_dims, uint32_t n, pg_layout *l)
{
    builder b = {l, PG_LAYOUT_OK};
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < n_bits[i]; k++, at++) {
            uint32_t coord[PG_MAX_RANK] = {0};
            for (uint32_t d = 0; d < l->rank; d++) {
                coord[d] = e->basis[at][d];
                if (coord[d] >= l->dims[d]) {
                    return PG_LAYOUT_SHAPE;
                }
            }
            bit(&b, in_dims[i], pg_layout_pack(l, coord));
        }
    }
    return b.error;
}

static pg_layout_error linear(const pg_enc_info *e, uint32_t n_warps, pg_layout *l)
{
    const uint8_t n_bits[3] = {e->n_reg, e->n_lane, e->n_warp};
    const pg_lin_dim in_dims[3] = {PG_LIN_REG, PG_LIN_LANE, PG_LIN_WARP};
    if (e->rank != l->rank || e->n_reg + e->n_lane + e->n_warp > PG_MAX_BASIS || e->n_lane != 5 ||
        e->n_offset != 0) {
        return PG_LAYOUT_SHAPE;
    }
    if (e->n_warp >= 16 || 1u << e->n_warp != n_warps) {
        return PG_LAYOUT_WARPS;
    }
    return add_vectors(e, n_bits, in_dims, 3, l);
}

/* Of a buffer: each offset holds another element. */
static pg_layout_error linear_memory(const pg_enc_info *e, pg_layout *l)
{
    const pg_lin_dim offset = PG_LIN_OFFSET;
    uint64_t n_elems = 1;
    for (uint32_t d = 0; d < l->rank; d++) {
        n_elems *= l->dims[d];
    }
    if (e->rank != l->rank || e->n_offset > 16 || n_elems != 1ull << e->n_offset) {
        return PG_LAYOUT_SHAPE;
    }
    return add_vectors(e, &e->n_offset, &offset, 1, l);
}

static pg_layout_error begin(const pg_type_info *ty, uint32_t rank, pg_layout *l)
{
    uint32_t dims[PG_MAX_RANK] = {0};
    for (uint32_t d = 0; d < rank; d++) {
        int32_t extent = ty->dims[ty->rank - rank + d];
        if (extent <= 0) {
            return PG_LAYOUT_SHAPE;
        }
        dims[d] = (uint32_t)extent;
    }
    return pg_layout_begin(l, rank, dims);
}

uint32_t pg_enc_extents(const pg_types *t, pg_enc enc, uint32_t bits, int32_t dims[PG_MAX_RANK])
{
    const pg_enc_info *e = pg_enc_get(t, enc);
    const pg_enc_info *of = pg_enc_get(t, e->of);
    uint32_t step[2] = {0, 0}, at = 0;
    int32_t whole[PG_MAX_RANK] = {0};
    for (uint32_t d = 0; d < PG_MAX_RANK; d++) {
        dims[d] = e->kind == PG_ENC_BLOCKED ? e->regs[d] * e->lanes[d] * e->warps[d] : 1;
    }
    switch (e->kind) {
    case PG_ENC_WGMMA:
    case PG_ENC_MMA:
        step_of(e, step);
        dims[0] = (int32_t)step[0];
        dims[1] = (int32_t)step[1];
        break;
    case PG_ENC_DOT:
        step_of(of, step);
        dims[e->operand] = (int32_t)step[e->operand];
        dims[1 - e->operand] = of->shape[2];
        break;
    case PG_ENC_SLICE:
        (void)pg_enc_extents(t, e->of, bits, whole);
        for (uint32_t d = 0; d < of->rank; d++) {
            if (d != e->dim && at < PG_MAX_RANK) {
                dims[at++] = whole[d];
            }
        }
        break;
    case PG_ENC_LINEAR:
        for (uint32_t d = 0; d < e->rank; d++) {
            uint32_t image = 0;
            for (uint32_t v = 0; v < (uint32_t)e->n_reg + e->n_lane + e->n_warp + e->n_offset;
                 v++) {
                image |= e->basis[v][d];
            }
            dims[d] = image == 0 ? 1 : 2 << pg_log2(image);
        }
        break;
    case PG_ENC_SMEM: /* eight rows of the swizzle's width, or of 32 banks */
        for (uint32_t d = 0; d < e->rank; d++) {
            dims[d] = 8;
        }
        dims[e->order[0]] = (int32_t)((e->swizzle == 0 ? 128u : e->swizzle) * 8 / bits);
        break;
    default: break;
    }
    return e->rank;
}

static pg_layout_error of_tile(const pg_types *t, const pg_type_info *ty, uint32_t n_warps,
                               pg_layout *out);

/* The layout of `of` over a tile that has one step of it in the dimension dropped, without that
 * dimension and without registers that hold the same element. */
static pg_layout_error slice(const pg_types *t, const pg_type_info *ty, uint32_t n_warps,
                             pg_layout *l)
{
    const pg_enc_info *e = pg_enc_get(t, ty->enc);
    uint32_t bits = ty->is_ptr ? 64 : pg_elem_infos[ty->elem].bits;
    int32_t step[PG_MAX_RANK] = {0};
    pg_layout whole;
    pg_type_info info = *ty;
    info.enc = e->of;
    info.rank = (uint8_t)pg_enc_extents(t, e->of, bits, step);
    if (info.rank != ty->rank + 1 || e->dim >= info.rank) {
        return PG_LAYOUT_SHAPE;
    }
    for (uint32_t d = 0; d < info.rank; d++) {
        info.dims[d] = d == e->dim ? step[d] : ty->dims[d - (d > e->dim)];
    }
    pg_layout_error error = of_tile(t, &info, n_warps, &whole);
    return error != PG_LAYOUT_OK ? error : pg_layout_drop(&whole, e->dim, l);
}

static pg_layout_error of_tile(const pg_types *t, const pg_type_info *ty, uint32_t n_warps,
                               pg_layout *out)
{
    const pg_enc_info *e = pg_enc_get(t, ty->enc);
    memset(out, 0, sizeof *out);
    if (ty->kind != PG_TY_TILE) {
        return PG_LAYOUT_SHAPE;
    }
    if (e->kind == PG_ENC_NONE) {
        return PG_LAYOUT_NO_ENC;
    }
    if (e->rank != ty->rank) {
        return PG_LAYOUT_SHAPE;
    }
    pg_layout_error error = begin(ty, ty->rank, out);
    if (error != PG_LAYOUT_OK) {
        return error;
    }
    uint32_t bits = ty->is_ptr ? 64 : pg_elem_infos[ty->elem].bits;
    switch (e->kind) {
    case PG_ENC_BLOCKED: error = blocked(e, n_warps, out); break;
    case PG_ENC_WGMMA: error = wgmma(e, n_warps, out); break;
    case PG_ENC_LINEAR: error = linear(e, n_warps, out); break;
    case PG_ENC_MMA: error = mma(e, n_warps, out); break;
    case PG_ENC_DOT: error = dot(e, pg_enc_get(t, e->of), bits, n_warps, out); break;
    case PG_ENC_SLICE: error = slice(t, ty, n_warps, out); break;
    default: error = PG_LAYOUT_SHAPE; break;
    }
    return error != PG_LAYOUT_OK ? error : pg_layout_end(out);
}

typedef struct known_layout {
    pg_layout_error error;
    pg_layout l;
} known_layout;

pg_layout_error pg_layout_of_tile(const pg_types *t, pg_type tile, uint32_t n_warps, pg_layout *out)
{
    const pg_memo_key key = {PG_MEMO_TILE, {tile.id, n_warps}};
    const known_layout *known = pg_memo_get(t, &key);
    if (known != NULL) {
        *out = known->l;
        return known->error;
    }
    known_layout made = {.error = PG_LAYOUT_OK};
    made.error = of_tile(t, pg_type_get(t, tile), n_warps, &made.l);
    pg_memo_put(t, &key, &made, sizeof made);
    *out = made.l;
    return made.error;
}

/* ---- shared memory --------------------------------------------------------------------------- */

/* XORs the vectors of the byte-address bits 4.. into those of bits 7..: three, two or one. */
static pg_layout_error swizzle(pg_layout *l, uint32_t swizzle_bytes, uint32_t elem_bytes)
{
    uint32_t n_xor = swizzle_bytes == 128 ? 3 : swizzle_bytes == 64 ? 2 : 1;
    uint32_t skip = pg_log2(elem_bytes);
    if (skip > 4) {
        return PG_LAYOUT_SWIZZLE;
    }
    for (uint32_t i = 0; i < n_xor; i++) {
        uint32_t from = 7 + i - skip, to = 4 + i - skip;
        if (from < l->n_bits[PG_LIN_OFFSET]) {
            l->basis[PG_LIN_OFFSET][from] ^= l->basis[PG_LIN_OFFSET][to];
        } else if (pg_layout_size(l, PG_LIN_OFFSET) > 1u << from) {
            return PG_LAYOUT_NOT_LINEAR; /* address bit `from` is part of an outer digit */
        }
    }
    return PG_LAYOUT_OK;
}

/* Rows of order[0] with `pad` elements after each: the row digits start at a stride of their own.
 */
pg_layout_error pg_layout_add_rows(pg_layout *l, const uint8_t *order, uint32_t pad)
{
    builder b = {l, PG_LAYOUT_OK};
    digit(&b, PG_LIN_OFFSET, l->dims[order[0]], order[0], 1);
    uint64_t in_stride = (uint64_t)l->dims[order[0]] + pad;
    for (uint32_t i = 1; i < l->rank; i++) {
        uint32_t extent = l->dims[order[i]];
        if (pad == 0) {
            digit(&b, PG_LIN_OFFSET, extent, order[i], 1);
            continue;
        }
        if (extent == 1) {
            continue;
        }
        if (l->n_outer == PG_MAX_OUTER || in_stride * extent > UINT32_MAX) {
            return PG_LAYOUT_TOO_BIG;
        }
        l->outer[l->n_outer++] =
            (pg_outer_digit){PG_LIN_OFFSET, order[i], extent, 1, (uint32_t)in_stride};
        in_stride *= extent;
    }
    return b.error;
}

static pg_layout_error of_buf(const pg_types *t, const pg_type_info *ty, pg_layout *out)
{
    const pg_enc_info *e = pg_enc_get(t, ty->enc);
    memset(out, 0, sizeof *out);
    if (ty->kind != PG_TY_BUF && ty->kind != PG_TY_DESC) {
        return PG_LAYOUT_SHAPE;
    }
    bool has_enc = e->kind != PG_ENC_NONE;
    uint32_t rank = has_enc ? e->rank : ty->kind == PG_TY_BUF && ty->rank > 2 ? 2 : ty->rank;
    if ((has_enc && !pg_enc_is_memory(t, ty->enc)) || rank == 0 || rank > ty->rank) {
        return PG_LAYOUT_SHAPE;
    }
    uint8_t order[PG_MAX_RANK] = {0};
    for (uint32_t d = 0; d < rank; d++) {
        order[d] = has_enc ? e->order[d] : (uint8_t)(rank - 1 - d);
    }
    pg_layout_error error = begin(ty, rank, out);
    if (error == PG_LAYOUT_OK && e->kind == PG_ENC_LINEAR) {
        error = linear_memory(e, out);
        return error != PG_LAYOUT_OK ? error : pg_layout_end(out);
    }
    if (error != PG_LAYOUT_OK || !is_order(order, rank)) {
        return error != PG_LAYOUT_OK ? error : PG_LAYOUT_SHAPE;
    }
    error = pg_layout_add_rows(out, order, e->pad);
    if (error == PG_LAYOUT_OK && e->swizzle != 0) {
        uint32_t bits = ty->is_ptr ? 64 : pg_elem_infos[ty->elem].bits;
        uint32_t elem_bytes = bits < 8 ? 1 : bits / 8;
        bool is_known = e->swizzle == 32 || e->swizzle == 64 || e->swizzle == 128;
        if (!is_known || e->pad != 0) {
            return PG_LAYOUT_SHAPE;
        }
        if ((uint64_t)out->dims[order[0]] * elem_bytes > e->swizzle) {
            return PG_LAYOUT_SWIZZLE;
        }
        error = swizzle(out, e->swizzle, elem_bytes);
    }
    return error != PG_LAYOUT_OK ? error : pg_layout_end(out);
}

pg_layout_error pg_layout_of_buf(const pg_types *t, pg_type buf, pg_layout *out)
{
    const pg_memo_key key = {PG_MEMO_BUF, {buf.id}};
    const known_layout *known = pg_memo_get(t, &key);
    if (known != NULL) {
        *out = known->l;
        return known->error;
    }
    known_layout made = {.error = PG_LAYOUT_OK};
    made.error = of_buf(t, pg_type_get(t, buf), &made.l);
    pg_memo_put(t, &key, &made, sizeof made);
    *out = made.l;
    return made.error;
}

/* ---- default, and back ----------------------------------------------------------------------- */

/* Gives dimension after dimension, last first, what divides it; what is left over goes to the first
 * as replicas. */
static void deal(uint32_t n, uint32_t rank, uint32_t *left, uint16_t *share)
{
    for (uint32_t d = rank; d-- > 0;) {
        uint32_t part = gcd(n, left[d]);
        share[d] = (uint16_t)part;
        left[d] /= part;
        n /= part;
    }
    share[0] = (uint16_t)(share[0] * n);
}

pg_enc pg_enc_default(pg_types *t, uint32_t rank, const int32_t *dims, uint32_t n_warps,
                      uint32_t vec)
{
    pg_enc_info e = {0};
    if (rank == 0 || rank > PG_MAX_RANK) {
        return (pg_enc){0};
    }
    e.kind = PG_ENC_BLOCKED;
    e.rank = (uint8_t)rank;
    uint32_t left[PG_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) {
        e.order[d] = (uint8_t)(rank - 1 - d);
        e.regs[d] = 1;
        left[d] = dims[d] > 0 ? (uint32_t)dims[d] : 1;
    }
    uint32_t per_thread = gcd(vec == 0 ? 1 : vec, left[rank - 1]);
    /* A vector must not starve lanes and warps of elements. */
    uint64_t n_elems = 1;
    for (uint32_t d = 0; d < rank; d++) {
        n_elems *= left[d];
    }
    while (per_thread > 1 && per_thread % 2 == 0 && n_elems / per_thread < (uint64_t)32 * n_warps) {
        per_thread /= 2;
    }
    e.regs[rank - 1] = (uint16_t)per_thread;
    left[rank - 1] /= per_thread;
    deal(32, rank, left, e.lanes);
    deal(n_warps, rank, left, e.warps);
    return pg_enc_intern(t, &e);
}

pg_layout_error pg_enc_of_layout(pg_types *t, const pg_layout *l, pg_enc *out)
{
    const pg_lin_dim in_dims[3] = {PG_LIN_REG, PG_LIN_LANE, PG_LIN_WARP};
    pg_enc_info e = {0};
    *out = (pg_enc){0};
    if (l->n_outer != 0) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    if (l->n_bits[PG_LIN_REG] + l->n_bits[PG_LIN_LANE] + l->n_bits[PG_LIN_WARP] > PG_MAX_BASIS ||
        l->n_bits[PG_LIN_CTA] + l->n_bits[PG_LIN_OFFSET] != 0) {
        return PG_LAYOUT_TOO_BIG;
    }
    e.kind = PG_ENC_LINEAR;
    e.rank = l->rank;
    e.n_reg = l->n_bits[PG_LIN_REG];
    e.n_lane = l->n_bits[PG_LIN_LANE];
    e.n_warp = l->n_bits[PG_LIN_WARP];
    uint32_t at = 0;
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t b = 0; b < l->n_bits[in_dims[i]]; b++, at++) {
            uint32_t index[PG_LIN_DIM_COUNT] = {0}, coord[PG_MAX_RANK] = {0};
            index[in_dims[i]] = 1u << b;
            pg_layout_at(l, index, coord);
            for (uint32_t d = 0; d < l->rank; d++) {
                if (coord[d] > UINT16_MAX) {
                    return PG_LAYOUT_TOO_BIG;
                }
                e.basis[at][d] = (uint16_t)coord[d];
            }
        }
    }
    *out = pg_enc_intern(t, &e);
    return PG_LAYOUT_OK;
}
