/* test_pairs.c: small programs with one fault, beside the same without it: the files of
 * tests/exec/faults.
 *
 *   = NAME kind=KIND[|KIND...] [block=N] [grid=N] [cluster=N] [races=off|practice|isa] [some]
 * [practice]
 *   - bad        statements; lines that may be named by the report end in //!
 *   - good       statements
 *
 * Each `bad` program must be reported with that kind (mbarrier, race, deadlock ...) and at marked
 * lines, both of them where the fault has two, for every seed (`some`: for one at least). Each
 * `good` one is silent, with races looked for and without (`practice`: not with the fences that
 * only the ISA asks for). PTXGEN_TEST_LONG=1 runs 100 seeds.
 *
 * Statements see: %p15, true in the first thread of the CTA; %r1 = %tid.x, %r2 = %ctaid.x, %r3 =
 * %tid.x / 32, %r4 = the address of sm, %rd1 and %rd2 = in and out (64 KiB each), `sm`: 48 KiB of
 * shared memory, aligned to 1024; `bar`: 8 words of 64 bits; %rd8 and %rd9: tensor maps of in and
 * out, f32, 61 x 13, box 16 x 8.
 *
 *   test_pairs FOLDER [NAME-PART] */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/exec/ptxexec.h"

#include "../failing.h"

enum { MEMORY = 65536, MAX_TEXT = 1 << 16, MAX_LINES = 512 };

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".shared .align 1024 .b8 sm[49152];\n.shared .align 8 .b64 bar[8];\n"
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 ti[128], "
    ".param .align 64 .b8 to[128])\n{\n"
    ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n"
    "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n"
    "mov.u32 %r2, %ctaid.x;\nshr.u32 %r3, %r1, 5;\nmov.u32 %r4, sm;\nsetp.eq.u32 %p15, %r1, 0;\n"
    "mov.b64 %rd8, ti;\ncvta.param.u64 %rd8, %rd8;\nmov.b64 %rd9, to;\n"
    "cvta.param.u64 %rd9, %rd9;\n";

typedef struct program {
    char text[MAX_TEXT];
    bool is_marked[MAX_LINES]; /* by line of the whole text */
    bool has_any;
    ptxexec_module *m;
} program;

typedef struct pair {
    char name[128], kind[64], file[64];
    uint32_t block, grid, cluster;
    ptxexec_races races; /* for the bad one */
    bool is_some, is_practice;
    program bad, good;
} pair;

static uint32_t n_pass, n_fail;
static const char *only;

static bool fail(const pair *p, const char *which, uint64_t seed, const char *what)
{
    printf("%s: %s (%s), seed %llu: %s\n", p->file, p->name, which, (unsigned long long)seed, what);
    return false;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool load(const pair *p, program *g, const char *which)
{
    (void)strcat(g->text, "ret;\n}\n");
    ptxexec_status s = ptxexec_module_load(NULL, g->text, strlen(g->text), &g->m);
    if (s == PTXEXEC_OK) {
        return true;
    }
    char what[512] = "out of memory";
    if (g->m != NULL && ptxexec_module_diag_count(g->m) > 0) {
        ptxexec_diag d = ptxexec_module_diag(g->m, 0);
        (void)snprintf(what, sizeof what, "line %u: %s", d.line, d.message);
    }
    return fail(p, which, 0, what);
}

/* NULL when the allocator refuses before there is a report. */
static ptxexec_report *run_with(const ptxexec_allocator *alloc, const pair *p, const program *g,
                                uint64_t seed, ptxexec_races races)
{
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    struct {
        uint64_t at[2];
        uint8_t unused[48];
        unsigned char map[2][128];
    } params = {.at = {0, 0}};
    uint64_t *at = params.at;
    if (ptxexec_device_create(alloc, &d) != PTXEXEC_OK ||
        ptxexec_device_alloc(d, MEMORY, PTXEXEC_FILL_ZERO, "in", &at[0]) != PTXEXEC_OK ||
        ptxexec_device_alloc(d, MEMORY, PTXEXEC_FILL_ZERO, "out", &at[1]) != PTXEXEC_OK) {
        ptxexec_device_destroy(d);
        return NULL;
    }
    for (uint32_t k = 0; k < 2; k++) {
        ptxexec_tensormap t = {.struct_size = sizeof t,
                               .type = PTXEXEC_TM_F32,
                               .rank = 2,
                               .address = at[k],
                               .dims = {61, 13},
                               .strides = {256},
                               .box = {16, 8},
                               .elem_strides = {1, 1}};
        if (ptxexec_tensormap_encode(&t, params.map[k]) != PTXEXEC_OK) {
            exit(2);
        }
    }
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {p->grid, 1, 1},
                                .block = {p->block, 1, 1},
                                .cluster = {p->cluster, 1, 1},
                                .params = &params,
                                .params_size = sizeof params,
                                .seed = seed,
                                .max_steps = 1000000,
                                .races = races};
    (void)!ptxexec_launch(d, g->m, &o, &r);
    ptxexec_device_destroy(d);
    return r;
}

