/* lower_sync.c: barriers, rings, fences. Each is in the IR; nothing is added here. */
#include "emit/lower_int.h"

enum { BARRIER_BYTES = 8 };

/* The object that this instruction allocated. */
static void bind_object(pg_lw *c, const pg_inst *i)
{
    for (uint32_t j = 0; j < c->plan.objs.n; j++) {
        if (c->plan.objs.at[j].inst == i) {
            c->vals[i->out[0].id] = (pg_lv){.kind = PG_LV_SMEM, .obj = &c->plan.objs.at[j]};
        }
    }
}

LOWER(BUF_NEW)
{
    bind_object(c, i);
}

LOWER(RING_NEW)
{
    bind_object(c, i);
}

LOWER(BAR_NEW)
{
    bind_object(c, i);
}

/* A ring's full barriers come first, its empty ones after them. */
pg_ptx_opnd pg_lw_bar_addr(pg_lw *c, const pg_lv *bar, int64_t side, pg_el slot)
{
    if (bar->obj == NULL) {
        return pg_ptx_int(0);
    }
    bool is_empty = bar->obj->inst->op == PG_OP_RING_NEW && side == PG_SIDE_EMPTY;
    pg_el at = pg_lw_smem_addr(c, bar->obj, slot, is_empty ? BARRIER_BYTES * bar->obj->n_slots : 0);
    return pg_ptx_addr(&c->b, pg_lw_reg(at.reg - 1), at.imm);
}

/* What one thread does for the CTA or the partition; inside `elect` it is that thread already. */
static pg_ptx_opnd one_thread(pg_lw *c)
{
    return c->is_elected ? (pg_ptx_opnd){0} : pg_lw_reg(pg_lw_thread_is_0(c));
}

LOWER(BAR_INIT)
{
    const pg_lv *bar = pg_lw_in(c, i, 0);
    if (bar->obj == NULL) {
        return;
    }
    const pg_attrs *made = &bar->obj->inst->attrs;
    bool is_ring = bar->obj->inst->op == PG_OP_RING_NEW;
    pg_ptx_opnd leader = one_thread(c);
    uint32_t end = 0;
    if (leader.kind == PG_PTX_O_REG) {
        end = pg_ptx_label_new(&c->b, "initialised");
        pg_lw_branch(c, leader, true, end);
    }
    uint32_t scope = pg_lw_scope_open(c);
    for (uint32_t s = 0; s < bar->obj->n_slots; s++) {
        for (int64_t side = 0; side < (is_ring ? 2 : 1); side++) {
            pg_attr_id id = !is_ring               ? PG_A_ARRIVALS
                            : side == PG_SIDE_FULL ? PG_A_FULL
                                                   : PG_A_EMPTY;
            pg_ptx_opnd ops[2] = {pg_lw_bar_addr(c, bar, side, pg_el_imm(s)),
                                  pg_ptx_int(pg_attr_int(made, id, 1))};
            pg_lw_emit(c, "mbarrier.init.shared.b64", 2, ops);
        }
    }
    pg_lw_scope_close(c, scope);
    if (leader.kind == PG_PTX_O_REG) {
        pg_ptx_label_here(&c->b, end);
    }
}

static void arrive(pg_lw *c, pg_ptx_opnd addr, pg_ptx_opnd guard)
{
    pg_ptx_opnd ops[2] = {pg_ptx_sink(), addr};
    pg_ptx_guard(pg_lw_emit(c, "mbarrier.arrive.shared.b64", 2, ops), guard, false);
}

/* Who arrives; no register: all threads that come here. */
static pg_ptx_opnd arriver(pg_lw *c, const pg_inst *i)
{
    int64_t per = pg_attr_int(&i->attrs, PG_A_PER, PG_PER_THREAD);
    if (c->is_elected) {
        return (pg_ptx_opnd){0};
    }
    if (per == PG_PER_ONE) {
        return one_thread(c);
    }
    pg_el p = per == PG_PER_WARP ? pg_el_reg(pg_lw_lane_is_0(c)) : pg_el_imm(1);
    if (c->part == NULL && c->plan.n_warps > c->n_warps) { /* workers have no part in it */
        uint32_t r = pg_lw_pure2(c, "setp.lt.u32", PG_PTX_PRED, pg_lw_reg(pg_lw_thread(c)),
                                 pg_ptx_int((int64_t)c->n_warps * 32));
        p = pg_el_and(c, p, pg_el_reg(r));
    }
    return p.reg == 0 ? (pg_ptx_opnd){0} : pg_lw_reg(p.reg - 1);
}

LOWER(RING_PRIME)
{
    const pg_lv *ring = pg_lw_in(c, i, 0);
    int64_t lag = pg_attr_int(&i->attrs, PG_A_LAG, 0);
    pg_ptx_opnd guard = arriver(c, i);
    for (int64_t s = 0; ring->obj != NULL && s + lag < (int64_t)ring->obj->n_slots; s++) {
        arrive(c, pg_lw_bar_addr(c, ring, PG_SIDE_EMPTY, pg_el_imm(s)), guard);
    }
}

