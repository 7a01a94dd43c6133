/* Tile operations, memory, control flow and faults of the interpreter on small kernels. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp_world.h"

static void check_ok(world *w, uint64_t seed)
{
    pg_status s = world_run(w, seed);
    cr_assert_eq(s, PG_OK, "line %u: %s", w->diags.n != 0 ? w->diags.at[0].loc.line : 0,
                 world_message(w));
}

Test(interp_tile, masked_pointwise_kernel_over_a_grid)
{
    world w;
    world_init(&w, "ptir 1\nmodule sm_80\n"
                   "kernel @k(%x: ptr<f32> [in, shape=(%n)], %y: ptr<f32> [out, shape=(%n)], %n: "
                   "i32) [warps=4] {\n"
                   "  launch {\n    %g = icdiv %n, 128 : i32\n    grid %g\n  }\n"
                   "  %pid = program_id [axis=x] : i32\n"
                   "  %o = imul %pid, 128 : i32\n"
                   "  %os = splat %o : tile<128xi32>\n"
                   "  %j = iota : tile<128xi32>\n"
                   "  %at = iadd %os, %j : tile<128xi32>\n"
                   "  %ns = splat %n : tile<128xi32>\n"
                   "  %in = icmp %at, %ns [is=lt] : tile<128xi1>\n"
                   "  %px = addptr %x, %at : tile<128xptr<f32>>\n"
                   "  %py = addptr %y, %at : tile<128xptr<f32>>\n"
                   "  %v = load %px, %in, 0.0 : tile<128xf32>\n"
                   "  %two = fmul %v, 2.0 : tile<128xf32>\n"
                   "  store %py, %two, %in\n"
                   "  return\n}\n");
    float x[1000], y[1000];
    uint8_t poison[sizeof y];
    for (uint32_t n = 0; n <= 1000; n += n < 200 ? 37 : 400) {
        for (uint32_t i = 0; i < 1000; i++) {
            x[i] = (float)i - 3.5f;
            y[i] = -1;
        }
        w.n_args = 0;
        world_array(&w, x, n * sizeof *x);
        world_poisoned(&w, y, n * sizeof *y, poison);
        world_scalar(&w, n);
        uint32_t grid[3] = {9, 9, 9};
        cr_assert_eq(pg_interp_launch(w.kernel, w.args, w.n_args, grid, &w.diags), PG_OK);
        cr_assert(grid[0] == (n + 127) / 128 && grid[1] == 1 && grid[2] == 1);
        check_ok(&w, n);
        for (uint32_t i = 0; i < n; i++) {
            cr_assert(y[i] == 2 * x[i] && poison[4 * i] == 0);
        }
        cr_assert(n == 1000 || y[n] == -1);
    }
    world_fini(&w);
}

Test(interp_tile, shapes_move_the_right_elements)
{
    world w;
    world_init(&w, "ptir 1\nmodule sm_80\n"
                   "kernel @k(%y: ptr<i32> [out, shape=(2, 3, 4)], %z: ptr<i32> [out, shape=(24)]) "
                   "[warps=1] {\n"
                   "  %a = iota : tile<4xi32>\n"
                   "  %a2 = expand %a [dim=0] : tile<1x4xi32>\n"
                   "  %a3 = expand %a2 [dim=0] : tile<1x1x4xi32>\n"
                   "  %ab = broadcast %a3 : tile<2x1x4xi32>\n"
                   "  %i = iota [dim=0] : tile<2x1x4xi32>\n"
                   "  %ten = imul %i, 10 : tile<2x1x4xi32>\n"
                   "  %s = iadd %ab, %ten : tile<2x1x4xi32>\n"
                   "  %b = broadcast %s : tile<2x2x4xi32>\n"
                   "  %j = iota [dim=1] : tile<2x2x4xi32>\n"
                   "  %hun = imul %j, 100 : tile<2x2x4xi32>\n"
                   "  %t = iadd %b, %hun : tile<2x2x4xi32>\n"
                   "  %flat = reshape %t : tile<16xi32>\n"
                   "  %tr = transpose %t [perm=(2, 0, 1)] : tile<4x2x2xi32>\n"
                   "  %trf = reshape %tr : tile<16xi32>\n"
                   "  %k = iota : tile<16xi32>\n"
                   "  %py = addptr %y, %k : tile<16xptr<i32>>\n"
                   "  %pz = addptr %z, %k : tile<16xptr<i32>>\n"
                   "  store %py, %flat\n"
                   "  store %pz, %trf\n"
                   "  return\n}\n");
    int32_t y[24], z[24];
    world_array(&w, y, sizeof y);
    world_array(&w, z, sizeof z);
    pg_interp_options opt = {.grid = {1, 1, 1}};
    cr_assert_eq(pg_interp_run(w.kernel, w.args, w.n_args, &opt, &w.diags), PG_OK, "%s",
                 world_message(&w));
    for (int32_t i = 0; i < 2; i++) {
        for (int32_t j = 0; j < 2; j++) {
            for (int32_t k = 0; k < 4; k++) {
                cr_assert_eq(y[(i * 2 + j) * 4 + k], 10 * i + 100 * j + k);
                cr_assert_eq(z[(k * 2 + i) * 2 + j], 10 * i + 100 * j + k);
            }
        }
    }
    world_fini(&w);
}

/* Fibonacci by a swap of carried values; nested conditions; a loop that runs no time gives its
 * start. */
