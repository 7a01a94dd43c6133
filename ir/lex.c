#include "ir/lex.h"

void pg_lex_init(pg_lexer *lexer, pg_str source)
{
    *lexer = (pg_lexer){.source = source, .line = 1, .is_first = true};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

static char peek(const pg_lexer *l, size_t ahead)
{
    size_t at = l->at + ahead;
    return at < l->source.len ? l->source.ptr[at] : '\0';
}

/* Blanks, line ends and comments. */
static void skip_blank(pg_lexer *l)
{
    while (l->at < l->source.len) {
        char c = l->source.ptr[l->at];
        if (c == '\n') {
            l->at++;
            l->line++;
            l->line_start = l->at;
            l->is_first = true;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            l->at++;
        } else if (c == '/' && peek(l, 1) == '/') {
            while (l->at < l->source.len && l->source.ptr[l->at] != '\n') {
                l->at++;
            }
        } else {
            break;
        }
    }
}

/* Length of a number or of dimensions. The sign of an exponent belongs to a decimal number only:
 * digits and points up to the `e`. */
static size_t number_length(const pg_lexer *l)
{
    size_t n = peek(l, 0) == '-' ? 1 : 0;
    bool is_decimal = true;
    for (;; n++) {
        char c = peek(l, n);
        if ((c == '+' || c == '-') && is_decimal && n > 0) {
            char before = peek(l, n - 1);
            if (before == 'e' || before == 'E') {
                is_decimal = false; /* one exponent */
                continue;
            }
        }
        if (!is_name(c) && c != '?') {
            return n;
        }
        bool is_exponent = c == 'e' || c == 'E';
        is_decimal = is_decimal && (is_digit(c) || c == '.' || is_exponent);
    }
}

static size_t name_length(const pg_lexer *l, size_t from)
{
    size_t n = from;
    while (is_name(peek(l, n))) {
        n++;
    }
    return n;
}

static bool is_punct(char c)
{
    for (const char *p = "()[]{}<>,:=?"; *p != '\0'; p++) {
        if (*p == c) {
            return true;
        }
    }
    return false;
}

/* A run of bytes that start no token: one error, not one for each byte. */
static size_t bad_length(const pg_lexer *l)
{
    size_t n = 1;
    while (l->at + n < l->source.len) {
        unsigned char c = (unsigned char)peek(l, n);
        if (c < 0x80 && (c <= ' ' || is_name((char)c) || is_punct((char)c) || c == '%' ||
                         c == '@' || c == '#' || c == '/')) {
            break;
        }
        n++;
    }
    return n;
}

pg_tok pg_lex_next(pg_lexer *l)
{
    skip_blank(l);
    size_t column = l->at - l->line_start + 1;
    pg_tok t = {.kind = PG_TOK_EOF,
                .is_first = l->is_first,
                .loc = {l->line, column > UINT32_MAX ? UINT32_MAX : (uint32_t)column}};
    if (l->at >= l->source.len) {
        t.is_first = true;
        t.text = PG_STR("");
        return t;
    }
    char c = peek(l, 0);
    char next = peek(l, 1);
    size_t sigil = 0;
    size_t n = 1;
    if (is_digit(c) || (c == '-' && (is_digit(next) || next == 'i' || next == 'n')) ||
        (c == '?' && next == 'x')) {
        t.kind = PG_TOK_NUM;
        n = number_length(l);
    } else if (is_name(c)) {
        t.kind = PG_TOK_WORD;
        n = name_length(l, 0);
    } else if ((c == '%' || c == '@' || c == '#') && is_name(next)) {
        t.kind = c == '%' ? PG_TOK_VAL : c == '@' ? PG_TOK_SYM : PG_TOK_ENC;
        n = name_length(l, 1);
        sigil = 1;
    } else if (is_punct(c)) {
        t.kind = PG_TOK_PUNCT;
    } else {
        t.kind = PG_TOK_BAD;
        n = bad_length(l);
    }
    t.text = (pg_str){l->source.ptr + l->at + sigil, n - sigil};
    l->at += n;
    l->is_first = false;
    return t;
}
