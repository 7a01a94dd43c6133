/* ptx_isa.c: the instruction table and matching of opcode spellings with it.
 *
 * Grammar of the `modifiers` column. A spelling "ld.global.v4.f32" is the opcode and the words
 * global, v4, f32. The pattern must use up all of them, in order:
 *   .word        that word                    .(a|b|c)   one of these words
 *   [ ... ]      optional                     (.a.b|.c)  one of these runs; a run may be empty
 *   :T           after a word or choice: the word becomes the type named T
 *   #            inside a word: one to three digits (m64n#k16)
 * ptxas takes modifiers in any order, and so does a second try here: each pattern word takes the
 * first unused word that fits, so several types keep their order.
 *
 * Grammar of the `operands` column:
 *   operands = [ operand { ", " operand } ]        operand = ["?"] name ":" spec ["@" words]
 *   ?        may be missing (left ones are filled first)
 *   name     one that starts with d is written, others are read
 *   @a/b     there exactly when the spelling has the word a or b
 *   spec     = type ["*2"] ["{" count "}"] ["<" flags ">"]    type: bound name or spelled type
 *            | "mem" | "tma" | "tma5"                         [address], [base, {coordinates}]
 *            | "#lo..hi" ["/" step] | "#{a;b;c}"              immediates
 *            | "wgop" | "tcop"                                register vector or descriptor, [tmem]
 * or descriptor | "label" | "func" | "list" | "sink" *2       twice as wide count    vector length:
 * number, v (of .v2 .v4 .v8, 1 without), x (of .x1 .x2 .x4), x*2, N/2, N/4 (of m64nN), im2col,
 * lanes, tc flags    reg: no immediate sink: _ allowed     sinks: _ allowed inside the vector pair,
 * pairreq: d|p may, must be there pack: {vector} of the same total width   any: also symbols and
 * special registers lax: register may be wider than the type bar threads x16 pos bit mask columns
 * desc orpred: ranges that ptxas checks, see ptx_check.c */
#include "emit/ptx_isa.h"

#include <string.h>

#define INTS       "u16|u32|u64|s16|s32|s64"
#define INTS8      "u8|u16|u32|u64|s8|s16|s32|s64"
#define RND        ".(rn|rz|rm|rp)"
#define SCOPES     "cta|cluster|gpu|sys"
#define SPACES     "global|shared|shared::cta|shared::cluster|local|const"
#define LDSPACES   SPACES "|param|param::entry|param::func"
#define STSPACES   "global|shared|shared::cta|shared::cluster|local|param|param::func"
#define SYNCSPACES "global|shared|shared::cta|shared::cluster"
#define MEMTYPES64 "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
#define L2SIZES    "L2::64B|L2::128B|L2::256B"
#define EVICT_HINTS \
    "[.(L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate)]"
#define EVICT_BOTH EVICT_HINTS "[.(L2::evict_normal|L2::evict_first|L2::evict_last)]"
#define ATOM_HEAD                                         \
    "[.(relaxed|acquire|release|acq_rel)][.(" SCOPES ")]" \
    "[.(global|shared|shared::cta|shared::cluster)]"
#define RED_HEAD        "[.(relaxed|release)][.(" SCOPES ")][.(global|shared|shared::cta|shared::cluster)]"
#define ATOM_HEAD_G     "[.(relaxed|acquire|release|acq_rel)][.(" SCOPES ")][.global]"
#define RED_HEAD_G      "[.(relaxed|release)][.(" SCOPES ")][.global]"
#define MULTIMEM_LD     "[(.weak|.(relaxed|acquire).(" SCOPES "))]"
#define MULTIMEM_ST_SEM "[(.weak|.(relaxed|release).(" SCOPES "))]"
#define TMAOPS          "add|min|max|inc|dec|and|or|xor"
#define ND              "(1d|2d|3d|4d|5d)"
#define MBAR_SEM        ".(release|relaxed).(cta|cluster)"
#define MBAR_WAIT_SEM   ".(acquire|relaxed).(cta|cluster)"
#define M64             "m64n#"
#define CTA_GROUP       "(cta_group::1|cta_group::2)"
#define WMMA_SHAPES     "m16n16k16|m8n32k16|m32n8k16"
#define XN              "x1|x2|x4|x8|x16|x32|x64|x128"
#define FP864           "e4m3|e5m2|e3m2|e2m3|e2m1"
#define BOOLOP          "[.(and|or|xor)]"
#define SETP_B          ".(eq|ne)" BOOLOP ".(b16|b32|b64)"
#define SETP_S          ".(eq|ne|lt|le|gt|ge)" BOOLOP ".(s16|s32|s64)"
#define SETP_U          ".(eq|ne|lt|le|gt|ge|lo|ls|hi|hs)" BOOLOP ".(u16|u32|u64)"
#define SET_D           ".(u32|s32|f32):D"
#define SET_B           ".(eq|ne)" BOOLOP SET_D ".(b16|b32|b64)"
#define SET_S           ".(eq|ne|lt|le|gt|ge)" BOOLOP SET_D ".(s16|s32|s64)"
#define SET_U           ".(eq|ne|lt|le|gt|ge|lo|ls|hi|hs)" BOOLOP SET_D ".(u16|u32|u64)"
#define FCMP            "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"

