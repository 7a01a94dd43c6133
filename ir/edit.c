/* edit.c: changes to kernels: instructions, operands, attributes, constants. Every change moves the
 * kernel's stamp. */
#include <string.h>

#include "ir/elem.h"
#include "ir/ir.h"

static const pg_val no_val = {0};

/* New value; id 0 when out of memory. */
static pg_val value_new(pg_kernel *k, const pg_value *value)
{
    if (k == NULL || !pg_vec_room(&k->module->arena, &k->values, 1)) {
        return no_val;
    }
    k->values.at[k->values.n] = *value;
    k->stamp++;
    return (pg_val){k->values.n++};
}

pg_val pg_kernel_add_param(pg_kernel *k, pg_sym name, pg_type type, pg_loc loc)
{
    if (k == NULL || k->n_params >= UINT16_MAX) {
        return no_val;
    }
    pg_value value = {
        .kind = PG_V_PARAM, .index = (uint16_t)k->n_params, .type = type, .name = name};
    pg_val v = value_new(k, &value);
    if (v.id == 0) {
        return no_val;
    }
    if ((k->n_params & (k->n_params - 1)) == 0) { /* at a power of two the list is full */
        size_t room = k->n_params == 0 ? 1 : (size_t)k->n_params * 2;
        pg_param *grown = PG_NEWS(&k->module->arena, pg_param, room);
        if (grown == NULL) {
            return no_val;
        }
        if (k->n_params != 0) {
            memcpy(grown, k->params, k->n_params * sizeof *grown);
        }
        k->params = grown;
    }
    k->params[k->n_params++] = (pg_param){.val = v, .loc = loc};
    return v;
}

pg_val pg_region_add_arg(pg_region *r, pg_type type, pg_sym name)
{
    if (r == NULL || r->n_args >= UINT16_MAX) {
        return no_val;
    }
    pg_value value = {
        .kind = PG_V_ARG, .index = (uint16_t)r->n_args, .type = type, .name = name, .region = r};
    pg_val v = value_new(r->kernel, &value);
    if (v.id == 0) {
        return no_val;
    }
    if ((r->n_args & (r->n_args - 1)) == 0) {
        size_t room = r->n_args == 0 ? 1 : (size_t)r->n_args * 2;
        pg_val *grown = PG_NEWS(&r->kernel->module->arena, pg_val, room);
        if (grown == NULL) {
            return no_val;
        }
        if (r->n_args != 0) {
            memcpy(grown, r->args, r->n_args * sizeof *grown);
        }
        r->args = grown;
    }
    r->args[r->n_args++] = v;
    return v;
}

/* ---- instructions -------------------------------------------------------------------------- */

/* The instruction and its lists in one block. */
typedef struct inst_block {
    pg_inst inst;
    pg_val vals[];
} inst_block;

pg_inst *pg_inst_new(pg_kernel *k, pg_op op, uint32_t n_in, const pg_val *in, uint32_t n_out,
                     const pg_type *out_types, uint32_t n_regions)
{
    if (k == NULL || n_in > UINT16_MAX || n_out > UINT16_MAX || n_regions > 2) {
        return NULL;
    }
    pg_arena *arena = &k->module->arena;
    inst_block *block = pg_arena_grow_unset(
        arena, NULL, 0, sizeof *block + ((size_t)n_in + n_out) * sizeof(pg_val));
    if (block == NULL || !pg_vec_room(arena, &k->values, n_out)) {
        return NULL;
    }
    pg_inst *i = &block->inst;
    *i = (pg_inst){.op = (uint16_t)op,
                   .n_in = (uint16_t)n_in,
                   .n_out = (uint16_t)n_out,
                   .id = k->n_insts++,
                   .in = block->vals,
                   .out = block->vals + n_in};
    for (uint32_t j = 0; j < n_in; j++) {
        i->in[j] = in[j];
    }
    for (uint32_t r = 0; r < n_out; r++) {
        k->values.at[k->values.n] =
            (pg_value){.kind = PG_V_RESULT, .index = (uint16_t)r, .type = out_types[r], .def = i};
        i->out[r] = (pg_val){k->values.n++};
    }
    if (n_regions != 0) {
        i->regions = PG_NEWS(arena, pg_region *, n_regions);
        i->n_regions = i->regions == NULL ? 0 : (uint16_t)n_regions;
        for (uint32_t r = 0; r < i->n_regions; r++) {
            i->regions[r] = pg_region_new(k, i);
        }
    }
    k->ops[op / 64] |= UINT64_C(1) << op % 64;
    k->stamp += 1 + n_out;
    return arena->is_oom ? NULL : i;
}

