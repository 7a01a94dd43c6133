/* interp_world.h: a kernel from text and its arguments, for the tests of the interpreter. */
#ifndef TESTS_UNIT_INTERP_WORLD_H
#define TESTS_UNIT_INTERP_WORLD_H

#include "ir/interp.h"

#define WORLD_MAX_ARGS 16

typedef struct world {
    pg_ctx ctx;
    pg_arena arena; /* of the diagnostics */
    pg_diags diags;
    pg_module *module;
    pg_kernel *kernel;
    pg_interp_arg args[WORLD_MAX_ARGS];
    uint32_t n_args;
} world;

/* Parses and takes the first kernel; the test fails where the text does not parse. */
void world_init(world *w, const char *text);
void world_fini(world *w);
void world_array(world *w, void *data, uint64_t n_bytes);
void world_poisoned(world *w, void *data, uint64_t n_bytes,
                    uint8_t *poison); /* all of it not written yet */
void world_scalar(world *w, uint64_t bits);
void world_desc(world *w);
/* Forgets earlier diagnostics. Grid from the launch region. */
pg_status world_run(world *w, uint64_t seed);
/* Whether a diagnostic of this kind is there. */
bool world_has(const world *w, pg_diag_id id);
const char *world_message(const world *w); /* of the first; "" without one */
/* The text of a file of the source tree; the caller frees it. */
char *world_file(const char *path);
/* A copy with the first occurrence of `from` replaced, which must be there; the caller frees it. */
char *world_replace(const char *text, const char *from, const char *to);

#endif
