/* ops_wgmma.c: wgmma.mma_async, fence, commit_group and wait_group. */
#include "tools/exec/ops.h"
#include "tools/exec/wgmma.h"

bool pe_has_warp_group(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const pe_cta *cta = w->cta;
    if (mask != PE_ALL) {
        pe_fault_at(w, i, PTXEXEC_F_DIVERGED, (pe_place){.lanes = mask},
                    "this takes all 32 lanes of a warp; the lanes here are %08x", mask);
        return false;
    }
    uint32_t first = w->index / PE_WG_WARPS * PE_WG_WARPS;
    if (first + PE_WG_WARPS > cta->n_warps) {
        pe_fault_at(w, i, PTXEXEC_F_WARP_GROUP, (pe_place){.lanes = mask},
                    "this takes a warp group of four warps; the CTA of %u threads has no warp %u",
                    cta->n_threads, first + PE_WG_WARPS - 1);
        return false;
    }
    return true;
}

static bool take_desc(pe_warp *w, const pe_inst *i, pe_opnd row, const char *what, uint64_t *out)
{
    const uint64_t *d = pe_src64(w, row);
    if (pe_is_poison(w, i, pe_poison64(w, row), PTXEXEC_F_POISON_ADDRESS, what)) {
        return false;
    }
    *out = d[0];
    for (uint32_t l = 1; l < PE_LANES; l++) {
        if (d[l] != d[0]) {
            pe_fault_at(w, i, PTXEXEC_F_DESCRIPTOR, (pe_place){.lanes = 1u << l},
                        "%s differs between lane 0 (0x%llx) and lane %u (0x%llx)", what,
                        (unsigned long long)d[0], l, (unsigned long long)d[l]);
            return false;
        }
    }
    if ((d[0] & PE_DESC_RESERVED) != 0) {
        pe_fault_at(w, i, PTXEXEC_F_DESCRIPTOR, (pe_place){.lanes = PE_ALL},
                    "%s, 0x%llx, has bits that are reserved: 14, 15, 30, 31, 46 to 48, 52 to 61",
                    what, (unsigned long long)d[0]);
        return false;
    }
    return true;
}

static void mma_async(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const pe_wgmma *x = i->ext;
    uint64_t desc[2] = {0, 0};
    if (!pe_has_warp_group(w, i, mask) ||
        (!x->is_a_reg && !take_desc(w, i, i->a, "the descriptor of A", &desc[0])) ||
        !take_desc(w, i, i->b, "the descriptor of B", &desc[1]) ||
        pe_is_poison(w, i, pe_poisonp(w, i->c), PTXEXEC_F_POISON_BRANCH, "scale-d")) {
        return;
    }
    uint32_t scale = pe_srcp(w, i->c);
    if (scale != 0 && scale != PE_ALL) {
        pe_fault_at(w, i, PTXEXEC_F_WARP_GROUP, (pe_place){.lanes = scale},
                    "scale-d is true in the lanes %08x only", scale);
        return;
    }
    if (pe_wg_lock(w, i, x)) {
        (void)pe_wg_join(w, i, desc, scale != 0);
    }
}

static void wgmma_fence(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (pe_has_warp_group(w, i, mask)) {
        pe_wg_fence(w);
    }
}

static void wgmma_commit(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (pe_has_warp_group(w, i, mask)) {
        pe_wg_commit(w);
    }
}

