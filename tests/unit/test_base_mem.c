/* Memory: arenas under failing allocators, vectors, maps against a plain array, interning. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"
#include "tests/failing.h"

static pg_alloc failing_alloc(failing *f)
{
    return (pg_alloc){f, resize_failing};
}

Test(base_mem, arena_survives_failure_of_every_request)
{
    /* Where each block is a request of its own, each twentieth part: all would take minutes. */
    for (size_t k = 1;; k += 1 + (PG_ARENA_HUNTS ? k / 20 : 0)) {
        failing f = {.fail_at = k};
        pg_arena a;
        pg_arena_init(&a, failing_alloc(&f));
        size_t n_good = 0;
        for (size_t i = 0; i < 20000; i++) {
            unsigned char *p = pg_arena_get(&a, 1 + i % 700, 1);
            if (p != NULL) {
                cr_assert_eq((uintptr_t)p % _Alignof(max_align_t), 0);
                cr_assert_eq(p[0] | p[i % 700], 0);
                memset(p, 0xFF, 1 + i % 700);
                n_good++;
            }
        }
        bool is_oom = pg_arena_status(&a) != PG_OK;
        cr_assert_eq(is_oom, n_good < 20000);
        pg_arena_fini(&a);
        cr_assert_eq(f.live_bytes, 0);
        if (!is_oom) {
            cr_assert_gt(k, 5);
            return;
        }
    }
}

Test(base_mem, arena_oom_is_sticky_until_fini)
{
    failing f = {.fail_at = 1};
    pg_arena a;
    pg_arena_init(&a, failing_alloc(&f));
    cr_assert_null(pg_arena_get(&a, 8, 1));
    cr_assert_null(pg_arena_get(&a, 8, 1));
    cr_assert_eq(pg_arena_status(&a), PG_E_NOMEM);
    pg_arena_fini(&a);
    cr_assert_not_null(pg_arena_get(&a, 8, 1));
    cr_assert_null(pg_arena_get(&a, SIZE_MAX / 2, 3));
    cr_assert_null(pg_arena_get(&a, 8, 1));
    pg_arena_fini(&a);
    cr_assert_eq(f.live_bytes, 0);
}

Test(base_mem, arena_marks_nest)
{
    failing f = {0};
    pg_arena a;
    pg_arena_init(&a, failing_alloc(&f));
    pg_arena_mark empty = pg_arena_mark_get(&a);
    char *kept = pg_arena_copy(&a, "kept", 5);
    pg_arena_mark mark = pg_arena_mark_get(&a);
    size_t used = a.used;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++) {
            memset(pg_arena_get(&a, 64, 3), 0xAA, 192);
        }
        pg_arena_release(&a, mark);
        cr_assert_eq(a.used, used);
        const char *again = pg_arena_get(&a, 16, 1);
        cr_assert_eq(again[0], 0);
        cr_assert_str_eq(kept, "kept");
        pg_arena_release(&a, mark);
    }
    cr_assert_geq(a.peak, 192000);
    pg_arena_release(&a, empty);
    cr_assert_eq(f.live_bytes, 0);
    cr_assert_not_null(pg_arena_get(&a, 0, 0));
    pg_str s = pg_arena_str(&a, (pg_str){"ab\0cd", 5});
    cr_assert(s.len == 5 && s.ptr[5] == '\0' && memcmp(s.ptr, "ab\0cd", 5) == 0);
    pg_arena_fini(&a);
}

/* Blocks of all sizes that grow in turn: contents stay, new parts are zero, neighbours are
 * untouched; failure of any request leaves the old block. */
Test(base_mem, blocks_grow)
{
    enum { N = 24 };
    for (size_t k = 0;; k += k < 40 ? 1 : 7) {
        failing f = {.fail_at = k};
        pg_arena a;
        pg_arena_init(&a, failing_alloc(&f));
        unsigned char *block[N] = {NULL};
        size_t size[N] = {0};
        uint32_t x = 1;
        for (int step = 0; step < 300; step++) {
            x = x * 1664525u + 1013904223u;
            const size_t i = x >> 8 & 15u ? x >> 12 & 7u : x >> 12 & 15u; /* some grow more often */
            const size_t more = size[i] + 1 + (x >> 16) % (size[i] < 200 ? 40 : 2 * size[i]);
            unsigned char *at = more < 120000 ? pg_arena_grow(&a, block[i], size[i], more) : NULL;
            for (size_t j = size[i]; at != NULL && j < more; j++) {
                cr_assert_eq(at[j], 0);
                at[j] = (unsigned char)(i + 1);
            }
            block[i] = at != NULL ? at : block[i];
            size[i] = at != NULL ? more : size[i];
        }
        for (size_t i = 0; i < N; i++) {
            for (size_t j = 0; j < size[i]; j++) {
                cr_assert_eq(block[i][j], i + 1);
            }
        }
        const bool is_oom = pg_arena_status(&a) != PG_OK;
        pg_arena_fini(&a);
        cr_assert_eq(f.live_bytes, 0);
        if (!is_oom && k != 0) {
            cr_assert_gt(k, 10);
            return;
        }
    }
}

