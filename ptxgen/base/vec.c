#include "base/vec.h"

#include <string.h>

void *pg_vec_grow(pg_arena *a, void *at, uint32_t n, uint32_t *cap, uint32_t more, size_t item_size)
{
    const uint32_t limit = UINT32_C(1) << 31;
    if (more > limit || n > limit - more || n + more <= *cap) {
        return at;
    }
    uint32_t want = n + more;
    uint32_t new_cap = *cap > limit / 2 ? limit : *cap * 2;
    new_cap = new_cap < 8 ? 8 : new_cap;
    new_cap = new_cap < want ? want : new_cap;
    void *block = pg_arena_get(a, item_size, new_cap);
    if (block == NULL) {
        return at;
    }
    if (n != 0) {
        memcpy(block, at, item_size * n);
    }
    *cap = new_cap;
    return block;
}
