/* ops_cluster.c: addresses in other CTAs of the cluster, its barrier, st.async and red.async. */
#include "tools/exec/async.h"
#include "tools/exec/bulk.h"
#include "tools/exec/cluster.h"
#include "tools/exec/ops.h"
#include "tools/exec/race.h"

/* ---- addresses --------------------------------------------------------------------------------
 */

/* n: 1 for generic addresses; op: the width of result and operand */
static void mapa(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *rank = pe_src32(w, i->b);
    uint32_t poison = pe_poison32(w, i->b);
    uint64_t t64[PE_LANES];
    uint32_t t32[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint64_t a = i->op == 64 ? pe_src64(w, i->a)[l] : pe_src32(w, i->a)[l];
        uint64_t keep = ~((uint64_t)0xFF << PE_RANK_SHIFT);
        t64[l] = (a & keep) | (uint64_t)(rank[l] & 0xFFu) << PE_RANK_SHIFT;
        t32[l] = (uint32_t)t64[l];
    }
    pg_foreach_lane(l, mask & ~poison)
    {
        if (rank[l] >= w->cta->cluster->n) {
            pe_fault_at(w, i, PTXEXEC_F_OUT_OF_BOUNDS, (pe_place){.lanes = 1u << l},
                        "rank %u: the cluster has %u CTAs", rank[l], w->cta->cluster->n);
            return;
        }
    }
    if (i->op == 64) {
        pe_put64(w, i->d, t64, mask, poison | pe_poison64(w, i->a));
    } else {
        pe_put32(w, i->d, t32, mask, poison | pe_poison32(w, i->a));
    }
}

void pe_dec_mapa(pe_dec *d)
{
    d->i.n = pe_take(d, "shared::cluster") ? 0 : 1;
    uint32_t bits = pe_type_bits(pe_take_type(d));
    if ((bits != 32 && bits != 64) || (bits == 32 && d->i.n != 0)) {
        pe_unsupported(d, "this type");
        return;
    }
    d->i.op = (uint16_t)bits;
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in(d, 1, bits);
    d->i.b = pe_in(d, 2, 32);
    pe_emit(d, mapa);
}

static void getctarank(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        uint64_t a = i->op == 64 ? pe_src64(w, i->a)[l] : pe_src32(w, i->a)[l];
        t[l] = (uint32_t)(a >> PE_RANK_SHIFT) & 0xFFu;
    }
    pe_put32(w, i->d, t, mask, i->op == 64 ? pe_poison64(w, i->a) : pe_poison32(w, i->a));
}

void pe_dec_getctarank(pe_dec *d)
{
    (void)pe_take(d, "shared::cluster");
    uint32_t bits = pe_type_bits(pe_take_type(d));
    d->i.op = (uint16_t)bits;
    d->i.d = pe_out(d, 0, 32);
    d->i.a = pe_in(d, 1, bits);
    pe_emit(d, bits == 32 || bits == 64 ? getctarank : NULL);
}

/* ---- barrier.cluster --------------------------------------------------------------------------
 */

/* op: 1 when it orders memory */
static void cluster_arrive(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    pe_cluster *c = w->cta->cluster;
    if ((w->cluster_arrived & mask) != 0) {
        pe_fault_at(w, i, PTXEXEC_F_BARRIER, (pe_place){.lanes = w->cluster_arrived & mask},
                    "these lanes arrived at the barrier of the cluster already: "
                    "barrier.cluster.wait must come between");
        return;
    }
    w->cluster_arrived |= mask;
    pg_foreach_lane(l, mask)
    {
        w->cluster_phase[l] = c->n_phases;
    }
    if (c->races != NULL) {
        pe_race_cluster_arrive(w, mask, i->op == 0);
    }
    w->cta->n_events++;
    c->n_arrived += pe_count(mask);
    pe_cluster_recheck(c);
}

static void cluster_wait(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const pe_cluster *c = w->cta->cluster;
    if ((mask & ~w->cluster_arrived) != 0) {
        pe_fault_at(w, i, PTXEXEC_F_BARRIER, (pe_place){.lanes = mask & ~w->cluster_arrived},
                    "these lanes wait at the barrier of the cluster and did not arrive: "
                    "barrier.cluster.arrive must come before");
        return;
    }
    uint32_t open = 0;
    pg_foreach_lane(l, mask)
    {
        open |= w->cluster_phase[l] == c->n_phases ? 1u << l : 0;
    }
    uint32_t over = mask & ~open;
    w->cluster_arrived &= ~over;
    if (over != 0 && c->races != NULL) {
        pe_race_cluster_waited(w, over);
    }
    if (open != 0) {
        pe_lanes_wait(w, i, open, PE_W_CLUSTER);
    }
}

void pe_dec_cluster_barrier(pe_dec *d)
{
    uint32_t what = pe_take_one(d, "arrive wait");
    uint32_t order = pe_take_one(d, what == 1 ? "release relaxed" : "acquire");
    d->i.flags |= pe_take(d, "aligned") ? PE_I_ALIGNED : 0;
    d->i.op = order != 2 ? 1 : 0;
    if (what == 0) {
        pe_unsupported(d, "this form");
        return;
    }
    pe_emit(d, what == 1 ? cluster_arrive : cluster_wait);
}

/* ---- st.async, red.async ----------------------------------------------------------------------
 */

typedef struct send_ext {
    pe_opnd value[4];
    pe_opnd mbar;
    int64_t mbar_imm;
    uint32_t fold;
} send_ext;

