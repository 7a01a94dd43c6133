/* layout_map.c: the algebra of layouts: composition, and what the shape operations need
 * of their operand. All of them take layouts that pg_layout_end accepts. */
#include <string.h>

#include "ir/layout.h"

static bool same_shape(const pg_layout *a, const pg_layout *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

/* A result over the indices of l: coordinate d is the index d of l. */
static pg_layout_error begin_over_indices(const pg_layout *l, pg_layout *out)
{
    uint32_t sizes[PG_LIN_DIM_COUNT];
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        sizes[d] = pg_layout_size(l, (pg_lin_dim)d);
    }
    return pg_layout_begin(out, PG_LIN_DIM_COUNT, sizes);
}

/* ---- composition ----------------------------------------------------------------------------- */

/* Index of outer_map for one index of inner_map. */
static bool map_index(const pg_layout *outer_map, const pg_layout *inner_map,
                      const uint32_t in[PG_LIN_DIM_COUNT], uint32_t out[PG_LIN_DIM_COUNT])
{
    uint32_t coord[PG_MAX_RANK] = {0};
    pg_layout_at(inner_map, in, coord);
    return pg_layout_find(outer_map, coord, out);
}

/* The candidate is exact at the index given? */
static bool agrees(const pg_layout *outer_map, const pg_layout *inner_map,
                   const pg_layout *candidate, const uint32_t in[PG_LIN_DIM_COUNT])
{
    uint32_t want[PG_LIN_DIM_COUNT] = {0}, got[PG_MAX_RANK] = {0};
    pg_layout_at(candidate, in, got);
    return map_index(outer_map, inner_map, in, want) && memcmp(want, got, sizeof want) == 0;
}

/* Every combination of outer digits with every pair of linear bits: where the sum of two carries,
 * or a digit's steps are not even, it shows here. */
static bool is_exact(const pg_layout *outer_map, const pg_layout *inner_map,
                     const pg_layout *candidate)
{
    uint32_t flat[PG_LIN_DIM_COUNT * 16][2];
    uint32_t n_flat = 0;
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < inner_map->n_bits[d]; b++) {
            flat[n_flat][0] = d;
            flat[n_flat++][1] = 1u << b;
        }
    }
    uint64_t n_combos = 1;
    for (uint32_t i = 0; i < inner_map->n_outer; i++) {
        n_combos *= inner_map->outer[i].extent;
    }
    if (n_combos > 4096) {
        return false;
    }
    for (uint64_t c = 0; c < n_combos; c++) {
        uint32_t base[PG_LIN_DIM_COUNT] = {0};
        uint64_t rest = c;
        for (uint32_t i = 0; i < inner_map->n_outer; i++) {
            const pg_outer_digit *o = &inner_map->outer[i];
            base[o->in_dim] += (uint32_t)(rest % o->extent) * o->in_stride;
            rest /= o->extent;
        }
        for (uint32_t i = 0; i <= n_flat; i++) {
            for (uint32_t j = i; j <= n_flat; j++) {
                uint32_t in[PG_LIN_DIM_COUNT];
                memcpy(in, base, sizeof in);
                if (i < n_flat) {
                    in[flat[i][0]] |= flat[i][1];
                }
                if (j < n_flat) {
                    in[flat[j][0]] |= flat[j][1];
                }
                if (!agrees(outer_map, inner_map, candidate, in)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Outer digit `o` of inner_map as a digit of the result: it must move one index of outer_map only.
 */
static pg_layout_error compose_digit(const pg_layout *outer_map, const pg_layout *inner_map,
                                     const pg_outer_digit *o, pg_layout *out)
{
    uint32_t in[PG_LIN_DIM_COUNT] = {0}, to[PG_LIN_DIM_COUNT] = {0};
    in[o->in_dim] = o->in_stride;
    if (!map_index(outer_map, inner_map, in, to)) {
        return PG_LAYOUT_NOT_ONTO;
    }
    pg_outer_digit made = {o->in_dim, 0, o->extent, 0, o->in_stride};
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        if (to[d] == 0) {
            continue;
        }
        if (made.stride != 0) {
            return PG_LAYOUT_NOT_LINEAR;
        }
        made.out_dim = (uint8_t)d;
        made.stride = to[d];
    }
    out->outer[out->n_outer++] = made;
    return PG_LAYOUT_OK;
}

pg_layout_error pg_layout_compose(const pg_layout *outer_map, const pg_layout *inner_map,
                                  pg_layout *out)
{
    memset(out, 0, sizeof *out);
    if (!same_shape(outer_map, inner_map)) {
        return PG_LAYOUT_SHAPE;
    }
    pg_layout_error error = begin_over_indices(outer_map, out);
    if (error != PG_LAYOUT_OK) {
        return error;
    }
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        out->n_bits[d] = inner_map->n_bits[d];
        for (uint32_t b = 0; b < inner_map->n_bits[d]; b++) {
            uint32_t in[PG_LIN_DIM_COUNT] = {0}, to[PG_LIN_DIM_COUNT] = {0};
            in[d] = 1u << b;
            if (!map_index(outer_map, inner_map, in, to)) {
                return PG_LAYOUT_NOT_ONTO;
            }
            out->basis[d][b] = pg_layout_pack(out, to);
        }
    }
    for (uint32_t i = 0; i < inner_map->n_outer; i++) {
        error = compose_digit(outer_map, inner_map, &inner_map->outer[i], out);
        if (error != PG_LAYOUT_OK) {
            return error;
        }
    }
    bool is_plain = inner_map->n_outer == 0 && outer_map->n_outer == 0;
    return is_plain || is_exact(outer_map, inner_map, out) ? PG_LAYOUT_OK : PG_LAYOUT_NOT_LINEAR;
}

/* ---- operands of shape operations ------------------------------------------------------------ */

/* The same indices over another shape; vectors and digits still to be filled in. */
static pg_layout_error begin_like(const pg_layout *res, uint32_t rank, const uint32_t *dims,
                                  pg_layout *out)
{
    pg_layout_error error = pg_layout_begin(out, rank, dims);
    memcpy(out->n_bits, res->n_bits, sizeof out->n_bits);
    out->n_outer = res->n_outer;
    memcpy(out->outer, res->outer, sizeof out->outer);
    return error;
}

/* Result dimension d becomes operand dimension to_dim[d]; UINT32_MAX: it is dropped, its indices
 * become replicas. */
static pg_layout_error back_dims(const pg_layout *res, uint32_t rank, const uint32_t *dims,
                                 const uint32_t *to_dim, pg_layout *out)
{
    pg_layout_error error = begin_like(res, rank, dims, out);
    if (error != PG_LAYOUT_OK) {
        return error;
    }
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < res->n_bits[d]; b++) {
            uint32_t in[PG_LIN_DIM_COUNT] = {0}, from[PG_MAX_RANK] = {0}, to[PG_MAX_RANK] = {0};
            in[d] = 1u << b;
            pg_layout_at(res, in, from);
            for (uint32_t k = 0; k < res->rank; k++) {
                if (to_dim[k] != UINT32_MAX) {
                    to[to_dim[k]] = from[k];
                }
            }
            out->basis[d][b] = pg_layout_pack(out, to);
        }
    }
    for (uint32_t i = 0; i < out->n_outer; i++) {
        pg_outer_digit *o = &out->outer[i];
        uint32_t to = to_dim[o->out_dim];
        o->stride = to == UINT32_MAX ? 0 : o->stride;
        o->out_dim = (uint8_t)(to == UINT32_MAX ? 0 : to);
    }
    return pg_layout_end(out);
}

