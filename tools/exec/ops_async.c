/* ops_async.c: cp.async, its groups and its waits. Bulk copies: ops_bulk.c. */
#include "tools/exec/async.h"
#include "tools/exec/ops.h"
#include "tools/exec/race.h"

typedef struct copy_ext {
    int64_t source_imm;
    pe_opnd ignore; /* predicate: copy zeros */
} copy_ext;

/* Bytes that each lane takes from global memory. False after a fault. */
static bool source_sizes(pe_warp *w, const pe_inst *i, uint32_t mask, uint8_t out[PE_LANES])
{
    const copy_ext *x = i->ext;
    uint32_t ignored = 0;
    if (x->ignore != PE_NONE) {
        if (pe_is_poison(w, i, pe_poisonp(w, x->ignore) & mask, PTXEXEC_F_POISON_BRANCH,
                         "the ignore-src predicate")) {
            return false;
        }
        ignored = pe_srcp(w, x->ignore);
    }
    if (i->c != PE_NONE && pe_is_poison(w, i, pe_poison32(w, i->c) & mask, PTXEXEC_F_POISON_ADDRESS,
                                        "the source size")) {
        return false;
    }
    pg_foreach_lane(l, mask)
    {
        uint32_t n = i->c != PE_NONE ? pe_src32(w, i->c)[l] : i->size;
        if (n > i->size) {
            pe_fault_at(w, i, PTXEXEC_F_OUT_OF_BOUNDS,
                        (pe_place){.lanes = 1u << l, .address = 0, .size = n},
                        "a source of %u bytes for a copy of %u", n, (uint32_t)i->size);
            return false;
        }
        out[l] = (ignored >> l & 1u) != 0 ? 0 : (uint8_t)n;
    }
    return true;
}

/* Shared and global places of each lane, all checked now: the copy may happen later. */
static bool find_places(pe_warp *w, const pe_inst *i, uint32_t mask, pe_copy *c)
{
    const copy_ext *x = i->ext;
    pe_inst source = *i; /* the same place in the text, seen as a global access */
    source.space = PG_PTX_SP_GLOBAL;
    source.size = 1; /* its first and last byte tell all */
    const uint64_t *to = pe_src64(w, i->a);
    const uint64_t *from = pe_src64(w, i->b);
    pg_foreach_lane(l, mask)
    {
        uint64_t at = to[l] + (uint64_t)i->imm;
        c->offset[l] = (uint32_t)at;
        c->to[l] = pe_resolve(w, i, l, at, true, &c->to_poison[l]);
        if (c->to[l] == NULL) {
            return false;
        }
        if (c->n_source[l] == 0) {
            continue;
        }
        uint64_t want = from[l] + (uint64_t)x->source_imm;
        if ((want & (i->size - 1u)) != 0) {
            pe_fault_at(w, i, PTXEXEC_F_MISALIGNED,
                        (pe_place){.lanes = 1u << l, .address = want, .size = i->size},
                        "the source 0x%llx is not a multiple of %u", (unsigned long long)want,
                        (uint32_t)i->size);
            return false;
        }
        uint8_t *poison = NULL;
        uint64_t last = want + c->n_source[l] - 1u;
        c->from[l] = pe_resolve(w, &source, l, want, false, &poison);
        c->from_poison[l] = poison;
        if (c->from[l] == NULL || pe_resolve(w, &source, l, last, false, &poison) == NULL) {
            return false;
        }
    }
    return true;
}

static void note(pe_warp *w, const pe_inst *i, uint32_t mask, const pe_copy *c)
{
    const copy_ext *x = i->ext;
    uint32_t reading = 0;
    pg_foreach_lane(l, mask)
    {
        reading |= c->n_source[l] != 0 ? 1u << l : 0;
    }
    pe_touch t = {.at = pe_src64(w, i->b),
                  .imm = x->source_imm,
                  .size = i->size,
                  .space = PG_PTX_SP_GLOBAL,
                  .kind = PE_T_READ};
    if (reading != 0) {
        pe_note(w, i, reading, &t);
    }
    t.at = pe_src64(w, i->a);
    t.imm = i->imm;
    t.space = PG_PTX_SP_SHARED;
    t.kind = PE_T_WRITE | PE_T_COPY;
    pe_note(w, i, mask, &t);
}

/* Lanes of one group number become one or two copies: parts of an instruction come apart. */
static void issue_parts(pe_warp *w, const pe_copy *whole, uint32_t lanes, uint32_t group)
{
    uint64_t draw = pe_random(&w->cta->rng);
    uint32_t cut = draw >> 62 == 0 ? lanes : lanes & (uint32_t)draw;
    uint32_t parts[2] = {cut, lanes & ~cut};
    for (uint32_t k = 0; k < 2; k++) {
        pe_copy *c = parts[k] != 0 ? pe_copy_new(w) : NULL;
        if (c != NULL) {
            *c = *whole;
            c->lanes = parts[k];
            c->group = group;
            pe_copy_issue(w, c);
        }
    }
}

