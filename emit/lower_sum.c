/* lower_sum.c: sums and shifts of 64 bits, of which addresses consist.
 *
 * Rows of a tile lie multiples of few numbers apart: their offsets are x, x + s, x + t, x + s + t.
 * What is made of them (more is added, they are scaled and added to a pointer) is made of the first
 * as it says, and of the others by adding s and t to that: a row costs one addition in all, and
 * only the last chain needs registers, not each tile of offsets on the way.
 *
 * I1  A register is taken from here only while its number holds (lower_int.h, I4): pg_part.vn.
 * I2  And only if it is what it was: a loop that is emitted again uses ids again, and what was
 *     noted of a register outside of it would name another sum (pg_part.serial). */
#include "emit/lower_int.h"

/* NULL: nothing is known of the register. */
static pg_part *known_part(const pg_lw *c, uint32_t r)
{
    const uint32_t at = r < c->n_part_at ? c->part_at[r] : 0;
    return at == 0 ? NULL : &c->parts.at[at - 1];
}

static pg_part *part_of(pg_lw *c, uint32_t r)
{
    if (r >= c->n_part_at) {
        const uint32_t n = c->n_part_at, room = c->b.f->regs.cap, more = r < room ? room : r + 257;
        uint32_t *at = pg_arena_grow(&c->scratch, c->part_at, sizeof *at * n, sizeof *at * more);
        if (at == NULL) {
            return NULL;
        }
        c->part_at = at;
        c->n_part_at = more;
    }
    if (c->part_at[r] == 0) {
        if (!pg_vec_push(&c->scratch, &c->parts, (pg_part){0})) {
            return NULL;
        }
        c->part_at[r] = c->parts.n;
    }
    return &c->parts.at[c->part_at[r] - 1];
}

/* I1, I2 */
static bool is_there(const pg_lw *c, uint32_t r, uint32_t serial)
{
    const pg_part *p = known_part(c, r);
    return serial != 0 && p != NULL && p->serial == serial && p->vn < c->vn.n &&
           c->vn.at[p->vn].reg == r;
}

/* A numbered instruction of two operands, and where its number stands. */
static uint32_t made(pg_lw *c, const char *opcode, pg_ptx_opnd a, pg_ptx_opnd b, pg_part x)
{
    x.vn = c->vn.n;
    const uint32_t r = pg_lw_pure2(c, opcode, PG_PTX_B64, a, b);
    pg_part *at = c->vn.n > x.vn ? part_of(c, r) : NULL;
    if (at != NULL) { /* it is new */
        x.serial = ++c->n_sums_made;
        *at = x;
    }
    return r;
}

uint32_t pg_lw_plain_add64(pg_lw *c, uint32_t a, uint32_t b)
{
    const pg_part x = {.of = {a + 1, b + 1}};
    return made(c, "add.s64", pg_lw_reg(a), pg_lw_reg(b), x);
}

uint32_t pg_lw_shl64(pg_lw *c, uint32_t a, uint32_t by)
{
    const pg_part x = {.of = {a + 1}, .shift = by};
    return made(c, "shl.b64", pg_lw_reg(a), pg_ptx_int(by), x);
}

/* A step, scaled: of what it is itself a multiple of. */
static uint32_t scaled(pg_lw *c, uint32_t x, uint32_t by)
{
    const pg_part *p = by != 0 ? known_part(c, x) : NULL;
    const bool is_multiple = p != NULL && p->shift != 0 && p->shift + by < 64;
    return by == 0       ? x
           : is_multiple ? pg_lw_shl64(c, p->of[0] - 1, p->shift + by)
                         : pg_lw_shl64(c, x, by);
}

/* base + (x << by) if that was asked for last with x: register + 1, else 0. */
static uint32_t last_use(const pg_lw *c, uint32_t base, uint32_t x, uint32_t by)
{
    const pg_part *p = known_part(c, x);
    return p != NULL && p->sum != 0 && p->base == base && p->by == by &&
                   is_there(c, p->sum - 1, p->sum_serial)
               ? p->sum
               : 0;
}

static void set_last_use(pg_lw *c, uint32_t base, uint32_t x, uint32_t by, uint32_t sum)
{
    pg_part *p = part_of(c, x);
    if (p != NULL) {
        p->base = base;
        p->by = by;
        p->sum = sum + 1;
        const pg_part *of_sum = known_part(c, sum);
        p->sum_serial = of_sum != NULL ? of_sum->serial : 0;
    }
}

/* base + (x << by), x = p + s, from base + (p << by): register + 1, or 0 where that is not there.
 */
static uint32_t next_row(pg_lw *c, uint32_t base, uint32_t x, uint32_t by)
{
    const pg_part *p = known_part(c, x);
    if (p == NULL || p->of[1] == 0) {
        return 0;
    }
    const uint32_t of[2] = {p->of[0] - 1, p->of[1] - 1};
    for (int k = 0; k < 2; k++) {
        const uint32_t q = last_use(c, base, of[k], by);
        if (q != 0) {
            const uint32_t step = scaled(c, of[1 - k], by);
            return pg_lw_plain_add64(c, q - 1, step) + 1;
        }
    }
    return 0;
}

uint32_t pg_lw_add_shl64(pg_lw *c, uint32_t base, uint32_t x, uint32_t by)
{
    uint32_t r = last_use(c, base, x, by);
    if (r == 0) {
        r = next_row(c, base, x, by);
        r = r != 0 ? r : pg_lw_plain_add64(c, base, scaled(c, x, by)) + 1;
        set_last_use(c, base, x, by, r - 1);
    }
    return r - 1;
}

uint32_t pg_lw_add64(pg_lw *c, uint32_t a, uint32_t b)
{
    uint32_t r = last_use(c, b, a, 0);
    r = r != 0 ? r : last_use(c, a, b, 0);
    if (r == 0) {
        r = next_row(c, b, a, 0);
        r = r != 0 ? r : next_row(c, a, b, 0);
        r = r != 0 ? r : pg_lw_plain_add64(c, a, b) + 1;
        set_last_use(c, b, a, 0, r - 1);
        set_last_use(c, a, b, 0, r - 1);
    }
    return r - 1;
}
