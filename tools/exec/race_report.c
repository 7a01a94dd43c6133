/* race_report.c: what is said about a race: both accesses, and what would order them. */
#include "tools/exec/cluster.h"
#include "tools/exec/race.h"

static ptxexec_access access_of(const pe_warp *w, const pe_mark *m)
{
    const pe_launch *l = w->cta->launch;
    const uint32_t *block = l->o.block;
    uint32_t per = w->cta->races->warps_of_cta * PE_LANES;
    uint32_t tid = m->tid % per;
    pg_loc loc = l->m->srcs.at[l->m->code.at[m->pc].src].loc;
    ptxexec_access at = {
        .line = loc.line,
        .column = loc.column,
        .thread = {tid % block[0], tid / block[0] % block[1], tid / block[0] / block[1]},
        .warp = tid / PE_LANES,
        .lane = tid % PE_LANES,
        .lanes = 1u << (tid % PE_LANES)};
    pe_cluster_place(l, m->cluster, m->tid / per, at.cta);
    return at;
}

/* What is missing between the two. */
static void put_advice(pg_strbuf *text, const pe_warp *w, const pe_mark *m)
{
    const pe_races *r = w->cta->races;
    uint32_t warp = m->tid / PE_LANES;
    if (m->cluster != w->cta->cluster->number) {
        pg_put(text, "CTAs run in any order: atomics, or a flag with fences on both sides, would "
                     "order them");
        return;
    }
    if (m->is_unfenced) {
        pg_put(text,
               "a fence.proxy.async between them, of the thread that accessed first before it "
               "signals or of the one that issues this, would");
        return;
    }
    if (m->kind == PE_MK_WGMMA) {
        pg_put(text, "no wgmma.wait_group of the warp group covers it yet, or nothing orders "
                     "that wait before this write");
        return;
    }
    if (m->kind == PE_MK_BULK) {
        pg_put(text, m->is_write && !m->is_grouped
                         ? "this thread has not seen the end of the phase of the mbarrier that the "
                           "copy signals"
                         : "no cp.async.bulk.wait_group of the issuing thread covers it yet");
        return;
    }
    if (m->kind == PE_MK_PENDING) {
        pg_put(text, "no cp.async.wait_group of the copying thread covers it yet");
        pg_put(text, warp == w->race_index ? "" : ", and a bar.sync must follow that");
        return;
    }
    if (m->kind == PE_MK_COPIED) {
        pg_put(text, "the copying thread waited for it, but no barrier orders that wait before "
                     "this access");
        return;
    }
    if (warp / r->warps_of_cta != w->cta->rank) {
        pg_put(text, "they are of two CTAs of a cluster: barrier.cluster with .release and "
                     ".acquire, or an mbarrier, would order them");
        return;
    }
    if (warp == w->race_index) {
        pg_put(text, "both are of one warp: a bar.warp.sync between them would order them");
        return;
    }
    const pe_meeting *a = &r->meeting[w->race_index];
    const pe_meeting *b = &r->meeting[warp];
    if (a->is_set && b->is_set && a->id == b->id) {
        pg_putf(text,
                "a bar.sync of both warps between them would order them; they last arrived at "
                "barrier %u, lines %u and %u",
                a->id, a->line, b->line);
        return;
    }
    pg_put(text, "a bar.sync of both warps between them would order them");
}

static bool is_asynchronous(pe_mark_kind kind)
{
    return kind == PE_MK_PENDING || kind == PE_MK_COPIED || kind == PE_MK_BULK ||
           kind == PE_MK_WGMMA;
}

void pe_race_report(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t generic, uint32_t size,
                    bool is_write, const pe_mark *other)
{
    pe_cta *cta = w->cta;
    ptxexec_access at = access_of(w, other);
    pg_strbuf text;
    pg_strbuf_init(&text, cta->worker->alloc);
    pg_putf(&text, "%s of %u bytes at 0x%llx, and the %s%s of line %u (",
            is_write ? "write" : "read", size, (unsigned long long)generic,
            is_asynchronous(other->kind) ? "asynchronous " : "", other->is_write ? "write" : "read",
            at.line);
    if (memcmp(at.cta, cta->id, sizeof at.cta) != 0) {
        pg_putf(&text, "CTA %u,%u,%u, ", at.cta[0], at.cta[1], at.cta[2]);
    }
    pg_putf(&text, "warp %u, lane %u) are not ordered%s: ", at.warp, at.lane,
            other->is_unfenced ? " between the generic and the async proxy" : "");
    size_t missing_at = text.len;
    put_advice(&text, w, other);
    uint32_t n = cta->n_faults;
    if (text.is_oom) {
        cta->worker->is_oom = true;
        cta->is_failed = true;
    } else {
        pe_fault_at(w, i, other->is_unfenced ? PTXEXEC_F_PROXY : PTXEXEC_F_RACE,
                    (pe_place){.lanes = 1u << lane, .address = generic, .size = size}, "%s",
                    text.ptr);
    }
    pg_strbuf_fini(&text);
    if (cta->n_faults > n) {
        cta->worker->last_fault->f.has_other = 1;
        cta->worker->last_fault->f.other = at;
        cta->worker->last_fault->missing_at = missing_at;
    }
}
