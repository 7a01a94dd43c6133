/* heap.c: malloc and free of kernels: arrays of the device that belong to its heap. */
#include "tools/exec/exec.h"

ptxexec_status pe_heap_alloc(ptxexec_device *d, uint64_t size, const char *label, uint64_t *out)
{
    enum { HEAP = 8 << 20 };
    *out = 0;
    if (size > HEAP || d->heap_used + size > HEAP) {
        return PTXEXEC_OK;
    }
    ptxexec_status status = ptxexec_device_alloc(d, size, PTXEXEC_FILL_POISON, label, out);
    if (status == PTXEXEC_OK) {
        d->regions[d->n - 1]->is_heap = true;
        d->heap_used += size;
    }
    return status;
}

bool pe_heap_free(ptxexec_device *d, uint64_t address, const pe_region **out_region)
{
    pe_region *r = pe_device_find(d, address);
    bool is_block = r != NULL && r->is_heap && r->base == address;
    *out_region = is_block ? r : NULL;
    if (!is_block || r->is_freed) {
        return false;
    }
    d->heap_used -= r->size;
    r->is_freed = true;
    r->open = 0;
    return true;
}

void pe_heap_sweep(ptxexec_device *d)
{
    for (uint32_t k = 0; k < d->n; k++) {
        if (d->regions[k]->is_heap && d->regions[k]->is_freed) {
            pe_region_drop(d, d->regions[k]);
        }
    }
}
