/* Live ranges on PTX text: loops, branches, guards, widths, dead and unreachable code, odd flow. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/live_int.h"

TestSuite(live, .timeout = 120);

static const char *const head =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x)\n{\n"
    ".reg .pred %p<9>;\n.reg .b16 %h<99>;\n.reg .b32 %r<99>;\n.reg .f32 %f<99>;\n"
    ".reg .b64 %rd<99>;\n";

typedef struct world {
    pg_arena arena;
    pg_diags diags;
    pg_ptx_module *m;
    pg_live_peak peak;
} world;

static world *world_of(const char *body)
{
    world *w = calloc(1, sizeof *w);
    size_t n = strlen(head) + strlen(body) + 3;
    char *text = malloc(n);
    (void)snprintf(text, n, "%s%s}\n", head, body);
    pg_arena_init(&w->arena, pg_alloc_default());
    pg_diags_init(&w->diags, &w->arena, pg_alloc_default());
    cr_assert_eq(pg_ptx_read(&w->arena, pg_str_of(text), &w->diags, &w->m), PG_OK, "%s",
                 w->diags.n != 0 ? w->diags.at[0].message.ptr : "");
    free(text);
    const pg_ptx_func *f = w->m->funcs.at[0];
    pg_live_span all = {.end = f->body.n};
    cr_assert_eq(pg_live_peaks(f, &all, 1, true, &w->arena, &w->peak), PG_OK);
    /* The bounds of every body of these tests hold: the quick one, and where that is not enough,
     * the next. */
    pg_live_peak bound = {.least = UINT32_MAX};
    for (int i = 0; i < 2 && bound.least > 1; i++) {
        all.enough = bound.least - 1;
        cr_assert_eq(pg_live_peaks(f, &all, 1, false, &w->arena, &bound), PG_OK);
        cr_assert_geq(bound.least, w->peak.least);
        cr_assert(i != 0 || bound.least >= w->peak.held);
    }
    return w;
}

/* What the whole text needs (`how`: its end is set here); gives the text back. */
static pg_live_peak peak_of_text(pg_strbuf *t, pg_live_span how, bool wants_values,
                                 uint32_t *n_stmts)
{
    pg_arena arena;
    pg_diags diags;
    pg_ptx_module *m = NULL;
    pg_live_peak peak;
    pg_arena_init(&arena, pg_alloc_default());
    pg_diags_init(&diags, &arena, pg_alloc_default());
    cr_assert_eq(pg_ptx_read(&arena, pg_strbuf_str(t), &diags, &m), PG_OK);
    const pg_ptx_func *f = m->funcs.at[0];
    how.end = f->body.n;
    cr_assert_eq(pg_live_peaks(f, &how, 1, wants_values, &arena, &peak), PG_OK);
    *n_stmts = f->body.n;
    pg_arena_fini(&arena);
    pg_strbuf_fini(t);
    return peak;
}

static void world_free(world *w)
{
    pg_arena_fini(&w->arena);
    free(w);
}

/* Names of what is live at the peak, sorted by declaration: "%r1 %rd0 ". */
static void names_of(const world *w, char out[512])
{
    size_t at = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < w->peak.n_values; i++) {
        pg_str name = w->m->funcs.at[0]->regs.at[w->peak.values[i].reg].name;
        at += (size_t)snprintf(out + at, 512 - at, "%.*s ", PG_STR_ARG(name));
    }
}

static void check(const char *body, uint32_t least, uint32_t held, const char *names)
{
    char found[512];
    world *w = world_of(body);
    names_of(w, found);
    cr_expect_eq(w->peak.least, least, "%u live (%s), not %u, in\n%s", w->peak.least, found, least,
                 body);
    cr_expect_eq(w->peak.held, held, "%u held, not %u, in\n%s", w->peak.held, held, body);
    cr_expect_str_eq(found, names, "in\n%s", body);
    cr_expect_geq(w->peak.estimate, w->peak.least);
    world_free(w);
}

Test(live, a_value_lives_from_its_write_to_its_last_read)
{
    /* %r1 may take the register of %r0 */
    check("mov.u32 %r0, %tid.x;\nadd.s32 %r1, %r0, 1;\nst.shared.b32 [%r1], 5;\nret;\n", 1, 0,
          "%r0 ");
    check("mov.u32 %r0, %tid.x;\nmul.lo.s32 %r1, %r0, %r0;\nst.shared.b32 [%r1], %r0;\nret;\n", 2,
          0, "%r0 %r1 ");
}

