/* layout.c: where variables and parameters stand: images of .global and .const variables, an
 * entry's parameter block and shared memory, a function's frame in local memory. */
#include "tools/exec/decode.h"

uint64_t pe_sym_size(const pg_ptx_sym *s)
{
    uint64_t elem = (pe_type_bits((pg_ptx_type)s->type) + 7) / 8;
    elem *= s->vec > 1 ? s->vec : 1u;
    return s->is_array ? s->n_elems * elem : elem;
}

uint32_t pe_sym_align(const pg_ptx_sym *s)
{
    uint32_t natural = (pe_type_bits((pg_ptx_type)s->type) + 7) / 8 * (s->vec > 1 ? s->vec : 1u);
    uint32_t align = s->align > natural ? s->align : s->align != 0 ? s->align : natural;
    return pg_is_pow2(align) ? align : 1;
}

static uint64_t align_up(uint64_t x, uint64_t align)
{
    return (x + align - 1) & ~(align - 1);
}

/* ---- module variables ---------------------------------------------------------------------------
 */

static bool place_variables(ptxexec_module *m, pg_ptx_space space, uint64_t start, uint64_t limit,
                            uint32_t *out_size)
{
    uint64_t at = start;
    for (uint32_t k = 0; k < m->ptx->syms.n; k++) {
        const pg_ptx_sym *s = &m->ptx->syms.at[k];
        if (s->kind != PG_PTX_SYM_VAR || s->space != space || (s->linkage & PG_PTX_L_EXTERN) != 0) {
            continue;
        }
        uint64_t size = pe_sym_size(s);
        at = align_up(at, pe_sym_align(s));
        m->sym_at[k] = at;
        uint64_t end = at + size;
        if (size > limit || end > limit) {
            (void)pg_diag_add(&m->diags, PG_D_EXEC_NO_MEMORY, s->loc,
                              space == PG_PTX_SP_CONST ? ".const variables" : ".global variables",
                              (unsigned long long)end, (unsigned long long)limit);
            return false;
        }
        at = end;
    }
    *out_size = (uint32_t)at;
    return true;
}

static void copy_initialisers(ptxexec_module *m)
{
    for (uint32_t k = 0; k < m->ptx->syms.n; k++) {
        const pg_ptx_sym *s = &m->ptx->syms.at[k];
        if (s->kind != PG_PTX_SYM_VAR || s->init_bytes == NULL || m->sym_at[k] == UINT64_MAX) {
            continue;
        }
        uint8_t *to = s->space == PG_PTX_SP_CONST ? m->consts : m->image;
        memcpy(to + m->sym_at[k], s->init_bytes, (size_t)pe_sym_size(s));
    }
}

static bool parse_three(pg_str text, uint32_t out[3])
{
    uint32_t n = 0;
    size_t k = 0;
    while (k < text.len && n < 3) {
        while (k < text.len && (text.ptr[k] < '0' || text.ptr[k] > '9')) {
            k++;
        }
        size_t from = k;
        while (k < text.len && text.ptr[k] >= '0' && text.ptr[k] <= '9') {
            k++;
        }
        uint64_t x = 0;
        if (k == from || !pg_parse_u64(pg_str_sub(text, from, k), &x) || x > UINT32_MAX) {
            break;
        }
        out[n++] = (uint32_t)x;
    }
    for (uint32_t j = n; j < 3 && n > 0; j++) {
        out[j] = 1;
    }
    return n > 0;
}

static void read_directives(pe_func *f)
{
    for (uint32_t k = 0; k < f->ptx->directives.n; k++) {
        pg_str text = f->ptx->directives.at[k];
        uint32_t one[3] = {0};
        if (pg_str_starts(text, PG_STR(".reqntid"))) {
            (void)parse_three(text, f->reqntid);
        } else if (pg_str_starts(text, PG_STR(".maxntid"))) {
            (void)parse_three(text, f->maxntid);
        } else if (pg_str_starts(text, PG_STR(".reqnctapercluster"))) {
            (void)parse_three(text, f->reqcluster);
        } else if (pg_str_starts(text, PG_STR(".maxnreg"))) {
            f->maxnreg = parse_three(text, one) ? one[0] : 0;
        } else if (pg_str_starts(text, PG_STR(".minnctapersm"))) {
            f->minnctapersm = parse_three(text, one) ? one[0] : 0;
        }
    }
}

static uint32_t builtin_of(pg_str name)
{
    return pg_str_is(name, "vprintf")        ? PE_BUILTIN_VPRINTF
           : pg_str_is(name, "__assertfail") ? PE_BUILTIN_ASSERTFAIL
           : pg_str_is(name, "malloc")       ? PE_BUILTIN_MALLOC
           : pg_str_is(name, "free")         ? PE_BUILTIN_FREE
                                             : PE_BUILTIN_NONE;
}