static ptxexec_report *run(const pair *p, const program *g, uint64_t seed, ptxexec_races races)
{
    ptxexec_report *r = run_with(NULL, p, g, seed, races);
    if (r == NULL) {
        exit(2);
    }
    return r;
}

static const char *const kinds[] = {
    [PTXEXEC_F_OUT_OF_BOUNDS] = "bounds",
    [PTXEXEC_F_MISALIGNED] = "misaligned",
    [PTXEXEC_F_WRONG_SPACE] = "space",
    [PTXEXEC_F_POISON_SYNC] = "poison",
    [PTXEXEC_F_BARRIER] = "barrier",
    [PTXEXEC_F_DEADLOCK] = "deadlock",
    [PTXEXEC_F_RACE] = "race",
    [PTXEXEC_F_MBARRIER] = "mbarrier",
    [PTXEXEC_F_PROXY] = "proxy",
    [PTXEXEC_F_TENSOR_MAP] = "map",
    [PTXEXEC_F_ASYNC] = "async",
    [PTXEXEC_F_TRAP] = "trap",
};

/* `wanted` is a list of kinds between bars. */
static bool is_of_kind(const char *wanted, ptxexec_fault_kind kind)
{
    const char *name =
        (size_t)kind < sizeof kinds / sizeof kinds[0] && kinds[kind] != NULL ? kinds[kind] : "?";
    size_t n = strlen(name);
    for (const char *p = wanted; p != NULL; p = strchr(p, '|')) {
        p += *p == '|' ? 1 : 0;
        if (strncmp(p, name, n) == 0 && (p[n] == '|' || p[n] == 0)) {
            return true;
        }
    }
    return false;
}

static bool is_marked(const program *g, uint32_t line)
{
    return !g->has_any || (line < MAX_LINES && g->is_marked[line]);
}

static bool try_bad(const pair *p, uint64_t seed, bool *seen)
{
    ptxexec_report *r = run(p, &p->bad, seed, p->races);
    char what[700] = "nothing was reported";
    bool is_ok = false;
    if (ptxexec_report_fault_count(r) > 0) {
        ptxexec_fault f = ptxexec_report_fault(r, 0);
        is_ok = is_of_kind(p->kind, f.kind) && is_marked(&p->bad, f.at.line) &&
                (f.has_other == 0 || is_marked(&p->bad, f.other.line));
        *seen = *seen || is_ok;
        (void)snprintf(what, sizeof what, "line %u (other %u): %s: %s", f.at.line, f.other.line,
                       ptxexec_fault_kind_text(f.kind), f.message);
    } else if (p->is_some) {
        is_ok = true;
    }
    ptxexec_report_destroy(r);
    return is_ok || fail(p, "bad", seed, what);
}

static bool try_good(const pair *p, uint64_t seed)
{
    ptxexec_races last = p->is_practice ? PTXEXEC_RACES_PRACTICE : PTXEXEC_RACES_ISA;
    for (ptxexec_races races = PTXEXEC_RACES_OFF; races <= last; races++) {
        ptxexec_report *r = run(p, &p->good, seed, races);
        char what[700] = "";
        if (ptxexec_report_fault_count(r) > 0) {
            ptxexec_fault f = ptxexec_report_fault(r, 0);
            (void)snprintf(what, sizeof what, "races %d, line %u (other %u): %s: %s", (int)races,
                           f.at.line, f.other.line, ptxexec_fault_kind_text(f.kind), f.message);
        } else if (ptxexec_report_status(r) != PTXEXEC_OK) {
            (void)snprintf(what, sizeof what, "status %d", (int)ptxexec_report_status(r));
        }
        ptxexec_report_destroy(r);
        if (what[0] != 0) {
            return fail(p, "good", seed, what);
        }
    }
    return true;
}

/* Each request for memory refused, one at a time: nothing worse happens than that the launch says
 * so, and nothing stays behind. */
static bool try_memory(const pair *p, uint64_t step)
{
    for (uint64_t at = 1;; at += step) {
        failing f = {.fail_at = at};
        ptxexec_allocator alloc = {.user = &f, .resize = resize_failing};
        ptxexec_report *r = run_with(&alloc, p, &p->good, 1, PTXEXEC_RACES_PRACTICE);
        ptxexec_status status = r != NULL ? ptxexec_report_status(r) : PTXEXEC_E_NOMEM;
        ptxexec_report_destroy(r);
        if (status != PTXEXEC_OK && status != PTXEXEC_E_NOMEM) {
            return fail(p, "good", at, "a refused request for memory became another failure");
        }
        if (f.live_blocks != 0 || f.live_bytes != 0) {
            return fail(p, "good", at, "memory is left behind where a request for it was refused");
        }
        if (f.n < at) {
            return true;
        }
    }
}

