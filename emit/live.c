/* live.c: live ranges register by register, and where most is live.
 *
 * A register is walked backwards from its uses through the blocks where it lives; there are no sets
 * for all registers at once. The cost is the length of the live ranges in blocks, and a block in
 * which PG_LIVE_MOST registers are live is crossed by no further one: what is beyond it does not
 * matter, the answer is "too many" already.
 *
 * Three kinds are counted apart: what needs registers of each thread, what could stand in uniform
 * registers, and predicates.
 *
 * I1  A value counts at the points behind its definition up to its last use: an instruction may
 *     write the register of an operand that it reads last.
 * I2  What is written and never read costs nothing.
 * I3  A register that no path has written lives from its first write on, wherever it is read. */
#include <string.h>

#include "emit/live_int.h"

enum {
    PG_LIVE_MOST = 2048,
    MOST_NEST = 16 /* loops around a write that are looked at */
};

typedef struct group { /* a register's references in one block: by_reg[first .. end) */
    uint32_t block, first, end;
    bool is_exposed, is_killed;
} group;

typedef PG_VEC(pg_live_value) pg_live_values;

typedef struct load { /* quarters of registers */
    int32_t own, uniform;
    int32_t flags; /* predicates */
} load;

typedef struct walk {
    pg_live *l;
    uint32_t stamp;              /* of the register walked */
    uint32_t *in, *out, *def_in; /* by block: stamp if live at its begin, end; if written by then */
    uint32_t *group_of, *has_group;
    PG_VEC(group) groups;
    uint32_t *held, *held_by;  /* by loop header: halves carried around it; register counted last */
    pg_vec_u32 stack, crossed; /* crossed: live-in blocks */
    load *through;             /* by block: what is live in all of it */
    load *change;              /* by statement: what begins to live before it, less what ends */
    const pg_live_span *spans;
    uint32_t *peaks; /* by span: where values are collected; NULL: counted only */
    uint32_t n_spans;
    pg_live_values *values;
    pg_arena *out_arena; /* of the values */
} walk;

static bool group_refs(walk *w, uint32_t reg)
{
    const pg_live *l = w->l;
    w->groups.n = 0;
    for (uint32_t k = l->ordered.reg_at[reg]; k < l->ordered.reg_at[reg + 1]; k++) {
        const pg_live_ref *r = &l->ordered.refs[l->ordered.by_reg[k]];
        uint32_t b = l->block_of[r->at];
        group *g = w->groups.n == 0 ? NULL : &w->groups.at[w->groups.n - 1];
        if (g == NULL || g->block != b) {
            if (!pg_vec_push(l->arena, &w->groups, ((group){.block = b, .first = k}))) {
                return false;
            }
            g = &w->groups.at[w->groups.n - 1];
            w->group_of[b] = w->groups.n - 1;
            w->has_group[b] = w->stamp;
        }
        g->end = k + 1;
        bool is_read = (r->how & (PG_LIVE_READ | PG_LIVE_PARTLY)) != 0;
        g->is_exposed = g->is_exposed || (is_read && !g->is_killed);
        g->is_killed = g->is_killed || (r->how & (PG_LIVE_WRITE | PG_LIVE_PARTLY)) == PG_LIVE_WRITE;
    }
    return true;
}

static bool live_in(walk *w, uint32_t b)
{
    if (w->in[b] == w->stamp) {
        return true;
    }
    w->in[b] = w->stamp;
    return pg_vec_push(w->l->arena, &w->crossed, b) && pg_vec_push(w->l->arena, &w->stack, b);
}

static bool walk_up(walk *w)
{
    const pg_live *l = w->l;
    w->crossed.n = w->stack.n = 0;
    for (uint32_t g = 0; g < w->groups.n; g++) {
        if (w->groups.at[g].is_exposed && !live_in(w, w->groups.at[g].block)) {
            return false;
        }
    }
    while (w->stack.n != 0) {
        uint32_t b = w->stack.at[--w->stack.n];
        for (uint32_t e = l->pred_at[b]; e < l->pred_at[b + 1]; e++) {
            uint32_t p = l->pred[e];
            if (w->out[p] == w->stamp) {
                continue;
            }
            w->out[p] = w->stamp;
            bool is_killed = w->has_group[p] == w->stamp && w->groups.at[w->group_of[p]].is_killed;
            bool is_full = w->through[p].own >= 4 * PG_LIVE_MOST;
            if (!is_killed && !is_full && !live_in(w, p)) {
                return false;
            }
        }
    }
    return true;
}

