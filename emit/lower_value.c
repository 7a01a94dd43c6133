/* lower_value.c: elements, facts, numbered instructions, values and their layouts. */
#include <string.h>

#include "emit/lower_int.h"

bool pg_lw_failed(const pg_lw *c)
{
    return c->scratch.is_oom || c->b.is_failed || c->kept->arena->is_oom;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void forget_sums(pg_lw *c)
{
    memset(c->sums, 0, sizeof c->sums);
}

void pg_lw_set_fact(pg_lw *c, uint32_t reg, int64_t lo, int64_t hi, uint32_t align)
{
    if (reg >= c->n_facts) {
        uint32_t n = c->n_facts;
        uint32_t more = reg + 1 > 2 * n ? reg + c->k->n_insts + 257 : 2 * n;
        pg_fact *at = pg_arena_grow_unset(&c->scratch, c->facts, sizeof *at * n, sizeof *at * more);
        if (at == NULL) {
            return;
        }
        const uint32_t made = c->b.f->regs.n; /* later ones have no facts when they are made */
        const uint32_t first_unmade = made < reg + 1 ? reg + 1 : made < more ? made : more;
        memset(at + n, 0, sizeof *at * (first_unmade - n));
        c->facts = at;
        c->n_facts = more;
    }
    const pg_fact *before = &c->facts[reg];
    if ((before->lo != 0 || before->hi != 0) && (lo < before->lo || hi > before->hi)) {
        forget_sums(c); /* they say what followed from more */
    }
    c->facts[reg] = (pg_fact){.lo = lo, .hi = hi, .align = (uint8_t)(align > 62 ? 62 : align)};
}

/* Registers without facts have lo = hi = align = 0 there; a register that is 0 never is one. */
pg_fact pg_lw_reg_fact(const pg_lw *c, pg_elem e, uint32_t reg_plus_1)
{
    pg_fact f = {0};
    if (reg_plus_1 == 0) {
        f.align = 63;
        return f;
    }
    if (reg_plus_1 <= c->n_facts) {
        f = c->facts[reg_plus_1 - 1];
    }
    int64_t lo, hi;
    pg_elem_range(e, &lo, &hi);
    if (f.lo == 0 && f.hi == 0) {
        f.lo = lo;
        f.hi = hi;
    }
    f.lo = f.lo < lo ? lo : f.lo;
    f.hi = f.hi > hi ? hi : f.hi;
    return f;
}

pg_fact pg_lw_fact(const pg_lw *c, pg_elem e, pg_el v)
{
    if (v.reg == 0) {
        return (pg_fact){v.imm, v.imm, (uint8_t)(v.imm == 0 ? 63 : pg_ctz((uint64_t)v.imm))};
    }
    pg_fact f = pg_lw_reg_fact(c, e, v.reg);
    if (v.imm == 0) {
        return f;
    }
    int64_t lo, hi;
    pg_elem_range(e, &lo, &hi);
    uint32_t align = pg_ctz((uint64_t)v.imm);
    f.align = f.align < align ? f.align : (uint8_t)align;
    int64_t sum_lo, sum_hi;
    bool is_low = __builtin_add_overflow(f.lo, v.imm, &sum_lo) || sum_lo < lo;
    bool is_high = __builtin_add_overflow(f.hi, v.imm, &sum_hi) || sum_hi > hi;
    if ((is_low || is_high) && !v.is_nw) {
        f.lo = lo;
        f.hi = hi;
        return f;
    }
    f.lo = is_low ? lo : sum_lo;
    f.hi = is_high ? hi : sum_hi;
    return f;
}

/* ---- instructions --------------------------------------------------------------------------- */

uint32_t pg_lw_new_reg(pg_lw *c, pg_ptx_type type)
{
    uint32_t id = pg_ptx_reg_new(&c->b, type).id;
    if (id < c->n_facts) {
        c->facts[id] = (pg_fact){0};
    }
    if (id < c->n_part_at) {
        c->part_at[id] = 0;
    }
    return id;
}

/* An operand as two words: it has no gaps. The hash orders nothing that is written. */
typedef struct opnd_words {
    uint64_t at[2];
} opnd_words;
_Static_assert(sizeof(pg_ptx_opnd) == sizeof(opnd_words), "an operand is two words");

static inline opnd_words words_of(const pg_ptx_opnd *o)
{
    opnd_words w;
    memcpy(&w, o, sizeof w);
    return w;
}

/* Registers are made in program order: near is the latest among the operands. */
static pg_index_key vn_key(uint32_t opcode, uint32_t n, const pg_ptx_opnd *ops)
{
    uint64_t h = (uint64_t)opcode << 8 ^ n;
    uint32_t latest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const opnd_words w = words_of(&ops[i]);
        h = (h ^ w.at[0]) * UINT64_C(0x9E3779B97F4A7C15);
        h = (h ^ (h >> 29) ^ w.at[1]) * UINT64_C(0xBF58476D1CE4E5B9);
        if (ops[i].kind == PG_PTX_O_REG && ops[i].id >= latest) {
            latest = ops[i].id + 1;
        }
    }
    const uint32_t hash = (uint32_t)(h >> 32);
    return (pg_index_key){hash, latest == 0 ? hash : latest};
}

