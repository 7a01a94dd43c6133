/* lower_shuffle.c: copies within a warp. A shuffle moves 32 bits; which register a lane offers in a
 * round and where it puts what arrives are linear in the lane's number (ir/convert.h), so each is a
 * tree of selections, one level for each different sum of lane bits. Neighbouring rounds share
 * their subtrees: pure instructions are numbered. */
#include "emit/lower_int.h"

enum { MAX_LEVELS = 16 };

/* register ^= part where the bits of the lane's number in `lanes` have an odd sum. */
typedef struct choice {
    uint32_t n;
    uint32_t part[MAX_LEVELS], lanes[MAX_LEVELS];
} choice;

static choice choice_of(const uint32_t of_lane[5])
{
    choice s = {0};
    for (uint32_t bit = 0; bit < 16; bit++) {
        uint32_t lanes = 0, at = 0;
        for (uint32_t b = 0; b < 5; b++) {
            lanes |= (of_lane[b] >> bit & 1) << b;
        }
        if (lanes == 0) {
            continue;
        }
        while (at < s.n && s.lanes[at] != lanes) {
            at++;
        }
        s.lanes[at] = lanes;
        s.part[at] |= 1u << bit;
        s.n += at == s.n;
    }
    return s;
}

/* Predicate: these bits of the lane's number have an odd sum. */
static pg_ptx_opnd is_odd(pg_lw *c, uint32_t lanes)
{
    pg_ptx_opnd x =
        pg_lw_opnd2(c, "and.b32", PG_PTX_B32, pg_lw_reg(pg_lw_thread(c)), pg_ptx_int(lanes));
    if (!pg_is_pow2(lanes)) {
        x = pg_lw_opnd1(c, "popc.b32", PG_PTX_B32, x);
        x = pg_lw_opnd2(c, "and.b32", PG_PTX_B32, x, pg_ptx_int(1));
    }
    return pg_lw_opnd2(c, "setp.ne.s32", PG_PTX_PRED, x, pg_ptx_int(0));
}

/* words[reg ^ what the lane adds]. */
static uint32_t select_word(pg_lw *c, const choice *s, uint32_t level, const uint32_t *words,
                            uint32_t reg)
{
    if (level == 0) {
        return words[reg];
    }
    const uint32_t no = select_word(c, s, level - 1, words, reg);
    const uint32_t yes = select_word(c, s, level - 1, words, reg ^ s->part[level - 1]);
    if (yes == no) {
        return no;
    }
    return pg_lw_pure3(c, "selp.b32", PG_PTX_B32, pg_lw_reg(yes), pg_lw_reg(no),
                       is_odd(c, s->lanes[level - 1]));
}

/* ---- elements and words ---------------------------------------------------------------------- */

/* Register bits of one word, spread: element j of the word at `reg`. */
static uint32_t spread(const uint8_t *bits, uint32_t n, uint32_t reg, uint32_t j)
{
    for (uint32_t b = 0; b < n; b++) {
        reg |= (j >> b & 1) << bits[b];
    }
    return reg;
}

static uint32_t mask_of(const uint8_t *bits, uint32_t n)
{
    return spread(bits, n, 0, UINT32_MAX);
}

static uint32_t bits_of(pg_elem e)
{
    return pg_elem_infos[e].bits < 8 ? 8 : pg_elem_infos[e].bits;
}

/* 32 bits with the elements of a word, again from the first where there are fewer. */
static uint32_t pack(pg_lw *c, pg_elem e, const pg_el *val, const uint8_t *bits, uint32_t n_log2,
                     uint32_t reg)
{
    pg_el el[4];
    for (uint32_t j = 0; j < 4; j++) {
        el[j] = val[spread(bits, n_log2, reg, j & ((1u << n_log2) - 1))];
    }
    return pg_lw_pack(c, e, el);
}

static void unpack(pg_lw *c, pg_elem e, uint32_t word, pg_el *val, const uint8_t *bits,
                   uint32_t n_log2, uint32_t reg)
{
    pg_el el[4];
    pg_lw_unpack(c, e, word, el);
    for (uint32_t j = 0; j < 1u << n_log2; j++) {
        val[spread(bits, n_log2, reg, j)] = el[j];
    }
}