const pg_isa_row pg_isa_rows[PG_ISA_COUNT] = {
    [PG_ISA_NONE] = {"", "", "", 0, 0, 0, ""},
// clang-format off
#define ISA(id, opcode, modifiers, operands, version, sm, features, doc)                           \
    [PG_ISA_##id] = {opcode, modifiers, operands, version, sm, features, doc},
#include "emit/ptx_isa.def"
    // clang-format on
};

const pg_ptx_type_info pg_ptx_type_infos[PG_PTX_T_COUNT] = {
    [PG_PTX_T_NONE] = {"", 0, 0},
// clang-format off
#define T(id, text, bits, cls) [PG_PTX_##id] = {text, bits, #cls[0]},
#include "emit/ptx_types.def"
    // clang-format on
};

const pg_ptx_sreg_info pg_ptx_sreg_infos[PG_PTX_SREG_COUNT] = {
    [PG_PTX_SREG_NONE] = {"", 0, 0, 0, 0},
// clang-format off
#define SREG(id, text, n, type, version, sm) [PG_PTX_SREG_##id] = {text, n, type, version, sm},
#include "emit/ptx_sregs.def"
    // clang-format on
};

/* ---- words with a floor of their own ------------------------------------------------------- */

static const pg_isa_word isa_words[] = {
    /* opcode, word, version, sm; opcode "": any */
    {"", "shared::cta", 78, 30},
    {"", "shared::cluster", 78, 90},
    {"", "cluster", 78, 90},
    {"", "param::entry", 83, 0},
    {"", "param::func", 83, 0},
    {"", "L2::cache_hint", 74, 80},
    {"", "L2::64B", 74, 75},
    {"", "L2::128B", 74, 75},
    {"", "L2::256B", 74, 80},
    {"", "L1::evict_normal", 74, 70},
    {"", "L1::evict_unchanged", 74, 70},
    {"", "L1::evict_first", 74, 70},
    {"", "L1::evict_last", 74, 70},
    {"", "L1::no_allocate", 74, 70},
    {"", "v8", 81, 90},
    {"ld", "b128", 83, 70},
    {"st", "b128", 83, 70},
    {"ld", "weak", 60, 70},
    {"st", "weak", 60, 70},
    {"mbarrier", "release", 80, 80},
    {"mbarrier", "acquire", 80, 80},
    {"mbarrier", "relaxed", 86, 90},
    {"cp", "noinc", 70, 80},
    {"bar", "cta", 78, 30},
    {"barrier", "cta", 78, 30},
    {"min", "NaN", 70, 80},
    {"max", "NaN", 70, 80},
    {"min", "xorsign", 72, 86},
    {"max", "xorsign", 72, 86},
    {"barrier", "acquire", 80, 90},
    {"cvta", "param", 77, 70},
    {"isspacep", "param", 77, 70},
    {"mma", "sp::ordered_metadata", 85, 80},
    {"tcgen05", "kind::mxf4nvf4", 87, 100},
    {"tcgen05", "block16", 88, 100},
    {"tcgen05", "block32", 88, 100},
    {"tcgen05", "scale_vec::4X", 87, 100},
    {"atom", "acquire", 60, 70},
    {"atom", "release", 60, 70},
    {"atom", "acq_rel", 60, 70},
    {"atom", "relaxed", 60, 70},
    {"red", "relaxed", 60, 70},
    {"red", "release", 60, 70},
};

const pg_isa_word *pg_isa_word_floor(const char *opcode, pg_str word)
{
    const pg_isa_word *of_any = NULL; /* the opcode's own entry goes before that of any opcode */
    for (size_t i = 0; i < PG_COUNT_OF(isa_words); i++) {
        const pg_isa_word *w = &isa_words[i];
        if (word.len == 0 || w->word[0] != word.ptr[0] || !pg_str_is(word, w->word)) {
            continue;
        }
        if (w->opcode[0] == 0) {
            of_any = w;
        } else if (strcmp(w->opcode, opcode) == 0) {
            return w;
        }
    }
    return of_any;
}

/* ---- spellings ----------------------------------------------------------------------------- */

void pg_isa_split(pg_str spelling, pg_isa_words *out)
{
    out->n = 0;
    out->is_too_long = false;
    size_t from = 0;
    for (size_t i = 0; i <= spelling.len; i++) {
        if (i < spelling.len && spelling.ptr[i] != '.') {
            continue;
        }
        if (out->n == PG_ISA_MAX_WORDS) {
            out->is_too_long = true;
            return;
        }
        out->at[out->n++] = (pg_str){spelling.ptr + from, i - from};
        from = i + 1;
    }
}

pg_str pg_isa_modifier(pg_str spelling, uint32_t n)
{
    pg_isa_words w;
    pg_isa_split(spelling, &w);
    return n + 1 < w.n ? w.at[n + 1] : (pg_str){spelling.ptr, 0};
}

bool pg_isa_has(pg_str spelling, const char *word)
{
    pg_isa_words w;
    pg_isa_split(spelling, &w);
    for (uint32_t i = 1; i < w.n; i++) {
        if (pg_str_is(w.at[i], word)) {
            return true;
        }
    }
    return false;
}

/* ---- matching ------------------------------------------------------------------------------ */

typedef struct matcher {
    const pg_isa_words *words;
    uint32_t all;      /* a bit for each word to be used up */
    bool is_unordered; /* a pattern word may take any unused word that fits */
    uint8_t bound[26]; /* index of the word bound to 'A' + i, 0: none */
    uint32_t furthest; /* first word that no way through the pattern could use */
} matcher;

/* End of the pattern word that begins at p: at one of . | ( ) [ ] or a single ':'. */
static const char *word_end(const char *p)
{
    for (;; p++) {
        switch (*p) {
        case 0:
        case '.':
        case '|':
        case '(':
        case ')':
        case '[':
        case ']': return p;
        case ':':
            if (p[1] != ':') {
                return p;
            }
            p++;
            break;
        default: break;
        }
    }
}

static bool word_fits(const char *p, const char *end, pg_str word)
{
    if (word.len == 0 || *p != word.ptr[0]) {
        return false;
    }
    if ((size_t)(end - p) == word.len && memcmp(p, word.ptr, word.len) == 0) {
        return true;
    }
    const char *hash = memchr(p, '#', (size_t)(end - p));
    if (hash == NULL) {
        return false;
    }
    size_t head = (size_t)(hash - p);
    size_t tail = (size_t)(end - hash) - 1;
    if (word.len < head + tail + 1 || word.len > head + tail + 3 ||
        memcmp(word.ptr, p, head) != 0 || memcmp(word.ptr + word.len - tail, hash + 1, tail) != 0) {
        return false;
    }
    for (size_t i = head; i < word.len - tail; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '9') {
            return false;
        }
    }
    return true;
}

