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

/* ---- where a thread's elements lie
 * --------------------------------------------------------------- */

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

bool pg_lw_smem_map(pg_lw *c, pg_val buf, const pg_lw_layout *tile, pg_smem_map *out)
{
    const pg_type_info *t = pg_val_info(c->k, buf);
    *out = (pg_smem_map){0};
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
        uint32_t index[PG_LIN_DIM_COUNT] = {0};
        uint32_t at[PG_MAX_RANK];
        index[b < n_lane ? PG_LIN_LANE : PG_LIN_WARP] = 1u << (b < n_lane ? b : b - n_lane);
        pg_layout_at(l, index, at);
        out->v[b < n_lane ? b : 5 + b - n_lane] = pg_lw_smem_offset(out, at);
    }
    for (uint32_t j = 0; j < l->n_outer; j++) { /* warps that are replicas lie nowhere else */
        if (l->outer[j].in_dim != PG_LIN_REG && l->outer[j].stride != 0) {
            return false;
        }
    }
    return true;
}

pg_el pg_lw_smem_at(pg_lw *c, pg_smem_map *m, const pg_lv *buf, uint32_t own)
{
    if (!m->has_sum) {
        m->sum = pg_lw_thread_sum(c, m->v, m->n, m->is_xor, &m->mask);
        m->has_sum = true;
    }
    uint32_t mask = m->mask;
    pg_el at = m->sum;
    uint32_t both = m->is_xor ? own & mask : 0;
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
    at = pg_lw_iadd(c, PG_I32, at, pg_lw_slot_skip(c, buf), true);
    return pg_lw_iadd(c, PG_I32, at, pg_el_imm((int64_t)buf->obj->offset + (own & ~both)), true);
}

/* ---- copies between registers and buffers
 * -------------------------------------------------------- */

/* What moves the elements, and where they lie. */
typedef struct pg_smem_way {
    const pg_lw_layout *l;
    pg_smem_map m;
    pg_bank_move move;
    bool is_found;
} way;

static void search_way(pg_lw *c, const pg_inst *i, pg_val tile, way *out)
{
    const pg_val buf = i->in[i->op == PG_OP_ASYNC_GET ? 1 : 0];
    out->l = pg_lw_layout_of(c, i, pg_val_type(c->k, tile));
    if (!pg_lw_smem_map(c, buf, out->l, &out->m)) {
        return;
    }
    out->move = (pg_bank_move){.kind = PG_MOVE_PLAIN};
    out->is_found =
        i->op == PG_OP_ASYNC_GET ||
        pg_bank_move_of_types(c->types, pg_val_type(c->k, tile), pg_val_type(c->k, buf), c->n_warps,
                              i->op == PG_OP_BUF_STORE, c->target->sm, &out->move) == PG_LAYOUT_OK;
}

enum { TYPE_BITS = 24, WARP_BITS = 10 }; /* of a key; ids beyond are looked up anew */

/* The way depends on types only, and kernels go the same ways again and again. */
static bool find_way(pg_lw *c, const pg_inst *i, pg_val tile, way *out)
{
    const uint64_t t = pg_val_type(c->k, tile).id;
    const uint64_t b = pg_val_type(c->k, i->in[i->op == PG_OP_ASYNC_GET ? 1 : 0]).id;
    const uint64_t kind = i->op == PG_OP_ASYNC_GET ? 2 : i->op == PG_OP_BUF_STORE ? 1 : 0;
    const uint64_t key = (t << TYPE_BITS | b) << (WARP_BITS + 2) | (uint64_t)c->n_warps << 2 | kind;
    const bool is_known_kind =
        t >> TYPE_BITS == 0 && b >> TYPE_BITS == 0 && c->n_warps >> WARP_BITS == 0;
    const uint32_t *known = is_known_kind ? pg_map_get(&c->ways, key) : NULL;
    if (known != NULL) {
        *out = *c->way_at.at[*known];
        return out->is_found;
    }
    *out = (way){.is_found = false};
    search_way(c, i, tile, out);
    way *kept =
        is_known_kind && out->is_found ? pg_arena_copy(&c->scratch, out, sizeof *out) : NULL;
    if (kept != NULL && pg_vec_push(&c->scratch, &c->way_at, kept)) {
        (void)pg_map_put(&c->ways, key, c->way_at.n - 1); /* without it, it is searched again */
    }
    return out->is_found;
}

