/* The hash index: against a plain array; how far its items lie from where one would look for them.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "base/intern.h"
#include "tests/failing.h"

/* The item that has this key and this name among those of `names`, + 1; the owner's part. */
static uint32_t find(const pg_index *x, pg_index_key key, const uint32_t *names, uint32_t name,
                     pg_index_probe *p)
{
    uint32_t at = pg_index_first(x, key, p);
    while (at != 0 && names[at - 1] != name) {
        at = pg_index_next(x, p);
    }
    return at;
}

/* One more, which equals none. */
static bool add(pg_index *x, pg_index_key key)
{
    pg_index_probe p;
    uint32_t at = pg_index_first(x, key, &p);
    while (at != 0) {
        at = pg_index_next(x, &p);
    }
    return pg_index_add(x, &p);
}

enum { N_NAMES = 20000 };

/* Few hashes and few near keys, so that lines fill up and hashes are the same. */
static pg_index_key crowded_key(uint32_t name)
{
    const uint32_t hash = (uint32_t)pg_hash_mix(1, name);
    return (pg_index_key){name % 3 == 0 ? hash : hash % 5000 * 65537, name / 7 % 900};
}

/* Random additions, searches and truncations, in a table that becomes large. */
Test(base_index, agrees_with_a_plain_array)
{
    static uint32_t names[N_NAMES], place[N_NAMES]; /* name of an item; item + 1 of a name */
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    pg_index x;
    pg_index_init(&x, &a);
    uint32_t n = 0;
    srand(3);
    for (uint32_t step = 0; step < 200000; step++) {
        const uint32_t name = (uint32_t)rand() % N_NAMES;
        pg_index_probe p;
        cr_assert_eq(find(&x, crowded_key(name), names, name, &p), place[name]);
        if (place[name] == 0) {
            cr_assert(pg_index_add(&x, &p));
            names[n++] = name;
            place[name] = n;
        } else if (rand() % 4000 == 0) {
            const uint32_t left = rand() % 8 == 0 ? 0 : n - (uint32_t)rand() % (n / 4 + 1);
            pg_index_truncate(&x, left);
            while (n > left) {
                place[names[--n]] = 0;
            }
        }
        cr_assert_eq(x.n, n);
    }
    cr_assert_gt(x.n_slots, PG_INDEX_LARGE);
    for (uint32_t name = 0; name < N_NAMES; name++) {
        pg_index_probe p;
        cr_assert_eq(find(&x, crowded_key(name), names, name, &p), place[name]);
    }
    pg_arena_fini(&a);
}

Test(base_index, truncation_restores_the_table)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    for (uint32_t n = 5; n < 40000; n *= 3) {
        pg_index x;
        pg_index_init(&x, &a);
        for (uint32_t i = 0; i < n; i++) {
            cr_assert(add(&x, crowded_key(i)));
        }
        pg_index_slot *before = pg_arena_copy(&a, x.slots, sizeof *x.slots * x.n_slots);
        for (uint32_t i = n; x.n < x.cap; i++) {
            cr_assert(add(&x, crowded_key(i)));
        }
        pg_index_truncate(&x, n);
        for (uint32_t i = 0; i < x.n_slots; i++) {
            cr_assert(x.slots[i].item == before[i].item &&
                      (before[i].item == 0 || x.slots[i].hash == before[i].hash));
        }
        pg_index_truncate(&x, 0);
        for (uint32_t i = 0; i < x.n_slots; i++) {
            cr_assert_eq(x.slots[i].item, 0);
        }
    }
    pg_arena_fini(&a);
}

/* What searches for all items look at. */
typedef struct looks {
    double slots; /* for each item */
    double lines; /* for each item */
    double moves; /* so often, for each item, does the line differ from that of the item before by
                     more than one */
} looks;

