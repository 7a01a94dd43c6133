/* test_ops.c: every elementwise operation and cast on every type, as tile and as scalar, in the
 * interpreter and, lowered, in the executor: bit for bit, or within the documented error. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/elem.h"
#include "ir/op.h"
#include "tests/draw.h"

#include "both.h"

enum { N = 512 };

typedef struct case_tally {
    uint32_t n_pass, n_fail;
    const char *only; /* substring of the cases to run; NULL: all */
} case_tally;

/* ---- data: what is special first, then anything ---------------------------------------------- */

static const int64_t special_ints[] = {0,         1,
                                       -1,        2,
                                       -2,        3,
                                       7,         8,
                                       31,        32,
                                       63,        64,
                                       127,       -128,
                                       255,       256,
                                       32767,     -32768,
                                       65535,     INT32_MAX,
                                       INT32_MIN, UINT32_MAX,
                                       INT64_MAX, INT64_MIN,
                                       1 << 24,   (1 << 24) + 1,
                                       1000003};
static const double special_floats[] = {
    0.0,     -0.0,    1.0,     -1.0,    0.5,          -0.5,          1.5,    2.5,   -2.5,
    3.0,     0.1,     10.0,    -7.25,   127.5,        128.5,         -129.0, 255.5, 1000.0,
    -1000.0, 65504.0, 65520.0, 70000.0, 1e-8,         6e-8,          1e10,   -1e10, 1e19,
    -1e19,   3e38,    1e-40,   1e39,    2147483648.0, -2147483904.0, 0.55,   0.65,  88.5};

static uint64_t value_of(pg_elem e, uint32_t pick, uint64_t *seed)
{
    uint64_t r = draw(seed);
    if (pg_elem_infos[e].cls == 'I') {
        uint64_t x = pick < PG_COUNT_OF(special_ints) ? (uint64_t)special_ints[pick] : r;
        x = pick >= 100 ? r >> (r & 63) : x; /* of any size */
        return pg_elem_wrap(e, x);
    }
    if (pick < PG_COUNT_OF(special_floats)) {
        return pg_elem_of_f64(e, special_floats[pick]);
    }
    if (pick == 60 || pick == 61) {
        return pg_elem_of_f64(e, pick == 60 ? HUGE_VAL : -HUGE_VAL);
    }
    if (pick == 62) {
        return pg_elem_of_f64(e, 0.0 / (pick == 62 ? 0.0 : 1.0));
    }
    double x = ((double)(int64_t)r / 9.2e18) * (pick % 3 == 0 ? 4.0 : pick % 3 == 1 ? 90.0 : 3e4);
    return pg_elem_of_f64(e, x);
}

static void fill(pg_elem e, uint32_t which, uint64_t *bits, void *data)
{
    uint64_t seed = 88172645463325252ULL + which;
    for (uint32_t i = 0; i < N; i++) {
        /* operands meet in all pairs of the first special values */
        uint32_t pick = which == 0 ? i % 128 : which == 1 ? (i / 5 + i) % 131 : (i / 3) % 127;
        bits[i] = value_of(e, pick, &seed);
        memcpy((char *)data + (size_t)i * both_size(e), &bits[i], both_size(e));
    }
}

/* Poison is no result: keep divisors from zero, and icdiv to where it is defined. */
static void make_legal(pg_op op, pg_elem e, uint32_t which, void *data)
{
    for (uint32_t i = 0; i < N; i++) {
        uint64_t x = 0;
        uint32_t size = both_size(e);
        memcpy(&x, (char *)data + (size_t)i * size, size);
        x = pg_elem_wrap(e, x);
        bool is_div = op == PG_OP_IDIV || op == PG_OP_UDIV || op == PG_OP_IREM || op == PG_OP_UREM;
        if (op == PG_OP_ICDIV && (int64_t)x < 0) {
            x = pg_elem_wrap(e, ~x);
        }
        if (which == 1 && (is_div || op == PG_OP_ICDIV) && x == 0) {
            x = 1;
        }
        memcpy((char *)data + (size_t)i * size, &x, size);
    }
}

