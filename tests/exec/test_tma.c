/* test_tma.c: boxes of tensors of rank 1 to 5 and plain bulk copies, loads, stores and reductions,
 * against loops over coordinates written here. Odd extents, boxes that stick out on every side or
 * lie outside, all swizzles, element strides, fills; several seeds, with races looked for.
 *
 * Where an element lies in shared memory is said by rows and 16-byte units, as the ISA's tables
 * do: with 128 bytes to a row unit c of row r stands at c ^ (r & 7), with 64 at c ^ (r >> 1 & 3),
 * with 32 at c ^ (r >> 2 & 1). Rows are counted from a multiple of 1024; the kernel's box begins at
 * some multiple of 128 behind one, since a swizzle goes by addresses. A box whose bytes end within
 * a row takes all of that row, as wide as the swizzle is (`spans`). */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/draw.h"
#include "tools/exec/ptxexec.h"

enum { MAX_BYTES = 16384, ARRAY = 1 << 16, N_CASES = 150, N_THREADS = 64 };

typedef struct tma_case {
    uint32_t rank, type, size, swizzle, fill;
    uint64_t dims[5], strides[5]; /* strides in bytes; [0] unused */
    uint32_t box[5], step[5], count[5];
    int32_t at[5];
    uint32_t n_bytes, n_area; /* of the box; with the rest of its last row */
    uint32_t base;            /* bytes behind the multiple of 1024 */
    uint32_t hole;            /* a word of the array, or of the box of a store, that nobody wrote */
    uint64_t seed;
} tma_case;

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    return draw_below(&state, n);
}

static uint8_t array[ARRAY], expected[ARRAY], got[ARRAY], box[MAX_BYTES];
static bool is_in_box[MAX_BYTES];
static bool is_bad[ARRAY / 4];   /* words of the box, or of the array, that must be uninitialised */
static bool is_found[ARRAY / 4]; /* words that are */
static char message[512];
static const uint32_t spans[] = {16, 32, 64,
                                 128}; /* by swizzle; without one: no more than a unit */

/* ---- what must come out ---------------------------------------------------------------------- */

/* Byte offset in the box's memory of byte `k` of its row `r`. */
static uint32_t place(const tma_case *c, uint32_t r, uint32_t k)
{
    uint32_t row = c->count[0] * c->size;
    uint32_t linear = c->base + r * row + k;
    uint32_t span = spans[c->swizzle]; /* rows may be shorter: a line has several */
    uint32_t line = linear / span;
    uint32_t unit = linear % span / 16;
    uint32_t flip = c->swizzle == 0   ? 0
                    : c->swizzle == 1 ? line >> 2 & 1u
                    : c->swizzle == 2 ? line >> 1 & 3u
                                      : line & 7u;
    return line * span + (unit ^ flip) * 16 + linear % 16 - c->base;
}

/* Address in the array of an element of the box, or -1 outside of the tensor. */
static int64_t element(const tma_case *c, const uint32_t i[5])
{
    int64_t at = 0;
    for (uint32_t d = 0; d < c->rank; d++) {
        int64_t x = c->at[d] + (int64_t)i[d] * (d == 0 ? 1 : c->step[d]);
        if (x < 0 || x >= (int64_t)c->dims[d]) {
            return -1;
        }
        at += x * (int64_t)(d == 0 ? c->size : c->strides[d]);
    }
    return at;
}

typedef void (*visitor)(const tma_case *c, int64_t at, uint32_t in_box);

static void each_element(const tma_case *c, visitor visit)
{
    uint32_t i[5];
    uint32_t r = 0;
    for (i[4] = 0; i[4] < c->count[4]; i[4]++) {
        for (i[3] = 0; i[3] < c->count[3]; i[3]++) {
            for (i[2] = 0; i[2] < c->count[2]; i[2]++) {
                for (i[1] = 0; i[1] < c->count[1]; i[1]++, r++) {
                    for (i[0] = 0; i[0] < c->count[0]; i[0]++) {
                        visit(c, element(c, i), place(c, r, i[0] * c->size));
                    }
                }
            }
        }
    }
}

