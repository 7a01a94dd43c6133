/* verify_mma.c: matrix operations on tiles, and copies through pointers into buffers. */
#include "ir/verify.h"

static bool is_product(const pg_inst *i, const pg_type_info *a, const pg_type_info *b,
                       const pg_type_info *c)
{
    if (a->elem != b->elem || (a->is_ptr | b->is_ptr | c->is_ptr) != 0) {
        return false;
    }
    if (i->op == PG_OP_UMMA) {
        return a->elem == PG_I8 && c->elem == PG_I32;
    }
    switch (a->elem) {
    case PG_F16: return c->elem == PG_F32 || c->elem == PG_F16;
    case PG_BF16:
    case PG_TF32:
    case PG_F32: return c->elem == PG_F32;
    case PG_I8: return c->elem == PG_I32;
    default: return false;
    }
}

void pg_verify_mma(pg_verifier *v, const pg_inst *i)
{
    const pg_type_info *a = pg_val_info(v->k, i->in[0]);
    const pg_type_info *b = pg_val_info(v->k, i->in[1]);
    const pg_type_info *c = pg_val_info(v->k, i->out[0]);
    const char *text[3] = {pg_verify_type_text(v, pg_val_type(v->k, i->in[0])),
                           pg_verify_type_text(v, pg_val_type(v->k, i->in[1])),
                           pg_verify_type_text(v, pg_val_type(v->k, i->out[0]))};
    if (!is_product(i, a, b, c)) {
        pg_verify_error(v, PG_D_MMA_TYPES, i->loc, pg_verify_op_text(i), text[0], text[1], text[2]);
        return;
    }
    uint32_t ta = pg_attr_has(&i->attrs, PG_A_TRANSA) ? 1 : 0;
    uint32_t tb = pg_attr_has(&i->attrs, PG_A_TRANSB) ? 1 : 0;
    bool is_good = a->rank == 2 && b->rank == 2 && c->rank == 2;
    is_good = is_good && a->dims[1 - ta] == b->dims[tb] && a->dims[ta] == c->dims[0] &&
              b->dims[1 - tb] == c->dims[1];
    if (!is_good) {
        pg_verify_error(v, PG_D_MMA_EXTENTS, i->loc, text[0], text[1], text[2]);
    }
}

void pg_verify_async_get(pg_verifier *v, const pg_inst *i)
{
    const pg_type_info *p = pg_val_info(v->k, i->in[0]);
    const pg_type_info *b = pg_val_info(v->k, i->in[1]);
    bool is_good = p->kind == PG_TY_TILE && p->elem == b->elem && b->is_ptr == 0 &&
                   p->rank == b->rank && pg_elem_infos[p->elem].bits >= 8 &&
                   b->space == PG_SPACE_SMEM;
    for (uint32_t d = 0; is_good && d < p->rank; d++) {
        is_good = p->dims[d] == b->dims[d];
    }
    if (!is_good) {
        pg_verify_error(v, PG_D_ASYNC_TILE, i->loc,
                        pg_verify_type_text(v, pg_val_type(v->k, i->in[0])),
                        pg_verify_type_text(v, pg_val_type(v->k, i->in[1])));
    }
}