Test(interp_tile, loops_and_conditions)
{
    world w;
    world_init(&w, "ptir 1\nmodule sm_80\n"
                   "kernel @k(%y: ptr<i32> [out, shape=(8)], %n: i32) [warps=1] {\n"
                   "  launch {\n    grid 1\n  }\n"
                   "  %f, %g = for %i in 0 to %n step 1 carry (%a = 0, %b = 1) : i32, i32 {\n"
                   "    %c = iadd %a, %b : i32\n"
                   "    yield %b, %c\n  }\n"
                   "  %u, %v = for %i in 0 to %n step 1 carry (%p = 5, %q = 7) : i32, i32 {\n"
                   "    yield %q, %p\n  }\n"
                   "  %e = for %i in %n to 0 step 1 carry (%x = 42) : i32 {\n"
                   "    yield 0\n  }\n"
                   "  %big = icmp %n, 4 [is=gt] : i1\n"
                   "  %r = if %big : i32 {\n"
                   "    %odd = and %n, 1 : i32\n"
                   "    %is = icmp %odd, 1 [is=eq] : i1\n"
                   "    %r2 = if %is : i32 {\n      yield 1\n    } else {\n      yield 2\n    }\n"
                   "    yield %r2\n  } else {\n    yield 3\n  }\n"
                   "  %sum = for %i in 0 to 10 step 3 carry (%s = 0) : i32 {\n"
                   "    %s1 = iadd %s, %i : i32\n    yield %s1\n  }\n"
                   "  store %y, %f\n"
                   "  %y1 = addptr %y, 1 : ptr<i32>\n  store %y1, %u\n"
                   "  %y2 = addptr %y, 2 : ptr<i32>\n  store %y2, %e\n"
                   "  %y3 = addptr %y, 3 : ptr<i32>\n  store %y3, %r\n"
                   "  %y4 = addptr %y, 4 : ptr<i32>\n  store %y4, %sum\n"
                   "  return\n}\n");
    int32_t y[8], fib[20] = {0, 1};
    for (uint32_t i = 2; i < 20; i++) {
        fib[i] = fib[i - 1] + fib[i - 2];
    }
    for (uint32_t n = 0; n < 12; n++) {
        w.n_args = 0;
        world_array(&w, y, sizeof y);
        world_scalar(&w, n);
        check_ok(&w, n);
        cr_assert_eq(y[0], fib[n]);
        cr_assert_eq(y[1], n % 2 == 0 ? 5 : 7);
        cr_assert_eq(y[2], 42);
        cr_assert_eq(y[3], n > 4 ? (n % 2 == 1 ? 1 : 2) : 3);
        cr_assert_eq(y[4], 0 + 3 + 6 + 9);
    }
    world_fini(&w);
}

