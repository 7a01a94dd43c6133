/* live_order.c: orders in which ptxas may run a block.
 *
 * An epoch is a run of statements between two that order memory or control: nothing moves across
 * those except arithmetic that is needed later only. In an epoch
 *   LATE   nothing comes first,
 *   TEXT   arithmetic comes as written,
 *   GIVEN  everything does,
 *   WIDE   what depends on least comes first: all chains advance together,
 * and all else comes where it is first needed: by a store, a branch, a value that the block hands
 * on, or by what came before.
 *
 * I1  The order is a permutation of each block that keeps every dependence through registers.
 * I2  What stands before a slow path (PG_LIVE_SPLIT) runs before it: ptxas moves nothing into
 *     another block. */
#include "emit/live_int.h"

typedef struct order {
    pg_live *l;
    pg_live_mode mode;
    uint32_t *dep_at; /* by statement: earlier statements of its block */
    PG_VEC(uint32_t) deps;
    uint32_t *last_write;            /* by register: statement + 1 */
    uint32_t *readers, *next_reader; /* reads of a register since then: chain of refs + 1 */
    bool *is_done;
    uint32_t *epoch; /* by statement: the one that its loads let it run in, + 1; in DEEP */
    uint32_t *ready, *next_ready; /* by epoch, and dependence: chain of those + 1 */
    uint32_t *level; /* by statement: length of the longest chain in its block that ends there */
    uint32_t n_out;
    pg_vec_u32 stack, edge;
} order;

static bool is_a(const order *o, uint32_t s, uint16_t what)
{
    return (o->l->what[s] & what) != 0;
}

/* The readers of a register since its last write must come before this one, and so must the write.
 */
static bool add_deps(order *o, uint32_t s, const pg_live_ref *r, uint32_t first)
{
    pg_live *l = o->l;
    uint32_t w = o->last_write[r->reg];
    if (w > first && w <= s && !pg_vec_push(l->arena, &o->deps, w - 1)) {
        return false;
    }
    if ((r->how & PG_LIVE_WRITE) == 0) {
        return true;
    }
    for (uint32_t x = o->readers[r->reg]; x != 0; x = o->next_reader[x - 1]) {
        uint32_t at = l->text.refs[x - 1].at;
        if (at < first) {
            break;
        }
        if (at < s && !pg_vec_push(l->arena, &o->deps, at)) {
            return false;
        }
    }
    return true;
}

static bool find_deps(order *o, uint32_t first, uint32_t end)
{
    const pg_live_index *x = &o->l->text;
    o->deps.n = 0;
    for (uint32_t s = first; s < end; s++) {
        o->dep_at[s] = o->deps.n;
        for (uint32_t k = x->stmt_at[s]; k < x->stmt_at[s + 1]; k++) {
            if (!add_deps(o, s, &x->refs[k], first)) {
                return false;
            }
        }
        for (uint32_t k = x->stmt_at[s]; k < x->stmt_at[s + 1]; k++) {
            uint32_t reg = x->refs[k].reg;
            if ((x->refs[k].how & PG_LIVE_WRITE) != 0) {
                o->last_write[reg] = s + 1;
                o->readers[reg] = 0;
            } else {
                o->next_reader[k] = o->readers[reg];
                o->readers[reg] = k + 1;
            }
        }
    }
    o->dep_at[end] = o->deps.n;
    return true;
}

static bool push(order *o, uint32_t s)
{
    pg_live *l = o->l;
    o->is_done[s] = true;
    return pg_vec_push(l->arena, &o->stack, s) && pg_vec_push(l->arena, &o->edge, o->dep_at[s]);
}

/* Puts s behind all that it depends on. */
static bool put(order *o, uint32_t s)
{
    o->stack.n = o->edge.n = 0;
    if (o->is_done[s]) {
        return true;
    }
    if (!push(o, s)) {
        return false;
    }
    while (o->stack.n != 0) {
        uint32_t at = o->stack.at[o->stack.n - 1];
        uint32_t e = o->edge.at[o->stack.n - 1];
        while (e < o->dep_at[at + 1] && o->is_done[o->deps.at[e]]) {
            e++;
        }
        if (e == o->dep_at[at + 1]) {
            o->l->order[o->n_out++] = at;
            o->stack.n--;
            o->edge.n--;
            continue;
        }
        o->edge.at[o->stack.n - 1] = e + 1;
        if (!push(o, o->deps.at[e])) {
            return false;
        }
    }
    return true;
}

/* The block hands on what s writes, or its next round reads it. */
static bool lives_on(const order *o, uint32_t s, uint32_t block)
{
    const pg_live *l = o->l;
    const pg_live_index *x = &l->text;
    for (uint32_t k = x->stmt_at[s]; k < x->stmt_at[s + 1]; k++) {
        uint32_t reg = x->refs[k].reg;
        if ((x->refs[k].how & PG_LIVE_WRITE) == 0 || o->last_write[reg] != s + 1) {
            continue;
        }
        const pg_live_range *range = &l->ranges[reg];
        if (l->block_of[range->first] != block || l->block_of[range->end - 1] != block ||
            (range->how & PG_LIVE_READ) != 0) {
            return true;
        }
    }
    return false;
}

static bool is_root(const order *o, uint32_t s, uint32_t block, bool is_before_split)
{
    const pg_live_index *x = &o->l->text;
    bool is_text = o->mode == PG_LIVE_TEXT && !is_a(o, s, PG_LIVE_LOAD | PG_LIVE_CHEAP);
    return is_before_split || is_text || x->stmt_at[s] == x->stmt_at[s + 1] ||
           lives_on(o, s, block);
}

