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

static pg_part *part_of(pg_lw *c, uint32_t r)
{
    if (r >= c->n_parts) {
        const uint32_t n = c->n_parts, more = r + 1 > 2 * n ? r + 257 : 2 * n;
        pg_part *at = pg_arena_grow(&c->scratch, c->parts, sizeof *at * n, sizeof *at * more);
        if (at == NULL) {
            return NULL;
        }
        c->parts = at;
        c->n_parts = more;
    }
    return &c->parts[r];
}

/* I1, I2 */
static bool is_there(const pg_lw *c, uint32_t r, uint32_t serial)
{
    const pg_part *p = &c->parts[r];
    return serial != 0 && p->serial == serial && p->vn < c->vn.n && c->vn.at[p->vn].reg == r;
}

/* A numbered instruction of two operands, and where its number stands. */
static uint32_t made(pg_lw *c, const char *opcode, pg_ptx_opnd a, pg_ptx_opnd b, bool *is_new)
{
    const uint32_t n = c->vn.n;
    const uint32_t r = pg_lw_pure2(c, opcode, PG_PTX_B64, a, b);
    pg_part *x = part_of(c, r);
    *is_new = x != NULL && c->vn.n > n;
    if (*is_new) {
        *x = (pg_part){.vn = n, .serial = ++c->n_sums_made};
    }
    return r;
}

uint32_t pg_lw_plain_add64(pg_lw *c, uint32_t a, uint32_t b)
{
    bool is_new;
    const uint32_t r = made(c, "add.s64", pg_lw_reg(a), pg_lw_reg(b), &is_new);
    if (is_new) {
        c->parts[r].of[0] = a + 1;
        c->parts[r].of[1] = b + 1;
    }
    return r;
}

uint32_t pg_lw_shl64(pg_lw *c, uint32_t a, uint32_t by)
{
    bool is_new;
    const uint32_t r = made(c, "shl.b64", pg_lw_reg(a), pg_ptx_int(by), &is_new);
    if (is_new) {
        c->parts[r].of[0] = a + 1;
        c->parts[r].shift = by;
    }
    return r;
}

/* A step, scaled: of what it is itself a multiple of. */
static uint32_t scaled(pg_lw *c, uint32_t x, uint32_t by)
{
    const pg_part p = x < c->n_parts && by != 0 ? c->parts[x] : (pg_part){0};
    return by == 0                             ? x
           : p.shift != 0 && p.shift + by < 64 ? pg_lw_shl64(c, p.of[0] - 1, p.shift + by)
                                               : pg_lw_shl64(c, x, by);
}

/* base + (x << by) if that was asked for last with x: register + 1, else 0. */
static uint32_t last_use(const pg_lw *c, uint32_t base, uint32_t x, uint32_t by)
{
    const pg_part *p = x < c->n_parts ? &c->parts[x] : NULL;
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
        p->sum_serial = sum < c->n_parts ? c->parts[sum].serial : 0;
    }
}

/* base + (x << by), x = p + s, from base + (p << by): register + 1, or 0 where that is not there.
 */
static uint32_t next_row(pg_lw *c, uint32_t base, uint32_t x, uint32_t by)
{
    if (x >= c->n_parts || c->parts[x].of[1] == 0) {
        return 0;
    }
    const uint32_t of[2] = {c->parts[x].of[0] - 1, c->parts[x].of[1] - 1};
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
