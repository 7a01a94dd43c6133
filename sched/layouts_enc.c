/* layouts_enc.c: the encodings that the pass `layouts` hands out, and their names.
 *
 * I1  Equal layouts of one shape get one encoding: the module's first that means it, else the
 *     blocked one, else the one of a fragment (mma, dot), else a linear one. So encodings can be
 *     compared by id. */
#include "sched/layouts.h"

static bool layouts_equal(const pg_layout *a, const pg_layout *b)
{
    if (a->rank != b->rank || a->n_outer != b->n_outer) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_outer; i++) {
        const pg_outer_digit *x = &a->outer[i], *y = &b->outer[i];
        if (x->in_dim != y->in_dim || x->out_dim != y->out_dim || x->extent != y->extent ||
            x->stride != y->stride) {
            return false;
        }
    }
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        if (a->n_bits[d] != b->n_bits[d]) {
            return false;
        }
        for (uint32_t i = 0; i < a->n_bits[d]; i++) {
            if (a->basis[d][i] != b->basis[d][i]) {
                return false;
            }
        }
    }
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->dims[d] != b->dims[d] || a->shift[d] != b->shift[d]) {
            return false;
        }
    }
    return true;
}

pg_str pg_layouts_enc_text(pg_layouts *l, pg_enc e)
{
    pg_module *m = l->k->module;
    const uint8_t kind = pg_enc_get(l->types, e)->kind;
    const char *stem = kind == PG_ENC_BLOCKED ? "blk"
                       : kind == PG_ENC_MMA   ? "mma"
                       : kind == PG_ENC_DOT   ? "dot"
                                              : "lin";
    const pg_sym name = pg_module_enc_name(m, e, stem);
    if (name.id == 0) {
        l->status = PG_E_NOMEM;
    }
    return pg_sym_text(&m->ctx->syms, name);
}

void pg_layouts_explain(pg_layouts *l, const pg_inst *at, const char *format, ...)
{
    if (!pg_pass_explains(l->env, "layouts")) {
        return;
    }
    pg_strbuf b;
    va_list args;
    pg_strbuf_init(&b, l->k->module->ctx->alloc);
    pg_putf(&b,
            "layouts: @%s: line %u: %s: ", pg_sym_text(&l->k->module->ctx->syms, l->k->name).ptr,
            at->loc.line, pg_op_infos[at->op].text);
    va_start(args, format);
    pg_putv(&b, format, args);
    va_end(args);
    pg_put_char(&b, '\n');
    pg_sink_put(&l->env->options->sink, pg_strbuf_str(&b));
    pg_strbuf_fini(&b);
}

static pg_enc no_layout(pg_layouts *l, const pg_inst *at, pg_type tile, pg_layout_error why)
{
    pg_strbuf b;
    pg_strbuf_init(&b, l->k->module->ctx->alloc);
    pg_print_type(&b, l->k->module, tile);
    const pg_str text = pg_strbuf_str(&b);
    (void)pg_diag_add(l->env->diags, PG_D_LAYOUT_NONE, at->loc, PG_STR_ARG(text), pg_inst_warps(at),
                      pg_layout_error_text(why));
    pg_strbuf_fini(&b);
    l->n_errors++;
    return (pg_enc){0};
}

/* Does `e` give this tile the layout `want`? */
static bool means(pg_layouts *l, pg_enc e, pg_type tile, uint32_t n_warps, const pg_layout *want)
{
    pg_layout got;
    const pg_enc_info *info = pg_enc_get(l->types, e);
    return info->kind != PG_ENC_NONE && info->kind != PG_ENC_SMEM && info->rank == want->rank &&
           pg_layout_of_tile(l->types, pg_type_with_enc(l->types, tile, e), n_warps, &got) ==
               PG_LAYOUT_OK &&
           layouts_equal(&got, want);
}

/* I1. The encoding that the tile has is taken before all others. */
static pg_layout_error enc_for(pg_layouts *l, pg_type tile, uint32_t n_warps, const pg_layout *want,
                               pg_enc named, pg_enc *out)
{
    const pg_module *m = l->k->module;
    *out = pg_type_get(l->types, tile)->enc;
    if (out->id != 0 && means(l, *out, tile, n_warps, want)) {
        return PG_LAYOUT_OK;
    }
    for (uint32_t i = 0; i < m->encs.n; i++) {
        if (means(l, m->encs.at[i].enc, tile, n_warps, want)) {
            *out = m->encs.at[i].enc;
            return PG_LAYOUT_OK;
        }
    }
    const pg_type_info *t = pg_type_get(l->types, tile);
    *out = pg_enc_default(l->types, t->rank, t->dims, n_warps, pg_layout_vector(want));
    if (out->id != 0 && means(l, *out, tile, n_warps, want)) {
        return PG_LAYOUT_OK;
    }
    if (named.id != 0 && means(l, named, tile, n_warps, want)) {
        *out = named;
        return PG_LAYOUT_OK;
    }
    return pg_enc_of_layout(l->types, want, out);
}