void pe_layout_module(ptxexec_module *m)
{
    m->sym_at = PG_NEWS(&m->arena, uint64_t, (size_t)m->ptx->syms.n + 1);
    if (m->sym_at == NULL) {
        return;
    }
    for (uint32_t k = 0; k < m->ptx->syms.n; k++) {
        m->sym_at[k] = UINT64_MAX;
    }
    if (!place_variables(m, PG_PTX_SP_GLOBAL, 0, UINT64_C(1) << 30, &m->image_size) ||
        !place_variables(m, PG_PTX_SP_CONST, PE_CONST_START, UINT64_C(655360), &m->const_size)) {
        return;
    }
    m->image = PG_NEWS(&m->arena, uint8_t, (size_t)m->image_size + 1);
    m->consts = PG_NEWS(&m->arena, uint8_t, (size_t)m->const_size + 1);
    if (m->image == NULL || m->consts == NULL) {
        return;
    }
    copy_initialisers(m);
    for (uint32_t k = 0; k < m->ptx->funcs.n; k++) {
        pe_func *f = PG_NEW(&m->arena, pe_func);
        if (f == NULL || !pg_vec_push(&m->arena, &m->funcs, f)) {
            return;
        }
        f->ptx = m->ptx->funcs.at[k];
        f->index = k;
        f->name = m->ptx->syms.at[f->ptx->sym].name;
        f->entry_pc = UINT32_MAX;
        f->is_entry = f->ptx->is_entry;
        f->builtin = f->ptx->has_body ? PE_BUILTIN_NONE : builtin_of(f->name);
        /* CTAs share the heap: one interleaving, so that addresses do not depend on host threads.
         */
        m->has_global_sync =
            m->has_global_sync || f->builtin == PE_BUILTIN_MALLOC || f->builtin == PE_BUILTIN_FREE;
        if (f->is_entry && f->ptx->has_body) {
            read_directives(f);
            (void)pg_vec_push(&m->arena, &m->entries, k);
        }
    }
}

/* ---- parameters
 * ----------------------------------------------------------------------------------- */

void pe_layout_params(ptxexec_module *m, pe_func *f, uint32_t *param_at)
{
    uint64_t at = 0;
    f->c_name = pg_arena_str(&m->arena, f->name).ptr;
    f->param_names = PG_NEWS(&m->arena, const char *, (size_t)f->ptx->params.n + 1);
    f->param_offsets = PG_NEWS(&m->arena, uint32_t, (size_t)f->ptx->params.n + 1);
    for (uint32_t k = 0; !m->arena.is_oom && k < f->ptx->params.n; k++) {
        uint32_t id = f->ptx->params.at[k];
        const pg_ptx_sym *s = &m->ptx->syms.at[id];
        at = align_up(at, pe_sym_align(s));
        param_at[id] = (uint32_t)at;
        f->param_offsets[k] = (uint32_t)at;
        f->param_names[k] = pg_arena_str(&m->arena, s->name).ptr;
        at += pe_sym_size(s);
        if (at > 32764) {
            (void)pg_diag_add(&m->diags, PG_D_EXEC_NO_MEMORY, s->loc, "kernel parameters",
                              (unsigned long long)at, 32764ULL);
            return;
        }
    }
    f->param_size = (uint32_t)at;
}

static uint32_t place_local(pe_func *f, const pg_ptx_sym *s)
{
    uint32_t align = pe_sym_align(s);
    f->local_align = align > f->local_align ? align : f->local_align;
    uint64_t at = align_up(f->local_size, align);
    uint64_t size = pe_sym_size(s);
    if (size > PE_LOCAL_MAX || at + size > PE_LOCAL_MAX) {
        return UINT32_MAX;
    }
    f->local_size = (uint32_t)(at + size);
    return (uint32_t)at;
}

static pe_slot formal_slot(ptxexec_module *m, pe_func *f, uint32_t id, uint32_t *local_at,
                           const uint32_t *rows)
{
    const pg_ptx_sym *s = &m->ptx->syms.at[id];
    pe_slot slot = {.bits = pe_type_bits((pg_ptx_type)s->type)};
    if (s->space == PG_PTX_SP_REG) {
        slot.is_reg = 1;
        slot.row = PE_NONE;
        for (uint32_t k = 0; k < f->ptx->regs.n; k++) {
            if (pg_str_eq(f->ptx->regs.at[k].name, s->name)) {
                slot.row = rows[k];
                break;
            }
        }
        if (slot.row == PE_NONE) {
            (void)pg_diag_add(&m->diags, PG_D_EXEC_UNSUPPORTED, s->loc, PG_STR_ARG(f->name),
                              "parameters in registers that the body does not declare");
        }
        return slot;
    }
    slot.size = (uint32_t)pe_sym_size(s);
    slot.offset = place_local(f, s);
    local_at[id] = slot.offset;
    return slot;
}

