/* module.c: loading a module and the questions that a caller may ask of it. */
#include "tools/exec/decode.h"

uint32_t ptxexec_version(void)
{
    return 100;
}

const char *ptxexec_status_text(ptxexec_status status)
{
    static const char *const texts[] = {"ok",      "out of memory",   "not PTX",
                                        "invalid", "unsupported",     "resource",
                                        "misuse",  "internal defect", "fault"};
    return (size_t)status < PG_COUNT_OF(texts) ? texts[status] : "unknown status";
}

pg_alloc pe_alloc_of(const ptxexec_allocator *alloc_or_null)
{
    return alloc_or_null == NULL
               ? pg_alloc_default()
               : (pg_alloc){.user = alloc_or_null->user, .resize = alloc_or_null->resize};
}

bool pe_alloc_is_good(const ptxexec_allocator *alloc_or_null)
{
    return alloc_or_null == NULL || alloc_or_null->resize != NULL;
}

ptxexec_diag pe_diag_out(const pg_diags *diags, size_t index)
{
    ptxexec_diag out = {.message = "", .help = ""};
    if (diags == NULL || index >= diags->n) {
        return out;
    }
    const pg_diag *d = &diags->at[index];
    out.number = pg_diag_infos[d->id].number;
    out.severity = d->severity == PG_SEV_NOTE      ? PTXEXEC_NOTE
                   : d->severity == PG_SEV_WARNING ? PTXEXEC_WARNING
                                                   : PTXEXEC_ERROR;
    out.line = d->loc.line;
    out.column = d->loc.column;
    out.message = d->message.ptr != NULL ? d->message.ptr : "";
    out.help = d->help.ptr != NULL ? d->help.ptr : "";
    return out;
}

/* Constants become rows of equal lanes, so that handlers need not ask what an operand is. */
static void fill_pools(ptxexec_module *m)
{
    m->pool32 = PG_NEWS(&m->arena, uint32_t, ((size_t)m->c32.n + 1) * PE_LANES);
    m->pool64 = PG_NEWS(&m->arena, uint64_t, ((size_t)m->c64.n + 1) * PE_LANES);
    if (m->pool32 == NULL || m->pool64 == NULL) {
        return;
    }
    for (uint32_t k = 0; k < m->c32.n * PE_LANES; k++) {
        m->pool32[k] = m->c32.at[k / PE_LANES];
    }
    for (uint32_t k = 0; k < m->c64.n * PE_LANES; k++) {
        m->pool64[k] = m->c64.at[k / PE_LANES];
    }
}

static pg_status load(ptxexec_module *m, pg_str text)
{
    PG_TRY(pg_ptx_read(&m->arena, text, &m->diags, &m->ptx));
    pe_layout_module(m);
    PG_TRY(pg_diags_status(&m->diags));
    pe_decode_module(m);
    PG_TRY(pg_diags_status(&m->diags));
    pe_layout_shared(m);
    pe_read_sources(m);
    m->target = pg_arena_str(&m->arena, m->ptx->target).ptr;
    fill_pools(m);
    m->id = pg_hash(text.ptr, text.len);
    return pg_diags_status(&m->diags);
}

/* The caller's allocator, remembering refusals: whatever was made of one, the status is out of
 * memory. */
static void *noting_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    ptxexec_module *m = user;
    void *p = m->alloc.resize(m->alloc.user, block, old_size, new_size);
    m->has_failed_alloc = m->has_failed_alloc || (p == NULL && new_size != 0);
    return p;
}

