/* ptx.c: the object model: modules, functions, the builder's cursor.
 *
 * I1  Statements, operands, registers and labels are only appended; a mark is four counts.
 * I2  While building, registers are numbered in order of creation, `decl` holds their class and
 *     they have no names; pg_ptx_builder_finish groups them by class, so that each declaration
 *     covers a run, and names them. */
#include "emit/ptx.h"

#include <string.h>

pg_ptx_module *pg_ptx_module_new(pg_arena *arena)
{
    pg_ptx_module *m = PG_NEW(arena, pg_ptx_module);
    if (m != NULL) {
        m->arena = arena;
        m->address_size = 64;
        m->target = PG_STR("sm_80");
    }
    return m;
}

/* Symbol 0 is nobody's, so that 0 can say that a symbol could not be made. */
uint32_t pg_ptx_sym_new(pg_ptx_module *m, pg_ptx_sym s)
{
    if (m->syms.n == 0 && !pg_vec_push(m->arena, &m->syms, (pg_ptx_sym){0})) {
        return 0;
    }
    s.name = pg_arena_str(m->arena, s.name);
    return pg_vec_push(m->arena, &m->syms, s) ? m->syms.n - 1 : 0;
}

pg_ptx_func *pg_ptx_func_new(pg_ptx_module *m, pg_str name, bool is_entry)
{
    pg_ptx_func *f = PG_NEW(m->arena, pg_ptx_func);
    uint32_t sym = pg_ptx_sym_new(m, (pg_ptx_sym){.kind = PG_PTX_SYM_FUNC,
                                                  .linkage = is_entry ? PG_PTX_L_VISIBLE : 0,
                                                  .name = name,
                                                  .func = m->funcs.n});
    if (f == NULL || sym == 0) {
        return NULL;
    }
    f->sym = sym;
    f->is_entry = is_entry;
    f->has_body = true;
    pg_ptx_item item = {.kind = PG_PTX_I_FUNC, .id = m->funcs.n};
    if (!pg_vec_push(m->arena, &m->funcs, f) || !pg_vec_push(m->arena, &m->items, item)) {
        return NULL;
    }
    return f;
}

static pg_str dims_text(pg_ptx_module *m, uint64_t n)
{
    pg_strbuf b;
    pg_strbuf_init(&b, m->arena->alloc);
    pg_put_char(&b, '[');
    if (n != 0) {
        pg_put_u64(&b, n);
    }
    pg_put_char(&b, ']');
    pg_str s =
        pg_strbuf_status(&b) == PG_OK ? pg_arena_str(m->arena, pg_strbuf_str(&b)) : (pg_str){0};
    pg_strbuf_fini(&b);
    return s;
}

uint32_t pg_ptx_param_new(pg_ptx_module *m, pg_ptx_func *f, pg_str name, pg_ptx_type type,
                          uint64_t n_bytes_if_array, uint32_t align)
{
    pg_ptx_sym s = {.kind = PG_PTX_SYM_PARAM,
                    .space = PG_PTX_SP_PARAM,
                    .type = (uint8_t)type,
                    .align = align,
                    .n_elems = 1,
                    .name = name};
    if (f == NULL) {
        return 0;
    }
    s.func = m->syms.n > f->sym ? m->syms.at[f->sym].func : 0;
    if (n_bytes_if_array != 0) {
        s.type = PG_PTX_B8;
        s.is_array = true;
        s.n_elems = n_bytes_if_array;
        s.dims = dims_text(m, n_bytes_if_array);
    }
    uint32_t sym = pg_ptx_sym_new(m, s);
    return sym != 0 && pg_vec_push(m->arena, &f->params, sym) ? sym : 0;
}

