/* lower_get.c: asynchronous copies from global memory into buffers, by the threads themselves. One
 * instruction copies 4, 8 or 16 bytes that lie together on both sides; where the mask is false its
 * size of the source is 0, and it writes zeros. */
#include "emit/lower_int.h"

typedef struct copy {
    const pg_lw_layout *l;
    uint32_t n, size;
    const pg_el *from, *mask; /* mask NULL: all */
    pg_el *to;
} copy;

static bool can_follow(const copy *p, uint32_t at, uint32_t k)
{
    const pg_el *f = &p->from[at];
    const pg_el *t = &p->to[at];
    int64_t skip = (int64_t)k * p->size;
    return f[k].reg == f->reg && f[k].imm == f->imm + skip && t[k].reg == t->reg &&
           t[k].imm == t->imm + skip && ((at + k) & p->l->free_reg) == 0 &&
           (p->mask == NULL || pg_el_same(p->mask[at], p->mask[at + k]));
}

/* Elements of the instruction that begins at a register: as many as lie together and are aligned.
 * *why says what keeps it from more. */
static uint32_t group_at(const pg_lw *c, const copy *p, uint32_t at, const char **why)
{
    uint32_t most = 16 / p->size;
    uint32_t run = 1;
    while (run < most && at + run < p->n && can_follow(p, at, run)) {
        run++;
    }
    uint32_t f = pg_lw_fact(c, PG_I64, p->from[at]).align;
    uint32_t t = pg_lw_fact(c, PG_I32, p->to[at]).align;
    uint32_t align = f < t ? f : t;
    uint32_t k = 1;
    *why = run * p->size < 4
               ? "its elements are not known to lie together on both sides under one mask"
           : f < 2 ? "its address is not known to be a multiple of more"
                   : "its place in the buffer is not known to be a multiple of more";
    while (2 * k <= run && pg_log2((uint64_t)2 * k * p->size) <= align) {
        k *= 2;
    }
    return pg_log2((uint64_t)k * p->size) <= align ? k : 0;
}

static void issue(pg_lw *c, const copy *p, uint32_t at, uint32_t bytes, pg_el guard)
{
    pg_ptx_opnd to = pg_lw_memory(c, PG_I32, p->to[at]);
    pg_ptx_opnd from = pg_lw_memory(c, PG_I64, p->from[at]);
    pg_ptx_opnd ops[4] = {to, from, pg_ptx_int(bytes), pg_ptx_int(0)};
    uint32_t n = 3;
    pg_el mask = p->mask == NULL ? pg_el_imm(1) : p->mask[at];
    if (mask.reg != 0) {
        ops[3] = pg_lw_opnd3(c, "selp.b32", PG_PTX_B32, pg_ptx_int(bytes), pg_ptx_int(0),
                             pg_lw_reg(mask.reg - 1));
        n = 4;
    } else if (mask.imm == 0) {
        ops[3] = pg_lw_in_reg(c, PG_I32, pg_el_imm(0));
        n = 4;
    }
    pg_ptx_stmt *s = pg_lw_emit(
        c, bytes == 16 ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global", n, ops);
    if (guard.reg != 0) {
        pg_ptx_guard(s, pg_lw_reg(guard.reg - 1), false);
    }
}

/* One load is copied in front of its loop and in it; what keeps it from that is said once. */
static void refuse(pg_lw *c, const pg_inst *i, uint32_t bytes, const char *why)
{
    bool is_said = false;
    for (uint32_t d = 0; d < c->diags->n && i->loc.line != 0; d++) {
        const pg_diag *said = &c->diags->at[d];
        is_said = is_said || (said->id == PG_D_LOWER_ASYNC && said->loc.line == i->loc.line &&
                              said->loc.column == i->loc.column);
    }
    if (!is_said) {
        pg_diag_add(c->diags, PG_D_LOWER_ASYNC, i->loc, bytes, why);
    }
}

LOWER(ASYNC_GET)
{
    const pg_lv *buf = pg_lw_in(c, i, 1);
    const pg_smem_way *way = pg_lw_smem_way(c, i, i->in[0]);
    if (buf->obj == NULL || way == NULL) {
        pg_lw_refuse(c, i, "these layouts");
        return;
    }
    pg_smem_aim aim = {.m = &way->m, .buf = buf};
    copy p = {.l = way->l, .n = way->l->n_regs, .size = way->m.size};
    p.from = pg_lw_stretch(c, i, 0, p.n);
    p.mask = i->n_in > 2 ? pg_lw_stretch(c, i, 2, p.n) : NULL;
    p.to = PG_NEWS(&c->scratch, pg_el, p.n);
    if (p.from == NULL || p.to == NULL || (i->n_in > 2 && p.mask == NULL)) {
        return;
    }
    for (uint32_t r = 0; r < p.n; r++) {
        p.to[r] = pg_lw_smem_at(c, &aim, way->m.own[r]);
    }
    pg_el guard = pg_lw_replica_guard(c, p.l);
    for (uint32_t r = 0; r < p.n && !pg_lw_failed(c);) {
        if ((r & p.l->free_reg) != 0) {
            r++;
            continue;
        }
        const char *why;
        uint32_t k = group_at(c, &p, r, &why);
        if (k * p.size < 4) {
            refuse(c, i, k * p.size, why);
            return;
        }
        issue(c, &p, r, k * p.size, guard);
        r += k;
    }
}

LOWER(ASYNC_COMMIT)
{
    (void)i;
    pg_lw_emit0(c, "cp.async.commit_group");
}

LOWER(ASYNC_WAIT)
{
    pg_ptx_opnd n = pg_ptx_int(pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0));
    pg_lw_emit(c, "cp.async.wait_group", 1, &n);
}