/* ---- one program ----------------------------------------------------------------------------- */

typedef struct op_case {
    pg_op op;
    pg_elem in[3], out;
    uint32_t n_in;
    const char *attrs;
    bool is_tile;
    double ulps, absolute;
} op_case;

static void put_program(pg_strbuf *t, const op_case *c)
{
    const char *out = pg_elem_infos[c->out].text;
    pg_put(t, "ptir 1\nmodule sm_80\nkernel @t(");
    for (uint32_t k = 0; k < c->n_in; k++) {
        pg_putf(t, "%%a%u: ptr<%s> [in], ", k, pg_elem_infos[c->in[k]].text);
    }
    pg_putf(t, "%%o: ptr<%s> [out]) [warps=4] {\n", out);
    const char *shape = c->is_tile ? "512x" : "";
    const char *open = c->is_tile ? "tile<" : "";
    const char *close = c->is_tile ? ">" : "";
    pg_put(t, c->is_tile ? "  %i = iota : tile<512xi32>\n" : "  %i = program_id [axis=x] : i32\n");
    for (uint32_t k = 0; k < c->n_in; k++) {
        const char *e = pg_elem_infos[c->in[k]].text;
        pg_putf(t, "  %%p%u = addptr %%a%u, %%i : %s%sptr<%s>%s\n", k, k, open, shape, e, close);
        pg_putf(t, "  %%x%u = load %%p%u : %s%s%s%s\n", k, k, open, shape, e, close);
    }
    pg_putf(t, "  %%y = %s ", pg_op_infos[c->op].text);
    for (uint32_t k = 0; k < c->n_in; k++) {
        pg_putf(t, "%s%%x%u", k != 0 ? ", " : "", k);
    }
    pg_putf(t, " %s: %s%s%s%s\n", c->attrs, open, shape, out, close);
    pg_putf(t, "  %%q = addptr %%o, %%i : %s%sptr<%s>%s\n", open, shape, out, close);
    pg_put(t, "  store %q, %y\n  return\n}\n");
}

static void try_case(case_tally *tally, const op_case *c)
{
    static uint64_t bits[N];
    static uint64_t data[3][N];
    char name[128];
    (void)snprintf(name, sizeof name, "%s%s %s->%s %s", pg_op_infos[c->op].text, c->attrs,
                   pg_elem_infos[c->in[c->n_in - 1]].text, pg_elem_infos[c->out].text,
                   c->is_tile ? "tile" : "scalar");
    if (tally->only != NULL && strstr(name, tally->only) == NULL) {
        return;
    }
    both_arg args[4] = {{0}};
    for (uint32_t k = 0; k < c->n_in; k++) {
        fill(c->in[k], k, bits, data[k]);
        make_legal(c->op, c->in[k], k, data[k]);
        args[k] = (both_arg){.elem = c->in[k], .data = data[k], .n = N};
    }
    args[c->n_in] = (both_arg){.elem = c->out, .n = N, .is_out = true};
    pg_strbuf text, why;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_strbuf_init(&why, pg_alloc_default());
    put_program(&text, c);
    both_case b = {.text = text.ptr,
                   .args = args,
                   .n_args = c->n_in + 1,
                   .grid = {c->is_tile ? 1 : N, 1, 1},
                   .ulps = c->ulps,
                   .absolute = c->absolute,
                   .keep_ptx = tally->only != NULL};
    if (both_run(&b, &why) == BOTH_AGREE) {
        tally->n_pass++;
    } else {
        tally->n_fail++;
        printf("%s:\n%s", name, why.ptr != NULL ? why.ptr : "");
    }
    pg_strbuf_fini(&text);
    pg_strbuf_fini(&why);
}

static void try_both_forms(case_tally *tally, op_case c)
{
    c.is_tile = true;
    try_case(tally, &c);
    c.is_tile = false;
    try_case(tally, &c);
}

