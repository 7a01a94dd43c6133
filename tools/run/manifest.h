/* manifest.h: the launch manifest of a kernel, read from its JSON (docs/manifest.md). */
#ifndef PG_RUN_MANIFEST_H
#define PG_RUN_MANIFEST_H

#include "tools/run/dtype.h"
#include "tools/run/file.h"

#define RUN_MAX_DIMS 8

typedef enum run_arg_kind { RUN_ARG_SCALAR, RUN_ARG_POINTER, RUN_ARG_TENSORMAP } run_arg_kind;

typedef struct run_arg_spec {
    const char *name;
    run_arg_kind kind;
    run_dtype type;
    uint32_t div;       /* scalars: what divides every value; 0: nothing is promised */
    uint32_t align;     /* pointers: what divides the address; 0: the element's own */
    bool is_in, is_out; /* pointers; neither: no role was given */
    bool is_scratch;    /* written by one launch for a later one: nobody else's input or output */
    bool has_shape;
    uint32_t rank;
    pg_str shape[RUN_MAX_DIMS]; /* expressions, outermost first; "?" is not known before the run */
    bool has_strides;
    pg_str strides[RUN_MAX_DIMS]; /* the same, in elements */
    pg_str of; /* tensor maps: the pointer argument; shape, and strides in bytes without the last */
    uint32_t box[RUN_MAX_DIMS], swizzle; /* tensor maps: elements, outermost first; 0 32 64 128 */
} run_arg_spec;

typedef struct run_manifest {
    const char *entry;
    pg_str target;
    pg_str grid[3];
    uint32_t block[3], cluster[3];
    pg_str smem; /* expression, bytes */
    run_arg_spec *args;
    uint32_t n_args;
} run_manifest;

/* Everything is copied into the arena. RUN_DEFECT on JSON of another shape: we wrote it. */
run_exit run_manifest_read(const run_msgs *m, pg_arena *a, const char *file, pg_str json,
                           run_manifest *out);

/* What launches one after the other take together: each argument once, by its name; all else as in
 * the first. An argument is an input if its first launch reads it. Two kinds or types under one
 * name: RUN_INPUT. */
run_exit run_manifest_join(const run_msgs *m, pg_arena *a, const char *file,
                           const run_manifest *launches, uint32_t n, run_manifest *out);

#endif
