/* fuzz_exec.c: mutated PTX through the executor. Most mutations work on whole statements and on
 * words in them, so that what comes out still loads, and then does what nobody meant: wild
 * addresses, barriers that do not meet, loops without an end, copies that nobody waits for.
 *
 *   fuzz_exec N SEED FILE...      prints "N passed, N failed"
 *
 * A file named .txt gives statements, one a line (behind a `|`, where there is one), which are
 * strung together in a frame; other files are modules.
 *
 * Each input must end in a status of the executor's interface that is not its own defect, with a
 * diagnostic or a fault to show for it, give all memory back, and do the same again (on one host
 * thread: CTAs that write to one place without atomics race on more). Sanitizers see the rest. Seed
 * and number decide each case; FUZZ_ONE=K runs case K alone and prints it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/strbuf.h"
#include "tools/exec/ptxexec.h"

enum {
    LONG_CASES = 100000,
    MAX_TEXTS = 256,
    MAX_LINES = 6000,
    MAX_STEPS = 3000,
    ARRAY_SIZE = 4096,
    MAX_PARAM_BYTES = 4352,
    MEMORY = 1 << 28 /* bytes that a run may take: more is as good as none */
};

typedef struct text {
    char *at;
    char **lines;
    uint32_t n;
    bool is_donor; /* statements without a module around them */
} text;

static text texts[MAX_TEXTS];
static uint32_t n_texts;

