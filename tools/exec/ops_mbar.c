/* ops_mbar.c: mbarrier.* and cp.async.mbarrier.arrive. */
#include "tools/exec/async.h"
#include "tools/exec/mbar.h"
#include "tools/exec/ops.h"
#include "tools/exec/race.h"

enum {
    POLLS = 64 /* test_waits of a warp in vain, with nothing in between, before its lanes sleep */
};
enum { W_TEST = 1, W_PARITY = 2, W_ACQUIRE = 4 }; /* pe_inst.op of waits */

/* The lane's barrier, in shared memory: of another CTA only for arrivals and bytes. False after a
 * fault. */
static bool place(pe_warp *w, const pe_inst *i, uint32_t lane, pe_mbar_use *u, uint64_t *at)
{
    uint64_t address = pe_src64(w, i->a)[lane] + (uint64_t)i->imm;
    pe_place where = {.lanes = 1u << lane, .address = address, .size = PE_MBAR_SIZE};
    *at = address;
    if (i->space == PG_PTX_SP_NONE && pe_window_of(address, at) != PG_PTX_SP_SHARED) {
        pe_fault_at(w, i, PTXEXEC_F_WRONG_SPACE, where,
                    "the mbarrier at 0x%llx is not in shared memory", (unsigned long long)address);
        return false;
    }
    pe_cta *home = pe_cta_at(w->cta, *at);
    if (home == NULL || (home != w->cta && i->space != PE_SP_CLUSTER)) {
        pe_fault_at(w, i, PTXEXEC_F_WRONG_SPACE, where,
                    "the mbarrier at shared address 0x%llx is not in this CTA's shared memory",
                    (unsigned long long)*at);
        return false;
    }
    *u = (pe_mbar_use){.w = w, .i = i, .lane = lane, .home = home};
    return true;
}

/* False when an operand is poison or the access is a race. */
static bool begin(pe_warp *w, const pe_inst *i, uint32_t mask, uint8_t kind)
{
    if (pe_is_poison(w, i, pe_poison64(w, i->a) & mask, PTXEXEC_F_POISON_ADDRESS, "the address") ||
        (i->b != PE_NONE &&
         pe_is_poison(w, i, (i->size == 8 ? pe_poison64(w, i->b) : pe_poison32(w, i->b)) & mask,
                      PTXEXEC_F_POISON_SYNC, "an operand of the barrier"))) {
        return false;
    }
    if (w->cta->races != NULL) {
        pe_touch t = {.at = pe_src64(w, i->a),
                      .imm = i->imm,
                      .size = PE_MBAR_SIZE,
                      .space = i->space,
                      .kind = (uint8_t)(kind | PE_T_OBJECT)};
        pe_race_touch(w, i, mask, &t);
    }
    return !w->cta->is_failed;
}

/* Something done to each lane's barrier, which is live unless `is_new`. */
typedef void (*lane_fn)(pe_mbar_use *u, uint64_t at);
static void each_lane(pe_warp *w, const pe_inst *i, uint32_t mask, bool is_new, lane_fn fn)
{
    pg_foreach_lane(l, mask)
    {
        pe_mbar_use u;
        uint64_t at = 0;
        if (!place(w, i, l, &u, &at) || (!is_new && !pe_mbar_find(&u, at))) {
            return;
        }
        fn(&u, at);
        if (w->cta->is_failed) {
            return;
        }
    }
}

static void init_one(pe_mbar_use *u, uint64_t at)
{
    pe_mbar_init(u, at, pe_src32(u->w, u->i->b)[u->lane]);
}

static void init(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (begin(w, i, mask, PE_T_WRITE)) {
        each_lane(w, i, mask, true, init_one);
    }
}

static void inval_one(pe_mbar_use *u, uint64_t at)
{
    (void)at;
    pe_mbar_inval(u);
}

static void inval(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (begin(w, i, mask, PE_T_WRITE | PE_T_END)) {
        each_lane(w, i, mask, false, inval_one);
    }
}

enum { A_ARRIVE, A_ARRIVE_TX, A_EXPECT, A_COMPLETE }; /* pe_inst.op; n: PE_MBAR_* */

static void arrive(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint64_t t[PE_LANES] = {0};
    if (!begin(w, i, mask, PE_T_READ | PE_T_WRITE)) {
        return;
    }
    const uint32_t *operand = i->b != PE_NONE ? pe_src32(w, i->b) : NULL;
    pg_foreach_lane(l, mask)
    {
        pe_mbar_use u;
        uint64_t at = 0;
        if (!place(w, i, l, &u, &at) || !pe_mbar_find(&u, at)) {
            return;
        }
        uint32_t x = operand != NULL ? operand[l] : 1;
        switch (i->op) {
        case A_ARRIVE: t[l] = pe_mbar_arrive(&u, x, i->n); break;
        case A_ARRIVE_TX:
            pe_mbar_expect(&u, x);
            t[l] = w->cta->is_failed ? 0 : pe_mbar_arrive(&u, 1, i->n);
            break;
        case A_EXPECT: pe_mbar_expect(&u, x); break;
        default: pe_mbar_complete(&u, x); break;
        }
        if (w->cta->is_failed) {
            return;
        }
    }
    if (i->d != PE_NONE) {
        pe_put64(w, i->d, t, mask, 0);
    }
}

