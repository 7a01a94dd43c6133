/* test_mma.c: mma.sync of every shape and type on random fragments against plain sums, by the
 * fragment tables of the ISA written out once more; ldmatrix, stmatrix and movmatrix exactly. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/elem.h"
#include "tests/draw.h"

#include "ptx_run.h"

typedef struct shape {
    const char *name; /* "m16n8k16" */
    const char *d, *a, *b;
    uint32_t m, k, bits; /* of an element of A */
    uint32_t n_a, n_b;   /* registers */
    bool is_satfinite;
    const char *tail; /* of bits: what is done with them; NULL: nothing */
} shape;

static const shape shapes[] = {
    {"m16n8k8", "f32", "f16", "f16", 16, 8, 16, 2, 1, false, NULL},
    {"m16n8k16", "f32", "f16", "f16", 16, 16, 16, 4, 2, false, NULL},
    {"m16n8k8", "f16", "f16", "f16", 16, 8, 16, 2, 1, false, NULL},
    {"m16n8k16", "f16", "f16", "f16", 16, 16, 16, 4, 2, false, NULL},
    {"m16n8k8", "f32", "bf16", "bf16", 16, 8, 16, 2, 1, false, NULL},
    {"m16n8k16", "f32", "bf16", "bf16", 16, 16, 16, 4, 2, false, NULL},
    {"m16n8k4", "f32", "tf32", "tf32", 16, 4, 32, 2, 1, false, NULL},
    {"m16n8k8", "f32", "tf32", "tf32", 16, 8, 32, 4, 2, false, NULL},
    {"m16n8k16", "s32", "s8", "s8", 16, 16, 8, 2, 1, false, NULL},
    {"m16n8k32", "s32", "s8", "u8", 16, 32, 8, 4, 2, false, NULL},
    {"m16n8k32", "s32", "u8", "u8", 16, 32, 8, 4, 2, true, NULL},
    {"m16n8k32", "s32", "u8", "s8", 16, 32, 8, 4, 2, true, NULL},
    {"m8n8k16", "s32", "s8", "s8", 8, 16, 8, 1, 1, false, NULL},
    {"m16n8k32", "f32", "e4m3", "e5m2", 16, 32, 8, 4, 2, false, NULL},
    {"m16n8k16", "f32", "e5m2", "e5m2", 16, 16, 8, 2, 1, false, NULL},
    {"m8n8k4", "f64", "f64", "f64", 8, 4, 64, 1, 1, false, NULL},
    {"m16n8k4", "f64", "f64", "f64", 16, 4, 64, 2, 1, false, NULL},
    {"m16n8k8", "f64", "f64", "f64", 16, 8, 64, 4, 2, false, NULL},
    {"m16n8k16", "f64", "f64", "f64", 16, 16, 64, 8, 4, false, NULL},
    {"m8n8k32", "s32", "s4", "s4", 8, 32, 4, 1, 1, false, NULL},
    {"m16n8k32", "s32", "s4", "u4", 16, 32, 4, 2, 1, false, NULL},
    {"m16n8k32", "s32", "u4", "s4", 16, 32, 4, 2, 1, true, NULL},
    {"m16n8k64", "s32", "s4", "s4", 16, 64, 4, 4, 2, true, NULL},
    {"m16n8k64", "s32", "u4", "u4", 16, 64, 4, 4, 2, false, NULL},
    {"m8n8k128", "s32", "b1", "b1", 8, 128, 1, 1, 1, false, ".xor.popc"},
    {"m16n8k128", "s32", "b1", "b1", 16, 128, 1, 2, 1, false, ".and.popc"},
    {"m16n8k256", "s32", "b1", "b1", 16, 256, 1, 4, 2, false, ".xor.popc"},
    {"m16n8k256", "s32", "b1", "b1", 16, 256, 1, 4, 2, false, ".and.popc"},
};

/* Where element i of lane l lives, by the tables of the ISA. */
static void place_a(const shape *s, uint32_t l, uint32_t i, uint32_t *row, uint32_t *k)
{
    uint32_t g = l / 4, q = l % 4;
    *row = g;
    switch (s->bits) {
    case 16:
        *row = s->k == 8 ? (i < 2 ? g : g + 8) : ((i < 2 || (i >= 4 && i < 6)) ? g : g + 8);
        *k = 2 * q + (i & 1) + (i >= 4 ? 8 : 0);
        break;
    case 8:
        if (s->m == 8) {
            *k = 4 * q + i;
        } else if (s->k == 16) {
            *row = i < 4 ? g : g + 8;
            *k = 4 * q + (i & 3);
        } else {
            *row = (i < 4 || (i >= 8 && i < 12)) ? g : g + 8;
            *k = 4 * q + (i & 3) + (i >= 8 ? 16 : 0);
        }
        break;
    case 4:
        *row = i < 8 || (i >= 16 && i < 24) ? g : g + 8;
        *k = 8 * q + (i & 7) + (i >= 16 ? 32 : 0);
        break;
    case 1:
        *row = i < 32 || (i >= 64 && i < 96) ? g : g + 8;
        *k = 32 * q + (i & 31) + (i >= 64 ? 128 : 0);
        break;
    default: /* one element a register */
        *row = s->m == 16 && (i & 1) != 0 ? g + 8 : g;
        *k = s->m == 16 ? q + 4 * (i >> 1) : q;
        break;
    }
}

