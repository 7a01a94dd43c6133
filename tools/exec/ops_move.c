/* ops_move.c: mov in all its forms, special registers, addresses of names, generic addresses,
 * hints. */
#include "tools/exec/ops.h"
#include "tools/exec/race.h"

/* ---- special registers
 * --------------------------------------------------------------------------------- */

typedef enum sreg {
    S_NONE,
    S_TID,
    S_NTID,
    S_CTAID,
    S_NCTAID,
    S_LANEID,
    S_WARPID,
    S_NWARPID,
    S_SMID,
    S_NSMID,
    S_GRIDID,
    S_EQ,
    S_LE,
    S_LT,
    S_GE,
    S_GT,
    S_CLOCK,
    S_CLOCK_HI,
    S_CLOCK64,
    S_TIMER,
    S_TIMER_LO,
    S_TIMER_HI,
    S_DYN_SMEM,
    S_TOTAL_SMEM,
    S_CLUSTERID,
    S_NCLUSTERID,
    S_CLUSTER_CTAID,
    S_CLUSTER_NCTAID,
    S_CLUSTER_CTARANK,
    S_CLUSTER_NCTARANK,
    S_IS_EXPLICIT_CLUSTER
} sreg;

static const struct {
    const char *text;
    sreg id;
    uint32_t bits;
} sregs[] = {{"%tid", S_TID, 32},
             {"%ntid", S_NTID, 32},
             {"%ctaid", S_CTAID, 32},
             {"%nctaid", S_NCTAID, 32},
             {"%laneid", S_LANEID, 32},
             {"%warpid", S_WARPID, 32},
             {"%nwarpid", S_NWARPID, 32},
             {"%smid", S_SMID, 32},
             {"%nsmid", S_NSMID, 32},
             {"%gridid", S_GRIDID, 64},
             {"%lanemask_eq", S_EQ, 32},
             {"%lanemask_le", S_LE, 32},
             {"%lanemask_lt", S_LT, 32},
             {"%lanemask_ge", S_GE, 32},
             {"%lanemask_gt", S_GT, 32},
             {"%clock", S_CLOCK, 32},
             {"%clock_hi", S_CLOCK_HI, 32},
             {"%clock64", S_CLOCK64, 64},
             {"%globaltimer", S_TIMER, 64},
             {"%globaltimer_lo", S_TIMER_LO, 32},
             {"%globaltimer_hi", S_TIMER_HI, 32},
             {"%dynamic_smem_size", S_DYN_SMEM, 32},
             {"%total_smem_size", S_TOTAL_SMEM, 32},
             {"%clusterid", S_CLUSTERID, 32},
             {"%nclusterid", S_NCLUSTERID, 32},
             {"%cluster_ctaid", S_CLUSTER_CTAID, 32},
             {"%cluster_nctaid", S_CLUSTER_NCTAID, 32},
             {"%cluster_ctarank", S_CLUSTER_CTARANK, 32},
             {"%cluster_nctarank", S_CLUSTER_NCTARANK, 32},
             {"%is_explicit_cluster", S_IS_EXPLICIT_CLUSTER, 1}};

uint32_t pe_sreg_find(pg_str text, uint32_t *out_bits)
{
    for (size_t k = 0; k < PG_COUNT_OF(sregs); k++) {
        if (pg_str_is(text, sregs[k].text)) {
            *out_bits = sregs[k].bits;
            return sregs[k].id;
        }
    }
    return S_NONE;
}

/* Values that all lanes of a warp share. Clocks count the warp's own instructions: the same in
 * every run. */
