/* wgmma_regs.c: who may touch the registers of a wgmma, and when wgmma.fence is needed.
 *
 * R1  From a product to the wait of the same warp that covers it, only other products of the same
 *     shape touch its accumulators (these follow each other), and nobody writes its registers of A.
 * R2  Between an access to a register (accumulators: any, A: writing) and a product that uses it,
 *     the warp executes wgmma.fence; products of one shape need none between them. The first
 *     product of a warp needs one.
 * Only registers that some wgmma of the function names are looked at (track.c). */
#include "tools/exec/wgmma.h"

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

static size_t size_for(uint32_t n_rows)
{
    return sizeof(pe_wg_regs) + n_rows * sizeof(pe_wg_row);
}

/* Room for all rows that the warp has now. */
static pe_wg_regs *regs_of(pe_warp *w)
{
    pe_wg_regs *old = w->wg_regs;
    if (old != NULL && old->n_rows >= w->n32) {
        return old;
    }
    size_t old_size = old != NULL ? size_for(old->n_rows) : 0;
    pe_wg_regs *x = resize(w->cta->worker->alloc, old, old_size, size_for(w->n32));
    if (x == NULL) {
        w->cta->worker->is_oom = true;
        return NULL;
    }
    if (old_size == 0) {
        memset(x, 0, sizeof *x);
    }
    memset(x->rows + x->n_rows, 0, (w->n32 - x->n_rows) * sizeof x->rows[0]);
    x->n_rows = w->n32;
    w->wg_regs = x;
    return x;
}

void pe_wg_regs_free(pe_warp *w)
{
    if (w->wg_regs != NULL) {
        resize(w->cta->worker->alloc, w->wg_regs, size_for(w->wg_regs->n_rows), 0);
        w->wg_regs = NULL;
    }
}

void pe_wg_fence(pe_warp *w)
{
    pe_wg_regs *x = regs_of(w);
    if (x != NULL) {
        x->n_fences++;
    }
}

/* ---- reports ------------------------------------------------------------------------------------
 */

/* The youngest product of the warp that has the row. */
static const pe_wg_op *owner(pe_warp *w, uint32_t row, bool is_acc)
{
    const pe_wgroup *g = pe_wg_of(w);
    uint32_t self = w->index % PE_WG_WARPS;
    for (uint32_t k = g != NULL ? g->n_ops : 0; k > 0; k--) {
        const pe_wg_op *op = g->ops[k - 1];
        const pe_opnd *rows = is_acc ? op->x->d : op->x->a;
        uint32_t n = is_acc ? op->x->n_d : op->x->is_a_reg ? 4 : 0;
        bool is_open = (op->joined & ~op->waited & 1u << self) != 0;
        for (uint32_t j = 0; is_open && j < n; j++) {
            if (op->base32[self] + rows[j] == row) {
                return op;
            }
        }
    }
    return NULL;
}

static void report_flight(pe_warp *w, const pe_inst *i, uint32_t row, bool is_write, bool is_acc)
{
    const pe_wg_op *op = owner(w, row, is_acc);
    const pe_wgroup *g = pe_wg_of(w);
    const ptxexec_module *m = w->cta->launch->m;
    if (op == NULL || g == NULL) {
        return;
    }
    pg_loc loc = m->srcs.at[op->i->src].loc;
    bool is_committed = op->group < g->n_commits[w->index % PE_WG_WARPS];
    uint32_t n = w->cta->n_faults;
    pe_fault_at(w, i, PTXEXEC_F_IN_FLIGHT, (pe_place){.lanes = PE_ALL},
                "this %s %s of the wgmma of line %u, which is in flight: %s",
                is_write ? "writes" : "reads", is_acc ? "an accumulator" : "a register of A",
                loc.line,
                is_committed ? "no wgmma.wait_group since covers its group"
                             : "no wgmma.commit_group followed it, so that no wait covers it");
    if (w->cta->n_faults > n) {
        ptxexec_fault *f = &w->cta->worker->last_fault->f;
        f->has_other = 1;
        f->other = f->at;
        f->other.line = loc.line;
        f->other.column = loc.column;
    }
}

