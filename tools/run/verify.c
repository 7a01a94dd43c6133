#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tools/run/job.h"
#include "tools/run/report_json.h"

/* For IR files: no bound is known, so the size of the result and of its neighbours stands for it.
 */
#define INTERPRETER_FACTOR 16.0

/* What one output is compared with. */
typedef struct expected {
    const double *ref;
    const double *bound;
    double factor;
} expected;

/* The least positive value of a float type; 0 for integers. */
static double least_positive(run_dtype type)
{
    switch (run_dtypes[type].size * (run_dtypes[type].kind == 'f')) {
    case 1: return type == RUN_D_E4M3 ? 0x1p-9 : 0x1p-16;
    case 2: return type == RUN_D_F16 ? 0x1p-24 : 0x1p-133;
    case 4: return 0x1p-149;
    case 8: return 0x1p-1074;
    default: return 0;
    }
}

/* Whether `x` is infinite because the right value, give or take, does not fit the type. */
static bool is_right_overflow(run_dtype type, double x, double ref, double allowed)
{
    unsigned char rounded[8];
    run_elem_set(type, rounded, ref + copysign(allowed, ref));
    return isinf(x) && run_elem_get(type, rounded) == x;
}

static bool is_right(run_dtype type, double x, double ref, double allowed)
{
    if (isnan(ref) || isnan(x)) {
        return isnan(ref) && isnan(x);
    }
    return x == ref || fabs(x - ref) <= allowed || is_right_overflow(type, x, ref, allowed);
}

static void put_double(char out[32], double x)
{
    (void)snprintf(out, 32, "%.9g", x);
}

static run_exit compare(const run_msgs *m, const char *file, const run_value *v, const expected *e)
{
    const run_dtype_info *info = &run_dtypes[v->spec->type];
    uint64_t n = v->array.n_elems;
    uint64_t n_wrong = 0;
    uint64_t worst = 0;
    double worst_ratio = -1;
    double worst_error = 0;
    double worst_allowed = 0;
    for (uint64_t i = 0; i < n; i++) {
        double x = run_elem_get(v->spec->type, v->result + i * info->size);
        double allowed = e->factor * info->unit * e->bound[i] + least_positive(v->spec->type);
        double error = x == e->ref[i] ? 0 : fabs(x - e->ref[i]);
        bool is_good = is_right(v->spec->type, x, e->ref[i], allowed);
        double ratio = is_good && !isfinite(error) ? 0 : error / (allowed > 0 ? allowed : 1);
        ratio = is_good ? ratio : isfinite(ratio) ? 1e30 + ratio : INFINITY;
        n_wrong += !is_good;
        if (ratio > worst_ratio) {
            worst = i;
            worst_ratio = ratio;
            worst_error = error;
            worst_allowed = allowed;
        }
    }
    if (m->json != NULL) {
        const run_verdict found = {
            .name = v->spec->name,
            .type = info->ir_name,
            .n = n,
            .n_wrong = n_wrong,
            .at = worst,
            .value = n == 0 ? 0 : run_elem_get(v->spec->type, v->result + worst * info->size),
            .expected = n == 0 ? 0 : e->ref[worst],
            .error = worst_error,
            .bound = worst_allowed,
        };
        run_json_output(m->json, &found);
    }
    if (n_wrong != 0) {
        char got[32];
        char want[32];
        char allowed[32];
        put_double(got, run_elem_get(v->spec->type, v->result + worst * info->size));
        put_double(want, e->ref[worst]);
        put_double(allowed, worst_allowed);
        return run_fail(m, RUN_CHECK, RUN_MSG_WRONG_NUMBER, file, (unsigned long long)n_wrong,
                        (unsigned long long)n, v->spec->name, (unsigned long long)worst, got, want,
                        allowed);
    }
    if (m->json != NULL) {
        return RUN_OK;
    }
    (void)printf("%s: %llu elements right; largest error %.3g beside a bound of %.3g, at element "
                 "%llu\n",
                 v->spec->name, (unsigned long long)n, n == 0 ? 0 : worst_error, worst_allowed,
                 (unsigned long long)worst);
    return RUN_OK;
}

