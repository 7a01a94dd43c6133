/* foreign.h: what a word of another language is called here, for "did you mean". */
#ifndef PG_IR_FOREIGN_H
#define PG_IR_FOREIGN_H

#include "base/suggest.h"

typedef enum pg_foreign_kind {
    PG_FOREIGN_NONE,
    PG_FOREIGN_OP,
    PG_FOREIGN_TYPE,
    PG_FOREIGN_ITEM /* of a module */
} pg_foreign_kind;

/* Where the wanted word is one of ir/foreign.def, what stands there takes the place of what was
 * near by its letters. */
void pg_foreign_try(pg_nearest *n, pg_foreign_kind kind);

#endif
