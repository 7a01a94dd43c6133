/* fuzz_ptx.c: mutated PTX through reader, checker and writer. Deterministic: seed and number decide
 * each case. What the reader takes must come back the same from its own printed form. Usage:
 * fuzz_ptx N SEED FILE...   Prints `N passed, N failed`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/ptx.h"

enum { MAX_SEEDS = 64, MAX_CASE = 1 << 16 };

typedef struct blob {
    char *at;
    size_t n;
} blob;

static uint64_t next(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15ULL;
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

static blob load(const char *path)
{
    blob b = {0};
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return b;
    }
    b.at = malloc(MAX_CASE);
    b.n = b.at != NULL ? fread(b.at, 1, MAX_CASE / 2, f) : 0;
    (void)fclose(f);
    return b;
}

/* Pieces that stress the grammar more than single bytes do. */
static const char *const pieces[] = {
    "{",
    "}",
    "{{",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "@",
    "!",
    "|",
    "<9>",
    "<4000000000>",
    ".reg .b32 ",
    ".param .b32 x",
    "/*",
    "//",
    "\"",
    "0x",
    "0f",
    "1e999",
    "-",
    "%",
    "%tid.x",
    "$L",
    ".version 8.0\n",
    ".entry k()",
    ".func ",
    ".align 3 ",
    "= {1, {2}",
    "generic(",
    "_",
    "99999999999999999999",
    ".pragma",
    ".loc 1 1 1",
    "\n",
    "\t",
    "\xC3\xA9",
    "L:",
    "bra L;",
    "call ",
    ".v4",
    ".b128",
    "[a+-",
    "{%r1, _}",
};

static void insert(blob *b, size_t at, const char *s, size_t n)
{
    if (b->n + n < MAX_CASE) {
        memmove(b->at + at + n, b->at + at, b->n - at);
        memcpy(b->at + at, s, n);
        b->n += n;
    }
}

static void mutate(blob *b, const blob *other, uint64_t *rng)
{
    uint64_t n_edits = 1 + next(rng) % 8;
    for (uint64_t e = 0; e < n_edits && b->n > 0; e++) {
        size_t at = (size_t)(next(rng) % b->n);
        size_t len = (size_t)(1 + next(rng) % 40);
        len = at + len > b->n ? b->n - at : len;
        const char *piece = pieces[next(rng) % PG_COUNT_OF(pieces)];
        char copy[48];
        switch (next(rng) % 6) {
        case 0: b->at[at] = (char)next(rng); break;
        case 1: /* cut */
            memmove(b->at + at, b->at + at + len, b->n - at - len);
            b->n -= len;
            break;
        case 2: /* repeat */
            memcpy(copy, b->at + at, len);
            insert(b, at, copy, len);
            break;
        case 3:
        case 4: insert(b, at, piece, strlen(piece)); break;
        default: /* a run of another seed */
            if (other->n > 40) {
                size_t from = (size_t)(next(rng) % (other->n - 40));
                memcpy(copy, other->at + from, 40);
                insert(b, at, copy, 40);
            }
            break;
        }
    }
    if (next(rng) % 16 == 0 && b->n > 0) {
        b->n = (size_t)(next(rng) % b->n);
    }
}

/* NULL, or what is wrong. */
static const char *run(const blob *b)
{
    const char *wrong = NULL;
    pg_arena arena;
    pg_diags diags;
    pg_diags again;
    pg_strbuf one;
    pg_strbuf two;
    pg_ptx_module *m = NULL;
    pg_ptx_module *m2 = NULL;
    pg_arena_init(&arena, pg_alloc_default());
    pg_diags_init(&diags, &arena, pg_alloc_default());
    pg_diags_init(&again, &arena, pg_alloc_default());
    pg_strbuf_init(&one, pg_alloc_default());
    pg_strbuf_init(&two, pg_alloc_default());
    pg_status s = pg_ptx_read(&arena, (pg_str){b->at, b->n}, &diags, &m);
    if (s != PG_OK) {
        wrong = diags.n == 0 ? "refused without a diagnostic" : NULL;
    } else {
        pg_ptx_write(&one, m);
        if (pg_ptx_read(&arena, pg_strbuf_str(&one), &again, &m2) != PG_OK) {
            wrong = "what was printed does not read";
        } else {
            pg_ptx_write(&two, m2);
            bool same = pg_str_eq(pg_strbuf_str(&one), pg_strbuf_str(&two));
            wrong = same ? NULL : "printed twice, and not the same";
        }
        (void)pg_ptx_min_version(m);
        s = pg_ptx_check(m, &diags);
        if (s != PG_OK && diags.n_errors == 0) {
            wrong = "rejected without a diagnostic";
        }
    }
    pg_strbuf_fini(&one);
    pg_strbuf_fini(&two);
    pg_arena_fini(&arena);
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        printf("usage: fuzz_ptx N SEED FILE...\n");
        return 2;
    }
    unsigned long n = strtoul(argv[1], NULL, 10);
    uint64_t seed = strtoull(argv[2], NULL, 10);
    static blob seeds[MAX_SEEDS];
    size_t n_seeds = 0;
    for (int i = 3; i < argc && n_seeds < MAX_SEEDS; i++) {
        seeds[n_seeds] = load(argv[i]);
        n_seeds += seeds[n_seeds].n != 0 ? 1 : 0;
    }
    if (n_seeds == 0) {
        printf("no seeds\n");
        return 2;
    }
    unsigned long n_failed = 0;
    blob b = {.at = malloc(MAX_CASE)};
    for (unsigned long k = 0; k < n && b.at != NULL; k++) {
        uint64_t rng = seed * 1000003 + k;
        const blob *base = &seeds[next(&rng) % n_seeds];
        memcpy(b.at, base->at, base->n);
        b.n = base->n;
        mutate(&b, &seeds[next(&rng) % n_seeds], &rng);
        const char *wrong = run(&b);
        if (wrong != NULL && n_failed++ < 5) {
            printf("case %lu of seed %llu: %s\n", k, (unsigned long long)seed, wrong);
            if (getenv("FUZZ_DUMP") != NULL) {
                printf("----\n%.*s\n----\n", (int)b.n, b.at);
            }
        }
    }
    free(b.at);
    for (size_t i = 0; i < n_seeds; i++) {
        free(seeds[i].at);
    }
    printf("%lu passed, %lu failed\n", n - n_failed, n_failed);
    return n_failed != 0;
}
