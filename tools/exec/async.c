/* async.c: when copies read and write.
 *
 * A cp.async reads global memory and writes shared memory at two moments that the seed draws, from
 * "at once" to "when the program waits for it", some lanes apart from the others. Until it wrote,
 * its destination is poison: nobody may count on old or new contents.
 *
 * I1  A copy stays in its warp's list until all its lanes waited or exited with the CTA.
 * I2  read_at <= write_at. */
#include "tools/exec/async.h"

#include "tools/exec/mbar.h"
#include "tools/exec/race.h"

enum {
    MAX_DELAY = 2048, /* steps; longer than a trip of most loops */
    HELD_BACK = 20000 /* steps after which a task happens though others could still go on */
};

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

pe_copy *pe_copy_new(pe_warp *w)
{
    pg_alloc alloc = w->cta->worker->alloc;
    if (w->n_copies == w->copies_cap) {
        uint32_t cap = w->copies_cap == 0 ? 16 : w->copies_cap * 2;
        pe_copy **at = resize(alloc, (void *)w->copies, w->copies_cap * sizeof(pe_copy *),
                              cap * sizeof(pe_copy *));
        if (at == NULL) {
            w->cta->worker->is_oom = true;
            return NULL;
        }
        w->copies = at;
        w->copies_cap = cap;
    }
    if (w->n_copies == w->n_copies_made) {
        pe_copy *c = resize(alloc, NULL, 0, sizeof *c);
        if (c == NULL) {
            w->cta->worker->is_oom = true;
            return NULL;
        }
        w->copies[w->n_copies_made++] = c;
    }
    return w->copies[w->n_copies++];
}

void pe_copy_fini(pe_warp *w)
{
    pg_alloc alloc = w->cta->worker->alloc;
    for (uint32_t k = 0; k < w->n_copies_made; k++) {
        resize(alloc, w->copies[k], sizeof(pe_copy), 0);
    }
    resize(alloc, (void *)w->copies, w->copies_cap * sizeof(pe_copy *), 0);
}

static void read_source(pe_copy *c)
{
    pg_foreach_lane(l, c->lanes & ~c->done)
    {
        uint32_t n = c->n_source[l];
        memset(c->data[l], 0, c->size);
        memset(c->poison[l], 0, c->size);
        if (n > 0) {
            memcpy(c->data[l], c->from[l], n);
            memcpy(c->poison[l], c->from_poison[l], n);
        }
    }
    c->is_read = true;
}

static void write_target(pe_copy *c)
{
    pg_foreach_lane(l, c->lanes & ~c->done)
    {
        memcpy(c->to[l], c->data[l], c->size);
        memcpy(c->to_poison[l], c->poison[l], c->size);
    }
    c->is_written = true;
}

static void do_due(pe_copy *c, uint64_t now)
{
    if (!c->is_read && c->read_at <= now) {
        read_source(c);
    }
    if (!c->is_written && c->write_at <= now) {
        write_target(c);
    }
}

static uint64_t next_of(const pe_copy *c)
{
    return !c->is_read ? c->read_at : !c->is_written ? c->write_at : UINT64_MAX;
}

void pe_copy_issue(pe_warp *w, pe_copy *c)
{
    pe_cta *cta = w->cta;
    uint64_t draw = pe_random(&cta->rng);
    uint64_t now = cta->n_steps;
    c->read_at = now;
    c->write_at = UINT64_MAX;
    c->is_read = c->is_written = false;
    c->done = 0;
    switch (draw >> 61) {
    case 0:
    case 1: c->write_at = now; break;
    case 2: break;
    case 3:
    case 4: c->read_at = UINT64_MAX; break;
    default:
        c->read_at = now + (draw & (MAX_DELAY - 1));
        c->write_at = c->read_at + (draw >> 16 & (MAX_DELAY - 1));
        break;
    }
    if (cta->trace != NULL) {
        pe_moment moment = pe_trace_now(w, c->i);
        c->end =
            pe_trace_copy(cta, &moment, (uint64_t)pe_count(c->lanes) * c->size, "cp.async", NULL);
    }
    pg_foreach_lane(l, c->lanes)
    {
        memset(c->to_poison[l], 1, c->size);
    }
    do_due(c, now);
    uint64_t next = next_of(c);
    cta->next_due = next < cta->next_due ? next : cta->next_due;
}

/* Some lanes of a copy are complete; for a barrier they stay in the list, since their thread may
 * still wait for them itself. */
static void finish(pe_warp *w, pe_copy *c, uint32_t lanes, pe_mbar *b)
{
    uint32_t rest = c->lanes & ~lanes;
    c->lanes &= lanes;
    if (!c->is_read) {
        read_source(c);
        c->is_read = (rest & ~c->done) == 0;
    }
    if (!c->is_written) {
        write_target(c);
        c->is_written = (rest & ~c->done) == 0;
    }
    if (w->cta->races != NULL) {
        pe_race_settle(w, c, b, false);
    }
    pg_foreach_lane(l, b != NULL ? lanes & ~c->done : 0)
    {
        c->done_agent[l] = (uint16_t)b->agent;
        c->done_phase[l] = b->n_over + 1;
    }
    c->done |= b != NULL ? lanes : 0;
    c->lanes = b != NULL ? rest | lanes : rest;
}

