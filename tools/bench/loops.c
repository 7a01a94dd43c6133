#include "tools/bench/loops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"

enum { THREADS = 128, CTAS = 16, N = THREADS * CTAS, CTAS_OF_MATRICES = 4, SHARE_OF_MATRICES = 20 };

typedef struct loop {
    const char *name;
    /* What comes before the loop and one trip of it: %x is the thread's number at first and its
     * result at last, %i the trip. %f: floats, %t: 32 bits; bytes `sm` of shared memory. */
    const char *before, *trip, *after;
    /* The same for one thread, or NULL: then all results are `each` times the trips. */
    uint32_t (*same)(uint32_t x, uint32_t trips);
    uint32_t each;
    uint32_t n_accumulators;  /* float registers %c that are zeros at first */
    uint32_t n_multiply_adds; /* of a CTA in a trip */
} loop;

static uint32_t same_integers(uint32_t x, uint32_t trips)
{
    for (uint32_t i = 0; i < trips; i++) {
        x = x * 1664525u + 1013904223u;
        x ^= x >> 7;
        x += x << 3;
        x -= x & 255u;
    }
    return x;
}

static uint32_t bits_of(float f)
{
    uint32_t x;
    memcpy(&x, &f, sizeof x);
    return x;
}

static uint32_t same_floats(uint32_t x, uint32_t trips)
{
    float a = (float)x;
    float b = 1.0f;
    for (uint32_t i = 0; i < trips; i++) {
        a = a * 0.75f;
        b = b + a;
        a = a - b;
        b = b * 0.5f;
        a = a > -1000.0f ? a : -1000.0f;
        b = b < 1000.0f ? b : 1000.0f;
    }
    return bits_of(a + b);
}

static uint32_t same_fma(uint32_t x, uint32_t trips)
{
    float a = (float)x;
    float b = 1.0f;
    for (uint32_t i = 0; i < trips; i++) {
        a = fmaf(a, 0.75f, b);
        b = fmaf(b, -0.5f, a);
        a = fmaf(a, 0.125f, b);
        b = fmaf(b, 0.25f, 1.0f);
    }
    return bits_of(a + b);
}

static uint32_t same_words(uint32_t x, uint32_t trips)
{
    uint32_t word[8] = {x, x, x, x, x, x, x, x};
    for (uint32_t i = 0; i < trips; i++) {
        uint32_t t = word[i & 7];
        word[i & 7] = t + i;
    }
    return word[0];
}

/* 16 x 8 sums of 16 products of ones, four times a trip. */
#define MMA(c0, c1, c2, c3)                                                                   \
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%c" #c0 ",%c" #c1 ",%c" #c2 ",%c" #c3 \
    "}, {%t,%t,%t,%t}, {%t,%t}, {%c" #c0 ",%c" #c1 ",%c" #c2 ",%c" #c3 "};\n"

