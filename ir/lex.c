#include "ir/lex.h"

void pg_lex_init(pg_lexer *lexer, pg_str source)
{
    *lexer = (pg_lexer){.source = source, .line = 1, .is_first = true};
    if (source.len == 0) {
        lexer->source = PG_STR("");
    }
}

/* What each byte is: part of a number or name, or what it begins. */
enum { DIGIT = 1, NAME = 2, PUNCT = 4, BLANK = 8, SIGIL = 16, LINE = 32, SLASH = 64 };

static const uint8_t classes[256] = {
    /* clang-format off */
    [' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK, ['\n'] = LINE, ['/'] = SLASH,
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
    ['%'] = SIGIL, ['@'] = SIGIL, ['#'] = SIGIL,
    /* clang-format on */
};

static uint8_t class_of(char c)
{
    return classes[(unsigned char)c];
}

/* The byte at `at`, or one that begins and continues nothing. */
static char peek(const char *at, const char *end)
{
    return at < end ? *at : '\0';
}

/* The end of a number or of dimensions that begin at `from`. The sign of an exponent belongs to a
 * decimal number only: digits and points up to the `e`. */
static const char *number_end(const char *from, const char *end)
{
    const char *at = from + (*from == '-');
    bool is_decimal = true;
    for (; at < end; at++) {
        const char c = *at;
        if ((c == '+' || c == '-') && is_decimal && at > from) {
            if (at[-1] == 'e' || at[-1] == 'E') {
                is_decimal = false; /* one exponent */
                continue;
            }
        }
        const uint8_t class = class_of(c);
        if ((class & NAME) == 0 && c != '?') {
            break;
        }
        is_decimal = is_decimal && ((class & DIGIT) != 0 || c == '.' || c == 'e' || c == 'E');
    }
    return at;
}

static const char *name_end(const char *at, const char *end)
{
    for (; end - at >= 4; at += 4) { /* far from the end, which need not be looked for */
        if ((class_of(at[0]) & NAME) == 0) {
            return at;
        }
        if ((class_of(at[1]) & NAME) == 0) {
            return at + 1;
        }
        if ((class_of(at[2]) & NAME) == 0) {
            return at + 2;
        }
        if ((class_of(at[3]) & NAME) == 0) {
            return at + 3;
        }
    }
    while (at < end && (class_of(*at) & NAME) != 0) {
        at++;
    }
    return at;
}

/* The end of a run of bytes that start no token: one error, not one for each byte. */
static const char *bad_end(const char *from, const char *end)
{
    const char *at = from + 1;
    for (; at < end; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c < 0x80 && (c <= ' ' || (class_of((char)c) & (NAME | PUNCT | SIGIL | SLASH)) != 0)) {
            break;
        }
    }
    return at;
}

enum { SKIPPED = BLANK | LINE | SLASH };

/* Behind blanks, line ends and comments. */
static const char *skip_blank(pg_lexer *l, const char *at, const char *end)
{
    for (; at < end; at++) {
        while (at < end && *at == ' ') {
            at++;
        }
        const uint8_t class = at < end ? class_of(*at) : 0;
        if ((class & SKIPPED) == 0) {
            break;
        }
        if ((class & LINE) != 0) {
            l->line++;
            l->line_start = (size_t)(at + 1 - l->source.ptr);
            l->is_first = true;
        } else if ((class & SLASH) != 0) {
            if (peek(at + 1, end) != '/') {
                break;
            }
            while (at + 1 < end && at[1] != '\n') {
                at++;
            }
        }
    }
    return at;
}

/* What begins at a byte that is no plain name, sigil or punctuation; gives where it ends. */
static const char *other_token(pg_tok *t, const char *from, const char *end)
{
    const char c = *from, next = peek(from + 1, end);
    const bool is_negative =
        c == '-' && ((class_of(next) & DIGIT) != 0 || next == 'i' || next == 'n');
    if ((class_of(c) & DIGIT) != 0 || is_negative || (c == '?' && next == 'x')) {
        t->kind = PG_TOK_NUM;
        return number_end(from, end);
    }
    t->kind = c == '?' ? PG_TOK_PUNCT : PG_TOK_BAD;
    return c == '?' ? from + 1 : bad_end(from, end);
}

void pg_lex_skip_comment(pg_lexer *l, const pg_tok *bad)
{
    const char *const end = l->source.ptr + l->source.len;
    const char *at = bad->text.ptr;
    const bool is_block = *at == '/' && peek(at + 1, end) == '*' && bad->text.len > 1;
    at += is_block ? 2 : 1;
    while (at < end && (is_block || *at != '\n')) {
        if (is_block && *at == '*' && peek(at + 1, end) == '/') {
            at += 2;
            l->is_first = l->is_first || bad->is_first;
            break;
        }
        if (*at++ == '\n') {
            l->line++;
            l->line_start = (size_t)(at - l->source.ptr);
            l->is_first = true;
        }
    }
    l->at = (size_t)(at - l->source.ptr);
}

void pg_lex_next(pg_lexer *l, pg_tok *t)
{
    const char *const text = l->source.ptr, *const end = text + l->source.len;
    const char *from = text + l->at;
    from += from < end && *from == ' '; /* most often there is one, or none */
    if (from >= end || (class_of(*from) & SKIPPED) != 0) {
        from = skip_blank(l, from, end);
    }
    const size_t column = (size_t)(from - text) - l->line_start + 1;
    t->loc = (pg_loc){l->line, column > UINT32_MAX ? UINT32_MAX : (uint32_t)column};
    t->is_first = l->is_first;
    l->is_first = false;
    if (from >= end) {
        l->at = l->source.len;
        l->is_first = t->is_first;
        t->kind = PG_TOK_EOF;
        t->is_first = true;
        t->text = PG_STR("");
        return;
    }
    const uint8_t class = class_of(*from);
    const char *to = from + 1;
    if (class == SIGIL && to < end && (class_of(*to) & NAME) != 0) {
        t->kind = *from == '%' ? PG_TOK_VAL : *from == '@' ? PG_TOK_SYM : PG_TOK_ENC;
        from = to;
        to = name_end(to + 1, end);
    } else if (class == PUNCT && *from != '?') {
        t->kind = PG_TOK_PUNCT;
    } else if (class == NAME) {
        t->kind = PG_TOK_WORD;
        to = name_end(to, end);
    } else {
        to = other_token(t, from, end);
    }
    t->text = (pg_str){from, (size_t)(to - from)};
    l->at = (size_t)(to - text);
}
