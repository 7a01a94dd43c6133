/* interp_sync.c: buffers, rings, barriers, fences: all that partitions share, and who knows what of
 * it. */
#include <string.h>

#include "ir/interp_int.h"

/* ---- buffers --------------------------------------------------------------------------------- */

RUN(BUF_NEW)
{
    (void)co;
    const pg_type_info *ty = pg_val_info(m->k, i->out[0]);
    int64_t n = pg_type_n_elems(m->k->module->ctx->types, pg_val_type(m->k, i->out[0]));
    if (ty->space != PG_SPACE_SMEM || n <= 0 || n > (1 << 26) || ty->rank == 0) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "this kind of buffer");
    }
    if (m->n_bufs == m->bufs.n && !pg_vec_push(&m->arena, &m->bufs, (pg_rt_buf){0})) {
        return pg_rt_oom(m);
    }
    pg_rt_buf *b = &m->bufs.at[m->n_bufs];
    if (b->cap < (uint32_t)n) {
        b->cap = (uint32_t)n;
        b->at = PG_NEWS(&m->arena, uint64_t, b->cap);
        b->poison = PG_NEWS(&m->arena, uint8_t, b->cap);
        b->wrote = PG_NEWS(&m->arena, uint64_t, b->cap);
        b->read = PG_NEWS(&m->arena, uint64_t, b->cap);
        b->dirty = PG_NEWS(&m->arena, uint32_t, b->cap);
        b->writes = PG_NEWS(&m->arena, pg_rt_touch, b->cap);
        b->reads = PG_NEWS(&m->arena, pg_rt_touch, b->cap);
    }
    if (m->arena.is_oom) {
        return pg_rt_oom(m);
    }
    b->n = (uint32_t)n;
    b->row = (uint32_t)ty->dims[ty->rank - 1];
    memset(b->poison, 1, b->n);
    memset(b->wrote, 0, b->n / b->row * sizeof *b->wrote);
    memset(b->read, 0, b->n / b->row * sizeof *b->read);
    memset(b->dirty, 0, b->n / b->row * sizeof *b->dirty);
    memset(b->writes, 0, b->n / b->row * sizeof *b->writes);
    memset(b->reads, 0, b->n / b->row * sizeof *b->reads);
    pg_slot *out = pg_rt_slot(m, i->out[0]);
    pg_rt_set(out, 0);
    out->obj = m->n_bufs++;
    out->offset = 0;
    return PG_RUN_NEXT;
}

