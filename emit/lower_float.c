/* lower_float.c: float arithmetic. f32 and f64 natively; f16 where its own instructions round like
 * f32 and once (add, sub, mul: 24 >= 2*11 + 2), all else of f16 and bf16 in f32.
 *
 * Errors of what is inexact (F_INEXACT), f32: exp 3 ulp (approx: 2 ulp and |x| 2^-24), exp2 2 ulp,
 * log2 2^-22 absolute in [0.5, 2] and 4 ulp elsewhere, rsqrt 2 ulp, tanh 4 ulp, erf 2 ulp (from the
 * bounds that PTX and CUDA give for the approximate instructions). Those of f64: lower_f64.c. */
#include "emit/lower_int.h"

pg_ptx_opnd pg_lw_to_f32(pg_lw *c, pg_elem e, pg_el a)
{
    if (e == PG_F32) {
        return pg_lw_use(c, e, a);
    }
    if (a.reg == 0) {
        return pg_ptx_f32(pg_f32_bits((float)pg_elem_to_f64(e, (uint64_t)a.imm)));
    }
    const char *op = e == PG_TF32 ? "mov.b32" : e == PG_F16 ? "cvt.f32.f16" : "cvt.f32.bf16";
    return pg_lw_opnd1(c, op, PG_PTX_F32, pg_lw_reg(a.reg - 1));
}

pg_el pg_lw_from_f32(pg_lw *c, pg_elem e, pg_ptx_opnd x)
{
    if (e == PG_F32) {
        return x.kind == PG_PTX_O_F32 ? pg_el_imm(x.imm) : pg_el_reg(x.id);
    }
    const char *op = e == PG_TF32  ? "cvt.rna.tf32.f32"
                     : e == PG_F16 ? "cvt.rn.f16.f32"
                                   : "cvt.rn.bf16.f32";
    return pg_el_reg(pg_lw_pure1(c, op, pg_lw_reg_type(e), x));
}

static pg_ptx_opnd f32_imm(float x)
{
    return pg_ptx_f32(pg_f32_bits(x));
}

static pg_ptx_opnd op1(pg_lw *c, const char *op, pg_ptx_opnd a)
{
    return pg_lw_opnd1(c, op, PG_PTX_F32, a);
}

static pg_ptx_opnd op2(pg_lw *c, const char *op, pg_ptx_opnd a, pg_ptx_opnd b)
{
    return pg_lw_opnd2(c, op, PG_PTX_F32, a, b);
}

static pg_ptx_opnd fma32(pg_lw *c, pg_ptx_opnd a, pg_ptx_opnd b, pg_ptx_opnd d)
{
    return pg_lw_opnd3(c, "fma.rn.f32", PG_PTX_F32, a, b, d);
}

/* 2^(hi + lo), hi + lo = x * log2(e): ex2 takes hi, a linear factor takes lo. Where x is so large
 * that hi is infinite, lo is no number; the maximum with -1 makes a positive factor of it. */
static pg_ptx_opnd exp_f32(pg_lw *c, pg_ptx_opnd x, bool is_rough, bool is_approx)
{
    pg_ptx_opnd log2e = pg_ptx_f32(0x3FB8AA3B);
    pg_ptx_opnd hi = op2(c, "mul.rn.f32", x, log2e);
    if (is_approx) {
        return op1(c, "ex2.approx.ftz.f32", hi);
    }
    if (is_rough) { /* for 11 bits and fewer */
        return op1(c, "ex2.approx.f32", hi);
    }
    pg_ptx_opnd minus_hi = op1(c, "neg.f32", hi);
    pg_ptx_opnd lo = fma32(c, x, log2e, minus_hi);
    lo = fma32(c, x, pg_ptx_f32(0x32A57060), lo); /* log2(e) - float(log2(e)) */
    lo = op2(c, "max.f32", lo, f32_imm(-1.0F));
    pg_ptx_opnd factor = fma32(c, lo, pg_ptx_f32(0x3F317218), f32_imm(1.0F));
    return op2(c, "mul.rn.f32", op1(c, "ex2.approx.f32", hi), factor);
}

