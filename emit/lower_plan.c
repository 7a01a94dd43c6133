/* lower_plan.c: what a kernel needs at launch: warps, and where things lie in shared memory.
 *
 * Buffers come first, in order of the text, each aligned to its swizzle pattern; buffers whose
 * slots are always viewed by the same values are interleaved slot by slot, so that one product
 * serves all of them. Buffers that are never alive at one time share memory (ir/lifetime.h).
 * Barriers follow the buffers.
 *
 * I1  Buffers whose homes are different branches of an `if` share their place (ir/smem.h). */
#include "emit/lower_int.h"
#include "ir/lifetime.h"
#include "ir/smem.h"

uint32_t pg_partition_warps(const pg_inst *part)
{
    return (uint32_t)pg_attr_int(&part->attrs, PG_A_WARPS, 1);
}

static uint32_t kernel_warps(const pg_kernel *k)
{
    return (uint32_t)pg_attr_int(&k->attrs, PG_A_WARPS, 4);
}

bool pg_partition_is_default(const pg_inst *part)
{
    return pg_attr_has(&part->attrs, PG_A_DEFAULT);
}

/* The first of the adjacent partitions that `part` belongs to. */
static const pg_inst *first_of_group(const pg_inst *part)
{
    while (part->prev != NULL && part->prev->op == PG_OP_PARTITION) {
        part = part->prev;
    }
    return part;
}

uint32_t pg_partition_first_warp(const pg_inst *part)
{
    if (pg_partition_is_default(part)) {
        return 0;
    }
    uint32_t at = kernel_warps(part->parent->kernel);
    for (const pg_inst *p = first_of_group(part); p != part; p = p->next) {
        at += pg_partition_is_default(p) ? 0 : pg_partition_warps(p);
    }
    return at;
}

static uint64_t align_up(uint64_t x, uint64_t align)
{
    return (x + align - 1) / align * align;
}

/* Operations that say something of a kernel's launch, in order of the text: one walk for all. */
typedef PG_VEC(const pg_inst *) notable;

static pg_status find_notable(const pg_kernel *k, pg_arena *arena, notable *out)
{
    const bool has_some = pg_kernel_has(k, PG_OP_PARTITION) || pg_kernel_has(k, PG_OP_BUF_NEW) ||
                          pg_kernel_has(k, PG_OP_BUF_VIEW) || pg_kernel_has(k, PG_OP_RING_NEW) ||
                          pg_kernel_has(k, PG_OP_BAR_NEW);
    for (const pg_inst *i = has_some ? k->body->first : NULL; i != NULL;
         i = pg_inst_walk(i, k->body)) {
        const bool is_one = i->op == PG_OP_PARTITION || i->op == PG_OP_BUF_NEW ||
                            i->op == PG_OP_BUF_VIEW || i->op == PG_OP_RING_NEW ||
                            i->op == PG_OP_BAR_NEW;
        if (is_one && !pg_vec_push(arena, out, i)) {
            return PG_E_NOMEM;
        }
    }
    return PG_OK;
}

static bool is_barriers(const pg_inst *i)
{
    return i->op == PG_OP_RING_NEW || i->op == PG_OP_BAR_NEW;
}

/* ---- buffers -------------------------------------------------------------------------------- */

typedef struct place { /* a buffer before it has an offset */
    pg_smem_obj obj;
    uint32_t align;
    uint64_t views;        /* hash of the slot values of its views, in order; 0: not only viewed */
    const pg_region *home; /* ir/smem.h */
    uint32_t first, end;   /* bytes of its group, once placed; end 0: not yet */
} place;

typedef PG_VEC(place) places;

enum { MAX_SHARED = 64 }; /* more buffers lie one after the other: pairs are looked at */

