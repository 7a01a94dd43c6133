/* parse_enc.c: encodings. */
#include <string.h>

#include "ir/parse.h"

/* ---- encodings ----------------------------------------------------------------------------- */

enum {
    IN_SMEM = 1 << PG_ENC_SMEM,
    IN_BLOCKED = 1 << PG_ENC_BLOCKED,
    IN_WGMMA = 1 << PG_ENC_WGMMA,
    IN_LINEAR = 1 << PG_ENC_LINEAR,
    IN_MMA = 1 << PG_ENC_MMA,
    IN_DOT = 1 << PG_ENC_DOT,
    IN_SLICE = 1 << PG_ENC_SLICE
};

typedef enum enc_param {
    EP_RANK,
    EP_ORDER,
    EP_SWIZZLE,
    EP_PAD,
    EP_SHAPE,
    EP_REGS,
    EP_LANES,
    EP_WARPS,
    EP_REG,
    EP_LANE,
    EP_WARP,
    EP_OFFSET,
    EP_OPERAND,
    EP_OF,
    EP_DIM,
    EP_COUNT
} enc_param;

static const struct {
    const char *text;
    uint16_t kinds; /* of encodings that take it */
    uint8_t kind;   /* pg_attr_kind; of `of`, which is a name: FLAG */
    bool is_needed;
} enc_params[EP_COUNT] = {
    [EP_RANK] = {"rank", IN_LINEAR, PG_AK_INT, false},
    [EP_ORDER] = {"order", IN_SMEM | IN_BLOCKED, PG_AK_INTS, true},
    [EP_SWIZZLE] = {"swizzle", IN_SMEM, PG_AK_INT, false},
    [EP_PAD] = {"pad", IN_SMEM, PG_AK_INT, false},
    [EP_SHAPE] = {"shape", IN_WGMMA | IN_MMA, PG_AK_INTS, true},
    [EP_REGS] = {"regs", IN_BLOCKED, PG_AK_INTS, true},
    [EP_LANES] = {"lanes", IN_BLOCKED, PG_AK_INTS, true},
    [EP_WARPS] = {"warps", IN_BLOCKED | IN_WGMMA | IN_MMA, PG_AK_INTS, true},
    [EP_REG] = {"reg", IN_LINEAR, PG_AK_NEST, false},
    [EP_LANE] = {"lane", IN_LINEAR, PG_AK_NEST, false},
    [EP_WARP] = {"warp", IN_LINEAR, PG_AK_NEST, false},
    [EP_OFFSET] = {"offset", IN_LINEAR, PG_AK_NEST, false},
    [EP_OPERAND] = {"operand", IN_DOT, PG_AK_INT, true},
    [EP_OF] = {"of", IN_DOT | IN_SLICE, PG_AK_FLAG, true},
    [EP_DIM] = {"dim", IN_SLICE, PG_AK_INT, true},
};

static const char *enc_param_word(const pg_parser *p, uint32_t i)
{
    (void)p;
    return enc_params[i].text;
}

static const char *enc_kind_word(const pg_parser *p, uint32_t i)
{
    static const char *const words[] = {"smem", "blocked", "wgmma", "linear",
                                        "mma",  "dot",     "slice"};
    (void)p;
    return words[i];
}

static bool bad_param(pg_parser *p, pg_loc loc, enc_param id)
{
    (void)pg_diag_add(p->diags, PG_D_ENC_PARAM, loc, enc_params[id].text);
    return false;
}

/* Integers of a list into small numbers; the list's length must be the rank, which the first sets.
 */
static bool to_small(const pg_aval *list, uint16_t *to, uint32_t least, uint32_t most, uint32_t *n)
{
    if (list->n < least || list->n > most) {
        return false;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->items[i].kind != PG_AV_INT || list->items[i].num < 0 ||
            list->items[i].num > UINT16_MAX) {
            return false;
        }
        to[i] = (uint16_t)list->items[i].num;
    }
    *n = list->n;
    return true;
}

static bool same_rank(pg_enc_info *e, uint32_t n)
{
    bool is_good = e->rank == 0 || e->rank == n;
    e->rank = (uint8_t)n;
    return is_good;
}

static bool set_lists(pg_enc_info *e, enc_param id, const pg_aval *v)
{
    uint16_t *const to[] = {[EP_REGS] = e->regs, [EP_LANES] = e->lanes, [EP_WARPS] = e->warps};
    uint16_t small[PG_MAX_RANK] = {0};
    uint32_t n = 0;
    if (id == EP_SHAPE) {
        return to_small(v, e->shape, 3, 3, &n) && same_rank(e, 2);
    }
    if (!to_small(v, small, 1, PG_MAX_RANK, &n) || !same_rank(e, n)) {
        return false;
    }
    if (id != EP_ORDER) {
        memcpy(to[id], small, sizeof small);
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (small[i] >= n) {
            return false;
        }
        e->order[i] = (uint8_t)small[i];
    }
    return true;
}

/* Basis vectors, kept in the order registers, lanes, warps, offsets. */
static bool set_basis(pg_enc_info *e, enc_param id, const pg_aval *v)
{
    uint8_t *const counts[] = {&e->n_reg, &e->n_lane, &e->n_warp, &e->n_offset};
    uint32_t total = 0, at = 0;
    for (uint32_t i = 0; i < PG_COUNT_OF(counts); i++) {
        total += *counts[i];
        at = i == (uint32_t)id - EP_REG ? total : at;
    }
    uint8_t *count = counts[id - EP_REG];
    if (v->n > PG_MAX_BASIS - total) {
        return false;
    }
    memmove(e->basis + at + v->n, e->basis + at, (total - at) * sizeof e->basis[0]);
    memset(e->basis + at, 0, v->n * sizeof e->basis[0]);
    *count = (uint8_t)(*count + v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t n = 0;
        if (v->items[i].kind != PG_AV_LIST ||
            !to_small(&v->items[i], e->basis[at + i], 1, PG_MAX_RANK, &n) || !same_rank(e, n)) {
            return false;
        }
    }
    return true;
}

