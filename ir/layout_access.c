/* layout_access.c: widest common access, bank conflicts, conflict-free shared memory. */
#include "ir/layout_access.h"

#include <string.h>

#include "ir/gf2.h"

enum { BANKS = 32, WORD_BITS = 32, LANES = 32 };

static bool same_shape(const pg_layout *a, const pg_layout *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

/* Bits of an element in memory: no less than a byte. */
static uint32_t memory_bits(uint32_t elem_bits)
{
    return elem_bits < 8 ? 8 : elem_bits;
}

/* log2 of the elements in so many bits; 0 where an element is as wide or wider. */
static uint32_t elems_log2(uint32_t bits, uint32_t elem_bits)
{
    return bits > elem_bits ? pg_log2(bits / elem_bits) : 0;
}

uint32_t pg_phase_lanes(uint32_t access_bytes)
{
    return access_bytes >= 16 ? 8 : access_bytes >= 8 ? 16 : 32;
}

/* ---- offsets --------------------------------------------------------------------------------- */

/* A layout of memory that many offsets are asked of. */
typedef struct memory {
    const pg_layout *l;
    pg_layout_finder finder;
} memory;

static memory memory_of(const pg_layout *l)
{
    memory m;
    m.l = l;
    pg_layout_finder_init(&m.finder, l);
    return m;
}

static bool offset_at(const pg_layout *regs, const memory *mem,
                      const uint32_t index[PG_LIN_DIM_COUNT], uint32_t *out)
{
    uint32_t coord[PG_MAX_RANK] = {0}, found[PG_LIN_DIM_COUNT];
    pg_layout_at(regs, index, coord);
    if (!pg_layout_find_by(mem->l, &mem->finder, coord, found)) {
        return false;
    }
    *out = found[PG_LIN_OFFSET];
    return true;
}

static bool offset_of_step(const pg_layout *regs, const memory *mem, uint32_t d, uint32_t step,
                           uint32_t *out)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    index[d] = step;
    return offset_at(regs, mem, index, out);
}

/* Lowest bit of an offset that some memory digit or some step of an index moves, other than those
 * of the access: the log2 of the alignment that is left. */
static uint32_t low_log2(uint32_t x, uint32_t most)
{
    uint32_t low = x == 0 ? most : pg_ctz(x);
    return low < most ? low : most;
}

/* The digits of mem must not break an access: they begin above it, in the offset and, so that the
 * rest of a coordinate is a sum of vectors, in the coordinate or not at all. */
static uint32_t limit_of_mem(const pg_layout *mem, uint32_t most)
{
    for (uint32_t i = 0; i < mem->n_outer; i++) {
        most = low_log2(mem->outer[i].in_stride, most);
    }
    return most;
}

static bool is_access_bit(const pg_bank_access *a, uint32_t d, uint32_t b)
{
    for (uint32_t i = 0; d == PG_LIN_REG && i < a->n_log2; i++) {
        if (a->reg_bits[i] == b) {
            return true;
        }
    }
    return false;
}

pg_layout_error pg_layout_common_access(const pg_layout *regs, const pg_layout *mem,
                                        uint32_t elem_bits, uint32_t max_bytes, pg_bank_access *out)
{
    uint32_t offset[PG_LIN_DIM_COUNT][16];
    memset(out, 0, sizeof *out);
    if (!same_shape(regs, mem)) {
        return PG_LAYOUT_SHAPE;
    }
    const memory m = memory_of(mem);
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < regs->n_bits[d]; b++) {
            if (!offset_of_step(regs, &m, d, 1u << b, &offset[d][b])) {
                return PG_LAYOUT_NOT_ONTO;
            }
        }
    }
    uint32_t most = elems_log2((max_bytes > 16 ? 16 : max_bytes) * 8, memory_bits(elem_bits));
    most = limit_of_mem(mem, most < PG_MAX_ACCESS_BITS ? most : PG_MAX_ACCESS_BITS);
    while (out->n_log2 < most) {
        uint32_t b = 0;
        while (b < regs->n_bits[PG_LIN_REG] && offset[PG_LIN_REG][b] != 1u << out->n_log2) {
            b++;
        }
        if (b == regs->n_bits[PG_LIN_REG]) {
            break;
        }
        out->reg_bits[out->n_log2++] = (uint8_t)b;
    }
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < regs->n_bits[d]; b++) {
            if (!is_access_bit(out, d, b)) {
                out->n_log2 = (uint8_t)low_log2(offset[d][b], out->n_log2);
            }
        }
    }
    for (uint32_t i = 0; i < regs->n_outer; i++) {
        for (uint32_t k = 1; k < regs->outer[i].extent; k++) {
            uint32_t at = 0;
            if (!offset_of_step(regs, &m, regs->outer[i].in_dim, k * regs->outer[i].in_stride,
                                &at)) {
                return PG_LAYOUT_NOT_ONTO;
            }
            out->n_log2 = (uint8_t)low_log2(at, out->n_log2);
        }
    }
    /* A bit that was taken for a wider access moves the offset all the more. */
    return PG_LAYOUT_OK;
}

