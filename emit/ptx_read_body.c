/* ptx_read_body.c: statements and operands of function bodies. */
#include "emit/ptx_reader.h"

static pg_ptx_func *func(pg_ptx_reader *r)
{
    return r->f;
}

static bool add_stmt(pg_ptx_reader *r, pg_ptx_stmt s)
{
    return pg_vec_push(r->arena, &func(r)->body, s);
}

/* Comments since the last statement: one on its line belongs to it, others are statements. */
static void flush_comments(pg_ptx_reader *r)
{
    pg_ptx_func *f = func(r);
    for (uint32_t i = 0; i < r->lx.comments.n; i++) {
        const pg_ptx_comment_note *c = &r->lx.comments.at[i];
        pg_str text = pg_ptx_keep(r, c->text);
        const uint32_t last = f->body.n - 1;
        const bool has_one = f->remarks.n != 0 && f->remarks.at[f->remarks.n - 1].stmt == last;
        if (c->is_trailing && f->body.n != 0 && !has_one &&
            f->body.at[last].kind != PG_PTX_S_COMMENT) {
            (void)pg_vec_push(r->arena, &f->remarks, ((pg_ptx_remark){last, text}));
            continue;
        }
        pg_ptx_stmt s = {.kind = PG_PTX_S_COMMENT, .text = text, .loc = r->t.loc};
        (void)add_stmt(r, s);
    }
    r->lx.comments.n = 0;
}

/* ---- operands ------------------------------------------------------------------------------- */

static bool read_operand(pg_ptx_reader *r, uint32_t depth);

static bool push(pg_ptx_reader *r, pg_ptx_opnd o)
{
    return pg_vec_push(r->arena, &r->stack, o);
}

/* Moves the operands from `from` on off the stack into the pool; *out_first is where they begin. */
static bool to_pool(pg_ptx_reader *r, uint32_t from, uint32_t *out_first)
{
    pg_ptx_func *f = func(r);
    *out_first = f->pool.n;
    for (uint32_t i = from; i < r->stack.n; i++) {
        const pg_ptx_opnd *o = &r->stack.at[i];
        if (o->kind == PG_PTX_O_LABEL) {
            /* `imm` holds the place among the fixups until the pool index is known */
            r->fixups.at[o->imm].pool = f->pool.n;
        }
        if (!pg_vec_push(r->arena, &f->pool, *o)) {
            return false;
        }
        if (o->kind == PG_PTX_O_LABEL) {
            f->pool.at[f->pool.n - 1].imm = 0;
        }
    }
    r->stack.n = from;
    return true;
}

static bool aggregate(pg_ptx_reader *r, uint32_t from, pg_ptx_opnd o)
{
    uint32_t n = r->stack.n - from;
    if (n > UINT16_MAX) {
        pg_diag_add(r->diags, PG_D_PTX_LIMIT, r->t.loc, "elements in an operand");
        return false;
    }
    o.n = (uint16_t)n;
    return to_pool(r, from, &o.id) && push(r, o);
}

static bool read_sequence(pg_ptx_reader *r, pg_ptx_opnd_kind kind, char close, uint32_t depth)
{
    uint32_t from = r->stack.n;
    pg_ptx_next(r);
    while (!pg_ptx_is_punct(r, close)) {
        if (!read_operand(r, depth + 1)) {
            return false;
        }
        if (!pg_ptx_is_punct(r, close) && !pg_ptx_expect(r, ',')) {
            return false;
        }
    }
    pg_ptx_next(r);
    pg_ptx_opnd o = {.kind = (uint8_t)kind};
    return aggregate(r, from, o);
}

