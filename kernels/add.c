/* add: c = a + b with broadcasting, rank 1 to 4: an extent of a or b is that of c, or 1.
 *
 * Three ways, chosen by uniform conditions at run time:
 *   same shapes, whole block   one flat run without masks and with wide accesses
 *   fewer than 2^31 elements   coordinates by 32-bit division, masked
 *   else                       coordinates by 64-bit division, masked */
#include <math.h>

#include "kernels/kernel.h"

#define MAX_RANK 4

static const char *const c_extents[MAX_RANK] = {"n", "m", "l", "k"};
static const char *const a_extents[MAX_RANK] = {"an", "am", "al", "ak"};
static const char *const b_extents[MAX_RANK] = {"bn", "bm", "bl", "bk"};

/* Index 0 is the innermost dimension everywhere in this file; the manifest's shapes are outermost
 * first. */
typedef struct adder {
    ptxgen_builder *b;
    ptxgen_module *m;
    ptxgen_elem elem;
    uint32_t rank;
    int32_t block;
    ptxgen_value ptr[3];              /* a, b, c */
    ptxgen_value extent[3][MAX_RANK]; /* i64 */
    ptxgen_value stride[2][MAX_RANK]; /* of a and b, i64, 0 where they are broadcast */
    ptxgen_value total;               /* elements of c */
    ptxgen_value is_same;             /* i1: a and b have c's shape */
} adder;

static ptxgen_value i64_const(adder *k, int64_t x)
{
    return ptxgen_const_int(k->b, ptxgen_type_scalar(k->m, PTXGEN_I64), x);
}

static void add_params(adder *k)
{
    static const char *const ptr_names[3] = {"a", "b", "c"};
    static const char *const *const names[3] = {a_extents, b_extents, c_extents};
    ptxgen_type ptr = ptxgen_type_ptr(k->m, k->elem), i64 = ptxgen_type_scalar(k->m, PTXGEN_I64);
    for (uint32_t p = 0; p < 3; p++) {
        k->ptr[p] = ptxgen_param(k->b, ptr_names[p], ptr);
    }
    for (uint32_t p = 3; p-- > 0;) { /* c's extents first */
        for (uint32_t d = k->rank; d-- > 0;) {
            k->extent[p][d] = ptxgen_param(k->b, names[p][d], i64);
        }
    }
    for (uint32_t p = 0; p < 3; p++) {
        ptxgen_value dims[MAX_RANK];
        for (uint32_t d = 0; d < k->rank; d++) {
            dims[d] = k->extent[p][k->rank - 1 - d];
        }
        ptxgen_param_attr(k->b, k->ptr[p], p == 2 ? "out" : "in", 1);
        ptxgen_param_attr(k->b, k->ptr[p], "align", 16);
        ptxgen_param_dims(k->b, k->ptr[p], "shape", k->rank, dims);
    }
}

static ptxgen_value product(adder *k)
{
    ptxgen_value n = k->extent[2][0];
    for (uint32_t d = 1; d < k->rank; d++) {
        n = ptxgen_build_binary(k->b, "imul", n, k->extent[2][d]);
    }
    return n;
}

static void add_launch(adder *k)
{
    ptxgen_value none = {0};
    ptxgen_launch_begin(k->b);
    ptxgen_value elements = product(k);
    ptxgen_value blocks = ptxgen_build_binary(k->b, "icdiv", elements, i64_const(k, k->block));
    ptxgen_value programs = ptxgen_build_binary(k->b, "imax", blocks, i64_const(k, 1));
    ptxgen_launch_end(k->b, ptxgen_build_cast(k->b, programs, PTXGEN_I32), none, none);
}

/* Strides, number of elements, and whether nothing is broadcast. */
static void scalars_of(adder *k)
{
    k->total = product(k);
    for (uint32_t p = 0; p < 2; p++) {
        ptxgen_value dense = i64_const(k, 1);
        for (uint32_t d = 0; d < k->rank; d++) {
            ptxgen_value e = k->extent[p][d];
            ptxgen_value is_one = ptxgen_build_compare(k->b, "icmp", "eq", e, i64_const(k, 1));
            k->stride[p][d] = ptxgen_build_select(k->b, is_one, i64_const(k, 0), dense);
            dense = d == 0 ? e : ptxgen_build_binary(k->b, "imul", dense, e);
            ptxgen_value is_same = ptxgen_build_compare(k->b, "icmp", "eq", e, k->extent[2][d]);
            k->is_same =
                p == 0 && d == 0 ? is_same : ptxgen_build_binary(k->b, "and", k->is_same, is_same);
        }
    }
}

static ptxgen_value sum(adder *k, ptxgen_value x, ptxgen_value y)
{
    return ptxgen_build_binary(k->b, "fadd", x, y);
}

