/* alloc.h: the caller's allocator, one entry point. */
#ifndef PG_BASE_ALLOC_H
#define PG_BASE_ALLOC_H

#include "base/base.h"

/* resize(user, NULL, 0, n) allocates, resize(user, p, old, n) grows or shrinks, resize(user, p,
 * old, 0) frees and returns NULL. Returns NULL when memory runs out (the old block stays valid).
 * Blocks are aligned for any type. Layout equals ptxgen_allocator. */
typedef struct pg_alloc {
    void *user;
    void *(*resize)(void *user, void *block, size_t old_size, size_t new_size);
} pg_alloc;

pg_alloc pg_alloc_default(void); /* malloc, realloc, free */

#endif
