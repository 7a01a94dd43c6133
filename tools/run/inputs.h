/* inputs.h: gives every argument of a manifest its value: from --arg, from arrays, from the shapes
 * of arrays, from defaults, and at last from a seeded generator. */
#ifndef PG_RUN_INPUTS_H
#define PG_RUN_INPUTS_H

#include "tools/run/expr.h"
#include "tools/run/manifest.h"
#include "tools/run/npy.h"

typedef struct run_pair { /* NAME=VALUE of the command line */
    const char *name, *value;
} run_pair;

typedef struct run_pairs {
    const run_pair *at;
    size_t n;
} run_pairs;

/* What comes after the run takes room as well. */
typedef enum run_verifies {
    RUN_VERIFIES_NOTHING,
    RUN_VERIFIES_KERNEL, /* references of the library work on doubles */
    RUN_VERIFIES_TEXT    /* the interpreter has the arrays once more */
} run_verifies;

typedef struct run_request {
    const char *file; /* name of the kernel in messages */
    run_pairs args, ins, outs;
    run_pairs defaults; /* scalars: a number or the name of another scalar */
    double low, high;   /* range of random elements */
    uint64_t seed;
    bool is_on_cpu; /* the executor takes room, too */
    run_verifies verifies;
} run_request;

typedef struct run_value {
    const run_arg_spec *spec;
    bool has_value;
    uint64_t bits;         /* scalars: pattern, integers sign-extended */
    run_array array;       /* pointers: shape and, where they are inputs, contents */
    unsigned char *result; /* pointers: contents after the run; NULL before */
    const char *out_file;  /* NULL: none */
} run_value;

typedef struct run_inputs {
    const run_manifest *manifest;
    run_value *values; /* one for each argument of the manifest */
    run_name *names;   /* integer scalars by name, those of the defaults included */
    size_t n_names;
} run_inputs;

/* Refuses arrays that no memory would be left for (PG6167) before it makes any. */
run_exit run_inputs_make(const run_msgs *m, pg_arena *a, const run_request *request,
                         const run_manifest *manifest, run_inputs *out);
/* Evaluates an expression of the manifest; `what` names it in messages. */
run_exit run_inputs_eval(const run_msgs *m, const run_inputs *in, const char *file,
                         const char *what, pg_str expression, int64_t *out);

#endif
