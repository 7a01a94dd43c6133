/* parse_type.c: types and attributes. */
#include <string.h>

#include "base/suggest.h"
#include "ir/parse.h"

/* ---- types --------------------------------------------------------------------------------- */

/* Most words that a text is compared with begin otherwise. */
static bool is_word(pg_str text, const char *word)
{
    return text.len > 0 && text.ptr[0] == word[0] && pg_str_is(text, word);
}

static pg_elem find_elem(pg_str text)
{
    for (uint32_t e = 1; e < PG_ELEM_COUNT; e++) {
        if (is_word(text, pg_elem_infos[e].text)) {
            return (pg_elem)e;
        }
    }
    return PG_ELEM_NONE;
}

static const struct {
    const char *text;
    pg_type_kind kind;
} kind_words[] = {
    {"tile", PG_TY_TILE}, {"desc", PG_TY_DESC},   {"buf", PG_TY_BUF},       {"ring", PG_TY_RING},
    {"bar", PG_TY_BAR},   {"token", PG_TY_TOKEN}, {"tensor", PG_TY_TENSOR}, {"ptr", PG_TY_SCALAR},
};

static pg_type_kind find_kind(pg_str text)
{
    for (uint32_t i = 0; i < PG_COUNT_OF(kind_words); i++) {
        if (is_word(text, kind_words[i].text)) {
            return kind_words[i].kind;
        }
    }
    return PG_TY_NONE;
}

static const char *elem_word(const pg_parser *p, uint32_t i)
{
    (void)p;
    return pg_elem_infos[i + 1].text;
}

static const char *type_word(const pg_parser *p, uint32_t i)
{
    return i < PG_COUNT_OF(kind_words) ? kind_words[i].text
                                       : elem_word(p, i - (uint32_t)PG_COUNT_OF(kind_words));
}

static const char *space_word(const pg_parser *p, uint32_t i)
{
    static const char *const words[] = {"smem", "dsmem", "tmem"};
    (void)p;
    return words[i];
}

static bool unknown_type(pg_parser *p, pg_str text, pg_loc loc)
{
    uint32_t n = (uint32_t)PG_COUNT_OF(kind_words) + PG_ELEM_COUNT - 1;
    const char *more =
        pg_parse_suggest(p, text, (pg_parse_words){type_word, n, NULL, PG_FOREIGN_TYPE});
    (void)pg_diag_add(p->diags, PG_D_UNKNOWN_TYPE, loc, PG_STR_ARG(text), more);
    return false;
}

/* An element type, or ptr<element>. */
static bool parse_elem(pg_parser *p, pg_type_info *info)
{
    if (p->tok.kind != PG_TOK_WORD) {
        return pg_parse_failed(p, "an element type, as f32");
    }
    pg_elem e = find_elem(p->tok.text);
    if (e == PG_ELEM_NONE) {
        return unknown_type(p, p->tok.text, p->tok.loc);
    }
    info->elem = (uint8_t)e;
    pg_parse_advance(p);
    return true;
}

/* The element after the dimensions: the rest of their token, and for pointers <element>. */
static bool parse_tail(pg_parser *p, pg_type_info *info, pg_str text, pg_loc loc)
{
    pg_parse_advance(p);
    if (text.len == 0) {
        return pg_parse_failed(p, "`x` and an element type, as 512xf32");
    }
    if (pg_str_is(text, "ptr")) {
        info->is_ptr = 1;
        return pg_parse_expect(p, '<') && parse_elem(p, info) && pg_parse_expect(p, '>');
    }
    info->elem = (uint8_t)find_elem(text);
    return info->elem != PG_ELEM_NONE || unknown_type(p, text, loc);
}

/* 128x64xf16, ?x64xf16, 128xptr<f16> */
static bool parse_dims(pg_parser *p, pg_type_info *info)
{
    pg_str text = p->tok.text;
    pg_loc loc = p->tok.loc;
    size_t at = 0;
    if (p->tok.kind != PG_TOK_NUM) {
        return pg_parse_failed(p, "extents and an element type, as 128x64xf16");
    }
    while (at < text.len && (text.ptr[at] == '?' || (text.ptr[at] >= '0' && text.ptr[at] <= '9'))) {
        size_t end = at;
        while (end < text.len && text.ptr[end] != 'x') {
            end++;
        }
        pg_str part = pg_str_sub(text, at, end);
        loc.column = p->tok.loc.column + (uint32_t)at;
        uint64_t extent = 0;
        bool is_dyn = pg_str_is(part, "?");
        bool is_number = is_dyn || pg_parse_u64(part, &extent);
        if (!is_number || (!is_dyn && (extent == 0 || extent > INT32_MAX))) {
            (void)pg_diag_add(p->diags, PG_D_BAD_EXTENT, loc, PG_STR_ARG(part));
            return false;
        }
        if (info->rank == PG_MAX_RANK) {
            (void)pg_diag_add(p->diags, PG_D_BAD_RANK, loc, PG_MAX_RANK);
            return false;
        }
        info->dims[info->rank++] = is_dyn ? PG_DYN : (int32_t)extent;
        at = end + 1;
    }
    loc.column = p->tok.loc.column + (uint32_t)(at < text.len ? at : text.len);
    return parse_tail(p, info, pg_str_sub(text, at, text.len), loc);
}

