/* ptx_equal.c: structural comparison of PTX modules. */
#include "ptx_equal.h"

#include <stdio.h>
#include <string.h>

typedef struct pair {
    const pg_ptx_module *ma, *mb;
    const pg_ptx_func *fa, *fb;
    char *room;
} pair;

static const char *differ(const pair *p, const char *what, pg_str a, pg_str b)
{
    (void)snprintf(p->room, 256, "%s: '%.*s' and '%.*s'", what, (int)(a.len > 80 ? 80 : a.len),
                   a.ptr != NULL ? a.ptr : "", (int)(b.len > 80 ? 80 : b.len),
                   b.ptr != NULL ? b.ptr : "");
    return p->room;
}

#define SAME(what, x, y)                                                            \
    do {                                                                            \
        if ((x) != (y)) {                                                           \
            (void)snprintf(p->room, 256, "%s: %lld and %lld", what, (long long)(x), \
                           (long long)(y));                                         \
            return p->room;                                                         \
        }                                                                           \
    } while (0)
#define SAME_TEXT(what, x, y)                 \
    do {                                      \
        if (!pg_str_eq((x), (y))) {           \
            return differ(p, what, (x), (y)); \
        }                                     \
    } while (0)
#define TRY(expr)                   \
    do {                            \
        const char *try_d = (expr); \
        if (try_d != NULL) {        \
            return try_d;           \
        }                           \
    } while (0)

static const char *opnd(const pair *p, const pg_ptx_opnd *a, const pg_ptx_opnd *b)
{
    SAME("operand kind", a->kind, b->kind);
    SAME("operand flags", a->flags, b->flags);
    SAME("operand value", a->imm, b->imm);
    switch ((pg_ptx_opnd_kind)a->kind) {
    case PG_PTX_O_REG:
        SAME_TEXT("register", p->fa->regs.at[a->id].name, p->fb->regs.at[b->id].name);
        SAME("register type", p->fa->regs.at[a->id].type, p->fb->regs.at[b->id].type);
        break;
    case PG_PTX_O_SREG:
        SAME("special register", a->id, b->id);
        SAME("component", a->n, b->n);
        break;
    case PG_PTX_O_SYM:
        SAME_TEXT("symbol", p->ma->syms.at[a->id].name, p->mb->syms.at[b->id].name);
        break;
    case PG_PTX_O_LABEL:
        SAME_TEXT("label", p->fa->labels.at[a->id], p->fb->labels.at[b->id]);
        SAME("place of label", p->fa->label_at.at[a->id], p->fb->label_at.at[b->id]);
        break;
    case PG_PTX_O_ADDR:
    case PG_PTX_O_TADDR:
    case PG_PTX_O_VEC:
    case PG_PTX_O_LIST:
    case PG_PTX_O_PAIR:
        SAME("number of parts", a->n, b->n);
        for (uint32_t i = 0; i < a->n; i++) {
            TRY(opnd(p, &p->fa->pool.at[a->id + i], &p->fb->pool.at[b->id + i]));
        }
        break;
    default: break;
    }
    return NULL;
}

static const char *sym(const pair *p, const pg_ptx_sym *a, const pg_ptx_sym *b)
{
    SAME_TEXT("symbol's name", a->name, b->name);
    SAME("symbol's kind", a->kind, b->kind);
    SAME("space", a->space, b->space);
    SAME("type", a->type, b->type);
    SAME("linkage", a->linkage, b->linkage);
    SAME("vector", a->vec, b->vec);
    SAME("align", a->align, b->align);
    SAME("elements", a->n_elems, b->n_elems);
    SAME("ptr", a->is_ptr, b->is_ptr);
    SAME("ptr space", a->ptr_space, b->ptr_space);
    SAME("ptr align", a->ptr_align, b->ptr_align);
    SAME_TEXT("dims", a->dims, b->dims);
    SAME_TEXT("initialiser", a->init, b->init);
    SAME("relocations", a->n_relocs, b->n_relocs);
    SAME("bytes", a->init_bytes != NULL, b->init_bytes != NULL);
    size_t n = (size_t)(a->n_elems * (pg_ptx_type_infos[a->type].bits / 8U));
    if (a->init_bytes != NULL && memcmp(a->init_bytes, b->init_bytes, n) != 0) {
        return differ(p, "initial bytes", a->name, b->name);
    }
    return NULL;
}

