/* bulk.c: bulk and tensor copies on their way. */
#include "tools/exec/bulk.h"

#include "tools/exec/async.h"
#include "tools/exec/race.h"

enum { PIECE = 16, MAX_DELAY = 2048, HELD_BACK = 20000 };

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

/* ---- places -----------------------------------------------------------------------------------
 */

static uint32_t row_size(const pe_bulk *b, uint32_t row)
{
    uint32_t at = row * b->row_bytes;
    return b->n_bytes - at < b->row_bytes ? b->n_bytes - at : b->row_bytes;
}

/* Where a row lies, but for its first dimension. */
static void row_coords(const pe_bulk *b, uint32_t row, int64_t out[PE_TMAP_RANK])
{
    const pe_tmap *t = &b->map;
    for (uint32_t d = 1; d < t->rank && !t->is_im2col; d++) {
        out[d] = b->coord[d] + (int64_t)(row % t->count[d]) * t->element_stride[d];
        row /= t->count[d];
    }
    uint64_t carry = row; /* im2col: a row is a pixel */
    for (uint32_t d = 1; d < t->rank && t->is_im2col; d++) {
        int64_t step = t->element_stride[d];
        if (d + 1 == t->rank) {
            out[d] = b->coord[d] + (int64_t)carry * step;
            break;
        }
        carry += (uint64_t)((b->coord[d] - t->lower[d - 1]) / step);
        out[d] = t->lower[d - 1] + (int64_t)(carry % t->n_starts[d - 1]) * step + b->offset[d - 1];
        carry /= t->n_starts[d - 1];
    }
}

pe_bulk_span pe_bulk_row(const pe_bulk *b, uint32_t row)
{
    pe_bulk_span s = {.first = 0, .end = row_size(b, row)};
    if (!b->has_map) {
        s.at = b->global + (uint64_t)row * b->row_bytes;
        return s;
    }
    const pe_tmap *t = &b->map;
    int64_t x = b->coord[0];
    int64_t first = x < 0 ? -x : 0;
    int64_t end = (int64_t)t->dim[0] - x;
    end = end < (int64_t)t->count[0] ? end : (int64_t)t->count[0];
    bool is_in = first < end;
    s.at = t->address + (uint64_t)(x + first) * t->elem_size;
    int64_t c[PE_TMAP_RANK];
    row_coords(b, row, c);
    for (uint32_t d = 1; d < t->rank; d++) {
        is_in = is_in && c[d] >= 0 && c[d] < (int64_t)t->dim[d];
        s.at += (uint64_t)c[d] * t->stride[d];
    }
    s.first = is_in ? (uint32_t)first * t->elem_size : 0;
    s.end = is_in ? (uint32_t)end * t->elem_size : 0;
    return s;
}

/* Host bytes of a piece of shared memory, `offset` bytes into the box. */
static uint32_t piece_at(const pe_bulk *b, uint32_t offset)
{
    return pe_tmap_swizzle(b->swizzle, b->shared + offset) - (uint32_t)b->home->shared.base;
}

/* ---- chunks -----------------------------------------------------------------------------------
 */

static void fill_row(const pe_bulk *b, uint8_t *data, uint32_t n)
{
    uint64_t fill = pe_tmap_fill(&b->map);
    for (uint32_t k = 0; k < n; k += b->map.elem_size) {
        memcpy(data + k, &fill, b->map.elem_size);
    }
}

static void read_global(const pe_bulk *b, uint32_t row)
{
    pe_bulk_span s = pe_bulk_row(b, row);
    uint32_t n = row_size(b, row);
    uint8_t *data = b->data + (size_t)row * b->row_bytes;
    uint8_t *poison = b->poison + (size_t)row * b->row_bytes;
    if (s.end - s.first < n) {
        fill_row(b, data, n);
        memset(poison, 0, n);
    }
    if (s.first < s.end) {
        size_t off = (size_t)(s.at - b->array->base);
        memcpy(data + s.first, b->array->data + off, s.end - s.first);
        memcpy(poison + s.first, b->array->poison + off, s.end - s.first);
    }
}