static uint64_t next(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15ULL;
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

static uint32_t below(uint64_t *rng, uint32_t n)
{
    return n == 0 ? 0 : (uint32_t)(next(rng) % n);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool is_instruction(const char *line)
{
    line += strspn(line, " \t");
    return line[0] != '\0' && line[0] != '.' && line[0] != '/' && line[0] != '{' &&
           line[0] != '}' && line[0] != '(' && line[0] != ')' && strchr(line, ';') != NULL;
}

static void add_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    text *t = &texts[n_texts];
    if (f == NULL || n_texts == MAX_TEXTS) {
        return;
    }
    t->at = malloc(1 << 20);
    t->lines = malloc(MAX_LINES * sizeof *t->lines);
    size_t n = t->at == NULL ? 0 : fread(t->at, 1, (1 << 20) - 1, f);
    (void)fclose(f);
    if (t->at == NULL || t->lines == NULL) {
        return;
    }
    t->at[n] = '\0';
    t->n = 0;
    t->is_donor = strstr(path, ".txt") != NULL;
    for (char *at = t->at; *at != '\0' && t->n < MAX_LINES;) {
        char *end = strchr(at, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        char *bar = t->is_donor ? strchr(at, '|') : NULL;
        char *from = bar != NULL && bar[1] != '%' ? bar + 1 : at;
        if (!t->is_donor || is_instruction(from)) {
            t->lines[t->n++] = from;
        }
        if (end == NULL) {
            break;
        }
        at = end + 1;
    }
    n_texts += t->n != 0;
}

/* ---- mutations ------------------------------------------------------------------------------- */

/* A program being changed: its lines, borrowed or owned by the arena of one case. */
typedef struct program {
    const char *lines[MAX_LINES + 64];
    uint32_t n;
    char *owned[256];
    uint32_t n_owned;
} program;

static void own(program *p, uint32_t at, char *line)
{
    if (line != NULL && p->n_owned < PG_COUNT_OF(p->owned)) {
        p->owned[p->n_owned++] = line;
        p->lines[at] = line;
    } else {
        free(line);
    }
}

static uint32_t pick_instruction(const program *p, uint64_t *rng)
{
    for (int i = 0; i < 64; i++) {
        uint32_t at = below(rng, p->n);
        if (is_instruction(p->lines[at])) {
            return at;
        }
    }
    return UINT32_MAX;
}

static void remove_line(program *p, uint32_t at)
{
    memmove(&p->lines[at], &p->lines[at + 1], (p->n - at - 1) * sizeof p->lines[0]);
    p->n--;
}

static void insert_line(program *p, uint32_t at, const char *line)
{
    if (p->n < PG_COUNT_OF(p->lines)) {
        memmove(&p->lines[at + 1], &p->lines[at], (p->n - at) * sizeof p->lines[0]);
        p->lines[at] = line;
        p->n++;
    }
}

/* One past the end of the word that begins here: a register, a number, a modifier. */
static size_t word_at(const char *s)
{
    size_t n = *s == '%' || *s == '.' || *s == '-' ? 1 : 0;
    while ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'z') ||
           (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_' || s[n] == '$' ||
           (s[n] == ':' && s[n + 1] == ':') || (n > 0 && s[n] == ':' && s[n - 1] == ':')) {
        n++;
    }
    return n;
}

/* Words of a line that may be replaced by their like: registers by registers, numbers by numbers,
 * modifiers by modifiers. */
typedef struct word {
    const char *at;
    size_t n;
    char kind; /* '%' '.' '0' */
} word;

static uint32_t words_of(const char *line, word *out, uint32_t max)
{
    uint32_t n = 0;
    for (const char *s = line; *s != '\0' && n < max;) {
        size_t len = word_at(s);
        bool is_number = (*s >= '0' && *s <= '9') || (*s == '-' && len > 1);
        if (len > 1 || (len == 1 && is_number)) {
            if (*s == '%' || *s == '.' || is_number) {
                out[n++] = (word){s, len, is_number ? '0' : *s};
            }
            s += len;
        } else {
            s += len == 0 ? 1 : len;
        }
    }
    return n;
}

static const char *const numbers[] = {"0",          "1",
                                      "2",          "3",
                                      "4",          "8",
                                      "15",         "16",
                                      "31",         "32",
                                      "64",         "-1",
                                      "128",        "4095",
                                      "4096",       "65535",
                                      "0x7FFFFFFF", "0xFFFFFFFF",
                                      "2147483648", "-16",
                                      "0f7FC00000", "0d7FF0000000000000",
                                      "99999999999"};
static const char *const modifiers[] = {".u8",
                                        ".u16",
                                        ".u32",
                                        ".u64",
                                        ".s32",
                                        ".s64",
                                        ".b32",
                                        ".b64",
                                        ".f16",
                                        ".f32",
                                        ".f64",
                                        ".bf16",
                                        ".v2",
                                        ".v4",
                                        ".sync",
                                        ".aligned",
                                        ".shared",
                                        ".shared::cta",
                                        ".shared::cluster",
                                        ".global",
                                        ".local",
                                        ".param",
                                        ".const",
                                        ".relaxed",
                                        ".acquire",
                                        ".release",
                                        ".acq_rel",
                                        ".cta",
                                        ".cluster",
                                        ".gpu",
                                        ".sys",
                                        ".volatile",
                                        ".rn",
                                        ".rz",
                                        ".sat",
                                        ".ftz",
                                        ".x1",
                                        ".x2",
                                        ".x4",
                                        ".trans",
                                        ".uni",
                                        ".lo",
                                        ".hi",
                                        ".wide",
                                        ".idx",
                                        ".up",
                                        ".bfly",
                                        ".parity",
                                        ".noComplete",
                                        ".tile",
                                        ".read",
                                        ".L2::cache_hint"};

/* Replaces a word of an instruction by one of its kind, from the same text, another, or a list. */
static void replace_word(program *p, uint64_t *rng)
{
    enum { MOST = 64 };
    word mine[MOST];
    word other[MOST];
    uint32_t at = pick_instruction(p, rng);
    if (at == UINT32_MAX) {
        return;
    }
    uint32_t n = words_of(p->lines[at], mine, MOST);
    if (n == 0) {
        return;
    }
    const word *w = &mine[below(rng, n)];
    const char *with = NULL;
    size_t len = 0;
    if (w->kind == '%' || below(rng, 2) == 0) {
        uint32_t from = pick_instruction(p, rng);
        uint32_t m = from == UINT32_MAX ? 0 : words_of(p->lines[from], other, MOST);
        for (uint32_t i = 0; i < m; i++) {
            const word *o = &other[(i + below(rng, m)) % m];
            /* registers of the same kind: the same letters before the number */
            bool is_like = o->kind == w->kind &&
                           (w->kind != '%' || (o->n > 1 && w->n > 1 && o->at[1] == w->at[1]));
            if (is_like) {
                with = o->at;
                len = o->n;
                break;
            }
        }
    } else if (w->kind == '0') {
        with = numbers[below(rng, PG_COUNT_OF(numbers))];
    } else {
        with = modifiers[below(rng, PG_COUNT_OF(modifiers))];
    }
    if (with == NULL) {
        return;
    }
    len = len == 0 ? strlen(with) : len;
    size_t before = (size_t)(w->at - p->lines[at]);
    size_t size = strlen(p->lines[at]) - w->n + len + 1;
    char *line = malloc(size);
    if (line != NULL) {
        (void)snprintf(line, size, "%.*s%.*s%s", (int)before, p->lines[at], (int)len, with,
                       w->at + w->n);
    }
    own(p, at, line);
}

static void mutate_once(program *p, uint64_t *rng)
{
    uint32_t at = pick_instruction(p, rng);
    uint32_t other = pick_instruction(p, rng);
    if (at == UINT32_MAX || other == UINT32_MAX) {
        return;
    }
    switch (below(rng, 12)) {
    case 0: remove_line(p, at); break;
    case 1: insert_line(p, at, p->lines[other]); break;
    case 2: {
        const char *line = p->lines[at];
        p->lines[at] = p->lines[other];
        p->lines[other] = line;
        break;
    }
    case 3: { /* an instruction of another text: its registers are there with some luck */
        const text *t = &texts[below(rng, n_texts)];
        const char *line = t->lines[below(rng, t->n)];
        if (is_instruction(line)) {
            insert_line(p, at, line);
        }
        break;
    }
    case 4: { /* a guard */
        size_t size = strlen(p->lines[at]) + 16;
        char *line = malloc(size);
        if (line != NULL) {
            const char *sign = below(rng, 2) == 0 ? "!" : "";
            (void)snprintf(line, size, "@%s%%p%u %s", sign, below(rng, 4), p->lines[at]);
        }
        own(p, at, line);
        break;
    }
    case 5: { /* any byte */
        char *line = malloc(strlen(p->lines[at]) + 1);
        if (line != NULL) {
            memcpy(line, p->lines[at], strlen(p->lines[at]) + 1);
            const uint32_t byte = below(rng, (uint32_t)strlen(line));
            line[byte] = (char)(1 + below(rng, 255));
        }
        own(p, at, line);
        break;
    }
    default: replace_word(p, rng); break;
    }
}

/* Around statements of a donor: what they speak of. */
static const char *const frame[] = {
    ".version 8.6",
    ".target sm_90a",
    ".address_size 64",
    ".shared .align 1024 .b8 sm[32768];",
    ".shared .align 8 .b64 bar[8];",
    ".global .align 16 .b32 gv[64];",
    ".const .align 16 .b32 cv[64];",
    ".visible .entry k(.param .u64 in, .param .u64 out,",
    ".param .u32 n, .param .align 64 .b8 map[128])",
    "{",
    ".reg .pred %p<32>;",
    ".reg .b16 %h<32>;",
    ".reg .b32 %r<64>;",
    ".reg .u32 %u<16>;",
    ".reg .s32 %s<16>;",
    ".reg .b64 %rd<64>;",
    ".reg .f32 %f<64>;",
    ".reg .f64 %fd<16>;",
    ".local .align 16 .b8 lv[256];",
    "ld.param.u64 %rd1, [in];",
    "ld.param.u64 %rd2, [out];",
    "ld.param.u32 %r5, [n];",
    "mov.u64 %rd6, map;",
    "mov.u32 %r1, %tid.x;",
    "mov.u32 %r2, %ctaid.x;",
    "shr.u32 %r3, %r1, 5;",
    "mov.u32 %r4, sm;",
    "setp.eq.u32 %p15, %r1, 0;",
    "mul.wide.u32 %rd4, %r1, 4;",
    "add.u64 %rd3, %rd1, %rd4;",
};

/* Some statements of one donor, mostly neighbours, in the frame. */
static void make_from(program *p, const text *t, uint64_t *rng)
{
    memcpy(p->lines, frame, sizeof frame);
    p->n = PG_COUNT_OF(frame);
    uint32_t from = below(rng, t->n);
    uint32_t n = 1 + below(rng, 14);
    for (uint32_t i = 0; i < n; i++) {
        from = below(rng, 4) == 0 ? below(rng, t->n) : (from + 1) % t->n;
        p->lines[p->n++] = t->lines[from];
    }
    p->lines[p->n++] = "st.global.u32 [%rd2], %r3;";
    p->lines[p->n++] = "ret;";
    p->lines[p->n++] = "}";
}

static void make_program(program *p, uint64_t *rng)
{
    const text *t = &texts[below(rng, n_texts)];
    if (t->is_donor) {
        make_from(p, t, rng);
    } else {
        memcpy(p->lines, t->lines, t->n * sizeof p->lines[0]);
        p->n = t->n;
    }
    uint32_t n = below(rng, 8);
    for (uint32_t i = 0; i < n; i++) {
        mutate_once(p, rng);
    }
}

static void join(const program *p, pg_strbuf *out)
{
    for (uint32_t i = 0; i < p->n; i++) {
        pg_put(out, p->lines[i]);
        pg_put(out, "\n");
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct meter {
    size_t used;
} meter;

static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    meter *m = user;
    size_t used = __atomic_add_fetch(&m->used, new_size - old_size, __ATOMIC_RELAXED);
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    void *at = new_size > old_size && used > MEMORY ? NULL : realloc(block, new_size);
    if (at == NULL) {
        (void)__atomic_sub_fetch(&m->used, new_size - old_size, __ATOMIC_RELAXED);
    }
    return at;
}

/* What a launch left behind, to be compared with the next. */
typedef struct outcome {
    ptxexec_status status;
    uint64_t hash;
    const char *wrong;
} outcome;

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ at[i]) * 0x100000001B3u;
    }
    return hash;
}

