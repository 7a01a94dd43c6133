/* space.c: state spaces and the generic address space: from an address to host bytes, with every
 * check. */
#include "tools/exec/cluster.h"

static const char *space_name(uint32_t space)
{
    static const char *const names[PG_PTX_SP_COUNT] = {"generic", ".reg",   ".const", ".global",
                                                       ".local",  ".param", ".shared"};
    return names[space < PG_PTX_SP_COUNT ? space : 0];
}

uint32_t pe_window_of(uint64_t generic, uint64_t *out_offset)
{
    static const struct {
        uint64_t base;
        uint32_t space;
    } windows[] = {{PE_SHARED_WINDOW, PG_PTX_SP_SHARED},
                   {PE_LOCAL_WINDOW, PG_PTX_SP_LOCAL},
                   {PE_CONST_WINDOW, PG_PTX_SP_CONST},
                   {PE_PARAM_WINDOW, PG_PTX_SP_PARAM}};
    for (size_t k = 0; k < PG_COUNT_OF(windows); k++) {
        if (generic - windows[k].base < PE_WINDOW_SIZE) {
            *out_offset = generic - windows[k].base;
            return windows[k].space;
        }
    }
    *out_offset = generic;
    return PG_PTX_SP_GLOBAL;
}

static uint64_t generic_of(uint32_t space, uint64_t address)
{
    switch (space) {
    case PG_PTX_SP_SHARED: return PE_SHARED_WINDOW + address;
    case PG_PTX_SP_LOCAL: return PE_LOCAL_WINDOW + address;
    case PG_PTX_SP_CONST: return PE_CONST_WINDOW + address;
    case PG_PTX_SP_PARAM: return PE_PARAM_WINDOW + address;
    default: return address;
    }
}

typedef struct access {
    const pe_inst *i;
    uint32_t lane;
    uint32_t space;
    uint64_t address; /* in the space */
    uint32_t size;
    bool is_write, is_cluster; /* may go to other CTAs of the cluster */
} access;

static void fault_outside(pe_warp *w, const access *a)
{
    uint32_t bit = 1u << a->lane;
    uint64_t generic = generic_of(a->space, a->address);
    const char *verb = a->is_write ? "write" : "read";
    if (a->space == PG_PTX_SP_GLOBAL) {
        const pe_region *r = pe_device_find(w->cta->launch->d, a->address);
        if (r == NULL) {
            pe_fault_at(w, a->i, PTXEXEC_F_OUT_OF_BOUNDS,
                        (pe_place){.lanes = bit, .address = generic, .size = a->size},
                        "%s of %u bytes at 0x%llx: no array is near%s", verb, a->size,
                        (unsigned long long)a->address,
                        a->address < PE_GUARD ? " (null pointer)" : "");
            return;
        }
        if (r->is_freed) {
            pe_fault_at(w, a->i, PTXEXEC_F_USE_AFTER_FREE,
                        (pe_place){.lanes = bit, .address = generic, .size = a->size},
                        "%s of %u bytes at 0x%llx, in array '%s' that was freed", verb, a->size,
                        (unsigned long long)a->address, r->label != NULL ? r->label : "");
            return;
        }
        bool is_before = a->address < r->base;
        uint64_t off = is_before ? r->base - a->address : a->address - r->base;
        pe_fault_at(w, a->i, PTXEXEC_F_OUT_OF_BOUNDS,
                    (pe_place){.lanes = bit, .address = generic, .size = a->size},
                    "%s of %u bytes at 0x%llx, %llu bytes %s the start of array '%s' of %llu bytes",
                    verb, a->size, (unsigned long long)a->address, (unsigned long long)off,
                    is_before ? "before" : "behind", r->label != NULL ? r->label : "",
                    (unsigned long long)r->size);
        return;
    }
    uint64_t within = 0;
    uint32_t window = pe_window_of(a->address, &within);
    if (window != PG_PTX_SP_GLOBAL || a->address >= PE_GLOBAL_START) {
        pe_fault_at(w, a->i, PTXEXEC_F_WRONG_SPACE,
                    (pe_place){.lanes = bit, .address = generic, .size = a->size},
                    "%s of %u bytes at 0x%llx through %s, but it is a generic or global address",
                    verb, a->size, (unsigned long long)a->address, space_name(a->space));
        return;
    }
    uint64_t end = a->space == PG_PTX_SP_SHARED  ? w->cta->shared.base + w->cta->shared.size
                   : a->space == PG_PTX_SP_LOCAL ? w->local_top[a->lane]
                   : a->space == PG_PTX_SP_CONST
                       ? w->cta->launch->consts.base + w->cta->launch->consts.size
                       : w->cta->launch->params.size;
    pe_fault_at(w, a->i, PTXEXEC_F_OUT_OF_BOUNDS,
                (pe_place){.lanes = bit, .address = generic, .size = a->size},
                "%s of %u bytes at %s address 0x%llx, outside the %s memory, which ends at 0x%llx",
                verb, a->size, space_name(a->space), (unsigned long long)a->address,
                space_name(a->space), (unsigned long long)end);
}

