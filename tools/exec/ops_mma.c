/* ops_mma.c: mma.sync. Fragments are gathered into host matrices, multiplied in a type that holds
 * every product exactly, and rounded once at the end.
 *
 * Where an element lives (g = lane / 4, q = lane % 4, per = elements in one register):
 *   A   register j, part p: row g + 8 * (j % 2), k = per * q + p + 4 * per * (j / 2)
 *       (8 rows: row g, k = per * q + p + 4 * per * j)
 *   B   register j, part p: k = per * q + p + 4 * per * j, column g
 *   C   element i: row g + 8 * (i / 2), column 2 * q + i % 2; halves: two elements a register */
#include <fenv.h>
#include <math.h>

#include "tools/exec/ops.h"

enum { M_MAX = 16, N_MAX = 8, K_MAX = 32 };

typedef enum mma_fmt {
    MMA_F16,
    MMA_BF16,
    MMA_TF32,
    MMA_E4M3,
    MMA_E5M2,
    MMA_S8,
    MMA_U8,
    MMA_F64,
    MMA_F32,
    MMA_S32,
    MMA_FMT_COUNT
} mma_fmt;

typedef struct fmt_info {
    pg_ptx_type type;
    uint32_t bits;
} fmt_info;

static const fmt_info fmts[MMA_FMT_COUNT] = {
    [MMA_F16] = {PG_PTX_F16, 16},  [MMA_BF16] = {PG_PTX_BF16, 16}, [MMA_TF32] = {PG_PTX_TF32, 32},
    [MMA_E4M3] = {PG_PTX_E4M3, 8}, [MMA_E5M2] = {PG_PTX_E5M2, 8},  [MMA_S8] = {PG_PTX_S8, 8},
    [MMA_U8] = {PG_PTX_U8, 8},     [MMA_F64] = {PG_PTX_F64, 64},   [MMA_F32] = {PG_PTX_F32, 32},
    [MMA_S32] = {PG_PTX_S32, 32}};

typedef struct mma {
    uint32_t m, k;
    mma_fmt d_fmt, a_fmt, b_fmt, c_fmt;
    uint32_t n_d, n_a, n_b, n_c;
    bool is_saturating;
    pe_round round; /* doubles */
    pe_opnd d[4], a[8], b[4], c[4];
} mma;

typedef union tiles { /* floats, or integers */
    struct {
        double a[M_MAX][K_MAX], b[K_MAX][N_MAX], c[M_MAX][N_MAX];
    };
    struct {
        int32_t ia[M_MAX][K_MAX], ib[K_MAX][N_MAX];
        int64_t ic[M_MAX][N_MAX];
    };
} tiles;

/* ---- where elements live ----------------------------------------------------------------------
 */

static inline uint32_t a_row(const mma *x, uint32_t lane, uint32_t j)
{
    return lane / 4 + (x->m == 16 ? 8 * (j % 2) : 0);
}
static inline uint32_t a_k(const mma *x, uint32_t lane, uint32_t j, uint32_t per)
{
    return per * (lane % 4) + 4 * per * (x->m == 16 ? j / 2 : j);
}
static inline uint32_t b_k(uint32_t lane, uint32_t j, uint32_t per)
{
    return per * (lane % 4) + 4 * per * j;
}

/* ---- values -----------------------------------------------------------------------------------
 */

static inline double half_value(uint32_t h)
{
    uint32_t x = (h & 0x7FFFu) << 13;
    uint32_t bits = pe_b32(pe_f32(x) * 0x1p112f);
    bits = (h & 0x7C00u) == 0x7C00u ? x | 0x7F800000u : bits;
    return (double)pe_f32(bits | (h & 0x8000u) << 16);
}

