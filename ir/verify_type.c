/* verify_type.c: types and encodings on their own, and whether an encoding fits a tile and its
 * warps. */
#include "ir/layout.h"
#include "ir/verify.h"

enum {
    LAID_OUT = 1,       /* PG_PROP_LAID_OUT of sched/pass.h */
    MAX_TILE = 1 << 20, /* elements */
    MAX_BUF = 1 << 24,
    MAX_BOX = 256, /* elements along a dimension of a TMA box */
    MAX_SLOTS = 64,
    MAX_BARS = 1024,
    LANES = 32,
    MAX_WARPS = 32
};

/* ---- types --------------------------------------------------------------------------------- */

static void bad_type(pg_verifier *v, pg_loc loc, pg_type t, const char *why)
{
    pg_verify_error(v, PG_D_BAD_TYPE, loc, pg_verify_type_text(v, t), why);
}

static void check_tile(pg_verifier *v, const pg_type_info *t, pg_type type, pg_loc loc)
{
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] < 0) {
            bad_type(v, loc, type, "only tensors have extents that are not known");
            return;
        }
        if (!pg_is_pow2((uint64_t)t->dims[d])) {
            pg_verify_error(v, PG_D_TILE_EXTENT, loc, t->dims[d], pg_verify_type_text(v, type));
            return;
        }
    }
    if (pg_type_n_elems(v->types, type) > MAX_TILE) {
        pg_verify_error(v, PG_D_TILE_SIZE, loc, pg_verify_type_text(v, type), MAX_TILE);
    }
    if (pg_enc_is_memory(v->types, t->enc)) {
        bad_type(v, loc, type, "an encoding of memory is for buffers and descriptors");
    }
}

static void check_smem(pg_verifier *v, const pg_type_info *t, pg_type type, pg_loc loc)
{
    pg_layout layout;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] <= 0) {
            bad_type(v, loc, type, "only tensors have extents that are not known");
            return;
        }
        if (t->kind == PG_TY_DESC && t->dims[d] > MAX_BOX) {
            bad_type(v, loc, type, "a box has at most 256 elements along each dimension");
            return;
        }
    }
    if (t->is_ptr != 0 && t->kind == PG_TY_DESC) {
        bad_type(v, loc, type, "a box holds numbers, no pointers");
        return;
    }
    uint32_t row = t->rank == 0 ? 0 : (uint32_t)t->dims[t->rank - 1] * pg_elem_infos[t->elem].bits;
    if (t->kind == PG_TY_DESC && row % 128 != 0) {
        bad_type(v, loc, type, "a row of a box is a multiple of 16 bytes");
        return;
    }
    if (pg_type_n_elems(v->types, type) > MAX_BUF) {
        bad_type(v, loc, type, "it is larger than any shared memory");
        return;
    }
    const pg_enc_info *e = pg_enc_get(v->types, t->enc);
    if (e->kind == PG_ENC_NONE) {
        return;
    }
    if (!pg_enc_is_memory(v->types, t->enc) || (t->kind == PG_TY_DESC && e->kind != PG_ENC_SMEM)) {
        bad_type(v, loc, type,
                 t->kind == PG_TY_DESC ? "a box takes encodings of kind smem"
                                       : "shared memory takes encodings of kind smem, or linear "
                                         "ones of offsets");
        return;
    }
    pg_layout_error error = pg_layout_of_buf(v->types, type, &layout);
    if (error != PG_LAYOUT_OK) {
        bad_type(v, loc, type, pg_layout_error_text(error));
    }
}

pg_type_seen *pg_verify_types_grow(pg_verifier *v, pg_type type)
{
    const uint32_t n = v->types->types.n > type.id ? v->types->types.n : type.id + 1;
    if (!pg_vec_reserve(&v->shared, &v->types_seen, n - v->types_seen.n)) {
        return NULL;
    }
    v->types_seen.n = n; /* the arena's memory is zero */
    return &v->types_seen.at[type.id];
}