/* Within 2 ulp. Where the divisor is neither too small nor too large for it, the plain reciprocal
 * of it: the flush touches nothing then. */
static pg_ptx_opnd divide_approx(pg_lw *c, const pg_inst *i, const pg_ptx_opnd *x)
{
    pg_frange r = pg_lw_frange(c->k, i->in[1]);
    if (r.lo >= 0x1p-120 && r.hi <= 0x1p120) {
        return op2(c, "mul.rn.f32", x[0], op1(c, "rcp.approx.ftz.f32", x[1]));
    }
    return op2(c, "div.full.f32", x[0], x[1]);
}

/* Below 0.6 an odd polynomial, above 1 - 2 / (exp(2|x|) + 1), which is 1 where exp is infinite. */
static pg_ptx_opnd tanh_f32(pg_lw *c, pg_ptx_opnd x)
{
    static const uint32_t poly[] = {0xBBC12C18, 0x3CAA5C4C, 0xBD5C4C6E, 0x3E0884D7, 0xBEAAAA9F};
    pg_ptx_opnd size = op1(c, "abs.f32", x);
    pg_ptx_opnd square = op2(c, "mul.rn.f32", x, x);
    pg_ptx_opnd sum = pg_ptx_f32(poly[0]);
    for (uint32_t i = 1; i < PG_COUNT_OF(poly); i++) {
        sum = fma32(c, sum, square, pg_ptx_f32(poly[i]));
    }
    pg_ptx_opnd small = fma32(c, op2(c, "mul.rn.f32", sum, square), x, x);
    pg_ptx_opnd power =
        op1(c, "ex2.approx.f32", op2(c, "mul.rn.f32", size, pg_ptx_f32(0x4038AA3B)));
    pg_ptx_opnd part = op1(c, "rcp.approx.f32", op2(c, "add.rn.f32", power, f32_imm(1.0F)));
    pg_ptx_opnd large = fma32(c, part, f32_imm(-2.0F), f32_imm(1.0F));
    large = op2(c, "copysign.f32", x, large); /* sign of the first */
    pg_ptx_opnd is_small = pg_lw_opnd2(c, "setp.lt.f32", PG_PTX_PRED, size, f32_imm(0.6F));
    return pg_lw_opnd3(c, "selp.f32", PG_PTX_F32, small, large, is_small);
}

static pg_ptx_opnd horner(pg_lw *c, pg_ptx_opnd x, const uint32_t *poly, uint32_t n)
{
    pg_ptx_opnd sum = pg_ptx_f32(poly[0]);
    for (uint32_t i = 1; i < n; i++) {
        sum = fma32(c, sum, x, pg_ptx_f32(poly[i]));
    }
    return sum;
}

/* Up to 0.9275: x + x * P(x^2), P fitted to erf(x) / x - 1. Above: 1 - 2^Q(|x|), Q fitted to
 * log2(erfc) on [0.9275, 4]; at 4 and beyond the result is 1. Both fits are weighted minimax
 * (Lawson's iteration) of our own, coefficients rounded to f32: 1.1 ulp with an exact 2^x, and
 * ex2.approx adds less than 0.5 since erfc is below 0.24 of erf there. NaN takes the first way. */
static pg_ptx_opnd erf_f32(pg_lw *c, pg_ptx_opnd x)
{
    static const uint32_t p[] = {0xBA1C5F8E, 0x3BA373E9, 0xBCDB3E98,
                                 0x3DE70CBA, 0xBEC09370, 0x3E0375D3};
    static const uint32_t q[] = {0xB80035B1, 0x3A24B792, 0xBBC56E0D, 0x3D1484CF,
                                 0xBE1FFEE6, 0xBF69E826, 0xBFD09567, 0x3985A31C};
    pg_ptx_opnd size = op1(c, "abs.f32", x);
    pg_ptx_opnd square = op2(c, "mul.rn.f32", x, x);
    pg_ptx_opnd small = fma32(c, horner(c, square, p, PG_COUNT_OF(p)), x, x);
    pg_ptx_opnd most = op2(c, "min.f32", size, f32_imm(4.0F));
    pg_ptx_opnd rest = op1(c, "ex2.approx.f32", horner(c, most, q, PG_COUNT_OF(q)));
    pg_ptx_opnd large = op2(c, "sub.rn.f32", f32_imm(1.0F), rest);
    large = op2(c, "copysign.f32", x, large); /* sign of the first */
    pg_ptx_opnd is_large = pg_lw_opnd2(c, "setp.gt.f32", PG_PTX_PRED, size, pg_ptx_f32(0x3F6D70A4));
    return pg_lw_opnd3(c, "selp.f32", PG_PTX_F32, large, small, is_large);
}

