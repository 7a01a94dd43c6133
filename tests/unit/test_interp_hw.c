/* Hw operations of the interpreter one by one: buffers, tensor copies in two to five dimensions and
 * both ways, fences, barriers between partitions, and failing memory. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/failing.h"

#include "interp_world.h"

#define HEAD "ptir 1\nmodule sm_90a\nenc #s = smem [order=(1, 0)]\n"

static const char round_trip[] =
    HEAD "kernel @k(%x: ptr<f32> [in, shape=(%m, %n), strides=(%ld, 1)], %y: ptr<f32> [out, "
         "shape=(%m, %n)], %tx: desc<8x16xf32, #s> [of=%x], "
         "%ty: desc<8x16xf32, #s> [of=%y], %m: i32, %n: i32, %ld: i32) [warps=4] {\n"
         "  launch {\n    %gx = icdiv %m, 8 : i32\n    %gy = icdiv %n, 16 : i32\n    grid %gx, "
         "%gy\n  }\n"
         "  %b = buf.new : buf<smem, 8x16xf32, #s>\n"
         "  %r = bar.new [count=1] : bar<1>\n"
         "  bar.init %r\n"
         "  fence [kind=mbarrier_init]\n"
         "  cta.sync\n"
         "  %i = program_id [axis=x] : i32\n"
         "  %j = program_id [axis=y] : i32\n"
         "  %om = imul %i, 8 : i32\n"
         "  %on = imul %j, 16 : i32\n"
         "  elect {\n"
         "    bar.expect %r, 0 [bytes=512]\n"
         "    tma.get %tx, %b, %r, 0, %om, %on\n"
         "  }\n"
         "  bar.wait %r, 0, 0\n"
         "  %v = buf.load %b : tile<8x16xf32>\n"
         "  %u = fadd %v, 1.0 : tile<8x16xf32>\n"
         "  cta.sync\n"
         "  buf.store %b, %u\n"
         "  fence [kind=proxy_async]\n"
         "  cta.sync\n"
         "  elect {\n"
         "    tma.put %ty, %b, %om, %on\n"
         "    tma.commit\n"
         "    tma.wait [in_flight=0]\n"
         "  }\n"
         "  return\n}\n";

typedef struct copy {
    world w;
    uint32_t m, n, ld;
    float *x, *y;
    uint8_t *poison;
} copy;

static void copy_init(copy *c, const char *text, uint32_t m, uint32_t n, uint32_t ld)
{
    world_init(&c->w, text);
    c->m = m;
    c->n = n;
    c->ld = ld;
    c->x = calloc((size_t)m * ld, sizeof *c->x);
    c->y = calloc((size_t)m * n, sizeof *c->y);
    c->poison = calloc((size_t)m * n, sizeof *c->y);
    for (uint32_t i = 0; i < m * ld; i++) {
        c->x[i] = (float)i;
    }
    world_array(&c->w, c->x, (uint64_t)m * ld * sizeof *c->x);
    world_poisoned(&c->w, c->y, (uint64_t)m * n * sizeof *c->y, c->poison);
    world_desc(&c->w);
    world_desc(&c->w);
    world_scalar(&c->w, m);
    world_scalar(&c->w, n);
    world_scalar(&c->w, ld);
}

static void copy_fini(copy *c)
{
    world_fini(&c->w);
    free(c->x);
    free(c->y);
    free(c->poison);
}

static bool copy_is_right(const copy *c)
{
    for (uint32_t i = 0; i < c->m; i++) {
        for (uint32_t j = 0; j < c->n; j++) {
            size_t at = (size_t)i * c->n + j;
            if (c->poison[at * sizeof(float)] != 0 || c->y[at] != (float)(i * c->ld + j) + 1) {
                return false;
            }
        }
    }
    return true;
}

Test(interp_hw, tensor_copies_both_ways)
{
    for (uint64_t seed = 0; seed < 16; seed++) {
        copy c;
        copy_init(&c, round_trip, 19, 35 + (uint32_t)seed, 61);
        pg_status s = world_run(&c.w, seed);
        cr_assert_eq(s, PG_OK, "%s", world_message(&c.w));
        cr_assert(copy_is_right(&c));
        copy_fini(&c);
    }
}

static const struct {
    const char *from, *to;
    pg_diag_id id;
} broken[] = {
    {"  bar.wait %r, 0, 0\n", "", PG_D_NONE},
    {"  bar.wait %r, 0, 0\n", "  bar.wait %r, 0, 1\n", PG_D_NONE},
    {"bytes=512", "bytes=511", PG_D_NONE},
    {"bytes=512", "bytes=2097152", PG_D_RUN_BARRIER},
    {"  fence [kind=proxy_async]\n", "", PG_D_RUN_FENCE},
    {"  fence [kind=mbarrier_init]\n", "", PG_D_RUN_FENCE},
    {"    tma.wait [in_flight=0]\n  }\n", "  }\n  buf.store %b, %v\n", PG_D_RUN_OVERWRITTEN},
    {"    tma.commit\n    tma.wait [in_flight=0]\n  }\n",
     "    tma.wait [in_flight=0]\n  }\n  buf.store %b, %v\n", PG_D_RUN_OVERWRITTEN},
    {"    tma.wait [in_flight=0]\n  }\n",
     "    tma.wait [in_flight=1, read]\n  }\n  buf.store %b, %v\n", PG_D_RUN_OVERWRITTEN},
    {"    tma.wait [in_flight=0]\n  }\n", "  }\n", PG_D_RUN_EXIT},
    {"  bar.wait %r, 0, 0\n  %v = buf.load %b : tile<8x16xf32>\n",
     "  %v = const 1.0 : tile<8x16xf32>\n", PG_D_NONE},
    {"count=1", "count=2", PG_D_RUN_DEADLOCK},
    {"  bar.init %r\n", "  bar.init %r\n  bar.init %r\n", PG_D_RUN_BARRIER},
    {"    tma.get %tx, %b, %r, 0, %om, %on\n", "    tma.get %tx, %b, %r, 1, %om, %on\n",
     PG_D_RUN_INDEX},
    {"  %v = buf.load %b : tile<8x16xf32>\n",
     "  %v = buf.load %b : tile<8x16xf32>\n  elect {\n    tma.get %tx, %b, %r, 0, %om, %on\n  }\n",
     PG_D_NONE},
};

Test(interp_hw, broken_copies_are_reported)
{
    for (uint32_t b = 0; b < sizeof broken / sizeof *broken; b++) {
        char *text = world_replace(round_trip, broken[b].from, broken[b].to);
        for (uint64_t seed = 0; seed < 8; seed++) {
            copy c;
            copy_init(&c, text, 8, 16, 16);
            pg_status s = world_run(&c.w, seed);
            cr_expect_neq(s, PG_OK, "%s: seed %u", broken[b].to, (unsigned)seed);
            cr_expect(broken[b].id == PG_D_NONE || world_has(&c.w, broken[b].id), "%s: %s",
                      broken[b].to, world_message(&c.w));
            copy_fini(&c);
        }
        free(text);
    }
}

/* After tma.wait [read] the buffer is free, and the writes still come. */
Test(interp_hw, reads_done_frees_the_buffer)
{
    char *text = world_replace(round_trip, "    tma.wait [in_flight=0]\n  }\n",
                               "    tma.wait [in_flight=0, read]\n  }\n  buf.store %b, %v\n");
    for (uint64_t seed = 0; seed < 8; seed++) {
        copy c;
        copy_init(&c, text, 24, 40, 40);
        cr_assert_eq(world_run(&c.w, seed), PG_OK, "%s", world_message(&c.w));
        cr_assert(copy_is_right(&c));
        copy_fini(&c);
    }
    free(text);
}