uint32_t pg_ptx_var_new(pg_ptx_module *m, pg_ptx_space space, pg_str name, pg_ptx_type type,
                        uint64_t n_elems, uint32_t align, uint8_t linkage)
{
    pg_ptx_sym s = {.kind = PG_PTX_SYM_VAR,
                    .space = (uint8_t)space,
                    .type = (uint8_t)type,
                    .linkage = linkage,
                    .is_array = n_elems != 1,
                    .align = align,
                    .n_elems = n_elems,
                    .func = UINT32_MAX,
                    .name = name};
    if (s.is_array) {
        s.dims = dims_text(m, n_elems);
    }
    uint32_t sym = pg_ptx_sym_new(m, s);
    pg_ptx_item item = {.kind = PG_PTX_I_VAR, .id = sym};
    return sym != 0 && pg_vec_push(m->arena, &m->items, item) ? sym : 0;
}

void pg_ptx_builder_init(pg_ptx_builder *b, pg_ptx_module *m, pg_ptx_func *f, pg_diags *diags)
{
    memset(b, 0, sizeof *b);
    b->m = m;
    b->f = f;
    b->diags = diags;
    b->is_failed = m == NULL || f == NULL;
    if (!b->is_failed && m->spellings == NULL) {
        m->spellings = pg_ptx_spellings_new(m->arena);
        b->is_failed = m->spellings == NULL;
    }
}

/* ---- registers ------------------------------------------------------------------------------ */

/* Classes of registers: one declaration and one prefix each, in order of declaration. */
static const struct reg_class {
    uint8_t type; /* as declared; index of the counter */
    const char *prefix;
} reg_classes[] = {
    {PG_PTX_PRED, "%p"}, {PG_PTX_B16, "%h"},  {PG_PTX_BF16, "%hb"}, {PG_PTX_B32, "%r"},
    {PG_PTX_F32, "%f"},  {PG_PTX_B64, "%rd"}, {PG_PTX_F64, "%fd"},  {PG_PTX_B128, "%rq"},
};

static uint32_t class_of(pg_ptx_type type)
{
    switch (type) {
    case PG_PTX_PRED: return 0;
    case PG_PTX_BF16: return 2;
    case PG_PTX_F32: return 4;
    case PG_PTX_F64: return 6;
    default: break;
    }
    uint32_t bits = pg_ptx_type_infos[type].bits;
    return bits <= 16 ? 1 : bits == 32 ? 3 : bits == 64 ? 5 : 7;
}

static uint8_t declared_type(uint32_t cls)
{
    return reg_classes[cls].type == PG_PTX_BF16 ? PG_PTX_B16 : reg_classes[cls].type;
}

pg_ptx_opnd pg_ptx_reg_new(pg_ptx_builder *b, pg_ptx_type type)
{
    if (b->is_failed || type == PG_PTX_T_NONE || type >= PG_PTX_T_COUNT) {
        return (pg_ptx_opnd){0};
    }
    const uint32_t cls = class_of(type), counter = reg_classes[cls].type;
    const pg_ptx_reg r = {.type = declared_type(cls), .decl = cls};
    if (!pg_vec_push(b->m->arena, &b->f->regs, r)) {
        b->is_failed = true;
        return (pg_ptx_opnd){0};
    }
    b->n_by_class[counter]++;
    return (pg_ptx_opnd){.kind = PG_PTX_O_REG, .id = b->f->regs.n - 1};
}

/* ---- labels --------------------------------------------------------------------------------- */

uint32_t pg_ptx_label_new(pg_ptx_builder *b, const char *hint)
{
    if (b->is_failed) {
        return 0;
    }
    pg_strbuf t;
    pg_strbuf_init(&t, b->m->arena->alloc);
    pg_put(&t, "$L_");
    pg_put_str(&t, b->m->syms.at[b->f->sym].name);
    pg_put_char(&t, '_');
    if (hint != NULL && hint[0] != 0) {
        pg_put(&t, hint);
        pg_put_char(&t, '_');
    }
    pg_put_u64(&t, b->n_labels++);
    pg_str name = {0};
    if (pg_strbuf_status(&t) == PG_OK) {
        name = pg_arena_str(b->m->arena, pg_strbuf_str(&t));
    }
    pg_strbuf_fini(&t);
    uint32_t missing = UINT32_MAX;
    if (name.ptr == NULL || !pg_vec_push(b->m->arena, &b->f->labels, name) ||
        !pg_vec_push(b->m->arena, &b->f->label_at, missing)) {
        b->is_failed = true;
        return 0;
    }
    return b->f->labels.n - 1;
}

