/* lower_smem.c: views of buffers, and copies between buffers and registers by ordinary accesses. */
#include "emit/lower_int.h"

LOWER(BUF_VIEW)
{
    pg_lv lv = *pg_lw_in(c, i, 0);
    lv.has_slot = true;
    lv.slot = pg_lw_scalar(c, i, 1);
    lv.is_bytes = pg_lw_slot_bytes(c, i->in[1]) != 0;
    c->vals[i->out[0].id] = lv;
}

pg_el pg_lw_slot_skip(pg_lw *c, const pg_lv *buf)
{
    if (!buf->has_slot || buf->is_bytes) {
        return buf->has_slot ? buf->slot : pg_el_imm(0);
    }
    return pg_lw_imul(c, PG_I32, buf->slot, pg_el_imm(buf->obj->slot_stride), true);
}

/* ---- where a thread's elements lie ----------------------------------------------------------- */

uint32_t pg_lw_smem_offset(const pg_smem_map *m, const uint32_t *at)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    return pg_layout_find_by(&m->buf, &m->finder, at, index) ? index[PG_LIN_OFFSET] * m->size : 0;
}

/* Sums of vectors are exclusive ors where none has a bit of another. */
static bool is_disjoint(const pg_layout *l)
{
    uint32_t all = 0;
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < l->n_bits[d]; b++) {
            if ((all & l->basis[d][b]) != 0) {
                return false;
            }
            all |= l->basis[d][b];
        }
    }
    return true;
}

/* What the registers add. Without outer digits, what their bits add, combined. */
static bool place_registers(pg_lw *c, const pg_lw_layout *tile, pg_smem_map *out)
{
    out->own = PG_NEWS(c->kept->arena, uint32_t, tile->n_regs);
    for (uint32_t r = 0; out->own != NULL && r < tile->n_regs; r++) {
        const uint32_t rest = r & (r - 1);
        if (rest == 0 || tile->l.n_outer != 0) {
            out->own[r] = pg_lw_smem_offset(out, pg_lw_coord(tile, r));
        } else {
            const uint32_t a = out->own[rest], b = out->own[r ^ rest];
            out->own[r] = out->is_xor ? a ^ b : a + b;
        }
    }
    return out->own != NULL;
}

static bool make_map(pg_lw *c, pg_val buf, const pg_lw_layout *tile, pg_smem_map *out)
{
    const pg_type_info *t = pg_val_info(c->k, buf);
    pg_layout_error error = pg_layout_of_buf(c->types, pg_val_type(c->k, buf), &out->buf);
    if (tile == NULL || error != PG_LAYOUT_OK) {
        return false;
    }
    const pg_layout *l = &tile->l;
    pg_layout_finder_init(&out->finder, &out->buf);
    out->is_xor = out->buf.n_outer == 0;
    if (l->rank != out->buf.rank || l->rank != t->rank || (!out->is_xor && !is_disjoint(l))) {
        return false;
    }
    uint32_t bits = t->is_ptr ? 64 : pg_elem_infos[t->elem].bits;
    out->size = bits < 8 ? 1 : bits / 8;
    uint32_t n_lane = l->n_bits[PG_LIN_LANE];
    uint32_t n_warp = l->n_bits[PG_LIN_WARP];
    out->n = 5 + n_warp;
    for (uint32_t b = 0; b < n_lane + n_warp; b++) {
        uint32_t at[PG_MAX_RANK];
        const bool is_lane = b < n_lane;
        pg_lw_bit_coord(l, is_lane ? PG_LIN_LANE : PG_LIN_WARP, is_lane ? b : b - n_lane, at);
        out->v[b < n_lane ? b : 5 + b - n_lane] = pg_lw_smem_offset(out, at);
    }
    for (uint32_t j = 0; j < l->n_outer; j++) { /* warps that are replicas lie nowhere else */
        if (l->outer[j].in_dim != PG_LIN_REG && l->outer[j].stride != 0) {
            return false;
        }
    }
    return place_registers(c, tile, out);
}

/* What is the same for all elements whose `own` meets the thread's bits in `meet`. */
static pg_el part_at(pg_lw *c, pg_smem_aim *a, uint32_t meet)
{
    pg_el at = a->sum;
    if (meet != 0) { /* bits of both: XORed where they meet, added where not */
        pg_fact f = pg_lw_fact(c, PG_I32, at);
        uint32_t x =
            pg_lw_pure2(c, "xor.b32", PG_PTX_B32, pg_lw_use(c, PG_I32, at), pg_ptx_int(meet));
        uint32_t align = pg_ctz(meet);
        pg_lw_set_fact(c, x, 0, (int64_t)a->mask, f.align < align ? f.align : align);
        at = pg_el_reg(x);
    }
    at = pg_lw_iadd(c, PG_I32, pg_el_reg(pg_lw_smem_base(c).id), at, true);
    return a->buf == NULL ? at : pg_lw_iadd(c, PG_I32, at, pg_lw_slot_skip(c, a->buf), true);
}

