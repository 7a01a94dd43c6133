/* vec.h: growing arrays that live in an arena; they grow in place where the arena has room behind
 * them or they are large, else the old storage is left to the arena.
 *
 *   typedef PG_VEC(uint32_t) pg_vec_u32;
 *   pg_vec_u32 v = {0};
 *   if (!pg_vec_push(arena, &v, 7u)) { ... out of memory, v unchanged ... }
 *   for (uint32_t i = 0; i < v.n; i++) use(v.at[i]);
 */
#ifndef PG_BASE_VEC_H
#define PG_BASE_VEC_H

#include "base/arena.h"

#define PG_VEC(type)     \
    struct {             \
        type *at;        \
        uint32_t n, cap; \
    }

/* Storage with room for `more` further items, the n items in it, *cap raised; or, out of memory or
 * beyond 2^31 items, `at` as it was. Gives the block back instead of storing it through a void **,
 * which would break the aliasing rules. is_zeroed: so is the new room. */
void *pg_vec_grow(pg_arena *a, void *at, uint32_t n, uint32_t *cap, uint32_t more, size_t item_size,
                  bool is_zeroed);

static inline bool pg_vec_has(uint32_t n, uint32_t cap, uint32_t more)
{
    return cap >= n && cap - n >= more;
}
/* True if there is room for `more` items now. Room that was made here is zeroed. */
#define pg_vec_reserve(arena, v, more)                                                           \
    (pg_vec_has((v)->n, (v)->cap, (more)) ||                                                     \
     ((v)->at = pg_vec_grow((arena), (v)->at, (v)->n, &(v)->cap, (more), sizeof *(v)->at, true), \
      pg_vec_has((v)->n, (v)->cap, (more))))
/* The same without zeroing it. */
#define pg_vec_room(arena, v, more)                                                               \
    (pg_vec_has((v)->n, (v)->cap, (more)) ||                                                      \
     ((v)->at = pg_vec_grow((arena), (v)->at, (v)->n, &(v)->cap, (more), sizeof *(v)->at, false), \
      pg_vec_has((v)->n, (v)->cap, (more))))
/* True on success. Evaluates `item` once. */
#define pg_vec_push(arena, v, item) \
    (((v)->n < (v)->cap || pg_vec_room(arena, v, 1)) ? ((v)->at[(v)->n++] = (item), true) : false)

typedef PG_VEC(uint32_t) pg_vec_u32;
typedef PG_VEC(uint64_t) pg_vec_u64;
typedef PG_VEC(pg_str) pg_vec_str;

#endif
