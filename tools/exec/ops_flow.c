/* ops_flow.c: branches, calls, returns, ends. Lanes that go elsewhere are put aside with their pc;
 * the group goes on with those that stay. */
#include "tools/exec/ops.h"

/* ---- branches
 * ----------------------------------------------------------------------------------------- */

static void leave(pe_warp *w, uint32_t mask, uint32_t pc)
{
    pe_lane there = {pc, w->depth, w->base32, w->base64, w->basep};
    pg_foreach_lane(l, mask)
    {
        w->lane[l] = there;
    }
    w->active &= ~mask;
    w->is_stopped = true;
}

static void bra(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (mask == w->active) {
        w->pc = i->target;
        return;
    }
    leave(w, mask, i->target);
}

static void add_fixup(pe_dec *d, const pg_ptx_opnd *o, uint32_t *where)
{
    pe_fixup x = {.pc = d->m->code.n, .label = o->id, .loc = d->s->loc};
    x.where = where;
    (void)pg_vec_push(&d->m->arena, &d->fixups, x);
}

void pe_dec_bra(pe_dec *d)
{
    (void)pe_take(d, "uni");
    const pg_ptx_opnd *o = pe_arg(d, 0);
    if (o->kind != PG_PTX_O_LABEL) {
        pe_invalid(d, "a label is expected");
        return;
    }
    add_fixup(d, o, NULL);
    pe_emit(d, bra);
}

typedef struct targets {
    uint32_t n;
    uint32_t *at;
} targets;

