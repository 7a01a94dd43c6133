/* layouts_enc.c: the encodings that the pass `layouts` hands out, and their names.
 *
 * I1  Equal layouts of one shape get one encoding: the module's first that means it, else the
 *     blocked one, else the one of a fragment (mma, dot), else a linear one. So encodings can be
 *     compared by id. */
#include "ir/layout_back.h"
#include "sched/layouts.h"

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

/* ---- what encodings mean --------------------------------------------------------------------- */

/* A layout that is looked for, and a number that equal ones have in common. */
typedef struct wanted {
    const pg_layout *layout;
    uint32_t sign;
} wanted;

static uint32_t sign_of(const pg_layout *l)
{
    uint32_t h = l->rank * 16u + l->n_outer;
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        h = h * 31 + l->n_bits[d];
        for (uint32_t b = 0; b < l->n_bits[d]; b++) {
            h = (h ^ l->basis[d][b]) * UINT32_C(2654435761);
        }
    }
    return h | 1u; /* 0 is that of no layout */
}

/* The signs of the encodings of types are kept with the context: nearly all that an encoding is
 * compared with has another. */
enum { PG_MEANINGS = 512 };
typedef struct pg_layouts_kept {
    struct {
        uint32_t tile, enc, n_warps, sign;
    } at[PG_MEANINGS];
} pg_layouts_kept;

static pg_layouts_kept *kept_of(const pg_layouts *l)
{
    pg_ctx *ctx = l->k->module->ctx;
    if (ctx->layouts == NULL) {
        ctx->layouts = PG_NEW(&ctx->arena, pg_layouts_kept);
    }
    return ctx->layouts;
}

/* Does `e` give this tile the layout that is wanted? */
static bool means(pg_layouts *l, pg_enc e, pg_type tile, uint32_t n_warps, const wanted *want)
{
    const pg_enc_info *info = pg_enc_get(l->types, e);
    pg_layouts_kept *kept = kept_of(l);
    if (info->kind == PG_ENC_NONE || info->kind == PG_ENC_SMEM ||
        info->rank != want->layout->rank || kept == NULL) {
        return false;
    }
    const uint32_t hash = (tile.id * 31 + e.id * 7 + n_warps) * UINT32_C(2654435761);
    const uint32_t at = (hash >> 16) % PG_MEANINGS;
    const bool is_known =
        kept->at[at].tile == tile.id && kept->at[at].enc == e.id && kept->at[at].n_warps == n_warps;
    if (is_known && kept->at[at].sign != want->sign) {
        return false;
    }
    pg_layout got;
    const pg_type type = pg_type_with_enc(l->types, tile, e);
    const bool is_good = pg_layout_of_tile(l->types, type, n_warps, &got) == PG_LAYOUT_OK;
    kept->at[at].tile = tile.id;
    kept->at[at].enc = e.id;
    kept->at[at].n_warps = n_warps;
    kept->at[at].sign = is_good ? sign_of(&got) : 0;
    return is_good && pg_layout_is_same(&got, want->layout);
}

/* What a layout is called where the module has no encoding for it: the blocked one, if that means
 * it (id 0: not), and the linear one. */
typedef struct plain_encs {
    pg_enc blocked, linear;
    pg_layout_error error; /* of `linear` */
} plain_encs;

static plain_encs plain_of(pg_layouts *l, pg_type tile, uint32_t n_warps, const pg_layout *want)
{
    const pg_type_info *t = pg_type_get(l->types, tile);
    const wanted w = {want, sign_of(want)};
    plain_encs p = {.error = PG_LAYOUT_OK};
    p.blocked = pg_enc_default(l->types, t->rank, t->dims, n_warps, pg_layout_vector(want));
    if (p.blocked.id != 0 && !means(l, p.blocked, tile, n_warps, &w)) {
        p.blocked.id = 0;
    }
    p.error = pg_enc_of_layout(l->types, want, &p.linear);
    return p;
}