static void fill_param(const ptxexec_param *p, unsigned char *block, uint64_t *rng,
                       const uint64_t *arrays)
{
    uint64_t value = below(rng, 4) == 0 ? next(rng) : below(rng, 300);
    if (p->size == 8 && below(rng, 16) != 0) {
        value = arrays[below(rng, 3)];
        value += below(rng, 4) == 0 ? below(rng, ARRAY_SIZE) : 0;
    }
    if (p->size == 128 && p->is_array != 0 && below(rng, 4) != 0) {
        ptxexec_tensormap map = {.struct_size = sizeof map,
                                 .address = arrays[0],
                                 .dims = {32},
                                 .strides = {128},
                                 .box = {16},
                                 .elem_strides = {1, 1}};
        map.type = below(rng, 13);
        map.rank = 1 + below(rng, 2);
        map.dims[1] = 1 + below(rng, 16);
        map.box[1] = 1 + below(rng, 8);
        map.swizzle = below(rng, 4);
        map.oob_fill = below(rng, 2);
        if (ptxexec_tensormap_encode(&map, block + p->offset) == PTXEXEC_OK) {
            return;
        }
    }
    for (uint32_t i = 0; i < p->size; i++) {
        block[p->offset + i] = i < 8 ? (unsigned char)(value >> (8 * i)) : (unsigned char)next(rng);
    }
}