/* What is large is one block of the allocator, also while it grows, and goes with the mark behind
 * it. */
Test(base_mem, large_blocks_stand_alone)
{
    failing f = {0};
    pg_arena a;
    pg_arena_init(&a, failing_alloc(&f));
    pg_arena_mark empty = pg_arena_mark_get(&a);
    char *kept = pg_arena_get(&a, 100000, 1);
    char *other = pg_arena_get(&a, 100000, 1);
    pg_arena_mark mark = pg_arena_mark_get(&a);
    for (size_t size = 100000; size < 10000000; size += size / 2) {
        kept = pg_arena_grow(&a, kept, size, size + size / 2);
        cr_assert_not_null(kept);
        cr_assert_leq((size_t)f.live_bytes, size + size / 2 + 100200);
        memset(kept + size, 1, size / 2);
    }
    int64_t bytes = f.live_bytes;
    cr_assert_not_null(pg_arena_get(&a, 500000, 3));
    pg_arena_release(&a, mark);
    cr_assert_eq(f.live_bytes, bytes);
    memset(other, 2, 100000);
    pg_arena_release(&a, empty);
    cr_assert_eq(f.live_bytes, 0);
    pg_arena_fini(&a);
}

/* A second round of the same requests costs no system allocation, if all of it may be kept. */
Test(base_mem, pool_keeps_blocks_up_to_its_limit)
{
    static const int64_t limits[] = {0, 100000, 600000};
    for (size_t l = 0; l < PG_COUNT_OF(limits); l++) {
        failing f = {0};
        pg_pool pool;
        pg_pool_init(&pool, failing_alloc(&f), (size_t)limits[l]);
        uint64_t n_first = 0;
        for (int round = 0; round < 3; round++) {
            pg_arena a;
            pg_arena_init(&a, pg_pool_alloc(&pool));
            for (int i = 0; i < 30000; i++) {
                cr_assert_not_null(pg_arena_get(&a, 8, 1));
            }
            pg_arena_fini(&a);
            cr_assert_leq(f.live_bytes, limits[l]);
            n_first = round == 0 ? f.n : n_first;
        }
        const bool keeps_all = limits[l] == 600000 && !PG_ARENA_HUNTS;
        cr_assert_gt(n_first, 3);
        cr_assert(!keeps_all || f.n == n_first);
        cr_assert(limits[l] != 0 || f.n == 3 * n_first);
        pg_pool_fini(&pool);
        cr_assert_eq(f.live_bytes, 0);
    }
}

/* Blocks of every size keep what is in them as they grow and shrink, alone and over kept ones. */
Test(base_mem, pool_moves_what_is_in_a_block)
{
    failing f = {0};
    pg_pool pool;
    pg_pool_init(&pool, failing_alloc(&f), 1 << 22);
    pg_alloc a = pg_pool_alloc(&pool);
    for (uint32_t round = 0; round < 2; round++) {
        size_t size = 1;
        unsigned char *block = a.resize(a.user, NULL, 0, size);
        cr_assert_not_null(block);
        block[0] = 1;
        for (size_t next = 2; next < 3000000; next += next / 3 + 1 + round) {
            block = a.resize(a.user, block, size, next);
            cr_assert_not_null(block);
            for (size_t i = 0; i < size; i += 1 + size / 50) {
                cr_assert_eq(block[i], (unsigned char)(i * 7 + 1));
            }
            for (size_t i = 0; i < next; i++) {
                block[i] = (unsigned char)(i * 7 + 1);
            }
            size = next;
        }
        block = a.resize(a.user, block, size, 5000);
        cr_assert_not_null(block);
        cr_assert_eq(block[4999], (unsigned char)(4999 * 7 + 1));
        cr_assert_null(a.resize(a.user, block, 5000, 0));
    }
    pg_pool_fini(&pool);
    cr_assert_eq(f.live_bytes, 0);
}

