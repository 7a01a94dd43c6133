/* lex.h: tokens of .ptir text. The lexer is a small value: copy it to come back to a place later.
 */
#ifndef PG_IR_LEX_H
#define PG_IR_LEX_H

#include "base/diag.h"

typedef enum pg_tok_kind {
    PG_TOK_EOF,
    PG_TOK_WORD,  /* op, attribute, type: letters, digits, _ and . */
    PG_TOK_VAL,   /* %name; text without the sigil */
    PG_TOK_SYM,   /* @name */
    PG_TOK_ENC,   /* #name */
    PG_TOK_NUM,   /* a number, or dimensions: -1  0x1F  1e-5  0f3F800000  128x64xf16  ?x4xf32 */
    PG_TOK_PUNCT, /* one of ( ) [ ] { } < > , : = ?; text is that character */
    PG_TOK_BAD    /* what can be no token */
} pg_tok_kind;

typedef struct pg_tok {
    uint8_t kind;  /* pg_tok_kind */
    bool is_first; /* first token of its line; true for EOF */
    pg_loc loc;
    pg_str text; /* part of the source */
} pg_tok;

typedef struct pg_lexer {
    pg_str source;
    size_t at, line_start;
    uint32_t line;
    bool is_first;
} pg_lexer;

void pg_lex_init(pg_lexer *lexer, pg_str source);
void pg_lex_next(pg_lexer *lexer, pg_tok *out);
/* Behind a token that begins nothing of this language: skips a comment as C has it, else the line.
 */
void pg_lex_skip_comment(pg_lexer *lexer, const pg_tok *bad);

/* A token of these kinds has a sigil before its text. */
static inline bool pg_tok_has_sigil(const pg_tok *t)
{
    return t->kind >= PG_TOK_VAL && t->kind <= PG_TOK_ENC;
}

static inline bool pg_tok_is(const pg_tok *t, char punct)
{
    return t->kind == PG_TOK_PUNCT && t->text.ptr[0] == punct;
}

#endif
