/* interp_tma.c: tensor copies between global arrays and buffers: boxes of two to five dimensions,
 * zero outside of the array. The array is what [of=%p] names, by that argument's shape and strides.
 */
#include <string.h>

#include "ir/interp_int.h"

typedef struct array_view {
    const pg_interp_array *array;
    pg_val of;
    pg_elem elem;
    uint32_t size, rank;
    int64_t dims[PG_MAX_RANK], strides[PG_MAX_RANK]; /* elements */
    uint32_t box[PG_MAX_RANK];
} array_view;

static bool list_value(pg_machine *m, const pg_aval *v, int64_t *out)
{
    if (v->kind == PG_AV_VAL) {
        *out = (int64_t)pg_rt_slot(m, v->val)->at[0];
        return true;
    }
    *out = v->num;
    return v->kind == PG_AV_INT;
}

static pg_run view_of(pg_machine *m, const pg_inst *i, uint32_t desc, array_view *v)
{
    const pg_param *p = &m->k->params[desc];
    const pg_type_info *ty = pg_val_info(m->k, p->val);
    const pg_aval *of = pg_attr_get(&p->attrs, PG_A_OF);
    const pg_value *base = of != NULL && of->kind == PG_AV_VAL ? pg_value_of(m->k, of->val) : NULL;
    memset(v, 0, sizeof *v);
    if (base == NULL || base->kind != PG_V_PARAM) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "a descriptor without [of=%pointer]");
    }
    const pg_attrs *attrs = &m->k->params[base->index].attrs;
    const pg_aval *shape = pg_attr_get(attrs, PG_A_SHAPE),
                  *strides = pg_attr_get(attrs, PG_A_STRIDES);
    v->array = &m->args[base->index].array;
    v->of = of->val;
    v->elem = (pg_elem)ty->elem;
    v->size = pg_rt_elem_bytes(v->elem);
    v->rank = ty->rank;
    if (shape == NULL || shape->n != ty->rank || (strides != NULL && strides->n != ty->rank)) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i,
                           "a descriptor of an array without a shape of its rank");
    }
    int64_t dense = 1;
    for (uint32_t d = ty->rank; d-- > 0;) {
        v->box[d] = (uint32_t)ty->dims[d];
        v->strides[d] = dense;
        bool is_known = list_value(m, &shape->items[d], &v->dims[d]) &&
                        (strides == NULL || list_value(m, &strides->items[d], &v->strides[d]));
        if (!is_known || v->dims[d] < 0 || v->dims[d] > INT32_MAX || v->strides[d] < 0 ||
            v->strides[d] > INT64_C(1) << 40) {
            return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i,
                               "a descriptor of an array of this shape");
        }
        dense = dense <= INT64_C(1) << 40 ? dense * v->dims[d] : dense;
    }
    return PG_RUN_NEXT;
}

/* Byte offset of an element of the box; -1 outside of the array's extents. */
static int64_t offset_at(const array_view *v, const int64_t *coord, const uint32_t *x)
{
    int64_t offset = 0;
    for (uint32_t d = 0; d < v->rank; d++) {
        int64_t at = coord[d] + x[d];
        if (at < 0 || at >= v->dims[d]) {
            return -1;
        }
        offset += at * v->strides[d];
    }
    return offset * v->size;
}

static void next_of_box(const array_view *v, uint32_t *x)
{
    for (uint32_t d = v->rank; d-- > 0;) {
        if (++x[d] < v->box[d]) {
            return;
        }
        x[d] = 0;
    }
}

static pg_run check_inside(pg_machine *m, const pg_event *e, const array_view *v, uint32_t at,
                           int64_t offset)
{
    if (v->array->data != NULL && (uint64_t)offset + v->size <= v->array->n_bytes) {
        return PG_RUN_NEXT;
    }
    return pg_rt_fault(m, PG_D_RUN_OUT_OF_BOUNDS, e->inst, (unsigned long long)at,
                       (long long)offset, pg_rt_name(m, v->of),
                       (unsigned long long)v->array->n_bytes);
}

