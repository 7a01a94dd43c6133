/* source.c: what `.file` and `.loc` say of the text's lines: where a compiler has them from.
 *
 * A `.loc` holds from its line to the next one of the function (PTX ISA 11.5.3, Debugging
 * Directives: .loc); `function_name` and `inlined_at` behind it say who called, which is not kept.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/exec/decode.h"

/* The next number of the text; false if there is none. */
static bool take_number(pg_str *text, uint32_t *out)
{
    size_t at = 0;
    uint64_t x = 0;
    while (at < text->len && (text->ptr[at] == ' ' || text->ptr[at] == '\t')) {
        at++;
    }
    const size_t first = at;
    while (at < text->len && text->ptr[at] >= '0' && text->ptr[at] <= '9' && x <= UINT32_MAX) {
        x = x * 10 + (uint64_t)(text->ptr[at++] - '0');
    }
    *text = pg_str_sub(*text, at, text->len);
    *out = (uint32_t)x;
    return at > first && x <= UINT32_MAX;
}

static bool take_word(pg_str *text, const char *word)
{
    const size_t n = strlen(word);
    if (text->len < n || memcmp(text->ptr, word, n) != 0) {
        return false;
    }
    *text = pg_str_sub(*text, n, text->len);
    return true;
}

/* .file N "NAME" */
static void note_file(ptxexec_module *m, pg_str text)
{
    uint32_t number;
    if (!take_word(&text, ".file") || !take_number(&text, &number)) {
        return;
    }
    const char *open = text.len == 0 ? NULL : memchr(text.ptr, '"', text.len);
    const char *end = text.ptr + text.len;
    const char *close = open == NULL ? NULL : memchr(open + 1, '"', (size_t)(end - (open + 1)));
    if (close == NULL) {
        return;
    }
    const pg_str name = {open + 1, (size_t)(close - (open + 1))};
    (void)pg_vec_push(&m->arena, &m->files,
                      ((pe_source_file){number, pg_arena_str(&m->arena, name).ptr}));
}

static void note_line(ptxexec_module *m, uint32_t at, pg_str text)
{
    pe_source_line x = {.ptx_line = at};
    if (take_word(&text, ".loc") && take_number(&text, &x.file) && take_number(&text, &x.line)) {
        if (!take_number(&text, &x.column)) {
            x.column = 0;
        }
        (void)pg_vec_push(&m->arena, &m->source_lines, x);
    }
}

static int by_line(const void *a, const void *b)
{
    const pe_source_line *x = a, *y = b;
    return (x->ptx_line > y->ptx_line) - (x->ptx_line < y->ptx_line);
}

void pe_read_sources(ptxexec_module *m)
{
    for (uint32_t i = 0; i < m->ptx->items.n; i++) {
        if (m->ptx->items.at[i].kind == PG_PTX_I_RAW) {
            note_file(m, m->ptx->items.at[i].text);
        }
    }
    if (m->files.n == 0) {
        return;
    }
    for (uint32_t i = 0; i < m->ptx->funcs.n; i++) {
        const pg_ptx_func *f = m->ptx->funcs.at[i];
        for (uint32_t k = 0; k < f->body.n; k++) {
            const pg_ptx_stmt *s = &f->body.at[k];
            if (k == 0 && s->kind != PG_PTX_S_RAW) { /* what the function before said is over */
                (void)pg_vec_push(&m->arena, &m->source_lines,
                                  ((pe_source_line){.ptx_line = s->loc.line}));
            }
            if (s->kind == PG_PTX_S_RAW) {
                note_line(m, s->loc.line, s->text);
            }
        }
    }
    if (m->source_lines.n > 0) { /* functions stand in the order in which they are named first */
        qsort(m->source_lines.at, m->source_lines.n, sizeof *m->source_lines.at, by_line);
    }
}

int ptxexec_module_source(const ptxexec_module *m, uint32_t line, ptxexec_source *out)
{
    if (m == NULL || out == NULL) {
        return 0;
    }
    *out = (ptxexec_source){.file = ""};
    uint32_t lo = 0, hi = m->source_lines.n;
    while (lo < hi) { /* the first that stands behind the line */
        const uint32_t mid = lo + (hi - lo) / 2;
        if (m->source_lines.at[mid].ptx_line <= line) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0 || m->source_lines.at[lo - 1].line == 0) {
        return 0;
    }
    const pe_source_line *x = &m->source_lines.at[lo - 1];
    for (uint32_t i = 0; i < m->files.n; i++) {
        if (m->files.at[i].number == x->file) {
            *out = (ptxexec_source){m->files.at[i].name, x->line, x->column};
            return 1;
        }
    }
    return 0;
}
