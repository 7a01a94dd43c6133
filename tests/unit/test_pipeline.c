/* The pass `pipeline`: the same numbers before and after for stages 1 to 5 and trip counts 0 to 9,
 * with addresses from the loop's variable and from carried values, with and without masks; and
 * each barrier and wait that it makes is missed when it is taken away. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/pass.h"

#include "interp_world.h"

enum { SIDE = 16, MAX_TRIP = 9, MAX_K = SIDE * MAX_TRIP };

/* The loop's head, its addresses, its masks, what it yields. */
typedef struct variant {
    const char *carry, *types, *address, *mask, *yields;
} variant;

static const variant variants[] = {
    {"", "",
     "    %k0 = imul %i, 16 [nw] : i32\n    %ai = addptr %a, %k0 : ptr<f16>\n"
     "    %bk = imul %k0, 16 [nw] : i32\n    %bi = addptr %b, %bk : ptr<f16>\n"
     "    %ap = addptr %ai, %ao : tile<16x16xptr<f16>>\n"
     "    %bp = addptr %bi, %bo : tile<16x16xptr<f16>>\n",
     "", ""},
    {", %ap = %ap0, %bp = %bp0, %j = 0", ", tile<16x16xptr<f16>>, tile<16x16xptr<f16>>, i32",
     "    %j1 = iadd %j, 16 : i32\n    %an = addptr %ap, 16 : tile<16x16xptr<f16>>\n"
     "    %bn = addptr %bp, 256 : tile<16x16xptr<f16>>\n"
     "    %left = isub %k, %j : i32\n    %ls = splat %left : tile<16x16xi32>\n"
     "    %am = icmp %col, %ls [is=lt] : tile<16x16xi1>\n"
     "    %bm = icmp %row, %ls [is=lt] : tile<16x16xi1>\n",
     "m, 0.0", ", %an, %bn, %j1"},
/* Masks that hold in iterations that do not exist too: only the pass's own condition keeps these
 * copies from what lies beyond the arrays. `m` and `t`: a tile of columns, and of a scalar. */
#define ALWAYS(compare)                                                                          \
    {                                                                                            \
        ", %ap = %ap0, %bp = %bp0, %j = 1", ", tile<16x16xptr<f16>>, tile<16x16xptr<f16>>, i32", \
            "    %j1 = iadd %j, 1 : i32\n    %an = addptr %ap, 16 : tile<16x16xptr<f16>>\n"      \
            "    %bn = addptr %bp, 256 : tile<16x16xptr<f16>>\n"                                 \
            "    %up = iadd %j, 15 : i32\n    %t = splat %up : tile<1x16xi32>\n"                 \
            "    %low = isub 0, %j : i32\n    %l = splat %low : tile<1x16xi32>\n"                \
            "    %m = iota [dim=1] : tile<1x16xi32>\n"                                           \
            "    %w = isub %m, 99 : tile<1x16xi32>\n    %is = " compare                          \
            " : tile<1x16xi1>\n    %all = broadcast %is : tile<16x16xi1>\n"                      \
            "    %am = and %all, %all : tile<16x16xi1>\n"                                        \
            "    %bm = and %all, %am : tile<16x16xi1>\n",                                        \
            "m, 0.0", ", %an, %bn, %j1"                                                          \
    }
    ALWAYS("icmp %m, %t [is=lt]"),
    ALWAYS("icmp %t, %m [is=gt]"),
    ALWAYS("icmp %l, %m [is=lt]"),
    ALWAYS("icmp %m, %l [is=gt]"),
    ALWAYS("ucmp %m, %t [is=lt]"),
    ALWAYS("ucmp %t, %m [is=gt]"),
    ALWAYS("ucmp %w, %t [is=gt]"),
    ALWAYS("ucmp %t, %w [is=lt]"),
    ALWAYS("icmp %m, %t [is=le]"),
    ALWAYS("icmp %m, %t [is=ne]"),
};

