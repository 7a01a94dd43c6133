/* run.c: the driver of the filetests.
 *
 *   filetests [--bless] FILE|FOLDER...      prints "N passed, N failed[, N skipped]"
 *
 * A file begins with `// test: parse|print|verify|passes=a,b|emit|emit=a,b` (with these passes
 * alone). Errors are pinned on their line (case.h); output stands behind `// ---- expect`, PTX
 * beside the file as NAME.TARGET.ptx. Whatever a file tests: what parses without errors must print
 * to a fixed point, and its clone must print the same. --bless writes expectations anew. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/filetests/case.h"

#if HAVE_PASSES
#include "sched/pass.h"
#endif
#if HAVE_EMIT
#include "emit/lower.h"
#endif

typedef enum verdict { PASSED, FAILED, SKIPPED } verdict;

typedef struct session {
    bool is_bless;
    uint32_t n[3]; /* by verdict */
    uint32_t n_written, n_written_emit;
} session;

/* What a test works with. */
typedef struct subject {
    filetest t;
    pg_ctx ctx;
    pg_arena arena;
    pg_diags diags;
    pg_module *m; /* NULL after errors */
    pg_strbuf out, log;
} subject;

/* ---- files --------------------------------------------------------------------------------- */

static bool read_file(const char *path, pg_arena *arena, pg_str *out)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return false;
    }
    pg_strbuf text;
    char chunk[4096];
    size_t n;
    pg_strbuf_init(&text, pg_alloc_default());
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) {
        pg_put_str(&text, (pg_str){chunk, n});
    }
    *out = pg_arena_str(arena, pg_strbuf_str(&text));
    pg_strbuf_fini(&text);
    return fclose(f) == 0;
}

static bool write_file(const char *path, pg_str text)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL) {
        return false;
    }
    bool is_good = fwrite(text.ptr, 1, text.len, f) == text.len;
    return fclose(f) == 0 && is_good;
}

/* Writes a file where it changes. */
static verdict bless(session *s, subject *x, const char *path, pg_str text, pg_str before)
{
    if (pg_str_eq(text, before)) {
        return PASSED;
    }
    if (!write_file(path, text)) {
        pg_putf(&x->log, "%s: cannot write it\n", path);
        return FAILED;
    }
    s->n_written++;
    s->n_written_emit += strstr(path, ".ptx") != NULL;
    return PASSED;
}

/* ---- checks -------------------------------------------------------------------------------- */

static void put_errors(subject *x)
{
    for (uint32_t i = 0; i < x->diags.n; i++) {
        pg_diag_print(&x->log, &x->diags.at[i], pg_str_of(x->t.path), PG_STR(""));
    }
}

static bool prints_as(subject *x, const pg_module *m, pg_str want, const char *what)
{
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_print(&text, m);
    bool is_same = pg_str_eq(pg_strbuf_str(&text), want);
    if (!is_same) {
        pg_putf(&x->log, "%s: %s prints another text\n", x->t.path, what);
        put_diff(&x->log, want, pg_strbuf_str(&text));
    }
    pg_strbuf_fini(&text);
    return is_same;
}

/* print(parse(print(m))) is print(m), and so is the clone's. */
static bool check_round_trip(subject *x)
{
    pg_module *again = NULL;
    bool is_good = false;
    pg_strbuf_clear(&x->out);
    pg_print(&x->out, x->m);
    pg_str text = pg_strbuf_str(&x->out);
    if (pg_parse(&x->ctx, text, &x->diags, &again) != PG_OK) {
        pg_putf(&x->log, "%s: what it prints does not parse:\n%.*s", x->t.path, PG_STR_ARG(text));
        put_errors(x);
        return false;
    }
    is_good = prints_as(x, again, text, "the module that was read back");
    pg_module_destroy(again);
    if (!is_good || pg_module_clone(x->m, &x->diags, &again) != PG_OK) {
        return false;
    }
    is_good = prints_as(x, again, text, "the clone");
    pg_module_destroy(again);
    return is_good;
}

static const char help[] = "if this is as wanted: meson compile -C build bless\n";

