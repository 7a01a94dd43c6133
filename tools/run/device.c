#include "tools/run/device.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tools/exec/ptxexec.h"

enum { MAX_HOST_THREADS = 16, MAX_SHOWN_OPCODES = 20 };

typedef struct session {
    const run_msgs *msgs;
    pg_arena *arena;
    run_launch *launch;
    ptxexec_module *module;
    ptxexec_device *device;
    ptxexec_report *report;
    size_t *entries; /* of the steps */
    uint64_t addresses[256];
} session;

static void print_diag(const session *s, const ptxexec_diag *d)
{
    static const char *const names[] = {"note", "warning", "error"};
    const run_note note = {
        .file = s->launch->file,
        .line = d->line,
        .column = d->column,
        .severity = names[d->severity <= PTXEXEC_ERROR ? d->severity : PTXEXEC_ERROR],
        .number = d->number,
        .message = d->message,
        .help = d->help,
        .source = s->launch->ptx.ptr,
    };
    run_print(s->msgs, &note);
}

/* An array beyond the address space is memory that ran out too. */
static run_exit failed(const session *s, ptxexec_status status)
{
    bool is_memory = status == PTXEXEC_E_NOMEM || status == PTXEXEC_E_RESOURCE;
    return run_fail(s->msgs, is_memory ? RUN_TOOL : RUN_DEFECT,
                    is_memory ? RUN_MSG_NO_MEMORY : RUN_MSG_EXECUTOR, s->launch->file,
                    ptxexec_status_text(status));
}

/* What a refusal by the executor means for the user, once its reasons are printed. */
static run_exit refused(const session *s, ptxexec_status status)
{
    switch (status) {
    case PTXEXEC_E_NOMEM:
    case PTXEXEC_E_UNSUPPORTED:
        return s->launch->is_ours || status == PTXEXEC_E_NOMEM ? RUN_TOOL : RUN_INPUT;
    case PTXEXEC_E_PARSE:
    case PTXEXEC_E_INVALID: return s->launch->is_ours ? RUN_DEFECT : RUN_INPUT;
    case PTXEXEC_E_RESOURCE: return RUN_INPUT;
    case PTXEXEC_E_FAULT: return RUN_CHECK;
    case PTXEXEC_OK:
    case PTXEXEC_E_MISUSE:
    case PTXEXEC_E_INTERNAL:
    default: return RUN_DEFECT;
    }
}

static run_exit load(session *s)
{
    const run_launch *l = s->launch;
    ptxexec_status status = ptxexec_module_load(NULL, l->ptx.ptr, l->ptx.len, &s->module);
    size_t n = s->module == NULL ? 0 : ptxexec_module_diag_count(s->module);
    for (size_t i = 0; i < n; i++) {
        const ptxexec_diag d = ptxexec_module_diag(s->module, i);
        print_diag(s, &d);
    }
    if (status != PTXEXEC_OK) {
        return n == 0 ? failed(s, status) : refused(s, status);
    }
    s->entries = PG_NEWS(s->arena, size_t, l->n_steps);
    if (s->entries == NULL) {
        return failed(s, PTXEXEC_E_NOMEM);
    }
    for (uint32_t i = 0; i < l->n_steps; i++) {
        const char *entry = l->steps[i].entry;
        if (ptxexec_module_find(s->module, entry, &s->entries[i]) != PTXEXEC_OK) {
            return run_fail(s->msgs, RUN_INPUT, RUN_MSG_ENTRY, l->file, entry == NULL ? "" : entry);
        }
    }
    return RUN_OK;
}

static run_exit make_buffers(session *s)
{
    const run_launch *l = s->launch;
    if (l->n_buffers > PG_COUNT_OF(s->addresses)) {
        return failed(s, PTXEXEC_E_RESOURCE);
    }
    for (uint32_t i = 0; i < l->n_buffers; i++) {
        const run_buffer *b = &l->buffers[i];
        ptxexec_status status = ptxexec_device_alloc(
            s->device, b->n_bytes, b->is_zero ? PTXEXEC_FILL_ZERO : PTXEXEC_FILL_POISON, b->label,
            &s->addresses[i]);
        if (status == PTXEXEC_OK && b->init != NULL && b->n_bytes != 0) {
            status = ptxexec_device_write(s->device, s->addresses[i], b->init, b->n_bytes);
        }
        if (status != PTXEXEC_OK) {
            return failed(s, status);
        }
    }
    return RUN_OK;
}

