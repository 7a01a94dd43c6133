/* layout_algebra.c: products, quotients, inverses and parts. Results are put together digit by
 * digit, from the fastest to the slowest of each index: a digit of extent 2 stays a linear bit
 * while no outer digit came before it in its index, and joins the digit before it where it goes on.
 */
#include "ir/layout_algebra.h"

#include <string.h>

#include "ir/gf2.h"

/* ---- putting digits together ----------------------------------------------------------------- */

typedef struct maker {
    pg_layout *l;
    pg_layout_error error;
    uint32_t not_linear; /* dimensions of the coordinate in which no bit may be linear */
} maker;

static bool has_outer(const pg_layout *l, uint32_t d)
{
    for (uint32_t i = 0; i < l->n_outer; i++) {
        if (l->outer[i].in_dim == d) {
            return true;
        }
    }
    return false;
}

static void fail(maker *m, pg_layout_error error)
{
    m->error = m->error == PG_LAYOUT_OK ? error : m->error;
}

/* The one dimension that a vector moves; rank if it moves none, UINT32_MAX if several. */
static uint32_t only_dim(const pg_layout *l, const uint32_t *vec)
{
    uint32_t found = l->rank;
    for (uint32_t d = 0; d < l->rank; d++) {
        if (vec[d] != 0) {
            if (found != l->rank) {
                return UINT32_MAX;
            }
            found = d;
        }
    }
    return found;
}

static void put_outer(maker *m, uint32_t in_dim, uint32_t in_stride, uint32_t extent,
                      const uint32_t *vec)
{
    pg_layout *l = m->l;
    uint32_t to = only_dim(l, vec);
    if (to == UINT32_MAX) {
        fail(m, PG_LAYOUT_NOT_LINEAR);
        return;
    }
    uint32_t stride = to == l->rank ? 0 : vec[to];
    pg_outer_digit *last = NULL;
    for (uint32_t i = 0; i < l->n_outer; i++) {
        last = l->outer[i].in_dim == in_dim ? &l->outer[i] : last;
    }
    bool goes_on = last != NULL && in_stride == last->in_stride * last->extent &&
                   stride == last->stride * last->extent &&
                   (stride == 0 || last->out_dim == (uint8_t)to);
    if (goes_on) {
        last->extent *= extent;
    } else if (l->n_outer == PG_MAX_OUTER) {
        fail(m, PG_LAYOUT_TOO_BIG);
    } else {
        l->outer[l->n_outer++] = (pg_outer_digit){
            (uint8_t)in_dim, (uint8_t)(to == l->rank ? 0 : to), extent, stride, in_stride};
    }
}

/* A digit whose step in the index is in_stride and moves the coordinate by vec. */
static void put(maker *m, uint32_t in_dim, uint32_t in_stride, uint32_t extent, const uint32_t *vec)
{
    pg_layout *l = m->l;
    bool is_linear =
        pg_is_pow2(extent) && !has_outer(l, in_dim) && in_stride == 1u << l->n_bits[in_dim];
    uint32_t packed = 0;
    for (uint32_t d = 0; d < l->rank; d++) {
        bool is_bit = extent <= 2 || pg_is_pow2(vec[d]);
        is_linear = is_linear && (vec[d] == 0 || (is_bit && (m->not_linear >> d & 1) == 0));
        packed |= vec[d] << l->shift[d];
    }
    if (m->error != PG_LAYOUT_OK) {
        return;
    }
    if (!is_linear) {
        put_outer(m, in_dim, in_stride, extent, vec);
        return;
    }
    for (uint32_t x = 1; x < extent; x *= 2) {
        if (l->n_bits[in_dim] == 16) {
            fail(m, PG_LAYOUT_TOO_BIG);
            return;
        }
        l->basis[in_dim][l->n_bits[in_dim]++] = packed * x;
    }
}

/* Coordinate of one bit of an index. */
static void vec_of_bit(const pg_layout *l, uint32_t in_dim, uint32_t b, uint32_t out[PG_MAX_RANK])
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    memset(out, 0, PG_MAX_RANK * sizeof *out);
    index[in_dim] = 1u << b;
    pg_layout_at(l, index, out);
}

