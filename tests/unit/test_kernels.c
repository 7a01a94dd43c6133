/* The kernel library: every kernel and type, built, interpreted, compared with its reference; and
 * twins: the same kernel as text prints the same IR. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "kernels/kernels.h"
#include "tests/draw.h"

static ptxgen_str str(const char *s)
{
    return (ptxgen_str){s, strlen(s)};
}

typedef enum dtype { F16, BF16, F32, N_DTYPES } dtype;
static const char *const dtype_names[] = {"f16", "bf16", "f32"};
static const size_t dtype_size[] = {2, 2, 4};
static const double dtype_unit[] = {0x1p-11, 0x1p-8, 0x1p-24};
static const double dtype_least[] = {0x1p-24, 0x1p-133, 0x1p-149};

static double load(dtype t, const unsigned char *at)
{
    uint16_t half;
    float single;
    if (t == F32) {
        memcpy(&single, at, 4);
        return (double)single;
    }
    memcpy(&half, at, 2);
    return (double)(t == F16 ? pg_f16_to_f32(half) : pg_bf16_to_f32(half));
}

static void save(dtype t, unsigned char *at, double x)
{
    const float single = (float)x;
    const uint16_t half = t == F16 ? pg_f64_to_f16(x) : pg_f64_to_bf16(x);
    if (t == F32) {
        memcpy(at, &single, 4);
    } else {
        memcpy(at, &half, 2);
    }
}

typedef struct array {
    const char *name;
    uint64_t n;
    bool is_out;
    unsigned char *data, *poison;
    double *in, *ref, *bound;
} array;

static array array_new(dtype t, const char *name, uint64_t n, bool is_out, double high)
{
    array a = {.name = name, .n = n, .is_out = is_out};
    a.data = calloc(n + 1, dtype_size[t]);
    a.poison = calloc(n + 1, dtype_size[t]);
    a.in = calloc(n + 1, sizeof(double));
    a.ref = calloc(n + 1, sizeof(double));
    a.bound = calloc(n + 1, sizeof(double));
    uint64_t state = n * 77 + (uint64_t)name[0];
    for (uint64_t i = 0; i < n; i++) {
        save(t, a.data + i * dtype_size[t], high * ((double)(draw(&state) >> 33) / 0x1p30 - 1.0));
        a.in[i] = load(t, a.data + i * dtype_size[t]);
    }
    memset(a.poison, is_out, n * dtype_size[t]);
    return a;
}

static void array_free(array *a)
{
    free(a->data);
    free(a->poison);
    free(a->in);
    free(a->ref);
    free(a->bound);
}

typedef struct job {
    const char *kernel;
    dtype type;
    ptxgen_setting settings[4];
    size_t n_settings;
    const char *scalar_names[12];
    int64_t scalars[12];
    size_t n_scalars;
    array arrays[4];
    size_t n_arrays;
} job;

static void compare(const job *j)
{
    const ptxgen_kernel_info *info = ptxgen_kernel_find(str(j->kernel));
    ptxgen_kernel_array arrays[4];
    for (size_t i = 0; i < j->n_arrays; i++) {
        const array *a = &j->arrays[i];
        arrays[i] = (ptxgen_kernel_array){a->name, a->n, a->is_out ? NULL : a->in,
                                          a->is_out ? a->ref : NULL, a->is_out ? a->bound : NULL};
    }
    const ptxgen_kernel_run run = {sizeof run, j->settings,  j->n_settings, j->scalar_names,
                                   j->scalars, j->n_scalars, arrays,        j->n_arrays};
    cr_assert_eq(ptxgen_kernel_reference(str(j->kernel), &run), PTXGEN_OK);
    const array *out = &j->arrays[j->n_arrays - 1];
    for (uint64_t i = 0; i < out->n; i++) {
        const double x = load(j->type, out->data + i * dtype_size[j->type]);
        const double allowed =
            info->error_factor * dtype_unit[j->type] * out->bound[i] + dtype_least[j->type];
        cr_assert(x == out->ref[i] || fabs(x - out->ref[i]) <= allowed,
                  "%s %s n %llu element %llu: %g, reference %g, %g", j->kernel,
                  dtype_names[j->type], (unsigned long long)out->n, (unsigned long long)i, x,
                  out->ref[i], allowed);
        cr_assert_eq(out->poison[i * dtype_size[j->type]], 0, "element not written");
    }
}

/* Builds, interprets with arrays, then scalars, as arguments, and compares. */
static void run(job *j)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_module *m = NULL;
    ptxgen_result *ir = NULL, *r = NULL;
    ptxgen_arg args[16] = {{0}};
    size_t n = 0;
    for (; n < j->n_arrays; n++) {
        array *a = &j->arrays[n];
        args[n] = (ptxgen_arg){a->data, a->n * dtype_size[j->type], a->poison, 0};
    }
    for (size_t i = 0; i < j->n_scalars; i++) {
        args[n++].bits = (uint64_t)j->scalars[i];
    }
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_kernel_build(ctx, str(j->kernel), str("sm_80"), j->settings, j->n_settings,
                                     &m, NULL),
                 PTXGEN_OK);
    cr_assert_eq(ptxgen_module_print(m, &ir), PTXGEN_OK);
    const ptxgen_interpretation how = {.struct_size = sizeof how, .args = args, .n_args = n};
    const ptxgen_status st = ptxgen_interpret(ctx, ptxgen_result_ir(ir), &how, &r);
    cr_assert_eq(st, PTXGEN_OK, "%s: %s", j->kernel,
                 ptxgen_result_diag_count(r) ? ptxgen_result_diag(r, 0).message.ptr : "");
    compare(j);
    ptxgen_result_destroy(r);
    ptxgen_result_destroy(ir);
    ptxgen_module_destroy(m);
    ptxgen_ctx_destroy(ctx);
    for (size_t i = 0; i < j->n_arrays; i++) {
        array_free(&j->arrays[i]);
    }
}

