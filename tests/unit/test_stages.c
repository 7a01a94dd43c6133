/* The stage scheduler against brute force: every access of every iteration is put on a time line,
 * and what must come before what is looked up there, for stages 2 to 5 and trip counts 0 to 9. */
#include <criterion/criterion.h>
#include <string.h>

#include "sched/stages.h"

#define MAX_EVENTS 256

typedef enum event_kind { RUN, BARRIER, WAIT, COMMIT } event_kind;
typedef struct event {
    event_kind kind;
    uint32_t stage, iteration; /* RUN */
    uint32_t in_flight;        /* WAIT */
} event;

typedef struct line { /* of time */
    uint32_t n;
    event at[MAX_EVENTS];
} line;

static void put(line *l, event e)
{
    cr_assert_lt(l->n, MAX_EVENTS);
    l->at[l->n++] = e;
}

/* The steps 0 .. trip + depth - 1 of a loop; stages whose iteration does not exist are left out. */
static void unroll(const pg_stages *s, const pg_stages_plan *p, uint32_t trip, line *out)
{
    out->n = 0;
    for (uint32_t step = 0; trip > 0 && step < trip + p->depth; step++) {
        for (uint32_t i = 0; i < p->n; i++) {
            const uint32_t stage = p->order[i], delay = s->at[stage].delay;
            if (p->wait[i]) {
                put(out, (event){WAIT, 0, 0, p->in_flight[i]});
            }
            if (p->barrier[i]) {
                put(out, (event){BARRIER, 0, 0, 0});
            }
            if (step >= delay && step - delay < trip) {
                put(out, (event){RUN, stage, step - delay, 0});
            }
            if (p->commit == i) {
                put(out, (event){COMMIT, 0, 0, 0});
            }
        }
    }
}

static uint32_t time_of(const line *l, uint32_t stage, uint32_t iteration)
{
    for (uint32_t t = 0; t < l->n; t++) {
        if (l->at[t].kind == RUN && l->at[t].stage == stage && l->at[t].iteration == iteration) {
            return t;
        }
    }
    cr_assert_fail("stage %u of iteration %u does not run", stage, iteration);
    return 0;
}

/* Is the group of the asynchronous stage at `from` done at a wait with a barrier behind it, both
 * before `to`? */
static bool is_landed(const line *l, uint32_t from, uint32_t to)
{
    uint32_t n_later = 0;
    bool is_committed = false, is_done = false;
    for (uint32_t t = from; t < to; t++) {
        n_later += l->at[t].kind == COMMIT && is_committed;
        is_committed = is_committed || l->at[t].kind == COMMIT;
        is_done =
            is_done || (l->at[t].kind == WAIT && is_committed && l->at[t].in_flight <= n_later);
        if (l->at[t].kind == BARRIER && is_done) {
            return true;
        }
    }
    return false;
}

static bool has_barrier(const line *l, uint32_t from, uint32_t to)
{
    for (uint32_t t = from; t < to; t++) {
        if (l->at[t].kind == BARRIER) {
            return true;
        }
    }
    return false;
}

typedef struct access {
    uint32_t stage, iteration;
} access;

static bool pair_is_right(const pg_stages *s, const line *l, uint32_t r, access a, access b)
{
    const pg_stage *x = &s->at[a.stage], *y = &s->at[b.stage];
    const uint32_t from = time_of(l, a.stage, a.iteration), to = time_of(l, b.stage, b.iteration);
    const bool is_raw = (x->writes >> r & 1) != 0 && (y->reads >> r & 1) != 0;
    if (from >= to) {
        return false;
    }
    if (!s->res[r].is_shared) {
        return true;
    }
    return x->is_async && is_raw ? is_landed(l, from, to) : has_barrier(l, from, to);
}

