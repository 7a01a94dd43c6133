/* ptx_lex.c: tokens of PTX text. */
#include "emit/ptx_lex.h"

void pg_ptx_lex_init(pg_ptx_lexer *lx, pg_arena *arena, pg_diags *diags, pg_str text)
{
    *lx = (pg_ptx_lexer){.text = text, .line = 1, .arena = arena, .diags = diags};
}

static int at(const pg_ptx_lexer *lx, size_t pos)
{
    return pos < lx->text.len ? (unsigned char)lx->text.ptr[pos] : -1;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static pg_loc loc_of(const pg_ptx_lexer *lx, size_t pos)
{
    return (pg_loc){lx->line, (uint32_t)(pos - lx->line_start) + 1};
}

static void new_line(pg_ptx_lexer *lx)
{
    lx->pos++;
    lx->line++;
    lx->line_start = lx->pos;
}

static void note_non_ascii(pg_ptx_lexer *lx)
{
    if (!lx->saw_non_ascii) {
        lx->saw_non_ascii = true;
        pg_diag_add(lx->diags, PG_D_PTX_NON_ASCII, loc_of(lx, lx->pos));
    }
}

static void line_comment(pg_ptx_lexer *lx)
{
    size_t from = lx->pos + 2;
    for (lx->pos = from; at(lx, lx->pos) != -1 && at(lx, lx->pos) != '\n'; lx->pos++) {
        if (at(lx, lx->pos) >= 0x80) {
            note_non_ascii(lx);
        }
    }
    size_t to = lx->pos;
    while (to > from && is_blank(at(lx, to - 1))) {
        to--;
    }
    if (from < to && at(lx, from) == ' ') {
        from++;
    }
    size_t p = lx->pos + 1; /* the next line: empty? */
    while (is_blank(at(lx, p))) {
        p++;
    }
    pg_ptx_comment_note note = {.text = pg_str_sub(lx->text, from, to),
                                .is_trailing = lx->line == lx->last_line,
                                .before_blank = at(lx, p) == '\n'};
    (void)pg_vec_push(lx->arena, &lx->comments, note); /* out of memory: sticky in the arena */
}

static void block_comment(pg_ptx_lexer *lx)
{
    pg_loc loc = loc_of(lx, lx->pos);
    lx->pos += 2;
    while (at(lx, lx->pos) != -1) {
        if (at(lx, lx->pos) == '*' && at(lx, lx->pos + 1) == '/') {
            lx->pos += 2;
            return;
        }
        if (at(lx, lx->pos) == '\n') {
            new_line(lx);
        } else {
            if (at(lx, lx->pos) >= 0x80) {
                note_non_ascii(lx);
            }
            lx->pos++;
        }
    }
    pg_diag_add(lx->diags, PG_D_PTX_SYNTAX, loc, "the end of the comment", 11, "end of text");
}

static void skip_blanks(pg_ptx_lexer *lx)
{
    for (;;) {
        int c = at(lx, lx->pos);
        if (c == '\n') {
            new_line(lx);
        } else if (is_blank(c)) {
            lx->pos++;
        } else if (c == '/' && at(lx, lx->pos + 1) == '/') {
            line_comment(lx);
        } else if (c == '/' && at(lx, lx->pos + 1) == '*') {
            block_comment(lx);
        } else {
            return;
        }
    }
}

static int digit_value(int c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Digits of a base in [from, to). */
static bool digits(const pg_ptx_lexer *lx, size_t from, size_t to, uint32_t base, uint64_t *out)
{
    uint64_t x = 0;
    if (from >= to) {
        return false;
    }
    for (size_t i = from; i < to; i++) {
        uint32_t d = (uint32_t)digit_value(at(lx, i));
        if (d >= base || x > (UINT64_MAX - d) / base) {
            return false;
        }
        x = x * base + d;
    }
    *out = x;
    return true;
}

/* Decimal float at pos? Then it ends at *out_end. */
static bool float_end(const pg_ptx_lexer *lx, size_t pos, size_t *out_end)
{
    bool is_float = false;
    while (is_digit(at(lx, pos))) {
        pos++;
    }
    if (at(lx, pos) == '.' && !is_word(at(lx, pos + 1))) {
        is_float = true;
        pos++;
    } else if (at(lx, pos) == '.' && is_digit(at(lx, pos + 1))) {
        is_float = true;
        for (pos++; is_digit(at(lx, pos));) {
            pos++;
        }
    }
    if (at(lx, pos) == 'e' || at(lx, pos) == 'E') {
        size_t q = pos + 1;
        if (at(lx, q) == '+' || at(lx, q) == '-') {
            q++;
        }
        if (is_digit(at(lx, q))) {
            is_float = true;
            for (pos = q; is_digit(at(lx, pos));) {
                pos++;
            }
        }
    }
    *out_end = pos;
    return is_float;
}

static bool int_value(const pg_ptx_lexer *lx, size_t from, size_t to, uint64_t *out)
{
    int c1 = at(lx, from) == '0' && from + 1 < to ? at(lx, from + 1) : -1;
    if (c1 == 'x' || c1 == 'X') {
        return digits(lx, from + 2, to, 16, out);
    }
    if (c1 == 'b' || c1 == 'B') {
        return digits(lx, from + 2, to, 2, out);
    }
    return c1 != -1 ? digits(lx, from + 1, to, 8, out) : digits(lx, from, to, 10, out);
}

static void number(pg_ptx_lexer *lx, pg_ptx_token *t)
{
    size_t from = lx->pos;
    size_t end = from;
    int c1 = at(lx, from) == '0' ? at(lx, from + 1) : -1;
    bool ok;
    if (c1 != 'x' && c1 != 'X' && float_end(lx, from, &end) && !is_word(at(lx, end))) {
        double x = 0;
        t->kind = PG_PTX_TK_F64;
        ok = pg_parse_f64(pg_str_sub(lx->text, from, end), &x);
        t->value = pg_f64_bits(x);
    } else {
        for (end = from; is_word(at(lx, end));) {
            end++;
        }
        if (c1 == 'f' || c1 == 'F') {
            t->kind = PG_PTX_TK_F32;
            ok = end - from == 10 && digits(lx, from + 2, end, 16, &t->value);
        } else if (c1 == 'd' || c1 == 'D') {
            t->kind = PG_PTX_TK_F64;
            ok = end - from == 18 && digits(lx, from + 2, end, 16, &t->value);
        } else {
            t->kind = PG_PTX_TK_INT;
            t->is_unsigned = at(lx, end - 1) == 'U';
            ok = int_value(lx, from, end - (t->is_unsigned ? 1 : 0), &t->value);
        }
    }
    t->text = pg_str_sub(lx->text, from, end);
    lx->pos = end;
    if (!ok) {
        pg_diag_add(lx->diags, PG_D_PTX_NUMBER, t->loc, (int)(t->text.len > 40 ? 40 : t->text.len),
                    t->text.ptr);
    }
}

static void word_token(pg_ptx_lexer *lx, pg_ptx_token *t)
{
    size_t from = lx->pos++;
    while (is_word(at(lx, lx->pos)) || (t->kind == PG_PTX_TK_DIRECTIVE && at(lx, lx->pos) == ':' &&
                                        at(lx, lx->pos + 1) == ':')) {
        lx->pos += at(lx, lx->pos) == ':' ? 2 : 1;
    }
    t->text = pg_str_sub(lx->text, from, lx->pos);
}

static void string_token(pg_ptx_lexer *lx, pg_ptx_token *t)
{
    size_t from = lx->pos++;
    while (at(lx, lx->pos) != -1 && at(lx, lx->pos) != '"' && at(lx, lx->pos) != '\n') {
        lx->pos += at(lx, lx->pos) == '\\' && at(lx, lx->pos + 1) > '\n' ? 2 : 1;
    }
    if (at(lx, lx->pos) == '"') {
        lx->pos++;
    } else {
        pg_diag_add(lx->diags, PG_D_PTX_SYNTAX, t->loc, "the end of the string", 11, "end of line");
    }
    t->kind = PG_PTX_TK_STRING;
    t->text = pg_str_sub(lx->text, from, lx->pos);
}

pg_ptx_token pg_ptx_lex(pg_ptx_lexer *lx)
{
    skip_blanks(lx);
    int c = at(lx, lx->pos);
    while (c >= 0x80 || (c != -1 && c < ' ')) { /* never part of PTX */
        if (c >= 0x80) {
            note_non_ascii(lx);
        } else {
            pg_diag_add(lx->diags, PG_D_PTX_SYNTAX, loc_of(lx, lx->pos), "text", 17,
                        "control character");
        }
        while (c >= 0x80 || (c != -1 && c < ' ' && c != '\n' && !is_blank(c))) {
            c = at(lx, ++lx->pos);
        }
        skip_blanks(lx);
        c = at(lx, lx->pos);
    }
    pg_ptx_token t = {.kind = PG_PTX_TK_END, .loc = loc_of(lx, lx->pos)};
    if (c == -1) {
        t.text = PG_STR("end of text");
    } else if (is_digit(c)) {
        number(lx, &t);
    } else if (is_word(c) || (c == '%' && is_word(at(lx, lx->pos + 1)))) {
        t.kind = PG_PTX_TK_WORD;
        word_token(lx, &t);
    } else if (c == '.' && is_word(at(lx, lx->pos + 1))) {
        t.kind = PG_PTX_TK_DIRECTIVE;
        word_token(lx, &t);
    } else if (c == '"') {
        string_token(lx, &t);
    } else {
        t.kind = PG_PTX_TK_PUNCT;
        t.c = (char)c;
        t.text = pg_str_sub(lx->text, lx->pos, lx->pos + 1);
        lx->pos++;
    }
    lx->last_line = lx->line;
    return t;
}

bool pg_ptx_lex_is_next(const pg_ptx_lexer *lx, char c)
{
    size_t p = lx->pos;
    while (is_blank(at(lx, p))) {
        p++;
    }
    return at(lx, p) == c && at(lx, p + 1) != c;
}

pg_str pg_ptx_lex_line(pg_ptx_lexer *lx, const char *from)
{
    size_t start = (size_t)(from - lx->text.ptr);
    bool in_string = false;
    for (lx->pos = start; at(lx, lx->pos) != -1 && at(lx, lx->pos) != '\n'; lx->pos++) {
        if (at(lx, lx->pos) == '"') {
            in_string = !in_string;
        } else if (!in_string && at(lx, lx->pos) == '/' && at(lx, lx->pos + 1) == '/') {
            break;
        }
    }
    size_t end = lx->pos;
    while (end > start && is_blank(at(lx, end - 1))) {
        end--;
    }
    lx->last_line = lx->line;
    return pg_str_sub(lx->text, start, end);
}
