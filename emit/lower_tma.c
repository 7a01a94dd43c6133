/* lower_tma.c: tensor copies. A descriptor is a tensor map that the launcher passes by value; a box
 * of more than 256 rows is copied in parts, all on one barrier. */
#include "emit/lower_int.h"

enum { MAX_BOX = 256 }; /* elements of a box along one dimension */

pg_ptx_opnd pg_lw_desc_addr(pg_lw *c, const pg_lv *desc)
{
    return pg_lw_opnd1(c, "mov.b64", PG_PTX_B64, pg_ptx_sym_opnd(desc->sym, 0));
}

/* Address of the part that begins at `rows` of the buffer's outermost dimension. */
static pg_ptx_opnd part_addr(pg_lw *c, const pg_inst *i, const pg_lv *buf, uint32_t rows)
{
    pg_layout l;
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    uint32_t at[PG_MAX_RANK] = {rows};
    const pg_type_info *t = pg_val_info(c->k, i->in[1]);
    if (pg_layout_of_buf(c->types, pg_val_type(c->k, i->in[1]), &l) == PG_LAYOUT_OK && rows != 0) {
        (void)pg_layout_find(&l, at, index);
    }
    uint32_t offset = index[PG_LIN_OFFSET] * (pg_elem_infos[t->elem].bits / 8u);
    pg_el slot = buf->has_slot && !buf->is_bytes ? buf->slot : pg_el_imm(0);
    pg_el a = pg_lw_smem_addr(c, buf->obj, slot, offset);
    if (buf->is_bytes) {
        a = pg_lw_iadd(c, PG_I32, a, buf->slot, true);
    }
    return pg_ptx_addr(&c->b, pg_lw_reg(a.reg - 1), a.imm);
}

/* [map, {c0, c1, ...}]: coordinates with the fastest dimension first. */
static pg_ptx_opnd box_at(pg_lw *c, const pg_inst *i, uint32_t first, uint32_t rank, uint32_t rows)
{
    pg_ptx_opnd coords[PG_MAX_RANK] = {{0}};
    for (uint32_t d = 0; d < rank && d < PG_MAX_RANK; d++) {
        pg_el x = pg_lw_scalar(c, i, first + d);
        if (d == 0) {
            x = pg_lw_iadd(c, PG_I32, x, pg_el_imm(rows), true);
        }
        coords[rank - 1 - d] = pg_lw_use(c, PG_I32, x);
    }
    return pg_ptx_taddr(&c->b, pg_lw_desc_addr(c, pg_lw_in(c, i, 0)), coords, rank);
}

static bool is_copyable(pg_lw *c, const pg_inst *i, uint32_t rank, uint32_t n_coords)
{
    const pg_type_info *t = pg_val_info(c->k, i->in[0]);
    bool is_ok = pg_lw_in(c, i, 0)->kind == PG_LV_DESC && pg_lw_in(c, i, 1)->obj != NULL &&
                 rank >= 1 && rank <= PG_MAX_RANK && n_coords == rank;
    for (uint32_t d = 1; is_ok && d < rank; d++) {
        is_ok = t->dims[d] <= MAX_BOX;
    }
    if (!is_ok) {
        pg_lw_refuse(c, i, "this box");
    }
    return is_ok;
}

LOWER(TMA_LOAD)
{
    static const char *const ops[] = {
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes"};
    const pg_type_info *t = pg_val_info(c->k, i->in[0]);
    uint32_t rank = t->rank;
    if (!is_copyable(c, i, rank, i->n_in - 4u)) {
        return;
    }
    int64_t side = pg_attr_int(&i->attrs, PG_A_SIDE, PG_SIDE_FULL);
    int32_t step = rank > 1 ? MAX_BOX : t->dims[0];
    pg_ptx_opnd guard = {0};
    if (!c->is_elected) {
        guard = pg_lw_reg(pg_lw_thread_is_0(c));
    }
    for (int32_t rows = 0; rows < t->dims[0]; rows += step) {
        pg_ptx_opnd o[3];
        o[0] = part_addr(c, i, pg_lw_in(c, i, 1), (uint32_t)rows);
        o[1] = box_at(c, i, 4, rank, (uint32_t)rows);
        pg_el slot = pg_lw_scalar(c, i, 3);
        o[2] = pg_lw_bar_addr(c, pg_lw_in(c, i, 2), side, slot);
        pg_ptx_guard(pg_lw_emit(c, ops[rank > 1 ? rank - 1 : 0], 3, o), guard, false);
    }
}

LOWER(TMA_STORE)
{
    static const char *const ops[] = {"cp.async.bulk.tensor.1d.global.shared::cta.bulk_group",
                                      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group",
                                      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group",
                                      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group",
                                      "cp.async.bulk.tensor.5d.global.shared::cta.bulk_group"};
    const pg_type_info *t = pg_val_info(c->k, i->in[0]);
    uint32_t rank = t->rank;
    if (!is_copyable(c, i, rank, i->n_in - 2u)) {
        return;
    }
    int32_t step = rank > 1 ? MAX_BOX : t->dims[0];
    pg_ptx_opnd guard = {0};
    if (!c->is_elected) {
        guard = pg_lw_reg(pg_lw_thread_is_0(c));
    }
    for (int32_t rows = 0; rows < t->dims[0]; rows += step) {
        pg_ptx_opnd o[2];
        o[0] = box_at(c, i, 2, rank, (uint32_t)rows);
        o[1] = part_addr(c, i, pg_lw_in(c, i, 1), (uint32_t)rows);
        pg_ptx_guard(pg_lw_emit(c, ops[rank > 1 ? rank - 1 : 0], 2, o), guard, false);
    }
}

LOWER(TMA_COMMIT)
{
    (void)i;
    pg_lw_emit0(c, "cp.async.bulk.commit_group");
}

LOWER(TMA_WAIT)
{
    pg_ptx_opnd n = pg_ptx_int(pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0));
    bool is_read = pg_attr_has(&i->attrs, PG_A_READ);
    pg_lw_emit(c, is_read ? "cp.async.bulk.wait_group.read" : "cp.async.bulk.wait_group", 1, &n);
}
