/* lower_mem.c: loads and stores. Neighbouring registers with one base, consecutive immediates,
 * known alignment and one predicate become a vector access; 16- and 8-bit elements travel in 32-bit
 * words. */
#include <string.h>

#include "emit/lower_int.h"

static uint32_t size_of(pg_elem e)
{
    uint32_t bits = pg_elem_infos[e].bits;
    return bits < 8 ? 1 : bits / 8;
}

/* ---- grouping ------------------------------------------------------------------------------- */

static bool can_follow(const pg_access *a, uint32_t at, uint32_t k, uint32_t size)
{
    const pg_el *first = &a->addr[at], *next = &a->addr[at + k];
    if (next->reg != first->reg || next->imm != first->imm + (int64_t)k * size) {
        return false;
    }
    if (((at + k) & a->free_reg) != 0) {
        return false;
    }
    return a->mask == NULL || pg_el_same(a->mask[at], a->mask[at + k]);
}

/* Elements that one instruction from `at` on may take: 1 or a power of two. */
static uint32_t group_at(const pg_lw *c, const pg_access *a, uint32_t at)
{
    uint32_t size = size_of(a->elem);
    uint32_t most = 16 / size;
    most = a->n - at < most ? a->n - at : most;
    uint32_t run = 1;
    while (run < most && can_follow(a, at, run, size)) {
        run++;
    }
    const uint32_t align = pg_lw_fact(c, a->is_shared ? PG_I32 : PG_I64, a->addr[at]).align;
    uint32_t k = 1;
    while (2 * k <= run && pg_log2((uint64_t)2 * k * size) <= align) {
        k *= 2;
    }
    return k * size < 4 ? 1 : k;
}

/* ---- words ---------------------------------------------------------------------------------- */

uint32_t pg_lw_pack(pg_lw *c, pg_elem e, const pg_el *v)
{
    if (size_of(e) == 4) {
        return pg_lw_in_reg(c, e, v[0]).id;
    }
    if (size_of(e) == 2 && pg_elem_infos[e].cls == 'F') {
        pg_ptx_opnd h[2];
        pg_lw_in_regs(c, e, 2, v, h);
        uint32_t w = pg_lw_new_reg(c, PG_PTX_B32);
        pg_ptx_opnd ops[2] = {pg_lw_reg(w), pg_ptx_vec(&c->b, h, 2)};
        pg_lw_emit(c, "mov.b32", 2, ops);
        return w;
    }
    if (size_of(e) == 2) {
        pg_ptx_opnd h[2];
        pg_lw_in_regs(c, e, 2, v, h);
        return pg_lw_pure3(c, "prmt.b32", PG_PTX_B32, h[0], h[1], pg_ptx_int(0x5410));
    }
    pg_ptx_opnd byte[4];
    for (uint32_t j = 0; j < 4; j++) {
        byte[j] = pg_lw_in_reg(c, e, v[j]);
        if (e == PG_I1) {
            byte[j] = pg_lw_opnd3(c, "selp.b32", PG_PTX_B32, pg_ptx_int(1), pg_ptx_int(0), byte[j]);
        } else if (e != PG_I8) {
            byte[j] = pg_lw_opnd1(c, "cvt.u32.u16", PG_PTX_B32, byte[j]);
        }
    }
    pg_ptx_opnd low = pg_lw_opnd3(c, "prmt.b32", PG_PTX_B32, byte[0], byte[1], pg_ptx_int(0x0040));
    pg_ptx_opnd high = pg_lw_opnd3(c, "prmt.b32", PG_PTX_B32, byte[2], byte[3], pg_ptx_int(0x0040));
    return pg_lw_pure3(c, "prmt.b32", PG_PTX_B32, low, high, pg_ptx_int(0x5410));
}

