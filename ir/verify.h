/* verify.h: what the files of the verifier share; private to verify*.c and the parser. */
#ifndef PG_IR_VERIFY_H
#define PG_IR_VERIFY_H

#include "base/vec.h"
#include "ir/ir.h"

/* Checks single operations of a module whose text has errors: only those whose operands and results
 * all have types. Reports into the module's diagnostics. */
void pg_verify_parts(pg_module *m);

typedef struct pg_type_seen {
    bool is_checked;
    uint8_t warps; /* whether it fits so many was checked last; 0: nothing yet */
} pg_type_seen;

typedef struct pg_verifier {
    pg_module *m;
    const pg_kernel *k;
    const pg_types *types;
    pg_diags *diags;
    pg_arena scratch; /* of the kernel at hand */
    pg_arena shared;
    uint32_t n_errors_before;
    pg_status status;          /* of the first error */
    uint32_t props;            /* that are to hold */
    bool is_launch;            /* the region at hand is the launch region */
    uint32_t depth, n_checked; /* regions around, operations of the body so far */
    /* Who runs the operation at hand: warps of its partition or kernel; whether the text had an
     * error about that. */
    uint32_t n_warps;
    bool has_partial_warps;
    uint8_t *state;     /* by value id: see verify.c */
    uint32_t *param_of; /* by value id: see verify_role.c */
    bool *is_doubtful;  /* by value id: something was said of the operation that gives it */
    pg_vec_u32 visible; /* ids of the values in scope */
    pg_map kernels;     /* name -> line; in the shared arena, as the next */
    PG_VEC(pg_type_seen) types_seen; /* by type id */
    pg_map token_tiles;              /* token -> type id of its accumulator */
    pg_map fits_seen; /* (type, warps) -> 1: checked; (encoding, warps, reason) -> 1: said */
} pg_verifier;

/* Reports at a place, as pg_diag_add; keeps the status of the first error. */
#define pg_verify_error(v, id, ...) \
    (PG_CHECK_TEXT(pg_diag_text, id, __VA_ARGS__), pg_verify_error_row((v), (id), __VA_ARGS__))
void pg_verify_error_row(pg_verifier *v, pg_diag_id id, pg_loc loc, ...);
static inline bool pg_verify_is_full(const pg_verifier *v)
{
    return v->diags->n_errors - v->n_errors_before >= PG_MAX_DIAGS;
}
/* Texts for messages; they live in the scratch arena. */
const char *pg_verify_type_text(pg_verifier *v, pg_type t);
static inline const char *pg_verify_op_text(const pg_inst *i)
{
    return pg_op_infos[i->op].text;
}

const char *pg_verify_value_name(const pg_verifier *v, pg_val val);

/* Same type, or the same but that one of them has no encoding yet. */
bool pg_verify_same_shape(const pg_verifier *v, pg_type a, pg_type b);
static inline bool pg_verify_agree(const pg_verifier *v, pg_type a, pg_type b)
{
    return pg_type_eq(a, b) || pg_verify_same_shape(v, a, b);
}

/* Room for all types there are; NULL when out of memory. */
pg_type_seen *pg_verify_types_grow(pg_verifier *v, pg_type t);
static inline pg_type_seen *pg_verify_seen(pg_verifier *v, pg_type t)
{
    return t.id < v->types_seen.n ? &v->types_seen.at[t.id] : pg_verify_types_grow(v, t);
}
void pg_verify_new_type(pg_verifier *v, pg_type t, pg_loc loc); /* verify_type.c */
static inline void pg_verify_type(pg_verifier *v, pg_type t, pg_loc loc)
{
    pg_type_seen *seen = pg_verify_seen(v, t);
    if (seen != NULL && !seen->is_checked) {
        seen->is_checked = true;
        pg_verify_new_type(v, t, loc);
    }
}
void pg_verify_encs(pg_verifier *v);
/* Whether a tile fits the warps that run the operation at hand. */
void pg_verify_new_fit(pg_verifier *v, pg_type t, pg_loc loc);
static inline void pg_verify_fit(pg_verifier *v, pg_type t, pg_loc loc)
{
    pg_type_seen *seen = pg_verify_seen(v, t);
    if (seen != NULL && seen->warps != v->n_warps) {
        seen->warps = (uint8_t)v->n_warps;
        pg_verify_new_fit(v, t, loc);
    }
}
bool pg_verify_op(pg_verifier *v,
                  const pg_inst *i); /* verify_op.c: counts, classes, results, attributes */
/* Attributes that `of` does not take; values out of range. */
void pg_verify_attr_set(pg_verifier *v, const pg_attrs *attrs, uint64_t accepted, const char *of,
                        pg_loc loc);
void pg_verify_attr_values(pg_verifier *v, const pg_attrs *attrs, pg_loc loc);
void pg_verify_special(pg_verifier *v,
                       const pg_inst *i); /* verify_shape.c: what the table cannot say */
void pg_verify_mma(pg_verifier *v, const pg_inst *i); /* verify_mma.c: mma, umma, async.get */
void pg_verify_async_get(pg_verifier *v, const pg_inst *i);
void pg_verify_role_params(pg_verifier *v); /* verify_role.c */
void pg_verify_role(pg_verifier *v, const pg_inst *i);
void pg_verify_hw(pg_verifier *v, const pg_inst *i); /* verify_hw.c */
void pg_verify_params(pg_verifier *v);               /* verify_kernel.c */
void pg_verify_kernel_attrs(pg_verifier *v);
void pg_verify_partitions(pg_verifier *v);
void pg_verify_tokens(pg_verifier *v); /* verify_token.c */

#endif
