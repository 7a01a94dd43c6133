#include "tests/property/gen.h"

#include <stdlib.h>

#include "tests/draw.h"
#include "tests/property/gen_shapes.h"

const pg_elem pg_gen_elems[PG_GEN_N_ELEMS] = {PG_I8,  PG_I16,  PG_I32, PG_I64,
                                              PG_F16, PG_BF16, PG_F32};

typedef struct gen_val {
    uint32_t name; /* %v<name> */
    uint8_t elem, shape;
} gen_val;

#define MAX_VALS  4096
#define MAX_CELLS 8

/* A stretch of an output array that only one kind of atomic operation goes to. */
typedef struct gen_cells {
    uint8_t elem;
    uint16_t op; /* pg_op */
    uint32_t at, n;
} gen_cells;

typedef struct gen {
    pg_strbuf *out;
    const pg_gen_options *opt;
    uint64_t state;
    gen_val vals[MAX_VALS]; /* in scope */
    uint32_t n_vals, n_names, depth;
    gen_cells cells[MAX_CELLS];
    uint32_t n_cells;
    uint32_t stored[PG_ELEM_COUNT]; /* elements of each output array that have a store */
    int32_t left;
} gen;

static uint32_t below(gen *g, uint32_t n)
{
    return draw_below(&g->state, n);
}

static bool is_float(uint32_t e)
{
    return pg_elem_infos[e].cls == 'F';
}

static void put_type(gen *g, uint32_t elem, uint32_t shape)
{
    if (shape == SCALAR) {
        pg_put(g->out, pg_elem_infos[elem].text);
    } else {
        pg_putf(g->out, "tile<%s%s>", shapes[shape].dims, pg_elem_infos[elem].text);
    }
}

static void begin_line(gen *g)
{
    pg_put_repeat(g->out, ' ', (size_t)2 * (g->depth + 1));
}

/* "%v7 = " on a new line; the value is in scope from the next line on. */
static gen_val begin_def(gen *g)
{
    gen_val v = {g->n_names++, 0, 0};
    begin_line(g);
    pg_putf(g->out, "%%v%u = ", v.name);
    return v;
}

static gen_val end_def(gen *g, gen_val v, uint32_t elem, uint32_t shape)
{
    pg_put(g->out, " : ");
    put_type(g, elem, shape);
    pg_put_char(g->out, '\n');
    v.elem = (uint8_t)elem;
    v.shape = (uint8_t)shape;
    if (g->n_vals < MAX_VALS) {
        g->vals[g->n_vals++] = v;
    }
    return v;
}

static void put_literal(gen *g, uint32_t elem)
{
    static const char *const float_choice[] = {"0.0", "1.0", "-1.0", "0.5", "-0.0", "3.0", "-2.5"};
    static const char *const int_choice[] = {"0", "1", "-1", "2", "8", "7", "16", "-3"};
    if (is_float(elem)) {
        pg_put(g->out, float_choice[below(g, 7)]);
    } else {
        pg_put(g->out, int_choice[below(g, elem == PG_I1 ? 2 : 8)]);
    }
}

/* A value of this type; made if there is none. Recent ones are likelier. */
static gen_val pick(gen *g, uint32_t elem, uint32_t shape);

static bool find(gen *g, uint32_t elem, uint32_t shape, gen_val *out)
{
    uint32_t n = 0;
    for (uint32_t i = g->n_vals; i-- > 0;) {
        if (g->vals[i].elem == elem && g->vals[i].shape == shape) {
            *out = g->vals[i];
            if (++n > 6 || below(g, 3) == 0) {
                return true;
            }
        }
    }
    return n > 0;
}

static gen_val make_iota(gen *g, uint32_t elem, uint32_t shape)
{
    gen_val v = begin_def(g);
    pg_put(g->out, "iota");
    const uint32_t dim = shapes[shape].rank > 1 ? below(g, shapes[shape].rank) : 0;
    if (dim != 0) {
        pg_putf(g->out, " [dim=%u]", dim);
    }
    return end_def(g, v, elem, shape);
}

static gen_val make_const(gen *g, uint32_t elem, uint32_t shape)
{
    gen_val v = begin_def(g);
    pg_put(g->out, "const ");
    put_literal(g, elem);
    return end_def(g, v, elem, shape);
}

