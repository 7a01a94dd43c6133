/* test_im2col.c: columns of pixels through tensor maps of rank 3 to 5, against loops over all first
 * pixels of the map's box, in order, written here; loads with offsets, stores, reductions, as the
 * ISA's figures of im2col have them. Boxes that stick out, traversal strides, swizzles, fills;
 * several seeds, with races looked for. And what is refused. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/draw.h"
#include "tools/exec/ptxexec.h"

enum { ARRAY = 1 << 16, BOX = 16384, MOST_PIXELS = 4096, N_CASES = 120, N_THREADS = 64 };

typedef struct im2col_case {
    uint32_t rank, swizzle, fill, n_space;
    uint32_t channels, pixels, n_bytes;
    uint64_t dims[5], strides[5]; /* strides in bytes, f16 */
    int32_t lower[3], upper[3], at[5];
    uint32_t step[5], offset[3];
    uint64_t seed;
} im2col_case;

typedef struct params {
    unsigned char map[128];
    uint64_t out;
    int32_t at[5];
    uint32_t offset[3], n_bytes;
} params;

static uint8_t array[ARRAY], expected[ARRAY], got[ARRAY], box[BOX];
static int32_t starts[MOST_PIXELS][4]; /* w, h, d, n */
static char message[512];

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    return draw_below(&state, n);
}

/* ---- what must come out ---------------------------------------------------------------------- */

/* All first pixels, W running fastest, then H, D, and the images and some that are not there; the
 * number of the one at which the copy begins. */
static uint32_t list_starts(const im2col_case *c)
{
    uint32_t n = 0;
    uint32_t begin = 0;
    int32_t lo[3] = {0, 0, 0};
    int32_t hi[3] = {0, 0, 0};
    uint32_t step[4] = {1, 1, 1, c->step[c->rank - 1]};
    for (uint32_t d = 0; d < c->n_space; d++) {
        lo[d] = c->lower[d];
        hi[d] = (int32_t)c->dims[d + 1] - 1 + c->upper[d];
        step[d] = c->step[d + 1];
    }
    for (int32_t image = c->at[c->rank - 1]; n < MOST_PIXELS; image += (int32_t)step[3]) {
        for (int32_t z = lo[2]; z <= hi[2]; z += (int32_t)step[2]) {
            for (int32_t y = lo[1]; y <= hi[1]; y += (int32_t)step[1]) {
                for (int32_t x = lo[0]; x <= hi[0] && n < MOST_PIXELS; x += (int32_t)step[0]) {
                    bool is_first = image == c->at[c->rank - 1] && x == c->at[1] &&
                                    (c->n_space < 2 || y == c->at[2]) &&
                                    (c->n_space < 3 || z == c->at[3]);
                    begin = is_first ? n : begin;
                    const int32_t all[4] = {x, y, z, image};
                    memcpy(starts[n++], all, sizeof all);
                }
            }
        }
    }
    return begin;
}

/* Bytes of the 16-byte unit `unit` of pixel p, by rows of the swizzle as wide as it is. */
static uint32_t place(const im2col_case *c, uint32_t byte)
{
    static const uint32_t spans[] = {16, 32, 64, 128};
    uint32_t row = byte / spans[c->swizzle];
    uint32_t flip = c->swizzle == 0   ? 0
                    : c->swizzle == 1 ? row >> 2 & 1u
                    : c->swizzle == 2 ? row >> 1 & 3u
                                      : row & 7u;
    uint32_t unit = byte % spans[c->swizzle] / 16;
    return row * spans[c->swizzle] + (unit ^ flip) * 16 + byte % 16;
}

/* Place in the array of channel k of pixel p, or -1. */
static int64_t element(const im2col_case *c, uint32_t begin, uint32_t p, uint32_t k,
                       bool has_offsets)
{
    const int32_t *s = starts[begin + p];
    int64_t x[5] = {c->at[0] + (int64_t)k, 0, 0, 0, 0};
    for (uint32_t d = 0; d < c->n_space; d++) {
        x[d + 1] = s[d] + (has_offsets ? (int64_t)c->offset[d] : 0);
    }
    x[c->rank - 1] = s[3];
    int64_t at = 0;
    for (uint32_t d = 0; d < c->rank; d++) {
        if (x[d] < 0 || x[d] >= (int64_t)c->dims[d]) {
            return -1;
        }
        at += x[d] * (int64_t)(d == 0 ? 2 : c->strides[d]);
    }
    return at;
}

static uint16_t own_half(uint32_t byte) /* what the kernel puts into the box */
{
    uint32_t word = byte / 4 * 7 + 3;
    return (uint16_t)(word >> 8 * (byte % 4));
}