/* Sum of +4, +-8, -12 ... after a base. */
static bool read_offset(pg_ptx_reader *r, int64_t *out)
{
    uint64_t sum = (uint64_t)*out;
    while (pg_ptx_is_punct(r, '+') || pg_ptx_is_punct(r, '-')) {
        bool is_minus = pg_ptx_is_punct(r, '-');
        pg_ptx_next(r);
        if (pg_ptx_take(r, '-')) {
            is_minus = !is_minus;
        }
        if (r->t.kind != PG_PTX_TK_INT) {
            return pg_ptx_error(r, "a number");
        }
        sum += is_minus ? 0 - r->t.value : r->t.value;
        pg_ptx_next(r);
    }
    *out = (int64_t)sum;
    return true;
}

static uint32_t find_sreg(pg_str name)
{
    for (uint32_t i = 1; i < PG_PTX_SREG_COUNT; i++) {
        if (pg_str_is(name, pg_ptx_sreg_infos[i].text)) {
            return i;
        }
    }
    return PG_PTX_SREG_NONE;
}

static bool undeclared(pg_ptx_reader *r, const pg_ptx_token *t)
{
    pg_diag_add(r->diags, PG_D_PTX_UNDECLARED, t->loc, (int)(t->text.len > 60 ? 60 : t->text.len),
                t->text.ptr);
    return push(r, (pg_ptx_opnd){0});
}

static bool read_sreg(pg_ptx_reader *r, uint32_t id)
{
    pg_ptx_opnd o = {.kind = PG_PTX_O_SREG, .id = id, .n = 255};
    if (r->t.kind == PG_PTX_TK_DIRECTIVE && r->t.text.len == 2) {
        for (uint16_t i = 0; i < 4; i++) {
            if (r->t.text.ptr[1] == "xyzw"[i]) {
                o.n = i;
            }
        }
        if (o.n == 255 || pg_ptx_sreg_infos[id].n_components == 0) {
            return pg_ptx_error(r, "a component that the register has");
        }
        pg_ptx_next(r);
    }
    return push(r, o);
}

/* A name that nothing declares yet: a label further on, or an error at the function's end. */
static bool read_label_later(pg_ptx_reader *r, const pg_ptx_token *t)
{
    pg_ptx_fixup x = {.name = t->text, .loc = t->loc};
    pg_ptx_opnd o = {.kind = PG_PTX_O_LABEL, .imm = (int64_t)r->fixups.n};
    return pg_vec_push(r->arena, &r->fixups, x) && push(r, o);
}

static bool read_name(pg_ptx_reader *r)
{
    pg_ptx_token t = r->t;
    pg_ptx_next(r);
    if (pg_str_is(t.text, "_")) {
        return push(r, pg_ptx_sink());
    }
    uint32_t reg = pg_ptx_lookup_reg(r, t.text);
    if (reg != UINT32_MAX) {
        return push(r, (pg_ptx_opnd){.kind = PG_PTX_O_REG, .id = reg});
    }
    const pg_ptx_name *n = pg_ptx_lookup(r, t.text);
    if (n != NULL && n->kind == PG_PTX_N_SYM) {
        pg_ptx_opnd o = {.kind = PG_PTX_O_SYM, .id = n->id};
        return read_offset(r, &o.imm) && push(r, o);
    }
    if (t.text.ptr[0] == '%') {
        uint32_t sreg = find_sreg(t.text);
        return sreg != PG_PTX_SREG_NONE ? read_sreg(r, sreg) : undeclared(r, &t);
    }
    if (pg_str_is(t.text, "WARP_SZ")) {
        return push(r, pg_ptx_int(32));
    }
    return read_label_later(r, &t);
}

/* [base+4], [base, {c0, c1}], [base, {c0}, {o0}] */
static bool read_address(pg_ptx_reader *r, uint32_t depth)
{
    uint32_t from = r->stack.n;
    pg_ptx_opnd o = {.kind = PG_PTX_O_ADDR};
    pg_ptx_next(r);
    if (r->t.kind == PG_PTX_TK_PUNCT && r->t.c != '-') {
        return pg_ptx_error(r, "an address");
    }
    if (!read_operand(r, depth + 1)) {
        return false;
    }
    pg_ptx_opnd *base = &r->stack.at[r->stack.n - 1];
    if (base->kind == PG_PTX_O_SYM) {
        o.imm = base->imm;
        base->imm = 0;
    }
    if (!read_offset(r, &o.imm)) {
        return false;
    }
    while (pg_ptx_take(r, ',')) {
        o.kind = PG_PTX_O_TADDR;
        if (!read_operand(r, depth + 1)) {
            return false;
        }
    }
    return pg_ptx_expect(r, ']') && aggregate(r, from, o);
}

