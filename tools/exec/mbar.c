/* mbar.c: the state machine of mbarrier objects, its misuse, and who is woken. */
#include "tools/exec/mbar.h"

#include "tools/exec/race.h"

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

/* The layout that hardware was seen to use, and the phase where it keeps bytes. */
uint64_t pe_mbar_state(const pe_mbar *b)
{
    uint64_t most = PE_MBAR_MOST;
    return ((0u - b->expected) & most) << 1 | (uint64_t)(b->phase & 0x1FFFFFu) << 21 |
           ((0u - b->pending) & most) << 43 | (uint64_t)(b->phase & 1u) << 63;
}

static void PG_PRINTF(2, 3) misuse(const pe_mbar_use *u, const char *format, ...)
{
    pg_strbuf text;
    pg_strbuf_init(&text, u->w->cta->worker->alloc);
    va_list args;
    va_start(args, format);
    pg_putv(&text, format, args);
    va_end(args);
    if (text.is_oom) {
        u->w->cta->worker->is_oom = true;
        u->w->cta->is_failed = true;
    } else {
        pe_fault_at(u->w, u->i, PTXEXEC_F_MBARRIER,
                    (pe_place){.lanes = 1u << u->lane,
                               .address = PE_SHARED_WINDOW + (u->b != NULL ? u->b->at : 0),
                               .size = PE_MBAR_SIZE},
                    "%s", text.ptr);
    }
    pg_strbuf_fini(&text);
}

static uint32_t line_of(const pe_mbar_use *u, uint32_t pc)
{
    const ptxexec_module *m = u->w->cta->launch->m;
    return m->srcs.at[m->code.at[pc].src].loc.line;
}

/* ---- the table --------------------------------------------------------------------------------
 */

static pe_mbar *known(const pe_cta *home, uint64_t at)
{
    for (uint32_t k = 0; k < home->n_mbars; k++) {
        if (home->mbars[k].at == at) {
            return &home->mbars[k];
        }
    }
    return NULL;
}

static pe_mbar *new_object(const pe_mbar_use *u, uint32_t at)
{
    pe_cta *home = u->home;
    if (home->n_mbars == home->mbars_cap) {
        uint32_t cap = home->mbars_cap == 0 ? 16 : home->mbars_cap * 2;
        pe_mbar *grown = resize(home->worker->alloc, home->mbars,
                                home->mbars_cap * sizeof *home->mbars, cap * sizeof *home->mbars);
        if (grown == NULL) {
            home->worker->is_oom = true;
            return NULL;
        }
        home->mbars = grown;
        home->mbars_cap = cap;
    }
    pe_mbar *b = &home->mbars[home->n_mbars++];
    *b = (pe_mbar){.at = at};
    b->agent = home->races != NULL ? pe_race_new_agent(home) : 0;
    return b;
}

void pe_mbar_fini(pe_cta *cta)
{
    resize(cta->worker->alloc, cta->mbars, cta->mbars_cap * sizeof *cta->mbars, 0);
}

/* Host bytes of the object; NULL after a fault. */
static uint8_t *bytes_of(const pe_mbar_use *u, uint64_t at, uint8_t **poison)
{
    pe_inst as = *u->i; /* the same place in the text, seen as an access of 8 bytes */
    as.space = PE_SP_CLUSTER;
    as.size = PE_MBAR_SIZE;
    as.n = 1;
    return pe_resolve(u->w, &as, u->lane, at, true, poison);
}

static void put_bytes(const pe_mbar_use *u)
{
    const pe_region *s = &u->home->shared;
    uint64_t state = pe_mbar_state(u->b);
    memcpy(s->data + (u->b->at - s->base), &state, sizeof state);
    memset(s->poison + (u->b->at - s->base), 0, sizeof state);
}

bool pe_mbar_find(pe_mbar_use *u, uint64_t at)
{
    uint8_t *poison = NULL;
    const uint8_t *bytes = bytes_of(u, at, &poison);
    if (bytes == NULL) {
        return false;
    }
    u->b = known(u->home, at);
    if (u->b == NULL) {
        pe_fault_at(u->w, u->i, PTXEXEC_F_MBARRIER,
                    (pe_place){.lanes = 1u << u->lane,
                               .address = PE_SHARED_WINDOW + at,
                               .size = PE_MBAR_SIZE},
                    "there is no mbarrier at shared address 0x%llx: no mbarrier.init ran for it",
                    (unsigned long long)at);
        return false;
    }
    if (!u->b->is_valid) {
        misuse(u, "the mbarrier at shared address 0x%x was invalidated in line %u", u->b->at,
               line_of(u, u->b->init_pc));
        return false;
    }
    uint64_t state = pe_mbar_state(u->b);
    if (memcmp(bytes, &state, sizeof state) != 0 || memchr(poison, 1, sizeof state) != NULL) {
        misuse(u,
               "the mbarrier at shared address 0x%x, initialised in line %u, was overwritten by an "
               "ordinary write",
               u->b->at, line_of(u, u->b->init_pc));
        return false;
    }
    return true;
}

