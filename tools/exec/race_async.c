/* race_async.c: what the async proxy does to shared memory, as the race detector sees it: bulk
 * copies and wgmma.
 *
 * A write of a bulk copy marks its cells when it is issued, and its cells name the barrier's agent
 * and phase when it signals. A read of a bulk copy is a flight until its thread waited for it: a
 * write to what it may still read is a race whatever came between; then it is a read of who waited.
 * In practice a product of a warp group has one end: after any of its four warps waited, and
 * signalled, its matrices may be overwritten. Known-good kernels make use of that. */
#include "tools/exec/bulk.h"
#include "tools/exec/cluster.h"
#include "tools/exec/race.h"
#include "tools/exec/wgmma.h"

static uint32_t pc_of(const pe_warp *w, const pe_inst *i)
{
    return (uint32_t)(i - w->cta->launch->m->code.at);
}

/* ---- flights ----------------------------------------------------------------------------------
 */

static bool begin_flight(const pe_flight *f)
{
    pe_cta *cta = f->w->cta;
    pe_races *r = cta->races;
    if (!pg_vec_push(&r->arena, &r->flights, *f)) {
        cta->worker->is_oom = true;
        return false;
    }
    pe_race_count_flights(cta, f->lo, f->hi, 1);
    return true;
}

/* False if there was none. */
static bool end_flights(const pe_warp *w, const void *owner)
{
    pe_races *r = w->cta->races;
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->flights.n; k++) {
        pe_flight f = r->flights.at[k];
        if (f.w == w && f.owner == owner) {
            pe_race_count_flights(w->cta, f.lo, f.hi, UINT32_MAX);
        } else {
            r->flights.at[n++] = f;
        }
    }
    bool has_any = n < r->flights.n;
    r->flights.n = n;
    return has_any;
}

static bool is_hit(const pe_flight *f, uint64_t lo, uint64_t hi)
{
    return f->lo < hi && lo < f->hi;
}

bool pe_race_check_flights(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t lo, uint64_t hi)
{
    const pe_races *r = w->cta->races;
    for (uint32_t k = 0; k < r->flights.n; k++) {
        const pe_flight *f = &r->flights.at[k];
        if (f->serial != r->serial && is_hit(f, lo, hi)) {
            pe_mark m = {.cluster = w->cta->cluster->number,
                         .tid = f->w->race_index * PE_LANES + f->lane,
                         .pc = pc_of(w, f->i),
                         .kind = PE_MK_BULK};
            pe_race_report(w, i, lane, PE_SHARED_WINDOW + lo, (uint32_t)(hi - lo), true, &m);
            return false;
        }
    }
    return true;
}

/* ---- wgmma ------------------------------------------------------------------------------------
 */

typedef struct pieces { /* 16 bytes each, of a matrix that a warp reads */
    pe_desc d;
    uint32_t line, n_lines, piece, n_pieces; /* first and end */
} pieces;

/* Of A its own 16 rows, of B all. */
static pieces pieces_of(const pe_wg_op *op, uint32_t warp, bool is_b)
{
    const pe_wgmma *x = op->x;
    bool is_k_major = is_b ? x->is_b_k_major : x->is_a_k_major;
    uint32_t n = is_b ? x->n : 16;
    uint32_t first = is_b ? 0 : warp % PE_WG_WARPS * 16;
    pieces p = {.d = pe_desc_of(op->desc[is_b], is_k_major)};
    p.line = is_k_major ? first : 0;
    p.n_lines = is_k_major ? first + n : x->k;
    p.piece = is_k_major ? 0 : first / 8;
    p.n_pieces = is_k_major ? PE_WG_ROW / 16 : (first + n) / 8;
    return p;
}

static pe_wgroup *group_of(const pe_warp *w)
{
    return &w->cta->wg->group[w->index / PE_WG_WARPS];
}

/* In practice a product has one end for its warp group, by the ISA one for each warp. */
static uint32_t agent_of(const pe_warp *w)
{
    return w->cta->races->is_isa ? w->index % PE_WG_WARPS : 0;
}

