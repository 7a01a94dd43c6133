/* run.c: compiles each peer program to PTX with nvcc, runs it on the executor with several seeds
 * and host threads, and compares with the same program compiled for the host.
 *
 *     peer_run SOURCE_DIR CACHE_DIR [NAME...]
 *     peer_run SOURCE_DIR CACHE_DIR --list       compiles, and prints the name, kernel and PTX of
 * each peer_run --try NAME FILE.ptx RACES SEEDS   runs another text as the program NAME, with RACES
 *                                                off, practice or isa: exit 4 if it fails
 * Programs include files of SOURCE_DIR and of the folder above.
 * Exit: 0 all equal, 1 not, 77 no nvcc (PTXGEN_NVCC, else PATH). */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PEER_NAME none
#include "tests/peer/nvcc.h"
#include "tests/peer/peer.h"
#include "tools/exec/ptxexec.h"

typedef void (*peer_host)(const u32 *in, u32 *out, u32 n_in, u32 n_out);
typedef struct peer {
    const char *file, *name;
    const char *entry; /* NULL: the only one */
    const peer_config *config;
    peer_host host;
} peer;

/* Rows of peer_programs.def: PEER_PROGRAM(name) is name.cu, PEER_VARIANT(file, name) the kernel
 * peer_name of file.cu. */
#define PEER_PROGRAM(name)                       \
    extern const peer_config peer_config_##name; \
    void peer_host_##name(const u32 *in, u32 *out, u32 n_in, u32 n_out);
#define PEER_VARIANT(file, name) PEER_PROGRAM(name)
#include "peer_programs.def"
#undef PEER_PROGRAM
#undef PEER_VARIANT

static const peer peers[] = {
#define PEER_PROGRAM(name) {#name, #name, NULL, &peer_config_##name, peer_host_##name},
#define PEER_VARIANT(file, name) \
    {#file, #name, "peer_" #name, &peer_config_##name, peer_host_##name},
#include "peer_programs.def"
#undef PEER_PROGRAM
#undef PEER_VARIANT
};

enum { N_PEERS = sizeof peers / sizeof peers[0] };

typedef struct job {
    const peer *peer;
    const char *arch;
} job;

/* sm_90 code differs where the compiler knows more instructions; a third of the programs tells.
 * Programs of sm_90a are of that alone. */
static size_t list_jobs(job *jobs)
{
    size_t n = 0;
    for (size_t k = 0; k < N_PEERS; k++) {
        bool is_sm90a = peers[k].config->is_sm90a != 0;
        jobs[n++] = (job){&peers[k], is_sm90a ? "sm_90a" : "sm_80"};
        if (!is_sm90a && k % 3 == 0) {
            jobs[n++] = (job){&peers[k], "sm_90"};
        }
    }
    return n;
}

static char *read_file(const char *path, size_t *out_size)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return NULL;
    }
    size_t cap = 1 << 20;
    char *text = malloc(cap);
    *out_size = text != NULL ? fread(text, 1, cap, f) : 0;
    (void)fclose(f);
    return text;
}

/* ---- running --------------------------------------------------------------------------------- */

/* -3 to 4 */
static u32 small_half_bits(u32 x)
{
    static const u32 bits[] = {0xC200, 0xC000, 0xBC00, 0, 0x3C00, 0x4000, 0x4200, 0x4400};
    return bits[x % 8];
}

static void fill(const peer_config *c, u32 *in)
{
    u64 s = 88172645463325252ull;
    for (u32 i = 0; i < c->n_in; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        u32 x = (u32)(s >> 24);
        float f = (float)(s32)x * (1.0f / 268435456.0f) + (x & 1023) * 0.001f;
        in[i] = c->input == PEER_BITS           ? x
                : c->input == PEER_SMALL        ? x % 1000 + 1
                : c->input == PEER_SMALL_FLOATS ? float_bits((float)(s32)(x % 8) - 3.0f)
                : c->input == PEER_SMALL_HALVES ? small_half_bits(x) | small_half_bits(x >> 8) << 16
                                                : float_bits(f);
    }
}

typedef struct run {
    ptxexec_module *m;
    size_t entry;
    const peer_config *c;
    const u32 *in;
    u32 *out;
    uint64_t seed, max_steps;
    uint32_t threads;
    ptxexec_races races;
} run;

enum { MANY_STEPS = 20000000, STEPS_TO_TRY = 3000000 };

static bool show_faults(ptxexec_report *r)
{
    for (size_t k = 0; k < ptxexec_report_diag_count(r); k++) {
        fprintf(stderr, "  %s\n", ptxexec_report_diag(r, k).message);
    }
    for (size_t k = 0; k < ptxexec_report_fault_count(r); k++) {
        ptxexec_fault f = ptxexec_report_fault(r, k);
        fprintf(stderr, "  line %u:%u: %s: %s (warp %u lane %u)\n", f.at.line, f.at.column,
                ptxexec_fault_kind_text(f.kind), f.message, f.at.warp, f.at.lane);
    }
    return false;
}

