/* interp_mem.c: pointers, loads and stores of global arrays, and where the program stands in the
 * grid. */
#include <string.h>

#include "ir/elem.h"
#include "ir/interp_int.h"

uint32_t pg_rt_elem_bytes(pg_elem e)
{
    uint32_t bits = pg_elem_infos[e].bits;
    return bits < 8 ? 1 : bits / 8;
}

uint64_t pg_rt_read(const uint8_t *p, pg_elem e)
{
    uint64_t x = 0;
    for (uint32_t b = pg_rt_elem_bytes(e); b-- > 0;) {
        x = x << 8 | p[b];
    }
    return pg_elem_infos[e].cls == 'I' ? pg_elem_wrap(e, x) : x;
}

void pg_rt_write(uint8_t *p, pg_elem e, uint64_t x)
{
    for (uint32_t b = 0; b < pg_rt_elem_bytes(e); b++) {
        p[b] = (uint8_t)(x >> (8 * b));
    }
}

static int64_t offset_of(uint64_t pointer)
{
    return (int64_t)(pointer << 16) / 65536;
}

RUN(ADDPTR)
{
    (void)co;
    pg_slot *out = pg_rt_out(m, i, 0);
    const pg_slot *base = pg_rt_slot(m, i->in[0]), *by = pg_rt_slot(m, i->in[1]);
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    int64_t size = pg_rt_elem_bytes((pg_elem)pg_val_info(m->k, i->in[0])->elem);
    bool has_poison = base->has_poison || by->has_poison;
    const int64_t far = INT64_C(1) << 46;
    for (uint32_t e = 0; e < out->n; e++) {
        uint32_t b = base->n == 1 ? 0 : e, x = by->n == 1 ? 0 : e;
        int64_t steps = (int64_t)by->at[x];
        steps = steps > far / 8 ? far / 8 : steps < -far / 8 ? -far / 8 : steps;
        int64_t offset = offset_of(base->at[b]) + steps * size;
        offset = offset > far    ? far
                 : offset < -far ? -far
                                 : offset; /* stays out of every array's bounds */
        out->at[e] = (base->at[b] >> 48) << 48 | ((uint64_t)offset & ((UINT64_C(1) << 48) - 1));
        if (has_poison) {
            out->poison[e] = pg_rt_is_poison(base, b) || pg_rt_is_poison(by, x);
        }
    }
    out->has_poison = has_poison;
    return PG_RUN_NEXT;
}

pg_run pg_rt_address(pg_machine *m, const pg_inst *i, const pg_rt_access *a, uint32_t e,
                     const pg_interp_array **array, uint64_t *at)
{
    *array = NULL;
    if (a->mask != NULL) {
        uint32_t k = a->mask->n == 1 ? 0 : e;
        if (pg_rt_is_poison(a->mask, k)) {
            return pg_rt_fault(m, PG_D_RUN_POISON, i, "the mask of a memory access");
        }
        if (a->mask->at[k] == 0) {
            return PG_RUN_NEXT;
        }
    }
    if (pg_rt_is_poison(a->ptr, e)) {
        return pg_rt_fault(m, PG_D_RUN_POISON, i, "an address");
    }
    uint64_t pointer = a->ptr->at[e];
    uint64_t arg = pointer >> 48;
    int64_t offset = offset_of(pointer);
    if (arg == 0 || arg > m->n_args) {
        return pg_rt_fault(m, PG_D_RUN_POISON, i, "an address that belongs to no argument");
    }
    const pg_interp_array *to = &m->args[arg - 1].array;
    if (offset < 0 || (uint64_t)offset + a->size > to->n_bytes || to->data == NULL) {
        return pg_rt_fault(m, PG_D_RUN_OUT_OF_BOUNDS, i, (unsigned long long)e, (long long)offset,
                           pg_rt_name(m, m->k->params[arg - 1].val),
                           (unsigned long long)to->n_bytes);
    }
    *array = to;
    *at = (uint64_t)offset;
    return PG_RUN_NEXT;
}

