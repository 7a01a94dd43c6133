/* Flat pointwise kernels. Where n is a multiple of what an access takes, a mask serves a whole
 * access and there is one way. Else whole blocks run without masks and with wide accesses, and the
 * last one in a loop with an element for each thread. */
#include <math.h>

#include "kernels/kernel.h"

#define LOG2_E      1.4426950408889634
#define MOST_OF_F16 64.0 /* exp(-64) times the squares of the largest numbers is 0 in f16 */

const ptxgen_kernel_setting pointwise_settings[] = {
    {"dtype", "f16", "f16 bf16 f32", "dtype is f16, bf16 or f32: the type of all arrays"},
    {"block", "1024", "2^5..2^14",
     "block is a power of two from 32 to 16384: elements per program"},
    {"warps", "4", "2^0..2^4", "warps is 1, 2, 4, 8 or 16: warps per program"},
    {"div", "1", "2^0..2^4", "div is 1, 2, 4, 8 or 16: n is a multiple of it"},
};
const ptxgen_kernel_scalar pointwise_scalars[] = {{"n", NULL, "number of elements"}};

ptxgen_value build_const_like(ptxgen_builder *b, ptxgen_value like, double x)
{
    return ptxgen_const_float(b, ptxgen_value_type(b, like), x);
}

ptxgen_value build_exp(ptxgen_builder *b, ptxgen_value x, ptxgen_elem to)
{
    if (to == PTXGEN_BF16) { /* which has as small numbers as f32 */
        ptxgen_value log2_e = build_const_like(b, x, LOG2_E);
        return ptxgen_build_unary(b, "exp2", ptxgen_build_binary(b, "fmul", x, log2_e));
    }
    ptxgen_value y = ptxgen_build_unary(b, "exp", x);
    if (to == PTXGEN_F16) {
        ptxgen_op_attr(b, "approx", 1);
    }
    return y;
}

ptxgen_value build_quotient(ptxgen_builder *b, ptxgen_value x, ptxgen_value y)
{
    ptxgen_value q = ptxgen_build_binary(b, "fdiv", x, y);
    ptxgen_op_attr(b, "approx", 1);
    return q;
}

/* x / (1 + exp(-t)). For a t far below 0 that is nothing in f16, and the exponential may stop
 * growing before it overflows. In the other types the right value may still be a normal number
 * there, so it takes the exponential of -|t| only: for a negative t that is x * exp(t) / (1 +
 * exp(t)). */
