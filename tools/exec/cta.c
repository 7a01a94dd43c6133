/* cta.c: one CTA: its memory, its warps, the order in which they run, its end. */
#include "tools/exec/async.h"
#include "tools/exec/bulk.h"
#include "tools/exec/cluster.h"
#include "tools/exec/mbar.h"
#include "tools/exec/race.h"
#include "tools/exec/trace.h"
#include "tools/exec/wgmma.h"

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

/* ---- faults -------------------------------------------------------------------------------------
 */

static void place_fault(const pe_warp *w, const pe_inst *i, uint32_t mask, ptxexec_access *at)
{
    const pe_cta *cta = w->cta;
    pg_loc loc = cta->launch->m->srcs.at[i->src].loc;
    at->line = loc.line;
    at->column = loc.column;
    at->warp = w->index;
    at->lane = pe_first(mask);
    at->lanes = mask;
    for (uint32_t k = 0; k < 3; k++) {
        at->cta[k] = cta->id[k];
        at->thread[k] = w->tid[k][at->lane];
    }
}

void pe_fault_at(pe_warp *w, const pe_inst *i, ptxexec_fault_kind kind, pe_place place,
                 const char *format, ...)
{
    pe_cta *cta = w->cta;
    pe_worker *worker = cta->worker;
    cta->is_failed = true;
    w->is_stopped = true;
    if (cta->n_faults >= cta->launch->o.max_faults) {
        return;
    }
    pg_strbuf text;
    pg_strbuf_init(&text, cta->worker->alloc);
    va_list args;
    va_start(args, format);
    pg_putv(&text, format, args);
    va_end(args);
    pe_fault *f = PG_NEW(&worker->arena, pe_fault);
    pg_str message = pg_arena_str(&worker->arena, pg_strbuf_str(&text));
    if (f == NULL || message.ptr == NULL || text.is_oom) {
        worker->is_oom = true;
        pg_strbuf_fini(&text);
        return;
    }
    pg_strbuf_fini(&text);
    f->f = (ptxexec_fault){
        .kind = kind, .message = message.ptr, .address = place.address, .size = place.size};
    f->cta = cta->linear;
    place_fault(w, i, place.lanes, &f->f.at);
    if (worker->last_fault != NULL) {
        worker->last_fault->next = f;
    } else {
        worker->faults = f;
    }
    worker->last_fault = f;
    cta->n_faults++;
}

/* ---- begin and end
 * ---------------------------------------------------------------------------------- */

enum { MAX_HELD = 32 }; /* visits */

static void place_cta(pe_cta *cta, uint32_t n_warps)
{
    const ptxexec_launch_options *o = &cta->launch->o;
    pe_cluster_place(cta->launch, cta->cluster->number, cta->rank, cta->id);
    cta->linear = cta->id[0] + o->grid[0] * (cta->id[1] + (uint64_t)o->grid[1] * cta->id[2]);
    /* splitmix64 of seed and number: neighbours get unlike sequences. */
    uint64_t x = o->seed * UINT64_C(0x9E3779B97F4A7C15) + cta->linear + 1;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    cta->rng = (x ^ (x >> 31)) | 1;
    uint64_t draw = pe_random(&cta->rng) >> 32;
    cta->held = (uint32_t)(draw >> 8) % n_warps;
    cta->n_held = (draw & 3u) == 0 ? (uint32_t)(draw >> 16) % MAX_HELD : 0;
}

static bool init_shared(pe_cta *cta)
{
    uint32_t size = cta->launch->shared_size;
    cta->shared = (pe_region){.base = PE_SHARED_START + (cta->rank << PE_RANK_SHIFT),
                              .size = size,
                              .open = size,
                              .label = "shared memory"};
    if (size == 0) {
        return true;
    }
    cta->shared.data = resize(cta->worker->alloc, NULL, 0, (size_t)size * 2);
    if (cta->shared.data == NULL) {
        return false;
    }
    cta->shared.poison = cta->shared.data + size;
    memset(cta->shared.data, 0xA5, size);
    memset(cta->shared.poison, 1, size);
    return true;
}

static bool init_warp(pe_cta *cta, pe_warp *w, uint32_t index)
{
    const pe_func *f = cta->launch->entry;
    const uint32_t *block = cta->launch->o.block;
    w->cta = cta;
    w->index = index;
    w->race_index = cta->rank * cta->n_warps + index;
    w->c32 = cta->launch->m->pool32;
    w->c64 = cta->launch->m->pool64;
    uint32_t left = cta->n_threads - index * PE_LANES;
    w->live = left >= PE_LANES ? PE_ALL : (1u << left) - 1u;
    w->runnable = w->live;
    uint32_t local_end = PE_LOCAL_START + f->local_size;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint32_t t = index * PE_LANES + l;
        w->tid[0][l] = t % block[0];
        w->tid[1][l] = t / block[0] % block[1];
        w->tid[2][l] = t / block[0] / block[1];
        w->lane[l] = (pe_lane){.pc = f->entry_pc};
        w->func[l] = f;
        w->local_base[l] = PE_LOCAL_START;
        w->local_top[l] = local_end;
    }
    return pe_rows_reserve(w, f->n32, f->n64, f->np) && pe_local_reserve(w, f->local_size);
}