/* A statement at the end of the body, its place in the IR set and all else zero. */
static inline pg_ptx_stmt *new_stmt(pg_ptx_builder *b)
{
    pg_ptx_func *f = b->f;
    if (b->is_failed || (f->body.n == f->body.cap && !pg_vec_room(b->m->arena, &f->body, 1))) {
        b->is_failed = true;
        return NULL;
    }
    pg_ptx_stmt *at = &f->body.at[f->body.n++];
    *at = (pg_ptx_stmt){.loc = b->loc};
    return at;
}

static pg_ptx_stmt *add_stmt(pg_ptx_builder *b, const pg_ptx_stmt *s)
{
    pg_ptx_stmt *at = new_stmt(b);
    if (at != NULL) {
        *at = *s;
        at->loc = b->loc;
    }
    return at;
}

void pg_ptx_label_here(pg_ptx_builder *b, uint32_t label)
{
    pg_ptx_stmt s = {.kind = PG_PTX_S_LABEL, .id = label};
    if (!b->is_failed && label < b->f->label_at.n && add_stmt(b, &s) != NULL) {
        b->f->label_at.at[label] = b->f->body.n - 1;
    }
}

/* ---- statements ----------------------------------------------------------------------------- */

/* Room for n parts in the pool, one after the other; NULL when out of memory. */
static inline pg_ptx_opnd *pool_room(pg_ptx_builder *b, uint32_t n)
{
    pg_ptx_func *f = b->f;
    if (b->is_failed || (n > f->pool.cap - f->pool.n && !pg_vec_room(b->m->arena, &f->pool, n))) {
        b->is_failed = true;
        return NULL;
    }
    return f->pool.at + f->pool.n;
}

static inline bool pool_put(pg_ptx_builder *b, const pg_ptx_opnd *parts, uint32_t n)
{
    pg_ptx_opnd *to = pool_room(b, n);
    if (to == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        to[i] = parts[i];
    }
    b->f->pool.n += n;
    return true;
}

static pg_ptx_stmt *no_row(pg_ptx_builder *b, pg_str spelling, uint32_t n_ops)
{
    b->is_failed = true;
    pg_strbuf t;
    pg_strbuf_init(&t, b->m->arena->alloc);
    pg_putf(&t, "opcode %.*s with %u operands is not in ptx_isa.def", PG_STR_ARG(spelling), n_ops);
    pg_diag_internal(b->diags, __FILE__, __LINE__, t.ptr != NULL ? t.ptr : "opcode");
    pg_strbuf_fini(&t);
    return NULL;
}

static inline pg_ptx_stmt *new_inst(pg_ptx_builder *b, const pg_ptx_literal *l)
{
    pg_ptx_stmt *s = new_stmt(b);
    if (s != NULL) {
        s->kind = PG_PTX_S_INST;
        s->n_ops = (uint8_t)l->n_ops;
        s->row = l->row;
        s->id = l->id;
        s->ops = b->f->pool.n - l->n_ops;
        s->text = l->text;
    }
    return s;
}

pg_ptx_stmt *pg_ptx_inst_spelled(pg_ptx_builder *b, const pg_ptx_literal *l, const pg_ptx_opnd *ops)
{
    if (b->is_failed) {
        return NULL;
    }
    if (l->row == PG_ISA_NONE) {
        return no_row(b, l->text, l->n_ops);
    }
    return pool_put(b, ops, l->n_ops) ? new_inst(b, l) : NULL;
}

pg_ptx_stmt *pg_ptx_inst_into(pg_ptx_builder *b, const pg_ptx_literal *l, uint32_t reg,
                              const pg_ptx_opnd *others)
{
    if (b->is_failed) {
        return NULL;
    }
    if (l->row == PG_ISA_NONE || l->n_ops == 0) {
        return no_row(b, l->text, l->n_ops);
    }
    pg_ptx_opnd *to = pool_room(b, l->n_ops);
    if (to == NULL) {
        return NULL;
    }
    to[0] = (pg_ptx_opnd){.kind = PG_PTX_O_REG, .id = reg};
    for (uint32_t i = 1; i < l->n_ops; i++) {
        to[i] = others[i - 1];
    }
    b->f->pool.n += l->n_ops;
    return new_inst(b, l);
}

