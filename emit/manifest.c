/* manifest.c: what a launcher must know of a kernel, as JSON (docs/manifest.md). Expressions are
 * printed from the launch region: names are arguments, operators are + - * / % with C's
 * precedences, functions are ceildiv, min and max. */
#include "emit/lower_int.h"

enum { PREC_NONE, PREC_SUM, PREC_PRODUCT, PREC_ATOM };
enum { MAX_DEPTH = 64 };

typedef struct writer {
    pg_strbuf *out;
    const pg_module *m;
    const pg_kernel *k;
    uint32_t depth;
    bool is_lost; /* something that no expression can say */
} writer;

static pg_str param_name(const writer *w, pg_val v)
{
    return pg_sym_text(&w->m->ctx->syms, pg_value_of(w->k, v)->name);
}

static void put_expr(writer *w, pg_val v, uint32_t prec);

static void put_call(writer *w, const char *name, const pg_inst *i)
{
    pg_put(w->out, name);
    pg_put_char(w->out, '(');
    for (uint32_t n = 0; n < i->n_in; n++) {
        if (n != 0) {
            pg_put_char(w->out, ',');
        }
        put_expr(w, i->in[n], PREC_NONE);
    }
    pg_put_char(w->out, ')');
}

/* A product that begins with a factor, not with the quotient in x * (y / z * t). */
static bool is_product(const writer *w, pg_val v)
{
    const pg_inst *i = pg_val_def(w->k, v);
    bool is_any = false;
    while (i != NULL && (i->op == PG_OP_IMUL || i->op == PG_OP_CAST || i->op == PG_OP_UCAST)) {
        is_any = is_any || i->op == PG_OP_IMUL;
        i = pg_val_def(w->k, i->in[0]);
    }
    return is_any && (i == NULL || (i->op != PG_OP_IDIV && i->op != PG_OP_UDIV &&
                                    i->op != PG_OP_IREM && i->op != PG_OP_UREM));
}

/* Values of an expression have 64 bits, and arguments of less stand for themselves: a conversion
 * that takes no bits away from those is not seen. */
static bool is_silent_cast(const writer *w, const pg_inst *i)
{
    const pg_type_info *from = pg_val_info(w->k, i->in[0]), *to = pg_val_info(w->k, i->out[0]);
    return pg_elem_infos[from->elem].cls == 'I' &&
           (pg_elem_infos[to->elem].bits >= 32 ||
            pg_elem_infos[to->elem].bits >= pg_elem_infos[from->elem].bits);
}

static void put_binary(writer *w, char op, uint32_t own, const pg_inst *i, uint32_t prec)
{
    bool is_open = prec > own;
    if (is_open) {
        pg_put_char(w->out, '(');
    }
    /* x + (y - z) may lose its parentheses, x * (y / z) may not */
    bool is_loose = op == '+' || (op == '*' && is_product(w, i->in[1]));
    put_expr(w, i->in[0], own);
    pg_put_char(w->out, op);
    put_expr(w, i->in[1], is_loose ? own : own + 1);
    if (is_open) {
        pg_put_char(w->out, ')');
    }
}

static void put_inst(writer *w, const pg_inst *i, uint32_t prec)
{
    switch ((pg_op)i->op) {
    case PG_OP_IADD: put_binary(w, '+', PREC_SUM, i, prec); break;
    case PG_OP_ISUB: put_binary(w, '-', PREC_SUM, i, prec); break;
    case PG_OP_IMUL: put_binary(w, '*', PREC_PRODUCT, i, prec); break;
    case PG_OP_IDIV:
    case PG_OP_UDIV: put_binary(w, '/', PREC_PRODUCT, i, prec); break;
    case PG_OP_IREM:
    case PG_OP_UREM: put_binary(w, '%', PREC_PRODUCT, i, prec); break;
    case PG_OP_ICDIV: put_call(w, "ceildiv", i); break;
    case PG_OP_IMIN:
    case PG_OP_UMIN: put_call(w, "min", i); break;
    case PG_OP_IMAX:
    case PG_OP_UMAX: put_call(w, "max", i); break;
    case PG_OP_CAST:
    case PG_OP_UCAST:
        w->is_lost = w->is_lost || !is_silent_cast(w, i);
        put_expr(w, i->in[0], prec);
        break;
    case PG_OP_CONST: put_expr(w, i->in[0], prec); break;
    default: w->is_lost = true; break;
    }
}

