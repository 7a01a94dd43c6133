/* parse_op.c: operations, regions and the names in scope. */
#include <string.h>

#include "ir/parse.h"

/* ---- names --------------------------------------------------------------------------------- */

/* Place of a symbol in the table of visible names, or NULL when out of memory. */
static uint32_t *place_of(pg_parser *p, pg_sym sym)
{
    if (sym.id >= p->names.n) {
        uint32_t more = sym.id - p->names.n + 1;
        if (!pg_vec_reserve(&p->scratch, &p->names, more)) {
            return NULL;
        }
        p->names.n = p->names.cap; /* the arena's memory is zero */
    }
    return &p->names.at[sym.id];
}

static const char *visible_word(const pg_parser *p, uint32_t i)
{
    return pg_sym_text(&p->ctx->syms, p->defs.at[i].name.sym).ptr;
}

bool pg_parse_find(pg_parser *p, const pg_tok *name, pg_val *out)
{
    pg_sym sym = pg_intern_find(&p->ctx->syms, name->text);
    uint32_t at = sym.id != 0 && sym.id < p->names.n ? p->names.at[sym.id] : 0;
    if (at != 0) {
        *out = p->defs.at[at - 1].val;
        return true;
    }
    *out = (pg_val){0};
    if (p->n_broken == 0 && pg_parse_is_news(p, '%', name->text)) {
        const char *more = pg_parse_suggest(
            p, name->text, (pg_parse_words){visible_word, p->defs.n, "%", PG_FOREIGN_NONE});
        (void)pg_diag_add(p->diags, PG_D_UNKNOWN_VALUE, name->loc, PG_STR_ARG(name->text), more);
    }
    return false;
}

/* Names of digits only are numbers that the printer gave. */
static bool is_number_name(pg_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return false;
        }
    }
    return true;
}

void pg_parse_define(pg_parser *p, pg_sym name, pg_loc loc, pg_val v)
{
    uint32_t *place = name.id == 0 ? NULL : place_of(p, name);
    if (place == NULL) {
        return;
    }
    if (*place != 0) {
        (void)pg_diag_add(p->diags, PG_D_NAME_TAKEN, loc, "%",
                          PG_STR_ARG(pg_sym_text(&p->ctx->syms, name)),
                          p->defs.at[*place - 1].name.loc.line);
        p->n_broken++; /* to the end of the region: the name that was meant is missing */
        return;
    }
    if (v.id != 0) {
        bool is_number = is_number_name(pg_sym_text(&p->ctx->syms, name));
        p->kernel->values.at[v.id].name = is_number ? (pg_sym){0} : name;
    }
    const pg_parsed_def def = {{name, loc}, v};
    if (pg_vec_push(&p->scratch, &p->defs, def)) {
        *place = p->defs.n;
    }
}

pg_parse_scope pg_parse_scope_begin(const pg_parser *p)
{
    return (pg_parse_scope){p->defs.n};
}

void pg_parse_scope_end(pg_parser *p, pg_parse_scope scope)
{
    while (p->defs.n > scope.n_defs) {
        p->names.at[p->defs.at[--p->defs.n].name.sym.id] = 0;
    }
}

/* What stands before the regions of an operation, its operands aside. */
typedef struct op_head {
    pg_op op;
    pg_loc loc;
    pg_sym sym; /* partition */
    pg_attrs attrs;
    bool has_else;
} op_head;

/* ---- operands ------------------------------------------------------------------------------ */

static bool is_literal_word(pg_str text)
{
    return pg_str_is(text, "true") || pg_str_is(text, "false") || pg_str_is(text, "inf") ||
           pg_str_is(text, "nan") || pg_str_is(text, "poison");
}

