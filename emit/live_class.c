/* live_class.c: what an opcode is to the live ranges.
 *
 * One table of beginnings says it; a statement is what all rows say that its spelling starts with.
 * Spellings are shared between statements, so the last ones looked up are kept by their address:
 * most statements cost one comparison of pointers. */
#include "emit/live_int.h"

enum { MEMO = 256 };

typedef struct word {
    const char *text;
    uint16_t what;
} word;

typedef struct memo {
    const char *text;
    size_t len;
    uint16_t what;
} memo;

static const word words[] = {
    /* order memory or control */
    {"st.", PG_LIVE_FENCE},
    {"bar", PG_LIVE_FENCE},
    {"atom", PG_LIVE_FENCE},
    {"red", PG_LIVE_FENCE},
    {"cp.", PG_LIVE_FENCE},
    {"mbarrier", PG_LIVE_FENCE},
    {"fence", PG_LIVE_FENCE},
    {"membar", PG_LIVE_FENCE},
    {"call", PG_LIVE_FENCE},
    {"wgmma.", PG_LIVE_FENCE},
    {"wgmma.mma_async", PG_LIVE_ADDS},
    {"setmaxnreg", PG_LIVE_FENCE},
    {"stmatrix", PG_LIVE_FENCE},
    {"elect", PG_LIVE_FENCE},
    {"shfl", PG_LIVE_LOAD},
    {"vote", PG_LIVE_FENCE},
    {"match", PG_LIVE_FENCE},
    {"griddep", PG_LIVE_FENCE},
    {"nanosleep", PG_LIVE_FENCE},
    {"tcgen05", PG_LIVE_FENCE},
    {"activemask", PG_LIVE_FENCE},
    {"wmma.store", PG_LIVE_FENCE},
    {"bra", PG_LIVE_FENCE | PG_LIVE_JUMP},
    {"brx", PG_LIVE_FENCE | PG_LIVE_JUMP | PG_LIVE_TABLE},
    {"ret", PG_LIVE_FENCE | PG_LIVE_STOP},
    {"exit", PG_LIVE_FENCE | PG_LIVE_STOP},
    {"trap", PG_LIVE_FENCE | PG_LIVE_STOP},
    /* loads */
    {"ld.", PG_LIVE_LOAD},
    {"ld.param", PG_LIVE_PARAM},
    {"ldmatrix", PG_LIVE_LOAD},
    {"wmma.load", PG_LIVE_LOAD},
    {"fma.rn.f32", PG_LIVE_FMA},
    /* slow paths */
    {"div.rn", PG_LIVE_SPLIT},
    {"sqrt.rn", PG_LIVE_SPLIT},
    {"rcp.rn", PG_LIVE_SPLIT},
    {"div.s64", PG_LIVE_SPLIT},
    {"div.u64", PG_LIVE_SPLIT},
    {"rem.s64", PG_LIVE_SPLIT},
    {"rem.u64", PG_LIVE_SPLIT},
    /* what the uniform unit can do, and what is cheap to do later */
    {"mov", PG_LIVE_CHEAP},
    {"mov.", PG_LIVE_COPY | PG_LIVE_UNIT},
    {"mov.b32", PG_LIVE_WORD},
    {"cvt", PG_LIVE_CHEAP},
    {"cvt.s64.s32", PG_LIVE_UNIT},
    {"cvt.s64.u32", PG_LIVE_UNIT},
    {"cvt.u64.u32", PG_LIVE_UNIT},
    {"cvt.u32.u64", PG_LIVE_UNIT | PG_LIVE_SAME},
    {"cvt.s32", PG_LIVE_UNIT},
    {"cvta", PG_LIVE_UNIT | PG_LIVE_SAME},
    {"add.s", PG_LIVE_CHEAP | PG_LIVE_UNIT},
    {"add.u", PG_LIVE_UNIT},
    {"shl", PG_LIVE_CHEAP | PG_LIVE_UNIT},
    {"shr", PG_LIVE_UNIT},
    {"sub.s", PG_LIVE_UNIT},
    {"sub.u", PG_LIVE_UNIT},
    {"mul.lo.", PG_LIVE_UNIT},
    {"mul.wide", PG_LIVE_UNIT},
    {"mul.hi", PG_LIVE_UNIT},
    {"div.u32", PG_LIVE_UNIT},
    {"div.s32", PG_LIVE_UNIT},
    {"rem.u32", PG_LIVE_UNIT},
    {"rem.s32", PG_LIVE_UNIT},
    {"mad.lo.s", PG_LIVE_UNIT},
    {"mad.lo.u", PG_LIVE_UNIT},
    {"and.b", PG_LIVE_UNIT},
    {"or.b", PG_LIVE_UNIT},
    {"xor.b", PG_LIVE_UNIT},
    {"not.b", PG_LIVE_UNIT},
    {"selp.b", PG_LIVE_UNIT},
    {"min.s", PG_LIVE_UNIT},
    {"max.s", PG_LIVE_UNIT},
    {"min.u", PG_LIVE_UNIT},
    {"max.u", PG_LIVE_UNIT},
    {"neg.s", PG_LIVE_UNIT},
    {"bfe", PG_LIVE_UNIT},
    {"setp", PG_LIVE_UNIT},
    {"and.pred", PG_LIVE_UNIT},
    {"or.pred", PG_LIVE_UNIT},
};