static uint64_t hash_report(const ptxexec_report *r)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < ptxexec_report_fault_count(r); i++) {
        ptxexec_fault f = ptxexec_report_fault(r, i);
        hash = mix(hash, f.message, strlen(f.message));
        hash = mix(hash, &f.at, sizeof f.at);
    }
    return mix(hash, ptxexec_report_output(r), strlen(ptxexec_report_output(r)));
}

static void launch(const ptxexec_allocator *alloc, ptxexec_module *m, size_t entry, uint64_t rng,
                   uint32_t threads, outcome *out)
{
    static const uint32_t blocks[] = {32, 32, 64, 128, 33, 7, 256};
    unsigned char block[MAX_PARAM_BYTES] = {0};
    unsigned char data[ARRAY_SIZE];
    uint64_t arrays[3];
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    ptxexec_entry e;
    *out = (outcome){.status = ptxexec_device_create(alloc, &d)};
    for (uint32_t i = 0; i < 3 && out->status == PTXEXEC_OK; i++) {
        out->status = ptxexec_device_alloc(
            d, ARRAY_SIZE, i == 2 ? PTXEXEC_FILL_POISON : PTXEXEC_FILL_ZERO, "array", &arrays[i]);
    }
    if (out->status != PTXEXEC_OK || ptxexec_module_entry(m, entry, &e) != PTXEXEC_OK ||
        e.param_size > sizeof block) {
        ptxexec_device_destroy(d);
        return;
    }
    for (uint32_t i = 0; i < e.n_params; i++) {
        ptxexec_param p;
        if (ptxexec_module_param(m, entry, i, &p) == PTXEXEC_OK) {
            fill_param(&p, block, &rng, arrays);
        }
    }
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .entry = entry,
                                .grid = {1, 1, 1},
                                .block = {1, 1, 1},
                                .params = block,
                                .params_size = e.param_size,
                                .max_steps = MAX_STEPS,
                                .host_threads = threads};
    o.grid[0] += below(&rng, 3);
    o.block[0] = blocks[below(&rng, PG_COUNT_OF(blocks))];
    o.dynamic_shared = below(&rng, 4) * 9000;
    o.seed = next(&rng);
    o.races = (ptxexec_races)below(&rng, 3);
    o.collect_stats = below(&rng, 2);
    if (e.reqntid[0] != 0 && below(&rng, 8) != 0) {
        memcpy(o.block, e.reqntid, sizeof o.block);
    }
    if (below(&rng, 4) == 0) {
        o.cluster[0] = 1 + below(&rng, 4);
        o.cluster[1] = o.cluster[2] = 1;
        o.grid[0] = o.cluster[0] * (1 + below(&rng, 2));
    }
    out->status = ptxexec_launch(d, m, &o, &r);
    if (out->status == PTXEXEC_E_FAULT && ptxexec_report_fault_count(r) == 0) {
        out->wrong = "a fault, and none is told";
    } else if (out->status != PTXEXEC_OK && out->status != PTXEXEC_E_FAULT &&
               out->status != PTXEXEC_E_NOMEM && ptxexec_report_diag_count(r) == 0) {
        out->wrong = "refused without a diagnostic";
    } else if (r != NULL) {
        out->hash = hash_report(r);
        for (uint32_t i = 0; i < 3 && out->status == PTXEXEC_OK; i++) {
            uint64_t n;
            uint64_t first;
            if (ptxexec_device_read(d, arrays[i], data, ARRAY_SIZE, &n, &first) != PTXEXEC_OK) {
                out->wrong = "an array cannot be read";
            }
            out->hash = mix(mix(out->hash, data, sizeof data), &n, sizeof n);
        }
    }
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
}

