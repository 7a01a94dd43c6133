/* Kernels on rows: parameters, blocks, passes over a row. */
#include "kernels/rows.h"

const ptxgen_kernel_setting rows_settings[] = {ROWS_SETTINGS};
const ptxgen_kernel_scalar rows_scalars[] = {ROWS_SCALARS};

static const ptxgen_value none = {0};

static ptxgen_value i64_const(rows_kernel *k, int64_t x)
{
    return ptxgen_const_int(k->b, k->i64, x);
}

static void add_params(rows_kernel *k, const char *const *in_names, rows_form form, int64_t div)
{
    ptxgen_module *m = ptxgen_builder_module(k->b);
    ptxgen_type ptr = ptxgen_type_ptr(m, k->elem);
    uint32_t n_in = 0;
    for (; in_names[n_in] != NULL; n_in++) {
        k->in[n_in] = ptxgen_param(k->b, in_names[n_in], ptr);
    }
    k->out = ptxgen_param(k->b, "y", ptr);
    k->rows = ptxgen_param(k->b, "rows", k->i64);
    k->cols = ptxgen_param(k->b, "cols", k->i64);
    ptxgen_value shape[2] = {k->rows, k->cols};
    for (uint32_t i = 0; i <= n_in; i++) {
        ptxgen_value v = i < n_in ? k->in[i] : k->out;
        ptxgen_param_attr(k->b, v, i < n_in ? "in" : "out", 1);
        ptxgen_param_attr(k->b, v, "align", 16);
        if (i < n_in) {
            ptxgen_param_dims(k->b, v, "shape", i == 0 ? 2 : 1, i == 0 ? shape : &k->cols);
        } else {
            shape[0] = form == ROWS_ALL ? i64_const(k, 1) : k->rows;
            ptxgen_param_dims(k->b, v, "shape", form == ROWS_SAME ? 2 : 1, shape);
        }
    }
    if (div > 1) {
        ptxgen_param_attr(k->b, k->cols, "div", div);
    }
}

ptxgen_status rows_begin(ptxgen_module *m, const kernel_settings *s, const char *const *in_names,
                         rows_form form, rows_kernel *out)
{
    rows_kernel *k = out;
    *k = (rows_kernel){.elem = kernel_setting_elem(s, "dtype")};
    ptxgen_encoding no_enc = {0};
    k->block = (int32_t)kernel_setting_int(s, "block");
    k->i64 = ptxgen_type_scalar(m, PTXGEN_I64);
    k->index_type = ptxgen_type_tile(m, PTXGEN_I32, 1, &k->block, no_enc);
    k->f32_tile = ptxgen_type_tile(m, PTXGEN_F32, 1, &k->block, no_enc);
    ptxgen_status status = ptxgen_kernel_begin(m, s->info->name, &k->b);
    if (status != PTXGEN_OK) {
        return status;
    }
    ptxgen_builder *b = k->b;
    ptxgen_kernel_attr(b, "warps", kernel_setting_int(s, "warps"));
    add_params(k, in_names, form, kernel_setting_int(s, "div"));
    ptxgen_launch_begin(b);
    ptxgen_value programs = form == ROWS_ALL
                                ? i64_const(k, 1)
                                : ptxgen_build_binary(b, "imax", k->rows, i64_const(k, 1));
    ptxgen_launch_end(b, ptxgen_build_cast(b, programs, PTXGEN_I32), none, none);
    if (form == ROWS_ALL) {
        k->cols = ptxgen_build_binary(b, "imul", k->rows, k->cols);
        k->rows = i64_const(k, 1);
    }
    k->row = ptxgen_build_cast(b, ptxgen_build_program_id(b, 0), PTXGEN_I64);
    k->start = ptxgen_build_binary(b, "imul", k->row, k->cols);
    k->index = ptxgen_build_iota(b, k->index_type, 0);
    ptxgen_value blocks = ptxgen_build_binary(b, "udiv", k->cols, i64_const(k, k->block));
    k->whole = ptxgen_build_binary(b, "imul", blocks, i64_const(k, k->block));
    ptxgen_if_begin(b, ptxgen_build_compare(b, "icmp", "lt", k->row, k->rows), 0, NULL);
    return PTXGEN_OK;
}

