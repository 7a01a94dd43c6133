/* table.c: each row of ptx_isa.def before ptxas. For every row, spellings are made from its pattern
 * (each choice and each option at least once) and operands from its operand column; all that need
 * the same target and .version go into one kernel, which ptxas must accept for exactly the least
 * that the table claims. Prints `N passed, N failed`; exits with 77 where there is no ptxas.
 *
 *   ptx_table            asks ptxas
 *   ptx_table --forms    prints the statements instead, each behind its .version and target */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/ptx_checker.h"
#include "tools/asm/ptxasm.h"

enum { MAX_POINTS = 40, MAX_LINES = 20000, MAX_TEXT = 300 };

/* ---- spellings from a pattern --------------------------------------------------------------- */

/* Decisions on the way through a pattern, in order of meeting them. */
typedef struct walk {
    uint32_t choice[MAX_POINTS], arity[MAX_POINTS];
    uint32_t n;
    char text[MAX_TEXT];
    size_t len;
} walk;

static uint32_t decide(walk *w, uint32_t arity)
{
    uint32_t i = w->n < MAX_POINTS ? w->n++ : MAX_POINTS - 1;
    w->arity[i] = arity;
    return w->choice[i] < arity ? w->choice[i] : 0;
}

static void put(walk *w, const char *from, size_t n)
{
    if (w->len + n + 1 < sizeof w->text) {
        memcpy(w->text + w->len, from, n);
        w->len += n;
        w->text[w->len] = 0;
    }
}

static const char *group_close(const char *p)
{
    for (int depth = 0; *p != 0; p++) {
        if (*p == '(' || *p == '[') {
            depth++;
        } else if ((*p == ')' || *p == ']') && depth-- == 0) {
            break;
        }
    }
    return p;
}

static const char *alternative(const char *p, uint32_t k, uint32_t *out_n)
{
    const char *found = p;
    uint32_t n = 1;
    int depth = 0;
    for (const char *q = p; *q != 0; q++) {
        if (*q == '(' || *q == '[') {
            depth++;
        } else if ((*q == ')' || *q == ']') && depth-- == 0) {
            break;
        } else if (*q == '|' && depth == 0) {
            if (n++ == k) {
                found = q + 1;
            }
        }
    }
    *out_n = n;
    return found;
}

/* The # of m64n#k: an N that all types have. */
static void put_word(walk *w, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '#') {
            put(w, "64", 2);
        } else {
            put(w, p + i, 1);
        }
    }
}

static void spell(walk *w, const char *p)
{
    while (*p != 0) {
        uint32_t n = 0;
        if (*p == '[') {
            p = decide(w, 2) == 1 ? p + 1 : group_close(p + 1) + 1;
        } else if (*p == '(') {
            (void)alternative(p + 1, 0, &n);
            p = alternative(p + 1, decide(w, n), &n);
        } else if (*p == '|') {
            p = group_close(p + 1) + 1;
        } else if (*p == ')' || *p == ']') {
            p++;
        } else if (*p == ':') {
            p += 2;
        } else { /* .word or .(a|b) */
            put(w, ".", 1);
            p++;
            const char *word = p;
            const char *after = NULL;
            if (*p == '(') {
                (void)alternative(p + 1, 0, &n);
                word = alternative(p + 1, decide(w, n), &n);
                after = group_close(p + 1) + 1;
            }
            size_t len = 0;
            while (word[len] != 0 && strchr(".|()[]", word[len]) == NULL &&
                   !(word[len] == ':' && word[len + 1] != ':')) {
                len += word[len] == ':' ? 2 : 1;
            }
            put_word(w, word, len);
            p = after != NULL ? after : word + len;
        }
    }
}

/* ---- operands ------------------------------------------------------------------------------- */

typedef struct text {
    char at[4096];
    size_t len;
} text;

static void add(text *t, const char *s)
{
    size_t n = strlen(s);
    if (t->len + n < sizeof t->at) {
        memcpy(t->at + t->len, s, n + 1);
        t->len += n;
    }
}

static void add_reg(text *t, pg_ptx_type type, uint32_t bits, uint32_t number)
{
    char s[32];
    const char *prefix = "%r";
    if (type == PG_PTX_F32) {
        prefix = "%f";
    } else if (type == PG_PTX_F64) {
        prefix = "%fd";
    } else if (type == PG_PTX_PRED) {
        prefix = "%p";
    } else if (type == PG_PTX_B8) {
        prefix = "%c";
    } else if (bits <= 16) {
        prefix = "%h";
    } else if (bits != 32) {
        prefix = bits == 64 ? "%rd" : "%rq";
    }
    (void)snprintf(s, sizeof s, "%s%u", prefix, number);
    add(t, s);
}