pg_layout_error pg_layout_back_broadcast(const pg_layout *res, uint32_t rank, const int32_t *dims,
                                         pg_layout *out)
{
    uint32_t to_dim[PG_MAX_RANK], extents[PG_MAX_RANK];
    memset(out, 0, sizeof *out);
    if (rank != res->rank) {
        return PG_LAYOUT_SHAPE;
    }
    for (uint32_t d = 0; d < rank; d++) {
        bool is_one = dims[d] == 1;
        if (!is_one && (dims[d] <= 0 || (uint32_t)dims[d] != res->dims[d])) {
            return PG_LAYOUT_SHAPE;
        }
        extents[d] = is_one ? 1 : res->dims[d];
        to_dim[d] = is_one ? UINT32_MAX : d;
    }
    return back_dims(res, rank, extents, to_dim, out);
}

pg_layout_error pg_layout_back_expand(const pg_layout *res, uint32_t dim, pg_layout *out)
{
    uint32_t to_dim[PG_MAX_RANK], extents[PG_MAX_RANK] = {0};
    memset(out, 0, sizeof *out);
    if (dim >= res->rank || res->dims[dim] != 1) {
        return PG_LAYOUT_SHAPE;
    }
    for (uint32_t d = 0; d < res->rank; d++) {
        to_dim[d] = d < dim ? d : d > dim ? d - 1 : UINT32_MAX;
        if (d != dim) {
            extents[to_dim[d]] = res->dims[d];
        }
    }
    return back_dims(res, res->rank - 1u, extents, to_dim, out);
}

pg_layout_error pg_layout_back_transpose(const pg_layout *res, const uint32_t *perm, pg_layout *out)
{
    uint32_t extents[PG_MAX_RANK] = {0};
    uint32_t seen = 0;
    memset(out, 0, sizeof *out);
    for (uint32_t d = 0; d < res->rank; d++) {
        if (perm[d] >= res->rank) {
            return PG_LAYOUT_SHAPE;
        }
        seen |= 1u << perm[d];
        extents[perm[d]] = res->dims[d];
    }
    if (seen != (1u << res->rank) - 1u) {
        return PG_LAYOUT_SHAPE;
    }
    return back_dims(res, res->rank, extents, perm, out);
}

