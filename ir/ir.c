#include "ir/ir.h"

#include <string.h>

#include "base/suggest.h"
#include "ir/target.h"

enum { DEFAULT_WARPS = 4, MAX_CHAIN = 1 << 20 };

/* ---- contexts and modules ------------------------------------------------------------------ */

pg_status pg_ctx_init(pg_ctx *ctx, pg_alloc alloc)
{
    *ctx = (pg_ctx){.alloc = alloc};
    pg_arena_init(&ctx->arena, alloc);
    pg_interner_init(&ctx->syms, &ctx->arena);
    pg_words_init(&ctx->words);
    ctx->types = pg_types_new(&ctx->arena);
    if (ctx->types == NULL) {
        pg_arena_fini(&ctx->arena);
        return PG_E_NOMEM;
    }
    return PG_OK;
}

void pg_ctx_fini(pg_ctx *ctx)
{
    pg_arena_fini(&ctx->arena);
    ctx->types = NULL;
    ctx->layouts = NULL;
    ctx->lowering = NULL;
}

pg_status pg_module_create(pg_ctx *ctx, pg_diags *diags, pg_module **out)
{
    *out = NULL;
    pg_module *m = ctx->alloc.resize(ctx->alloc.user, NULL, 0, sizeof *m);
    if (m == NULL) {
        return PG_E_NOMEM;
    }
    *m = (pg_module){.ctx = ctx, .diags = diags};
    pg_arena_init(&m->arena, ctx->alloc);
    *out = m;
    return PG_OK;
}

void pg_module_destroy(pg_module *m)
{
    if (m != NULL) {
        pg_alloc alloc = m->ctx->alloc;
        pg_arena_fini(&m->arena);
        (void)alloc.resize(alloc.user, m, sizeof *m, 0);
    }
}

pg_status pg_module_set_target(pg_module *m, pg_str target, pg_loc loc)
{
    const pg_target *found = pg_target_find(target);
    if (found == NULL) {
        pg_nearest near = pg_nearest_of(target);
        for (uint32_t i = 0; i < pg_n_targets; i++) {
            pg_nearest_try(&near, pg_str_of(pg_targets[i].name));
        }
        return pg_diag_add(m->diags, PG_D_TARGET_UNKNOWN, loc, PG_STR_ARG(target),
                           pg_nearest_text(&near, &m->arena, m->ctx->alloc));
    }
    m->sm = found->sm;
    m->sm_arch = found->is_arch;
    m->target = pg_intern(&m->ctx->syms, target);
    return pg_arena_status(&m->ctx->arena);
}

static bool has_enc_name(const pg_module *m, pg_sym name)
{
    for (uint32_t i = 0; i < m->encs.n; i++) {
        if (m->encs.at[i].name.id == name.id) {
            return true;
        }
    }
    return false;
}