static bool is_same_opnd(const pg_ptx_opnd *a, const pg_ptx_opnd *b)
{
    const opnd_words x = words_of(a), y = words_of(b);
    return x.at[0] == y.at[0] && x.at[1] == y.at[1];
}

static bool is_same_vn(const pg_lw *c, const pg_vn *e, pg_str opcode, uint32_t n,
                       const pg_ptx_opnd *ops)
{
    const pg_ptx_stmt *s = &c->b.f->body.at[e->stmt];
    if (s->n_ops != n + 1 || (s->text.ptr != opcode.ptr && !pg_str_eq(s->text, opcode))) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!is_same_opnd(&c->b.f->pool.at[s->ops + 1 + i], &ops[i])) {
            return false;
        }
    }
    return true;
}

/* The numbered instruction + 1, or 0. */
static uint32_t find_vn(const pg_lw *c, const pg_ptx_literal *spelling, uint32_t n,
                        const pg_ptx_opnd *ops, pg_index_probe *p)
{
    uint32_t at = pg_index_first(&c->vn_index, vn_key(spelling->hash, n, ops), p);
    while (at != 0 && !is_same_vn(c, &c->vn.at[at - 1], spelling->text, n, ops)) {
        at = pg_index_next(&c->vn_index, p);
    }
    return at;
}

uint32_t pg_lw_known(pg_lw *c, const char *opcode, pg_ptx_opnd a, pg_ptx_opnd b)
{
    const pg_ptx_literal *spelling = pg_ptx_spell(&c->b, opcode, 3);
    const pg_ptx_opnd ops[2] = {a, b};
    pg_index_probe p;
    const uint32_t at = find_vn(c, spelling, 2, ops, &p);
    return at == 0 ? 0 : c->vn.at[at - 1].reg + 1;
}

uint32_t pg_lw_pure(pg_lw *c, const char *opcode, pg_ptx_type type, uint32_t n,
                    const pg_ptx_opnd *ops)
{
    const pg_ptx_literal *spelling = pg_ptx_spell(&c->b, opcode, n + 1);
    pg_index_probe p;
    const uint32_t at = find_vn(c, spelling, n, ops, &p);
    if (at != 0) {
        return c->vn.at[at - 1].reg;
    }
    const uint32_t reg = pg_lw_new_reg(c, type), stmt = c->b.f->body.n;
    if (pg_ptx_inst_into(&c->b, spelling, reg, ops) != NULL &&
        (c->vn.n < c->vn.cap || pg_vec_room(&c->scratch, &c->vn, 1)) &&
        pg_index_add(&c->vn_index, &p)) {
        c->vn.at[c->vn.n++] = (pg_vn){.reg = reg, .stmt = stmt};
    }
    return reg;
}

uint32_t pg_lw_pure1(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a)
{
    return pg_lw_pure(c, opcode, type, 1, &a);
}

