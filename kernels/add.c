/* add: c = a + b with broadcasting, rank 1 to 4: an extent of a or b is that of c, or 1.
 *
 * Ways, chosen by uniform conditions at run time:
 *   same shapes                a flat run (pointwise.c), except for a rest of the run that cannot
 *                              be masked by whole accesses
 *   fewer than 2^31 elements   coordinates by 32-bit division, an element of a thread at a time
 *   else                       coordinates by 64-bit division; needs none for rank 1
 * The last two have little code rather than wide accesses. */
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
    int has_broadcast;                /* else a and b have c's shape */
    ptxgen_value ptr[3];              /* a, b, c */
    ptxgen_value extent[3][MAX_RANK]; /* i64 */
    ptxgen_value stride[2][MAX_RANK]; /* of a and b, i64, 0 where they are broadcast */
    ptxgen_value total;               /* elements of c */
} adder;

static ptxgen_value i64_const(adder *k, int64_t x)
{
    return ptxgen_const_int(k->b, ptxgen_type_scalar(k->m, PTXGEN_I64), x);
}

static void add_params(adder *k, int64_t div)
{
    static const char *const ptr_names[3] = {"a", "b", "c"};
    static const char *const *const names[3] = {a_extents, b_extents, c_extents};
    ptxgen_type ptr = ptxgen_type_ptr(k->m, k->elem), i64 = ptxgen_type_scalar(k->m, PTXGEN_I64);
    for (uint32_t p = 0; p < 3; p++) {
        k->ptr[p] = ptxgen_param(k->b, ptr_names[p], ptr);
    }
    for (uint32_t p = 3; p-- > 0;) { /* c's extents first */
        for (uint32_t d = k->rank; d-- > 0;) {
            k->extent[p][d] =
                p == 2 || k->has_broadcast ? ptxgen_param(k->b, names[p][d], i64) : k->extent[2][d];
        }
    }
    if (div > 1) {
        ptxgen_param_attr(k->b, k->extent[2][0], "div", div);
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

/* i1: a and b have c's shape. */
static ptxgen_value is_same(const adder *k)
{
    ptxgen_value all = {0};
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t d = 0; d < k->rank; d++) {
            ptxgen_value one =
                ptxgen_build_compare(k->b, "icmp", "eq", k->extent[p][d], k->extent[2][d]);
            all = all.id == 0 ? one : ptxgen_build_binary(k->b, "and", all, one);
        }
    }
    return all;
}

static void set_strides(adder *k)
{
    for (uint32_t p = 0; p < 2; p++) {
        ptxgen_value dense = i64_const(k, 1);
        for (uint32_t d = 0; d < k->rank; d++) {
            ptxgen_value e = k->extent[p][d];
            ptxgen_value is_one = ptxgen_build_compare(k->b, "icmp", "eq", e, i64_const(k, 1));
            k->stride[p][d] = ptxgen_build_select(k->b, is_one, i64_const(k, 0), dense);
            dense = d == 0 ? e : ptxgen_build_binary(k->b, "imul", dense, e);
        }
    }
}

static ptxgen_value sum(const adder *k, ptxgen_value x, ptxgen_value y)
{
    return ptxgen_build_binary(k->b, "fadd", x, y);
}

static void flat_way(ptxgen_builder *b, const flat_block *f, const void *env)
{
    const adder *k = env;
    ptxgen_type t = ptxgen_type_with_elem(k->m, ptxgen_value_type(b, f->index), k->elem);
    ptxgen_value zero = ptxgen_const_float(b, t, 0.0);
    ptxgen_value x = flat_load(b, k->ptr[0], f, zero), y = flat_load(b, k->ptr[1], f, zero);
    flat_store(b, k->ptr[2], sum(k, x, y), f);
}

/* Element offset of each index of the tile in arrays a and b, as i64 tiles. */
static void offsets(const adder *k, ptxgen_value index, ptxgen_value off[2])
{
    ptxgen_builder *b = k->b;
    ptxgen_type t = ptxgen_value_type(b, index), wide = ptxgen_type_with_elem(k->m, t, PTXGEN_I64);
    ptxgen_value rest = index;
    for (uint32_t d = 0; d < k->rank; d++) {
        ptxgen_value coord = rest;
        if (d + 1 < k->rank) {
            ptxgen_value e = k->extent[2][d];
            if (t.id != wide.id) {
                e = ptxgen_build_cast(b, e, PTXGEN_I32);
            }
            ptxgen_value extent = ptxgen_build_splat(b, e, t);
            rest = ptxgen_build_binary(b, "udiv", rest, extent);
            ptxgen_value whole = ptxgen_build_binary(b, "imul", rest, extent);
            coord = ptxgen_build_binary(b, "isub", coord, whole);
        }
        if (t.id != wide.id) {
            coord = ptxgen_build_cast(b, coord, PTXGEN_I64);
        }
        for (uint32_t p = 0; p < 2; p++) {
            ptxgen_value stride = ptxgen_build_splat(b, k->stride[p][d], wide);
            ptxgen_value term = ptxgen_build_binary(b, "imul", coord, stride);
            off[p] = d == 0 ? term : ptxgen_build_binary(b, "iadd", off[p], term);
        }
    }
}

