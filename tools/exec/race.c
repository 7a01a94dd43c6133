/* race.c: who touched which bytes of shared memory, and whether something orders two of them.
 *
 * Shared memory has a cell for every 4 bytes, or for every 2 or 1 in pages of 256 bytes where a
 * smaller access was seen. A cell keeps its last write, and since then one mark per warp of its
 * reads.
 *
 * I1  What a cell forgets happened before what it keeps, or belongs to the same warp; so a report
 *     is never wrong, and what is missed needs lanes of one warp that order themselves one by one.
 *     All lanes of an instruction are held against what was before it.
 *     (In practice mode a store of equal bytes by the same statement takes the place of one that it
 *     is not ordered behind, which stays as a mark: later writes must be ordered behind both.)
 * I2  A copy under way (PENDING) conflicts with everything; once waited for, it is a write by the
 *     thread that waited, at its clock.
 * I3  A page that one access wrote from end to end (is_whole) has that write as one cell, `whole`,
 *     and no reads; its other cells are old until something smaller wants them (expand). */
#include "tools/exec/async.h"
#include "tools/exec/bulk.h"
#include "tools/exec/cluster.h"
#include "tools/exec/desc.h"
#include "tools/exec/race_cells.h"

/* One lane's access. */
typedef struct doing {
    pe_warp *w;
    const pe_inst *i;
    pe_races *r;
    uint32_t lane, tid, pc, clock;
    uint64_t address; /* in shared memory */
    uint32_t size;
    uint8_t kind;
    bool is_strong;
    bool is_look; /* leaves no mark */
    const pe_clock *seen;
} doing;

/* ---- pages ------------------------------------------------------------------------------------
 */

static bool new_cells(pe_races *r, uint32_t shift, page *out)
{
    size_t n = PAGE >> shift;
    cell *cells = PG_NEWS(&r->arena, cell, n);
    read_mark *reads = PG_NEWS(&r->arena, read_mark, n * r->n_warps);
    if (cells == NULL || reads == NULL) {
        return false; /* and the page is as it was */
    }
    out->shift = shift;
    out->cells = cells;
    out->reads = reads;
    return true;
}

void pe_page_expand(page *p)
{
    for (uint32_t k = 0; p->is_whole && k < (uint32_t)PAGE >> p->shift; k++) {
        p->cells[k] = p->whole;
    }
    p->is_whole = false;
}

/* Smaller cells: each gets the history of the one that it was part of. */
static bool split(pe_races *r, page *p, uint32_t shift)
{
    page q = {.is_whole = false};
    if (!new_cells(r, shift, &q)) {
        return false;
    }
    pe_page_expand(p);
    uint32_t per = p->shift - shift;
    for (uint32_t k = 0; k < (uint32_t)PAGE >> shift; k++) {
        q.cells[k] = p->cells[k >> per];
        memcpy(q.reads + (size_t)k * r->n_warps, p->reads + (size_t)(k >> per) * r->n_warps,
               r->n_warps * sizeof *q.reads);
    }
    q.n_flights = p->n_flights;
    q.is_remote = p->is_remote;
    q.products = p->products;
    *p = q;
    return true;
}

static uint32_t page_number(const pe_races *r, uint64_t address)
{
    return (uint32_t)(address >> PE_RANK_SHIFT) * r->pages_of_cta +
           (uint32_t)(address & PE_RANK_MASK) / PAGE;
}

page *pe_page_of(pe_cta *cta, uint64_t address, uint32_t size)
{
    pe_races *r = cta->races;
    if (r->pages == NULL) {
        r->pages = PG_NEWS(&r->arena, page, r->n_pages);
    }
    page *p = r->pages != NULL ? &r->pages[page_number(r, address)] : NULL;
    uint32_t shift = size >= 4 ? 2 : size == 2 ? 1 : 0;
    bool is_ok = p != NULL && (p->cells != NULL || new_cells(r, shift, p)) &&
                 (p->shift <= shift || split(r, p, shift));
    if (!is_ok) {
        cta->worker->is_oom = true;
    }
    return is_ok ? p : NULL;
}