Test(live, what_is_never_read_costs_nothing)
{
    check("mov.u32 %r0, %tid.x;\nmul.lo.s32 %r1, %r0, 3;\nmul.lo.s32 %r2, %r0, 5;\n"
          "st.shared.b32 [%r0], 5;\nret;\n",
          1, 0, "%r0 ");
}

Test(live, constants_and_parameters_cost_nothing)
{
    check("ld.param.u64 %rd0, [x];\nmov.b32 %r0, 7;\nmov.f32 %f0, 0f3F800000;\n"
          "mov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\nst.global.b32 [%rd0], %r0;\n"
          "st.global.b32 [%rd0+4], %r1;\nst.global.f32 [%rd0+8], %f0;\n"
          "st.global.b32 [%rd0+12], %r2;\nret;\n",
          1, 0, "%r2 ");
}

Test(live, widths_count)
{
    /* a pair, a predicate, a half of its own */
    check("mov.u32 %r0, %tid.x;\ncvt.s64.s32 %rd0, %r0;\nld.global.b64 %rd1, [%rd0];\n"
          "ld.global.b16 %h0, [%rd0];\nsetp.lt.s64 %p0, %rd1, 5;\n"
          "@%p0 st.global.b64 [%rd0], %rd1;\nst.global.b16 [%rd0], %h0;\nret;\n",
          5, 0, "%h0 %rd0 %rd1 ");
    /* two halves of one register: 2 with the address, not 3 */
    check("mov.u32 %r0, %tid.x;\nld.shared.b32 %r1, [%r0];\nmov.b32 {%h0, %h1}, %r1;\n"
          "add.rn.f16 %h2, %h0, %h1;\nst.shared.b16 [%r0], %h0;\nst.shared.b16 [%r0+2], %h1;\n"
          "st.shared.b16 [%r0+4], %h2;\nret;\n",
          2, 0, "%r0 %r1 ");
}

Test(live, branches_take_the_larger_side)
{
    check("mov.u32 %r0, %tid.x;\nsetp.lt.s32 %p0, %r0, 5;\n@%p0 bra $a;\n"
          "ld.shared.b32 %r1, [%r0];\nld.shared.b32 %r2, [%r0+4];\nld.shared.b32 %r3, [%r0+8];\n"
          "st.shared.v4.b32 [%r0], {%r1, %r2, %r3, %r1};\nbra $b;\n"
          "$a:\nst.shared.b32 [%r0], 5;\n$b:\nret;\n",
          4, 0, "%r0 %r1 %r2 %r3 ");
    /* %r1 lives through both sides */
    check("mov.u32 %r0, %tid.x;\nld.shared.b32 %r1, [%r0];\nsetp.lt.s32 %p0, %r0, 5;\n"
          "@%p0 bra $a;\nbar.sync 0;\nbra $b;\n$a:\nbar.sync 1;\n$b:\nst.shared.b32 [%r0], %r1;\n"
          "ret;\n",
          2, 0, "%r0 %r1 ");
}

Test(live, a_loop_carries)
{
    static const char loop[] = "mov.u32 %r0, %tid.x;\nmov.f32 %f0, 0f00000000;\n"
                               "mov.f32 %f1, 0f00000000;\nmov.b32 %r1, 0;\n$loop:\n"
                               "ld.shared.f32 %f2, [%r0];\nadd.f32 %f0, %f0, %f2;\n"
                               "ld.shared.f32 %f3, [%r0+4];\nadd.f32 %f1, %f1, %f3;\n"
                               "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p0, %r1, 9;\n@%p0 bra $loop;\n"
                               "st.shared.v2.f32 [%r0], {%f0, %f1};\nret;\n";
    check(loop, 4, 2, "%r0 %f0 %f1 %f2 "); /* the counter is the same for all threads */
}

