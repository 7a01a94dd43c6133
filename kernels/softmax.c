/* softmax: y = exp(x - max) / sum(exp(x - max)) of each row, in three passes over the row: the
 * maximum, the sum, the result. A row that is held has its powers from the second pass. */
#include <math.h>

#include "kernels/rows.h"

static ptxgen_value take_max(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                             ptxgen_value acc)
{
    (void)env;
    return rows_combine(k, "fmax", acc, rows_load(k, 0, at));
}

/* exp(x - max); 0 where no element exists. */
static ptxgen_value power(rows_kernel *k, const rows_block *at, const ptxgen_value *env)
{
    ptxgen_value x = rows_load(k, 0, at);
    ptxgen_value most = rows_splat(k, at, env[0]);
    ptxgen_value less = ptxgen_build_binary(k->b, "fsub", x, most);
    return build_exp(k->b, less, k->elem);
}

static ptxgen_value take_sum(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                             ptxgen_value acc)
{
    return rows_combine(k, "fadd", acc, power(k, at, env));
}

static ptxgen_value put(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                        ptxgen_value acc)
{
    (void)acc;
    ptxgen_value share = rows_splat(k, at, env[1]);
    rows_store(k, at, ptxgen_build_binary(k->b, "fmul", power(k, at, env), share));
    return (ptxgen_value){0};
}

static void body(rows_kernel *k)
{
    ptxgen_value env[2] = {{0}};
    env[0] = rows_fold(k, take_max, env, "max");
    ptxgen_value sum = rows_fold(k, take_sum, env, "sum");
    env[1] = build_quotient(k->b, build_const_like(k->b, sum, 1.0), sum);
    rows_for_each(k, put, env);
}

static const char *const in_names[] = {"x", NULL};
static const rows_shape shape = {in_names, ROWS_SAME, -HUGE_VAL};

static ptxgen_status build(ptxgen_module *m, const kernel_settings *s)
{
    return rows_build(m, s, &shape, body);
}

/* exp of a difference d carries |d| u from the subtraction, another |d| u where it is the fast one,
 * and its own 6 u; the sum carries that of its terms, weighted, and one u for each addition on the
 * way; its reciprocal and the product add 5 u. */
static void one_row(const double *x, int64_t n, double depth, double share, double *ref,
                    double *bound)
{
    double most = -HUGE_VAL, sum = 0.0, carried = 0.0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, x[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        double e = exp(x[i] - most);
        sum += e;
        carried += e * (2.0 * fabs(x[i] - most) + 6.0);
    }
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(x[i] - most);
        ref[i] = exp(x[i] - most) / sum;
        double error = ref[i] * (2.0 * d + 11.0 + carried / sum + depth) + SUBNORMAL_ERROR;
        bound[i] = ref[i] + share * error;
    }
}

static ptxgen_status reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    rows_run r;
    ptxgen_status status = rows_run_of(run, in_names, &r);
    double share = rows_f32_share(kernel_setting_elem(s, "dtype"));
    for (int64_t i = 0; status == PTXGEN_OK && i < r.rows; i++) {
        int64_t at = i * r.cols;
        one_row(r.in[0] + at, r.cols, rows_depth(s, r.cols), share, r.ref + at, r.bound + at);
    }
    return status;
}

static const ptxgen_kernel_info info = {.name = "softmax",
                                        .doc = "y = softmax of each row of x; computed in f32",
                                        .settings = rows_settings,
                                        .n_settings = ROWS_N_SETTINGS,
                                        .scalars = rows_scalars,
                                        .n_scalars = ROWS_N_SCALARS,
                                        .error_factor = 1.0,
                                        .input_low = -12.0,
                                        .input_high = 12.0,
                                        .least_sm = 80};
const kernel_row kernel_softmax = {&info, build, reference, NULL};
