/* registers.c: the registers that the emitted kernels need: measured, reported, refused.
 *
 * I1  An error is what cannot fit: floats that one loop carries, which no order of instructions
 *     avoids, and what is so far over the limit that every kernel like it spilled. What lies
 *     between that and the limit is an estimate (docs/registers.md) and at most a warning. */
#include "registers.h"

#include "ir/target.h"

enum {
    MOST_TILES = 4, /* named in a message */
    BESIDES = 1,    /* ptxas keeps one for the stack's address */
    FAR = 64        /* registers over the limit that no order of ptxas has saved yet */
};

typedef struct tile { /* the registers that one operation of the IR made */
    pg_loc loc;
    uint32_t halves;
} tile;

typedef PG_VEC(tile) tiles;

/* ---- measuring ------------------------------------------------------------------------------- */

static pg_inst *partition_of(const pg_kernel *k, uint32_t id)
{
    for (pg_inst *i = k->body->first; i != NULL; i = pg_inst_walk(i, k->body)) {
        if (i->op == PG_OP_PARTITION && i->id == id) {
            return i;
        }
    }
    return NULL;
}

static pg_str region_name(pg_arena *arena, const pg_module *m, pg_sym sym)
{
    pg_strbuf t;
    pg_strbuf_init(&t, m->ctx->alloc);
    pg_putf(&t, "@%.*s", PG_STR_ARG(pg_sym_text(&m->ctx->syms, sym)));
    pg_str out = pg_arena_str(arena, pg_strbuf_str(&t));
    arena->is_oom = arena->is_oom || t.is_oom;
    pg_strbuf_fini(&t);
    return out;
}

static uint32_t limit_in(const pg_inst *part, uint32_t share)
{
    int64_t regs = part == NULL ? 0 : pg_attr_int(&part->attrs, PG_A_REGS, 0);
    regs = regs > PG_LIVE_THREAD_MAX ? PG_LIVE_THREAD_MAX : regs;
    return regs > 0 ? (uint32_t)regs : share;
}

/* What stands in partitions counts there, under their limits, not in the kernel. */
static uint32_t kernel_spans(const pg_ptx_func *f, pg_live_span *spans)
{
    uint32_t n = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < f->parts.n; i++) {
        if (f->parts.at[i].first >= at) {
            spans[n++] = (pg_live_span){.first = at, .end = f->parts.at[i].first};
        }
        at = f->parts.at[i].end > at ? f->parts.at[i].end : at;
    }
    spans[n++] = (pg_live_span){.first = at, .end = f->body.n};
    return n;
}

static void take_worse(pg_live_peak *into, const pg_live_peak *p)
{
    uint32_t estimate = p->estimate > into->estimate ? p->estimate : into->estimate;
    uint32_t held = p->held > into->held ? p->held : into->held;
    uint32_t usual = p->usual > into->usual ? p->usual : into->usual;
    if (into->stmt == UINT32_MAX || (p->stmt != UINT32_MAX && p->least > into->least)) {
        *into = *p;
    }
    into->estimate = estimate;
    into->held = held;
    into->usual = usual;
}

/* From here on a warning says that it is much. */
static uint32_t much(uint32_t limit)
{
    return limit + limit / 10;
}

/* And from here on an error that it cannot be. */
static uint32_t far_more(uint32_t limit)
{
    const uint32_t more = 7 * limit / 10;
    return limit + (more > FAR ? more : FAR);
}

/* The register round (registers_round.c) may want to know how many each partition needs. */
static bool may_choose(const pg_kernel *k, const pg_ptx_func *f)
{
    bool is_free = false;
    for (uint32_t i = 0; i < f->parts.n; i++) {
        const pg_inst *part = partition_of(k, f->parts.at[i].inst);
        is_free = is_free || (part != NULL && !pg_attr_has(&part->attrs, PG_A_REGS));
    }
    return is_free;
}

