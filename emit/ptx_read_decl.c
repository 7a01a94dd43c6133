/* ptx_read_decl.c: declarations: variables, parameters, registers, initialisers. */
#include "emit/ptx_reader.h"

enum { MAX_DIMS = 8, MAX_INIT_BYTES = 1 << 26 };

static const char *const space_words[PG_PTX_SP_COUNT] = {
    "", "reg", "const", "global", "local", "param", "shared",
};

static pg_ptx_space space_of(const pg_ptx_reader *r)
{
    for (uint32_t i = 1; i < PG_PTX_SP_COUNT; i++) {
        if (pg_ptx_is_directive(r, space_words[i])) {
            return (pg_ptx_space)i;
        }
    }
    return PG_PTX_SP_NONE;
}

bool pg_ptx_at_space(const pg_ptx_reader *r)
{
    return space_of(r) != PG_PTX_SP_NONE;
}

bool pg_ptx_read_number(pg_ptx_reader *r, uint64_t *out)
{
    if (r->t.kind != PG_PTX_TK_INT) {
        return pg_ptx_error(r, "a number");
    }
    *out = r->t.value;
    pg_ptx_next(r);
    return true;
}

static bool read_align(pg_ptx_reader *r, uint32_t *out)
{
    uint64_t n = 0;
    pg_ptx_next(r);
    if (!pg_ptx_read_number(r, &n)) {
        return false;
    }
    if (!pg_is_pow2(n) || n > 1U << 30) {
        return pg_ptx_error(r, "a power of two as alignment before this");
    }
    *out = (uint32_t)n;
    return true;
}

/* .attribute(.managed) as written, blanks made one. */
static bool read_attribute(pg_ptx_reader *r, pg_ptx_sym *s)
{
    s->attributes = pg_ptx_raw_until(r, ')');
    return s->attributes.len != 0;
}

static bool read_ptr(pg_ptx_reader *r, pg_ptx_sym *s)
{
    pg_ptx_next(r);
    s->is_ptr = true;
    s->ptr_space = (uint8_t)space_of(r);
    if (s->ptr_space != PG_PTX_SP_NONE) {
        pg_ptx_next(r);
    }
    return !pg_ptx_is_directive(r, "align") || read_align(r, &s->ptr_align);
}

/* Everything before the first name: space, attributes, alignment, vector, type, .ptr. */
static bool read_head(pg_ptx_reader *r, pg_ptx_sym *s)
{
    s->space = (uint8_t)space_of(r);
    pg_ptx_next(r);
    while (r->t.kind == PG_PTX_TK_DIRECTIVE) {
        bool ok = true;
        pg_ptx_type type = pg_ptx_type_of(pg_str_sub(r->t.text, 1, r->t.text.len));
        if (type != PG_PTX_T_NONE && s->type == PG_PTX_T_NONE) {
            s->type = (uint8_t)type;
            pg_ptx_next(r);
        } else if (pg_ptx_is_directive(r, "align")) {
            ok = read_align(r, &s->align);
        } else if (pg_ptx_is_directive(r, "v2") || pg_ptx_is_directive(r, "v4")) {
            s->vec = (uint8_t)(r->t.text.ptr[2] - '0');
            pg_ptx_next(r);
        } else if (pg_ptx_is_directive(r, "ptr")) {
            ok = read_ptr(r, s);
        } else if (pg_ptx_is_directive(r, "attribute")) {
            ok = read_attribute(r, s);
        } else {
            ok = pg_ptx_error(r, "a type");
        }
        if (!ok) {
            return false;
        }
    }
    return s->type != PG_PTX_T_NONE ? true : pg_ptx_error(r, "a type");
}

/* [12][3], the first may be empty. */
static bool read_dims(pg_ptx_reader *r, pg_ptx_sym *s, uint64_t *dims, uint32_t *n_dims)
{
    pg_strbuf b;
    pg_strbuf_init(&b, r->arena->alloc);
    bool ok = true;
    uint64_t total = 1;
    while (ok && pg_ptx_take(r, '[')) {
        uint64_t n = 0;
        pg_put_char(&b, '[');
        if (!pg_ptx_is_punct(r, ']') || *n_dims != 0) {
            ok = pg_ptx_read_number(r, &n);
            pg_put_u64(&b, n);
        }
        pg_put_char(&b, ']');
        if (ok &&
            (*n_dims == MAX_DIMS || n > (1ULL << 40) || (n != 0 && total > (1ULL << 40) / n))) {
            pg_diag_add(r->diags, PG_D_PTX_LIMIT, r->t.loc, "elements in an array");
            ok = false;
        }
        if (ok) {
            dims[(*n_dims)++] = n;
            total *= n;
            ok = pg_ptx_expect(r, ']');
        }
    }
    s->is_array = *n_dims != 0;
    s->n_elems = total;
    s->dims = s->is_array ? pg_ptx_keep(r, pg_strbuf_str(&b)) : (pg_str){0};
    ok = ok && pg_strbuf_status(&b) == PG_OK;
    pg_ptx_text_done(r, &b);
    return ok;
}

