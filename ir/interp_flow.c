/* interp_flow.c: loops, conditions, partitions: frames on an explicit stack, no recursion. */
#include <string.h>

#include "ir/interp_int.h"

static pg_frame *top(pg_co *co)
{
    return &co->frames.at[co->frames.n - 1];
}

RUN(FOR)
{
    int64_t from = 0, to = 0, step = 0;
    if (pg_rt_int(m, i, 0, "a loop bound", &from) != PG_RUN_NEXT ||
        pg_rt_int(m, i, 1, "a loop bound", &to) != PG_RUN_NEXT ||
        pg_rt_int(m, i, 2, "the step of a loop", &step) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    if (step <= 0) {
        return pg_rt_fault(m, PG_D_RUN_STEP, i, (long long)step);
    }
    const pg_region *body = i->regions[0];
    uint32_t n = i->n_in - 3u;
    if (from >= to) {
        return pg_rt_assign(m, n, i->out, i->in + 3) ? PG_RUN_NEXT : pg_rt_oom(m);
    }
    if (!pg_rt_assign(m, n, body->args + 1, i->in + 3) || !pg_rt_push(m, co, body, i)) {
        return pg_rt_oom(m);
    }
    pg_frame *f = top(co);
    f->i = from;
    f->to = to;
    f->step = step;
    pg_rt_set(pg_rt_slot(m, body->args[0]), (uint64_t)from);
    return PG_RUN_NEXT;
}

RUN(WHILE)
{
    const pg_region *test = i->regions[0];
    bool is_ready = pg_rt_assign(m, i->n_in, test->args, i->in) && pg_rt_push(m, co, test, i);
    return is_ready ? PG_RUN_NEXT : pg_rt_oom(m);
}

RUN(IF)
{
    int64_t is_true = 0;
    if (pg_rt_int(m, i, 0, "a condition", &is_true) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    uint32_t which = is_true ? 0 : 1;
    if (which >= i->n_regions || i->regions[which] == NULL) {
        return PG_RUN_NEXT;
    }
    return pg_rt_push(m, co, i->regions[which], i) ? PG_RUN_NEXT : pg_rt_oom(m);
}

/* A frame goes on at the start of another region of its owner. */
static void enter(pg_frame *f, const pg_region *r)
{
    f->region = r;
    f->next = r->first;
}

/* The end of a test: on to the body, or out. */
static pg_run leave_test(pg_machine *m, pg_co *co, const pg_inst *yield)
{
    pg_frame *f = top(co);
    const pg_inst *loop = f->owner;
    int64_t is_true = 0;
    if (pg_rt_int(m, yield, 0, "a condition", &is_true) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    const pg_region *test = loop->regions[0], *body = loop->regions[1];
    if (!pg_rt_assign(m, loop->n_out, is_true ? body->args : loop->out, test->args)) {
        return pg_rt_oom(m);
    }
    if (is_true) {
        enter(f, body);
    } else {
        co->frames.n--;
    }
    return PG_RUN_NEXT;
}

/* The end of a body: back to the test. */
static pg_run leave_body(pg_machine *m, pg_co *co, uint32_t n, const pg_val *vals)
{
    const pg_region *test = top(co)->owner->regions[0];
    if (!pg_rt_assign(m, n, test->args, vals)) {
        return pg_rt_oom(m);
    }
    enter(top(co), test);
    return PG_RUN_NEXT;
}

/* The end of a region, handing over n values. */
static pg_run leave(pg_machine *m, pg_co *co, uint32_t n, const pg_val *vals)
{
    pg_frame *f = top(co);
    const pg_inst *owner = f->owner;
    if (owner != NULL && owner->op == PG_OP_WHILE) {
        return leave_body(m, co, n, vals);
    }
    if (owner == NULL || owner->op != PG_OP_FOR) {
        co->frames.n--;
        return owner == NULL || pg_rt_assign(m, n, owner->out, vals) ? PG_RUN_NEXT : pg_rt_oom(m);
    }
    const pg_val *args = f->region->args;
    bool is_last = (uint64_t)f->step >= (uint64_t)f->to - (uint64_t)f->i;
    f->i += is_last ? 0 : f->step;
    if (!pg_rt_assign(m, n, is_last ? owner->out : args + 1, vals)) {
        return pg_rt_oom(m);
    }
    if (is_last) {
        co->frames.n--;
    } else {
        pg_rt_set(pg_rt_slot(m, args[0]), (uint64_t)f->i);
        f->next = f->region->first;
    }
    return PG_RUN_NEXT;
}

RUN(YIELD)
{
    bool is_test = pg_region_is_test(i->parent);
    return is_test ? leave_test(m, co, i) : leave(m, co, i->n_in, i->in);
}

pg_run pg_rt_region_end(pg_machine *m, pg_co *co)
{
    return leave(m, co, 0, NULL);
}

RUN(RETURN)
{
    (void)m;
    (void)i;
    co->frames.n = 0;
    return PG_RUN_NEXT;
}

RUN(GRID)
{
    for (uint32_t d = 0; d < 3; d++) {
        int64_t x = 1;
        if (d < i->n_in && pg_rt_int(m, i, d, "the grid", &x) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
        if (x < 0 || x > INT32_MAX) {
            return pg_rt_fault(m, PG_D_RUN_GRID, i, (long long)x);
        }
        m->grid[d] = (uint32_t)x;
    }
    co->frames.n = 0;
    return PG_RUN_NEXT;
}

/* The elected lane's code runs in line: whoever comes after it in the partition's text comes after
 * it in time. */
RUN(ELECT)
{
    return pg_rt_push(m, co, i->regions[0], i) ? PG_RUN_NEXT : pg_rt_oom(m);
}

/* Starts this partition and its neighbours; the caller joins them all. */
RUN(PARTITION)
{
    if (co->part != NULL) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "a partition within a partition");
    }
    m->n_cos = 1;
    const pg_inst *at = i;
    while (at != NULL && at->op == PG_OP_PARTITION) {
        if (m->n_cos == PG_MAX_COS) {
            return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "more than 16 partitions");
        }
        pg_co *made = &m->cos[m->n_cos];
        uint32_t cap = made->frames.cap;
        pg_frame *frames = made->frames.at;
        memset(made, 0, sizeof *made);
        made->frames.at = frames;
        made->frames.cap = cap;
        made->part = at;
        made->known = co->known;
        pg_rt_next_epoch(m, made);
        if (!pg_rt_push(m, made, at->regions[0], at)) {
            return pg_rt_oom(m);
        }
        m->n_cos++;
        at = at->next;
    }
    top(co)->next = at;
    co->state = PG_CO_JOIN;
    m->n_synced = 0;
    return PG_RUN_NEXT;
}