/* Every two accesses of one copy of a resource, one of them a write, in program order. */
static bool is_right(const pg_stages *s, const pg_stages_plan *p, uint32_t trip)
{
    line l;
    unroll(s, p, trip, &l);
    for (uint32_t r = 0; r < s->n_res; r++) {
        for (uint32_t i = 0; i < trip * s->n; i++) {
            for (uint32_t j = i + 1; j < trip * s->n; j++) {
                const access a = {i % s->n, i / s->n}, b = {j % s->n, j / s->n};
                const pg_stage *x = &s->at[a.stage], *y = &s->at[b.stage];
                const bool is_pair = ((x->reads | x->writes) >> r & 1) != 0 &&
                                     ((y->reads | y->writes) >> r & 1) != 0 &&
                                     ((x->writes | y->writes) >> r & 1) != 0;
                const bool is_same = a.iteration % p->slots[r] == b.iteration % p->slots[r];
                if (is_pair && is_same && !pair_is_right(s, &l, r, a, b)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Right for all trip counts; and wrong without any one of its barriers, or with one more group in
 * flight. */
static void check(const pg_stages *s, const pg_stages_plan *p, bool is_least)
{
    for (uint32_t trip = 0; trip <= 9; trip++) {
        cr_expect(is_right(s, p, trip), "trip %u", trip);
    }
    for (uint32_t i = 0; i < p->n; i++) {
        pg_stages_plan q = *p;
        q.barrier[i] = false;
        cr_expect(!p->barrier[i] || !is_right(s, &q, 9), "barrier %u is not needed", i);
        q = *p;
        q.in_flight[i]++;
        cr_expect(!p->wait[i] || !is_right(s, &q, 9), "wait %u is too strict", i);
    }
    for (uint32_t r = 0; is_least && r < s->n_res; r++) {
        pg_stages_plan q = *p;
        q.slots[r]--;
        cr_expect(q.slots[r] == 0 || !is_right(s, &q, 9), "resource %u has a copy too many", r);
    }
}

enum { SMEM, FRAG, ACC, STAGING };

/* Preset P-A: load, store to shared memory, read it, multiply. */
static pg_stages single_buffer(void)
{
    pg_stages s = {.n = 4, .n_res = 4};
    s.at[0] = (pg_stage){.writes = 1 << STAGING};
    s.at[1] = (pg_stage){.reads = 1 << STAGING, .writes = 1 << SMEM, .slot = 1};
    s.at[2] = (pg_stage){.reads = 1 << SMEM, .writes = 1 << FRAG, .slot = 2};
    s.at[3] = (pg_stage){.reads = 1 << FRAG | 1 << ACC, .writes = 1 << ACC, .slot = 3};
    s.res[SMEM].is_shared = true;
    return s;
}

/* Preset P-C: asynchronous copies n - 1 steps ahead. */
static pg_stages multistage(uint32_t n)
{
    pg_stages s = {.n = 3, .n_res = 3};
    s.at[0] = (pg_stage){.writes = 1 << SMEM, .is_async = true};
    s.at[1] = (pg_stage){.reads = 1 << SMEM, .writes = 1 << FRAG, .delay = n - 1};
    s.at[2] = (pg_stage){.reads = 1 << FRAG | 1 << ACC, .writes = 1 << ACC, .delay = n - 1};
    s.res[SMEM] = (pg_stage_res){.is_shared = true, .slots = n};
    return s;
}

Test(stages, single_buffer_needs_two_barriers)
{
    pg_stages s = single_buffer();
    pg_stages_plan p;
    cr_assert_eq(pg_stages_plan_make(&s, &p), PG_STAGES_OK);
    cr_expect_eq(p.n_barriers, 2);
    cr_expect_eq(p.slots[SMEM], 1);
    cr_expect(p.barrier[1] && p.barrier[2]);
    check(&s, &p, true);
}

Test(stages, multistage_needs_one_barrier_and_waits_for_all_but_n_minus_2)
{
    for (uint32_t n = 2; n <= 5; n++) {
        pg_stages s = multistage(n);
        pg_stages_plan p;
        cr_assert_eq(pg_stages_plan_make(&s, &p), PG_STAGES_OK);
        cr_expect_eq(p.n_barriers, 1);
        cr_expect_eq(p.slots[SMEM], n);
        cr_expect_eq(p.slots[FRAG], 1);
        cr_expect_eq(p.slots[ACC], 1);
        cr_expect(p.barrier[0] && p.wait[0]);
        cr_expect_eq(p.in_flight[0], n - 2);
        cr_expect_eq(p.order[2], 0);
        check(&s, &p, false);
    }
}

Test(stages, the_least_slots)
{
    for (uint32_t n = 2; n <= 5; n++) {
        pg_stages s = multistage(n);
        pg_stages_plan p;
        s.res[SMEM].slots = 0;
        cr_assert_eq(pg_stages_plan_make(&s, &p), PG_STAGES_OK);
        cr_expect_eq(p.slots[SMEM], n - 1);
        cr_expect_eq(p.n_barriers, n == 2 ? 2 : 1); /* one between the read and the next copy */
        check(&s, &p, true);
    }
}

Test(stages, intervals)
{
    /* four stages and every interval: two copies of shared memory at most, none of registers */
    for (uint32_t interval = 1; interval <= 4; interval++) {
        pg_stages s = single_buffer();
        pg_stages_plan p;
        cr_expect_eq(pg_stages_interval(&s, interval, -1), interval);
        cr_assert_eq(pg_stages_plan_make(&s, &p), PG_STAGES_OK, "interval %u", interval);
        cr_expect_eq(p.slots[FRAG], 1);
        cr_expect_eq(p.slots[STAGING], 1);
        cr_expect_leq(p.slots[SMEM], 2);
        cr_expect_eq(p.depth, (4 + interval - 1) / interval - 1);
        check(&s, &p, true);
    }
}

Test(stages, a_short_loop_gets_a_longer_interval)
{
    pg_stages s = single_buffer();
    cr_expect_eq(pg_stages_interval(&s, 1, 16), 1);
    cr_expect_eq(pg_stages_interval(&s, 1, 3), 1);
    cr_expect_eq(pg_stages_interval(&s, 1, 2), 2);
    cr_expect_eq(pg_stages_interval(&s, 1, 1), 2);
    cr_expect_eq(pg_stages_interval(&s, 1, 0), 4);
    cr_expect_eq(pg_stages_interval(&s, 0, -1), 1);
}

Test(stages, what_cannot_be)
{
    pg_stages_plan p;
    pg_stages s = multistage(3);
    s.n = PG_STAGES_MAX + 1;
    cr_expect_eq(pg_stages_plan_make(&s, &p), PG_STAGES_MANY);
    s = multistage(3);
    s.at[0].delay = 5; /* the copy starts after it is read */
    cr_expect_eq(pg_stages_plan_make(&s, &p), PG_STAGES_ORDER);
    s = multistage(3);
    s.res[SMEM].slots = 1;
    cr_expect_eq(pg_stages_plan_make(&s, &p), PG_STAGES_SLOTS);
    s = multistage(3);
    s.at[1].is_async = true;
    cr_expect_eq(pg_stages_plan_make(&s, &p), PG_STAGES_ASYNC);
    s = multistage(3);
    s.at[0].reads = 1 << ACC; /* the copy needs what the product of the last iteration gives */
    cr_expect_eq(pg_stages_plan_make(&s, &p), PG_STAGES_CARRIED);
    for (uint32_t e = PG_STAGES_OK; e <= PG_STAGES_CARRIED; e++) {
        cr_expect_neq(strlen(pg_stages_error_text((pg_stages_error)e)), 0);
    }
}
