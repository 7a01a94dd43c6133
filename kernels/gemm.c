/* gemm: c = act(alpha * a * b + beta * c0 + bias), f32 accumulation on the matrix units.
 *
 * One program computes a tile of c. Programs are numbered so that neighbours share rows of a and
 * columns of b (groups of 8 tiles down, then across): what they load together stays in the cache.
 * Every extent is free: masks give 0 where an array ends. */
#include <math.h>

#include "kernels/kernel.h"

enum { GROUP = 8 };

typedef struct gemm {
    ptxgen_module *m;
    ptxgen_builder *b;
    ptxgen_elem elem;
    int32_t tile[3]; /* m, n, k */
    uint32_t align;  /* contiguous extents are multiples of this many elements */
    int is_a_col, is_b_col, has_bias;
    double alpha, beta;
    const kernel_settings *settings;
    ptxgen_value a, bb, c0, bias, c;
    ptxgen_value n[3];     /* i32: m, n, k */
    ptxgen_value first[2]; /* i32: first row and column of the tile */
} gemm;

/* A tile of an array in memory: rows of contiguous columns. */
typedef struct place {
    int32_t rows, cols;
    ptxgen_value stride;               /* i64: elements from row to row */
    ptxgen_value row_limit, col_limit; /* i32: rows and columns that exist */
    ptxgen_value offset;               /* i64 tile */
} place;

static ptxgen_type scalar(const gemm *g, ptxgen_elem e)
{
    return ptxgen_type_scalar(g->m, e);
}

static ptxgen_type tile2(const gemm *g, ptxgen_elem e, int32_t rows, int32_t cols)
{
    const int32_t dims[2] = {rows, cols};
    ptxgen_encoding none = {0};
    return ptxgen_type_tile(g->m, e, 2, dims, none);
}

static ptxgen_value i32(const gemm *g, int64_t x)
{
    return ptxgen_const_int(g->b, scalar(g, PTXGEN_I32), x);
}

static ptxgen_value op1(const gemm *g, const char *op, ptxgen_value x, ptxgen_type type)
{
    ptxgen_value y = {0};
    ptxgen_build_op(g->b, op, 1, &x, 1, &type, &y);
    return y;
}

static ptxgen_value op2(const gemm *g, const char *op, ptxgen_value x, ptxgen_value y)
{
    return ptxgen_build_binary(g->b, op, x, y);
}

/* To another element type, from f32 or to it. */
static ptxgen_value converted(const gemm *g, ptxgen_value x, ptxgen_elem e)
{
    return g->elem == PTXGEN_F32 ? x : ptxgen_build_cast(g->b, x, e);
}

static ptxgen_value wide(const gemm *g, ptxgen_value x)
{
    return ptxgen_build_cast(g->b, x, PTXGEN_I64);
}

/* Element offsets of a place from its first element. */
static void make_offset(const gemm *g, place *p)
{
    ptxgen_builder *b = g->b;
    ptxgen_value row = wide(g, ptxgen_build_iota(b, tile2(g, PTXGEN_I32, p->rows, 1), 0));
    ptxgen_value step = ptxgen_build_splat(b, p->stride, tile2(g, PTXGEN_I64, p->rows, 1));
    ptxgen_value start =
        op1(g, "broadcast", op2(g, "imul", row, step), tile2(g, PTXGEN_I64, p->rows, p->cols));
    ptxgen_value col = wide(g, ptxgen_build_iota(b, tile2(g, PTXGEN_I32, p->rows, p->cols), 1));
    p->offset = op2(g, "iadd", start, col);
}

/* Which columns exist, as a 1 x cols tile. Where extents are multiples of `align`, the question is
 * asked once for so many neighbours, so that they can be loaded together. */
static ptxgen_value col_mask(const gemm *g, const place *p)
{
    ptxgen_builder *b = g->b;
    const int32_t vec = (int32_t)g->align, n = p->cols / vec;
    ptxgen_type index = tile2(g, PTXGEN_I32, 1, n);
    ptxgen_value limit = p->col_limit;
    if (vec > 1) {
        limit = op2(g, "ishr", limit, i32(g, 3)); /* a multiple of 8 */
    }
    ptxgen_value is_in = ptxgen_build_compare(b, "icmp", "lt", ptxgen_build_iota(b, index, 1),
                                              ptxgen_build_splat(b, limit, index));
    if (vec == 1) {
        return is_in;
    }
    const int32_t thin[3] = {1, n, 1}, full[3] = {1, n, vec};
    ptxgen_encoding none = {0};
    ptxgen_value x = {0};
    ptxgen_type type = ptxgen_type_tile(g->m, PTXGEN_I1, 3, thin, none);
    ptxgen_build_op(b, "expand", 1, &is_in, 1, &type, &x);
    ptxgen_op_attr(b, "dim", 2);
    x = op1(g, "broadcast", x, ptxgen_type_tile(g->m, PTXGEN_I1, 3, full, none));
    return op1(g, "reshape", x, tile2(g, PTXGEN_I1, 1, p->cols));
}

