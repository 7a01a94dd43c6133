#include "base/intern.h"

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
    const uint64_t prefix = pg_hash_mix(pg_hash(text.ptr, n), text.len);
    return pg_index_key_of(pg_hash_mix(prefix, number), (uint32_t)prefix + number);
}

static uint32_t find(const pg_interner *in, pg_str text, pg_index_probe *p)
{
    uint32_t id = pg_index_first(&in->index, key_of(text), p);
    while (id != 0 && !pg_str_eq(in->texts.at[id], text)) {
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