static gen_val make_splat(gen *g, uint32_t elem, uint32_t shape)
{
    const gen_val s = pick(g, elem, SCALAR);
    gen_val v = begin_def(g);
    pg_putf(g->out, "splat %%v%u", s.name);
    return end_def(g, v, elem, shape);
}

static gen_val make_cast(gen *g, uint32_t elem, uint32_t shape)
{
    const uint32_t from = elem == PG_I1 ? PG_I32 : (uint32_t)pg_gen_elems[below(g, PG_GEN_N_ELEMS)];
    gen_val x;
    if (from == elem || !find(g, from, shape, &x)) {
        return make_const(g, elem, shape);
    }
    if (below(g, 4) == 0) { /* no value that lives on has this type */
        const gen_val word = {g->n_names++, 0, 0};
        begin_line(g);
        pg_putf(g->out, "%%v%u = %s %%v%u : ", word.name, below(g, 3) ? "cast" : "ucast", x.name);
        put_type(g, PG_TF32, shape);
        pg_put_char(g->out, '\n');
        x = word;
    }
    gen_val v = begin_def(g);
    pg_putf(g->out, "%s %%v%u", below(g, 3) ? "cast" : "ucast", x.name);
    return end_def(g, v, elem, shape);
}

static gen_val make_load(gen *g, uint32_t elem, uint32_t shape);
static gen_val linear_index(gen *g, uint32_t shape);

static gen_val make_compare(gen *g, uint32_t shape)
{
    gen_val x;
    if (!find(g, PG_I32, shape, &x)) {
        x = make_load(g, PG_I32, shape);
    }
    gen_val v = begin_def(g);
    const uint32_t limit = 1 + below(g, 40);
    pg_putf(g->out, "icmp %%v%u, %u [is=%s]", x.name, limit, below(g, 2) ? "lt" : "ge");
    return end_def(g, v, PG_I1, shape);
}

static gen_val pick(gen *g, uint32_t elem, uint32_t shape)
{
    gen_val v;
    if (find(g, elem, shape, &v)) {
        return v;
    }
    if (shape != SCALAR && elem != PG_I1 && !is_float(elem) && below(g, 2)) {
        return make_iota(g, elem, shape);
    }
    if (elem == PG_I1 && below(g, 4)) {
        return make_compare(g, shape);
    }
    if (elem != PG_I1 && below(g, 4)) {
        return make_load(g, elem, shape);
    }
    if (shape != SCALAR && below(g, 3) == 0) {
        return make_splat(g, elem, shape);
    }
    return elem != PG_I1 && below(g, 3) == 0 ? make_cast(g, elem, shape)
                                             : make_const(g, elem, shape);
}

/* A tile of i32 with the row-major number of each element. */
static gen_val linear_index(gen *g, uint32_t shape)
{
    gen_val sum = {0};
    uint32_t stride = 1;
    for (uint32_t d = shapes[shape].rank; d-- > 0; stride *= shapes[shape].at[d]) {
        if (shapes[shape].at[d] == 1 && shapes[shape].rank > 1) {
            continue;
        }
        gen_val v = begin_def(g);
        pg_put(g->out, "iota");
        if (d != 0) {
            pg_putf(g->out, " [dim=%u]", d);
        }
        gen_val part = end_def(g, v, PG_I32, shape);
        if (stride != 1) {
            v = begin_def(g);
            pg_putf(g->out, "imul %%v%u, %u", part.name, stride);
            part = end_def(g, v, PG_I32, shape);
            v = begin_def(g);
            pg_putf(g->out, "iadd %%v%u, %%v%u", part.name, sum.name);
            part = end_def(g, v, PG_I32, shape);
        }
        sum = part;
    }
    return sum;
}

static void put_pointer_type(gen *g, uint32_t elem, uint32_t shape)
{
    if (shape == SCALAR) {
        pg_putf(g->out, " : ptr<%s>\n", pg_elem_infos[elem].text);
    } else {
        pg_putf(g->out, " : tile<%sptr<%s>>\n", shapes[shape].dims, pg_elem_infos[elem].text);
    }
}

