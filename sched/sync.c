/* sync.c: the pass `sync`: what warps hand to each other goes through buffers, with barriers in the
 * IR: reductions whose dimension is spread over warps (sync_reduce.c), then copies between warps
 * (sync_copies.c).
 *
 * I1  Emission adds no barrier: after the pass every element that a thread needs of another warp's
 *     comes from a buffer, and between the store and the load there is a barrier of all threads
 *     that run the operation: of the CTA, inside a partition of that partition.
 * I2  A buffer belongs to one copy or reduction. In a loop its next store waits for its last load.
 * I3  All these threads come here: conditions and bounds are scalars, and neither operation stands
 *     in an elected region.
 * I4  A partition has one barrier number for all of its hand-overs: one that the author uses there,
 *     else the least that no partition uses. */
#include "sched/sync.h"

pg_inst *pg_sync_emit(pg_sync *s, pg_inst *at, const pg_inst *from, pg_op op, uint32_t n_in,
                      const pg_val *in, pg_type type)
{
    pg_inst *i = pg_inst_new(s->k, op, n_in, in, type.id != 0 ? 1 : 0, &type, 0);
    if (i != NULL) {
        i->loc = from->loc;
        pg_inst_insert_before(at, i);
        s->changed = true;
    }
    return i;
}

pg_val pg_sync_value(pg_sync *s, pg_inst *at, const pg_inst *from, pg_op op, uint32_t n_in,
                     const pg_val *in, pg_type type)
{
    const pg_inst *i = pg_sync_emit(s, at, from, op, n_in, in, type);
    return i == NULL ? (pg_val){0} : i->out[0];
}

pg_val pg_sync_buffer(pg_sync *s, const pg_inst *from, pg_type tile, pg_enc enc)
{
    pg_type_info info = *pg_type_get(s->types, tile);
    info.kind = PG_TY_BUF;
    info.space = PG_SPACE_SMEM;
    info.enc = enc;
    if (enc.id != 0) {
        (void)pg_module_enc_name(s->k->module, enc, "smem");
    }
    return pg_sync_value(s, s->k->body->first, from, PG_OP_BUF_NEW, 0, NULL,
                         pg_type_intern(s->types, &info));
}

/* ---- barriers -------------------------------------------------------------------------------- */

/* Warps that wait for nobody else: the only one of a partition, or of the CTA. */
static bool is_one_warp(const pg_sync *s, const pg_inst *i)
{
    return pg_inst_warps(i) == 1 &&
           (!s->has_parts || pg_inst_find_parent(i, PG_OP_PARTITION) != NULL);
}

bool pg_sync_is_barrier(const pg_sync *s, const pg_inst *i)
{
    return i->op == PG_OP_CTA_SYNC || i->op == PG_OP_PART_SYNC ||
           (i->op == PG_OP_WARP_SYNC && is_one_warp(s, i));
}

bool pg_sync_in_loop(const pg_inst *i)
{
    return pg_inst_in_loop(i);
}

/* I4; 0: none is left. */
static uint32_t id_of(pg_sync *s, const pg_inst *part)
{
    enum { MAX_ID = 15 };
    for (const pg_inst *i = part->regions[0]->first; i != NULL;
         i = pg_inst_walk(i, part->regions[0])) {
        if (i->op == PG_OP_PART_SYNC) {
            return (uint32_t)pg_attr_int(&i->attrs, PG_A_ID, 1);
        }
    }
    uint32_t id = 1;
    while (id <= MAX_ID && (s->used_ids >> id & 1) != 0) {
        id++;
    }
    s->used_ids |= id <= MAX_ID ? 1u << id : 0;
    return id <= MAX_ID ? id : 0;
}

pg_status pg_sync_barrier(pg_sync *s, pg_inst *at, const pg_inst *from)
{
    const pg_type none = {0};
    const pg_inst *part = pg_inst_find_parent(from, PG_OP_PARTITION);
    if (is_one_warp(s, from)) {
        (void)pg_sync_emit(s, at, from, PG_OP_WARP_SYNC, 0, NULL, none);
        return PG_OK;
    }
    if (part == NULL) {
        (void)pg_sync_emit(s, at, from, PG_OP_CTA_SYNC, 0, NULL, none);
        return PG_OK;
    }
    const uint32_t id = id_of(s, part);
    if (id == 0) {
        return pg_diag_add(s->env->diags, PG_D_SYNC_NO_BARRIER, from->loc,
                           pg_op_infos[from->op].text);
    }
    pg_inst *barrier = pg_sync_emit(s, at, from, PG_OP_PART_SYNC, 0, NULL, none);
    if (barrier != NULL) {
        pg_attr_set_int(s->k, &barrier->attrs, PG_A_ID, id);
    }
    return PG_OK;
}

static void learn(pg_sync *s)
{
    if (!pg_kernel_has(s->k, PG_OP_PARTITION) && !pg_kernel_has(s->k, PG_OP_PART_SYNC)) {
        return;
    }
    for (const pg_inst *i = s->k->body->first; i != NULL; i = pg_inst_walk(i, s->k->body)) {
        s->has_parts = s->has_parts || i->op == PG_OP_PARTITION;
        if (i->op == PG_OP_PART_SYNC) {
            s->used_ids |= 1u << (pg_attr_int(&i->attrs, PG_A_ID, 1) & 31);
        }
    }
}

pg_status pg_pass_sync(pg_pass_env *env, pg_kernel *k, pg_change *change);
pg_status pg_pass_sync(pg_pass_env *env, pg_kernel *k, pg_change *change)
{
    pg_sync s = {.env = env, .k = k, .types = k->module->ctx->types};
    learn(&s);
    pg_status status = pg_sync_reduces(&s);
    status = status == PG_OK ? pg_sync_copies(&s) : status;
    if (s.changed) {
        *change = PG_CHANGED;
    }
    PG_TRY(status);
    return pg_arena_status(&k->module->arena);
}