static bool parse_operand(pg_parser *p)
{
    pg_parsed_operand o = {.loc = p->tok.loc};
    if (p->tok.kind == PG_TOK_VAL) {
        (void)pg_parse_find(p, &p->tok, &o.val); /* reported there; the line goes on */
        pg_parse_advance(p);
        return pg_vec_push(&p->scratch, &p->operands, o);
    }
    bool is_typed = p->tok.kind == PG_TOK_WORD && !is_literal_word(p->tok.text);
    if (is_typed && !(pg_parse_type(p, &o.type) && pg_parse_expect(p, '('))) {
        return false;
    }
    if (p->tok.kind != PG_TOK_NUM &&
        !(p->tok.kind == PG_TOK_WORD && is_literal_word(p->tok.text))) {
        return pg_parse_failed(p, "a value, as %x, or a literal");
    }
    o.is_literal = true;
    o.text = p->tok.text;
    o.loc = p->tok.loc;
    pg_parse_advance(p);
    if (is_typed && !pg_parse_expect(p, ')')) {
        return false;
    }
    return pg_vec_push(&p->scratch, &p->operands, o);
}

static bool parse_operands(pg_parser *p)
{
    bool is_there =
        pg_parse_same_line(p) &&
        (p->tok.kind == PG_TOK_VAL || p->tok.kind == PG_TOK_NUM || p->tok.kind == PG_TOK_WORD);
    if (!is_there) {
        return true;
    }
    do {
        if (!parse_operand(p)) {
            return false;
        }
    } while (pg_parse_same_line(p) && pg_parse_take(p, ','));
    return true;
}

static bool parse_types(pg_parser *p)
{
    if (!pg_parse_same_line(p) || !pg_parse_take(p, ':')) {
        return true;
    }
    do {
        pg_type t;
        if (!pg_parse_type(p, &t) || !pg_vec_push(&p->scratch, &p->types, t)) {
            return false;
        }
    } while (pg_parse_same_line(p) && pg_parse_take(p, ','));
    return true;
}

static bool wants_float(pg_op op)
{
    return op == PG_OP_FCMP || pg_op_infos[op].res == PG_R_FLOAT;
}

/* The operation does not compute with numbers of this kind. */
static bool is_other_kind(pg_op op, const pg_type_info *type)
{
    const char cls = type->is_ptr != 0 ? '\0' : pg_elem_infos[type->elem].cls;
    const bool wants_int = op == PG_OP_ICMP || op == PG_OP_UCMP || pg_op_infos[op].res == PG_R_INT;
    return (wants_float(op) && cls == 'I') || (wants_int && cls == 'F');
}

/* It is the operation that is wrong where it stands, for its type or for another operand, and the
 * verifier says so: a literal may be right for what was meant. */
static bool is_wrong_operation(const pg_parser *p, const pg_operands *around,
                               const pg_type_info *type)
{
    bool is_wrong = is_other_kind(around->op, type);
    for (uint32_t i = 0; i < around->n_in; i++) {
        is_wrong = is_wrong || is_other_kind(around->op, pg_type_get(p->ctx->types, around->in[i]));
    }
    return is_wrong;
}

/* Says of a literal that cannot be read what may be meant: the number as its type has it, or the
 * operation for the other kind of numbers. */
static void literal_form(pg_parser *p, const pg_parsed_operand *o, pg_op op,
                         const pg_type_info *type)
{
    const bool is_ptr = type->is_ptr != 0;
    pg_nearest near = {.word = {"", 0}};
    pg_strbuf same;
    double x;
    pg_strbuf_init(&same, p->ctx->alloc);
    pg_literal_hint(o->text, (pg_elem)type->elem, is_ptr, &same);
    near.word = pg_strbuf_str(&same);
    if (near.word.len == 0 && !is_ptr && pg_elem_infos[type->elem].cls == 'I' &&
        pg_parse_f64(o->text, &x)) {
        const pg_op other = pg_op_sibling(&p->ctx->words, op, 'f');
        near.word = wants_float(other) ? pg_str_of(pg_op_infos[other].text) : near.word;
    }
    (void)pg_diag_add(p->diags, PG_D_LITERAL_FORM, o->loc, PG_STR_ARG(o->text),
                      is_ptr ? "a pointer" : pg_elem_infos[type->elem].text,
                      pg_nearest_text(&near, &p->scratch, p->ctx->alloc));
    pg_strbuf_fini(&same);
}