static void expect(const im2col_case *c, bool is_load, bool is_xor)
{
    uint32_t begin = list_starts(c);
    memcpy(expected, array, sizeof expected);
    for (uint32_t p = 0; p < c->pixels; p++) {
        for (uint32_t k = 0; k < c->channels; k++) {
            int64_t at = element(c, begin, p, k, is_load);
            uint32_t byte = place(c, (p * c->channels + k) * 2);
            uint16_t x = c->fill != 0 ? 0x7E00 : 0;
            if (is_load) {
                memcpy(box + byte, at >= 0 ? (const void *)(array + at) : &x, 2);
            } else if (at >= 0) {
                x = own_half(byte);
                uint16_t old;
                memcpy(&old, expected + at, 2);
                x = is_xor ? (uint16_t)(x ^ old) : x;
                memcpy(expected + at, &x, 2);
            }
        }
    }
}

/* ---- running --------------------------------------------------------------------------------- */

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 1024 .b8 sm[];\n.shared .align 8 .b64 bar;\n"
    ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 c0, "
    ".param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4, .param .u32 o0, .param .u32 "
    "o1, "
    ".param .u32 o2, .param .u32 n)\n{\n"
    ".reg .pred %p<8>;\n.reg .b16 %h<4>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n"
    "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u64 %rd2, [out];\n"
    "ld.param.u32 %r10, [c0];\nld.param.u32 %r11, [c1];\nld.param.u32 %r12, [c2];\n"
    "ld.param.u32 %r13, [c3];\nld.param.u32 %r14, [c4];\nld.param.u32 %r2, [n];\n"
    "ld.param.u16 %h0, [o0];\nld.param.u16 %h1, [o1];\nld.param.u16 %h2, [o2];\n"
    "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\nmov.u32 %r3, sm;\nshl.b32 %r4, %r1, 2;\n";
static const char load[] =
    "@%%p1 bra $W;\nmbarrier.init.shared.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %%r2;\n"
    "cp.async.bulk.tensor.%ud.shared::cluster.global%s.mbarrier::complete_tx::bytes [%%r3], "
    "[%%rd1, "
    "{%s}], [bar]%s;\n"
    "$W:\nbar.sync 0;\n$V:\nmbarrier.try_wait.parity.shared.b64 %%p2, [bar], 0;\n@!%%p2 bra $V;\n"
    "$L:\nsetp.ge.u32 %%p3, %%r4, %%r2;\n@%%p3 bra $E;\nadd.u32 %%r5, %%r3, %%r4;\n"
    "ld.shared.b32 %%r6, [%%r5];\ncvt.u64.u32 %%rd3, %%r4;\nadd.u64 %%rd3, %%rd3, %%rd2;\n"
    "st.global.b32 [%%rd3], %%r6;\nadd.u32 %%r4, %%r4, 256;\nbra $L;\n$E:\nret;\n}\n";
static const char store[] =
    "$L:\nsetp.ge.u32 %%p3, %%r4, %%r2;\n@%%p3 bra $F;\nadd.u32 %%r5, %%r3, %%r4;\n"
    "shr.u32 %%r6, %%r4, 2;\nmad.lo.u32 %%r6, %%r6, 7, 3;\nst.shared.b32 [%%r5], %%r6;\n"
    "add.u32 %%r4, %%r4, 256;\nbra $L;\n$F:\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
    "@%%p1 ret;\ncp%s.async.bulk.tensor.%ud.global.shared::cta%s.im2col_no_offs.bulk_group [%%rd1, "
    "{%s}], [%%r3];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\nret;\n}\n";

static const char *const coords[] = {"%r10, %r11, %r12", "%r10, %r11, %r12, %r13",
                                     "%r10, %r11, %r12, %r13, %r14"};
static const char *const offsets[] = {", {%h0}", ", {%h0, %h1}", ", {%h0, %h1, %h2}"};
static char text[8192];

static void write_load(const im2col_case *c, bool is_im2col)
{
    size_t n = strlen(head);
    memcpy(text, head, n + 1);
    (void)snprintf(text + n, sizeof text - n, load, c->rank, is_im2col ? ".im2col" : "",
                   coords[c->rank - 3], is_im2col ? offsets[c->rank - 3] : "");
}

static void write_store(const im2col_case *c, bool is_xor)
{
    size_t n = strlen(head);
    memcpy(text, head, n + 1);
    (void)snprintf(text + n, sizeof text - n, store, is_xor ? ".reduce" : "", c->rank,
                   is_xor ? ".xor" : "", coords[c->rank - 3]);
}

