/* gf2.h: subspaces of GF(2)^32 as bit vectors. Small, by value, no allocation. */
#ifndef PG_IR_GF2_H
#define PG_IR_GF2_H

#include "base/base.h"

/* Span of the independent vectors that were added: `from[i]` says which of them (by number) sum up
 * to the reduced vector `vec[i]`, whose bit `pivot[i]` no later one has. */
typedef struct pg_gf2 {
    uint32_t n;
    uint32_t vec[32], pivot[32], from[32];
} pg_gf2;

/* What is left of v, and the sum of members that was taken off. */
static inline uint32_t pg_gf2_reduce(const pg_gf2 *s, uint32_t v, uint32_t *members)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if ((v & s->pivot[i]) != 0) {
            v ^= s->vec[i];
            used ^= s->from[i];
        }
    }
    if (members != NULL) {
        *members = used;
    }
    return v;
}

static inline bool pg_gf2_has(const pg_gf2 *s, uint32_t v)
{
    return pg_gf2_reduce(s, v, NULL) == 0;
}

/* False if v is in the span already, and then it gets no number. */
static inline bool pg_gf2_add(pg_gf2 *s, uint32_t v)
{
    uint32_t used = 0;
    uint32_t rest = pg_gf2_reduce(s, v, &used);
    if (rest == 0 || s->n == 32) {
        return false;
    }
    s->vec[s->n] = rest;
    s->pivot[s->n] = rest & (~rest + 1u);
    s->from[s->n] = used | 1u << s->n;
    s->n++;
    return true;
}

#endif
