/* message.h: what the tools say on stderr, in one form:
 *     file:line:col: error: PG6012 what is wrong
 *     help: what to do
 * Texts are rows of base/diags.def. Colour only where the caller found a terminal. */
#ifndef PG_RUN_MESSAGE_H
#define PG_RUN_MESSAGE_H

#include <ptxgen.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/suggest.h"

/* Exit statuses of the command line; tools return the one that their failure leads to. */
typedef enum run_exit {
    RUN_OK = 0,
    RUN_INPUT = 1, /* the input is wrong or missing */
    RUN_USAGE = 2, /* the command is wrong */
    RUN_TOOL = 3,  /* a tool or device is missing or failed; memory ran out */
    RUN_CHECK = 4, /* wrong numbers, race, deadlock, out of bounds, step limit */
    RUN_DEFECT = 5 /* ptxgen itself is wrong */
} run_exit;

/* PG6xxx numbers by name: RUN_MSG_NO_FILE is 6110. */
enum {
#define DIAG(id, number, ...) RUN_MSG_##id = (number),
#include "base/diags.def"
    RUN_MSG_END
};
#define DIAG(id, number, severity, status, text, help) \
    static const char RUN_MSG_##id##_TEXT[] = text;
#include "base/diags.def"

struct run_json;

typedef struct run_msgs {
    FILE *to;
    bool has_color;
    const char *command;   /* stands in help texts for COMMAND; NULL: none */
    struct run_json *json; /* each message goes there too (report_json.h); NULL: nowhere */
} run_msgs;

/* One message from elsewhere: a compiler's diagnostic, a fault. */
typedef struct run_note {
    const char *file; /* NULL: the program's name */
    uint32_t line, column;
    const char *severity; /* "error", "warning", "note" */
    unsigned number;      /* 0: none */
    const char *message;
    const char *help;   /* NULL or "": none */
    const char *source; /* NUL-terminated text for the excerpt, or NULL */
    uint32_t around;    /* lines to show before and behind, with their numbers; 0: the line alone */
} run_note;

void run_print(const run_msgs *m, const run_note *note);
/* Where a line's text begins, from 1; for messages about a whole line. */
uint32_t run_first_column(const char *text, uint32_t line);
/* result.c: the diagnostics of a result; `source` is the text that they speak of, or NULL. */
void run_print_result(const run_msgs *m, const char *file, const char *source,
                      const ptxgen_result *r);
/* run_fail(m, exit, number, file_or_null, ...): fills the row's text with the arguments and prints
 * it; returns `exit`. `number` is the name of a row, RUN_MSG_x, so that the compiler checks the
 * arguments (base/diag.h). */
#define run_fail(m, exit, number, ...)                  \
    (PG_CHECK_TEXT(run_fail_text, number, __VA_ARGS__), \
     run_fail_row((m), (exit), (number), __VA_ARGS__))
int run_fail_text(const char *text, const char *file_or_null, ...) PG_PRINTF(1, 3);
run_exit run_fail_row(const run_msgs *m, run_exit exit, int number, const char *file_or_null, ...);
/* The same of a line, for a row without arguments. */
#define run_fail_at(m, exit, number, file, line)   \
    (PG_CHECK_TEXT(run_fail_text, number, (file)), \
     run_fail_row_at((m), (exit), (number), (file), (line)))
run_exit run_fail_row_at(const run_msgs *m, run_exit exit, int number, const char *file,
                         uint32_t line);
/* No kernel of a file was chosen: there is none of that name, or of several none was named (NULL).
 */
run_exit run_fail_entry(const run_msgs *m, pg_arena *a, const char *file, const char *entry_or_null,
                        const char *const *names, size_t n);
/* "; did you mean `x`?" of what was found near, or "". */
const char *run_suggestion(pg_arena *a, const pg_nearest *near);

#endif