static uint64_t uniform_sreg(const pe_warp *w, uint32_t id, uint32_t k)
{
    const pe_cta *cta = w->cta;
    const pe_launch *l = cta->launch;
    const uint32_t *c = l->cluster;
    switch (id) {
    case S_NTID: return k < 3 ? l->o.block[k] : 0;
    case S_CTAID: return k < 3 ? cta->id[k] : 0;
    case S_NCTAID: return k < 3 ? l->o.grid[k] : 0;
    case S_WARPID: return w->index;
    case S_NWARPID: return cta->n_warps;
    case S_SMID: return cta->linear % 132;
    case S_NSMID: return 132;
    case S_CLOCK:
    case S_CLOCK64:
    case S_TIMER:
    case S_TIMER_LO: return w->n_steps;
    case S_CLOCK_HI:
    case S_TIMER_HI: return w->n_steps >> 32;
    case S_DYN_SMEM: return l->o.dynamic_shared;
    case S_TOTAL_SMEM: return l->shared_size;
    case S_CLUSTERID: return k < 3 ? cta->id[k] / c[k] : 0;
    case S_NCLUSTERID: return k < 3 ? l->o.grid[k] / c[k] : 0;
    case S_CLUSTER_CTAID: return k < 3 ? cta->id[k] % c[k] : 0;
    case S_CLUSTER_NCTAID: return k < 3 ? c[k] : 0;
    case S_CLUSTER_CTARANK:
        return cta->id[0] % c[0] +
               (cta->id[1] % c[1] + (uint64_t)(cta->id[2] % c[2]) * c[1]) * c[0];
    case S_CLUSTER_NCTARANK: return (uint64_t)c[0] * c[1] * c[2];
    case S_IS_EXPLICIT_CLUSTER: return c[0] * c[1] * c[2] > 1 ? 1 : 0;
    default: return 0;
    }
}

static uint64_t lane_sreg(const pe_warp *w, uint32_t id, uint32_t k, uint32_t lane)
{
    switch (id) {
    case S_TID: return k < 3 ? w->tid[k][lane] : 0;
    case S_LANEID: return lane;
    case S_EQ: return 1u << lane;
    case S_LE: return (2u << lane) - 1u;
    case S_LT: return (1u << lane) - 1u;
    case S_GE: return ~((1u << lane) - 1u);
    default: return ~((2u << lane) - 1u);
    }
}

void pe_mov_sreg(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint64_t t[PE_LANES];
    bool is_lane = i->op == S_TID || i->op == S_LANEID || (i->op >= S_EQ && i->op <= S_GT);
    uint64_t all = is_lane ? 0 : uniform_sreg(w, i->op, i->n);
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = is_lane ? lane_sreg(w, i->op, i->n, l) : all;
    }
    if (i->size == 8) {
        pe_put64(w, i->d, t, mask, 0);
        return;
    }
    uint32_t narrow[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        narrow[l] = (uint32_t)t[l];
    }
    pe_put32(w, i->d, narrow, mask, 0);
}

/* op: 0 a variable of the module, 1 local memory of the frame, 2 the immediate itself */
void pe_mov_symbol(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint64_t all = (uint64_t)i->imm + (i->op == 0 ? w->cta->launch->sym_at[i->target] : 0);
    if (i->n != 0) { /* of shared memory */
        all += (uint64_t)w->cta->rank << PE_RANK_SHIFT;
    }
    uint64_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = all + (i->op == 1 ? w->local_base[l] : 0);
    }
    if (i->size == 8) {
        pe_put64(w, i->d, t, mask, 0);
        return;
    }
    uint32_t narrow[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        narrow[l] = (uint32_t)t[l];
    }
    pe_put32(w, i->d, narrow, mask, 0);
}

/* ---- mov
 * ----------------------------------------------------------------------------------------------------
 */

PE_OP1(mov_32, 32, x)
PE_OP1_UP(mov_64, x)

static void mov_pred(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    pe_putp(w, i->d, pe_srcp(w, i->a), mask, pe_poisonp(w, i->a));
}

/* d and d2: lower and upper half; so a and b. */
static void mov_128(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint64_t low[PE_LANES];
    uint64_t high[PE_LANES];
    uint64_t bad = pe_halves64(w, i->b);
    memcpy(low, pe_src64(w, i->a), sizeof low);
    memcpy(high, pe_src64(w, i->b), sizeof high);
    pe_put64_halves(w, i->d, low, mask, pe_halves64(w, i->a));
    pe_put64_halves(w, i->d2, high, mask, bad);
}