static uint32_t touched(const pg_layout *l, uint32_t in_dim, uint32_t b)
{
    uint32_t vec[PG_MAX_RANK], dims = 0;
    vec_of_bit(l, in_dim, b, vec);
    for (uint32_t d = 0; d < l->rank; d++) {
        dims |= vec[d] != 0 ? 1u << d : 0;
    }
    return dims;
}

/* ---- product --------------------------------------------------------------------------------- */

/* Dimensions in which bits of `grid` cannot be linear over `tile`: those where tile is no power of
 * two or has outer digits, and, as sums must not carry, those that a bit of grid moves that stands
 * above an outer digit of its index. */
static uint32_t not_linear_over(const pg_layout *tile, const pg_layout *grid)
{
    uint32_t dims = 0, before = UINT32_MAX;
    for (uint32_t d = 0; d < tile->rank; d++) {
        dims |= pg_is_pow2(tile->dims[d]) ? 0 : 1u << d;
    }
    for (uint32_t i = 0; i < tile->n_outer; i++) {
        dims |= tile->outer[i].stride != 0 ? 1u << tile->outer[i].out_dim : 0;
    }
    while (dims != before) {
        before = dims;
        for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
            bool is_above = has_outer(tile, d);
            for (uint32_t b = 0; b < grid->n_bits[d]; b++) {
                uint32_t moved = touched(grid, d, b);
                is_above = is_above || (moved & dims) != 0;
                dims |= is_above ? moved : 0;
            }
        }
    }
    return dims;
}

/* In these dimensions bits of a layout become digits, which add up: each must be a power of two
 * there, in no other dimension, and no two the same. */
static bool add_up(const pg_layout *l, uint32_t dims)
{
    uint32_t used = 0;
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < l->n_bits[d]; b++) {
            uint32_t v = l->basis[d][b];
            if ((touched(l, d, b) & dims) == 0) {
                continue;
            }
            if (!pg_is_pow2(v) || (used & v) != 0) {
                return false;
            }
            used |= v;
        }
    }
    return true;
}

pg_layout_error pg_layout_product(const pg_layout *tile, const pg_layout *grid, pg_layout *out)
{
    uint32_t dims[PG_MAX_RANK] = {0};
    memset(out, 0, sizeof *out);
    if (tile->rank != grid->rank) {
        return PG_LAYOUT_SHAPE;
    }
    for (uint32_t d = 0; d < tile->rank; d++) {
        if ((uint64_t)tile->dims[d] * grid->dims[d] > UINT32_MAX) {
            return PG_LAYOUT_TOO_BIG;
        }
        dims[d] = tile->dims[d] * grid->dims[d];
    }
    maker m = {.l = out, .not_linear = not_linear_over(tile, grid)};
    m.error = pg_layout_begin(out, tile->rank, dims);
    if (m.error == PG_LAYOUT_OK && !add_up(grid, m.not_linear)) {
        m.error = PG_LAYOUT_NOT_LINEAR;
    }
    if (m.error != PG_LAYOUT_OK) {
        return m.error;
    }
    memcpy(out->n_bits, tile->n_bits, sizeof out->n_bits);
    out->n_outer = tile->n_outer;
    memcpy(out->outer, tile->outer, sizeof out->outer);
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < tile->n_bits[d]; b++) {
            uint32_t vec[PG_MAX_RANK];
            vec_of_bit(tile, d, b, vec);
            out->basis[d][b] = pg_layout_pack(out, vec);
        }
    }
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        uint64_t size = pg_layout_size(tile, (pg_lin_dim)d);
        if (size * pg_layout_size(grid, (pg_lin_dim)d) > UINT32_MAX) {
            return PG_LAYOUT_TOO_BIG;
        }
        for (uint32_t b = 0; b < grid->n_bits[d]; b++) {
            uint32_t vec[PG_MAX_RANK];
            vec_of_bit(grid, d, b, vec);
            for (uint32_t k = 0; k < tile->rank; k++) {
                vec[k] *= tile->dims[k];
            }
            put(&m, d, (uint32_t)size << b, 2, vec);
        }
        for (uint32_t i = 0; i < grid->n_outer; i++) {
            const pg_outer_digit *o = &grid->outer[i];
            uint32_t vec[PG_MAX_RANK] = {0};
            vec[o->out_dim] = o->stride * tile->dims[o->out_dim];
            if (o->in_dim == d && m.error == PG_LAYOUT_OK) {
                put_outer(&m, d, (uint32_t)size * o->in_stride, o->extent, vec);
            }
        }
    }
    return m.error != PG_LAYOUT_OK ? m.error : pg_layout_end(out);
}