/* A parameter in a register is both: a symbol of the signature and a register of the function. */
static bool declare_sym(pg_ptx_reader *r, pg_ptx_sym *s, pg_ptx_use_sym *use)
{
    uint32_t id = pg_ptx_sym_new(r->m, *s);
    if (id == 0) {
        return false;
    }
    pg_str name = r->m->syms.at[id].name;
    if (s->space == PG_PTX_SP_REG) {
        pg_ptx_reg reg = {.name = name, .type = s->type, .decl = UINT32_MAX};
        return pg_vec_push(r->arena, &r->f->regs, reg) &&
               pg_ptx_declare(r, name, s->loc, PG_PTX_N_REG, r->f->regs.n - 1) && use(r, id);
    }
    const pg_ptx_name *old = pg_ptx_lookup(r, name);
    bool is_again = old != NULL && old->scope == r->scopes[r->depth].id &&
                    old->kind == PG_PTX_N_SYM &&
                    ((r->m->syms.at[old->id].linkage | s->linkage) & PG_PTX_L_EXTERN) != 0;
    if (!is_again && !pg_ptx_declare(r, name, s->loc, PG_PTX_N_SYM, id)) {
        return false;
    }
    return use(r, id);
}

bool pg_ptx_read_var(pg_ptx_reader *r, pg_ptx_decl_rule rule, pg_ptx_use_sym *use)
{
    pg_ptx_sym head = {.kind = rule.is_param ? PG_PTX_SYM_PARAM : PG_PTX_SYM_VAR,
                       .linkage = rule.linkage,
                       .func = r->f != NULL ? r->f_index : UINT32_MAX};
    if (!read_head(r, &head)) {
        return false;
    }
    do {
        uint64_t dims[MAX_DIMS];
        uint32_t n_dims = 0;
        pg_ptx_sym s = head;
        if (r->t.kind != PG_PTX_TK_WORD) {
            return pg_ptx_error(r, "a name");
        }
        s.name = r->t.text;
        s.loc = r->t.loc;
        pg_ptx_next(r);
        if (!read_dims(r, &s, dims, &n_dims)) {
            return false;
        }
        if (pg_ptx_take(r, '=') && !pg_ptx_read_init(r, &s, dims, n_dims)) {
            return false;
        }
        if (!declare_sym(r, &s, use)) {
            return false;
        }
    } while (!rule.is_param && pg_ptx_take(r, ','));
    return true;
}

/* ---- registers ------------------------------------------------------------------------------ */

/* Names of a family %r<10>, all in one block of memory. */
static bool add_family(pg_ptx_reader *r, pg_ptx_regdecl *d)
{
    pg_ptx_func *f = r->f;
    size_t width = d->base.len + 10;
    if (d->count > r->n_regs_left) {
        pg_diag_add(r->diags, PG_D_PTX_LIMIT, r->t.loc, "registers");
        return false;
    }
    r->n_regs_left -= d->count;
    char *names = pg_arena_get(r->arena, width, d->count);
    if (names == NULL || !pg_vec_reserve(r->arena, &f->regs, d->count)) {
        return false;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        char *name = names + i * width;
        char digits[10];
        uint32_t n = 0;
        uint32_t x = i;
        do {
            digits[n++] = (char)('0' + x % 10);
            x /= 10;
        } while (x != 0);
        for (size_t k = 0; k < d->base.len; k++) {
            name[k] = d->base.ptr[k];
        }
        for (uint32_t k = 0; k < n; k++) {
            name[d->base.len + k] = digits[n - 1 - k];
        }
        f->regs.at[f->regs.n++] =
            (pg_ptx_reg){.name = {name, d->base.len + n}, .type = d->type, .decl = f->regdecls.n};
    }
    return true;
}

static bool add_single(pg_ptx_reader *r, const pg_ptx_regdecl *d, pg_loc loc)
{
    pg_ptx_reg reg = {.name = d->base, .type = d->type, .decl = r->f->regdecls.n};
    return pg_vec_push(r->arena, &r->f->regs, reg) &&
           pg_ptx_declare(r, d->base, loc, PG_PTX_N_REG, r->f->regs.n - 1);
}