bool pe_race_wgmma_join(pe_warp *w, const pe_inst *i, const pe_wg_op *op)
{
    pe_wgroup *g = group_of(w);
    uint32_t self = w->index % PE_WG_WARPS;
    for (uint32_t k = 0; k < PE_WG_WARPS && !g->has_agents; k++) {
        g->agent[k] = pe_race_new_agent(w->cta);
    }
    g->has_agents = true;
    pe_wg_mark mark = {.agent = g->agent[agent_of(w)],
                       .slot = w->index - self + agent_of(w),
                       .time = (uint32_t)g->n_joined[self],
                       .tid = w->race_index * PE_LANES,
                       .pc = pc_of(w, i)};
    w->cta->races->serial++;
    for (uint32_t m = op->x->is_a_reg ? 1 : 0; m < 2; m++) {
        pieces p = pieces_of(op, w->index, m == 1);
        for (uint32_t line = p.line; line < p.n_lines; line++) {
            for (uint32_t k = p.piece; k < p.n_pieces; k++) {
                uint32_t at = pe_desc_piece(&p.d, line, k) + (w->cta->rank << PE_RANK_SHIFT);
                if (!pe_race_cells(w, i, 0, (pe_bytes){at, PE_PIECE}, PE_T_READ | PE_T_ASYNC,
                                   true)) {
                    return false;
                }
                pe_race_mark_product(w, at, &mark);
            }
        }
    }
    return true;
}

void pe_race_wgmma_waited(pe_warp *w, uint32_t time)
{
    pe_race_agent_seen(w, PE_ALL, group_of(w)->agent[agent_of(w)], time);
}

/* ---- bulk copies ------------------------------------------------------------------------------
 */

static pe_bytes source_of(const pe_bulk *b)
{
    return (pe_bytes){b->kind == PE_BULK_SEND ? b->source : b->shared, b->n_shared};
}

static void each_row(const pe_bulk *b, uint8_t kind)
{
    for (uint32_t row = 0; row < b->n_rows && !b->w->cta->is_failed; row++) {
        pe_bulk_span s = pe_bulk_row(b, row);
        if (s.first == s.end) {
            continue;
        }
        if (kind == 0) {
            pe_gshadow_settle(b->w, b->i, b->lane, s.at, s.end - s.first);
        } else {
            pe_gshadow_range(b->w, b->i, b->lane, s.at, s.end - s.first, kind);
        }
    }
}

void pe_race_bulk_issue(pe_bulk *b)
{
    pe_races *r = b->w->cta->races;
    b->serial = ++r->serial;
    (void)pe_gshadow_now(b->w->cta->launch);
    if (b->kind != PE_BULK_LOAD) {
        pe_bytes from = source_of(b);
        pe_flight f = {.w = b->w,
                       .i = b->i,
                       .lane = b->lane,
                       .owner = b,
                       .lo = from.at,
                       .hi = from.at + from.size,
                       .serial = r->serial};
        if (!pe_race_cells(b->w, b->i, b->lane, from, PE_T_READ | PE_T_ASYNC, true) ||
            !begin_flight(&f)) {
            return;
        }
    }
    if (b->kind != PE_BULK_STORE &&
        !pe_race_cells(b->w, b->i, b->lane, (pe_bytes){b->shared, b->n_shared},
                       PE_T_WRITE | PE_T_COPY | PE_T_ASYNC, false)) {
        return;
    }
    if (b->kind != PE_BULK_SEND) {
        each_row(b, PE_T_ASYNC | (b->kind == PE_BULK_LOAD ? PE_T_READ : PE_T_WRITE | PE_T_COPY));
    }
}

void pe_race_bulk_done_reading(pe_bulk *b)
{
    (void)end_flights(b->w, b);
}

/* What the copy did, its thread did. */
void pe_race_bulk_waited(pe_bulk *b, bool is_read)
{
    if (end_flights(b->w, b)) {
        b->w->cta->races->serial++;
        (void)pe_race_cells(b->w, b->i, b->lane, source_of(b), PE_T_READ | PE_T_ASYNC, false);
    }
    if (!is_read && !b->is_waited) {
        (void)pe_gshadow_now(b->w->cta->launch);
        each_row(b, 0);
    }
}
