/* print.c: canonical text. Two spaces for each region, one operation a line, attributes in the
 * order of their table, defaults left out. Names stay where they are unique in their scope; values
 * without one are numbered in text order. */
#include <string.h>

#include "base/vec.h"
#include "ir/literal.h"

typedef PG_VEC(pg_loc) pg_vec_loc;

typedef struct printer {
    pg_strbuf *out;
    const pg_module *m;
    const pg_kernel *k;
    pg_arena scratch;
    pg_map encs; /* encoding id -> index of enc_names */
    pg_vec_str enc_names;
    pg_str *names; /* by value id; empty: not printed yet */
    uint32_t n_names;
    pg_map scope;    /* text of the visible names */
    pg_map suffixes; /* sym id -> next number to try where a name is taken */
    uint32_t n_numbers;
    uint32_t indent;
    PG_VEC(pg_type) types;
    pg_vec_loc *places; /* NULL: not asked for */
    pg_arena of_places; /* lives longer than a kernel, as `scratch` does not */
    size_t line_begin;  /* of the line in which the last place is */
    uint32_t line;
} printer;

/* Notes where the text is now, from 1. */
static void note_place(printer *p)
{
    if (p->places == NULL || p->out->is_oom) {
        return;
    }
    for (size_t i = p->line_begin; i < p->out->len; i++) {
        if (p->out->ptr[i] == '\n') {
            p->line++;
            p->line_begin = i + 1;
        }
    }
    const pg_loc at = {p->line, (uint32_t)(p->out->len - p->line_begin) + 1};
    (void)pg_vec_push(&p->of_places, p->places, at);
}

static void put_indent(const printer *p)
{
    pg_put_repeat(p->out, ' ', (size_t)p->indent * 2);
}

static pg_str sym_text(const printer *p, pg_sym s)
{
    return pg_sym_text(&p->m->ctx->syms, s);
}

/* ---- types --------------------------------------------------------------------------------- */

/* The name of an encoding; a module that is printed whole has names for all of its encodings. */
static void put_enc_name(const printer *p, pg_enc e)
{
    const uint32_t *at = pg_map_get(&p->encs, e.id);
    pg_put_char(p->out, '#');
    if (at != NULL) {
        pg_put_str(p->out, p->enc_names.at[*at]);
        return;
    }
    for (uint32_t i = 0; i < p->m->encs.n; i++) {
        if (pg_enc_eq(p->m->encs.at[i].enc, e)) {
            pg_put_str(p->out, sym_text(p, p->m->encs.at[i].name));
            return;
        }
    }
    pg_putf(p->out, "e%u", e.id);
}

static void put_dims(const printer *p, const pg_type_info *t)
{
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] < 0) {
            pg_put_char(p->out, '?');
        } else {
            pg_put_i64(p->out, t->dims[d]);
        }
        pg_put_char(p->out, 'x');
    }
}

static void put_elem(const printer *p, const pg_type_info *t)
{
    pg_putf(p->out, t->is_ptr != 0 ? "ptr<%s>" : "%s", pg_elem_infos[t->elem].text);
}

static void put_type(const printer *p, pg_type type)
{
    static const char *const heads[PG_TY_COUNT] = {
        [PG_TY_TILE] = "tile<", [PG_TY_DESC] = "desc<", [PG_TY_BUF] = "buf<",
        [PG_TY_RING] = "ring<", [PG_TY_BAR] = "bar<",   [PG_TY_TENSOR] = "tensor<"};
    static const char *const spaces[PG_SPACE_COUNT] = {"none", "smem", "dsmem", "tmem"};
    const pg_type_info *t = pg_type_get(p->m->ctx->types, type);
    if (t->kind == PG_TY_NONE || t->kind >= PG_TY_COUNT) {
        pg_put(p->out, "none");
        return;
    }
    if (t->kind == PG_TY_SCALAR) {
        put_elem(p, t);
        return;
    }
    if (t->kind == PG_TY_TOKEN) {
        pg_put(p->out, "token");
        return;
    }
    pg_put(p->out, heads[t->kind]);
    if (t->kind == PG_TY_RING || t->kind == PG_TY_BAR) {
        pg_putf(p->out, "%d>", t->dims[0]);
        return;
    }
    if (t->kind == PG_TY_BUF) {
        pg_putf(p->out, "%s, ", spaces[t->space < PG_SPACE_COUNT ? t->space : 0]);
    }
    put_dims(p, t);
    put_elem(p, t);
    if (t->enc.id != 0) {
        pg_put(p->out, ", ");
        put_enc_name(p, t->enc);
    }
    pg_put_char(p->out, '>');
}

