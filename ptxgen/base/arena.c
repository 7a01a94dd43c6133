#include "base/arena.h"

#include <string.h>

/* Chunks form a stack; only the top one has room to give. Each is twice as large as the one below,
 * so that a million small blocks cost a few dozen system allocations. */
struct pg_arena_chunk {
    pg_arena_chunk *below;
    size_t cap, used;
    max_align_t data[];
};

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20, ALIGN = (int)sizeof(max_align_t) };

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

void pg_arena_fini(pg_arena *a)
{
    while (a->top != NULL) {
        pop_chunk(a);
    }
    pg_arena_init(a, a->alloc);
}

static bool push_chunk(pg_arena *a, size_t size)
{
    size_t cap = FIRST_CHUNK;
    if (a->top != NULL) {
        cap = a->top->cap >= LARGEST_CHUNK / 2 ? (size_t)LARGEST_CHUNK : a->top->cap * 2;
    }
    cap = cap < size ? size : cap;
    size_t total;
    if (!pg_size_add(cap, sizeof(pg_arena_chunk), &total)) {
        return false;
    }
    pg_arena_chunk *c = a->alloc.resize(a->alloc.user, NULL, 0, total);
    if (c == NULL) {
        return false;
    }
    c->below = a->top;
    c->cap = cap;
    c->used = 0;
    a->top = c;
    return true;
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
    /* An empty block still gets an address of its own. */
    bytes = bytes == 0 ? (size_t)ALIGN : (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if ((a->top == NULL || a->top->cap - a->top->used < bytes) && !push_chunk(a, bytes)) {
        a->is_oom = true;
        return NULL;
    }
    char *block = (char *)a->top->data + a->top->used;
    a->top->used += bytes;
    a->used += bytes;
    a->peak = a->used > a->peak ? a->used : a->peak;
    memset(block, 0, bytes);
    return block;
}

void *pg_arena_copy(pg_arena *a, const void *bytes, size_t size)
{
    void *block = pg_arena_get(a, size, 1);
    if (block != NULL && size != 0) {
        memcpy(block, bytes, size);
    }
    return block;
}

pg_str pg_arena_str(pg_arena *a, pg_str s)
{
    size_t size;
    char *text = pg_size_add(s.len, 1, &size) ? pg_arena_get(a, size, 1) : NULL;
    if (text == NULL) {
        return PG_STR("");
    }
    if (s.len != 0) {
        memcpy(text, s.ptr, s.len);
    }
    return (pg_str){text, s.len};
}

pg_arena_mark pg_arena_mark_get(const pg_arena *a)
{
    return (pg_arena_mark){a->top, a->top == NULL ? 0 : a->top->used, a->used};
}

void pg_arena_release(pg_arena *a, pg_arena_mark mark)
{
    while (a->top != NULL && a->top != mark.chunk) {
        pop_chunk(a);
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