/* A literal as a constant of its type. False and a message where that cannot be. */
static bool make_literal(pg_parser *p, const pg_operands *around, uint32_t index, pg_val *out)
{
    const pg_parsed_operand *o = &p->operands.at[index];
    pg_type type = o->type.id != 0 ? o->type : pg_literal_type(p->kernel, around, index);
    const pg_type_info *info = pg_type_get(p->ctx->types, type);
    uint64_t bits = 0;
    bool is_poison = false;
    if (type.id == 0 && p->n_broken != 0) {
        return false; /* the owner's header is wrong: reported there */
    }
    if (info->kind != PG_TY_SCALAR && info->kind != PG_TY_TILE) {
        (void)pg_diag_add(p->diags, PG_D_LITERAL_PLACE, o->loc, PG_STR_ARG(o->text));
        return false;
    }
    pg_literal_error e =
        pg_literal_read(o->text, (pg_elem)info->elem, info->is_ptr != 0, &bits, &is_poison);
    const char *elem = info->is_ptr != 0 ? "a pointer" : pg_elem_infos[info->elem].text;
    if (e != PG_LIT_OK && is_wrong_operation(p, around, info)) {
        *out = pg_const_poison(p->kernel, type);
        return true;
    }
    switch (e) {
    case PG_LIT_OK:
        *out = is_poison ? pg_const_poison(p->kernel, type) : pg_const(p->kernel, type, bits);
        return true;
    case PG_LIT_RANGE:
        (void)pg_diag_add(p->diags, PG_D_LITERAL_RANGE, o->loc, PG_STR_ARG(o->text), elem);
        return false;
    case PG_LIT_WIDTH:
        (void)pg_diag_add(p->diags, PG_D_LITERAL_WIDTH, o->loc, PG_STR_ARG(o->text), elem);
        return false;
    case PG_LIT_FORM: break;
    }
    literal_form(p, o, around->op, info);
    return false;
}

/* The operands that are literals. */
static bool make_literals(pg_parser *p, const op_head *h, const pg_region *region)
{
    const uint32_t n = p->operands.n;
    pg_operands around = {.op = h->op,
                          .n_in = n,
                          .n_out = p->types.n,
                          .in = p->in_types.at,
                          .out = p->types.at,
                          .region = region};
    for (uint32_t i = 0; i < n; i++) {
        if (p->operands.at[i].is_literal && !make_literal(p, &around, i, &p->vals.at[i])) {
            return false;
        }
    }
    return true;
}

/* The operands as values. False if one is missing: then the operation is dropped. */
static bool make_operands(pg_parser *p, const op_head *h, const pg_region *region)
{
    const uint32_t n = p->operands.n;
    const pg_op_info *info = &pg_op_infos[h->op];
    if (n > UINT16_MAX || p->types.n > UINT16_MAX) {
        (void)pg_diag_add(p->diags, PG_D_TOO_MANY, p->operands.at[0].loc, UINT16_MAX);
        return false;
    }
    if (info->n_in >= 0 && n > (uint32_t)info->n_in + info->n_opt) {
        (void)pg_diag_add(p->diags, PG_D_OPERAND_COUNT, h->loc, info->text, n, "at most",
                          (uint32_t)info->n_in + info->n_opt);
        return false;
    }
    p->vals.n = p->in_types.n = 0;
    if (!pg_vec_room(&p->scratch, &p->vals, n) || !pg_vec_room(&p->scratch, &p->in_types, n)) {
        return false;
    }
    p->vals.n = p->in_types.n = n;
    bool has_all = true, has_literal = false;
    for (uint32_t i = 0; i < n; i++) {
        const pg_parsed_operand *o = &p->operands.at[i];
        has_all = has_all && (o->is_literal || o->val.id != 0);
        has_literal = has_literal || o->is_literal;
        p->vals.at[i] = o->val;
        p->in_types.at[i] = pg_val_type(p->kernel, o->val);
    }
    return has_all && (!has_literal || make_literals(p, h, region));
}

/* ---- the parts of an operation ------------------------------------------------------------- */

/* Results that have names but no operation: uses of them are not reported again. */
static void define_broken_results(pg_parser *p)
{
    for (uint32_t r = 0; r < p->results.n; r++) {
        pg_parse_define(p, p->results.at[r].sym, p->results.at[r].loc, (pg_val){0});
    }
}

static bool check_result_count(pg_parser *p, const op_head *h)
{
    if (p->results.n == p->types.n) {
        return true;
    }
    (void)pg_diag_add(p->diags, PG_D_RESULT_COUNT, h->loc, p->results.n, p->types.n);
    return false;
}