static void place_b(const shape *s, uint32_t l, uint32_t i, uint32_t *k, uint32_t *col)
{
    uint32_t g = l / 4, q = l % 4;
    *col = g;
    *k = s->bits == 16  ? 2 * q + (i & 1) + (i >= 2 ? 8 : 0)
         : s->bits == 8 ? 4 * q + (i & 3) + (i >= 4 ? 16 : 0)
         : s->bits == 4 ? 8 * q + (i & 7) + (i >= 8 ? 32 : 0)
         : s->bits == 1 ? 32 * q + (i & 31) + (i >= 32 ? 128 : 0)
                        : q + 4 * i;
}

static double value(const char *type, uint64_t bits)
{
    if (strcmp(type, "s8") == 0) {
        return (int8_t)(uint8_t)bits;
    }
    if (strcmp(type, "u8") == 0) {
        return (double)(uint8_t)bits;
    }
    if (strcmp(type, "s32") == 0) {
        return (int32_t)(uint32_t)bits;
    }
    if (strcmp(type, "s4") == 0) {
        return (double)(bits < 8 ? (int)bits : (int)bits - 16);
    }
    if (strcmp(type, "u4") == 0 || strcmp(type, "b1") == 0) {
        return (double)bits;
    }
    if (strcmp(type, "tf32") == 0) {
        return pg_elem_to_f64(PG_F32, bits & 0xFFFFE000u);
    }
    pg_elem e = strcmp(type, "f16") == 0    ? PG_F16
                : strcmp(type, "bf16") == 0 ? PG_BF16
                : strcmp(type, "f32") == 0  ? PG_F32
                : strcmp(type, "f64") == 0  ? PG_F64
                : strcmp(type, "e4m3") == 0 ? PG_E4M3
                                            : PG_E5M2;
    return pg_elem_to_f64(e, bits);
}

static uint64_t random_bits(const char *type, uint64_t *seed)
{
    uint64_t x = draw(seed) >> 7;
    double v = (double)(int32_t)(uint32_t)x / 2147483648.0 * ((x >> 40 & 7) == 0 ? 30.0 : 1.0);
    if (strcmp(type, "s32") == 0) { /* near the ends: wrap and saturation show */
        return (x >> 33 & 3) == 0   ? (uint32_t)INT32_MAX - (x & 0xFFF)
               : (x >> 33 & 3) == 1 ? (uint32_t)INT32_MIN + (x & 0xFFF)
                                    : (uint32_t)x;
    }
    if (strcmp(type, "b1") == 0) {
        return x & 1;
    }
    if (type[0] == 's' || type[0] == 'u') {
        return x & (type[1] == '4' ? 0xF : 0xFF);
    }
    pg_elem e = strcmp(type, "f16") == 0    ? PG_F16
                : strcmp(type, "bf16") == 0 ? PG_BF16
                : strcmp(type, "f64") == 0  ? PG_F64
                : strcmp(type, "e4m3") == 0 ? PG_E4M3
                : strcmp(type, "e5m2") == 0 ? PG_E5M2
                                            : PG_F32;
    return pg_elem_of_f64(e, v);
}

/* ---- program and data ------------------------------------------------------------------------ */

typedef struct trial {
    const shape *s;
    uint32_t width; /* bytes of a register */
    uint32_t n_acc; /* registers of C and D */
    uint64_t reg[24][32];
    char body[4096];
} trial;

