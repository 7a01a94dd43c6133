/* ops_bulk.c: cp.async.bulk and cp.reduce.async.bulk, with and without a tensor map; their groups.
 * One lane's copy is one operation, issued in the order of lanes. */
#include "tools/exec/bulk.h"
#include "tools/exec/cluster.h"
#include "tools/exec/ops.h"
#include "tools/exec/race.h"

typedef struct bulk_ext {
    pe_bulk_kind kind;
    pe_opnd to, from, mbar; /* addresses: 64 bits; of SHARED ones the windows do not matter */
    int64_t to_imm, from_imm, mbar_imm;
    pe_opnd size, mask; /* bytes; CTAs of a multicast: PE_NONE: none */
    pe_opnd coord[PE_TMAP_RANK];
    pe_opnd offset[PE_TMAP_RANK - 2]; /* im2col loads; else PE_NONE */
    bool is_im2col;
    uint32_t rank; /* 0: no map */
    uint32_t fold, fold_type;
} bulk_ext;

uint32_t pe_bulk_fold_size(const pe_bulk *b)
{
    uint32_t size = pe_type_bits((pg_ptx_type)b->fold_type) / 8;
    return b->has_map ? b->map.elem_size : size;
}

/* ---- operands ---------------------------------------------------------------------------------
 */

/* The map at a generic address; parameters may be named by their place among the parameters. */
static bool read_map(pe_bulk *b, uint64_t at)
{
    pe_inst as = *b->i;
    uint8_t *poison = NULL;
    as.space = PG_PTX_SP_NONE;
    as.size = as.n = 1;
    if (at < b->w->cta->launch->params.size) {
        at += PE_PARAM_WINDOW;
    }
    pe_place where = {.lanes = 1u << b->lane, .address = at, .size = PE_TMAP_SIZE};
    if (at % PE_TMAP_ALIGN != 0) {
        pe_fault_at(b->w, b->i, PTXEXEC_F_MISALIGNED, where,
                    "the tensor map at 0x%llx is not at a multiple of 64", (unsigned long long)at);
        return false;
    }
    const uint8_t *bytes = pe_resolve(b->w, &as, b->lane, at, false, &poison);
    const uint8_t *stain = poison;
    if (bytes == NULL ||
        pe_resolve(b->w, &as, b->lane, at + PE_TMAP_SIZE - 1, false, &poison) == NULL) {
        return false;
    }
    if (memchr(stain, 1, PE_TMAP_SIZE) != NULL) {
        pe_fault_at(b->w, b->i, PTXEXEC_F_TENSOR_MAP, where,
                    "the tensor map at 0x%llx is not initialised", (unsigned long long)at);
        return false;
    }
    char why[256];
    if (!pe_tmap_decode(bytes, &b->map, why)) {
        pe_fault_at(b->w, b->i, PTXEXEC_F_TENSOR_MAP, where, "the tensor map at 0x%llx: %s",
                    (unsigned long long)at, why);
        return false;
    }
    if (b->w->cta->races != NULL && at >= PE_GLOBAL_START) {
        pe_race_map_used(b->w, b->i, b->lane, at);
    }
    return !b->w->cta->is_failed;
}

static const uint8_t fold_types[] = {
    [PTXEXEC_TM_U8] = PG_PTX_U8,        [PTXEXEC_TM_U16] = PG_PTX_U16,
    [PTXEXEC_TM_U32] = PG_PTX_U32,      [PTXEXEC_TM_S32] = PG_PTX_S32,
    [PTXEXEC_TM_U64] = PG_PTX_U64,      [PTXEXEC_TM_S64] = PG_PTX_S64,
    [PTXEXEC_TM_F16] = PG_PTX_F16,      [PTXEXEC_TM_F32] = PG_PTX_F32,
    [PTXEXEC_TM_F64] = PG_PTX_F64,      [PTXEXEC_TM_BF16] = PG_PTX_BF16,
    [PTXEXEC_TM_F32_FTZ] = PG_PTX_F32,  [PTXEXEC_TM_TF32] = PG_PTX_F32,
    [PTXEXEC_TM_TF32_FTZ] = PG_PTX_F32,
};

