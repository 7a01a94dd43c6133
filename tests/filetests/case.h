/* case.h: one filetest as text: its commands, its IR, its expectation, its pinned errors. */
#ifndef PG_TESTS_CASE_H
#define PG_TESTS_CASE_H

#include "ir/ir.h"

enum { MAX_PINS = 128 };

typedef struct pin { /* an error that a line is to have: `// error: PG1203 text`, `// error@7: ...`
                        with its column */
    uint32_t line, column; /* column 0: any */
    uint32_t number;
    pg_str text; /* in the message; may be empty */
    bool is_met;
} pin;

typedef struct filetest {
    const char *path;
    pg_str text;     /* of the whole file */
    pg_str input;    /* up to the expectation */
    pg_str expected; /* the expectation with the comment marks removed */
    bool has_expected;
    pg_str test, target; /* of the first lines; target may be empty */
    pin pins[MAX_PINS];
    uint32_t n_pins;
} filetest;

/* Takes the text apart; all memory from `arena`. NULL, or what is wrong with it. */
const char *filetest_split(filetest *t, pg_arena *arena);
/* The file's text with another expectation (or none). */
void filetest_put_expected(pg_strbuf *out, const filetest *t, pg_str expected, bool has_expected);
/* The file's text with the errors of `diags` pinned, and no others. */
void filetest_put_pins(pg_strbuf *out, const filetest *t, const pg_diags *diags);
/* Compares errors with pins; what differs goes to `out`. True if nothing does. */
bool filetest_check_pins(filetest *t, const pg_diags *diags, pg_strbuf *out);
/* Lines that differ, with three lines around them. */
void put_diff(pg_strbuf *out, pg_str want, pg_str have);

#endif
