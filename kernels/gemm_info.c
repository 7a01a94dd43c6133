/* gemm_info.c: settings of gemm, which of them go together, and its reference. */
#include <math.h>

#include "kernels/gemm.h"

/* ---- settings -------------------------------------------------------------------------------- */

/* clang-format off */
static const gemm_type types[] = {
    /* name   in           unit          sum          out          bytes  u  tile           k   warps cut */
    {"f16",  PTXGEN_F16,  PTXGEN_F16,  PTXGEN_F32, PTXGEN_F16,  2, 2,  0, {128, 128, 32}, 16, 4,    0},
    {"bf16", PTXGEN_BF16, PTXGEN_BF16, PTXGEN_F32, PTXGEN_BF16, 2, 2,  0, {128, 128, 32}, 16, 4,    0},
    {"tf32", PTXGEN_F32,  PTXGEN_TF32, PTXGEN_F32, PTXGEN_F32,  4, 4,  0, {128, 128, 16}, 8,  4,    0x1p-11},
    {"f32",  PTXGEN_F32,  PTXGEN_F32,  PTXGEN_F32, PTXGEN_F32,  4, 4,  0, {128, 128, 16}, 1,  8,    0},
    {"s8",   PTXGEN_I8,   PTXGEN_I8,   PTXGEN_I32, PTXGEN_I32,  1, 4,  0, {128, 128, 64}, 32, 8,    0},
    {"u8",   PTXGEN_I8,   PTXGEN_I8,   PTXGEN_I32, PTXGEN_I32,  1, 4,  1, {128, 128, 64}, 32, 8,    0},
};
/* clang-format on */

/* alpha and beta are words, so that the kernel has no parameter that most calls do not need. */
static double number(const kernel_settings *s, const char *name)
{
    static const struct {
        const char *text;
        double value;
    } numbers[] = {{"0", 0.0}, {"1", 1.0}, {"-1", -1.0}, {"0.5", 0.5}, {"2", 2.0}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (kernel_setting_is(s, name, numbers[i].text)) {
            return numbers[i].value;
        }
    }
    return 0.0;
}

static int64_t number_or(const kernel_settings *s, const char *name, int64_t if_auto)
{
    return kernel_setting_is(s, name, "auto") ? if_auto : kernel_setting_int(s, name);
}

static const gemm_type *type_of(const kernel_settings *s)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (kernel_setting_is(s, "dtype", types[i].name)) {
            return &types[i];
        }
    }
    return &types[0];
}

/* Sums that the registers of a program's threads hold: 128 of a thread's 255; with 16 warps a
 * thread has 128 registers, and 64 sums. */
static const struct sums_limit {
    int64_t warps, most;
    const char *why;
} limits[] = {
#define LIMIT(w, most)                                                                 \
    {                                                                                  \
        w, most,                                                                       \
            "with warps=" #w ", tile_m * tile_n is at most " #most                     \
            ", so that the sums fit into registers: take more warps or a smaller tile" \
    }
    LIMIT(1, 4096), LIMIT(2, 8192), LIMIT(4, 16384), LIMIT(8, 32768), LIMIT(16, 32768)
#undef LIMIT
};

static const char *too_large(const gemm_settings *g)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (limits[i].warps == g->warps && (int64_t)g->tile[0] * g->tile[1] > limits[i].most) {
            return limits[i].why;
        }
    }
    return NULL;
}

static const char *why_not(const gemm_settings *g)
{
    const int is_whole = g->alpha == floor(g->alpha) && g->beta == floor(g->beta);
    if (g->type->sum == PTXGEN_I32 && (!is_whole || g->act == GEMM_GELU)) {
        return "sums of s8 and u8 are integers: alpha is 1, -1 or 2, beta 0, 1, -1 or 2, and act "
               "is none or relu";
    }
    if (g->tile[2] < g->type->least_k) {
        return g->type->least_k == 32
                   ? "tile_k is at least 32 with s8 and u8: the depth of a matrix instruction"
                   : "tile_k is at least 16 with f16 and bf16: the depth of a matrix instruction";
    }
    return too_large(g);
}

