/* convert_move.c: one side of a way through shared memory: plain accesses, or those of matrices. */
#include <string.h>

#include "ir/convert.h"

enum { LANE_BITS = 5 };

static uint32_t log2_of(uint32_t x)
{
    return x <= 1 ? 0 : pg_log2(x);
}

uint32_t pg_bank_move_cost(const pg_bank_move *m)
{
    return m->banks.n_accesses + m->banks.n_wavefronts;
}

/* The vectors by which the rows of one 8x8 matrix differ, and the register bits of one 32-bit
 * register; false where the layout has too few. */
bool pg_matrix_rows(const pg_layout *l, pg_move_kind kind, const pg_bank_access *access,
                    pg_phase_rows *rows)
{
    const uint32_t *lane = l->basis[PG_LIN_LANE];
    rows->n = 3;
    if (kind == PG_MOVE_MATRIX) {
        memcpy(rows->vec, lane + 2, 3 * sizeof *lane);
        return true;
    }
    rows->vec[0] = l->basis[PG_LIN_REG][access->reg_bits[0]];
    rows->vec[1] = lane[0];
    rows->vec[2] = lane[1];
    return access->n_log2 == 1;
}

/* Register bits of one 32-bit register of a matrix: those with the vectors given, or, transposed,
 * the first that is no replica. */
bool pg_matrix_access(const pg_layout *l, pg_move_kind kind, uint32_t elem_bits,
                      const uint32_t *vec, pg_bank_access *out)
{
    uint32_t n = log2_of(32 / elem_bits);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = 0;
        while (b < l->n_bits[PG_LIN_REG] &&
               (kind == PG_MOVE_MATRIX ? l->basis[PG_LIN_REG][b] != vec[i]
                                       : l->basis[PG_LIN_REG][b] == 0)) {
            b++;
        }
        if (b == l->n_bits[PG_LIN_REG]) {
            return false;
        }
        out->reg_bits[out->n_log2++] = (uint8_t)b;
    }
    return true;
}

/* The vectors of a row of 16 bytes that a matrix instruction of this kind reads; their number, 0 if
 * it cannot. */
uint32_t pg_matrix_vecs(const pg_layout *l, pg_move_kind kind, uint32_t elem_bits, uint32_t vec[4])
{
    const uint32_t *lane = l->basis[PG_LIN_LANE];
    uint32_t n = 0;
    if (l->n_outer != 0 || l->n_bits[PG_LIN_LANE] != LANE_BITS || elem_bits > 32) {
        return 0;
    }
    if (kind == PG_MOVE_MATRIX_TRANS) {
        memcpy(vec, lane + 2, 3 * sizeof *lane);
        return elem_bits == 16 && vec[0] != 0 && vec[1] != 0 && vec[2] != 0 ? 3 : 0;
    }
    for (uint32_t b = 0; b < l->n_bits[PG_LIN_REG] && n < log2_of(32 / elem_bits); b++) {
        if (l->basis[PG_LIN_REG][b] != 0) {
            vec[n++] = l->basis[PG_LIN_REG][b];
        }
    }
    vec[n] = lane[0];
    vec[n + 1] = lane[1];
    return n == log2_of(32 / elem_bits) && lane[0] != 0 && lane[1] != 0 ? n + 2 : 0;
}

static bool is_matrix_bit(const pg_bank_access *a, uint32_t b)
{
    for (uint32_t i = 0; i < a->n_log2; i++) {
        if (a->reg_bits[i] == b) {
            return true;
        }
    }
    return false;
}

/* Everything but the row itself must leave its 16 bytes in place. */
static bool rows_are_aligned(const pg_layout *l, const pg_layout *mem, const uint32_t *vec,
                             uint32_t n)
{
    pg_layout_finder finder;
    pg_layout_finder_init(&finder, mem);
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < l->n_bits[d]; b++) {
            uint32_t index[PG_LIN_DIM_COUNT] = {0}, coord[PG_MAX_RANK] = {0};
            uint32_t found[PG_LIN_DIM_COUNT] = {0};
            bool is_row = false;
            for (uint32_t i = 0; i < n; i++) {
                is_row = is_row || l->basis[d][b] == vec[i];
            }
            index[d] = 1u << b;
            pg_layout_at(l, index, coord);
            if (!is_row && (!pg_layout_find_by(mem, &finder, coord, found) ||
                            found[PG_LIN_OFFSET] % (1u << n) != 0)) {
                return false;
            }
        }
    }
    return true;
}

/* Passes for the eight rows of a matrix in memory with digits: rows that begin in one sixteenth of
 * the banks come one after the other. */
