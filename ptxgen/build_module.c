/* Modules, types and encodings of the public builder. */
#include "build.h"

_Static_assert((int)PTXGEN_I1 == (int)PG_I1 && (int)PTXGEN_I64 == (int)PG_I64 &&
                   (int)PTXGEN_F16 == (int)PG_F16 && (int)PTXGEN_BF16 == (int)PG_BF16 &&
                   (int)PTXGEN_F32 == (int)PG_F32 && (int)PTXGEN_F64 == (int)PG_F64 &&
                   (int)PTXGEN_TF32 == (int)PG_TF32 && (int)PTXGEN_E4M3 == (int)PG_E4M3 &&
                   (int)PTXGEN_E5M2 == (int)PG_E5M2,
               "public element numbers follow types.def");

ptxgen_status ptxgen_module_create(ptxgen_ctx *ctx, ptxgen_str target, ptxgen_module **out)
{
    if (out == NULL) {
        return PTXGEN_E_MISUSE;
    }
    *out = NULL;
    if (ctx == NULL) {
        return PTXGEN_E_MISUSE;
    }
    pg_status s = pg_ctx_prepare(ctx);
    if (s != PG_OK) {
        return (ptxgen_status)s;
    }
    ptxgen_module *m = ctx->alloc.resize(ctx->alloc.user, NULL, 0, sizeof *m);
    if (m == NULL) {
        return PTXGEN_E_NOMEM;
    }
    *m = (ptxgen_module){.ctx = ctx};
    pg_arena_init(&m->arena, ctx->alloc);
    pg_diags_init(&m->diags, &m->arena, ctx->alloc);
    s = pg_module_create(&ctx->ir, &m->diags, &m->ir);
    ctx->n_modules++;
    if (s == PG_OK) {
        s = pg_module_set_target(m->ir, pg_str_in(target), (pg_loc){0, 0});
    }
    if (s != PG_OK) {
        ptxgen_module_destroy(m);
        return (ptxgen_status)s;
    }
    *out = m;
    return PTXGEN_OK;
}

static void drop_builder(ptxgen_module *m)
{
    if (m->builder != NULL) {
        pg_alloc a = m->ctx->alloc;
        (void)a.resize(a.user, m->builder, sizeof *m->builder, 0);
        m->builder = NULL;
    }
}

void ptxgen_module_destroy(ptxgen_module *m)
{
    if (m == NULL) {
        return;
    }
    pg_alloc a = m->ctx->alloc;
    drop_builder(m);
    if (m->ir != NULL) {
        pg_module_destroy(m->ir);
    }
    ptxgen_ctx *ctx = m->ctx;
    ctx->n_modules--;
    pg_arena_fini(&m->arena);
    (void)a.resize(a.user, m, sizeof *m, 0);
    if (ctx->is_left && ctx->n_modules == 0) {
        ptxgen_ctx_destroy(ctx);
    }
}

static pg_status copy_diags(const ptxgen_module *m, ptxgen_result *r)
{
    for (uint32_t i = 0; i < m->diags.n; i++) {
        pg_diags_copy(&r->diags, &m->diags.at[i]);
    }
    return pg_diags_status(&m->diags);
}

ptxgen_status ptxgen_module_print(ptxgen_module *m, ptxgen_result **out)
{
    if (out == NULL) {
        return PTXGEN_E_MISUSE;
    }
    *out = NULL;
    if (m == NULL) {
        return PTXGEN_E_MISUSE;
    }
    ptxgen_result *r = pg_result_new(m->ctx);
    if (r == NULL) {
        return PTXGEN_E_NOMEM;
    }
    pg_status s = copy_diags(m, r);
    if (m->builder != NULL) {
        const char *place = pg_build_place(m->builder);
        s = pg_diag_add(&r->diags, PG_D_BUILD, m->builder->at, place,
                        "the kernel is still being built: ptxgen_kernel_end ends it");
        return pg_result_finish(r, s, out);
    }
    pg_print(&r->ir, m->ir);
    if (s == PG_OK) {
        s = pg_strbuf_status(&r->ir);
    }
    return pg_result_finish(r, s, out);
}

