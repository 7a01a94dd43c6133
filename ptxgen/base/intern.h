/* intern.h: strings to small ids and back. Id 0 is the empty string. Same text, same id. */
#ifndef PG_BASE_INTERN_H
#define PG_BASE_INTERN_H

#include "base/index.h"
#include "base/vec.h"

typedef struct pg_sym {
    uint32_t id;
} pg_sym;

typedef struct pg_interner {
    pg_arena *arena;
    pg_index index;   /* item i is id i + 1 */
    pg_vec_str texts; /* by id */
} pg_interner;

void pg_interner_init(pg_interner *in, pg_arena *arena);
pg_sym pg_intern(pg_interner *in,
                 pg_str text); /* copies; id 0 also when out of memory (arena flag set) */
pg_sym pg_intern_find(const pg_interner *in, pg_str text);        /* id 0 if not there */
static inline pg_str pg_sym_text(const pg_interner *in, pg_sym s) /* NUL-terminated */
{
    return s.id < in->texts.n ? in->texts.at[s.id] : PG_STR("");
}

#endif