void pe_layout_frame(ptxexec_module *m, pe_func *f, uint32_t *local_at, const uint32_t *rows)
{
    const pg_ptx_func *pf = f->ptx;
    f->local_align = 16;
    if (!f->is_entry) {
        f->n_params = pf->params.n;
        f->n_returns = pf->returns.n;
        f->params = PG_NEWS(&m->arena, pe_slot, (size_t)pf->params.n + 1);
        f->returns = PG_NEWS(&m->arena, pe_slot, (size_t)pf->returns.n + 1);
        if (f->params == NULL || f->returns == NULL) {
            return;
        }
        for (uint32_t k = 0; k < pf->params.n; k++) {
            f->params[k] = formal_slot(m, f, pf->params.at[k], local_at, rows);
        }
        for (uint32_t k = 0; k < pf->returns.n; k++) {
            f->returns[k] = formal_slot(m, f, pf->returns.at[k], local_at, rows);
        }
    }
    for (uint32_t k = 0; k < pf->body.n; k++) {
        const pg_ptx_stmt *st = &pf->body.at[k];
        if (st->kind != PG_PTX_S_VAR || st->id >= m->ptx->syms.n) {
            continue;
        }
        const pg_ptx_sym *s = &m->ptx->syms.at[st->id];
        if (s->space == PG_PTX_SP_LOCAL || s->space == PG_PTX_SP_PARAM) {
            local_at[st->id] = place_local(f, s);
            if (local_at[st->id] == UINT32_MAX) {
                (void)pg_diag_add(
                    &m->diags, PG_D_EXEC_NO_MEMORY, s->loc, ".local variables of a function",
                    (unsigned long long)pe_sym_size(s), (unsigned long long)PE_LOCAL_MAX);
            }
        }
    }
}

/* ---- shared memory
 * ----------------------------------------------------------------------------------- */

typedef struct reach {
    ptxexec_module *m;
    bool *is_seen;
    uint32_t *shared_at;
    pg_vec_u32 todo;
} reach;

static void reach_func(reach *r, uint32_t index)
{
    if (index < r->m->funcs.n && !r->is_seen[index]) {
        r->is_seen[index] = true;
        (void)pg_vec_push(&r->m->arena, &r->todo, index);
    }
}

/* Marks the shared variables and functions that one body names. */
static void reach_body(reach *r, const pe_func *f)
{
    for (uint32_t k = 0; k < f->uses.n; k++) {
        const pg_ptx_sym *s = &r->m->ptx->syms.at[f->uses.at[k]];
        if (s->kind == PG_PTX_SYM_FUNC) {
            reach_func(r, s->func);
        } else if (s->kind == PG_PTX_SYM_VAR && s->space == PG_PTX_SP_SHARED) {
            r->shared_at[f->uses.at[k]] = 0;
        }
    }
    for (uint32_t k = 0; f->has_indirect && k < r->m->funcs.n; k++) {
        if (!r->m->funcs.at[k]->is_entry) {
            reach_func(r, k);
        }
    }
}

static void layout_entry_shared(ptxexec_module *m, pe_func *f)
{
    uint32_t n_syms = m->ptx->syms.n;
    reach r = {.m = m,
               .is_seen = PG_NEWS(&m->arena, bool, (size_t)m->funcs.n + 1),
               .shared_at = PG_NEWS(&m->arena, uint32_t, (size_t)n_syms + 1)};
    if (r.is_seen == NULL || r.shared_at == NULL) {
        return;
    }
    for (uint32_t k = 0; k < n_syms; k++) {
        r.shared_at[k] = UINT32_MAX;
    }
    reach_func(&r, f->index);
    for (uint32_t k = 0; k < r.todo.n; k++) {
        reach_body(&r, m->funcs.at[r.todo.at[k]]);
    }
    uint64_t at = PE_SHARED_START;
    f->dynamic_align = 16;
    for (uint32_t k = 0; k < n_syms; k++) {
        const pg_ptx_sym *s = &m->ptx->syms.at[k];
        bool is_dynamic = (s->linkage & PG_PTX_L_EXTERN) != 0;
        if (r.shared_at[k] == UINT32_MAX) {
            continue;
        }
        uint32_t align = pe_sym_align(s);
        if (is_dynamic) {
            f->dynamic_align = align > f->dynamic_align ? align : f->dynamic_align;
            continue;
        }
        at = align_up(at, align);
        r.shared_at[k] = (uint32_t)at;
        at += pe_sym_size(s);
        if (at > PE_SHARED_START + PE_SHARED_MAX) {
            (void)pg_diag_add(&m->diags, PG_D_EXEC_NO_MEMORY, s->loc, ".shared variables",
                              (unsigned long long)(at - PE_SHARED_START),
                              (unsigned long long)PE_SHARED_MAX);
            return;
        }
    }
    f->shared_size = (uint32_t)(at - PE_SHARED_START);
    at = align_up(at, f->dynamic_align);
    for (uint32_t k = 0; k < n_syms; k++) {
        if (r.shared_at[k] != UINT32_MAX && (m->ptx->syms.at[k].linkage & PG_PTX_L_EXTERN) != 0) {
            r.shared_at[k] = (uint32_t)at; /* all dynamic arrays alias */
        }
    }
    f->shared_at = r.shared_at;
}

void pe_layout_shared(ptxexec_module *m)
{
    for (uint32_t k = 0; k < m->entries.n && !m->arena.is_oom; k++) {
        layout_entry_shared(m, m->funcs.at[m->entries.at[k]]);
    }
}
