#include "ir/smem.h"

static uint32_t depth_of(const pg_region *r)
{
    uint32_t n = 0;
    for (; r->owner != NULL; r = r->owner->parent) {
        n++;
    }
    return n;
}

/* The inner-most region around both; a may be NULL: none yet. */
static const pg_region *common_region(const pg_region *a, const pg_region *b)
{
    a = a == NULL ? b : a;
    while (a != b) { /* the deeper one goes up */
        if (depth_of(a) >= depth_of(b)) {
            a = a->owner->parent;
        } else {
            b = b->owner->parent;
        }
    }
    return a;
}

/* The inner-most region around this one that runs at most once: below conditions only. */
static const pg_region *once_region(const pg_region *r)
{
    const pg_region *once = r;
    for (; r->owner != NULL; r = r->owner->parent) {
        once = r->owner->op == PG_OP_IF ? once : r->owner->parent;
    }
    return once;
}

const pg_region **pg_buffer_homes(const pg_kernel *k, pg_arena *arena)
{
    const pg_region **homes = PG_NEWS(arena, const pg_region *, (size_t)k->values.n + 1);
    bool *is_buffer = PG_NEWS(arena, bool, (size_t)k->values.n + 1);
    if (homes == NULL || is_buffer == NULL) {
        return NULL;
    }
    for (const pg_inst *i = k->body->first; i != NULL; i = pg_inst_walk(i, k->body)) {
        for (uint32_t n = 0; n < i->n_in; n++) {
            const uint32_t id = i->in[n].id;
            if (id < k->values.n && is_buffer[id]) {
                homes[id] = common_region(homes[id], i->parent);
            }
        }
        if (i->op == PG_OP_BUF_NEW && i->n_out == 1) {
            is_buffer[i->out[0].id] = true;
        }
    }
    for (uint32_t id = 0; id < k->values.n; id++) {
        if (is_buffer[id]) {
            homes[id] = homes[id] == NULL ? k->body : once_region(homes[id]);
        }
    }
    return homes;
}

static uint64_t bytes_of(const pg_kernel *k, const pg_inst *i)
{
    const pg_type_info *t = pg_val_info(k, i->out[0]);
    if (t->kind != PG_TY_BUF) {
        return (uint64_t)t->dims[0] * (t->kind == PG_TY_RING ? 16 : 8);
    }
    const int64_t n = pg_type_n_elems(k->module->ctx->types, pg_val_type(k, i->out[0]));
    return (uint64_t)(n < 0 ? 0 : n) * (t->is_ptr ? 64 : pg_elem_infos[t->elem].bits) / 8;
}

bool pg_homes_differ(const pg_kernel *k, const pg_region *const *homes)
{
    for (uint32_t id = 0; id < k->values.n; id++) {
        if (homes[id] != NULL && homes[id] != k->body) {
            return true;
        }
    }
    return false;
}

/* What is at home in a region. Allocations stand at the top of the kernel only. */
static uint64_t bytes_at(const pg_kernel *k, const pg_region *const *homes, const pg_region *r)
{
    uint64_t sum = 0;
    for (const pg_inst *i = k->body->first; i != NULL; i = i->next) {
        if ((pg_op_infos[i->op].flags & PG_F_ALLOC) != 0 && i->n_out != 0) {
            const pg_region *home = i->op == PG_OP_BUF_NEW ? homes[i->out[0].id] : k->body;
            sum += home == r ? bytes_of(k, i) : 0;
        }
    }
    return sum;
}

/* The same, and of each condition below it the larger branch. */
static uint64_t bytes_in(const pg_kernel *k, const pg_region *const *homes, const pg_region *r)
{
    uint64_t sum = bytes_at(k, homes, r);
    pg_foreach_inst (i, r) {
        uint64_t most = 0;
        for (uint32_t j = 0; i->op == PG_OP_IF && j < i->n_regions; j++) {
            const uint64_t bytes = i->regions[j] == NULL ? 0 : bytes_in(k, homes, i->regions[j]);
            most = bytes > most ? bytes : most;
        }
        sum += most;
    }
    return sum;
}

uint64_t pg_smem_bytes(const pg_kernel *k, const pg_region *const *homes)
{
    return pg_homes_differ(k, homes) ? bytes_in(k, homes, k->body) : bytes_at(k, homes, k->body);
}