ptxgen_status rows_end(rows_kernel *k)
{
    ptxgen_if_end(k->b, 0, NULL, NULL);
    return ptxgen_kernel_end(k->b);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static ptxgen_value pointers(rows_kernel *k, ptxgen_value base, int has_rows, const rows_block *at)
{
    ptxgen_builder *b = k->b;
    base = has_rows ? ptxgen_build_addptr(b, base, k->start) : base;
    return ptxgen_build_addptr(b, ptxgen_build_addptr(b, base, at->at), k->index);
}

ptxgen_value rows_load(rows_kernel *k, uint32_t i, const rows_block *at, double other)
{
    ptxgen_builder *b = k->b;
    ptxgen_type t = ptxgen_type_with_elem(ptxgen_builder_module(b), k->index_type, k->elem);
    ptxgen_value fill = at->mask.id == 0 ? none : ptxgen_const_float(b, t, other);
    ptxgen_value x = ptxgen_build_load(b, pointers(k, k->in[i], i == 0, at), at->mask, fill);
    return k->elem == PTXGEN_F32 ? x : ptxgen_build_cast(b, x, PTXGEN_F32);
}

void rows_store(rows_kernel *k, const rows_block *at, ptxgen_value x)
{
    ptxgen_value y = k->elem == PTXGEN_F32 ? x : ptxgen_build_cast(k->b, x, k->elem);
    ptxgen_build_store(k->b, pointers(k, k->out, 1, at), y, at->mask);
}

static ptxgen_value walk(rows_kernel *k, rows_step *step, const ptxgen_value *env, ptxgen_value acc)
{
    ptxgen_builder *b = k->b;
    const uint32_t n = acc.id != 0 ? 1 : 0;
    ptxgen_value args[2] = {{0}};
    ptxgen_value from = i64_const(k, 0);
    ptxgen_for_begin(b, from, k->whole, i64_const(k, k->block), n, &acc, args);
    rows_block at = {.at = args[0]};
    ptxgen_value next = step(k, &at, env, args[1]);
    ptxgen_value done = {0};
    ptxgen_for_end(b, n, &next, &done);
    /* In a condition: a row of whole blocks has no rest, and masks live no longer than it. */
    ptxgen_if_begin(b, ptxgen_build_compare(b, "icmp", "lt", k->whole, k->cols), n, &k->f32_tile);
    at.at = k->whole;
    ptxgen_value left = ptxgen_build_binary(b, "isub", k->cols, k->whole);
    ptxgen_value left_32 = ptxgen_build_cast(b, left, PTXGEN_I32);
    at.mask = ptxgen_build_compare(b, "icmp", "lt", k->index,
                                   ptxgen_build_splat(b, left_32, k->index_type));
    next = step(k, &at, env, done);
    ptxgen_else(b, n, &next);
    ptxgen_if_end(b, n, &done, &next);
    return next;
}

ptxgen_value rows_fold(rows_kernel *k, rows_step *step, const ptxgen_value *env, double first,
                       const char *op)
{
    ptxgen_value acc = walk(k, step, env, ptxgen_const_float(k->b, k->f32_tile, first));
    return ptxgen_build_reduce(k->b, op, acc, 0);
}

void rows_for_each(rows_kernel *k, rows_step *step, const ptxgen_value *env)
{
    (void)walk(k, step, env, none);
}

ptxgen_value rows_mean(rows_kernel *k, ptxgen_value sum)
{
    return ptxgen_build_binary(k->b, "fdiv", sum, ptxgen_build_cast(k->b, k->cols, PTXGEN_F32));
}

/* ---- references ------------------------------------------------------------------------------ */

double rows_depth(const kernel_settings *s, int64_t n)
{
    return (double)n / (double)kernel_setting_int(s, "block") + 16.0;
}

double rows_f32_share(ptxgen_elem elem)
{
    return elem == PTXGEN_F16 ? 0x1p-13 : (elem == PTXGEN_BF16 ? 0x1p-16 : 1.0);
}

ptxgen_status rows_run_of(const ptxgen_kernel_run *run, const char *const *in_names, rows_run *out)
{
    const ptxgen_kernel_array *y = kernel_array(run, "y");
    *out =
        (rows_run){.rows = kernel_scalar(run, "rows", -1), .cols = kernel_scalar(run, "cols", -1)};
    if (y == NULL || y->ref == NULL || y->bound == NULL || out->rows < 0 || out->cols < 0) {
        return PTXGEN_E_MISUSE;
    }
    out->ref = y->ref;
    out->bound = y->bound;
    uint64_t n_cols = (uint64_t)out->cols, n_rows = (uint64_t)out->rows;
    for (uint32_t i = 0; in_names[i] != NULL; i++) {
        const ptxgen_kernel_array *x = kernel_array(run, in_names[i]);
        if (x == NULL || x->in == NULL || x->n < (i == 0 ? n_rows * n_cols : n_cols)) {
            return PTXGEN_E_MISUSE;
        }
        out->in[i] = x->in;
    }
    return PTXGEN_OK;
}