ptxgen_status ptxgen_module_compile(ptxgen_module *m, const ptxgen_options *options,
                                    ptxgen_result **out)
{
    if (out == NULL) {
        return PTXGEN_E_MISUSE;
    }
    *out = NULL;
    if (m == NULL) {
        return PTXGEN_E_MISUSE;
    }
    if (m->builder != NULL || pg_diags_status(&m->diags) != PG_OK) { /* the builder's errors */
        return ptxgen_module_print(m, out);
    }
    const pg_source from = {.module = m->ir, .has_places = m->has_places};
    return pg_compile_call(m->ctx, &from, options, out);
}

/* ---- types ----------------------------------------------------------------------------------- */

static ptxgen_type shaped(ptxgen_module *m, pg_type_info *info, ptxgen_elem elem, uint32_t rank,
                          const int32_t *dims)
{
    if (m == NULL || dims == NULL || rank < 1 || rank > PG_MAX_RANK || elem <= PTXGEN_ELEM_NONE ||
        elem > PTXGEN_E5M2) {
        return (ptxgen_type){0};
    }
    info->elem = (uint8_t)elem;
    info->rank = (uint8_t)rank;
    for (uint32_t d = 0; d < rank; d++) {
        info->dims[d] = dims[d];
    }
    return (ptxgen_type){pg_type_intern(m->ir->ctx->types, info).id};
}

ptxgen_type ptxgen_type_scalar(ptxgen_module *m, ptxgen_elem elem)
{
    if (m == NULL || elem <= PTXGEN_ELEM_NONE || elem > PTXGEN_E5M2) {
        return (ptxgen_type){0};
    }
    return (ptxgen_type){pg_type_scalar(m->ir->ctx->types, (pg_elem)elem).id};
}

ptxgen_type ptxgen_type_ptr(ptxgen_module *m, ptxgen_elem elem)
{
    if (m == NULL || elem <= PTXGEN_ELEM_NONE || elem > PTXGEN_E5M2) {
        return (ptxgen_type){0};
    }
    return (ptxgen_type){pg_type_ptr(m->ir->ctx->types, (pg_elem)elem).id};
}

ptxgen_type ptxgen_type_tile(ptxgen_module *m, ptxgen_elem elem, uint32_t rank, const int32_t *dims,
                             ptxgen_encoding enc)
{
    pg_type_info info = {.kind = PG_TY_TILE, .enc = {enc.id}};
    return shaped(m, &info, elem, rank, dims);
}

ptxgen_type ptxgen_type_ptr_tile(ptxgen_module *m, ptxgen_elem elem, uint32_t rank,
                                 const int32_t *dims, ptxgen_encoding enc)
{
    pg_type_info info = {.kind = PG_TY_TILE, .is_ptr = 1, .enc = {enc.id}};
    return shaped(m, &info, elem, rank, dims);
}

ptxgen_type ptxgen_type_desc(ptxgen_module *m, ptxgen_elem elem, uint32_t rank, const int32_t *box,
                             ptxgen_encoding enc)
{
    pg_type_info info = {.kind = PG_TY_DESC, .enc = {enc.id}};
    return shaped(m, &info, elem, rank, box);
}

ptxgen_type ptxgen_type_buf(ptxgen_module *m, ptxgen_elem elem, uint32_t rank, const int32_t *dims,
                            ptxgen_encoding enc)
{
    pg_type_info info = {.kind = PG_TY_BUF, .space = PG_SPACE_SMEM, .enc = {enc.id}};
    return shaped(m, &info, elem, rank, dims);
}