static double *to_doubles(pg_arena *a, const run_value *v, const void *data)
{
    size_t size = run_dtypes[v->spec->type].size;
    double *out = PG_NEWS(a, double, (size_t)v->array.n_elems);
    for (uint64_t i = 0; out != NULL && i < v->array.n_elems; i++) {
        out[i] = run_elem_get(v->spec->type, (const unsigned char *)data + i * size);
    }
    return out;
}

static bool is_output(const run_value *v)
{
    return v->spec->kind == RUN_ARG_POINTER && v->spec->is_out && !v->spec->is_scratch &&
           v->result != NULL;
}

/* ---- library kernels ----------------------------------------------------------------------- */

/* One array for each pointer argument, in order; NULL when out of memory. */
static ptxgen_kernel_array *make_arrays(pg_arena *a, const run_inputs *inputs, size_t *n_out)
{
    uint32_t n = inputs->manifest->n_args;
    ptxgen_kernel_array *arrays = PG_NEWS(a, ptxgen_kernel_array, n);
    size_t at = 0;
    for (uint32_t i = 0; arrays != NULL && i < n; i++) {
        const run_value *v = &inputs->values[i];
        if (v->spec->kind != RUN_ARG_POINTER) {
            continue;
        }
        ptxgen_kernel_array *array = &arrays[at++];
        array->name = v->spec->name;
        array->n = v->array.n_elems;
        if (v->array.data != NULL) {
            array->in = to_doubles(a, v, v->array.data);
        }
        if (is_output(v)) {
            array->ref = PG_NEWS(a, double, (size_t)array->n);
            array->bound = PG_NEWS(a, double, (size_t)array->n);
        }
    }
    *n_out = at;
    return a->is_oom ? NULL : arrays;
}

run_exit run_verify_kernel(const run_msgs *m, pg_arena *a, const char *kernel,
                           const ptxgen_setting *settings, size_t n_settings,
                           const run_inputs *inputs)
{
    const ptxgen_str name = {kernel, strlen(kernel)};
    const ptxgen_kernel_info *info = ptxgen_kernel_find(name);
    size_t n_arrays = 0;
    ptxgen_kernel_array *arrays = make_arrays(a, inputs, &n_arrays);
    const char **names = PG_NEWS(a, const char *, inputs->n_names);
    int64_t *scalars = PG_NEWS(a, int64_t, inputs->n_names);
    if (info == NULL || arrays == NULL || names == NULL || scalars == NULL) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, kernel);
    }
    for (size_t i = 0; i < inputs->n_names; i++) {
        names[i] = pg_arena_str(a, inputs->names[i].name).ptr;
        scalars[i] = inputs->names[i].value;
    }
    ptxgen_kernel_run run = {
        .struct_size = sizeof run,
        .settings = settings,
        .n_settings = n_settings,
        .scalar_names = names,
        .scalars = scalars,
        .n_scalars = inputs->n_names,
        .arrays = arrays,
        .n_arrays = n_arrays,
    };
    if (ptxgen_kernel_reference(name, &run) != PTXGEN_OK) {
        return run_fail(m, RUN_DEFECT, RUN_MSG_NO_REFERENCE, kernel, "its reference failed");
    }
    run_exit result = RUN_OK;
    size_t at = 0;
    for (uint32_t i = 0; i < inputs->manifest->n_args; i++) {
        const run_value *v = &inputs->values[i];
        if (v->spec->kind != RUN_ARG_POINTER) {
            continue;
        }
        const ptxgen_kernel_array *array = &arrays[at++];
        if (is_output(v)) {
            const expected e = {array->ref, array->bound, info->error_factor};
            run_exit status = compare(m, kernel, v, &e);
            result = status == RUN_OK ? result : status;
        }
    }
    return result;
}

