/* lower_cursor.c: slots of rings of buffers, counted in bytes.
 *
 *   for ... carry (%r = 0, %w = 2)            a cursor: 0 .. n - 1, one further with each turn
 *     %x = buf.view %buf, %r                  address of %buf + %r * (bytes of a slot)
 *     %1 = iadd %r, 1
 *     %2 = icmp %1, 3 [is=eq]
 *     %3 = select %2, 0, %1
 *     yield %3, %r
 *
 * Where a loop's carried numbers serve for nothing else, they are held times the bytes of a slot:
 * the constants beside them are multiplied here, instead of the cursors in each turn.
 *
 * I1  A number is held so, or not at all: each use of it is one of those above, and each number
 *     that comes out of one of these operations is held so too. Results of the loop are not used.
 * I2  All views by such numbers of one loop have slots of the same size.
 * I3  No product wraps: each carried number is itself a slot of a view in each turn, so below the
 *     ring's size, and constants are small. */
#include "emit/lower_int.h"

enum { MOST_CONST = 4096, MOST_ROUNDS = 8 };

enum { IS_IN = 1, IS_SLOT = 2 }; /* held in bytes; slot of a view in each turn */

typedef struct cursors {
    pg_lw *c;
    const pg_inst *loop, *yield;
    uint32_t bytes; /* of a slot; 0: no view yet */
    bool has_dropped;
} cursors;

static uint8_t *mark_of(const cursors *k, pg_val v)
{
    return &k->c->cursor_marks[v.id < k->c->k->values.n ? v.id : 0];
}

static bool is_in(const cursors *k, pg_val v)
{
    return (*mark_of(k, v) & IS_IN) != 0;
}

static bool is_in_or_const(const cursors *k, pg_val v)
{
    int64_t x = 0;
    return is_in(k, v) ||
           (pg_val_int(k->c->k, v, &x) && pg_val_is_const(k->c->k, v) && x >= 0 && x <= MOST_CONST);
}

/* What may be done to a number that is held in bytes, and gives another such number or, compared, a
 * condition. */
static bool is_step(const cursors *k, const pg_inst *i)
{
    switch ((pg_op)i->op) {
    case PG_OP_IADD:
    case PG_OP_ICMP:
    case PG_OP_UCMP: return is_in_or_const(k, i->in[0]) && is_in_or_const(k, i->in[1]);
    case PG_OP_SELECT:
        return !is_in(k, i->in[0]) && is_in_or_const(k, i->in[1]) && is_in_or_const(k, i->in[2]);
    default: return false;
    }
}

static bool gives_number(const pg_inst *i)
{
    return i->op == PG_OP_IADD || i->op == PG_OP_SELECT;
}

static uint32_t slot_bytes(const cursors *k, const pg_inst *view)
{
    const pg_lv *buf = &k->c->vals[view->in[0].id < k->c->k->values.n ? view->in[0].id : 0];
    return buf->kind == PG_LV_SMEM && buf->obj != NULL ? buf->obj->slot_stride : 0;
}

/* Is operand n of i, a number in bytes, used as it may be? */
static bool is_use_right(cursors *k, const pg_inst *i, uint32_t n)
{
    if (i->op == PG_OP_BUF_VIEW && n == 1) {
        const uint32_t bytes = slot_bytes(k, i);
        k->bytes = k->bytes == 0 ? bytes : k->bytes;
        if (i->parent == k->loop->regions[0]) {
            *mark_of(k, i->in[n]) |= IS_SLOT;
        }
        return bytes != 0 && bytes == k->bytes;
    }
    if (i == k->yield) {
        return is_in(k, k->loop->regions[0]->args[1 + n]);
    }
    return is_step(k, i) && (!gives_number(i) || is_in(k, i->out[0]));
}

static void drop(cursors *k, pg_val v)
{
    k->has_dropped = true;
    *mark_of(k, v) &= (uint8_t)~IS_IN;
}

static void check_inst(cursors *k, const pg_inst *i)
{
    for (uint32_t n = 0; n < i->n_out; n++) {
        if (is_in(k, i->out[n]) && !(gives_number(i) && is_step(k, i))) {
            drop(k, i->out[n]);
        }
    }
    for (uint32_t n = 0; n < i->n_in; n++) {
        if (is_in(k, i->in[n]) && !is_use_right(k, i, n)) {
            drop(k, i->in[n]);
        }
    }
}