static run_exit make_params(session *s, uint32_t step, const ptxexec_entry *entry,
                            unsigned char **out)
{
    const run_launch *launch = s->launch;
    const run_step *l = &launch->steps[step];
    unsigned char *block = pg_arena_get(s->arena, entry->param_size, 1);
    if (block == NULL) {
        return failed(s, PTXEXEC_E_NOMEM);
    }
    if (entry->n_params != l->n_params) {
        return run_fail(s->msgs, launch->is_ours ? RUN_DEFECT : RUN_INPUT, RUN_MSG_SPEC_COUNT,
                        launch->file, entry->name, (unsigned)entry->n_params,
                        (unsigned)l->n_params);
    }
    for (uint32_t i = 0; i < l->n_params; i++) {
        const run_param *p = &l->params[i];
        ptxexec_param about;
        ptxexec_status status = ptxexec_module_param(s->module, s->entries[step], i, &about);
        if (status != PTXEXEC_OK) {
            return failed(s, status);
        }
        uint64_t address = p->buffer < 0 ? 0 : s->addresses[p->buffer] + p->offset;
        uint64_t size = p->buffer < 0 ? p->n_bytes : sizeof address;
        if (size != about.size) {
            return run_fail(s->msgs, launch->is_ours ? RUN_DEFECT : RUN_INPUT, RUN_MSG_SPEC_SIZE,
                            launch->file, p->spec, (unsigned long long)size, (unsigned)i,
                            about.name, (unsigned)about.size);
        }
        memcpy(block + about.offset, p->buffer < 0 ? p->bytes : &address, (size_t)size);
    }
    *out = block;
    return RUN_OK;
}

/* An access in PTX that we compiled is shown at the author's line where there is one, and below it
 * at the PTX line, which says more but was written by nobody. */
static void print_access(const session *s, const ptxexec_access *at, bool is_error,
                         const char *what, const char *help)
{
    const run_launch *l = s->launch;
    uint32_t line = l->ir == NULL ? 0 : ptxgen_result_source_line(l->compiled, at->line);
    pg_strbuf place;
    pg_strbuf_init(&place, pg_alloc_default());
    pg_putf(&place, l->compiled == NULL ? "%s" : "PTX of %s", l->file);
    run_note note = {
        .file = place.is_oom ? l->file : place.ptr,
        .line = at->line,
        .column = at->column,
        .severity = is_error ? "error" : "note",
        .number = is_error ? RUN_MSG_FAULT : 0,
        .message = what,
        .help = help,
        .source = l->ptx.ptr,
    };
    if (line != 0) {
        run_note at_ir = note;
        at_ir.file = l->file;
        at_ir.line = line;
        at_ir.column = run_first_column(l->ir, line);
        at_ir.source = l->ir;
        run_print(s->msgs, &at_ir);
        note.severity = "note";
        note.number = 0;
        note.message = "the instruction that it became";
        note.help = "";
    }
    run_print(s->msgs, &note);
    pg_strbuf_fini(&place);
}

/* The other side of a race. */
static void print_other(const session *s, const ptxexec_access *at)
{
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_putf(&text, "the other access: CTA %u,%u,%u, thread %u,%u,%u (warp %u, lane %u)", at->cta[0],
            at->cta[1], at->cta[2], at->thread[0], at->thread[1], at->thread[2], at->warp,
            at->lane);
    print_access(s, at, false, text.is_oom ? "the other access" : text.ptr, "");
    pg_strbuf_fini(&text);
}

static void print_faults(const session *s, uint64_t seed)
{
    size_t n = ptxexec_report_fault_count(s->report);
    for (size_t i = 0; i < n; i++) {
        const ptxexec_fault f = ptxexec_report_fault(s->report, i);
        pg_strbuf text;
        pg_strbuf_init(&text, pg_alloc_default());
        pg_putf(&text, "%s: %s", ptxexec_fault_kind_text(f.kind), f.message);
        pg_putf(&text, " [CTA %u,%u,%u, thread %u,%u,%u", f.at.cta[0], f.at.cta[1], f.at.cta[2],
                f.at.thread[0], f.at.thread[1], f.at.thread[2]);
        if (s->launch->n_seeds > 1) {
            pg_putf(&text, ", seed %llu", (unsigned long long)seed);
        }
        pg_put(&text, "]");
        print_access(s, &f.at, true, text.is_oom ? f.message : text.ptr,
                     i + 1 == n ? "docs/executor.md explains each kind of fault" : "");
        pg_strbuf_fini(&text);
        if (f.has_other != 0) {
            print_other(s, &f.other);
        }
    }
}

