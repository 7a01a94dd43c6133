/* wgmma_mul.c: the product of a warp group on host matrices. Every product of two elements is exact
 * in a double, sums are doubles, and each instruction rounds its results once.
 *
 * Where an accumulator lives: element i of lane l of warp w: row 16 w + l / 4 + 8 (i / 2 % 2),
 * column 8 (i / 4) + 2 (l % 4) + i % 2; halves: elements 2 j and 2 j + 1 in register j. */
#include "tools/exec/ops.h"
#include "tools/exec/wgmma.h"

/* ---- elements -----------------------------------------------------------------------------------
 */

static inline double e4m3_value(uint32_t v)
{
    float f = pe_f32((v & 0x7Fu) << 20) * 0x1p120f;
    f = (v & 0x7Fu) == 0x7Fu ? pe_f32(0x7FFFFFFFu) : f;
    return (v & 0x80u) != 0 ? -(double)f : (double)f;
}

static inline uint32_t get16(const uint8_t *p, uint32_t k)
{
    uint16_t x = 0;
    memcpy(&x, p + (size_t)2 * k, sizeof x);
    return x;
}
static inline uint32_t get32(const uint8_t *p, uint32_t k)
{
    uint32_t x = 0;
    memcpy(&x, p + (size_t)4 * k, sizeof x);
    return x;
}

/* The elements of one row. */
static void unpack(const uint8_t *p, pe_wg_type type, double *out)
{
    switch (type) {
    case PE_WG_F16:
        for (uint32_t k = 0; k < 16; k++) {
            out[k] = (double)pe_f16_value(get16(p, k));
        }
        break;
    case PE_WG_BF16:
        for (uint32_t k = 0; k < 16; k++) {
            out[k] = (double)pe_f32(get16(p, k) << 16);
        }
        break;
    case PE_WG_TF32:
        for (uint32_t k = 0; k < 8; k++) {
            out[k] = (double)pe_f32(get32(p, k) & 0xFFFFE000u);
        }
        break;
    case PE_WG_E4M3:
        for (uint32_t k = 0; k < 32; k++) {
            out[k] = e4m3_value(p[k]);
        }
        break;
    case PE_WG_E5M2:
        for (uint32_t k = 0; k < 32; k++) {
            out[k] = (double)pe_f16_value((uint32_t)p[k] << 8);
        }
        break;
    case PE_WG_S8:
        for (uint32_t k = 0; k < 32; k++) {
            out[k] = (double)(int8_t)p[k];
        }
        break;
    case PE_WG_U8:
        for (uint32_t k = 0; k < 32; k++) {
            out[k] = (double)p[k];
        }
        break;
    case PE_WG_B1:
    case PE_WG_F32:
    case PE_WG_S32:
    case PE_WG_TYPE_COUNT:
    default: break;
    }
}

/* ---- accumulators -------------------------------------------------------------------------------
 */

static inline uint32_t row_of(uint32_t w, uint32_t l, uint32_t i)
{
    return 16 * w + l / 4 + 8 * (i / 2 % 2);
}
static inline uint32_t col_of(uint32_t l, uint32_t i)
{
    return 8 * (i / 4) + 2 * (l % 4) + i % 2;
}

static void load(pe_warp *warp, uint32_t w, const pe_wg_op *op, pe_wg_scratch *s)
{
    for (uint32_t j = 0; j < op->x->n_d; j++) {
        size_t at = (size_t)op->base32[w] + op->x->d[j];
        const uint32_t *r = warp->r32 + at * PE_LANES;
        s->bad[w][j] = warp->q32[at];
        for (uint32_t l = 0; l < PE_LANES; l++) {
            switch (op->x->d_type) {
            case PE_WG_F16:
                s->c[row_of(w, l, 2 * j)][col_of(l, 2 * j)] = (double)pe_f16_value(r[l] & 0xFFFFu);
                s->c[row_of(w, l, 2 * j)][col_of(l, 2 * j + 1)] = (double)pe_f16_value(r[l] >> 16);
                break;
            case PE_WG_S32: s->c[row_of(w, l, j)][col_of(l, j)] = (double)(int32_t)r[l]; break;
            default: s->c[row_of(w, l, j)][col_of(l, j)] = (double)pe_f32(r[l]); break;
            }
        }
    }
}