static const loop loops[] = {
    {.name = "integers",
     .before = "",
     .trip = "mad.lo.u32 %x, %x, 1664525, 1013904223;\nshr.u32 %t, %x, 7;\nxor.b32 %x, %x, %t;\n"
             "shl.b32 %t, %x, 3;\nadd.u32 %x, %x, %t;\nand.b32 %t, %x, 255;\nsub.u32 %x, %x, %t;\n",
     .after = "",
     .same = same_integers},
    {.name = "floats",
     .before = "cvt.rn.f32.u32 %f0, %x;\nmov.f32 %f1, 0f3F800000;\n",
     .trip = "mul.rn.f32 %f0, %f0, 0f3F400000;\nadd.rn.f32 %f1, %f1, %f0;\n"
             "sub.rn.f32 %f0, %f0, %f1;\nmul.rn.f32 %f1, %f1, 0f3F000000;\n"
             "max.f32 %f0, %f0, 0fC47A0000;\nmin.f32 %f1, %f1, 0f447A0000;\n",
     .after = "add.rn.f32 %f0, %f0, %f1;\nmov.b32 %x, %f0;\n",
     .same = same_floats},
    {.name = "fma",
     .before = "cvt.rn.f32.u32 %f0, %x;\nmov.f32 %f1, 0f3F800000;\n",
     .trip =
         "fma.rn.f32 %f0, %f0, 0f3F400000, %f1;\nfma.rn.f32 %f1, %f1, 0fBF000000, %f0;\n"
         "fma.rn.f32 %f0, %f0, 0f3E000000, %f1;\nfma.rn.f32 %f1, %f1, 0f3E800000, 0f3F800000;\n",
     .after = "add.rn.f32 %f0, %f0, %f1;\nmov.b32 %x, %f0;\n",
     .same = same_fma},
    {.name = "shared memory",
     .before =
         "mov.u32 %a, sm;\nmad.lo.u32 %a, %me, 4, %a;\n"
         "st.shared.b32 [%a], %x;\nst.shared.b32 [%a+512], %x;\nst.shared.b32 [%a+1024], %x;\n"
         "st.shared.b32 [%a+1536], %x;\nst.shared.b32 [%a+2048], %x;\n"
         "st.shared.b32 [%a+2560], %x;\nst.shared.b32 [%a+3072], %x;\n"
         "st.shared.b32 [%a+3584], %x;\n",
     .trip = "and.b32 %t, %i, 7;\nmad.lo.u32 %t, %t, 512, %a;\nld.shared.b32 %x, [%t];\n"
             "add.u32 %x, %x, %i;\nst.shared.b32 [%t], %x;\n",
     .after = "ld.shared.b32 %x, [%a];\n",
     .same = same_words},
    {.name = "mma.sync",
     .before = "mov.b32 %t, 0x3C003C00;\n",
     .trip = MMA(0, 1, 2, 3) MMA(4, 5, 6, 7) MMA(8, 9, 10, 11) MMA(12, 13, 14, 15),
     .after = "cvt.rzi.u32.f32 %x, %c9;\n",
     .each = 16,
     .n_accumulators = 16,
     .n_multiply_adds = 4 * 4 * 16 * 8 * 16},
    /* a and b are the same 8 KiB of ones */
    {.name = "wgmma",
     .before = "mov.u32 %a, sm;\nmad.lo.u32 %t, %me, 64, %a;\nmov.b32 %x, 0x3C003C00;\n"
               "st.shared.v4.b32 [%t], {%x,%x,%x,%x};\nst.shared.v4.b32 [%t+16], {%x,%x,%x,%x};\n"
               "st.shared.v4.b32 [%t+32], {%x,%x,%x,%x};\n"
               "st.shared.v4.b32 [%t+48], {%x,%x,%x,%x};\n"
               "fence.proxy.async;\nbar.sync 0;\nshr.u32 %t, %a, 4;\ncvt.u64.u32 %d, %t;\n"
               "or.b64 %d, %d, 0x1000080000;\n", /* strides of 128 and 256 bytes */
     .trip = "wgmma.fence.sync.aligned;\n"
             "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {ACC}, %d, %d, 1, 1, 1, 0, 0;\n"
             "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {ACC}, %d, %d, 1, 1, 1, 0, 0;\n"
             "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
     .after = "cvt.rzi.u32.f32 %x, %c77;\n",
     .each = 32,
     .n_accumulators = 128,
     .n_multiply_adds = 2 * 64 * 256 * 16},
};

size_t loops_count(void)
{
    return sizeof loops / sizeof loops[0];
}

/* `text` with the names of all accumulators for ACC. */
static void put_trip(pg_strbuf *b, const loop *l)
{
    const char *rest = l->trip;
    for (const char *at = strstr(rest, "ACC"); at != NULL; at = strstr(rest, "ACC")) {
        pg_putf(b, "%.*s", (int)(at - rest), rest);
        for (uint32_t k = 0; k < l->n_accumulators; k++) {
            pg_putf(b, "%s%%c%u", k > 0 ? "," : "", (unsigned)k);
        }
        rest = at + 3;
    }
    pg_put(b, rest);
}

static void put_ptx(pg_strbuf *b, const loop *l)
{
    pg_put(b, ".version 8.0\n.target sm_90a\n.address_size 64\n"
              ".visible .entry k(.param .u64 out, .param .u32 trips)\n{\n"
              ".reg .pred %p;\n.reg .b32 %x, %i, %n, %t, %a, %me, %cta;\n.reg .f32 %f<2>;\n"
              ".reg .f32 %c<128>;\n.reg .b64 %d, %out, %at;\n.shared .align 1024 .b8 sm[8192];\n"
              "ld.param.u64 %out, [out];\ncvta.to.global.u64 %out, %out;\n"
              "ld.param.u32 %n, [trips];\nmov.u32 %me, %tid.x;\nmov.u32 %cta, %ctaid.x;\n"
              "mad.lo.u32 %x, %cta, 128, %me;\nmad.wide.u32 %at, %x, 4, %out;\nmov.u32 %i, 0;\n");
    for (uint32_t k = 0; k < l->n_accumulators; k++) {
        pg_putf(b, "mov.f32 %%c%u, 0f00000000;\n", (unsigned)k);
    }
    pg_put(b, l->before);
    pg_put(b, "$L:\n");
    put_trip(b, l);
    pg_put(b, "add.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, %n;\n@%p bra $L;\n");
    pg_put(b, l->after);
    pg_put(b, "st.global.u32 [%at], %x;\nret;\n}\n");
}