static void load_one(const tma_case *c, int64_t at, uint32_t in_box)
{
    static const uint8_t nan32[] = {0, 0, 0xC0, 0x7F};
    static const uint8_t nan64[] = {0, 0, 0, 0, 0, 0, 0xF8, 0x7F};
    static const uint8_t nan16[] = {0, 0x7E};
    const uint8_t *nan = c->size == 8 ? nan64 : c->size == 4 ? nan32 : nan16;
    memset(is_in_box + in_box, 1, c->size);
    for (uint32_t k = 0; at >= 0 && k < c->size; k++) {
        is_bad[(in_box + k) / 4] |= (at + k) / 4 == c->hole;
    }
    if (at >= 0) {
        memcpy(box + in_box, array + at, c->size);
    } else if (c->fill != 0) {
        memcpy(box + in_box, nan, c->size);
    } else {
        memset(box + in_box, 0, c->size);
    }
}

/* The kernel puts k * 7 + 3 into word k of the box. */
static void own_bytes(uint32_t in_box, uint32_t size, uint64_t *out)
{
    uint8_t bytes[8];
    for (uint32_t k = 0; k < size; k++) {
        bytes[k] = (uint8_t)(((in_box + k) / 4 * 7 + 3) >> 8 * ((in_box + k) % 4));
    }
    *out = 0;
    memcpy(out, bytes, size);
}

/* What a store brings along from the word of the box that nobody wrote. */
static void stain(const tma_case *c, int64_t at, uint32_t in_box)
{
    for (uint32_t k = 0; at >= 0 && k < c->size; k++) {
        is_bad[(at + k) / 4] |= (in_box + k) / 4 == c->hole;
    }
}

static void store_one(const tma_case *c, int64_t at, uint32_t in_box)
{
    stain(c, at, in_box);
    uint64_t x;
    own_bytes(in_box, c->size, &x);
    if (at >= 0) {
        memcpy(expected + at, &x, c->size);
    }
}

static void xor_one(const tma_case *c, int64_t at, uint32_t in_box)
{
    stain(c, at, in_box);
    uint64_t x;
    uint64_t y = 0;
    own_bytes(in_box, c->size, &x);
    if (at >= 0) {
        memcpy(&y, expected + at, c->size);
        y ^= x;
        memcpy(expected + at, &y, c->size);
    }
}

