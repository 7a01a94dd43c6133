/* suggest.h: the nearest known word to one that is not known, for "did you mean". Offer each known
 * word to pg_nearest_try; afterwards `word` is the first of the nearest, empty if none is near. */
#ifndef PG_BASE_SUGGEST_H
#define PG_BASE_SUGGEST_H

#include "base/arena.h"

enum { PG_LONGEST_WORD = 40 }; /* longer ones are never near */

typedef struct pg_nearest {
    pg_str wanted, word;
    const char *other; /* as good as `word`, or NULL */
    const char *sigil; /* that stands before the words, or NULL */
    uint32_t distance; /* of `word`; while there is none, it must be closer than this */
} pg_nearest;

/* Edits (insert, delete, change a letter, exchange two neighbours) between two words; UINT32_MAX if
 * one is too long. */
uint32_t pg_edit_distance(pg_str a, pg_str b);
/* None for a letter, fewer than 2 edits for short words, fewer than 3 for others. */
pg_nearest pg_nearest_of(pg_str wanted);
void pg_nearest_try(pg_nearest *n, pg_str word);
/* "; did you mean `x`?" (or "`x` or `y`?") in the arena, or "" where nothing is near or memory ran
 * out. */
const char *pg_nearest_text(const pg_nearest *n, pg_arena *arena, pg_alloc alloc);

#endif
