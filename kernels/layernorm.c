/* layernorm: y = (x - mean) / sqrt(var + 1e-5) * w + b, row by row (arXiv 1607.06450). The variance
 * is that of the differences, in a pass of its own: mean(x^2) - mean^2 would lose it. */
#include <math.h>

#include "kernels/rows.h"

#define EPSILON 1e-5

static ptxgen_value add(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                        ptxgen_value acc)
{
    (void)env;
    return rows_combine(k, "fadd", acc, rows_load(k, 0, at));
}

static ptxgen_value difference(rows_kernel *k, const rows_block *at, const ptxgen_value *env)
{
    ptxgen_value mean = rows_splat(k, at, env[0]);
    return ptxgen_build_binary(k->b, "fsub", rows_load(k, 0, at), mean);
}

static ptxgen_value add_square(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                               ptxgen_value acc)
{
    ptxgen_value d = difference(k, at, env);
    if (at->mask.id != 0) {
        d = ptxgen_build_select(k->b, at->mask, d, build_const_like(k->b, d, 0.0));
    }
    return rows_add_square(k, acc, d);
}

static ptxgen_value put(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                        ptxgen_value acc)
{
    (void)acc;
    ptxgen_value scale = rows_splat(k, at, env[1]);
    ptxgen_value y = ptxgen_build_binary(k->b, "fmul", difference(k, at, env), scale);
    ptxgen_value w = rows_load(k, 1, at), b = rows_load(k, 2, at);
    rows_store(k, at, ptxgen_build_fma(k->b, y, w, b));
    return (ptxgen_value){0};
}

static void body(rows_kernel *k)
{
    ptxgen_value env[2] = {{0}};
    env[0] = rows_mean(k, rows_fold(k, add, env, "sum"));
    ptxgen_value var = rows_mean(k, rows_fold(k, add_square, env, "sum"));
    ptxgen_value padded =
        ptxgen_build_binary(k->b, "fadd", var, build_const_like(k->b, var, EPSILON));
    env[1] = ptxgen_build_unary(k->b, "rsqrt", padded);
    rows_for_each(k, put, env);
}

static const char *const in_names[] = {"x", "w", "b", NULL};
static const rows_shape shape = {in_names, ROWS_SAME, 0.0};

static ptxgen_status build(ptxgen_module *m, const kernel_settings *s)
{
    return rows_build(m, s, &shape, body);
}

/* In units of f32's roundoff: the mean is off by `depth` times the mean of |x|; the variance by
 * `depth` times itself and by the square of the mean's error. */
static void one_row(const rows_run *r, int64_t row, double depth, double share)
{
    const double *x = r->in[0] + row * r->cols;
    double n = (double)r->cols, sum = 0.0, size = 0.0, square = 0.0;
    for (int64_t j = 0; j < r->cols; j++) {
        sum += x[j];
        size += fabs(x[j]);
    }
    double mean = sum / n, mean_off = (depth + 5.0) * size / n;
    for (int64_t j = 0; j < r->cols; j++) {
        square += (x[j] - mean) * (x[j] - mean);
    }
    double scale = 1.0 / sqrt(square / n + EPSILON);
    double scale_off = depth / 2.0 + 10.0 + 0x1p-24 * mean_off * mean_off * scale * scale;
    for (int64_t j = 0; j < r->cols; j++) {
        double w = r->in[1][j], b = r->in[2][j];
        double part = (x[j] - mean) * scale * w;
        double error =
            fabs(part) * scale_off + fabs(w) * scale * mean_off + (fabs(w) + 1.0) * SUBNORMAL_ERROR;
        r->ref[row * r->cols + j] = part + b;
        r->bound[row * r->cols + j] = fabs(part + b) + share * error;
    }
}

static ptxgen_status reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    rows_run r;
    ptxgen_status status = rows_run_of(run, in_names, &r);
    double share = rows_f32_share(kernel_setting_elem(s, "dtype"));
    for (int64_t i = 0; status == PTXGEN_OK && i < r.rows; i++) {
        one_row(&r, i, rows_depth(s, r.cols), share);
    }
    return status;
}

static const ptxgen_kernel_info info = {
    .name = "layernorm",
    .doc = "y = (x - mean) / sqrt(variance + 1e-5) * w + b for each row of x; computed in f32",
    .settings = rows_settings,
    .n_settings = ROWS_N_SETTINGS,
    .scalars = rows_scalars,
    .n_scalars = ROWS_N_SCALARS,
    .error_factor = 1.0,
    .input_low = -4.0,
    .input_high = 4.0,
    .least_sm = 80};
const kernel_row kernel_layernorm = {&info, build, reference, NULL};
