/* ptx_lex.h: PTX text into tokens, with the comments on the way. Only for the reader. */
#ifndef PG_EMIT_PTX_LEX_H
#define PG_EMIT_PTX_LEX_H

#include "base/diag.h"
#include "base/vec.h"

typedef enum pg_ptx_token_kind {
    PG_PTX_TK_END,
    PG_PTX_TK_WORD,      /* identifier, % and $ included */
    PG_PTX_TK_DIRECTIVE, /* .word, .word::word */
    PG_PTX_TK_INT,
    PG_PTX_TK_F32, /* 0f........ */
    PG_PTX_TK_F64, /* 0d................ or decimal */
    PG_PTX_TK_STRING,
    PG_PTX_TK_PUNCT /* c */
} pg_ptx_token_kind;

typedef struct pg_ptx_token {
    uint8_t kind; /* pg_ptx_token_kind */
    char c;
    bool is_unsigned;
    pg_str text; /* as written */
    pg_loc loc;
    uint64_t value;
} pg_ptx_token;

/* A // comment met before the current token. */
typedef struct pg_ptx_comment_note {
    pg_str text;
    bool is_trailing;  /* stands on the line where the token before it ends */
    bool before_blank; /* an empty line follows */
} pg_ptx_comment_note;

typedef struct pg_ptx_lexer {
    pg_str text;
    size_t pos;
    uint32_t line;
    size_t line_start;
    uint32_t last_line; /* where the last token ended */
    pg_arena *arena;
    pg_diags *diags;
    PG_VEC(pg_ptx_comment_note) comments;
    bool saw_non_ascii;
} pg_ptx_lexer;

void pg_ptx_lex_init(pg_ptx_lexer *lx, pg_arena *arena, pg_diags *diags, pg_str text);
pg_ptx_token pg_ptx_lex(pg_ptx_lexer *lx);
/* Whether the next character after blanks is c and the one after it is not c. */
bool pg_ptx_lex_is_next(const pg_ptx_lexer *lx, char c);
/* The rest of the line from `from` on, without a comment and blanks at its end; the lexer goes on
 * after it. */
pg_str pg_ptx_lex_line(pg_ptx_lexer *lx, const char *from);

#endif