typedef struct params {
    uint64_t in, out;
    u32 n_in, n_out;
    _Alignas(64) unsigned char maps[PEER_MAX_MAPS][128];
} params;

static bool encode_maps(const peer_config *c, params *p)
{
    for (u32 k = 0; k < c->n_maps; k++) {
        const peer_map *m = &c->maps[k];
        ptxexec_tensormap t = {.struct_size = sizeof t,
                               .target = 90,
                               .type = m->type,
                               .rank = m->rank,
                               .swizzle = m->swizzle,
                               .oob_fill = m->fill,
                               .elem_strides = {1, 1, 1, 1, 1},
                               .address = (m->is_out != 0 ? p->out : p->in) + m->offset};
        for (u32 d = 0; d < 5; d++) {
            t.box[d] = m->box[d];
            t.dims[d] = m->dims[d];
            t.strides[d % 4] = m->strides[d % 4];
        }
        ptxexec_tensormap_fault fault;
        if (ptxexec_tensormap_check(&t, &fault, 1, NULL) > 0) {
            fprintf(stderr, "  map %u: %s\n", k, fault.message);
        }
        if (ptxexec_tensormap_encode(&t, p->maps[k]) != PTXEXEC_OK) {
            return false;
        }
    }
    return true;
}

static bool run_once(const run *x)
{
    const peer_config *c = x->c;
    ptxexec_device *d = NULL;
    ptxexec_report *r = NULL;
    uint64_t a = 0;
    uint64_t b = 0;
    bool is_ok =
        ptxexec_device_create(NULL, &d) == PTXEXEC_OK &&
        ptxexec_device_alloc(d, c->n_in * 4, PTXEXEC_FILL_POISON, "in", &a) == PTXEXEC_OK &&
        ptxexec_device_alloc(d, c->n_out * 4, PTXEXEC_FILL_ZERO, "out", &b) == PTXEXEC_OK &&
        ptxexec_device_write(d, a, x->in, c->n_in * 4) == PTXEXEC_OK;
    params p = {.in = a, .out = b, .n_in = c->n_in, .n_out = c->n_out};
    is_ok = is_ok && encode_maps(c, &p);
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .entry = x->entry,
                                .grid = {c->grid, 1, 1},
                                .block = {c->block, 1, 1},
                                .dynamic_shared = c->dynamic_shared,
                                .params = &p,
                                .params_size =
                                    c->n_maps > 0 ? sizeof p : offsetof(params, n_out) + 4,
                                .seed = x->seed,
                                .max_steps = x->max_steps,
                                .host_threads = x->threads,
                                .races = x->races};
    is_ok =
        is_ok && (ptxexec_launch(d, x->m, &o, &r) == PTXEXEC_OK || (r != NULL && show_faults(r)));
    uint64_t n_poison = 0;
    is_ok = is_ok &&
            ptxexec_device_read(d, b, x->out, c->n_out * 4, &n_poison, NULL) == PTXEXEC_OK &&
            n_poison == 0;
    ptxexec_report_destroy(r);
    ptxexec_device_destroy(d);
    return is_ok;
}

static bool compare(const peer *p, const u32 *got, const u32 *want)
{
    for (u32 i = 0; i < p->config->n_out; i++) {
        if (got[i] != want[i]) {
            fprintf(stderr, "  out[%u] is 0x%08x, expected 0x%08x\n", i, got[i], want[i]);
            return false;
        }
    }
    return true;
}

/* What is tried runs with each seed in the mode given; else modes and numbers of threads take
 * turns. */
typedef struct attempt {
    bool is_try;
    ptxexec_races races;
    uint32_t n_seeds;
} attempt;

static bool run_module(const peer *p, ptxexec_module *m, const attempt *t)
{
    const peer_config *c = p->config;
    u32 *in = calloc(c->n_in + 1, 4);
    u32 *out = calloc(c->n_out + 1, 4);
    u32 *want = calloc(c->n_out + 1, 4);
    size_t entry = 0;
    bool is_ok = in != NULL && out != NULL && want != NULL &&
                 ptxexec_module_find(m, p->entry, &entry) == PTXEXEC_OK;
    if (is_ok) {
        fill(c, in);
        p->host(in, want, c->n_in, c->n_out);
    }
    for (uint32_t k = 0; k < t->n_seeds && is_ok; k++) {
        run x = {.m = m,
                 .entry = entry,
                 .c = c,
                 .in = in,
                 .out = out,
                 .seed = k,
                 .threads = k == 3 ? 2 : 1};
        bool has_races = t->n_seeds > 4 ? k >= 4 : k == 1 || k == 2;
        x.max_steps = t->is_try ? STEPS_TO_TRY : MANY_STEPS;
        x.races = t->is_try ? t->races : has_races ? PTXEXEC_RACES_PRACTICE : PTXEXEC_RACES_OFF;
        is_ok = run_once(&x) && compare(p, out, want);
    }
    free(in);
    free(out);
    free(want);
    return is_ok;
}