static void store(pe_warp *warp, uint32_t w, const pe_wg_op *op, const pe_wg_scratch *s)
{
    for (uint32_t j = 0; j < op->x->n_d; j++) {
        size_t at = (size_t)op->base32[w] + op->x->d[j];
        uint32_t *r = warp->r32 + at * PE_LANES;
        warp->q32[at] = s->bad[w][j];
        for (uint32_t l = 0; l < PE_LANES; l++) {
            const double *c = s->c[row_of(w, l, op->x->d_type == PE_WG_F16 ? 2 * j : j)];
            switch (op->x->d_type) {
            case PE_WG_F16:
                r[l] = pe_f64_to_small(c[col_of(l, 2 * j)], PE_FMT_F16, PE_RN);
                r[l] |= pe_f64_to_small(c[col_of(l, 2 * j + 1)], PE_FMT_F16, PE_RN) << 16;
                break;
            case PE_WG_S32: r[l] = (uint32_t)(int32_t)c[col_of(l, j)]; break;
            default: r[l] = pe_r32((float)c[col_of(l, j)]); break;
            }
        }
    }
}

/* What is uninitialised in A or B stains its row or column. */
static void stain(const pe_wg_op *op, pe_wg_scratch *s)
{
    uint32_t per = op->x->d_type == PE_WG_F16 ? 2 : 1;
    for (uint32_t w = 0; w < PE_WG_WARPS; w++) {
        for (uint32_t j = 0; j < op->x->n_d; j++) {
            for (uint32_t l = 0; l < PE_LANES; l++) {
                uint32_t i = j * per;
                bool is_bad = op->is_a_bad[row_of(w, l, i)] || op->is_b_bad[col_of(l, i)] ||
                              op->is_b_bad[col_of(l, i + per - 1)];
                s->bad[w][j] |= is_bad ? 1u << l : 0;
            }
        }
    }
}

/* ---- the product --------------------------------------------------------------------------------
 */

enum { ROWS = 4, COLS = 4, WIDE_COLS = 8 };

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* Adds to ROWS x `cols` of `c`, whose sums stay in registers: `cols` is a constant where this is
 * called. */
INLINE void multiply_tile(pe_wg_scratch *s, uint32_t row, uint32_t col, uint32_t n_k, uint32_t cols)
{
    double sum[ROWS][WIDE_COLS];
    for (uint32_t r = 0; r < ROWS; r++) {
        memcpy(sum[r], &s->c[row + r][col], cols * sizeof sum[r][0]);
    }
    for (uint32_t k = 0; k < n_k; k++) {
        for (uint32_t r = 0; r < ROWS; r++) {
            for (uint32_t n = 0; n < cols; n++) {
                sum[r][n] += s->a[row + r][k] * s->b[k][col + n];
            }
        }
    }
    for (uint32_t r = 0; r < ROWS; r++) {
        memcpy(&s->c[row + r][col], sum[r], cols * sizeof sum[r][0]);
    }
}

static void multiply_tiles(pe_wg_scratch *s, uint32_t n_cols, uint32_t n_k)
{
    for (uint32_t row = 0; row < PE_WG_M; row += ROWS) {
        for (uint32_t col = 0; col < n_cols; col += COLS) {
            multiply_tile(s, row, col, n_k, COLS);
        }
    }
}