RUN(BUF_VIEW)
{
    (void)co;
    const pg_slot *from = pg_rt_slot(m, i->in[0]);
    const pg_type_info *ty = pg_val_info(m->k, i->in[0]);
    pg_slot *out = pg_rt_slot(m, i->out[0]);
    int64_t index = 0;
    if (pg_rt_int(m, i, 1, "the index of a view", &index) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    if (index < 0 || index >= ty->dims[0]) {
        return pg_rt_fault(m, PG_D_RUN_INDEX, i, (long long)index, pg_rt_name(m, i->in[0]),
                           (unsigned)ty->dims[0]);
    }
    uint64_t n = (uint64_t)pg_type_n_elems(m->k->module->ctx->types, pg_val_type(m->k, i->out[0]));
    pg_rt_set(out, 0);
    out->obj = from->obj;
    out->offset = from->offset + (uint64_t)index * n;
    return PG_RUN_NEXT;
}

pg_region_ref pg_rt_box(pg_machine *m, pg_val buf)
{
    const pg_slot *s = pg_rt_slot(m, buf);
    int64_t n = pg_type_n_elems(m->k->module->ctx->types, pg_val_type(m->k, buf));
    return (pg_region_ref){s->obj, (uint32_t)n, s->offset};
}

static bool overlap(pg_region_ref a, pg_region_ref b)
{
    return a.n != 0 && b.n != 0 && a.buf == b.buf && a.offset < b.offset + b.n &&
           b.offset < a.offset + a.n;
}

/* A pending event that must be over before the access. */
static pg_run check_pending(pg_machine *m, const pg_inst *i, pg_region_ref box, bool is_write)
{
    for (uint32_t k = 0; k < m->events.n; k++) {
        const pg_event *e = &m->events.at[k];
        if (e->is_dead ||
            !(overlap(e->box, box) || (e->kind == PG_EV_MMA && overlap(e->other, box)))) {
            continue;
        }
        if (e->kind == PG_EV_GET && !e->is_done) {
            return is_write ? pg_rt_fault(m, PG_D_RUN_OVERWRITTEN, i, e->inst->loc.line)
                            : pg_rt_fault(m, PG_D_RUN_NOT_ARRIVED, i, e->inst->loc.line);
        }
        if (e->kind == PG_EV_COPY) {
            return pg_rt_fault(m, PG_D_RUN_ASYNC, i, is_write ? "written" : "read",
                               e->inst->loc.line);
        }
        if (e->kind != PG_EV_GET && is_write && !e->is_retired) {
            return pg_rt_fault(m, PG_D_RUN_OVERWRITTEN, i, e->inst->loc.line);
        }
    }
    return PG_RUN_NEXT;
}

pg_run pg_rt_check(pg_machine *m, const pg_co *co, const pg_inst *i, pg_region_ref box,
                   bool is_write)
{
    const pg_rt_buf *b = &m->bufs.at[box.buf];
    if (check_pending(m, i, box, is_write) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    uint64_t from = box.offset / b->row, to = (box.offset + box.n) / b->row;
    for (uint64_t r = from; r < to; r++) {
        if (b->wrote[r] > co->known) {
            return pg_rt_fault(m, PG_D_RUN_UNORDERED, i, is_write ? "written" : "read", "write");
        }
        if (is_write && b->read[r] > co->known) {
            return pg_rt_fault(m, PG_D_RUN_UNORDERED, i, "written", "read");
        }
    }
    return PG_RUN_NEXT;
}

void pg_rt_stamp(pg_machine *m, pg_region_ref box, bool is_write, uint64_t number)
{
    const pg_rt_buf *b = &m->bufs.at[box.buf];
    uint64_t *stamps = is_write ? b->wrote : b->read;
    for (uint64_t r = box.offset / b->row; r < (box.offset + box.n) / b->row; r++) {
        stamps[r] = number > stamps[r] ? number : stamps[r];
    }
}

pg_run pg_rt_check_proxy(pg_machine *m, const pg_inst *i, pg_region_ref box)
{
    const pg_rt_buf *b = &m->bufs.at[box.buf];
    for (uint64_t r = box.offset / b->row; r < (box.offset + box.n) / b->row; r++) {
        if (b->dirty[r] != 0) {
            return pg_rt_fault(m, PG_D_RUN_FENCE, i, "reads what buf.store wrote",
                               "fence [kind=proxy_async]");
        }
    }
    return PG_RUN_NEXT;
}

/* ---- epochs: one layout between two barriers of a coroutine's threads ------------------------ */

void pg_rt_next_epoch(pg_machine *m, pg_co *co)
{
    co->epoch = ++m->n_epochs;
}

static bool is_other_layout(const pg_rt_touch *t, const pg_co *co, uint32_t enc)
{
    return t->epoch == co->epoch && t->enc != 0 && enc != 0 && t->enc != enc;
}

pg_run pg_rt_check_epoch(pg_machine *m, const pg_co *co, const pg_inst *i, pg_region_ref box,
                         pg_val tile, bool is_write)
{
    const pg_rt_buf *b = &m->bufs.at[box.buf];
    uint32_t enc = pg_val_info(m->k, tile)->enc.id;
    for (uint64_t r = box.offset / b->row; r < (box.offset + box.n) / b->row; r++) {
        bool was_written = is_other_layout(&b->writes[r], co, enc);
        if (was_written || (is_write && is_other_layout(&b->reads[r], co, enc))) {
            return pg_rt_fault(m, PG_D_RUN_UNSYNCED, i, is_write ? "written" : "read",
                               was_written ? "written" : "read");
        }
    }
    return PG_RUN_NEXT;
}

void pg_rt_note_epoch(pg_machine *m, const pg_co *co, pg_region_ref box, pg_val tile, bool is_write)
{
    const pg_rt_buf *b = &m->bufs.at[box.buf];
    uint32_t enc = pg_val_info(m->k, tile)->enc.id;
    for (uint64_t r = box.offset / b->row; r < (box.offset + box.n) / b->row; r++) {
        pg_rt_touch *t = is_write ? &b->writes[r] : &b->reads[r];
        bool is_mixed = is_other_layout(t, co, enc);
        *t = (pg_rt_touch){co->epoch, is_mixed ? UINT32_MAX : enc};
    }
}

void pg_rt_mark_dirty(pg_machine *m, const pg_co *co, pg_region_ref box)
{
    const pg_rt_buf *b = &m->bufs.at[box.buf];
    for (uint64_t r = box.offset / b->row; r < (box.offset + box.n) / b->row; r++) {
        b->dirty[r] |= 1u << (co - m->cos);
    }
}

RUN(BUF_LOAD)
{
    pg_slot *out = pg_rt_out(m, i, 0);
    pg_region_ref box = pg_rt_box(m, i->in[0]);
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    if (out->n != box.n) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "operands of different shapes");
    }
    if (pg_rt_check(m, co, i, box, false) != PG_RUN_NEXT ||
        pg_rt_check_epoch(m, co, i, box, i->out[0], false) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    pg_rt_note_epoch(m, co, box, i->out[0], false);
    const pg_rt_buf *b = &m->bufs.at[box.buf];
    memcpy(out->at, b->at + box.offset, box.n * sizeof *out->at);
    memcpy(out->poison, b->poison + box.offset, box.n);
    out->has_poison = memchr(out->poison, 1, box.n) != NULL;
    co->known = ++m->sequence;
    pg_rt_stamp(m, box, false, m->sequence);
    return PG_RUN_NEXT;
}

RUN(BUF_STORE)
{
    pg_region_ref box = pg_rt_box(m, i->in[0]);
    const pg_slot *from = pg_rt_slot(m, i->in[1]);
    if (from->n != box.n) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "operands of different shapes");
    }
    if (pg_rt_check(m, co, i, box, true) != PG_RUN_NEXT ||
        pg_rt_check_epoch(m, co, i, box, i->in[1], true) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    pg_rt_note_epoch(m, co, box, i->in[1], true);
    const pg_rt_buf *b = &m->bufs.at[box.buf];
    memcpy(b->at + box.offset, from->at, box.n * sizeof *b->at);
    if (from->has_poison) {
        memcpy(b->poison + box.offset, from->poison, box.n);
    } else {
        memset(b->poison + box.offset, 0, box.n);
    }
    co->known = ++m->sequence;
    pg_rt_stamp(m, box, true, m->sequence);
    pg_rt_mark_dirty(m, co, box);
    return PG_RUN_NEXT;
}