static uint32_t count_in(pg_str spec, const pg_isa_words *w)
{
    const char *open = memchr(spec.ptr, '{', spec.len);
    if (open == NULL) {
        return 0;
    }
    uint32_t v = 0;
    uint32_t x = 0;
    uint32_t tc = 1;
    uint32_t nd = 0;
    for (uint32_t i = 1; i < w->n; i++) {
        pg_str s = w->at[i];
        if (s.ptr[0] == 'v' && s.len == 2) {
            v = (uint32_t)(s.ptr[1] - '0');
        }
        if (s.ptr[0] == 'x' && s.len > 1 && s.ptr[1] >= '1' && s.ptr[1] <= '9') {
            x = (uint32_t)strtoul(s.ptr + 1, NULL, 10);
        }
        if (s.len == 2 && s.ptr[1] == 'd') {
            nd = (uint32_t)(s.ptr[0] - '0');
        }
        tc = pg_str_is(s, "16x256b") ? 4 : pg_str_is(s, "16x128b") ? 2 : tc;
    }
    switch (open[1]) {
    case 'v': return v;
    case 'x': return open[2] == '*' ? 2 * x : x;
    case 'N': return open[3] == '2' ? 32 : 16;
    case 'i': return nd - 2;
    case 'l': return 4;
    case 't': return tc * x;
    default: return (uint32_t)strtoul(open + 1, NULL, 10);
    }
}

static bool word_in(const pg_isa_words *w, const char *word)
{
    for (uint32_t i = 1; i < w->n; i++) {
        if (pg_str_is(w->at[i], word)) {
            return true;
        }
    }
    return false;
}

static void add_address(text *t, uint32_t row, const pg_isa_words *w)
{
    bool is_tmem = strcmp(pg_isa_rows[row].opcode, "tcgen05") == 0;
    bool is_param = word_in(w, "param") || word_in(w, "param::entry");
    add(t, is_param ? "[x]" : is_tmem ? "[%r8]" : "[%rd8]");
}

static void add_tma(text *t, pg_str spec, const pg_isa_words *w)
{
    uint32_t n = 5;
    for (uint32_t i = 1; i < w->n && spec.len == 3; i++) {
        if (w->at[i].len == 2 && w->at[i].ptr[1] == 'd') {
            n = (uint32_t)(w->at[i].ptr[0] - '0');
        }
    }
    add(t, "[%rd8, {");
    for (uint32_t i = 0; i < n; i++) {
        add(t, i == 0 ? "" : ", ");
        add_reg(t, PG_PTX_B32, 32, i + 1);
    }
    add(t, "}]");
}

/* Operand number k of the statement; `first` is a register number that no other operand has. */
static void add_operand(text *t, uint32_t row, const pg_isa_words *w, const pg_isa_binding *b,
                        const pg_isa_spec *s, uint32_t first)
{
    pg_str spec = s->spec;
    if (pg_str_is(spec, "mem")) {
        add_address(t, row, w);
    } else if (pg_str_starts(spec, PG_STR("tma"))) {
        add_tma(t, spec, w);
    } else if (spec.ptr[0] == '#') {
        size_t n = strcspn(spec.ptr + 1, "./,;}{");
        bool is_set = spec.ptr[1] == '{';
        n = is_set ? strcspn(spec.ptr + 2, ";}") : n;
        char number[16];
        (void)snprintf(number, sizeof number, "%.*s", (int)n, spec.ptr + (is_set ? 2 : 1));
        add(t, number);
    } else if (pg_str_is(spec, "wgop") || pg_str_is(spec, "tcop")) {
        add(t, "%rd7");
    } else if (pg_str_is(spec, "label")) {
        add(t, "L");
    } else if (pg_str_is(spec, "sink")) {
        add(t, "_");
    } else {
        size_t n = 0;
        while (n < spec.len && spec.ptr[n] != '*' && spec.ptr[n] != '{' && spec.ptr[n] != '<') {
            n++;
        }
        bool is_name = n == 1 && spec.ptr[0] >= 'A' && spec.ptr[0] <= 'Z';
        pg_ptx_type type = is_name ? (pg_ptx_type)b->type[spec.ptr[0] - 'A']
                                   : pg_ptx_type_of((pg_str){spec.ptr, n});
        uint32_t bits =
            pg_ptx_type_infos[type].bits * (n < spec.len && spec.ptr[n] == '*' ? 2U : 1U);
        if (bits != pg_ptx_type_infos[type].bits) {
            type = PG_PTX_B64;
        }
        uint32_t count = count_in(spec, w);
        bool is_pair = memmem(spec.ptr, spec.len, "pairreq", 7) != NULL;
        add(t, count != 0 ? "{" : "");
        for (uint32_t i = 0; i < (count != 0 ? count : 1); i++) {
            add(t, i == 0 ? "" : ", ");
            add_reg(t, type, bits, first + i);
        }
        add(t, count != 0 ? "}" : is_pair ? "|%p9" : "");
    }
}

