/* live_estimate.c: from what is live in a few orders to what ptxas is likely to give.
 *
 * ptxas has a budget. It starts with what costs no CTA of a multiprocessor: 32 registers, or 64 for
 * CTAs of one warp, of which 32 run at most. Within that budget it runs chains side by side. Where
 * a kernel needs more, the budget is what the next number of CTAs leaves for each thread, and
 * values that are the same for all threads move to uniform registers, unless the kernel fits into
 * one step more without that. The shares below are fitted (docs/registers.md).
 *
 * I1  An estimate is at least what must be live in the span, and a few.
 */
#include "emit/live_int.h"

enum {
    FIRST = 32,     /* registers that cost no CTA */
    FIRST_ONE = 64, /* with one warp in each */
    WARP = 32,
    MULTIPROCESSOR = 65536,
    MOST_THREADS = 2048,
    MOST_CTAS = 32,
    BESIDES = 6, /* the stack's address, and gaps between pairs and fours that have to be aligned */
    FLIGHT = 11  /* of what is loaded ahead although a value could be loaded where it is needed */
};

static uint32_t less(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t more(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* What one thread has if as many CTAs run as leave it `regs`; without a number of threads nothing
 * is known of CTAs. */
static uint32_t step_above(uint32_t threads, uint32_t regs)
{
    uint32_t best = PG_LIVE_THREAD_MAX;
    for (uint32_t n = 1; threads != 0 && n <= MOST_CTAS && n * threads <= MOST_THREADS; n++) {
        const uint32_t each = MULTIPROCESSOR / (n * threads) / 8 * 8;
        best = each >= regs ? less(best, each) : best;
    }
    return best;
}

static uint32_t least_of(const uint32_t *live, bool is_loop)
{
    const uint32_t deep = live[PG_LIVE_DEEP] + (is_loop ? 0 : FLIGHT);
    return less(less(live[PG_LIVE_LATE], deep), less(live[PG_LIVE_TEXT], live[PG_LIVE_GIVEN]));
}

/* Straight code, and all code of CTAs of one warp, is run more than half side by side, loops as
 * they keep least alive. */
static uint32_t within_first(const pg_live_figures *b, uint32_t first)
{
    const uint32_t least = least_of(b->all, b->is_loop);
    const uint32_t given = more(b->all[PG_LIVE_GIVEN], least);
    const uint32_t wide = more(b->all[PG_LIVE_WIDE], given);
    const uint32_t way = (5 * given + 3 * wide + 4) / 8 - least;
    const uint32_t share = first == FIRST_ONE ? 9 : b->is_loop ? 0 : 10;
    return least + (share * way + 8) / 16;
}

/* With uniform registers all loads that the step has room for, up to a third more. Without them, as
 * little as possible. */
static uint32_t beyond_first(const pg_live_figures *b, bool is_uniform, uint32_t most)
{
    const uint32_t *live = is_uniform ? b->some : b->all;
    const uint32_t least = least_of(live, b->is_loop);
    const uint32_t way = less(more(live[PG_LIVE_WIDE], least) - least, 10 * least / 32);
    return less(most, least + (is_uniform ? way : 0) + BESIDES);
}

/* Loops of fused products take a third more: their operands come from two banks of registers. */
static uint32_t of_products(const pg_live_figures *b, uint32_t most)
{
    const uint32_t least = least_of(b->some, b->is_loop);
    return less(most, least + 11 * least / 32 + BESIDES);
}

uint32_t pg_live_estimate(const pg_live_figures *blocks, uint32_t n, const pg_live_span *span)
{
    const uint32_t first = span->threads != 0 && span->threads <= WARP ? FIRST_ONE : FIRST;
    uint32_t some = 0;
    uint32_t all = 0;
    bool has_products = false;
    for (uint32_t i = 0; i < n; i++) {
        some = more(some, least_of(blocks[i].some, blocks[i].is_loop) + 1);
        all = more(all, least_of(blocks[i].all, blocks[i].is_loop) + 1);
        has_products = has_products || blocks[i].is_products;
    }
    uint32_t out = 0;
    if (all + 7 <= first) {
        for (uint32_t i = 0; i < n; i++) {
            out = more(out, within_first(&blocks[i], first));
        }
        return out > first ? first + BESIDES : more(less(out + BESIDES, first), out);
    }
    const uint32_t at_least = some + BESIDES - 1;
    uint32_t step = more(step_above(span->threads, some + 2), first);
    const uint32_t next = step == first ? first : step_above(span->threads, step + 1);
    const bool is_uniform = has_products || all + (span->sm >= 90 ? 16 : 9) > next;
    step = more(is_uniform ? step : next, at_least);
    const uint32_t roomy = more(step_above(span->threads, some + 10), at_least);
    for (uint32_t i = 0; i < n; i++) {
        out = more(out, blocks[i].is_products ? of_products(&blocks[i], roomy)
                                              : beyond_first(&blocks[i], is_uniform, step));
    }
    return out;
}
