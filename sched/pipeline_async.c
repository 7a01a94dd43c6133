/* pipeline_async.c: preset P-C: asynchronous copies into a ring of slots.
 *
 *   for %i in lo to hi step s [stages=n]       prologue: for j in 0 .. n-2, as far as there are
 *     %x = load %p, %m                           iterations: async.get of iteration j into slot j;
 *     %a = copy %x                               commit
 *     %d = mma %a, ...                         for %i: async.wait [in_flight=n-2]; cta.sync
 *                                                %a = buf.load of the read slot; mma
 *                                                async.get of iteration i+n-1 into the write slot;
 *                                                commit; both cursors one slot on
 *                                              async.wait [in_flight=0]
 *
 * I1  The slice (what addresses and masks are computed from) is pure. It is cloned for the
 *     iteration that a copy is for; carried values in it get a second, carried copy that runs n-1
 *     ahead.
 * I2  A copy of an iteration that does not exist has a mask that is false: every iteration commits
 *     one group, and the loop is right for every trip count, 0 included.
 * I3  Slots are carried cursors; the copy into a slot is issued behind the barrier that follows its
 *     last read.
 * I4  Where addresses are computed from the iteration variable, they are so of iterations that
 *     exist: what the author promises of those (nw) holds, and says that neighbours lie together.
 */
#include "ir/target.h"
#include "sched/pipeline.h"

#define MAX_LOADS   8
#define MAX_CARRIED 32

typedef struct ahead {
    pg_pipe *p;
    pg_inst *loop, *yield;
    pg_region *body;
    uint32_t n_stages;
    int64_t step;
    pg_uses uses;
    uint32_t n_loads;
    pg_inst *loads[MAX_LOADS];
    pg_type type[MAX_LOADS]; /* of the buffers */
    pg_val buf[MAX_LOADS];
    pg_type slot[MAX_LOADS]; /* type of one slot of buf */
    uint8_t *in_slice;       /* by value id; values made by the pass are not in it */
    uint32_t n_vals;
    bool is_iv_in_address;
    pg_val *map;       /* by value id: what stands for it in the clone being made */
    uint32_t *carried; /* indices of the carried values in the slice */
    uint32_t n_carried;
    pg_stages_plan plan;
    bool needs_barrier; /* what was used before the loop is over: memory is shared with it */
} ahead;

/* ---- may it be done? ------------------------------------------------------------------------ */

static bool is_zero(const pg_kernel *k, pg_val v)
{
    const pg_value *value = pg_value_of(k, v);
    if (value->kind == PG_V_RESULT &&
        (value->def->op == PG_OP_CONST || value->def->op == PG_OP_SPLAT)) {
        return is_zero(k, value->def->in[0]);
    }
    return value->kind == PG_V_CONST && (value->bits == 0 || value->is_poison);
}

/* As it is, or after casts. */
static bool feeds_product(const ahead *a, pg_val v)
{
    bool is_found = false;
    pg_foreach_use (use, &a->uses, v) {
        const pg_inst *i = use->inst;
        is_found = is_found || (i != NULL && (i->op == PG_OP_MMA || i->op == PG_OP_UMMA ||
                                              ((i->op == PG_OP_CAST || i->op == PG_OP_UCAST) &&
                                               feeds_product(a, i->out[0]))));
    }
    return is_found;
}

/* A load that only copies for matrix operations use. */
static bool feeds_products(const ahead *a, const pg_inst *load)
{
    uint32_t n = 0;
    pg_foreach_use (use, &a->uses, load->out[0]) {
        if (use->inst == NULL || use->inst->op != PG_OP_COPY || use->inst->parent != a->body) {
            return false;
        }
        n += feeds_product(a, use->inst->out[0]);
    }
    return n > 0;
}