static void write_program(trial *t)
{
    const shape *s = t->s;
    char *p = t->body;
    bool is_wide = t->width == 8;
    uint32_t n_in = s->n_a + s->n_b + t->n_acc;
    const char *r = is_wide ? "d" : "r";
    p += sprintf(p, "mad.wide.u32 %%rd3, %%r1, %u, %%rd1;\nmad.wide.u32 %%rd4, %%r1, %u, %%rd2;\n",
                 t->width, t->width);
    for (uint32_t j = 0; j < n_in; j++) {
        p += sprintf(p, "ld.global.%s %%%s%u, [%%rd3+%u];\n", is_wide ? "f64" : "b32", r, 4 + j,
                     j * 32 * t->width);
    }
    p += sprintf(p, "mma.sync.aligned.%s.row.col%s.%s.%s.%s.%s%s ", s->name,
                 s->is_satfinite ? ".satfinite" : "", s->d, s->a, s->b, s->d,
                 s->tail != NULL ? s->tail : "");
    uint32_t first[4] = {is_wide ? 26 : 80, 4, 4 + s->n_a, 4 + s->n_a + s->n_b};
    uint32_t n[4] = {t->n_acc, s->n_a, s->n_b, t->n_acc};
    for (uint32_t o = 0; o < 4; o++) {
        p += sprintf(p, "{");
        for (uint32_t j = 0; j < n[o]; j++) {
            p += sprintf(p, "%s%%%s%u", j > 0 ? "," : "", r, first[o] + j);
        }
        p += sprintf(p, "}%s", o < 3 ? ", " : ";\n");
    }
    for (uint32_t j = 0; j < t->n_acc; j++) {
        p += sprintf(p, "st.global.%s [%%rd4+%u], %%%s%u;\n", is_wide ? "f64" : "b32",
                     j * 32 * t->width, r, first[0] + j);
    }
}

/* Element i of a fragment that starts at register `first`. */
static uint64_t element(const trial *t, uint32_t first, uint32_t l, uint32_t i, uint32_t bits)
{
    uint32_t per = bits >= 32 ? 1 : 32 / bits;
    uint64_t x = t->reg[first + i / per][l] >> (bits * (i % per));
    return bits == 64 ? x : x & ((1ull << bits) - 1);
}

static bool check(const trial *t, const ptx_result *got)
{
    const shape *s = t->s;
    static double a[16][256], b[256][8];
    uint32_t per = s->bits >= 32 ? 1 : 32 / s->bits;
    for (uint32_t l = 0; l < 32; l++) {
        for (uint32_t i = 0; i < s->n_a * per; i++) {
            uint32_t row = 0, k = 0;
            place_a(s, l, i, &row, &k);
            a[row][k] = value(s->a, element(t, 0, l, i, s->bits));
        }
        for (uint32_t i = 0; i < s->n_b * per; i++) {
            uint32_t col = 0, k = 0;
            place_b(s, l, i, &k, &col);
            b[k][col] = value(s->b, element(t, s->n_a, l, i, s->bits));
        }
    }
    uint32_t d_bits = strcmp(s->d, "f16") == 0 ? 16 : t->width * 8;
    double unit = d_bits == 16 ? 0x1p-11 : d_bits == 64 ? 0x1p-50 : 0x1p-24;
    for (uint32_t l = 0; l < 32; l++) {
        for (uint32_t i = 0; i < s->m * 8 / 32; i++) {
            uint32_t row = l / 4 + (i >= 2 ? 8 : 0), col = 2 * (l % 4) + (i & 1);
            double c = value(s->d, element(t, s->n_a + s->n_b, l, i, d_bits));
            double sum = c, bound = fabs(c);
            for (uint32_t k = 0; k < s->k; k++) {
                bool is_xor = s->tail != NULL && strcmp(s->tail, ".xor.popc") == 0;
                sum += is_xor ? fabs(a[row][k] - b[k][col]) : a[row][k] * b[k][col];
                bound += fabs(a[row][k] * b[k][col]);
            }
            uint64_t x = 0;
            uint32_t at = d_bits == 16 ? (i / 2 * 32 + l) * 4 + i % 2 * 2 : (i * 32 + l) * t->width;
            memcpy(&x, got->out + at, d_bits / 8);
            double have = value(s->d, x);
            if (strcmp(s->d, "s32") == 0) {
                int64_t want = (int64_t)sum;
                want = !s->is_satfinite   ? (int32_t)(uint32_t)(uint64_t)want
                       : want > INT32_MAX ? INT32_MAX
                       : want < INT32_MIN ? INT32_MIN
                                          : want;
                sum = (double)want;
                unit = 0;
            }
            if (!(fabs(have - sum) <= unit * bound + (d_bits == 16 ? 0x1p-25 : 0))) {
                printf("  row %u column %u: %.17g, expected %.17g\n", row, col, have, sum);
                return false;
            }
        }
    }
    return true;
}

