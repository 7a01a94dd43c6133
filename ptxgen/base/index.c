/* index.c: see index.h.
 *
 * I1  The places of a key are the slots of its first line, from the one that `near` (the hash in a
 *     small table, which the cache holds) names around the line, then those of lines that the hash
 *     names. An item lies in the first of its places that was empty when it came, and it is found
 *     there: no place before it becomes empty, since
 * I2  items leave in the reverse of the order in which they came, so that emptying an item's slot
 *     restores exactly the table from before it came. A rebuild enters them in the same order.
 * I3  A quarter of the slots at least is empty, and a key comes to each line, so a search ends. */
#include "base/index.h"

#include <string.h>

enum {
    FIRST_SLOTS = 16,
    FEW_SLOTS = 1024,
    LINE_BYTES = PG_INDEX_LINE * (int)sizeof(pg_index_slot)
};

void pg_index_init(pg_index *x, pg_arena *arena)
{
    *x = (pg_index){.arena = arena};
}

/* Lines behind the first follow by an odd step, which comes to each. */
void pg_index_step_line(const pg_index *x, pg_index_probe *p)
{
    const uint32_t step = p->key.hash >> 16 | 1;
    p->at =
        (p->key.hash + p->tried * step) & (x->n_slots - 1); /* PG_INDEX_LINE were tried in each */
}

static size_t bytes_of(uint32_t n_slots)
{
    return n_slots == 0 ? 0 : sizeof(pg_index_slot) * n_slots + LINE_BYTES;
}

/* The arena aligns for any type, but not to lines of the cache. */
static pg_index_slot *first_line(void *block)
{
    const size_t beyond = (uintptr_t)block % LINE_BYTES;
    return (void *)((char *)block + (beyond == 0 ? 0 : LINE_BYTES - beyond));
}

/* The first of the key's places that is empty. */
static void find_empty(const pg_index *x, pg_index_key key, pg_index_probe *p)
{
    uint32_t at = pg_index_first(x, key, p);
    while (at != 0) {
        at = pg_index_next(x, p);
    }
}

static bool rebuild(pg_index *x, uint32_t n_slots)
{
    const uint32_t cap = n_slots / 4 * 3;
    pg_index_item *items =
        pg_arena_grow_unset(x->arena, x->items, sizeof *items * x->cap, sizeof *items * cap);
    if (items == NULL) {
        return false;
    }
    x->items = items;
    void *block = pg_arena_grow_unset(x->arena, x->block, bytes_of(x->n_slots), bytes_of(n_slots));
    if (block == NULL) {
        return false;
    }
    x->block = block;
    x->cap = cap;
    x->n_slots = n_slots;
    x->slots = first_line(block);
    memset(x->slots, 0, sizeof *x->slots * n_slots);
    const uint32_t n = x->n;
    for (x->n = 0; x->n < n;) {
        pg_index_probe p;
        find_empty(x, items[x->n].key, &p);
        (void)pg_index_add(x, &p); /* there is room */
    }
    return true;
}

bool pg_index_room(pg_index *x, uint32_t n)
{
    uint32_t n_slots = x->n_slots;
    while (n_slots / 4 * 3 < n) {
        if (n_slots > UINT32_C(1) << 29) {
            x->arena->is_oom = true;
            return false;
        }
        const uint32_t times = n_slots < FEW_SLOTS ? 4 : 2;
        n_slots = n_slots == 0 ? FIRST_SLOTS : n_slots * times;
    }
    return n_slots == x->n_slots || rebuild(x, n_slots);
}

bool pg_index_grow(pg_index *x, pg_index_probe *p)
{
    if (!pg_index_room(x, x->n + 1)) {
        return false;
    }
    find_empty(x, p->key, p);
    return true;
}

void pg_index_truncate(pg_index *x, uint32_t n)
{
    if (n == 0 && x->n != 0 && x->n >= x->n_slots / PG_INDEX_LINE) { /* quicker than one by one */
        memset(x->slots, 0, sizeof *x->slots * x->n_slots);
        x->n = 0;
    }
    while (x->n > n) {
        x->slots[x->items[--x->n].slot].item = 0;
    }
}
