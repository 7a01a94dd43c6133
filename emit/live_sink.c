/* live_sink.c: moves what is computed in one block and needed in later ones only to where it is
 * needed, as ptxas does: addresses of an epilogue are not kept through the loop before it.
 *
 * I1  Moved is arithmetic without a guard whose registers are written once each, those that it
 *     reads included: it gives the same value wherever its operands are known.
 * I2  It goes to the nearest block that all its uses lie behind, and never into a loop that it was
 *     not in.
 * I3  The operands that live on for it take no more than what it makes.
 * I4  Blocks keep their order and at least their last statement; spans begin with the same blocks.
 */
#include <string.h>

#include "emit/live_int.h"

enum { MOST_STEPS = 256 }; /* up the tree of dominators for one statement: beyond that it stays */

typedef struct sink {
    pg_live *l;
    uint32_t *rank, *by_rank; /* of blocks in reverse postorder; UINT32_MAX: not reached */
    uint32_t n_ranks;
    uint32_t *idom;    /* by rank */
    uint8_t *n_writes; /* by register: 0, 1, 2 for more */
    uint32_t *needed;  /* by register: two blocks + 1 in which it is read */
    uint32_t *place;   /* by statement: the one before which it goes, or itself */
} sink;

static bool rank_blocks(sink *k)
{
    pg_live *l = k->l;
    const uint32_t n = l->blocks.n;
    uint32_t *stack = PG_NEWS(l->arena, uint32_t, n + 1);
    uint32_t *edge = PG_NEWS(l->arena, uint32_t, n + 1);
    bool *is_seen = PG_NEWS(l->arena, bool, n + 1);
    k->rank = PG_NEWS(l->arena, uint32_t, n + 1);
    k->by_rank = PG_NEWS(l->arena, uint32_t, n + 1);
    if (pg_arena_status(l->arena) != PG_OK) {
        return false;
    }
    uint32_t at = n;
    uint32_t n_stack = 0;
    if (n != 0) {
        is_seen[0] = true;
        edge[0] = l->succ_at[0];
        stack[n_stack++] = 0;
    }
    while (n_stack != 0) {
        const uint32_t b = stack[n_stack - 1];
        if (edge[n_stack - 1] == l->succ_at[b + 1]) {
            k->by_rank[--at] = b;
            n_stack--;
            continue;
        }
        const uint32_t to = l->succ[edge[n_stack - 1]++];
        if (!is_seen[to]) {
            is_seen[to] = true;
            edge[n_stack] = l->succ_at[to];
            stack[n_stack++] = to;
        }
    }
    memset(k->rank, 0xFF, n * sizeof *k->rank);
    k->n_ranks = n - at;
    memmove(k->by_rank, k->by_rank + at, k->n_ranks * sizeof *k->by_rank);
    for (uint32_t i = 0; i < k->n_ranks; i++) {
        k->rank[k->by_rank[i]] = i;
    }
    return true;
}

static uint32_t common(const sink *k, uint32_t a, uint32_t b, uint32_t *steps)
{
    while (a != b && *steps != 0) {
        --*steps;
        if (a > b) {
            a = k->idom[a];
        } else {
            b = k->idom[b];
        }
    }
    return a == b ? a : 0;
}

/* Cooper, Harvey and Kennedy: in reverse postorder until nothing changes. */
static bool find_dominators(sink *k)
{
    const pg_live *l = k->l;
    k->idom = PG_NEWS(l->arena, uint32_t, l->blocks.n + 1);
    if (k->idom == NULL) {
        return false;
    }
    memset(k->idom, 0xFF, l->blocks.n * sizeof *k->idom);
    k->idom[0] = 0;
    for (bool changes = true; changes;) {
        changes = false;
        for (uint32_t i = 1; i < k->n_ranks; i++) {
            const uint32_t b = k->by_rank[i];
            uint32_t to = UINT32_MAX;
            uint32_t steps = UINT32_MAX;
            for (uint32_t e = l->pred_at[b]; e < l->pred_at[b + 1]; e++) {
                const uint32_t p = k->rank[l->pred[e]];
                if (k->idom[p] != UINT32_MAX) {
                    to = to == UINT32_MAX ? p : common(k, to, p, &steps);
                }
            }
            changes = changes || k->idom[i] != to;
            k->idom[i] = to;
        }
    }
    return true;
}

