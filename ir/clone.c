/* clone.c: deep copies of modules. The copy has the same value and instruction ids. */
#include <string.h>

#include "ir/ir.h"

typedef struct copying {
    pg_arena *arena; /* of the copy */
    pg_kernel *to;
} copying;

static pg_aval aval_copy(const copying *c, const pg_aval *from)
{
    pg_aval v = *from;
    if (v.kind == PG_AV_LIST) {
        pg_aval *items = PG_NEWS(c->arena, pg_aval, v.n);
        for (uint32_t i = 0; items != NULL && i < v.n; i++) {
            items[i] = aval_copy(c, &from->items[i]);
        }
        v.items = items;
    }
    return v;
}

static pg_attrs attrs_copy(const copying *c, const pg_attrs *from)
{
    pg_attrs to = {.at = NULL, .n = 0};
    to.at = from->n == 0 ? NULL : PG_NEWS(c->arena, pg_attr, from->n);
    for (; to.at != NULL && to.n < from->n; to.n++) {
        to.at[to.n].id = from->at[to.n].id;
        to.at[to.n].val = aval_copy(c, &from->at[to.n].val);
    }
    return to;
}

static pg_region *region_copy(const copying *c, const pg_region *from, pg_inst *owner);

static pg_inst *inst_copy(const copying *c, const pg_inst *from, pg_region *parent)
{
    pg_inst *to = pg_arena_copy(c->arena, from, sizeof *from);
    if (to == NULL) {
        return NULL;
    }
    to->parent = parent;
    to->prev = to->next = NULL;
    to->attrs = attrs_copy(c, &from->attrs);
    to->in = pg_arena_copy(c->arena, from->in, from->n_in * sizeof *from->in);
    to->out = pg_arena_copy(c->arena, from->out, from->n_out * sizeof *from->out);
    to->regions = from->n_regions == 0 ? NULL : PG_NEWS(c->arena, pg_region *, from->n_regions);
    for (uint32_t r = 0; to->regions != NULL && r < from->n_regions; r++) {
        to->regions[r] = region_copy(c, from->regions[r], to);
    }
    for (uint32_t r = 0; to->out != NULL && r < to->n_out; r++) {
        if (to->out[r].id < c->to->values.n) {
            c->to->values.at[to->out[r].id].def = to;
        }
    }
    return c->arena->is_oom ? NULL : to;
}

static pg_region *region_copy(const copying *c, const pg_region *from, pg_inst *owner)
{
    pg_region *to = from == NULL ? NULL : pg_region_new(c->to, owner);
    if (to == NULL) {
        return NULL;
    }
    to->n_args = from->n_args;
    if (from->n_args != 0) {
        size_t room = 1; /* pg_region_add_arg grows at powers of two */
        while (room < from->n_args) {
            room *= 2;
        }
        to->args = PG_NEWS(c->arena, pg_val, room);
        to->n_args = to->args == NULL ? 0 : from->n_args;
    }
    for (uint32_t a = 0; a < to->n_args; a++) {
        to->args[a] = from->args[a];
        if (to->args[a].id < c->to->values.n) {
            c->to->values.at[to->args[a].id].region = to;
        }
    }
    for (const pg_inst *i = from->first; i != NULL; i = i->next) {
        pg_inst *copy = inst_copy(c, i, to);
        if (copy == NULL) {
            return NULL;
        }
        copy->prev = to->last;
        *(to->last == NULL ? &to->first : &to->last->next) = copy;
        to->last = copy;
    }
    return to;
}

static void params_copy(const copying *c, const pg_kernel *from)
{
    size_t room = 1;
    while (room < from->n_params) {
        room *= 2;
    }
    c->to->params = PG_NEWS(c->arena, pg_param, room);
    for (uint32_t p = 0; c->to->params != NULL && p < from->n_params; p++) {
        c->to->params[p] = from->params[p];
        c->to->params[p].attrs = attrs_copy(c, &from->params[p].attrs);
        c->to->n_params = p + 1;
    }
}

static void kernel_copy(pg_module *m, const pg_kernel *from)
{
    pg_kernel *to = pg_kernel_new(m, from->name, from->loc);
    copying c = {.arena = &m->arena, .to = to};
    if (to == NULL || !pg_vec_reserve(c.arena, &to->values, from->values.n)) {
        return;
    }
    for (uint32_t v = 1; v < from->values.n; v++) {
        pg_value value = from->values.at[v];
        if (value.kind != PG_V_CONST) {
            value.bits = 0; /* its operation or region comes with that */
        }
        to->values.at[to->values.n++] = value;
    }
    for (uint32_t e = 0; e < from->consts.entries.n; e++) {
        const pg_map_entry *known = &from->consts.entries.at[e];
        if (!pg_map_put(&to->consts, known->key, known->value)) {
            return;
        }
    }
    to->n_insts = from->n_insts;
    to->n_in_body = from->n_in_body;
    memcpy(to->ops, from->ops, sizeof to->ops);
    to->stamp = from->stamp;
    to->attrs = attrs_copy(&c, &from->attrs);
    params_copy(&c, from);
    to->launch = region_copy(&c, from->launch, NULL);
    to->body = region_copy(&c, from->body, NULL);
}

pg_status pg_module_clone(const pg_module *m, pg_diags *diags, pg_module **out)
{
    pg_module *to;
    PG_TRY(pg_module_create(m->ctx, diags, &to));
    to->props = m->props;
    to->sm = m->sm;
    to->sm_arch = m->sm_arch;
    to->target = m->target;
    for (uint32_t e = 0; e < m->encs.n; e++) {
        if (!pg_vec_push(&to->arena, &to->encs, m->encs.at[e])) {
            break;
        }
    }
    for (const pg_kernel *k = m->kernels; k != NULL; k = k->next) {
        kernel_copy(to, k);
    }
    if (to->arena.is_oom) {
        pg_module_destroy(to);
        *out = NULL;
        return PG_E_NOMEM;
    }
    *out = to;
    return PG_OK;
}