static const char *why_not_load(const ahead *a, const pg_inst *load)
{
    const pg_type_info *t = pg_val_info(a->p->k, load->out[0]);
    if (load->n_in == 3 && !is_zero(a->p->k, load->in[2])) {
        return "a masked load gives another value than 0";
    }
    if (t->rank > 2 || pg_elem_infos[t->elem].bits < 8) {
        return "a tile is not of two dimensions, or of elements below 8 bits";
    }
    return NULL;
}

static const char *find_loads(ahead *a)
{
    pg_foreach_inst (i, a->body) {
        if (i->op != PG_OP_LOAD || pg_val_info(a->p->k, i->out[0])->kind != PG_TY_TILE ||
            !feeds_products(a, i)) {
            continue;
        }
        const char *why = why_not_load(a, i);
        if (why != NULL) {
            return why;
        }
        if (a->n_loads == MAX_LOADS) {
            return "more than 8 loads feed matrix operations";
        }
        /* Copies of one iteration are free to go in any order. */
        const uint32_t at = a->n_loads - pg_tie(a->p->env, a->n_loads + 1);
        a->loads[a->n_loads++] = a->loads[at];
        a->loads[at] = i;
    }
    return a->n_loads == 0 ? "no load feeds a matrix operation" : NULL;
}

static void mark(ahead *a, pg_val v)
{
    if (v.id < a->n_vals) {
        a->in_slice[v.id] = 1;
    }
}

static bool inst_in_slice(const ahead *a, const pg_inst *i)
{
    for (uint32_t j = 0; j < i->n_out; j++) {
        const uint32_t id = i->out[j].id;
        if (id < a->n_vals && a->in_slice[id]) {
            return true;
        }
    }
    return false;
}

/* Everything in the body that what is marked comes from, through carried values too. */
static void grow_slice(ahead *a)
{
    for (bool grows = true; grows;) {
        for (pg_inst *i = a->body->last; i != NULL; i = i->prev) {
            for (uint32_t j = 0; inst_in_slice(a, i) && j < i->n_in; j++) {
                mark(a, i->in[j]);
            }
        }
        grows = false;
        for (uint32_t c = 1; c < a->body->n_args; c++) {
            const pg_val next = a->yield->in[c - 1];
            if (a->in_slice[a->body->args[c].id] && !a->in_slice[next.id]) {
                mark(a, next);
                grows = true;
            }
        }
    }
}

/* What addresses and masks come from. */
static void find_slice(ahead *a)
{
    for (uint32_t l = 0; l < a->n_loads; l++) {
        mark(a, a->loads[l]->in[0]);
    }
    grow_slice(a);
    a->is_iv_in_address = a->in_slice[a->body->args[0].id] != 0;
    for (uint32_t l = 0; l < a->n_loads; l++) {
        if (a->loads[l]->n_in > 1) {
            mark(a, a->loads[l]->in[1]);
        }
    }
    grow_slice(a);
    for (uint32_t c = 1; c < a->body->n_args; c++) {
        if (a->in_slice[a->body->args[c].id]) {
            a->carried[a->n_carried++] = c - 1;
        }
    }
}

static const char *why_not_slice(const ahead *a)
{
    if (a->n_carried > MAX_CARRIED) {
        return "addresses and masks come from more than 32 carried values";
    }
    pg_foreach_inst (i, a->body) {
        if (!inst_in_slice(a, i)) {
            continue;
        }
        if (i->op == PG_OP_LOAD) {
            return "an address or a mask comes from a load of this loop";
        }
        if ((pg_op_infos[i->op].flags & PG_F_PURE) == 0) {
            return "an address or a mask does not come from pure operations";
        }
    }
    return NULL;
}

/* No store of the loop may change what is loaded ahead of it. */
static const char *why_not_memory(const ahead *a)
{
    for (const pg_inst *i = a->body->first; i != NULL; i = pg_inst_walk(i, a->body)) {
        for (uint32_t l = 0; l < a->n_loads; l++) {
            if (i != a->loads[l] && i->n_regions == 0 && i->op != PG_OP_YIELD &&
                !pg_inst_is_pure(i) && !pg_may_reorder(a->p->k, i, a->loads[l])) {
                return "an operation of the loop may change what is loaded ahead, or orders it";
            }
        }
    }
    return NULL;
}