static gen_val make_load(gen *g, uint32_t elem, uint32_t shape)
{
    gen_val x;
    if (!find(g, PG_I32, shape, &x) || (shape != SCALAR && below(g, 2))) {
        x = linear_index(g, shape);
    }
    gen_val v = begin_def(g);
    pg_putf(g->out, "and %%v%u, %u", x.name, PG_GEN_IN_N - 1);
    const gen_val index = end_def(g, v, PG_I32, shape);
    const gen_val p = begin_def(g);
    pg_putf(g->out, "addptr %%x_%s, %%v%u", pg_elem_infos[elem].text, index.name);
    put_pointer_type(g, elem, shape);
    const bool has_mask = below(g, 2) != 0;
    const gen_val mask = has_mask ? pick(g, PG_I1, shape) : p;
    const gen_val other = has_mask ? pick(g, elem, shape) : p;
    v = begin_def(g);
    pg_putf(g->out, "load %%v%u", p.name);
    if (has_mask) {
        pg_putf(g->out, ", %%v%u, %%v%u", mask.name, other.name);
    }
    return end_def(g, v, elem, shape);
}

/* Pointers to n elements of an output array, from element `at` on. */
static gen_val output_at(gen *g, uint32_t elem, uint32_t shape, uint32_t at, gen_val index)
{
    gen_val p = begin_def(g);
    pg_putf(g->out, "addptr %%y_%s, %u : ptr<%s>\n", pg_elem_infos[elem].text, at,
            pg_elem_infos[elem].text);
    if (shape != SCALAR) {
        const gen_val base = p;
        p = begin_def(g);
        pg_putf(g->out, "addptr %%v%u, %%v%u", base.name, index.name);
        put_pointer_type(g, elem, shape);
    }
    return p;
}

/* The end of a store or an atomic operation. */
static void put_access(gen *g, const char *op, gen_val p, gen_val x, const gen_val *mask)
{
    begin_line(g);
    pg_putf(g->out, "%s %%v%u, %%v%u", op, p.name, x.name);
    if (mask != NULL) {
        pg_putf(g->out, ", %%v%u", mask->name);
    }
    pg_put_char(g->out, '\n');
}

static void make_store(gen *g, gen_val x, bool may_mask)
{
    if (x.elem == PG_I1) {
        gen_val v = begin_def(g);
        pg_putf(g->out, "ucast %%v%u", x.name);
        x = end_def(g, v, PG_I8, x.shape);
    }
    const uint32_t at = g->stored[x.elem];
    if (at + shapes[x.shape].n > PG_GEN_OUT_N) {
        return;
    }
    g->stored[x.elem] += shapes[x.shape].n;
    const gen_val index = x.shape != SCALAR ? linear_index(g, x.shape) : x;
    const gen_val p = output_at(g, x.elem, x.shape, at, index);
    const bool has_mask = may_mask && below(g, 2) != 0;
    const gen_val mask = has_mask ? pick(g, PG_I1, x.shape) : p;
    put_access(g, "store", p, x, has_mask ? &mask : NULL);
}

/* Floats that are small integers: their sums are the same in any order. */
static gen_val make_small_float(gen *g, uint32_t elem, uint32_t shape)
{
    const gen_val x = pick(g, PG_I32, shape);
    gen_val v = begin_def(g);
    pg_putf(g->out, "and %%v%u, 15", x.name);
    const gen_val small = end_def(g, v, PG_I32, shape);
    v = begin_def(g);
    pg_putf(g->out, "cast %%v%u", small.name);
    return end_def(g, v, elem, shape);
}

/* ---- atomic operations ----------------------------------------------------------------------- */

