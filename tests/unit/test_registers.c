/* What the driver makes of the measured registers: errors that name tiles, and the register round.
 */
#include <criterion/criterion.h>
#include <ptxgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(registers, .timeout = 120);

static char explained[16384];

static void note(void *user, const char *bytes, size_t n)
{
    (void)user;
    size_t at = strlen(explained);
    n = n < sizeof explained - at - 1 ? n : sizeof explained - at - 1;
    memcpy(explained + at, bytes, n);
    explained[at + n] = 0;
}

static ptxgen_result *compile(ptxgen_ctx *ctx, const char *text, ptxgen_status expected)
{
    ptxgen_result *r = NULL;
    ptxgen_options o = {.struct_size = sizeof o,
                        .explain = {"registers", 9},
                        .verify = PTXGEN_VERIFY_EACH,
                        .flags = PTXGEN_KEEP_IR,
                        .sink = {NULL, note}};
    explained[0] = 0;
    ptxgen_status status = ptxgen_compile(ctx, (ptxgen_str){text, strlen(text)}, &o, &r);
    cr_assert_eq(status, expected, "%s: %s", ptxgen_status_name(status),
                 ptxgen_result_diag(r, 0).message.ptr);
    return r;
}

/* A tile of rows x 128 floats that a loop adds to itself. */
static void loop_over(char *out, size_t size, int rows, int warps)
{
    (void)snprintf(out, size,
                   "ptir 1\nmodule sm_80\n"
                   "kernel @k(%%x: ptr<f32> [in, shape=(%%n)], %%y: ptr<f32> [out, shape=(%%n)], "
                   "%%n: i32) [warps=%d] {\n  launch {\n    grid 1\n  }\n"
                   "  %%r = iota [dim=0] : tile<%dx128xi32>\n"
                   "  %%c = iota [dim=1] : tile<%dx128xi32>\n"
                   "  %%w = imul %%r, 128 : tile<%dx128xi32>\n"
                   "  %%i = iadd %%w, %%c : tile<%dx128xi32>\n"
                   "  %%p = addptr %%x, %%i : tile<%dx128xptr<f32>>\n"
                   "  %%v = load %%p : tile<%dx128xf32>\n"
                   "  %%sum = for %%t in 0 to %%n step 1 carry (%%acc = %%v) : tile<%dx128xf32> {\n"
                   "    %%next = fma %%acc, %%acc, 0.5 : tile<%dx128xf32>\n"
                   "    yield %%next\n  }\n"
                   "  %%q = addptr %%y, %%i : tile<%dx128xptr<f32>>\n"
                   "  store %%q, %%sum\n  return\n}\n",
                   warps, rows, rows, rows, rows, rows, rows, rows, rows, rows);
}

static bool has_number(const ptxgen_result *r, uint32_t number)
{
    for (size_t i = 0; i < ptxgen_result_diag_count(r); i++) {
        if (ptxgen_result_diag(r, i).number == number) {
            return true;
        }
    }
    return false;
}

Test(registers, a_tile_that_cannot_fit_is_named)
{
    static const struct {
        int rows, warps;
        bool fits;
    } cases[] = {
        {128, 4, true},   {256, 4, false}, {256, 8, true}, {256, 16, true},
        {512, 16, false}, {512, 8, false}, {16, 1, true},  {64, 1, false},
    };
    ptxgen_ctx *ctx = NULL;
    char text[2048];
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        loop_over(text, sizeof text, cases[i].rows, cases[i].warps);
        ptxgen_result *r = compile(ctx, text, cases[i].fits ? PTXGEN_OK : PTXGEN_E_RESOURCE);
        cr_assert_eq(has_number(r, 3030), !cases[i].fits, "%d rows, %d warps", cases[i].rows,
                     cases[i].warps);
        int held = cases[i].rows * 128 / (32 * cases[i].warps);
        char carried[64];
        (void)snprintf(carried, sizeof carried, ", %d carried by a loop", held);
        cr_assert_not_null(strstr(explained, carried), "%s not in %s", carried, explained);
        if (!cases[i].fits) {
            const ptxgen_diag d = ptxgen_result_diag(r, 0);
            char tile[64];
            (void)snprintf(tile, sizeof tile, "tile<%dx128xf32", cases[i].rows);
            cr_assert_not_null(strstr(d.message.ptr, tile), "%s", d.message.ptr);
            cr_assert_not_null(strstr(d.message.ptr, "in @k"), "%s", d.message.ptr);
            cr_assert_not_null(strstr(d.help.ptr, "more warps"));
            cr_assert_eq(ptxgen_result_ptx(r).len, 0);
        }
        ptxgen_result_destroy(r);
    }
    ptxgen_ctx_destroy(ctx);
}

/* Two tiles of rows x 128 floats that change places: all of both is loaded before the first store.
 */
static void swap_of(char *out, size_t size, int rows, int warps)
{
    (void)snprintf(out, size,
                   "ptir 1\nmodule sm_80\n"
                   "kernel @k(%%x: ptr<f32> [inout, shape=(%%n)], "
                   "%%y: ptr<f32> [inout, shape=(%%n)], "
                   "%%n: i32) [warps=%d] {\n  launch {\n    grid 1\n  }\n"
                   "  %%i = iota [dim=0] : tile<%dxi32>\n"
                   "  %%p = addptr %%x, %%i : tile<%dxptr<f32>>\n"
                   "  %%q = addptr %%y, %%i : tile<%dxptr<f32>>\n"
                   "  %%v = load %%p : tile<%dxf32>\n"
                   "  %%w = load %%q : tile<%dxf32>\n"
                   "  store %%p, %%w\n  store %%q, %%v\n  return\n}\n",
                   warps, rows * 128, rows * 128, rows * 128, rows * 128, rows * 128);
}

