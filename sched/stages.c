/* stages.c: the stage scheduler. Times are pairs (step, position); a dependence says that what
 * happens at one time must come before another.
 *
 * I1  Two accesses of one resource in one iteration, at least one of them a write, keep their
 *     program order.
 * I2  The first write of iteration i + slots comes after every access of iteration i.
 * I3  Between the two ends of a dependence on a shared resource stands a barrier, and between an
 *     asynchronous write and its barrier the wait for its group. */
#include "sched/stages.h"

const char *pg_stages_error_text(pg_stages_error e)
{
    switch (e) {
    case PG_STAGES_OK: return "no error";
    case PG_STAGES_MANY: return "too many stages or resources";
    case PG_STAGES_ORDER: return "a stage would run before one that it depends on";
    case PG_STAGES_ASYNC: return "asynchronous stages have different delays";
    case PG_STAGES_SLOTS: return "a resource has fewer copies than are alive at one time";
    case PG_STAGES_CARRIED: return "a carried value is not ready in the next iteration";
    }
    return "";
}

uint32_t pg_stages_interval(pg_stages *s, uint32_t interval, int64_t trip)
{
    interval = interval == 0 ? 1 : interval;
    while (trip >= 0 && interval < s->n && trip < (int64_t)((s->n + interval - 1) / interval) - 1) {
        interval++;
    }
    for (uint32_t i = 0; i < s->n && i < PG_STAGES_MAX; i++) {
        s->at[i].delay = i / interval;
        s->at[i].slot = i % interval;
    }
    return interval;
}

/* One dependence: an access at (0, from) and one at (steps, to). */
typedef struct dep {
    uint32_t from, to; /* positions */
    int32_t steps;
    bool is_async; /* `from` is an asynchronous write that `to` reads */
} dep;

#define MAX_DEPS (2 * PG_STAGES_MAX_RES * PG_STAGES_MAX * PG_STAGES_MAX)

typedef struct maker {
    const pg_stages *s;
    pg_stages_plan *plan;
    uint32_t position[PG_STAGES_MAX]; /* of each stage */
    uint32_t n_deps;
    dep deps[MAX_DEPS];
} maker;

static bool comes_first(const pg_stages *s, uint32_t a, uint32_t b)
{
    const pg_stage *x = &s->at[a], *y = &s->at[b];
    if (x->slot != y->slot) {
        return x->slot < y->slot;
    }
    return x->delay != y->delay ? x->delay > y->delay : a < b;
}

static void order_stages(maker *m)
{
    pg_stages_plan *p = m->plan;
    p->n = m->s->n;
    for (uint32_t i = 0; i < p->n; i++) { /* insertion sort; the order is total */
        uint32_t at = i;
        for (; at > 0 && comes_first(m->s, i, p->order[at - 1]); at--) {
            p->order[at] = p->order[at - 1];
        }
        p->order[at] = i;
        p->depth = m->s->at[i].delay > p->depth ? m->s->at[i].delay : p->depth;
    }
    p->commit = p->n;
    for (uint32_t i = 0; i < p->n; i++) {
        m->position[p->order[i]] = i;
        p->commit = m->s->at[p->order[i]].is_async ? i : p->commit;
    }
}

/* Steps from stage a of iteration i to stage b of iteration i + later; earlier in one step if b's
 * position is the greater one. */
static bool is_before(const maker *m, uint32_t a, uint32_t b, uint32_t later)
{
    const int64_t steps = (int64_t)m->s->at[b].delay + later - (int64_t)m->s->at[a].delay;
    return steps > 0 || (steps == 0 && m->position[a] < m->position[b]);
}

static bool touches(const pg_stage *s, uint32_t r)
{
    return ((s->reads | s->writes) >> r & 1) != 0;
}
static bool writes(const pg_stage *s, uint32_t r)
{
    return (s->writes >> r & 1) != 0;
}

