#include "tools/run/device.h"

#include <string.h>

#include "tools/run/backend.h"
#include "tools/run/cuda_api.h"
#include "tools/run/memory.h"
#include "tools/run/report_json.h"

enum { MAP_SIZE = 128, MAP_ALIGN = 64, MAX_SHOWN_RULES = 8 };

typedef struct session {
    const run_msgs *msgs;
    pg_arena *arena;
    run_launch *launch;
    const run_backend *on;
    run_target *target;
    uint64_t *addresses; /* of the buffers */
} session;

static run_exit no_memory(const session *s)
{
    return run_fail(s->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, s->launch->file);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* A map over an array that is in place now. */
static run_exit make_map(const session *s, const run_param *p, unsigned char **out)
{
    ptxexec_tensormap map = *p->map;
    ptxexec_tensormap_fault faults[MAX_SHOWN_RULES];
    size_t n_errors;
    map.address = s->addresses[p->buffer] + p->offset;
    size_t n = ptxexec_tensormap_check(&map, faults, MAX_SHOWN_RULES, &n_errors);
    for (size_t i = 0; i < n && i < MAX_SHOWN_RULES; i++) {
        pg_strbuf text;
        pg_strbuf_init(&text, pg_alloc_default());
        pg_putf(&text, "tensor map '%s': %s", p->spec, faults[i].message);
        const run_note note = {
            .file = s->launch->file,
            .severity = faults[i].severity == PTXEXEC_ERROR ? "error" : "warning",
            .number = faults[i].number,
            .message = text.is_oom ? faults[i].message : text.ptr,
            .help = faults[i].help,
        };
        run_print(s->msgs, &note);
        pg_strbuf_fini(&text);
    }
    if (n_errors != 0) {
        return RUN_INPUT;
    }
    unsigned char *room = pg_arena_get(s->arena, MAP_SIZE + MAP_ALIGN, 1);
    if (room == NULL) {
        return no_memory(s);
    }
    *out = room + (MAP_ALIGN - (uintptr_t)room % MAP_ALIGN);
    return s->on->encode(s->target, &map, *out);
}

static run_exit make_param(const session *s, uint32_t step, uint32_t i, run_bytes *out)
{
    const run_param *p = &s->launch->steps[step].params[i];
    run_param_info about;
    if (p->map != NULL) {
        unsigned char *map = NULL;
        run_exit status = make_map(s, p, &map);
        *out = (run_bytes){map, MAP_SIZE};
        if (status != RUN_OK) {
            return status;
        }
    } else if (p->buffer >= 0) {
        const uint64_t address = s->addresses[p->buffer] + p->offset;
        if (p->align != 0 && address % p->align != 0) { /* it relies on that: wide accesses */
            return run_fail(s->msgs, RUN_INPUT, RUN_MSG_ARG_ALIGN, s->launch->file, p->spec,
                            (unsigned long long)address, (unsigned)p->align);
        }
        *out = (run_bytes){pg_arena_copy(s->arena, &address, sizeof address), sizeof address};
    } else {
        *out = (run_bytes){p->bytes, p->n_bytes};
    }
    if (out->at == NULL) {
        return no_memory(s);
    }
    run_exit status = s->on->param(s->target, step, i, &about);
    if (status == RUN_OK && about.size != RUN_PARAM_UNKNOWN && about.size != out->n) {
        return run_fail(s->msgs, s->launch->is_ours ? RUN_DEFECT : RUN_INPUT, RUN_MSG_SPEC_SIZE,
                        s->launch->file, p->spec, (unsigned long long)out->n, (unsigned)i,
                        about.name, (unsigned)about.size);
    }
    return status;
}

static run_exit make_params(const session *s, uint32_t step, run_bytes **out)
{
    const run_launch *l = s->launch;
    const run_step *at = &l->steps[step];
    uint32_t n;
    const char *entry;
    *out = PG_NEWS(s->arena, run_bytes, at->n_params);
    if (*out == NULL) {
        return no_memory(s);
    }
    run_exit status = s->on->params(s->target, step, &n, &entry);
    if (status == RUN_OK && n != RUN_PARAM_UNKNOWN && n != at->n_params) {
        return run_fail(s->msgs, l->is_ours ? RUN_DEFECT : RUN_INPUT, RUN_MSG_SPEC_COUNT, l->file,
                        entry, (unsigned)n, (unsigned)at->n_params);
    }
    for (uint32_t i = 0; i < at->n_params && status == RUN_OK; i++) {
        status = make_param(s, step, i, &(*out)[i]);
    }
    return status;
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static run_exit make_buffers(const session *s)
{
    run_exit status = RUN_OK;
    for (uint32_t i = 0; i < s->launch->n_buffers && status == RUN_OK; i++) {
        status = s->on->alloc(s->target, i, &s->addresses[i]);
    }
    return status;
}

static run_exit launch_steps(const session *s, uint64_t seed, bool is_first)
{
    run_exit status = RUN_OK;
    for (uint32_t i = 0; i < s->launch->n_steps && status == RUN_OK; i++) {
        pg_arena_mark mark = pg_arena_mark_get(s->arena);
        run_bytes *params = NULL;
        status = make_params(s, i, &params);
        if (status == RUN_OK) {
            status = s->on->launch_step(s->target, i, params, seed, is_first);
        }
        pg_arena_release(s->arena, mark);
    }
    return status;
}

/* Keeps the results of the first seed, compares those of the others with them. */
static run_exit take_results(const session *s, uint64_t seed, bool is_first, bool is_loose)
{
    run_launch *l = s->launch;
    for (uint32_t i = 0; i < l->n_buffers; i++) {
        run_buffer *b = &l->buffers[i];
        if (!b->is_output) {
            continue;
        }
        unsigned char *bytes = pg_arena_get(s->arena, (size_t)b->n_bytes, 1);
        uint64_t n_poison = 0;
        uint64_t first_poison = 0;
        run_exit status = bytes == NULL
                              ? no_memory(s)
                              : s->on->read(s->target, i, bytes, &n_poison, &first_poison);
        if (status != RUN_OK) {
            return status;
        }
        if (is_first) {
            b->result = bytes;
            b->n_poison = n_poison;
            b->first_poison = first_poison;
            continue;
        }
        size_t size = b->type == RUN_D_NONE ? 1 : run_dtypes[b->type].size;
        uint64_t at = run_first_difference(b, bytes, is_loose);
        if (at < b->n_bytes / size) {
            return run_fail(s->msgs, RUN_CHECK, RUN_MSG_SEEDS_DIFFER, l->file,
                            (unsigned long long)seed, b->label, (unsigned long long)at);
        }
    }
    return RUN_OK;
}

static run_exit run_seed(const session *s, uint64_t seed, bool is_first, bool is_loose)
{
    run_exit result = s->on->begin(s->target);
    if (result == RUN_OK) {
        result = make_buffers(s);
    }
    if (result == RUN_OK) {
        result = launch_steps(s, seed, is_first);
    }
    if (result == RUN_OK) {
        pg_arena_mark mark = pg_arena_mark_get(s->arena);
        result = take_results(s, seed, is_first, is_loose);
        if (!is_first) {
            pg_arena_release(s->arena, mark);
        }
    }
    run_exit ended = s->on->end(s->target);
    return result == RUN_OK ? ended : result;
}

/* ---- where ----------------------------------------------------------------------------------- */

bool run_is_on_cpu(run_on where, bool wants_executor)
{
    if (where == RUN_ON_CPU || where == RUN_ON_CUDA || wants_executor) {
        return where != RUN_ON_CUDA;
    }
    run_cuda driver;
    char why[256];
    return !run_cuda_open(&driver, why, sizeof why);
}

/* Arrays as the executor has them, with a byte that says whether each of theirs was written; and
 * what comes back. */
static run_exit check_room(const session *s)
{
    uint64_t arrays = 0;
    uint64_t need = 0;
    for (uint32_t i = 0; i < s->launch->n_buffers; i++) {
        const run_buffer *b = &s->launch->buffers[i];
        run_memory_add(&arrays, b->n_bytes, 1);
        run_memory_add(&need, b->n_bytes, b->is_output ? 3 : 2);
    }
    return run_memory_check(s->msgs, s->launch->file, arrays, need);
}

static run_exit open_on(session *s, const run_backend *on, const char **absent)
{
    const run_exit status = on == &run_backend_cpu ? check_room(s) : RUN_OK;
    s->on = on;
    return status != RUN_OK ? status : on->open(s->msgs, s->arena, s->launch, &s->target, absent);
}

/* A GPU where there is one, unless the run asks for what only the executor can do. */
static run_exit choose(session *s)
{
    run_launch *l = s->launch;
    const char *absent = "";
    bool is_free = l->device == RUN_ON_ANY || l->device == RUN_ON_AUTO;
    bool wants_executor = l->races != RUN_RACES_OFF || l->has_stats || l->max_steps != 0;
    if (l->device == RUN_ON_CPU || (is_free && wants_executor)) {
        return open_on(s, &run_backend_cpu, &absent);
    }
    run_exit status = open_on(s, &run_backend_cuda, &absent);
    if (status != RUN_OK || s->target != NULL) {
        return status;
    }
    if (!is_free) {
        return run_fail(s->msgs, RUN_TOOL, RUN_MSG_NO_CUDA, l->file, absent);
    }
    if (l->device == RUN_ON_AUTO) {
        (void)run_fail(s->msgs, RUN_OK, RUN_MSG_ON_CPU, l->file, absent);
    }
    return open_on(s, &run_backend_cpu, &absent);
}

run_exit run_launch_all(const run_msgs *m, pg_arena *a, run_launch *launch)
{
    session s = {.msgs = m, .arena = a, .launch = launch};
    s.addresses = PG_NEWS(a, uint64_t, launch->n_buffers);
    run_exit result = s.addresses == NULL ? no_memory(&s) : choose(&s);
    if (result != RUN_OK) {
        return result;
    }
    if (launch->json != NULL) {
        launch->json->device = s.on == &run_backend_cuda ? "cuda" : "cpu";
    }
    uint64_t n = launch->n_seeds == 0 ? 1 : launch->n_seeds;
    bool is_loose = n > 1 && run_has_float_atomics(launch->ptx);
    for (uint64_t i = 0; i < n && result == RUN_OK; i++) {
        result = run_seed(&s, launch->first_seed + i, i == 0, is_loose);
    }
    run_exit closed = s.on->close(s.target);
    return result == RUN_OK ? closed : result;
}
