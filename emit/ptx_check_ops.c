/* ptx_check_ops.c: operands of one statement against the `operands` column of its row.
 * The rules of types and immediates are those that ptxas was seen to apply;
 * tests/data/ptx/snippets.txt holds the cases, each with what ptxas says. */
#include <string.h>

#include "emit/ptx_checker.h"

enum {
    FL_REG = 1,
    FL_SINK = 2,
    FL_SINKS = 4,
    FL_PAIR = 8,
    FL_PAIRREQ = 16,
    FL_PACK = 32,
    FL_ANY = 64,
    FL_LAX = 128,
    FL_ORPRED = 256
};

/* Ranges that a flag names: <bar>, <pos> ... */
typedef struct range {
    const char *flag;
    int64_t lo, hi, step;
    const char *text;
} range;

static const range flag_ranges[] = {
    {"bar", 0, 15, 1, "0 to 15"},
    {"threads", 0, INT32_MAX, 32, "a multiple of 32"},
    {"x16", 0, UINT32_MAX, 16, "a multiple of 16"},
    {"pos", 1, INT32_MAX, 1, "at least 1"},
    {"bit", 0, 1, 1, "0 or 1"},
};

/* A parsed `spec`. */
typedef struct spec {
    char
        kind; /* 't' type, 'm' mem, 'c' tma, '5' tma5, '#', 'w' wgop, 'o' tcop, 'l' label, 'f' func,
                 '(' list, '_' sink */
    pg_ptx_type type;
    uint32_t bits; /* of the type, doubled by *2 */
    uint32_t n;    /* vector length, 0: scalar */
    uint32_t flags;
    bool is_columns; /* power of two from 32 to 512 */
    int64_t lo, hi, step;
    int64_t set[4];
    uint32_t n_set;
    const range *rule; /* of an immediate in place of a register */
} spec;

static int64_t parse_int(const char **p, const char *end)
{
    bool is_minus = *p < end && **p == '-';
    int64_t x = 0;
    *p += is_minus ? 1 : 0;
    while (*p < end && **p >= '0' && **p <= '9') {
        x = x * 10 + (**p - '0');
        (*p)++;
    }
    return is_minus ? -x : x;
}

/* Number in the modifier that begins with `prefix` and goes on with digits; 0 without one. */
static uint32_t word_number(const pg_isa_words *w, const char *prefix)
{
    size_t n = strlen(prefix);
    for (uint32_t i = 1; i < w->n; i++) {
        pg_str s = w->at[i];
        if (s.len > n && memcmp(s.ptr, prefix, n) == 0 && s.ptr[n] >= '0' && s.ptr[n] <= '9') {
            const char *p = s.ptr + n;
            return (uint32_t)parse_int(&p, s.ptr + s.len);
        }
    }
    return 0;
}

static bool has_word(const pg_isa_words *w, const char *word)
{
    for (uint32_t i = 1; i < w->n; i++) {
        if (pg_str_is(w->at[i], word)) {
            return true;
        }
    }
    return false;
}

/* N of .Nd */
static uint32_t n_dims(const pg_isa_words *w)
{
    for (uint32_t i = 1; i < w->n; i++) {
        pg_str s = w->at[i];
        if (s.len == 2 && s.ptr[1] == 'd' && s.ptr[0] >= '1' && s.ptr[0] <= '5') {
            return (uint32_t)(s.ptr[0] - '0');
        }
    }
    return 0;
}

static uint32_t count_of(const pg_isa_words *w, pg_str c)
{
    if (pg_str_is(c, "v")) {
        return word_number(w, "v");
    }
    if (pg_str_is(c, "x")) {
        return word_number(w, "x");
    }
    if (pg_str_is(c, "x*2")) {
        return 2 * word_number(w, "x");
    }
    if (pg_str_is(c, "N/2")) {
        return word_number(w, "m64n") / 2;
    }
    if (pg_str_is(c, "N/4")) {
        return word_number(w, "m64n") / 4;
    }
    if (pg_str_is(c, "im2col")) {
        return n_dims(w) - 2;
    }
    if (pg_str_is(c, "lanes")) {
        return has_word(w, "cta_group::2") ? 8 : 4;
    }
    if (pg_str_is(c, "tc")) {
        uint32_t per = has_word(w, "16x256b") ? 4 : has_word(w, "16x128b") ? 2 : 1;
        return per * word_number(w, "x");
    }
    const char *p = c.ptr;
    return (uint32_t)parse_int(&p, c.ptr + c.len);
}

