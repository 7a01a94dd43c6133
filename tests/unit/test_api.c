/* The public interface: misuse, older and newer callers, running out of memory, independence. */
#include <criterion/criterion.h>
#include <ptxgen.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/failing.h"

static const char good[] =
    "ptir 1\nmodule sm_80\n"
    "kernel @k(%x: ptr<f32> [in, shape=(%n)], %y: ptr<f32> [out, shape=(%n)], %n: i32) [warps=4] "
    "{\n"
    "  launch {\n    %g = icdiv %n, 128 : i32\n    grid %g\n  }\n"
    "  %b = program_id [axis=x] : i32\n  %o = imul %b, 128 : i32\n"
    "  %i = iota : tile<128xi32>\n  %s = splat %o : tile<128xi32>\n"
    "  %j = iadd %i, %s : tile<128xi32>\n  %e = splat %n : tile<128xi32>\n"
    "  %m = icmp %j, %e [is=lt] : tile<128xi1>\n"
    "  %p = addptr %x, %j : tile<128xptr<f32>>\n  %v = load %p, %m, 0.0 : tile<128xf32>\n"
    "  %w = fma %v, 2.0, 1.0 : tile<128xf32>\n  %q = addptr %y, %j : tile<128xptr<f32>>\n"
    "  store %q, %w, %m\n  return\n}\n";

static ptxgen_str text_of(const char *s)
{
    return (ptxgen_str){s, strlen(s)};
}

static void check_compiles(ptxgen_ctx *ctx)
{
    ptxgen_result *r = NULL;
    ptxgen_status status = ptxgen_compile(ctx, text_of(good), NULL, &r);
    cr_assert_eq(status, PTXGEN_OK, "%s", ptxgen_result_diag(r, 0).message.ptr);
    cr_assert_not_null(strstr(ptxgen_result_ptx(r).ptr, ".visible .entry k("));
    cr_assert_eq(ptxgen_result_ptx(r).ptr[ptxgen_result_ptx(r).len], '\0');
    ptxgen_result_destroy(r);
}

Test(api, misuse_is_a_status)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    const ptxgen_allocator no_function = {NULL, NULL};
    cr_assert_eq(ptxgen_ctx_create(NULL, NULL), PTXGEN_E_MISUSE);
    cr_assert_eq(ptxgen_ctx_create(&no_function, &ctx), PTXGEN_E_MISUSE);
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_compile(NULL, text_of(good), NULL, &r), PTXGEN_E_MISUSE);
    cr_assert_eq(ptxgen_compile(ctx, text_of(good), NULL, NULL), PTXGEN_E_MISUSE);
    cr_assert_null(r);
    ptxgen_options bad[] = {{.struct_size = 0},
                            {.struct_size = sizeof bad[0], .emit = (ptxgen_emit)9},
                            {.struct_size = sizeof bad[0], .verify = (ptxgen_verify)7},
                            {.struct_size = sizeof bad[0], .checks = 64},
                            {.struct_size = sizeof bad[0], .flags = 1u << 31},
                            {.struct_size = sizeof bad[0], .n_settings = 1}};
    static const uint32_t numbers[] = {6001, 6002, 6002, 6002, 6002, 6007};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(ptxgen_compile(ctx, text_of(good), &bad[i], &r), PTXGEN_E_MISUSE, "%zu", i);
        cr_expect_eq(ptxgen_result_diag(r, 0).number, numbers[i], "%zu", i);
        cr_assert_eq(ptxgen_result_diag_count(r), 1);
        cr_assert_eq(ptxgen_result_diag(r, 0).severity, PTXGEN_ERROR);
        cr_assert_gt(ptxgen_result_diag(r, 0).help.len, 0);
        cr_assert_eq(ptxgen_result_ptx(r).len, 0);
        ptxgen_result_destroy(r);
    }
    cr_assert_eq(ptxgen_interpret(ctx, text_of(good), NULL, &r), PTXGEN_E_MISUSE);
    ptxgen_result_destroy(r);
    check_compiles(ctx);
    ptxgen_ctx_destroy(ctx);
    ptxgen_ctx_destroy(NULL);
    ptxgen_result_destroy(NULL);
}

