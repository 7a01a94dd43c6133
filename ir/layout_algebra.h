/* layout_algebra.h: products, quotients, inverses and parts of layouts. Composition is in layout.h.
 * All take layouts that pg_layout_end accepts; where outer digits stand in the way they fail with a
 * named reason, and never give a wrong result. */
#ifndef PG_IR_LAYOUT_ALGEBRA_H
#define PG_IR_LAYOUT_ALGEBRA_H

#include "ir/layout.h"

/* `tile` repeated as `grid` says: index i of tile with index j of grid is index i + size * j and
 * holds the coordinate tile(i) + dims * grid(j). Both of one rank; a layout over other dimensions
 * has extent 1 in those of this one. */
pg_layout_error pg_layout_product(const pg_layout *tile, const pg_layout *grid, pg_layout *out);
/* Left division: the grid with product(tile, grid) = l. NOT_TILE: l does not begin with the tile.
 */
pg_layout_error pg_layout_divide(const pg_layout *l, const pg_layout *tile, pg_layout *out);
/* The same where the register bits of the tile may stand anywhere among those of l: no quotient,
 * but the register bit of l for each of the tile. Linear layouts only. */
pg_layout_error pg_layout_find_tile(const pg_layout *l, const pg_layout *tile,
                                    uint8_t reg_bits[16]);
/* From a packed coordinate (dim OFFSET) to the index that holds it, one of several for replicas:
 * l after the result is the identity. The result has rank PG_LIN_DIM_COUNT: "dimension" d is the
 * index d of l. With outer digits, packed coordinates outside the extents have no meaning. */
pg_layout_error pg_layout_invert(const pg_layout *l, pg_layout *out);
/* The same, and the result after l is the identity too: NOT_ONE_TO_ONE for replicas. */
pg_layout_error pg_layout_invert_left(const pg_layout *l, pg_layout *out);
/* The part of the tile with coordinates 0 .. extent-1 of a dimension, by the registers that hold
 * it, renumbered; kept[i] is the register of l for bit i of the result's. The other parts have the
 * same layout, from the register that pg_layout_find gives for their first element. SPLIT: some
 * threads hold nothing of it. */
pg_layout_error pg_layout_restrict(const pg_layout *l, uint32_t dim, uint32_t extent,
                                   pg_layout *out, uint32_t kept[16]);

#endif
