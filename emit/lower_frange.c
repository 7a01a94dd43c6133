/* lower_frange.c: between which numbers a float lies, from the operations that made it: of 1 +
 * exp(x) the reciprocal needs no care for what is too small or too large. */
#include <math.h>

#include "emit/lower_int.h"

#define MOST_STEPS 8 /* back along the first operands; what lies behind may be anything */

static pg_frange any(void)
{
    return (pg_frange){-HUGE_VAL, HUGE_VAL};
}

static pg_frange join(pg_frange a, pg_frange b)
{
    return (pg_frange){fmin(a.lo, b.lo), fmax(a.hi, b.hi)};
}

/* Rounding may go to the next f32 either way; exp and its like may be off by some. */
static pg_frange rounded(double lo, double hi)
{
    return isnan(lo) || isnan(hi) ? any()
                                  : (pg_frange){lo - 0x1p-20 * fabs(lo), hi + 0x1p-20 * fabs(hi)};
}

static pg_frange range_of(const pg_kernel *k, pg_val v, uint32_t n_steps)
{
    const pg_type_info *t = pg_val_info(k, v);
    if (pg_val_is_const(k, v)) {
        double x = pg_elem_infos[t->elem].cls == 'F'
                       ? pg_elem_to_f64((pg_elem)t->elem, pg_value_of(k, v)->bits)
                       : NAN;
        return isnan(x) ? any() : (pg_frange){x, x};
    }
    const pg_inst *i = pg_val_def(k, v);
    if (i == NULL || n_steps == 0) {
        return any();
    }
    pg_frange r[3] = {any(), any(), any()};
    for (uint32_t j = 0; j < i->n_in && j < 3; j++) {
        r[j] = range_of(k, i->in[j], n_steps - 1);
    }
    switch ((pg_op)i->op) {
    case PG_OP_FADD: return rounded(r[0].lo + r[1].lo, r[0].hi + r[1].hi);
    case PG_OP_FNEG: return (pg_frange){-r[0].hi, -r[0].lo};
    case PG_OP_FABS:
        return (pg_frange){r[0].lo > 0.0   ? r[0].lo
                           : r[0].hi < 0.0 ? -r[0].hi
                                           : 0.0,
                           fmax(-r[0].lo, r[0].hi)};
    case PG_OP_FMAX: return (pg_frange){fmax(r[0].lo, r[1].lo), fmax(r[0].hi, r[1].hi)};
    case PG_OP_FMIN: return (pg_frange){fmin(r[0].lo, r[1].lo), fmin(r[0].hi, r[1].hi)};
    case PG_OP_EXP: return rounded(0.0, exp(r[0].hi));
    case PG_OP_EXP2: return rounded(0.0, exp2(r[0].hi));
    case PG_OP_SELECT: return join(r[1], r[2]);
    case PG_OP_SPLAT:
    case PG_OP_COPY: return r[0];
    default: return any();
    }
}

pg_frange pg_lw_frange(const pg_kernel *k, pg_val v)
{
    return range_of(k, v, MOST_STEPS);
}