static pg_status measure(const pg_kernel *k, const pg_inst *i, bool is_viewed, pg_diags *diags,
                         place *out)
{
    const pg_types *types = k->module->ctx->types;
    const pg_type_info *t = pg_val_info(k, i->out[0]);
    pg_layout l;
    pg_layout_error error = pg_layout_of_buf(types, pg_val_type(k, i->out[0]), &l);
    if (error != PG_LAYOUT_OK) {
        return pg_diag_add(diags, PG_D_LOWER_LAYOUT, i->loc, pg_layout_error_text(error));
    }
    uint32_t bits = t->is_ptr ? 64 : pg_elem_infos[t->elem].bits;
    uint64_t bytes = (uint64_t)pg_layout_size(&l, PG_LIN_OFFSET) * (bits < 8 ? 1 : bits / 8);
    uint32_t swizzle = pg_enc_get(types, t->enc)->swizzle;
    uint64_t asked = (uint64_t)pg_attr_int(&i->attrs, PG_A_ALIGN, 16);
    out->align = swizzle != 0 ? 8u * swizzle : 128;
    out->align = asked > out->align ? (uint32_t)asked : out->align;
    uint64_t n_slots = 1;
    for (uint32_t d = 0; d + l.rank < t->rank; d++) {
        n_slots *= (uint64_t)t->dims[d];
    }
    uint64_t stride = align_up(bytes, swizzle != 0 ? 8u * swizzle : n_slots > 1 ? 128 : 16);
    if (is_viewed && l.rank == t->rank) { /* rows are slots: the same bytes, whole and one by one */
        n_slots = (uint64_t)t->dims[0];
        stride = n_slots != 0 ? bytes / n_slots : bytes;
    }
    if (stride * n_slots > UINT32_MAX / 2) {
        stride = UINT32_MAX / 2 / n_slots; /* too much anyway: reported below */
    }
    out->obj = (pg_smem_obj){.inst = i,
                             .n_slots = (uint32_t)n_slots,
                             .slot_stride = (uint32_t)stride,
                             .n_bytes = (uint32_t)(stride * n_slots)};
    return PG_OK;
}

/* What a buffer's views say, for all buffers in one walk. */
static void note_views(const pg_kernel *k, places *p, const uint32_t *place_of)
{
    for (pg_inst *i = k->body->first; i != NULL; i = pg_inst_walk(i, k->body)) {
        for (uint32_t n = 0; n < i->n_in; n++) {
            uint32_t at = i->in[n].id < k->values.n ? place_of[i->in[n].id] : 0;
            if (at == 0) {
                continue;
            }
            place *b = &p->at[at - 1];
            b->views = i->op == PG_OP_BUF_VIEW && b->views != 0
                           ? pg_hash_mix(b->views, i->in[1].id) | 1
                           : 0;
        }
    }
}

/* May a group lie over one that was placed? Members of the one have UINT64_MAX as views. */
static bool may_share(const places *p, const pg_lifetimes *l, const place *other)
{
    for (uint32_t j = 0; j < p->n; j++) {
        const place *b = &p->at[j];
        if (b->views == UINT64_MAX &&
            !pg_lifetimes_apart(l, b->obj.inst->out[0], other->obj.inst->out[0])) {
            return false;
        }
    }
    return true;
}

/* Does a group of this size fit at `base`: is it apart from all that lie there? */
static bool fits(const places *p, const pg_lifetimes *l, uint64_t base, uint64_t size)
{
    for (uint32_t j = 0; j < p->n; j++) {
        const place *b = &p->at[j];
        if (b->end != 0 && base < b->end && base + size > b->first && !may_share(p, l, b)) {
            return false;
        }
    }
    return true;
}

/* The first place at which some group begins and this one fits, else behind all of them. */
static uint64_t find_base(const places *p, const pg_lifetimes *l, uint64_t end, uint64_t size,
                          uint32_t align)
{
    uint64_t best = align_up(end, align);
    for (uint32_t j = 0; j < p->n && p->n <= MAX_SHARED; j++) {
        const uint64_t base = align_up(p->at[j].first, align);
        if (p->at[j].end != 0 && base < best && fits(p, l, base, size)) {
            best = base;
        }
    }
    return best;
}

