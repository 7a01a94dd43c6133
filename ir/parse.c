/* parse.c: modules, encodings and kernels. The grammar is docs/ptir.md. */
#include "ir/parse.h"

#include <string.h>

#include "ir/layout_text.h"
#include "ir/verify.h"

/* ---- tokens -------------------------------------------------------------------------------- */

/* What can be no token is reported and left out. */
static void skip_bad(pg_parser *p)
{
    for (; p->tok.kind == PG_TOK_BAD; pg_lex_next(&p->lexer, &p->tok)) {
        if (p->is_skipping) {
            continue;
        }
        if (p->tok.is_first || pg_str_is(pg_str_sub(p->tok.text, 0, 2), "/*")) {
            pg_lex_skip_comment(&p->lexer, &p->tok);
        }
        if (p->tok.loc.line == p->bad_line || p->tok.loc.line == p->quiet_line) {
            continue;
        }
        p->bad_line = p->tok.loc.line;
        pg_str text = pg_str_sub(p->tok.text, 0, 1);
        unsigned char c = (unsigned char)text.ptr[0];
        if (c > ' ' && c < 0x7F) {
            (void)pg_diag_add(p->diags, PG_D_BAD_CHAR, p->tok.loc, PG_STR_ARG(text));
        } else {
            (void)pg_diag_add(p->diags, PG_D_BAD_BYTE, p->tok.loc, c);
        }
    }
}

void pg_parse_advance(pg_parser *p)
{
    p->last_end = p->tok.loc;
    p->last_end.column += (uint32_t)p->tok.text.len + pg_tok_has_sigil(&p->tok);
    /* What has 64 errors is not worth reading on. */
    if (p->diags->n_errors >= PG_MAX_DIAGS) {
        p->lexer.at = p->lexer.source.len;
    }
    pg_lex_next(&p->lexer, &p->tok);
    if (p->tok.kind == PG_TOK_BAD) {
        skip_bad(p);
    }
}

void pg_parse_watch(pg_parser *p)
{
    if (p->module->arena.is_oom || p->scratch.is_oom || p->ctx->arena.is_oom) {
        p->lexer.at = p->lexer.source.len;
    }
}

bool pg_parse_take_word(pg_parser *p, const char *word)
{
    if (p->tok.kind != PG_TOK_WORD || !pg_str_is(p->tok.text, word)) {
        return false;
    }
    pg_parse_advance(p);
    return true;
}

bool pg_parse_expect(pg_parser *p, char punct)
{
    if (pg_parse_take(p, punct)) {
        return true;
    }
    const char wanted[] = {'`', punct, '`', '\0'};
    return pg_parse_failed(p, wanted);
}

/* ---- module -------------------------------------------------------------------------------- */

static void parse_version(pg_parser *p)
{
    p->start_line = p->tok.loc.line;
    if (!pg_parse_take_word(p, "ptir")) {
        (void)pg_diag_add(p->diags, PG_D_NO_VERSION, p->tok.loc);
        return;
    }
    if (p->tok.kind != PG_TOK_NUM || p->tok.is_first) {
        pg_parse_failed(p, "the language's version, 1");
        return;
    }
    if (!pg_str_is(p->tok.text, "1")) {
        (void)pg_diag_add(p->diags, PG_D_VERSION, p->tok.loc, PG_STR_ARG(p->tok.text));
    }
    pg_parse_advance(p);
}

static void parse_module_line(pg_parser *p)
{
    p->start_line = p->tok.loc.line;
    if (!pg_parse_take_word(p, "module")) {
        pg_parse_failed(p, "`module` and a target");
        return;
    }
    if (p->tok.kind != PG_TOK_WORD || p->tok.is_first) {
        pg_parse_failed(p, "a target, as sm_90a");
        return;
    }
    (void)pg_module_set_target(p->module, p->tok.text, p->tok.loc);
    pg_parse_advance(p);
}

static void parse_enc(pg_parser *p)
{
    pg_enc_info info;
    memset(&info, 0, sizeof info);
    pg_tok name = p->tok;
    if (name.kind != PG_TOK_ENC || name.is_first) {
        pg_parse_failed(p, "a name, as #enc");
        pg_parse_recover(p);
        return;
    }
    pg_parse_advance(p);
    bool is_good = pg_parse_expect(p, '=') && pg_parse_enc_body(p, &info);
    pg_enc enc = is_good ? pg_enc_intern(p->ctx->types, &info) : (pg_enc){0};
    if (!is_good) {
        pg_parse_recover(p);
    }
    pg_sym sym = pg_intern(&p->ctx->syms, name.text);
    const uint32_t *taken = pg_map_get(&p->encs, sym.id);
    if (taken != NULL) {
        (void)pg_diag_add(p->diags, PG_D_NAME_TAKEN, name.loc, "#", PG_STR_ARG(name.text),
                          p->module->encs.at[*taken].loc.line);
        return;
    }
    pg_enc_name row = {.name = sym, .enc = enc, .loc = name.loc};
    uint32_t at = p->module->encs.n;
    if (pg_vec_push(&p->module->arena, &p->module->encs, row)) {
        (void)pg_map_put(&p->encs, sym.id, at);
    }
}

