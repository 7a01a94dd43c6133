/* track.c: which statements touch the registers of wgmma. They are few, so that only they pay for
 * being looked at when they run.
 *
 * The first operand is written where the instruction table says so; all other registers, those of
 * addresses included, are read. wgmma itself is not listed: it has rules of its own. */
#include "tools/exec/decode.h"

typedef struct track {
    pe_dec *d;
    uint8_t *is_named; /* by register */
    pg_vec_u32 *refs;  /* NULL: names are being collected */
} track;

/* NOLINTNEXTLINE(misc-no-recursion): PG_PTX_MAX_NEST */
static void add(track *t, const pg_ptx_opnd *o, bool is_write, uint32_t depth)
{
    const pg_ptx_func *pf = t->d->pf;
    if (o->kind == PG_PTX_O_REG) {
        if (o->id >= pf->regs.n || pe_reg_bits(t->d, o) == 1 || pe_reg_bits(t->d, o) > 32) {
            return;
        }
        if (t->refs == NULL) {
            t->is_named[o->id] = 1;
        } else if (t->is_named[o->id] != 0) {
            uint32_t row = t->d->row_of_reg[o->id];
            (void)pg_vec_push(&t->d->m->arena, t->refs, 2 * row + (is_write ? PE_REF_WRITE : 0));
        }
        return;
    }
    bool is_address = o->kind == PG_PTX_O_ADDR || o->kind == PG_PTX_O_TADDR;
    bool has_parts = is_address || o->kind == PG_PTX_O_VEC || o->kind == PG_PTX_O_LIST ||
                     o->kind == PG_PTX_O_PAIR;
    uint32_t n = o->kind == PG_PTX_O_ADDR ? 1 : o->n;
    for (uint32_t k = 0; has_parts && depth < PG_PTX_MAX_NEST && k < n; k++) {
        add(t, &pf->pool.at[o->id + k], is_write && !is_address, depth + 1);
    }
}

static bool is_product(const pg_ptx_stmt *s)
{
    return s->kind == PG_PTX_S_INST && pg_str_starts(s->text, PG_STR("wgmma.mma_async"));
}

/* The statement's source and its first instruction that is not a helper's. */
static void mark(pe_dec *d, uint32_t src, uint32_t refs, uint32_t *pc)
{
    ptxexec_module *m = d->m;
    m->srcs.at[src].refs = refs;
    m->srcs.at[src].n_refs = m->refs.n - refs;
    while (*pc < m->code.n && m->code.at[*pc].src < src) {
        ++*pc;
    }
    for (uint32_t k = *pc; k < m->code.n && m->code.at[k].src == src; k++) {
        if ((m->code.at[k].flags & PE_I_MICRO) == 0) {
            m->code.at[k].flags |= PE_I_TRACKED;
            return;
        }
    }
}

void pe_track_func(pe_dec *d, uint32_t first_src)
{
    const pg_ptx_func *pf = d->pf;
    ptxexec_module *m = d->m;
    track t = {.d = d};
    for (uint32_t k = 0; k < pf->body.n; k++) {
        const pg_ptx_stmt *s = &pf->body.at[k];
        if (!is_product(s) || s->n_ops < 2) {
            continue;
        }
        if (t.is_named == NULL) {
            t.is_named = pe_new(d, 1, (size_t)pf->regs.n + 1);
        }
        for (uint32_t o = 0; t.is_named != NULL && o < 2; o++) {
            add(&t, &pf->pool.at[s->ops + o], false, 0);
        }
    }
    if (t.is_named == NULL) {
        return;
    }
    t.refs = &m->refs;
    uint32_t src = first_src;
    uint32_t pc = d->f->entry_pc;
    for (uint32_t k = 0; k < pf->body.n && !m->arena.is_oom; k++) {
        const pg_ptx_stmt *s = &pf->body.at[k];
        if (s->kind != PG_PTX_S_INST) {
            continue;
        }
        uint32_t refs = m->refs.n;
        char role = pg_isa_rows[s->row].operands[0];
        bool is_written = s->row == PG_ISA_NONE || role == 'd' || role == '?';
        for (uint32_t o = 0; !is_product(s) && o < s->n_ops; o++) {
            add(&t, &pf->pool.at[s->ops + o], o == 0 && is_written, 0);
        }
        if (m->refs.n > refs) {
            mark(d, src, refs, &pc);
        }
        src++;
    }
}