static void check_type(pg_verifier *v, pg_type type, pg_loc loc)
{
    const pg_type_info *t = pg_type_get(v->types, type);
    bool has_dims = t->kind == PG_TY_TILE || t->kind == PG_TY_DESC || t->kind == PG_TY_BUF;
    if (has_dims && (t->rank == 0 || t->elem == PG_ELEM_NONE)) {
        bad_type(v, loc, type, "it has no extents or no element");
        return;
    }
    switch (t->kind) {
    case PG_TY_NONE: bad_type(v, loc, type, "a value has a type"); break;
    case PG_TY_TILE: check_tile(v, t, type, loc); break;
    case PG_TY_BUF:
        if (t->space != PG_SPACE_SMEM) {
            const char *space = t->space == PG_SPACE_DSMEM ? "dsmem" : "tmem";
            pg_verify_error(v, PG_D_NOT_YET, loc, t->space == PG_SPACE_DSMEM ? 5 : 4, space, "");
            break;
        }
        check_smem(v, t, type, loc);
        break;
    case PG_TY_DESC: check_smem(v, t, type, loc); break;
    case PG_TY_RING:
        if (t->dims[0] < 1 || t->dims[0] > MAX_SLOTS) {
            bad_type(v, loc, type, "a ring has 1 to 64 slots");
        }
        break;
    case PG_TY_BAR:
        if (t->dims[0] < 1 || t->dims[0] > MAX_BARS) {
            bad_type(v, loc, type, "there are 1 to 1024 barriers in an array");
        }
        break;
    case PG_TY_TENSOR: pg_verify_error(v, PG_D_NOT_YET, loc, 6, "tensor", ""); break;
    default: break;
    }
}

void pg_verify_new_type(pg_verifier *v, pg_type type, pg_loc loc)
{
    pg_type_known *known = pg_type_known_of(v->m->ctx->types, type);
    const uint32_t n_errors = v->diags->n_errors;
    if (known != NULL && !known->is_good) {
        check_type(v, type, loc);
        known = pg_type_known_of(v->m->ctx->types, type); /* there may be more types now */
        if (known != NULL) {
            known->is_good = v->diags->n_errors == n_errors;
        }
    }
}

void pg_verify_new_fit(pg_verifier *v, pg_type type, pg_loc loc)
{
    pg_layout layout;
    const uint32_t n_warps = v->n_warps;
    uint64_t key = (uint64_t)type.id << 8 | n_warps;
    pg_type_known *known = pg_type_known_of(v->m->ctx->types, type);
    if (known == NULL || known->warps == n_warps || pg_map_get(&v->fits_seen, key) != NULL ||
        !pg_map_put(&v->fits_seen, key, 1)) {
        return;
    }
    const pg_type_info *t = pg_type_get(v->types, type);
    const pg_enc_info *e = pg_enc_get(v->types, t->enc);
    if (e->kind == PG_ENC_NONE) {
        if ((v->props & LAID_OUT) != 0) {
            pg_verify_error(v, PG_D_NOT_LAID_OUT, loc, pg_verify_type_text(v, type));
        }
        return;
    }
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] <= 0 || !pg_is_pow2((uint64_t)t->dims[d])) {
            return; /* the type's own error */
        }
    }
    if (pg_enc_is_memory(v->types, t->enc)) {
        return;
    }
    pg_layout_error error = pg_layout_of_tile(v->types, type, n_warps, &layout);
    const uint64_t reason =
        UINT64_C(1) << 63 | (uint64_t)error << 48 | (uint64_t)t->enc.id << 8 | n_warps;
    known = pg_type_known_of(v->m->ctx->types, type);
    if (error == PG_LAYOUT_OK && known != NULL) {
        known->warps = (uint8_t)n_warps;
    }
    if (error != PG_LAYOUT_OK && pg_map_get(&v->fits_seen, reason) == NULL &&
        pg_map_put(&v->fits_seen, reason, 1)) {
        pg_verify_error(v, PG_D_ENC_FIT, loc, pg_verify_type_text(v, type), n_warps,
                        pg_layout_error_text(error));
    }
}

/* ---- encodings ----------------------------------------------------------------------------- */

static bool is_order(const pg_enc_info *e)
{
    uint32_t seen = 0;
    for (uint32_t d = 0; d < e->rank; d++) {
        seen |= e->order[d] < 32 ? 1u << e->order[d] : 0;
    }
    return seen == (1u << e->rank) - 1;
}

static const char *fault_of_smem(const pg_enc_info *e)
{
    if (!is_order(e)) {
        return "order names each dimension once, the fastest first";
    }
    if (e->swizzle != 0 && e->swizzle != 32 && e->swizzle != 64 && e->swizzle != 128) {
        return "swizzle is 32, 64 or 128 bytes, or absent";
    }
    return e->swizzle != 0 && e->pad != 0 ? "swizzle and pad do not go together" : NULL;
}