static const char *judge(const outcome *o)
{
    return o->wrong != NULL                  ? o->wrong
           : o->status == PTXEXEC_E_INTERNAL ? "a defect of the executor"
           : o->status == PTXEXEC_E_MISUSE   ? "refused as misuse"
                                             : NULL;
}

/* NULL, or what is wrong. *n_ran counts the launches that ran. */
static const char *run_text(pg_str ptx, uint64_t *rng, unsigned long *n_ran)
{
    meter m = {0};
    const ptxexec_allocator alloc = {&m, resize};
    ptxexec_module *module = NULL;
    const char *wrong = NULL;
    ptxexec_status status = ptxexec_module_load(&alloc, ptx.ptr, ptx.len, &module);
    size_t n = module == NULL ? 0 : ptxexec_module_entry_count(module);
    if (status != PTXEXEC_OK && status != PTXEXEC_E_NOMEM &&
        ptxexec_module_diag_count(module) == 0) {
        wrong = "not loaded, without a diagnostic";
    }
    if (status == PTXEXEC_E_INTERNAL || status == PTXEXEC_E_MISUSE) {
        wrong = "loading shows a defect";
    }
    for (size_t i = 0; status == PTXEXEC_OK && i < n && i < 3 && wrong == NULL; i++) {
        outcome one;
        outcome two;
        uint64_t seed = next(rng);
        launch(&alloc, module, i, seed, 1, &one);
        wrong = judge(&one);
        *n_ran += one.status == PTXEXEC_OK || one.status == PTXEXEC_E_FAULT;
        if (wrong == NULL && below(rng, 4) == 0) {
            launch(&alloc, module, i, seed, 1, &two);
            bool is_same = one.status == two.status && one.hash == two.hash;
            wrong = judge(&two) != NULL ? judge(&two)
                    : is_same           ? NULL
                                        : "another result the second time";
        }
    }
    ptxexec_module_destroy(module);
    return wrong != NULL ? wrong : m.used != 0 ? "memory was not given back" : NULL;
}

