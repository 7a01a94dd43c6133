/* lower_cf.c: loops and conditions.
 *
 * A `for` is tested once before and then at its bottom, a `while` by its test at the top. A carried
 * value lives in registers that only the loop's end writes. Integer and pointer tiles are carried
 * compactly: one register for each base register of the initial tile, the immediates stay; that
 * holds if the yielded tile has the same pattern. It is tried first; where the yield differs, the
 * body is forgotten and emitted again with one register per element. The same goes for alignment,
 * which the first try takes from the initial value and the loop's IR (lower_align.c). */
#include <string.h>

#include "emit/lower_int.h"

/* ---- carried values -------------------------------------------------------------------------- */

enum { MAX_GROUPS = 16 };

typedef struct carried {
    pg_elem elem;
    uint32_t n;
    bool is_tile; /* else handed through: tokens */
    bool is_compact;
    uint32_t free_reg; /* register bits that are replicas: carried once */
    uint32_t same;     /* of the tile in the body: pg_lv.same */
    const pg_el *init;
    pg_el *el; /* in the body */
    uint32_t n_groups;
    uint32_t base[MAX_GROUPS]; /* pg_el.reg of the initial tile */
    uint32_t held[MAX_GROUPS]; /* register that the loop writes */
} carried;

static uint32_t replica_bits(pg_lw *c, const pg_inst *i, pg_val v)
{
    bool is_tile = pg_val_info(c->k, v)->kind == PG_TY_TILE;
    const pg_lw_layout *l = is_tile ? pg_lw_layout_of(c, i, pg_val_type(c->k, v)) : NULL;
    return l != NULL ? l->free_reg : 0;
}

static uint32_t group_of(const carried *v, uint32_t base)
{
    uint32_t g = 0;
    while (g < v->n_groups && v->base[g] != base) {
        g++;
    }
    return g;
}

static bool find_groups(carried *v)
{
    v->n_groups = 0;
    for (uint32_t r = 0; r < v->n; r++) {
        uint32_t g = group_of(v, v->init[r].reg);
        if (g == MAX_GROUPS) {
            return false;
        }
        if (g == v->n_groups) {
            v->base[v->n_groups++] = v->init[r].reg;
        }
    }
    return true;
}

static void choose_form(carried *v, bool is_expanded)
{
    bool is_address = v->elem == PG_I32 || v->elem == PG_I64;
    v->is_compact = v->n > 1 && is_address && !is_expanded && find_groups(v);
}

/* Fresh registers and their initial moves. */
static void start_carried(pg_lw *c, carried *v, uint32_t align)
{
    v->el = PG_NEWS(&c->scratch, pg_el, v->n);
    if (v->el == NULL) {
        return;
    }
    pg_ptx_type type = pg_lw_reg_type(v->elem);
    if (!v->is_compact) {
        for (uint32_t r = 0; r < v->n; r++) {
            if ((r & v->free_reg) != 0) {
                v->el[r] = v->el[r & ~v->free_reg];
                continue;
            }
            uint32_t reg = pg_lw_new_reg(c, type);
            v->el[r] = pg_el_reg(reg);
            pg_lw_move(c, reg, v->elem, v->init[r]);
            if (pg_elem_infos[v->elem].cls == 'I' && v->elem != PG_I1) {
                int64_t lo, hi;
                pg_elem_range(v->elem, &lo, &hi);
                pg_lw_set_fact(c, reg, lo, hi, align);
            }
        }
        return;
    }
    for (uint32_t g = 0; g < v->n_groups; g++) {
        v->held[g] = pg_lw_new_reg(c, type);
        pg_lw_move(c, v->held[g], v->elem, (pg_el){.reg = v->base[g]});
        int64_t lo, hi;
        pg_elem_range(v->elem, &lo, &hi);
        pg_lw_set_fact(c, v->held[g], lo, hi, align);
    }
    for (uint32_t r = 0; r < v->n; r++) {
        uint32_t g = group_of(v, v->init[r].reg);
        v->el[r] =
            (pg_el){.reg = v->held[g] + 1, .is_nw = v->init[r].imm == 0, .imm = v->init[r].imm};
    }
}