static pg_status measure_kernel(const pg_kernel *k, const pg_ptx_func *f, bool wants_values,
                                pg_arena *arena, pg_reg_regions *out)
{
    uint32_t n_parts = f->parts.n;
    pg_live_span *spans = PG_NEWS(arena, pg_live_span, 2 * n_parts + 1);
    pg_live_peak *peaks = PG_NEWS(arena, pg_live_peak, 2 * n_parts + 1);
    if (spans == NULL || peaks == NULL || !pg_vec_reserve(arena, out, n_parts + 1)) {
        return PG_E_NOMEM;
    }
    const pg_reg_limits limits = pg_reg_limits_of(k);
    const uint32_t share = limits.share;
    const pg_target *target = pg_target_find(pg_sym_text(&k->module->ctx->syms, k->module->target));
    const bool is_coarse = !wants_values && !may_choose(k, f);
    uint32_t n = kernel_spans(f, spans);
    for (uint32_t i = 0; i < n + n_parts; i++) {
        const pg_inst *part = i < n ? NULL : partition_of(k, f->parts.at[i - n].inst);
        if (i >= n) {
            spans[i] =
                (pg_live_span){.first = f->parts.at[i - n].first, .end = f->parts.at[i - n].end};
        }
        spans[i].threads = n_parts == 0 ? 32 * limits.n_warps : 0;
        spans[i].sm = target == NULL ? 0 : target->sm;
        spans[i].enough = is_coarse ? limit_in(part, share) - BESIDES : 0;
    }
    PG_TRY(pg_live_peaks(f, spans, n + n_parts, wants_values, arena, peaks));
    pg_reg_region kernel = {.kernel = k,
                            .name = region_name(arena, k->module, k->name),
                            .func = f,
                            .limit = share,
                            .peak = peaks[0]};
    for (uint32_t i = 1; i < n; i++) {
        take_worse(&kernel.peak, &peaks[i]);
    }
    out->at[out->n++] = kernel;
    for (uint32_t i = 0; i < n_parts; i++) {
        pg_inst *part = partition_of(k, f->parts.at[i].inst);
        pg_reg_region p = {.kernel = k, .part = part, .func = f, .peak = peaks[n + i]};
        p.limit = limit_in(part, share);
        p.name = part == NULL ? kernel.name : region_name(arena, k->module, part->sym);
        out->at[out->n++] = p;
    }
    return pg_arena_status(arena);
}

pg_status pg_regs_measure(pg_module *m, const pg_ptx_module *ptx, bool wants_values,
                          pg_arena *arena, pg_reg_regions *out)
{
    uint32_t i = 0;
    for (const pg_kernel *k = m->kernels; k != NULL && i < ptx->funcs.n; k = k->next, i++) {
        PG_TRY(measure_kernel(k, ptx->funcs.at[i], wants_values, arena, out));
    }
    return PG_OK;
}

static bool has_least_ctas(const pg_ptx_func *f)
{
    const pg_str word = PG_STR(".minnctapersm");
    for (uint32_t i = 0; i < f->directives.n; i++) {
        const pg_str text = f->directives.at[i];
        if (text.len > word.len && pg_str_eq((pg_str){text.ptr, word.len}, word)) {
            return true;
        }
    }
    return false;
}

pg_status pg_regs_ask_for_all(const pg_reg_regions *regions, pg_ptx_module *ptx)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < regions->n; i++) {
        const pg_reg_region *g = &regions->at[i];
        if (g->part != NULL) {
            continue;
        }
        pg_ptx_func *f = ptx->funcs.at[n++];
        if (g->peak.usual + BESIDES > g->limit && !has_least_ctas(f) &&
            !pg_vec_push(ptx->arena, &f->directives, PG_STR(".minnctapersm 1"))) {
            return PG_E_NOMEM;
        }
    }
    return PG_OK;
}

/* ---- naming ---------------------------------------------------------------------------------- */

static uint64_t loc_key(pg_loc loc)
{
    return (uint64_t)loc.line << 32 | loc.column;
}

/* What lives at the peak, by the operation that made it, most first; ties in order of the text. */
static pg_status find_tiles(const pg_reg_region *g, pg_arena *arena, tiles *out)
{
    pg_map at;
    pg_map_init(&at, arena);
    for (uint32_t i = 0; i < g->peak.n_values; i++) {
        const pg_live_value *v = &g->peak.values[i];
        pg_loc loc = g->func->body.at[v->stmt].loc;
        uint32_t *known = pg_map_get(&at, loc_key(loc));
        if (known != NULL) {
            out->at[*known].halves += v->halves;
        } else if (!pg_vec_push(arena, out, ((tile){loc, v->halves})) ||
                   !pg_map_put(&at, loc_key(loc), out->n - 1)) {
            return PG_E_NOMEM;
        }
    }
    uint32_t most = out->n < MOST_TILES ? out->n : MOST_TILES;
    for (uint32_t i = 0; i < most; i++) {
        uint32_t best = i;
        for (uint32_t j = i + 1; j < out->n; j++) {
            best = out->at[j].halves > out->at[best].halves ? j : best;
        }
        tile t = out->at[best];
        for (uint32_t j = best; j > i; j--) {
            out->at[j] = out->at[j - 1];
        }
        out->at[i] = t;
    }
    out->n = most;
    return PG_OK;
}

static pg_str name_of(const pg_kernel *k, const pg_inst *i)
{
    return pg_sym_text(&k->module->ctx->syms, pg_value_of(k, i->out[0])->name);
}

static bool has_name(const pg_kernel *k, const pg_inst *i)
{
    return i->n_out != 0 && name_of(k, i).len != 0;
}

/* The author's operation: passes put unnamed ones (copies of operands) before it at its place. */
static const pg_inst *inst_at(const pg_kernel *k, pg_loc loc)
{
    const pg_inst *found = NULL;
    for (const pg_inst *i = k->body->first; i != NULL; i = pg_inst_walk(i, k->body)) {
        if (i->loc.line == loc.line && i->loc.column == loc.column) {
            if (has_name(k, i)) {
                return i;
            }
            found = found == NULL ? i : found;
        }
    }
    return found;
}

