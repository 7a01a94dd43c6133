/* lower_mma.c: asynchronous matrix operations of warp groups (wgmma).
 *
 * A token is its accumulator registers: they are written by mma.begin once, and every operation of
 * the chain adds to them in place; a loop carries them without moves.
 *
 * An operand is a 64-bit descriptor: the high half is constant (facts: swizzle, strides), the low
 * one is the address / 16. The descriptor of a buffer's slot 0 and the warp group's part of it is
 * made once, where the partition begins; slot * (bytes / 16) and the step along K are added. The
 * warp group's number comes through shfl.sync.idx, so that ptxas keeps descriptors in uniform
 * registers. */
#include "emit/lower_int.h"

enum { GROUP_ROWS = 64 };

typedef struct operand { /* A or B */
    const pg_lv *buf;
    pg_layout l;
    uint32_t size;    /* bytes of an element */
    bool is_mn_major; /* stored K x MN */
    uint64_t high;    /* descriptor without the address */
    uint32_t mn, k;   /* extents */
} operand;

typedef struct mma {
    const pg_inst *inst;
    operand a, b;
    const pg_lw_layout *acc;
    uint32_t n, k;   /* of one instruction */
    const char *why; /* why not */
} mma;

/* Byte offset of (mn, k) in a slot. Multiples of 8 rows and of 16 bytes: the swizzle keeps them. */
static uint32_t offset_of(const operand *o, uint32_t mn, uint32_t k)
{
    uint32_t at[PG_MAX_RANK] = {o->is_mn_major ? k : mn, o->is_mn_major ? mn : k};
    uint32_t index[PG_LIN_DIM_COUNT] = {0};
    return pg_layout_find(&o->l, at, index) ? index[PG_LIN_OFFSET] * o->size : 0;
}

static const char *describe(pg_lw *c, pg_val v, bool is_mn_major, operand *o)
{
    const pg_type_info *t = pg_val_info(c->k, v);
    *o = (operand){.buf = pg_lw_lv(c, v), .is_mn_major = is_mn_major};
    if (pg_layout_of_buf(c->types, pg_val_type(c->k, v), &o->l) != PG_LAYOUT_OK || o->l.rank != 2) {
        return "operands that are not two-dimensional";
    }
    o->size = pg_elem_infos[t->elem].bits / 8u;
    o->mn = o->l.dims[is_mn_major ? 1 : 0];
    o->k = o->l.dims[is_mn_major ? 0 : 1];
    const pg_enc_info *e = pg_enc_get(c->types, t->enc);
    uint32_t swizzle = e->swizzle;
    if (swizzle == 0 || e->order[0] != 1) {
        return "operands without a swizzle, or with columns first";
    }
    if (o->l.dims[1] * o->size != swizzle) {
        return "rows that are not as wide as the swizzle";
    }
    if (is_mn_major && o->size != 2) {
        return "transposed operands that are not 16 bits wide";
    }
    uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
    uint64_t stride = 8u * swizzle / 16; /* between groups of 8 rows */
    o->high = mode << 62 | stride << 32 | UINT64_C(1) << 16;
    return NULL;
}

/* Descriptor of slot 0; what the warp group adds to the row is `v` for each bit of its number. */
static pg_ptx_opnd base_desc(pg_lw *c, const operand *o, const uint32_t *v, uint32_t n_bits)
{
    pg_el at = pg_lw_smem_addr(c, o->buf->obj, pg_el_imm(0), 0);
    pg_ptx_opnd group = {0};
    for (uint32_t b = 0; b < n_bits;) {
        if (v[b] == 0) {
            b++;
            continue;
        }
        uint32_t width = 1;
        while (b + width < n_bits && v[b + width] == v[b] << width) {
            width++;
        }
        group = pg_lw_reg(pg_lw_warp_group(c));
        if (b != 0) {
            group = pg_lw_opnd2(c, "shr.u32", PG_PTX_B32, group, pg_ptx_int(b));
        }
        if (b + width < n_bits) {
            group = pg_lw_opnd2(c, "and.b32", PG_PTX_B32, group, pg_ptx_int((1 << width) - 1));
        }
        at = pg_lw_iadd(c, PG_I32, at,
                        pg_lw_imul(c, PG_I32, pg_el_reg(group.id), pg_el_imm(v[b]), true), true);
        b += width;
    }
    pg_ptx_opnd addr = pg_lw_use(c, PG_I32, at);
    pg_ptx_opnd part = pg_lw_opnd3(c, "bfe.u32", PG_PTX_B32, addr, pg_ptx_int(4), pg_ptx_int(14));
    pg_ptx_opnd wide = pg_lw_opnd1(c, "cvt.u64.u32", PG_PTX_B64, part);
    return pg_lw_opnd2(c, "or.b64", PG_PTX_B64, wide, pg_ptx_int((int64_t)o->high));
}