static const char *enc_name_word(const pg_parser *p, uint32_t i)
{
    return pg_sym_text(&p->ctx->syms, p->module->encs.at[i].name).ptr;
}

bool pg_parse_enc_use(pg_parser *p, pg_enc *out)
{
    if (p->tok.kind != PG_TOK_ENC) {
        return pg_parse_failed(p, "an encoding, as #enc");
    }
    pg_sym sym = pg_intern_find(&p->ctx->syms, p->tok.text);
    const uint32_t *at = sym.id == 0 ? NULL : pg_map_get(&p->encs, sym.id);
    if (at == NULL) {
        if (pg_parse_is_news(p, '#', p->tok.text)) {
            const char *more = pg_parse_suggest(
                p, p->tok.text,
                (pg_parse_words){enc_name_word, p->module->encs.n, "#", PG_FOREIGN_NONE});
            (void)pg_diag_add(p->diags, PG_D_UNKNOWN_ENC, p->tok.loc, PG_STR_ARG(p->tok.text),
                              more);
        }
        pg_parse_advance(p);
        return false;
    }
    *out = p->module->encs.at[*at].enc;
    bool is_good = out->id != 0; /* else its own line has the error */
    pg_parse_advance(p);
    return is_good;
}

static bool parse_space(pg_parser *p, pg_type_info *info)
{
    for (uint32_t s = 0; p->tok.kind == PG_TOK_WORD && s < 3; s++) {
        if (pg_parse_take_word(p, space_word(p, s))) {
            info->space = (uint8_t)(PG_SPACE_SMEM + s);
            return pg_parse_expect(p, ',');
        }
    }
    return pg_parse_failed(p, "a memory space: smem, dsmem or tmem");
}

static bool parse_count(pg_parser *p, pg_type_info *info)
{
    uint64_t n = 0;
    if (p->tok.kind != PG_TOK_NUM) {
        return pg_parse_failed(p, "a number");
    }
    if (!pg_parse_u64(p->tok.text, &n) || n == 0 || n > INT32_MAX) {
        (void)pg_diag_add(p->diags, PG_D_BAD_EXTENT, p->tok.loc, PG_STR_ARG(p->tok.text));
        return false;
    }
    info->dims[0] = (int32_t)n;
    pg_parse_advance(p);
    return true;
}

/* What stands between < and >. */
static bool parse_type_body(pg_parser *p, pg_type_info *info)
{
    if (info->kind == PG_TY_SCALAR) {
        info->is_ptr = 1;
        return parse_elem(p, info);
    }
    if (info->kind == PG_TY_RING || info->kind == PG_TY_BAR) {
        return parse_count(p, info);
    }
    if (info->kind == PG_TY_BUF && !parse_space(p, info)) {
        return false;
    }
    return parse_dims(p, info) && (!pg_parse_take(p, ',') || pg_parse_enc_use(p, &info->enc));
}

/* What is written of a type that begins at the next token, up to its last `>` on this line; empty
 * where it is longer than most. */
static pg_str text_of_type(const pg_parser *p, bool *has_name)
{
    const pg_str word = p->tok.text;
    const char *const end = p->lexer.source.ptr + p->lexer.source.len;
    const char *at = word.ptr + word.len;
    *has_name = false;
    if (at >= end || *at != '<') {
        return word;
    }
    const char *const most =
        end - word.ptr > PG_PARSED_TYPE_LEN ? word.ptr + PG_PARSED_TYPE_LEN : end;
    for (uint32_t depth = 0; at < most; at++) {
        const char c = *at;
        if (c == 'x' || (c >= '0' && c <= '9')) {
            continue;
        }
        depth += c == '<';
        *has_name = *has_name || c == '#';
        if (c == '>' && --depth == 0) {
            return (pg_str){word.ptr, (size_t)(at + 1 - word.ptr)};
        }
        if (c == '\n' || c == '/') {
            break;
        }
    }
    return (pg_str){0};
}

