/* ops_sync.c: instructions by which lanes or warps meet: shfl, vote, match, redux, elect, bar.warp,
 * bar. */
#include "tools/exec/ops.h"
#include "tools/exec/race.h"

enum {
    M_SHFL,
    M_VOTE,
    M_BALLOT,
    M_MATCH_ANY,
    M_MATCH_ALL,
    M_REDUX,
    M_ELECT,
    M_WARP_BAR
}; /* pe_inst.type */
enum { SHFL_UP = 1, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

/* ---- shfl
 * ---------------------------------------------------------------------------------------------------
 */

static void shfl_results(pe_warp *w, const pe_inst *i, uint32_t set, pe_met *out)
{
    pg_foreach_lane(l, set)
    {
        uint32_t b = w->wait_val[l][1] & 31u;
        uint32_t seg = w->wait_val[l][2] >> 8 & 31u;
        uint32_t clamp = w->wait_val[l][2] & 31u;
        uint32_t most = (l & seg) | (clamp & ~seg);
        uint32_t least = l & seg;
        uint32_t j;
        bool is_in = false;
        switch (i->op) {
        case SHFL_UP:
            j = l - b;
            is_in = (int32_t)j >= (int32_t)most;
            break;
        case SHFL_DOWN:
            j = l + b;
            is_in = j <= most;
            break;
        case SHFL_BFLY:
            j = l ^ b;
            is_in = j <= most;
            break;
        default:
            j = least | (b & ~seg);
            is_in = j <= most;
            break;
        }
        j = is_in ? j & 31u : l;
        /* A lane that is not there gives an undefined value. */
        bool is_bad = (set >> j & 1u) == 0 || (w->wait_poison[j] & 1u) != 0;
        out->val[l] = w->wait_val[j][0];
        out->pred |= (is_in ? 1u : 0u) << l;
        out->poison |= (is_bad ? 1u : 0u) << l;
    }
}

/* ---- the others
 * ------------------------------------------------------------------------------------------------
 */

static void vote_results(const pe_warp *w, const pe_inst *i, uint32_t set, pe_met *out)
{
    uint32_t yes = 0;
    bool is_bad = false;
    pg_foreach_lane(l, set)
    {
        yes |= (w->wait_val[l][0] & 1u) << l;
        is_bad = is_bad || w->wait_poison[l] != 0;
    }
    bool r = i->op == 1 ? yes == set : i->op == 2 ? yes != 0 : yes == set || yes == 0;
    out->pred = r ? PE_ALL : 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        out->val[l] = yes;
    }
    out->poison = out->poison_pred = is_bad ? PE_ALL : 0;
}

static void match_results(const pe_warp *w, const pe_inst *i, uint32_t set, pe_met *out)
{
    bool is_all = true;
    pg_foreach_lane(l, set)
    {
        uint32_t same = 0;
        for (uint32_t k = 0; k < PE_LANES; k++) {
            same |= (set >> k & 1u) != 0 && w->wait_big[k] == w->wait_big[l] ? 1u << k : 0;
            out->poison |= (set >> k & 1u) != 0 && w->wait_poison[k] != 0 ? PE_ALL : 0;
        }
        out->val[l] = same;
        is_all = is_all && same == set;
    }
    if (i->type == M_MATCH_ALL) {
        for (uint32_t l = 0; l < PE_LANES; l++) {
            out->val[l] = is_all ? set : 0;
        }
        out->pred = is_all ? PE_ALL : 0;
    }
    out->poison_pred = out->poison;
}

/* Which lane leads is not said, but that it is the same for the same lanes: with seed 0 the first,
 * else drawn. */
static uint32_t leader_of(const pe_warp *w, uint32_t set)
{
    uint64_t x = w->cta->launch->o.seed ^ (uint64_t)set << 32;
    uint32_t n = w->cta->launch->o.seed == 0 ? 0 : (uint32_t)(pe_random(&x) >> 33) % pe_count(set);
    while (n-- > 0) {
        set &= set - 1;
    }
    return pe_first(set);
}