static uint32_t least_align(const pg_lw *c, const carried *v, const pg_el *el)
{
    uint32_t least = 62;
    for (uint32_t r = 0; r < v->n; r++) {
        pg_el x = el[r];
        x.imm = v->n > 1 && v->is_compact ? x.imm - v->init[r].imm : x.imm;
        uint32_t a = pg_lw_fact(c, v->elem, x).align;
        least = a < least ? a : least;
    }
    return least;
}

/* The moves that hand the yielded tile to the next turn; false if its pattern is another one. */
static bool end_carried(const carried *v, const pg_el *next, pg_move *moves, uint32_t *n_moves)
{
    if (!v->is_compact) {
        for (uint32_t r = 0; r < v->n; r++) {
            if ((r & v->free_reg) == 0) {
                moves[(*n_moves)++] = (pg_move){v->el[r].reg - 1, v->elem, next[r]};
            }
        }
        return true;
    }
    bool is_seen[MAX_GROUPS] = {false};
    pg_el step[MAX_GROUPS] = {{0}};
    for (uint32_t r = 0; r < v->n; r++) {
        uint32_t g = group_of(v, v->init[r].reg);
        pg_el s = {.reg = next[r].reg};
        s.imm = (int64_t)pg_elem_wrap(v->elem, (uint64_t)next[r].imm - (uint64_t)v->init[r].imm);
        if (is_seen[g] && !pg_el_same(step[g], s)) {
            return false;
        }
        is_seen[g] = true;
        step[g] = s;
    }
    for (uint32_t g = 0; g < v->n_groups; g++) {
        moves[(*n_moves)++] = (pg_move){v->held[g], v->elem, step[g]};
    }
    return true;
}

/* ---- what loops share ------------------------------------------------------------------------ */

typedef struct loop {
    const pg_inst *inst;
    pg_loop_plan *plan;
    uint32_t n; /* carried values */
    carried *vals;
    pg_elem elem; /* of the induction variable */
    pg_el lower, upper, step;
    uint32_t iv;
    pg_el last; /* another turn follows one with iv < last */
    bool needs_test;
    uint32_t n_moves; /* at most */
} loop;

static pg_loop_plan *plan_of(pg_lw *c, const pg_inst *i, uint32_t n)
{
    pg_loop_plan **at = &c->loops[i->id < c->k->n_insts ? i->id : 0];
    if (*at == NULL) {
        pg_loop_plan *p = PG_NEW(&c->scratch, pg_loop_plan);
        if (p != NULL) {
            p->is_expanded = PG_NEWS(&c->scratch, bool, n + 1);
            p->align = PG_NEWS(&c->scratch, uint8_t, n + 1);
            p->guess = PG_NEWS(&c->scratch, uint8_t, n + 1);
        }
        if (p == NULL || p->is_expanded == NULL || p->align == NULL || p->guess == NULL) {
            return NULL;
        }
        memset(p->align, 63, n + 1);
        pg_lw_guess_align(c, i, n, p->guess);
        *at = p;
    }
    return *at;
}

static void bind_results(pg_lw *c, const loop *l)
{
    for (uint32_t j = 0; j < l->n; j++) {
        const carried *v = &l->vals[j];
        if (v->is_tile) {
            pg_lv lv = {.kind = PG_LV_TILE, .n = v->n, .el = v->el, .same = v->same};
            c->vals[l->inst->out[j].id] = lv;
        } else {
            c->vals[l->inst->out[j].id] = *pg_lw_in(c, l->inst, pg_loop_in(l->inst) + j);
        }
    }
}

/* A carried value is by this name in each of the loop's regions. */
static void bind_arg(pg_lw *c, const loop *l, uint32_t j, pg_lv lv)
{
    for (uint32_t r = 0; r < l->inst->n_regions; r++) {
        c->vals[l->inst->regions[r]->args[pg_loop_arg(l->inst) + j].id] = lv;
    }
}