static pg_el of_byte(pg_lw *c, pg_elem e, uint32_t r)
{
    if (e == PG_I1) {
        return pg_el_reg(pg_lw_pure2(c, "setp.ne.s32", PG_PTX_PRED, pg_lw_reg(r), pg_ptx_int(0)));
    }
    return e == PG_I8 ? pg_el_reg(r)
                      : pg_el_reg(pg_lw_pure1(c, "cvt.u16.u32", PG_PTX_B16, pg_lw_reg(r)));
}

void pg_lw_unpack(pg_lw *c, pg_elem e, uint32_t w, pg_el *v)
{
    if (size_of(e) == 4) {
        v[0] = pg_el_reg(e == PG_F32 ? pg_lw_pure1(c, "mov.b32", PG_PTX_F32, pg_lw_reg(w)) : w);
        return;
    }
    if (size_of(e) == 2 && pg_elem_infos[e].cls == 'F') {
        uint32_t h[2];
        for (uint32_t j = 0; j < 2; j++) {
            h[j] = pg_lw_new_reg(c, pg_lw_reg_type(e));
        }
        pg_ptx_opnd pair[2] = {pg_lw_reg(h[0]), pg_lw_reg(h[1])};
        pg_ptx_opnd ops[2] = {pg_ptx_vec(&c->b, pair, 2), pg_lw_reg(w)};
        pg_lw_emit(c, "mov.b32", 2, ops);
        v[0] = pg_el_reg(h[0]);
        v[1] = pg_el_reg(h[1]);
        return;
    }
    if (size_of(e) == 2) {
        v[0] = pg_lw_wrap(c, PG_I16, w);
        v[1] = pg_el_reg(pg_lw_pure2(c, "shr.s32", PG_PTX_B32, pg_lw_reg(w), pg_ptx_int(16)));
        return;
    }
    for (uint32_t j = 0; j < 4; j++) {
        pg_ptx_opnd ops[3] = {pg_lw_reg(w), pg_ptx_int(8 * (int64_t)j), pg_ptx_int(8)};
        uint32_t r = pg_lw_pure(c, e == PG_I8 ? "bfe.s32" : "bfe.u32", PG_PTX_B32, 3, ops);
        v[j] = of_byte(c, e, r);
    }
}

pg_ptx_opnd pg_lw_memory(pg_lw *c, pg_elem e, pg_el address)
{
    const pg_el a = address;
    const bool is_near = a.reg != 0 && a.imm <= INT32_MAX && a.imm >= INT32_MIN;
    const pg_ptx_opnd base = is_near ? pg_lw_reg(a.reg - 1) : pg_lw_in_reg(c, e, a);
    return pg_ptx_addr(&c->b, base, is_near ? a.imm : 0);
}

/* ---- one instruction ------------------------------------------------------------------------- */

/* How elements of a group become operands: `per` elements in each of n_words registers. */
typedef struct form {
    const char *type;
    pg_ptx_type reg;
    uint32_t per, n_words;
    const pg_ptx_literal *spelling;
} form;

static form form_of(const pg_access *a, uint32_t k)
{
    uint32_t size = size_of(a->elem);
    if (size >= 4) {
        bool is_float = pg_elem_infos[a->elem].cls == 'F' && a->elem != PG_TF32;
        const char *type = size == 8 ? (is_float ? "f64" : "b64") : (is_float ? "f32" : "b32");
        return (form){type, pg_lw_reg_type(a->elem), 1, k, NULL};
    }
    if (k > 1) {
        return (form){"b32", PG_PTX_B32, 4 / size, k * size / 4, NULL};
    }
    bool is_int = pg_elem_infos[a->elem].cls == 'I';
    if (size == 2) {
        return (form){is_int ? (a->is_store ? "b16" : "s16") : "b16", pg_lw_reg_type(a->elem), 1, 1,
                      NULL};
    }
    return (form){a->is_store        ? "b8"
                  : a->elem == PG_I8 ? "s8"
                                     : "u8",
                  is_int ? PG_PTX_B32 : PG_PTX_B16, 1, 1, NULL};
}