static bool run_case(uint64_t seed, unsigned long k, bool is_shown, unsigned long *n_ran)
{
    static program p;
    uint64_t rng = (seed << 40) + k;
    pg_strbuf ptx;
    pg_strbuf_init(&ptx, pg_alloc_default());
    p.n_owned = 0;
    make_program(&p, &rng);
    join(&p, &ptx);
    if (is_shown) {
        (void)fwrite(ptx.ptr, 1, ptx.len, stdout);
        (void)fflush(stdout);
    }
    const char *wrong = run_text(pg_strbuf_str(&ptx), &rng, n_ran);
    if (wrong != NULL) {
        printf("case %lu of seed %llu: %s\n", k, (unsigned long long)seed, wrong);
        (void)fflush(stdout);
    }
    for (uint32_t i = 0; i < p.n_owned; i++) {
        free(p.owned[i]);
    }
    pg_strbuf_fini(&ptx);
    return wrong == NULL;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        printf("usage: fuzz_exec N SEED FILE...\n");
        return 2;
    }
    const char *is_long = getenv("PTXGEN_TEST_LONG");
    unsigned long n = strtoul(argv[1], NULL, 10);
    n = is_long != NULL && strcmp(is_long, "0") != 0 && is_long[0] != '\0' && n < LONG_CASES
            ? LONG_CASES
            : n;
    uint64_t seed = strtoull(argv[2], NULL, 10);
    const char *one = getenv("FUZZ_ONE");
    const char *is_loud =
        getenv("FUZZ_LOUD"); /* the number before each case: who crashes is the last */
    unsigned long n_failed = 0;
    unsigned long n_ran = 0;
    for (int i = 3; i < argc; i++) {
        add_text(argv[i]);
    }
    unsigned long first = one == NULL ? 0 : strtoul(one, NULL, 10);
    n = one == NULL ? n : first + 1;
    for (unsigned long k = first; k < n && n_texts > 0; k++) {
        if (is_loud != NULL) {
            (void)fprintf(stderr, "%lu\n", k);
        }
        n_failed += !run_case(seed, k, one != NULL, &n_ran);
    }
    for (uint32_t i = 0; i < n_texts; i++) {
        free(texts[i].at);
        free(texts[i].lines);
    }
    /* A fuzzer of which nothing runs finds nothing. */
    bool is_idle = one == NULL && n_ran * 10 < n - first;
    printf("%lu launches ran\n%lu passed, %lu failed\n", n_ran, n - first - n_failed - is_idle,
           n_failed + is_idle);
    return n_failed != 0 || is_idle;
}
