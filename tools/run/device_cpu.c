/* device_cpu.c: the executor as a place to run. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/run/backend.h"
#include "tools/run/report_json.h"
#include "tools/run/trace.h"

enum { MAX_HOST_THREADS = 16 };

typedef struct cpu {
    run_target base;
    ptxexec_module *module;
    ptxexec_device *device;
    size_t *entries;     /* of the steps */
    uint64_t *addresses; /* of the buffers */
} cpu;

/* An array beyond the address space is memory that ran out too. */
static run_exit failed(const cpu *c, ptxexec_status status)
{
    const char *file = c->base.launch->file;
    return status == PTXEXEC_E_NOMEM || status == PTXEXEC_E_RESOURCE
               ? run_fail(c->base.msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, file)
               : run_fail(c->base.msgs, RUN_DEFECT, RUN_MSG_EXECUTOR, file,
                          ptxexec_status_text(status));
}

/* What a refusal by the executor means for the user, once its reasons are printed. */
static run_exit refused(const cpu *c, ptxexec_status status)
{
    bool is_ours = c->base.launch->is_ours;
    switch (status) {
    case PTXEXEC_E_NOMEM:
    case PTXEXEC_E_UNSUPPORTED: return is_ours || status == PTXEXEC_E_NOMEM ? RUN_TOOL : RUN_INPUT;
    case PTXEXEC_E_PARSE:
    case PTXEXEC_E_INVALID: return is_ours ? RUN_DEFECT : RUN_INPUT;
    case PTXEXEC_E_RESOURCE: return RUN_INPUT;
    case PTXEXEC_E_FAULT: return RUN_CHECK;
    case PTXEXEC_OK:
    case PTXEXEC_E_MISUSE:
    case PTXEXEC_E_INTERNAL:
    default: return RUN_DEFECT;
    }
}

static run_exit no_entry(const cpu *c, const char *entry)
{
    const size_t n = ptxexec_module_entry_count(c->module);
    const char **names = PG_NEWS(c->base.arena, const char *, n);
    for (size_t i = 0; names != NULL && i < n; i++) {
        ptxexec_entry about;
        names[i] = ptxexec_module_entry(c->module, i, &about) == PTXEXEC_OK ? about.name : "";
    }
    return names == NULL
               ? run_fail(c->base.msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, c->base.launch->file)
               : run_fail_entry(c->base.msgs, c->base.arena, c->base.launch->file, entry, names, n);
}

static run_exit load(cpu *c)
{
    run_launch *l = c->base.launch;
    ptxexec_status status = ptxexec_module_load(NULL, l->ptx.ptr, l->ptx.len, &c->module);
    l->module = c->module;
    size_t n = c->module == NULL ? 0 : ptxexec_module_diag_count(c->module);
    for (size_t i = 0; i < n; i++) {
        const ptxexec_diag d = ptxexec_module_diag(c->module, i);
        run_print_exec_diag(c->base.msgs, l, &d);
        if (l->json != NULL && c->base.msgs->json == NULL) { /* else it went there just now */
            run_json_message(l->json, &d);
        }
    }
    if (status != PTXEXEC_OK) {
        return n == 0 ? failed(c, status) : refused(c, status);
    }
    for (uint32_t i = 0; i < l->n_steps; i++) {
        const char *entry = l->steps[i].entry;
        if (ptxexec_module_find(c->module, entry, &c->entries[i]) != PTXEXEC_OK) {
            return no_entry(c, entry);
        }
    }
    return RUN_OK;
}

static run_exit cpu_close(run_target *t)
{
    cpu *c = (cpu *)t;
    ptxexec_device_destroy(c->device);
    ptxexec_module_destroy(c->module);
    t->launch->module = NULL;
    return RUN_OK;
}

static run_exit cpu_open(const run_msgs *m, pg_arena *a, run_launch *l, run_target **out,
                         const char **absent)
{
    cpu *c = PG_NEW(a, cpu);
    *out = NULL;
    *absent = "";
    if (c != NULL) {
        c->base = (run_target){.backend = &run_backend_cpu, .msgs = m, .arena = a, .launch = l};
        c->entries = PG_NEWS(a, size_t, l->n_steps);
        c->addresses = PG_NEWS(a, uint64_t, l->n_buffers);
    }
    if (a->is_oom) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, l->file);
    }
    run_exit status = load(c);
    if (status != RUN_OK) {
        (void)cpu_close(&c->base);
        return status;
    }
    *out = &c->base;
    return RUN_OK;
}

static run_exit cpu_begin(run_target *t)
{
    cpu *c = (cpu *)t;
    ptxexec_status status = ptxexec_device_create(NULL, &c->device);
    return status == PTXEXEC_OK ? RUN_OK : failed(c, status);
}

static run_exit cpu_end(run_target *t)
{
    cpu *c = (cpu *)t;
    ptxexec_device_destroy(c->device);
    c->device = NULL;
    return RUN_OK;
}

static run_exit cpu_alloc(run_target *t, uint32_t buffer, uint64_t *address)
{
    cpu *c = (cpu *)t;
    const run_buffer *b = &t->launch->buffers[buffer];
    ptxexec_status status = ptxexec_device_alloc(
        c->device, b->n_bytes, b->is_zero ? PTXEXEC_FILL_ZERO : PTXEXEC_FILL_POISON, b->label,
        &c->addresses[buffer]);
    if (status == PTXEXEC_OK && b->init != NULL && b->n_bytes != 0) {
        status = ptxexec_device_write(c->device, c->addresses[buffer], b->init, b->n_bytes);
    }
    *address = c->addresses[buffer];
    return status == PTXEXEC_OK ? RUN_OK : failed(c, status);
}