/* The bracket that closes the group around p; p stands after the opening one. */
static const char *group_end(const char *p)
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

/* The next alternative of the group around p, or NULL. */
static const char *next_alternative(const char *p)
{
    for (int depth = 0; *p != 0; p++) {
        if (*p == '(' || *p == '[') {
            depth++;
        } else if ((*p == ')' || *p == ']') && depth-- == 0) {
            return NULL;
        } else if (*p == '|' && depth == 0) {
            return p + 1;
        }
    }
    return NULL;
}

/* One word or choice of words at p (after the dot). NULL: the word does not fit. */
static const char *fit_word(const char *p, pg_str word)
{
    if (*p != '(') {
        const char *end = word_end(p);
        return word_fits(p, end, word) ? end : NULL;
    }
    for (p++;;) {
        const char *end = word_end(p);
        if (word_fits(p, end, word)) {
            return group_end(end) + 1;
        }
        if (*end != '|') {
            return NULL;
        }
        p = end + 1;
    }
}

/* The word that the pattern word or choice at p takes: the next one, or, unordered, the first
 * unused one that fits. *out_end: after the choice; NULL when none fits. */
static uint32_t take_word(const matcher *m, const char *p, uint32_t used, const char **out_end)
{
    *out_end = NULL;
    for (uint32_t left = m->all & ~used; left != 0; left &= left - 1) {
        uint32_t w = pg_ctz(left);
        *out_end = fit_word(p, m->words->at[w]);
        if (*out_end != NULL || !m->is_unordered) {
            return w;
        }
    }
    return m->words->n;
}

