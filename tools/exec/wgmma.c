/* wgmma.c: products of warp groups: who executed which, when they read, who waited.
 *
 * I1  The warps of a group execute the same products in the same order, with equal descriptors and
 *     scale-d, and commit them in the same groups; the first that differs is a fault.
 * I2  A product reads shared memory only after its fourth warp came, and not after the first wait
 *     that covers it; A and B at moments of their own.
 * I3  Registers of A are taken when their warp comes, accumulators are read and written at the
 *     first wait. Nobody can tell: touching them in between is a fault (wgmma_regs.c).
 * I4  ops[0 .. n_ops) are the products that some warp has not waited for, oldest first; only a
 *     prefix of them is done. */
#include "tools/exec/wgmma.h"

#include "tools/exec/race.h"

enum { MAX_DELAY = 2048, ALL_WARPS = (1 << PE_WG_WARPS) - 1 };

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

pe_wgroup *pe_wg_of(pe_warp *w)
{
    pe_cta *cta = w->cta;
    if (cta->wg == NULL) {
        cta->wg = resize(cta->worker->alloc, NULL, 0, sizeof *cta->wg);
        if (cta->wg == NULL) {
            cta->worker->is_oom = true;
            return NULL;
        }
        memset(cta->wg, 0, sizeof *cta->wg);
        cta->wg->next_due = UINT64_MAX;
    }
    return &cta->wg->group[w->index / PE_WG_WARPS];
}

void pe_wg_fini(pe_cta *cta)
{
    pg_alloc alloc = cta->worker->alloc;
    for (uint32_t k = 0; cta->wg != NULL && k < PG_COUNT_OF(cta->wg->group); k++) {
        pe_wgroup *g = &cta->wg->group[k];
        for (uint32_t j = 0; j < g->n_made; j++) {
            resize(alloc, g->ops[j], sizeof(pe_wg_op), 0);
        }
        resize(alloc, (void *)g->ops, g->cap * sizeof *g->ops, 0);
    }
    resize(alloc, cta->wg, sizeof *cta->wg, 0);
    cta->wg = NULL;
}

/* At the end of the group's list; its contents are left from earlier. */
static pe_wg_op *new_op(pe_cta *cta, pe_wgroup *g)
{
    pg_alloc alloc = cta->worker->alloc;
    if (g->n_ops == g->cap) {
        uint32_t cap = g->cap == 0 ? 8 : g->cap * 2;
        pe_wg_op **ops = resize(alloc, (void *)g->ops, g->cap * sizeof *ops, cap * sizeof *ops);
        if (ops == NULL) {
            cta->worker->is_oom = true;
            return NULL;
        }
        g->ops = ops;
        g->cap = cap;
    }
    if (g->n_ops == g->n_made) {
        pe_wg_op *op = resize(alloc, NULL, 0, sizeof *op);
        if (op == NULL) {
            cta->worker->is_oom = true;
            return NULL;
        }
        g->ops[g->n_made++] = op;
    }
    g->n_begun++;
    return g->ops[g->n_ops++];
}

/* ---- matrices in shared memory ------------------------------------------------------------------
 */

/* Pieces of a matrix of n rows (of A) or columns (of B). */
static void extent(bool is_k_major, const pe_wgmma *x, uint32_t n, uint32_t *lines,
                   uint32_t *pieces)
{
    *lines = is_k_major ? n : x->k;
    *pieces = is_k_major ? PE_WG_ROW / PE_PIECE : n / 8;
}

static bool is_inside(pe_warp *w, const pe_inst *i, const pe_wgmma *x, const pe_desc *d, bool is_b)
{
    const pe_region *s = &w->cta->shared;
    const uint64_t base = s->base & PE_RANK_MASK; /* descriptors have no rank */
    const uint64_t end = base + s->size;
    uint32_t lines = 0;
    uint32_t pieces = 0;
    extent(d->is_k_major, x, is_b ? x->n : PE_WG_M, &lines, &pieces);
    for (uint32_t line = 0; line < lines; line++) {
        for (uint32_t piece = 0; piece < pieces; piece++) {
            const uint64_t at = pe_desc_piece(d, line, piece);
            if (at >= base && at + PE_PIECE <= end) {
                continue;
            }
            pe_fault_at(
                w, i, PTXEXEC_F_OUT_OF_BOUNDS,
                (pe_place){.lanes = PE_ALL, .address = PE_SHARED_WINDOW + at, .size = PE_PIECE},
                "matrix %s: its descriptor leads to the shared address 0x%llx (%s %u, 16 "
                "bytes %u), outside the shared memory, which ends at 0x%llx",
                is_b ? "B" : "A", (unsigned long long)at, d->is_k_major ? "row" : "k", line, piece,
                (unsigned long long)end);
            return false;
        }
    }
    return true;
}

