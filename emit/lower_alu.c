/* lower_alu.c: elementwise operations, constants, indices, pointers. */
#include "emit/lower_int.h"

/* All operands are constants: the folder's own arithmetic. */
static bool fold(const pg_inst *i, pg_elem e, pg_elem res, const pg_el *in, pg_el *out)
{
    uint64_t bits[3] = {0};
    uint32_t n = i->n_in > 3 ? 3 : i->n_in;
    for (uint32_t k = 0; k < n; k++) {
        if (in[k].reg != 0) {
            return false;
        }
        bits[k] = (uint64_t)in[k].imm;
    }
    uint64_t to = 0;
    bool is_poison = false;
    if (!pg_fold_elem((pg_op)i->op, &i->attrs, e, res, bits, &to, &is_poison)) {
        return is_poison; /* any value will do: zero */
    }
    *out = pg_el_imm((int64_t)to);
    return true;
}

static pg_el select_one(pg_lw *c, pg_elem e, const pg_el *in)
{
    if (in[0].reg == 0) {
        return in[0].imm != 0 ? in[1] : in[2];
    }
    if (pg_el_same(in[1], in[2])) {
        return in[1];
    }
    pg_ptx_opnd p = pg_lw_reg(in[0].reg - 1);
    pg_ptx_opnd a = pg_lw_use(c, e, in[1]);
    pg_ptx_opnd b = pg_lw_use(c, e, in[2]);
    pg_ptx_type type = pg_lw_reg_type(e);
    if (type == PG_PTX_PRED) { /* (p and a) or (not p and b) */
        pg_ptx_opnd not_p = pg_lw_opnd1(c, "not.pred", type, p);
        pg_ptx_opnd x = pg_lw_opnd2(c, "and.pred", type, p, a);
        pg_ptx_opnd y = pg_lw_opnd2(c, "and.pred", type, not_p, b);
        return pg_el_reg(pg_lw_pure2(c, "or.pred", type, x, y));
    }
    const char *op = type == PG_PTX_F32   ? "selp.f32"
                     : type == PG_PTX_F64 ? "selp.f64"
                     : type == PG_PTX_B64 ? "selp.b64"
                     : type == PG_PTX_B32 ? "selp.b32"
                                          : "selp.b16";
    uint32_t r = pg_lw_pure3(c, op, type, a, b, p);
    if (pg_elem_infos[e].cls == 'I') {
        pg_fact fa = pg_lw_fact(c, e, in[1]), fb = pg_lw_fact(c, e, in[2]);
        pg_lw_set_fact(c, r, fa.lo < fb.lo ? fa.lo : fb.lo, fa.hi > fb.hi ? fa.hi : fb.hi,
                       fa.align < fb.align ? fa.align : fb.align);
    }
    return pg_el_reg(r);
}

static pg_el compare(pg_lw *c, const pg_inst *i, pg_elem e, const pg_el *in)
{
    const int64_t is = pg_attr_int(&i->attrs, PG_A_IS, 0);
    return i->op == PG_OP_FCMP ? pg_lw_fcmp(c, e, is, in[0], in[1])
                               : pg_lw_icmp(c, e, is, i->op == PG_OP_ICMP, in[0], in[1]);
}

static pg_el one_element(pg_lw *c, const pg_inst *i, pg_elem e, pg_elem res, const pg_el *in)
{
    pg_el out = pg_el_imm(0);
    if (fold(i, e, res, in, &out)) {
        return out;
    }
    switch ((pg_op)i->op) {
    case PG_OP_ICMP:
    case PG_OP_UCMP:
    case PG_OP_FCMP: return compare(c, i, e, in);
    case PG_OP_SELECT: return select_one(c, res, in);
    case PG_OP_CAST: return pg_lw_cast(c, e, res, true, in[0]);
    case PG_OP_UCAST: return pg_lw_cast(c, e, res, false, in[0]);
    default: break;
    }
    if (e == PG_I1) {
        return pg_lw_i1_op(c, i, in);
    }
    return pg_elem_infos[e].cls == 'I' ? pg_lw_int_op(c, i, e, in) : pg_lw_float_op(c, i, e, in);
}

/* What is left to later issues. */
static const char *why_not(const pg_lw *c, const pg_inst *i, pg_elem e, pg_elem res)
{
    bool is_f8 = e == PG_E4M3 || e == PG_E5M2 || res == PG_E4M3 || res == PG_E5M2;
    bool is_tf32 = (e == PG_TF32 || res == PG_TF32) && i->op != PG_OP_CAST && i->op != PG_OP_UCAST;
    if ((is_f8 || is_tf32) && i->op != PG_OP_SELECT) {
        return is_f8 ? "8-bit floats" : "tf32";
    }
    (void)c;
    return NULL;
}

/* What numbers of slots among the operands and the result are held times; 0: there are none. */
static uint32_t bytes_of_slots(const pg_lw *c, const pg_inst *i)
{
    uint32_t bytes = pg_lw_slot_bytes(c, i->out[0]);
    for (uint32_t k = 0; k < i->n_in && c->slot_bytes != NULL; k++) {
        uint32_t b = pg_lw_slot_bytes(c, i->in[k]);
        bytes = b > bytes ? b : bytes;
    }
    return bytes;
}