pg_ptx_stmt *pg_ptx_inst(pg_ptx_builder *b, const char *opcode, uint32_t n_ops,
                         const pg_ptx_opnd *ops)
{
    if (b->is_failed) {
        return NULL;
    }
    return pg_ptx_inst_spelled(b, pg_ptx_spell(b, opcode, n_ops), ops);
}

pg_ptx_stmt *pg_ptx_inst_str(pg_ptx_builder *b, pg_str opcode_copied, uint32_t n_ops,
                             const pg_ptx_opnd *ops)
{
    if (b->is_failed) {
        return NULL;
    }
    return pg_ptx_inst_spelled(b, pg_ptx_spell_str(b, opcode_copied, n_ops), ops);
}

void pg_ptx_guard(pg_ptx_stmt *s, pg_ptx_opnd pred, bool negated)
{
    if (s != NULL && pred.kind == PG_PTX_O_REG) {
        s->guard = pred;
        s->guard.flags = negated ? PG_PTX_OF_NEG : 0;
    }
}

void pg_ptx_comment(pg_ptx_builder *b, const char *format, ...)
{
    if (b->is_failed) {
        return;
    }
    pg_strbuf t;
    pg_strbuf_init(&t, b->m->arena->alloc);
    va_list args;
    va_start(args, format);
    pg_putv(&t, format, args);
    va_end(args);
    pg_ptx_stmt s = {.kind = PG_PTX_S_COMMENT};
    if (pg_strbuf_status(&t) == PG_OK) {
        s.text = pg_arena_str(b->m->arena, pg_strbuf_str(&t));
    }
    pg_strbuf_fini(&t);
    add_stmt(b, &s);
}

/* ---- finish --------------------------------------------------------------------------------- */

/* Moves the body down by `n` statements to make room at its head. */
static bool open_head(pg_ptx_builder *b, uint32_t n)
{
    pg_ptx_func *f = b->f;
    if (!pg_vec_reserve(b->m->arena, &f->body, n)) {
        return false;
    }
    if (f->body.n != 0) {
        memmove(f->body.at + n, f->body.at, f->body.n * sizeof *f->body.at);
    }
    f->body.n += n;
    for (uint32_t i = 0; i < f->label_at.n; i++) {
        if (f->label_at.at[i] != UINT32_MAX) {
            f->label_at.at[i] += n;
        }
    }
    for (uint32_t i = 0; i < f->parts.n; i++) {
        f->parts.at[i].first += n;
        f->parts.at[i].end += n;
    }
    return true;
}

static void renumber(pg_ptx_func *f, const uint32_t *new_id)
{
    for (uint32_t i = 0; i < f->pool.n; i++) {
        if (f->pool.at[i].kind == PG_PTX_O_REG) {
            f->pool.at[i].id = new_id[f->pool.at[i].id];
        }
    }
    for (uint32_t i = 0; i < f->body.n; i++) {
        if (f->body.at[i].guard.kind == PG_PTX_O_REG) {
            f->body.at[i].guard.id = new_id[f->body.at[i].guard.id];
        }
    }
}

static uint32_t n_digits_of(uint32_t number)
{
    uint32_t n = 1;
    for (; number >= 10; number /= 10) {
        n++;
    }
    return n;
}

/* The next number in decimal, in place: "%r9" becomes "%r10"; its length. */
static size_t count_up(char *name, size_t n_prefix, size_t len)
{
    size_t digit = len;
    while (digit > n_prefix && name[digit - 1] == '9') {
        name[--digit] = '0';
    }
    if (digit > n_prefix) {
        name[digit - 1]++;
        return len;
    }
    name[n_prefix] = '1';
    name[len] = '0';
    return len + 1;
}

