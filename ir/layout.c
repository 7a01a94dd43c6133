/* layout.c: linear layouts with outer digits: building, evaluating, finding. The encodings are in
 * layout_enc.c, the algebra in layout_map.c.
 *
 * Invariants, checked by pg_layout_end:
 *   I1 in each dimension the linear image lies below the power-of-two part of every outer stride;
 *   I2 the outer digits of one dimension nest: sorted by stride, each stride is at least the span
 * of those below; I3 in each index an outer digit's in_stride is at least the span of what came
 * before. So a coordinate is split into digits and linear part by division, and nothing ever
 * carries. */
#include "ir/layout.h"

#include <string.h>

const char *pg_layout_error_text(pg_layout_error e)
{
    switch (e) {
    case PG_LAYOUT_OK: return "ok";
    case PG_LAYOUT_SHAPE: return "the extents do not fit the encoding";
    case PG_LAYOUT_TOO_BIG: return "the layout needs more index or coordinate bits than there are";
    case PG_LAYOUT_NOT_LINEAR:
        return "the layout needs a division by something that is no power of two";
    case PG_LAYOUT_NOT_ONTO: return "some element is held by nobody";
    case PG_LAYOUT_WARPS: return "the encoding is for another number of warps";
    case PG_LAYOUT_CARRY: return "the outer digits overlap the linear part";
    case PG_LAYOUT_SWIZZLE: return "a row is wider than the swizzle span";
    case PG_LAYOUT_NO_ENC: return "the tile has no encoding";
    case PG_LAYOUT_NOT_ONE_TO_ONE: return "some element is held more than once";
    case PG_LAYOUT_NOT_TILE: return "the layout does not begin with the tile";
    case PG_LAYOUT_SPLIT: return "some threads hold nothing of the part";
    }
    return "unknown layout error";
}

static uint32_t ceil_log2(uint32_t x)
{
    return x <= 1 ? 0 : pg_log2(x - 1u) + 1u;
}

static uint32_t low_bit(uint32_t x)
{
    return x & (~x + 1u);
}

pg_layout_error pg_layout_begin(pg_layout *l, uint32_t rank, const uint32_t *dims)
{
    memset(l, 0, sizeof *l);
    if (rank > PG_MAX_RANK) {
        return PG_LAYOUT_SHAPE;
    }
    l->rank = (uint8_t)rank;
    uint32_t at = 0;
    for (uint32_t d = rank; d-- > 0;) {
        if (dims[d] == 0) {
            return PG_LAYOUT_SHAPE;
        }
        l->dims[d] = dims[d];
        l->shift[d] = (uint8_t)(at < 32 ? at : 31);
        at += ceil_log2(dims[d]);
    }
    return at <= 32 ? PG_LAYOUT_OK : PG_LAYOUT_TOO_BIG;
}

/* Span of the index as built so far. */
static uint64_t index_span(const pg_layout *l, pg_lin_dim d)
{
    uint64_t span = (uint64_t)1 << l->n_bits[d];
    for (uint32_t i = 0; i < l->n_outer; i++) {
        if (l->outer[i].in_dim == d) {
            span += (uint64_t)(l->outer[i].extent - 1) * l->outer[i].in_stride;
        }
    }
    return span;
}

static bool has_outer(const pg_layout *l, pg_lin_dim d)
{
    for (uint32_t i = 0; i < l->n_outer; i++) {
        if (l->outer[i].in_dim == d) {
            return true;
        }
    }
    return false;
}

pg_layout_error pg_layout_add_digit(pg_layout *l, pg_lin_dim d, uint32_t extent, uint32_t out_dim,
                                    uint32_t stride)
{
    if (extent == 0 || out_dim >= l->rank) {
        return PG_LAYOUT_SHAPE;
    }
    if (!has_outer(l, d) && (stride == 0 || pg_is_pow2(stride))) {
        while (extent % 2 == 0) {
            if (l->n_bits[d] == 16) {
                return PG_LAYOUT_TOO_BIG;
            }
            l->basis[d][l->n_bits[d]++] = stride << l->shift[out_dim];
            stride *= 2;
            extent /= 2;
        }
    }
    if (extent == 1) {
        return PG_LAYOUT_OK;
    }
    uint64_t span = index_span(l, d);
    if (l->n_outer == PG_MAX_OUTER || span * extent > UINT32_MAX) {
        return PG_LAYOUT_TOO_BIG;
    }
    l->outer[l->n_outer++] =
        (pg_outer_digit){(uint8_t)d, (uint8_t)out_dim, extent, stride, (uint32_t)span};
    return PG_LAYOUT_OK;
}

/* Outer digits of dimension d that move it, by falling stride. */
static uint32_t digits_of_dim(const pg_layout *l, uint32_t d,
                              const pg_outer_digit *out[PG_MAX_OUTER])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_outer; i++) {
        const pg_outer_digit *o = &l->outer[i];
        if (o->out_dim != d || o->stride == 0) {
            continue;
        }
        uint32_t at = n++;
        while (at > 0 && out[at - 1]->stride < o->stride) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = o;
    }
    return n;
}

