/* Lowering as a library function: memory that runs out at any request, the same bytes every time,
 * launch facts, and refusals. What the PTX means is tested in tests/exec and tests/filetests/emit.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/lower.h"
#include "sched/pass.h"
#include "tests/failing.h"

typedef struct world {
    failing meter;
    pg_alloc alloc;
    pg_ctx ctx;
    pg_arena arena;
    pg_diags diags;
    pg_module *module;
} world;

static void open_world(world *w, const char *text)
{
    memset(w, 0, sizeof *w);
    w->alloc = (pg_alloc){&w->meter, resize_failing};
    cr_assert_eq(pg_ctx_init(&w->ctx, w->alloc), PG_OK);
    pg_arena_init(&w->arena, w->alloc);
    pg_diags_init(&w->diags, &w->arena, w->alloc);
    cr_assert_eq(pg_parse(&w->ctx, pg_str_of(text), &w->diags, &w->module), PG_OK);
    pg_pass_options opt = {.passes = PG_STR("layouts"), .pass_limit = UINT32_MAX};
    bool stopped;
    cr_assert_eq(pg_passes_run(w->module, &opt, &w->arena, &w->module, NULL, NULL, &stopped),
                 PG_OK);
}

static void close_world(world *w)
{
    pg_module_destroy(w->module);
    pg_arena_fini(&w->arena);
    pg_ctx_fini(&w->ctx);
    cr_assert_eq(w->meter.live_bytes, 0, "%llu bytes leak",
                 (unsigned long long)w->meter.live_bytes);
}

static const char *read_text(const char *name)
{
    static char text[1 << 16];
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", PG_SOURCE_ROOT, name);
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = 0;
    return text;
}

static const char loop[] =
    "ptir 1\nmodule sm_80\nkernel @k(%x: ptr<f16> [in], %y: ptr<f16> [out], %n: i32) [warps=2] {\n"
    "  %i = iota : tile<256xi32>\n  %p0 = addptr %x, %i : tile<256xptr<f16>>\n"
    "  %pe = for %t in 0 to %n step 1 carry (%p = %p0) : tile<256xptr<f16>> {\n"
    "    %v = load %p : tile<256xf16>\n    %e = exp %v : tile<256xf16>\n"
    "    %q = addptr %y, %i : tile<256xptr<f16>>\n    store %q, %e\n"
    "    %k = cast %v : tile<256xi32>\n    %pn = addptr %x, %k : tile<256xptr<f16>>\n"
    "    yield %pn\n  }\n  return\n}\n";

static void lower_without_memory(const char *text)
{
    world w;
    open_world(&w, text);
    pg_status status = PG_E_NOMEM;
    uint64_t k = 1;
    for (; status == PG_E_NOMEM && k < 100000; k++) {
        pg_arena arena;
        pg_ptx_module *ptx = NULL;
        pg_arena_init(&arena, w.alloc);
        w.meter.n = 0;
        w.meter.fail_at = k;
        status = pg_lower(w.module, NULL, &arena, &w.diags, &ptx);
        cr_assert((status == PG_OK) == (ptx != NULL));
        pg_arena_fini(&arena);
    }
    w.meter.fail_at = 0;
    cr_assert_eq(status, PG_OK, "request %llu: status %d", (unsigned long long)k, (int)status);
    cr_assert_gt(k, 3);
    close_world(&w);
}

Test(lower, memory_runs_out, .timeout = 100)
{
    lower_without_memory(loop);
    lower_without_memory(read_text("tests/filetests/whole/gemm_ws.ptir"));
    lower_without_memory(read_text("tests/filetests/emit/mma-in-a-loop.ptir"));
}

static void lower_text(const char *text, pg_strbuf *out)
{
    world w;
    open_world(&w, text);
    pg_ptx_module *ptx = NULL;
    cr_assert_eq(pg_lower(w.module, NULL, &w.arena, &w.diags, &ptx), PG_OK);
    cr_assert_eq(pg_ptx_check(ptx, &w.diags), PG_OK);
    pg_ptx_write(out, ptx);
    close_world(&w);
}

Test(lower, same_bytes_every_time)
{
    pg_strbuf a, b;
    pg_strbuf_init(&a, pg_alloc_default());
    pg_strbuf_init(&b, pg_alloc_default());
    lower_text(loop, &a);
    lower_text(loop, &b);
    cr_assert(pg_str_eq(pg_strbuf_str(&a), pg_strbuf_str(&b)));
    pg_strbuf_fini(&a);
    pg_strbuf_fini(&b);
}

Test(lower, manifest_alone_is_the_one_in_the_text)
{
    world w;
    pg_strbuf a;
    pg_strbuf_init(&a, pg_alloc_default());
    open_world(&w, loop);
    pg_ptx_module *ptx = NULL;
    cr_assert_eq(pg_lower(w.module, NULL, &w.arena, &w.diags, &ptx), PG_OK);
    pg_put(&a, "ptxgen: ");
    cr_assert_eq(pg_manifest(&a, w.module, w.module->kernels, &w.diags), PG_OK);
    cr_assert(pg_str_eq(pg_strbuf_str(&a), ptx->funcs.at[0]->lead.at[0]));
    pg_strbuf_fini(&a);
    close_world(&w);
}

/* Two carried tiles of one loop, nested: each try is repeated at most a few times. */
Test(lower, nested_tries_do_not_multiply, .timeout = 20)
{
    pg_strbuf t, out;
    pg_strbuf_init(&t, pg_alloc_default());
    pg_strbuf_init(&out, pg_alloc_default());
    pg_put(&t, "ptir 1\nmodule sm_80\nkernel @k(%x: ptr<i32> [inout], %n: i32) [warps=1] {\n"
               "%i = iota : tile<128xi32>\n%p0 = addptr %x, %i : tile<128xptr<i32>>\n");
    enum { DEPTH = 12 };
    for (uint32_t d = 0; d < DEPTH; d++) {
        pg_putf(
            &t,
            "%%r%u = for %%t%u in 0 to %%n step 1 carry (%%p%u = %%p%u) : tile<128xptr<i32>> {\n",
            d, d, d + 1, d);
    }
    pg_putf(&t,
            "%%v = load %%p%u : tile<128xi32>\n%%w = addptr %%x, %%v : tile<128xptr<i32>>\nyield "
            "%%w\n}\n",
            (uint32_t)DEPTH);
    for (uint32_t d = DEPTH - 1; d-- > 0;) {
        pg_putf(&t, "yield %%r%u\n}\n", d + 1);
    }
    pg_put(&t, "%u = load %r0 : tile<128xi32>\nstore %p0, %u\nreturn\n}\n");
    lower_text(t.ptr, &out);
    cr_assert_lt(out.len, 40000);
    pg_strbuf_fini(&t);
    pg_strbuf_fini(&out);
}
