/* The mbarrier state machine: every error, phases and parity, bytes before and after their
 * announcement. */
#include <criterion/criterion.h>

#include "ir/barrier.h"

Test(barrier, errors_are_named)
{
    pg_barrier b = {0};
    cr_assert_eq(pg_barrier_arrive(&b, 1), PG_BAR_UNINIT);
    cr_assert_eq(pg_barrier_expect(&b, 1), PG_BAR_UNINIT);
    cr_assert_eq(pg_barrier_complete(&b, 1), PG_BAR_UNINIT);
    cr_assert_not(pg_barrier_test(&b, 0));
    cr_assert_not(pg_barrier_test(&b, 1));
    cr_assert_eq(pg_barrier_init(&b, 0), PG_BAR_COUNT_RANGE);
    cr_assert_eq(pg_barrier_init(&b, PG_BAR_MAX_COUNT + 1), PG_BAR_COUNT_RANGE);
    cr_assert_eq(pg_barrier_init(&b, PG_BAR_MAX_COUNT), PG_BAR_OK);
    cr_assert_eq(pg_barrier_init(&b, 1), PG_BAR_REINIT);
    cr_assert_eq(pg_barrier_arrive(&b, 0), PG_BAR_COUNT_RANGE);
    cr_assert_eq(pg_barrier_arrive(&b, PG_BAR_MAX_COUNT + 1), PG_BAR_OVER_ARRIVE);
    cr_assert_eq(pg_barrier_expect(&b, PG_BAR_MAX_COUNT), PG_BAR_OK);
    cr_assert_eq(pg_barrier_expect(&b, 1), PG_BAR_TX_RANGE);
    cr_assert_eq(pg_barrier_expect(&b, UINT32_MAX), PG_BAR_TX_RANGE);
    pg_barrier c = {0};
    cr_assert_eq(pg_barrier_init(&c, 1), PG_BAR_OK);
    cr_assert_eq(pg_barrier_complete(&c, PG_BAR_MAX_COUNT), PG_BAR_OK);
    cr_assert_eq(pg_barrier_complete(&c, 1), PG_BAR_TX_RANGE);
    cr_assert_eq(pg_barrier_arrive(&c, 1), PG_BAR_TX_NEGATIVE);
    for (int e = PG_BAR_OK; e <= PG_BAR_TX_NEGATIVE; e++) {
        for (int f = PG_BAR_OK; f < e; f++) {
            cr_assert_str_neq(pg_bar_error_text((pg_bar_error)e),
                              pg_bar_error_text((pg_bar_error)f));
        }
    }
}

Test(barrier, phases_alternate)
{
    pg_barrier b = {0};
    cr_assert_eq(pg_barrier_init(&b, 3), PG_BAR_OK);
    for (uint32_t phase = 0; phase < 5; phase++) {
        /* The phase before is complete, this one is not: a fresh barrier lets parity 1 through. */
        cr_assert(pg_barrier_test(&b, (phase & 1) ^ 1));
        cr_assert_not(pg_barrier_test(&b, phase & 1));
        cr_assert_eq(pg_barrier_arrive(&b, 2), PG_BAR_OK);
        cr_assert_not(pg_barrier_test(&b, phase & 1));
        cr_assert_eq(b.pending, 1);
        cr_assert_eq(pg_barrier_arrive(&b, 2), PG_BAR_OVER_ARRIVE);
        cr_assert_eq(pg_barrier_arrive(&b, 1), PG_BAR_OK);
        cr_assert(pg_barrier_test(&b, phase & 1));
        cr_assert_eq(b.phase, phase + 1);
        cr_assert_eq(b.pending, 3);
    }
}

Test(barrier, bytes_hold_the_phase)
{
    pg_barrier b = {0};
    cr_assert_eq(pg_barrier_init(&b, 1), PG_BAR_OK);
    cr_assert_eq(pg_barrier_expect(&b, 100), PG_BAR_OK);
    cr_assert_eq(pg_barrier_arrive(&b, 1), PG_BAR_OK);
    cr_assert_not(pg_barrier_test(&b, 0));
    cr_assert_eq(pg_barrier_arrive(&b, 1), PG_BAR_OVER_ARRIVE,
                 "every arrival is in, bytes are missing");
    cr_assert_eq(pg_barrier_complete(&b, 60), PG_BAR_OK);
    cr_assert_not(pg_barrier_test(&b, 0));
    pg_barrier more = b;
    cr_assert_eq(pg_barrier_complete(&more, 41), PG_BAR_TX_NEGATIVE);
    cr_assert_eq(pg_barrier_complete(&b, 40), PG_BAR_OK);
    cr_assert(pg_barrier_test(&b, 0));
    cr_assert(b.phase == 1 && b.tx == 0 && b.pending == 1);
}

Test(barrier, bytes_may_come_before_their_announcement)
{
    pg_barrier b = {0};
    cr_assert_eq(pg_barrier_init(&b, 2), PG_BAR_OK);
    cr_assert_eq(pg_barrier_complete(&b, 64), PG_BAR_OK);
    cr_assert_eq(b.tx, -64);
    cr_assert_eq(pg_barrier_arrive(&b, 1), PG_BAR_OK);
    cr_assert_eq(pg_barrier_expect(&b, 64), PG_BAR_OK);
    cr_assert_not(pg_barrier_test(&b, 0), "one arrival is missing");
    cr_assert_eq(pg_barrier_arrive(&b, 1), PG_BAR_OK);
    cr_assert(pg_barrier_test(&b, 0));
}