/* Nothing is carried by a loop, but far more is live at once than there is. */
Test(registers, far_too_much_is_refused)
{
    static const struct {
        int rows, warps;
        uint32_t number; /* 0: compiles without a word */
    } cases[] = {
        {16, 1, 0}, {32, 4, 0}, {64, 1, 3032}, {128, 2, 3032},
        {64, 4, 0}, {64, 8, 0}, {128, 4, 0},   {256, 16, 0},
    };
    ptxgen_ctx *ctx = NULL;
    char text[2048];
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        swap_of(text, sizeof text, cases[i].rows, cases[i].warps);
        ptxgen_result *r =
            compile(ctx, text, cases[i].number == 3032 ? PTXGEN_E_RESOURCE : PTXGEN_OK);
        for (uint32_t number = 3030; number <= 3032; number++) {
            cr_assert_eq(has_number(r, number), number == cases[i].number,
                         "PG%u of %d rows, %d warps: %s", number, cases[i].rows, cases[i].warps,
                         explained);
        }
        if (cases[i].number == 3032) {
            const ptxgen_diag d = ptxgen_result_diag(r, 0);
            char tile[64];
            (void)snprintf(tile, sizeof tile, "%dxf32", cases[i].rows * 128);
            cr_assert_not_null(strstr(d.message.ptr, tile), "%s", d.message.ptr);
            cr_assert_not_null(strstr(d.help.ptr, "smaller tile"));
            cr_assert_eq(ptxgen_result_ptx(r).len, 0);
        }
        ptxgen_result_destroy(r);
    }
    ptxgen_ctx_destroy(ctx);
}

/* Text of a file, with what stands between `from` and `to` removed each time. */
static char *read_without(const char *name, const char *from)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", PG_SOURCE_ROOT, name);
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    char *text = calloc(1, 65536);
    cr_assert_gt(fread(text, 1, 65535, f), 0);
    (void)fclose(f);
    for (char *at; (at = strstr(text, from)) != NULL;) {
        size_t n = strlen(from) + strspn(at + strlen(from), "0123456789");
        memmove(at, at + n, strlen(at + n) + 1);
    }
    return text;
}

Test(registers, partitions_get_what_they_need)
{
    ptxgen_ctx *ctx = NULL;
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    char *text = read_without("tests/filetests/whole/gemm_ws.ptir", ", regs=");
    ptxgen_result *r = compile(ctx, text, PTXGEN_OK);
    cr_assert_not_null(strstr(explained, "@math gets 240, @load gets 24 instead of 168 each"), "%s",
                       explained);
    cr_assert_not_null(strstr(ptxgen_result_ptx(r).ptr, "setmaxnreg.inc.sync.aligned.u32\t240"));
    cr_assert_not_null(strstr(ptxgen_result_ptx(r).ptr, "setmaxnreg.dec.sync.aligned.u32\t24"));
    cr_assert_not_null(strstr(ptxgen_result_ptx(r).ptr, ".minnctapersm 1"));
    /* the IR says so, and compiles to the same PTX as it is */
    cr_assert_not_null(strstr(ptxgen_result_ir(r).ptr, "regs=240"));
    cr_assert_not_null(strstr(ptxgen_result_ir(r).ptr, "regs=24]"));
    ptxgen_result *again = compile(ctx, ptxgen_result_ir(r).ptr, PTXGEN_OK);
    cr_assert_not_null(strstr(explained, "they say themselves"), "%s", explained);
    cr_assert_str_eq(ptxgen_result_ptx(again).ptr, ptxgen_result_ptx(r).ptr);
    ptxgen_result_destroy(again);
    ptxgen_result_destroy(r);
    free(text);
    ptxgen_ctx_destroy(ctx);
}

/* No registers are moved where that cannot be or gives nothing. */
Test(registers, partitions_that_keep_their_share)
{
    static const struct {
        const char *target, *kernel, *first, *second, *why;
    } cases[] = {
        {"sm_90", "warps=8", "warps=8, default", "warps=4", "the target cannot move registers"},
        {"sm_90a", "warps=4", "warps=4, default", "warps=4", "as many as it can name"},
        {"sm_90a", "warps=8", "warps=8, default", "warps=2", "not whole groups"},
        {"sm_90a", "warps=8", "warps=8, default, regs=168", "warps=4, regs=168", "say themselves"},
    };
    ptxgen_ctx *ctx = NULL;
    char text[1024];
    cr_assert_eq(ptxgen_ctx_create(NULL, &ctx), PTXGEN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(
            text, sizeof text,
            "ptir 1\nmodule %s\nkernel @k(%%y: ptr<i32> [out, shape=(1)]) [%s] {\n"
            "  launch {\n    grid 1\n  }\n  partition @a [%s] {\n    part.sync [id=1]\n  }\n"
            "  partition @b [%s] {\n    part.sync [id=2]\n  }\n  return\n}\n",
            cases[i].target, cases[i].kernel, cases[i].first, cases[i].second);
        ptxgen_result *r = compile(ctx, text, PTXGEN_OK);
        cr_assert_not_null(strstr(explained, cases[i].why), "%s not in %s", cases[i].why,
                           explained);
        if (strstr(text, "regs=") == NULL) {
            cr_assert_null(strstr(ptxgen_result_ptx(r).ptr, "setmaxnreg"));
        }
        ptxgen_result_destroy(r);
    }
    ptxgen_ctx_destroy(ctx);
}