static void read_chunk(pe_bulk *b, pe_bulk_chunk *c)
{
    uint32_t end = c->end * b->row_bytes < b->n_bytes ? c->end * b->row_bytes : b->n_bytes;
    if (b->kind == PE_BULK_LOAD) {
        for (uint32_t row = c->first; row < c->end; row++) {
            read_global(b, row);
        }
    } else {
        const pe_region *s = b->kind == PE_BULK_SEND ? &b->w->cta->shared : &b->home->shared;
        for (uint32_t k = c->first * b->row_bytes; k < end; k += PIECE) {
            uint32_t at =
                b->kind == PE_BULK_SEND ? b->source + k - (uint32_t)s->base : piece_at(b, k);
            memcpy(b->data + k, s->data + at, PIECE);
            memcpy(b->poison + k, s->poison + at, PIECE);
        }
    }
    c->is_read = true;
    b->n_unread--;
}

static void fold_bytes(const pe_bulk *b, uint8_t *to, uint8_t *to_poison, const uint8_t *from,
                       const uint8_t *from_poison, uint32_t n)
{
    uint32_t size = pe_bulk_fold_size(b);
    for (uint32_t k = 0; k < n; k += size) {
        uint64_t old = 0;
        uint64_t x = 0;
        memcpy(&old, to + k, size);
        memcpy(&x, from + k, size);
        x = pe_atom_fold(b->fold, (pg_ptx_type)b->fold_type, old, x);
        memcpy(to + k, &x, size);
        for (uint32_t j = 0; j < size; j++) {
            to_poison[k + j] |= from_poison[k + j];
        }
    }
}

static void write_global(const pe_bulk *b, uint32_t row)
{
    pe_bulk_span s = pe_bulk_row(b, row);
    const uint8_t *data = b->data + (size_t)row * b->row_bytes + s.first;
    const uint8_t *poison = b->poison + (size_t)row * b->row_bytes + s.first;
    if (s.first == s.end) {
        return;
    }
    size_t off = (size_t)(s.at - b->array->base);
    if (b->fold != 0) {
        fold_bytes(b, b->array->data + off, b->array->poison + off, data, poison, s.end - s.first);
        return;
    }
    memcpy(b->array->data + off, data, s.end - s.first);
    memcpy(b->array->poison + off, poison, s.end - s.first);
}

static void signal_bytes(pe_bulk *b, uint32_t first, uint32_t end)
{
    pe_mbar_use u = {.w = b->w, .i = b->i, .lane = b->lane, .home = b->home};
    if (!pe_mbar_find(&u, b->mbar)) {
        return;
    }
    if (b->home->races != NULL) {
        uint32_t last = end == b->n_bytes ? b->n_shared : end;
        pe_race_signalled(b->home, (pe_bytes){b->shared + first, last - first}, b->serial, u.b);
    }
    u.b->load = b->i;
    u.b->load_w = b->w;
    u.b->load_lane = b->lane;
    u.b->load_over = u.b->n_over + 1;
    if (b->w->cta->trace != NULL) {
        pe_moment came = b->end;
        came.track = b->w->cta == b->home ? came.track : PE_NO_TRACK;
        pe_trace_latest(&u.b->open_at, came);
    }
    pe_mbar_complete(&u, end - first);
}

static void write_chunk(pe_bulk *b, pe_bulk_chunk *c)
{
    uint32_t first = c->first * b->row_bytes;
    uint32_t end = c->end * b->row_bytes < b->n_bytes ? c->end * b->row_bytes : b->n_bytes;
    c->is_written = true;
    b->n_unwritten--;
    if (b->kind == PE_BULK_STORE) {
        for (uint32_t row = c->first; row < c->end; row++) {
            write_global(b, row);
        }
        return;
    }
    const pe_region *s = &b->home->shared;
    for (uint32_t k = first; k < end; k += PIECE) {
        uint32_t at = piece_at(b, k);
        if (b->fold != 0) {
            memset(s->poison + at, 0, PIECE); /* set at issue, to hide what is under way */
            fold_bytes(b, s->data + at, s->poison + at, b->data + k, b->poison + k, PIECE);
        } else {
            memcpy(s->data + at, b->data + k, PIECE);
            memcpy(s->poison + at, b->poison + k, PIECE);
        }
    }
    signal_bytes(b, first, end);
}

