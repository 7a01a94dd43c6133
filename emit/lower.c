/* lower.c: the entry of the lowering: module, kernels, parameters, directives, regions. */
#include <string.h>

#include "emit/lower_int.h"

typedef void lower_fn(pg_lw *c, const pg_inst *i);
static lower_fn *const lower_fns[PG_OP_COUNT] = {
#define OP(id, ...) [PG_OP_##id] = pg_lower_##id,
#include "ir/ops.def"
};

void pg_lw_region(pg_lw *c, const pg_region *r)
{
    c->yield = NULL;
    pg_foreach_inst (i, r) {
        if (pg_lw_failed(c)) {
            return;
        }
        c->b.loc = i->loc;
        if (c->opt != NULL && c->opt->annotate) {
            pg_ptx_comment(&c->b, "loc %u:%u %s", i->loc.line, i->loc.column,
                           pg_op_infos[i->op].text);
        }
        lower_fns[i->op](c, i);
    }
}

/* Views, loops and their values come later; what follows from layouts and buffers alone is made
 * here, outside all loops. */
static void prepare_one(pg_lw *c, const pg_inst *i)
{
    switch ((pg_op)i->op) {
    case PG_OP_IOTA: {
        const pg_lw_layout *l = pg_lw_layout_of(c, i, pg_val_type(c->k, i->out[0]));
        uint32_t d = (uint32_t)pg_attr_int(&i->attrs, PG_A_DIM, 0);
        if (l != NULL && d < l->l.rank) {
            pg_lw_coords(c, l, d, NULL);
        }
        break;
    }
    case PG_OP_ATOMIC_ADD:
    case PG_OP_ATOMIC_MAX:
    case PG_OP_ATOMIC_UMAX:
    case PG_OP_STORE: {
        bool is_tile = pg_val_info(c->k, i->in[0])->kind == PG_TY_TILE;
        const pg_lw_layout *l = is_tile ? pg_lw_layout_of(c, i, pg_val_type(c->k, i->in[0])) : NULL;
        if (l != NULL) {
            pg_lw_replica_guard(c, l);
        } else if (!is_tile && !c->is_elected) {
            pg_lw_thread_is_0(c);
        }
        break;
    }
    case PG_OP_ASYNC_GET:
    case PG_OP_BUF_LOAD:
    case PG_OP_BUF_STORE: pg_lw_prepare_buf(c, i); break;
    case PG_OP_RING_PRIME:
    case PG_OP_BAR_ARRIVE:
        if (pg_attr_int(&i->attrs, PG_A_PER, PG_PER_THREAD) == PG_PER_WARP && !c->is_elected) {
            pg_lw_lane_is_0(c);
        }
        break;
    case PG_OP_BAR_WAIT:
    case PG_OP_BAR_EXPECT: pg_lw_smem_base(c); break;
    case PG_OP_MMA_ASYNC: pg_lw_prepare_mma(c, i); break;
    case PG_OP_TMA_LOAD:
    case PG_OP_TMA_STORE: {
        const pg_lv *desc = pg_lw_in(c, i, 0);
        if (desc->kind == PG_LV_DESC) {
            pg_lw_desc_addr(c, desc);
        }
        break;
    }
    default: break;
    }
}

