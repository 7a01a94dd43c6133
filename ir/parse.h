/* parse.h: what the files of the parser share. Private to parse*.c. */
#ifndef PG_IR_PARSE_H
#define PG_IR_PARSE_H

#include "base/vec.h"
#include "ir/foreign.h"
#include "ir/ir.h"
#include "ir/lex.h"
#include "ir/literal.h"

/* An operand as it stands in the text. */
typedef struct pg_parsed_operand {
    pg_val val;      /* of a name; id 0 for literals and for names that are not defined */
    bool is_literal; /* `text` is to be read once its type is known */
    pg_type type;    /* literals: as written before them, or id 0 */
    pg_str text;
    pg_loc loc;
} pg_parsed_operand;

typedef struct pg_parsed_name {
    pg_sym sym;
    pg_loc loc;
} pg_parsed_name;

typedef struct pg_parsed_def {
    pg_parsed_name name;
    pg_val val;
} pg_parsed_def;

typedef struct pg_parse_scope {
    uint32_t n_defs; /* when the scope began */
} pg_parse_scope;

/* A type as it was written, and what it is. */
enum { PG_PARSED_TYPES = 64, PG_PARSED_TYPE_LEN = 48 };
typedef struct pg_parsed_type {
    pg_str text; /* len 0: nothing is here */
    pg_type type;
} pg_parsed_type;

typedef struct pg_parser {
    pg_ctx *ctx;
    pg_module *module;
    pg_kernel *kernel;
    pg_diags *diags;
    pg_arena scratch; /* lives as long as the parser */
    pg_lexer lexer;
    pg_tok tok;              /* the next one */
    pg_loc last_end;         /* where the token before ended */
    uint32_t start_line;     /* of the operation or part of the module at hand */
    uint32_t n_errors;       /* when it began */
    uint32_t first_diag;     /* of the kernel at hand */
    bool is_unwinding;       /* the kernel at hand is over: a brace is missing */
    bool has_equals;         /* the operation at hand has named its results */
    bool has_skipped_equals; /* the line that was skipped last may have named some */
    bool has_lost_nesting;   /* of the kernel at hand: braces need not match any more */
    uint32_t bad_line;       /* where a character was that begins nothing; it may be the cause */
    uint32_t quiet_line;     /* that something was said of: characters there are no news */
    bool is_end_reported;
    bool is_skipping; /* what is read will be read again: no messages */
    pg_vec_u32 names; /* by symbol id: index + 1 of `defs` of the visible definition, 0: none */
    PG_VEC(pg_parsed_def) defs;
    pg_map encs;    /* sym -> index of module->encs */
    pg_map kernels; /* sym -> line */
    pg_map unknown; /* names that were reported as unknown: by sigil and symbol */
    uint32_t depth; /* of regions */
    /* Regions around whose header has an error, and lines that may have defined anything: unknown
     * names are no news there. */
    uint32_t n_broken;
    /* Parts of the operation at hand. */
    PG_VEC(pg_parsed_operand) operands;
    PG_VEC(pg_parsed_name) results;
    PG_VEC(pg_parsed_name) carried; /* for: induction variable and carried values */
    PG_VEC(pg_type) types;
    PG_VEC(pg_val) vals;
    PG_VEC(pg_type) in_types;
    PG_VEC(pg_aval) items;                      /* attribute lists, as a stack */
    pg_parsed_type type_texts[PG_PARSED_TYPES]; /* types that were read lately */
} pg_parser;

enum { PG_MAX_DEPTH = 200, PG_MAX_NEST = 8 };

/* ---- tokens (parse.c) ---- */
void pg_parse_advance(pg_parser *p);
void pg_parse_watch(pg_parser *p);                         /* ends the text where memory ran out */
static inline bool pg_parse_take(pg_parser *p, char punct) /* if it is next */
{
    if (!pg_tok_is(&p->tok, punct)) {
        return false;
    }
    pg_parse_advance(p);
    return true;
}
bool pg_parse_take_word(pg_parser *p, const char *word);
/* Takes it, or reports what stands there instead. */
bool pg_parse_expect(pg_parser *p, char punct);
/* The next token belongs to the same operation. */
static inline bool pg_parse_same_line(const pg_parser *p)
{
    return !p->tok.is_first;
}

/* ---- types, attributes, encodings (parse_type.c) ---- */
bool pg_parse_type(pg_parser *p, pg_type *out);
bool pg_parse_attrs(pg_parser *p, pg_attrs *out); /* [ ... ] if it is there */
/* One value of an attribute, or one item of a list at depth > 0. */
bool pg_parse_item(pg_parser *p, pg_attr_kind kind, uint32_t depth, pg_aval *out);
bool pg_parse_enc_use(pg_parser *p, pg_enc *out);       /* #name of one that is defined */
bool pg_parse_enc_body(pg_parser *p, pg_enc_info *out); /* parse_enc.c */

/* ---- names and operations (parse_op.c) ---- */
bool pg_parse_find(pg_parser *p, const pg_tok *name,
                   pg_val *out); /* reports a name that is unknown */
void pg_parse_define(pg_parser *p, pg_sym name, pg_loc loc, pg_val v);
pg_parse_scope pg_parse_scope_begin(const pg_parser *p);
void pg_parse_scope_end(pg_parser *p, pg_parse_scope scope);
/* Operations up to the closing brace, which is taken. region may be NULL: what is read is dropped.
 */
void pg_parse_region(pg_parser *p, pg_region *region);

/* ---- after an error (parse_recover.c) ---- */
bool pg_parse_failed(pg_parser *p, const char *wanted); /* reports; always false */
typedef const char *pg_parse_word_at(const pg_parser *p, uint32_t index);
/* The n words that a wrong one of this kind is compared with. */
typedef struct pg_parse_words {
    pg_parse_word_at *at;
    uint32_t n;
    const char *sigil; /* or NULL */
    pg_foreign_kind foreign;
} pg_parse_words;
/* "; did you mean `x`?" for the nearest of them, or "". The text lives in the scratch arena. */
const char *pg_parse_suggest(pg_parser *p, pg_str word, pg_parse_words words);
/* Is this name, of this sigil, new among the unknown ones? Each is reported once. */
bool pg_parse_is_news(pg_parser *p, char sigil, pg_str name);
/* Skips to the next line, or to a closing brace. True if the line ended in an opening one. */
bool pg_parse_recover(pg_parser *p);
void pg_parse_skip_block(pg_parser *p); /* behind its brace, to behind the closing one */
void pg_parse_skip_deep(pg_parser *p);  /* the same, to the closing one */
/* Skips the rest of a kernel's header, which may have many lines. True if a brace was taken. */
bool pg_parse_skip_to_body(pg_parser *p);
bool pg_parse_at_item(const pg_parser *p); /* a kernel or encoding begins here */
/* The brace before a body, or a message. False if no body can follow. */
bool pg_parse_brace(pg_parser *p);
bool pg_parse_can_be_body(const pg_parser *p); /* what stands here may be in a body */
void pg_parse_extra_brace(pg_parser *p);       /* takes one that stands behind a brace */
void pg_parse_end_region(pg_parser *p);        /* the brace behind one */

#endif