static bool try_shape(const shape *s, uint64_t seed)
{
    static trial t;
    static ptx_result r;
    static uint8_t in[24 * 32 * 8];
    t.s = s;
    t.width = s->bits == 64 ? 8 : 4;
    t.n_acc = s->m * 8 / 32 / (strcmp(s->d, "f16") == 0 ? 2 : 1);
    uint32_t n_in = s->n_a + s->n_b + t.n_acc;
    uint64_t random = 88172645463325252ull + seed * 977;
    for (uint32_t j = 0; j < n_in; j++) {
        const char *type = j < s->n_a ? s->a : j < s->n_a + s->n_b ? s->b : s->d;
        uint32_t bits = j < s->n_a + s->n_b ? s->bits : strcmp(s->d, "f16") == 0 ? 16 : t.width * 8;
        for (uint32_t l = 0; l < 32; l++) {
            t.reg[j][l] = 0;
            for (uint32_t at = 0; at < t.width * 8; at += bits) {
                t.reg[j][l] |= random_bits(type, &random) << at;
            }
            memcpy(in + (j * 32 + l) * t.width, &t.reg[j][l], t.width);
        }
    }
    write_program(&t);
    ptx_case c = {.body = t.body,
                  .in = in,
                  .in_size = n_in * 32 * t.width,
                  .out_size = t.n_acc * 32 * t.width,
                  .seed = seed};
    ptx_run(&c, &r);
    bool is_ok = r.status == PTXEXEC_OK && r.n_poison == 0 && check(&t, &r);
    if (!is_ok) {
        printf("%s %s %s %s, seed %llu: status %d %s\n", s->name, s->d, s->a, s->b,
               (unsigned long long)seed, (int)r.status, r.message);
    }
    return is_ok;
}

/* Directed rounding of doubles, where a sum has one inexact step: 1 or -1, plus or minus 2^-60. */
static bool try_rounding(void)
{
    static ptx_result r;
    static const char *const shapes_of[] = {"m8n8k4", "m16n8k8"};
    static const struct {
        const char *mode;
        double c, a, want;
    } cases[] = {
        {".rn", 1, 0x1p-60, 1},
        {".rz", 1, 0x1p-60, 1},
        {".rm", 1, 0x1p-60, 1},
        {".rp", 1, 0x1p-60, 1 + 0x1p-52},
        {".rn", 1, -0x1p-60, 1},
        {".rz", 1, -0x1p-60, 1 - 0x1p-53},
        {".rp", 1, -0x1p-60, 1},
        {".rm", 1, -0x1p-60, 1 - 0x1p-53},
        {".rz", -1, 0x1p-60, -1 + 0x1p-53},
        {".rm", -1, 0x1p-60, -1},
        {".rp", -1, 0x1p-60, -1 + 0x1p-53},
        {"", -1, 0x1p-60, -1},
        {".rm", -1, -0x1p-60, -1 - 0x1p-52},
        {".rp", -1, -0x1p-60, -1},
    };
    bool is_ok = true;
    for (uint32_t k = 0; k < 2 * sizeof cases / sizeof cases[0]; k++) {
        char body[1024];
        bool is_big = k % 2 != 0;
        double in[2] = {cases[k / 2].a, cases[k / 2].c};
        (void)snprintf(body, sizeof body,
                       "ld.global.f64 %%d1, [%%rd1];\nld.global.f64 %%d2, [%%rd1+8];\n"
                       "mov.f64 %%d3, 0d3FF0000000000000;\nmov.f64 %%d4, 0d0000000000000000;\n"
                       "and.b32 %%r3, %%r1, 3;\nsetp.eq.u32 %%p1, %%r3, 2;\n" /* one k of four */
                       "selp.f64 %%d5, %%d1, %%d4, %%p1;\n"
                       "mma.sync.aligned.%s.row.col%s.f64.f64.f64.f64 %s;\n"
                       "mad.wide.u32 %%rd3, %%r1, 8, %%rd2;\nst.global.f64 [%%rd3], %%d6;",
                       shapes_of[is_big], cases[k / 2].mode,
                       is_big ? "{%d6,%d7,%d8,%d9}, {%d5,%d5,%d4,%d4}, {%d3,%d3}, {%d2,%d2,%d2,%d2}"
                              : "{%d6,%d7}, {%d5}, {%d3}, {%d2,%d2}");
        ptx_case c = {.body = body, .in = in, .in_size = sizeof in, .out_size = 256};
        ptx_run(&c, &r);
        for (uint32_t l = 0; l < 32; l++) {
            double x = 0;
            memcpy(&x, r.out + l * sizeof x, sizeof x);
            if (r.status != PTXEXEC_OK || x != cases[k / 2].want) {
                printf("f64%s, lane %u: %.17g, expected %.17g %s\n", cases[k / 2].mode, l, x,
                       cases[k / 2].want, r.message);
                is_ok = false;
                break;
            }
        }
    }
    return is_ok;
}

/* Doubles go by fused steps, in the order of k: in another order, or by products that are rounded,
 * these sums are others. */