static run_exit cpu_encode(run_target *t, const ptxexec_tensormap *map, unsigned char out[128])
{
    ptxexec_status status = ptxexec_tensormap_encode(map, out);
    return status == PTXEXEC_OK ? RUN_OK : failed((cpu *)t, status);
}

static run_exit cpu_params(run_target *t, uint32_t step, uint32_t *n, const char **entry_name)
{
    const cpu *c = (cpu *)t;
    ptxexec_entry entry;
    ptxexec_status status = ptxexec_module_entry(c->module, c->entries[step], &entry);
    *n = status == PTXEXEC_OK ? entry.n_params : 0;
    *entry_name = status == PTXEXEC_OK ? entry.name : "";
    return status == PTXEXEC_OK ? RUN_OK : failed(c, status);
}

static run_exit cpu_param(run_target *t, uint32_t step, uint32_t index, run_param_info *out)
{
    const cpu *c = (cpu *)t;
    ptxexec_param about;
    ptxexec_status status = ptxexec_module_param(c->module, c->entries[step], index, &about);
    if (status != PTXEXEC_OK) {
        return failed(c, status);
    }
    *out = (run_param_info){about.name, about.size};
    return RUN_OK;
}

/* The parameter block as the kernel reads it. */
static ptxexec_status fill_block(const cpu *c, uint32_t step, const run_bytes *params,
                                 unsigned char *block)
{
    for (uint32_t i = 0; i < c->base.launch->steps[step].n_params; i++) {
        ptxexec_param about;
        ptxexec_status status = ptxexec_module_param(c->module, c->entries[step], i, &about);
        if (status != PTXEXEC_OK) {
            return status;
        }
        memcpy(block + about.offset, params[i].at, (size_t)params[i].n);
    }
    return PTXEXEC_OK;
}

static run_exit finish(const cpu *c, ptxexec_status status, const ptxexec_report *r, uint64_t seed,
                       bool is_first)
{
    run_launch *l = c->base.launch;
    if (is_first) {
        l->seconds += ptxexec_report_stats(r).seconds;
        l->n_lane_instructions += ptxexec_report_stats(r).n_lane_instructions;
    }
    if (is_first && l->json == NULL) {
        (void)fputs(ptxexec_report_output(r), stdout);
    }
    size_t n = ptxexec_report_diag_count(r);
    for (size_t i = 0; i < n; i++) {
        const ptxexec_diag d = ptxexec_report_diag(r, i);
        run_print_exec_diag(c->base.msgs, l, &d);
    }
    run_exit written = RUN_OK;
    if (l->trace != NULL && is_first) {
        written = run_trace_write(c->base.msgs, l->trace, r);
    }
    run_print_faults(c->base.msgs, l, r, seed);
    if (l->has_stats && is_first && l->json == NULL) {
        run_print_exec_stats(c->base.msgs, r);
    }
    if (status != PTXEXEC_OK && status != PTXEXEC_E_FAULT && n == 0) {
        return failed(c, status);
    }
    return status == PTXEXEC_OK ? written : refused(c, status);
}

static uint32_t host_threads(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_HOST_THREADS ? (uint32_t)MAX_HOST_THREADS : (uint32_t)n;
}

static run_exit cpu_launch_step(run_target *t, uint32_t step, const run_bytes *params,
                                uint64_t seed, bool is_first)
{
    cpu *c = (cpu *)t;
    const run_launch *l = t->launch;
    const run_step *at = &l->steps[step];
    ptxexec_entry entry;
    ptxexec_status status = ptxexec_module_entry(c->module, c->entries[step], &entry);
    if (status != PTXEXEC_OK) {
        return failed(c, status);
    }
    unsigned char *block = pg_arena_get(t->arena, entry.param_size, 1);
    status = block == NULL ? PTXEXEC_E_NOMEM : fill_block(c, step, params, block);
    if (status != PTXEXEC_OK) {
        return failed(c, status);
    }
    ptxexec_launch_options options = {
        .struct_size = sizeof options,
        .entry = c->entries[step],
        .grid = {at->grid[0], at->grid[1], at->grid[2]},
        .block = {at->block[0], at->block[1], at->block[2]},
        .cluster = {at->cluster[0], at->cluster[1], at->cluster[2]},
        .dynamic_shared = at->smem,
        .params = block,
        .params_size = entry.param_size,
        .seed = seed,
        .max_steps = l->max_steps,
        .host_threads = l->host_threads != 0 ? l->host_threads : host_threads(),
        .races = (ptxexec_races)l->races,
        .collect_stats = l->has_stats,
        .collect_trace = l->trace != NULL && is_first,
    };
    ptxexec_report *report = NULL;
    status = ptxexec_launch(c->device, c->module, &options, &report);
    if (report != NULL && l->json != NULL) {
        run_json_launch(l->json, l, entry.name, seed, report);
    }
    run_exit result =
        report == NULL ? failed(c, status) : finish(c, status, report, seed, is_first);
    ptxexec_report_destroy(report);
    return result;
}

static run_exit cpu_read(run_target *t, uint32_t buffer, void *bytes, uint64_t *n_poison,
                         uint64_t *first_poison)
{
    const cpu *c = (cpu *)t;
    ptxexec_status status =
        ptxexec_device_read(c->device, c->addresses[buffer], bytes,
                            t->launch->buffers[buffer].n_bytes, n_poison, first_poison);
    return status == PTXEXEC_OK ? RUN_OK : failed(c, status);
}

const run_backend run_backend_cpu = {
    .open = cpu_open,
    .begin = cpu_begin,
    .alloc = cpu_alloc,
    .encode = cpu_encode,
    .params = cpu_params,
    .param = cpu_param,
    .launch_step = cpu_launch_step,
    .read = cpu_read,
    .end = cpu_end,
    .close = cpu_close,
};
