/* diag.h: numbered diagnostics. One row of diags.def each: number for ever, severity, status, text,
 * help. A list keeps up to PG_MAX_DIAGS errors; what comes after is counted, not kept. */
#ifndef PG_BASE_DIAG_H
#define PG_BASE_DIAG_H

#include <stdarg.h>

#include "base/arena.h"
#include "base/strbuf.h"

#define PG_MAX_DIAGS 64

/* 1-based; 0,0 when there is no source text. `file` is an index that the list's owner understands.
 */
typedef struct pg_loc {
    uint32_t line, column;
} pg_loc;

typedef enum pg_severity { PG_SEV_NOTE, PG_SEV_WARNING, PG_SEV_ERROR } pg_severity;

typedef enum pg_diag_id {
    PG_D_NONE,
#define DIAG(id, ...) PG_D_##id,
#include "base/diags.def"
    PG_D_COUNT
} pg_diag_id;

/* The text of each row under a name of its own, so that the compiler can read it where the row is
 * used: PG_D_x_TEXT. */
#define DIAG(id, number, severity, status, text, help) static const char PG_D_##id##_TEXT[] = text;
#include "base/diags.def"

typedef struct pg_diag_info {
    uint16_t number;  /* 1203 prints as PG1203 */
    uint8_t severity; /* pg_severity */
    uint8_t status;   /* pg_status that an error of this kind leads to */
    const char *text; /* pg_putf format: PG_D_x_TEXT */
    const char *help; /* one sentence that says what to do; may be "" */
} pg_diag_info;

extern const pg_diag_info pg_diag_infos[PG_D_COUNT];

typedef struct pg_diag {
    pg_diag_id id;
    pg_severity severity;
    pg_loc loc;
    pg_str message; /* NUL-terminated, in the list's arena */
    pg_str help;
} pg_diag;

typedef struct pg_diags {
    pg_arena *arena;
    pg_alloc alloc; /* for formatting */
    pg_diag *at;
    uint32_t n, cap;
    uint32_t n_errors; /* all errors, also those not kept */
    uint32_t n_dropped;
    pg_status status; /* status of the first error, PG_OK without one */
} pg_diags;

void pg_diags_init(pg_diags *d, pg_arena *arena, pg_alloc alloc);
/* pg_diag_add(d, id, loc, ...): adds one, whose text the arguments fill. Gives the status of its
 * row, so that `return pg_diag_add(...)` reads well; PG_OK for notes and warnings. `id` is the name
 * of a row, PG_D_x, not an expression: its text is then known to the compiler, and -Wformat holds
 * the arguments against it, as those of printf. */
#define pg_diag_add(d, id, ...) \
    (PG_CHECK_TEXT(pg_diag_text, id, __VA_ARGS__), pg_diag_add_row((d), (id), __VA_ARGS__))
/* What stands behind it and functions like it. The first checks alone: it is never called, and thus
 * defined nowhere; `what` is declared as pg_diag_text is. */
#define PG_CHECK_TEXT(what, id, ...) ((void)sizeof(what(id##_TEXT, __VA_ARGS__)))
int pg_diag_text(const char *text, pg_loc loc, ...) PG_PRINTF(1, 3);
pg_status pg_diag_add_row(pg_diags *d, pg_diag_id id, pg_loc loc, ...);
pg_status pg_diag_addv(pg_diags *d, pg_diag_id id, pg_loc loc, va_list args);
/* Adds one of another list, whose arena may go first. */
void pg_diags_copy(pg_diags *d, const pg_diag *from);
/* Would one more of this severity be counted only? Errors have their own room, notes and warnings
 * share theirs. Who searches for what to say in a message asks first. */
bool pg_diags_is_full(const pg_diags *d, pg_severity severity);
/* Removes errors of one kind, from place `first` on, that turned out to follow from another one,
 * which is added after this: the status of the first error stays. */
void pg_diags_take_back(pg_diags *d, uint32_t first, pg_diag_id id);
/* PG_OK, or the status of the first error; PG_E_NOMEM if the arena ran out. */
pg_status pg_diags_status(const pg_diags *d);
/* Stable sort by line, column, keeping the order of arrival among equals. */
void pg_diags_sort(pg_diags *d);
/* "file:line:col: error: PG1203 text\nhelp: ...\n"; with source, the line and a caret under it. */
void pg_diag_print(pg_strbuf *out, const pg_diag *diag, pg_str file_name, pg_str source_or_empty);

/* Our own defect: records E_INTERNAL with the place and returns it. Never traps in a release build.
 */
pg_status pg_diag_internal(pg_diags *d, const char *file, int line, const char *what);
#define PG_REQUIRE(diags, cond, what)                                     \
    do {                                                                  \
        if (!(cond)) {                                                    \
            return pg_diag_internal((diags), __FILE__, __LINE__, (what)); \
        }                                                                 \
    } while (0)

#endif