/* Arrays that grow one after the other take what the ones before them grew out of. */
Test(base_mem, vectors_reuse_what_others_left)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    size_t first = 0;
    for (int round = 0; round < 100; round++) {
        pg_vec_u32 v = {0};
        pg_vec_u64 w = {0};
        for (uint32_t i = 0; i < 1000; i++) {
            cr_assert(pg_vec_push(&a, &v, i) && pg_vec_push(&a, &w, i));
        }
        for (uint32_t i = 0; i < 1000; i++) {
            cr_assert(v.at[i] == i && w.at[i] == i);
        }
        first = round == 0 ? a.used : first;
    }
    cr_assert(PG_ARENA_HUNTS || a.used <= 100 * 1024 * 12 + first);
    pg_arena_fini(&a);
}

Test(base_mem, vec_keeps_items_while_growing)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    pg_vec_u32 v = {0};
    for (uint32_t i = 0; i < 100000; i++) {
        cr_assert(pg_vec_push(&a, &v, i * 3));
    }
    for (uint32_t i = 0; i < v.n; i++) {
        cr_assert_eq(v.at[i], i * 3);
    }
    cr_assert_not(pg_vec_reserve(&a, &v, UINT32_MAX));
    cr_assert_eq(v.n, 100000);
    pg_arena_fini(&a);
}

enum { N_KEYS = 500 };

/* Random puts, gets and truncations; `model` holds (key, value) in insertion order. */
Test(base_mem, map_agrees_with_a_plain_array)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    pg_map by_number;
    pg_map by_text;
    pg_map_init(&by_number, &a);
    pg_map_init(&by_text, &a);
    struct {
        uint32_t key, value;
    } model[N_KEYS];
    char names[N_KEYS][8];
    for (int i = 0; i < N_KEYS; i++) {
        (void)snprintf(names[i], sizeof names[i], "k%d", i);
    }
    uint32_t n = 0;
    srand(1);
    for (int step = 0; step < 30000; step++) {
        uint32_t key = (uint32_t)rand() % N_KEYS;
        uint32_t at = 0;
        while (at < n && model[at].key != key) {
            at++;
        }
        int what = rand() % 100;
        if (what == 0) {
            n = (uint32_t)rand() % (n + 1);
            pg_map_truncate(&by_number, n);
            pg_map_truncate(&by_text, n);
        } else if (what < 50) {
            model[at].key = key;
            model[at].value = (uint32_t)step;
            n += at == n;
            cr_assert(pg_map_put(&by_number, (uint64_t)key << 40, (uint32_t)step));
            cr_assert(pg_map_put_str(&by_text, pg_str_of(names[key]), (uint32_t)step));
        } else {
            const uint32_t *x = pg_map_get(&by_number, (uint64_t)key << 40);
            const uint32_t *y = pg_map_get_str(&by_text, pg_str_of(names[key]));
            cr_assert_eq(x != NULL, at < n);
            cr_assert_eq(y != NULL, at < n);
            cr_assert(x == NULL || (*x == model[at].value && *y == model[at].value));
        }
        cr_assert_eq(by_number.entries.n, n);
        cr_assert_eq(by_text.entries.n, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_eq(by_number.entries.at[i].key, (uint64_t)model[i].key << 40);
        const pg_map_entry *e = &by_text.entries.at[i];
        cr_assert(pg_str_is((pg_str){e->text, e->len}, names[model[i].key]));
    }
    pg_arena_fini(&a);
}

Test(base_mem, intern_gives_one_id_per_text)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    pg_interner in;
    pg_interner_init(&in, &a);
    cr_assert_eq(pg_intern(&in, PG_STR("")).id, 0);
    cr_assert_eq(pg_intern_find(&in, PG_STR("x")).id, 0);
    char text[16];
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 3000; i++) {
            (void)snprintf(text, sizeof text, "name%u", (unsigned)i);
            cr_assert_eq(pg_intern(&in, pg_str_of(text)).id, i + 1);
        }
    }
    cr_assert_str_eq(pg_sym_text(&in, (pg_sym){8}).ptr, "name7");
    cr_assert_eq(pg_sym_text(&in, (pg_sym){0}).len, 0);
    cr_assert_eq(pg_sym_text(&in, (pg_sym){999999}).len, 0);
    pg_arena_fini(&a);
}

Test(base_mem, intern_under_failure)
{
    for (size_t k = 1; k < 40; k++) {
        failing f = {.fail_at = k};
        pg_arena a;
        pg_arena_init(&a, failing_alloc(&f));
        pg_interner in;
        pg_interner_init(&in, &a);
        char text[16];
        for (uint32_t i = 0; i < 2000; i++) {
            (void)snprintf(text, sizeof text, "n%u", (unsigned)i);
            pg_sym s = pg_intern(&in, pg_str_of(text));
            cr_assert(s.id == 0 ? a.is_oom : pg_str_is(pg_sym_text(&in, s), text));
        }
        pg_arena_fini(&a);
        cr_assert_eq(f.live_bytes, 0);
    }
}