static void add_one(const tma_case *c, int64_t at, uint32_t in_box)
{
    stain(c, at, in_box);
    uint64_t x;
    uint32_t y;
    own_bytes(in_box, 4, &x);
    if (at >= 0) {
        memcpy(&y, expected + at, 4);
        y += (uint32_t)x;
        memcpy(expected + at, &y, c->size);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct params {
    unsigned char map[128];
    uint64_t out;
    int32_t at[5];
    uint32_t n_bytes, n_area, hole;
} params;

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 1024 .b8 sm[];\n.shared .align 8 .b64 bar;\n"
    ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 c0, "
    ".param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4, .param .u32 n, "
    ".param .u32 area, .param .u32 hole)\n{\n"
    ".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n"
    "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u64 %rd2, [out];\n"
    "ld.param.u32 %r10, [c0];\nld.param.u32 %r11, [c1];\nld.param.u32 %r12, [c2];\n"
    "ld.param.u32 %r13, [c3];\nld.param.u32 %r14, [c4];\nld.param.u32 %r2, [n];\n"
    "ld.param.u32 %r7, [area];\nld.param.u32 %r8, [hole];\n"
    "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\nmov.u32 %r3, sm;\nshl.b32 %r4, %r1, 2;\n";
static const char load[] =
    "add.u32 %%r3, %%r3, %u;\n@%%p1 bra $W;\nmbarrier.init.shared.b64 [bar], "
    "1;\nfence.mbarrier_init.release.cluster;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %%r2;\n"
    "cp.async.bulk.tensor.%ud.shared::cluster.global.mbarrier::complete_tx::bytes [%%r3], [%%rd1, "
    "{%s}], [bar];\n"
    "$W:\nbar.sync 0;\n$V:\nmbarrier.try_wait.parity.shared.b64 %%p2, [bar], 0;\n@!%%p2 bra $V;\n"
    "$L:\nsetp.ge.u32 %%p3, %%r4, %%r7;\n@%%p3 bra $E;\nadd.u32 %%r5, %%r3, %%r4;\n"
    "ld.shared.b32 %%r6, [%%r5];\ncvt.u64.u32 %%rd3, %%r4;\nadd.u64 %%rd3, %%rd3, %%rd2;\n"
    "st.global.b32 [%%rd3], %%r6;\nadd.u32 %%r4, %%r4, 256;\nbra $L;\n$E:\nret;\n}\n";
static const char store[] =
    "add.u32 %%r3, %%r3, %u;\n$L:\nsetp.ge.u32 %%p3, %%r4, %%r7;\n@%%p3 bra $F;\nadd.u32 %%r5, "
    "%%r3, %%r4;\n"
    "shr.u32 %%r6, %%r4, 2;\nsetp.ne.u32 %%p4, %%r6, %%r8;\n"
    "mad.lo.u32 %%r6, %%r6, 7, 3;\n@%%p4 st.shared.b32 [%%r5], %%r6;\n"
    "add.u32 %%r4, %%r4, 256;\nbra $L;\n$F:\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
    "@%%p1 ret;\n%s [%%rd1, {%s}], [%%r3];\ncp.async.bulk.commit_group;\n"
    "cp.async.bulk.wait_group.read 0;\nret;\n}\n";

/* All but a word. */
static bool write_array(ptxexec_device *d, uint64_t at, uint64_t n_bytes, uint32_t hole)
{
    uint64_t left = (uint64_t)hole * 4 < n_bytes ? (uint64_t)hole * 4 : n_bytes;
    uint64_t right = left + 4 < n_bytes ? left + 4 : n_bytes;
    return ptxexec_device_write(d, at, array, left) == PTXEXEC_OK &&
           ptxexec_device_write(d, at + right, array + right, n_bytes - right) == PTXEXEC_OK;
}

static bool find_poison(const ptxexec_device *d, uint64_t at, uint64_t n_bytes)
{
    for (uint64_t k = 0; k + 4 <= n_bytes; k += 4) {
        uint64_t n = 0;
        uint32_t word;
        if (ptxexec_device_read(d, at + k, &word, 4, &n, NULL) != PTXEXEC_OK) {
            return false;
        }
        is_found[k / 4] = n != 0;
    }
    return true;
}

/* Runs the kernel in `text` on the array, and keeps the array, or what the kernel wrote. */
static bool launch(const tma_case *c, const char *text, uint64_t array_bytes, bool is_load,
                   ptxexec_races races, ptxexec_fault_kind *out_kind)
{
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    uint64_t at = 0;
    params p = {.n_bytes = c->n_bytes, .n_area = c->n_area, .hole = c->hole};
    memcpy(p.at, c->at, sizeof p.at);
    if (ptxexec_module_load(NULL, text, strlen(text), &m) != PTXEXEC_OK) {
        printf("%s\n%s\n", ptxexec_module_diag(m, 0).message, text);
        return false;
    }
    bool is_ok =
        ptxexec_device_create(NULL, &d) == PTXEXEC_OK &&
        ptxexec_device_alloc(d, array_bytes, PTXEXEC_FILL_POISON, "a", &at) == PTXEXEC_OK &&
        write_array(d, at, array_bytes, is_load ? c->hole : UINT32_MAX) &&
        ptxexec_device_alloc(d, MAX_BYTES, PTXEXEC_FILL_POISON, "out", &p.out) == PTXEXEC_OK;
    ptxexec_tensormap t = {.struct_size = sizeof t,
                           .type = c->type,
                           .rank = c->rank,
                           .swizzle = c->swizzle,
                           .oob_fill = c->fill,
                           .address = at};
    for (uint32_t k = 0; k < 5; k++) {
        t.dims[k] = c->dims[k];
        t.box[k] = c->box[k];
        t.elem_strides[k] = c->step[k];
        if (k > 0) {
            t.strides[k - 1] = c->strides[k];
        }
    }
    if (c->rank == 0) { /* no map: the address itself, and where in the array */
        at += (uint64_t)c->at[2];
        p.at[0] = (int32_t)(uint32_t)at;
        p.at[1] = (int32_t)(uint32_t)(at >> 32);
        at -= (uint64_t)c->at[2];
    } else {
        is_ok = is_ok && ptxexec_tensormap_encode(&t, p.map) == PTXEXEC_OK;
    }
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {1, 1, 1},
                                .block = {N_THREADS, 1, 1},
                                .dynamic_shared = c->base + c->n_area, /* nothing behind the box */
                                .params = &p,
                                .params_size = offsetof(params, hole) + sizeof p.hole,
                                .seed = c->seed,
                                .max_steps = 1000000,
                                .races = races};
    is_ok = is_ok && ptxexec_launch(d, m, &o, &r) == PTXEXEC_OK;
    *out_kind = PTXEXEC_F_NONE;
    if (r != NULL && ptxexec_report_fault_count(r) > 0) {
        ptxexec_fault f = ptxexec_report_fault(r, 0);
        *out_kind = f.kind;
        (void)snprintf(message, sizeof message, "line %u: %s", f.at.line, f.message);
    }
    is_ok = is_ok && find_poison(d, is_load ? p.out : at, is_load ? c->n_area : array_bytes) &&
            (is_load ? ptxexec_device_read(d, p.out, got, c->n_area, NULL, NULL) == PTXEXEC_OK
                     : ptxexec_device_read(d, at, got, array_bytes, NULL, NULL) == PTXEXEC_OK);
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    return is_ok;
}

static bool run(const tma_case *c, const char *body, uint64_t array_bytes)
{
    static const char *const lists[] = {"%r10", "%r10, %r11", "%r10, %r11, %r12",
                                        "%r10, %r11, %r12, %r13", "%r10, %r11, %r12, %r13, %r14"};
    static char text[8192];
    size_t n = strlen(head);
    memcpy(text, head, n + 1);
    if (body == load) {
        (void)snprintf(text + n, sizeof text - n, load, c->base, c->rank, lists[c->rank - 1]);
    } else {
        (void)snprintf(text + n, sizeof text - n, store, c->base, body, lists[c->rank - 1]);
    }
    ptxexec_fault_kind kind = PTXEXEC_F_NONE;
    ptxexec_races races = c->seed % 2 == 0 ? PTXEXEC_RACES_ISA : PTXEXEC_RACES_OFF;
    bool is_ok = launch(c, text, array_bytes, body == load, races, &kind);
    if (kind != PTXEXEC_F_NONE) {
        printf("%s\n", message);
    }
    return is_ok;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static uint64_t draw_case(tma_case *c, uint32_t k)
{
    static const uint32_t types[] = {PTXEXEC_TM_F16, PTXEXEC_TM_F32, PTXEXEC_TM_U8,
                                     PTXEXEC_TM_F64, PTXEXEC_TM_U32, PTXEXEC_TM_S64};
    static const uint32_t sizes[] = {2, 4, 1, 8, 4, 8};
    uint32_t kind = below(6);
    uint64_t bytes = 0;
    *c = (tma_case){.rank = 1 + k % 5, .type = types[kind], .size = sizes[kind], .seed = k};
    c->swizzle = c->rank == 1 ? 0 : below(4);
    c->fill = kind == 0 || kind == 1 || kind == 3 ? below(2) : 0;
    do {
        c->n_bytes = c->size;
        bytes = c->size;
        for (uint32_t d = 0; d < 5; d++) {
            bool is_there = d < c->rank;
            c->dims[d] = !is_there ? 1 : d == 0 ? 1 + below(90) : 1 + below(9);
            c->box[d] = !is_there ? 1
                        : d == 0  ? 16 / c->size *
                                       (1 + below((c->swizzle == 0 ? 256 : spans[c->swizzle]) / 16))
                                 : 1 + below(d == 1 ? 20 : 4);
            c->step[d] = is_there && d > 0 && below(4) == 0 ? 1 + below(3) : 1;
            c->count[d] = (c->box[d] + c->step[d] - 1) / c->step[d];
            c->at[d] = !is_there ? 0 : (int32_t)below((uint32_t)c->dims[d] + 8) - 4;
            if (below(30) == 0) {
                c->at[d] = is_there ? (int32_t)c->dims[d] + 5 : 0; /* wholly outside */
            }
            c->strides[d] = (bytes + 15) / 16 * 16 + (below(3) == 0 ? 16 : 0);
            bytes = d == 0 ? bytes * c->dims[0] : c->strides[d] * c->dims[d];
            c->n_bytes *= c->count[d];
        }
        c->n_area = (c->n_bytes + spans[c->swizzle] - 1) / spans[c->swizzle] * spans[c->swizzle];
    } while (c->n_area > MAX_BYTES || bytes > ARRAY || c->box[0] > 256);
    c->base = below(8) * 128;
    return bytes;
}

static bool report(const tma_case *c, const char *what, uint32_t at)
{
    printf("%s, seed %llu, byte %u: base %u, rank %u, size %u, swizzle %u, fill %u;", what,
           (unsigned long long)c->seed, at, c->base, c->rank, c->size, c->swizzle, c->fill);
    for (uint32_t d = 0; d < c->rank; d++) {
        printf(" [dim %llu stride %llu box %u step %u at %d]", (unsigned long long)c->dims[d],
               (unsigned long long)c->strides[d], c->box[d], c->step[d], c->at[d]);
    }
    printf("\n");
    return false;
}

static bool compare(const tma_case *c, const char *what, const uint8_t *want, uint64_t n,
                    const bool *is_wanted)
{
    for (uint32_t k = 0; k < n; k++) {
        bool is_known = is_wanted == NULL || is_wanted[k];
        if (is_known && k / 4 * 4 + 4 <= n && is_found[k / 4] != is_bad[k / 4]) {
            printf("a word is %suninitialised: ", is_bad[k / 4] ? "not " : "");
            return report(c, what, k);
        }
        if (got[k] != want[k] && is_known && !is_bad[k / 4]) {
            return report(c, what, k);
        }
    }
    return true;
}

static bool try_store(const tma_case *c, const char *name, const char *fold, visitor visit,
                      uint64_t bytes)
{
    static char opcode[128];
    (void)snprintf(opcode, sizeof opcode,
                   "cp%s.async.bulk.tensor.%ud.global.shared::cta%s.bulk_group",
                   fold[0] != 0 ? ".reduce" : "", c->rank, fold);
    memcpy(expected, array, bytes);
    memset(is_bad, 0, sizeof is_bad);
    each_element(c, visit);
    return (run(c, opcode, bytes) || report(c, name, 0)) && compare(c, name, expected, bytes, NULL);
}

static bool try_case(uint32_t k)
{
    tma_case c;
    uint64_t bytes = draw_case(&c, k);
    for (uint64_t j = 0; j < bytes; j++) {
        array[j] = (uint8_t)below(256);
    }
    memset(box, 0, sizeof box);
    memset(is_in_box, 0, sizeof is_in_box);
    memset(is_bad, 0, sizeof is_bad);
    c.hole = below((uint32_t)bytes / 4);
    each_element(&c, load_one);
    bool is_ok = (run(&c, load, bytes) || report(&c, "load", 0)) &&
                 compare(&c, "load", box, c.n_area, is_in_box);
    c.hole = below(c.n_area / 4);
    is_ok = is_ok && try_store(&c, "store", "", store_one, bytes);
    if (is_ok && (c.type == PTXEXEC_TM_U32 || c.type == PTXEXEC_TM_S64)) {
        is_ok = try_store(&c, "xor", ".xor.tile", xor_one, bytes);
    }
    if (is_ok && c.type == PTXEXEC_TM_U32) {
        is_ok = try_store(&c, "add", ".add.tile", add_one, bytes);
    }
    return is_ok;
}

/* ---- copies without a map -------------------------------------------------------------------- */

static const char plain_load[] =
    "add.u32 %%r3, %%r3, %u;\nmov.b64 %%rd4, {%%r10, %%r11};\n@%%p1 bra $W;\n"
    "mbarrier.init.shared.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %%r2;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%r3], [%%rd4], %%r2, "
    "[bar];\n"
    "$W:\nbar.sync 0;\n$V:\nmbarrier.try_wait.parity.shared.b64 %%p2, [bar], 0;\n@!%%p2 bra $V;\n"
    "$L:\nsetp.ge.u32 %%p3, %%r4, %%r2;\n@%%p3 bra $E;\nadd.u32 %%r5, %%r3, %%r4;\n"
    "ld.shared.b32 %%r6, [%%r5];\ncvt.u64.u32 %%rd3, %%r4;\nadd.u64 %%rd3, %%rd3, %%rd2;\n"
    "st.global.b32 [%%rd3], %%r6;\nadd.u32 %%r4, %%r4, 256;\nbra $L;\n$E:\nret;\n}\n";
static const char plain_store[] =
    "add.u32 %%r3, %%r3, %u;\nmov.b64 %%rd4, {%%r10, %%r11};\n$L:\nsetp.ge.u32 %%p3, %%r4, %%r2;\n"
    "@%%p3 bra $F;\nadd.u32 %%r5, %%r3, %%r4;\nshr.u32 %%r6, %%r4, 2;\n"
    "setp.ne.u32 %%p4, %%r6, %%r8;\nmad.lo.u32 %%r6, %%r6, 7, 3;\n@%%p4 st.shared.b32 [%%r5], "
    "%%r6;\n"
    "add.u32 %%r4, %%r4, 256;\nbra $L;\n$F:\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
    "@%%p1 ret;\ncp.async.bulk.global.shared::cta.bulk_group [%%rd4], [%%r3], %%r2;\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n";

/* Sizes that are no whole lines, anywhere at multiples of 16; what lies around stays as it is. */
static bool try_plain(uint32_t k)
{
    static char text[8192];
    enum { BYTES = 4096 };
    tma_case c = {.size = 4, .base = below(8) * 16, .seed = k};
    c.n_bytes = c.n_area = 16 * (1 + below(k % 3 == 0 ? 200 : 20));
    c.at[2] = (int32_t)(16 * below((BYTES - c.n_bytes) / 16 + 1));
    size_t n = strlen(head);
    memcpy(text, head, n + 1);
    for (uint32_t j = 0; j < BYTES; j++) {
        array[j] = (uint8_t)below(256);
    }
    ptxexec_fault_kind kind = PTXEXEC_F_NONE;
    ptxexec_races races = k % 2 == 0 ? PTXEXEC_RACES_ISA : PTXEXEC_RACES_OFF;
    memset(is_bad, 0, sizeof is_bad);
    c.hole = (uint32_t)c.at[2] / 4 + below(c.n_bytes / 4);
    is_bad[c.hole - (uint32_t)c.at[2] / 4] = true;
    (void)snprintf(text + n, sizeof text - n, plain_load, c.base);
    if (!launch(&c, text, BYTES, true, races, &kind) ||
        !compare(&c, "plain load", array + c.at[2], c.n_bytes, NULL)) {
        return report(&c, message, 0);
    }
    memset(is_bad, 0, sizeof is_bad);
    c.hole = below(c.n_bytes / 4);
    memcpy(expected, array, BYTES);
    for (uint32_t j = 0; j < c.n_bytes; j += 4) {
        store_one(&c, c.at[2] + (int64_t)j, j);
    }
    (void)snprintf(text + n, sizeof text - n, plain_store, c.base);
    return (launch(&c, text, BYTES, false, races, &kind) || report(&c, message, 0)) &&
           compare(&c, "plain store", expected, BYTES, NULL);
}

/* ---- what a box takes of its last row -------------------------------------------------------- */

/* While a box of `rows` rows of `width` bytes is under way, another warp writes byte `at`, which
 * nothing orders: a race where the box takes that byte. Without that write: shared memory that ends
 * `end` bytes behind the box's begin. */
typedef struct span_row {
    uint32_t swizzle, width, rows, at, end;
    ptxexec_fault_kind kind;
} span_row;

enum { NOWHERE = 4096 };
static const span_row span_rows[] = {
    {0, 16, 3, 47, 1024, PTXEXEC_F_RACE},     {0, 16, 3, 48, 1024, PTXEXEC_F_NONE},
    {1, 16, 3, 32, 1024, PTXEXEC_F_RACE},     {1, 16, 3, 63, 1024, PTXEXEC_F_RACE},
    {1, 16, 3, 64, 1024, PTXEXEC_F_NONE},     {1, 32, 3, 95, 1024, PTXEXEC_F_RACE},
    {1, 32, 3, 96, 1024, PTXEXEC_F_NONE},     {2, 16, 3, 48, 1024, PTXEXEC_F_RACE},
    {2, 16, 3, 63, 1024, PTXEXEC_F_RACE},     {2, 16, 3, 64, 1024, PTXEXEC_F_NONE},
    {2, 32, 3, 127, 1024, PTXEXEC_F_RACE},    {2, 32, 3, 128, 1024, PTXEXEC_F_NONE},
    {3, 16, 3, 127, 1024, PTXEXEC_F_RACE},    {3, 16, 3, 128, 1024, PTXEXEC_F_NONE},
    {3, 64, 3, 255, 1024, PTXEXEC_F_RACE},    {3, 64, 3, 256, 1024, PTXEXEC_F_NONE},
    {0, 16, 3, NOWHERE, 48, PTXEXEC_F_NONE},  {0, 16, 3, NOWHERE, 32, PTXEXEC_F_OUT_OF_BOUNDS},
    {1, 16, 3, NOWHERE, 64, PTXEXEC_F_NONE},  {1, 16, 3, NOWHERE, 48, PTXEXEC_F_OUT_OF_BOUNDS},
    {2, 32, 3, NOWHERE, 128, PTXEXEC_F_NONE}, {2, 32, 3, NOWHERE, 96, PTXEXEC_F_OUT_OF_BOUNDS},
    {3, 16, 1, NOWHERE, 128, PTXEXEC_F_NONE}, {3, 16, 1, NOWHERE, 112, PTXEXEC_F_OUT_OF_BOUNDS},
};
enum { N_SPANS = sizeof span_rows / sizeof span_rows[0] };

static const char beside[] =
    "setp.ne.u32 %%p2, %%r1, 32;\nsetp.eq.u32 %%p3, %%r7, 1024;\n@%%p2 bra $N;\n"
    "@%%p3 st.shared.u8 [%%r3+%u], %%r1;\n$N:\n"
    "@%%p1 ret;\nmbarrier.init.shared.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %%r2;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%%r3], [%%rd1, "
    "{0, 0}], [bar];\n"
    "$V:\nmbarrier.try_wait.parity.shared.b64 %%p2, [bar], 0;\n@!%%p2 bra $V;\nret;\n}\n";

static bool try_span(uint32_t k)
{
    static char text[8192];
    const span_row *s = &span_rows[k];
    tma_case c = {.rank = 2,
                  .type = PTXEXEC_TM_U8,
                  .size = 1,
                  .swizzle = s->swizzle,
                  .dims = {256, 16, 1, 1, 1},
                  .strides = {0, 256, 4096, 4096, 4096},
                  .box = {s->width, s->rows, 1, 1, 1},
                  .step = {1, 1, 1, 1, 1},
                  .n_bytes = s->width * s->rows,
                  .n_area = s->end,
                  .hole = UINT32_MAX};
    size_t n = strlen(head);
    memcpy(text, head, n + 1);
    (void)snprintf(text + n, sizeof text - n, beside, s->at);
    for (c.seed = 0; c.seed < 8; c.seed++) {
        ptxexec_fault_kind kind = PTXEXEC_F_NONE;
        bool is_ok = launch(&c, text, 4096, true, PTXEXEC_RACES_PRACTICE, &kind);
        if (kind != s->kind || is_ok != (s->kind == PTXEXEC_F_NONE)) {
            printf("span row %u, seed %u: kind %d, expected %d: %s\n", k, (uint32_t)c.seed,
                   (int)kind, (int)s->kind, kind != PTXEXEC_F_NONE ? message : "");
            return false;
        }
    }
    return true;
}

/* ---- maps made on the device ----------------------------------------------------------------- */

static const char replace[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 sm[128];\n"
    ".visible .entry k(.param .u64 out, .param .u64 array)\n{\n"
    ".reg .b32 %%r<8>;\n.reg .b64 %%rd<8>;\n.reg .pred %%p<2>;\n"
    "ld.param.u64 %%rd1, [out];\nld.param.u64 %%rd2, [array];\nmov.u32 %%r1, %%tid.x;\n"
    "mov.u32 %%r2, sm;\nmad.lo.u32 %%r3, %%r1, 4, %%r2;\nst.shared.b32 [%%r3], 0;\nbar.warp.sync "
    "-1;\nsetp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra $E;\n%s$E:\nbar.warp.sync -1;\n"
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
    "[%%rd1], [%%r2], 128;\nfence.proxy.tensormap::generic.acquire.gpu [%%rd1], 128;\nret;\n}\n";

static const uint32_t elem_codes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12};

static size_t put_replaces(const tma_case *c, char *to, size_t size)
{
    static const char set[] = "tensormap.replace.tile.%s.shared::cta.b1024.b32 [%%r2], %s%u;\n";
    char at[8];
    size_t n = 0;
    n += (size_t)snprintf(to + n, size - n,
                          "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%%r2], "
                          "%%rd2;\n");
    n += (size_t)snprintf(to + n, size - n, set, "rank", "", c->rank - 1);
    n += (size_t)snprintf(to + n, size - n, set, "elemtype", "", elem_codes[c->type]);
    n += (size_t)snprintf(to + n, size - n, set, "swizzle_mode", "", c->swizzle);
    n += (size_t)snprintf(to + n, size - n, set, "interleave_layout", "", 0);
    n += (size_t)snprintf(to + n, size - n, set, "fill_mode", "", c->fill);
    for (uint32_t d = 0; d < c->rank; d++) {
        (void)snprintf(at, sizeof at, "%u, ", d);
        n += (size_t)snprintf(to + n, size - n, set, "box_dim", at, c->box[d]);
        n += (size_t)snprintf(to + n, size - n, set, "global_dim", at, (uint32_t)c->dims[d]);
        n += (size_t)snprintf(to + n, size - n, set, "element_stride", at, c->step[d]);
        if (d > 0) {
            n += (size_t)snprintf(to + n, size - n,
                                  "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 "
                                  "[%%r2], %u, %llu;\n",
                                  d - 1, (unsigned long long)c->strides[d]);
        }
    }
    return n;
}

/* The bytes are those that the encoder makes. */
static bool try_replace(uint32_t k)
{
    static char text[8192], middle[6144];
    tma_case c;
    (void)draw_case(&c, k);
    c.strides[c.rank - 1] += k % 7 == 3 && c.rank > 1 ? UINT64_C(1) << 37 : 0;
    (void)put_replaces(&c, middle, sizeof middle);
    (void)snprintf(text, sizeof text, replace, middle);
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    uint64_t at[2] = {0, UINT64_C(0x123456789AB0)};
    unsigned char want[128], have[128];
    ptxexec_tensormap t = {.struct_size = sizeof t,
                           .type = c.type,
                           .rank = c.rank,
                           .swizzle = c.swizzle,
                           .oob_fill = c.fill,
                           .address = at[1]};
    for (uint32_t j = 0; j < c.rank; j++) {
        t.dims[j] = c.dims[j];
        t.box[j] = c.box[j];
        t.elem_strides[j] = c.step[j];
        if (j > 0) {
            t.strides[j - 1] = c.strides[j];
        }
    }
    bool is_ok = ptxexec_tensormap_encode(&t, want) == PTXEXEC_OK &&
                 ptxexec_module_load(NULL, text, strlen(text), &m) == PTXEXEC_OK &&
                 ptxexec_device_create(NULL, &d) == PTXEXEC_OK &&
                 ptxexec_device_alloc(d, 128, PTXEXEC_FILL_POISON, "out", &at[0]) == PTXEXEC_OK;
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {1, 1, 1},
                                .block = {32, 1, 1},
                                .params = at,
                                .params_size = sizeof at,
                                .races = PTXEXEC_RACES_ISA};
    is_ok = is_ok && ptxexec_launch(d, m, &o, &r) == PTXEXEC_OK &&
            ptxexec_device_read(d, at[0], have, 128, NULL, NULL) == PTXEXEC_OK;
    for (uint32_t j = 0; is_ok && j < 128; j++) {
        is_ok = have[j] == want[j] || report(&c, "replace", j);
    }
    if (!is_ok && m != NULL && ptxexec_module_diag_count(m) > 0) {
        printf("%s\n", ptxexec_module_diag(m, 0).message);
    } else if (!is_ok && r != NULL && ptxexec_report_fault_count(r) > 0) {
        printf("%s\n", ptxexec_report_fault(r, 0).message);
    }
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    return is_ok;
}

int main(void)
{
    uint32_t n_fail = 0;
    for (uint32_t k = 0; k < N_CASES && n_fail < 5; k++) {
        n_fail += try_replace(k) ? 0 : 1;
    }
    for (uint32_t k = 0; k < N_CASES && n_fail < 5; k++) {
        n_fail += try_case(k) ? 0 : 1;
    }
    for (uint32_t k = 0; k < N_CASES && n_fail < 5; k++) {
        n_fail += try_plain(k) ? 0 : 1;
    }
    for (uint32_t k = 0; k < N_SPANS && n_fail < 5; k++) {
        n_fail += try_span(k) ? 0 : 1;
    }
    printf("%u failed of %u\n", n_fail, (uint32_t)N_CASES);
    return n_fail == 0 ? 0 : 1;
}
