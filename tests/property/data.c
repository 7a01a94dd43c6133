#include "tests/property/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/draw.h"

void pg_data_fill(pg_data *d, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t i = 0; i < PG_DATA_N; i++) {
        const pg_elem e = pg_gen_elems[i / 2];
        const size_t size = pg_elem_infos[e].bits / 8;
        d->size[i] = size * (i % 2 ? PG_GEN_OUT_N : PG_GEN_IN_N);
        d->data[i] = d->data[i] ? d->data[i] : calloc(d->size[i], 1);
        d->poison[i] = d->poison[i] ? d->poison[i] : calloc(d->size[i], 1);
        if (!d->data[i] || !d->poison[i]) {
            exit(2);
        }
        memset(d->data[i], 0, d->size[i]);
        memset(d->poison[i], (int)(i % 2), d->size[i]);
        for (size_t j = 0; i % 2 == 0 && j < d->size[i] / size; j++) {
            uint64_t bits = draw(&state);
            const double x = (double)(int64_t)(bits % 4001) / 400.0 - 5.0;
            if (e == PG_F32 && bits >> 61) { /* mostly ordinary numbers, some of any pattern */
                bits = pg_f32_bits((float)x);
            } else if (e == PG_F16 && bits >> 61) {
                bits = pg_f64_to_f16(x);
            } else if (e == PG_BF16 && bits >> 61) {
                bits = pg_f64_to_bf16(x);
            }
            memcpy(d->data[i] + j * size, &bits, size);
        }
        d->args[i].array = (pg_interp_array){d->data[i], d->size[i], d->poison[i]};
    }
    d->args[PG_DATA_N].bits = 3;
}

bool pg_data_equal(const pg_data *a, const pg_data *b)
{
    for (size_t i = 0; i < PG_DATA_N; i++) {
        if (memcmp(a->data[i], b->data[i], a->size[i]) != 0 ||
            memcmp(a->poison[i], b->poison[i], a->size[i]) != 0) {
            return false;
        }
    }
    return true;
}

void pg_data_free(pg_data *d)
{
    for (size_t i = 0; i < PG_DATA_N; i++) {
        free(d->data[i]);
        free(d->poison[i]);
    }
}

int pg_verdicts_print(const uint32_t tally[3])
{
    if (tally[PG_SKIPPED] != 0) {
        (void)puts("skipped: programs whose layouts cannot agree (PG2020, PG2021)");
    }
    (void)printf("%u passed, %u failed, %u skipped\n", tally[PG_PASSED], tally[PG_FAILED],
                 tally[PG_SKIPPED]);
    /* Rare, or the generator no longer tests much. */
    return tally[PG_FAILED] != 0 || tally[PG_SKIPPED] > tally[PG_PASSED] / 10 ? 1 : 0;
}