static void brx(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const targets *t = i->ext;
    const uint32_t *a = pe_src32(w, i->a);
    if (pe_is_poison(w, i, pe_poison32(w, i->a) & mask, PTXEXEC_F_POISON_BRANCH, "the index")) {
        return;
    }
    while (mask != 0) {
        uint32_t index = a[pe_first(mask)];
        uint32_t same = 0;
        pg_foreach_lane(l, mask)
        {
            same |= a[l] == index ? 1u << l : 0;
        }
        if (index >= t->n) {
            pe_fault_at(w, i, PTXEXEC_F_BAD_CALL, (pe_place){.lanes = same},
                        "index %u of %u targets", index, t->n);
            return;
        }
        if (same == w->active) {
            w->pc = t->at[index];
            return;
        }
        leave(w, same, t->at[index]);
        mask &= ~same;
    }
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

/* "... .branchtargets $L1, $L2;" -> labels */
static void read_targets(pe_dec *d, pg_str text, targets *t)
{
    static const char word[] = ".branchtargets";
    size_t k = 0;
    while (k + sizeof word - 1 < text.len && memcmp(text.ptr + k, word, sizeof word - 1) != 0) {
        k++;
    }
    k += sizeof word - 1;
    t->at = pe_new(d, sizeof *t->at, text.len / 2 + 1);
    while (t->at != NULL && k < text.len) {
        while (k < text.len && !is_name_char(text.ptr[k])) {
            k++;
        }
        size_t from = k;
        while (k < text.len && is_name_char(text.ptr[k])) {
            k++;
        }
        pg_str name = pg_str_sub(text, from, k);
        for (uint32_t j = 0; name.len > 0 && j < d->pf->labels.n; j++) {
            if (pg_str_eq(d->pf->labels.at[j], name)) {
                pg_ptx_opnd o = {.kind = PG_PTX_O_LABEL, .id = j};
                add_fixup(d, &o, &t->at[t->n++]);
                break;
            }
        }
    }
}

/* The statement behind the table's label holds the list. */
static pg_str find_table(pe_dec *d, uint32_t label)
{
    for (uint32_t k = 0; k < d->pf->body.n; k++) {
        const pg_ptx_stmt *s = &d->pf->body.at[k];
        if (s->kind == PG_PTX_S_LABEL && s->id == label && k + 1 < d->pf->body.n) {
            return d->pf->body.at[k + 1].text;
        }
    }
    return (pg_str){"", 0};
}

void pe_dec_brx(pe_dec *d)
{
    (void)pe_take(d, "uni");
    bool is_idx = pe_take(d, "idx");
    const pg_ptx_opnd *o = pe_arg(d, 1);
    targets *t = pe_new(d, sizeof *t, 1);
    if (!is_idx || o->kind != PG_PTX_O_LABEL || t == NULL) {
        pe_unsupported(d, "this form");
        return;
    }
    d->i.a = pe_in(d, 0, 32);
    read_targets(d, find_table(d, o->id), t);
    if (t->n == 0) {
        pe_invalid(d, "its .branchtargets list is not there");
        return;
    }
    d->i.ext = t;
    pe_emit(d, brx);
}

/* ---- frames
 * ------------------------------------------------------------------------------------------------
 */

typedef struct frame {
    uint32_t base32, base64, basep, local_base;
} frame;

/* Copies one lane's value between frames. Rows are read and written whole; bytes to the lesser
 * size. */
static void copy_slot(pe_warp *w, uint32_t lane, const frame *from, const pe_slot *a,
                      const frame *to, const pe_slot *b)
{
    uint64_t value = 0;
    bool is_poison = false;
    uint32_t bit = 1u << lane;
    size_t column = (size_t)lane * w->local_cap - PE_LOCAL_START;
    if (!a->is_reg && !b->is_reg) {
        uint32_t size = a->size < b->size ? a->size : b->size;
        size_t src = column + from->local_base + a->offset;
        size_t dst = column + to->local_base + b->offset;
        memmove(w->local + dst, w->local + src, size);
        memmove(w->local_poison + dst, w->local_poison + src, size);
        return;
    }
    if (!a->is_reg) {
        uint32_t size = a->size < 8 ? a->size : 8;
        size_t src = column + from->local_base + a->offset;
        memcpy(&value, w->local + src, size);
        is_poison = memchr(w->local_poison + src, 1, size) != NULL;
    } else if ((a->row & PE_CONST) != 0) {
        value = a->bits == 64 ? w->c64[(size_t)(a->row & ~PE_CONST) * PE_LANES]
                              : w->c32[(size_t)(a->row & ~PE_CONST) * PE_LANES];
    } else if (a->bits == 64) {
        value = w->r64[(size_t)(from->base64 + a->row) * PE_LANES + lane];
        is_poison = (w->q64[from->base64 + a->row] & bit) != 0;
    } else if (a->bits == 1) {
        value = w->rp[from->basep + a->row] >> lane & 1u;
        is_poison = (w->qp[from->basep + a->row] & bit) != 0;
    } else {
        value = w->r32[(size_t)(from->base32 + a->row) * PE_LANES + lane];
        is_poison = (w->q32[from->base32 + a->row] & bit) != 0;
    }
    uint32_t *q = NULL;
    if (!b->is_reg) {
        uint32_t size = b->size < 8 ? b->size : 8;
        size_t dst = column + to->local_base + b->offset;
        memcpy(w->local + dst, &value, size);
        memset(w->local_poison + dst, is_poison ? 1 : 0, size);
        return;
    }
    if (b->bits == 64) {
        w->r64[(size_t)(to->base64 + b->row) * PE_LANES + lane] = value;
        uint64_t *halves = &w->q64[to->base64 + b->row];
        *halves = is_poison ? *halves | pe_whole64(bit) : *halves & ~pe_whole64(bit);
        return;
    }
    if (b->bits == 1) {
        uint32_t *p = &w->rp[to->basep + b->row];
        *p = (value & 1) != 0 ? *p | bit : *p & ~bit;
        q = &w->qp[to->basep + b->row];
    } else {
        w->r32[(size_t)(to->base32 + b->row) * PE_LANES + lane] = (uint32_t)value;
        q = &w->q32[to->base32 + b->row];
    }
    *q = is_poison ? *q | bit : *q & ~bit;
}

static bool reserve_returns(pe_warp *w, uint32_t depth)
{
    if (depth < w->returns_cap) {
        return true;
    }
    pg_alloc alloc = w->cta->worker->alloc;
    uint32_t cap = w->returns_cap == 0 ? 4 : w->returns_cap * 2;
    pe_return *grown =
        alloc.resize(alloc.user, w->returns, (size_t)w->returns_cap * PE_LANES * sizeof *grown,
                     (size_t)cap * PE_LANES * sizeof *grown);
    if (grown == NULL) {
        w->cta->worker->is_oom = true;
        w->is_stopped = true;
        return false;
    }
    w->returns = grown;
    w->returns_cap = cap;
    return true;
}

/* Registers and local memory of a new frame are uninitialised again, whoever used them before. */
static void clean_frame(pe_warp *w, const pe_func *f, const frame *to, uint32_t mask)
{
    for (uint32_t k = 0; k < f->n32; k++) {
        w->q32[to->base32 + k] |= mask;
    }
    for (uint32_t k = 0; k < f->n64; k++) {
        w->q64[to->base64 + k] |= pe_whole64(mask);
    }
    for (uint32_t k = 0; k < f->np; k++) {
        w->qp[to->basep + k] |= mask;
    }
}

static void enter(pe_warp *w, const pe_inst *i, uint32_t mask, const pe_call *call,
                  const pe_func *callee)
{
    const pe_func *caller = w->func[pe_first(mask)];
    uint32_t most_local = 0;
    frame from = {w->base32, w->base64, w->basep, 0};
    frame to = {w->base32 + caller->n32, w->base64 + caller->n64, w->basep + caller->np, 0};
    pg_foreach_lane(l, mask)
    {
        uint32_t align = callee->local_align;
        uint32_t top = ((w->local_top[l] + align - 1) & ~(align - 1)) + callee->local_size;
        most_local = top > most_local ? top : most_local;
    }
    if (w->depth + 1 >= PE_MAX_DEPTH || most_local > PE_LOCAL_MAX) {
        pe_fault_at(w, i, PTXEXEC_F_STACK, (pe_place){.lanes = mask},
                    "%u calls deep with %u bytes of local memory", w->depth + 1, most_local);
        return;
    }
    if (!reserve_returns(w, w->depth) || !pe_local_reserve(w, most_local) ||
        !pe_rows_reserve(w, to.base32 + callee->n32, to.base64 + callee->n64,
                         to.basep + callee->np)) {
        w->is_stopped = true;
        return;
    }
    clean_frame(w, callee, &to, mask);
    pg_foreach_lane(l, mask)
    {
        uint32_t align = callee->local_align;
        from.local_base = w->local_base[l];
        to.local_base = (w->local_top[l] + align - 1) & ~(align - 1);
        w->returns[(size_t)w->depth * PE_LANES + l] = (pe_return){
            w->pc, w->base32, w->base64, w->basep, w->local_base[l], w->local_top[l], call, caller};
        w->local_base[l] = to.local_base;
        w->local_top[l] = to.local_base + callee->local_size;
        memset(w->local_poison + (size_t)l * w->local_cap + to.local_base - PE_LOCAL_START, 1,
               callee->local_size);
        w->func[l] = callee;
        for (uint32_t k = 0; k < call->n_args; k++) {
            copy_slot(w, l, &from, &call->args[k], &to, &callee->params[k]);
        }
        w->lane[l] = (pe_lane){callee->entry_pc, w->depth + 1, to.base32, to.base64, to.basep};
    }
    w->active &= ~mask;
    w->is_stopped = true;
}

static void call_direct(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const pe_call *call = i->ext;
    if (call->callee->builtin != PE_BUILTIN_NONE) {
        pe_builtin_call(w, i, call, call->callee->builtin, mask);
        return;
    }
    enter(w, i, mask, call, call->callee);
}

static void call_indirect(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const ptxexec_module *m = w->cta->launch->m;
    const pe_call *call = i->ext;
    uint64_t a[PE_LANES];
    memcpy(a, pe_src64(w, i->a), sizeof a);
    if (pe_is_poison(w, i, pe_poison64(w, i->a) & mask, PTXEXEC_F_POISON_BRANCH,
                     "the function's address")) {
        return;
    }
    while (mask != 0 && !w->cta->is_failed) {
        uint64_t address = a[pe_first(mask)];
        uint32_t same = 0;
        pg_foreach_lane(l, mask)
        {
            same |= a[l] == address ? 1u << l : 0;
        }
        uint64_t index = (address - PE_FUNC_WINDOW) / 16;
        const pe_func *f = index < m->funcs.n && address % 16 == 0 ? m->funcs.at[index] : NULL;
        if (f == NULL || f->entry_pc == UINT32_MAX || f->is_entry || f->n_params != call->n_args ||
            f->n_returns != call->n_rets) {
            pe_fault_at(w, i, PTXEXEC_F_BAD_CALL, (pe_place){.lanes = same, .address = address},
                        "0x%llx is not a function with %u parameters and %u results",
                        (unsigned long long)address, call->n_args, call->n_rets);
            return;
        }
        enter(w, i, same, call, f);
        mask &= ~same;
    }
}

/* ---- decoding calls
 * ------------------------------------------------------------------------------------------ */

static pe_slot *take_slots(pe_dec *d, const pg_ptx_opnd *list, uint32_t *out_n, bool is_result)
{
    *out_n = list->n;
    pe_slot *slots = pe_new(d, sizeof *slots, (size_t)list->n + 1);
    for (uint32_t k = 0; slots != NULL && k < list->n; k++) {
        const pg_ptx_opnd *o = &d->pf->pool.at[list->id + k];
        if (o->kind == PG_PTX_O_SYM && d->local_at[o->id] != UINT32_MAX) {
            slots[k].offset = d->local_at[o->id];
            slots[k].size = (uint32_t)pe_sym_size(&d->m->ptx->syms.at[o->id]);
            continue;
        }
        slots[k].is_reg = 1;
        slots[k].bits = o->kind == PG_PTX_O_REG ? pe_reg_bits(d, o) : 64;
        if (slots[k].bits == 128) {
            pe_unsupported(d, "a register of 128 bits");
            return NULL;
        }
        slots[k].row =
            is_result ? pe_out_opnd(d, o, slots[k].bits) : pe_in_opnd(d, o, slots[k].bits);
    }
    return slots;
}

static const pe_func *direct_callee(pe_dec *d, const pg_ptx_opnd *o, const pe_call *call)
{
    const pg_ptx_sym *s = &d->m->ptx->syms.at[o->id];
    pe_func *f =
        s->kind == PG_PTX_SYM_FUNC && s->func < d->m->funcs.n ? d->m->funcs.at[s->func] : NULL;
    if (f == NULL || (!f->ptx->has_body && f->builtin == PE_BUILTIN_NONE)) {
        pe_unsupported(d, "a function without a body");
        return NULL;
    }
    if (f->is_entry || f->ptx->params.n != call->n_args || f->ptx->returns.n != call->n_rets) {
        pe_invalid(d, "arguments or results do not match the function's");
        return NULL;
    }
    (void)pg_vec_push(&d->m->arena, &d->f->uses, o->id);
    return f;
}

void pe_dec_call(pe_dec *d)
{
    (void)pe_take(d, "uni");
    pe_call *call = pe_new(d, sizeof *call, 1);
    uint32_t k = 0;
    if (call == NULL) {
        return;
    }
    if (pe_arg(d, k)->kind == PG_PTX_O_LIST) {
        call->rets = take_slots(d, pe_arg(d, k++), &call->n_rets, true);
    }
    const pg_ptx_opnd *target = pe_arg(d, k++);
    if (k < pe_n_args(d) && pe_arg(d, k)->kind == PG_PTX_O_LIST) {
        call->args = take_slots(d, pe_arg(d, k++), &call->n_args, false);
    }
    d->i.ext = call;
    if (target->kind == PG_PTX_O_SYM) {
        call->callee = direct_callee(d, target, call);
        pe_emit(d, call_direct);
        return;
    }
    d->i.a = pe_in_opnd(d, target, 64);
    d->f->has_indirect = true;
    pe_emit(d, call_indirect);
}

/* ---- ends
 * ------------------------------------------------------------------------------------------------------
 */

static void ret(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    (void)i;
    if (w->depth == 0) {
        pe_lanes_exit(w, mask);
        return;
    }
    const pe_func *f = w->func[pe_first(mask)];
    frame from = {w->base32, w->base64, w->basep, 0};
    pg_foreach_lane(l, mask)
    {
        const pe_return *r = &w->returns[(size_t)(w->depth - 1) * PE_LANES + l];
        frame to = {r->base32, r->base64, r->basep, r->local_base};
        from.local_base = w->local_base[l];
        for (uint32_t k = 0; k < r->call->n_rets; k++) {
            copy_slot(w, l, &from, &f->returns[k], &to, &r->call->rets[k]);
        }
        w->local_base[l] = r->local_base;
        w->local_top[l] = r->local_top;
        w->func[l] = r->func;
        w->lane[l] = (pe_lane){r->pc, w->depth - 1, r->base32, r->base64, r->basep};
    }
    w->active &= ~mask;
    w->is_stopped = true;
}

static void do_exit(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    (void)i;
    pe_lanes_exit(w, mask);
}

static void trap(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    pe_fault_at(w, i, PTXEXEC_F_TRAP, (pe_place){.lanes = mask}, "the kernel executed trap");
}

void pe_dec_ret(pe_dec *d)
{
    (void)pe_take(d, "uni");
    pe_emit(d, ret);
}

void pe_dec_exit(pe_dec *d)
{
    pe_emit(d, do_exit);
}
void pe_dec_trap(pe_dec *d)
{
    pe_emit(d, trap);
}
