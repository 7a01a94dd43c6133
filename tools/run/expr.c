#include "tools/run/expr.h"

#include <string.h>

enum { MAX_DEPTH = 64 };

typedef struct parser {
    pg_str text;
    size_t at;
    const run_names *names;
    const char *reason; /* first failure; NULL while all is well */
    pg_str culprit;
    int depth;
} parser;

static int64_t parse_sum(parser *p);

static int64_t fail(parser *p, const char *reason, pg_str culprit)
{
    if (p->reason == NULL) {
        p->reason = reason;
        p->culprit = culprit;
    }
    return 0;
}

static char peek(parser *p)
{
    while (p->at < p->text.len && p->text.ptr[p->at] == ' ') {
        p->at++;
    }
    return p->at < p->text.len ? p->text.ptr[p->at] : '\0';
}

static bool take(parser *p, char c)
{
    if (peek(p) != c) {
        return false;
    }
    p->at++;
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* a op b with all that can go wrong; op 'c' is ceildiv, '<' min, '>' max. */
static int64_t apply(parser *p, char op, int64_t a, int64_t b)
{
    const char *overflow = "does not fit into 64 bits";
    pg_str whole = p->text;
    switch (op) {
    case '+':
        if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {
            return fail(p, overflow, whole);
        }
        return a + b;
    case '-':
        if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) {
            return fail(p, overflow, whole);
        }
        return a - b;
    case '*':
        if ((a != 0 && b != 0) &&
            (a == INT64_MIN || b == INT64_MIN || (a < 0 ? -a : a) > INT64_MAX / (b < 0 ? -b : b))) {
            return fail(p, overflow, whole);
        }
        return a * b;
    case '<': return a < b ? a : b;
    case '>': return a > b ? a : b;
    default: break;
    }
    if (b == 0) {
        return fail(p, "divides by zero", whole);
    }
    if (b == -1 && a == INT64_MIN) {
        return fail(p, overflow, whole);
    }
    if (op == 'c') {
        return a / b + (a % b != 0 && (a < 0) == (b < 0));
    }
    return op == '/' ? a / b : a % b;
}

static int64_t parse_call(parser *p, pg_str name)
{
    char op = pg_str_is(name, "ceildiv") ? 'c'
              : pg_str_is(name, "min")   ? '<'
              : pg_str_is(name, "max")   ? '>'
                                         : '\0';
    if (op == '\0') {
        return fail(p, "is no function", name);
    }
    int64_t a = parse_sum(p);
    if (!take(p, ',')) {
        return fail(p, "lacks a ','", p->text);
    }
    int64_t b = parse_sum(p);
    if (!take(p, ')')) {
        return fail(p, "lacks a ')'", p->text);
    }
    return p->reason == NULL ? apply(p, op, a, b) : 0;
}

static int64_t parse_word(parser *p)
{
    size_t start = p->at;
    while (p->at < p->text.len && is_word(p->text.ptr[p->at])) {
        p->at++;
    }
    pg_str word = pg_str_sub(p->text, start, p->at);
    if (word.ptr[0] >= '0' && word.ptr[0] <= '9') {
        int64_t x;
        return pg_parse_i64(word, &x) ? x : fail(p, "is no 64-bit integer", word);
    }
    if (take(p, '(')) {
        return parse_call(p, word);
    }
    for (size_t i = 0; i < p->names->n; i++) {
        if (pg_str_eq(p->names->at[i].name, word)) {
            return p->names->at[i].value;
        }
    }
    return fail(p, "is not known", word);
}

static int64_t parse_atom(parser *p)
{
    if (p->depth >= MAX_DEPTH || p->reason != NULL) {
        return fail(p, "is nested too deep", p->text);
    }
    int64_t x = 0;
    p->depth++;
    if (take(p, '-')) {
        x = apply(p, '-', 0, parse_atom(p));
    } else if (take(p, '(')) {
        x = parse_sum(p);
        if (!take(p, ')')) {
            x = fail(p, "lacks a ')'", p->text);
        }
    } else if (is_word(peek(p))) {
        x = parse_word(p);
    } else {
        x = fail(p, "is not an expression", p->text);
    }
    p->depth--;
    return x;
}

static int64_t parse_product(parser *p)
{
    int64_t x = parse_atom(p);
    for (char c = peek(p); p->reason == NULL && (c == '*' || c == '/' || c == '%'); c = peek(p)) {
        p->at++;
        int64_t y = parse_atom(p);
        x = p->reason == NULL ? apply(p, c, x, y) : 0;
    }
    return x;
}

static int64_t parse_sum(parser *p)
{
    int64_t x = parse_product(p);
    for (char c = peek(p); p->reason == NULL && (c == '+' || c == '-'); c = peek(p)) {
        p->at++;
        int64_t y = parse_product(p);
        x = p->reason == NULL ? apply(p, c, x, y) : 0;
    }
    return x;
}

bool run_expr_eval(pg_str text, const run_names *names, int64_t *out, const char **reason,
                   pg_str *culprit)
{
    parser p = {.text = text, .names = names};
    int64_t x = parse_sum(&p);
    if (p.reason == NULL && peek(&p) != '\0') {
        (void)fail(&p, "has something after its end", text);
    }
    *reason = p.reason == NULL ? "" : p.reason;
    *culprit = p.culprit;
    if (p.reason != NULL) {
        return false;
    }
    *out = x;
    return true;
}
