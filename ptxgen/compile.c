/* The driver: text or a built module -> module -> verified -> passes -> PTX object model -> text
 * and manifests.
 *
 * I1  A status other than PG_OK has an error in the result's diagnostics, or is NOMEM.
 * I2  The module is destroyed on every path; what the result keeps is copied out of it. */
#include "emit/lower.h"
#include "emit/ptx.h"

#include "api.h"
#include "registers.h"

typedef struct driver {
    const ptxgen_options *options;
    ptxgen_result *result;
    pg_module *module;
    pg_arena work; /* the PTX object model, and what is measured on it */
    uint64_t began_ns;
} driver;

static uint64_t now_ns(const driver *d)
{
    return d->options->clock_ns == NULL ? 0 : d->options->clock_ns(d->options->clock_user);
}

/* Time since the call before; `total` grows by it. */
static uint64_t lap(driver *d)
{
    uint64_t now = now_ns(d);
    uint64_t ns = now - d->began_ns;
    d->began_ns = now;
    d->result->stats.total_ns += ns;
    return ns;
}

static uint64_t count_ops(const pg_module *m)
{
    uint64_t n = 0;
    for (const pg_kernel *k = m->kernels; k != NULL; k = k->next) {
        n += k->n_insts;
    }
    return n;
}

static void note_memory(driver *d)
{
    uint64_t bytes =
        d->result->arena.peak + d->work.peak + (d->module == NULL ? 0 : d->module->arena.peak);
    if (bytes > d->result->stats.arena_bytes) {
        d->result->stats.arena_bytes = bytes;
    }
}

static pg_status note_entries(driver *d)
{
    ptxgen_result *r = d->result;
    const pg_interner *syms = &d->module->ctx->syms;
    r->target = pg_arena_str(&r->arena, pg_sym_text(syms, d->module->target));
    for (const pg_kernel *k = d->module->kernels; k != NULL; k = k->next) {
        r->n_entries++;
    }
    r->entries = PG_NEWS(&r->arena, pg_entry_facts, r->n_entries);
    if (r->entries == NULL) {
        r->n_entries = 0;
        return PG_E_NOMEM;
    }
    uint32_t i = 0;
    for (const pg_kernel *k = d->module->kernels; k != NULL; k = k->next) {
        r->entries[i].manifest = PG_STR("");
        r->entries[i++].name = pg_arena_str(&r->arena, pg_sym_text(syms, k->name));
    }
    return pg_arena_status(&r->arena);
}

/* The language has no settings of its own yet; those of library kernels are used up in building. */
static pg_status refuse_settings(const driver *d)
{
    for (size_t i = 0; i < d->options->n_settings; i++) {
        pg_str name = pg_str_in(d->options->settings[i].name);
        (void)pg_diag_add(&d->result->diags, PG_D_API_SETTING, (pg_loc){0, 0}, PG_STR_ARG(name));
    }
    return pg_diags_status(&d->result->diags);
}

/* A copy, since passes change the module; what has no place stands where its text would be. */
static pg_status take_module(driver *d, const pg_module *given, bool has_places)
{
    PG_TRY(pg_arena_status(&given->arena));
    PG_TRY(pg_module_clone(given, &d->result->diags, &d->module));
    return has_places ? PG_OK : pg_place_by_text(d->module);
}

static pg_status front(driver *d, pg_ctx *ctx, const pg_source *from)
{
    ptxgen_result *r = d->result;
    PG_TRY(from->module == NULL ? pg_parse(ctx, from->text, &r->diags, &d->module)
                                : take_module(d, from->module, from->has_places));
    r->stats.n_ops = count_ops(d->module);
    r->stats.parse_ns = lap(d);
    PG_TRY(refuse_settings(d));
    pg_str target = pg_str_in(d->options->target);
    if (target.len != 0) {
        PG_TRY(pg_module_set_target(d->module, target, (pg_loc){0, 0}));
    }
    PG_TRY(note_entries(d));
    pg_status status = pg_verify(d->module, 0);
    r->stats.verify_ns = lap(d);
    return status;
}

static pg_status run_passes(driver *d, bool *stopped)
{
    ptxgen_result *r = d->result;
    pg_pass_options options;
    pg_options_for_passes(d->options, &options);
    pg_module *after = d->module;
    pg_status status =
        pg_passes_run(d->module, &options, &r->arena, &after, &r->passes, &r->n_passes, stopped);
    d->module = after;
    r->stats.passes_ns = lap(d);
    return status;
}

static pg_status print_ir(driver *d)
{
    pg_print(&d->result->ir, d->module);
    return pg_strbuf_status(&d->result->ir);
}

/* Emission writes a kernel's manifest as a comment before it: `ptxgen: {...}`. Functions stand in
 * the order of the kernels. */