static bool read_number(pg_ptx_reader *r)
{
    bool is_minus = false;
    bool is_not = false;
    while (pg_ptx_is_punct(r, '-') || pg_ptx_is_punct(r, '+') || pg_ptx_is_punct(r, '~')) {
        is_minus ^= pg_ptx_is_punct(r, '-');
        is_not ^= pg_ptx_is_punct(r, '~');
        pg_ptx_next(r);
    }
    pg_ptx_opnd o = {0};
    uint64_t x = r->t.value;
    switch (r->t.kind) {
    case PG_PTX_TK_INT:
        o.kind = PG_PTX_O_INT;
        o.flags = r->t.is_unsigned && !is_minus && !is_not ? PG_PTX_OF_UNSIGNED : 0;
        x = is_minus ? 0 - x : x;
        x = is_not ? ~x : x;
        break;
    case PG_PTX_TK_F32:
        o.kind = PG_PTX_O_F32;
        x ^= is_minus ? 1ULL << 31 : 0;
        break;
    case PG_PTX_TK_F64:
        o.kind = PG_PTX_O_F64;
        x ^= is_minus ? 1ULL << 63 : 0;
        break;
    default: return pg_ptx_error(r, "an operand");
    }
    o.imm = (int64_t)x;
    pg_ptx_next(r);
    return push(r, o);
}

