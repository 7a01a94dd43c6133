/* Loops and conditions through the builder: the same text as written by hand, and misuse. */
#include <criterion/criterion.h>
#include <ptxgen.h>
#include <ptxgen_build.h>
#include <stdlib.h>
#include <string.h>

static const char twin[] = "ptir 1\nmodule sm_80\n\n"
                           "kernel @k(%p: ptr<i32> [inout], %n: i32) [warps=1] {\n"
                           "  %0, %1 = while carry (%2 = %n, %3 = 1) : i32, i32 {\n"
                           "    %4 = icmp %2, 0 [is=gt] : i1\n"
                           "    yield %4\n"
                           "  } do {\n"
                           "    %5 = isub %2, %3 : i32\n"
                           "    %6 = iadd %3, %3 : i32\n"
                           "    yield %5, %6\n"
                           "  }\n"
                           "  store %p, %0\n"
                           "  while {\n"
                           "    %7 = load %p : i32\n"
                           "    %8 = icmp %7, %n [is=lt] : i1\n"
                           "    yield %8\n"
                           "  } do {\n"
                           "    store %p, %n\n"
                           "    yield\n"
                           "  }\n"
                           "  return\n"
                           "}\n";

typedef struct fixture {
    ptxgen_ctx *ctx;
    ptxgen_module *m;
    ptxgen_builder *b;
    ptxgen_value p, n;
} fixture;