/* ---- one cell ---------------------------------------------------------------------------------
 */

static inline bool knows(const doing *d, uint32_t tid, uint32_t clock)
{
    return tid == d->tid ||
           (tid / PE_LANES == d->w->race_index && clock <= d->r->known[d->w->race_index]) ||
           d->seen->at[tid] >= clock;
}

static inline bool is_write_ordered(const doing *d, const cell *c)
{
    if (c->w_kind == PE_MK_NONE || c->w_serial == d->r->serial) {
        return true; /* of one instruction, which of its lanes wins is not defined, but no race */
    }
    if (c->w_phase != 0 && pe_race_knows_agent(d->r, d->seen, c->w_agent, c->w_phase)) {
        return true;
    }
    if (c->w_kind == PE_MK_PENDING || c->w_kind == PE_MK_BULK) {
        return false;
    }
    return (d->is_strong && c->w_kind == PE_MK_STRONG) || knows(d, c->w_tid, c->w_clock);
}

/* A lane that read and is not ordered before `d`; PE_LANES if there is none. */
static uint32_t unordered_reader(const doing *d, uint32_t warp, const read_mark *m)
{
    if ((d->is_strong && (m->pc & READ_STRONG) != 0) ||
        d->seen->at[d->r->n_threads + warp] >= m->clock) {
        return PE_LANES;
    }
    pg_foreach_lane(l, m->lanes)
    {
        if (!knows(d, warp * PE_LANES + l, m->clock)) {
            return l;
        }
    }
    return PE_LANES;
}

static void report_write(const doing *d, const cell *c)
{
    pe_mark m = {.cluster = d->w->cta->cluster->number,
                 .tid = c->w_tid,
                 .pc = c->w_pc,
                 .kind = (pe_mark_kind)c->w_kind,
                 .is_write = true};
    pe_race_report(d->w, d->i, d->lane, PE_SHARED_WINDOW + d->address, d->size,
                   (d->kind & PE_T_WRITE) != 0, &m);
}

/* Threads that all store the same to one place (a flag, a word of a protocol) do so on purpose. */
static bool stores_the_same(const doing *d, const cell *c)
{
    return !d->r->is_isa && d->kind == PE_T_WRITE && !d->is_strong && c->w_kind == PE_MK_PLAIN &&
           c->w_pc == d->pc && c->w_phase == 0 && pe_st_is_same(d->w, d->i, d->lane);
}

/* *is_again: whatever is not ordered stored the same. */
static bool check_reads(const doing *d, const cell *c, const read_mark *marks, bool *is_again)
{
    uint32_t per = 1u << d->r->reader_shift;
    for (uint32_t rest = c->readers; rest != 0; rest &= rest - 1) {
        uint32_t first = pe_first(rest) << d->r->reader_shift;
        for (uint32_t warp = first; warp < first + per && warp < d->r->n_warps; warp++) {
            uint32_t lane =
                marks[warp].lanes != 0 ? unordered_reader(d, warp, &marks[warp]) : PE_LANES;
            if (lane == PE_LANES) {
                continue;
            }
            bool is_store = (marks[warp].pc & READ_STORE) != 0;
            if (is_store && (*is_again || stores_the_same(d, c))) {
                *is_again = true;
                continue;
            }
            pe_mark m = {.cluster = d->w->cta->cluster->number,
                         .tid = warp * PE_LANES + lane,
                         .pc = marks[warp].pc & ~READ_FLAGS,
                         .kind = PE_MK_PLAIN,
                         .is_write = is_store};
            pe_race_report(d->w, d->i, d->lane, PE_SHARED_WINDOW + d->address, d->size, true, &m);
            return false;
        }
    }
    return true;
}

