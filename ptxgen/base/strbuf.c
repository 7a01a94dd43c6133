#include "base/strbuf.h"

#include <string.h>

#include "base/num.h"

/* ---- the buffer ---------------------------------------------------------------------------- */

void pg_strbuf_init(pg_strbuf *b, pg_alloc alloc)
{
    *b = (pg_strbuf){.alloc = alloc};
}

void pg_strbuf_fini(pg_strbuf *b)
{
    if (b->ptr != NULL) {
        (void)b->alloc.resize(b->alloc.user, b->ptr, b->cap, 0);
    }
    pg_strbuf_init(b, b->alloc);
}

void pg_strbuf_clear(pg_strbuf *b)
{
    pg_strbuf_truncate(b, 0);
}

void pg_strbuf_truncate(pg_strbuf *b, size_t len)
{
    if (len < b->len) {
        b->len = len;
        b->ptr[len] = '\0';
    }
}

pg_str pg_strbuf_str(const pg_strbuf *b)
{
    return b->ptr == NULL ? PG_STR("") : (pg_str){b->ptr, b->len};
}

pg_status pg_strbuf_status(const pg_strbuf *b)
{
    return b->is_oom ? PG_E_NOMEM : PG_OK;
}

char *pg_strbuf_grow(pg_strbuf *b, size_t n)
{
    size_t need;
    if (b->is_oom) {
        return NULL;
    }
    if (!pg_size_add(b->len, n, &need) || need > SIZE_MAX / 4) {
        b->is_oom = true;
        return NULL;
    }
    if (need >= b->cap) {
        size_t cap = b->cap < 128 ? 256 : b->cap * 2;
        cap = cap <= need ? need + 1 : cap;
        char *ptr = b->alloc.resize(b->alloc.user, b->ptr, b->cap, cap);
        if (ptr == NULL) {
            b->is_oom = true;
            return NULL;
        }
        b->ptr = ptr;
        b->cap = cap;
    }
    return b->ptr + b->len;
}

void pg_put_repeat(pg_strbuf *b, char c, size_t n)
{
    char *at = pg_strbuf_room(b, n);
    if (at != NULL) {
        memset(at, c, n);
        at[n] = '\0';
        b->len += n;
    }
}

/* ---- numbers ------------------------------------------------------------------------------- */

enum { NUMBER_ROOM = 24 };

/* Writes backwards from the end of `text`; returns the digits. */
static pg_str format_decimal(char text[NUMBER_ROOM], uint64_t x)
{
    size_t at = NUMBER_ROOM;
    do {
        text[--at] = (char)('0' + x % 10);
        x /= 10;
    } while (x != 0);
    return (pg_str){text + at, NUMBER_ROOM - at};
}

static pg_str format_hex(char text[NUMBER_ROOM], uint64_t x, bool is_upper)
{
    const char *letters = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
    size_t at = NUMBER_ROOM;
    do {
        text[--at] = letters[x % 16];
        x /= 16;
    } while (x != 0);
    return (pg_str){text + at, NUMBER_ROOM - at};
}

void pg_put_u64(pg_strbuf *b, uint64_t x)
{
    char text[NUMBER_ROOM];
    pg_put_str(b, format_decimal(text, x));
}

void pg_put_i64(pg_strbuf *b, int64_t x)
{
    if (x < 0) {
        pg_put_char(b, '-');
    }
    pg_put_u64(b, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}

void pg_put_hex(pg_strbuf *b, uint64_t x, uint32_t min_digits)
{
    char text[NUMBER_ROOM];
    pg_str digits = format_hex(text, x, true);
    if (digits.len < min_digits) {
        pg_put_repeat(b, '0', min_digits - digits.len);
    }
    pg_put_str(b, digits);
}

/* Positional from 0.0001 up to 16 digits before the point, else one digit before it and an exponent
 * of at least two digits. */
static void put_decimal(pg_strbuf *b, const pg_decimal *d)
{
    pg_str digits = {d->digits, d->n};
    if (d->point < -3 || d->point > 16) {
        int32_t exponent = d->point - 1;
        uint32_t size = (uint32_t)(exponent < 0 ? -exponent : exponent);
        pg_put_char(b, digits.ptr[0]);
        if (d->n > 1) {
            pg_put_char(b, '.');
            pg_put_str(b, pg_str_sub(digits, 1, d->n));
        }
        pg_put(b, exponent < 0 ? "e-" : "e+");
        pg_put(b, size < 10 ? "0" : "");
        pg_put_u64(b, size);
        return;
    }
    if (d->point <= 0) {
        pg_put(b, "0.");
        pg_put_repeat(b, '0', (size_t)-d->point);
        pg_put_str(b, digits);
        return;
    }
    size_t point = (size_t)d->point;
    pg_put_str(b, pg_str_sub(digits, 0, point));
    if (point >= d->n) {
        pg_put_repeat(b, '0', point - d->n);
        pg_put(b, ".0");
        return;
    }
    pg_put_char(b, '.');
    pg_put_str(b, pg_str_sub(digits, point, d->n));
}

/* inf, nan and zero; false for all else. */
static bool put_special(pg_strbuf *b, double x)
{
    uint64_t bits = pg_f64_bits(x);
    uint64_t magnitude = bits & (UINT64_MAX >> 1);
    const uint64_t inf = UINT64_C(0x7FF) << 52;
    if (magnitude > inf) {
        pg_put(b, "nan");
        return true;
    }
    if (bits >> 63 != 0) {
        pg_put_char(b, '-');
    }
    if (magnitude == inf || magnitude == 0) {
        pg_put(b, magnitude == 0 ? "0.0" : "inf");
        return true;
    }
    return false;
}

/* Decimals of up to 15 digits and 6 places: such a decimal reads back as the double whose quotient
 * it is, and no other of that length does. */
static bool shortest_fast(double x, pg_decimal *out)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    for (int32_t places = 0; places <= 6; places++) {
        double power = powers[places];
        double scaled = x * power;
        if (!(scaled < 1e15)) {
            return false;
        }
        uint64_t whole = (uint64_t)scaled;
        if (whole == 0 || (double)whole != scaled || (double)whole / power != x) {
            continue;
        }
        char text[NUMBER_ROOM] = {0};
        pg_str digits = format_decimal(text, whole);
        out->point = (int32_t)digits.len - places;
        while (digits.len > 1 && digits.ptr[digits.len - 1] == '0') {
            digits.len--;
        }
        memcpy(out->digits, digits.ptr, digits.len);
        out->n = (uint32_t)digits.len;
        return true;
    }
    return false;
}