/* ---- bank conflicts -------------------------------------------------------------------------- */

/* Register bits that an access loop runs over: not those of the access, no replicas. */
static uint32_t loop_bits(const pg_layout *regs, const pg_bank_access *a)
{
    uint32_t bits = 0;
    for (uint32_t b = 0; b < regs->n_bits[PG_LIN_REG]; b++) {
        bool is_loop = !is_access_bit(a, PG_LIN_REG, b) && regs->basis[PG_LIN_REG][b] != 0;
        bits |= is_loop ? 1u << b : 0;
    }
    return bits;
}

/* Wavefronts of the accesses at the offsets given: most different words in one bank. */
static uint32_t wavefronts_at(const uint32_t *offsets, uint32_t n, uint32_t access_bits,
                              uint32_t elem_bits)
{
    uint32_t words[BANKS][LANES], n_words[BANKS] = {0}, most = 1;
    uint32_t per_access = access_bits > WORD_BITS ? access_bits / WORD_BITS : 1;
    for (uint32_t i = 0; i < n * per_access; i++) {
        uint64_t first = (uint64_t)offsets[i / per_access] * elem_bits / WORD_BITS;
        uint32_t word = (uint32_t)first + i % per_access, bank = word % BANKS, at = 0;
        while (at < n_words[bank] && words[bank][at] != word) {
            at++;
        }
        if (at == n_words[bank] && at < LANES) {
            words[bank][n_words[bank]++] = word;
            most = n_words[bank] > most ? n_words[bank] : most;
        }
    }
    return most;
}

/* One access of a warp, whose first register is `reg`. */
static bool count_access(const pg_layout *regs, const memory *mem, uint32_t elem_bits,
                         const pg_bank_access *a, uint32_t reg, pg_bank_use *out)
{
    uint32_t access_bits = elem_bits << a->n_log2;
    uint32_t lanes = pg_phase_lanes(access_bits / 8);
    for (uint32_t first = 0; first < LANES; first += lanes) {
        uint32_t offsets[LANES];
        for (uint32_t l = 0; l < lanes; l++) {
            uint32_t index[PG_LIN_DIM_COUNT] = {0};
            index[PG_LIN_REG] = reg;
            index[PG_LIN_LANE] = first + l;
            if (!offset_at(regs, mem, index, &offsets[l])) {
                return false;
            }
        }
        out->n_wavefronts += wavefronts_at(offsets, lanes, access_bits, elem_bits);
        out->n_phases++;
    }
    out->n_accesses++;
    return true;
}

/* Is `reg` the first register of an access: no bits of the access, none of replicas. */
static bool begins_access(const pg_layout *regs, uint32_t loops, uint32_t reg)
{
    uint32_t rest = reg;
    for (uint32_t i = regs->n_outer; i-- > 0;) {
        const pg_outer_digit *o = &regs->outer[i];
        if (o->in_dim == PG_LIN_REG && o->in_stride != 0 && rest >= o->in_stride) {
            uint32_t q = rest / o->in_stride < o->extent ? rest / o->in_stride : o->extent - 1;
            rest -= q * o->in_stride;
            if (q != 0 && o->stride == 0) {
                return false;
            }
        }
    }
    return (rest & ~loops) == 0;
}

