/* The pass manager: lists of passes, stopping, printing, statistics, messages. */
#include <criterion/criterion.h>
#include <string.h>

#include "sched/pass.h"

static const char program[] =
    "ptir 1\nmodule sm_80\n\nkernel @k(%y: ptr<i32> [out, shape=(64)]) "
    "[warps=2] {\n  %i = iota : tile<64xi32>\n  %z = iadd %i, 0 : tile<64xi32>\n"
    "  %p = addptr %y, %z : tile<64xptr<i32>>\n  store %p, %i\n  return\n}\n";

typedef struct fixture {
    pg_ctx ctx;
    pg_arena arena;
    pg_diags diags;
    pg_module *m;
    pg_strbuf text; /* what the sink got */
    pg_pass_stat *stats;
    uint32_t n_stats;
    bool stopped;
} fixture;

static void sink_write(void *user, const char *bytes, size_t n)
{
    pg_put_str(user, (pg_str){bytes, n});
}

static uint64_t clock_tick(void *user)
{
    uint64_t *now = user;
    return *now += 5;
}

static pg_status run_text(fixture *f, const char *text, pg_pass_options opt)
{
    memset(f, 0, sizeof *f);
    cr_assert_eq(pg_ctx_init(&f->ctx, pg_alloc_default()), PG_OK);
    pg_arena_init(&f->arena, pg_alloc_default());
    pg_diags_init(&f->diags, &f->arena, pg_alloc_default());
    pg_strbuf_init(&f->text, pg_alloc_default());
    cr_assert_eq(pg_parse(&f->ctx, pg_str_of(text), &f->diags, &f->m), PG_OK);
    cr_assert_eq(pg_verify(f->m, 0), PG_OK);
    opt.sink = (pg_sink){&f->text, sink_write};
    return pg_passes_run(f->m, &opt, &f->arena, &f->m, &f->stats, &f->n_stats, &f->stopped);
}

static pg_status run(fixture *f, pg_pass_options opt)
{
    return run_text(f, program, opt);
}

static void end(fixture *f)
{
    pg_module_destroy(f->m);
    pg_strbuf_fini(&f->text);
    pg_arena_fini(&f->arena);
    pg_ctx_fini(&f->ctx);
}

static pg_pass_options list(const char *passes)
{
    return (pg_pass_options){.passes = pg_str_of(passes), .pass_limit = UINT32_MAX};
}

Test(passes, default_pipeline_gives_layouts)
{
    fixture f;
    cr_assert_eq(run(&f, list("")), PG_OK);
    cr_assert_eq(f.n_stats, 7u);
    cr_assert(f.stats[0].changed);
    cr_assert_eq(f.stats[0].n_insts_before, 5u);
    cr_assert_eq(f.stats[0].n_insts_after, 4u);
    cr_assert_eq(f.m->props, (uint32_t)PG_PROP_ALL);
    cr_assert_not(f.stopped);
    end(&f);
}

Test(passes, all_checks_hold)
{
    fixture f;
    pg_pass_options opt = list("");
    opt.verify = PG_VERIFY_EACH;
    opt.checks = PG_CHECK_ROUNDTRIP | PG_CHECK_CLONE | PG_CHECK_TWICE;
    cr_assert_eq(run(&f, opt), PG_OK);
    cr_assert_eq(f.m->props, (uint32_t)PG_PROP_ALL);
    end(&f);
}

/* A run of `simplify` is left out where nothing can be left to do, and only there: two tiles that
 * differ in their encodings until `layouts` gives both the same are one after it. Checks between
 * passes would replace the module and with it what is known of it. */
Test(passes, simplify_looks_again_where_encodings_became_equal)
{
    static const char text[] =
        "ptir 1\nmodule sm_80\nenc #a = blocked [regs=(4), lanes=(32), warps=(2), order=(0)]\n\n"
        "kernel @k(%x: ptr<i32> [in, shape=(256)], %y: ptr<i32> [out, shape=(256)]) [warps=2] {\n"
        "  %i = iota : tile<256xi32, #a>\n  %j = iota : tile<256xi32>\n"
        "  %p = addptr %x, %i : tile<256xptr<i32>, #a>\n  %v = load %p : tile<256xi32, #a>\n"
        "  %s = iadd %v, %j : tile<256xi32, #a>\n  %q = addptr %y, %j : tile<256xptr<i32>, #a>\n"
        "  store %q, %s\n  return\n}\n";
    fixture f;
    cr_assert_eq(run_text(&f, text, list("simplify,layouts,simplify")), PG_OK);
    cr_assert_eq(f.stats[1].n_insts_after, 8u);
    cr_assert(f.stats[2].changed);
    cr_assert_eq(f.stats[2].n_insts_after, 7u);
    end(&f);
}