/* Where the loop holds a number of slots in bytes, it starts so. */
static const pg_el *init_in_bytes(pg_lw *c, const loop *l, uint32_t j, const pg_el *init)
{
    const pg_val arg = l->inst->regions[0]->args[pg_loop_arg(l->inst) + j];
    const uint32_t bytes = pg_lw_slot_bytes(c, arg);
    pg_el *el = bytes != 0 ? PG_NEW(&c->scratch, pg_el) : NULL;
    if (el == NULL) {
        return init;
    }
    *el = pg_lw_in_bytes(c, l->inst->in[pg_loop_in(l->inst) + j], *init, bytes);
    return el;
}

/* Registers for everything that the loop carries, at their initial values. */
static void start_values(pg_lw *c, loop *l)
{
    const uint32_t first = pg_loop_in(l->inst);
    l->n_moves = 1;
    for (uint32_t j = 0; j < l->n; j++) {
        carried *v = &l->vals[j];
        const pg_lv *init = pg_lw_in(c, l->inst, first + j);
        *v = (carried){.is_tile = init->kind == PG_LV_TILE, .n = init->n, .init = init->el};
        if (!v->is_tile) {
            bind_arg(c, l, j, *init);
            continue;
        }
        v->elem = pg_lw_elem(pg_val_info(c->k, l->inst->in[first + j]));
        v->init = init_in_bytes(c, l, j, init->el);
        v->free_reg = replica_bits(c, l->inst, l->inst->out[j]);
        choose_form(v, l->plan->is_expanded[j]);
        if (l->plan->align[j] == 63) {
            const uint32_t align = least_align(c, v, v->init);
            l->plan->align[j] = align < l->plan->guess[j] ? (uint8_t)align : l->plan->guess[j];
        }
        start_carried(c, v, l->plan->align[j]);
        l->n_moves += v->n;
        v->same = v->is_compact ? init->same : v->free_reg;
        bind_arg(c, l, j, (pg_lv){.kind = PG_LV_TILE, .n = v->n, .el = v->el, .same = v->same});
    }
}

/* The moves that the end of the body asks for; false if what was yielded does not fit what was
 * assumed. */
static bool end_values(pg_lw *c, loop *l, pg_move *moves, uint32_t *n)
{
    const pg_inst *yield = c->yield; /* NULL: nothing is carried, and no `yield` stands there */
    bool fits = true;
    for (uint32_t j = 0; yield != NULL && j < l->n && j < yield->n_in; j++) {
        carried *v = &l->vals[j];
        const pg_lv *next = pg_lw_in(c, yield, j);
        if (!v->is_tile || next->n != v->n) {
            continue;
        }
        if (!end_carried(v, next->el, moves, n)) {
            l->plan->is_expanded[j] = true;
            l->plan->align[j] = 63;
            fits = false;
            continue;
        }
        bool is_int = pg_elem_infos[v->elem].cls == 'I';
        uint32_t align = is_int ? least_align(c, v, next->el) : 63;
        if (align < l->plan->align[j]) {
            l->plan->align[j] = (uint8_t)align;
            fits = false;
        }
    }
    return fits;
}

enum { MAX_TRIES = 4 };

typedef bool emit_fn(pg_lw *c, loop *l);

/* Emits the loop until what it assumes of its carried values holds. */
static void emit_until_it_fits(pg_lw *c, loop *l, emit_fn *emit)
{
    l->plan = plan_of(c, l->inst, l->n);
    l->vals = PG_NEWS(&c->scratch, carried, l->n + 1);
    if (l->plan == NULL || l->vals == NULL) {
        return;
    }
    uint32_t n_errors = c->diags->n_errors;
    for (uint32_t t = 0; t < MAX_TRIES; t++) {
        pg_ptx_mark mark = pg_ptx_mark_get(&c->b);
        if (emit(c, l) || c->diags->n_errors != n_errors) {
            break;
        }
        pg_ptx_rollback(&c->b, mark);
        if (t + 2 == MAX_TRIES) { /* the last try assumes nothing */
            memset(l->plan->is_expanded, 1, l->n);
            memset(l->plan->align, 0, l->n);
        }
    }
    bind_results(c, l);
}