/* ---- barriers -------------------------------------------------------------------------------- */

static pg_run new_bars(pg_machine *m, const pg_inst *i, bool is_ring, uint32_t n_slots,
                       const uint32_t *counts)
{
    uint32_t n = is_ring ? 2 * n_slots : n_slots;
    if (n == 0 || n > (1 << 16)) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "this number of barriers");
    }
    if (m->n_bars == m->bars.n && !pg_vec_push(&m->arena, &m->bars, (pg_rt_bars){0})) {
        return pg_rt_oom(m);
    }
    pg_rt_bars *b = &m->bars.at[m->n_bars];
    if (b->cap < n) {
        b->at = PG_NEWS(&m->arena, pg_rt_bar, n);
        b->cap = n;
    }
    if (m->arena.is_oom) {
        return pg_rt_oom(m);
    }
    memset(b->at, 0, n * sizeof *b->at);
    b->n_slots = n_slots;
    b->is_ring = is_ring;
    b->state = 0;
    b->val = i->out[0];
    memcpy(b->counts, counts, sizeof b->counts);
    pg_slot *out = pg_rt_slot(m, i->out[0]);
    pg_rt_set(out, 0);
    out->obj = m->n_bars++;
    return PG_RUN_NEXT;
}

static uint32_t n_slots_of(pg_machine *m, const pg_inst *i)
{
    int32_t n = pg_val_info(m->k, i->out[0])->dims[0];
    return n > 0 ? (uint32_t)n : 0;
}

