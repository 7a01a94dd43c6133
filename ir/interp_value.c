/* interp_value.c: slots of values, elementwise operations, and those that move elements. */
#include <string.h>

#include "ir/elem.h"
#include "ir/fold.h"
#include "ir/interp_int.h"

static bool room(pg_machine *m, pg_slot *s)
{
    if (s->at == NULL) {
        s->at = PG_NEWS(&m->arena, uint64_t, s->n);
        s->poison = PG_NEWS(&m->arena, uint8_t, s->n);
    }
    return s->at != NULL && s->poison != NULL;
}

static bool spare_room(pg_machine *m, pg_slot *s)
{
    if (s->spare == NULL) {
        s->spare = PG_NEWS(&m->arena, uint64_t, s->n);
        s->spare_poison = PG_NEWS(&m->arena, uint8_t, s->n);
    }
    return s->spare != NULL && s->spare_poison != NULL;
}

static bool fill_const(pg_machine *m, pg_slot *s, const pg_value *v)
{
    if (!room(m, s)) {
        return false;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        s->at[i] = v->bits;
    }
    s->has_poison = v->is_poison;
    memset(s->poison, v->is_poison, s->n);
    return true;
}

pg_status pg_rt_slots_init(pg_machine *m)
{
    const pg_types *types = m->k->module->ctx->types;
    m->slots = PG_NEWS(&m->arena, pg_slot, m->k->values.n);
    if (m->slots == NULL) {
        return PG_E_NOMEM;
    }
    for (uint32_t id = 1; id < m->k->values.n; id++) {
        pg_slot *s = &m->slots[id];
        const pg_value *v = &m->k->values.at[id];
        const pg_type_info *ty = pg_type_get(types, v->type);
        int64_t n = ty->kind == PG_TY_TILE ? pg_type_n_elems(types, v->type) : 1;
        if (n < 0 || n > (1 << 28)) {
            return pg_diag_add(m->diags, PG_D_RUN_UNSUPPORTED, m->k->loc, "a tile of this size");
        }
        s->n = (uint32_t)n;
        if (ty->kind != PG_TY_TILE) {
            s->at = &s->one[0];
            s->spare = &s->one[1];
            s->poison = &s->one_poison[0];
            s->spare_poison = &s->one_poison[1];
        }
        if (v->kind == PG_V_CONST && !fill_const(m, s, v)) {
            return PG_E_NOMEM;
        }
    }
    for (uint32_t p = 0; p < m->k->n_params; p++) {
        pg_val v = m->k->params[p].val;
        pg_slot *s = pg_rt_slot(m, v);
        const pg_type_info *ty = pg_val_info(m->k, v);
        s->obj = p;
        s->at[0] = ty->is_ptr ? (uint64_t)(p + 1) << 48 : m->args[p].bits;
        if (ty->kind == PG_TY_SCALAR && !ty->is_ptr && pg_elem_infos[ty->elem].cls == 'I') {
            s->at[0] = pg_elem_wrap((pg_elem)ty->elem, s->at[0]);
        }
    }
    return PG_OK;
}

pg_slot *pg_rt_out(pg_machine *m, const pg_inst *i, uint32_t index)
{
    pg_slot *s = pg_rt_slot(m, i->out[index]);
    s->has_poison = false;
    return room(m, s) ? s : NULL;
}

void pg_rt_set(pg_slot *s, uint64_t x)
{
    s->at[0] = x;
    s->has_poison = false;
}

