/* both.h: runs one program in the reference interpreter and, lowered to PTX, in the executor, and
 * compares every output array. The two share nothing but the text of the program. */
#ifndef PG_TESTS_BOTH_H
#define PG_TESTS_BOTH_H

#include "base/strbuf.h"
#include "ir/type.h"

typedef struct both_arg {
    pg_elem elem;
    const void *data; /* arrays: what both begin with; NULL: not written yet */
    uint32_t n;       /* elements of the array; 0: a scalar */
    uint64_t bits;    /* scalars */
    bool is_out;      /* compared afterwards */
} both_arg;

typedef struct both_stats {         /* of the run in the executor */
    uint64_t n_wavefronts, n_extra; /* of shared memory; by bank conflicts */
    char *ptx;                      /* the text; both_stats_free */
} both_stats;
void both_stats_free(both_stats *s);

typedef struct both_case {
    const char *text; /* one kernel */
    const char *passes;
    const both_arg *args;
    uint32_t n_args;
    uint32_t grid[3];
    double ulps;      /* allowed difference of floats, in units of the last place; 0: bit for bit */
    double absolute;  /* or this, whichever is larger */
    uint64_t shuffle; /* breaks ties of the passes; the executor interleaves warps by it too */
    bool keep_ptx;
    bool races;        /* the executor looks for races, as the ISA has them */
    both_stats *stats; /* may be NULL */
} both_case;

typedef enum both_result { BOTH_DIFFER, BOTH_AGREE, BOTH_SKIPPED } both_result;

/* Skipped: the executor lacks an instruction; all before it went well. Puts into `why` what
 * differed or failed; empty: they agree. */
both_result both_run(const both_case *c, pg_strbuf *why);
uint32_t both_size(pg_elem e);

#endif