bool pe_cta_init(pe_cta *cta, pe_cluster *cluster, uint32_t rank)
{
    pe_launch *l = cluster->launch;
    *cta = (pe_cta){.launch = l,
                    .worker = cluster->worker,
                    .cluster = cluster,
                    .rank = rank,
                    .next_due = UINT64_MAX};
    cta->n_threads = l->o.block[0] * l->o.block[1] * l->o.block[2];
    cta->n_live = cta->n_threads;
    uint32_t n_warps = (cta->n_threads + PE_LANES - 1) / PE_LANES;
    pg_strbuf_init(&cta->output, cta->worker->alloc);
    place_cta(cta, n_warps);
    cta->warps = resize(cta->worker->alloc, NULL, 0, n_warps * sizeof *cta->warps);
    bool is_ok = cta->warps != NULL;
    if (is_ok) {
        memset(cta->warps, 0, n_warps * sizeof *cta->warps);
        cta->n_warps = n_warps;
        for (uint32_t k = 0; k < n_warps; k++) {
            cta->warps[k].cta = cta;
        }
        is_ok = init_shared(cta);
    }
    for (uint32_t k = 0; is_ok && k < n_warps; k++) {
        is_ok = init_warp(cta, &cta->warps[k], k);
    }
    if (is_ok && l->o.collect_trace != 0) {
        is_ok = pe_trace_begin(cta);
    }
    if (!is_ok) {
        cluster->worker->is_oom = true;
        pe_cta_fini(cta);
    }
    return is_ok;
}

static void keep_output(pe_cta *cta)
{
    pe_worker *worker = cta->worker;
    pg_str text = pg_strbuf_str(&cta->output);
    if (text.len > 0) {
        pe_chunk *c = PG_NEW(&worker->arena, pe_chunk);
        pg_str copy = pg_arena_str(&worker->arena, text);
        if (c == NULL || copy.ptr == NULL || cta->output.is_oom) {
            worker->is_oom = true;
        } else {
            *c = (pe_chunk){.cta = cta->linear, .text = copy, .next = worker->output};
            worker->output = c;
        }
    }
    pg_strbuf_fini(&cta->output);
}

static void keep_trace(pe_cta *cta)
{
    pe_worker *worker = cta->worker;
    if (cta->trace == NULL || cta->trace->events.n == 0) {
        return;
    }
    pe_traced *t = PG_NEW(&worker->arena, pe_traced);
    if (t == NULL) {
        worker->is_oom = true;
        return;
    }
    *t = (pe_traced){.cta = cta->linear,
                     .events = cta->trace->events.at,
                     .n = cta->trace->events.n,
                     .next = worker->traced};
    worker->traced = t;
}

void pe_cta_fini(pe_cta *cta)
{
    pg_alloc alloc = cta->worker->alloc;
    keep_output(cta);
    keep_trace(cta);
    for (uint32_t k = 0; k < cta->n_warps; k++) {
        pe_copy_fini(&cta->warps[k]);
        pe_wg_regs_free(&cta->warps[k]);
        pe_warp_memory_free(&cta->warps[k]);
    }
    pe_tasks_fini(cta);
    pe_bulk_fini(cta);
    pe_mbar_fini(cta);
    pe_wg_fini(cta);
    pe_pool_fini(cta);
    resize(alloc, cta->warps, cta->n_warps * sizeof *cta->warps, 0);
    resize(alloc, cta->shared.data, (size_t)cta->shared.size * 2, 0);
    *cta = (pe_cta){.launch = cta->launch,
                    .worker = cta->worker,
                    .cluster = cta->cluster,
                    .linear = cta->linear,
                    .is_failed = cta->is_failed};
    pg_strbuf_init(&cta->output, alloc);
}

/* ---- running
 * ------------------------------------------------------------------------------------------ */

static uint32_t runnable_warps(pe_cta *cta)
{
    uint32_t set = 0;
    for (uint32_t k = 0; k < cta->n_warps; k++) {
        pe_warp *w = &cta->warps[k];
        if (w->live != 0 && w->runnable == 0) {
            pe_warp_recheck(w);
        }
        set |= w->runnable != 0 ? 1u << k : 0;
    }
    return set;
}

