#include "ir/layout_back.h"

/* The attribute that says how dimensions move, as a number: the dimension, or the permutation, four
 * bits for each. False for a transpose without one. */
static bool how_of(const pg_inst *i, uint32_t *how)
{
    const pg_aval *list = pg_attr_get(&i->attrs, PG_A_PERM);
    *how = 0;
    if (i->op == PG_OP_EXPAND) {
        *how = (uint32_t)pg_attr_int(&i->attrs, PG_A_DIM, 0);
    }
    for (uint32_t d = 0; i->op == PG_OP_TRANSPOSE && list && d < list->n && d < PG_MAX_RANK; d++) {
        *how |= ((uint32_t)list->items[d].num & 15u) << 4 * d;
    }
    return i->op != PG_OP_TRANSPOSE || list != NULL;
}

static pg_layout_error compute(const pg_inst *i, const pg_type_info *in, uint32_t how,
                               const pg_layout *res, pg_layout *out)
{
    uint32_t perm[PG_MAX_RANK];
    switch (i->op) {
    case PG_OP_BROADCAST: return pg_layout_back_broadcast(res, in->rank, in->dims, out);
    case PG_OP_EXPAND: return pg_layout_back_expand(res, how, out);
    case PG_OP_RESHAPE: return pg_layout_back_reshape(res, in->rank, in->dims, out);
    case PG_OP_TRANSPOSE:
        for (uint32_t d = 0; d < PG_MAX_RANK; d++) {
            perm[d] = how >> 4 * d & 15u;
        }
        return pg_layout_back_transpose(res, perm, out);
    default: return PG_LAYOUT_SHAPE;
    }
}

pg_layout_back pg_layout_back_of(const pg_types *t, const pg_kernel *k, const pg_inst *i,
                                 pg_type res, uint32_t n_warps)
{
    pg_layout_back made = {.error = PG_LAYOUT_SHAPE};
    pg_layout from;
    uint32_t how = 0;
    const pg_type in = pg_val_type(k, i->in[0]);
    const bool is_known = how_of(i, &how);
    const pg_memo_key key = {PG_MEMO_BACK, {(uint32_t)i->op << 16 | n_warps, res.id, in.id, how}};
    const pg_layout_back *known = is_known ? pg_memo_get(t, &key) : NULL;
    if (known != NULL) {
        return *known;
    }
    made.res_error = pg_layout_of_tile(t, res, n_warps, &from);
    if (made.res_error == PG_LAYOUT_OK && is_known) {
        made.error = compute(i, pg_type_get(t, in), how, &from, &made.layout);
    }
    if (is_known) {
        pg_memo_put(t, &key, &made, sizeof made);
    }
    return made;
}