ptxexec_status ptxexec_module_load(const ptxexec_allocator *alloc_or_null, const char *text,
                                   size_t size, ptxexec_module **out)
{
    if (out == NULL) {
        return PTXEXEC_E_MISUSE;
    }
    *out = NULL;
    if ((text == NULL && size > 0) || !pe_alloc_is_good(alloc_or_null)) {
        return PTXEXEC_E_MISUSE;
    }
    pg_alloc alloc = pe_alloc_of(alloc_or_null);
    ptxexec_module *m = alloc.resize(alloc.user, NULL, 0, sizeof *m);
    if (m == NULL) {
        return PTXEXEC_E_NOMEM;
    }
    *m = (ptxexec_module){.alloc = alloc};
    pg_alloc noting = {.user = m, .resize = noting_resize};
    pg_arena_init(&m->arena, noting);
    pg_diags_init(&m->diags, &m->arena, noting);
    pg_map_init(&m->opcode_ids, &m->arena);
    pg_map_init(&m->c32_ids, &m->arena);
    pg_map_init(&m->c64_ids, &m->arena);
    pg_status status = load(m, (pg_str){text, size});
    if (m->has_failed_alloc) {
        status = PG_E_NOMEM;
    }
    if (status != PG_OK) {
        m->entries.n = 0;
    }
    pg_diags_sort(&m->diags);
    *out = m;
    return (ptxexec_status)status;
}

void ptxexec_module_destroy(ptxexec_module *m_or_null)
{
    if (m_or_null == NULL) {
        return;
    }
    pg_alloc alloc = m_or_null->alloc;
    pg_arena_fini(&m_or_null->arena);
    alloc.resize(alloc.user, m_or_null, sizeof *m_or_null, 0);
}

size_t ptxexec_module_diag_count(const ptxexec_module *m)
{
    return m == NULL ? 0 : m->diags.n;
}

ptxexec_diag ptxexec_module_diag(const ptxexec_module *m, size_t index)
{
    return pe_diag_out(m == NULL ? NULL : &m->diags, index);
}

const char *ptxexec_module_target(const ptxexec_module *m)
{
    return m != NULL && m->target != NULL ? m->target : "";
}

size_t ptxexec_module_entry_count(const ptxexec_module *m)
{
    return m == NULL ? 0 : m->entries.n;
}

ptxexec_status ptxexec_module_entry(const ptxexec_module *m, size_t index, ptxexec_entry *out)
{
    if (m == NULL || out == NULL || index >= m->entries.n) {
        return PTXEXEC_E_MISUSE;
    }
    const pe_func *f = m->funcs.at[m->entries.at[index]];
    *out = (ptxexec_entry){.name = f->c_name,
                           .n_params = f->ptx->params.n,
                           .param_size = f->param_size,
                           .static_shared = f->shared_size,
                           .local_size = f->local_size,
                           .line = m->ptx->syms.at[f->ptx->sym].loc.line};
    memcpy(out->reqntid, f->reqntid, sizeof out->reqntid);
    memcpy(out->maxntid, f->maxntid, sizeof out->maxntid);
    memcpy(out->reqnctapercluster, f->reqcluster, sizeof out->reqnctapercluster);
    return PTXEXEC_OK;
}

ptxexec_status ptxexec_module_find(const ptxexec_module *m, const char *name_or_null, size_t *out)
{
    if (m == NULL || out == NULL) {
        return PTXEXEC_E_MISUSE;
    }
    if (name_or_null == NULL) {
        *out = 0;
        return m->entries.n == 1 ? PTXEXEC_OK : PTXEXEC_E_MISUSE;
    }
    for (uint32_t k = 0; k < m->entries.n; k++) {
        if (pg_str_is(m->funcs.at[m->entries.at[k]]->name, name_or_null)) {
            *out = k;
            return PTXEXEC_OK;
        }
    }
    return PTXEXEC_E_MISUSE;
}

ptxexec_status ptxexec_module_param(const ptxexec_module *m, size_t entry, size_t index,
                                    ptxexec_param *out)
{
    if (m == NULL || out == NULL || entry >= m->entries.n) {
        return PTXEXEC_E_MISUSE;
    }
    const pe_func *f = m->funcs.at[m->entries.at[entry]];
    if (index >= f->ptx->params.n) {
        return PTXEXEC_E_MISUSE;
    }
    const pg_ptx_sym *s = &m->ptx->syms.at[f->ptx->params.at[index]];
    *out = (ptxexec_param){.name = f->param_names[index],
                           .type = pg_ptx_type_infos[s->type].text,
                           .offset = f->param_offsets[index],
                           .size = (uint32_t)pe_sym_size(s),
                           .align = pe_sym_align(s),
                           .is_array = s->is_array ? 1 : 0};
    return PTXEXEC_OK;
}