pg_layout_error pg_layouts_enc_for(pg_layouts *l, pg_type tile, uint32_t n_warps,
                                   const pg_layout *want, pg_enc *out)
{
    return enc_for(l, tile, n_warps, want, (pg_enc){0}, out);
}

pg_enc pg_layouts_of_layout(pg_layouts *l, const pg_inst *at, pg_type tile, const pg_layout *layout,
                            pg_layout_error error, pg_enc named)
{
    pg_enc e = {0};
    if (error == PG_LAYOUT_OK) {
        error = enc_for(l, tile, pg_inst_warps(at), layout, named, &e);
    }
    if (error != PG_LAYOUT_OK) {
        return no_layout(l, at, tile, error);
    }
    (void)pg_layouts_enc_text(l, e);
    return e;
}

/* The default before it has a name. */
static pg_layout_error default_enc(pg_layouts *l, const pg_inst *at, pg_type tile,
                                   pg_layout *layout, pg_enc *out)
{
    const uint32_t n_warps = pg_inst_warps(at);
    const pg_type_info *t = pg_type_get(l->types, tile);
    const pg_enc blocked = pg_layouts_for_reduce(
        l, t, n_warps, pg_enc_default(l->types, t->rank, t->dims, n_warps, l->vec));
    *out = blocked;
    pg_layout_error err =
        pg_layout_of_tile(l->types, pg_type_with_enc(l->types, tile, *out), n_warps, layout);
    if (err == PG_LAYOUT_OK) {
        err = pg_layouts_enc_for(l, tile, n_warps, layout, out);
        if (err == PG_LAYOUT_NOT_LINEAR) { /* outer digits: the blocked encoding itself */
            *out = blocked;
            err = PG_LAYOUT_OK;
        }
    }
    return err;
}

pg_enc pg_layouts_peek_default(pg_layouts *l, const pg_inst *at, pg_type tile)
{
    pg_layout layout;
    pg_enc e = {0};
    return default_enc(l, at, tile, &layout, &e) == PG_LAYOUT_OK ? e : (pg_enc){0};
}

pg_enc pg_layouts_default(pg_layouts *l, const pg_inst *at, pg_type tile)
{
    pg_layout layout;
    pg_enc e = {0};
    const pg_layout_error err = default_enc(l, at, tile, &layout, &e);
    if (err != PG_LAYOUT_OK) {
        return no_layout(l, at, tile, err);
    }
    const pg_str name = pg_layouts_enc_text(l, e);
    pg_layouts_explain(l, at, "no encoding reaches it: #%.*s, %u elements per thread in a row",
                       PG_STR_ARG(name), pg_layout_vector(&layout));
    return e;
}

static pg_layout_error pull(pg_layouts *l, const pg_inst *i, const pg_layout *res, pg_layout *out)
{
    const pg_type_info *t = pg_val_info(l->k, i->in[0]);
    switch (i->op) {
    case PG_OP_BROADCAST: return pg_layout_back_broadcast(res, t->rank, t->dims, out);
    case PG_OP_EXPAND:
        return pg_layout_back_expand(res, (uint32_t)pg_attr_int(&i->attrs, PG_A_DIM, 0), out);
    case PG_OP_RESHAPE: return pg_layout_back_reshape(res, t->rank, t->dims, out);
    case PG_OP_TRANSPOSE: {
        uint32_t perm[PG_MAX_RANK] = {0};
        const pg_aval *p = pg_attr_get(&i->attrs, PG_A_PERM);
        for (uint32_t d = 0; p && d < p->n && d < PG_MAX_RANK; d++) {
            perm[d] = (uint32_t)p->items[d].num;
        }
        return p ? pg_layout_back_transpose(res, perm, out) : PG_LAYOUT_SHAPE;
    }
    default: return PG_LAYOUT_SHAPE;
    }
}

pg_enc pg_layouts_pull(pg_layouts *l, const pg_inst *i, pg_enc enc)
{
    pg_layout res, operand;
    pg_enc e = {0};
    const uint32_t n_warps = pg_inst_warps(i);
    const pg_type type = pg_type_with_enc(l->types, pg_val_type(l->k, i->out[0]), enc);
    pg_layout_error err = pg_layout_of_tile(l->types, type, n_warps, &res);
    if (err != PG_LAYOUT_OK) {
        return no_layout(l, i, type, err);
    }
    err = pull(l, i, &res, &operand);
    if (err == PG_LAYOUT_OK) {
        err = pg_layouts_enc_for(l, pg_val_type(l->k, i->in[0]), n_warps, &operand, &e);
    }
    if (err != PG_LAYOUT_OK) {
        const pg_str name = pg_layouts_enc_text(l, enc);
        (void)pg_diag_add(l->env->diags, PG_D_LAYOUT_BACK, i->loc, 0u, name.ptr,
                          pg_layout_error_text(err));
        l->n_errors++;
        return (pg_enc){0};
    }
    (void)pg_layouts_enc_text(l, e);
    return e;
}