/* Every type goes through memory and back, and through a cast. */
Test(interp_tile, types_in_memory)
{
    static const struct {
        const char *elem;
        uint64_t in, cast; /* one element; as i64 */
        uint32_t size;
    } rows[] = {
        {"i8", 0x80, (uint64_t)-128, 1},
        {"i16", 0xFFFE, (uint64_t)-2, 2},
        {"i32", 0x7FFFFFFF, 0x7FFFFFFF, 4},
        {"f16", 0xC500, (uint64_t)-5, 2},
        {"bf16", 0x4248, 50, 2},
        {"f32", 0x42C80000, 100, 4},
        {"f64", 0xC059000000000000, (uint64_t)-100, 8},
    };
    for (uint32_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "ptir 1\nmodule sm_80\n"
                       "kernel @k(%%x: ptr<%s> [in, shape=(1)], %%y: ptr<%s> [out, shape=(1)], "
                       "%%z: ptr<i64> [out, shape=(1)]) [warps=1] {\n"
                       "  launch {\n    grid 1\n  }\n"
                       "  %%v = load %%x : %s\n  store %%y, %%v\n  %%w = cast %%v : i64\n  store "
                       "%%z, %%w\n  return\n}\n",
                       rows[r].elem, rows[r].elem, rows[r].elem);
        world w;
        world_init(&w, text);
        uint64_t x = rows[r].in, y = 0, z = 0;
        world_array(&w, &x, rows[r].size);
        world_array(&w, &y, rows[r].size);
        world_array(&w, &z, sizeof z);
        check_ok(&w, 0);
        cr_assert_eq(y, x, "%s", rows[r].elem);
        cr_assert_eq(z, rows[r].cast, "%s", rows[r].elem);
        world_fini(&w);
    }
}

/* ---- faults ---------------------------------------------------------------------------------- */

typedef struct fault {
    const char *body;
    pg_diag_id id;
    uint32_t line; /* 0: PG_OK is expected */
} fault;

/* %x has 8 floats, of which the last was never written; %n is 3. The body starts at line 7. */
static const fault faults[] = {
    {"  %p = addptr %x, 8 : ptr<f32>\n  %v = load %p : f32\n", PG_D_RUN_OUT_OF_BOUNDS, 8},
    {"  %p = addptr %x, -1 : ptr<f32>\n  %v = load %p : f32\n", PG_D_RUN_OUT_OF_BOUNDS, 8},
    {"  %p = addptr %x, 8 : ptr<f32>\n  store %p, 1.0\n", PG_D_RUN_OUT_OF_BOUNDS, 8},
    {"  %b = cast %n : i64\n  %h = shl %b, 61 : i64\n  %p = addptr %x, %h : ptr<f32>\n  %v = load "
     "%p : f32\n",
     PG_D_RUN_OUT_OF_BOUNDS, 10},
    {"  %p = addptr %x, 8 : ptr<f32>\n  %no = icmp %n, 4 [is=eq] : i1\n  %v = load %p, %no, 1.0 : "
     "f32\n  store %x, %v\n",
     PG_D_NONE, 0},
    {"  %no = icmp %n, 4 [is=eq] : i1\n  %v = load %x, %no : f32\n  store %x, %v\n",
     PG_D_RUN_POISON, 9},
    {"  %no = icmp %n, 4 [is=eq] : i1\n  %v = load %x, %no : f32\n  %u = fadd %v, 1.0 : f32\n  "
     "store %x, %u\n",
     PG_D_RUN_POISON, 10},
    {"  %no = icmp %n, 4 [is=eq] : i1\n  %v = load %x, %no : f32\n  %u = select %no, %v, 1.0 : "
     "f32\n  store %x, %u\n",
     PG_D_NONE, 0},
    {"  %p = addptr %x, 7 : ptr<f32>\n  %v = load %p : f32\n  store %x, %v\n", PG_D_RUN_POISON, 9},
    {"  %z = isub %n, 3 : i32\n  %q = idiv %n, %z : i32\n  %p = addptr %x, %q : ptr<f32>\n  %v = "
     "load %p : f32\n",
     PG_D_RUN_POISON, 10},
    {"  %z = isub %n, 3 : i32\n  %q = urem %n, %z : i32\n  for %i in 0 to %q step 1 {\n    yield\n "
     " }\n",
     PG_D_RUN_POISON, 9},
    {"  %q = imul %n, 1000000000 [nw] : i32\n  %c = icmp %q, 0 [is=lt] : i1\n  if %c {\n    "
     "yield\n  }\n",
     PG_D_RUN_POISON, 9},
    {"  %q = imul %n, 1000000000 : i32\n  %c = icmp %q, 0 [is=lt] : i1\n  if %c {\n    yield\n  "
     "}\n",
     PG_D_NONE, 0},
    {"  %q = imul %n, 1000000000 [nw] : i32\n  %c = icmp %q, 0 [is=lt] : i1\n  %v = load %x, %c, "
     "0.0 : f32\n",
     PG_D_RUN_POISON, 9},
    {"  %s = isub %n, 3 : i32\n  for %i in 0 to 4 step %s {\n    yield\n  }\n", PG_D_RUN_STEP, 8},
    {"  for %i in 0 to 2000000000 step 1 {\n    yield\n  }\n", PG_D_RUN_STEP_LIMIT, 8},
    {"  while {\n    yield true\n  } do {\n  }\n", PG_D_RUN_STEP_LIMIT, 8},
    {"  %r = while carry (%a = 1) : i32 {\n    %c = icmp %a, 0 [is=ne] : i1\n    yield %c\n  } do "
     "{\n    %b = ineg %a : i32\n    yield %b\n  }\n",
     PG_D_RUN_STEP_LIMIT, 11},
    {"  %z = isub %n, 3 : i32\n  %q = urem %n, %z : i32\n  %r = while carry (%a = %q) : i32 {\n    "
     "%c = icmp %a, 0 [is=gt] : i1\n    yield %c\n  } do {\n    yield 0\n  }\n",
     PG_D_RUN_POISON, 11},
    {"  %r = while carry (%a = %n) : i32 {\n    %c = icmp %a, 0 [is=gt] : i1\n    yield %c\n  } do "
     "{\n    %b = isub %a, 1 : i32\n    %p = addptr %x, %b : ptr<f32>\n    %v = load %p : f32\n    "
     "yield %b\n  }\n",
     PG_D_NONE, 0},
};