void pg_lw_prepare_buf(pg_lw *c, const pg_inst *i)
{
    way w;
    if (!find_way(c, i,
                  i->op == PG_OP_BUF_LOAD ? i->out[0] : i->in[i->op == PG_OP_BUF_STORE ? 1 : 0],
                  &w)) {
        return;
    }
    if (w.move.kind != PG_MOVE_PLAIN) {
        pg_lw_matrix(c, i, w.l, w.m, &w.move, true);
        return;
    }
    for (uint32_t r = 0; r < w.l->n_regs && !pg_lw_failed(c); r++) {
        pg_lw_smem_at(c, &w.m, NULL, pg_lw_smem_offset(&w.m, pg_lw_coord(w.l, r)));
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

/* Registers in an order in which those of an access stand together. */
static void transfer(pg_lw *c, const pg_inst *i, way *w, pg_elem elem, pg_el *val)
{
    const pg_lv *buf = pg_lw_in(c, i, 0);
    const pg_lw_layout *l = w->l;
    bool is_store = i->op == PG_OP_BUF_STORE, is_pow2 = pg_is_pow2(l->n_regs);
    uint32_t n_bits = is_pow2 ? pg_log2(l->n_regs) : 0;
    pg_el *addr = PG_NEWS(&c->scratch, pg_el, l->n_regs);
    pg_el *part = PG_NEWS(&c->scratch, pg_el, l->n_regs);
    if (addr == NULL || part == NULL || val == NULL || buf->obj == NULL) {
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
    for (uint32_t j = 0; j < l->n_regs; j++) {
        uint32_t r = is_pow2 ? pg_lw_access_reg(&w->move.access, n_bits, j) : j;
        addr[j] = pg_lw_smem_at(c, &w->m, buf, pg_lw_smem_offset(&w->m, pg_lw_coord(l, r)));
        part[j] = is_store ? val[r] : part[j];
        a.free_reg |= is_pow2 && pg_is_pow2(j) && (r & l->free_reg) != 0 ? j : 0;
    }
    pg_lw_access(c, &a);
    for (uint32_t j = 0; j < l->n_regs && !is_store; j++) {
        val[is_pow2 ? pg_lw_access_reg(&w->move.access, n_bits, j) : j] = part[j];
    }
}

LOWER(BUF_LOAD)
{
    way w;
    pg_elem elem = pg_lw_elem(pg_val_info(c->k, i->out[0]));
    bool is_found = find_way(c, i, i->out[0], &w);
    if (is_found && w.move.kind != PG_MOVE_PLAIN) {
        pg_lw_matrix(c, i, w.l, w.m, &w.move, false);
        return;
    }
    pg_el *val = pg_lw_result(c, i, 0, pg_lw_count(c, i, pg_val_type(c->k, i->out[0])));
    if (is_found) {
        transfer(c, i, &w, elem, val);
    } else {
        pg_lw_refuse(c, i, "these layouts");
    }
}

LOWER(BUF_STORE)
{
    way w;
    bool is_found = find_way(c, i, i->in[1], &w);
    if (!is_found) {
        pg_lw_refuse(c, i, "these layouts");
    } else if (w.move.kind != PG_MOVE_PLAIN) {
        pg_lw_matrix(c, i, w.l, w.m, &w.move, false);
    } else {
        const pg_lv *lv = pg_lw_in(c, i, 1);
        if (lv->n == w.l->n_regs) {
            transfer(c, i, &w, pg_lw_elem(pg_val_info(c->k, i->in[1])), lv->el);
        }
    }
}