ptxgen_status gemm_settings_of(const kernel_settings *s, gemm_settings *out)
{
    static const char *const tiles[3] = {"tile_m", "tile_n", "tile_k"};
    gemm_settings g = {.type = type_of(s)};
    for (int d = 0; d < 3; d++) {
        g.tile[d] = (int32_t)number_or(s, tiles[d], g.type->tile[d]);
    }
    g.stages = kernel_setting_int(s, "stages");
    g.split = kernel_setting_int(s, "split_k");
    g.has_fours = kernel_setting_is(s, "align", "auto4");
    g.align = g.has_fours ? 0 : (uint32_t)number_or(s, "align", 0);
    g.is_a_col = kernel_setting_is(s, "a", "col");
    g.is_b_col = kernel_setting_is(s, "b", "col");
    g.has_bias = (int)kernel_setting_int(s, "bias");
    g.act = kernel_setting_is(s, "act", "relu")   ? GEMM_RELU
            : kernel_setting_is(s, "act", "gelu") ? GEMM_GELU
                                                  : GEMM_NONE;
    g.alpha = number(s, "alpha");
    g.beta = number(s, "beta");
    /* An epilogue with more operands or steps needs registers beside the sums: half as many of
     * these. */
    const int is_heavy = g.split == 1 && (g.beta != 0.0 || g.has_bias || g.act == GEMM_GELU);
    g.warps = number_or(s, "warps", is_heavy ? 8 : g.type->warps);
    *out = g;
    const char *why = why_not(&g);
    return why == NULL ? PTXGEN_OK : kernel_refuse(s, why);
}

/* ---- reference ------------------------------------------------------------------------------- */

typedef struct reference_run {
    gemm_settings s;
    int64_t n[3];
    const double *a, *b, *c0, *bias;
} reference_run;

/* Arrays of i8 have no sign of their own. */
static double operand(const reference_run *r, double x)
{
    return r->s.type->is_unsigned && x < 0 ? x + 256 : x;
}

/* One element before the activation, the sum of absolute values, and that of the products. */
static double element(const reference_run *r, int64_t row, int64_t col, double *size,
                      double *products)
{
    double sum = 0.0, all = 0.0;
    for (int64_t k = 0; k < r->n[2]; k++) {
        double x = operand(r, r->a[r->s.is_a_col ? k * r->n[0] + row : row * r->n[2] + k]);
        double y = operand(r, r->b[r->s.is_b_col ? col * r->n[2] + k : k * r->n[1] + col]);
        sum += x * y;
        all += fabs(x * y);
    }
    double c0 = r->s.beta != 0.0 ? r->s.beta * r->c0[row * r->n[1] + col] : 0.0;
    double bias = r->s.has_bias ? r->bias[col] : 0.0;
    *products = fabs(r->s.alpha) * all;
    *size = *products + fabs(c0) + fabs(bias);
    return r->s.alpha * sum + c0 + bias;
}

static const double *input(const ptxgen_kernel_run *run, const char *name, int64_t n)
{
    const ptxgen_kernel_array *a = kernel_array(run, name);
    return a != NULL && a->n >= (uint64_t)n ? a->in : NULL;
}

static int has_inputs(const reference_run *r)
{
    return (r->n[2] == 0 || (r->a != NULL && r->b != NULL)) &&
           (r->s.beta == 0.0 || r->c0 != NULL) && (!r->s.has_bias || r->bias != NULL);
}

static void one_element(const reference_run *r, const ptxgen_kernel_array *c, int64_t i)
{
    /* f32's roundoff over that of c's type: what an error of the sum counts in c */
    const double share = r->s.type->out == PTXGEN_F16    ? 0x1p-13
                         : r->s.type->out == PTXGEN_BF16 ? 0x1p-16
                                                         : 1.0;
    double size = 0.0, products = 0.0, error = 0.0;
    double x = element(r, i / r->n[1], i % r->n[1], &size, &products);
    c->ref[i] = x;
    if (r->s.act == GEMM_RELU) {
        c->ref[i] = x > 0.0 ? x : 0.0;
    } else if (r->s.act == GEMM_GELU) {
        gelu_element(&x, &c->ref[i], &error);
    }
    /* no activation is steeper than 1.2; the matrix units may cut where f32 would round; both
     * factors of a product are off by up to `cut`, which is counted in f32's roundoff */
    const double sum = 2.0 * (double)(r->n[2] + r->s.split + 4) * size;
    const double cut = 2.01 * r->s.type->cut * 0x1p24 * products;
    c->bound[i] = fabs(c->ref[i]) + share * (error + 1.2 * (sum + cut));
}

