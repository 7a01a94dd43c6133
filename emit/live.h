/* live.h: live ranges on the PTX object model, and how many registers ptxas is likely to give.
 *
 * ptxas orders a block anew before it gives out registers, so one order says little. Three that
 * keep little alive are looked at, and one that runs all chains side by side (docs/registers.md).
 */
#ifndef PG_EMIT_LIVE_H
#define PG_EMIT_LIVE_H

#include "emit/ptx.h"

enum { PG_LIVE_THREAD_MAX = 255 }; /* registers that an instruction can name */

/* Statements [first, end) of a body. */
typedef struct pg_live_span {
    uint32_t first, end;
    uint32_t threads, sm; /* of a CTA, 0: not known to ptxas; of the target: for the estimate */
    uint32_t enough; /* not 0, and no values are wanted: if at most so much is live in every span by
                        a bound that is quickly found, `least` and `estimate` are that bound, and
                        `held` is 0 */
} pg_live_span;

typedef struct pg_live_value {
    uint32_t reg;    /* register of the function */
    uint32_t stmt;   /* a statement that writes it */
    uint32_t halves; /* what it costs, in units of 16 bits */
} pg_live_value;

/* The point of a span where most is live. Numbers are 32-bit registers of a thread. */
typedef struct pg_live_peak {
    uint32_t estimate; /* of what `ptxas -v` reports; above 255: there are not enough */
    uint32_t least;    /* live at the peak in the order that keeps least alive */
    uint32_t usual;    /* the same of the orders in which ptxas runs what is far too much */
    uint32_t held;     /* floats carried around one loop: no order needs fewer */
    uint32_t stmt;     /* the peak of `least` is before this statement; UINT32_MAX: nothing runs */
    pg_live_value *values; /* what is live there, if asked for, in order of the registers */
    uint32_t n_values;
} pg_live_peak;

/* Peaks of n_spans spans of f into out[0 .. n_spans); lists of values live in `arena`. Scratch
 * comes from its allocator. Cost: linear in the body, times the live ranges that cross a block (at
 * most PG_LIVE_MOST), and in body times spans. */
pg_status pg_live_peaks(const pg_ptx_func *f, const pg_live_span *spans, uint32_t n_spans,
                        bool wants_values, pg_arena *arena, pg_live_peak *out);

#endif