/* ---- division -------------------------------------------------------------------------------- */

/* A step of l beyond the tile, in units of the tile. */
static bool in_tiles(const pg_layout *tile, uint32_t *vec)
{
    for (uint32_t d = 0; d < tile->rank; d++) {
        if (vec[d] % tile->dims[d] != 0) {
            return false;
        }
        vec[d] /= tile->dims[d];
    }
    return true;
}

/* Outer digits of one index: those of the tile come first. */
static void divide_outer(maker *m, const pg_layout *l, const pg_layout *tile, uint32_t d)
{
    uint32_t size = pg_layout_size(tile, (pg_lin_dim)d), at = 0;
    for (uint32_t i = 0; i < l->n_outer && m->error == PG_LAYOUT_OK; i++) {
        pg_outer_digit o = l->outer[i];
        if (o.in_dim != d) {
            continue;
        }
        while (at < tile->n_outer && tile->outer[at].in_dim != d) {
            at++;
        }
        if (at < tile->n_outer) {
            const pg_outer_digit *t = &tile->outer[at++];
            if (o.in_stride != t->in_stride || o.stride != t->stride ||
                (o.stride != 0 && o.out_dim != t->out_dim) || o.extent % t->extent != 0) {
                fail(m, PG_LAYOUT_NOT_TILE);
                return;
            }
            o.extent /= t->extent;
            o.stride *= t->extent;
            o.in_stride *= t->extent;
        }
        uint32_t vec[PG_MAX_RANK] = {0};
        vec[o.out_dim] = o.stride;
        if (o.extent != 1 && (o.in_stride % size != 0 || !in_tiles(tile, vec))) {
            fail(m, PG_LAYOUT_NOT_TILE);
        } else if (o.extent != 1) {
            put_outer(m, d, o.in_stride / size, o.extent, vec);
        }
    }
    while (at < tile->n_outer) {
        if (tile->outer[at++].in_dim == d) {
            fail(m, PG_LAYOUT_NOT_TILE);
        }
    }
}

/* Linear bits of one index: those of the tile come first. */
static void divide_bits(maker *m, const pg_layout *l, const pg_layout *tile, uint32_t d)
{
    uint32_t n = tile->n_bits[d];
    if (l->n_bits[d] < n || (has_outer(tile, d) && l->n_bits[d] != n)) {
        fail(m, PG_LAYOUT_NOT_TILE);
        return;
    }
    for (uint32_t b = 0; b < l->n_bits[d]; b++) {
        uint32_t vec[PG_MAX_RANK], want[PG_MAX_RANK];
        vec_of_bit(l, d, b, vec);
        if (b < n) {
            vec_of_bit(tile, d, b, want);
            if (memcmp(vec, want, l->rank * sizeof *vec) != 0) {
                fail(m, PG_LAYOUT_NOT_TILE);
            }
        } else if (!in_tiles(tile, vec)) {
            fail(m, PG_LAYOUT_NOT_TILE);
        } else {
            put(m, d, 1u << (b - n), 2, vec);
        }
    }
}

pg_layout_error pg_layout_divide(const pg_layout *l, const pg_layout *tile, pg_layout *out)
{
    uint32_t dims[PG_MAX_RANK] = {0};
    memset(out, 0, sizeof *out);
    if (l->rank != tile->rank) {
        return PG_LAYOUT_SHAPE;
    }
    for (uint32_t d = 0; d < l->rank; d++) {
        if (l->dims[d] % tile->dims[d] != 0) {
            return PG_LAYOUT_NOT_TILE;
        }
        dims[d] = l->dims[d] / tile->dims[d];
    }
    maker m = {out, pg_layout_begin(out, l->rank, dims), 0};
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT && m.error == PG_LAYOUT_OK; d++) {
        divide_bits(&m, l, tile, d);
        divide_outer(&m, l, tile, d);
    }
    return m.error != PG_LAYOUT_OK ? m.error : pg_layout_end(out);
}