static void deliver(pe_task *t)
{
    pe_mbar_use u = {.w = t->w, .i = t->i, .lane = t->lane, .home = t->home};
    uint32_t off = (uint32_t)(t->at - t->home->shared.base);
    uint8_t *to = t->home->shared.data + off;
    const send_ext *x = t->i->ext;
    if (!pe_mbar_find(&u, t->mbar)) {
        return;
    }
    if (x->fold != 0) {
        uint64_t old = 0;
        uint64_t value = 0;
        memcpy(&old, to, t->n);
        memcpy(&value, t->bytes, t->n);
        value = pe_atom_fold(x->fold, (pg_ptx_type)t->i->type, old, value);
        memcpy(to, &value, t->n);
    } else {
        memcpy(to, t->bytes, t->n);
        memset(t->home->shared.poison + off, 0, t->n);
    }
    if (t->home->races != NULL) {
        pe_race_signalled(t->home, (pe_bytes){(uint32_t)t->at, t->n}, t->order, u.b);
    }
    pe_mbar_complete(&u, t->n);
}

static void send_lane(pe_warp *w, const pe_inst *i, uint32_t lane, uint32_t serial)
{
    const send_ext *x = i->ext;
    uint64_t at = pe_src64(w, i->a)[lane] + (uint64_t)i->imm;
    uint64_t mbar = pe_src64(w, x->mbar)[lane] + (uint64_t)x->mbar_imm;
    uint8_t *poison = NULL;
    pe_task t = {.run = deliver, .w = w, .i = i, .lane = lane, .at = at, .order = serial};
    t.n = (uint32_t)i->size * i->n;
    t.mbar = (uint32_t)mbar;
    t.home = pe_cta_at(w->cta, at);
    if (pe_resolve(w, i, lane, at, true, &poison) == NULL) {
        return;
    }
    if (pe_cta_at(w->cta, mbar) != t.home) {
        pe_fault_at(w, i, PTXEXEC_F_MBARRIER, (pe_place){.lanes = 1u << lane, .address = mbar},
                    "the mbarrier is in another CTA than the destination");
        return;
    }
    for (uint32_t k = 0; k < i->n; k++) {
        uint64_t v = i->size == 8 ? pe_src64(w, x->value[k])[lane] : pe_src32(w, x->value[k])[lane];
        memcpy(t.bytes + (size_t)k * i->size, &v, i->size);
    }
    if (x->fold == 0) {
        memset(poison, 1, t.n);
    }
    pe_task_add(w->cta, &t);
}

static void send(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const send_ext *x = i->ext;
    uint32_t q = pe_poison64(w, i->a) | pe_poison64(w, x->mbar);
    for (uint32_t k = 0; k < i->n; k++) {
        q |= i->size == 8 ? pe_poison64(w, x->value[k]) : pe_poison32(w, x->value[k]);
    }
    if (pe_is_poison(w, i, q & mask, PTXEXEC_F_POISON_ADDRESS, "an operand of the store")) {
        return;
    }
    if (w->cta->races != NULL) {
        pe_touch t = {.at = pe_src64(w, i->a),
                      .imm = i->imm,
                      .size = (uint32_t)i->size * i->n,
                      .space = PE_SP_CLUSTER,
                      .kind = PE_T_WRITE};
        t.kind |= x->fold == 0 ? PE_T_COPY : PE_T_OBJECT | PE_T_END;
        pe_race_touch(w, i, mask, &t);
    }
    uint32_t serial = w->cta->races != NULL ? pe_race_serial(w->cta) : 0;
    pg_foreach_lane(l, mask)
    {
        if (w->cta->is_failed) {
            return;
        }
        send_lane(w, i, l, serial);
    }
}

/* The rest of st.async or red.async. */
void pe_dec_send(pe_dec *d, bool is_reduce)
{
    static const uint8_t counts[] = {1, 2, 4};
    send_ext *x = pe_new(d, sizeof *x, 1);
    if (x == NULL) {
        return;
    }
    (void)pe_take_one(d, "weak relaxed");
    (void)pe_take(d, "cluster");
    (void)pe_take(d, "shared::cluster");
    bool is_known = pe_take(d, "mbarrier::complete_tx::bytes");
    d->i.n = counts[pe_take_one(d, "v2 v4")];
    x->fold = is_reduce ? pe_atom_take(d) : 0;
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    d->i.type = (uint16_t)t;
    d->i.size = (uint8_t)(bits / 8);
    d->i.space = PE_SP_CLUSTER;
    d->i.flags |= is_reduce ? PE_I_STRONG : 0;
    if (!is_known || (bits != 32 && bits != 64) || (is_reduce && x->fold == 0)) {
        pe_unsupported(d, "this form");
        return;
    }
    const pg_ptx_opnd *o = pe_arg(d, 1);
    if ((o->kind == PG_PTX_O_VEC ? o->n : 1u) != d->i.n) {
        pe_invalid(d, "the vector has another number of elements");
        return;
    }
    for (uint32_t k = 0; k < d->i.n; k++) {
        x->value[k] = pe_in_opnd(d, o->kind == PG_PTX_O_VEC ? &d->pf->pool.at[o->id + k] : o, bits);
    }
    pe_in_address(d, 2);
    x->mbar = d->i.a;
    x->mbar_imm = d->i.imm;
    pe_in_address(d, 0);
    d->i.ext = x;
    pe_emit(d, send);
}
