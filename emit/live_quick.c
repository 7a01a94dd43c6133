/* live_quick.c: an upper bound of what is live, in one pass over the text.
 *
 * It answers the question that is asked of every kernel, whether it fits by far, without edges
 * between blocks, references by register, or orders. Most kernels do.
 *
 * I1  A register is taken to live from its first reference to its last. Where it is not written
 *     first and used in one block, and such an end stands between a block and one that jumps back
 *     to it, it lives in all of that, and in all that overlaps with it. No walk through the blocks
 *     leaves such a range and comes back to it: so it holds all points where the register lives.
 * I2  Loads are taken to run right before the first statement that needs them, as ptxas runs them:
 *     not across what orders memory or control, nor across a write of what they read or write. What
 *     they read lives until there. Nothing else moves.
 * I3  Every register costs what its width says, and every division its slow path: at least what
 *     pg_live_costs says.
 *
 * The text is read from its end. A place is the number of statements from there on: the last
 * statement is 1, an earlier one has a greater number, and 0 is none. */
#include <string.h>

#include "emit/live_int.h"

/* What an opcode is here. What the table does not name orders something. */
enum {
    KNOWN = 1,
    WRITES = 2, /* its first operand */
    ORDERS = 4, /* memory or control */
    LOADS = 8,
    SLOW = 16,
    JUMPS = 32,
    ENDS = 64, /* a block */
    ADDS = 128 /* reads what it writes as well */
};

static const struct {
    const char *opcode;
    uint8_t is;
} opcodes[] = {
    {"abs", 0},
    {"add", 0},
    {"and", 0},
    {"bra", ORDERS | JUMPS | ENDS},
    {"brx", ORDERS | JUMPS | ENDS},
    {"cvt", 0},
    {"cvta", 0},
    {"div", ORDERS | SLOW},
    {"ex2", 0},
    {"exit", ORDERS | ENDS},
    {"fma", 0},
    {"ld", LOADS},
    {"ldmatrix", LOADS},
    {"lg2", 0},
    {"lop3", 0},
    {"mad", 0},
    {"max", 0},
    {"min", 0},
    {"mma", 0},
    {"mov", 0},
    {"mul", 0},
    {"neg", 0},
    {"not", 0},
    {"or", 0},
    {"prmt", 0},
    {"rcp", ORDERS | SLOW},
    {"rem", ORDERS | SLOW},
    {"ret", ORDERS | ENDS},
    {"rsqrt", 0},
    {"selp", 0},
    {"setp", 0},
    {"shf", 0},
    {"shl", 0},
    {"shr", 0},
    {"sqrt", ORDERS | SLOW},
    {"sub", 0},
    {"tanh", 0},
    {"trap", ORDERS | ENDS},
    {"wgmma", ORDERS | ADDS},
    {"xor", 0},
};

typedef enum begin { BY_READ, BY_WRITE, BY_LOAD } begin; /* the last: written before `first` */

typedef struct quick_reg { /* places of statements; 0: none so far */
    uint32_t first, end;   /* the first and the last that name it */
    uint32_t use;          /* the first behind that needs it */
    uint32_t def;          /* the first behind that writes it */
    uint32_t begin;
} quick_reg;

typedef struct quick_place {
    uint32_t block;
    uint32_t n_orders; /* statements that order something, this one and those behind */
} quick_place;

typedef struct quick_block { /* the last block is number 0 */
    uint32_t first;          /* statement */
    uint32_t jumps_from;     /* the last block that jumps back to this; UINT32_MAX: none */
    uint32_t from, end;      /* statements of the stretch around it; end 0: none */
} quick_block;

enum { MOST_NAMED = 256 };

typedef struct quick_list {
    uint32_t n;
    uint32_t reg[MOST_NAMED];
} quick_list;

typedef struct quick {
    const pg_ptx_func *f;
    pg_arena *arena;
    quick_reg *regs;
    quick_place *places; /* by place */
    PG_VEC(quick_block) blocks;
    PG_VEC(uint32_t) jumps;   /* pairs: block, label */
    int32_t *change;          /* by statement: what begins to live before it, less what ends */
    uint32_t place;           /* of the statement at hand */
    bool is_lost;             /* there is something that this bound does not see through */
    uint8_t is[PG_ISA_COUNT]; /* by row: what it is */
    quick_list reads, writes; /* of a load */
} quick;

