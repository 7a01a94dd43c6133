/* gemm: c = act(alpha * a * b + beta * c0 + bias) on the matrix units; f32 by fma.
 *
 * One program computes a tile of c. Programs are numbered so that neighbours share rows of a and
 * columns of b (groups of 8 tiles down, then across): what they load together stays in the cache.
 * Every extent is free: masks give 0 where an array ends.
 *
 * Rows that are multiples of 16 bytes are copied by 16 bytes, others element by element, or with
 * align=auto4 by 4 bytes where they can. With align=auto the program looks at the extents and takes
 * one of these ways (paths, below); they are the same code but for the number `vec` of neighbours
 * that lie together.
 *
 * With split_k, programs sum parts of k into `work`, and a second kernel adds the parts up in
 * order: the same numbers each time, unlike atomics. */
#include "kernels/gemm.h"

enum { GROUP = 8, SUM_ROWS = 8, SUM_COLS = 128, MOST_PATHS = 3 };

typedef struct gemm {
    gemm_settings s;
    ptxgen_module *m;
    ptxgen_builder *b;
    int32_t vec; /* neighbours of a contiguous extent that lie together, aligned, all in or out */
    ptxgen_value a, bb, c0, bias, c, work;
    ptxgen_value n[3];     /* i32: m, n, k */
    ptxgen_value first[2]; /* i32: first row and column of the tile */
} gemm;

