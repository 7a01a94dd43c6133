/* tensormap_rules.c: the rules of cuTensorMapEncodeTiled, each asked for by itself, so that a
 * caller learns of all that are broken at once. What follows from a number that is itself refused
 * (a type, a rank, a swizzle that there is not) is not said beside it. */
#include "tools/exec/tensormap_rules.h"

#include <string.h>

enum { ALL = 0x7F, SPAN_FREE = UINT16_MAX };

// clang-format off
static const pe_tm_type types[PE_TM_TYPES + 1] = {
    /* name               bits float  packed step box align swizzles code */
    {"UINT8",              8, false, false,   1,  0, 16, ALL,  0},
    {"UINT16",            16, false, false,   1,  0, 16, ALL,  1},
    {"UINT32",            32, false, false,   1,  0, 16, ALL,  2},
    {"INT32",             32, false, false,   1,  0, 16, ALL,  3},
    {"UINT64",            64, false, false,   1,  0, 16, ALL,  4},
    {"INT64",             64, false, false,   1,  0, 16, ALL,  5},
    {"FLOAT16",           16, true,  false,   1,  0, 16, ALL,  6},
    {"FLOAT32",           32, true,  false,   1,  0, 16, ALL,  7},
    {"FLOAT64",           64, true,  false,   1,  0, 16, ALL,  9},
    {"BFLOAT16",          16, true,  false,   1,  0, 16, ALL, 10},
    {"FLOAT32_FTZ",       32, true,  false,   1,  0, 16, ALL,  8},
    {"TFLOAT32",          32, true,  false,   1,  0, 16, ALL, 11},
    {"TFLOAT32_FTZ",      32, true,  false,   1,  0, 16, ALL, 12},
    {"16U4_ALIGN8B",       4, false, true,    2,  0, 16, ALL, 13},
    {"16U4_ALIGN16B",      4, false, true,  128, 128, 32, 1 << 0 | 1 << 3 | 1 << 4, 14},
    {"16U6_ALIGN16B",      6, false, true,  128, 128, 32, 1 << 0 | 1 << 3 | 1 << 4 | 1 << 6, 15},
    {"none",               0, false, false,   1,  0, 16, ALL, 0},
};
// clang-format on

const pe_tm_type *pe_tm_type_of(uint32_t type)
{
    return &types[type < PE_TM_TYPES ? type : PE_TM_TYPES];
}

uint32_t pe_tm_span(uint32_t swizzle)
{
    static const uint8_t spans[] = {0, 32, 64, 128, 128, 128, 128};
    return swizzle < sizeof spans ? spans[swizzle] : 0;
}

/* ---- what the table speaks of ------------------------------------------------------------------
 */

static bool is_before_100(const ptxexec_tensormap *m)
{
    return m->target != 0 && m->target < 100;
}

static bool wants_32(const ptxexec_tensormap *m, const pe_tm_type *t)
{
    return m->interleave == 2 || t->align == 32;
}

/* Bytes of a row of the box. */
static uint64_t row_bytes(const ptxexec_tensormap *m, const pe_tm_type *t)
{
    return (uint64_t)m->box[0] * t->bits / 8;
}

static uint64_t channel_bytes(const ptxexec_tensormap *m, const pe_tm_type *t)
{
    return (uint64_t)m->channels * t->bits / 8;
}

/* Tiles or pixels whose rows lie as they are. */
static bool is_box(const ptxexec_tensormap *m)
{
    return m->is_im2col == 0 && m->interleave == 0;
}
static bool is_column(const ptxexec_tensormap *m)
{
    return m->is_im2col != 0 && m->interleave == 0 && m->channels >= 1 && m->channels <= 256;
}

static uint64_t as_bits(int32_t x)
{
    return (uint64_t)(int64_t)x;
}

/* By the number of dimensions of space. */
static bool is_corner(const ptxexec_tensormap *m, int32_t x)
{
    static const int32_t limits[] = {INT32_MAX, INT32_MAX, INT32_MAX, 1 << 15, 1 << 7, 1 << 4};
    int32_t limit = limits[m->rank > PE_TM_DIMS ? 0 : m->rank];
    return x >= -limit && x < limit;
}

static bool has_no_pixel(const ptxexec_tensormap *m, uint32_t i)
{
    const uint64_t dim = m->dims[i + 1];
    bool is_known = dim >= 1 && dim <= UINT64_C(1) << 32 && is_corner(m, m->lower[i]) &&
                    is_corner(m, m->upper[i]);
    return is_known && (int64_t)dim - 1 + m->upper[i] < m->lower[i];
}