/* ---- for ------------------------------------------------------------------------------------- */

/* upper - step, but not below the least number: so that iv + step never has to wrap to be compared.
 */
static pg_el last_of(pg_lw *c, const loop *l)
{
    pg_fact fu = pg_lw_fact(c, l->elem, l->upper), fs = pg_lw_fact(c, l->elem, l->step);
    int64_t lo, hi;
    pg_elem_range(l->elem, &lo, &hi);
    if (l->upper.reg == 0 && l->step.reg == 0) {
        int64_t x = l->upper.imm < lo + l->step.imm ? lo : l->upper.imm - l->step.imm;
        return pg_el_imm(x);
    }
    pg_ptx_opnd u = pg_lw_use(c, l->elem, l->upper), s = pg_lw_use(c, l->elem, l->step);
    bool is_safe = fu.lo >= 0 && fs.lo >= 0;
    if (l->elem != PG_I64) {
        return pg_el_reg(pg_lw_pure2(c, is_safe ? "sub.s32" : "sub.sat.s32", PG_PTX_B32, u, s));
    }
    pg_ptx_opnd diff = pg_lw_opnd2(c, "sub.s64", PG_PTX_B64, u, s);
    if (is_safe) {
        return pg_el_reg(diff.id);
    }
    pg_ptx_opnd floor = pg_lw_opnd2(c, "add.s64", PG_PTX_B64, s, pg_ptx_int(INT64_MIN));
    pg_ptx_opnd is_low = pg_lw_opnd2(c, "setp.lt.s64", PG_PTX_PRED, u, floor);
    return pg_el_reg(pg_lw_pure3(c, "selp.b64", PG_PTX_B64, pg_ptx_int(INT64_MIN), diff, is_low));
}

static void start_for(pg_lw *c, loop *l)
{
    const pg_region *body = l->inst->regions[0];
    start_values(c, l);
    l->iv = pg_lw_new_reg(c, pg_lw_reg_type(l->elem));
    pg_lw_move(c, l->iv, l->elem, l->lower);
    pg_fact fl = pg_lw_fact(c, l->elem, l->lower), fu = pg_lw_fact(c, l->elem, l->upper);
    pg_fact fs = pg_lw_fact(c, l->elem, l->step);
    int64_t most = fu.hi > fl.lo ? fu.hi - 1 : fl.lo;
    pg_lw_set_fact(c, l->iv, fl.lo, most, fl.align < fs.align ? fl.align : fs.align);
    c->vals[body->args[0].id] = (pg_lv){.kind = PG_LV_TILE, .n = 1};
    pg_el *iv = PG_NEW(&c->scratch, pg_el);
    if (iv != NULL) {
        *iv = pg_el_reg(l->iv);
        c->vals[body->args[0].id].el = iv;
    }
    l->last = last_of(c, l);
}

static bool end_for(pg_lw *c, loop *l, uint32_t top)
{
    pg_move *moves = PG_NEWS(&c->scratch, pg_move, l->n_moves);
    uint32_t n = 0;
    if (moves == NULL) {
        return true;
    }
    if (!end_values(c, l, moves, &n)) {
        return false;
    }
    pg_el next = pg_lw_iadd(c, l->elem, pg_el_reg(l->iv), l->step, true);
    pg_ptx_opnd iv = pg_lw_reg(l->iv);
    bool is_wide = l->elem == PG_I64;
    pg_ptx_opnd more = pg_lw_opnd2(c, is_wide ? "setp.lt.s64" : "setp.lt.s32", PG_PTX_PRED, iv,
                                   pg_lw_use(c, l->elem, l->last));
    moves[n++] = (pg_move){l->iv, l->elem, next};
    pg_lw_moves(c, moves, n);
    pg_lw_branch(c, more, false, top);
    return true;
}