/* ---- names --------------------------------------------------------------------------------- */

/* Whether a name can be read back, and as a name: not digits only. */
static bool is_good_name(pg_str s)
{
    bool is_number = true;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_digit = c >= '0' && c <= '9';
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
        if (!is_digit && !is_letter) {
            return false;
        }
        is_number = is_number && is_digit;
    }
    return !is_number;
}

static pg_str formatted(printer *p, pg_str base, uint32_t n)
{
    char text[12];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    size_t digits = sizeof text - at;
    char *to = pg_arena_get(&p->scratch, base.len + digits + 1, 1);
    if (to == NULL) {
        return PG_STR("");
    }
    if (base.len != 0) {
        memcpy(to, base.ptr, base.len);
        to[base.len] = '_';
    }
    size_t start = base.len == 0 ? 0 : base.len + 1;
    memcpy(to + start, text + at, digits);
    return (pg_str){to, start + digits};
}

/* A name that nobody visible has: the value's own, with a number behind it where it is taken. */
static pg_str unique_name(printer *p, pg_sym sym)
{
    pg_str own = sym_text(p, sym);
    if (!is_good_name(own)) {
        return formatted(p, PG_STR(""), p->n_numbers++);
    }
    if (pg_map_get_str(&p->scope, own) == NULL) {
        return own;
    }
    const uint32_t *next = pg_map_get(&p->suffixes, sym.id);
    pg_str text;
    uint32_t n = next == NULL ? 1 : *next;
    do {
        text = formatted(p, own, n++);
    } while (text.len != 0 && pg_map_get_str(&p->scope, text) != NULL);
    (void)pg_map_put(&p->suffixes, sym.id, n);
    return text;
}

/* Chooses the name of a value that is defined here. It is visible after show_name. */
static void choose_name(printer *p, pg_val v)
{
    if (v.id != 0 && v.id < p->n_names) {
        p->names[v.id] = unique_name(p, pg_value_of(p->k, v)->name);
    }
}

static void show_name(printer *p, pg_val v)
{
    if (v.id != 0 && v.id < p->n_names && p->names[v.id].len != 0) {
        (void)pg_map_put_str(&p->scope, p->names[v.id], v.id);
    }
}

static void put_name(const printer *p, pg_val v)
{
    pg_str text = v.id < p->n_names ? p->names[v.id] : PG_STR("");
    pg_put_char(p->out, '%');
    if (text.len != 0) {
        pg_put_str(p->out, text);
        return;
    }
    text = p->names == NULL ? sym_text(p, pg_value_of(p->k, v)->name) : text;
    if (is_good_name(text)) {
        pg_put_str(p->out, text);
    } else {
        pg_putf(p->out, "v%u", v.id);
    }
}

/* ---- attributes ---------------------------------------------------------------------------- */

static void put_word(const printer *p, const char *words, int64_t index)
{
    for (; index > 0 && *words != '\0'; index--) {
        words += strcspn(words, " ");
        words += *words == ' ';
    }
    pg_put_str(p->out, (pg_str){words, strcspn(words, " ")});
}

static void put_aval(const printer *p, pg_attr_id id, const pg_aval *v)
{
    switch ((pg_aval_kind)v->kind) {
    case PG_AV_INT: pg_put_i64(p->out, v->num); break;
    case PG_AV_WORD: put_word(p, pg_attr_infos[id].words, v->num); break;
    case PG_AV_SYM:
        pg_put_char(p->out, '@');
        pg_put_str(p->out, sym_text(p, v->sym));
        break;
    case PG_AV_VAL: put_name(p, v->val); break;
    case PG_AV_DYN: pg_put_char(p->out, '?'); break;
    case PG_AV_LIST:
        pg_put_char(p->out, '(');
        for (uint32_t i = 0; i < v->n; i++) {
            pg_put(p->out, i == 0 ? "" : ", ");
            put_aval(p, id, &v->items[i]);
        }
        pg_put_char(p->out, ')');
        break;
    case PG_AV_NONE:
    case PG_AV_FLAG: break;
    }
}

