/* verify_kernel.c: parameters and their roles, attributes of kernels, and groups of partitions. */
#include "ir/lifetime.h"
#include "ir/smem.h"
#include "ir/target.h"
#include "ir/verify.h"

enum {
    WARP = 32,
    GROUP = 4,
    MAX_WARPS = 32,
    POOL = 65536,
    MAX_COUNTED = 1 << 16,
    MAX_CLUSTER = 16
};

#define BIT(id) (UINT64_C(1) << PG_A_##id)

/* ---- parameters ---------------------------------------------------------------------------- */

static const char *param_name(const pg_verifier *v, const pg_param *p)
{
    return pg_sym_text(&v->m->ctx->syms, pg_value_of(v->k, p->val)->name).ptr;
}

static void bad_param(pg_verifier *v, const pg_param *p, const char *why)
{
    pg_verify_error(v, PG_D_BAD_PARAM, p->loc, param_name(v, p), why);
}

/* Extents and strides name integer parameters. */
static void check_extents(pg_verifier *v, const pg_param *p, pg_attr_id id)
{
    const pg_aval *list = pg_attr_get(&p->attrs, id);
    for (uint32_t i = 0; list != NULL && list->kind == PG_AV_LIST && i < list->n; i++) {
        const pg_aval *item = &list->items[i];
        if (item->kind == PG_AV_VAL) {
            const pg_type_info *t = pg_val_info(v->k, item->val);
            bool is_good = pg_value_of(v->k, item->val)->kind == PG_V_PARAM &&
                           t->kind == PG_TY_SCALAR && t->is_ptr == 0 &&
                           (t->elem == PG_I32 || t->elem == PG_I64);
            if (!is_good && item->val.id != 0) {
                bad_param(v, p, "extents and strides are numbers or parameters of type i32 or i64");
            }
        } else if (item->kind == PG_AV_INT && item->num < (id == PG_A_SHAPE ? 1 : 0)) {
            bad_param(v, p, "extents are at least 1, strides at least 0");
        }
    }
}

static void check_pointer(pg_verifier *v, const pg_param *p)
{
    const pg_aval *shape = pg_attr_get(&p->attrs, PG_A_SHAPE);
    const pg_aval *strides = pg_attr_get(&p->attrs, PG_A_STRIDES);
    uint32_t n_roles = (uint32_t)pg_attr_has(&p->attrs, PG_A_IN) +
                       (uint32_t)pg_attr_has(&p->attrs, PG_A_OUT) +
                       (uint32_t)pg_attr_has(&p->attrs, PG_A_INOUT);
    if (n_roles > 1) {
        bad_param(v, p, "it has one role: in, out or inout");
    }
    if (strides != NULL && (shape == NULL || strides->n != shape->n)) {
        bad_param(v, p, "strides go with a shape of as many extents");
    }
    check_extents(v, p, PG_A_SHAPE);
    check_extents(v, p, PG_A_STRIDES);
}