/* The two rows of a register of 128 bits, or of a vector of two. */
static bool take_pair(pe_dec *d, uint32_t k, pe_opnd *low, pe_opnd *high)
{
    const pg_ptx_opnd *o = pe_arg(d, k);
    bool is_out = k == 0;
    if (o->kind != PG_PTX_O_VEC) {
        *low = is_out ? pe_out(d, k, 128) : pe_in(d, k, 128);
        *high = *low + 1;
    } else if (o->n == 2) {
        const pg_ptx_opnd *x = &d->pf->pool.at[o->id];
        *low = is_out ? pe_out_opnd(d, &x[0], 64) : pe_in_opnd(d, &x[0], 64);
        *high = is_out ? pe_out_opnd(d, &x[1], 64) : pe_in_opnd(d, &x[1], 64);
    } else {
        pe_unsupported(d, "a vector of this width");
    }
    return !d->is_failed;
}

typedef struct pieces { /* of a packed move: lowest first */
    uint32_t n, bits;
    pe_opnd at[8];
} pieces;

static void pack(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const pieces *p = i->ext;
    uint64_t t[PE_LANES] = {0};
    uint32_t poison = 0;
    uint32_t low = 0; /* in the lower half of 64 bits */
    for (uint32_t k = 0; k < p->n; k++) {
        const uint32_t *a = pe_src32(w, p->at[k]);
        uint64_t keep = (UINT64_C(1) << p->bits) - 1;
        for (uint32_t l = 0; l < PE_LANES; l++) {
            t[l] |= (a[l] & keep) << (k * p->bits);
        }
        poison |= pe_poison32(w, p->at[k]);
        low = k * p->bits < 32 ? poison : low;
    }
    if (i->size == 8) {
        pe_put64_halves(w, i->d, t, mask, (uint64_t)low << 32 | poison);
        return;
    }
    uint32_t narrow[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        narrow[l] = (uint32_t)t[l];
    }
    pe_put32(w, i->d, narrow, mask, poison);
}

static void unpack(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const pieces *p = i->ext;
    uint64_t t[PE_LANES];
    uint64_t poison = i->size == 8 ? pe_halves64(w, i->a) : pe_whole64(pe_poison32(w, i->a));
    if (i->size == 8) {
        memcpy(t, pe_src64(w, i->a), sizeof t);
    } else {
        const uint32_t *a = pe_src32(w, i->a);
        for (uint32_t l = 0; l < PE_LANES; l++) {
            t[l] = a[l];
        }
    }
    for (uint32_t k = 0; k < p->n; k++) {
        uint32_t narrow[PE_LANES];
        uint64_t keep = (UINT64_C(1) << p->bits) - 1;
        for (uint32_t l = 0; l < PE_LANES; l++) {
            narrow[l] = (uint32_t)(t[l] >> (k * p->bits) & keep);
        }
        bool is_low = k * p->bits < 32;
        pe_put32(w, p->at[k], narrow, mask, (uint32_t)(is_low ? poison >> 32 : poison));
    }
}

static void decode_packed(pe_dec *d, uint32_t bits, bool is_unpack)
{
    const pg_ptx_opnd *v = pe_arg(d, is_unpack ? 0 : 1);
    pieces *p = pe_new(d, sizeof *p, 1);
    if (p == NULL) {
        return;
    }
    p->n = v->n;
    p->bits = v->n != 0 ? bits / v->n : 0;
    if ((bits != 16 && bits != 32 && bits != 64) || p->n < 2 || p->n > 8 || p->bits > 32 ||
        p->bits < 8) {
        pe_unsupported(d, "a vector of this width");
        return;
    }
    for (uint32_t k = 0; k < p->n; k++) {
        const pg_ptx_opnd *o = &d->pf->pool.at[v->id + k];
        p->at[k] = is_unpack ? pe_out_opnd(d, o, p->bits) : pe_in_opnd(d, o, p->bits);
    }
    d->i.ext = p;
    d->i.size = bits == 64 ? 8 : 4;
    if (is_unpack) {
        d->i.a = pe_in(d, 1, bits);
    } else {
        d->i.d = pe_out(d, 0, bits);
    }
    pe_emit(d, is_unpack ? unpack : pack);
}

