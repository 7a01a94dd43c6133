/* api.h: what stands behind the opaque public types, and the steps of a compile. */
#ifndef PG_API_H
#define PG_API_H

#include <ptxgen.h>

#include "base/diag.h"
#include "base/pool.h"
#include "base/vec.h"
#include "ir/ir.h"
#include "sched/pass.h"

/* The caller's allocator, and whether it ever refused. Text that is cut short where memory ran out
 * looks like any other text; so no layer has to be trusted to have noticed. */
typedef struct pg_noting {
    pg_alloc given;
    bool has_failed;
} pg_noting;

pg_alloc pg_noting_alloc(pg_noting *n);

/* Types and names of the IR are shared by all modules of a context. They are dropped, to be built
 * anew, when no module uses them and memory had run out or they have grown large. */
struct ptxgen_ctx {
    pg_noting noting;
    pg_pool pool;   /* of blocks that the compiles of this context use in turn */
    pg_alloc alloc; /* the pool's; notes failures */
    pg_ctx ir;
    bool has_ir;
    uint32_t n_modules; /* live modules that belong to callers */
    bool is_left;       /* destroyed by its owner while modules were there */
};

typedef struct pg_entry_facts {
    pg_str name;
    pg_str manifest;
} pg_entry_facts;

struct ptxgen_result {
    pg_noting noting;
    pg_alloc alloc; /* notes failures */
    pg_arena arena; /* diagnostics, entries, pass statistics */
    pg_diags diags;
    pg_strbuf ptx;
    pg_vec_u32 line_of; /* IR line of each PTX line */
    pg_strbuf ir;
    pg_strbuf layout[PTXGEN_LAYOUT_FORM_COUNT];
    pg_str target;
    pg_entry_facts *entries;
    uint32_t n_entries;
    pg_pass_stat *passes;
    uint32_t n_passes;
    ptxgen_stats stats;
    ptxgen_status status;
};

static inline pg_str pg_str_in(ptxgen_str s)
{
    return s.ptr == NULL ? PG_STR("") : (pg_str){s.ptr, s.len};
}

static inline ptxgen_str pg_str_out(pg_str s)
{
    return (ptxgen_str){s.ptr == NULL ? "" : s.ptr, s.ptr == NULL ? 0 : s.len};
}

/* Makes the context ready for one more module; NOMEM leaves it as it was. */
pg_status pg_ctx_prepare(ptxgen_ctx *ctx);
/* NULL when out of memory. */
ptxgen_result *pg_result_new(const ptxgen_ctx *ctx);
/* Ends a call: sorts diagnostics, settles the status, gives the result out. */
ptxgen_status pg_result_finish(ptxgen_result *r, pg_status status, ptxgen_result **out);

/* options.c: copies what the caller's struct_size covers over defaults, and reports values that
 * mean nothing. */
pg_status pg_options_read(const ptxgen_options *given_or_null, pg_diags *diags,
                          ptxgen_options *out);
/* The pass manager's view of them. */
void pg_options_for_passes(const ptxgen_options *options, pg_pass_options *out);

/* What is compiled: a module that was built, or text. */
typedef struct pg_source {
    pg_str text;
    const pg_module *module; /* NULL: the text; it stays as it is */
    bool has_places;         /* its builder said where operations stand */
} pg_source;

/* compile.c: parse or copy, verify, passes, emission, manifests, into an empty result. */
pg_status pg_compile_source(ptxgen_ctx *ctx, const pg_source *from, const ptxgen_options *options,
                            ptxgen_result *r);
/* api.c: one call of it: makes the result, reads the options. */
ptxgen_status pg_compile_call(ptxgen_ctx *ctx, const pg_source *from,
                              const ptxgen_options *options_or_null, ptxgen_result **out);

#endif