static bool count_writes(sink *k)
{
    const pg_live *l = k->l;
    k->n_writes = PG_NEWS(l->arena, uint8_t, l->f->regs.n + 1);
    if (k->n_writes == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < l->text.n; i++) {
        const pg_live_ref *r = &l->text.refs[i];
        if ((r->how & PG_LIVE_WRITE) != 0 && k->n_writes[r->reg] < 2) {
            k->n_writes[r->reg]++;
        }
    }
    return true;
}

/* I1 */
static bool may_move(const sink *k, uint32_t s)
{
    const pg_live *l = k->l;
    const pg_live_index *x = &l->text;
    const uint16_t fixed = PG_LIVE_FENCE | PG_LIVE_SPLIT | PG_LIVE_LOAD;
    if (l->f->body.at[s].kind != PG_PTX_S_INST || (l->what[s] & fixed) != 0 ||
        l->f->body.at[s].guard.kind != PG_PTX_O_NONE || l->blocks.at[l->block_of[s]].end == s + 1) {
        return false;
    }
    bool writes = false;
    for (uint32_t e = x->stmt_at[s]; e < x->stmt_at[s + 1]; e++) {
        if (k->n_writes[x->refs[e].reg] != 1) {
            return false;
        }
        writes = writes || (x->refs[e].how & PG_LIVE_WRITE) != 0;
    }
    return writes;
}

static bool is_in_loop(const pg_live *l, uint32_t block, uint32_t loop)
{
    uint32_t at = l->blocks.at[block].loop;
    while (at != 0 && at != loop) {
        at = l->blocks.at[at - 1].outer;
    }
    return at == loop;
}

/* I2, I4 */
static bool may_hold(const sink *k, uint32_t from, uint32_t to)
{
    const pg_live *l = k->l;
    const pg_live_block *b = &l->blocks.at[to];
    return is_in_loop(l, from, b->loop) && l->f->body.at[b->end - 1].kind == PG_PTX_S_INST;
}

/* The statement before which s goes: the first that needs it in the block that is its place (I2),
 * or the last of that block. s itself: it stays. */
static uint32_t place_of(const sink *k, uint32_t s)
{
    const pg_live *l = k->l;
    const pg_live_index *x = &l->text;
    const uint32_t least = k->rank[l->block_of[s]];
    uint32_t to = UINT32_MAX;
    uint32_t steps = MOST_STEPS;
    for (uint32_t e = x->stmt_at[s]; e < x->stmt_at[s + 1]; e++) {
        const uint32_t reg = x->refs[e].reg;
        for (uint32_t j = x->reg_at[reg];
             (x->refs[e].how & PG_LIVE_WRITE) != 0 && j < x->reg_at[reg + 1]; j++) {
            const pg_live_ref *r = &x->refs[x->by_reg[j]];
            if ((r->how & PG_LIVE_READ) != 0) {
                const uint32_t b = k->rank[l->block_of[k->place[r->at]]];
                to = to == UINT32_MAX ? b : common(k, to, b, &steps);
            }
        }
    }
    while (to != UINT32_MAX && to > least && !may_hold(k, l->block_of[s], k->by_rank[to])) {
        to = k->idom[to];
    }
    if (to == UINT32_MAX || to <= least) {
        return s;
    }
    uint32_t first = l->blocks.at[k->by_rank[to]].end - 1;
    for (uint32_t e = x->stmt_at[s]; e < x->stmt_at[s + 1]; e++) {
        const uint32_t reg = x->refs[e].reg;
        for (uint32_t j = x->reg_at[reg];
             (x->refs[e].how & PG_LIVE_WRITE) != 0 && j < x->reg_at[reg + 1]; j++) {
            const pg_live_ref *r = &x->refs[x->by_reg[j]];
            const uint32_t at = k->place[r->at];
            if ((r->how & PG_LIVE_READ) != 0 && l->block_of[at] == k->by_rank[to] && at < first) {
                first = at;
            }
        }
    }
    return first;
}

/* What a value takes from one block to the next, in words. */
static uint32_t words_of(const pg_live *l, uint32_t reg)
{
    const uint32_t bits = pg_ptx_type_infos[l->f->regs.at[reg].type].bits;
    return l->is_uniform[reg] || bits == 1 ? 0 : bits <= 32 ? 1 : bits / 32;
}

