/* fuzz_ir.c: mutated IR text through parser, verifier and printer.
 *
 *   fuzz_ir N_INPUTS SEED FILE|FOLDER...      prints "N passed, N failed"
 *
 * Each input is one of the files with a few mutations drawn from the seed. It must end in a status,
 * with a diagnostic where that is no success, and give all memory back; what parses must print to a
 * fixed point, whatever the verifier says of it. Sanitizers see the rest. A failing input is
 * written to fuzz-failure.ptir. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ir/ir.h"

typedef PG_VEC(pg_str) texts;

/* ---- inputs -------------------------------------------------------------------------------- */

static void add_file(pg_arena *arena, texts *all, const char *path)
{
    FILE *f = fopen(path, "rb");
    char chunk[4096];
    size_t n;
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    while (f != NULL && (n = fread(chunk, 1, sizeof chunk, f)) > 0) {
        pg_put_str(&text, (pg_str){chunk, n});
    }
    if (f != NULL && fclose(f) == 0 && text.len > 0) {
        (void)pg_vec_push(arena, all, pg_arena_str(arena, pg_strbuf_str(&text)));
    }
    pg_strbuf_fini(&text);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_path(pg_arena *arena, texts *all, const char *path)
{
    struct stat info;
    struct dirent **names = NULL;
    if (stat(path, &info) != 0) {
        return;
    }
    if (!S_ISDIR(info.st_mode)) {
        add_file(arena, all, path);
        return;
    }
    int n = scandir(path, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(names[i]->d_name, '.');
        char child[1024];
        (void)snprintf(child, sizeof child, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && (dot == NULL || strcmp(dot, ".ptir") == 0)) {
            add_path(arena, all, child);
        }
        free(names[i]);
    }
    free(names);
}

/* ---- mutations ----------------------------------------------------------------------------- */

typedef struct chance { /* xorshift */
    uint64_t state;
} chance;

static uint32_t below(chance *c, size_t n)
{
    c->state ^= c->state << 13;
    c->state ^= c->state >> 7;
    c->state ^= c->state << 17;
    return n == 0 ? 0 : (uint32_t)((c->state >> 11) % n);
}

static const char *const words[] = {
    "%",
    "@",
    "#",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ",",
    ":",
    "=",
    "?",
    "\n",
    " ",
    "//",
    "for ",
    "if ",
    "else ",
    "i32",
    "f16",
    "tile<",
    "ptr<",
    "-1",
    "0",
    "1e400",
    "nan",
    "poison",
    "0f00000",
    "yield",
    "true",
    "64x64x",
    "token",
    "part",
    "return",
    "elect",
    "grid ",
    "[is=lt]",
    "launch {",
    "partition @a [warps=4] {",
    "9223372036854775808",
    "mma.wait %t",
    "\xFF",
    "carry (",
};

/* A piece of any input, at most 60 bytes. */
static pg_str some_piece(chance *c, const texts *all)
{
    pg_str from = all->at[below(c, all->n)];
    size_t at = below(c, from.len);
    return pg_str_sub(from, at, at + 1 + below(c, 60));
}

static void put_mutated(pg_strbuf *out, chance *c, pg_str text, const texts *all)
{
    uint32_t n_cuts = 1 + below(c, 4);
    size_t at = 0;
    for (uint32_t i = 0; i < n_cuts; i++) {
        size_t to = at + below(c, text.len - at + 1);
        pg_put_str(out, pg_str_sub(text, at, to));
        at = to;
        switch (below(c, 6)) {
        case 0: at += below(c, 12); break; /* drop some */
        case 1: pg_put(out, words[below(c, PG_COUNT_OF(words))]); break;
        case 2: pg_put_str(out, some_piece(c, all)); break;
        case 3: /* change a byte */
            pg_put_char(out, (char)below(c, 256));
            at++;
            break;
        case 4: /* a line again */ pg_put_str(out, pg_str_sub(text, at, at + below(c, 120))); break;
        default: /* another number */ pg_put_u64(out, (uint64_t)1 << below(c, 64)); break;
        }
        at = at > text.len ? text.len : at;
    }
    pg_put_str(out, pg_str_sub(text, at, text.len));
}

/* ---- one input ----------------------------------------------------------------------------- */

static size_t live_bytes;

static void *counted(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    live_bytes += new_size - old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

static bool is_fixed_point(pg_ctx *ctx, pg_diags *diags, const pg_module *m)
{
    pg_strbuf one;
    pg_strbuf two;
    pg_module *again = NULL;
    pg_strbuf_init(&one, ctx->alloc);
    pg_strbuf_init(&two, ctx->alloc);
    pg_print(&one, m);
    bool is_good = pg_parse(ctx, pg_strbuf_str(&one), diags, &again) == PG_OK;
    if (is_good) {
        pg_print(&two, again);
        is_good = pg_str_eq(pg_strbuf_str(&one), pg_strbuf_str(&two));
    }
    pg_module_destroy(again);
    pg_strbuf_fini(&one);
    pg_strbuf_fini(&two);
    return is_good;
}

/* NULL, or what is wrong. */
static const char *run_input(pg_str text)
{
    const char *fault = NULL;
    pg_alloc alloc = {NULL, counted};
    pg_arena arena;
    pg_diags diags;
    pg_ctx ctx;
    pg_module *m = NULL;
    pg_arena_init(&arena, alloc);
    pg_diags_init(&diags, &arena, alloc);
    if (pg_ctx_init(&ctx, alloc) != PG_OK) {
        return "no context";
    }
    pg_status status = pg_parse(&ctx, text, &diags, &m);
    if ((status != PG_OK) != (diags.n_errors != 0) || (status == PG_OK) != (m != NULL)) {
        fault = "parser: status and diagnostics disagree";
    } else if (status == PG_OK) {
        status = pg_verify(m, 0);
        if ((status != PG_OK) != (diags.n_errors != 0)) {
            fault = "verifier: status and diagnostics disagree";
        } else if (!is_fixed_point(&ctx, &diags, m)) {
            fault = "printer: no fixed point";
        }
    }
    if (status == PG_E_INTERNAL || status == PG_E_NOMEM) {
        fault = "a defect, or memory ran out";
    }
    pg_module_destroy(m);
    pg_arena_fini(&arena);
    pg_ctx_fini(&ctx);
    return fault == NULL && live_bytes != 0 ? "memory was not given back" : fault;
}

static void keep_failure(pg_str text, uint32_t number, const char *fault)
{
    FILE *f = fopen("fuzz-failure.ptir", "wb");
    (void)printf("input %u: %s (fuzz-failure.ptir)\n", number, fault);
    if (f != NULL) {
        (void)fwrite(text.ptr, 1, text.len, f);
        (void)fclose(f);
    }
}

int main(int argc, char **argv)
{
    texts all = {0};
    pg_arena arena;
    uint32_t n_passed = 0;
    uint32_t n_failed = 0;
    pg_arena_init(&arena, pg_alloc_default());
    for (int i = 3; i < argc; i++) {
        add_path(&arena, &all, argv[i]);
    }
    if (argc < 4 || all.n == 0) {
        (void)printf("usage: fuzz_ir N_INPUTS SEED FILE|FOLDER...\n");
        return 2;
    }
    uint32_t n_inputs = (uint32_t)strtoul(argv[1], NULL, 10);
    uint64_t seed = strtoull(argv[2], NULL, 10);
    for (uint32_t i = 0; i < n_inputs; i++) {
        chance c = {(seed + i) * UINT64_C(0x9E3779B97F4A7C15) + 1};
        pg_strbuf text;
        pg_strbuf_init(&text, pg_alloc_default());
        put_mutated(&text, &c, all.at[i % all.n], &all);
        const char *fault = run_input(pg_strbuf_str(&text));
        if (fault != NULL) {
            keep_failure(pg_strbuf_str(&text), i, fault);
        }
        n_failed += fault != NULL;
        n_passed += fault == NULL;
        pg_strbuf_fini(&text);
    }
    pg_arena_fini(&arena);
    (void)printf("%u passed, %u failed\n", n_passed, n_failed);
    return n_failed != 0;
}
