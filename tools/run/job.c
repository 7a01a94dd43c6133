#include "tools/run/job.h"

#include <string.h>

#include "tools/run/tmap.h"

typedef struct job {
    const run_msgs *msgs;
    pg_arena *arena;
    const run_how *how;
    run_inputs *in;
    run_launch launch;
} job;

/* An expression of the manifest that must be within 1 .. limit. */
static run_exit eval_size(const job *j, const char *what, pg_str expression, int64_t least,
                          uint32_t *out)
{
    int64_t x = 0;
    run_exit status = run_inputs_eval(j->msgs, j->in, j->how->file, what, expression, &x);
    if (status == RUN_OK && (x < least || x > INT32_MAX)) {
        return run_fail(j->msgs, RUN_INPUT, RUN_MSG_GRID, j->how->file, what, (long long)x);
    }
    *out = (uint32_t)x;
    return status;
}

static run_exit eval_launch(const job *j, const run_manifest *manifest, run_step *step)
{
    static const char *const names[] = {"grid.x", "grid.y", "grid.z"};
    step->entry = manifest->entry;
    for (int i = 0; i < 3; i++) {
        run_exit status = eval_size(j, names[i], manifest->grid[i], 1, &step->grid[i]);
        if (status != RUN_OK) {
            return status;
        }
        step->block[i] = manifest->block[i];
        step->cluster[i] = manifest->cluster[i];
        if (step->grid[i] % step->cluster[i] != 0) {
            return run_fail(j->msgs, RUN_INPUT, RUN_MSG_GRID_CLUSTER, j->how->file, names[i],
                            (unsigned)step->grid[i], (unsigned)step->cluster[i]);
        }
    }
    return eval_size(j, "smem", manifest->smem, 0, &step->smem);
}

static run_exit make_buffers(job *j)
{
    uint32_t n = j->in->manifest->n_args;
    run_buffer *buffers = PG_NEWS(j->arena, run_buffer, n);
    if (buffers == NULL) {
        return run_fail(j->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, j->how->file);
    }
    uint32_t n_buffers = 0;
    for (uint32_t i = 0; i < n; i++) {
        const run_value *v = &j->in->values[i];
        if (v->spec->kind == RUN_ARG_POINTER) {
            buffers[n_buffers++] = (run_buffer){
                .label = v->spec->name,
                .init = v->array.data,
                .n_bytes = v->array.n_bytes,
                /* What is only read comes back too, to see that it is only read. */
                .is_output = v->spec->is_out || v->spec->is_in || v->out_file != NULL,
                .type = v->spec->type,
                .align = v->spec->align,
            };
        }
    }
    j->launch.buffers = buffers;
    j->launch.n_buffers = n_buffers;
    return RUN_OK;
}

/* The value of a launch's argument, and which buffer it is. */
static const run_value *find_value(const job *j, const char *name, int32_t *buffer)
{
    *buffer = 0;
    for (uint32_t i = 0; i < j->in->manifest->n_args; i++) {
        const run_value *v = &j->in->values[i];
        if (strcmp(v->spec->name, name) == 0) {
            return v;
        }
        *buffer += v->spec->kind == RUN_ARG_POINTER;
    }
    return NULL;
}

/* The manifest's lists are outermost first, the driver's innermost first. What the numbers may be
 * is checked where the map is made. */
static run_exit make_map(job *j, const run_arg_spec *arg, run_param *param)
{
    enum { MOST = 5 };
    ptxexec_tensormap *map = PG_NEW(j->arena, ptxexec_tensormap);
    if (map == NULL) {
        return run_fail(j->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, j->how->file);
    }
    *map = (ptxexec_tensormap){
        .struct_size = sizeof *map,
        .type = run_tmap_type(arg->type),
        .rank = arg->rank,
        .swizzle = arg->swizzle == 128  ? 3
                   : arg->swizzle == 64 ? 2
                   : arg->swizzle == 32 ? 1
                                        : 0,
    };
    run_exit status = RUN_OK;
    for (uint32_t d = 0; d < arg->rank && arg->rank <= MOST && status == RUN_OK; d++) {
        uint32_t at = arg->rank - 1 - d;
        int64_t x = 0;
        status = run_inputs_eval(j->msgs, j->in, j->how->file, arg->name, arg->shape[d], &x);
        map->dims[at] = (uint64_t)x;
        map->box[at] = arg->box[d];
        map->elem_strides[at] = 1;
        if (status == RUN_OK && at > 0) {
            status = run_inputs_eval(j->msgs, j->in, j->how->file, arg->name, arg->strides[d], &x);
            map->strides[at - 1] = (uint64_t)x;
        }
    }
    const run_value *array = find_value(j, pg_arena_str(j->arena, arg->of).ptr, &param->buffer);
    if (array == NULL || array->spec->kind != RUN_ARG_POINTER) {
        return run_fail(j->msgs, RUN_DEFECT, RUN_MSG_MANIFEST, j->how->file,
                        "the array of a tensor map is missing");
    }
    param->map = map;
    return status;
}

