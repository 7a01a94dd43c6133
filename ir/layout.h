/* layout.h: who holds which element: linear layouts over GF(2), plus outer digits (design section
 * 3; "Linear Layouts", arXiv 2505.23819).
 *
 * A layout maps an index (register, lane, warp) -- for shared memory: an element offset -- to a
 * coordinate of the tile. Linear part: one basis vector per index bit, each the XOR-summand of the
 * coordinate; the coordinate is packed: dimension d occupies bits shift[d] .. shift[d] +
 * log2(extent), last dimension lowest. Outer digits stand for what is not a power of two: digit j
 * of extent n adds i * stride to one dimension, i in 0..n-1; the linear image lies below the
 * power-of-two part of every outer stride of its dimension, so that sums never carry. */
#ifndef PG_IR_LAYOUT_H
#define PG_IR_LAYOUT_H

#include "ir/type.h"

typedef enum pg_lin_dim {
    PG_LIN_REG,
    PG_LIN_LANE,
    PG_LIN_WARP,
    PG_LIN_CTA,
    PG_LIN_OFFSET,
    PG_LIN_DIM_COUNT
} pg_lin_dim;

#define PG_MAX_OUTER 4
typedef struct pg_outer_digit {
    uint8_t in_dim;  /* pg_lin_dim whose index it extends, above the linear bits */
    uint8_t out_dim; /* tile dimension */
    uint32_t extent, stride;
    uint32_t in_stride; /* what one step of the digit adds to the index; above all that comes before
                           it */
} pg_outer_digit;

typedef struct pg_layout {
    uint8_t rank;
    uint32_t dims[PG_MAX_RANK];
    uint8_t shift[PG_MAX_RANK]; /* packed position of each dimension */
    uint8_t n_bits[PG_LIN_DIM_COUNT];
    uint32_t basis[PG_LIN_DIM_COUNT][16]; /* packed coordinate of index bit b */
    uint8_t n_outer;
    pg_outer_digit outer[PG_MAX_OUTER];
} pg_layout;

typedef enum pg_layout_error { /* named reasons */
                               PG_LAYOUT_OK,
                               PG_LAYOUT_SHAPE,      /* extents do not fit the encoding */
                               PG_LAYOUT_TOO_BIG,    /* more index or coordinate bits than 32 */
                               PG_LAYOUT_NOT_LINEAR, /* needs a division by something that is no
                                                        power of two */
                               PG_LAYOUT_NOT_ONTO,   /* some element is held by nobody */
                               PG_LAYOUT_WARPS,   /* the encoding is for another number of warps */
                               PG_LAYOUT_CARRY,   /* outer digits would overlap the linear part */
                               PG_LAYOUT_SWIZZLE, /* a row is wider than the swizzle span */
                               PG_LAYOUT_NO_ENC,  /* the tile has no encoding yet */
                               PG_LAYOUT_NOT_ONE_TO_ONE, /* two indices hold the same element */
                               PG_LAYOUT_NOT_TILE,       /* does not begin with the tile */
                               PG_LAYOUT_SPLIT           /* some threads hold none of the part */
} pg_layout_error;
const char *pg_layout_error_text(pg_layout_error e);

/* Layout of a register tile of this shape and encoding run by n_warps warps (linear dims REG, LANE,
 * WARP). */
pg_layout_error pg_layout_of_tile(const pg_types *t, pg_type tile, uint32_t n_warps,
                                  pg_layout *out);
/* Layout of one slot of a buffer or of a descriptor's box: element offset (dim OFFSET) ->
 * coordinate. Covers the last dimensions, as many as the encoding has (without one: two at most);
 * those before are slots. With swizzle the base is taken as aligned to the swizzle pattern. With
 * pad, offsets between rows hold no element. */
pg_layout_error pg_layout_of_buf(const pg_types *t, pg_type buf, pg_layout *out);
/* The default blocked encoding: `vec` consecutive elements of the last dimension per thread, lanes
 * and warps over the last dimensions first. Total for any extents: what does not divide becomes
 * replicas over lanes and warps. */
pg_enc pg_enc_default(pg_types *t, uint32_t rank, const int32_t *dims, uint32_t n_warps,
                      uint32_t vec);
