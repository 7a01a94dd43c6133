/* parse_recover.c: what is said of text that is wrong, and where reading goes on. One error of the
 * author's is one message: what follows from it is not reported.
 *
 * I1  A name is reported as unknown once, and not where a line that may have defined it was
 *     skipped.
 * I2  A brace that is missing at the end of a header is taken as read; one that is missing at the
 *     end of a body is found at the next `kernel` or at the end, and what looked unknown or taken
 *     twice since the kernel began is taken back. */
#include <string.h>

#include "base/suggest.h"
#include "ir/parse.h"

/* ---- messages ------------------------------------------------------------------------------ */

bool pg_parse_failed(pg_parser *p, const char *wanted)
{
    static const char *const sigils[] = {
        [PG_TOK_EOF] = "",  [PG_TOK_WORD] = "", [PG_TOK_VAL] = "%",  [PG_TOK_SYM] = "@",
        [PG_TOK_ENC] = "#", [PG_TOK_NUM] = "",  [PG_TOK_PUNCT] = "", [PG_TOK_BAD] = ""};
    const pg_tok *t = &p->tok;
    if (t->loc.line == p->bad_line) {
        return false;
    }
    if (t->kind == PG_TOK_EOF) {
        if (p->diags->n_errors < PG_MAX_DIAGS && !p->is_end_reported) {
            (void)pg_diag_add(p->diags, PG_D_EXPECTED_END, t->loc, wanted);
        }
        p->is_end_reported = true;
        return false;
    }
    if (t->is_first && t->loc.line != p->start_line && p->last_end.line != 0) {
        (void)pg_diag_add(p->diags, PG_D_EXPECTED_LINE, p->last_end, wanted);
        return false;
    }
    pg_str text = pg_str_sub(t->text, 0, 40);
    (void)pg_diag_add(p->diags, PG_D_EXPECTED, t->loc, wanted, sigils[t->kind], PG_STR_ARG(text));
    return false;
}

const char *pg_parse_suggest(pg_parser *p, pg_str word, pg_parse_words words)
{
    pg_nearest near = pg_nearest_of(word);
    near.sigil = words.sigil;
    for (uint32_t i = 0; i < words.n; i++) {
        pg_nearest_try(&near, pg_str_of(words.at(p, i)));
    }
    pg_foreign_try(&near, words.foreign);
    return pg_nearest_text(&near, &p->scratch, p->ctx->alloc);
}

bool pg_parse_is_news(pg_parser *p, char sigil, pg_str name)
{
    /* Encodings belong to the module, values to their kernel. */
    const uint64_t line = sigil == '%' && p->kernel != NULL ? p->kernel->loc.line : 0;
    const uint64_t key = (uint64_t)(unsigned char)sigil << 56 ^ line << 32 ^
                         (uint64_t)pg_intern(&p->ctx->syms, name).id;
    return pg_map_get(&p->unknown, key) == NULL && pg_map_put(&p->unknown, key, 1);
}

/* ---- on to what can be read ---------------------------------------------------------------- */

bool pg_parse_recover(pg_parser *p)
{
    bool is_brace = false;
    uint32_t depth = 0;
    p->has_skipped_equals = false;
    p->quiet_line = p->tok.is_first ? p->quiet_line : p->tok.loc.line;
    while (!p->tok.is_first && !pg_tok_is(&p->tok, '}')) {
        is_brace = pg_tok_is(&p->tok, '{');
        depth += pg_tok_is(&p->tok, '(') || pg_tok_is(&p->tok, '[');
        depth -= depth > 0 && (pg_tok_is(&p->tok, ')') || pg_tok_is(&p->tok, ']'));
        p->has_skipped_equals = p->has_skipped_equals || (depth == 0 && pg_tok_is(&p->tok, '='));
        pg_parse_advance(p);
    }
    return is_brace;
}

void pg_parse_skip_block(pg_parser *p)
{
    for (uint32_t depth = 1; depth > 0 && p->tok.kind != PG_TOK_EOF;) {
        depth += pg_tok_is(&p->tok, '{');
        depth -= pg_tok_is(&p->tok, '}');
        pg_parse_advance(p);
    }
}

void pg_parse_skip_deep(pg_parser *p)
{
    uint32_t depth = 1;
    while (depth > 0 && p->tok.kind != PG_TOK_EOF) {
        depth += pg_tok_is(&p->tok, '{');
        depth -= pg_tok_is(&p->tok, '}');
        if (depth > 0) {
            pg_parse_advance(p);
        }
    }
}

bool pg_parse_skip_to_body(pg_parser *p)
{
    while (p->tok.kind != PG_TOK_EOF && !pg_tok_is(&p->tok, '}') && !pg_parse_at_item(p)) {
        if (pg_parse_take(p, '{')) {
            return true;
        }
        pg_parse_advance(p);
    }
    return false;
}

bool pg_parse_at_item(const pg_parser *p)
{
    if (!p->tok.is_first || p->tok.kind != PG_TOK_WORD) {
        return false;
    }
    const bool is_kernel = pg_str_is(p->tok.text, "kernel");
    if (!is_kernel && !pg_str_is(p->tok.text, "enc")) {
        return false;
    }
    pg_lexer ahead = p->lexer;
    pg_tok next;
    pg_lex_next(&ahead, &next);
    return next.kind == (is_kernel ? PG_TOK_SYM : PG_TOK_ENC);
}

bool pg_parse_brace(pg_parser *p)
{
    if (pg_parse_expect(p, '{')) {
        return true;
    }
    /* Said; the body is there all the same, unless what comes cannot be one. */
    return pg_parse_recover(p) || pg_parse_can_be_body(p);
}

bool pg_parse_can_be_body(const pg_parser *p)
{
    return p->tok.kind != PG_TOK_EOF && !pg_tok_is(&p->tok, '}') && !pg_parse_at_item(p);
}

void pg_parse_extra_brace(pg_parser *p)
{
    if (pg_tok_is(&p->tok, '{') && !p->tok.is_first) {
        (void)pg_parse_failed(p, "an operation");
        pg_parse_advance(p);
    }
}

void pg_parse_end_region(pg_parser *p)
{
    if (p->is_unwinding || pg_parse_take(p, '}')) {
        return;
    }
    p->is_unwinding = true;
    if (p->has_lost_nesting) { /* what was skipped, and reported, may have been the brace */
        return;
    }
    pg_diags_take_back(p->diags, p->first_diag, PG_D_UNKNOWN_VALUE);
    pg_diags_take_back(p->diags, p->first_diag, PG_D_NAME_TAKEN);
    if (pg_parse_at_item(p)) {
        (void)pg_diag_add(p->diags, PG_D_EXPECTED, p->tok.loc, "`}`", "", PG_STR_ARG(p->tok.text));
    } else {
        (void)pg_parse_expect(p, '}');
    }
}