static void cp_async(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    pe_copy whole = {.i = i, .size = i->size};
    if (pe_is_poison(w, i, (pe_poison64(w, i->a) | pe_poison64(w, i->b)) & mask,
                     PTXEXEC_F_POISON_ADDRESS, "an address") ||
        !source_sizes(w, i, mask, whole.n_source) || !find_places(w, i, mask, &whole)) {
        return;
    }
    note(w, i, mask, &whole);
    whole.order = w->n_issued++;
    whole.serial = w->cta->races != NULL ? pe_race_serial(w->cta) : 0;
    while (mask != 0 && !w->cta->is_failed) {
        uint32_t group = w->n_commits[pe_first(mask)];
        uint32_t same = 0;
        pg_foreach_lane(l, mask)
        {
            same |= w->n_commits[l] == group ? 1u << l : 0;
        }
        issue_parts(w, &whole, same, group);
        mask &= ~same;
    }
}

static void commit_group(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    (void)i;
    pg_foreach_lane(l, mask)
    {
        w->n_commits[l]++;
    }
}

/* imm: groups that may stay open; -1: none, those without commit included */
static void wait_group(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t first_open[PE_LANES] = {0};
    pg_foreach_lane(l, mask)
    {
        uint32_t n = w->n_commits[l];
        first_open[l] = i->imm < 0 ? n + 1 : (uint64_t)i->imm < n ? n - (uint32_t)i->imm : 0;
    }
    pe_copy_wait(w, mask, first_open);
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

static void decode_wait(pe_dec *d)
{
    const pg_ptx_opnd *o = pe_arg(d, 0);
    if (o->kind != PG_PTX_O_INT || o->imm < 0) {
        pe_invalid(d, "the number of groups is not an immediate");
        return;
    }
    d->i.imm = o->imm;
    pe_emit(d, wait_group);
}

static bool is_predicate(const pe_dec *d, const pg_ptx_opnd *o)
{
    return pe_reg_bits(d, o) == 1;
}

static void decode_copy(pe_dec *d)
{
    uint32_t level = pe_take_one(d, "ca cg");
    bool has_policy = pe_take(d, "L2::cache_hint");
    (void)pe_take_one(d, "L2::64B L2::128B L2::256B");
    bool is_place = pe_take_one(d, "shared shared::cta") != 0 && pe_take(d, "global");
    copy_ext *x = pe_new(d, sizeof *x, 1);
    const pg_ptx_opnd *size = pe_arg(d, 2);
    if (x == NULL || level == 0 || !is_place) {
        pe_unsupported(d, "this form");
        return;
    }
    bool is_size =
        size->kind == PG_PTX_O_INT && (size->imm == 4 || size->imm == 8 || size->imm == 16);
    if (!is_size || (level == 2 && size->imm != 16)) {
        pe_invalid(d, "the size is 4, 8 or 16, with .cg 16");
        return;
    }
    d->i.size = (uint8_t)size->imm;
    d->i.n = 1;
    d->i.space = PG_PTX_SP_SHARED;
    pe_in_address(d, 1);
    d->i.b = d->i.a;
    x->source_imm = d->i.imm;
    x->ignore = PE_NONE;
    pe_in_address(d, 0);
    uint32_t n = pe_n_args(d) - (has_policy ? 1 : 0);
    if (n > 3) {
        if (is_predicate(d, pe_arg(d, 3))) {
            x->ignore = pe_in(d, 3, 1);
        } else {
            d->i.c = pe_in(d, 3, 32);
        }
    }
    d->i.ext = x;
    pe_emit(d, cp_async);
}

void pe_dec_cp(pe_dec *d)
{
    bool is_reduce = pe_take(d, "reduce");
    if (!pe_take(d, "async") || (is_reduce && !pe_take(d, "bulk"))) {
        pe_unsupported(d, "this instruction");
        return;
    }
    if (is_reduce) {
        pe_dec_bulk(d, true);
        return;
    }
    switch (pe_take_one(d, "commit_group wait_group wait_all bulk mbarrier")) {
    case 0: decode_copy(d); break;
    case 1: pe_emit(d, commit_group); break;
    case 2: decode_wait(d); break;
    case 3:
        d->i.imm = -1;
        pe_emit(d, wait_group);
        break;
    case 4: pe_dec_bulk(d, false); break;
    case 5: pe_dec_copies_arrive(d); break;
    default: pe_unsupported(d, "this instruction"); break;
    }
}