/* 0: right, 1: no module, 4: not right */
static int run_peer(const peer *p, const char *path, const attempt *t)
{
    size_t size = 0;
    char *text = read_file(path, &size);
    ptxexec_module *m = NULL;
    if (text == NULL) {
        fprintf(stderr, "  nvcc made no PTX\n");
        return 1;
    }
    bool is_ok = ptxexec_module_load(NULL, text, size, &m) == PTXEXEC_OK;
    for (size_t k = 0; m != NULL && k < ptxexec_module_diag_count(m); k++) {
        ptxexec_diag d = ptxexec_module_diag(m, k);
        fprintf(stderr, "  line %u:%u: PG%u %s\n", d.line, d.column, d.number, d.message);
    }
    int result = !is_ok ? 1 : run_module(p, m, t) ? 0 : 4;
    ptxexec_module_destroy(m);
    free(text);
    return result;
}

static int try_one(char **argv)
{
    attempt t = {.is_try = true, .n_seeds = (uint32_t)strtoul(argv[5], NULL, 10)};
    t.races = strcmp(argv[4], "isa") == 0        ? PTXEXEC_RACES_ISA
              : strcmp(argv[4], "practice") == 0 ? PTXEXEC_RACES_PRACTICE
                                                 : PTXEXEC_RACES_OFF;
    for (uint32_t k = 0; k < N_PEERS; k++) {
        if (strcmp(peers[k].name, argv[2]) == 0) {
            return run_peer(&peers[k], argv[3], &t);
        }
    }
    fprintf(stderr, "no program %s\n", argv[2]);
    return 2;
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    bool is_found = argc <= 3;
    for (int k = 3; k < argc; k++) {
        is_found = is_found || strcmp(argv[k], name) == 0;
    }
    return is_found;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "--try") == 0) {
        return try_one(argv);
    }
    const char *nvcc = getenv("PTXGEN_NVCC");
    nvcc = nvcc != NULL && nvcc[0] != 0 ? nvcc : "nvcc";
    if (argc < 3) {
        fprintf(stderr, "usage: peer_run SOURCE_DIR CACHE_DIR [NAME...]\n");
        return 2;
    }
    if (!nvcc_is_there(nvcc)) {
        printf("skipped: no nvcc (set PTXGEN_NVCC or PATH)\n");
        return 77;
    }
    const char *shared = getenv("PTXGEN_TEST_CACHE"); /* one for all builds: nvcc takes minutes */
    const char *cache = shared != NULL && shared[0] != '\0' ? shared : argv[2];
    if (mkdir(cache, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "cannot make %s\n", cache);
        return 1;
    }
    static job jobs[N_PEERS * 2];
    static nvcc_job texts[N_PEERS * 2];
    bool is_list = argc == 4 && strcmp(argv[3], "--list") == 0;
    size_t n_jobs = list_jobs(jobs);
    size_t n_texts = 0;
    for (size_t k = 0; k < n_jobs; k++) {
        if (is_list || is_wanted(jobs[k].peer->name, argc, argv)) {
            jobs[n_texts] = jobs[k];
            texts[n_texts++] = (nvcc_job){.name = jobs[k].peer->file, .arch = jobs[k].arch};
        }
    }
    nvcc_compile(nvcc, argv[1], cache, texts, n_texts);
    attempt all = {.n_seeds = getenv("PTXGEN_TEST_LONG") != NULL ? 16 : 4};
    uint32_t n_passed = 0;
    uint32_t n_failed = 0;
    for (size_t k = 0; k < n_texts; k++) {
        const peer *p = jobs[k].peer;
        if (is_list) {
            printf("%s %s %s\n", p->name, p->entry != NULL ? p->entry : "-", texts[k].ptx);
        } else if (run_peer(p, texts[k].ptx, &all) == 0) {
            n_passed++;
        } else {
            fprintf(stderr, "FAILED %s (%s)\n", jobs[k].peer->name, texts[k].ptx);
            n_failed++;
        }
    }
    if (!is_list) {
        printf("%u passed, %u failed\n", n_passed, n_failed);
    }
    return n_failed == 0 ? 0 : 1;
}
