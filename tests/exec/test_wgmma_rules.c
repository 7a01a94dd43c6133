/* test_wgmma_rules.c: rules of wgmma that a right result does not show, each by a case of its own:
 *
 *   places    every bit of a descriptor's start address, LBO and SBO, and addresses of 18 bits
 *             (strides that lead backwards): matrices of core matrices strewn over all of shared
 *             memory, of which the rest is NaN
 *   poison    one element of A or B, or one register of A, that was never written makes exactly
 *             its row or its column of the result uninitialised
 *   rows      a warp reads the 16 rows of A that are its own: a row that another warp writes
 *             without order is a race, one that it writes itself is none
 *
 * m64n16k16 without swizzle. A line is a row of A or a column of B (K-major), or one k; it has
 * pieces of 8 elements along K, or along M or N. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ir/elem.h"
#include "tests/draw.h"

#include "ptx_run.h"

enum {
    M = 64,
    N = 16,
    K = 16,
    N_PIECES = 128 + 32, /* of A, then of B */
    SHARED = 227 * 1024,
    START = 0x400,
    ADDRESSES = 1 << 18,
    FIELD = 0x3FFF,
    N_SPREAD = 60,
    N_HOLES = 12
};

typedef struct matrix {
    uint32_t n; /* rows of A, columns of B */
    bool is_k_major;
    uint32_t start, lbo, sbo;
} matrix;

typedef struct input { /* what the kernel finds at `in` */
    uint64_t desc[2];
    uint32_t hole, hole_thread; /* of a poisoned element, of who writes late or has no register */
    uint32_t pad[250];
    uint32_t at[256]; /* of the pieces; unused behind N_PIECES */
    uint16_t piece[N_PIECES][8];
    uint32_t reg[4][128]; /* of A */
} input;

static input in;
static int32_t a[M][K], b[N][K];
static ptx_result r;
static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    return draw_below(&state, n);
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* The ISA's canonical layouts without swizzle: core matrices of 8 lines of 16 bytes. */
static uint32_t piece_at(const matrix *x, uint32_t line, uint32_t piece)
{
    uint32_t at =
        x->is_k_major ? line / 8 * x->sbo + piece * x->lbo : line / 8 * x->lbo + piece * x->sbo;
    return (x->start + at + line % 8 * 16) % ADDRESSES;
}

static uint64_t desc_of(const matrix *x)
{
    return x->start / 16 | (uint64_t)(x->lbo / 16) << 16 | (uint64_t)(x->sbo / 16) << 32;
}

/* Writes the pieces of a matrix to the table from `first` on. */
static void put_matrix(const matrix *x, uint32_t first, int32_t (*v)[K])
{
    uint32_t per_line = x->is_k_major ? K / 8 : x->n / 8;
    for (uint32_t k = 0; k < x->n * K / 8; k++) {
        uint32_t line = k / per_line;
        uint32_t piece = k % per_line;
        in.at[first + k] = piece_at(x, line, piece);
        for (uint32_t e = 0; e < 8; e++) {
            int32_t value = x->is_k_major ? v[line][piece * 8 + e] : v[piece * 8 + e][line];
            in.piece[first + k][e] = (uint16_t)pg_elem_of_f64(PG_F16, value);
        }
    }
}

/* Packed core matrices from `start` on. */
static matrix packed(uint32_t n, bool is_k_major, uint32_t start)
{
    matrix x = {.n = n, .is_k_major = is_k_major, .start = start};
    x.lbo = is_k_major ? 128 : n / 8 * 128;
    x.sbo = is_k_major ? 256 : 128;
    return x;
}

static void put_all(const matrix *ma, const matrix *mb)
{
    in.desc[0] = desc_of(ma);
    in.desc[1] = desc_of(mb);
    put_matrix(ma, 0, a);
    put_matrix(mb, M * K / 8, b);
}

