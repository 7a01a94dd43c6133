/* ops.h: how handlers of plain lane-wise instructions are made.
 *
 *   PE_OP1(name, B, expr)   d = expr(x)           B: 32 or 64, the bank of all operands
 *   PE_OP2, PE_OP3          x y, x y z
 *   PE_OP1_UP, ...          64 bits; no bit depends on higher ones: poison stays in its half
 *
 * x, y, z are the unsigned row values; expr gives the result, which is cast to the row's type. All
 * lanes are computed, those of the mask are written: expr must be total. Poison: any operand's. */
#ifndef PTXEXEC_OPS_H
#define PTXEXEC_OPS_H

#include "tools/exec/decode.h"

typedef uint32_t pe_u32;
typedef uint64_t pe_u64;

#define PE_OP1_BY(name, B, expr, put, poison)                     \
    static void name(pe_warp *w, const pe_inst *i, uint32_t mask) \
    {                                                             \
        const pe_u##B *pa = pe_src##B(w, i->a);                   \
        pe_u##B t[PE_LANES];                                      \
        for (uint32_t l = 0; l < PE_LANES; l++) {                 \
            pe_u##B x = pa[l];                                    \
            t[l] = (pe_u##B)(expr);                               \
        }                                                         \
        put(w, i->d, t, mask, poison(w, i->a));                   \
    }

#define PE_OP2_BY(name, B, expr, put, poison)                     \
    static void name(pe_warp *w, const pe_inst *i, uint32_t mask) \
    {                                                             \
        const pe_u##B *pa = pe_src##B(w, i->a);                   \
        const pe_u##B *pb = pe_src##B(w, i->b);                   \
        pe_u##B t[PE_LANES];                                      \
        for (uint32_t l = 0; l < PE_LANES; l++) {                 \
            pe_u##B x = pa[l];                                    \
            pe_u##B y = pb[l];                                    \
            t[l] = (pe_u##B)(expr);                               \
        }                                                         \
        put(w, i->d, t, mask, poison(w, i->a) | poison(w, i->b)); \
    }

#define PE_OP3_BY(name, B, expr, put, poison)                                       \
    static void name(pe_warp *w, const pe_inst *i, uint32_t mask)                   \
    {                                                                               \
        const pe_u##B *pa = pe_src##B(w, i->a);                                     \
        const pe_u##B *pb = pe_src##B(w, i->b);                                     \
        const pe_u##B *pc = pe_src##B(w, i->c);                                     \
        pe_u##B t[PE_LANES];                                                        \
        for (uint32_t l = 0; l < PE_LANES; l++) {                                   \
            pe_u##B x = pa[l];                                                      \
            pe_u##B y = pb[l];                                                      \
            pe_u##B z = pc[l];                                                      \
            t[l] = (pe_u##B)(expr);                                                 \
        }                                                                           \
        put(w, i->d, t, mask, poison(w, i->a) | poison(w, i->b) | poison(w, i->c)); \
    }

#define PE_OP1(name, B, expr) PE_OP1_BY(name, B, expr, pe_put##B, pe_poison##B)
#define PE_OP2(name, B, expr) PE_OP2_BY(name, B, expr, pe_put##B, pe_poison##B)
#define PE_OP3(name, B, expr) PE_OP3_BY(name, B, expr, pe_put##B, pe_poison##B)
#define PE_OP1_UP(name, expr) PE_OP1_BY(name, 64, expr, pe_put64_halves, pe_halves64)
#define PE_OP2_UP(name, expr) PE_OP2_BY(name, 64, expr, pe_put64_halves, pe_halves64)
#define PE_OP3_UP(name, expr) PE_OP3_BY(name, 64, expr, pe_put64_halves, pe_halves64)

static inline float pe_f32(uint32_t x)
{
    float f;
    memcpy(&f, &x, sizeof f);
    return f;
}
static inline uint32_t pe_b32(float f)
{
    uint32_t x;
    memcpy(&x, &f, sizeof x);
    return x;
}
static inline double pe_f64(uint64_t x)
{
    double f;
    memcpy(&f, &x, sizeof f);
    return f;
}
static inline uint64_t pe_b64(double f)
{
    uint64_t x;
    memcpy(&x, &f, sizeof x);
    return x;
}

/* Bits of a result: every NaN is the canonical one. */
static inline uint32_t pe_r32(float f)
{
    return f == f ? pe_b32(f) : 0x7FFFFFFFu;
}
static inline uint64_t pe_r64(double f)
{
    return f == f ? pe_b64(f) : UINT64_C(0x7FF8000000000000);
}
/* Subnormals become zeros of the same sign. */
static inline uint32_t pe_flush(uint32_t x)
{
    return (x & 0x7F800000u) == 0 ? x & 0x80000000u : x;
}
/* .sat: to [0, 1]; NaN becomes +0. */
static inline uint32_t pe_saturate(uint32_t x)
{
    float f = pe_f32(x);
    return f >= 0.0f ? (f > 1.0f ? 0x3F800000u : x & 0x7FFFFFFFu) : 0u;
}

/* The usual ends of decoders: operands 0.. are d, a, b, c, all of one width. */
void pe_end1(pe_dec *d, pg_ptx_type t, pe_fn fn);
void pe_end2(pe_dec *d, pg_ptx_type t, pe_fn fn);
void pe_end3(pe_dec *d, pg_ptx_type t, pe_fn fn);

/* Families that share an opcode: each decodes the rest of the statement for its types. */
void pe_float_arith(pe_dec *d, pg_ptx_type t, char op); /* '+' '-' '*' 'f'ma; f32 f64 */
void pe_half_arith(pe_dec *d, pg_ptx_type t, char op);  /* f16 bf16 and packed */
void pe_float_minmax(pe_dec *d, pg_ptx_type t, bool is_max);
void pe_half_minmax(pe_dec *d, pg_ptx_type t, bool is_max);
void pe_float_sign(pe_dec *d, pg_ptx_type t, bool is_abs); /* abs or neg, all floating types */
void pe_float_div(pe_dec *d, pg_ptx_type t);
bool pe_is_float(pg_ptx_type t);
bool pe_is_half(pg_ptx_type t); /* f16, bf16, and their pairs */

/* Memory: the space that a modifier names; ordering and scope (which may make CTAs depend on each
 * other). */
uint8_t pe_take_space(pe_dec *d);
void pe_take_order(pe_dec *d, uint8_t space);
uint32_t pe_take_scope(pe_dec *d, const char *words); /* "cta cluster ..." -> PE_SCOPE_* */

/* PTX's rounding modes. */
typedef enum pe_round { PE_RN, PE_RZ, PE_RM, PE_RP, PE_RNA } pe_round;
/* Takes .rn .rz .rm .rp; PE_RN without. */
pe_round pe_take_round(pe_dec *d);
int pe_host_round(uint32_t mode); /* FE_* */

/* Small floating formats (small.c). */
typedef enum pe_fmt {
    PE_FMT_F16,
    PE_FMT_BF16,
    PE_FMT_TF32,
    PE_FMT_F32,
    PE_FMT_E4M3,
    PE_FMT_E5M2
} pe_fmt;
double pe_small_to_f64(uint32_t bits, pe_fmt fmt);
/* One rounding. Overflow as IEEE says for the mode; NaN is the format's canonical one. */
uint32_t pe_f64_to_small(double x, pe_fmt fmt, uint32_t mode);
/* a + b, and a * b + c, as a double rounded to odd: rounding it once more to 50 bits or less is one
 * rounding. */
double pe_add_odd(double a, double b);

/* f16 without branches, so that loops over lanes vectorise. */
static inline float pe_f16_value(uint32_t h)
{
    uint32_t x = (h & 0x7FFFu) << 13;
    uint32_t finite = pe_b32(pe_f32(x) * 0x1p112f);
    uint32_t is_special = 0u - (uint32_t)((h & 0x7C00u) == 0x7C00u);
    uint32_t r = (finite & ~is_special) | ((x | 0x7F800000u) & is_special);
    return pe_f32(r | (h & 0x8000u) << 16);
}
/* To nearest even, NaNs canonical. */
static inline uint32_t pe_f16_bits(float f)
{
    uint32_t b = pe_b32(f);
    uint32_t u = b & 0x7FFFFFFFu;
    uint32_t small = pe_b32(pe_f32(u) + 0.5f) - 0x3F000000u; /* the sum rounds at 2^-24 */
    uint32_t normal = (u - 0x38000000u + 0xFFFu + (u >> 13 & 1u)) >> 13;
    uint32_t is_small = 0u - (uint32_t)(u < 0x38800000u);
    uint32_t is_large = 0u - (uint32_t)(u >= 0x47800000u);
    uint32_t is_nan = 0u - (uint32_t)(u > 0x7F800000u);
    uint32_t r = (small & is_small) | (normal & ~is_small);
    r = (r & ~is_large) | (0x7C00u & is_large);
    return ((r | (b >> 16 & 0x8000u)) & ~is_nan) | (0x7FFFu & is_nan);
}

#endif
