/* test_random.c: random programs (tests/property/gen.h) in the interpreter and, lowered, in the
 * executor, bit for bit: after all passes; again with ties broken and warps interleaved by chance;
 * and with only the passes that emission needs.
 *
 *   test_random [FIRST_SEED N_SEEDS]       250 programs, 2000 with PTXGEN_TEST_LONG=1
 *
 * Prints "N passed, N failed, N skipped" for each of the three, and for all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/data.h"

#include "both.h"

typedef struct variant {
    const char *name, *passes;
    bool has_shuffle;
} variant;

static const variant variants[] = {{"all passes", "", false},
                                   {"all passes, shuffled", "", true},
                                   {"needed passes", "layouts,order,pipeline,sync", false}};

static both_result try_seed(uint64_t seed, const variant *v, pg_data *data)
{
    pg_strbuf text, why;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_strbuf_init(&why, pg_alloc_default());
    pg_gen_options gen = {.seed = seed, .n_ops = 10 + (uint32_t)(seed % 60), .is_exact = true};
    pg_gen_program(&text, &gen);
    pg_data_fill(data, seed);
    both_arg args[PG_DATA_N + 1] = {{0}};
    for (uint32_t i = 0; i < PG_DATA_N; i++) {
        bool is_out = i % 2 != 0;
        pg_elem e = pg_gen_elems[i / 2];
        args[i] = (both_arg){.elem = e,
                             .data = is_out ? NULL : data->data[i],
                             .n = is_out ? PG_GEN_OUT_N : PG_GEN_IN_N,
                             .is_out = is_out};
    }
    args[PG_DATA_N] = (both_arg){.elem = PG_I32, .bits = data->args[PG_DATA_N].bits};
    both_case c = {.text = text.ptr,
                   .passes = v->passes,
                   .shuffle = v->has_shuffle ? seed : 0,
                   .args = args,
                   .n_args = PG_DATA_N + 1,
                   .grid = {1, 1, 1}};
    both_result result = both_run(&c, &why);
    if (result == BOTH_DIFFER) {
        printf("seed %llu, %s:\n%s", (unsigned long long)seed, v->name,
               why.ptr != NULL ? why.ptr : "");
    }
    pg_strbuf_fini(&text);
    pg_strbuf_fini(&why);
    return result;
}

int main(int argc, char **argv)
{
    const char *is_long = getenv("PTXGEN_TEST_LONG");
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n_seeds = argc > 2                                       ? strtoull(argv[2], NULL, 10)
                       : is_long != NULL && strcmp(is_long, "1") == 0 ? 2000
                                                                      : 250;
    uint32_t all[3] = {0};
    pg_data data = {0};
    for (uint32_t v = 0; v < PG_COUNT_OF(variants); v++) {
        uint32_t n[3] = {0};
        for (uint64_t seed = first; seed < first + n_seeds; seed++) {
            both_result r = try_seed(seed, &variants[v], &data);
            n[r]++;
            all[r]++;
        }
        printf("%s: %u passed, %u failed, %u skipped\n", variants[v].name, n[BOTH_AGREE],
               n[BOTH_DIFFER], n[BOTH_SKIPPED]);
    }
    pg_data_free(&data);
    printf("%u passed, %u failed, %u skipped\n", all[BOTH_AGREE], all[BOTH_DIFFER],
           all[BOTH_SKIPPED]);
    /* Rare, or the generator no longer tests much. */
    return all[BOTH_DIFFER] == 0 && all[BOTH_SKIPPED] <= all[BOTH_AGREE] / 10 ? 0 : 1;
}