static bool read_reg(pg_ptx_reader *r, pg_ptx_type type, bool same_line, pg_loc stmt_loc)
{
    pg_ptx_func *f = r->f;
    if (r->t.kind != PG_PTX_TK_WORD) {
        return pg_ptx_error(r, "a register's name");
    }
    pg_loc loc = r->t.loc;
    pg_ptx_regdecl d = {.type = (uint8_t)type,
                        .base = pg_ptx_keep(r, r->t.text),
                        .first_reg = f->regs.n,
                        .same_line = same_line};
    pg_ptx_next(r);
    bool ok;
    if (pg_ptx_take(r, '<')) {
        uint64_t n = 0;
        if (!pg_ptx_read_number(r, &n) || !pg_ptx_expect(r, '>')) {
            return false;
        }
        d.count = n < UINT32_MAX / 2 ? (uint32_t)n : UINT32_MAX / 2;
        if (n == 0) {
            return pg_ptx_error(r, "at least one register before this");
        }
        ok = add_family(r, &d) && pg_ptx_declare(r, d.base, loc, PG_PTX_N_FAMILY, f->regdecls.n);
    } else {
        ok = d.base.ptr != NULL && add_single(r, &d, loc);
    }
    pg_ptx_stmt s = {.kind = PG_PTX_S_REGS, .id = f->regdecls.n, .loc = stmt_loc};
    return ok && pg_vec_push(r->arena, &f->regdecls, d) && pg_vec_push(r->arena, &f->body, s);
}

bool pg_ptx_read_regs(pg_ptx_reader *r)
{
    pg_loc loc = r->t.loc;
    pg_ptx_next(r);
    pg_ptx_type type = r->t.kind == PG_PTX_TK_DIRECTIVE
                           ? pg_ptx_type_of(pg_str_sub(r->t.text, 1, r->t.text.len))
                           : PG_PTX_T_NONE;
    if (type == PG_PTX_T_NONE) {
        return pg_ptx_error(r, "a register type");
    }
    pg_ptx_next(r);
    bool same_line = false;
    do {
        if (!read_reg(r, type, same_line, loc)) {
            return false;
        }
        same_line = true;
    } while (pg_ptx_take(r, ','));
    return pg_ptx_expect(r, ';');
}

/* ---- initialisers --------------------------------------------------------------------------- */

typedef struct init_reader {
    pg_ptx_reader *r;
    pg_ptx_sym *s;
    pg_strbuf text;
    uint8_t *bytes;
    uint64_t n_bytes; /* room */
    uint64_t at;      /* element */
    uint32_t size;    /* of an element */
    pg_vec_u32 relocs;
} init_reader;

static bool init_error(init_reader *in, const char *what)
{
    pg_diag_add(in->r->diags, PG_D_PTX_INIT, in->r->t.loc, PG_STR_ARG(in->s->name), what);
    return false;
}

static uint64_t narrow(uint8_t type, const pg_ptx_token *t)
{
    if (type == PG_PTX_F32 && t->kind == PG_PTX_TK_F64) {
        return pg_f32_bits((float)pg_f64_of_bits(t->value));
    }
    if (type == PG_PTX_F64 && t->kind == PG_PTX_TK_F32) {
        return pg_f64_bits((double)pg_f32_of_bits((uint32_t)t->value));
    }
    return t->value;
}

static bool put_value(init_reader *in, uint64_t value)
{
    uint64_t offset = in->at * in->size;
    if (offset + in->size > in->n_bytes) {
        if (in->s->n_elems != 0) {
            return init_error(in, "more values than elements");
        }
        uint64_t room = in->n_bytes * 2 + 64; /* [] : as many as there are values */
        uint8_t *bytes = pg_arena_get(in->r->arena, 1, (size_t)room);
        for (uint64_t i = 0; bytes != NULL && i < in->n_bytes; i++) {
            bytes[i] = in->bytes[i];
        }
        if (bytes == NULL) {
            return false;
        }
        in->bytes = bytes;
        in->n_bytes = room;
    }
    for (uint32_t i = 0; i < in->size && i < 8; i++) {
        in->bytes[offset + i] = (uint8_t)(value >> (8 * i));
    }
    in->at++;
    return true;
}

static void put_token(init_reader *in)
{
    pg_put_str(&in->text, in->r->t.text);
    pg_ptx_next(in->r);
}

