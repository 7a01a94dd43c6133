/* verify.c: the walk over a module: structure of regions and visibility of values. What a single
 * operation must satisfy is in verify_op.c (by the table), verify_shape.c and verify_hw.c. */
#include "ir/verify.h"

#include <string.h>

enum { UNDEFINED, VISIBLE, OUT_OF_SCOPE }; /* pg_verifier.state */
enum { MAX_DEPTH = 200 };

void pg_verify_error_row(pg_verifier *v, pg_diag_id id, pg_loc loc, ...)
{
    va_list args;
    va_start(args, loc);
    pg_status status = pg_diag_addv(v->diags, id, loc, args);
    va_end(args);
    v->status = v->status == PG_OK ? status : v->status;
}

const char *pg_verify_type_text(pg_verifier *v, pg_type t)
{
    pg_strbuf text;
    pg_strbuf_init(&text, v->m->ctx->alloc);
    pg_print_type(&text, v->m, t);
    const char *copy = pg_arena_str(&v->scratch, pg_strbuf_str(&text)).ptr;
    pg_strbuf_fini(&text);
    return copy;
}

bool pg_verify_same_shape(const pg_verifier *v, pg_type a, pg_type b)
{
    const pg_type_info *x = pg_type_get(v->types, a);
    const pg_type_info *y = pg_type_get(v->types, b);
    bool is_same = x->kind == y->kind && x->elem == y->elem && x->is_ptr == y->is_ptr &&
                   x->space == y->space && x->rank == y->rank;
    for (uint32_t d = 0; is_same && d < PG_MAX_RANK; d++) {
        is_same = x->dims[d] == y->dims[d];
    }
    return is_same && (x->enc.id == y->enc.id || x->enc.id == 0 || y->enc.id == 0);
}

/* ---- visibility ---------------------------------------------------------------------------- */

static void show(pg_verifier *v, pg_val val)
{
    if (val.id != 0 && val.id < v->k->values.n && pg_vec_push(&v->scratch, &v->visible, val.id)) {
        v->state[val.id] = VISIBLE;
    }
}

static void hide_from(pg_verifier *v, uint32_t n)
{
    while (v->visible.n > n) {
        v->state[v->visible.at[--v->visible.n]] = OUT_OF_SCOPE;
    }
}

const char *pg_verify_value_name(const pg_verifier *v, pg_val val)
{
    pg_str name = pg_sym_text(&v->m->ctx->syms, pg_value_of(v->k, val)->name);
    return name.len == 0 ? "a value without a name" : name.ptr;
}

static void check_visible(pg_verifier *v, pg_val val, pg_loc loc, const char *user)
{
    if (val.id == 0 || val.id >= v->k->values.n) {
        pg_verify_error(v, PG_D_NO_OPERAND, loc, user);
    } else if (v->state[val.id] != VISIBLE && !pg_val_is_const(v->k, val)) {
        pg_verify_error(v, PG_D_NOT_VISIBLE, loc, user, pg_verify_value_name(v, val));
    }
}

static void check_aval(pg_verifier *v, const pg_aval *a, pg_loc loc, const char *user)
{
    if (a->kind == PG_AV_VAL) {
        check_visible(v, a->val, loc, user);
    }
    for (uint32_t i = 0; a->kind == PG_AV_LIST && i < a->n; i++) {
        check_aval(v, &a->items[i], loc, user);
    }
}

/* ---- regions ------------------------------------------------------------------------------- */

static const uint8_t wanted_regions[PG_OP_COUNT] = {
    [PG_OP_FOR] = 1, [PG_OP_WHILE] = 2, [PG_OP_IF] = 2, [PG_OP_ELECT] = 1, [PG_OP_PARTITION] = 1};

/* The terminator that a region ends in; NONE: it has none. */
static pg_op wanted_end(const pg_verifier *v, const pg_inst *owner)
{
    if (owner == NULL) {
        return v->is_launch ? PG_OP_GRID : PG_OP_RETURN;
    }
    bool has_yield = pg_is_loop(owner) || owner->op == PG_OP_IF;
    return has_yield ? PG_OP_YIELD : PG_OP_NONE;
}

static const char *owner_text(const pg_verifier *v, const pg_inst *owner)
{
    if (owner == NULL) {
        return v->is_launch ? "launch" : "kernel";
    }
    return pg_verify_op_text(owner);
}

