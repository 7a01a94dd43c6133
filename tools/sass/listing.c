/* listing.c: counts the instructions of a listing of machine code. Both tools print
 *
 *         /\*0010*\/                   @!P0 IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
 *
 * nvdisasm puts `.text.NAME:` before a function, and names where branches go (`BRA `(.L_x_1)`,
 * `.L_x_1:`); cuobjdump puts `Function : NAME`, and branches go to addresses (`BRA 0x1f0`). */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "tools/sass/sass.h"

static const struct {
    const char *name, *words;
} classes[SASS_CLASS_COUNT] = {
#define NAME(word)        {(word), (word)},
#define KIND(name, words) {(name), (words)},
#include "tools/sass/kinds.def"
    {"other", ""},
};

const char *sass_class_name(uint32_t which)
{
    return which < SASS_CLASS_COUNT ? classes[which].name : "";
}

static bool has_word(const char *words, pg_str word)
{
    for (const char *at = words; *at != '\0';) {
        const size_t n = strcspn(at, " ");
        if (n == word.len && memcmp(at, word.ptr, n) == 0) {
            return true;
        }
        at += n + (at[n] == ' ');
    }
    return false;
}

static uint32_t class_of(pg_str word)
{
    uint32_t i = 0;
    while (i + 1 < SASS_CLASS_COUNT && !has_word(classes[i].words, word)) {
        i++;
    }
    return i;
}

/* ---- one function ---------------------------------------------------------------------------- */

typedef struct inst {
    uint64_t at;
    pg_str text;    /* without predicate */
    pg_str word;    /* up to the first dot */
    uint32_t which; /* class */
} inst;

typedef struct label {
    pg_str name;
    uint32_t at; /* number of the next instruction */
} label;

typedef struct function {
    PG_VEC(inst) insts;
    PG_VEC(label) labels;
} function;

static pg_str until(const char *at, const char *end, const char *stops)
{
    size_t n = 0;
    while (at + n < end && strchr(stops, at[n]) == NULL) {
        n++;
    }
    return (pg_str){at, n};
}

static const char *skip_spaces(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at;
}

/* An address in a comment, then the instruction up to its semicolon. */
static bool read_inst(pg_str line, inst *out)
{
    const char *at = skip_spaces(line.ptr, line.ptr + line.len), *end = line.ptr + line.len;
    if (end - at < 8 || at[0] != '/' || at[1] != '*') {
        return false;
    }
    const pg_str digits = until(at + 2, end, "*");
    if (digits.len < 4 || digits.len > 8 || digits.ptr + digits.len + 2 > end) {
        return false;
    }
    char number[16] = {0};
    memcpy(number, digits.ptr, digits.len);
    char *rest = NULL;
    out->at = strtoull(number, &rest, 16);
    at = skip_spaces(digits.ptr + digits.len + 2, end);
    if (*rest != '\0' || at >= end || *at == '/') {
        return false;
    }
    if (*at == '{' || *at == '@') { /* dual issue of old listings; a predicate */
        at += *at == '{';
        at = skip_spaces(at, end);
    }
    if (at < end && *at == '@') {
        const pg_str predicate = until(at, end, " ");
        at = skip_spaces(at + predicate.len, end);
    }
    out->text = until(at, end, ";");
    out->word = until(at, end, ". ;");
    out->which = class_of(out->word);
    return out->word.len > 0;
}

/* Where a branch goes: number of an instruction, or UINT32_MAX. */
static uint32_t target_of(const function *f, const inst *i)
{
    const char *end = i->text.ptr + i->text.len;
    const char *tick = memchr(i->text.ptr, '`', i->text.len);
    if (tick != NULL && end - tick > 3) {
        const pg_str name = until(tick + 2, end, ")");
        for (uint32_t j = 0; j < f->labels.n; j++) {
            if (pg_str_eq(f->labels.at[j].name, name)) {
                return f->labels.at[j].at;
            }
        }
        return UINT32_MAX;
    }
    for (const char *x = i->text.ptr; x + 2 < end; x++) {
        if (x[0] == '0' && x[1] == 'x') {
            const uint64_t to = strtoull(x, NULL, 16);
            uint32_t j = 0;
            while (j < f->insts.n && f->insts.at[j].at != to) {
                j++;
            }
            return j < f->insts.n ? j : UINT32_MAX;
        }
    }
    return UINT32_MAX;
}

static bool is_word(const inst *i, const char *word)
{
    return has_word(word, i->word);
}

/* Without the assembler's filling behind the last way out: a branch to itself, then NOPs. */
static void trim(function *f)
{
    uint32_t n = f->insts.n;
    while (n > 0 && !is_word(&f->insts.at[n - 1], "EXIT RET BRX CALL")) {
        n--;
    }
    uint32_t real = f->insts.n;
    while (real > n && is_word(&f->insts.at[real - 1], "NOP BRA")) {
        real--;
    }
    if (n > 0) {
        f->insts.n = real > n ? (real < f->insts.n ? real + 1 : real) : n;
    }
}

