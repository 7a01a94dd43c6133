/* num.h: decimal digits of floats, exactly. For strbuf.c; others print through pg_put_f64. */
#ifndef PG_BASE_NUM_H
#define PG_BASE_NUM_H

#include "base/base.h"

/* 0.d1d2d3... * 10^point, without trailing zeros; n >= 1. */
typedef struct pg_decimal {
    char digits[20];
    uint32_t n;
    int32_t point;
} pg_decimal;

/* Shortest digits that name mant * 2^exp2 among its neighbours, nearest to it where several are as
 * short. `mant` is not 0; `is_lower_near`: the neighbour below is half as far as the one above. */
pg_decimal pg_shortest(uint64_t mant, int32_t exp2, bool is_lower_near);

#endif
