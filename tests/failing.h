/* failing.h: an allocator for tests that refuses a request, and counts what is live. */
#ifndef PG_TESTS_FAILING_H
#define PG_TESTS_FAILING_H

#include <stdint.h>
#include <stdlib.h>

typedef struct failing {
    uint64_t fail_at; /* the request that is refused, from 1; 0: none */
    int fails_on;     /* all later ones are refused too */
    uint64_t n;       /* requests */
    int64_t live_bytes, live_blocks;
} failing;

/* As pg_alloc and ptxgen_allocator want it; `user` is a failing. */
static inline void *resize_failing(void *user, void *block, size_t old_size, size_t new_size)
{
    failing *f = (failing *)user;
    void *p = NULL;
    if (new_size == 0) {
        free(block);
        f->live_blocks -= block != NULL;
    } else {
        f->n++;
        if (f->fail_at != 0 && (f->fails_on ? f->n >= f->fail_at : f->n == f->fail_at)) {
            return NULL;
        }
        p = realloc(block, new_size);
        if (p == NULL) {
            return NULL;
        }
        f->live_blocks += block == NULL;
    }
    f->live_bytes += (int64_t)new_size - (int64_t)old_size;
    return p;
}

#endif
