#include "ir/uses.h"

/* Two walks over the kernel: the first counts (all is NULL), the second fills. */
typedef struct filling {
    pg_uses *u;
    uint32_t *next; /* place of the next use of each value */
} filling;

static void note(const filling *f, pg_val v, pg_inst *inst, uint32_t index)
{
    if (v.id == 0 || v.id >= f->u->n_vals) {
        return;
    }
    if (f->u->all != NULL) {
        f->u->all[f->next[v.id]] = (pg_use){inst, index};
    }
    f->next[v.id]++;
}

static void note_aval(const filling *f, const pg_aval *v, pg_inst *inst)
{
    if (v->kind == PG_AV_VAL) {
        note(f, v->val, inst, PG_USE_ATTR);
    }
    for (uint32_t i = 0; v->kind == PG_AV_LIST && i < v->n; i++) {
        note_aval(f, &v->items[i], inst);
    }
}

static void note_attrs(const filling *f, const pg_attrs *attrs, pg_inst *inst)
{
    for (uint32_t i = 0; i < attrs->n; i++) {
        note_aval(f, &attrs->at[i].val, inst);
    }
}

static void note_region(const filling *f, const pg_region *root)
{
    for (pg_inst *i = root == NULL ? NULL : root->first; i != NULL; i = pg_inst_walk(i, root)) {
        for (uint32_t j = 0; j < i->n_in; j++) {
            note(f, i->in[j], i, j);
        }
        note_attrs(f, &i->attrs, i);
    }
}

static void note_kernel(const filling *f, const pg_kernel *k)
{
    note_attrs(f, &k->attrs, NULL);
    for (uint32_t p = 0; p < k->n_params; p++) {
        note_attrs(f, &k->params[p].attrs, NULL);
    }
    note_region(f, k->launch);
    note_region(f, k->body);
}

bool pg_uses_are_fresh(const pg_uses *u, const pg_kernel *k)
{
    return u->kernel == k && u->stamp == k->stamp;
}

pg_status pg_uses_get(pg_uses *u, const pg_kernel *k, pg_arena *arena)
{
    if (pg_uses_are_fresh(u, k)) {
        return PG_OK;
    }
    uint32_t n = k->values.n;
    *u = (pg_uses){.n_vals = n};
    u->first = PG_NEWS(arena, uint32_t, (size_t)n + 1);
    uint32_t *next = PG_NEWS(arena, uint32_t, (size_t)n + 1);
    if (u->first == NULL || next == NULL) {
        return PG_E_NOMEM;
    }
    filling f = {u, next};
    note_kernel(&f, k);
    for (uint32_t v = 0, sum = 0; v <= n; v++) {
        uint32_t count = next[v];
        u->first[v] = next[v] = sum;
        sum += count;
    }
    u->all = PG_NEWS(arena, pg_use, u->first[n]);
    if (u->all == NULL) {
        return PG_E_NOMEM;
    }
    note_kernel(&f, k);
    u->kernel = k;
    u->stamp = k->stamp;
    return PG_OK;
}
