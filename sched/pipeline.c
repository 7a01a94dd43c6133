/* pipeline.c: the pass `pipeline`: loops that load what matrix operations use run ahead of
 * themselves.
 *
 *   for [stages=n], n >= 2    asynchronous copies into n slots, n - 1 iterations ahead
 *                             (pipeline_async.c)
 *
 * I1  All conditions of a loop are tested before its first change. A refusal is explained, and
 *     leaves the loop as it is.
 * I2  Afterwards no loop has `stages`. Copies that are left are the business of the pass `sync`.
 * I3  Barriers and waits stand where the stage scheduler puts them (stages.h). */
#include "sched/pipeline.h"

#include "ir/convert.h"

pg_inst *pg_pipe_emit(pg_pipe *p, pg_inst *at, const pg_inst *from, pg_op op, uint32_t n_in,
                      const pg_val *in, pg_type type)
{
    pg_inst *i = pg_inst_new(p->k, op, n_in, in, type.id != 0 ? 1 : 0, &type, 0);
    if (i == NULL) {
        p->status = PG_E_NOMEM;
        return NULL;
    }
    i->loc = from->loc;
    pg_inst_insert_before(at, i);
    p->changed = true;
    return i;
}

pg_val pg_pipe_value(pg_pipe *p, pg_inst *at, const pg_inst *from, pg_op op, uint32_t n_in,
                     const pg_val *in, pg_type type)
{
    const pg_inst *i = pg_pipe_emit(p, at, from, op, n_in, in, type);
    return i == NULL ? (pg_val){0} : i->out[0];
}

pg_inst *pg_pipe_clone(pg_pipe *p, pg_inst *at, const pg_inst *i, const pg_val *in)
{
    pg_type types[2] = {{0}, {0}};
    for (uint32_t j = 0; j < i->n_out && j < 2; j++) {
        types[j] = pg_val_type(p->k, i->out[j]);
    }
    pg_inst *c = pg_inst_new(p->k, (pg_op)i->op, i->n_in, in, i->n_out, types, 0);
    if (c == NULL) {
        p->status = PG_E_NOMEM;
        return NULL;
    }
    for (uint32_t n = 0; n < i->attrs.n; n++) {
        pg_attr_set(p->k, &c->attrs, (pg_attr_id)i->attrs.at[n].id, i->attrs.at[n].val);
    }
    c->loc = i->loc;
    pg_inst_insert_before(at, c);
    p->changed = true;
    return c;
}

bool pg_pipe_in_loop(const pg_inst *i)
{
    return pg_inst_in_loop(i);
}

/* Row-major; 16-byte chunks of a row permuted, or 16 bytes behind each row. */
static pg_enc rows_encoding(pg_pipe *p, const pg_type_info *tile)
{
    pg_enc_info e = {.kind = PG_ENC_SMEM, .rank = tile->rank};
    for (uint32_t d = 0; d < tile->rank; d++) {
        e.order[d] = (uint8_t)(tile->rank - 1 - d);
    }
    const uint32_t bits = pg_elem_infos[tile->elem].bits;
    const uint32_t bytes = bits < 8 ? 1 : bits / 8;
    const uint32_t row = (uint32_t)tile->dims[tile->rank - 1] * bytes;
    if (tile->rank == 2 && row >= 32 && row <= 128) {
        e.swizzle = (uint16_t)row;
    } else if (tile->rank == 2 && row > 128) {
        e.pad = (uint16_t)(16 / bytes);
    }
    return pg_enc_intern(p->types, &e);
}

/* Wavefronts that the copies of a load into a buffer, and its reads by a copy, take beyond the
 * least; and the pieces. */
typedef struct conflicts {
    bool is_known;
    uint32_t extra;
    pg_bank_access pieces;
} conflicts;