Test(passes, none_runs_none)
{
    fixture f;
    cr_assert_eq(run(&f, list("none")), PG_OK);
    cr_assert_eq(f.n_stats, 0u);
    end(&f);
}

Test(passes, stop_after_and_limit)
{
    fixture f;
    pg_pass_options opt = list("");
    opt.stop_after = PG_STR("layouts");
    cr_assert_eq(run(&f, opt), PG_OK);
    cr_assert_eq(f.n_stats, 2u);
    cr_assert(f.stopped);
    end(&f);
    opt = list("");
    opt.pass_limit = 1;
    cr_assert_eq(run(&f, opt), PG_OK);
    cr_assert_eq(f.n_stats, 1u);
    cr_assert(f.stopped);
    end(&f);
}

Test(passes, print_after_changed_prints_only_then)
{
    fixture f;
    pg_pass_options opt = list("simplify,simplify");
    opt.print_after = PG_STR("changed");
    cr_assert_eq(run(&f, opt), PG_OK);
    const char *first = strstr(f.text.ptr, "// after simplify\n");
    cr_assert_not_null(first);
    cr_assert_null(strstr(first + 1, "// after simplify"));
    end(&f);
}

Test(passes, explain_speaks_of_layouts)
{
    fixture f;
    pg_pass_options opt = list("layouts");
    opt.explain = PG_STR("registers,layouts");
    cr_assert_eq(run(&f, opt), PG_OK);
    cr_assert_not_null(strstr(f.text.ptr, "layouts: @k: line 8: store"), "%s", f.text.ptr);
    end(&f);
}

Test(passes, times_come_from_the_callers_clock)
{
    fixture f;
    uint64_t now = 0;
    pg_pass_options opt = list("simplify");
    opt.clock_ns = clock_tick;
    opt.clock_user = &now;
    cr_assert_eq(run(&f, opt), PG_OK);
    cr_assert_eq(f.stats[0].ns, 5u);
    end(&f);
}

static void expect_error(const char *passes, pg_diag_id id)
{
    fixture f;
    cr_assert_eq(run(&f, list(passes)), PG_E_MISUSE, "%s", passes);
    cr_assert_eq(f.diags.at[0].id, id, "%s", passes);
    end(&f);
}

Test(passes, bad_lists_are_misuse)
{
    expect_error("simplify,nothing", PG_D_PASS_UNKNOWN);
    expect_error("simplify,,layouts", PG_D_PASS_UNKNOWN);
    expect_error("simplify[", PG_D_PASS_SYNTAX);
    expect_error("simplify[x]", PG_D_PASS_SYNTAX);
    expect_error("simplify[x=y]", PG_D_PASS_SYNTAX);
}

Test(passes, options_reach_the_pass)
{
    pg_pass_options opt = {0};
    pg_pass_env env = {.options = &opt, .args = PG_STR("a=1, bb=-20")};
    cr_assert_eq(pg_pass_arg(&env, "a", 7), 1);
    cr_assert_eq(pg_pass_arg(&env, "bb", 7), -20);
    cr_assert_eq(pg_pass_arg(&env, "b", 7), 7);
}

Test(passes, ties_are_the_first_or_drawn)
{
    pg_pass_options opt = {0};
    pg_pass_env env = {.options = &opt, .ties = 0};
    for (uint32_t i = 0; i < 20; i++) {
        cr_assert_eq(pg_tie(&env, 1 + i % 5), 0); /* without a seed */
    }
    for (opt.shuffle = 1; opt.shuffle < 20; opt.shuffle++) {
        pg_pass_env same = {.options = &opt, .ties = opt.shuffle};
        uint32_t seen = 0;
        env.ties = opt.shuffle;
        for (uint32_t i = 0; i < 100; i++) {
            const uint32_t x = pg_tie(&env, 5), y = pg_tie(&same, 5);
            cr_assert_eq(x, y);
            cr_assert_lt(x, 5);
            seen |= 1u << x;
        }
        cr_assert_eq(seen, 31);
        cr_assert_eq(pg_tie(&env, 1), 0);
    }
}

Test(passes, unknown_names_in_options)
{
    fixture f;
    pg_pass_options opt = list("simplify");
    opt.stop_after = PG_STR("nothing");
    cr_assert_eq(run(&f, opt), PG_E_MISUSE);
    end(&f);
    opt = list("simplify");
    opt.print_after = PG_STR("nothing");
    cr_assert_eq(run(&f, opt), PG_E_MISUSE);
    end(&f);
}