/* As many slots as there is room for, at least two. */
static const char *why_not_size(ahead *a)
{
    pg_pipe *p = a->p;
    uint64_t bytes = 0;
    const uint64_t room =
        pg_pipe_room(p, &a->uses, a->loop, a->loads, a->n_loads, &a->needs_barrier);
    for (; a->n_stages >= 2; a->n_stages--) {
        bytes = 0;
        for (uint32_t l = 0; l < a->n_loads; l++) {
            const pg_inst *load = a->loads[l];
            a->type[l] = pg_pipe_buffer_type(p, load, pg_val_type(p->k, load->out[0]), a->n_stages);
            bytes += p->status == PG_OK ? pg_pipe_bytes(p, a->type[l]) : 0;
        }
        if (bytes <= room) {
            return NULL;
        }
    }
    return "not even two slots fit into the shared memory that is left";
}

/* The stage scheduler's word on the three stages copy, read, multiply. */
static const char *why_not_stages(ahead *a)
{
    enum { SMEM, FRAGMENT, SUM };
    pg_stages s = {.n = 3, .n_res = 3, .tie = pg_tie(a->p->env, 4)};
    const uint32_t delay = a->n_stages - 1;
    s.at[0] = (pg_stage){.writes = 1 << SMEM, .is_async = true};
    s.at[1] = (pg_stage){.reads = 1 << SMEM, .writes = 1 << FRAGMENT, .delay = delay};
    s.at[2] = (pg_stage){.reads = 1 << FRAGMENT | 1 << SUM, .writes = 1 << SUM, .delay = delay};
    s.res[SMEM] = (pg_stage_res){.is_shared = true, .slots = a->n_stages};
    const pg_stages_error e = pg_stages_plan_make(&s, &a->plan);
    return e == PG_STAGES_OK ? NULL : pg_stages_error_text(e);
}

static const char *why_not(ahead *a)
{
    if (a->p->k->module->sm < 80) {
        return "the target has no asynchronous copies";
    }
    if (pg_inst_find_parent(a->loop, PG_OP_PARTITION) != NULL) {
        return "it stands in a partition";
    }
    if (!pg_val_int(a->p->k, a->loop->in[2], &a->step) || a->step < 1 || a->step > 1 << 20) {
        return "its step is no constant from 1 to 2^20";
    }
    a->yield = a->body->last;
    if (a->yield == NULL || a->yield->op != PG_OP_YIELD) {
        return "it carries no accumulator";
    }
    const char *why = find_loads(a);
    if (why == NULL) {
        find_slice(a);
        why = why_not_slice(a);
    }
    why = why == NULL ? why_not_memory(a) : why;
    why = why == NULL ? why_not_size(a) : why;
    return why == NULL ? why_not_stages(a) : why;
}

/* ---- doing it -------------------------------------------------------------------------------- */

static pg_val mapped(const ahead *a, pg_val v)
{
    return v.id < a->n_vals && a->map[v.id].id != 0 ? a->map[v.id] : v;
}

static pg_val emit2(ahead *a, pg_inst *at, pg_op op, pg_val x, pg_val y)
{
    const pg_val in[2] = {x, y};
    const bool is_compare = op == PG_OP_ICMP || op == PG_OP_UCMP;
    const pg_type type = is_compare ? pg_type_scalar(a->p->types, PG_I1) : pg_val_type(a->p->k, x);
    return pg_pipe_value(a->p, at, a->loop, op, 2, in, type);
}

static pg_val compare(ahead *a, pg_inst *at, pg_op op, int64_t is, pg_val x, pg_val y)
{
    const pg_val v = emit2(a, at, op, x, y);
    pg_inst *i = pg_val_def(a->p->k, v);
    if (i != NULL) {
        pg_attr_set_int(a->p->k, &i->attrs, PG_A_IS, is);
    }
    return v;
}

