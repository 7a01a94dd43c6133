/* lower_reduce.c: `reduce`: first the elements that a thread has, pair by pair; then, where the
 * layout spreads the dimension over lanes, one exchange for each bit of the lane's number. Warps
 * were seen to by the pass `sync`. f16 and bf16 are combined in f32 and rounded once at the end. */
#include <string.h>

#include "emit/lower_int.h"
#include "ir/reduce.h"

typedef struct reduction {
    const pg_inst *inst;
    pg_reduce r;
    pg_reduce_plan plan;
    pg_elem elem, work; /* of the tile; what is computed in */
    const pg_lw_layout *in, *res;
    const pg_el *val;
    pg_ptx_opnd *list; /* elements of one result */
    uint32_t *place;   /* of those, along the dimension */
    uint32_t n_list;
    uint32_t first; /* register of the first */
} reduction;

static pg_elem work_elem(pg_elem e)
{
    switch (e) {
    case PG_I8:
    case PG_I16: return PG_I32;
    case PG_F16:
    case PG_BF16: return PG_F32;
    default: return e;
    }
}

static pg_ptx_opnd to_work(pg_lw *c, const reduction *d, pg_el x)
{
    if (d->work == PG_F32 && d->elem != PG_F32) {
        pg_ptx_opnd wide = pg_lw_to_f32(c, d->elem, x);
        return wide.kind == PG_PTX_O_F32 ? pg_lw_in_reg(c, PG_F32, pg_el_imm(wide.imm)) : wide;
    }
    return pg_lw_in_reg(c, d->elem, x);
}

static pg_el from_work(pg_lw *c, const reduction *d, pg_ptx_opnd x)
{
    if (d->work == PG_F32) {
        return pg_lw_from_f32(c, d->elem, x);
    }
    return d->work != d->elem ? pg_lw_wrap(c, d->elem, x.id) : pg_el_reg(x.id);
}

static pg_ptx_opnd combine(pg_lw *c, const reduction *d, pg_ptx_opnd a, pg_ptx_opnd b)
{
    static const char *const ops[3][4] = {{"add.s32", "add.s64", "add.rn.f32", "add.rn.f64"},
                                          {"max.s32", "max.s64", "max.f32", "max.f64"},
                                          {"min.s32", "min.s64", "min.f32", "min.f64"}};
    uint32_t column = d->work == PG_I32 ? 0 : d->work == PG_I64 ? 1 : d->work == PG_F32 ? 2 : 3;
    return pg_lw_opnd2(c, ops[d->r.op % 3][column], pg_lw_reg_type(d->work), a, b);
}

static pg_ptx_opnd exchange_32(pg_lw *c, pg_ptx_type type, pg_ptx_opnd x, uint32_t lane_bit)
{
    pg_ptx_opnd ops[4] = {x, pg_ptx_int(lane_bit), pg_ptx_int(31), pg_ptx_int(-1)};
    return pg_lw_reg(pg_lw_pure(c, "shfl.sync.bfly.b32", type, 4, ops));
}

/* The other lane's value. */
static pg_ptx_opnd exchange(pg_lw *c, const reduction *d, pg_ptx_opnd x, uint32_t lane_bit)
{
    pg_ptx_type type = pg_lw_reg_type(d->work);
    if (pg_elem_infos[d->work].bits == 32) {
        return exchange_32(c, type, x, lane_bit);
    }
    pg_ptx_opnd half[2];
    for (uint32_t h = 0; h < 2; h++) {
        half[h] = pg_lw_reg(pg_lw_new_reg(c, PG_PTX_B32));
    }
    pg_lw_emit(c, "mov.b64", 2, (pg_ptx_opnd[]){pg_ptx_vec(&c->b, half, 2), x});
    for (uint32_t h = 0; h < 2; h++) {
        half[h] = exchange_32(c, PG_PTX_B32, half[h], lane_bit);
    }
    pg_ptx_opnd other = pg_lw_reg(pg_lw_new_reg(c, type));
    pg_lw_emit(c, "mov.b64", 2, (pg_ptx_opnd[]){other, pg_ptx_vec(&c->b, half, 2)});
    return other;
}