static bool match_at(matcher *m, const char *p, uint32_t used);

/* The rest after ":T", with word w bound to T; unbound again if the rest does not fit. */
static bool match_bound(matcher *m, const char *colon, uint32_t used, uint32_t w)
{
    uint32_t name = (uint32_t)(colon[1] - 'A') % 26;
    uint8_t old = m->bound[name];
    m->bound[name] = (uint8_t)w;
    if (match_at(m, colon + 2, used)) {
        return true;
    }
    m->bound[name] = old;
    return false;
}

/* Any of the alternatives that begin at p, with what follows the group. */
static bool match_alternatives(matcher *m, const char *p, uint32_t used)
{
    for (; p != NULL; p = next_alternative(p)) {
        if (match_at(m, p, used)) {
            return true;
        }
    }
    return false;
}

static void note_furthest(matcher *m, uint32_t w)
{
    if (w > m->furthest && !m->is_unordered) {
        m->furthest = w;
    }
}

/* `used`: a bit for each word used so far.
 * NOLINTNEXTLINE(misc-no-recursion): depth is bounded by the pattern's length */
static bool match_at(matcher *m, const char *p, uint32_t used)
{
    for (;;) {
        const char *end = NULL;
        uint32_t w = 0;
        switch (*p) {
        case 0:
            if (used != m->all) {
                note_furthest(m, pg_ctz(m->all & ~used));
            }
            return used == m->all;
        case ')':
        case ']': p++; break;
        case '|': /* end of a taken alternative */ p = group_end(p + 1) + 1; break;
        case '[':
            if (match_at(m, p + 1, used)) {
                return true;
            }
            p = group_end(p + 1) + 1;
            break;
        case '(': return match_alternatives(m, p + 1, used);
        default: /* '.' */
            w = take_word(m, p + 1, used, &end);
            note_furthest(m, w);
            if (end == NULL) {
                return false;
            }
            used |= 1U << w;
            if (*end == ':') {
                return match_bound(m, end, used, w);
            }
            p = end;
            break;
        }
    }
}

/* Fits the row's pattern; in order, or, as ptxas allows, in any order. */
static bool match_row(matcher *m, uint32_t row, const pg_isa_words *words, bool is_unordered)
{
    m->words = words;
    m->all = (1U << words->n) - 2; /* without the opcode */
    m->is_unordered = is_unordered;
    return match_at(m, pg_isa_rows[row].modifiers, 0);
}

/* Order of a row's opcode and this one, bytewise. */
static int compare_opcode(const char *row, pg_str opcode)
{
    for (size_t i = 0; i < opcode.len; i++) {
        if (row[i] != opcode.ptr[i] || row[i] == 0) {
            return (unsigned char)row[i] < (unsigned char)opcode.ptr[i] ? -1 : 1;
        }
    }
    return row[opcode.len] != 0 ? 1 : 0;
}