static const char *fault_of_blocked(const pg_enc_info *e)
{
    uint64_t lanes = 1;
    uint64_t warps = 1;
    if (!is_order(e)) {
        return "order names each dimension once, the fastest first";
    }
    for (uint32_t d = 0; d < e->rank; d++) {
        if (!pg_is_pow2(e->regs[d]) || !pg_is_pow2(e->lanes[d])) {
            return "regs and lanes are powers of two";
        }
        lanes *= e->lanes[d];
        warps *= e->warps[d];
    }
    if (lanes != LANES) {
        return "the product of lanes is 32";
    }
    return warps == 0 || warps > MAX_WARPS ? "the product of warps is 1 to 32" : NULL;
}

static const char *fault_of_wgmma(const pg_enc_info *e)
{
    uint32_t n = e->shape[1];
    uint32_t k = e->shape[2];
    if (e->rank != 2 || e->shape[0] != 64 || n < 8 || n > 256 || n % 8 != 0 ||
        (k != 8 && k != 16 && k != 32)) {
        return "shape is (64, n, k) with n a multiple of 8 up to 256 and k 8, 16 or 32";
    }
    uint32_t warps = (uint32_t)e->warps[0] * e->warps[1];
    bool is_good = e->warps[0] != 0 && e->warps[0] % 4 == 0 && e->warps[1] != 0;
    return is_good && warps <= MAX_WARPS
               ? NULL
               : "warps is (w, v) with w a multiple of 4 and at most 32 warps";
}

static const char *fault_of_linear(const pg_enc_info *e)
{
    if (e->n_offset != 0) {
        return e->n_reg + e->n_lane + e->n_warp == 0 ? NULL
                                                     : "offset is for buffers and stands alone";
    }
    return e->n_lane == 5 ? NULL : "lane has 5 vectors, one for each bit of a lane's number";
}

static const char *fault_of_mma(const pg_enc_info *e)
{
    uint32_t k = e->shape[2];
    if (e->shape[0] != 16 || e->shape[1] != 8 || (k != 4 && k != 8 && k != 16 && k != 32)) {
        return "shape is (16, 8, k) with k 4, 8, 16 or 32";
    }
    bool is_good = pg_is_pow2(e->warps[0]) && pg_is_pow2(e->warps[1]);
    return is_good && (uint32_t)e->warps[0] * e->warps[1] <= MAX_WARPS
               ? NULL
               : "warps is (w, v), powers of two, with at most 32 warps";
}

static const char *fault_of_dot(const pg_types *types, const pg_enc_info *e)
{
    uint8_t kind = pg_enc_get(types, e->of)->kind;
    if (kind == PG_ENC_WGMMA && e->operand == 1) {
        return "operand 1 of a wgmma stands in shared memory";
    }
    return kind == PG_ENC_MMA || kind == PG_ENC_WGMMA ? NULL
                                                      : "`of` is an encoding of kind mma or wgmma";
}

static const char *fault_of_slice(const pg_types *types, const pg_enc_info *e)
{
    const pg_enc_info *of = pg_enc_get(types, e->of);
    if (pg_enc_is_memory(types, e->of)) {
        return "`of` is an encoding of registers";
    }
    return e->dim < of->rank ? NULL : "`dim` is a dimension of the encoding `of`";
}

static const char *fault_of(const pg_types *types, const pg_enc_info *e)
{
    switch (e->kind) {
    case PG_ENC_SMEM: return fault_of_smem(e);
    case PG_ENC_BLOCKED: return fault_of_blocked(e);
    case PG_ENC_WGMMA: return fault_of_wgmma(e);
    case PG_ENC_LINEAR: return fault_of_linear(e);
    case PG_ENC_MMA: return fault_of_mma(e);
    case PG_ENC_DOT: return fault_of_dot(types, e);
    case PG_ENC_SLICE: return fault_of_slice(types, e);
    default: return "it is of no kind";
    }
}

const char *pg_enc_fault(const pg_types *types, pg_enc e)
{
    return fault_of(types, pg_enc_get(types, e));
}

void pg_verify_encs(pg_verifier *v)
{
    for (uint32_t i = 0; i < v->m->encs.n; i++) {
        const pg_enc_name *row = &v->m->encs.at[i];
        const char *fault = pg_enc_fault(v->types, row->enc);
        if (fault != NULL && row->enc.id != 0) { /* id 0: its text has an error */
            pg_verify_error(v, PG_D_BAD_ENC, row->loc, pg_sym_text(&v->m->ctx->syms, row->name).ptr,
                            fault);
        }
    }
}
