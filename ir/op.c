#include "ir/op.h"

#include <string.h>

/* ---- operations ---------------------------------------------------------------------------- */

/* The table's short names. An operand list may be empty: `+ 0` makes `IN()` one zero, and a class
 * with effects `C_BUF|E_READ + 0`, which is as wanted. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wparentheses"
#endif
/* clang-format off */
#define V (-1)
#define IN(...) .ins = {__VA_ARGS__ + 0}, \
                .n_classes = sizeof((const uint16_t[]){0, __VA_ARGS__}) / sizeof(uint16_t) - 1

#define C_T PG_C_T
#define C_E PG_C_E
#define C_X PG_C_X
#define C_V PG_C_V
#define C_M PG_C_M
#define C_NUM PG_C_NUM
#define C_TILE PG_C_TILE
#define C_I32 PG_C_I32
#define C_INT PG_C_INT
#define C_PTR PG_C_PTR
#define C_DESC PG_C_DESC
#define C_BUF PG_C_BUF
#define C_RING PG_C_RING
#define C_BAR PG_C_BAR
#define C_TOKEN PG_C_TOKEN
#define C_DATA PG_C_DATA
#define C_ANY PG_C_ANY
#define E_READ PG_E_READ
#define E_WRITE PG_E_WRITE
#define E_ARRIVE PG_E_ARRIVE
#define E_WAIT PG_E_WAIT
#define E_INIT PG_E_INIT
#define E_ASYNC PG_E_ASYNC

#define ATTR(id) (UINT64_C(1) << PG_A_##id)
#define A_AXIS ATTR(AXIS)
#define A_DIM ATTR(DIM)
#define A_OP ATTR(OP)
#define A_PARTS ATTR(PARTS)
#define A_SPAN ATTR(SPAN)
#define A_PERM ATTR(PERM)
#define A_IS ATTR(IS)
#define A_NW ATTR(NW)
#define A_APPROX ATTR(APPROX)
#define A_CACHE ATTR(CACHE)
#define A_TRANSA ATTR(TRANSA)
#define A_TRANSB ATTR(TRANSB)
#define A_SLOTS ATTR(SLOTS)
#define A_FULL ATTR(FULL)
#define A_EMPTY ATTR(EMPTY)
#define A_ARRIVALS ATTR(ARRIVALS)
#define A_SIDE ATTR(SIDE)
#define A_PER ATTR(PER)
#define A_LAG ATTR(LAG)
#define A_BYTES ATTR(BYTES)
#define A_IN_FLIGHT ATTR(IN_FLIGHT)
#define A_KIND ATTR(KIND)
#define A_READ ATTR(READ)
#define A_ID ATTR(ID)
#define A_WARP ATTR(WARP)
#define A_WARPS ATTR(WARPS)
#define A_DEFAULT ATTR(DEFAULT)
#define A_REGS ATTR(REGS)
#define A_PART ATTR(PART)
#define A_STAGES ATTR(STAGES)
#define A_UNROLL ATTR(UNROLL)
#define A_ALIGN ATTR(ALIGN)

#define F_PURE PG_F_PURE
#define F_ELEM PG_F_ELEM
#define F_COMM PG_F_COMM
#define F_SHAPE PG_F_SHAPE
#define F_INEXACT PG_F_INEXACT
#define F_REGION PG_F_REGION
#define F_TERM PG_F_TERM
#define F_SYMBOL PG_F_SYMBOL
#define F_ALLOC PG_F_ALLOC
#define F_SYNC PG_F_SYNC
#define L_TILE PG_L_TILE
#define L_HW PG_L_HW
#define L_LAUNCH PG_L_LAUNCH
#define L_BOTH PG_L_BOTH
#define L_ANY PG_L_ANY

