/* decode.c: statements -> pe_inst: modifiers, operands, functions. */
#include "tools/exec/decode.h"

#include <stdlib.h>

/* ---- table ------------------------------------------------------------------------------------
 */

typedef struct op_row {
    const char *opcode;
    pe_decoder decoder;
} op_row;

static const op_row op_rows[] = {
#define EXEC(opcode, decoder) {opcode, decoder},
#include "tools/exec/exec_ops.def"
};

pe_decoder pe_decoder_find(pg_str opcode)
{
    size_t lo = 0;
    size_t hi = PG_COUNT_OF(op_rows);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = pg_str_cmp(opcode, pg_str_of(op_rows[mid].opcode));
        if (c == 0) {
            return op_rows[mid].decoder;
        }
        if (c < 0) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return NULL;
}

/* ---- modifiers --------------------------------------------------------------------------------
 */

/* Splits "ld.global.L2::128B.f32" at single dots. */
static bool split_opcode(pe_dec *d, pg_str text)
{
    d->n_mods = 0;
    size_t from = 0;
    bool is_first = true;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '.') {
            continue;
        }
        pg_str word = pg_str_sub(text, from, i);
        from = i + 1;
        if (is_first) {
            d->op = word;
            is_first = false;
        } else if (d->n_mods == PE_MAX_MODS) {
            return false;
        } else {
            d->is_taken[d->n_mods] = false;
            d->mod[d->n_mods++] = word;
        }
    }
    return true;
}

bool pe_take(pe_dec *d, const char *word)
{
    for (uint32_t k = 0; k < d->n_mods; k++) {
        if (!d->is_taken[k] && pg_str_is(d->mod[k], word)) {
            d->is_taken[k] = true;
            return true;
        }
    }
    return false;
}

uint32_t pe_take_one(pe_dec *d, const char *words)
{
    for (uint32_t k = 0; k < d->n_mods; k++) {
        if (d->is_taken[k]) {
            continue;
        }
        uint32_t index = 1;
        for (const char *p = words; *p != 0; index++) {
            const char *end = strchr(p, ' ');
            size_t len = end != NULL ? (size_t)(end - p) : strlen(p);
            if (pg_str_eq(d->mod[k], (pg_str){p, len})) {
                d->is_taken[k] = true;
                return index;
            }
            p += len + (end != NULL ? 1 : 0);
        }
    }
    return 0;
}

pg_ptx_type pe_take_type(pe_dec *d)
{
    for (uint32_t k = 0; k < d->n_mods; k++) {
        if (d->is_taken[k]) {
            continue;
        }
        for (uint32_t t = 1; t < PG_PTX_T_COUNT; t++) {
            if (pg_str_is(d->mod[k], pg_ptx_type_infos[t].text)) {
                d->is_taken[k] = true;
                return (pg_ptx_type)t;
            }
        }
    }
    return PG_PTX_T_NONE;
}

uint32_t pe_type_bits(pg_ptx_type t)
{
    return pg_ptx_type_infos[t].bits;
}
char pe_type_class(pg_ptx_type t)
{
    return pg_ptx_type_infos[t].cls;
}
bool pe_type_is_signed(pg_ptx_type t)
{
    return pg_ptx_type_infos[t].cls == 'S';
}

/* ---- errors ------------------------------------------------------------------------------------
 */

void pe_unsupported(pe_dec *d, const char *why)
{
    if (!d->is_failed) {
        d->is_failed = true;
        (void)pg_diag_add(&d->m->diags, PG_D_EXEC_UNSUPPORTED, d->s->loc, PG_STR_ARG(d->s->text),
                          why);
    }
}

void pe_invalid(pe_dec *d, const char *why)
{
    if (!d->is_failed) {
        d->is_failed = true;
        (void)pg_diag_add(&d->m->diags, PG_D_EXEC_INVALID, d->s->loc, PG_STR_ARG(d->s->text), why);
    }
}

void *pe_new(pe_dec *d, size_t size, size_t count)
{
    return pg_arena_get(&d->m->arena, size, count);
}

/* ---- operands -----------------------------------------------------------------------------------
 */

const pg_ptx_opnd *pe_arg(pe_dec *d, uint32_t k)
{
    static const pg_ptx_opnd none = {.kind = PG_PTX_O_NONE};
    if (k >= d->s->n_ops) {
        pe_invalid(d, "an operand is missing");
        return &none;
    }
    return &d->pf->pool.at[d->s->ops + k];
}

uint32_t pe_n_args(const pe_dec *d)
{
    return d->s->n_ops;
}