/* ---- the list ---------------------------------------------------------------------------------
 */

static void free_copy(pe_cta *cta, pe_bulk *b)
{
    pg_alloc alloc = cta->worker->alloc;
    resize(alloc, b->data, (size_t)b->n_bytes * 2, 0);
    resize(alloc, b, sizeof *b, 0);
}

/* Takes finished copies out of the list. */
static void sweep(pe_cta *cta)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < cta->n_bulks; k++) {
        pe_bulk *b = cta->bulks[k];
        bool is_over =
            b->n_unwritten == 0 && b->n_tasks == 0 && (b->kind != PE_BULK_STORE || b->is_waited);
        if (is_over) {
            if (b->kind != PE_BULK_STORE && cta->races != NULL) {
                pe_race_bulk_done_reading(b);
            }
            free_copy(cta, b);
        } else {
            cta->bulks[n++] = b;
        }
    }
    cta->n_bulks = n;
}

static void step(pe_bulk *b, pe_bulk_chunk *c, bool is_now)
{
    if (!c->is_read) {
        read_chunk(b, c);
    }
    if (!c->is_written && (is_now || c->write_at <= b->w->cta->n_steps)) {
        write_chunk(b, c);
    }
}

static void run_chunk(pe_task *t)
{
    pe_bulk *b = t->data;
    pe_cta *cta = b->w->cta;
    pe_bulk_chunk *c = &b->chunk[t->order];
    b->n_tasks--;
    step(b, c, c->is_read);
    if (!c->is_written && !cta->is_failed) {
        b->n_tasks++;
        pe_task_at(cta, t, c->write_at);
        return;
    }
    sweep(cta);
}

void pe_bulk_fini(pe_cta *cta)
{
    for (uint32_t k = 0; k < cta->n_bulks; k++) {
        free_copy(cta, cta->bulks[k]);
    }
    resize(cta->worker->alloc, (void *)cta->bulks, cta->bulks_cap * sizeof(pe_bulk *), 0);
}

/* ---- issue ------------------------------------------------------------------------------------
 */

static bool check_shared(const pe_bulk *b, uint32_t at, bool is_write)
{
    uint8_t *poison = NULL;
    pe_inst as = *b->i;
    as.space = PE_SP_CLUSTER;
    as.size = as.n = 1;
    return pe_resolve(b->w, &as, b->lane, at, is_write, &poison) != NULL &&
           pe_resolve(b->w, &as, b->lane, at + b->n_shared - 1, is_write, &poison) != NULL;
}

static bool check_global(pe_bulk *b)
{
    uint8_t *poison = NULL;
    pe_inst as = *b->i;
    bool is_write = b->kind == PE_BULK_STORE;
    as.space = PG_PTX_SP_GLOBAL;
    as.size = as.n = 1;
    for (uint32_t row = 0; row < b->n_rows; row++) {
        pe_bulk_span s = pe_bulk_row(b, row);
        if (s.first == s.end) {
            continue;
        }
        uint64_t last = s.at + (s.end - s.first) - 1;
        if (pe_resolve(b->w, &as, b->lane, s.at, is_write, &poison) == NULL ||
            pe_resolve(b->w, &as, b->lane, last, is_write, &poison) == NULL) {
            return false;
        }
        pe_region *array = pe_device_find(b->w->cta->launch->d, s.at);
        if (b->array != NULL && b->array != array) {
            pe_fault_at(b->w, b->i, PTXEXEC_F_TENSOR_MAP, (pe_place){.lanes = 1u << b->lane},
                        "the box lies in two arrays, '%s' and '%s'", b->array->label, array->label);
            return false;
        }
        b->array = array;
    }
    return true;
}