/* The phase that the lane asks for: is it over? False after a fault. */
static bool look(const pe_mbar_use *u, uint32_t *out_phase, bool *out_is_over)
{
    const pe_mbar *b = u->b;
    const pe_inst *i = u->i;
    if ((i->op & W_PARITY) != 0) {
        uint32_t parity = pe_src32(u->w, i->b)[u->lane];
        /* ptxas shifts bit 0 up to the sign, and known-good kernels pass all ones. */
        if (parity > 1 && u->w->cta->launch->o.races == PTXEXEC_RACES_ISA) {
            pe_fault_at(u->w, i, PTXEXEC_F_MBARRIER, (pe_place){.lanes = 1u << u->lane},
                        "a parity is 0 or 1, not %u", parity);
            return false;
        }
        parity &= 1u;
        *out_is_over = (b->phase & 1u) != parity;
        *out_phase = *out_is_over ? b->phase - 1 : b->phase;
        return true;
    }
    uint64_t state = pe_src64(u->w, i->b)[u->lane];
    uint32_t behind = (b->phase - pe_mbar_state_phase(state)) & 0x1FFFFFu;
    if (behind > 1) {
        pe_fault_at(u->w, i, PTXEXEC_F_MBARRIER, (pe_place){.lanes = 1u << u->lane},
                    "the state 0x%llx is of neither the current phase %u of the mbarrier at shared "
                    "address 0x%x nor of the one before it",
                    (unsigned long long)state, b->phase, b->at);
        return false;
    }
    *out_is_over = behind == 1;
    *out_phase = b->phase - behind;
    return true;
}

/* Lanes whose phase is not over: they sleep, or are told so. Waits without .parity of try_wait and
 * test_wait may give false at any time. */
static void in_vain(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    pe_cta *cta = w->cta;
    bool is_told = false;
    if ((i->op & W_TEST) != 0) {
        w->n_polls = w->poll_events == cta->n_events ? w->n_polls + 1 : 0;
        w->poll_events = cta->n_events;
        is_told = w->n_polls < POLLS;
    } else {
        is_told = pe_random(&cta->rng) >> 61 == 0;
    }
    if (is_told) {
        pe_putp(w, i->d2, 0, mask, 0);
    } else {
        pe_lanes_wait(w, i, mask, PE_W_MBAR);
    }
}

static void wait(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t over = 0;
    const pe_mbar *seen = NULL;
    if (!begin(w, i, mask, PE_T_READ)) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        pe_mbar_use u;
        uint64_t at = 0;
        bool is_over = false;
        if (!place(w, i, l, &u, &at) || !pe_mbar_find(&u, at) ||
            !look(&u, &w->wait_val[l][0], &is_over)) {
            return;
        }
        w->wait_key[l] = (uint32_t)at;
        u.b->seen_over = is_over ? u.b->n_over : u.b->seen_over;
        over |= is_over ? 1u << l : 0;
        seen = is_over ? u.b : seen;
    }
    if (seen != NULL && w->cta->trace != NULL) {
        pe_trace_reach(w, i, &seen->done_at);
    }
    if (over != 0) {
        if (w->cta->races != NULL) {
            pe_race_mbar_waited(w, over, (i->op & W_ACQUIRE) == 0);
        }
        pe_putp(w, i->d2, over, over, 0);
    }
    if ((mask & ~over) != 0) {
        in_vain(w, i, mask & ~over);
    }
}

static void pending_count(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint64_t *state = pe_src64(w, i->b);
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = pe_mbar_state_pending(state[l]);
    }
    pe_put32(w, i->d, t, mask, pe_poison64(w, i->b));
}

/* ---- cp.async.mbarrier.arrive -----------------------------------------------------------------
 */

/* All earlier copies of the lane are complete: they are done now at the latest. */
static void late_arrive(pe_task *t)
{
    pe_mbar_use u = {.w = t->w, .i = t->i, .lane = t->lane, .home = t->w->cta};
    if (!pe_mbar_find(&u, t->at)) {
        return;
    }
    pe_copy_arrive(t->w, t->lane, t->order, u.b);
    (void)pe_mbar_arrive(&u, 1, 0);
}

