/* barrier.h: the mbarrier as a state machine (PTX ISA "mbarrier object"; facts: pending and
 * expected arrivals, tx-count, phase). The interpreter and the protocol check share it; the PTX
 * executor deliberately does not. */
#ifndef PG_IR_BARRIER_H
#define PG_IR_BARRIER_H

#include "base/base.h"

typedef struct pg_barrier {
    bool is_init;
    uint32_t expected; /* arrivals per phase */
    uint32_t pending;  /* arrivals still missing in this phase */
    int64_t tx;        /* announced minus completed bytes */
    uint64_t phase;    /* phases completed */
} pg_barrier;

typedef enum pg_bar_error {
    PG_BAR_OK,
    PG_BAR_UNINIT,
    PG_BAR_REINIT,
    PG_BAR_COUNT_RANGE,
    PG_BAR_OVER_ARRIVE,
    PG_BAR_TX_RANGE,
    PG_BAR_TX_NEGATIVE
} pg_bar_error;
const char *pg_bar_error_text(pg_bar_error e);

#define PG_BAR_MAX_COUNT ((1u << 20) - 1)

pg_bar_error pg_barrier_init(pg_barrier *b, uint32_t count);
/* arrive and complete fail with TX_NEGATIVE where more bytes came than were announced and no
 * arrival is left that could announce them; while arrivals are pending the difference may be
 * negative. */
pg_bar_error pg_barrier_arrive(pg_barrier *b, uint32_t n);
pg_bar_error pg_barrier_expect(pg_barrier *b, uint32_t bytes); /* no arrival */
pg_bar_error pg_barrier_complete(pg_barrier *b, uint32_t bytes);
/* Whether a wait for this parity returns: the phase of that parity has completed. Tells the current
 * phase from the one before only, as the hardware does; false before init. */
bool pg_barrier_test(const pg_barrier *b, uint32_t parity);

#endif
