/* lifetime.c: buffers that are never alive at one time.
 *
 * R is the innermost region with all uses of both. In R, uses lie in direct children, one after the
 * other.
 *   I1  A barrier of all threads that run R stands in R itself, between the last child that uses
 *       the one and the first that uses the other; or in a region inside that has all uses of the
 *       other, before them.
 *   I2  Where R runs more than once, another barrier lies on the way back.
 *   I3  What async.get writes has been waited for before the barrier, in R or in a region inside
 *       that has all uses. Buffers that other asynchronous units use, and buffers that travel
 *       through regions, are apart from none. */
#include "ir/lifetime.h"

typedef struct use {
    const pg_inst *inst;
    uint32_t next; /* index + 1 of the next one of the same buffer; 0 ends */
} use;

typedef struct buffer {
    uint32_t first; /* index + 1 into uses */
    bool is_async;  /* written by async.get */
    bool is_bound;  /* I3 */
} buffer;

struct pg_lifetimes {
    const pg_kernel *k;
    uint32_t n_vals;
    uint32_t *root;  /* by value id: index + 1 of the buffer that it is or shows */
    uint32_t *order; /* by instruction id: place in the text */
    bool has_parts;
    PG_VEC(buffer) buffers;
    PG_VEC(use) uses;
};

static bool note_use(pg_lifetimes *l, pg_arena *arena, const pg_inst *i, uint32_t at)
{
    const uint32_t b = i->in[at].id < l->n_vals ? l->root[i->in[at].id] : 0;
    if (b == 0) {
        return true;
    }
    buffer *buf = &l->buffers.at[b - 1];
    if (i->op == PG_OP_BUF_VIEW && at == 0 && i->out[0].id < l->n_vals) {
        l->root[i->out[0].id] = b;
        return true;
    }
    buf->is_async = buf->is_async || i->op == PG_OP_ASYNC_GET;
    buf->is_bound = buf->is_bound || (i->op != PG_OP_ASYNC_GET && i->op != PG_OP_BUF_LOAD &&
                                      i->op != PG_OP_BUF_STORE);
    if (!pg_vec_push(arena, &l->uses, ((use){i, buf->first}))) {
        return false;
    }
    buf->first = l->uses.n;
    return true;
}

pg_status pg_lifetimes_make(const pg_kernel *k, pg_arena *arena, pg_lifetimes **out)
{
    uint32_t n = 0, n_ids = 0;
    pg_lifetimes *l = PG_NEWS(arena, pg_lifetimes, 1);
    *out = l;
    for (const pg_inst *i = k->body->first; i != NULL; i = pg_inst_walk(i, k->body)) {
        n_ids = i->id >= n_ids ? i->id + 1 : n_ids;
    }
    if (l == NULL) {
        return PG_E_NOMEM;
    }
    *l = (pg_lifetimes){.k = k, .n_vals = k->values.n};
    l->root = PG_NEWS(arena, uint32_t, l->n_vals + 1);
    l->order = PG_NEWS(arena, uint32_t, n_ids + 1);
    if (l->root == NULL || l->order == NULL) {
        return PG_E_NOMEM;
    }
    for (const pg_inst *i = k->body->first; i != NULL; i = pg_inst_walk(i, k->body)) {
        l->order[i->id] = n++;
        l->has_parts = l->has_parts || i->op == PG_OP_PARTITION;
        for (uint32_t j = 0; j < i->n_in; j++) {
            if (!note_use(l, arena, i, j)) {
                return PG_E_NOMEM;
            }
        }
        if (i->op == PG_OP_BUF_NEW && i->out[0].id < l->n_vals) {
            if (!pg_vec_push(arena, &l->buffers, (buffer){0})) {
                return PG_E_NOMEM;
            }
            l->root[i->out[0].id] = l->buffers.n;
        }
    }
    return PG_OK;
}

/* ---- one pair -------------------------------------------------------------------------------- */

static uint32_t depth_of(const pg_region *r)
{
    uint32_t n = 0;
    for (; r->owner != NULL; r = r->owner->parent) {
        n++;
    }
    return n;
}

static const pg_region *common(const pg_region *a, const pg_region *b)
{
    uint32_t da = depth_of(a), db = depth_of(b);
    while (a != b) {
        if (da >= db) {
            a = a->owner->parent;
            da--;
        } else {
            b = b->owner->parent;
            db--;
        }
    }
    return a;
}

static const pg_region *region_of(const pg_lifetimes *l, const buffer *b, const pg_region *r)
{
    for (uint32_t u = b->first; u != 0; u = l->uses.at[u - 1].next) {
        const pg_region *own = l->uses.at[u - 1].inst->parent;
        r = r == NULL ? own : common(r, own);
    }
    return r;
}

typedef struct span {
    uint32_t first, last; /* order of direct children of R */
} span;

