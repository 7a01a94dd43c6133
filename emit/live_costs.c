/* live_costs.c: what a register of the text costs in registers of the machine.
 *
 * I1  Constants, parameters and the size of the grid stand in constant memory or in instructions:
 *     they cost nothing. Predicates have registers of their own.
 * I2  Halves that come from or go into a 32-bit register are used in place: half a register each.
 * I3  Integers that are the same for all threads may live in uniform registers: ptxas puts some of
 *     them there. They cost three quarters, and nothing where a mode says so. */
#include "emit/live_int.h"

static bool is_one_of(const pg_ptx_stmt *s, const char *const *words, size_t n)
{
    const char first = s->kind == PG_PTX_S_INST && s->text.len != 0 ? s->text.ptr[0] : '\0';
    for (size_t i = 0; i < n && first != '\0'; i++) {
        if (words[i][0] == first && pg_str_starts(s->text, pg_str_of(words[i]))) {
            return true;
        }
    }
    return false;
}

static bool begins_with(const pg_ptx_stmt *s, const char *word)
{
    return is_one_of(s, &word, 1);
}

static bool is_in_constants(const pg_ptx_opnd *o)
{
    return o->kind == PG_PTX_O_INT || o->kind == PG_PTX_O_F32 || o->kind == PG_PTX_O_F64 ||
           o->kind == PG_PTX_O_SYM ||
           (o->kind == PG_PTX_O_SREG && (o->id == PG_PTX_SREG_NTID || o->id == PG_PTX_SREG_NCTAID));
}

static bool is_free(const pg_ptx_func *f, const pg_ptx_stmt *s)
{
    if (s->guard.kind != PG_PTX_O_NONE || s->n_ops != 2) {
        return false;
    }
    return begins_with(s, "ld.param") ||
           (begins_with(s, "mov.") && is_in_constants(&f->pool.at[s->ops + 1]));
}

static uint8_t what_is(const pg_ptx_func *f, const pg_ptx_stmt *s)
{
    static const char *const fences[] = {
        "st.",     "bar",        "atom",     "red",        "cp.",        "mbarrier", "fence",
        "membar",  "call",       "bra",      "brx",        "ret",        "exit",     "trap",
        "wgmma.",  "setmaxnreg", "stmatrix", "elect",      "shfl",       "vote",     "match",
        "griddep", "nanosleep",  "tcgen05",  "activemask", "wmma.store",
    };
    static const char *const loads[] = {"ld.", "ldmatrix", "wmma.load"};
    static const char *const cheap[] = {"mov", "cvt", "add.s", "shl"};
    static const char *const splits[] = {"div.rn",  "sqrt.rn", "rcp.rn", "div.s64",
                                         "div.u64", "rem.s64", "rem.u64"};
    if (s->kind != PG_PTX_S_INST) {
        return PG_LIVE_FENCE;
    }
    if (is_free(f, s)) {
        return PG_LIVE_FREE | PG_LIVE_CHEAP;
    }
    return (uint8_t)((is_one_of(s, fences, PG_COUNT_OF(fences)) ? PG_LIVE_FENCE : 0) |
                     (is_one_of(s, loads, PG_COUNT_OF(loads)) ? PG_LIVE_LOAD : 0) |
                     (is_one_of(s, cheap, PG_COUNT_OF(cheap)) ? PG_LIVE_CHEAP : 0) |
                     (is_one_of(s, splits, PG_COUNT_OF(splits)) ? PG_LIVE_SPLIT : 0));
}

pg_status pg_live_classify(pg_live *l)
{
    const pg_ptx_func *f = l->f;
    l->what = PG_NEWS(l->arena, uint8_t, f->body.n + 1);
    for (uint32_t s = 0; l->what != NULL && s < f->body.n; s++) {
        l->what[s] = what_is(f, &f->body.at[s]);
    }
    return pg_arena_status(l->arena);
}

/* Of what the uniform unit can do, the same for all threads if its operands are. */
static bool is_uniform_op(const pg_ptx_func *f, const pg_ptx_stmt *s)
{
    static const char *const words[] = {
        "mov.",    "cvta",        "add.s",   "add.u",       "sub.s",       "sub.u",
        "mul.lo.", "mul.wide",    "mul.hi",  "mad.lo.s",    "mad.lo.u",    "shl",
        "shr",     "and.b",       "or.b",    "xor.b",       "not.b",       "selp.b",
        "min.s",   "max.s",       "min.u",   "max.u",       "neg.s",       "bfe",
        "setp",    "and.pred",    "or.pred", "cvt.s64.s32", "cvt.u64.u32", "cvt.u32.u64",
        "cvt.s32", "cvt.s64.u32",
    };
    if (s->guard.kind != PG_PTX_O_NONE || s->n_ops == 0 ||
        f->pool.at[s->ops].kind != PG_PTX_O_REG) {
        return false;
    }
    const pg_ptx_opnd *from = &f->pool.at[s->ops + s->n_ops - 1];
    bool is_sreg = from->kind == PG_PTX_O_SREG;
    bool is_same = !is_sreg || from->id == PG_PTX_SREG_CTAID || is_in_constants(from);
    return is_same && (is_free(f, s) || is_one_of(s, words, PG_COUNT_OF(words)));
}

