/* ptx_read.c: module level of the reader: header, variables, functions, scopes of names.
 * After an error the reader goes on at the next statement, so that one run reports all. Every loop
 * takes a token or ends, so time is linear in the text. */
#include <string.h>

#include "emit/ptx_reader.h"

/* ---- tokens --------------------------------------------------------------------------------- */

void pg_ptx_next(pg_ptx_reader *r)
{
    r->t = pg_ptx_lex(&r->lx);
}

bool pg_ptx_is_punct(const pg_ptx_reader *r, char c)
{
    return r->t.kind == PG_PTX_TK_PUNCT && r->t.c == c;
}

bool pg_ptx_is_directive(const pg_ptx_reader *r, const char *word)
{
    return r->t.kind == PG_PTX_TK_DIRECTIVE &&
           pg_str_is(pg_str_sub(r->t.text, 1, r->t.text.len), word);
}

bool pg_ptx_take(pg_ptx_reader *r, char c)
{
    if (!pg_ptx_is_punct(r, c)) {
        return false;
    }
    pg_ptx_next(r);
    return true;
}

bool pg_ptx_error(pg_ptx_reader *r, const char *expected)
{
    size_t n = r->t.text.len > 60 ? 60 : r->t.text.len;
    pg_diag_add(r->diags, PG_D_PTX_SYNTAX, r->t.loc, expected, (int)n, r->t.text.ptr);
    return false;
}

bool pg_ptx_expect(pg_ptx_reader *r, char c)
{
    if (pg_ptx_take(r, c)) {
        return true;
    }
    char expected[4] = {'\'', c, '\'', 0};
    return pg_ptx_error(r, expected);
}

void pg_ptx_text_done(pg_ptx_reader *r, pg_strbuf *text)
{
    if (text->is_oom) {
        r->arena->is_oom = true;
    }
    pg_strbuf_fini(text);
}

pg_str pg_ptx_keep(pg_ptx_reader *r, pg_str s)
{
    return pg_arena_str(r->arena, s);
}

void pg_ptx_skip_statement(pg_ptx_reader *r)
{
    uint32_t depth = 0;
    while (r->t.kind != PG_PTX_TK_END) {
        if (pg_ptx_is_punct(r, ';')) {
            pg_ptx_next(r);
            return;
        }
        if (pg_ptx_is_punct(r, '{')) {
            depth++;
        } else if (pg_ptx_is_punct(r, '}') && depth-- == 0) {
            return;
        }
        pg_ptx_next(r);
    }
}

/* The last byte of the comment that begins at p; p if none does. */
static const char *comment_end(const char *p, const char *to)
{
    if (to - p < 2 || p[0] != '/' || (p[1] != '/' && p[1] != '*')) {
        return p;
    }
    const bool is_line = p[1] == '/';
    for (const char *q = p + 2; q < to; q++) {
        if (is_line ? q[0] == '\n' : q - p > 2 && q[-1] == '*' && q[0] == '/') {
            return q;
        }
    }
    return to - 1;
}

/* Copy of the source from `from` to the end of the last token, each run of blanks as one; strings
 * as they are. Comments are kept elsewhere. */
