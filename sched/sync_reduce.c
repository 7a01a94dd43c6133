/* sync_reduce.c: a reduction whose dimension is spread over warps becomes
 *
 *   %p = reduce %x [dim=D, parts=W, span=S]   what each warp has
 *   buf.store %b, %p
 *   cta.sync
 *   %q = buf.load %b                          all of them, in each thread that wants the result
 *   %y = reduce %q [dim=D]
 *
 * I1  A buffer belongs to one reduction. In a loop its next store waits for its last load: by a
 *     second barrier after the load, unless the same body has another one.
 * I2  f16 and bf16 sums go over to f32 before and are rounded once at the end. */
#include <string.h>

#include "ir/reduce.h"
#include "sched/sync.h"

typedef struct syncer {
    pg_sync *sync;
    pg_kernel *k;
    pg_types *types;
    PG_VEC(pg_inst *) found;
    pg_val *map; /* by value id: what replaces it */
    uint32_t n_map;
} syncer;

/* One reduction on its way. */
typedef struct handover {
    pg_inst *inst;
    pg_reduce r;
    pg_layout in;
    bool is_wide; /* I2 */
    pg_elem elem; /* computed in */
    pg_type part, flat_part, flat_all, all;
} handover;

static pg_status refuse(syncer *s, const pg_inst *i, pg_layout_error why)
{
    return pg_diag_add(s->sync->env->diags, PG_D_LOWER_LAYOUT, i->loc, pg_layout_error_text(why));
}

static pg_val emit(syncer *s, pg_inst *at, pg_op op, pg_val in, pg_type type)
{
    return pg_sync_value(s->sync, at, at, op, 1, &in, type);
}

static pg_val emit_reduce(syncer *s, const handover *h, pg_val in, pg_type type, bool is_part)
{
    pg_val v = emit(s, h->inst, PG_OP_REDUCE, in, type);
    pg_inst *i = pg_val_def(s->k, v);
    if (i != NULL) {
        pg_attr_set_int(s->k, &i->attrs, PG_A_DIM, h->r.dim);
        pg_attr_set(s->k, &i->attrs, PG_A_OP, (pg_aval){.kind = PG_AV_WORD, .num = h->r.op});
    }
    if (i != NULL && is_part) {
        pg_attr_set_int(s->k, &i->attrs, PG_A_PARTS, h->r.parts);
        pg_attr_set_int(s->k, &i->attrs, PG_A_SPAN, h->r.span);
    }
    return v;
}

/* ---- types ---------------------------------------------------------------------------------- */

/* The steps of the warps along the dimension: neighbours, and powers of two. */
static pg_layout_error find_parts(handover *h, uint32_t warps)
{
    uint32_t all = 0, n = 0;
    for (uint32_t b = 0; b < h->in.n_bits[PG_LIN_WARP]; b++) {
        uint32_t index[PG_LIN_DIM_COUNT] = {0}, at[PG_MAX_RANK] = {0};
        index[PG_LIN_WARP] = 1u << b;
        pg_layout_at(&h->in, index, at);
        if ((warps >> b & 1) != 0) {
            all |= at[h->r.dim];
            n++;
        }
    }
    if (all == 0) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    h->r.span = all & (~all + 1);
    h->r.parts = 1u << n;
    return all / h->r.span == h->r.parts - 1 ? PG_LAYOUT_OK : PG_LAYOUT_NOT_LINEAR;
}

/* The tile with this layout; buffers have one or two dimensions, so it has too when is_flat. */
static pg_layout_error type_of(syncer *s, const handover *h, const pg_layout *l, bool is_flat,
                               pg_type *out)
{
    pg_layout flat;
    pg_enc enc;
    int32_t dims[PG_MAX_RANK] = {0};
    uint32_t rank = l->rank;
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = (int32_t)l->dims[d];
    }
    if (is_flat && rank > 2) {
        for (uint32_t d = 1; d + 1 < rank; d++) {
            dims[0] *= dims[d];
        }
        dims[1] = dims[rank - 1];
        rank = 2;
        pg_layout_error error = pg_layout_back_reshape(l, rank, dims, &flat);
        if (error != PG_LAYOUT_OK) {
            return error;
        }
        l = &flat;
    }
    pg_layout_error error = pg_enc_of_layout(s->types, l, &enc);
    if (error == PG_LAYOUT_OK) {
        (void)pg_module_enc_name(s->k->module, enc, "lin");
        *out = pg_type_tile(s->types, h->elem, rank, dims, enc);
    }
    return error;
}

