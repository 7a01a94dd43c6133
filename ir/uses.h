/* uses.h: who uses a value: an analysis of one kernel, one array built on demand. It is right as
 * long as the kernel's stamp is the one that it was made at; pg_uses_get builds it anew where it is
 * not. */
#ifndef PG_IR_USES_H
#define PG_IR_USES_H

#include "ir/ir.h"

#define PG_USE_ATTR UINT32_MAX /* index of a use in an attribute */

typedef struct pg_use {
    pg_inst *inst;  /* NULL: an attribute of a parameter or of the kernel */
    uint32_t index; /* operand number, or PG_USE_ATTR */
} pg_use;

typedef struct pg_uses {
    const pg_kernel *kernel; /* NULL: nothing built yet */
    uint32_t stamp;
    uint32_t n_vals;
    uint32_t *first; /* of value v: all[first[v]] .. all[first[v + 1]] - 1, in text order */
    pg_use *all;
} pg_uses;

/* Brings `u` up to date (start from zeroes); memory comes from `arena`. O(kernel) if it was not. */
pg_status pg_uses_get(pg_uses *u, const pg_kernel *k, pg_arena *arena);
bool pg_uses_are_fresh(const pg_uses *u, const pg_kernel *k);

static inline uint32_t pg_n_uses(const pg_uses *u, pg_val v)
{
    return v.id + 1 > u->n_vals ? 0 : u->first[v.id + 1] - u->first[v.id];
}

/* pg_foreach_use(use, &uses, v) { ... use->inst ... } */
#define pg_foreach_use(use, u, v)                                                        \
    for (const pg_use *use = (u)->all + ((v).id < (u)->n_vals ? (u)->first[(v).id] : 0), \
                      *use##_end = use + pg_n_uses((u), (v));                            \
         use != use##_end; use++)

#endif