/* A box of five dimensions at negative and too large coordinates: zero outside. */
Test(interp_hw, boxes_of_five_dimensions)
{
    static const char text[] =
        "ptir 1\nmodule sm_90a\n"
        "kernel @k(%x: ptr<i32> [in, shape=(2, 3, 2, 3, 5)], %y: ptr<i32> [out, shape=(64)], %tx: "
        "desc<2x2x2x2x4xi32> [of=%x], %c: i32) [warps=1] {\n"
        "  launch {\n    grid 1\n  }\n"
        "  %b = buf.new : buf<smem, 2x2x2x2x4xi32>\n"
        "  %r = bar.new [count=1] : bar<2>\n"
        "  bar.init %r\n  fence [kind=mbarrier_init]\n  cta.sync\n"
        "  elect {\n    bar.expect %r, 1 [bytes=256]\n    tma.get %tx, %b, %r, 1, %c, 2, %c, 1, "
        "3\n  }\n"
        "  bar.wait %r, 1, 0\n"
        "  %v = buf.load %b : tile<2x2x2x2x4xi32>\n"
        "  %f = reshape %v : tile<64xi32>\n"
        "  %i = iota : tile<64xi32>\n"
        "  %p = addptr %y, %i : tile<64xptr<i32>>\n"
        "  store %p, %f\n  return\n}\n";
    for (int32_t c = -2; c < 3; c++) {
        world w;
        world_init(&w, text);
        int32_t x[180], y[64];
        for (int32_t i = 0; i < 180; i++) {
            x[i] = i + 1;
        }
        world_array(&w, x, sizeof x);
        world_array(&w, y, sizeof y);
        world_desc(&w);
        world_scalar(&w, (uint64_t)(int64_t)c);
        cr_assert_eq(world_run(&w, 5), PG_OK, "%s", world_message(&w));
        for (int32_t e = 0; e < 64; e++) {
            int32_t at[5] = {c + e / 32, 2 + e / 16 % 2, c + e / 8 % 2, 1 + e / 4 % 2, 3 + e % 4};
            const int32_t dims[5] = {2, 3, 2, 3, 5};
            int32_t flat = 0;
            bool is_in = true;
            for (int32_t d = 0; d < 5; d++) {
                is_in = is_in && at[d] >= 0 && at[d] < dims[d];
                flat = flat * dims[d] + at[d];
            }
            cr_assert_eq(y[e], is_in ? x[flat] : 0);
        }
        world_fini(&w);
    }
}