static ptxgen_value mask_of(const gemm *g, const place *p)
{
    ptxgen_builder *b = g->b;
    ptxgen_type index = tile2(g, PTXGEN_I32, p->rows, 1),
                all = tile2(g, PTXGEN_I1, p->rows, p->cols);
    ptxgen_value row = ptxgen_build_compare(b, "icmp", "lt", ptxgen_build_iota(b, index, 0),
                                            ptxgen_build_splat(b, p->row_limit, index));
    return op2(g, "and", op1(g, "broadcast", row, all), op1(g, "broadcast", col_mask(g, p), all));
}

static ptxgen_value load(const gemm *g, const place *p, ptxgen_value pointer)
{
    ptxgen_value zero = ptxgen_const_float(g->b, tile2(g, g->elem, p->rows, p->cols), 0.0);
    return ptxgen_build_load(g->b, ptxgen_build_addptr(g->b, pointer, p->offset), mask_of(g, p),
                             zero);
}

/* Rows (or columns) from `first` on. */
static ptxgen_value left(const gemm *g, int dim, ptxgen_value first)
{
    return op2(g, "isub", g->n[dim], first);
}

/* first row * row length + first column, in elements. */
static ptxgen_value start(const gemm *g, ptxgen_value pointer, ptxgen_value row,
                          ptxgen_value stride, ptxgen_value col)
{
    ptxgen_value at = ptxgen_build_addptr(g->b, pointer, op2(g, "imul", wide(g, row), stride));
    return ptxgen_build_addptr(g->b, at, wide(g, col));
}

/* The operand's tile of iteration k0: `dim` is its dimension that c has too (0: a, 1: b), is_k_rows
 * tells that k counts its rows in memory. */
static ptxgen_value operand(const gemm *g, place p, int dim, int is_k_rows, ptxgen_value k0)
{
    ptxgen_value pointer = dim == 0 ? g->a : g->bb;
    ptxgen_value k_left = left(g, 2, k0), other = left(g, dim, g->first[dim]);
    p.row_limit = is_k_rows ? k_left : other;
    p.col_limit = is_k_rows ? other : k_left;
    return load(g, &p,
                start(g, pointer, is_k_rows ? k0 : g->first[dim], p.stride,
                      is_k_rows ? g->first[dim] : k0));
}

static place operand_place(const gemm *g, int dim, int is_k_rows)
{
    place p = {.rows = is_k_rows ? g->tile[2] : g->tile[dim],
               .cols = is_k_rows ? g->tile[dim] : g->tile[2],
               .stride = wide(g, g->n[is_k_rows ? dim : 2])};
    make_offset(g, &p);
    return p;
}

static ptxgen_value product(const gemm *g)
{
    ptxgen_builder *b = g->b;
    const int is_a_k_rows = g->is_a_col, is_b_k_rows = !g->is_b_col;
    place pa = operand_place(g, 0, is_a_k_rows), pb = operand_place(g, 1, is_b_k_rows);
    ptxgen_type acc = tile2(g, PTXGEN_F32, g->tile[0], g->tile[1]);
    ptxgen_value zero = ptxgen_const_float(b, acc, 0.0), args[2], sum = {0}, y = {0};
    ptxgen_value trips = op2(g, "icdiv", g->n[2], i32(g, g->tile[2]));
    ptxgen_for_begin(b, i32(g, 0), trips, i32(g, 1), 1, &zero, args);
    ptxgen_value k0 = op2(g, "imul", args[0], i32(g, g->tile[2]));
    ptxgen_value in[3] = {operand(g, pa, 0, is_a_k_rows, k0), operand(g, pb, 1, is_b_k_rows, k0),
                          args[1]};
    ptxgen_build_op(b, "mma", 3, in, 1, &acc, &y);
    if (g->is_a_col) {
        ptxgen_op_attr(b, "transa", 1);
    }
    if (g->is_b_col) {
        ptxgen_op_attr(b, "transb", 1);
    }
    ptxgen_for_end(b, 1, &y, &sum);
    ptxgen_op_attr(b, "stages", g->align == 1 ? 1 : kernel_setting_int(g->settings, "stages"));
    return sum;
}

