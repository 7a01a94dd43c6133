/* ops_mem.c: ld and st in every space, with vectors. */
#include "tools/exec/ops.h"
#include "tools/exec/race.h"

typedef struct element {
    pe_opnd row;
    uint32_t bits; /* of the register: 16, 32 or 64 */
} element;

enum { N_ELEMENTS = 8 };

typedef struct elements {
    element at[N_ELEMENTS];
    uint32_t used; /* bytes of a load's data that the program uses, a bit for each */
} elements;

/* ---- access
 * ---------------------------------------------------------------------------------------------- */

/* The common case inline: the array that the warp touched last, or shared memory. */
static inline uint8_t *reach(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t address,
                             bool is_write, uint8_t **poison)
{
    uint32_t size = (uint32_t)i->size * i->n;
    const pe_region *r = i->space == PG_PTX_SP_SHARED ? &w->cta->shared : w->hit;
    if (r != NULL && (i->space == PG_PTX_SP_SHARED || i->space == PG_PTX_SP_GLOBAL ||
                      i->space == PG_PTX_SP_NONE)) {
        uint64_t off = address - r->base;
        if (off < r->open && size <= r->open - off && (address & (size - 1)) == 0) {
            *poison = r->poison + off;
            return r->data + off;
        }
    }
    return pe_resolve(w, i, lane, address, is_write, poison);
}

/* Of 1, 2, 4 or 8 flags. */
static inline bool any_poison(const uint8_t *p, uint32_t size)
{
    uint64_t any = 0;
    memcpy(&any, p, size);
    return any != 0;
}

/* ---- ld
 * ----------------------------------------------------------------------------------------------------
 */

static inline uint64_t read_bytes(const uint8_t *p, uint32_t size)
{
    switch (size) {
    case 1: return *p;
    case 2: {
        uint16_t x;
        memcpy(&x, p, 2);
        return x;
    }
    case 4: {
        uint32_t x;
        memcpy(&x, p, 4);
        return x;
    }
    default: {
        uint64_t x;
        memcpy(&x, p, 8);
        return x;
    }
    }
}

static inline void write_bytes(uint8_t *p, uint64_t x, uint32_t size)
{
    switch (size) {
    case 1: *p = (uint8_t)x; break;
    case 2: {
        uint16_t v = (uint16_t)x;
        memcpy(p, &v, 2);
        break;
    }
    case 4: {
        uint32_t v = (uint32_t)x;
        memcpy(p, &v, 4);
        break;
    }
    default: memcpy(p, &x, 8); break;
    }
}

static uint64_t widen(uint64_t x, const pe_inst *i, uint32_t bits)
{
    if ((i->op & 1) != 0 && i->size < 8) {
        uint64_t sign = UINT64_C(1) << ((i->size * 8u - 1u) & 63u);
        x = (x ^ sign) - sign;
    }
    return bits == 16 ? x & 0xFFFFu : x;
}

static bool begin_access(pe_warp *w, const pe_inst *i, uint32_t mask, uint8_t kind,
                         uint64_t addresses[PE_LANES])
{
    if (pe_is_poison(w, i, pe_poison64(w, i->a) & mask, PTXEXEC_F_POISON_ADDRESS, "the address")) {
        return false;
    }
    /* The result may be the address register: keep the addresses. */
    memcpy(addresses, pe_src64(w, i->a), PE_LANES * sizeof *addresses);
    const pe_touch t = {.at = addresses,
                        .imm = i->imm,
                        .size = (uint32_t)i->size * i->n,
                        .space = i->space,
                        .kind = kind};
    pe_note(w, i, mask, &t);
    return !w->cta->is_failed;
}

/* Where each lane of an access reads, and which of its bytes are uninitialised. */
typedef struct places {
    const uint8_t *at[PE_LANES], *poison[PE_LANES];
} places;

/* One element of every lane: `offset` is its place in the lane's vector. */
static void load_element(pe_warp *w, const pe_inst *i, uint32_t mask, const places *p,
                         const element *e, size_t offset)
{
    uint64_t t[PE_LANES] = {0};
    uint32_t narrow[PE_LANES] = {0};
    uint32_t bad = 0;
    /* The size is the same for all lanes: one loop for each. */
#define LANES(size)                                                        \
    pg_foreach_lane(l, mask)                                               \
    {                                                                      \
        t[l] = read_bytes(p->at[l] + offset, (size));                      \
        bad |= (any_poison(p->poison[l] + offset, (size)) ? 1u : 0u) << l; \
    }
    switch (i->size) {
    case 1: LANES(1) break;
    case 2: LANES(2) break;
    case 4: LANES(4) break;
    default: LANES(8) break;
    }
#undef LANES
    pg_foreach_lane(l, mask)
    {
        t[l] = widen(t[l], i, e->bits);
        narrow[l] = (uint32_t)t[l];
    }
    if (e->bits == 64) {
        pe_put64(w, e->row, t, mask, bad);
    } else {
        pe_put32(w, e->row, narrow, mask, bad);
    }
}