uint32_t pg_lw_pure2(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a, pg_ptx_opnd b)
{
    return pg_lw_pure(c, opcode, type, 2, (pg_ptx_opnd[]){a, b});
}

uint32_t pg_lw_pure3(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a, pg_ptx_opnd b,
                     pg_ptx_opnd d)
{
    return pg_lw_pure(c, opcode, type, 3, (pg_ptx_opnd[]){a, b, d});
}

pg_ptx_opnd pg_lw_opnd1(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a)
{
    return pg_lw_reg(pg_lw_pure1(c, opcode, type, a));
}

pg_ptx_opnd pg_lw_opnd2(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a,
                        pg_ptx_opnd b)
{
    return pg_lw_reg(pg_lw_pure2(c, opcode, type, a, b));
}

pg_ptx_opnd pg_lw_opnd3(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a,
                        pg_ptx_opnd b, pg_ptx_opnd d)
{
    return pg_lw_reg(pg_lw_pure3(c, opcode, type, a, b, d));
}

pg_ptx_stmt *pg_lw_emit(pg_lw *c, const char *opcode, uint32_t n, const pg_ptx_opnd *ops)
{
    return pg_ptx_inst(&c->b, opcode, n, ops);
}

void pg_lw_emit0(pg_lw *c, const char *opcode)
{
    pg_ptx_inst(&c->b, opcode, 0, NULL);
}

/* Conditions are the same in all threads that run them. */
void pg_lw_branch(pg_lw *c, pg_ptx_opnd pred, bool is_negated, uint32_t label)
{
    pg_ptx_opnd to = pg_ptx_label_opnd(label);
    pg_ptx_guard(pg_ptx_inst(&c->b, "bra", 1, &to), pred, is_negated);
}

void pg_lw_jump(pg_lw *c, uint32_t label)
{
    pg_ptx_opnd to = pg_ptx_label_opnd(label);
    pg_ptx_inst(&c->b, "bra.uni", 1, &to);
}

uint32_t pg_lw_scope_open(const pg_lw *c)
{
    return c->vn.n;
}

void pg_lw_scope_close(pg_lw *c, uint32_t mark)
{
    c->vn.n = mark;
    pg_index_truncate(&c->vn_index, mark);
    forget_sums(c);
}

/* ---- elements ------------------------------------------------------------------------------- */

pg_elem pg_lw_elem(const pg_type_info *t)
{
    return t->is_ptr ? PG_I64 : (pg_elem)t->elem;
}

pg_ptx_type pg_lw_reg_type(pg_elem e)
{
    switch (e) {
    case PG_I1: return PG_PTX_PRED;
    case PG_I64: return PG_PTX_B64;
    case PG_F16:
    case PG_E4M3:
    case PG_E5M2: return PG_PTX_B16;
    case PG_BF16: return PG_PTX_BF16;
    case PG_F32: return PG_PTX_F32;
    case PG_F64: return PG_PTX_F64;
    default: return PG_PTX_B32; /* tf32: matrix operations take no .f32 register */
    }
}

static pg_ptx_opnd use_imm(pg_lw *c, pg_elem e, int64_t imm, bool in_reg)
{
    pg_ptx_type type = pg_lw_reg_type(e);
    switch (type) {
    case PG_PTX_PRED: return pg_lw_opnd1(c, "mov.pred", type, pg_ptx_int(imm & 1));
    case PG_PTX_B16:
    case PG_PTX_BF16: return pg_lw_opnd1(c, "mov.b16", type, pg_ptx_int(imm & 0xFFFF));
    case PG_PTX_F32: {
        pg_ptx_opnd x = pg_ptx_f32((uint32_t)imm);
        return in_reg ? pg_lw_opnd1(c, "mov.f32", type, x) : x;
    }
    case PG_PTX_F64: {
        pg_ptx_opnd x = pg_ptx_f64((uint64_t)imm);
        return in_reg ? pg_lw_opnd1(c, "mov.f64", type, x) : x;
    }
    default: break;
    }
    pg_ptx_opnd x = pg_ptx_int(imm);
    return !in_reg ? x : pg_lw_opnd1(c, type == PG_PTX_B64 ? "mov.b64" : "mov.b32", type, x);
}