static bool is_in_body(const pg_region *r)
{
    while (r->owner != NULL && r->owner->parent != NULL) {
        r = r->owner->parent;
    }
    return r == r->kernel->body;
}

static uint32_t count_with_regions(const pg_inst *i)
{
    uint32_t n = 1;
    for (uint32_t r = 0; r < i->n_regions; r++) {
        const pg_region *inner = i->regions[r];
        for (const pg_inst *j = inner == NULL ? NULL : inner->first; j != NULL; j = j->next) {
            n += count_with_regions(j);
        }
    }
    return n;
}

static void link_between(pg_region *r, pg_inst *before, pg_inst *i, pg_inst *after)
{
    i->parent = r;
    i->prev = before;
    i->next = after;
    if (before != NULL) {
        before->next = i;
    } else {
        r->first = i;
    }
    if (after != NULL) {
        after->prev = i;
    } else {
        r->last = i;
    }
    r->kernel->n_in_body += is_in_body(r) ? count_with_regions(i) : 0;
    r->kernel->stamp++;
}

void pg_inst_append(pg_region *r, pg_inst *i)
{
    if (r != NULL && i != NULL) {
        link_between(r, r->last, i, NULL);
    }
}

void pg_inst_insert_before(pg_inst *at, pg_inst *i)
{
    if (at != NULL && i != NULL && at->parent != NULL) {
        link_between(at->parent, at->prev, i, at);
    }
}

void pg_inst_insert_after(pg_inst *at, pg_inst *i)
{
    if (at != NULL && i != NULL && at->parent != NULL) {
        link_between(at->parent, at, i, at->next);
    }
}

void pg_inst_remove(pg_inst *i)
{
    if (i == NULL || i->parent == NULL) {
        return;
    }
    pg_region *r = i->parent;
    r->kernel->n_in_body -= is_in_body(r) ? count_with_regions(i) : 0;
    if (i->prev != NULL) {
        i->prev->next = i->next;
    } else {
        r->first = i->next;
    }
    if (i->next != NULL) {
        i->next->prev = i->prev;
    } else {
        r->last = i->prev;
    }
    i->prev = i->next = NULL;
    i->parent = NULL;
    r->kernel->stamp++;
}

void pg_inst_move_before(pg_inst *i, pg_inst *at)
{
    if (i != NULL && at != NULL && i != at) {
        pg_inst_remove(i);
        pg_inst_insert_before(at, i);
    }
}

void pg_inst_set_in(pg_inst *i, uint32_t index, pg_val v)
{
    if (i != NULL && index < i->n_in) {
        i->in[index] = v;
        if (i->parent != NULL) {
            i->parent->kernel->stamp++;
        }
    }
}

/* The kernel of an instruction that may be detached: through its parent, results' or regions'. */
static pg_kernel *kernel_of(const pg_inst *i)
{
    if (i->parent != NULL) {
        return i->parent->kernel;
    }
    return i->n_regions != 0 && i->regions[0] != NULL ? i->regions[0]->kernel : NULL;
}

/* Copy of a list with one more item at the end. */
static pg_val *list_grown(pg_kernel *k, const pg_val *list, uint32_t n, pg_val last)
{
    pg_val *grown =
        k == NULL || n >= UINT16_MAX ? NULL : PG_NEWS(&k->module->arena, pg_val, (size_t)n + 1);
    if (grown != NULL) {
        if (n != 0) {
            memcpy(grown, list, n * sizeof *list);
        }
        grown[n] = last;
        k->stamp++;
    }
    return grown;
}