/* The instruction, or NULL and its message given. Its results have no names yet. */
static pg_inst *make_inst(pg_parser *p, const op_head *h, pg_region *region)
{
    static const uint8_t n_regions[PG_OP_COUNT] = {[PG_OP_FOR] = 1,
                                                   [PG_OP_WHILE] = 2,
                                                   [PG_OP_IF] = 2,
                                                   [PG_OP_ELECT] = 1,
                                                   [PG_OP_PARTITION] = 1};
    bool has_region = (pg_op_infos[h->op].flags & PG_F_REGION) != 0;
    if (!check_result_count(p, h) || !make_operands(p, h, region) || region == NULL ||
        (!has_region && p->diags->n_errors != p->n_errors)) {
        return NULL;
    }
    pg_inst *i = pg_inst_new(p->kernel, h->op, p->vals.n, p->vals.at, p->types.n, p->types.at,
                             n_regions[h->op]);
    if (i != NULL) {
        i->loc = h->loc;
        i->sym = h->sym;
        i->attrs = h->attrs;
        pg_inst_append(region, i);
    }
    return i;
}

static bool parse_results(pg_parser *p)
{
    p->results.n = 0;
    p->has_equals = false;
    if (p->tok.kind != PG_TOK_VAL) {
        return true;
    }
    do {
        pg_parsed_name name = {pg_intern(&p->ctx->syms, p->tok.text), p->tok.loc};
        if (p->tok.kind != PG_TOK_VAL) {
            return pg_parse_failed(p, "a result, as %x");
        }
        pg_parse_advance(p);
        if (!pg_vec_push(&p->scratch, &p->results, name)) {
            return false;
        }
    } while (pg_parse_take(p, ','));
    p->has_equals = pg_parse_expect(p, '=');
    return p->has_equals;
}

/* ---- regions ------------------------------------------------------------------------------- */

/* The names of an operation with regions outlive the parsing of those: they are kept apart. */
typedef struct kept_names {
    pg_parsed_name *at;
    uint32_t n;
} kept_names;

static kept_names keep_results(pg_parser *p)
{
    kept_names kept = {.n = p->results.n};
    kept.at = pg_arena_copy(&p->scratch, p->results.at, kept.n * sizeof *kept.at);
    kept.n = kept.at == NULL ? 0 : kept.n;
    return kept;
}

static void define_results(pg_parser *p, const kept_names *names, const pg_inst *i)
{
    for (uint32_t r = 0; r < names->n; r++) {
        pg_val v = i != NULL && r < i->n_out ? i->out[r] : (pg_val){0};
        pg_parse_define(p, names->at[r].sym, names->at[r].loc, v);
    }
}

/* The body behind an opening brace that is next. `i` may be NULL: the header had errors. */
static void parse_body(pg_parser *p, pg_inst *i, uint32_t index)
{
    pg_region *region = i == NULL ? NULL : i->regions[index];
    if (!pg_parse_brace(p)) {
        return;
    }
    p->n_broken += i == NULL;
    pg_parse_region(p, region);
    p->n_broken -= i == NULL;
}

/* The arguments of a loop's region; `i` may be NULL. */
static void define_loop_args(pg_parser *p, pg_inst *i, uint32_t region, const kept_names *carried)
{
    pg_type iv = {0};
    const uint32_t first = i == NULL ? 0 : pg_loop_arg(i);
    for (uint32_t b = 0; first != 0 && b < 3 && b < i->n_in; b++) { /* all bounds have one type */
        pg_type t = pg_val_type(p->kernel, i->in[b]);
        iv = iv.id == 0 || pg_value_of(p->kernel, i->in[b])->kind != PG_V_CONST ? t : iv;
    }
    for (uint32_t c = 0; c < carried->n; c++) {
        pg_val v = {0};
        if (i != NULL) {
            pg_type type = c < first              ? iv
                           : c - first < i->n_out ? pg_val_type(p->kernel, i->out[c - first])
                                                  : (pg_type){0};
            v = pg_region_add_arg(i->regions[region], type, carried->at[c].sym);
        }
        const uint32_t *place = place_of(p, carried->at[c].sym);
        if (region == 0 || place == NULL || *place == 0) { /* else it was reported for the test */
            pg_parse_define(p, carried->at[c].sym, carried->at[c].loc, v);
        }
    }
}