enum { N_VARIANTS = sizeof variants / sizeof variants[0] };

static void write_program(char *out, size_t size, const variant *v, uint32_t stages)
{
    const bool is_masked = v->mask[0] != '\0';
    const int n = snprintf(
        out, size,
        "ptir 1\nmodule sm_80\n\n"
        "kernel @k(%%a: ptr<f16> [in, align=16, noalias], %%b: ptr<f16> [in, align=16, noalias], "
        "%%c: ptr<f32> [out, align=16, noalias], %%n: i32, %%k: i32) [warps=2] {\n"
        "  %%row = iota : tile<16x16xi32>\n  %%col = iota [dim=1] : tile<16x16xi32>\n"
        "  %%ks = splat %%k : tile<16x16xi32>\n  %%ro = imul %%row, %%ks : tile<16x16xi32>\n"
        "  %%ao = iadd %%ro, %%col : tile<16x16xi32>\n  %%r16 = imul %%row, 16 : tile<16x16xi32>\n"
        "  %%bo = iadd %%r16, %%col : tile<16x16xi32>\n"
        "  %%ap0 = addptr %%a, %%ao : tile<16x16xptr<f16>>\n"
        "  %%bp0 = addptr %%b, %%bo : tile<16x16xptr<f16>>\n"
        "  %%z = splat 1.0 : tile<16x16xf32>\n"
        "  %%s%s = for %%i in 0 to %%n step 1 carry (%%x = %%z%s) [stages=%u] : "
        "tile<16x16xf32>%s {\n%s"
        "    %%at = load %%ap%s%s : tile<16x16xf16>\n    %%bt = load %%bp%s%s : tile<16x16xf16>\n"
        "    %%y = mma %%at, %%bt, %%x : tile<16x16xf32>\n    yield %%y%s\n  }\n"
        "  %%cp = addptr %%c, %%bo : tile<16x16xptr<f32>>\n  store %%cp, %%s\n  return\n}\n",
        v->types[0] != '\0' ? ", %ae, %be, %je" : "", v->carry, stages, v->types, v->address,
        is_masked ? ", %a" : "", v->mask, is_masked ? ", %b" : "", v->mask, v->yields);
    cr_assert(n > 0 && (size_t)n < size);
}

typedef struct product {
    world w;
    uint16_t a[SIDE * MAX_K + 1], b[MAX_K * SIDE + 1];
    float c[SIDE * SIDE];
    uint8_t poison[sizeof(float) * SIDE * SIDE];
    int32_t k;
} product;

static int32_t value_of(uint32_t i)
{
    return (int32_t)(i * 7 % 11) - 5;
}

/* n trips; a mask cuts the last one to half. */
static void begin(product *p, const char *text, uint32_t n, bool is_masked)
{
    world_init(&p->w, text);
    p->k = (int32_t)(n * SIDE) - (is_masked && n > 0 ? SIDE / 2 : 0);
    for (uint32_t i = 0; i < SIDE * MAX_K; i++) {
        p->a[i] = pg_f32_to_f16((float)value_of(i));
        p->b[i] = pg_f32_to_f16((float)value_of(i + 3));
    }
    world_array(&p->w, p->a, (uint64_t)SIDE * (uint64_t)p->k * 2);
    world_array(&p->w, p->b, (uint64_t)SIDE * (uint64_t)p->k * 2);
    world_poisoned(&p->w, p->c, sizeof p->c, p->poison);
    world_scalar(&p->w, n);
    world_scalar(&p->w, (uint64_t)p->k);
}