static void parse_flags(spec *s, const char *p, const char *end)
{
    static const struct {
        const char *word;
        uint32_t flag;
    } words[] = {
        {"reg", FL_REG},   {"sink", FL_SINK},       {"sinks", FL_SINKS},
        {"pair", FL_PAIR}, {"pairreq", FL_PAIRREQ}, {"pack", FL_PACK},
        {"any", FL_ANY},   {"lax", FL_LAX},         {"orpred", FL_ORPRED},
    };
    while (p < end) {
        const char *q = p;
        while (q < end && *q != ' ') {
            q++;
        }
        pg_str word = {p, (size_t)(q - p)};
        for (size_t i = 0; i < PG_COUNT_OF(words); i++) {
            s->flags |= pg_str_is(word, words[i].word) ? words[i].flag : 0;
        }
        for (size_t i = 0; i < PG_COUNT_OF(flag_ranges); i++) {
            if (pg_str_is(word, flag_ranges[i].flag)) {
                s->rule = &flag_ranges[i];
            }
        }
        s->is_columns = s->is_columns || pg_str_is(word, "columns");
        p = q < end ? q + 1 : q;
    }
}

static void parse_imm(spec *s, const char *p, const char *end)
{
    s->step = 1;
    if (*p == '{') {
        while (p < end && *p != '}' && s->n_set < 4) {
            p++;
            s->set[s->n_set++] = parse_int(&p, end);
        }
        return;
    }
    s->lo = parse_int(&p, end);
    p += 2; /* .. */
    s->hi = parse_int(&p, end);
    if (p < end && *p == '/') {
        p++;
        s->step = parse_int(&p, end);
    }
}

static spec parse_spec(const pg_ptx_checker *c, pg_str text)
{
    static const struct {
        const char *word;
        char kind;
    } kinds[] = {
        {"mem", 'm'},   {"tma", 'c'},  {"tma5", '5'}, {"wgop", 'w'}, {"tcop", 'o'},
        {"label", 'l'}, {"func", 'f'}, {"list", '('}, {"sink", '_'},
    };
    spec s = {.kind = 't'};
    const char *end = text.ptr + text.len;
    for (size_t i = 0; i < PG_COUNT_OF(kinds); i++) {
        if (pg_str_is(text, kinds[i].word)) {
            s.kind = kinds[i].kind;
            return s;
        }
    }
    if (text.ptr[0] == '#') {
        s.kind = '#';
        parse_imm(&s, text.ptr + 1, end);
        return s;
    }
    const char *p = text.ptr;
    while (p < end && *p != '*' && *p != '{' && *p != '<') {
        p++;
    }
    pg_str type = {text.ptr, (size_t)(p - text.ptr)};
    bool is_name = type.len == 1 && type.ptr[0] >= 'A' && type.ptr[0] <= 'Z';
    s.type = is_name ? (pg_ptx_type)c->bound.type[type.ptr[0] - 'A'] : pg_ptx_type_of(type);
    s.bits = pg_ptx_type_infos[s.type].bits;
    if (p < end && *p == '*') {
        s.bits *= 2;
        p += 2;
    }
    if (p < end && *p == '{') {
        const char *q = memchr(p, '}', (size_t)(end - p));
        q = q != NULL ? q : end - 1;
        s.n = count_of(&c->words, (pg_str){p + 1, (size_t)(q - p - 1)});
        p = q + 1;
    }
    if (p < end && *p == '<') {
        parse_flags(&s, p + 1, end - 1);
    }
    return s;
}

/* ---- reports -------------------------------------------------------------------------------- */

static void bad_kind(pg_ptx_checker *c, uint32_t i, const char *what)
{
    pg_diag_add(c->diags, PG_D_PTX_OPERAND, c->s->loc, i + 1, PG_STR_ARG(c->s->text), what);
}

