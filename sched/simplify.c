/* simplify.c: the pass `simplify`: rounds of one walk in program order, then dead code removal.
 *
 * At each operation the walk takes replaced operands, folds (simplify_fold.c), shares with an equal
 * operation in scope (simplify_cse.c), and moves what does not change in a loop before it.
 *
 * I1  Results are equal bit for bit wherever the program before was defined; poison may become a
 *     value, never the reverse.
 * I2  Only operations without effects are shared or moved. They may be run where they were not
 *     before: none of them traps, x/0 included (it gives poison, on the machine some number).
 * I3  Nothing moves out of an `if`, a partition or an elect region, and tiles are not shared across
 *     partitions: their layouts are relative to it.
 *     Nor does a tile that holds many registers leave a loop (MAX_HOISTED of them in each thread):
 *     computing it again is cheaper than a spill. Tile constants never do: they are free.
 * I4  A literal stands only where the parser can tell its type; elsewhere a `const` holds it.
 * I5  A second run changes nothing. A round changes nothing exactly if it reports no change
 *     (`changed`). In program order a round sees what its own changes lead to, but for the cases in
 *     which it sets `again`: what an operation already passed could now become (a loop's first
 *     look at what it carries, literals), and what is equal in scopes already closed (hoisted). The
 *     pass ends with a round that does not set it (or after MAX_ROUNDS).
 * I6  A round is linear in the size of the kernel. `again` comes from loops and conditions only, so
 *     there are at most about as many rounds as nesting levels.
 * I7  A kernel in which nothing has changed since a run has nothing left for another one (I5). Nor
 *     has one in which only types changed and that had no encodings: rules ask whether types are
 *     equal, and types that are equal with their encodings were so before they had any. */
#include "sched/simplify.h"

#include <string.h>

#include "ir/elem.h"
#include "ir/literal.h"

#define MAX_ROUNDS  64
#define MAX_HOISTED 16
#define MANY        2000 /* instructions: most of them are expressions */

pg_fact *pg_simplify_grow(pg_simplify *s, pg_val v)
{
    const uint32_t n = s->facts.n, more = (v.id < s->k->values.n ? s->k->values.n : v.id + 1u) - n;
    if (!pg_vec_room(s->scratch, &s->facts, more)) {
        s->is_oom = true;
        return &s->facts.at[0];
    }
    memset(s->facts.at + n, 0, more * sizeof *s->facts.at);
    s->facts.n += more;
    return &s->facts.at[v.id];
}

pg_val pg_simplify_follow(pg_simplify *s, pg_val v)
{
    pg_val root = v;
    for (pg_val to; to = pg_simplify_fact(s, root)->to, to.id != 0 && !s->is_oom;) {
        root = to;
    }
    while (v.id != root.id && !s->is_oom) { /* shorten the chain */
        pg_fact *f = pg_simplify_fact(s, v);
        v = f->to;
        f->to = root;
    }
    return root;
}

