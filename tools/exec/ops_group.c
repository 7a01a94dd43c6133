/* ops_group.c: setmaxnreg and its pool; instructions that order grids or advise caches, which
 * change no result.
 *
 * S1  All four warps of a warp group execute the same setmaxnreg instructions, in the same order,
 *     and meet between two of them. One that asks for what the warp has does not count (isa: it
 *     does).
 * S2  .dec does not raise a warp's count, .inc does not lower it.
 * S3  .inc waits until the CTA's pool has what it asks for; only .dec gives to the pool.
 *
 * A warp starts with the count that .maxnreg says, else with what .minnctapersm and the threads
 * leave of 65536. Without these ptxas ignores setmaxnreg, and so do S2 and S3. */
#include "tools/exec/ops.h"

enum { GROUP = 4, REGISTERS = 65536, MOST = 256, STEP = 8, LEAST = 24 };

typedef struct group {
    uint32_t n_begun;           /* instructions that some warp executed */
    uint32_t n_executed[GROUP]; /* by warp */
    const pe_inst *newest;      /* number n_begun - 1 */
} group;

struct pe_pool {
    uint32_t count[PE_MAX_WARPS]; /* registers of a thread; 0: not known */
    uint32_t n_free;              /* in the pool: for each of 32 threads */
    group groups[PE_MAX_WARPS / GROUP];
};

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

/* ---- the pool -----------------------------------------------------------------------------------
 */

/* Registers of a thread at entry, 0 if the directives do not say. */
static uint32_t count_at_entry(const pe_func *f)
{
    const uint32_t *block = f->reqntid[0] != 0 ? f->reqntid : f->maxntid;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (f->maxnreg != 0) {
        return (f->maxnreg + STEP - 1) / STEP * STEP;
    }
    if (f->minnctapersm == 0 || threads == 0) {
        return 0;
    }
    uint64_t n = REGISTERS / (threads * f->minnctapersm) / STEP * STEP;
    return n < MOST ? (uint32_t)n : MOST;
}

static struct pe_pool *pool_of(pe_cta *cta)
{
    if (cta->pool == NULL) {
        cta->pool = resize(cta->worker->alloc, NULL, 0, sizeof *cta->pool);
        if (cta->pool == NULL) {
            cta->worker->is_oom = true;
            return NULL;
        }
        memset(cta->pool, 0, sizeof *cta->pool);
        for (uint32_t k = 0; k < cta->n_warps; k++) {
            cta->pool->count[k] = count_at_entry(cta->launch->entry);
        }
    }
    return cta->pool;
}

void pe_pool_fini(pe_cta *cta)
{
    resize(cta->worker->alloc, cta->pool, sizeof *cta->pool, 0);
    cta->pool = NULL;
}

static uint32_t line_of(const pe_warp *w, const pe_inst *i)
{
    return w->cta->launch->m->srcs.at[i->src].loc.line;
}

/* S1. False after a fault. */
static bool join(pe_warp *w, const pe_inst *i, group *g)
{
    uint32_t self = w->index % GROUP;
    uint32_t n = g->n_executed[self];
    for (uint32_t k = 0; k < GROUP; k++) {
        if (g->n_executed[k] < n) {
            pe_fault_at(w, i, PTXEXEC_F_WARP_GROUP, (pe_place){.lanes = PE_ALL},
                        "warp %u of the warp group has not executed the setmaxnreg of line %u yet: "
                        "the four warps must meet between two of them",
                        w->index - self + k, line_of(w, g->newest));
            return false;
        }
    }
    if (n == g->n_begun) {
        g->newest = i;
        g->n_begun++;
    } else if (g->newest->op != i->op || g->newest->imm != i->imm) {
        pe_fault_at(w, i, PTXEXEC_F_WARP_GROUP, (pe_place){.lanes = PE_ALL},
                    "another warp of the warp group executed the setmaxnreg of line %u instead",
                    line_of(w, g->newest));
        return false;
    }
    g->n_executed[self]++;
    return true;
}

static void wake_all(pe_cta *cta)
{
    for (uint32_t k = 0; k < cta->n_warps; k++) {
        pe_warp *v = &cta->warps[k];
        if (v->live == PE_ALL && v->wait[0] == PE_W_POOL) {
            pe_lanes_wake(v, PE_ALL, false);
        }
    }
}