/* The end of a test. */
static void check_condition(pg_verifier *v, const pg_inst *yield)
{
    pg_type want = pg_region_yield_type(v->k, yield->parent, 0);
    const char *have = yield->n_in == 0  ? "nothing"
                       : yield->n_in > 1 ? "several values"
                                         : pg_verify_type_text(v, pg_val_type(v->k, yield->in[0]));
    if (yield->n_in != 1 || !pg_type_eq(pg_val_type(v->k, yield->in[0]), want)) {
        pg_verify_error(v, PG_D_TEST_YIELD, yield->loc, have);
    }
}

static void check_yield(pg_verifier *v, const pg_region *region, const pg_inst *yield)
{
    const pg_inst *owner = region->owner;
    if (owner == NULL || yield->op != PG_OP_YIELD) {
        return;
    }
    const uint32_t n = pg_region_n_yields(region);
    if (pg_region_is_test(region)) {
        check_condition(v, yield);
        return;
    }
    if (yield->n_in != n) {
        pg_verify_error(v, PG_D_YIELD_COUNT, yield->loc, yield->n_in, pg_verify_op_text(owner), n);
        return;
    }
    for (uint32_t r = 0; r < yield->n_in; r++) {
        pg_type have = pg_val_type(v->k, yield->in[r]);
        pg_type want = pg_val_type(v->k, owner->out[r]);
        if (!pg_verify_agree(v, have, want)) {
            pg_verify_error(v, PG_D_YIELD_TYPE, yield->loc, r + 1, pg_verify_type_text(v, have),
                            pg_verify_op_text(owner), pg_verify_type_text(v, want));
        }
    }
}

static void check_end(pg_verifier *v, const pg_region *r)
{
    pg_op want = wanted_end(v, r->owner);
    const pg_inst *last = r->last;
    pg_loc loc = last != NULL ? last->loc : r->owner != NULL ? r->owner->loc : v->k->loc;
    if (last != NULL && (pg_op_infos[last->op].flags & PG_F_TERM) != 0) {
        if (last->op == want) {
            check_yield(v, r, last);
        }
        return;
    }
    bool is_optional = r->owner != NULL && pg_region_n_yields(r) == 0; /* nothing to yield */
    if (want != PG_OP_NONE && !is_optional) {
        pg_verify_error(v, PG_D_NO_TERM, loc, owner_text(v, r->owner), pg_op_infos[want].text);
    }
}

static void check_terminator(pg_verifier *v, const pg_inst *i)
{
    const pg_inst *owner = i->parent->owner;
    if (i->op != wanted_end(v, owner)) {
        pg_verify_error(v, PG_D_TERM_PLACE, i->loc, pg_verify_op_text(i), owner_text(v, owner));
    }
    if (i->next != NULL) {
        pg_verify_error(v, PG_D_AFTER_TERM, i->next->loc, pg_verify_op_text(i));
    }
}

static void check_region(pg_verifier *v, const pg_region *r);

static void check_regions(pg_verifier *v, const pg_inst *i)
{
    if (i->n_regions != wanted_regions[i->op]) {
        pg_verify_error(v, PG_D_REGION_COUNT, i->loc, pg_verify_op_text(i), i->n_regions,
                        wanted_regions[i->op]);
        return;
    }
    for (uint32_t r = 0; r < i->n_regions; r++) {
        const pg_region *region = i->regions[r];
        if (region == NULL || region->owner != i) {
            pg_verify_error(v, PG_D_REGION_COUNT, i->loc, pg_verify_op_text(i), r, i->n_regions);
            continue;
        }
        const uint32_t n_visible = v->visible.n, n_warps = v->n_warps;
        const bool has_partial_warps = v->has_partial_warps;
        for (uint32_t a = 0; a < region->n_args; a++) {
            pg_verify_type(v, pg_val_type(v->k, region->args[a]), i->loc);
            show(v, region->args[a]);
        }
        if (i->op == PG_OP_PARTITION) {
            v->n_warps = pg_inst_warps(i);
            v->has_partial_warps = i->attrs.is_partial;
        }
        check_region(v, region);
        hide_from(v, n_visible);
        v->n_warps = n_warps;
        v->has_partial_warps = has_partial_warps;
    }
}

