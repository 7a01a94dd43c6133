/* verify_role.c: what a kernel does to an array agrees with the role of its argument, as far as the
 * text shows: a pointer is followed through offsets, shapes, and into loops, where the first turn
 * has it. Order of operations and sharing of loads rely on roles. */
#include "ir/verify.h"

/* The parameter that stands behind a value, from 1; 0: not known. */
static uint32_t param_behind(const pg_verifier *v, pg_val val)
{
    return val.id < v->k->values.n ? v->param_of[val.id] : 0;
}

static bool is_handed_on(const pg_inst *i)
{
    return i->n_in != 0 && i->n_out == 1 &&
           (i->op == PG_OP_ADDPTR || i->op == PG_OP_SPLAT ||
            (pg_op_infos[i->op].flags & PG_F_SHAPE) != 0);
}

/* The first turn of a loop has the carried values as they begin. */
static void enter_loop(pg_verifier *v, const pg_inst *loop)
{
    const uint32_t first = pg_loop_arg(loop), in = pg_loop_in(loop);
    for (uint32_t r = 0; r < loop->n_regions; r++) {
        const pg_region *region = loop->regions[r];
        for (uint32_t a = first; region != NULL && a < region->n_args; a++) {
            if (in + a - first < loop->n_in) {
                v->param_of[region->args[a].id] = param_behind(v, loop->in[in + a - first]);
            }
        }
    }
}

/* The pointer that a descriptor describes has the role. */
static const pg_param *array_of(const pg_verifier *v, const pg_param *p)
{
    const pg_aval *of = pg_attr_get(&p->attrs, PG_A_OF);
    const uint32_t at = of != NULL && of->kind == PG_AV_VAL ? param_behind(v, of->val) : 0;
    return at != 0 ? &v->k->params[at - 1] : p;
}

void pg_verify_role_params(pg_verifier *v)
{
    for (uint32_t i = 0; i < v->k->n_params; i++) {
        v->param_of[v->k->params[i].val.id] = i + 1;
    }
}

void pg_verify_role(pg_verifier *v, const pg_inst *i)
{
    const bool is_pure = (pg_op_infos[i->op].flags & PG_F_PURE) != 0;
    for (uint32_t j = 0; j < i->n_in && !is_pure; j++) {
        const uint16_t effects = pg_op_in((pg_op)i->op, j, i->n_in) & (PG_E_READ | PG_E_WRITE);
        const uint32_t at = effects == 0 ? 0 : param_behind(v, i->in[j]);
        if (at == 0) {
            continue;
        }
        const pg_param *p = array_of(v, &v->k->params[at - 1]);
        const bool is_written_in = (effects & PG_E_WRITE) != 0 && pg_attr_has(&p->attrs, PG_A_IN);
        const bool is_read_out = (effects & PG_E_READ) != 0 && pg_attr_has(&p->attrs, PG_A_OUT);
        if (is_written_in || is_read_out) {
            pg_verify_error(v, PG_D_ROLE, i->loc, pg_verify_op_text(i),
                            is_written_in ? "writes" : "reads", pg_verify_value_name(v, p->val),
                            is_written_in ? "in" : "out");
        }
    }
    if (is_handed_on(i)) {
        v->param_of[i->out[0].id] = param_behind(v, i->in[0]);
    } else if (pg_is_loop(i)) {
        enter_loop(v, i);
    }
}