/* ---- kernels ------------------------------------------------------------------------------- */

/* One parameter; its attributes may name later ones, so that their place is only noted. */
static bool parse_param(pg_parser *p, pg_lexer *attrs_at, pg_tok *attrs_tok)
{
    pg_tok name = p->tok;
    pg_type type = {0};
    if (name.kind != PG_TOK_VAL) {
        p->start_line = name.loc.line; /* in parentheses, lines end anywhere */
        return pg_parse_failed(p, "a parameter, as %x: f32");
    }
    pg_parse_advance(p);
    if (!pg_parse_expect(p, ':') || !pg_parse_type(p, &type)) {
        return false;
    }
    pg_sym sym = pg_intern(&p->ctx->syms, name.text);
    pg_val v = pg_kernel_add_param(p->kernel, sym, type, name.loc);
    pg_parse_define(p, sym, name.loc, v);
    *attrs_at = p->lexer;
    *attrs_tok = p->tok;
    if (pg_tok_is(&p->tok, '[')) {
        uint32_t depth = 0;
        p->is_skipping = true;
        do {
            depth += pg_tok_is(&p->tok, '[');
            depth -= pg_tok_is(&p->tok, ']');
            pg_parse_advance(p);
        } while (depth > 0 && p->tok.kind != PG_TOK_EOF && !pg_tok_is(&p->tok, '{') &&
                 !pg_tok_is(&p->tok, '}'));
        p->is_skipping = false;
        if (depth > 0) { /* where is the bracket missing? */
            pg_attrs attrs = {0};
            const uint32_t n_errors = p->diags->n_errors;
            p->lexer = *attrs_at;
            p->tok = *attrs_tok;
            p->n_broken++;
            (void)pg_parse_attrs(p, &attrs);
            p->n_broken--;
            return p->diags->n_errors == n_errors && pg_parse_failed(p, "`]`");
        }
    }
    return true;
}

static bool parse_params(pg_parser *p)
{
    PG_VEC(pg_lexer) places = {0};
    PG_VEC(pg_tok) toks = {0};
    if (pg_parse_take(p, ')')) {
        return true;
    }
    do {
        pg_lexer at = p->lexer;
        pg_tok tok = p->tok;
        if (!parse_param(p, &at, &tok)) {
            return false;
        }
        if (!pg_vec_push(&p->scratch, &places, at) || !pg_vec_push(&p->scratch, &toks, tok)) {
            return false;
        }
    } while (pg_parse_take(p, ','));
    if (!pg_tok_is(&p->tok, ')')) { /* names of the parameters to come are not known */
        return pg_parse_expect(p, ')');
    }
    pg_lexer end = p->lexer;
    pg_tok end_tok = p->tok;
    bool is_good = true;
    for (uint32_t i = 0; i < toks.n && i < p->kernel->n_params; i++) {
        p->lexer = places.at[i];
        p->tok = toks.at[i];
        pg_attrs *attrs = &p->kernel->params[i].attrs;
        is_good = pg_parse_attrs(p, attrs) && !attrs->is_partial && is_good;
    }
    p->lexer = end;
    p->tok = end_tok;
    return is_good ? pg_parse_expect(p, ')') : pg_parse_take(p, ')');
}

static bool parse_kernel_head(pg_parser *p)
{
    pg_tok name = p->tok;
    if (name.kind != PG_TOK_SYM || name.is_first) {
        return pg_parse_failed(p, "a name, as @kernel");
    }
    pg_parse_advance(p);
    pg_sym sym = pg_intern(&p->ctx->syms, name.text);
    const uint32_t *taken = pg_map_get(&p->kernels, sym.id);
    if (taken != NULL) {
        (void)pg_diag_add(p->diags, PG_D_NAME_TAKEN, name.loc, "@", PG_STR_ARG(name.text), *taken);
    } else {
        (void)pg_map_put(&p->kernels, sym.id, name.loc.line);
    }
    p->kernel = pg_kernel_new(p->module, sym, name.loc);
    return p->kernel != NULL && pg_parse_expect(p, '(') && parse_params(p) &&
           pg_parse_attrs(p, &p->kernel->attrs);
}

/* Room for the values of a large kernel, for they are many bytes to move: one for each line up to
 * that of the closing brace, if it stands where it usually does. Nothing depends on that. */
