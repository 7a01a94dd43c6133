/* interp_dot.c: matrix operations on tiles in registers. Like mma.async: to each element of C is
 * added the sum of its products in ascending k, computed in double, and rounded once to f32 (an f16
 * result: f32, then f16). Products of i8 are summed modulo 2^32. Words of tf32 lose their lower 13
 * bits first. */
#include <string.h>

#include "ir/elem.h"
#include "ir/interp_int.h"

typedef struct factor { /* A as M x K, B as N x K: rows of doubles along k */
    double *at;
    uint8_t *poison; /* of a whole row */
    uint32_t rows;
} factor;

static double number(pg_elem e, uint64_t bits, bool is_unsigned)
{
    if (e == PG_I8) {
        return is_unsigned ? (double)(bits & 0xFF) : (double)(int64_t)pg_elem_wrap(PG_I8, bits);
    }
    return pg_elem_to_f64(e, e == PG_TF32 ? bits & ~UINT64_C(0x1FFF) : bits);
}

/* is_k_major: stored rows x k. */
static bool decode(pg_machine *m, const pg_inst *i, uint32_t index, bool is_k_major, uint32_t n_k,
                   factor *f)
{
    const pg_slot *s = pg_rt_slot(m, i->in[index]);
    pg_elem e = (pg_elem)pg_val_info(m->k, i->in[index])->elem;
    f->rows = s->n / n_k;
    f->at = PG_NEWS(&m->arena, double, s->n);
    f->poison = PG_NEWS(&m->arena, uint8_t, f->rows);
    if (f->at == NULL || f->poison == NULL) {
        return false;
    }
    memset(f->poison, 0, f->rows);
    for (uint32_t r = 0; r < f->rows; r++) {
        for (uint32_t k = 0; k < n_k; k++) {
            uint32_t at = is_k_major ? r * n_k + k : k * f->rows + r;
            f->at[(size_t)r * n_k + k] = number(e, s->at[at], i->op == PG_OP_UMMA);
            f->poison[r] |= pg_rt_is_poison(s, at);
        }
    }
    return true;
}

static uint64_t add_to(pg_elem e, uint64_t c, double sum)
{
    if (e == PG_I32) {
        return pg_elem_wrap(e, c + (uint64_t)(int64_t)sum);
    }
    if (e == PG_F16) {
        return pg_f32_to_f16((float)((double)pg_f16_to_f32((uint16_t)c) + sum));
    }
    return pg_f32_bits((float)((double)pg_f32_of_bits((uint32_t)c) + sum));
}

RUN(MMA)
{
    (void)co;
    const pg_type_info *a = pg_val_info(m->k, i->in[0]);
    pg_elem e = (pg_elem)pg_val_info(m->k, i->out[0])->elem;
    bool transa = pg_attr_has(&i->attrs, PG_A_TRANSA), transb = pg_attr_has(&i->attrs, PG_A_TRANSB);
    uint32_t n_k = (uint32_t)a->dims[transa ? 0 : 1];
    pg_slot *out = pg_rt_out(m, i, 0);
    const pg_slot *c = pg_rt_slot(m, i->in[2]);
    pg_arena_mark mark = pg_arena_mark_get(&m->arena);
    factor fa, fb;
    if (out == NULL || !decode(m, i, 0, !transa, n_k, &fa) || !decode(m, i, 1, transb, n_k, &fb)) {
        return pg_rt_oom(m);
    }
    bool has_poison = false;
    for (uint32_t r = 0; r < fa.rows; r++) {
        const double *x = fa.at + (size_t)r * n_k;
        for (uint32_t n = 0; n < fb.rows; n++) {
            const double *y = fb.at + (size_t)n * n_k;
            double sum = 0;
            for (uint32_t k = 0; k < n_k; k++) {
                sum += x[k] * y[k];
            }
            size_t at = (size_t)r * fb.rows + n;
            uint32_t from = c->n == 1 ? 0 : (uint32_t)at;
            out->at[at] = add_to(e, c->at[from], sum);
            out->poison[at] = fa.poison[r] | fb.poison[n] | pg_rt_is_poison(c, from);
            has_poison = has_poison || out->poison[at];
        }
    }
    out->has_poison = has_poison;
    pg_arena_release(&m->arena, mark);
    return PG_RUN_NEXT;
}

RUN(UMMA)
{
    return pg_run_MMA(m, co, i);
}

RUN(COPY)
{
    (void)co;
    pg_slot *out = pg_rt_out(m, i, 0);
    const pg_slot *from = pg_rt_slot(m, i->in[0]);
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    memcpy(out->at, from->at, out->n * sizeof *out->at);
    out->has_poison = from->has_poison;
    if (from->has_poison) {
        memcpy(out->poison, from->poison, out->n);
    }
    return PG_RUN_NEXT;
}