/* What an operation is wrong about, its users are not told again: they are looked at when that is
 * mended. */
static void check_op(pg_verifier *v, const pg_inst *i, bool is_whole)
{
    const uint32_t n_errors = v->diags->n_errors;
    for (uint32_t j = 0; j < i->n_in; j++) {
        if (v->is_doubtful[i->in[j].id]) {
            return;
        }
    }
    if (pg_verify_op(v, i)) {
        pg_verify_special(v, i);
        if (is_whole) {
            pg_verify_hw(v, i);
            pg_verify_role(v, i);
        }
    }
    for (uint32_t r = 0; r < i->n_out; r++) { /* a token is a token all the same */
        v->is_doubtful[i->out[r].id] =
            v->diags->n_errors != n_errors && pg_val_info(v->k, i->out[r])->kind != PG_TY_TOKEN;
    }
}

static void check_inst(pg_verifier *v, const pg_inst *i)
{
    uint8_t level = pg_op_infos[i->op].level;
    if (v->is_launch ? (level & PG_L_LAUNCH) == 0 : (level & PG_L_BOTH) == 0) {
        pg_verify_error(v, PG_D_LEVEL, i->loc, pg_verify_op_text(i),
                        v->is_launch ? "in a launch region" : "outside a launch region");
    }
    bool is_good = true;
    for (uint32_t j = 0; j < i->n_in; j++) {
        const pg_val in = i->in[j];
        const bool is_there = in.id != 0 && in.id < v->k->values.n;
        is_good = is_good && is_there;
        if (!is_there || v->state[in.id] != VISIBLE) {
            check_visible(v, in, i->loc, pg_verify_op_text(i));
        }
    }
    for (uint32_t a = 0; a < i->attrs.n; a++) {
        check_aval(v, &i->attrs.at[a].val, i->loc, pg_verify_op_text(i));
    }
    if (is_good) {
        check_op(v, i, true);
    }
}

static void check_region(pg_verifier *v, const pg_region *r)
{
    if (v->depth >= MAX_DEPTH) {
        pg_verify_error(v, PG_D_TOO_DEEP, r->owner != NULL ? r->owner->loc : v->k->loc, "regions",
                        MAX_DEPTH);
        return;
    }
    v->depth++;
    uint32_t n_visible = v->visible.n;
    for (const pg_inst *i = r->first; i != NULL && !pg_verify_is_full(v); i = i->next) {
        if (i->op == PG_OP_NONE || i->op >= PG_OP_COUNT) {
            pg_verify_error(v, PG_D_REGION_COUNT, i->loc, "an operation of no kind", i->n_regions,
                            0);
            continue;
        }
        if (!pg_kernel_has(v->k, (pg_op)i->op)) {
            (void)pg_diag_internal(v->diags, __FILE__, __LINE__, "a kernel forgot an operation");
            break;
        }
        check_inst(v, i);
        v->n_checked++;
        if (i->n_regions != wanted_regions[i->op] || i->n_regions != 0) {
            check_regions(v, i);
        }
        for (uint32_t o = 0; o < i->n_out; o++) {
            show(v, i->out[o]);
        }
        if ((pg_op_infos[i->op].flags & PG_F_TERM) != 0) {
            check_terminator(v, i);
        }
    }
    check_end(v, r);
    hide_from(v, n_visible);
    v->depth--;
}

/* ---- modules ------------------------------------------------------------------------------- */

static bool kernel_begin(pg_verifier *v, const pg_kernel *k)
{
    pg_arena_release(&v->scratch, (pg_arena_mark){0}); /* many small kernels use the same memory */
    memset(&v->visible, 0, sizeof v->visible);
    v->k = k;
    v->depth = 0;
    v->is_launch = false;
    for (uint32_t t = 0; t < v->types_seen.n; t++) {
        v->types_seen.at[t].warps = 0;
    }
    v->n_warps = pg_kernel_warps(k);
    v->has_partial_warps = k->attrs.is_partial;
    pg_map_init(&v->fits_seen, &v->scratch);
    pg_map_init(&v->token_tiles, &v->scratch);
    v->state = PG_NEWS(&v->scratch, uint8_t, k->values.n);
    v->is_doubtful = PG_NEWS(&v->scratch, bool, k->values.n);
    v->param_of = PG_NEWS(&v->scratch, uint32_t, k->values.n);
    if (v->param_of != NULL) {
        pg_verify_role_params(v);
    }
    return v->state != NULL && v->is_doubtful != NULL && v->param_of != NULL;
}