static void make_room(pg_parser *p)
{
    enum { LEAST_LINE = 16 /* bytes of a line that makes a value, about */ };
    const pg_str text = p->lexer.source;
    const char *const begin = text.ptr + p->lexer.at, *const end = text.ptr + text.len;
    const char *at = begin;
    uint32_t n_lines = 0;
    while (at < end && *at != '}' && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        n_lines++;
        at++;
    }
    const size_t n_bytes = (size_t)((at == NULL ? end : at) - begin);
    const uint32_t n = n_bytes / LEAST_LINE < n_lines ? (uint32_t)(n_bytes / LEAST_LINE) : n_lines;
    (void)(pg_vec_room(&p->module->arena, &p->kernel->values, n) &&
           pg_vec_room(&p->scratch, &p->defs, n));
}

/* The launch region, if it is there, and the operations. Of a kernel whose header is wrong they are
 * read for their own errors. */
static void parse_kernel_body(pg_parser *p, bool is_good)
{
    if (is_good) {
        make_room(p);
    }
    pg_parse_extra_brace(p);
    if (p->tok.kind == PG_TOK_WORD && pg_str_is(p->tok.text, "launch")) {
        pg_parse_advance(p);
        p->kernel->launch = is_good ? pg_region_new(p->kernel, NULL) : NULL;
        pg_parse_scope params = pg_parse_scope_begin(p);
        if (pg_parse_brace(p)) {
            pg_parse_region(p, p->kernel->launch);
        }
        pg_parse_scope_end(p, params);
    }
    pg_parse_region(p, is_good ? p->kernel->body : NULL);
}

static void parse_kernel(pg_parser *p)
{
    pg_parse_scope outer = pg_parse_scope_begin(p);
    p->kernel = NULL;
    p->first_diag = p->diags->n;
    p->is_unwinding = p->has_lost_nesting = false;
    const bool is_good = parse_kernel_head(p);
    bool has_body = is_good && pg_parse_take(p, '{');
    if (is_good && !has_body) {
        p->kernel->attrs.is_partial = true;
        has_body = p->tok.is_first ? pg_parse_brace(p)
                                   : pg_parse_expect(p, '{') || pg_parse_skip_to_body(p);
    } else if (!is_good) {
        has_body = pg_parse_skip_to_body(p);
    }
    if (has_body && p->kernel == NULL) {
        pg_parse_skip_block(p);
    } else if (has_body) {
        p->n_broken += !is_good;
        parse_kernel_body(p, is_good);
        p->n_broken -= !is_good;
    }
    pg_parse_scope_end(p, outer);
}

static const char *item_word(const pg_parser *p, uint32_t i)
{
    static const char *const words[] = {"enc", "kernel", "module", "ptir"};
    (void)p;
    return words[i];
}

/* Encodings that this line may have been meant to define: uses of them are not reported. */
static void define_broken_encs(pg_parser *p)
{
    pg_lexer ahead = p->lexer;
    pg_tok tok = p->tok;
    do {
        pg_sym sym = tok.kind == PG_TOK_ENC ? pg_intern(&p->ctx->syms, tok.text) : (pg_sym){0};
        pg_enc_name row = {.name = sym, .loc = tok.loc};
        uint32_t at = p->module->encs.n;
        if (sym.id != 0 && pg_map_get(&p->encs, sym.id) == NULL &&
            pg_vec_push(&p->module->arena, &p->module->encs, row)) {
            (void)pg_map_put(&p->encs, sym.id, at);
        }
        pg_lex_next(&ahead, &tok);
    } while (!tok.is_first);
}

static void parse_items(pg_parser *p)
{
    bool is_quiet = false; /* one message for a run of lines that belong nowhere */
    while (p->tok.kind != PG_TOK_EOF) {
        pg_parse_watch(p);
        p->start_line = p->tok.loc.line;
        if (pg_parse_take_word(p, "enc")) {
            parse_enc(p);
            is_quiet = false;
        } else if (pg_parse_take_word(p, "kernel")) {
            parse_kernel(p);
            is_quiet = p->has_lost_nesting;
        } else if (p->tok.kind == PG_TOK_WORD &&
                   (pg_str_is(p->tok.text, "program") || pg_str_is(p->tok.text, "tensor"))) {
            (void)pg_diag_add(p->diags, PG_D_NOT_YET, p->tok.loc, PG_STR_ARG(p->tok.text), "");
            pg_parse_advance(p);
            if (pg_parse_recover(p)) {
                pg_parse_skip_block(p);
            }
        } else {
            if (!is_quiet && p->tok.kind == PG_TOK_WORD) {
                const char *more = pg_parse_suggest(
                    p, p->tok.text, (pg_parse_words){item_word, 4, NULL, PG_FOREIGN_ITEM});
                (void)pg_diag_add(p->diags, PG_D_UNKNOWN_ITEM, p->tok.loc, PG_STR_ARG(p->tok.text),
                                  more);
            } else if (!is_quiet) {
                pg_parse_failed(p, "`enc` or `kernel`");
            }
            is_quiet = true;
            define_broken_encs(p);
            bool is_brace = pg_tok_is(&p->tok, '{');
            pg_parse_advance(p);
            if (pg_parse_recover(p) || (is_brace && p->tok.is_first)) {
                pg_parse_skip_block(p);
            }
        }
    }
}

