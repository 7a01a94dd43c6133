/* data.h: the arrays that a random program (gen.h) runs on. */
#ifndef PG_TESTS_PROPERTY_DATA_H
#define PG_TESTS_PROPERTY_DATA_H

#include "ir/interp.h"
#include "tests/property/gen.h"

/* Input and output of each type, in the order of the kernel's parameters, and the scalar last. */
#define PG_DATA_N ((size_t)2 * PG_GEN_N_ELEMS)

typedef struct pg_data {
    unsigned char *data[PG_DATA_N], *poison[PG_DATA_N];
    size_t size[PG_DATA_N];
    pg_interp_arg args[PG_DATA_N + 1];
} pg_data;

/* Zero at first: allocates. Inputs by seed: mostly ordinary numbers, some of any pattern. Outputs
 * are poison. Ends the process when memory runs out. */
void pg_data_fill(pg_data *d, uint64_t seed);
bool pg_data_equal(const pg_data *a, const pg_data *b);
void pg_data_free(pg_data *d);

/* What became of one program. */
typedef enum pg_verdict { PG_PASSED, PG_FAILED, PG_SKIPPED } pg_verdict;
/* Prints how often each came; gives the program's exit status: failures, or too many that were
 * skipped because their layouts cannot agree (PG2020, PG2021). */
int pg_verdicts_print(const uint32_t tally[3]);

#endif
