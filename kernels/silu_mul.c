/* silu_mul: y = a / (1 + exp(-a)) * b: the gate of a SwiGLU layer (arXiv 2002.05202). */
#include <math.h>

#include "kernels/kernel.h"

static ptxgen_value compute(ptxgen_builder *b, const ptxgen_value *in, ptxgen_elem to)
{
    return ptxgen_build_binary(b, "fmul", build_times_sigmoid(b, in[0], in[0], to), in[1]);
}

static void element(const double *in, double *ref, double *error)
{
    double a = in[0], b = in[1];
    *ref = a / (1.0 + exp(-a)) * b;
    *error =
        fabs(*ref) * (13.0 + 2.0 * fabs(a)) + (fabs(a) + 1.0) * (fabs(b) + 1.0) * SUBNORMAL_ERROR;
}

static const pointwise shape = {.name = "silu_mul",
                                .n_in = 2,
                                .in_names = {"a", "b"},
                                .out_name = "y",
                                .compute = compute,
                                .element = element};

static const ptxgen_kernel_info info = {.name = "silu_mul",
                                        .doc = "y = silu(a) * b; computed in f32",
                                        .settings = pointwise_settings,
                                        .n_settings = POINTWISE_N_SETTINGS,
                                        .scalars = pointwise_scalars,
                                        .n_scalars = POINTWISE_N_SCALARS,
                                        .error_factor = 1.0,
                                        .input_low = -12.0,
                                        .input_high = 12.0,
                                        .least_sm = 80};
const kernel_row kernel_silu_mul = {&info, pointwise_build, pointwise_reference, &shape};