static uint8_t *in_region(pe_region *r, const access *a, uint8_t **poison)
{
    uint64_t off = a->address - r->base;
    if (off >= r->size || a->size > r->size - off || r->is_freed) {
        return NULL;
    }
    *poison = r->poison + off;
    return r->data + off;
}

static uint8_t *in_local(pe_warp *w, const access *a, uint8_t **poison)
{
    uint64_t top = w->local_top[a->lane];
    if (a->address < PE_LOCAL_START || a->address >= top || a->size > top - a->address) {
        return NULL;
    }
    size_t off = (size_t)a->lane * w->local_cap + (size_t)(a->address - PE_LOCAL_START);
    *poison = w->local_poison + off;
    return w->local + off;
}

static uint8_t *in_global(pe_warp *w, const access *a, uint8_t **poison)
{
    if (w->hit != NULL) {
        uint8_t *p = in_region(w->hit, a, poison);
        if (p != NULL) {
            return p;
        }
    }
    pe_region *r = pe_device_find(w->cta->launch->d, a->address);
    if (r == NULL) {
        return NULL;
    }
    w->hit = r->is_freed ? NULL : r;
    return in_region(r, a, poison);
}

static uint8_t *in_shared(pe_warp *w, const access *a, uint8_t **poison)
{
    pe_cta *home = a->is_cluster ? pe_cta_at(w->cta, a->address) : w->cta;
    if (home == NULL) {
        return NULL;
    }
    if (home->is_over && home != w->cta) {
        pe_fault_at(w, a->i, PTXEXEC_F_ASYNC,
                    (pe_place){.lanes = 1u << a->lane,
                               .address = generic_of(a->space, a->address),
                               .size = a->size},
                    "the CTA of rank %u in the cluster, whose shared memory this is, has ended: a "
                    "barrier.cluster before its end would keep it",
                    home->rank);
        return NULL;
    }
    return in_region(&home->shared, a, poison);
}

static uint8_t *locate(pe_warp *w, const access *a, uint8_t **poison)
{
    switch (a->space) {
    case PG_PTX_SP_GLOBAL: return in_global(w, a, poison);
    case PG_PTX_SP_SHARED: return in_shared(w, a, poison);
    case PG_PTX_SP_LOCAL: return in_local(w, a, poison);
    case PG_PTX_SP_CONST: return in_region(&w->cta->launch->consts, a, poison);
    case PG_PTX_SP_PARAM: return in_region(&w->cta->launch->params, a, poison);
    default: return NULL;
    }
}

uint8_t *pe_resolve(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address, bool is_write,
                    uint8_t **poison)
{
    uint32_t size = (uint32_t)i->size * i->n;
    access a = {.i = i,
                .lane = lane,
                .space = i->space,
                .address = address,
                .size = size,
                .is_write = is_write};
    if (a.space == PE_SP_CLUSTER) {
        a.space = PG_PTX_SP_SHARED;
        a.is_cluster = true;
    } else if (a.space == PG_PTX_SP_NONE) {
        a.space = pe_window_of(address, &a.address);
        a.is_cluster = true;
    } else if (a.space == PG_PTX_SP_GLOBAL) {
        uint64_t within = 0;
        uint32_t real = pe_window_of(address, &within);
        if (real != PG_PTX_SP_GLOBAL) {
            pe_fault_at(w, i, PTXEXEC_F_WRONG_SPACE,
                        (pe_place){.lanes = 1u << lane, .address = address, .size = size},
                        "access through .global at 0x%llx, which is a %s address",
                        (unsigned long long)address, space_name(real));
            return NULL;
        }
    }
    if ((a.address & (size - 1)) != 0) {
        pe_fault_at(w, i, PTXEXEC_F_MISALIGNED,
                    (pe_place){.lanes = 1u << lane,
                               .address = generic_of(a.space, a.address),
                               .size = size},
                    "%s of %u bytes at 0x%llx, which is not a multiple of %u",
                    is_write ? "write" : "read", size, (unsigned long long)a.address, size);
        return NULL;
    }
    uint8_t *p = locate(w, &a, poison);
    if (p == NULL) {
        if (!w->cta->is_failed) {
            fault_outside(w, &a);
        }
        return NULL;
    }
    if (is_write && (a.space == PG_PTX_SP_CONST || a.space == PG_PTX_SP_PARAM)) {
        pe_fault_at(w, i, PTXEXEC_F_READ_ONLY,
                    (pe_place){.lanes = 1u << lane,
                               .address = generic_of(a.space, a.address),
                               .size = size},
                    "write of %u bytes to %s memory", size, space_name(a.space));
        return NULL;
    }
    return p;
}

const uint8_t *pe_peek(pe_warp *w, uint32_t lane, uint64_t generic, uint64_t *out_left)
{
    access a = {.lane = lane, .size = 1};
    a.space = pe_window_of(generic, &a.address);
    uint8_t *poison = NULL;
    const uint8_t *p = locate(w, &a, &poison);
    if (p == NULL) {
        return NULL;
    }
    const pe_region *r = a.space == PG_PTX_SP_GLOBAL   ? w->hit
                         : a.space == PG_PTX_SP_SHARED ? &w->cta->shared
                         : a.space == PG_PTX_SP_CONST  ? &w->cta->launch->consts
                                                       : &w->cta->launch->params;
    *out_left = a.space == PG_PTX_SP_LOCAL ? w->local_top[lane] - a.address
                                           : r->size - (a.address - r->base);
    return p;
}