static pg_parsed_type *place_of_type(pg_parser *p, pg_str text)
{
    const size_t middle = text.len / 2;
    uint64_t at_end = 0, inside = 0;
    if (text.len >= sizeof at_end) {
        memcpy(&at_end, text.ptr + text.len - sizeof at_end, sizeof at_end);
        memcpy(&inside, text.ptr + middle - sizeof inside / 2, sizeof inside);
    } else {
        at_end = (uint64_t)(unsigned char)text.ptr[0] << 8 | (unsigned char)text.ptr[middle];
        inside = (unsigned char)text.ptr[text.len - 1];
    }
    const uint64_t hash = (at_end ^ inside * 3) * UINT64_C(0x9E3779B97F4A7C15);
    return &p->type_texts[(hash >> 40) % PG_PARSED_TYPES];
}

/* The type that was read before, letter by letter; id 0: none. Names of encodings belong to the
 * module. */
static pg_type known_type(pg_parser *p, pg_str text, bool has_name)
{
    pg_parsed_type *place = place_of_type(p, text);
    if (pg_str_eq(place->text, text)) {
        return place->type;
    }
    const pg_type type = has_name ? (pg_type){0} : pg_type_of_text(p->ctx->types, text);
    if (type.id != 0) {
        *place = (pg_parsed_type){text, type};
    }
    return type;
}

static void note_type(pg_parser *p, pg_str text, bool has_name, pg_type type)
{
    *place_of_type(p, text) = (pg_parsed_type){text, type};
    if (!has_name) {
        pg_type_note_text(p->ctx->types, text, type);
    }
}

/* Takes a type that is written so. */
static void take_type(pg_parser *p, pg_str text)
{
    const size_t n_more =
        text.len - p->tok.text.len; /* its last token is next, then what follows */
    if (n_more != 0) {
        p->tok.kind = PG_TOK_PUNCT;
        p->tok.loc.column += (uint32_t)text.len - 1;
        p->tok.text = (pg_str){text.ptr + text.len - 1, 1};
        p->lexer.at = (size_t)(text.ptr - p->lexer.source.ptr) + text.len;
    }
    pg_parse_advance(p);
}

/* A word is next. */
static bool read_type(pg_parser *p, pg_type *out)
{
    pg_type_info info;
    memset(&info, 0, sizeof info);
    pg_str word = p->tok.text;
    pg_loc loc = p->tok.loc;
    info.elem = (uint8_t)find_elem(word);
    info.kind = info.elem != PG_ELEM_NONE ? (uint8_t)PG_TY_SCALAR : (uint8_t)find_kind(word);
    if (info.kind == PG_TY_NONE) {
        return unknown_type(p, word, loc);
    }
    pg_parse_advance(p);
    bool has_body = info.elem == PG_ELEM_NONE && info.kind != PG_TY_TOKEN;
    if (has_body &&
        !(pg_parse_expect(p, '<') && parse_type_body(p, &info) && pg_parse_expect(p, '>'))) {
        return false;
    }
    *out = pg_type_intern(p->ctx->types, &info);
    return out->id != 0;
}

bool pg_parse_type(pg_parser *p, pg_type *out)
{
    *out = (pg_type){0};
    if (p->tok.kind != PG_TOK_WORD) {
        return pg_parse_failed(p, "a type");
    }
    bool has_name;
    const pg_str text = text_of_type(p, &has_name);
    *out = text.len == 0 ? (pg_type){0} : known_type(p, text, has_name);
    if (out->id != 0) {
        take_type(p, text);
        return true;
    }
    const uint32_t n_errors = p->diags->n_errors;
    const pg_loc from = p->tok.loc;
    if (!read_type(p, out)) {
        return false;
    }
    /* Nothing was wrong with it, and that is where it ends. */
    if (text.len != 0 && p->diags->n_errors == n_errors && p->last_end.line == from.line &&
        p->last_end.column == from.column + (uint32_t)text.len) {
        note_type(p, text, has_name, *out);
    }
    return true;
}

/* ---- attribute values ---------------------------------------------------------------------- */

static bool parse_int(pg_parser *p, int64_t *out)
{
    if (p->tok.kind != PG_TOK_NUM) {
        return pg_parse_failed(p, "an integer");
    }
    if (!pg_parse_i64(p->tok.text, out)) {
        (void)pg_diag_add(p->diags, PG_D_BAD_INT, p->tok.loc, PG_STR_ARG(p->tok.text));
        return false;
    }
    pg_parse_advance(p);
    return true;
}