/* One element of each lane: what stands above `shift`. */
static void unpack(mma_fmt fmt, const uint32_t *r, uint32_t shift, double v[PE_LANES])
{
    switch (fmt) {
    case MMA_F16:
        for (uint32_t l = 0; l < PE_LANES; l++) {
            v[l] = half_value(r[l] >> shift);
        }
        break;
    case MMA_BF16:
        for (uint32_t l = 0; l < PE_LANES; l++) {
            v[l] = (double)pe_f32(r[l] >> shift << 16);
        }
        break;
    case MMA_TF32:
        for (uint32_t l = 0; l < PE_LANES; l++) {
            v[l] = (double)pe_f32(r[l] & 0xFFFFE000u);
        }
        break;
    case MMA_F32:
        for (uint32_t l = 0; l < PE_LANES; l++) {
            v[l] = (double)pe_f32(r[l]);
        }
        break;
    case MMA_E4M3:
    case MMA_E5M2:
        for (uint32_t l = 0; l < PE_LANES; l++) {
            v[l] =
                pe_small_to_f64(r[l] >> shift & 0xFFu, fmt == MMA_E4M3 ? PE_FMT_E4M3 : PE_FMT_E5M2);
        }
        break;
    case MMA_S8:
    case MMA_U8:
    case MMA_F64:
    case MMA_S32:
    case MMA_FMT_COUNT:
    default: break; /* no floats of a 32-bit register */
    }
}

static inline int32_t byte_value(mma_fmt fmt, uint32_t x)
{
    return fmt == MMA_S8 ? (int32_t)(int8_t)(uint8_t)x : (int32_t)(x & 0xFFu);
}

/* One element of each lane as an integer: bytes of A and B, words of C. */
static void unpack_ints(mma_fmt fmt, const uint32_t *r, uint32_t shift, int32_t v[PE_LANES])
{
    for (uint32_t l = 0; l < PE_LANES; l++) {
        v[l] = fmt == MMA_S32 ? (int32_t)r[l] : byte_value(fmt, r[l] >> shift);
    }
}

/* Lanes 4 g + q, in two loops of fixed length. */
enum { GROUPS = 8, QUADS = 4 };

static void gather_a(const pe_warp *w, const mma *x, tiles *t)
{
    uint32_t bits = fmts[x->a_fmt].bits;
    uint32_t per = 32 / bits;
    double v[PE_LANES] = {0};
    int32_t iv[PE_LANES];
    for (uint32_t j = 0; j < x->n_a; j++) {
        const uint32_t *r = pe_src32(w, x->a[j]);
        uint32_t row = a_row(x, 0, j);
        for (uint32_t p = 0; p < per; p++) {
            uint32_t k = a_k(x, 0, j, per) + p;
            if (x->d_fmt == MMA_S32) {
                unpack_ints(x->a_fmt, r, bits * p, iv);
                for (uint32_t l = 0; l < PE_LANES; l++) {
                    t->ia[row + l / QUADS][k + per * (l % QUADS)] = iv[l];
                }
                continue;
            }
            unpack(x->a_fmt, r, bits * p, v);
            for (uint32_t g = 0; g < GROUPS; g++) {
                for (uint32_t q = 0; q < QUADS; q++) {
                    t->a[row + g][k + per * q] = v[QUADS * g + q];
                }
            }
        }
    }
}

static void gather_b(const pe_warp *w, const mma *x, tiles *t)
{
    uint32_t bits = fmts[x->b_fmt].bits;
    uint32_t per = 32 / bits;
    double v[PE_LANES] = {0};
    int32_t iv[PE_LANES];
    for (uint32_t j = 0; j < x->n_b; j++) {
        const uint32_t *r = pe_src32(w, x->b[j]);
        for (uint32_t p = 0; p < per; p++) {
            uint32_t k = b_k(0, j, per) + p;
            if (x->d_fmt == MMA_S32) {
                unpack_ints(x->b_fmt, r, bits * p, iv);
                for (uint32_t l = 0; l < PE_LANES; l++) {
                    t->ib[k + per * (l % QUADS)][l / QUADS] = iv[l];
                }
                continue;
            }
            unpack(x->b_fmt, r, bits * p, v);
            for (uint32_t g = 0; g < GROUPS; g++) {
                for (uint32_t q = 0; q < QUADS; q++) {
                    t->b[k + per * q][g] = v[QUADS * g + q];
                }
            }
        }
    }
}

/* Accumulators: elements 2 j and 2 j + 1 share a register when they are halves. */
static void gather_c(const pe_warp *w, const mma *x, tiles *t)
{
    uint32_t per = 32 / fmts[x->c_fmt].bits;
    double v[PE_LANES] = {0};
    for (uint32_t j = 0; j < x->n_c; j++) {
        const uint32_t *r = pe_src32(w, x->c[j]);
        for (uint32_t p = 0; p < per; p++) {
            uint32_t e = j * per + p;
            uint32_t row = 8 * (e / 2);
            if (x->c_fmt == MMA_S32) {
                for (uint32_t l = 0; l < PE_LANES; l++) {
                    t->ic[row + l / QUADS][2 * (l % QUADS) + e % 2] = (int32_t)r[l];
                }
                continue;
            }
            unpack(x->c_fmt, r, 16 * p, v);
            for (uint32_t g = 0; g < GROUPS; g++) {
                for (uint32_t q = 0; q < QUADS; q++) {
                    t->c[row + g][2 * q + e % 2] = v[QUADS * g + q];
                }
            }
        }
    }
}