static pg_str squeeze(pg_ptx_reader *r, const char *from, const char *to)
{
    char *out = pg_arena_get(r->arena, 1, (size_t)(to - from) + 1);
    size_t n = 0;
    bool was_blank = true, is_string = false;
    for (const char *p = from; out != NULL && p < to; p++) {
        const char *end = is_string ? p : comment_end(p, to);
        const bool is_blank =
            end != p || (!is_string && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'));
        p = end;
        is_string = is_string != (!is_blank && *p == '"');
        if (!is_blank || !was_blank) {
            out[n++] = is_blank ? ' ' : *p;
        }
        was_blank = is_blank;
    }
    while (n > 0 && out[n - 1] == ' ') {
        n--;
    }
    return (pg_str){out, out != NULL ? n : 0};
}

pg_str pg_ptx_raw_until(pg_ptx_reader *r, char c)
{
    const char *from = r->t.text.ptr;
    const char *to = from;
    while (r->t.kind != PG_PTX_TK_END && !pg_ptx_is_punct(r, '}')) {
        to = r->t.text.ptr + r->t.text.len;
        if (pg_ptx_is_punct(r, c)) {
            pg_ptx_next(r);
            return squeeze(r, from, to);
        }
        pg_ptx_next(r);
    }
    char expected[4] = {'\'', c, '\'', 0};
    pg_ptx_error(r, expected);
    return squeeze(r, from, to);
}

/* ---- names ---------------------------------------------------------------------------------- */

bool pg_ptx_declare(pg_ptx_reader *r, pg_str name, pg_loc loc, pg_ptx_name_kind kind, uint32_t id)
{
    const uint32_t *old = pg_map_get_str(&r->map, name);
    pg_ptx_name n = {.kind = (uint8_t)kind,
                     .scope = r->scopes[r->depth].id,
                     .id = id,
                     .outer = old != NULL ? *old : UINT32_MAX};
    if (old != NULL && r->names.at[*old].scope == n.scope) {
        pg_diag_add(r->diags, PG_D_PTX_REDECLARED, loc, PG_STR_ARG(name));
        return false;
    }
    pg_ptx_undo u = {.key = name, .value = n.outer};
    return (old == NULL || pg_vec_push(r->arena, &r->undo, u)) &&
           pg_vec_push(r->arena, &r->names, n) && pg_map_put_str(&r->map, name, r->names.n - 1);
}

const pg_ptx_name *pg_ptx_lookup(const pg_ptx_reader *r, pg_str name)
{
    const uint32_t *i = pg_map_get_str(&r->map, name);
    return i != NULL ? &r->names.at[*i] : NULL;
}

/* %r12 as member 12 of a family %r<20>, looked for from the inner scopes outwards. */
static uint32_t lookup_member(const pg_ptx_reader *r, pg_str name)
{
    size_t n = name.len;
    while (n > 0 && name.ptr[n - 1] >= '0' && name.ptr[n - 1] <= '9' && name.len - n < 9) {
        n--;
    }
    for (; n < name.len; n++) { /* the base itself may end in digits: %p1<5> */
        if (name.ptr[n] == '0' && n + 1 < name.len) {
            continue;
        }
        uint64_t number = 0;
        const uint32_t *i = pg_map_get_str(&r->map, (pg_str){name.ptr, n});
        if (i == NULL || !pg_parse_u64(pg_str_sub(name, n, name.len), &number)) {
            continue;
        }
        uint32_t at = *i;
        for (uint32_t steps = 0; at != UINT32_MAX && steps < PG_PTX_MAX_SCOPES; steps++) {
            const pg_ptx_name *e = &r->names.at[at];
            if (e->kind == PG_PTX_N_FAMILY && number < r->f->regdecls.at[e->id].count) {
                return r->f->regdecls.at[e->id].first_reg + (uint32_t)number;
            }
            at = e->outer;
        }
    }
    return UINT32_MAX;
}

uint32_t pg_ptx_lookup_reg(const pg_ptx_reader *r, pg_str name)
{
    const pg_ptx_name *n = pg_ptx_lookup(r, name);
    if (n != NULL && n->kind == PG_PTX_N_REG) {
        return n->id;
    }
    return r->f != NULL && name.len > 1 ? lookup_member(r, name) : UINT32_MAX;
}

bool pg_ptx_scope_open(pg_ptx_reader *r)
{
    if (r->depth + 1 == PG_PTX_MAX_SCOPES) {
        pg_diag_add(r->diags, PG_D_PTX_LIMIT, r->t.loc, "nested scopes");
        return false;
    }
    r->scopes[++r->depth] = (pg_ptx_scope){.n_map = r->map.entries.n,
                                           .n_undo = r->undo.n,
                                           .n_fixups = r->fixups.n,
                                           .id = ++r->n_scopes};
    return true;
}

void pg_ptx_scope_close(pg_ptx_reader *r)
{
    const pg_ptx_scope *s = &r->scopes[r->depth];
    uint32_t kept = s->n_fixups;
    for (uint32_t i = s->n_fixups; i < r->fixups.n; i++) {
        pg_ptx_fixup *x = &r->fixups.at[i];
        const pg_ptx_name *n = pg_ptx_lookup(r, x->name);
        if (n != NULL && n->kind == PG_PTX_N_LABEL && n->scope == s->id) {
            r->f->pool.at[x->pool].id = n->id;
        } else if (r->depth > 1) {
            r->fixups.at[kept++] = *x; /* a scope further out may have it */
        } else {
            pg_diag_add(r->diags, PG_D_PTX_UNDECLARED, x->loc,
                        (int)(x->name.len > 60 ? 60 : x->name.len), x->name.ptr);
        }
    }
    r->fixups.n = kept;
    while (r->undo.n > s->n_undo) {
        const pg_ptx_undo *u = &r->undo.at[--r->undo.n];
        (void)pg_map_put_str(&r->map, u->key, u->value); /* overwrites: takes no memory */
    }
    pg_map_truncate(&r->map, s->n_map);
    r->depth--;
}

/* ---- comments ------------------------------------------------------------------------------- */

/* Comments before a function become its lead, up to the last one before an empty line. */
static void comments_to_func(pg_ptx_reader *r, pg_ptx_func *f)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < r->lx.comments.n; i++) {
        if (r->lx.comments.at[i].before_blank) {
            first = i + 1;
        }
    }
    for (uint32_t i = 0; i < r->lx.comments.n; i++) {
        pg_str text = pg_ptx_keep(r, r->lx.comments.at[i].text);
        pg_ptx_item item = {.kind = PG_PTX_I_COMMENT, .text = text};
        if (i < first) {
            (void)pg_vec_push(r->arena, &r->m->items, item);
        } else {
            (void)pg_vec_push(r->arena, &f->lead, text);
        }
    }
    r->lx.comments.n = 0;
}