/* Cells that begin as 5, at the top level, so that what comes later finds them written. */
static bool make_cells(gen *g)
{
    static const struct {
        uint8_t elem, op;
    } kinds[] = {{PG_I32, PG_OP_ATOMIC_ADD}, {PG_I64, PG_OP_ATOMIC_ADD},
                 {PG_F32, PG_OP_ATOMIC_ADD}, {PG_I32, PG_OP_ATOMIC_MAX},
                 {PG_I64, PG_OP_ATOMIC_MAX}, {PG_I32, PG_OP_ATOMIC_UMAX},
                 {PG_I64, PG_OP_ATOMIC_UMAX}};
    static const uint8_t sizes[] = {SCALAR, S8, S16, S64};
    const uint32_t kind = below(g, sizeof kinds / sizeof kinds[0]);
    const uint32_t shape = sizes[below(g, sizeof sizes)], elem = kinds[kind].elem;
    const uint32_t at = g->stored[elem];
    if (g->depth != 0 || g->n_cells == MAX_CELLS || at + shapes[shape].n > PG_GEN_OUT_N) {
        return false;
    }
    gen_val v = begin_def(g);
    pg_put(g->out, "const 5");
    make_store(g, end_def(g, v, elem, shape), false);
    g->cells[g->n_cells++] = (gen_cells){(uint8_t)elem, kinds[kind].op, at, shapes[shape].n};
    return true;
}

/* Elements and threads meet at the same cells: each operation of one kind, so that order does not
 * matter. */
static void make_atomic(gen *g)
{
    if ((g->n_cells == 0 || below(g, 4) == 0) && !make_cells(g)) {
        return;
    }
    const gen_cells *c = &g->cells[below(g, g->n_cells)];
    static const uint8_t likely[] = {SCALAR, S64, S8X16, S128, S8, S4X8X4, S1X16};
    const uint32_t shape = likely[below(g, sizeof likely)];
    const gen_val x =
        is_float(c->elem) ? make_small_float(g, c->elem, shape) : pick(g, c->elem, shape);
    gen_val index = x;
    if (shape != SCALAR) {
        const gen_val any = pick(g, PG_I32, shape);
        gen_val v = begin_def(g);
        pg_putf(g->out, "and %%v%u, %u", any.name, c->n - 1);
        index = end_def(g, v, PG_I32, shape);
    }
    const gen_val p = output_at(g, c->elem, shape, c->at, index);
    const bool has_mask = below(g, 2) != 0;
    const gen_val mask = has_mask ? pick(g, PG_I1, shape) : p;
    put_access(g, pg_op_infos[c->op].text, p, x, has_mask ? &mask : NULL);
}

/* ---- operations from the table --------------------------------------------------------------- */

static uint32_t random_elem(gen *g, bool is_int)
{
    static const uint8_t int_choice[] = {PG_I32, PG_I32, PG_I64, PG_I16, PG_I8, PG_I1};
    static const uint8_t float_choice[] = {PG_F32, PG_F32, PG_F16, PG_BF16};
    return is_int ? int_choice[below(g, 6)] : float_choice[below(g, 4)];
}

static uint32_t random_shape(gen *g)
{
    static const uint8_t likely[] = {SCALAR, SCALAR, S64,  S64,   S8X16,  S8X16, S16X8, S128,
                                     S8,     S16,    S8X1, S1X16, S4X8X4, S4X8,  S4X4};
    return likely[below(g, sizeof likely)];
}

static gen_val pick_any(gen *g)
{
    const uint32_t elem = random_elem(g, below(g, 2) != 0);
    return pick(g, elem, random_shape(g));
}

static bool is_division(uint32_t op)
{
    return op == PG_OP_IDIV || op == PG_OP_UDIV || op == PG_OP_IREM || op == PG_OP_UREM ||
           op == PG_OP_ICDIV;
}

/* A divisor of 1 to 15, and for icdiv a dividend that is not negative. */
static void make_division(gen *g, uint32_t op, uint32_t elem, uint32_t shape)
{
    gen_val x = pick(g, elem, shape), v;
    if (op == PG_OP_ICDIV || below(g, 2)) {
        v = begin_def(g);
        pg_putf(g->out, "and %%v%u, 63", x.name);
        x = end_def(g, v, elem, shape);
    }
    if (below(g, 2)) {
        v = begin_def(g);
        pg_putf(g->out, "%s %%v%u, %u", pg_op_infos[op].text, x.name, 1u << below(g, 5));
        (void)end_def(g, v, elem, shape);
        return;
    }
    gen_val d = pick(g, elem, shape);
    v = begin_def(g);
    pg_putf(g->out, "and %%v%u, 15", d.name);
    d = end_def(g, v, elem, shape);
    v = begin_def(g);
    pg_putf(g->out, "or %%v%u, 1", d.name);
    d = end_def(g, v, elem, shape);
    v = begin_def(g);
    pg_putf(g->out, "%s %%v%u, %%v%u", pg_op_infos[op].text, x.name, d.name);
    (void)end_def(g, v, elem, shape);
}

