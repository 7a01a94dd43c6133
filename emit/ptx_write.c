/* ptx_write.c: prints the object model. One statement a line, opcode TAB operands, a TAB per scope;
 * labels in the first column. What is printed depends on the model alone, so that
 * write(read(text)) equals text for every text made here. */
#include <string.h>

#include "emit/ptx.h"

typedef struct writer {
    pg_strbuf *out;
    const pg_ptx_module *m;
    const pg_ptx_func *f;
    pg_arena *arena; /* NULL: no map of lines wanted */
    pg_vec_u32 *line_of;
    size_t mapped;       /* bytes of `out` whose lines are in the map */
    bool may_have_lines; /* what was put behind them may have line ends in it */
    uint32_t depth;
    uint32_t remark; /* the next one of the function */
    size_t longest;  /* name of a register of the function */
    pg_str source;   /* empty: no lines `.loc` */
    pg_loc at;       /* of the last of them in the function */
    bool has_roomy_names;
} writer;

/* Text that is kept as it was written, or that ends lines itself. */
static void put_kept(writer *w, pg_str text)
{
    w->may_have_lines = true;
    pg_put_str(w->out, text);
}

/* Enters the lines that nobody entered, the last of them with its line in the IR. */
static void enter_lines(writer *w, uint32_t ir_line)
{
    for (size_t i = w->mapped; i < w->out->len; i++) {
        const bool is_last = i + 1 == w->out->len;
        if (w->out->ptr[i] == '\n' && !pg_vec_push(w->arena, w->line_of, is_last ? ir_line : 0)) {
            w->arena = NULL;
            return;
        }
    }
}

/* Ends the line and enters it, and lines before it that nobody entered, into the map. */
static void end_line(writer *w, uint32_t ir_line)
{
    pg_put_char(w->out, '\n');
    if (w->arena == NULL || w->out->is_oom) {
        return;
    }
    if (w->may_have_lines) {
        enter_lines(w, ir_line);
    } else if (!pg_vec_push(w->arena, w->line_of, ir_line)) {
        w->arena = NULL;
    }
    w->mapped = w->out->len;
    w->may_have_lines = false;
}

static void put_comment(writer *w, pg_str text)
{
    pg_put(w->out, "//");
    if (text.len != 0) {
        pg_put_char(w->out, ' ');
        put_kept(w, text);
    }
}

static const char *const space_names[PG_PTX_SP_COUNT] = {
    "", "reg", "const", "global", "local", "param", "shared",
};

/* Decimal up to 32 bits; beyond, hexadecimal: descriptors and policies are patterns. */
static void put_int(writer *w, const pg_ptx_opnd *o)
{
    if ((o->flags & PG_PTX_OF_UNSIGNED) != 0) {
        pg_put_u64(w->out, (uint64_t)o->imm);
        pg_put_char(w->out, 'U');
    } else if (o->imm >= INT32_MIN && o->imm <= (int64_t)UINT32_MAX) {
        pg_put_i64(w->out, o->imm);
    } else {
        pg_put(w->out, "0x");
        pg_put_hex(w->out, (uint64_t)o->imm, 16);
    }
}

static void put_offset(writer *w, int64_t offset)
{
    if (offset != 0) {
        pg_put_char(w->out, '+');
        pg_put_i64(w->out, offset);
    }
}

static void put_sreg(writer *w, const pg_ptx_opnd *o)
{
    if (o->id < PG_PTX_SREG_COUNT) {
        pg_put(w->out, pg_ptx_sreg_infos[o->id].text);
    }
    if (o->n < 4) {
        pg_put_char(w->out, '.');
        pg_put_char(w->out, "xyzw"[o->n]);
    }
}

static void put_opnd(writer *w, const pg_ptx_opnd *o, uint32_t depth);

/* Most operands are registers. */
static inline void put_part(writer *w, const pg_ptx_opnd *o, uint32_t depth)
{
    if (o->kind == PG_PTX_O_REG && o->flags == 0 && o->id < w->f->regs.n) {
        pg_put_str(w->out, w->f->regs.at[o->id].name);
    } else {
        put_opnd(w, o, depth);
    }
}

