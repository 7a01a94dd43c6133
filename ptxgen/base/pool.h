/* pool.h: an allocator that keeps blocks of 4 kB to 1 MB for the next compile, so that a caller who
 * compiles often does not ask the system for the same memory, and touch it first, each time. */
#ifndef PG_BASE_POOL_H
#define PG_BASE_POOL_H

#include "base/alloc.h"

enum { PG_POOL_CLASSES = 33 };

typedef struct pg_pool_block pg_pool_block;
typedef struct pg_pool {
    pg_alloc from;
    pg_pool_block *kept[PG_POOL_CLASSES]; /* by size: powers of two, and three between them */
    size_t n_kept;                        /* bytes */
    size_t most;                          /* bytes that may be kept */
} pg_pool;

void pg_pool_init(pg_pool *p, pg_alloc from, size_t most);
void pg_pool_fini(pg_pool *p); /* frees what is kept; what was given out stays the owner's */
pg_alloc pg_pool_alloc(pg_pool *p);

#endif