RUN(LOAD)
{
    (void)co;
    pg_slot *out = pg_rt_out(m, i, 0);
    pg_rt_access a = {.ptr = pg_rt_slot(m, i->in[0]),
                      .elem = (pg_elem)pg_val_info(m->k, i->out[0])->elem};
    const pg_slot *other = i->n_in > 2 ? pg_rt_slot(m, i->in[2]) : NULL;
    if (out == NULL) {
        return pg_rt_oom(m);
    }
    a.mask = i->n_in > 1 ? pg_rt_slot(m, i->in[1]) : NULL;
    a.size = pg_rt_elem_bytes(a.elem);
    memset(out->poison, 0, out->n);
    bool has_poison = false;
    for (uint32_t e = 0; e < out->n; e++) {
        const pg_interp_array *from = NULL;
        uint64_t at = 0;
        if (pg_rt_address(m, i, &a, e, &from, &at) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
        if (from == NULL) {
            uint32_t k = other == NULL || other->n == 1 ? 0 : e;
            out->at[e] = other != NULL ? other->at[k] : 0;
            out->poison[e] = other == NULL || pg_rt_is_poison(other, k);
        } else {
            out->at[e] = pg_rt_read((const uint8_t *)from->data + at, a.elem);
            for (uint32_t b = 0; b < a.size && from->poison != NULL; b++) {
                out->poison[e] |= from->poison[at + b] != 0;
            }
        }
        has_poison = has_poison || out->poison[e];
    }
    out->has_poison = has_poison;
    return PG_RUN_NEXT;
}

/* Of a store or an atomic operation: pointers, values and perhaps a mask. */
static pg_rt_access access_of(pg_machine *m, const pg_inst *i)
{
    const pg_elem elem = (pg_elem)pg_val_info(m->k, i->in[1])->elem;
    return (pg_rt_access){.ptr = pg_rt_slot(m, i->in[0]),
                          .mask = i->n_in > 2 ? pg_rt_slot(m, i->in[2]) : NULL,
                          .elem = elem,
                          .size = pg_rt_elem_bytes(elem)};
}

RUN(STORE)
{
    (void)co;
    const pg_slot *value = pg_rt_slot(m, i->in[1]);
    const pg_rt_access a = access_of(m, i);
    for (uint32_t e = 0; e < a.ptr->n; e++) {
        const pg_interp_array *to = NULL;
        uint64_t at = 0;
        if (pg_rt_address(m, i, &a, e, &to, &at) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
        if (to == NULL) {
            continue;
        }
        uint32_t k = value->n == 1 ? 0 : e;
        if (pg_rt_is_poison(value, k)) {
            return pg_rt_fault(m, PG_D_RUN_POISON, i, "a store");
        }
        pg_rt_write((uint8_t *)to->data + at, a.elem, value->at[k]);
        if (to->poison != NULL) {
            memset(to->poison + at, 0, a.size);
        }
    }
    return PG_RUN_NEXT;
}

/* One element after the other; `op` is the elementwise operation that combines. */
static pg_run atomic(pg_machine *m, const pg_inst *i, pg_op op)
{
    const pg_slot *value = pg_rt_slot(m, i->in[1]);
    const pg_attrs none = {0};
    const pg_rt_access a = access_of(m, i);
    for (uint32_t e = 0; e < a.ptr->n; e++) {
        const pg_interp_array *to = NULL;
        uint64_t at = 0;
        if (pg_rt_address(m, i, &a, e, &to, &at) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
        if (to == NULL) {
            continue;
        }
        uint8_t *place = (uint8_t *)to->data + at;
        uint32_t k = value->n == 1 ? 0 : e;
        bool is_poison = pg_rt_is_poison(value, k);
        for (uint32_t b = 0; b < a.size && to->poison != NULL; b++) {
            is_poison = is_poison || to->poison[at + b] != 0;
        }
        if (is_poison) {
            return pg_rt_fault(m, PG_D_RUN_POISON, i, "an atomic operation");
        }
        uint64_t in[2] = {pg_rt_read(place, a.elem), value->at[k]}, out = 0;
        if (!pg_fold_elem(op, &none, a.elem, a.elem, in, &out, &is_poison)) {
            return pg_rt_fault(m, PG_D_RUN_UNSUPPORTED, i, pg_op_infos[i->op].text);
        }
        pg_rt_write(place, a.elem, out);
    }
    return PG_RUN_NEXT;
}

RUN(ATOMIC_ADD)
{
    (void)co;
    bool is_float = pg_elem_infos[pg_val_info(m->k, i->in[1])->elem].cls == 'F';
    return atomic(m, i, is_float ? PG_OP_FADD : PG_OP_IADD);
}

RUN(ATOMIC_MAX)
{
    (void)co;
    return atomic(m, i, PG_OP_IMAX);
}

RUN(ATOMIC_UMAX)
{
    (void)co;
    return atomic(m, i, PG_OP_UMAX);
}

RUN(PROGRAM_ID)
{
    (void)co;
    pg_rt_set(pg_rt_slot(m, i->out[0]), m->pid[pg_attr_int(&i->attrs, PG_A_AXIS, PG_AXIS_X) % 3]);
    return PG_RUN_NEXT;
}

RUN(NUM_PROGRAMS)
{
    (void)co;
    pg_rt_set(pg_rt_slot(m, i->out[0]), m->grid[pg_attr_int(&i->attrs, PG_A_AXIS, PG_AXIS_X) % 3]);
    return PG_RUN_NEXT;
}