static bool take_name(pg_parser *p, const char *wanted)
{
    if (p->tok.kind != PG_TOK_VAL) {
        return pg_parse_failed(p, wanted);
    }
    pg_parsed_name name = {pg_intern(&p->ctx->syms, p->tok.text), p->tok.loc};
    pg_parse_advance(p);
    return pg_vec_push(&p->scratch, &p->carried, name);
}

static bool expect_word(pg_parser *p, const char *word, const char *wanted)
{
    return pg_parse_take_word(p, word) || pg_parse_failed(p, wanted);
}

static bool parse_carried(pg_parser *p)
{
    if (!pg_parse_same_line(p) || !pg_parse_take_word(p, "carry")) {
        return true;
    }
    if (!pg_parse_expect(p, '(')) {
        return false;
    }
    do {
        if (!take_name(p, "a carried value, as %x = 0") || !pg_parse_expect(p, '=') ||
            !parse_operand(p)) {
            return false;
        }
    } while (pg_parse_take(p, ','));
    return pg_parse_expect(p, ')');
}

static bool parse_for_head(pg_parser *p, op_head *h)
{
    p->carried.n = 0;
    return take_name(p, "the loop's variable, as %i") &&
           expect_word(p, "in", "`in` and the first bound") && parse_operand(p) &&
           expect_word(p, "to", "`to` and the second bound") && parse_operand(p) &&
           expect_word(p, "step", "`step` and the stride") && parse_operand(p) &&
           parse_carried(p) && pg_parse_attrs(p, &h->attrs) && parse_types(p);
}

static bool parse_head(pg_parser *p, op_head *h)
{
    p->operands.n = p->types.n = 0;
    p->items.n = 0;
    p->carried.n = 0;
    if (h->op == PG_OP_FOR) {
        return parse_for_head(p, h);
    }
    if (h->op == PG_OP_WHILE) {
        return parse_carried(p) && pg_parse_attrs(p, &h->attrs) && parse_types(p);
    }
    if (h->op == PG_OP_PARTITION) {
        if (p->tok.kind != PG_TOK_SYM) {
            return pg_parse_failed(p, "the partition's name, as @load");
        }
        h->sym = pg_intern(&p->ctx->syms, p->tok.text);
        pg_parse_advance(p);
        return pg_parse_attrs(p, &h->attrs);
    }
    return parse_operands(p) && pg_parse_attrs(p, &h->attrs) && parse_types(p);
}

/* The body of a `while`, behind its test. */
static void parse_do(pg_parser *p, pg_inst *i)
{
    if (expect_word(p, "do", "`do` and the body of while") || pg_tok_is(&p->tok, '{')) {
        parse_body(p, i, 1);
    } else if (!p->tok.is_first && pg_parse_recover(p)) {
        p->n_broken++;
        pg_parse_region(p, NULL);
        p->n_broken--;
    }
}

/* Operations with regions: the header is read, a brace is next or should be. */
static void parse_regions(pg_parser *p, const op_head *h, pg_region *region)
{
    const bool is_loop = h->op == PG_OP_FOR || h->op == PG_OP_WHILE;
    kept_names results = keep_results(p);
    kept_names carried = {.n = p->carried.n};
    carried.at = pg_arena_copy(&p->scratch, p->carried.at, carried.n * sizeof *carried.at);
    carried.n = carried.at == NULL ? 0 : carried.n;
    bool is_good = true;
    /* A loop has a result for each carried value. */
    const uint32_t n_carried = h->op == PG_OP_FOR ? carried.n - 1 : carried.n;
    if (is_loop && n_carried != p->types.n && p->results.n == p->types.n) {
        (void)pg_diag_add(p->diags, PG_D_CARRY_COUNT, h->loc, n_carried, p->types.n);
        is_good = false;
    }
    pg_inst *i = is_good ? make_inst(p, h, region) : NULL;
    pg_parse_scope scope = pg_parse_scope_begin(p);
    define_loop_args(p, i, 0, &carried);
    parse_body(p, i, 0);
    pg_parse_scope_end(p, scope);
    if (h->op == PG_OP_WHILE) {
        scope = pg_parse_scope_begin(p);
        define_loop_args(p, i, 1, &carried);
        parse_do(p, i);
        pg_parse_scope_end(p, scope);
    }
    if (h->op == PG_OP_IF && pg_parse_take_word(p, "else")) {
        parse_body(p, i, 1);
    }
    define_results(p, &results, i);
}