/* The first stage that touches a resource; n if none does. */
static uint32_t first_of(const pg_stages *s, uint32_t r)
{
    uint32_t i = 0;
    while (i < s->n && !touches(&s->at[i], r)) {
        i++;
    }
    return i;
}

static pg_stages_error check_order(const maker *m)
{
    const pg_stages *s = m->s;
    for (uint32_t r = 0; r < s->n_res; r++) {
        for (uint32_t a = 0; a < s->n; a++) {
            for (uint32_t b = a + 1; b < s->n; b++) {
                const bool is_dep = touches(&s->at[a], r) && touches(&s->at[b], r) &&
                                    (writes(&s->at[a], r) || writes(&s->at[b], r));
                if (is_dep && !is_before(m, a, b, 0)) {
                    return PG_STAGES_ORDER;
                }
            }
        }
    }
    uint32_t delay = 0, n_async = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->at[i].is_async) {
            if (n_async++ != 0 && s->at[i].delay != delay) {
                return PG_STAGES_ASYNC;
            }
            delay = s->at[i].delay;
        }
    }
    return PG_STAGES_OK;
}

/* I2. A resource that is read before it is written carries its value on: one copy only. */
static pg_stages_error count_slots(maker *m)
{
    const pg_stages *s = m->s;
    for (uint32_t r = 0; r < s->n_res; r++) {
        const uint32_t first = first_of(s, r);
        uint32_t slots = 1;
        for (uint32_t a = 0; a < s->n && first < s->n; a++) {
            while (touches(&s->at[a], r) && !is_before(m, a, first, slots) && a != first) {
                slots++;
            }
        }
        const bool is_carried = first < s->n && (s->at[first].reads >> r & 1) != 0;
        bool has_write = false;
        for (uint32_t a = 0; a < s->n; a++) {
            has_write = has_write || writes(&s->at[a], r);
        }
        if (is_carried && has_write && slots > 1) {
            return PG_STAGES_CARRIED;
        }
        if (s->res[r].slots != 0 && s->res[r].slots < slots) {
            return PG_STAGES_SLOTS;
        }
        m->plan->slots[r] = s->res[r].slots != 0 ? s->res[r].slots : slots;
    }
    return PG_STAGES_OK;
}

static void add_dep(maker *m, uint32_t a, uint32_t b, uint32_t later, bool is_async)
{
    const int64_t steps = (int64_t)m->s->at[b].delay + later - (int64_t)m->s->at[a].delay;
    m->deps[m->n_deps++] = (dep){m->position[a], m->position[b], (int32_t)steps, is_async};
}

static void find_deps(maker *m)
{
    const pg_stages *s = m->s;
    m->n_deps = 0;
    for (uint32_t r = 0; r < s->n_res; r++) {
        const uint32_t first = first_of(s, r);
        for (uint32_t a = 0; s->res[r].is_shared && a < s->n && first < s->n; a++) {
            if (!touches(&s->at[a], r)) {
                continue;
            }
            for (uint32_t b = a + 1; b < s->n; b++) {
                if (touches(&s->at[b], r) && (writes(&s->at[a], r) || writes(&s->at[b], r))) {
                    add_dep(m, a, b, 0, writes(&s->at[a], r) && s->at[a].is_async);
                }
            }
            if (writes(&s->at[a], r) || writes(&s->at[first], r)) {
                add_dep(m, a, first, m->plan->slots[r], false);
            }
        }
    }
}

/* The last barrier of `set` at or before position `to` of the dependence's last step, and the step
 * it is in (0: that of `from`); false if there is none behind `from`. */
static bool last_barrier(const maker *m, const dep *d, uint32_t set, uint32_t *at, int32_t *step)
{
    for (int32_t t = d->steps; t >= 0 && t >= d->steps - 1; t--) {
        uint32_t p = t == d->steps ? d->to + 1 : m->plan->n;
        while (p-- > 0) {
            if ((set >> p & 1) != 0 && (t > 0 || p > d->from)) {
                *at = p;
                *step = t;
                return true;
            }
        }
    }
    return false;
}

