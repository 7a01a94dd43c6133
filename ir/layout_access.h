/* layout_access.h: what an access of a warp to shared memory costs: the widest access that a
 * register layout and a memory layout share, bank conflicts, and a memory layout without them.
 *
 * Memory layouts map dim OFFSET (elements) to the coordinate. Shared memory has 32 banks of 4
 * bytes; a warp's access of 8 bytes per lane runs in two phases of 16 lanes, one of 16 bytes in
 * four phases of 8; in a phase, different words of one bank take one wavefront each. */
#ifndef PG_IR_LAYOUT_ACCESS_H
#define PG_IR_LAYOUT_ACCESS_H

#include "ir/layout.h"

enum { PG_MAX_ACCESS_BITS = 4 }; /* 16 bytes of 8-bit elements */

/* 2^n_log2 registers, those of the register bits listed, hold consecutive, aligned elements; bit i
 * moves the offset by 2^i. */
typedef struct pg_bank_access {
    uint8_t n_log2;
    uint8_t reg_bits[PG_MAX_ACCESS_BITS];
} pg_bank_access;

/* Of all accesses of one warp (warp 0) to its registers' elements. */
typedef struct pg_bank_use {
    uint32_t n_accesses;
    uint32_t n_phases;     /* wavefronts without conflicts */
    uint32_t n_wavefronts; /* n_wavefronts - n_phases: what the conflicts cost */
} pg_bank_use;

/* Lanes that are served together. */
uint32_t pg_phase_lanes(uint32_t access_bytes);
/* The widest access up to max_bytes (16 at most). Registers may be permuted; alignment holds in all
 * lanes, warps and registers. Errors: SHAPE, NOT_ONTO: the memory does not hold the tile. */
pg_layout_error pg_layout_common_access(const pg_layout *regs, const pg_layout *mem,
                                        uint32_t elem_bits, uint32_t max_bytes,
                                        pg_bank_access *out);
/* Cost for all of a warp's registers by such accesses; replicas in registers are left out.
 * Computed on the vectors of linear layouts, in O(bits^2); else by enumeration. */
pg_layout_error pg_layout_banks(const pg_layout *regs, const pg_layout *mem, uint32_t elem_bits,
                                const pg_bank_access *access, pg_bank_use *out);
/* The same, always by enumeration. */
pg_layout_error pg_layout_count_banks(const pg_layout *regs, const pg_layout *mem,
                                      uint32_t elem_bits, const pg_bank_access *access,
                                      pg_bank_use *out);

/* One side of a swizzle search: the vectors by which lanes of one phase address different rows. */
typedef struct pg_phase_rows {
    uint32_t n;
    uint32_t vec[5];
} pg_phase_rows;

/* A memory layout whose lowest offset bits are the n_vec vectors given (packed coordinates), and in
 * which neither side has bank conflicts, where that is possible: their span and the rows of a phase
 * of either side have at most 128 bytes ("Linear Layouts", optimal swizzling). `a` and `b` are the
 * register layouts of the two sides. Linear layouts of up to 2^16 elements. */
pg_layout_error pg_layout_swizzle(const pg_layout *a, const pg_layout *b, const uint32_t *vec,
                                  uint32_t n_vec, const pg_phase_rows rows[2], uint32_t elem_bits,
                                  pg_layout *out);

/* Wavefronts of one phase: rows that lanes address, each of 2^n_vec consecutive elements. Linear
 * memory. */
uint32_t pg_phase_wavefronts(const pg_layout *mem, uint32_t elem_bits, const pg_phase_rows *rows,
                             uint32_t n_vec);

#endif
