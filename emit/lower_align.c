/* lower_align.c: what power of two divides the numbers that a loop carries, turn after turn.
 *
 * The loop is emitted under an assumption about that, and again where the code shows a lesser
 * power. So that this seldom happens, the assumption is found here, from the IR: each number's
 * alignment at the loop's entry, lowered until what the body yields has it too.
 *
 * I1  Operations have here the alignment that the lowering gives them; one that is not looked into
 *     counts as aligned to everything. More than the code shows costs a second try, less would
 *     cost alignment.
 * I2  Numbers of slots that are held in bytes (lower_cursor.c) are so here. */
#include "emit/lower_int.h"

enum { ALL = 62, MOST_VISITS = 64, MOST_ROUNDS = 8 };

typedef struct search {
    pg_lw *c;
    const pg_inst *loop;
    const uint8_t *align; /* by carried value */
    uint32_t n_visits;
} search;

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t of_const(uint64_t bits)
{
    return bits == 0 ? ALL : least(pg_ctz(bits), ALL);
}

static uint32_t align_of(search *s, pg_val v);

/* Operand n, in the unit that the operation works in. */
static uint32_t align_in(search *s, const pg_inst *i, uint32_t n, uint32_t bytes)
{
    const uint32_t own = align_of(s, i->in[n]);
    const bool is_scaled = bytes != 0 && pg_lw_slot_bytes(s->c, i->in[n]) == 0;
    return least(is_scaled ? own + pg_ctz(bytes) : own, ALL);
}

static uint32_t align_of_loop(search *s, const pg_inst *loop, uint32_t j);

static uint32_t align_of_result(search *s, const pg_inst *i, uint32_t index)
{
    const uint32_t bytes = pg_lw_slot_bytes(s->c, i->out[index]);
    switch ((pg_op)i->op) {
    case PG_OP_IADD:
    case PG_OP_ISUB:
    case PG_OP_OR:
    case PG_OP_XOR:
    case PG_OP_IMIN:
    case PG_OP_IMAX: {
        const uint32_t a = align_in(s, i, 0, bytes);
        return least(a, align_in(s, i, 1, bytes));
    }
    case PG_OP_IMUL: {
        const uint32_t a = align_of(s, i->in[0]);
        return least(a + align_of(s, i->in[1]), ALL);
    }
    case PG_OP_SELECT: {
        const uint32_t a = align_in(s, i, 1, bytes);
        return least(a, align_in(s, i, 2, bytes));
    }
    case PG_OP_ADDPTR: {
        const uint32_t size = pg_elem_infos[pg_val_info(s->c->k, i->in[0])->elem].bits / 8u;
        const uint32_t a = align_of(s, i->in[0]);
        return least(a, align_of(s, i->in[1]) + (size == 0 ? 0 : pg_ctz(size)));
    }
    case PG_OP_FOR:
    case PG_OP_WHILE: return align_of_loop(s, i, index);
    case PG_OP_IF: /* nothing is known of registers that branches write */
    case PG_OP_IREM:
    case PG_OP_UREM:
    case PG_OP_ICDIV:
    case PG_OP_LOAD:
    case PG_OP_RING_NEXT: return 0;
    default: return ALL;
    }
}

/* By what the code says of it: for values that come from outside of the loop. */
static uint32_t align_of_code(const pg_lw *c, pg_val v)
{
    const pg_lv *lv = &c->vals[v.id < c->k->values.n ? v.id : 0];
    const bool is_known = lv->kind == PG_LV_TILE && lv->n == 1 && lv->el != NULL;
    return is_known ? pg_lw_fact(c, pg_lw_elem(pg_val_info(c->k, v)), lv->el[0]).align : ALL;
}

static bool is_inside(const pg_region *r, const pg_inst *loop)
{
    while (r != NULL && r->owner != NULL && r->owner != loop) {
        r = r->owner->parent;
    }
    return r != NULL && r->owner == loop;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most MOST_VISITS deep */
static uint32_t align_of(search *s, pg_val v)
{
    const pg_kernel *k = s->c->k;
    const pg_value *value = pg_value_of(k, v);
    const pg_type_info *t = pg_type_get(s->c->types, value->type);
    const bool is_int = t->is_ptr || pg_elem_infos[t->elem].cls == 'I';
    if (t->kind != PG_TY_SCALAR || !is_int || ++s->n_visits > MOST_VISITS) {
        return ALL;
    }
    if (value->kind == PG_V_CONST) {
        return of_const(value->bits);
    }
    const pg_region *region = value->kind == PG_V_RESULT ? value->def->parent
                              : value->kind == PG_V_ARG  ? value->region
                                                         : NULL;
    if (!is_inside(region, s->loop)) {
        return align_of_code(s->c, v);
    }
    if (value->kind == PG_V_RESULT) {
        return align_of_result(s, value->def, value->index);
    }
    const uint32_t first = pg_loop_arg(region->owner);
    if (!pg_is_loop(region->owner) || value->index < first) {
        return ALL;
    }
    return region->owner == s->loop
               ? s->align[value->index - first]
               : align_of(s, region->owner->in[pg_loop_in(region->owner) + value->index - first]);
}

/* What an inner loop carries: as at its entry, and as its body yields it. */
static uint32_t align_of_loop(search *s, const pg_inst *loop, uint32_t j)
{
    const pg_inst *yield = loop->regions[loop->n_regions - 1]->last;
    const uint32_t init = align_of(s, loop->in[pg_loop_in(loop) + j]);
    return yield == NULL || j >= yield->n_in ? init : least(init, align_of(s, yield->in[j]));
}

void pg_lw_guess_align(pg_lw *c, const pg_inst *loop, uint32_t n, uint8_t *align)
{
    const pg_region *body = loop->regions[loop->n_regions - 1];
    const pg_inst *yield = body->last;
    for (uint32_t j = 0; j < n; j++) {
        const pg_val init = loop->in[pg_loop_in(loop) + j];
        const uint32_t bytes = pg_lw_slot_bytes(c, body->args[pg_loop_arg(loop) + j]);
        const uint32_t own = pg_val_is_const(c->k, init) ? of_const(pg_value_of(c->k, init)->bits)
                                                         : align_of_code(c, init);
        align[j] = (uint8_t)least(own + (bytes == 0 ? 0 : pg_ctz(bytes)), ALL);
    }
    bool has_changed = yield != NULL && yield->op == PG_OP_YIELD;
    for (uint32_t round = 0; has_changed && round < MOST_ROUNDS; round++) {
        has_changed = false;
        for (uint32_t j = 0; j < n && j < yield->n_in; j++) {
            search s = {.c = c, .loop = loop, .align = align};
            const uint32_t next = align[j] == 0 ? 0 : align_of(&s, yield->in[j]);
            has_changed = has_changed || next < align[j];
            align[j] = (uint8_t)least(align[j], next);
        }
    }
}
