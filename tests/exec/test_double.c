/* test_double.c: the functions of f64 that PTX does not have, lowered and run in the executor, over
 * many arguments: within the bounds that emit/lower_f64.c states of the long double functions of
 * libm, in units of the last place of the result; special values exactly.
 *
 *   test_double [BLOCKS]       blocks of 4096 random arguments for each function; prints the errors
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/lower.h"
#include "ir/ir.h"
#include "sched/pass.h"
#include "tests/draw.h"
#include "tools/exec/ptxexec.h"

enum { N = 4096 };

typedef long double reference(long double x);

static long double rsqrt_of(long double x)
{
    return 1.0L / sqrtl(x);
}

typedef struct function {
    const char *name;
    reference *f;
    double ulps;     /* the bound */
    double low, top; /* most random arguments; the others have any exponent */
} function;

static const function functions[] = {
    {"exp", expl, 1.0, -750.0, 715.0}, {"exp2", exp2l, 1.0, -1080.0, 1030.0},
    {"log2", log2l, 2.5, 0.25, 4.0},   {"rsqrt", rsqrt_of, 1.5, 0.25, 4.0},
    {"tanh", tanhl, 3.0, -3.0, 3.0},   {"erf", erfl, 1.5, -6.5, 6.5}};

static const double special[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 0.5,
                                 -0.5,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 DBL_MIN,
                                 -DBL_MIN,
                                 DBL_MAX,
                                 -DBL_MAX,
                                 0x1p-1074,
                                 -0x1p-1074,
                                 0x1.8p-1030,
                                 0x1.fffffffffffffp-1023,
                                 0x1.fffffffffffffp-1,
                                 0x1.0000000000001p0,
                                 0x1.6a09e667f3bccp-1,
                                 0x1.6a09e667f3bcdp-1,
                                 0x1.6a09e667f3bcdp0,
                                 0x1.62e42fefa39efp-2,
                                 0x1.62e42fefa39efp-1,
                                 709.782712893384,
                                 709.7827128933841,
                                 710.0,
                                 711.0,
                                 -708.3964185322641,
                                 -745.1332191019411,
                                 -745.1332191019412,
                                 -746.0,
                                 -747.0,
                                 -1e300,
                                 1023.0,
                                 0x1.fffffffffffffp9,
                                 1024.0,
                                 1025.0,
                                 -1021.5,
                                 -1022.0,
                                 -1074.0,
                                 -1074.5,
                                 -1075.0,
                                 -1076.0,
                                 -1077.5,
                                 5.92,
                                 5.921587195794507,
                                 6.0,
                                 -6.0,
                                 27.0,
                                 19.0615,
                                 19.07,
                                 22.0,
                                 22.1,
                                 -44.0};

typedef struct machine {
    ptxexec_module *m;
    ptxexec_device *d;
    uint64_t in, out;
} machine;

static void die(const char *what)
{
    printf("%s\n", what);
    exit(1);
}

/* The function of N elements as PTX, loaded. */
static void machine_begin(machine *x, const char *name)
{
    char text[1024];
    pg_ctx ctx;
    pg_arena arena;
    pg_diags diags;
    pg_module *m = NULL;
    pg_ptx_module *ptx = NULL;
    pg_strbuf out;
    bool stopped;
    pg_pass_options opt = {.passes = PG_STR("layouts"), .pass_limit = UINT32_MAX};
    (void)snprintf(text, sizeof text,
                   "ptir 1\nmodule sm_80\nkernel @t(%%a: ptr<f64> [in], %%o: ptr<f64> [out]) "
                   "[warps=4] {\n  %%i = iota : tile<%dxi32>\n  %%p = addptr %%a, %%i : "
                   "tile<%dxptr<f64>>\n  %%x = load %%p : tile<%dxf64>\n  %%y = %s %%x : "
                   "tile<%dxf64>\n  %%q = addptr %%o, %%i : tile<%dxptr<f64>>\n  store %%q, %%y\n  "
                   "return\n}\n",
                   N, N, N, name, N, N);
    if (pg_ctx_init(&ctx, pg_alloc_default()) != PG_OK) {
        die("no memory");
    }
    pg_arena_init(&arena, ctx.alloc);
    pg_diags_init(&diags, &arena, ctx.alloc);
    pg_strbuf_init(&out, ctx.alloc);
    if (pg_parse(&ctx, pg_str_of(text), &diags, &m) != PG_OK ||
        pg_passes_run(m, &opt, &arena, &m, NULL, NULL, &stopped) != PG_OK ||
        pg_lower(m, NULL, &arena, &diags, &ptx) != PG_OK) {
        die(diags.n != 0 ? diags.at[0].message.ptr : "it does not compile");
    }
    pg_ptx_write(&out, ptx);
    pg_str s = pg_strbuf_str(&out);
    if (ptxexec_module_load(NULL, s.ptr, s.len, &x->m) != PTXEXEC_OK ||
        ptxexec_device_create(NULL, &x->d) != PTXEXEC_OK ||
        ptxexec_device_alloc(x->d, N * 8, PTXEXEC_FILL_POISON, "a", &x->in) != PTXEXEC_OK ||
        ptxexec_device_alloc(x->d, N * 8, PTXEXEC_FILL_POISON, "o", &x->out) != PTXEXEC_OK) {
        die("the executor does not take it");
    }
    pg_module_destroy(m);
    pg_strbuf_fini(&out);
    pg_arena_fini(&arena);
    pg_ctx_fini(&ctx);
}