static uint32_t fold(uint32_t op, bool is_signed, uint32_t a, uint32_t b)
{
    bool is_less = is_signed ? (int32_t)a < (int32_t)b : a < b;
    switch (op) {
    case 1: return a + b;
    case 2: return is_less ? a : b;
    case 3: return is_less ? b : a;
    case 4: return a & b;
    case 5: return a | b;
    default: return a ^ b;
    }
}

static void redux_results(const pe_warp *w, const pe_inst *i, uint32_t set, pe_met *out)
{
    uint32_t first = pe_first(set);
    uint32_t r = w->wait_val[first][0];
    bool is_bad = w->wait_poison[first] != 0;
    pg_foreach_lane(l, set & ~(1u << first))
    {
        r = fold(i->op, i->n != 0, r, w->wait_val[l][0]);
        is_bad = is_bad || w->wait_poison[l] != 0;
    }
    for (uint32_t l = 0; l < PE_LANES; l++) {
        out->val[l] = r;
    }
    out->poison = is_bad ? PE_ALL : 0;
}

void pe_sync_results(pe_warp *w, const pe_inst *i, uint32_t set, pe_met *out)
{
    memset(out, 0, sizeof *out);
    if (w->cta->races != NULL) {
        pe_race_meet(w, set, i->type == M_WARP_BAR);
    }
    switch (i->type) {
    case M_SHFL: shfl_results(w, i, set, out); break;
    case M_VOTE:
    case M_BALLOT: vote_results(w, i, set, out); break;
    case M_MATCH_ANY:
    case M_MATCH_ALL: match_results(w, i, set, out); break;
    case M_REDUX: redux_results(w, i, set, out); break;
    case M_ELECT:
        for (uint32_t l = 0; l < PE_LANES; l++) {
            out->val[l] = leader_of(w, set);
        }
        out->pred = 1u << leader_of(w, set);
        break;
    default: break;
    }
}

/* Operands at arrival: a the value (32 bits, or 64 where size is 8, or a predicate where size is
 * 1), b and c the shuffle's; the member mask is ext row `target`. */
static void arrive(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *members = pe_src32(w, i->target);
    if (pe_is_poison(w, i, pe_poison32(w, i->target) & mask, PTXEXEC_F_POISON_SYNC,
                     "the member mask")) {
        return;
    }
    uint32_t poison = 0;
    const uint32_t *b = i->b != PE_NONE ? pe_src32(w, i->b) : NULL;
    const uint32_t *c = i->c != PE_NONE ? pe_src32(w, i->c) : NULL;
    if (b != NULL && pe_is_poison(w, i, (pe_poison32(w, i->b) | pe_poison32(w, i->c)) & mask,
                                  PTXEXEC_F_POISON_SYNC, "the lane to read from")) {
        return;
    }
    pg_foreach_lane(l, mask)
    {
        w->wait_mask[l] = members[l];
        w->wait_val[l][1] = b != NULL ? b[l] : 0;
        w->wait_val[l][2] = c != NULL ? c[l] : 0;
        if (i->a == PE_NONE) {
            continue;
        }
        if (i->size == 1) {
            w->wait_val[l][0] = pe_srcp(w, i->a) >> l & 1u;
            poison = pe_poisonp(w, i->a);
        } else if (i->size == 8) {
            w->wait_big[l] = pe_src64(w, i->a)[l];
            poison = pe_poison64(w, i->a);
        } else {
            w->wait_val[l][0] = pe_src32(w, i->a)[l];
            w->wait_big[l] = w->wait_val[l][0];
            poison = pe_poison32(w, i->a);
        }
        w->wait_poison[l] = poison >> l & 1u;
    }
    pe_sync_arrive(w, i, mask);
}

