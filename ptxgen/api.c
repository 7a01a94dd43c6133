#include "api.h"

#include <string.h>

#include "base/suggest.h"
#include "emit/ptx.h"
#include "ir/interp.h"
#include "ir/target.h"

#define VERSION_NUMBER 100
#define VERSION_TEXT   "0.1.0"

/* Statuses and check bits cross the border by number. */
_Static_assert((int)PTXGEN_E_NOMEM == (int)PG_E_NOMEM, "status numbers");
_Static_assert((int)PTXGEN_E_PARSE == (int)PG_E_PARSE, "status numbers");
_Static_assert((int)PTXGEN_E_INVALID == (int)PG_E_INVALID, "status numbers");
_Static_assert((int)PTXGEN_E_UNSUPPORTED == (int)PG_E_UNSUPPORTED, "status numbers");
_Static_assert((int)PTXGEN_E_RESOURCE == (int)PG_E_RESOURCE, "status numbers");
_Static_assert((int)PTXGEN_E_MISUSE == (int)PG_E_MISUSE, "status numbers");
_Static_assert((int)PTXGEN_E_INTERNAL == (int)PG_E_INTERNAL, "status numbers");
_Static_assert((int)PTXGEN_ERROR == (int)PG_SEV_ERROR, "severity numbers");
_Static_assert((int)PTXGEN_CHECK_ROUNDTRIP == (int)PG_CHECK_ROUNDTRIP, "check bits");
_Static_assert((int)PTXGEN_CHECK_CLONE == (int)PG_CHECK_CLONE, "check bits");
_Static_assert((int)PTXGEN_CHECK_TWICE == (int)PG_CHECK_TWICE, "check bits");
_Static_assert(sizeof(ptxgen_allocator) == sizeof(pg_alloc), "allocator layout");

/* A context that has interned more than this starts afresh at the next compile. */
enum { CONTEXT_LIMIT = 16 << 20 };
/* It keeps so much for the next compile. */
enum { POOL_LIMIT = PG_ARENA_HUNTS ? 0 : 2 << 20 };

uint32_t ptxgen_version(void)
{
    return VERSION_NUMBER;
}

const char *ptxgen_version_text(void)
{
    return VERSION_TEXT;
}

const char *ptxgen_status_name(ptxgen_status status)
{
    static const char *const names[] = {
        "PTXGEN_OK",        "PTXGEN_E_NOMEM",       "PTXGEN_E_PARSE",
        "PTXGEN_E_INVALID", "PTXGEN_E_UNSUPPORTED", "PTXGEN_E_RESOURCE",
        "PTXGEN_E_MISUSE",  "PTXGEN_E_INTERNAL",
    };
    return (size_t)status < PG_COUNT_OF(names) ? names[status] : "unknown status";
}

const char *ptxgen_target_name(size_t index)
{
    return index < pg_n_targets ? pg_targets[index].name : NULL;
}

const char *ptxgen_pass_name(size_t index)
{
    return index < pg_n_passes ? pg_passes[index].name : NULL;
}

const char *ptxgen_pass_doc(size_t index)
{
    return index < pg_n_passes ? pg_passes[index].doc : NULL;
}