static void bad_range(pg_ptx_checker *c, uint32_t i, int64_t x, const char *what)
{
    pg_diag_add(c->diags, PG_D_PTX_RANGE, c->s->loc, i + 1, PG_STR_ARG(c->s->text), (long long)x,
                what);
}

static void bad_set(pg_ptx_checker *c, uint32_t i, int64_t x, const spec *s)
{
    pg_strbuf b;
    pg_strbuf_init(&b, c->diags->alloc);
    if (s->n_set != 0) {
        for (uint32_t k = 0; k < s->n_set; k++) {
            pg_put(&b, k == 0 ? "" : " or ");
            pg_put_i64(&b, s->set[k]);
        }
    } else {
        pg_put_i64(&b, s->lo);
        if (s->hi != s->lo) {
            pg_put(&b, " to ");
            pg_put_i64(&b, s->hi);
        }
        if (s->step > 1) {
            pg_put(&b, " in steps of ");
            pg_put_i64(&b, s->step);
        }
    }
    bad_range(c, i, x, b.ptr != NULL ? b.ptr : "in range");
    pg_strbuf_fini(&b);
}

/* ---- registers and immediates --------------------------------------------------------------- */

static bool reg_fits(const spec *s, pg_ptx_type reg)
{
    const pg_ptx_type_info *r = &pg_ptx_type_infos[reg];
    char cls = pg_ptx_type_infos[s->type].cls;
    if (cls == 'P' || r->cls == 'P') {
        return cls == r->cls;
    }
    bool is_wider = (s->flags & FL_LAX) != 0 && r->bits > s->bits;
    if (r->bits != s->bits && !is_wider) {
        return false;
    }
    if (r->cls == 'B' || cls == 'B') {
        return true;
    }
    if (s->type == PG_PTX_F16X2 || s->type == PG_PTX_BF16X2 || s->type == PG_PTX_F32X2 ||
        s->type == PG_PTX_TF32) {
        return reg == s->type; /* packed: no register of a plain float */
    }
    return cls == 'F' ? r->cls == 'F' && !is_wider : r->cls != 'F';
}

static bool imm_fits(const pg_ptx_checker *c, const spec *s, const pg_ptx_opnd *o)
{
    char cls = pg_ptx_type_infos[s->type].cls;
    if (o->kind == PG_PTX_O_INT) {
        return cls != 'F';
    }
    if (s->type == PG_PTX_F32 || s->type == PG_PTX_F64) {
        return true;
    }
    bool is_mov = pg_str_is(c->words.at[0], "mov");
    return cls == 'B' && s->bits >= (is_mov && o->kind == PG_PTX_O_F64 ? 64U : 32U);
}

static void check_reg(pg_ptx_checker *c, uint32_t i, const spec *s, const pg_ptx_opnd *o)
{
    if (o->id >= c->f->regs.n) {
        bad_kind(c, i, "a register");
        return;
    }
    const pg_ptx_reg *reg = &c->f->regs.at[o->id];
    if (!reg_fits(s, (pg_ptx_type)reg->type) &&
        !((s->flags & FL_ORPRED) != 0 && reg->type == PG_PTX_PRED)) {
        pg_diag_add(c->diags, PG_D_PTX_TYPE, c->s->loc, i + 1, PG_STR_ARG(c->s->text),
                    PG_STR_ARG(reg->name), pg_ptx_type_infos[reg->type].text,
                    pg_ptx_type_infos[s->type].text);
    }
}

static void check_imm(pg_ptx_checker *c, uint32_t i, const spec *s, const pg_ptx_opnd *o)
{
    if ((s->flags & FL_REG) != 0 || !imm_fits(c, s, o)) {
        bad_kind(c, i,
                 (s->flags & FL_REG) != 0 ? "a register" : "a register or a literal of the type");
        return;
    }
    if (o->kind != PG_PTX_O_INT) {
        return;
    }
    const range *r = s->rule;
    if (r != NULL && (o->imm < r->lo || o->imm > r->hi || o->imm % r->step != 0)) {
        bad_range(c, i, o->imm, r->text);
    }
    if (s->is_columns && (!pg_is_pow2((uint64_t)o->imm) || o->imm < 32 || o->imm > 512)) {
        bad_range(c, i, o->imm, "a power of two from 32 to 512");
    }
}