static uint32_t padded_wavefronts(const pg_layout *mem, uint32_t elem_bits,
                                  const pg_phase_rows *rows)
{
    uint32_t n_in[8] = {0}, seen[8] = {0}, n_seen = 0, most = 0;
    for (uint32_t r = 0; r < 8; r++) {
        uint32_t packed = 0, coord[PG_MAX_RANK] = {0}, index[PG_LIN_DIM_COUNT] = {0};
        bool is_known = false;
        for (uint32_t b = 0; b < 3; b++) {
            packed ^= (r >> b & 1) != 0 ? rows->vec[b] : 0;
        }
        for (uint32_t d = 0; d < mem->rank; d++) {
            coord[d] = (packed >> mem->shift[d]) % mem->dims[d];
        }
        if (!pg_layout_find(mem, coord, index)) {
            return UINT32_MAX / 64;
        }
        const uint32_t at = index[PG_LIN_OFFSET] * (elem_bits / 8);
        for (uint32_t i = 0; i < n_seen; i++) {
            is_known = is_known || seen[i] == at;
        }
        if (!is_known) {
            seen[n_seen++] = at;
            const uint32_t n = ++n_in[at / 16 % 8];
            most = n > most ? n : most;
        }
    }
    return most;
}

/* Division of the memory's layout by the tile of a matrix instruction: its rows are the lowest
 * offset bits. */
static bool matrix_move(const pg_layout *l, const pg_layout *mem, pg_move_kind kind,
                        uint32_t elem_bits, pg_bank_move *out)
{
    uint32_t vec[4] = {0}, row_bits = log2_of(128 / elem_bits), n_rest = 0;
    pg_phase_rows rows = {0};
    memset(out, 0, sizeof *out);
    out->kind = kind;
    if (mem->n_bits[PG_LIN_OFFSET] < row_bits) {
        return false;
    }
    uint32_t n = pg_matrix_vecs(l, kind, elem_bits, vec);
    /* Registers may be in another order than the first of them. */
    for (uint32_t i = 0; i < n; i++) {
        bool is_reg = kind == PG_MOVE_MATRIX && i + 2 < n;
        if (is_reg) {
            vec[i] = mem->basis[PG_LIN_OFFSET][i];
        }
        if (vec[i] != mem->basis[PG_LIN_OFFSET][i]) {
            return false;
        }
    }
    if (n != row_bits || !pg_matrix_access(l, kind, elem_bits, vec, &out->access) ||
        !pg_matrix_rows(l, kind, &out->access, &rows) || !rows_are_aligned(l, mem, vec, n)) {
        return false;
    }
    for (uint32_t b = 0; b < l->n_bits[PG_LIN_REG]; b++) {
        if (l->basis[PG_LIN_REG][b] != 0 && !is_matrix_bit(&out->access, b)) {
            if (n_rest < 2) {
                out->matrix_bits[out->n_matrices_log2++] = (uint8_t)b;
            }
            n_rest++;
        }
    }
    out->banks.n_phases = 1u << n_rest;
    out->banks.n_accesses = out->banks.n_phases >> out->n_matrices_log2;
    out->banks.n_wavefronts =
        out->banks.n_phases * (mem->n_outer == 0
                                   ? pg_phase_wavefronts(mem, elem_bits, &rows, row_bits)
                                   : padded_wavefronts(mem, elem_bits, &rows));
    return true;
}

/* Threads that hold the same element must not all store it, and a matrix takes all of a warp. */
static bool has_replicas(const pg_layout *l)
{
    return pg_layout_free_bits(l, PG_LIN_LANE) != 0 || pg_layout_free_bits(l, PG_LIN_WARP) != 0;
}

pg_layout_error pg_bank_move_choose(const pg_layout *regs, const pg_layout *mem, uint32_t elem_bits,
                                    bool is_store, uint32_t flags, pg_bank_move *out)
{
    uint32_t flag = is_store ? PG_CONVERT_STMATRIX : PG_CONVERT_LDMATRIX;
    bool may_use_matrix = (flags & flag) != 0 && !(is_store && has_replicas(regs));
    memset(out, 0, sizeof *out);
    out->kind = PG_MOVE_PLAIN;
    pg_layout_error error = pg_layout_common_access(regs, mem, elem_bits, 16, &out->access);
    if (elem_bits << out->access.n_log2 < 32) {
        out->access.n_log2 = 0; /* two bytes are no access of their own */
    }
    if (error == PG_LAYOUT_OK) {
        error = pg_layout_banks(regs, mem, elem_bits, &out->access, &out->banks);
    }
    for (pg_move_kind k = PG_MOVE_MATRIX; may_use_matrix && k <= PG_MOVE_MATRIX_TRANS; k++) {
        pg_bank_move m;
        if (matrix_move(regs, mem, k, elem_bits, &m) &&
            pg_bank_move_cost(&m) < pg_bank_move_cost(out)) {
            *out = m;
        }
    }
    return error;
}