/* Buffers whose slots are viewed together lie together. */
static bool is_of_group(const place *group, const place *b)
{
    return group->views != 0 && b->views == group->views && b->home == group->home &&
           b->obj.n_slots == group->obj.n_slots && b->obj.n_slots > 1;
}

static uint64_t size_of_group(const places *p, uint32_t first, const bool *is_placed)
{
    uint64_t size = 0;
    for (uint32_t j = first; j < p->n; j++) {
        const bool is_in = j == first || is_of_group(&p->at[first], &p->at[j]);
        size += !is_placed[j] && is_in ? p->at[j].obj.n_bytes : 0;
    }
    return size;
}

static void place_group(places *p, const pg_lifetimes *l, uint32_t first, uint32_t *at,
                        bool *is_placed)
{
    const place group = p->at[first];
    uint64_t stride = 0;
    uint32_t align = 1;
    for (uint32_t j = first; j < p->n; j++) {
        place *b = &p->at[j];
        if (is_placed[j] || !(j == first || is_of_group(&group, b))) {
            continue;
        }
        is_placed[j] = true;
        stride = align_up(stride, b->align);
        b->obj.offset = (uint32_t)stride;
        stride += b->obj.slot_stride;
        align = b->align > align ? b->align : align;
        b->views = UINT64_MAX; /* of this group */
    }
    stride = align_up(stride, align);
    const uint64_t size = stride * group.obj.n_slots;
    const uint64_t base = find_base(p, l, *at, size, align);
    for (uint32_t j = first; j < p->n; j++) {
        place *b = &p->at[j];
        if (is_placed[j] && b->views == UINT64_MAX) {
            b->views = 0;
            b->obj.offset += (uint32_t)base;
            b->obj.slot_stride = (uint32_t)stride;
            b->first = (uint32_t)base;
            b->end = (uint32_t)(base + size);
        }
    }
    *at = base + size > *at ? (uint32_t)(base + size) : *at;
}

/* The largest first: what is small finds a gap, or lies over what is large. Where there are too
 * many to look at, the first of the text. p->n: none is left. */
static uint32_t next_group(const places *p, const pg_region *r, const bool *is_placed)
{
    uint32_t best = p->n;
    uint64_t most = 0;
    for (uint32_t j = 0; j < p->n && (best == p->n || p->n <= MAX_SHARED); j++) {
        if (!is_placed[j] && p->at[j].home == r) {
            const uint64_t size = size_of_group(p, j, is_placed);
            best = best == p->n || size > most ? j : best;
            most = size > most ? size : most;
        }
    }
    return best;
}

static void place_home(places *p, const pg_lifetimes *l, const pg_region *r, uint32_t *at,
                       bool *is_placed)
{
    for (uint32_t j; (j = next_group(p, r, is_placed)) < p->n;) {
        place_group(p, l, j, at, is_placed);
    }
}

/* Buffers at home in this region from *at on, then those of its conditions, branches over each
 * other; *at becomes the end. */
static void place_region(places *p, const pg_lifetimes *l, const pg_region *r, uint32_t *at,
                         bool *is_placed)
{
    place_home(p, l, r, at, is_placed);
    pg_foreach_inst (i, r) {
        uint32_t end = *at;
        for (uint32_t j = 0; i->op == PG_OP_IF && j < i->n_regions; j++) {
            uint32_t branch = *at;
            place_region(p, l, i->regions[j], &branch, is_placed);
            end = branch > end ? branch : end;
        }
        *at = end;
    }
}