static uint8_t look_up(pg_isa_id row)
{
    const char *opcode = pg_isa_rows[row].opcode;
    const char role = pg_isa_rows[row].operands[0];
    const uint8_t writes = role == 'd' || role == '?' ? KNOWN | WRITES : KNOWN;
    for (size_t i = 0; i < PG_COUNT_OF(opcodes) && row != PG_ISA_NONE; i++) {
        if (opcodes[i].opcode[0] == opcode[0] && strcmp(opcodes[i].opcode, opcode) == 0) {
            return opcodes[i].is | writes;
        }
    }
    return ORDERS | writes;
}

/* ---- where registers live ---------------------------------------------------------------------
 */

/* Of the statement at hand, where all that it names has been named only behind it. */
static inline void note_reg(quick *q, uint32_t reg, bool is_write)
{
    if (reg >= q->f->regs.n) {
        q->is_lost = true;
        return;
    }
    quick_reg *r = &q->regs[reg];
    r->first = q->place;
    r->end = r->end == 0 ? q->place : r->end;
    if (is_write) {
        r->begin = BY_WRITE;
        r->use = 0;
        r->def = q->place;
    } else {
        r->begin = BY_READ;
        r->use = q->place;
    }
}

static inline bool is_address(const pg_ptx_opnd *o)
{
    return o->kind == PG_PTX_O_ADDR || o->kind == PG_PTX_O_TADDR;
}

static inline uint32_t n_parts_of(const pg_ptx_opnd *o)
{
    return o->kind == PG_PTX_O_SINK ? 0 : o->kind == PG_PTX_O_ADDR ? 1 : o->n;
}

/* NOLINTNEXTLINE(misc-no-recursion): PG_PTX_MAX_NEST */
static void note_parts(quick *q, const pg_ptx_opnd *o, bool is_write, uint32_t depth)
{
    const pg_ptx_opnd *part = &q->f->pool.at[o->id];
    is_write = is_write && !is_address(o);
    q->is_lost = q->is_lost || depth == PG_PTX_MAX_NEST;
    for (uint32_t n = n_parts_of(o); n != 0 && !q->is_lost; n--, part++) {
        if (part->kind == PG_PTX_O_REG) {
            note_reg(q, part->id, is_write);
        } else if (part->kind >= PG_PTX_O_ADDR) {
            note_parts(q, part, is_write, depth + 1);
        }
    }
}

static inline void note_operand(quick *q, const pg_ptx_opnd *o, bool is_write)
{
    if (o->kind == PG_PTX_O_REG) {
        note_reg(q, o->id, is_write);
    } else if (o->kind >= PG_PTX_O_ADDR) {
        note_parts(q, o, is_write, 0);
    }
}

/* What is written, then what is read: the other way round than it runs. What a guard may prevent
 * keeps what was there, so that it is read. */
static inline void note_stmt(quick *q, const pg_ptx_stmt *s, uint8_t is)
{
    if (s->guard.kind == PG_PTX_O_REG) {
        note_reg(q, s->guard.id, false);
        is |= ADDS;
    }
    if (s->n_ops == 0) { /* and perhaps no operand in the whole function */
        return;
    }
    const pg_ptx_opnd *at = &q->f->pool.at[s->ops], *const end = at + s->n_ops;
    if ((is & WRITES) != 0) {
        note_operand(q, at, true);
        at += (is & ADDS) != 0 ? 0 : 1;
    }
    for (; at != end; at++) {
        note_operand(q, at, false);
    }
}

/* ---- loads ------------------------------------------------------------------------------------
 */

static inline void list_reg(quick *q, quick_list *to, uint32_t reg)
{
    q->is_lost = q->is_lost || to->n == MOST_NAMED || reg >= q->f->regs.n;
    if (!q->is_lost) {
        to->reg[to->n++] = reg;
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): PG_PTX_MAX_NEST */
static void list_operand(quick *q, const pg_ptx_opnd *o, quick_list *to, uint32_t depth)
{
    if (o->kind == PG_PTX_O_REG) {
        list_reg(q, to, o->id);
    } else if (o->kind >= PG_PTX_O_ADDR) {
        q->is_lost = q->is_lost || depth == PG_PTX_MAX_NEST;
        for (uint32_t i = 0; i < n_parts_of(o) && !q->is_lost; i++) {
            list_operand(q, &q->f->pool.at[o->id + i], is_address(o) ? &q->reads : to, depth + 1);
        }
    }
}

/* I2: the place before which a load runs; its own if it stays. */
static uint32_t place_of_load(const quick *q)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < q->writes.n; i++) {
        const quick_reg *r = &q->regs[q->writes.reg[i]];
        at = r->use > at ? r->use : at;
    }
    if (at == 0 || q->places[at].n_orders != q->places[q->place].n_orders) {
        return q->place;
    }
    for (uint32_t i = 0; i < q->writes.n; i++) {
        at = q->regs[q->writes.reg[i]].def > at ? q->place : at;
    }
    for (uint32_t i = 0; i < q->reads.n; i++) {
        at = q->regs[q->reads.reg[i]].def > at ? q->place : at;
    }
    return at;
}

