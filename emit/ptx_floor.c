/* ptx_floor.c: which .version and which target statements and modules ask for. */
#include <string.h>

#include "emit/ptx_checker.h"

pg_ptx_target pg_ptx_target_of(pg_str name)
{
    static const struct {
        uint16_t number;
        char suffix;
        uint16_t floor;
    } floors[] = {
        {50, 0, 40},    {52, 0, 41},  {53, 0, 42},    {60, 0, 50},    {61, 0, 50},  {62, 0, 50},
        {70, 0, 60},    {72, 0, 61},  {75, 0, 63},    {80, 0, 70},    {86, 0, 71},  {87, 0, 74},
        {88, 0, 90},    {89, 0, 78},  {90, 0, 78},    {90, 'a', 80},  {100, 0, 86}, {100, 'a', 86},
        {100, 'f', 88}, {101, 0, 86}, {101, 'a', 86}, {101, 'f', 88}, {103, 0, 88}, {103, 'a', 88},
        {103, 'f', 88}, {110, 0, 90}, {110, 'a', 90}, {110, 'f', 90}, {120, 0, 87}, {120, 'a', 87},
        {120, 'f', 88}, {121, 0, 88}, {121, 'a', 88}, {121, 'f', 88},
    };
    pg_ptx_target t = {0};
    size_t i = 3;
    if (!pg_str_starts(name, PG_STR("sm_"))) {
        return t;
    }
    for (; i < name.len && name.ptr[i] >= '0' && name.ptr[i] <= '9' && i < 7; i++) {
        t.number = t.number * 10 + (uint32_t)(name.ptr[i] - '0');
    }
    if (i + 1 == name.len) {
        t.suffix = name.ptr[i++];
    }
    for (size_t k = 0; k < PG_COUNT_OF(floors); k++) {
        if (floors[k].number == t.number && floors[k].suffix == t.suffix && i == name.len) {
            t.floor = floors[k].floor;
        }
    }
    return t;
}

static void raise_to(pg_ptx_floor *fl, uint16_t version, uint16_t sm, pg_str what)
{
    if (version > fl->version) {
        fl->version = version;
        fl->what = what;
    }
    fl->sm = sm > fl->sm ? sm : fl->sm;
}

/* Loads and stores of 32 bytes are new, however they are written. */
static void add_width(pg_ptx_floor *fl, uint32_t row, const pg_isa_words *words)
{
    uint32_t n = 1;
    uint32_t bits = 0;
    if (!pg_str_is(words->at[0], "ld") && !pg_str_is(words->at[0], "st")) {
        return;
    }
    for (uint32_t i = 1; i < words->n; i++) {
        pg_str w = words->at[i];
        if (w.len == 2 && w.ptr[0] == 'v') {
            n = (uint32_t)(w.ptr[1] - '0');
        }
        pg_ptx_type t = pg_ptx_type_of(w);
        bits = t != PG_PTX_T_NONE ? pg_ptx_type_infos[t].bits : bits;
    }
    if (n * bits > 128) {
        raise_to(fl, 88, 100, pg_str_of(pg_isa_rows[row].opcode));
    }
}

/* What an instruction asks for however its operands and the target are. */
static void add_spelling(pg_ptx_floor *fl, pg_str text, uint32_t row, const pg_isa_words *words)
{
    const pg_isa_row *r = &pg_isa_rows[row];
    raise_to(fl, r->min_version, r->min_sm, text);
    fl->features |= r->features;
    for (uint32_t i = 1; i < words->n; i++) {
        const pg_isa_word *w = pg_isa_word_floor(r->opcode, words->at[i]);
        bool is_old = row == PG_ISA_MBAR_EXPECT_TX || row == PG_ISA_MBAR_COMPLETE_TX;
        if (w != NULL && !(is_old && pg_str_is(words->at[i], "relaxed"))) {
            raise_to(fl, w->min_version, w->min_sm, words->at[i]);
        }
    }
    add_width(fl, row, words);
}