static conflicts count_conflicts(pg_pipe *p, pg_type loaded, pg_type read, pg_type buf,
                                 uint32_t n_warps)
{
    pg_layout from, mem;
    pg_bank_access access;
    pg_bank_use use;
    pg_bank_move move;
    const uint32_t bits = pg_elem_infos[pg_type_get(p->types, loaded)->elem].bits;
    if (pg_layout_of_tile(p->types, loaded, n_warps, &from) != 0 ||
        pg_layout_of_buf(p->types, buf, &mem) != 0 ||
        pg_layout_common_access(&from, &mem, bits, 16, &access) != 0 ||
        pg_layout_banks(&from, &mem, bits, &access, &use) != 0 ||
        pg_bank_move_of_types(p->types, read, buf, n_warps, false, p->k->module->sm, &move) != 0) {
        return (conflicts){.is_known = false};
    }
    return (conflicts){
        true, use.n_wavefronts - use.n_phases + move.banks.n_wavefronts - move.banks.n_phases,
        access};
}

static conflicts conflicts_of(pg_pipe *p, const pg_inst *load, const pg_inst *copy, pg_enc enc)
{
    const pg_type loaded = pg_val_type(p->k, load->out[0]), read = pg_val_type(p->k, copy->out[0]);
    const pg_type_info *t = pg_type_get(p->types, loaded);
    pg_type_info info = {.kind = PG_TY_BUF, .elem = t->elem, .space = PG_SPACE_SMEM, .enc = enc};
    info.rank = t->rank;
    for (uint32_t d = 0; d < t->rank; d++) {
        info.dims[d] = t->dims[d];
    }
    const pg_type buf = pg_type_intern(p->types, &info);
    const uint32_t where = pg_inst_warps(load) << 16 | p->k->module->sm;
    const pg_memo_key key = {PG_MEMO_CONFLICTS, {loaded.id, read.id, buf.id, where}};
    const conflicts *known = pg_memo_get(p->types, &key);
    const conflicts found =
        known != NULL ? *known : count_conflicts(p, loaded, read, buf, pg_inst_warps(load));
    if (known == NULL) {
        pg_memo_put(p->types, &key, &found, sizeof found);
    }
    return found;
}

/* Do copies into a buffer move pieces of the same elements that lie together in its rows? Of others
 * that are as many the copies would find them apart in global memory. */
static bool keeps_pieces(const conflicts *rows, const conflicts *found)
{
    bool is_same = found->pieces.n_log2 >= rows->pieces.n_log2;
    for (uint32_t i = 0; is_same && i < rows->pieces.n_log2; i++) {
        is_same = found->pieces.reg_bits[i] == rows->pieces.reg_bits[i];
    }
    return is_same;
}

/* The copy that reads what was loaded, if there is one only. */
static const pg_inst *only_copy(pg_pipe *p, const pg_inst *load)
{
    const pg_inst *found = NULL;
    pg_foreach_inst (i, load->parent) {
        if (i->op == PG_OP_COPY && pg_val_eq(i->in[0], load->out[0])) {
            if (found != NULL &&
                !pg_type_eq(pg_val_type(p->k, found->out[0]), pg_val_type(p->k, i->out[0]))) {
                return NULL;
            }
            found = i;
        }
    }
    return found;
}

/* Rows, unless these have conflicts and the search (ir/convert.h) finds a layout with fewer that
 * takes the same pieces from the asynchronous copies. */