static void broadcast_way(const adder *k, const flat_block *f, ptxgen_elem index_elem)
{
    ptxgen_builder *b = k->b;
    ptxgen_type t = ptxgen_value_type(b, f->index);
    ptxgen_value zero = ptxgen_const_float(b, ptxgen_type_with_elem(k->m, t, k->elem), 0.0);
    ptxgen_value index = f->index, off[2] = {index, index}, in[2];
    if (index_elem == PTXGEN_I32) {
        index = ptxgen_build_cast(b, index, PTXGEN_I32);
    }
    offsets(k, index, off);
    for (uint32_t p = 0; p < 2; p++) {
        in[p] = ptxgen_build_load(b, ptxgen_build_addptr(b, k->ptr[p], off[p]), f->mask, zero);
    }
    flat_store(b, k->ptr[2], sum(k, in[0], in[1]), f);
}

static void broadcast_32(ptxgen_builder *b, const flat_block *f, const void *env)
{
    (void)b;
    broadcast_way(env, f, PTXGEN_I32);
}

static void broadcast_64(ptxgen_builder *b, const flat_block *f, const void *env)
{
    (void)b;
    broadcast_way(env, f, PTXGEN_I64);
}

/* What is not flat, or the rest of it. */
static void in_pieces(adder *k, const flat_run *r)
{
    ptxgen_builder *b = k->b;
    if (!k->has_broadcast) {
        flat_in_pieces(r, r->div, flat_way, k);
        return;
    }
    set_strides(k);
    if (k->rank == 1) {
        flat_in_pieces(r, 1, broadcast_64, k);
        return;
    }
    const int64_t most = ((int64_t)1 << 31) - r->block;
    ptxgen_if_begin(b, ptxgen_build_compare(b, "icmp", "lt", k->total, i64_const(k, most)), 0,
                    NULL);
    flat_in_pieces(r, 1, broadcast_32, k);
    ptxgen_else(b, 0, NULL);
    flat_in_pieces(r, 1, broadcast_64, k);
    ptxgen_if_end(b, 0, NULL, NULL);
}

static ptxgen_status build(ptxgen_module *m, const kernel_settings *s)
{
    adder k = {.m = m,
               .elem = kernel_setting_elem(s, "dtype"),
               .rank = (uint32_t)kernel_setting_int(s, "rank"),
               .has_broadcast = kernel_setting_is(s, "broadcast", "1")};
    ptxgen_status status = ptxgen_kernel_begin(m, "add", &k.b);
    if (status != PTXGEN_OK) {
        return status;
    }
    ptxgen_builder *b = k.b;
    flat_run r;
    ptxgen_kernel_attr(b, "warps", kernel_setting_int(s, "warps"));
    add_params(&k, kernel_setting_int(s, "div"));
    ptxgen_launch_begin(b);
    flat_launch_end(b, product(&k), (int32_t)kernel_setting_int(s, "block"));
    k.total = product(&k);
    flat_begin(&r, b, s, k.total);
    if (r.has_wide_masks && !k.has_broadcast) {
        flat_at_once(&r, flat_way, &k);
        return ptxgen_kernel_end(b);
    }
    ptxgen_value is_flat = r.has_wide_masks ? is_same(&k) : flat_is_whole(&r);
    if (!r.has_wide_masks && k.has_broadcast) {
        is_flat = ptxgen_build_binary(b, "and", is_flat, is_same(&k));
    }
    ptxgen_if_begin(b, is_flat, 0, NULL);
    flat_at_once(&r, flat_way, &k);
    ptxgen_else(b, 0, NULL);
    in_pieces(&k, &r);
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
    {"div", "1", "2^0..2^4", "div is 1, 2, 4, 8 or 16: n is a multiple of it"},
    {"broadcast", "1", "0 1", "broadcast is 0 or 1: 0 says that a and b have the shape of c"},
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
const kernel_row kernel_add = {&info, build, reference, NULL};
