#include "base/arena.h"

#include <string.h>

/* Chunks form a stack; only the top one has room to give. Each is twice as large as the one below,
 * so that a million small blocks cost few system allocations; sizes are powers of two, headers
 * included, for the sake of pool.c. */
struct pg_arena_chunk {
    pg_arena_chunk *below;
    size_t cap, used;
    max_align_t data[];
};

/* A block of its own, in a list by age. */
struct pg_arena_large {
    pg_arena_large *older, *younger;
    size_t size;
    uint64_t number; /* from 1, in order of creation: what a mark compares */
    max_align_t data[];
};

/* A block that its owner has left, in a list of its size and a few others. */
struct pg_arena_left {
    pg_arena_left *next;
    size_t size;
};

enum {
    FIRST_CHUNK = 4096,
    LARGEST_CHUNK = 1 << 18,
    LARGE = PG_ARENA_HUNTS ? 64 : 1 << 15, /* blocks from here on stand alone */
    ALIGN = (int)_Alignof(max_align_t)
};

void pg_arena_init(pg_arena *a, pg_alloc alloc)
{
    *a = (pg_arena){.alloc = alloc};
}

static void pop_chunk(pg_arena *a)
{
    pg_arena_chunk *c = a->top;
    a->top = c->below;
    (void)a->alloc.resize(a->alloc.user, c, sizeof *c + c->cap, 0);
}

static void pop_large(pg_arena *a)
{
    pg_arena_large *b = a->large;
    a->large = b->older;
    if (a->large != NULL) {
        a->large->younger = NULL;
    }
    (void)a->alloc.resize(a->alloc.user, b, sizeof *b + b->size, 0);
}

void pg_arena_fini(pg_arena *a)
{
    while (a->top != NULL) {
        pop_chunk(a);
    }
    while (a->large != NULL) {
        pop_large(a);
    }
    pg_arena_init(a, a->alloc);
}

static bool push_chunk(pg_arena *a, size_t least)
{
    size_t total = FIRST_CHUNK;
    if (a->top != NULL) {
        total = a->top->cap + sizeof *a->top;
        total = total >= LARGEST_CHUNK ? (size_t)LARGEST_CHUNK : total * 2;
    }
    while (total - sizeof(pg_arena_chunk) < least) { /* ends: least < LARGE */
        total *= 2;
    }
    pg_arena_chunk *c = a->alloc.resize(a->alloc.user, NULL, 0, total);
    if (c == NULL) {
        return false;
    }
    c->below = a->top;
    c->cap = total - sizeof *c;
    c->used = 0;
    a->top = c;
    return true;
}

static void note_used(pg_arena *a, size_t more)
{
    a->used += more;
    a->peak = a->used > a->peak ? a->used : a->peak;
}

static void *get_large(pg_arena *a, size_t bytes)
{
    pg_arena_large *b = a->alloc.resize(a->alloc.user, NULL, 0, sizeof *b + bytes);
    if (b == NULL) {
        return NULL;
    }
    *b = (pg_arena_large){.older = a->large, .size = bytes, .number = ++a->n_large};
    if (a->large != NULL) {
        a->large->younger = b;
    }
    a->large = b;
    return b->data;
}