/* All coordinates of dimension d: the least power of two that is not below its extent, less 1. */
static uint32_t field_mask(const pg_layout *l, uint32_t d)
{
    uint32_t mask = l->dims[d] - 1;
    mask |= mask >> 1;
    mask |= mask >> 2;
    mask |= mask >> 4;
    mask |= mask >> 8;
    return mask | mask >> 16;
}

/* All coordinate bits that the linear part reaches. */
static uint32_t linear_image(const pg_layout *l)
{
    uint32_t image = 0;
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < l->n_bits[d]; b++) {
            image |= l->basis[d][b];
        }
    }
    return image;
}

/* One dimension: no carries, and the digits above the linear part cover the extent. */
static pg_layout_error check_dim(const pg_layout *l, uint32_t d, uint32_t image)
{
    uint32_t lin = (image >> l->shift[d]) & field_mask(l, d);
    uint64_t lin_span = lin == 0 ? 1 : (uint64_t)1 << (pg_log2(lin) + 1);
    const pg_outer_digit *digits[PG_MAX_OUTER];
    uint64_t span = lin_span;
    bool is_dense = lin == lin_span - 1;
    for (uint32_t n = digits_of_dim(l, d, digits); n-- > 0;) {
        if (low_bit(digits[n]->stride) < lin_span || digits[n]->stride < span) {
            return PG_LAYOUT_CARRY;
        }
        is_dense = is_dense && digits[n]->stride == span;
        span += (uint64_t)digits[n]->stride * (digits[n]->extent - 1);
    }
    if (span > l->dims[d]) {
        return PG_LAYOUT_SHAPE;
    }
    return is_dense && span == l->dims[d] ? PG_LAYOUT_OK : PG_LAYOUT_NOT_ONTO;
}

/* The linear part as columns in the order in which an owner is chosen, reduced to echelon form.
 * Columns that depend on earlier ones give no pivot. */
void pg_layout_finder_init(pg_layout_finder *f, const pg_layout *l)
{
    f->n = f->n_ids = 0;
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < l->n_bits[d]; b++) {
            uint32_t v = l->basis[d][b];
            if (v == 0 || f->n_ids == 64) {
                continue;
            }
            uint64_t from = (uint64_t)1 << f->n_ids;
            for (uint32_t p = 0; p < f->n; p++) {
                if (v & f->pivot[p]) {
                    v ^= f->vec[p];
                    from ^= f->from[p];
                }
            }
            if (v == 0) {
                continue;
            }
            f->ids[f->n_ids++] = (uint8_t)(16 * d + b);
            f->vec[f->n] = v;
            f->pivot[f->n] = low_bit(v);
            f->from[f->n++] = from;
        }
    }
}

/* Adds to `index` the columns whose sum is `coord`; false if there are none. */
static bool solve(const pg_layout_finder *s, uint32_t coord, uint32_t index[PG_LIN_DIM_COUNT])
{
    uint64_t from = 0;
    for (uint32_t p = 0; p < s->n; p++) {
        if (coord & s->pivot[p]) {
            coord ^= s->vec[p];
            from ^= s->from[p];
        }
    }
    for (; from != 0; from &= from - 1) {
        uint8_t id = s->ids[pg_ctz(from)];
        index[id / 16] ^= 1u << (id % 16);
    }
    return coord == 0;
}

pg_layout_error pg_layout_end(const pg_layout *l)
{
    uint32_t image = linear_image(l);
    uint32_t known = 0;
    for (uint32_t d = 0; d < l->rank; d++) {
        pg_layout_error e = check_dim(l, d, image);
        if (e != PG_LAYOUT_OK) {
            return e;
        }
        known |= field_mask(l, d) << l->shift[d];
    }
    if (image & ~known) {
        return PG_LAYOUT_SHAPE;
    }
    /* The fields are full; what is left is that the columns span them. */
    pg_layout_finder s;
    pg_layout_finder_init(&s, l);
    for (uint32_t b = 0; b < 32; b++) {
        uint32_t index[PG_LIN_DIM_COUNT] = {0};
        if (((image >> b) & 1) && !solve(&s, 1u << b, index)) {
            return PG_LAYOUT_NOT_ONTO;
        }
    }
    return PG_LAYOUT_OK;
}

