/* ptx_reader.h: state shared by the parts of the reader (ptx_read.c, ptx_read_decl.c,
 * ptx_read_body.c). */
#ifndef PG_EMIT_PTX_READER_H
#define PG_EMIT_PTX_READER_H

#include "emit/ptx.h"
#include "emit/ptx_lex.h"

enum { PG_PTX_MAX_SCOPES = 200 };

typedef enum pg_ptx_name_kind {
    PG_PTX_N_REG,    /* id: register */
    PG_PTX_N_FAMILY, /* id: regdecl with a count; the key is its base */
    PG_PTX_N_SYM,
    PG_PTX_N_LABEL
} pg_ptx_name_kind;

typedef struct pg_ptx_name {
    uint8_t kind; /* pg_ptx_name_kind */
    uint32_t scope;
    uint32_t id;
    uint32_t outer; /* FAMILY: name entry that it hides, UINT32_MAX without */
} pg_ptx_name;

/* A name that may be a label further on. */
typedef struct pg_ptx_fixup {
    uint32_t pool;
    pg_str name;
    pg_loc loc;
} pg_ptx_fixup;

typedef struct pg_ptx_undo {
    pg_str key;
    uint32_t value;
} pg_ptx_undo;

typedef struct pg_ptx_scope {
    uint32_t n_map, n_undo, n_fixups, id;
} pg_ptx_scope;

typedef struct pg_ptx_spelling {
    pg_str text; /* in the module's arena */
    uint32_t n_ops;
    uint16_t row;
} pg_ptx_spelling;

typedef struct pg_ptx_reader {
    pg_ptx_lexer lx;
    pg_ptx_token t; /* the current token */
    pg_arena *arena;
    pg_ptx_module *m;
    pg_diags *diags;
    pg_ptx_func *f;
    uint32_t f_index;
    uint64_t n_regs_left; /* of all declarations together */

    pg_map map; /* name -> index into names */
    PG_VEC(pg_ptx_name) names;
    PG_VEC(pg_ptx_undo) undo;
    PG_VEC(pg_ptx_fixup) fixups;
    pg_ptx_scope scopes[PG_PTX_MAX_SCOPES];
    uint32_t depth; /* scopes[0] is the module */
    uint32_t n_scopes;

    pg_map spelling_map;
    PG_VEC(pg_ptx_spelling) spellings;
    PG_VEC(pg_ptx_opnd) stack; /* operands being read */
} pg_ptx_reader;

/* ---- tokens ---- */
void pg_ptx_next(pg_ptx_reader *r);
bool pg_ptx_is_punct(const pg_ptx_reader *r, char c);
bool pg_ptx_is_directive(const pg_ptx_reader *r, const char *word);
bool pg_ptx_take(pg_ptx_reader *r, char c);                /* goes on if the token is c */
bool pg_ptx_expect(pg_ptx_reader *r, char c);              /* the same, and an error if not */
bool pg_ptx_error(pg_ptx_reader *r, const char *expected); /* always false */
pg_str pg_ptx_keep(pg_ptx_reader *r, pg_str s);            /* copy in the module's arena */
/* Frees a text; if it was cut short by a failed allocation, that is the arena's failure too, not an
 * error of the input. */
void pg_ptx_text_done(pg_ptx_reader *r, pg_strbuf *text);
void pg_ptx_skip_statement(pg_ptx_reader *r); /* past the next ';', or to a '}' */
/* Text of the tokens up to c (which is taken), blanks made one. */
pg_str pg_ptx_raw_until(pg_ptx_reader *r, char c);

/* ---- names ---- */
bool pg_ptx_declare(pg_ptx_reader *r, pg_str name, pg_loc loc, pg_ptx_name_kind kind, uint32_t id);
const pg_ptx_name *pg_ptx_lookup(const pg_ptx_reader *r, pg_str name);
/* Register of that name, also one of a family %r<10>; UINT32_MAX if there is none. */
uint32_t pg_ptx_lookup_reg(const pg_ptx_reader *r, pg_str name);
bool pg_ptx_scope_open(pg_ptx_reader *r);
void pg_ptx_scope_close(pg_ptx_reader *r);

/* ---- declarations ---- */
typedef struct pg_ptx_decl_rule {
    uint8_t linkage;
    bool is_param; /* one declarator, ends at ',' or ')' */
} pg_ptx_decl_rule;
/* Is the current token a state space that begins a variable's declaration? */
bool pg_ptx_at_space(const pg_ptx_reader *r);
/* .space attributes .type name dims; calls `use` for each declarator. */
typedef bool pg_ptx_use_sym(pg_ptx_reader *r, uint32_t sym);
bool pg_ptx_read_var(pg_ptx_reader *r, pg_ptx_decl_rule rule, pg_ptx_use_sym *use);
bool pg_ptx_read_regs(pg_ptx_reader *r); /* after .reg */
bool pg_ptx_read_number(pg_ptx_reader *r, uint64_t *out);
/* After '=': reads the initialiser of the symbol. */
bool pg_ptx_read_init(pg_ptx_reader *r, pg_ptx_sym *s, const uint64_t *dims, uint32_t n_dims);

/* ---- bodies ---- */
void pg_ptx_read_body(pg_ptx_reader *r); /* after the function's '{', up to and with its '}' */

#endif
