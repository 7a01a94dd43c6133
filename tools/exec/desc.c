/* desc.c: the layouts of matrix descriptors, from the ISA's "Shared Memory Matrix Layout".
 *
 * Fields, in bits: 0-13 start address / 16, 16-29 leading-dimension byte offset (LBO) / 16, 32-45
 * stride-dimension byte offset (SBO) / 16, 49-51 base offset, 62-63 swizzle: 0 none, 1 128 bytes,
 * 2 64 bytes, 3 32 bytes.
 *
 * L1  Groups of 8 lines lie SBO apart, but MN-major without swizzle: LBO.
 * L2  The 8 lines of a group lie one row width apart: 16 bytes without swizzle.
 * L3  Pieces of one line fill its row; behind the row's end the next lies LBO further, but MN-major
 *     without swizzle: SBO.
 * L4  Swizzle exchanges pieces: bits 4-6 of the address are changed by the number of its 128-byte
 *     line (bits 7-9) minus the base offset: all three bits, the low two, the low one for 128, 64,
 *     32 bytes. The whole address counts, so that a start address may move within a row (along K).
 * L5  Addresses have 18 bits. */
#include "tools/exec/desc.h"

enum { ADDRESS = 0x3FFFF, GROUP = 8 };

pe_desc pe_desc_of(uint64_t bits, bool is_k_major)
{
    static const uint32_t widths[] = {PE_PIECE, 128, 64, 32};
    return (pe_desc){.start = (uint32_t)(bits & 0x3FFF) * PE_PIECE,
                     .lbo = (uint32_t)(bits >> 16 & 0x3FFF) * PE_PIECE,
                     .sbo = (uint32_t)(bits >> 32 & 0x3FFF) * PE_PIECE,
                     .base = (uint32_t)(bits >> 49 & 7),
                     .width = widths[bits >> 62],
                     .is_k_major = is_k_major};
}

uint32_t pe_desc_piece(const pe_desc *d, uint32_t line, uint32_t piece)
{
    bool is_exchanged = !d->is_k_major && d->width == PE_PIECE;
    uint32_t group_step = is_exchanged ? d->lbo : d->sbo;
    uint32_t row_step = is_exchanged ? d->sbo : d->lbo;
    uint32_t per_row = d->width / PE_PIECE;
    uint32_t at = d->start + line / GROUP * group_step + line % GROUP * d->width +
                  piece / per_row * row_step + piece % per_row * PE_PIECE;
    at &= ADDRESS;
    return at ^ (((at >> 7) - d->base) & (per_row - 1)) << 4;
}