bool pg_layout_is_same(const pg_layout *a, const pg_layout *b)
{
    if (a->rank != b->rank || a->n_outer != b->n_outer) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_outer; i++) {
        const pg_outer_digit *x = &a->outer[i], *y = &b->outer[i];
        if (x->in_dim != y->in_dim || x->out_dim != y->out_dim || x->extent != y->extent ||
            x->stride != y->stride) {
            return false;
        }
    }
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        if (a->n_bits[d] != b->n_bits[d]) {
            return false;
        }
        for (uint32_t i = 0; i < a->n_bits[d]; i++) {
            if (a->basis[d][i] != b->basis[d][i]) {
                return false;
            }
        }
    }
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->dims[d] != b->dims[d] || a->shift[d] != b->shift[d]) {
            return false;
        }
    }
    return true;
}

uint32_t pg_layout_size(const pg_layout *l, pg_lin_dim d)
{
    uint64_t span = index_span(l, d);
    return span > UINT32_MAX ? UINT32_MAX : (uint32_t)span;
}

void pg_layout_at(const pg_layout *l, const uint32_t index[PG_LIN_DIM_COUNT],
                  uint32_t out[PG_MAX_RANK])
{
    uint32_t add[PG_MAX_RANK] = {0};
    uint32_t coord = 0;
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        uint32_t rest = index[d];
        if (rest == 0) {
            continue;
        }
        for (uint32_t i = l->n_outer; i-- > 0;) {
            const pg_outer_digit *o = &l->outer[i];
            if (o->in_dim == d && rest >= o->in_stride) {
                uint32_t q = rest / o->in_stride < o->extent ? rest / o->in_stride : o->extent - 1;
                rest -= q * o->in_stride;
                add[o->out_dim] += q * o->stride;
            }
        }
        rest &= (1u << l->n_bits[d]) - 1;
        for (; rest != 0; rest &= rest - 1) {
            coord ^= l->basis[d][pg_ctz(rest)];
        }
    }
    for (uint32_t d = 0; d < l->rank; d++) {
        out[d] = ((coord >> l->shift[d]) & field_mask(l, d)) + add[d];
    }
}

uint32_t pg_layout_pack(const pg_layout *l, const uint32_t coord[PG_MAX_RANK])
{
    uint32_t packed = 0;
    for (uint32_t d = 0; d < l->rank; d++) {
        if (l->dims[d] > 1) {
            packed |= coord[d] << l->shift[d];
        }
    }
    return packed;
}

bool pg_layout_find_by(const pg_layout *l, const pg_layout_finder *f,
                       const uint32_t coord[PG_MAX_RANK], uint32_t out[PG_LIN_DIM_COUNT])
{
    uint32_t add[PG_LIN_DIM_COUNT] = {0};
    uint32_t rest[PG_MAX_RANK] = {0};
    for (uint32_t d = 0; d < l->rank; d++) {
        if (coord[d] >= l->dims[d]) {
            return false;
        }
        rest[d] = coord[d];
        const pg_outer_digit *digits[PG_MAX_OUTER];
        uint32_t n = l->n_outer == 0 ? 0 : digits_of_dim(l, d, digits);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t q = rest[d] / digits[i]->stride;
            q = q < digits[i]->extent ? q : digits[i]->extent - 1;
            rest[d] -= q * digits[i]->stride;
            add[digits[i]->in_dim] += q * digits[i]->in_stride;
        }
    }
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    if (!solve(f, pg_layout_pack(l, rest), index)) {
        return false;
    }
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        out[d] = index[d] + add[d];
    }
    return true;
}

bool pg_layout_find(const pg_layout *l, const uint32_t coord[PG_MAX_RANK],
                    uint32_t out[PG_LIN_DIM_COUNT])
{
    pg_layout_finder f;
    pg_layout_finder_init(&f, l);
    return pg_layout_find_by(l, &f, coord, out);
}

uint32_t pg_layout_free_bits(const pg_layout *l, pg_lin_dim d)
{
    uint32_t mask = 0;
    for (uint32_t b = 0; b < l->n_bits[d]; b++) {
        mask |= l->basis[d][b] == 0 ? 1u << b : 0;
    }
    return mask;
}

uint32_t pg_layout_vector(const pg_layout *l)
{
    if (l->rank == 0) {
        return 1;
    }
    uint32_t last = l->rank - 1u;
    uint32_t most = low_bit(l->dims[last]);
    for (uint32_t i = 0; i < l->n_outer; i++) {
        if (l->outer[i].out_dim == last && l->outer[i].stride != 0 &&
            low_bit(l->outer[i].stride) < most) {
            most = low_bit(l->outer[i].stride);
        }
    }
    uint32_t v = 0;
    while (v < l->n_bits[PG_LIN_REG] && (2u << v) <= most && l->basis[PG_LIN_REG][v] == 1u << v) {
        v++;
    }
    /* Other bits must leave the low v bits of the last dimension alone, or the run starts unaligned
     * somewhere. */
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = d == PG_LIN_REG ? v : 0; b < l->n_bits[d]; b++) {
            uint32_t touched = l->basis[d][b] & ((1u << v) - 1u);
            v = touched == 0 ? v : pg_log2(low_bit(touched));
        }
    }
    return 1u << v;
}
