/* literal.h: literals of .ptir text, shared by parser and printer: their types and their spelling.
 */
#ifndef PG_IR_LITERAL_H
#define PG_IR_LITERAL_H

#include "ir/ir.h"

/* The surroundings of an operand, before or after its instruction exists. */
typedef struct pg_operands {
    pg_op op;
    uint32_t n_in, n_out;
    const pg_type *in; /* id 0: a literal */
    const pg_type *out;
    const pg_region *region; /* that the instruction stands in; NULL: unknown */
} pg_operands;

/* Type of a literal that is operand `index`: the rule at the head of ops.def. id 0: it has to be
 * written, as in i64(5). */
pg_type pg_literal_type(const pg_kernel *k, const pg_operands *o, uint32_t index);

typedef enum pg_literal_error {
    PG_LIT_OK,
    PG_LIT_FORM,  /* no number of this class */
    PG_LIT_RANGE, /* the type cannot hold it */
    PG_LIT_WIDTH  /* a bit pattern of another width */
} pg_literal_error;

/* Reads the text of a literal for an element type. */
pg_literal_error pg_literal_read(pg_str text, pg_elem e, bool is_ptr, uint64_t *bits,
                                 bool *is_poison);
/* Puts what may have been meant by a text that cannot be read (literal_hint.c), or nothing. */
void pg_literal_hint(pg_str text, pg_elem e, bool is_ptr, pg_strbuf *out);
void pg_literal_put(pg_strbuf *out, pg_elem e, uint64_t bits, bool is_poison);

/* Defaults of attributes: parser and printer leave them out. */
bool pg_attr_is_default(pg_attr_id id, const pg_aval *v);

#endif