/* Two partitions hand a tile over through a buffer, ordered by cta.sync or not. */
static const char exchange[] = HEAD "kernel @k(%y: ptr<i32> [out, shape=(32)]) [warps=4] {\n"
                                    "  launch {\n    grid 1\n  }\n"
                                    "  %b = buf.new : buf<smem, 4x8xi32, #s>\n"
                                    "  partition @own [warps=4, default] {\n"
                                    "    %i = iota [dim=1] : tile<4x8xi32>\n"
                                    "    buf.store %b, %i\n"
                                    "    cta.sync\n"
                                    "  }\n"
                                    "  partition @other [warps=4] {\n"
                                    "    cta.sync\n"
                                    "    %v = buf.load %b : tile<4x8xi32>\n"
                                    "    %f = reshape %v : tile<32xi32>\n"
                                    "    %j = iota : tile<32xi32>\n"
                                    "    %p = addptr %y, %j : tile<32xptr<i32>>\n"
                                    "    store %p, %f\n"
                                    "  }\n"
                                    "  return\n}\n";

Test(interp_hw, partitions_meet)
{
    int32_t y[32];
    for (uint64_t seed = 0; seed < 8; seed++) {
        world w;
        world_init(&w, exchange);
        world_array(&w, y, sizeof y);
        cr_assert_eq(world_run(&w, seed), PG_OK, "%s", world_message(&w));
        for (int32_t i = 0; i < 32; i++) {
            cr_assert_eq(y[i], i % 8);
        }
        world_fini(&w);
        char *missing = world_replace(exchange, "    cta.sync\n  }\n", "  }\n");
        world_init(&w, missing);
        world_array(&w, y, sizeof y);
        cr_assert_neq(world_run(&w, seed), PG_OK);
        cr_assert(world_has(&w, PG_D_RUN_DEADLOCK), "%s", world_message(&w));
        world_fini(&w);
        char *racy = world_replace(missing, "    cta.sync\n", "");
        world_init(&w, racy);
        world_array(&w, y, sizeof y);
        cr_assert_neq(world_run(&w, seed), PG_OK);
        world_fini(&w);
        free(missing);
        free(racy);
    }
}

/* ---- matrix operations ----------------------------------------------------------------------- */

enum { M = 16, N = 8, K = 32 };

static const char mma_text[] = "ptir 1\nmodule sm_90a\n"
                               "kernel @k(%x: ptr<$E> [in, shape=(1024)], %y: ptr<$E> [in, "
                               "shape=(1024)], %z: ptr<$C> [inout, shape=(128)]) [warps=4] {\n"
                               "  launch {\n    grid 1\n  }\n"
                               "  %a = buf.new : buf<smem, $Ax$E>\n"
                               "  %b = buf.new : buf<smem, $Bx$E>\n"
                               "  %ia = iota : tile<512xi32>\n  %pa = addptr %x, %ia : "
                               "tile<512xptr<$E>>\n  %va = load %pa : tile<512x$E>\n"
                               "  %ta = reshape %va : tile<$Ax$E>\n  buf.store %a, %ta\n"
                               "  %ib = iota : tile<256xi32>\n  %pb = addptr %y, %ib : "
                               "tile<256xptr<$E>>\n  %vb = load %pb : tile<256x$E>\n"
                               "  %tb = reshape %vb : tile<$Bx$E>\n  buf.store %b, %tb\n"
                               "  fence [kind=proxy_async]\n  cta.sync\n"
                               "  %iz = iota : tile<128xi32>\n  %pz = addptr %z, %iz : "
                               "tile<128xptr<$C>>\n  %vz = load %pz : tile<128x$C>\n"
                               "  %c = reshape %vz : tile<16x8x$C>\n"
                               "  %t = mma.begin %c : token\n  mma.fence\n"
                               "  %t1 = mma.async %a, %b, %t$T : token\n"
                               "  %t2 = mma.async %a, %b, %t1$T : token\n"
                               "  %d = mma.wait %t2 [in_flight=0] : tile<16x8x$C>\n"
                               "  %e = reshape %d : tile<128x$C>\n  store %pz, %e\n  return\n}\n";