void pe_dec_mov(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    if (bits == 128) {
        if (take_pair(d, 0, &d->i.d, &d->i.d2) && take_pair(d, 1, &d->i.a, &d->i.b)) {
            pe_emit(d, mov_128);
        }
        return;
    }
    if (pe_arg(d, 0)->kind == PG_PTX_O_VEC || pe_arg(d, 1)->kind == PG_PTX_O_VEC) {
        decode_packed(d, bits, pe_arg(d, 0)->kind == PG_PTX_O_VEC);
        return;
    }
    pe_end1(d, t,
            bits == 1                  ? mov_pred
            : bits == 64               ? mov_64
            : bits == 32 || bits == 16 ? mov_32
                                       : NULL);
}

/* ---- generic addresses
 * ----------------------------------------------------------------------------------------- */

/* Window of a space named in a modifier; in a function, .param is local memory. */
static bool take_window(pe_dec *d, uint64_t *out)
{
    static const uint64_t windows[] = {0,
                                       0,
                                       PE_SHARED_WINDOW,
                                       PE_SHARED_WINDOW,
                                       PE_LOCAL_WINDOW,
                                       PE_CONST_WINDOW,
                                       PE_PARAM_WINDOW,
                                       PE_PARAM_WINDOW,
                                       PE_SHARED_WINDOW};
    uint32_t k =
        pe_take_one(d, "global shared shared::cta local const param param::entry shared::cluster");
    *out = k != 0 ? windows[k] : 0;
    d->i.op = k == 2 || k == 3 ? 1 : 0; /* of this CTA alone */
    if ((k == 6 || k == 7) && !d->f->is_entry) {
        *out = PE_LOCAL_WINDOW;
    }
    return k != 0;
}

PE_OP1(shift_address, 64, x + (uint64_t)i->imm)

void pe_dec_cvta(pe_dec *d)
{
    bool is_to = pe_take(d, "to");
    uint64_t window = 0;
    bool is_known = take_window(d, &window);
    pg_ptx_type t = pe_take_type(d);
    d->i.imm = (int64_t)(is_to ? 0 - window : window);
    pe_end1(d, PG_PTX_U64, is_known && pe_type_bits(t) == 64 ? shift_address : NULL);
}

static void isspacep(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint64_t *a = pe_src64(w, i->a);
    uint64_t window = (uint64_t)i->imm;
    uint32_t r = 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        bool is_in = window != 0 ? a[l] - window < PE_WINDOW_SIZE
                                 : a[l] - PE_SHARED_WINDOW >= PE_FUNC_WINDOW - PE_SHARED_WINDOW;
        is_in = is_in && (i->op == 0 || (a[l] - window) >> PE_RANK_SHIFT == w->cta->rank);
        r |= (is_in ? 1u : 0u) << l;
    }
    pe_putp(w, i->d, r, mask, pe_poison64(w, i->a));
}

void pe_dec_isspacep(pe_dec *d)
{
    uint64_t window = 0;
    bool is_known = take_window(d, &window);
    d->i.imm = (int64_t)window;
    d->i.d = pe_out(d, 0, 1);
    d->i.a = pe_in(d, 1, 64);
    pe_emit(d, is_known ? isspacep : NULL);
}

/* ---- hints
 * -------------------------------------------------------------------------------------------------------
 */

static void nothing(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    (void)w;
    (void)i;
    (void)mask;
}

/* Hints do not touch memory: a bad address is no fault on hardware either. */
void pe_dec_prefetch(pe_dec *d)
{
    (void)pe_take_one(d, "global local param const generic");
    (void)pe_take_one(d, "L1 L2 L2::evict_last L2::evict_normal L2::128B tensormap");
    (void)pe_take_one(d, "L1 L2 128");
    pe_emit(d, nothing);
}