static bool fit_map(pe_bulk *b, uint32_t rank, bool is_im2col)
{
    const pe_tmap *t = &b->map;
    pe_place where = {.lanes = 1u << b->lane};
    if (t->rank != rank) {
        pe_fault_at(b->w, b->i, PTXEXEC_F_TENSOR_MAP, where,
                    "the instruction has %u dimensions, the tensor map %u", rank, t->rank);
        return false;
    }
    if (is_im2col != t->is_im2col) {
        pe_fault_at(b->w, b->i, PTXEXEC_F_TENSOR_MAP, where,
                    "the instruction goes through %s, the tensor map is made for %s",
                    is_im2col ? "pixels (im2col)" : "a box",
                    is_im2col ? "boxes" : "pixels (im2col)");
        return false;
    }
    for (uint32_t d = 0; is_im2col && d + 2 < rank; d++) {
        int64_t from = (int64_t)b->coord[d + 1] - t->lower[d];
        int64_t step = t->element_stride[d + 1];
        if (from % step != 0 || (uint64_t)(from / step) >= t->n_starts[d]) {
            pe_fault_at(
                b->w, b->i, PTXEXEC_F_TENSOR_MAP, where,
                "coordinate %u is %d: the first pixel is at one of the %llu places of the map's "
                "box, from %d on, %u apart",
                d + 1, b->coord[d + 1], (unsigned long long)t->n_starts[d], t->lower[d],
                t->element_stride[d + 1]);
            return false;
        }
    }
    b->has_map = true;
    b->swizzle = t->swizzle;
    b->row_bytes = t->count[0] * t->elem_size;
    b->n_rows = t->count[1] * t->count[2] * t->count[3] * t->count[4];
    b->n_bytes = b->row_bytes * b->n_rows;
    if (b->fold != 0) {
        b->fold_type = fold_types[t->type];
    }
    if (b->shared % PE_BULK_LINE != 0) {
        pe_fault_at(b->w, b->i, PTXEXEC_F_MISALIGNED,
                    (pe_place){.lanes = 1u << b->lane,
                               .address = PE_SHARED_WINDOW + b->shared,
                               .size = b->n_bytes},
                    "a box in shared memory begins at a multiple of 128, not at 0x%x", b->shared);
        return false;
    }
    return true;
}

static bool fit_plain(pe_bulk *b, uint32_t n_bytes)
{
    uint64_t all = b->shared | b->global | n_bytes | b->source;
    if (all % 16 != 0) {
        pe_fault_at(b->w, b->i, PTXEXEC_F_MISALIGNED,
                    (pe_place){.lanes = 1u << b->lane,
                               .address = PE_SHARED_WINDOW + b->shared,
                               .size = n_bytes},
                    "addresses and size of a bulk copy are multiples of 16: 0x%x, 0x%llx, %u bytes",
                    b->shared,
                    (unsigned long long)(b->kind == PE_BULK_SEND ? b->source : b->global), n_bytes);
        return false;
    }
    b->n_bytes = n_bytes;
    b->row_bytes = PE_BULK_LINE;
    b->n_rows = (n_bytes + PE_BULK_LINE - 1) / PE_BULK_LINE;
    return true;
}

/* A shared address, given in its space or as a generic one. */
static uint32_t shared_at(uint64_t address)
{
    uint64_t within = address;
    return pe_window_of(address, &within) == PG_PTX_SP_SHARED ? (uint32_t)within
                                                              : (uint32_t)address;
}