/* A copy of `text` with each $X replaced by the value that stands after X in `values` (key, value,
 * ..., NULL). */
static char *fill_in(const char *text, const char *const *values)
{
    char *made = calloc(1, 2 * strlen(text) + 1024);
    for (char *to = made; *text != '\0';) {
        const char *const *v = values;
        while (*text == '$' && *v != NULL && **v != text[1]) {
            v += 2;
        }
        if (*text != '$' || *v == NULL) {
            *to++ = *text++;
            continue;
        }
        (void)strcpy(to, v[1]);
        to += strlen(v[1]);
        text += 2;
    }
    return made;
}

/* Every orientation and type; two operations into one accumulator. */
static void check_mma(const char *elem, const char *acc, bool transa, bool transb, uint64_t seed)
{
    char a_shape[16], b_shape[16], attrs[32];
    (void)snprintf(a_shape, sizeof a_shape, "%dx%d", transa ? K : M, transa ? M : K);
    (void)snprintf(b_shape, sizeof b_shape, "%dx%d", transb ? N : K, transb ? K : N);
    (void)snprintf(attrs, sizeof attrs, "%s%s%s%s%s", transa || transb ? " [" : "",
                   transa ? "transa" : "", transa && transb ? ", " : "", transb ? "transb" : "",
                   transa || transb ? "]" : "");
    const char *const values[] = {"E", elem,    "C", acc,   "A", a_shape,
                                  "B", b_shape, "T", attrs, NULL};
    char *text = fill_in(mma_text, values);
    bool is_f16 = strcmp(elem, "f16") == 0, acc_f16 = strcmp(acc, "f16") == 0;
    uint16_t a[M * K], b[K * N], z16[M * N];
    float z32[M * N];
    int32_t va[M][K], vb[K][N];
    for (int32_t m = 0; m < M; m++) {
        for (int32_t k = 0; k < K; k++) {
            va[m][k] = (m * 7 + k * 3) % 11 - 5;
            float f = (float)va[m][k];
            a[transa ? k * M + m : m * K + k] = is_f16 ? pg_f32_to_f16(f) : pg_f32_to_bf16(f);
        }
    }
    for (int32_t k = 0; k < K; k++) {
        for (int32_t n = 0; n < N; n++) {
            vb[k][n] = (k * 5 + n) % 7 - 3;
            float f = (float)vb[k][n];
            b[transb ? n * K + k : k * N + n] = is_f16 ? pg_f32_to_f16(f) : pg_f32_to_bf16(f);
        }
    }
    for (int32_t i = 0; i < M * N; i++) {
        z32[i] = (float)i;
        z16[i] = pg_f32_to_f16((float)i);
    }
    world w;
    world_init(&w, text);
    world_array(&w, a, sizeof a);
    world_array(&w, b, sizeof b);
    world_array(&w, acc_f16 ? (void *)z16 : (void *)z32, acc_f16 ? sizeof z16 : sizeof z32);
    cr_assert_eq(world_run(&w, seed), PG_OK, "%s", world_message(&w));
    for (int32_t m = 0; m < M; m++) {
        for (int32_t n = 0; n < N; n++) {
            int32_t sum = m * N + n;
            for (int32_t k = 0; k < K; k++) {
                sum += 2 * va[m][k] * vb[k][n];
            }
            float got = acc_f16 ? pg_f16_to_f32(z16[m * N + n]) : z32[m * N + n];
            cr_assert_eq(got, (float)sum, "%s %s %d %d", elem, acc, transa, transb);
        }
    }
    world_fini(&w);
    free(text);
}

Test(interp_hw, matrix_operations_in_every_orientation)
{
    for (uint32_t t = 0; t < 4; t++) {
        for (uint64_t seed = 0; seed < 4; seed++) {
            check_mma("f16", "f32", t & 1, t & 2, seed);
            check_mma("bf16", "f32", t & 1, t & 2, seed);
            check_mma("f16", "f16", t & 1, t & 2, seed);
        }
    }
}

/* ---- memory that runs out -------------------------------------------------------------------- */

Test(interp_hw, every_failing_allocation_is_a_status)
{
    copy c;
    copy_init(&c, round_trip, 9, 17, 20);
    for (size_t k = 1;; k++) {
        failing f = {.fail_at = k};
        c.w.ctx.alloc = (pg_alloc){&f, resize_failing};
        pg_status s = world_run(&c.w, 1);
        cr_assert_eq(f.live_bytes, 0);
        cr_assert(s == PG_OK || s == PG_E_NOMEM);
        if (s == PG_OK) {
            cr_assert(copy_is_right(&c));
            cr_assert_gt(k, 3);
            break;
        }
    }
    c.w.ctx.alloc = pg_alloc_default();
    copy_fini(&c);
}
