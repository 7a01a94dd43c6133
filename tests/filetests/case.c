#include "tests/filetests/case.h"

#include <stdlib.h>
#include <string.h>

static const char MARK[] = "// ---- expect";

/* ---- lines --------------------------------------------------------------------------------- */

static pg_str next_line(pg_str *rest)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->ptr, '\n', rest->len);
    size_t n = end == NULL ? rest->len : (size_t)(end - rest->ptr);
    pg_str line = {rest->ptr, n};
    size_t skip = end == NULL ? n : n + 1;
    *rest = (pg_str){rest->ptr + skip, rest->len - skip};
    return line;
}

static pg_str trimmed(pg_str s)
{
    while (s.len > 0 && s.ptr[0] == ' ') {
        s = pg_str_sub(s, 1, s.len);
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\r')) {
        s.len--;
    }
    return s;
}

/* Where `what` begins in s from `at` on; s.len if nowhere. */
static size_t find(pg_str s, const char *what, size_t at)
{
    size_t n = strlen(what);
    for (; at + n <= s.len; at++) {
        if (memcmp(s.ptr + at, what, n) == 0) {
            return at;
        }
    }
    return s.len;
}

static bool take(pg_str *s, const char *what)
{
    if (!pg_str_starts(*s, pg_str_of(what))) {
        return false;
    }
    *s = pg_str_sub(*s, strlen(what), s->len);
    return true;
}

static uint32_t take_number(pg_str *s)
{
    uint32_t x = 0;
    while (s->len > 0 && s->ptr[0] >= '0' && s->ptr[0] <= '9') {
        x = x * 10 + (uint32_t)(s->ptr[0] - '0');
        *s = pg_str_sub(*s, 1, s->len);
    }
    return x;
}

/* ---- splitting ----------------------------------------------------------------------------- */

/* `// error: PG1203 text // error@5: PG...` */
static const char *split_pins(filetest *t, pg_str line, uint32_t number)
{
    size_t at = find(line, "// error", 0);
    while (at < line.len) {
        size_t end = find(line, "// error", at + 1);
        pg_str rest = pg_str_sub(line, at + strlen("// error"), end);
        pin p = {.line = take(&rest, "-at-end") ? UINT32_MAX : number};
        p.column = take(&rest, "@") ? take_number(&rest) : 0;
        if (!take(&rest, ": PG") || t->n_pins == MAX_PINS) {
            return "a pinned error reads `// error: PG1203 text`, and a file has at most 128";
        }
        p.number = take_number(&rest);
        p.text = trimmed(rest);
        t->pins[t->n_pins++] = p;
        at = end;
    }
    return NULL;
}

static void split_expected(filetest *t, pg_str rest, pg_arena *arena)
{
    char *to = PG_NEWS(arena, char, rest.len + 1);
    size_t n = 0;
    t->has_expected = true;
    while (rest.len > 0 && to != NULL) {
        pg_str line = next_line(&rest);
        if (!take(&line, "// ")) {
            (void)take(&line, "//");
        }
        memcpy(to + n, line.ptr, line.len);
        n += line.len;
        to[n++] = '\n';
    }
    t->expected = (pg_str){to, n};
}

const char *filetest_split(filetest *t, pg_arena *arena)
{
    pg_str rest = t->text;
    const char *fault = NULL;
    for (uint32_t number = 1; rest.len > 0 && fault == NULL; number++) {
        const char *start = rest.ptr;
        pg_str line = next_line(&rest);
        pg_str word = line;
        t->input = (pg_str){t->text.ptr, (size_t)(rest.ptr - t->text.ptr)};
        if (pg_str_starts(line, pg_str_of(MARK))) {
            t->input.len = (size_t)(start - t->text.ptr);
            split_expected(t, rest, arena);
            break;
        }
        if (take(&word, "// test:")) {
            t->test = trimmed(word);
        } else if (take(&word, "// target:")) {
            t->target = trimmed(word);
        }
        fault = split_pins(t, line, number);
    }
    if (t->test.len == 0 && fault == NULL) {
        return "the first line does not say `// test: ...`";
    }
    return fault;
}

/* ---- rewriting ----------------------------------------------------------------------------- */

void filetest_put_expected(pg_strbuf *out, const filetest *t, pg_str expected, bool has_expected)
{
    pg_put_str(out, t->input);
    if (!has_expected) {
        return;
    }
    pg_putf(out, "%s\n", MARK);
    while (expected.len > 0) {
        pg_str line = next_line(&expected);
        pg_put(out, line.len == 0 ? "//" : "// ");
        pg_put_str(out, line);
        pg_put_char(out, '\n');
    }
}

static void put_pins_of(pg_strbuf *out, const pg_diags *diags, uint32_t line)
{
    for (uint32_t i = 0; i < diags->n; i++) {
        const pg_diag *d = &diags->at[i];
        if (d->severity == PG_SEV_ERROR && d->loc.line == line) {
            pg_putf(out, " // error@%u: PG%04u %s", d->loc.column, pg_diag_infos[d->id].number,
                    d->message.ptr);
        }
    }
}

static void put_rest_pins(pg_strbuf *out, const pg_diags *diags, uint32_t last_line)
{
    for (uint32_t i = 0; i < diags->n; i++) {
        const pg_diag *d = &diags->at[i];
        if (d->severity == PG_SEV_ERROR && d->loc.line > last_line) {
            pg_putf(out, "// error-at-end: PG%04u %s\n", pg_diag_infos[d->id].number,
                    d->message.ptr);
        }
    }
}