static looks looks_of(const pg_index *x)
{
    looks l = {0};
    uint32_t before = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        pg_index_probe p;
        uint32_t at = pg_index_first(x, x->items[i].key, &p);
        while (at != 0 && at != i + 1) {
            at = pg_index_next(x, &p);
        }
        cr_assert_eq(at, i + 1);
        const uint32_t line = p.at / PG_INDEX_LINE;
        l.slots += 1.0 + p.tried;
        l.lines += 1.0 + p.tried / PG_INDEX_LINE;
        l.moves += line - before > 1;
        before = line;
    }
    l.slots /= x->n;
    l.lines /= x->n;
    l.moves /= x->n;
    return l;
}

/* Prefixes one after the other, each with numbers from 0 on; or numbers one after the other, each
 * with all prefixes. */
static looks looks_of_names(const char *prefixes, uint32_t n, bool is_in_turn)
{
    const uint32_t n_prefixes = (uint32_t)strlen(prefixes);
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    pg_interner in;
    pg_interner_init(&in, &a);
    for (uint32_t i = 0; i < n * n_prefixes; i++) {
        const char prefix = prefixes[is_in_turn ? i % n_prefixes : i / n];
        char text[16];
        (void)snprintf(text, sizeof text, "%c%u", prefix,
                       (unsigned)(is_in_turn ? i / n_prefixes : i % n));
        cr_assert_eq(pg_intern(&in, pg_str_of(text)).id, i + 1);
    }
    const looks l = looks_of(&in.index);
    pg_arena_fini(&a);
    return l;
}

/* Of random places, all but a few of 100000 would be moves. */
Test(base_index, names_in_turn_lie_side_by_side)
{
    const looks one = looks_of_names("v", 100000, false);
    cr_assert(one.slots < 1.1 && one.lines < 1.1 && one.moves < 0.01, "%f %f %f", one.slots,
              one.lines, one.moves);
    const looks after = looks_of_names("ab", 100000, false);
    cr_assert(after.moves < 0.5, "%f", after.moves);
}

/* Numbers that fall together: what does not find room goes far, and no further than any would. */
Test(base_index, no_names_make_long_ways)
{
    static const char *const prefixes[] = {"ab", "abcdefgh", "abcdefghijklmnopqrstuvwxyz"};
    for (uint32_t i = 0; i < PG_COUNT_OF(prefixes); i++) {
        for (int is_in_turn = 0; is_in_turn < 2; is_in_turn++) {
            const looks l = looks_of_names(prefixes[i], 20000, is_in_turn != 0);
            cr_assert(l.lines < 3 && l.slots < 16, "%s: %f %f", prefixes[i], l.lines, l.slots);
        }
    }
}

/* Keys that are as near as can be: the hash alone spreads them. */
Test(base_index, one_near_key_is_as_good_as_none)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    for (uint32_t stride = 0; stride < 3; stride++) { /* the same; side by side; a line each */
        pg_index x;
        pg_index_init(&x, &a);
        for (uint32_t i = 0; i < 100000; i++) {
            const uint32_t near = i % 100 * (stride == 2 ? PG_INDEX_LINE : stride);
            cr_assert(add(&x, pg_index_key_of(pg_hash_mix(5, i), near)));
        }
        const looks l = looks_of(&x);
        cr_assert(l.lines < 2.5 && l.slots < 14, "%u: %f %f", (unsigned)stride, l.lines, l.slots);
    }
    pg_arena_fini(&a);
}

Test(base_index, survives_failure_of_every_request)
{
    bool is_done = false;
    for (size_t k = 1; !is_done; k++) {
        failing f = {.fail_at = k};
        pg_arena a;
        pg_arena_init(&a, (pg_alloc){&f, resize_failing});
        pg_index x;
        pg_index_init(&x, &a);
        is_done = true;
        for (uint32_t i = 0; i < 30000 && is_done; i++) {
            is_done = add(&x, crowded_key(i));
            cr_assert(is_done || a.is_oom);
        }
        (void)looks_of(&x); /* what is there is found */
        pg_index_truncate(&x, x.n / 2);
        pg_arena_fini(&a);
        cr_assert_eq(f.live_bytes, 0);
    }
}
