/* gelu: y = x / (1 + exp(-2 c (x + 0.044715 x^3))), c = sqrt(2 / pi): the tanh form of the Gaussian
 * error linear unit (arXiv 1606.08415), written without tanh, which loses everything by
 * cancellation for negative x. */
#include <math.h>

#include "kernels/kernel.h"

#define TWO_C 1.5957691216057308
#define CUBIC 0.044715

ptxgen_value build_gelu(ptxgen_builder *b, ptxgen_value x)
{
    ptxgen_value square = ptxgen_build_binary(b, "fmul", x, x);
    ptxgen_value factor = ptxgen_build_fma(b, square, build_const_like(b, x, TWO_C * CUBIC),
                                           build_const_like(b, x, TWO_C));
    return build_times_sigmoid(b, x, ptxgen_build_binary(b, "fmul", x, factor));
}

static ptxgen_value compute(ptxgen_builder *b, const ptxgen_value *in)
{
    return build_gelu(b, in[0]);
}

/* The exponent t carries a relative error of a few u, so exp(-|t|) one of a few |t| u; the rest
 * adds a few u. */
void gelu_element(const double *in, double *ref, double *error)
{
    double x = in[0], t = TWO_C * (x + CUBIC * x * x * x);
    *ref = x / (1.0 + exp(-t));
    *error = fabs(*ref) * (6.0 + 4.0 * fabs(t)) + (fabs(x) + 1.0) * SUBNORMAL_ERROR;
}

static const pointwise shape = {.name = "gelu",
                                .n_in = 1,
                                .in_names = {"x"},
                                .out_name = "y",
                                .compute = compute,
                                .element = gelu_element};

static ptxgen_status build(ptxgen_module *m, const kernel_settings *s)
{
    return pointwise_build(m, s, &shape);
}

static ptxgen_status reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    return pointwise_reference(run, s, &shape);
}

static const ptxgen_kernel_setting settings[] = {
    {"dtype", "f16", "f16 bf16 f32", "dtype is f16, bf16 or f32: the type of x and y"},
    {"block", "1024", "2^5..2^14",
     "block is a power of two from 32 to 16384: elements per program"},
    {"warps", "4", "2^0..2^4", "warps is 1, 2, 4, 8 or 16: warps per program"},
};
static const ptxgen_kernel_scalar scalars[] = {{"n", NULL, "number of elements"}};
static const ptxgen_kernel_info info = {.name = "gelu",
                                        .doc = "y = gelu(x), tanh form; computed in f32",
                                        .settings = settings,
                                        .n_settings = sizeof settings / sizeof settings[0],
                                        .scalars = scalars,
                                        .n_scalars = sizeof scalars / sizeof scalars[0],
                                        .error_factor = 1.0,
                                        .input_low = -12.0,
                                        .input_high = 12.0,
                                        .least_sm = 80};
const kernel_row kernel_gelu = {&info, build, reference};
