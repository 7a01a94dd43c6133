/* test_random.c: random programs (tests/property/gen.h) in the interpreter and, lowered, in the
 * executor, bit for bit.
 *
 *   test_random [FIRST_SEED N_SEEDS]       prints "N passed, N failed, N skipped"          */
#include <stdio.h>
#include <stdlib.h>

#include "tests/property/data.h"

#include "both.h"

static both_result try_seed(uint64_t seed, pg_data *data)
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
                   .passes = seed % 2 == 0 ? "layouts,order,pipeline,sync" : "",
                   .args = args,
                   .n_args = PG_DATA_N + 1,
                   .grid = {1, 1, 1}};
    both_result result = both_run(&c, &why);
    if (result == BOTH_DIFFER) {
        printf("seed %llu:\n%s", (unsigned long long)seed, why.ptr != NULL ? why.ptr : "");
    }
    pg_strbuf_fini(&text);
    pg_strbuf_fini(&why);
    return result;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n_seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 150;
    uint32_t n[3] = {0};
    pg_data data = {0};
    for (uint64_t seed = first; seed < first + n_seeds; seed++) {
        n[try_seed(seed, &data)]++;
    }
    pg_data_free(&data);
    printf("%u passed, %u failed, %u skipped\n", n[BOTH_AGREE], n[BOTH_DIFFER], n[BOTH_SKIPPED]);
    return n[BOTH_DIFFER] == 0 ? 0 : 1;
}