Test(api, accessors_take_null_and_any_index)
{
    ptxgen_stats stats = {.struct_size = sizeof stats};
    cr_assert_str_eq(ptxgen_result_ptx(NULL).ptr, "");
    cr_assert_str_eq(ptxgen_result_ir(NULL).ptr, "");
    cr_assert_str_eq(ptxgen_result_target(NULL).ptr, "");
    cr_assert_str_eq(ptxgen_result_entry_name(NULL, 3).ptr, "");
    cr_assert_str_eq(ptxgen_result_manifest(NULL, 3).ptr, "");
    cr_assert_str_eq(ptxgen_result_diag(NULL, 3).message.ptr, "");
    cr_assert_str_eq(ptxgen_result_pass(NULL, 3).name.ptr, "");
    cr_assert_eq(ptxgen_result_stats(NULL, &stats), PTXGEN_E_MISUSE);
    cr_assert_null(ptxgen_target_name(1000));
    cr_assert_null(ptxgen_pass_name(1000));
    cr_assert_null(ptxgen_pass_doc(1000));
    cr_assert_not_null(ptxgen_target_name(0));
    cr_assert_null(ptxgen_default_passes(text_of("sm_1")));
    cr_assert_null(ptxgen_default_passes(text_of("")));
    cr_assert_not_null(ptxgen_status_name((ptxgen_status)77));
    cr_assert_str_eq(ptxgen_status_name(PTXGEN_E_PARSE), "PTXGEN_E_PARSE");
}

Test(api, callers_of_other_versions)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    /* An older caller knows fewer fields: what lies behind its struct must not matter. */
    ptxgen_options old;
    memset(&old, 0xFF, sizeof old);
    old.struct_size = offsetof(ptxgen_options, passes);
    old.target = text_of("sm_90");
    cr_assert_eq(ptxgen_compile(ctx, text_of(good), &old, &r), PTXGEN_OK);
    cr_assert_str_eq(ptxgen_result_target(r).ptr, "sm_90");
    /* A newer caller's larger structs. */
    struct {
        ptxgen_stats known;
        uint64_t more[4];
    } stats;
    memset(&stats, 0xFF, sizeof stats);
    stats.known.struct_size = sizeof stats;
    cr_assert_eq(ptxgen_result_stats(r, &stats.known), PTXGEN_OK);
    cr_assert_eq(stats.more[3], 0);
    cr_assert_eq(stats.known.struct_size, sizeof stats);
    cr_assert_gt(stats.known.n_ops, 10);
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
}

Test(api, facts_of_a_result)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_compile(ctx, text_of(good), NULL, &r), PTXGEN_OK);
    cr_assert_eq(ptxgen_result_ir(r).len, 0); /* nobody asked for it */
    ptxgen_result_destroy(r);
    const ptxgen_options both = {.struct_size = sizeof both, .flags = PTXGEN_KEEP_IR};
    cr_assert_eq(ptxgen_compile(ctx, text_of(good), &both, &r), PTXGEN_OK);
    ptxgen_ctx_destroy(ctx); /* results do not need it */
    cr_assert_eq(ptxgen_result_entry_count(r), 1);
    cr_assert_str_eq(ptxgen_result_entry_name(r, 0).ptr, "k");
    cr_assert_not_null(strstr(ptxgen_result_manifest(r, 0).ptr, "\"schema\""));
    cr_assert_eq(strncmp(ptxgen_result_ir(r).ptr, "ptir 1\n", 7), 0);
    cr_assert_gt(ptxgen_result_pass_count(r), 0);
    cr_assert_gt(ptxgen_result_pass(r, 0).name.len, 0);
    uint32_t n_mapped = 0;
    for (uint32_t line = 0; line < 1000; line++) {
        n_mapped += ptxgen_result_source_line(r, line) != 0;
    }
    cr_assert_gt(n_mapped, 10);
    ptxgen_result_destroy(r);
}