static ptxgen_value activation(const gemm *g, ptxgen_value x)
{
    ptxgen_builder *b = g->b;
    if (kernel_setting_is(g->settings, "act", "relu")) {
        return op2(g, "fmax", x, build_const_like(b, x, 0.0));
    }
    if (kernel_setting_is(g->settings, "act", "gelu")) {
        return build_gelu(b, x);
    }
    return x;
}

static void epilogue(const gemm *g, ptxgen_value x)
{
    ptxgen_builder *b = g->b;
    ptxgen_type acc = tile2(g, PTXGEN_F32, g->tile[0], g->tile[1]);
    place p = {.rows = g->tile[0],
               .cols = g->tile[1],
               .stride = wide(g, g->n[1]),
               .row_limit = left(g, 0, g->first[0]),
               .col_limit = left(g, 1, g->first[1])};
    make_offset(g, &p);
    if (g->alpha != 1.0) {
        x = op2(g, "fmul", x, ptxgen_const_float(b, acc, g->alpha));
    }
    if (g->beta != 0.0) {
        ptxgen_value c0 = load(g, &p, start(g, g->c0, g->first[0], p.stride, g->first[1]));
        x = ptxgen_build_fma(b, converted(g, c0, PTXGEN_F32), ptxgen_const_float(b, acc, g->beta),
                             x);
    }
    if (g->has_bias) {
        ptxgen_type row = tile2(g, g->elem, 1, g->tile[1]);
        ptxgen_value at = ptxgen_build_addptr(
            b, ptxgen_build_addptr(b, g->bias, wide(g, g->first[1])),
            wide(g, ptxgen_build_iota(b, ptxgen_type_with_elem(g->m, row, PTXGEN_I32), 1)));
        ptxgen_value y = ptxgen_build_load(b, at, col_mask(g, &p), ptxgen_const_float(b, row, 0.0));
        x = op2(g, "fadd", x, op1(g, "broadcast", converted(g, y, PTXGEN_F32), acc));
    }
    ptxgen_value at =
        ptxgen_build_addptr(b, start(g, g->c, g->first[0], p.stride, g->first[1]), p.offset);
    ptxgen_build_store(b, at, converted(g, activation(g, x), g->elem), mask_of(g, &p));
}

static ptxgen_value array(const gemm *g, const char *name, const char *role)
{
    ptxgen_value v = ptxgen_param(g->b, name, ptxgen_type_ptr(g->m, g->elem));
    ptxgen_param_attr(g->b, v, role, 1);
    ptxgen_param_attr(g->b, v, "align", 16);
    ptxgen_param_attr(g->b, v, "noalias", 1);
    return v;
}

static void shape(const gemm *g, ptxgen_value v, ptxgen_value rows, ptxgen_value cols)
{
    const ptxgen_value dims[2] = {rows, cols};
    ptxgen_param_dims(g->b, v, "shape", 2, dims);
}

static void params(gemm *g)
{
    static const char *const names[3] = {"m", "n", "k"};
    g->a = array(g, "a", "in");
    g->bb = array(g, "b", "in");
    if (g->beta != 0.0) {
        g->c0 = array(g, "c0", "in");
    }
    if (g->has_bias) {
        g->bias = array(g, "bias", "in");
    }
    g->c = array(g, "c", "out");
    for (int d = 0; d < 3; d++) {
        g->n[d] = ptxgen_param(g->b, names[d], scalar(g, PTXGEN_I32));
        const int is_contiguous = d == 1 || (d == 0 ? g->is_a_col : !g->is_a_col || g->is_b_col);
        if (g->align > 1 && is_contiguous) {
            ptxgen_param_attr(g->b, g->n[d], "div", g->align);
        }
    }
    const ptxgen_value m = g->n[0], n = g->n[1], k = g->n[2];
    shape(g, g->a, g->is_a_col ? k : m, g->is_a_col ? m : k);
    shape(g, g->bb, g->is_b_col ? n : k, g->is_b_col ? k : n);
    shape(g, g->c, m, n);
    if (g->beta != 0.0) {
        shape(g, g->c0, m, n);
    }
    if (g->has_bias) {
        ptxgen_param_dims(g->b, g->bias, "shape", 1, &g->n[1]);
    }
}

