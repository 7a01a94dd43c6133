/* interp_async.c: what happens at a time of its own: pending events, their times, and the waits
 * that force them. */
#include <string.h>

#include "ir/interp_int.h"

/* At once, soon, later, or at the last moment: drawn per event. */
static uint64_t draw_due(pg_machine *m)
{
    static const uint16_t within[8] = {1, 1, 4, 16, 128, 1024, 0, 0};
    uint64_t spread = within[pg_rt_random(m, 8)];
    return spread == 0 ? UINT64_MAX : m->steps + pg_rt_random(m, spread);
}

pg_event *pg_rt_event_new(pg_machine *m, pg_event_kind kind, const pg_co *co, const pg_inst *i)
{
    pg_event e = {
        .kind = (uint8_t)kind, .inst = i, .co = (uint32_t)(co - m->cos), .group = UINT32_MAX};
    e.due = draw_due(m);
    if (!pg_vec_push(&m->arena, &m->events, e)) {
        return NULL;
    }
    m->next_due = e.due < m->next_due ? e.due : m->next_due;
    return &m->events.at[m->events.n - 1];
}

static void free_staged(pg_machine *m, pg_event *e)
{
    if (e->staged != NULL) {
        (void)m->arena.alloc.resize(m->arena.alloc.user, e->staged, e->box.n * sizeof *e->staged,
                                    0);
        e->staged = NULL;
    }
    if (e->staged_poison != NULL) {
        (void)m->arena.alloc.resize(m->arena.alloc.user, e->staged_poison, e->box.n, 0);
        e->staged_poison = NULL;
    }
}

void pg_rt_events_compact(pg_machine *m)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->events.n; k++) {
        pg_event *e = &m->events.at[k];
        if (e->is_dead) {
            free_staged(m, e);
        } else {
            m->events.at[n++] = *e;
        }
    }
    m->events.n = n;
}

static pg_run happen(pg_machine *m, uint32_t index)
{
    pg_event *e = &m->events.at[index];
    if (e->is_done) {
        return PG_RUN_NEXT;
    }
    if (e->kind == PG_EV_GET) {
        return pg_rt_get_happens(m, e);
    }
    if (e->kind == PG_EV_COPY) {
        return pg_rt_copy_happens(m, e);
    }
    if (e->kind == PG_EV_PUT) {
        if (e->has_read) {
            return pg_rt_put_writes(m, e);
        }
        e->due = e->due == UINT64_MAX ? UINT64_MAX : draw_due(m);
        return pg_rt_put_reads(m, e);
    }
    /* Matrix operations of one partition happen in order. */
    for (uint32_t k = 0; k <= index; k++) {
        pg_event *before = &m->events.at[k];
        if (before->kind == PG_EV_MMA && before->co == e->co && !before->is_done &&
            pg_rt_mma_happens(m, before) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
    }
    return PG_RUN_NEXT;
}

pg_run pg_rt_due(pg_machine *m)
{
    for (uint32_t k = 0; k < m->events.n; k++) {
        if (!m->events.at[k].is_dead && m->events.at[k].due <= m->steps &&
            happen(m, k) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
    }
    pg_rt_events_compact(m);
    m->next_due = UINT64_MAX;
    for (uint32_t k = 0; k < m->events.n; k++) {
        const pg_event *e = &m->events.at[k];
        m->next_due = !e->is_done && e->due < m->next_due ? e->due : m->next_due;
    }
    return PG_RUN_NEXT;
}

pg_run pg_rt_force_get(pg_machine *m, bool *done)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->events.n; k++) {
        n += m->events.at[k].kind == PG_EV_GET;
    }
    *done = n != 0;
    uint64_t which = n == 0 ? 0 : pg_rt_random(m, n);
    for (uint32_t k = 0; k < m->events.n && n != 0; k++) {
        if (m->events.at[k].kind == PG_EV_GET && which-- == 0) {
            pg_run r = happen(m, k);
            pg_rt_events_compact(m);
            return r;
        }
    }
    return PG_RUN_NEXT;
}

