/* lower_part.c: partitions and elected threads. Warps find their partition by their number; the
 * default partition is warps 0 and up, the others follow in order of the text. */
#include "emit/lower_int.h"

/* setmaxnreg at the head, once per kernel: towards the count that the partition asks for. */
static void set_registers(pg_lw *c, const pg_inst *part)
{
    int64_t regs = pg_attr_int(&part->attrs, PG_A_REGS, 0);
    if (regs == 0 || c->plan.entry_regs == 0 || regs == (int64_t)c->plan.entry_regs) {
        return;
    }
    pg_ptx_opnd n = pg_ptx_int(regs);
    bool is_more = regs > (int64_t)c->plan.entry_regs;
    pg_lw_emit(c, is_more ? "setmaxnreg.inc.sync.aligned.u32" : "setmaxnreg.dec.sync.aligned.u32",
               1, &n);
}

static void emit_partition(pg_lw *c, const pg_inst *part)
{
    const pg_inst *outer_part = c->part;
    uint32_t outer_first = c->first_warp, outer_n = c->n_warps;
    c->part = part;
    c->first_warp = pg_partition_first_warp(part);
    c->n_warps = pg_partition_warps(part);
    c->b.loc = part->loc;
    uint32_t scope = pg_lw_scope_open(c);
    pg_str name = pg_sym_text(&c->m->ctx->syms, part->sym);
    pg_ptx_part span = {
        .name = name, .first = c->b.f->body.n, .n_warps = c->n_warps, .inst = part->id};
    pg_ptx_comment(&c->b, "%.*s: warps %u to %u", PG_STR_ARG(name), c->first_warp,
                   c->first_warp + c->n_warps - 1);
    if (!c->is_setmax_done) {
        set_registers(c, part);
    }
    pg_lw_prepare(c, part->regions[0]);
    pg_lw_region(c, part->regions[0]);
    pg_lw_scope_close(c, scope);
    span.end = c->b.f->body.n;
    if (!c->b.is_failed && !pg_vec_push(c->ptx->arena, &c->b.f->parts, span)) {
        c->b.is_failed = true;
    }
    c->part = outer_part;
    c->first_warp = outer_first;
    c->n_warps = outer_n;
}

static bool is_end(const pg_inst *after)
{
    return after == NULL || after->op == PG_OP_RETURN;
}

/* Warps of other partitions go to `next`. */
static void branch_others(pg_lw *c, const pg_inst *p, pg_ptx_opnd warp, uint32_t next)
{
    int64_t first = pg_partition_first_warp(p);
    int64_t n = pg_partition_warps(p);
    bool is_last = first + n == (int64_t)c->plan.n_warps;
    pg_ptx_opnd at = warp;
    if (first != 0 && !is_last) {
        at = pg_lw_opnd2(c, "sub.s32", PG_PTX_B32, warp, pg_ptx_int(first));
    }
    pg_ptx_opnd is_other = is_last
                               ? pg_lw_opnd2(c, "setp.lt.u32", PG_PTX_PRED, at, pg_ptx_int(first))
                               : pg_lw_opnd2(c, "setp.ge.u32", PG_PTX_PRED, at, pg_ptx_int(n));
    pg_lw_branch(c, is_other, false, next);
}

/* The first of a group lowers all of it: warps branch to where they belong; all meet at a barrier
 * behind it, unless the kernel ends there. */
LOWER(PARTITION)
{
    if (i->prev != NULL && i->prev->op == PG_OP_PARTITION) {
        return;
    }
    const pg_inst *after = i;
    while (after != NULL && after->op == PG_OP_PARTITION) {
        after = after->next;
    }
    bool ends = is_end(after) && i->parent->owner == NULL;
    pg_ptx_opnd warp = pg_lw_reg(pg_lw_warp(c));
    uint32_t join = ends ? 0 : pg_ptx_label_new(&c->b, "join");
    uint32_t n_gone = 0; /* warps that have branched off */
    for (const pg_inst *p = i; p != after && !pg_lw_failed(c); p = p->next) {
        n_gone += pg_partition_warps(p);
        uint32_t next = 0;
        if (n_gone < c->plan.n_warps) {
            next = pg_ptx_label_new(&c->b, "others");
            branch_others(c, p, warp, next);
        }
        emit_partition(c, p);
        if (ends) {
            pg_lw_emit0(c, "ret");
        } else {
            pg_lw_jump(c, join);
        }
        if (n_gone < c->plan.n_warps) {
            pg_ptx_label_here(&c->b, next);
        }
    }
    c->is_setmax_done = true;
    if (!ends) {
        pg_ptx_label_here(&c->b, join);
        pg_ptx_opnd all = pg_ptx_int(0);
        pg_lw_emit(c, "bar.sync", 1, &all);
    }
}

LOWER(ELECT)
{
    uint32_t warp = (uint32_t)pg_attr_int(&i->attrs, PG_A_WARP, 0);
    bool was_elected = c->is_elected;
    uint32_t end = pg_ptx_label_new(&c->b, "elected");
    if (c->n_warps > 1 || (c->part == NULL && c->plan.n_warps > 1)) {
        pg_ptx_opnd other = pg_lw_opnd2(c, "setp.ne.s32", PG_PTX_PRED, pg_lw_reg(pg_lw_warp(c)),
                                        pg_ptx_int((int64_t)c->first_warp + warp));
        pg_lw_branch(c, other, false, end);
    }
    /* ptxas knows that one lane is left, and issues tensor copies without a loop over lanes. */
    pg_ptx_opnd p = pg_lw_reg(pg_lw_new_reg(c, PG_PTX_PRED));
    pg_ptx_opnd ops[2] = {pg_ptx_pair(&c->b, pg_ptx_sink(), p), pg_ptx_int(-1)};
    pg_lw_emit(c, "elect.sync", 2, ops);
    pg_lw_branch(c, p, true, end);
    c->is_elected = true;
    uint32_t scope = pg_lw_scope_open(c);
    pg_lw_region(c, i->regions[0]);
    pg_lw_scope_close(c, scope);
    c->is_elected = was_elected;
    pg_ptx_label_here(&c->b, end);
}
