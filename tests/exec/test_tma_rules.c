/* test_tma_rules.c: rules of bulk and tensor copies that boxes of one tensor do not show (those are
 * test_tma.c's), each by a case of its own:
 *
 *   fill       NaN outside of a tensor is that of its type
 *   inner step the element stride of the innermost dimension is not looked at, whatever the map
 *              holds there
 *   strides    have 40 bits, of which the upper ones lie apart in the map
 *   arrays     a box lies in one array
 *   interleave a map with it is refused by name
 *   under way  until a copy wrote, its destination is uninitialised: nobody sees old contents */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/exec/ptxexec.h"

enum { ARRAY = 4096, OUT = 512, N_SEEDS = 60 };

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".shared .align 128 .b8 sm[512];\n.shared .align 8 .b64 bar;\n"
    ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out, "
    ".param .u32 n)\n{\n"
    ".reg .pred %p<4>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<8>;\n"
    "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u64 %rd2, [in];\n"
    "ld.param.u64 %rd3, [out];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r3, sm;\n"
    "mad.lo.u32 %r4, %r1, 16, %r3;\nmad.wide.u32 %rd3, %r1, 16, %rd3;\n"
    "setp.ne.u32 %p1, %r1, 0;\nmov.b32 %r5, 0x11111111;\n"
    "st.shared.v4.b32 [%r4], {%r5,%r5,%r5,%r5};\nfence.proxy.async;\nbar.sync 0;\n@%p1 bra $W;\n"
    "mbarrier.init.shared.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r2;\n";
#define INTO "shared::cluster.global.mbarrier::complete_tx::bytes [%r3], "
static const char box2[] = "cp.async.bulk.tensor.2d." INTO "[%rd1, {0, 0}], [bar];\n";
static const char box3[] = "cp.async.bulk.tensor.3d." INTO "[%rd1, {0, 0, 0}], [bar];\n";
static const char plain[] = "cp.async.bulk." INTO "[%rd2], %r2, [bar];\n";
#define SHOW                                       \
    "ld.shared.v4.b32 {%r6,%r7,%r8,%r9}, [%r4];\n" \
    "st.global.v4.b32 [%rd3], {%r6,%r7,%r8,%r9};\n"
#define WAIT                                                                                \
    "$W:\nbar.sync 0;\n$V:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra " \
    "$V;\n"
static const char behind[] = WAIT SHOW "ret;\n}\n";
/* The first thread looks before it waits. */
static const char before[] = SHOW WAIT "ret;\n}\n";
/* cp.async instead: the mbarrier sees a plain arrival. */
static const char small[] =
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], %r2;\n"
    "cp.async.cg.shared.global [%r3], [%rd2], 16;\n" SHOW "cp.async.wait_all;\n" WAIT "ret;\n}\n";

typedef struct params {
    unsigned char map[128];
    uint64_t in, out;
    uint32_t n;
} params;

typedef struct run {
    const char *copy, *rest;
    ptxexec_tensormap map; /* its address is that of the array; rank 0: none */
    bool is_apart;         /* strides[0] leads into a second array */
    uint8_t steps;         /* goes over the element strides in the map's bytes */
    uint32_t n_bytes;
    uint64_t seed;
    /* results */
    ptxexec_fault fault;
    char message[256];
    uint64_t array;
    uint32_t out[OUT / 4];
    uint64_t n_poison;
} run;

/* The array holds 2, 3, 4 ... in words. */
static bool launch(run *x)
{
    static char text[4096];
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    uint32_t words[ARRAY / 4];
    uint64_t second = 0;
    params p = {.n = x->n_bytes};
    for (uint32_t k = 0; k < ARRAY / 4; k++) {
        words[k] = k + 2;
    }
    (void)snprintf(text, sizeof text, "%s%s%s", head, x->copy, x->rest);
    bool is_ok =
        ptxexec_module_load(NULL, text, strlen(text), &m) == PTXEXEC_OK &&
        ptxexec_device_create(NULL, &d) == PTXEXEC_OK &&
        ptxexec_device_alloc(d, ARRAY, PTXEXEC_FILL_ZERO, "first", &p.in) == PTXEXEC_OK &&
        ptxexec_device_alloc(d, ARRAY, PTXEXEC_FILL_ZERO, "second", &second) == PTXEXEC_OK &&
        ptxexec_device_alloc(d, OUT, PTXEXEC_FILL_POISON, "out", &p.out) == PTXEXEC_OK &&
        ptxexec_device_write(d, p.in, words, sizeof words) == PTXEXEC_OK;
    x->array = p.in;
    if (x->map.rank != 0) {
        x->map.struct_size = sizeof x->map;
        x->map.address = p.in;
        x->map.strides[0] = x->is_apart ? second - p.in : x->map.strides[0];
        is_ok = is_ok && ptxexec_tensormap_encode(&x->map, p.map) == PTXEXEC_OK;
        p.map[0x34] |= x->steps;
    }
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {1, 1, 1},
                                .block = {32, 1, 1},
                                .params = &p,
                                .params_size = 148,
                                .seed = x->seed,
                                .max_steps = 100000};
    ptxexec_status status = is_ok ? ptxexec_launch(d, m, &o, &r) : PTXEXEC_E_INTERNAL;
    is_ok = status == PTXEXEC_OK || status == PTXEXEC_E_FAULT;
    x->fault.kind = PTXEXEC_F_NONE;
    x->message[0] = 0;
    if (status == PTXEXEC_E_FAULT) {
        x->fault = ptxexec_report_fault(r, 0);
        (void)snprintf(x->message, sizeof x->message, "%s", x->fault.message);
    }
    is_ok = is_ok && ptxexec_device_read(d, p.out, x->out, OUT, NULL, NULL) == PTXEXEC_OK &&
            ptxexec_device_read(d, p.out, words, 16, &x->n_poison, NULL) == PTXEXEC_OK;
    if (!is_ok) {
        printf("status %d%s%s\n", (int)status, m != NULL && d == NULL ? ": " : "",
               m != NULL && d == NULL ? ptxexec_module_diag(m, 0).message : "");
    }
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    return is_ok;
}