static void put_attrs(const printer *p, const pg_attrs *attrs)
{
    bool is_open = false;
    for (uint32_t i = 0; i < attrs->n; i++) {
        const pg_attr *a = &attrs->at[i];
        if (a->id == PG_A_NONE || a->id >= PG_A_COUNT ||
            pg_attr_is_default((pg_attr_id)a->id, &a->val)) {
            continue;
        }
        pg_put(p->out, is_open ? ", " : " [");
        is_open = true;
        pg_put(p->out, pg_attr_infos[a->id].text);
        if (a->val.kind != PG_AV_FLAG) {
            pg_put_char(p->out, '=');
            put_aval(p, (pg_attr_id)a->id, &a->val);
        }
    }
    pg_put(p->out, is_open ? "]" : "");
}

/* ---- operations ---------------------------------------------------------------------------- */

typedef struct operand_context {
    bool is_ready;
    pg_operands around;
} operand_context;

/* Types of operands and results, for the types of literals; made when the first one is met. */
static void prepare_context(printer *p, const pg_inst *i, operand_context *c)
{
    c->is_ready = true;
    p->types.n = 0;
    if (!pg_vec_reserve(&p->scratch, &p->types, (uint32_t)i->n_in + i->n_out)) {
        return;
    }
    for (uint32_t j = 0; j < i->n_in; j++) {
        bool is_const = pg_val_is_const(p->k, i->in[j]);
        p->types.at[p->types.n++] = is_const ? (pg_type){0} : pg_val_type(p->k, i->in[j]);
    }
    for (uint32_t j = 0; j < i->n_out; j++) {
        p->types.at[p->types.n++] = pg_val_type(p->k, i->out[j]);
    }
    c->around = (pg_operands){.op = (pg_op)i->op,
                              .n_in = i->n_in,
                              .n_out = i->n_out,
                              .in = p->types.at,
                              .out = p->types.at + i->n_in,
                              .region = i->parent};
}

static void put_operand(printer *p, const pg_inst *i, uint32_t index, operand_context *c)
{
    const pg_value *v = pg_value_of(p->k, i->in[index]);
    if (v->kind != PG_V_CONST) {
        put_name(p, i->in[index]);
        return;
    }
    if (!c->is_ready) {
        prepare_context(p, i, c);
    }
    pg_type expected = pg_literal_type(p->k, &c->around, index);
    bool is_typed = !pg_type_eq(expected, v->type);
    if (is_typed) {
        put_type(p, v->type);
        pg_put_char(p->out, '(');
    }
    pg_elem e = (pg_elem)pg_type_get(p->m->ctx->types, v->type)->elem;
    pg_literal_put(p->out, e, v->bits, v->is_poison);
    pg_put(p->out, is_typed ? ")" : "");
}

static void put_operands(printer *p, const pg_inst *i, operand_context *c)
{
    for (uint32_t j = 0; j < i->n_in; j++) {
        pg_put(p->out, j == 0 ? " " : ", ");
        put_operand(p, i, j, c);
    }
}

/* `while` has its carried values in each of its regions, by one name. */
static void share_names(printer *p, const pg_inst *loop)
{
    const pg_region *test = loop->regions[0], *body = pg_loop_body(loop);
    for (uint32_t a = 0; test != NULL && body != NULL && a < test->n_args && a < body->n_args;
         a++) {
        if (body->args[a].id < p->n_names && test->args[a].id < p->n_names) {
            p->names[body->args[a].id] = p->names[test->args[a].id];
        }
    }
}

static void show_args(printer *p, const pg_region *r)
{
    for (uint32_t a = 0; r != NULL && a < r->n_args; a++) {
        show_name(p, r->args[a]);
    }
}