/* Extents of one step of an encoding: of a tile without repeats. Gives the rank. */
uint32_t pg_enc_extents(const pg_types *t, pg_enc enc, uint32_t bits, int32_t dims[PG_MAX_RANK]);
/* A register layout as a LINEAR encoding (no outer digits). */
pg_layout_error pg_enc_of_layout(pg_types *t, const pg_layout *l, pg_enc *out);

/* The same indices, in the same way. */
bool pg_layout_is_same(const pg_layout *a, const pg_layout *b);
uint32_t pg_layout_size(const pg_layout *l,
                        pg_lin_dim d); /* extent of an index: registers per thread, ... */
/* Coordinate of one index; out has rank entries. */
void pg_layout_at(const pg_layout *l, const uint32_t index[PG_LIN_DIM_COUNT],
                  uint32_t out[PG_MAX_RANK]);
uint32_t pg_layout_pack(const pg_layout *l, const uint32_t coord[PG_MAX_RANK]);
/* Some index that holds a coordinate: the least register, lane 0, warp 0 first where there is a
 * choice. False if nobody. */
bool pg_layout_find(const pg_layout *l, const uint32_t coord[PG_MAX_RANK],
                    uint32_t out[PG_LIN_DIM_COUNT]);
/* The same for many coordinates of one layout: what does not depend on the coordinate, once. */
typedef struct pg_layout_finder {
    uint32_t n;
    uint32_t pivot[32]; /* coordinate bit that reduced column p alone has */
    uint32_t vec[32];   /* reduced column p */
    uint64_t from[32];  /* the columns that it is the sum of, by their place in ids */
    uint8_t ids[64];    /* columns: 16 * dim + bit */
    uint32_t n_ids;
} pg_layout_finder;
void pg_layout_finder_init(pg_layout_finder *f, const pg_layout *l);
bool pg_layout_find_by(const pg_layout *l, const pg_layout_finder *f,
                       const uint32_t coord[PG_MAX_RANK], uint32_t out[PG_LIN_DIM_COUNT]);
/* Bits of an index that do not change the coordinate (replicas): mask per dim. */
uint32_t pg_layout_free_bits(const pg_layout *l, pg_lin_dim d);
/* Compose: index of inner_map -> an index of outer_map that holds the same element (layouts of one
 * shape): the plan of a conversion from outer_map to inner_map. The result has rank
 * PG_LIN_DIM_COUNT: "dimension" d is the index d of outer_map. The rest of the algebra is in
 * layout_algebra.h. */
pg_layout_error pg_layout_compose(const pg_layout *outer_map, const pg_layout *inner_map,
                                  pg_layout *out);
/* Layouts that the shape operations need of their operand so that no data moves, given the
 * result's. */
pg_layout_error pg_layout_back_broadcast(const pg_layout *res, uint32_t rank, const int32_t *dims,
                                         pg_layout *out);
pg_layout_error pg_layout_back_expand(const pg_layout *res, uint32_t dim, pg_layout *out);
pg_layout_error pg_layout_back_reshape(const pg_layout *res, uint32_t rank, const int32_t *dims,
                                       pg_layout *out);
pg_layout_error pg_layout_back_transpose(const pg_layout *res, const uint32_t *perm,
                                         pg_layout *out);
/* The layout without dimension `dim`, and without registers that then hold the same element: what a
 * reduction along it leaves. */
pg_layout_error pg_layout_drop(const pg_layout *l, uint32_t dim, pg_layout *out);
/* Consecutive registers that hold consecutive elements of the last dimension: a power of two. */
uint32_t pg_layout_vector(const pg_layout *l);

/* ---- building one by hand: begin, digits from the fastest to the slowest of each index, end -- */

pg_layout_error pg_layout_begin(pg_layout *l, uint32_t rank, const uint32_t *dims);
/* A digit of any extent: index d grows by it, dimension `out_dim` of the coordinate by i * stride
 * (0: replicas). The part that is a power of two stays linear while nothing else came before it. */
pg_layout_error pg_layout_add_digit(pg_layout *l, pg_lin_dim d, uint32_t extent, uint32_t out_dim,
                                    uint32_t stride);
/* All of a buffer: rows of dimension order[0] with `pad` offsets without an element after each,
 * then the other dimensions in order. */
pg_layout_error pg_layout_add_rows(pg_layout *l, const uint8_t *order, uint32_t pad);
/* Checks that sums never carry and that every element is held by somebody. */
pg_layout_error pg_layout_end(const pg_layout *l);

#endif