static verdict compare_expected(session *s, subject *x, pg_str have)
{
    if (s->is_bless) {
        pg_strbuf text;
        pg_strbuf_init(&text, pg_alloc_default());
        filetest_put_expected(&text, &x->t, have, true);
        verdict v = bless(s, x, x->t.path, pg_strbuf_str(&text), x->t.text);
        pg_strbuf_fini(&text);
        return v;
    }
    if (!x->t.has_expected || !pg_str_eq(have, x->t.expected)) {
        pg_putf(&x->log, "%s: %s\n", x->t.path,
                x->t.has_expected ? "other output" : "no expectation");
        put_diff(&x->log, x->t.expected, have);
        pg_put(&x->log, help);
        return FAILED;
    }
    return PASSED;
}

/* The errors that were reported are those that the file pins. */
static verdict compare_errors(session *s, subject *x)
{
    pg_diags_sort(&x->diags);
    bool is_for_errors = pg_str_is(x->t.test, "parse") || pg_str_is(x->t.test, "verify");
    if (s->is_bless && x->diags.n_errors != 0 && !is_for_errors && x->t.n_pins == 0) {
        put_errors(x); /* a file that is to give output: an error is no new expectation */
        return FAILED;
    }
    if (s->is_bless) {
        pg_strbuf text;
        pg_strbuf_init(&text, pg_alloc_default());
        filetest_put_pins(&text, &x->t, &x->diags);
        verdict v = bless(s, x, x->t.path, pg_strbuf_str(&text), x->t.text);
        pg_strbuf_fini(&text);
        return v;
    }
    if (!filetest_check_pins(&x->t, &x->diags, &x->log)) {
        pg_put(&x->log, help);
        return FAILED;
    }
    return PASSED;
}

/* ---- modes --------------------------------------------------------------------------------- */

static bool run_passes(subject *x, pg_str passes)
{
#if HAVE_PASSES
    pg_pass_options options = {.passes = passes, .pass_limit = UINT32_MAX};
    options.checks = PG_CHECK_ROUNDTRIP | PG_CHECK_CLONE | PG_CHECK_TWICE;
    options.verify = PG_VERIFY_EACH;
    pg_pass_stat *stats = NULL;
    uint32_t n_stats = 0;
    bool is_stopped = false;
    return pg_passes_run(x->m, &options, &x->arena, &x->m, &stats, &n_stats, &is_stopped) == PG_OK;
#else
    (void)x;
    (void)passes;
    return false;
#endif
}

static verdict test_passes(session *s, subject *x, pg_str passes)
{
    if (!run_passes(x, passes)) {
        return compare_errors(s, x);
    }
    if (x->t.n_pins != 0) {
        return compare_errors(s, x);
    }
    if (!check_round_trip(x)) {
        return FAILED;
    }
    return compare_expected(s, x, pg_strbuf_str(&x->out));
}

#if HAVE_EMIT
static verdict compare_ptx(session *s, subject *x, pg_str have)
{
    char path[1024];
    pg_str expected = PG_STR("");
    size_t n = strlen(x->t.path) - strlen(".ptir");
    pg_str target = pg_sym_text(&x->ctx.syms, x->m->target);
    (void)snprintf(path, sizeof path, "%.*s.%.*s.ptx", (int)n, x->t.path, PG_STR_ARG(target));
    bool is_there = read_file(path, &x->arena, &expected);
    if (s->is_bless) {
        return bless(s, x, path, have, expected);
    }
    if (!is_there || !pg_str_eq(have, expected)) {
        pg_putf(&x->log, "%s: %s\n", path, is_there ? "other output" : "is not there");
        put_diff(&x->log, expected, have);
        pg_put(&x->log, help);
        return FAILED;
    }
    return PASSED;
}
#endif

/* Without names of passes: all. */
static verdict test_emit(session *s, subject *x, pg_str passes)
{
#if HAVE_EMIT
    pg_lower_options options = {.annotate = false};
    pg_ptx_module *ptx = NULL;
    if (!run_passes(x, passes) || pg_lower(x->m, &options, &x->arena, &x->diags, &ptx) != PG_OK) {
        return compare_errors(s, x);
    }
    pg_strbuf_clear(&x->out);
    pg_ptx_write(&x->out, ptx);
    verdict errors = compare_errors(s, x);
    return errors != PASSED ? errors : compare_ptx(s, x, pg_strbuf_str(&x->out));
#else
    (void)s;
    (void)x;
    (void)passes;
    return SKIPPED;
#endif
}