/* Operands of the classes T, X and M; at least one is no literal. */
static void make_elementwise(gen *g, uint32_t op)
{
    static const char *const relations[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const pg_op_info *info = &pg_op_infos[op];
    const bool is_int = info->res == PG_R_INT || op == PG_OP_ICMP || op == PG_OP_UCMP ||
                        (op == PG_OP_SELECT && below(g, 2));
    uint32_t elem = random_elem(g, is_int);
    const uint32_t shape = random_shape(g);
    gen_val in[3] = {{0}};
    bool is_literal[3] = {false};
    if (is_division(op)) {
        make_division(g, op, elem == PG_I1 ? (uint32_t)PG_I32 : elem, shape);
        return;
    }
    if (elem == PG_I1 && (op == PG_OP_ICMP || op == PG_OP_UCMP || op == PG_OP_INEG ||
                          op == PG_OP_IABS || op == PG_OP_IMIN || op == PG_OP_IMAX ||
                          op == PG_OP_SHL || op == PG_OP_ISHR || op == PG_OP_USHR)) {
        elem = PG_I32;
    }
    const uint32_t n = (uint32_t)info->n_in;
    for (uint32_t j = 0; j < n; j++) {
        const bool is_mask = (info->ins[j] & PG_C_MASK) == PG_C_M;
        is_literal[j] = j > 0 && below(g, 4) == 0;
        if (!is_literal[j]) {
            in[j] = pick(g, is_mask ? (uint32_t)PG_I1 : elem, shape);
        }
    }
    gen_val v = begin_def(g);
    pg_put(g->out, info->text);
    for (uint32_t j = 0; j < n; j++) {
        pg_put(g->out, j ? ", " : " ");
        if (is_literal[j]) {
            put_literal(g, elem);
        } else {
            pg_putf(g->out, "%%v%u", in[j].name);
        }
    }
    if (info->res == PG_R_CMP) {
        pg_putf(g->out, " [is=%s]", relations[below(g, 6)]);
        elem = PG_I1;
    }
    (void)end_def(g, v, elem, shape);
}

static void make_table_op(gen *g)
{
    for (;;) {
        const uint32_t op = 1 + below(g, PG_OP_COUNT - 1);
        const pg_op_info *info = &pg_op_infos[op];
        if (!(info->flags & PG_F_ELEM) || (g->opt->is_exact && (info->flags & PG_F_INEXACT))) {
            continue;
        }
        if (op == PG_OP_CAST || op == PG_OP_UCAST) {
            const uint32_t to = pg_gen_elems[below(g, PG_GEN_N_ELEMS)];
            (void)make_cast(g, to, random_shape(g));
        } else {
            make_elementwise(g, op);
        }
        return;
    }
}

static void make_shape_op(gen *g)
{
    const uint32_t row = below(g, N_SHAPE_OPS);
    const uint32_t elem = random_elem(g, below(g, 2) != 0);
    const gen_val x = pick(g, elem, shape_ops[row].from);
    gen_val v = begin_def(g);
    pg_putf(g->out, "%s %%v%u%s", shape_ops[row].op, x.name, shape_ops[row].attrs);
    (void)end_def(g, v, elem, shape_ops[row].to);
}

/* Into an encoding of the author's and back: threads and warps hold other elements in between. */
static void make_copy(gen *g)
{
    static const uint8_t choice[] = {S64, S8X16, S16X8, S128, S8X4};
    const uint32_t shape = choice[below(g, 5)];
    const gen_val x = pick(g, random_elem(g, below(g, 2) != 0), shape);
    const uint32_t kind = below(g, 2) + (shapes[shape].rank == 2 ? 2 : 0);
    const gen_val there = begin_def(g);
    pg_putf(g->out, "copy %%v%u : tile<%s%s, #e%u>\n", x.name, shapes[shape].dims,
            pg_elem_infos[x.elem].text, kind);
    const gen_val back = begin_def(g);
    pg_putf(g->out, "copy %%v%u", there.name);
    (void)end_def(g, back, x.elem, shape);
}

/* Encodings for make_copy, of rank 1 and 2. */
static void put_encodings(gen *g, uint32_t warps)
{
    pg_putf(g->out, "enc #e0 = blocked [order=(0), regs=(2), lanes=(32), warps=(%u)]\n", warps);
    pg_putf(g->out, "enc #e1 = blocked [order=(0), regs=(8), lanes=(32), warps=(%u)]\n", warps);
    pg_putf(g->out, "enc #e2 = blocked [order=(0, 1), regs=(4, 1), lanes=(2, 16), warps=(1, %u)]\n",
            warps);
    pg_putf(g->out, "enc #e3 = blocked [order=(1, 0), regs=(1, 2), lanes=(8, 4), warps=(%u, 1)]\n",
            warps);
}

/* Along any dimension. Neither passes nor machines keep the order of sums: those of floats are of
 * small integers. */
static void make_reduce(gen *g)
{
    static const struct {
        uint8_t from, to, dim;
    } rows[] = {{S64, SCALAR, 0},  {S8, SCALAR, 0},   {S128, SCALAR, 0}, {S8X16, S16, 0},
                {S8X16, S8, 1},    {S16X8, S8, 0},    {S16X8, S16, 1},   {S8X1, S8, 1},
                {S1X16, S16, 0},   {S128, SCALAR, 0}, {S4X8X4, S8X4, 0}, {S4X8X4, S4X4, 1},
                {S4X8X4, S4X8, 2}, {S4X8, S8, 0},     {S16, SCALAR, 0}};
    static const char *const ops[] = {"max", "min", "sum"};
    const uint32_t row = below(g, sizeof rows / sizeof rows[0]);
    const uint32_t elem = pg_gen_elems[below(g, PG_GEN_N_ELEMS)];
    const uint32_t op = below(g, 3);
    const gen_val x = op == 2 && is_float(elem) ? make_small_float(g, elem, rows[row].from)
                                                : pick(g, elem, rows[row].from);
    gen_val v = begin_def(g);
    pg_putf(g->out, "reduce %%v%u [dim=%u, op=%s]", x.name, rows[row].dim, ops[op]);
    (void)end_def(g, v, elem, rows[row].to);
}

/* ---- regions --------------------------------------------------------------------------------- */

static void make_block(gen *g, int32_t n);

static void put_names(gen *g, const gen_val *v, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++) {
        pg_putf(g->out, "%s%%v%u", j ? ", " : "", v[j].name);
    }
}