/* Something behind s needs the register in another block than that of s. */
static bool is_needed_on(const sink *k, uint32_t reg, uint32_t s)
{
    const uint32_t block = k->l->block_of[s] + 1;
    const uint32_t *seen = &k->needed[2 * (size_t)reg];
    return (seen[0] != 0 && seen[0] != block) || (seen[1] != 0 && seen[1] != block);
}

/* Two blocks are enough to tell. */
static void note_needs(sink *k, uint32_t s)
{
    const pg_live_index *x = &k->l->text;
    const uint32_t block = k->l->block_of[k->place[s]] + 1;
    for (uint32_t e = x->stmt_at[s]; e < x->stmt_at[s + 1]; e++) {
        uint32_t *seen = &k->needed[2 * (size_t)x->refs[e].reg];
        if ((x->refs[e].how & PG_LIVE_READ) != 0 && seen[0] != block) {
            seen[seen[0] == 0 ? 0 : 1] = block;
        }
    }
}

/* I3 */
static bool is_worth(const sink *k, uint32_t s)
{
    const pg_live *l = k->l;
    const pg_live_index *x = &l->text;
    uint32_t before = 0;
    uint32_t after = 0;
    for (uint32_t e = x->stmt_at[s]; e < x->stmt_at[s + 1]; e++) {
        const uint32_t reg = x->refs[e].reg;
        if ((x->refs[e].how & PG_LIVE_WRITE) != 0) {
            before += words_of(l, reg);
        } else if (!is_needed_on(k, reg, s)) {
            after += words_of(l, reg);
        }
    }
    return after <= before;
}

/* Statements by place, what moved in front of what was there. */
static pg_status permute(const sink *k, uint32_t *next, pg_ptx_func *out, uint32_t *from)
{
    const pg_live *l = k->l;
    const uint32_t n = l->f->body.n;
    pg_ptx_stmt *body = PG_NEWS(l->arena, pg_ptx_stmt, n + 1);
    uint32_t *label_at = PG_NEWS(l->arena, uint32_t, l->f->label_at.n + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t s = 0; s < n; s++) {
        from[k->place[s] == s ? next[s + 1] - 1 : next[k->place[s]]++] = s;
    }
    memset(label_at, 0xFF, l->f->label_at.n * sizeof *label_at);
    for (uint32_t p = 0; p < n; p++) {
        body[p] = l->f->body.at[from[p]];
        if (body[p].kind == PG_PTX_S_LABEL && body[p].id < l->f->label_at.n) {
            label_at[body[p].id] = p;
        }
    }
    *out = *l->f;
    out->body.at = body;
    out->label_at.at = label_at;
    return PG_OK;
}

pg_status pg_live_sink(pg_live *l, pg_live_span *spans, uint32_t n_spans, pg_ptx_func *out,
                       uint32_t *from)
{
    const uint32_t n = l->f->body.n;
    sink k = {.l = l};
    k.place = PG_NEWS(l->arena, uint32_t, n + 1);
    k.needed = PG_NEWS(l->arena, uint32_t, 2 * (size_t)l->f->regs.n + 2);
    uint32_t *next = PG_NEWS(l->arena, uint32_t, n + 2);
    if (pg_arena_status(l->arena) != PG_OK || !rank_blocks(&k) || !find_dominators(&k) ||
        !count_writes(&k)) {
        return PG_E_NOMEM;
    }
    for (uint32_t s = 0; s < n; s++) {
        k.place[s] = s;
    }
    for (uint32_t s = n; s-- > 0;) {
        if (l->blocks.at[l->block_of[s]].is_reached && may_move(&k, s) && is_worth(&k, s)) {
            k.place[s] = place_of(&k, s);
        }
        note_needs(&k, s);
        next[k.place[s] + 1]++;
    }
    for (uint32_t s = 0; s < n; s++) {
        next[s + 1] += next[s];
    }
    for (uint32_t i = 0; i < n_spans; i++) { /* I4 */
        spans[i].first = next[spans[i].first < n ? spans[i].first : n];
        spans[i].end = next[spans[i].end < n ? spans[i].end : n];
    }
    return permute(&k, next, out, from);
}