pg_layout_error pg_layout_find_tile(const pg_layout *l, const pg_layout *tile, uint8_t reg_bits[16])
{
    memset(reg_bits, 0, 16);
    if (l->n_outer != 0 || tile->n_outer != 0) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    pg_layout sorted = *l;
    uint32_t n = tile->n_bits[PG_LIN_REG];
    for (uint32_t b = 0; b < n; b++) {
        uint32_t want[PG_MAX_RANK];
        uint32_t at = b;
        vec_of_bit(tile, PG_LIN_REG, b, want);
        uint32_t packed = pg_layout_pack(l, want);
        while (at < sorted.n_bits[PG_LIN_REG] && sorted.basis[PG_LIN_REG][at] != packed) {
            at++;
        }
        if (at >= sorted.n_bits[PG_LIN_REG] || l->rank != tile->rank) {
            return PG_LAYOUT_NOT_TILE;
        }
        sorted.basis[PG_LIN_REG][at] = sorted.basis[PG_LIN_REG][b];
        sorted.basis[PG_LIN_REG][b] = packed;
        for (uint32_t k = 0; k < l->n_bits[PG_LIN_REG]; k++) {
            reg_bits[b] = l->basis[PG_LIN_REG][k] == packed ? (uint8_t)k : reg_bits[b];
        }
    }
    pg_layout grid;
    return pg_layout_divide(&sorted, tile, &grid);
}

/* ---- inverses -------------------------------------------------------------------------------- */

/* One step of a dimension as a digit of the inverse. `used`: index bits of the steps so far; what
 * becomes a digit adds up only with what has other bits. */
static void invert_digit(maker *m, const pg_layout *l, uint32_t d, uint32_t stride, uint32_t extent,
                         uint32_t used[PG_LIN_DIM_COUNT])
{
    uint32_t coord[PG_MAX_RANK] = {0}, to[PG_LIN_DIM_COUNT] = {0};
    coord[d] = stride;
    if (!pg_layout_find(l, coord, to)) {
        fail(m, PG_LAYOUT_NOT_ONTO);
        return;
    }
    uint8_t n_bits = m->l->n_bits[PG_LIN_OFFSET];
    bool is_of_digit = false; /* of l: it adds up with all others */
    for (uint32_t i = 0; i < PG_LIN_DIM_COUNT; i++) {
        is_of_digit = is_of_digit || to[i] >= 1u << l->n_bits[i];
    }
    m->not_linear = is_of_digit ? UINT32_MAX : 0;
    put(m, PG_LIN_OFFSET, stride << l->shift[d], extent, to);
    bool is_digit = n_bits == m->l->n_bits[PG_LIN_OFFSET];
    for (uint32_t i = 0; i < PG_LIN_DIM_COUNT && !is_of_digit; i++) {
        if (is_digit && (used[i] & to[i]) != 0) {
            fail(m, PG_LAYOUT_NOT_LINEAR);
        }
        used[i] |= to[i];
    }
}

/* Outer digit of dimension d with the least stride that is at least `from`; NULL: none. */
static const pg_outer_digit *next_digit(const pg_layout *l, uint32_t d, uint32_t from)
{
    const pg_outer_digit *found = NULL;
    for (uint32_t i = 0; i < l->n_outer; i++) {
        const pg_outer_digit *o = &l->outer[i];
        if (o->out_dim == d && o->stride >= from && o->stride != 0 &&
            (found == NULL || o->stride < found->stride)) {
            found = o;
        }
    }
    return found;
}

