/* layouts.h: what the parts of the pass `layouts` share. The invariants are in layouts.c. */
#ifndef PG_SCHED_LAYOUTS_H
#define PG_SCHED_LAYOUTS_H

#include "ir/layout.h"
#include "sched/pass.h"

/* `operand` of `user` must have the encoding `enc`. */
typedef struct pg_demand {
    pg_inst *user;
    uint32_t operand;
    pg_enc enc;
    uint32_t next; /* index + 1 into demands of the next one of the same value; 0 ends */
} pg_demand;

typedef struct pg_demand_list {
    uint32_t first, last; /* index + 1 into demands; 0: none */
} pg_demand_list;

/* What an operation without attributes was found to need, most recent ones. */
enum { PG_PULLS = 16 };
typedef struct pg_pulled {
    uint32_t op, n_warps;
    pg_type in, out;
    pg_enc enc;
} pg_pulled;

typedef struct pg_layouts {
    pg_pass_env *env;
    pg_kernel *k;
    pg_types *types;
    PG_VEC(pg_demand) demands;
    PG_VEC(pg_demand_list) lists;    /* by value id */
    PG_VEC(pg_enc) hints;            /* by value id: an author's encoding that reaches the value */
    PG_VEC(pg_enc) chosen;           /* accumulators that the pass chose itself */
    PG_VEC(const pg_inst *) reduces; /* every `reduce`, in order of the text */
    uint32_t vec;                    /* elements per thread that memory accesses like: 16 bytes */
    PG_VEC(const pg_inst *) writers; /* operations that write memory */
    pg_pulled pulled[PG_PULLS];      /* a ring */
    uint32_t n_pulled;
    pg_status status;  /* first failure that is not a diagnostic */
    uint32_t n_errors; /* diagnostics of this kernel */
    bool changed;
} pg_layouts;

/* layouts_facts.c: one forward walk: hints, vec, writers. */
void pg_layouts_learn(pg_layouts *l);
/* Can this operation be computed once more beside itself? */
bool pg_layouts_can_repeat(pg_layouts *l, const pg_inst *i);

/* layouts_enc.c: encodings. Id 0 after a diagnostic at `at`. */
pg_enc pg_layouts_default(pg_layouts *l, const pg_inst *at, pg_type tile);
/* Encoding that operand 0 of a shape operation needs so that its result has `enc`. */
pg_enc pg_layouts_pull(pg_layouts *l, const pg_inst *i, pg_enc enc);
/* The default, without a name and without messages; id 0 if there is none. */
pg_enc pg_layouts_peek_default(pg_layouts *l, const pg_inst *at, pg_type tile);
/* Invariant I1 for a layout. */
pg_layout_error pg_layouts_enc_for(pg_layouts *l, pg_type tile, uint32_t n_warps,
                                   const pg_layout *want, pg_enc *out);
/* The encoding that gives this tile a layout that was computed, unless that failed with `error`.
 * `named` (id 0: none): an encoding that says more than a linear one, if it means the same. */
pg_enc pg_layouts_of_layout(pg_layouts *l, const pg_inst *at, pg_type tile, const pg_layout *layout,
                            pg_layout_error error, pg_enc named);
pg_str pg_layouts_enc_text(pg_layouts *l, pg_enc e); /* its name in the module */

/* layouts_reduce.c. A default encoding with its warps off the dimension that a reduction of such a
 * tile combines, as far as the other dimensions go. */
pg_enc pg_layouts_for_reduce(pg_layouts *l, const pg_type_info *t, uint32_t n_warps, pg_enc e);
/* Encoding of the result of a reduction whose operand has `enc`, so that nothing moves; id 0 if
 * there is none. Reports nothing. */
pg_enc pg_layouts_push(pg_layouts *l, const pg_inst *reduce, pg_enc enc);
/* Does an operand with `enc` give the result (res; id 0: a scalar) without a move? */
bool pg_layouts_reduces_to(pg_layouts *l, const pg_inst *reduce, pg_enc enc, pg_enc res);
/* Encoding for the operand of a reduction whose result has `res`: what the result leaves free takes
 * the elements that are combined. Id 0 if there is none. */
pg_enc pg_layouts_spread(pg_layouts *l, const pg_inst *reduce, pg_enc res);
/* layouts_mma.c: the result of mma, and its operands 0 and 1 for a result in `acc`. */
pg_enc pg_layouts_accumulator(pg_layouts *l, const pg_inst *mma);
pg_enc pg_layouts_operand(pg_layouts *l, const pg_inst *mma, uint32_t at, pg_enc acc);

/* Is it an accumulator that the pass chose? Copies at stores leave an author's alone. */
bool pg_layouts_is_chosen(const pg_layouts *l, pg_enc e);

/* layouts_access.c. Estimates for one warp, in issue slots. Does a load that is wanted in `e`, or a
 * store of a value in `e`, cost less in a layout of its own and a copy? That layout, or id 0. */
pg_enc pg_layouts_better(pg_layouts *l, const pg_inst *store); /* than the default; or id 0 */
pg_enc pg_layouts_pays(pg_layouts *l, const pg_inst *i, pg_enc e);

static inline pg_enc pg_layouts_enc_of(const pg_layouts *l, pg_val v)
{
    return pg_val_info(l->k, v)->enc;
}
static inline bool pg_layouts_is_tile(const pg_layouts *l, pg_val v)
{
    return pg_val_info(l->k, v)->kind == PG_TY_TILE;
}

#endif
