/* convert_shuffle.c: a conversion within a warp as rounds of a shuffle.
 *
 * Vectors are coordinates. FR, TR: those of the registers of `from` and `to`; P: of registers that
 * both have, whose elements travel together in 32 bits; all below is modulo P. A round moves the
 * elements of TR(i) + G, where
 *   I1 G + TR is everything, directly: each lane takes exactly one element in each round;
 *   I2 G and FR meet in 0 only: each lane offers at most one.
 * With F', T' the vectors of FR, TR that the other does not span and C what neither reaches,
 * G = { f_i + t_i } + C does it wherever `to` has at least as many registers ("Linear Layouts",
 * intra-warp conversion). */
#include <string.h>

#include "ir/convert.h"
#include "ir/gf2.h"

enum { LANE_BITS = 5, MAX_VECS = 32 };

typedef struct vecs {
    uint32_t n;
    uint32_t vec[MAX_VECS];
    uint32_t tag[MAX_VECS]; /* register or lane bit as a mask */
} vecs;

static void push(vecs *v, uint32_t vec, uint32_t tag)
{
    if (v->n < MAX_VECS) {
        v->vec[v->n] = vec;
        v->tag[v->n++] = tag;
    }
}

/* A basis in parts, and how far each reaches. */
typedef struct basis {
    pg_gf2 space;
    uint32_t tag[MAX_VECS];
    uint32_t end[4]; /* of part */
    uint32_t n_parts;
} basis;

static void add_part(basis *b, const vecs *part)
{
    for (uint32_t i = 0; i < part->n; i++) {
        uint32_t at = b->space.n;
        if (pg_gf2_add(&b->space, part->vec[i])) {
            b->tag[at] = part->tag[i];
        }
    }
    b->end[b->n_parts++] = b->space.n;
}

/* Tags of the members of one part that sum up, with other parts, to v; false if nothing does. */
static bool component(const basis *b, uint32_t v, uint32_t part, uint32_t *tags)
{
    uint32_t members = 0;
    bool is_in = pg_gf2_reduce(&b->space, v, &members) == 0;
    *tags = 0;
    for (uint32_t i = part == 0 ? 0 : b->end[part - 1]; i < b->end[part]; i++) {
        *tags ^= (members >> i & 1) != 0 ? b->tag[i] : 0;
    }
    return is_in;
}

/* Vectors of `from` that are not in the span of a and b, one after the other. */
static vecs beyond(const vecs *a, const vecs *b, const vecs *from)
{
    vecs out = {0};
    pg_gf2 space = {0};
    for (uint32_t i = 0; i < a->n; i++) {
        (void)pg_gf2_add(&space, a->vec[i]);
    }
    for (uint32_t i = 0; i < b->n; i++) {
        (void)pg_gf2_add(&space, b->vec[i]);
    }
    for (uint32_t i = 0; i < from->n; i++) {
        if (pg_gf2_add(&space, from->vec[i])) {
            push(&out, from->vec[i], from->tag[i]);
        }
    }
    return out;
}

static vecs joined(const vecs *a, const vecs *b)
{
    vecs out = *a;
    for (uint32_t i = 0; i < b->n; i++) {
        push(&out, b->vec[i], b->tag[i]);
    }
    return out;
}

static vecs vectors_of(const pg_layout *l, pg_lin_dim d, const vecs *without)
{
    vecs out = {0};
    for (uint32_t b = 0; b < l->n_bits[d]; b++) {
        bool is_out = l->basis[d][b] == 0;
        for (uint32_t i = 0; i < without->n; i++) {
            is_out = is_out || without->vec[i] == l->basis[d][b];
        }
        if (!is_out) {
            push(&out, l->basis[d][b], 1u << b);
        }
    }
    return out;
}

/* Register vectors that both have, up to `most`: P. */
static vecs packed(const pg_layout *from, const pg_layout *to, uint32_t most, pg_shuffle *out)
{
    vecs p = {0};
    const uint32_t *f = from->basis[PG_LIN_REG], *t = to->basis[PG_LIN_REG];
    for (uint32_t b = 0; b < to->n_bits[PG_LIN_REG]; b++) {
        for (uint32_t a = 0; a < from->n_bits[PG_LIN_REG] && p.n < most; a++) {
            if (t[b] != 0 && f[a] == t[b]) {
                out->from_pack[p.n] = (uint8_t)a;
                out->to_pack[p.n] = (uint8_t)b;
                push(&p, t[b], 1u << b);
                break;
            }
        }
    }
    out->n_pack_log2 = (uint8_t)p.n;
    return p;
}

/* Where the element x comes from; false if it is not in the warp, or arrives with its pack turned.
 */