static bool emit_for(pg_lw *c, loop *l)
{
    uint32_t scope = pg_lw_scope_open(c);
    start_for(c, l);
    pg_el runs = pg_lw_icmp(c, l->elem, PG_IS_LT, true, l->lower, l->upper);
    uint32_t end = 0;
    if (runs.reg != 0) {
        end = pg_ptx_label_new(&c->b, "end");
        pg_lw_branch(c, pg_lw_reg(runs.reg - 1), true, end);
    }
    if (runs.reg != 0 || runs.imm != 0) {
        uint32_t top = pg_ptx_label_new(&c->b, "loop");
        pg_ptx_label_here(&c->b, top);
        uint32_t body = pg_lw_scope_open(c);
        pg_lw_region(c, l->inst->regions[0]);
        bool fits = pg_lw_failed(c) || end_for(c, l, top);
        pg_lw_scope_close(c, body);
        if (!fits) {
            pg_lw_scope_close(c, scope);
            return false;
        }
    }
    if (runs.reg != 0) {
        pg_ptx_label_here(&c->b, end);
    }
    return true;
}

LOWER(FOR)
{
    loop l = {.inst = i, .n = i->n_in - 3u};
    l.elem = pg_lw_elem(pg_val_info(c->k, i->in[0]));
    l.lower = pg_lw_scalar(c, i, 0);
    l.upper = pg_lw_scalar(c, i, 1);
    l.step = pg_lw_scalar(c, i, 2);
    pg_lw_find_cursors(c, i);
    emit_until_it_fits(c, &l, emit_for);
}

/* ---- while ----------------------------------------------------------------------------------- */

/* The branch behind the test; false: the body is never run. */
static bool leave_or_go_on(pg_lw *c, uint32_t end)
{
    pg_el more = c->yield == NULL ? pg_el_imm(0) : pg_lw_scalar(c, c->yield, 0);
    if (more.reg != 0) {
        pg_lw_branch(c, pg_lw_reg(more.reg - 1), true, end);
    }
    return more.reg != 0 || more.imm != 0;
}

/* What the test has computed holds in the body too, but not in the next turn. */
static bool emit_while(pg_lw *c, loop *l)
{
    uint32_t scope = pg_lw_scope_open(c);
    start_values(c, l);
    uint32_t top = pg_ptx_label_new(&c->b, "while");
    uint32_t end = pg_ptx_label_new(&c->b, "end");
    pg_ptx_label_here(&c->b, top);
    uint32_t turn = pg_lw_scope_open(c);
    pg_move *moves = PG_NEWS(&c->scratch, pg_move, l->n_moves);
    uint32_t n = 0;
    bool fits = true;
    pg_lw_region(c, l->inst->regions[0]);
    if (!pg_lw_failed(c) && moves != NULL && leave_or_go_on(c, end)) {
        pg_lw_region(c, l->inst->regions[1]);
        fits = pg_lw_failed(c) || end_values(c, l, moves, &n);
        pg_lw_moves(c, moves, n);
        pg_lw_jump(c, top);
    }
    pg_lw_scope_close(c, turn);
    if (!fits) {
        pg_lw_scope_close(c, scope);
        return false;
    }
    pg_ptx_label_here(&c->b, end);
    return true;
}

LOWER(WHILE)
{
    loop l = {.inst = i, .n = i->n_in};
    emit_until_it_fits(c, &l, emit_while);
}

/* ---- if -------------------------------------------------------------------------------------- */

static void branch_moves(pg_lw *c, const pg_inst *i, const uint32_t *const *regs)
{
    uint32_t n = 0;
    for (uint32_t j = 0; j < i->n_out; j++) {
        n += c->vals[i->out[j].id].n;
    }
    pg_move *moves = PG_NEWS(&c->scratch, pg_move, n + 1);
    const pg_inst *yield = c->yield;
    if (moves == NULL || yield == NULL || i->n_out == 0) {
        return;
    }
    n = 0;
    for (uint32_t j = 0; j < i->n_out && j < yield->n_in; j++) {
        const pg_lv *from = pg_lw_in(c, yield, j);
        pg_elem e = pg_lw_elem(pg_val_info(c->k, i->out[j]));
        uint32_t free_reg = replica_bits(c, i, i->out[j]);
        for (uint32_t r = 0; r < c->vals[i->out[j].id].n && r < from->n; r++) {
            if ((r & free_reg) != 0) {
                continue;
            }
            moves[n++] = (pg_move){regs[j][r], e, from->el[r]};
        }
    }
    pg_lw_moves(c, moves, n);
}