pg_layout_error pg_layout_count_banks(const pg_layout *regs, const pg_layout *mem,
                                      uint32_t elem_bits, const pg_bank_access *access,
                                      pg_bank_use *out)
{
    memset(out, 0, sizeof *out);
    uint32_t loops = loop_bits(regs, access);
    uint32_t n = pg_layout_size(regs, PG_LIN_REG);
    const memory m = memory_of(mem);
    for (uint32_t reg = 0; reg < n; reg++) {
        if (begins_access(regs, loops, reg) &&
            !count_access(regs, &m, memory_bits(elem_bits), access, reg, out)) {
            return PG_LAYOUT_NOT_ONTO;
        }
    }
    return PG_LAYOUT_OK;
}

/* Offset of a packed coordinate as a sum of offset bits. */
static uint32_t linear_offset(const pg_gf2 *columns, uint32_t coord)
{
    uint32_t offset = 0;
    (void)pg_gf2_reduce(columns, coord, &offset);
    return offset;
}

/* The offset bits of a linear memory layout as columns; false if some hold nothing. */
static bool columns_of(const pg_layout *mem, pg_gf2 *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t b = 0; b < mem->n_bits[PG_LIN_OFFSET]; b++) {
        if (!pg_gf2_add(out, mem->basis[PG_LIN_OFFSET][b])) {
            return false;
        }
    }
    return true;
}

uint32_t pg_phase_wavefronts(const pg_layout *mem, uint32_t elem_bits, const pg_phase_rows *rows,
                             uint32_t n_vec)
{
    pg_gf2 columns, words = {0}, banks = {0};
    uint32_t bits = memory_bits(elem_bits);
    uint32_t skip = elems_log2(WORD_BITS, bits), in_access = n_vec;
    if (!columns_of(mem, &columns)) {
        return 0;
    }
    /* Of a lane's access: its words; an element of 8 bytes is two. */
    uint32_t extra = bits > WORD_BITS ? pg_log2(bits / WORD_BITS) : 0;
    for (uint32_t b = skip; b < in_access + extra; b++) {
        (void)pg_gf2_add(&words, 1u << (b - skip));
        (void)pg_gf2_add(&banks, (1u << (b - skip)) % BANKS);
    }
    for (uint32_t r = 0; r < rows->n; r++) {
        uint32_t word = linear_offset(&columns, rows->vec[r]) << extra >> skip;
        (void)pg_gf2_add(&words, word);
        (void)pg_gf2_add(&banks, word % BANKS);
    }
    return words.n > banks.n ? 1u << (words.n - banks.n) : 1;
}

pg_layout_error pg_layout_banks(const pg_layout *regs, const pg_layout *mem, uint32_t elem_bits,
                                const pg_bank_access *access, pg_bank_use *out)
{
    pg_gf2 columns;
    memset(out, 0, sizeof *out);
    if (!same_shape(regs, mem)) {
        return PG_LAYOUT_SHAPE;
    }
    bool is_linear = regs->n_outer == 0 && mem->n_outer == 0 && regs->n_bits[PG_LIN_LANE] == 5 &&
                     columns_of(mem, &columns);
    if (!is_linear) {
        return pg_layout_count_banks(regs, mem, elem_bits, access, out);
    }
    uint32_t bytes = (memory_bits(elem_bits) << access->n_log2) / 8;
    uint32_t lanes = pg_phase_lanes(bytes);
    pg_phase_rows rows = {pg_log2(lanes), {0}};
    memcpy(rows.vec, regs->basis[PG_LIN_LANE], rows.n * sizeof rows.vec[0]);
    /* What registers, other phases and warps add is the same in all lanes: it permutes the banks.
     */
    out->n_accesses = 1u << pg_popcount(loop_bits(regs, access));
    out->n_phases = out->n_accesses * (LANES / lanes);
    out->n_wavefronts = out->n_phases * pg_phase_wavefronts(mem, elem_bits, &rows, access->n_log2);
    return PG_LAYOUT_OK;
}

/* ---- swizzle --------------------------------------------------------------------------------- */

/* Vectors taken one after the other, each out of the span of those before. */
typedef struct taking {
    const pg_layout *side[2];
    uint32_t total; /* coordinate bits */
    pg_gf2 space;
    uint32_t *vec;
    uint32_t n, most;
} taking;

static void take(taking *t, uint32_t v)
{
    if (t->n < t->most && pg_gf2_add(&t->space, v)) {
        t->vec[t->n++] = v;
    }
}

/* Completes by vectors of the layouts, so that registers, lanes and warps stay aligned to accesses,
 * then by any. */