static void begin(fixture *f)
{
    cr_assert_eq(ptxgen_ctx_create(NULL, &f->ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_module_create(f->ctx, (ptxgen_str){"sm_80", 5}, &f->m), PTXGEN_OK);
    cr_assert_eq(ptxgen_kernel_begin(f->m, "k", &f->b), PTXGEN_OK);
    ptxgen_kernel_attr(f->b, "warps", 1);
    f->p = ptxgen_param(f->b, "p", ptxgen_type_ptr(f->m, PTXGEN_I32));
    f->n = ptxgen_param(f->b, "n", ptxgen_type_scalar(f->m, PTXGEN_I32));
    ptxgen_param_attr(f->b, f->p, "inout", 1);
}

static void end(const fixture *f)
{
    ptxgen_module_destroy(f->m);
    ptxgen_ctx_destroy(f->ctx);
}

static void expect_text(const fixture *f, const char *text)
{
    ptxgen_result *r = NULL;
    cr_assert_eq(ptxgen_kernel_end(f->b), PTXGEN_OK);
    cr_assert_eq(ptxgen_module_print(f->m, &r), PTXGEN_OK);
    cr_expect_str_eq(ptxgen_result_ir(r).ptr, text);
    ptxgen_result_destroy(r);
    cr_expect_eq(ptxgen_module_compile(f->m, NULL, &r), PTXGEN_OK);
    ptxgen_result_destroy(r);
}

/* With arrays of their own, and with one for all that goes in and comes out. */
Test(build_loops, while_is_its_text)
{
    for (int is_one = 0; is_one < 2; is_one++) {
        fixture f;
        const ptxgen_value none = {0};
        ptxgen_value init[2], others[3][2];
        ptxgen_value *args = is_one ? init : others[0], *next = is_one ? init : others[1],
                     *done = is_one ? init : others[2];
        begin(&f);
        ptxgen_builder *b = f.b;
        init[0] = f.n;
        init[1] = ptxgen_const_int(b, ptxgen_type_scalar(f.m, PTXGEN_I32), 1);
        ptxgen_while_begin(b, 2, init, args);
        ptxgen_value zero = ptxgen_const_int(b, ptxgen_type_scalar(f.m, PTXGEN_I32), 0);
        ptxgen_while_do(b, ptxgen_build_compare(b, "icmp", "gt", args[0], zero), 2, args);
        next[0] = ptxgen_build_binary(b, "isub", args[0], args[1]);
        next[1] = ptxgen_build_binary(b, "iadd", args[1], args[1]);
        ptxgen_while_end(b, 2, next, done);
        ptxgen_build_store(b, f.p, done[0], none);
        ptxgen_while_begin(b, 0, NULL, NULL);
        ptxgen_value x = ptxgen_build_load(b, f.p, none, none);
        ptxgen_while_do(b, ptxgen_build_compare(b, "icmp", "lt", x, f.n), 0, NULL);
        ptxgen_build_store(b, f.p, f.n, none);
        ptxgen_while_end(b, 0, NULL, NULL);
        expect_text(&f, twin);
        end(&f);
    }
}

Test(build_loops, one_array_for_what_goes_in_and_comes_out)
{
    static const char text[] = "ptir 1\nmodule sm_80\n\n"
                               "kernel @k(%p: ptr<i32> [inout], %n: i32) [warps=1] {\n"
                               "  %0 = for %1 in 0 to %n step 1 carry (%2 = %n) : i32 {\n"
                               "    %3 = iadd %1, %2 : i32\n"
                               "    yield %3\n"
                               "  }\n"
                               "  %4 = icmp %0, 0 [is=gt] : i1\n"
                               "  %5 = if %4 : i32 {\n"
                               "    yield %0\n"
                               "  } else {\n"
                               "    yield %n\n"
                               "  }\n"
                               "  store %p, %5\n"
                               "  return\n"
                               "}\n";
    fixture f;
    begin(&f);
    ptxgen_builder *b = f.b;
    const ptxgen_type i32 = ptxgen_type_scalar(f.m, PTXGEN_I32);
    const ptxgen_value zero = ptxgen_const_int(b, i32, 0), one = ptxgen_const_int(b, i32, 1);
    ptxgen_value v[2] = {f.n};
    ptxgen_for_begin(b, zero, f.n, one, 1, v, v);
    ptxgen_build_op(b, "iadd", 2, v, 1, &i32, v);
    ptxgen_for_end(b, 1, v, v);
    const ptxgen_value is_more = ptxgen_build_compare(b, "icmp", "gt", v[0], zero);
    ptxgen_if_begin(b, is_more, 1, &i32);
    ptxgen_else(b, 1, v);
    v[0] = f.n;
    ptxgen_if_end(b, 1, v, v);
    ptxgen_build_store(b, f.p, v[0], (ptxgen_value){0});
    expect_text(&f, text);
    end(&f);
}

/* What fails gives nothing, though its region was open. */
Test(build_loops, a_wrong_yield_gives_no_results)
{
    fixture f;
    begin(&f);
    const ptxgen_type i32 = ptxgen_type_scalar(f.m, PTXGEN_I32);
    const ptxgen_value zero = ptxgen_const_int(f.b, i32, 0), one = ptxgen_const_int(f.b, i32, 1);
    ptxgen_value args[2], done[1] = {{7}};
    ptxgen_for_begin(f.b, zero, f.n, one, 1, &zero, args);
    ptxgen_for_end(f.b, 1, &(ptxgen_value){12345}, done);
    cr_expect_eq(done[0].id, 0);
    cr_expect_eq(ptxgen_kernel_end(f.b), PTXGEN_E_MISUSE);
    end(&f);
}

/* Each leaves the builder in error, and nothing else. */
Test(build_loops, while_out_of_order)
{
    for (uint32_t kind = 0; kind < 6; kind++) {
        fixture f;
        ptxgen_value args[1] = {{7}}, one;
        begin(&f);
        ptxgen_builder *b = f.b;
        one = ptxgen_const_int(b, ptxgen_type_scalar(f.m, PTXGEN_I1), 1);
        switch (kind) {
        case 0: ptxgen_while_do(b, one, 1, args); break;
        case 1: ptxgen_while_end(b, 0, NULL, NULL); break;
        case 2: ptxgen_while_begin(b, 1, NULL, args); break;
        case 3:
            ptxgen_while_begin(b, 0, NULL, NULL);
            ptxgen_while_end(b, 0, NULL, NULL);
            break;
        case 4:
            ptxgen_while_begin(b, 0, NULL, NULL);
            ptxgen_while_do(b, one, 0, NULL);
            ptxgen_while_do(b, one, 0, NULL);
            break;
        default: ptxgen_while_begin(b, 0, NULL, NULL); break; /* never closed */
        }
        if (kind == 0 || kind == 2) {
            cr_expect_eq(args[0].id, 0);
        }
        cr_expect_neq(ptxgen_kernel_end(b), PTXGEN_OK, "kind %u", kind);
        end(&f);
    }
}

Test(build_loops, clusters)
{
    static const char *const wanted[] = {"[warps=1, cluster=(2, 1, 1)]",
                                         "[warps=1, cluster=(1, 4, 2)]"};
    for (uint32_t i = 0; i < 2; i++) {
        fixture f;
        ptxgen_result *r = NULL;
        begin(&f);
        ptxgen_kernel_cluster(f.b, 3, 3, 3); /* the last one counts */
        ptxgen_kernel_cluster(f.b, i == 0 ? 2 : 1, i == 0 ? 1 : 4, i == 0 ? 1 : 2);
        cr_assert_eq(ptxgen_kernel_end(f.b), PTXGEN_OK);
        cr_assert_eq(ptxgen_module_print(f.m, &r), PTXGEN_OK);
        cr_assert_not_null(strstr(ptxgen_result_ir(r).ptr, wanted[i]), "%s",
                           ptxgen_result_ir(r).ptr);
        ptxgen_result_destroy(r);
        end(&f);
    }
}

/* Calls have no lines: the message says after which operation, and what of the call is wrong. */
Test(build_loops, errors_name_their_place)
{
    static const struct {
        uint32_t number;
        const char *text;
    } wanted[] = {
        {1502,
         "@k, after operation 1 (`iadd`): no operation is named 'isubb'; did you mean `isub`?"},
        {1503, "@k, after operation 1 (`iadd`): operand 2 of 'isub' is no value of this kernel"},
        {1504, "@k, after operation 1 (`iadd`): result 1 of 'splat' has no valid type"},
        {1505,
         "@k, after operation 1 (`iadd`): 'dimm' is no attribute of this kind, or has no such "
         "value; did you mean `dim`?"},
        {1505,
         "@k, after operation 1 (`iadd`): 'is' is no attribute of this kind, or has no such value"},
        {1501, "@k, after operation 2 (`while`): a region is still open at the end of the kernel"},
        {1501, "@k: one launch region stands at the start of a kernel"},
        {1501, "@k: an attribute stands behind its operation, and none is built yet"},
        {1501, "@k: an attribute stands behind its operation, and none is built yet"},
        {1501, "@k: ptxgen_const_float makes numbers of float types only"},
        {1501, "@k: ptxgen_const_int makes numbers of integer types only"},
        {1501, "@k: a number of ptxgen_const_int does not fit into its type"},
    };
    for (uint32_t kind = 0; kind < sizeof wanted / sizeof *wanted; kind++) {
        fixture f;
        begin(&f);
        ptxgen_builder *b = f.b;
        ptxgen_value sum = {0};
        if (kind < 6) {
            sum = ptxgen_build_binary(b, "iadd", f.n, f.n);
        }
        switch (kind) {
        case 0: (void)ptxgen_build_binary(b, "isubb", sum, sum); break;
        case 1: (void)ptxgen_build_binary(b, "isub", sum, (ptxgen_value){999}); break;
        case 2: (void)ptxgen_build_splat(b, sum, (ptxgen_type){0}); break;
        case 3: ptxgen_op_attr(b, "dimm", 1); break;
        case 4: ptxgen_op_word(b, "is", "almost"); break;
        case 5: ptxgen_while_begin(b, 0, NULL, NULL); break;
        case 6:
            ptxgen_launch_begin(b);
            ptxgen_launch_begin(b);
            break;
        case 7: ptxgen_op_attr(b, "nw", 1); break;
        case 8: ptxgen_op_word(b, "is", "lt"); break;
        case 9: (void)ptxgen_const_float(b, ptxgen_type_scalar(f.m, PTXGEN_I32), 1.5); break;
        case 10: (void)ptxgen_const_int(b, ptxgen_type_scalar(f.m, PTXGEN_F32), 1); break;
        default: {
            const ptxgen_type i8 = ptxgen_type_scalar(f.m, PTXGEN_I8);
            (void)ptxgen_const_int(b, i8, 255); /* the ranges of both readings, as in text */
            (void)ptxgen_const_int(b, i8, -128);
            (void)ptxgen_const_int(b, i8, 256);
            break;
        }
        }
        cr_expect_eq(ptxgen_kernel_end(b), PTXGEN_E_MISUSE, "kind %u", kind);
        ptxgen_result *r = NULL;
        cr_expect_eq(ptxgen_module_print(f.m, &r), PTXGEN_E_MISUSE);
        cr_assert_eq(ptxgen_result_diag_count(r), 1);
        const ptxgen_diag d = ptxgen_result_diag(r, 0);
        cr_expect_eq(d.number, wanted[kind].number, "kind %u: %u", kind, d.number);
        cr_expect_str_eq(d.message.ptr, wanted[kind].text);
        cr_expect_eq(d.line, 0);
        cr_expect_gt(d.help.len, 0);
        ptxgen_result_destroy(r);
        end(&f);
    }
}

static void *count_blocks(void *user, void *block, size_t old_size, size_t new_size)
{
    int *n = user;
    (void)old_size;
    *n += (block == NULL && new_size != 0) - (block != NULL && new_size == 0);
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

/* A caller that destroys things in the wrong order loses nothing and breaks nothing. */
Test(build_loops, a_context_waits_for_its_modules)
{
    int n = 0;
    const ptxgen_allocator counting = {&n, count_blocks};
    ptxgen_ctx *ctx = NULL;
    ptxgen_module *first = NULL, *second = NULL;
    ptxgen_builder *b = NULL;
    ptxgen_result *r = NULL;
    cr_assert_eq(ptxgen_ctx_create(&counting, &ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_module_create(ctx, (ptxgen_str){"sm_80", 5}, &first), PTXGEN_OK);
    cr_assert_eq(ptxgen_module_create(ctx, (ptxgen_str){"sm_90", 5}, &second), PTXGEN_OK);
    ptxgen_ctx_destroy(ctx);
    ptxgen_module_destroy(first);
    cr_assert_eq(ptxgen_kernel_begin(second, "k", &b), PTXGEN_OK);
    cr_assert_eq(ptxgen_kernel_end(b), PTXGEN_OK);
    cr_assert_eq(ptxgen_module_compile(second, NULL, &r), PTXGEN_OK);
    ptxgen_module_destroy(second);
    cr_assert_not_null(strstr(ptxgen_result_ptx(r).ptr, ".entry k"));
    ptxgen_result_destroy(r);
    cr_assert_eq(n, 0);
}

/* A module with an open kernel says so, to those who print and compile it, and stays as it is. */
Test(build_loops, open_kernels_are_named)
{
    fixture f;
    begin(&f);
    for (int kind = 0; kind < 2; kind++) {
        ptxgen_result *r = NULL;
        cr_assert_eq(kind == 0 ? ptxgen_module_print(f.m, &r)
                               : ptxgen_module_compile(f.m, NULL, &r),
                     PTXGEN_E_MISUSE);
        cr_assert_eq(ptxgen_result_diag_count(r), 1);
        const ptxgen_diag d = ptxgen_result_diag(r, 0);
        cr_assert_eq(d.number, 1501);
        cr_assert_str_eq(d.message.ptr,
                         "@k: the kernel is still being built: ptxgen_kernel_end ends it");
        ptxgen_result_destroy(r);
    }
    cr_assert_eq(ptxgen_kernel_end(f.b), PTXGEN_OK);
    ptxgen_result *r = NULL;
    cr_assert_eq(ptxgen_module_compile(f.m, NULL, &r), PTXGEN_OK);
    ptxgen_result_destroy(r);
    ptxgen_module_destroy(f.m);
    ptxgen_ctx_destroy(f.ctx);
}