static const pg_ptx_literal *spell(pg_lw *c, const pg_access *a, const form *f)
{
    static const char *const caches[] = {".ca", ".cg", ".cs", ".lu", ".cv", ".wb", ".wt"};
    char text[64];
    const char *cache = a->cache >= 0 && a->cache < 7 ? caches[a->cache] : "";
    const char *parts[] = {a->is_store ? "st" : "ld", a->is_shared ? ".shared" : ".global",
                           a->is_shared ? "" : cache,
                           f->n_words == 4   ? ".v4."
                           : f->n_words == 2 ? ".v2."
                                             : ".",
                           f->type};
    size_t n = 0;
    for (uint32_t p = 0; p < PG_COUNT_OF(parts); p++) {
        size_t len = strlen(parts[p]);
        memcpy(text + n, parts[p], len);
        n += len;
    }
    return pg_ptx_spell_str(&c->b, (pg_str){text, n}, 2);
}

static void issue(pg_lw *c, const pg_access *a, const form *f, const pg_ptx_opnd *word, pg_el addr,
                  pg_el guard)
{
    pg_ptx_opnd value = f->n_words == 1 ? word[0] : pg_ptx_vec(&c->b, word, f->n_words);
    pg_ptx_opnd at = pg_lw_memory(c, a->is_shared ? PG_I32 : PG_I64, addr);
    pg_ptx_opnd ops[2] = {a->is_store ? at : value, a->is_store ? value : at};
    pg_ptx_stmt *s = pg_ptx_inst_spelled(&c->b, f->spelling, ops);
    if (guard.reg != 0) {
        pg_ptx_guard(s, pg_lw_reg(guard.reg - 1), false);
    }
}

static void store_group(pg_lw *c, const pg_access *a, uint32_t at, const form *f, pg_el guard)
{
    pg_ptx_opnd word[4];
    for (uint32_t w = 0; w < f->n_words; w++) {
        const pg_el *v = &a->val[at + w * f->per];
        if (f->per > 1) {
            word[w] = pg_lw_reg(pg_lw_pack(c, a->elem, v));
        } else {
            word[w] = a->elem == PG_I1 ? pg_lw_opnd3(c, "selp.b32", PG_PTX_B32, pg_ptx_int(1),
                                                     pg_ptx_int(0), pg_lw_in_reg(c, a->elem, *v))
                                       : pg_lw_in_reg(c, a->elem, *v);
        }
    }
    issue(c, a, f, word, a->addr[at], guard);
}

/* What a masked load leaves where the mask is false. */
static pg_ptx_opnd other_word(pg_lw *c, const pg_access *a, const pg_el *v, const form *f)
{
    if (f->per == 2 && v[0].reg == 0 && v[1].reg == 0) {
        uint64_t pair = (uint64_t)v[0].imm & 0xFFFF;
        return pg_ptx_int((int64_t)(pair | ((uint64_t)v[1].imm & 0xFFFF) << 16));
    }
    if (f->per > 1) {
        return pg_lw_reg(pg_lw_pack(c, a->elem, v));
    }
    if (a->elem == PG_I1) {
        return v->reg == 0 ? pg_ptx_int(v->imm)
                           : pg_lw_opnd3(c, "selp.b32", PG_PTX_B32, pg_ptx_int(1), pg_ptx_int(0),
                                         pg_lw_reg(v->reg - 1));
    }
    return pg_lw_use(c, a->elem, *v);
}