const char *ptxgen_default_passes(ptxgen_str target)
{
    const pg_target *t = pg_target_find((pg_str){target.ptr, target.len});
    return t == NULL ? NULL : pg_pipeline_of(t->sm);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void *resize_noting(void *user, void *block, size_t old_size, size_t new_size)
{
    pg_noting *n = user;
    void *moved = n->given.resize(n->given.user, block, old_size, new_size);
    n->has_failed = n->has_failed || (moved == NULL && new_size != 0);
    return moved;
}

pg_alloc pg_noting_alloc(pg_noting *n)
{
    return (pg_alloc){n, resize_noting};
}

/* ---- contexts ------------------------------------------------------------------------------ */

ptxgen_status ptxgen_ctx_create(const ptxgen_allocator *alloc_or_null, ptxgen_ctx **out)
{
    if (out == NULL || (alloc_or_null != NULL && alloc_or_null->resize == NULL)) {
        return PTXGEN_E_MISUSE;
    }
    *out = NULL;
    pg_alloc alloc = pg_alloc_default();
    if (alloc_or_null != NULL) {
        alloc = (pg_alloc){alloc_or_null->user, alloc_or_null->resize};
    }
    ptxgen_ctx *ctx = alloc.resize(alloc.user, NULL, 0, sizeof *ctx);
    if (ctx == NULL) {
        return PTXGEN_E_NOMEM;
    }
    memset(ctx, 0, sizeof *ctx);
    ctx->noting.given = alloc;
    pg_pool_init(&ctx->pool, pg_noting_alloc(&ctx->noting), POOL_LIMIT);
    ctx->alloc = pg_pool_alloc(&ctx->pool);
    *out = ctx;
    return PTXGEN_OK;
}

void ptxgen_ctx_destroy(ptxgen_ctx *ctx_or_null)
{
    if (ctx_or_null == NULL) {
        return;
    }
    if (ctx_or_null->n_modules != 0) {
        ctx_or_null->is_left = true; /* the last module takes it along */
        return;
    }
    pg_alloc alloc = ctx_or_null->noting.given;
    if (ctx_or_null->has_ir) {
        pg_ctx_fini(&ctx_or_null->ir);
    }
    pg_pool_fini(&ctx_or_null->pool);
    (void)alloc.resize(alloc.user, ctx_or_null, sizeof *ctx_or_null, 0);
}

pg_status pg_ctx_prepare(ptxgen_ctx *ctx)
{
    if (ctx->has_ir && ctx->n_modules == 0 &&
        (ctx->ir.arena.is_oom || ctx->ir.arena.used > CONTEXT_LIMIT)) {
        pg_ctx_fini(&ctx->ir);
        ctx->has_ir = false;
    }
    if (!ctx->has_ir) {
        pg_status status = pg_ctx_init(&ctx->ir, ctx->alloc);
        if (status != PG_OK) {
            pg_ctx_fini(&ctx->ir);
            return status;
        }
        ctx->has_ir = true;
    }
    return pg_arena_status(&ctx->ir.arena);
}

/* ---- results ------------------------------------------------------------------------------- */

ptxgen_result *pg_result_new(const ptxgen_ctx *ctx)
{
    const pg_alloc *given = &ctx->noting.given; /* a result may outlive its context */
    ptxgen_result *r = given->resize(given->user, NULL, 0, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    memset(r, 0, sizeof *r);
    r->noting.given = *given;
    r->alloc = pg_noting_alloc(&r->noting);
    pg_arena_init(&r->arena, r->alloc);
    pg_diags_init(&r->diags, &r->arena, r->alloc);
    pg_strbuf_init(&r->ptx, r->alloc);
    pg_strbuf_init(&r->ir, r->alloc);
    for (int i = 0; i < PTXGEN_LAYOUT_FORM_COUNT; i++) {
        pg_strbuf_init(&r->layout[i], r->alloc);
    }
    r->target = PG_STR("");
    r->stats.struct_size = sizeof r->stats;
    return r;
}

ptxgen_status pg_result_finish(ptxgen_result *r, pg_status status, ptxgen_result **out)
{
    pg_diags_sort(&r->diags);
    if (status == PG_OK) {
        status = pg_diags_status(&r->diags);
    }
    if (r->noting.has_failed) {
        status = PG_E_NOMEM;
    }
    if (status != PG_OK) { /* half a text is worse than none */
        pg_strbuf_clear(&r->ptx);
    }
    r->status = (ptxgen_status)status;
    *out = r;
    return r->status;
}

void ptxgen_result_destroy(ptxgen_result *r_or_null)
{
    if (r_or_null == NULL) {
        return;
    }
    pg_alloc alloc = r_or_null->noting.given;
    pg_strbuf_fini(&r_or_null->ptx);
    pg_strbuf_fini(&r_or_null->ir);
    for (int i = 0; i < PTXGEN_LAYOUT_FORM_COUNT; i++) {
        pg_strbuf_fini(&r_or_null->layout[i]);
    }
    pg_arena_fini(&r_or_null->arena);
    (void)alloc.resize(alloc.user, r_or_null, sizeof *r_or_null, 0);
}

ptxgen_status ptxgen_result_status(const ptxgen_result *r)
{
    return r == NULL ? PTXGEN_E_MISUSE : r->status;
}

ptxgen_str ptxgen_result_ptx(const ptxgen_result *r)
{
    return pg_str_out(r == NULL ? PG_STR("") : pg_strbuf_str(&r->ptx));
}

ptxgen_str ptxgen_result_ir(const ptxgen_result *r)
{
    return pg_str_out(r == NULL ? PG_STR("") : pg_strbuf_str(&r->ir));
}

uint32_t ptxgen_result_source_line(const ptxgen_result *r, uint32_t ptx_line)
{
    return r == NULL || ptx_line == 0 || ptx_line > r->line_of.n ? 0 : r->line_of.at[ptx_line - 1];
}

ptxgen_str ptxgen_result_target(const ptxgen_result *r)
{
    return pg_str_out(r == NULL ? PG_STR("") : r->target);
}

size_t ptxgen_result_entry_count(const ptxgen_result *r)
{
    return r == NULL ? 0 : r->n_entries;
}

ptxgen_str ptxgen_result_entry_name(const ptxgen_result *r, size_t index)
{
    return pg_str_out(index < ptxgen_result_entry_count(r) ? r->entries[index].name : PG_STR(""));
}

ptxgen_str ptxgen_result_manifest(const ptxgen_result *r, size_t index)
{
    return pg_str_out(index < ptxgen_result_entry_count(r) ? r->entries[index].manifest
                                                           : PG_STR(""));
}

size_t ptxgen_result_diag_count(const ptxgen_result *r)
{
    return r == NULL ? 0 : r->diags.n;
}

size_t ptxgen_result_diag_dropped(const ptxgen_result *r)
{
    return r == NULL ? 0 : r->diags.n_dropped;
}

ptxgen_diag ptxgen_result_diag(const ptxgen_result *r, size_t index)
{
    if (index >= ptxgen_result_diag_count(r)) {
        return (ptxgen_diag){.message = {"", 0}, .help = {"", 0}};
    }
    const pg_diag *d = &r->diags.at[index];
    const pg_diag_info *info = &pg_diag_infos[d->id];
    return (ptxgen_diag){
        .number = info->number,
        .severity = (ptxgen_severity)d->severity,
        .status = (ptxgen_status)info->status,
        .line = d->loc.line,
        .column = d->loc.column,
        .message = pg_str_out(d->message),
        .help = pg_str_out(d->help),
    };
}

size_t ptxgen_result_pass_count(const ptxgen_result *r)
{
    return r == NULL ? 0 : r->n_passes;
}

ptxgen_pass_stat ptxgen_result_pass(const ptxgen_result *r, size_t index)
{
    if (index >= ptxgen_result_pass_count(r)) {
        return (ptxgen_pass_stat){.name = {"", 0}};
    }
    const pg_pass_stat *p = &r->passes[index];
    return (ptxgen_pass_stat){
        .name = pg_str_out(pg_str_of(p->name)),
        .has_changed = p->changed,
        .n_ops_before = p->n_insts_before,
        .n_ops_after = p->n_insts_after,
        .ns = p->ns,
    };
}

ptxgen_status ptxgen_result_stats(const ptxgen_result *r, ptxgen_stats *out)
{
    if (r == NULL || out == NULL || out->struct_size < sizeof out->struct_size) {
        return PTXGEN_E_MISUSE;
    }
    size_t size = out->struct_size;
    size_t n = size < sizeof r->stats ? size : sizeof r->stats;
    memset(out, 0, size);
    memcpy(out, &r->stats, n);
    out->struct_size = size;
    return PTXGEN_OK;
}

/* ---- calls --------------------------------------------------------------------------------- */

/* What all calls begin with. */
static ptxgen_status begin(ptxgen_ctx *ctx, ptxgen_result **out, ptxgen_result **result)
{
    if (out == NULL) {
        return PTXGEN_E_MISUSE;
    }
    *out = NULL;
    if (ctx == NULL) {
        return PTXGEN_E_MISUSE;
    }
    ctx->noting.has_failed = false;
    *result = pg_result_new(ctx);
    return *result == NULL ? PTXGEN_E_NOMEM : PTXGEN_OK;
}

ptxgen_status pg_compile_call(ptxgen_ctx *ctx, const pg_source *from,
                              const ptxgen_options *options_or_null, ptxgen_result **out)
{
    ptxgen_result *r = NULL;
    ptxgen_status begun = begin(ctx, out, &r);
    if (begun != PTXGEN_OK) {
        return begun;
    }
    ptxgen_options options;
    pg_status status = pg_options_read(options_or_null, &r->diags, &options);
    if (status == PG_OK) {
        status = pg_ctx_prepare(ctx);
    }
    if (status == PG_OK) {
        status = pg_compile_source(ctx, from, &options, r);
    }
    return pg_result_finish(r, status, out);
}

ptxgen_status ptxgen_compile(ptxgen_ctx *ctx, ptxgen_str ir, const ptxgen_options *options_or_null,
                             ptxgen_result **out)
{
    return pg_compile_call(ctx, &(pg_source){.text = pg_str_in(ir)}, options_or_null, out);
}

ptxgen_status ptxgen_check_ptx(ptxgen_ctx *ctx, ptxgen_str ptx, ptxgen_result **out)
{
    ptxgen_result *r = NULL;
    ptxgen_status begun = begin(ctx, out, &r);
    if (begun != PTXGEN_OK) {
        return begun;
    }
    pg_ptx_module *m = NULL;
    pg_status status = pg_ptx_read(&r->arena, pg_str_in(ptx), &r->diags, &m);
    if (status == PG_OK) {
        r->target = m->target;
        status = pg_ptx_check(m, &r->diags);
    }
    return pg_result_finish(r, status, out);
}

static pg_kernel *find_kernel(const pg_module *m, pg_str entry)
{
    if (entry.len == 0) {
        return m->kernels != NULL && m->kernels->next == NULL ? m->kernels : NULL;
    }
    for (pg_kernel *k = m->kernels; k != NULL; k = k->next) {
        if (pg_str_eq(pg_sym_text(&m->ctx->syms, k->name), entry)) {
            return k;
        }
    }
    return NULL;
}

static pg_status interpret(pg_module *m, const ptxgen_interpretation *run, pg_diags *diags)
{
    pg_str target = pg_str_in(run->target);
    if (target.len != 0) {
        PG_TRY(pg_module_set_target(m, target, (pg_loc){0, 0}));
    }
    PG_TRY(pg_verify(m, 0));
    pg_kernel *k = find_kernel(m, pg_str_in(run->entry));
    if (k == NULL) {
        const pg_str wanted = pg_str_in(run->entry);
        pg_nearest near = pg_nearest_of(wanted);
        for (k = m->kernels; k != NULL; k = k->next) {
            pg_nearest_try(&near, pg_sym_text(&m->ctx->syms, k->name));
        }
        return pg_diag_add(diags, PG_D_API_NO_ENTRY, (pg_loc){0, 0}, PG_STR_ARG(wanted),
                           pg_nearest_text(&near, diags->arena, m->ctx->alloc));
    }
    if (run->n_args != k->n_params) {
        return pg_diag_add(diags, PG_D_API_ARG_COUNT, k->loc, run->n_args, (unsigned)k->n_params);
    }
    pg_interp_arg *args = PG_NEWS(diags->arena, pg_interp_arg, run->n_args);
    if (args == NULL) {
        return PG_E_NOMEM;
    }
    for (size_t i = 0; i < run->n_args; i++) {
        const ptxgen_arg *a = &run->args[i];
        args[i] = (pg_interp_arg){{a->data, a->n_bytes, a->poison}, a->bits};
    }
    pg_interp_options options = {
        .grid = {run->grid[0], run->grid[1], run->grid[2]},
        .seed = run->seed,
        .max_steps = run->max_steps,
    };
    return pg_interp_run(k, args, (uint32_t)run->n_args, &options, diags);
}

ptxgen_status ptxgen_interpret(ptxgen_ctx *ctx, ptxgen_str ir, const ptxgen_interpretation *run,
                               ptxgen_result **out)
{
    ptxgen_result *r = NULL;
    ptxgen_status begun = begin(ctx, out, &r);
    if (begun != PTXGEN_OK) {
        return begun;
    }
    if (run != NULL && run->struct_size == sizeof *run && run->n_args != 0 && run->args == NULL) {
        pg_status misuse = pg_diag_add(&r->diags, PG_D_API_NO_ARRAY, (pg_loc){0, 0},
                                       "ptxgen_interpretation.args", run->n_args);
        return pg_result_finish(r, misuse, out);
    }
    if (run == NULL || run->struct_size != sizeof *run) {
        pg_status misuse = pg_diag_add(&r->diags, PG_D_API_STRUCT_SIZE, (pg_loc){0, 0},
                                       "ptxgen_interpretation", run == NULL ? 0 : run->struct_size);
        return pg_result_finish(r, misuse, out);
    }
    pg_status status = pg_ctx_prepare(ctx);
    pg_module *m = NULL;
    if (status == PG_OK) {
        status = pg_parse(&ctx->ir, pg_str_in(ir), &r->diags, &m);
    }
    if (status == PG_OK) {
        status = interpret(m, run, &r->diags);
    }
    pg_module_destroy(m);
    if (ctx->noting.has_failed) {
        status = PG_E_NOMEM;
    }
    return pg_result_finish(r, status, out);
}