static bool try_steps(void)
{
    static ptx_result r;
    static const char *const shapes_of[] = {
        "m8n8k4.row.col.f64.f64.f64.f64 {%d6,%d7}, {%d3}, {%d4}, {%d5,%d5}",
        "m16n8k4.row.col.f64.f64.f64.f64 {%d6,%d7,%d8,%d9}, {%d3,%d3}, {%d4}, {%d5,%d5,%d5,%d5}"};
    static const double cases[][10] = {
        /* rows of A, columns of B, C, result */
        {0x1p53, 1, 1, -0x1p53, 1, 1, 1, 1, 0, 0},
        {-0x1p53, 0x1p53, 1, 1, 1, 1, 1, 1, 0, 2},
        {1 + 0x1p-30, 0, 0, 0, 1 + 0x1p-30, 0, 0, 0, -1 - 0x1p-29, 0x1p-60},
        {0, 0, 0, 1 + 0x1p-30, 0, 0, 0, 1 - 0x1p-30, -1, -0x1p-60},
    };
    bool is_ok = true;
    for (uint32_t k = 0; k < 2 * sizeof cases / sizeof cases[0]; k++) {
        const double *in = cases[k / 2];
        char body[1024];
        (void)snprintf(body, sizeof body,
                       "and.b32 %%r3, %%r1, 3;\nmad.wide.u32 %%rd3, %%r3, 8, %%rd1;\n"
                       "ld.global.f64 %%d3, [%%rd3];\nld.global.f64 %%d4, [%%rd3+32];\n"
                       "ld.global.f64 %%d5, [%%rd1+64];\nmma.sync.aligned.%s;\n"
                       "mad.wide.u32 %%rd3, %%r1, 8, %%rd2;\nst.global.f64 [%%rd3], %%d6;",
                       shapes_of[k % 2]);
        ptx_case c = {.body = body, .in = in, .in_size = sizeof cases[0], .out_size = 256};
        ptx_run(&c, &r);
        double x = 0;
        for (uint32_t l = 0; l < 32 && is_ok; l++) {
            memcpy(&x, r.out + l * sizeof x, sizeof x);
            is_ok = r.status == PTXEXEC_OK && x == in[9];
        }
        if (!is_ok) {
            printf("steps of doubles %u: %.17g, expected %.17g %s\n", k, x, in[9], r.message);
            return false;
        }
    }
    return true;
}

/* ---- matrices in shared memory --------------------------------------------------------------- */

/* Loads n matrices by ldmatrix, moves them, stores them by stmatrix and back to global memory. */
static bool try_matrices(uint32_t n, bool is_trans_in, bool is_trans_out)
{
    static ptx_result r;
    uint16_t in[256], want[256];
    char body[2048], list[64] = "";
    for (uint32_t j = 0; j < n; j++) {
        (void)sprintf(list + strlen(list), "%s%%r%u", j > 0 ? "," : "", 20 + j);
    }
    (void)sprintf(body,
                  "mov.u32 %%r3, sm;\nmad.lo.u32 %%r4, %%r1, 16, %%r3;\n"
                  "mad.wide.u32 %%rd3, %%r1, 16, %%rd1;\nmad.wide.u32 %%rd4, %%r1, 16, %%rd2;\n"
                  "ld.global.v4.b32 {%%r5,%%r6,%%r7,%%r8}, [%%rd3];\n"
                  "st.shared.v4.b32 [%%r4], {%%r5,%%r6,%%r7,%%r8};\nbar.warp.sync -1;\n"
                  "ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 {%s}, [%%r4];\n"
                  "stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%r4+1024], {%s};\n"
                  "bar.warp.sync -1;\nld.shared.v4.b32 {%%r5,%%r6,%%r7,%%r8}, [%%r4+1024];\n"
                  "st.global.v4.b32 [%%rd4], {%%r5,%%r6,%%r7,%%r8};",
                  n, is_trans_in ? ".trans" : "", list, n, is_trans_out ? ".trans" : "", list);
    for (uint32_t i = 0; i < 256; i++) {
        in[i] = (uint16_t)(i * 257 + 3);
        uint32_t row = i / 8 % 8, col = i % 8;
        want[i] =
            (uint16_t)((is_trans_in != is_trans_out ? i / 64 * 64 + col * 8 + row : i) * 257 + 3);
    }
    ptx_case c = {
        .body = body, .in = in, .in_size = 512, .out_size = 512, .races = PTXEXEC_RACES_ISA};
    ptx_run(&c, &r);
    bool is_ok =
        r.status == PTXEXEC_OK && r.n_poison == 512 - n * 128 && memcmp(r.out, want, n * 128) == 0;
    if (!is_ok) {
        printf("x%u, trans %d %d: status %d %s\n", n, is_trans_in, is_trans_out, (int)r.status,
               r.message);
    }
    return is_ok;
}