static void load_group(pg_lw *c, const pg_access *a, uint32_t at, const form *f, pg_el guard)
{
    pg_ptx_opnd word[4];
    for (uint32_t w = 0; w < f->n_words; w++) {
        word[w] = pg_lw_reg(pg_lw_new_reg(c, f->reg));
        if (guard.reg != 0 && a->other != NULL) {
            pg_ptx_opnd ops[2] = {word[w], other_word(c, a, &a->other[at + w * f->per], f)};
            pg_lw_emit(c, pg_lw_move_opcode(f->reg), 2, ops);
        }
    }
    issue(c, a, f, word, a->addr[at], guard);
    for (uint32_t w = 0; w < f->n_words; w++) {
        pg_el *v = &a->val[at + w * f->per];
        if (f->per > 1) {
            pg_lw_unpack(c, a->elem, word[w].id, v);
        } else {
            *v = a->elem == PG_I1 ? of_byte(c, a->elem, word[w].id) : pg_el_reg(word[w].id);
        }
    }
}

void pg_lw_access(pg_lw *c, const pg_access *a)
{
    form f = {0};
    uint32_t last = 0; /* group that `f` is of */
    for (uint32_t at = 0; at < a->n && !pg_lw_failed(c);) {
        if ((at & a->free_reg) != 0) { /* another register has the same element */
            if (!a->is_store) {
                a->val[at] = a->val[at & ~a->free_reg];
            }
            at++;
            continue;
        }
        uint32_t k = group_at(c, a, at);
        pg_el guard = a->mask != NULL ? pg_el_and(c, a->guard, a->mask[at]) : a->guard;
        if (k != last) {
            f = form_of(a, k);
            f.spelling = spell(c, a, &f);
            last = k;
        }
        if (guard.reg == 0 && guard.imm == 0) {
            for (uint32_t j = 0; j < k && !a->is_store; j++) {
                a->val[at + j] = a->other != NULL ? a->other[at + j] : pg_el_imm(0);
            }
        } else if (a->is_store) {
            store_group(c, a, at, &f, guard);
        } else {
            load_group(c, a, at, &f, guard);
        }
        at += k;
    }
}

/* ---- load, store ----------------------------------------------------------------------------- */

const pg_el *pg_lw_stretch(pg_lw *c, const pg_inst *i, uint32_t index, uint32_t n)
{
    const pg_lv *lv = pg_lw_in(c, i, index);
    if (lv->n == n || lv->n == 0) {
        return lv->n == 0 ? NULL : lv->el;
    }
    pg_el *el = PG_NEWS(&c->scratch, pg_el, n);
    for (uint32_t r = 0; el != NULL && r < n; r++) {
        el[r] = lv->el[0];
    }
    return el;
}

/* Layout facts of the tile that is accessed: NULL and true for scalars. */
static bool access_layout(pg_lw *c, const pg_inst *i, pg_val v, const pg_lw_layout **out)
{
    *out = NULL;
    if (pg_val_info(c->k, v)->kind != PG_TY_TILE) {
        return true;
    }
    *out = pg_lw_layout_of(c, i, pg_val_type(c->k, v));
    return *out != NULL;
}

LOWER(LOAD)
{
    const pg_lw_layout *l;
    bool is_ok = access_layout(c, i, i->out[0], &l);
    pg_access a = {.cache = pg_attr_int(&i->attrs, PG_A_CACHE, -1),
                   .elem = pg_lw_elem(pg_val_info(c->k, i->out[0])),
                   .n = l != NULL ? l->n_regs : 1,
                   .guard = pg_el_imm(1)};
    if (!is_ok) {
        pg_lw_refuse(c, i, "this layout");
        return;
    }
    a.addr = pg_lw_stretch(c, i, 0, a.n);
    a.mask = i->n_in > 1 ? pg_lw_stretch(c, i, 1, a.n) : NULL;
    a.other = i->n_in > 2 ? pg_lw_stretch(c, i, 2, a.n) : NULL;
    a.free_reg = l != NULL ? l->free_reg : 0;
    a.val = pg_lw_result(c, i, 0, a.n);
    if (a.addr != NULL && a.val != NULL) {
        pg_lw_access(c, &a);
    }
}