/* Registers of a class: `n` of them, named from number 0 on: "%r0", "%r1". */
static bool name_registers(pg_ptx_builder *b, uint32_t cls, pg_ptx_reg *at, uint32_t n)
{
    const size_t n_prefix = strlen(reg_classes[cls].prefix);
    char name[PG_PTX_NAME_ROOM + 1] = {0}; /* 10 digits at most */
    size_t len = n_prefix + 1;
    char *text = pg_arena_get(b->m->arena, n_prefix + n_digits_of(n - 1), n + PG_PTX_NAME_ROOM);
    memcpy(name, reg_classes[cls].prefix, n_prefix);
    name[n_prefix] = '0';
    for (uint32_t i = 0; text != NULL && i < n; i++) {
        memcpy(text, name, PG_PTX_NAME_ROOM);
        at[i] =
            (pg_ptx_reg){.name = {text, len}, .type = declared_type(cls), .decl = b->f->regdecls.n};
        text += len;
        len = count_up(name, n_prefix, len);
    }
    return text != NULL;
}

static bool declare_class(pg_ptx_builder *b, uint32_t cls, uint32_t first, uint32_t n)
{
    pg_ptx_func *f = b->f;
    pg_ptx_regdecl d = {.type = declared_type(cls),
                        .base = pg_str_of(reg_classes[cls].prefix),
                        .count = n,
                        .first_reg = first};
    return name_registers(b, cls, &f->regs.at[first], n) &&
           pg_vec_push(b->m->arena, &f->regdecls, d);
}

static bool declare_registers(pg_ptx_builder *b)
{
    pg_ptx_func *f = b->f;
    uint32_t *new_id = PG_NEWS(b->m->arena, uint32_t, f->regs.n);
    uint32_t n[PG_COUNT_OF(reg_classes)] = {0}, next[PG_COUNT_OF(reg_classes)] = {0};
    if (new_id == NULL) {
        return false;
    }
    for (uint32_t cls = 0; cls < PG_COUNT_OF(reg_classes); cls++) {
        n[cls] = b->n_by_class[reg_classes[cls].type];
    }
    for (uint32_t cls = 1; cls < PG_COUNT_OF(reg_classes); cls++) {
        next[cls] = next[cls - 1] + n[cls - 1];
    }
    for (uint32_t i = 0; i < f->regs.n; i++) {
        new_id[i] = next[f->regs.at[i].decl]++;
    }
    for (uint32_t cls = 0, at = 0; cls < PG_COUNT_OF(reg_classes); at += n[cls++]) {
        if (n[cls] != 0 && !declare_class(b, cls, at, n[cls])) {
            return false;
        }
    }
    f->has_roomy_names = true;
    renumber(f, new_id);
    return true;
}

void pg_ptx_builder_finish(pg_ptx_builder *b)
{
    if (b->is_failed || b->f->regs.n == 0) {
        return;
    }
    if (!declare_registers(b) || !open_head(b, b->f->regdecls.n)) {
        b->is_failed = true;
        return;
    }
    for (uint32_t i = 0; i < b->f->regdecls.n; i++) {
        b->f->body.at[i] = (pg_ptx_stmt){.kind = PG_PTX_S_REGS, .id = i};
    }
}

/* ---- operands ------------------------------------------------------------------------------- */

pg_ptx_opnd pg_ptx_int(int64_t x)
{
    return (pg_ptx_opnd){.kind = PG_PTX_O_INT, .imm = x};
}

pg_ptx_opnd pg_ptx_f32(uint32_t bits)
{
    return (pg_ptx_opnd){.kind = PG_PTX_O_F32, .imm = (int64_t)bits};
}

pg_ptx_opnd pg_ptx_f64(uint64_t bits)
{
    return (pg_ptx_opnd){.kind = PG_PTX_O_F64, .imm = (int64_t)bits};
}

pg_ptx_opnd pg_ptx_sreg_opnd(pg_ptx_sreg id, int component_or_minus_1)
{
    return (pg_ptx_opnd){.kind = PG_PTX_O_SREG,
                         .n = component_or_minus_1 < 0 ? 255 : (uint16_t)component_or_minus_1,
                         .id = (uint32_t)id};
}

