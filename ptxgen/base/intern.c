#include "base/intern.h"

void pg_interner_init(pg_interner *in, pg_arena *arena)
{
    *in = (pg_interner){.arena = arena};
    pg_map_init(&in->map, arena);
}

pg_sym pg_intern_find(const pg_interner *in, pg_str text)
{
    const uint32_t *id = text.len == 0 ? NULL : pg_map_get_str(&in->map, text);
    return (pg_sym){id == NULL ? 0 : *id};
}

pg_sym pg_intern(pg_interner *in, pg_str text)
{
    const pg_sym none = {0};
    pg_sym found = pg_intern_find(in, text);
    if (found.id != 0 || text.len == 0) {
        return found;
    }
    if (in->texts.n == 0 && !pg_vec_push(in->arena, &in->texts, PG_STR(""))) {
        return none;
    }
    pg_str copy = pg_arena_str(in->arena, text);
    if (copy.len != text.len || !pg_vec_reserve(in->arena, &in->texts, 1) ||
        !pg_map_put_str(&in->map, copy, in->texts.n)) {
        return none;
    }
    in->texts.at[in->texts.n] = copy;
    return (pg_sym){in->texts.n++};
}

pg_str pg_sym_text(const pg_interner *in, pg_sym s)
{
    return s.id < in->texts.n ? in->texts.at[s.id] : PG_STR("");
}
