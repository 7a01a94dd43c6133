/* layouts_mma.c: the layouts of matrix operations on register tiles (mma.sync).
 *
 * One instruction multiplies 16 x K by K x 8, K = 32 bytes of elements. The fragments (PTX ISA,
 * "Matrix Fragments for mma"), for thread (lane l), `per` elements to a 32-bit word:
 *
 *   accumulator   register bits (0, 1) (8, 0)            lane bits (0, 2) (0, 4) | rows 1 2 4
 *   A  row, k     `per` along k, (8, 0), (0, 4 per)      lane bits k per, 2 per  | rows 1 2 4
 *   B  k, column  `per` along k, (4 per, 0)              lane bits k per, 2 per  | columns 1 2 4
 *
 * What is left of a warp's part goes over further registers; the operands' follow the
 * accumulator's, so that each warp holds what its part of the result needs. */
#include "sched/layouts.h"

enum { ROWS = 16, COLS = 8 };

/* Adds digits while they fit; the first error stays. */
typedef struct digits {
    pg_layout *l;
    pg_layout_error error;
} digits;

static void add(digits *b, pg_lin_dim d, uint32_t extent, uint32_t dim, uint32_t stride)
{
    if (b->error == PG_LAYOUT_OK && extent > 1) {
        b->error = pg_layout_add_digit(b->l, d, extent, dim, stride);
    }
}

static digits begin(pg_layout *l, const pg_type_info *t)
{
    uint32_t dims[PG_MAX_RANK] = {0};
    for (uint32_t d = 0; d < t->rank; d++) {
        dims[d] = (uint32_t)t->dims[d];
    }
    return (digits){l, pg_layout_begin(l, t->rank, dims)};
}

/* How many of the warps go along the rows: least operand bytes per warp; a warp has at least one
 * fragment. The others go along the columns, and where these are used up hold replicas. */
static uint32_t warps_of_rows(uint32_t rows, uint32_t cols, uint32_t n_warps)
{
    uint32_t best = 1, least = UINT32_MAX;
    for (uint32_t m = 1; m <= n_warps && n_warps % m == 0 && rows / m >= ROWS; m *= 2) {
        const uint32_t most = cols / COLS;
        const uint32_t n = n_warps / m < most ? n_warps / m : most;
        const uint32_t part = rows / m + cols / n + (m * n < n_warps ? rows + cols : 0);
        if (part <= least) {
            least = part;
            best = m;
        }
    }
    return best;
}

static pg_layout_error accumulator(const pg_type_info *t, uint32_t n_warps, pg_layout *out)
{
    if (t->rank != 2 || t->dims[0] < ROWS || t->dims[1] < COLS) {
        return PG_LAYOUT_SHAPE;
    }
    const uint32_t rows = (uint32_t)t->dims[0], cols = (uint32_t)t->dims[1];
    const uint32_t m = warps_of_rows(rows, cols, n_warps);
    uint32_t n = 1;
    while ((n_warps / m) % (2 * n) == 0 && cols / (2 * n) >= COLS) {
        n *= 2;
    }
    digits b = begin(out, t);
    add(&b, PG_LIN_REG, 2, 1, 1);
    add(&b, PG_LIN_REG, 2, 0, 8);
    add(&b, PG_LIN_REG, cols / n / COLS, 1, COLS);
    add(&b, PG_LIN_REG, rows / m / ROWS, 0, ROWS);
    add(&b, PG_LIN_LANE, 4, 1, 2);
    add(&b, PG_LIN_LANE, 8, 0, 1);
    add(&b, PG_LIN_WARP, m, 0, rows / m);
    add(&b, PG_LIN_WARP, n, 1, cols / n);
    add(&b, PG_LIN_WARP, n_warps / m / n, 0, 0);
    return b.error != PG_LAYOUT_OK ? b.error : pg_layout_end(out);
}

/* What index bit `bit` of the accumulator adds to dimension `dim`. */
static uint32_t adds(const pg_layout *l, pg_lin_dim d, uint32_t bit, uint32_t dim)
{
    return (l->basis[d][bit] >> l->shift[dim]) & (l->dims[dim] - 1);
}