/* name, name+4, generic(name), generic(name)+4 */
static bool read_address(init_reader *in)
{
    pg_ptx_reader *r = in->r;
    bool is_generic = pg_str_is(r->t.text, "generic");
    if (is_generic) {
        put_token(in);
        if (!pg_ptx_is_punct(r, '(')) {
            return pg_ptx_error(r, "'('");
        }
        put_token(in);
    }
    const pg_ptx_name *n = r->t.kind == PG_PTX_TK_WORD ? pg_ptx_lookup(r, r->t.text) : NULL;
    if (n == NULL || n->kind != PG_PTX_N_SYM) {
        pg_diag_add(r->diags, PG_D_PTX_UNDECLARED, r->t.loc,
                    (int)(r->t.text.len > 60 ? 60 : r->t.text.len), r->t.text.ptr);
        return false;
    }
    uint32_t sym = n->id;
    uint32_t offset = (uint32_t)(in->at * in->size);
    put_token(in);
    if (is_generic) {
        if (!pg_ptx_is_punct(r, ')')) {
            return pg_ptx_error(r, "')'");
        }
        put_token(in);
    }
    uint64_t addend = 0;
    if (pg_ptx_is_punct(r, '+') || pg_ptx_is_punct(r, '-')) {
        bool is_minus = pg_ptx_is_punct(r, '-');
        put_token(in);
        if (r->t.kind != PG_PTX_TK_INT) {
            return pg_ptx_error(r, "a number");
        }
        addend = is_minus ? 0 - r->t.value : r->t.value;
        put_token(in);
    }
    return pg_vec_push(r->arena, &in->relocs, offset) && pg_vec_push(r->arena, &in->relocs, sym) &&
           put_value(in, addend);
}

static bool read_value(init_reader *in)
{
    pg_ptx_reader *r = in->r;
    if (r->t.kind == PG_PTX_TK_WORD) {
        return read_address(in);
    }
    bool is_minus = pg_ptx_is_punct(r, '-');
    if (is_minus || pg_ptx_is_punct(r, '+')) {
        put_token(in);
    }
    if (r->t.kind != PG_PTX_TK_INT && r->t.kind != PG_PTX_TK_F32 && r->t.kind != PG_PTX_TK_F64) {
        return pg_ptx_error(r, "a value");
    }
    pg_ptx_token t = r->t;
    put_token(in);
    if (is_minus && t.kind == PG_PTX_TK_INT) {
        t.value = 0 - t.value;
    } else if (is_minus) {
        t.value ^= t.kind == PG_PTX_TK_F32 ? 1ULL << 31 : 1ULL << 63;
    }
    return put_value(in, narrow(in->s->type, &t));
}

/* Elements below one element of dimension `depth`. */
static uint64_t stride_of(const uint64_t *dims, uint32_t n_dims, uint32_t depth)
{
    uint64_t n = 1;
    for (uint32_t i = depth; i < n_dims; i++) {
        n *= dims[i];
    }
    return n;
}

bool pg_ptx_read_init(pg_ptx_reader *r, pg_ptx_sym *s, const uint64_t *dims, uint32_t n_dims)
{
    init_reader in = {.r = r, .s = s, .size = pg_ptx_type_infos[s->type].bits / 8};
    if (in.size == 0) {
        return init_error(&in, "a predicate has none");
    }
    uint64_t n_bytes = s->n_elems * in.size * (s->vec != 0 ? s->vec : 1);
    if (n_bytes > MAX_INIT_BYTES) {
        return init_error(&in, "the variable is too large");
    }
    in.n_bytes = n_bytes;
    in.bytes = pg_arena_get(r->arena, 1, (size_t)(n_bytes != 0 ? n_bytes : 1));
    pg_strbuf_init(&in.text, r->arena->alloc);
    bool ok = in.bytes != NULL;
    uint32_t depth = 0;
    uint64_t start[MAX_DIMS + 1] = {0};
    while (ok) {
        if (pg_ptx_is_punct(r, '{')) {
            ok = depth < MAX_DIMS ? true : init_error(&in, "braces nest too deep");
            start[depth < MAX_DIMS ? depth : 0] = in.at;
            depth++;
            put_token(&in);
            continue;
        }
        if (!pg_ptx_is_punct(r, '}')) {
            ok = read_value(&in);
        }
        while (ok && depth > 0 && pg_ptx_is_punct(r, '}')) {
            depth--;
            uint64_t stride = stride_of(dims, n_dims, depth);
            if (depth > 0 && depth < n_dims && in.at < start[depth] + stride) {
                in.at = start[depth] + stride;
            }
            put_token(&in);
        }
        if (depth == 0 || !ok) {
            break;
        }
        ok = pg_ptx_is_punct(r, ',') ? true : pg_ptx_error(r, "',' or '}'");
        if (ok) {
            pg_put(&in.text, ", ");
            pg_ptx_next(r);
        }
    }
    s->init = pg_ptx_keep(r, pg_strbuf_str(&in.text));
    ok = ok && pg_strbuf_status(&in.text) == PG_OK;
    pg_ptx_text_done(r, &in.text);
    s->init_bytes = in.bytes;
    s->relocs = in.relocs.at;
    s->n_relocs = in.relocs.n / 2;
    if (s->n_elems == 0) {
        s->n_elems = in.at;
    }
    return ok;
}