Test(live, an_outer_loop_holds_what_an_inner_one_computes)
{
    check("mov.u32 %r0, %tid.x;\nmov.f32 %f0, 0f00000000;\nmov.f32 %f1, 0f00000000;\n$outer:\n"
          "add.f32 %f1, %f1, %f1;\n$inner:\nadd.f32 %f0, %f0, %f1;\n"
          "setp.lt.f32 %p0, %f0, 0f3F800000;\n@%p0 bra $inner;\nsetp.lt.f32 %p1, %f1, %f0;\n"
          "@%p1 bra $outer;\nst.shared.v2.f32 [%r0], {%f0, %f1};\nret;\n",
          2, 2, "%f0 %f1 "); /* %r0 is made behind the loops */
    /* set anew to a constant on each round of the outer loop: nothing is held there */
    check("mov.u32 %r0, %tid.x;\n$outer:\nmov.f32 %f0, 0f00000000;\n$inner:\n"
          "add.f32 %f0, %f0, 0f3F800000;\nsetp.lt.f32 %p0, %f0, 0f41100000;\n@%p0 bra $inner;\n"
          "st.shared.f32 [%r0], %f0;\nld.shared.b32 %r1, [%r0];\nsetp.ne.s32 %p1, %r1, 0;\n"
          "@%p1 bra $outer;\nret;\n",
          2, 1, "%r0 %f0 ");
}

/* What a loop does not need is computed behind it, if that keeps no more alive. */
Test(live, what_is_needed_late_is_computed_late)
{
    const char *loop = "$loop:\nadd.f32 %f0, %f0, 0f3F800000;\n"
                       "setp.lt.f32 %p0, %f0, 0f41100000;\n@%p0 bra $loop;\n";
    char body[1024];
    (void)snprintf(body, sizeof body,
                   "mov.u32 %%r0, %%tid.x;\nld.shared.f32 %%f0, [%%r0];\n"
                   "add.s32 %%r1, %%r0, 4;\nshl.b32 %%r2, %%r0, 2;\n%s"
                   "st.shared.f32 [%%r1], %%f0;\nst.shared.f32 [%%r2], %%f0;\nret;\n",
                   loop);
    check(body, 2, 1, "%r0 %f0 ");
    /* A sum of two that nothing else needs stays: one lives on instead of two. */
    (void)snprintf(body, sizeof body,
                   "mov.u32 %%r0, %%tid.x;\nld.shared.v2.b32 {%%r1, %%r2}, [%%r0];\n"
                   "add.s32 %%r3, %%r1, %%r2;\nmov.f32 %%f0, 0f00000000;\n%s"
                   "st.shared.f32 [%%r3], %%f0;\nret;\n",
                   loop);
    check(body, 2, 1, "%r1 %r2 ");
    /* Never into a loop. */
    check("mov.u32 %r0, %tid.x;\nld.shared.f32 %f0, [%r0];\nadd.s32 %r1, %r0, 4;\n$loop:\n"
          "add.f32 %f0, %f0, 0f3F800000;\nst.shared.f32 [%r0], %f0;\n"
          "st.shared.f32 [%r1], %f0;\nsetp.lt.f32 %p0, %f0, 0f41100000;\n@%p0 bra $loop;\n"
          "ret;\n",
          3, 1, "%r0 %r1 %f0 ");
}

/* The ninth predicate takes a register, as the eighth does. */
Test(live, many_predicates_take_registers)
{
    uint32_t estimates[2], n_stmts;
    for (uint32_t more = 0; more < 2; more++) {
        pg_strbuf t;
        pg_strbuf_init(&t, pg_alloc_default());
        pg_put(&t, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
                   ".reg .pred %p<64>;\n.reg .b32 %r<64>;\nmov.u32 %r0, %tid.x;\n");
        const uint32_t n = more == 0 ? 7 : 47;
        for (uint32_t i = 0; i < n; i++) {
            pg_putf(&t, "setp.lt.s32 %%p%u, %%r0, %u;\n", i, i);
        }
        pg_put(&t, "$loop:\nbar.sync 0;\n");
        for (uint32_t i = 0; i < n; i++) {
            pg_putf(&t, "@%%p%u st.shared.b32 [%%r0+%u], %%r0;\n", i, 4 * i);
        }
        pg_put(&t, "bra $loop;\n}\n");
        const pg_live_span how = {.threads = 128, .sm = 90};
        const pg_live_peak peak = peak_of_text(&t, how, true, &n_stmts);
        cr_assert_eq(peak.least, 1);
        estimates[more] = peak.estimate;
    }
    cr_assert_eq(estimates[1] - estimates[0], 40, "%u, %u", estimates[0], estimates[1]);
}

