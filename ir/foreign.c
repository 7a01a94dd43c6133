#include "ir/foreign.h"

static const struct {
    pg_foreign_kind kind;
    const char *theirs, *ours, *other;
} rows[] = {
#define FOREIGN(kind, theirs, ours, other) {PG_FOREIGN_##kind, theirs, ours, other},
#include "ir/foreign.def"
};

void pg_foreign_try(pg_nearest *n, pg_foreign_kind kind)
{
    for (size_t i = 0; kind != PG_FOREIGN_NONE && i < PG_COUNT_OF(rows); i++) {
        if (rows[i].kind == kind && pg_str_is(n->wanted, rows[i].theirs)) {
            n->word = pg_str_of(rows[i].ours);
            n->other = rows[i].other[0] == '\0' ? NULL : rows[i].other;
            n->distance = 0;
            return;
        }
    }
}
