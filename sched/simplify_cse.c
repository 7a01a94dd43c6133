/* simplify_cse.c: which pure operations in scope compute the same. */
#include "sched/simplify.h"

static bool is_int_comm(const pg_simplify *s, const pg_inst *i)
{
    /* Float operations that commute may still choose the first operand's NaN. */
    return (pg_op_infos[i->op].flags & PG_F_COMM) != 0 && i->n_in >= 2 && i->n_out > 0 &&
           pg_type_is_int(s->k->module->ctx->types, pg_val_type(s->k, i->out[0]));
}

/* Operand j in the order that comparison uses: commutative pairs by id. */
static pg_val ordered_in(const pg_inst *i, uint32_t j, bool is_comm)
{
    if (is_comm && j < 2 && i->in[0].id > i->in[1].id) {
        return i->in[1 - j];
    }
    return i->in[j];
}

static bool aval_equal(const pg_aval *a, const pg_aval *b)
{
    if (a->kind != b->kind || a->n != b->n || a->num != b->num || a->sym.id != b->sym.id ||
        a->val.id != b->val.id) {
        return false;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        if (!aval_equal(&a->items[i], &b->items[i])) {
            return false;
        }
    }
    return true;
}

/* Cheaper than pg_hash_mix; the sum of all is mixed once more. */
static inline uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_aval(uint64_t h, const pg_aval *a)
{
    h = mix(h, (uint64_t)a->kind | (uint64_t)a->n << 8);
    h = mix(h, (uint64_t)a->num);
    h = mix(h, (uint64_t)a->sym.id << 32 | a->val.id);
    for (uint32_t i = 0; i < a->n; i++) {
        h = hash_aval(h, &a->items[i]);
    }
    return h;
}

/* *latest: of the operands. Operations that follow each other have such that do, since ids grow in
 * program order. */
static uint64_t hash_inst(const pg_simplify *s, const pg_inst *i, pg_val *latest)
{
    const bool is_comm = is_int_comm(s, i);
    uint64_t h = mix(i->op, (uint64_t)i->n_in << 32 | i->n_out);
    for (uint32_t j = 0; j < i->n_in; j++) {
        const pg_val v = ordered_in(i, j, is_comm);
        h = mix(h, v.id);
        latest->id = v.id > latest->id ? v.id : latest->id;
    }
    for (uint32_t j = 0; j < i->n_out; j++) {
        h = mix(h, pg_val_type(s->k, i->out[j]).id);
    }
    for (uint32_t j = 0; j < i->attrs.n; j++) {
        h = hash_aval(mix(h, i->attrs.at[j].id), &i->attrs.at[j].val);
    }
    return h;
}

static bool inst_equal(const pg_simplify *s, const pg_inst *a, const pg_inst *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || a->attrs.n != b->attrs.n) {
        return false;
    }
    const bool is_comm = is_int_comm(s, a);
    for (uint32_t j = 0; j < a->n_in; j++) {
        if (!pg_val_eq(ordered_in(a, j, is_comm), ordered_in(b, j, is_comm))) {
            return false;
        }
    }
    for (uint32_t j = 0; j < a->n_out; j++) {
        if (!pg_type_eq(pg_val_type(s->k, a->out[j]), pg_val_type(s->k, b->out[j]))) {
            return false;
        }
    }
    for (uint32_t j = 0; j < a->attrs.n; j++) {
        if (a->attrs.at[j].id != b->attrs.at[j].id ||
            !aval_equal(&a->attrs.at[j].val, &b->attrs.at[j].val)) {
            return false;
        }
    }
    return true;
}

static bool has_tile(const pg_simplify *s, const pg_inst *i)
{
    return i->n_out > 0 && pg_val_info(s->k, i->out[0])->kind == PG_TY_TILE;
}

pg_inst *pg_simplify_lookup(pg_simplify *s, const pg_inst *i, pg_expression *x)
{
    const uint32_t base = has_tile(s, i) ? s->tile_base : 0;
    pg_val latest = {0};
    x->hash = hash_inst(s, i, &latest);
    const pg_index_key key = pg_index_key_of(x->hash * UINT64_C(0xbf58476d1ce4e5b9), latest.id);
    for (uint32_t at = pg_index_first(&s->table, key, &x->place); at != 0;
         at = pg_index_next(&s->table, &x->place)) {
        if (at - 1 >= base && inst_equal(s, s->known.at[at - 1], i)) {
            return s->known.at[at - 1];
        }
    }
    return NULL;
}

void pg_simplify_remember(pg_simplify *s, pg_inst *i, pg_expression *x)
{
    if (!pg_vec_push(s->scratch, &s->known, i) || !pg_index_add(&s->table, &x->place)) {
        s->is_oom = true;
    }
}