pg_layout_error pg_layout_drop(const pg_layout *l, uint32_t dim, pg_layout *out)
{
    uint32_t to_dim[PG_MAX_RANK], extents[PG_MAX_RANK] = {0};
    pg_layout all;
    memset(out, 0, sizeof *out);
    if (dim >= l->rank || l->rank < 2) {
        return PG_LAYOUT_SHAPE;
    }
    for (uint32_t d = 0; d < l->rank; d++) {
        to_dim[d] = d < dim ? d : d > dim ? d - 1 : UINT32_MAX;
        if (d != dim) {
            extents[to_dim[d]] = l->dims[d];
        }
    }
    pg_layout_error error = back_dims(l, l->rank - 1u, extents, to_dim, &all);
    if (error != PG_LAYOUT_OK) {
        return error;
    }
    *out = all;
    out->n_bits[PG_LIN_REG] = 0;
    out->n_outer = 0;
    for (uint32_t b = 0; b < all.n_bits[PG_LIN_REG]; b++) {
        if (all.basis[PG_LIN_REG][b] != 0) {
            out->basis[PG_LIN_REG][out->n_bits[PG_LIN_REG]++] = all.basis[PG_LIN_REG][b];
        }
    }
    for (uint32_t i = 0; i < all.n_outer; i++) {
        pg_outer_digit o = all.outer[i];
        if (o.in_dim == PG_LIN_REG) {
            o.in_stride = pg_layout_size(out, PG_LIN_REG);
        }
        if (o.in_dim != PG_LIN_REG || o.stride != 0) {
            out->outer[out->n_outer++] = o;
        }
    }
    return pg_layout_end(out);
}

/* Row-major place value of each dimension. */
static uint64_t place_values(uint32_t rank, const uint32_t *dims, uint64_t *place)
{
    uint64_t n = 1;
    for (uint32_t d = rank; d-- > 0;) {
        place[d] = n;
        n *= dims[d];
    }
    return n;
}

/* The dimension of `l` in which a row-major distance that spans `extent` steps lies wholly; rank if
 * there is none. */
static uint32_t dim_of_step(const pg_layout *l, const uint64_t *place, uint64_t step,
                            uint32_t extent)
{
    for (uint32_t d = 0; d < l->rank; d++) {
        if (step % place[d] == 0 && step / place[d] * (extent - 1) < l->dims[d]) {
            return d;
        }
    }
    return l->rank;
}

/* One packed vector of the result's coordinates as the operand's: bit by bit, by row-major
 * distance. */
static pg_layout_error reshape_bit(const pg_layout *res, const pg_layout *out,
                                   uint64_t (*places)[PG_MAX_RANK], uint32_t packed, uint32_t *made)
{
    *made = 0;
    for (uint32_t d = 0; d < res->rank; d++) {
        for (uint32_t x = 1; x < res->dims[d]; x *= 2) {
            if (res->dims[d] == 1 || ((packed >> res->shift[d]) & x) == 0) {
                continue;
            }
            uint64_t flat = x * places[0][d];
            uint32_t to = dim_of_step(out, places[1], flat, 2);
            if (to == out->rank || !pg_is_pow2(flat / places[1][to])) {
                return PG_LAYOUT_NOT_LINEAR;
            }
            *made ^= (uint32_t)(flat / places[1][to]) << out->shift[to];
        }
    }
    return PG_LAYOUT_OK;
}

pg_layout_error pg_layout_back_reshape(const pg_layout *res, uint32_t rank, const int32_t *dims,
                                       pg_layout *out)
{
    uint32_t extents[PG_MAX_RANK] = {0};
    uint64_t places[2][PG_MAX_RANK];
    memset(out, 0, sizeof *out);
    if (rank > PG_MAX_RANK) {
        return PG_LAYOUT_SHAPE;
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (dims[d] <= 0) {
            return PG_LAYOUT_SHAPE;
        }
        extents[d] = (uint32_t)dims[d];
    }
    pg_layout_error error = begin_like(res, rank, extents, out);
    if (error != PG_LAYOUT_OK) {
        return error;
    }
    if (place_values(res->rank, res->dims, places[0]) != place_values(rank, extents, places[1])) {
        return PG_LAYOUT_SHAPE;
    }
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT && error == PG_LAYOUT_OK; d++) {
        for (uint32_t b = 0; b < res->n_bits[d] && error == PG_LAYOUT_OK; b++) {
            error = reshape_bit(res, out, places, res->basis[d][b], &out->basis[d][b]);
        }
    }
    for (uint32_t i = 0; i < out->n_outer && error == PG_LAYOUT_OK; i++) {
        pg_outer_digit *o = &out->outer[i];
        if (o->stride == 0) {
            o->out_dim = 0;
            continue;
        }
        uint64_t flat = o->stride * places[0][o->out_dim];
        uint32_t to = dim_of_step(out, places[1], flat, o->extent);
        if (to == out->rank) {
            return PG_LAYOUT_NOT_LINEAR;
        }
        o->out_dim = (uint8_t)to;
        o->stride = (uint32_t)(flat / places[1][to]);
    }
    return error != PG_LAYOUT_OK ? error : pg_layout_end(out);
}