/* Fragments by the ISA: lane l holds (l / 4, 2 (l % 4)) and its neighbour. */
static bool try_movmatrix(void)
{
    static ptx_result r;
    uint32_t in[32], got[32];
    for (uint32_t l = 0; l < 32; l++) {
        in[l] = (l / 4 * 8 + 2 * (l % 4)) | (l / 4 * 8 + 2 * (l % 4) + 1) << 16;
    }
    ptx_case c = {.body = "mad.wide.u32 %rd3, %r1, 4, %rd1;\nmad.wide.u32 %rd4, %r1, 4, %rd2;\n"
                          "ld.global.b32 %r3, [%rd3];\n"
                          "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r3;\n"
                          "st.global.b32 [%rd4], %r4;",
                  .in = in,
                  .in_size = sizeof in,
                  .out_size = sizeof in};
    ptx_run(&c, &r);
    memcpy(got, r.out, sizeof got);
    bool is_ok = r.status == PTXEXEC_OK;
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t row = l / 4, col = 2 * (l % 4);
        is_ok = is_ok && got[l] == ((col * 8 + row) | ((col + 1) * 8 + row) << 16);
    }
    if (!is_ok) {
        printf("movmatrix: %s\n", r.message);
    }
    return is_ok;
}

/* An instruction of the whole warp, reached by a part of it, and an operand never written, beside
 * what may be so: addresses that x1 and x2 do not take. */
static bool try_misuse(void)
{
    static ptx_result r;
    static const struct {
        const char *body;
        ptxexec_fault_kind kind;
    } cases[] = {
        {"setp.lt.u32 %p1, %r1, 7;\nmov.b32 %r3, 0;\n"
         "@%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r3;",
         PTXEXEC_F_DIVERGED},
        {"setp.lt.u32 %p1, %r1, 7;\nmov.b32 %r3, 0;\n@%p1 exit;\n"
         "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r3;",
         PTXEXEC_F_DIVERGED},
        {"setp.lt.u32 %p1, %r1, 7;\nmov.b32 %r3, 0;\nmov.f32 %f0, 0f00000000;\n@%p1 exit;\n"
         "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f4,%f5,%f6,%f7}, {%r3,%r3}, {%r3}, "
         "{%f0,%f0,%f0,%f0};",
         PTXEXEC_F_DIVERGED},
        {"setp.lt.u32 %p1, %r1, 7;\nmov.f64 %d1, 0d0000000000000000;\n@%p1 exit;\n"
         "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d2,%d3}, {%d1}, {%d1}, {%d1,%d1};",
         PTXEXEC_F_DIVERGED},
        {"setp.lt.u32 %p1, %r1, 7;\nmov.b32 %r3, 0;\n@%p1 exit;\n"
         "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%r4,%r5}, {%r3}, {%r3}, {%r3,%r3};",
         PTXEXEC_F_DIVERGED},
        {"setp.lt.u32 %p1, %r1, 8;\nmov.u32 %r3, sm;\n@%p1 mad.lo.u32 %r4, %r1, 16, %r3;\n"
         "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4];",
         PTXEXEC_F_NONE},
        {"setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r3, sm;\n@%p1 mad.lo.u32 %r4, %r1, 16, %r3;\n"
         "mov.b32 %r5, 0;\nstmatrix.sync.aligned.m8n8.x2.shared.b16 [%r4], {%r5,%r5};",
         PTXEXEC_F_NONE},
        {"setp.lt.u32 %p1, %r1, 15;\nmov.u32 %r3, sm;\n@%p1 mad.lo.u32 %r4, %r1, 16, %r3;\n"
         "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r5,%r6}, [%r4];",
         PTXEXEC_F_POISON_ADDRESS},
        {"mov.u32 %r3, sm;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r3+8];",
         PTXEXEC_F_MISALIGNED},
        {"mov.u32 %r3, sm;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r3];\n"
         "setp.eq.u32 %p1, %r4, 0;\n@%p1 exit;",
         PTXEXEC_F_POISON_BRANCH},
    };
    bool is_ok = true;
    for (uint32_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        ptx_case c = {.body = cases[k].body};
        ptx_run(&c, &r);
        bool is_good = cases[k].kind == PTXEXEC_F_NONE;
        if (r.status != (is_good ? PTXEXEC_OK : PTXEXEC_E_FAULT) || r.fault.kind != cases[k].kind) {
            printf("misuse %u: status %d, kind %d, %s\n", k, (int)r.status, (int)r.fault.kind,
                   r.message);
            is_ok = false;
        }
    }
    return is_ok;
}

/* What is uninitialised goes where its element goes, and nowhere else: bytes of `out`, which has 4
 * of each lane for each register that is kept there. */
static bool try_poison(void)
{
#define LANE(n)     "mov.u32 %r3, sm;\nsetp.ne.u32 %p1, %r1, " #n ";\n"
#define KEEP(at, x) "mad.wide.u32 %rd5, %r1, 4, %rd2;\nst.global.b32 [%rd5+" #at "], " x ";\n"
#define WORD        "mad.lo.u32 %r4, %r1, 4, %r3;\n"
#define MMA_POISON                                                          \
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4,%f5,%f6,%f7}, " \
    "{%r10,%r11,%r10,%r10}, {%r12,%r10}, {%f0,%f0,%f0,%f0};\n"              \
    "mov.b32 %r20, %f4;\nmov.b32 %r21, %f5;\nmov.b32 %r22, %f6;\nmov.b32 %r23, %f7;\n"
