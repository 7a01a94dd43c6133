/* launch.c: one grid: checks, workers, and the order of CTAs.
 *
 * A module without global synchronisation (atomics, volatile, acquire or release on memory that
 * CTAs share) has independent CTAs: workers take them in any order. Otherwise one worker runs up to
 * PE_RESIDENT CTAs round robin, so that one interleaving exists for a seed, whatever the number of
 * host threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "tools/exec/cluster.h"
#include "tools/exec/decode.h"
#include "tools/exec/race.h"
#include "tools/exec/report.h"

/* Bytes that a worker keeps of CTAs that ended. */
enum { PE_KEPT = 32 << 20 };
enum { PE_RESIDENT = 128, PE_MAX_WORKERS = 64, PE_TURNS = 2 };

typedef struct crew {
    pe_launch *launch;
    atomic_uint_fast64_t next;
    atomic_uint_fast64_t
        failed; /* least number of a cluster that failed; later ones need not run */
} crew;

typedef struct hand {
    crew *crew;
    pe_worker worker;
    pthread_t thread;
    bool is_started;
} hand;

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

static void note_failure(crew *c, uint64_t cluster)
{
    uint_fast64_t seen = atomic_load(&c->failed);
    while (cluster < seen && !atomic_compare_exchange_weak(&c->failed, &seen, cluster)) {
    }
}

static void *work(void *arg)
{
    hand *h = arg;
    crew *c = h->crew;
    while (!h->worker.is_oom) {
        uint64_t n = atomic_fetch_add(&c->next, 1);
        if (n >= c->launch->n_clusters || n > atomic_load(&c->failed)) {
            break;
        }
        pe_cluster *cluster = pe_cluster_new(c->launch, &h->worker, n);
        if (cluster == NULL) {
            break;
        }
        (void)pe_cluster_run(cluster, 0);
        if (pe_cluster_failed(cluster)) {
            note_failure(c, n);
        }
        pe_cluster_free(cluster);
    }
    return NULL;
}

/* CTAs that may wait for each other, in one interleaving. */
static void work_together(hand *h)
{
    pe_launch *l = h->crew->launch;
    uint64_t most = PE_RESIDENT / l->n_ranks;
    uint32_t n_slots = (uint32_t)(l->n_clusters < most ? l->n_clusters : most);
    pe_cluster **at = resize(l->alloc, NULL, 0, n_slots * sizeof(pe_cluster *));
    if (at == NULL) {
        h->worker.is_oom = true;
        return;
    }
    uint64_t next = 0;
    uint32_t n_live = 0;
    for (; n_live < n_slots; n_live++) {
        at[n_live] = pe_cluster_new(l, &h->worker, next++);
        if (at[n_live] == NULL) {
            break;
        }
    }
    bool is_failed = false;
    while (n_live > 0 && !is_failed && !h->worker.is_oom) {
        for (uint32_t k = 0; k < n_live && !is_failed; k++) {
            if (!pe_cluster_run(at[k], PE_TURNS)) {
                continue;
            }
            is_failed = pe_cluster_failed(at[k]);
            pe_cluster_free(at[k]);
            at[k] = at[n_live - 1];
            if (!is_failed && next < l->n_clusters) {
                at[k] = pe_cluster_new(l, &h->worker, next++);
                if (at[k] != NULL) {
                    continue;
                }
                at[k] = at[n_live - 1];
                is_failed = true;
            }
            n_live--;
            k--;
        }
    }
    for (uint32_t k = 0; k < n_live; k++) {
        pe_cluster_free(at[k]);
    }
    resize(l->alloc, (void *)at, n_slots * sizeof(pe_cluster *), 0);
}

static pe_line *new_lines(pe_launch *l)
{
    size_t size = (size_t)l->m->code.n * sizeof(pe_line);
    pe_line *lines = l->o.collect_stats != 0 ? resize(l->alloc, NULL, 0, size) : NULL;
    if (lines != NULL) {
        memset(lines, 0, size);
    }
    return lines;
}