void filetest_put_pins(pg_strbuf *out, const filetest *t, const pg_diags *diags)
{
    pg_str rest = t->input;
    uint32_t number = 1;
    for (; rest.len > 0; number++) {
        pg_str line = next_line(&rest);
        size_t end = find(line, "// error", 0);
        bool is_pin_line = end == 0 && line.len > 0;
        pg_str code = pg_str_sub(line, 0, end);
        while (end < line.len && code.len > 0 && code.ptr[code.len - 1] == ' ') {
            code.len--;
        }
        if (is_pin_line && find(line, "-at-end", 0) < line.len) {
            continue;
        }
        pg_put_str(out, code);
        put_pins_of(out, diags, number);
        pg_put_char(out, '\n');
    }
    put_rest_pins(out, diags, number - 1);
}

/* ---- comparing ----------------------------------------------------------------------------- */

static uint32_t line_count(pg_str text)
{
    uint32_t n = 0;
    while (text.len > 0) {
        (void)next_line(&text);
        n++;
    }
    return n;
}

static bool is_met(pin *p, const pg_diag *d, uint32_t n_lines)
{
    bool is_line = p->line == UINT32_MAX ? d->loc.line > n_lines || d->loc.line == n_lines
                                         : d->loc.line == p->line;
    return !p->is_met && is_line && (p->column == 0 || p->column == d->loc.column) &&
           p->number == pg_diag_infos[d->id].number && pg_str_starts(d->message, p->text);
}

bool filetest_check_pins(filetest *t, const pg_diags *diags, pg_strbuf *out)
{
    bool is_good = true;
    uint32_t n_lines = line_count(t->input);
    for (uint32_t i = 0; i < diags->n; i++) {
        const pg_diag *d = &diags->at[i];
        bool is_expected = d->severity != PG_SEV_ERROR;
        for (uint32_t p = 0; p < t->n_pins && !is_expected; p++) {
            is_expected = is_met(&t->pins[p], d, n_lines);
            t->pins[p].is_met = t->pins[p].is_met || is_expected;
        }
        if (!is_expected) {
            is_good = false;
            pg_putf(out, "%s:%u:%u: not expected: PG%04u %s\n", t->path, d->loc.line, d->loc.column,
                    pg_diag_infos[d->id].number, d->message.ptr);
        }
    }
    for (uint32_t p = 0; p < t->n_pins; p++) {
        if (!t->pins[p].is_met) {
            is_good = false;
            pg_putf(out, "%s:%u: did not come: PG%04u %.*s\n", t->path,
                    t->pins[p].line == UINT32_MAX ? n_lines : t->pins[p].line, t->pins[p].number,
                    PG_STR_ARG(t->pins[p].text));
        }
    }
    return is_good;
}

/* ---- diff ---------------------------------------------------------------------------------- */

enum { MAX_LINES = 3000, AROUND = 3 };

typedef struct lines {
    pg_str at[MAX_LINES];
    uint32_t n;
} lines;

static lines *lines_of(pg_str text)
{
    lines *l = calloc(1, sizeof *l);
    while (l != NULL && text.len > 0 && l->n < MAX_LINES) {
        l->at[l->n++] = next_line(&text);
    }
    return l;
}

/* Longest common subsequences of the ends: table[i][j] of want from i and have from j. */
static uint16_t *lcs_table(const lines *want, const lines *have)
{
    size_t width = (size_t)have->n + 1;
    uint16_t *table = calloc(((size_t)want->n + 1) * width, sizeof *table);
    for (uint32_t i = want->n; table != NULL && i-- > 0;) {
        for (uint32_t j = have->n; j-- > 0;) {
            uint16_t down = table[(i + 1) * width + j];
            uint16_t right = table[i * width + j + 1];
            uint16_t both = (uint16_t)(table[(i + 1) * width + j + 1] + 1);
            uint16_t most = down > right ? down : right;
            table[i * width + j] = pg_str_eq(want->at[i], have->at[j]) ? both : most;
        }
    }
    return table;
}

static void put_hunks(pg_strbuf *out, const lines *want, const lines *have, const uint16_t *table)
{
    size_t width = (size_t)have->n + 1;
    uint32_t i = 0;
    uint32_t j = 0;
    uint32_t n_same = AROUND + 1; /* since the last difference */
    while (i < want->n || j < have->n) {
        if (i < want->n && j < have->n && pg_str_eq(want->at[i], have->at[j])) {
            n_same++;
            if (n_same <= AROUND) {
                pg_putf(out, " %.*s\n", PG_STR_ARG(want->at[i]));
            }
            i++;
            j++;
            continue;
        }
        if (n_same > AROUND) {
            pg_putf(out, "@@ -%u +%u @@\n", i + 1, j + 1);
            for (uint32_t b = i < AROUND ? i : AROUND; b > 0; b--) {
                pg_putf(out, " %.*s\n", PG_STR_ARG(want->at[i - b]));
            }
        }
        n_same = 0;
        bool is_removed =
            j == have->n || (i < want->n && table[(i + 1) * width + j] >= table[i * width + j + 1]);
        if (is_removed) {
            pg_putf(out, "-%.*s\n", PG_STR_ARG(want->at[i]));
            i++;
        } else {
            pg_putf(out, "+%.*s\n", PG_STR_ARG(have->at[j]));
            j++;
        }
    }
}

void put_diff(pg_strbuf *out, pg_str want, pg_str have)
{
    lines *a = lines_of(want);
    lines *b = lines_of(have);
    uint16_t *table = a == NULL || b == NULL ? NULL : lcs_table(a, b);
    if (table != NULL) {
        pg_put(out, "--- expected\n+++ got\n");
        put_hunks(out, a, b, table);
    }
    free(table);
    free(a);
    free(b);
}