static pg_val loop_arg(const pg_inst *i, uint32_t index)
{
    const pg_region *body = i->n_regions == 0 ? NULL : i->regions[0];
    return body != NULL && index < body->n_args ? body->args[index] : (pg_val){0};
}

static void put_loop_head(printer *p, const pg_inst *i, operand_context *c)
{
    static const char *const between[] = {" in ", " to ", " step "};
    for (uint32_t a = 0; i->n_regions > 0 && i->regions[0] != NULL && a < i->regions[0]->n_args;
         a++) {
        choose_name(p, i->regions[0]->args[a]);
        show_name(p, i->regions[0]->args[a]);
    }
    if (i->op == PG_OP_FOR) {
        pg_put_char(p->out, ' ');
        put_name(p, loop_arg(i, 0));
    } else if (i->n_regions > 1) {
        share_names(p, i);
    }
    const uint32_t first = pg_loop_in(i);
    for (uint32_t j = 0; j < first && j < i->n_in; j++) {
        pg_put(p->out, between[j]);
        put_operand(p, i, j, c);
    }
    for (uint32_t j = first; j < i->n_in; j++) {
        pg_put(p->out, j == first ? " carry (" : ", ");
        put_name(p, loop_arg(i, j - first + pg_loop_arg(i)));
        pg_put(p->out, " = ");
        put_operand(p, i, j, c);
    }
    pg_put(p->out, i->n_in > first ? ")" : "");
}

static void put_inst(printer *p, const pg_inst *i);

static void put_body(printer *p, const pg_region *r)
{
    uint32_t n_visible = p->scope.entries.n;
    pg_put(p->out, " {\n");
    p->indent++;
    for (const pg_inst *i = r == NULL ? NULL : r->first; i != NULL; i = i->next) {
        put_inst(p, i);
    }
    p->indent--;
    put_indent(p);
    pg_put_char(p->out, '}');
    pg_map_truncate(&p->scope, n_visible);
}

/* `x, y = name operands [attributes] : types`, up to the first region. */
static void put_header(printer *p, const pg_inst *i)
{
    operand_context c = {.is_ready = false};
    for (uint32_t r = 0; r < i->n_out; r++) {
        pg_put(p->out, r == 0 ? "" : ", ");
        put_name(p, i->out[r]);
    }
    pg_put(p->out, i->n_out != 0 ? " = " : "");
    note_place(p);
    pg_put(p->out, pg_op_infos[i->op < PG_OP_COUNT ? i->op : 0].text);
    if (pg_is_loop(i)) {
        put_loop_head(p, i, &c);
    } else {
        if (i->op == PG_OP_PARTITION) {
            pg_put(p->out, " @");
            pg_put_str(p->out, sym_text(p, i->sym));
        }
        put_operands(p, i, &c);
    }
    put_attrs(p, &i->attrs);
    for (uint32_t r = 0; r < i->n_out; r++) {
        pg_put(p->out, r == 0 ? " : " : ", ");
        put_type(p, pg_val_type(p->k, i->out[r]));
    }
}

static void put_inst(printer *p, const pg_inst *i)
{
    uint32_t n_visible = p->scope.entries.n;
    put_indent(p);
    for (uint32_t r = 0; r < i->n_out; r++) {
        choose_name(p, i->out[r]);
        show_name(p, i->out[r]); /* so that the results differ from each other */
    }
    if (i->n_regions != 0) { /* but their regions do not see them */
        pg_map_truncate(&p->scope, n_visible);
    }
    put_header(p, i);
    if (i->n_regions != 0) {
        put_body(p, i->regions[0]);
        pg_map_truncate(&p->scope, n_visible);
        if (i->op == PG_OP_WHILE && i->n_regions > 1) {
            pg_put(p->out, " do");
            show_args(p, i->regions[1]);
            put_body(p, i->regions[1]);
            pg_map_truncate(&p->scope, n_visible);
        } else if (i->n_regions > 1 && i->regions[1] != NULL && i->regions[1]->first != NULL) {
            pg_put(p->out, " else");
            put_body(p, i->regions[1]);
        }
        for (uint32_t r = 0; r < i->n_out; r++) {
            show_name(p, i->out[r]);
        }
    }
    pg_put_char(p->out, '\n');
}