/* The hint, cut to the room that there is, and the number. */
static pg_str numbered(const char *hint, uint32_t n, char *room, size_t size)
{
    char digits[10];
    uint32_t n_digits = 0;
    do {
        digits[n_digits++] = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    size_t at = 0;
    while (hint[at] != 0 && at + sizeof digits < size) {
        room[at] = hint[at];
        at++;
    }
    while (n_digits > 0) {
        room[at++] = digits[--n_digits];
    }
    return (pg_str){room, at};
}

/* Where the search for a free name begins; *first is that without a place to remember it. */
static uint32_t *next_number(pg_module *m, const char *hint, uint32_t *first)
{
    for (uint32_t i = 0; i < PG_COUNT_OF(m->enc_hints); i++) {
        if (m->enc_hints[i].hint == NULL) {
            m->enc_hints[i].hint = hint;
        }
        if (strcmp(m->enc_hints[i].hint, hint) == 0) {
            return &m->enc_hints[i].next;
        }
    }
    return first;
}

pg_sym pg_module_enc_name(pg_module *m, pg_enc e, const char *hint)
{
    const pg_sym none = {0};
    for (uint32_t i = 0; i < m->encs.n; i++) {
        if (pg_enc_eq(m->encs.at[i].enc, e)) {
            return m->encs.at[i].name;
        }
    }
    pg_sym name = none;
    uint32_t unknown = 0;
    uint32_t *next = next_number(m, hint, &unknown);
    for (uint32_t n = *next; e.id != 0 && (name.id == 0 || has_enc_name(m, name)); n++) {
        char text[32];
        name = pg_intern(&m->ctx->syms, numbered(hint, n, text, sizeof text));
        *next = n + 1;
        if (name.id == 0) {
            m->arena.is_oom = true;
            break;
        }
    }
    pg_enc_name row = {.name = name, .enc = e};
    if (name.id != 0 && !pg_vec_push(&m->arena, &m->encs, row)) {
        return none;
    }
    return name;
}

pg_kernel *pg_kernel_new(pg_module *m, pg_sym name, pg_loc loc)
{
    pg_kernel *k = PG_NEW(&m->arena, pg_kernel);
    if (k == NULL) {
        return NULL;
    }
    *k = (pg_kernel){.module = m, .name = name, .loc = loc};
    pg_map_init(&k->consts, &m->arena);
    pg_value none = {.kind = PG_V_NONE};
    if (!pg_vec_push(&m->arena, &k->values, none)) {
        return NULL;
    }
    k->body = pg_region_new(k, NULL);
    if (k->body == NULL) {
        return NULL;
    }
    if (m->last_kernel != NULL) {
        m->last_kernel->next = k;
    } else {
        m->kernels = k;
    }
    m->last_kernel = k;
    return k;
}

pg_region *pg_region_new(pg_kernel *k, pg_inst *owner)
{
    pg_region *r = k == NULL ? NULL : PG_NEW(&k->module->arena, pg_region);
    if (r != NULL) {
        r->owner = owner;
        r->kernel = k;
    }
    return r;
}

/* ---- reading ------------------------------------------------------------------------------- */

bool pg_val_int(const pg_kernel *k, pg_val v, int64_t *out)
{
    const pg_value *value = pg_value_of(k, v);
    if (value->kind != PG_V_CONST || value->is_poison ||
        !pg_type_is_int(k->module->ctx->types, value->type)) {
        return false;
    }
    *out = (int64_t)value->bits;
    return true;
}

const pg_aval *pg_attr_get(const pg_attrs *a, pg_attr_id id)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->at[i].id == id) {
            return &a->at[i].val;
        }
    }
    return NULL;
}

int64_t pg_attr_int(const pg_attrs *a, pg_attr_id id, int64_t if_absent)
{
    const pg_aval *v = pg_attr_get(a, id);
    return v != NULL && (v->kind == PG_AV_INT || v->kind == PG_AV_WORD) ? v->num : if_absent;
}

bool pg_attr_has(const pg_attrs *a, pg_attr_id id)
{
    return pg_attr_get(a, id) != NULL;
}

/* First instruction of the first region from number `from` on that has one. */
static pg_inst *first_inside(const pg_inst *i, uint32_t from)
{
    for (uint32_t r = from; r < i->n_regions; r++) {
        if (i->regions[r] != NULL && i->regions[r]->first != NULL) {
            return i->regions[r]->first;
        }
    }
    return NULL;
}

pg_inst *pg_inst_walk(const pg_inst *i, const pg_region *root)
{
    pg_inst *inside = first_inside(i, 0);
    if (inside != NULL) {
        return inside;
    }
    for (;;) {
        if (i->next != NULL) {
            return i->next;
        }
        const pg_region *r = i->parent;
        if (r == NULL || r == root || r->owner == NULL) {
            return NULL;
        }
        uint32_t at = 0;
        const pg_inst *owner = r->owner;
        while (at < owner->n_regions && owner->regions[at] != r) {
            at++;
        }
        inside = first_inside(owner, at + 1);
        if (inside != NULL) {
            return inside;
        }
        i = owner;
    }
}

pg_inst *pg_inst_find_parent(const pg_inst *i, pg_op op)
{
    pg_inst *at = i->parent == NULL ? NULL : i->parent->owner;
    while (at != NULL && at->op != op) {
        at = at->parent == NULL ? NULL : at->parent->owner;
    }
    return at;
}

