/* lower_moves.c: values that go from one turn of a loop to the next, and out of branches: copies
 * that happen all at once. */
#include "emit/lower_int.h"

const char *pg_lw_move_opcode(pg_ptx_type type)
{
    switch (type) {
    case PG_PTX_PRED: return "mov.pred";
    case PG_PTX_F32: return "mov.f32";
    case PG_PTX_F64: return "mov.f64";
    case PG_PTX_B64: return "mov.b64";
    case PG_PTX_B32: return "mov.b32";
    default: return "mov.b16";
    }
}

void pg_lw_move(pg_lw *c, uint32_t dst, pg_elem e, pg_el src)
{
    pg_ptx_type type = pg_lw_reg_type(e);
    if (src.reg != 0 && src.imm != 0) {
        pg_ptx_opnd ops[3] = {pg_lw_reg(dst), pg_lw_reg(src.reg - 1), pg_ptx_int(src.imm)};
        pg_lw_emit(c, type == PG_PTX_B64 ? "add.s64" : "add.s32", 3, ops);
        return;
    }
    pg_ptx_opnd from = src.reg != 0         ? pg_lw_reg(src.reg - 1)
                       : type == PG_PTX_F32 ? pg_ptx_f32((uint32_t)src.imm)
                       : type == PG_PTX_F64 ? pg_ptx_f64((uint64_t)src.imm)
                       : pg_lw_reg_type(e) == PG_PTX_B16 || type == PG_PTX_BF16
                           ? pg_ptx_int(src.imm & 0xFFFF)
                           : pg_ptx_int(src.imm);
    pg_ptx_opnd ops[2] = {pg_lw_reg(dst), from};
    pg_lw_emit(c, pg_lw_move_opcode(type), 2, ops);
}

#define STAYS UINT32_MAX /* as dst: nothing to do any more */

/* Room for all registers and n moves; forgets the call before. */
static bool make_room(pg_lw *c, uint32_t n)
{
    pg_move_room *m = &c->moves;
    const uint32_t n_regs = c->b.f->regs.n;
    if (n_regs > m->n_regs) {
        const uint32_t want = n_regs + n_regs / 2;
        void *at =
            pg_arena_grow(&c->scratch, m->of, sizeof *m->of * m->n_regs, sizeof *m->of * want);
        if (at == NULL) {
            return false;
        }
        m->of = at;
        m->n_regs = want;
    }
    m->stamp++;
    m->ready.n = m->next_reader.n = 0;
    return pg_vec_reserve(&c->scratch, &m->ready, n) &&
           pg_vec_reserve(&c->scratch, &m->next_reader, n);
}

/* What this call knows of a register that was there when it began. */
static pg_move_reg *reg_of(pg_move_room *m, uint32_t reg)
{
    pg_move_reg *r = &m->of[reg];
    if (r->stamp != m->stamp) {
        *r = (pg_move_reg){.stamp = m->stamp};
    }
    return r;
}

/* Counts who reads and writes what; how many moves there are to do. */
static uint32_t begin_moves(pg_move_room *m, pg_move *at, uint32_t n)
{
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (at[i].src.reg == at[i].dst + 1 && at[i].src.imm == 0) {
            at[i].dst = STAYS;
            continue;
        }
        n_left++;
        reg_of(m, at[i].dst)->writer = i + 1;
        if (at[i].src.reg != 0 && at[i].src.reg != at[i].dst + 1) {
            pg_move_reg *src = reg_of(m, at[i].src.reg - 1);
            m->next_reader.at[i] = src->first_reader;
            src->first_reader = i + 1;
            src->n_readers++;
        }
    }
    for (uint32_t i = n; i-- > 0;) {
        if (at[i].dst != STAYS && reg_of(m, at[i].dst)->n_readers == 0) {
            m->ready.at[m->ready.n++] = i;
        }
    }
    return n_left;
}

/* Who reads what the move writes reads a copy instead. */
static void open_cycle(pg_lw *c, pg_move *at, uint32_t which)
{
    pg_move_room *m = &c->moves;
    pg_move_reg *dst = reg_of(m, at[which].dst);
    const uint32_t copy = pg_lw_new_reg(c, pg_lw_reg_type(at[which].elem));
    pg_lw_move(c, copy, at[which].elem, pg_el_reg(at[which].dst));
    for (uint32_t i = dst->first_reader; i != 0; i = m->next_reader.at[i - 1]) {
        if (at[i - 1].dst != STAYS) {
            at[i - 1].src.reg = copy + 1;
        }
    }
    dst->n_readers = 0;
    m->ready.at[m->ready.n++] = which;
}

/* Emits what nobody waits for, until nothing or only cycles are left; a cycle is opened by a copy.
 * Cost: linear in n, however many registers the function has. */
void pg_lw_moves(pg_lw *c, pg_move *at, uint32_t n)
{
    pg_move_room *m = &c->moves;
    if (pg_lw_failed(c) || !make_room(c, n)) {
        return;
    }
    const uint32_t n_regs = c->b.f->regs.n; /* copies come behind them; nobody waits for those */
    uint32_t n_left = begin_moves(m, at, n), scan = 0;
    while (n_left > 0 && !pg_lw_failed(c)) {
        if (m->ready.n == 0) { /* a cycle */
            while (scan < n && (at[scan].dst == STAYS || reg_of(m, at[scan].dst)->n_readers == 0)) {
                scan++;
            }
            if (scan == n) {
                return;
            }
            open_cycle(c, at, scan);
        }
        const uint32_t k = m->ready.at[--m->ready.n];
        const pg_move now = at[k];
        pg_lw_move(c, now.dst, now.elem, now.src);
        at[k].dst = STAYS;
        reg_of(m, now.dst)->writer = 0;
        n_left--;
        if (now.src.reg == 0 || now.src.reg == now.dst + 1 || now.src.reg > n_regs) {
            continue;
        }
        pg_move_reg *src = reg_of(m, now.src.reg - 1);
        if (src->n_readers > 0 && --src->n_readers == 0 && src->writer != 0) {
            m->ready.at[m->ready.n++] = src->writer - 1;
        }
    }
}
