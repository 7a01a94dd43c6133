/* tensormap_encode.c: the 128 bytes of a tensor map, from checked arguments. The places of the
 * fields are those that `tensormap.replace` writes to (docs/executor.md); bytes that it never
 * writes stay 0 in tiled maps, as in maps that are made on the device. Maps of pixels have their
 * own facts there, at places of our choice. */
#include <string.h>

#include "tools/exec/tensormap_rules.h"

static void put(unsigned char *to, uint64_t value, uint32_t n_bytes)
{
    for (uint32_t i = 0; i < n_bytes; i++) {
        to[i] = (unsigned char)(value >> (8 * i));
    }
}

/* tf32 and tf32.ftz are f32 and f32.ftz with a mark; the packed types follow bf16. */
static uint32_t type_bits(uint32_t code)
{
    static const uint32_t bits[] = {
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 7 | 1 << 9, 8 | 1 << 9, 11, 12, 13,
    };
    return bits[code] << 7;
}

/* Swizzle and size of what it moves as a whole: 16, 32, 32 with halves swapped, 64 bytes. */
static uint32_t swizzle_bits(uint32_t swizzle)
{
    uint32_t mode = swizzle > 3 ? 3 : swizzle;
    uint32_t atom = swizzle > 3 ? swizzle - 3 : 0;
    return mode << 13 | atom << 19;
}

ptxexec_status ptxexec_tensormap_encode(const ptxexec_tensormap *map, unsigned char out[128])
{
    ptxexec_tensormap m = {.struct_size = 0};
    size_t n_errors;
    if (map == NULL || out == NULL) {
        return PTXEXEC_E_MISUSE;
    }
    (void)ptxexec_tensormap_check(map, NULL, 0, &n_errors);
    memset(out, 0, 128);
    if (n_errors != 0) {
        return PTXEXEC_E_INVALID;
    }
    memcpy(&m, map, map->struct_size < sizeof m ? map->struct_size : sizeof m);
    put(out, m.address, 8);
    put(out + 0x08,
        (m.rank - 1) << 4 | type_bits(pe_tm_type_of(m.type)->elem_code) | m.interleave << 11 |
            swizzle_bits(m.swizzle) | m.oob_fill << 15,
        4);
    uint32_t upper = 0;
    uint32_t steps = 0;
    for (size_t i = 0; i < m.rank; i++) {
        if (i + 1 < m.rank) {
            put(out + 0x0C + 4 * i, m.strides[i] >> 4, 4);
            upper |= (uint32_t)(m.strides[i] >> 36 & 0xF) << (4 * i);
        }
        put(out + 0x20 + 4 * i, m.dims[i] - 1, 4);
        /* Without interleave the innermost dimension has no step, whatever was given. */
        uint32_t step = i == 0 && m.interleave == 0 ? 1 : m.elem_strides[i];
        steps |= (step - 1) << (3 * i);
        put(out + 0x37 + i, m.is_im2col != 0 ? 0 : m.box[i] - 1, 1);
    }
    if (m.is_im2col != 0) {
        put(out + PE_TM_PIXELS, 1, 2);
        put(out + PE_TM_PIXELS + 2, m.channels, 2);
        put(out + PE_TM_PIXELS + 4, m.pixels, 2);
        for (size_t i = 0; i + 2 < m.rank; i++) {
            put(out + PE_TM_PIXELS + 6 + 4 * i, (uint64_t)(int64_t)m.lower[i], 2);
            put(out + PE_TM_PIXELS + 8 + 4 * i, (uint64_t)(int64_t)m.upper[i], 2);
        }
    }
    put(out + 0x1C, upper, 4);
    put(out + 0x34, steps, 3);
    return PTXEXEC_OK;
}