LOWER(BAR_ARRIVE)
{
    int64_t side = pg_attr_int(&i->attrs, PG_A_SIDE, PG_SIDE_FULL);
    pg_ptx_opnd guard = arriver(c, i);
    pg_el slot = pg_lw_scalar(c, i, 1);
    arrive(c, pg_lw_bar_addr(c, pg_lw_in(c, i, 0), side, slot), guard);
}

LOWER(BAR_EXPECT)
{
    int64_t side = pg_attr_int(&i->attrs, PG_A_SIDE, PG_SIDE_FULL);
    pg_el slot = pg_lw_scalar(c, i, 1);
    pg_ptx_opnd ops[3] = {pg_ptx_sink(), pg_lw_bar_addr(c, pg_lw_in(c, i, 0), side, slot),
                          pg_ptx_int(pg_attr_int(&i->attrs, PG_A_BYTES, 0))};
    pg_ptx_opnd guard = one_thread(c);
    pg_ptx_guard(pg_lw_emit(c, "mbarrier.arrive.expect_tx.shared.b64", 3, ops), guard, false);
}

LOWER(BAR_WAIT)
{
    int64_t side = pg_attr_int(&i->attrs, PG_A_SIDE, PG_SIDE_FULL);
    pg_el slot = pg_lw_scalar(c, i, 1);
    pg_ptx_opnd addr = pg_lw_bar_addr(c, pg_lw_in(c, i, 0), side, slot);
    pg_ptx_opnd parity = pg_lw_use(c, PG_I32, pg_lw_scalar(c, i, 2));
    uint32_t again = pg_ptx_label_new(&c->b, side == PG_SIDE_EMPTY ? "wait_empty" : "wait_full");
    pg_ptx_label_here(&c->b, again);
    pg_ptx_opnd done = pg_lw_reg(pg_lw_new_reg(c, PG_PTX_PRED));
    pg_ptx_opnd ops[3] = {done, addr, parity};
    pg_lw_emit(c, "mbarrier.try_wait.parity.shared.b64", 3, ops);
    pg_lw_branch(c, done, true, again);
}

/* slot + 1, at the end 0 and the other phase. */
LOWER(RING_NEXT)
{
    const pg_lv *ring = pg_lw_in(c, i, 0);
    pg_el *slot = pg_lw_result(c, i, 0, 1);
    pg_el *phase = pg_lw_result(c, i, 1, 1);
    if (slot == NULL || phase == NULL || ring->obj == NULL) {
        return;
    }
    int64_t n = ring->obj->n_slots;
    pg_el next = pg_lw_iadd(c, PG_I32, pg_lw_scalar(c, i, 1), pg_el_imm(1), true);
    pg_el old = pg_lw_scalar(c, i, 2);
    if (next.reg == 0 && old.reg == 0) {
        *slot = pg_el_imm(next.imm == n ? 0 : next.imm);
        *phase = pg_el_imm(next.imm == n ? old.imm ^ 1 : old.imm);
        return;
    }
    pg_ptx_opnd s = pg_lw_in_reg(c, PG_I32, next);
    pg_ptx_opnd wraps = pg_lw_opnd2(c, "setp.eq.s32", PG_PTX_PRED, s, pg_ptx_int(n));
    uint32_t r = pg_lw_pure3(c, "selp.b32", PG_PTX_B32, pg_ptx_int(0), s, wraps);
    pg_lw_set_fact(c, r, 0, n - 1, 0);
    *slot = pg_el_reg(r);
    uint32_t p = pg_lw_new_reg(c, PG_PTX_B32);
    pg_ptx_opnd move[2] = {pg_lw_reg(p), pg_lw_use(c, PG_I32, old)};
    pg_lw_emit(c, "mov.b32", 2, move);
    pg_ptx_opnd flip[3] = {pg_lw_reg(p), pg_lw_reg(p), pg_ptx_int(1)};
    pg_ptx_guard(pg_lw_emit(c, "xor.b32", 3, flip), wraps, false);
    pg_lw_set_fact(c, p, 0, 1, 0);
    *phase = pg_el_reg(p);
}

LOWER(FENCE)
{
    switch (pg_attr_int(&i->attrs, PG_A_KIND, PG_FENCE_CTA)) {
    case PG_FENCE_MBARRIER_INIT: pg_lw_emit0(c, "fence.mbarrier_init.release.cluster"); break;
    case PG_FENCE_PROXY_ASYNC: pg_lw_emit0(c, "fence.proxy.async.shared::cta"); break;
    case PG_FENCE_GPU: pg_lw_emit0(c, "fence.acq_rel.gpu"); break;
    default: pg_lw_emit0(c, "fence.acq_rel.cta"); break;
    }
}

LOWER(CTA_SYNC)
{
    (void)i;
    pg_ptx_opnd id = pg_ptx_int(0);
    pg_lw_emit(c, "bar.sync", 1, &id);
}

LOWER(PART_SYNC)
{
    pg_ptx_opnd ops[2] = {pg_ptx_int(pg_attr_int(&i->attrs, PG_A_ID, 1)),
                          pg_ptx_int((int64_t)c->n_warps * 32)};
    pg_lw_emit(c, "bar.sync", 2, ops);
}

LOWER(WARP_SYNC)
{
    (void)i;
    pg_ptx_opnd all = pg_ptx_int(-1);
    pg_lw_emit(c, "bar.warp.sync", 1, &all);
}
