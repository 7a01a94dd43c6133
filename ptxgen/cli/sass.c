/* `ptxgen sass`: what a cubin holds, and how two of them differ. */
#include "tools/sass/sass.h"

#include <stddef.h>
#include <string.h>

#include "tools/run/file.h"

#include "cli.h"

typedef struct figure { /* of a kernel */
    const char *word;   /* in --fail-on and JSON */
    const char *text;
    bool is_listed; /* needs the disassembler */
} figure;

enum { REGISTERS, SPILLS, STACK, SHARED, BARRIERS, INSTRUCTIONS, LOOP, N_FIGURES };

static const figure figures[N_FIGURES] = {
    [REGISTERS] = {"registers", "registers", false},
    [SPILLS] = {"spills", "spilled bytes", true},
    [STACK] = {"stack", "stack bytes", false},
    [SHARED] = {"shared", "static shared bytes", false},
    [BARRIERS] = {"barriers", "barriers", false},
    [INSTRUCTIONS] = {"instructions", "instructions", true},
    [LOOP] = {"loop", "instructions of the main loop", true},
};

static uint32_t figure_of(const sass_kernel *k, int which)
{
    switch (which) {
    case REGISTERS: return k->registers;
    case SPILLS: return k->spill_stores + k->spill_loads;
    case STACK: return k->stack;
    case SHARED: return k->shared;
    case BARRIERS: return k->barriers;
    case INSTRUCTIONS: return k->all.n;
    case LOOP:
    default: return k->loop.n;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct listed {
    sass_file file;
    bool has_tool;
} listed;

static run_exit read_one(cli *c, const char *path, listed *out)
{
    pg_str bytes;
    run_exit status = run_read_file(&c->msgs, &c->arena, path, &bytes);
    if (status != RUN_OK) {
        return status;
    }
    const char *why = sass_read_cubin(&c->arena, bytes, &out->file);
    if (why != NULL) {
        return run_fail(&c->msgs, RUN_INPUT, RUN_MSG_CUBIN, path, why);
    }
    switch (sass_disassemble(&c->arena, path, c->values[CLI_OPT_NVDISASM], &out->file, &why)) {
    case SASS_OK: out->has_tool = true; return RUN_OK;
    case SASS_NO_TOOL:
        if (c->values[CLI_OPT_NVDISASM] == NULL) {
            return RUN_OK;
        }
        return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_NVDISASM, NULL);
    case SASS_FAILED: return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NVDISASM_FAILED, path, why);
    case SASS_NO_MEMORY:
    default: return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
}

/* ---- as text --------------------------------------------------------------------------------- */

/* `HMMA 64, integer 19, ...`: most first. */
static void put_counts(pg_strbuf *out, const sass_counts *n)
{
    bool is_put[SASS_CLASS_COUNT] = {false};
    for (uint32_t round = 0; round < SASS_CLASS_COUNT; round++) {
        uint32_t most = SASS_CLASS_COUNT;
        for (uint32_t i = 0; i < SASS_CLASS_COUNT; i++) {
            if (!is_put[i] && n->by_class[i] != 0 &&
                (most == SASS_CLASS_COUNT || n->by_class[i] > n->by_class[most])) {
                most = i;
            }
        }
        if (most == SASS_CLASS_COUNT) {
            return;
        }
        is_put[most] = true;
        pg_putf(out, "%s%s %u", round == 0 ? "" : ", ", sass_class_name(most), n->by_class[most]);
    }
}

static void put_kernel(pg_strbuf *out, const sass_kernel *k, uint32_t sm)
{
    pg_putf(out, "%.*s, sm_%u\n", PG_STR_ARG(k->name), sm);
    for (int f = 0; f < N_FIGURES; f++) {
        if (figures[f].is_listed && !k->is_listed) {
            continue;
        }
        pg_putf(out, "  %-30s%u\n", figures[f].text, figure_of(k, f));
        if ((f == INSTRUCTIONS || f == LOOP) && figure_of(k, f) != 0) {
            pg_put(out, "    ");
            put_counts(out, f == LOOP ? &k->loop : &k->all);
            pg_put_char(out, '\n');
        }
    }
    if (!k->is_listed) {
        pg_putf(out, "  %-30s%u\n", "bytes of code", k->code_bytes);
    }
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void put_counts_json(pg_strbuf *out, const char *name, const sass_counts *n)
{
    bool is_first = true;
    pg_putf(out, ", \"%s\": {", name);
    for (uint32_t i = 0; i < SASS_CLASS_COUNT; i++) {
        if (n->by_class[i] != 0) {
            pg_putf(out, "%s\"%s\": %u", is_first ? "" : ", ", sass_class_name(i), n->by_class[i]);
            is_first = false;
        }
    }
    pg_put_char(out, '}');
}

static void put_kernel_json(pg_strbuf *out, const sass_kernel *k)
{
    pg_put(out, "{\"name\": ");
    pg_put_json(out, k->name);
    for (int f = 0; f < N_FIGURES; f++) {
        if (figures[f].is_listed && !k->is_listed) {
            pg_putf(out, ", \"%s\": null", figures[f].word);
        } else {
            pg_putf(out, ", \"%s\": %u", figures[f].word, figure_of(k, f));
        }
    }
    pg_putf(out, ", \"code_bytes\": %u", k->code_bytes);
    if (k->is_listed) {
        pg_putf(out, ", \"spill_stores\": %u, \"spill_loads\": %u", k->spill_stores,
                k->spill_loads);
        put_counts_json(out, "classes", &k->all);
        put_counts_json(out, "loop_classes", &k->loop);
    }
    pg_put_char(out, '}');
}

static run_exit finish(const cli *c, pg_strbuf *text, run_exit status)
{
    if (text->is_oom) {
        status = run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    } else {
        const run_exit wrote = run_write_file(&c->msgs, "-", pg_strbuf_str(text), PG_STR(""));
        status = wrote != RUN_OK ? wrote : status;
    }
    pg_strbuf_fini(text);
    return status;
}

static run_exit stat_of(cli *c)
{
    listed in = {0};
    run_exit status = read_one(c, c->operands[1], &in);
    if (status != RUN_OK) {
        return status;
    }
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    const bool is_json = c->values[CLI_OPT_JSON] != NULL;
    if (is_json) {
        pg_putf(&text, "{\"schema\": 1, \"target\": \"sm_%u\", \"kernels\": [", in.file.sm);
    }
    for (uint32_t i = 0; i < in.file.n; i++) {
        if (is_json) {
            pg_put(&text, i == 0 ? "\n" : ",\n");
            put_kernel_json(&text, &in.file.kernels[i]);
        } else {
            put_kernel(&text, &in.file.kernels[i], in.file.sm);
        }
    }
    pg_put(&text, is_json ? "\n]}\n" : "");
    if (!in.has_tool) {
        (void)run_fail(&c->msgs, RUN_OK, RUN_MSG_NOT_LISTED, c->operands[1]);
    }
    return finish(c, &text, RUN_OK);
}

/* ---- two of them ----------------------------------------------------------------------------- */

typedef struct pair { /* one kernel of either; NULL: not there */
    const sass_kernel *a, *b;
} pair;

static const sass_kernel *named(const sass_file *f, pg_str name)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (pg_str_eq(f->kernels[i].name, name)) {
            return &f->kernels[i];
        }
    }
    return NULL;
}

