/* lower_smem.c: views of buffers, and copies between buffers and registers by ordinary accesses. */
#include "emit/lower_int.h"

LOWER(BUF_VIEW)
{
    pg_lv lv = *pg_lw_in(c, i, 0);
    lv.has_slot = true;
    lv.slot = pg_lw_scalar(c, i, 1);
    c->vals[i->out[0].id] = lv;
}

/* ---- where a thread's elements lie
 * --------------------------------------------------------------- */

uint32_t pg_lw_smem_offset(const pg_smem_map *m, const uint32_t *at)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    return pg_layout_find(&m->buf, at, index) ? index[PG_LIN_OFFSET] * m->size : 0;
}

bool pg_lw_smem_map(pg_lw *c, pg_val buf, const pg_lw_layout *tile, pg_smem_map *out)
{
    const pg_type_info *t = pg_val_info(c->k, buf);
    *out = (pg_smem_map){.is_swizzled = pg_enc_get(c->types, t->enc)->swizzle != 0};
    pg_layout_error error = pg_layout_of_buf(c->types, pg_val_type(c->k, buf), &out->buf);
    if (tile == NULL || error != PG_LAYOUT_OK) {
        return false;
    }
    const pg_layout *l = &tile->l;
    if (l->rank != out->buf.rank || l->rank != t->rank) {
        return false;
    }
    uint32_t bits = pg_elem_infos[t->elem].bits;
    out->size = bits < 8 ? 1 : bits / 8;
    uint32_t n_lane = l->n_bits[PG_LIN_LANE];
    uint32_t n_warp = l->n_bits[PG_LIN_WARP];
    out->n = 5 + n_warp;
    for (uint32_t b = 0; b < n_lane + n_warp; b++) {
        uint32_t index[PG_LIN_DIM_COUNT] = {0};
        uint32_t at[PG_MAX_RANK];
        index[b < n_lane ? PG_LIN_LANE : PG_LIN_WARP] = 1u << (b < n_lane ? b : b - n_lane);
        pg_layout_at(l, index, at);
        out->v[b < n_lane ? b : 5 + b - n_lane] = pg_lw_smem_offset(out, at);
    }
    for (uint32_t j = 0; j < l->n_outer; j++) {
        if (l->outer[j].in_dim != PG_LIN_REG) {
            return false;
        }
    }
    return true;
}

pg_el pg_lw_smem_at(pg_lw *c, const pg_smem_map *m, const pg_lv *buf, uint32_t own)
{
    uint32_t mask = 0;
    pg_el at = pg_lw_thread_sum(c, m->v, m->n, m->is_swizzled, &mask);
    uint32_t both = m->is_swizzled ? own & mask : 0;
    if (both != 0) { /* bits of both: XORed where they meet, added where not */
        pg_fact f = pg_lw_fact(c, PG_I32, at);
        uint32_t meet =
            pg_lw_pure2(c, "xor.b32", PG_PTX_B32, pg_lw_use(c, PG_I32, at), pg_ptx_int(both));
        uint32_t align = pg_ctz(both);
        pg_lw_set_fact(c, meet, 0, (int64_t)mask, f.align < align ? f.align : align);
        at = pg_el_reg(meet);
    }
    at = pg_lw_iadd(c, PG_I32, pg_el_reg(pg_lw_smem_base(c).id), at, true);
    if (buf == NULL) {
        return at;
    }
    pg_el slot = buf->has_slot ? buf->slot : pg_el_imm(0);
    pg_el skip = pg_lw_imul(c, PG_I32, slot, pg_el_imm(buf->obj->slot_stride), true);
    at = pg_lw_iadd(c, PG_I32, at, skip, true);
    return pg_lw_iadd(c, PG_I32, at, pg_el_imm((int64_t)buf->obj->offset + (own & ~both)), true);
}

/* ---- copies between registers and buffers
 * -------------------------------------------------------- */

void pg_lw_prepare_buf(pg_lw *c, const pg_inst *i)
{
    bool is_get = i->op == PG_OP_ASYNC_GET;
    pg_val tile = i->op == PG_OP_BUF_LOAD ? i->out[0] : i->in[is_get ? 0 : 1];
    if (!is_get && pg_lw_matrix(c, i, true)) {
        return;
    }
    const pg_lw_layout *l = pg_lw_layout_of(c, i, pg_val_type(c->k, tile));
    pg_smem_map m;
    if (!pg_lw_smem_map(c, i->in[is_get ? 1 : 0], l, &m)) {
        return;
    }
    for (uint32_t r = 0; r < l->n_regs && !pg_lw_failed(c); r++) {
        pg_lw_smem_at(c, &m, NULL, pg_lw_smem_offset(&m, pg_lw_coord(l, r)));
    }
}

static void transfer(pg_lw *c, const pg_inst *i, pg_val tile, pg_el *val)
{
    const pg_lv *buf = pg_lw_in(c, i, 0);
    const pg_lw_layout *l = pg_lw_layout_of(c, i, pg_val_type(c->k, tile));
    pg_smem_map m;
    if (buf->obj == NULL || !pg_lw_smem_map(c, i->in[0], l, &m)) {
        pg_lw_refuse(c, i, "these layouts");
        return;
    }
    pg_el *addr = PG_NEWS(&c->scratch, pg_el, l->n_regs);
    for (uint32_t r = 0; addr != NULL && r < l->n_regs; r++) {
        addr[r] = pg_lw_smem_at(c, &m, buf, pg_lw_smem_offset(&m, pg_lw_coord(l, r)));
    }
    bool is_store = i->op == PG_OP_BUF_STORE;
    pg_access a = {.is_store = is_store,
                   .is_shared = true,
                   .cache = -1,
                   .elem = pg_lw_elem(pg_val_info(c->k, tile)),
                   .n = l->n_regs,
                   .addr = addr,
                   .guard = is_store ? pg_lw_replica_guard(c, l) : pg_el_imm(1),
                   .val = val,
                   .free_reg = l->free_reg};
    if (a.addr != NULL && a.val != NULL) {
        pg_lw_access(c, &a);
    }
}

LOWER(BUF_LOAD)
{
    if (pg_lw_matrix(c, i, false)) {
        return;
    }
    uint32_t n = pg_lw_count(c, i, pg_val_type(c->k, i->out[0]));
    transfer(c, i, i->out[0], pg_lw_result(c, i, 0, n));
}

LOWER(BUF_STORE)
{
    if (pg_lw_matrix(c, i, false)) {
        return;
    }
    const pg_lv *lv = pg_lw_in(c, i, 1);
    if (lv->n != 0) {
        transfer(c, i, i->in[1], pg_arena_copy(&c->scratch, lv->el, lv->n * sizeof *lv->el));
    }
}