Test(api, errors_come_with_places_and_leave_no_text)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_compile(ctx,
                                text_of("ptir 1\nmodule sm_80\nkernel @k() {\n  %x = foo 1\n"
                                        "  %y = bar 2\n  return\n}\n"),
                                NULL, &r),
                 PTXGEN_E_PARSE);
    cr_assert_eq(ptxgen_result_diag_count(r), 2);
    cr_assert_eq(ptxgen_result_diag(r, 0).line, 4);
    cr_assert_eq(ptxgen_result_diag(r, 1).line, 5);
    cr_assert_eq(ptxgen_result_ptx(r).len, 0);
    ptxgen_result_destroy(r);
    cr_assert_eq(ptxgen_compile(ctx, (ptxgen_str){NULL, 0}, NULL, &r), PTXGEN_E_PARSE);
    ptxgen_result_destroy(r);
    check_compiles(ctx);
    ptxgen_ctx_destroy(ctx);
}

Test(api, interpreter_agrees_with_arithmetic)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    float x[200];
    float y[200] = {0};
    uint8_t poison[sizeof y];
    for (int i = 0; i < 200; i++) {
        x[i] = (float)i;
    }
    memset(poison, 1, sizeof poison);
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    const ptxgen_arg args[] = {{.data = x, .n_bytes = sizeof x},
                               {.data = y, .n_bytes = sizeof y, .poison = poison},
                               {.bits = 200}};
    ptxgen_interpretation run = {.struct_size = sizeof run, .args = args, .n_args = 3};
    ptxgen_status status = ptxgen_interpret(ctx, text_of(good), &run, &r);
    cr_assert_eq(status, PTXGEN_OK, "%s", ptxgen_result_diag(r, 0).message.ptr);
    ptxgen_result_destroy(r);
    for (int i = 0; i < 200; i++) {
        cr_assert_eq(y[i], 2 * x[i] + 1);
        cr_assert_eq(poison[4 * i], 0);
    }
    run.n_args = 2;
    cr_assert_eq(ptxgen_interpret(ctx, text_of(good), &run, &r), PTXGEN_E_MISUSE);
    ptxgen_result_destroy(r);
    run.n_args = 3;
    run.args = NULL;
    cr_assert_eq(ptxgen_interpret(ctx, text_of(good), &run, &r), PTXGEN_E_MISUSE);
    cr_expect_eq(ptxgen_result_diag(r, 0).number, 6007);
    ptxgen_result_destroy(r);
    run.args = args;
    run.entry = text_of("nope");
    cr_assert_eq(ptxgen_interpret(ctx, text_of(good), &run, &r), PTXGEN_E_INVALID);
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
}

Test(api, memory_may_run_out_at_any_request, .timeout = 110)
{
    for (size_t k = 1;; k++) {
        failing f = {0};
        const ptxgen_allocator alloc = {&f, resize_failing};
        ptxgen_ctx *ctx = NULL;
        cr_assert_eq(ptxgen_ctx_create(&alloc, &ctx), PTXGEN_OK);
        f.n = 0;
        f.fail_at = k;
        ptxgen_result *r = NULL;
        ptxgen_status status = ptxgen_compile(ctx, text_of(good), NULL, &r);
        bool has_failed = f.n >= k;
        cr_assert_eq(status, has_failed ? PTXGEN_E_NOMEM : PTXGEN_OK, "request %zu: %s: %s", k,
                     ptxgen_status_name(status), ptxgen_result_diag(r, 0).message.ptr);
        cr_assert(r != NULL || k == 1);
        cr_assert_eq(ptxgen_result_ptx(r).len != 0, !has_failed);
        ptxgen_result_destroy(r);
        f.fail_at = 0;
        check_compiles(ctx); /* the context is as good as new */
        ptxgen_ctx_destroy(ctx);
        cr_assert_eq(f.live_bytes, 0, "request %zu leaks %zu bytes", k, f.live_bytes);
        if (!has_failed) {
            cr_assert_gt(k, 10);
            return;
        }
    }
}