/* ---- poison -----------------------------------------------------------------------------------
 */

typedef struct stains {
    uint32_t rows, cols; /* of A and B */
    uint32_t c[4];       /* accumulator registers: lanes */
    uint32_t any;
} stains;

static uint32_t lane_poison(const pe_warp *w, const mma *x, pe_opnd o)
{
    return x->a_fmt == MMA_F64 ? pe_poison64(w, o) : pe_poison32(w, o);
}

static stains find_poison(const pe_warp *w, const mma *x)
{
    stains s = {.rows = 0};
    for (uint32_t j = 0; j < x->n_a; j++) {
        uint32_t q = lane_poison(w, x, x->a[j]);
        s.any |= q;
        pg_foreach_lane(l, q)
        {
            s.rows |= 1u << a_row(x, l, j);
        }
    }
    for (uint32_t j = 0; j < x->n_b; j++) {
        uint32_t q = lane_poison(w, x, x->b[j]);
        s.any |= q;
        pg_foreach_lane(l, q)
        {
            s.cols |= 1u << (l / 4);
        }
    }
    for (uint32_t j = 0; j < x->n_c; j++) {
        s.c[j] = lane_poison(w, x, x->c[j]);
        s.any |= s.c[j];
    }
    return s;
}

/* Lanes of result register j that depend on something uninitialised. */
static uint32_t result_poison(const mma *x, const stains *s, uint32_t j)
{
    if (s->any == 0) {
        return 0;
    }
    uint32_t per = x->d_fmt == MMA_F16 ? 2 : 1;
    uint32_t c_per = x->c_fmt == MMA_F16 ? 2 : 1;
    uint32_t q = 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        for (uint32_t e = j * per; e < j * per + per; e++) {
            uint32_t row = l / 4 + 8 * (e / 2);
            uint32_t col = 2 * (l % 4) + e % 2;
            bool is_bad = (s->rows >> row & 1u) != 0 || (s->cols >> col & 1u) != 0 ||
                          (s->c[e / c_per] >> l & 1u) != 0;
            q |= is_bad ? 1u << l : 0;
        }
    }
    return q;
}

/* ---- the product ------------------------------------------------------------------------------
 */

static void multiply(const mma *x, tiles *t)
{
    for (uint32_t r = 0; r < x->m; r++) {
        double sum[N_MAX];
        memcpy(sum, t->c[r], sizeof sum);
        for (uint32_t k = 0; k < x->k; k++) {
            double a = t->a[r][k];
            for (uint32_t n = 0; n < N_MAX; n++) {
                sum[n] += a * t->b[k][n];
            }
        }
        memcpy(t->c[r], sum, sizeof sum);
    }
}

static void multiply_ints(const mma *x, tiles *t)
{
    for (uint32_t r = 0; r < x->m; r++) {
        int32_t sum[N_MAX] = {0};
        for (uint32_t k = 0; k < x->k; k++) {
            int32_t a = t->ia[r][k];
            for (uint32_t n = 0; n < N_MAX; n++) {
                sum[n] += a * t->ib[k][n];
            }
        }
        for (uint32_t n = 0; n < N_MAX; n++) {
            t->ic[r][n] += sum[n];
        }
    }
}

static inline uint32_t result_bits(const mma *x, const tiles *t, uint32_t row, uint32_t col)
{
    if (x->d_fmt == MMA_S32) {
        int64_t v = t->ic[row][col];
        if (x->is_saturating) {
            v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
        }
        return (uint32_t)(uint64_t)v;
    }
    double v = t->c[row][col];
    return x->d_fmt == MMA_F16 ? pe_f64_to_small(v, PE_FMT_F16, PE_RN) : pe_r32((float)v);
}