static void put_expr(writer *w, pg_val v, uint32_t prec)
{
    const pg_value *value = pg_value_of(w->k, v);
    int64_t x;
    if (pg_val_int(w->k, v, &x)) {
        bool is_open = x < 0 && prec > PREC_NONE;
        pg_put(w->out, is_open ? "(" : "");
        pg_put_i64(w->out, x);
        pg_put(w->out, is_open ? ")" : "");
    } else if (value->kind == PG_V_PARAM) {
        pg_put_str(w->out, param_name(w, v));
    } else if (value->kind == PG_V_RESULT && value->def != NULL && w->depth < MAX_DEPTH) {
        w->depth++;
        put_inst(w, value->def, prec);
        w->depth--;
    } else {
        w->is_lost = true;
    }
}

/* An item of a shape: a number, an argument, or ? */
static void put_extent(writer *w, const pg_aval *a)
{
    pg_put_char(w->out, '"');
    if (a->kind == PG_AV_INT) {
        pg_put_i64(w->out, a->num);
    } else if (a->kind == PG_AV_VAL) {
        put_expr(w, a->val, PREC_NONE);
    } else {
        pg_put_char(w->out, '?');
    }
    pg_put_char(w->out, '"');
}

static void put_extents(writer *w, const char *key, const pg_aval *list)
{
    pg_putf(w->out, ", \"%s\": [", key);
    for (uint32_t d = 0; list != NULL && d < list->n; d++) {
        pg_put(w->out, d != 0 ? ", " : "");
        put_extent(w, &list->items[d]);
    }
    pg_put_char(w->out, ']');
}