/* op 1: .inc, 2: .dec; imm: registers of a thread */
static void setmaxnreg(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    struct pe_pool *p = pe_has_warp_group(w, i, mask) ? pool_of(w->cta) : NULL;
    if (p == NULL) {
        return;
    }
    group *g = &p->groups[w->index / GROUP];
    uint32_t *count = &p->count[w->index];
    uint32_t wanted = (uint32_t)i->imm;
    bool is_inc = i->op == 1;
    if (*count != 0 && (is_inc ? wanted < *count : wanted > *count)) {
        pe_fault_at(w, i, PTXEXEC_F_POOL, (pe_place){.lanes = mask},
                    "%s to %u registers, but the warp has %u", is_inc ? ".inc" : ".dec", wanted,
                    *count);
        return;
    }
    if (*count != 0 && is_inc && wanted - *count > p->n_free) {
        pe_lanes_wait(w, i, mask, PE_W_POOL);
        return;
    }
    bool is_idle = *count == wanted && w->cta->launch->o.races != PTXEXEC_RACES_ISA;
    if (is_idle || !join(w, i, g) || *count == 0) {
        return;
    }
    if (is_inc) {
        p->n_free -= wanted - *count;
    } else {
        p->n_free += *count - wanted;
    }
    *count = wanted;
    if (!is_inc) {
        wake_all(w->cta);
    }
}

void pe_pool_report_wait(pe_warp *w, const pe_inst *i, uint32_t lanes)
{
    const struct pe_pool *p = w->cta->pool;
    uint32_t held = 0;
    for (uint32_t k = 0; k < w->cta->n_warps; k++) {
        held += p->count[k];
    }
    pe_fault_at(w, i, PTXEXEC_F_POOL, (pe_place){.lanes = lanes},
                "this waits for %u more registers a thread, and nobody frees any: the pool has %u, "
                "the CTA's warps hold %u of %u",
                (uint32_t)i->imm - p->count[w->index], p->n_free, held, held + p->n_free);
}

void pe_pool_end(pe_cta *cta)
{
    for (uint32_t k = 0; k < PG_COUNT_OF(cta->pool->groups) && !cta->is_failed; k++) {
        const group *g = &cta->pool->groups[k];
        for (uint32_t j = 0; j < GROUP && g->n_begun != 0; j++) {
            if (g->n_executed[j] != g->n_begun) {
                pe_warp *w = &cta->warps[k * GROUP + j];
                pe_fault_at(w, g->newest, PTXEXEC_F_WARP_GROUP, (pe_place){.lanes = PE_ALL},
                            "warp %u exited without it: all warps of a warp group must execute it",
                            w->index);
                return;
            }
        }
    }
}

void pe_dec_setmaxnreg(pe_dec *d)
{
    d->i.op = (uint16_t)pe_take_one(d, "inc dec");
    if (d->i.op == 0 || !pe_take(d, "sync") || !pe_take(d, "aligned") || !pe_take(d, "u32")) {
        pe_unsupported(d, "this form");
        return;
    }
    const pg_ptx_opnd *o = pe_arg(d, 0);
    if (o->kind != PG_PTX_O_INT || o->imm < LEAST || o->imm > MOST || o->imm % STEP != 0) {
        pe_invalid(d, "the number of registers is no multiple of 8 from 24 to 256");
        return;
    }
    d->i.imm = o->imm;
    d->i.flags |= PE_I_ALIGNED;
    pe_emit(d, setmaxnreg);
}

/* ---- grids and caches ---------------------------------------------------------------------------
 */

static void nothing(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    (void)w;
    (void)i;
    (void)mask;
}

/* A launch is one grid: those before it are complete, those behind it come later. */
void pe_dec_griddepcontrol(pe_dec *d)
{
    pe_emit(d, pe_take_one(d, "launch_dependents wait") != 0 ? nothing : NULL);
}

void pe_dec_applypriority(pe_dec *d)
{
    (void)pe_take(d, "global");
    pe_emit(d, pe_take(d, "L2::evict_normal") ? nothing : NULL);
}

static void make_policy(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint64_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = (uint64_t)i->imm;
    }
    pe_put64(w, i->d, t, mask, 0);
}

/* The value is opaque to programs, and no cache looks at it here. What ptxas folds whole fractions
 * to: 0x12F0... evict_first, 0x14F0... evict_last, 0x16F0... evict_normal. */
void pe_dec_createpolicy(pe_dec *d)
{
    static const uint64_t values[] = {0, UINT64_C(0x14F0000000000000), UINT64_C(0x16F0000000000000),
                                      UINT64_C(0x12F0000000000000), UINT64_C(0x10F0000000000000)};
    uint32_t form = pe_take_one(d, "fractional range cvt");
    if (form == 3) {
        (void)pe_take(d, "L2");
        d->i.imm = (int64_t)values[2];
    } else {
        (void)pe_take(d, "global");
        static const char levels[] =
            "L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged";
        d->i.imm = (int64_t)values[pe_take_one(d, levels)];
        (void)pe_take_one(d, levels);
    }
    d->i.d = pe_out(d, 0, 64);
    pe_emit(d, form != 0 && d->i.imm != 0 && pe_take(d, "b64") ? make_policy : NULL);
}
