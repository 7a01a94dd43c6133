/* index.h: hash index, in an arena: finds items that its owner keeps in an array, by their numbers
 * there (0, 1, ... in the order in which they came). The owner compares what has the same hash.
 *
 * A large table that is entered by hashes alone costs a way to memory for each look, since no two
 * looks touch the same line of the cache. So each item has two keys: `hash`, spread over all
 * numbers, and `near`, which is close for items that are used one after another. In a large table
 * an item lies in the line of slots that `near` names, and only where that is full, in lines that
 * the hash names: who goes through the items in their order goes through the table in order, and
 * many items with the same `near` cost no more than a table without it.
 *
 *   pg_index_probe p;
 *   for (uint32_t at = pg_index_first(&x, key, &p); at != 0; at = pg_index_next(&x, &p)) {
 *       if (... item number at - 1 is the one ...) return at - 1;
 *   }
 *   if (!pg_index_add(&x, &p)) { ... out of memory ... } */
#ifndef PG_BASE_INDEX_H
#define PG_BASE_INDEX_H

#include "base/arena.h"

typedef struct pg_index_key {
    uint32_t hash, near;
} pg_index_key;

typedef struct pg_index_slot {
    uint32_t hash; /* of the item */
    uint32_t item; /* its number + 1; 0: empty */
} pg_index_slot;

typedef struct pg_index_item {
    pg_index_key key;
    uint32_t slot; /* where it lies */
} pg_index_item;

enum { PG_INDEX_LINE = 8 /* slots, 64 bytes */, PG_INDEX_LARGE = 1 << 13 /* slots */ };

typedef struct pg_index {
    pg_arena *arena;
    pg_index_slot *slots;
    uint32_t n_slots; /* 0 or a power of two; whole lines */
    uint32_t n, cap;
    pg_index_item *items; /* by number */
    void *block;          /* that the slots lie in */
} pg_index;

typedef struct pg_index_probe {
    pg_index_key key;
    uint32_t at;    /* slot to look at */
    uint32_t tried; /* so many before it */
} pg_index_probe;

static inline pg_index_key pg_index_key_of(uint64_t hash, uint32_t near)
{
    return (pg_index_key){(uint32_t)(hash ^ hash >> 32), near};
}

void pg_index_init(pg_index *x, pg_arena *arena);
/* Room for n items in all; false when out of memory. */
bool pg_index_room(pg_index *x, uint32_t n);
/* Room for one more item, and where it belongs then; false when out of memory. */
bool pg_index_grow(pg_index *x, pg_index_probe *p);
/* Forgets every item from the n-th on. Cost: the items removed. */
void pg_index_truncate(pg_index *x, uint32_t n);
/* To the first of the key's slots in the next line. */
void pg_index_step_line(const pg_index *x, pg_index_probe *p);

static inline void pg_index_step(const pg_index *x, pg_index_probe *p)
{
    enum { IN_LINE = PG_INDEX_LINE - 1 };
    p->at = (p->at & ~(uint32_t)IN_LINE) | ((p->at + 1) & IN_LINE);
    if ((++p->tried & IN_LINE) == 0) {
        pg_index_step_line(x, p);
    }
}

/* Number + 1 of the next item with the same hash; 0: there is no other. */
static inline uint32_t pg_index_look(const pg_index *x, pg_index_probe *p)
{
    while (x->slots[p->at].item != 0 && x->slots[p->at].hash != p->key.hash) {
        pg_index_step(x, p);
    }
    return x->slots[p->at].item;
}

static inline uint32_t pg_index_next(const pg_index *x, pg_index_probe *p)
{
    pg_index_step(x, p);
    return pg_index_look(x, p);
}

static inline uint32_t pg_index_first(const pg_index *x, pg_index_key key, pg_index_probe *p)
{
    const uint32_t first = x->n_slots < PG_INDEX_LARGE ? key.hash : key.near;
    *p = (pg_index_probe){.key = key, .at = first & (x->n_slots - 1)};
    return x->n == 0 ? 0 : pg_index_look(x, p);
}

/* Enters item number x->n, for which a search has ended without finding it; nothing has come to
 * the index or left it since. False when out of memory. */
static inline bool pg_index_add(pg_index *x, pg_index_probe *p)
{
    if (x->n == x->cap && !pg_index_grow(x, p)) {
        return false;
    }
    x->items[x->n] = (pg_index_item){p->key, p->at};
    x->slots[p->at] = (pg_index_slot){p->key.hash, ++x->n};
    return true;
}

#endif