/* Rows (dimension d of the accumulator) that each bit of the warp group's number adds, in bytes. */
static uint32_t group_steps(const mma *m, const operand *o, uint32_t d, uint32_t *v)
{
    const pg_layout *l = &m->acc->l;
    uint32_t n = l->n_bits[PG_LIN_WARP] > 2 ? l->n_bits[PG_LIN_WARP] - 2u : 0;
    for (uint32_t b = 0; b < n; b++) {
        uint32_t index[PG_LIN_DIM_COUNT] = {0};
        uint32_t at[PG_MAX_RANK];
        index[PG_LIN_WARP] = 4u << b;
        pg_layout_at(l, index, at);
        v[b] = offset_of(o, at[d], 0);
    }
    return n;
}

static pg_ptx_opnd operand_desc(pg_lw *c, const mma *m, const operand *o, uint32_t d)
{
    uint32_t v[16] = {0};
    uint32_t n = group_steps(m, o, d, v);
    return base_desc(c, o, v, n);
}

/* The slot's part, which changes from turn to turn. */
static pg_ptx_opnd slot_desc(pg_lw *c, const operand *o, pg_ptx_opnd base, int64_t *skip)
{
    pg_el slot = o->buf->has_slot ? o->buf->slot : pg_el_imm(0);
    int64_t step = o->buf->obj->slot_stride / 16;
    if (slot.reg == 0) {
        *skip = o->buf->is_bytes ? slot.imm / 16 : slot.imm * step;
        return base;
    }
    *skip = 0;
    pg_ptx_opnd at = pg_lw_use(c, PG_I32, slot);
    pg_ptx_opnd by;
    if (o->buf->is_bytes) {
        pg_ptx_opnd units = pg_lw_opnd2(c, "shr.u32", PG_PTX_B32, at, pg_ptx_int(4));
        by = pg_lw_opnd1(c, "cvt.u64.u32", PG_PTX_B64, units);
    } else {
        by = pg_lw_opnd2(c, "mul.wide.u32", PG_PTX_B64, at, pg_ptx_int(step));
    }
    return pg_lw_opnd2(c, "add.s64", PG_PTX_B64, base, by);
}

static pg_ptx_opnd plus(pg_lw *c, pg_ptx_opnd desc, int64_t by)
{
    return by == 0 ? desc : pg_lw_opnd2(c, "add.s64", PG_PTX_B64, desc, pg_ptx_int(by));
}

/* ---- what one operation is ------------------------------------------------------------------- */

static const char *opcode_types(pg_elem a, pg_elem b, pg_elem acc)
{
    if (acc != PG_F32) {
        return NULL;
    }
    if (a == b && (a == PG_F16 || a == PG_BF16 || a == PG_TF32)) {
        return a == PG_F16 ? ".f32.f16.f16" : a == PG_BF16 ? ".f32.bf16.bf16" : ".f32.tf32.tf32";
    }
    bool is_a8 = a == PG_E4M3 || a == PG_E5M2, is_b8 = b == PG_E4M3 || b == PG_E5M2;
    if (!is_a8 || !is_b8) {
        return NULL;
    }
    return a == PG_E4M3 ? (b == PG_E4M3 ? ".f32.e4m3.e4m3" : ".f32.e4m3.e5m2")
                        : (b == PG_E4M3 ? ".f32.e5m2.e4m3" : ".f32.e5m2.e5m2");
}