static uint32_t span_of(const ptxexec_tensormap *m)
{
    uint32_t span = pe_tm_span(m->swizzle);
    return span == 0 ? SPAN_FREE : span;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Bytes that the widest dimension of smaller steps takes, whatever the order of the dimensions: a
 * step of less makes elements overlap. 0 where nothing steps: an extent of 1, or a stride of 0,
 * which repeats on purpose. */
static uint64_t within(const ptxexec_tensormap *m, const pe_tm_type *t, uint32_t i)
{
    uint64_t step = m->strides[i];
    if (step == 0 || m->dims[i + 1] <= 1) {
        return 0;
    }
    uint64_t most = times(m->dims[0], t->bits) / 8;
    for (uint32_t k = 0; k + 1 < m->rank && k + 1 < PE_TM_DIMS; k++) {
        bool is_inside = m->strides[k] < step || (m->strides[k] == step && k < i);
        uint64_t bytes = times(m->strides[k], m->dims[k + 1]);
        if (k != i && is_inside && m->dims[k + 1] > 1 && bytes > most) {
            most = bytes;
        }
    }
    return most;
}

/* ---- the rules ---------------------------------------------------------------------------------
 */

typedef enum over { ONE, FIRST, DIMS, OUTER, SPACE } over;

typedef struct rule_code {
    over over;
    uint64_t (*value)(const ptxexec_tensormap *m, const pe_tm_type *t, uint32_t i);
    bool (*is_broken)(const ptxexec_tensormap *m, const pe_tm_type *t, uint32_t i, uint64_t x);
} rule_code;

// clang-format off
#define RULE(diag, argument, over, value, broken)                                                          \
    static uint64_t value_##diag(const ptxexec_tensormap *m, const pe_tm_type *t, uint32_t i)              \
    { (void)m; (void)t; (void)i; return (value); }                                                         \
    static bool broken_##diag(const ptxexec_tensormap *m, const pe_tm_type *t, uint32_t i, uint64_t x)     \
    { (void)m; (void)t; (void)i; (void)x; return (broken); }
#include "tools/exec/tensormap_rules.def"

static const rule_code codes[] = {
#define RULE(diag, argument, over, value, broken) {over, value_##diag, broken_##diag},
#include "tools/exec/tensormap_rules.def"
};

const pe_tm_rule pe_tm_rules[] = {
#define RULE(diag, argument, over, value, broken) {PG_D_##diag, argument},
#include "tools/exec/tensormap_rules.def"
};
// clang-format on

const size_t pe_tm_n_rules = PG_COUNT_OF(codes);

/* The text goes into the result itself; one that did not fit would be cut. */
static void *use_fixed(void *user, void *block, size_t old_size, size_t new_size)
{
    ptxexec_tensormap_fault *out = user;
    (void)block;
    (void)old_size;
    return new_size > sizeof out->message ? NULL : out->message;
}

/* The row's text, filled; it lies in `out` itself, so that there is nothing to free. */
static void write_message(ptxexec_tensormap_fault *out, const pg_diag_info *info, ...)
{
    pg_strbuf text;
    va_list args;
    pg_strbuf_init(&text, (pg_alloc){out, use_fixed});
    va_start(args, info);
    pg_putv(&text, info->text, args);
    va_end(args);
}

static void tell(ptxexec_tensormap_fault *out, const pe_tm_rule *rule, const rule_code *code,
                 uint32_t i, uint64_t x)
{
    const pg_diag_info *info = &pg_diag_infos[rule->diag];
    char name[32];
    size_t n = strlen(rule->argument);
    memcpy(name, rule->argument, n + 1);
    if (code->over != ONE) {
        name[n] = '[';
        name[n + 1] = (char)('0' + i);
        name[n + 2] = ']';
        name[n + 3] = '\0';
    }
    *out = (ptxexec_tensormap_fault){.number = info->number,
                                     .severity = (ptxexec_severity)info->severity,
                                     .index = i,
                                     .argument = rule->argument,
                                     .help = info->help};
    write_message(out, info, name, (unsigned long long)x);
}

size_t ptxexec_tensormap_check(const ptxexec_tensormap *map, ptxexec_tensormap_fault *out,
                               size_t max, size_t *n_errors)
{
    ptxexec_tensormap own = {.struct_size = 0}; /* without a map: zeros, which break rules */
    if (map != NULL) {
        memcpy(&own, map, map->struct_size < sizeof own ? map->struct_size : sizeof own);
    }
    max = out == NULL ? 0 : max;
    const pe_tm_type *t = pe_tm_type_of(own.type);
    uint32_t rank = own.rank > PE_TM_DIMS ? PE_TM_DIMS : own.rank;
    size_t n = 0;
    size_t errors = 0;
    for (size_t k = 0; k < pe_tm_n_rules; k++) {
        const rule_code *code = &codes[k];
        uint32_t count = code->over == DIMS ? rank : 1;
        count = code->over == OUTER ? rank - (rank > 0) : count;
        if (code->over == SPACE) {
            count = own.is_im2col != 0 && rank >= 3 ? rank - 2 : 0;
        }
        for (uint32_t i = 0; i < count; i++) {
            uint64_t x = code->value(&own, t, i);
            if (!code->is_broken(&own, t, i, x)) {
                continue;
            }
            if (n < max) {
                tell(&out[n], &pe_tm_rules[k], code, i, x);
            }
            n++;
            errors += pg_diag_infos[pe_tm_rules[k].diag].severity == PG_SEV_ERROR;
        }
    }
    if (n_errors != NULL) {
        *n_errors = errors;
    }
    return n;
}