/* Tiles along m or n, at least one. */
static ptxgen_value tiles(const gemm *g, int dim)
{
    return op2(g, "imax", op2(g, "icdiv", g->n[dim], i32(g, g->tile[dim])), i32(g, 1));
}

static void grid(const gemm *g)
{
    const ptxgen_value none = {0};
    ptxgen_launch_begin(g->b);
    ptxgen_launch_end(g->b, op2(g, "imul", tiles(g, 0), tiles(g, 1)), none, none);
}

static void place_program(gemm *g)
{
    ptxgen_builder *b = g->b;
    ptxgen_value pid = ptxgen_build_program_id(b, 0), down = tiles(g, 0);
    ptxgen_value width = op2(g, "imul", tiles(g, 1), i32(g, GROUP));
    ptxgen_value top = op2(g, "imul", op2(g, "idiv", pid, width), i32(g, GROUP));
    ptxgen_value height = op2(g, "imin", op2(g, "isub", down, top), i32(g, GROUP));
    ptxgen_value in_group = op2(g, "irem", pid, width);
    ptxgen_value row = op2(g, "iadd", top, op2(g, "irem", in_group, height));
    g->first[0] = op2(g, "imul", row, i32(g, g->tile[0]));
    g->first[1] = op2(g, "imul", op2(g, "idiv", in_group, height), i32(g, g->tile[1]));
}

/* alpha and beta are words, so that the kernel has no parameter that most calls do not need. */
static double number(const kernel_settings *s, const char *name)
{
    static const struct {
        const char *text;
        double value;
    } numbers[] = {{"0", 0.0}, {"1", 1.0}, {"-1", -1.0}, {"0.5", 0.5}, {"2", 2.0}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (kernel_setting_is(s, name, numbers[i].text)) {
            return numbers[i].value;
        }
    }
    return 0.0;
}

static gemm settings_of(const kernel_settings *s)
{
    gemm g = {.elem = kernel_setting_elem(s, "dtype"), .settings = s};
    g.tile[0] = (int32_t)kernel_setting_int(s, "tile_m");
    g.tile[1] = (int32_t)kernel_setting_int(s, "tile_n");
    g.tile[2] = (int32_t)kernel_setting_int(s, "tile_k");
    g.align = (uint32_t)kernel_setting_int(s, "align");
    g.is_a_col = kernel_setting_is(s, "a", "col");
    g.is_b_col = kernel_setting_is(s, "b", "col");
    g.has_bias = (int)kernel_setting_int(s, "bias");
    g.alpha = number(s, "alpha");
    g.beta = number(s, "beta");
    return g;
}

static ptxgen_status build(ptxgen_module *m, const kernel_settings *s)
{
    gemm g = settings_of(s);
    g.m = m;
    ptxgen_status status = ptxgen_kernel_begin(m, "gemm", &g.b);
    if (status != PTXGEN_OK) {
        return status;
    }
    ptxgen_kernel_attr(g.b, "warps", kernel_setting_int(s, "warps"));
    params(&g);
    grid(&g);
    place_program(&g);
    epilogue(&g, product(&g));
    return ptxgen_kernel_end(g.b);
}

/* ---- reference ------------------------------------------------------------------------------ */

typedef struct reference_run {
    gemm g;
    int64_t n[3];
    const double *a, *b, *c0, *bias;
} reference_run;

/* One element before the activation, and the sum of absolute values. */
static double element(const reference_run *r, int64_t row, int64_t col, double *size)
{
    double sum = 0.0, all = 0.0;
    for (int64_t k = 0; k < r->n[2]; k++) {
        double x = r->a[r->g.is_a_col ? k * r->n[0] + row : row * r->n[2] + k];
        double y = r->b[r->g.is_b_col ? col * r->n[2] + k : k * r->n[1] + col];
        sum += x * y;
        all += fabs(x * y);
    }
    double c0 = r->g.beta != 0.0 ? r->g.beta * r->c0[row * r->n[1] + col] : 0.0;
    double bias = r->g.has_bias ? r->bias[col] : 0.0;
    *size = fabs(r->g.alpha) * all + fabs(c0) + fabs(bias);
    return r->g.alpha * sum + c0 + bias;
}

static const double *input(const ptxgen_kernel_run *run, const char *name, int64_t n)
{
    const ptxgen_kernel_array *a = kernel_array(run, name);
    return a != NULL && a->n >= (uint64_t)n ? a->in : NULL;
}

