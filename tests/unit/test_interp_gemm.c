/* The hand-written warp-specialised GEMM in the interpreter: right for every number of k-tiles and
 * seed, and every broken form of it reported. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/draw.h"

#include "interp_world.h"

typedef struct gemm {
    world w;
    uint32_t m, n, k;
    uint16_t *a, *b;
    float *c;
    uint8_t *poison;
} gemm;

static void gemm_init(gemm *g, const char *text, uint32_t m, uint32_t n, uint32_t k, uint32_t ctas)
{
    world_init(&g->w, text);
    g->m = m;
    g->n = n;
    g->k = k;
    g->a = calloc((size_t)m * k + 1, 2);
    g->b = calloc((size_t)n * k + 1, 2);
    g->c = calloc((size_t)m * n, sizeof *g->c);
    g->poison = calloc((size_t)m * n, sizeof *g->c);
    uint64_t seed = 12345 + m + n + k;
    for (size_t i = 0; i < (size_t)m * k; i++) {
        g->a[i] = pg_f32_to_f16((float)(int64_t)(draw(&seed) % 2001) / 1000.0f - 1.0f);
    }
    for (size_t i = 0; i < (size_t)n * k; i++) {
        g->b[i] = pg_f32_to_f16((float)(int64_t)(draw(&seed) % 2001) / 1000.0f - 1.0f);
    }
    world_array(&g->w, g->a, (uint64_t)m * k * 2);
    world_array(&g->w, g->b, (uint64_t)n * k * 2);
    world_poisoned(&g->w, g->c, (uint64_t)m * n * sizeof *g->c, g->poison);
    world_desc(&g->w);
    world_desc(&g->w);
    world_scalar(&g->w, m);
    world_scalar(&g->w, n);
    world_scalar(&g->w, k);
    world_scalar(&g->w, ctas);
}

static void gemm_fini(gemm *g)
{
    world_fini(&g->w);
    free(g->a);
    free(g->b);
    free(g->c);
    free(g->poison);
}

static void gemm_clear(gemm *g)
{
    memset(g->c, 0xFF, (size_t)g->m * g->n * sizeof *g->c);
    memset(g->poison, 1, (size_t)g->m * g->n * sizeof *g->c);
}

/* Number of elements beyond the bound: one rounding to f32 per k-tile, and one to spare. */
static size_t gemm_wrong(const gemm *g)
{
    size_t n_wrong = 0;
    double *bt = malloc(((size_t)g->n * g->k + 1) * sizeof *bt);
    double *sum = malloc(g->n * sizeof *sum), *size = malloc(g->n * sizeof *size);
    for (size_t j = 0; j < g->n; j++) {
        for (size_t x = 0; x < g->k; x++) {
            bt[x * g->n + j] = (double)pg_f16_to_f32(g->b[j * g->k + x]);
        }
    }
    double u = ldexp(1, -24) * (g->k / 64 + 2);
    for (size_t i = 0; i < g->m; i++) {
        memset(sum, 0, g->n * sizeof *sum);
        memset(size, 0, g->n * sizeof *size);
        for (size_t x = 0; x < g->k; x++) {
            double a = (double)pg_f16_to_f32(g->a[i * g->k + x]);
            for (size_t j = 0; j < g->n; j++) {
                double p = a * bt[x * g->n + j];
                sum[j] += p;
                size[j] += fabs(p);
            }
        }
        for (size_t j = 0; j < g->n; j++) {
            double d = fabs((double)g->c[i * g->n + j] - sum[j]);
            n_wrong += !(d <= u * size[j]) || g->poison[(i * g->n + j) * sizeof(float)] != 0;
        }
    }
    free(bt);
    free(sum);
    free(size);
    return n_wrong;
}

