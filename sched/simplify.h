/* simplify.h: what the parts of the pass `simplify` share. The invariants are in simplify.c. */
#ifndef PG_SCHED_SIMPLIFY_H
#define PG_SCHED_SIMPLIFY_H

#include "base/map.h"
#include "sched/pass.h"

/* What one round knows of a value. */
typedef struct pg_fact {
    pg_val to;      /* replaced by this one; chains */
    pg_val literal; /* result of `const`: its literal */
    uint32_t depth; /* nesting of the region that defines it; 0: parameters and literals */
} pg_fact;

typedef struct pg_simplify {
    pg_kernel *k;
    pg_arena *scratch;
    PG_VEC(pg_fact) facts;   /* by value id */
    PG_VEC(pg_inst *) known; /* pure operations in scope */
    pg_index table;          /* of them, by expression */
    pg_map hoisted;          /* hashes of expressions that left a loop */
    uint32_t tile_base;      /* known[tile_base..] stand in the same partition */
    bool is_launch;          /* in the launch region: the manifest prints what stands there */
    bool is_oom;
    bool changed;
    bool has_encs; /* some value has an encoding */
    bool again;    /* a change may have made a chance that only another round sees (I5) */
} pg_simplify;

/* Room for the facts of all values of the kernel; `facts.at[0]` is always there. */
pg_fact *pg_simplify_grow(pg_simplify *s, pg_val v);
/* Facts of a value; never NULL. */
static inline pg_fact *pg_simplify_fact(pg_simplify *s, pg_val v)
{
    return v.id < s->facts.n ? &s->facts.at[v.id] : pg_simplify_grow(s, v);
}
/* The value that stands for v now. */
pg_val pg_simplify_follow(pg_simplify *s, pg_val v);
static inline pg_val pg_simplify_find(pg_simplify *s, pg_val v)
{
    return pg_simplify_fact(s, v)->to.id == 0 ? v : pg_simplify_follow(s, v);
}
/* Operand j of i becomes what stands for it now: a literal where one fits. */
void pg_simplify_take(pg_simplify *s, pg_inst *i, uint32_t j);
/* v itself if it is a literal, or the one that a `const` made it of; id 0: neither. */
static inline pg_val pg_simplify_literal(pg_simplify *s, pg_val v)
{
    return pg_val_is_const(s->k, v) ? v : pg_simplify_fact(s, v)->literal;
}
/* v's constant pattern, cut to the width of its element; false if it has none or is poison. */
bool pg_simplify_const(pg_simplify *s, pg_val v, uint64_t *bits);
/* The same, sign-extended; integers only. */
bool pg_simplify_int(pg_simplify *s, pg_val v, int64_t *out);
/* New one-result operation before `at`, at its source location. */
pg_val pg_simplify_emit(pg_simplify *s, pg_inst *at, pg_op op, uint32_t n_in, const pg_val *in,
                        pg_type type);
/* `const` of these bits before `at`. */
pg_val pg_simplify_emit_const(pg_simplify *s, pg_inst *at, pg_type type, uint64_t bits);

/* simplify_fold.c: a value equal to the only result of a pure operation, or id 0. May add
 * operations before it. */
pg_val pg_simplify_fold(pg_simplify *s, pg_inst *i);

/* simplify_cse.c: the operation in scope that computes the same, or NULL; then pg_simplify_remember
 * takes the expression for this one, before another is looked for. */
typedef struct pg_expression {
    uint64_t hash;
    pg_index_probe place; /* in the table */
} pg_expression;
pg_inst *pg_simplify_lookup(pg_simplify *s, const pg_inst *i, pg_expression *x);
void pg_simplify_remember(pg_simplify *s, pg_inst *i, pg_expression *x);

/* simplify_dce.c: removes what nobody needs. *again: another round may do more. */
pg_status pg_simplify_dce(pg_kernel *k, pg_arena *scratch, bool *changed, bool *again);

#endif