static void check_symbol(pg_ptx_checker *c, uint32_t i, const spec *s, const pg_ptx_opnd *o)
{
    const pg_ptx_sym *sym = &c->m->syms.at[o->id];
    if ((s->flags & FL_ANY) == 0 || has_word(&c->words, "to")) {
        bad_kind(c, i, "a register");
    } else if (s->bits != 64 && !(s->bits == 32 && sym->space == PG_PTX_SP_SHARED)) {
        bad_kind(c, i, "64 bits wide, because an address is taken");
    }
}

static void check_sreg(pg_ptx_checker *c, uint32_t i, const spec *s, const pg_ptx_opnd *o)
{
    const pg_ptx_sreg_info *sr = &pg_ptx_sreg_infos[o->id];
    bool is_cvt = pg_str_is(c->words.at[0], "cvt");
    if ((s->flags & FL_ANY) == 0 && !is_cvt) {
        bad_kind(c, i, "no special register; mov it to a register first");
    } else if (sr->n_components != 0 && o->n == 255) {
        bad_kind(c, i, "one component (.x .y .z) of the special register");
    } else if (pg_ptx_type_infos[sr->type].bits == 64 && s->bits != 64) {
        bad_kind(c, i, "as wide as the special register");
    }
}

/* One scalar value, written or read. */
static void check_scalar(pg_ptx_checker *c, uint32_t i, const spec *s, bool is_written,
                         const pg_ptx_opnd *o)
{
    switch ((pg_ptx_opnd_kind)o->kind) {
    case PG_PTX_O_REG: check_reg(c, i, s, o); break;
    case PG_PTX_O_INT:
    case PG_PTX_O_F32:
    case PG_PTX_O_F64:
        if (is_written) {
            bad_kind(c, i, "a register, because it is written");
        } else {
            check_imm(c, i, s, o);
        }
        break;
    case PG_PTX_O_SREG:
        if (is_written) {
            bad_kind(c, i, "a register that can be written");
        } else {
            check_sreg(c, i, s, o);
        }
        break;
    case PG_PTX_O_SYM: check_symbol(c, i, s, o); break;
    case PG_PTX_O_SINK:
        if ((s->flags & (FL_SINK | FL_SINKS)) == 0 || !is_written) {
            bad_kind(c, i, "a register");
        }
        break;
    default: bad_kind(c, i, is_written ? "a register" : "a register or a literal"); break;
    }
}

/* ---- vectors -------------------------------------------------------------------------------- */

static void check_duplicates(pg_ptx_checker *c, uint32_t i, const pg_ptx_opnd *o)
{
    static const pg_ptx_opnd none;
    c->n_seen++;
    for (uint32_t k = 0; k < o->n; k++) {
        const pg_ptx_opnd *e = c->seen != NULL ? &c->f->pool.at[o->id + k] : &none;
        if (e->kind != PG_PTX_O_REG || e->id >= c->f->regs.n) {
            continue;
        }
        if (c->seen[e->id] == c->n_seen) {
            pg_diag_add(c->diags, PG_D_PTX_DUPLICATE, c->s->loc,
                        PG_STR_ARG(c->f->regs.at[e->id].name), i + 1, PG_STR_ARG(c->s->text));
            return;
        }
        c->seen[e->id] = c->n_seen;
    }
}

/* Registers of one vector have one width, also where wider ones would do. */
static void check_widths(pg_ptx_checker *c, uint32_t i, const pg_ptx_opnd *o)
{
    uint32_t bits = 0;
    for (uint32_t k = 0; k < o->n; k++) {
        const pg_ptx_opnd *e = &c->f->pool.at[o->id + k];
        if (e->kind != PG_PTX_O_REG || e->id >= c->f->regs.n) {
            continue;
        }
        uint32_t b = pg_ptx_type_infos[c->f->regs.at[e->id].type].bits;
        if (bits != 0 && b != bits) {
            bad_kind(c, i, "a vector of registers of one width");
            return;
        }
        bits = b;
    }
}