/* ---- encodings ----------------------------------------------------------------------------- */

static void put_numbers(const printer *p, const char *name, const uint16_t *at, uint32_t n)
{
    pg_putf(p->out, "%s=(", name);
    for (uint32_t i = 0; i < n; i++) {
        pg_putf(p->out, i == 0 ? "%u" : ", %u", at[i]);
    }
    pg_put_char(p->out, ')');
}

static void put_order(const printer *p, const pg_enc_info *e)
{
    uint16_t order[PG_MAX_RANK];
    for (uint32_t d = 0; d < PG_MAX_RANK; d++) {
        order[d] = e->order[d];
    }
    put_numbers(p, "order", order, e->rank);
}

static bool put_basis(const printer *p, const pg_enc_info *e, const char *name, uint32_t from,
                      uint32_t n, bool is_first)
{
    if (n == 0) {
        return is_first;
    }
    pg_putf(p->out, "%s%s=(", is_first ? "" : ", ", name);
    for (uint32_t v = from; v < from + n && v < PG_MAX_BASIS; v++) {
        pg_put(p->out, v == from ? "(" : ", (");
        for (uint32_t d = 0; d < e->rank; d++) {
            pg_putf(p->out, d == 0 ? "%u" : ", %u", e->basis[v][d]);
        }
        pg_put_char(p->out, ')');
    }
    pg_put_char(p->out, ')');
    return false;
}

static void put_enc(const printer *p, pg_enc enc)
{
    const pg_enc_info *e = pg_enc_get(p->m->ctx->types, enc);
    static const char *const kinds[PG_ENC_KIND_COUNT] = {"none",   "smem", "blocked", "wgmma",
                                                         "linear", "mma",  "dot",     "slice"};
    pg_putf(p->out, "%s [", kinds[e->kind < PG_ENC_KIND_COUNT ? e->kind : 0]);
    if (e->kind == PG_ENC_SMEM) {
        put_order(p, e);
        if (e->swizzle != 0) {
            pg_putf(p->out, ", swizzle=%u", e->swizzle);
        }
        if (e->pad != 0) {
            pg_putf(p->out, ", pad=%u", e->pad);
        }
    } else if (e->kind == PG_ENC_BLOCKED) {
        put_order(p, e);
        pg_put(p->out, ", ");
        put_numbers(p, "regs", e->regs, e->rank);
        pg_put(p->out, ", ");
        put_numbers(p, "lanes", e->lanes, e->rank);
        pg_put(p->out, ", ");
        put_numbers(p, "warps", e->warps, e->rank);
    } else if (e->kind == PG_ENC_WGMMA || e->kind == PG_ENC_MMA) {
        put_numbers(p, "shape", e->shape, 3);
        pg_put(p->out, ", ");
        put_numbers(p, "warps", e->warps, e->rank);
    } else if (e->kind == PG_ENC_DOT) {
        pg_putf(p->out, "operand=%u, of=", e->operand);
        put_enc_name(p, e->of);
    } else if (e->kind == PG_ENC_SLICE) {
        pg_put(p->out, "of=");
        put_enc_name(p, e->of);
        pg_putf(p->out, ", dim=%u", e->dim);
    } else if (e->kind == PG_ENC_LINEAR) {
        bool is_first = true;
        if (e->n_reg + e->n_lane + e->n_warp + e->n_offset == 0) {
            pg_putf(p->out, "rank=%u", e->rank);
        }
        is_first = put_basis(p, e, "reg", 0, e->n_reg, is_first);
        is_first = put_basis(p, e, "lane", e->n_reg, e->n_lane, is_first);
        uint32_t at = (uint32_t)e->n_reg + e->n_lane;
        is_first = put_basis(p, e, "warp", at, e->n_warp, is_first);
        (void)put_basis(p, e, "offset", at + e->n_warp, e->n_offset, is_first);
    }
    pg_put_char(p->out, ']');
}

static bool is_enc_name_taken(const printer *p, pg_str name)
{
    for (uint32_t i = 0; i < p->enc_names.n; i++) {
        if (pg_str_eq(p->enc_names.at[i], name)) {
            return true;
        }
    }
    return false;
}

