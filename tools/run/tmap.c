#include "tools/run/tmap.h"

enum { MOST = 5 };

uint32_t run_tmap_type(run_dtype type)
{
    static const uint8_t types[RUN_D_COUNT] = {
        [RUN_D_F16] = PTXEXEC_TM_F16,  [RUN_D_BF16] = PTXEXEC_TM_BF16, [RUN_D_F32] = PTXEXEC_TM_F32,
        [RUN_D_TF32] = PTXEXEC_TM_F32, [RUN_D_F64] = PTXEXEC_TM_F64,   [RUN_D_E4M3] = PTXEXEC_TM_U8,
        [RUN_D_E5M2] = PTXEXEC_TM_U8,  [RUN_D_S8] = PTXEXEC_TM_U8,     [RUN_D_S16] = PTXEXEC_TM_U16,
        [RUN_D_S32] = PTXEXEC_TM_S32,  [RUN_D_S64] = PTXEXEC_TM_S64,   [RUN_D_U8] = PTXEXEC_TM_U8,
        [RUN_D_U16] = PTXEXEC_TM_U16,  [RUN_D_U32] = PTXEXEC_TM_U32,   [RUN_D_U64] = PTXEXEC_TM_U64,
        [RUN_D_BOOL] = PTXEXEC_TM_U8,
    };
    return types[type];
}

typedef struct numbers {
    uint64_t at[MOST];
    uint32_t n;
} numbers;

typedef struct options {
    numbers box, estride, dims, strides;
    numbers pixels;       /* im2col: pixels x channels */
    numbers lower, upper; /* two's complement */
    run_dtype type;
    uint32_t swizzle, interleave, oob;
} options;

/* "AxBxC", also of numbers with a sign. */
static bool parse_numbers(pg_str text, bool is_signed, numbers *out)
{
    out->n = 0;
    while (out->n < MOST) {
        size_t end = 0;
        while (end < text.len && text.ptr[end] != 'x') {
            end++;
        }
        const pg_str one = pg_str_sub(text, 0, end);
        int64_t x = 0;
        if (is_signed ? !pg_parse_i64(one, &x) || x < INT16_MIN || x > INT16_MAX
                      : !pg_parse_u64(one, &out->at[out->n])) {
            return false;
        }
        out->at[out->n] = is_signed ? (uint64_t)x : out->at[out->n];
        out->n++;
        if (end == text.len) {
            return true;
        }
        text = pg_str_sub(text, end + 1, text.len);
    }
    return false;
}

/* Index of the word among those that blanks separate. */
static bool parse_word(pg_str text, const char *words, uint32_t *out)
{
    pg_str rest = pg_str_of(words);
    for (uint32_t k = 0; rest.len > 0; k++) {
        size_t end = 0;
        while (end < rest.len && rest.ptr[end] != ' ') {
            end++;
        }
        if (pg_str_eq(pg_str_sub(rest, 0, end), text)) {
            *out = k;
            return true;
        }
        rest = pg_str_sub(rest, end < rest.len ? end + 1 : end, rest.len);
    }
    return false;
}

static const char *take(options *o, pg_str key, pg_str value)
{
    const struct {
        const char *key;
        numbers *out;
        bool is_signed;
    } lists[] = {{"box", &o->box, false},       {"estride", &o->estride, false},
                 {"dims", &o->dims, false},     {"strides", &o->strides, false},
                 {"im2col", &o->pixels, false}, {"lower", &o->lower, true},
                 {"upper", &o->upper, true}};
    for (size_t k = 0; k < PG_COUNT_OF(lists); k++) {
        if (pg_str_is(key, lists[k].key)) {
            return parse_numbers(value, lists[k].is_signed, lists[k].out)
                       ? NULL
                       : "a list has one to five numbers, as 64x128";
        }
    }
    if (pg_str_is(key, "dtype")) {
        o->type = run_dtype_find(value);
        return o->type != RUN_D_NONE ? NULL : "the dtype is unknown";
    }
    if (pg_str_is(key, "swizzle")) {
        return parse_word(value, "none 32 64 128", &o->swizzle) ? NULL
                                                                : "swizzle is none, 32, 64 or 128";
    }
    if (pg_str_is(key, "interleave")) {
        return parse_word(value, "none 16 32", &o->interleave) ? NULL
                                                               : "interleave is none, 16 or 32";
    }
    if (pg_str_is(key, "oob")) {
        return parse_word(value, "zero nan", &o->oob) ? NULL : "oob is zero or nan";
    }
    return "the options are box or im2col, lower, upper, swizzle, dtype, oob, interleave, estride, "
           "dims and strides";
}

