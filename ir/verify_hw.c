/* verify_hw.c: hw operations: buffers, barriers, copies, matrix operations, and where they may
 * stand. */
#include <string.h>

#include "ir/verify.h"

static const pg_type_info *in_info(const pg_verifier *v, const pg_inst *i, uint32_t j)
{
    return pg_val_info(v->k, i->in[j]);
}

static const char *in_text(pg_verifier *v, const pg_inst *i, uint32_t j)
{
    return pg_verify_type_text(v, pg_val_type(v->k, i->in[j]));
}

/* ---- buffers ------------------------------------------------------------------------------- */

static void check_alloc(pg_verifier *v, const pg_inst *i)
{
    if (i->parent == NULL || i->parent->owner != NULL) {
        pg_verify_error(v, PG_D_ALLOC_PLACE, i->loc, pg_verify_op_text(i));
    }
    const pg_type_info *t = pg_val_info(v->k, i->out[0]);
    int64_t slots = pg_attr_int(&i->attrs, PG_A_SLOTS, 0);
    if (i->op == PG_OP_RING_NEW && slots != t->dims[0]) {
        pg_verify_error(v, PG_D_RING_SLOTS, i->loc, (long long)slots,
                        pg_verify_type_text(v, pg_val_type(v->k, i->out[0])));
    }
}

static void check_view(pg_verifier *v, const pg_inst *i)
{
    const pg_type_info *from = in_info(v, i, 0);
    const pg_type_info *to = pg_val_info(v->k, i->out[0]);
    bool is_good = from->space == to->space && from->elem == to->elem &&
                   from->is_ptr == to->is_ptr && from->rank == to->rank + 1u &&
                   pg_enc_eq(from->enc, to->enc);
    for (uint32_t d = 0; is_good && d < to->rank; d++) {
        is_good = to->dims[d] == from->dims[d + 1];
    }
    if (!is_good) {
        pg_verify_error(v, PG_D_SHAPE, i->loc, "buf.view", in_text(v, i, 0),
                        pg_verify_type_text(v, pg_val_type(v->k, i->out[0])),
                        "the same buffer without its first extent");
        return;
    }
    int64_t slot;
    if (pg_val_int(v->k, i->in[1], &slot) && (slot < 0 || slot >= from->dims[0])) {
        pg_verify_error(v, PG_D_SLOT_RANGE, i->loc, (long long)slot, from->dims[0]);
    }
}

/* A tile and the buffer that it is read from or written to. */
static void check_buf_tile(pg_verifier *v, const pg_inst *i, pg_type tile)
{
    const pg_type_info *b = in_info(v, i, 0);
    const pg_type_info *t = pg_type_get(v->types, tile);
    bool is_good = b->elem == t->elem && t->is_ptr == b->is_ptr && b->rank == t->rank;
    for (uint32_t d = 0; is_good && d < t->rank; d++) {
        is_good = b->dims[d] == t->dims[d];
    }
    if (!is_good) {
        pg_verify_error(v, PG_D_SHAPE, i->loc, pg_verify_op_text(i), in_text(v, i, 0),
                        pg_verify_type_text(v, tile), "a tile of the buffer's element and extents");
    }
}

/* ---- barriers ------------------------------------------------------------------------------ */

static void check_slot(pg_verifier *v, const pg_inst *i, uint32_t bar, uint32_t index)
{
    int64_t slot;
    int32_t n = in_info(v, i, bar)->dims[0];
    if (pg_val_int(v->k, i->in[index], &slot) && (slot < 0 || slot >= n)) {
        pg_verify_error(v, PG_D_SLOT_RANGE, i->loc, (long long)slot, n);
    }
}

/* A ring has two barriers a slot and `side` says which; an array has one. */
static void check_side(pg_verifier *v, const pg_inst *i, uint32_t bar)
{
    bool is_ring = in_info(v, i, bar)->kind == PG_TY_RING;
    if (is_ring != pg_attr_has(&i->attrs, PG_A_SIDE)) {
        pg_verify_error(v, PG_D_BAR_SIDE, i->loc, pg_verify_op_text(i),
                        is_ring ? "needs `side` on a ring" : "takes no `side` on single barriers");
    }
}

static void check_prime(pg_verifier *v, const pg_inst *i)
{
    int64_t lag = pg_attr_int(&i->attrs, PG_A_LAG, 0);
    int32_t slots = in_info(v, i, 0)->dims[0];
    if (lag >= slots) {
        pg_verify_error(v, PG_D_RING_LAG, i->loc, (long long)lag, slots);
    }
}

static int64_t buf_bytes(const pg_verifier *v, pg_val buf)
{
    const pg_type_info *t = pg_val_info(v->k, buf);
    return pg_type_n_elems(v->types, pg_val_type(v->k, buf)) * pg_elem_infos[t->elem].bits / 8;
}

