#include "base/alloc.h"

#include <stdlib.h>

static void *resize_default(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

pg_alloc pg_alloc_default(void)
{
    return (pg_alloc){NULL, resize_default};
}