static const int64_t sizes[] = {0, 1, 17, 333, 1025};

static void run_flat(const char *kernel, const char *const *names, size_t n_arrays, double high)
{
    for (int t = 0; t < N_DTYPES; t++) {
        for (size_t s = 0; s < PG_COUNT_OF(sizes); s++) {
            job j = {.kernel = kernel,
                     .type = (dtype)t,
                     .settings = {{str("dtype"), str(dtype_names[t])}, {str("block"), str("256")}},
                     .n_settings = 2,
                     .scalar_names = {"n"},
                     .scalars = {sizes[s]},
                     .n_scalars = 1,
                     .n_arrays = n_arrays};
            for (size_t a = 0; a < n_arrays; a++) {
                j.arrays[a] =
                    array_new((dtype)t, names[a], (uint64_t)sizes[s], a + 1 == n_arrays, high);
            }
            run(&j);
        }
    }
}

Test(kernels, gelu)
{
    static const char *const names[] = {"x", "y"};
    run_flat("gelu", names, 2, 12.0);
}

Test(kernels, silu_mul)
{
    static const char *const names[] = {"a", "b", "y"};
    run_flat("silu_mul", names, 3, 12.0);
}

Test(kernels, silu_mul_of_large_values)
{
    static const char *const names[] = {"a", "b", "y"};
    run_flat("silu_mul", names, 3, 200.0);
}

/* Kernels on rows: x of rows x cols, weights of cols, y. */
typedef struct row_test {
    const char *kernel;
    const char *names[4];
    size_t n_arrays;
    ptxgen_setting axis, op; /* reduce only */
} row_test;

static uint64_t result_size(const row_test *r, int64_t rows, int64_t cols)
{
    if (r->axis.name.len == 0) {
        return (uint64_t)(rows * cols);
    }
    return strcmp(r->axis.value.ptr, "inner") == 0   ? (uint64_t)rows
           : strcmp(r->axis.value.ptr, "outer") == 0 ? (uint64_t)cols
                                                     : 1;
}

static void run_rows(const row_test *r)
{
    static const int64_t row_counts[] = {0, 1, 3};
    for (size_t i = 0; i < N_DTYPES * PG_COUNT_OF(sizes) * PG_COUNT_OF(row_counts); i++) {
        dtype t = (dtype)(i % N_DTYPES);
        int64_t cols = sizes[i / N_DTYPES % PG_COUNT_OF(sizes)];
        int64_t rows = row_counts[i / N_DTYPES / PG_COUNT_OF(sizes)];
        job j = {.kernel = r->kernel,
                 .type = t,
                 .settings = {{str("dtype"), str(dtype_names[t])},
                              {str("block"), str("256")},
                              r->axis,
                              r->op},
                 .n_settings = r->axis.name.len != 0 ? 4 : 2,
                 .scalar_names = {"rows", "cols"},
                 .scalars = {rows, cols},
                 .n_scalars = 2,
                 .n_arrays = r->n_arrays};
        for (size_t a = 0; a < r->n_arrays; a++) {
            bool is_out = a + 1 == r->n_arrays;
            uint64_t n = is_out   ? result_size(r, rows, cols)
                         : a == 0 ? (uint64_t)(rows * cols)
                                  : (uint64_t)cols;
            j.arrays[a] = array_new(t, r->names[a], n, is_out, 4.0);
        }
        run(&j);
    }
}

Test(kernels, softmax)
{
    run_rows(&(row_test){.kernel = "softmax", .names = {"x", "y"}, .n_arrays = 2});
}

Test(kernels, rmsnorm)
{
    run_rows(&(row_test){.kernel = "rmsnorm", .names = {"x", "w", "y"}, .n_arrays = 3});
}

Test(kernels, layernorm)
{
    run_rows(&(row_test){.kernel = "layernorm", .names = {"x", "w", "b", "y"}, .n_arrays = 4});
}