static void slept(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    (void)i;
    (void)mask;
    w->cta->n_events++; /* who sleeps waits for something that is not looked into */
}

void pe_dec_nop(pe_dec *d)
{
    bool is_sleep = pg_str_is(d->op, "nanosleep");
    (void)pe_take_type(d);
    (void)pe_take(d, "mask");
    pe_emit(d, is_sleep ? slept : nothing);
}

enum {               /* pe_inst.op of fences */
       F_INIT = 1,   /* mbarrier_init */
       F_ASYNC = 2,  /* between the proxies, for shared memory */
       F_GLOBAL = 4, /* and for global memory */
       F_ACQUIRE = 8,
       F_RELEASE = 16,
       F_SC = 32,
       F_MAP = 64,      /* what was written of the tensor map is there for copies */
       F_MAP_SENT = 128 /* what was written of tensor maps may go there */
};

static void fence(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (w->cta->races == NULL) {
        return;
    }
    if ((i->op & (F_INIT | F_ASYNC)) != 0) {
        pe_race_barriers_ready(w, mask);
    }
    if ((i->op & F_INIT) != 0) {
        pe_race_inits_fenced(w, mask);
    }
    if ((i->op & F_ASYNC) != 0) {
        pe_race_proxy_fence(w, mask);
    }
    if ((i->op & F_GLOBAL) != 0) {
        pe_race_global_proxy_fence(w);
    }
    if ((i->op & F_MAP_SENT) != 0) {
        pe_race_map_sent(w);
    }
    if ((i->op & F_MAP) != 0) {
        pg_foreach_lane(l, mask)
        {
            pe_race_map_fence(w, pe_src64(w, i->a)[l] + (uint64_t)i->imm);
        }
    }
    if ((i->op & (F_ACQUIRE | F_RELEASE)) != 0) {
        pe_fence f = {.is_acquire = (i->op & F_ACQUIRE) != 0,
                      .is_release = (i->op & F_RELEASE) != 0,
                      .is_sc = (i->op & F_SC) != 0,
                      .scope = i->target};
        pe_race_fence(w, mask, &f);
    }
}

void pe_dec_fence(pe_dec *d)
{
    bool is_membar = pg_str_is(d->op, "membar"); /* fence.sc by another name */
    bool is_init = pe_take(d, "mbarrier_init");
    bool is_proxy = pe_take(d, "proxy");
    uint32_t proxy = is_proxy ? pe_take_one(d, "alias async async::generic tensormap::generic") : 0;
    uint32_t space = is_proxy ? pe_take_one(d, "global shared::cta shared::cluster") : 0;
    uint32_t order = pe_take_one(d, "sc acq_rel acquire release");
    (void)pe_take_one(d, "sync_restrict::shared::cta sync_restrict::shared::cluster");
    d->i.target = pe_take_scope(d, "cta cluster gpu gl sys");
    if (is_proxy) {
        /* Named spaces are covered alone. */
        d->i.op = (uint16_t)((proxy == 2 && space != 1) || proxy == 3 ? F_ASYNC : 0);
        d->i.op |= proxy == 2 && space < 2 ? F_GLOBAL : 0;
        d->i.op |= proxy == 4 && order == 3 ? F_MAP : 0;
        d->i.op |= proxy == 4 && order == 4 ? F_MAP_SENT : 0;
        d->m->has_async_proxy = d->m->has_async_proxy || (d->i.op & F_ASYNC) != 0;
    } else if (is_init) {
        d->i.op = F_INIT;
    } else {
        d->i.op |= order != 4 ? F_ACQUIRE : 0;
        d->i.op |= order != 3 ? F_RELEASE : 0;
        d->i.op |= order == 1 || is_membar ? F_SC : 0;
    }
    if ((d->i.op & F_MAP) != 0) {
        d->i.space = PG_PTX_SP_NONE;
        pe_in_address(d, 0);
    }
    pe_emit(d, d->i.op == 0 ? nothing : fence);
}
