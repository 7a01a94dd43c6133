/* pipeline_room.c: how many slots a loop's buffers may have, beside what else needs shared memory
 * while the loop runs.
 *
 * I1  Counted are: buffers of the kernel so far that may be alive in the loop, barriers, and what
 *     the pass `sync` will add for copies and reductions.
 * I2  Not counted is what the loop's buffers may lie over: what is used only in another branch, and
 *     what is used only before the loop if a barrier stands in front of it (ir/lifetime.h), or
 *     behind it by copies, before which `sync` puts one.
 * I3  The count is never too small, so a loop that gets slots does not make a kernel too large. It
 *     may be too large: emission sees more. */
#include "ir/convert.h"
#include "ir/target.h"
#include "sched/pipeline.h"

enum { LEAST_SHARED = 4096 }; /* below, `sync` puts no barrier before a copy (sync_copies.c) */

uint64_t pg_pipe_bytes(const pg_pipe *p, pg_type buf)
{
    pg_layout l;
    uint64_t slots = 1;
    const pg_type_info *t = pg_type_get(p->types, buf);
    const uint64_t swizzle = pg_enc_get(p->types, t->enc)->swizzle,
                   bits = pg_elem_infos[t->elem].bits;
    if (pg_layout_of_buf(p->types, buf, &l) != PG_LAYOUT_OK) {
        return UINT32_MAX;
    }
    for (uint32_t d = 0; d + l.rank < t->rank; d++) {
        slots *= (uint64_t)t->dims[d];
    }
    /* as emission places them (lower_plan.c): slots of buffers that are used together lie together,
     * each at its alignment */
    const uint64_t bytes = pg_layout_size(&l, PG_LIN_OFFSET) * (t->is_ptr ? 8 : (bits + 7) / 8);
    const uint64_t step = slots > 1 ? PG_PIPE_ALIGN : swizzle != 0 ? 8 * swizzle : 128;
    return (bytes + step - 1) / step * step * slots;
}

/* When something happens, as seen from a loop. */
typedef enum relation { WITHIN, BEFORE, BEHIND, ELSEWHERE } relation;

static relation relation_of(const pg_inst *loop, const pg_inst *i)
{
    for (const pg_inst *a = i; a != NULL; a = a->parent->owner) {
        for (const pg_inst *b = loop; b != NULL; b = b->parent->owner) {
            if (a->parent != b->parent) {
                continue;
            }
            if (a == b) { /* branches of a condition in a loop take turns */
                return a->op == PG_OP_IF && !pg_inst_in_loop(a) ? ELSEWHERE : WITHIN;
            }
            const pg_inst *next = a->next;
            while (next != NULL && next != b) {
                next = next->next;
            }
            /* In a loop what comes before comes behind as well. */
            return pg_inst_in_loop(a) ? WITHIN : next == b ? BEFORE : BEHIND;
        }
    }
    return WITHIN;
}

/* Is a buffer, or a view of it, used in a way that keeps the loop's buffers apart from it? */
static bool is_alive(const pg_uses *uses, const pg_inst *loop, pg_val buf, bool *needs_barrier)
{
    bool is_found = false;
    pg_foreach_use (use, uses, buf) {
        if (use->inst == NULL) {
            return true;
        }
        const relation r = relation_of(loop, use->inst);
        *needs_barrier = *needs_barrier || r == BEFORE;
        is_found = is_found || r == WITHIN || r == BEHIND ||
                   (use->inst->op == PG_OP_BUF_VIEW &&
                    is_alive(uses, loop, use->inst->out[0], needs_barrier));
    }
    return is_found;
}

static uint64_t tile_bytes(const pg_pipe *p, pg_val v)
{
    const pg_type_info *t = pg_val_info(p->k, v);
    const int64_t n = t->kind == PG_TY_TILE ? pg_type_n_elems(p->types, pg_val_type(p->k, v)) : 1;
    return (uint64_t)(n < 1 ? 1 : n) * (t->is_ptr ? 8 : (pg_elem_infos[t->elem].bits + 7u) / 8);
}

static bool goes_through_memory(const pg_pipe *p, const pg_inst *copy)
{
    pg_convert_plan plan;
    return pg_convert_of_types(p->types, pg_val_type(p->k, copy->in[0]),
                               pg_val_type(p->k, copy->out[0]), pg_inst_warps(copy),
                               pg_convert_flags(p->k->module->sm), &plan) != PG_LAYOUT_OK ||
           plan.kind == PG_CONVERT_SHARED;
}

/* What `sync` will add for this operation that the loop's buffers cannot lie over. A row of padding
 * in front of each 128 bytes is more than any layout has. */
static uint64_t added_by(const pg_pipe *p, const pg_inst *loop, const pg_inst *i,
                         bool *needs_barrier)
{
    if (i->op == PG_OP_REDUCE) {
        return tile_bytes(p, i->out[0]) * pg_inst_warps(i) + 128;
    }
    if (i->op != PG_OP_COPY || !goes_through_memory(p, i)) {
        return 0;
    }
    const relation r = relation_of(loop, i);
    const uint64_t bytes = tile_bytes(p, i->in[0]);
    *needs_barrier = *needs_barrier || r == BEFORE;
    return r == WITHIN || (r == BEHIND && bytes < LEAST_SHARED) ? bytes + bytes / 8 + 128 : 0;
}

static bool is_one_of(const pg_inst *copy, pg_inst *const *loads, uint32_t n)
{
    for (uint32_t l = 0; l < n; l++) {
        if (pg_val_eq(copy->in[0], loads[l]->out[0])) {
            return true;
        }
    }
    return false;
}

uint64_t pg_pipe_room(pg_pipe *p, const pg_uses *uses, const pg_inst *loop, pg_inst *const *loads,
                      uint32_t n_loads, bool *needs_barrier)
{
    const pg_module *m = p->k->module;
    const pg_target *t = pg_target_find(pg_sym_text(&m->ctx->syms, m->target));
    uint64_t sum = 0;
    *needs_barrier = false;
    for (const pg_inst *i = p->k->body->first; i != NULL; i = pg_inst_walk(i, p->k->body)) {
        if (i->op == PG_OP_BUF_NEW) {
            const pg_type_info *info = pg_val_info(p->k, i->out[0]);
            const bool counts =
                info->space == PG_SPACE_SMEM && is_alive(uses, loop, i->out[0], needs_barrier);
            sum += counts ? pg_pipe_bytes(p, pg_val_type(p->k, i->out[0])) : 0;
        } else if ((pg_op_infos[i->op].flags & PG_F_ALLOC) != 0 && i->n_out != 0) {
            sum += 16 * (uint64_t)pg_val_info(p->k, i->out[0])->dims[0];
        } else if (i->op != PG_OP_COPY || !is_one_of(i, loads, n_loads)) {
            sum += added_by(p, loop, i, needs_barrier);
        }
    }
    return t == NULL ? UINT64_MAX : sum < t->smem_per_cta ? t->smem_per_cta - sum : 0;
}