static bool has_whole_warp(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (mask == PE_ALL) {
        return true;
    }
    pe_fault_at(w, i, PTXEXEC_F_DIVERGED, (pe_place){.lanes = mask},
                "this takes all 32 lanes of a warp; the lanes here are %08x", mask);
    return false;
}

static void mma_sync(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const mma *x = i->ext;
    if (!has_whole_warp(w, i, mask)) {
        return;
    }
    tiles t;
    memset(&t, 0, sizeof t);
    gather_a(w, x, &t);
    gather_b(w, x, &t);
    gather_c(w, x, &t);
    if (x->d_fmt == MMA_S32) {
        multiply_ints(x, &t);
    } else {
        multiply(x, &t);
    }
    stains s = find_poison(w, x);
    uint32_t per = x->d_fmt == MMA_F16 ? 2 : 1;
    for (uint32_t j = 0; j < x->n_d; j++) {
        uint32_t r[PE_LANES];
        uint32_t row = 8 * (j * per / 2);
        uint32_t first = j * per % 2;
        for (uint32_t l = 0; l < PE_LANES && x->d_fmt == MMA_F32; l++) {
            r[l] = pe_r32((float)t.c[row + l / QUADS][2 * (l % QUADS) + first]);
        }
        for (uint32_t l = 0; l < PE_LANES && x->d_fmt != MMA_F32; l++) {
            uint32_t col = 2 * (l % QUADS) + first;
            r[l] = result_bits(x, &t, row + l / QUADS, col);
            r[l] |= per == 2 ? result_bits(x, &t, row + l / QUADS, col + 1) << 16 : 0;
        }
        pe_put32(w, x->d[j], r, PE_ALL, result_poison(x, &s, j));
    }
}

