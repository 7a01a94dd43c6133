/* pipeline_mask.c: a mask, and the condition that its iteration exists, as one mask.
 *
 * Where the mask compares with a scalar, `icmp %x, splat(%s) [is=lt]`, the condition goes into the
 * scalar: `%s` becomes one that no %x is less than. One select on a scalar, which all threads
 * share, takes the place of an `and` for each element.
 *
 * I1  Only operations that were made for this iteration are made again: what is the same in all
 *     iterations stays outside of the loop. */
#include "ir/elem.h"
#include "sched/pipeline.h"

typedef struct fold {
    pg_pipe *p;
    pg_inst *at;
    pg_val exists;
    uint32_t first_new; /* values from this id on were made for the iteration */
} fold;

/* Which operand of a strict comparison may be the scalar, and the number that makes it false. */
static const struct {
    uint8_t op, is, scalar;
    bool is_most; /* the greatest number of the type, else the least */
} forms[] = {
    {PG_OP_ICMP, PG_IS_LT, 1, false}, {PG_OP_ICMP, PG_IS_GT, 1, true},
    {PG_OP_ICMP, PG_IS_LT, 0, true},  {PG_OP_ICMP, PG_IS_GT, 0, false},
    {PG_OP_UCMP, PG_IS_LT, 1, false}, {PG_OP_UCMP, PG_IS_GT, 1, true},
    {PG_OP_UCMP, PG_IS_LT, 0, true},  {PG_OP_UCMP, PG_IS_GT, 0, false},
};

static int64_t bound_of(pg_op op, pg_elem e, bool is_most)
{
    const uint32_t bits = pg_elem_infos[e].bits;
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    const uint64_t bound = op == PG_OP_UCMP ? (is_most ? sign - 1 + sign : 0)
                           : is_most        ? sign - 1
                                            : sign;
    return (int64_t)pg_elem_wrap(e, bound);
}

/* The same operation on another operand. */
static pg_val again(const fold *f, const pg_inst *i, uint32_t which, pg_val with)
{
    pg_val in[PG_MAX_IN] = {{0}};
    for (uint32_t j = 0; j < i->n_in && j < PG_MAX_IN; j++) {
        in[j] = j == which ? with : i->in[j];
    }
    const pg_inst *c = pg_pipe_clone(f->p, f->at, i, in);
    return c == NULL ? (pg_val){0} : c->out[0];
}

static pg_val fold_compare(const fold *f, const pg_inst *i)
{
    const pg_kernel *k = f->p->k;
    for (size_t n = 0; n < sizeof forms / sizeof forms[0]; n++) {
        const uint32_t s = forms[n].scalar;
        const pg_inst *splat = pg_val_def(k, i->in[s]);
        if (forms[n].op != i->op || forms[n].is != pg_attr_int(&i->attrs, PG_A_IS, -1) ||
            splat == NULL || splat->op != PG_OP_SPLAT) {
            continue;
        }
        const pg_val limit = splat->in[0];
        const pg_type type = pg_val_type(k, limit);
        const int64_t bound =
            bound_of((pg_op)i->op, (pg_elem)pg_val_info(k, limit)->elem, forms[n].is_most);
        const pg_val in[3] = {f->exists, limit, pg_const_int(f->p->k, type, bound)};
        const pg_val none = pg_pipe_value(f->p, f->at, i, PG_OP_SELECT, 3, in, type);
        return again(f, i, s, again(f, splat, 0, none));
    }
    return (pg_val){0};
}

/* The mask with the condition in it, or id 0: nothing there compares with a scalar. */
static pg_val fold_into(const fold *f, pg_val mask)
{
    const pg_inst *i = pg_val_def(f->p->k, mask);
    if (i == NULL || mask.id < f->first_new || f->p->status != PG_OK) {
        return (pg_val){0};
    }
    switch ((pg_op)i->op) {
    case PG_OP_ICMP:
    case PG_OP_UCMP: return fold_compare(f, i);
    case PG_OP_AND:
    case PG_OP_BROADCAST:
    case PG_OP_EXPAND:
    case PG_OP_RESHAPE: break;
    default: return (pg_val){0};
    }
    for (uint32_t j = 0; j < i->n_in; j++) {
        const pg_val x = fold_into(f, i->in[j]);
        if (x.id != 0) {
            return again(f, i, j, x);
        }
    }
    return (pg_val){0};
}

pg_val pg_pipe_mask(pg_pipe *p, pg_inst *at, const pg_inst *from, pg_val mask, pg_val exists,
                    uint32_t first_new)
{
    const fold f = {.p = p, .at = at, .exists = exists, .first_new = first_new};
    const pg_val folded = fold_into(&f, mask);
    if (folded.id != 0 || p->status != PG_OK) {
        return folded;
    }
    const pg_type type = pg_val_type(p->k, mask);
    const pg_val in[2] = {mask, pg_pipe_value(p, at, from, PG_OP_SPLAT, 1, &exists, type)};
    return pg_pipe_value(p, at, from, PG_OP_AND, 2, in, type);
}