static const pg_elem ints[] = {PG_I1, PG_I8, PG_I16, PG_I32, PG_I64};
static const pg_elem floats[] = {PG_F16, PG_BF16, PG_F32, PG_F64};
static const pg_elem all[] = {PG_I1,  PG_I8,   PG_I16, PG_I32, PG_I64,
                              PG_F16, PG_BF16, PG_F32, PG_F64};
static const pg_elem castable[] = {PG_I1,  PG_I8,   PG_I16, PG_I32, PG_I64,
                                   PG_F16, PG_BF16, PG_F32, PG_F64, PG_TF32};

static void try_arithmetic(case_tally *tally, pg_op op)
{
    const pg_op_info *info = &pg_op_infos[op];
    bool is_int = info->res == PG_R_INT;
    for (uint32_t k = 0; k < (is_int ? PG_COUNT_OF(ints) : PG_COUNT_OF(floats)); k++) {
        pg_elem e = is_int ? ints[k] : floats[k];
        op_case c = {
            .op = op, .in = {e, e, e}, .out = e, .n_in = (uint32_t)info->n_in, .attrs = ""};
        if ((info->flags & PG_F_INEXACT) != 0) {
            c.ulps = e == PG_F32 || e == PG_F64 ? 4 : 1; /* f64: ours and the host's together */
            c.absolute = op == PG_OP_LOG2 && e != PG_F64 ? 4.8e-7 : 0;
        }
        try_both_forms(tally, c);
    }
}

static void try_comparison(case_tally *tally, pg_op op)
{
    static const char *const relations[] = {"[is=eq] ", "[is=ne] ", "[is=lt] ",
                                            "[is=le] ", "[is=gt] ", "[is=ge] "};
    bool is_float = op == PG_OP_FCMP;
    for (uint32_t k = 0; k < (is_float ? PG_COUNT_OF(floats) : PG_COUNT_OF(ints)); k++) {
        pg_elem e = is_float ? floats[k] : ints[k];
        for (uint32_t r = 0; r < PG_COUNT_OF(relations); r++) {
            op_case c = {.op = op, .in = {e, e}, .out = PG_I1, .n_in = 2, .attrs = relations[r]};
            try_both_forms(tally, c);
        }
    }
}

static void try_casts(case_tally *tally, pg_op op)
{
    for (uint32_t i = 0; i < PG_COUNT_OF(castable); i++) {
        for (uint32_t j = 0; j < PG_COUNT_OF(castable); j++) {
            op_case c = {.op = op, .in = {castable[i]}, .out = castable[j], .n_in = 1, .attrs = ""};
            if (i != j) {
                try_both_forms(tally, c);
            }
        }
    }
}

static void try_select(case_tally *tally)
{
    for (uint32_t i = 0; i < PG_COUNT_OF(all); i++) {
        op_case c = {.op = PG_OP_SELECT,
                     .in = {PG_I1, all[i], all[i]},
                     .out = all[i],
                     .n_in = 3,
                     .attrs = ""};
        try_both_forms(tally, c);
    }
}

int main(int argc, char **argv)
{
    case_tally t = {.only = argc > 1 ? argv[1] : NULL};
    for (uint32_t op = 1; op < PG_OP_COUNT; op++) {
        const pg_op_info *info = &pg_op_infos[op];
        if ((info->flags & PG_F_ELEM) == 0) {
            continue;
        }
        if (info->res == PG_R_INT || info->res == PG_R_FLOAT) {
            try_arithmetic(&t, (pg_op)op);
        } else if (info->res == PG_R_CMP) {
            try_comparison(&t, (pg_op)op);
        } else if (info->res == PG_R_CAST) {
            try_casts(&t, (pg_op)op);
        }
    }
    try_select(&t);
    printf("%u passed, %u failed\n", t.n_pass, t.n_fail);
    return t.n_fail == 0 ? 0 : 1;
}