pg_ptx_opnd pg_lw_use(pg_lw *c, pg_elem e, pg_el v)
{
    if (v.reg == 0) {
        return use_imm(c, e, v.imm, false);
    }
    if (v.imm == 0) {
        return pg_lw_reg(v.reg - 1);
    }
    pg_fact f = pg_lw_fact(c, e, v);
    bool is_wide = e == PG_I64;
    uint32_t r = pg_lw_pure2(c, is_wide ? "add.s64" : "add.s32", is_wide ? PG_PTX_B64 : PG_PTX_B32,
                             pg_lw_reg(v.reg - 1), pg_ptx_int(v.imm));
    pg_lw_set_fact(c, r, f.lo, f.hi, f.align);
    return pg_lw_reg(r);
}

pg_ptx_opnd pg_lw_in_reg(pg_lw *c, pg_elem e, pg_el v)
{
    return v.reg == 0 ? use_imm(c, e, v.imm, true) : pg_lw_use(c, e, v);
}

void pg_lw_in_regs(pg_lw *c, pg_elem e, uint32_t n, const pg_el *v, pg_ptx_opnd *out)
{
    for (uint32_t j = 0; j < n; j++) {
        out[j] = pg_lw_in_reg(c, e, v[j]);
    }
}

/* ---- values --------------------------------------------------------------------------------- */

static void make_const(pg_lw *c, pg_val v, pg_lv *lv)
{
    const pg_value *value = pg_value_of(c->k, v);
    const pg_type_info *t = pg_type_get(c->types, value->type);
    uint32_t n = t->kind == PG_TY_TILE ? pg_lw_count(c, NULL, value->type) : 1;
    pg_el *el = PG_NEWS(&c->scratch, pg_el, n);
    if (el == NULL) {
        return;
    }
    for (uint32_t r = 0; r < n; r++) {
        el[r] = pg_el_imm((int64_t)value->bits);
    }
    *lv = (pg_lv){.kind = PG_LV_TILE, .n = n, .el = el, .same = UINT32_MAX};
}

/* Elements of words, where they are used: only there do their registers live. */
static pg_lv *take_apart(pg_lw *c, pg_val v, const pg_lv *lv)
{
    pg_lv *apart = PG_NEW(&c->scratch, pg_lv);
    pg_el *el = PG_NEWS(&c->scratch, pg_el, lv->n + 1);
    if (apart == NULL || el == NULL) {
        return &c->vals[0];
    }
    *apart = (pg_lv){.kind = PG_LV_TILE, .n = lv->n, .el = el};
    pg_elem e = pg_lw_elem(pg_val_info(c->k, v));
    for (uint32_t r = 0; r < lv->n; r += lv->per) {
        pg_lw_unpack(c, e, lv->word[r / lv->per], &el[r]);
    }
    return apart;
}

pg_lv *pg_lw_lv(pg_lw *c, pg_val v)
{
    pg_lv *lv = &c->vals[v.id < c->k->values.n ? v.id : 0];
    /* A tile constant has as many elements as the partition's layout says: made per use. */
    if (pg_val_is_const(c->k, v) && v.id != 0) {
        make_const(c, v, lv);
    }
    return lv->word == NULL ? lv : take_apart(c, v, lv);
}

pg_lv *pg_lw_in(pg_lw *c, const pg_inst *i, uint32_t n)
{
    return pg_lw_lv(c, n < i->n_in ? i->in[n] : (pg_val){0});
}

pg_el pg_lw_scalar(pg_lw *c, const pg_inst *i, uint32_t n)
{
    const pg_lv *lv = pg_lw_in(c, i, n);
    return lv->n != 0 ? lv->el[0] : pg_el_imm(0);
}

pg_el *pg_lw_result(pg_lw *c, const pg_inst *i, uint32_t n, uint32_t count)
{
    pg_el *el = PG_NEWS(&c->scratch, pg_el, count == 0 ? 1 : count);
    if (el == NULL) {
        return NULL;
    }
    for (uint32_t r = 0; r < count; r++) {
        el[r] = pg_el_imm(0);
    }
    c->vals[i->out[n].id] = (pg_lv){.kind = PG_LV_TILE, .n = count, .el = el};
    return el;
}

