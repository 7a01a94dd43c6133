/* ops_stack.c: alloca, stacksave, stackrestore: local memory above the frame of the running
 * function. A lane's local memory ends at local_top; a return puts it back to what it was before
 * the call. */
#include "tools/exec/ops.h"

static uint64_t value_of(const pe_warp *w, pe_opnd row, bool is_64, uint32_t lane)
{
    return is_64 ? pe_src64(w, row)[lane] : pe_src32(w, row)[lane];
}

static uint32_t poison_of(const pe_warp *w, pe_opnd row, bool is_64)
{
    return is_64 ? pe_poison64(w, row) : pe_poison32(w, row);
}

static void put_tops(pe_warp *w, const pe_inst *i, uint32_t mask, const uint64_t at[PE_LANES])
{
    uint32_t narrow[PE_LANES];
    if (i->size == 8) {
        pe_put64(w, i->d, at, mask, 0);
        return;
    }
    for (uint32_t l = 0; l < PE_LANES; l++) {
        narrow[l] = (uint32_t)at[l];
    }
    pe_put32(w, i->d, narrow, mask, 0);
}

/* a: bytes; imm: alignment */
static void allocate(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    bool is_64 = i->size == 8;
    uint64_t at[PE_LANES] = {0};
    uint64_t most = 0;
    if (pe_is_poison(w, i, poison_of(w, i->a, is_64) & mask, PTXEXEC_F_POISON_ADDRESS,
                     "the size")) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        uint64_t n = value_of(w, i->a, is_64, l);
        at[l] = ((uint64_t)w->local_top[l] + (uint64_t)i->imm - 1) & ~((uint64_t)i->imm - 1);
        if (n > PE_LOCAL_MAX || at[l] + n > PE_LOCAL_MAX) {
            pe_fault_at(w, i, PTXEXEC_F_STACK, (pe_place){.lanes = 1u << l},
                        "%llu bytes behind the %u bytes of local memory that are in use",
                        (unsigned long long)n, w->local_top[l] - PE_LOCAL_START);
            return;
        }
        most = at[l] + n > most ? at[l] + n : most;
    }
    if (!pe_local_reserve(w, (uint32_t)most)) {
        w->is_stopped = true;
        return;
    }
    pg_foreach_lane(l, mask)
    {
        uint64_t n = value_of(w, i->a, is_64, l);
        w->local_top[l] = (uint32_t)(at[l] + n);
        memset(w->local_poison + (size_t)l * w->local_cap + (at[l] - PE_LOCAL_START), 1, (size_t)n);
    }
    put_tops(w, i, mask, at);
}

static void save(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint64_t at[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        at[l] = w->local_top[l];
    }
    put_tops(w, i, mask, at);
}

static void restore(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    bool is_64 = i->size == 8;
    if (pe_is_poison(w, i, poison_of(w, i->a, is_64) & mask, PTXEXEC_F_POISON_ADDRESS,
                     "the stack pointer")) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        uint64_t to = value_of(w, i->a, is_64, l);
        uint64_t least = (uint64_t)w->local_base[l] + w->func[l]->local_size;
        if (to < least || to > w->local_top[l]) {
            pe_fault_at(w, i, PTXEXEC_F_STACK, (pe_place){.lanes = 1u << l},
                        "the stack pointer 0x%llx is none that this call of the function saved: it "
                        "is at 0x%x, and its own variables end at 0x%llx",
                        (unsigned long long)to, w->local_top[l], (unsigned long long)least);
            return;
        }
        w->local_top[l] = (uint32_t)to;
    }
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

static uint32_t take_width(pe_dec *d)
{
    uint32_t bits = pe_type_bits(pe_take_type(d));
    d->i.size = (uint8_t)(bits / 8);
    return bits;
}

void pe_dec_alloca(pe_dec *d)
{
    enum { DEFAULT_ALIGN = 8, MOST_ALIGN = 1024 };
    uint32_t bits = take_width(d);
    d->i.imm = pe_n_args(d) > 2 ? pe_arg(d, 2)->imm : DEFAULT_ALIGN;
    if (d->i.imm < 1 || d->i.imm > MOST_ALIGN || (d->i.imm & (d->i.imm - 1)) != 0) {
        pe_invalid(d, "the alignment is no power of two up to 1024");
        return;
    }
    d->i.d = pe_out(d, 0, bits);
    d->i.a = pe_in(d, 1, bits);
    pe_emit(d, bits == 32 || bits == 64 ? allocate : NULL);
}

void pe_dec_stacksave(pe_dec *d)
{
    uint32_t bits = take_width(d);
    d->i.d = pe_out(d, 0, bits);
    pe_emit(d, bits == 32 || bits == 64 ? save : NULL);
}

void pe_dec_stackrestore(pe_dec *d)
{
    uint32_t bits = take_width(d);
    d->i.a = pe_in(d, 0, bits);
    pe_emit(d, bits == 32 || bits == 64 ? restore : NULL);
}
