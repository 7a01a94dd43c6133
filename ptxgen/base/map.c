#include "base/map.h"

void pg_map_init(pg_map *m, pg_arena *arena)
{
    *m = (pg_map){0};
    pg_index_init(&m->index, arena);
}

/* The hash stands for both keys: entries come in any order. */
static pg_index_key index_key(uint64_t key)
{
    const uint32_t hash = (uint32_t)pg_hash_mix(0, key);
    return (pg_index_key){hash, hash};
}

static bool is_entry(const pg_map_entry *e, uint64_t key, const pg_str *text)
{
    return e->key == key && (text == NULL || pg_str_eq((pg_str){e->text, e->len}, *text));
}

static pg_map_entry *find(const pg_map *m, uint64_t key, const pg_str *text, pg_index_probe *p)
{
    uint32_t at = pg_index_first(&m->index, index_key(key), p);
    while (at != 0 && !is_entry(&m->entries.at[at - 1], key, text)) {
        at = pg_index_next(&m->index, p);
    }
    return at == 0 ? NULL : &m->entries.at[at - 1];
}

static bool put(pg_map *m, uint64_t key, const pg_str *text, uint32_t value)
{
    pg_index_probe p;
    pg_map_entry *known = find(m, key, text, &p);
    if (known != NULL) {
        known->value = value;
        return true;
    }
    pg_arena *arena = m->index.arena;
    if (text != NULL && text->len > UINT32_MAX) {
        arena->is_oom = true;
        return false;
    }
    const pg_map_entry fresh = {.key = key,
                                .text = text == NULL ? NULL : text->ptr,
                                .len = text == NULL ? 0 : (uint32_t)text->len,
                                .value = value};
    const bool has_room = m->entries.n < m->entries.cap || pg_vec_room(arena, &m->entries, 1);
    return has_room && pg_index_add(&m->index, &p) && pg_vec_push(arena, &m->entries, fresh);
}

static uint32_t *value_of(pg_map_entry *e)
{
    return e == NULL ? NULL : &e->value;
}

uint32_t *pg_map_get(const pg_map *m, uint64_t key)
{
    pg_index_probe p;
    return value_of(find(m, key, NULL, &p));
}

uint32_t *pg_map_get_str(const pg_map *m, pg_str key)
{
    pg_index_probe p;
    return value_of(find(m, pg_hash(key.ptr, key.len), &key, &p));
}

bool pg_map_put(pg_map *m, uint64_t key, uint32_t value)
{
    return put(m, key, NULL, value);
}

bool pg_map_put_str(pg_map *m, pg_str key, uint32_t value)
{
    return put(m, pg_hash(key.ptr, key.len), &key, value);
}

void pg_map_truncate(pg_map *m, uint32_t n)
{
    if (n < m->entries.n) {
        pg_index_truncate(&m->index, n);
        m->entries.n = n;
    }
}
