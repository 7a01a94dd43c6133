/* fold_float.c: float operations. Operands are decoded in blocks: to float, or to double for f64
 * and for what goes through the double functions of libm; the result is rounded once. The build
 * forbids contraction of a * b + c. */
#include <math.h>

#include "ir/elem.h"
#include "ir/fold.h"

enum { BLOCK = 256 };

static uint64_t canonical_nan(pg_elem e)
{
    switch ((int)e) {
    case PG_F16:
    case PG_BF16: return 0x7FFF;
    case PG_F32: return 0x7FFFFFFF;
    case PG_F64: return UINT64_C(0x7FF8000000000000);
    default: return pg_elem_of_f64(e, (double)NAN);
    }
}

uint64_t pg_fold_round_f32(pg_elem e, float x)
{
    if (isnan(x)) {
        return canonical_nan(e);
    }
    switch ((int)e) {
    case PG_F32: return pg_f32_bits(x);
    case PG_F16: return pg_f32_to_f16(x);
    case PG_BF16: return pg_f32_to_bf16(x);
    default: return pg_elem_of_f64(e, (double)x);
    }
}

uint64_t pg_fold_round_f64(pg_elem e, double x)
{
    return isnan(x) ? canonical_nan(e) : pg_elem_of_f64(e, x);
}

static void decode_f32(pg_elem e, const uint64_t *in, uint32_t n, float *out)
{
    for (uint32_t i = 0; i < n; i++) {
        switch ((int)e) {
        case PG_F32:
        case PG_TF32: out[i] = pg_f32_of_bits((uint32_t)in[i]); break;
        case PG_F16: out[i] = pg_f16_to_f32((uint16_t)in[i]); break;
        case PG_BF16: out[i] = pg_bf16_to_f32((uint16_t)in[i]); break;
        default: out[i] = (float)pg_elem_to_f64(e, in[i]); break;
        }
    }
}

/* Minimum or maximum by IEEE 754-2019 minimumNumber: -0 below +0, of a NaN and a number the number.
 */
static float least_f32(float a, float b, bool is_max)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) ? b : a;
    }
    if (a == b) {
        return (signbit(a) != 0) == is_max ? b : a;
    }
    return (a < b) == is_max ? b : a;
}

static double least_f64(double a, double b, bool is_max)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) ? b : a;
    }
    if (a == b) {
        return (signbit(a) != 0) == is_max ? b : a;
    }
    return (a < b) == is_max ? b : a;
}

#define EACH(expr)                     \
    for (uint32_t i = 0; i < n; i++) { \
        to[i] = (expr);                \
    }                                  \
    return true

static bool run_f32(pg_op op, uint32_t n, const float *a, const float *b, const float *c, float *to)
{
    switch ((int)op) {
    case PG_OP_FADD: EACH(a[i] + b[i]);
    case PG_OP_FSUB: EACH(a[i] - b[i]);
    case PG_OP_FMUL: EACH(a[i] * b[i]);
    case PG_OP_FDIV: EACH(a[i] / b[i]);
    case PG_OP_FREM: EACH(fmaf(-truncf(a[i] / b[i]), b[i], a[i]));
    case PG_OP_FMIN: EACH(least_f32(a[i], b[i], false));
    case PG_OP_FMAX: EACH(least_f32(a[i], b[i], true));
    case PG_OP_FNEG: EACH(-a[i]);
    case PG_OP_FABS: EACH(fabsf(a[i]));
    case PG_OP_FMA: EACH(fmaf(a[i], b[i], c[i]));
    case PG_OP_SQRT: EACH(sqrtf(a[i]));
    default: return false;
    }
}

/* Through libm, in double whatever the type. */
static bool functions_f64(pg_op op, uint32_t n, const double *a, double *to)
{
    switch ((int)op) {
    case PG_OP_EXP: EACH(exp(a[i]));
    case PG_OP_EXP2: EACH(exp2(a[i]));
    case PG_OP_LOG2: EACH(log2(a[i]));
    case PG_OP_RSQRT: EACH(1.0 / sqrt(a[i]));
    case PG_OP_TANH: EACH(tanh(a[i]));
    case PG_OP_ERF: EACH(erf(a[i]));
    default: return false;
    }
}

static bool run_f64(pg_op op, uint32_t n, const double *a, const double *b, const double *c,
                    double *to)
{
    switch ((int)op) {
    case PG_OP_FADD: EACH(a[i] + b[i]);
    case PG_OP_FSUB: EACH(a[i] - b[i]);
    case PG_OP_FMUL: EACH(a[i] * b[i]);
    case PG_OP_FDIV: EACH(a[i] / b[i]);
    case PG_OP_FREM: EACH(fma(-trunc(a[i] / b[i]), b[i], a[i]));
    case PG_OP_FMIN: EACH(least_f64(a[i], b[i], false));
    case PG_OP_FMAX: EACH(least_f64(a[i], b[i], true));
    case PG_OP_FNEG: EACH(-a[i]);
    case PG_OP_FABS: EACH(fabs(a[i]));
    case PG_OP_FMA: EACH(fma(a[i], b[i], c[i]));
    case PG_OP_SQRT: EACH(sqrt(a[i]));
    default: return functions_f64(op, n, a, to);
    }
}

