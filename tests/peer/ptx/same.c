/* same.c: reads PTX files, checks them against the table, prints them and reads that again: the
 * modules must be the same, and a second print the same text. Prints `N passed, N failed`. Usage:
 * same FILE... */
#include <stdio.h>
#include <stdlib.h>

#include "emit/ptx.h"
#include "tests/unit/ptx_equal.h"

static pg_str load(const char *path)
{
    pg_str s = {0};
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return s;
    }
    size_t room = 1 << 24;
    char *at = malloc(room);
    s = (pg_str){at, at != NULL ? fread(at, 1, room, f) : 0};
    (void)fclose(f);
    return s;
}

static void print_diags(const pg_diags *d, const char *path)
{
    for (uint32_t i = 0; i < d->n; i++) {
        printf("%s:%u:%u: %s\n", path, d->at[i].loc.line, d->at[i].loc.column,
               d->at[i].message.ptr);
    }
}

static bool is_same(const char *path)
{
    pg_arena arena;
    pg_diags diags;
    pg_strbuf one;
    pg_strbuf two;
    char room[256];
    pg_ptx_module *m = NULL;
    pg_ptx_module *m2 = NULL;
    pg_arena_init(&arena, pg_alloc_default());
    pg_diags_init(&diags, &arena, pg_alloc_default());
    pg_strbuf_init(&one, pg_alloc_default());
    pg_strbuf_init(&two, pg_alloc_default());
    pg_str text = load(path);
    bool ok = text.len != 0 && pg_ptx_read(&arena, text, &diags, &m) == PG_OK &&
              pg_ptx_check(m, &diags) == PG_OK;
    if (ok) {
        pg_ptx_write(&one, m);
        ok = pg_ptx_read(&arena, pg_strbuf_str(&one), &diags, &m2) == PG_OK;
    }
    if (ok) {
        pg_ptx_write(&two, m2);
        const char *d = ptx_difference(m, m2, room);
        if (d != NULL) {
            printf("%s: %s\n", path, d);
        }
        ok = d == NULL && pg_str_eq(pg_strbuf_str(&one), pg_strbuf_str(&two)) &&
             pg_ptx_min_version(m) <= m->version;
    }
    if (!ok) {
        printf("%s: not the same, or refused\n", path);
    }
    print_diags(&diags, path);
    pg_strbuf_fini(&one);
    pg_strbuf_fini(&two);
    pg_arena_fini(&arena);
    free((void *)(uintptr_t)text.ptr);
    return ok;
}

int main(int argc, char **argv)
{
    int n_failed = 0;
    for (int i = 1; i < argc; i++) {
        n_failed += !is_same(argv[i]);
    }
    printf("%d passed, %d failed\n", argc - 1 - n_failed, n_failed);
    return n_failed != 0;
}