/* Every part in the registers of each thread that has the result. */
static pg_layout_error gathered(syncer *s, const handover *h, const pg_layout *part, pg_layout *out)
{
    pg_layout res;
    const pg_inst *i = h->inst;
    const bool is_tile = pg_val_info(s->k, i->out[0])->kind == PG_TY_TILE;
    const uint32_t n_new = pg_log2(h->r.parts);
    pg_layout_error error = pg_layout_begin(out, part->rank, part->dims);
    if (error == PG_LAYOUT_OK && is_tile) {
        error = pg_layout_of_tile(s->types, pg_val_type(s->k, i->out[0]), pg_inst_warps(i), &res);
    }
    if (error != PG_LAYOUT_OK) {
        return error;
    }
    memcpy(out->n_bits, is_tile ? res.n_bits : part->n_bits, sizeof out->n_bits);
    out->n_bits[PG_LIN_REG] = (uint8_t)(is_tile ? res.n_bits[PG_LIN_REG] + n_new : n_new);
    if (out->n_bits[PG_LIN_REG] > 16 || (is_tile && res.n_outer != 0)) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    for (uint32_t b = 0; b < n_new; b++) {
        out->basis[PG_LIN_REG][b] = 1u << b << out->shift[h->r.dim];
    }
    for (uint32_t d = 0; is_tile && d < PG_LIN_DIM_COUNT; d++) {
        for (uint32_t b = 0; b < res.n_bits[d]; b++) {
            uint32_t index[PG_LIN_DIM_COUNT] = {0}, at[PG_MAX_RANK] = {0}, to[PG_MAX_RANK] = {0};
            index[d] = 1u << b;
            pg_layout_at(&res, index, at);
            for (uint32_t k = 0; k < out->rank; k++) {
                to[k] = k < h->r.dim ? at[k] : k == h->r.dim ? 0 : at[k - 1];
            }
            out->basis[d][b + (d == PG_LIN_REG ? n_new : 0)] = pg_layout_pack(out, to);
        }
    }
    return pg_layout_end(out);
}

static pg_layout_error find_types(syncer *s, handover *h, uint32_t warps)
{
    pg_layout part, all;
    pg_layout_error error = find_parts(h, warps);
    error = error != PG_LAYOUT_OK ? error : pg_reduce_result(&h->r, &h->in, &part);
    error = error != PG_LAYOUT_OK ? error : gathered(s, h, &part, &all);
    error = error != PG_LAYOUT_OK ? error : type_of(s, h, &part, false, &h->part);
    error = error != PG_LAYOUT_OK ? error : type_of(s, h, &part, true, &h->flat_part);
    error = error != PG_LAYOUT_OK ? error : type_of(s, h, &all, true, &h->flat_all);
    return error != PG_LAYOUT_OK ? error : type_of(s, h, &all, false, &h->all);
}

/* ---- the rewrite ---------------------------------------------------------------------------- */

/* I1 */
static bool needs_second(const syncer *s, const pg_inst *i)
{
    uint32_t n_here = 0;
    for (uint32_t j = 0; j < s->found.n; j++) {
        n_here += s->found.at[j]->parent == i->parent;
    }
    bool has_barrier = n_here > 1;
    pg_foreach_inst (other, i->parent) {
        has_barrier = has_barrier || pg_sync_is_barrier(s->sync, other);
    }
    return pg_sync_in_loop(i) && !has_barrier;
}

static pg_val as_shape(syncer *s, const handover *h, pg_val v, pg_type type)
{
    return pg_type_eq(pg_val_type(s->k, v), type) ? v : emit(s, h->inst, PG_OP_RESHAPE, v, type);
}