static void read_matrix(pe_cta *cta, pe_wg_op *op, bool is_b)
{
    const pe_wgmma *x = op->x;
    const pe_region *s = &cta->shared;
    pe_desc d = pe_desc_of(op->desc[is_b], is_b ? x->is_b_k_major : x->is_a_k_major);
    uint8_t(*rows)[PE_WG_ROW] = is_b ? op->b : op->a;
    bool *bad = is_b ? op->is_b_bad : op->is_a_bad;
    uint32_t lines = 0;
    uint32_t pieces = 0;
    extent(d.is_k_major, x, is_b ? x->n : PE_WG_M, &lines, &pieces);
    for (uint32_t line = 0; line < lines; line++) {
        for (uint32_t piece = 0; piece < pieces; piece++) {
            size_t at = pe_desc_piece(&d, line, piece) - (size_t)(s->base & PE_RANK_MASK);
            const uint8_t *from = s->data + at;
            if (d.is_k_major) {
                memcpy(rows[line] + (size_t)piece * PE_PIECE, from, PE_PIECE);
            }
            for (uint32_t e = 0; !d.is_k_major && e < 8; e++) {
                memcpy(rows[piece * 8 + e] + (size_t)line * 2, from + (size_t)e * 2, 2);
            }
            uint64_t any[2];
            memcpy(any, s->poison + at, sizeof any);
            for (uint32_t e = 0; (any[0] | any[1]) != 0 && e < PE_PIECE; e++) {
                bool is_bad = s->poison[at + e] != 0;
                bad[d.is_k_major ? line : piece * 8 + e / 2] |= is_bad;
                op->has_bad |= is_bad;
            }
        }
    }
    op->is_read[is_b] = true;
}

/* Registers of A: the same bytes for all types: register j of lane l holds the bytes
 * 4 (l % 4) + 16 (j / 2) of the row 16 w + l / 4 + 8 (j % 2). */
static void take_registers(const pe_warp *w, pe_wg_op *op)
{
    for (uint32_t j = 0; j < 4; j++) {
        const uint32_t *r = pe_src32(w, op->x->a[j]);
        uint32_t bad = pe_poison32(w, op->x->a[j]);
        for (uint32_t l = 0; l < PE_LANES; l++) {
            uint32_t row = 16 * (w->index % PE_WG_WARPS) + l / 4 + 8 * (j % 2);
            memcpy(op->a[row] + (size_t)4 * (l % 4) + (size_t)16 * (j / 2), &r[l], 4);
            op->is_a_bad[row] |= (bad >> l & 1u) != 0;
        }
        op->has_bad |= bad != 0;
    }
}

/* ---- time ---------------------------------------------------------------------------------------
 */

static void issue(pe_cta *cta, pe_wg_op *op)
{
    for (uint32_t m = 0; m < 2; m++) {
        if (op->is_read[m]) {
            continue;
        }
        uint64_t draw = pe_random(&cta->rng);
        op->read_at[m] = draw >> 62 == 0   ? cta->n_steps
                         : draw >> 62 == 1 ? cta->n_steps + (draw & (MAX_DELAY - 1))
                                           : UINT64_MAX;
        if (op->read_at[m] <= cta->n_steps) {
            read_matrix(cta, op, m == 1);
        } else if (op->read_at[m] < cta->wg->next_due) {
            cta->wg->next_due = op->read_at[m];
        }
    }
}

void pe_wg_advance(pe_cta *cta)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t k = 0; k < PG_COUNT_OF(cta->wg->group); k++) {
        pe_wgroup *g = &cta->wg->group[k];
        for (uint32_t j = 0; j < g->n_ops; j++) {
            pe_wg_op *op = g->ops[j];
            for (uint32_t m = 0; op->joined == ALL_WARPS && m < 2; m++) {
                if (!op->is_read[m] && op->read_at[m] <= cta->n_steps) {
                    read_matrix(cta, op, m == 1);
                } else if (!op->is_read[m] && op->read_at[m] < next) {
                    next = op->read_at[m];
                }
            }
        }
    }
    cta->wg->next_due = next;
}

/* ---- warps --------------------------------------------------------------------------------------
 */

static uint32_t line_of(const pe_warp *w, const pe_inst *i)
{
    return w->cta->launch->m->srcs.at[i->src].loc.line;
}