static const char *op_word(const pg_parser *p, uint32_t i)
{
    (void)p;
    return pg_op_infos[i + 1].text;
}

/* Operations that the language has reserved for its next versions. */
static bool is_later(pg_str word)
{
    static const char *const words[] = {
        "tma.load", "tma.store", "scan",     "chan.put", "chan.get", "mma.sync", "cluster.sync",
        "clone",    "slice",     "fill",     "update",   "matmul",   "gather",   "scatter",
        "assert",   "break",     "cp.async", "concat",   "split",    "dot",
    };
    for (uint32_t i = 0; i < PG_COUNT_OF(words); i++) {
        if (pg_str_is(word, words[i])) {
            return true;
        }
    }
    return false;
}

static void unknown_op(pg_parser *p, const pg_tok *word)
{
    if (is_later(word->text)) { /* another operation may do what is meant */
        const char *now =
            pg_parse_suggest(p, word->text, (pg_parse_words){op_word, 0, NULL, PG_FOREIGN_OP});
        (void)pg_diag_add(p->diags, PG_D_NOT_YET, word->loc, PG_STR_ARG(word->text), now);
        return;
    }
    p->has_lost_nesting = p->has_lost_nesting || p->results.n == 0;
    if (pg_str_is(word->text, "launch")) {
        if (p->diags->n == p->first_diag) { /* else what was wrong before may have put it here */
            (void)pg_diag_add(p->diags, PG_D_LEVEL, word->loc, "launch",
                              "here: a kernel has one, before its operations");
        }
        return;
    }
    const char *more = pg_parse_suggest(
        p, word->text, (pg_parse_words){op_word, PG_OP_COUNT - 1, NULL, PG_FOREIGN_OP});
    (void)pg_diag_add(p->diags, PG_D_UNKNOWN_OP, word->loc, PG_STR_ARG(word->text), more);
}

/* Of a line without `=` the names may be anything; of those that are new, uses are no news. */
static void define_skipped(pg_parser *p, const kept_names *names)
{
    for (uint32_t r = 0; r < names->n; r++) {
        const uint32_t *place = place_of(p, names->at[r].sym);
        if (place != NULL && *place == 0) {
            pg_parse_define(p, names->at[r].sym, names->at[r].loc, (pg_val){0});
        }
    }
}

/* After an error in a header: on to the next line; a body is still read, for its own errors. */
static void skip_operation(pg_parser *p, const op_head *h)
{
    const bool has_equals = p->has_equals;
    kept_names results = keep_results(p);
    kept_names carried = {.n = p->carried.n};
    carried.at = pg_arena_copy(&p->scratch, p->carried.at, carried.n * sizeof *carried.at);
    carried.n = carried.at == NULL ? 0 : carried.n;
    const bool wants_body = (pg_op_infos[h->op].flags & PG_F_REGION) != 0;
    const bool is_brace = pg_parse_recover(p) || (wants_body && pg_parse_can_be_body(p));
    const bool is_unsure = !has_equals && p->has_skipped_equals;
    if (is_brace) {
        pg_parse_scope scope = pg_parse_scope_begin(p);
        define_loop_args(p, NULL, 0, &carried);
        p->n_broken++;
        pg_parse_region(p, NULL);
        if (pg_parse_take_word(p, "else") || pg_parse_take_word(p, "do")) {
            parse_body(p, NULL, 1);
        }
        p->n_broken--;
        pg_parse_scope_end(p, scope);
    }
    if (has_equals) {
        define_results(p, &results, NULL);
    } else {
        define_skipped(p, &results);
    }
    p->n_broken += is_unsure; /* to the end of the region */
}

/* What stands behind an operation that is read: nothing, or the brace of its body. */
static bool check_end(pg_parser *p, bool has_region)
{
    if (!pg_parse_same_line(p) || pg_tok_is(&p->tok, has_region ? '{' : '}')) {
        return true;
    }
    const bool is_operand = p->tok.kind == PG_TOK_VAL || p->tok.kind == PG_TOK_NUM;
    return pg_parse_failed(p, has_region   ? "`{`"
                              : is_operand ? "`,` or the end of the line"
                                           : "the end of the line");
}