static ptxexec_tensormap map_of(const im2col_case *c, uint64_t address)
{
    ptxexec_tensormap t = {.struct_size = sizeof t,
                           .type = PTXEXEC_TM_F16,
                           .rank = c->rank,
                           .swizzle = c->swizzle,
                           .oob_fill = c->fill,
                           .address = address,
                           .is_im2col = 1,
                           .channels = c->channels,
                           .pixels = c->pixels};
    memcpy(t.lower, c->lower, sizeof t.lower);
    memcpy(t.upper, c->upper, sizeof t.upper);
    for (uint32_t d = 0; d < 5; d++) {
        t.dims[d] = c->dims[d];
        t.elem_strides[d] = c->step[d];
        if (d > 0) {
            t.strides[d - 1] = c->strides[d];
        }
    }
    return t;
}

/* PTXEXEC_F_NONE: the kernel ended well, and `got` has what it wrote. */
static ptxexec_fault_kind run(const im2col_case *c, bool is_load, bool is_integer, bool *out_is_ok)
{
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    uint64_t at = 0;
    params p = {.n_bytes = c->n_bytes};
    memcpy(p.at, c->at, sizeof p.at);
    memcpy(p.offset, c->offset, sizeof p.offset);
    bool is_ok = ptxexec_module_load(NULL, text, strlen(text), &m) == PTXEXEC_OK &&
                 ptxexec_device_create(NULL, &d) == PTXEXEC_OK &&
                 ptxexec_device_alloc(d, ARRAY, PTXEXEC_FILL_ZERO, "a", &at) == PTXEXEC_OK &&
                 ptxexec_device_write(d, at, array, ARRAY) == PTXEXEC_OK &&
                 ptxexec_device_alloc(d, BOX, PTXEXEC_FILL_POISON, "out", &p.out) == PTXEXEC_OK;
    ptxexec_tensormap t = map_of(c, at);
    t.type = is_integer ? PTXEXEC_TM_U16 : t.type;
    t.oob_fill = is_integer ? 0 : t.oob_fill;
    is_ok = is_ok && ptxexec_tensormap_encode(&t, p.map) == PTXEXEC_OK;
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {1, 1, 1},
                                .block = {N_THREADS, 1, 1},
                                .dynamic_shared = BOX,
                                .params = &p,
                                .params_size = offsetof(params, n_bytes) + sizeof p.n_bytes,
                                .seed = c->seed,
                                .races = c->seed % 2 == 0 ? PTXEXEC_RACES_ISA : PTXEXEC_RACES_OFF};
    is_ok = is_ok && ptxexec_launch(d, m, &o, &r) == PTXEXEC_OK;
    ptxexec_fault_kind kind = PTXEXEC_F_NONE;
    message[0] = '\0';
    if (r != NULL && ptxexec_report_fault_count(r) > 0) {
        ptxexec_fault f = ptxexec_report_fault(r, 0);
        kind = f.kind;
        (void)snprintf(message, sizeof message, "line %u: %s", f.at.line, f.message);
    } else if (m != NULL && ptxexec_module_diag_count(m) > 0) {
        (void)snprintf(message, sizeof message, "%s", ptxexec_module_diag(m, 0).message);
    }
    *out_is_ok =
        is_ok && ptxexec_device_read(d, is_load ? p.out : at, got, is_load ? c->n_bytes : ARRAY,
                                     NULL, NULL) == PTXEXEC_OK;
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    return kind;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void draw_case(im2col_case *c, uint32_t k)
{
    static const uint32_t spans[] = {64, 16, 32, 64}; /* channels of f16 that fit */
    *c = (im2col_case){.rank = 3 + k % 3, .seed = k};
    c->swizzle = below(4);
    c->fill = below(2);
    c->n_space = c->rank - 2;
    c->channels = 8 * (1 + below(spans[c->swizzle] / 8));
    c->pixels = 1 + below(96);
    uint32_t span = c->swizzle == 0 ? 16 : 16u << c->swizzle;
    while (c->channels * c->pixels * 2 % span != 0 || c->channels * c->pixels * 2 > BOX) {
        c->pixels = 1 + below(96);
    }
    c->n_bytes = c->channels * c->pixels * 2;
    c->dims[0] = 1 + below(70);
    c->at[0] = (int32_t)below((uint32_t)c->dims[0] + 8) - 4;
    c->step[0] = 1;
    uint64_t bytes = c->dims[0] * 2;
    for (uint32_t d = 1; d < c->rank; d++) {
        c->dims[d] = 1 + below(d == 1 ? 9 : d + 1 == c->rank ? 3 : 5);
        c->step[d] = below(3) == 0 ? 1 + below(3) : 1;
        c->strides[d] = (bytes + 15) / 16 * 16;
        bytes = c->strides[d] * c->dims[d];
        if (d + 1 < c->rank) { /* a filter of 1 to 4 pixels, and what surrounds the image */
            int32_t filter = 1 + (int32_t)below(4);
            c->lower[d - 1] = -(int32_t)below(3);
            c->upper[d - 1] = (int32_t)below(3) - (filter - 1);
            int32_t last = (int32_t)c->dims[d] - 1 + c->upper[d - 1];
            if (last < c->lower[d - 1]) {
                c->upper[d - 1] = c->lower[d - 1] - (int32_t)c->dims[d] + 1;
                last = c->lower[d - 1];
            }
            uint32_t n = (uint32_t)(last - c->lower[d - 1]) / c->step[d] + 1;
            c->at[d] = c->lower[d - 1] + (int32_t)(below(n) * c->step[d]);
            c->offset[d - 1] = below((uint32_t)filter);
        } else {
            c->at[d] = (int32_t)below((uint32_t)c->dims[d] + 1);
        }
    }
    for (uint32_t d = c->rank; d < 5; d++) {
        c->dims[d] = c->step[d] = 1;
    }
}