/* d or d|p */
static void take_results(pe_dec *d, uint32_t bits)
{
    const pg_ptx_opnd *o = pe_arg(d, 0);
    if (o->kind == PG_PTX_O_PAIR) {
        d->i.d = pe_out_opnd(d, &d->pf->pool.at[o->id], 32);
        d->i.d2 = pe_out_opnd(d, &d->pf->pool.at[o->id + 1], 1);
    } else if (bits == 1) {
        d->i.d2 = pe_out_opnd(d, o, 1);
    } else {
        d->i.d = pe_out_opnd(d, o, 32);
    }
}

static bool take_sync(pe_dec *d)
{
    if (!pe_take(d, "sync")) {
        pe_unsupported(d, "the form without .sync");
        return false;
    }
    return true;
}

void pe_dec_shfl(pe_dec *d)
{
    if (!take_sync(d)) {
        return;
    }
    d->i.type = M_SHFL;
    d->i.op = (uint16_t)pe_take_one(d, "up down bfly idx");
    pg_ptx_type t = pe_take_type(d);
    d->i.size = 4;
    take_results(d, 32);
    d->i.a = pe_in(d, 1, 32);
    d->i.b = pe_in(d, 2, 32);
    d->i.c = pe_in(d, 3, 32);
    d->i.target = pe_in(d, 4, 32);
    pe_emit(d, t == PG_PTX_B32 && d->i.op != 0 ? arrive : NULL);
}

void pe_dec_vote(pe_dec *d)
{
    if (!take_sync(d)) {
        return;
    }
    d->i.op = (uint16_t)pe_take_one(d, "all any uni ballot");
    d->i.type = d->i.op == 4 ? M_BALLOT : M_VOTE;
    pg_ptx_type t = pe_take_type(d);
    d->i.size = 1;
    take_results(d, d->i.op == 4 ? 32 : 1);
    d->i.a = pe_in(d, 1, 1);
    d->i.target = pe_in(d, 2, 32);
    pe_emit(d, d->i.op != 0 && t == (d->i.op == 4 ? PG_PTX_B32 : PG_PTX_PRED) ? arrive : NULL);
}

void pe_dec_match(pe_dec *d)
{
    uint32_t mode = pe_take_one(d, "any all");
    if (!take_sync(d)) {
        return;
    }
    d->i.type = mode == 2 ? M_MATCH_ALL : M_MATCH_ANY;
    pg_ptx_type t = pe_take_type(d);
    d->i.size = (uint8_t)(pe_type_bits(t) / 8);
    take_results(d, 32);
    d->i.a = pe_in(d, 1, pe_type_bits(t));
    d->i.target = pe_in(d, 2, 32);
    pe_emit(d, mode != 0 && (t == PG_PTX_B32 || t == PG_PTX_B64) ? arrive : NULL);
}

void pe_dec_redux(pe_dec *d)
{
    if (!take_sync(d)) {
        return;
    }
    d->i.type = M_REDUX;
    d->i.op = (uint16_t)pe_take_one(d, "add min max and or xor");
    pg_ptx_type t = pe_take_type(d);
    d->i.n = pe_type_is_signed(t) ? 1 : 0;
    d->i.size = 4;
    d->i.d = pe_out(d, 0, 32);
    d->i.a = pe_in(d, 1, 32);
    d->i.target = pe_in(d, 2, 32);
    pe_emit(d, d->i.op != 0 && pe_type_bits(t) == 32 && pe_type_class(t) != 'F' ? arrive : NULL);
}

void pe_dec_elect(pe_dec *d)
{
    if (!take_sync(d)) {
        return;
    }
    d->i.type = M_ELECT;
    take_results(d, 32);
    d->i.target = pe_in(d, 1, 32);
    pe_emit(d, arrive);
}

static void activemask(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    uint32_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = mask;
    }
    pe_put32(w, i->d, t, mask, 0);
}

void pe_dec_activemask(pe_dec *d)
{
    pg_ptx_type t = pe_take_type(d);
    d->i.d = pe_out(d, 0, 32);
    pe_emit(d, t == PG_PTX_B32 ? activemask : NULL);
}

/* ---- barriers of the CTA
 * ------------------------------------------------------------------------------------------- */