void pe_mbar_postpone(pe_cta *home, pe_mbar *b)
{
    for (uint32_t k = 0; k < home->n_tasks; k++) {
        const pe_task *t = &home->tasks[k];
        if (t->run == late_arrive && t->at == b->at) {
            pe_copy_claim(t->w, t->lane, t->order, b, true);
        }
    }
}

static void copies_arrive_one(pe_mbar_use *u, uint64_t at)
{
    if (u->i->op == 0) {
        pe_mbar_more(u);
    }
    pe_copy_claim(u->w, u->lane, u->w->n_issued, u->b, false);
    pe_task t = {.run = late_arrive, .w = u->w, .i = u->i, .lane = u->lane, .at = at};
    t.order = u->w->n_issued;
    pe_task_add(u->w->cta, &t);
}

static void copies_arrive(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (begin(w, i, mask, PE_T_READ | PE_T_WRITE)) {
        each_lane(w, i, mask, false, copies_arrive_one);
    }
}

void pe_dec_copies_arrive(pe_dec *d)
{
    bool is_known = pe_take(d, "arrive");
    d->i.op = pe_take(d, "noinc") ? 1 : 0;
    d->i.space = pe_take_one(d, "shared shared::cta") != 0 ? PG_PTX_SP_SHARED : PG_PTX_SP_NONE;
    d->i.flags |= PE_I_STRONG;
    pg_ptx_type t = pe_take_type(d);
    pe_in_address(d, 0);
    pe_emit(d, is_known && t == PG_PTX_B64 ? copies_arrive : NULL);
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

static void decode_arrive(pe_dec *d, uint32_t what, uint32_t order)
{
    bool is_arrive = what == 3 || what == 4;
    bool is_tx = is_arrive && pe_take(d, "expect_tx");
    uint32_t operand = is_arrive ? 2 : 1;
    d->i.op = is_tx ? A_ARRIVE_TX : what == 5 ? A_EXPECT : what == 6 ? A_COMPLETE : A_ARRIVE;
    d->i.n = what == 4 ? PE_MBAR_DROP : 0;
    d->i.n |= is_arrive && pe_take(d, "noComplete") ? PE_MBAR_NO_COMPLETE : 0;
    d->i.n |= order != 3 ? PE_MBAR_RELEASE : PE_MBAR_RELAXED;
    d->i.flags |= PE_I_STRONG;
    if (is_arrive) {
        d->i.d = pe_out(d, 0, 64);
    }
    pe_in_address(d, operand - 1);
    if (pe_n_args(d) > operand) {
        d->i.size = 4;
        d->i.b = pe_in(d, operand, 32);
    }
    pe_emit(d, arrive);
}

static void decode_wait(pe_dec *d, uint32_t what, uint32_t order)
{
    bool is_parity = pe_take(d, "parity");
    d->i.op = (uint16_t)((what == 7 ? W_TEST : 0) | (is_parity ? W_PARITY : 0) |
                         (order != 3 ? W_ACQUIRE : 0));
    d->i.flags |= PE_I_STRONG;
    d->i.size = is_parity ? 4 : 8;
    d->i.d2 = pe_out(d, 0, 1);
    pe_in_address(d, 1);
    d->i.b = pe_in(d, 2, is_parity ? 32 : 64);
    if (pe_n_args(d) > 3) { /* how long it may take is the seed's to say */
        (void)pe_in(d, 3, 32);
    }
    pe_emit(d, wait);
}

void pe_dec_mbarrier(pe_dec *d)
{
    uint32_t what = pe_take_one(d, "init inval arrive arrive_drop expect_tx complete_tx test_wait "
                                   "try_wait pending_count");
    uint32_t order = pe_take_one(d, "release acquire relaxed");
    (void)pe_take_one(d, "cta cluster");
    static const uint8_t spaces[] = {PG_PTX_SP_NONE, PG_PTX_SP_SHARED, PG_PTX_SP_SHARED,
                                     PE_SP_CLUSTER};
    d->i.space = spaces[pe_take_one(d, "shared shared::cta shared::cluster")];
    if (pe_take_type(d) != PG_PTX_B64) {
        pe_unsupported(d, "this form");
        return;
    }
    switch (what) {
    case 1:
        pe_in_address(d, 0);
        d->i.size = 4;
        d->i.b = pe_in(d, 1, 32);
        pe_emit(d, init);
        break;
    case 2:
        pe_in_address(d, 0);
        pe_emit(d, inval);
        break;
    case 3:
    case 4:
    case 5:
    case 6: decode_arrive(d, what, order); break;
    case 7:
    case 8: decode_wait(d, what, order); break;
    case 9:
        d->i.d = pe_out(d, 0, 32);
        d->i.b = pe_in(d, 1, 64);
        pe_emit(d, pending_count);
        break;
    default: pe_unsupported(d, "this form"); break;
    }
}