static bool has_poison(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const bulk_ext *x = i->ext;
    uint32_t q = pe_poison64(w, x->to) | pe_poison64(w, x->from);
    q |= x->mbar != PE_NONE ? pe_poison64(w, x->mbar) : 0;
    q |= x->size != PE_NONE ? pe_poison32(w, x->size) : 0;
    q |= x->mask != PE_NONE ? pe_poison32(w, x->mask) : 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        q |= pe_poison32(w, x->coord[d]);
    }
    for (uint32_t d = 0; d < PG_COUNT_OF(x->offset) && x->offset[d] != PE_NONE; d++) {
        q |= pe_poison32(w, x->offset[d]);
    }
    return pe_is_poison(w, i, q & mask, PTXEXEC_F_POISON_ADDRESS, "an operand of the copy");
}

/* One that signals at a barrier, to the CTA of its address. */
static void issue_to(pe_bulk *b, uint32_t mbar)
{
    pe_warp *w = b->w;
    b->mbar = mbar;
    b->home = pe_cta_at(w->cta, b->shared);
    pe_mbar_use u = {.w = w, .i = b->i, .lane = b->lane, .home = b->home};
    if (b->home == NULL || b->home != pe_cta_at(w->cta, mbar)) {
        pe_fault_at(w, b->i, PTXEXEC_F_MBARRIER,
                    (pe_place){.lanes = 1u << b->lane, .address = PE_SHARED_WINDOW + mbar},
                    "the mbarrier at shared address 0x%x is in another CTA than the destination at "
                    "0x%x, or the cluster has no such CTA",
                    mbar, b->shared);
        return;
    }
    if (pe_mbar_find(&u, mbar) && (w->cta->races == NULL || pe_race_mbar_ready(&u))) {
        pe_bulk_issue(b);
    }
}

/* The same places in each CTA of the mask: one copy each, at times of its own. */
static void issue_to_all(pe_bulk *b, uint32_t mbar, uint32_t ranks)
{
    if (ranks >> b->w->cta->cluster->n != 0) {
        pe_fault_at(b->w, b->i, PTXEXEC_F_OUT_OF_BOUNDS, (pe_place){.lanes = 1u << b->lane},
                    "the mask 0x%x names more than the %u CTAs of the cluster", ranks,
                    b->w->cta->cluster->n);
        return;
    }
    for (uint32_t rank = 0; rank < b->w->cta->cluster->n && !b->w->cta->is_failed; rank++) {
        if ((ranks >> rank & 1u) != 0) {
            pe_bulk one = *b;
            one.shared = (b->shared & (uint32_t)PE_RANK_MASK) | rank << PE_RANK_SHIFT;
            issue_to(&one, (mbar & (uint32_t)PE_RANK_MASK) | rank << PE_RANK_SHIFT);
        }
    }
}

static void bulk_lane(pe_warp *w, const pe_inst *i, uint32_t lane)
{
    const bulk_ext *x = i->ext;
    uint64_t to = pe_src64(w, x->to)[lane] + (uint64_t)x->to_imm;
    uint64_t from = pe_src64(w, x->from)[lane] + (uint64_t)x->from_imm;
    bool is_store = x->kind == PE_BULK_STORE;
    const uint32_t source = shared_at(from);
    pe_bulk b = {.kind = x->kind,
                 .w = w,
                 .i = i,
                 .lane = lane,
                 .home = w->cta,
                 .shared = is_store ? source : shared_at(to),
                 .source = x->kind == PE_BULK_SEND ? source : 0,
                 .group = w->n_bulk_commits[lane],
                 .global = x->kind == PE_BULK_SEND || x->rank != 0 ? 0
                           : is_store                              ? to
                                                                   : from,
                 .fold = x->fold,
                 .fold_type = x->fold_type};
    for (uint32_t d = 0; d < x->rank; d++) {
        b.coord[d] = (int32_t)pe_src32(w, x->coord[d])[lane];
    }
    for (uint32_t d = 0; d < PG_COUNT_OF(x->offset) && x->offset[d] != PE_NONE; d++) {
        b.offset[d] = pe_src32(w, x->offset[d])[lane] & 0xFFFFu;
    }
    bool is_fit = x->rank != 0
                      ? read_map(&b, is_store ? to : from) && fit_map(&b, x->rank, x->is_im2col)
                      : fit_plain(&b, pe_src32(w, x->size)[lane]);
    if (!is_fit) {
        return;
    }
    uint32_t mbar =
        x->mbar != PE_NONE ? shared_at(pe_src64(w, x->mbar)[lane] + (uint64_t)x->mbar_imm) : 0;
    if (x->mbar == PE_NONE) {
        pe_bulk_issue(&b);
    } else if (x->mask == PE_NONE) {
        issue_to(&b, mbar);
    } else {
        issue_to_all(&b, mbar, pe_src32(w, x->mask)[lane] & 0xFFFFu);
    }
}

