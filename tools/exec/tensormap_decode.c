/* tensormap_decode.c: from the 128 bytes of a tensor map to what a copy asks. */
#include <string.h>

#include "tools/exec/tensormap.h"
#include "tools/exec/tensormap_rules.h"

enum { MAX_RULES = 40 };

static uint32_t word(const uint8_t *bytes, uint32_t at)
{
    uint32_t x;
    memcpy(&x, bytes + at, sizeof x);
    return x;
}

static uint32_t half(const uint8_t *bytes, uint32_t at)
{
    return bytes[at] | (uint32_t)bytes[at + 1] << 8;
}

/* What tiles have not. */
static void decode_pixels(const uint8_t *bytes, ptxexec_tensormap *m)
{
    m->is_im2col = half(bytes, PE_TM_PIXELS);
    m->channels = half(bytes, PE_TM_PIXELS + 2);
    m->pixels = half(bytes, PE_TM_PIXELS + 4);
    for (uint32_t d = 0; d < 3; d++) {
        m->lower[d] = (int16_t)(uint16_t)half(bytes, PE_TM_PIXELS + 6 + 4 * d);
        m->upper[d] = (int16_t)(uint16_t)half(bytes, PE_TM_PIXELS + 8 + 4 * d);
    }
}

static void set_pixels(const ptxexec_tensormap *m, pe_tmap *out)
{
    out->is_im2col = true;
    out->count[0] = out->box[0] = m->channels;
    for (uint32_t d = 1; d < PE_TMAP_RANK; d++) {
        out->count[d] = out->box[d] = d == 1 ? m->pixels : 1;
    }
    for (uint32_t d = 0; d + 2 < m->rank; d++) {
        int64_t last = (int64_t)m->dims[d + 1] - 1 + m->upper[d];
        out->lower[d] = m->lower[d];
        out->n_starts[d] = (uint64_t)(last - m->lower[d]) / m->elem_strides[d + 1] + 1;
    }
}

/* The driver's number of a type: tf32 is f32 with a mark, the others have codes of their own. */
static uint32_t find_type(uint32_t code, bool is_tf32)
{
    code = is_tf32 && (code == 7 || code == 8) ? code + 4 : code > 10 ? code + 2 : code;
    for (uint32_t k = 0; k < PE_TM_TYPES; k++) {
        if (pe_tm_type_of(k)->elem_code == code) {
            return k;
        }
    }
    return PE_TM_TYPES;
}

static bool has_fault(const ptxexec_tensormap *m, char why[256])
{
    ptxexec_tensormap_fault faults[MAX_RULES];
    size_t n = ptxexec_tensormap_check(m, faults, MAX_RULES, NULL);
    for (size_t k = 0; k < n && k < MAX_RULES; k++) {
        if (faults[k].severity == PTXEXEC_ERROR) {
            memcpy(why, faults[k].message, sizeof faults[k].message);
            return true;
        }
    }
    return false;
}

bool pe_tmap_decode(const uint8_t bytes[PE_TMAP_SIZE], pe_tmap *out, char why[256])
{
    ptxexec_tensormap m = {.struct_size = sizeof m, .target = 90};
    uint32_t flags = word(bytes, 0x08);
    uint32_t steps = word(bytes, 0x34);
    memcpy(&m.address, bytes, sizeof m.address);
    m.rank = (flags >> 4 & 7u) + 1;
    m.type = find_type(flags >> 7 & 15u, (flags >> 16 & 1u) != 0);
    m.interleave = flags >> 11 & 3u;
    uint32_t atom = flags >> 19 & 7u;
    m.swizzle = atom != 0 ? 3 + atom : flags >> 13 & 3u;
    m.oob_fill = flags >> 15 & 1u;
    for (uint32_t d = 0; d < PE_TMAP_RANK; d++) {
        if (d + 1 < PE_TMAP_RANK) {
            uint64_t high = word(bytes, 0x1C) >> 4 * d & 15u;
            m.strides[d] = (uint64_t)word(bytes, 0x0C + 4 * d) << 4 | high << 36;
        }
        m.dims[d] = (uint64_t)word(bytes, 0x20 + 4 * d) + 1;
        m.elem_strides[d] = (steps >> 3 * d & 7u) + 1;
        m.box[d] = bytes[0x37 + d] + 1u;
    }
    decode_pixels(bytes, &m);
    if (has_fault(&m, why)) {
        return false;
    }
    if (m.interleave != 0) {
        memcpy(why, "interleaved layouts are not there yet", 38);
        return false;
    }
    const pe_tm_type *t = pe_tm_type_of(m.type);
    *out = (pe_tmap){.address = m.address,
                     .rank = m.rank,
                     .type = m.type,
                     .elem_size = t->bits / 8u,
                     .swizzle = m.swizzle,
                     .is_nan = m.oob_fill != 0};
    for (uint32_t d = 0; d < PE_TMAP_RANK; d++) {
        bool is_there = d < m.rank;
        out->dim[d] = is_there ? m.dims[d] : 1;
        out->stride[d] = d == 0 ? out->elem_size : is_there ? m.strides[d - 1] : 0;
        out->box[d] = is_there ? m.box[d] : 1;
        /* Without interleave the innermost dimension has no step. */
        out->element_stride[d] = is_there && d > 0 ? m.elem_strides[d] : 1;
        out->count[d] = (out->box[d] + out->element_stride[d] - 1) / out->element_stride[d];
    }
    if (m.is_im2col != 0) {
        set_pixels(&m, out);
    }
    return true;
}

uint64_t pe_tmap_fill(const pe_tmap *t)
{
    if (!t->is_nan) {
        return 0;
    }
    switch (t->type) {
    case PTXEXEC_TM_F64: return UINT64_C(0x7FF8000000000000);
    case PTXEXEC_TM_F16: return UINT64_C(0x7E00);
    case PTXEXEC_TM_BF16: return UINT64_C(0x7FC0);
    default: return UINT64_C(0x7FC00000);
    }
}
