/* barrier.c: the mbarrier state machine. A phase completes when no arrival is pending and announced
 * bytes equal completed ones; both conditions are tested after every change, as the hardware does.
 */
#include "ir/barrier.h"

#define TX_LIMIT ((int64_t)PG_BAR_MAX_COUNT)

const char *pg_bar_error_text(pg_bar_error e)
{
    switch (e) {
    case PG_BAR_OK: return "ok";
    case PG_BAR_UNINIT: return "the barrier is not initialised";
    case PG_BAR_REINIT: return "the barrier is already initialised";
    case PG_BAR_COUNT_RANGE: return "the arrival count is not in 1..2^20-1";
    case PG_BAR_OVER_ARRIVE: return "more arrivals than the phase expects";
    case PG_BAR_TX_NEGATIVE:
        return "more bytes completed than were announced, and every arrival is in";
    case PG_BAR_TX_RANGE: return "announced and completed bytes are 2^20 or more apart";
    }
    return "unknown barrier error";
}

static pg_bar_error complete_phase(pg_barrier *b)
{
    if (b->pending == 0 && b->tx < 0) {
        return PG_BAR_TX_NEGATIVE;
    }
    if (b->pending == 0 && b->tx == 0) {
        b->phase++;
        b->pending = b->expected;
    }
    return PG_BAR_OK;
}

pg_bar_error pg_barrier_init(pg_barrier *b, uint32_t count)
{
    if (b->is_init) {
        return PG_BAR_REINIT;
    }
    if (count == 0 || count > PG_BAR_MAX_COUNT) {
        return PG_BAR_COUNT_RANGE;
    }
    *b = (pg_barrier){.is_init = true, .expected = count, .pending = count};
    return PG_BAR_OK;
}

pg_bar_error pg_barrier_arrive(pg_barrier *b, uint32_t n)
{
    if (!b->is_init) {
        return PG_BAR_UNINIT;
    }
    if (n == 0) {
        return PG_BAR_COUNT_RANGE;
    }
    if (n > b->pending) {
        return PG_BAR_OVER_ARRIVE;
    }
    b->pending -= n;
    return complete_phase(b);
}

pg_bar_error pg_barrier_expect(pg_barrier *b, uint32_t bytes)
{
    if (!b->is_init) {
        return PG_BAR_UNINIT;
    }
    if ((int64_t)bytes > TX_LIMIT || b->tx + (int64_t)bytes > TX_LIMIT) {
        return PG_BAR_TX_RANGE;
    }
    b->tx += (int64_t)bytes;
    return complete_phase(b);
}

pg_bar_error pg_barrier_complete(pg_barrier *b, uint32_t bytes)
{
    if (!b->is_init) {
        return PG_BAR_UNINIT;
    }
    if (b->tx - (int64_t)bytes < -TX_LIMIT) {
        return PG_BAR_TX_RANGE;
    }
    b->tx -= (int64_t)bytes;
    return complete_phase(b);
}

bool pg_barrier_test(const pg_barrier *b, uint32_t parity)
{
    return b->is_init && (b->phase & 1) != (parity & 1);
}