static pg_ptx_opnd frem_f32(pg_lw *c, pg_ptx_opnd x, pg_ptx_opnd y)
{
    pg_ptx_opnd q = op2(c, "div.rn.f32", x, y);
    q = op1(c, "neg.f32", op1(c, "cvt.rzi.f32.f32", q));
    return fma32(c, q, y, x);
}

/* The operation in f32; is_rough: the result is rounded to f16 or bf16. */
static pg_ptx_opnd compute_f32(pg_lw *c, const pg_inst *i, const pg_ptx_opnd *x, bool is_rough)
{
    bool is_approx = pg_attr_has(&i->attrs, PG_A_APPROX);
    switch ((pg_op)i->op) {
    case PG_OP_FADD: return op2(c, "add.rn.f32", x[0], x[1]);
    case PG_OP_FSUB: return op2(c, "sub.rn.f32", x[0], x[1]);
    case PG_OP_FMUL: return op2(c, "mul.rn.f32", x[0], x[1]);
    case PG_OP_FDIV: return is_approx ? divide_approx(c, i, x) : op2(c, "div.rn.f32", x[0], x[1]);
    case PG_OP_FREM: return frem_f32(c, x[0], x[1]);
    case PG_OP_FMIN: return op2(c, "min.f32", x[0], x[1]);
    case PG_OP_FMAX: return op2(c, "max.f32", x[0], x[1]);
    case PG_OP_FNEG: return op1(c, "neg.f32", x[0]);
    case PG_OP_FABS: return op1(c, "abs.f32", x[0]);
    case PG_OP_FMA: return fma32(c, x[0], x[1], x[2]);
    case PG_OP_EXP: return exp_f32(c, x[0], is_rough, is_approx);
    case PG_OP_EXP2: return op1(c, "ex2.approx.f32", x[0]);
    case PG_OP_LOG2: return op1(c, "lg2.approx.f32", x[0]);
    case PG_OP_SQRT: return op1(c, is_approx ? "sqrt.approx.f32" : "sqrt.rn.f32", x[0]);
    case PG_OP_RSQRT: return op1(c, "rsqrt.approx.f32", x[0]);
    case PG_OP_ERF: return erf_f32(c, x[0]);
    default: return is_approx ? op1(c, "tanh.approx.f32", x[0]) : tanh_f32(c, x[0]);
    }
}

static uint32_t frem_f64(pg_lw *c, pg_ptx_opnd x, pg_ptx_opnd y)
{
    pg_ptx_opnd q = pg_lw_opnd2(c, "div.rn.f64", PG_PTX_F64, x, y);
    q = pg_lw_opnd1(c, "cvt.rzi.f64.f64", PG_PTX_F64, q);
    q = pg_lw_opnd1(c, "neg.f64", PG_PTX_F64, q);
    return pg_lw_pure3(c, "fma.rn.f64", PG_PTX_F64, q, y, x);
}