LOWER(STORE)
{
    const pg_lw_layout *l;
    bool is_ok = access_layout(c, i, i->in[0], &l);
    pg_access a = {.is_store = true,
                   .cache = pg_attr_int(&i->attrs, PG_A_CACHE, -1),
                   .elem = pg_lw_elem(pg_val_info(c->k, i->in[1])),
                   .n = l != NULL ? l->n_regs : 1,
                   .guard = pg_el_imm(1)};
    if (!is_ok) {
        pg_lw_refuse(c, i, "this layout");
        return;
    }
    if (l != NULL) {
        a.free_reg = l->free_reg;
        a.guard = pg_lw_replica_guard(c, l);
    } else if (!c->is_elected) {
        a.guard = pg_el_reg(pg_lw_thread_is_0(c));
    }
    a.addr = pg_lw_stretch(c, i, 0, a.n);
    a.mask = i->n_in > 2 ? pg_lw_stretch(c, i, 2, a.n) : NULL;
    const pg_el *val = pg_lw_stretch(c, i, 1, a.n);
    pg_el *copy = val == NULL ? NULL : pg_arena_copy(&c->scratch, val, a.n * sizeof *val);
    a.val = copy;
    if (a.addr != NULL && a.val != NULL) {
        pg_lw_access(c, &a);
    }
}

/* ---- atomic operations ----------------------------------------------------------------------- */

static void reduce_in_memory(pg_lw *c, const pg_inst *i, const char *const opcodes[4])
{
    const pg_lw_layout *l;
    bool is_ok = access_layout(c, i, i->in[0], &l);
    pg_elem e = pg_lw_elem(pg_val_info(c->k, i->in[1]));
    uint32_t n = l != NULL ? l->n_regs : 1, free_reg = l != NULL ? l->free_reg : 0;
    const char *opcode = opcodes[e == PG_I32 ? 0 : e == PG_I64 ? 1 : e == PG_F32 ? 2 : 3];
    if (!is_ok || opcode == NULL) {
        pg_lw_refuse(c, i, is_ok ? "this type" : "this layout");
        return;
    }
    pg_el all = pg_el_imm(1);
    if (l != NULL) {
        all = pg_lw_replica_guard(c, l);
    } else if (!c->is_elected) {
        all = pg_el_reg(pg_lw_thread_is_0(c));
    }
    const pg_el *addr = pg_lw_stretch(c, i, 0, n), *val = pg_lw_stretch(c, i, 1, n);
    const pg_el *mask = i->n_in > 2 ? pg_lw_stretch(c, i, 2, n) : NULL;
    for (uint32_t r = 0; addr != NULL && val != NULL && r < n && !pg_lw_failed(c); r++) {
        pg_el guard = mask != NULL ? pg_el_and(c, all, mask[r]) : all;
        if ((r & free_reg) != 0 || (guard.reg == 0 && guard.imm == 0)) {
            continue; /* each element once */
        }
        pg_ptx_opnd at = pg_lw_memory(c, PG_I64, addr[r]);
        pg_ptx_opnd ops[2] = {at, pg_lw_in_reg(c, e, val[r])};
        pg_ptx_stmt *s = pg_lw_emit(c, opcode, 2, ops);
        if (guard.reg != 0) {
            pg_ptx_guard(s, pg_lw_reg(guard.reg - 1), false);
        }
    }
}

LOWER(ATOMIC_ADD)
{
    static const char *const opcodes[4] = {"red.global.add.u32", "red.global.add.u64",
                                           "red.global.add.f32", "red.global.add.f64"};
    reduce_in_memory(c, i, opcodes);
}

LOWER(ATOMIC_MAX)
{
    static const char *const opcodes[4] = {"red.global.max.s32", "red.global.max.s64"};
    reduce_in_memory(c, i, opcodes);
}

LOWER(ATOMIC_UMAX)
{
    static const char *const opcodes[4] = {"red.global.max.u32", "red.global.max.u64"};
    reduce_in_memory(c, i, opcodes);
}
