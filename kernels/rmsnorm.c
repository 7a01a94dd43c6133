/* rmsnorm: y = x / sqrt(mean(x^2) + 1e-5) * w, row by row (arXiv 1910.07467). */
#include <math.h>

#include "kernels/rows.h"

#define EPSILON 1e-5

static ptxgen_value add_square(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                               ptxgen_value acc)
{
    (void)env;
    return rows_add_square(k, acc, rows_load(k, 0, at));
}

static ptxgen_value put(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                        ptxgen_value acc)
{
    (void)acc;
    ptxgen_value x = rows_load(k, 0, at), w = rows_load(k, 1, at);
    ptxgen_value scale = rows_splat(k, at, env[0]);
    ptxgen_value y = ptxgen_build_binary(k->b, "fmul", x, scale);
    rows_store(k, at, ptxgen_build_binary(k->b, "fmul", y, w));
    return (ptxgen_value){0};
}

static void body(rows_kernel *k)
{
    ptxgen_value mean = rows_mean(k, rows_fold(k, add_square, NULL, "sum"));
    ptxgen_value padded =
        ptxgen_build_binary(k->b, "fadd", mean, build_const_like(k->b, mean, EPSILON));
    ptxgen_value scale = ptxgen_build_unary(k->b, "rsqrt", padded);
    rows_for_each(k, put, &scale);
}

static const char *const in_names[] = {"x", "w", NULL};
static const rows_shape shape = {in_names, ROWS_SAME, 0.0};

static ptxgen_status build(ptxgen_module *m, const kernel_settings *s)
{
    return rows_build(m, s, &shape, body);
}

static ptxgen_status reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    rows_run r;
    ptxgen_status status = rows_run_of(run, in_names, &r);
    double share = rows_f32_share(kernel_setting_elem(s, "dtype"));
    for (int64_t i = 0; status == PTXGEN_OK && i < r.rows; i++) {
        const double *x = r.in[0] + i * r.cols;
        double sum = 0.0;
        for (int64_t j = 0; j < r.cols; j++) {
            sum += x[j] * x[j];
        }
        double scale = 1.0 / sqrt(sum / (double)r.cols + EPSILON);
        for (int64_t j = 0; j < r.cols; j++) {
            double y = x[j] * scale * r.in[1][j];
            /* half of the sum's error, rsqrt 2, and a few roundings */
            double error = fabs(y) * (rows_depth(s, r.cols) / 2.0 + 10.0) +
                           (fabs(r.in[1][j]) + 1.0) * SUBNORMAL_ERROR;
            r.ref[i * r.cols + j] = y;
            r.bound[i * r.cols + j] = fabs(y) + share * error;
        }
    }
    return status;
}

static const ptxgen_kernel_info info = {
    .name = "rmsnorm",
    .doc = "y = x / sqrt(mean(x^2) + 1e-5) * w for each row of x; computed in f32",
    .settings = rows_settings,
    .n_settings = ROWS_N_SETTINGS,
    .scalars = rows_scalars,
    .n_scalars = ROWS_N_SCALARS,
    .error_factor = 1.0,
    .input_low = -4.0,
    .input_high = 4.0,
    .least_sm = 80};
const kernel_row kernel_rmsnorm = {&info, build, reference, NULL};