static void try_pair(pair *p)
{
    uint64_t n = getenv("PTXGEN_TEST_LONG") != NULL ? 100 : 8;
    if (p->name[0] == 0 || (only != NULL && strstr(p->name, only) == NULL)) {
        return;
    }
    bool has_seen = false;
    bool is_ok = load(p, &p->bad, "bad") && load(p, &p->good, "good");
    for (uint64_t seed = 0; is_ok && seed < (p->is_some ? 4 * n : n); seed++) {
        is_ok = try_bad(p, seed, &has_seen) && (seed >= n || try_good(p, seed));
    }
    is_ok = is_ok && try_memory(p, getenv("PTXGEN_TEST_LONG") != NULL ? 1 : 7);
    if (is_ok && !has_seen) {
        is_ok = fail(p, "bad", n, "no seed reported it");
    }
    ptxexec_module_destroy(p->bad.m);
    ptxexec_module_destroy(p->good.m);
    p->bad.m = p->good.m = NULL;
    n_pass += is_ok ? 1 : 0;
    n_fail += is_ok ? 0 : 1;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void begin_program(program *g)
{
    memset(g, 0, sizeof *g);
    (void)strcpy(g->text, head);
}

static void begin_pair(pair *p, const char *file, char *line)
{
    memset(p, 0, sizeof *p);
    (void)snprintf(p->file, sizeof p->file, "%s", file);
    p->block = 32;
    p->grid = 1;
    p->cluster = 1;
    p->races = PTXEXEC_RACES_PRACTICE;
    for (char *word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        if (strncmp(word, "kind=", 5) == 0) {
            (void)snprintf(p->kind, sizeof p->kind, "%s", word + 5);
        } else if (strncmp(word, "block=", 6) == 0) {
            p->block = (uint32_t)strtoul(word + 6, NULL, 10);
        } else if (strncmp(word, "grid=", 5) == 0) {
            p->grid = (uint32_t)strtoul(word + 5, NULL, 10);
        } else if (strncmp(word, "cluster=", 8) == 0) {
            p->cluster = (uint32_t)strtoul(word + 8, NULL, 10);
        } else if (strcmp(word, "races=off") == 0) {
            p->races = PTXEXEC_RACES_OFF;
        } else if (strcmp(word, "races=isa") == 0) {
            p->races = PTXEXEC_RACES_ISA;
        } else if (strcmp(word, "some") == 0) {
            p->is_some = true;
        } else if (strcmp(word, "practice") == 0) {
            p->is_practice = true;
        } else {
            size_t n = strlen(p->name);
            (void)snprintf(p->name + n, sizeof p->name - n, "%s%s", n > 0 ? " " : "", word);
        }
    }
    begin_program(&p->bad);
    begin_program(&p->good);
}

static void add_line(program *g, const char *line)
{
    uint32_t number = 1;
    for (const char *at = g->text; *at != 0; at++) {
        number += *at == '\n' ? 1 : 0;
    }
    if (strlen(g->text) + strlen(line) + 16 > MAX_TEXT || number >= MAX_LINES) {
        exit(2);
    }
    if (strstr(line, "//!") != NULL) {
        g->is_marked[number] = g->has_any = true;
    }
    (void)strcat(g->text, line);
}

static void try_file(const char *folder, const char *name)
{
    static pair p;
    char path[512];
    char line[512];
    program *g = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        exit(2);
    }
    memset(&p, 0, sizeof p);
    while (fgets(line, sizeof line, f) != NULL) {
        if (line[0] == '#') {
            continue;
        }
        if (line[0] == '=') {
            try_pair(&p);
            begin_pair(&p, name, line + 1);
            g = NULL;
        } else if (line[0] == '-') {
            g = strncmp(line, "- bad", 5) == 0 ? &p.bad : &p.good;
        } else if (g != NULL && line[0] != '\n') {
            add_line(g, line);
        }
    }
    try_pair(&p);
    (void)fclose(f);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    char *names[64];
    size_t n = 0;
    DIR *d = argc > 1 ? opendir(argv[1]) : NULL;
    only = argc > 2 ? argv[2] : NULL;
    if (d == NULL) {
        return 2;
    }
    for (const struct dirent *e = readdir(d); e != NULL && n < 64; e = readdir(d)) {
        if (strstr(e->d_name, ".txt") != NULL) {
            names[n++] = strdup(e->d_name);
        }
    }
    (void)closedir(d);
    qsort(names, n, sizeof names[0], by_name);
    for (size_t k = 0; k < n; k++) {
        try_file(argv[1], names[k]);
        free(names[k]);
    }
    printf("%u passed, %u failed\n", n_pass, n_fail);
    return n_fail == 0 && n_pass > 0 ? 0 : 1;
}