static void *resize(pg_alloc alloc, void *block, size_t old_size, size_t new_size)
{
    return block == NULL && new_size == 0 ? NULL
                                          : alloc.resize(alloc.user, block, old_size, new_size);
}

bool pe_local_reserve(pe_warp *w, uint32_t size)
{
    if (size <= w->local_cap) {
        return true;
    }
    uint32_t cap = w->local_cap == 0 ? 64 : w->local_cap;
    while (cap < size) {
        cap *= 2;
    }
    pg_alloc alloc = w->cta->worker->alloc;
    uint8_t *data = resize(alloc, NULL, 0, (size_t)cap * PE_LANES * 2);
    if (data == NULL) {
        w->cta->worker->is_oom = true;
        return false;
    }
    uint8_t *poison = data + (size_t)cap * PE_LANES;
    memset(data, 0xA5, (size_t)cap * PE_LANES);
    memset(poison, 1, (size_t)cap * PE_LANES);
    for (uint32_t l = 0; l < PE_LANES && w->local_cap > 0; l++) {
        memcpy(data + (size_t)l * cap, w->local + (size_t)l * w->local_cap, w->local_cap);
        memcpy(poison + (size_t)l * cap, w->local_poison + (size_t)l * w->local_cap, w->local_cap);
    }
    resize(alloc, w->local, (size_t)w->local_cap * PE_LANES * 2, 0);
    w->local = data;
    w->local_poison = poison;
    w->local_cap = cap;
    return true;
}

/* Rows and their poison masks grow together or not at all. */
static bool grow_bank(pg_alloc alloc, void **rows, void **poison, uint32_t *n, uint32_t want,
                      size_t row_size, size_t mask_size)
{
    if (want <= *n) {
        return true;
    }
    uint32_t n_new = *n == 0 ? want : want + want / 2; /* calls inside of calls grow it again */
    uint8_t *r = resize(alloc, NULL, 0, n_new * row_size);
    uint8_t *q = resize(alloc, NULL, 0, n_new * mask_size);
    if (r == NULL || q == NULL) {
        resize(alloc, r, n_new * row_size, 0);
        resize(alloc, q, n_new * mask_size, 0);
        return false;
    }
    if (*n > 0) {
        memcpy(r, *rows, *n * row_size);
        memcpy(q, *poison, *n * mask_size);
    }
    /* What a program reads before it wrote is the same in every run. */
    memset(r + *n * row_size, 0xA5, (n_new - *n) * row_size);
    memset(q + *n * mask_size, 0xFF, (n_new - *n) * mask_size);
    resize(alloc, *rows, *n * row_size, 0);
    resize(alloc, *poison, *n * mask_size, 0);
    *rows = r;
    *poison = q;
    *n = n_new;
    return true;
}

bool pe_rows_reserve(pe_warp *w, uint32_t n32, uint32_t n64, uint32_t np)
{
    pg_alloc alloc = w->cta->worker->alloc;
    void *r32 = w->r32;
    void *r64 = w->r64;
    void *rp = w->rp;
    void *q32 = w->q32;
    void *q64 = w->q64;
    void *qp = w->qp;
    bool is_ok =
        grow_bank(alloc, &r32, &q32, &w->n32, n32, PE_LANES * sizeof *w->r32, sizeof *w->q32) &&
        grow_bank(alloc, &r64, &q64, &w->n64, n64, PE_LANES * sizeof *w->r64, sizeof *w->q64) &&
        grow_bank(alloc, &rp, &qp, &w->np, np, sizeof *w->rp, sizeof *w->qp);
    w->q32 = q32;
    w->q64 = q64;
    w->qp = qp;
    w->r32 = r32;
    w->r64 = r64;
    w->rp = rp;
    if (!is_ok) {
        w->cta->worker->is_oom = true;
    }
    return is_ok;
}

void pe_warp_memory_free(pe_warp *w)
{
    pg_alloc alloc = w->cta->worker->alloc;
    resize(alloc, w->r32, (size_t)w->n32 * PE_LANES * sizeof *w->r32, 0);
    resize(alloc, w->q32, w->n32 * sizeof *w->q32, 0);
    resize(alloc, w->r64, (size_t)w->n64 * PE_LANES * sizeof *w->r64, 0);
    resize(alloc, w->q64, w->n64 * sizeof *w->q64, 0);
    resize(alloc, w->rp, w->np * sizeof *w->rp, 0);
    resize(alloc, w->qp, w->np * sizeof *w->qp, 0);
    resize(alloc, w->local, (size_t)w->local_cap * PE_LANES * 2, 0);
    resize(alloc, w->returns, (size_t)w->returns_cap * PE_LANES * sizeof *w->returns, 0);
}