static void note_load(quick *q, const pg_ptx_stmt *s, uint8_t is)
{
    q->reads.n = q->writes.n = 0;
    const bool has_guard = s->guard.kind == PG_PTX_O_REG;
    if (has_guard) {
        list_reg(q, &q->reads, s->guard.id);
    }
    for (uint32_t k = 0; k < s->n_ops; k++) {
        const bool is_write = k == 0 && (is & WRITES) != 0;
        list_operand(q, &q->f->pool.at[s->ops + k], is_write ? &q->writes : &q->reads, 0);
    }
    for (uint32_t i = 0; i < q->writes.n && has_guard; i++) {
        list_reg(q, &q->reads, q->writes.reg[i]);
    }
    const uint32_t at = place_of_load(q);
    for (uint32_t i = 0; i < q->writes.n; i++) {
        quick_reg *r = &q->regs[q->writes.reg[i]];
        if (at >= r->first) {
            r->first = at;
            r->begin = at == q->place ? BY_WRITE : BY_LOAD;
        }
        r->end = r->end == 0 ? at : r->end;
        r->use = 0;
        r->def = q->place;
    }
    for (uint32_t i = 0; i < q->reads.n; i++) {
        quick_reg *r = &q->regs[q->reads.reg[i]];
        if (at >= r->first) {
            r->first = at;
            r->begin = BY_READ;
        }
        r->end = r->end == 0 || at < r->end ? at : r->end;
        r->use = at > r->use ? at : r->use;
    }
}

/* ---- blocks -----------------------------------------------------------------------------------
 */

/* Statements from `first` on to the block noted before this. */
static void note_block(quick *q, uint32_t first)
{
    const quick_block b = {.first = first, .jumps_from = UINT32_MAX};
    q->is_lost = q->is_lost || !pg_vec_push(q->arena, &q->blocks, b);
}

static void note_special(quick *q, uint32_t s, uint8_t is)
{
    const pg_ptx_stmt *stmt = &q->f->body.at[s];
    if ((is & SLOW) != 0) {
        q->change[s] += PG_LIVE_SLOW_PATH;
        q->change[s + 1] -= PG_LIVE_SLOW_PATH;
        return;
    }
    const pg_ptx_opnd *to = stmt->n_ops == 1 ? &q->f->pool.at[stmt->ops] : NULL;
    const bool is_label = to != NULL && to->kind == PG_PTX_O_LABEL && to->id < q->f->label_at.n;
    q->is_lost = q->is_lost || !is_label || !pg_vec_push(q->arena, &q->jumps, q->blocks.n) ||
                 !pg_vec_push(q->arena, &q->jumps, to->id);
}

/* Unions of what stands between the two ends of jumps that go back. */
static void find_stretches(quick *q)
{
    const pg_ptx_func *f = q->f;
    quick_block *blocks = q->blocks.at;
    for (uint32_t i = 0; i + 1 < q->jumps.n; i += 2) {
        const uint32_t from = q->jumps.at[i], target = f->label_at.at[q->jumps.at[i + 1]];
        const uint32_t to = target < f->body.n ? q->places[f->body.n - target].block : 0;
        if (target < f->body.n && to >= from && from < blocks[to].jumps_from) {
            blocks[to].jumps_from = from;
        }
    }
    for (uint32_t b = q->blocks.n; b-- > 0;) { /* in order of the text */
        uint32_t last = blocks[b].jumps_from;
        if (last == UINT32_MAX) {
            continue;
        }
        for (uint32_t k = b; k + 1 > last; k--) {
            last = blocks[k].jumps_from < last ? blocks[k].jumps_from : last;
        }
        const uint32_t from = blocks[b].first;
        const uint32_t end = last == 0 ? f->body.n : blocks[last - 1].first;
        for (b++; b-- > last;) {
            blocks[b].from = from;
            blocks[b].end = end;
        }
        b = last;
    }
}