static void check_right(uint32_t m, uint32_t n, uint32_t k, uint32_t ctas, uint64_t n_seeds)
{
    char *text = world_file("tests/filetests/whole/gemm_ws.ptir");
    gemm g;
    gemm_init(&g, text, m, n, k, ctas);
    float *first = malloc((size_t)m * n * sizeof *first);
    for (uint64_t seed = 0; seed < n_seeds; seed++) {
        gemm_clear(&g);
        pg_status s = world_run(&g.w, seed);
        cr_assert_eq(s, PG_OK, "m %u n %u k %u seed %u: line %u: %s", m, n, k, (unsigned)seed,
                     g.w.diags.n != 0 ? g.w.diags.at[0].loc.line : 0, world_message(&g.w));
        if (seed == 0) {
            cr_assert_eq(gemm_wrong(&g), 0);
            memcpy(first, g.c, (size_t)m * n * sizeof *first);
        }
        cr_assert_arr_eq(first, g.c, (size_t)m * n * sizeof *first, "a seed changes the result");
    }
    free(first);
    gemm_fini(&g);
    free(text);
}

Test(interp_gemm, two_tiles_in_a_row, .timeout = 120)
{
    const uint32_t k_tiles[] = {0, 1, 3, 4, 5, 9};
    for (uint32_t t = 0; t < 6; t++) {
        check_right(256, 256, 64 * k_tiles[t], 1, 8);
    }
}

Test(interp_gemm, odd_sizes_and_many_programs, .timeout = 120)
{
    check_right(130, 257, 64, 1, 2);
    check_right(200, 250, 100, 3, 2);
    check_right(1, 1, 65, 1, 2);
    check_right(384, 512, 128, 2, 1);
}

/* ---- broken forms ---------------------------------------------------------------------------- */

typedef struct mutant {
    const char *what, *from, *to;
    pg_diag_id expected; /* PG_D_NONE: whatever it is, it is reported or the numbers are wrong */
} mutant;

static const mutant mutants[] = {
    {"no wait for the full barrier", "bar.wait %r, %s, %p [side=full]", "", PG_D_NONE},
    {"wait for the wrong side", "bar.wait %r, %s, %p [side=full]",
     "bar.wait %r, %s, %p [side=empty]", PG_D_NONE},
    {"primed without lag", "[per=warp, lag=1]", "[per=warp, lag=0]", PG_D_NONE},
    {"primed with too much lag", "[per=warp, lag=1]", "[per=warp, lag=2]", PG_D_RUN_DEADLOCK},
    {"not primed", "ring.prime %r [per=warp, lag=1]", "", PG_D_RUN_DEADLOCK},
    {"producer starts with phase 1",
     "elect [warp=0] {\n      %se, %pe = for %t in %pid to %nt step %np carry (%s0 = 0, %p0 = 0)",
     "elect [warp=0] {\n      %se, %pe = for %t in %pid to %nt step %np carry (%s0 = 0, %p0 = 1)",
     PG_D_NONE},
    {"consumer starts with phase 1", "carry (%s0 = 0, %p0 = 0, %o0 = 3)",
     "carry (%s0 = 0, %p0 = 1, %o0 = 3)", PG_D_NONE},
    {"consumer starts with another slot", "carry (%s0 = 0, %p0 = 0, %o0 = 3)",
     "carry (%s0 = 1, %p0 = 0, %o0 = 3)", PG_D_NONE},
    {"first release of the wrong slot", "%o0 = 3)", "%o0 = 0)", PG_D_NONE},
    {"release before the wait",
     "mma.wait %t2 [in_flight=1]\n        bar.arrive %r, %old [side=empty, per=warp]",
     "bar.arrive %r, %old [side=empty, per=warp]\n        mma.wait %t2 [in_flight=1]", PG_D_NONE},
    {"release of a slot in use", "bar.arrive %r, %old", "bar.arrive %r, %s", PG_D_NONE},
    {"no wait for the matrix unit", "mma.wait %t2 [in_flight=1]\n", "\n", PG_D_NONE},
    {"no release", "bar.arrive %r, %old [side=empty, per=warp]", "", PG_D_RUN_DEADLOCK},
    {"too few arrivals", "[side=empty, per=warp]", "[side=empty, per=one]", PG_D_RUN_DEADLOCK},
    {"too many arrivals", "[side=empty, per=warp]", "[side=empty, per=thread]", PG_D_RUN_BARRIER},
    {"wrong count", "full=1, empty=8", "full=1, empty=4", PG_D_RUN_BARRIER},
    {"too many bytes", "bytes=49152", "bytes=65536", PG_D_RUN_DEADLOCK},
    {"too few bytes", "bytes=49152", "bytes=32768", PG_D_NONE},
    {"no bytes announced", "bar.expect %r, %s [side=full, bytes=49152]",
     "bar.arrive %r, %s [side=full, per=one]", PG_D_NONE},
    {"one copy is missing", "tma.get %tb, %bs, %r, %s, %on, %ok [side=full]", "",
     PG_D_RUN_DEADLOCK},
    {"no wait for the empty barrier", "bar.wait %r, %s, %p [side=empty]", "", PG_D_NONE},
    {"copy into the wrong slot",
     "%as = buf.view %a, %s : buf<smem, 128x64xf16, #ab>\n          %bs",
     "%as = buf.view %a, 0 : buf<smem, 128x64xf16, #ab>\n          %bs", PG_D_NONE},
    {"no fence for the accumulator", "mma.fence\n", "\n", PG_D_RUN_FENCE},
    {"no barrier after the initialisation", "  cta.sync\n", "\n", PG_D_RUN_FENCE},
    {"no fence after the initialisation", "  fence [kind=mbarrier_init]\n", "\n", PG_D_RUN_FENCE},
    {"barriers never initialised", "  bar.init %r\n", "\n", PG_D_RUN_BARRIER},
    {"accumulator read in flight", "[in_flight=0] : tile", "[in_flight=1] : tile", PG_D_RUN_TOKEN},
    {"second tile starts anew", "carry (%s = %s0, %p = %p0, %old = %o0, %tk",
     "carry (%s = 0, %p = 0, %old = 3, %tk", PG_D_NONE},
    {"wrong coordinates", "tma.get %ta, %as, %r, %s, %om, %ok",
     "tma.get %ta, %as, %r, %s, %ok, %om", PG_D_NONE},
    {"store past the end", "icmp %row, %ms [is=lt]", "icmp %row, %ms [is=le]",
     PG_D_RUN_OUT_OF_BOUNDS},
    {"a slot past the end", "buf.view %b, %s : buf<smem, 256x64xf16, #ab>\n        mma.fence",
     "buf.view %b, 4 : buf<smem, 256x64xf16, #ab>\n        mma.fence", PG_D_RUN_INDEX},
};