void pe_copy_wait(pe_warp *w, uint32_t mask, const uint32_t first_open[PE_LANES])
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < w->n_copies; k++) {
        pe_copy *c = w->copies[k];
        uint32_t lanes = 0;
        pg_foreach_lane(l, c->lanes & mask)
        {
            lanes |= c->group < first_open[l] ? 1u << l : 0;
        }
        if (lanes != 0) {
            if (w->cta->trace != NULL) { /* the instruction that runs is the wait */
                pe_trace_reach(w, &w->cta->launch->m->code.at[w->pc - 1], &c->end);
            }
            finish(w, c, lanes, NULL);
        }
        if (c->lanes != 0) { /* keep, in order */
            w->copies[k] = w->copies[n];
            w->copies[n++] = c;
        }
    }
    w->n_copies = n;
}

/* The copies of the lane so far belong to the arrival that will come, unless they belong to another
 * one before: who waits for that phase may touch what they wrote. */
void pe_copy_claim(pe_warp *w, uint32_t lane, uint32_t order, pe_mbar *b, bool is_postponed)
{
    for (uint32_t k = 0; w->cta->races != NULL && k < w->n_copies; k++) {
        pe_copy *c = w->copies[k];
        uint32_t lanes = c->lanes;
        c->lanes &= c->order < order ? 1u << lane : 0;
        pe_race_settle(w, c, b, is_postponed);
        c->lanes = lanes;
    }
}

void pe_copy_arrive(pe_warp *w, uint32_t lane, uint32_t order, pe_mbar *b)
{
    for (uint32_t k = 0; k < w->n_copies; k++) {
        pe_copy *c = w->copies[k];
        if ((c->lanes >> lane & 1u) != 0 && c->order < order) {
            finish(w, c, 1u << lane, b);
        }
    }
}

/* ---- tasks ------------------------------------------------------------------------------------
 */

static void run_task(pe_cta *cta, uint32_t k)
{
    pe_task t = cta->tasks[k];
    cta->n_tasks--;
    memmove(&cta->tasks[k], &cta->tasks[k + 1], (cta->n_tasks - k) * sizeof t);
    cta->n_events++;
    t.run(&t);
}

void pe_task_at(pe_cta *cta, const pe_task *task, uint64_t due)
{
    pe_task t = *task;
    t.due = due;
    if (cta->n_tasks == cta->tasks_cap) {
        uint32_t cap = cta->tasks_cap == 0 ? 64 : cta->tasks_cap * 2;
        pe_task *grown =
            resize(cta->worker->alloc, cta->tasks, cta->tasks_cap * sizeof t, cap * sizeof t);
        if (grown == NULL) {
            cta->worker->is_oom = true;
            return;
        }
        cta->tasks = grown;
        cta->tasks_cap = cap;
    }
    cta->tasks[cta->n_tasks++] = t;
    cta->next_due = due < cta->next_due ? due : cta->next_due;
}

void pe_task_add(pe_cta *cta, const pe_task *task)
{
    pe_task t = *task;
    uint64_t draw = pe_random(&cta->rng);
    if (draw >> 62 == 0) {
        t.run(&t);
        return;
    }
    uint64_t delay = draw >> 62 == 1 ? HELD_BACK : draw & (MAX_DELAY - 1);
    pe_task_at(cta, &t, cta->n_steps + delay);
}

void pe_tasks_drop(pe_cta *cta, const void *data)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < cta->n_tasks; k++) {
        if (cta->tasks[k].data != data) {
            cta->tasks[n++] = cta->tasks[k];
        }
    }
    cta->n_tasks = n;
}

void pe_tasks_fini(pe_cta *cta)
{
    resize(cta->worker->alloc, cta->tasks, cta->tasks_cap * sizeof *cta->tasks, 0);
}

bool pe_async_force(pe_cta *cta)
{
    if (cta->n_tasks == 0) {
        return false;
    }
    run_task(cta, (uint32_t)(pe_random(&cta->rng) >> 33) % cta->n_tasks);
    return true;
}

void pe_async_advance(pe_cta *cta)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t k = 0; k < cta->n_tasks && !cta->is_failed;) {
        if (cta->tasks[k].due <= cta->n_steps) {
            run_task(cta, k);
            k = 0; /* it may have added or dropped others */
            next = UINT64_MAX;
            continue;
        }
        next = cta->tasks[k].due < next ? cta->tasks[k].due : next;
        k++;
    }
    for (uint32_t k = 0; k < cta->n_warps; k++) {
        pe_warp *w = &cta->warps[k];
        for (uint32_t j = 0; j < w->n_copies; j++) {
            do_due(w->copies[j], cta->n_steps);
            uint64_t due = next_of(w->copies[j]);
            next = due < next ? due : next;
        }
    }
    cta->next_due = next;
}
