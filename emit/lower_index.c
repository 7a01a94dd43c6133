/* lower_index.c: the numbers of threads, and coordinates and addresses that follow from them. */
#include "emit/lower_int.h"

static uint32_t special(pg_lw *c, pg_ptx_sreg id, int component)
{
    return pg_lw_pure1(c, "mov.u32", PG_PTX_B32, pg_ptx_sreg_opnd(id, component));
}

uint32_t pg_lw_tid(pg_lw *c)
{
    uint32_t r = special(c, PG_PTX_SREG_TID, 0);
    pg_lw_set_fact(c, r, 0, (int64_t)c->plan.n_warps * 32 - 1, 0);
    return r;
}

uint32_t pg_lw_thread(pg_lw *c)
{
    uint32_t tid = pg_lw_tid(c);
    if (c->first_warp == 0) {
        return tid;
    }
    uint32_t r = pg_lw_pure2(c, "sub.s32", PG_PTX_B32, pg_lw_reg(tid),
                             pg_ptx_int((int64_t)c->first_warp * 32));
    pg_lw_set_fact(c, r, 0, (int64_t)c->n_warps * 32 - 1, 0);
    return r;
}

static uint32_t is_0(pg_lw *c, uint32_t reg)
{
    return pg_lw_pure2(c, "setp.eq.s32", PG_PTX_PRED, pg_lw_reg(reg), pg_ptx_int(0));
}

uint32_t pg_lw_lane_is_0(pg_lw *c)
{
    uint32_t lane = pg_lw_pure2(c, "and.b32", PG_PTX_B32, pg_lw_reg(pg_lw_tid(c)), pg_ptx_int(31));
    return is_0(c, lane);
}

uint32_t pg_lw_thread_is_0(pg_lw *c)
{
    return is_0(c, pg_lw_thread(c));
}

/* ptxas keeps what comes from shfl.sync.idx in uniform registers. */
static uint32_t uniform(pg_lw *c, uint32_t reg)
{
    pg_ptx_opnd ops[4] = {pg_lw_reg(reg), pg_ptx_int(0), pg_ptx_int(31), pg_ptx_int(-1)};
    return pg_lw_pure(c, "shfl.sync.idx.b32", PG_PTX_B32, 4, ops);
}

uint32_t pg_lw_warp(pg_lw *c)
{
    uint32_t w = pg_lw_pure2(c, "shr.u32", PG_PTX_B32, pg_lw_reg(pg_lw_tid(c)), pg_ptx_int(5));
    uint32_t r = uniform(c, w);
    pg_lw_set_fact(c, r, 0, (int64_t)c->plan.n_warps - 1, 0);
    return r;
}

uint32_t pg_lw_warp_group(pg_lw *c)
{
    uint32_t w = pg_lw_pure2(c, "shr.u32", PG_PTX_B32, pg_lw_reg(pg_lw_thread(c)), pg_ptx_int(7));
    uint32_t r = uniform(c, w);
    pg_lw_set_fact(c, r, 0, (int64_t)(c->n_warps + 3) / 4 - 1, 0);
    return r;
}

/* ---- sums over the bits of the thread's number ----------------------------------------------- */

/* (thread >> bit) & ((1 << width) - 1) */
static pg_el bits_of_thread(pg_lw *c, uint32_t bit, uint32_t width)
{
    uint32_t r = pg_lw_thread(c);
    if (bit != 0) {
        r = pg_lw_pure2(c, "shr.u32", PG_PTX_B32, pg_lw_reg(r), pg_ptx_int(bit));
        pg_lw_set_fact(c, r, 0, (int64_t)(c->n_warps * 32 - 1) >> bit, 0);
    }
    /* Warps outside the partition's count run the same code: the mask may go only in the inside. */
    bool is_all = c->part != NULL || c->plan.n_warps == c->n_warps;
    if (!is_all || (uint64_t)(c->n_warps * 32 - 1) >> bit > (1u << width) - 1) {
        r = pg_lw_pure2(c, "and.b32", PG_PTX_B32, pg_lw_reg(r), pg_ptx_int((1 << width) - 1));
    }
    pg_lw_set_fact(c, r, 0, (1 << width) - 1, 0);
    return pg_el_reg(r);
}

/* Bits that x * v can have for x of `width` bits, or 0 if products carry. */
static uint32_t product_bits(uint32_t v, uint32_t width)
{
    uint32_t all = 0;
    for (uint32_t b = 0; b < width; b++) {
        if ((all & v << b) != 0) {
            return 0;
        }
        all |= v << b;
    }
    return all;
}

static pg_el combine(pg_lw *c, pg_el a, pg_el b, bool is_disjoint)
{
    if (a.reg == 0) {
        return b;
    }
    if (is_disjoint) {
        return pg_lw_iadd(c, PG_I32, a, b, true);
    }
    pg_fact fa = pg_lw_fact(c, PG_I32, a);
    pg_fact fb = pg_lw_fact(c, PG_I32, b);
    pg_ptx_opnd x = pg_lw_use(c, PG_I32, a);
    uint32_t r = pg_lw_pure2(c, "xor.b32", PG_PTX_B32, x, pg_lw_use(c, PG_I32, b));
    uint64_t top = (uint64_t)(fa.hi | fb.hi);
    pg_lw_set_fact(c, r, 0, (INT64_C(2) << pg_log2(top)) - 1,
                   fa.align < fb.align ? fa.align : fb.align);
    return pg_el_reg(r);
}