/* A bit that stands for several warps is set the first time: their marks are of an older write. */
static void forget_marks(const pe_races *r, read_mark *m, uint32_t warp)
{
    uint32_t first = warp >> r->reader_shift << r->reader_shift;
    for (uint32_t k = first; k < first + (1u << r->reader_shift) && k < r->n_warps; k++) {
        m[(int64_t)k - warp].lanes = 0;
    }
}

/* m: the mark of the thread's warp; pc: with flags */
static inline void add_mark(const pe_races *r, cell *c, read_mark *m, uint32_t tid, uint32_t clock,
                            uint32_t pc)
{
    uint32_t bit = 1u << tid % PE_LANES;
    uint32_t warp = tid / PE_LANES;
    uint32_t warp_bit = 1u << (warp >> r->reader_shift);
    if ((c->readers & warp_bit) == 0) {
        forget_marks(r, m, warp);
    }
    if (m->lanes == 0 || m->lanes == bit || m->clock <= r->known[warp]) {
        *m = (read_mark){.clock = clock, .lanes = bit, .pc = pc};
        c->readers |= warp_bit;
        return;
    }
    m->clock = clock < m->clock ? clock : m->clock;
    m->lanes |= bit;
    m->pc = pc & (m->pc | ~READ_FLAGS);
}

static inline void mark_read(const doing *d, cell *c, read_mark *m)
{
    uint32_t pc = d->pc | (d->is_strong ? READ_STRONG : 0);
    pc |= (d->kind & PE_T_ASYNC) != 0 ? READ_ASYNC : 0;
    add_mark(d->r, c, m, d->tid, d->clock, pc);
}

static inline uint8_t write_kind(const doing *d)
{
    if ((d->kind & PE_T_COPY) != 0) {
        return (d->kind & PE_T_ASYNC) != 0 ? PE_MK_BULK : PE_MK_PENDING;
    }
    return d->is_strong ? PE_MK_STRONG : PE_MK_PLAIN;
}

static inline void mark_write(const doing *d, cell *c)
{
    *c = (cell){.w_clock = d->clock,
                .w_pc = d->pc,
                .w_serial = d->r->serial,
                .w_tid = (uint16_t)d->tid,
                .is_object = (d->kind & (PE_T_OBJECT | PE_T_END)) == PE_T_OBJECT,
                .w_kind = write_kind(d)};
}

/* This store takes the place of the last one. */
static void supersede(const doing *d, cell *c, read_mark *marks)
{
    cell old = *c;
    c->w_tid = (uint16_t)d->tid;
    c->w_clock = d->clock;
    c->w_serial = d->r->serial;
    add_mark(d->r, c, &marks[old.w_tid / PE_LANES], old.w_tid, old.w_clock, old.w_pc | READ_STORE);
}

static void report_object(const doing *d, const cell *c)
{
    const ptxexec_module *m = d->w->cta->launch->m;
    pe_fault_at(d->w, d->i, PTXEXEC_F_MBARRIER,
                (pe_place){.lanes = 1u << d->lane,
                           .address = PE_SHARED_WINDOW + d->address,
                           .size = d->size},
                "this writes over the mbarrier at shared address 0x%llx, last touched in line %u: "
                "mbarrier.inval must come before its memory is used for something else",
                (unsigned long long)(d->address & ~UINT64_C(7)),
                m->srcs.at[m->code.at[c->w_pc].src].loc.line);
}

/* A generic write that is ordered before something of the async proxy: is there a fence? */
static bool is_write_fenced(const doing *d, const cell *c)
{
    if (c->w_kind == PE_MK_NONE || c->w_kind == PE_MK_BULK || c->w_serial == d->r->serial) {
        return true;
    }
    return (c->w_phase != 0 && pe_race_is_proxied_agent(d->r, d->tid, c->w_agent, c->w_phase)) ||
           pe_race_is_proxied(d->r, d->tid, c->w_tid, c->w_clock);
}

