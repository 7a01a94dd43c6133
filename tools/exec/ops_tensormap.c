/* ops_tensormap.c: tensor maps made on the device: tensormap.replace and tensormap.cp_fenceproxy.
 * The fields stand where docs/executor.md says. */
#include "tools/exec/ops.h"
#include "tools/exec/race.h"
#include "tools/exec/tensormap.h"

typedef struct field {
    const char *name;
    uint8_t at, shift, bits; /* of the first one, in its word of 32 bits */
    uint8_t step;            /* bits from one to the next */
    uint8_t less;            /* the map holds the value minus it */
} field;

enum { F_ADDRESS, F_STRIDE, F_BOX, F_TYPE };

static const field fields[] = {
    [F_ADDRESS] = {"global_address", 0x00, 0, 32, 0, 0},
    [F_STRIDE] = {"global_stride", 0x0C, 0, 32, 32, 0},
    [F_BOX] = {"box_dim", 0x34, 24, 8, 8, 1},
    [F_TYPE] = {"elemtype", 0x08, 7, 4, 0, 0},
    {"rank", 0x08, 4, 3, 0, 0}, /* the operand is the rank minus 1 already */
    {"global_dim", 0x20, 0, 32, 32, 1},
    {"element_stride", 0x34, 0, 3, 3, 1},
    {"interleave_layout", 0x08, 11, 2, 0, 0},
    {"swizzle_mode", 0x08, 13, 2, 0, 0},
    {"fill_mode", 0x08, 15, 1, 0, 0},
};

static void put_bits(uint8_t *map, uint32_t at, uint32_t bits, uint32_t x)
{
    for (uint32_t k = at; k < at + bits; k++) {
        uint8_t bit = (uint8_t)(1u << k % 8);
        map[k / 8] = (x >> (k - at) & 1u) != 0 ? map[k / 8] | bit : map[k / 8] & (uint8_t)~bit;
    }
}

/* op: field; target: which of its values */
static void put_field(uint8_t *map, const pe_inst *i, uint64_t x)
{
    const field *f = &fields[i->op];
    uint32_t at = f->at * 8u + f->shift + i->target * f->step;
    switch (i->op) {
    case F_ADDRESS: memcpy(map, &x, sizeof x); break;
    case F_STRIDE:
        put_bits(map, at, 32, (uint32_t)(x >> 4));
        put_bits(map, 0x1C * 8 + i->target * 4, 4, (uint32_t)(x >> 36));
        break;
    case F_TYPE: { /* tf32 is f32 with a mark, which other types do not take away */
        bool is_tf32 = x == 11 || x == 12;
        put_bits(map, at, f->bits, (uint32_t)(is_tf32 ? x - 4 : x > 12 ? x - 2 : x));
        if (is_tf32) {
            put_bits(map, 0x08 * 8 + 16, 1, 1);
        }
        break;
    }
    default: put_bits(map, at, f->bits, (uint32_t)x - f->less); break;
    }
}

/* All 128 bytes; NULL after a fault. */
static uint8_t *map_bytes(pe_warp *w, const pe_inst *i, uint32_t lane, uint64_t at, bool is_write,
                          uint8_t **poison)
{
    pe_inst as = *i;
    uint8_t *last = NULL;
    as.size = as.n = 1;
    if (at % PE_TMAP_ALIGN != 0) {
        pe_fault_at(w, i, PTXEXEC_F_MISALIGNED,
                    (pe_place){.lanes = 1u << lane, .address = at, .size = PE_TMAP_SIZE},
                    "the tensor map at 0x%llx is not at a multiple of 64", (unsigned long long)at);
        return NULL;
    }
    uint8_t *p = pe_resolve(w, &as, lane, at, is_write, poison);
    return p != NULL && pe_resolve(w, &as, lane, at + PE_TMAP_SIZE - 1, is_write, &last) != NULL
               ? p
               : NULL;
}

static void note(pe_warp *w, const pe_inst *i, uint32_t mask, const uint64_t *at, uint8_t kind)
{
    pe_touch t = {.at = at, .size = PE_TMAP_SIZE, .space = i->space, .kind = kind};
    if (w->cta->races != NULL) {
        pe_race_touch(w, i, mask, &t);
    }
}

