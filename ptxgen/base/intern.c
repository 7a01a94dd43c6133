#include "base/intern.h"

/* Names are short: a call costs more than what is done to them. */
static uint64_t word_of(const char *at, size_t n) /* 4 to 8 bytes; two halves that may overlap */
{
    uint32_t x[2];
    memcpy(&x[0], at, sizeof x[0]);
    memcpy(&x[1], at + n - sizeof x[1], sizeof x[1]);
    return (uint64_t)x[1] << 32 | x[0];
}

static uint64_t short_word_of(const char *at, size_t n) /* up to 3 bytes */
{
    const unsigned char *u = (const unsigned char *)at;
    return n == 0 ? 0 : (uint64_t)u[0] << 16 | (uint64_t)u[n / 2] << 8 | u[n - 1];
}

static uint64_t hash_of(const char *at, size_t n)
{
    return n > 8 ? pg_hash(at, n) : pg_hash_mix(n, n < 4 ? short_word_of(at, n) : word_of(at, n));
}

static bool is_same(pg_str a, pg_str b)
{
    const size_t n = a.len;
    if (n != b.len || n > 8) {
        return n == b.len && memcmp(a.ptr, b.ptr, n) == 0;
    }
    return n < 4 ? short_word_of(a.ptr, n) == short_word_of(b.ptr, n)
                 : word_of(a.ptr, n) == word_of(b.ptr, n);
}

void pg_interner_init(pg_interner *in, pg_arena *arena)
{
    *in = (pg_interner){.arena = arena};
    pg_index_init(&in->index, arena);
}

/* Names that are made in turn, as v1, v2, ..., lie side by side: what stands before the number says
 * where they begin. */
static pg_index_key key_of(pg_str text)
{
    enum { MOST_DIGITS = 8 };
    const size_t least = text.len > MOST_DIGITS ? text.len - MOST_DIGITS : 0;
    uint32_t number = 0, scale = 1;
    size_t n = text.len;
    for (uint32_t digit; n > least && (digit = (uint32_t)text.ptr[n - 1] - '0') <= 9; n--) {
        number += digit * scale;
        scale *= 10;
    }
    const uint64_t prefix = hash_of(text.ptr, n);
    /* How long it is tells v1 from v01, which are as near. */
    return pg_index_key_of(pg_hash_mix(prefix, (uint64_t)text.len << 32 | number),
                           (uint32_t)prefix + number);
}

static uint32_t find(const pg_interner *in, pg_str text, pg_index_probe *p)
{
    uint32_t id = pg_index_first(&in->index, key_of(text), p);
    while (id != 0 && !is_same(in->texts.at[id], text)) {
        id = pg_index_next(&in->index, p);
    }
    return id;
}

pg_sym pg_intern_find(const pg_interner *in, pg_str text)
{
    pg_index_probe p;
    return (pg_sym){text.len == 0 ? 0 : find(in, text, &p)};
}

pg_sym pg_intern(pg_interner *in, pg_str text)
{
    const pg_sym none = {0};
    if (text.len == 0) {
        return none;
    }
    pg_index_probe p;
    const uint32_t known = find(in, text, &p);
    if (known != 0) {
        return (pg_sym){known};
    }
    if (in->texts.n == 0 && !pg_vec_push(in->arena, &in->texts, PG_STR(""))) {
        return none;
    }
    pg_str copy = pg_arena_str(in->arena, text);
    if (copy.len != text.len || !pg_vec_reserve(in->arena, &in->texts, 1) ||
        !pg_index_add(&in->index, &p)) {
        return none;
    }
    in->texts.at[in->texts.n] = copy;
    return (pg_sym){in->texts.n++};
}