static void parse_op(pg_parser *p, pg_region *region)
{
    op_head h = {.op = PG_OP_NONE};
    const uint32_t first_diag = p->diags->n;
    p->carried.n = 0;
    p->start_line = p->tok.loc.line;
    p->n_errors = p->diags->n_errors;
    if (!parse_results(p)) {
        skip_operation(p, &h);
        return;
    }
    pg_tok word = p->tok;
    if (word.kind != PG_TOK_WORD || (word.is_first && p->results.n != 0)) {
        pg_parse_failed(p, "an operation");
        skip_operation(p, &h);
        return;
    }
    h.op = pg_op_find(&p->ctx->words, word.text);
    h.loc = word.loc;
    pg_parse_advance(p);
    if (p->results.n == 0 && pg_parse_same_line(p) && pg_tok_is(&p->tok, '=')) {
        (void)pg_diag_add(p->diags, PG_D_EXPECTED, word.loc, "a result, as %x", "",
                          PG_STR_ARG(word.text));
        skip_operation(p, &h);
        return;
    }
    if (h.op == PG_OP_NONE) {
        unknown_op(p, &word);
        skip_operation(p, &h);
        return;
    }
    const bool has_region = (pg_op_infos[h.op].flags & PG_F_REGION) != 0;
    const bool has_head = parse_head(p, &h);
    if (!has_head || !check_end(p, has_region)) {
        pg_diags_take_back(p->diags, has_head ? first_diag : p->diags->n, PG_D_UNKNOWN_VALUE);
        skip_operation(p, &h);
        return;
    }
    if (has_region) {
        parse_regions(p, &h, region);
        if (pg_parse_same_line(p) && !pg_tok_is(&p->tok, '}')) {
            (void)pg_parse_failed(p, "the end of the line");
            p->results.n = p->carried.n = 0;
            h.op = PG_OP_NONE; /* its bodies are read */
            skip_operation(p, &h);
        }
    } else {
        pg_inst *i = make_inst(p, &h, region);
        if (i == NULL) {
            define_broken_results(p);
        }
        for (uint32_t r = 0; i != NULL && r < i->n_out; r++) {
            pg_parse_define(p, p->results.at[r].sym, p->results.at[r].loc, i->out[r]);
        }
    }
}

/* A line that begins with what begins nothing, and was said to; and its block. */
static void skip_nothing(pg_parser *p)
{
    const bool is_brace = pg_tok_is(&p->tok, '{');
    const bool is_equals = pg_tok_is(&p->tok, '=');
    p->has_lost_nesting = true;
    pg_parse_advance(p);
    const bool is_block = pg_parse_recover(p) || (is_brace && p->tok.is_first);
    const bool is_unsure = is_equals || p->has_skipped_equals;
    if (is_block) {
        p->n_broken++;
        pg_parse_region(p, NULL);
        p->n_broken--;
    }
    p->n_broken += is_unsure; /* to the end of the region */
}

void pg_parse_region(pg_parser *p, pg_region *region)
{
    pg_parse_scope scope = pg_parse_scope_begin(p);
    const uint32_t n_broken = p->n_broken;
    if (p->depth >= PG_MAX_DEPTH) {
        (void)pg_diag_add(p->diags, PG_D_TOO_DEEP, p->tok.loc, "regions", PG_MAX_DEPTH);
        pg_parse_skip_deep(p);
    }
    p->depth++;
    pg_parse_extra_brace(p);
    while (!p->is_unwinding && p->tok.kind != PG_TOK_EOF && !pg_tok_is(&p->tok, '}') &&
           !pg_parse_at_item(p)) {
        const char *before = p->tok.text.ptr;
        pg_parse_watch(p);
        parse_op(p, region);
        if (p->tok.text.ptr == before && p->tok.kind != PG_TOK_EOF && !pg_tok_is(&p->tok, '}')) {
            skip_nothing(p);
        }
    }
    p->depth--;
    p->n_broken = n_broken;
    pg_parse_scope_end(p, scope);
    pg_parse_end_region(p);
}
