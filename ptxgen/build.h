/* build.h: what stands behind the builder's opaque types. */
#ifndef PG_BUILD_H
#define PG_BUILD_H

#include <ptxgen_build.h>

#include "base/suggest.h"

#include "api.h"

struct ptxgen_module {
    ptxgen_ctx *ctx;
    pg_arena arena; /* diagnostics */
    pg_diags diags;
    pg_module *ir;
    ptxgen_builder *builder; /* the open one, or NULL */
    bool has_places;         /* ptxgen_build_at was called */
};

#define PG_BUILD_DEPTH 64
#define PG_BUILD_MOST  65000 /* operands or results; a loop has three more */

/* A region that is being filled; `owner` is its instruction, NULL for the kernel's own regions. */
typedef struct pg_build_scope {
    pg_region *region;
    pg_inst *owner;
} pg_build_scope;

struct ptxgen_builder {
    ptxgen_module *m;
    pg_kernel *k;
    pg_inst *last; /* what ptxgen_op_attr speaks of */
    pg_status status;
    pg_loc at;      /* of what is built from here on */
    uint32_t depth; /* open scopes; scope[0] is the body */
    pg_build_scope scope[PG_BUILD_DEPTH];
};

/* True while the builder takes more: no error, memory left. */
bool pg_build_is_live(const ptxgen_builder *b);
/* Records an error, as pg_diag_add, if it is the first. The rows of the builder begin with the
 * place, which is not among the arguments. */
#define pg_build_fail(b, id, ...)                                                         \
    do {                                                                                  \
        if ((b)->status == PG_OK) {                                                       \
            (b)->status =                                                                 \
                pg_diag_add(&(b)->m->diags, id, (b)->at, pg_build_place(b), __VA_ARGS__); \
        }                                                                                 \
    } while (0)
/* "@kernel, after operation 7 (`add`)"; in the module's arena. */
const char *pg_build_place(ptxgen_builder *b);
/* "; did you mean `x`?" or "", as pg_nearest_text. */
const char *pg_build_suggestion(ptxgen_builder *b, const pg_nearest *near);
/* Makes and appends an instruction; NULL after an error. */
pg_inst *pg_build_inst(ptxgen_builder *b, const char *op, uint32_t n_in, const ptxgen_value *in,
                       uint32_t n_out, const pg_type *out_types, uint32_t n_regions);
/* False and an error for more than an operation can have, or an array that is not there. */
bool pg_build_count(ptxgen_builder *b, uint64_t n, const void *array);
bool pg_build_open(ptxgen_builder *b, pg_region *region, pg_inst *owner);
/* The first n results, 0 for those that are not there. Last of a call: `out` may be an array that
 * the call was given. */
void pg_build_values_out(const pg_inst *inst_or_null, uint32_t n, ptxgen_value *out);

#endif