static bool is_accumulator(const pg_layout *l)
{
    static const uint32_t lanes[5][2] = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
    bool is_good = l->rank == 2 && l->n_outer == 0 && l->n_bits[PG_LIN_LANE] == 5 &&
                   l->n_bits[PG_LIN_REG] >= 2;
    for (uint32_t b = 0; is_good && b < 5; b++) {
        is_good =
            adds(l, PG_LIN_LANE, b, 0) == lanes[b][0] && adds(l, PG_LIN_LANE, b, 1) == lanes[b][1];
    }
    return is_good && adds(l, PG_LIN_REG, 0, 0) == 0 && adds(l, PG_LIN_REG, 0, 1) == 1 &&
           adds(l, PG_LIN_REG, 1, 0) == 8 && adds(l, PG_LIN_REG, 1, 1) == 0;
}

/* Operand `at` (0: A, 1: B) of a matrix operation with this accumulator. `side` is the operand's
 * dimension that the result has too, at its own dimension `at`. */
static pg_layout_error operand(const pg_layout *acc, const pg_type_info *t, uint32_t at,
                               uint32_t side, pg_layout *out)
{
    const uint32_t bits = pg_elem_infos[t->elem].bits;
    const uint32_t per = bits == 0 || bits > 32 ? 0 : 32 / bits;
    if (!is_accumulator(acc) || t->rank != 2 || per == 0 || (uint32_t)t->dims[1 - side] < 8 * per) {
        return PG_LAYOUT_SHAPE;
    }
    const uint32_t k = 1 - side, n_slices = (uint32_t)t->dims[k] / (8 * per);
    digits b = begin(out, t);
    uint32_t bit = 2;
    add(&b, PG_LIN_REG, per, k, 1);
    if (at == 0) {
        add(&b, PG_LIN_REG, 2, side, 8);
    }
    add(&b, PG_LIN_REG, 2, k, 4 * per);
    if (at == 1 && acc->n_bits[PG_LIN_REG] > 2 && adds(acc, PG_LIN_REG, 2, 1) == COLS) {
        add(&b, PG_LIN_REG, 2, side, COLS); /* two fragments of B are one ldmatrix */
        bit = 3;
    }
    add(&b, PG_LIN_REG, n_slices, k, 8 * per);
    for (; bit < acc->n_bits[PG_LIN_REG]; bit++) {
        add(&b, PG_LIN_REG, adds(acc, PG_LIN_REG, bit, at) != 0 ? 2 : 1, side,
            adds(acc, PG_LIN_REG, bit, at));
    }
    add(&b, PG_LIN_LANE, 4, k, per);
    add(&b, PG_LIN_LANE, 8, side, 1);
    for (bit = 0; bit < acc->n_bits[PG_LIN_WARP]; bit++) {
        add(&b, PG_LIN_WARP, 2, side, adds(acc, PG_LIN_WARP, bit, at));
    }
    return b.error != PG_LAYOUT_OK ? b.error : pg_layout_end(out);
}

pg_enc pg_layouts_accumulator(pg_layouts *l, const pg_inst *mma)
{
    pg_layout layout;
    const uint32_t n_warps = pg_inst_warps(mma);
    const pg_type type = pg_val_type(l->k, mma->out[0]);
    const pg_layout_error error = accumulator(pg_type_get(l->types, type), n_warps, &layout);
    return pg_layouts_of_layout(l, mma, type, &layout, error);
}

pg_enc pg_layouts_operand(pg_layouts *l, const pg_inst *mma, uint32_t at, pg_enc acc)
{
    pg_layout result, layout;
    const uint32_t n_warps = pg_inst_warps(mma);
    const pg_type sum = pg_type_with_enc(l->types, pg_val_type(l->k, mma->out[0]), acc);
    const pg_type type = pg_val_type(l->k, mma->in[at]);
    const bool is_turned = pg_attr_has(&mma->attrs, at == 0 ? PG_A_TRANSA : PG_A_TRANSB);
    pg_layout_error error = pg_layout_of_tile(l->types, sum, n_warps, &result);
    if (error == PG_LAYOUT_OK) {
        error = operand(&result, pg_type_get(l->types, type), at, is_turned ? 1 - at : at, &layout);
    }
    return pg_layouts_of_layout(l, mma, type, &layout, error);
}