/* Up to PE_BULK_CHUNKS of them, cut at whole lines. */
static void cut(pe_bulk *b, uint64_t draw)
{
    uint32_t unit = 1;
    while (unit * b->row_bytes % PE_BULK_LINE != 0) {
        unit *= 2;
    }
    uint32_t n_units = (b->n_rows + unit - 1) / unit;
    uint32_t n = 1 + (uint32_t)(draw & (PE_BULK_CHUNKS - 1));
    n = n < n_units ? n : n_units;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t end = (n_units * (k + 1) / n) * unit;
        b->chunk[k] = (pe_bulk_chunk){.first = k == 0 ? 0 : b->chunk[k - 1].end,
                                      .end = end < b->n_rows ? end : b->n_rows};
    }
    b->n_chunks = b->n_unread = b->n_unwritten = n;
}

/* When each chunk is read and written. */
static void begin(pe_bulk *b, uint64_t draw)
{
    pe_cta *cta = b->w->cta;
    uint64_t now = cta->n_steps;
    uint32_t way = (uint32_t)(draw >> 61);
    for (uint32_t k = 0; k < b->n_chunks && !cta->is_failed; k++) {
        uint64_t delays = pe_random(&cta->rng);
        uint64_t read_at = way >= 3 ? now + (delays & (MAX_DELAY - 1)) : now;
        pe_bulk_chunk *c = &b->chunk[k];
        read_at = way == 2 ? now + HELD_BACK : read_at;
        c->write_at = way == 0   ? now
                      : way == 1 ? now + HELD_BACK
                      : way == 2 ? read_at
                                 : read_at + (delays >> 16 & (MAX_DELAY - 1));
        if (read_at == now) {
            step(b, c, false);
        }
        if (!c->is_written && !cta->is_failed) {
            pe_task t = {.run = run_chunk, .w = b->w, .i = b->i, .lane = b->lane, .order = k};
            t.data = b;
            b->n_tasks++;
            pe_task_at(cta, &t, c->is_read ? c->write_at : read_at);
        }
    }
}