Test(kernels, reduce)
{
    static const char *const axes[] = {"inner", "outer", "full"};
    static const char *const ops[] = {"sum", "max"};
    for (size_t a = 0; a < 3; a++) {
        for (size_t o = 0; o < 2; o++) {
            run_rows(&(row_test){
                "reduce", {"x", "y"}, 2, {str("axis"), str(axes[a])}, {str("op"), str(ops[o])}});
        }
    }
}

/* Extents outermost first; a and b: bit d set where the extent is 1. */
static void run_add(dtype t, uint32_t rank, const int64_t *extents, uint32_t ones_a,
                    uint32_t ones_b)
{
    static const char *const names[3][4] = {
        {"k", "l", "m", "n"}, {"bk", "bl", "bm", "bn"}, {"ak", "al", "am", "an"}};
    const uint32_t ones[3] = {0, ones_b, ones_a};
    char digits[2] = {(char)('0' + rank), 0};
    uint64_t size[3] = {1, 1, 1};
    job j = {.kernel = "add", .type = t, .n_settings = 3, .n_arrays = 3};
    j.settings[0] = (ptxgen_setting){str("dtype"), str(dtype_names[t])};
    j.settings[1] = (ptxgen_setting){str("rank"), str(digits)};
    j.settings[2] = (ptxgen_setting){str("block"), str("128")};
    for (uint32_t p = 0; p < 3; p++) {
        for (uint32_t d = 0; d < rank; d++) {
            const int64_t e = ones[p] >> d & 1 ? 1 : extents[d];
            j.scalar_names[j.n_scalars] = names[p][4 - rank + d];
            j.scalars[j.n_scalars++] = e;
            size[p] *= (uint64_t)e;
        }
    }
    j.arrays[0] = array_new(t, "a", size[2], false, 1.0);
    j.arrays[1] = array_new(t, "b", size[1], false, 1.0);
    j.arrays[2] = array_new(t, "c", size[0], true, 1.0);
    run(&j);
}

Test(kernels, add_flat)
{
    for (int t = 0; t < N_DTYPES; t++) {
        for (size_t s = 0; s < PG_COUNT_OF(sizes); s++) {
            run_add((dtype)t, 1, &sizes[s], 0, 0);
        }
    }
}

Test(kernels, add_broadcast)
{
    static const int64_t extents[] = {3, 5, 4, 7};
    for (uint32_t rank = 1; rank <= 4; rank++) {
        for (uint32_t ones = 0; ones < 1u << rank; ones++) {
            run_add(F32, rank, extents, ones, ~ones & ((1u << rank) - 1));
            run_add(F16, rank, extents, ones, 0);
        }
    }
}

Test(kernels, settings_are_checked)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_module *m = NULL;
    const char *why = NULL;
    const ptxgen_setting bad[] = {{str("block"), str("100")}, {str("colour"), str("red")}};
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(ptxgen_kernel_build(ctx, str("gelu"), str("sm_80"), &bad[i], 1, &m, &why),
                     PTXGEN_E_MISUSE);
        cr_assert_null(m);
        cr_assert_neq(strlen(why), 0u);
    }
    cr_assert_eq(ptxgen_kernel_build(ctx, str("nothing"), str("sm_80"), NULL, 0, &m, &why),
                 PTXGEN_E_MISUSE);
    cr_assert_eq(ptxgen_kernel_build(ctx, str("gelu"), str("sm_1"), NULL, 0, &m, &why),
                 PTXGEN_E_UNSUPPORTED);
    ptxgen_ctx_destroy(ctx);
}

static char *read_twin(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/tests/property/twins/%s.ptir", PG_SOURCE_ROOT, name);
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "cannot open %s", path);
    char *text = calloc(1, 1 << 16);
    (void)fread(text, 1, (1 << 16) - 1, f);
    (void)fclose(f);
    return text;
}

/* Without names of values, which the builder does not give: the compiler makes both the same. */
Test(kernels, twins)
{
    static const char *const names[] = {"gelu", "silu_mul"};
    for (size_t i = 0; i < PG_COUNT_OF(names); i++) {
        ptxgen_ctx *ctx = NULL;
        ptxgen_module *m = NULL;
        ptxgen_result *built = NULL, *parsed = NULL;
        char *text = read_twin(names[i]);
        const ptxgen_options opt = {
            .struct_size = sizeof opt, .passes = str("none"), .emit = PTXGEN_EMIT_IR};
        cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
        cr_assert_eq(ptxgen_kernel_build(ctx, str(names[i]), str("sm_80"), NULL, 0, &m, NULL),
                     PTXGEN_OK);
        cr_assert_eq(ptxgen_module_print(m, &built), PTXGEN_OK);
        cr_assert_eq(ptxgen_compile(ctx, str(text), &opt, &parsed), PTXGEN_OK);
        cr_assert_str_eq(ptxgen_result_ir(built).ptr, ptxgen_result_ir(parsed).ptr);
        ptxgen_result_destroy(parsed);
        ptxgen_result_destroy(built);
        ptxgen_module_destroy(m);
        ptxgen_ctx_destroy(ctx);
        free(text);
    }
}