static void put_list(writer *w, const pg_ptx_opnd *o, uint32_t depth)
{
    for (uint32_t i = 0; i < o->n && o->id + i < w->f->pool.n; i++) {
        if (i != 0) {
            pg_put(w->out, ", ");
        }
        put_part(w, &w->f->pool.at[o->id + i], depth);
    }
}

static void put_aggregate(writer *w, const pg_ptx_opnd *o, uint32_t depth)
{
    const pg_ptx_opnd *parts = w->f->pool.at + o->id;
    switch (o->kind) {
    case PG_PTX_O_ADDR:
        pg_put_char(w->out, '[');
        put_part(w, parts, depth);
        put_offset(w, o->imm);
        pg_put_char(w->out, ']');
        break;
    case PG_PTX_O_TADDR:
        pg_put_char(w->out, '[');
        put_opnd(w, parts, depth);
        put_offset(w, o->imm);
        pg_put(w->out, ", ");
        put_list(w, &(pg_ptx_opnd){.id = o->id + 1, .n = (uint16_t)(o->n - 1)}, depth);
        pg_put_char(w->out, ']');
        break;
    case PG_PTX_O_VEC:
        pg_put_char(w->out, '{');
        put_list(w, o, depth);
        pg_put_char(w->out, '}');
        break;
    case PG_PTX_O_LIST:
        pg_put_char(w->out, '(');
        put_list(w, o, depth);
        pg_put_char(w->out, ')');
        break;
    default: /* PG_PTX_O_PAIR */
        put_opnd(w, parts, depth);
        pg_put_char(w->out, '|');
        put_opnd(w, parts + 1, depth);
        break;
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): operands nest at most PG_PTX_MAX_NEST deep */
static void put_opnd(writer *w, const pg_ptx_opnd *o, uint32_t depth)
{
    if (depth > PG_PTX_MAX_NEST) {
        return;
    }
    if ((o->flags & PG_PTX_OF_NEG) != 0) {
        pg_put_char(w->out, '!');
    }
    switch ((pg_ptx_opnd_kind)o->kind) {
    case PG_PTX_O_NONE: break;
    case PG_PTX_O_REG:
        if (o->id < w->f->regs.n) {
            pg_put_str(w->out, w->f->regs.at[o->id].name);
        }
        break;
    case PG_PTX_O_SREG: put_sreg(w, o); break;
    case PG_PTX_O_INT: put_int(w, o); break;
    case PG_PTX_O_F32:
        pg_put(w->out, "0f");
        pg_put_hex(w->out, (uint32_t)o->imm, 8);
        break;
    case PG_PTX_O_F64:
        pg_put(w->out, "0d");
        pg_put_hex(w->out, (uint64_t)o->imm, 16);
        break;
    case PG_PTX_O_SYM:
        if (o->id < w->m->syms.n) {
            pg_put_str(w->out, w->m->syms.at[o->id].name);
        }
        put_offset(w, o->imm);
        break;
    case PG_PTX_O_LABEL:
        if (o->id < w->f->labels.n) {
            pg_put_str(w->out, w->f->labels.at[o->id]);
        }
        break;
    case PG_PTX_O_SINK: pg_put_char(w->out, '_'); break;
    case PG_PTX_O_ADDR:
    case PG_PTX_O_TADDR:
    case PG_PTX_O_VEC:
    case PG_PTX_O_LIST:
    case PG_PTX_O_PAIR:
        if (o->id + (o->n != 0 ? 1U : 0U) <= w->f->pool.n) {
            put_aggregate(w, o, depth + 1);
        }
        break;
    }
}

static void put_type(writer *w, uint8_t type)
{
    pg_put_char(w->out, '.');
    pg_put(w->out, pg_ptx_type_infos[type].text);
}

/* ".visible " and so on, in the order of the bits. */
static void put_linkage(writer *w, uint8_t linkage)
{
    static const char *const names[] = {".visible ", ".extern ", ".weak ", ".common "};
    for (uint32_t i = 0; i < 4; i++) {
        if ((linkage >> i & 1) != 0) {
            pg_put(w->out, names[i]);
        }
    }
}

/* Variable or parameter without what ends it. */
static void put_var(writer *w, const pg_ptx_sym *s)
{
    put_linkage(w, s->linkage);
    pg_put_char(w->out, '.');
    pg_put(w->out, space_names[s->space]);
    pg_put_char(w->out, ' ');
    if (s->attributes.len != 0) {
        put_kept(w, s->attributes);
        pg_put_char(w->out, ' ');
    }
    if (s->align != 0) {
        pg_put(w->out, ".align ");
        pg_put_u64(w->out, s->align);
        pg_put_char(w->out, ' ');
    }
    if (s->vec != 0) {
        pg_put(w->out, ".v");
        pg_put_u64(w->out, s->vec);
        pg_put_char(w->out, ' ');
    }
    put_type(w, s->type);
    pg_put_char(w->out, ' ');
    if (s->is_ptr) {
        pg_put(w->out, ".ptr ");
        if (s->ptr_space != PG_PTX_SP_NONE) {
            pg_put_char(w->out, '.');
            pg_put(w->out, space_names[s->ptr_space]);
            pg_put_char(w->out, ' ');
        }
        if (s->ptr_align != 0) {
            pg_put(w->out, ".align ");
            pg_put_u64(w->out, s->ptr_align);
            pg_put_char(w->out, ' ');
        }
    }
    pg_put_str(w->out, s->name);
    put_kept(w, s->dims);
    if (s->init.len != 0) {
        pg_put(w->out, " = ");
        put_kept(w, s->init);
    }
}

static void put_trailer(writer *w, uint32_t i)
{
    const pg_ptx_func *f = w->f;
    while (w->remark < f->remarks.n && f->remarks.at[w->remark].stmt < i) {
        w->remark++;
    }
    if (w->remark < f->remarks.n && f->remarks.at[w->remark].stmt == i) {
        pg_put_char(w->out, '\t');
        put_comment(w, f->remarks.at[w->remark].text);
    }
    end_line(w, f->body.at[i].loc.line);
}

/* Declarations from statement i on that share a line; returns the last statement. */
static uint32_t put_regs(writer *w, uint32_t i)
{
    const pg_ptx_func *f = w->f;
    for (bool is_first = true;; is_first = false, i++) {
        const pg_ptx_regdecl *d = &f->regdecls.at[f->body.at[i].id];
        if (is_first) {
            pg_put(w->out, ".reg ");
            put_type(w, d->type);
        }
        pg_put(w->out, is_first ? " " : ", ");
        pg_put_str(w->out, d->base);
        if (d->count != 0) {
            pg_put_char(w->out, '<');
            pg_put_u64(w->out, d->count);
            pg_put_char(w->out, '>');
        }
        const pg_ptx_stmt *next = i + 1 < f->body.n ? &f->body.at[i + 1] : NULL;
        if (next == NULL || next->kind != PG_PTX_S_REGS || !f->regdecls.at[next->id].same_line) {
            pg_put_char(w->out, ';');
            return i;
        }
    }
}

/* ---- statements in one piece -------------------------------------------------------------------
 *
 * Most have registers and small numbers, and addresses and vectors of few: they are put without a
 * look at what room there is for each part. These functions return where the text goes on, NULL for
 * what is none of that. */

enum { PLAIN_OPNDS = 8, PLAIN_PARTS = 8, PLAIN_NUMBER = 999999, PLAIN_NUMBER_SIZE = 10 };

/* memcpy for what is short most of the time. */
static inline char *put_short(char *to, const char *from, size_t n)
{
    if (n > 32) {
        memcpy(to, from, n);
    } else if (n >= 16) {
        memcpy(to, from, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++) {
            to[i] = from[i];
        }
    }
    return to + n;
}

static inline char *put_plain_reg(const writer *w, char *to, const pg_ptx_opnd *o)
{
    if (o->kind != PG_PTX_O_REG || o->flags != 0 || o->id >= w->f->regs.n) {
        return NULL;
    }
    const pg_str name = w->f->regs.at[o->id].name;
    if (w->has_roomy_names) { /* and `to` has more room than that */
        memcpy(to, name.ptr, PG_PTX_NAME_ROOM);
        return to + name.len;
    }
    return put_short(to, name.ptr, name.len);
}

static char *put_plain_number(char *to, int64_t x)
{
    if (x > PLAIN_NUMBER || x < -PLAIN_NUMBER) {
        return NULL;
    }
    char digits[PLAIN_NUMBER_SIZE];
    size_t n = 0;
    for (uint32_t rest = (uint32_t)(x < 0 ? -x : x); n == 0 || rest != 0; rest /= 10) {
        digits[n++] = (char)('0' + rest % 10);
    }
    if (x < 0) {
        *to++ = '-';
    }
    while (n != 0) {
        *to++ = digits[--n];
    }
    return to;
}

static char *put_plain_hex(char *to, uint32_t x)
{
    *to++ = '0';
    *to++ = 'f';
    for (uint32_t i = 0; i < 8; i++) {
        *to++ = "0123456789ABCDEF"[x >> (28 - 4 * i) & 15];
    }
    return to;
}

static char *put_plain_address(const writer *w, char *to, const pg_ptx_opnd *o)
{
    *to++ = '[';
    to = o->id < w->f->pool.n ? put_plain_reg(w, to, &w->f->pool.at[o->id]) : NULL;
    if (to != NULL && o->imm != 0) {
        *to++ = '+';
        to = put_plain_number(to, o->imm);
    }
    if (to != NULL) {
        *to++ = ']';
    }
    return to;
}

static char *put_plain_vector(const writer *w, char *to, const pg_ptx_opnd *o)
{
    if (o->n > PLAIN_PARTS || o->id + o->n > w->f->pool.n) {
        return NULL;
    }
    *to++ = '{';
    for (uint32_t i = 0; i < o->n && to != NULL; i++) {
        if (i != 0) {
            *to++ = ',';
            *to++ = ' ';
        }
        to = put_plain_reg(w, to, &w->f->pool.at[o->id + i]);
    }
    if (to != NULL) {
        *to++ = '}';
    }
    return to;
}

static inline char *put_plain_opnd(const writer *w, char *to, const pg_ptx_opnd *o)
{
    if (o->kind == PG_PTX_O_REG) {
        return put_plain_reg(w, to, o);
    }
    if (o->flags != 0) {
        return NULL;
    }
    switch ((pg_ptx_opnd_kind)o->kind) {
    case PG_PTX_O_INT: return put_plain_number(to, o->imm);
    case PG_PTX_O_F32: return put_plain_hex(to, (uint32_t)o->imm);
    case PG_PTX_O_ADDR: return put_plain_address(w, to, o);
    case PG_PTX_O_VEC: return put_plain_vector(w, to, o);
    default: return NULL;
    }
}

/* An instruction without the line's end. */
static char *put_plain_inst(const writer *w, char *to, const pg_ptx_stmt *s)
{
    if (s->guard.kind == PG_PTX_O_REG && s->guard.id < w->f->regs.n) {
        *to++ = '@';
        if ((s->guard.flags & PG_PTX_OF_NEG) != 0) {
            *to++ = '!';
        }
        const pg_str name = w->f->regs.at[s->guard.id].name;
        to = put_short(to, name.ptr, name.len);
        *to++ = ' ';
    }
    to = put_short(to, s->text.ptr, s->text.len);
    const pg_ptx_opnd *o = s->n_ops == 0 ? NULL : &w->f->pool.at[s->ops];
    char before = '\t';
    for (uint32_t i = 0; i < s->n_ops && to != NULL; i++, o++) {
        *to++ = before;
        *to = ' ';
        to += i != 0;
        before = ',';
        to = put_plain_opnd(w, to, o);
    }
    return to;
}

/* False, and nothing is put, where it is no such statement. */
static bool put_plain_line(writer *w, const pg_ptx_stmt *s)
{
    const size_t of_part = w->longest + PLAIN_NUMBER_SIZE + 2;
    const size_t parts = 4 * of_part + (size_t)PLAIN_OPNDS * PLAIN_PARTS * of_part;
    const bool is_plain = s->n_ops <= PLAIN_OPNDS && s->ops + s->n_ops <= w->f->pool.n;
    char *const start =
        is_plain ? pg_strbuf_room(w->out, s->text.len + parts + w->depth + PG_PTX_NAME_ROOM) : NULL;
    char *to = start;
    for (uint32_t d = 0; d < w->depth && to != NULL; d++) {
        *to++ = '\t';
    }
    to = to == NULL ? NULL : put_plain_inst(w, to, s);
    if (to == NULL) {
        return false;
    }
    *to++ = ';';
    if (w->may_have_lines || w->out->is_oom) {
        *to = '\0';
        w->out->len += (size_t)(to - start);
        end_line(w, s->loc.line);
        return true;
    }
    *to++ = '\n';
    *to = '\0';
    w->out->len += (size_t)(to - start);
    w->mapped = w->out->len;
    if (w->arena != NULL && !pg_vec_push(w->arena, w->line_of, s->loc.line)) {
        w->arena = NULL;
    }
    return true;
}

static void put_inst(writer *w, const pg_ptx_stmt *s)
{
    if (s->guard.kind == PG_PTX_O_REG) {
        pg_put_char(w->out, '@');
        put_opnd(w, &s->guard, 0);
        pg_put_char(w->out, ' ');
    }
    pg_put_str(w->out, s->text);
    for (uint32_t i = 0; i < s->n_ops && s->ops + i < w->f->pool.n; i++) {
        if (i == 0) {
            pg_put_char(w->out, '\t');
        } else {
            pg_put(w->out, ", ");
        }
        put_part(w, &w->f->pool.at[s->ops + i], 0);
    }
    pg_put_char(w->out, ';');
}

static void put_depth(writer *w)
{
    for (uint32_t d = 0; d < w->depth; d++) {
        pg_put_char(w->out, '\t');
    }
}

/* Says where the instructions from here on come from. */
static void put_loc(writer *w, pg_loc at)
{
    if (at.line == 0 || (at.line == w->at.line && at.column == w->at.column)) {
        return;
    }
    put_depth(w);
    pg_putf(w->out, ".loc\t1 %u %u", (unsigned)at.line, (unsigned)at.column);
    end_line(w, at.line);
    w->at = at;
}

static void put_source(writer *w)
{
    put_kept(w, PG_STR("\n.file\t1 \""));
    for (size_t i = 0; i < w->source.len; i++) {
        const char c = w->source.ptr[i];
        pg_put_char(w->out, c < ' ' || c > '~' || c == '"' ? '_' : c);
    }
    pg_put_char(w->out, '"');
    end_line(w, 0);
}

/* Returns the last statement printed. */
static uint32_t put_stmt(writer *w, uint32_t i)
{
    const pg_ptx_stmt *s = &w->f->body.at[i];
    if (s->kind == PG_PTX_S_INST && w->source.len != 0) {
        put_loc(w, s->loc);
    }
    if (s->kind == PG_PTX_S_INST && w->f->remarks.n == 0 && put_plain_line(w, s)) {
        return i;
    }
    if (s->kind == PG_PTX_S_CLOSE && w->depth > 1) {
        w->depth--;
    }
    if (s->kind != PG_PTX_S_LABEL) {
        put_depth(w);
    }
    switch ((pg_ptx_stmt_kind)s->kind) {
    case PG_PTX_S_INST: put_inst(w, s); break;
    case PG_PTX_S_LABEL:
        pg_put_str(w->out, w->f->labels.at[s->id]);
        pg_put_char(w->out, ':');
        break;
    case PG_PTX_S_REGS: i = put_regs(w, i); break;
    case PG_PTX_S_VAR:
        put_var(w, &w->m->syms.at[s->id]);
        pg_put_char(w->out, ';');
        break;
    case PG_PTX_S_OPEN:
        pg_put_char(w->out, '{');
        w->depth++;
        break;
    case PG_PTX_S_CLOSE: pg_put_char(w->out, '}'); break;
    case PG_PTX_S_COMMENT: put_comment(w, s->text); break;
    case PG_PTX_S_RAW: put_kept(w, s->text); break;
    }
    put_trailer(w, i);
    return i;
}

static void put_func_head(writer *w, const pg_ptx_func *f)
{
    const pg_ptx_sym *sym = &w->m->syms.at[f->sym];
    w->may_have_lines = true;
    put_linkage(w, sym->linkage);
    pg_put(w->out, f->is_entry ? ".entry " : ".func ");
    if (f->returns.n != 0) {
        pg_put_char(w->out, '(');
        for (uint32_t i = 0; i < f->returns.n; i++) {
            pg_put(w->out, i == 0 ? "" : ", ");
            put_var(w, &w->m->syms.at[f->returns.at[i]]);
        }
        pg_put(w->out, ") ");
    }
    pg_put_str(w->out, sym->name);
    pg_put_char(w->out, '(');
    for (uint32_t i = 0; i < f->params.n; i++) {
        pg_put(w->out, i == 0 ? "\n\t" : ",\n\t");
        put_var(w, &w->m->syms.at[f->params.at[i]]);
    }
    pg_put(w->out, f->params.n == 0 ? ")" : "\n)");
    for (uint32_t i = 0; i < f->directives.n; i++) {
        pg_put_char(w->out, '\n');
        pg_put_str(w->out, f->directives.at[i]);
    }
}

static void put_func(writer *w, const pg_ptx_func *f)
{
    w->f = f;
    w->depth = 1;
    w->remark = 0;
    w->longest = 0;
    w->at = (pg_loc){0, 0};
    for (uint32_t i = 0; i < f->regs.n; i++) {
        w->longest = f->regs.at[i].name.len > w->longest ? f->regs.at[i].name.len : w->longest;
    }
    w->has_roomy_names = f->has_roomy_names && w->longest <= PG_PTX_NAME_ROOM;
    put_kept(w, PG_STR("\n"));
    for (uint32_t i = 0; i < f->lead.n; i++) {
        put_comment(w, f->lead.at[i]);
        end_line(w, 0);
    }
    put_func_head(w, f);
    if (!f->has_body) {
        pg_put_char(w->out, ';');
        end_line(w, 0);
        return;
    }
    end_line(w, 0);
    pg_put_char(w->out, '{');
    end_line(w, 0);
    /* A line each. Without the room now it is made as they come. */
    enum { OF_LINE = 40, MORE = 4096 };
    if (w->arena != NULL) {
        (void)pg_vec_room(w->arena, w->line_of, f->body.n);
    }
    (void)pg_strbuf_room(w->out, (size_t)OF_LINE * f->body.n + MORE);
    for (uint32_t i = 0; i < f->body.n; i++) {
        i = put_stmt(w, i);
    }
    pg_put_char(w->out, '}');
    end_line(w, 0);
}

static void put_header(writer *w)
{
    for (uint32_t i = 0; i < w->m->header_comments.n; i++) {
        put_comment(w, w->m->header_comments.at[i]);
        end_line(w, 0);
    }
    w->may_have_lines = true;
    pg_putf(w->out, ".version %u.%u\n.target ", w->m->version / 10U, w->m->version % 10U);
    pg_put_str(w->out, w->m->target);
    pg_put_str(w->out, w->m->target_options);
    pg_putf(w->out, "\n.address_size %u", w->m->address_size);
    end_line(w, 0);
}

void pg_ptx_write_map(pg_strbuf *out, const pg_ptx_module *m, pg_arena *arena, pg_vec_u32 *line_of,
                      pg_str source)
{
    writer w = {.out = out,
                .m = m,
                .arena = arena,
                .line_of = line_of,
                .mapped = out->len,
                .source = source};
    put_header(&w);
    bool was_line = false; /* the item before was a variable, comment or directive */
    for (uint32_t i = 0; i < m->items.n; i++) {
        const pg_ptx_item *item = &m->items.at[i];
        if (item->kind == PG_PTX_I_FUNC) {
            put_func(&w, m->funcs.at[item->id]);
            was_line = false;
            continue;
        }
        if (!was_line) {
            put_kept(&w, PG_STR("\n"));
        }
        was_line = true;
        if (item->kind == PG_PTX_I_VAR) {
            put_var(&w, &m->syms.at[item->id]);
            pg_put_char(out, ';');
        } else if (item->kind == PG_PTX_I_COMMENT) {
            put_comment(&w, item->text);
        } else {
            put_kept(&w, item->text);
        }
        end_line(&w, 0);
    }
    if (source.len != 0) {
        put_source(&w);
    }
}

void pg_ptx_write(pg_strbuf *out, const pg_ptx_module *m)
{
    pg_ptx_write_map(out, m, NULL, NULL, (pg_str){"", 0});
}