static void find_levels(order *o, uint32_t first, uint32_t end)
{
    for (uint32_t s = first; s < end; s++) {
        uint32_t level = 0;
        for (uint32_t e = o->dep_at[s]; e < o->dep_at[s + 1]; e++) {
            const uint32_t below = o->level[o->deps.at[e]] + 1;
            level = below > level ? below : level;
        }
        o->level[s] = level;
    }
}

/* What fences need, by the epoch from which on it can run. Chains are in order of the fences. */
static void find_ready(order *o, uint32_t first, uint32_t end)
{
    uint32_t n = 0;
    for (uint32_t s = first; s < end; s++) {
        const bool is_fence = is_a(o, s, PG_LIVE_FENCE | PG_LIVE_SPLIT);
        uint32_t epoch = is_fence || is_a(o, s, PG_LIVE_LOAD) ? n + 1 : 0;
        for (uint32_t e = o->dep_at[s]; e < o->dep_at[s + 1]; e++) {
            const uint32_t below = o->epoch[o->deps.at[e]];
            epoch = below > epoch ? below : epoch;
        }
        o->epoch[s] = epoch;
        n += is_fence;
        o->ready[first + n] = 0;
    }
    o->ready[first] = 0;
    for (uint32_t s = end; s-- > first;) {
        for (uint32_t e = o->dep_at[s + 1]; is_a(o, s, PG_LIVE_FENCE) && e-- > o->dep_at[s];) {
            const uint32_t d = o->deps.at[e];
            if (o->epoch[d] != 0 && !is_a(o, d, PG_LIVE_FENCE | PG_LIVE_SPLIT | PG_LIVE_LOAD)) {
                o->next_ready[e] = o->ready[first + o->epoch[d] - 1];
                o->ready[first + o->epoch[d] - 1] = e + 1;
            }
        }
    }
}

/* Level by level; a level's statements in order of the text. */
static bool order_wide(order *o, uint32_t first, uint32_t end)
{
    for (uint32_t level = 0, next = 0; next != UINT32_MAX; level = next) {
        next = UINT32_MAX;
        for (uint32_t s = first; s < end; s++) {
            if (o->level[s] > level) {
                next = o->level[s] < next ? o->level[s] : next;
            } else if (!o->is_done[s] && !put(o, s)) {
                return false;
            }
        }
    }
    return true;
}

static bool order_epoch(order *o, uint32_t block, uint32_t first, uint32_t end, uint32_t n)
{
    bool is_before_split = end < o->l->blocks.at[block].end && is_a(o, end, PG_LIVE_SPLIT);
    if (o->mode == PG_LIVE_WIDE) {
        return order_wide(o, first, end);
    }
    for (uint32_t s = first; s < end; s++) {
        if (is_root(o, s, block, is_before_split) && !put(o, s)) {
            return false;
        }
    }
    if (o->mode == PG_LIVE_DEEP) {
        for (uint32_t e = o->ready[o->l->blocks.at[block].first + n]; e != 0;
             e = o->next_ready[e - 1]) {
            if (!put(o, o->deps.at[e - 1])) {
                return false;
            }
        }
    }
    for (uint32_t s = first; s < end; s++) { /* the epoch that a load reads ends here */
        if (is_a(o, s, PG_LIVE_LOAD) && !put(o, s)) {
            return false;
        }
    }
    return true;
}

static bool order_block(order *o, uint32_t block)
{
    const pg_live_block *b = &o->l->blocks.at[block];
    o->n_out = b->first;
    if (!find_deps(o, b->first, b->end)) {
        return false;
    }
    if (o->mode == PG_LIVE_WIDE) {
        find_levels(o, b->first, b->end);
    }
    if (o->mode == PG_LIVE_DEEP) {
        o->next_ready = PG_NEWS(o->l->arena, uint32_t, o->deps.n + 1);
        if (o->next_ready == NULL) {
            return false;
        }
        find_ready(o, b->first, b->end);
    }
    uint32_t n = 0;
    for (uint32_t s = b->first; s < b->end;) {
        uint32_t end = s;
        while (end < b->end && !is_a(o, end, PG_LIVE_FENCE | PG_LIVE_SPLIT)) {
            end++;
        }
        if (!order_epoch(o, block, s, end, n++) || (end < b->end && !put(o, end))) {
            return false;
        }
        s = end + 1;
    }
    for (uint32_t s = b->first; s < b->end; s++) { /* what nobody reads */
        if (!put(o, s)) {
            return false;
        }
    }
    return true;
}

pg_status pg_live_order(pg_live *l, pg_live_mode mode, const bool *is_wanted)
{
    const pg_ptx_func *f = l->f;
    order o = {.l = l, .mode = mode};
    l->order = PG_NEWS(l->arena, uint32_t, f->body.n + 1);
    o.dep_at = PG_NEWS(l->arena, uint32_t, f->body.n + 2);
    o.last_write = PG_NEWS(l->arena, uint32_t, f->regs.n + 1);
    o.readers = PG_NEWS(l->arena, uint32_t, f->regs.n + 1);
    o.next_reader = PG_NEWS(l->arena, uint32_t, l->text.n + 1);
    o.level = PG_NEWS(l->arena, uint32_t, f->body.n + 1);
    o.epoch = PG_NEWS(l->arena, uint32_t, f->body.n + 1);
    o.ready = PG_NEWS(l->arena, uint32_t, f->body.n + 2);
    o.is_done = PG_NEWS(l->arena, bool, f->body.n + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t s = 0; s < f->body.n; s++) {
        l->order[s] = s;
    }
    for (uint32_t b = 0; b < l->blocks.n && mode != PG_LIVE_GIVEN; b++) {
        if ((is_wanted == NULL || is_wanted[b]) && !order_block(&o, b)) {
            return PG_E_NOMEM;
        }
    }
    return PG_OK;
}