static bool parse_word_value(pg_parser *p, pg_attr_id id, pg_aval *out)
{
    const char *words = pg_attr_infos[id].words;
    int64_t index = 0;
    out->kind = PG_AV_WORD;
    for (const char *at = words; p->tok.kind == PG_TOK_WORD && *at != '\0'; index++) {
        size_t n = strcspn(at, " ");
        if (pg_str_eq(p->tok.text, (pg_str){at, n})) {
            out->num = index;
            pg_parse_advance(p);
            return true;
        }
        at += n + (at[n] == ' ');
    }
    pg_nearest near = pg_nearest_of(p->tok.kind == PG_TOK_WORD ? p->tok.text : PG_STR(""));
    for (const char *at = words; *at != '\0';) {
        size_t n = strcspn(at, " ");
        pg_nearest_try(&near, (pg_str){at, n});
        at += n + (at[n] == ' ');
    }
    (void)pg_diag_add(p->diags, PG_D_ATTR_WORD, p->tok.loc, pg_attr_infos[id].text, words,
                      pg_nearest_text(&near, &p->scratch, p->ctx->alloc));
    return false;
}

/* To behind the parenthesis that closes a list, after an error in it, on this line. */
static void skip_list(pg_parser *p)
{
    uint32_t depth = 1;
    while (depth != 0 && !p->tok.is_first && !pg_tok_is(&p->tok, '{') && !pg_tok_is(&p->tok, '}')) {
        depth += pg_tok_is(&p->tok, '(');
        depth -= pg_tok_is(&p->tok, ')');
        pg_parse_advance(p);
    }
}

static bool parse_list(pg_parser *p, pg_attr_kind kind, uint32_t depth, pg_aval *out)
{
    uint32_t base = p->items.n;
    if (depth >= PG_MAX_NEST) {
        (void)pg_diag_add(p->diags, PG_D_TOO_DEEP, p->tok.loc, "lists", PG_MAX_NEST);
        return false;
    }
    pg_parse_advance(p); /* the parenthesis */
    bool is_good = true;
    if (!pg_tok_is(&p->tok, ')')) {
        do {
            pg_aval item = {.kind = PG_AV_NONE};
            is_good = pg_parse_item(p, kind, depth + 1, &item) &&
                      pg_vec_push(&p->scratch, &p->items, item);
        } while (is_good && pg_parse_take(p, ','));
    }
    if (!is_good || !pg_parse_expect(p, ')')) {
        is_good = false;
        skip_list(p);
    }
    out->kind = PG_AV_LIST;
    out->n = p->items.n - base;
    out->items = out->n == 0 ? NULL
                             : pg_arena_copy(&p->module->arena, p->items.at + base,
                                             out->n * sizeof *out->items);
    out->n = out->items == NULL ? 0 : out->n;
    p->items.n = base;
    return is_good;
}

static bool wrong_item(pg_parser *p, pg_attr_kind kind)
{
    static const char *const forms[] = {[PG_AK_FLAG] = "no value",
                                        [PG_AK_INT] = "an integer",
                                        [PG_AK_INTS] = "integers in parentheses, as (1, 0)",
                                        [PG_AK_WORD] = "a word",
                                        [PG_AK_SYM] = "a name, as @part",
                                        [PG_AK_SYMS] = "names, as @part or (@part, @other)",
                                        [PG_AK_VAL] = "a value, as %x",
                                        [PG_AK_VALS] = "extents in parentheses, as (%m, 4, ?)",
                                        [PG_AK_NEST] = "nested lists, as ((0, 1), (2, 0))"};
    return pg_parse_failed(p, forms[kind]);
}

/* One value, or one item of a list at depth > 0. */
bool pg_parse_item(pg_parser *p, pg_attr_kind kind, uint32_t depth, pg_aval *out)
{
    bool is_list = kind == PG_AK_INTS || kind == PG_AK_VALS || kind == PG_AK_NEST;
    uint32_t deepest = kind == PG_AK_NEST ? PG_MAX_NEST + 1 : kind == PG_AK_SYMS ? 2 : is_list;
    if (pg_tok_is(&p->tok, '(') && depth < deepest) {
        return parse_list(p, kind, depth, out);
    }
    bool is_scalar_place = depth > 0 || !is_list;
    if (is_scalar_place && p->tok.kind == PG_TOK_NUM && (kind == PG_AK_INT || is_list)) {
        out->kind = PG_AV_INT;
        return parse_int(p, &out->num);
    }
    if (is_scalar_place && p->tok.kind == PG_TOK_SYM && (kind == PG_AK_SYM || kind == PG_AK_SYMS)) {
        out->kind = PG_AV_SYM;
        out->sym = pg_intern(&p->ctx->syms, p->tok.text);
        pg_parse_advance(p);
        return true;
    }
    if (is_scalar_place && p->tok.kind == PG_TOK_VAL && (kind == PG_AK_VAL || kind == PG_AK_VALS)) {
        out->kind = PG_AV_VAL;
        (void)pg_parse_find(p, &p->tok, &out->val); /* reported there; the text goes on */
        pg_parse_advance(p);
        return true;
    }
    if (kind == PG_AK_VALS && depth > 0 && pg_parse_take(p, '?')) {
        out->kind = PG_AV_DYN;
        return true;
    }
    return wrong_item(p, kind);
}