pg_status pg_inst_add_in(pg_inst *i, pg_val v)
{
    pg_val *grown = i == NULL ? NULL : list_grown(kernel_of(i), i->in, i->n_in, v);
    if (grown == NULL) {
        return PG_E_NOMEM;
    }
    i->in = grown;
    i->n_in++;
    return PG_OK;
}

pg_val pg_inst_add_out(pg_inst *i, pg_type type, pg_sym name)
{
    pg_kernel *k = i == NULL ? NULL : kernel_of(i);
    if (k == NULL) {
        return no_val;
    }
    pg_value value = {.kind = PG_V_RESULT, .index = i->n_out, .type = type, .name = name, .def = i};
    pg_val v = value_new(k, &value);
    pg_val *grown = v.id == 0 ? NULL : list_grown(k, i->out, i->n_out, v);
    if (grown == NULL) {
        return no_val;
    }
    i->out = grown;
    i->n_out++;
    return v;
}

void pg_val_set_type(pg_kernel *k, pg_val v, pg_type type)
{
    if (v.id != 0 && v.id < k->values.n) {
        k->values.at[v.id].type = type;
        k->stamp++;
        k->n_typed++;
    }
}

/* ---- replacing ----------------------------------------------------------------------------- */

typedef struct replacing {
    const pg_val *map;
    uint32_t n;
    pg_val from, to; /* used where map is NULL */
} replacing;

static pg_val replaced(const replacing *r, pg_val v)
{
    if (r->map == NULL) {
        return v.id == r->from.id ? r->to : v;
    }
    /* At most n steps, so that a cycle in the map ends. */
    for (uint32_t step = 0; step < r->n && v.id < r->n && r->map[v.id].id != 0; step++) {
        v = r->map[v.id];
    }
    return v;
}

static bool aval_mentions(const replacing *r, const pg_aval *v)
{
    if (v->kind == PG_AV_VAL) {
        return replaced(r, v->val).id != v->val.id;
    }
    for (uint32_t i = 0; v->kind == PG_AV_LIST && i < v->n; i++) {
        if (aval_mentions(r, &v->items[i])) {
            return true;
        }
    }
    return false;
}

static pg_aval aval_replaced(pg_kernel *k, const replacing *r, pg_aval v)
{
    if (v.kind == PG_AV_VAL) {
        v.val = replaced(r, v.val);
    } else if (v.kind == PG_AV_LIST && aval_mentions(r, &v)) {
        pg_aval *items = pg_arena_copy(&k->module->arena, v.items, v.n * sizeof *items);
        for (uint32_t i = 0; items != NULL && i < v.n; i++) {
            items[i] = aval_replaced(k, r, items[i]);
        }
        v.items = items == NULL ? v.items : items;
    }
    return v;
}

static void replace_in_attrs(pg_kernel *k, const replacing *r, pg_attrs *attrs)
{
    for (uint32_t i = 0; i < attrs->n; i++) {
        const uint8_t kind = attrs->at[i].val.kind;
        if (kind == PG_AV_VAL || kind == PG_AV_LIST) {
            attrs->at[i].val = aval_replaced(k, r, attrs->at[i].val);
        }
    }
}

static void replace_in_region(pg_kernel *k, const replacing *r, const pg_region *root)
{
    for (pg_inst *i = root == NULL ? NULL : root->first; i != NULL; i = pg_inst_walk(i, root)) {
        for (uint32_t j = 0; j < i->n_in; j++) {
            const pg_val v = i->in[j];
            if (r->map == NULL ? v.id == r->from.id : v.id < r->n && r->map[v.id].id != 0) {
                i->in[j] = replaced(r, v);
            }
        }
        replace_in_attrs(k, r, &i->attrs);
    }
}

static void replace(pg_kernel *k, const replacing *r)
{
    replace_in_region(k, r, k->launch);
    replace_in_region(k, r, k->body);
    replace_in_attrs(k, r, &k->attrs);
    for (uint32_t p = 0; p < k->n_params; p++) {
        replace_in_attrs(k, r, &k->params[p].attrs);
    }
    k->stamp++;
}