#define NIBBLES(a, b)                                                                   \
    "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32 {%r20,%r21,%r22,%r23}, " a ", {" b \
    "}, {%r30,%r30,%r30,%r30};\n"
#define MMA_NIBBLES   "mov.b32 %r30, 0;\n" NIBBLES("{%r10,%r11}", "%r10")
#define MMA_NIBBLES_B "mov.b32 %r30, 0;\n" NIBBLES("{%r11,%r11}", "%r10")
    static ptx_result r;
    static const struct {
        const char *name, *body;
        size_t out_size;
        uint64_t n_poison;
    } cases[] = {
        {"stmatrix", /* lane 5: its word stays one */
         LANE(5) "@%p1 mov.b32 %r10, 7;\n"
                 "mad.lo.u32 %r5, %r1, 16, %r3;\n"
                 "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r10};\nbar.warp.sync -1;\n" WORD
                 "ld.shared.b32 %r6, [%r4];\n" KEEP(0, "%r6"),
         128, 4},
        {"stmatrix.trans", /* two words have a half of it */
         LANE(5) "@%p1 mov.b32 %r10, 7;\n"
                 "mad.lo.u32 %r5, %r1, 16, %r3;\n"
                 "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r5], {%r10};\n"
                 "bar.warp.sync -1;\n" WORD "ld.shared.b32 %r6, [%r4];\n" KEEP(0, "%r6"),
         128, 8},
        {"ldmatrix, an upper half", /* row 3, element 5 */
         "mov.u32 %r3, sm;\nmov.b32 %r10, 7;\ncvt.u16.u32 %h1, %r10;\n"
         "setp.ne.u32 %p1, %r1, 14;\n" WORD "st.shared.b16 [%r4], %h1;\n"
         "@%p1 st.shared.b16 [%r4+2], %h1;\nbar.warp.sync -1;\nmad.lo.u32 %r5, %r1, 16, %r3;\n"
         "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r5];\n" KEEP(0, "%r6"),
         128, 4},
        {"movmatrix", /* row 1, elements 4 and 5, of lane 6: in lanes 16 and 20 */
         LANE(6) "@%p1 mov.b32 %r10, 7;\n"
                 "movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r10;\n"
                 "setp.eq.u32 %p2, %r1, 16;\nsetp.eq.u32 %p3, %r1, 20;\n"
                 "@%p2 mov.b32 %r6, 0;\n@%p3 mov.b32 %r6, 0;\n" KEEP(0, "%r6"),
         128, 0},
        {"movmatrix, nothing mended",
         LANE(6) "@%p1 mov.b32 %r10, 7;\n"
                 "movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r10;\n" KEEP(0, "%r6"),
         128, 8},
        {"mma, a row of A below", /* row 10: the lower registers of four lanes */
         LANE(9) "mov.b32 %r10, 0;\nmov.b32 %r12, 0;\nmov.f32 %f0, 0f00000000;\n"
                 "@%p1 mov.b32 %r11, 0;\n" MMA_POISON KEEP(0, "%r22") KEEP(128, "%r23"),
         256, 32},
        {"mma, not above",
         LANE(9) "mov.b32 %r10, 0;\nmov.b32 %r12, 0;\nmov.f32 %f0, 0f00000000;\n"
                 "@%p1 mov.b32 %r11, 0;\n" MMA_POISON KEEP(0, "%r20") KEEP(128, "%r21"),
         256, 0},
        {"mma, a column of B", /* column 3: the odd registers of eight lanes */
         LANE(14) "mov.b32 %r10, 0;\nmov.b32 %r11, 0;\nmov.f32 %f0, 0f00000000;\n"
                  "@%p1 mov.b32 %r12, 0;\n" MMA_POISON KEEP(0, "%r21") KEEP(128, "%r23"),
         256, 64},
        {"mma, no even column",
         LANE(14) "mov.b32 %r10, 0;\nmov.b32 %r11, 0;\nmov.f32 %f0, 0f00000000;\n"
                  "@%p1 mov.b32 %r12, 0;\n" MMA_POISON KEEP(0, "%r20") KEEP(128, "%r22"),
         256, 0},
        {"nibbles, a row of A below", /* row 10 */
         LANE(9) "mov.b32 %r10, 0;\n@%p1 mov.b32 %r11, 0;\n" MMA_NIBBLES KEEP(0, "%r22")
             KEEP(128, "%r23"),
         256, 32},
        {"nibbles, not above",
         LANE(9) "mov.b32 %r10, 0;\n@%p1 mov.b32 %r11, 0;\n" MMA_NIBBLES KEEP(0, "%r20")
             KEEP(128, "%r21"),
         256, 0},
        {"nibbles, a column of B", /* column 2: the even registers of eight lanes */
         LANE(9) "mov.b32 %r11, 0;\n@%p1 mov.b32 %r10, 0;\n" MMA_NIBBLES_B KEEP(0, "%r20")
             KEEP(128, "%r21") KEEP(256, "%r22") KEEP(384, "%r23"),
         512, 64},
    };
    bool is_ok = true;
    for (uint32_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        ptx_case c = {.body = cases[k].body, .out_size = cases[k].out_size};
        ptx_run(&c, &r);
        if (r.status != PTXEXEC_OK || r.n_poison != cases[k].n_poison) {
            printf("poison, %s: status %d %s, %llu bytes, expected %llu\n", cases[k].name,
                   (int)r.status, r.message, (unsigned long long)r.n_poison,
                   (unsigned long long)cases[k].n_poison);
            is_ok = false;
        }
    }
    return is_ok;
}