static span span_of(const pg_lifetimes *l, const buffer *b, const pg_region *r)
{
    span s = {UINT32_MAX, 0};
    for (uint32_t u = b->first; u != 0; u = l->uses.at[u - 1].next) {
        const pg_inst *i = l->uses.at[u - 1].inst;
        while (i->parent != r) {
            i = i->parent->owner;
        }
        const uint32_t at = l->order[i->id];
        s.first = at < s.first ? at : s.first;
        s.last = at > s.last ? at : s.last;
    }
    return s;
}

static bool is_barrier(const pg_lifetimes *l, const pg_inst *i)
{
    const bool is_in_part = pg_inst_find_parent(i, PG_OP_PARTITION) != NULL;
    return i->op == PG_OP_CTA_SYNC || i->op == PG_OP_PART_SYNC ||
           (i->op == PG_OP_WARP_SYNC && pg_inst_warps(i) == 1 && (is_in_part || !l->has_parts));
}

static bool is_wait(const pg_inst *i)
{
    return i->op == PG_OP_ASYNC_WAIT && pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0) == 0;
}

/* A barrier in R strictly between two places; where `waits`, behind a wait for all async.get. */
static bool has_barrier(const pg_lifetimes *l, const pg_region *r, uint32_t from, uint32_t to,
                        bool waits)
{
    pg_foreach_inst (i, r) {
        const uint32_t at = l->order[i->id];
        if (at <= from || at >= to) {
            continue;
        }
        waits =
            waits && !(i->op == PG_OP_ASYNC_WAIT && pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0) == 0);
        if (!waits && is_barrier(l, i)) {
            return true;
        }
    }
    return false;
}

static bool has_wait(const pg_lifetimes *l, const pg_region *r, uint32_t from, uint32_t to)
{
    pg_foreach_inst (i, r) {
        if (is_wait(i) && l->order[i->id] > from && l->order[i->id] < to) {
            return true;
        }
    }
    return false;
}

/* Do all copies into the buffer land before a region below r ends that has all its uses? */
static bool ends_with_wait(const pg_lifetimes *l, const pg_region *r, const buffer *b)
{
    for (const pg_region *own = region_of(l, b, NULL); own != r; own = own->owner->parent) {
        if (has_wait(l, own, span_of(l, b, own).last, UINT32_MAX)) {
            return true;
        }
    }
    return false;
}

static const pg_inst *part_of(const pg_region *r)
{
    const pg_inst *i = r->owner;
    return i == NULL || i->op == PG_OP_PARTITION ? i : pg_inst_find_parent(i, PG_OP_PARTITION);
}

/* A barrier before the first use in a region below r that has all uses of the buffer. */
static bool begins_with_barrier(const pg_lifetimes *l, const pg_region *r, const buffer *b)
{
    for (const pg_region *own = region_of(l, b, NULL); own != r; own = own->owner->parent) {
        if (part_of(own) != part_of(r)) {
            continue; /* its barriers are for fewer threads */
        }
        if (has_barrier(l, own, l->order[own->owner->id], span_of(l, b, own).first, false)) {
            return true;
        }
    }
    return false;
}

static bool comes_before(const pg_lifetimes *l, const pg_region *r, const buffer *a,
                         const buffer *b)
{
    const span x = span_of(l, a, r), y = span_of(l, b, r);
    if (x.last >= y.first) {
        return false;
    }
    const bool a_waits = a->is_async && !ends_with_wait(l, r, a);
    const bool b_waits = b->is_async && !ends_with_wait(l, r, b);
    if (!has_barrier(l, r, x.last, y.first, a_waits) &&
        !((!a_waits || has_wait(l, r, x.last, y.first)) && begins_with_barrier(l, r, b))) {
        return false;
    }
    bool runs_again = false; /* r has an owner then */
    for (const pg_inst *i = r->owner; i != NULL; i = i->parent->owner) {
        runs_again = runs_again || pg_is_loop(i);
    }
    return !runs_again || has_barrier(l, r, y.last, UINT32_MAX, b_waits) ||
           ((!b_waits || has_wait(l, r, y.last, UINT32_MAX)) &&
            has_barrier(l, r, l->order[r->owner->id], x.first, false));
}

bool pg_lifetimes_apart(const pg_lifetimes *l, pg_val a, pg_val b)
{
    const uint32_t i = a.id < l->n_vals ? l->root[a.id] : 0;
    const uint32_t j = b.id < l->n_vals ? l->root[b.id] : 0;
    if (i == 0 || j == 0 || i == j) {
        return false;
    }
    const buffer *x = &l->buffers.at[i - 1], *y = &l->buffers.at[j - 1];
    if (x->is_bound || y->is_bound || x->first == 0 || y->first == 0) {
        return false;
    }
    const pg_region *r = region_of(l, y, region_of(l, x, NULL));
    return comes_before(l, r, x, y) || comes_before(l, r, y, x);
}