/* ---- groups of statements for one run ------------------------------------------------------- */

typedef struct line {
    char *body;
    uint16_t row;
    uint16_t version, sm;
    char suffix;
    bool is_pair; /* cta_group::2: not in one kernel with cta_group::1 */
    bool is_bad;
} line;

typedef struct table {
    line at[MAX_LINES];
    uint32_t n;
} table;

static bool is_skipped(uint32_t row)
{
    return row == PG_ISA_CALL || row == PG_ISA_BRX_IDX; /* need more than one statement */
}

static void add_line(table *t, uint32_t row, const char *modifiers)
{
    char spelling[MAX_TEXT + 32];
    (void)snprintf(spelling, sizeof spelling, "%s%s", pg_isa_rows[row].opcode, modifiers);
    pg_str s = pg_str_of(spelling);
    pg_isa_words w;
    pg_isa_binding b;
    pg_isa_specs specs;
    text body = {.len = 0};
    pg_isa_split(s, &w);
    if (!pg_isa_bind((pg_isa_id)row, &w, &b) || t->n == MAX_LINES || word_in(&w, "param::func") ||
        (word_in(&w, "param") && strcmp(pg_isa_rows[row].opcode, "st") == 0)) {
        return;
    }
    pg_isa_operands(row, &w, &specs);
    add(&body, spelling);
    uint32_t n = 0;
    for (uint32_t i = 0; i < specs.n; i++) {
        if (!specs.at[i].is_optional || pg_str_is(specs.at[i].name, "ta")) {
            add(&body, n == 0 ? " " : ", ");
            add_operand(&body, row, &w, &b, &specs.at[i],
                        specs.at[i].is_written ? 100 : 10 + 20 * n);
            n++;
        }
    }
    add(&body, ";");
    pg_ptx_floor fl = {0};
    pg_ptx_module m = {.target = PG_STR("sm_89")};
    pg_ptx_func f = {0};
    pg_ptx_stmt st = {.kind = PG_PTX_S_INST, .text = s, .row = (uint16_t)row};
    pg_ptx_floor_add_stmt(&fl, &m, &f, &st, row, &w);
    uint32_t ft = fl.features;
    line l = {.row = (uint16_t)row, .sm = fl.sm < 80 ? 80 : fl.sm, .version = fl.version};
    l.suffix = (ft & (PG_ISA_ARCH_A | PG_ISA_ONLY_90A | PG_ISA_DATACENTER | PG_ISA_CONSUMER |
                      PG_ISA_ONLY_100_103)) != 0
                   ? 'a'
                   : 0;
    l.sm = l.sm == 87 ? 89 : l.sm;
    char name[16];
    (void)snprintf(name, sizeof name, "sm_%u%s", (unsigned)l.sm, l.suffix != 0 ? "a" : "");
    uint16_t floor = pg_ptx_target_of(pg_str_of(name)).floor;
    l.version = floor > l.version ? floor : l.version;
    l.is_pair = word_in(&w, "cta_group::2");
    l.body = strdup(body.at);
    t->at[t->n++] = l;
}

static void add_row(table *t, uint32_t row)
{
    walk base = {0};
    spell(&base, pg_isa_rows[row].modifiers);
    add_line(t, row, base.text);
    for (uint32_t i = 0; i < base.n; i++) {
        for (uint32_t c = 1; c < base.arity[i]; c++) {
            walk w = {0};
            w.choice[i] = c;
            spell(&w, pg_isa_rows[row].modifiers);
            add_line(t, row, w.text);
            for (uint32_t j = i + 1; j < w.n; j++) { /* points that this choice brought */
                bool is_new = w.n != base.n || w.arity[j] != base.arity[j];
                for (uint32_t d = 1; is_new && d < w.arity[j]; d++) {
                    walk w2 = {0};
                    w2.choice[i] = c;
                    w2.choice[j] = d;
                    spell(&w2, pg_isa_rows[row].modifiers);
                    add_line(t, row, w2.text);
                }
            }
        }
    }
}