void pg_put_f64(pg_strbuf *b, double x)
{
    if (put_special(b, x)) {
        return;
    }
    uint64_t bits = pg_f64_bits(x) & (UINT64_MAX >> 1);
    pg_decimal d;
    if (!shortest_fast(pg_f64_of_bits(bits), &d)) {
        uint64_t mant = bits & ((UINT64_C(1) << 52) - 1);
        int32_t exp = (int32_t)(bits >> 52);
        if (exp == 0) {
            d = pg_shortest(mant, -1074, false);
        } else {
            d = pg_shortest(mant | UINT64_C(1) << 52, exp - 1075, mant == 0 && exp > 1);
        }
    }
    put_decimal(b, &d);
}

void pg_put_f32(pg_strbuf *b, float x)
{
    if (put_special(b, (double)x)) {
        return;
    }
    uint32_t bits = pg_f32_bits(x) & (UINT32_MAX >> 1);
    uint32_t mant = bits & ((UINT32_C(1) << 23) - 1);
    int32_t exp = (int32_t)(bits >> 23);
    pg_decimal d;
    if (exp == 0) {
        d = pg_shortest(mant, -149, false);
    } else {
        d = pg_shortest(mant | UINT32_C(1) << 23, exp - 150, mant == 0 && exp > 1);
    }
    size_t start = b->len;
    put_decimal(b, &d);
    /* Reading goes through a double: two roundings. Where they miss, the double's digits are safe.
     */
    double back = 0;
    if (!b->is_oom && pg_parse_f64(pg_str_sub(pg_strbuf_str(b), start, b->len), &back) &&
        pg_f32_bits((float)back) != bits) {
        pg_strbuf_truncate(b, start);
        pg_put_f64(b, (double)pg_f32_of_bits(bits));
    }
}

/* ---- formats ------------------------------------------------------------------------------- */

typedef struct format_spec {
    bool is_left, is_zero;
    size_t width;
    bool has_precision;
    size_t precision;
    uint32_t n_longs; /* 0 int, 1 long, 2 long long, 3 size_t */
} format_spec;

static void put_padded(pg_strbuf *b, const format_spec *spec, pg_str sign, pg_str body)
{
    size_t len = sign.len + body.len;
    size_t pad = spec->width > len ? spec->width - len : 0;
    if (pad != 0 && !spec->is_left && !spec->is_zero) {
        pg_put_repeat(b, ' ', pad);
    }
    pg_put_str(b, sign);
    if (pad != 0 && !spec->is_left && spec->is_zero) {
        pg_put_repeat(b, '0', pad);
    }
    pg_put_str(b, body);
    if (pad != 0 && spec->is_left) {
        pg_put_repeat(b, ' ', pad);
    }
}

static const char *scan_number(const char *at, size_t *out)
{
    size_t x = 0;
    while (*at >= '0' && *at <= '9') {
        x = x < 1000000 ? x * 10 + (size_t)(*at - '0') : x;
        at++;
    }
    *out = x;
    return at;
}

/* A va_list may be an array, which a function cannot take by address; so it travels in a struct. */
typedef struct arguments {
    va_list list;
    uint64_t last; /* the number that was printed last, without its sign */
} arguments;

static const char *scan_spec(const char *at, format_spec *spec, arguments *args)
{
    *spec = (format_spec){.width = 0};
    for (; *at == '-' || *at == '0'; at++) {
        spec->is_left = spec->is_left || *at == '-';
        spec->is_zero = spec->is_zero || *at == '0';
    }
    at = scan_number(at, &spec->width);
    if (*at == '.') {
        spec->has_precision = true;
        at++;
        if (*at == '*') {
            int precision = va_arg(args->list, int);
            spec->precision = precision < 0 ? 0 : (size_t)precision;
            at++;
        } else {
            at = scan_number(at, &spec->precision);
        }
    }
    if (*at == 'z') {
        spec->n_longs = 3;
        return at + 1;
    }
    for (; *at == 'l' && spec->n_longs < 2; at++) {
        spec->n_longs++;
    }
    return at;
}