static pg_val number_like(const ahead *a, pg_val like, int64_t x)
{
    return pg_const_int(a->p->k, pg_val_type(a->p->k, like), x);
}

static pg_val number(const ahead *a, int64_t x)
{
    return pg_const_int(a->p->k, pg_type_scalar(a->p->types, PG_I32), x);
}

/* Clones the slice before `at`; the map holds what stands for its arguments. */
static void clone_slice(ahead *a, pg_inst *at)
{
    pg_foreach_inst (i, a->body) {
        if (!inst_in_slice(a, i) || a->p->status != PG_OK) {
            continue;
        }
        pg_val in[PG_MAX_IN] = {{0}};
        for (uint32_t j = 0; j < i->n_in && j < PG_MAX_IN; j++) {
            in[j] = mapped(a, i->in[j]);
        }
        const pg_inst *c = pg_pipe_clone(a->p, at, i, in);
        if (c == NULL) {
            return;
        }
        for (uint32_t j = 0; j < i->n_out; j++) {
            a->map[i->out[j].id] = c->out[j];
        }
    }
}

static pg_val view_of(ahead *a, pg_inst *at, uint32_t l, pg_val slot)
{
    const pg_val in[2] = {a->buf[l], slot};
    return pg_pipe_value(a->p, at, a->loads[l], PG_OP_BUF_VIEW, 2, in, a->slot[l]);
}

/* Copies of one iteration into a slot, where `exists` is true, and their commit. */
static void issue(ahead *a, pg_inst *at, pg_val slot, pg_val exists)
{
    pg_kernel *k = a->p->k;
    const pg_type none = {0};
    for (uint32_t l = 0; l < a->n_loads; l++) {
        const pg_inst *load = a->loads[l];
        const pg_type_info *t = pg_val_info(k, load->in[0]);
        const pg_type mask = pg_type_tile(a->p->types, PG_I1, t->rank, t->dims, t->enc);
        const pg_val m =
            load->n_in > 1 ? pg_pipe_mask(a->p, at, load, mapped(a, load->in[1]), exists, a->n_vals)
                           : pg_pipe_value(a->p, at, load, PG_OP_SPLAT, 1, &exists, mask);
        const pg_val in[3] = {mapped(a, load->in[0]), view_of(a, at, l, slot), m};
        (void)pg_pipe_emit(a->p, at, load, PG_OP_ASYNC_GET, 3, in, none);
    }
    (void)pg_pipe_emit(a->p, at, a->loop, PG_OP_ASYNC_COMMIT, 0, NULL, none);
}

/* Sets the map to iteration variable `iv` and the carried values `now` of the slice. */
static void enter(ahead *a, pg_val iv, const pg_val *now)
{
    for (uint32_t v = 0; v < a->n_vals; v++) {
        a->map[v] = (pg_val){0};
    }
    a->map[a->body->args[0].id] = iv;
    for (uint32_t c = 0; c < a->n_carried; c++) {
        a->map[a->body->args[1 + a->carried[c]].id] = now[c];
    }
}

/* The carried values of the slice after the clone. */
static void leave(const ahead *a, pg_val *now)
{
    pg_val next[MAX_CARRIED];
    const uint32_t n = a->n_carried;
    for (uint32_t c = 0; c < n; c++) {
        next[c] = mapped(a, a->yield->in[a->carried[c]]);
    }
    for (uint32_t c = 0; c < n; c++) {
        now[c] = next[c];
    }
}

/* The iteration variable `far` behind iv, or, where there is no such iteration, that of the first
 * one, which a copy with a false mask may as well compute its addresses from. */
