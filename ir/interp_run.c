/* interp_run.c: the scheduler of one CTA: coroutines in slices of random length, events when due,
 * deadlocks. */
#include "ir/interp_int.h"

static const pg_run_fn run_fns[PG_OP_COUNT] = {
    NULL,
#define OP(id, ...) pg_run_##id,
#include "ir/ops.def"
};

/* Runs up to n_steps instructions; stops early at a wait, at the end, or where the machine wants
 * others to run. */
static pg_run slice(pg_machine *m, pg_co *co, uint64_t n_steps)
{
    pg_run r = PG_RUN_NEXT;
    m->wants_switch = false;
    for (uint64_t s = 0; s < n_steps && co->state == PG_CO_READY && !m->wants_switch; s++) {
        if (co->frames.n == 0) {
            co->state = PG_CO_DONE;
            m->version++;
            break;
        }
        pg_frame *f = &co->frames.at[co->frames.n - 1];
        const pg_inst *i = f->next;
        if (i == NULL) {
            r = pg_rt_region_end(m, co);
        } else {
            f->next = i->next;
            r = run_fns[i->op](m, co, i);
            if (++m->steps > m->max_steps && r != PG_RUN_FAULT) {
                return pg_rt_fault(m, PG_D_RUN_STEP_LIMIT, i, (unsigned long long)m->max_steps);
            }
        }
        if (r == PG_RUN_BLOCK) {
            co->frames.at[co->frames.n - 1].next = i;
            co->state = PG_CO_BLOCKED;
            co->blocked_at = i;
            co->blocked_version = m->version;
        }
        if (r != PG_RUN_FAULT && m->steps >= m->next_due) {
            r = pg_rt_due(m);
        }
        if (r == PG_RUN_FAULT) {
            return r;
        }
    }
    return PG_RUN_NEXT;
}

static bool can_run(const pg_machine *m, const pg_co *co)
{
    return co->state == PG_CO_READY ||
           (co->state == PG_CO_BLOCKED && co->blocked_version != m->version);
}

/* All partitions of the nest are done: the kernel's own code goes on. */
static void join(pg_machine *m)
{
    pg_co *own = &m->cos[0];
    if (own->state != PG_CO_JOIN) {
        return;
    }
    uint64_t known = own->known;
    for (uint32_t k = 1; k < m->n_cos; k++) {
        if (m->cos[k].state != PG_CO_DONE) {
            return;
        }
        known = m->cos[k].known > known ? m->cos[k].known : known;
    }
    own->known = known;
    pg_rt_next_epoch(m, own);
    own->state = PG_CO_READY;
    m->n_cos = 1;
}

static void note_waiter(pg_machine *m, const pg_co *co)
{
    const pg_inst *i = co->blocked_at;
    pg_strbuf text;
    pg_strbuf_init(&text, m->arena.alloc);
    const char *who = pg_rt_co_name(m, co);
    if (i->op == PG_OP_BAR_WAIT) {
        uint32_t obj = 0;
        pg_rt_bar *bar = NULL;
        if (pg_rt_bar_of(m, i, 0, &obj, &bar) != PG_RUN_NEXT) {
            return;
        }
        uint64_t parity = pg_rt_slot(m, i->in[2])->at[0] & 1;
        pg_putf(&text,
                "%s waits for %s, phase %u (%llu phases are complete): %u of %u arrivals and %lld "
                "bytes are missing",
                who, pg_rt_bar_name(m, obj, bar), (unsigned)parity,
                (unsigned long long)bar->b.phase, bar->b.pending, bar->b.expected,
                (long long)bar->b.tx);
    } else {
        pg_putf(&text, "%s waits at %s; %u of %u partitions are there", who,
                pg_op_infos[i->op].text, m->n_synced, m->n_cos - 1);
    }
    pg_str s = pg_arena_str(&m->arena, pg_strbuf_str(&text));
    pg_strbuf_fini(&text);
    (void)pg_diag_add(m->diags, PG_D_NOTE, i->loc, s.ptr != NULL ? s.ptr : "?");
}

static pg_run deadlock(pg_machine *m)
{
    uint32_t n = 0;
    const pg_co *first = NULL;
    for (uint32_t k = 0; k < m->n_cos; k++) {
        if (m->cos[k].state == PG_CO_BLOCKED) {
            first = first == NULL ? &m->cos[k] : first;
            n++;
        }
    }
    if (first == NULL) {
        (void)pg_diag_internal(m->diags, "interp", 0, "nobody can run and nobody waits");
        return PG_RUN_FAULT;
    }
    (void)pg_rt_fault(m, PG_D_RUN_DEADLOCK, first->blocked_at, n);
    for (uint32_t k = 0; k < m->n_cos; k++) {
        if (m->cos[k].state == PG_CO_BLOCKED) {
            note_waiter(m, &m->cos[k]);
        }
    }
    return PG_RUN_FAULT;
}

/* Nobody can run: the one thing that may still come is a copy. */
static pg_run unblock(pg_machine *m)
{
    bool came = false;
    pg_run r = pg_rt_force_get(m, &came);
    return r != PG_RUN_NEXT || came ? r : deadlock(m);
}

pg_run pg_rt_program(pg_machine *m, const pg_region *body)
{
    static const uint16_t lengths[4] = {2, 8, 64, 512};
    pg_co *own = &m->cos[0];
    own->frames.n = 0;
    own->state = PG_CO_READY;
    own->part = NULL;
    own->known = 0;
    own->n_groups = 0;
    own->n_copy_groups = 0;
    pg_rt_next_epoch(m, own);
    m->n_cos = 1;
    m->n_bufs = m->n_bars = 0;
    m->sequence = 0;
    m->next_due = UINT64_MAX;
    if (!pg_rt_push(m, own, body, NULL)) {
        return pg_rt_oom(m);
    }
    while (own->state != PG_CO_DONE) {
        uint32_t n = 0, ready[PG_MAX_COS];
        join(m);
        for (uint32_t k = 0; k < m->n_cos; k++) {
            if (can_run(m, &m->cos[k])) {
                ready[n++] = k;
            }
        }
        if (n == 0) {
            if (unblock(m) != PG_RUN_NEXT) {
                return PG_RUN_FAULT;
            }
            continue;
        }
        pg_co *co = &m->cos[ready[n == 1 ? 0 : pg_rt_random(m, n)]];
        uint64_t length = 1 + pg_rt_random(m, lengths[pg_rt_random(m, 4)]);
        co->state = PG_CO_READY;
        if (slice(m, co, length) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
    }
    return pg_rt_finish(m);
}