pg_run pg_rt_get_happens(pg_machine *m, pg_event *e)
{
    array_view v;
    if (view_of(m, e->inst, e->desc, &v) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    const pg_rt_buf *b = &m->bufs.at[e->box.buf];
    uint32_t x[PG_MAX_RANK] = {0};
    for (uint32_t k = 0; k < e->box.n; k++, next_of_box(&v, x)) {
        int64_t offset = offset_at(&v, e->coord, x);
        uint64_t *to = &b->at[e->box.offset + k];
        uint8_t *poison = &b->poison[e->box.offset + k];
        *to = 0;
        *poison = 0;
        if (offset < 0) {
            continue;
        }
        if (check_inside(m, e, &v, k, offset) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
        *to = pg_rt_read((const uint8_t *)v.array->data + offset, v.elem);
        for (uint32_t byte = 0; v.array->poison != NULL && byte < v.size; byte++) {
            *poison |= v.array->poison[offset + byte] != 0;
        }
    }
    uint64_t phase = e->bar->b.phase;
    pg_rt_stamp(m, e->box, true, ++m->sequence);
    e->bar->gathers = m->sequence;
    pg_bar_error error = pg_barrier_complete(&e->bar->b, e->box.n * v.size);
    pg_rt_bar_changed(m, e->bar, phase);
    e->is_done = true;
    e->is_dead = true;
    return pg_rt_bar_fault(m, e->inst, e->bar_obj, e->bar, error);
}

pg_run pg_rt_put_reads(pg_machine *m, pg_event *e)
{
    const pg_alloc *alloc = &m->arena.alloc;
    const pg_rt_buf *b = &m->bufs.at[e->box.buf];
    e->staged = alloc->resize(alloc->user, NULL, 0, e->box.n * sizeof *e->staged);
    e->staged_poison = alloc->resize(alloc->user, NULL, 0, e->box.n);
    if (e->staged == NULL || e->staged_poison == NULL) {
        return pg_rt_oom(m);
    }
    memcpy(e->staged, b->at + e->box.offset, e->box.n * sizeof *e->staged);
    memcpy(e->staged_poison, b->poison + e->box.offset, e->box.n);
    e->has_read = true;
    return PG_RUN_NEXT;
}

pg_run pg_rt_put_writes(pg_machine *m, pg_event *e)
{
    array_view v;
    if (view_of(m, e->inst, e->desc, &v) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    uint32_t x[PG_MAX_RANK] = {0};
    for (uint32_t k = 0; k < e->box.n; k++, next_of_box(&v, x)) {
        int64_t offset = offset_at(&v, e->coord, x);
        if (offset < 0) {
            continue;
        }
        if (check_inside(m, e, &v, k, offset) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
        if (e->staged_poison[k]) {
            return pg_rt_fault(m, PG_D_RUN_POISON, e->inst, "a store");
        }
        pg_rt_write((uint8_t *)v.array->data + offset, v.elem, e->staged[k]);
        if (v.array->poison != NULL) {
            memset(v.array->poison + offset, 0, v.size);
        }
    }
    e->is_done = true;
    e->is_dead = e->is_retired;
    return PG_RUN_NEXT;
}

static pg_run coords(pg_machine *m, const pg_inst *i, uint32_t first, pg_region_ref box,
                     int64_t *out)
{
    const pg_type_info *ty = pg_val_info(m->k, i->in[0]);
    uint64_t n = 1;
    for (uint32_t d = 0; d < ty->rank; d++) {
        n *= (uint64_t)ty->dims[d];
    }
    if (i->n_in - first != ty->rank || n != box.n) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "operands of different shapes");
    }
    for (uint32_t d = 0; d < ty->rank; d++) {
        if (pg_rt_int(m, i, first + d, "a coordinate", &out[d]) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
    }
    return PG_RUN_NEXT;
}

RUN(TMA_LOAD)
{
    uint32_t obj = 0;
    pg_rt_bar *bar = NULL;
    int64_t at[PG_MAX_RANK] = {0};
    array_view v;
    pg_region_ref box = pg_rt_box(m, i->in[1]);
    if (pg_rt_bar_of(m, i, 2, &obj, &bar) != PG_RUN_NEXT ||
        coords(m, i, 4, box, at) != PG_RUN_NEXT ||
        view_of(m, i, pg_rt_slot(m, i->in[0])->obj, &v) != PG_RUN_NEXT ||
        pg_rt_check(m, co, i, box, true) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    if (!bar->b.is_init) {
        return pg_rt_bar_fault(m, i, obj, bar, PG_BAR_UNINIT);
    }
    if ((m->bars.at[obj].state & PG_RT_FENCED) == 0) {
        return pg_rt_fault(m, PG_D_RUN_FENCE, i, "completes on barriers that were initialised",
                           "fence [kind=mbarrier_init]");
    }
    pg_event *e = pg_rt_event_new(m, PG_EV_GET, co, i);
    if (e == NULL) {
        return pg_rt_oom(m);
    }
    e->box = box;
    e->desc = pg_rt_slot(m, i->in[0])->obj;
    e->bar = bar;
    e->bar_obj = obj;
    memcpy(e->coord, at, sizeof at);
    return PG_RUN_NEXT;
}

RUN(TMA_STORE)
{
    int64_t at[PG_MAX_RANK] = {0};
    array_view v;
    pg_region_ref box = pg_rt_box(m, i->in[1]);
    if (coords(m, i, 2, box, at) != PG_RUN_NEXT ||
        view_of(m, i, pg_rt_slot(m, i->in[0])->obj, &v) != PG_RUN_NEXT ||
        pg_rt_check(m, co, i, box, false) != PG_RUN_NEXT ||
        pg_rt_check_proxy(m, i, box) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    pg_event *e = pg_rt_event_new(m, PG_EV_PUT, co, i);
    if (e == NULL) {
        return pg_rt_oom(m);
    }
    e->box = box;
    e->desc = pg_rt_slot(m, i->in[0])->obj;
    memcpy(e->coord, at, sizeof at);
    return PG_RUN_NEXT;
}
