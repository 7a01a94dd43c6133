/* layouts.c: the pass `layouts`: an encoding for every register tile, so that no data moves.
 *
 * One walk against program order. Users come before what they use, so when the walk reaches an
 * operation it knows every layout that its result is wanted in:
 *
 *   store, buf.store            want their operands in the author's layout, else in the default;
 *                               sums of a matrix operation go over to the store's own by a copy
 *                               where that pays
 *   carried values, if results  have one layout: the author's, else the first that is wanted
 *   elementwise, addptr         want their operands in the result's layout
 *   load                        too; where its own layout and a copy cost less (layouts_access.c),
 *                               it takes that
 *   broadcast, reshape, ...     want their operand in the layout pulled back from the result's
 *   reduce                      wants its operand where the result follows from it
 *   mma                         its result is a fragment over all warps, which elementwise users
 *                               take over; operands get copies into the fragments that go with it
 *   copy                        takes any operand
 *   splat, iota, const          take any
 *
 * I1  After the pass every register tile type has an encoding; operands and results agree.
 * I2  An author's encoding stays. What has encodings throughout is left unchanged.
 * I3  A value wanted in several layouts is computed once for each, next to the first. That is right
 *     for pure operations, and for loads that no store of the kernel may alias (a store that comes
 *     later counts too: another thread may be there already). Else it is copied: a `copy` is the
 *     only operation that changes a layout.
 * I4  Encodings are named in order of their first use from the end: the same input gives the same
 *     names. */
#include "sched/layouts.h"

/* ---- demands -------------------------------------------------------------------------------- */

static pg_demand_list *list_of(pg_layouts *l, pg_val v)
{
    while (l->lists.n <= v.id) {
        if (!pg_vec_push(l->env->scratch, &l->lists, (pg_demand_list){0})) {
            l->status = PG_E_NOMEM;
            return NULL;
        }
    }
    return &l->lists.at[v.id];
}

static const pg_demand *first_demand(pg_layouts *l, pg_val v)
{
    const pg_demand_list *list = list_of(l, v);
    return list && list->first ? &l->demands.at[list->first - 1] : NULL;
}

static const pg_demand *next_demand(const pg_layouts *l, const pg_demand *d)
{
    return d->next ? &l->demands.at[d->next - 1] : NULL;
}

static void set_enc(pg_layouts *l, pg_val v, pg_enc e)
{
    if (!pg_enc_eq(pg_layouts_enc_of(l, v), e)) {
        pg_val_set_type(l->k, v, pg_type_with_enc(l->types, pg_val_type(l->k, v), e));
        l->changed = true;
    }
}

static void set_in(pg_layouts *l, pg_inst *i, uint32_t at, pg_val v)
{
    if (!pg_val_eq(i->in[at], v)) {
        pg_inst_set_in(i, at, v);
        l->changed = true;
    }
}

/* A tile literal in another encoding. */
static pg_val literal_in(pg_layouts *l, pg_val literal, pg_enc e)
{
    const pg_value *v = pg_value_of(l->k, literal);
    const pg_type type = pg_type_with_enc(l->types, v->type, e);
    return v->is_poison ? pg_const_poison(l->k, type) : pg_const(l->k, type, v->bits);
}

/* Operand `at` of i must have the encoding e. */
static void demand(pg_layouts *l, pg_inst *i, uint32_t at, pg_enc e)
{
    const pg_val v = i->in[at];
    if (e.id == 0 || !pg_layouts_is_tile(l, v)) {
        return;
    }
    if (pg_val_is_const(l->k, v)) {
        set_in(l, i, at, literal_in(l, v, e));
        return;
    }
    pg_demand_list *list = list_of(l, v);
    if (!list || !pg_vec_push(l->env->scratch, &l->demands, ((pg_demand){i, at, e, 0}))) {
        l->status = PG_E_NOMEM;
        return;
    }
    if (list->first) {
        l->demands.at[list->last - 1].next = l->demands.n;
    } else {
        list->first = l->demands.n;
    }
    list->last = l->demands.n;
}

