/* desc.h: matrix descriptors of wgmma: where the 16-byte pieces of a matrix lie in shared memory.
 */
#ifndef PTXEXEC_DESC_H
#define PTXEXEC_DESC_H

#include <stdbool.h>
#include <stdint.h>

enum { PE_PIECE = 16 }; /* bytes that lie together, whatever the layout */

/* Bits of a descriptor that mean nothing on sm_90. */
#define PE_DESC_RESERVED UINT64_C(0x3FF1C000C000C000)

typedef struct pe_desc {
    uint32_t start, lbo, sbo; /* bytes */
    uint32_t base;            /* base offset, 0 to 7 */
    uint32_t width;           /* bytes of a swizzled row: 32, 64, 128; 16: none */
    bool is_k_major;          /* K runs along the pieces, else M or N */
} pe_desc;

pe_desc pe_desc_of(uint64_t bits, bool is_k_major);
/* Shared address of a piece. K-major: line = row (M or N), piece = 16 bytes along K.
 * Else: line = k, piece = 8 elements along M or N. */
uint32_t pe_desc_piece(const pe_desc *d, uint32_t line, uint32_t piece);

#endif
