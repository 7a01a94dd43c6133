/* test_wmma.c: wmma.mma of every shape and type on fragments whose registers are all the same, so
 * that which lane holds which element does not matter: each element of D is c + k a b. Then
 * matrices that lie row by row or column by column, whole, and with an element that was never
 * written. (The matrices of nvcc's programs, tests/peer, have places too.) */
#include <criterion/criterion.h>
#include <stdio.h>

#include "harness.h"

typedef struct product {
    const char *shape, *types;  /* of D, A, B, C; of D and C where the factors are halves */
    char kind;                  /* of a register of C and D: 'r' 32 bits, 'd' double */
    uint8_t n_a, n_b, n_c, n_d; /* registers */
    uint64_t a, b, c, d;        /* what they hold */
} product;

static const product products[] = {
    {"m16n16k16", "f32.f32", 'r', 8, 8, 8, 8, 0x3C003C00, 0x40004000, 0x3F800000,
     0x42040000}, /* 1 + 16 * 1 * 2 */
    {"m8n32k16", "f16.f16", 'r', 8, 8, 4, 4, 0x3C003C00, 0x40004000, 0x3C003C00, 0x50205020},
    {"m32n8k16", "f32.f16", 'r', 8, 8, 4, 8, 0x3C003C00, 0xC000C000, 0x3C003C00,
     0xC1F80000}, /* 1 - 32 */
    {"m16n16k16", "f32.bf16.bf16.f32", 'r', 4, 4, 8, 8, 0x3F803F80, 0x40004000, 0x3F800000,
     0x42040000},
    {"m8n32k16", "f32.bf16.bf16.f32", 'r', 2, 8, 8, 8, 0x3F803F80, 0x40004000, 0x3F800000,
     0x42040000},
    {"m32n8k16", "f32.bf16.bf16.f32", 'r', 8, 2, 8, 8, 0x3F803F80, 0x40004000, 0x3F800000,
     0x42040000},
    {"m16n16k8", "f32.tf32.tf32.f32", 'r', 4, 4, 8, 8, 0x3F801FFF, 0x40001FFF, 0x3F800000,
     0x41880000}, /* 1 + 8 * 2 */
    {"m16n16k16", "s32.s8.s8.s32", 'r', 2, 2, 8, 8, 0xFFFFFFFF, 0x02020202, 5, (uint32_t)(5 - 32)},
    {"m8n32k16", "s32.u8.u8.s32", 'r', 1, 4, 8, 8, 0xFFFFFFFF, 0x02020202, 5, 5 + 16 * 510},
    {"m32n8k16", "s32.s8.s8.s32", 'r', 4, 1, 8, 8, 0x01010101, 0x01010101, 0x7FFFFFFF, 0x8000000F},
    {"m32n8k16", "s32.s8.s8.s32.satfinite", 'r', 4, 1, 8, 8, 0x01010101, 0x01010101, 0x7FFFFFFF,
     0x7FFFFFFF},
    {"m16n16k16", "s32.s8.s8.s32.satfinite", 'r', 2, 2, 8, 8, 0xFFFFFFFF, 0x01010101, 0x80000000,
     0x80000000},
    {"m8n8k4", "f64.f64.f64.f64.rn", 'd', 1, 1, 2, 2, 0x3FF0000000000000, 0x4000000000000000,
     0x3FF0000000000000, 0x4022000000000000}, /* 1 + 4 * 2 */
};

static size_t put_list(char *to, size_t room, char letter, uint32_t from, uint32_t n)
{
    size_t at = 0;
    for (uint32_t j = 0; j < n; j++) {
        at += (size_t)snprintf(to + at, room - at, "%s%%%s%u", j == 0 ? "{" : ", ",
                               letter == 'd' ? "rd" : "r", from + j);
    }
    return at + (size_t)snprintf(to + at, room - at, "}");
}

