/* lower_shape.c: operations that move no data: the result's registers are the operand's, renamed.
 * Whoever chose the layouts saw to it; what does not fit is refused. */
#include <string.h>

#include "emit/lower_int.h"

typedef struct mapping { /* from a coordinate of the result to one of the operand */
    const pg_inst *inst;
    const pg_layout *res, *in;
    uint32_t dim;
    uint32_t perm[PG_MAX_RANK];
} mapping;

static void map_coord(const mapping *m, const uint32_t *at, uint32_t *to)
{
    uint32_t rank = m->in->rank;
    switch ((pg_op)m->inst->op) {
    case PG_OP_BROADCAST:
        for (uint32_t d = 0; d < rank; d++) {
            to[d] = m->in->dims[d] == 1 ? 0 : at[d];
        }
        break;
    case PG_OP_EXPAND:
        for (uint32_t d = 0; d < rank; d++) {
            to[d] = at[d < m->dim ? d : d + 1];
        }
        break;
    case PG_OP_TRANSPOSE:
        for (uint32_t d = 0; d < rank; d++) {
            to[m->perm[d]] = at[d];
        }
        break;
    default: { /* reshape */
        uint64_t linear = 0;
        for (uint32_t d = 0; d < m->res->rank; d++) {
            linear = linear * m->res->dims[d] + at[d];
        }
        for (uint32_t d = rank; d-- > 0;) {
            to[d] = (uint32_t)(linear % m->in->dims[d]);
            linear /= m->in->dims[d];
        }
        break;
    }
    }
}

static uint64_t pack(const pg_layout *l, const uint32_t *at)
{
    uint64_t key = 0;
    for (uint32_t d = 0; d < l->rank; d++) {
        key = key * l->dims[d] + at[d];
    }
    return key;
}

/* Whether register r of the result is register s of the operand in this lane and warp. */
static bool agrees(const mapping *m, uint32_t r, uint32_t s, uint32_t lane, uint32_t warp)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    uint32_t at[PG_MAX_RANK], want[PG_MAX_RANK], have[PG_MAX_RANK];
    index[PG_LIN_LANE] = lane;
    index[PG_LIN_WARP] = warp;
    index[PG_LIN_REG] = r;
    pg_layout_at(m->res, index, at);
    map_coord(m, at, want);
    index[PG_LIN_REG] = s;
    pg_layout_at(m->in, index, have);
    return pack(m->in, want) == pack(m->in, have);
}

static bool agrees_everywhere(const mapping *m, uint32_t r, uint32_t s, uint32_t n_warps)
{
    for (uint32_t t = 1; t < 32 * n_warps; t++) {
        if (!agrees(m, r, s, t % 32, t / 32)) {
            return false;
        }
    }
    return true;
}

/* Linear layouts agree everywhere if they do for each bit alone. */
static bool agree_by_bits(const mapping *m, pg_lin_dim d, uint32_t n_bits)
{
    for (uint32_t b = 0; b < n_bits; b++) {
        uint32_t at[PG_MAX_RANK], want[PG_MAX_RANK], have[PG_MAX_RANK];
        pg_lw_bit_coord(m->res, d, b, at);
        map_coord(m, at, want);
        pg_lw_bit_coord(m->in, d, b, have);
        if (memcmp(want, have, m->in->rank * sizeof *want) != 0) {
            return false;
        }
    }
    return true;
}

static bool find_registers(pg_lw *c, const mapping *m, const pg_lw_layout *res,
                           const pg_lw_layout *in, uint32_t *reg)
{
    pg_map held;
    pg_map_init(&held, &c->scratch);
    for (uint32_t s = in->n_regs; s-- > 0;) {
        if (!pg_map_put(&held, pack(m->in, pg_lw_coord(in, s)), s)) {
            return false;
        }
    }
    for (uint32_t r = 0; r < res->n_regs; r++) {
        uint32_t want[PG_MAX_RANK] = {0};
        map_coord(m, pg_lw_coord(res, r), want);
        const uint32_t *s = pg_map_get(&held, pack(m->in, want));
        if (s == NULL || !agrees_everywhere(m, r, *s, c->n_warps)) {
            return false;
        }
        reg[r] = *s;
    }
    return true;
}

/* The same of linear layouts: a register comes from those that its bits come from, combined.
 */
static bool find_linear(pg_lw *c, const mapping *m, const pg_lw_layout *res, const pg_lw_layout *in,
                        uint32_t *reg)
{
    for (uint32_t r = 0; r < res->n_regs; r++) {
        const uint32_t rest = r & (r - 1);
        if (rest != 0) {
            reg[r] = reg[rest] ^ reg[r ^ rest];
            continue;
        }
        uint32_t want[PG_MAX_RANK] = {0}, s = 0;
        map_coord(m, pg_lw_coord(res, r), want);
        const uint64_t key = pack(m->in, want);
        while (s < in->n_regs && pack(m->in, pg_lw_coord(in, s)) != key) {
            s++;
        }
        if (s == in->n_regs) {
            return false;
        }
        reg[r] = s;
    }
    const uint32_t n_warp_bits = c->n_warps <= 1 ? 0 : pg_log2(c->n_warps - 1) + 1;
    return agree_by_bits(m, PG_LIN_LANE, 5) && agree_by_bits(m, PG_LIN_WARP, n_warp_bits);
}

static void lower_shape(pg_lw *c, const pg_inst *i)
{
    const pg_lw_layout *res = pg_lw_layout_of(c, i, pg_val_type(c->k, i->out[0]));
    const pg_lw_layout *in = pg_lw_layout_of(c, i, pg_val_type(c->k, i->in[0]));
    const pg_lv *lv = pg_lw_in(c, i, 0);
    pg_el *out = pg_lw_result(c, i, 0, res == NULL ? 0 : res->n_regs);
    if (res == NULL || in == NULL || out == NULL) {
        return;
    }
    mapping m = {.inst = i, .res = &res->l, .in = &in->l};
    m.dim = (uint32_t)pg_attr_int(&i->attrs, PG_A_DIM, 0);
    const pg_aval *perm = pg_attr_get(&i->attrs, PG_A_PERM);
    for (uint32_t d = 0; d < res->l.rank && d < PG_MAX_RANK; d++) {
        bool is_given = perm != NULL && d < perm->n;
        m.perm[d] = is_given ? (uint32_t)perm->items[d].num % PG_MAX_RANK : res->l.rank - 1 - d;
    }
    uint32_t *reg = PG_NEWS(&c->scratch, uint32_t, res->n_regs);
    if (reg == NULL) {
        return;
    }
    const bool is_linear = m.res->n_outer == 0 && m.in->n_outer == 0;
    const bool is_found =
        is_linear ? find_linear(c, &m, res, in, reg) : find_registers(c, &m, res, in, reg);
    if (lv->n != in->n_regs || !is_found) {
        pg_lw_refuse(c, i, "layouts between which data moves");
        return;
    }
    uint32_t same = 0;
    for (uint32_t r = 0; r < res->n_regs; r++) {
        out[r] = lv->el[reg[r]];
        same |= is_linear && pg_is_pow2(r) && (reg[r] & ~lv->same) == 0 ? r : 0;
    }
    c->vals[i->out[0].id].same = same;
}

LOWER(BROADCAST)
{
    lower_shape(c, i);
}

LOWER(EXPAND)
{
    lower_shape(c, i);
}

LOWER(RESHAPE)
{
    lower_shape(c, i);
}

LOWER(TRANSPOSE)
{
    lower_shape(c, i);
}