static bool is_same(pe_warp *w, const pe_inst *i, const pe_wg_op *op, const uint64_t desc[2],
                    bool is_adding)
{
    uint32_t line = line_of(w, op->i);
    const char *what = NULL;
    if (op->i != i) {
        pe_fault_at(w, i, PTXEXEC_F_WARP_GROUP, (pe_place){.lanes = PE_ALL},
                    "another warp of the warp group executed line %u instead of this: the four "
                    "must execute the same products in the same order",
                    line);
        return false;
    }
    if (!op->x->is_a_reg && desc[0] != op->desc[0]) {
        what = "descriptor of A";
    } else if (desc[1] != op->desc[1]) {
        what = "descriptor of B";
    } else if (is_adding != op->is_adding) {
        what = "scale-d";
    } else if (op->group != pe_wg_of(w)->n_commits[w->index % PE_WG_WARPS]) {
        what = "number of groups committed before";
    }
    if (what != NULL) {
        pe_fault_at(w, i, PTXEXEC_F_WARP_GROUP, (pe_place){.lanes = PE_ALL},
                    "the %s is not that of another warp of the warp group", what);
    }
    return what == NULL;
}

static void wake_waiters(pe_warp *w)
{
    uint32_t first = w->index / PE_WG_WARPS * PE_WG_WARPS;
    for (uint32_t k = first; k < first + PE_WG_WARPS; k++) {
        pe_warp *v = &w->cta->warps[k];
        if (v->live == PE_ALL && v->wait[0] == PE_W_WGMMA) {
            pe_lanes_wake(v, PE_ALL, false);
        }
    }
}

bool pe_wg_join(pe_warp *w, const pe_inst *i, const uint64_t desc[2], bool is_adding)
{
    pe_cta *cta = w->cta;
    pe_wgroup *g = pe_wg_of(w);
    const pe_wgmma *x = i->ext;
    uint32_t self = w->index % PE_WG_WARPS;
    if (g == NULL) {
        return false;
    }
    pe_wg_op *op = NULL;
    if (g->n_joined[self] < g->n_begun) {
        op = g->ops[g->n_ops - (g->n_begun - g->n_joined[self])];
        if (!is_same(w, i, op, desc, is_adding)) {
            return false;
        }
    } else {
        pe_desc a = pe_desc_of(desc[0], x->is_a_k_major);
        pe_desc b = pe_desc_of(desc[1], x->is_b_k_major);
        if ((!x->is_a_reg && !is_inside(w, i, x, &a, false)) || !is_inside(w, i, x, &b, true)) {
            return false;
        }
        op = new_op(cta, g);
        if (op == NULL) {
            return false;
        }
        memset(op, 0, sizeof *op);
        op->i = i;
        op->x = x;
        op->desc[0] = desc[0];
        op->desc[1] = desc[1];
        op->is_adding = is_adding;
        op->group = g->n_commits[self];
        op->is_read[0] = x->is_a_reg;
    }
    g->n_joined[self]++;
    op->joined |= 1u << self;
    op->base32[self] = w->base32;
    if (x->is_a_reg) {
        take_registers(w, op);
    }
    if (cta->races != NULL && !pe_race_wgmma_join(w, i, op)) {
        return false;
    }
    if (cta->trace != NULL) {
        pe_trace_latest(&op->begin, pe_trace_now(w, i));
    }
    if (op->joined == ALL_WARPS) {
        if (cta->trace != NULL) {
            op->end = pe_trace_product(cta, &op->begin, x->n);
        }
        issue(cta, op);
        wake_waiters(w);
    }
    return true;
}

void pe_wg_commit(pe_warp *w)
{
    pe_wgroup *g = pe_wg_of(w);
    if (g != NULL) {
        g->n_commits[w->index % PE_WG_WARPS]++;
    }
}

/* Products that a wait of the warp covers: ops[0 .. result). */
static uint32_t n_covered(const pe_wgroup *g, uint32_t self, uint64_t n_open)
{
    uint32_t n_commits = g->n_commits[self];
    uint32_t n = 0;
    while (n < g->n_ops && (g->ops[n]->joined >> self & 1u) != 0 &&
           g->ops[n]->group + n_open < n_commits) {
        n++;
    }
    return n;
}

static void complete(pe_cta *cta, uint32_t first_warp, pe_wg_op *const *ops, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t m = 0; m < 2; m++) {
            if (!ops[k]->is_read[m]) {
                read_matrix(cta, ops[k], m == 1);
            }
        }
    }
    pe_wg_multiply(cta, first_warp, ops, n);
    for (uint32_t k = 0; k < n; k++) {
        ops[k]->is_done = true;
    }
}