static void report_waiter(pe_warp *w, uint32_t group)
{
    uint32_t lane = pe_first(group);
    const pe_inst *i = &w->cta->launch->m->code.at[w->lane[lane].pc];
    switch (w->wait[lane]) {
    case PE_W_CLUSTER:
        pe_fault_at(w, i, PTXEXEC_F_DEADLOCK, (pe_place){.lanes = group},
                    "lanes %08x wait at the barrier of the cluster: %u threads arrived", group,
                    w->cta->cluster->n_arrived);
        break;
    case PE_W_MBAR: pe_mbar_report(w, group); break;
    case PE_W_ALIGN:
        pe_fault_at(w, i, PTXEXEC_F_DIVERGED, (pe_place){.lanes = group},
                    "lanes %08x wait here for the rest of the warp, which waits elsewhere; live "
                    "lanes are %08x",
                    group, w->live);
        break;
    case PE_W_SYNC:
        pe_fault_at(w, i, PTXEXEC_F_DEADLOCK, (pe_place){.lanes = group},
                    "lanes %08x wait for the lanes %08x of member mask 0x%08x", group,
                    w->wait_mask[lane] & w->live & ~group, w->wait_mask[lane]);
        break;
    case PE_W_WGMMA: pe_wg_report_wait(w, i, group); break;
    case PE_W_POOL: pe_pool_report_wait(w, i, group); break;
    default: {
        const pe_barrier *b = &w->cta->barrier[w->wait_key[lane] % PE_N_BARRIERS];
        uint32_t expected = b->expected != 0 ? b->expected : w->cta->n_live;
        pe_fault_at(w, i, PTXEXEC_F_DEADLOCK, (pe_place){.lanes = group},
                    "lanes %08x wait at barrier %u: %u of %u threads arrived", group,
                    w->wait_key[lane], b->arrived, expected);
        break;
    }
    }
}

/* No warp can move: every waiter is named, and nothing outside could wake one. */
void pe_cta_report_waiters(pe_cta *cta)
{
    for (uint32_t k = 0; k < cta->n_warps; k++) {
        pe_warp *w = &cta->warps[k];
        uint32_t rest = w->live;
        while (rest != 0) {
            uint32_t group = pe_group_of(w, pe_first(rest), rest);
            report_waiter(w, group);
            rest &= ~group;
        }
    }
}

static uint32_t pick(pe_cta *cta, uint32_t set)
{
    uint32_t skip = (uint32_t)(pe_random(&cta->rng) >> 33) % pe_count(set);
    while (skip > 0) {
        set &= set - 1;
        skip--;
    }
    return pe_first(set);
}

bool pe_cta_can_run(pe_cta *cta)
{
    return runnable_warps(cta) != 0 || cta->is_failed;
}

/* Those that may run; none while only the warp that is held back could. */
static uint32_t without_held(const pe_cta *cta, uint32_t set)
{
    return cta->n_held > 0 ? set & ~(1u << cta->held) : set;
}

pe_cta_state pe_cta_run(pe_cta *cta, uint32_t turns)
{
    if (turns != 0) {
        /* Others see this CTA at a point of the seed's: after few turns or many, with one warp that
         * comes late. */
        turns = 1 + (uint32_t)(pe_random(&cta->rng) >> 40) % turns;
        cta->n_held -= cta->n_held > 0 ? 1 : 0;
    }
    for (uint32_t turn = 0; turns == 0 || turn < turns; turn++) {
        if (cta->n_live == 0 && !cta->is_failed && !cta->is_over) {
            cta->is_over = true;
            pe_bulk_exit(cta);
            if (!cta->is_failed && cta->races != NULL) {
                pe_race_cta_end(cta);
            }
        }
        if (cta->is_failed || cta->worker->is_oom || cta->n_live == 0) {
            return PE_CTA_OVER;
        }
        if (cta->n_steps >= cta->next_due) {
            pe_async_advance(cta);
        }
        if (cta->wg != NULL && cta->n_steps >= cta->wg->next_due) {
            pe_wg_advance(cta);
        }
        uint32_t set = runnable_warps(cta);
        if (set == 0) {
            return cta->is_failed ? PE_CTA_OVER : PE_CTA_STUCK;
        }
        if (turns != 0) {
            set = without_held(cta, set);
            if (set == 0) {
                return PE_CTA_RUNS;
            }
        }
        uint32_t index = pick(cta, set);
        uint32_t budget = 4096;
        if ((set & (set - 1)) != 0 || cta->next_due != UINT64_MAX || cta->wg != NULL ||
            cta->cluster->n > 1) {
            /* several, or copies under way: short turns of drawn length */
            budget = 16 + (uint32_t)(pe_random(&cta->rng) >> 40) % 128;
        }
        pe_warp_run(&cta->warps[index], budget);
    }
    return PE_CTA_RUNS;
}
