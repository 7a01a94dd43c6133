/* A module that was built compiles as its text does, and stands where its builder says. */
#include <criterion/criterion.h>
#include <ptxgen.h>
#include <ptxgen_build.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"

typedef struct fixture {
    ptxgen_ctx *ctx;
    ptxgen_module *m;
} fixture;

static ptxgen_str str(const char *s)
{
    return (ptxgen_str){s, strlen(s)};
}

static fixture begin(const char *target)
{
    fixture f = {0};
    cr_assert_eq(ptxgen_ctx_create(NULL, &f.ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_module_create(f.ctx, str(target), &f.m), PTXGEN_OK);
    return f;
}

static ptxgen_builder *begin_kernel(const fixture *f)
{
    ptxgen_builder *b = NULL;
    cr_assert_eq(ptxgen_kernel_begin(f->m, "k", &b), PTXGEN_OK);
    return b;
}

static void end(const fixture *f)
{
    ptxgen_module_destroy(f->m);
    ptxgen_ctx_destroy(f->ctx);
}

/* Compiles the module, and its text; all that both say is the same. */
static void compare(ptxgen_ctx *ctx, ptxgen_module *m, const char *what)
{
    const ptxgen_options options = {
        .struct_size = sizeof options, .flags = PTXGEN_KEEP_IR, .line_info = {"twin.ptir", 9}};
    ptxgen_result *text = NULL, *r[2] = {NULL, NULL};
    cr_assert_eq(ptxgen_module_print(m, &text), PTXGEN_OK);
    const ptxgen_status by_module = ptxgen_module_compile(m, &options, &r[0]);
    const ptxgen_status by_text = ptxgen_compile(ctx, ptxgen_result_ir(text), &options, &r[1]);
    cr_assert_eq(by_module, by_text, "%s: %d, %d", what, (int)by_module, (int)by_text);
    cr_expect_str_eq(ptxgen_result_ptx(r[0]).ptr, ptxgen_result_ptx(r[1]).ptr, "%s", what);
    cr_expect_str_eq(ptxgen_result_ir(r[0]).ptr, ptxgen_result_ir(r[1]).ptr, "%s", what);
    cr_assert_eq(ptxgen_result_entry_count(r[0]), ptxgen_result_entry_count(r[1]));
    for (size_t i = 0; i < ptxgen_result_entry_count(r[0]); i++) {
        cr_expect_str_eq(ptxgen_result_manifest(r[0], i).ptr, ptxgen_result_manifest(r[1], i).ptr);
    }
    cr_assert_eq(ptxgen_result_diag_count(r[0]), ptxgen_result_diag_count(r[1]), "%s", what);
    for (size_t i = 0; i < ptxgen_result_diag_count(r[0]); i++) {
        const ptxgen_diag a = ptxgen_result_diag(r[0], i), b = ptxgen_result_diag(r[1], i);
        cr_expect_eq(a.number, b.number);
        cr_expect_str_eq(a.message.ptr, b.message.ptr);
        cr_expect(a.line == b.line && a.column == b.column, "%s: %u:%u, %u:%u", a.message.ptr,
                  a.line, a.column, b.line, b.column);
    }
    ptxgen_result_destroy(r[0]);
    ptxgen_result_destroy(r[1]);
    /* and the module stays as it was */
    ptxgen_result *again = NULL;
    cr_assert_eq(ptxgen_module_print(m, &again), PTXGEN_OK);
    cr_expect_str_eq(ptxgen_result_ir(again).ptr, ptxgen_result_ir(text).ptr);
    ptxgen_result_destroy(again);
    ptxgen_result_destroy(text);
}

Test(build_places, library_kernels_are_their_texts)
{
    ptxgen_ctx *ctx = NULL;
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    for (size_t i = 0; ptxgen_kernel_at(i) != NULL; i++) {
        const char *name = ptxgen_kernel_at(i)->name;
        ptxgen_module *m = NULL;
        cr_assert_eq(ptxgen_kernel_build(ctx, str(name), str("sm_80"), NULL, 0, &m, NULL),
                     PTXGEN_OK);
        compare(ctx, m, name);
        ptxgen_module_destroy(m);
    }
    ptxgen_ctx_destroy(ctx);
}

/* The next line, unless the builder is told none (0). */
static void at(ptxgen_builder *b, uint32_t *line)
{
    if (*line != 0) {
        ++*line;
        ptxgen_build_at(b, *line, *line % 7 + 1);
    }
}

/* Mistakes in parameters, the launch region, a loop and both branches of a condition. */
static void build_mistakes(ptxgen_builder *b, bool has_places)
{
    ptxgen_module *m = ptxgen_builder_module(b);
    const ptxgen_type i32 = ptxgen_type_scalar(m, PTXGEN_I32);
    const ptxgen_type i64 = ptxgen_type_scalar(m, PTXGEN_I64);
    ptxgen_value out;
    uint32_t line = has_places ? 100 : 0;
    at(b, &line); /* 101: the kernel, and the first parameter */
    const ptxgen_value n = ptxgen_param(b, "n", i32);
    at(b, &line); /* 102 */
    const ptxgen_value p = ptxgen_param(b, "p", ptxgen_type_ptr(m, PTXGEN_I32));
    ptxgen_param_attr(b, p, "div", 3);
    ptxgen_launch_begin(b);
    at(b, &line); /* 103 */
    ptxgen_build_op(b, "iadd", 2, (ptxgen_value[]){n, n}, 1, &i64, &out);
    ptxgen_launch_end(b, n, (ptxgen_value){0}, (ptxgen_value){0});
    const ptxgen_value zero = ptxgen_const_int(b, i32, 0), one = ptxgen_const_int(b, i32, 1);
    ptxgen_value args[2]; /* the counter, and what is carried */
    ptxgen_for_begin(b, zero, n, one, 1, &zero, args);
    at(b, &line); /* 104 */
    ptxgen_build_op(b, "isub", 2, args, 1, &i64, &out);
    ptxgen_for_end(b, 1, &args[1], &out);
    const ptxgen_value is_one = ptxgen_build_compare(b, "icmp", "eq", n, one);
    ptxgen_if_begin(b, is_one, 0, NULL);
    at(b, &line); /* 105 */
    ptxgen_build_op(b, "imul", 2, (ptxgen_value[]){n, n}, 1, &i64, &out);
    ptxgen_else(b, 0, NULL);
    at(b, &line); /* 106 */
    ptxgen_build_op(b, "xor", 2, (ptxgen_value[]){n, n}, 1, &i64, &out);
    ptxgen_if_end(b, 0, NULL, NULL);
}

Test(build_places, mistakes_stand_where_the_text_has_them)
{
    const fixture f = begin("sm_80");
    for (int k = 0; k < 2; k++) { /* in the second kernel of a module as well */
        ptxgen_builder *b = NULL;
        char name[8];
        (void)snprintf(name, sizeof name, "k%d", k);
        cr_assert_eq(ptxgen_kernel_begin(f.m, name, &b), PTXGEN_OK);
        build_mistakes(b, false);
        cr_assert_eq(ptxgen_kernel_end(b), PTXGEN_OK);
        compare(f.ctx, f.m, "mistakes");
    }
    ptxgen_result *r = NULL;
    cr_assert_eq(ptxgen_module_compile(f.m, NULL, &r), PTXGEN_E_INVALID);
    cr_expect_geq(ptxgen_result_diag_count(r), 10);
    cr_expect_gt(ptxgen_result_diag(r, 0).line, 0);
    ptxgen_result_destroy(r);
    end(&f);
}

Test(build_places, mistakes_stand_where_the_builder_says)
{
    const fixture f = begin("sm_80");
    ptxgen_builder *b = begin_kernel(&f);
    ptxgen_result *r = NULL;
    build_mistakes(b, true);
    ptxgen_kernel_attr(b, "warps", 3);
    cr_assert_eq(ptxgen_kernel_end(b), PTXGEN_OK);
    cr_assert_eq(ptxgen_module_compile(f.m, NULL, &r), PTXGEN_E_INVALID);
    uint32_t seen = 0;
    for (size_t i = 0; i < ptxgen_result_diag_count(r); i++) {
        const ptxgen_diag d = ptxgen_result_diag(r, i);
        cr_assert(d.line > 100 && d.line <= 106, "%u: %s", d.line, d.message.ptr);
        cr_expect_eq(d.column, d.line % 7 + 1, "%s", d.message.ptr);
        seen |= 1u << (d.line - 100);
    }
    cr_expect_eq(seen, 0x7e, "%#x", seen);
    ptxgen_result_destroy(r);
    end(&f);
}

static const char *find(const char *text, const char *what)
{
    const char *at = strstr(text, what);
    cr_assert_not_null(at, "%s in\n%s", what, text);
    return at;
}

Test(build_places, instructions_come_from_there)
{
    const fixture f = begin("sm_80");
    ptxgen_builder *b = begin_kernel(&f);
    ptxgen_result *r = NULL;
    ptxgen_build_at(b, 7, 1);
    const ptxgen_value p = ptxgen_param(b, "p", ptxgen_type_ptr(f.m, PTXGEN_I32));
    ptxgen_param_attr(b, p, "inout", 1);
    ptxgen_build_at(b, 9, 5);
    const ptxgen_value x = ptxgen_build_load(b, p, (ptxgen_value){0}, (ptxgen_value){0});
    ptxgen_build_at(b, 8, 12);
    const ptxgen_value y = ptxgen_build_binary(b, "imul", x, x);
    ptxgen_build_at(b, 0, 0);
    ptxgen_build_store(b, p, y, (ptxgen_value){0});
    cr_assert_eq(ptxgen_kernel_end(b), PTXGEN_OK);
    const ptxgen_options options = {.struct_size = sizeof options, .line_info = str("k.lang")};
    cr_assert_eq(ptxgen_module_compile(f.m, &options, &r), PTXGEN_OK);
    const char *ptx = ptxgen_result_ptx(r).ptr;
    const char *load = find(ptx, "ld.global"), *mul = find(ptx, "mul.lo"),
               *end_of = find(ptx, ".file");
    cr_expect(find(ptx, ".loc\t1 9 5\n\tld.global") < load &&
              find(load, ".loc\t1 8 12\n\tmul.lo") < mul);
    cr_expect_str_eq(end_of, ".file\t1 \"k.lang\"\n");
    uint32_t line = 1;
    for (const char *c = ptx; c < mul; c++) {
        line += *c == '\n';
    }
    cr_expect_eq(ptxgen_result_source_line(r, line), 8);
    ptxgen_result_destroy(r);
    end(&f);
}

/* What the builder itself refuses stands there too. */
Test(build_places, errors_of_the_builder)
{
    const fixture f = begin("sm_80");
    ptxgen_builder *b = begin_kernel(&f);
    ptxgen_result *r = NULL;
    ptxgen_build_at(NULL, 1, 1);
    ptxgen_build_at(b, 41, 2);
    (void)ptxgen_build_unary(b, "fneggg", (ptxgen_value){1});
    ptxgen_build_at(b, 42, 2);
    cr_assert_eq(ptxgen_kernel_end(b), PTXGEN_E_MISUSE);
    cr_assert_eq(ptxgen_module_compile(f.m, NULL, &r), PTXGEN_E_MISUSE);
    cr_assert_eq(ptxgen_result_diag_count(r), 1);
    cr_expect_eq(ptxgen_result_diag(r, 0).line, 41);
    cr_expect_eq(ptxgen_result_diag(r, 0).column, 2);
    ptxgen_result_destroy(r);
    end(&f);
}

/* Names that PTX cannot have, and one that two parameters have. */
Test(build_places, names)
{
    static const struct {
        const char *kernel, *first, *second;
        uint32_t number;
    } cases[] = {{"a b", "x", "y", 1226}, {"", "x", "y", 1226}, {"k", "x;", "y", 1226},
                 {"k", "x", "x", 1210},   {"k", "x", "_y0", 0}, {"k", "9", "y", 1226}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fixture f = begin("sm_80");
        ptxgen_builder *b = NULL;
        ptxgen_result *r = NULL;
        cr_assert_eq(ptxgen_kernel_begin(f.m, cases[i].kernel, &b), PTXGEN_OK);
        (void)ptxgen_param(b, cases[i].first, ptxgen_type_scalar(f.m, PTXGEN_I32));
        (void)ptxgen_param(b, cases[i].second, ptxgen_type_scalar(f.m, PTXGEN_I32));
        cr_assert_eq(ptxgen_kernel_end(b), PTXGEN_OK);
        const ptxgen_status s = ptxgen_module_compile(f.m, NULL, &r);
        cr_expect_eq(s, cases[i].number == 0 ? PTXGEN_OK : PTXGEN_E_INVALID, "%zu: %d", i, (int)s);
        cr_assert_eq(ptxgen_result_diag_count(r), cases[i].number == 0 ? 0 : 1, "%zu", i);
        if (cases[i].number != 0) {
            cr_expect_eq(ptxgen_result_diag(r, 0).number, cases[i].number, "%zu", i);
        }
        ptxgen_result_destroy(r);
        end(&f);
    }
}