Test(live, a_guarded_write_keeps_the_old_value)
{
    check("mov.u32 %r0, %tid.x;\nld.shared.b32 %r1, [%r0];\nsetp.lt.s32 %p0, %r0, 5;\nbar.sync 0;\n"
          "@%p0 ld.shared.b32 %r1, [%r0+4];\nst.shared.b32 [%r0], %r1;\nret;\n",
          2, 0, "%r0 %r1 ");
    /* without a value before it, it begins there: not at the entry */
    check("mov.u32 %r0, %tid.x;\nsetp.lt.s32 %p0, %r0, 5;\nld.shared.b32 %r2, [%r0];\n"
          "ld.shared.b32 %r3, [%r0+8];\nst.shared.v2.b32 [%r0], {%r2, %r3};\n"
          "@%p0 ld.shared.b32 %r1, [%r0+4];\n@%p0 st.shared.b32 [%r0], %r1;\nret;\n",
          3, 0, "%r0 %r2 %r3 ");
}

Test(live, what_nothing_reaches_costs_nothing)
{
    check("mov.u32 %r0, %tid.x;\nst.shared.b32 [%r0], 5;\nret;\n$never:\n"
          "ld.shared.b32 %r1, [%r0];\nld.shared.b32 %r2, [%r0+4];\n"
          "st.shared.v2.b32 [%r0], {%r1, %r2};\nbra $never;\n",
          1, 0, "%r0 ");
    check("ret;\n", 0, 0, "");
}

Test(live, a_loop_with_two_entries)
{
    /* $a and $b jump to each other; the entry goes to either */
    check("mov.u32 %r0, %tid.x;\nld.shared.b32 %r1, [%r0];\nld.shared.b32 %r2, [%r0+4];\n"
          "setp.lt.s32 %p0, %r0, 5;\n@%p0 bra $b;\n$a:\nbar.sync 0;\nadd.s32 %r1, %r1, %r2;\n"
          "$b:\nbar.sync 1;\nsetp.lt.s32 %p1, %r1, 9;\n@%p1 bra $a;\nst.shared.b32 [%r0], %r1;\n"
          "ret;\n",
          3, 0, "%r0 %r1 %r2 ");
}

Test(live, a_branch_through_a_table)
{
    check("mov.u32 %r0, %tid.x;\nld.shared.b32 %r1, [%r0];\n$t: .branchtargets $a, $b;\n"
          "brx.idx %r1, $t;\n$a:\nst.shared.b32 [%r0], %r1;\nret;\n$b:\nld.shared.b32 %r2, [%r0];\n"
          "ld.shared.b32 %r3, [%r0+4];\nst.shared.v4.b32 [%r0], {%r1, %r2, %r3, %r0};\nret;\n",
          4, 0, "%r0 %r1 %r2 %r3 ");
}

Test(live, matrix_products_read_what_they_add_to)
{
    check("mov.u32 %r0, %tid.x;\nmov.f32 %f0, 0f00000000;\nmov.f32 %f1, 0f00000000;\n"
          "mov.f32 %f2, 0f00000000;\nmov.f32 %f3, 0f00000000;\n$loop:\n"
          "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r0];\n"
          "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r0+64];\n"
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, "
          "{%r3}, {%f0, %f1, %f2, %f3};\nsetp.lt.f32 %p0, %f0, 0f3F800000;\n@%p0 bra $loop;\n"
          "st.shared.v4.f32 [%r0], {%f0, %f1, %f2, %f3};\nret;\n",
          8, 4, "%r0 %r1 %r2 %r3 %f0 %f1 %f2 %f3 ");
}

/* Sums of what is loaded: all loads at once take 9 registers; one after the other, 3. With a `cvt`
 * between a load and its sum, all of those before the first sum. */
static const char *eight_loads(bool has_cvt)
{
    static char body[4096];
    (void)strcpy(body, "mov.u32 %r0, %tid.x;\nmov.f32 %f0, 0f00000000;\n");
    for (int i = 1; i < 9; i++) {
        size_t at = strlen(body);
        (void)snprintf(body + at, sizeof body - at, "ld.shared.b32 %%%c%d, [%%r0+%d];\n",
                       has_cvt ? 'r' : 'f', i, 4 * i);
    }
    for (int i = 1; i < 9 && has_cvt; i++) {
        size_t at = strlen(body);
        (void)snprintf(body + at, sizeof body - at, "cvt.rn.f32.s32 %%f%d, %%r%d;\n", i, i);
    }
    for (int i = 1; i < 9; i++) {
        size_t at = strlen(body);
        (void)snprintf(body + at, sizeof body - at, "add.f32 %%f%d, %%f%d, %%f%d;\n", i + 10,
                       i == 1 ? 0 : i + 9, i);
    }
    (void)strcat(body, "st.shared.f32 [%r0], %f18;\nret;\n");
    return body;
}