Test(interp_tile, faults_stand_at_their_line, .timeout = 60)
{
    for (uint32_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       "ptir 1\nmodule sm_80\nkernel @k(%%x: ptr<f32> [inout, shape=(8)], %%n: "
                       "i32) [warps=1] {\n"
                       "  launch {\n    grid 1\n  }\n%s  return\n}\n",
                       faults[f].body);
        world w;
        world_init(&w, text);
        float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        uint8_t poison[sizeof x];
        world_poisoned(&w, x, sizeof x, poison);
        memset(poison, 0, 7 * sizeof *x);
        world_scalar(&w, 3);
        pg_interp_options opt = {.max_steps = 100000};
        pg_status s = pg_interp_run(w.kernel, w.args, w.n_args, &opt, &w.diags);
        if (faults[f].line == 0) {
            cr_expect_eq(s, PG_OK, "%s: %s", faults[f].body, world_message(&w));
        } else {
            cr_expect(s != PG_OK && world_has(&w, faults[f].id), "%s: %s", faults[f].body,
                      world_message(&w));
            cr_expect(w.diags.n > 0 && w.diags.at[0].loc.line == faults[f].line, "%s: line %u",
                      faults[f].body, w.diags.n > 0 ? w.diags.at[0].loc.line : 0);
        }
        world_fini(&w);
    }
}

Test(interp_tile, arguments_are_checked)
{
    world w;
    world_init(&w, "ptir 1\nmodule sm_80\nkernel @k(%x: ptr<f32> [in, shape=(8)], %n: i32) "
                   "[warps=1] {\n  return\n}\n");
    float x[8];
    world_array(&w, x, sizeof x);
    cr_assert_neq(world_run(&w, 0), PG_OK);
    cr_assert(world_has(&w, PG_D_RUN_ARGS));
    world_scalar(&w, 0);
    cr_assert_eq(world_run(&w, 0), PG_OK); /* no launch region: one program */
    w.args[0].array.data = NULL;
    cr_assert_neq(world_run(&w, 0), PG_OK);
    cr_assert(world_has(&w, PG_D_RUN_NO_DATA));
    world_fini(&w);
    world_init(&w, "ptir 1\nmodule sm_80\nkernel @k(%n: i32) [warps=1] {\n  launch {\n    grid "
                   "%n\n  }\n  return\n}\n");
    world_scalar(&w, (uint64_t)-1);
    cr_assert_neq(world_run(&w, 0), PG_OK);
    cr_assert(world_has(&w, PG_D_RUN_GRID));
    world_fini(&w);
}

Test(interp_tile, clusters_are_whole)
{
    world w;
    world_init(&w, "ptir 1\nmodule sm_90\nkernel @k(%n: i32) [warps=1, cluster=(1, 3)] {\n"
                   "  launch {\n    grid 5, %n\n  }\n  return\n}\n");
    world_scalar(&w, 6);
    cr_assert_eq(world_run(&w, 0), PG_OK);
    w.args[0].bits = 7;
    cr_assert_neq(world_run(&w, 0), PG_OK);
    cr_assert(world_has(&w, PG_D_RUN_CLUSTER));
    world_fini(&w);
}