void pg_kernel_cluster(const pg_kernel *k, uint32_t out[3])
{
    const pg_aval *c = pg_attr_get(&k->attrs, PG_A_CLUSTER);
    for (uint32_t d = 0; d < 3; d++) {
        out[d] = c != NULL && d < c->n ? (uint32_t)c->items[d].num : 1;
    }
}

static uint32_t warps_of(int64_t warps)
{
    return warps < 1 || warps > 64 ? DEFAULT_WARPS : (uint32_t)warps;
}

uint32_t pg_kernel_warps(const pg_kernel *k)
{
    return warps_of(pg_attr_int(&k->attrs, PG_A_WARPS, DEFAULT_WARPS));
}

uint32_t pg_inst_warps(const pg_inst *i)
{
    const pg_kernel *k = i->parent == NULL ? NULL : i->parent->kernel;
    int64_t warps = k == NULL ? DEFAULT_WARPS : pg_attr_int(&k->attrs, PG_A_WARPS, DEFAULT_WARPS);
    const bool has_parts = k == NULL || pg_kernel_has(k, PG_OP_PARTITION);
    const pg_inst *part = i->op == PG_OP_PARTITION ? i
                          : has_parts              ? pg_inst_find_parent(i, PG_OP_PARTITION)
                                                   : NULL;
    if (part != NULL) {
        warps = pg_attr_int(&part->attrs, PG_A_WARPS, warps);
    }
    return warps_of(warps);
}

bool pg_inst_in_loop(const pg_inst *i)
{
    return pg_inst_find_parent(i, PG_OP_FOR) != NULL || pg_inst_find_parent(i, PG_OP_WHILE) != NULL;
}

uint32_t pg_region_n_yields(const pg_region *r)
{
    return pg_region_is_test(r) ? 1 : r->owner == NULL ? 0 : r->owner->n_out;
}

pg_type pg_region_yield_type(const pg_kernel *k, const pg_region *r, uint32_t index)
{
    if (index >= pg_region_n_yields(r)) {
        return (pg_type){0};
    }
    return pg_region_is_test(r) ? pg_type_scalar(k->module->ctx->types, PG_I1)
                                : pg_val_type(k, r->owner->out[index]);
}

/* One step towards the start of a token's chain; id 0 where there is none. */
static pg_val token_before(const pg_value *v)
{
    const pg_val none = {0};
    if (v->kind == PG_V_ARG) {
        const pg_inst *loop = v->region == NULL ? NULL : v->region->owner;
        uint32_t at = v->index + 2u; /* carried value j is argument j + 1 and operand j + 3 */
        return loop != NULL && loop->op == PG_OP_FOR && at < loop->n_in ? loop->in[at] : none;
    }
    const pg_inst *def = v->kind == PG_V_RESULT ? v->def : NULL;
    if (def == NULL) {
        return none;
    }
    if (def->op == PG_OP_MMA_ASYNC) {
        return def->n_in > 2 ? def->in[2] : none;
    }
    if (def->op == PG_OP_FOR) {
        return v->index + 3u < def->n_in ? def->in[v->index + 3u] : none;
    }
    if (def->op == PG_OP_IF && def->n_regions > 0 && def->regions[0] != NULL) {
        const pg_inst *yield = def->regions[0]->last;
        bool is_there = yield != NULL && yield->op == PG_OP_YIELD && v->index < yield->n_in;
        return is_there ? yield->in[v->index] : none;
    }
    return none;
}

pg_type pg_token_tile(const pg_kernel *k, pg_val token)
{
    for (uint32_t step = 0; step < MAX_CHAIN && token.id != 0; step++) {
        const pg_value *v = pg_value_of(k, token);
        const pg_inst *def = v->kind == PG_V_RESULT ? v->def : NULL;
        if (def != NULL && def->op == PG_OP_MMA_BEGIN && def->n_in > 0) {
            return pg_val_type(k, def->in[0]);
        }
        token = token_before(v);
    }
    return (pg_type){0};
}