static void check_read_fence(const doing *d, uint32_t warp, const read_mark *k, pe_mark *out)
{
    bool is_generic = (k->pc & (READ_STRONG | READ_ASYNC)) == 0;
    bool is_store = (k->pc & READ_STORE) != 0;
    pg_foreach_lane(l, is_generic && (d->r->is_isa || is_store) ? k->lanes : 0)
    {
        if (!pe_race_is_proxied(d->r, d->tid, warp * PE_LANES + l, k->clock)) {
            out->tid = warp * PE_LANES + l;
            out->pc = k->pc & ~READ_FLAGS;
            out->kind = PE_MK_PLAIN;
            out->is_write = is_store;
        }
    }
}

static bool check_fences(const doing *d, const cell *c, const read_mark *marks)
{
    pe_mark m = {.cluster = d->w->cta->cluster->number, .is_unfenced = true};
    if (!is_write_fenced(d, c)) {
        m.tid = c->w_tid;
        m.pc = c->w_pc;
        m.kind = (pe_mark_kind)c->w_kind;
        m.is_write = true;
    }
    /* Reads before a write by the async proxy: known-good kernels leave these fences out. */
    uint32_t rest = (d->kind & PE_T_WRITE) != 0 ? c->readers : 0;
    for (; rest != 0 && m.kind == PE_MK_NONE; rest &= rest - 1) {
        uint32_t first = pe_first(rest) << d->r->reader_shift;
        for (uint32_t j = 0; j < 1u << d->r->reader_shift && first + j < d->r->n_warps; j++) {
            check_read_fence(d, first + j, &marks[first + j], &m);
        }
    }
    if (m.kind == PE_MK_NONE) {
        return true;
    }
    pe_race_report(d->w, d->i, d->lane, PE_SHARED_WINDOW + d->address, d->size,
                   (d->kind & PE_T_WRITE) != 0, &m);
    return false;
}

/* A write of what a product may still read. */
static bool check_products(const doing *d, const page *p, uint32_t from, uint32_t to)
{
    size_t n = d->r->warps_of_cta;
    const pe_wg_mark *end = p->products + ((to - 1) / PE_PIECE + 1) * n;
    for (const pe_wg_mark *x = p->products + from / PE_PIECE * n; x < end; x++) {
        if (x->time != 0 && !pe_race_knows_agent(d->r, d->seen, x->agent, x->time)) {
            pe_mark m = {.cluster = d->w->cta->cluster->number,
                         .tid = x->tid,
                         .pc = x->pc,
                         .kind = PE_MK_WGMMA};
            pe_race_report(d->w, d->i, d->lane, PE_SHARED_WINDOW + d->address, d->size, true, &m);
            return false;
        }
    }
    return true;
}

static inline bool is_seen_ok(const doing *d, const cell *c)
{
    const pe_write_seen *s = &d->r->seen_ok;
    return s->by_serial == d->r->serial && s->by_tid == d->tid && s->serial == c->w_serial &&
           s->tid == c->w_tid && s->clock == c->w_clock && s->phase == c->w_phase &&
           s->agent == c->w_agent && s->kind == c->w_kind;
}

/* A look by the async proxy leaves nothing behind, and its answer hangs on the last write alone. */
static bool look_at(const doing *d, const page *p, uint32_t from, uint32_t to)
{
    uint32_t last = p->is_whole ? from : to - 1;
    for (uint32_t k = from >> p->shift; k <= last >> p->shift; k++) {
        const cell *c = p->is_whole ? &p->whole : &p->cells[k];
        if (is_seen_ok(d, c)) {
            continue;
        }
        if (!is_write_ordered(d, c)) {
            report_write(d, c);
            return false;
        }
        if (!check_fences(d, c, p->reads + (size_t)k * d->r->n_warps)) {
            return false;
        }
        d->r->seen_ok = (pe_write_seen){.by_tid = d->tid,
                                        .by_serial = d->r->serial,
                                        .clock = c->w_clock,
                                        .serial = c->w_serial,
                                        .phase = c->w_phase,
                                        .tid = c->w_tid,
                                        .agent = c->w_agent,
                                        .kind = c->w_kind};
    }
    return true;
}

