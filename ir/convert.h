/* convert.h: how a tile goes from one register layout to another: layouts in, plan out. A plan is
 * data; nothing here knows of operations or PTX.
 *
 *   REGISTERS   every thread holds what it needs: register r of the result is another of its own
 *   MOVMATRIX   8x8 matrices of 16-bit elements turn over within a warp
 *   SHUFFLE     rounds of a shuffle within each warp; in round i, lane s offers one register and
 *               lane d takes from one lane, into one register: all linear in (i, lane)
 *   SHARED      through shared memory, in a layout without bank conflicts where there is one
 *
 * The cheapest is taken by the figures of `cost` (issue slots of a warp). Destinations that hold
 * the same element are all served. */
#ifndef PG_IR_CONVERT_H
#define PG_IR_CONVERT_H

#include "ir/layout_access.h"

typedef enum pg_convert_kind {
    PG_CONVERT_REGISTERS,
    PG_CONVERT_MOVMATRIX,
    PG_CONVERT_SHUFFLE,
    PG_CONVERT_SHARED,
    PG_CONVERT_KIND_COUNT
} pg_convert_kind;

enum { /* what the target has, and what is not wanted */
       PG_CONVERT_LDMATRIX = 1,
       PG_CONVERT_STMATRIX = 2,
       PG_CONVERT_HAS_MOVMATRIX = 4,
       PG_CONVERT_NO_SHUFFLE = 8,
       PG_CONVERT_TIE = 16 /* times n: pass over n of the memory layouts that cost the same */
};

/* A shuffle moves 32 bits: 2^n_pack_log2 elements, those of the register bits listed. Register
 * numbers below are of the first element. */
typedef struct pg_shuffle {
    uint8_t n_pack_log2;
    uint8_t from_pack[2], to_pack[2];
    uint8_t n_round_bits; /* 2^n rounds */
    uint32_t src_lane_of_round[16], src_lane_of_lane[5];
    uint32_t offer_of_round[16], offer_of_lane[5];
    uint32_t take_of_round[16], take_of_lane[5];
} pg_shuffle;

uint32_t pg_shuffle_source(const pg_shuffle *s, uint32_t round, uint32_t lane);
uint32_t pg_shuffle_offered(const pg_shuffle *s, uint32_t round,
                            uint32_t lane); /* register of from */
uint32_t pg_shuffle_taken(const pg_shuffle *s, uint32_t round, uint32_t lane); /* register of to */

typedef enum pg_move_kind {
    PG_MOVE_PLAIN,       /* ld, st of access.n_log2 elements */
    PG_MOVE_MATRIX,      /* ldmatrix, stmatrix; a matrix has 8 rows of 16 bytes */
    PG_MOVE_MATRIX_TRANS /* their .trans form */
} pg_move_kind;

typedef struct pg_bank_move {
    pg_move_kind kind;
    /* PLAIN: the registers of an access. Else: of one 32-bit register of a matrix. */
    pg_bank_access access;
    uint8_t n_matrices_log2; /* .x1, .x2, .x4 */
    uint8_t matrix_bits[2];  /* register bits that number them */
    pg_bank_use banks;
} pg_bank_move;

typedef struct pg_convert_plan {
    pg_convert_kind kind;
    uint32_t elem_bits;
    uint32_t cost;
    bool is_in_warp; /* no other warp's elements are needed: a warp barrier will do */
    pg_layout map;   /* index of `to` -> index of `from`; not for SHARED */
    pg_shuffle shuffle;
    pg_layout mem;    /* SHARED: offset -> coordinate */
    uint32_t n_bytes; /* of it */
    pg_bank_move store, load;
} pg_convert_plan;

/* convert_move.c: how a register layout is stored to, or loaded from, memory of a layout: the
 * cheapest of plain and matrix accesses. Elements below 8 bits take one byte. */
pg_layout_error pg_bank_move_choose(const pg_layout *regs, const pg_layout *mem, uint32_t elem_bits,
                                    bool is_store, uint32_t flags, pg_bank_move *out);
/* The same for the types of a tile and a buffer. */
pg_layout_error pg_bank_move_of_types(const pg_types *t, pg_type tile, pg_type buf,
                                      uint32_t n_warps, bool is_store, uint32_t sm,
                                      pg_bank_move *out);
uint32_t pg_bank_move_cost(const pg_bank_move *m); /* issue slots */
/* For the search of a memory layout. The vectors of a row of 16 bytes that a matrix instruction of
 * this kind moves; their number, 0 if it cannot. */
uint32_t pg_matrix_vecs(const pg_layout *l, pg_move_kind kind, uint32_t elem_bits, uint32_t vec[4]);
/* Register bits of one 32-bit register of a matrix, for these vectors. */
bool pg_matrix_access(const pg_layout *l, pg_move_kind kind, uint32_t elem_bits,
                      const uint32_t *vec, pg_bank_access *out);
/* The vectors by which the rows of one matrix differ. */
bool pg_matrix_rows(const pg_layout *l, pg_move_kind kind, const pg_bank_access *access,
                    pg_phase_rows *rows);

/* Elements of 8, 16, 32 or 64 bits. Errors: SHAPE (different tiles), TOO_BIG (more than 2^16
 * elements through shared memory). */
pg_layout_error pg_convert_plan_make(const pg_layout *from, const pg_layout *to, uint32_t elem_bits,
                                     uint32_t flags, pg_convert_plan *out);
/* convert_copy.c: the plan of an operation `copy` on its target, and of any two encodings of a
 * tile. Elements below 8 bits go as bytes, pointers as 64 bits. */
uint32_t pg_convert_flags(uint32_t sm);
pg_layout_error pg_convert_of_types(const pg_types *t, pg_type from, pg_type to, uint32_t n_warps,
                                    uint32_t flags, pg_convert_plan *out);
/* An encoding of buffers of this shape with a memory layout: kind smem where one says the same. */
pg_layout_error pg_enc_of_memory(pg_types *t, const pg_layout *mem, uint32_t elem_bits,
                                 pg_enc *out);

/* REGISTERS: the register of `from` for one of `to`. */
uint32_t pg_convert_source_reg(const pg_convert_plan *plan, uint32_t reg);

/* convert_shuffle.c: false if the warp lacks elements, or `from` has more registers. */
bool pg_shuffle_find(const pg_layout *from, const pg_layout *to, uint32_t elem_bits,
                     pg_shuffle *out);

#endif