static void wgmma_wait(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    if (pe_has_warp_group(w, i, mask) && !pe_wg_wait(w, i, (uint64_t)i->imm)) {
        pe_lanes_wait(w, i, mask, PE_W_WGMMA);
    }
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

typedef struct type_info {
    pg_ptx_type type;
    uint32_t bits;
} type_info;

static const type_info infos[PE_WG_TYPE_COUNT] = {
    [PE_WG_F16] = {PG_PTX_F16, 16},   [PE_WG_BF16] = {PG_PTX_BF16, 16},
    [PE_WG_TF32] = {PG_PTX_TF32, 32}, [PE_WG_E4M3] = {PG_PTX_E4M3, 8},
    [PE_WG_E5M2] = {PG_PTX_E5M2, 8},  [PE_WG_S8] = {PG_PTX_S8, 8},
    [PE_WG_U8] = {PG_PTX_U8, 8},      [PE_WG_B1] = {PG_PTX_T_NONE, 1},
    [PE_WG_F32] = {PG_PTX_F32, 32},   [PE_WG_S32] = {PG_PTX_S32, 32}};

static bool take_type(pe_dec *d, bool is_input, pe_wg_type *out)
{
    if (is_input && pe_take(d, "b1")) { /* no type of registers */
        *out = PE_WG_B1;
        return true;
    }
    pg_ptx_type t = pe_take_type(d);
    for (uint32_t k = 0; k < PE_WG_TYPE_COUNT; k++) {
        if (t != PG_PTX_T_NONE && infos[k].type == t) {
            *out = (pe_wg_type)k;
            return true;
        }
    }
    pe_unsupported(d, "this type");
    return false;
}

/* "m64n128k16" */
static bool take_shape(pe_dec *d, pe_wgmma *x)
{
    for (uint32_t k = 0; k < d->n_mods; k++) {
        pg_str s = d->mod[k];
        if (d->is_taken[k] || !pg_str_starts(s, PG_STR("m64n"))) {
            continue;
        }
        uint32_t value[2] = {0, 0};
        uint32_t part = 0;
        bool is_number = true;
        for (size_t j = 4; j < s.len && is_number; j++) {
            if (s.ptr[j] == 'k' && part == 0) {
                part = 1;
            } else {
                is_number = s.ptr[j] >= '0' && s.ptr[j] <= '9' && value[part] < 1000;
                value[part] = value[part] * 10 + (uint32_t)(uint8_t)(s.ptr[j] - '0');
            }
        }
        x->n = value[0];
        x->k = value[1];
        d->is_taken[k] = is_number && part == 1;
        return d->is_taken[k];
    }
    return false;
}

/* Types and shapes that exist together. */
static bool is_known(const pe_wgmma *x)
{
    bool is_float_acc = x->d_type == PE_WG_F32 || x->d_type == PE_WG_F16;
    bool is_good = false;
    switch (x->a_type) {
    case PE_WG_F16: is_good = x->b_type == PE_WG_F16 && is_float_acc; break;
    case PE_WG_BF16:
    case PE_WG_TF32: is_good = x->b_type == x->a_type && x->d_type == PE_WG_F32; break;
    case PE_WG_E4M3:
    case PE_WG_E5M2:
        is_good = (x->b_type == PE_WG_E4M3 || x->b_type == PE_WG_E5M2) && is_float_acc;
        break;
    case PE_WG_S8:
    case PE_WG_U8:
        is_good = (x->b_type == PE_WG_S8 || x->b_type == PE_WG_U8) && x->d_type == PE_WG_S32;
        break;
    case PE_WG_B1: is_good = x->b_type == PE_WG_B1 && x->d_type == PE_WG_S32; break;
    case PE_WG_F32:
    case PE_WG_S32:
    case PE_WG_TYPE_COUNT:
    default: break;
    }
    bool is_int = x->d_type == PE_WG_S32;
    bool is_n = x->n >= 8 && x->n <= PE_WG_N &&
                (is_int ? x->n % 16 == 0 || x->n == 8 || x->n == 24 : x->n % 8 == 0);
    return is_good && is_n && x->k * infos[x->a_type].bits == 8 * PE_WG_ROW &&
           (!x->is_saturating || (is_int && x->a_type != PE_WG_B1));
}

static bool take_accumulators(pe_dec *d, pe_wgmma *x)
{
    const pg_ptx_opnd *o = pe_arg(d, 0);
    x->n_d = x->d_type == PE_WG_F16 ? x->n / 4 : x->n / 2;
    if (o->kind != PG_PTX_O_VEC || o->n != x->n_d) {
        pe_invalid(d, "the accumulator has another number of registers");
        return false;
    }
    for (uint32_t j = 0; j < x->n_d && !d->is_failed; j++) {
        x->d[j] = pe_out_opnd(d, &d->pf->pool.at[o->id + j], 32);
        for (uint32_t k = 0; k < j; k++) {
            if (x->d[k] == x->d[j]) {
                pe_invalid(d, "the accumulator names a register twice");
            }
        }
    }
    return !d->is_failed;
}

static bool take_a(pe_dec *d, pe_wgmma *x)
{
    const pg_ptx_opnd *o = pe_arg(d, 1);
    x->is_a_reg = o->kind == PG_PTX_O_VEC;
    if (!x->is_a_reg) {
        d->i.a = pe_in(d, 1, 64);
        return !d->is_failed;
    }
    if (o->n != 4) {
        pe_invalid(d, "A has four registers");
        return false;
    }
    for (uint32_t j = 0; j < 4; j++) {
        x->a[j] = pe_in_opnd(d, &d->pf->pool.at[o->id + j], 32);
    }
    return !d->is_failed;
}

/* Immediate k of those behind scale-d. */
static bool take_immediate(pe_dec *d, uint32_t k, int64_t low, int64_t high, int64_t *out)
{
    const pg_ptx_opnd *o = pe_arg(d, 4 + k);
    *out = o->imm;
    if (o->kind != PG_PTX_O_INT || (o->imm != low && o->imm != high)) {
        pe_invalid(d, "an immediate behind scale-d has a value that does not exist");
        return false;
    }
    return true;
}

static bool take_immediates(pe_dec *d, pe_wgmma *x)
{
    bool has_scales = x->d_type != PE_WG_S32;
    bool has_trans = x->a_type == PE_WG_F16 || x->a_type == PE_WG_BF16;
    uint32_t n = (has_scales ? 2u : 0u) + (has_trans ? (x->is_a_reg ? 1u : 2u) : 0u);
    int64_t v[4] = {1, 1, 0, 0};
    if (pe_n_args(d) != 4 + n) {
        pe_invalid(d, "another number of operands");
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (!take_immediate(d, k, k < 2 ? -1 : 0, 1, &v[k])) {
            return false;
        }
    }
    x->is_negative = v[0] != v[1];
    x->is_a_k_major = x->is_a_reg || v[2] == 0;
    x->is_b_k_major = v[x->is_a_reg ? 2 : 3] == 0;
    return true;
}

static void decode_product(pe_dec *d)
{
    pe_wgmma *x = pe_new(d, sizeof *x, 1);
    if (x == NULL) {
        return;
    }
    bool is_dense = !pe_take(d, "sp");
    if (!is_dense || !pe_take(d, "sync") || !pe_take(d, "aligned") || !take_shape(d, x)) {
        pe_unsupported(d, is_dense ? "this form" : "sparse products");
        return;
    }
    if (!take_type(d, false, &x->d_type) || !take_type(d, true, &x->a_type) ||
        !take_type(d, true, &x->b_type)) {
        return;
    }
    x->is_saturating = pe_take(d, "satfinite");
    if (x->a_type == PE_WG_B1 && (!pe_take(d, "and") || !pe_take(d, "popc"))) {
        pe_unsupported(d, "this form");
        return;
    }
    if (!is_known(x)) {
        pe_unsupported(d, "this combination of shape and types");
        return;
    }
    if (!take_accumulators(d, x) || !take_a(d, x)) {
        return;
    }
    d->i.b = pe_in(d, 2, 64);
    d->i.c = pe_in(d, 3, 1);
    if (!take_immediates(d, x)) {
        return;
    }
    d->i.ext = x;
    d->m->has_async_proxy = true;
    pe_emit(d, mma_async);
}

void pe_dec_wgmma(pe_dec *d)
{
    d->i.flags |= PE_I_ALIGNED;
    switch (pe_take_one(d, "mma_async fence commit_group wait_group")) {
    case 1: decode_product(d); return;
    case 2: d->i.fn = wgmma_fence; break;
    case 3: d->i.fn = wgmma_commit; break;
    case 4: {
        const pg_ptx_opnd *o = pe_arg(d, 0);
        if (o->kind != PG_PTX_O_INT || o->imm < 0) {
            pe_invalid(d, "the number of groups is not an immediate");
            return;
        }
        d->i.imm = o->imm;
        d->i.fn = wgmma_wait;
        break;
    }
    default: pe_unsupported(d, "this form"); return;
    }
    if (!pe_take(d, "sync") || !pe_take(d, "aligned")) {
        pe_unsupported(d, "this form");
        return;
    }
    pe_emit(d, d->i.fn);
}