static const char *take_all(options *o, pg_str text)
{
    while (text.len > 0) {
        size_t end = 0;
        size_t equal = SIZE_MAX;
        for (; end < text.len && text.ptr[end] != ':'; end++) {
            equal = text.ptr[end] == '=' && equal == SIZE_MAX ? end : equal;
        }
        if (equal == SIZE_MAX) {
            return "an option is NAME=VALUE";
        }
        const char *why = take(o, pg_str_sub(text, 0, equal), pg_str_sub(text, equal + 1, end));
        if (why != NULL) {
            return why;
        }
        text = pg_str_sub(text, end < text.len ? end + 1 : end, text.len);
    }
    return NULL;
}

/* Corners have a number for each dimension of space, outermost first; none given: zeros. */
static const char *take_pixels(const options *o, uint32_t rank, ptxexec_tensormap *out)
{
    const numbers *corners[] = {&o->lower, &o->upper};
    if (o->pixels.n == 0) {
        return o->lower.n + o->upper.n == 0 ? NULL : "lower and upper belong to im2col";
    }
    if (o->pixels.n != 2 || o->box.n != 0) {
        return "im2col has two numbers, PIXELSxCHANNELS, and no box beside it";
    }
    out->is_im2col = 1;
    out->pixels = o->pixels.at[0] <= UINT32_MAX ? (uint32_t)o->pixels.at[0] : UINT32_MAX;
    out->channels = o->pixels.at[1] <= UINT32_MAX ? (uint32_t)o->pixels.at[1] : UINT32_MAX;
    for (uint32_t k = 0; k < 2; k++) {
        if (corners[k]->n != 0 && corners[k]->n + 2 != rank) {
            return "lower and upper have a number for each dimension but the first and the last";
        }
        for (uint32_t d = 0; d < corners[k]->n; d++) {
            int32_t x = (int32_t)(int64_t)corners[k]->at[corners[k]->n - 1 - d];
            (k == 0 ? out->lower : out->upper)[d] = x;
        }
    }
    return NULL;
}

const char *run_tmap_parse(pg_str text, const run_array *array, ptxexec_tensormap *out)
{
    options o = {.type = array->type};
    const char *why = take_all(&o, text);
    if (why != NULL) {
        return why;
    }
    if (o.dims.n == 0) {
        o.dims.n = array->rank <= MOST ? array->rank : 0;
        for (uint32_t d = 0; d < o.dims.n; d++) {
            o.dims.at[d] = array->shape[d];
        }
    }
    uint32_t rank = o.pixels.n != 0 ? o.dims.n : o.box.n;
    if (rank == 0 || o.dims.n != rank || (o.estride.n != 0 && o.estride.n != rank)) {
        return "box, estride, and dims or the array's shape, must have as many numbers as the map "
               "has dimensions";
    }
    if (o.type == RUN_D_NONE) {
        return "the array has no type: say dtype";
    }
    if (o.strides.n != 0 && o.strides.n + 1 != rank) {
        return "strides has one number for each dimension but the last, in bytes";
    }
    *out = (ptxexec_tensormap){.struct_size = sizeof *out,
                               .type = run_tmap_type(o.type),
                               .rank = rank,
                               .interleave = o.interleave,
                               .swizzle = o.swizzle,
                               .oob_fill = o.oob};
    uint64_t dense = run_dtypes[o.type].size;
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t at = rank - 1 - d; /* of the user's lists */
        out->dims[d] = o.dims.at[at];
        if (o.pixels.n == 0) {
            out->box[d] = o.box.at[at] <= UINT32_MAX ? (uint32_t)o.box.at[at] : UINT32_MAX;
        }
        out->elem_strides[d] = o.estride.n != 0 ? (uint32_t)o.estride.at[at] : 1;
        dense *= out->dims[d];
        if (d + 1 < rank) {
            out->strides[d] = o.strides.n != 0 ? o.strides.at[at - 1] : dense;
        }
    }
    return take_pixels(&o, rank, out);
}