/* ---- attributes ---------------------------------------------------------------------------- */

static const char *attr_word(const pg_parser *p, uint32_t i)
{
    (void)p;
    return pg_attr_infos[i + 1].text;
}

/* Skips what is left of an attribute: to a comma or bracket outside parentheses, or a line end. */
static void skip_value(pg_parser *p)
{
    uint32_t depth = 0;
    while (p->tok.kind != PG_TOK_EOF && !pg_tok_is(&p->tok, '{') && !pg_tok_is(&p->tok, '}')) {
        if (depth == 0 && (p->tok.is_first || pg_tok_is(&p->tok, ',') || pg_tok_is(&p->tok, ']'))) {
            return;
        }
        depth += pg_tok_is(&p->tok, '(');
        depth -= depth > 0 && pg_tok_is(&p->tok, ')');
        pg_parse_advance(p);
    }
}

static void add_attr(pg_parser *p, pg_attrs *out, pg_attr_id id, pg_aval value, pg_loc loc)
{
    if (pg_attr_has(out, id)) {
        (void)pg_diag_add(p->diags, PG_D_ATTR_TWICE, loc, pg_attr_infos[id].text);
        return;
    }
    if (value.kind == PG_AV_LIST && pg_attr_infos[id].kind == PG_AK_SYMS && value.n == 1 &&
        value.items[0].kind == PG_AV_SYM) {
        value = value.items[0];
    }
    if (!pg_attr_is_default(id, &value)) {
        pg_attr_set(p->kernel, out, id, value);
    }
}

/* False if what stands here is no attribute at all: then the list is not read further. */
static bool parse_attr(pg_parser *p, pg_attrs *out)
{
    pg_tok name = p->tok;
    if (name.kind != PG_TOK_WORD) {
        return !out->is_partial && pg_parse_failed(p, "an attribute");
    }
    pg_attr_id id = pg_attr_find(&p->ctx->words, name.text);
    pg_parse_advance(p);
    if (id == PG_A_NONE) {
        const char *more = pg_parse_suggest(
            p, name.text, (pg_parse_words){attr_word, PG_A_COUNT - 1, NULL, PG_FOREIGN_NONE});
        (void)pg_diag_add(p->diags, PG_D_UNKNOWN_ATTR, name.loc, PG_STR_ARG(name.text), more);
        out->is_partial = true;
        skip_value(p);
        return true;
    }
    pg_aval value = {.kind = PG_AV_FLAG};
    pg_attr_kind kind = (pg_attr_kind)pg_attr_infos[id].kind;
    if (kind == PG_AK_FLAG) {
        if (pg_tok_is(&p->tok, '=')) {
            (void)pg_diag_add(p->diags, PG_D_ATTR_FLAG, p->tok.loc, pg_attr_infos[id].text);
            skip_value(p);
        }
        add_attr(p, out, id, value, name.loc);
        return true;
    }
    bool is_good = pg_parse_expect(p, '=');
    if (is_good) {
        value.kind = PG_AV_NONE;
        is_good = kind == PG_AK_WORD ? parse_word_value(p, id, &value)
                                     : pg_parse_item(p, kind, 0, &value);
    }
    if (is_good) {
        add_attr(p, out, id, value, name.loc);
    } else {
        out->is_partial = true;
        skip_value(p);
    }
    return true;
}

bool pg_parse_attrs(pg_parser *p, pg_attrs *out)
{
    if (!pg_tok_is(&p->tok, '[') || (p->tok.is_first && p->depth > 0)) {
        return true;
    }
    pg_parse_advance(p);
    if (pg_parse_take(p, ']')) {
        return true;
    }
    do {
        if (!parse_attr(p, out)) {
            out->is_partial = true;
            return false;
        }
    } while (pg_parse_take(p, ','));
    return out->is_partial ? pg_parse_take(p, ']') : pg_parse_expect(p, ']');
}
