#include "ir/verify.h"
void pg_verify_parts(pg_module *m)
{
    (void)m;
}
pg_status pg_verify(pg_module *m, uint32_t p)
{
    (void)m;
    (void)p;
    return PG_OK;
}
