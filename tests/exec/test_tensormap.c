/* test_tensormap.c: each rule of cuTensorMapEncodeTiled and ...Im2col on both sides of its limit,
 * alone; and the 128 bytes of a map, field by field. */
#include <criterion/criterion.h>

#include "tests/exec/harness.h"
#include "tools/exec/tensormap_rules.h"

/* Two dimensions of f16, 72 x 50 in rows of 160 bytes, box 64 x 8, swizzle 128B. */
static ptxexec_tensormap plain(void)
{
    return (ptxexec_tensormap){.struct_size = sizeof(ptxexec_tensormap),
                               .target = 90,
                               .type = PTXEXEC_TM_F16,
                               .rank = 2,
                               .address = 0x1000,
                               .dims = {72, 50},
                               .strides = {160},
                               .box = {64, 8},
                               .elem_strides = {1, 1},
                               .swizzle = 3};
}

/* A packed type aligned to 16 bytes, as it wants to be. */
static void packed(ptxexec_tensormap *m, uint32_t type)
{
    m->target = 100;
    m->type = type;
    m->dims[0] = 256;
    m->strides[0] = 256;
    m->box[0] = 128;
}

/* Three dimensions in interleave `mode`. */
static void interleaved(ptxexec_tensormap *m, uint32_t mode)
{
    m->rank = 3;
    m->interleave = mode;
    m->swizzle = mode == 2 ? 1 : 0;
    m->dims[2] = 4;
    m->strides[1] = 160 * 50;
    m->box[0] = 16;
    m->box[2] = 2;
    m->elem_strides[2] = 1;
    if (mode == 2) {
        m->strides[1] = 160 * 52;
    }
}

static void five(ptxexec_tensormap *m)
{
    m->rank = 5;
    for (int i = 2; i < 5; i++) {
        m->dims[i] = 3;
        m->box[i] = 1;
        m->elem_strides[i] = 1;
        m->strides[i - 1] = m->strides[i - 2] * m->dims[i - 1];
    }
}

/* Im2col of `rank` dimensions; a box of tiles there is none, and none is looked at. */
static void pixels(ptxexec_tensormap *m, uint32_t rank)
{
    m->rank = rank;
    m->is_im2col = 1;
    m->channels = 64;
    m->pixels = 100;
    memset(m->box, 0, sizeof m->box);
    for (uint32_t i = 1; i < rank; i++) {
        m->dims[i] = i == 1 ? 50 : 8;
        m->elem_strides[i] = 1;
        m->strides[i - 1] = i == 1 ? 160 : m->strides[i - 2] * m->dims[i - 1];
        m->lower[i - 1 < 3 ? i - 1 : 2] = -1;
    }
}

/* The middle dimension steps furthest: the order of the dimensions is the author's. */
static void turned(ptxexec_tensormap *m)
{
    m->rank = 3;
    m->dims[2] = 10;
    m->strides[1] = 144;
    m->strides[0] = 1440;
    m->box[2] = 2;
    m->elem_strides[2] = 1;
}

typedef struct rule_case {
    pg_diag_id rule;
    int line;
    uint32_t index;
    void (*good)(ptxexec_tensormap *m);
    void (*bad)(ptxexec_tensormap *m);
} rule_case;

#define NAME_2(a, b) a##b
#define NAME(a, b)   NAME_2(a, b)

#define CASE(rule, index, good, bad)                         \
    static void NAME(good_, __LINE__)(ptxexec_tensormap * m) \
    {                                                        \
        good;                                                \
    }                                                        \
    static void NAME(bad_, __LINE__)(ptxexec_tensormap * m)  \
    {                                                        \
        bad;                                                 \
    }
#include "tests/exec/tensormap_cases.inc"