static pg_status rewrite(syncer *s, handover *h, bool is_second)
{
    pg_inst *i = h->inst;
    pg_type res = pg_val_type(s->k, i->out[0]);
    pg_type work = pg_type_with_elem(s->types, res, h->elem, false);
    pg_val x = i->in[0];
    pg_val b = pg_sync_buffer(s->sync, i, h->flat_part, (pg_enc){0});
    if (h->is_wide) {
        x = emit(s, i, PG_OP_CAST, x,
                 pg_type_with_elem(s->types, pg_val_type(s->k, x), h->elem, false));
    }
    pg_val p = as_shape(s, h, emit_reduce(s, h, x, h->part, true), h->flat_part);
    (void)pg_sync_emit(s->sync, i, i, PG_OP_BUF_STORE, 2, (pg_val[]){b, p}, (pg_type){0});
    PG_TRY(pg_sync_barrier(s->sync, i, i));
    pg_val q = as_shape(s, h, emit(s, i, PG_OP_BUF_LOAD, b, h->flat_all), h->all);
    if (is_second) {
        PG_TRY(pg_sync_barrier(s->sync, i, i));
    }
    pg_val y = emit_reduce(s, h, q, work, false);
    y = h->is_wide ? emit(s, i, PG_OP_CAST, y, res) : y;
    PG_TRY(pg_arena_status(&s->k->module->arena));
    s->map[i->out[0].id] = y;
    pg_inst_remove(i);
    return PG_OK;
}

/* Whether `i` hands over from warp to warp, and its layouts. */
static pg_status look_at(syncer *s, pg_inst *i, bool *is_needed, handover *h, uint32_t *warps)
{
    pg_layout res;
    pg_reduce_plan plan;
    const uint32_t n_warps = pg_inst_warps(i);
    const bool is_tile = pg_val_info(s->k, i->out[0])->kind == PG_TY_TILE;
    *h = (handover){.inst = i, .r = pg_reduce_of(i)};
    h->elem = (pg_elem)pg_val_info(s->k, i->in[0])->elem;
    h->is_wide = (h->elem == PG_F16 || h->elem == PG_BF16) && h->r.op == PG_REDUCE_SUM;
    h->elem = h->is_wide ? PG_F32 : h->elem;
    pg_layout_error e = pg_layout_of_tile(s->types, pg_val_type(s->k, i->in[0]), n_warps, &h->in);
    if (e == PG_LAYOUT_OK && is_tile) {
        e = pg_layout_of_tile(s->types, pg_val_type(s->k, i->out[0]), n_warps, &res);
    }
    e = e != PG_LAYOUT_OK ? e : pg_reduce_plan_make(&h->r, &h->in, is_tile ? &res : NULL, &plan);
    if (e != PG_LAYOUT_OK) {
        return refuse(s, i, e);
    }
    *warps = plan.warps;
    *is_needed = plan.warps != 0;
    if (*is_needed && h->r.parts != 0) {
        return refuse(s, i, PG_LAYOUT_NOT_LINEAR); /* this pass makes no such thing */
    }
    return PG_OK;
}

static pg_status find_all(syncer *s)
{
    pg_status status = PG_OK;
    for (pg_inst *i = s->k->body->first; i != NULL; i = pg_inst_walk(i, s->k->body)) {
        handover h;
        bool is_needed = false;
        uint32_t warps = 0;
        if (i->op != PG_OP_REDUCE) {
            continue;
        }
        pg_status one = look_at(s, i, &is_needed, &h, &warps);
        status = status == PG_OK ? one : status;
        if (is_needed && !pg_vec_push(s->sync->env->scratch, &s->found, i)) {
            return PG_E_NOMEM;
        }
    }
    return status;
}

pg_status pg_sync_reduces(pg_sync *sync)
{
    syncer s = {.sync = sync, .k = sync->k, .types = sync->types};
    if (!pg_kernel_has(s.k, PG_OP_REDUCE)) {
        return PG_OK;
    }
    PG_TRY(find_all(&s));
    if (s.found.n == 0) {
        return PG_OK;
    }
    s.n_map = s.k->values.n;
    s.map = PG_NEWS(sync->env->scratch, pg_val, s.n_map);
    bool *is_second = PG_NEWS(sync->env->scratch, bool, s.found.n);
    if (s.map == NULL || is_second == NULL) {
        return PG_E_NOMEM;
    }
    for (uint32_t j = 0; j < s.found.n; j++) {
        is_second[j] = needs_second(&s, s.found.at[j]);
    }
    for (uint32_t j = 0; j < s.found.n; j++) {
        handover h;
        bool is_needed;
        uint32_t warps = 0;
        PG_TRY(look_at(&s, s.found.at[j], &is_needed, &h, &warps));
        pg_layout_error error = find_types(&s, &h, warps);
        if (error != PG_LAYOUT_OK) {
            return refuse(&s, h.inst, error);
        }
        PG_TRY(rewrite(&s, &h, is_second[j]));
    }
    pg_replace_all(s.k, s.map, s.n_map);
    sync->changed = true;
    return PG_OK;
}