/* 8 x 2 elements of 16 bits of a tensor of one row: the second is outside. */
static bool try_fill(uint32_t type, uint32_t want)
{
    run x = {.copy = box2, .rest = behind, .n_bytes = 32};
    x.map = (ptxexec_tensormap){.type = type,
                                .rank = 2,
                                .oob_fill = 1,
                                .dims = {8, 1},
                                .strides = {16},
                                .box = {8, 2},
                                .elem_strides = {1, 1}};
    bool is_ok = launch(&x) && x.fault.kind == PTXEXEC_F_NONE && x.out[3] == 5;
    for (uint32_t k = 4; k < 8; k++) {
        is_ok = is_ok && x.out[k] == want;
    }
    if (!is_ok) {
        printf("fill of type %u: 0x%08x %s\n", type, x.out[4], x.message);
    }
    return is_ok;
}

/* 4 x 2 words, rows `stride` apart. */
static run words_of(uint64_t stride)
{
    run x = {.copy = box2, .rest = behind, .n_bytes = 32};
    x.map = (ptxexec_tensormap){.type = PTXEXEC_TM_U32,
                                .rank = 2,
                                .dims = {4, 2},
                                .strides = {stride},
                                .box = {4, 2},
                                .elem_strides = {1, 1}};
    return x;
}

static bool try_inner_step(void)
{
    run x = words_of(64);
    x.steps = 1;
    bool is_ok = launch(&x) && x.fault.kind == PTXEXEC_F_NONE;
    for (uint32_t k = 0; k < 8; k++) {
        is_ok = is_ok && x.out[k] == k / 4 * 16 + k % 4 + 2;
    }
    if (!is_ok) {
        printf("inner step: %u %u %u %u %s\n", x.out[0], x.out[1], x.out[2], x.out[3], x.message);
    }
    return is_ok;
}

static bool try_stride(uint32_t bit)
{
    run x = words_of(UINT64_C(1) << bit);
    bool is_ok = launch(&x) && x.fault.kind == PTXEXEC_F_OUT_OF_BOUNDS &&
                 x.fault.address == x.array + (UINT64_C(1) << bit);
    if (!is_ok) {
        printf("stride 2^%u: %s\n", bit, x.message);
    }
    return is_ok;
}

static bool try_arrays(void)
{
    run x = words_of(0);
    x.is_apart = true;
    bool is_ok = launch(&x) && x.fault.kind == PTXEXEC_F_TENSOR_MAP &&
                 strstr(x.message, "'first'") != NULL && strstr(x.message, "'second'") != NULL;
    if (!is_ok) {
        printf("arrays: %s\n", x.message);
    }
    return is_ok;
}

static bool try_interleave(void)
{
    run x = {.copy = box3, .rest = behind, .n_bytes = 32};
    x.map = (ptxexec_tensormap){.type = PTXEXEC_TM_U32,
                                .rank = 3,
                                .interleave = 1,
                                .dims = {4, 2, 1},
                                .strides = {16, 32},
                                .box = {4, 2, 1},
                                .elem_strides = {1, 1, 1}};
    bool is_ok = launch(&x) && x.fault.kind == PTXEXEC_F_TENSOR_MAP &&
                 strstr(x.message, "interleaved") != NULL;
    if (!is_ok) {
        printf("interleave: %s\n", x.message);
    }
    return is_ok;
}

/* Word 1 is 0x11111111 before the copy, and 3 after it. */
static bool try_under_way(const char *name, const char *copy, const char *rest)
{
    uint32_t n_new = 0;
    uint32_t n_poison = 0;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        run x = {.copy = copy, .rest = rest, .n_bytes = 16, .seed = seed};
        if (!launch(&x) || x.fault.kind != PTXEXEC_F_NONE) {
            printf("%s under way, seed %llu: %s\n", name, (unsigned long long)seed, x.message);
            return false;
        }
        n_new += x.n_poison == 0 && x.out[1] == 3 ? 1 : 0;
        n_poison += x.n_poison == 16 ? 1 : 0;
    }
    bool is_ok = n_new + n_poison == N_SEEDS && n_new >= 3 && n_poison >= 3;
    if (!is_ok) {
        printf("%s under way: %u new, %u uninitialised of %u\n", name, n_new, n_poison,
               (uint32_t)N_SEEDS);
    }
    return is_ok;
}

int main(void)
{
    uint32_t n_bad = 0;
    n_bad += try_fill(PTXEXEC_TM_BF16, 0x7FC07FC0) ? 0 : 1;
    n_bad += try_fill(PTXEXEC_TM_F16, 0x7E007E00) ? 0 : 1;
    n_bad += try_inner_step() ? 0 : 1;
    for (uint32_t bit = 32; bit < 40; bit++) {
        n_bad += try_stride(bit) ? 0 : 1;
    }
    n_bad += try_arrays() ? 0 : 1;
    n_bad += try_interleave() ? 0 : 1;
    n_bad += try_under_way("a bulk copy", plain, before) ? 0 : 1;
    n_bad += try_under_way("cp.async", "", small) ? 0 : 1;
    printf("%u failed\n", n_bad);
    return n_bad == 0 ? 0 : 1;
}