static void flat_way(adder *k, const flat_block *f)
{
    ptxgen_type t = ptxgen_type_with_elem(k->m, ptxgen_value_type(k->b, f->index), k->elem);
    ptxgen_value zero = ptxgen_const_float(k->b, t, 0.0);
    ptxgen_value x = flat_load(k->b, k->ptr[0], f, zero), y = flat_load(k->b, k->ptr[1], f, zero);
    flat_store(k->b, k->ptr[2], sum(k, x, y), f);
}

/* Element offset of each index of the tile in array p, as an i64 tile. */
static ptxgen_value offsets(adder *k, uint32_t p, ptxgen_value index)
{
    ptxgen_builder *b = k->b;
    ptxgen_type t = ptxgen_value_type(b, index), wide = ptxgen_type_with_elem(k->m, t, PTXGEN_I64);
    ptxgen_value off = {0}, rest = index;
    for (uint32_t d = 0; d < k->rank; d++) {
        ptxgen_value coord = rest;
        if (d + 1 < k->rank) {
            ptxgen_value e = k->extent[2][d];
            if (t.id != wide.id) {
                e = ptxgen_build_cast(b, e, PTXGEN_I32);
            }
            ptxgen_value extent = ptxgen_build_splat(b, e, t);
            coord = ptxgen_build_binary(b, "urem", rest, extent);
            rest = ptxgen_build_binary(b, "udiv", rest, extent);
        }
        if (t.id != wide.id) {
            coord = ptxgen_build_cast(b, coord, PTXGEN_I64);
        }
        ptxgen_value term =
            ptxgen_build_binary(b, "imul", coord, ptxgen_build_splat(b, k->stride[p][d], wide));
        off = d == 0 ? term : ptxgen_build_binary(b, "iadd", off, term);
    }
    return off;
}

static void broadcast_way(adder *k, ptxgen_value start, ptxgen_elem index_elem)
{
    ptxgen_builder *b = k->b;
    ptxgen_encoding none = {0};
    ptxgen_type t = ptxgen_type_tile(k->m, index_elem, 1, &k->block, none);
    ptxgen_value first = start, total = k->total;
    if (index_elem == PTXGEN_I32) {
        first = ptxgen_build_cast(b, start, PTXGEN_I32);
        total = ptxgen_build_cast(b, total, PTXGEN_I32);
    }
    ptxgen_value iota = ptxgen_build_iota(b, t, 0);
    ptxgen_value left = ptxgen_build_binary(b, "isub", total, first);
    ptxgen_value mask = ptxgen_build_compare(b, "icmp", "lt", iota, ptxgen_build_splat(b, left, t));
    ptxgen_value index = ptxgen_build_binary(b, "iadd", iota, ptxgen_build_splat(b, first, t));
    ptxgen_value zero = ptxgen_const_float(b, ptxgen_type_with_elem(k->m, t, k->elem), 0.0);
    ptxgen_value x =
        ptxgen_build_load(b, ptxgen_build_addptr(b, k->ptr[0], offsets(k, 0, index)), mask, zero);
    ptxgen_value y =
        ptxgen_build_load(b, ptxgen_build_addptr(b, k->ptr[1], offsets(k, 1, index)), mask, zero);
    ptxgen_value at = ptxgen_build_addptr(b, ptxgen_build_addptr(b, k->ptr[2], start), iota);
    ptxgen_build_store(b, at, sum(k, x, y), mask);
}

static ptxgen_status build(ptxgen_module *m, const kernel_settings *s)
{
    adder k = {.m = m,
               .elem = kernel_setting_elem(s, "dtype"),
               .rank = (uint32_t)kernel_setting_int(s, "rank"),
               .block = (int32_t)kernel_setting_int(s, "block")};
    ptxgen_encoding none = {0};
    ptxgen_type index = ptxgen_type_tile(m, PTXGEN_I32, 1, &k.block, none);
    ptxgen_status status = ptxgen_kernel_begin(m, "add", &k.b);
    if (status != PTXGEN_OK) {
        return status;
    }
    ptxgen_builder *b = k.b;
    ptxgen_kernel_attr(b, "warps", kernel_setting_int(s, "warps"));
    add_params(&k);
    add_launch(&k);
    scalars_of(&k);
    ptxgen_value pid = ptxgen_build_cast(b, ptxgen_build_program_id(b, 0), PTXGEN_I64);
    flat_block f = {.block = (uint32_t)k.block};
    f.start = ptxgen_build_binary(b, "imul", pid, i64_const(&k, k.block));
    ptxgen_value end = ptxgen_build_binary(b, "iadd", f.start, i64_const(&k, k.block));
    ptxgen_value is_whole = ptxgen_build_compare(b, "icmp", "le", end, k.total);
    f.index = ptxgen_build_iota(b, index, 0);
    ptxgen_if_begin(b, ptxgen_build_binary(b, "and", is_whole, k.is_same), 0, NULL);
    flat_way(&k, &f);
    ptxgen_else(b, 0, NULL);
    ptxgen_value is_small =
        ptxgen_build_compare(b, "icmp", "lt", k.total, i64_const(&k, ((int64_t)1 << 31) - k.block));
    ptxgen_if_begin(b, is_small, 0, NULL);
    broadcast_way(&k, f.start, PTXGEN_I32);
    ptxgen_else(b, 0, NULL);
    broadcast_way(&k, f.start, PTXGEN_I64);
    ptxgen_if_end(b, 0, NULL, NULL);
    ptxgen_if_end(b, 0, NULL, NULL);
    return ptxgen_kernel_end(b);
}

