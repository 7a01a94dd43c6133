/* transpose: y = x turned over, m x n to n x m. A program takes a tile of tile_m x tile_n of x; the
 * tile is loaded and stored with neighbours side by side, and goes through shared memory between
 * the two: the pass `layouts` finds that, and the layout there. */
#include "kernels/kernel.h"

typedef struct transpose {
    ptxgen_builder *b;
    ptxgen_module *m;
    ptxgen_elem elem;
    int32_t tile[2]; /* rows and columns of x */
    int32_t div;
    ptxgen_value x, y, n[2], first[2];
} transpose;

static const ptxgen_value none = {0};

/* Tiles have the extents of y's: columns of x first. */
static ptxgen_type tile_of(const transpose *t, ptxgen_elem e, int32_t cols, int32_t rows)
{
    const int32_t dims[2] = {cols, rows};
    ptxgen_encoding no_enc = {0};
    return ptxgen_type_tile(t->m, e, 2, dims, no_enc);
}

static ptxgen_value op1(const transpose *t, const char *op, ptxgen_value x, ptxgen_type type)
{
    ptxgen_value y = none;
    ptxgen_build_op(t->b, op, 1, &x, 1, &type, &y);
    return y;
}

static ptxgen_value op2(const transpose *t, const char *op, ptxgen_value x, ptxgen_value y)
{
    return ptxgen_build_binary(t->b, op, x, y);
}

static ptxgen_value i64(const transpose *t, int64_t x)
{
    return ptxgen_const_int(t->b, ptxgen_type_scalar(t->m, PTXGEN_I64), x);
}

static ptxgen_value tiles(const transpose *t, int dim)
{
    ptxgen_value n = op2(t, "icdiv", t->n[dim], i64(t, t->tile[dim]));
    return op2(t, "imax", n, i64(t, 1));
}

/* Number of each element along dimension d of the tile. */
static ptxgen_value index_along(const transpose *t, uint32_t d)
{
    ptxgen_type type =
        d == 0 ? tile_of(t, PTXGEN_I32, t->tile[1], 1) : tile_of(t, PTXGEN_I32, 1, t->tile[0]);
    return ptxgen_build_iota(t->b, type, d);
}

static ptxgen_value spread(const transpose *t, ptxgen_value thin, ptxgen_elem e)
{
    return op1(t, "broadcast", thin, tile_of(t, e, t->tile[1], t->tile[0]));
}

/* Which elements along d exist. */
static ptxgen_value exists(const transpose *t, uint32_t d, ptxgen_value left)
{
    ptxgen_value index = index_along(t, d);
    ptxgen_value limit = op2(t, "imin", left, i64(t, t->tile[1 - d]));
    limit = ptxgen_build_cast(t->b, limit, PTXGEN_I32);
    limit = ptxgen_build_splat(t->b, limit, ptxgen_value_type(t->b, index));
    return spread(t, ptxgen_build_compare(t->b, "icmp", "lt", index, limit), PTXGEN_I1);
}

/* Pointers to row r, column c of an array with rows of `stride`: r counts along dimension d. */
static ptxgen_value pointers(const transpose *t, ptxgen_value pointer, uint32_t d, ptxgen_value row,
                             ptxgen_value col, ptxgen_value stride)
{
    ptxgen_builder *b = t->b;
    ptxgen_value at = ptxgen_build_addptr(b, pointer, op2(t, "imul", row, stride));
    at = ptxgen_build_addptr(b, at, col);
    ptxgen_value r = ptxgen_build_cast(b, index_along(t, d), PTXGEN_I64);
    ptxgen_value skip = op2(t, "imul", r, ptxgen_build_splat(b, stride, ptxgen_value_type(b, r)));
    ptxgen_value c = ptxgen_build_cast(b, index_along(t, 1 - d), PTXGEN_I64);
    skip = spread(t, skip, PTXGEN_I64);
    return ptxgen_build_addptr(b, at, op2(t, "iadd", skip, spread(t, c, PTXGEN_I64)));
}

static void params(transpose *t)
{
    ptxgen_type ptr = ptxgen_type_ptr(t->m, t->elem),
                i64_type = ptxgen_type_scalar(t->m, PTXGEN_I64);
    t->x = ptxgen_param(t->b, "x", ptr);
    t->y = ptxgen_param(t->b, "y", ptr);
    t->n[0] = ptxgen_param(t->b, "m", i64_type);
    t->n[1] = ptxgen_param(t->b, "n", i64_type);
    for (int i = 0; i < 2; i++) {
        const ptxgen_value dims[2] = {t->n[i], t->n[1 - i]};
        ptxgen_value v = i == 0 ? t->x : t->y;
        ptxgen_param_attr(t->b, v, i == 0 ? "in" : "out", 1);
        ptxgen_param_attr(t->b, v, "align", 16);
        ptxgen_param_attr(t->b, v, "noalias", 1);
        ptxgen_param_dims(t->b, v, "shape", 2, dims);
        if (t->div > 1) {
            ptxgen_param_attr(t->b, t->n[i], "div", t->div);
        }
    }
}