static void comments_to_items(pg_ptx_reader *r)
{
    for (uint32_t i = 0; i < r->lx.comments.n; i++) {
        pg_ptx_item item = {.kind = PG_PTX_I_COMMENT,
                            .text = pg_ptx_keep(r, r->lx.comments.at[i].text)};
        (void)pg_vec_push(r->arena, &r->m->items, item);
    }
    r->lx.comments.n = 0;
}

static void comments_to_header(pg_ptx_reader *r)
{
    for (uint32_t i = 0; i < r->lx.comments.n; i++) {
        pg_str text = pg_ptx_keep(r, r->lx.comments.at[i].text);
        (void)pg_vec_push(r->arena, &r->m->header_comments, text);
    }
    r->lx.comments.n = 0;
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool use_param(pg_ptx_reader *r, uint32_t sym)
{
    return pg_vec_push(r->arena, &r->f->params, sym);
}

static bool use_return(pg_ptx_reader *r, uint32_t sym)
{
    return pg_vec_push(r->arena, &r->f->returns, sym);
}

static bool read_params(pg_ptx_reader *r, pg_ptx_use_sym *use)
{
    if (!pg_ptx_expect(r, '(')) {
        return false;
    }
    while (!pg_ptx_is_punct(r, ')')) {
        pg_ptx_decl_rule rule = {.is_param = true};
        if (!pg_ptx_at_space(r)) {
            return pg_ptx_error(r, "a parameter");
        }
        if (!pg_ptx_read_var(r, rule, use)) {
            return false;
        }
        if (!pg_ptx_is_punct(r, ')') && !pg_ptx_expect(r, ',')) {
            return false;
        }
    }
    pg_ptx_next(r);
    return true;
}

/* One directive after the parameters: ".reqntid 384, 1, 1", ".pragma "nounroll";". */
static bool read_func_directive(pg_ptx_reader *r)
{
    pg_strbuf b;
    pg_strbuf_init(&b, r->arena->alloc);
    pg_put_str(&b, r->t.text);
    bool is_pragma = pg_ptx_is_directive(r, "pragma");
    uint32_t parens = 0;
    bool glue = false;
    pg_ptx_next(r);
    while (r->t.kind != PG_PTX_TK_END && !pg_ptx_is_punct(r, '{') && !pg_ptx_is_punct(r, '}') &&
           (parens != 0 || r->t.kind != PG_PTX_TK_DIRECTIVE) &&
           (is_pragma || !pg_ptx_is_punct(r, ';'))) {
        bool is_punct = r->t.kind == PG_PTX_TK_PUNCT;
        if (is_punct && r->t.c != ',' && r->t.c != '(' && r->t.c != ')' && r->t.c != ';') {
            pg_ptx_text_done(r, &b);
            return pg_ptx_error(r, "an argument of the directive");
        }
        parens += pg_ptx_is_punct(r, '(') ? 1 : 0;
        parens -= pg_ptx_is_punct(r, ')') && parens > 0 ? 1 : 0;
        if (!is_punct && !glue) {
            pg_put_char(&b, ' ');
        }
        pg_put_str(&b, r->t.text);
        glue = is_punct && r->t.c != ',';
        bool is_end = pg_ptx_is_punct(r, ';');
        pg_ptx_next(r);
        if (is_end) {
            break;
        }
    }
    pg_str text = pg_ptx_keep(r, pg_strbuf_str(&b));
    bool ok = pg_strbuf_status(&b) == PG_OK && pg_vec_push(r->arena, &r->f->directives, text);
    pg_ptx_text_done(r, &b);
    return ok;
}

/* The function's symbol: shared with a declaration that came before. */
static uint32_t func_symbol(pg_ptx_reader *r, pg_str name, pg_loc loc, uint8_t linkage)
{
    const pg_ptx_name *n = pg_ptx_lookup(r, name);
    uint32_t sym;
    if (n != NULL && n->kind == PG_PTX_N_SYM && r->m->syms.at[n->id].kind == PG_PTX_SYM_FUNC) {
        sym = n->id;
    } else {
        pg_ptx_sym s = {.kind = PG_PTX_SYM_FUNC, .name = name, .func = r->f_index, .loc = loc};
        sym = pg_ptx_sym_new(r->m, s);
        if (sym == 0 || !pg_ptx_declare(r, r->m->syms.at[sym].name, loc, PG_PTX_N_SYM, sym)) {
            return sym;
        }
    }
    r->m->syms.at[sym].linkage = linkage;
    return sym;
}

/* Head of the function up to its body, in the scope of the parameters. */
static bool read_func_head(pg_ptx_reader *r, uint8_t linkage)
{
    pg_ptx_func *f = r->f;
    bool ok = true;
    if (!f->is_entry && pg_ptx_is_punct(r, '(')) {
        ok = read_params(r, use_return);
    }
    if (!ok || r->t.kind != PG_PTX_TK_WORD) {
        return ok ? pg_ptx_error(r, "the function's name") : false;
    }
    uint32_t inner = r->depth; /* the name belongs to the module */
    r->depth = 0;
    f->sym = func_symbol(r, r->t.text, r->t.loc, linkage);
    r->depth = inner;
    if (f->sym == 0) {
        return false;
    }
    pg_ptx_next(r);
    if (pg_ptx_is_punct(r, '(') && !read_params(r, use_param)) {
        return false;
    }
    for (uint32_t i = 0; i < f->params.n + f->returns.n; i++) {
        uint32_t s = i < f->params.n ? f->params.at[i] : f->returns.at[i - f->params.n];
        r->m->syms.at[s].func = r->f_index;
    }
    while (r->t.kind == PG_PTX_TK_DIRECTIVE) {
        if (!read_func_directive(r)) {
            return false;
        }
    }
    return true;
}

/* After an error in the head: past the body, so that its statements make no errors of their own. */
static void skip_func(pg_ptx_reader *r)
{
    uint32_t depth = 0;
    while (r->t.kind != PG_PTX_TK_END) {
        bool is_close = pg_ptx_is_punct(r, '}');
        bool is_end = is_close && depth <= 1;
        if (pg_ptx_is_punct(r, '{')) {
            depth++;
        } else if (is_close) {
            depth -= depth > 0 ? 1 : 0;
        } else if (pg_ptx_is_punct(r, ';') && depth == 0) {
            is_end = true;
        }
        pg_ptx_next(r);
        if (is_end) {
            return;
        }
    }
}

static bool read_func(pg_ptx_reader *r, bool is_entry, uint8_t linkage)
{
    pg_ptx_func *f = PG_NEW(r->arena, pg_ptx_func);
    pg_ptx_next(r);
    if (f == NULL) {
        return false;
    }
    f->is_entry = is_entry;
    comments_to_func(r, f);
    r->f = f;
    r->f_index = r->m->funcs.n;
    pg_ptx_item item = {.kind = PG_PTX_I_FUNC, .id = r->f_index};
    if (!pg_vec_push(r->arena, &r->m->funcs, f) || !pg_vec_push(r->arena, &r->m->items, item) ||
        !pg_ptx_scope_open(r)) {
        return false;
    }
    if (!read_func_head(r, linkage)) {
        skip_func(r);
    } else if (pg_ptx_take(r, '{')) {
        f->has_body = true;
        r->m->syms.at[f->sym].func = r->f_index;
        pg_ptx_read_body(r);
    } else {
        (void)pg_ptx_expect(r, ';');
    }
    pg_ptx_scope_close(r);
    r->f = NULL;
    if (f->sym != 0) { /* its name outlives the scope of its parameters */
        const pg_ptx_sym *s = &r->m->syms.at[f->sym];
        return pg_ptx_lookup(r, s->name) != NULL ||
               pg_ptx_declare(r, s->name, s->loc, PG_PTX_N_SYM, f->sym);
    }
    return true;
}

/* ---- module level --------------------------------------------------------------------------- */

static bool use_var(pg_ptx_reader *r, uint32_t sym)
{
    pg_ptx_item item = {.kind = PG_PTX_I_VAR, .id = sym};
    return pg_vec_push(r->arena, &r->m->items, item);
}

static bool add_raw(pg_ptx_reader *r, pg_str text)
{
    pg_ptx_item item = {.kind = PG_PTX_I_RAW, .text = text};
    return pg_vec_push(r->arena, &r->m->items, item);
}

/* .section NAME { ... } as written. */
static bool read_section(pg_ptx_reader *r)
{
    const char *from = r->t.text.ptr;
    while (r->t.kind != PG_PTX_TK_END && !pg_ptx_is_punct(r, '{')) {
        pg_ptx_next(r);
    }
    while (r->t.kind != PG_PTX_TK_END && !pg_ptx_is_punct(r, '}')) {
        pg_ptx_next(r);
    }
    const char *to = r->t.text.ptr + 1;
    if (r->t.kind == PG_PTX_TK_END) {
        return pg_ptx_error(r, "'}'");
    }
    pg_ptx_next(r);
    r->lx.comments.n = 0; /* they stand in the text */
    return add_raw(r, pg_ptx_keep(r, (pg_str){from, (size_t)(to - from)}));
}

static bool read_version(pg_ptx_reader *r)
{
    pg_ptx_next(r);
    pg_str s = r->t.text;
    size_t dot = 0;
    while (dot < s.len && s.ptr[dot] != '.') {
        dot++;
    }
    uint64_t major = 0;
    uint64_t minor = 0;
    if (!pg_parse_u64(pg_str_sub(s, 0, dot), &major) ||
        !pg_parse_u64(pg_str_sub(s, dot + 1, s.len), &minor) || major > 99 || minor > 9) {
        return pg_ptx_error(r, "a version as in 8.0");
    }
    r->m->version = (uint16_t)(major * 10 + minor);
    pg_ptx_next(r);
    return true;
}

static bool read_target(pg_ptx_reader *r)
{
    pg_ptx_next(r);
    if (r->t.kind != PG_PTX_TK_WORD) {
        return pg_ptx_error(r, "a target as in sm_90a");
    }
    r->m->target = pg_ptx_keep(r, r->t.text);
    pg_ptx_next(r);
    pg_strbuf b;
    pg_strbuf_init(&b, r->arena->alloc);
    while (pg_ptx_take(r, ',') && r->t.kind == PG_PTX_TK_WORD) {
        pg_put(&b, ", ");
        pg_put_str(&b, r->t.text);
        pg_ptx_next(r);
    }
    if (b.len != 0) {
        r->m->target_options = pg_ptx_keep(r, pg_strbuf_str(&b));
    }
    pg_ptx_text_done(r, &b);
    return true;
}

static bool read_header(pg_ptx_reader *r)
{
    if (pg_ptx_is_directive(r, "version")) {
        return read_version(r);
    }
    if (pg_ptx_is_directive(r, "target")) {
        return read_target(r);
    }
    uint64_t n = 0;
    pg_ptx_next(r);
    if (!pg_ptx_read_number(r, &n) || (n != 32 && n != 64)) {
        return pg_ptx_error(r, "64");
    }
    r->m->address_size = (uint8_t)n;
    return true;
}

static uint8_t read_linkage(pg_ptx_reader *r)
{
    static const char *const words[] = {"visible", "extern", "weak", "common"};
    uint8_t linkage = 0;
    for (;;) {
        uint32_t i = 0;
        while (i < 4 && !pg_ptx_is_directive(r, words[i])) {
            i++;
        }
        if (i == 4) {
            return linkage;
        }
        linkage = (uint8_t)(linkage | 1U << i);
        pg_ptx_next(r);
    }
}

/* .file 1 "name": no semicolon, ends with the line. */
static bool read_line_item(pg_ptx_reader *r)
{
    pg_str line = pg_ptx_lex_line(&r->lx, r->t.text.ptr);
    bool ok = add_raw(r, pg_ptx_keep(r, line));
    pg_ptx_next(r);
    return ok;
}

static bool read_item(pg_ptx_reader *r)
{
    if (pg_ptx_is_directive(r, "version") || pg_ptx_is_directive(r, "target") ||
        pg_ptx_is_directive(r, "address_size")) {
        return read_header(r);
    }
    uint8_t linkage = read_linkage(r);
    if (pg_ptx_is_directive(r, "entry") || pg_ptx_is_directive(r, "func")) {
        return read_func(r, pg_ptx_is_directive(r, "entry"), linkage);
    }
    comments_to_items(r);
    if (pg_ptx_is_directive(r, "file") || pg_ptx_is_directive(r, "loc")) {
        return read_line_item(r);
    }
    if (pg_ptx_is_directive(r, "section")) {
        return read_section(r);
    }
    if (pg_ptx_is_directive(r, "pragma") || pg_ptx_is_directive(r, "alias")) {
        return add_raw(r, pg_ptx_raw_until(r, ';'));
    }
    if (pg_ptx_at_space(r) && !pg_ptx_is_directive(r, "reg")) {
        pg_ptx_decl_rule rule = {.linkage = linkage};
        return pg_ptx_read_var(r, rule, use_var) && pg_ptx_expect(r, ';');
    }
    return pg_ptx_error(r, "a variable, a function or a directive");
}

/* After an error between functions: to what may begin the next item. */
static void skip_item(pg_ptx_reader *r)
{
    static const char *const starts[] = {"visible", "extern", "weak", "common",
                                         "entry",   "func",   "file", "section"};
    bool is_first = true;
    for (; r->t.kind != PG_PTX_TK_END; is_first = false) {
        for (uint32_t i = 0; !is_first && i < PG_COUNT_OF(starts); i++) {
            if (pg_ptx_is_directive(r, starts[i])) {
                return;
            }
        }
        if (pg_ptx_take(r, ';') || pg_ptx_take(r, '}')) {
            return;
        }
        pg_ptx_next(r);
    }
}

static void read_module(pg_ptx_reader *r)
{
    bool has_target = false;
    pg_ptx_next(r);
    while (r->t.kind != PG_PTX_TK_END && !r->arena->is_oom) {
        bool is_header = pg_ptx_is_directive(r, "version") || pg_ptx_is_directive(r, "target") ||
                         pg_ptx_is_directive(r, "address_size");
        if (is_header) {
            comments_to_header(r);
            has_target = has_target || pg_ptx_is_directive(r, "target");
        }
        if (!read_item(r)) {
            skip_item(r);
        }
    }
    comments_to_items(r);
    if (r->m->version == 0 || !has_target) {
        pg_diag_add(r->diags, PG_D_PTX_HEADER, (pg_loc){1, 1},
                    r->m->version == 0 ? ".version" : ".target");
    }
}

pg_status pg_ptx_read(pg_arena *arena, pg_str text, pg_diags *diags, pg_ptx_module **out)
{
    *out = NULL;
    if (text.len > UINT32_MAX / 2) {
        return pg_diag_add(diags, PG_D_PTX_LIMIT, (pg_loc){1, 1}, "bytes");
    }
    pg_ptx_reader *r = PG_NEW(arena, pg_ptx_reader);
    if (r == NULL) {
        return PG_E_NOMEM;
    }
    r->arena = arena;
    r->diags = diags;
    r->m = pg_ptx_module_new(arena);
    r->n_regs_left = (1U << 20) + text.len;
    pg_map_init(&r->map, arena);
    pg_map_init(&r->spelling_map, arena);
    pg_ptx_lex_init(&r->lx, arena, diags, text);
    if (r->m == NULL) {
        return PG_E_NOMEM;
    }
    uint32_t n_before = diags->n_errors;
    read_module(r);
    pg_diags_sort(diags);
    PG_TRY(pg_arena_status(arena));
    if (diags->n_errors != n_before) {
        return pg_diags_status(diags);
    }
    *out = r->m;
    return PG_OK;
}