static void check_vector(pg_ptx_checker *c, uint32_t i, const spec *s, bool is_written,
                         const pg_ptx_opnd *o)
{
    if (o->kind != PG_PTX_O_VEC) {
        bool is_sink = o->kind == PG_PTX_O_SINK && (s->flags & FL_SINK) != 0;
        if (!is_sink) {
            bad_kind(c, i, "a vector {...}");
        }
        return;
    }
    if (o->n != s->n) {
        pg_diag_add(c->diags, PG_D_PTX_VECTOR, c->s->loc, i + 1, PG_STR_ARG(c->s->text),
                    (unsigned)o->n, s->n);
        return;
    }
    for (uint32_t k = 0; k < o->n; k++) {
        spec e = *s;
        e.flags |= is_written ? FL_SINKS : 0;
        check_scalar(c, i, &e, is_written, &c->f->pool.at[o->id + k]);
    }
    if (is_written) {
        check_duplicates(c, i, o);
    }
    check_widths(c, i, o);
}

/* mov.b32 d, {a, b}: elements of one width that fill the type. */
static void check_pack(pg_ptx_checker *c, uint32_t i, const spec *s, bool is_written,
                       const pg_ptx_opnd *o)
{
    static const uint8_t types[] = {PG_PTX_B8, PG_PTX_B16, PG_PTX_B32, PG_PTX_B64};
    if (pg_ptx_type_infos[s->type].cls != 'B' || o->n == 0 || s->bits % o->n != 0) {
        bad_kind(c, i, "no vector with this type");
        return;
    }
    for (size_t k = 0; k < PG_COUNT_OF(types); k++) {
        if (pg_ptx_type_infos[types[k]].bits == s->bits / o->n) {
            spec e = {
                .kind = 't', .type = (pg_ptx_type)types[k], .bits = s->bits / o->n, .n = o->n};
            check_vector(c, i, &e, is_written, o);
            return;
        }
    }
    bad_kind(c, i, "a vector of 2 or 4 elements that fill the type");
}

static void check_pair(pg_ptx_checker *c, uint32_t i, const spec *s, bool is_written,
                       const pg_ptx_opnd *o)
{
    spec pred = {.kind = 't', .type = PG_PTX_PRED, .bits = 1, .flags = FL_SINK};
    spec d = *s;
    d.flags |= FL_SINK;
    check_scalar(c, i, &d, is_written, &c->f->pool.at[o->id]);
    check_scalar(c, i, &pred, true, &c->f->pool.at[o->id + 1]);
}

static void check_typed(pg_ptx_checker *c, uint32_t i, const spec *s, bool is_written,
                        const pg_ptx_opnd *o)
{
    if (o->kind == PG_PTX_O_PAIR) {
        if ((s->flags & (FL_PAIR | FL_PAIRREQ)) == 0) {
            bad_kind(c, i, "one register, not a pair");
        } else {
            check_pair(c, i, s, is_written, o);
        }
    } else if ((s->flags & FL_PAIRREQ) != 0) {
        bad_kind(c, i, "a pair d|p");
    } else if (s->n != 0) {
        check_vector(c, i, s, is_written, o);
    } else if (o->kind == PG_PTX_O_VEC && (s->flags & FL_PACK) != 0) {
        check_pack(c, i, s, is_written, o);
    } else {
        check_scalar(c, i, s, is_written, o);
    }
}

/* ---- addresses ------------------------------------------------------------------------------ */

/* The space that ld, st, atom and red name; NONE: generic, or another instruction. */
static pg_ptx_space named_space(const pg_isa_words *w, bool *out_is_plain)
{
    static const struct {
        const char *word;
        pg_ptx_space space;
    } spaces[] = {
        {"global", PG_PTX_SP_GLOBAL},
        {"shared", PG_PTX_SP_SHARED},
        {"local", PG_PTX_SP_LOCAL},
        {"const", PG_PTX_SP_CONST},
        {"param", PG_PTX_SP_PARAM},
        {"shared::cta", PG_PTX_SP_SHARED},
        {"shared::cluster", PG_PTX_SP_SHARED},
        {"param::entry", PG_PTX_SP_PARAM},
        {"param::func", PG_PTX_SP_PARAM},
    };
    *out_is_plain = (pg_str_is(w->at[0], "ld") || pg_str_is(w->at[0], "st") ||
                     pg_str_is(w->at[0], "atom") || pg_str_is(w->at[0], "red")) &&
                    !has_word(w, "async") && !has_word(w, "bulk");
    for (size_t i = 0; *out_is_plain && i < PG_COUNT_OF(spaces); i++) {
        if (has_word(w, spaces[i].word)) {
            return spaces[i].space;
        }
    }
    return PG_PTX_SP_NONE;
}

