/* lower_late.c: puts what feeds a run of instructions right before the first of them that takes it.
 *
 * Operands of a product come whole from shared memory before its first instruction. ptxas would
 * take them apart again, but where all of them together fill the registers it keeps too many.
 *
 * I1  Only statements move that write fresh registers and read registers and shared memory, back to
 *     the last one that is anything else: nothing between orders memory. At most MOST: recursion
 *     goes along chains of them.
 * I2  Every statement stays behind those whose registers it reads. Numbers of instructions
 *     (pg_vn.stmt) go with them. */
#include "emit/lower_int.h"

enum { MOST = 1024 };

typedef struct late {
    pg_lw *c;
    uint32_t first, anchor, end; /* statements: [first, anchor) move, [anchor, end) stay in order */
    uint32_t *writer;            /* by register: statement + 1 */
    uint32_t *order;             /* by new place */
    bool *is_done;               /* by statement from `first` on */
    uint32_t n_out;
} late;

/* I1 */
static bool may_move(const pg_ptx_stmt *s)
{
    static const char *const words[] = {"ld.shared", "ldmatrix.", "mov.",  "cvt.", "add.",
                                        "sub.",      "mul.",      "shl.",  "shr.", "and.",
                                        "or.",       "xor.",      "prmt.", "lop3."};
    if (s->kind != PG_PTX_S_INST || s->guard.kind != PG_PTX_O_NONE || s->n_ops < 2) {
        return false;
    }
    for (size_t i = 0; i < PG_COUNT_OF(words); i++) {
        if (pg_str_starts(s->text, pg_str_of(words[i]))) {
            return true;
        }
    }
    return false;
}

static void put(late *l, uint32_t s);

/* Operands within operands: an address has registers, a vector too. */
/* NOLINTNEXTLINE(misc-no-recursion): PG_PTX_MAX_NEST */
static void visit(late *l, const pg_ptx_opnd *o, uint32_t depth, uint32_t writer)
{
    const pg_ptx_func *f = l->c->b.f;
    if (o->kind == PG_PTX_O_REG) {
        if (writer != 0) {
            l->writer[o->id] = writer;
        } else if (l->writer[o->id] != 0) {
            put(l, l->writer[o->id] - 1);
        }
        return;
    }
    const bool has_parts = o->kind == PG_PTX_O_ADDR || o->kind == PG_PTX_O_VEC;
    const uint32_t n = o->kind == PG_PTX_O_ADDR ? 1 : o->n;
    for (uint32_t i = 0; has_parts && depth < PG_PTX_MAX_NEST && i < n; i++) {
        visit(l, &f->pool.at[o->id + i], depth + 1, writer);
    }
}

/* Of those that move: what it reads, then itself. Depth: the longest chain from an address to a
 * converted element. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void put(late *l, uint32_t s)
{
    if (s >= l->anchor || l->is_done[s - l->first]) {
        return;
    }
    const pg_ptx_func *f = l->c->b.f;
    const pg_ptx_stmt *at = &f->body.at[s];
    l->is_done[s - l->first] = true;
    for (uint32_t k = 1; k < at->n_ops; k++) {
        visit(l, &f->pool.at[at->ops + k], 0, 0);
    }
    l->order[l->n_out++] = s;
}

static bool start(late *l)
{
    pg_lw *c = l->c;
    const pg_ptx_func *f = c->b.f;
    l->first = l->anchor;
    while (l->first > 0 && l->anchor - l->first < MOST && may_move(&f->body.at[l->first - 1])) {
        l->first--;
    }
    l->writer = PG_NEWS(&c->scratch, uint32_t, f->regs.n + 1);
    l->order = PG_NEWS(&c->scratch, uint32_t, l->end - l->first + 1);
    l->is_done = PG_NEWS(&c->scratch, bool, l->end - l->first + 1);
    if (l->writer == NULL || l->order == NULL || l->is_done == NULL) {
        return false;
    }
    for (uint32_t s = l->first; s < l->anchor; s++) {
        visit(l, &f->pool.at[f->body.at[s].ops], 0, s + 1);
    }
    return true;
}

/* What the anchors do not need keeps its place before them. */
static void mark_unneeded(late *l, bool *is_needed)
{
    const pg_ptx_func *f = l->c->b.f;
    for (uint32_t s = l->anchor; s < l->end; s++) {
        for (uint32_t k = 1; k < f->body.at[s].n_ops; k++) {
            visit(l, &f->pool.at[f->body.at[s].ops + k], 0, 0);
        }
    }
    memcpy(is_needed, l->is_done, (l->anchor - l->first) * sizeof *is_needed);
    memset(l->is_done, 0, (l->anchor - l->first) * sizeof *is_needed);
    l->n_out = 0;
}

static void order_all(late *l, const bool *is_needed)
{
    const pg_ptx_func *f = l->c->b.f;
    for (uint32_t s = l->first; s < l->anchor; s++) {
        if (!is_needed[s - l->first]) {
            put(l, s);
        }
    }
    for (uint32_t s = l->anchor; s < l->end; s++) {
        for (uint32_t k = 1; k < f->body.at[s].n_ops; k++) {
            visit(l, &f->pool.at[f->body.at[s].ops + k], 0, 0);
        }
        l->order[l->n_out++] = s;
    }
}

static void apply(late *l)
{
    pg_lw *c = l->c;
    pg_ptx_func *f = c->b.f;
    const uint32_t n = l->end - l->first;
    pg_ptx_stmt *was = PG_NEWS(&c->scratch, pg_ptx_stmt, n + 1);
    uint32_t *place = PG_NEWS(&c->scratch, uint32_t, n + 1);
    if (was == NULL || place == NULL || l->n_out != n) {
        return;
    }
    memcpy(was, &f->body.at[l->first], n * sizeof *was);
    for (uint32_t i = 0; i < n; i++) {
        f->body.at[l->first + i] = was[l->order[i] - l->first];
        place[l->order[i] - l->first] = l->first + i;
    }
    for (uint32_t i = 0; i < c->vn.n; i++) { /* I2 */
        pg_vn *x = &c->vn.at[i];
        x->stmt = x->stmt >= l->first && x->stmt < l->end ? place[x->stmt - l->first] : x->stmt;
    }
}

void pg_lw_late(pg_lw *c, uint32_t anchor)
{
    late l = {.c = c, .anchor = anchor, .end = c->b.f->body.n};
    if (pg_lw_failed(c) || !start(&l)) {
        return;
    }
    bool *is_needed = PG_NEWS(&c->scratch, bool, l.anchor - l.first + 1);
    if (is_needed != NULL) {
        mark_unneeded(&l, is_needed);
        order_all(&l, is_needed);
        apply(&l);
    }
}
