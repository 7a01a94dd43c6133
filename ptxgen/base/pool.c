/* pool.c: see pool.h.
 *
 * I1  What is given out for a size up to LARGEST has room for the size rounded up (real_size), and
 *     is that long for the allocator below; a pool that keeps nothing rounds nothing.
 * I2  Between two classes lies a quarter of a power of two: at most a fifth of a block is not used.
 */
#include "base/pool.h"

#include <string.h>

#include "base/arena.h"

/* With AddressSanitizer, touching a block that is kept, or what lies behind the size that was asked
 * for, is found as with an allocator that keeps nothing. */
#if PG_ARENA_HUNTS
void __asan_poison_memory_region(const volatile void *at, size_t size);
void __asan_unpoison_memory_region(const volatile void *at, size_t size);
#define FORBID(at, size) __asan_poison_memory_region(at, size)
#define ALLOW(at, size)  __asan_unpoison_memory_region(at, size)
#else
#define FORBID(at, size) ((void)(at), (void)(size))
#define ALLOW(at, size)  ((void)(at), (void)(size))
#endif

struct pg_pool_block {
    pg_pool_block *next;
};

enum { LEAST_LOG2 = 12, LEAST = 1 << LEAST_LOG2, STEPS_LOG2 = 2, STEPS = 1 << STEPS_LOG2 };
enum { LARGEST = LEAST << (PG_POOL_CLASSES - 1) / STEPS };

void pg_pool_init(pg_pool *p, pg_alloc from, size_t most)
{
    *p = (pg_pool){.from = from, .most = most};
}

static size_t size_of_class(uint32_t c)
{
    return ((size_t)STEPS + c % STEPS) << (LEAST_LOG2 - STEPS_LOG2 + c / STEPS);
}

void pg_pool_fini(pg_pool *p)
{
    for (uint32_t c = 0; c < PG_POOL_CLASSES; c++) {
        while (p->kept[c] != NULL) {
            pg_pool_block *b = p->kept[c];
            p->kept[c] = b->next;
            ALLOW(b, size_of_class(c));
            (void)p->from.resize(p->from.user, b, size_of_class(c), 0);
        }
    }
    p->n_kept = 0;
}

/* The least class that holds `size`; PG_POOL_CLASSES: none, or one that is not kept. */
static uint32_t class_of(const pg_pool *p, size_t size)
{
    if (p->most == 0 || size <= LEAST / 2 || size > LARGEST) {
        return PG_POOL_CLASSES;
    }
    if (size <= LEAST) {
        return 0;
    }
    const uint32_t log2 = pg_log2(size - 1);                /* of the power of two below */
    const size_t steps = (size - 1) >> (log2 - STEPS_LOG2); /* STEPS to 2 * STEPS - 1 */
    return (log2 - LEAST_LOG2) * STEPS + (uint32_t)steps - STEPS + 1;
}

static void *take(pg_pool *p, uint32_t c)
{
    pg_pool_block *b = c < PG_POOL_CLASSES ? p->kept[c] : NULL;
    if (b != NULL) {
        p->kept[c] = b->next;
        p->n_kept -= size_of_class(c);
    }
    return b;
}

static bool keep(pg_pool *p, void *block, uint32_t c)
{
    if (c >= PG_POOL_CLASSES || p->n_kept + size_of_class(c) > p->most) {
        return false;
    }
    pg_pool_block *b = block;
    b->next = p->kept[c];
    p->kept[c] = b;
    p->n_kept += size_of_class(c);
    FORBID(b + 1, size_of_class(c) - sizeof *b);
    return true;
}

/* The first `size` bytes of a block that is given out may be touched. */
static void *give(void *block, uint32_t c, size_t size)
{
    if (block != NULL && c < PG_POOL_CLASSES) {
        ALLOW(block, size_of_class(c));
        FORBID((char *)block + size, size_of_class(c) - size);
    }
    return block;
}

static void *resize_pooled(void *user, void *block, size_t old_size, size_t new_size)
{
    pg_pool *p = user;
    const uint32_t from = block == NULL ? PG_POOL_CLASSES : class_of(p, old_size);
    const uint32_t to = new_size == 0 ? PG_POOL_CLASSES : class_of(p, new_size);
    if (from < PG_POOL_CLASSES) {
        ALLOW(block, size_of_class(from));
    }
    if (from == to && from < PG_POOL_CLASSES) {
        return give(block, to, new_size);
    }
    const size_t old_real = from < PG_POOL_CLASSES ? size_of_class(from) : old_size;
    const size_t new_real = to < PG_POOL_CLASSES ? size_of_class(to) : new_size;
    void *kept = give(take(p, to), to, new_size);
    if (kept != NULL && block != NULL) {
        memcpy(kept, block, old_size < new_size ? old_size : new_size);
    }
    if (block != NULL && (kept != NULL || new_size == 0)) {
        if (!keep(p, block, from)) {
            (void)p->from.resize(p->from.user, block, old_real, 0);
        }
        return kept;
    }
    if (kept != NULL) {
        return kept;
    }
    void *fresh = p->from.resize(p->from.user, block, old_real, new_real);
    if (fresh == NULL) { /* the old block stays as it was */
        (void)give(block, from, old_size);
    }
    return give(fresh, to, new_size);
}

pg_alloc pg_pool_alloc(pg_pool *p)
{
    return (pg_alloc){p, resize_pooled};
}