/* Offset of element i of c in an operand with these extents. */
static uint64_t offset_of(uint64_t i, uint32_t rank, const int64_t *c, const int64_t *x)
{
    uint64_t off = 0, stride = 1;
    for (uint32_t d = 0; d < rank; d++) {
        uint64_t coord = i % (uint64_t)c[d];
        i /= (uint64_t)c[d];
        off += x[d] == 1 ? 0 : coord * stride;
        stride *= (uint64_t)x[d];
    }
    return off;
}

static ptxgen_status reference(const ptxgen_kernel_run *run, const kernel_settings *s)
{
    uint32_t rank = (uint32_t)kernel_setting_int(s, "rank");
    const ptxgen_kernel_array *a = kernel_array(run, "a"), *b = kernel_array(run, "b"),
                              *c = kernel_array(run, "c");
    int64_t ea[MAX_RANK], eb[MAX_RANK], ec[MAX_RANK];
    uint64_t na = 1, nb = 1, n = 1;
    for (uint32_t d = 0; d < rank; d++) {
        ec[d] = kernel_scalar(run, c_extents[d], -1);
        ea[d] = kernel_scalar(run, a_extents[d], ec[d]);
        eb[d] = kernel_scalar(run, b_extents[d], ec[d]);
        if (ec[d] < 0 || (ea[d] != 1 && ea[d] != ec[d]) || (eb[d] != 1 && eb[d] != ec[d])) {
            return PTXGEN_E_MISUSE;
        }
        na *= (uint64_t)ea[d];
        nb *= (uint64_t)eb[d];
        n *= (uint64_t)ec[d];
    }
    if (a == NULL || b == NULL || c == NULL || a->in == NULL || b->in == NULL || c->ref == NULL ||
        c->bound == NULL || a->n < na || b->n < nb || c->n < n) {
        return PTXGEN_E_MISUSE;
    }
    for (uint64_t i = 0; i < n; i++) {
        double x = a->in[offset_of(i, rank, ec, ea)], y = b->in[offset_of(i, rank, ec, eb)];
        c->ref[i] = x + y;
        c->bound[i] = fabs(x) + fabs(y);
    }
    return PTXGEN_OK;
}

static const ptxgen_kernel_setting settings[] = {
    {"dtype", "f16", "f16 bf16 f32", "dtype is f16, bf16 or f32: the type of a, b and c"},
    {"rank", "1", "1..4", "rank is 1, 2, 3 or 4: number of dimensions"},
    {"block", "1024", "2^5..2^14",
     "block is a power of two from 32 to 16384: elements per program"},
    {"warps", "4", "2^0..2^4", "warps is 1, 2, 4, 8 or 16: warps per program"},
};
static const ptxgen_kernel_scalar scalars[] = {
    {"k", "1", "extent of c, rank 4: outermost"}, {"l", "1", "extent of c, rank 3 and more"},
    {"m", "1", "extent of c, rank 2 and more"},   {"n", NULL, "extent of c: innermost"},
    {"bk", "k", "extent of b: k or 1"},           {"bl", "l", "extent of b: l or 1"},
    {"bm", "m", "extent of b: m or 1"},           {"bn", "n", "extent of b: n or 1"},
    {"ak", "k", "extent of a: k or 1"},           {"al", "l", "extent of a: l or 1"},
    {"am", "m", "extent of a: m or 1"},           {"an", "n", "extent of a: n or 1"},
};
static const ptxgen_kernel_info info = {
    .name = "add",
    .doc = "c = a + b with broadcasting, rank 1 to 4; rounded once",
    .settings = settings,
    .n_settings = sizeof settings / sizeof settings[0],
    .scalars = scalars,
    .n_scalars = sizeof scalars / sizeof scalars[0],
    .error_factor = 1.0,
    .input_low = -1.0,
    .input_high = 1.0,
    .least_sm = 80};
const kernel_row kernel_add = {&info, build, reference};