static void read_text(quick *q)
{
    const pg_ptx_func *f = q->f;
    uint32_t n_orders = 0;
    for (uint32_t s = f->body.n; s-- > 0 && !q->is_lost;) {
        const pg_ptx_stmt *stmt = &f->body.at[s];
        uint8_t is = ORDERS;
        if (stmt->kind == PG_PTX_S_INST) {
            is = q->is[stmt->row];
            is = is != 0 ? is : (q->is[stmt->row] = look_up((pg_isa_id)stmt->row));
        }
        if ((is & ENDS) != 0) {
            note_block(q, s + 1);
        }
        n_orders += (is & ORDERS) != 0;
        q->places[++q->place] = (quick_place){q->blocks.n, n_orders};
        if (stmt->kind != PG_PTX_S_INST) {
            if (stmt->kind == PG_PTX_S_LABEL) {
                note_block(q, s);
            }
        } else if ((is & LOADS) != 0) {
            note_load(q, stmt, is);
        } else {
            note_stmt(q, stmt, is);
        }
        if ((is & (SLOW | JUMPS)) != 0) {
            note_special(q, s, is);
        }
    }
    note_block(q, 0);
}

/* ---- what is live -----------------------------------------------------------------------------
 */

static void add_ranges(quick *q)
{
    const pg_ptx_func *f = q->f;
    for (uint32_t i = 0; i < f->regs.n; i++) {
        const quick_reg *r = &q->regs[i];
        const int32_t bits = pg_ptx_type_infos[f->regs.at[i].type].bits;
        if (r->end == 0 || bits == 1) {
            continue;
        }
        uint32_t first = f->body.n - r->first + (r->begin == BY_WRITE ? 1 : 0);
        uint32_t end = f->body.n - r->end + 1;
        const uint32_t first_block = q->places[r->first].block;
        const uint32_t end_block = q->places[r->end].block;
        if (first_block != end_block || r->begin == BY_READ) { /* I1 */
            const quick_block *a = &q->blocks.at[first_block], *b = &q->blocks.at[end_block];
            first = a->end != 0 ? a->from : first;
            end = b->end != 0 ? b->end : end;
        }
        if (first < end) {
            const int32_t cost = bits <= 32 ? 1 : bits / 32;
            q->change[first] += cost;
            q->change[end] -= cost;
        }
    }
}

static bool is_enough(quick *q, const pg_live_span *spans, uint32_t n_spans, pg_live_peak *out)
{
    const uint32_t n = q->f->body.n;
    int32_t now = 0;
    for (uint32_t s = 0; s < n; s++) {
        now += q->change[s];
        q->change[s] = now;
    }
    bool is_good = true;
    for (uint32_t i = 0; i < n_spans; i++) {
        const uint32_t end = spans[i].end < n ? spans[i].end : n;
        int32_t most = -1;
        out[i] = (pg_live_peak){.stmt = UINT32_MAX};
        for (uint32_t s = spans[i].first; s < end; s++) {
            if (q->change[s] > most) {
                most = q->change[s];
                out[i].stmt = s;
            }
        }
        out[i].estimate = out[i].usual = out[i].least = most < 0 ? 0 : (uint32_t)most;
        is_good = is_good && out[i].least <= spans[i].enough;
    }
    return is_good;
}

pg_status pg_live_quick(const pg_ptx_func *f, pg_arena *arena, const pg_live_span *spans,
                        uint32_t n_spans, pg_live_peak *out, bool *out_is_enough)
{
    *out_is_enough = false;
    quick *q = PG_NEW(arena, quick);
    if (q == NULL) {
        return PG_E_NOMEM;
    }
    q->f = f;
    q->arena = arena;
    q->regs = PG_NEWS(arena, quick_reg, f->regs.n + 1);
    q->places = PG_NEWS(arena, quick_place, f->body.n + 1);
    q->change = PG_NEWS(arena, int32_t, f->body.n + 2);
    PG_TRY(pg_arena_status(arena));
    read_text(q);
    if (!q->is_lost) {
        find_stretches(q);
        add_ranges(q);
        *out_is_enough = is_enough(q, spans, n_spans, out);
    }
    return pg_arena_status(arena);
}