/* ---- phases -----------------------------------------------------------------------------------
 */

static void wake(pe_cta *home, uint32_t at)
{
    for (uint32_t k = 0; k < home->n_warps; k++) {
        pe_warp *w = &home->warps[k];
        uint32_t set = 0;
        pg_foreach_lane(l, w->live)
        {
            set |= w->wait[l] == PE_W_MBAR && w->wait_key[l] == at ? 1u << l : 0;
        }
        if (set != 0) {
            pe_lanes_wake(w, set, false); /* it looks again */
        }
    }
}

static void settle(const pe_mbar_use *u)
{
    pe_mbar *b = u->b;
    u->home->n_events++;
    if (b->pending == 0 && b->tx == 0) {
        b->phase++;
        b->n_over++;
        b->pending = b->expected;
        b->done_at = b->open_at;
        b->open_at = (pe_moment){.at = 0};
        if (u->home->races != NULL) {
            pe_race_mbar_over(u->home, b);
            pe_mbar_postpone(u->home, b);
        }
        put_bytes(u);
        wake(u->home, b->at);
        return;
    }
    put_bytes(u);
}

void pe_mbar_init(pe_mbar_use *u, uint64_t at, uint32_t count)
{
    uint8_t *poison = NULL;
    if (bytes_of(u, at, &poison) == NULL) {
        return;
    }
    u->b = known(u->home, at);
    if (count < 1 || count > PE_MBAR_MOST) {
        misuse(u, "a count of %u arrivals: it is 1 to %u", count, (uint32_t)PE_MBAR_MOST);
        return;
    }
    if (u->b != NULL && u->b->is_valid) {
        misuse(u,
               "the mbarrier at shared address 0x%x was initialised in line %u already: "
               "mbarrier.inval must come before it is used anew",
               u->b->at, line_of(u, u->b->init_pc));
        return;
    }
    u->b = u->b != NULL ? u->b : new_object(u, (uint32_t)at);
    if (u->b == NULL) {
        return;
    }
    u->b->is_valid = true;
    u->b->expected = u->b->pending = count;
    u->b->tx = 0;
    u->b->phase = 0;
    u->b->init_tid = u->w->race_index * PE_LANES + u->lane;
    u->b->is_ready = false;
    u->b->load_over = u->b->seen_over = 0;
    u->b->init_pc = u->b->last_pc = (uint32_t)(u->i - u->w->cta->launch->m->code.at);
    u->home->n_events++;
    put_bytes(u);
}

void pe_mbar_inval(pe_mbar_use *u)
{
    const pe_region *s = &u->home->shared;
    u->b->is_valid = false;
    u->b->init_pc = (uint32_t)(u->i - u->w->cta->launch->m->code.at);
    memset(s->poison + (u->b->at - s->base), 1, PE_MBAR_SIZE);
    wake(u->home, u->b->at); /* who waits there will find it gone */
}

uint64_t pe_mbar_arrive(pe_mbar_use *u, uint32_t n, uint32_t how)
{
    pe_mbar *b = u->b;
    uint64_t before = pe_mbar_state(b);
    if (n < 1 || n > PE_MBAR_MOST) {
        misuse(u, "an arrival that counts %u times: it is 1 to %u", n, (uint32_t)PE_MBAR_MOST);
        return before;
    }
    if (n > b->pending) {
        misuse(u,
               "%u arrival%s at the mbarrier at shared address 0x%x: it expects %u in a phase, and "
               "phase %u waits for %u more and %d bytes; the last arrival was in line %u",
               n, n == 1 ? "" : "s", b->at, b->expected, b->phase, b->pending, b->tx,
               line_of(u, b->last_pc));
        return before;
    }
    if ((how & PE_MBAR_NO_COMPLETE) != 0 && n == b->pending && b->tx == 0) {
        misuse(u,
               "this is the last of %u arrivals that phase %u of the mbarrier at shared address "
               "0x%x waits for: with .noComplete it must not be",
               b->expected, b->phase, b->at);
        return before;
    }
    if (u->w->cta->races != NULL && (how & (PE_MBAR_RELEASE | PE_MBAR_RELAXED)) != 0) {
        pe_race_mbar_arrive(u->w, b, 1u << u->lane, (how & PE_MBAR_RELAXED) != 0);
    }
    if (u->w->cta->trace != NULL) {
        pe_moment now = pe_trace_now(u->w, u->i);
        now.track = u->w->cta == u->home ? now.track : PE_NO_TRACK;
        pe_trace_latest(&b->open_at, now);
    }
    b->pending -= n;
    b->expected -= (how & PE_MBAR_DROP) != 0 ? n : 0;
    b->last_pc = (uint32_t)(u->i - u->w->cta->launch->m->code.at);
    settle(u);
    return before;
}