Test(live, loads_may_come_late)
{
    world *w = world_of(eight_loads(false));
    cr_assert_eq(w->peak.least, 3);
    cr_assert_gt(w->peak.estimate, 3);
    cr_assert_leq(w->peak.estimate, 9 + 4);
    world_free(w);
}

/* What the quick bound gives, UINT32_MAX if that is more than is enough. */
static uint32_t quick_bound(world *w, uint32_t enough)
{
    const pg_ptx_func *f = w->m->funcs.at[0];
    pg_live_span all = {.end = f->body.n, .enough = enough};
    pg_live_peak peak;
    bool is_enough = false;
    cr_assert_eq(pg_live_quick(f, &w->arena, &all, 1, &peak, &is_enough), PG_OK);
    return is_enough ? peak.least : UINT32_MAX;
}

/* What a bound shows to be low enough is not looked at further. */
Test(live, a_bound_where_less_is_asked)
{
    for (int has_cvt = 0; has_cvt < 2; has_cvt++) {
        world *w = world_of(eight_loads(has_cvt));
        const uint32_t quick = has_cvt ? 10 : 3; /* converted numbers, one sum, the address */
        cr_assert_eq(w->peak.least, 3);
        for (uint32_t enough = 2; enough < 12; enough++) {
            const pg_ptx_func *f = w->m->funcs.at[0];
            pg_live_span all = {.end = f->body.n, .enough = enough};
            pg_live_peak peak;
            cr_assert_eq(pg_live_peaks(f, &all, 1, false, &w->arena, &peak), PG_OK);
            const uint32_t least = enough >= quick ? quick
                                   : enough >= 9   ? 9
                                                   : 3; /* 9: as written */
            cr_assert_eq(peak.least, least, "%u of %u", peak.least, enough);
            cr_assert_eq(peak.estimate, enough < 3 ? w->peak.estimate : peak.least);
            cr_assert_eq(peak.stmt == UINT32_MAX, false);
            cr_assert_eq(quick_bound(w, enough), enough < quick ? UINT32_MAX : quick);
        }
        world_free(w);
    }
}