static ptxgen_status reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    reference_run r = {.g = settings_of(s)};
    const char *const names[3] = {"m", "n", "k"};
    for (int d = 0; d < 3; d++) {
        r.n[d] = kernel_scalar(run, names[d], -1);
        if (r.n[d] < 0) {
            return PTXGEN_E_MISUSE;
        }
    }
    const int64_t n_c = r.n[0] * r.n[1];
    const ptxgen_kernel_array *c = kernel_array(run, "c");
    r.a = input(run, "a", r.n[0] * r.n[2]);
    r.b = input(run, "b", r.n[2] * r.n[1]);
    r.c0 = input(run, "c0", n_c);
    r.bias = input(run, "bias", r.n[1]);
    if (c == NULL || c->n < (uint64_t)n_c ||
        (n_c > 0 &&
         (c->ref == NULL || c->bound == NULL || (r.n[2] > 0 && (r.a == NULL || r.b == NULL)) ||
          (r.g.beta != 0.0 && r.c0 == NULL) || (r.g.has_bias && r.bias == NULL)))) {
        return PTXGEN_E_MISUSE;
    }
    /* f32's roundoff over that of c's type: what an error of the sum counts in c */
    const double share = r.g.elem == PTXGEN_F16 ? 0x1p-13 : r.g.elem == PTXGEN_BF16 ? 0x1p-16 : 1.0;
    for (int64_t i = 0; i < n_c; i++) {
        double size = 0.0, error = 0.0;
        double x = element(&r, i / r.n[1], i % r.n[1], &size);
        c->ref[i] = x;
        if (kernel_setting_is(s, "act", "relu")) {
            c->ref[i] = x > 0.0 ? x : 0.0;
        } else if (kernel_setting_is(s, "act", "gelu")) {
            gelu_element(&x, &c->ref[i], &error);
        }
        /* no activation is steeper than 1.2; the matrix units may cut where f32 would round */
        c->bound[i] = fabs(c->ref[i]) + share * (error + 1.2 * 2.0 * (double)(r.n[2] + 4) * size);
    }
    return PTXGEN_OK;
}

static const ptxgen_kernel_setting settings[] = {
    {"dtype", "f16", "f16 bf16 f32", "dtype is f16, bf16 or f32: the type of all arrays"},
    {"a", "row", "row col", "a is row (m x k) or col (k x m): how the array lies in memory"},
    {"b", "row", "row col", "b is row (k x n) or col (n x k): how the array lies in memory"},
    {"tile_m", "128", "2^4..2^8",
     "tile_m is a power of two from 16 to 256: rows of a program's tile"},
    {"tile_n", "128", "2^3..2^8", "tile_n is a power of two from 8 to 256: columns of the tile"},
    {"tile_k", "32", "2^4..2^7", "tile_k is a power of two from 16 to 128: depth of one step"},
    {"stages", "3", "1..8", "stages is 1 to 8: buffers of the pipeline; align=1 takes one"},
    {"warps", "4", "2^0..2^4", "warps is 1, 2, 4, 8 or 16: warps per program"},
    {"align", "1", "1 8",
     "align is 1 or 8: rows of all arrays are multiples of 8 elements, and are copied by 16 bytes"},
    {"alpha", "1", "1 -1 0.5 2", "alpha is 1, -1, 0.5 or 2"},
    {"beta", "0", "0 1 -1 0.5 2", "beta is 0, 1, -1, 0.5 or 2: adds beta * c0"},
    {"bias", "0", "0..1", "bias is 0 or 1: adds bias[n] to each row"},
    {"act", "none", "none relu gelu", "act is none, relu or gelu (the tanh form)"},
};
static const ptxgen_kernel_scalar scalars[] = {
    {"m", NULL, "rows of c"}, {"n", NULL, "columns of c"}, {"k", NULL, "columns of a, rows of b"}};
static const ptxgen_kernel_info info = {
    .name = "gemm",
    .doc = "c = act(alpha * a * b + beta * c0 + bias) on the matrix units, f32 accumulation",
    .settings = settings,
    .n_settings = sizeof settings / sizeof settings[0],
    .scalars = scalars,
    .n_scalars = sizeof scalars / sizeof scalars[0],
    .error_factor = 1.0,
    .input_low = -1.0,
    .input_high = 1.0,
    .least_sm = 80};
const kernel_row kernel_gemm = {&info, build, reference};