/* Instructions that touch memory: passes over the banks and what conflicts add; sectors. */
static void print_lines(const session *s)
{
    FILE *to = s->msgs->to;
    size_t n = ptxexec_report_line_count(s->report);
    if (n > 0) {
        (void)fprintf(to, "%6s %12s %12s %10s %12s %12s\n", "line", "shared", "wavefronts", "extra",
                      "global", "sectors");
    }
    for (size_t i = 0; i < n; i++) {
        const ptxexec_line_stats x = ptxexec_report_line(s->report, i);
        (void)fprintf(to, "%6u %12llu %12llu %10llu %12llu %12llu  %s\n", (unsigned)x.line,
                      (unsigned long long)x.n_shared_accesses,
                      (unsigned long long)x.n_shared_wavefronts,
                      (unsigned long long)x.n_shared_extra, (unsigned long long)x.n_global_accesses,
                      (unsigned long long)x.n_global_sectors, x.opcode);
    }
}

static void print_stats(const session *s)
{
    const ptxexec_stats st = ptxexec_report_stats(s->report);
    FILE *to = s->msgs->to;
    (void)fprintf(to,
                  "CTAs %llu, warps %llu, warp instructions %llu, lane instructions %llu\n"
                  "global: %llu accesses, %llu sectors of 32 bytes; shared: %llu accesses, %llu "
                  "wavefronts, %llu by bank conflicts; %.3f s\n",
                  (unsigned long long)st.n_ctas, (unsigned long long)st.n_warps,
                  (unsigned long long)st.n_steps, (unsigned long long)st.n_lane_instructions,
                  (unsigned long long)st.n_global_accesses, (unsigned long long)st.n_global_sectors,
                  (unsigned long long)st.n_shared_accesses,
                  (unsigned long long)st.n_shared_wavefronts, (unsigned long long)st.n_shared_extra,
                  st.seconds);
    size_t n = ptxexec_report_opcode_count(s->report);
    for (size_t i = 0; i < n && i < MAX_SHOWN_OPCODES; i++) {
        const ptxexec_opcode_count c = ptxexec_report_opcode(s->report, i);
        (void)fprintf(to, "%12llu %14llu  %s\n", (unsigned long long)c.n_steps,
                      (unsigned long long)c.n_lane_instructions, c.opcode);
    }
    print_lines(s);
}

static run_exit launch_step(session *s, uint32_t step, uint64_t seed, bool is_first)
{
    run_launch *l = s->launch;
    const run_step *at = &l->steps[step];
    ptxexec_entry entry;
    ptxexec_status status = ptxexec_module_entry(s->module, s->entries[step], &entry);
    if (status != PTXEXEC_OK) {
        return failed(s, status);
    }
    unsigned char *params = NULL;
    run_exit made = make_params(s, step, &entry, &params);
    if (made != RUN_OK) {
        return made;
    }
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    ptxexec_launch_options options = {
        .struct_size = sizeof options,
        .entry = s->entries[step],
        .grid = {at->grid[0], at->grid[1], at->grid[2]},
        .block = {at->block[0], at->block[1], at->block[2]},
        .cluster = {at->cluster[0], at->cluster[1], at->cluster[2]},
        .dynamic_shared = at->smem,
        .params = params,
        .params_size = entry.param_size,
        .seed = seed,
        .max_steps = l->max_steps,
        .host_threads = threads < 1                  ? 1
                        : threads > MAX_HOST_THREADS ? (uint32_t)MAX_HOST_THREADS
                                                     : (uint32_t)threads,
        .races = (ptxexec_races)l->races,
        .collect_stats = l->has_stats,
    };
    status = ptxexec_launch(s->device, s->module, &options, &s->report);
    if (s->report == NULL) {
        return failed(s, status);
    }
    if (is_first) {
        l->seconds += ptxexec_report_stats(s->report).seconds;
        (void)fputs(ptxexec_report_output(s->report), stdout);
    }
    size_t n = ptxexec_report_diag_count(s->report);
    for (size_t i = 0; i < n; i++) {
        const ptxexec_diag d = ptxexec_report_diag(s->report, i);
        print_diag(s, &d);
    }
    print_faults(s, seed);
    if (l->has_stats && is_first) {
        print_stats(s);
    }
    if (status != PTXEXEC_OK && status != PTXEXEC_E_FAULT && n == 0) {
        return failed(s, status);
    }
    return status == PTXEXEC_OK ? RUN_OK : refused(s, status);
}

static run_exit launch_once(session *s, uint64_t seed, bool is_first)
{
    run_exit result = RUN_OK;
    for (uint32_t i = 0; i < s->launch->n_steps && result == RUN_OK; i++) {
        result = launch_step(s, i, seed, is_first);
        ptxexec_report_destroy(s->report);
        s->report = NULL;
    }
    return result;
}