static bool is_together(const line *a, const line *b)
{
    return a->version == b->version && a->sm == b->sm && a->suffix == b->suffix &&
           a->is_pair == b->is_pair;
}

/* Runs the lines of one target and version; marks those that ptxas refuses. False: no ptxas. */
static bool run_group(table *t, const line *key)
{
    static const char head[] =
        ".version %u.%u\n.target sm_%u%s\n.address_size 64\n"
        ".visible .entry k(.param .u64 x)\n{\n"
        ".reg .pred %%p<300>;\n.reg .b16 %%h<300>;\n.reg .b32 %%r<300>;\n"
        ".reg .b8 %%c<300>;\n.reg .f32 %%f<300>;\n.reg .b64 %%rd<300>;\n.reg .f64 %%fd<300>;\n%s";
    size_t room = 1 << 16;
    for (uint32_t i = 0; i < t->n; i++) {
        room += strlen(t->at[i].body) + 8;
    }
    char *ptx = malloc(room);
    uint32_t *owner = calloc(t->n + 64, sizeof *owner);
    int len =
        snprintf(ptx, room, head, key->version / 10U, key->version % 10U, (unsigned)key->sm,
                 key->suffix != 0 ? "a" : "", key->version >= 83 ? ".reg .b128 %rq<300>;\n" : "");
    uint32_t n_lines = 0;
    for (int i = 0; i < len; i++) {
        n_lines += ptx[i] == '\n';
    }
    uint32_t first = n_lines;
    for (uint32_t i = 0; i < t->n; i++) {
        line *l = &t->at[i];
        if (is_together(l, key)) {
            owner[n_lines++ - first] = i;
            len += snprintf(ptx + len, room - (size_t)len, "%s\n", l->body);
        }
    }
    len += snprintf(ptx + len, room - (size_t)len, "L:\nret;\n}\n");
    char arch[16];
    (void)snprintf(arch, sizeof arch, "sm_%u%s", (unsigned)key->sm, key->suffix != 0 ? "a" : "");
    ptxasm_options opt = ptxasm_options_default(arch);
    opt.path = getenv("PTXGEN_PTXAS");
    opt.opt_level = 0;
    opt.timeout_ms = 120000;
    ptxasm_result r;
    ptxasm_status s = ptxasm_run(&opt, ptx, (size_t)len, &r);
    uint32_t n_placed = 0;
    for (size_t i = 0; i < r.n_messages; i++) {
        const ptxasm_message *m = &r.messages[i];
        if (m->severity >= PTXASM_ERROR && m->line > first && m->line <= n_lines) {
            line *l = &t->at[owner[m->line - 1 - first]];
            l->is_bad = true;
            n_placed++;
            printf("%s .version %u.%u: %s\n    %s\n", arch, key->version / 10U, key->version % 10U,
                   l->body, m->text);
        }
    }
    if (s != PTXASM_OK && s != PTXASM_NO_TOOL && n_placed == 0) {
        printf("%s .version %u: %s\n%.600s\n", arch, (unsigned)key->version, ptxasm_status_text(s),
               r.output != NULL ? r.output : "");
        t->at[owner[0]].is_bad = true;
    }
    ptxasm_result_free(&r);
    free(owner);
    free(ptx);
    return s != PTXASM_NO_TOOL;
}

static void print_forms(const table *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const line *l = &t->at[i];
        printf("%u.%u sm_%u%s %s\n", l->version / 10U, l->version % 10U, (unsigned)l->sm,
               l->suffix != 0 ? "a" : "", l->body);
    }
}

int main(int argc, char **argv)
{
    static table t;
    bool has_forms = argc > 1 && strcmp(argv[1], "--forms") == 0;
    for (uint32_t row = 1; row < PG_ISA_COUNT; row++) {
        if (!is_skipped(row)) {
            add_row(&t, row);
        }
    }
    if (has_forms) {
        print_forms(&t);
    }
    for (uint32_t i = 0; i < t.n && !has_forms; i++) {
        bool is_first = true;
        for (uint32_t k = 0; k < i && is_first; k++) {
            is_first = !is_together(&t.at[k], &t.at[i]);
        }
        if (is_first && !run_group(&t, &t.at[i])) {
            printf("skipped: no ptxas in PTXGEN_PTXAS, PATH or .venv\n");
            return 77;
        }
    }
    uint32_t n_bad = 0;
    for (uint32_t i = 0; i < t.n; i++) {
        n_bad += t.at[i].is_bad;
        free(t.at[i].body);
    }
    if (!has_forms) {
        printf("%u passed, %u failed\n", t.n - n_bad, n_bad);
    }
    return n_bad != 0;
}