static pg_status place_buffers(const pg_kernel *k, const notable *seen, pg_arena *arena,
                               pg_diags *diags, pg_launch_plan *out)
{
    places p = {0};
    uint32_t *place_of = PG_NEWS(arena, uint32_t, k->values.n + 1);
    bool *is_viewed = PG_NEWS(arena, bool, k->values.n + 1);
    if (place_of == NULL || is_viewed == NULL) {
        return PG_E_NOMEM;
    }
    for (uint32_t j = 0; j < seen->n; j++) {
        if (seen->at[j]->op == PG_OP_BUF_VIEW) {
            is_viewed[seen->at[j]->in[0].id] = true;
        }
    }
    for (uint32_t j = 0; j < seen->n; j++) {
        const pg_inst *i = seen->at[j];
        if (i->op == PG_OP_BUF_NEW) {
            place b = {.views = 1};
            if (measure(k, i, is_viewed[i->out[0].id], diags, &b) == PG_OK &&
                pg_vec_push(arena, &p, b)) {
                place_of[i->out[0].id] = p.n;
            }
        }
    }
    bool *is_placed = PG_NEWS(arena, bool, p.n + 1);
    const pg_region **homes = p.n == 0 ? NULL : pg_buffer_homes(k, arena);
    if (is_placed == NULL || (p.n != 0 && homes == NULL)) {
        return PG_E_NOMEM;
    }
    if (p.n == 0) {
        return PG_OK;
    }
    note_views(k, &p, place_of);
    pg_lifetimes *lifetimes;
    PG_TRY(pg_lifetimes_make(k, arena, &lifetimes));
    for (uint32_t j = 0; j < p.n; j++) {
        p.at[j].home = homes[p.at[j].obj.inst->out[0].id];
    }
    if (pg_homes_differ(k, homes)) {
        place_region(&p, lifetimes, k->body, &out->smem, is_placed);
    } else {
        place_home(&p, lifetimes, k->body, &out->smem, is_placed);
    }
    for (uint32_t j = 0; j < p.n; j++) {
        if (!pg_vec_push(arena, &out->objs, p.at[j].obj)) {
            return PG_E_NOMEM;
        }
    }
    return PG_OK;
}

static pg_status place_barriers(const pg_kernel *k, const notable *seen, pg_arena *arena,
                                pg_launch_plan *out)
{
    for (uint32_t j = 0; j < seen->n; j++) {
        const pg_inst *i = seen->at[j];
        if (!is_barriers(i)) {
            continue;
        }
        uint32_t n = (uint32_t)pg_val_info(k, i->out[0])->dims[0];
        uint32_t bytes = i->op == PG_OP_RING_NEW ? 16 * n : 8 * n;
        out->smem = (uint32_t)align_up(out->smem, 8);
        pg_smem_obj o = {
            .inst = i, .offset = out->smem, .n_slots = n, .slot_stride = 8, .n_bytes = bytes};
        out->smem += bytes;
        if (!pg_vec_push(arena, &out->objs, o)) {
            return PG_E_NOMEM;
        }
    }
    return PG_OK;
}

/* ---- warps and registers --------------------------------------------------------------------- */

static uint32_t end_of(const pg_inst *partition)
{
    return pg_partition_first_warp(partition) + pg_partition_warps(partition);
}

static void count_warps(const pg_kernel *k, const notable *seen, pg_launch_plan *out)
{
    out->kernel_warps = kernel_warps(k);
    out->n_warps = out->kernel_warps;
    for (uint32_t j = 0; j < seen->n; j++) {
        const uint32_t end = seen->at[j]->op == PG_OP_PARTITION ? end_of(seen->at[j]) : 0;
        out->n_warps = end > out->n_warps ? end : out->n_warps;
    }
}