static void machine_run(machine *x, const double *in, double *out)
{
    uint64_t params[2] = {x->in, x->out}, n_poison, first;
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {1, 1, 1},
                                .block = {128, 1, 1},
                                .params = params,
                                .params_size = sizeof params};
    ptxexec_report *report = NULL;
    if (ptxexec_device_write(x->d, x->in, in, N * 8) != PTXEXEC_OK ||
        ptxexec_launch(x->d, x->m, &o, &report) != PTXEXEC_OK ||
        ptxexec_device_read(x->d, x->out, out, N * 8, &n_poison, &first) != PTXEXEC_OK) {
        die("the launch went wrong");
    }
    ptxexec_report_destroy(report);
}

/* Distance in units of the last place of what is right; infinite where only one is a number. */
static double error_of(double got, long double want)
{
    double near = (double)want;
    if (isnan(near) || isnan(got)) {
        return isnan(near) && isnan(got) ? 0 : INFINITY;
    }
    if (isinf(near) || isinf(got) || near == 0) {
        return got == near && signbit(got) == signbit(near) ? 0
               : near == 0 && !isinf(got)
                   ? fabs(got) / 0x1p-1074 + (signbit(got) != signbit(near) ? INFINITY : 0)
                   : INFINITY;
    }
    int e;
    (void)frexp(near, &e);
    e = e - 53 < -1074 ? -1074 : e - 53;
    return (double)fabsl(ldexpl((long double)got - want, -e));
}

static void fill(const function *f, double *x, uint64_t *seed, bool is_first)
{
    for (uint32_t i = 0; i < N; i++) {
        uint64_t r = draw(seed);
        if (i % 8 == 0) { /* any pattern */
            memcpy(&x[i], &r, 8);
        } else if (i % 8 == 1) { /* any size up to 2 */
            x[i] = ldexp((double)(int64_t)r, -62 - (int)(r % 60));
        } else {
            x[i] = f->low + (f->top - f->low) * ((double)(r >> 11) * 0x1p-53);
        }
    }
    if (is_first) {
        memcpy(x, special, sizeof special);
    }
}

static bool try_function(const function *f, uint32_t n_blocks)
{
    static double x[N], y[N];
    machine m = {0};
    uint64_t seed = 88172645463325252u;
    double worst = 0, where = 0;
    uint32_t n_bad = 0;
    machine_begin(&m, f->name);
    for (uint32_t b = 0; b < n_blocks; b++) {
        fill(f, x, &seed, b == 0);
        machine_run(&m, x, y);
        for (uint32_t i = 0; i < N; i++) {
            double e = error_of(y[i], f->f((long double)x[i]));
            where = e > worst ? x[i] : where;
            worst = e > worst ? e : worst;
            if (!(e <= f->ulps) && n_bad++ < 5) {
                printf("%s(%a) = %a, off by %g ulp from %La\n", f->name, x[i], y[i], e,
                       f->f((long double)x[i]));
            }
        }
    }
    printf("%-5s %u arguments: at most %.3f ulp (at %a), bound %.1f\n", f->name, n_blocks * N,
           worst, where, f->ulps);
    ptxexec_device_destroy(m.d);
    ptxexec_module_destroy(m.m);
    return n_bad == 0;
}

int main(int argc, char **argv)
{
    const char *is_long = getenv("PTXGEN_TEST_LONG");
    uint32_t n_blocks = argc > 1                                       ? (uint32_t)atoi(argv[1])
                        : is_long != NULL && strcmp(is_long, "1") == 0 ? 250
                                                                       : 25;
    uint32_t n_fail = 0;
    if (LDBL_MANT_DIG < 64) {
        printf("long double is no wider than double here: nothing to compare with\n");
        return 77; /* skipped */
    }
    for (uint32_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        n_fail += !try_function(&functions[f], n_blocks);
    }
    return n_fail == 0 ? 0 : 1;
}