static uint16_t look_up(pg_str text)
{
    uint16_t what = 0;
    for (size_t i = 0; i < PG_COUNT_OF(words); i++) {
        if (words[i].text[0] == text.ptr[0] && pg_str_starts(text, pg_str_of(words[i].text))) {
            what |= words[i].what;
        }
    }
    return what;
}

static uint16_t look_up_once(memo *memos, pg_str text)
{
    const uint32_t address = (uint32_t)(uintptr_t)text.ptr;
    memo *m = &memos[(address * UINT32_C(2654435761) >> 20) % MEMO];
    if (m->text != text.ptr || m->len != text.len) {
        *m = (memo){text.ptr, text.len, look_up(text)};
    }
    return m->what;
}

/* I1 of live_costs.c */
static bool is_in_constants(const pg_ptx_opnd *o)
{
    return o->kind == PG_PTX_O_INT || o->kind == PG_PTX_O_F32 || o->kind == PG_PTX_O_F64 ||
           o->kind == PG_PTX_O_SYM ||
           (o->kind == PG_PTX_O_SREG && (o->id == PG_PTX_SREG_NTID || o->id == PG_PTX_SREG_NCTAID));
}

static bool is_free(const pg_ptx_func *f, const pg_ptx_stmt *s, uint16_t what, bool *is_param)
{
    if (s->guard.kind != PG_PTX_O_NONE || s->n_ops != 2) {
        return false;
    }
    const pg_ptx_opnd *to = &f->pool.at[s->ops];
    const pg_ptx_opnd *from = &f->pool.at[s->ops + 1];
    const bool is_same = (what & PG_LIVE_SAME) != 0 && from->kind == PG_PTX_O_REG &&
                         from->id < f->regs.n && is_param[from->id];
    if ((what & PG_LIVE_PARAM) != 0 || is_same) {
        if (to->kind == PG_PTX_O_REG && to->id < f->regs.n) {
            is_param[to->id] = true;
        }
        return true;
    }
    return (what & PG_LIVE_COPY) != 0 && is_in_constants(from);
}

/* Of what the uniform unit can do, the same for all threads if its operands are. */
static bool keeps_uniform(const pg_ptx_func *f, const pg_ptx_stmt *s, uint16_t what)
{
    if ((what & (PG_LIVE_UNIT | PG_LIVE_FREE)) == 0 || s->guard.kind != PG_PTX_O_NONE ||
        s->n_ops == 0 || f->pool.at[s->ops].kind != PG_PTX_O_REG) {
        return false;
    }
    const pg_ptx_opnd *from = &f->pool.at[s->ops + s->n_ops - 1];
    return from->kind != PG_PTX_O_SREG || from->id == PG_PTX_SREG_CTAID || is_in_constants(from);
}

pg_status pg_live_classify(pg_live *l)
{
    const pg_ptx_func *f = l->f;
    memo *memos = PG_NEWS(l->arena, memo, MEMO);
    bool *is_param = PG_NEWS(l->arena, bool, f->regs.n + 1); /* by register: a parameter or half */
    l->what = PG_NEWS(l->arena, uint16_t, f->body.n + 1);
    PG_TRY(pg_arena_status(l->arena));
    for (uint32_t i = 0; i < f->body.n; i++) {
        const pg_ptx_stmt *s = &f->body.at[i];
        if (s->kind != PG_PTX_S_INST || s->text.len == 0) {
            l->what[i] = s->kind != PG_PTX_S_INST ? PG_LIVE_FENCE : 0;
            continue;
        }
        uint16_t what = look_up_once(memos, s->text);
        if (is_free(f, s, what, is_param)) {
            what = (uint16_t)((what & ~(uint32_t)PG_LIVE_LOAD) | PG_LIVE_FREE | PG_LIVE_CHEAP);
        }
        if (!keeps_uniform(f, s, what)) {
            what &= (uint16_t) ~(uint32_t)PG_LIVE_UNIT;
        } else {
            what |= PG_LIVE_UNIT;
        }
        l->what[i] = what;
    }
    return PG_OK;
}