static pg_val variable_ahead(ahead *a, pg_inst *at, pg_val iv, pg_val far, pg_val exists)
{
    const pg_val lo = a->loop->in[0];
    const pg_val on = emit2(a, at, PG_OP_IADD, iv, far);
    int64_t x;
    const bool is_number = pg_val_int(a->p->k, iv, &x) && x < INT32_MAX - a->step * a->n_stages;
    pg_inst *i = pg_val_def(a->p->k, on);
    if (!a->is_iv_in_address || is_number || i == NULL) {
        return on;
    }
    pg_attr_set_flag(a->p->k, &i->attrs, PG_A_NW);
    const pg_val in[3] = {exists, on, lo};
    return pg_pipe_value(a->p, at, a->loop, PG_OP_SELECT, 3, in, pg_val_type(a->p->k, iv));
}

static void prologue(ahead *a, pg_val *now)
{
    pg_inst *at = a->loop;
    const pg_val lo = at->in[0], hi = at->in[1];
    const pg_type none = {0};
    /* The last reads of the loop's last run are over, or those of what lay here before. */
    if (pg_pipe_in_loop(at) || a->needs_barrier) {
        (void)pg_pipe_emit(a->p, at, at, PG_OP_CTA_SYNC, 0, NULL, none);
    }
    const pg_val any = compare(a, at, PG_OP_ICMP, PG_IS_LT, lo, hi);
    const pg_val span = emit2(a, at, PG_OP_ISUB, hi, lo);
    for (uint32_t j = 0; j + 1 < a->n_stages && a->p->status == PG_OK; j++) {
        const pg_val far = number_like(a, lo, a->step * j);
        pg_val exists = any, iv = lo;
        if (j > 0) {
            exists = emit2(a, at, PG_OP_AND, any, compare(a, at, PG_OP_UCMP, PG_IS_LT, far, span));
            iv = variable_ahead(a, at, lo, far, exists);
        }
        enter(a, iv, now);
        clone_slice(a, at);
        issue(a, at, number(a, j), exists);
        leave(a, now);
    }
}

static pg_val next_slot(ahead *a, pg_inst *at, pg_val slot)
{
    const pg_val one_on = emit2(a, at, PG_OP_IADD, slot, number(a, 1));
    const pg_val is_end = compare(a, at, PG_OP_ICMP, PG_IS_EQ, one_on, number(a, a->n_stages));
    const pg_val in[3] = {is_end, number(a, 0), one_on};
    return pg_pipe_value(a->p, at, a->loop, PG_OP_SELECT, 3, in, pg_val_type(a->p->k, slot));
}

static pg_val carry(ahead *a, pg_val init)
{
    const pg_type type = pg_val_type(a->p->k, init);
    const pg_sym no_name = {0};
    const pg_val arg = pg_region_add_arg(a->body, type, no_name);
    if (pg_inst_add_in(a->loop, init) != PG_OK || pg_inst_add_out(a->loop, type, no_name).id == 0) {
        a->p->status = PG_E_NOMEM;
    }
    return arg;
}

static void yield_more(ahead *a, pg_val v)
{
    if (pg_inst_add_in(a->yield, v) != PG_OK) {
        a->p->status = PG_E_NOMEM;
    }
}

/* Wait and barrier in front of the first read; the reads in place of the copies. */
static void read_slots(ahead *a, pg_val slot)
{
    const pg_type none = {0};
    pg_inst *first = NULL;
    pg_foreach_inst_safe (i, a->body) {
        for (uint32_t l = 0; i->op == PG_OP_COPY && l < a->n_loads; l++) {
            if (!pg_val_eq(i->in[0], a->loads[l]->out[0])) {
                continue;
            }
            if (first == NULL) {
                first = pg_pipe_emit(a->p, i, a->loop, PG_OP_ASYNC_WAIT, 0, NULL, none);
                if (first != NULL && a->plan.in_flight[0] != 0) {
                    pg_attr_set_int(a->p->k, &first->attrs, PG_A_IN_FLIGHT, a->plan.in_flight[0]);
                }
                (void)pg_pipe_emit(a->p, i, a->loop, PG_OP_CTA_SYNC, 0, NULL, none);
            }
            const pg_val view = view_of(a, i, l, slot);
            const pg_val x = pg_pipe_value(a->p, i, i, PG_OP_BUF_LOAD, 1, &view,
                                           pg_val_type(a->p->k, i->out[0]));
            pg_replace_uses(a->p->k, i->out[0], x);
            pg_inst_remove(i);
            break;
        }
    }
    for (uint32_t l = 0; l < a->n_loads; l++) {
        pg_inst_remove(a->loads[l]);
    }
}