Test(api, memory_may_run_out_in_other_calls, .timeout = 110)
{
    for (size_t k = 1; k < 400; k++) {
        failing f = {.fail_at = k};
        const ptxgen_allocator alloc = {&f, resize_failing};
        ptxgen_ctx *ctx = NULL;
        if (ptxgen_ctx_create(&alloc, &ctx) == PTXGEN_OK) {
            ptxgen_result *r = NULL;
            ptxgen_module *m = NULL;
            ptxgen_status status =
                ptxgen_check_ptx(ctx,
                                 text_of(".version 8.0\n.target sm_80\n.address_size 64\n"
                                         ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>;\n"
                                         "mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nret;\n}\n"),
                                 &r);
            cr_assert(status == PTXGEN_OK || status == PTXGEN_E_NOMEM);
            ptxgen_result_destroy(r);
            r = NULL;
            status = ptxgen_kernel_build(ctx, text_of("gelu"), text_of("sm_80"), NULL, 0, &m, NULL);
            if (status == PTXGEN_OK) {
                status = ptxgen_module_compile(m, NULL, &r);
            }
            cr_assert(status == PTXGEN_OK || status == PTXGEN_E_NOMEM);
            ptxgen_result_destroy(r);
            ptxgen_module_destroy(m);
        }
        ptxgen_ctx_destroy(ctx);
        cr_assert_eq(f.live_bytes, 0, "request %zu leaks %zu bytes", k, f.live_bytes);
    }
}

Test(api, describes_layouts)
{
    static const char *const texts[] = {
        ("enc #c = mma [shape=(16, 8, 16), warps=(2, 2)]\nenc #a = dot [operand=0, of=#c]\n"
         "slice [of=#a, dim=1]"),
        "wgmma [shape=(64, 96, 16), warps=(4, 1)]", "smem [order=(1, 0), swizzle=64]"};
    for (size_t i = 0; i < 3; i++) {
        bool is_done = false;
        for (size_t k = 1; !is_done; k++) {
            failing f = {.fail_at = k};
            const ptxgen_allocator alloc = {&f, resize_failing};
            ptxgen_ctx *ctx = NULL;
            ptxgen_result *r = NULL;
            if (ptxgen_ctx_create(&alloc, &ctx) == PTXGEN_OK) {
                ptxgen_status status = ptxgen_describe_layout(ctx, text_of(texts[i]), NULL, &r);
                cr_assert(status == PTXGEN_OK || status == PTXGEN_E_NOMEM);
                is_done = status == PTXGEN_OK && f.n < k;
                bool has_text = ptxgen_result_layout(r, PTXGEN_LAYOUT_TABLE).len != 0 &&
                                ptxgen_result_layout(r, PTXGEN_LAYOUT_SVG).len != 0 &&
                                ptxgen_result_layout(r, PTXGEN_LAYOUT_JSON).len != 0;
                cr_assert_eq(has_text, status == PTXGEN_OK);
                ptxgen_result_destroy(r);
            }
            ptxgen_ctx_destroy(ctx);
            cr_assert_eq(f.live_bytes, 0, "request %zu leaks %zu bytes", k, f.live_bytes);
        }
    }
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    ptxgen_layout_query q = {.struct_size = 3};
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_describe_layout(ctx, text_of(texts[1]), &q, &r), PTXGEN_E_MISUSE);
    ptxgen_result_destroy(r);
    cr_assert_eq(ptxgen_describe_layout(ctx, text_of(texts[1]), NULL, NULL), PTXGEN_E_MISUSE);
    cr_assert_eq(ptxgen_describe_layout(NULL, text_of(texts[1]), NULL, &r), PTXGEN_E_MISUSE);
    cr_assert_null(r);
    cr_assert_eq(ptxgen_result_layout(NULL, PTXGEN_LAYOUT_SVG).len, 0);
    ptxgen_ctx_destroy(ctx);
}

Test(api, same_input_same_bytes)
{
    char *first = NULL;
    for (int i = 0; i < 4; i++) {
        ptxgen_ctx *ctx = NULL;
        ptxgen_result *r = NULL;
        void *shift = malloc((size_t)i * 1000 + 1); /* other addresses */
        cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
        for (int j = 0; j < i; j++) {
            check_compiles(ctx); /* what came before must not matter */
        }
        cr_assert_eq(ptxgen_compile(ctx, text_of(good), NULL, &r), PTXGEN_OK);
        if (first == NULL) {
            first = strdup(ptxgen_result_ptx(r).ptr);
        }
        cr_assert_str_eq(ptxgen_result_ptx(r).ptr, first);
        ptxgen_result_destroy(r);
        ptxgen_ctx_destroy(ctx);
        free(shift);
    }
    free(first);
}
