/* arena.h: bump allocation with marks and a sticky out-of-memory flag.
 * Once an allocation fails, every later one returns NULL until pg_arena_fini; whoever ends a stage
 * asks pg_arena_status. Memory is zeroed. Blocks never move, unless their owner lets them grow.
 * Large blocks stand alone: to grow one costs no second copy of it. */
#ifndef PG_BASE_ARENA_H
#define PG_BASE_ARENA_H

#include "base/alloc.h"

typedef struct pg_arena_chunk pg_arena_chunk;
typedef struct pg_arena_large pg_arena_large;
typedef struct pg_arena_left pg_arena_left;
/* 1 where memory errors are looked for: blocks always move when they grow, are overwritten behind
 * their owner, and stay out of use, so that who kept an old address is caught. */
#if defined(__SANITIZE_ADDRESS__)
#define PG_ARENA_HUNTS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PG_ARENA_HUNTS 1
#endif
#endif
#ifndef PG_ARENA_HUNTS
#define PG_ARENA_HUNTS 0
#endif

enum { PG_ARENA_LISTS = 16 };
typedef struct pg_arena {
    pg_alloc alloc;
    pg_arena_chunk *top;
    pg_arena_large *large;               /* the youngest of the blocks that stand alone */
    uint64_t n_large;                    /* so many were made */
    pg_arena_left *left[PG_ARENA_LISTS]; /* blocks whose owner grew out of them, to be given
                                                   out again; by size */
    size_t used; /* bytes handed out since init, minus what marks released */
    size_t peak;
    bool is_oom;
} pg_arena;

typedef struct pg_arena_mark {
    pg_arena_chunk *chunk;
    size_t chunk_used;
    size_t used;
    uint64_t n_large;
} pg_arena_mark;

void pg_arena_init(pg_arena *a, pg_alloc alloc); /* allocates nothing yet */
void pg_arena_fini(pg_arena *a);                 /* frees all; the arena may be initialised again */
void *pg_arena_get(pg_arena *a, size_t size,
                   size_t count); /* zeroed, aligned for any type; NULL when out of memory */
/* A block of pg_arena_get (or NULL, 0) made larger: where it now lies, the new part zeroed. In
 * place where possible. NULL when out of memory; the old block stays valid then. */
void *pg_arena_grow(pg_arena *a, void *block, size_t old_size, size_t new_size);
/* The same, but the new part holds anything: for an owner who writes it before he reads it. */
void *pg_arena_grow_unset(pg_arena *a, void *block, size_t old_size, size_t new_size);
void *pg_arena_copy(pg_arena *a, const void *bytes, size_t size);
pg_str pg_arena_str(pg_arena *a, pg_str s); /* copy, NUL-terminated */
pg_arena_mark pg_arena_mark_get(const pg_arena *a);
void pg_arena_release(pg_arena *a,
                      pg_arena_mark mark); /* forgets all that came after the mark; keeps is_oom */
pg_status pg_arena_status(const pg_arena *a); /* PG_OK or PG_E_NOMEM */

/* Typed forms. */
#define PG_NEW(arena, type)     ((type *)pg_arena_get((arena), sizeof(type), 1))
#define PG_NEWS(arena, type, n) ((type *)pg_arena_get((arena), sizeof(type), (n)))

#endif