static const char *stmt(const pair *p, const pg_ptx_stmt *a, const pg_ptx_stmt *b)
{
    SAME("statement kind", a->kind, b->kind);
    switch ((pg_ptx_stmt_kind)a->kind) {
    case PG_PTX_S_INST:
        SAME_TEXT("opcode", a->text, b->text);
        SAME("row", a->row, b->row);
        SAME("operands", a->n_ops, b->n_ops);
        TRY(opnd(p, &a->guard, &b->guard));
        for (uint32_t i = 0; i < a->n_ops; i++) {
            TRY(opnd(p, &p->fa->pool.at[a->ops + i], &p->fb->pool.at[b->ops + i]));
        }
        break;
    case PG_PTX_S_LABEL:
        SAME_TEXT("label", p->fa->labels.at[a->id], p->fb->labels.at[b->id]);
        break;
    case PG_PTX_S_REGS:
        SAME_TEXT("declaration", p->fa->regdecls.at[a->id].base, p->fb->regdecls.at[b->id].base);
        SAME("count", p->fa->regdecls.at[a->id].count, p->fb->regdecls.at[b->id].count);
        SAME("type", p->fa->regdecls.at[a->id].type, p->fb->regdecls.at[b->id].type);
        break;
    case PG_PTX_S_VAR: TRY(sym(p, &p->ma->syms.at[a->id], &p->mb->syms.at[b->id])); break;
    default: SAME_TEXT("text", a->text, b->text); break;
    }
    return NULL;
}

static const char *func(pair *p, const pg_ptx_func *a, const pg_ptx_func *b)
{
    p->fa = a;
    p->fb = b;
    TRY(sym(p, &p->ma->syms.at[a->sym], &p->mb->syms.at[b->sym]));
    SAME("entry", a->is_entry, b->is_entry);
    SAME("body", a->has_body, b->has_body);
    SAME("parameters", a->params.n, b->params.n);
    SAME("results", a->returns.n, b->returns.n);
    SAME("directives", a->directives.n, b->directives.n);
    SAME("lead", a->lead.n, b->lead.n);
    SAME("statements", a->body.n, b->body.n);
    for (uint32_t i = 0; i < a->params.n; i++) {
        TRY(sym(p, &p->ma->syms.at[a->params.at[i]], &p->mb->syms.at[b->params.at[i]]));
    }
    for (uint32_t i = 0; i < a->directives.n; i++) {
        SAME_TEXT("directive", a->directives.at[i], b->directives.at[i]);
    }
    for (uint32_t i = 0; i < a->lead.n; i++) {
        SAME_TEXT("lead", a->lead.at[i], b->lead.at[i]);
    }
    for (uint32_t i = 0; i < a->body.n; i++) {
        TRY(stmt(p, &a->body.at[i], &b->body.at[i]));
    }
    SAME("comments", a->remarks.n, b->remarks.n);
    for (uint32_t i = 0; i < a->remarks.n; i++) {
        SAME("statement with a comment", a->remarks.at[i].stmt, b->remarks.at[i].stmt);
        SAME_TEXT("comment", a->remarks.at[i].text, b->remarks.at[i].text);
    }
    return NULL;
}

static const char *module(pair *p)
{
    const pg_ptx_module *a = p->ma;
    const pg_ptx_module *b = p->mb;
    SAME("version", a->version, b->version);
    SAME("address size", a->address_size, b->address_size);
    SAME_TEXT("target", a->target, b->target);
    SAME_TEXT("options", a->target_options, b->target_options);
    SAME("header comments", a->header_comments.n, b->header_comments.n);
    SAME("items", a->items.n, b->items.n);
    for (uint32_t i = 0; i < a->items.n; i++) {
        const pg_ptx_item *x = &a->items.at[i];
        const pg_ptx_item *y = &b->items.at[i];
        SAME("item kind", x->kind, y->kind);
        if (x->kind == PG_PTX_I_VAR) {
            TRY(sym(p, &a->syms.at[x->id], &b->syms.at[y->id]));
        } else if (x->kind == PG_PTX_I_FUNC) {
            TRY(func(p, a->funcs.at[x->id], b->funcs.at[y->id]));
        } else {
            SAME_TEXT("item", x->text, y->text);
        }
    }
    return NULL;
}

const char *ptx_difference(const pg_ptx_module *a, const pg_ptx_module *b, char room[256])
{
    pair p = {.ma = a, .mb = b, .room = room};
    return module(&p);
}