static pg_str manifest_in(const pg_ptx_module *ptx, uint32_t n, pg_str entry)
{
    const pg_str prefix = PG_STR("ptxgen: ");
    const pg_ptx_func *f = n < ptx->funcs.n ? ptx->funcs.at[n] : NULL;
    if (f == NULL || !pg_str_eq(ptx->syms.at[f->sym].name, entry)) {
        return PG_STR("");
    }
    for (uint32_t k = 0; k < f->lead.n; k++) {
        pg_str line = f->lead.at[k];
        if (pg_str_starts(line, prefix)) {
            return pg_str_sub(line, prefix.len, line.len);
        }
    }
    return PG_STR("");
}

static pg_status take_manifests(driver *d, const pg_ptx_module *ptx)
{
    ptxgen_result *r = d->result;
    for (uint32_t i = 0; i < r->n_entries; i++) {
        pg_str manifest = manifest_in(ptx, i, r->entries[i].name);
        PG_REQUIRE(&r->diags, manifest.len != 0, "a kernel has no manifest");
        r->entries[i].manifest = pg_arena_str(&r->arena, manifest);
    }
    return pg_arena_status(&r->arena);
}

static const pg_sink *sink_of_registers(const driver *d, pg_sink *room)
{
    pg_pass_options options;
    pg_options_for_passes(d->options, &options);
    const pg_pass_env env = {.options = &options};
    *room = options.sink;
    return pg_pass_explains(&env, "registers") ? room : NULL;
}

/* Emits; and once more where that showed which partition needs how many registers. */
static pg_status lower_with_registers(driver *d, pg_ptx_module **ptx)
{
    ptxgen_result *r = d->result;
    pg_lower_options options = {.annotate = (d->options->flags & PTXGEN_ANNOTATE) != 0};
    pg_reg_regions regions = {0};
    bool has_changed = false;
    pg_sink room;
    const pg_sink *sink = sink_of_registers(d, &room);
    PG_TRY(pg_lower(d->module, &options, &d->work, &r->diags, ptx));
    PG_TRY(pg_regs_measure(d->module, *ptx, sink != NULL, &d->work, &regions));
    PG_TRY(pg_regs_choose(d->module, &regions, sink, r, &has_changed));
    if (has_changed) {
        PG_TRY(pg_lower(d->module, &options, &d->work, &r->diags, ptx));
        regions.n = 0;
        PG_TRY(pg_regs_measure(d->module, *ptx, sink != NULL, &d->work, &regions));
    }
    PG_TRY(pg_regs_ask_for_all(&regions, *ptx));
    if (sink == NULL && pg_regs_is_trouble(&regions)) { /* now the names are wanted */
        regions.n = 0;
        PG_TRY(pg_regs_measure(d->module, *ptx, true, &d->work, &regions));
    }
    return pg_regs_report(&regions, sink, r);
}

static pg_status emit(driver *d)
{
    ptxgen_result *r = d->result;
    if ((d->module->props & PG_PROP_LAID_OUT) == 0) {
        return pg_diag_add(&r->diags, PG_D_API_NEEDS_LAYOUTS, (pg_loc){0, 0});
    }
    pg_ptx_module *ptx = NULL;
    PG_TRY(lower_with_registers(d, &ptx));
    pg_ptx_write_map(&r->ptx, ptx, &r->arena, &r->line_of, pg_str_in(d->options->line_info));
    PG_TRY(pg_strbuf_status(&r->ptx));
    PG_TRY(take_manifests(d, ptx));
    r->stats.ptx_bytes = r->ptx.len;
    r->stats.emit_ns = lap(d);
    return PG_OK;
}

static pg_status drive(driver *d, pg_ctx *ctx, const pg_source *from)
{
    bool stopped = false;
    PG_TRY(front(d, ctx, from));
    if (d->options->emit == PTXGEN_EMIT_NONE) {
        return PG_OK;
    }
    PG_TRY(run_passes(d, &stopped));
    if (stopped || d->options->emit == PTXGEN_EMIT_IR) {
        return print_ir(d);
    }
    const pg_status status = emit(d); /* which may set how many registers a partition gets */
    if ((d->options->flags & PTXGEN_KEEP_IR) != 0) {
        PG_TRY(print_ir(d));
    }
    return status;
}

pg_status pg_compile_source(ptxgen_ctx *ctx, const pg_source *from, const ptxgen_options *options,
                            ptxgen_result *r)
{
    driver d = {.options = options, .result = r};
    pg_arena_init(&d.work, ctx->alloc);
    d.began_ns = now_ns(&d);
    pg_status status = drive(&d, &ctx->ir, from);
    /* Where memory ran out, whatever else was said may be its consequence. */
    if (ctx->noting.has_failed || r->noting.has_failed) {
        status = PG_E_NOMEM;
    }
    note_memory(&d);
    pg_arena_fini(&d.work);
    pg_module_destroy(d.module);
    return status;
}
