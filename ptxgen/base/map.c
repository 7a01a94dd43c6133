#include "base/map.h"

#include <string.h>

/* Linear probing. Entries leave in the reverse of the order in which they came, so emptying an
 * entry's slot restores exactly the table from before its insertion: no tombstones. A rebuild
 * inserts in the same order, which keeps that true. */

enum { FIRST_SLOTS = 16 };

void pg_map_init(pg_map *m, pg_arena *arena)
{
    *m = (pg_map){.arena = arena};
}

static uint32_t hash_of_key(uint64_t key)
{
    return (uint32_t)pg_hash_mix(0, key);
}

static bool is_entry(const pg_map_entry *e, uint64_t key, const pg_str *text)
{
    return e->key == key && (text == NULL || pg_str_eq((pg_str){e->text, e->len}, *text));
}

/* The slot that holds the key, or the empty one where it belongs. */
static pg_map_slot *find_slot(const pg_map *m, uint64_t key, const pg_str *text)
{
    const uint32_t hash = hash_of_key(key), mask = m->n_slots - 1;
    pg_map_slot *slot = &m->slots[hash & mask];
    for (uint32_t at = hash; slot->index != 0; slot = &m->slots[++at & mask]) {
        if (slot->hash == hash && is_entry(&m->entries[slot->index - 1], key, text)) {
            break;
        }
    }
    return slot;
}

static uint32_t *get(const pg_map *m, uint64_t key, const pg_str *text)
{
    if (m->n == 0) {
        return NULL;
    }
    const uint32_t index = find_slot(m, key, text)->index;
    return index == 0 ? NULL : &m->entries[index - 1].value;
}

static bool rebuild(pg_map *m)
{
    if (m->n_slots > UINT32_C(1) << 30) {
        return false;
    }
    uint32_t n_slots = m->n_slots == 0 ? FIRST_SLOTS : m->n_slots * 2;
    uint32_t cap = n_slots / 4 * 3;
    pg_map_entry *entries =
        pg_arena_grow_unset(m->arena, m->entries, sizeof *entries * m->cap, sizeof *entries * cap);
    if (entries == NULL) {
        return false;
    }
    m->entries = entries;
    pg_map_slot *slots = pg_arena_grow_unset(m->arena, m->slots, sizeof *slots * m->n_slots,
                                             sizeof *slots * n_slots);
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0, sizeof *slots * n_slots);
    m->cap = cap;
    m->slots = slots;
    m->n_slots = n_slots;
    for (uint32_t i = 0; i < m->n; i++) {
        const uint32_t hash = hash_of_key(entries[i].key);
        uint32_t at = hash & (n_slots - 1);
        while (slots[at].index != 0) {
            at = (at + 1) & (n_slots - 1);
        }
        slots[at] = (pg_map_slot){hash, i + 1};
    }
    return true;
}

static bool put(pg_map *m, uint64_t key, const pg_str *text, uint32_t value)
{
    pg_map_slot *slot = m->n_slots == 0 ? NULL : find_slot(m, key, text);
    if (slot != NULL && slot->index != 0) {
        m->entries[slot->index - 1].value = value;
        return true;
    }
    if (text != NULL && text->len > UINT32_MAX) {
        m->arena->is_oom = true;
        return false;
    }
    if (m->n == m->cap) {
        if (!rebuild(m)) {
            return false;
        }
        slot = find_slot(m, key, text);
    }
    m->entries[m->n] = (pg_map_entry){.key = key,
                                      .text = text == NULL ? NULL : text->ptr,
                                      .len = text == NULL ? 0 : (uint32_t)text->len,
                                      .value = value};
    *slot = (pg_map_slot){hash_of_key(key), ++m->n};
    return true;
}

uint32_t *pg_map_get(const pg_map *m, uint64_t key)
{
    return get(m, key, NULL);
}

uint32_t *pg_map_get_str(const pg_map *m, pg_str key)
{
    return get(m, pg_hash(key.ptr, key.len), &key);
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
    const uint32_t mask = m->n_slots - 1;
    for (; m->n > n; m->n--) {
        uint32_t at = hash_of_key(m->entries[m->n - 1].key) & mask;
        while (m->slots[at].index != m->n) {
            at = (at + 1) & mask;
        }
        m->slots[at].index = 0;
    }
}