static void run_passes(product *p)
{
    const pg_pass_options opt = {.passes =
                                     pg_str_of("simplify,layouts,simplify,pipeline,sync,simplify"),
                                 .verify = PG_VERIFY_EACH,
                                 .checks = PG_CHECK_CLONE | PG_CHECK_TWICE,
                                 .pass_limit = UINT32_MAX};
    const pg_status s =
        pg_passes_run(p->w.module, &opt, &p->w.arena, &p->w.module, NULL, NULL, NULL);
    cr_assert_eq(s, PG_OK, "%s", world_message(&p->w));
    p->w.kernel = p->w.module->kernels;
}

static bool is_right(const product *p)
{
    for (int32_t i = 0; i < SIDE * SIDE; i++) {
        int32_t sum = 1;
        for (int32_t k = 0; k < p->k; k++) {
            sum += value_of((uint32_t)(i / SIDE * p->k + k)) *
                   value_of((uint32_t)(k * SIDE + i % SIDE) + 3);
        }
        if (p->c[i] != (float)sum) {
            return false;
        }
    }
    return true;
}

static uint32_t count(const product *p, pg_op op)
{
    const pg_region *body = p->w.kernel->body;
    uint32_t n = 0;
    for (const pg_inst *i = body->first; i != NULL; i = pg_inst_walk(i, body)) {
        n += i->op == op;
    }
    return n;
}

Test(pipeline, the_same_numbers, .timeout = 120)
{
    static char text[4096];
    static product p;
    for (uint32_t v = 0; v < N_VARIANTS; v++) {
        for (uint32_t stages = 1; stages <= 5; stages++) {
            write_program(text, sizeof text, &variants[v], stages);
            for (uint32_t n = 0; n <= MAX_TRIP; n++) {
                memset(&p, 0, sizeof p);
                begin(&p, text, n, v == 1);
                cr_assert_eq(world_run(&p.w, 0), PG_OK, "%s", world_message(&p.w));
                cr_expect(is_right(&p), "before: stages %u, trips %u", stages, n);
                run_passes(&p);
                cr_expect_eq(count(&p, PG_OP_ASYNC_GET), stages == 1 ? 0 : 2 * stages);
                cr_expect_eq(count(&p, PG_OP_CTA_SYNC) + count(&p, PG_OP_WARP_SYNC),
                             stages == 1 ? 2 : 1);
                for (uint64_t seed = 0; seed < 3; seed++) {
                    memset(p.c, 0, sizeof p.c);
                    cr_assert_eq(world_run(&p.w, seed), PG_OK, "%s", world_message(&p.w));
                    cr_expect(is_right(&p), "after: stages %u, trips %u", stages, n);
                }
                world_fini(&p.w);
            }
        }
    }
}

/* The at-th wait or barrier of a loop, or NULL. */
static pg_inst *order_at(const product *p, uint32_t at)
{
    pg_region *body = p->w.kernel->body;
    for (pg_inst *i = body->first; i != NULL; i = pg_inst_walk(i, body)) {
        if ((i->op == PG_OP_CTA_SYNC || i->op == PG_OP_WARP_SYNC || i->op == PG_OP_ASYNC_WAIT) &&
            pg_inst_find_parent(i, PG_OP_FOR) != NULL && at-- == 0) {
            return i;
        }
    }
    return NULL;
}

Test(pipeline, every_wait_and_barrier_is_missed, .timeout = 120)
{
    static char text[4096];
    static product p;
    for (uint32_t stages = 1; stages <= 4; stages++) {
        write_program(text, sizeof text, &variants[0], stages);
        for (uint32_t at = 0; at < 2; at++) {
            bool is_missed = false;
            memset(&p, 0, sizeof p);
            begin(&p, text, 7, false);
            run_passes(&p);
            pg_inst *gone = order_at(&p, at);
            cr_assert_not_null(gone);
            pg_inst_remove(gone);
            for (uint64_t seed = 0; seed < 8; seed++) {
                is_missed = world_run(&p.w, seed) != PG_OK || !is_right(&p) || is_missed;
            }
            cr_expect(is_missed, "stages %u: %u is not missed", stages, at);
            world_fini(&p.w);
        }
    }
}