pg_isa_range pg_isa_rows_of(pg_str opcode)
{
    pg_isa_range r = {1, 1};
    uint32_t lo = 1;
    uint32_t hi = PG_ISA_COUNT;
    while (lo < hi) { /* first row that is not below the opcode */
        uint32_t mid = lo + (hi - lo) / 2;
        if (compare_opcode(pg_isa_rows[mid].opcode, opcode) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    r.first = lo;
    r.end = lo;
    while (r.end < PG_ISA_COUNT && compare_opcode(pg_isa_rows[r.end].opcode, opcode) == 0) {
        r.end++;
    }
    return r;
}

/* What ptxas reads as part of the opcode keeps its place: mul.lo, not mul.s32.lo. */
static bool keeps_order(pg_str opcode)
{
    return pg_str_starts(opcode, PG_STR("mul")) || pg_str_starts(opcode, PG_STR("mad"));
}

static pg_isa_id match_rows(matcher *m, const pg_isa_words *words, uint32_t n_ops,
                            bool is_unordered)
{
    pg_isa_range r = pg_isa_rows_of(words->at[0]);
    uint32_t fallback = PG_ISA_NONE;
    for (uint32_t row = r.first; row < r.end; row++) {
        if (!match_row(m, row, words, is_unordered)) {
            continue;
        }
        if (pg_isa_takes(row, words, n_ops)) {
            return (pg_isa_id)row;
        }
        fallback = fallback == PG_ISA_NONE ? row : fallback;
    }
    return (pg_isa_id)fallback;
}

pg_isa_id pg_isa_match(const pg_isa_words *words, uint32_t n_ops, uint32_t *out_furthest)
{
    matcher m = {.furthest = 1};
    pg_isa_id row = PG_ISA_NONE;
    if (!words->is_too_long) {
        row = match_rows(&m, words, n_ops, false);
        if (row == PG_ISA_NONE && words->n > 2 && !keeps_order(words->at[0])) {
            row = match_rows(&m, words, n_ops, true);
        }
    }
    if (out_furthest != NULL) {
        *out_furthest = m.furthest;
    }
    return row;
}

pg_isa_id pg_isa_find(pg_str spelling)
{
    pg_isa_words w;
    pg_isa_split(spelling, &w);
    return pg_isa_match(&w, UINT32_MAX, NULL);
}

pg_isa_id pg_isa_find_for(pg_str spelling, uint32_t n_ops)
{
    pg_isa_words w;
    pg_isa_split(spelling, &w);
    return pg_isa_match(&w, n_ops, NULL);
}

pg_ptx_type pg_ptx_type_of(pg_str text)
{
    for (uint32_t t = 1; t < PG_PTX_T_COUNT; t++) {
        if (pg_str_is(text, pg_ptx_type_infos[t].text)) {
            return (pg_ptx_type)t;
        }
    }
    return PG_PTX_T_NONE;
}

bool pg_isa_bind(pg_isa_id row, const pg_isa_words *words, pg_isa_binding *out)
{
    matcher m = {0};
    memset(out, 0, sizeof *out);
    if (row == PG_ISA_NONE || row >= PG_ISA_COUNT || words->is_too_long ||
        (!match_row(&m, row, words, false) && !match_row(&m, row, words, true))) {
        return false;
    }
    for (uint32_t i = 0; i < 26; i++) {
        if (m.bound[i] != 0) {
            out->type[i] = (uint8_t)pg_ptx_type_of(words->at[m.bound[i]]);
        }
    }
    return true;
}

pg_ptx_type pg_isa_type(pg_isa_id row, pg_str spelling, char name)
{
    pg_isa_words w;
    pg_isa_binding b;
    pg_isa_split(spelling, &w);
    if (name < 'A' || name > 'Z' || !pg_isa_bind(row, &w, &b)) {
        return PG_PTX_T_NONE;
    }
    return (pg_ptx_type)b.type[name - 'A'];
}

/* ---- operands ------------------------------------------------------------------------------ */

static bool is_condition_met(const char *at, const char *end, const pg_isa_words *words)
{
    const char *p = at;
    while (p < end) {
        const char *q = p;
        while (q < end && *q != '/') {
            q++;
        }
        for (uint32_t i = 1; i < words->n; i++) {
            if (words->at[i].len == (size_t)(q - p) &&
                memcmp(words->at[i].ptr, p, (size_t)(q - p)) == 0) {
                return true;
            }
        }
        p = q < end ? q + 1 : q;
    }
    return false;
}

/* Operands of the row in this spelling, those whose condition fails left out. */
void pg_isa_operands(uint32_t row, const pg_isa_words *words, pg_isa_specs *out)
{
    const char *p = pg_isa_rows[row].operands;
    out->n = out->n_optional = 0;
    while (*p != 0 && out->n < PG_ISA_MAX_OPS) {
        pg_isa_spec s = {0};
        if (*p == '?') {
            s.is_optional = true;
            p++;
        }
        const char *colon = strchr(p, ':');
        const char *end = p + strcspn(p, ",");
        if (colon == NULL || colon > end) {
            return;
        }
        const char *at = memchr(colon, '@', (size_t)(end - colon));
        s.name = (pg_str){p, (size_t)(colon - p)};
        s.is_written = *p == 'd';
        s.spec = (pg_str){colon + 1, (size_t)((at != NULL ? at : end) - colon - 1)};
        if (at == NULL || is_condition_met(at + 1, end, words)) {
            out->n_optional += s.is_optional ? 1 : 0;
            out->at[out->n++] = s;
        }
        p = *end == ',' ? end + 2 : end;
    }
}

bool pg_isa_takes(uint32_t row, const pg_isa_words *words, uint32_t n_ops)
{
    if (n_ops == UINT32_MAX) {
        return true;
    }
    pg_isa_specs s;
    pg_isa_operands(row, words, &s);
    return n_ops <= s.n && n_ops >= s.n - s.n_optional;
}