/* From what differs between threads to all that depends on it. */
pg_status pg_live_uniform(pg_live *l)
{
    const pg_ptx_func *f = l->f;
    const pg_live_index *x = &l->text;
    uint8_t *n_writes = PG_NEWS(l->arena, uint8_t, f->regs.n + 1);
    bool *differs = PG_NEWS(l->arena, bool, f->regs.n + 1);
    uint32_t *stack = PG_NEWS(l->arena, uint32_t, f->regs.n + 1);
    uint32_t n_stack = 0;
    l->is_uniform = PG_NEWS(l->arena, bool, f->regs.n + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t i = 0; i < x->n; i++) {
        const pg_live_ref *r = &x->refs[i];
        if ((r->how & PG_LIVE_WRITE) == 0) {
            continue;
        }
        n_writes[r->reg] = n_writes[r->reg] < 2 ? n_writes[r->reg] + 1 : 2;
        if (!differs[r->reg] && !is_uniform_op(f, &f->body.at[r->at])) {
            differs[r->reg] = true;
            stack[n_stack++] = r->reg;
        }
    }
    while (n_stack != 0) {
        uint32_t reg = stack[--n_stack];
        for (uint32_t k = x->reg_at[reg]; k < x->reg_at[reg + 1]; k++) {
            const pg_live_ref *r = &x->refs[x->by_reg[k]];
            bool is_read = (r->how & PG_LIVE_READ) != 0;
            for (uint32_t j = x->stmt_at[r->at]; is_read && j < x->stmt_at[r->at + 1]; j++) {
                uint32_t to = x->refs[j].reg;
                if ((x->refs[j].how & PG_LIVE_WRITE) != 0 && !differs[to]) {
                    differs[to] = true;
                    stack[n_stack++] = to;
                }
            }
        }
    }
    for (uint32_t r = 0; r < f->regs.n; r++) {
        bool is_float = pg_ptx_type_infos[f->regs.at[r].type].cls == 'F';
        l->is_uniform[r] = !differs[r] && !is_float && n_writes[r] >= 1;
    }
    return PG_OK;
}

/* I2 */
static void cost_halves(pg_live *l)
{
    const pg_ptx_func *f = l->f;
    for (uint32_t s = 0; s < f->body.n; s++) {
        const pg_ptx_stmt *t = &f->body.at[s];
        for (uint32_t k = 0; k < t->n_ops && t->n_ops == 2 && begins_with(t, "mov.b32"); k++) {
            const pg_ptx_opnd *o = &f->pool.at[t->ops + k];
            for (uint32_t j = 0; o->kind == PG_PTX_O_VEC && o->n == 2 && j < 2; j++) {
                const pg_ptx_opnd *half = &f->pool.at[o->id + j];
                if (half->kind == PG_PTX_O_REG && l->quarters[half->id] == 4) {
                    l->quarters[half->id] = 2;
                }
            }
        }
    }
}

pg_status pg_live_costs(pg_live *l, pg_live_mode mode)
{
    const pg_ptx_func *f = l->f;
    const pg_live_index *x = &l->text;
    l->quarters = PG_NEWS(l->arena, uint8_t, f->regs.n + 1);
    bool *is_made = PG_NEWS(l->arena, bool, f->regs.n + 1); /* by something that costs, or twice */
    bool *is_known = PG_NEWS(l->arena, bool, f->regs.n + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t i = 0; i < x->n; i++) {
        const pg_live_ref *r = &x->refs[i];
        if ((r->how & PG_LIVE_WRITE) != 0) {
            is_made[r->reg] =
                is_made[r->reg] || is_known[r->reg] || (l->what[r->at] & PG_LIVE_FREE) == 0;
            is_known[r->reg] = true;
        }
    }
    for (uint32_t r = 0; r < f->regs.n; r++) {
        uint32_t bits = pg_ptx_type_infos[f->regs.at[r].type].bits;
        bool is_nothing = !is_made[r] || bits == 1 || (mode == PG_LIVE_EARLY && l->is_uniform[r]);
        uint32_t per_word = l->is_uniform[r] ? 3 : 4;
        l->quarters[r] = (uint8_t)(is_nothing ? 0 : bits <= 32 ? per_word : per_word * bits / 32);
    }
    cost_halves(l);
    return PG_OK;
}