static void check_base(pg_ptx_checker *c, uint32_t i, const pg_ptx_opnd *base)
{
    bool is_plain;
    pg_ptx_space space = named_space(&c->words, &is_plain);
    if (base->kind == PG_PTX_O_REG && base->id < c->f->regs.n) {
        const pg_ptx_type_info *t = &pg_ptx_type_infos[c->f->regs.at[base->id].type];
        if (t->cls == 'F' || t->cls == 'P' || t->bits < 32) {
            bad_kind(c, i, "an address in an integer register");
        } else if (is_plain && t->bits == 32 && c->m->address_size == 64 &&
                   space != PG_PTX_SP_SHARED && space != PG_PTX_SP_LOCAL &&
                   space != PG_PTX_SP_PARAM && space != PG_PTX_SP_CONST) {
            bad_kind(c, i, "an address in a 64-bit register");
        }
        return;
    }
    if (base->kind == PG_PTX_O_SYM && base->id < c->m->syms.n) {
        const pg_ptx_sym *sym = &c->m->syms.at[base->id];
        if (space != PG_PTX_SP_NONE && sym->kind != PG_PTX_SYM_FUNC && sym->space != space) {
            bad_kind(c, i, "an address in the space that the instruction names");
        } else if (sym->kind == PG_PTX_SYM_PARAM && c->f->is_entry &&
                   pg_str_is(c->words.at[0], "st")) {
            bad_kind(c, i, "no parameter: kernels cannot write them");
        }
        return;
    }
    if (base->kind != PG_PTX_O_INT || (is_plain && space != PG_PTX_SP_LOCAL)) {
        bad_kind(c, i, "an address [register + offset] or [variable + offset]");
    }
}

static void check_mem(pg_ptx_checker *c, uint32_t i, const pg_ptx_opnd *o)
{
    if (o->kind != PG_PTX_O_ADDR) {
        bad_kind(c, i, "an address [...]");
        return;
    }
    check_base(c, i, &c->f->pool.at[o->id]);
}

static void check_tma(pg_ptx_checker *c, uint32_t i, uint32_t n_coords, const pg_ptx_opnd *o)
{
    if (o->kind != PG_PTX_O_TADDR || o->n != 2) {
        bad_kind(c, i, "[tensor map, {coordinates}]");
        return;
    }
    const pg_ptx_opnd *base = &c->f->pool.at[o->id];
    spec coords = {.kind = 't', .type = PG_PTX_S32, .bits = 32, .n = n_coords};
    if (base->kind == PG_PTX_O_SYM) {
        const pg_ptx_sym *sym = &c->m->syms.at[base->id];
        if (sym->space == PG_PTX_SP_PARAM) {
            bad_kind(c, i, "a generic address: mov.b64 the parameter's name to a register");
        }
    } else {
        check_base(c, i, base);
    }
    check_vector(c, i, &coords, false, &c->f->pool.at[o->id + 1]);
}

static void check_literal(pg_ptx_checker *c, uint32_t i, const spec *s, const pg_ptx_opnd *o)
{
    if (o->kind != PG_PTX_O_INT) {
        bad_kind(c, i, "an integer literal");
        return;
    }
    if (c->s->row == PG_ISA_LOP3 || (c->s->row == PG_ISA_CP_ASYNC_WAIT && o->imm < 0)) {
        return; /* ptxas cuts them silently */
    }
    bool ok = o->imm >= s->lo && o->imm <= s->hi && (o->imm - s->lo) % s->step == 0;
    for (uint32_t k = 0; k < s->n_set; k++) {
        ok = ok || o->imm == s->set[k];
    }
    ok = s->n_set != 0 ? ok && o->imm != 0 : ok;
    if (!ok) {
        bad_set(c, i, o->imm, s);
    }
}

/* ---- all operands --------------------------------------------------------------------------- */