static void put_types(gen *g, const gen_val *v, uint32_t n)
{
    pg_put(g->out, n ? " : " : "");
    for (uint32_t j = 0; j < n; j++) {
        pg_put(g->out, j ? ", " : "");
        put_type(g, v[j].elem, v[j].shape);
    }
}

/* Yields values of the types of like[0..n), and closes the scope that began with n_vals values. */
static void close_region(gen *g, const gen_val *like, uint32_t n, uint32_t n_vals)
{
    gen_val y[3] = {{0}};
    for (uint32_t j = 0; j < n; j++) {
        y[j] = below(g, 8) == 0 ? like[j] : pick(g, like[j].elem, like[j].shape);
    }
    if (n > 0) {
        begin_line(g);
        pg_put(g->out, "yield ");
        put_names(g, y, n);
        pg_put_char(g->out, '\n');
    }
    g->n_vals = n_vals;
    g->depth--;
    begin_line(g);
    pg_put_char(g->out, '}');
}

static void make_for(gen *g)
{
    static const char *const bounds[] = {"0 to 3 step 1", "0 to 1 step 1",  "2 to 2 step 1",
                                         "1 to 8 step 3", "0 to %s step 1", "-2 to 2 step 2"};
    const uint32_t n = below(g, 4);
    gen_val init[3] = {{0}}, res[3] = {{0}}, arg[3] = {{0}};
    for (uint32_t j = 0; j < n; j++) {
        init[j] = pick_any(g);
        res[j] = init[j];
        res[j].name = g->n_names++;
        arg[j] = init[j];
        arg[j].name = g->n_names++;
    }
    const uint32_t iv = g->n_names++;
    begin_line(g);
    put_names(g, res, n);
    pg_putf(g->out, "%sfor %%v%u in %s", n ? " = " : "", iv, bounds[below(g, 6)]);
    for (uint32_t j = 0; j < n; j++) {
        pg_putf(g->out, "%s%%v%u = %%v%u", j ? ", " : " carry (", arg[j].name, init[j].name);
    }
    pg_put(g->out, n ? ")" : "");
    put_types(g, res, n);
    pg_put(g->out, " {\n");
    const uint32_t n_vals = g->n_vals;
    g->depth++;
    if (g->n_vals + 4 < MAX_VALS) {
        g->vals[g->n_vals++] = (gen_val){iv, PG_I32, SCALAR};
        for (uint32_t j = 0; j < n; j++) {
            g->vals[g->n_vals++] = arg[j];
        }
    }
    make_block(g, 2 + (int32_t)below(g, 8));
    close_region(g, arg, n, n_vals);
    pg_put_char(g->out, '\n');
    for (uint32_t j = 0; j < n && g->n_vals < MAX_VALS; j++) {
        g->vals[g->n_vals++] = res[j];
    }
}

