/* lower_moves.c: values that go from one turn of a loop to the next, and out of branches: copies
 * that happen all at once. */
#include "emit/lower_int.h"

static const char *move_opcode(pg_ptx_type type)
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
    pg_lw_emit(c, move_opcode(type), 2, ops);
}

/* Emits what nobody waits for, until nothing or only cycles are left; a cycle is opened by a copy.
 */
void pg_lw_moves(pg_lw *c, pg_move *at, uint32_t n)
{
    uint32_t n_regs = c->b.f->regs.n + n;
    uint32_t *readers = PG_NEWS(&c->scratch, uint32_t, n_regs); /* of a register, still to come */
    uint32_t *writer = PG_NEWS(&c->scratch, uint32_t, n_regs);  /* move that writes it, + 1 */
    uint32_t *ready = PG_NEWS(&c->scratch, uint32_t, n + 1);
    if (readers == NULL || writer == NULL || ready == NULL || pg_lw_failed(c)) {
        return;
    }
    uint32_t n_left = 0, n_ready = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (at[i].src.reg == at[i].dst + 1 && at[i].src.imm == 0) {
            at[i].dst = UINT32_MAX; /* stays */
            continue;
        }
        n_left++;
        writer[at[i].dst] = i + 1;
        if (at[i].src.reg != 0 && at[i].src.reg != at[i].dst + 1) {
            readers[at[i].src.reg - 1]++;
        }
    }
    for (uint32_t i = n; i-- > 0;) {
        if (at[i].dst != UINT32_MAX && readers[at[i].dst] == 0) {
            ready[n_ready++] = i;
        }
    }
    uint32_t scan = 0;
    while (n_left > 0) {
        if (n_ready == 0) { /* a cycle */
            while (scan < n && (at[scan].dst == UINT32_MAX || readers[at[scan].dst] == 0)) {
                scan++;
            }
            if (scan == n) {
                return;
            }
            pg_move *m = &at[scan];
            uint32_t copy = pg_lw_new_reg(c, pg_lw_reg_type(m->elem));
            pg_lw_move(c, copy, m->elem, pg_el_reg(m->dst));
            for (uint32_t i = 0; i < n; i++) { /* its readers read the copy */
                if (at[i].dst != UINT32_MAX && i != scan && at[i].src.reg == m->dst + 1) {
                    at[i].src.reg = copy + 1;
                }
            }
            readers[m->dst] = 0;
            ready[n_ready++] = scan;
        }
        uint32_t k = ready[--n_ready];
        pg_move m = at[k];
        pg_lw_move(c, m.dst, m.elem, m.src);
        at[k].dst = UINT32_MAX;
        writer[m.dst] = 0;
        n_left--;
        uint32_t src = m.src.reg;
        if (src != 0 && src != m.dst + 1 && src - 1 < n_regs && readers[src - 1] > 0 &&
            --readers[src - 1] == 0 && writer[src - 1] != 0) {
            ready[n_ready++] = writer[src - 1] - 1;
        }
    }
}