pg_el pg_lw_thread_sum(pg_lw *c, const uint32_t *v, uint32_t n, bool is_xor, uint32_t *mask)
{
    pg_el sum = pg_el_imm(0);
    *mask = 0;
    for (uint32_t b = 0; b < n;) {
        if (v[b] == 0) {
            b++;
            continue;
        }
        uint32_t width = 1;
        while (b + width < n && v[b + width] == v[b] << width &&
               (!is_xor || product_bits(v[b], width + 1) != 0)) {
            width++;
        }
        uint32_t bits = is_xor ? product_bits(v[b], width) : 0;
        pg_el term = pg_lw_imul(c, PG_I32, bits_of_thread(c, b, width), pg_el_imm(v[b]), true);
        sum = combine(c, sum, term, !is_xor || (*mask & bits) == 0);
        *mask |= bits;
        b += width;
    }
    return sum;
}

/* ---- coordinates ---------------------------------------------------------------------------- */

/* Index of this thread's warp along an outer digit: (warp / in_stride) % extent. */
static uint32_t outer_index(pg_lw *c, const pg_outer_digit *o)
{
    uint32_t w = pg_lw_pure2(c, "div.u32", PG_PTX_B32, pg_lw_reg(pg_lw_thread(c)),
                             pg_ptx_int((int64_t)o->in_stride * 32));
    w = pg_lw_pure2(c, "rem.u32", PG_PTX_B32, pg_lw_reg(w), pg_ptx_int(o->extent));
    pg_lw_set_fact(c, w, 0, (int64_t)o->extent - 1, 0);
    return w;
}

/* What warps beyond the linear bits add along d. */
static pg_el outer_warps(pg_lw *c, const pg_layout *l, uint32_t d)
{
    pg_el sum = pg_el_imm(0);
    for (uint32_t j = 0; j < l->n_outer; j++) {
        const pg_outer_digit *o = &l->outer[j];
        if (o->in_dim != PG_LIN_WARP || o->out_dim != d || o->stride == 0) {
            continue;
        }
        uint32_t w = outer_index(c, o);
        pg_el term = pg_lw_imul(c, PG_I32, pg_el_reg(w), pg_el_imm(o->stride), true);
        sum = pg_lw_iadd(c, PG_I32, sum, term, true);
    }
    return sum;
}

void pg_lw_coords(pg_lw *c, const pg_lw_layout *l, uint32_t d, pg_el *out)
{
    uint32_t v[32] = {0};
    uint32_t n_lane = l->l.n_bits[PG_LIN_LANE];
    uint32_t n_warp = l->l.n_bits[PG_LIN_WARP];
    for (uint32_t b = 0; b < n_lane + n_warp; b++) {
        uint32_t at[PG_MAX_RANK];
        bool is_lane = b < n_lane;
        pg_lw_bit_coord(&l->l, is_lane ? PG_LIN_LANE : PG_LIN_WARP, is_lane ? b : b - n_lane, at);
        v[is_lane ? b : 5 + b - n_lane] = at[d];
    }
    uint32_t mask = 0;
    pg_el base = pg_lw_thread_sum(c, v, 5 + n_warp, true, &mask);
    base = pg_lw_iadd(c, PG_I32, base, outer_warps(c, &l->l, d), true);
    if (out == NULL) {
        return;
    }
    for (uint32_t r = 0; r < l->n_regs; r++) {
        if ((r & l->same[d]) != 0) {
            out[r] = out[r & ~l->same[d]];
            continue;
        }
        uint32_t own = pg_lw_coord(l, r)[d];
        out[r] = (own & mask) == 0 || base.reg == 0
                     ? pg_lw_iadd(c, PG_I32, base, pg_el_imm(own), true)
                     : combine(c, base, pg_el_imm(own), false);
    }
}

pg_el pg_lw_replica_guard(pg_lw *c, const pg_lw_layout *l)
{
    uint32_t free = l->free_thread & (c->n_warps * 32 - 1);
    pg_el guard = pg_el_imm(1);
    if ((c->n_warps & (c->n_warps - 1)) != 0) {
        free = l->free_thread;
    }
    if (free != 0) {
        uint32_t t =
            pg_lw_pure2(c, "and.b32", PG_PTX_B32, pg_lw_reg(pg_lw_thread(c)), pg_ptx_int(free));
        guard = pg_el_reg(is_0(c, t));
    }
    for (uint32_t j = 0; j < l->l.n_outer; j++) { /* 3 * 4 warps for a tile that 4 can share */
        const pg_outer_digit *o = &l->l.outer[j];
        if (o->in_dim == PG_LIN_WARP && o->stride == 0) {
            guard = pg_el_and(c, guard, pg_el_reg(is_0(c, outer_index(c, o))));
        }
    }
    if (c->part == NULL && c->plan.n_warps > c->n_warps) {
        guard = pg_el_and(
            c, guard,
            pg_el_reg(pg_lw_pure2(c, "setp.lt.u32", PG_PTX_PRED, pg_lw_reg(pg_lw_thread(c)),
                                  pg_ptx_int((int64_t)c->n_warps * 32))));
    }
    return guard;
}

/* ---- shared memory -------------------------------------------------------------------------- */

pg_ptx_opnd pg_lw_smem_base(pg_lw *c)
{
    uint32_t r = pg_lw_pure1(c, "mov.u32", PG_PTX_B32, pg_ptx_sym_opnd(c->smem_sym, 0));
    pg_lw_set_fact(c, r, 0, INT32_MAX, 10);
    return pg_lw_reg(r);
}

pg_el pg_lw_smem_addr(pg_lw *c, const pg_smem_obj *obj, pg_el slot, uint32_t offset)
{
    pg_el base = pg_el_reg(pg_lw_smem_base(c).id);
    pg_el skip = pg_lw_imul(c, PG_I32, slot, pg_el_imm(obj->slot_stride), true);
    pg_el at = pg_lw_iadd(c, PG_I32, base, skip, true);
    return pg_lw_iadd(c, PG_I32, at, pg_el_imm((int64_t)obj->offset + offset), true);
}