/* The two halves of 64 bits. */
static void split(pg_lw *c, pg_elem e, pg_el x, uint32_t half[2])
{
    pg_ptx_opnd h[2];
    for (uint32_t i = 0; i < 2; i++) {
        half[i] = pg_lw_new_reg(c, PG_PTX_B32);
        h[i] = pg_lw_reg(half[i]);
    }
    pg_ptx_opnd whole = pg_lw_in_reg(c, e, x);
    pg_ptx_opnd ops[2] = {pg_ptx_vec(&c->b, h, 2), whole};
    pg_lw_emit(c, "mov.b64", 2, ops);
}

static pg_el join(pg_lw *c, pg_elem e, uint32_t low, uint32_t high)
{
    pg_ptx_opnd h[2] = {pg_lw_reg(low), pg_lw_reg(high)};
    uint32_t r = pg_lw_new_reg(c, pg_lw_reg_type(e));
    pg_ptx_opnd ops[2] = {pg_lw_reg(r), pg_ptx_vec(&c->b, h, 2)};
    pg_lw_emit(c, "mov.b64", 2, ops);
    return pg_el_reg(r);
}

/* ---- the rounds ------------------------------------------------------------------------------ */

/* Lane that a lane takes from: shfl.bfly where that is its own number, changed by one constant. */
static pg_ptx_opnd exchange(pg_lw *c, const pg_shuffle *s, uint32_t round, uint32_t word)
{
    const uint32_t first = pg_shuffle_source(s, round, 0);
    bool is_own = true;
    for (uint32_t b = 0; b < 5; b++) {
        is_own = is_own && s->src_lane_of_lane[b] == 1u << b;
    }
    uint32_t mask = 0;
    pg_ptx_opnd from = pg_ptx_int(first);
    if (!is_own) {
        pg_el sum = pg_lw_thread_sum(c, s->src_lane_of_lane, 5, true, &mask);
        from = pg_lw_use(c, PG_I32, sum);
        if (first != 0 && sum.reg != 0) {
            from = pg_lw_opnd2(c, "xor.b32", PG_PTX_B32, from, pg_ptx_int(first));
        } else if (sum.reg == 0) {
            from = pg_ptx_int((int64_t)first ^ sum.imm);
        }
    } else if (first == 0) {
        return pg_lw_reg(word); /* nobody moves */
    }
    const uint32_t r = pg_lw_new_reg(c, PG_PTX_B32);
    pg_ptx_opnd ops[5] = {pg_lw_reg(r), pg_lw_reg(word), from, pg_ptx_int(31), pg_ptx_int(-1)};
    pg_lw_emit(c, is_own ? "shfl.sync.bfly.b32" : "shfl.sync.idx.b32", 5, ops);
    return pg_lw_reg(r);
}

/* All rounds for one word of each element; words by register of `from`, result by register of `to`.
 */
static void move_words(pg_lw *c, const pg_shuffle *s, const uint32_t *words, uint32_t *arrived,
                       uint32_t *out, uint32_t n_to)
{
    const choice offer = choice_of(s->offer_of_lane), take = choice_of(s->take_of_lane);
    uint32_t moved = mask_of(s->to_pack, s->n_pack_log2);
    for (uint32_t round = 0; round < 1u << s->n_round_bits; round++) {
        const uint32_t word =
            select_word(c, &offer, offer.n, words, pg_shuffle_offered(s, round, 0));
        arrived[pg_shuffle_taken(s, round, 0)] = exchange(c, s, round, word).id;
    }
    uint32_t taken = 0;
    for (uint32_t b = 0; b < s->n_round_bits; b++) {
        taken |= s->take_of_round[b];
    }
    for (uint32_t r = 0; r < n_to; r++) { /* other bits of a register are replicas */
        if ((r & ~(taken | moved)) != 0) {
            out[r] = out[r & (taken | moved)];
        } else if ((r & moved) == 0) {
            out[r] = select_word(c, &take, take.n, arrived, r);
        }
    }
}