/* One register of one lane is never written: exactly the elements of the result that its row of A,
 * its column of B or its place in C has are uninitialised. */
static bool try_stain(const shape *s, uint64_t seed)
{
    static trial t;
    static ptx_result r;
    static uint8_t in[24 * 32 * 8];
    uint64_t random = 88172645463325252ull + seed * 977;
    t.s = s;
    t.width = s->bits == 64 ? 8 : 4;
    bool is_half = strcmp(s->d, "f16") == 0;
    t.n_acc = s->m * 8 / 32 / (is_half ? 2 : 1);
    uint32_t n_in = s->n_a + s->n_b + t.n_acc;
    uint32_t reg = (uint32_t)(draw(&random) >> 7) % n_in;
    uint32_t lane = (uint32_t)(draw(&random) >> 7) % 32;
    uint32_t per = s->bits >= 32 ? 1 : 32 / s->bits;
    write_program(&t);
    /* The load of that register is for all lanes but one. */
    char mark[32];
    char body[sizeof t.body + 64];
    (void)snprintf(mark, sizeof mark, "ld.global.%s %%%s%u,", t.width == 8 ? "f64" : "b32",
                   t.width == 8 ? "d" : "r", 4 + reg);
    char *at = strstr(t.body, mark);
    (void)snprintf(body, sizeof body, "setp.ne.u32 %%p1, %%r1, %u;\n%.*s@%%p1 %s", lane,
                   (int)(at - t.body), t.body, at);
    ptx_case c = {.body = body,
                  .in = in,
                  .in_size = n_in * 32 * t.width,
                  .out_size = t.n_acc * 32 * t.width,
                  .seed = seed,
                  .has_poison = 1};
    ptx_run(&c, &r);
    uint32_t line = 0, k = 0;
    if (reg < s->n_a) {
        place_a(s, lane, reg * per, &line, &k);
    } else if (reg < s->n_a + s->n_b) {
        place_b(s, lane, (reg - s->n_a) * per, &k, &line);
    }
    bool is_ok = r.status == PTXEXEC_OK;
    for (uint32_t l = 0; l < 32 && is_ok; l++) {
        for (uint32_t j = 0; j < t.n_acc; j++) {
            bool want = false;
            for (uint32_t i = j * (is_half ? 2 : 1); i < (j + 1) * (is_half ? 2 : 1); i++) {
                uint32_t row = l / 4 + (i >= 2 ? 8 : 0), col = 2 * (l % 4) + (i & 1);
                want = want || (reg < s->n_a            ? row == line
                                : reg < s->n_a + s->n_b ? col == line
                                                        : l == lane && j == reg - s->n_a - s->n_b);
            }
            is_ok = is_ok && r.is_poison[(j * 32 + l) * t.width / 4] == want;
        }
    }
    if (!is_ok) {
        printf("stain of %s %s %s: register %u of lane %u: status %d %s\n", s->name, s->d, s->a,
               reg, lane, (int)r.status, r.message);
    }
    return is_ok;
}

int main(void)
{
    uint32_t n_bad = 0;
    for (uint32_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            if (!try_shape(&shapes[k], seed) || !try_stain(&shapes[k], seed * 64 + k)) {
                n_bad++;
                break;
            }
        }
    }
    for (uint32_t k = 0; k < 12; k++) {
        n_bad += try_matrices(1u << k / 4, (k & 1) != 0, (k & 2) != 0) ? 0 : 1;
    }
    n_bad += try_rounding() ? 0 : 1;
    n_bad += try_steps() ? 0 : 1;
    n_bad += try_movmatrix() ? 0 : 1;
    n_bad += try_misuse() ? 0 : 1;
    n_bad += try_poison() ? 0 : 1;
    printf("%u failed\n", n_bad);
    return n_bad == 0 ? 0 : 1;
}