static void rewrite(ahead *a)
{
    pg_pipe *p = a->p;
    pg_inst *loop = a->loop;
    const pg_type none = {0};
    pg_val now[MAX_CARRIED];
    for (uint32_t l = 0; l < a->n_loads; l++) {
        a->buf[l] = pg_pipe_buffer(p, a->loads[l], a->type[l]);
        if (p->status != PG_OK) {
            return;
        }
        pg_type_info info = *pg_val_info(p->k, a->buf[l]);
        info.rank--;
        for (uint32_t d = 0; d < info.rank; d++) {
            info.dims[d] = info.dims[d + 1];
        }
        info.dims[info.rank] = 0;
        a->slot[l] = pg_type_intern(p->types, &info);
    }
    for (uint32_t c = 0; c < a->n_carried; c++) {
        now[c] = loop->in[3 + a->carried[c]];
    }
    prologue(a, now);
    if (p->status != PG_OK) {
        return;
    }
    for (uint32_t c = 0; c < a->n_carried; c++) {
        now[c] = carry(a, now[c]);
    }
    const pg_val read = carry(a, number(a, 0));
    const pg_val write = carry(a, number(a, a->n_stages - 1));
    read_slots(a, read);
    const pg_val iv = a->body->args[0];
    const pg_val far = number_like(a, iv, a->step * (a->n_stages - 1));
    const pg_val left = emit2(a, a->yield, PG_OP_ISUB, loop->in[1], iv);
    const pg_val exists = compare(a, a->yield, PG_OP_UCMP, PG_IS_LT, far, left);
    enter(a, variable_ahead(a, a->yield, iv, far, exists), now);
    clone_slice(a, a->yield);
    issue(a, a->yield, write, exists);
    leave(a, now);
    for (uint32_t c = 0; c < a->n_carried; c++) {
        yield_more(a, now[c]);
    }
    yield_more(a, next_slot(a, a->yield, read));
    yield_more(a, read);
    (void)pg_pipe_emit(p, loop->next, loop, PG_OP_ASYNC_WAIT, 0, NULL, none);
}

bool pg_pipe_async(pg_pipe *p, pg_inst *loop, uint32_t n_stages)
{
    ahead a = {.p = p, .loop = loop, .body = loop->regions[0], .n_stages = n_stages};
    a.n_vals = p->k->values.n;
    a.in_slice = PG_NEWS(p->env->scratch, uint8_t, a.n_vals);
    a.map = PG_NEWS(p->env->scratch, pg_val, a.n_vals);
    a.carried = PG_NEWS(p->env->scratch, uint32_t, (size_t)a.body->n_args + 1);
    if (a.in_slice == NULL || a.map == NULL || a.carried == NULL) {
        p->status = PG_E_NOMEM;
        return false;
    }
    p->status = pg_uses_get(&a.uses, p->k, p->env->scratch);
    if (p->status != PG_OK) {
        return false;
    }
    const char *why = why_not(&a);
    if (why != NULL) {
        pg_pass_explain(p->env, "pipeline", p->k, loop, "not asynchronous: %s", why);
        return false;
    }
    rewrite(&a);
    pg_pass_explain(p->env, "pipeline", p->k, loop,
                    "%u loads run %u iterations ahead in %u slots%s", a.n_loads, a.n_stages - 1,
                    a.n_stages,
                    a.n_stages < n_stages ? ": there is shared memory for no more" : "");
    return true;
}