/* Products that all live warps waited for leave the list. */
static void forget(pe_cta *cta, pe_wgroup *g, uint32_t first_warp)
{
    uint32_t gone = 0;
    for (uint32_t k = 0; k < PE_WG_WARPS; k++) {
        gone |= cta->warps[first_warp + k].live == 0 ? 1u << k : 0;
    }
    uint32_t n = 0;
    while (n < g->n_ops && g->ops[n]->is_done && (g->ops[n]->waited | gone) == ALL_WARPS) {
        n++;
    }
    for (uint32_t k = n; n > 0 && k < g->n_ops; k++) {
        pe_wg_op *op = g->ops[k - n];
        g->ops[k - n] = g->ops[k];
        g->ops[k] = op;
    }
    g->n_ops -= n;
}

bool pe_wg_wait(pe_warp *w, const pe_inst *i, uint64_t n_open)
{
    pe_cta *cta = w->cta;
    pe_wgroup *g = pe_wg_of(w);
    uint32_t self = w->index % PE_WG_WARPS;
    uint32_t first_warp = w->index - self;
    uint32_t n = g != NULL ? n_covered(g, self, n_open) : 0;
    uint32_t n_done = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (g->ops[k]->joined != ALL_WARPS) {
            return false;
        }
        n_done += g->ops[k]->is_done ? 1 : 0;
    }
    if (n > n_done) {
        complete(cta, first_warp, g->ops + n_done, n - n_done);
    }
    for (uint32_t k = 0; k < n; k++) {
        if ((g->ops[k]->waited >> self & 1u) == 0) {
            g->ops[k]->waited |= 1u << self;
            pe_wg_unlock(w, g->ops[k], g->ops[k]->base32[self]);
        }
    }
    if (n > 0 && cta->trace != NULL) {
        pe_trace_reach(w, i, &g->ops[n - 1]->end);
    }
    if (n > 0) {
        if (cta->races != NULL) { /* ops[0] is number n_begun - n_ops */
            pe_race_wgmma_waited(w, (uint32_t)(g->n_begun - g->n_ops + n));
        }
        forget(cta, g, first_warp);
    }
    return true;
}

/* ---- reports ------------------------------------------------------------------------------------
 */

static void put_missing(pg_strbuf *text, uint32_t first_warp, uint32_t joined)
{
    const char *between = "";
    for (uint32_t k = 0; k < PE_WG_WARPS; k++) {
        if ((joined >> k & 1u) == 0) {
            pg_putf(text, "%s%u", between, first_warp + k);
            between = ", ";
        }
    }
}

static void report_missing(pe_warp *w, const pe_inst *i, uint32_t lanes, const pe_wg_op *op,
                           const char *format)
{
    pg_strbuf text;
    pg_strbuf_init(&text, w->cta->worker->alloc);
    put_missing(&text, w->index / PE_WG_WARPS * PE_WG_WARPS, op->joined);
    if (text.is_oom) {
        w->cta->worker->is_oom = true;
    } else {
        pe_fault_at(w, i, PTXEXEC_F_WARP_GROUP, (pe_place){.lanes = lanes},
                    "%s line %u, which the warps %s of the warp group did not execute", format,
                    line_of(w, op->i), text.ptr);
    }
    pg_strbuf_fini(&text);
}

void pe_wg_report_wait(pe_warp *w, const pe_inst *i, uint32_t group)
{
    const pe_wgroup *g = pe_wg_of(w);
    for (uint32_t k = 0; g != NULL && k < g->n_ops; k++) {
        if (g->ops[k]->joined != ALL_WARPS) {
            report_missing(w, i, group, g->ops[k], "this waits for the product of");
            return;
        }
    }
}

void pe_wg_end(pe_cta *cta)
{
    for (uint32_t k = 0; k < PG_COUNT_OF(cta->wg->group) && !cta->is_failed; k++) {
        const pe_wgroup *g = &cta->wg->group[k];
        for (uint32_t j = 0; j < g->n_ops && !cta->is_failed; j++) {
            if (g->ops[j]->joined != ALL_WARPS) {
                pe_warp *w = &cta->warps[k * PE_WG_WARPS + pe_first(g->ops[j]->joined)];
                report_missing(w, g->ops[j]->i, PE_ALL, g->ops[j], "all warps have exited after");
            }
        }
    }
}