void pg_lw_shuffle(pg_lw *c, const pg_inst *i, const pg_shuffle *s)
{
    const pg_elem e = pg_lw_elem(pg_val_info(c->k, i->in[0]));
    const uint32_t n_to = pg_lw_count(c, i, pg_val_type(c->k, i->out[0]));
    const uint32_t from_pack = mask_of(s->from_pack, s->n_pack_log2);
    const uint32_t to_pack = mask_of(s->to_pack, s->n_pack_log2);
    const pg_lv *lv = pg_lw_in(c, i, 0);
    pg_el *val = pg_lw_result(c, i, 0, n_to);
    const bool is_wide = bits_of(e) == 64;
    uint32_t *words[2], *out[2], *arrived = PG_NEWS(&c->scratch, uint32_t, n_to + 1);
    for (uint32_t h = 0; h < 2; h++) {
        words[h] = PG_NEWS(&c->scratch, uint32_t, lv->n + 1);
        out[h] = PG_NEWS(&c->scratch, uint32_t, n_to + 1);
    }
    if (val == NULL || arrived == NULL || words[1] == NULL || out[1] == NULL || words[0] == NULL ||
        out[0] == NULL || pg_lw_failed(c)) {
        return;
    }
    for (uint32_t r = 0; r < lv->n; r++) {
        uint32_t half[2] = {0, 0};
        if ((r & from_pack) != 0) {
            continue;
        }
        if (is_wide) {
            split(c, e, lv->el[r], half);
        } else {
            half[0] = pack(c, e, lv->el, s->from_pack, s->n_pack_log2, r);
        }
        words[0][r] = half[0];
        words[1][r] = half[1];
    }
    for (uint32_t h = 0; h < (is_wide ? 2u : 1u); h++) {
        move_words(c, s, words[h], arrived, out[h], n_to);
    }
    for (uint32_t r = 0; r < n_to; r++) {
        if ((r & to_pack) != 0) {
            continue;
        }
        if (is_wide) {
            val[r] = join(c, e, out[0][r], out[1][r]);
        } else {
            unpack(c, e, out[0][r], val, s->to_pack, s->n_pack_log2, r);
        }
    }
}

/* ---- movmatrix ------------------------------------------------------------------------------- */

/* The pair of a word is a register bit on both sides: the one that lane bit 2 comes from, and the
 * one that comes from lane bit 2. */
void pg_lw_movmatrix(pg_lw *c, const pg_inst *i, const pg_convert_plan *plan)
{
    const pg_elem e = pg_lw_elem(pg_val_info(c->k, i->in[0]));
    const pg_layout *map = &plan->map;
    const uint32_t n_to = pg_lw_count(c, i, pg_val_type(c->k, i->out[0]));
    const uint8_t from_bit = (uint8_t)(pg_ctz(map->basis[PG_LIN_LANE][2]) - map->shift[PG_LIN_REG]);
    uint8_t to_bit = 0;
    while (to_bit + 1u < map->n_bits[PG_LIN_REG] &&
           map->basis[PG_LIN_REG][to_bit] != 4u << map->shift[PG_LIN_LANE]) {
        to_bit++;
    }
    const pg_lv *lv = pg_lw_in(c, i, 0);
    pg_el *val = pg_lw_result(c, i, 0, n_to);
    for (uint32_t r = 0; val != NULL && r < n_to && !pg_lw_failed(c); r++) {
        if ((r >> to_bit & 1) != 0) {
            continue;
        }
        const uint32_t from = pg_convert_source_reg(plan, r);
        const uint32_t word = pack(c, e, lv->el, &from_bit, 1, from);
        const uint32_t turned = pg_lw_new_reg(c, PG_PTX_B32);
        pg_ptx_opnd ops[2] = {pg_lw_reg(turned), pg_lw_reg(word)};
        pg_lw_emit(c, "movmatrix.sync.aligned.m8n8.trans.b16", 2, ops);
        unpack(c, e, turned, val, &to_bit, 1, r);
    }
}