pg_el pg_lw_smem_at(pg_lw *c, pg_smem_aim *a, uint32_t own)
{
    if (!a->has_sum) {
        a->sum = pg_lw_thread_sum(c, a->m->v, a->m->n, a->m->is_xor, &a->mask);
        a->has_sum = true;
    }
    const uint32_t meet = a->m->is_xor ? own & a->mask : 0;
    uint32_t p = 0;
    while (p < a->n_parts && p < PG_SMEM_PARTS && a->part[p].meet != meet) {
        p++;
    }
    if (p == a->n_parts || p == PG_SMEM_PARTS) { /* the oldest goes */
        p = a->n_parts++ % PG_SMEM_PARTS;
        a->part[p].meet = meet;
        a->part[p].at = part_at(c, a, meet);
    }
    if (a->buf == NULL) {
        return a->part[p].at;
    }
    const int64_t offset = (int64_t)a->buf->obj->offset + (own & ~meet);
    return pg_lw_iadd(c, PG_I32, a->part[p].at, pg_el_imm(offset), true);
}

/* ---- copies between registers and buffers ---------------------------------------------------- */

static bool search_way(pg_lw *c, const pg_inst *i, pg_val tile, pg_smem_way *out)
{
    const pg_val buf = i->in[i->op == PG_OP_ASYNC_GET ? 1 : 0];
    out->l = pg_lw_layout_of(c, i, pg_val_type(c->k, tile));
    out->move = (pg_bank_move){.kind = PG_MOVE_PLAIN};
    if (!make_map(c, buf, out->l, &out->m)) {
        return false;
    }
    if (i->op == PG_OP_ASYNC_GET) {
        return true;
    }
    if (pg_bank_move_of_types(c->types, pg_val_type(c->k, tile), pg_val_type(c->k, buf), c->n_warps,
                              i->op == PG_OP_BUF_STORE, c->target->sm,
                              &out->move) != PG_LAYOUT_OK) {
        return false;
    }
    if (out->move.kind != PG_MOVE_PLAIN) {
        pg_lw_matrix_map(out);
    }
    return true;
}

enum { TYPE_BITS = 20, WARP_BITS = 10, TARGET_BITS = 10 }; /* of a key; beyond: looked up anew */

/* Kernels go the same ways again and again. */
const pg_smem_way *pg_lw_smem_way(pg_lw *c, const pg_inst *i, pg_val tile)
{
    const uint64_t t = pg_val_type(c->k, tile).id, sm = c->target->sm;
    const uint64_t b = pg_val_type(c->k, i->in[i->op == PG_OP_ASYNC_GET ? 1 : 0]).id;
    const uint64_t kind = i->op == PG_OP_ASYNC_GET ? 2 : i->op == PG_OP_BUF_STORE ? 1 : 0;
    const uint64_t types = t << TYPE_BITS | b;
    const uint64_t key =
        (types << TARGET_BITS | sm) << (WARP_BITS + 2) | (uint64_t)c->n_warps << 2 | kind;
    const bool is_known_kind = t >> TYPE_BITS == 0 && b >> TYPE_BITS == 0 &&
                               sm >> TARGET_BITS == 0 && c->n_warps >> WARP_BITS == 0;
    pg_lw_kept *kept = c->kept;
    const uint32_t *known = is_known_kind ? pg_map_get(&kept->ways, key) : NULL;
    if (known != NULL) {
        return kept->way_at.at[*known];
    }
    pg_smem_way *way = PG_NEW(kept->arena, pg_smem_way);
    way = way != NULL && search_way(c, i, tile, way) ? way : NULL;
    if (way != NULL && is_known_kind && pg_vec_push(kept->arena, &kept->way_at, way)) {
        (void)pg_map_put(&kept->ways, key,
                         kept->way_at.n - 1); /* without it, it is searched again */
    }
    return way;
}