static pg_enc buffer_encoding(pg_pipe *p, const pg_inst *load, const pg_type_info *tile)
{
    const pg_enc rows = rows_encoding(p, tile);
    const pg_inst *copy = load->op == PG_OP_LOAD ? only_copy(p, load) : NULL;
    pg_layout from, to;
    pg_convert_plan plan;
    pg_enc found;
    if (copy == NULL) {
        return rows;
    }
    const conflicts of_rows = conflicts_of(p, load, copy, rows);
    if (!of_rows.is_known || of_rows.extra == 0) {
        return rows;
    }
    const uint32_t flags = pg_convert_flags(p->k->module->sm) | PG_CONVERT_NO_SHUFFLE;
    const uint32_t n_warps = pg_inst_warps(load), bits = pg_elem_infos[tile->elem].bits;
    if (pg_layout_of_tile(p->types, pg_val_type(p->k, load->out[0]), n_warps, &from) != 0 ||
        pg_layout_of_tile(p->types, pg_val_type(p->k, copy->out[0]), n_warps, &to) != 0 ||
        pg_convert_plan_make(&from, &to, bits, flags & ~(uint32_t)PG_CONVERT_STMATRIX, &plan) !=
            0 ||
        plan.kind != PG_CONVERT_SHARED ||
        pg_enc_of_memory(p->types, &plan.mem, bits, &found) != 0) {
        return rows;
    }
    const conflicts of_found = conflicts_of(p, load, copy, found);
    return of_found.is_known && of_found.extra < of_rows.extra && keeps_pieces(&of_rows, &of_found)
               ? found
               : rows;
}

pg_type pg_pipe_buffer_type(pg_pipe *p, const pg_inst *from, pg_type tile, uint32_t slots)
{
    const pg_type_info *t = pg_type_get(p->types, tile);
    pg_type_info info = {.kind = PG_TY_BUF, .elem = t->elem, .space = PG_SPACE_SMEM};
    if (slots > 0) {
        info.dims[info.rank++] = (int32_t)slots;
    }
    for (uint32_t d = 0; d < t->rank; d++) {
        info.dims[info.rank++] = t->dims[d];
    }
    info.enc = buffer_encoding(p, from, t);
    const pg_type type = pg_type_intern(p->types, &info);
    p->status = type.id == 0 ? PG_E_NOMEM : p->status;
    return type;
}

pg_val pg_pipe_buffer(pg_pipe *p, const pg_inst *from, pg_type type)
{
    const pg_enc enc = pg_type_get(p->types, type)->enc;
    if (pg_module_enc_name(p->k->module, enc, "smem").id == 0) {
        p->status = PG_E_NOMEM;
        return (pg_val){0};
    }
    pg_inst *head = p->k->body->first; /* behind the buffers that stand there */
    while (head->op == PG_OP_BUF_NEW && head->next != NULL) {
        head = head->next;
    }
    pg_inst *buf = pg_pipe_emit(p, head, from, PG_OP_BUF_NEW, 0, NULL, type);
    if (buf == NULL) {
        return (pg_val){0};
    }
    pg_attr_set_int(p->k, &buf->attrs, PG_A_ALIGN, PG_PIPE_ALIGN);
    return buf->out[0];
}

static void visit_loops(pg_pipe *p, pg_region *r)
{
    pg_foreach_inst_safe (i, r) {
        for (uint32_t j = 0; j < i->n_regions && p->status == PG_OK; j++) {
            visit_loops(p, i->regions[j]);
        }
        if (i->op != PG_OP_FOR || !pg_attr_has(&i->attrs, PG_A_STAGES) || p->status != PG_OK) {
            continue;
        }
        const int64_t n = pg_attr_int(&i->attrs, PG_A_STAGES, 1);
        if (n >= 2) {
            (void)pg_pipe_async(p, i, n > PG_STAGES_LIMIT ? PG_STAGES_LIMIT : (uint32_t)n);
        } else {
            pg_pass_explain(p->env, "pipeline", p->k, i, "one buffer was asked for");
        }
        pg_attr_drop(p->k, &i->attrs, PG_A_STAGES);
        p->changed = true;
    }
}

pg_status pg_pass_pipeline(pg_pass_env *env, pg_kernel *k, pg_change *change);
pg_status pg_pass_pipeline(pg_pass_env *env, pg_kernel *k, pg_change *change)
{
    pg_pipe p = {.env = env, .k = k, .types = k->module->ctx->types};
    if (pg_kernel_has(k, PG_OP_FOR)) {
        visit_loops(&p, k->body);
    }
    if (p.changed) {
        *change = PG_CHANGED;
    }
    PG_TRY(p.status);
    PG_TRY(pg_arena_status(&k->module->arena));
    return PG_OK;
}
