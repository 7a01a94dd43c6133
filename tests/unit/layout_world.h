/* layout_world.h: layouts for the tests of the algebra and of conversions. */
#ifndef PG_LAYOUT_WORLD_H
#define PG_LAYOUT_WORLD_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/layout_algebra.h"

typedef struct world {
    pg_arena arena;
    pg_types *types;
    uint64_t state; /* of the random numbers */
} world;

enum { MAX_SET = 24 };
typedef struct layout_set {
    uint32_t n;
    pg_layout l[MAX_SET];
    const char *name[MAX_SET];
} layout_set;

void world_init(world *w);
void world_fini(world *w);
uint32_t world_random(world *w, uint32_t below);
pg_layout layout_of(world *w, pg_elem elem, const int32_t *dims, uint32_t n_warps, pg_enc_info e);
/* Every kind over 64x32 and four warps: blocked, wgmma, mma, dot, slices, random linear ones, some
 * with replicas. */
void register_layouts(world *w, uint32_t bits, layout_set *out);
/* What is not linear: 96 columns, and an odd count of repeats. */
void odd_layouts(world *w, layout_set *out);
pg_layout random_layout(world *w, uint32_t n_reg, uint32_t n_warp, uint32_t n_replica);

#endif