/* One cell, and the marks of its reads. False after a report. */
static inline bool touch_cell(const doing *d, cell *c, read_mark *marks, bool *is_again)
{
    if (!is_write_ordered(d, c)) {
        *is_again = stores_the_same(d, c);
        if (!*is_again) {
            report_write(d, c);
            return false;
        }
    }
    if (c->is_object && (d->kind & (PE_T_OBJECT | PE_T_WRITE)) == PE_T_WRITE) {
        report_object(d, c);
        return false;
    }
    if ((d->kind & PE_T_ASYNC) != 0 && !check_fences(d, c, marks)) {
        return false;
    }
    if ((d->kind & PE_T_WRITE) == 0) {
        if (!d->is_look) {
            mark_read(d, c, &marks[d->w->race_index]);
        }
        return true;
    }
    if (c->readers != 0 && !check_reads(d, c, marks, is_again)) {
        return false;
    }
    if (d->is_look) {
        return true;
    }
    if (*is_again) {
        supersede(d, c, marks);
    } else {
        mark_write(d, c);
    }
    return true;
}

/* False after a report. */
static bool touch_page(const doing *d, page *p, uint32_t from, uint32_t to)
{
    bool all = (d->kind & PE_T_WRITE) != 0 && from == 0 && to == PAGE;
    if (d->is_look && (d->kind & (PE_T_ASYNC | PE_T_WRITE)) == PE_T_ASYNC) {
        return look_at(d, p, from, to);
    }
    if (p->n_flights != 0 && (d->kind & PE_T_WRITE) != 0 &&
        !pe_race_check_flights(d->w, d->i, d->lane, d->address, d->address + d->size)) {
        return false;
    }
    if (p->products != NULL && (d->kind & PE_T_WRITE) != 0 && !check_products(d, p, from, to)) {
        return false;
    }
    if (!all) {
        pe_page_expand(p);
    }
    uint32_t last = p->is_whole ? from : to - 1;
    bool is_uniform = all;
    for (uint32_t k = from >> p->shift; k <= last >> p->shift; k++) {
        cell *c = p->is_whole ? &p->whole : &p->cells[k];
        bool is_again = false;
        if (!touch_cell(d, c, p->reads + (size_t)k * d->r->n_warps, &is_again)) {
            return false;
        }
        is_uniform = is_uniform && !is_again;
    }
    if (is_uniform && !p->is_whole) {
        p->is_whole = true;
        p->whole = p->cells[0];
    }
    return true;
}

static bool touch_shared(const doing *d)
{
    const pe_cta *home = pe_cta_at(d->w->cta, d->address);
    const pe_region *s = home != NULL ? &home->shared : &d->w->cta->shared;
    uint64_t off = d->address - s->base;
    if (off >= s->size || d->size > s->size - off) {
        return true; /* the access itself will say so */
    }
    for (uint64_t at = d->address, end = at + d->size; at < end;) {
        uint64_t stop = at - at % PAGE + PAGE < end ? at - at % PAGE + PAGE : end;
        page *p = pe_page_of(d->w->cta, at, d->size);
        if (p == NULL ||
            !touch_page(d, p, (uint32_t)(at % PAGE), (uint32_t)((stop - 1) % PAGE) + 1)) {
            return false;
        }
        p->is_remote = p->is_remote || s != &d->w->cta->shared;
        at = stop;
    }
    return true;
}

/* ---- instructions -----------------------------------------------------------------------------
 */

uint32_t pe_race_serial(const pe_cta *cta)
{
    return cta->races->serial;
}