/* Atomics on floats add up in any order, and so may round differently. */
static bool has_float_atomics(pg_str ptx)
{
    const char *line = ptx.ptr;
    while (line != NULL && *line != '\0') {
        size_t len = strcspn(line, "\n");
        size_t at = strspn(line, " \t");
        pg_str text = pg_str_sub((pg_str){line, len}, at, len);
        if (text.len != 0 && text.ptr[0] == '@') {
            size_t guard = strcspn(text.ptr, " \t\n");
            text = pg_str_sub(text, guard + strspn(text.ptr + guard, " \t"), text.len);
        }
        if (pg_str_starts(text, PG_STR("atom.")) || pg_str_starts(text, PG_STR("red."))) {
            for (size_t i = 0; i + 2 < text.len && text.ptr[i] != ' ' && text.ptr[i] != '\t'; i++) {
                if (text.ptr[i] == '.' && (text.ptr[i + 1] == 'f' || text.ptr[i + 1] == 'b') &&
                    (text.ptr[i + 2] == 'f' || text.ptr[i + 1] == 'f')) {
                    return true;
                }
            }
        }
        line = line[len] == '\n' ? line + len + 1 : NULL;
    }
    return false;
}

/* First element in which `other` differs from the buffer's result; n_bytes / size if none. */
static uint64_t first_difference(const run_buffer *b, const unsigned char *other, bool is_loose)
{
    size_t size = b->type == RUN_D_NONE ? 1 : run_dtypes[b->type].size;
    uint64_t n = b->n_bytes / size;
    bool is_float = b->type != RUN_D_NONE && run_dtypes[b->type].kind == 'f';
    double mean = 0;
    for (uint64_t i = 0; is_loose && is_float && i < n; i++) {
        mean += fabs(run_elem_get(b->type, b->result + i * size)) / (double)n;
    }
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *x = b->result + i * size;
        const unsigned char *y = other + i * size;
        if (memcmp(x, y, size) == 0) {
            continue;
        }
        if (is_loose && is_float) {
            double a = run_elem_get(b->type, x);
            double gap = fabs(a - run_elem_get(b->type, y));
            if (gap <= 64 * run_dtypes[b->type].unit * (fabs(a) + mean)) {
                continue;
            }
        }
        return i;
    }
    return n;
}

/* Keeps the results of the first seed, compares those of the others with them. */
static run_exit take_results(session *s, uint64_t seed, bool is_first, bool is_loose)
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
        ptxexec_status status = bytes == NULL
                                    ? PTXEXEC_E_NOMEM
                                    : ptxexec_device_read(s->device, s->addresses[i], bytes,
                                                          b->n_bytes, &n_poison, &first_poison);
        if (status != PTXEXEC_OK) {
            return failed(s, status);
        }
        if (is_first) {
            b->result = bytes;
            b->n_poison = n_poison;
            b->first_poison = first_poison;
            continue;
        }
        size_t size = b->type == RUN_D_NONE ? 1 : run_dtypes[b->type].size;
        uint64_t at = first_difference(b, bytes, is_loose);
        if (at < b->n_bytes / size) {
            return run_fail(s->msgs, RUN_CHECK, RUN_MSG_SEEDS_DIFFER, l->file,
                            (unsigned long long)seed, b->label, (unsigned long long)at);
        }
    }
    return RUN_OK;
}

static run_exit run_seed(session *s, uint64_t seed, bool is_first, bool is_loose)
{
    ptxexec_status status = ptxexec_device_create(NULL, &s->device);
    run_exit result = status == PTXEXEC_OK ? make_buffers(s) : failed(s, status);
    if (result == RUN_OK) {
        result = launch_once(s, seed, is_first);
    }
    if (result == RUN_OK) {
        pg_arena_mark mark = pg_arena_mark_get(s->arena);
        result = take_results(s, seed, is_first, is_loose);
        if (!is_first) {
            pg_arena_release(s->arena, mark);
        }
    }
    ptxexec_device_destroy(s->device);
    s->device = NULL;
    return result;
}

run_exit run_launch_all(const run_msgs *m, pg_arena *a, run_launch *launch)
{
    session s = {.msgs = m, .arena = a, .launch = launch};
    run_exit result = load(&s);
    uint64_t n = launch->n_seeds == 0 ? 1 : launch->n_seeds;
    bool is_loose = n > 1 && has_float_atomics(launch->ptx);
    for (uint64_t i = 0; i < n && result == RUN_OK; i++) {
        result = run_seed(&s, launch->first_seed + i, i == 0, is_loose);
    }
    ptxexec_module_destroy(s.module);
    return result;
}