static void count(const function *f, uint32_t first, uint32_t end, sass_counts *out)
{
    *out = (sass_counts){.n = end - first};
    for (uint32_t i = first; i < end; i++) {
        out->by_class[f->insts.at[i].which]++;
    }
}

static bool has(const function *f, uint32_t first, uint32_t end, const char *word)
{
    for (uint32_t i = first; i < end; i++) {
        if (is_word(&f->insts.at[i], word)) {
            return true;
        }
    }
    return false;
}

/* The shortest loop with such an instruction. */
static bool find_loop(const function *f, const char *word, uint32_t *first, uint32_t *end)
{
    bool is_found = false;
    for (uint32_t i = 0; i < f->insts.n; i++) {
        const uint32_t to =
            is_word(&f->insts.at[i], "BRA") ? target_of(f, &f->insts.at[i]) : UINT32_MAX;
        if (to <= i && (!is_found || i - to < *end - *first - 1) && has(f, to, i + 1, word)) {
            is_found = true;
            *first = to;
            *end = i + 1;
        }
    }
    return is_found;
}

static uint32_t bytes_of(const inst *i)
{
    static const struct {
        const char *part;
        uint32_t bytes;
    } widths[] = {{".128", 16}, {".64", 8}, {".U16", 2}, {".S16", 2}, {".U8", 1}, {".S8", 1}};
    const pg_str name = until(i->text.ptr, i->text.ptr + i->text.len, " ");
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        const size_t n = strlen(widths[w].part);
        for (size_t at = 0; at + n <= name.len; at++) {
            if (memcmp(name.ptr + at, widths[w].part, n) == 0) {
                return widths[w].bytes;
            }
        }
    }
    return 4;
}

static void finish(function *f, sass_kernel *k)
{
    static const char *const main_words[] = {"HGMMA", "HMMA", "IMMA", "DMMA", "FFMA", "LDG"};
    if (k == NULL || f->insts.n == 0) {
        return;
    }
    trim(f);
    k->is_listed = true;
    count(f, 0, f->insts.n, &k->all);
    uint32_t first = 0, end = 0;
    for (size_t w = 0; w < sizeof main_words / sizeof main_words[0]; w++) {
        if (find_loop(f, main_words[w], &first, &end)) {
            count(f, first, end, &k->loop);
            break;
        }
    }
    for (uint32_t i = 0; i < f->insts.n; i++) {
        k->spill_stores += is_word(&f->insts.at[i], "STL") ? bytes_of(&f->insts.at[i]) : 0;
        k->spill_loads += is_word(&f->insts.at[i], "LDL") ? bytes_of(&f->insts.at[i]) : 0;
    }
}

/* ---- the listing ----------------------------------------------------------------------------- */

static sass_kernel *kernel_named(sass_file *file, pg_str name)
{
    for (uint32_t i = 0; i < file->n; i++) {
        if (pg_str_eq(file->kernels[i].name, name)) {
            return &file->kernels[i];
        }
    }
    return NULL;
}

/* The name where a function begins, else an empty one. */
static pg_str function_of(pg_str line)
{
    static const char text[] = ".text.", title[] = "Function : ";
    const char *end = line.ptr + line.len, *at = skip_spaces(line.ptr, end);
    if (line.len > sizeof text && memcmp(line.ptr, text, sizeof text - 1) == 0 && end[-1] == ':') {
        return (pg_str){line.ptr + sizeof text - 1, line.len - sizeof text};
    }
    if ((size_t)(end - at) >= sizeof title && memcmp(at, title, sizeof title - 1) == 0) {
        return (pg_str){at + sizeof title - 1, (size_t)(end - at) - (sizeof title - 1)};
    }
    return (pg_str){0};
}

bool sass_read_listing(pg_arena *a, pg_str text, sass_file *file)
{
    function f = {0};
    sass_kernel *k = NULL;
    const char *end = text.ptr + text.len;
    for (const char *at = text.ptr; at < end && !a->is_oom;) {
        const pg_str line = until(at, end, "\n");
        at += line.len + 1;
        const pg_str name = function_of(line);
        inst i;
        if (name.len != 0) {
            finish(&f, k);
            f.insts.n = f.labels.n = 0;
            k = kernel_named(file, name);
        } else if (line.len > 1 && line.ptr[0] == '.' && line.ptr[line.len - 1] == ':') {
            const label l = {{line.ptr, line.len - 1}, f.insts.n};
            (void)pg_vec_push(a, &f.labels, l);
        } else if (read_inst(line, &i)) {
            (void)pg_vec_push(a, &f.insts, i);
        }
    }
    finish(&f, k);
    return !a->is_oom;
}