pg_layout_error pg_layout_invert(const pg_layout *l, pg_layout *out)
{
    uint32_t sizes[PG_LIN_DIM_COUNT];
    memset(out, 0, sizeof *out);
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        sizes[d] = pg_layout_size(l, (pg_lin_dim)d);
    }
    uint32_t used[PG_LIN_DIM_COUNT] = {0};
    maker m = {out, pg_layout_begin(out, PG_LIN_DIM_COUNT, sizes), 0};
    for (uint32_t d = l->rank; d-- > 0 && m.error == PG_LAYOUT_OK;) {
        const pg_outer_digit *o = next_digit(l, d, 1);
        uint32_t span = o == NULL ? l->dims[d] : o->stride;
        for (uint32_t x = 1; x < span && m.error == PG_LAYOUT_OK; x *= 2) {
            invert_digit(&m, l, d, x, 2, used);
        }
        for (; o != NULL && m.error == PG_LAYOUT_OK; o = next_digit(l, d, o->stride + 1)) {
            invert_digit(&m, l, d, o->stride, o->extent, used);
        }
    }
    return m.error;
}

pg_layout_error pg_layout_invert_left(const pg_layout *l, pg_layout *out)
{
    pg_gf2 seen = {0};
    memset(out, 0, sizeof *out);
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < l->n_bits[d]; b++) {
            if (!pg_gf2_add(&seen, l->basis[d][b])) {
                return PG_LAYOUT_NOT_ONE_TO_ONE;
            }
        }
    }
    for (uint32_t i = 0; i < l->n_outer; i++) {
        if (l->outer[i].stride == 0) {
            return PG_LAYOUT_NOT_ONE_TO_ONE;
        }
    }
    return pg_layout_invert(l, out);
}

/* ---- parts ----------------------------------------------------------------------------------- */

typedef enum side { INSIDE, OUTSIDE, BOTH } side;

static side side_of(const uint32_t *vec, uint32_t rank, uint32_t dim, uint32_t extent, uint32_t n)
{
    uint64_t most = (uint64_t)vec[dim] * (n - 1);
    if (most < extent) {
        return INSIDE;
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (d != dim && vec[d] != 0) {
            return BOTH;
        }
    }
    return vec[dim] % extent == 0 ? OUTSIDE : BOTH;
}

/* Keeps or drops one digit of an index. */
static void restrict_digit(maker *m, uint32_t in_dim, uint32_t extent, const uint32_t *vec, side s)
{
    if (s == INSIDE) {
        put(m, in_dim, pg_layout_size(m->l, (pg_lin_dim)in_dim), extent, vec);
    } else if (s == BOTH || in_dim != PG_LIN_REG) {
        fail(m, PG_LAYOUT_SPLIT);
    }
}

pg_layout_error pg_layout_restrict(const pg_layout *l, uint32_t dim, uint32_t extent,
                                   pg_layout *out, uint32_t kept[16])
{
    uint32_t dims[PG_MAX_RANK] = {0};
    memset(out, 0, sizeof *out);
    memset(kept, 0, 16 * sizeof *kept);
    if (dim >= l->rank || extent == 0 || l->dims[dim] % extent != 0) {
        return PG_LAYOUT_SHAPE;
    }
    if (!pg_is_pow2(extent)) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    memcpy(dims, l->dims, sizeof dims);
    dims[dim] = extent;
    maker m = {out, pg_layout_begin(out, l->rank, dims), 0};
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < l->n_bits[d]; b++) {
            uint32_t vec[PG_MAX_RANK];
            vec_of_bit(l, d, b, vec);
            side s = side_of(vec, l->rank, dim, extent, 2);
            restrict_digit(&m, d, 2, vec, s);
            if (d == PG_LIN_REG && s == INSIDE && m.error == PG_LAYOUT_OK) {
                kept[out->n_bits[d] - 1u] = 1u << b;
            }
        }
        for (uint32_t i = 0; i < l->n_outer; i++) {
            const pg_outer_digit *o = &l->outer[i];
            uint32_t vec[PG_MAX_RANK] = {0};
            vec[o->out_dim] = o->stride;
            if (o->in_dim == d) {
                restrict_digit(&m, d, o->extent, vec,
                               side_of(vec, l->rank, dim, extent, o->extent));
            }
        }
    }
    return m.error != PG_LAYOUT_OK ? m.error : pg_layout_end(out);
}