/* Bits of the figures that --fail-on names, or an error. */
static run_exit asked_for(const cli *c, unsigned *out)
{
    *out = 0;
    for (const char *at = c->values[CLI_OPT_FAIL_ON]; at != NULL && *at != '\0';) {
        const pg_str word = {at, strcspn(at, ",")};
        for (int f = 0; f < N_FIGURES; f++) {
            if (pg_str_eq(word, pg_str_of(figures[f].word))) {
                *out |= 1u << f;
            }
        }
        at += word.len + (at[word.len] == ',');
    }
    return RUN_OK;
}

/* Figures that differ, as bits; a kernel that only one has differs in none. */
static unsigned changes(const pair *p)
{
    unsigned bits = 0;
    for (int f = 0; f < N_FIGURES && p->a != NULL && p->b != NULL; f++) {
        const bool is_known = !figures[f].is_listed || (p->a->is_listed && p->b->is_listed);
        bits |= is_known && figure_of(p->a, f) != figure_of(p->b, f) ? 1u << f : 0;
    }
    return bits;
}

static bool same_counts(const pair *p)
{
    return memcmp(&p->a->all, &p->b->all, sizeof p->a->all) == 0 &&
           memcmp(&p->a->loop, &p->b->loop, sizeof p->a->loop) == 0;
}

static void put_class_changes(pg_strbuf *out, const char *what, const sass_counts *a,
                              const sass_counts *b)
{
    bool is_first = true;
    for (uint32_t i = 0; i < SASS_CLASS_COUNT; i++) {
        if (a->by_class[i] != b->by_class[i]) {
            pg_putf(out, "%s%s %u -> %u", is_first ? what : ", ", sass_class_name(i),
                    a->by_class[i], b->by_class[i]);
            is_first = false;
        }
    }
    pg_put(out, is_first ? "" : "\n");
}