/* Whether two of the lanes may touch one place: their places are numbered modulo 1024. */
static bool do_lanes_meet(uint32_t mask, const pe_touch *t)
{
    uint64_t taken[16] = {0};
    pg_foreach_lane(l, mask)
    {
        uint64_t place = (t->at[l] + (uint64_t)t->imm) / t->size;
        uint64_t *word = &taken[place / 64 % 16];
        if ((*word >> place % 64 & 1u) != 0) {
            return true;
        }
        *word |= UINT64_C(1) << place % 64;
    }
    return false;
}

typedef struct touched {
    uint32_t strong; /* lanes with a strong access */
    uint64_t generic[PE_LANES];
} touched;

/* False after a report. */
static bool touch_lanes(doing *d, uint32_t mask, const pe_touch *t, touched *out)
{
    pe_warp *w = d->w;
    pg_foreach_lane(l, mask)
    {
        uint64_t address = t->at[l] + (uint64_t)t->imm;
        uint64_t within = address;
        uint32_t space = t->space == PG_PTX_SP_NONE ? pe_window_of(address, &within) : t->space;
        if (space == PG_PTX_SP_SHARED || space == PE_SP_CLUSTER) {
            d->lane = l;
            d->tid = w->race_index * PE_LANES + l;
            d->clock = d->r->own[d->tid];
            d->seen = d->r->seen[d->tid];
            d->address = within;
            if (!touch_shared(d)) {
                return false;
            }
            out->generic[l] = PE_SHARED_WINDOW + within;
        } else if (space == PG_PTX_SP_GLOBAL) {
            pe_gshadow_touch(w, d->i, l, address, t);
            out->generic[l] = address;
            if (w->cta->is_failed) {
                return false;
            }
        } else {
            continue;
        }
        out->strong |= d->is_strong ? 1u << l : 0;
    }
    return true;
}

void pe_race_touch(pe_warp *w, const pe_inst *i, uint32_t mask, const pe_touch *t)
{
    pe_races *r = w->cta->races;
    doing d = {.w = w,
               .i = i,
               .r = r,
               .pc = (uint32_t)(i - w->cta->launch->m->code.at),
               .size = t->size,
               .kind = t->kind,
               .is_strong = (i->flags & PE_I_STRONG) != 0};
    touched all = {.strong = 0};
    if (t->space != PG_PTX_SP_NONE && t->space != PG_PTX_SP_SHARED && t->space != PE_SP_CLUSTER &&
        t->space != PG_PTX_SP_GLOBAL) {
        return;
    }
    r->serial++;
    (void)pe_gshadow_now(w->cta->launch);
    /* The mark of a lane's write takes the place of what the next lane's is to be held against. */
    if ((t->kind & PE_T_WRITE) != 0 && do_lanes_meet(mask, t)) {
        pe_touch look = *t;
        look.kind |= PE_T_LOOK;
        d.is_look = true;
        if (!touch_lanes(&d, mask, &look, &all)) {
            return;
        }
        d.is_look = false;
    }
    if (touch_lanes(&d, mask, t, &all) && all.strong != 0 && (t->kind & PE_T_OBJECT) == 0) {
        pe_race_strong(w, i, all.strong, all.generic, t->kind);
    }
}

/* The cell waits for an arrival at the barrier that no other's came before. */
static bool is_to_come(const cell *c, const pe_copy *copy, uint32_t lane, const pe_mbar *b)
{
    return c->w_agent == (uint16_t)b->agent && (copy->done >> lane & 1u) == 0;
}

/* The phase is over without the arrival. If another came before, who waits for that may read. */
static void postpone(cell *c, const pe_copy *copy, uint32_t lane, const pe_mbar *b)
{
    if (c->w_agent != (uint16_t)b->agent || c->w_phase != b->n_over) {
        return;
    }
    bool is_done = (copy->done >> lane & 1u) != 0;
    c->w_agent = is_done ? copy->done_agent[lane] : c->w_agent;
    c->w_phase = is_done ? copy->done_phase[lane] : b->n_over + 1;
}

