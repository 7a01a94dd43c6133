/* clock.h: operations on the vectors that say what threads have seen (clock.c, strong.c). A vector
 * that somebody refers to never changes. */
#ifndef PTXEXEC_CLOCK_H
#define PTXEXEC_CLOCK_H

#include "tools/exec/race.h"

pe_clock *pe_clock_new(pe_cta *cta); /* zeroed, one reference */
void pe_clock_drop(pe_races *r, pe_clock *c);
/* *at refers to c now. */
void pe_clock_keep(pe_races *r, pe_clock **at, pe_clock *c);
void pe_clock_join(const pe_races *r, pe_clock *into, const pe_clock *c);
/* What all lanes of the warp have seen of it by whole meetings. */
void pe_clock_join_own_warp(const pe_races *r, pe_clock *into, uint32_t warp);
void pe_clock_seal(const pe_races *r, pe_clock *c); /* after the last join */
void pe_clock_see(pe_races *r, uint32_t tid, pe_clock *c);
/* What the thread's last fence.mbarrier_init let be known goes into the clock, too. */
void pe_clock_join_inits(const pe_races *r, pe_clock *into, uint32_t tid);
/* What any thread of the CTA has seen; one reference. NULL when out of memory. */
pe_clock *pe_clock_of_cta(pe_cta *cta);
/* c has seen all that `seen` has. */
bool pe_clock_covers(const pe_races *r, const pe_clock *c, const pe_clock *seen);
/* The half of what lies behind a proxy fence. */
uint32_t *pe_clock_proxied(const pe_races *r, pe_clock *c);

#endif