/* Gives an encoding a name and a line, unless it has them. */
static void name_enc(printer *p, pg_enc e)
{
    if (e.id == 0 || pg_map_get(&p->encs, e.id) != NULL) {
        return;
    }
    name_enc(p, pg_enc_get(p->m->ctx->types, e)->of); /* an earlier one: it ends */
    pg_str name;
    uint32_t n = 0;
    do {
        name = formatted(p, PG_STR("enc"), n++);
    } while (name.len != 0 && is_enc_name_taken(p, name));
    uint32_t at = p->enc_names.n;
    if (pg_vec_push(&p->scratch, &p->enc_names, name) && pg_map_put(&p->encs, e.id, at)) {
        pg_putf(p->out, "enc #%.*s = ", PG_STR_ARG(name));
        put_enc(p, e);
        pg_put_char(p->out, '\n');
    }
}

static void use_enc(printer *p, pg_type type)
{
    name_enc(p, pg_type_get(p->m->ctx->types, type)->enc);
}

static void use_encs_of_region(printer *p, const pg_kernel *k, const pg_region *root)
{
    for (const pg_inst *i = root == NULL ? NULL : root->first; i != NULL;
         i = pg_inst_walk(i, root)) {
        for (uint32_t r = 0; r < i->n_out; r++) {
            use_enc(p, pg_val_type(k, i->out[r]));
        }
        for (uint32_t j = 0; j < i->n_in; j++) {
            if (pg_val_is_const(k, i->in[j])) {
                use_enc(p, pg_val_type(k, i->in[j]));
            }
        }
    }
}

static void put_encs(printer *p)
{
    const pg_module *m = p->m;
    pg_map_init(&p->encs, &p->scratch);
    for (uint32_t i = 0; i < m->encs.n; i++) {
        name_enc(p, pg_enc_get(m->ctx->types, m->encs.at[i].enc)->of);
        pg_str name = sym_text(p, m->encs.at[i].name);
        uint32_t at = p->enc_names.n;
        if (!pg_vec_push(&p->scratch, &p->enc_names, name)) {
            return;
        }
        if (pg_map_get(&p->encs, m->encs.at[i].enc.id) == NULL &&
            !pg_map_put(&p->encs, m->encs.at[i].enc.id, at)) {
            return;
        }
        pg_putf(p->out, "enc #%.*s = ", PG_STR_ARG(name));
        put_enc(p, m->encs.at[i].enc);
        pg_put_char(p->out, '\n');
    }
    for (const pg_kernel *k = m->kernels; k != NULL; k = k->next) {
        for (uint32_t i = 0; i < k->n_params; i++) {
            use_enc(p, pg_val_type(k, k->params[i].val));
        }
        use_encs_of_region(p, k, k->launch);
        use_encs_of_region(p, k, k->body);
    }
}

/* ---- modules ------------------------------------------------------------------------------- */

static void put_kernel(printer *p, const pg_kernel *k)
{
    pg_arena_mark mark = pg_arena_mark_get(&p->scratch);
    p->k = k;
    p->names = PG_NEWS(&p->scratch, pg_str, k->values.n);
    p->n_names = p->names == NULL ? 0 : k->values.n;
    p->n_numbers = 0;
    p->indent = 0;
    pg_map_init(&p->scope, &p->scratch);
    pg_map_init(&p->suffixes, &p->scratch);
    p->types.n = p->types.cap = 0;
    for (uint32_t i = 0; i < k->n_params; i++) { /* attributes may name later parameters */
        choose_name(p, k->params[i].val);
        show_name(p, k->params[i].val);
    }
    pg_put(p->out, "\nkernel ");
    note_place(p);
    pg_put_char(p->out, '@');
    pg_put_str(p->out, sym_text(p, k->name));
    pg_put_char(p->out, '(');
    for (uint32_t i = 0; i < k->n_params; i++) {
        pg_put(p->out, i == 0 ? "" : ", ");
        note_place(p);
        put_name(p, k->params[i].val);
        pg_put(p->out, ": ");
        put_type(p, pg_val_type(k, k->params[i].val));
        put_attrs(p, &k->params[i].attrs);
    }
    pg_put_char(p->out, ')');
    put_attrs(p, &k->attrs);
    pg_put(p->out, " {\n");
    p->indent = 1;
    if (k->launch != NULL) {
        pg_put(p->out, "  launch");
        put_body(p, k->launch);
        pg_put_char(p->out, '\n');
    }
    for (const pg_inst *i = k->body == NULL ? NULL : k->body->first; i != NULL; i = i->next) {
        put_inst(p, i);
    }
    pg_put(p->out, "}\n");
    p->names = NULL;
    p->n_names = 0;
    pg_arena_release(&p->scratch, mark);
}