/* A tile of an array in memory: rows of contiguous columns. */
typedef struct place {
    int32_t rows, cols, vec;
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

static ptxgen_type sums(const gemm *g)
{
    return tile2(g, g->s.type->sum, g->s.tile[0], g->s.tile[1]);
}

static ptxgen_value i32(const gemm *g, int64_t x)
{
    return ptxgen_const_int(g->b, scalar(g, PTXGEN_I32), x);
}

static int is_int(const gemm *g)
{
    return g->s.type->sum == PTXGEN_I32;
}

/* A literal of a type of a, b or c. */
static ptxgen_value number(const gemm *g, ptxgen_type type, double x)
{
    return is_int(g) ? ptxgen_const_int(g->b, type, (int64_t)x) : ptxgen_const_float(g->b, type, x);
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

/* Arithmetic on sums: `op` without its letter for the class. */
static ptxgen_value sum2(const gemm *g, const char *of_floats, const char *of_ints, ptxgen_value x,
                         ptxgen_value y)
{
    return op2(g, is_int(g) ? of_ints : of_floats, x, y);
}

/* Between c's type and that of sums. */
static ptxgen_value converted(const gemm *g, ptxgen_value x, ptxgen_elem e)
{
    return g->s.type->out == g->s.type->sum ? x : ptxgen_build_cast(g->b, x, e);
}

static ptxgen_value wide(const gemm *g, ptxgen_value x)
{
    return ptxgen_build_cast(g->b, x, PTXGEN_I64);
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t log2_of(int32_t x)
{
    int32_t n = 0;
    while (x >> (n + 1) > 0) {
        n++;
    }
    return n;
}

/* ---- tiles in memory ------------------------------------------------------------------------- */

/* Element offsets of a place from its first element. */
static void make_offset(const gemm *g, place *p)
{
    ptxgen_builder *b = g->b;
    ptxgen_value row = wide(g, ptxgen_build_iota(b, tile2(g, PTXGEN_I32, p->rows, 1), 0));
    ptxgen_value step = ptxgen_build_splat(b, p->stride, tile2(g, PTXGEN_I64, p->rows, 1));
    ptxgen_type all = tile2(g, PTXGEN_I64, p->rows, p->cols);
    ptxgen_value start = op1(g, "broadcast", op2(g, "imul", row, step), all);
    ptxgen_value col = wide(g, ptxgen_build_iota(b, tile2(g, PTXGEN_I32, p->rows, p->cols), 1));
    p->offset = op2(g, "iadd", start, col);
}

/* Which numbers along `dim` of a tile of i32 are less than a scalar. */
static ptxgen_value is_below(const gemm *g, ptxgen_type index, uint32_t dim, ptxgen_value limit)
{
    ptxgen_value number = ptxgen_build_iota(g->b, index, dim);
    return ptxgen_build_compare(g->b, "icmp", "lt", number, ptxgen_build_splat(g->b, limit, index));
}

/* Which columns exist, as a 1 x cols tile. The question is asked once for `vec` neighbours, so that
 * they can be loaded together. */
static ptxgen_value col_mask(const gemm *g, const place *p)
{
    ptxgen_builder *b = g->b;
    const int32_t vec = least(p->vec, p->cols), n = p->cols / vec;
    ptxgen_type index = tile2(g, PTXGEN_I32, 1, n);
    ptxgen_value limit = p->col_limit;
    if (vec > 1) {
        limit = op2(g, "ishr", limit, i32(g, log2_of(vec)));
    }
    ptxgen_value is_in = is_below(g, index, 1, limit);
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
    ptxgen_type index = tile2(g, PTXGEN_I32, p->rows, 1),
                all = tile2(g, PTXGEN_I1, p->rows, p->cols);
    ptxgen_value row = op1(g, "broadcast", is_below(g, index, 0, p->row_limit), all);
    ptxgen_value col = op1(g, "broadcast", col_mask(g, p), all);
    return op2(g, "and", row, col);
}

static ptxgen_value load(const gemm *g, const place *p, ptxgen_value pointer, ptxgen_elem e)
{
    ptxgen_value zero = number(g, tile2(g, e, p->rows, p->cols), 0.0);
    ptxgen_value mask = mask_of(g, p);
    return ptxgen_build_load(g->b, ptxgen_build_addptr(g->b, pointer, p->offset), mask, zero);
}

static void store(const gemm *g, const place *p, ptxgen_value pointer, ptxgen_value x)
{
    ptxgen_value mask = mask_of(g, p);
    ptxgen_build_store(g->b, ptxgen_build_addptr(g->b, pointer, p->offset), x, mask);
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

/* ---- the product ----------------------------------------------------------------------------- */

/* The operand's tile at `pointer`, `k_left` from the end of k: `dim` is its dimension that c has
 * too (0: a, 1: b), is_k_rows tells that k counts its rows in memory. */
static ptxgen_value operand(const gemm *g, place p, int dim, int is_k_rows, ptxgen_value pointer,
                            ptxgen_value k_left)
{
    ptxgen_value other = left(g, dim, g->first[dim]);
    p.row_limit = is_k_rows ? k_left : other;
    p.col_limit = is_k_rows ? other : k_left;
    return load(g, &p, pointer, g->s.type->in);
}

/* Where the operand's tile of k0 starts. */
static ptxgen_value operand_start(const gemm *g, const place *p, int dim, int is_k_rows,
                                  ptxgen_value k0)
{
    ptxgen_value pointer = dim == 0 ? g->a : g->bb;
    return start(g, pointer, is_k_rows ? k0 : g->first[dim], p->stride,
                 is_k_rows ? g->first[dim] : k0);
}

/* From one tile along k to the next, in elements. */
static ptxgen_value operand_step(const gemm *g, const place *p, int is_k_rows)
{
    ptxgen_value step = ptxgen_const_int(g->b, scalar(g, PTXGEN_I64), g->s.tile[2]);
    return is_k_rows ? op2(g, "imul", p->stride, step) : step;
}

static place operand_place(const gemm *g, int dim, int is_k_rows)
{
    place p = {.rows = is_k_rows ? g->s.tile[2] : g->s.tile[dim],
               .cols = is_k_rows ? g->s.tile[dim] : g->s.tile[2],
               .vec = g->vec,
               .stride = wide(g, g->n[is_k_rows ? dim : 2])};
    make_offset(g, &p);
    return p;
}

/* Bytes of operand `dim` that a thread copies at most in a step. */
static int32_t bytes_of_thread(const gemm *g, int dim)
{
    return g->s.tile[dim] * g->s.tile[2] * g->s.type->in_bytes / (32 * (int32_t)g->s.warps);
}

/* Asynchronous copies take 4 bytes at least: that must lie together, and be there for each thread.
 */
static int is_async(const gemm *g)
{
    return g->vec * g->s.type->in_bytes >= 4 && bytes_of_thread(g, 0) >= 4 &&
           bytes_of_thread(g, 1) >= 4;
}

/* Steps along k that a program makes: all, or those of its part. */
static void steps(const gemm *g, ptxgen_value out[2])
{
    ptxgen_value all = op2(g, "icdiv", g->n[2], i32(g, g->s.tile[2]));
    out[0] = i32(g, 0);
    out[1] = all;
    if (g->s.split > 1) {
        ptxgen_value part = ptxgen_build_program_id(g->b, 1);
        ptxgen_value each = op2(g, "icdiv", all, i32(g, g->s.split));
        out[0] = op2(g, "imin", op2(g, "imul", part, each), all);
        out[1] = op2(g, "imin", op2(g, "iadd", out[0], each), all);
    }
}

/* The loop carries the sums, a pointer to each operand's tile, and how much of k is left: what it
 * adds to them is the same in each step. */
static ptxgen_value product(const gemm *g)
{
    ptxgen_builder *b = g->b;
    const int is_k_rows[2] = {g->s.is_a_col, !g->s.is_b_col};
    place p[2];
    ptxgen_value bounds[2], init[4], args[5], in[3], next[4], out[4] = {{0}};
    steps(g, bounds);
    ptxgen_value k0 = op2(g, "imul", bounds[0], i32(g, g->s.tile[2]));
    init[0] = number(g, sums(g), 0.0);
    for (int d = 0; d < 2; d++) {
        p[d] = operand_place(g, d, is_k_rows[d]);
        init[1 + d] = operand_start(g, &p[d], d, is_k_rows[d], k0);
    }
    init[3] = left(g, 2, k0);
    ptxgen_for_begin(b, bounds[0], bounds[1], i32(g, 1), 4, init, args);
    for (int d = 0; d < 2; d++) {
        in[d] = operand(g, p[d], d, is_k_rows[d], args[2 + d], args[4]);
        in[d] =
            g->s.type->unit == g->s.type->in ? in[d] : ptxgen_build_cast(b, in[d], g->s.type->unit);
        next[1 + d] = ptxgen_build_addptr(b, args[2 + d], operand_step(g, &p[d], is_k_rows[d]));
    }
    in[2] = args[1];
    next[3] = op2(g, "isub", args[4], i32(g, g->s.tile[2]));
    ptxgen_type type = sums(g);
    ptxgen_build_op(b, g->s.type->is_unsigned ? "umma" : "mma", 3, in, 1, &type, &next[0]);
    if (g->s.is_a_col) {
        ptxgen_op_attr(b, "transa", 1);
    }
    if (g->s.is_b_col) {
        ptxgen_op_attr(b, "transb", 1);
    }
    ptxgen_for_end(b, 4, next, out);
    ptxgen_op_attr(b, "stages", is_async(g) ? g->s.stages : 1);
    return out[0];
}

/* ---- the epilogue ---------------------------------------------------------------------------- */

static ptxgen_value activation(const gemm *g, ptxgen_value x)
{
    switch (g->s.act) {
    case GEMM_RELU: return sum2(g, "fmax", "imax", x, number(g, sums(g), 0.0));
    case GEMM_GELU: return build_gelu(g->b, x, g->s.type->out);
    case GEMM_NONE:
    default: return x;
    }
}

/* Neighbours of c, of elements of `bytes`, that are accessed together. */
static int32_t vec_of(const gemm *g, int32_t bytes)
{
    return least(g->vec, 16 / bytes);
}

static place c_place(const gemm *g, int32_t bytes)
{
    place p = {.rows = g->s.tile[0],
               .cols = g->s.tile[1],
               .vec = vec_of(g, bytes),
               .stride = wide(g, g->n[1])};
    p.row_limit = left(g, 0, g->first[0]);
    p.col_limit = left(g, 1, g->first[1]);
    make_offset(g, &p);
    return p;
}

static ptxgen_value with_c0(const gemm *g, const place *p, ptxgen_value x)
{
    ptxgen_value beta = number(g, sums(g), g->s.beta);
    ptxgen_value c0 =
        load(g, p, start(g, g->c0, g->first[0], p->stride, g->first[1]), g->s.type->out);
    c0 = converted(g, c0, g->s.type->sum);
    return is_int(g) ? op2(g, "iadd", op2(g, "imul", c0, beta), x)
                     : ptxgen_build_fma(g->b, c0, beta, x);
}

static ptxgen_value with_bias(const gemm *g, const place *p, ptxgen_value x)
{
    ptxgen_builder *b = g->b;
    ptxgen_type row = tile2(g, g->s.type->out, 1, g->s.tile[1]);
    ptxgen_value at = ptxgen_build_addptr(b, g->bias, wide(g, g->first[1]));
    ptxgen_value col = ptxgen_build_iota(b, ptxgen_type_with_elem(g->m, row, PTXGEN_I32), 1);
    at = ptxgen_build_addptr(b, at, wide(g, col));
    ptxgen_value mask = col_mask(g, p), zero = number(g, row, 0.0);
    ptxgen_value y = converted(g, ptxgen_build_load(b, at, mask, zero), g->s.type->sum);
    return sum2(g, "fadd", "iadd", x, op1(g, "broadcast", y, ptxgen_value_type(b, x)));
}

static void epilogue(const gemm *g, ptxgen_value x)
{
    place p = c_place(g, g->s.type->out_bytes);
    if (g->s.alpha != 1.0) {
        x = sum2(g, "fmul", "imul", x, number(g, sums(g), g->s.alpha));
    }
    if (g->s.beta != 0.0) {
        x = with_c0(g, &p, x);
    }
    if (g->s.has_bias) {
        x = with_bias(g, &p, x);
    }
    x = converted(g, activation(g, x), g->s.type->out);
    store(g, &p, start(g, g->c, g->first[0], p.stride, g->first[1]), x);
}

/* ---- parts of k ------------------------------------------------------------------------------ */

/* The tile of `part` (i32) in work: parts x m x n sums. */
static ptxgen_value part_start(const gemm *g, const place *p, ptxgen_value part)
{
    ptxgen_value size = op2(g, "imul", wide(g, g->n[0]), p->stride);
    ptxgen_value at = ptxgen_build_addptr(g->b, g->work, op2(g, "imul", wide(g, part), size));
    return start(g, at, g->first[0], p->stride, g->first[1]);
}

/* A sum has 4 bytes. */
static void store_part(const gemm *g, ptxgen_value x)
{
    place p = c_place(g, 4);
    store(g, &p, part_start(g, &p, ptxgen_build_program_id(g->b, 1)), x);
}

static ptxgen_value sum_of_parts(const gemm *g)
{
    ptxgen_builder *b = g->b;
    place p = c_place(g, 4);
    ptxgen_value zero = number(g, sums(g), 0.0), args[2], sum = {0};
    ptxgen_value from = i32(g, 0), to = i32(g, g->s.split);
    ptxgen_for_begin(b, from, to, i32(g, 1), 1, &zero, args);
    ptxgen_value x = load(g, &p, part_start(g, &p, args[0]), g->s.type->sum);
    x = sum2(g, "fadd", "iadd", args[1], x);
    ptxgen_for_end(b, 1, &x, &sum);
    return sum;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* What extent d must be a multiple of, so that `vec` neighbours lie together wherever it is the
 * length of rows. */
static int32_t need(const gemm *g, int d, int is_sum)
{
    const int is_row =
        d == 1 ? !g->s.is_b_col : (d == 0 ? g->s.is_a_col : !g->s.is_a_col || g->s.is_b_col);
    const int32_t of_c = d == 1 ? vec_of(g, g->s.type->out_bytes) : 1;
    const int32_t of_operands = is_row && !is_sum ? g->vec : 1;
    return of_c > of_operands ? of_c : of_operands;
}

static ptxgen_value is_aligned(const gemm *g, int is_sum)
{
    ptxgen_value rest = {0};
    for (int d = 0; d < 3; d++) {
        const int32_t n = need(g, d, is_sum);
        if (n > 1) {
            ptxgen_value x = op2(g, "and", g->n[d], i32(g, n - 1));
            rest = rest.id == 0 ? x : op2(g, "or", rest, x);
        }
    }
    return ptxgen_build_compare(g->b, "icmp", "eq", rest, i32(g, 0));
}

/* The extents again, in a form that shows what they are multiples of. */
static void show_multiples(gemm *g, int is_sum)
{
    for (int d = 0; d < 3; d++) {
        const int32_t n = need(g, d, is_sum);
        if (n > 1) {
            ptxgen_value units = op2(g, "ishr", g->n[d], i32(g, log2_of(n)));
            g->n[d] = op2(g, "imul", units, i32(g, n));
        }
    }
}

/* Neighbours that the paths take together: 16 bytes of them, one; between these, where asked for, 4
 * bytes, the least that asynchronous copies take. Programs of one launch all take the same path.
 * Each path is a loop and an epilogue of its own: a third of what the kernel costs to compile. */
static int32_t paths_of(const gemm *g, int32_t bytes, int32_t out[MOST_PATHS])
{
    int32_t n = 0;
    if (g->s.align != 0) {
        out[n++] = least((int32_t)g->s.align, 16 / bytes);
        return n;
    }
    out[n++] = 16 / bytes;
    if (bytes < 4 && g->s.has_fours) {
        out[n++] = 4 / bytes;
    }
    out[n++] = 1;
    return n;
}

/* Where copies are not asynchronous, a thread holds what it copies in a step; single elements take
 * a register each. So steps are less deep where there are too many. */
static void tile_program(const gemm *from)
{
    enum { MOST = 32 };
    gemm g = *from;
    const int32_t loaded = g.vec * g.s.type->in_bytes < 4 ? g.s.type->in_bytes : 4;
    while (!is_async(&g) && g.s.tile[2] > g.s.type->least_k &&
           (bytes_of_thread(&g, 0) + bytes_of_thread(&g, 1)) / loaded > MOST) {
        g.s.tile[2] /= 2;
    }
    ptxgen_value x = product(&g);
    if (g.s.split > 1) {
        store_part(&g, x);
    } else {
        epilogue(&g, x);
    }
}

static void sum_program(const gemm *g)
{
    epilogue(g, sum_of_parts(g));
}

/* ---- kernels --------------------------------------------------------------------------------- */

static ptxgen_value array(const gemm *g, const char *name, const char *role, ptxgen_elem e)
{
    ptxgen_value v = ptxgen_param(g->b, name, ptxgen_type_ptr(g->m, e));
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

/* Which arrays a kernel takes: the operands, the parts, what the epilogue reads and writes. */
typedef struct taken {
    int has_operands, has_work, has_c;
} taken;

static void params(gemm *g, const taken *t)
{
    static const char *const names[3] = {"m", "n", "k"};
    const gemm_type *type = g->s.type;
    if (t->has_operands) {
        g->a = array(g, "a", "in", type->in);
        g->bb = array(g, "b", "in", type->in);
    }
    if (t->has_work) {
        g->work = array(g, "work", t->has_operands ? "out" : "in", type->sum);
    }
    if (t->has_c && g->s.beta != 0.0) {
        g->c0 = array(g, "c0", "in", type->out);
    }
    if (t->has_c && g->s.has_bias) {
        g->bias = array(g, "bias", "in", type->out);
    }
    if (t->has_c) {
        g->c = array(g, "c", "out", type->out);
    }
    for (int d = 0; d < (t->has_operands ? 3 : 2); d++) {
        g->n[d] = ptxgen_param(g->b, names[d], scalar(g, PTXGEN_I32));
        const int32_t n = need(g, d, !t->has_operands);
        if (g->s.align > 1 && n > 1) {
            ptxgen_param_attr(g->b, g->n[d], "div", n);
        }
    }
}

static void shapes(const gemm *g, const taken *t)
{
    const ptxgen_value m = g->n[0], n = g->n[1], k = g->n[2];
    if (t->has_operands) {
        shape(g, g->a, g->s.is_a_col ? k : m, g->s.is_a_col ? m : k);
        shape(g, g->bb, g->s.is_b_col ? n : k, g->s.is_b_col ? k : n);
    }
    if (t->has_work) {
        const ptxgen_value dims[3] = {i32(g, g->s.split), m, n};
        ptxgen_param_dims(g->b, g->work, "shape", 3, dims);
    }
    if (t->has_c) {
        shape(g, g->c, m, n);
    }
    if (t->has_c && g->s.beta != 0.0) {
        shape(g, g->c0, m, n);
    }
    if (t->has_c && g->s.has_bias) {
        ptxgen_param_dims(g->b, g->bias, "shape", 1, &g->n[1]);
    }
}

/* Tiles along m or n, at least one. */
static ptxgen_value tiles(const gemm *g, int dim)
{
    ptxgen_value n = op2(g, "icdiv", g->n[dim], i32(g, g->s.tile[dim]));
    return op2(g, "imax", n, i32(g, 1));
}

static void grid(const gemm *g, int64_t parts)
{
    const ptxgen_value none = {0};
    ptxgen_launch_begin(g->b);
    ptxgen_value down = tiles(g, 0);
    ptxgen_value all = op2(g, "imul", down, tiles(g, 1));
    ptxgen_launch_end(g->b, all, parts > 1 ? i32(g, parts) : none, none);
}

static void place_program(gemm *g)
{
    ptxgen_builder *b = g->b;
    ptxgen_value pid = ptxgen_build_program_id(b, 0), down = tiles(g, 0), across = tiles(g, 1);
    ptxgen_value group = i32(g, GROUP), width = op2(g, "imul", across, group);
    ptxgen_value top = op2(g, "imul", op2(g, "idiv", pid, width), group);
    ptxgen_value height = op2(g, "imin", op2(g, "isub", down, top), group);
    ptxgen_value in_group = op2(g, "irem", pid, width);
    ptxgen_value row = op2(g, "iadd", top, op2(g, "irem", in_group, height));
    g->first[0] = op2(g, "imul", row, i32(g, g->s.tile[0]));
    ptxgen_value col = op2(g, "idiv", in_group, height);
    g->first[1] = op2(g, "imul", col, i32(g, g->s.tile[1]));
}

static ptxgen_status kernel(gemm g, const char *name, const taken *t)
{
    ptxgen_status status = ptxgen_kernel_begin(g.m, name, &g.b);
    if (status != PTXGEN_OK) {
        return status;
    }
    const int is_sum = !t->has_operands;
    const int32_t bytes = is_sum ? g.s.type->out_bytes : g.s.type->in_bytes;
    int32_t paths[MOST_PATHS] = {1};
    const int32_t n_paths = paths_of(&g, bytes, paths);
    void (*const program)(const gemm *) = is_sum ? sum_program : tile_program;
    ptxgen_kernel_attr(g.b, "warps", g.s.warps);
    g.vec = paths[0];
    params(&g, t);
    shapes(&g, t);
    grid(&g, is_sum ? 1 : g.s.split);
    place_program(&g);
    for (int32_t i = 0; i + 1 < n_paths; i++) {
        gemm wide_one = g;
        wide_one.vec = paths[i];
        ptxgen_if_begin(g.b, is_aligned(&wide_one, is_sum), 0, NULL);
        show_multiples(&wide_one, is_sum);
        program(&wide_one);
        ptxgen_else(g.b, 0, NULL);
    }
    g.vec = paths[n_paths - 1];
    program(&g);
    for (int32_t i = 0; i + 1 < n_paths; i++) {
        ptxgen_if_end(g.b, 0, NULL, NULL);
    }
    return ptxgen_kernel_end(g.b);
}

ptxgen_status gemm_build(ptxgen_module *m, const kernel_settings *s)
{
    static const taken whole = {1, 0, 1}, part = {1, 1, 0}, sum = {0, 1, 1};
    gemm g = {.m = m};
    ptxgen_status status = gemm_settings_of(s, &g.s);
    if (status != PTXGEN_OK) {
        return status;
    }
    status = kernel(g, "gemm", g.s.split > 1 ? &part : &whole);
    if (status == PTXGEN_OK && g.s.split > 1) {
        g.s.tile[0] = SUM_ROWS;
        g.s.tile[1] = SUM_COLS;
        g.s.warps = 4;
        status = kernel(g, "gemm_sum", &sum);
    }
    return status;
}
