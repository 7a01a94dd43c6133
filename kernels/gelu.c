/* gelu: y = x / (1 + exp(-2 c (x + 0.044715 x^3))), c = sqrt(2 / pi): the tanh form of the Gaussian
 * error linear unit (arXiv 1606.08415), written without tanh, which loses everything by
 * cancellation for negative x. */
#include <math.h>

#include "kernels/kernel.h"

#define TWO_C 1.5957691216057308
#define CUBIC 0.044715

ptxgen_value build_gelu(ptxgen_builder *b, ptxgen_value x, ptxgen_elem to)
{
    ptxgen_value square = ptxgen_build_binary(b, "fmul", x, x);
    ptxgen_value cubic = build_const_like(b, x, TWO_C * CUBIC);
    ptxgen_value factor = ptxgen_build_fma(b, square, cubic, build_const_like(b, x, TWO_C));
    return build_times_sigmoid(b, x, ptxgen_build_binary(b, "fmul", x, factor), to);
}

static ptxgen_value compute(ptxgen_builder *b, const ptxgen_value *in, ptxgen_elem to)
{
    return build_gelu(b, in[0], to);
}

/* The exponent t carries a relative error of 3 u, so exp(-|t|) one of 3 |t| u, and another |t| u
 * where it is the fast one; exp itself, two roundings and the quotient add 12 u. */
void gelu_element(const double *in, double *ref, double *error)
{
    double x = in[0], t = TWO_C * (x + CUBIC * x * x * x);
    *ref = x / (1.0 + exp(-t));
    *error = fabs(*ref) * (12.0 + 4.0 * fabs(t)) + (fabs(x) + 1.0) * SUBNORMAL_ERROR;
}

static const pointwise shape = {.name = "gelu",
                                .n_in = 1,
                                .in_names = {"x"},
                                .out_name = "y",
                                .compute = compute,
                                .element = gelu_element};

static const ptxgen_kernel_info info = {.name = "gelu",
                                        .doc = "y = gelu(x), tanh form; computed in f32",
                                        .settings = pointwise_settings,
                                        .n_settings = POINTWISE_N_SETTINGS,
                                        .scalars = pointwise_scalars,
                                        .n_scalars = POINTWISE_N_SCALARS,
                                        .error_factor = 1.0,
                                        .input_low = -12.0,
                                        .input_high = 12.0,
                                        .least_sm = 80};
const kernel_row kernel_gelu = {&info, pointwise_build, pointwise_reference, &shape};
