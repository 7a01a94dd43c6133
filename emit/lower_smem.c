/* lower_smem.c: views of buffers, and copies between buffers and registers by ordinary accesses. */
#include "emit/lower_int.h"

LOWER(BUF_VIEW)
{
    pg_lv lv = *pg_lw_in(c, i, 0);
    lv.has_slot = true;
    lv.slot = pg_lw_scalar(c, i, 1);
    c->vals[i->out[0].id] = lv;
}

/* Byte offset in a slot of the element at a coordinate. */
static uint32_t offset_of(const pg_layout *buf, const uint32_t *at, uint32_t size)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    return pg_layout_find(buf, at, index) ? index[PG_LIN_OFFSET] * size : 0;
}

typedef struct tile_in_buf {
    const pg_lw_layout *tile;
    pg_layout buf;
    uint32_t size; /* bytes of an element */
    bool is_swizzled;
    uint32_t v[32]; /* what each bit of the thread's number adds */
} tile_in_buf;

static bool relate(pg_lw *c, const pg_inst *i, pg_val buf, pg_val tile, tile_in_buf *out)
{
    *out = (tile_in_buf){.tile = pg_lw_layout_of(c, i, pg_val_type(c->k, tile))};
    const pg_type_info *t = pg_val_info(c->k, buf);
    pg_layout_error error = pg_layout_of_buf(c->types, pg_val_type(c->k, buf), &out->buf);
    if (out->tile == NULL || error != PG_LAYOUT_OK) {
        return false;
    }
    const pg_layout *l = &out->tile->l;
    if (l->rank != out->buf.rank || l->rank != t->rank) {
        return false;
    }
    uint32_t bits = pg_elem_infos[t->elem].bits;
    out->size = bits < 8 ? 1 : bits / 8;
    out->is_swizzled = pg_enc_get(c->types, t->enc)->swizzle != 0;
    uint32_t n_lane = l->n_bits[PG_LIN_LANE], n_warp = l->n_bits[PG_LIN_WARP];
    for (uint32_t b = 0; b < n_lane + n_warp; b++) {
        uint32_t index[PG_LIN_DIM_COUNT] = {0};
        uint32_t at[PG_MAX_RANK];
        index[b < n_lane ? PG_LIN_LANE : PG_LIN_WARP] = 1u << (b < n_lane ? b : b - n_lane);
        pg_layout_at(l, index, at);
        out->v[b < n_lane ? b : 5 + b - n_lane] = offset_of(&out->buf, at, out->size);
    }
    for (uint32_t j = 0; j < l->n_outer; j++) {
        if (l->outer[j].in_dim != PG_LIN_REG) {
            return false;
        }
    }
    return true;
}

static pg_el thread_offset(pg_lw *c, const tile_in_buf *t, uint32_t *mask)
{
    return pg_lw_thread_sum(c, t->v, 5u + t->tile->l.n_bits[PG_LIN_WARP], t->is_swizzled, mask);
}

/* Address of every register's element. */
static pg_el *addresses(pg_lw *c, const tile_in_buf *t, const pg_lv *buf)
{
    uint32_t mask = 0;
    pg_el *at = PG_NEWS(&c->scratch, pg_el, t->tile->n_regs);
    pg_el thread = thread_offset(c, t, &mask);
    pg_el base = pg_lw_smem_addr(c, buf->obj, buf->has_slot ? buf->slot : pg_el_imm(0), 0);
    pg_el sum = pg_lw_iadd(c, PG_I32, base, thread, true);
    for (uint32_t r = 0; at != NULL && r < t->tile->n_regs; r++) {
        uint32_t own = offset_of(&t->buf, pg_lw_coord(t->tile, r), t->size);
        if (!t->is_swizzled || (own & mask) == 0) {
            at[r] = pg_lw_iadd(c, PG_I32, sum, pg_el_imm(own), true);
            continue;
        }
        /* Bits of both: the register's part is XORed where they meet, added where not. */
        pg_fact f = pg_lw_fact(c, PG_I32, thread);
        uint32_t meet = pg_lw_pure2(c, "xor.b32", PG_PTX_B32, pg_lw_use(c, PG_I32, thread),
                                    pg_ptx_int(own & mask));
        uint32_t align = pg_ctz(own & mask);
        pg_lw_set_fact(c, meet, 0, (int64_t)mask, f.align < align ? f.align : align);
        at[r] = pg_lw_iadd(c, PG_I32, base, pg_el_reg(meet), true);
        at[r] = pg_lw_iadd(c, PG_I32, at[r], pg_el_imm(own & ~mask), true);
    }
    return at;
}

void pg_lw_prepare_buf(pg_lw *c, const pg_inst *i)
{
    tile_in_buf t;
    bool is_load = i->op == PG_OP_BUF_LOAD;
    uint32_t mask = 0;
    if (relate(c, i, i->in[0], is_load ? i->out[0] : i->in[1], &t)) {
        thread_offset(c, &t, &mask);
    }
}

static void transfer(pg_lw *c, const pg_inst *i, pg_val tile, pg_el *val)
{
    const pg_lv *buf = pg_lw_in(c, i, 0);
    tile_in_buf t;
    if (buf->obj == NULL || !relate(c, i, i->in[0], tile, &t)) {
        pg_lw_refuse(c, i, "these layouts");
        return;
    }
    bool is_store = i->op == PG_OP_BUF_STORE;
    pg_access a = {.is_store = is_store,
                   .is_shared = true,
                   .cache = -1,
                   .elem = pg_lw_elem(pg_val_info(c->k, tile)),
                   .n = t.tile->n_regs,
                   .addr = addresses(c, &t, buf),
                   .guard = is_store ? pg_lw_replica_guard(c, t.tile) : pg_el_imm(1),
                   .val = val,
                   .free_reg = t.tile->free_reg};
    if (a.addr != NULL && a.val != NULL) {
        pg_lw_access(c, &a);
    }
}

LOWER(BUF_LOAD)
{
    uint32_t n = pg_lw_count(c, i, pg_val_type(c->k, i->out[0]));
    transfer(c, i, i->out[0], pg_lw_result(c, i, 0, n));
}

LOWER(BUF_STORE)
{
    const pg_lv *lv = pg_lw_in(c, i, 1);
    if (lv->n != 0) {
        transfer(c, i, i->in[1], pg_arena_copy(&c->scratch, lv->el, lv->n * sizeof *lv->el));
    }
}