static ptxgen_status build(ptxgen_module *m, const kernel_settings *s)
{
    transpose t = {.m = m, .elem = kernel_setting_elem(s, "dtype")};
    t.tile[0] = (int32_t)kernel_setting_int(s, "tile_m");
    t.tile[1] = (int32_t)kernel_setting_int(s, "tile_n");
    t.div = (int32_t)kernel_setting_int(s, "div");
    ptxgen_status status = ptxgen_kernel_begin(m, "transpose", &t.b);
    if (status != PTXGEN_OK) {
        return status;
    }
    ptxgen_kernel_attr(t.b, "warps", kernel_setting_int(s, "warps"));
    params(&t);
    ptxgen_launch_begin(t.b);
    ptxgen_value programs = tiles(&t, 0);
    programs = op2(&t, "imul", programs, tiles(&t, 1));
    ptxgen_launch_end(t.b, ptxgen_build_cast(t.b, programs, PTXGEN_I32), none, none);
    ptxgen_value pid = ptxgen_build_program_id(t.b, 0), left[2];
    /* as many as programs at most, so 32 bits */
    ptxgen_value across = ptxgen_build_cast(t.b, tiles(&t, 1), PTXGEN_I32);
    t.first[0] = op2(&t, "udiv", pid, across);
    t.first[1] = op2(&t, "isub", pid, op2(&t, "imul", t.first[0], across));
    for (int d = 0; d < 2; d++) {
        t.first[d] = ptxgen_build_cast(t.b, t.first[d], PTXGEN_I64);
        t.first[d] = op2(&t, "imul", t.first[d], i64(&t, t.tile[d]));
        left[d] = op2(&t, "isub", t.n[d], t.first[d]);
    }
    ptxgen_value mask = exists(&t, 0, left[1]);
    mask = op2(&t, "and", mask, exists(&t, 1, left[0]));
    ptxgen_type type = tile_of(&t, t.elem, t.tile[1], t.tile[0]);
    const int is_float = t.elem == PTXGEN_F16 || t.elem == PTXGEN_BF16 || t.elem == PTXGEN_F32 ||
                         t.elem == PTXGEN_F64;
    ptxgen_value zero =
        is_float ? ptxgen_const_float(t.b, type, 0.0) : ptxgen_const_int(t.b, type, 0);
    ptxgen_value v =
        ptxgen_build_load(t.b, pointers(&t, t.x, 1, t.first[0], t.first[1], t.n[1]), mask, zero);
    ptxgen_build_store(t.b, pointers(&t, t.y, 0, t.first[1], t.first[0], t.n[0]), v, mask);
    return ptxgen_kernel_end(t.b);
}

static ptxgen_status reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    const ptxgen_kernel_array *x = kernel_array(run, "x"), *y = kernel_array(run, "y");
    const int64_t m = kernel_scalar(run, "m", -1), n = kernel_scalar(run, "n", -1);
    (void)s;
    if (m < 0 || n < 0 || x == NULL || y == NULL || x->n < (uint64_t)(m * n) ||
        y->n < (uint64_t)(m * n) ||
        (m * n > 0 && (x->in == NULL || y->ref == NULL || y->bound == NULL))) {
        return PTXGEN_E_MISUSE;
    }
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            y->ref[j * m + i] = x->in[i * n + j];
            y->bound[j * m + i] = 0.0; /* exact */
        }
    }
    return PTXGEN_OK;
}

static const ptxgen_kernel_setting settings[] = {
    {"dtype", "f16", "f16 bf16 f32 f64 i8 i16 i32 i64",
     "dtype is f16, bf16, f32, f64, i8, i16, i32 or i64: the type of x and y"},
    {"tile_m", "64", "2^4..2^8", "tile_m is a power of two from 16 to 256: rows of x per program"},
    {"tile_n", "64", "2^4..2^8",
     "tile_n is a power of two from 16 to 256: columns of x per program"},
    {"div", "1", "1 2 4 8 16",
     "div is 1, 2, 4, 8 or 16: it divides m and n, and so many neighbours are moved together"},
    {"warps", "4", "2^0..2^4", "warps is 1, 2, 4, 8 or 16: warps per program"},
};
static const ptxgen_kernel_scalar scalars[] = {{"m", NULL, "rows of x, columns of y"},
                                               {"n", NULL, "columns of x, rows of y"}};
static const ptxgen_kernel_info info = {.name = "transpose",
                                        .doc = "y = x turned over: m x n to n x m",
                                        .settings = settings,
                                        .n_settings = sizeof settings / sizeof settings[0],
                                        .scalars = scalars,
                                        .n_scalars = sizeof scalars / sizeof scalars[0],
                                        .error_factor = 1.0,
                                        .input_low = -1.0,
                                        .input_high = 1.0,
                                        .least_sm = 80};
const kernel_row kernel_transpose = {&info, build, reference, NULL};