static size_t rounded(size_t bytes)
{
    /* An empty block still gets an address of its own. */
    return bytes == 0 ? (size_t)ALIGN : (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static pg_arena_left **list_of(pg_arena *a, size_t bytes)
{
    const uint32_t hash = (uint32_t)(bytes / ALIGN) * UINT32_C(2654435761);
    return &a->left[hash >> 27 & (PG_ARENA_LISTS - 1)];
}

static void leave(pg_arena *a, void *block, size_t bytes)
{
    if (PG_ARENA_HUNTS) {
        memset(block, 0xDD, bytes);
        return;
    }
    pg_arena_left *left = block;
    pg_arena_left **list = list_of(a, bytes);
    *left = (pg_arena_left){*list, bytes};
    *list = left;
    a->used -= bytes;
}

/* Looks at few: a long search would cost more than it saves. */
static void *take_left(pg_arena *a, size_t bytes)
{
    pg_arena_left **at = list_of(a, bytes);
    for (uint32_t i = 0; i < 4 && *at != NULL; i++, at = &(*at)->next) {
        if ((*at)->size == bytes) {
            pg_arena_left *left = *at;
            *at = left->next;
            return left;
        }
    }
    return NULL;
}

/* Not zeroed. */
static void *get(pg_arena *a, size_t bytes)
{
    void *block = NULL;
    if (bytes >= LARGE) {
        block = get_large(a, bytes);
    } else if ((block = take_left(a, bytes)) == NULL) {
        const bool has_room = a->top != NULL && a->top->cap - a->top->used >= bytes;
        if (has_room || push_chunk(a, bytes)) {
            block = (char *)a->top->data + a->top->used;
            a->top->used += bytes;
        }
    }
    if (block == NULL) {
        a->is_oom = true;
        return NULL;
    }
    note_used(a, bytes);
    return block;
}

void *pg_arena_get(pg_arena *a, size_t size, size_t count)
{
    size_t bytes;
    if (a->is_oom) {
        return NULL;
    }
    if (!pg_size_mul(size, count, &bytes) || bytes > SIZE_MAX / 2) {
        a->is_oom = true;
        return NULL;
    }
    bytes = rounded(bytes);
    void *block = get(a, bytes);
    if (block != NULL) {
        memset(block, 0, bytes);
    }
    return block;
}

/* Blocks around it in the list learn the new address. */
static void *grow_large(pg_arena *a, void *block, size_t bytes)
{
    pg_arena_large *b = (pg_arena_large *)(void *)((char *)block - offsetof(pg_arena_large, data));
    size_t old = b->size;
    b = a->alloc.resize(a->alloc.user, b, sizeof *b + old, sizeof *b + bytes);
    if (b == NULL) {
        a->is_oom = true;
        return NULL;
    }
    b->size = bytes;
    if (b->older != NULL) {
        b->older->younger = b;
    }
    if (b->younger != NULL) {
        b->younger->older = b;
    } else {
        a->large = b;
    }
    note_used(a, bytes - old);
    return b->data;
}

/* A block of `old` bytes made one of `bytes`, both rounded; the new part is not zeroed. */
static void *grow(pg_arena *a, void *block, size_t old, size_t bytes)
{
    if (old >= LARGE) {
        return grow_large(a, block, bytes);
    }
    const bool is_last = !PG_ARENA_HUNTS && a->top != NULL &&
                         (char *)block + old == (char *)a->top->data + a->top->used;
    if (is_last && bytes < LARGE && a->top->cap - a->top->used >= bytes - old) {
        a->top->used += bytes - old;
        note_used(a, bytes - old);
        return block;
    }
    char *moved = get(a, bytes);
    if (moved != NULL) {
        memcpy(moved, block, old);
        leave(a, block, old);
    }
    return moved;
}

static void *grow_to(pg_arena *a, void *block, size_t old_size, size_t new_size, bool is_zeroed)
{
    if (a->is_oom || new_size > SIZE_MAX / 2) {
        a->is_oom = true;
        return NULL;
    }
    const size_t old = block == NULL ? 0 : rounded(old_size), bytes = rounded(new_size);
    if (bytes <= old) {
        return block;
    }
    char *at = block == NULL ? get(a, bytes) : grow(a, block, old, bytes);
    if (at != NULL && is_zeroed) {
        memset(at + old, 0, bytes - old);
    } else if (at != NULL && PG_ARENA_HUNTS) {
        memset(at + old, 0xDD, bytes - old);
    }
    return at;
}

void *pg_arena_grow(pg_arena *a, void *block, size_t old_size, size_t new_size)
{
    return grow_to(a, block, old_size, new_size, true);
}

void *pg_arena_grow_unset(pg_arena *a, void *block, size_t old_size, size_t new_size)
{
    return grow_to(a, block, old_size, new_size, false);
}

void *pg_arena_copy(pg_arena *a, const void *bytes, size_t size)
{
    void *block = pg_arena_grow_unset(a, NULL, 0, size);
    if (block != NULL && size != 0) {
        memcpy(block, bytes, size);
    }
    return block;
}

pg_str pg_arena_str(pg_arena *a, pg_str s)
{
    size_t size;
    char *text = pg_size_add(s.len, 1, &size) ? pg_arena_grow_unset(a, NULL, 0, size) : NULL;
    if (text == NULL) {
        return PG_STR("");
    }
    if (s.len != 0) {
        memcpy(text, s.ptr, s.len);
    }
    text[s.len] = '\0';
    return (pg_str){text, s.len};
}

pg_arena_mark pg_arena_mark_get(const pg_arena *a)
{
    return (pg_arena_mark){a->top, a->top == NULL ? 0 : a->top->used, a->used, a->n_large};
}

void pg_arena_release(pg_arena *a, pg_arena_mark mark)
{
    while (a->top != NULL && a->top != mark.chunk) {
        pop_chunk(a);
    }
    memset(a->left, 0, sizeof a->left); /* what was left may lie behind the mark */
    while (a->large != NULL && a->large->number > mark.n_large) {
        pop_large(a);
    }
    if (a->top != NULL) {
        a->top->used = mark.chunk_used;
    }
    a->used = mark.used;
}

pg_status pg_arena_status(const pg_arena *a)
{
    return a->is_oom ? PG_E_NOMEM : PG_OK;
}
