#include "base/vec.h"

enum { MANY_BYTES = 1 << 17 };

void *pg_vec_grow(pg_arena *a, void *at, uint32_t n, uint32_t *cap, uint32_t more, size_t item_size,
                  bool is_zeroed)
{
    const uint32_t limit = UINT32_C(1) << 31;
    if (more > limit || n > limit - more || n + more <= *cap) {
        return at;
    }
    uint32_t want = n + more;
    /* Twice as much while that is little; what is large need not be half empty. */
    const uint64_t more_cap = item_size * (uint64_t)*cap < MANY_BYTES ? *cap : *cap / 2;
    uint32_t new_cap = *cap + more_cap > limit ? limit : (uint32_t)(*cap + more_cap);
    new_cap = new_cap < 8 ? 8 : new_cap;
    new_cap = new_cap < want ? want : new_cap;
    size_t bytes;
    void *block = NULL;
    if (!pg_size_mul(item_size, new_cap, &bytes)) {
        a->is_oom = true;
    } else {
        void *old = *cap == 0 ? NULL : at;
        block = is_zeroed ? pg_arena_grow(a, old, item_size * *cap, bytes)
                          : pg_arena_grow_unset(a, old, item_size * *cap, bytes);
    }
    if (block == NULL) {
        return at;
    }
    *cap = new_cap;
    return block;
}