/* "%sum: tile<...> 128 (line 12)"; what has no name is called by its operation. */
static void put_tile(pg_strbuf *out, const pg_kernel *k, const tile *t)
{
    const pg_inst *i = inst_at(k, t->loc);
    if (i == NULL) {
        pg_put(out, "what the kernel begins with");
    } else if (i->op == PG_OP_YIELD) {
        pg_put(out, "what the loop hands on");
    } else if (i->n_out == 0) {
        pg_put(out, pg_op_infos[i->op].text);
    } else {
        if (has_name(k, i)) {
            pg_putf(out, "%%%.*s: ", PG_STR_ARG(name_of(k, i)));
        } else {
            pg_putf(out, "%s: ", pg_op_infos[i->op].text);
        }
        pg_print_type(out, k->module, pg_val_type(k, i->out[0]));
    }
    pg_putf(out, " %u", (unsigned)((t->halves + 1) / 2));
    if (i != NULL && t->loc.line != 0) {
        pg_putf(out, " (line %u)", (unsigned)t->loc.line);
    }
}

static pg_status name_tiles(const pg_reg_region *g, pg_arena *arena, pg_strbuf *out)
{
    tiles found = {0};
    PG_TRY(find_tiles(g, arena, &found));
    for (uint32_t i = 0; i < found.n; i++) {
        pg_put(out, i == 0 ? "" : ", ");
        put_tile(out, g->kernel, &found.at[i]);
    }
    return pg_strbuf_status(out);
}

/* ---- reporting ------------------------------------------------------------------------------- */

static pg_loc region_loc(const pg_reg_region *g)
{
    return g->part != NULL ? g->part->loc : g->kernel->loc;
}

static void put_row(pg_strbuf *out, const pg_reg_region *g, pg_str named)
{
    uint32_t line = g->peak.stmt == UINT32_MAX ? 0 : g->func->body.at[g->peak.stmt].loc.line;
    pg_putf(out, "registers: %s%.*s: about %u of %u, at least %u live", g->part == NULL ? "" : "  ",
            PG_STR_ARG(g->name), (unsigned)g->peak.estimate, (unsigned)g->limit,
            (unsigned)g->peak.least);
    if (line != 0) {
        pg_putf(out, " at line %u", (unsigned)line);
    }
    if (g->peak.held != 0) {
        pg_putf(out, ", %u carried by a loop", (unsigned)g->peak.held);
    }
    pg_putf(out, "%s%.*s\n", named.len == 0 ? "" : ": ", PG_STR_ARG(named));
}

static bool is_over(const pg_reg_region *g)
{
    return g->peak.held + BESIDES > g->limit;
}

static bool is_much(const pg_reg_region *g)
{
    return g->peak.usual > much(g->limit);
}

bool pg_regs_is_trouble(const pg_reg_regions *regions)
{
    for (uint32_t i = 0; i < regions->n; i++) {
        if (is_over(&regions->at[i]) || is_much(&regions->at[i])) {
            return true;
        }
    }
    return false;
}

static pg_status report_one(const pg_reg_region *g, const pg_sink *sink, ptxgen_result *r)
{
    if (sink == NULL && !is_over(g) && !is_much(g)) {
        return PG_OK;
    }
    pg_strbuf named;
    pg_strbuf line;
    pg_strbuf_init(&named, r->alloc);
    pg_strbuf_init(&line, r->alloc);
    pg_status status = name_tiles(g, &r->arena, &named);
    if (status == PG_OK && sink != NULL) {
        put_row(&line, g, pg_strbuf_str(&named));
        pg_sink_put(sink, pg_strbuf_str(&line));
        status = pg_strbuf_status(&line);
    }
    if (status == PG_OK && is_over(g)) {
        status = pg_diag_add(&r->diags, PG_D_REGS_HELD, region_loc(g), PG_STR_ARG(g->name),
                             g->peak.held, g->limit, PG_STR_ARG(pg_strbuf_str(&named)));
    } else if (status == PG_OK && g->peak.usual > far_more(g->limit)) {
        status = pg_diag_add(&r->diags, PG_D_REGS_OVER, region_loc(g), g->peak.usual,
                             PG_STR_ARG(g->name), g->limit, PG_STR_ARG(pg_strbuf_str(&named)));
    } else if (status == PG_OK && is_much(g)) {
        status = pg_diag_add(&r->diags, PG_D_REGS_MANY, region_loc(g), g->peak.usual,
                             PG_STR_ARG(g->name), g->limit, PG_STR_ARG(pg_strbuf_str(&named)));
    }
    pg_strbuf_fini(&line);
    pg_strbuf_fini(&named);
    return status;
}

pg_status pg_regs_report(const pg_reg_regions *regions, const pg_sink *sink, ptxgen_result *r)
{
    pg_status status = PG_OK;
    for (uint32_t i = 0; i < regions->n && status != PG_E_NOMEM; i++) {
        pg_status one = report_one(&regions->at[i], sink, r);
        status = status == PG_OK || one == PG_E_NOMEM ? one : status; /* all errors in one run */
    }
    return status;
}