bool pg_rt_assign(pg_machine *m, uint32_t n, const pg_val *to, const pg_val *from)
{
    for (uint32_t i = 0; i < n; i++) {
        pg_slot *t = pg_rt_slot(m, to[i]);
        const pg_slot *f = pg_rt_slot(m, from[i]);
        if (t->n != f->n || f->at == NULL || !room(m, t) || !spare_room(m, t)) {
            return false;
        }
        memcpy(t->spare, f->at, t->n * sizeof *t->at);
        if (f->has_poison) {
            memcpy(t->spare_poison, f->poison, t->n);
        }
        t->spare_has_poison = f->has_poison;
        t->spare_obj = f->obj;
        t->spare_offset = f->offset;
    }
    for (uint32_t i = 0; i < n; i++) {
        pg_slot *t = pg_rt_slot(m, to[i]);
        uint64_t *at = t->at;
        uint8_t *poison = t->poison;
        t->at = t->spare;
        t->spare = at;
        t->poison = t->spare_poison;
        t->spare_poison = poison;
        t->has_poison = t->spare_has_poison;
        t->obj = t->spare_obj;
        t->offset = t->spare_offset;
    }
    return true;
}

pg_run pg_rt_int(pg_machine *m, const pg_inst *i, uint32_t index, const char *what, int64_t *out)
{
    const pg_slot *s = pg_rt_slot(m, i->in[index]);
    *out = (int64_t)s->at[0];
    return pg_rt_is_poison(s, 0) ? pg_rt_fault(m, PG_D_RUN_POISON, i, what) : PG_RUN_NEXT;
}

/* ---- elementwise ----------------------------------------------------------------------------- */

/* Poison of an operand is poison of the result; a selection looks at what it selects. */
static void spread_poison(pg_machine *m, const pg_inst *i, pg_slot *out)
{
    for (uint32_t k = 0; k < i->n_in; k++) {
        const pg_slot *in = pg_rt_slot(m, i->in[k]);
        if (!in->has_poison) {
            continue;
        }
        if (!out->has_poison) {
            memset(out->poison, 0, out->n);
            out->has_poison = true;
        }
        const uint64_t *mask = i->op == PG_OP_SELECT && k > 0 ? pg_rt_slot(m, i->in[0])->at : NULL;
        for (uint32_t e = 0; e < out->n; e++) {
            bool counts = mask == NULL || (mask[e] != 0) == (k == 1);
            out->poison[e] |= counts && in->poison[e];
        }
    }
}

static pg_run elementwise(pg_machine *m, pg_co *co, const pg_inst *i)
{
    (void)co;
    pg_slot *out = pg_rt_out(m, i, 0);
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    uint32_t last = i->n_in - 1u;
    pg_fold f = {.op = (pg_op)i->op,
                 .attrs = &i->attrs,
                 .n = out->n,
                 .out = out->at,
                 .new_poison = out->poison};
    f.elem = (pg_elem)pg_val_info(m->k, i->in[last])->elem;
    f.res = (pg_elem)pg_val_info(m->k, i->out[0])->elem;
    for (uint32_t k = 0; k < i->n_in && k < 3; k++) {
        const pg_slot *in = pg_rt_slot(m, i->in[k]);
        if (in->n != out->n || in->at == NULL) {
            return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "operands of different shapes");
        }
        f.in[k] = in->at;
    }
    bool may_poison = pg_fold_may_poison((pg_op)i->op, &i->attrs);
    if (may_poison) {
        memset(out->poison, 0, out->n);
    }
    if (!pg_fold_run(&f)) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, pg_op_infos[i->op].text);
    }
    out->has_poison = may_poison && memchr(out->poison, 1, out->n) != NULL;
    spread_poison(m, i, out);
    return PG_RUN_NEXT;
}

#define ELEMENTWISE(id)               \
    RUN(id)                           \
    {                                 \
        return elementwise(m, co, i); \
    }
#include "ir/elementwise.def"

/* ---- moving elements ------------------------------------------------------------------------- */

RUN(CONST)
{
    (void)co;
    return pg_rt_assign(m, 1, i->out, i->in) ? PG_RUN_NEXT : pg_rt_oom(m);
}