static void try_product(const product *p)
{
    static char text[8192];
    const char *reg = p->kind == 'd' ? "rd" : "r";
    uint32_t size = p->kind == 'd' ? 8 : 4;
    size_t n = (size_t)snprintf(text, sizeof text,
                                "%s.visible .entry k(.param .u64 out)\n{\n.reg .b32 %%r<40>;\n"
                                ".reg .b64 %%rd<40>;\nld.param.u64 %%rd39, [out];\n",
                                EXEC_HEAD("sm_80"));
    const uint64_t values[3] = {p->a, p->b, p->c};
    const uint32_t first[3] = {8, 16, 24};
    const uint32_t counts[3] = {p->n_a, p->n_b, p->n_c};
    for (uint32_t m = 0; m < 3; m++) {
        for (uint32_t j = 0; j < counts[m]; j++) {
            n += (size_t)snprintf(text + n, sizeof text - n, "mov.b%u %%%s%u, 0x%llX;\n", size * 8,
                                  reg, first[m] + j, (unsigned long long)values[m]);
        }
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "wmma.mma.sync.aligned.row.col.%s.%s ",
                          p->shape, p->types);
    n += put_list(text + n, sizeof text - n, p->kind, 0, p->n_d);
    for (uint32_t m = 0; m < 3; m++) {
        n += (size_t)snprintf(text + n, sizeof text - n, ", ");
        n += put_list(text + n, sizeof text - n, p->kind, first[m], counts[m]);
    }
    n += (size_t)snprintf(text + n, sizeof text - n,
                          ";\nmov.u32 %%r39, %%tid.x;\nmul.wide.u32 %%rd38, %%r39, %u;\n"
                          "add.u64 %%rd39, %%rd39, %%rd38;\n",
                          p->n_d * size);
    for (uint32_t j = 0; j < p->n_d; j++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "st.global.b%u [%%rd39+%u], %%%s%u;\n",
                              size * 8, j * size, reg, j);
    }
    (void)snprintf(text + n, sizeof text - n, "ret;\n}\n");
    exec_job job = {.ptx = text, .block = 32, .out_size = 32 * p->n_d * size};
    exec_job_run(&job);
    cr_assert_eq(job.status, PTXEXEC_OK, "%s.%s", p->shape, p->types);
    for (uint32_t e = 0; e < 32u * p->n_d; e++) {
        uint64_t got = 0;
        memcpy(&got, job.out + e * size, size);
        cr_assert_eq(got, p->d, "%s.%s: register %u is 0x%llx", p->shape, p->types, e,
                     (unsigned long long)got);
    }
    exec_job_end(&job);
}

Test(exec_wmma, products_of_every_type)
{
    for (size_t k = 0; k < sizeof products / sizeof products[0]; k++) {
        try_product(&products[k]);
    }
}

/* Words 0, 1, 2 ... of shared memory as a matrix of 16 x 16, 20 to a row or column, into one of 16
 * to a row or column. */