/* One launch; its values go to `out`. */
static bool launch(ptxexec_module *m, const loop *l, uint32_t trips,
                   const ptxexec_launch_options *how, uint32_t *out, loop_cost *cost)
{
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    uint64_t params[2] = {0, trips};
    bool is_ok = ptxexec_device_create(NULL, &d) == PTXEXEC_OK &&
                 ptxexec_device_alloc(d, N * sizeof *out, PTXEXEC_FILL_ZERO, "out", &params[0]) ==
                     PTXEXEC_OK;
    ptxexec_launch_options o = *how;
    o.params = params;
    o.params_size = 12;
    clock_t start = clock();
    if (is_ok && ptxexec_launch(d, m, &o, &r) != PTXEXEC_OK) {
        (void)fprintf(stderr, "%s: %s\n", l->name,
                      ptxexec_report_fault_count(r) > 0 ? ptxexec_report_fault(r, 0).message
                                                        : "not run");
        is_ok = false;
    }
    if (is_ok) {
        cost->cpu = (double)(clock() - start) / CLOCKS_PER_SEC;
        cost->seconds = ptxexec_report_stats(r).seconds;
        cost->n_lane_instructions = ptxexec_report_stats(r).n_lane_instructions;
        is_ok = ptxexec_device_read(d, params[0], out, N * sizeof *out, NULL, NULL) == PTXEXEC_OK;
    }
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    return is_ok;
}

static bool compare(const loop *l, uint32_t trips, uint32_t n, const uint32_t *got, loop_cost *cost)
{
    static uint32_t want[N];
    clock_t start = clock();
    for (uint32_t x = 0; x < n; x++) {
        want[x] = l->same != NULL ? l->same(x, trips) : l->each * trips;
    }
    cost->c_seconds = l->same != NULL ? (double)(clock() - start) / CLOCKS_PER_SEC : 0;
    for (uint32_t x = 0; x < n; x++) {
        if (got[x] != want[x]) {
            (void)fprintf(stderr, "%s: thread %u has 0x%08x, C 0x%08x\n", l->name, (unsigned)x,
                          (unsigned)got[x], (unsigned)want[x]);
            return false;
        }
    }
    return true;
}

bool loops_run(size_t index, uint32_t trips, ptxexec_races races, uint32_t host_threads,
               loop_cost *out)
{
    static uint32_t got[N];
    const loop *l = &loops[index];
    bool has_matrices = l->same == NULL;
    uint32_t ctas = has_matrices ? CTAS_OF_MATRICES : CTAS;
    trips = has_matrices ? (trips + SHARE_OF_MATRICES - 1) / SHARE_OF_MATRICES : trips;
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {ctas, 1, 1},
                                .block = {THREADS, 1, 1},
                                .host_threads = host_threads,
                                .races = races};
    ptxexec_module *m = NULL;
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    put_ptx(&text, l);
    *out = (loop_cost){.name = l->name, .n_multiply_adds = 0};
    bool is_ok = !text.is_oom && ptxexec_module_load(NULL, text.ptr, text.len, &m) == PTXEXEC_OK;
    if (!is_ok) {
        (void)fprintf(stderr, "%s: %s\n", l->name,
                      m != NULL && ptxexec_module_diag_count(m) > 0
                          ? ptxexec_module_diag(m, 0).message
                          : "not loaded");
    }
    is_ok =
        is_ok && launch(m, l, trips, &o, got, out) && compare(l, trips, ctas * THREADS, got, out);
    out->n_multiply_adds = (uint64_t)l->n_multiply_adds * ctas * trips;
    ptxexec_module_destroy(m);
    pg_strbuf_fini(&text);
    return is_ok;
}