static pg_el compute_f64(pg_lw *c, const pg_inst *i, const pg_ptx_opnd *x)
{
    const char *op;
    uint32_t n = 2;
    switch ((pg_op)i->op) {
    case PG_OP_FADD: op = "add.rn.f64"; break;
    case PG_OP_FSUB: op = "sub.rn.f64"; break;
    case PG_OP_FMUL: op = "mul.rn.f64"; break;
    case PG_OP_FDIV: op = "div.rn.f64"; break;
    case PG_OP_FMIN: op = "min.f64"; break;
    case PG_OP_FMAX: op = "max.f64"; break;
    case PG_OP_FREM: return pg_el_reg(frem_f64(c, x[0], x[1]));
    case PG_OP_FNEG: op = "neg.f64", n = 1; break;
    case PG_OP_FABS: op = "abs.f64", n = 1; break;
    case PG_OP_SQRT: op = "sqrt.rn.f64", n = 1; break;
    case PG_OP_FMA: op = "fma.rn.f64", n = 3; break;
    default: return pg_el_reg(pg_lw_function_f64(c, (pg_op)i->op, x[0]).id);
    }
    return pg_el_reg(pg_lw_pure(c, op, PG_PTX_F64, n, x));
}

/* What 16-bit floats have themselves, and as exactly. */
static const char *native_16(const pg_lw *c, pg_op op, pg_elem e)
{
    bool is_half = e == PG_F16;
    switch (op) {
    case PG_OP_FADD: return is_half ? "add.rn.f16" : NULL;
    case PG_OP_FSUB: return is_half ? "sub.rn.f16" : NULL;
    case PG_OP_FMUL: return is_half ? "mul.rn.f16" : NULL;
    case PG_OP_FMIN: return c->m->sm < 80 ? NULL : is_half ? "min.f16" : "min.bf16";
    case PG_OP_FMAX: return c->m->sm < 80 ? NULL : is_half ? "max.f16" : "max.bf16";
    case PG_OP_FNEG: return is_half ? "neg.f16" : "neg.bf16";
    case PG_OP_FABS: return is_half ? "abs.f16" : "abs.bf16";
    default: return NULL;
    }
}

pg_el pg_lw_float_op(pg_lw *c, const pg_inst *i, pg_elem e, const pg_el *in)
{
    uint32_t n = i->n_in > 3 ? 3 : i->n_in;
    pg_ptx_opnd x[3] = {{0}};
    if (e == PG_F64) {
        for (uint32_t k = 0; k < n; k++) {
            x[k] = pg_lw_use(c, e, in[k]);
        }
        return compute_f64(c, i, x);
    }
    const char *native = e == PG_F32 ? NULL : native_16(c, (pg_op)i->op, e);
    if (native != NULL) {
        for (uint32_t k = 0; k < n; k++) {
            x[k] = pg_lw_use(c, e, in[k]);
        }
        return pg_el_reg(pg_lw_pure(c, native, pg_lw_reg_type(e), n, x));
    }
    for (uint32_t k = 0; k < n; k++) {
        x[k] = pg_lw_to_f32(c, e, in[k]);
    }
    return pg_lw_from_f32(c, e, compute_f32(c, i, x, e == PG_F16 || e == PG_BF16));
}

pg_el pg_lw_fcmp(pg_lw *c, pg_elem e, int64_t is, pg_el a, pg_el b)
{
    static const char *const ops[6][3] = {{"setp.eq.f32", "setp.eq.f64", "setp.eq.f16"},
                                          {"setp.neu.f32", "setp.neu.f64", "setp.neu.f16"},
                                          {"setp.lt.f32", "setp.lt.f64", "setp.lt.f16"},
                                          {"setp.le.f32", "setp.le.f64", "setp.le.f16"},
                                          {"setp.gt.f32", "setp.gt.f64", "setp.gt.f16"},
                                          {"setp.ge.f32", "setp.ge.f64", "setp.ge.f16"}};
    if (is < 0 || is >= (int64_t)PG_COUNT_OF(ops)) {
        return pg_el_imm(0);
    }
    bool is_16 = e == PG_F16 && a.reg != 0 && b.reg != 0;
    bool is_64 = e == PG_F64;
    pg_ptx_opnd x = is_16 || is_64 ? pg_lw_use(c, e, a) : pg_lw_to_f32(c, e, a);
    pg_ptx_opnd y = is_16 || is_64 ? pg_lw_use(c, e, b) : pg_lw_to_f32(c, e, b);
    return pg_el_reg(pg_lw_pure2(c, ops[is][is_64 ? 1 : is_16 ? 2 : 0], PG_PTX_PRED, x, y));
}