static uint32_t count_of(const pg_inst *i, pg_attr_id id)
{
    int64_t n = pg_attr_int(&i->attrs, id, 1);
    return n < 0 || n > UINT32_MAX ? 0 : (uint32_t)n;
}

RUN(RING_NEW)
{
    (void)co;
    const uint32_t counts[2] = {count_of(i, PG_A_FULL), count_of(i, PG_A_EMPTY)};
    return new_bars(m, i, true, n_slots_of(m, i), counts);
}

RUN(BAR_NEW)
{
    (void)co;
    const uint32_t counts[2] = {count_of(i, PG_A_ARRIVALS), 0};
    return new_bars(m, i, false, n_slots_of(m, i), counts);
}

const char *pg_rt_bar_name(pg_machine *m, uint32_t obj, const pg_rt_bar *bar)
{
    const pg_rt_bars *b = &m->bars.at[obj];
    uint32_t at = (uint32_t)(bar - b->at);
    pg_strbuf text;
    pg_strbuf_init(&text, m->arena.alloc);
    pg_putf(&text, "%%%s%s[%u]", pg_rt_name(m, b->val),
            !b->is_ring       ? ""
            : at < b->n_slots ? " full"
                              : " empty",
            at % b->n_slots);
    pg_str s = pg_arena_str(&m->arena, pg_strbuf_str(&text));
    pg_strbuf_fini(&text);
    return s.ptr != NULL ? s.ptr : "?";
}

pg_run pg_rt_bar_fault(pg_machine *m, const pg_inst *i, uint32_t obj, pg_rt_bar *bar,
                       pg_bar_error e)
{
    return e == PG_BAR_OK ? PG_RUN_NEXT
                          : pg_rt_fault(m, PG_D_RUN_BARRIER, i, pg_rt_bar_name(m, obj, bar),
                                        pg_bar_error_text(e));
}

void pg_rt_bar_changed(pg_machine *m, pg_rt_bar *bar, uint64_t old_phase)
{
    m->version++;
    if (bar->b.phase != old_phase) {
        bar->known = bar->gathers > bar->known ? bar->gathers : bar->known;
    }
}

static pg_run arrive(pg_machine *m, pg_co *co, const pg_inst *i, uint32_t obj, uint32_t index,
                     uint32_t n)
{
    pg_rt_bar *bar = &m->bars.at[obj].at[index];
    uint64_t phase = bar->b.phase;
    bar->gathers = co->known > bar->gathers ? co->known : bar->gathers;
    pg_bar_error e = pg_barrier_arrive(&bar->b, n);
    pg_rt_bar_changed(m, bar, phase);
    return pg_rt_bar_fault(m, i, obj, bar, e);
}

RUN(BAR_INIT)
{
    (void)co;
    uint32_t obj = pg_rt_slot(m, i->in[0])->obj;
    pg_rt_bars *b = &m->bars.at[obj];
    for (uint32_t k = 0; k < (b->is_ring ? 2 : 1) * b->n_slots; k++) {
        pg_bar_error e = pg_barrier_init(&b->at[k].b, b->counts[k / b->n_slots]);
        if (e != PG_BAR_OK) {
            return pg_rt_bar_fault(m, i, obj, &b->at[k], e);
        }
    }
    b->state = PG_RT_INITED;
    return PG_RUN_NEXT;
}