/* A strong load may find an older value: race_global.c. */
static void find_stale(pe_warp *w, const pe_inst *i, uint32_t mask, const uint64_t *a, places *p,
                       uint64_t *old)
{
    uint32_t size = (uint32_t)i->size * i->n;
    pg_foreach_lane(l, mask)
    {
        uint64_t address = a[l] + (uint64_t)i->imm;
        if (size <= sizeof *old && address >= PE_GLOBAL_START && i->space != PG_PTX_SP_SHARED) {
            memcpy(&old[l], p->at[l], size);
            old[l] = pe_gshadow_stale(w, l, address, size, old[l]);
            p->at[l] = (const uint8_t *)&old[l];
        }
    }
}

static bool find_places(pe_warp *w, const pe_inst *i, uint32_t mask, uint64_t a[PE_LANES],
                        places *p)
{
    if (!begin_access(w, i, mask, PE_T_READ, a)) {
        return false;
    }
    pg_foreach_lane(l, mask)
    {
        uint8_t *poison = NULL;
        p->at[l] = reach(w, i, l, a[l] + (uint64_t)i->imm, false, &poison);
        p->poison[l] = poison;
        if (p->at[l] == NULL) {
            return false;
        }
    }
    return true;
}

static void ld(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const elements *e = i->ext;
    uint64_t a[PE_LANES];
    places p;
    if (!find_places(w, i, mask, a, &p)) {
        return;
    }
    uint64_t old[PE_LANES];
    if ((i->flags & PE_I_STRONG) != 0 && w->cta->races != NULL) {
        find_stale(w, i, mask, a, &p, old);
    }
    for (uint32_t k = 0; k < i->n; k++) {
        load_element(w, i, mask, &p, &e->at[k], (size_t)k * i->size);
    }
}

/* A lane that spins on memory is no deadlock by itself: what it waits for may come from anywhere.
 */
static void ld_strong(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    w->cta->n_events++;
    ld(w, i, mask);
}

/* Of an element of which the program uses some bytes, the others do not matter: the compiler joined
 * loads over padding. One of which it uses none keeps its poison, so that a use is found. */
static void ld_used(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const elements *e = i->ext;
    uint64_t a[PE_LANES];
    places p;
    if (!find_places(w, i, mask, a, &p)) {
        return;
    }
    uint8_t poison[PE_LANES][N_ELEMENTS * sizeof(uint64_t)];
    pg_foreach_lane(l, mask)
    {
        memcpy(poison[l], p.poison[l], (size_t)i->size * i->n);
        p.poison[l] = poison[l];
    }
    for (uint32_t k = 0; k < i->n; k++) {
        uint32_t first = k * i->size;
        uint32_t used = first < 32 ? e->used >> first & ((1u << i->size) - 1u) : 0;
        for (uint32_t j = 0; j < i->size && used != 0; j++) {
            pg_foreach_lane(l, mask)
            {
                poison[l][first + j] &= (uint8_t)(used >> j & 1u);
            }
        }
        load_element(w, i, mask, &p, &e->at[k], first);
    }
}

/* One word of 32 bits: most loads. */
static void ld_word(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint64_t a[PE_LANES];
    uint32_t t[PE_LANES] = {0};
    uint32_t q = 0;
    if (!begin_access(w, i, mask, PE_T_READ, a)) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        uint8_t *poison = NULL;
        const uint8_t *p = reach(w, i, l, a[l] + (uint64_t)i->imm, false, &poison);
        if (p == NULL) {
            return;
        }
        memcpy(&t[l], p, 4);
        uint32_t bad;
        memcpy(&bad, poison, 4);
        q |= (bad != 0 ? 1u : 0u) << l;
    }
    pe_put32(w, i->d, t, mask, q);
}

/* A kernel parameter by name: all lanes get the same. */
static void ld_param(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const elements *e = i->ext;
    const uint8_t *p = w->cta->launch->params.data + i->imm;
    for (uint32_t k = 0; k < i->n; k++) {
        uint64_t x = widen(read_bytes(p + (size_t)k * i->size, i->size), i, e->at[k].bits);
        uint64_t t[PE_LANES];
        uint32_t narrow[PE_LANES];
        for (uint32_t l = 0; l < PE_LANES; l++) {
            t[l] = x;
            narrow[l] = (uint32_t)x;
        }
        if (e->at[k].bits == 64) {
            pe_put64(w, e->at[k].row, t, mask, 0);
        } else {
            pe_put32(w, e->at[k].row, narrow, mask, 0);
        }
    }
}

/* ---- st
 * ------------------------------------------------------------------------------------------------------
 */

