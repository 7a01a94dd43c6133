/* interp_get.c: copies from global memory into buffers that the threads start by themselves. A copy
 * happens at a time of its own; only async.wait of the coroutine that started it ends it, whenever
 * it happened: an access before is a fault. */
#include <string.h>

#include "ir/elem.h"
#include "ir/interp_int.h"

RUN(ASYNC_GET)
{
    const pg_alloc *alloc = &m->arena.alloc;
    pg_region_ref box = pg_rt_box(m, i->in[1]);
    pg_rt_access a = {.ptr = pg_rt_slot(m, i->in[0]),
                      .mask = i->n_in > 2 ? pg_rt_slot(m, i->in[2]) : NULL,
                      .elem = (pg_elem)pg_val_info(m->k, i->in[0])->elem};
    a.size = pg_rt_elem_bytes(a.elem);
    if (a.ptr->n != box.n) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "operands of different shapes");
    }
    if (pg_rt_check(m, co, i, box, true) != PG_RUN_NEXT ||
        pg_rt_check_epoch(m, co, i, box, i->in[0], true) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    pg_event *e = pg_rt_event_new(m, PG_EV_COPY, co, i);
    if (e == NULL) {
        return pg_rt_oom(m);
    }
    e->box = box;
    e->staged = alloc->resize(alloc->user, NULL, 0, box.n * sizeof *e->staged);
    e->staged_poison = alloc->resize(alloc->user, NULL, 0, box.n);
    if (e->staged == NULL || e->staged_poison == NULL) {
        return pg_rt_oom(m);
    }
    for (uint32_t k = 0; k < box.n; k++) {
        const pg_interp_array *from = NULL;
        uint64_t at = 0;
        if (pg_rt_address(m, i, &a, k, &from, &at) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
        e->staged[k] = (a.ptr->at[k] >> 48) << 48 | at;
        e->staged_poison[k] = from != NULL;
    }
    return PG_RUN_NEXT;
}

pg_run pg_rt_copy_happens(pg_machine *m, pg_event *e)
{
    const pg_rt_buf *b = &m->bufs.at[e->box.buf];
    pg_elem elem = (pg_elem)pg_val_info(m->k, e->inst->in[0])->elem;
    uint32_t size = pg_rt_elem_bytes(elem);
    for (uint32_t k = 0; k < e->box.n; k++) {
        uint64_t *to = &b->at[e->box.offset + k];
        uint8_t *poison = &b->poison[e->box.offset + k];
        *to = 0;
        *poison = 0;
        if (e->staged_poison[k] == 0) {
            continue;
        }
        const pg_interp_array *from = &m->args[(e->staged[k] >> 48) - 1].array;
        uint64_t at = e->staged[k] & ((UINT64_C(1) << 48) - 1);
        *to = pg_rt_read((const uint8_t *)from->data + at, elem);
        for (uint32_t byte = 0; byte < size && from->poison != NULL; byte++) {
            *poison |= from->poison[at + byte] != 0;
        }
    }
    e->is_done = true;
    return PG_RUN_NEXT;
}

RUN(ASYNC_COMMIT)
{
    (void)i;
    for (uint32_t k = 0; k < m->events.n; k++) {
        pg_event *e = &m->events.at[k];
        if (e->kind == PG_EV_COPY && e->co == (uint32_t)(co - m->cos) && e->group == UINT32_MAX) {
            e->group = co->n_copy_groups;
        }
    }
    co->n_copy_groups++;
    return PG_RUN_NEXT;
}

RUN(ASYNC_WAIT)
{
    int64_t in_flight = pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0);
    for (uint32_t k = 0; k < m->events.n; k++) {
        pg_event *e = &m->events.at[k];
        bool is_mine =
            e->kind == PG_EV_COPY && e->co == (uint32_t)(co - m->cos) && e->group != UINT32_MAX;
        if (!is_mine || (int64_t)e->group >= (int64_t)co->n_copy_groups - in_flight) {
            continue;
        }
        if (!e->is_done && pg_rt_copy_happens(m, e) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
        e->is_dead = true;
        co->known = ++m->sequence;
        pg_rt_stamp(m, e->box, true, m->sequence);
        pg_rt_note_epoch(m, co, e->box, e->inst->in[0], true);
        pg_rt_mark_dirty(m, co, e->box);
    }
    pg_rt_events_compact(m);
    return PG_RUN_NEXT;
}
