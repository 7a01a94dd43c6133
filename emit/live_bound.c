/* live_bound.c: an upper bound of what is live, in a pass over the text and no walk.
 *
 * I1  A register is taken to live from its first reference in the text to its last. Where it is not
 *     written first and used in one block, and such an end stands between a block and one that
 *     jumps back to it, it lives in all of that, and in all that overlaps with it. No walk through
 *     the blocks leaves such a range and comes back to it: so it holds all points where the
 *     register lives.
 * I2  Registers cost at least what pg_live_costs says.
 * I3  Where that is too much in a block as written, the block's other order is looked at. What
 *     enters and leaves a block is the same in each order. */
#include "emit/live_int.h"

typedef struct stretch { /* of text around a block, in which control may go back */
    uint32_t first, end; /* statements; 0, 0: none */
} stretch;

/* Unions of what stands between the two ends of edges that go back, by block. */
static stretch *find_stretches(const pg_live *l)
{
    stretch *out = PG_NEWS(l->arena, stretch, l->blocks.n + 1);
    uint32_t *until = PG_NEWS(l->arena, uint32_t, l->blocks.n + 1);
    if (out == NULL || until == NULL) {
        return NULL;
    }
    for (uint32_t b = 0; b < l->blocks.n; b++) {
        for (uint32_t e = l->succ_at[b]; e < l->succ_at[b + 1]; e++) {
            uint32_t head = l->succ[e];
            until[head] = head <= b && until[head] < b + 1 ? b + 1 : until[head];
        }
    }
    for (uint32_t b = 0; b < l->blocks.n;) {
        uint32_t end = until[b];
        for (uint32_t k = b; k < end; k++) {
            end = until[k] > end ? until[k] : end;
        }
        for (uint32_t k = b; k < end; k++) {
            out[k] = (stretch){l->blocks.at[b].first, l->blocks.at[end - 1].end};
        }
        b = end > b ? end : b + 1;
    }
    return out;
}

static void add_range(const pg_live *l, const stretch *stretches, const pg_live_range *x,
                      int32_t cost, int32_t *change)
{
    uint32_t first = x->how == PG_LIVE_WRITE ? x->first + 1 : x->first;
    uint32_t end = x->end;
    const bool is_wide = x->end != 0 && l->block_of[x->first] != l->block_of[x->end - 1];
    if (is_wide || x->how != PG_LIVE_WRITE) {
        const stretch *a = &stretches[l->block_of[x->first]];
        const stretch *b = &stretches[l->block_of[x->end - 1]];
        first = a->end != 0 ? a->first : first;
        end = b->end != 0 ? b->end : end;
    }
    if (first < end) {
        change[first] += cost;
        change[end] -= cost;
    }
}

static pg_status peaks_of(const pg_live *l, const uint32_t *order, const stretch *stretches,
                          pg_live_peak *by_block)
{
    const pg_ptx_func *f = l->f;
    int32_t *change = PG_NEWS(l->arena, int32_t, f->body.n + 1);
    pg_live_range *ranges = l->ranges;
    if (order != NULL) {
        ranges = PG_NEWS(l->arena, pg_live_range, f->regs.n + 1);
    }
    PG_TRY(pg_arena_status(l->arena));
    if (order != NULL) {
        pg_live_find_ranges(l, order, ranges);
    }
    for (uint32_t r = 0; r < f->regs.n; r++) {
        const int32_t bits = pg_ptx_type_infos[f->regs.at[r].type].bits;
        if (ranges[r].is_made && bits > 1) {
            add_range(l, stretches, &ranges[r], bits <= 32 ? 1 : bits / 32, change);
        }
    }
    uint32_t now = 0;
    for (uint32_t b = 0; b < l->blocks.n; b++) {
        by_block[b] = (pg_live_peak){.stmt = UINT32_MAX};
        for (uint32_t p = l->blocks.at[b].first; p < l->blocks.at[b].end; p++) {
            const uint32_t s = order == NULL ? p : order[p];
            now += (uint32_t)change[p];
            if (f->body.at[s].kind != PG_PTX_S_INST || !l->blocks.at[b].is_reached) {
                continue;
            }
            uint32_t live = now + ((l->what[s] & PG_LIVE_SPLIT) != 0 ? PG_LIVE_SLOW_PATH : 0);
            if (by_block[b].stmt == UINT32_MAX || live > by_block[b].least) {
                by_block[b] =
                    (pg_live_peak){.estimate = live, .least = live, .usual = live, .stmt = s};
            }
        }
    }
    return PG_OK;
}

/* The peaks of the spans; which blocks go over what is enough. */
static bool is_enough(const pg_live *l, const pg_live_span *spans, uint32_t n_spans,
                      const pg_live_peak *by_block, bool *is_over, pg_live_peak *out)
{
    bool is_good = true;
    for (uint32_t i = 0; i < n_spans; i++) {
        out[i] = (pg_live_peak){.stmt = UINT32_MAX};
        uint32_t b = spans[i].first < l->f->body.n ? l->block_of[spans[i].first] : l->blocks.n;
        for (; b < l->blocks.n && l->blocks.at[b].first < spans[i].end; b++) {
            if (out[i].stmt == UINT32_MAX || by_block[b].least > out[i].least) {
                out[i] = by_block[b];
            }
            if (by_block[b].least > spans[i].enough) {
                is_over[b] = true;
                is_good = false;
            }
        }
    }
    return is_good;
}

pg_status pg_live_bound(pg_live *l, const pg_live_span *spans, uint32_t n_spans, pg_live_peak *out,
                        bool *out_is_enough)
{
    const stretch *stretches = find_stretches(l);
    pg_live_peak *by_block = PG_NEWS(l->arena, pg_live_peak, l->blocks.n + 1);
    bool *is_over = PG_NEWS(l->arena, bool, l->blocks.n + 1);
    PG_TRY(pg_arena_status(l->arena));
    PG_TRY(peaks_of(l, NULL, stretches, by_block));
    *out_is_enough = is_enough(l, spans, n_spans, by_block, is_over, out);
    if (!*out_is_enough) {
        PG_TRY(pg_live_order(l, PG_LIVE_TEXT, is_over));
        PG_TRY(peaks_of(l, l->order, stretches, by_block));
        *out_is_enough = is_enough(l, spans, n_spans, by_block, is_over, out);
    }
    return PG_OK;
}