/* The arguments of a loop's region, in scope. */
static void open_region(gen *g, const gen_val *args, uint32_t n)
{
    g->depth++;
    for (uint32_t j = 0; j < n && g->n_vals < MAX_VALS; j++) {
        g->vals[g->n_vals++] = args[j];
    }
}

static void yield_and_close(gen *g, const gen_val *y, uint32_t n, uint32_t n_vals)
{
    begin_line(g);
    pg_put(g->out, "yield ");
    put_names(g, y, n);
    pg_put_char(g->out, '\n');
    g->n_vals = n_vals;
    g->depth--;
    begin_line(g);
}

/* At most 3 turns: the first carried value counts down; in half of them another condition ends the
 * loop too. */
static void make_while(gen *g)
{
    const uint32_t n = 1 + below(g, 3);
    gen_val init[3] = {{0}}, res[3] = {{0}}, arg[3] = {{0}}, y[3] = {{0}};
    const gen_val any = pick(g, PG_I32, SCALAR);
    gen_val v = begin_def(g);
    pg_putf(g->out, "and %%v%u, 3", any.name);
    init[0] = end_def(g, v, PG_I32, SCALAR);
    for (uint32_t j = 0; j < n; j++) {
        init[j] = j == 0 ? init[0] : pick_any(g);
        res[j] = arg[j] = init[j];
        res[j].name = g->n_names++;
        arg[j].name = g->n_names++;
    }
    begin_line(g);
    put_names(g, res, n);
    pg_put(g->out, " = while");
    for (uint32_t j = 0; j < n; j++) {
        pg_putf(g->out, "%s%%v%u = %%v%u", j ? ", " : " carry (", arg[j].name, init[j].name);
    }
    pg_put_char(g->out, ')');
    put_types(g, res, n);
    pg_put(g->out, " {\n");
    const uint32_t n_vals = g->n_vals;
    open_region(g, arg, n);
    make_block(g, (int32_t)below(g, 4));
    v = begin_def(g);
    pg_putf(g->out, "icmp %%v%u, 0 [is=gt]", arg[0].name);
    y[0] = end_def(g, v, PG_I1, SCALAR);
    if (below(g, 2)) {
        const gen_val other = pick(g, PG_I1, SCALAR);
        v = begin_def(g);
        pg_putf(g->out, "and %%v%u, %%v%u", y[0].name, other.name);
        y[0] = end_def(g, v, PG_I1, SCALAR);
    }
    yield_and_close(g, y, 1, n_vals);
    pg_put(g->out, "} do {\n");
    open_region(g, arg, n);
    make_block(g, 1 + (int32_t)below(g, 6));
    for (uint32_t j = 1; j < n; j++) {
        y[j] = below(g, 8) == 0 ? arg[j] : pick(g, arg[j].elem, arg[j].shape);
    }
    v = begin_def(g);
    pg_putf(g->out, "isub %%v%u, 1", arg[0].name);
    y[0] = end_def(g, v, PG_I32, SCALAR);
    yield_and_close(g, y, n, n_vals);
    pg_put(g->out, "}\n");
    for (uint32_t j = 0; j < n && g->n_vals < MAX_VALS; j++) {
        g->vals[g->n_vals++] = res[j];
    }
}

