/* map.h: hash map from 64-bit keys or strings to 32-bit values, in an arena, over an index
 * (index.h). Iteration is by insertion order (entries), never by hash, so results do not depend
 * on addresses. Removal is pg_map_truncate only (scopes). */
#ifndef PG_BASE_MAP_H
#define PG_BASE_MAP_H

#include "base/index.h"
#include "base/vec.h"

typedef struct pg_map_entry {
    uint64_t key;     /* u64 maps: the key; string maps: its hash */
    const char *text; /* string maps: the key, borrowed */
    uint32_t len;     /* of it */
    uint32_t value;
} pg_map_entry;

typedef struct pg_map {
    pg_index index;
    PG_VEC(pg_map_entry) entries; /* in insertion order */
} pg_map;

void pg_map_init(pg_map *m, pg_arena *arena);
/* Find: pointer to the value (valid until the next put), or NULL. */
uint32_t *pg_map_get(const pg_map *m, uint64_t key);
uint32_t *pg_map_get_str(const pg_map *m, pg_str key);
/* Insert or overwrite; false when out of memory. String keys are borrowed: they must outlive the
 * map. */
bool pg_map_put(pg_map *m, uint64_t key, uint32_t value);
bool pg_map_put_str(pg_map *m, pg_str key, uint32_t value);
/* Forgets every entry from the n-th on. Overwrites are not undone. Cost: the entries removed. */
void pg_map_truncate(pg_map *m, uint32_t n);

#endif
