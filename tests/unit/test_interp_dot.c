/* Matrix operations on tiles and copies by async.get in the interpreter: every type and
 * transposition beside a reference in double, every broken order of copies, waits and barriers
 * reported. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/elem.h"
#include "tests/draw.h"

#include "interp_world.h"

enum { M = 16, N = 8, K = 32 };

/* ---- mma ------------------------------------------------------------------------------------- */

typedef struct dot_case {
    const char *op;
    pg_elem in, out;
    double eps; /* of one rounding; 0: exact */
} dot_case;
static const dot_case dot_cases[] = {
    {"mma", PG_F16, PG_F32, 0x1p-24},  {"mma", PG_F16, PG_F16, 0x1p-10},
    {"mma", PG_BF16, PG_F32, 0x1p-24}, {"mma", PG_TF32, PG_F32, 0x1p-24},
    {"mma", PG_F32, PG_F32, 0x1p-24},  {"mma", PG_I8, PG_I32, 0},
    {"umma", PG_I8, PG_I32, 0},
};

static uint32_t size_of(pg_elem e)
{
    return pg_elem_infos[e].bits / 8u;
}

static void put(uint8_t *at, pg_elem e, uint64_t bits)
{
    for (uint32_t b = 0; b < size_of(e); b++) {
        at[b] = (uint8_t)(bits >> (8 * b));
    }
}

/* The number that an operation sees: tf32 keeps the upper 19 bits of its word. */
static double number(const dot_case *t, pg_elem e, const uint8_t *at)
{
    uint64_t bits = 0;
    for (uint32_t b = size_of(e); b-- > 0;) {
        bits = bits << 8 | at[b];
    }
    if (e == PG_I8) {
        return strcmp(t->op, "umma") == 0 ? (double)bits : (double)(int8_t)bits;
    }
    if (e == PG_I32) {
        return (double)(int32_t)bits;
    }
    return pg_elem_to_f64(e, e == PG_TF32 ? bits & 0xFFFFE000u : bits);
}

static void fill(uint8_t *to, pg_elem e, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = 0; i < n; i++) {
        double x = (double)(draw(seed) % 20001) / 10000 - 1;
        bool is_word = e == PG_TF32 || e == PG_F32;
        uint64_t bits = is_word                       ? pg_f32_bits((float)x)
                        : pg_elem_infos[e].cls == 'I' ? draw(seed)
                                                      : pg_elem_of_f64(e, x);
        put(to + (size_t)i * size_of(e), e, bits);
    }
}

static void kernel_text(char *text, size_t size, const dot_case *t, bool ta, bool tb)
{
    const char *in = pg_elem_infos[t->in].text, *out = pg_elem_infos[t->out].text;
    const char *attrs = ta && tb ? " [transa, transb]" : ta ? " [transa]" : tb ? " [transb]" : "";
    (void)snprintf(
        text, size,
        "ptir 1\nmodule sm_80\nkernel @k(%%a: ptr<%s>, %%b: ptr<%s>, %%c: ptr<%s>) {\n"
        "  launch {\n    grid 1\n  }\n"
        "  %%ia = iota : tile<%dxi32>\n  %%ib = iota : tile<%dxi32>\n  %%ic = iota : tile<%dxi32>\n"
        "  %%pa = addptr %%a, %%ia : tile<%dxptr<%s>>\n  %%pb = addptr %%b, %%ib : "
        "tile<%dxptr<%s>>\n"
        "  %%pc = addptr %%c, %%ic : tile<%dxptr<%s>>\n"
        "  %%va = load %%pa : tile<%dx%s>\n  %%vb = load %%pb : tile<%dx%s>\n"
        "  %%vc = load %%pc : tile<%dx%s>\n"
        "  %%x = reshape %%va : tile<%dx%dx%s>\n  %%y = reshape %%vb : tile<%dx%dx%s>\n"
        "  %%z = reshape %%vc : tile<%dx%dx%s>\n"
        "  %%r = %s %%x, %%y, %%z%s : tile<%dx%dx%s>\n  %%q = copy %%r : tile<%dx%dx%s>\n"
        "  %%s = reshape %%q : tile<%dx%s>\n  store %%pc, %%s\n  return\n}\n",
        in, in, out, M * K, K * N, M * N, M * K, in, K * N, in, M * N, out, M * K, in, K * N, in,
        M * N, out, ta ? K : M, ta ? M : K, in, tb ? N : K, tb ? K : N, in, M, N, out, t->op, attrs,
        M, N, out, M, N, out, M * N, out);
}