/* Takes out what breaks an invariant: from uses back to what they use, then on from there. */
static void narrow(cursors *k)
{
    const pg_region *body = k->loop->regions[0];
    k->bytes = 0;
    k->has_dropped = false;
    for (uint32_t j = 1; j < body->n_args; j++) {
        *mark_of(k, body->args[j]) &= (uint8_t)~IS_SLOT;
    }
    for (const pg_inst *i = body->last; i != NULL; i = i->prev) {
        for (uint32_t r = 0; r < i->n_regions; r++) {
            const pg_region *inner = i->regions[r];
            for (const pg_inst *x = inner->first; x != NULL; x = pg_inst_walk(x, inner)) {
                check_inst(k, x);
            }
        }
        check_inst(k, i);
    }
    for (const pg_inst *i = body->first; i != NULL; i = i->next) {
        check_inst(k, i);
    }
    for (uint32_t j = 1; j < body->n_args; j++) {
        const bool is_held =
            (*mark_of(k, body->args[j]) & IS_SLOT) != 0 && is_in(k, k->yield->in[j - 1]);
        if (is_in(k, body->args[j]) && !is_held) {
            drop(k, body->args[j]);
        }
    }
}

static bool is_number(const cursors *k, pg_val v)
{
    const pg_type_info *t = pg_val_info(k->c->k, v);
    return t->kind == PG_TY_SCALAR && t->elem == PG_I32 && !t->is_ptr;
}

/* Everything that could be one: narrow() leaves the greatest set that holds together. False: there
 * is none. */
static bool begin(cursors *k)
{
    const pg_region *body = k->loop->regions[0];
    bool is_any = false;
    for (uint32_t j = 1; j < body->n_args; j++) {
        const bool is_one =
            is_number(k, body->args[j]) && k->c->n_uses[k->loop->out[j - 1].id] == 0;
        *mark_of(k, body->args[j]) = is_one ? IS_IN : 0;
        is_any |= is_one;
    }
    for (const pg_inst *i = body->first; is_any && i != NULL; i = i->next) {
        if (gives_number(i) && is_number(k, i->out[0])) {
            *mark_of(k, i->out[0]) = IS_IN;
        }
    }
    return is_any;
}

/* Notes what was found, and takes all marks back. */
static void end(cursors *k)
{
    const pg_region *body = k->loop->regions[0];
    uint32_t *bytes = k->c->slot_bytes;
    for (uint32_t j = 1; j < body->n_args; j++) {
        const pg_val v = body->args[j];
        bytes[v.id] = is_in(k, v) ? k->bytes : bytes[v.id];
        *mark_of(k, v) = 0;
    }
    for (const pg_inst *i = body->first; i != NULL; i = i->next) {
        if (gives_number(i)) {
            const pg_val v = i->out[0];
            bytes[v.id] = is_in(k, v) ? k->bytes : bytes[v.id];
            *mark_of(k, v) = 0;
        }
    }
}

void pg_lw_find_cursors(pg_lw *c, const pg_inst *loop)
{
    cursors k = {.c = c, .loop = loop, .yield = loop->regions[0]->last};
    if (loop->n_out == 0 || k.yield == NULL || k.yield->op != PG_OP_YIELD) {
        return;
    }
    if (c->slot_bytes == NULL) {
        c->slot_bytes = PG_NEWS(&c->scratch, uint32_t, c->k->values.n + 1);
        c->cursor_marks = PG_NEWS(&c->scratch, uint8_t, c->k->values.n + 1);
    }
    if (c->slot_bytes == NULL || c->cursor_marks == NULL || !begin(&k)) {
        return;
    }
    uint32_t n = 0;
    do {
        narrow(&k);
    } while (k.has_dropped && ++n < MOST_ROUNDS);
    k.bytes = k.has_dropped ? 0 : k.bytes;
    end(&k);
}

uint32_t pg_lw_slot_bytes(const pg_lw *c, pg_val v)
{
    return c->slot_bytes != NULL && v.id < c->k->values.n ? c->slot_bytes[v.id] : 0;
}

pg_el pg_lw_in_bytes(pg_lw *c, pg_val v, pg_el x, uint32_t bytes)
{
    return bytes == 0 || pg_lw_slot_bytes(c, v) != 0
               ? x
               : pg_lw_imul(c, PG_I32, x, pg_el_imm((int64_t)bytes), true);
}
