/* tensormap.h: the 128 bytes of a tensor map (docs/executor.md has their layout), as a copy sees
 * them. Dimensions are innermost first. */
#ifndef PTXEXEC_TENSORMAP_H
#define PTXEXEC_TENSORMAP_H

#include "base/base.h"
#include "tools/exec/ptxexec.h"

enum { PE_TMAP_RANK = 5, PE_TMAP_SIZE = 128, PE_TMAP_ALIGN = 64 };

typedef struct pe_tmap {
    uint64_t address;
    uint32_t rank;
    uint32_t type;      /* ptxexec_tm_type */
    uint32_t elem_size; /* bytes */
    uint32_t interleave, swizzle;
    bool is_nan;
    uint64_t dim[PE_TMAP_RANK];
    uint64_t stride[PE_TMAP_RANK];                            /* bytes; [0]: elem_size */
    uint32_t box[PE_TMAP_RANK], element_stride[PE_TMAP_RANK]; /* in elements */
    uint32_t count[PE_TMAP_RANK]; /* elements that a copy moves: box / element stride, up */
    /* Im2col: count is {channels, pixels, 1 ...}; the first pixels stand in a box of their own,
     * which the copy goes through along W, H, D, then image by image. */
    bool is_im2col;
    int32_t lower[PE_TMAP_RANK - 2];     /* of the box, W first */
    uint64_t n_starts[PE_TMAP_RANK - 2]; /* places in it, element_stride apart */
} pe_tmap;

/* False, and the rule that the map breaks, or what is not there yet. */
bool pe_tmap_decode(const uint8_t bytes[PE_TMAP_SIZE], pe_tmap *out, char why[256]);
/* Bits of the value that fills elements outside of the tensor. */
uint64_t pe_tmap_fill(const pe_tmap *t);
/* Where the byte at a shared address goes under the swizzle: 16-byte units are exchanged within a
 * line of 128 bytes, by the number of the line (by that of 2 or 4 rows where rows are shorter). */
static inline uint32_t pe_tmap_swizzle(uint32_t swizzle, uint32_t at)
{
    uint32_t mask = (1u << swizzle) - 1u;
    return at ^ (at >> 7 & mask) << 4;
}
/* Bytes within which a swizzle exchanges units. */
static inline uint32_t pe_tmap_swizzle_span(uint32_t swizzle)
{
    return swizzle == 0 ? 1 : swizzle >= 3 ? 128 : 16u << swizzle;
}

#endif