/* Products and sums are rounded alike for any width of registers, so results do not depend on which
 * runs. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void multiply_tiles_wide(pe_wg_scratch *s, uint32_t n_cols,
                                                                uint32_t n_k)
{
    for (uint32_t row = 0; row < PE_WG_M; row += ROWS) {
        for (uint32_t col = 0; col < n_cols; col += WIDE_COLS) {
            multiply_tile(s, row, col, n_k, WIDE_COLS);
        }
    }
}
#endif

static void multiply_all(pe_wg_scratch *s, uint32_t n_cols, uint32_t n_k)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2")) {
        multiply_tiles_wide(s, n_cols, n_k);
        return;
    }
#endif
    multiply_tiles(s, n_cols, n_k);
}

static void multiply_bits(const pe_wg_op *op, pe_wg_scratch *s)
{
    for (uint32_t r = 0; r < PE_WG_M; r++) {
        for (uint32_t n = 0; n < op->x->n; n++) {
            uint32_t count = 0;
            for (uint32_t k = 0; k < PE_WG_ROW / 4; k++) {
                count += pe_count(get32(op->a[r], k) & get32(op->b[n], k));
            }
            s->c[r][n] += (double)count;
        }
    }
}

static void round_results(const pe_wgmma *x, pe_wg_scratch *s)
{
    for (uint32_t r = 0; r < PE_WG_M; r++) {
        double *c = s->c[r];
        for (uint32_t n = 0; x->d_type == PE_WG_F32 && n < x->n; n++) {
            c[n] = (double)(float)c[n];
        }
        for (uint32_t n = 0; x->d_type != PE_WG_F32 && n < x->n; n++) {
            if (x->d_type == PE_WG_F16) {
                c[n] = (double)pe_f16_value(pe_f64_to_small(c[n], PE_FMT_F16, PE_RN));
            } else if (x->is_saturating) {
                c[n] = c[n] > INT32_MAX ? INT32_MAX : c[n] < INT32_MIN ? INT32_MIN : c[n];
            } else {
                c[n] = (double)(int32_t)(uint32_t)(uint64_t)(int64_t)c[n];
            }
        }
    }
}

static void multiply(const pe_wg_op *op, pe_wg_scratch *s)
{
    const pe_wgmma *x = op->x;
    if (!op->is_adding) {
        for (uint32_t r = 0; r < PE_WG_M; r++) {
            memset(s->c[r], 0, x->n * sizeof s->c[r][0]);
        }
        memset(s->bad, 0, sizeof s->bad);
    }
    if (op->has_bad) {
        stain(op, s);
    }
    if (x->a_type == PE_WG_B1) {
        multiply_bits(op, s);
        round_results(x, s);
        return;
    }
    for (uint32_t r = 0; r < PE_WG_M; r++) {
        unpack(op->a[r], x->a_type, s->a[r]);
        for (uint32_t k = 0; x->is_negative && k < x->k; k++) {
            s->a[r][k] = -s->a[r][k];
        }
    }
    for (uint32_t n = 0; n < x->n; n += 8) { /* a row of the cache at a time */
        double column[8][PE_WG_K];
        for (uint32_t j = 0; j < 8; j++) {
            unpack(op->b[n + j], x->b_type, column[j]);
        }
        for (uint32_t k = 0; k < x->k; k++) {
            for (uint32_t j = 0; j < 8; j++) {
                s->b[k][n + j] = column[j][k];
            }
        }
    }
    multiply_all(s, x->n, x->k);
    round_results(x, s);
}

static bool is_same_place(const pe_wg_op *a, const pe_wg_op *b)
{
    return a->x->d_type == b->x->d_type && a->x->n_d == b->x->n_d &&
           memcmp(a->base32, b->base32, sizeof a->base32) == 0 &&
           memcmp(a->x->d, b->x->d, a->x->n_d * sizeof a->x->d[0]) == 0;
}

void pe_wg_multiply(pe_cta *cta, uint32_t first_warp, pe_wg_op *const *ops, uint32_t n)
{
    pe_wg_scratch *s = &cta->wg->scratch;
    for (uint32_t k = 0; k < n; k++) {
        bool is_first = k == 0 || !is_same_place(ops[k - 1], ops[k]);
        bool is_last = k + 1 == n || !is_same_place(ops[k], ops[k + 1]);
        for (uint32_t w = 0; is_first && w < PE_WG_WARPS; w++) {
            load(&cta->warps[first_warp + w], w, ops[k], s);
        }
        multiply(ops[k], s);
        for (uint32_t w = 0; is_last && w < PE_WG_WARPS; w++) {
            store(&cta->warps[first_warp + w], w, ops[k], s);
        }
    }
}