static void put_module(printer *p)
{
    pg_put(p->out, "ptir 1\nmodule ");
    pg_put_str(p->out, sym_text(p, p->m->target));
    pg_put_char(p->out, '\n');
    put_encs(p);
    for (const pg_kernel *k = p->m->kernels; k != NULL; k = k->next) {
        put_kernel(p, k);
    }
    p->out->is_oom = p->out->is_oom || p->scratch.is_oom;
}

void pg_print(pg_strbuf *out, const pg_module *m)
{
    printer p = {.out = out, .m = m};
    pg_arena_init(&p.scratch, m->ctx->alloc);
    put_module(&p);
    pg_arena_fini(&p.scratch);
}

/* Places in the order in which a kernel is printed. */
static void place_region(const pg_region *r, const pg_loc **next)
{
    for (pg_inst *i = r == NULL ? NULL : r->first; i != NULL; i = pg_inst_walk(i, r)) {
        i->loc = *(*next)++;
    }
}

static void place_kernel(pg_kernel *k, const pg_loc **next)
{
    k->loc = *(*next)++;
    for (uint32_t i = 0; i < k->n_params; i++) {
        k->params[i].loc = *(*next)++;
    }
    place_region(k->launch, next);
    place_region(k->body, next);
}

static uint32_t count_places(const pg_module *m)
{
    uint32_t n = 0;
    for (const pg_kernel *k = m->kernels; k != NULL; k = k->next) {
        const pg_region *of[] = {k->launch, k->body};
        n += 1 + k->n_params;
        for (uint32_t r = 0; r < PG_COUNT_OF(of); r++) {
            for (const pg_inst *i = of[r] == NULL ? NULL : of[r]->first; i != NULL;
                 i = pg_inst_walk(i, of[r])) {
                n++;
            }
        }
    }
    return n;
}

pg_status pg_place_by_text(pg_module *m)
{
    pg_strbuf text;
    pg_vec_loc places = {0};
    printer p = {.out = &text, .m = m, .places = &places, .line = 1};
    pg_strbuf_init(&text, m->ctx->alloc);
    pg_arena_init(&p.scratch, m->ctx->alloc);
    pg_arena_init(&p.of_places, m->ctx->alloc);
    put_module(&p);
    pg_status status = pg_strbuf_status(&text);
    status = status == PG_OK ? pg_arena_status(&p.of_places) : status;
    if (status == PG_OK && places.n == count_places(m)) {
        const pg_loc *next = places.at;
        for (pg_kernel *k = m->kernels; k != NULL; k = k->next) {
            place_kernel(k, &next);
        }
    }
    pg_arena_fini(&p.of_places);
    pg_arena_fini(&p.scratch);
    pg_strbuf_fini(&text);
    return status;
}

void pg_print_inst(pg_strbuf *out, const pg_kernel *k, const pg_inst *i)
{
    printer p = {.out = out, .m = k->module, .k = k};
    pg_arena_init(&p.scratch, k->module->ctx->alloc);
    pg_map_init(&p.scope, &p.scratch);
    pg_map_init(&p.suffixes, &p.scratch);
    put_header(&p, i);
    pg_put(out, i->n_regions != 0 ? " { ... }" : "");
    out->is_oom = out->is_oom || p.scratch.is_oom;
    pg_arena_fini(&p.scratch);
}

void pg_print_type(pg_strbuf *out, const pg_module *m, pg_type t)
{
    printer p = {.out = out, .m = m};
    put_type(&p, t);
}