pe_opnd pe_const32(pe_dec *d, uint32_t x)
{
    ptxexec_module *m = d->m;
    uint32_t *known = pg_map_get(&m->c32_ids, x);
    if (known != NULL) {
        return PE_CONST | *known;
    }
    uint32_t row = m->c32.n;
    if (!pg_vec_push(&m->arena, &m->c32, x) || !pg_map_put(&m->c32_ids, x, row)) {
        return PE_CONST;
    }
    return PE_CONST | row;
}

pe_opnd pe_const64(pe_dec *d, uint64_t x)
{
    ptxexec_module *m = d->m;
    uint32_t *known = pg_map_get(&m->c64_ids, x);
    if (known != NULL) {
        return PE_CONST | *known;
    }
    uint32_t row = m->c64.n;
    if (!pg_vec_push(&m->arena, &m->c64, x) || !pg_map_put(&m->c64_ids, x, row)) {
        return PE_CONST;
    }
    return PE_CONST | row;
}

/* The first of the rows of a register. */
static uint32_t new_rows(pe_func *f, uint32_t bits)
{
    uint32_t *n = bits == 1 ? &f->np : bits >= 64 ? &f->n64 : &f->n32;
    uint32_t first = *n;
    *n += bits == 128 ? 2 : 1;
    return first;
}

pe_opnd pe_temp(pe_dec *d, uint32_t bits)
{
    return new_rows(d->f, bits);
}

uint32_t pe_reg_bits(const pe_dec *d, const pg_ptx_opnd *o)
{
    return o->kind == PG_PTX_O_REG && o->id < d->pf->regs.n
               ? pe_type_bits((pg_ptx_type)d->pf->regs.at[o->id].type)
               : 0;
}

static uint32_t bank_of(uint32_t bits)
{
    return bits == 1 ? 1 : bits <= 32 ? 32 : bits;
}

static pe_opnd reg_row(pe_dec *d, const pg_ptx_opnd *o, uint32_t bits)
{
    if (o->id >= d->pf->regs.n) {
        pe_invalid(d, "a register is not declared");
        return PE_NONE;
    }
    uint32_t declared = pe_reg_bits(d, o);
    if (bank_of(declared) != bank_of(bits)) {
        pe_invalid(d, "a register's width does not fit the instruction's type");
        return PE_NONE;
    }
    return d->row_of_reg[o->id];
}

static void not_pred(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    pe_putp(w, i->d, ~pe_srcp(w, i->a), mask, pe_poisonp(w, i->a));
}