static void check_dot(const dot_case *t, bool ta, bool tb)
{
    char text[4096];
    uint8_t a[M * K * 4], b[K * N * 4], c[M * N * 4], before[sizeof c];
    uint64_t seed = 99 + t->in + 7u * t->out;
    fill(a, t->in, M * K, &seed);
    fill(b, t->in, K * N, &seed);
    fill(c, t->out, M * N, &seed);
    memcpy(before, c, sizeof c);
    kernel_text(text, sizeof text, t, ta, tb);
    world w;
    world_init(&w, text);
    world_array(&w, a, (uint64_t)M * K * size_of(t->in));
    world_array(&w, b, (uint64_t)K * N * size_of(t->in));
    world_array(&w, c, (uint64_t)M * N * size_of(t->out));
    cr_assert_eq(world_run(&w, 1), PG_OK, "%s", world_message(&w));
    for (uint32_t i = 0; i < M; i++) {
        for (uint32_t j = 0; j < N; j++) {
            size_t at = (size_t)(i * N + j) * size_of(t->out);
            double sum = number(t, t->out, before + at), size = fabs(sum);
            for (uint32_t k = 0; k < K; k++) {
                double x =
                    number(t, t->in, a + (size_t)(ta ? k * M + i : i * K + k) * size_of(t->in));
                double y =
                    number(t, t->in, b + (size_t)(tb ? j * K + k : k * N + j) * size_of(t->in));
                sum += x * y;
                size += fabs(x * y);
            }
            double got = number(t, t->out, c + at);
            sum = t->out == PG_I32 ? (double)(int32_t)(uint32_t)(int64_t)sum : sum;
            cr_expect_leq(fabs(got - sum), t->eps * size, "%s %s%s%s (%u, %u): %.9g, not %.9g",
                          t->op, pg_elem_infos[t->in].text, ta ? " transa" : "",
                          tb ? " transb" : "", i, j, got, sum);
        }
    }
    world_fini(&w);
}

Test(interp_dot, types_and_transpositions)
{
    for (size_t t = 0; t < sizeof dot_cases / sizeof *dot_cases; t++) {
        for (uint32_t flags = 0; flags < 4; flags++) {
            check_dot(&dot_cases[t], (flags & 1) != 0, (flags & 2) != 0);
        }
    }
}

/* ---- async.get ------------------------------------------------------------------------------- */

static const char COPY[] =
    "ptir 1\nmodule sm_80\n"
    "enc #c = blocked [order=(1, 0), regs=(1, 8), lanes=(8, 4), warps=(4, 1)]\n"
    "enc #l = blocked [order=(0, 1), regs=(1, 1), lanes=(32, 1), warps=(1, 4)]\n"
    "kernel @k(%a: ptr<f16>, %c: ptr<f16>, %n: i32) {\n"
    "  launch {\n    grid 1\n  }\n"
    "  %buf = buf.new : buf<smem, 32x32xf16>\n"
    "  %i = iota [dim=0] : tile<32x32xi32, #c>\n  %j = iota [dim=1] : tile<32x32xi32, #c>\n"
    "  %w = const 32 : tile<32x32xi32, #c>\n  %iw = imul %i, %w : tile<32x32xi32, #c>\n"
    "  %at = iadd %iw, %j : tile<32x32xi32, #c>\n  %p = addptr %a, %at : tile<32x32xptr<f16>, #c>\n"
    "  %ns = splat %n : tile<32x32xi32, #c>\n  %ok = icmp %i, %ns [is=lt] : tile<32x32xi1, #c>\n"
    "  async.get %p, %buf, %ok\n"
    "  async.commit\n"
    "  async.wait\n"
    "  cta.sync\n"
    "  %v = buf.load %buf : tile<32x32xf16, #l>\n"
    "  %k = iota [dim=0] : tile<32x32xi32, #l>\n  %m = iota [dim=1] : tile<32x32xi32, #l>\n"
    "  %x = const 32 : tile<32x32xi32, #l>\n  %kx = imul %k, %x : tile<32x32xi32, #l>\n"
    "  %to = iadd %kx, %m : tile<32x32xi32, #l>\n  %q = addptr %c, %to : tile<32x32xptr<f16>, #l>\n"
    "  store %q, %v\n  return\n}\n";

static pg_status run_copy(const char *text, uint32_t n, uint64_t n_bytes, pg_diag_id want)
{
    uint16_t a[1024], c[1024];
    pg_status status = PG_OK;
    for (uint64_t seed = 0; seed < 12 && status == PG_OK; seed++) {
        for (uint32_t i = 0; i < 1024; i++) {
            a[i] = (uint16_t)(i + 1);
            c[i] = 0xFFFF;
        }
        world w;
        world_init(&w, text);
        world_array(&w, a, n_bytes);
        world_array(&w, c, sizeof c);
        world_scalar(&w, n);
        status = world_run(&w, seed);
        for (uint32_t i = 0; i < 1024 && status == PG_OK; i++) {
            cr_assert_eq(c[i], i / 32 < n ? i + 1 : 0, "seed %u, element %u: %u", (unsigned)seed, i,
                         c[i]);
        }
        cr_assert(status == PG_OK || world_has(&w, want), "%s", world_message(&w));
        world_fini(&w);
    }
    return status;
}