/* The operand's registers that hold elements of the result at `want`, each element once. */
static void gather(pg_lw *c, reduction *d, const uint32_t *want)
{
    uint32_t rank = d->in->l.rank, n_res = rank - (d->r.parts == 0 ? 1u : 0u);
    d->n_list = 0;
    for (uint32_t s = 0; s < d->in->n_regs; s++) {
        uint32_t to[PG_MAX_RANK] = {0};
        const uint32_t *at = pg_lw_coord(d->in, s);
        bool is_known = (s & d->in->free_reg) != 0;
        pg_reduce_project(&d->r, rank, at, to);
        if (is_known || memcmp(to, want, n_res * sizeof *to) != 0) {
            continue;
        }
        for (uint32_t j = 0; j < d->n_list; j++) {
            is_known = is_known || d->place[j] == at[d->r.dim];
        }
        if (!is_known) {
            d->first = d->n_list == 0 ? s : d->first;
            d->place[d->n_list] = at[d->r.dim];
            d->list[d->n_list++] = to_work(c, d, d->val[s]);
        }
    }
}

static pg_el reduce_one(pg_lw *c, reduction *d, const uint32_t *want)
{
    gather(c, d, want);
    if (d->n_list == 0) {
        return pg_el_imm(0); /* the plan says that this does not happen */
    }
    if (d->n_list == 1 && d->plan.lanes == 0) {
        return d->val[d->first];
    }
    for (uint32_t n = d->n_list; n > 1; n = (n + 1) / 2) {
        for (uint32_t j = 0; j < n / 2; j++) {
            const pg_ptx_opnd *pair = d->list + (size_t)2 * j;
            d->list[j] = combine(c, d, pair[0], pair[1]);
        }
        if (n % 2 != 0) {
            d->list[n / 2] = d->list[n - 1];
        }
    }
    pg_ptx_opnd x = d->list[0];
    for (uint32_t b = 0; b < 5; b++) {
        if ((d->plan.lanes >> b & 1) != 0) {
            x = combine(c, d, x, exchange(c, d, x, 1u << b));
        }
    }
    return from_work(c, d, x);
}

/* Layouts of both sides and who exchanges with whom. */
static bool prepare(pg_lw *c, const pg_inst *i, reduction *d)
{
    const pg_type_info *out = pg_val_info(c->k, i->out[0]);
    const pg_lv *in = pg_lw_in(c, i, 0);
    bool is_tile = out->kind == PG_TY_TILE;
    *d = (reduction){.inst = i, .r = pg_reduce_of(i), .elem = (pg_elem)out->elem};
    d->work = work_elem(d->elem);
    d->in = pg_lw_layout_of(c, i, pg_val_type(c->k, i->in[0]));
    d->res = is_tile ? pg_lw_layout_of(c, i, pg_val_type(c->k, i->out[0])) : NULL;
    if (d->in == NULL || (is_tile && d->res == NULL) || in->n != d->in->n_regs) {
        return false;
    }
    d->val = in->el;
    d->list = PG_NEWS(&c->scratch, pg_ptx_opnd, d->in->n_regs);
    d->place = PG_NEWS(&c->scratch, uint32_t, d->in->n_regs);
    return d->list != NULL && d->place != NULL &&
           pg_reduce_plan_make(&d->r, &d->in->l, is_tile ? &d->res->l : NULL, &d->plan) ==
               PG_LAYOUT_OK;
}

LOWER(REDUCE)
{
    reduction d;
    if (c->is_elected || !prepare(c, i, &d)) {
        pg_lw_refuse(c, i, c->is_elected ? "one lane alone" : "these layouts");
        return;
    }
    if (d.plan.warps != 0) {
        pg_diag_add(c->diags, PG_D_NOT_SYNCED, i->loc, pg_op_infos[i->op].text);
        return;
    }
    const uint32_t origin[PG_MAX_RANK] = {0};
    uint32_t n = d.res != NULL ? d.res->n_regs : 1;
    pg_el *out = pg_lw_result(c, i, 0, n);
    for (uint32_t r = 0; out != NULL && r < n && !pg_lw_failed(c); r++) {
        bool is_copy = d.res != NULL && (r & d.res->free_reg) != 0;
        out[r] = is_copy ? out[r & ~d.res->free_reg]
                         : reduce_one(c, &d, d.res != NULL ? pg_lw_coord(d.res, r) : origin);
    }
}