static bool find_source(const basis *sources, uint32_t x, uint32_t *lane)
{
    uint32_t turned = 0;
    return component(sources, x, 0, &turned) && turned == 0 && component(sources, x, 2, lane);
}

static bool find(const pg_layout *from, const pg_layout *to, uint32_t most_pack, pg_shuffle *out)
{
    memset(out, 0, sizeof *out);
    const vecs p = packed(from, to, most_pack, out), none = {0};
    const vecs all_fr = vectors_of(from, PG_LIN_REG, &p), tr = vectors_of(to, PG_LIN_REG, &p);
    const vecs fr = beyond(&p, &none, &all_fr), tr_free = beyond(&p, &none, &tr);
    const vecs fl = vectors_of(from, PG_LIN_LANE, &none), tl = vectors_of(to, PG_LIN_LANE, &none);
    if (tr_free.n != tr.n || fr.n > tr.n || tr.n > 16) {
        return false;
    }
    const vecs only_f = beyond(&p, &tr, &fr), only_t = beyond(&p, &fr, &tr);
    const vecs frtr = joined(&fr, &tr), lanes = joined(&fl, &tl);
    vecs g = beyond(&p, &frtr, &lanes);
    for (uint32_t i = 0; i < only_f.n; i++) {
        push(&g, only_f.vec[i] ^ only_t.vec[i], 0);
    }
    vecs k = g;
    for (uint32_t i = only_f.n; i < only_t.n; i++) {
        push(&k, only_t.vec[i], 0);
    }
    basis takes = {0}, offers = {0}, sources = {0};
    add_part(&takes, &p), add_part(&takes, &tr), add_part(&takes, &g);
    add_part(&offers, &p), add_part(&offers, &fr), add_part(&offers, &k);
    add_part(&sources, &p), add_part(&sources, &fr), add_part(&sources, &fl);
    bool is_good = true;
    out->n_round_bits = (uint8_t)tr.n;
    for (uint32_t i = 0; i < tr.n; i++) {
        out->take_of_round[i] = tr.tag[i];
        is_good = is_good && component(&offers, tr.vec[i], 1, &out->offer_of_round[i]) &&
                  find_source(&sources, tr.vec[i], &out->src_lane_of_round[i]);
    }
    for (uint32_t b = 0; b < LANE_BITS; b++) {
        uint32_t x = to->basis[PG_LIN_LANE][b];
        is_good = is_good && component(&takes, x, 1, &out->take_of_lane[b]) &&
                  component(&offers, from->basis[PG_LIN_LANE][b], 1, &out->offer_of_lane[b]);
        for (uint32_t i = 0; i < tr.n; i++) {
            x ^= (out->take_of_lane[b] & tr.tag[i]) != 0 ? tr.vec[i] : 0;
        }
        is_good = is_good && find_source(&sources, x, &out->src_lane_of_lane[b]);
    }
    return is_good;
}

bool pg_shuffle_find(const pg_layout *from, const pg_layout *to, uint32_t elem_bits,
                     pg_shuffle *out)
{
    uint32_t n = from->n_bits[PG_LIN_WARP];
    bool is_linear = from->n_outer == 0 && to->n_outer == 0;
    if (!is_linear || from->n_bits[PG_LIN_LANE] != LANE_BITS ||
        to->n_bits[PG_LIN_LANE] != LANE_BITS || to->n_bits[PG_LIN_WARP] != n ||
        memcmp(from->basis[PG_LIN_WARP], to->basis[PG_LIN_WARP], n * sizeof(uint32_t)) != 0) {
        return false;
    }
    for (uint32_t most = elem_bits == 8 ? 2 : elem_bits == 16;; most--) {
        if (find(from, to, most, out)) {
            return true;
        }
        if (most == 0) {
            return false;
        }
    }
}

static uint32_t evaluate(const uint32_t *of_round, uint32_t n, const uint32_t *of_lane,
                         uint32_t round, uint32_t lane)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum ^= (round >> i & 1) != 0 ? of_round[i] : 0;
    }
    for (uint32_t b = 0; b < LANE_BITS; b++) {
        sum ^= (lane >> b & 1) != 0 ? of_lane[b] : 0;
    }
    return sum;
}

uint32_t pg_shuffle_source(const pg_shuffle *s, uint32_t round, uint32_t lane)
{
    return evaluate(s->src_lane_of_round, s->n_round_bits, s->src_lane_of_lane, round, lane);
}

uint32_t pg_shuffle_offered(const pg_shuffle *s, uint32_t round, uint32_t lane)
{
    return evaluate(s->offer_of_round, s->n_round_bits, s->offer_of_lane, round, lane);
}

uint32_t pg_shuffle_taken(const pg_shuffle *s, uint32_t round, uint32_t lane)
{
    return evaluate(s->take_of_round, s->n_round_bits, s->take_of_lane, round, lane);
}
