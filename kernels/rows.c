/* Kernels on rows: parameters, blocks, passes over a row. */
#include "kernels/rows.h"

#include <math.h>
#include <string.h>

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
    k->n_in = n_in;
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

/* ---- blocks ---------------------------------------------------------------------------------- */

/* `size` elements of the row, from `first` (id 0: none) on, counted in i64 or i32. */
static rows_block block_at(rows_kernel *k, int32_t size, ptxgen_elem elem, ptxgen_value first,
                           int is_masked)
{
    ptxgen_builder *b = k->b;
    ptxgen_encoding no_enc = {0};
    ptxgen_type t = ptxgen_type_tile(ptxgen_builder_module(b), elem, 1, &size, no_enc);
    rows_block at = {.index = ptxgen_build_iota(b, t, 0)};
    if (first.id != 0) {
        ptxgen_value firsts = ptxgen_build_splat(b, first, t);
        at.index = ptxgen_build_binary(b, "iadd", firsts, at.index);
    }
    if (is_masked) {
        ptxgen_value end = elem == PTXGEN_I32 ? ptxgen_build_cast(b, k->cols, PTXGEN_I32) : k->cols;
        at.mask = ptxgen_build_compare(b, "icmp", "lt", at.index, ptxgen_build_splat(b, end, t));
    }
    return at;
}

static ptxgen_value load(rows_kernel *k, uint32_t i, const rows_block *at)
{
    ptxgen_builder *b = k->b;
    ptxgen_type t = ptxgen_value_type(b, at->index);
    t = ptxgen_type_with_elem(ptxgen_builder_module(b), t, k->elem);
    ptxgen_value fill = at->mask.id == 0 ? none : ptxgen_const_float(b, t, i == 0 ? k->other : 0.0);
    return ptxgen_build_load(b, ptxgen_build_addptr(b, k->in[i], at->index), at->mask, fill);
}

ptxgen_value rows_load(rows_kernel *k, uint32_t i, const rows_block *at)
{
    ptxgen_value x = k->is_held ? k->held[i] : load(k, i, at);
    return k->elem == PTXGEN_F32 ? x : ptxgen_build_cast(k->b, x, PTXGEN_F32);
}

void rows_store(rows_kernel *k, const rows_block *at, ptxgen_value x)
{
    ptxgen_value y = k->elem == PTXGEN_F32 ? x : ptxgen_build_cast(k->b, x, k->elem);
    ptxgen_build_store(k->b, ptxgen_build_addptr(k->b, k->out, at->index), y, at->mask);
}

ptxgen_value rows_splat(rows_kernel *k, const rows_block *at, ptxgen_value x)
{
    ptxgen_type t = ptxgen_value_type(k->b, at->index);
    t = ptxgen_type_with_elem(ptxgen_builder_module(k->b), t, PTXGEN_F32);
    return ptxgen_build_splat(k->b, x, t);
}

/* ---- passes ---------------------------------------------------------------------------------- */

typedef struct rows_span {
    ptxgen_value from, to; /* i64 */
    int32_t size;          /* elements at a time */
    int is_masked;
} rows_span;

static ptxgen_value loop(rows_kernel *k, const rows_span *span, rows_step *step,
                         const ptxgen_value *env, ptxgen_value acc)
{
    const uint32_t n = acc.id != 0 ? 1 : 0;
    ptxgen_value args[2] = {{0}}, done = {0};
    ptxgen_for_begin(k->b, span->from, span->to, i64_const(k, span->size), n, &acc, args);
    rows_block at = block_at(k, span->size, PTXGEN_I64, args[0], span->is_masked);
    ptxgen_value next = step(k, &at, env, args[1]);
    ptxgen_for_end(k->b, n, &next, &done);
    return done;
}

static ptxgen_value walk(rows_kernel *k, rows_step *step, const ptxgen_value *env, ptxgen_value acc)
{
    ptxgen_builder *b = k->b;
    if (k->is_held) {
        return step(k, &k->only, env, none);
    }
    const uint32_t n = acc.id != 0 ? 1 : 0;
    rows_span span = {i64_const(k, 0), k->cols, k->block, 1};
    if (k->has_wide_masks) {
        return loop(k, &span, step, env, acc);
    }
    ptxgen_value blocks = ptxgen_build_binary(b, "udiv", k->cols, i64_const(k, k->block));
    ptxgen_value whole = ptxgen_build_binary(b, "imul", blocks, i64_const(k, k->block));
    span.to = whole;
    span.is_masked = 0;
    ptxgen_value done = loop(k, &span, step, env, acc);
    if (n == 0) { /* little code for what runs seldom; accumulators have as many elements as a block
                   */
        span = (rows_span){whole, k->cols, k->piece, 1};
        return loop(k, &span, step, env, acc);
    }
    /* In a condition: a row of whole blocks has no rest, and masks live no longer than it. */
    ptxgen_if_begin(b, ptxgen_build_compare(b, "icmp", "lt", whole, k->cols), n, &k->f32_tile);
    rows_block at = block_at(k, k->block, PTXGEN_I64, whole, 1);
    ptxgen_value next = step(k, &at, env, done);
    ptxgen_else(b, n, &next);
    ptxgen_if_end(b, n, &done, &next);
    return next;
}