static bool completes_on(const pg_inst *get, const pg_inst *expect)
{
    return get->op == PG_OP_TMA_LOAD && pg_val_eq(get->in[2], expect->in[0]) &&
           pg_val_eq(get->in[3], expect->in[1]) &&
           pg_attr_int(&get->attrs, PG_A_SIDE, -1) == pg_attr_int(&expect->attrs, PG_A_SIDE, -1);
}

/* Copies that follow in the same region, up to the next announcement or operation with regions.
 * Copies that stand elsewhere are the protocol check's business. */
static void check_expect(pg_verifier *v, const pg_inst *i)
{
    int64_t want = pg_attr_int(&i->attrs, PG_A_BYTES, 0);
    int64_t sum = 0;
    const pg_inst *at = i->next;
    for (; at != NULL && at->n_regions == 0 && at->op != PG_OP_BAR_EXPECT; at = at->next) {
        if (at->n_in >= 5 && completes_on(at, i)) {
            sum += buf_bytes(v, at->in[1]);
        }
    }
    bool is_all = at == NULL || at->n_regions == 0;
    if (is_all && sum > 0 && sum != want) {
        pg_verify_error(v, PG_D_EXPECT_BYTES, i->loc, (long long)want, (long long)sum);
    }
    if (want % 16 != 0) {
        pg_verify_error(v, PG_D_BYTES_16, i->loc, (long long)want);
    }
}

/* ---- copies -------------------------------------------------------------------------------- */

static void check_copy(pg_verifier *v, const pg_inst *i, uint32_t first_coord)
{
    const pg_type_info *d = in_info(v, i, 0);
    const pg_type_info *b = in_info(v, i, 1);
    bool is_good = d->elem == b->elem && d->is_ptr == b->is_ptr && d->rank == b->rank &&
                   pg_enc_eq(d->enc, b->enc);
    for (uint32_t r = 0; is_good && r < d->rank; r++) {
        is_good = d->dims[r] == b->dims[r];
    }
    if (!is_good) {
        pg_verify_error(v, PG_D_TMA_BOX, i->loc, in_text(v, i, 1), in_text(v, i, 0));
    }
    if (i->n_in - first_coord != d->rank) {
        pg_verify_error(v, PG_D_TMA_COORDS, i->loc, i->n_in - first_coord, d->rank);
    }
}

/* ---- matrix operations ----------------------------------------------------------------------- */

static void check_mma_tile(pg_verifier *v, const pg_inst *i, pg_type tile)
{
    const pg_type_info *t = pg_type_get(v->types, tile);
    bool has_elem = t->is_ptr == 0 && (t->elem == PG_F32 || t->elem == PG_F16);
    if (!has_elem || pg_enc_get(v->types, t->enc)->kind != PG_ENC_WGMMA) {
        pg_verify_error(v, PG_D_MMA_ACC, i->loc, pg_verify_type_text(v, tile));
    }
}

/* The accumulator behind a token. Remembered, so that long chains cost no more than their length.
 */
static pg_type token_tile(pg_verifier *v, pg_val token)
{
    const uint32_t *known = pg_map_get(&v->token_tiles, token.id);
    if (known != NULL) {
        return (pg_type){*known};
    }
    pg_type tile = pg_token_tile(v->k, token);
    (void)pg_map_put(&v->token_tiles, token.id, tile.id);
    return tile;
}

static void check_mma_async(pg_verifier *v, const pg_inst *i)
{
    const pg_type_info *a = in_info(v, i, 0);
    const pg_type_info *b = in_info(v, i, 1);
    bool is_a_t = pg_attr_has(&i->attrs, PG_A_TRANSA);
    bool is_b_t = pg_attr_has(&i->attrs, PG_A_TRANSB);
    if (a->rank != 2 || b->rank != 2 || a->elem != b->elem || (a->is_ptr | b->is_ptr) != 0 ||
        (a->elem != PG_F16 && a->elem != PG_BF16)) {
        pg_verify_error(v, PG_D_MMA_OPERANDS, i->loc, in_text(v, i, 0), in_text(v, i, 1));
        return;
    }
    for (uint32_t j = 0; j < 2; j++) {
        if (pg_enc_get(v->types, in_info(v, i, j)->enc)->kind != PG_ENC_SMEM) {
            pg_verify_error(v, PG_D_MMA_ENC, i->loc, j + 1, in_text(v, i, j));
        }
    }
    pg_type tile = token_tile(v, i->in[2]);
    (void)pg_map_put(&v->token_tiles, i->out[0].id, tile.id);
    const pg_type_info *acc = pg_type_get(v->types, tile);
    int32_t m = a->dims[is_a_t ? 1 : 0];
    int32_t k = a->dims[is_a_t ? 0 : 1];
    int32_t n = b->dims[is_b_t ? 0 : 1];
    int32_t k_of_b = b->dims[is_b_t ? 1 : 0];
    if (k != k_of_b || k % 16 != 0) {
        pg_verify_error(v, PG_D_MMA_K, i->loc, in_text(v, i, 0), in_text(v, i, 1));
    } else if (acc->kind == PG_TY_TILE &&
               (acc->rank != 2 || acc->dims[0] != m || acc->dims[1] != n)) {
        pg_verify_error(v, PG_D_MMA_SHAPE, i->loc, m, n, pg_verify_type_text(v, tile));
    }
}