ptxgen_value build_times_sigmoid(ptxgen_builder *b, ptxgen_value x, ptxgen_value t, ptxgen_elem to)
{
    if (to == PTXGEN_F16) {
        ptxgen_value minus_t = ptxgen_build_unary(b, "fneg", t);
        ptxgen_value most = build_const_like(b, t, MOST_OF_F16);
        ptxgen_value y = build_exp(b, ptxgen_build_binary(b, "fmin", minus_t, most), to);
        return build_quotient(b, x, ptxgen_build_binary(b, "fadd", y, build_const_like(b, y, 1.0)));
    }
    ptxgen_value minus_abs = ptxgen_build_unary(b, "fneg", ptxgen_build_unary(b, "fabs", t));
    ptxgen_value e = build_exp(b, minus_abs, to);
    ptxgen_value is_negative =
        ptxgen_build_compare(b, "fcmp", "lt", t, build_const_like(b, t, 0.0));
    ptxgen_value small = ptxgen_build_binary(b, "fmul", x, e);
    ptxgen_value d = ptxgen_build_binary(b, "fadd", e, build_const_like(b, e, 1.0));
    return build_quotient(b, ptxgen_build_select(b, is_negative, small, x), d);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static ptxgen_value int_const(ptxgen_builder *b, ptxgen_elem elem, int64_t x)
{
    return ptxgen_const_int(b, ptxgen_type_scalar(ptxgen_builder_module(b), elem), x);
}

void flat_launch_end(ptxgen_builder *b, ptxgen_value n, int32_t block)
{
    ptxgen_value blocks = ptxgen_build_binary(b, "icdiv", n, int_const(b, PTXGEN_I64, block));
    ptxgen_value programs = ptxgen_build_binary(b, "imax", blocks, int_const(b, PTXGEN_I64, 1));
    ptxgen_value none = {0};
    ptxgen_launch_end(b, ptxgen_build_cast(b, programs, PTXGEN_I32), none, none);
}

void flat_begin(flat_run *r, ptxgen_builder *b, const kernel_settings *s, ptxgen_value n)
{
    *r = (flat_run){.b = b, .block = (int32_t)kernel_setting_int(s, "block"), .n = n};
    r->threads = (int32_t)(32 * kernel_setting_int(s, "warps"));
    r->div = (int32_t)kernel_setting_int(s, "div");
    r->has_wide_masks = kernel_has_wide_masks(s) || r->threads * r->div >= r->block;
    ptxgen_value pid = ptxgen_build_cast(b, ptxgen_build_program_id(b, 0), PTXGEN_I64);
    r->start = ptxgen_build_binary(b, "imul", pid, int_const(b, PTXGEN_I64, r->block));
}

/* The elements from `first` on, `size` of them. */
static flat_block block_at(const flat_run *r, ptxgen_value first, int32_t size, int is_masked)
{
    ptxgen_encoding none = {0};
    ptxgen_module *m = ptxgen_builder_module(r->b);
    ptxgen_type t = ptxgen_type_tile(m, PTXGEN_I64, 1, &size, none);
    flat_block f = {.index = ptxgen_build_iota(r->b, t, 0)};
    ptxgen_value firsts = ptxgen_build_splat(r->b, first, t);
    f.index = ptxgen_build_binary(r->b, "iadd", firsts, f.index);
    if (is_masked) {
        f.mask =
            ptxgen_build_compare(r->b, "icmp", "lt", f.index, ptxgen_build_splat(r->b, r->n, t));
    }
    return f;
}

static ptxgen_value end_of(const flat_run *r)
{
    return ptxgen_build_binary(r->b, "iadd", r->start, int_const(r->b, PTXGEN_I64, r->block));
}

ptxgen_value flat_is_whole(const flat_run *r)
{
    return ptxgen_build_compare(r->b, "icmp", "le", end_of(r), r->n);
}

void flat_at_once(const flat_run *r, flat_step *step, const void *env)
{
    flat_block f = block_at(r, r->start, r->block, r->has_wide_masks);
    step(r->b, &f, env);
}

void flat_in_pieces(const flat_run *r, int32_t each, flat_step *step, const void *env)
{
    const int32_t all = r->threads * each, piece = all < r->block ? all : r->block;
    ptxgen_value end = ptxgen_build_binary(r->b, "imin", end_of(r), r->n), at = {0};
    ptxgen_for_begin(r->b, r->start, end, int_const(r->b, PTXGEN_I64, piece), 0, NULL, &at);
    flat_block f = block_at(r, at, piece, 1);
    step(r->b, &f, env);
    ptxgen_for_end(r->b, 0, NULL, NULL);
}

ptxgen_value flat_load(ptxgen_builder *b, ptxgen_value pointer, const flat_block *f,
                       ptxgen_value other)
{
    return ptxgen_build_load(b, ptxgen_build_addptr(b, pointer, f->index), f->mask,
                             f->mask.id == 0 ? f->mask : other);
}

void flat_store(ptxgen_builder *b, ptxgen_value pointer, ptxgen_value value, const flat_block *f)
{
    ptxgen_build_store(b, ptxgen_build_addptr(b, pointer, f->index), value, f->mask);
}

/* ---- kernels --------------------------------------------------------------------------------- */

typedef struct flat_kernel {
    const pointwise *p;
    ptxgen_elem elem;
    ptxgen_value in[POINTWISE_MAX_IN], out;
} flat_kernel;

static void flat_body(ptxgen_builder *b, const flat_block *f, const void *env)
{
    const flat_kernel *k = env;
    ptxgen_module *m = ptxgen_builder_module(b);
    ptxgen_value tiles[POINTWISE_MAX_IN];
    for (uint32_t i = 0; i < k->p->n_in; i++) {
        ptxgen_type t = ptxgen_type_with_elem(m, ptxgen_value_type(b, f->index), k->elem);
        ptxgen_value x = flat_load(b, k->in[i], f, ptxgen_const_float(b, t, 0.0));
        tiles[i] = k->elem == PTXGEN_F32 ? x : ptxgen_build_cast(b, x, PTXGEN_F32);
    }
    ptxgen_value y = k->p->compute(b, tiles, k->elem);
    flat_store(b, k->out, k->elem == PTXGEN_F32 ? y : ptxgen_build_cast(b, y, k->elem), f);
}

ptxgen_status pointwise_build(ptxgen_module *m, const kernel_settings *s)
{
    const pointwise *p = s->flat;
    flat_kernel k = {.p = p, .elem = kernel_setting_elem(s, "dtype")};
    ptxgen_type ptr = ptxgen_type_ptr(m, k.elem), i64 = ptxgen_type_scalar(m, PTXGEN_I64);
    ptxgen_builder *b = NULL;
    ptxgen_status status = ptxgen_kernel_begin(m, p->name, &b);
    if (status != PTXGEN_OK) {
        return status;
    }
    ptxgen_kernel_attr(b, "warps", kernel_setting_int(s, "warps"));
    for (uint32_t i = 0; i < p->n_in; i++) {
        k.in[i] = ptxgen_param(b, p->in_names[i], ptr);
    }
    k.out = ptxgen_param(b, p->out_name, ptr);
    ptxgen_value n = ptxgen_param(b, "n", i64);
    for (uint32_t i = 0; i <= p->n_in; i++) {
        ptxgen_value v = i < p->n_in ? k.in[i] : k.out;
        ptxgen_param_attr(b, v, i < p->n_in ? "in" : "out", 1);
        ptxgen_param_attr(b, v, "align", 16);
        ptxgen_param_dims(b, v, "shape", 1, &n);
    }
    if (kernel_setting_int(s, "div") > 1) {
        ptxgen_param_attr(b, n, "div", kernel_setting_int(s, "div"));
    }
    ptxgen_launch_begin(b);
    flat_launch_end(b, n, (int32_t)kernel_setting_int(s, "block"));
    flat_run r;
    flat_begin(&r, b, s, n);
    if (r.has_wide_masks) {
        flat_at_once(&r, flat_body, &k);
    } else {
        ptxgen_if_begin(b, flat_is_whole(&r), 0, NULL);
        flat_at_once(&r, flat_body, &k);
        ptxgen_else(b, 0, NULL);
        flat_in_pieces(&r, r.div, flat_body, &k);
        ptxgen_if_end(b, 0, NULL, NULL);
    }
    return ptxgen_kernel_end(b);
}

/* Unit roundoff of f32 over that of the output's type: what an error in units of the former counts
 * in the latter. */
static double f32_share(ptxgen_elem elem)
{
    return elem == PTXGEN_F16 ? 0x1p-13 : (elem == PTXGEN_BF16 ? 0x1p-16 : 1.0);
}

ptxgen_status pointwise_reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    const pointwise *p = s->flat;
    double share = f32_share(kernel_setting_elem(s, "dtype"));
    const ptxgen_kernel_array *in[POINTWISE_MAX_IN] = {NULL};
    const ptxgen_kernel_array *out = kernel_array(run, p->out_name);
    int64_t n = kernel_scalar(run, "n", -1);
    if (out == NULL || out->ref == NULL || out->bound == NULL || n < 0 || out->n < (uint64_t)n) {
        return PTXGEN_E_MISUSE;
    }
    for (uint32_t a = 0; a < p->n_in; a++) {
        in[a] = kernel_array(run, p->in_names[a]);
        if (in[a] == NULL || in[a]->in == NULL || in[a]->n < (uint64_t)n) {
            return PTXGEN_E_MISUSE;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double x[POINTWISE_MAX_IN] = {0};
        for (uint32_t a = 0; a < p->n_in; a++) {
            x[a] = in[a]->in[i];
        }
        double error = 0.0;
        p->element(x, &out->ref[i], &error);
        out->bound[i] = fabs(out->ref[i]) + share * error;
    }
    return PTXGEN_OK;
}