Test(interp_gemm, every_broken_form_is_reported, .timeout = 300)
{
    char *text = world_file("tests/filetests/whole/gemm_ws.ptir");
    for (uint32_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        const mutant *mu = &mutants[i];
        char *broken = world_replace(text, mu->from, mu->to);
        gemm g;
        gemm_init(&g, broken, 200, 255, 64 * 9, 1);
        for (uint64_t seed = 0; seed < 8; seed++) {
            gemm_clear(&g);
            pg_status s = world_run(&g.w, seed);
            bool is_found = s != PG_OK || gemm_wrong(&g) != 0;
            cr_expect(is_found, "%s: seed %u does not find it", mu->what, (unsigned)seed);
            cr_expect(mu->expected == PG_D_NONE || world_has(&g.w, mu->expected), "%s: seed %u: %s",
                      mu->what, (unsigned)seed, world_message(&g.w));
            if (getenv("PG_TEST_TELL") != NULL && seed < 2) {
                cr_log_warn("%s: line %u: %s", mu->what,
                            g.w.diags.n != 0 ? g.w.diags.at[0].loc.line : 0, world_message(&g.w));
            }
        }
        gemm_fini(&g);
        free(broken);
    }
    free(text);
}

Test(interp_gemm, a_deadlock_names_every_waiter)
{
    char *text = world_file("tests/filetests/whole/gemm_ws.ptir");
    char *broken = world_replace(text, "bytes=49152", "bytes=65536");
    gemm g;
    gemm_init(&g, broken, 128, 256, 64, 1);
    cr_assert_neq(world_run(&g.w, 3), PG_OK);
    cr_assert_geq(g.w.diags.n, 2);
    cr_assert(world_has(&g.w, PG_D_RUN_DEADLOCK));
    const char *note = g.w.diags.at[1].message.ptr;
    cr_assert_str_eq(note, "@math waits for %r full[0], phase 0 (0 phases are complete): 0 of 1 "
                           "arrivals and 16384 bytes are missing");
    cr_assert_eq(g.w.diags.at[1].severity, PG_SEV_NOTE);
    gemm_fini(&g);
    free(broken);
    free(text);
}