static void demand_reduced(pg_layouts *l, pg_inst *i, pg_enc res);

static void demand_operands(pg_layouts *l, pg_inst *i, pg_enc e)
{
    const uint16_t flags = pg_op_infos[i->op].flags;
    if (i->op == PG_OP_REDUCE) {
        demand_reduced(l, i, e);
    } else if (flags & PG_F_SHAPE) {
        demand(l, i, 0, pg_layouts_pull(l, i, e));
    } else if ((flags & PG_F_ELEM) || i->op == PG_OP_LOAD || i->op == PG_OP_ADDPTR ||
               i->op == PG_OP_CONST) {
        for (uint32_t j = 0; j < i->n_in; j++) {
            demand(l, i, j, e);
        }
    }
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* The author's encoding of a value, or one that reaches it. */
static pg_enc anchor_of(const pg_layouts *l, pg_val v)
{
    const pg_enc own = pg_layouts_enc_of(l, v);
    return own.id != 0 || v.id >= l->hints.n ? own : l->hints.at[v.id];
}

static void report_two(pg_layouts *l, const pg_inst *at, pg_val v, pg_enc a, pg_enc b,
                       const char *why)
{
    const pg_str name_a = pg_layouts_enc_text(l, a), name_b = pg_layouts_enc_text(l, b);
    const pg_sym name = pg_value_of(l->k, v)->name;
    pg_strbuf text;
    pg_strbuf_init(&text, l->k->module->ctx->alloc);
    if (name.id != 0) {
        pg_putf(&text, "%%%s", pg_sym_text(&l->k->module->ctx->syms, name).ptr);
    } else {
        pg_putf(&text, "the result of %s", pg_op_infos[at->op].text);
    }
    (void)pg_diag_add(l->env->diags, PG_D_LAYOUT_TWO, at->loc, text.ptr ? text.ptr : "a value",
                      name_a.ptr, name_b.ptr, why);
    pg_strbuf_fini(&text);
    l->n_errors++;
}

/* The first encoding that v is wanted in; only those that lead to the result `res` of a reduction,
 * if there is one. Id 0: none. */
static pg_enc wanted(pg_layouts *l, pg_val v, const pg_inst *reduce, pg_enc res)
{
    pg_enc found = {0};
    uint32_t n = 0;
    for (const pg_demand *d = first_demand(l, v); d; d = next_demand(l, d)) {
        const bool is_good = reduce == NULL || pg_layouts_reduces_to(l, reduce, d->enc, res);
        n += is_good;
        if (is_good && (n == 1 || pg_tie(l->env, n) + 1 == n)) {
            found = d->enc;
        }
    }
    return found;
}

/* One encoding for a value with a single definition in the text: author's, first wanted, default.
 */
static pg_enc choose(pg_layouts *l, const pg_inst *at, pg_val v)
{
    pg_enc e = pg_layouts_enc_of(l, v);
    if (e.id == 0) {
        e = wanted(l, v, NULL, e);
    }
    if (e.id == 0) {
        e = anchor_of(l, v);
    }
    return e.id != 0 ? e : pg_layouts_default(l, at, pg_val_type(l->k, v));
}

static pg_inst *repeat(pg_layouts *l, pg_inst *i, pg_enc e)
{
    const pg_type type = pg_type_with_enc(l->types, pg_val_type(l->k, i->out[0]), e);
    pg_inst *copy = pg_inst_new(l->k, (pg_op)i->op, i->n_in, i->in, 1, &type, 0);
    pg_attr *attrs = PG_NEWS(&l->k->module->arena, pg_attr, (size_t)i->attrs.n + 1);
    if (!copy || !attrs) {
        l->status = PG_E_NOMEM;
        return NULL;
    }
    for (uint32_t a = 0; a < i->attrs.n; a++) {
        attrs[a] = i->attrs.at[a];
    }
    copy->attrs = (pg_attrs){.at = attrs, .n = i->attrs.n};
    copy->loc = i->loc;
    pg_inst_insert_after(i, copy);
    const pg_str name = pg_layouts_enc_text(l, e);
    pg_pass_explain(l->env, "layouts", l->k, i, "computed once more for users in #%.*s",
                    PG_STR_ARG(name));
    l->changed = true;
    return copy;
}

/* Users of v that want the encoding e take `to`; demands of equal encodings are done at once. */
static void hand_over(pg_layouts *l, pg_val v, pg_enc e, pg_val to)
{
    for (const pg_demand *d = first_demand(l, v); d; d = next_demand(l, d)) {
        if (pg_enc_eq(d->enc, e)) {
            set_in(l, d->user, d->operand, to);
        }
    }
}

/* The first demand for an encoding that is not among encs[0..n). */
static const pg_demand *other_demand(pg_layouts *l, pg_val v, const pg_enc *encs, uint32_t n)
{
    for (const pg_demand *d = first_demand(l, v); d; d = next_demand(l, d)) {
        bool is_known = false;
        for (uint32_t i = 0; i < n; i++) {
            is_known = is_known || pg_enc_eq(d->enc, encs[i]);
        }
        if (!is_known) {
            return d;
        }
    }
    return NULL;
}

#define MAX_COPIES 8

/* A copy of v in the encoding e, before `at`. */
static pg_val copy_behind(pg_layouts *l, pg_inst *at, const pg_inst *from, pg_val v, pg_enc e)
{
    const pg_type type = pg_type_with_enc(l->types, pg_val_type(l->k, v), e);
    pg_inst *copy = pg_inst_new(l->k, PG_OP_COPY, 1, &v, 1, &type, 0);
    if (copy == NULL) {
        l->status = PG_E_NOMEM;
        return v;
    }
    copy->loc = from->loc;
    pg_inst_insert_before(at, copy);
    const pg_str name = pg_layouts_enc_text(l, e);
    pg_pass_explain(l->env, "layouts", l->k, from, "copied into #%.*s", PG_STR_ARG(name));
    l->changed = true;
    return copy->out[0];
}

/* Gives v, which cannot be computed twice, the encoding e; users that want another get a copy that
 * stands before `place`. */
static void settle(pg_layouts *l, pg_inst *place, const pg_inst *at, pg_val v, pg_enc e)
{
    pg_enc encs[MAX_COPIES] = {e};
    set_enc(l, v, e);
    uint32_t n = 1;
    for (const pg_demand *d; l->status == PG_OK && (d = other_demand(l, v, encs, n)) != NULL; n++) {
        if (n == MAX_COPIES) {
            report_two(l, at, v, e, d->enc, "it has eight already");
            return;
        }
        encs[n] = d->enc;
        hand_over(l, v, encs[n], copy_behind(l, place, at, v, encs[n]));
    }
}

/* A load that costs less in its own layout, copied into the one that is wanted, takes its own. What
 * an author wrote stays, also that of its pointers. */
static bool take_own(pg_layouts *l, const pg_inst *i, pg_enc *e)
{
    if (i->op != PG_OP_LOAD || pg_layouts_enc_of(l, i->out[0]).id != 0 ||
        !pg_layouts_is_tile(l, i->in[0]) || pg_layouts_enc_of(l, i->in[0]).id != 0) {
        return false;
    }
    const pg_enc own = pg_layouts_pays(l, i, *e);
    *e = own.id != 0 ? own : *e;
    return own.id != 0;
}

/* An operation with one tile as its result. */
static void visit_value(pg_layouts *l, pg_inst *i)
{
    pg_enc encs[MAX_COPIES];
    const pg_val v = i->out[0];
    uint32_t n = 1;
    encs[0] = choose(l, i, v);
    const bool is_own = take_own(l, i, &encs[0]);
    set_enc(l, v, encs[0]);
    for (const pg_demand *d; l->status == PG_OK && (d = other_demand(l, v, encs, n)) != NULL; n++) {
        if (n == MAX_COPIES) {
            report_two(l, i, v, encs[0], d->enc, "it has eight already");
            break;
        }
        encs[n] = d->enc;
        if (is_own || !pg_layouts_can_repeat(l, i) || i->op == PG_OP_MMA || i->op == PG_OP_UMMA) {
            hand_over(l, v, encs[n], copy_behind(l, i->next, i, v, encs[n]));
            continue;
        }
        pg_inst *copy = repeat(l, i, encs[n]);
        if (!copy) {
            return;
        }
        hand_over(l, v, encs[n], copy->out[0]);
        demand_operands(l, copy, encs[n]);
    }
    demand_operands(l, i, encs[0]);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* An operand whose layout gives the result (res; id 0: a scalar) where it is wanted: the author's,
 * one in which the operand is wanted anyway, the default, else one made for it. */
static void demand_reduced(pg_layouts *l, pg_inst *i, pg_enc res)
{
    const pg_val v = i->in[0];
    pg_enc e = anchor_of(l, v);
    if (e.id == 0) {
        e = wanted(l, v, i, res);
    }
    if (e.id == 0 || !pg_layouts_reduces_to(l, i, e, res)) {
        e = pg_layouts_peek_default(l, i, pg_val_type(l->k, v));
        if (e.id != 0 && pg_layouts_reduces_to(l, i, e, res)) {
            e = pg_layouts_default(l, i, pg_val_type(l->k, v));
        } else {
            e = res.id != 0 ? pg_layouts_spread(l, i, res) : e;
        }
    }
    if (e.id == 0) {
        const pg_str name = pg_layouts_enc_text(l, res);
        (void)pg_diag_add(l->env->diags, PG_D_LAYOUT_BACK, i->loc, 0u, name.ptr,
                          pg_layout_error_text(PG_LAYOUT_NOT_LINEAR));
        l->n_errors++;
        return;
    }
    (void)pg_layouts_enc_text(l, e);
    demand(l, i, 0, e);
}

/* ---- anchors and regions --------------------------------------------------------------------- */

/* store, buf.store: value, pointers and mask in one layout. */
static void visit_store(pg_layouts *l, pg_inst *i)
{
    const bool is_atomic =
        i->op == PG_OP_ATOMIC_ADD || i->op == PG_OP_ATOMIC_MAX || i->op == PG_OP_ATOMIC_UMAX;
    const uint32_t value = i->op == PG_OP_STORE || i->op == PG_OP_BUF_STORE || is_atomic ? 1 : 0;
    if (value >= i->n_in || !pg_layouts_is_tile(l, i->in[value])) {
        return;
    }
    pg_enc e = pg_layouts_enc_of(l, i->in[value]);
    for (uint32_t j = 0; j < i->n_in && e.id == 0; j++) { /* what the author wrote comes first */
        e = pg_layouts_is_tile(l, i->in[j]) ? pg_layouts_enc_of(l, i->in[j]) : e;
    }
    e = e.id != 0 ? e : anchor_of(l, i->in[value]);
    const uint32_t shift = pg_tie(l->env, i->n_in);
    for (uint32_t j = 0; j < i->n_in && e.id == 0; j++) {
        const pg_val x = i->in[(j + shift) % i->n_in];
        e = pg_layouts_is_tile(l, x) ? anchor_of(l, x) : e;
    }
    if (i->op == PG_OP_STORE && pg_layouts_is_chosen(l, e)) {
        const pg_enc own = pg_layouts_pays(l, i, e);
        if (own.id != 0) { /* the value keeps its layout up to here */
            const pg_val copy = copy_behind(l, i, i, i->in[value], own);
            demand(l, pg_val_def(l->k, copy), 0, e);
            set_in(l, i, value, copy);
            e = own;
        }
    }
    if (e.id == 0 && i->op == PG_OP_STORE) {
        e = pg_layouts_better(l, i);
    }
    if (e.id == 0) {
        e = pg_layouts_default(l, i, pg_val_type(l->k, i->in[value]));
    }
    for (uint32_t j = 0; j < i->n_in; j++) {
        demand(l, i, j, e);
    }
}

static void visit_mma_begin(pg_layouts *l, pg_inst *i)
{
    const pg_enc e = anchor_of(l, i->in[0]);
    if (e.id == 0) {
        (void)pg_diag_add(l->env->diags, PG_D_LAYOUT_WANTED, i->loc, 0u, pg_op_infos[i->op].text);
        l->n_errors++;
        return;
    }
    demand(l, i, 0, e);
}

/* Can a cast be made in the encoding e, and its operand be copied into it? Not if that has more
 * bits, or e means another layout with its element. */
static bool can_cast_in(pg_layouts *l, const pg_inst *i, pg_enc e)
{
    pg_layout layout;
    pg_enc same = {0};
    if (i == NULL || (i->op != PG_OP_CAST && i->op != PG_OP_UCAST) ||
        pg_val_is_const(l->k, i->in[0]) || pg_layouts_enc_of(l, i->out[0]).id != 0) {
        return false;
    }
    const uint32_t n_warps = pg_inst_warps(i);
    const pg_type to = pg_type_with_enc(l->types, pg_val_type(l->k, i->out[0]), e);
    const pg_type_info *from = pg_val_info(l->k, i->in[0]);
    return pg_elem_infos[from->elem].bits <=
               pg_elem_infos[pg_val_info(l->k, i->out[0])->elem].bits &&
           pg_layout_of_tile(l->types, to, n_warps, &layout) == PG_LAYOUT_OK &&
           pg_layouts_enc_for(l, pg_val_type(l->k, i->in[0]), n_warps, &layout, &same) ==
               PG_LAYOUT_OK &&
           pg_enc_eq(same, e);
}

/* Operand `at` of mma in the encoding e: what was loaded or computed stays in its own. A cast comes
 * behind the copy, so that fewer bytes move, and loads can become asynchronous copies. */
static void give_operand(pg_layouts *l, pg_inst *mma, uint32_t at, pg_enc e)
{
    const pg_val v = mma->in[at];
    const pg_inst *def = pg_val_def(l->k, v);
    const bool takes_any = pg_val_is_const(l->k, v) ||
                           (def != NULL && (def->op == PG_OP_SPLAT || def->op == PG_OP_CONST ||
                                            def->op == PG_OP_IOTA || def->op == PG_OP_COPY));
    if (e.id == 0 || pg_enc_eq(pg_layouts_enc_of(l, v), e)) {
        return;
    }
    if (takes_any) {
        demand(l, mma, at, e);
    } else if (can_cast_in(l, def, e)) {
        pg_inst *cast = pg_val_def(l->k, v);
        demand(l, mma, at, e);
        set_in(l, cast, 0, copy_behind(l, cast, cast, cast->in[0], e));
    } else {
        set_in(l, mma, at, copy_behind(l, mma, mma, v, e));
    }
}

static void visit_mma(pg_layouts *l, pg_inst *i)
{
    const pg_enc own = pg_layouts_enc_of(l, i->out[0]);
    const pg_enc acc = own.id != 0 ? own : anchor_of(l, i->out[0]);
    if (acc.id == 0) {
        return; /* reported where it was learned */
    }
    set_enc(l, i->out[0], acc);
    visit_value(l, i);
    demand(l, i, 2, acc);
    const uint32_t n_errors = l->n_errors; /* one is enough */
    for (uint32_t at = 0; at < 2 && l->n_errors == n_errors; at++) {
        give_operand(l, i, at, pg_layouts_operand(l, i, at, acc));
    }
}

static pg_inst *yield_of(const pg_region *r)
{
    return r->last && r->last->op == PG_OP_YIELD ? r->last : NULL;
}

static void walk(pg_layouts *l, pg_region *r);

/* A carried value has one layout: start, arguments, yield, result. */
static void visit_loop(pg_layouts *l, pg_inst *loop)
{
    const uint32_t first = pg_loop_arg(loop);
    pg_inst *yield = yield_of(pg_loop_body(loop));
    for (uint32_t j = 0; j < loop->n_out; j++) {
        if (!pg_layouts_is_tile(l, loop->out[j])) {
            continue;
        }
        const pg_enc e = choose(l, loop, loop->out[j]);
        settle(l, loop->next, loop, loop->out[j], e);
        for (uint32_t r = 0; r < loop->n_regions; r++) {
            set_enc(l, loop->regions[r]->args[first + j], e);
        }
        demand(l, loop, pg_loop_in(loop) + j, e);
        if (yield && j < yield->n_in) {
            demand(l, yield, j, e);
        }
    }
    for (uint32_t r = loop->n_regions; r-- > 0;) {
        const pg_region *region = loop->regions[r];
        walk(l, loop->regions[r]);
        for (uint32_t j = first; j < region->n_args; j++) {
            if (pg_layouts_is_tile(l, region->args[j])) {
                settle(l, region->first, loop, region->args[j],
                       pg_layouts_enc_of(l, region->args[j]));
            }
        }
    }
}

static void visit_if(pg_layouts *l, pg_inst *branch)
{
    for (uint32_t j = 0; j < branch->n_out; j++) {
        if (!pg_layouts_is_tile(l, branch->out[j])) {
            continue;
        }
        const pg_enc e = choose(l, branch, branch->out[j]);
        settle(l, branch->next, branch, branch->out[j], e);
        for (uint32_t r = 0; r < branch->n_regions; r++) {
            pg_inst *yield = yield_of(branch->regions[r]);
            if (yield && j < yield->n_in) {
                demand(l, yield, j, e);
            }
        }
    }
    for (uint32_t r = branch->n_regions; r-- > 0;) {
        walk(l, branch->regions[r]);
    }
}

static void visit(pg_layouts *l, pg_inst *i)
{
    switch (i->op) {
    case PG_OP_FOR:
    case PG_OP_WHILE: visit_loop(l, i); return;
    case PG_OP_IF: visit_if(l, i); return;
    case PG_OP_ATOMIC_ADD:
    case PG_OP_ATOMIC_MAX:
    case PG_OP_ATOMIC_UMAX:
    case PG_OP_STORE:
    case PG_OP_BUF_STORE: visit_store(l, i); return;
    case PG_OP_MMA:
    case PG_OP_UMMA: visit_mma(l, i); return;
    case PG_OP_MMA_BEGIN: visit_mma_begin(l, i); return;
    default: break;
    }
    for (uint32_t r = i->n_regions; r-- > 0;) {
        walk(l, i->regions[r]);
    }
    if (i->n_out == 1 && pg_layouts_is_tile(l, i->out[0])) {
        visit_value(l, i);
    } else if (i->op == PG_OP_REDUCE) {
        demand_reduced(l, i, (pg_enc){0});
    }
}

static void walk(pg_layouts *l, pg_region *r)
{
    for (pg_inst *i = r->last, *prev; i && l->status == PG_OK; i = prev) {
        prev = i->prev;
        visit(l, i);
    }
}

pg_status pg_pass_layouts(pg_pass_env *env, pg_kernel *k, pg_change *change);
pg_status pg_pass_layouts(pg_pass_env *env, pg_kernel *k, pg_change *change)
{
    pg_layouts l = {.env = env, .k = k, .types = k->module->ctx->types};
    pg_layouts_learn(&l);
    walk(&l, k->body);
    if (l.changed) {
        *change = PG_CHANGED;
    }
    PG_TRY(l.status);
    PG_TRY(pg_arena_status(&k->module->arena));
    return l.n_errors > 0 ? pg_diags_status(env->diags) : PG_OK;
}