static bool report(const im2col_case *c, const char *what, uint32_t at)
{
    printf("%s, seed %u, byte %u: rank %u, %u channels of %u pixels, swizzle %u, fill %u;", what,
           (uint32_t)c->seed, at, c->rank, c->channels, c->pixels, c->swizzle, c->fill);
    for (uint32_t d = 0; d < c->rank; d++) {
        printf(" [dim %u step %u at %d]", (uint32_t)c->dims[d], c->step[d], c->at[d]);
    }
    for (uint32_t d = 0; d < c->n_space; d++) {
        printf(" (%d .. %d, %u)", c->lower[d], c->upper[d], c->offset[d]);
    }
    printf(" %s\n", message);
    return false;
}

static bool try_one(const im2col_case *c, const char *what, bool is_load, bool is_xor)
{
    bool is_ok = false;
    if (is_load) {
        write_load(c, true);
    } else {
        write_store(c, is_xor);
    }
    expect(c, is_load, is_xor);
    if (run(c, is_load, is_xor, &is_ok) != PTXEXEC_F_NONE || !is_ok) {
        return report(c, what, 0);
    }
    const uint8_t *want = is_load ? box : expected;
    for (uint32_t k = 0; k < (is_load ? c->n_bytes : ARRAY); k++) {
        if (got[k] != want[k]) {
            return report(c, what, k);
        }
    }
    return true;
}

static bool try_case(uint32_t k)
{
    im2col_case c;
    draw_case(&c, k);
    for (uint32_t j = 0; j < ARRAY; j++) {
        array[j] = (uint8_t)below(256);
    }
    return try_one(&c, "load", true, false) && try_one(&c, "store", false, false) &&
           try_one(&c, "xor", false, true);
}

/* A 3 x 3 filter over 8 x 6 pixels with a border of 1, in steps of 2 along W. */
static im2col_case filtered(void)
{
    return (im2col_case){.rank = 4,
                         .n_space = 2,
                         .channels = 16,
                         .pixels = 10,
                         .n_bytes = 320,
                         .dims = {16, 8, 6, 2, 1},
                         .strides = {0, 32, 256, 1536},
                         .lower = {-1, -1},
                         .upper = {-1, -1},
                         .at = {0, -1, 4, 0},
                         .step = {1, 2, 1, 1, 1},
                         .offset = {2, 0}};
}

/* First pixels that are none of the box's, and a map of the other kind. */
static uint32_t try_refused(void)
{
    static const struct {
        int32_t w, h;
        bool is_im2col;
        ptxexec_fault_kind kind;
    } rows[] = {{-1, 4, true, PTXEXEC_F_NONE},       {5, -1, true, PTXEXEC_F_NONE},
                {-2, 4, true, PTXEXEC_F_TENSOR_MAP}, {0, 4, true, PTXEXEC_F_TENSOR_MAP},
                {7, 4, true, PTXEXEC_F_TENSOR_MAP},  {-1, 5, true, PTXEXEC_F_TENSOR_MAP},
                {-1, 4, false, PTXEXEC_F_TENSOR_MAP}};
    uint32_t n_bad = 0;
    for (uint32_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        im2col_case c = filtered();
        bool is_ok = false;
        c.at[1] = rows[k].w;
        c.at[2] = rows[k].h;
        write_load(&c, rows[k].is_im2col);
        ptxexec_fault_kind kind = run(&c, true, false, &is_ok);
        if (kind != rows[k].kind || is_ok != (kind == PTXEXEC_F_NONE)) {
            printf("row %u: kind %d: %s\n", k, (int)kind, message);
            n_bad++;
        }
    }
    return n_bad;
}

int main(void)
{
    uint32_t n_fail = 0;
    for (uint32_t k = 0; k < N_CASES && n_fail < 5; k++) {
        n_fail += try_case(k) ? 0 : 1;
    }
    n_fail += try_refused();
    printf("%u failed\n", n_fail);
    return n_fail == 0 ? 0 : 1;
}