static const rule_case cases[] = {
#define CASE(rule, index, good, bad) \
    {PG_D_##rule, __LINE__, index, NAME(good_, __LINE__), NAME(bad_, __LINE__)},
#include "tests/exec/tensormap_cases.inc"
};

Test(tensormap, the_plain_map_is_right)
{
    ptxexec_tensormap m = plain();
    size_t n_errors = 9;
    cr_expect_eq(ptxexec_tensormap_check(&m, NULL, 0, &n_errors), 0);
    cr_expect_eq(n_errors, 0);
}

Test(tensormap, each_rule_on_both_sides_of_its_limit)
{
    for (size_t k = 0; k < PG_COUNT_OF(cases); k++) {
        const rule_case *c = &cases[k];
        const pg_diag_info *info = &pg_diag_infos[c->rule];
        ptxexec_tensormap_fault f[2];
        ptxexec_tensormap m = plain();
        size_t n_errors;
        c->good(&m);
        cr_expect_eq(ptxexec_tensormap_check(&m, f, 2, NULL), 0, "line %d, kept: %s", c->line,
                     f[0].message);
        m = plain();
        c->bad(&m);
        size_t n = ptxexec_tensormap_check(&m, f, 2, &n_errors);
        cr_assert(n > 0, "line %d: PG%u is not seen", c->line, info->number);
        cr_expect_eq(n, 1, "line %d: also %s", c->line, f[1].message);
        cr_expect_eq(f[0].number, info->number, "line %d: %s", c->line, f[0].message);
        cr_expect_eq(f[0].index, c->index, "line %d: %s", c->line, f[0].message);
        cr_expect_eq(n_errors, info->severity == PG_SEV_ERROR ? 1 : 0, "line %d", c->line);
        cr_expect_str_eq(f[0].help, info->help);
        cr_expect(strchr(f[0].message, '%') == NULL && strlen(f[0].message) > 12, "line %d: '%s'",
                  c->line, f[0].message);
    }
}

/* What the executor fills each row's text with; the compiler checks that the texts take it. */
Test(tensormap, texts_take_a_name_and_a_number)
{
#define CASE(rule, index, good, bad) \
    PG_CHECK_TEXT(pg_diag_text, PG_D_##rule, (pg_loc){0, 0}, "box", 1ULL);
#include "tests/exec/tensormap_cases.inc"
}

Test(tensormap, every_rule_has_a_case)
{
    for (size_t r = 0; r < pe_tm_n_rules; r++) {
        size_t n = 0;
        for (size_t k = 0; k < PG_COUNT_OF(cases); k++) {
            n += cases[k].rule == pe_tm_rules[r].diag;
        }
        cr_expect(n > 0, "PG%u", pg_diag_infos[pe_tm_rules[r].diag].number);
    }
}

/* Maps of pixels have what tiles have not behind the bytes that tensormap.replace writes. */
Test(tensormap, pixels_have_bytes_of_their_own)
{
    ptxexec_tensormap m = plain();
    unsigned char tile[128];
    unsigned char column[128];
    pixels(&m, 4);
    m.upper[1] = 3;
    cr_assert_eq(ptxexec_tensormap_encode(&m, column), PTXEXEC_OK);
    m.is_im2col = 0;
    for (uint32_t i = 0; i < 4; i++) {
        m.box[i] = i == 0 ? 64 : 1;
    }
    cr_assert_eq(ptxexec_tensormap_encode(&m, tile), PTXEXEC_OK);
    static const unsigned char own[] = {1, 0, 64, 0, 100, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF, 3, 0};
    cr_expect_eq(memcmp(column + 0x40, own, sizeof own), 0);
    tile[0x37] = 0; /* the box */
    cr_expect_eq(memcmp(column, tile, 0x40), 0);
    for (uint32_t i = 0x3C; i < 128; i++) {
        cr_expect_eq(tile[i], 0);
    }
}

/* All that is wrong comes at once, and no more is written than there is room for. */
Test(tensormap, all_rules_at_once)
{
    ptxexec_tensormap m = plain();
    ptxexec_tensormap_fault f[4] = {{.number = 0}};
    size_t n_errors;
    m.address = 8;
    m.dims[1] = 0;
    m.box[1] = 300;
    m.strides[0] = 150;
    m.oob_fill = 7;
    cr_expect_eq(ptxexec_tensormap_check(&m, f, 3, &n_errors), 5);
    cr_expect_eq(n_errors, 5);
    cr_expect_eq(f[2].number, 5111);
    cr_expect_eq(f[3].number, 0);
    cr_expect_str_eq(f[0].message, "globalAddress is 0x8, which is no multiple of 16");
    cr_expect_str_eq(f[1].message, "globalDim[1] is 0");
}

/* A caller of an older header has fewer fields: what it lacks counts as 0. */
Test(tensormap, a_shorter_struct_is_taken)
{
    ptxexec_tensormap m = plain();
    m.place = 1;
    m.struct_size = offsetof(ptxexec_tensormap, place);
    cr_expect_eq(ptxexec_tensormap_check(&m, NULL, 0, NULL), 0);
}

/* ---- the 128 bytes --------------------------------------------------------------------------- */

typedef struct field {
    uint32_t byte, bit, width;
    uint64_t value;
} field;

static void check_fields(const ptxexec_tensormap *m, const field *fields, size_t n)
{
    unsigned char map[128];
    cr_assert_eq(ptxexec_tensormap_encode(m, map), PTXEXEC_OK);
    for (size_t k = 0; k < n; k++) {
        for (uint32_t b = 0; b < fields[k].width; b++) {
            uint32_t at = fields[k].byte * 8 + fields[k].bit + b;
            cr_expect_eq(map[at / 8] >> at % 8 & 1, fields[k].value >> b & 1,
                         "byte 0x%x, bit %u+%u", fields[k].byte, fields[k].bit, b);
            map[at / 8] = (unsigned char)(map[at / 8] & ~(1u << at % 8));
        }
    }
    for (uint32_t b = 0; b < 128; b++) {
        cr_expect_eq(map[b], 0, "byte 0x%x has bits of no field: 0x%x", b, map[b]);
    }
}

/* The fields that tensormap.replace writes, as ptxas lays them out. */
Test(tensormap, fields_of_the_map)
{
    ptxexec_tensormap m = {.struct_size = sizeof m,
                           .target = 90,
                           .type = PTXEXEC_TM_TF32,
                           .rank = 5,
                           .address = 0x7F0123456780,
                           .dims = {33, 0x10000, UINT64_C(1) << 32, 7, 1},
                           .strides = {0x90, 0x900010, 0xF900000010, 0xFFFFFFFFF0},
                           .box = {4, 256, 3, 2, 1},
                           .elem_strides = {5, 2, 8, 1, 3},
                           .swizzle = 1,
                           .oob_fill = 1};
    const field fields[] = {
        {0x00, 0, 64, 0x7F0123456780},
        {0x08, 4, 3, 4},
        {0x08, 7, 4, 7},
        {0x08, 11, 2, 0},
        {0x08, 13, 2, 1},
        {0x08, 15, 1, 1},
        {0x08, 16, 1, 1},
        {0x0C, 0, 32, 0x9},
        {0x10, 0, 32, 0x90001},
        {0x14, 0, 32, 0x90000001},
        {0x18, 0, 32, 0xFFFFFFFF},
        {0x1C, 0, 16, 0xFF00},
        {0x20, 0, 32, 32},
        {0x24, 0, 32, 0xFFFF},
        {0x28, 0, 32, 0xFFFFFFFF},
        {0x2C, 0, 32, 6},
        {0x30, 0, 32, 0},
        {0x34, 0, 3, 0},
        {0x34, 3, 3, 1},
        {0x34, 6, 3, 7},
        {0x34, 9, 3, 0},
        {0x34, 12, 3, 2},
        {0x34, 24, 8, 3},
        {0x38, 0, 8, 255},
        {0x38, 8, 8, 2},
        {0x38, 16, 8, 1},
        {0x38, 24, 8, 0},
    };
    check_fields(&m, fields, PG_COUNT_OF(fields));
}

/* The element types in the numbering of the map, which is not the driver's. */
Test(tensormap, types_of_the_map)
{
    static const struct {
        uint32_t type, code, is_tf32;
    } rows[] = {
        {PTXEXEC_TM_U8, 0, 0},       {PTXEXEC_TM_U16, 1, 0},   {PTXEXEC_TM_U32, 2, 0},
        {PTXEXEC_TM_S32, 3, 0},      {PTXEXEC_TM_U64, 4, 0},   {PTXEXEC_TM_S64, 5, 0},
        {PTXEXEC_TM_F16, 6, 0},      {PTXEXEC_TM_F32, 7, 0},   {PTXEXEC_TM_F32_FTZ, 8, 0},
        {PTXEXEC_TM_F64, 9, 0},      {PTXEXEC_TM_BF16, 10, 0}, {PTXEXEC_TM_TF32, 7, 1},
        {PTXEXEC_TM_TF32_FTZ, 8, 1},
    };
    for (size_t k = 0; k < PG_COUNT_OF(rows); k++) {
        ptxexec_tensormap m = {.struct_size = sizeof m,
                               .type = rows[k].type,
                               .rank = 1,
                               .dims = {16},
                               .box = {16},
                               .address = 16};
        unsigned char map[128];
        cr_assert_eq(ptxexec_tensormap_encode(&m, map), PTXEXEC_OK);
        cr_expect_eq((map[8] >> 7 | map[9] << 1) & 0xF, (int)rows[k].code, "type %u", rows[k].type);
        cr_expect_eq(map[10] & 1, (int)rows[k].is_tf32, "type %u", rows[k].type);
    }
}

Test(tensormap, what_the_check_refuses_is_not_encoded)
{
    ptxexec_tensormap m = plain();
    unsigned char map[128];
    m.box[1] = 257;
    memset(map, 1, sizeof map);
    cr_expect_eq(ptxexec_tensormap_encode(&m, map), PTXEXEC_E_INVALID);
    cr_expect_eq(map[0], 0);
    m = plain();
    m.strides[0] = 64; /* a warning only */
    cr_expect_eq(ptxexec_tensormap_encode(&m, map), PTXEXEC_OK);
}