static void check_mma_wait(pg_verifier *v, const pg_inst *i)
{
    if (i->n_out == 0) {
        return;
    }
    if (pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0) != 0) {
        pg_verify_error(v, PG_D_WAIT_RESULT, i->loc);
    }
    pg_type tile = token_tile(v, i->in[0]);
    pg_type result = pg_val_type(v->k, i->out[0]);
    if (tile.id != 0 && !pg_type_eq(tile, result)) {
        pg_verify_error(v, PG_D_RESULT_CLASS, i->loc, 1, "mma.wait", pg_verify_type_text(v, result),
                        pg_verify_type_text(v, tile), "");
    }
}

/* ---- places -------------------------------------------------------------------------------- */

/* Operations that all threads of a partition execute together: never in an elected region. */
enum { TOGETHER = 1, IN_PART = 2, OUTSIDE_PARTS = 4, OF_WARP = 8 };
static const uint8_t places[PG_OP_COUNT] = {
    [PG_OP_CTA_SYNC] = TOGETHER | OUTSIDE_PARTS,
    [PG_OP_PART_SYNC] = TOGETHER | IN_PART,
    [PG_OP_WARP_SYNC] = TOGETHER,
    [PG_OP_ELECT] = TOGETHER | OF_WARP,
    [PG_OP_MMA_BEGIN] = TOGETHER,
    [PG_OP_MMA_FENCE] = TOGETHER,
    [PG_OP_MMA_ASYNC] = TOGETHER,
    [PG_OP_MMA_WAIT] = TOGETHER,
    [PG_OP_RING_PRIME] = TOGETHER,
    [PG_OP_MMA] = TOGETHER,
    [PG_OP_UMMA] = TOGETHER,
    [PG_OP_COPY] = TOGETHER,
    [PG_OP_ASYNC_GET] = TOGETHER,
};

static void check_place(pg_verifier *v, const pg_inst *i)
{
    const uint8_t place = places[i->op];
    if ((place & TOGETHER) != 0 && pg_kernel_has(v->k, PG_OP_ELECT) &&
        pg_inst_find_parent(i, PG_OP_ELECT) != NULL) {
        pg_verify_error(v, PG_D_IN_ELECT, i->loc, pg_verify_op_text(i));
    }
    const bool has_part =
        (place & (IN_PART | OUTSIDE_PARTS)) != 0 && pg_inst_find_parent(i, PG_OP_PARTITION) != NULL;
    if ((place & IN_PART) != 0 && !has_part) {
        pg_verify_error(v, PG_D_NOT_IN_PART, i->loc);
    }
    if ((place & OUTSIDE_PARTS) != 0 && has_part) {
        pg_verify_error(v, PG_D_SYNC_IN_PART, i->loc);
    }
    const int64_t warp = (place & OF_WARP) != 0 ? pg_attr_int(&i->attrs, PG_A_WARP, 0) : -1;
    if (warp >= (int64_t)v->n_warps) {
        pg_verify_error(v, PG_D_ELECT_WARP, i->loc, (long long)warp, v->n_warps);
    }
}

void pg_verify_hw(pg_verifier *v, const pg_inst *i)
{
    if (places[i->op] != 0) {
        check_place(v, i);
    }
    switch (i->op) {
    case PG_OP_BUF_NEW:
    case PG_OP_RING_NEW:
    case PG_OP_BAR_NEW: check_alloc(v, i); break;
    case PG_OP_BUF_VIEW: check_view(v, i); break;
    case PG_OP_BUF_LOAD: check_buf_tile(v, i, pg_val_type(v->k, i->out[0])); break;
    case PG_OP_BUF_STORE: check_buf_tile(v, i, pg_val_type(v->k, i->in[1])); break;
    case PG_OP_RING_PRIME: check_prime(v, i); break;
    case PG_OP_BAR_EXPECT:
        check_side(v, i, 0);
        check_slot(v, i, 0, 1);
        check_expect(v, i);
        break;
    case PG_OP_BAR_ARRIVE:
    case PG_OP_BAR_WAIT:
        check_side(v, i, 0);
        check_slot(v, i, 0, 1);
        break;
    case PG_OP_TMA_LOAD:
        check_side(v, i, 2);
        check_slot(v, i, 2, 3);
        check_copy(v, i, 4);
        break;
    case PG_OP_TMA_STORE: check_copy(v, i, 2); break;
    case PG_OP_ASYNC_GET: pg_verify_async_get(v, i); break;
    case PG_OP_MMA_BEGIN: check_mma_tile(v, i, pg_val_type(v->k, i->in[0])); break;
    case PG_OP_MMA_ASYNC: check_mma_async(v, i); break;
    case PG_OP_MMA_WAIT: check_mma_wait(v, i); break;
    default: break;
    }
}
