/* run.c: runs the random programs of a file on the executor, and compares with the same programs on
 * the host.
 *
 *     random_run HOST.so KERNELS.ptx N_SEEDS [PROGRAM]
 * The second seed and every one after it looks for races. Exit: 0 all equal, 1 not. */
#include "tests/peer/random/run.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/exec/ptxexec.h"

enum { N_IN = 256 };

/* Whole numbers small and large, bits of floats, edges. */
static void fill(uint32_t *in)
{
    static const uint32_t edges[] = {0,          1,          2,          31,         32,
                                     0xFF,       0x7F,       0x80,       0x7FFF,     0x8000,
                                     0xFFFF,     0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000,
                                     0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 1u << 23,
                                     0x33800000, 0x3C00,     0x7C00,     0x0400};
    uint64_t s = 88172645463325252u;
    for (uint32_t i = 0; i < N_IN; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        uint32_t x = (uint32_t)(s >> 24);
        in[i] = i % 4 == 0   ? edges[x % (sizeof edges / sizeof edges[0])]
                : i % 4 == 1 ? x % 100
                : i % 4 == 2 ? 0x3F800000 + (x >> 6)
                             : x;
    }
}

static void show_faults(ptxexec_report *r)
{
    for (size_t k = 0; k < ptxexec_report_diag_count(r); k++) {
        fprintf(stderr, "  %s\n", ptxexec_report_diag(r, k).message);
    }
    for (size_t k = 0; k < ptxexec_report_fault_count(r) && k < 3; k++) {
        ptxexec_fault f = ptxexec_report_fault(r, k);
        fprintf(stderr, "  line %u:%u: %s: %s\n", f.at.line, f.at.column,
                ptxexec_fault_kind_text(f.kind), f.message);
    }
}

typedef struct arrays {
    uint32_t in[N_IN];
    unsigned long long *got, *want;
} arrays;

static bool run_once(ptxexec_module *m, const random_program *p, const arrays *a, uint64_t seed)
{
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    size_t entry = 0;
    uint64_t params[2] = {0, 0};
    size_t size = p->n_out * sizeof *a->got;
    bool is_ok =
        ptxexec_module_find(m, p->name, &entry) == PTXEXEC_OK &&
        ptxexec_device_create(NULL, &d) == PTXEXEC_OK &&
        ptxexec_device_alloc(d, sizeof a->in, PTXEXEC_FILL_POISON, "in", &params[0]) ==
            PTXEXEC_OK &&
        ptxexec_device_alloc(d, size, PTXEXEC_FILL_ZERO, "out", &params[1]) == PTXEXEC_OK &&
        ptxexec_device_write(d, params[0], a->in, sizeof a->in) == PTXEXEC_OK;
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .entry = entry,
                                .grid = {p->n_blocks, 1, 1},
                                .block = {p->n_threads, 1, 1},
                                .params = params,
                                .params_size = sizeof params,
                                .seed = seed,
                                .max_steps = 100000000,
                                .races = seed > 0 ? PTXEXEC_RACES_PRACTICE : PTXEXEC_RACES_OFF};
    if (is_ok && ptxexec_launch(d, m, &o, &r) != PTXEXEC_OK) {
        is_ok = false;
        if (r != NULL) {
            show_faults(r);
        }
    }
    uint64_t n_poison = 0;
    is_ok = is_ok &&
            ptxexec_device_read(d, params[1], a->got, size, &n_poison, NULL) == PTXEXEC_OK &&
            n_poison == 0;
    for (uint32_t i = 0; i < p->n_out && is_ok; i++) {
        if (a->got[i] != a->want[i]) {
            fprintf(stderr, "  out[%u] is 0x%llx, expected 0x%llx\n", i, a->got[i], a->want[i]);
            is_ok = false;
        }
    }
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    return is_ok;
}

static bool run_program(ptxexec_module *m, const random_program *p, uint64_t n_seeds)
{
    arrays a = {.got = calloc(p->n_out, sizeof *a.got), .want = calloc(p->n_out, sizeof *a.want)};
    bool is_ok = a.got != NULL && a.want != NULL;
    fill(a.in);
    if (is_ok) {
        p->run(a.in, a.want, p->n_blocks);
    }
    for (uint64_t seed = 0; seed < n_seeds && is_ok; seed++) {
        is_ok = run_once(m, p, &a, seed);
    }
    if (!is_ok) {
        fprintf(stderr, "FAILED %s\n", p->name);
    }
    free(a.got);
    free(a.want);
    return is_ok;
}

static ptxexec_module *load(const char *path)
{
    FILE *f = fopen(path, "rb");
    ptxexec_module *m = NULL;
    if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
        return NULL;
    }
    long size = ftell(f);
    rewind(f);
    char *text = size > 0 ? malloc((size_t)size) : NULL;
    if (text != NULL && fread(text, 1, (size_t)size, f) == (size_t)size) {
        bool is_ok = ptxexec_module_load(NULL, text, (size_t)size, &m) == PTXEXEC_OK;
        for (size_t k = 0; m != NULL && !is_ok && k < ptxexec_module_diag_count(m); k++) {
            ptxexec_diag d = ptxexec_module_diag(m, k);
            fprintf(stderr, "  line %u:%u: PG%u %s\n", d.line, d.column, d.number, d.message);
        }
        if (!is_ok) {
            ptxexec_module_destroy(m);
            m = NULL;
        }
    }
    free(text);
    (void)fclose(f);
    return m;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: random_run HOST.so KERNELS.ptx N_SEEDS [PROGRAM]\n");
        return 2;
    }
    void *host = dlopen(argv[1], RTLD_NOW);
    const random_program *programs = host != NULL ? dlsym(host, "programs") : NULL;
    ptxexec_module *m = load(argv[2]);
    uint32_t n_passed = 0;
    uint32_t n_failed = 0;
    if (programs == NULL || m == NULL) {
        fprintf(stderr, "cannot load %s\n", programs == NULL ? argv[1] : argv[2]);
        return 1;
    }
    for (const random_program *p = programs; p->name != NULL; p++) {
        if (argc > 4 && strcmp(argv[4], p->name) != 0) {
            continue;
        }
        if (run_program(m, p, strtoull(argv[3], NULL, 10))) {
            n_passed++;
        } else {
            n_failed++;
        }
    }
    printf("%u passed, %u failed\n", n_passed, n_failed);
    ptxexec_module_destroy(m);
    (void)dlclose(host);
    return n_failed == 0 ? 0 : 1;
}
