/* interp_reduce.c: `reduce`. Integers wrap; maximum and minimum as the elementwise operations have
 * them, so that no order shows. Sums of floats are added in double in the order of the index and
 * rounded once: machines add in another order and in f32 (f64: in f64), so tests compare with a
 * bound. A single element is handed on as it is. */
#include <math.h>

#include "ir/elem.h"
#include "ir/fold.h"
#include "ir/interp_int.h"
#include "ir/reduce.h"

static uint64_t combine_ints(pg_elem e, int64_t op, uint64_t a, uint64_t b)
{
    if (op == PG_REDUCE_SUM) {
        return pg_elem_wrap(e, a + b);
    }
    return ((int64_t)a < (int64_t)b) == (op == PG_REDUCE_MAX) ? b : a;
}

/* Of a NaN and a number the number; -0 below +0. */
static uint64_t combine_floats(pg_elem e, int64_t op, uint64_t a, uint64_t b)
{
    double x = pg_elem_to_f64(e, a), y = pg_elem_to_f64(e, b);
    bool is_max = op == PG_REDUCE_MAX;
    if (isnan(x) && isnan(y)) {
        return pg_fold_round_f64(e, x);
    }
    if (isnan(x) || isnan(y)) {
        return isnan(x) ? b : a;
    }
    if (x == y) {
        return (signbit(x) != 0) == is_max ? b : a;
    }
    return (x < y) == is_max ? b : a;
}

/* What has been combined so far. */
typedef struct so_far {
    uint32_t n;
    uint64_t x; /* of more than one element of a sum of floats: not used */
    double sum;
} so_far;

static void take(so_far *s, pg_elem e, int64_t op, uint64_t y)
{
    bool is_float = pg_elem_infos[e].cls == 'F';
    if (is_float && op == PG_REDUCE_SUM) {
        s->sum = s->n == 0 ? pg_elem_to_f64(e, y) : s->sum + pg_elem_to_f64(e, y);
    }
    if (s->n++ == 0) {
        s->x = y;
    } else if (!is_float) {
        s->x = combine_ints(e, op, s->x, y);
    } else if (op != PG_REDUCE_SUM) {
        s->x = combine_floats(e, op, s->x, y);
    }
}

RUN(REDUCE)
{
    (void)co;
    pg_slot *out = pg_rt_out(m, i, 0);
    const pg_slot *in = pg_rt_slot(m, i->in[0]);
    const pg_type_info *t = pg_val_info(m->k, i->in[0]);
    const pg_reduce r = pg_reduce_of(i);
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    if (r.dim >= t->rank) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "a dimension that the tile has not");
    }
    uint32_t extent = (uint32_t)t->dims[r.dim], n_parts = r.parts == 0 ? 1 : r.parts;
    uint64_t inner = 1;
    for (uint32_t d = r.dim + 1; d < t->rank; d++) {
        inner *= (uint64_t)t->dims[d];
    }
    bool is_rounded = pg_elem_infos[t->elem].cls == 'F' && r.op == PG_REDUCE_SUM;
    for (uint32_t e = 0; e < out->n; e++) {
        uint64_t outer = e / inner / n_parts;
        uint32_t part = (uint32_t)(e / inner % n_parts);
        uint64_t base = outer * extent * inner + e % inner;
        so_far s = {0};
        bool is_poison = false;
        for (uint32_t x = 0; x < extent; x++) {
            uint64_t at = base + x * inner;
            if (r.parts == 0 || x / r.span % r.parts == part) {
                take(&s, (pg_elem)t->elem, r.op, in->at[at]);
                is_poison = is_poison || pg_rt_is_poison(in, (uint32_t)at);
            }
        }
        out->at[e] = is_rounded && s.n > 1 ? pg_fold_round_f64((pg_elem)t->elem, s.sum) : s.x;
        out->poison[e] = is_poison;
        out->has_poison = out->has_poison || is_poison;
    }
    return PG_RUN_NEXT;
}