/* Doubles: one fused multiply-add after the other, in the order of k, each rounded as asked for. */
static void mma_f64(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const mma *x = i->ext;
    if (!has_whole_warp(w, i, mask)) {
        return;
    }
    double a[M_MAX][M_MAX];
    double b[M_MAX][N_MAX];
    uint64_t r[4][PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        for (uint32_t j = 0; j < x->n_a; j++) {
            a[a_row(x, l, j)][a_k(x, l, j, 1)] = pe_f64(pe_src64(w, x->a[j])[l]);
        }
        for (uint32_t j = 0; j < x->n_b; j++) {
            b[b_k(l, j, 1)][l / 4] = pe_f64(pe_src64(w, x->b[j])[l]);
        }
    }
    int saved = fegetround();
    (void)fesetround(pe_host_round(x->round));
    for (uint32_t l = 0; l < PE_LANES; l++) {
        for (uint32_t j = 0; j < x->n_d; j++) {
            double sum = pe_f64(pe_src64(w, x->c[j])[l]);
            for (uint32_t k = 0; k < x->k; k++) {
                sum = fma(a[l / 4 + 8 * (j / 2)][k], b[k][2 * (l % 4) + j % 2], sum);
            }
            r[j][l] = pe_r64(sum);
        }
    }
    (void)fesetround(saved);
    stains s = find_poison(w, x);
    for (uint32_t j = 0; j < x->n_d; j++) {
        pe_put64(w, x->d[j], r[j], PE_ALL, result_poison(x, &s, j));
    }
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

static bool take_format(pe_dec *d, mma_fmt *out)
{
    pg_ptx_type t = pe_take_type(d);
    for (uint32_t k = 0; k < MMA_FMT_COUNT; k++) {
        if (fmts[k].type == t) {
            *out = (mma_fmt)k;
            return true;
        }
    }
    pe_unsupported(d, "this type");
    return false;
}

static bool take_shape(pe_dec *d, mma *x)
{
    static const struct {
        uint32_t m, k;
    } shapes[] = {{0, 0}, {16, 4}, {16, 8}, {16, 16}, {16, 32}, {8, 4}, {8, 16}};
    uint32_t which = pe_take_one(d, "m16n8k4 m16n8k8 m16n8k16 m16n8k32 m8n8k4 m8n8k16");
    x->m = shapes[which].m;
    x->k = shapes[which].k;
    if (which == 0) {
        pe_unsupported(d, "this shape");
    }
    return which != 0;
}

/* Registers of a fragment: rows * columns elements over 32 lanes. */
static bool take_fragment(pe_dec *d, uint32_t arg, uint32_t n_elements, uint32_t bits,
                          pe_opnd *rows, uint32_t *out_n)
{
    const pg_ptx_opnd *o = pe_arg(d, arg);
    uint32_t n = n_elements * bits / ((uint32_t)PE_LANES * (bits == 64 ? 64u : 32u));
    uint32_t have = o->kind == PG_PTX_O_VEC ? o->n : 1;
    *out_n = n;
    if (have != n) {
        pe_invalid(d, "a fragment has another number of registers");
        return false;
    }
    for (uint32_t j = 0; j < n; j++) {
        const pg_ptx_opnd *x = o->kind == PG_PTX_O_VEC ? &d->pf->pool.at[o->id + j] : o;
        uint32_t width = bits == 64 ? 64 : 32;
        rows[j] = arg == 0 ? pe_out_opnd(d, x, width) : pe_in_opnd(d, x, width);
    }
    return !d->is_failed;
}

/* Types and shapes that exist together; the rest has no row in the ISA. */
static bool is_known(const mma *x)
{
    bool is_big = x->m == 16;
    uint32_t k = x->k;
    switch (x->a_fmt) {
    case MMA_F16:
        return x->b_fmt == MMA_F16 && is_big && (k == 8 || k == 16) && x->c_fmt == x->d_fmt &&
               (x->d_fmt == MMA_F16 || x->d_fmt == MMA_F32);
    case MMA_BF16:
        return x->b_fmt == MMA_BF16 && is_big && (k == 8 || k == 16) && x->c_fmt == MMA_F32 &&
               x->d_fmt == MMA_F32;
    case MMA_TF32:
        return x->b_fmt == MMA_TF32 && is_big && (k == 4 || k == 8) && x->c_fmt == MMA_F32 &&
               x->d_fmt == MMA_F32;
    case MMA_E4M3:
    case MMA_E5M2:
        return (x->b_fmt == MMA_E4M3 || x->b_fmt == MMA_E5M2) && is_big && (k == 16 || k == 32) &&
               x->c_fmt == x->d_fmt && (x->d_fmt == MMA_F16 || x->d_fmt == MMA_F32);
    case MMA_S8:
    case MMA_U8:
        return (x->b_fmt == MMA_S8 || x->b_fmt == MMA_U8) && (k == 16 || (is_big && k == 32)) &&
               x->c_fmt == MMA_S32 && x->d_fmt == MMA_S32;
    case MMA_F64:
        return x->b_fmt == MMA_F64 && x->c_fmt == MMA_F64 && x->d_fmt == MMA_F64 &&
               (is_big ? k <= 16 : k == 4);
    case MMA_F32:
    case MMA_S32:
    case MMA_FMT_COUNT:
    default: return false;
    }
}

void pe_dec_mma(pe_dec *d)
{
    mma *x = pe_dec_mma_bits(d) ? NULL : pe_new(d, sizeof *x, 1);
    if (x == NULL) {
        return;
    }
    if (!pe_take(d, "sync") || !pe_take(d, "aligned") || !take_shape(d, x) || !pe_take(d, "row") ||
        !pe_take(d, "col")) {
        pe_unsupported(d, "this form");
        return;
    }
    x->is_saturating = pe_take(d, "satfinite");
    x->round = pe_take_round(d);
    if (!take_format(d, &x->d_fmt) || !take_format(d, &x->a_fmt) || !take_format(d, &x->b_fmt) ||
        !take_format(d, &x->c_fmt)) {
        return;
    }
    if (!is_known(x) || (x->is_saturating && x->d_fmt != MMA_S32) ||
        (x->round != PE_RN && x->d_fmt != MMA_F64)) {
        pe_unsupported(d, "this combination of shape and types");
        return;
    }
    uint32_t n_acc = x->m * (uint32_t)N_MAX;
    if (!take_fragment(d, 1, x->m * x->k, fmts[x->a_fmt].bits, x->a, &x->n_a) ||
        !take_fragment(d, 2, N_MAX * x->k, fmts[x->b_fmt].bits, x->b, &x->n_b) ||
        !take_fragment(d, 3, n_acc, fmts[x->c_fmt].bits, x->c, &x->n_c) ||
        !take_fragment(d, 0, n_acc, fmts[x->d_fmt].bits, x->d, &x->n_d)) {
        return;
    }
    d->i.ext = x;
    d->i.flags |= PE_I_ALIGNED;
    pe_emit(d, x->a_fmt == MMA_F64 ? mma_f64 : mma_sync);
}
