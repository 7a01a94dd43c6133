/* layout.c: the public description of an encoding. */
#include <string.h>

#include "ir/layout_text.h"

#include "api.h"

enum { MAX_WARPS = 32, DEFAULT_BITS_ELEM = PG_F16 };

static pg_status misuse(pg_diags *diags, const char *what)
{
    return pg_diag_add(diags, PG_D_LAYOUT_QUERY, (pg_loc){0, 0}, what);
}

static pg_elem find_elem(pg_str text)
{
    for (uint32_t e = 1; e < PG_ELEM_COUNT; e++) {
        if (pg_str_is(text, pg_elem_infos[e].text)) {
            return (pg_elem)e;
        }
    }
    return PG_ELEM_NONE;
}

/* The type that the encoding is looked at for. */
static pg_status type_of(pg_types *types, const ptxgen_layout_query *q, pg_enc enc, pg_diags *diags,
                         pg_type_info *out)
{
    memset(out, 0, sizeof *out);
    const pg_enc_info *e = pg_enc_get(types, enc);
    pg_elem elem = q->elem.len == 0 ? (pg_elem)DEFAULT_BITS_ELEM : find_elem(pg_str_in(q->elem));
    if (elem == PG_ELEM_NONE) {
        return misuse(diags, "`elem` is no element type");
    }
    out->elem = (uint8_t)elem;
    bool is_memory = pg_enc_is_memory(types, enc);
    out->kind = is_memory ? PG_TY_BUF : PG_TY_TILE;
    out->space = is_memory ? PG_SPACE_SMEM : PG_SPACE_NONE;
    out->rank = (uint8_t)pg_enc_extents(types, enc, pg_elem_infos[elem].bits, out->dims);
    out->enc = enc;
    if (q->rank == 0) {
        return PG_OK;
    }
    if (q->rank != e->rank) {
        return misuse(diags, "`shape` has another number of extents than the encoding");
    }
    for (uint32_t d = 0; d < q->rank; d++) {
        if (q->shape[d] <= 0 || q->shape[d] > 1 << 20) {
            return misuse(diags, "an extent of `shape` is not 1 to 1048576");
        }
        out->dims[d] = q->shape[d];
    }
    return PG_OK;
}

static uint32_t warps_of(const pg_types *types, pg_enc enc)
{
    const pg_enc_info *e = pg_enc_get(types, enc);
    uint32_t n = 1;
    if (e->kind == PG_ENC_DOT || e->kind == PG_ENC_SLICE) {
        return warps_of(types, e->of); /* an earlier one: it ends */
    }
    if (e->kind == PG_ENC_LINEAR) {
        return e->n_warp < 6 ? 1u << e->n_warp : MAX_WARPS;
    }
    for (uint32_t d = 0; d < e->rank && e->kind != PG_ENC_SMEM; d++) {
        n *= e->warps[d];
    }
    return n;
}

static pg_status describe(ptxgen_ctx *ctx, pg_str text, const ptxgen_layout_query *q,
                          ptxgen_result *r)
{
    pg_layout_view view = {.n_warps = q->n_warps};
    pg_type_info info;
    PG_TRY(pg_parse_enc_text(&ctx->ir, text, &r->diags, &view.enc, &view.loc));
    PG_TRY(type_of(ctx->ir.types, q, view.enc, &r->diags, &info));
    pg_type type = pg_type_intern(ctx->ir.types, &info);
    view.types = ctx->ir.types;
    view.elem_bits = pg_elem_infos[info.elem].bits;
    view.elem = pg_elem_infos[info.elem].text;
    if (type.id == 0) {
        return PG_E_NOMEM;
    }
    if (view.n_warps == 0) {
        view.n_warps = warps_of(ctx->ir.types, view.enc);
    }
    pg_layout_error error =
        info.kind == PG_TY_BUF ? pg_layout_of_buf(ctx->ir.types, type, &view.layout)
                               : pg_layout_of_tile(ctx->ir.types, type, view.n_warps, &view.layout);
    if (error != PG_LAYOUT_OK) {
        return pg_diag_add(&r->diags, PG_D_ENC_NO_LAYOUT, view.loc, view.n_warps,
                           pg_layout_error_text(error));
    }
    view.is_memory = info.kind == PG_TY_BUF;
    pg_layout_put_table(&r->layout[PTXGEN_LAYOUT_TABLE], &view);
    pg_layout_put_svg(&r->layout[PTXGEN_LAYOUT_SVG], &view);
    pg_layout_put_json(&r->layout[PTXGEN_LAYOUT_JSON], &view);
    for (uint32_t i = 0; i < PTXGEN_LAYOUT_FORM_COUNT; i++) {
        PG_TRY(pg_strbuf_status(&r->layout[i]));
    }
    return PG_OK;
}

ptxgen_status ptxgen_describe_layout(ptxgen_ctx *ctx, ptxgen_str text,
                                     const ptxgen_layout_query *query_or_null, ptxgen_result **out)
{
    static const ptxgen_layout_query none = {.struct_size = sizeof none};
    const ptxgen_layout_query *q = query_or_null == NULL ? &none : query_or_null;
    if (out == NULL) {
        return PTXGEN_E_MISUSE;
    }
    *out = NULL;
    if (ctx == NULL) {
        return PTXGEN_E_MISUSE;
    }
    ptxgen_result *r = pg_result_new(ctx);
    if (r == NULL) {
        return PTXGEN_E_NOMEM;
    }
    pg_status status = PG_OK;
    if (q->struct_size != sizeof *q) {
        status = pg_diag_add(&r->diags, PG_D_API_STRUCT_SIZE, (pg_loc){0, 0}, "ptxgen_layout_query",
                             q->struct_size);
    } else if (q->n_warps > MAX_WARPS) {
        status = misuse(&r->diags, "there are at most 32 warps");
    }
    if (status == PG_OK) {
        status = pg_ctx_prepare(ctx);
    }
    if (status == PG_OK) {
        status = describe(ctx, pg_str_in(text), q, r);
    }
    return pg_result_finish(r, status, out);
}

ptxgen_str ptxgen_result_layout(const ptxgen_result *r, ptxgen_layout_form form)
{
    bool has_text =
        r != NULL && r->status == PTXGEN_OK && (uint32_t)form < PTXGEN_LAYOUT_FORM_COUNT;
    return pg_str_out(has_text ? pg_strbuf_str(&r->layout[form]) : PG_STR(""));
}