void pg_lw_set_same(pg_lw *c, const pg_inst *i, uint32_t same)
{
    pg_lv *lv = &c->vals[i->out[0].id];
    lv->same = same;
    for (uint32_t r = 0; same != 0 && r < lv->n; r++) {
        lv->el[r] = lv->el[r & ~same];
    }
}

void pg_lw_refuse(pg_lw *c, const pg_inst *i, const char *why)
{
    pg_diag_add(c->diags, PG_D_LOWER_UNSUPPORTED, i->loc, pg_op_infos[i->op].text, why);
    for (uint32_t n = 0; n < i->n_out; n++) {
        const pg_type_info *t = pg_val_info(c->k, i->out[n]);
        bool is_tile = t->kind == PG_TY_TILE;
        if (is_tile || t->kind == PG_TY_SCALAR) {
            pg_lw_result(c, i, n, is_tile ? pg_lw_count(c, NULL, pg_val_type(c->k, i->out[n])) : 1);
        }
    }
}

/* ---- layouts -------------------------------------------------------------------------------- */

void pg_lw_bit_coord(const pg_layout *l, pg_lin_dim d, uint32_t bit, uint32_t *out)
{
    const uint32_t packed = bit < l->n_bits[d] ? l->basis[d][bit] : 0;
    for (uint32_t k = 0; k < l->rank; k++) {
        const uint32_t mask = l->dims[k] <= 1 ? 0 : (2u << pg_log2(l->dims[k] - 1)) - 1;
        out[k] = packed >> l->shift[k] & mask;
    }
}

/* Coordinates of the registers. Without outer digits, those of a register's bits, combined. */
static void place_registers(pg_lw_layout *l)
{
    const uint32_t rank = l->l.rank;
    for (uint32_t bit = 0, r = 0; r < l->n_regs; r++) {
        uint32_t *own = pg_lw_coord(l, r);
        const bool is_bit = pg_is_pow2(r);
        bit = is_bit ? r : bit;
        if (r == 0 || is_bit || l->l.n_outer != 0) {
            uint32_t index[PG_LIN_DIM_COUNT] = {0};
            uint32_t at[PG_MAX_RANK];
            index[PG_LIN_REG] = r;
            pg_layout_at(&l->l, index, at);
            memcpy(own, at, rank * sizeof *own);
            continue;
        }
        const uint32_t *a = pg_lw_coord(l, r - bit), *b = pg_lw_coord(l, bit);
        for (uint32_t d = 0; d < rank; d++) {
            own[d] = a[d] ^ b[d];
        }
    }
}

/* Whether a layout in this encoding depends on how many bits an element has. */
static bool counts_bits(const pg_types *types, pg_enc enc)
{
    const uint8_t kind = pg_enc_get(types, enc)->kind;
    return kind == PG_ENC_DOT || kind == PG_ENC_SLICE;
}

enum { FEW_LAYOUTS = 64 };

/* The layout of another type: tiles of numbers, pointers and conditions have one in common. Of the
 * last few. */
static pg_lw_layout *find_alike(const pg_lw *c, pg_type tile)
{
    const pg_type_info *t = pg_type_get(c->types, tile);
    const bool is_any_size = t->kind == PG_TY_TILE && !counts_bits(c->types, t->enc);
    const uint32_t n = c->kept->layout_at.n, few = n < FEW_LAYOUTS ? n : FEW_LAYOUTS;
    for (uint32_t k = n - few; is_any_size && k < n; k++) {
        pg_lw_layout *l = c->kept->layout_at.at[k].layout;
        const pg_type_info *other = pg_type_get(c->types, l->type);
        if (l->n_warps == c->n_warps && t->enc.id == other->enc.id && t->rank == other->rank &&
            memcmp(t->dims, other->dims, sizeof t->dims) == 0) {
            return l;
        }
    }
    return NULL;
}

