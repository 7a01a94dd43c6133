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
 * accumulator's, so that each warp holds what its part of the result needs. f32 is multiplied by
 * fma: each thread holds all of k for its part. */
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
static uint32_t warps_of_rows(pg_pass_env *env, uint32_t rows, uint32_t cols, uint32_t n_warps)
{
    uint32_t best = 1, fewest = UINT32_MAX;
    for (uint32_t m = 1; m <= n_warps && n_warps % m == 0 && rows / m >= ROWS; m *= 2) {
        const uint32_t most = cols / COLS;
        const uint32_t n = n_warps / m < most ? n_warps / m : most;
        const uint32_t part = rows / m + cols / n + (m * n < n_warps ? rows + cols : 0);
        if (part < fewest || (part == fewest && pg_tie(env, 2) == 0)) {
            fewest = part;
            best = m;
        }
    }
    return best;
}

static pg_layout_error accumulator(pg_pass_env *env, const pg_type_info *t, uint32_t n_warps,
                                   pg_layout *out)
{
    if (t->rank != 2 || t->dims[0] < ROWS || t->dims[1] < COLS) {
        return PG_LAYOUT_SHAPE;
    }
    const uint32_t rows = (uint32_t)t->dims[0], cols = (uint32_t)t->dims[1];
    const uint32_t m = warps_of_rows(env, rows, cols, n_warps);
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

/* ---- f32, by fma ----------------------------------------------------------------------------- */

static uint32_t least(uint32_t a, uint32_t b) /* at least 1 */
{
    const uint32_t x = a < b ? a : b;
    return x == 0 ? 1 : x;
}

/* Four neighbours of a row for each thread, 8 lanes along a row, warps along the columns first. */
static pg_layout_error accumulator_of_fma(const pg_type_info *t, uint32_t n_warps, pg_layout *out)
{
    if (t->rank != 2 || t->dims[0] < 1 || t->dims[1] < 1 || n_warps == 0) {
        return PG_LAYOUT_SHAPE;
    }
    const uint32_t rows = (uint32_t)t->dims[0], cols = (uint32_t)t->dims[1];
    const uint32_t vec = least(4, cols), lanes_n = least(8, cols / vec);
    const uint32_t lanes_m = least(32 / lanes_n, rows), warps = n_warps & (0 - n_warps);
    const uint32_t warps_m = least(warps, rows / lanes_m), step_n = vec * lanes_n;
    const uint32_t warps_n = least(warps / warps_m, cols / step_n), step_m = lanes_m * warps_m;
    digits b = begin(out, t);
    add(&b, PG_LIN_REG, vec, 1, 1);
    add(&b, PG_LIN_REG, cols / (step_n * warps_n), 1, step_n * warps_n);
    add(&b, PG_LIN_REG, rows / step_m, 0, step_m);
    add(&b, PG_LIN_LANE, lanes_n, 1, vec);
    add(&b, PG_LIN_LANE, lanes_m, 0, 1);
    add(&b, PG_LIN_LANE, 32 / (lanes_n * lanes_m), 0, 0);
    add(&b, PG_LIN_WARP, warps_m, 0, lanes_m);
    add(&b, PG_LIN_WARP, warps_n, 1, step_n);
    add(&b, PG_LIN_WARP, n_warps / (warps_m * warps_n), 0, 0);
    return b.error != PG_LAYOUT_OK ? b.error : pg_layout_end(out);
}

/* All of k, for the rows (columns) of the accumulator that the thread has. */
static pg_layout_error operand_of_fma(const pg_layout *acc, const pg_type_info *t, uint32_t at,
                                      uint32_t side, pg_layout *out)
{
    if (acc->rank != 2 || acc->n_outer != 0 || t->rank != 2) {
        return PG_LAYOUT_SHAPE;
    }
    digits b = begin(out, t);
    add(&b, PG_LIN_REG, (uint32_t)t->dims[1 - side], 1 - side, 1);
    for (uint32_t d = PG_LIN_REG; d <= PG_LIN_WARP; d++) {
        for (uint32_t bit = 0; bit < acc->n_bits[d]; bit++) {
            const uint32_t step = adds(acc, (pg_lin_dim)d, bit, at);
            add(&b, (pg_lin_dim)d, step == 0 && d == PG_LIN_REG ? 1 : 2, side, step);
        }
    }
    return b.error != PG_LAYOUT_OK ? b.error : pg_layout_end(out);
}

/* `mma` deals its warps out step by step, so it means the layout only where a warp's part is one
 * step wide, or there is one warp. */
static pg_enc named_mma(pg_layouts *l, const pg_inst *mma, const pg_type_info *t, uint32_t n_warps)
{
    const uint32_t bits = pg_elem_infos[pg_val_info(l->k, mma->in[0])->elem].bits;
    pg_enc_info e = {.kind = PG_ENC_MMA, .rank = 2, .shape = {ROWS, COLS, 0}};
    const bool is_down = (uint32_t)t->dims[0] == ROWS * n_warps;
    if (bits == 0 || bits > 32) {
        return (pg_enc){0};
    }
    e.shape[2] = (uint16_t)(256 / bits);
    e.warps[0] = (uint16_t)(is_down ? n_warps : 1);
    e.warps[1] = (uint16_t)(is_down ? 1 : n_warps);
    return pg_enc_intern(l->types, &e);
}

static pg_enc named_dot(pg_layouts *l, uint32_t at, pg_enc acc)
{
    const pg_enc_info e = {.kind = PG_ENC_DOT, .rank = 2, .operand = (uint8_t)at, .of = acc};
    return pg_enc_get(l->types, acc)->kind == PG_ENC_MMA ? pg_enc_intern(l->types, &e)
                                                         : (pg_enc){0};
}

pg_enc pg_layouts_accumulator(pg_layouts *l, const pg_inst *mma)
{
    pg_layout layout;
    const uint32_t n_warps = pg_inst_warps(mma);
    const pg_type type = pg_val_type(l->k, mma->out[0]);
    const bool is_fma = pg_val_info(l->k, mma->in[0])->elem == PG_F32;
    const pg_type_info *t = pg_type_get(l->types, type);
    const pg_layout_error error =
        is_fma ? accumulator_of_fma(t, n_warps, &layout) : accumulator(l->env, t, n_warps, &layout);
    const pg_enc named = is_fma || t->rank != 2 ? (pg_enc){0} : named_mma(l, mma, t, n_warps);
    return pg_layouts_of_layout(l, mma, type, &layout, error, named);
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
        const pg_type_info *t = pg_type_get(l->types, type);
        const uint32_t side = is_turned ? 1 - at : at;
        error = t->elem == PG_F32 ? operand_of_fma(&result, t, at, side, &layout)
                                  : operand(&result, t, at, side, &layout);
    }
    return pg_layouts_of_layout(l, mma, type, &layout, error,
                                is_turned ? (pg_enc){0} : named_dot(l, at, acc));
}
