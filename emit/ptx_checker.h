/* ptx_checker.h: state shared by the parts of the checker (ptx_check.c, ptx_check_ops.c,
 * ptx_floor.c). */
#ifndef PG_EMIT_PTX_CHECKER_H
#define PG_EMIT_PTX_CHECKER_H

#include "emit/ptx_isa.h"

/* "sm_90a": number 90, suffix 'a'; suffix 0 without. */
typedef struct pg_ptx_target {
    uint32_t number;
    char suffix;
    uint16_t floor; /* least .version that has it; 0: unknown target */
} pg_ptx_target;

/* What a statement or module asks for. */
typedef struct pg_ptx_floor {
    uint16_t version, sm;
    uint32_t features;
    pg_str what; /* the word or spelling that asks for the version */
} pg_ptx_floor;

typedef struct pg_ptx_checker {
    const pg_ptx_module *m;
    const pg_ptx_func *f;
    pg_diags *diags;
    pg_ptx_target target;
    uint32_t *seen; /* by register: number of the last vector that had it */
    uint32_t n_seen;
    /* the statement under check */
    const pg_ptx_stmt *s;
    pg_isa_words words;
    pg_isa_binding bound;
} pg_ptx_checker;

pg_ptx_target pg_ptx_target_of(pg_str name);
/* Adds what the statement asks for; words are its spelling, row its row. */
void pg_ptx_floor_add_stmt(pg_ptx_floor *fl, const pg_ptx_module *m, const pg_ptx_func *f,
                           const pg_ptx_stmt *s, uint32_t row, const pg_isa_words *words);
/* NULL if the target has the features, else why not. */
const char *pg_ptx_target_lacks(const pg_ptx_target *t, const pg_ptx_floor *fl);
void pg_ptx_check_operands(pg_ptx_checker *c, uint32_t row);
/* Reports an unknown opcode or modifier, with the closest spelling. */
void pg_ptx_report_spelling(pg_ptx_checker *c);

#endif