void pg_replace_uses(pg_kernel *k, pg_val from, pg_val to)
{
    replace(k, &(replacing){.from = from, .to = to});
}

void pg_replace_all(pg_kernel *k, const pg_val *map, uint32_t n)
{
    if (map != NULL) {
        replace(k, &(replacing){.map = map, .n = n});
    }
}

/* ---- attributes ---------------------------------------------------------------------------- */

void pg_attr_set(pg_kernel *k, pg_attrs *a, pg_attr_id id, pg_aval v)
{
    uint32_t at = 0;
    while (at < a->n && a->at[at].id < id) {
        at++;
    }
    k->stamp++;
    if (at < a->n && a->at[at].id == id) {
        a->at[at].val = v;
        return;
    }
    pg_attr *grown = PG_NEWS(&k->module->arena, pg_attr, (size_t)a->n + 1);
    if (grown == NULL) {
        return;
    }
    if (a->n != 0) {
        memcpy(grown, a->at, at * sizeof *grown);
        memcpy(grown + at + 1, a->at + at, (a->n - at) * sizeof *grown);
    }
    grown[at] = (pg_attr){.id = (uint8_t)id, .val = v};
    a->at = grown;
    a->n++;
}

void pg_attr_set_int(pg_kernel *k, pg_attrs *a, pg_attr_id id, int64_t v)
{
    bool is_word = pg_attr_infos[id].kind == PG_AK_WORD;
    pg_attr_set(k, a, id, (pg_aval){.kind = (uint8_t)(is_word ? PG_AV_WORD : PG_AV_INT), .num = v});
}

void pg_attr_set_flag(pg_kernel *k, pg_attrs *a, pg_attr_id id)
{
    pg_attr_set(k, a, id, (pg_aval){.kind = PG_AV_FLAG});
}

void pg_attr_drop(pg_kernel *k, pg_attrs *a, pg_attr_id id)
{
    uint32_t to = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->at[i].id != id) {
            a->at[to++] = a->at[i];
        }
    }
    k->stamp += to != a->n;
    a->n = to;
}

/* ---- constants ----------------------------------------------------------------------------- */

static pg_val find_const(pg_kernel *k, pg_type type, uint64_t bits, bool is_poison)
{
    if (k == NULL || type.id == 0) {
        return no_val;
    }
    uint64_t key = pg_hash_mix(pg_hash_mix(type.id, bits), is_poison);
    for (;; key++) { /* a clash of two hashes goes to the next key */
        const uint32_t *found = pg_map_get(&k->consts, key);
        if (found == NULL) {
            break;
        }
        const pg_value *v = pg_value_of(k, (pg_val){*found});
        if (pg_type_eq(v->type, type) && v->bits == bits && v->is_poison == is_poison) {
            return (pg_val){*found};
        }
    }
    pg_value value = {.kind = PG_V_CONST, .is_poison = is_poison, .type = type, .bits = bits};
    uint32_t stamp = k->stamp;
    pg_val v = value_new(k, &value);
    k->stamp = stamp; /* a constant that nobody uses yet changes no analysis */
    return v.id != 0 && pg_map_put(&k->consts, key, v.id) ? v : no_val;
}

pg_val pg_const(pg_kernel *k, pg_type type, uint64_t bits)
{
    return find_const(k, type, bits, false);
}

pg_val pg_const_int(pg_kernel *k, pg_type type, int64_t x)
{
    if (k == NULL) {
        return no_val;
    }
    pg_elem e = (pg_elem)pg_type_get(k->module->ctx->types, type)->elem;
    return pg_const(k, type, pg_elem_wrap(e, (uint64_t)x));
}

pg_val pg_const_float(pg_kernel *k, pg_type type, double x)
{
    if (k == NULL) {
        return no_val;
    }
    pg_elem e = (pg_elem)pg_type_get(k->module->ctx->types, type)->elem;
    return pg_const(k, type, pg_elem_of_f64(e, x));
}

pg_val pg_const_poison(pg_kernel *k, pg_type type)
{
    return find_const(k, type, 0, true);
}