static void complete(taking *t)
{
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
            for (uint32_t b = 0; b < t->side[s]->n_bits[d]; b++) {
                take(t, t->side[s]->basis[d][b]);
            }
        }
    }
    for (uint32_t b = 0; b < t->total; b++) {
        take(t, 1u << b);
    }
}

/* Vectors whose span is not to be reached. */
static void avoid(taking *t, const uint32_t *vec, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        (void)pg_gf2_add(&t->space, vec[i]);
    }
}

/* The row vectors of one side that neither the access nor the other side spans. */
static uint32_t rows_alone(const uint32_t *vec, uint32_t n_vec, const pg_phase_rows *own,
                           const pg_phase_rows *other, uint32_t out[5])
{
    pg_gf2 known = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_vec; i++) {
        (void)pg_gf2_add(&known, vec[i]);
    }
    for (uint32_t i = 0; i < other->n; i++) {
        (void)pg_gf2_add(&known, other->vec[i]);
    }
    for (uint32_t i = 0; i < own->n; i++) {
        if (pg_gf2_add(&known, own->vec[i])) {
            out[n++] = own->vec[i];
        }
    }
    return n;
}

/* Vectors that may lie in one bank: no sum of them is a difference of two rows of a phase, on
 * either side. Those that neither side's rows reach, then sums of a row of one side with one of the
 * other; what is wanted beyond costs conflicts. */
static void choose_segments(taking *t, const uint32_t *vec, uint32_t n_vec,
                            const pg_phase_rows rows[2])
{
    uint32_t alone[2][5] = {{0}};
    uint32_t n_a = rows_alone(vec, n_vec, &rows[0], &rows[1], alone[0]);
    uint32_t n_b = rows_alone(vec, n_vec, &rows[1], &rows[0], alone[1]);
    avoid(t, vec, n_vec);
    avoid(t, rows[0].vec, rows[0].n);
    avoid(t, rows[1].vec, rows[1].n);
    complete(t);
    memset(&t->space, 0, sizeof t->space);
    avoid(t, vec, n_vec);
    avoid(t, t->vec, t->n);
    for (uint32_t i = 0; i < n_a && i < n_b; i++) {
        take(t, alone[0][i] ^ alone[1][i]);
    }
    complete(t);
}

/* All coordinate bits of a linear layout's shape; 0 if an extent is no power of two. */
static uint32_t total_bits(const pg_layout *l)
{
    uint32_t total = 0;
    for (uint32_t d = 0; d < l->rank; d++) {
        if (!pg_is_pow2(l->dims[d])) {
            return 0;
        }
        total += pg_log2(l->dims[d]);
    }
    return total;
}

pg_layout_error pg_layout_swizzle(const pg_layout *a, const pg_layout *b, const uint32_t *vec,
                                  uint32_t n_vec, const pg_phase_rows rows[2], uint32_t elem_bits,
                                  pg_layout *out)
{
    uint32_t seg[32] = {0};
    uint32_t total = total_bits(a);
    memset(out, 0, sizeof *out);
    if (!same_shape(a, b)) {
        return PG_LAYOUT_SHAPE;
    }
    if (a->n_outer != 0 || b->n_outer != 0 || total == 0) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    if (total > 16) {
        return PG_LAYOUT_TOO_BIG;
    }
    uint32_t line = elems_log2(BANKS * WORD_BITS, memory_bits(elem_bits));
    line = line < n_vec ? n_vec : line;
    uint32_t n_seg = total > line ? total - line : 0;
    taking segments = {.side = {a, b}, .total = total, .vec = seg, .most = n_seg};
    choose_segments(&segments, vec, n_vec, rows);
    pg_layout_error error = pg_layout_begin(out, a->rank, a->dims);
    uint32_t *basis = out->basis[PG_LIN_OFFSET];
    taking banks = {.side = {a, b}, .total = total, .vec = basis, .most = n_vec};
    for (uint32_t i = 0; i < n_vec; i++) {
        take(&banks, vec[i]);
    }
    if (banks.n != n_vec) {
        return PG_LAYOUT_NOT_ONE_TO_ONE;
    }
    avoid(&banks, seg, n_seg);
    banks.most = total - n_seg;
    complete(&banks);
    memcpy(basis + banks.most, seg, n_seg * sizeof *seg);
    out->n_bits[PG_LIN_OFFSET] = (uint8_t)total;
    return error != PG_LAYOUT_OK ? error : pg_layout_end(out);
}