static void try_order(bool is_col_in, bool is_col_out)
{
    static char text[4096];
    (void)snprintf(text, sizeof text,
                   "%s.visible .entry k(.param .u64 out)\n{\n.reg .b32 %%r<16>;\n.reg .b64 "
                   "%%rd<4>;\n.reg .pred %%p<2>;\n.shared .align 16 .b8 sm[1280];\n"
                   "ld.param.u64 %%rd1, [out];\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, sm;\n"
                   "mad.lo.u32 %%r2, %%r1, 4, %%r2;\n$L:\nst.shared.b32 [%%r2], %%r1;\n"
                   "add.u32 %%r2, %%r2, 128;\nadd.u32 %%r1, %%r1, 32;\n"
                   "setp.lt.u32 %%p1, %%r1, 320;\n@%%p1 bra $L;\nbar.sync 0;\nmov.u32 %%r2, sm;\n"
                   "wmma.load.c.sync.aligned.%s.m16n16k16.shared.s32 "
                   "{%%r3,%%r4,%%r5,%%r6,%%r7,%%r8,%%r9,%%r10}, [%%r2], 20;\n"
                   "wmma.store.d.sync.aligned.%s.m16n16k16.global.s32 [%%rd1], "
                   "{%%r3,%%r4,%%r5,%%r6,%%r7,%%r8,%%r9,%%r10};\nret;\n}\n",
                   EXEC_HEAD("sm_80"), is_col_in ? "col" : "row", is_col_out ? "col" : "row");
    exec_job job = {.ptx = text, .block = 32, .out_size = 1024};
    exec_job_run(&job);
    cr_assert_eq(job.status, PTXEXEC_OK);
    for (uint32_t row = 0; row < 16; row++) {
        for (uint32_t col = 0; col < 16; col++) {
            uint32_t got = 0;
            uint32_t want = is_col_in ? col * 20 + row : row * 20 + col;
            memcpy(&got, job.out + 4 * (is_col_out ? col * 16 + row : row * 16 + col), 4);
            cr_assert_eq(got, want, "%d %d: row %u, column %u: %u, expected %u", is_col_in,
                         is_col_out, row, col, got, want);
        }
    }
    exec_job_end(&job);
}

Test(exec_wmma, matrices_by_rows_and_columns)
{
    for (uint32_t k = 0; k < 4; k++) {
        try_order((k & 1) != 0, (k & 2) != 0);
    }
}

/* Element (2, 5) of A, or of B, was never written: a row of the result is uninitialised, or two
 * columns, since a register holds two elements. */
static void try_hole(const char *which, uint32_t hole, uint64_t n_words)
{
    static char text[8192];
    (void)snprintf(
        text, sizeof text,
        "%s.visible .entry k(.param .u64 out)\n{\n.reg .b16 %%h1;\n.reg .b32 %%r<48>;\n.reg .b64 "
        "%%rd<4>;\n.reg .pred %%p<4>;\n.shared .align 16 .b8 sm[1024];\nld.param.u64 %%rd1, "
        "[out];\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, sm;\nmad.lo.u32 %%r3, %%r1, 2, %%r2;\n"
        "mov.b16 %%h1, 0x3F80;\n$L:\nsetp.ne.u32 %%p2, %%r1, %u;\n@%%p2 st.shared.b16 [%%r3], "
        "%%h1;\nadd.u32 %%r3, %%r3, 64;\nadd.u32 %%r1, %%r1, 32;\nsetp.lt.u32 %%p1, %%r1, 512;\n"
        "@%%p1 bra $L;\nbar.sync 0;\nmov.b32 %%r5, 0;\n"
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%%r10,%%r11,%%r12,%%r13}, [%%r2];\n"
        "wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%%r14,%%r15,%%r16,%%r17}, "
        "[%%r2+512];\n"
        "wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 "
        "{%%r20,%%r21,%%r22,%%r23,%%r24,%%r25,%%r26,%%r27}, {%%r10,%%r11,%%r12,%%r13}, "
        "{%%r14,%%r15,%%r16,%%r17}, {%%r5,%%r5,%%r5,%%r5,%%r5,%%r5,%%r5,%%r5};\n"
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%%rd1], "
        "{%%r20,%%r21,%%r22,%%r23,%%r24,%%r25,%%r26,%%r27};\nret;\n}\n",
        EXEC_HEAD("sm_80"), hole);
    exec_job job = {.ptx = text, .block = 32, .out_size = 1024};
    exec_job_run(&job);
    cr_assert_eq(job.status, PTXEXEC_OK, "%s", which);
    cr_expect_eq(job.n_poison, 4 * n_words, "%s: %llu bytes", which,
                 (unsigned long long)job.n_poison);
    exec_job_end(&job);
}

Test(exec_wmma, what_was_never_written)
{
    try_hole("nothing", 512, 0);
    try_hole("A", 2 * 16 + 5, 16);
    try_hole("B", 256 + 2 * 16 + 5, 32);
}