Test(interp_dot, copies_arrive_and_masked_rows_are_zero)
{
    cr_assert_eq(run_copy(COPY, 32, 2048, 0), PG_OK);
    cr_assert_eq(run_copy(COPY, 17, 17 * 64, 0), PG_OK);
    cr_assert_eq(run_copy(COPY, 0, 0, 0), PG_OK);
}

Test(interp_dot, copies_outside_of_the_array)
{
    cr_assert_neq(run_copy(COPY, 32, 2046, PG_D_RUN_OUT_OF_BOUNDS), PG_OK);
}

Test(interp_dot, broken_copies)
{
    static const struct {
        const char *from, *to;
        pg_diag_id want;
    } cases[] = {
        {"  async.wait\n", "", PG_D_RUN_ASYNC},
        {"  async.commit\n", "", PG_D_RUN_ASYNC},
        {"  async.wait\n", "  async.wait [in_flight=1]\n", PG_D_RUN_ASYNC},
        {"  cta.sync\n", "", PG_D_RUN_UNSYNCED},
        {"  async.wait\n  cta.sync\n", "  cta.sync\n  async.wait\n", PG_D_RUN_UNSYNCED},
        {"  async.commit\n", "  async.get %p, %buf, %ok\n  async.commit\n", PG_D_RUN_ASYNC},
        {"  store %q", "  async.get %p, %buf, %ok\n  async.commit\n  async.wait\n  store %q",
         PG_D_RUN_UNSYNCED},
        {"  store %q", "  cta.sync\n  async.get %p, %buf, %ok\n  async.commit\n  store %q",
         PG_D_RUN_EXIT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = world_replace(COPY, cases[i].from, cases[i].to);
        cr_assert_neq(run_copy(text, 32, 2048, cases[i].want), PG_OK, "case %u", (unsigned)i);
        free(text);
    }
}

/* ---- the hand-written kernels ---------------------------------------------------------------- */

static pg_status run_gemm(const char *text, uint32_t m, uint32_t n, uint32_t k, uint64_t seed)
{
    uint16_t *a = calloc((size_t)m * k + 1, 2), *b = calloc((size_t)n * k + 1, 2);
    float *c = calloc((size_t)m * n, sizeof *c);
    uint64_t s = 5 + m + n + k;
    for (size_t i = 0; i < (size_t)m * k; i++) {
        a[i] = pg_f32_to_f16((float)(draw(&s) % 17) - 8);
    }
    for (size_t i = 0; i < (size_t)n * k; i++) {
        b[i] = pg_f32_to_f16((float)(draw(&s) % 17) - 8);
    }
    world w;
    world_init(&w, text);
    world_array(&w, a, (uint64_t)m * k * 2);
    world_array(&w, b, (uint64_t)n * k * 2);
    world_array(&w, c, (uint64_t)m * n * sizeof *c);
    world_scalar(&w, m);
    world_scalar(&w, n);
    world_scalar(&w, k);
    pg_status status = world_run(&w, seed);
    for (uint32_t i = 0; status == PG_OK && i < m; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double sum = 0; /* small integers: exact */
            for (uint32_t x = 0; x < k; x++) {
                sum += (double)pg_f16_to_f32(a[(size_t)i * k + x]) *
                       (double)pg_f16_to_f32(b[(size_t)x * n + j]);
            }
            cr_assert_eq((double)c[(size_t)i * n + j], sum, "(%u, %u) of %ux%ux%u", i, j, m, n, k);
        }
    }
    world_fini(&w);
    free(a);
    free(b);
    free(c);
    return status;
}

static const char *const kernels[] = {"tests/filetests/whole/gemm_sm80.ptir",
                                      "tests/filetests/whole/gemm_sm80_3.ptir"};

Test(interp_dot, gemms_of_every_trip_count)
{
    for (size_t f = 0; f < 2; f++) {
        char *text = world_file(kernels[f]);
        for (uint32_t trips = 0; trips <= 5; trips++) {
            uint32_t k = trips * 32 - (trips > 1 ? 8 : 0);
            cr_assert_eq(run_gemm(text, 33, 40, k, trips), PG_OK, "%u trips", trips);
        }
        cr_assert_eq(run_gemm(text, 129, 136, 40, 3), PG_OK);
        free(text);
    }
}

/* Each wait and each barrier taken away is reported. */
Test(interp_dot, gemms_without_a_wait_or_barrier)
{
    static const char *const words[] = {"async.wait", "cta.sync"};
    for (size_t f = 0; f < 2; f++) {
        char *text = world_file(kernels[f]);
        for (size_t x = 0; x < 2; x++) {
            for (char *at = strstr(text, words[x]); at != NULL; at = strstr(at + 1, words[x])) {
                char *broken = calloc(1, strlen(text) + 1);
                memcpy(broken, text, (size_t)(at - text));
                strcpy(broken + (at - text), strchr(at, '\n'));
                cr_assert_neq(run_gemm(broken, 17, 24, 160, 1), PG_OK, "%s at %u of %s", words[x],
                              (unsigned)(at - text), kernels[f]);
                free(broken);
            }
        }
        free(text);
    }
}