static void check_one(pg_ptx_checker *c, uint32_t i, const pg_isa_spec *is, const pg_ptx_opnd *o)
{
    spec s = parse_spec(c, is->spec);
    spec desc = {.kind = 't', .type = PG_PTX_B64, .bits = 64};
    spec frag = {.kind = 't', .type = PG_PTX_B32, .bits = 32, .n = 4};
    switch (s.kind) {
    case 'm': check_mem(c, i, o); break;
    case 'c': check_tma(c, i, n_dims(&c->words), o); break;
    case '5': check_tma(c, i, 5, o); break;
    case '#': check_literal(c, i, &s, o); break;
    case 'w': check_typed(c, i, o->kind == PG_PTX_O_VEC ? &frag : &desc, false, o); break;
    case 'o':
        if (o->kind == PG_PTX_O_ADDR) {
            check_mem(c, i, o);
        } else {
            check_typed(c, i, &desc, false, o);
        }
        break;
    case 'l':
        if (o->kind != PG_PTX_O_LABEL) {
            bad_kind(c, i, "a label");
        }
        break;
    case 'f':
        if (o->kind != PG_PTX_O_REG &&
            (o->kind != PG_PTX_O_SYM || c->m->syms.at[o->id].kind != PG_PTX_SYM_FUNC)) {
            bad_kind(c, i, "a function");
        }
        break;
    case '(':
        if (o->kind != PG_PTX_O_LIST) {
            bad_kind(c, i, "a list in parentheses");
        }
        break;
    case '_':
        if (o->kind != PG_PTX_O_SINK) {
            bad_kind(c, i, "_");
        }
        break;
    default: check_typed(c, i, &s, is->is_written, o); break;
    }
}

/* Could this operand be what the spec wants? Decides who takes the place of an optional one. */
static bool may_be(const pg_ptx_checker *c, const pg_isa_spec *is, const pg_ptx_opnd *o)
{
    spec s = parse_spec(c, is->spec);
    return s.kind == '('               ? o->kind == PG_PTX_O_LIST
           : s.kind == 'f'             ? o->kind == PG_PTX_O_SYM || o->kind == PG_PTX_O_REG
           : s.n != 0 && s.kind == 't' ? o->kind == PG_PTX_O_VEC
                                       : true;
}

/* wgmma with A in registers has no transposition of A, with A in memory it has. */
static uint32_t trim_wgmma(const pg_ptx_checker *c, const pg_isa_specs *specs, uint32_t n_ops)
{
    for (uint32_t i = 1; i < specs->n && n_ops > 1; i++) {
        if (specs->at[i].is_optional && pg_str_is(specs->at[i].name, "ta")) {
            bool is_frag = c->f->pool.at[c->s->ops + 1].kind == PG_PTX_O_VEC;
            return is_frag ? specs->n - 1 : specs->n;
        }
    }
    return n_ops;
}

void pg_ptx_check_operands(pg_ptx_checker *c, uint32_t row)
{
    pg_isa_specs specs;
    pg_isa_operands(row, &c->words, &specs);
    uint32_t n = c->s->n_ops;
    uint32_t need = specs.n - specs.n_optional;
    uint32_t wanted = trim_wgmma(c, &specs, n);
    if (n < need || n > specs.n || wanted != n) {
        bool is_range = specs.n_optional != 0 && wanted == n;
        pg_diag_add(c->diags, PG_D_PTX_N_OPERANDS, c->s->loc, PG_STR_ARG(c->s->text),
                    !is_range  ? ""
                    : n < need ? "at least "
                               : "at most ",
                    wanted != n ? wanted
                    : n < need  ? need
                                : specs.n,
                    n);
        return;
    }
    uint32_t extra = n - need; /* optional operands that are there */
    uint32_t i = 0;
    for (uint32_t k = 0; k < specs.n && i < n; k++) {
        const pg_ptx_opnd *o = &c->f->pool.at[c->s->ops + i];
        if (specs.at[k].is_optional) {
            if (extra == 0 || !may_be(c, &specs.at[k], o)) {
                continue;
            }
            extra--;
        }
        check_one(c, i, &specs.at[k], o);
        i++;
    }
}