/* A load stays behind what may change what it reads, and before what writes the same register. */
Test(live, what_the_quick_bound_does_not_move)
{
    static const struct {
        const char *between; /* %r2 is made of three, with or without %r1, and the use of that */
        uint32_t most;
    } cases[] = {
        {"", 4},
        {"st.shared.b32 [%r2], %r2;\n", 5},
        {"bar.sync 0;\n", 5},
        {"div.s32 %r5, %r2, %r2;\n", 3 + 10},
        {"add.s32 %r0, %r0, 4;\n", 5}, /* its address is another behind that */
        {"bra $next;\n$next:\n", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[1024];
        (void)snprintf(body, sizeof body,
                       "mov.u32 %%r0, %%tid.x;\nld.shared.b32 %%r1, [%%r0];\n"
                       "mov.u32 %%r2, %%tid.y;\nmov.u32 %%r3, %%tid.z;\nmov.u32 %%r4, %%ctaid.x;\n"
                       "add.s32 %%r2, %%r2, %%r3;\nadd.s32 %%r2, %%r2, %%r4;\n%s"
                       "add.s32 %%r2, %%r2, %%r1;\nst.shared.b32 [%%r0], %%r2;\nret;\n",
                       cases[i].between);
        world *w = world_of(body);
        const uint32_t most = quick_bound(w, 99);
        cr_expect_eq(most, cases[i].most, "%u in\n%s", most, body);
        world_free(w);
    }
}

/* A jump that the text does not name the target of. */
Test(live, the_quick_bound_gives_up)
{
    world *w = world_of("mov.u32 %r0, %tid.x;\n$t: .branchtargets $a;\nbrx.idx %r0, $t;\n$a:\n"
                        "st.shared.b32 [%r0], %r0;\nret;\n");
    cr_assert_eq(quick_bound(w, UINT32_MAX), UINT32_MAX);
    world_free(w);
}

Test(live, spans_are_measured_apart)
{
    world *w = world_of("mov.u32 %r0, %tid.x;\nld.shared.b32 %r1, [%r0];\nbar.sync 0;\n"
                        "ld.shared.b32 %r2, [%r0];\nld.shared.b32 %r3, [%r0+4];\n"
                        "st.shared.v4.b32 [%r0], {%r1, %r2, %r3, %r1};\nret;\n");
    const pg_ptx_func *f = w->m->funcs.at[0];
    uint32_t cut = 0;
    while (!pg_str_is(f->body.at[cut].text, "bar.sync")) {
        cut++;
    }
    pg_live_span spans[3] = {{.end = cut}, {.first = cut + 1, .end = f->body.n}, {.end = 1}};
    pg_live_peak peaks[3];
    cr_assert_eq(pg_live_peaks(f, spans, 3, true, &w->arena, peaks), PG_OK);
    cr_assert_eq(peaks[0].least, 1);
    cr_assert_eq(peaks[1].least, 4);
    cr_assert_geq(peaks[1].stmt, cut);
    cr_assert_eq(peaks[2].stmt, UINT32_MAX, "a declaration does not run");
    cr_assert_eq(peaks[2].estimate, 0);
    world_free(w);
}

/* Measures a body of 64 values that live through n_loops loops; its number of statements. */
static uint32_t measure_loops(uint32_t n_loops)
{
    pg_strbuf t;
    pg_strbuf_init(&t, pg_alloc_default());
    pg_put(&t, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
               ".reg .pred %p<2>;\n.reg .b32 %r<3>;\n.reg .f32 %f<64>;\nmov.u32 %r0, %tid.x;\n");
    for (int i = 0; i < 64; i++) {
        pg_putf(&t, "ld.shared.f32 %%f%d, [%%r0+%d];\n", i, 4 * i);
    }
    for (uint32_t k = 0; k < n_loops; k++) {
        pg_putf(&t, "$l%u:\n", k);
        for (int i = 0; i < 64; i++) {
            pg_putf(&t, "add.f32 %%f%d, %%f%d, %%f%d;\n", i, i, (i + 1) % 64);
        }
        pg_putf(&t, "setp.lt.f32 %%p0, %%f0, 0f3F800000;\n@%%p0 bra $l%u;\n", k);
    }
    for (int i = 0; i < 64; i++) {
        pg_putf(&t, "st.shared.f32 [%%r0+%d], %%f%d;\n", 4 * i, i);
    }
    pg_put(&t, "ret;\n}\n");
    uint32_t n;
    const pg_live_peak peak = peak_of_text(&t, (pg_live_span){0}, false, &n);
    cr_assert_geq(peak.least, 65);
    cr_assert_leq(peak.least, 66);
    cr_assert_eq(peak.held, 64);
    return n;
}

/* 100,000 instructions in 1,500 loops through which 64 values live. A walk that looked at all
 * registers in all blocks, or at all pairs, would run into the suite's limit of time. */
Test(live, a_hundred_thousand_instructions, .timeout = 20)
{
    cr_assert_geq(measure_loops(1550), 100000);
}

/* More values than any machine has, live through many blocks: the walk gives up early. */
Test(live, what_is_far_too_much_is_cut_short, .timeout = 300)
{
    enum { N_VALUES = 20000, N_BLOCKS = 20000 };
    pg_strbuf t;
    pg_strbuf_init(&t, pg_alloc_default());
    pg_putf(&t,
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
            ".reg .pred %%p<2>;\n.reg .b32 %%r<2>;\n.reg .f32 %%f<%d>;\nmov.u32 %%r0, %%tid.x;\n"
            "setp.lt.s32 %%p0, %%r0, 9;\n",
            N_VALUES);
    for (int i = 0; i < N_VALUES; i++) {
        pg_putf(&t, "ld.shared.f32 %%f%d, [%%r0+%d];\n", i, 4 * i);
    }
    for (int k = 0; k < N_BLOCKS; k++) {
        pg_putf(&t, "$l%d:\nbar.sync 0;\n@%%p0 bra $l%d;\n", k, k);
    }
    for (int i = 0; i < N_VALUES; i++) {
        pg_putf(&t, "st.shared.f32 [%%r0+%d], %%f%d;\n", 4 * i, i);
    }
    pg_put(&t, "ret;\n}\n");
    uint32_t n;
    const pg_live_peak peak = peak_of_text(&t, (pg_live_span){0}, false, &n);
    cr_assert_gt(peak.least, 1000);
    cr_assert_gt(n, N_VALUES);
}