static uint64_t next_unsigned(arguments *args, uint32_t n_longs)
{
    switch (n_longs) {
    case 0: return va_arg(args->list, unsigned);
    case 1: return va_arg(args->list, unsigned long);
    case 2: return va_arg(args->list, unsigned long long);
    default: return va_arg(args->list, size_t);
    }
}

static int64_t next_signed(arguments *args, uint32_t n_longs)
{
    switch (n_longs) {
    case 0: return va_arg(args->list, int);
    case 1: return va_arg(args->list, long);
    case 2: return va_arg(args->list, long long);
    default: return va_arg(args->list, ptrdiff_t);
    }
}

static void put_text(pg_strbuf *b, const format_spec *spec, const char *text)
{
    size_t len = 0;
    while (text != NULL && (!spec->has_precision || len < spec->precision) && text[len] != '\0') {
        len++;
    }
    put_padded(b, spec, PG_STR(""), (pg_str){text == NULL ? "" : text, len});
}

static bool put_item(pg_strbuf *b, const format_spec *spec, char kind, arguments *args)
{
    char text[NUMBER_ROOM];
    switch (kind) {
    case 'd':
    case 'i': {
        int64_t x = next_signed(args, spec->n_longs);
        uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
        args->last = size;
        put_padded(b, spec, x < 0 ? PG_STR("-") : PG_STR(""), format_decimal(text, size));
        return true;
    }
    case 'u':
    case 'x':
    case 'X': {
        uint64_t x = next_unsigned(args, spec->n_longs);
        args->last = x;
        put_padded(b, spec, PG_STR(""),
                   kind == 'u' ? format_decimal(text, x) : format_hex(text, x, kind == 'X'));
        return true;
    }
    case 'c': {
        char c = (char)va_arg(args->list, int);
        put_padded(b, spec, PG_STR(""), (pg_str){&c, 1});
        return true;
    }
    case 's': put_text(b, spec, va_arg(args->list, const char *)); return true;
    default: return false;
    }
}

#define PLURAL "(s)"

static bool is_plural(const char *at)
{
    return strncmp(at, PLURAL, sizeof PLURAL - 1) == 0;
}

void pg_putv(pg_strbuf *b, const char *format, va_list args)
{
    arguments copy = {.last = 0};
    va_copy(copy.list, args);
    while (*format != '\0') {
        const char *run = format;
        while (*format != '\0' && *format != '%' && (*format != '(' || !is_plural(format))) {
            format++;
        }
        pg_put_str(b, (pg_str){run, (size_t)(format - run)});
        if (*format == '\0') {
            break;
        }
        if (*format == '(') {
            pg_put(b, copy.last == 1 ? "" : "s");
            format += sizeof PLURAL - 1;
            continue;
        }
        format_spec spec;
        const char *kind = scan_spec(format + 1, &spec, &copy);
        if (*kind == '%') {
            pg_put_char(b, '%');
        } else if (!put_item(b, &spec, *kind, &copy)) {
            pg_put(b, format); /* not of the subset: the rest stands as it is */
            break;
        }
        format = kind + 1;
    }
    va_end(copy.list);
}

void pg_putf(pg_strbuf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pg_putv(b, format, args);
    va_end(args);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Length of the well-formed UTF-8 sequence that s starts with; 0 if it is not one. */
static size_t utf8_len(pg_str s)
{
    unsigned char c = (unsigned char)s.ptr[0];
    size_t len = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    if (len < 2 || len > s.len) {
        return len > s.len ? 0 : len;
    }
    unsigned char second = (unsigned char)s.ptr[1];
    if ((c == 0xE0 && second < 0xA0) || (c == 0xED && second > 0x9F) ||
        (c == 0xF0 && second < 0x90) || (c == 0xF4 && second > 0x8F)) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if (((unsigned char)s.ptr[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return len;
}

void pg_put_json(pg_strbuf *b, pg_str s)
{
    pg_put_char(b, '"');
    while (s.len > 0) {
        size_t len = utf8_len(s);
        char c = s.ptr[0];
        if (len == 0) {
            pg_put(b, "\\ufffd");
            len = 1;
        } else if (c == '"' || c == '\\') {
            pg_put_char(b, '\\');
            pg_put_char(b, c);
        } else if (c == '\n') {
            pg_put(b, "\\n");
        } else if (c == '\t') {
            pg_put(b, "\\t");
        } else if (len == 1 && (unsigned char)c < 0x20) {
            pg_putf(b, "\\u%04x", (unsigned)(unsigned char)c);
        } else {
            pg_put_str(b, pg_str_sub(s, 0, len));
        }
        s = pg_str_sub(s, len, s.len);
    }
    pg_put_char(b, '"');
}