static bool read_primary(pg_ptx_reader *r, uint32_t depth)
{
    if (depth > PG_PTX_MAX_NEST) {
        return pg_ptx_error(r, "an operand that nests less deep");
    }
    if (r->t.kind == PG_PTX_TK_WORD) {
        return read_name(r);
    }
    if (pg_ptx_is_punct(r, '{')) {
        return read_sequence(r, PG_PTX_O_VEC, '}', depth);
    }
    if (pg_ptx_is_punct(r, '(')) {
        return read_sequence(r, PG_PTX_O_LIST, ')', depth);
    }
    if (pg_ptx_is_punct(r, '[')) {
        return read_address(r, depth);
    }
    return read_number(r);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most PG_PTX_MAX_NEST deep */
static bool read_operand(pg_ptx_reader *r, uint32_t depth)
{
    uint32_t from = r->stack.n;
    bool is_negated = pg_ptx_take(r, '!');
    if (!read_primary(r, depth)) {
        return false;
    }
    if (is_negated) {
        r->stack.at[r->stack.n - 1].flags |= PG_PTX_OF_NEG;
    }
    if (pg_ptx_take(r, '|')) {
        pg_ptx_opnd o = {.kind = PG_PTX_O_PAIR};
        return read_primary(r, depth + 1) && aggregate(r, from, o);
    }
    return true;
}

/* ---- instructions --------------------------------------------------------------------------- */

/* The spelling: a word and the .words after it. One copy for equal spellings. */
static bool read_spelling(pg_ptx_reader *r, uint32_t *out_index)
{
    const char *from = r->t.text.ptr;
    const char *to = from + r->t.text.len;
    bool is_one_run = true;
    pg_strbuf b; /* only when blanks stand between the words */
    pg_strbuf_init(&b, r->arena->alloc);
    pg_ptx_next(r);
    while (r->t.kind == PG_PTX_TK_DIRECTIVE) {
        if (is_one_run && r->t.text.ptr != to) {
            is_one_run = false;
            pg_put_str(&b, (pg_str){from, (size_t)(to - from)});
        }
        if (!is_one_run) {
            pg_put_str(&b, r->t.text);
        }
        to = r->t.text.ptr + r->t.text.len;
        pg_ptx_next(r);
    }
    pg_str text = is_one_run ? (pg_str){from, (size_t)(to - from)} : pg_strbuf_str(&b);
    const uint32_t *known = pg_map_get_str(&r->spelling_map, text);
    bool ok = true;
    if (known != NULL) {
        *out_index = *known;
    } else {
        pg_ptx_spelling s = {.text = pg_ptx_keep(r, text), .n_ops = UINT32_MAX};
        *out_index = r->spellings.n;
        ok = s.text.ptr != NULL && pg_vec_push(r->arena, &r->spellings, s) &&
             pg_map_put_str(&r->spelling_map, s.text, *out_index);
    }
    pg_ptx_text_done(r, &b);
    return ok;
}

static bool read_guard(pg_ptx_reader *r, pg_ptx_opnd *out)
{
    pg_ptx_next(r);
    bool is_negated = pg_ptx_take(r, '!');
    uint32_t reg = r->t.kind == PG_PTX_TK_WORD ? pg_ptx_lookup_reg(r, r->t.text) : UINT32_MAX;
    if (reg == UINT32_MAX) {
        if (r->t.kind != PG_PTX_TK_WORD) {
            return pg_ptx_error(r, "a predicate");
        }
        pg_diag_add(r->diags, PG_D_PTX_UNDECLARED, r->t.loc,
                    (int)(r->t.text.len > 60 ? 60 : r->t.text.len), r->t.text.ptr);
    } else {
        *out =
            (pg_ptx_opnd){.kind = PG_PTX_O_REG, .flags = is_negated ? PG_PTX_OF_NEG : 0, .id = reg};
    }
    pg_ptx_next(r);
    return true;
}

static bool read_inst(pg_ptx_reader *r)
{
    pg_ptx_stmt s = {.kind = PG_PTX_S_INST, .loc = r->t.loc};
    uint32_t spelling = 0;
    if (pg_ptx_is_punct(r, '@') && !read_guard(r, &s.guard)) {
        return false;
    }
    if (r->t.kind != PG_PTX_TK_WORD) {
        return pg_ptx_error(r, "an instruction");
    }
    if (s.guard.kind == PG_PTX_O_NONE) {
        s.loc = r->t.loc;
    }
    if (!read_spelling(r, &spelling)) {
        return false;
    }
    uint32_t from = r->stack.n;
    while (!pg_ptx_is_punct(r, ';')) {
        if (!read_operand(r, 0)) {
            return false;
        }
        if (!pg_ptx_is_punct(r, ';') && !pg_ptx_expect(r, ',')) {
            return false;
        }
    }
    uint32_t n = r->stack.n - from;
    if (n > UINT8_MAX) {
        pg_diag_add(r->diags, PG_D_PTX_LIMIT, s.loc, "operands");
        return false;
    }
    pg_ptx_spelling *sp = &r->spellings.at[spelling];
    if (sp->n_ops != n) {
        sp->row = (uint16_t)pg_isa_find_for(sp->text, n);
        sp->n_ops = n;
    }
    s.n_ops = (uint8_t)n;
    s.text = sp->text;
    s.row = sp->row;
    if (!to_pool(r, from, &s.ops) || !add_stmt(r, s)) {
        return false;
    }
    pg_ptx_next(r);
    return true;
}

/* ---- statements ----------------------------------------------------------------------------- */

static bool read_label(pg_ptx_reader *r)
{
    pg_ptx_func *f = func(r);
    pg_str name = pg_ptx_keep(r, r->t.text);
    pg_ptx_stmt s = {.kind = PG_PTX_S_LABEL, .id = f->labels.n, .loc = r->t.loc};
    uint32_t at = f->body.n;
    if (!pg_vec_push(r->arena, &f->labels, name) || !pg_vec_push(r->arena, &f->label_at, at) ||
        !add_stmt(r, s)) {
        return false;
    }
    (void)pg_ptx_declare(r, name, r->t.loc, PG_PTX_N_LABEL, s.id); /* an error is reported there */
    pg_ptx_next(r);
    pg_ptx_next(r);
    return true;
}

static bool use_local(pg_ptx_reader *r, uint32_t sym)
{
    pg_ptx_stmt s = {.kind = PG_PTX_S_VAR, .id = sym, .loc = r->m->syms.at[sym].loc};
    return add_stmt(r, s);
}

static bool read_directive(pg_ptx_reader *r)
{
    pg_ptx_stmt s = {.kind = PG_PTX_S_RAW, .loc = r->t.loc};
    if (pg_ptx_is_directive(r, "reg")) {
        return pg_ptx_read_regs(r);
    }
    if (pg_ptx_at_space(r)) {
        pg_ptx_decl_rule rule = {0};
        return pg_ptx_read_var(r, rule, use_local) && pg_ptx_expect(r, ';');
    }
    if (pg_ptx_is_directive(r, "loc") || pg_ptx_is_directive(r, "file")) {
        pg_str line = pg_ptx_lex_line(&r->lx, r->t.text.ptr);
        s.text = pg_ptx_keep(r, line);
        bool ok = add_stmt(r, s);
        pg_ptx_next(r);
        return ok;
    }
    if (pg_ptx_is_directive(r, "pragma") || pg_ptx_is_directive(r, "branchtargets") ||
        pg_ptx_is_directive(r, "calltargets") || pg_ptx_is_directive(r, "callprototype")) {
        s.text = pg_ptx_raw_until(r, ';');
        return s.text.len != 0 && add_stmt(r, s);
    }
    pg_diag_add(r->diags, PG_D_PTX_DIRECTIVE, r->t.loc,
                (int)(r->t.text.len > 60 ? 60 : r->t.text.len), r->t.text.ptr);
    return false;
}

static bool read_brace(pg_ptx_reader *r)
{
    pg_ptx_stmt s = {.loc = r->t.loc};
    if (pg_ptx_is_punct(r, '{')) {
        s.kind = PG_PTX_S_OPEN;
        if (!pg_ptx_scope_open(r)) {
            pg_ptx_next(r);
            return false;
        }
    } else {
        s.kind = PG_PTX_S_CLOSE;
        pg_ptx_scope_close(r);
    }
    pg_ptx_next(r);
    return add_stmt(r, s);
}

void pg_ptx_read_body(pg_ptx_reader *r)
{
    uint32_t outer = r->depth;
    for (;;) {
        flush_comments(r);
        bool ok;
        uint32_t n_fixups = r->fixups.n;
        if (r->t.kind == PG_PTX_TK_END || r->arena->is_oom) {
            if (!r->arena->is_oom) {
                pg_ptx_error(r, "'}'");
            }
            break;
        }
        if (pg_ptx_is_punct(r, '}') && r->depth == outer) {
            break;
        }
        if (pg_ptx_is_punct(r, '{') || pg_ptx_is_punct(r, '}')) {
            ok = read_brace(r);
        } else if (r->t.kind == PG_PTX_TK_DIRECTIVE) {
            ok = read_directive(r);
        } else if (r->t.kind == PG_PTX_TK_WORD && pg_ptx_lex_is_next(&r->lx, ':')) {
            ok = read_label(r);
        } else if (pg_ptx_is_punct(r, ';')) { /* an empty statement */
            pg_ptx_next(r);
            ok = true;
        } else {
            ok = read_inst(r);
        }
        if (!ok) {
            r->stack.n = 0;
            r->fixups.n = n_fixups; /* those of the statement that failed */
            pg_ptx_skip_statement(r);
        }
    }
    while (r->depth > outer) {
        pg_ptx_scope_close(r);
    }
    if (pg_ptx_is_punct(r, '}')) {
        pg_ptx_next(r);
    }
}