/* Partitions prepare their own. */
void pg_lw_prepare(pg_lw *c, const pg_region *r)
{
    pg_foreach_inst (i, r) {
        bool was_elected = c->is_elected;
        if (pg_lw_failed(c)) {
            return;
        }
        prepare_one(c, i);
        c->is_elected = was_elected || i->op == PG_OP_ELECT;
        for (uint32_t n = 0; n < i->n_regions && i->op != PG_OP_PARTITION; n++) {
            pg_lw_prepare(c, i->regions[n]);
        }
        c->is_elected = was_elected;
    }
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Extents of arrays are not negative. */
static bool is_extent(const pg_kernel *k, pg_val v)
{
    for (uint32_t p = 0; p < k->n_params; p++) {
        const pg_aval *shape = pg_attr_get(&k->params[p].attrs, PG_A_SHAPE);
        for (uint32_t d = 0; shape != NULL && d < shape->n; d++) {
            if (shape->items[d].kind == PG_AV_VAL && pg_val_eq(shape->items[d].val, v)) {
                return true;
            }
        }
    }
    return false;
}

static uint32_t log2_attr(const pg_attrs *a, pg_attr_id id, uint32_t if_absent)
{
    int64_t x = pg_attr_int(a, id, 0);
    return x > 0 ? pg_ctz((uint64_t)x) : if_absent;
}

static pg_ptx_type param_type(pg_elem e)
{
    switch (e) {
    case PG_I1:
    case PG_I8:
    case PG_E4M3:
    case PG_E5M2: return PG_PTX_U8;
    case PG_I16: return PG_PTX_U16;
    case PG_F16:
    case PG_BF16: return PG_PTX_B16;
    case PG_I32: return PG_PTX_U32;
    case PG_F32: return PG_PTX_F32;
    case PG_TF32: return PG_PTX_B32;
    case PG_F64: return PG_PTX_F64;
    default: return PG_PTX_U64;
    }
}

static const char *load_opcode(pg_elem e)
{
    switch (e) {
    case PG_I1:
    case PG_E4M3:
    case PG_E5M2: return "ld.param.u8";
    case PG_I8: return "ld.param.s8";
    case PG_I16: return "ld.param.s16";
    case PG_F16:
    case PG_BF16: return "ld.param.b16";
    case PG_I32: return "ld.param.u32";
    case PG_F32: return "ld.param.f32";
    case PG_TF32: return "ld.param.b32";
    case PG_F64: return "ld.param.f64";
    default: return "ld.param.u64";
    }
}

static void load_param(pg_lw *c, const pg_param *p, const pg_type_info *t, uint32_t sym)
{
    pg_elem e = pg_lw_elem(t);
    bool is_flag = e == PG_I1;
    uint32_t r = pg_lw_new_reg(c, is_flag ? PG_PTX_B32 : pg_lw_reg_type(e));
    pg_ptx_opnd ops[2] = {pg_lw_reg(r), pg_ptx_addr(&c->b, pg_ptx_sym_opnd(sym, 0), 0)};
    pg_lw_emit(c, load_opcode(e), 2, ops);
    int64_t lo, hi;
    pg_elem_range(e, &lo, &hi);
    if (t->is_ptr) {
        uint32_t bits = pg_elem_infos[t->elem].bits;
        uint32_t natural = pg_log2(bits < 8 ? 1 : bits / 8);
        r = pg_lw_pure1(c, "cvta.to.global.u64", PG_PTX_B64, pg_lw_reg(r));
        pg_lw_set_fact(c, r, lo, hi, log2_attr(&p->attrs, PG_A_ALIGN, natural));
    } else if (is_flag) {
        r = pg_lw_pure2(c, "setp.ne.s32", PG_PTX_PRED, pg_lw_reg(r), pg_ptx_int(0));
    } else if (pg_elem_infos[e].cls == 'I') {
        pg_lw_set_fact(c, r, is_extent(c->k, p->val) ? 0 : lo, hi,
                       log2_attr(&p->attrs, PG_A_DIV, 0));
    }
    pg_el *el = PG_NEW(&c->scratch, pg_el);
    if (el != NULL) {
        *el = pg_el_reg(r);
        c->vals[p->val.id] = (pg_lv){.kind = PG_LV_TILE, .n = 1, .el = el};
    }
}

/* What the code relies on stands in its declaration, for who launches the PTX without its manifest.
 * A pointer of which nothing is said stays a number: `.ptr` alone would promise 4 bytes. */
static void declare_align(pg_lw *c, const pg_param *p, uint32_t sym)
{
    const int64_t align = pg_attr_int(&p->attrs, PG_A_ALIGN, 0);
    if (align > 1 && align <= UINT16_MAX + 1 && sym != 0) {
        pg_ptx_sym *s = &c->ptx->syms.at[sym];
        s->is_ptr = true;
        s->ptr_space = PG_PTX_SP_GLOBAL;
        s->ptr_align = (uint32_t)align;
    }
}

static void lower_params(pg_lw *c)
{
    uint32_t *syms = PG_NEWS(&c->scratch, uint32_t, c->k->n_params + 1);
    if (syms == NULL) {
        return;
    }
    for (uint32_t p = 0; p < c->k->n_params; p++) {
        const pg_param *param = &c->k->params[p];
        const pg_type_info *t = pg_val_info(c->k, param->val);
        pg_sym name = pg_value_of(c->k, param->val)->name;
        bool is_desc = t->kind == PG_TY_DESC;
        syms[p] = pg_ptx_param_new(c->ptx, c->b.f, pg_sym_text(&c->m->ctx->syms, name),
                                   is_desc ? PG_PTX_B8 : param_type(pg_lw_elem(t)),
                                   is_desc ? 128 : 0, is_desc ? 64 : 0);
        if (t->is_ptr) {
            declare_align(c, param, syms[p]);
        }
        if (is_desc) {
            c->vals[param->val.id] = (pg_lv){.kind = PG_LV_DESC, .sym = syms[p]};
        }
    }
    for (uint32_t p = 0; p < c->k->n_params; p++) {
        const pg_param *param = &c->k->params[p];
        const pg_type_info *t = pg_val_info(c->k, param->val);
        if (t->kind == PG_TY_SCALAR && c->n_uses[param->val.id] != 0) {
            load_param(c, param, t, syms[p]);
        }
    }
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

static void add_directive(pg_lw *c, const char *text, uint32_t n, const char *rest)
{
    pg_strbuf t;
    pg_strbuf_init(&t, c->m->ctx->alloc);
    pg_putf(&t, "%s %u%s", text, n, rest);
    pg_str s = {0};
    if (pg_strbuf_status(&t) == PG_OK) {
        s = pg_arena_str(c->ptx->arena, pg_strbuf_str(&t));
    }
    pg_strbuf_fini(&t);
    if (s.ptr == NULL || !pg_vec_push(c->ptx->arena, &c->b.f->directives, s)) {
        c->b.is_failed = true;
    }
}

/* setmaxnreg is honoured only where the register count at entry is known: both directives. */
static void lower_directives(pg_lw *c)
{
    add_directive(c, ".reqntid", c->plan.n_warps * 32, ", 1, 1");
    uint32_t min = c->plan.min_ctas;
    if (min != 0 || c->plan.entry_regs != 0) {
        add_directive(c, ".minnctapersm", min != 0 ? min : 1, "");
    }
    uint32_t n[3];
    pg_kernel_cluster(c->k, n);
    if (n[0] * n[1] * n[2] > 1) { /* else any target's kernel is one */
        pg_strbuf t;
        pg_strbuf_init(&t, c->m->ctx->alloc);
        pg_putf(&t, ", %u, %u", n[1], n[2]);
        add_directive(c, ".reqnctapercluster", n[0], t.ptr != NULL ? t.ptr : "");
        pg_strbuf_fini(&t);
    }
}

static bool is_any_smem(const pg_lw *c)
{
    return c->plan.objs.n != 0;
}

enum { FEW_INSTS = 2000 /* of a kernel that is not large */, FEW_KERNELS = 4 /* of a module */ };

/* How many statements an operation becomes, about. Large kernels have one for each operation, on
 * numbers, and their loops and branches move what they carry and yield; others have more for each
 * operation on a tile. What room is left over stays until the module is gone, so that many kernels
 * get less. */
static uint32_t stmts_of(const pg_lw *c, const pg_inst *i)
{
    enum { OF_TILE = 17, OF_TILE_OF_MANY = 7, OF_REGION = 4, OF_RESULT = 2 };
    if (c->k->n_insts >= FEW_INSTS) {
        return i->n_regions == 0
                   ? 1
                   : 1u + OF_REGION * (uint32_t)i->n_regions + OF_RESULT * (uint32_t)i->n_out;
    }
    const bool is_tile = i->n_out != 0 && pg_val_info(c->k, i->out[0])->kind == PG_TY_TILE;
    return !is_tile ? 1 : c->n_kernels <= FEW_KERNELS ? OF_TILE : OF_TILE_OF_MANY;
}

/* What must be known of all operations before the first is emitted: how often each value is used,
 * and how many statements there will be, about. */
static uint32_t look_over(pg_lw *c)
{
    const pg_region *body = c->k->body;
    const uint32_t n_values = c->k->values.n;
    uint32_t n_stmts = 0;
    c->n_uses = PG_NEWS(&c->scratch, uint32_t, n_values + 1);
    for (pg_inst *i = body->first; c->n_uses != NULL && i != NULL; i = pg_inst_walk(i, body)) {
        for (uint32_t n = 0; n < i->n_in; n++) {
            c->n_uses[i->in[n].id < n_values ? i->in[n].id : 0]++;
        }
        n_stmts += stmts_of(c, i);
    }
    return n_stmts;
}

/* Room for so many statements, their operands and registers. Those of a large kernel that move what
 * loops carry, or branch, have few operands and no register of their own. */
static void make_room(pg_lw *c, pg_ptx_func *f, uint32_t n_stmts)
{
    enum { PART = 16, ENDS = 64 };
    const bool is_small = c->k->n_insts < FEW_INSTS;
    /* What begins and ends a kernel must not be what its code grows by half for. */
    const uint32_t n = is_small ? n_stmts : c->k->n_insts + c->k->n_insts / PART + ENDS;
    const uint32_t n_moves = n_stmts > n ? n_stmts - n : 0;
    const uint32_t n_operands = (is_small && c->n_kernels <= FEW_KERNELS ? 4 : 3) * n + 2 * n_moves;
    (void)(pg_vec_room(c->ptx->arena, &f->body, n + n_moves) &&
           pg_vec_room(c->ptx->arena, &f->pool, n_operands) &&
           pg_vec_room(c->ptx->arena, &f->regs, n) && pg_vec_room(&c->scratch, &c->vn, n) &&
           (is_small || pg_index_room(&c->vn_index, n)));
}

static bool is_named(const pg_module *m, pg_str name)
{
    const pg_interner *syms = &m->ctx->syms;
    for (const pg_kernel *k = m->kernels; k != NULL; k = k->next) {
        bool is_found = pg_str_eq(pg_sym_text(syms, k->name), name);
        for (uint32_t i = 0; i < k->n_params && !is_found; i++) {
            const pg_sym of_param = pg_value_of(k, k->params[i].val)->name;
            is_found = pg_str_eq(pg_sym_text(syms, of_param), name);
        }
        if (is_found) {
            return true;
        }
    }
    return false;
}

/* The name of shared memory: one that no kernel has, nor a parameter, which would hide it. */
static pg_str smem_name(pg_lw *c)
{
    pg_strbuf text;
    pg_strbuf_init(&text, c->m->ctx->alloc);
    pg_put(&text, "smem");
    for (uint32_t n = 1; is_named(c->m, pg_strbuf_str(&text)); n++) {
        pg_strbuf_clear(&text);
        pg_putf(&text, "smem_%u", n);
    }
    const pg_str name = pg_arena_str(c->ptx->arena, pg_strbuf_str(&text));
    pg_strbuf_fini(&text);
    return name;
}

static pg_status lower_kernel(pg_lw *c)
{
    uint32_t n_errors = c->diags->n_errors;
    PG_TRY(pg_launch_plan_make(c->k, &c->scratch, c->diags, &c->plan));
    if (is_any_smem(c) && c->smem_sym == 0) {
        c->smem_sym = pg_ptx_var_new(c->ptx, PG_PTX_SP_SHARED, smem_name(c), PG_PTX_B8, 0, 1024,
                                     PG_PTX_L_EXTERN);
    }
    pg_ptx_func *f = pg_ptx_func_new(c->ptx, pg_sym_text(&c->m->ctx->syms, c->k->name), true);
    c->vals = PG_NEWS(&c->scratch, pg_lv, c->k->values.n + 1);
    c->loops = PG_NEWS(&c->scratch, pg_loop_plan *, c->k->n_insts + 1);
    if (f == NULL || c->vals == NULL || c->loops == NULL) {
        return PG_E_NOMEM;
    }
    pg_ptx_builder_init(&c->b, c->ptx, f, c->diags);
    if (c->b.is_failed) {
        return PG_E_NOMEM;
    }
    pg_index_init(&c->vn_index, &c->scratch);
    const uint32_t n_stmts = look_over(c);
    if (c->n_uses == NULL) {
        return PG_E_NOMEM;
    }
    make_room(c, f, n_stmts);
    c->b.loc = c->k->loc;
    c->n_warps = c->plan.kernel_warps;
    lower_directives(c);
    lower_params(c);
    pg_lw_prepare(c, c->k->body);
    pg_lw_region(c, c->k->body);
    pg_ptx_builder_finish(&c->b);
    if (c->scratch.is_oom || c->ptx->arena->is_oom || c->kept->arena->is_oom) {
        return PG_E_NOMEM;
    }
    return c->diags->n_errors != n_errors ? pg_diags_status(c->diags) : PG_OK;
}

/* A comment line before each kernel; the version is known only now. */
static pg_status lead_with_manifests(pg_ptx_module *ptx, const pg_module *m,
                                     const pg_launch_plan *plans, pg_diags *diags)
{
    uint32_t n = 0;
    for (const pg_kernel *k = m->kernels; k != NULL && n < ptx->funcs.n; k = k->next, n++) {
        pg_strbuf t;
        pg_strbuf_init(&t, m->ctx->alloc);
        pg_put(&t, "ptxgen: ");
        pg_status status = pg_lw_manifest(&t, k, &plans[n], ptx->version, diags);
        pg_str s = {0};
        if (status == PG_OK) {
            s = pg_arena_str(ptx->arena, pg_strbuf_str(&t));
        }
        pg_strbuf_fini(&t);
        PG_TRY(status);
        if (s.ptr == NULL || !pg_vec_push(ptx->arena, &ptx->funcs.at[n]->lead, s)) {
            return PG_E_NOMEM;
        }
    }
    return PG_OK;
}

static uint32_t count_kernels(const pg_module *m)
{
    uint32_t n = 0;
    for (const pg_kernel *k = m->kernels; k != NULL; k = k->next) {
        n++;
    }
    return n;
}

static pg_lw_kept *kept_of(pg_ctx *ctx)
{
    if (ctx->lowering == NULL) {
        pg_lw_kept *kept = PG_NEW(&ctx->arena, pg_lw_kept);
        pg_ptx_spellings *spellings = pg_ptx_spellings_new(&ctx->arena);
        if (kept == NULL || spellings == NULL) {
            return NULL;
        }
        kept->arena = &ctx->arena;
        kept->spellings = spellings;
        pg_map_init(&kept->ways, &ctx->arena);
        ctx->lowering = kept;
    }
    return ctx->lowering;
}

pg_status pg_lower(pg_module *m, const pg_lower_options *opt, pg_arena *arena, pg_diags *diags,
                   pg_ptx_module **out)
{
    *out = NULL;
    pg_ptx_module *ptx = pg_ptx_module_new(arena);
    pg_lw_kept *kept = kept_of(m->ctx);
    if (ptx == NULL || kept == NULL) {
        return PG_E_NOMEM;
    }
    ptx->spellings = kept->spellings;
    ptx->target = pg_arena_str(arena, pg_sym_text(&m->ctx->syms, m->target));
    ptx->address_size = 64;
    pg_status status = PG_OK;
    uint32_t smem_sym = 0, n = 0;
    pg_lw *c = NULL;
    const uint32_t n_kernels = count_kernels(m);
    pg_launch_plan *plans = PG_NEWS(arena, pg_launch_plan, n_kernels);
    if (plans == NULL) {
        return PG_E_NOMEM;
    }
    for (pg_kernel *k = m->kernels; k != NULL && status != PG_E_NOMEM; k = k->next) {
        pg_arena scratch;
        pg_arena_init(&scratch, m->ctx->alloc);
        c = PG_NEW(&scratch, pg_lw);
        pg_status one = PG_E_NOMEM;
        if (c != NULL) {
            c->m = m;
            c->k = k;
            c->types = m->ctx->types;
            c->kept = kept;
            c->n_kernels = n_kernels;
            c->scratch = scratch;
            c->diags = diags;
            c->target = pg_target_find(pg_sym_text(&m->ctx->syms, m->target));
            c->opt = opt;
            c->ptx = ptx;
            c->smem_sym = smem_sym;
            one = lower_kernel(c);
            smem_sym = c->smem_sym;
            plans[n] = c->plan;
            plans[n++].objs.n = 0; /* they are in scratch */
            scratch = c->scratch;  /* c itself lives in it */
        }
        pg_arena_fini(&scratch);
        status = status == PG_OK || one == PG_E_NOMEM ? one : status; /* all errors in one run */
    }
    PG_TRY(status);
    PG_TRY(pg_arena_status(arena));
    ptx->version = pg_ptx_min_version(ptx);
    PG_TRY(lead_with_manifests(ptx, m, plans, diags));
    *out = ptx;
    return PG_OK;
}