const pg_op_info pg_op_infos[PG_OP_COUNT] = {
    [PG_OP_NONE] = {.text = "", .doc = ""},
#define OP(id, text_, n_in_, n_opt_, ins_, res_, attrs_, flags_, level_, sm_, doc_) \
    [PG_OP_##id] = {.text = text_, .doc = doc_, .n_in = n_in_, .n_opt = n_opt_, ins_, \
                    .res = PG_##res_, .attrs = attrs_, .flags = flags_, .level = level_, .sm = sm_},
#include "ir/ops.def"
};

/* What a row must not say. IN now counts effects: a pure operation has none and does not
 * synchronise. */
#undef IN
#define EFFECTS (PG_E_READ | PG_E_WRITE | PG_E_ARRIVE | PG_E_WAIT | PG_E_INIT | PG_E_ASYNC)
#define HAS_EFFECT(a, b, c, d, e, ...) ((((a) | (b) | (c) | (d) | (e)) & EFFECTS) != 0)
#define IN(...) HAS_EFFECT(__VA_ARGS__ + 0, 0, 0, 0, 0, 0)
#define OP(id, text, n_in, n_opt, ins, res, attrs, flags, level, sm, doc)                          \
    _Static_assert(((flags) & F_PURE) == 0 || (!(ins) && ((flags) & (F_SYNC | F_ALLOC)) == 0),     \
                   #id ": a pure operation has no effect");                                        \
    _Static_assert(((flags) & F_COMM) == 0 || (n_in) >= 2, #id ": nothing to exchange");           \
    _Static_assert((level) != 0 && ((level) & ~L_ANY) == 0, #id ": no level");                     \
    _Static_assert(((flags) & F_TERM) == 0 || PG_##res == PG_R_NONE, #id ": a terminator has no result"); \
    _Static_assert((attrs) < UINT64_C(1) << PG_A_COUNT, #id ": attribute out of range");           \
    _Static_assert((n_in) <= PG_MAX_IN && (n_in) + (n_opt) <= PG_MAX_IN, #id ": too many operands");
#include "ir/ops.def"
/* clang-format on */

_Static_assert(PG_A_COUNT <= 64, "attributes fit one word");
_Static_assert(PG_IS_EQ == 0 && PG_IS_GE == 5, "order of the words of `is`");

/* ---- attributes ---------------------------------------------------------------------------- */

const pg_attr_info pg_attr_infos[PG_A_COUNT] = {
    [PG_A_NONE] = {"", "", "", PG_AK_FLAG},
/* clang-format off */
#define A(id, text, kind, words, doc) [PG_A_##id] = {text, words, doc, PG_AK_##kind},
#include "ir/attrs.def"
    /* clang-format on */
};

/* ---- words --------------------------------------------------------------------------------- */

_Static_assert(PG_OP_COUNT <= PG_WORD_SLOTS * 3 / 4 && PG_A_COUNT <= PG_WORD_SLOTS * 3 / 4,
               "a quarter of the slots is free");

/* The words by id, and the slots that lead to ids: one search serves both tables. */
static const char *const op_words[PG_OP_COUNT] = {
    "",
#define OP(id, text, ...) text,
#include "ir/ops.def"
};
static const char *const attr_words[PG_A_COUNT] = {
    "",
#define A(id, text, ...) text,
#include "ir/attrs.def"
};

/* The text is not empty. */
static uint32_t hash_of_word(pg_str text)
{
    const unsigned char *at = (const unsigned char *)text.ptr;
    const uint32_t x = (uint32_t)at[0] | (uint32_t)at[text.len / 2] << 8 |
                       (uint32_t)at[text.len - 1] << 16 | (uint32_t)text.len << 24;
    return x * UINT32_C(2654435761) >> 16;
}

static void put_words(uint8_t *slots, const char *const *words, uint32_t n_words)
{
    for (uint32_t id = 1; id < n_words; id++) {
        uint32_t at = hash_of_word(pg_str_of(words[id]));
        while (slots[at % PG_WORD_SLOTS] != 0) {
            at++;
        }
        slots[at % PG_WORD_SLOTS] = (uint8_t)id;
    }
}

void pg_words_init(pg_words *w)
{
    *w = (pg_words){{0}, {0}};
    put_words(w->ops, op_words, PG_OP_COUNT);
    put_words(w->attrs, attr_words, PG_A_COUNT);
}

/* Whether a word of the tables is this text, which may have more behind it. */
static bool is_word(const char *word, pg_str text)
{
    return strncmp(word, text.ptr, text.len) == 0 && word[text.len] == '\0';
}

/* 0 if there is no such word. */
static uint32_t find_word(const uint8_t *slots, const char *const *words, pg_str text)
{
    uint32_t id = 0;
    for (uint32_t at = text.len == 0 ? 0 : hash_of_word(text); text.len != 0; at++) {
        id = slots[at % PG_WORD_SLOTS];
        if (id == 0 || is_word(words[id], text)) {
            break;
        }
    }
    return id;
}

pg_op pg_op_find(const pg_words *w, pg_str text)
{
    return (pg_op)find_word(w->ops, op_words, text);
}

pg_op pg_op_sibling(const pg_words *w, pg_op op, char letter)
{
    char name[32];
    const size_t n = strlen(pg_op_infos[op].text);
    if (n == 0 || n >= sizeof name) {
        return PG_OP_NONE;
    }
    memcpy(name, pg_op_infos[op].text, n);
    name[0] = letter;
    const pg_op other = pg_op_find(w, (pg_str){name, n});
    return other == op ? PG_OP_NONE : other;
}

pg_attr_id pg_attr_find(const pg_words *w, pg_str text)
{
    return (pg_attr_id)find_word(w->attrs, attr_words, text);
}