static void st(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const elements *e = i->ext;
    uint64_t a[PE_LANES];
    if (!begin_access(w, i, mask, PE_T_WRITE, a)) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        uint8_t *poison = NULL;
        uint8_t *p = reach(w, i, l, a[l] + (uint64_t)i->imm, true, &poison);
        if (p == NULL) {
            return;
        }
        for (uint32_t k = 0; k < i->n; k++) {
            bool is_wide = e->at[k].bits == 64;
            uint64_t x = is_wide ? pe_src64(w, e->at[k].row)[l] : pe_src32(w, e->at[k].row)[l];
            uint32_t q = is_wide ? pe_poison64(w, e->at[k].row) : pe_poison32(w, e->at[k].row);
            write_bytes(p + (size_t)k * i->size, x, i->size);
            memset(poison + (size_t)k * i->size, (int)(q >> l & 1u), i->size);
        }
    }
}

static void st_word(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint64_t a[PE_LANES];
    const uint32_t *x = pe_src32(w, i->b);
    uint32_t q = pe_poison32(w, i->b);
    if (!begin_access(w, i, mask, PE_T_WRITE, a)) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        uint8_t *poison = NULL;
        uint8_t *p = reach(w, i, l, a[l] + (uint64_t)i->imm, true, &poison);
        if (p == NULL) {
            return;
        }
        memcpy(p, &x[l], 4);
        uint32_t bad = (q >> l & 1u) != 0 ? 0x01010101u : 0;
        memcpy(poison, &bad, 4);
    }
}

bool pe_st_is_same(pe_warp *w, const pe_inst *i, uint32_t lane)
{
    const elements *e = i->ext;
    uint8_t *poison = NULL;
    if (i->fn != st && i->fn != st_word) {
        return false;
    }
    uint64_t address = pe_src64(w, i->a)[lane] + (uint64_t)i->imm;
    const uint8_t *p = reach(w, i, lane, address, true, &poison);
    for (uint32_t k = 0; p != NULL && k < i->n; k++) {
        bool is_wide = e->at[k].bits == 64;
        uint64_t x = is_wide ? pe_src64(w, e->at[k].row)[lane] : pe_src32(w, e->at[k].row)[lane];
        uint32_t q = is_wide ? pe_poison64(w, e->at[k].row) : pe_poison32(w, e->at[k].row);
        uint8_t bytes[8];
        write_bytes(bytes, x, i->size);
        if ((q >> lane & 1u) != 0 || any_poison(poison + (size_t)k * i->size, i->size) ||
            memcmp(bytes, p + (size_t)k * i->size, i->size) != 0) {
            return false;
        }
    }
    return p != NULL;
}

/* ---- decoding
 * --------------------------------------------------------------------------------------------------
 */

/* Space of an access; .param of a function is the thread's own memory. */
uint8_t pe_take_space(pe_dec *d)
{
    static const uint8_t spaces[] = {
        PG_PTX_SP_NONE,  PG_PTX_SP_GLOBAL, PG_PTX_SP_SHARED, PG_PTX_SP_SHARED, PG_PTX_SP_LOCAL,
        PG_PTX_SP_CONST, PG_PTX_SP_PARAM,  PG_PTX_SP_PARAM,  PG_PTX_SP_PARAM,  PE_SP_CLUSTER};
    return spaces[pe_take_one(
        d, "global shared shared::cta local const param param::entry param::func shared::cluster")];
}

uint32_t pe_take_scope(pe_dec *d, const char *words)
{
    uint32_t scope = pe_take_one(d, words);
    return scope == 1 ? PE_SCOPE_CTA : scope == 2 ? PE_SCOPE_CLUSTER : PE_SCOPE_WIDE;
}

void pe_take_order(pe_dec *d, uint8_t space)
{
    uint32_t order = pe_take_one(d, "weak relaxed acquire release acq_rel volatile mmio sc");
    (void)(order == 7 && pe_take(d, "relaxed")); /* .mmio says both */
    d->i.target = pe_take_scope(d, "cta cluster gpu sys");
    d->i.flags |= order > 1 ? PE_I_STRONG : 0;
    d->i.flags |= order == 3 || order == 5 || order == 8 ? PE_I_ACQUIRE : 0;
    d->i.flags |= order == 4 || order == 5 || order == 8 ? PE_I_RELEASE : 0;
    if (order > 1 && (space == PG_PTX_SP_GLOBAL || space == PG_PTX_SP_NONE)) {
        d->m->has_global_sync = true;
    }
}

static void take_cache_hints(pe_dec *d)
{
    (void)pe_take(d, "nc");
    (void)pe_take_one(d, "ca cg cs lu cv wb wt");
    (void)pe_take_one(
        d, "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate");
    (void)pe_take_one(d, "L2::evict_normal L2::evict_first L2::evict_last");
    (void)pe_take(d, "L2::cache_hint");
    (void)pe_take_one(d, "L2::64B L2::128B L2::256B");
    (void)pe_take(d, "unified");
}

