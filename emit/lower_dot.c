/* lower_dot.c: matrix operations on tiles in registers. */
#include "emit/lower_int.h"

LOWER(MMA)
{
    pg_lw_refuse(c, i, "these layouts");
}

LOWER(UMMA)
{
    pg_lw_refuse(c, i, "these layouts");
}

LOWER(COPY)
{
    pg_lw_refuse(c, i, "these layouts");
}
