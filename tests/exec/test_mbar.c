/* test_mbar.c: random sequences of mbarrier operations by one thread, against a model of the ISA's
 * words written here: pending arrivals, bytes, phases. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "tests/draw.h"

#include "ptx_run.h"

enum { N_OPS = 61, N_RUNS = 40, BODY = 16384 };

typedef struct model {
    int64_t expected, pending, tx, phase;
} model;

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    return draw_below(&state, n);
}

static void settle(model *m)
{
    if (m->pending == 0 && m->tx == 0) {
        m->phase++;
        m->pending = m->expected;
    }
}

static char body[BODY];
static size_t at;
static void PG_PRINTF(1, 2) put(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(body + at, sizeof body - at, format, args);
    va_end(args);
    at += n > 0 ? (size_t)n : 0;
}

/* Emits one operation that the model allows; puts what it must give into *out, or returns false. */
static bool emit_op(model *m, uint32_t *out)
{
    uint32_t n = 1 + below(3);
    switch (below(8)) {
    case 0:
    case 1: /* arrive: the pending count before it */
        n = (int64_t)n > m->pending ? 1 : n;
        if (m->pending == 0) {
            return false;
        }
        *out = (uint32_t)m->pending;
        put("mbarrier.arrive.shared.b64 %%rd5, [sm+8], %u;\n", n);
        put("mbarrier.pending_count.b64 %%r7, %%rd5;\n");
        m->pending -= n;
        settle(m);
        return true;
    case 2: /* drop, but never the last one */
        if (m->pending == 0 || m->expected < 3) {
            return false;
        }
        *out = (uint32_t)m->pending;
        put("mbarrier.arrive_drop.release.cta.shared::cta.b64 %%rd5, [sm+8];\n");
        put("mbarrier.pending_count.b64 %%r7, %%rd5;\n");
        m->pending--;
        m->expected--;
        settle(m);
        return true;
    case 3: /* expect and arrive */
        if (m->pending == 0) {
            return false;
        }
        *out = (uint32_t)m->pending;
        put("mbarrier.arrive.expect_tx.shared.b64 %%rd5, [sm+8], %u;\n", n * 24);
        put("mbarrier.pending_count.b64 %%r7, %%rd5;\n");
        m->tx += n * 24;
        m->pending--;
        settle(m);
        return true;
    case 4: /* some of the bytes, or all, or ahead of their expectation */
        if (m->pending == 0 && m->tx <= 0) {
            return false;
        }
        n = m->tx > 0 && below(2) != 0 ? (uint32_t)m->tx : n * 8;
        n = m->pending == 0 && n > m->tx ? (uint32_t)m->tx : n;
        put("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [sm+8], %u;\n", n);
        m->tx -= n;
        settle(m);
        break;
    case 5:
        if (m->pending == 0) {
            return false;
        }
        put("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [sm+8], %u;\n", n * 8);
        m->tx += n * 8;
        settle(m);
        break;
    case 6:
        if (m->pending < 2) {
            return false;
        }
        *out = (uint32_t)m->pending;
        put("mbarrier.arrive.noComplete.shared.b64 %%rd5, [sm+8], 1;\n");
        put("mbarrier.pending_count.b64 %%r7, %%rd5;\n");
        m->pending--;
        return true;
    default: {
        uint32_t parity = below(2);
        *out = (m->phase & 1) != parity ? 1 : 0;
        put("mbarrier.test_wait.parity.shared.b64 %%p1, [sm+8], %u;\n", parity);
        put("selp.b32 %%r7, 1, 0, %%p1;\n");
        return true;
    }
    }
    put("mov.b32 %%r7, 77;\n");
    *out = 77;
    return true;
}

static bool try_run(uint64_t seed)
{
    static ptx_result r;
    uint32_t expected[N_OPS];
    model m = {.expected = 1 + below(9)};
    m.pending = m.expected;
    at = 0;
    put("setp.ne.u32 %%p2, %%r1, 0;\n@%%p2 bra $E;\n");
    put("mbarrier.init.shared::cta.b64 [sm+8], %u;\n", (uint32_t)m.expected);
    for (uint32_t k = 0; k < N_OPS;) {
        if (emit_op(&m, &expected[k])) {
            put("st.global.b32 [%%rd2+%u], %%r7;\n", 4 * k);
            k++;
        }
    }
    put("$E:\n");
    ptx_case c = {
        .body = body, .out_size = sizeof expected, .seed = seed, .races = PTXEXEC_RACES_ISA};
    ptx_run(&c, &r);
    if (r.status != PTXEXEC_OK) {
        printf("run %llu: status %d: %s\n%s", (unsigned long long)seed, (int)r.status, r.message,
               body);
        return false;
    }
    for (uint32_t k = 0; k < N_OPS; k++) {
        uint32_t got;
        memcpy(&got, r.out + 4 * (size_t)k, 4);
        if (got != expected[k]) {
            printf("run %llu, operation %u: %u, expected %u\n%s", (unsigned long long)seed, k, got,
                   expected[k], body);
            return false;
        }
    }
    return true;
}

int main(void)
{
    uint32_t n_fail = 0;
    for (uint64_t seed = 0; seed < N_RUNS; seed++) {
        n_fail += try_run(seed) ? 0 : 1;
    }
    printf("%u failed of %u\n", n_fail, (uint32_t)N_RUNS);
    return n_fail == 0 ? 0 : 1;
}