static uint32_t element_bits(pe_dec *d, const pg_ptx_opnd *o, uint32_t bits)
{
    uint32_t declared = pe_reg_bits(d, o);
    return declared > bits ? declared : bits < 16 ? 16 : bits;
}

static bool take_elements(pe_dec *d, uint32_t k, uint32_t bits, bool is_load)
{
    static const uint32_t counts[] = {1, 2, 4, 8};
    const pg_ptx_opnd *o = pe_arg(d, k);
    uint32_t n = counts[pe_take_one(d, "v2 v4 v8")];
    elements *e = pe_new(d, sizeof *e, 1);
    if (e == NULL) {
        return false;
    }
    if ((o->kind == PG_PTX_O_VEC ? o->n : 1u) != n || (bits == 128 && n != 1)) {
        pe_invalid(d, "the vector has another number of elements");
        return false;
    }
    if (bits == 128) { /* two words, together */
        e->at[0] = (element){is_load ? pe_out_opnd(d, o, 128) : pe_in_opnd(d, o, 128), 64};
        e->at[1] = (element){e->at[0].row + 1, 64};
        n = 2;
    }
    for (uint32_t j = 0; j < n && bits != 128; j++) {
        const pg_ptx_opnd *x = o->kind == PG_PTX_O_VEC ? &d->pf->pool.at[o->id + j] : o;
        e->at[j].bits = element_bits(d, x, bits);
        e->at[j].row = is_load ? pe_out_opnd(d, x, e->at[j].bits) : pe_in_opnd(d, x, e->at[j].bits);
    }
    e->used = d->used_bytes;
    d->i.ext = e;
    d->i.n = (uint8_t)n;
    return !d->is_failed;
}

/* A named parameter: of the entry (a fixed place) or of a function (local memory). */
static bool settle_param(pe_dec *d, uint32_t k)
{
    const pg_ptx_opnd *o = pe_arg(d, k);
    if (d->i.space != PG_PTX_SP_PARAM || o->kind != PG_PTX_O_ADDR) {
        return false;
    }
    const pg_ptx_opnd *base = &d->pf->pool.at[o->id];
    if (base->kind != PG_PTX_O_SYM) {
        d->i.space = d->f->is_entry ? PG_PTX_SP_PARAM : PG_PTX_SP_LOCAL;
        return false;
    }
    if (d->local_at[base->id] != UINT32_MAX) {
        d->i.space = PG_PTX_SP_LOCAL;
        return false;
    }
    if (d->param_at[base->id] == UINT32_MAX) {
        return false;
    }
    int64_t at = base->imm + o->imm + d->param_at[base->id];
    if (at < 0 || at + (int64_t)d->i.size * d->i.n > d->f->param_size) {
        return false; /* the access itself will say so */
    }
    d->i.imm = at;
    return true;
}

/* `data`: index of the operand that holds the values */
static bool take_access(pe_dec *d, uint32_t data)
{
    d->i.space = pe_take_space(d);
    pe_take_order(d, d->i.space);
    take_cache_hints(d);
    pg_ptx_type t = pe_take_type(d);
    uint32_t bits = pe_type_bits(t);
    if (bits < 8 || bits > 128) {
        pe_unsupported(d, "this type");
        return false;
    }
    d->i.size = (uint8_t)(bits < 64 ? bits / 8 : 8);
    d->i.op = pe_type_is_signed(t) ? 1 : 0;
    return take_elements(d, data, bits, data == 0);
}

void pe_dec_ld(pe_dec *d)
{
    if (!take_access(d, 0)) {
        return;
    }
    if (settle_param(d, 1)) {
        pe_emit(d, ld_param);
        return;
    }
    pe_in_address(d, 1);
    const elements *e = d->i.ext;
    d->i.d = e->at[0].row;
    bool is_word = d->i.n == 1 && d->i.size == 4 && e->at[0].bits == 32;
    bool is_strong = (d->i.flags & PE_I_STRONG) != 0;
    bool is_all_used = e->used == UINT32_MAX;
    pe_emit(d, is_strong ? ld_strong : !is_all_used ? ld_used : is_word ? ld_word : ld);
}

void pe_dec_st(pe_dec *d)
{
    if (pe_take(d, "async")) {
        pe_dec_send(d, false);
        return;
    }
    if (!take_access(d, 1)) {
        return;
    }
    (void)settle_param(d, 0);
    pe_in_address(d, 0);
    const elements *e = d->i.ext;
    d->i.b = e->at[0].row;
    pe_emit(d, d->i.n == 1 && d->i.size == 4 && e->at[0].bits == 32 ? st_word : st);
}