static void replace(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    bool is_wide = i->op == F_ADDRESS || i->op == F_STRIDE;
    uint64_t at[PE_LANES];
    uint32_t q = is_wide ? pe_poison64(w, i->b) : pe_poison32(w, i->b);
    if (pe_is_poison(w, i, (pe_poison64(w, i->a) | q) & mask, PTXEXEC_F_POISON_ADDRESS,
                     "an operand")) {
        return;
    }
    for (uint32_t l = 0; l < PE_LANES; l++) {
        at[l] = pe_src64(w, i->a)[l] + (uint64_t)i->imm;
    }
    note(w, i, mask, at, PE_T_WRITE);
    pg_foreach_lane(l, mask)
    {
        uint8_t *poison = NULL;
        uint8_t *map = w->cta->is_failed ? NULL : map_bytes(w, i, l, at[l], true, &poison);
        if (map == NULL) {
            return;
        }
        put_field(map, i, is_wide ? pe_src64(w, i->b)[l] : pe_src32(w, i->b)[l]);
    }
}

/* The warp copies one map: a in global, b in shared memory. */
static void publish(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint64_t to[PE_LANES];
    uint64_t from[PE_LANES];
    if (pe_is_poison(w, i, (pe_poison64(w, i->a) | pe_poison64(w, i->b)) & mask,
                     PTXEXEC_F_POISON_ADDRESS, "an address")) {
        return;
    }
    uint32_t lane = pe_first(mask);
    for (uint32_t l = 0; l < PE_LANES; l++) {
        to[l] = pe_src64(w, i->a)[l];
        from[l] = pe_src64(w, i->b)[l];
    }
    pe_inst source = *i;
    uint8_t *poison[2] = {NULL, NULL};
    source.space = PG_PTX_SP_SHARED;
    const uint8_t *p = map_bytes(w, &source, lane, from[lane], false, &poison[0]);
    uint8_t *map = p != NULL ? map_bytes(w, i, lane, to[lane], true, &poison[1]) : NULL;
    if (map == NULL) {
        return;
    }
    pe_touch t = {.at = from, .size = PE_TMAP_SIZE, .space = PG_PTX_SP_SHARED, .kind = PE_T_READ};
    if (w->cta->races != NULL) {
        pe_race_touch(w, i, 1u << lane, &t);
    }
    note(w, i, 1u << lane, to, PE_T_WRITE);
    memcpy(map, p, PE_TMAP_SIZE);
    memcpy(poison[1], poison[0], PE_TMAP_SIZE);
}

bool pe_is_map_publish(const pe_inst *i)
{
    return i->fn == publish;
}

static void decode_publish(pe_dec *d)
{
    bool is_whole = pe_take(d, "global") && pe_take(d, "shared::cta") &&
                    pe_take(d, "tensormap::generic") && pe_take(d, "release");
    (void)pe_take_one(d, "cta cluster gpu sys");
    is_whole = is_whole && pe_take(d, "sync") && pe_take(d, "aligned");
    d->i.flags |= PE_I_ALIGNED;
    d->i.space = PG_PTX_SP_GLOBAL;
    pe_in_address(d, 1);
    d->i.b = d->i.a;
    if (d->i.imm != 0) {
        pe_unsupported(d, "an offset in this address");
        return;
    }
    pe_in_address(d, 0);
    if (d->i.imm != 0) {
        pe_unsupported(d, "an offset in this address");
        return;
    }
    pe_emit(d, is_whole ? publish : NULL);
}

static void decode_replace(pe_dec *d)
{
    bool is_tile = pe_take(d, "tile");
    uint32_t which = 0;
    while (which < PG_COUNT_OF(fields) && !pe_take(d, fields[which].name)) {
        which++;
    }
    d->i.space = pe_take_space(d);
    if (!is_tile || which == PG_COUNT_OF(fields) || !pe_take(d, "b1024")) {
        pe_unsupported(d, "this field");
        return;
    }
    bool is_wide = which == F_ADDRESS || which == F_STRIDE;
    pg_ptx_type t = pe_take_type(d);
    d->i.op = (uint16_t)which;
    bool is_list = fields[which].step != 0;
    if (is_list) {
        const pg_ptx_opnd *o = pe_arg(d, 1);
        if (o->kind != PG_PTX_O_INT || o->imm < 0 || o->imm > (which == F_STRIDE ? 3 : 4)) {
            pe_invalid(d, "there is no such dimension");
            return;
        }
        d->i.target = (uint32_t)o->imm;
    }
    d->i.b = pe_in(d, is_list ? 2 : 1, is_wide ? 64 : 32);
    pe_in_address(d, 0);
    pe_emit(d, t == (is_wide ? PG_PTX_B64 : PG_PTX_B32) ? replace : NULL);
}

void pe_dec_tensormap(pe_dec *d)
{
    switch (pe_take_one(d, "replace cp_fenceproxy")) {
    case 1: decode_replace(d); break;
    case 2: decode_publish(d); break;
    default: pe_unsupported(d, "this form"); break;
    }
}