/* a: number, b: count or none, c: predicate of .red; op: 1 the lanes wait; n: PE_BAR_* */
static void bar(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *id = pe_src32(w, i->a);
    const uint32_t *count = i->b != PE_NONE ? pe_src32(w, i->b) : NULL;
    uint32_t poison = pe_poison32(w, i->a) | (count != NULL ? pe_poison32(w, i->b) : 0);
    poison |= i->c != PE_NONE ? pe_poisonp(w, i->c) : 0;
    if (pe_is_poison(w, i, poison & mask, PTXEXEC_F_POISON_SYNC, "an operand of the barrier")) {
        return;
    }
    pe_bar_arrival a = {
        .kind = i->n, .is_waiting = i->op == 1, .pred = i->c != PE_NONE ? pe_srcp(w, i->c) : 0};
    while (mask != 0 && !w->cta->is_failed) {
        uint32_t lane = pe_first(mask);
        uint32_t same = 0;
        pg_foreach_lane(l, mask)
        {
            bool is_same = id[l] == id[lane] && (count == NULL || count[l] == count[lane]);
            same |= is_same ? 1u << l : 0;
        }
        a.id = id[lane];
        a.expected = count != NULL ? count[lane] : 0;
        if (count != NULL && (a.expected == 0 || a.expected % PE_LANES != 0)) {
            pe_fault_at(w, i, PTXEXEC_F_BARRIER, (pe_place){.lanes = same},
                        "a count of %u threads is not a positive multiple of the warp size",
                        a.expected);
            return;
        }
        pe_bar_arrive(w, i, same, &a);
        mask &= ~same;
    }
}

static void decode_warp_bar(pe_dec *d)
{
    if (!take_sync(d)) {
        return;
    }
    d->i.type = M_WARP_BAR;
    d->i.target = pe_in(d, 0, 32);
    pe_emit(d, arrive);
}

static void decode_bar_red(pe_dec *d)
{
    uint32_t kind = pe_take_one(d, "popc and or");
    pg_ptx_type t = pe_take_type(d);
    uint32_t n = pe_n_args(d);
    d->i.n = (uint8_t)(kind == 1 ? PE_BAR_POPC : kind == 2 ? PE_BAR_AND : PE_BAR_OR);
    d->i.op = 1;
    if (kind == 0 || n < 3 || n > 4 || t != (kind == 1 ? PG_PTX_U32 : PG_PTX_PRED)) {
        pe_unsupported(d, "this form");
        return;
    }
    if (kind == 1) {
        d->i.d = pe_out(d, 0, 32);
    } else {
        d->i.d2 = pe_out(d, 0, 1);
    }
    d->i.a = pe_in(d, 1, 32);
    if (n == 4) {
        d->i.b = pe_in(d, 2, 32);
    }
    d->i.c = pe_in(d, n - 1, 1);
    pe_emit(d, bar);
}

void pe_dec_bar(pe_dec *d)
{
    if (pe_take(d, "warp")) {
        decode_warp_bar(d);
        return;
    }
    if (pe_take(d, "cluster")) {
        pe_dec_cluster_barrier(d);
        return;
    }
    if (pg_str_is(d->op, "bar") || pe_take(d, "aligned")) {
        d->i.flags |= PE_I_ALIGNED;
    }
    (void)pe_take(d, "cta");
    uint32_t what = pe_take_one(d, "sync arrive red");
    if (what == 3) {
        decode_bar_red(d);
        return;
    }
    d->i.op = what == 1 ? 1 : 0;
    d->i.n = PE_BAR_PLAIN;
    uint32_t n = pe_n_args(d);
    if (what == 0 || n < 1 || n > 2 || (what == 2 && n < 2)) {
        pe_unsupported(d, "this form");
        return;
    }
    d->i.a = pe_in(d, 0, 32);
    if (n == 2) {
        d->i.b = pe_in(d, 1, 32);
    }
    pe_emit(d, bar);
}