static void bulk(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (has_poison(w, i, mask)) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        bulk_lane(w, i, l);
        if (w->cta->is_failed || w->cta->worker->is_oom) {
            return;
        }
    }
}

/* ---- groups -----------------------------------------------------------------------------------
 */

static void commit_group(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    (void)i;
    pg_foreach_lane(l, mask)
    {
        w->n_bulk_commits[l]++;
    }
}

/* imm: groups that may stay open; op: 1 only their reads are waited for */
static void wait_group(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t first_open[PE_LANES] = {0};
    pg_foreach_lane(l, mask)
    {
        uint32_t n = w->n_bulk_commits[l];
        first_open[l] = (uint64_t)i->imm < n ? n - (uint32_t)i->imm : 0;
    }
    pe_bulk_wait(w, mask, first_open, i->op != 0);
}

static void nothing(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    (void)w;
    (void)i;
    (void)mask;
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

static void decode_wait(pe_dec *d)
{
    const pg_ptx_opnd *o = pe_arg(d, 0);
    d->i.op = pe_take(d, "read") ? 1 : 0;
    if (o->kind != PG_PTX_O_INT || o->imm < 0) {
        pe_invalid(d, "the number of groups is not an immediate");
        return;
    }
    d->i.imm = o->imm;
    pe_emit(d, wait_group);
}

static void take_address(pe_dec *d, uint32_t k, pe_opnd *row, int64_t *imm)
{
    pe_in_address(d, k);
    *row = d->i.a;
    *imm = d->i.imm;
}

/* [map, {c0, c1, ...}] */
static void take_map(pe_dec *d, uint32_t k, uint32_t rank, bulk_ext *x, pe_opnd *row)
{
    const pg_ptx_opnd *o = pe_arg(d, k);
    const pg_ptx_opnd *c = o->kind == PG_PTX_O_TADDR && o->n >= 2 ? &d->pf->pool.at[o->id + 1] : o;
    if (c->kind != PG_PTX_O_VEC || c->n != rank) {
        pe_invalid(d, "the tensor map wants one coordinate for each dimension");
        return;
    }
    *row = pe_in_opnd(d, &d->pf->pool.at[o->id], 64);
    for (uint32_t j = 0; j < rank; j++) {
        x->coord[j] = pe_in_opnd(d, &d->pf->pool.at[c->id + j], 32);
    }
    x->rank = rank;
}

/* {w, h, d}: as many as there are dimensions of space. */
static void take_offsets(pe_dec *d, uint32_t k, uint32_t rank, bulk_ext *x)
{
    const pg_ptx_opnd *o = pe_arg(d, k);
    if ((o->kind == PG_PTX_O_VEC ? o->n : 1u) != rank - 2) {
        pe_invalid(d, "im2col wants an offset for each dimension of space");
        return;
    }
    for (uint32_t j = 0; j < rank - 2; j++) {
        x->offset[j] = pe_in_opnd(d, o->kind == PG_PTX_O_VEC ? &d->pf->pool.at[o->id + j] : o, 16);
    }
}

static bool take_fold(pe_dec *d, bulk_ext *x)
{
    x->fold = pe_atom_take(d);
    (void)pe_take(d, "noftz");
    return x->fold != 0;
}

/* Operands stand in the order: destination, source, size (plain ones), barrier, offsets (im2col),
 * mask, cache hint. */
static void take_operands(pe_dec *d, bulk_ext *x, uint32_t rank)
{
    bool is_store = x->kind == PE_BULK_STORE;
    uint32_t k = 0;
    if (rank != 0 && is_store) {
        take_map(d, k++, rank, x, &x->to);
        take_address(d, k++, &x->from, &x->from_imm);
    } else {
        take_address(d, k++, &x->to, &x->to_imm);
        if (rank != 0) {
            take_map(d, k++, rank, x, &x->from);
        } else {
            take_address(d, k++, &x->from, &x->from_imm);
            x->size = pe_in(d, k++, 32);
        }
    }
    if (!is_store) {
        take_address(d, k++, &x->mbar, &x->mbar_imm);
    }
    if (x->is_im2col && !is_store) {
        take_offsets(d, k++, rank, x);
    }
    if (pe_take(d, "multicast::cluster")) {
        x->mask = pe_in(d, k, 16);
    }
}

static void decode_copy(pe_dec *d, bool is_reduce)
{
    static const char *const ranks = "1d 2d 3d 4d 5d";
    bulk_ext *x = pe_new(d, sizeof *x, 1);
    if (x == NULL) {
        return;
    }
    x->mbar = x->size = x->mask = PE_NONE;
    x->offset[0] = x->offset[1] = x->offset[2] = PE_NONE;
    uint32_t rank = pe_take(d, "tensor") ? pe_take_one(d, ranks) : 0;
    /* The first space is where it goes. */
    uint32_t to = pe_take_one(d, "shared::cluster shared::cta global");
    uint32_t from = pe_take_one(d, "shared::cta global");
    uint32_t mode = pe_take_one(d, "tile im2col im2col_no_offs");
    (void)pe_take(d, "L2::cache_hint");
    x->is_im2col = mode >= 2;
    bool is_known = from != 0 && (to == 3 ? from == 1 && pe_take(d, "bulk_group")
                                          : pe_take(d, "mbarrier::complete_tx::bytes"));
    is_known = is_known && (mode < 2 || (rank >= 3 && mode == (to == 3 ? 3 : 2)));
    x->kind = to == 3 ? PE_BULK_STORE : from == 2 ? PE_BULK_LOAD : PE_BULK_SEND;
    if (is_reduce && is_known) {
        is_known = take_fold(d, x);
        x->fold_type = rank == 0 ? (uint32_t)pe_take_type(d) : 0;
    }
    if (!is_known) {
        pe_unsupported(d, "this form");
        return;
    }
    take_operands(d, x, rank);
    d->m->has_async_proxy = true;
    d->m->has_global_sync = d->m->has_global_sync || (is_reduce && to == 3);
    d->i.flags |= is_reduce ? PE_I_STRONG : 0;
    d->i.ext = x;
    pe_emit(d, bulk);
}

static void decode_prefetch(pe_dec *d)
{
    (void)pe_take(d, "tensor");
    (void)pe_take_one(d, "1d 2d 3d 4d 5d");
    (void)pe_take(d, "L2");
    (void)pe_take(d, "global");
    (void)pe_take_one(d, "tile im2col");
    (void)pe_take(d, "L2::cache_hint");
    pe_emit(d, nothing);
}

/* The rest of cp.async.bulk or cp.reduce.async.bulk. */
void pe_dec_bulk(pe_dec *d, bool is_reduce)
{
    switch (is_reduce ? 0 : pe_take_one(d, "commit_group wait_group prefetch")) {
    case 0: decode_copy(d, is_reduce); break;
    case 1: pe_emit(d, commit_group); break;
    case 2: decode_wait(d); break;
    default: decode_prefetch(d); break;
    }
}
