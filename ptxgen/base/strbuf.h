/* strbuf.h: growing text. Own number printing: no locale, same bytes everywhere. Sticky
 * out-of-memory. */
#ifndef PG_BASE_STRBUF_H
#define PG_BASE_STRBUF_H

#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"

typedef struct pg_strbuf {
    pg_alloc alloc;
    char *ptr; /* NUL-terminated once anything was put; NULL before */
    size_t len, cap;
    bool is_oom;
} pg_strbuf;

void pg_strbuf_init(pg_strbuf *b, pg_alloc alloc);
void pg_strbuf_fini(pg_strbuf *b);
void pg_strbuf_clear(pg_strbuf *b); /* keeps the memory */
void pg_strbuf_truncate(pg_strbuf *b, size_t len);
pg_str pg_strbuf_str(const pg_strbuf *b); /* borrowed until the next put */
pg_status pg_strbuf_status(const pg_strbuf *b);

/* Makes room for n more bytes and a NUL; where they go, or NULL when out of memory. */
char *pg_strbuf_grow(pg_strbuf *b, size_t n);

/* Texts are put together of very short pieces: the common case stands here, so that it costs no
 * call. */
static inline char *pg_strbuf_room(pg_strbuf *b, size_t n)
{
    return !b->is_oom && n < b->cap - b->len ? b->ptr + b->len : pg_strbuf_grow(b, n);
}
static inline void pg_put_str(pg_strbuf *b, pg_str s)
{
    char *at = pg_strbuf_room(b, s.len);
    if (at != NULL) {
        if (s.len != 0) {
            memcpy(at, s.ptr, s.len);
        }
        at[s.len] = '\0';
        b->len += s.len;
    }
}
static inline void pg_put(pg_strbuf *b, const char *nul_terminated)
{
    pg_put_str(b, (pg_str){nul_terminated, nul_terminated == NULL ? 0 : strlen(nul_terminated)});
}
static inline void pg_put_char(pg_strbuf *b, char c)
{
    char *at = pg_strbuf_room(b, 1);
    if (at != NULL) {
        at[0] = c;
        at[1] = '\0';
        b->len++;
    }
}
void pg_put_repeat(pg_strbuf *b, char c, size_t n);
void pg_put_u64(pg_strbuf *b, uint64_t x);
void pg_put_i64(pg_strbuf *b, int64_t x);
void pg_put_hex(pg_strbuf *b, uint64_t x, uint32_t min_digits); /* upper case, without 0x */
/* Shortest decimal text that reads back as the same double; always has a '.', 'e', "inf" or "nan"
 * in it, so that it reads as a float: 1.0, 0.5, 1e+30. */
void pg_put_f64(pg_strbuf *b, double x);
/* The same for a float: shortest that reads back as the same float after rounding the double to
 * float. */
void pg_put_f32(pg_strbuf *b, float x);
/* printf subset: %d %i %u %x %X %lld %llu %llx %ld %lu %zu %c %s %.*s %% with an optional
 * zero-padded or plain width (%5d %04x %-10s). No floats, no locale. `(s)` is the s of a plural:
 * nothing where the number before it is 1. */
void pg_putf(pg_strbuf *b, const char *format, ...) PG_PRINTF(2, 3);
void pg_putv(pg_strbuf *b, const char *format, va_list args);
/* JSON string with quotes and escapes. */
void pg_put_json(pg_strbuf *b, pg_str s);

#endif