static void lower_elementwise(pg_lw *c, const pg_inst *i)
{
    const pg_type_info *t = pg_val_info(c->k, i->out[0]);
    pg_elem res = pg_lw_elem(t);
    pg_elem e = pg_lw_elem(pg_val_info(c->k, i->in[i->op == PG_OP_SELECT ? 1 : 0]));
    const char *why = why_not(c, i, e, res);
    if (why != NULL) {
        pg_lw_refuse(c, i, why);
        return;
    }
    uint32_t n = pg_lw_count(c, i, pg_val_type(c->k, i->out[0]));
    pg_el *out = pg_lw_result(c, i, 0, n);
    const pg_el *in[3] = {NULL};
    uint32_t step[3] = {0};
    uint32_t same = pg_is_pow2(n) ? UINT32_MAX : 0;
    const uint32_t n_in = i->n_in < 3 ? i->n_in : 3;
    for (uint32_t k = 0; k < n_in; k++) {
        const pg_lv *lv = pg_lw_in(c, i, k);
        if (lv->kind != PG_LV_TILE || (lv->n != 1 && lv->n != n)) {
            pg_lw_refuse(c, i, "operands of another layout");
            return;
        }
        in[k] = lv->el;
        step[k] = lv->n == 1 ? 0 : 1;
        same &= lv->n == 1 ? UINT32_MAX : lv->same;
    }
    if (out == NULL) {
        return;
    }
    uint32_t bytes = bytes_of_slots(c, i);
    for (uint32_t r = 0; r < n; r++) {
        if ((r & same) != 0) {
            continue;
        }
        pg_el x[3] = {{0}};
        for (uint32_t k = 0; k < n_in; k++) {
            x[k] = in[k][(size_t)r * step[k]];
            if (bytes != 0 && !(i->op == PG_OP_SELECT && k == 0)) {
                x[k] = pg_lw_in_bytes(c, i->in[k], x[k], bytes);
            }
        }
        out[r] = one_element(c, i, e, res, x);
    }
    pg_lw_set_same(c, i, same);
}

#define ELEMENTWISE(id)          \
    LOWER(id)                    \
    {                            \
        lower_elementwise(c, i); \
    }
#include "ir/elementwise.def"

/* One element for all of a tile. */
static void fill(pg_lw *c, const pg_inst *i)
{
    uint32_t n = pg_lw_count(c, i, pg_val_type(c->k, i->out[0]));
    pg_el x = pg_lw_scalar(c, i, 0);
    pg_el *out = pg_lw_result(c, i, 0, n);
    if (out != NULL && n != 0) {
        out[0] = x;
        pg_lw_set_same(c, i, UINT32_MAX);
    }
}

LOWER(CONST)
{
    fill(c, i);
}

LOWER(SPLAT)
{
    fill(c, i);
}

LOWER(IOTA)
{
    pg_type type = pg_val_type(c->k, i->out[0]);
    pg_elem e = pg_lw_elem(pg_val_info(c->k, i->out[0]));
    const pg_lw_layout *l = pg_lw_layout_of(c, i, type);
    uint32_t d = (uint32_t)pg_attr_int(&i->attrs, PG_A_DIM, 0);
    pg_el *out = pg_lw_result(c, i, 0, l == NULL ? 0 : l->n_regs);
    if (out == NULL || l == NULL || d >= l->l.rank) {
        return;
    }
    pg_lw_coords(c, l, d, out);
    for (uint32_t r = 0; e != PG_I32 && r < l->n_regs; r++) {
        if ((r & l->same[d]) == 0) {
            out[r] = pg_lw_cast(c, PG_I32, e, true, out[r]);
        }
    }
    pg_lw_set_same(c, i, l->same[d]);
}

LOWER(ADDPTR)
{
    const pg_type_info *p = pg_val_info(c->k, i->in[0]);
    pg_elem e = pg_lw_elem(pg_val_info(c->k, i->in[1]));
    uint32_t n = pg_lw_count(c, i, pg_val_type(c->k, i->out[0]));
    uint32_t bits = pg_elem_infos[p->elem].bits;
    int64_t size = bits < 8 ? 1 : bits / 8;
    const pg_lv *base = pg_lw_in(c, i, 0);
    const pg_lv *off = pg_lw_in(c, i, 1);
    pg_el *out = pg_lw_result(c, i, 0, n);
    if (out == NULL || base->n == 0 || off->n == 0) {
        return;
    }
    const uint32_t same = !pg_is_pow2(n) ? 0
                                         : (base->n == 1 ? UINT32_MAX : base->same) &
                                               (off->n == 1 ? UINT32_MAX : off->same);
    for (uint32_t r = 0; r < n; r++) {
        if ((r & same) != 0) {
            continue;
        }
        pg_el by = pg_lw_sext64(c, e, off->el[off->n == 1 ? 0 : r]);
        out[r] = pg_lw_address(c, base->el[base->n == 1 ? 0 : r], by, size);
    }
    pg_lw_set_same(c, i, same);
}

static void grid_register(pg_lw *c, const pg_inst *i, pg_ptx_sreg id, int64_t lo)
{
    int axis = (int)pg_attr_int(&i->attrs, PG_A_AXIS, PG_AXIS_X);
    pg_el *out = pg_lw_result(c, i, 0, 1);
    if (out != NULL) {
        uint32_t r = pg_lw_pure1(c, "mov.u32", PG_PTX_B32, pg_ptx_sreg_opnd(id, axis));
        /* CUDA: at most 2^31 - 1 CTAs along x, 65535 along y and z */
        pg_lw_set_fact(c, r, lo, axis == PG_AXIS_X ? INT32_MAX - 1 + lo : 65534 + lo, 0);
        out[0] = pg_el_reg(r);
    }
}

LOWER(PROGRAM_ID)
{
    grid_register(c, i, PG_PTX_SREG_CTAID, 0);
}

LOWER(NUM_PROGRAMS)
{
    grid_register(c, i, PG_PTX_SREG_NCTAID, 1);
}