/* I1. The encoding that the tile has is taken before all others. `plain_or_null`: what is known. */
static pg_layout_error enc_for(pg_layouts *l, pg_type tile, uint32_t n_warps, const pg_layout *want,
                               pg_enc named, const plain_encs *plain_or_null, pg_enc *out)
{
    const pg_module *m = l->k->module;
    const wanted w = {want, sign_of(want)};
    *out = pg_type_get(l->types, tile)->enc;
    if (out->id != 0 && means(l, *out, tile, n_warps, &w)) {
        return PG_LAYOUT_OK;
    }
    for (uint32_t i = 0; i < m->encs.n; i++) {
        if (means(l, m->encs.at[i].enc, tile, n_warps, &w)) {
            *out = m->encs.at[i].enc;
            return PG_LAYOUT_OK;
        }
    }
    const plain_encs plain =
        plain_or_null != NULL ? *plain_or_null : plain_of(l, tile, n_warps, want);
    const bool is_named =
        plain.blocked.id == 0 && named.id != 0 && means(l, named, tile, n_warps, &w);
    *out = plain.blocked.id != 0 ? plain.blocked : is_named ? named : plain.linear;
    return plain.blocked.id != 0 || is_named ? PG_LAYOUT_OK : plain.error;
}

pg_layout_error pg_layouts_enc_for(pg_layouts *l, pg_type tile, uint32_t n_warps,
                                   const pg_layout *want, pg_enc *out)
{
    return enc_for(l, tile, n_warps, want, (pg_enc){0}, NULL, out);
}

pg_enc pg_layouts_of_layout(pg_layouts *l, const pg_inst *at, pg_type tile, const pg_layout *layout,
                            pg_layout_error error, pg_enc named)
{
    pg_enc e = {0};
    if (error == PG_LAYOUT_OK) {
        error = enc_for(l, tile, pg_inst_warps(at), layout, named, NULL, &e);
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
    pg_pass_explain(l->env, "layouts", l->k, at,
                    "no encoding reaches it: #%.*s, %u elements per thread in a row",
                    PG_STR_ARG(name), pg_layout_vector(&layout));
    return e;
}

/* plain_of for operand 0 of an operation without attributes, remembered. */
static plain_encs plain_of_operand(pg_layouts *l, const pg_inst *i, pg_type type, uint32_t n_warps,
                                   const pg_layout *want)
{
    const pg_type in = pg_val_type(l->k, i->in[0]);
    const pg_memo_key key = {PG_MEMO_PLAIN, {(uint32_t)i->op << 16 | n_warps, type.id, in.id}};
    const plain_encs *known = i->attrs.n == 0 ? pg_memo_get(l->types, &key) : NULL;
    if (known != NULL) {
        return *known;
    }
    const plain_encs made = plain_of(l, in, n_warps, want);
    if (i->attrs.n == 0) {
        pg_memo_put(l->types, &key, &made, sizeof made);
    }
    return made;
}

/* The encoding, not named yet; id 0 after a message. */
static pg_enc pull(pg_layouts *l, const pg_inst *i, pg_type type, pg_enc enc)
{
    pg_enc e = {0};
    const uint32_t n_warps = pg_inst_warps(i);
    const pg_layout_back back = pg_layout_back_of(l->types, l->k, i, type, n_warps);
    if (back.res_error != PG_LAYOUT_OK) {
        return no_layout(l, i, type, back.res_error);
    }
    pg_layout_error err = back.error;
    if (err == PG_LAYOUT_OK) {
        const plain_encs plain = plain_of_operand(l, i, type, n_warps, &back.layout);
        err =
            enc_for(l, pg_val_type(l->k, i->in[0]), n_warps, &back.layout, (pg_enc){0}, &plain, &e);
    }
    if (err != PG_LAYOUT_OK) {
        const pg_str name = pg_layouts_enc_text(l, enc);
        (void)pg_diag_add(l->env->diags, PG_D_LAYOUT_BACK, i->loc, 0u, name.ptr,
                          pg_layout_error_text(err));
        l->n_errors++;
        return (pg_enc){0};
    }
    return e;
}

pg_enc pg_layouts_pull(pg_layouts *l, const pg_inst *i, pg_enc enc)
{
    const pg_type in = pg_val_type(l->k, i->in[0]);
    const pg_type type = pg_type_with_enc(l->types, pg_val_type(l->k, i->out[0]), enc);
    const uint32_t n_warps = pg_inst_warps(i);
    for (uint32_t p = 0; p < PG_PULLS && i->attrs.n == 0; p++) {
        const pg_pulled *known = &l->pulled[p];
        if (known->op == i->op && known->n_warps == n_warps && pg_type_eq(known->in, in) &&
            pg_type_eq(known->out, type)) {
            return known->enc; /* I1: what was found first stays the first, and has its name */
        }
    }
    const pg_enc e = pull(l, i, type, enc);
    if (e.id != 0) {
        (void)pg_layouts_enc_text(l, e);
        if (i->attrs.n == 0) {
            l->pulled[l->n_pulled++ % PG_PULLS] = (pg_pulled){i->op, n_warps, in, type, e};
        }
    }
    return e;
}
