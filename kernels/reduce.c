/* reduce: sum or maximum of an array of rows x cols: of each row (inner), of each column (outer),
 * of all (full). Rows go to programs; columns to programs of OUTER_COLS, which take OUTER_ROWS rows
 * at a time; all is left to one program, which is right at any size and fast for small arrays. */
#include <math.h>

#include "kernels/rows.h"

enum { OUTER_ROWS = 16, OUTER_COLS = 128 };

static const ptxgen_value none = {0};

static ptxgen_value take_sum(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                             ptxgen_value acc)
{
    (void)env;
    return rows_combine(k, "fadd", acc, rows_load(k, 0, at));
}

static ptxgen_value take_max(rows_kernel *k, const rows_block *at, const ptxgen_value *env,
                             ptxgen_value acc)
{
    (void)env;
    return rows_combine(k, "fmax", acc, rows_load(k, 0, at));
}

static const char *const in_names[] = {"x", NULL};

static ptxgen_value narrow(ptxgen_builder *b, ptxgen_value x, ptxgen_elem elem)
{
    return elem == PTXGEN_F32 ? x : ptxgen_build_cast(b, x, elem);
}

static void put(rows_kernel *k, ptxgen_value y)
{
    y = narrow(k->b, y, k->elem);
    ptxgen_build_store(k->b, ptxgen_build_addptr(k->b, k->out, k->row), y, none);
}

static void sum_body(rows_kernel *k)
{
    put(k, rows_fold(k, take_sum, NULL, "sum"));
}

static void max_body(rows_kernel *k)
{
    put(k, rows_fold(k, take_max, NULL, "max"));
}

