/* verify.h: what the files of the verifier share; private to verify*.c and the parser. */
#ifndef PG_IR_VERIFY_H
#define PG_IR_VERIFY_H

#include "ir/ir.h"

/* Checks single operations of a module whose text has errors: only those whose operands and results
 * all have types. Reports into the module's diagnostics. */
void pg_verify_parts(pg_module *m);

#endif
