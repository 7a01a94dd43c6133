/* device.c: arrays in device memory: addresses, guard zones, poison, instances of .global
 * variables. */
#include "tools/exec/decode.h"

static void *grow(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

ptxexec_status ptxexec_device_create(const ptxexec_allocator *alloc_or_null, ptxexec_device **out)
{
    if (out == NULL) {
        return PTXEXEC_E_MISUSE;
    }
    *out = NULL;
    if (!pe_alloc_is_good(alloc_or_null)) {
        return PTXEXEC_E_MISUSE;
    }
    pg_alloc alloc = pe_alloc_of(alloc_or_null);
    ptxexec_device *d = grow(alloc, NULL, 0, sizeof *d);
    if (d == NULL) {
        return PTXEXEC_E_NOMEM;
    }
    *d = (ptxexec_device){.alloc = alloc, .next = PE_GLOBAL_START + PE_REGION_ALIGN};
    *out = d;
    return PTXEXEC_OK;
}

static void free_bytes(ptxexec_device *d, pe_region *r)
{
    if (r->data != NULL) {
        grow(d->alloc, r->data, (size_t)r->size * 2 + 2, 0);
        r->data = NULL;
    }
}

void pe_region_drop(ptxexec_device *d, pe_region *r)
{
    free_bytes(d, r);
}

static void free_region(ptxexec_device *d, pe_region *r)
{
    free_bytes(d, r);
    if (r->label != NULL) {
        grow(d->alloc, r->label_owned, strlen(r->label) + 1, 0);
    }
    grow(d->alloc, r, sizeof *r, 0);
}

void ptxexec_device_destroy(ptxexec_device *d_or_null)
{
    ptxexec_device *d = d_or_null;
    if (d == NULL) {
        return;
    }
    for (uint32_t k = 0; k < d->n; k++) {
        free_region(d, d->regions[k]);
    }
    for (uint32_t k = 0; k < d->n_instances; k++) {
        grow(d->alloc, d->instances[k].sym_at,
             sizeof(uint64_t) * (d->instances[k].n_syms + (size_t)1), 0);
    }
    grow(d->alloc, d->regions, sizeof *d->regions * d->cap, 0);
    grow(d->alloc, d->instances, sizeof *d->instances * d->cap_instances, 0);
    grow(d->alloc, d, sizeof *d, 0);
}

static pe_region *new_region(ptxexec_device *d, uint64_t size, const char *label)
{
    size_t bytes = 0;
    if (size > SIZE_MAX / 4 || !pg_size_mul((size_t)size, 2, &bytes)) {
        return NULL;
    }
    pe_region *r = grow(d->alloc, NULL, 0, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    size_t label_size = label != NULL ? strlen(label) + 1 : 0;
    *r = (pe_region){.size = size, .open = size};
    r->data = grow(d->alloc, NULL, 0, bytes + 2);
    r->label_owned = label_size > 0 ? grow(d->alloc, NULL, 0, label_size) : NULL;
    if (r->data == NULL || (label_size > 0 && r->label_owned == NULL)) {
        free_bytes(d, r);
        grow(d->alloc, r->label_owned, label_size, 0);
        grow(d->alloc, r, sizeof *r, 0);
        return NULL;
    }
    if (label_size > 0) {
        memcpy(r->label_owned, label, label_size);
    }
    r->label = r->label_owned;
    r->poison = r->data + size + 1;
    return r;
}

ptxexec_status ptxexec_device_alloc(ptxexec_device *d, uint64_t size, ptxexec_fill fill,
                                    const char *label_or_null, uint64_t *out_address)
{
    if (d == NULL || out_address == NULL ||
        (fill != PTXEXEC_FILL_POISON && fill != PTXEXEC_FILL_ZERO)) {
        return PTXEXEC_E_MISUSE;
    }
    if (size > UINT64_C(1) << 44) {
        return PTXEXEC_E_RESOURCE;
    }
    if (d->n == d->cap) {
        uint32_t cap = d->cap == 0 ? 16 : d->cap * 2;
        pe_region **grown = grow(d->alloc, d->regions, sizeof *grown * d->cap, sizeof *grown * cap);
        if (grown == NULL) {
            return PTXEXEC_E_NOMEM;
        }
        d->regions = grown;
        d->cap = cap;
    }
    pe_region *r = new_region(d, size, label_or_null);
    if (r == NULL) {
        return PTXEXEC_E_NOMEM;
    }
    /* A poisoned array's raw bytes are a pattern that no test expects by chance. */
    memset(r->data, fill == PTXEXEC_FILL_ZERO ? 0 : 0xA5, (size_t)size);
    memset(r->poison, fill == PTXEXEC_FILL_ZERO ? 0 : 1, (size_t)size);
    r->base = d->next;
    uint64_t end = r->base + (size > 0 ? size : 1) + 2 * (uint64_t)PE_GUARD;
    d->next = (end + PE_REGION_ALIGN - 1) & ~(uint64_t)(PE_REGION_ALIGN - 1);
    d->regions[d->n++] = r;
    *out_address = r->base;
    return PTXEXEC_OK;
}

pe_region *pe_device_find(const ptxexec_device *d, uint64_t address)
{
    uint32_t lo = 0;
    uint32_t hi = d->n;
    while (lo < hi) { /* first region whose guard ends behind the address */
        uint32_t mid = lo + (hi - lo) / 2;
        if (address >= d->regions[mid]->base + d->regions[mid]->size + PE_GUARD) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == d->n || address + PE_GUARD < d->regions[lo]->base) {
        return NULL;
    }
    return d->regions[lo];
}

ptxexec_status ptxexec_device_free(ptxexec_device *d, uint64_t address)
{
    pe_region *r = d == NULL ? NULL : pe_device_find(d, address);
    if (r == NULL || r->base != address || r->is_freed) {
        return PTXEXEC_E_MISUSE;
    }
    free_bytes(d, r);
    r->is_freed = true;
    r->open = 0;
    d->heap_used -= r->is_heap ? r->size : 0;
    return PTXEXEC_OK;
}

static pe_region *live_range(const ptxexec_device *d, uint64_t address, uint64_t size)
{
    pe_region *r = d == NULL ? NULL : pe_device_find(d, address);
    if (r == NULL || r->is_freed || address < r->base || address - r->base > r->size ||
        size > r->size - (address - r->base)) {
        return NULL;
    }
    return r;
}

ptxexec_status ptxexec_device_write(ptxexec_device *d, uint64_t address, const void *bytes,
                                    uint64_t size)
{
    pe_region *r = live_range(d, address, size);
    if (r == NULL || (bytes == NULL && size != 0)) {
        return PTXEXEC_E_MISUSE;
    }
    if (size > 0) {
        memcpy(r->data + (address - r->base), bytes, (size_t)size);
        memset(r->poison + (address - r->base), 0, (size_t)size);
    }
    return PTXEXEC_OK;
}

ptxexec_status ptxexec_device_read(const ptxexec_device *d, uint64_t address, void *bytes,
                                   uint64_t size, uint64_t *out_n_poison,
                                   uint64_t *out_first_poison)
{
    const pe_region *r = live_range(d, address, size);
    if (r == NULL || (bytes == NULL && size != 0)) {
        return PTXEXEC_E_MISUSE;
    }
    uint64_t n = 0;
    uint64_t first = size;
    const uint8_t *poison = r->poison + (address - r->base);
    for (uint64_t k = 0; k < size; k++) {
        if (poison[k] != 0) {
            first = n == 0 ? k : first;
            n++;
        }
    }
    if (size > 0) {
        memcpy(bytes, r->data + (address - r->base), (size_t)size);
    }
    if (out_n_poison != NULL) {
        *out_n_poison = n;
    }
    if (out_first_poison != NULL) {
        *out_first_poison = first;
    }
    return PTXEXEC_OK;
}

/* ---- .global variables
 * --------------------------------------------------------------------------- */

uint64_t pe_symbol_address(const ptxexec_module *m, const uint64_t *global_at, uint32_t sym)
{
    const pg_ptx_sym *s = &m->ptx->syms.at[sym];
    if (s->kind == PG_PTX_SYM_FUNC) {
        return PE_FUNC_WINDOW + (uint64_t)s->func * 16;
    }
    return s->space == PG_PTX_SP_CONST ? PE_CONST_WINDOW + m->sym_at[sym] : global_at[sym];
}

static ptxexec_status relocate(ptxexec_device *d, const ptxexec_module *m,
                               const uint64_t *global_at, uint32_t sym)
{
    const pg_ptx_sym *s = &m->ptx->syms.at[sym];
    for (uint32_t k = 0; k < s->n_relocs; k++) {
        uint64_t at = global_at[sym] + s->relocs[2 * (size_t)k];
        uint64_t value = 0; /* the addend */
        if (ptxexec_device_read(d, at, &value, sizeof value, NULL, NULL) != PTXEXEC_OK) {
            return PTXEXEC_E_INVALID;
        }
        value += pe_symbol_address(m, global_at, s->relocs[2 * (size_t)k + 1]);
        if (ptxexec_device_write(d, at, &value, sizeof value) != PTXEXEC_OK) {
            return PTXEXEC_E_INVALID; /* the place is outside the variable */
        }
    }
    return PTXEXEC_OK;
}

static ptxexec_status make_variables(ptxexec_device *d, const ptxexec_module *m,
                                     uint64_t *global_at)
{
    for (uint32_t k = 0; k < m->ptx->syms.n; k++) {
        const pg_ptx_sym *s = &m->ptx->syms.at[k];
        global_at[k] = 0;
        if (s->kind != PG_PTX_SYM_VAR || s->space != PG_PTX_SP_GLOBAL ||
            m->sym_at[k] == UINT64_MAX) {
            continue;
        }
        char label[64];
        size_t len = s->name.len < sizeof label - 1 ? s->name.len : sizeof label - 1;
        memcpy(label, s->name.ptr, len);
        label[len] = 0;
        ptxexec_status status =
            ptxexec_device_alloc(d, pe_sym_size(s), PTXEXEC_FILL_ZERO, label, &global_at[k]);
        if (status == PTXEXEC_OK && s->init_bytes != NULL) {
            status = ptxexec_device_write(d, global_at[k], s->init_bytes, pe_sym_size(s));
        }
        if (status != PTXEXEC_OK) {
            return status;
        }
    }
    for (uint32_t k = 0; k < m->ptx->syms.n; k++) {
        ptxexec_status status = global_at[k] != 0 ? relocate(d, m, global_at, k) : PTXEXEC_OK;
        if (status != PTXEXEC_OK) {
            return status;
        }
    }
    return PTXEXEC_OK;
}

ptxexec_status pe_device_instance(ptxexec_device *d, const ptxexec_module *m, const uint64_t **out)
{
    for (uint32_t k = 0; k < d->n_instances; k++) {
        if (d->instances[k].m == m && d->instances[k].id == m->id) {
            *out = d->instances[k].sym_at;
            return PTXEXEC_OK;
        }
    }
    if (d->n_instances == d->cap_instances) {
        uint32_t cap = d->cap_instances + 4;
        struct pe_instance *grown =
            grow(d->alloc, d->instances, sizeof *grown * d->cap_instances, sizeof *grown * cap);
        if (grown == NULL) {
            return PTXEXEC_E_NOMEM;
        }
        d->instances = grown;
        d->cap_instances = cap;
    }
    size_t size = sizeof(uint64_t) * ((size_t)m->ptx->syms.n + 1);
    uint64_t *sym_at = grow(d->alloc, NULL, 0, size);
    if (sym_at == NULL) {
        return PTXEXEC_E_NOMEM;
    }
    ptxexec_status status = make_variables(d, m, sym_at);
    if (status != PTXEXEC_OK) {
        grow(d->alloc, sym_at, size, 0);
        return status;
    }
    d->instances[d->n_instances++] =
        (struct pe_instance){.m = m, .id = m->id, .sym_at = sym_at, .n_syms = m->ptx->syms.n};
    *out = sym_at;
    return PTXEXEC_OK;
}

ptxexec_status ptxexec_device_symbol(ptxexec_device *d, const ptxexec_module *m, const char *name,
                                     uint64_t *out_address, uint64_t *out_size)
{
    if (d == NULL || m == NULL || name == NULL || out_address == NULL || out_size == NULL ||
        m->ptx == NULL || m->entries.n == 0) {
        return PTXEXEC_E_MISUSE;
    }
    const uint64_t *global_at = NULL;
    ptxexec_status status = pe_device_instance(d, m, &global_at);
    if (status != PTXEXEC_OK) {
        return status;
    }
    for (uint32_t k = 0; k < m->ptx->syms.n; k++) {
        if (global_at[k] != 0 && pg_str_is(m->ptx->syms.at[k].name, name)) {
            *out_address = global_at[k];
            *out_size = pe_sym_size(&m->ptx->syms.at[k]);
            return PTXEXEC_OK;
        }
    }
    return PTXEXEC_E_MISUSE;
}