/* Registers that both branches write. */
static const uint32_t *const *result_regs(pg_lw *c, const pg_inst *i)
{
    const uint32_t **regs = PG_NEWS(&c->scratch, const uint32_t *, i->n_out + 1u);
    for (uint32_t j = 0; regs != NULL && j < i->n_out; j++) {
        pg_type type = pg_val_type(c->k, i->out[j]);
        const pg_type_info *t = pg_type_get(c->types, type);
        if (t->kind != PG_TY_TILE && t->kind != PG_TY_SCALAR) {
            pg_lw_refuse(c, i, "results that are no tile and no scalar");
            return NULL;
        }
        uint32_t n = pg_lw_count(c, i, type);
        pg_el *el = pg_lw_result(c, i, j, n);
        uint32_t *ids = PG_NEWS(&c->scratch, uint32_t, n + 1);
        if (el == NULL || ids == NULL) {
            return NULL;
        }
        uint32_t free_reg = replica_bits(c, i, i->out[j]);
        for (uint32_t r = 0; r < n; r++) {
            if ((r & free_reg) != 0) {
                ids[r] = ids[r & ~free_reg];
                el[r] = el[r & ~free_reg];
                continue;
            }
            ids[r] = pg_lw_new_reg(c, pg_lw_reg_type(pg_lw_elem(t)));
            el[r] = pg_el_reg(ids[r]);
        }
        regs[j] = ids;
    }
    return regs;
}

static void emit_branch(pg_lw *c, const pg_inst *i, uint32_t which, const uint32_t *const *regs)
{
    uint32_t scope = pg_lw_scope_open(c);
    pg_lw_region(c, i->regions[which]);
    if (!pg_lw_failed(c)) {
        branch_moves(c, i, regs);
    }
    pg_lw_scope_close(c, scope);
}

LOWER(IF)
{
    pg_el cond = pg_lw_scalar(c, i, 0);
    const uint32_t *const *regs = result_regs(c, i);
    bool has_else = i->n_regions > 1 && i->regions[1]->first != NULL;
    if (regs == NULL) {
        return;
    }
    if (cond.reg == 0) {
        uint32_t which = cond.imm != 0 ? 0 : 1;
        if (which == 0 || has_else) {
            emit_branch(c, i, which, regs);
        }
        return;
    }
    uint32_t other = pg_ptx_label_new(&c->b, has_else ? "else" : "end");
    pg_lw_branch(c, pg_lw_reg(cond.reg - 1), true, other);
    emit_branch(c, i, 0, regs);
    if (has_else) {
        uint32_t end = pg_ptx_label_new(&c->b, "end");
        pg_lw_jump(c, end);
        pg_ptx_label_here(&c->b, other);
        emit_branch(c, i, 1, regs);
        pg_ptx_label_here(&c->b, end);
    } else {
        pg_ptx_label_here(&c->b, other);
    }
}

LOWER(YIELD)
{
    c->yield = i;
}

LOWER(RETURN)
{
    (void)i;
    uint32_t n = c->b.f->body.n; /* partitions that end the kernel return by themselves */
    const pg_ptx_stmt *last = n != 0 ? &c->b.f->body.at[n - 1] : NULL;
    bool is_done = last != NULL && last->kind == PG_PTX_S_INST && last->row == PG_ISA_RET;
    if (c->part == NULL && !is_done) {
        pg_lw_emit0(c, "ret");
    }
}

LOWER(GRID)
{
    pg_lw_refuse(c, i, "kernels; it belongs to launch regions");
}
