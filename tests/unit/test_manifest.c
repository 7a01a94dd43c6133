/* Expressions of the manifest say what the launch region computes: each operator within each other,
 * on both sides, printed by emission and evaluated by what the tools launch with. */
#include <criterion/criterion.h>
#include <ptxgen.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "tools/run/expr.h"

enum { N_OPS = 5, N_FORMS = 5 };
static const char *const ops[N_OPS] = {"iadd", "isub", "imul", "idiv", "irem"};
static const int64_t leaves[4] = {7919, 641, 53, 5}; /* of %a, %b, %c, %d */

/* Three operations of four leaves; what they take: 0-3 a leaf, 4-6 an operation. */
static const char forms[N_FORMS][7] = {"014253", "014235", "012453", "012435", "012345"};

static bool apply(uint32_t op, int64_t x, int64_t y, int64_t *out)
{
    if (op >= 3 && y == 0) {
        return false;
    }
    *out = op == 0 ? x + y : op == 1 ? x - y : op == 2 ? x * y : op == 3 ? x / y : x % y;
    return true;
}

/* The value of the form with these three operators; false where it divides by zero. */
static bool value_of(const char *form, const uint32_t op[3], int64_t *out)
{
    int64_t x[7] = {leaves[0], leaves[1], leaves[2], leaves[3]};
    for (uint32_t k = 0; k < 3; k++) {
        if (!apply(op[k], x[form[2 * k] - '0'], x[form[2 * k + 1] - '0'], &x[4 + k])) {
            return false;
        }
    }
    *out = x[6];
    return true;
}

static void put_kernel(pg_strbuf *b, uint32_t number, const char *form, const uint32_t op[3])
{
    static const char *const names[] = {"%a", "%b", "%c", "%d", "%x", "%y", "%z"};
    pg_putf(b, "kernel @k%u(%%a: i32, %%b: i32, %%c: i32, %%d: i32) [warps=1] {\n  launch {\n",
            (unsigned)number);
    for (uint32_t k = 0; k < 3; k++) {
        pg_putf(b, "    %s = %s %s, %s : i32\n", names[4 + k], ops[op[k]], names[form[2 * k] - '0'],
                names[form[2 * k + 1] - '0']);
    }
    pg_put(b, "    grid %z\n  }\n  return\n}\n");
}

static pg_str grid_of(ptxgen_str manifest)
{
    static const char key[] = "\"grid\": [\"";
    const char *at = strstr(manifest.ptr, key);
    cr_assert_not_null(at, "%s", manifest.ptr);
    at += sizeof key - 1;
    return (pg_str){at, strcspn(at, "\"")};
}

Test(manifest, expressions_keep_their_order)
{
    const run_name names[4] = {
        {PG_STR("a"), 7919}, {PG_STR("b"), 641}, {PG_STR("c"), 53}, {PG_STR("d"), 5}};
    static int64_t want[N_FORMS * N_OPS * N_OPS * N_OPS];
    uint32_t n = 0;
    pg_strbuf b;
    pg_strbuf_init(&b, pg_alloc_default());
    pg_put(&b, "ptir 1\nmodule sm_80\n");
    for (uint32_t form = 0; form < N_FORMS; form++) {
        for (uint32_t k = 0; k < N_OPS * N_OPS * N_OPS; k++) {
            const uint32_t op[3] = {k % N_OPS, k / N_OPS % N_OPS, k / N_OPS / N_OPS};
            if (value_of(forms[form], op, &want[n])) {
                put_kernel(&b, n++, forms[form], op);
            }
        }
    }
    cr_assert_gt(n, 500);
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    cr_assert_eq(ptxgen_compile(ctx, (ptxgen_str){b.ptr, b.len}, NULL, &r), PTXGEN_OK, "%s",
                 ptxgen_result_diag(r, 0).message.ptr);
    cr_assert_eq(ptxgen_result_entry_count(r), n);
    for (uint32_t k = 0; k < n; k++) {
        const pg_str grid = grid_of(ptxgen_result_manifest(r, k));
        const char *reason = "";
        pg_str culprit;
        int64_t got = 0;
        cr_expect(run_expr_eval(grid, &(run_names){names, 4}, &got, &reason, &culprit), "%.*s: %s",
                  PG_STR_ARG(grid), reason);
        cr_expect_eq(got, want[k], "%.*s is %lld, not %lld", PG_STR_ARG(grid), (long long)got,
                     (long long)want[k]);
    }
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
    pg_strbuf_fini(&b);
}

/* Numbers that lose bits on the way have no expression: an error, not another number. */
Test(manifest, what_no_expression_says_is_refused)
{
    static const char *const lines[] = {
        "%x = cast %a : i8\n    %z = cast %x : i32",
        "%x = ucast %a : i16\n    %z = cast %x : i32",
        "%x = cast %a : i1\n    %z = cast %x : i32",
        "%z = cast %f : i32",
    };
    ptxgen_ctx *ctx = NULL;
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    for (size_t i = 0; i < PG_COUNT_OF(lines); i++) {
        pg_strbuf b;
        ptxgen_result *r = NULL;
        pg_strbuf_init(&b, pg_alloc_default());
        pg_putf(&b,
                "ptir 1\nmodule sm_80\nkernel @k(%%a: i32, %%f: f32) [warps=1] {\n  launch {\n"
                "    %s\n    grid %%z\n  }\n  return\n}\n",
                lines[i]);
        cr_expect_eq(ptxgen_compile(ctx, (ptxgen_str){b.ptr, b.len}, NULL, &r),
                     PTXGEN_E_UNSUPPORTED, "%s", b.ptr);
        cr_assert_eq(ptxgen_result_diag_count(r), 1, "%s", b.ptr);
        cr_expect_eq(ptxgen_result_diag(r, 0).number, 3008, "%s",
                     ptxgen_result_diag(r, 0).message.ptr);
        ptxgen_result_destroy(r);
        pg_strbuf_fini(&b);
    }
    ptxgen_ctx_destroy(ctx);
}