static uint64_t immediate(const pg_ptx_opnd *o, uint32_t bits)
{
    uint64_t x = (uint64_t)o->imm;
    if (o->kind == PG_PTX_O_F64 && bits <= 32) {
        double v = pg_f64_of_bits(x);
        return bits == 16 ? pg_f64_to_f16(v) : pg_f32_bits((float)v);
    }
    if (o->kind == PG_PTX_O_F32 && bits != 32) {
        float v = pg_f32_of_bits((uint32_t)x);
        return bits == 16 ? pg_f32_to_f16(v) : pg_f64_bits((double)v);
    }
    return bits == 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

static pe_opnd symbol_value(pe_dec *d, uint32_t sym_id, int64_t offset, uint32_t bits)
{
    if (sym_id >= d->m->ptx->syms.n || bits == 1) {
        pe_invalid(d, bits == 1 ? "an address is no predicate" : "a name is not declared");
        return PE_NONE;
    }
    const pg_ptx_sym *sym = &d->m->ptx->syms.at[sym_id];
    pe_inst i = {
        .fn = pe_mov_symbol, .guard = PE_NONE, .src = d->i.src, .flags = PE_I_MICRO, .imm = offset};
    i.size = bits == 64 ? 8 : 4;
    i.target = sym_id;
    if (sym->kind == PG_PTX_SYM_FUNC) {
        i.op = 2;
        i.imm = (int64_t)(PE_FUNC_WINDOW + (uint64_t)sym->func * 16);
    } else if (d->local_at[sym_id] != UINT32_MAX) {
        i.op = 1;
        i.imm += d->local_at[sym_id];
    } else if (d->param_at[sym_id] != UINT32_MAX) {
        i.op = 2;
        i.imm += d->param_at[sym_id];
    } else if (sym->kind == PG_PTX_SYM_VAR) {
        if ((sym->linkage & PG_PTX_L_EXTERN) != 0 && sym->space != PG_PTX_SP_SHARED) {
            pe_unsupported(d, "a variable of another module");
            return PE_NONE;
        }
        i.op = 0;
        i.n = sym->space == PG_PTX_SP_SHARED ? 1 : 0;
    } else {
        pe_unsupported(d, "the address of this name");
        return PE_NONE;
    }
    (void)pg_vec_push(&d->m->arena, &d->f->uses, sym_id);
    i.d = pe_temp(d, bits == 64 ? 64 : 32);
    pe_opnd row = i.d;
    pe_emit_micro(d, i);
    return row;
}

static void nonzero(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *a = pe_src32(w, i->a);
    uint32_t p = 0;
    for (uint32_t l = 0; l < PE_LANES; l++) {
        p |= a[l] != 0 ? 1u << l : 0;
    }
    pe_putp(w, i->d, p, mask, pe_poison32(w, i->a));
}

static pe_opnd sreg_value(pe_dec *d, const pg_ptx_opnd *o, uint32_t bits)
{
    uint32_t own_bits = 32;
    uint32_t which = o->id < PG_PTX_SREG_COUNT
                         ? pe_sreg_find(pg_str_of(pg_ptx_sreg_infos[o->id].text), &own_bits)
                         : 0;
    if (which == 0) {
        pe_unsupported(d, "this special register");
        return PE_NONE;
    }
    pe_inst i = {.fn = pe_mov_sreg, .guard = PE_NONE, .src = d->i.src, .flags = PE_I_MICRO};
    i.op = (uint16_t)which;
    i.n = o->n == 255 ? 0 : (uint8_t)o->n;
    i.size = bits == 64 ? 8 : 4;
    i.d = pe_temp(d, bits == 64 ? 64 : 32);
    pe_opnd row = i.d;
    pe_emit_micro(d, i);
    if (bits == 1) { /* %is_explicit_cluster is a predicate */
        pe_inst p = {.fn = nonzero, .guard = PE_NONE, .src = d->i.src, .flags = PE_I_MICRO};
        p.a = row;
        p.d = pe_temp(d, 1);
        row = p.d;
        pe_emit_micro(d, p);
    }
    return row;
}

pe_opnd pe_in_opnd(pe_dec *d, const pg_ptx_opnd *o, uint32_t bits)
{
    if (bits == 128 && o->kind != PG_PTX_O_REG) {
        pe_unsupported(d, "an operand of this kind");
        return PE_NONE;
    }
    switch (o->kind) {
    case PG_PTX_O_REG: {
        pe_opnd row = reg_row(d, o, bits);
        if (row == PE_NONE || bits != 1 || (o->flags & PG_PTX_OF_NEG) == 0) {
            return row;
        }
        pe_inst i = {.fn = not_pred, .guard = PE_NONE, .src = d->i.src, .flags = PE_I_MICRO};
        i.a = row;
        i.d = pe_temp(d, 1);
        row = i.d;
        pe_emit_micro(d, i);
        return row;
    }
    case PG_PTX_O_INT:
    case PG_PTX_O_F32:
    case PG_PTX_O_F64:
        if (bits == 1) {
            return PE_CONST | (o->imm != 0 ? 1u : 0u);
        }
        return bits == 64 ? pe_const64(d, immediate(o, 64))
                          : pe_const32(d, (uint32_t)immediate(o, bits));
    case PG_PTX_O_SREG: return sreg_value(d, o, bits);
    case PG_PTX_O_SYM: return symbol_value(d, o->id, o->imm, bits);
    default: pe_unsupported(d, "an operand of this kind"); return PE_NONE;
    }
}

pe_opnd pe_in(pe_dec *d, uint32_t k, uint32_t bits)
{
    return pe_in_opnd(d, pe_arg(d, k), bits);
}

pe_opnd pe_in_type(pe_dec *d, uint32_t k, pg_ptx_type t)
{
    const pg_ptx_opnd *o = pe_arg(d, k);
    if (o->kind == PG_PTX_O_F64 && (t == PG_PTX_BF16 || t == PG_PTX_BF16X2)) {
        uint32_t x = pg_f64_to_bf16(pg_f64_of_bits((uint64_t)o->imm));
        return pe_const32(d, t == PG_PTX_BF16 ? x : x | x << 16);
    }
    return pe_in_opnd(d, o, pe_type_bits(t));
}

pe_opnd pe_out_opnd(pe_dec *d, const pg_ptx_opnd *o, uint32_t bits)
{
    if (o->kind == PG_PTX_O_SINK) {
        return pe_temp(d, bits);
    }
    if (o->kind != PG_PTX_O_REG) {
        pe_invalid(d, "the result is not a register");
        return PE_NONE;
    }
    return reg_row(d, o, bits);
}

pe_opnd pe_out(pe_dec *d, uint32_t k, uint32_t bits)
{
    return pe_out_opnd(d, pe_arg(d, k), bits);
}

static void widen_address(pe_warp *w, const pe_inst *i, uint32_t mask)
{
    const uint32_t *a = pe_src32(w, i->a);
    uint64_t t[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        t[l] = a[l];
    }
    pe_put64(w, i->d, t, mask, pe_poison32(w, i->a));
}

void pe_in_address(pe_dec *d, uint32_t k)
{
    const pg_ptx_opnd *o = pe_arg(d, k);
    if (o->kind != PG_PTX_O_ADDR) {
        pe_invalid(d, "an address is expected");
        return;
    }
    const pg_ptx_opnd *base = &d->pf->pool.at[o->id];
    d->i.imm = o->imm;
    if (base->kind == PG_PTX_O_REG && bank_of(pe_reg_bits(d, base)) == 32) {
        pe_inst i = {.fn = widen_address, .guard = PE_NONE, .src = d->i.src, .flags = PE_I_MICRO};
        i.a = reg_row(d, base, 32);
        i.d = pe_temp(d, 64);
        d->i.a = i.d;
        if (i.a != PE_NONE) {
            pe_emit_micro(d, i);
        }
        return;
    }
    d->i.a = pe_in_opnd(d, base, 64);
}

/* ---- emitting -----------------------------------------------------------------------------------
 */

/* Operands that decoding materialises need no guard of their own: they write temporaries only. */
void pe_emit_micro(pe_dec *d, pe_inst i)
{
    (void)pg_vec_push(&d->m->arena, &d->m->code, i);
}

void pe_emit(pe_dec *d, pe_fn fn)
{
    if (d->is_failed) {
        return;
    }
    if (fn == NULL) {
        pe_unsupported(d, "this type");
        return;
    }
    d->i.fn = fn;
    (void)pg_vec_push(&d->m->arena, &d->m->code, d->i);
}

/* ---- functions ----------------------------------------------------------------------------------
 */

static uint32_t opcode_id(ptxexec_module *m, pg_str text)
{
    uint32_t *known = pg_map_get_str(&m->opcode_ids, text);
    if (known != NULL) {
        return *known;
    }
    uint32_t id = m->opcodes.n;
    pg_str copy = pg_arena_str(&m->arena, text);
    if (!pg_vec_push(&m->arena, &m->opcodes, copy) || !pg_map_put_str(&m->opcode_ids, copy, id)) {
        return 0;
    }
    return id;
}

static void decode_statement(pe_dec *d)
{
    ptxexec_module *m = d->m;
    d->is_failed = false;
    d->i = (pe_inst){
        .guard = PE_NONE, .d = PE_NONE, .d2 = PE_NONE, .a = PE_NONE, .b = PE_NONE, .c = PE_NONE};
    pe_src src = {.loc = d->s->loc, .opcode = opcode_id(m, d->s->text)};
    d->i.src = m->srcs.n;
    if (!pg_vec_push(&m->arena, &m->srcs, src)) {
        return;
    }
    if (!split_opcode(d, d->s->text)) {
        pe_unsupported(d, "that many modifiers");
        return;
    }
    pe_decoder decoder = pe_decoder_find(d->op);
    if (decoder == NULL) {
        pe_unsupported(d, "this instruction");
        return;
    }
    if (d->s->guard.kind == PG_PTX_O_REG) {
        d->i.guard = reg_row(d, &d->s->guard, 1);
        d->i.flags |= (d->s->guard.flags & PG_PTX_OF_NEG) != 0 ? PE_I_GUARD_NEG : 0;
    }
    decoder(d);
    for (uint32_t k = 0; k < d->n_mods && !d->is_failed; k++) {
        if (!d->is_taken[k]) {
            char why[64];
            size_t n = d->mod[k].len < 48 ? d->mod[k].len : 48;
            memcpy(why, "modifier .", 10);
            memcpy(why + 10, d->mod[k].ptr, n);
            why[10 + n] = 0;
            pe_unsupported(d, why);
        }
    }
}

static uint32_t *new_table(ptxexec_module *m, uint32_t n, uint32_t value)
{
    uint32_t *t = PG_NEWS(&m->arena, uint32_t, (size_t)n + 1);
    for (uint32_t k = 0; t != NULL && k < n; k++) {
        t[k] = value;
    }
    return t;
}

static uint32_t *assign_rows(ptxexec_module *m, pe_func *f)
{
    uint32_t *rows = new_table(m, f->ptx->regs.n, 0);
    for (uint32_t k = 0; rows != NULL && k < f->ptx->regs.n; k++) {
        rows[k] = new_rows(f, pe_type_bits((pg_ptx_type)f->ptx->regs.at[k].type));
    }
    return rows;
}

static void end_of_body(pe_dec *d)
{
    pg_ptx_stmt end = {.kind = PG_PTX_S_INST, .text = PG_STR("ret")};
    if (d->pf->body.n > 0) {
        end.loc = d->pf->body.at[d->pf->body.n - 1].loc;
    }
    d->s = &end;
    decode_statement(d);
    if (d->m->code.n > 0) {
        d->m->code.at[d->m->code.n - 1].flags |= PE_I_MICRO;
    }
    d->s = NULL;
}

/* The mask of .pragma "used_bytes_mask N": N in any of C's bases. All bytes for other texts. */
static uint32_t used_bytes_of(pg_str raw)
{
    const pg_str word = PG_STR("\"used_bytes_mask ");
    size_t at = 0;
    while (at < raw.len && raw.ptr[at] != '"') {
        at++;
    }
    pg_str rest = pg_str_sub(raw, at, raw.len);
    if (!pg_str_starts(rest, word)) {
        return UINT32_MAX;
    }
    char number[16] = {0};
    for (size_t k = 0; k + 1 < sizeof number && word.len + k < rest.len; k++) {
        number[k] = rest.ptr[word.len + k];
    }
    char *end = NULL;
    unsigned long long mask = strtoull(number, &end, 0);
    return end != number && *end == '"' && mask <= UINT32_MAX ? (uint32_t)mask : UINT32_MAX;
}

static void decode_func(ptxexec_module *m, pe_func *f, uint32_t *local_at, const uint32_t *param_at)
{
    const pg_ptx_func *pf = f->ptx;
    uint32_t *label_pc = new_table(m, pf->labels.n, UINT32_MAX);
    uint32_t *rows = assign_rows(m, f);
    if (label_pc == NULL || rows == NULL) {
        return;
    }
    pe_dec d = {.m = m,
                .f = f,
                .pf = pf,
                .row_of_reg = rows,
                .local_at = local_at,
                .param_at = param_at,
                .carry = PE_NONE,
                .used_bytes = UINT32_MAX};
    pe_layout_frame(m, f, local_at, rows);
    f->entry_pc = m->code.n;
    uint32_t first_src = m->srcs.n;
    for (uint32_t k = 0; k < pf->body.n; k++) {
        d.s = &pf->body.at[k];
        if (d.s->kind == PG_PTX_S_LABEL && d.s->id < pf->labels.n) {
            label_pc[d.s->id] = m->code.n;
        } else if (d.s->kind == PG_PTX_S_INST) {
            decode_statement(&d);
            d.used_bytes = UINT32_MAX;
        } else if (d.s->kind == PG_PTX_S_RAW) {
            d.used_bytes &= used_bytes_of(d.s->text);
        }
    }
    pe_track_func(&d, first_src);
    end_of_body(&d);
    for (uint32_t k = 0; k < d.fixups.n; k++) {
        pe_fixup x = d.fixups.at[k];
        uint32_t pc = x.label < pf->labels.n ? label_pc[x.label] : UINT32_MAX;
        if (pc == UINT32_MAX) {
            (void)pg_diag_add(&m->diags, PG_D_EXEC_INVALID, x.loc, 3, "bra",
                              "the label is not there");
        } else if (x.where != NULL) {
            *x.where = pc;
        } else {
            m->code.at[x.pc].target = pc;
        }
    }
}

void pe_decode_module(ptxexec_module *m)
{
    uint32_t n_syms = m->ptx->syms.n;
    uint32_t *local_at = new_table(m, n_syms, UINT32_MAX);
    uint32_t *param_at = new_table(m, n_syms, UINT32_MAX);
    if (local_at == NULL || param_at == NULL) {
        return;
    }
    for (uint32_t k = 0; k < m->funcs.n; k++) {
        pe_func *f = m->funcs.at[k];
        if (f->is_entry) {
            pe_layout_params(m, f, param_at);
        }
    }
    for (uint32_t k = 0; k < m->funcs.n; k++) {
        pe_func *f = m->funcs.at[k];
        if (f->ptx->has_body && !m->arena.is_oom) {
            decode_func(m, f, local_at, param_at);
        }
    }
}