static pe_bulk *enlist(const pe_bulk *copy)
{
    pe_cta *cta = copy->w->cta;
    pg_alloc alloc = cta->worker->alloc;
    if (cta->n_bulks == cta->bulks_cap) {
        uint32_t cap = cta->bulks_cap == 0 ? 16 : cta->bulks_cap * 2;
        pe_bulk **grown = resize(alloc, (void *)cta->bulks, cta->bulks_cap * sizeof(pe_bulk *),
                                 cap * sizeof(pe_bulk *));
        if (grown == NULL) {
            return NULL;
        }
        cta->bulks = grown;
        cta->bulks_cap = cap;
    }
    pe_bulk *b = resize(alloc, NULL, 0, sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    *b = *copy;
    b->data = resize(alloc, NULL, 0, (size_t)b->n_bytes * 2);
    if (b->data == NULL) {
        resize(alloc, b, sizeof *b, 0);
        return NULL;
    }
    b->poison = b->data + b->n_bytes;
    return cta->bulks[cta->n_bulks++] = b;
}

void pe_bulk_issue(const pe_bulk *copy)
{
    pe_cta *cta = copy->w->cta;
    pe_bulk plan = *copy;
    bool is_store = plan.kind == PE_BULK_STORE;
    uint32_t span = pe_tmap_swizzle_span(plan.swizzle);
    plan.n_shared = (plan.n_bytes + span - 1) / span * span;
    if (plan.n_bytes == 0) {
        return; /* allowed, and nothing is signalled */
    }
    if (!check_shared(&plan, plan.shared, !is_store) ||
        (plan.kind == PE_BULK_SEND && !check_shared(&plan, plan.source, false)) ||
        (plan.kind != PE_BULK_SEND && !check_global(&plan))) {
        return;
    }
    pe_bulk *b = enlist(&plan);
    if (b == NULL) {
        cta->worker->is_oom = true;
        return;
    }
    if (cta->trace != NULL) {
        static const char *const names[] = {"load", "store", "send"};
        pe_moment now = pe_trace_now(b->w, b->i);
        b->end = pe_trace_copy(cta, &now, b->n_bytes, names[b->kind], &b->read_end);
    }
    if (cta->races != NULL) {
        pe_race_bulk_issue(b);
        if (cta->is_failed) {
            return;
        }
    }
    if (!is_store) { /* nobody may count on old or new contents */
        memset(b->home->shared.poison + (b->shared - b->home->shared.base), 1, b->n_shared);
    }
    uint64_t draw = pe_random(&cta->rng);
    cut(b, draw);
    begin(b, draw);
    sweep(cta);
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

/* All chunks up to reading, or to the end. Tasks that come later find nothing to do. */
static void finish(pe_bulk *b, bool is_read)
{
    for (uint32_t k = 0; k < b->n_chunks; k++) {
        pe_bulk_chunk *c = &b->chunk[k];
        if (!c->is_read) {
            read_chunk(b, c);
        }
        if (!is_read && !c->is_written) {
            write_chunk(b, c);
        }
    }
    if (b->n_unwritten == 0) {
        pe_tasks_drop(b->w->cta, b);
        b->n_tasks = 0;
    }
}

void pe_bulk_wait(pe_warp *w, uint32_t mask, const uint32_t first_open[PE_LANES], bool is_read)
{
    pe_cta *cta = w->cta;
    for (uint32_t k = 0; k < cta->n_bulks; k++) {
        pe_bulk *b = cta->bulks[k];
        if (b->kind != PE_BULK_STORE || b->w != w || (mask >> b->lane & 1u) == 0 ||
            b->group >= first_open[b->lane]) {
            continue;
        }
        finish(b, is_read);
        if (cta->trace != NULL) { /* the instruction that runs is the wait */
            pe_trace_reach(w, &cta->launch->m->code.at[w->pc - 1],
                           is_read ? &b->read_end : &b->end);
        }
        if (cta->races != NULL) {
            pe_race_bulk_waited(b, is_read);
        }
        b->is_read_waited = true;
        b->is_waited = b->is_waited || !is_read;
    }
    sweep(cta);
}

static bool is_waited_for(const pe_cta *cta)
{
    for (uint32_t k = 0; k < cta->n_mbars; k++) {
        const pe_mbar *m = &cta->mbars[k];
        if (m->is_valid && m->load_over > m->seen_over) {
            pe_fault_at(m->load_w, m->load, PTXEXEC_F_ASYNC,
                        (pe_place){.lanes = 1u << m->load_lane,
                                   .address = PE_SHARED_WINDOW + m->at,
                                   .size = PE_MBAR_SIZE},
                        "the CTA ended, and nobody waited for this copy into its shared memory at "
                        "the mbarrier at shared address 0x%x",
                        m->at);
            return false;
        }
    }
    return true;
}

void pe_bulk_exit(pe_cta *cta)
{
    for (uint32_t k = 0; k < cta->n_bulks && !cta->is_failed; k++) {
        pe_bulk *b = cta->bulks[k];
        if (b->kind == PE_BULK_SEND && b->n_unread > 0) {
            pe_fault_at(
                b->w, b->i, PTXEXEC_F_ASYNC, (pe_place){.lanes = 1u << b->lane},
                "the CTA ended while this copy may still read its shared memory: who got it "
                "must have said so, by a barrier of the cluster or an mbarrier");
        } else if (b->kind != PE_BULK_STORE && b->home != cta) {
            finish(b, false); /* into another CTA: that one's to wait for */
        } else if (b->kind != PE_BULK_STORE) {
            pe_fault_at(b->w, b->i, PTXEXEC_F_ASYNC, (pe_place){.lanes = 1u << b->lane},
                        "the CTA ended while this copy into shared memory was under way: somebody "
                        "must wait for it at the mbarrier at shared address 0x%x",
                        b->mbar);
        } else if (!b->is_read_waited) {
            pe_fault_at(
                b->w, b->i, PTXEXEC_F_ASYNC, (pe_place){.lanes = 1u << b->lane},
                "the CTA ended while this copy may still read its shared memory: the "
                "issuing thread must commit it and wait with cp.async.bulk.wait_group.read");
        } else {
            finish(b, false);
            b->is_waited = true;
        }
    }
    if (!cta->is_failed && is_waited_for(cta)) {
        sweep(cta);
    }
}