void pe_mbar_more(pe_mbar_use *u)
{
    if (u->b->pending == PE_MBAR_MOST) {
        misuse(u, "the mbarrier at shared address 0x%x waits for %u arrivals already, the most",
               u->b->at, (uint32_t)PE_MBAR_MOST);
        return;
    }
    u->b->pending++;
    u->home->n_events++;
    put_bytes(u);
}

static bool add_bytes(const pe_mbar_use *u, int64_t n)
{
    int64_t tx = u->b->tx + n;
    if (tx > PE_MBAR_MOST || tx < -PE_MBAR_MOST) {
        misuse(u,
               "%lld bytes are added to %d that phase %u of the mbarrier at shared address 0x%x "
               "waits for: its count goes to %d",
               (long long)n, u->b->tx, u->b->phase, u->b->at, PE_MBAR_MOST);
        return false;
    }
    u->b->tx = (int32_t)tx;
    return true;
}

/* An expectation with an arrival to follow must not end the phase by itself. */
void pe_mbar_expect(pe_mbar_use *u, uint32_t bytes)
{
    if (add_bytes(u, bytes) && u->b->pending == 0) {
        settle(u);
    }
}

void pe_mbar_complete(pe_mbar_use *u, uint32_t bytes)
{
    if (add_bytes(u, -(int64_t)bytes)) {
        settle(u);
    }
}

/* ---- nobody can go on -------------------------------------------------------------------------
 */

bool pe_mbar_time_out(pe_cta *cta)
{
    bool has_any = false;
    for (uint32_t k = 0; k < cta->n_warps; k++) {
        pe_warp *w = &cta->warps[k];
        uint32_t set = 0;
        pg_foreach_lane(l, w->live)
        {
            set |= w->wait[l] == PE_W_MBAR ? 1u << l : 0;
        }
        if (set != 0) {
            pe_met met = {.pred = 0};
            pe_lanes_give(w, set, &met);
            pe_lanes_wake(w, set, true);
            has_any = true;
        }
    }
    return has_any;
}

void pe_mbar_report(pe_warp *w, uint32_t lanes)
{
    uint32_t lane = pe_first(lanes);
    const pe_inst *i = &w->cta->launch->m->code.at[w->lane[lane].pc];
    const pe_mbar *b = known(w->cta, w->wait_key[lane]);
    if (b == NULL) {
        return;
    }
    pe_mbar_use u = {.w = w, .i = i, .lane = lane, .home = w->cta};
    pg_strbuf text;
    pg_strbuf_init(&text, w->cta->worker->alloc);
    pg_putf(&text,
            "lanes %08x wait for the end of phase %u (parity %u) of the mbarrier at shared address "
            "0x%x, initialised in line %u: ",
            lanes, w->wait_val[lane][0], w->wait_val[lane][0] & 1u, b->at, line_of(&u, b->init_pc));
    if (b->phase != w->wait_val[lane][0]) {
        pg_putf(&text, "it is in phase %u, ", b->phase);
    }
    pg_putf(&text, "%u of %u arrivals %s missing", b->pending, b->expected,
            b->pending == 1 ? "is" : "are");
    if (b->tx > 0) {
        pg_putf(&text, " and %d bytes that were expected", b->tx);
    } else if (b->tx < 0) {
        pg_putf(&text, ", and %d bytes came that nobody expected", -b->tx);
    }
    if (b->last_pc != b->init_pc) {
        pg_putf(&text, "; the last arrival was in line %u", line_of(&u, b->last_pc));
    }
    pg_put(&text, "; nothing is under way that would signal it");
    if (text.is_oom) {
        w->cta->worker->is_oom = true;
    } else {
        pe_fault_at(w, i, PTXEXEC_F_DEADLOCK, (pe_place){.lanes = lanes}, "%s", text.ptr);
    }
    pg_strbuf_fini(&text);
}