static void parse_text(pg_parser *p)
{
    pg_parse_advance(p);
    parse_version(p);
    if (!p->tok.is_first) {
        pg_parse_failed(p, "the end of the line");
        pg_parse_recover(p);
    }
    parse_module_line(p);
    if (!p->tok.is_first) {
        pg_parse_failed(p, "the end of the line");
        pg_parse_recover(p);
    }
    parse_items(p);
}

/* Definitions, then an encoding or nothing; is_good only if the last one is. */
static bool parse_enc_items(pg_parser *p, pg_enc *out, pg_loc *loc)
{
    pg_enc_info info;
    pg_parse_advance(p);
    *loc = p->tok.loc;
    while (pg_parse_take_word(p, "enc")) {
        uint32_t n = p->module->encs.n;
        *loc = p->tok.loc;
        p->tok.is_first = false; /* lines have no part in this text */
        parse_enc(p);
        *out = p->module->encs.n > n ? p->module->encs.at[n].enc : (pg_enc){0};
        if (out->id == 0) {
            return false;
        }
    }
    if (p->tok.kind == PG_TOK_EOF && out->id != 0) {
        return true;
    }
    memset(&info, 0, sizeof info);
    *loc = p->tok.loc;
    if (!pg_parse_enc_body(p, &info)) {
        return false;
    }
    *out = pg_enc_intern(p->ctx->types, &info);
    return p->tok.kind == PG_TOK_EOF || pg_parse_failed(p, "the end of the text");
}

/* A parser of `text` for a module of its own, which is not destroyed with it. */
static pg_status begin(pg_parser *p, pg_ctx *ctx, pg_str text, pg_diags *diags)
{
    *p = (pg_parser){.ctx = ctx, .diags = diags};
    PG_TRY(pg_module_create(ctx, diags, &p->module));
    pg_arena_init(&p->scratch, ctx->alloc);
    pg_map_init(&p->encs, &p->scratch);
    pg_map_init(&p->kernels, &p->scratch);
    pg_map_init(&p->unknown, &p->scratch);
    pg_lex_init(&p->lexer, text);
    return PG_OK;
}

static bool is_out_of_memory(const pg_parser *p)
{
    return p->module->arena.is_oom || p->scratch.is_oom || p->ctx->arena.is_oom ||
           p->diags->arena->is_oom;
}

pg_status pg_parse_enc_text(pg_ctx *ctx, pg_str text, pg_diags *diags, pg_enc *out, pg_loc *loc)
{
    *out = (pg_enc){0};
    *loc = (pg_loc){0, 0};
    pg_parser p;
    PG_TRY(begin(&p, ctx, text, diags));
    bool is_good = parse_enc_items(&p, out, loc);
    pg_status status = PG_OK;
    if (is_out_of_memory(&p)) {
        status = PG_E_NOMEM;
    } else if (!is_good) {
        status = pg_diags_status(diags);
        status = status == PG_OK ? PG_E_PARSE : status;
    }
    pg_arena_fini(&p.scratch);
    pg_module_destroy(p.module);
    PG_TRY(status);
    const char *fault = NULL;
    for (pg_enc e = *out; e.id != 0 && fault == NULL; e = pg_enc_get(ctx->types, e)->of) {
        fault = pg_enc_fault(ctx->types, e);
    }
    return fault == NULL ? PG_OK : pg_diag_add(diags, PG_D_ENC_BAD, *loc, fault);
}

pg_status pg_parse(pg_ctx *ctx, pg_str text, pg_diags *diags, pg_module **out)
{
    *out = NULL;
    pg_parser p;
    PG_TRY(begin(&p, ctx, text, diags));
    uint32_t n_before = diags->n_errors;
    parse_text(&p);
    pg_status status = PG_OK;
    if (is_out_of_memory(&p)) {
        status = PG_E_NOMEM;
    } else if (diags->n_errors != n_before) {
        pg_verify_parts(p.module); /* what else is wrong, as far as it can be told */
        pg_diags_sort(diags);
        status = pg_diags_status(diags);
    }
    pg_arena_fini(&p.scratch);
    if (status != PG_OK) {
        pg_module_destroy(p.module);
        return status;
    }
    *out = p.module;
    return PG_OK;
}
