/* The same input gives the same bytes, whatever compiled the library: hashes of IR and PTX beside
 * those in a table.
 *
 *   bytes TABLE FOLDER...        compare; prints "N passed, N failed"
 *   bytes --bless TABLE FOLDER...  write the table
 *   bytes --print TABLE FOLDER...  the texts behind the hashes, to compare those of two builds
 *
 * A row is a hash and what it is of: a kernel of the library with each of its types and each value
 * of one more setting; the .ptir files of a folder; programs of the generator (gen.c). A change of
 * what is generated changes rows: bless, and look at what changed in the filetests. Rows that
 * differ between two builds of one source are what this test is there for. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/property/gen.h"

enum { MAX_ROWS = 512, N_GENERATED = 64 };

typedef struct row {
    uint64_t hash;
    char name[120];
} row;

typedef struct work {
    ptxgen_ctx *ctx;
    FILE *print; /* NULL: hashes only */
    uint32_t n_rows;
    row rows[MAX_ROWS];
} work;

static ptxgen_str str(const char *s)
{
    return (ptxgen_str){s, strlen(s)};
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "bytes: %s\n", what);
    exit(2);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void begin_row(work *w, const char *name, const char *more)
{
    if (w->n_rows == MAX_ROWS) {
        fail("too many rows");
    }
    row *r = &w->rows[w->n_rows++];
    r->hash = UINT64_C(0xcbf29ce484222325);
    (void)snprintf(r->name, sizeof r->name, "%s%s%s", name, more[0] == '\0' ? "" : " ", more);
}

/* FNV-1a */
static void add(work *w, ptxgen_str text)
{
    row *r = &w->rows[w->n_rows - 1];
    for (size_t i = 0; i < text.len; i++) {
        r->hash = (r->hash ^ (unsigned char)text.ptr[i]) * UINT64_C(0x100000001b3);
    }
    r->hash = (r->hash ^ 0xff) * UINT64_C(0x100000001b3);
    if (w->print != NULL && text.len > 0) {
        (void)fprintf(w->print, "%s\n", text.ptr);
    }
}

static void add_result(work *w, ptxgen_result *r)
{
    add(w, ptxgen_result_ir(r));
    add(w, ptxgen_result_ptx(r));
    for (size_t i = 0; i < ptxgen_result_entry_count(r); i++) {
        add(w, ptxgen_result_manifest(r, i));
    }
    for (size_t i = 0; i < ptxgen_result_diag_count(r); i++) {
        add(w, ptxgen_result_diag(r, i).message);
    }
    ptxgen_result_destroy(r);
}

static const ptxgen_options whole = {.struct_size = sizeof whole, .flags = PTXGEN_KEEP_IR};

/* ---- kernels --------------------------------------------------------------------------------- */

static void add_kernel(work *w, const ptxgen_kernel_info *k, const char *target,
                       const ptxgen_setting *settings, size_t n)
{
    ptxgen_module *m = NULL;
    ptxgen_result *r = NULL;
    const char *message = NULL;
    if (w->print != NULL) {
        (void)fprintf(w->print, "//// %s %s", k->name, target);
        for (size_t i = 0; i < n; i++) {
            (void)fprintf(w->print, " %s=%s", settings[i].name.ptr, settings[i].value.ptr);
        }
        (void)fprintf(w->print, "\n");
    }
    if (ptxgen_kernel_build(w->ctx, str(k->name), str(target), settings, n, &m, &message) !=
        PTXGEN_OK) {
        add(w, str(message)); /* values that don't go together */
        return;
    }
    (void)!ptxgen_module_compile(m, &whole, &r);
    add_result(w, r);
    ptxgen_module_destroy(m);
}

typedef struct words {
    char text[256];
    const char *at[32];
    size_t n;
} words;

/* Some values that a setting may have: each word, and both ends of a range. */
static void values_of(const ptxgen_kernel_setting *s, words *out)
{
    *out = (words){.n = 0};
    if (strlen(s->allowed) >= sizeof out->text - 64) {
        fail("a setting with a long list of values");
    }
    (void)snprintf(out->text, sizeof out->text, "%s", s->allowed);
    for (char *x = strtok(out->text, " "); x != NULL && out->n + 2 < 32; x = strtok(NULL, " ")) {
        char *dots = strstr(x, "..");
        out->at[out->n++] = x;
        if (dots != NULL) {
            *dots = '\0';
            out->at[out->n++] = dots + 2;
        }
    }
    for (size_t i = 0; i < out->n; i++) { /* 2^5 */
        if (strncmp(out->at[i], "2^", 2) == 0) {
            static const char *const powers[] = {"1",    "2",    "4",    "8",    "16",
                                                 "32",   "64",   "128",  "256",  "512",
                                                 "1024", "2048", "4096", "8192", "16384"};
            const unsigned long p = strtoul(out->at[i] + 2, NULL, 10);
            out->at[i] = p < sizeof powers / sizeof *powers ? powers[p] : out->at[i];
        }
    }
}