static void check_desc(pg_verifier *v, const pg_param *p)
{
    const pg_type_info *t = pg_val_info(v->k, p->val);
    const pg_aval *of = pg_attr_get(&p->attrs, PG_A_OF);
    const pg_value *array = of == NULL ? NULL : pg_value_of(v->k, of->val);
    if (array == NULL || array->kind != PG_V_PARAM || array->index >= v->k->n_params) {
        bad_param(v, p, "a descriptor says of which pointer parameter it is: [of=%p]");
        return;
    }
    const pg_type_info *a = pg_type_get(v->types, array->type);
    const pg_aval *shape = pg_attr_get(&v->k->params[array->index].attrs, PG_A_SHAPE);
    if (a->kind != PG_TY_SCALAR || a->is_ptr == 0 || a->elem != t->elem) {
        bad_param(v, p, "it describes a pointer to its own element");
    } else if (shape == NULL || shape->kind != PG_AV_LIST || shape->n != t->rank) {
        bad_param(v, p, "the array that it describes has a shape with as many extents as the box");
    }
    if (v->m->sm < 90) {
        bad_param(v, p, "descriptors need sm_90 or later");
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Kernels and parameters keep their names in PTX and in the manifest (PTX ISA 4.4, Identifiers). */
static void check_name(pg_verifier *v, pg_sym sym, pg_loc loc)
{
    const pg_str name = pg_sym_text(&v->m->ctx->syms, sym);
    bool is_good = name.len != 0 && is_letter(name.ptr[0]) && !pg_str_is(name, "_") &&
                   !pg_str_is(name, "WARP_SZ");
    for (size_t i = 1; i < name.len && is_good; i++) {
        is_good = is_letter(name.ptr[i]) || (name.ptr[i] >= '0' && name.ptr[i] <= '9');
    }
    if (!is_good) {
        const bool is_empty = name.len == 0;
        pg_verify_error(v, PG_D_NAME_FORM, loc, is_empty ? "a number" : "'",
                        is_empty ? "" : name.ptr, is_empty ? "" : "'");
    }
}

/* Names of parameters; the parser says it of text, with the place of the other one. */
static void check_param_names(pg_verifier *v)
{
    pg_map seen;
    pg_map_init(&seen, &v->scratch);
    for (uint32_t i = 0; i < v->k->n_params; i++) {
        const pg_param *p = &v->k->params[i];
        const pg_sym name = pg_value_of(v->k, p->val)->name;
        check_name(v, name, p->loc);
        if (name.id != 0 && pg_map_get(&seen, name.id) != NULL) {
            bad_param(v, p, "another parameter has its name");
        }
        (void)pg_map_put(&seen, name.id, 1);
    }
}

void pg_verify_params(pg_verifier *v)
{
    const uint64_t of_pointer =
        BIT(IN) | BIT(OUT) | BIT(INOUT) | BIT(SHAPE) | BIT(STRIDES) | BIT(ALIGN) | BIT(NOALIAS);
    check_param_names(v);
    for (uint32_t i = 0; i < v->k->n_params; i++) {
        const pg_param *p = &v->k->params[i];
        pg_type type = pg_val_type(v->k, p->val);
        const pg_type_info *t = pg_type_get(v->types, type);
        pg_verify_type(v, type, p->loc);
        pg_verify_attr_values(v, &p->attrs, p->loc);
        if (t->kind == PG_TY_DESC) {
            pg_verify_attr_set(v, &p->attrs, BIT(OF), "a descriptor parameter", p->loc);
            check_desc(v, p);
        } else if (t->kind == PG_TY_SCALAR && t->is_ptr != 0) {
            pg_verify_attr_set(v, &p->attrs, of_pointer, "a pointer parameter", p->loc);
            check_pointer(v, p);
        } else if (t->kind == PG_TY_SCALAR) {
            pg_verify_attr_set(v, &p->attrs, BIT(DIV), "a scalar parameter", p->loc);
        } else {
            bad_param(v, p, "parameters are scalars, pointers and descriptors");
        }
    }
}

/* ---- kernels ------------------------------------------------------------------------------- */

static bool is_warp_count(int64_t n)
{
    return n == 1 || n == 2 || (n > 0 && n <= MAX_WARPS && n % GROUP == 0);
}

static void verify_cluster(pg_verifier *v)
{
    const pg_kernel *k = v->k;
    const pg_aval *cluster = pg_attr_get(&k->attrs, PG_A_CLUSTER);
    int64_t size = 1;
    if (cluster == NULL) {
        return;
    }
    bool is_good = cluster->kind == PG_AV_LIST && cluster->n >= 1 && cluster->n <= 3;
    for (uint32_t i = 0; is_good && i < cluster->n; i++) {
        is_good = cluster->items[i].num >= 1 && cluster->items[i].num <= MAX_CLUSTER;
        size *= is_good ? cluster->items[i].num : 1;
    }
    if (!is_good || size > MAX_CLUSTER) {
        pg_verify_error(v, PG_D_CLUSTER, k->loc);
    } else if (size > 1 && v->m->sm < 90) {
        pg_verify_error(v, PG_D_NEEDS_SM, k->loc, "a cluster of more than one CTA", 90,
                        pg_sym_text(&v->m->ctx->syms, v->m->target).ptr);
    }
}

void pg_verify_kernel_attrs(pg_verifier *v)
{
    const pg_kernel *k = v->k;
    pg_verify_attr_set(v, &k->attrs, BIT(WARPS) | BIT(MIN_CTAS) | BIT(CLUSTER), "a kernel", k->loc);
    pg_verify_attr_values(v, &k->attrs, k->loc);
    check_name(v, k->name, k->loc);
    int64_t warps = pg_attr_int(&k->attrs, PG_A_WARPS, GROUP);
    if (!is_warp_count(warps)) {
        pg_verify_error(v, PG_D_WARP_COUNT, k->loc, (long long)warps);
    }
    verify_cluster(v);
}

/* ---- partitions ---------------------------------------------------------------------------- */

typedef struct group {
    const pg_inst *first;
    const pg_inst *by_default;
    int64_t n_warps; /* of all that were seen, the default partition's aside */
    int64_t pool;    /* registers that are asked for */
} group;

static bool uses_wgmma(const pg_inst *part)
{
    const pg_region *root = part->regions[0];
    for (const pg_inst *i = root->first; i != NULL; i = pg_inst_walk(i, root)) {
        if (i->op == PG_OP_MMA_ASYNC || i->op == PG_OP_MMA_BEGIN) {
            return true;
        }
    }
    return false;
}

static void check_default(pg_verifier *v, const pg_inst *part, int64_t warps, group *g)
{
    int64_t of_kernel = pg_attr_int(&v->k->attrs, PG_A_WARPS, GROUP);
    if (g->by_default != NULL) {
        pg_verify_error(v, PG_D_PART_DEFAULT, part->loc, g->by_default->loc.line);
    } else if (warps != of_kernel) {
        pg_verify_error(v, PG_D_DEFAULT_WARPS, part->loc, (long long)warps, (long long)of_kernel);
    }
    g->by_default = part;
}

/* For sums: a number out of range is an error of its own, and counts as nothing. */
static int64_t within(int64_t x, int64_t most)
{
    return x < 0 || x > most ? 0 : x;
}

static void check_partition(pg_verifier *v, const pg_inst *part, group *g)
{
    int64_t of_kernel = within(pg_attr_int(&v->k->attrs, PG_A_WARPS, GROUP), MAX_COUNTED);
    int64_t warps = pg_attr_int(&part->attrs, PG_A_WARPS, 0);
    int64_t regs = pg_attr_int(&part->attrs, PG_A_REGS, 0);
    bool is_default = pg_attr_has(&part->attrs, PG_A_DEFAULT);
    if (!is_warp_count(warps)) {
        pg_verify_error(v, PG_D_WARP_COUNT, part->loc, (long long)warps);
    }
    for (const pg_inst *i = g->first; i != part; i = i->next) {
        if (i->sym.id == part->sym.id) {
            pg_verify_error(v, PG_D_PART_TWICE, part->loc,
                            pg_sym_text(&v->m->ctx->syms, part->sym).ptr, i->loc.line);
            break;
        }
    }
    if (is_default) {
        check_default(v, part, warps, g);
    }
    int64_t first_warp = is_default ? 0 : of_kernel + g->n_warps;
    if ((warps % GROUP != 0 || first_warp % GROUP != 0) && uses_wgmma(part)) {
        pg_verify_error(v, PG_D_WGMMA_WARPS, part->loc, (long long)first_warp, (long long)warps);
    }
    if (regs != 0 && regs % 8 != 0) {
        pg_verify_error(v, PG_D_REGS_MULTIPLE, part->loc, (long long)regs);
    }
    if (regs != 0 && (warps % GROUP != 0 || first_warp % GROUP != 0)) {
        pg_verify_error(v, PG_D_REGS_GROUP, part->loc, (long long)warps);
    }
    int64_t counted = within(warps, MAX_COUNTED);
    g->n_warps += is_default ? 0 : counted;
    g->pool += within(regs, MAX_COUNTED) * counted * WARP;
}

static void check_group(pg_verifier *v, const pg_inst *first)
{
    group g = {.first = first};
    const pg_inst *part = first;
    for (; part != NULL && part->op == PG_OP_PARTITION; part = part->next) {
        if (part->n_regions == 1 && part->regions[0] != NULL) {
            check_partition(v, part, &g);
        }
    }
    int64_t total = pg_attr_int(&v->k->attrs, PG_A_WARPS, GROUP) + g.n_warps;
    if (total > MAX_WARPS) {
        pg_verify_error(v, PG_D_TOO_MANY_WARPS, first->loc, (long long)total);
    }
    if (g.pool > POOL) {
        pg_verify_error(v, PG_D_REG_POOL, first->loc, (long long)g.pool, POOL);
    }
}

/* Is the buffer never alive together with some other one? */
static bool may_share(const pg_verifier *v, const pg_lifetimes *l, const pg_inst *buf)
{
    for (const pg_inst *i = v->k->body->first; i != NULL; i = i->next) {
        if (i->op == PG_OP_BUF_NEW && i != buf && pg_lifetimes_apart(l, i->out[0], buf->out[0])) {
            return true;
        }
    }
    return false;
}

/* What buffers that may share memory with others need beyond the largest of them. */
static uint64_t bytes_shared(pg_verifier *v)
{
    uint64_t sum = 0, most = 0;
    pg_lifetimes *l = NULL;
    if (v->diags->n_errors != v->n_errors_before || /* what follows needs whole IR */
        pg_lifetimes_make(v->k, &v->scratch, &l) != PG_OK) {
        return 0;
    }
    for (const pg_inst *i = v->k->body->first; i != NULL; i = i->next) {
        if (i->op == PG_OP_BUF_NEW && may_share(v, l, i)) {
            const int64_t n = pg_type_n_elems(v->types, pg_val_type(v->k, i->out[0]));
            const uint64_t bits = pg_elem_infos[pg_val_info(v->k, i->out[0])->elem].bits;
            const uint64_t bytes = (uint64_t)(n < 0 ? 0 : n) * bits / 8;
            sum += bytes;
            most = bytes > most ? bytes : most;
        }
    }
    return sum - most;
}

/* Shared memory that buffers and barriers take at least. Emission, which places them, has the last
 * word. */
static void check_smem(pg_verifier *v)
{
    const pg_target *target = pg_target_find(pg_sym_text(&v->m->ctx->syms, v->m->target));
    const pg_inst *last = NULL;
    for (const pg_inst *i = v->k->body->first; i != NULL; i = i->next) {
        const bool is_alloc = (pg_op_infos[i->op].flags & PG_F_ALLOC) != 0 && i->n_out != 0;
        last = is_alloc ? i : last;
    }
    const pg_region **homes =
        last == NULL || target == NULL ? NULL : pg_buffer_homes(v->k, &v->scratch);
    const uint64_t sum = homes == NULL ? 0 : pg_smem_bytes(v->k, homes);
    if (homes != NULL && sum > target->smem_per_cta &&
        sum > target->smem_per_cta + bytes_shared(v)) {
        pg_verify_error(v, PG_D_SMEM_FULL, last->loc, (unsigned long long)sum, target->smem_per_cta,
                        target->name);
    }
}

void pg_verify_partitions(pg_verifier *v)
{
    const pg_inst *group_at = NULL;
    const pg_region *body = v->k->body;
    if (body == NULL) {
        return;
    }
    const bool has_parts = pg_kernel_has(v->k, PG_OP_PARTITION);
    for (const pg_inst *i = body->first; i != NULL && has_parts; i = pg_inst_walk(i, body)) {
        if (i->op != PG_OP_PARTITION) {
            continue;
        }
        if (i->parent != body) {
            pg_verify_error(v, PG_D_PART_PLACE, i->loc);
        } else if (i->prev == NULL || i->prev->op != PG_OP_PARTITION) {
            if (group_at != NULL) {
                pg_verify_error(v, PG_D_PART_GROUPS, i->loc, group_at->loc.line);
            } else {
                check_group(v, i);
            }
            group_at = i;
        }
    }
    if (pg_kernel_has(v->k, PG_OP_BUF_NEW) || pg_kernel_has(v->k, PG_OP_RING_NEW) ||
        pg_kernel_has(v->k, PG_OP_BAR_NEW)) {
        check_smem(v);
    }
}