void pg_lw_prepare_buf(pg_lw *c, const pg_inst *i)
{
    const pg_smem_way *w = pg_lw_smem_way(
        c, i, i->op == PG_OP_BUF_LOAD ? i->out[0] : i->in[i->op == PG_OP_BUF_STORE ? 1 : 0]);
    if (w == NULL) {
        return;
    }
    if (w->move.kind != PG_MOVE_PLAIN) {
        pg_lw_matrix(c, i, w, true);
        return;
    }
    pg_smem_aim aim = {.m = &w->m};
    for (uint32_t r = 0; r < w->l->n_regs && !pg_lw_failed(c); r++) {
        pg_lw_smem_at(c, &aim, w->m.own[r]);
    }
}

uint32_t pg_lw_access_reg(const pg_bank_access *a, uint32_t n_bits, uint32_t j)
{
    uint32_t reg = 0, used = 0, from = a->n_log2;
    for (uint32_t b = 0; b < a->n_log2; b++) {
        used |= 1u << a->reg_bits[b];
        reg |= (j >> b & 1) << a->reg_bits[b];
    }
    for (uint32_t b = 0; b < n_bits; b++) {
        if ((used >> b & 1) == 0) {
            reg |= (j >> from++ & 1) << b;
        }
    }
    return reg;
}

/* pg_lw_access_reg of all numbers below n, where n is a power of two; else each is its own. */
static const uint32_t *order_of(pg_lw *c, const pg_bank_access *a, uint32_t n)
{
    uint32_t *order = PG_NEWS(&c->scratch, uint32_t, n);
    for (uint32_t j = 0; order != NULL && j < n; j++) {
        const uint32_t rest = j & (j - 1);
        order[j] = !pg_is_pow2(n) ? j
                   : rest == 0    ? pg_lw_access_reg(a, pg_log2(n), j)
                                  : order[rest] | order[j ^ rest];
    }
    return order;
}

/* Registers in an order in which those of an access stand together. */
static void transfer(pg_lw *c, const pg_inst *i, const pg_smem_way *w, pg_elem elem, pg_el *val)
{
    const pg_lv *buf = pg_lw_in(c, i, 0);
    const pg_lw_layout *l = w->l;
    bool is_store = i->op == PG_OP_BUF_STORE, is_pow2 = pg_is_pow2(l->n_regs);
    const uint32_t *order = order_of(c, &w->move.access, l->n_regs);
    pg_el *addr = PG_NEWS(&c->scratch, pg_el, l->n_regs);
    pg_el *part = PG_NEWS(&c->scratch, pg_el, l->n_regs);
    if (order == NULL || addr == NULL || part == NULL || val == NULL || buf->obj == NULL) {
        return;
    }
    pg_access a = {.is_store = is_store,
                   .is_shared = true,
                   .cache = -1,
                   .elem = elem,
                   .n = l->n_regs,
                   .addr = addr,
                   .guard = is_store ? pg_lw_replica_guard(c, l) : pg_el_imm(1),
                   .val = part,
                   .free_reg = is_pow2 ? 0 : l->free_reg};
    pg_smem_aim aim = {.m = &w->m, .buf = buf};
    for (uint32_t j = 0; j < l->n_regs; j++) {
        const uint32_t r = order[j];
        addr[j] = pg_lw_smem_at(c, &aim, w->m.own[r]);
        part[j] = is_store ? val[r] : part[j];
        a.free_reg |= is_pow2 && pg_is_pow2(j) && (r & l->free_reg) != 0 ? j : 0;
    }
    pg_lw_access(c, &a);
    for (uint32_t j = 0; j < l->n_regs && !is_store; j++) {
        val[order[j]] = part[j];
    }
}

LOWER(BUF_LOAD)
{
    pg_elem elem = pg_lw_elem(pg_val_info(c->k, i->out[0]));
    const pg_smem_way *w = pg_lw_smem_way(c, i, i->out[0]);
    if (w != NULL && w->move.kind != PG_MOVE_PLAIN) {
        pg_lw_matrix(c, i, w, false);
        return;
    }
    pg_el *val = pg_lw_result(c, i, 0, pg_lw_count(c, i, pg_val_type(c->k, i->out[0])));
    if (w != NULL) {
        transfer(c, i, w, elem, val);
    } else {
        pg_lw_refuse(c, i, "these layouts");
    }
}

LOWER(BUF_STORE)
{
    const pg_smem_way *w = pg_lw_smem_way(c, i, i->in[1]);
    if (w == NULL) {
        pg_lw_refuse(c, i, "these layouts");
    } else if (w->move.kind != PG_MOVE_PLAIN) {
        pg_lw_matrix(c, i, w, false);
    } else {
        const pg_lv *lv = pg_lw_in(c, i, 1);
        if (lv->n == w->l->n_regs) {
            transfer(c, i, w, pg_lw_elem(pg_val_info(c->k, i->in[1])), lv->el);
        }
    }
}
