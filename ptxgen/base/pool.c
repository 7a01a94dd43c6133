#include "base/pool.h"

struct pg_pool_block {
    pg_pool_block *next;
};

enum { LEAST_LOG2 = 12 };

void pg_pool_init(pg_pool *p, pg_alloc from, size_t most)
{
    *p = (pg_pool){.from = from, .most = most};
}

void pg_pool_fini(pg_pool *p)
{
    for (uint32_t c = 0; c < PG_POOL_CLASSES; c++) {
        while (p->kept[c] != NULL) {
            pg_pool_block *b = p->kept[c];
            p->kept[c] = b->next;
            (void)p->from.resize(p->from.user, b, (size_t)1 << (LEAST_LOG2 + c), 0);
        }
    }
    p->n_kept = 0;
}

/* PG_POOL_CLASSES: not a size that is kept. */
static uint32_t class_of(size_t size)
{
    const uint32_t log2 = pg_log2(size);
    const bool is_kept =
        pg_is_pow2(size) && log2 >= LEAST_LOG2 && log2 - LEAST_LOG2 < PG_POOL_CLASSES;
    return is_kept ? log2 - LEAST_LOG2 : PG_POOL_CLASSES;
}

static void *resize_pooled(void *user, void *block, size_t old_size, size_t new_size)
{
    pg_pool *p = user;
    const uint32_t c = class_of(block == NULL ? new_size : old_size);
    if (c < PG_POOL_CLASSES && block == NULL && p->kept[c] != NULL) {
        pg_pool_block *b = p->kept[c];
        p->kept[c] = b->next;
        p->n_kept -= new_size;
        return b;
    }
    if (c < PG_POOL_CLASSES && block != NULL && new_size == 0 && p->n_kept + old_size <= p->most) {
        pg_pool_block *b = block;
        b->next = p->kept[c];
        p->kept[c] = b;
        p->n_kept += old_size;
        return NULL;
    }
    return p->from.resize(p->from.user, block, old_size, new_size);
}

pg_alloc pg_pool_alloc(pg_pool *p)
{
    return (pg_alloc){p, resize_pooled};
}