void pe_race_settle(pe_warp *w, const pe_copy *copy, pe_mbar *b, bool is_postponed)
{
    pe_races *r = w->cta->races;
    pg_foreach_lane(l, copy->lanes)
    {
        uint32_t tid = w->race_index * PE_LANES + l;
        uint32_t at = copy->offset[l];
        page *p = pe_page_of(w->cta, at, copy->size);
        if (p != NULL) {
            pe_page_expand(p);
        }
        for (uint32_t k = 0; p != NULL && k < copy->size; k += 1u << p->shift) {
            cell *c = &p->cells[(at % PAGE + k) >> p->shift];
            if (c->w_kind != PE_MK_PENDING || c->w_serial != copy->serial || c->w_tid != tid) {
                continue;
            }
            if (b == NULL) {
                c->w_kind = PE_MK_COPIED;
                c->w_clock = r->own[tid];
            } else if (is_postponed) {
                postpone(c, copy, l, b);
            } else if (c->w_phase == 0 || is_to_come(c, copy, l, b)) {
                c->w_agent = (uint16_t)b->agent;
                c->w_phase = b->n_over + 1;
            } else {
                pe_race_mbar_knows(w->cta, b, c->w_agent, c->w_phase);
            }
        }
    }
}

/* ---- for the async proxy (race_async.c) --------------------------------------------------------
 */

bool pe_race_cells(pe_warp *w, const pe_inst *i, uint32_t lane, pe_bytes bytes, uint8_t kind,
                   bool is_look)
{
    pe_races *r = w->cta->races;
    uint32_t tid = w->race_index * PE_LANES + lane;
    doing d = {.w = w,
               .i = i,
               .r = r,
               .lane = lane,
               .tid = tid,
               .pc = (uint32_t)(i - w->cta->launch->m->code.at),
               .clock = r->own[tid],
               .address = bytes.at,
               .size = bytes.size,
               .kind = kind,
               .is_look = is_look,
               .seen = r->seen[tid]};
    return touch_shared(&d);
}

void pe_race_mark_product(pe_warp *w, uint32_t at, const pe_wg_mark *m)
{
    pe_races *r = w->cta->races;
    page *p = pe_page_of(w->cta, at, PE_PIECE);
    if (p != NULL && p->products == NULL) {
        p->products = PG_NEWS(&r->arena, pe_wg_mark, (size_t)PAGE / PE_PIECE * r->warps_of_cta);
        w->cta->worker->is_oom = w->cta->worker->is_oom || p->products == NULL;
    }
    if (p != NULL && p->products != NULL) {
        p->products[at % PAGE / PE_PIECE * r->warps_of_cta + m->slot] = *m;
    }
}

void pe_race_count_flights(pe_cta *cta, uint32_t lo, uint32_t hi, uint32_t by)
{
    for (uint32_t at = lo; at < hi; at += PAGE - at % PAGE) {
        page *p = pe_page_of(cta, at, 4);
        if (p != NULL) {
            p->n_flights += by;
        }
    }
}

void pe_race_signalled(pe_cta *cta, pe_bytes bytes, uint32_t serial, const pe_mbar *m)
{
    for (uint32_t at = bytes.at; at < bytes.at + bytes.size;) {
        page *p = pe_page_of(cta, at, bytes.size < 4 ? bytes.size : 4);
        if (p == NULL) {
            return;
        }
        bool all = at % PAGE == 0 && bytes.at + bytes.size - at >= PAGE;
        if (!all) {
            pe_page_expand(p);
        }
        cell *c = p->is_whole ? &p->whole : &p->cells[at % PAGE >> p->shift];
        if (c->w_serial == serial) {
            c->w_agent = (uint16_t)m->agent;
            c->w_phase = m->n_over + 1;
        }
        at += p->is_whole ? (uint32_t)PAGE : 1u << p->shift;
    }
}