static pg_reg_limits limits_of(const pg_kernel *k, uint32_t n_warps)
{
    const pg_target *target = pg_target_find(pg_sym_text(&k->module->ctx->syms, k->module->target));
    int64_t min_ctas = pg_attr_int(&k->attrs, PG_A_MIN_CTAS, 0);
    pg_reg_limits out = {.n_warps = n_warps == 0 ? 1 : n_warps};
    uint32_t per_sm = target == NULL ? 0 : target->regs_per_sm;
    out.pool = per_sm / (min_ctas < 1 || min_ctas > UINT16_MAX ? 1 : (uint32_t)min_ctas);
    out.share = out.pool / (out.n_warps * 32) / 8 * 8;
    out.share = out.share > 255 ? 255 : out.share;
    return out;
}

pg_reg_limits pg_reg_limits_of(const pg_kernel *k)
{
    uint32_t n_warps = kernel_warps(k);
    const bool has_parts = pg_kernel_has(k, PG_OP_PARTITION);
    for (const pg_inst *i = has_parts ? k->body->first : NULL; i != NULL;
         i = pg_inst_walk(i, k->body)) {
        const uint32_t end = i->op == PG_OP_PARTITION ? end_of(i) : 0;
        n_warps = end > n_warps ? end : n_warps;
    }
    return limits_of(k, n_warps);
}

/* setmaxnreg acts on whole warp groups, and their sum must fit what the CTA was given. */
static void check_registers(const pg_kernel *k, const notable *seen, pg_diags *diags,
                            const pg_target *target, pg_launch_plan *out)
{
    uint32_t total = 0;
    const pg_inst *some = NULL;
    const pg_reg_limits limits = limits_of(k, out->n_warps);
    uint32_t per_cta = limits.pool;
    uint32_t entry = limits.share;
    for (uint32_t j = 0; j < seen->n; j++) {
        const pg_inst *i = seen->at[j];
        if (i->op != PG_OP_PARTITION || !pg_attr_has(&i->attrs, PG_A_REGS)) {
            continue;
        }
        if (!target->is_arch || target->sm < 90) {
            pg_diag_add(diags, PG_D_LOWER_SETMAX, i->loc, target->name);
            continue;
        }
        if (pg_partition_first_warp(i) % 4 != 0 || pg_partition_warps(i) % 4 != 0) {
            pg_diag_add(diags, PG_D_LOWER_SETMAX_WARPS, i->loc);
        }
        if (some == NULL || first_of_group(i) == first_of_group(some)) {
            total += (uint32_t)pg_attr_int(&i->attrs, PG_A_REGS, 0) * pg_partition_warps(i) * 32;
        }
        some = some == NULL ? i : some;
    }
    out->entry_regs = some != NULL ? entry : 0;
    if (some != NULL && total > per_cta) {
        pg_diag_add(diags, PG_D_LOWER_REGS, some->loc, total, per_cta);
    }
}

pg_status pg_launch_plan_make(const pg_kernel *k, pg_arena *arena, pg_diags *diags,
                              pg_launch_plan *out)
{
    *out = (pg_launch_plan){0};
    const pg_module *m = k->module;
    const pg_target *target = pg_target_find(pg_sym_text(&m->ctx->syms, m->target));
    if (target == NULL) {
        return pg_diag_add(diags, PG_D_LOWER_UNSUPPORTED, k->loc, "kernel", "this target");
    }
    notable seen = {0};
    PG_TRY(find_notable(k, arena, &seen));
    count_warps(k, &seen, out);
    out->min_ctas = (uint32_t)pg_attr_int(&k->attrs, PG_A_MIN_CTAS, 0);
    if (out->n_warps == 0 || out->n_warps > target->max_warps_per_cta) {
        return pg_diag_add(diags, PG_D_LOWER_WARPS, k->loc, out->n_warps,
                           target->max_warps_per_cta);
    }
    check_registers(k, &seen, diags, target, out);
    PG_TRY(place_buffers(k, &seen, arena, diags, out));
    PG_TRY(place_barriers(k, &seen, arena, out));
    if (out->smem > target->smem_per_cta) {
        pg_diag_add(diags, PG_D_LOWER_SMEM, k->loc, out->smem, target->name, target->smem_per_cta);
    }
    return PG_OK;
}