static ptxgen_type counted(ptxgen_module *m, pg_type_kind kind, uint32_t n)
{
    if (m == NULL || n < 1 || n > INT32_MAX) {
        return (ptxgen_type){0};
    }
    pg_type_info info = {.kind = (uint8_t)kind, .dims = {(int32_t)n}};
    return (ptxgen_type){pg_type_intern(m->ir->ctx->types, &info).id};
}

ptxgen_type ptxgen_type_ring(ptxgen_module *m, uint32_t n_slots)
{
    return counted(m, PG_TY_RING, n_slots);
}

ptxgen_type ptxgen_type_bar(ptxgen_module *m, uint32_t n_barriers)
{
    return counted(m, PG_TY_BAR, n_barriers);
}

ptxgen_type ptxgen_type_token(ptxgen_module *m)
{
    return m == NULL ? (ptxgen_type){0} : (ptxgen_type){pg_type_token(m->ir->ctx->types).id};
}

ptxgen_type ptxgen_type_with_elem(ptxgen_module *m, ptxgen_type t, ptxgen_elem elem)
{
    if (m == NULL || elem <= PTXGEN_ELEM_NONE || elem > PTXGEN_E5M2) {
        return (ptxgen_type){0};
    }
    return (ptxgen_type){
        pg_type_with_elem(m->ir->ctx->types, (pg_type){t.id}, (pg_elem)elem, false).id};
}

/* ---- encodings ------------------------------------------------------------------------------- */

static ptxgen_encoding named(ptxgen_module *m, const char *name, const pg_enc_info *info)
{
    pg_enc e = pg_enc_intern(m->ir->ctx->types, info);
    pg_enc_name n = {.name = pg_intern(&m->ir->ctx->syms, pg_str_of(name)), .enc = e};
    if (e.id == 0 || n.name.id == 0 || !pg_vec_push(&m->ir->arena, &m->ir->encs, n)) {
        return (ptxgen_encoding){0};
    }
    return (ptxgen_encoding){e.id};
}

ptxgen_encoding ptxgen_encoding_smem(ptxgen_module *m, const char *name, uint32_t rank,
                                     const uint32_t *order, uint32_t swizzle)
{
    if (m == NULL || order == NULL || rank < 1 || rank > PG_MAX_RANK || swizzle > 128) {
        return (ptxgen_encoding){0};
    }
    pg_enc_info info = {.kind = PG_ENC_SMEM, .rank = (uint8_t)rank, .swizzle = (uint16_t)swizzle};
    for (uint32_t d = 0; d < rank; d++) {
        info.order[d] = (uint8_t)order[d];
    }
    return named(m, name, &info);
}

ptxgen_encoding ptxgen_encoding_wgmma(ptxgen_module *m, const char *name, uint32_t n, uint32_t k,
                                      uint32_t warps_m)
{
    if (m == NULL || n > 256 || k > 256 || warps_m > 64) {
        return (ptxgen_encoding){0};
    }
    pg_enc_info info = {.kind = PG_ENC_WGMMA,
                        .rank = 2,
                        .shape = {64, (uint16_t)n, (uint16_t)k},
                        .warps = {(uint16_t)warps_m, 1}};
    return named(m, name, &info);
}

ptxgen_encoding ptxgen_encoding_blocked(ptxgen_module *m, const char *name, uint32_t rank,
                                        const uint32_t *regs, const uint32_t *lanes,
                                        const uint32_t *warps)
{
    if (m == NULL || rank < 1 || rank > PG_MAX_RANK || regs == NULL || lanes == NULL ||
        warps == NULL) {
        return (ptxgen_encoding){0};
    }
    pg_enc_info info = {.kind = PG_ENC_BLOCKED, .rank = (uint8_t)rank};
    for (uint32_t d = 0; d < rank; d++) {
        info.regs[d] = (uint16_t)regs[d];
        info.lanes[d] = (uint16_t)lanes[d];
        info.warps[d] = (uint16_t)warps[d];
        info.order[d] = (uint8_t)(rank - 1 - d);
    }
    return named(m, name, &info);
}