static void add_operands(pg_ptx_floor *fl, const pg_ptx_func *f, const pg_ptx_stmt *s, uint32_t row)
{
    for (uint32_t i = 0; i < s->n_ops; i++) {
        const pg_ptx_opnd *o = &f->pool.at[s->ops + i];
        if (o->kind == PG_PTX_O_SREG) {
            const pg_ptx_sreg_info *sr = &pg_ptx_sreg_infos[o->id];
            raise_to(fl, sr->min_version, sr->min_sm, pg_str_of(sr->text));
        } else if (o->kind == PG_PTX_O_SINK && row == PG_ISA_MBAR_ARRIVE) {
            raise_to(fl, 71, 80, PG_STR("_"));
        } else if (row == PG_ISA_MBAR_ARRIVE && i == 2 && o->kind != PG_PTX_O_NONE) {
            raise_to(fl, 78, 90, s->text);
        }
    }
}

static void add_target(pg_ptx_floor *fl, const pg_ptx_module *m, const pg_ptx_stmt *s, uint32_t row)
{
    if ((pg_isa_rows[row].features & PG_ISA_81_ON_89) != 0 &&
        pg_ptx_target_of(m->target).number < 90) {
        raise_to(fl, 81, 89, s->text);
    }
}

void pg_ptx_floor_add_stmt(pg_ptx_floor *fl, const pg_ptx_module *m, const pg_ptx_func *f,
                           const pg_ptx_stmt *s, uint32_t row, const pg_isa_words *words)
{
    add_spelling(fl, s->text, row, words);
    add_target(fl, m, s, row);
    add_operands(fl, f, s, row);
}

const char *pg_ptx_target_lacks(const pg_ptx_target *t, const pg_ptx_floor *fl)
{
    uint32_t n = t->number;
    bool is_special = t->suffix != 0;
    bool is_100 = n >= 100 && n < 120;
    if (n < fl->sm) {
        return "; it needs a newer one";
    }
    if ((fl->features & PG_ISA_ONLY_90A) != 0 && (n != 90 || !is_special)) {
        return "; only sm_90a has it";
    }
    if ((fl->features & PG_ISA_ARCH_A) != 0 && !is_special) {
        return "; it needs a target that ends in a or f";
    }
    if ((fl->features & PG_ISA_DATACENTER) != 0 && (!is_100 || !is_special)) {
        return "; only sm_100a, 103a, 110a and their f targets have it";
    }
    if ((fl->features & PG_ISA_ONLY_100_103) != 0 && (!is_special || !is_100 || n == 110)) {
        return "; only sm_100a and 103a and their f targets have it";
    }
    if ((fl->features & PG_ISA_CONSUMER) != 0 && (n < 120 || !is_special)) {
        return "; only sm_120a, 121a and their f targets have it";
    }
    if ((fl->features & PG_ISA_NOT_103) != 0 && n == 103) {
        return "; sm_103 does not have it";
    }
    return NULL;
}

static void add_directives(pg_ptx_floor *fl, const pg_ptx_func *f)
{
    static const struct {
        const char *word;
        uint16_t version, sm;
    } words[] = {
        {".reqnctapercluster", 78, 90}, {".explicitcluster", 78, 90}, {".maxclusterrank", 78, 90},
        {".blocksareclusters", 90, 90}, {".noreturn", 64, 30},
    };
    for (uint32_t i = 0; i < f->directives.n; i++) {
        for (size_t k = 0; k < PG_COUNT_OF(words); k++) {
            if (pg_str_starts(f->directives.at[i], pg_str_of(words[k].word))) {
                raise_to(fl, words[k].version, words[k].sm, pg_str_of(words[k].word));
            }
        }
    }
}