static uint64_t elem_mask(const pg_simplify *s, pg_type t)
{
    const pg_type_info *info = pg_type_get(s->k->module->ctx->types, t);
    const uint32_t bits = info->is_ptr ? 64 : pg_elem_infos[info->elem].bits;
    return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

bool pg_simplify_const(pg_simplify *s, pg_val v, uint64_t *bits)
{
    v = pg_simplify_literal(s, v);
    const pg_value *value = pg_value_of(s->k, v);
    if (v.id == 0 || value->is_poison) {
        return false;
    }
    *bits = value->bits & elem_mask(s, value->type);
    return true;
}

bool pg_simplify_int(pg_simplify *s, pg_val v, int64_t *out)
{
    uint64_t x;
    const pg_type type = pg_val_type(s->k, v);
    const pg_types *types = s->k->module->ctx->types;
    if (!pg_type_is_int(types, type) || !pg_simplify_const(s, v, &x)) {
        return false;
    }
    *out = (int64_t)pg_elem_wrap((pg_elem)pg_type_get(types, type)->elem, x);
    return true;
}

pg_val pg_simplify_emit(pg_simplify *s, pg_inst *at, pg_op op, uint32_t n_in, const pg_val *in,
                        pg_type type)
{
    pg_inst *i = pg_inst_new(s->k, op, n_in, in, 1, &type, 0);
    if (!i) {
        s->is_oom = true;
        return (pg_val){0};
    }
    i->loc = at->loc;
    pg_inst_insert_before(at, i);
    return i->out[0];
}

pg_val pg_simplify_emit_const(pg_simplify *s, pg_inst *at, pg_type type, uint64_t bits)
{
    const pg_types *types = s->k->module->ctx->types;
    const pg_elem elem = (pg_elem)pg_type_get(types, type)->elem;
    const bool is_int = pg_type_is_int(types, type);
    const pg_val lit = pg_const(s->k, type, is_int ? pg_elem_wrap(elem, bits) : bits);
    return pg_simplify_emit(s, at, PG_OP_CONST, 1, &lit, type);
}

/* ---- operands ------------------------------------------------------------------------------- */

/* I4: can operand `at` of i be this literal, so that the text reads back with the same type? */
static bool literal_fits(const pg_simplify *s, const pg_inst *i, uint32_t at, pg_val literal)
{
    pg_type in[PG_MAX_IN] = {{0}}, out[1] = {{0}};
    if (i->n_in > PG_MAX_IN || i->n_out > 1) {
        return false;
    }
    for (uint32_t j = 0; j < i->n_in; j++) {
        if (j != at && !pg_val_is_const(s->k, i->in[j])) {
            in[j] = pg_val_type(s->k, i->in[j]);
        }
    }
    if (i->n_out == 1) {
        out[0] = pg_val_type(s->k, i->out[0]);
    }
    const pg_operands o = {(pg_op)i->op, i->n_in, i->n_out, in, out, i->parent};
    return pg_type_eq(pg_val_type(s->k, literal), pg_literal_type(s->k, &o, at));
}

void pg_simplify_take(pg_simplify *s, pg_inst *i, uint32_t j)
{
    pg_val v = pg_simplify_find(s, i->in[j]);
    const pg_val literal = pg_simplify_fact(s, v)->literal;
    if (literal.id != 0 && i->op != PG_OP_CONST && literal_fits(s, i, j, literal)) {
        v = literal;
    }
    if (!pg_val_eq(v, i->in[j])) {
        pg_inst_set_in(i, j, v);
        s->changed = true;
    }
}

static void take_operands(pg_simplify *s, pg_inst *i)
{
    for (uint32_t j = 0; j < i->n_in; j++) {
        const pg_fact *fact = pg_simplify_fact(s, i->in[j]);
        if (fact->to.id != 0 || fact->literal.id != 0) {
            pg_simplify_take(s, i, j);
        }
    }
}

/* v as something that can stand anywhere: literals become a `const` before `at`, whose region has
 * this depth. */
static pg_val as_value(pg_simplify *s, pg_val v, pg_inst *at, uint32_t depth)
{
    v = pg_simplify_find(s, v);
    if (!pg_val_is_const(s->k, v)) {
        return v;
    }
    const pg_val out = pg_simplify_emit(s, at, PG_OP_CONST, 1, &v, pg_val_type(s->k, v));
    pg_fact *f = pg_simplify_fact(s, out);
    f->depth = depth;
    f->literal = v;
    s->again = true; /* it may be equal to another */
    return out;
}

static void replace(pg_simplify *s, pg_val from, pg_val to)
{
    if (!pg_val_eq(from, to) && to.id != 0) {
        pg_simplify_fact(s, from)->to = to;
        s->changed = true;
    }
}

/* ---- regions -------------------------------------------------------------------------------- */

static pg_inst *terminator(const pg_region *r)
{
    return r->last && r->last->op == PG_OP_YIELD ? r->last : NULL;
}

/* Puts a region's operations in the place of its owner, whose first n results become what it
 * yields. Gives the first operation to look at next. */
static pg_inst *inline_region(pg_simplify *s, pg_inst *owner, pg_region *r, uint32_t depth,
                              uint32_t n)
{
    const pg_inst *before = owner->prev;
    pg_region *parent = owner->parent;
    pg_inst *yield = terminator(r);
    for (uint32_t j = 0; yield && j < n && j < yield->n_in; j++) {
        replace(s, owner->out[j], as_value(s, yield->in[j], owner, depth));
    }
    pg_foreach_inst_safe (i, r) {
        if (i != yield) {
            pg_inst_move_before(i, owner);
        }
    }
    pg_inst_remove(owner);
    s->changed = true;
    return before ? before->next : parent->first;
}

typedef enum trips { TRIPS_MANY, TRIPS_NONE, TRIPS_ONE } trips;

static trips count_trips(pg_simplify *s, const pg_inst *loop)
{
    int64_t lo, hi, step;
    if (!pg_simplify_int(s, loop->in[2], &step) || step <= 0) {
        return TRIPS_MANY;
    }
    if (pg_val_eq(loop->in[0], loop->in[1])) {
        return TRIPS_NONE;
    }
    if (!pg_simplify_int(s, loop->in[0], &lo) || !pg_simplify_int(s, loop->in[1], &hi)) {
        return TRIPS_MANY;
    }
    if (lo >= hi) {
        return TRIPS_NONE;
    }
    return (uint64_t)step >= (uint64_t)hi - (uint64_t)lo ? TRIPS_ONE : TRIPS_MANY;
}

/* A carried value that every trip hands on unchanged is its initial value. */
static void forward_carried(pg_simplify *s, pg_inst *loop, uint32_t depth)
{
    pg_region *body = pg_loop_body(loop);
    const pg_inst *yield = terminator(body);
    const uint32_t first_in = pg_loop_in(loop), first_arg = pg_loop_arg(loop);
    for (uint32_t j = 0; yield && j < loop->n_out; j++) {
        const pg_val y = pg_simplify_find(s, yield->in[j]), arg = body->args[first_arg + j];
        if (pg_val_eq(y, arg) || pg_val_eq(y, loop->in[first_in + j])) {
            const pg_val init = as_value(s, loop->in[first_in + j], loop, depth);
            for (uint32_t r = 0; r < loop->n_regions; r++) {
                replace(s, loop->regions[r]->args[first_arg + j], init);
            }
            replace(s, loop->out[j], init);
        }
    }
}

/* Will the next round forward a value that the walk through the loop has made so? */
static void look_again(pg_simplify *s, const pg_inst *loop)
{
    const pg_region *body = pg_loop_body(loop);
    const pg_inst *yield = terminator(body);
    for (uint32_t j = 0; yield && j < loop->n_out && !s->again; j++) {
        const pg_val y = pg_simplify_find(s, yield->in[j]);
        const pg_val arg = body->args[pg_loop_arg(loop) + j];
        s->again = pg_simplify_fact(s, arg)->to.id == 0 &&
                   (pg_val_eq(y, arg) || pg_val_eq(y, loop->in[pg_loop_in(loop) + j]));
    }
}

static void walk(pg_simplify *s, pg_region *r, uint32_t depth);

static bool has_enc(const pg_simplify *s, const pg_val *at, uint32_t n)
{
    bool has = false;
    for (uint32_t j = 0; j < n && !has; j++) {
        has = pg_val_info(s->k, at[j])->enc.id != 0;
    }
    return has;
}

static inline void note_values(pg_simplify *s, const pg_val *at, uint32_t n, uint32_t depth)
{
    for (uint32_t j = 0; j < n; j++) {
        pg_simplify_fact(s, at[j])->depth = depth;
    }
    if (!s->has_encs) {
        s->has_encs = has_enc(s, at, n);
    }
}

/* One region's expressions are known in it only. */
static void walk_scope(pg_simplify *s, pg_region *r, uint32_t depth)
{
    const uint32_t n = s->known.n;
    walk(s, r, depth);
    s->known.n = n;
    pg_index_truncate(&s->table, n);
}

static pg_inst *visit_for(pg_simplify *s, pg_inst *loop, uint32_t depth)
{
    pg_region *body = loop->regions[0];
    const trips n = count_trips(s, loop);
    if (n == TRIPS_NONE) {
        pg_inst *next = loop->next;
        for (uint32_t j = 0; j < loop->n_out; j++) {
            replace(s, loop->out[j], as_value(s, loop->in[3 + j], loop, depth));
        }
        pg_inst_remove(loop);
        s->changed = true;
        return next;
    }
    if (n == TRIPS_ONE) {
        replace(s, body->args[0], as_value(s, loop->in[0], loop, depth));
        for (uint32_t j = 0; j < loop->n_out; j++) {
            replace(s, body->args[1 + j], as_value(s, loop->in[3 + j], loop, depth));
        }
        return inline_region(s, loop, body, depth, loop->n_out);
    }
    forward_carried(s, loop, depth);
    note_values(s, body->args, body->n_args, depth + 1);
    walk_scope(s, body, depth + 1);
    look_again(s, loop);
    return loop->next;
}

/* A test that is known to fail runs once; no more than that is known of a loop that may not end. */
static pg_inst *visit_while(pg_simplify *s, pg_inst *loop, uint32_t depth)
{
    pg_region *test = loop->regions[0];
    int64_t condition;
    forward_carried(s, loop, depth);
    for (uint32_t r = 0; r < loop->n_regions; r++) {
        note_values(s, loop->regions[r]->args, loop->regions[r]->n_args, depth + 1);
    }
    walk_scope(s, test, depth + 1);
    const pg_inst *yield = terminator(test);
    if (yield && pg_simplify_int(s, pg_simplify_find(s, yield->in[0]), &condition) &&
        condition == 0) {
        for (uint32_t j = 0; j < loop->n_out; j++) {
            const pg_val init = as_value(s, loop->in[j], loop, depth);
            replace(s, test->args[j], init);
            replace(s, loop->out[j], init);
        }
        return inline_region(s, loop, test, depth, 0);
    }
    walk_scope(s, loop->regions[1], depth + 1);
    look_again(s, loop);
    return loop->next;
}

static pg_inst *visit_if(pg_simplify *s, pg_inst *branch, uint32_t depth)
{
    int64_t condition;
    if (pg_simplify_int(s, branch->in[0], &condition)) {
        return inline_region(s, branch, branch->regions[condition != 0 ? 0 : 1], depth,
                             branch->n_out);
    }
    walk_scope(s, branch->regions[0], depth + 1);
    walk_scope(s, branch->regions[1], depth + 1);
    const pg_inst *a = terminator(branch->regions[0]), *b = terminator(branch->regions[1]);
    for (uint32_t j = 0; a && b && j < branch->n_out; j++) {
        const pg_val x = pg_simplify_find(s, a->in[j]);
        if (pg_val_eq(x, pg_simplify_find(s, b->in[j]))) {
            replace(s, branch->out[j], as_value(s, x, branch, depth));
        }
    }
    return branch->next;
}

/* ---- plain operations ------------------------------------------------------------------------ */

static bool is_cheap_to_hold(const pg_simplify *s, const pg_inst *i)
{
    const pg_type type = pg_val_type(s->k, i->out[0]);
    const pg_types *types = s->k->module->ctx->types;
    if (pg_type_get(types, type)->kind != PG_TY_TILE) {
        return true;
    }
    return i->op != PG_OP_CONST &&
           pg_type_n_elems(types, type) <= (int64_t)MAX_HOISTED * 32 * pg_inst_warps(i);
}

/* Moves i before the loops in which none of its operands is defined. Gives its new depth. */
static uint32_t hoist(pg_simplify *s, pg_inst *i, uint32_t depth)
{
    uint32_t least = 1;
    if (i->parent->owner == NULL || !pg_is_loop(i->parent->owner) || !is_cheap_to_hold(s, i)) {
        return depth;
    }
    for (uint32_t j = 0; j < i->n_in; j++) {
        const uint32_t d = pg_simplify_fact(s, i->in[j])->depth;
        least = d > least ? d : least;
    }
    while (depth > least && i->parent->owner && pg_is_loop(i->parent->owner)) {
        pg_inst_move_before(i, i->parent->owner);
        s->changed = true;
        depth--;
    }
    return depth;
}

/* An expression that moved out of a scope is forgotten with it, though an equal one further down
 * could now be shared with it. */
static void note_hoisted(pg_simplify *s, uint64_t key, bool has_moved)
{
    s->again = s->again || (s->hoisted.entries.n != 0 && pg_map_get(&s->hoisted, key) != NULL);
    if (has_moved && !pg_map_put(&s->hoisted, key, 1)) {
        s->is_oom = true;
    }
}

static pg_inst *visit_pure(pg_simplify *s, pg_inst *i, uint32_t depth)
{
    const pg_inst *before = i->prev;
    pg_region *parent = i->parent;
    const pg_val same = pg_simplify_fold(s, i);
    if (same.id != 0) {
        pg_value *new = &s->k->values.at[same.id];
        if (new->kind == PG_V_RESULT &&new->name.id == 0) {
            new->name = pg_value_of(s->k, i->out[0])->name; /* cosmetic: no stamp */
        }
        replace(s, i->out[0], same);
        pg_inst_remove(i);
        s->changed = true;
        return before ? before->next : parent->first; /* what folding has added */
    }
    pg_inst *next = i->next;
    pg_expression x;
    const pg_inst *equal = pg_simplify_lookup(s, i, &x);
    if (equal) {
        for (uint32_t j = 0; j < i->n_out; j++) {
            replace(s, i->out[j], equal->out[j]);
        }
        pg_inst_remove(i);
        s->changed = true;
        return next;
    }
    const uint32_t before_hoist = depth;
    depth = hoist(s, i, depth);
    note_hoisted(s, x.hash, depth != before_hoist);
    for (uint32_t j = 0; depth != before_hoist && j < i->n_out; j++) {
        pg_simplify_fact(s, i->out[j])->depth = depth;
    }
    if (i->op == PG_OP_CONST) {
        pg_simplify_fact(s, i->out[0])->literal = i->in[0];
    }
    pg_simplify_remember(s, i, &x);
    return next;
}

/* A mask that is known: always true goes, and with it `other`; never true takes the access along.
 */
static pg_inst *visit_access(pg_simplify *s, pg_inst *i, uint32_t depth)
{
    const uint32_t mask = i->op == PG_OP_STORE ? 2 : 1;
    pg_inst *next = i->next;
    int64_t x;
    if (i->n_in <= mask || !pg_simplify_int(s, i->in[mask], &x)) {
        return next;
    }
    if (x != 0) {
        i->n_in = (uint16_t)mask;
        s->k->stamp++;
        s->changed = true;
        s->again = true; /* another literal may fit now */
    } else if (i->op == PG_OP_STORE) {
        pg_inst_remove(i);
        s->changed = true;
    } else if (i->n_in > 2) {
        replace(s, i->out[0], as_value(s, i->in[2], i, depth));
        pg_inst_remove(i);
        s->changed = true;
    }
    return next;
}

static pg_inst *visit(pg_simplify *s, pg_inst *i, uint32_t depth)
{
    take_operands(s, i);
    note_values(s, i->out, i->n_out, depth);
    switch (i->op) {
    case PG_OP_FOR: return visit_for(s, i, depth);
    case PG_OP_WHILE: return visit_while(s, i, depth);
    case PG_OP_IF: return visit_if(s, i, depth);
    case PG_OP_PARTITION: {
        const uint32_t base = s->tile_base;
        s->tile_base = s->known.n;
        walk_scope(s, i->regions[0], depth + 1);
        s->tile_base = base;
        return i->next;
    }
    case PG_OP_ELECT: walk_scope(s, i->regions[0], depth + 1); return i->next;
    case PG_OP_LOAD:
    case PG_OP_STORE: return visit_access(s, i, depth);
    default: break;
    }
    if ((pg_op_infos[i->op].flags & PG_F_PURE) && i->n_out > 0 && i->n_regions == 0) {
        return visit_pure(s, i, depth);
    }
    return i->next;
}

static void walk(pg_simplify *s, pg_region *r, uint32_t depth)
{
    for (pg_inst *i = r->first; i && !s->is_oom;) {
        i = visit(s, i, depth);
    }
}

static pg_status simplify_round(pg_simplify *s)
{
    pg_kernel *k = s->k;
    s->changed = s->again = false;
    s->facts.n = s->known.n = 0;
    pg_index_truncate(&s->table, 0);
    pg_map_truncate(&s->hoisted, 0);
    if (!pg_vec_room(s->scratch, &s->facts, k->values.n + 1) ||
        (k->n_insts >= MANY && !pg_index_room(&s->table, k->n_insts))) {
        return PG_E_NOMEM;
    }
    (void)pg_simplify_grow(s, (pg_val){0});
    if (k->launch) {
        s->is_launch = true;
        walk_scope(s, k->launch, 1);
        s->is_launch = false;
    }
    walk(s, k->body, 1);
    if (s->is_oom) {
        return PG_E_NOMEM;
    }
    const pg_arena_mark mark = pg_arena_mark_get(s->scratch);
    const pg_status st = pg_simplify_dce(k, s->scratch, &s->changed, &s->again);
    pg_arena_release(s->scratch, mark);
    return st;
}

/* I7 */
static bool is_simplified(const pg_kernel *k)
{
    const bool has_types_only =
        k->stamp - k->n_typed == k->simplified.stamp - k->simplified.n_typed;
    return k->simplified.is_known &&
           (k->stamp == k->simplified.stamp || (has_types_only && !k->simplified.has_encs));
}

static void note_simplified(pg_kernel *k, bool has_encs)
{
    k->simplified.is_known = true;
    k->simplified.has_encs = has_encs;
    k->simplified.stamp = k->stamp;
    k->simplified.n_typed = k->n_typed;
}

pg_status pg_pass_simplify(pg_pass_env *env, pg_kernel *k, pg_change *change);
pg_status pg_pass_simplify(pg_pass_env *env, pg_kernel *k, pg_change *change)
{
    if (is_simplified(k)) {
        note_simplified(k, true);
        return PG_OK;
    }
    pg_simplify s = {.k = k, .scratch = env->scratch, .again = true};
    pg_index_init(&s.table, env->scratch);
    pg_map_init(&s.hoisted, env->scratch);
    for (uint32_t round = 0; s.again && round < MAX_ROUNDS; round++) {
        PG_TRY(simplify_round(&s));
        if (s.changed) {
            *change = PG_CHANGED;
        }
    }
    k->simplified.is_known = false;
    if (!s.again) {
        note_simplified(k, s.has_encs);
    }
    return PG_OK;
}