/* Everything still in flight ends with the CTA, but what uses its shared memory must not outlive
 * it.
 */
pg_run pg_rt_finish(pg_machine *m)
{
    for (uint32_t k = 0; k < m->events.n; k++) {
        pg_event *e = &m->events.at[k];
        if (e->kind == PG_EV_GET || e->kind == PG_EV_COPY ||
            (e->kind == PG_EV_PUT && !e->is_retired)) {
            return pg_rt_fault(m, PG_D_RUN_EXIT, e->inst);
        }
        while (!e->is_done) {
            if (happen(m, k) != PG_RUN_NEXT) {
                return PG_RUN_FAULT;
            }
        }
        e->is_dead = true;
    }
    pg_rt_events_compact(m);
    return PG_RUN_NEXT;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void retire(pg_machine *m, pg_co *co, pg_event *e)
{
    e->is_retired = true;
    co->known = ++m->sequence;
    pg_rt_stamp(m, e->box, false, m->sequence);
    if (e->kind == PG_EV_MMA) {
        pg_rt_stamp(m, e->other, false, m->sequence);
    }
    e->is_dead = e->is_done;
}

RUN(MMA_WAIT)
{
    int64_t in_flight = pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0);
    int64_t n = 0;
    for (uint32_t k = 0; k < m->events.n; k++) {
        n += m->events.at[k].kind == PG_EV_MMA && m->events.at[k].co == (uint32_t)(co - m->cos);
    }
    for (uint32_t k = 0; k < m->events.n && n > in_flight; k++) {
        pg_event *e = &m->events.at[k];
        if (e->kind != PG_EV_MMA || e->co != (uint32_t)(co - m->cos)) {
            continue;
        }
        if (happen(m, k) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
        retire(m, co, e);
        n--;
    }
    pg_rt_events_compact(m);
    if (i->n_out == 0) {
        return PG_RUN_NEXT;
    }
    pg_slot *out = pg_rt_out(m, i, 0);
    const pg_slot *token = pg_rt_slot(m, i->in[0]);
    const pg_rt_acc *acc = &m->accs.at[token->obj];
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    if (acc->generation != token->offset || in_flight != 0 || acc->n != out->n) {
        return pg_rt_fault(m, PG_D_RUN_TOKEN, i);
    }
    for (uint32_t e = 0; e < acc->n; e++) {
        out->at[e] = acc->elem == PG_F32 ? pg_f32_bits(acc->at[e]) : pg_f32_to_f16(acc->at[e]);
        out->poison[e] = acc->poison[e];
    }
    out->has_poison = memchr(out->poison, 1, out->n) != NULL;
    return PG_RUN_NEXT;
}

RUN(TMA_COMMIT)
{
    (void)i;
    for (uint32_t k = 0; k < m->events.n; k++) {
        pg_event *e = &m->events.at[k];
        if (e->kind == PG_EV_PUT && e->co == (uint32_t)(co - m->cos) && e->group == UINT32_MAX) {
            e->group = co->n_groups;
        }
    }
    co->n_groups++;
    return PG_RUN_NEXT;
}

RUN(TMA_WAIT)
{
    int64_t in_flight = pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0);
    bool reads_only = pg_attr_has(&i->attrs, PG_A_READ);
    for (uint32_t k = 0; k < m->events.n; k++) {
        pg_event *e = &m->events.at[k];
        bool is_mine =
            e->kind == PG_EV_PUT && e->co == (uint32_t)(co - m->cos) && e->group != UINT32_MAX;
        if (!is_mine || (int64_t)e->group >= (int64_t)co->n_groups - in_flight) {
            continue;
        }
        while (!(e->is_done || (reads_only && e->has_read))) {
            if (happen(m, k) != PG_RUN_NEXT) {
                return PG_RUN_FAULT;
            }
        }
        retire(m, co, e);
    }
    pg_rt_events_compact(m);
    return PG_RUN_NEXT;
}