static bool block_f64(const pg_fold *f, uint32_t at, uint32_t n)
{
    double in[3][BLOCK] = {{0}}, to[BLOCK];
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t i = 0; i < n; i++) {
            in[k][i] = f->in[k] != NULL ? pg_elem_to_f64(f->elem, f->in[k][at + i]) : 0;
        }
    }
    if (!run_f64(f->op, n, in[0], in[1], in[2], to)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        f->out[at + i] = pg_fold_round_f64(f->res, to[i]);
    }
    return true;
}

static bool block_f32(const pg_fold *f, uint32_t at, uint32_t n)
{
    float in[3][BLOCK] = {{0}}, to[BLOCK];
    for (uint32_t k = 0; k < 3; k++) {
        if (f->in[k] != NULL) {
            decode_f32(f->elem, f->in[k] + at, n, in[k]);
        }
    }
    if (!run_f32(f->op, n, in[0], in[1], in[2], to)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        f->out[at + i] = pg_fold_round_f32(f->res, to[i]);
    }
    return true;
}

bool pg_fold_float(const pg_fold *f)
{
    bool is_f64 = f->elem == PG_F64 || (pg_op_infos[f->op].flags & PG_F_INEXACT) != 0;
    for (uint32_t at = 0; at < f->n; at += BLOCK) {
        uint32_t n = f->n - at < BLOCK ? f->n - at : BLOCK;
        if (!(is_f64 ? block_f64(f, at, n) : block_f32(f, at, n))) {
            return false;
        }
    }
    return true;
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* A magnitude as double whose lower bits are gathered in its last bit (round to odd), so that
 * rounding it again to 24 bits or fewer is rounding once. */
static double to_odd(uint64_t x)
{
    if (x >> 53 != 0) {
        x = (x & ~UINT64_C(0xFFF)) | ((x & 0xFFF) != 0 ? 0x1000u : 0u);
    }
    return (double)x;
}

static uint64_t int_to_float(const pg_fold *f, uint64_t x, bool is_signed)
{
    uint32_t bits = pg_elem_infos[f->elem].bits;
    if (!is_signed && bits < 64) {
        x &= (UINT64_C(1) << bits) - 1;
    }
    bool is_neg = is_signed && (int64_t)x < 0;
    if (f->res == PG_F64) {
        return pg_f64_bits(is_neg ? (double)(int64_t)x : (double)x);
    }
    double size = to_odd(is_neg ? 0 - x : x);
    return pg_elem_of_f64(f->res, is_neg ? -size : size);
}

/* Toward zero; saturates; NaN gives 0. i1 has the range 0..1 either way. */
static uint64_t float_to_int(pg_elem res, double x, bool is_signed)
{
    uint32_t bits = pg_elem_infos[res].bits;
    bool has_sign = is_signed && bits > 1;
    if (isnan(x)) {
        return 0;
    }
    double limit = ldexp(1.0, (int)(has_sign ? bits - 1 : bits));
    if (x >= limit) {
        uint64_t most = has_sign     ? (UINT64_C(1) << (bits - 1)) - 1
                        : bits == 64 ? UINT64_MAX
                                     : (UINT64_C(1) << bits) - 1;
        return pg_elem_wrap(res, most);
    }
    if (!has_sign) {
        return x <= 0 ? 0 : pg_elem_wrap(res, (uint64_t)x);
    }
    return x <= -limit ? pg_elem_wrap(res, UINT64_C(1) << (bits - 1)) : (uint64_t)(int64_t)x;
}

bool pg_fold_cast(const pg_fold *f)
{
    bool is_signed = f->op == PG_OP_CAST && f->elem != PG_I1;
    bool from_float = pg_elem_infos[f->elem].cls == 'F',
         to_float = pg_elem_infos[f->res].cls == 'F';
    uint32_t bits = pg_elem_infos[f->elem].bits;
    uint64_t mask = bits >= 64 || is_signed ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    for (uint32_t i = 0; i < f->n; i++) {
        uint64_t x = f->in[0][i];
        if (!from_float) {
            f->out[i] = to_float ? int_to_float(f, x, is_signed) : pg_elem_wrap(f->res, x & mask);
            continue;
        }
        double value = pg_elem_to_f64(f->elem, x);
        f->out[i] = to_float ? pg_fold_round_f64(f->res, value)
                             : float_to_int(f->res, value, f->op == PG_OP_CAST);
    }
    return true;
}