static void report_fence(pe_warp *w, const pe_inst *i, const pe_wg_row *r, bool is_acc)
{
    const char *what = r->kind == PE_WG_TOUCH_READ    ? "was read"
                       : r->kind == PE_WG_TOUCH_WRITE ? "was written"
                                                      : "belonged to a product of another shape";
    pe_fault_at(w, i, PTXEXEC_F_WGMMA_FENCE, (pe_place){.lanes = PE_ALL},
                "%s of this product %s since the warp's last wgmma.fence",
                is_acc ? "an accumulator" : "a register of A", what);
}

/* ---- the rules ----------------------------------------------------------------------------------
 */

bool pe_wg_touch(pe_warp *w, const pe_inst *i)
{
    pe_wg_regs *x = w->wg_regs;
    if (x == NULL) {
        return true; /* before the first fence */
    }
    const ptxexec_module *m = w->cta->launch->m;
    const pe_src *src = &m->srcs.at[i->src];
    for (uint32_t k = 0; k < src->n_refs; k++) {
        uint32_t ref = m->refs.at[src->refs + k];
        bool is_write = (ref & PE_REF_WRITE) != 0;
        uint32_t row = w->base32 + ref / 2;
        if (row >= x->n_rows) {
            continue;
        }
        pe_wg_row *r = &x->rows[row];
        if (r->n_acc != 0 || (is_write && r->n_frag != 0)) {
            report_flight(w, i, row, is_write, r->n_acc != 0);
            return false;
        }
        bool is_kept = r->epoch == x->n_fences && r->kind == PE_WG_TOUCH_WRITE;
        r->kind = is_write || is_kept ? PE_WG_TOUCH_WRITE : PE_WG_TOUCH_READ;
        r->epoch = x->n_fences;
    }
    return true;
}

static uint16_t shape_of(const pe_wgmma *x)
{
    return (uint16_t)(PE_WG_TOUCH_SHAPE + x->n + (x->k << 7));
}

static bool lock_acc(pe_warp *w, const pe_inst *i, const pe_wgmma *x, uint32_t row)
{
    pe_wg_row *r = &w->wg_regs->rows[row];
    bool is_fresh = r->epoch == w->wg_regs->n_fences && r->kind != PE_WG_TOUCH_NONE;
    uint16_t shape = shape_of(x);
    if (r->n_frag != 0 || (r->n_acc != 0 && r->kind != shape)) {
        report_flight(w, i, row, true, r->n_acc != 0);
        return false;
    }
    if (is_fresh && r->kind != shape) {
        report_fence(w, i, r, true);
        return false;
    }
    r->epoch = w->wg_regs->n_fences;
    r->kind = shape;
    r->n_acc++;
    return true;
}

static bool lock_frag(pe_warp *w, const pe_inst *i, uint32_t row)
{
    pe_wg_row *r = &w->wg_regs->rows[row];
    bool is_fresh = r->epoch == w->wg_regs->n_fences && r->kind != PE_WG_TOUCH_NONE;
    if (r->n_acc != 0) {
        report_flight(w, i, row, false, true);
        return false;
    }
    if (is_fresh && r->kind != PE_WG_TOUCH_READ) {
        report_fence(w, i, r, false);
        return false;
    }
    r->n_frag++;
    return true;
}

bool pe_wg_lock(pe_warp *w, const pe_inst *i, const pe_wgmma *x)
{
    pe_wg_regs *regs = regs_of(w);
    if (regs == NULL) {
        return false;
    }
    if (regs->n_fences == 0) {
        pe_fault_at(w, i, PTXEXEC_F_WGMMA_FENCE, (pe_place){.lanes = PE_ALL},
                    "the warp executed no wgmma.fence before its first product");
        return false;
    }
    for (uint32_t j = 0; j < x->n_d; j++) {
        if (!lock_acc(w, i, x, w->base32 + x->d[j])) {
            return false;
        }
    }
    for (uint32_t j = 0; x->is_a_reg && j < 4; j++) {
        if ((x->a[j] & PE_CONST) == 0 && !lock_frag(w, i, w->base32 + x->a[j])) {
            return false;
        }
    }
    return true;
}

void pe_wg_unlock(pe_warp *w, const pe_wg_op *op, uint32_t base32)
{
    pe_wg_row *rows = w->wg_regs->rows;
    for (uint32_t j = 0; j < op->x->n_d; j++) {
        rows[base32 + op->x->d[j]].n_acc--;
    }
    for (uint32_t j = 0; op->x->is_a_reg && j < 4; j++) {
        if ((op->x->a[j] & PE_CONST) == 0) {
            rows[base32 + op->x->a[j]].n_frag--;
        }
    }
}