static bool set_param(pg_enc_info *e, enc_param id, const pg_aval *v)
{
    if (enc_params[id].kind == PG_AK_NEST) {
        return v->kind == PG_AV_LIST && set_basis(e, id, v);
    }
    if (enc_params[id].kind == PG_AK_INTS) {
        return set_lists(e, id, v);
    }
    if (v->num < 0 || v->num > UINT16_MAX) {
        return false;
    }
    if (id == EP_RANK) {
        return v->num >= 1 && v->num <= PG_MAX_RANK && same_rank(e, (uint32_t)v->num);
    }
    if (id == EP_OPERAND || id == EP_DIM) {
        *(id == EP_OPERAND ? &e->operand : &e->dim) = (uint8_t)v->num;
        return v->num < (id == EP_OPERAND ? 2 : PG_MAX_RANK);
    }
    *(id == EP_SWIZZLE ? &e->swizzle : &e->pad) = (uint16_t)v->num;
    return true;
}

/* The encoding that this one is made from; it fixes the rank. */
static bool parse_of(pg_parser *p, pg_enc_info *e)
{
    pg_loc loc = p->tok.loc;
    if (!pg_parse_enc_use(p, &e->of)) {
        return false;
    }
    uint32_t rank = pg_enc_get(p->ctx->types, e->of)->rank;
    e->rank = (uint8_t)(e->kind == PG_ENC_DOT ? 2 : rank - 1);
    return (e->kind == PG_ENC_DOT ? rank == 2 : rank > 1) || bad_param(p, loc, EP_OF);
}

static bool parse_enc_param(pg_parser *p, pg_enc_info *e, uint32_t *seen)
{
    pg_tok name = p->tok;
    if (name.kind != PG_TOK_WORD) {
        return pg_parse_failed(p, "a parameter of the encoding");
    }
    uint32_t id = 0;
    while (id < EP_COUNT && !(pg_str_is(name.text, enc_params[id].text) &&
                              (enc_params[id].kinds >> e->kind & 1) != 0)) {
        id++;
    }
    if (id == EP_COUNT) {
        bool is_of_another = false;
        for (uint32_t i = 0; i < EP_COUNT; i++) {
            is_of_another = is_of_another || pg_str_is(name.text, enc_params[i].text);
        }
        const char *more = is_of_another
                               ? ""
                               : pg_parse_suggest(p, name.text,
                                                  (pg_parse_words){enc_param_word, EP_COUNT, NULL,
                                                                   PG_FOREIGN_NONE});
        (void)pg_diag_add(p->diags, PG_D_ENC_NO_PARAM, name.loc, PG_STR_ARG(name.text), more);
        return false;
    }
    if ((*seen >> id & 1) != 0) {
        (void)pg_diag_add(p->diags, PG_D_ATTR_TWICE, name.loc, enc_params[id].text);
        return false;
    }
    *seen |= 1u << id;
    pg_parse_advance(p);
    pg_aval value = {.kind = PG_AV_NONE};
    if (!pg_parse_expect(p, '=')) {
        return false;
    }
    if (id == EP_OF) {
        return parse_of(p, e);
    }
    pg_loc loc = p->tok.loc;
    if (!pg_parse_item(p, (pg_attr_kind)enc_params[id].kind, 0, &value)) {
        return false;
    }
    return set_param(e, (enc_param)id, &value) || bad_param(p, loc, (enc_param)id);
}

bool pg_parse_enc_body(pg_parser *p, pg_enc_info *e)
{
    pg_tok kind = p->tok;
    uint32_t seen = 0;
    if (kind.kind != PG_TOK_WORD) {
        return pg_parse_failed(p, "a kind of encoding, as smem or blocked");
    }
    for (uint32_t i = 0; i < PG_ENC_KIND_COUNT - 1; i++) {
        if (pg_str_is(kind.text, enc_kind_word(p, i))) {
            e->kind = (uint8_t)(i + 1);
        }
    }
    if (e->kind == PG_ENC_NONE) {
        const char *more = pg_parse_suggest(
            p, kind.text,
            (pg_parse_words){enc_kind_word, PG_ENC_KIND_COUNT - 1, NULL, PG_FOREIGN_NONE});
        (void)pg_diag_add(p->diags, PG_D_UNKNOWN_ENC_KIND, kind.loc, PG_STR_ARG(kind.text), more);
        return false;
    }
    pg_parse_advance(p);
    if (!pg_parse_expect(p, '[')) {
        return false;
    }
    do {
        if (!parse_enc_param(p, e, &seen)) {
            return false;
        }
    } while (pg_parse_take(p, ','));
    if (!pg_parse_expect(p, ']')) {
        return false;
    }
    for (uint32_t id = 0; id < EP_COUNT; id++) { /* what may be left out: rank, swizzle, pad */
        bool is_needed = enc_params[id].is_needed && (enc_params[id].kinds >> e->kind & 1);
        if (is_needed && (seen >> id & 1) == 0) {
            (void)pg_diag_add(p->diags, PG_D_ENC_NEEDS, kind.loc, PG_STR_ARG(kind.text),
                              enc_params[id].text);
            return false;
        }
    }
    if (e->rank == 0) {
        (void)pg_diag_add(p->diags, PG_D_ENC_NEEDS, kind.loc, PG_STR_ARG(kind.text), "rank");
        return false;
    }
    return true;
}