pg_ptx_opnd pg_ptx_sym_opnd(uint32_t sym, int64_t offset)
{
    return (pg_ptx_opnd){.kind = PG_PTX_O_SYM, .id = sym, .imm = offset};
}

pg_ptx_opnd pg_ptx_label_opnd(uint32_t label)
{
    return (pg_ptx_opnd){.kind = PG_PTX_O_LABEL, .id = label};
}

pg_ptx_opnd pg_ptx_sink(void)
{
    return (pg_ptx_opnd){.kind = PG_PTX_O_SINK};
}

pg_ptx_opnd pg_ptx_addr(pg_ptx_builder *b, pg_ptx_opnd base, int64_t offset)
{
    pg_ptx_opnd o = {.kind = PG_PTX_O_ADDR, .n = 1, .imm = offset};
    if (base.kind == PG_PTX_O_SYM) { /* one place for the offset */
        o.imm += base.imm;
        base.imm = 0;
    }
    o.id = b->is_failed ? 0 : b->f->pool.n;
    return pool_put(b, &base, 1) ? o : (pg_ptx_opnd){0};
}

pg_ptx_opnd pg_ptx_vec(pg_ptx_builder *b, const pg_ptx_opnd *elems, uint32_t n)
{
    pg_ptx_opnd o = {.kind = PG_PTX_O_VEC, .n = (uint16_t)n};
    o.id = b->is_failed ? 0 : b->f->pool.n;
    return n <= UINT16_MAX && pool_put(b, elems, n) ? o : (pg_ptx_opnd){0};
}

pg_ptx_opnd pg_ptx_taddr(pg_ptx_builder *b, pg_ptx_opnd base, const pg_ptx_opnd *coords, uint32_t n)
{
    pg_ptx_opnd parts[2] = {base, pg_ptx_vec(b, coords, n)};
    pg_ptx_opnd o = {.kind = PG_PTX_O_TADDR, .n = 2};
    o.id = b->is_failed ? 0 : b->f->pool.n;
    return pool_put(b, parts, 2) ? o : (pg_ptx_opnd){0};
}

pg_ptx_opnd pg_ptx_pair(pg_ptx_builder *b, pg_ptx_opnd d, pg_ptx_opnd p)
{
    pg_ptx_opnd parts[2] = {d, p};
    pg_ptx_opnd o = {.kind = PG_PTX_O_PAIR, .n = 2};
    o.id = b->is_failed ? 0 : b->f->pool.n;
    return pool_put(b, parts, 2) ? o : (pg_ptx_opnd){0};
}

/* ---- marks ---------------------------------------------------------------------------------- */

pg_ptx_mark pg_ptx_mark_get(const pg_ptx_builder *b)
{
    pg_ptx_mark k = {0};
    if (!b->is_failed) {
        k.n_body = b->f->body.n;
        k.n_pool = b->f->pool.n;
        k.n_regs = b->f->regs.n;
        k.n_labels = b->f->labels.n;
        k.n_parts = b->f->parts.n;
        memcpy(k.n_by_class, b->n_by_class, sizeof k.n_by_class);
    }
    return k;
}

void pg_ptx_rollback(pg_ptx_builder *b, pg_ptx_mark mark)
{
    if (b->is_failed) {
        return;
    }
    for (uint32_t i = mark.n_body; i < b->f->body.n; i++) { /* labels made before, placed after */
        if (b->f->body.at[i].kind == PG_PTX_S_LABEL) {
            b->f->label_at.at[b->f->body.at[i].id] = UINT32_MAX;
        }
    }
    b->f->body.n = mark.n_body;
    b->f->pool.n = mark.n_pool;
    b->f->regs.n = mark.n_regs;
    b->n_labels -= b->f->labels.n - mark.n_labels;
    b->f->labels.n = mark.n_labels;
    b->f->parts.n = mark.n_parts;
    b->f->label_at.n = mark.n_labels;
    memcpy(b->n_by_class, mark.n_by_class, sizeof b->n_by_class);
}