/* Where the entry is reached, only what lies behind a write counts. */
static bool walk_down(walk *w)
{
    const pg_live *l = w->l;
    for (uint32_t g = 0; g < w->groups.n; g++) {
        for (uint32_t k = w->groups.at[g].first; k < w->groups.at[g].end; k++) {
            if ((l->ordered.refs[l->ordered.by_reg[k]].how & PG_LIVE_WRITE) != 0) {
                if (!pg_vec_push(l->arena, &w->stack, w->groups.at[g].block)) {
                    return false;
                }
                break;
            }
        }
    }
    while (w->stack.n != 0) {
        uint32_t b = w->stack.at[--w->stack.n];
        for (uint32_t e = l->succ_at[b]; e < l->succ_at[b + 1]; e++) {
            uint32_t s = l->succ[e];
            if (w->in[s] == w->stamp && w->def_in[s] != w->stamp) {
                w->def_in[s] = w->stamp;
                if (!pg_vec_push(l->arena, &w->stack, s)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static load load_of(const pg_live *l, uint32_t reg)
{
    const int32_t quarters = l->quarters[reg];
    if (pg_ptx_type_infos[l->f->regs.at[reg].type].bits == 1) {
        return (load){0, 0, 1};
    }
    return l->is_uniform[reg] ? (load){0, quarters, 0} : (load){quarters, 0, 0};
}

static void add_load(load *to, load more)
{
    to->own += more.own;
    to->uniform += more.uniform;
    to->flags += more.flags;
}

static bool note_value(walk *w, uint32_t reg, uint32_t first, uint32_t end)
{
    const pg_live *l = w->l;
    pg_live_value value = {.reg = reg, .halves = (l->quarters[reg] + 1u) / 2};
    for (uint32_t k = l->ordered.reg_at[reg]; k < l->ordered.reg_at[reg + 1]; k++) {
        const pg_live_ref *r = &l->ordered.refs[l->ordered.by_reg[k]];
        if ((r->how & PG_LIVE_WRITE) != 0) {
            value.stmt = l->order[r->at];
        }
    }
    for (uint32_t i = 0; i < w->n_spans; i++) {
        uint32_t at = w->peaks[i];
        if (first <= at && at < end && !pg_vec_push(w->out_arena, &w->values[i], value)) {
            return false;
        }
    }
    return true;
}

static bool add_range(walk *w, uint32_t reg, uint32_t first, uint32_t end)
{
    if (first >= end) {
        return true;
    }
    if (w->peaks != NULL) {
        return note_value(w, reg, first, end);
    }
    const load x = load_of(w->l, reg);
    add_load(&w->change[first], x);
    add_load(&w->change[end], (load){-x.own, -x.uniform, -x.flags});
    return true;
}

/* Ranges within a block that names the register. */
static bool add_group(walk *w, uint32_t reg, const group *g, bool is_in)
{
    const pg_live *l = w->l;
    const pg_live_block *b = &l->blocks.at[g->block];
    bool is_live = w->out[g->block] == w->stamp;
    uint32_t end = b->end;
    uint32_t begin = b->first;
    for (uint32_t k = g->first; k < g->end && !is_in; k++) { /* nothing before its first write */
        if ((l->ordered.refs[l->ordered.by_reg[k]].how & PG_LIVE_WRITE) != 0) {
            begin = l->ordered.refs[l->ordered.by_reg[k]].at + 1;
            break;
        }
    }
    for (uint32_t k = g->end; k > g->first;) {
        uint32_t at = l->ordered.refs[l->ordered.by_reg[k - 1]].at;
        bool is_read = false;
        bool is_written = false;
        for (; k > g->first && l->ordered.refs[l->ordered.by_reg[k - 1]].at == at; k--) {
            uint8_t how = l->ordered.refs[l->ordered.by_reg[k - 1]].how;
            is_read = is_read || (how & PG_LIVE_READ) != 0;
            is_written = is_written || (how & (PG_LIVE_WRITE | PG_LIVE_PARTLY)) == PG_LIVE_WRITE;
        }
        if (is_written && is_live) {
            if (!add_range(w, reg, at + 1, end)) {
                return false;
            }
            is_live = false;
        }
        if (is_read && !is_live) {
            is_live = true;
            end = at + 1;
        }
    }
    return !is_live || add_range(w, reg, begin, end);
}

/* A float that lives at the head of a loop and is computed in the loop needs a register there. */
static void add_held(walk *w, uint32_t reg, bool is_whole)
{
    const pg_live *l = w->l;
    uint8_t type = l->f->regs.at[reg].type;
    bool is_float = pg_ptx_type_infos[type].cls == 'F' || type == PG_PTX_B16;
    for (uint32_t k = l->ordered.reg_at[reg]; is_float && k < l->ordered.reg_at[reg + 1]; k++) {
        const pg_live_ref *r = &l->ordered.refs[l->ordered.by_reg[k]];
        if ((r->how & PG_LIVE_WRITE) == 0 || (l->what[l->order[r->at]] & PG_LIVE_FREE) != 0) {
            continue;
        }
        const pg_live_block *b = &l->blocks.at[l->block_of[r->at]];
        uint32_t loop = b->loop;
        uint32_t outer = b->outer;
        for (uint32_t n = 0; loop != 0 && n < MOST_NEST; n++) {
            uint32_t h = loop - 1;
            bool is_in = w->in[h] == w->stamp && (is_whole || w->def_in[h] == w->stamp);
            if (is_in && w->held_by[h] != w->stamp) {
                w->held_by[h] = w->stamp;
                w->held[h] += type == PG_PTX_B16 ? 1 : l->quarters[reg] / 2;
            }
            loop = outer;
            outer = loop == 0 ? 0 : l->blocks.at[loop - 1].outer;
        }
    }
}

static bool walk_register(walk *w, uint32_t reg)
{
    const pg_live *l = w->l;
    w->stamp = reg + 1;
    if (!group_refs(w, reg) || !walk_up(w)) {
        return false;
    }
    bool is_whole = w->in[0] != w->stamp; /* written on every path */
    if (!is_whole && !walk_down(w)) {
        return false;
    }
    for (uint32_t i = 0; i < w->crossed.n; i++) {
        uint32_t b = w->crossed.at[i];
        if (w->has_group[b] == w->stamp || (!is_whole && w->def_in[b] != w->stamp)) {
            continue;
        }
        if (w->peaks == NULL) {
            add_load(&w->through[b], load_of(l, reg));
        } else if (!note_value(w, reg, l->blocks.at[b].first, l->blocks.at[b].end)) {
            return false;
        }
    }
    add_held(w, reg, is_whole);
    for (uint32_t g = 0; g < w->groups.n; g++) {
        uint32_t b = w->groups.at[g].block;
        bool is_in = w->in[b] == w->stamp && (is_whole || w->def_in[b] == w->stamp);
        if (!add_group(w, reg, &w->groups.at[g], is_in)) {
            return false;
        }
    }
    return true;
}

static bool walk_all(walk *w)
{
    for (uint32_t r = 0; r < w->l->f->regs.n; r++) {
        const load x = load_of(w->l, r);
        const bool counts = w->peaks != NULL ? x.own != 0 : x.own + x.uniform + x.flags != 0;
        if (counts && !walk_register(w, r)) {
            return false;
        }
    }
    return true;
}

/* ---- peaks ---------------------------------------------------------------------------------- */

typedef struct peak {  /* of a block, or of a span */
    uint32_t live, at; /* position; UINT32_MAX: nothing runs */
    uint32_t stmt;     /* there */
    pg_live_mode mode;
} peak;

typedef struct job {
    pg_live_span *spans;
    uint32_t n_spans;
    bool wants_values;
    pg_arena *arena;
    pg_live_peak *out;
    peak *best;            /* by block: in the order that keeps least alive */
    uint32_t *usual;       /* by block: the same without PG_LIVE_DEEP */
    pg_live_figures *seen; /* by block */
    peak *worst;           /* by span: of its blocks */
} job;

/* Predicates that have no register of their kind take one of the others each. */
static uint32_t spilled_flags(int32_t n)
{
    return n > PG_LIVE_FLAGS ? (uint32_t)n - PG_LIVE_FLAGS : 0;
}

static uint32_t words(int32_t quarters)
{
    return ((uint32_t)quarters + 3) / 4;
}

static peak peak_of_block(const walk *w, uint32_t b, pg_live_mode mode, load *now,
                          pg_live_figures *seen)
{
    const pg_live *l = w->l;
    peak out = {.at = UINT32_MAX, .stmt = UINT32_MAX, .mode = mode};
    for (uint32_t p = l->blocks.at[b].first; p < l->blocks.at[b].end; p++) {
        const uint32_t s = l->order[p];
        add_load(now, w->change[p]);
        if (l->f->body.at[s].kind != PG_PTX_S_INST || !l->blocks.at[b].is_reached) {
            continue;
        }
        load here = *now;
        add_load(&here, w->through[b]);
        const uint32_t slow = (l->what[s] & PG_LIVE_SPLIT) != 0 ? PG_LIVE_SLOW_PATH : 0;
        const uint32_t own = words(here.own) + slow;
        const uint32_t some = own + spilled_flags(here.flags);
        const uint32_t all = words(here.own + here.uniform) + slow + spilled_flags(here.flags);
        seen->some[mode] = some > seen->some[mode] ? some : seen->some[mode];
        seen->all[mode] = all > seen->all[mode] ? all : seen->all[mode];
        if (out.at == UINT32_MAX || own > out.live) {
            out = (peak){own, p, s, mode};
        }
    }
    return out;
}

static void find_held(const walk *w, pg_live_peak *out)
{
    for (uint32_t b = 0; b < w->l->blocks.n; b++) {
        uint32_t at = w->l->blocks.at[b].first;
        for (uint32_t i = 0; i < w->n_spans; i++) {
            bool is_inside = w->spans[i].first <= at && at < w->spans[i].end;
            if (is_inside && w->held[b] / 2 > out[i].held) {
                out[i].held = w->held[b] / 2;
            }
        }
    }
}

static bool walk_begin(walk *w, pg_live *l)
{
    uint32_t n = l->blocks.n + 1;
    w->l = l;
    w->in = PG_NEWS(l->arena, uint32_t, n);
    w->out = PG_NEWS(l->arena, uint32_t, n);
    w->def_in = PG_NEWS(l->arena, uint32_t, n);
    w->group_of = PG_NEWS(l->arena, uint32_t, n);
    w->has_group = PG_NEWS(l->arena, uint32_t, n);
    w->through = PG_NEWS(l->arena, load, n);
    w->held = PG_NEWS(l->arena, uint32_t, n);
    w->held_by = PG_NEWS(l->arena, uint32_t, n);
    w->change = PG_NEWS(l->arena, load, l->f->body.n + 1);
    return pg_arena_status(l->arena) == PG_OK;
}

static pg_status run_order(pg_live *l, const job *j, pg_live_mode mode, walk *w)
{
    *w = (walk){.spans = j->spans, .n_spans = j->n_spans, .out_arena = j->arena};
    PG_TRY(pg_live_costs(l));
    PG_TRY(pg_live_order(l, mode, NULL));
    PG_TRY(pg_live_reorder(l));
    return walk_begin(w, l) && walk_all(w) ? PG_OK : PG_E_NOMEM;
}

/* Walks once more, with the peaks known, and keeps what lives at those that this order has. */
static pg_status collect(pg_live *l, const job *j, pg_live_mode mode)
{
    walk w;
    PG_TRY(run_order(l, j, mode, &w));
    w.peaks = PG_NEWS(l->arena, uint32_t, w.n_spans + 1);
    w.values = PG_NEWS(l->arena, pg_live_values, w.n_spans + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t i = 0; i < w.n_spans; i++) {
        w.peaks[i] = j->worst[i].mode == mode ? j->worst[i].at : UINT32_MAX;
    }
    memset(w.in, 0, l->blocks.n * sizeof *w.in);
    memset(w.out, 0, l->blocks.n * sizeof *w.out);
    memset(w.def_in, 0, l->blocks.n * sizeof *w.def_in);
    memset(w.has_group, 0, l->blocks.n * sizeof *w.has_group);
    if (!walk_all(&w)) {
        return PG_E_NOMEM;
    }
    for (uint32_t i = 0; i < w.n_spans; i++) {
        if (j->worst[i].mode == mode) {
            j->out[i].values = w.values[i].at;
            j->out[i].n_values = w.values[i].n;
        }
    }
    return PG_OK;
}

static pg_status run_mode(pg_live *l, const job *j, pg_live_mode mode)
{
    walk w;
    load now = {0};
    PG_TRY(run_order(l, j, mode, &w));
    find_held(&w, j->out);
    for (uint32_t b = 0; b < l->blocks.n; b++) {
        const peak p = peak_of_block(&w, b, mode, &now, &j->seen[b]);
        if (mode != PG_LIVE_WIDE && (j->best[b].at == UINT32_MAX || p.live < j->best[b].live)) {
            j->best[b] = p;
        }
        if (mode != PG_LIVE_WIDE && mode != PG_LIVE_DEEP && p.live < j->usual[b]) {
            j->usual[b] = p.live;
        }
    }
    return pg_arena_status(l->arena);
}

/* What the estimate asks of blocks besides what is live. */
static void look_at_blocks(const pg_live *l, pg_live_figures *out)
{
    for (uint32_t b = 0; b < l->blocks.n; b++) {
        const pg_live_block *block = &l->blocks.at[b];
        uint32_t n_fma = 0;
        for (uint32_t s = block->first; s < block->end; s++) {
            n_fma += (l->what[s] & PG_LIVE_FMA) != 0;
        }
        out[b].is_loop = block->loop != 0;
        out[b].is_products = block->loop != 0 && 2 * n_fma >= block->end - block->first;
    }
}

/* Each block has its own order: the peak of a span is the highest of its blocks' lowest. */
static void find_worst(const pg_live *l, const job *j)
{
    for (uint32_t i = 0; i < j->n_spans; i++) {
        const pg_live_span *span = &j->spans[i];
        peak *worst = &j->worst[i];
        *worst = (peak){.at = UINT32_MAX, .stmt = UINT32_MAX};
        const uint32_t first = span->first < l->f->body.n ? l->block_of[span->first] : l->blocks.n;
        uint32_t b = first;
        uint32_t usual = 0;
        for (; b < l->blocks.n && l->blocks.at[b].first < span->end; b++) {
            usual = j->usual[b] > usual ? j->usual[b] : usual;
            if (worst->at == UINT32_MAX ||
                (j->best[b].at != UINT32_MAX && j->best[b].live > worst->live)) {
                *worst = j->best[b];
            }
        }
        j->out[i].least = worst->live;
        j->out[i].usual = usual;
        j->out[i].stmt = worst->stmt;
        j->out[i].estimate =
            worst->live == 0 ? 0 : pg_live_estimate(&j->seen[first], b - first, span);
    }
}

static bool asks_for_more(const job *j)
{
    bool does = j->wants_values;
    for (uint32_t i = 0; i < j->n_spans; i++) {
        does = does || j->spans[i].enough == 0;
    }
    return does;
}

/* Scratch of one order is gone before the next. */
static pg_status run_modes(pg_live *l, const job *j,
                           pg_status (*one)(pg_live *, const job *, pg_live_mode))
{
    for (uint32_t m = 0; m < PG_LIVE_MODE_COUNT; m++) {
        pg_arena_mark mark = pg_arena_mark_get(l->arena);
        pg_status status = one(l, j, (pg_live_mode)m);
        pg_arena_release(l->arena, mark);
        PG_TRY(status);
    }
    return PG_OK;
}

static pg_status read_body(pg_live *l, const job *j)
{
    PG_TRY(pg_live_classify(l));
    PG_TRY(pg_live_flow(l, j->spans, j->n_spans));
    return pg_live_refs(l);
}

/* What was found in the function as it is sunk, said of the function as it is. */
static void name_statements(const job *j, const uint32_t *from)
{
    for (uint32_t i = 0; i < j->n_spans; i++) {
        pg_live_peak *p = &j->out[i];
        p->stmt = p->stmt == UINT32_MAX ? UINT32_MAX : from[p->stmt];
        for (uint32_t v = 0; v < p->n_values; v++) {
            p->values[v].stmt = from[p->values[v].stmt];
        }
    }
}

static pg_status make_room(const pg_live *l, job *j)
{
    j->best = PG_NEWS(l->arena, peak, l->blocks.n + 1);
    j->usual = PG_NEWS(l->arena, uint32_t, l->blocks.n + 1);
    j->seen = PG_NEWS(l->arena, pg_live_figures, l->blocks.n + 1);
    j->worst = PG_NEWS(l->arena, peak, j->n_spans + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t b = 0; b < l->blocks.n; b++) {
        j->best[b].at = j->usual[b] = UINT32_MAX;
    }
    return PG_OK;
}

/* Reads the body, unless bounds show that it has registers enough; `j->out` holds them then. */
static pg_status try_bounds(pg_live *l, job *j, bool *is_enough)
{
    const bool is_coarse = !asks_for_more(j);
    *is_enough = false;
    if (is_coarse) {
        PG_TRY(pg_live_quick(l->f, l->arena, j->spans, j->n_spans, j->out, is_enough));
    }
    if (*is_enough) {
        return PG_OK;
    }
    PG_TRY(read_body(l, j));
    return is_coarse ? pg_live_bound(l, j->spans, j->n_spans, j->out, is_enough) : PG_OK;
}

static pg_status run(pg_live *l, job *j)
{
    bool is_enough;
    PG_TRY(try_bounds(l, j, &is_enough));
    if (is_enough) {
        return PG_OK;
    }
    for (uint32_t i = 0; i < j->n_spans; i++) {
        j->out[i] = (pg_live_peak){.stmt = UINT32_MAX};
    }
    pg_ptx_func sunk;
    uint32_t *from = PG_NEWS(l->arena, uint32_t, l->f->body.n + 1);
    if (from == NULL) {
        return PG_E_NOMEM;
    }
    PG_TRY(pg_live_index_text(l));
    PG_TRY(pg_live_uniform(l));
    PG_TRY(pg_live_sink(l, j->spans, j->n_spans, &sunk, from));
    *l = (pg_live){.f = &sunk, .arena = l->arena, .is_uniform = l->is_uniform};
    PG_TRY(read_body(l, j));
    PG_TRY(make_room(l, j));
    look_at_blocks(l, j->seen);
    PG_TRY(run_modes(l, j, run_mode));
    find_worst(l, j);
    if (j->wants_values) {
        PG_TRY(run_modes(l, j, collect));
    }
    name_statements(j, from);
    return PG_OK;
}

pg_status pg_live_peaks(const pg_ptx_func *f, const pg_live_span *spans, uint32_t n_spans,
                        bool wants_values, pg_arena *arena, pg_live_peak *out)
{
    pg_arena scratch;
    pg_arena_init(&scratch, arena->alloc);
    pg_live l = {.f = f, .arena = &scratch};
    job j = {.spans = PG_NEWS(&scratch, pg_live_span, n_spans + 1),
             .n_spans = n_spans,
             .wants_values = wants_values,
             .arena = arena,
             .out = out};
    pg_status status = pg_arena_status(&scratch);
    if (status == PG_OK) {
        memcpy(j.spans, spans, n_spans * sizeof *spans);
        status = run(&l, &j);
    }
    pg_arena_fini(&scratch);
    return status == PG_OK ? pg_arena_status(arena) : status;
}
