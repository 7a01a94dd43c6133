#include "ir/lex.h"

void pg_lex_init(pg_lexer *lexer, pg_str source)
{
    *lexer = (pg_lexer){.source = source, .line = 1, .is_first = true};
}

enum { DIGIT = 1, NAME = 2, PUNCT = 4, BLANK = 8 };

/* What each byte may be part of. */
static const uint8_t classes[256] = {
    /* clang-format off */
    [' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK,
    ['0'] = DIGIT | NAME, ['1'] = DIGIT | NAME, ['2'] = DIGIT | NAME, ['3'] = DIGIT | NAME,
    ['4'] = DIGIT | NAME, ['5'] = DIGIT | NAME, ['6'] = DIGIT | NAME, ['7'] = DIGIT | NAME,
    ['8'] = DIGIT | NAME, ['9'] = DIGIT | NAME,
    ['a'] = NAME, ['b'] = NAME, ['c'] = NAME, ['d'] = NAME, ['e'] = NAME, ['f'] = NAME,
    ['g'] = NAME, ['h'] = NAME, ['i'] = NAME, ['j'] = NAME, ['k'] = NAME, ['l'] = NAME,
    ['m'] = NAME, ['n'] = NAME, ['o'] = NAME, ['p'] = NAME, ['q'] = NAME, ['r'] = NAME,
    ['s'] = NAME, ['t'] = NAME, ['u'] = NAME, ['v'] = NAME, ['w'] = NAME, ['x'] = NAME,
    ['y'] = NAME, ['z'] = NAME,
    ['A'] = NAME, ['B'] = NAME, ['C'] = NAME, ['D'] = NAME, ['E'] = NAME, ['F'] = NAME,
    ['G'] = NAME, ['H'] = NAME, ['I'] = NAME, ['J'] = NAME, ['K'] = NAME, ['L'] = NAME,
    ['M'] = NAME, ['N'] = NAME, ['O'] = NAME, ['P'] = NAME, ['Q'] = NAME, ['R'] = NAME,
    ['S'] = NAME, ['T'] = NAME, ['U'] = NAME, ['V'] = NAME, ['W'] = NAME, ['X'] = NAME,
    ['Y'] = NAME, ['Z'] = NAME, ['_'] = NAME, ['.'] = NAME,
    ['('] = PUNCT, [')'] = PUNCT, ['['] = PUNCT, [']'] = PUNCT, ['{'] = PUNCT, ['}'] = PUNCT,
    ['<'] = PUNCT, ['>'] = PUNCT, [','] = PUNCT, [':'] = PUNCT, ['='] = PUNCT, ['?'] = PUNCT,
    /* clang-format on */
};

static bool is_digit(char c)
{
    return (classes[(unsigned char)c] & DIGIT) != 0;
}

static bool is_name(char c)
{
    return (classes[(unsigned char)c] & NAME) != 0;
}

static bool is_punct(char c)
{
    return (classes[(unsigned char)c] & PUNCT) != 0;
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
        } else if ((classes[(unsigned char)c] & BLANK) != 0) {
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
    const char *text = l->source.ptr + l->at;
    const size_t most = l->source.len - l->at;
    size_t n = from;
    while (n < most && is_name(text[n])) {
        n++;
    }
    return n;
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

void pg_lex_skip_comment(pg_lexer *l, const pg_tok *bad)
{
    const bool is_block = bad->text.len > 1 && bad->text.ptr[0] == '/' && bad->text.ptr[1] == '*';
    l->at = (size_t)(bad->text.ptr - l->source.ptr) + (is_block ? 2 : 1);
    while (l->at < l->source.len && (is_block || l->source.ptr[l->at] != '\n')) {
        if (is_block && peek(l, 0) == '*' && peek(l, 1) == '/') {
            l->at += 2;
            l->is_first = l->is_first || bad->is_first;
            return;
        }
        if (l->source.ptr[l->at++] == '\n') {
            l->line++;
            l->line_start = l->at;
            l->is_first = true;
        }
    }
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
