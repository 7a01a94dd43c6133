/* convert_copy.c: plans for types, and the encoding of a memory layout. */
#include <string.h>

#include "ir/convert.h"

uint32_t pg_convert_flags(uint32_t sm)
{
    uint32_t flags = 0;
    flags |= sm >= 75 ? (uint32_t)PG_CONVERT_LDMATRIX | (uint32_t)PG_CONVERT_HAS_MOVMATRIX : 0;
    flags |= sm >= 90 ? (uint32_t)PG_CONVERT_STMATRIX : 0;
    return flags;
}

static uint32_t bits_of(const pg_types *t, pg_type type)
{
    const pg_type_info *info = pg_type_get(t, type);
    uint32_t bits = info->is_ptr ? 64 : pg_elem_infos[info->elem].bits;
    return bits < 8 ? 8 : bits;
}

typedef struct plan_of_types {
    pg_layout_error error;
    pg_convert_plan plan;
} plan_of_types;

pg_layout_error pg_convert_of_types(const pg_types *t, pg_type from, pg_type to, uint32_t n_warps,
                                    uint32_t flags, pg_convert_plan *out)
{
    pg_layout a, b;
    plan_of_types made = {.error = PG_LAYOUT_OK};
    const pg_memo_key key = {PG_MEMO_CONVERT, {from.id, to.id, n_warps, flags}};
    const plan_of_types *known = pg_memo_get(t, &key);
    if (known != NULL) {
        *out = known->plan;
        return known->error;
    }
    pg_layout_error error = pg_layout_of_tile(t, from, n_warps, &a);
    error = error != PG_LAYOUT_OK ? error : pg_layout_of_tile(t, to, n_warps, &b);
    if (error != PG_LAYOUT_OK) {
        return error;
    }
    made.error = pg_convert_plan_make(&a, &b, bits_of(t, from), flags, &made.plan);
    pg_memo_put(t, &key, &made, sizeof made);
    *out = made.plan;
    return made.error;
}

typedef struct move_of_types {
    pg_layout_error error;
    pg_bank_move move;
} move_of_types;

pg_layout_error pg_bank_move_of_types(const pg_types *t, pg_type tile, pg_type buf,
                                      uint32_t n_warps, bool is_store, uint32_t sm,
                                      pg_bank_move *out)
{
    pg_layout regs, mem;
    move_of_types made = {.error = PG_LAYOUT_OK};
    const uint32_t how = sm << 1 | is_store;
    const pg_memo_key key = {PG_MEMO_MOVE, {tile.id, buf.id, n_warps, how}};
    const move_of_types *known = pg_memo_get(t, &key);
    if (known == NULL) {
        made.error = pg_layout_of_tile(t, tile, n_warps, &regs);
        made.error = made.error != PG_LAYOUT_OK ? made.error : pg_layout_of_buf(t, buf, &mem);
        if (made.error == PG_LAYOUT_OK) {
            made.error = pg_bank_move_choose(&regs, &mem, bits_of(t, tile), is_store,
                                             pg_convert_flags(sm), &made.move);
        }
        pg_memo_put(t, &key, &made, sizeof made);
        known = &made;
    }
    *out = known->move;
    return known->error;
}

/* ---- the encoding of a memory layout --------------------------------------------------------- */

static bool is_same_memory(const pg_layout *a, const pg_layout *b)
{
    if (a->n_outer != b->n_outer || a->n_bits[PG_LIN_OFFSET] != b->n_bits[PG_LIN_OFFSET] ||
        memcmp(a->basis[PG_LIN_OFFSET], b->basis[PG_LIN_OFFSET],
               a->n_bits[PG_LIN_OFFSET] * sizeof a->basis[0][0]) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_outer; i++) {
        const pg_outer_digit *x = &a->outer[i], *y = &b->outer[i];
        if (x->out_dim != y->out_dim || x->extent != y->extent || x->stride != y->stride ||
            x->in_stride != y->in_stride) {
            return false;
        }
    }
    return true;
}

static bool means(pg_types *t, const pg_layout *mem, uint32_t elem_bits, pg_enc e)
{
    pg_layout l;
    pg_type_info buf = {.kind = PG_TY_BUF, .space = PG_SPACE_SMEM, .rank = mem->rank, .enc = e};
    buf.elem = elem_bits == 8    ? PG_I8
               : elem_bits == 16 ? PG_I16
               : elem_bits == 32 ? PG_I32
                                 : PG_I64;
    for (uint32_t d = 0; d < mem->rank; d++) {
        buf.dims[d] = (int32_t)mem->dims[d];
    }
    return pg_layout_of_buf(t, pg_type_intern(t, &buf), &l) == PG_LAYOUT_OK &&
           is_same_memory(&l, mem);
}

/* smem with rows of some dimension, the others behind it, the last first. */
static bool find_rows(pg_types *t, const pg_layout *mem, uint32_t elem_bits, pg_enc *out)
{
    static const uint16_t swizzles[] = {0, 32, 64, 128};
    for (uint32_t first = 0; first < mem->rank; first++) {
        pg_enc_info e = {.kind = PG_ENC_SMEM, .rank = mem->rank};
        uint32_t n = 0;
        e.order[n++] = (uint8_t)(mem->rank - 1 - first);
        for (uint32_t d = mem->rank; d-- > 0;) {
            if (d != e.order[0]) {
                e.order[n++] = (uint8_t)d;
            }
        }
        for (uint32_t i = 0; i < PG_COUNT_OF(swizzles); i++) {
            e.swizzle = swizzles[i];
            *out = pg_enc_intern(t, &e);
            if (means(t, mem, elem_bits, *out)) {
                return true;
            }
        }
        e.swizzle = 0;
        for (uint32_t bytes = elem_bits / 8; bytes <= 16; bytes += elem_bits / 8) {
            e.pad = (uint16_t)(bytes * 8 / elem_bits);
            *out = pg_enc_intern(t, &e);
            if (mem->n_outer != 0 && means(t, mem, elem_bits, *out)) {
                return true;
            }
        }
    }
    return false;
}

pg_layout_error pg_enc_of_memory(pg_types *t, const pg_layout *mem, uint32_t elem_bits, pg_enc *out)
{
    if (find_rows(t, mem, elem_bits, out)) {
        return PG_LAYOUT_OK;
    }
    *out = (pg_enc){0};
    if (mem->n_outer != 0) {
        return PG_LAYOUT_NOT_LINEAR;
    }
    pg_enc_info e = {
        .kind = PG_ENC_LINEAR, .rank = mem->rank, .n_offset = mem->n_bits[PG_LIN_OFFSET]};
    for (uint32_t b = 0; b < e.n_offset; b++) {
        uint32_t index[PG_LIN_DIM_COUNT] = {0}, coord[PG_MAX_RANK] = {0};
        index[PG_LIN_OFFSET] = 1u << b;
        pg_layout_at(mem, index, coord);
        for (uint32_t d = 0; d < mem->rank; d++) {
            e.basis[b][d] = (uint16_t)coord[d];
        }
    }
    *out = pg_enc_intern(t, &e);
    return PG_LAYOUT_OK;
}