static ptxexec_status run_crew(pe_launch *l, ptxexec_report *report)
{
    uint32_t n = l->o.host_threads == 0 ? 1 : l->o.host_threads;
    n = n > PE_MAX_WORKERS ? PE_MAX_WORKERS : n;
    /* Races between CTAs are looked for in one order of events. */
    n = l->m->has_global_sync || l->o.races != PTXEXEC_RACES_OFF || l->n_ranks > 1 ? 1 : n;
    hand *hands = resize(l->alloc, NULL, 0, n * sizeof *hands);
    if (hands == NULL) {
        return PTXEXEC_E_NOMEM;
    }
    crew c = {.launch = l};
    atomic_init(&c.next, 0);
    atomic_init(&c.failed, UINT64_MAX);
    for (uint32_t k = 0; k < n; k++) {
        hands[k] = (hand){.crew = &c, .worker = {.launch = l}};
        pg_arena_init(&hands[k].worker.arena, l->alloc);
        pg_pool_init(&hands[k].worker.pool, l->alloc, PE_KEPT);
        hands[k].worker.alloc = pg_pool_alloc(&hands[k].worker.pool);
        hands[k].worker.stats.lines = new_lines(l);
        hands[k].worker.is_oom = l->o.collect_stats != 0 && hands[k].worker.stats.lines == NULL;
    }
    for (uint32_t k = 1; k < n; k++) {
        hands[k].is_started = pthread_create(&hands[k].thread, NULL, work, &hands[k]) == 0;
    }
    if (l->m->has_global_sync) {
        work_together(&hands[0]);
    } else {
        (void)work(&hands[0]);
    }
    ptxexec_status status = PTXEXEC_OK;
    for (uint32_t k = 0; k < n; k++) {
        if (hands[k].is_started) {
            (void)pthread_join(hands[k].thread, NULL);
        }
        if (hands[k].worker.is_oom || !pe_report_take(report, l, &hands[k].worker)) {
            status = PTXEXEC_E_NOMEM;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        pg_arena_fini(&hands[k].worker.arena);
        pg_pool_fini(&hands[k].worker.pool);
        resize(l->alloc, hands[k].worker.stats.lines, (size_t)l->m->code.n * sizeof(pe_line), 0);
    }
    resize(l->alloc, hands, n * sizeof *hands, 0);
    return status;
}

/* ---- checks
 * ---------------------------------------------------------------------------------------- */

static pg_status refuse(ptxexec_report *r, const pe_func *f, const char *why)
{
    return pg_diag_add(&r->diags, PG_D_EXEC_LAUNCH, (pg_loc){0, 0}, PG_STR_ARG(f->name), why);
}

static bool is_three(const uint32_t x[3])
{
    return x[0] != 0 || x[1] != 0 || x[2] != 0;
}

static pg_status check_block(ptxexec_report *r, const pe_func *f, const ptxexec_launch_options *o)
{
    uint64_t threads = 1;
    for (uint32_t k = 0; k < 3; k++) {
        if (o->grid[k] == 0 || o->block[k] == 0) {
            return refuse(r, f, "a component of grid or block is 0");
        }
        if (o->block[k] > 1024) {
            return refuse(r, f, "the block has more than 1024 threads");
        }
        threads *= o->block[k];
        if (is_three(f->reqntid) && o->block[k] != f->reqntid[k]) {
            return refuse(r, f, "the block is not what .reqntid says");
        }
    }
    if (o->grid[0] > INT32_MAX || o->grid[1] > 65535 || o->grid[2] > 65535) {
        return refuse(r, f, "the grid is larger than 2147483647 x 65535 x 65535");
    }
    uint64_t most =
        is_three(f->maxntid) ? (uint64_t)f->maxntid[0] * f->maxntid[1] * f->maxntid[2] : 1024;
    if (threads > 1024 || threads > most) {
        return refuse(r, f,
                      threads > 1024 ? "the block has more than 1024 threads"
                                     : "the block has more threads than .maxntid says");
    }
    if (o->params_size != f->param_size || (o->params == NULL && f->param_size > 0)) {
        return refuse(r, f, "the parameter block has another size than the kernel's parameters");
    }
    return PG_OK;
}

/* `.ptr .align 16` is a promise that ptxas may have used. */
static pg_status check_pointers(const pe_launch *l, ptxexec_report *r)
{
    const pe_func *f = l->entry;
    const uint8_t *block = l->o.params;
    for (uint32_t k = 0; k < f->ptx->params.n; k++) {
        const pg_ptx_sym *s = &l->m->ptx->syms.at[f->ptx->params.at[k]];
        const uint64_t size = pe_sym_size(s);
        uint64_t address = 0;
        if (!s->is_ptr || s->ptr_align < 2 || size > sizeof address) {
            continue;
        }
        memcpy(&address, block + f->param_offsets[k], (size_t)size);
        if (address % s->ptr_align != 0) {
            return pg_diag_add(&r->diags, PG_D_EXEC_ALIGN, s->loc, f->param_names[k],
                               (unsigned long long)address, (unsigned)s->ptr_align);
        }
    }
    return PG_OK;
}

static pg_status check_launch(pe_launch *l, ptxexec_report *r)
{
    const pe_func *f = l->entry;
    const ptxexec_launch_options *o = &l->o;
    PG_TRY(check_block(r, f, o));
    PG_TRY(check_pointers(l, r));
    const uint32_t *cluster = is_three(o->cluster) ? o->cluster : f->reqcluster;
    for (uint32_t k = 0; k < 3; k++) {
        l->cluster[k] = is_three(cluster) ? cluster[k] : 1;
        if (l->cluster[k] == 0 || o->grid[k] % l->cluster[k] != 0) {
            return refuse(r, f, "the grid is not a multiple of the cluster");
        }
        if (is_three(f->reqcluster) && l->cluster[k] != f->reqcluster[k]) {
            return refuse(r, f, "the cluster is not what .reqnctapercluster says");
        }
    }
    l->n_ctas = (uint64_t)o->grid[0] * o->grid[1] * o->grid[2];
    uint64_t n_ranks = (uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2];
    if (n_ranks > PE_MAX_RANKS) {
        return refuse(r, f, "the cluster has more than 16 CTAs");
    }
    l->n_ranks = (uint32_t)n_ranks;
    l->n_clusters = l->n_ctas / n_ranks;
    uint64_t at = PE_SHARED_START + (uint64_t)f->shared_size;
    if (o->dynamic_shared > 0) {
        at = (at + f->dynamic_align - 1) & ~(uint64_t)(f->dynamic_align - 1);
    }
    uint64_t size = at + o->dynamic_shared - PE_SHARED_START;
    if (size > PE_SHARED_MAX) {
        return refuse(r, f, "static and dynamic shared memory exceed 227 KiB");
    }
    l->shared_size = (uint32_t)size;
    return PG_OK;
}

/* ---- memory of the launch
 * ------------------------------------------------------------------------------- */

static ptxexec_status place_symbols(pe_launch *l, ptxexec_report *r)
{
    const ptxexec_module *m = l->m;
    const uint64_t *global_at = NULL;
    ptxexec_status status = pe_device_instance(l->d, m, &global_at);
    if (status != PTXEXEC_OK) {
        return status;
    }
    l->sym_at = PG_NEWS(&r->arena, uint64_t, (size_t)m->ptx->syms.n + 1);
    size_t n_const = m->const_size > PE_CONST_START ? m->const_size - PE_CONST_START : 0;
    size_t n_param = l->entry->param_size;
    uint8_t *bytes = PG_NEWS(&r->arena, uint8_t, 2 * (n_const + n_param) + 1);
    if (l->sym_at == NULL || bytes == NULL) {
        return PTXEXEC_E_NOMEM;
    }
    l->consts = (pe_region){.base = PE_CONST_START,
                            .size = n_const,
                            .data = bytes,
                            .poison = bytes + n_const + n_param};
    l->params = (pe_region){
        .base = 0, .size = n_param, .data = bytes + n_const, .poison = bytes + n_const + n_param};
    memcpy(bytes, m->consts + (n_const > 0 ? PE_CONST_START : 0), n_const);
    if (n_param > 0) {
        memcpy(bytes + n_const, l->o.params, n_param);
    }
    for (uint32_t k = 0; k < m->ptx->syms.n; k++) {
        const pg_ptx_sym *s = &m->ptx->syms.at[k];
        if (s->kind != PG_PTX_SYM_VAR) {
            continue;
        }
        l->sym_at[k] = s->space == PG_PTX_SP_SHARED  ? l->entry->shared_at[k]
                       : s->space == PG_PTX_SP_CONST ? m->sym_at[k]
                                                     : global_at[k];
        for (uint32_t j = 0; s->space == PG_PTX_SP_CONST && j < s->n_relocs; j++) {
            uint8_t *at = bytes + m->sym_at[k] - PE_CONST_START + s->relocs[2 * (size_t)j];
            uint64_t value = 0; /* the addend */
            memcpy(&value, at, sizeof value);
            value += pe_symbol_address(m, global_at, s->relocs[2 * (size_t)j + 1]);
            memcpy(at, &value, sizeof value);
        }
    }
    return PTXEXEC_OK;
}

static double now(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) {
        return 0;
    }
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ptxexec_status launch(pe_launch *l, ptxexec_report *r)
{
    pg_status checked = check_launch(l, r);
    if (checked != PG_OK) {
        return (ptxexec_status)checked;
    }
    ptxexec_status status = place_symbols(l, r);
    if (status != PTXEXEC_OK) {
        return status;
    }
    if (l->o.races != PTXEXEC_RACES_OFF && !pe_gshadow_init(l)) {
        return PTXEXEC_E_NOMEM;
    }
    double begin = now();
    status = run_crew(l, r);
    pe_gshadow_fini(l);
    pe_heap_sweep(l->d);
    r->stats.seconds = now() - begin;
    r->stats.n_ctas = l->n_ctas;
    r->stats.n_warps =
        l->n_ctas * ((l->o.block[0] * l->o.block[1] * l->o.block[2] + PE_LANES - 1) / PE_LANES);
    if (status != PTXEXEC_OK || !pe_report_finish(r, l)) {
        return PTXEXEC_E_NOMEM;
    }
    return r->faults.n > 0 ? PTXEXEC_E_FAULT : PTXEXEC_OK;
}

ptxexec_status ptxexec_launch(ptxexec_device *d, ptxexec_module *m,
                              const ptxexec_launch_options *options, ptxexec_report **out)
{
    if (out == NULL) {
        return PTXEXEC_E_MISUSE;
    }
    *out = NULL;
    ptxexec_launch_options o = {.struct_size = 0};
    if (d == NULL || m == NULL || options == NULL ||
        options->struct_size < offsetof(ptxexec_launch_options, races) ||
        options->struct_size > sizeof o) {
        return PTXEXEC_E_MISUSE;
    }
    memcpy(&o, options, options->struct_size);
    if (o.entry >= m->entries.n || (uint32_t)o.races > PTXEXEC_RACES_ISA) {
        return PTXEXEC_E_MISUSE;
    }
    o.max_steps = o.max_steps == 0 ? UINT64_C(1) << 32 : o.max_steps;
    o.max_faults = o.max_faults == 0 ? 32 : o.max_faults;
    ptxexec_report *r = pe_report_new(d->alloc);
    if (r == NULL) {
        return PTXEXEC_E_NOMEM;
    }
    *out = r;
    pe_launch l = {
        .m = m, .d = d, .alloc = d->alloc, .o = o, .entry = m->funcs.at[m->entries.at[o.entry]]};
    r->status = launch(&l, r);
    return r->status;
}