/* ---- IR files ------------------------------------------------------------------------------ */

static ptxgen_arg *make_args(pg_arena *a, const run_inputs *inputs)
{
    uint32_t n = inputs->manifest->n_args;
    ptxgen_arg *args = PG_NEWS(a, ptxgen_arg, n);
    for (uint32_t i = 0; args != NULL && i < n; i++) {
        const run_value *v = &inputs->values[i];
        args[i].bits = v->bits;
        if (v->spec->kind != RUN_ARG_POINTER) {
            continue;
        }
        size_t n_bytes = (size_t)v->array.n_bytes;
        unsigned char *poison = pg_arena_get(a, n_bytes, 1);
        void *data = v->array.data == NULL ? pg_arena_get(a, n_bytes, 1)
                                           : pg_arena_copy(a, v->array.data, n_bytes);
        if (poison == NULL || data == NULL) {
            return NULL;
        }
        memset(poison, v->array.data == NULL ? 1 : 0, n_bytes);
        args[i].data = data;
        args[i].n_bytes = n_bytes;
        args[i].poison = poison;
    }
    return args;
}

/* The bound of an element: its size plus the mean size, for sums that cancel. */
static run_exit compare_text(const run_msgs *m, pg_arena *a, const char *file, const run_value *v,
                             const ptxgen_arg *arg)
{
    double *ref = to_doubles(a, v, arg->data);
    double *bound = PG_NEWS(a, double, (size_t)v->array.n_elems);
    if (ref == NULL || bound == NULL) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, file);
    }
    double mean = 0;
    for (uint64_t i = 0; i < v->array.n_elems; i++) {
        mean += isfinite(ref[i]) ? fabs(ref[i]) / (double)v->array.n_elems : 0;
    }
    for (uint64_t i = 0; i < v->array.n_elems; i++) {
        bound[i] = isfinite(ref[i]) ? fabs(ref[i]) + mean : mean;
    }
    const expected e = {ref, bound, INTERPRETER_FACTOR};
    return compare(m, file, v, &e);
}

static run_exit verify_text(const run_msgs *m, pg_arena *a, const char *file, ptxgen_ctx *ctx,
                            const ptxgen_interpretation *run, ptxgen_str ir,
                            const run_inputs *inputs)
{
    ptxgen_result *r = NULL;
    ptxgen_status status = ptxgen_interpret(ctx, ir, run, &r);
    run_print_result(m, file, NULL, r);
    ptxgen_result_destroy(r);
    if (status != PTXGEN_OK) {
        return status == PTXGEN_E_INVALID ? RUN_CHECK : RUN_TOOL;
    }
    run_exit result = RUN_OK;
    for (uint32_t i = 0; i < inputs->manifest->n_args; i++) {
        if (is_output(&inputs->values[i])) {
            run_exit compared = compare_text(m, a, file, &inputs->values[i], &run->args[i]);
            result = compared == RUN_OK ? result : compared;
        }
    }
    return result;
}

run_exit run_verify_text(const run_msgs *m, pg_arena *a, const char *file, ptxgen_str ir,
                         ptxgen_str target, const run_inputs *inputs)
{
    ptxgen_arg *args = make_args(a, inputs);
    ptxgen_ctx *ctx = NULL;
    if (args == NULL || ptxgen_ctx_create(NULL, &ctx) != PTXGEN_OK) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, file);
    }
    ptxgen_interpretation run = {
        .struct_size = sizeof run,
        .target = target,
        .entry = {inputs->manifest->entry, strlen(inputs->manifest->entry)},
        .args = args,
        .n_args = inputs->manifest->n_args,
    };
    run_exit status = verify_text(m, a, file, ctx, &run, ir, inputs);
    ptxgen_ctx_destroy(ctx);
    return status;
}