static void put_name(writer *w, pg_val v)
{
    pg_put_json(w->out, param_name(w, v));
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const pg_param *param_of(const writer *w, pg_val v)
{
    for (uint32_t p = 0; p < w->k->n_params; p++) {
        if (pg_val_eq(w->k->params[p].val, v)) {
            return &w->k->params[p];
        }
    }
    return NULL;
}

static void put_factor(writer *w, const pg_aval *a)
{
    if (a->kind == PG_AV_INT) {
        pg_put_i64(w->out, a->num);
    } else if (a->kind == PG_AV_VAL) {
        put_expr(w, a->val, PREC_PRODUCT);
    } else {
        w->is_lost = true;
    }
}

/* Strides of the dimensions but the innermost, in bytes, outermost first. */
static void put_byte_strides(writer *w, const pg_param *array, uint32_t size)
{
    const pg_aval *shape = pg_attr_get(&array->attrs, PG_A_SHAPE);
    const pg_aval *strides = pg_attr_get(&array->attrs, PG_A_STRIDES);
    pg_put(w->out, ", \"strides\": [");
    for (uint32_t d = 0; shape != NULL && d + 1 < shape->n; d++) {
        pg_put(w->out, d != 0 ? ", \"" : "\"");
        bool is_first = size == 1;
        if (!is_first) {
            pg_put_u64(w->out, size);
        }
        uint32_t from = strides != NULL ? d : d + 1;
        uint32_t to = strides != NULL ? d + 1 : shape->n;
        const pg_aval *list = strides != NULL ? strides : shape;
        for (uint32_t e = from; e < to && e < list->n; e++) {
            pg_put(w->out, is_first ? "" : "*");
            is_first = false;
            put_factor(w, &list->items[e]);
        }
        pg_put_char(w->out, '"');
    }
    pg_put_char(w->out, ']');
}

static void put_tensormap(writer *w, const pg_param *p, const pg_type_info *t)
{
    const pg_aval *of = pg_attr_get(&p->attrs, PG_A_OF);
    const pg_param *array = of != NULL ? param_of(w, of->val) : NULL;
    pg_put(w->out, ", \"kind\": \"tensormap\"");
    if (array != NULL) {
        pg_put(w->out, ", \"of\": ");
        put_name(w, array->val);
    }
    pg_putf(w->out, ", \"dtype\": \"%s\"", pg_elem_infos[t->elem].text);
    if (array != NULL) {
        put_extents(w, "dims", pg_attr_get(&array->attrs, PG_A_SHAPE));
        put_byte_strides(w, array, pg_elem_infos[t->elem].bits / 8u);
    }
    pg_put(w->out, ", \"box\": [");
    for (uint32_t d = 0; d < t->rank; d++) {
        bool is_split = d == 0 && t->rank > 1 && t->dims[d] > 256; /* copied in parts */
        pg_putf(w->out, "%s%d", d != 0 ? ", " : "", is_split ? 256 : t->dims[d]);
    }
    pg_putf(w->out, "], \"swizzle\": %u", pg_enc_get(w->m->ctx->types, t->enc)->swizzle);
}

static void put_pointer(writer *w, const pg_param *p, const pg_type_info *t)
{
    const char *role = pg_attr_has(&p->attrs, PG_A_INOUT) ? "inout"
                       : pg_attr_has(&p->attrs, PG_A_OUT) ? "out"
                       : pg_attr_has(&p->attrs, PG_A_IN)  ? "in"
                                                          : NULL;
    pg_putf(w->out, ", \"kind\": \"pointer\", \"dtype\": \"%s\"", pg_elem_infos[t->elem].text);
    if (role != NULL) {
        pg_putf(w->out, ", \"role\": \"%s\"", role);
    }
    const pg_aval *shape = pg_attr_get(&p->attrs, PG_A_SHAPE);
    const pg_aval *strides = pg_attr_get(&p->attrs, PG_A_STRIDES);
    if (shape != NULL) {
        put_extents(w, "shape", shape);
    }
    if (strides != NULL) {
        put_extents(w, "strides", strides);
    }
    int64_t align = pg_attr_int(&p->attrs, PG_A_ALIGN, 0);
    if (align != 0) {
        pg_put(w->out, ", \"align\": ");
        pg_put_i64(w->out, align);
    }
}

static void put_args(writer *w)
{
    pg_put(w->out, ", \"args\": [");
    for (uint32_t p = 0; p < w->k->n_params; p++) {
        const pg_param *param = &w->k->params[p];
        const pg_type_info *t = pg_val_info(w->k, param->val);
        pg_put(w->out, p != 0 ? ", {\"name\": " : "{\"name\": ");
        put_name(w, param->val);
        if (t->kind == PG_TY_DESC) {
            put_tensormap(w, param, t);
        } else if (t->is_ptr) {
            put_pointer(w, param, t);
        } else {
            pg_putf(w->out, ", \"kind\": \"%s\"", pg_elem_infos[t->elem].text);
            int64_t div = pg_attr_int(&param->attrs, PG_A_DIV, 0);
            if (div != 0) {
                pg_put(w->out, ", \"div\": ");
                pg_put_i64(w->out, div);
            }
        }
        pg_put_char(w->out, '}');
    }
    pg_put_char(w->out, ']');
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_grid(writer *w)
{
    const pg_inst *grid = w->k->launch != NULL ? w->k->launch->last : NULL;
    pg_put(w->out, ", \"grid\": [");
    for (uint32_t d = 0; d < 3; d++) {
        pg_put(w->out, d != 0 ? ", \"" : "\"");
        if (grid != NULL && grid->op == PG_OP_GRID && d < grid->n_in) {
            put_expr(w, grid->in[d], PREC_NONE);
        } else {
            pg_put_char(w->out, '1');
        }
        pg_put_char(w->out, '"');
    }
    pg_put_char(w->out, ']');
}

static void put_cluster(writer *w)
{
    uint32_t n[3];
    pg_kernel_cluster(w->k, n);
    pg_putf(w->out, ", \"cluster\": [%u, %u, %u]", (unsigned)n[0], (unsigned)n[1], (unsigned)n[2]);
}

pg_status pg_lw_manifest(pg_strbuf *out, const pg_kernel *k, const pg_launch_plan *plan,
                         uint32_t ptx_version, pg_diags *diags)
{
    const pg_module *m = k->module;
    writer w = {.out = out, .m = m, .k = k};
    pg_put(out, "{\"schema\": 1, \"entry\": ");
    pg_put_json(out, pg_sym_text(&m->ctx->syms, k->name));
    pg_put(out, ", \"target\": ");
    pg_put_json(out, pg_sym_text(&m->ctx->syms, m->target));
    pg_putf(out, ", \"ptx_version\": \"%u.%u\"", ptx_version / 10, ptx_version % 10);
    put_grid(&w);
    pg_putf(out, ", \"block\": [%u, 1, 1]", plan->n_warps * 32);
    put_cluster(&w);
    pg_putf(out, ", \"smem\": \"%u\"", plan->smem);
    put_args(&w);
    pg_put_char(out, '}');
    if (w.is_lost) {
        return pg_diag_add(diags, PG_D_LOWER_LAUNCH, k->loc);
    }
    return pg_strbuf_status(out);
}

/* Only emitted code knows its version. */
pg_status pg_manifest(pg_strbuf *out, pg_module *m, const pg_kernel *k, pg_diags *diags)
{
    pg_arena arena;
    pg_ptx_module *ptx = NULL;
    pg_launch_plan plan;
    pg_arena_init(&arena, m->ctx->alloc);
    pg_status status = pg_lower(m, NULL, &arena, diags, &ptx);
    if (status == PG_OK) {
        status = pg_launch_plan_make(k, &arena, diags, &plan);
    }
    if (status == PG_OK) {
        status = pg_lw_manifest(out, k, &plan, ptx->version, diags);
    }
    pg_arena_fini(&arena);
    return status;
}
