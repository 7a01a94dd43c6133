#include "interp_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void world_init(world *w, const char *text)
{
    memset(w, 0, sizeof *w);
    pg_arena_init(&w->arena, pg_alloc_default());
    pg_diags_init(&w->diags, &w->arena, pg_alloc_default());
    cr_assert_eq(pg_ctx_init(&w->ctx, pg_alloc_default()), PG_OK);
    pg_status s = pg_parse(&w->ctx, pg_str_of(text), &w->diags, &w->module);
    cr_assert_eq(s, PG_OK, "%u: %s", w->diags.n != 0 ? w->diags.at[0].loc.line : 0,
                 world_message(w));
    w->kernel = w->module->kernels;
    cr_assert_not_null(w->kernel);
}

void world_fini(world *w)
{
    pg_module_destroy(w->module);
    pg_ctx_fini(&w->ctx);
    pg_arena_fini(&w->arena);
}

void world_array(world *w, void *data, uint64_t n_bytes)
{
    cr_assert_lt(w->n_args, WORLD_MAX_ARGS);
    w->args[w->n_args++].array = (pg_interp_array){data, n_bytes, NULL};
}

void world_poisoned(world *w, void *data, uint64_t n_bytes, uint8_t *poison)
{
    memset(poison, 1, n_bytes);
    world_array(w, data, n_bytes);
    w->args[w->n_args - 1].array.poison = poison;
}

void world_scalar(world *w, uint64_t bits)
{
    cr_assert_lt(w->n_args, WORLD_MAX_ARGS);
    w->args[w->n_args++].bits = bits;
}

void world_desc(world *w)
{
    world_scalar(w, 0);
}

pg_status world_run(world *w, uint64_t seed)
{
    pg_interp_options opt = {.seed = seed, .max_steps = 10000000};
    pg_diags_init(&w->diags, &w->arena, pg_alloc_default());
    return pg_interp_run(w->kernel, w->args, w->n_args, &opt, &w->diags);
}

bool world_has(const world *w, pg_diag_id id)
{
    for (uint32_t i = 0; i < w->diags.n; i++) {
        if (w->diags.at[i].id == id) {
            return true;
        }
    }
    return false;
}

const char *world_message(const world *w)
{
    return w->diags.n != 0 ? w->diags.at[0].message.ptr : "";
}

char *world_file(const char *path)
{
    char name[4096];
    (void)snprintf(name, sizeof name, "%s/%s", PG_SOURCE_ROOT, path);
    FILE *f = fopen(name, "rb");
    cr_assert_not_null(f, "%s", name);
    char *text = calloc(1, 1 << 20);
    cr_assert_lt(fread(text, 1, (1 << 20) - 1, f), (1 << 20) - 1);
    (void)fclose(f);
    return text;
}

char *world_replace(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    cr_assert_not_null(at, "no `%s` in the text", from);
    size_t before = (size_t)(at - text), size = strlen(text) + strlen(to) + 1;
    char *made = malloc(size);
    (void)snprintf(made, size, "%.*s%s%s", (int)before, text, to, at + strlen(from));
    return made;
}