static void add_kernel_rows(work *w, const ptxgen_kernel_info *k)
{
    static const char *const targets[] = {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"};
    words types, values;
    const ptxgen_kernel_setting *type = NULL;
    for (size_t i = 0; i < k->n_settings; i++) {
        type = strcmp(k->settings[i].name, "dtype") == 0 ? &k->settings[i] : type;
    }
    if (type == NULL) {
        fail("a kernel without a dtype");
    }
    values_of(type, &types);
    ptxgen_setting s[2] = {{.name = str("dtype")}};
    begin_row(w, k->name, "");
    for (size_t t = 0; t < types.n; t++) {
        s[0].value = str(types.at[t]);
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
            add_kernel(w, k, targets[i], s, 1);
        }
    }
    for (size_t j = 0; j < k->n_settings; j++) {
        if (&k->settings[j] == type) {
            continue;
        }
        values_of(&k->settings[j], &values);
        begin_row(w, k->name, k->settings[j].name);
        s[1].name = str(k->settings[j].name);
        for (size_t t = 0; t < types.n; t++) {
            for (size_t i = 0; i < values.n; i++) {
                s[0].value = str(types.at[t]);
                s[1].value = str(values.at[i]);
                add_kernel(w, k, "sm_80", s, 2);
            }
        }
    }
}

/* ---- files and programs ---------------------------------------------------------------------- */

static void add_text(work *w, const char *name, ptxgen_str text)
{
    ptxgen_result *r = NULL;
    if (w->print != NULL) {
        (void)fprintf(w->print, "//// %s\n", name);
    }
    (void)!ptxgen_compile(w->ctx, text, &whole, &r);
    add_result(w, r);
}

static void add_file(work *w, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = malloc(1 << 20);
    if (f == NULL || text == NULL) {
        fail(path);
        return;
    }
    const size_t n = fread(text, 1, 1 << 20, f);
    (void)fclose(f);
    add_text(w, path, (ptxgen_str){text, n});
    free(text);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* A row for each folder that has .ptir files; `name` is its path below the folder asked for. */
static void add_folder(work *w, const char *path, const char *name)
{
    struct dirent **entries = NULL;
    const int n = scandir(path, &entries, NULL, by_name);
    char inner[1024], inner_name[256];
    bool has_row = false;
    for (int pass = 0; pass < 2; pass++) { /* files, then folders: rows are one after the other */
        for (int i = 0; i < n; i++) {
            const char *entry = entries[i]->d_name;
            const size_t len = strlen(entry);
            (void)snprintf(inner, sizeof inner, "%s/%s", path, entry);
            if (pass == 0 && len > 5 && strcmp(entry + len - 5, ".ptir") == 0) {
                if (!has_row) {
                    begin_row(w, name, "");
                    has_row = true;
                }
                add_file(w, inner);
            } else if (pass == 1 && strchr(entry, '.') == NULL) {
                (void)snprintf(inner_name, sizeof inner_name, "%s/%s", name, entry);
                add_folder(w, inner, inner_name);
            }
        }
    }
    for (int i = 0; i < n; i++) {
        free(entries[i]);
    }
    free(entries);
}

static void add_generated(work *w)
{
    begin_row(w, "generated", "");
    for (uint64_t seed = 1; seed <= N_GENERATED; seed++) {
        pg_strbuf text;
        pg_strbuf_init(&text, pg_alloc_default());
        pg_gen_program(&text, &(pg_gen_options){.seed = seed, .n_ops = 40});
        add(w, (ptxgen_str){text.ptr, text.len});
        add_text(w, "generated", (ptxgen_str){text.ptr, text.len});
        pg_strbuf_fini(&text);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static void bless(const work *w, const char *path)
{
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        fail(path);
        return;
    }
    for (uint32_t i = 0; i < w->n_rows; i++) {
        (void)fprintf(f, "%016llx %s\n", (unsigned long long)w->rows[i].hash, w->rows[i].name);
    }
    (void)fclose(f);
}

static int compare(const work *w, const char *path)
{
    FILE *f = fopen(path, "r");
    char line[256], want[256];
    uint32_t n_failed = 0, n_lines = 0;
    for (uint32_t i = 0; i < w->n_rows; i++) {
        const row *r = &w->rows[i];
        (void)snprintf(want, sizeof want, "%016llx %s\n", (unsigned long long)r->hash, r->name);
        n_lines += f != NULL && fgets(line, sizeof line, f) != NULL;
        if (n_lines != i + 1 || strcmp(line, want) != 0) {
            (void)fprintf(stderr, "%s: not the bytes that the table says\n", r->name);
            n_failed++;
        }
    }
    const bool is_longer = f != NULL && fgets(line, sizeof line, f) != NULL;
    if (is_longer) {
        (void)fprintf(stderr, "the table has more rows\n");
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    n_failed += is_longer;
    if (n_failed > 0) {
        (void)fprintf(stderr, "if this build is right, `ninja docs` writes the table anew; if "
                              "another build of the same sources passes, compare `--print`\n");
    }
    (void)printf("%u passed, %u failed\n", w->n_rows + is_longer - n_failed, n_failed);
    return n_failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static work w;
    const bool is_bless = argc > 1 && strcmp(argv[1], "--bless") == 0;
    const bool is_print = argc > 1 && strcmp(argv[1], "--print") == 0;
    const int first = is_bless || is_print ? 2 : 1;
    if (argc < first + 1 || ptxgen_ctx_create(NULL, &w.ctx) != PTXGEN_OK) {
        fail("usage: bytes [--bless|--print] TABLE FOLDER...");
    }
    w.print = is_print ? stdout : NULL;
    const ptxgen_kernel_info *k = NULL;
    for (size_t i = 0; (k = ptxgen_kernel_at(i)) != NULL; i++) {
        add_kernel_rows(&w, k);
    }
    for (int i = first + 1; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        add_folder(&w, argv[i], slash == NULL ? argv[i] : slash + 1);
    }
    add_generated(&w);
    ptxgen_ctx_destroy(w.ctx);
    if (is_bless) {
        bless(&w, argv[first]);
    }
    return is_bless || is_print ? 0 : compare(&w, argv[first]);
}