/* Others see an initialisation only after a barrier of the CTA. */
static pg_run check_shared(pg_machine *m, const pg_inst *i, uint32_t obj)
{
    const pg_rt_bars *b = &m->bars.at[obj];
    bool is_early = (b->state & PG_RT_INITED) != 0 && (b->state & PG_RT_SHARED) == 0;
    return is_early ? pg_rt_fault(m, PG_D_RUN_FENCE, i,
                                  "uses barriers that one thread has initialised", "cta.sync")
                    : PG_RUN_NEXT;
}

pg_run pg_rt_bar_of(pg_machine *m, const pg_inst *i, uint32_t first, uint32_t *obj, pg_rt_bar **out)
{
    *obj = pg_rt_slot(m, i->in[first])->obj;
    const pg_rt_bars *b = &m->bars.at[*obj];
    int64_t slot = 0;
    if (pg_rt_int(m, i, first + 1, "the slot of a barrier", &slot) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    if (slot < 0 || slot >= b->n_slots) {
        return pg_rt_fault(m, PG_D_RUN_INDEX, i, (long long)slot, pg_rt_name(m, i->in[first]),
                           b->n_slots);
    }
    bool is_empty = b->is_ring && pg_attr_int(&i->attrs, PG_A_SIDE, PG_SIDE_FULL) == PG_SIDE_EMPTY;
    *out = &b->at[(uint32_t)slot + (is_empty ? b->n_slots : 0)];
    return check_shared(m, i, *obj);
}

/* Arrivals of one execution: in an elect region there is one thread. */
static uint32_t arrivals_of(const pg_inst *i)
{
    if (pg_inst_find_parent(i, PG_OP_ELECT) != NULL) {
        return 1;
    }
    switch (pg_attr_int(&i->attrs, PG_A_PER, PG_PER_THREAD)) {
    case PG_PER_ONE: return 1;
    case PG_PER_WARP: return pg_inst_warps(i);
    default: return 32 * pg_inst_warps(i);
    }
}

RUN(RING_PRIME)
{
    uint32_t obj = pg_rt_slot(m, i->in[0])->obj;
    const pg_rt_bars *b = &m->bars.at[obj];
    int64_t n = (int64_t)b->n_slots - pg_attr_int(&i->attrs, PG_A_LAG, 0);
    if (!b->is_ring || n < 0 || n > b->n_slots) {
        return pg_rt_fault(m, PG_D_RUN_INDEX, i, (long long)n, pg_rt_name(m, i->in[0]), b->n_slots);
    }
    if (check_shared(m, i, obj) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    for (uint32_t slot = 0; slot < (uint32_t)n; slot++) {
        if (arrive(m, co, i, obj, b->n_slots + slot, arrivals_of(i)) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
    }
    return PG_RUN_NEXT;
}

RUN(RING_NEXT)
{
    (void)co;
    const pg_slot *slot = pg_rt_slot(m, i->in[1]), *phase = pg_rt_slot(m, i->in[2]);
    bool wraps = slot->at[0] + 1 == m->bars.at[pg_rt_slot(m, i->in[0])->obj].n_slots;
    for (uint32_t k = 0; k < 2; k++) {
        pg_slot *out = pg_rt_slot(m, i->out[k]);
        pg_rt_set(out, k == 0 ? (wraps ? 0 : slot->at[0] + 1) : phase->at[0] ^ (wraps ? 1u : 0u));
        out->has_poison = pg_rt_is_poison(slot, 0) || (k == 1 && pg_rt_is_poison(phase, 0));
        out->poison[0] = out->has_poison;
    }
    return PG_RUN_NEXT;
}

RUN(BAR_EXPECT)
{
    uint32_t obj = 0;
    pg_rt_bar *bar = NULL;
    if (pg_rt_bar_of(m, i, 0, &obj, &bar) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    int64_t bytes = pg_attr_int(&i->attrs, PG_A_BYTES, 0);
    pg_bar_error e = bytes < 0 || bytes > PG_BAR_MAX_COUNT
                         ? PG_BAR_TX_RANGE
                         : pg_barrier_expect(&bar->b, (uint32_t)bytes);
    if (e != PG_BAR_OK) {
        return pg_rt_bar_fault(m, i, obj, bar, e);
    }
    return arrive(m, co, i, obj, (uint32_t)(bar - m->bars.at[obj].at), 1);
}

RUN(BAR_ARRIVE)
{
    uint32_t obj = 0;
    pg_rt_bar *bar = NULL;
    if (pg_rt_bar_of(m, i, 0, &obj, &bar) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    m->wants_switch = pg_rt_random(m, 2) == 0;
    return arrive(m, co, i, obj, (uint32_t)(bar - m->bars.at[obj].at), arrivals_of(i));
}

RUN(BAR_WAIT)
{
    uint32_t obj = 0;
    pg_rt_bar *bar = NULL;
    int64_t parity = 0;
    if (pg_rt_bar_of(m, i, 0, &obj, &bar) != PG_RUN_NEXT ||
        pg_rt_int(m, i, 2, "the phase of a wait", &parity) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    if (!bar->b.is_init) {
        return pg_rt_bar_fault(m, i, obj, bar, PG_BAR_UNINIT);
    }
    if (!pg_barrier_test(&bar->b, (uint32_t)parity & 1)) {
        return PG_RUN_BLOCK;
    }
    co->known = bar->known > co->known ? bar->known : co->known;
    pg_rt_next_epoch(m, co);
    return PG_RUN_NEXT;
}

/* ---- fences and barriers of threads ---------------------------------------------------------- */

RUN(FENCE)
{
    int64_t kind = pg_attr_int(&i->attrs, PG_A_KIND, PG_FENCE_CTA);
    for (uint32_t k = 0; k < m->n_bars && kind == PG_FENCE_MBARRIER_INIT; k++) {
        m->bars.at[k].state |= m->bars.at[k].state & PG_RT_INITED ? PG_RT_FENCED : 0;
    }
    for (uint32_t k = 0; k < m->n_bufs && kind == PG_FENCE_PROXY_ASYNC; k++) {
        const pg_rt_buf *b = &m->bufs.at[k];
        for (uint32_t r = 0; r < b->n / b->row; r++) {
            b->dirty[r] &= ~(1u << (co - m->cos));
        }
    }
    return PG_RUN_NEXT;
}

static void share_bars(pg_machine *m)
{
    for (uint32_t k = 0; k < m->n_bars; k++) {
        m->bars.at[k].state |= m->bars.at[k].state & PG_RT_INITED ? PG_RT_SHARED : 0;
    }
}

/* Outside of partitions the kernel's code stands for all threads; inside, all partitions meet. */
RUN(CTA_SYNC)
{
    (void)i;
    if (co->part == NULL) {
        pg_rt_next_epoch(m, co);
        share_bars(m);
        return PG_RUN_NEXT;
    }
    if (co->sync_target == 0) {
        co->sync_target = m->sync_generation + 1;
        m->n_synced++;
    }
    if (m->n_synced == m->n_cos - 1) {
        m->n_synced = 0;
        m->sync_generation++;
        m->version++;
        share_bars(m);
        uint64_t known = 0;
        for (uint32_t k = 1; k < m->n_cos; k++) {
            known = m->cos[k].known > known ? m->cos[k].known : known;
        }
        for (uint32_t k = 1; k < m->n_cos; k++) {
            m->cos[k].known = known;
        }
    }
    if (m->sync_generation < co->sync_target) {
        return PG_RUN_BLOCK;
    }
    co->sync_target = 0;
    pg_rt_next_epoch(m, co);
    return PG_RUN_NEXT;
}

/* A partition is one coroutine: its own threads are always in step. */
RUN(PART_SYNC)
{
    (void)i;
    pg_rt_next_epoch(m, co);
    return PG_RUN_NEXT;
}

RUN(WARP_SYNC)
{
    if (pg_inst_warps(i) == 1) {
        pg_rt_next_epoch(m, co);
    }
    if (pg_inst_warps(i) == 1 && m->n_cos == 1) {
        share_bars(m);
    }
    return PG_RUN_NEXT;
}
