#include "base/diag.h"

#include <string.h>

#include "base/vec.h"

const pg_diag_info pg_diag_infos[PG_D_COUNT] = {
    {0, PG_SEV_NOTE, PG_OK, "", ""},
#define DIAG(id, number, severity, status, text, help) \
    {number, severity, status, PG_D_##id##_TEXT, help},
#include "base/diags.def"
};

void pg_diags_init(pg_diags *d, pg_arena *arena, pg_alloc alloc)
{
    *d = (pg_diags){.arena = arena, .alloc = alloc};
}

bool pg_diags_is_full(const pg_diags *d, pg_severity severity)
{
    uint32_t n_errors_kept = d->n_errors < PG_MAX_DIAGS ? d->n_errors : PG_MAX_DIAGS;
    uint32_t n_others = d->n - (n_errors_kept < d->n ? n_errors_kept : d->n);
    return (severity == PG_SEV_ERROR ? d->n_errors : n_others) >= PG_MAX_DIAGS;
}

static void keep(pg_diags *d, const pg_diag *diag)
{
    d->at = pg_vec_grow(d->arena, d->at, d->n, &d->cap, 1, sizeof *d->at, false);
    if (d->n == d->cap) {
        d->n_dropped++;
        return;
    }
    d->at[d->n++] = *diag;
}

/* Is the same said of the same place? One line of the author's may have become many. */
static bool is_said(const pg_diags *d, const pg_diag *diag)
{
    for (uint32_t i = 0; i < d->n && diag->loc.line != 0; i++) {
        const pg_diag *other = &d->at[i];
        if (other->id == diag->id && other->loc.line == diag->loc.line &&
            other->loc.column == diag->loc.column && pg_str_eq(other->message, diag->message)) {
            return true;
        }
    }
    return false;
}

/* Formats one and keeps it; false if it was there already. */
static bool add(pg_diags *d, pg_diag diag, va_list args)
{
    const pg_diag_info *info = &pg_diag_infos[diag.id];
    pg_strbuf text;
    pg_strbuf_init(&text, d->alloc);
    pg_putv(&text, info->text, args);
    diag.message = pg_arena_str(d->arena, pg_strbuf_str(&text));
    diag.help = pg_str_of(info->help);
    if (text.is_oom) {
        d->arena->is_oom = true; /* a message cut short is worth no more than none */
    }
    pg_strbuf_fini(&text);
    if (is_said(d, &diag)) {
        return false;
    }
    keep(d, &diag);
    return true;
}

void pg_diags_copy(pg_diags *d, const pg_diag *from)
{
    const pg_diag_info *info = &pg_diag_infos[from->id];
    pg_diag copy = *from;
    if (pg_diags_is_full(d, from->severity)) {
        d->n_dropped++;
    } else {
        copy.message = pg_arena_str(d->arena, from->message);
        keep(d, &copy);
    }
    if (from->severity == PG_SEV_ERROR) {
        d->n_errors++;
        d->status = d->status == PG_OK ? (pg_status)info->status : d->status;
    }
}

pg_status pg_diag_addv(pg_diags *d, pg_diag_id id, pg_loc loc, va_list args)
{
    const pg_diag_info *info = &pg_diag_infos[id];
    pg_diag diag = {.id = id, .severity = (pg_severity)info->severity, .loc = loc};
    bool is_new = true;
    if (pg_diags_is_full(d, diag.severity)) {
        d->n_dropped++;
    } else {
        is_new = add(d, diag, args);
    }
    if (diag.severity != PG_SEV_ERROR) {
        return PG_OK;
    }
    d->n_errors += is_new;
    if (d->status == PG_OK) {
        d->status = (pg_status)info->status;
    }
    return (pg_status)info->status;
}

pg_status pg_diag_add_row(pg_diags *d, pg_diag_id id, pg_loc loc, ...)
{
    va_list args;
    va_start(args, loc);
    pg_status status = pg_diag_addv(d, id, loc, args);
    va_end(args);
    return status;
}

void pg_diags_take_back(pg_diags *d, uint32_t first, pg_diag_id id)
{
    uint32_t n = first < d->n ? first : d->n;
    for (uint32_t i = n; i < d->n; i++) {
        if (d->at[i].id == id) {
            d->n_errors -= d->at[i].severity == PG_SEV_ERROR;
        } else {
            d->at[n++] = d->at[i];
        }
    }
    d->n = n;
}

pg_status pg_diags_status(const pg_diags *d)
{
    return d->arena->is_oom ? PG_E_NOMEM : d->status;
}

static bool is_before(const pg_diag *a, const pg_diag *b)
{
    if (a->loc.line != b->loc.line) {
        return a->loc.line < b->loc.line;
    }
    return a->loc.column < b->loc.column;
}

void pg_diags_sort(pg_diags *d)
{
    for (uint32_t i = 1; i < d->n; i++) { /* insertion: at most 128, mostly in order */
        pg_diag moved = d->at[i];
        uint32_t to = i;
        for (; to > 0 && is_before(&moved, &d->at[to - 1]); to--) {
            d->at[to] = d->at[to - 1];
        }
        d->at[to] = moved;
    }
}

/* ---- printing ------------------------------------------------------------------------------ */

enum { LONGEST_EXCERPT = 240 };

static pg_str line_of(pg_str source, uint32_t line)
{
    size_t at = 0;
    for (uint32_t i = 1; i < line; i++) {
        const char *end = at < source.len ? memchr(source.ptr + at, '\n', source.len - at) : NULL;
        if (end == NULL) {
            return PG_STR("");
        }
        at = (size_t)(end - source.ptr) + 1;
    }
    pg_str rest = pg_str_sub(source, at, source.len);
    const char *end = rest.len == 0 ? NULL : memchr(rest.ptr, '\n', rest.len);
    return end == NULL ? rest : pg_str_sub(rest, 0, (size_t)(end - rest.ptr));
}

/* The line and a caret under its column. Control characters show as '?', so that a hostile file
 * cannot steer the terminal; tabs stay, above and below. */
static void put_excerpt(pg_strbuf *out, pg_loc loc, pg_str source)
{
    pg_str line = line_of(source, loc.line);
    if (line.len > 0 && line.ptr[line.len - 1] == '\r') {
        line.len--;
    }
    if (line.len == 0 || line.len > LONGEST_EXCERPT || loc.column == 0 ||
        loc.column > line.len + 1) {
        return;
    }
    pg_put(out, "  ");
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        pg_put_char(out, (c < 0x20 && c != '\t') || c == 0x7F ? '?' : line.ptr[i]);
    }
    pg_put(out, "\n  ");
    for (size_t i = 0; i + 1 < loc.column; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        if ((c & 0xC0) != 0x80) { /* one space for a whole UTF-8 sequence */
            pg_put_char(out, c == '\t' ? '\t' : ' ');
        }
    }
    pg_put(out, "^\n");
}