RUN(SPLAT)
{
    (void)co;
    pg_slot *out = pg_rt_out(m, i, 0);
    const pg_slot *in = pg_rt_slot(m, i->in[0]);
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    for (uint32_t e = 0; e < out->n; e++) {
        out->at[e] = in->at[0];
    }
    out->has_poison = pg_rt_is_poison(in, 0);
    memset(out->poison, out->has_poison, out->n);
    return PG_RUN_NEXT;
}

/* Element distance of one step in each dimension, row-major. */
static void strides_of(const pg_type_info *ty, uint64_t *stride)
{
    uint64_t n = 1;
    for (uint32_t d = ty->rank; d-- > 0;) {
        stride[d] = n;
        n *= (uint64_t)ty->dims[d];
    }
}

RUN(IOTA)
{
    (void)co;
    pg_slot *out = pg_rt_out(m, i, 0);
    const pg_type_info *ty = pg_val_info(m->k, i->out[0]);
    int64_t dim = pg_attr_int(&i->attrs, PG_A_DIM, 0);
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    if (dim < 0 || dim >= ty->rank) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "a dimension that the tile has not");
    }
    uint64_t stride[PG_MAX_RANK];
    strides_of(ty, stride);
    for (uint32_t e = 0; e < out->n; e++) {
        out->at[e] = pg_elem_wrap((pg_elem)ty->elem, e / stride[dim] % (uint64_t)ty->dims[dim]);
    }
    return PG_RUN_NEXT;
}

/* out[x] = in[sum of x_d * stride_d] */
static pg_run gather(pg_machine *m, const pg_inst *i, const uint64_t *stride)
{
    pg_slot *out = pg_rt_out(m, i, 0);
    const pg_slot *in = pg_rt_slot(m, i->in[0]);
    const pg_type_info *ty = pg_val_info(m->k, i->out[0]);
    uint32_t x[PG_MAX_RANK] = {0};
    uint64_t from = 0;
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    out->has_poison = in->has_poison;
    for (uint32_t e = 0; e < out->n; e++) {
        out->at[e] = in->at[from];
        if (in->has_poison) {
            out->poison[e] = in->poison[from];
        }
        for (uint32_t d = ty->rank; d-- > 0;) {
            from += stride[d];
            if (++x[d] < (uint32_t)ty->dims[d]) {
                break;
            }
            from -= stride[d] * x[d];
            x[d] = 0;
        }
    }
    return PG_RUN_NEXT;
}

RUN(BROADCAST)
{
    (void)co;
    const pg_type_info *ty = pg_val_info(m->k, i->in[0]);
    uint64_t stride[PG_MAX_RANK] = {0};
    strides_of(ty, stride);
    for (uint32_t d = 0; d < ty->rank; d++) {
        stride[d] = ty->dims[d] == 1 ? 0 : stride[d];
    }
    return gather(m, i, stride);
}

RUN(TRANSPOSE)
{
    (void)co;
    const pg_type_info *ty = pg_val_info(m->k, i->in[0]);
    const pg_aval *perm = pg_attr_get(&i->attrs, PG_A_PERM);
    uint64_t from[PG_MAX_RANK] = {0}, stride[PG_MAX_RANK] = {0};
    strides_of(ty, from);
    for (uint32_t d = 0; d < ty->rank; d++) {
        bool is_known =
            perm != NULL && d < perm->n && perm->items[d].num >= 0 && perm->items[d].num < ty->rank;
        if (!is_known) {
            return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "this permutation");
        }
        stride[d] = from[perm->items[d].num];
    }
    return gather(m, i, stride);
}

static pg_run same_order(pg_machine *m, const pg_inst *i)
{
    if (pg_rt_slot(m, i->in[0])->n != pg_rt_slot(m, i->out[0])->n) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "operands of different shapes");
    }
    return pg_rt_assign(m, 1, i->out, i->in) ? PG_RUN_NEXT : pg_rt_oom(m);
}

RUN(EXPAND)
{
    (void)co;
    return same_order(m, i);
}

RUN(RESHAPE)
{
    (void)co;
    return same_order(m, i);
}