static void add_params(pg_ptx_floor *fl, const pg_ptx_module *m, const pg_ptx_func *f)
{
    uint64_t n_bytes = 0;
    for (uint32_t i = 0; i < f->params.n && f->is_entry; i++) {
        const pg_ptx_sym *s = &m->syms.at[f->params.at[i]];
        uint64_t size = pg_ptx_type_infos[s->type].bits / 8;
        uint64_t align = s->align != 0 ? s->align : size;
        n_bytes = (n_bytes + align - 1) / align * align + size * s->n_elems;
    }
    if (n_bytes > 4352) {
        raise_to(fl, 81, 70, PG_STR("more than 4352 bytes of parameters"));
    }
}

/* Spellings of the module's builders that were added: what more statements of them may ask for. */
typedef struct spellings {
    const pg_ptx_spellings *known;
    enum { NEW, ADDED, ASKS_OPERANDS } is[256];
} spellings;

/* Special registers are taken where the row says that anything is. */
static bool asks_operands(uint32_t row)
{
    return row == PG_ISA_MBAR_ARRIVE || strstr(pg_isa_rows[row].operands, "any") != NULL;
}

static void look_at(pg_ptx_literal *l)
{
    pg_ptx_floor fl = {.version = 1};
    pg_isa_words words;
    pg_isa_split(l->text, &words);
    add_spelling(&fl, l->text, l->row, &words);
    l->version = fl.version;
    l->asks_operands = asks_operands(l->row);
}

static void add_known(pg_ptx_floor *fl, const pg_ptx_module *m, const pg_ptx_func *f,
                      const pg_ptx_stmt *s, pg_ptx_literal *l, spellings *seen)
{
    if (l->version == 0) {
        look_at(l);
    }
    raise_to(fl, l->version, 0, s->text);
    add_target(fl, m, s, s->row);
    add_operands(fl, f, s, s->row);
    if (l->id < PG_COUNT_OF(seen->is)) {
        seen->is[l->id] = l->asks_operands ? ASKS_OPERANDS : ADDED;
    }
}

static void add_inst(pg_ptx_floor *fl, const pg_ptx_module *m, const pg_ptx_func *f,
                     const pg_ptx_stmt *s, spellings *seen)
{
    const uint32_t n = seen->known == NULL ? 0 : seen->known->at.n;
    pg_ptx_literal *l = s->id - 1 < n ? seen->known->at.at[s->id - 1] : NULL;
    if (l != NULL && l->text.ptr == s->text.ptr) {
        add_known(fl, m, f, s, l, seen);
        return;
    }
    pg_isa_words words;
    pg_isa_split(s->text, &words);
    pg_ptx_floor_add_stmt(fl, m, f, s, s->row, &words);
}

uint16_t pg_ptx_min_version(const pg_ptx_module *m)
{
    pg_ptx_floor fl = {.version = 60};
    pg_ptx_target t = pg_ptx_target_of(m->target);
    raise_to(&fl, t.floor, 0, m->target);
    spellings seen = {.known = m->spellings};
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        const pg_ptx_func *f = m->funcs.at[i];
        add_directives(&fl, f);
        add_params(&fl, m, f);
        for (uint32_t k = 0; k < f->regdecls.n; k++) {
            if (f->regdecls.at[k].type == PG_PTX_B128) {
                raise_to(&fl, 83, 70, PG_STR(".b128"));
            }
        }
        for (uint32_t k = 0; k < f->body.n; k++) {
            const pg_ptx_stmt *s = &f->body.at[k];
            if (s->kind != PG_PTX_S_INST || s->row == PG_ISA_NONE) {
                continue;
            }
            const int is = s->id < PG_COUNT_OF(seen.is) ? (int)seen.is[s->id] : NEW;
            if (is == NEW) {
                add_inst(&fl, m, f, s, &seen);
            } else if (is == ASKS_OPERANDS) {
                add_operands(&fl, f, s, s->row);
            }
        }
    }
    return fl.version;
}