static ptxgen_status build_rows(ptxgen_module *m, const kernel_settings *s, int is_max)
{
    int is_all = kernel_setting_is(s, "axis", "full");
    const rows_shape shape = {in_names, is_all ? ROWS_ALL : ROWS_ONE_EACH,
                              is_max ? -HUGE_VAL : 0.0};
    return rows_build(m, s, &shape, is_max ? max_body : sum_body);
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef struct columns {
    ptxgen_builder *b;
    ptxgen_elem elem;
    int is_max;
    ptxgen_type i64, i32_tile, i64_tile; /* OUTER_ROWS x OUTER_COLS */
    ptxgen_value x, y, rows, cols, first, left;
} columns;

static ptxgen_value i64_const(columns *c, int64_t x)
{
    return ptxgen_const_int(c->b, c->i64, x);
}

static ptxgen_value splat_i32(columns *c, ptxgen_value i64, ptxgen_type tile)
{
    return ptxgen_build_splat(c->b, ptxgen_build_cast(c->b, i64, PTXGEN_I32), tile);
}

static void columns_params(columns *c, const kernel_settings *s)
{
    ptxgen_builder *b = c->b;
    ptxgen_type ptr = ptxgen_type_ptr(ptxgen_builder_module(b), c->elem);
    c->x = ptxgen_param(b, "x", ptr);
    c->y = ptxgen_param(b, "y", ptr);
    c->rows = ptxgen_param(b, "rows", c->i64);
    c->cols = ptxgen_param(b, "cols", c->i64);
    ptxgen_value shape[2] = {c->rows, c->cols};
    ptxgen_param_attr(b, c->x, "in", 1);
    ptxgen_param_attr(b, c->x, "align", 16);
    ptxgen_param_dims(b, c->x, "shape", 2, shape);
    ptxgen_param_attr(b, c->y, "out", 1);
    ptxgen_param_attr(b, c->y, "align", 16);
    ptxgen_param_dims(b, c->y, "shape", 1, &c->cols);
    if (kernel_setting_int(s, "div") > 1) {
        ptxgen_param_attr(b, c->cols, "div", kernel_setting_int(s, "div"));
    }
    ptxgen_launch_begin(b);
    ptxgen_value blocks = ptxgen_build_binary(b, "icdiv", c->cols, i64_const(c, OUTER_COLS));
    ptxgen_value programs = ptxgen_build_binary(b, "imax", blocks, i64_const(c, 1));
    ptxgen_launch_end(b, ptxgen_build_cast(b, programs, PTXGEN_I32), none, none);
    ptxgen_value pid = ptxgen_build_cast(b, ptxgen_build_program_id(b, 0), PTXGEN_I64);
    c->first = ptxgen_build_binary(b, "imul", pid, i64_const(c, OUTER_COLS));
    c->left = ptxgen_build_binary(b, "isub", c->cols, c->first);
    c->left = ptxgen_build_binary(b, "imin", c->left, i64_const(c, OUTER_COLS));
}

/* The rows from `row` on, as f32. */
static ptxgen_value columns_load(columns *c, ptxgen_value row)
{
    ptxgen_builder *b = c->b;
    ptxgen_value i = ptxgen_build_iota(b, c->i32_tile, 0), j = ptxgen_build_iota(b, c->i32_tile, 1);
    ptxgen_value down = ptxgen_build_cast(b, i, PTXGEN_I64);
    down = ptxgen_build_binary(b, "imul", down, ptxgen_build_splat(b, c->cols, c->i64_tile));
    ptxgen_value off = ptxgen_build_binary(b, "iadd", down, ptxgen_build_cast(b, j, PTXGEN_I64));
    ptxgen_value start = ptxgen_build_binary(b, "imul", row, c->cols);
    start = ptxgen_build_binary(b, "iadd", start, c->first);
    ptxgen_value p = ptxgen_build_addptr(b, ptxgen_build_addptr(b, c->x, start), off);
    ptxgen_value rest = ptxgen_build_binary(b, "isub", c->rows, row);
    rest = ptxgen_build_binary(b, "imin", rest, i64_const(c, OUTER_ROWS));
    ptxgen_value is_row = ptxgen_build_compare(b, "icmp", "lt", i, splat_i32(c, rest, c->i32_tile));
    ptxgen_value is_col =
        ptxgen_build_compare(b, "icmp", "lt", j, splat_i32(c, c->left, c->i32_tile));
    ptxgen_type t = ptxgen_type_with_elem(ptxgen_builder_module(b), c->i32_tile, c->elem);
    ptxgen_value other = ptxgen_const_float(b, t, c->is_max ? -HUGE_VAL : 0.0);
    ptxgen_value mask = ptxgen_build_binary(b, "and", is_row, is_col);
    ptxgen_value x = ptxgen_build_load(b, p, mask, other);
    return c->elem == PTXGEN_F32 ? x : ptxgen_build_cast(b, x, PTXGEN_F32);
}

static ptxgen_status build_columns(ptxgen_module *m, const kernel_settings *s, int is_max)
{
    static const int32_t dims[2] = {OUTER_ROWS, OUTER_COLS};
    ptxgen_encoding no_enc = {0};
    columns c = {.elem = kernel_setting_elem(s, "dtype"), .is_max = is_max};
    c.i64 = ptxgen_type_scalar(m, PTXGEN_I64);
    c.i32_tile = ptxgen_type_tile(m, PTXGEN_I32, 2, dims, no_enc);
    c.i64_tile = ptxgen_type_tile(m, PTXGEN_I64, 2, dims, no_enc);
    ptxgen_type f32_tile = ptxgen_type_tile(m, PTXGEN_F32, 2, dims, no_enc);
    ptxgen_type line = ptxgen_type_tile(m, PTXGEN_I32, 1, dims + 1, no_enc);
    ptxgen_status status = ptxgen_kernel_begin(m, s->info->name, &c.b);
    if (status != PTXGEN_OK) {
        return status;
    }
    ptxgen_builder *b = c.b;
    ptxgen_kernel_attr(b, "warps", kernel_setting_int(s, "warps"));
    columns_params(&c, s);
    ptxgen_value acc = ptxgen_const_float(b, f32_tile, is_max ? -HUGE_VAL : 0.0);
    ptxgen_value args[2] = {{0}}, sum = {0};
    ptxgen_value from = i64_const(&c, 0);
    ptxgen_for_begin(b, from, c.rows, i64_const(&c, OUTER_ROWS), 1, &acc, args);
    ptxgen_value next =
        ptxgen_build_binary(b, is_max ? "fmax" : "fadd", args[1], columns_load(&c, args[0]));
    ptxgen_for_end(b, 1, &next, &sum);
    ptxgen_value y = ptxgen_build_reduce(b, is_max ? "max" : "sum", sum, 0);
    ptxgen_value j = ptxgen_build_iota(b, line, 0);
    ptxgen_value mask = ptxgen_build_compare(b, "icmp", "lt", j, splat_i32(&c, c.left, line));
    ptxgen_value p = ptxgen_build_addptr(b, ptxgen_build_addptr(b, c.y, c.first), j);
    ptxgen_build_store(b, p, narrow(b, y, c.elem), mask);
    return ptxgen_kernel_end(b);
}

static ptxgen_status build(ptxgen_module *m, const kernel_settings *s)
{
    int is_max = kernel_setting_is(s, "op", "max");
    return kernel_setting_is(s, "axis", "outer") ? build_columns(m, s, is_max)
                                                 : build_rows(m, s, is_max);
}

/* ---- reference ------------------------------------------------------------------------------- */

typedef struct line { /* of elements that make one result */
    const double *at;
    int64_t n, stride;
    double depth; /* additions on the way, at most */
} line;

static void one(const line *l, int is_max, double share, double *ref, double *bound)
{
    double x = is_max ? -HUGE_VAL : 0.0, size = 0.0;
    for (int64_t i = 0; i < l->n; i++) {
        double y = l->at[i * l->stride];
        x = is_max ? fmax(x, y) : x + y;
        size += fabs(y);
    }
    *ref = x;
    *bound = is_max ? 0.0 : fabs(x) + share * size * l->depth;
}

static ptxgen_status reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    rows_run r;
    ptxgen_status status = rows_run_of(run, in_names, &r);
    double share = rows_f32_share(kernel_setting_elem(s, "dtype"));
    int is_max = kernel_setting_is(s, "op", "max");
    int is_outer = kernel_setting_is(s, "axis", "outer");
    if (status != PTXGEN_OK) {
        return status;
    }
    if (kernel_setting_is(s, "axis", "full")) {
        r.cols *= r.rows;
        r.rows = 1;
    }
    int64_t n = is_outer ? r.rows : r.cols;
    line l = {.n = n, .stride = is_outer ? r.cols : 1};
    l.depth = is_outer ? (double)n / OUTER_ROWS + 16.0 : rows_depth(s, n);
    for (int64_t i = 0; i < (is_outer ? r.cols : r.rows); i++) {
        l.at = r.in[0] + i * (is_outer ? 1 : r.cols);
        one(&l, is_max, share, &r.ref[i], &r.bound[i]);
    }
    return PTXGEN_OK;
}

static const ptxgen_kernel_setting settings[] = {
    {"axis", "inner", "inner outer full", "axis is inner (rows), outer (columns) or full (all)"},
    {"op", "sum", "sum max", "op is sum or max"},
    ROWS_SETTINGS};
static const ptxgen_kernel_scalar scalars[] = {ROWS_SCALARS};
static const ptxgen_kernel_info info = {
    .name = "reduce",
    .doc = "y = sum or maximum of the rows, the columns or all of x; computed in f32",
    .settings = settings,
    .n_settings = sizeof settings / sizeof settings[0],
    .scalars = scalars,
    .n_scalars = sizeof scalars / sizeof scalars[0],
    .error_factor = 1.0,
    .input_low = -4.0,
    .input_high = 4.0,
    .least_sm = 80};
const kernel_row kernel_reduce = {&info, build, reference, NULL};