/* Groups that may run behind barrier `at`: those committed since the one that is waited for. */
static int32_t allowed_in_flight(const maker *m, uint32_t at, int32_t step)
{
    return step - (m->plan->commit < at ? 0 : 1);
}

/* What a set of barriers costs; less is better, in this order. */
typedef struct cost {
    uint32_t n_barriers;
    int32_t in_flight; /* negative: groups that may run */
    int32_t distance;  /* positions between barriers and what waits for them */
} cost;

static bool is_less(cost a, cost b)
{
    if (a.n_barriers != b.n_barriers) {
        return a.n_barriers < b.n_barriers;
    }
    return a.in_flight != b.in_flight ? a.in_flight < b.in_flight : a.distance < b.distance;
}

/* False if some dependence is not covered. */
static bool cost_of(const maker *m, uint32_t set, cost *out)
{
    *out = (cost){0, 0, 0};
    for (uint32_t rest = set; rest != 0; rest &= rest - 1) {
        out->n_barriers++;
    }
    for (uint32_t i = 0; i < m->n_deps; i++) {
        const dep *d = &m->deps[i];
        uint32_t at = 0;
        int32_t step = 0;
        if (!last_barrier(m, d, set, &at, &step)) {
            return false;
        }
        const int32_t in_flight = allowed_in_flight(m, at, step);
        if (d->is_async && in_flight < 0) {
            return false;
        }
        out->in_flight -= d->is_async ? in_flight : 0;
        out->distance += (d->steps - step) * (int32_t)m->plan->n + (int32_t)d->to - (int32_t)at;
    }
    return true;
}

static bool find_barriers(const maker *m, uint32_t *out)
{
    cost best = {0};
    bool is_found = false;
    uint32_t tie = 0;
    for (uint32_t set = 0; set < 1u << m->plan->n; set++) {
        cost c;
        if (!cost_of(m, set, &c) || (is_found && is_less(best, c))) {
            continue;
        }
        const bool is_better = !is_found || is_less(c, best);
        if (is_better || tie < m->s->tie) {
            *out = set;
            tie = is_better ? 0 : tie + 1;
        }
        best = c;
        is_found = true;
    }
    return is_found;
}

static void place_waits(maker *m, uint32_t set)
{
    pg_stages_plan *p = m->plan;
    for (uint32_t i = 0; i < p->n; i++) {
        p->barrier[i] = (set >> i & 1) != 0;
        p->n_barriers += p->barrier[i];
    }
    for (uint32_t i = 0; i < m->n_deps; i++) {
        uint32_t at = 0;
        int32_t step = 0;
        if (m->deps[i].is_async && last_barrier(m, &m->deps[i], set, &at, &step)) {
            const uint32_t most = (uint32_t)allowed_in_flight(m, at, step);
            p->in_flight[at] = p->wait[at] && p->in_flight[at] < most ? p->in_flight[at] : most;
            p->wait[at] = true;
        }
    }
}

pg_stages_error pg_stages_plan_make(const pg_stages *s, pg_stages_plan *out)
{
    *out = (pg_stages_plan){0};
    if (s->n == 0 || s->n > PG_STAGES_MAX || s->n_res > PG_STAGES_MAX_RES) {
        return PG_STAGES_MANY;
    }
    maker m = {.s = s, .plan = out};
    order_stages(&m);
    pg_stages_error e = check_order(&m);
    e = e == PG_STAGES_OK ? count_slots(&m) : e;
    if (e != PG_STAGES_OK) {
        return e;
    }
    uint32_t set = 0;
    find_deps(&m);
    if (!find_barriers(&m, &set)) {
        return PG_STAGES_ORDER;
    }
    place_waits(&m, set);
    return PG_STAGES_OK;
}