static void check_kernel(pg_verifier *v, const pg_kernel *k)
{
    if (!kernel_begin(v, k)) {
        return;
    }
    const uint32_t *line = pg_map_get(&v->kernels, k->name.id);
    if (line != NULL) {
        pg_verify_error(v, PG_D_KERNEL_TWICE, k->loc, pg_sym_text(&v->m->ctx->syms, k->name).ptr,
                        *line);
    } else {
        (void)pg_map_put(&v->kernels, k->name.id, k->loc.line);
    }
    for (uint32_t i = 0; i < k->n_params; i++) {
        show(v, k->params[i].val);
    }
    pg_verify_params(v);
    pg_verify_kernel_attrs(v);
    if (k->launch != NULL) {
        v->is_launch = true;
        check_region(v, k->launch);
        v->is_launch = false;
    }
    v->n_checked = 0;
    if (k->body != NULL) {
        check_region(v, k->body);
    }
    if (v->diags->n_errors == v->n_errors_before && v->n_checked != k->n_in_body) {
        (void)pg_diag_internal(v->diags, __FILE__, __LINE__,
                               "a kernel's operations were miscounted");
    }
    pg_verify_partitions(v);
    pg_verify_tokens(v);
}

static void verifier_begin(pg_verifier *v, pg_module *m, uint32_t props)
{
    *v = (pg_verifier){.m = m,
                       .types = m->ctx->types,
                       .diags = m->diags,
                       .n_errors_before = m->diags->n_errors,
                       .props = props};
    pg_arena_init(&v->scratch, m->ctx->alloc);
    pg_arena_init(&v->shared, m->ctx->alloc);
    pg_map_init(&v->kernels, &v->shared);
}

static void verifier_end(pg_verifier *v)
{
    pg_arena_fini(&v->scratch);
    pg_arena_fini(&v->shared);
}

pg_status pg_verify(pg_module *m, uint32_t props)
{
    pg_verifier v;
    verifier_begin(&v, m, props);
    pg_verify_encs(&v);
    for (const pg_kernel *k = m->kernels; k != NULL && !pg_verify_is_full(&v); k = k->next) {
        check_kernel(&v, k);
    }
    pg_diags_sort(m->diags);
    bool is_oom = v.scratch.is_oom || v.shared.is_oom || m->arena.is_oom || m->ctx->arena.is_oom;
    pg_status status = is_oom ? PG_E_NOMEM : v.status;
    verifier_end(&v);
    return status;
}

static bool has_all_types(const pg_verifier *v, const pg_inst *i)
{
    for (uint32_t j = 0; j < i->n_in; j++) {
        if (pg_val_type(v->k, i->in[j]).id == 0) {
            return false;
        }
    }
    for (uint32_t r = 0; r < i->n_out; r++) {
        if (pg_val_type(v->k, i->out[r]).id == 0) {
            return false;
        }
    }
    return true;
}

static void check_parts(pg_verifier *v, const pg_region *root)
{
    for (const pg_inst *i = root == NULL ? NULL : root->first; i != NULL && !pg_verify_is_full(v);
         i = pg_inst_walk(i, root)) {
        if (has_all_types(v, i)) {
            const pg_inst *part = pg_inst_find_parent(i, PG_OP_PARTITION);
            v->n_warps = pg_inst_warps(i);
            v->has_partial_warps = part != NULL ? part->attrs.is_partial : v->k->attrs.is_partial;
            check_op(v, i, false);
        }
    }
}

void pg_verify_parts(pg_module *m)
{
    pg_verifier v;
    verifier_begin(&v, m, 0);
    pg_verify_encs(&v);
    for (const pg_kernel *k = m->kernels; k != NULL; k = k->next) {
        if (kernel_begin(&v, k)) {
            v.is_launch = true;
            check_parts(&v, k->launch);
            v.is_launch = false;
            check_parts(&v, k->body);
        }
    }
    verifier_end(&v);
}