static void make_if(gen *g)
{
    const uint32_t n = below(g, 3);
    gen_val res[3] = {{0}}, like[3] = {{0}};
    const gen_val condition = pick(g, PG_I1, SCALAR);
    for (uint32_t j = 0; j < n; j++) {
        like[j] = pick_any(g);
        res[j] = like[j];
        res[j].name = g->n_names++;
    }
    begin_line(g);
    put_names(g, res, n);
    pg_putf(g->out, "%sif %%v%u", n ? " = " : "", condition.name);
    put_types(g, res, n);
    pg_put(g->out, " {\n");
    for (uint32_t r = 0; r < 2; r++) {
        const uint32_t n_vals = g->n_vals;
        g->depth++;
        make_block(g, 1 + (int32_t)below(g, 6));
        close_region(g, like, n, n_vals);
        pg_put(g->out, r == 0 ? " else {\n" : "\n");
    }
    for (uint32_t j = 0; j < n && g->n_vals < MAX_VALS; j++) {
        g->vals[g->n_vals++] = res[j];
    }
}

static void make_block(gen *g, int32_t n)
{
    while (n-- > 0 && g->left-- > 0) {
        const uint32_t dice = below(g, 100);
        if (dice < 52) {
            make_table_op(g);
        } else if (dice < 58) {
            make_reduce(g);
        } else if (dice < 61) {
            make_copy(g);
        } else if (dice < 72) {
            make_shape_op(g);
        } else if (dice < 82) {
            const uint32_t e = pg_gen_elems[below(g, PG_GEN_N_ELEMS)];
            (void)make_load(g, e, random_shape(g));
        } else if (dice < 84) {
            make_atomic(g);
        } else if (dice < 90) {
            const uint32_t e = pg_gen_elems[below(g, PG_GEN_N_ELEMS)];
            make_store(g, pick(g, e, random_shape(g)), true);
        } else if (g->depth < 3 && dice < 93) {
            make_for(g);
        } else if (g->depth < 3 && dice < 96) {
            make_while(g);
        } else if (g->depth < 3) {
            make_if(g);
        }
    }
}

void pg_gen_program(pg_strbuf *out, const pg_gen_options *options)
{
    gen *g = calloc(1, sizeof *g);
    if (!g) {
        return;
    }
    g->out = out;
    g->opt = options;
    g->state = options->seed * 0x2545f4914f6cdd1dull + 1;
    g->left = (int32_t)options->n_ops;
    const uint32_t warps = 1u << below(g, 3);
    pg_put(out, "ptir 1\nmodule sm_80\n");
    put_encodings(g, warps);
    pg_put(out, "\nkernel @p(");
    for (uint32_t e = 0; e < PG_GEN_N_ELEMS; e++) {
        const char *t = pg_elem_infos[pg_gen_elems[e]].text;
        pg_putf(out, "%%x_%s: ptr<%s> [in, shape=(%d), align=16, noalias], ", t, t, PG_GEN_IN_N);
        pg_putf(out, "%%y_%s: ptr<%s> [inout, shape=(%d), align=16, noalias], ", t, t,
                PG_GEN_OUT_N);
    }
    pg_putf(out, "%%s: i32) [warps=%u] {\n  launch {\n    grid 1\n  }\n", warps);
    gen_val v = begin_def(g);
    pg_put(out, "and %s, 7");
    (void)end_def(g, v, PG_I32, SCALAR);
    v = begin_def(g);
    pg_put(out, "program_id [axis=x]");
    (void)end_def(g, v, PG_I32, SCALAR);
    make_block(g, (int32_t)options->n_ops);
    for (uint32_t i = 0; i < 6 && g->n_vals > 0; i++) { /* something must come of it */
        make_store(g, g->vals[g->n_vals - 1 - below(g, g->n_vals < 24 ? g->n_vals : 24)], false);
    }
    pg_put(out, "  return\n}\n");
    free(g);
}
