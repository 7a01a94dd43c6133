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

static uint64_t hash_of_key(uint64_t key)
{
    return pg_hash_mix(0, key);
}

/* The slot that holds the key, or the empty one where it belongs. */
static uint32_t find_slot(const pg_map *m, uint64_t key, const pg_str *text)
{
    uint32_t mask = m->n_slots - 1;
    uint32_t slot = (uint32_t)hash_of_key(key) & mask;
    while (m->slots[slot] != 0) {
        const pg_map_entry *e = &m->entries[m->slots[slot] - 1];
        if (e->key == key && (text == NULL || pg_str_eq(e->text, *text))) {
            break;
        }
        slot = (slot + 1) & mask;
    }
    return slot;
}

static uint32_t *get(const pg_map *m, uint64_t key, const pg_str *text)
{
    if (m->n == 0) {
        return NULL;
    }
    uint32_t index = m->slots[find_slot(m, key, text)];
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
        pg_arena_grow(m->arena, m->entries, sizeof *entries * m->cap, sizeof *entries * cap);
    if (entries == NULL) {
        return false;
    }
    m->entries = entries;
    uint32_t *slots =
        pg_arena_grow(m->arena, m->slots, sizeof *slots * m->n_slots, sizeof *slots * n_slots);
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0, sizeof *slots * m->n_slots);
    m->cap = cap;
    m->slots = slots;
    m->n_slots = n_slots;
    for (uint32_t i = 0; i < m->n; i++) {
        uint32_t slot = (uint32_t)hash_of_key(entries[i].key) & (n_slots - 1);
        while (slots[slot] != 0) {
            slot = (slot + 1) & (n_slots - 1);
        }
        slots[slot] = i + 1;
    }
    return true;
}

static bool put(pg_map *m, uint64_t key, const pg_str *text, uint32_t value)
{
    uint32_t slot = m->n_slots == 0 ? 0 : find_slot(m, key, text);
    if (m->n_slots != 0 && m->slots[slot] != 0) {
        m->entries[m->slots[slot] - 1].value = value;
        return true;
    }
    if (m->n == m->cap) {
        if (!rebuild(m)) {
            return false;
        }
        slot = find_slot(m, key, text);
    }
    m->entries[m->n] = (pg_map_entry){key, text == NULL ? (pg_str){NULL, 0} : *text, value};
    m->slots[slot] = ++m->n;
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
    while (m->n > n) {
        const pg_map_entry *e = &m->entries[m->n - 1];
        uint32_t slot = (uint32_t)hash_of_key(e->key) & (m->n_slots - 1);
        while (m->slots[slot] != m->n) {
            slot = (slot + 1) & (m->n_slots - 1);
        }
        m->slots[slot] = 0;
        m->n--;
    }
}