static run_exit make_step(job *j, const run_manifest *manifest, run_step *step)
{
    run_exit status = eval_launch(j, manifest, step);
    run_param *params = PG_NEWS(j->arena, run_param, manifest->n_args);
    if (status != RUN_OK || params == NULL) {
        return status != RUN_OK ? status
                                : run_fail(j->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, j->how->file);
    }
    for (uint32_t i = 0; i < manifest->n_args && status == RUN_OK; i++) {
        int32_t buffer;
        const run_value *v = find_value(j, manifest->args[i].name, &buffer);
        if (v == NULL) {
            return run_fail(j->msgs, RUN_DEFECT, RUN_MSG_MANIFEST, j->how->file,
                            "an argument of a launch is missing");
        }
        params[i] = (run_param){.spec = v->spec->name, .buffer = -1};
        if (v->spec->kind == RUN_ARG_POINTER) {
            params[i].buffer = buffer;
            params[i].align = v->spec->align;
        } else if (v->spec->kind == RUN_ARG_TENSORMAP) {
            status = make_map(j, v->spec, &params[i]);
        } else {
            params[i].bytes = &v->bits; /* little-endian: the low bytes come first */
            params[i].n_bytes = run_dtypes[v->spec->type].size;
        }
    }
    step->params = params;
    step->n_params = manifest->n_args;
    return status;
}

static run_exit make_steps(job *j)
{
    run_step *steps = PG_NEWS(j->arena, run_step, j->how->n_launches);
    if (steps == NULL) {
        return run_fail(j->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, j->how->file);
    }
    run_exit status = RUN_OK;
    for (uint32_t i = 0; i < j->how->n_launches && status == RUN_OK; i++) {
        status = make_step(j, &j->how->launches[i], &steps[i]);
    }
    j->launch.steps = steps;
    j->launch.n_steps = j->how->n_launches;
    return status;
}

/* An array that is promised to be read only. What is stored with equal bytes nobody can tell. */
static run_exit check_kept(const job *j, const run_value *v)
{
    const unsigned char *before = v->array.data, *after = v->result;
    if (!v->spec->is_in || v->spec->is_out || v->array.n_bytes == 0 ||
        memcmp(before, after, (size_t)v->array.n_bytes) == 0) {
        return RUN_OK;
    }
    uint64_t at = 0;
    while (before[at] == after[at]) {
        at++;
    }
    return run_fail(j->msgs, RUN_CHECK, RUN_MSG_ROLE_BROKEN, j->how->file, v->spec->name,
                    (unsigned long long)(at / run_dtypes[v->array.type].size));
}

static run_exit take_results(job *j)
{
    run_exit result = RUN_OK;
    uint32_t at = 0;
    size_t n_files = 0;
    run_file *files = PG_NEWS(j->arena, run_file, j->in->manifest->n_args);
    if (files == NULL) {
        return run_fail(j->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, j->how->file);
    }
    for (uint32_t i = 0; i < j->in->manifest->n_args; i++) {
        run_value *v = &j->in->values[i];
        if (v->spec->kind != RUN_ARG_POINTER) {
            continue;
        }
        const run_buffer *b = &j->launch.buffers[at++];
        v->result = b->result;
        if (v->out_file != NULL && b->is_output) {
            run_array out = v->array;
            out.data = b->result;
            run_exit status = run_npy_file(j->msgs, j->arena, v->out_file, &out, &files[n_files++]);
            result = result == RUN_OK ? status : result;
        }
        const run_exit kept = check_kept(j, v);
        result = result == RUN_OK ? kept : result;
        if (b->is_output && v->spec->is_out && b->n_poison != 0) {
            result = run_fail(j->msgs, RUN_CHECK, RUN_MSG_NOT_WRITTEN, j->how->file,
                              (unsigned long long)b->n_poison, v->spec->name,
                              (unsigned long long)(b->first_poison / run_dtypes[b->type].size));
        }
    }
    run_exit written = run_write_files(j->msgs, files, n_files);
    return result == RUN_OK ? written : result;
}

run_exit run_job(const run_msgs *m, pg_arena *a, const run_how *how, run_inputs *inputs,
                 run_cost *cost)
{
    job j = {.msgs = m, .arena = a, .how = how, .in = inputs};
    const ptxgen_str ptx = ptxgen_result_ptx(how->compiled);
    j.launch = (run_launch){
        .file = how->file,
        .ptx = {ptx.ptr, ptx.len},
        .is_ours = true,
        .compiled = how->compiled,
        .ir = how->ir,
        .device = how->device,
        .first_seed = how->first_seed,
        .n_seeds = how->n_seeds,
        .races = how->races,
        .has_stats = how->has_stats,
        .max_steps = how->max_steps,
        .host_threads = how->host_threads,
        .json = m->json,
    };
    run_exit status = make_steps(&j);
    if (status == RUN_OK) {
        status = make_buffers(&j);
    }
    if (status == RUN_OK) {
        status = run_launch_all(m, a, &j.launch);
    }
    *cost = (run_cost){j.launch.seconds, j.launch.n_lane_instructions};
    return status == RUN_OK ? take_results(&j) : status;
}