static void draw_values(uint32_t span)
{
    for (uint32_t k = 0; k < K; k++) {
        for (uint32_t m = 0; m < M; m++) {
            a[m][k] = span == 0 ? 1 : (int32_t)below(span) - (int32_t)span / 2;
        }
        for (uint32_t n = 0; n < N; n++) {
            b[n][k] = span == 0 ? 1 : (int32_t)below(span) - (int32_t)span / 2;
        }
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

#define FILL                                                                                       \
    "mov.u32 %r3, sm;\nmad.lo.u32 %r4, %r1, 16, %r3;\nmov.b32 %r5, -1;\nadd.u32 %r6, %r3, 232448;" \
    "\n$L:\nst.shared.v4.b32 [%r4], {%r5,%r5,%r5,%r5};\nadd.u32 %r4, %r4, 2048;\n"                 \
    "setp.lt.u32 %p1, %r4, %r6;\n@%p1 bra $L;\nbar.sync 0;\n"
#define ADDRESS \
    "mov.u32 %r3, sm;\nmad.wide.u32 %rd3, %r1, 4, %rd1;\nmad.wide.u32 %rd4, %r1, 16, %rd1;\n"
#define PUT(at, data)                                          \
    "ld.global.b32 %r7, [%rd3+" at "];\n"                      \
    "ld.global.v4.b32 {%r8,%r9,%r10,%r11}, [%rd4+" data "];\n" \
    "st.shared.v4.b32 [%r7], {%r8,%r9,%r10,%r11};\n"
#define PUT_A PUT("1024", "2048")
#define PUT_B "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra $W;\n" PUT("1536", "4096") "$W:\n"
#define READY "fence.proxy.async;\nbar.sync 0;\n"
#define DESCS "ld.global.b64 %rd10, [%rd1];\nld.global.b64 %rd11, [%rd1+8];\n"
#define HOLE  "ld.global.b32 %r13, [%rd1+16];\nbar.sync 0;\nst.shared.b16 [%r13], %h9;\n"
#define REGS                                                               \
    "ld.global.b32 %r20, [%rd3+4608];\nld.global.b32 %r21, [%rd3+5120];\n" \
    "ld.global.b32 %r22, [%rd3+5632];\nld.global.b32 %r23, [%rd3+6144];\n" \
    "ld.global.b32 %r12, [%rd1+20];\nsetp.eq.u32 %p2, %r1, %r12;\n"        \
    "@%p2 mov.b32 %r"
#define MMA32                     \
    "wgmma.fence.sync.aligned;\n" \
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
#define MMA16                     \
    "wgmma.fence.sync.aligned;\n" \
    "wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 {%r30,%r31,%r32,%r33}, "
#define END                                                                \
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" \
    "mad.wide.u32 %rd5, %r1, 4, %rd2;\n"
#define STORE32                                                          \
    "st.global.f32 [%rd5], %f0;\nst.global.f32 [%rd5+512], %f1;\n"       \
    "st.global.f32 [%rd5+1024], %f2;\nst.global.f32 [%rd5+1536], %f3;\n" \
    "st.global.f32 [%rd5+2048], %f4;\nst.global.f32 [%rd5+2560], %f5;\n" \
    "st.global.f32 [%rd5+3072], %f6;\nst.global.f32 [%rd5+3584], %f7;\n"
#define STORE16                                                      \
    "st.global.b32 [%rd5], %r30;\nst.global.b32 [%rd5+512], %r31;\n" \
    "st.global.b32 [%rd5+1024], %r32;\nst.global.b32 [%rd5+1536], %r33;\n"

/* By order of A and B: 1: M- or N-major. */
static const char *const orders[2][2] = {
    {"%rd10, %rd11, 0, 1, 1, 0, 0;\n", "%rd10, %rd11, 0, 1, 1, 0, 1;\n"},
    {"%rd10, %rd11, 0, 1, 1, 1, 0;\n", "%rd10, %rd11, 0, 1, 1, 1, 1;\n"}};
static const char by_regs[] = "{%r20,%r21,%r22,%r23}, %rd11, 0, 1, 1, 0;\n";

static char body[8192];

static void run(uint32_t out_size, uint64_t seed, ptxexec_races races)
{
    ptx_case c = {.body = body,
                  .block = 128,
                  .in = &in,
                  .in_size = sizeof in,
                  .out_size = out_size,
                  .seed = seed,
                  .races = races,
                  .shared = SHARED,
                  .has_poison = 1};
    ptx_run(&c, &r);
}

/* Accumulator i of thread t. */
static uint32_t row_of(uint32_t t, uint32_t i)
{
    return t / 32 * 16 + t % 32 / 4 + ((i & 2) != 0 ? 8 : 0);
}
static uint32_t col_of(uint32_t t, uint32_t i)
{
    return i / 4 * 8 + t % 4 * 2 + (i & 1);
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool is_apart(void)
{
    static bool is_used[ADDRESSES / 16];
    bool is_ok = true;
    memset(is_used, 0, sizeof is_used);
    for (uint32_t k = 0; k < N_PIECES; k++) {
        uint32_t at = in.at[k];
        is_ok = is_ok && at >= START && at + 16 <= START + SHARED && !is_used[at / 16];
        is_used[at / 16] = true;
    }
    return is_ok;
}

static bool is_sum_right(const char *what, uint32_t k)
{
    for (uint32_t t = 0; r.status == PTXEXEC_OK && t < 128; t++) {
        for (uint32_t i = 0; i < 8; i++) {
            float x = 0;
            int32_t sum = 0;
            memcpy(&x, r.out + (size_t)(i * 128 + t) * 4, sizeof x);
            for (uint32_t j = 0; j < K; j++) {
                sum += a[row_of(t, i)][j] * b[col_of(t, i)][j];
            }
            if (x != (float)sum) {
                printf("%s %u: row %u column %u: %g, expected %d\n", what, k, row_of(t, i),
                       col_of(t, i), (double)x, sum);
                return false;
            }
        }
    }
    if (r.status != PTXEXEC_OK) {
        printf("%s %u: %s\n", what, k, r.message);
    }
    return r.status == PTXEXEC_OK;
}

static uint32_t try_places(void)
{
    uint32_t seen[3] = {0, 0, 0};
    uint32_t n_wraps = 0;
    for (uint32_t k = 0; k < N_SPREAD; k++) {
        bool is_a = k % 2 == 0;
        bool is_k_major[2];
        is_k_major[0] = below(2) == 0;
        is_k_major[1] = below(2) == 0;
        matrix other = packed(is_a ? N : M, is_k_major[is_a], START + SHARED - (is_a ? 512 : 2048));
        matrix x = {.n = is_a ? M : N, .is_k_major = is_k_major[!is_a]};
        draw_values(9);
        do {
            x.start = below(FIELD + 1) * 16;
            x.lbo = below(FIELD + 1) * 16;
            x.sbo = below(FIELD + 1) * 16;
            put_all(is_a ? &x : &other, is_a ? &other : &x);
        } while (!is_apart());
        seen[0] |= x.start / 16;
        seen[1] |= x.lbo / 16;
        seen[2] |= x.sbo / 16;
        n_wraps += x.start + x.lbo + x.sbo >= ADDRESSES ? 1 : 0;
        (void)snprintf(body, sizeof body, "%s%s%s%s", FILL ADDRESS PUT_A PUT_B READY DESCS MMA32,
                       orders[!is_k_major[0]][!is_k_major[1]], END, STORE32);
        run(4096, k, PTXEXEC_RACES_OFF);
        if (!is_sum_right("places", k)) {
            printf("%s: start 0x%x LBO 0x%x SBO 0x%x%s\n", is_a ? "A" : "B", x.start, x.lbo, x.sbo,
                   x.is_k_major ? "" : " trans");
            return 1;
        }
    }
    bool is_covered = seen[0] == FIELD && seen[1] == FIELD && seen[2] == FIELD && n_wraps > 5;
    if (!is_covered) {
        printf("places: the cases leave bits out: %x %x %x, %u wraps\n", seen[0], seen[1], seen[2],
               n_wraps);
    }
    return is_covered ? 0 : 1;
}

/* ---- poison ---------------------------------------------------------------------------------- */

/* Exactly the row, or the column, of the element is uninitialised; the rest is 16. */
static bool is_stain_right(const char *what, bool is_row, uint32_t line, bool is_half)
{
    uint32_t per = is_half ? 2 : 1;
    for (uint32_t t = 0; r.status == PTXEXEC_OK && t < 128; t++) {
        for (uint32_t j = 0; j < 8 / per; j++) {
            bool is_bad =
                is_row ? row_of(t, j * per) == line : col_of(t, j * per) / per == line / per;
            uint32_t x = 0;
            memcpy(&x, r.out + (size_t)(j * 128 + t) * 4, sizeof x);
            uint32_t want = is_half ? 0x4C004C00 : 0x41800000;
            if (r.is_poison[j * 128 + t] != is_bad || (!is_bad && x != want)) {
                printf("%s, %s %u: register %u of thread %u: %s, 0x%x\n", what,
                       is_row ? "row" : "column", line, j, t,
                       r.is_poison[j * 128 + t] ? "uninitialised" : "a value", x);
                return false;
            }
        }
    }
    if (r.status != PTXEXEC_OK) {
        printf("%s: %s\n", what, r.message);
    }
    return r.status == PTXEXEC_OK;
}

/* An element of A (is_b false) or of B in shared memory. */
static bool try_hole(bool is_b, bool is_k_major, bool is_half, uint64_t seed)
{
    matrix ma = packed(M, is_b || is_k_major, START);
    matrix mb = packed(N, !is_b || is_k_major, START + 4096);
    const matrix *x = is_b ? &mb : &ma;
    uint32_t line = below(x->n);
    uint32_t k = below(K);
    draw_values(0);
    put_all(&ma, &mb);
    in.hole =
        is_k_major ? piece_at(x, line, k / 8) + k % 8 * 2 : piece_at(x, k, line / 8) + line % 8 * 2;
    (void)snprintf(body, sizeof body, "%s%s%s%s%s", ADDRESS PUT_A PUT_B HOLE READY DESCS,
                   is_half ? MMA16 : MMA32, orders[!ma.is_k_major][!mb.is_k_major], END,
                   is_half ? STORE16 : STORE32);
    run(is_half ? 2048 : 4096, seed, PTXEXEC_RACES_OFF);
    return is_stain_right(is_b ? "poison of B" : "poison of A", !is_b, line, is_half);
}

/* A register of A. */
static bool try_register(bool is_half, uint64_t seed)
{
    matrix ma = packed(M, true, START);
    matrix mb = packed(N, true, START + 4096);
    uint32_t j = below(4);
    draw_values(0);
    put_all(&ma, &mb);
    for (uint32_t k = 0; k < 512; k++) {
        in.reg[k / 128][k % 128] = 0x3C003C00;
    }
    in.hole_thread = below(128);
    uint32_t row = in.hole_thread / 32 * 16 + in.hole_thread % 32 / 4 + (j % 2 != 0 ? 8 : 0);
    (void)snprintf(body, sizeof body, "%s%u, %%r99;\n%s%s%s%s", ADDRESS PUT_B REGS, 20 + j,
                   is_half ? READY DESCS MMA16 : READY DESCS MMA32, by_regs, END,
                   is_half ? STORE16 : STORE32);
    run(is_half ? 2048 : 4096, seed, PTXEXEC_RACES_OFF);
    return is_stain_right("poison of a register of A", true, row, is_half);
}

static uint32_t try_poison(void)
{
    for (uint32_t k = 0; k < N_HOLES; k++) {
        bool is_half = k % 2 != 0;
        if (!try_hole(false, k % 4 < 2, is_half, k) || !try_hole(true, k % 4 < 2, is_half, k) ||
            !try_register(is_half, k)) {
            return 1;
        }
    }
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* All of A is written before a barrier, but one piece of the rows of warp `owner`, which a lane of
 * warp `writer` writes behind it. */
static bool try_late(uint32_t owner, uint32_t writer, bool is_k_major, bool is_isa)
{
    matrix ma = packed(M, is_k_major, START);
    matrix mb = packed(N, true, START + 4096);
    uint32_t row = owner * 16 + below(16);
    uint32_t k = below(K);
    uint32_t piece = is_k_major ? row * 2 + k / 8 : k * 8 + row / 8;
    draw_values(0);
    put_all(&ma, &mb);
    /* The late piece is that of the thread that writes late: they change places. */
    in.hole_thread = writer * 32 + below(32);
    uint32_t at = in.at[piece];
    in.at[piece] = in.at[in.hole_thread];
    in.at[in.hole_thread] = at;
    (void)snprintf(body, sizeof body, "%s%s%s%s",
                   ADDRESS
                   "ld.global.b32 %r12, [%rd1+20];\nsetp.eq.u32 %p3, %r1, %r12;\n"
                   "@%p3 bra $A;\n" PUT("1024", "2048") "$A:\n" PUT_B READY
                       DESCS "@!%p3 bra $B;\n" PUT("1024", "2048") "fence.proxy.async;\n"
                                                                   "$B:\nbar.warp.sync -1;\n" MMA32,
                   orders[!is_k_major][0], END, STORE32);
    run(4096, row, is_isa ? PTXEXEC_RACES_ISA : PTXEXEC_RACES_PRACTICE);
    bool is_ok = r.status == PTXEXEC_OK && owner == writer;
    if (owner != writer && r.status == PTXEXEC_E_FAULT && r.fault.kind == PTXEXEC_F_RACE) {
        uint32_t first = r.fault.at.warp;
        uint32_t second = r.fault.other.warp;
        is_ok = (first == owner && second == writer) || (first == writer && second == owner);
    }
    if (!is_ok) {
        printf("row %u%s, written by warp %u: status %d, warps %u and %u: %s\n", row,
               is_k_major ? "" : " (trans)", writer, (int)r.status, r.fault.at.warp,
               r.fault.other.warp, r.message);
    }
    return is_ok;
}

static uint32_t try_rows(void)
{
    uint32_t n_bad = 0;
    for (uint32_t k = 0; k < 64; k++) {
        n_bad += try_late(k % 4, k / 4 % 4, (k & 16) == 0, (k & 32) == 0) ? 0 : 1;
    }
    return n_bad;
}

int main(void)
{
    uint32_t n_bad = 0;
    n_bad += try_places();
    n_bad += try_poison();
    n_bad += try_rows();
    printf("%u failed\n", n_bad);
    return n_bad == 0 ? 0 : 1;
}