static verdict test_subject(session *s, subject *x)
{
    pg_str mode = x->t.test;
    bool is_parse = pg_str_is(mode, "parse");
    bool is_passes = pg_str_starts(mode, PG_STR("passes="));
    if (is_passes && !HAVE_PASSES) {
        return SKIPPED;
    }
    pg_status status = pg_parse(&x->ctx, x->t.input, &x->diags, &x->m);
    if (status == PG_OK && x->t.target.len != 0) {
        status = pg_module_set_target(x->m, x->t.target, (pg_loc){1, 1});
    }
    if (status == PG_OK && !is_parse) {
        status = pg_verify(x->m, 0);
    }
    if (status != PG_OK) {
        if (status == PG_E_NOMEM || status == PG_E_INTERNAL || x->diags.n == 0) {
            pg_putf(&x->log, "%s: status %d, %u diagnostics\n", x->t.path, (int)status, x->diags.n);
            return FAILED;
        }
        return compare_errors(s, x);
    }
    if (!check_round_trip(x)) {
        return FAILED;
    }
    if (is_passes) {
        return test_passes(s, x, pg_str_sub(mode, strlen("passes="), mode.len));
    }
    if (pg_str_is(mode, "emit") || pg_str_starts(mode, PG_STR("emit="))) {
        const size_t at = mode.len > strlen("emit=") ? strlen("emit=") : mode.len;
        return test_emit(s, x, pg_str_sub(mode, at, mode.len));
    }
    if (pg_str_is(mode, "print")) {
        return compare_expected(s, x, pg_strbuf_str(&x->out));
    }
    if (is_parse || pg_str_is(mode, "verify")) {
        return compare_errors(s, x);
    }
    pg_putf(&x->log, "%s: there is no test `%.*s`\n", x->t.path, PG_STR_ARG(mode));
    return FAILED;
}

static void run_file(session *s, const char *path)
{
    subject x = {.t = {.path = path}};
    pg_alloc alloc = pg_alloc_default();
    verdict v = FAILED;
    pg_arena_init(&x.arena, alloc);
    pg_diags_init(&x.diags, &x.arena, alloc);
    pg_strbuf_init(&x.out, alloc);
    pg_strbuf_init(&x.log, alloc);
    if (pg_ctx_init(&x.ctx, alloc) == PG_OK && read_file(path, &x.arena, &x.t.text)) {
        const char *fault = filetest_split(&x.t, &x.arena);
        if (fault != NULL) {
            pg_putf(&x.log, "%s: %s\n", path, fault);
        } else {
            v = test_subject(s, &x);
        }
    } else {
        pg_putf(&x.log, "%s: cannot read it\n", path);
    }
    if (v == FAILED) {
        pg_put(&x.log, "");
        (void)fwrite(x.log.ptr == NULL ? "" : x.log.ptr, 1, x.log.len, stdout);
    }
    s->n[v]++;
    pg_module_destroy(x.m);
    pg_ctx_fini(&x.ctx);
    pg_strbuf_fini(&x.out);
    pg_strbuf_fini(&x.log);
    pg_arena_fini(&x.arena);
}

/* ---- the tree ------------------------------------------------------------------------------ */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void run_path(session *s, const char *path)
{
    struct stat info;
    size_t n = strlen(path);
    if (stat(path, &info) != 0) {
        (void)printf("%s: is not there\n", path);
        s->n[FAILED]++;
    } else if (!S_ISDIR(info.st_mode)) {
        run_file(s, path);
    } else {
        struct dirent **names = NULL;
        int n_names = scandir(path, &names, NULL, by_name);
        for (int i = 0; i < n_names; i++) {
            const char *name = names[i]->d_name;
            const char *dot = strrchr(name, '.');
            bool is_wanted = name[0] != '.' && (dot == NULL || strcmp(dot, ".ptir") == 0);
            char *child = malloc(n + strlen(name) + 2);
            if (is_wanted && child != NULL) {
                (void)sprintf(child, "%s/%s", path, name);
                run_path(s, child);
            }
            free(child);
            free(names[i]);
        }
        free(names);
    }
}

int main(int argc, char **argv)
{
    session s = {.is_bless = false};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bless") == 0) {
            s.is_bless = true;
        } else {
            run_path(&s, argv[i]);
        }
    }
    if (s.is_bless) {
        (void)printf("%u files changed, of which %u in emit/\n", s.n_written, s.n_written_emit);
    }
    (void)printf("%u passed, %u failed", s.n[PASSED], s.n[FAILED]);
    (void)printf(s.n[SKIPPED] != 0 ? ", %u skipped\n" : "\n", s.n[SKIPPED]);
    return s.n[FAILED] != 0;
}
