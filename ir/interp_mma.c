/* interp_mma.c: asynchronous matrix operations. One operation adds to each element of the
 * accumulator the sum of its products in ascending k, computed in double, and rounds once to f32
 * (an f16 accumulator: f32, then f16). */
#include <string.h>

#include "ir/elem.h"
#include "ir/interp_int.h"

RUN(MMA_BEGIN)
{
    const pg_slot *from = pg_rt_slot(m, i->in[0]);
    pg_slot *out = pg_rt_slot(m, i->out[0]);
    pg_elem elem = (pg_elem)pg_val_info(m->k, i->in[0])->elem;
    if (elem != PG_F32 && elem != PG_F16) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "an accumulator of this type");
    }
    if (m->n_accs == m->accs.n && !pg_vec_push(&m->arena, &m->accs, (pg_rt_acc){0})) {
        return pg_rt_oom(m);
    }
    /* An accumulator that nothing in flight uses may be taken again by the same operation. */
    uint32_t obj = out->offset != 0 ? out->obj : m->n_accs++;
    for (uint32_t k = 0; k < m->events.n; k++) {
        if (m->events.at[k].kind == PG_EV_MMA && m->events.at[k].acc == obj) {
            return pg_rt_fault(m, PG_D_RUN_TOKEN, i);
        }
    }
    pg_rt_acc *acc = &m->accs.at[obj];
    if (acc->cap < from->n) {
        acc->at = PG_NEWS(&m->arena, float, from->n);
        acc->poison = PG_NEWS(&m->arena, uint8_t, from->n);
        acc->cap = from->n;
    }
    if (m->arena.is_oom) {
        return pg_rt_oom(m);
    }
    acc->n = from->n;
    acc->elem = elem;
    acc->generation++;
    for (uint32_t e = 0; e < from->n; e++) {
        acc->at[e] = elem == PG_F32 ? pg_f32_of_bits((uint32_t)from->at[e])
                                    : pg_f16_to_f32((uint16_t)from->at[e]);
        acc->poison[e] = pg_rt_is_poison(from, e);
    }
    pg_rt_set(out, 0);
    out->obj = obj;
    out->offset = acc->generation;
    co->wants_mma_fence = true;
    return PG_RUN_NEXT;
}

RUN(MMA_FENCE)
{
    (void)m;
    (void)i;
    co->wants_mma_fence = false;
    return PG_RUN_NEXT;
}

RUN(MMA_ASYNC)
{
    pg_region_ref a = pg_rt_box(m, i->in[0]), b = pg_rt_box(m, i->in[1]);
    const pg_slot *token = pg_rt_slot(m, i->in[2]);
    if (co->wants_mma_fence) {
        return pg_rt_fault(m, PG_D_RUN_FENCE, i, "uses an accumulator that ordinary code wrote",
                           "mma.fence");
    }
    if (m->accs.at[token->obj].generation != token->offset) {
        return pg_rt_fault(m, PG_D_RUN_TOKEN, i);
    }
    if (pg_rt_check(m, co, i, a, false) != PG_RUN_NEXT ||
        pg_rt_check(m, co, i, b, false) != PG_RUN_NEXT ||
        pg_rt_check_proxy(m, i, a) != PG_RUN_NEXT || pg_rt_check_proxy(m, i, b) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    pg_event *e = pg_rt_event_new(m, PG_EV_MMA, co, i);
    if (e == NULL) {
        return pg_rt_oom(m);
    }
    e->box = a;
    e->other = b;
    e->acc = token->obj;
    pg_slot *out = pg_rt_slot(m, i->out[0]);
    pg_rt_set(out, 0);
    out->obj = token->obj;
    out->offset = token->offset;
    return PG_RUN_NEXT;
}

typedef struct product {
    uint32_t m, n, k;
    const uint64_t *a, *b;
    const uint8_t *a_poison, *b_poison;
    pg_elem elem;
    bool transa, transb; /* A is K x M, B is N x K */
} product;

/* B as K x N doubles; for each column whether any of it is poison. */
static void decode_b(const product *p, double *to, uint8_t *poison)
{
    memset(poison, 0, p->n);
    for (uint32_t k = 0; k < p->k; k++) {
        for (uint32_t n = 0; n < p->n; n++) {
            size_t at = p->transb ? (size_t)n * p->k + k : (size_t)k * p->n + n;
            to[(size_t)k * p->n + n] = pg_elem_to_f64(p->elem, p->b[at]);
            poison[n] |= p->b_poison[at];
        }
    }
}

static void multiply(const product *p, pg_rt_acc *acc, const double *b, const uint8_t *b_poison,
                     double *sum)
{
    for (uint32_t r = 0; r < p->m; r++) {
        uint8_t a_poison = 0;
        memset(sum, 0, p->n * sizeof *sum);
        for (uint32_t k = 0; k < p->k; k++) {
            size_t at = p->transa ? (size_t)k * p->m + r : (size_t)r * p->k + k;
            double x = pg_elem_to_f64(p->elem, p->a[at]);
            const double *row = b + (size_t)k * p->n;
            a_poison |= p->a_poison[at];
            for (uint32_t n = 0; n < p->n; n++) {
                sum[n] += x * row[n];
            }
        }
        for (uint32_t n = 0; n < p->n; n++) {
            float *to = &acc->at[(size_t)r * p->n + n];
            *to = (float)((double)*to + sum[n]);
            *to = acc->elem == PG_F16 ? pg_f16_to_f32(pg_f32_to_f16(*to)) : *to;
            acc->poison[(size_t)r * p->n + n] |= a_poison | b_poison[n];
        }
    }
}

pg_run pg_rt_mma_happens(pg_machine *m, pg_event *e)
{
    const pg_inst *i = e->inst;
    const pg_type_info *a = pg_val_info(m->k, i->in[0]), *b = pg_val_info(m->k, i->in[1]);
    pg_rt_acc *acc = &m->accs.at[e->acc];
    product p = {.elem = (pg_elem)a->elem,
                 .transa = pg_attr_has(&i->attrs, PG_A_TRANSA),
                 .transb = pg_attr_has(&i->attrs, PG_A_TRANSB)};
    if (a->rank != 2 || b->rank != 2) {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "operands of different shapes");
    }
    p.m = (uint32_t)a->dims[p.transa ? 1 : 0];
    p.k = (uint32_t)a->dims[p.transa ? 0 : 1];
    p.n = (uint32_t)b->dims[p.transb ? 0 : 1];
    if ((uint32_t)b->dims[p.transb ? 1 : 0] != p.k || (uint64_t)p.m * p.n != acc->n ||
        pg_elem_infos[p.elem].cls != 'F') {
        return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, "operands of different shapes");
    }
    const pg_rt_buf *ba = &m->bufs.at[e->box.buf], *bb = &m->bufs.at[e->other.buf];
    p.a = ba->at + e->box.offset;
    p.a_poison = ba->poison + e->box.offset;
    p.b = bb->at + e->other.offset;
    p.b_poison = bb->poison + e->other.offset;
    pg_arena_mark mark = pg_arena_mark_get(&m->arena);
    double *decoded = PG_NEWS(&m->arena, double, (size_t)p.k *p.n),
           *sum = PG_NEWS(&m->arena, double, p.n);
    uint8_t *poison = PG_NEWS(&m->arena, uint8_t, p.n);
    if (decoded == NULL || sum == NULL || poison == NULL) {
        return pg_rt_oom(m);
    }
    decode_b(&p, decoded, poison);
    multiply(&p, acc, decoded, poison, sum);
    pg_arena_release(&m->arena, mark);
    e->is_done = true;
    return PG_RUN_NEXT;
}
