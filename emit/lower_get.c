/* lower_get.c: asynchronous copies from global memory into buffers, by the threads themselves. */
#include "emit/lower_int.h"

LOWER(ASYNC_GET)
{
    pg_lw_refuse(c, i, "these layouts");
}

LOWER(ASYNC_COMMIT)
{
    (void)i;
    pg_lw_emit0(c, "cp.async.commit_group");
}

LOWER(ASYNC_WAIT)
{
    pg_ptx_opnd n = pg_ptx_int(pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0));
    pg_lw_emit(c, "cp.async.wait_group", 1, &n);
}