static void analyse(pg_lw *c, const pg_inst *i, mma *m)
{
    *m = (mma){.inst = i};
    const pg_type_info *ta = pg_val_info(c->k, i->in[0]);
    pg_type acc = pg_token_tile(c->k, i->in[2]);
    const pg_type_info *tc = pg_type_get(c->types, acc);
    m->why = describe(c, i->in[0], pg_attr_has(&i->attrs, PG_A_TRANSA), &m->a);
    if (m->why == NULL) { /* without transb, B is stored K x N */
        m->why = describe(c, i->in[1], !pg_attr_has(&i->attrs, PG_A_TRANSB), &m->b);
    }
    if (m->why != NULL) {
        return;
    }
    const pg_enc_info *e = pg_enc_get(c->types, tc->enc);
    m->acc = e->kind == PG_ENC_WGMMA ? pg_lw_layout_of(c, i, acc) : NULL;
    if (m->acc == NULL || m->acc->l.n_outer != 0) {
        m->why = "an accumulator whose encoding is not wgmma, with powers of two";
        return;
    }
    m->n = e->shape[1];
    m->k = 32u / m->a.size;
    if (m->a.k != m->b.k || m->a.k % m->k != 0 || m->a.mn != m->acc->l.dims[0] ||
        m->b.mn != m->acc->l.dims[1]) {
        m->why = "operands whose extents do not fit";
    }
    if (opcode_types((pg_elem)ta->elem, (pg_elem)pg_val_info(c->k, i->in[1])->elem,
                     (pg_elem)tc->elem) == NULL) {
        m->why = "these element types";
    }
    if (m->a.buf->obj == NULL || m->b.buf->obj == NULL) {
        m->why = "operands that are no buffers";
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Views inside loops have no value yet: the buffer behind a view is what counts. */
static pg_val root_buffer(const pg_kernel *k, pg_val v)
{
    const pg_inst *def = pg_val_def(k, v);
    while (def != NULL && def->op == PG_OP_BUF_VIEW) {
        v = def->in[0];
        def = pg_val_def(k, v);
    }
    return v;
}

static void prepare_operand(pg_lw *c, const mma *m, operand *o, pg_val v, uint32_t d)
{
    o->buf = pg_lw_lv(c, root_buffer(c->k, v));
    if (o->buf->obj != NULL) {
        operand_desc(c, m, o, d);
    }
}

void pg_lw_prepare_mma(pg_lw *c, const pg_inst *i)
{
    mma m;
    analyse(c, i, &m);
    if (m.acc != NULL && m.n != 0) {
        prepare_operand(c, &m, &m.a, i->in[0], 0);
        prepare_operand(c, &m, &m.b, i->in[1], 1);
    }
}

LOWER(MMA_BEGIN)
{
    const pg_lv *tile = pg_lw_in(c, i, 0);
    pg_elem e = pg_lw_elem(pg_val_info(c->k, i->in[0]));
    pg_el *el = PG_NEWS(&c->scratch, pg_el, tile->n + 1);
    if (el == NULL) {
        return;
    }
    for (uint32_t r = 0; r < tile->n; r++) {
        uint32_t reg = pg_lw_new_reg(c, pg_lw_reg_type(e));
        el[r] = pg_el_reg(reg);
        pg_ptx_opnd ops[2] = {pg_lw_reg(reg), pg_lw_use(c, e, tile->el[r])};
        pg_lw_emit(c, e == PG_F32 ? "mov.f32" : "mov.b32", 2, ops);
    }
    c->vals[i->out[0].id] = (pg_lv){.kind = PG_LV_TOKEN, .n = tile->n, .el = el};
}

LOWER(MMA_FENCE)
{
    (void)i;
    pg_lw_emit0(c, "wgmma.fence.sync.aligned");
}

/* Registers of the block at (row, col) of the warp group, in the order of the D fragment. */
static bool fragment(pg_lw *c, const mma *m, const pg_lv *token, uint32_t row, uint32_t col,
                     pg_ptx_opnd *out)
{
    pg_ptx_opnd *d = PG_NEWS(&c->scratch, pg_ptx_opnd, m->n / 2);
    uint32_t n = 0;
    for (uint32_t r = 0; d != NULL && r < m->acc->n_regs && r < token->n; r++) {
        const uint32_t *at = pg_lw_coord(m->acc, r);
        uint32_t at_row = at[0] - row, at_col = at[1] - col;
        if (at_row >= GROUP_ROWS || at_col >= m->n) {
            continue;
        }
        uint32_t e = 4 * (at_col / 8) + 2 * (at_row / 8) + at_col % 8;
        if (at_row % 8 != 0 || at_row / 8 > 1 || at_col % 8 > 1 || e >= m->n / 2) {
            return false;
        }
        d[e] = pg_lw_reg(token->el[r].reg - 1);
        n++;
    }
    if (d == NULL || n != m->n / 2) {
        return false;
    }
    *out = pg_ptx_vec(&c->b, d, n);
    return true;
}

static void spell(pg_strbuf *t, const pg_lw *c, const mma *m)
{
    pg_elem a = (pg_elem)pg_val_info(c->k, m->inst->in[0])->elem;
    pg_elem b = (pg_elem)pg_val_info(c->k, m->inst->in[1])->elem;
    pg_putf(t, "wgmma.mma_async.sync.aligned.m64n%uk%u%s", m->n, m->k, opcode_types(a, b, PG_F32));
}

typedef struct block { /* one m64nNk* after another along K */
    uint32_t row, col;
    pg_ptx_opnd a, b;
    int64_t skip_a, skip_b;
} block;

static bool emit_block(pg_lw *c, const mma *m, const pg_lv *token, const block *at, pg_str opcode)
{
    pg_ptx_opnd d;
    if (!fragment(c, m, token, at->row, at->col, &d)) {
        return false;
    }
    bool is_16 = m->a.size == 2;
    for (uint32_t k = 0; k < m->a.k; k += m->k) {
        pg_ptx_opnd ops[8] = {d};
        ops[1] = plus(c, at->a, at->skip_a + offset_of(&m->a, at->row, k) / 16);
        ops[2] = plus(c, at->b, at->skip_b + offset_of(&m->b, at->col, k) / 16);
        ops[3] = ops[4] = ops[5] = pg_ptx_int(1); /* add to D; no negation */
        ops[6] = pg_ptx_int(m->a.is_mn_major ? 1 : 0);
        ops[7] = pg_ptx_int(m->b.is_mn_major ? 1 : 0);
        pg_ptx_inst_str(&c->b, opcode, is_16 ? 8 : 6, ops);
    }
    return true;
}

LOWER(MMA_ASYNC)
{
    mma m;
    analyse(c, i, &m);
    const pg_lv token = *pg_lw_in(c, i, 2);
    c->vals[i->out[0].id] = token;
    if (m.why != NULL || token.kind != PG_LV_TOKEN) {
        pg_lw_refuse(c, i, m.why != NULL ? m.why : "this token");
        return;
    }
    block at = {0};
    at.a = slot_desc(c, &m.a, operand_desc(c, &m, &m.a, 0), &at.skip_a);
    at.b = slot_desc(c, &m.b, operand_desc(c, &m, &m.b, 1), &at.skip_b);
    pg_strbuf opcode;
    pg_strbuf_init(&opcode, c->m->ctx->alloc);
    spell(&opcode, c, &m);
    bool is_ok = true;
    for (uint32_t r = 0; is_ok && r < m.acc->n_regs; r++) { /* each block begins at a register */
        at.row = pg_lw_coord(m.acc, r)[0];
        at.col = pg_lw_coord(m.acc, r)[1];
        bool is_first = at.row % GROUP_ROWS == 0 && at.col % m.n == 0;
        if (is_first) {
            is_ok = pg_strbuf_status(&opcode) == PG_OK &&
                    emit_block(c, &m, &token, &at, pg_strbuf_str(&opcode));
        }
    }
    if (!is_ok && pg_strbuf_status(&opcode) == PG_OK && !pg_lw_failed(c)) {
        pg_lw_refuse(c, i, "this accumulator");
    }
    if (opcode.is_oom) {
        c->b.is_failed = true;
    }
    pg_strbuf_fini(&opcode);
    pg_lw_emit0(c, "wgmma.commit_group.sync.aligned");
}

LOWER(MMA_WAIT)
{
    pg_ptx_opnd n = pg_ptx_int(pg_attr_int(&i->attrs, PG_A_IN_FLIGHT, 0));
    pg_lw_emit(c, "wgmma.wait_group.sync.aligned", 1, &n);
    if (i->n_out != 0) {
        const pg_lv *token = pg_lw_in(c, i, 0);
        c->vals[i->out[0].id] = (pg_lv){.kind = PG_LV_TILE, .n = token->n, .el = token->el};
    }
}