static ptxgen_status reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    static const char *const names[3] = {"m", "n", "k"};
    reference_run r = {.a = NULL};
    ptxgen_status status = gemm_settings_of(s, &r.s);
    for (int d = 0; d < 3 && status == PTXGEN_OK; d++) {
        r.n[d] = kernel_scalar(run, names[d], -1);
        status = r.n[d] < 0 ? PTXGEN_E_MISUSE : PTXGEN_OK;
    }
    if (status != PTXGEN_OK) {
        return status;
    }
    const int64_t n_c = r.n[0] * r.n[1];
    const ptxgen_kernel_array *c = kernel_array(run, "c");
    r.a = input(run, "a", r.n[0] * r.n[2]);
    r.b = input(run, "b", r.n[2] * r.n[1]);
    r.c0 = input(run, "c0", n_c);
    r.bias = input(run, "bias", r.n[1]);
    if (c == NULL || c->n < (uint64_t)n_c ||
        (n_c > 0 && (c->ref == NULL || c->bound == NULL || !has_inputs(&r)))) {
        return PTXGEN_E_MISUSE;
    }
    for (int64_t i = 0; i < n_c; i++) {
        one_element(&r, c, i);
    }
    return PTXGEN_OK;
}

/* ---- the row of the library ------------------------------------------------------------------ */

static const ptxgen_kernel_setting settings[] = {
    {"dtype", "f16", "f16 bf16 tf32 f32 s8 u8",
     "dtype is f16, bf16, tf32 (arrays of f32), f32, s8 or u8 (c, c0 and bias i32)"},
    {"a", "row", "row col", "a is row (m x k) or col (k x m): how the array lies in memory"},
    {"b", "row", "row col", "b is row (k x n) or col (n x k): how the array lies in memory"},
    {"tile_m", "auto", "auto 2^4..2^8",
     "tile_m is auto or a power of two from 16 to 256: rows of a program's tile"},
    {"tile_n", "auto", "auto 2^3..2^8",
     "tile_n is auto or a power of two from 8 to 256: columns of the tile"},
    {"tile_k", "auto", "auto 2^3..2^7",
     "tile_k is auto or a power of two from 8 to 128: depth of one step"},
    {"stages", "3", "1..8", "stages is 1 to 8: buffers of the pipeline"},
    {"warps", "auto", "auto 2^0..2^4", "warps is auto, 1, 2, 4, 8 or 16: warps per program"},
    {"align", "auto", "auto auto4 2^0..2^4",
     "align is 1, 2, 4, 8 or 16: rows of all arrays are multiples of so many elements; auto: the "
     "program sees whether they are multiples of 16 bytes; auto4: or of 4"},
    {"split_k", "1", "1..16",
     "split_k is 1 to 16: parts of k, each summed by its own programs into work[split_k, m, n]; a "
     "second kernel adds them up"},
    {"alpha", "1", "1 -1 0.5 2", "alpha is 1, -1, 0.5 or 2"},
    {"beta", "0", "0 1 -1 0.5 2", "beta is 0, 1, -1, 0.5 or 2: adds beta * c0"},
    {"bias", "0", "0..1", "bias is 0 or 1: adds bias[n] to each row"},
    {"act", "none", "none relu gelu", "act is none, relu or gelu (the tanh form)"},
};
static const ptxgen_kernel_scalar scalars[] = {
    {"m", NULL, "rows of c"}, {"n", NULL, "columns of c"}, {"k", NULL, "columns of a, rows of b"}};
static const ptxgen_kernel_info info = {
    .name = "gemm",
    .doc = "c = act(alpha * a * b + beta * c0 + bias) on the matrix units; f32 by fma",
    .settings = settings,
    .n_settings = sizeof settings / sizeof settings[0],
    .scalars = scalars,
    .n_scalars = sizeof scalars / sizeof scalars[0],
    .error_factor = 1.0,
    .input_low = -1.0,
    .input_high = 1.0,
    .least_sm = 80};
const kernel_row kernel_gemm = {&info, gemm_build, reference, NULL};