ptxgen_value rows_fold(rows_kernel *k, rows_step *step, const ptxgen_value *env, const char *op)
{
    const double first = strcmp(op, "max") == 0 ? -HUGE_VAL : 0.0;
    ptxgen_value acc = walk(k, step, env, ptxgen_const_float(k->b, k->f32_tile, first));
    return ptxgen_build_reduce(k->b, op, acc, 0);
}

void rows_for_each(rows_kernel *k, rows_step *step, const ptxgen_value *env)
{
    (void)walk(k, step, env, none);
}

ptxgen_value rows_combine(rows_kernel *k, const char *op, ptxgen_value acc, ptxgen_value x)
{
    return acc.id == 0 ? x : ptxgen_build_binary(k->b, op, acc, x);
}

ptxgen_value rows_add_square(rows_kernel *k, ptxgen_value acc, ptxgen_value x)
{
    return acc.id == 0 ? ptxgen_build_binary(k->b, "fmul", x, x)
                       : ptxgen_build_fma(k->b, x, x, acc);
}

ptxgen_value rows_mean(rows_kernel *k, ptxgen_value sum)
{
    return build_quotient(k->b, sum, ptxgen_build_cast(k->b, k->cols, PTXGEN_F32));
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Elements that a thread holds of a row: with more, registers do not suffice for what is computed.
 */
#define MOST_HELD 32

static int can_hold(const rows_kernel *k, const kernel_settings *s)
{
    return !kernel_setting_is(s, "length", "long") &&
           k->block <= INT64_C(32) * MOST_HELD * kernel_setting_int(s, "warps");
}

static void held_row(rows_kernel *k, rows_body *body)
{
    k->only = block_at(k, k->block, PTXGEN_I32, none, 1);
    for (uint32_t i = 0; i < k->n_in; i++) { /* all under way before the first is waited for */
        k->held[i] = load(k, i, &k->only);
    }
    k->is_held = 1;
    body(k);
    k->is_held = 0;
}

static void launch(rows_kernel *k, rows_form form)
{
    ptxgen_launch_begin(k->b);
    ptxgen_value programs = form == ROWS_ALL
                                ? i64_const(k, 1)
                                : ptxgen_build_binary(k->b, "imax", k->rows, i64_const(k, 1));
    ptxgen_launch_end(k->b, ptxgen_build_cast(k->b, programs, PTXGEN_I32), none, none);
}

/* Pointers to the program's row. */
static void find_row(rows_kernel *k, rows_form form)
{
    ptxgen_builder *b = k->b;
    if (form == ROWS_ALL) {
        k->cols = ptxgen_build_binary(b, "imul", k->rows, k->cols);
        k->rows = i64_const(k, 1);
    }
    k->row = ptxgen_build_cast(b, ptxgen_build_program_id(b, 0), PTXGEN_I64);
    ptxgen_value start = ptxgen_build_binary(b, "imul", k->row, k->cols);
    k->in[0] = ptxgen_build_addptr(b, k->in[0], start);
    if (form == ROWS_SAME) {
        k->out = ptxgen_build_addptr(b, k->out, start);
    }
}

ptxgen_status rows_build(ptxgen_module *m, const kernel_settings *s, const rows_shape *shape,
                         rows_body *body)
{
    rows_kernel k = {.elem = kernel_setting_elem(s, "dtype"), .other = shape->other};
    ptxgen_encoding no_enc = {0};
    k.block = (int32_t)kernel_setting_int(s, "block");
    k.has_wide_masks = kernel_has_wide_masks(s);
    const int64_t piece = 32 * kernel_setting_int(s, "warps") * kernel_setting_int(s, "div");
    k.piece = piece < k.block ? (int32_t)piece : k.block;
    k.i64 = ptxgen_type_scalar(m, PTXGEN_I64);
    k.f32_tile = ptxgen_type_tile(m, PTXGEN_F32, 1, &k.block, no_enc);
    ptxgen_status status = ptxgen_kernel_begin(m, s->info->name, &k.b);
    if (status != PTXGEN_OK) {
        return status;
    }
    ptxgen_builder *b = k.b;
    ptxgen_kernel_attr(b, "warps", kernel_setting_int(s, "warps"));
    add_params(&k, shape->in_names, shape->form, kernel_setting_int(s, "div"));
    launch(&k, shape->form);
    find_row(&k, shape->form);
    ptxgen_if_begin(b, ptxgen_build_compare(b, "icmp", "lt", k.row, k.rows), 0, NULL);
    if (kernel_setting_is(s, "length", "block")) {
        held_row(&k, body);
    } else if (can_hold(&k, s)) {
        ptxgen_value is_short =
            ptxgen_build_compare(b, "icmp", "le", k.cols, i64_const(&k, k.block));
        ptxgen_if_begin(b, is_short, 0, NULL);
        held_row(&k, body);
        ptxgen_else(b, 0, NULL);
        body(&k);
        ptxgen_if_end(b, 0, NULL, NULL);
    } else {
        body(&k);
    }
    ptxgen_if_end(b, 0, NULL, NULL);
    return ptxgen_kernel_end(b);
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
