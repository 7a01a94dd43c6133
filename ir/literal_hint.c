/* literal_hint.c: what a literal that cannot be read may have been meant as: the same number as the
 * type writes it, or an operand of the operation for the other kind of numbers. */
#include <math.h>
#include <string.h>

#include "ir/elem.h"
#include "ir/literal.h"

enum { LONGEST = 64, HEX_START = 2 };

static bool is_hex(pg_str s)
{
    return s.len > HEX_START && s.ptr[0] == '0' && (s.ptr[1] == 'x' || s.ptr[1] == 'X');
}

/* Without what only other languages have in a number: `_` between digits, letters of a type behind
 * it. */
static pg_str plain(pg_str text, char out[LONGEST])
{
    size_t n = 0;
    for (size_t i = 0; i < text.len && i < LONGEST; i++) {
        if (text.ptr[i] != '_') {
            out[n++] = text.ptr[i];
        }
    }
    while (n > 1 && !is_hex((pg_str){out, n}) && strchr("fFuUlL", out[n - 1]) != NULL) {
        n--;
    }
    return (pg_str){out, n};
}

/* A number of any of the forms that numbers have in this language and in C. */
static bool read_number(pg_str text, double *out)
{
    int64_t whole;
    const bool is_true = pg_str_is(text, "true");
    if (is_true || pg_str_is(text, "false")) {
        *out = is_true ? 1 : 0;
        return true;
    }
    if (pg_parse_i64(text, &whole)) {
        *out = (double)whole;
        return true;
    }
    return pg_parse_f64(text, out);
}

static bool is_readable(pg_str text, pg_elem e)
{
    uint64_t bits;
    bool is_poison;
    return pg_literal_read(text, e, false, &bits, &is_poison) == PG_LIT_OK;
}

void pg_literal_hint(pg_str text, pg_elem e, bool is_ptr, pg_strbuf *out)
{
    char room[LONGEST];
    double x;
    if (is_ptr || e == PG_ELEM_NONE || text.len > LONGEST) {
        return;
    }
    const bool is_float = pg_elem_infos[e].cls == 'F';
    const pg_str number = plain(text, room);
    if (is_float && is_hex(number) && (number.len - HEX_START) * 4 == pg_elem_infos[e].bits) {
        room[1] = pg_elem_infos[e].bits == 64   ? 'd'
                  : pg_elem_infos[e].bits == 32 ? 'f'
                  : pg_elem_infos[e].bits == 16 ? 'h'
                                                : 'q';
    }
    if (is_readable(number, e)) {
        pg_put_str(out, number);
        return;
    }
    const bool is_number = read_number(number, &x) && isfinite(x) != 0;
    const bool is_whole = is_number && x == trunc(x) && fabs(x) < 0x1p53;
    const size_t start = out->len;
    if (is_whole) {
        pg_put_i64(out, (int64_t)x);
    } else if (is_number && is_float) {
        pg_put_f64(out, x);
    }
    if (out->len > start && !is_readable((pg_str){out->ptr + start, out->len - start}, e)) {
        pg_strbuf_truncate(out, start);
    }
}
