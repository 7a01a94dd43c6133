#include "base/suggest.h"

#include "base/strbuf.h"

uint32_t pg_edit_distance(pg_str a, pg_str b)
{
    uint32_t rows[3][PG_LONGEST_WORD + 1]; /* of i - 2, i - 1 and i letters of a, in turns */
    if (a.len > PG_LONGEST_WORD || b.len > PG_LONGEST_WORD) {
        return UINT32_MAX;
    }
    for (uint32_t j = 0; j <= b.len; j++) {
        rows[0][j] = j;
    }
    for (uint32_t i = 1; i <= a.len; i++) {
        const uint32_t *older = rows[(i + 1) % 3];
        const uint32_t *old = rows[(i + 2) % 3];
        uint32_t *row = rows[i % 3];
        row[0] = i;
        for (uint32_t j = 1; j <= b.len; j++) {
            uint32_t d = old[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
            uint32_t other = (row[j - 1] < old[j] ? row[j - 1] : old[j]) + 1;
            d = other < d ? other : d;
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
                older[j - 2] + 1 < d) {
                d = older[j - 2] + 1;
            }
            row[j] = d;
        }
    }
    return rows[a.len % 3][b.len];
}

pg_nearest pg_nearest_of(pg_str wanted)
{
    uint32_t limit = wanted.len < 2 ? 1 : wanted.len < 4 ? 2 : 3;
    return (pg_nearest){.wanted = wanted, .word = {"", 0}, .distance = limit};
}

void pg_nearest_try(pg_nearest *n, pg_str word)
{
    uint32_t d = pg_edit_distance(n->wanted, word);
    if (d < n->distance && n->wanted.len != 0 && word.len != 0) {
        n->distance = d;
        n->word = word;
        n->other = NULL;
    }
}

const char *pg_nearest_text(const pg_nearest *n, pg_arena *arena, pg_alloc alloc)
{
    if (n->word.len == 0) {
        return "";
    }
    pg_strbuf text;
    pg_strbuf_init(&text, alloc);
    const char *sigil = n->sigil == NULL ? "" : n->sigil;
    pg_putf(&text, "; did you mean `%s%.*s`", sigil, PG_STR_ARG(n->word));
    if (n->other != NULL) {
        pg_putf(&text, " or `%s%s`", sigil, n->other);
    }
    pg_put(&text, "?");
    const char *copy = pg_arena_str(arena, pg_strbuf_str(&text)).ptr;
    pg_strbuf_fini(&text);
    return copy == NULL ? "" : copy;
}