void pg_diag_print(pg_strbuf *out, const pg_diag *diag, pg_str file_name, pg_str source_or_empty)
{
    static const char *const names[] = {"note", "warning", "error"};
    if (file_name.len != 0) {
        pg_put_str(out, file_name);
        pg_put(out, ":");
    }
    if (diag->loc.line != 0) {
        pg_putf(out, "%u:%u:", (unsigned)diag->loc.line, (unsigned)diag->loc.column);
    }
    if (file_name.len != 0 || diag->loc.line != 0) {
        pg_put(out, " ");
    }
    pg_putf(out, "%s: PG%04u ", names[diag->severity], (unsigned)pg_diag_infos[diag->id].number);
    pg_put_str(out, diag->message);
    pg_put(out, "\n");
    if (diag->help.len != 0) {
        pg_put(out, "help: ");
        pg_put_str(out, diag->help);
        pg_put(out, "\n");
    }
    if (diag->loc.line != 0 && source_or_empty.len != 0) {
        put_excerpt(out, diag->loc, source_or_empty);
    }
}

pg_status pg_diag_internal(pg_diags *d, const char *file, int line, const char *what)
{
#if defined(PG_DEV_TRAP) && PG_DEV_TRAP && defined(__GNUC__)
    __builtin_trap();
#endif
    const char *slash = strrchr(file, '/'); /* messages hold no paths of the build */
    if (d == NULL) {
        return PG_E_INTERNAL;
    }
    return pg_diag_add(d, PG_D_INTERNAL, (pg_loc){0, 0}, slash == NULL ? file : slash + 1, line,
                       what);
}
