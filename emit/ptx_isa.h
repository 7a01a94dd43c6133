/* ptx_isa.h: inside of the instruction table, for the checker and the tests: words of a spelling,
 * operand specifications, floors of single words. */
#ifndef PG_EMIT_PTX_ISA_H
#define PG_EMIT_PTX_ISA_H

#include "emit/ptx.h"

enum { PG_ISA_MAX_WORDS = 24, PG_ISA_MAX_OPS = 16 };

/* A spelling cut at its dots; at[0] is the opcode. */
typedef struct pg_isa_words {
    pg_str at[PG_ISA_MAX_WORDS];
    uint32_t n;
    bool is_too_long;
} pg_isa_words;

/* A modifier that asks for more than its row does. */
typedef struct pg_isa_word {
    const char *opcode, *word; /* opcode "": any */
    uint16_t min_version, min_sm;
} pg_isa_word;

typedef struct pg_isa_range {
    uint32_t first, end;
} pg_isa_range;

/* Types bound to the names 'A'..'Z' of a pattern. */
typedef struct pg_isa_binding {
    uint8_t type[26];
} pg_isa_binding;

typedef struct pg_isa_spec {
    pg_str name, spec;
    bool is_optional, is_written;
} pg_isa_spec;

typedef struct pg_isa_specs {
    pg_isa_spec at[PG_ISA_MAX_OPS];
    uint32_t n, n_optional;
} pg_isa_specs;

void pg_isa_split(pg_str spelling, pg_isa_words *out);
pg_isa_range pg_isa_rows_of(pg_str opcode); /* empty for an unknown opcode */
/* First row whose pattern fits and that takes n_ops operands (UINT32_MAX: any number); else the
 * first whose pattern fits. *out_furthest: the first word that no row could use, when none fits. */
pg_isa_id pg_isa_match(const pg_isa_words *words, uint32_t n_ops, uint32_t *out_furthest);
bool pg_isa_bind(pg_isa_id row, const pg_isa_words *words, pg_isa_binding *out);
void pg_isa_operands(uint32_t row, const pg_isa_words *words, pg_isa_specs *out);
bool pg_isa_takes(uint32_t row, const pg_isa_words *words, uint32_t n_ops);
/* The floor of a word in instructions of this opcode, or NULL. */
const pg_isa_word *pg_isa_word_floor(const char *opcode, pg_str word);

#endif