static pg_lw_layout *new_layout(pg_lw *c, pg_type tile, pg_layout_error *error)
{
    pg_lw_layout *l = PG_NEW(c->kept->arena, pg_lw_layout);
    if (l == NULL) {
        return NULL;
    }
    *error = pg_layout_of_tile(c->types, tile, c->n_warps, &l->l);
    l->type = tile;
    l->n_warps = c->n_warps;
    if (*error != PG_LAYOUT_OK) {
        return l;
    }
    l->n_regs = pg_layout_size(&l->l, PG_LIN_REG);
    l->coord = PG_NEWS(c->kept->arena, uint32_t, (size_t)l->n_regs * l->l.rank);
    if (l->coord == NULL) {
        return NULL;
    }
    place_registers(l);
    uint32_t n_lanes = 1u << l->l.n_bits[PG_LIN_LANE];
    uint32_t lanes = pg_layout_free_bits(&l->l, PG_LIN_LANE) | (31u & ~(n_lanes - 1));
    uint32_t n_warps = 1u << l->l.n_bits[PG_LIN_WARP];
    uint32_t all = c->n_warps <= 1 ? 0 : (2u << pg_log2(c->n_warps - 1)) - 1;
    uint32_t warps = pg_layout_free_bits(&l->l, PG_LIN_WARP);
    if (l->l.n_outer == 0) {
        warps |= all & ~(n_warps - 1);
    }
    l->free_reg = pg_layout_free_bits(&l->l, PG_LIN_REG);
    for (uint32_t d = 0; d < l->l.rank && pg_is_pow2(l->n_regs); d++) {
        for (uint32_t bit = 1; bit < l->n_regs; bit *= 2) {
            l->same[d] |= l->l.n_outer == 0 && pg_lw_coord(l, bit)[d] == 0 ? bit : 0;
        }
    }
    l->free_thread = (lanes & 31u) | (warps & all) << 5;
    return l;
}

/* Enters a layout for a type and the warps at hand. */
static bool keep_layout(pg_lw_kept *kept, pg_type tile, pg_lw_layout *l)
{
    const uint32_t n = kept->layout_of.n;
    if (tile.id >= n) {
        if (!pg_vec_reserve(kept->arena, &kept->layout_of, tile.id + 1 - n)) {
            return false;
        }
        memset(kept->layout_of.at + n, 0, (tile.id + 1 - n) * sizeof *kept->layout_of.at);
        kept->layout_of.n = tile.id + 1;
    }
    const pg_lw_layout_of_type x = {l, kept->layout_of.at[tile.id]};
    if (!pg_vec_push(kept->arena, &kept->layout_at, x)) {
        return false;
    }
    kept->layout_of.at[tile.id] = kept->layout_at.n;
    return true;
}

const pg_lw_layout *pg_lw_layout_of(pg_lw *c, const pg_inst *i, pg_type tile)
{
    const pg_lw_kept *kept = c->kept;
    uint32_t at = tile.id < kept->layout_of.n ? kept->layout_of.at[tile.id] : 0;
    for (; at != 0; at = kept->layout_at.at[at - 1].next) {
        if (kept->layout_at.at[at - 1].layout->n_warps == c->n_warps) {
            return kept->layout_at.at[at - 1].layout;
        }
    }
    pg_layout_error error = PG_LAYOUT_OK;
    pg_lw_layout *l = find_alike(c, tile);
    l = l != NULL ? l : new_layout(c, tile, &error);
    if (l == NULL) {
        return NULL;
    }
    if (error != PG_LAYOUT_OK) {
        pg_loc loc = i != NULL ? i->loc : c->b.loc;
        pg_diag_add(c->diags, PG_D_LOWER_LAYOUT, loc, pg_layout_error_text(error));
        return NULL;
    }
    return keep_layout(c->kept, tile, l) ? l : NULL;
}

uint32_t pg_lw_count(pg_lw *c, const pg_inst *i, pg_type t)
{
    if (pg_type_get(c->types, t)->kind != PG_TY_TILE) {
        return 1;
    }
    const pg_lw_layout *l = pg_lw_layout_of(c, i, t);
    return l == NULL ? 0 : l->n_regs;
}