static void put_pair(pg_strbuf *out, const pair *p)
{
    const sass_kernel *one = p->a != NULL ? p->a : p->b;
    if (p->a == NULL || p->b == NULL) {
        pg_putf(out, "%.*s: only in the %s file\n", PG_STR_ARG(one->name),
                p->a != NULL ? "first" : "second");
        return;
    }
    const unsigned changed = changes(p);
    if (changed == 0 && same_counts(p)) {
        pg_putf(out, "%.*s: the same figures\n", PG_STR_ARG(one->name));
        return;
    }
    pg_putf(out, "%.*s\n", PG_STR_ARG(one->name));
    for (int f = 0; f < N_FIGURES; f++) {
        if ((changed >> f & 1) != 0) {
            const uint32_t x = figure_of(p->a, f), y = figure_of(p->b, f);
            pg_putf(out, "  %-30s%u -> %u (%s%u)\n", figures[f].text, x, y, y > x ? "+" : "-",
                    y > x ? y - x : x - y);
        }
    }
    if (p->a->is_listed && p->b->is_listed) {
        put_class_changes(out, "    all: ", &p->a->all, &p->b->all);
        put_class_changes(out, "    loop: ", &p->a->loop, &p->b->loop);
    }
}

static void put_pair_json(pg_strbuf *out, const pair *p)
{
    const sass_kernel *one = p->a != NULL ? p->a : p->b;
    const unsigned changed = changes(p);
    const char *comma = "";
    pg_put(out, "{\"name\": ");
    pg_put_json(out, one->name);
    pg_put(out, ", \"changed\": [");
    for (int f = 0; f < N_FIGURES; f++) {
        if ((changed >> f & 1) != 0) {
            pg_putf(out, "%s\"%s\"", comma, figures[f].word);
            comma = ", ";
        }
    }
    pg_put(out, "],\n \"a\": ");
    p->a == NULL ? pg_put(out, "null") : put_kernel_json(out, p->a);
    pg_put(out, ",\n \"b\": ");
    p->b == NULL ? pg_put(out, "null") : put_kernel_json(out, p->b);
    pg_put_char(out, '}');
}

/* What --fail-on asks for and is greater in the second file; each is one message. */
static run_exit judge(const cli *c, const pair *p, unsigned asked)
{
    run_exit status = RUN_OK;
    for (int f = 0; f < N_FIGURES && p->a != NULL && p->b != NULL; f++) {
        const uint32_t x = figure_of(p->a, f), y = figure_of(p->b, f);
        if ((asked >> f & 1) != 0 && y > x) {
            status = run_fail(&c->msgs, RUN_CHECK, RUN_MSG_SASS_WORSE, c->operands[2],
                              PG_STR_ARG(p->a->name), figures[f].text, x, y);
        }
    }
    if (asked != 0 && p->b == NULL) {
        status = run_fail(&c->msgs, RUN_CHECK, RUN_MSG_SASS_GONE, c->operands[2],
                          PG_STR_ARG(p->a->name));
    }
    return status;
}

static run_exit diff_of(cli *c)
{
    listed in[2] = {{{0}, false}};
    unsigned asked = 0;
    run_exit status = asked_for(c, &asked);
    for (int i = 0; i < 2 && status == RUN_OK; i++) {
        status = read_one(c, c->operands[1 + i], &in[i]);
    }
    if (status != RUN_OK) {
        return status;
    }
    for (int f = 0; f < N_FIGURES; f++) {
        if ((asked >> f & 1) != 0 && figures[f].is_listed && !in[0].has_tool) {
            return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_NVDISASM, NULL);
        }
    }
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    const bool is_json = c->values[CLI_OPT_JSON] != NULL;
    const char *comma = "\n";
    pg_put(&text, is_json ? "{\"schema\": 1, \"kernels\": [" : "");
    for (uint32_t i = 0; i < in[0].file.n + in[1].file.n; i++) {
        const sass_kernel *k =
            i < in[0].file.n ? &in[0].file.kernels[i] : &in[1].file.kernels[i - in[0].file.n];
        const pair p = {named(&in[0].file, k->name), named(&in[1].file, k->name)};
        if (i >= in[0].file.n && p.a != NULL) {
            continue;
        }
        if (is_json) {
            pg_put(&text, comma);
            put_pair_json(&text, &p);
            comma = ",\n";
        } else {
            put_pair(&text, &p);
        }
        const run_exit judged = judge(c, &p, asked);
        status = judged != RUN_OK ? judged : status;
    }
    pg_put(&text, is_json ? "\n]}\n" : "");
    if (!in[0].has_tool) {
        (void)run_fail(&c->msgs, RUN_OK, RUN_MSG_NOT_LISTED, c->operands[1]);
    }
    return finish(c, &text, status);
}

run_exit cli_sass(cli *c)
{
    const bool is_stat = strcmp(c->operands[0], "stat") == 0;
    const bool is_diff = strcmp(c->operands[0], "diff") == 0;
    if ((!is_stat && !is_diff) || c->n_operands != (is_stat ? 2 : 3)) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_OPERANDS, NULL, "sass",
                        "stat FILE.cubin | diff A.cubin B.cubin", "");
    }
    if (is_stat && c->values[CLI_OPT_FAIL_ON] != NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_NEEDS, NULL, "--fail-on", "`diff`");
    }
    return is_stat ? stat_of(c) : diff_of(c);
}
